"""Readers of recorded files; which format a file has is told by its content.

    routerdc     a JSON list of {"question": text, "scores": {LLM: number from 0 to 1}}; null or no key: missing;
                 other keys are not read
    routerbench  CSV: sample_id, prompt (a Python list of texts), eval_name, and for each LLM a column of numbers from 0
                 to 1; for all LLMs or none `LLM|model_response` (a Python list of texts), `LLM|total_cost` (dollars)
    routellm     CSV: prompt, and for each LLM a column of True or False; for all LLMs or none `LLM_response`

Every other column of a CSV file is an LLM's scores, but for row numbers; a blank cell is missing. Nothing is guessed,
filled in or evaluated: RecordedError names the file and the line (CSV) or the entry (JSON) that cannot be used.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from reprlib import repr as shown  # short, on one line
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from suite.profiles import RecordedError
from suite.recordings.tables import RecordedTable, complete, listed, same_agents

LARGEST_CELL = 1 << 30  # characters
UNREAD = ("", "Unnamed: 0", "oracle_model_to_route_to")  # columns: row numbers, and what follows from the scores
ROUTERBENCH = ("sample_id", "eval_name", "|model_response", "|total_cost")  # what RouterBench's headers alone hold
CUE = "Answer:"  # RouterBench's prompts: what an answer follows
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
REMEDY = "is needed (blank where it is missing; a column that is no LLM's is to be removed)"


def read_tables(paths: Sequence[str | Path]) -> list[RecordedTable]:
    """The files' tables, all with the LLMs of the first in its order.

    RecordedError where the LLMs differ, and where two files hold one benchmark.
    """
    found: dict[str, RecordedTable] = {}
    for table in map(read_table, paths):
        other = found.setdefault(table.name.casefold(), table)
        if other is not table:
            both = f"{other.path} and {table.path} both hold the benchmark {table.name!r}, by their names"
            raise RecordedError(f"{both}; rename one, or give it alone")
    return same_agents(list(found.values()))


def read_table(path: str | Path) -> RecordedTable:
    """The table of a file in any of the formats. RecordedError says what is wrong, and where."""
    path = Path(path)
    try:
        if not path.is_file():
            raise RecordedError(f"{path} is no file; name one (data/README.md says where they are published)")
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordedError(f"{path} cannot be read as UTF-8 ({error}); unpack it if it is packed") from None
    text = text.replace("\r\n", "\n")  # also within a cell: the texts are the same whatever ends the file's lines
    is_json = text.lstrip()[:1] in ("[", "{") or path.suffix.lower() == ".json"
    return _read_json(path, text) if is_json else _read_csv(path, text)


# --- values: a reader gives the value, or says in a ValueError what is needed -----------------------------------------


def _text(value: str) -> str:
    if re.search(r"[\0\ud800-\udfff]", value):
        raise ValueError("a text is needed, without zero bytes and halves of characters")
    return value if value.strip() else ""


def _filled(value: str) -> str:
    if not _text(value):
        raise ValueError("fill it in, or remove the question")
    return value


def _number(cell: str, most: float) -> float:
    """As a program writes it: no underscores, no digits of other scripts, no decimal comma."""
    if not cell.strip():
        return np.nan
    if not NUMBER.fullmatch(cell.strip()) or not 0 <= float(cell) <= most:
        raise ValueError(f"a number from 0 to {most:,} {REMEDY}")
    return float(cell)


def _true_or_false(cell: str) -> float:
    values = {"": np.nan, "true": 1.0, "false": 0.0}
    if cell.strip().lower() not in values:
        raise ValueError(f"True or False {REMEDY}")
    return values[cell.strip().lower()]


def listed_texts(cell: str) -> str:
    """The text of a list as `repr` writes it; of several, each that differs from the one before, a blank line apart."""
    try:
        texts = ast.literal_eval(cell.strip() or "[]")  # reads literals, evaluates nothing
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("a Python list of texts is needed, such as ['a text']")
    return _text("\n\n".join(text for k, text in enumerate(texts) if not k or text != texts[k - 1]))


def _last_question(cell: str) -> str:
    return _filled(without_examples(listed_texts(cell)))


def without_examples(prompt: str) -> str:
    """The question that a prompt asks: what follows its last answered example.

    An example is answered where text follows `Answer:` in one paragraph. Prompts that do not end with `Answer:` have
    no examples of this kind and stay as they are.
    """
    if not prompt.rstrip().endswith(CUE):
        return prompt
    starts = [0, *(gap.end() for gap in re.finditer(r"\n[ \t]*\n\s*", prompt))]
    for begin, end in reversed(list(pairwise(starts))):
        _, cue, answer = prompt[begin:end].rpartition(CUE)
        if cue and answer.strip():
            return prompt[end:]
    return prompt


def _last_question(cell: str) -> str:
    return _filled(without_examples(listed_texts(cell)))


# --- RouterDC: JSON ---------------------------------------------------------------------------------------------------


class Entry(BaseModel, strict=True):
    """One question of a file; other keys are not read."""

    question: Annotated[str, AfterValidator(_filled)]
    scores: dict[str, Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None]


_ENTRIES = TypeAdapter(Annotated[list[Entry], Field(min_length=1)])
_NEEDED = 'an entry is {"question": text, "scores": {LLM: 0 to 1 (50 % is 0.5), or null}}, no key twice'


def _read_json(path: Path, text: str) -> RecordedTable:
    def whole(pairs: list[tuple[str, Any]]) -> Any:
        """The object, or where a key stands twice the pairs, which no entry can be."""
        return found if len(found := dict(pairs)) == len(pairs) else pairs

    try:
        entries = _ENTRIES.validate_python(json.loads(text, object_pairs_hook=whole))
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f", entry {one + 1}" if isinstance(one, int) else f", {one!r}" for one in first["loc"])
        raise RecordedError(f"{path}{place} is {shown(first['input'])}: {first['msg']}; {_NEEDED}") from None
    except (ValueError, RecursionError) as error:
        raise RecordedError(f"{path} is not JSON that can be read ({error}); mend it") from None
    agents = _named(list(dict.fromkeys(name for entry in entries for name in entry.scores)), path)
    scores = [[entry.scores.get(name) for name in agents] for entry in entries]
    return complete(path, "routerdc", agents, range(1, len(entries) + 1), [entry.question for entry in entries], scores)


# --- RouterBench and RouteLLM: CSV ------------------------------------------------------------------------------------

Reader = Callable[[str], Any]
# (the columns but the LLMs', what follows an LLM's name in its columns of scores, answers and dollars), each with the
# reader of a cell.
COLUMNS: dict[str, tuple[dict[str, Reader], dict[str, Reader]]] = {
    "routerbench": (
        {"prompt": _last_question, "sample_id": _filled, "eval_name": _filled},
        {"": partial(_number, most=1), "|model_response": listed_texts, "|total_cost": partial(_number, most=10**6)},
    ),
    "routellm": ({"prompt": _filled}, {"": _true_or_false, "_response": _text}),
}


def _read_csv(path: Path, text: str) -> RecordedTable:
    frame = _csv_cells(path, text)
    header = list(frame.columns)
    format = "routerbench" if any(word in " ".join(header) for word in ROUTERBENCH) else "routellm"
    own, each = COLUMNS[format]
    if missing := [name for name in own if name not in header]:
        columns = listed([shown(name) for name in header], most=8)
        raise RecordedError(f"{path}, header: the column {missing[0]!r} is missing (the columns: {columns}); add it")
    others = [name for name in header if name not in (*own, *UNREAD)]
    agents = _named([name for name in others if not name.endswith(tuple(filter(None, each)))], f"{path}, header")

    def column(name: str, reader: Reader) -> list[Any]:
        values = []
        for line, cell in frame[name].items():
            try:
                values.append(reader(cell))
            except ValueError as error:
                raise RecordedError(
                    f"{path}, line {line}, column {name!r}: the cell is {shown(cell)}; {error}"
                ) from None
        return values

    questions, *more = (column(name, reader) for name, reader in own.items())
    recorded = []
    for end, reader in each.items():
        names = [f"{agent}{end}" for agent in agents]
        having = [name for name in others if name.endswith(end)] if end else names
        if having and (odd := set(having) ^ set(names)):
            raise RecordedError(f"{path}, header: {shown(min(odd))} is odd; give LLM{end} for every LLM, or for none")
        recorded.append(list(zip(*(column(name, reader) for name in names), strict=True)) if having else None)
    ids, kinds = more or (None, ())
    return complete(path, format, agents, list(frame.index), questions, *recorded, ids=ids, kinds=kinds)


def _csv_cells(path: Path, text: str) -> pd.DataFrame:
    """The cells as they are written, by the line where a row begins; blank lines are no rows."""
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, line = {}, 1
    try:
        for row in reader:
            if row:
                rows[line] = row
            line = reader.line_num + 1
    except csv.Error as error:
        raise RecordedError(f"{path}, line {line}: not CSV ({error}); mend its quotes and commas") from None
    if not rows:
        raise RecordedError(f"{path} is empty; give a file of recorded scores")
    header = rows.pop(min(rows))
    if twice := [name for name in header if header.count(name) > 1]:
        raise RecordedError(f"{path}, header: the column {shown(twice[0])} stands twice; remove or rename one")
    for line, row in rows.items():
        if len(row) != len(header):
            cells = f"{len(row)} cells, the header {len(header)}; its last one is {shown(row[-1])}"
            raise RecordedError(f"{path}, line {line}: the row has {cells}; mend the row")
    return pd.DataFrame(list(rows.values()), index=list(rows), columns=header, dtype=object)


def _named(names: Sequence[str], where: str | Path) -> tuple[str, ...]:
    """LLMs' names: two or more, printable, without blanks around them."""
    if odd := [name for name in names if not name.isprintable() or name != name.strip() or not name]:
        fault = "is empty, begins or ends with a blank, or holds a character that cannot be printed"
        raise RecordedError(f"{where}: the LLM's name {shown(odd[0])} {fault}; mend the name")
    if len(names) < 2:
        raise RecordedError(f"{where}: the LLMs are {listed(names) or 'none'}; a choice needs the scores of at least 2")
    return tuple(names)
