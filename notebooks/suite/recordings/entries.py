"""What every reader of recorded files gives (`Recording`), what it checks, and what it raises."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class RecordedError(ValueError):
    """A recorded file, or a set of them, cannot be used; the message names file, line, value and remedy."""


@dataclass(frozen=True)
class Entry:
    """One question of a file. `scores`, `responses`, `costs`: one per LLM, in the file's order of LLMs."""

    number: int  # from 1, in the file
    line: int  # where it begins, from 1
    question: str
    scores: tuple[float | None, ...]  # None: missing
    id: str | None = None
    responses: tuple[str | None, ...] | None = None  # None in it: a blank cell
    costs: tuple[float | None, ...] | None = None  # dollars
    group: str | None = None  # RouterBench's eval_name


@dataclass(frozen=True)
class Recording:
    """A file's entries, all of them. `format` is one of routerdc, routerbench, routellm."""

    path: Path
    format: str
    agents: tuple[str, ...]
    entries: list[Entry]


def shown(value: Any) -> str:
    """The value for a message: short, on one line."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    words = repr(value) if isinstance(value, str) else json.dumps(value)
    return words if len(words) <= 60 else f"{words[:40]}... ({len(words)} characters)"


def check_text(value: Any, what: str) -> str:
    """The value, which must be a text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise RecordedError(f"{what} is {shown(value)}; a text is needed")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RecordedError(f"{what} holds half a character ({value[error.start]!r}); write the whole one") from None
    return value


def check_filled(value: Any, what: str) -> str:
    """As `check_text`; blanks alone are refused."""
    if not check_text(value, what).strip():
        raise RecordedError(f"{what} is empty; fill it in or remove the entry")
    return value


def check_agents(names: Sequence[str], where: str) -> tuple[str, ...]:
    """The LLMs' names: at least two, printable, without blanks around them."""
    for name in names:
        check_text(name, f"{where}: the name of an LLM")
        if not name.isprintable() or name != name.strip() or not name:
            raise RecordedError(
                f"{where}: the LLM's name {shown(name)} is empty, begins or ends with a blank, or holds a control "
                "character; mend the name"
            )
    if len(names) < 2:
        raise RecordedError(
            f"{where}: {f'the only LLM is {shown(names[0])}' if names else 'no LLM is named'}; a choice needs the "
            "scores of at least 2 LLMs"
        )
    return tuple(names)


def check_share(value: float, what: str) -> float:
    """A score, a number of any size or kind, as a float from 0 to 1."""
    if not 0 <= value <= 1:  # not a number is neither
        if isinstance(value, float) and not math.isfinite(value):
            raise RecordedError(f"{what} is {shown(value)}, not a finite number; write null where it is missing")
        raise RecordedError(f"{what} is {shown(value)}, outside 0 to 1; write it as a share of 1 (50 % is 0.5)")
    return float(value) + 0.0  # no minus zero
