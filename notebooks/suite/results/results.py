"""What a notebook hands over: tables, figures and claims, each with its evidence class, in one folder.

The folder is `$TRINITY_STAGING` where the runner sets it (it moves the folder into place when the notebook has ended
well), else `results/<profile>/NN_name`. `write` leaves `claims.json`, from which the reports are made.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.profiles import get_profile
from suite.results.claims import TINY, Claim, Evidence, Verdict, interval_text, judge, number, paper_text
from trinity_core import paths

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_NOTEBOOK = re.compile(r"\d\d_[a-z0-9_]+")
_STAGED = re.compile(r"\.(\d\d_.+)\.staging")  # as the runner names a notebook's folder while it runs
_LABEL = "evidence: "
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Table:
    """A frame that displays with its caption and evidence class, as HTML and as plain text, the same on every run.

    `frame` is the frame itself, in full precision; `decimals` fixes the decimals of all columns or of some (dict).
    """

    def __init__(self, frame: pd.DataFrame, caption: str, decimals: int | dict[str, int] | None = None) -> None:
        self.frame, self.caption = frame, caption
        self._head, self._rows, self._right = _cells(frame, decimals)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        widths = [max(len(row[i]) for row in [self._head, *self._rows]) for i in range(len(self._head))]
        lines = []
        for row in [self._head, *self._rows]:
            cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, self._right, strict=True)]
            lines.append("  ".join(cells).rstrip())
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.caption, "", *lines])

    def _repr_html_(self) -> str:
        align = ["right" if right else "left" for right in self._right]
        head = "".join(f'<th style="text-align:{a}">{escape(c)}</th>' for c, a in zip(self._head, align, strict=True))
        rows = []
        for row in self._rows:
            cells = (f'<td style="text-align:{a}">{escape(c)}</td>' for c, a in zip(row, align, strict=True))
            rows.append(f"<tr>{''.join(cells)}</tr>")
        style = "text-align:left;font-weight:bold;white-space:nowrap"
        caption = f'<caption style="{style}">{escape(self.caption)}</caption>'
        head = f"<thead><tr>{head}</tr></thead>"
        return "\n".join(["<table>", caption, head, "<tbody>", *rows, "</tbody>", "</table>"])

    def markdown(self) -> str:
        """The table as Markdown, its caption below."""
        def line(cells: list[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

        rule = "| " + " | ".join("---:" if right else "---" for right in self._right) + " |"
        return "\n".join([line(self._head), rule, *map(line, self._rows), "", self.caption, ""])


class Results:
    """One notebook's results. `notebook` is its name without suffix (`02_separability`), `profile` a profile's name."""

    def __init__(self, notebook: str, profile: str) -> None:
        if not _NOTEBOOK.fullmatch(notebook):
            raise ValueError(f"notebook name {notebook!r}: write two digits and a snake_case name, without .ipynb")
        self.notebook, self.profile = notebook, get_profile(profile).name
        staging = os.environ.get("TRINITY_STAGING")
        staged = _STAGED.fullmatch(Path(staging).name) if staging else None
        if staged and staged[1] != notebook:
            raise ValueError(f"Results({notebook!r}, ...) in the notebook {staged[1]!r}; give its own name")
        self.dir = Path(staging) if staging else paths.results_root() / self.profile / notebook
        self._claims: dict[str, Claim] = {}
        self._tables: dict[str, dict[str, str]] = {}
        self._figures: dict[str, dict[str, str]] = {}

    def table(
        self,
        frame: pd.DataFrame | Table,
        name: str,
        *,
        evidence: Evidence | str,
        caption: str,
        decimals: int | dict[str, int] | None = None,
    ) -> Table:
        """Writes `tables/<name>.csv` and `.md`; returns the table, which displays with caption and evidence class."""
        evidence = Evidence(evidence)
        _check_name(name)
        if isinstance(frame, Table):
            frame = frame.frame
        if not hasattr(frame, "columns"):
            raise ValueError(f"table {name!r} is a {type(frame).__name__}; give a DataFrame")
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"table {name!r}: caption is {caption!r}; say in a few words what it shows")
        shown = Table(frame, f"{caption.rstrip('.')} (evidence: {evidence.value})", decimals)
        # Ten digits: more than any reader needs, fewer than where processors begin to differ.
        csv = frame.to_csv(index=_has_named_index(frame), float_format="%.10g", lineterminator="\n")
        paths.write_atomic(self.dir / "tables" / f"{name}.csv", csv)
        paths.write_atomic(self.dir / "tables" / f"{name}.md", shown.markdown())
        self._tables[name] = {"name": name, "caption": caption, "evidence": evidence.value}
        return shown

    def figure(self, fig: Figure, name: str, *, evidence: Evidence | str, caption: str = "") -> None:
        """Writes `figures/<name>.png` and `.svg`, evidence class in the corner; same figure, same bytes."""
        import matplotlib

        evidence = Evidence(evidence)
        _check_name(name)
        if not hasattr(fig, "savefig"):
            raise ValueError(f"figure {name!r} is a {type(fig).__name__}; give a matplotlib Figure")
        _label_corner(fig, f"{_LABEL}{evidence.value}")
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            with matplotlib.rc_context({"svg.hashsalt": "trinity"}):
                fig.savefig(buffer, format=suffix, metadata=metadata, bbox_inches="tight")
            paths.write_atomic(self.dir / "figures" / f"{name}.{suffix}", buffer.getvalue())
        self._figures[name] = {"name": name, "caption": caption, "evidence": evidence.value}

    def claim(
        self,
        *,
        id: str,
        statement: str,
        source: str,
        paper: float | None,
        ours: float | None,
        evidence: Evidence | str,
        interval: tuple[float, float] | None = None,
        tolerance: float | None = None,
        relation: str = "equal",
        unit: str = "",
        stand_in: bool = False,
        note: str = "",
    ) -> Claim:
        """Judges a claim by `claims.judge` and records it; `note` is added to the reason.

        Running a cell again replaces its claims; a second, different claim under a used id is a ValueError, as is an
        id that does not begin with this notebook's number.
        """
        prefix = f"{self.notebook[:2]}."
        if not id.startswith(prefix):
            raise ValueError(f"claim id {id!r}: in {self.notebook} it must start with {prefix!r}")
        verdict, reason = judge(evidence=evidence, paper=paper, ours=ours, interval=interval, tolerance=tolerance,
                                relation=relation, stand_in=stand_in)
        if note:
            reason = note if verdict is Verdict.NOT_TESTABLE else f"{reason}; {note}"
        claim = Claim(id=id, statement=statement, source=source, paper=paper, ours=ours, interval=interval,
                      evidence=evidence, verdict=verdict, reason=reason, unit=unit, relation=relation)
        known = self._claims.get(id)
        if known and (known.statement, known.source) != (statement, source):
            raise ValueError(f"claim id {id!r} is used twice: {known.statement!r} and {statement!r}; rename one")
        self._claims[id] = claim
        return claim

    @property
    def claims(self) -> list[Claim]:
        """The claims recorded so far, in the order of recording."""
        return list(self._claims.values())

    def claims_table(self) -> Table:
        """Paper against ours: one row a claim, as recorded so far."""
        import pandas as pd

        rows = [claim_row(claim) for claim in self.claims]
        return Table(pd.DataFrame(rows, columns=list(CLAIM_COLUMNS)), "Paper against ours")

    def write(self) -> None:
        """Writes `claims.json` (claims; tables and figures made) and prints one line: a notebook's last cell."""
        record = {
            "notebook": self.notebook,
            "profile": self.profile,
            "claims": [claim.to_json() for claim in self.claims],
            "tables": list(self._tables.values()),
            "figures": list(self._figures.values()),
        }
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        paths.write_atomic(self.dir / "claims.json", text)
        counts = Counter(claim.verdict for claim in self.claims)
        verdicts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        print(f"{self.notebook}: {len(self.claims)} claims ({verdicts or 'none'}), "
              f"{len(self._tables)} tables, {len(self._figures)} figures")


CLAIM_COLUMNS = ("claim", "paper", "ours", "interval", "unit", "evidence", "verdict", "reason")


def claim_row(claim: Claim) -> dict[str, str]:
    """One line of the ledger as texts, keyed by `CLAIM_COLUMNS`."""
    return {
        "claim": claim.statement,
        "paper": paper_text(claim),
        "ours": number(claim.ours),
        "interval": interval_text(claim.interval),
        "unit": claim.unit,
        "evidence": claim.evidence.value,
        "verdict": claim.verdict.value,
        "reason": claim.reason,
    }


def _label_corner(fig: Figure, label: str) -> None:
    """Writes `label` below the lower right corner of all that `fig` shows, so that it covers nothing."""
    earlier = [text.get_text() for text in fig.texts if text.get_text().startswith(_LABEL)]
    if earlier == [label]:
        return  # the figure is saved a second time
    if earlier:
        raise ValueError(f"the figure says {earlier[0]!r} already, not {label!r}; draw it anew for other evidence")
    fig.draw_without_rendering()  # settles the layout: positions are known only now,
    fig.set_layout_engine("none")  # and stay
    for legend in fig.legends:
        # A legend outside the axes would move when the saved picture is cut to what is drawn: pin it where it is.
        box = legend.get_window_extent().transformed(fig.transFigure.inverted())
        legend.borderaxespad = 0.0
        legend.set_bbox_to_anchor((box.x0, box.y0), transform=fig.transFigure)
        legend.set_loc("lower left")
    width, height = fig.get_size_inches()
    drawn = fig.get_tightbbox()
    fig.text(drawn.x1 / width, (drawn.y0 - 0.06) / height, label, ha="right", va="top", fontsize=8, color="#555555",
             style="italic")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"name {name!r}: use lower-case letters, digits, - and _ (it becomes a file name)")


def _has_named_index(frame: pd.DataFrame) -> bool:
    """Whether the index carries data: a plain 0…n-1 index is not worth a column."""
    import pandas as pd

    return not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None)


def _cells(
    frame: pd.DataFrame, decimals: int | dict[str, int] | None
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Column heads, rows of texts, and which columns are aligned right (numbers)."""
    import pandas as pd

    if _has_named_index(frame):
        frame = frame.reset_index()
    heads = [" ".join(map(str, c)).strip() if isinstance(c, tuple) else str(c) for c in frame.columns]
    columns, right = [], []
    for position, head in enumerate(heads):
        column = frame.iloc[:, position]
        fixed = decimals.get(head) if isinstance(decimals, dict) else decimals
        is_float = pd.api.types.is_float_dtype(column)
        if is_float:
            column = column.astype("float64")  # pandas' own missing value has no order
            places = _places(column.tolist()) if fixed is None else fixed
            columns.append(["–" if pd.isna(value) else _fixed(value, places) for value in column])
        else:
            columns.append([_text(value) for value in column])
        right.append(is_float or pd.api.types.is_integer_dtype(column))
    return heads, [list(row) for row in zip(*columns, strict=True)], right


def _places(values: list[float]) -> int:
    """Decimals for a column: four significant digits of its largest value, and none that would all be zero."""
    finite = [value for value in values if value == value and abs(value) != float("inf")]
    largest = max((abs(value) for value in finite), default=0.0)
    places = 4 if largest < 1 else 3 if largest < 10 else 2 if largest < 1000 else 1
    if TINY < largest < 1e-3:
        places = 3 - math.floor(math.log10(largest))
    while places and all(abs(round(value, places - 1) - round(value, places)) < 1e-12 for value in finite):
        places -= 1
    return places


def _fixed(value: float, places: int) -> str:
    """`value` with so many decimals; never a negative zero."""
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def _text(value: Any) -> str:
    """A cell that is not of a float column."""
    import pandas as pd

    if isinstance(value, tuple):
        is_interval = len(value) == 2 and all(isinstance(end, (int, float)) or hasattr(end, "dtype") for end in value)
        return interval_text(value) if is_interval else ", ".join(map(_text, value))
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    if pd.api.types.is_bool(value):
        return "yes" if value else "no"
    is_real = pd.api.types.is_number(value) and not pd.api.types.is_complex(value)
    return number(value) if is_real else " ".join(str(value).split())
