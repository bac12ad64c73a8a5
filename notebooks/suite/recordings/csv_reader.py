"""RouterBench's and RouteLLM's formats: CSV tables with a row a question and a column of scores for each LLM.

RouterBench  sample_id, prompt (a Python list of texts), eval_name; scores are numbers from 0 to 1; for each LLM or for
             none `LLM|model_response` (a Python list of texts) and `LLM|total_cost` (dollars)
RouteLLM     prompt; scores are True or False; for each LLM or for none `LLM_response`

Every other column is an LLM's scores; a column without a name (a row number) is not read. A blank cell is missing.
List literals are read as texts between quotes, and never evaluated.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from suite.recordings.entries import (
    Entry,
    RecordedError,
    Recording,
    check_agents,
    check_filled,
    check_share,
    check_text,
    shown,
)

LARGEST_CELL = 1 << 30  # characters
CUE = "Answer:"  # RouterBench's prompts: what an answer follows
OR_ELSE = "blank where it is missing; a column that is no LLM's is to be removed"
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Layout:
    """How a format names its columns, and how it writes scores and texts."""

    format: str
    needed: tuple[str, ...]
    ignored: tuple[str, ...]
    response: str  # what stands behind the LLM's name in the name of its column of responses
    cost: str | None
    score: Callable[[str, str], float]
    text: Callable[[str, str], str]
    question: Callable[[str, str], str]


def read_table(path: Path, text: str) -> Recording:
    """The rows of the file whose text is given. RecordedError names file, line and column."""
    rows = _rows(path, text)
    line, header = next(rows)
    where = f"{path}, line {line}"
    layout = _layout_of(header)
    agents = _agents(header, layout, where)
    responses = _complete(header, agents, layout.response, where)
    costs = _complete(header, agents, layout.cost, where)
    at = {name: k for k, name in enumerate(header)}
    entries = []
    for number, (line, row) in enumerate(rows, 1):
        where = f"{path}, line {line}"
        if len(row) != len(header):
            last = f"; its last cell is {shown(row[-1])}"
            cells = f"{len(row)} cell{'s' * (len(row) > 1)}, the header {len(header)}"
            raise RecordedError(f"{where}: the row has {cells}{last}; mend the row")

        def read(name: str, reader: Callable[[str, str], Value], row: list[str] = row, where: str = where) -> Value:
            return reader(row[at[name]], f"{where}, column {name!r}: the cell")

        bench = layout is _ROUTERBENCH
        entries.append(
            Entry(
                number,
                line,
                read("prompt", layout.question),
                tuple(read(name, layout.score) for name in agents),
                read("sample_id", check_filled) if bench else None,
                tuple(read(name, layout.text) for name in responses) if responses else None,
                tuple(read(name, _dollars) for name in costs) if costs else None,
                read("eval_name", check_text) if bench else None,
            )
        )
    return Recording(path, layout.format, agents, entries)


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """(line where it begins, cells) of each row; blank lines are none."""
    csv.field_size_limit(max(LARGEST_CELL, csv.field_size_limit()))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            reason = f"the row that begins here is not CSV ({error})"
            raise RecordedError(f"{path}, line {line}: {reason}; mend its quotes and commas") from None
        if row is None:
            return
        if row:
            yield line, row


def _layout_of(header: Sequence[str]) -> _Layout:
    """RouterBench's where the header has a column that only RouterBench has."""
    own = {"sample_id", "eval_name", *_ROUTERBENCH.ignored}
    ends = tuple(end for end in (_ROUTERBENCH.response, _ROUTERBENCH.cost) if end)
    return _ROUTERBENCH if any(name in own or name.endswith(ends) for name in header) else _ROUTELLM


def _unnamed(name: str) -> bool:
    """A row number that pandas wrote."""
    return not name or re.fullmatch(r"Unnamed: \d+", name) is not None


def _agents(header: Sequence[str], layout: _Layout, where: str) -> tuple[str, ...]:
    """The columns of scores, in the file's order. RecordedError for a column that is missing, doubled or of no LLM."""
    columns = ", ".join(map(shown, header[:8])) + (", ..." if len(header) > 8 else "")
    named: dict[str, None] = {}
    for k, name in enumerate(header, 1):
        if not name and k > 1:
            raise RecordedError(f"{where}: column {k} has no name; name or remove it")
        if name in named:
            raise RecordedError(f"{where}: the column {shown(name)} stands twice; remove or rename one")
        if not _unnamed(name):
            named[name] = None
    for name in layout.needed:
        if name not in named:
            raise RecordedError(f"{where}: the column {name!r} is missing (the columns: {columns}); add it")
    ends = [end for end in (layout.response, layout.cost) if end]
    others = [name for name in named if name not in (*layout.needed, *layout.ignored)]
    agents = [name for name in others if not name.endswith(tuple(ends))]
    known = frozenset(agents)
    for name in others:
        for end in ends:
            if name.endswith(end) and name.removesuffix(end) not in known:
                missing = shown(name.removesuffix(end))
                raise RecordedError(f"{where}: the column {shown(name)} has no column of scores {missing}; add that")
    if layout is _ROUTERBENCH and (odd := [name for name in agents if "|" in name]):
        allowed = " and ".join(f"LLM{end}" for end in ends)
        raise RecordedError(f"{where}: the column {shown(odd[0])} is unknown; beside scores there are {allowed}")
    return check_agents(agents, where)


def _complete(header: Sequence[str], agents: Sequence[str], end: str | None, where: str) -> list[str]:
    """The columns `LLM<end>` in the LLMs' order; [] where no LLM has one. RecordedError where some lack theirs."""
    names = [f"{agent}{end}" for agent in agents if end]
    columns = frozenset(header)
    missing = [name for name in names if name not in columns]
    if missing and len(missing) < len(names):
        raise RecordedError(f"{where}: the column {shown(missing[0])} is missing; give it for all LLMs or for none")
    return [] if missing else names


# what a cell holds


def _number(cell: str, what: str) -> float:
    """A finite number as a program writes it: no underscores, no digits of other scripts, no decimal comma."""
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", cell, re.IGNORECASE):
        raise RecordedError(f"{what} is {shown(cell)}, not a finite number; leave it blank where the value is missing")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", cell, re.ASCII | re.IGNORECASE):
        raise RecordedError(f"{what} is {shown(cell)}; a number is needed ({OR_ELSE})")
    value = float(cell)
    if value in (float("inf"), -float("inf")):
        raise RecordedError(f"{what} is {shown(cell)}, too large for a number; mend it")
    return value


def _share(cell: str, what: str) -> float | None:
    return check_share(_number(cell.strip(), what), what) if cell.strip() else None


def _true_or_false(cell: str, what: str) -> float | None:
    if not cell.strip():
        return None
    if cell.strip().lower() not in ("true", "false"):
        raise RecordedError(f"{what} is {shown(cell)}; True or False is needed ({OR_ELSE})")
    return float(cell.strip().lower() == "true")


def _dollars(cell: str, what: str) -> float | None:
    if not cell.strip():
        return None
    value = _number(cell.strip(), what)
    if value < 0:
        raise RecordedError(f"{what} is {shown(cell)}; a cost is a number of dollars, 0 or more")
    return value


def _plain(cell: str, what: str) -> str | None:
    return check_text(cell, what) if cell.strip() else None


def _listed(cell: str, what: str) -> str | None:
    """The text of a list literal; of several, each that differs from the one before, with a blank line between."""
    if not cell.strip():
        return None
    texts = read_list(cell, what)
    different = [text for k, text in enumerate(texts) if not k or text != texts[k - 1]]
    return check_text("\n\n".join(different), what)


def _last_question(cell: str, what: str) -> str:
    return check_filled(without_examples(_listed(cell, what) or ""), what)


_PIECE = re.compile(r"""\s*('(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+")\s*(,?)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_MEANING = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)) | {"\n": "", "\\": "\\", "'": "'", '"': '"'}


def read_list(cell: str, what: str) -> list[str]:
    """The texts of a Python list of texts as `repr` writes it; anything else is refused, nothing is evaluated."""
    body = cell.strip()
    texts = []
    if body.startswith("[") and body.endswith("]"):
        at, end, comma = 1, len(body.removesuffix("]").rstrip()), True
        while at < end and comma and (piece := _PIECE.match(body, at, end)):
            texts.append(_ESCAPE.sub(_unescape, piece[1][1:-1]))
            at, comma = piece.end(), bool(piece[2])
        if at >= end:
            return texts
    raise RecordedError(f"{what} is {shown(cell)}; a Python list of texts is needed, such as ['a text']")


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point < 0x110000 else "\ud800"  # no such character: refused as half of one
    return chr(int(code, 8)) if code[0] in "01234567" else _MEANING.get(code, "\\" + code)


def without_examples(prompt: str) -> str:
    """The question that a prompt asks: what follows its last answered example.

    An example is answered where text follows `Answer:` in one paragraph. Prompts that do not end with `Answer:`
    have no examples of this kind and stay as they are.
    """
    if not prompt.rstrip().endswith(CUE):
        return prompt
    starts = [0, *(gap.end() for gap in re.finditer(r"\n[ \t]*\n\s*", prompt))]
    for begin, end in reversed(list(pairwise(starts))):
        _, cue, answer = prompt[begin:end].rpartition(CUE)
        if cue and answer.strip():
            return prompt[end:]
    return prompt


_ROUTERBENCH = _Layout(
    "routerbench",
    ("sample_id", "prompt", "eval_name"),
    ("oracle_model_to_route_to",),
    "|model_response",
    "|total_cost",
    _share,
    _listed,
    _last_question,
)
_ROUTELLM = _Layout("routellm", ("prompt",), (), "_response", None, _true_or_false, _plain, check_filled)
