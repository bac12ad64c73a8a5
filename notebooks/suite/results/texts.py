"""How numbers, cells and tables read: the same text for the same values, on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

SLACK = 1e-9  # float noise: a decimal like 0.615 has no exact binary form
TINY = 1e-12  # below it a number is the noise of a difference and shown as 0; above, a small number of its own right


def number(value: float | None) -> str:
    """A number for people: whole ones with thousands separators, others to five significant digits.

    None and NaN are a dash. A number that four decimals state exactly keeps them all (67.0175).
    """
    if value is None or math.isnan(value):
        return "–"
    value = float(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value - round(value)) < SLACK and (round(value) or abs(value) < TINY):
        return f"{round(value):,}"
    if abs(value) < 1e-4:
        return f"{value:.2g}"
    exact = abs(value - round(value, 4)) < SLACK
    decimals = 4 if abs(value) < 1 or exact else max(1, 4 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def interval_text(interval: tuple[float, float] | None) -> str:
    """`[low, high]`, or a dash where there is none."""
    return "–" if interval is None else f"[{number(interval[0])}, {number(interval[1])}]"


def cell_text(value: Any) -> str:
    """A table's cell that is not of a float column."""
    if isinstance(value, tuple):
        is_interval = len(value) == 2 and all(isinstance(end, (int, float)) or hasattr(end, "dtype") for end in value)
        return interval_text(value) if is_interval else ", ".join(map(cell_text, value))
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    if pd.api.types.is_bool(value):
        return "yes" if value else "no"
    is_real = pd.api.types.is_number(value) and not pd.api.types.is_complex(value)
    return number(value) if is_real else " ".join(str(value).split())


def column_texts(column: pd.Series, decimals: int | None) -> list[str]:
    """A column's cells; the numbers of a float column have the same decimals, by default those its largest asks."""
    if not pd.api.types.is_float_dtype(column):
        return [cell_text(value) for value in column]
    column = column.astype("float64")  # pandas' own missing value has no order
    places = _places(column.tolist()) if decimals is None else decimals
    texts = ["–" if pd.isna(value) else f"{value:,.{places}f}" for value in column]
    return [text if text.strip("-0.,") else text.lstrip("-") for text in texts]  # never a negative zero


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Lines of text in columns, two spaces apart: head, rule, rows; `right` says which columns are aligned right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return [line(head), line(["---:" if mark else "---" for mark in right]), *map(line, rows)]


def _places(values: list[float]) -> int:
    """Decimals for a column: four significant digits of its largest value, and none that would all be zero."""
    finite = [value for value in values if math.isfinite(value)]
    largest = max((abs(value) for value in finite), default=0.0)
    places = 4 if largest < 1 else 3 if largest < 10 else 2 if largest < 1000 else 1
    if TINY < largest < 1e-3:
        places = 3 - math.floor(math.log10(largest))
    while places and all(abs(round(value, places - 1) - round(value, places)) < TINY for value in finite):
        places -= 1
    return places
