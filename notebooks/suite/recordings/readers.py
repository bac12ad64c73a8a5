"""Readers of recorded files: one function a format, in `FORMATS`; which one a file has is told by its content.

    routerdc     a JSON list of {"question": text, "scores": {LLM: number from 0 to 1}}; null or no key: missing. The
                 first entry names all LLMs; other keys are not read
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
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from reprlib import repr as shown  # short, on one line
from typing import Any

import numpy as np

from suite.profiles import RecordedError
from suite.recordings.tables import RecordedTable, complete, listed, same_agents

LARGEST_CELL = 1 << 30  # characters
UNREAD = ("", "Unnamed: 0", "oracle_model_to_route_to")  # columns: row numbers, and what follows from the scores
ROUTERBENCH = ("sample_id", "eval_name", "|model_response", "|total_cost")  # what RouterBench's headers alone hold
CUE = "Answer:"  # RouterBench's prompts: what an answer follows
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
REMEDY = "blank where it is missing; a column that is no LLM's is to be removed"


def read_tables(paths: Sequence[str | Path]) -> list[RecordedTable]:
    """The files' tables, all with the LLMs of the first in its order.

    RecordedError where the LLMs differ, and where two files hold one benchmark.
    """
    found: dict[str, RecordedTable] = {}
    for table in map(read_table, paths):
        other = found.setdefault(table.name.casefold(), table)
        if other is not table:
            both = f"{other.path} and {table.path} both hold the benchmark {table.name!r}, by their names"
            raise RecordedError(f"{both}; give one of them, or rename one")
    if not found:
        raise RecordedError("no file is given; name at least one")
    return same_agents(list(found.values()))


def read_table(path: str | Path) -> RecordedTable:
    """The table of a file in any of the formats. RecordedError says what is wrong, and where."""
    path = Path(path)
    text = _text_of(path)
    if text.lstrip()[:1] in ("[", "{") or path.suffix.lower() == ".json":
        format = "routerdc"
    else:
        format = "routerbench" if any(word in text.partition("\n")[0] for word in ROUTERBENCH) else "routellm"
    return FORMATS[format](path, text)


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            kind = "is a folder" if path.is_dir() else "is no regular file" if path.exists() else "is not there"
            raise RecordedError(f"{path} {kind}; name a file (data/README.md says where they are published)")
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise RecordedError(f"{shown(str(path))} cannot be read ({error.strerror}); name a file that can") from None
    except UnicodeDecodeError as error:
        where = f"{path}, line {data[: error.start].count(10) + 1}: byte 0x{data[error.start]:02x}"
        raise RecordedError(f"{where} is not UTF-8; unpack the file if it is packed, or save it as UTF-8") from None
    if not text.strip():
        raise RecordedError(f"{path} is empty; give a file of recorded scores")
    return text.replace("\r\n", "\n")  # also within a cell: the texts are the same whatever ends the file's lines


# --- RouterDC: JSON ---------------------------------------------------------------------------------------------------


class _Doubled(dict):
    """A JSON object in which a key stands twice; `dict` keeps the last value."""


def _read_routerdc(path: Path, text: str) -> RecordedTable:
    agents: tuple[str, ...] = ()
    questions, scores = [], []
    for number, entry in enumerate(_json_list(path, text), 1):
        where = f"{path}, entry {number}"
        found = entry.get("scores") if isinstance(entry, dict) else None
        if not isinstance(found, dict) or "question" not in entry:
            raise RecordedError(f"{where}: is {shown(entry)}; an object with question and scores, an object, is needed")
        if isinstance(entry, _Doubled) or isinstance(found, _Doubled):
            raise RecordedError(f"{where}: a key stands twice in one object; remove one of the two")
        agents = agents or _named(list(found), where)
        if unknown := [name for name in found if name not in agents]:
            remedy = "name every LLM in the first entry (null where its score is missing)"
            raise RecordedError(f"{where}: scores {shown(unknown[0])}, an LLM that the first entry lacks; {remedy}")
        questions.append(_checked(_filled, entry["question"], f"{where}: the question"))
        scores.append([_checked(_score, found.get(name), f"{where}: the score of {name!r}") for name in agents])
    return complete(path, "routerdc", agents, range(1, len(questions) + 1), questions, scores)


def _json_list(path: Path, text: str) -> list[Any]:
    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return found if len(found := dict(pairs)) == len(pairs) else _Doubled(found)

    try:
        entries = json.loads(text, object_pairs_hook=keep)
    except (ValueError, RecursionError) as error:
        raise RecordedError(f"{path} is not JSON that can be read ({error}); mend it") from None
    if not isinstance(entries, list):
        raise RecordedError(f"{path} is {shown(entries)}; all entries stand in one list, [{{...}}, {{...}}]")
    return entries


# --- RouterBench and RouteLLM: CSV ------------------------------------------------------------------------------------


def _read_routerbench(path: Path, text: str) -> RecordedTable:
    own = {"prompt": _last_question, "sample_id": _filled, "eval_name": _filled}
    each = {"": _share, "|model_response": listed_texts, "|total_cost": _dollars}
    return _csv_table(path, text, "routerbench", own, each)


def _read_routellm(path: Path, text: str) -> RecordedTable:
    return _csv_table(path, text, "routellm", {"prompt": _filled}, {"": _true_or_false, "_response": _text})


def _csv_table(
    path: Path, text: str, format: str, own: Mapping[str, Callable], each: Mapping[str, Callable]
) -> RecordedTable:
    """The table of a CSV file. `own`: its columns but the LLMs'; `each`: what follows an LLM's name in the names of its
    columns of scores, answers and dollars; both with the reader of a cell."""
    header, rows = _csv_rows(path, text)
    if missing := [name for name in own if name not in header]:
        columns = listed([shown(name) for name in header], most=8)
        raise RecordedError(f"{path}, header: the column {missing[0]!r} is missing (the columns: {columns}); add it")
    others = [name for name in header if name not in (*own, *UNREAD)]
    ends = tuple(filter(None, each))
    agents = _named([name for name in others if not name.endswith(ends)], f"{path}, header")
    for end in ends:
        having = {name.removesuffix(end) for name in others if name.endswith(end)}
        if having and (odd := having ^ set(agents)):
            lacks = f"{shown(min(odd))} has only one of the columns LLM and LLM{end}"
            raise RecordedError(f"{path}, header: {lacks}; give both for every LLM, or LLM{end} for none")

    def read(names: Sequence[str], reader: Callable[[str], Any]) -> list[list[Any]] | None:
        """A list a row of what these columns hold; None where the file lacks them."""
        if names[0] not in header:
            return None
        places = [(header.index(name), f"column {name!r}: the cell") for name in names]
        return [[_checked(reader, row[k], f"{path}, line {line}, {what}") for k, what in places] for line, row in rows]

    questions, *more = ([cells[0] for cells in read([name], reader) or ()] for name, reader in own.items())
    recorded = [read([f"{agent}{end}" for agent in agents], reader) for end, reader in each.items()]
    ids, kinds = more or (None, ())
    return complete(path, format, agents, [line for line, _ in rows], questions, *recorded, ids=ids, kinds=kinds)


def _csv_rows(path: Path, text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """(columns, (line where it begins, cells) of each row); blank lines are no rows."""
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, line = [], 1
    try:
        for row in reader:
            rows += [(line, row)] if row else []
            line = reader.line_num + 1
    except csv.Error as error:
        raise RecordedError(f"{path}, line {line}: not CSV ({error}); mend its quotes and commas") from None
    (_, header), *rows = rows
    if len(set(header)) < len(header):
        twice = next(name for k, name in enumerate(header) if name in header[:k])
        raise RecordedError(f"{path}, header: the column {shown(twice)} stands twice; remove or rename one")
    for line, row in rows:
        if len(row) != len(header):
            cells = f"{len(row)} cell{'s' * (len(row) > 1)}, the header {len(header)}; its last one is {shown(row[-1])}"
            raise RecordedError(f"{path}, line {line}: the row has {cells}; mend the row")
    return header, rows


# --- values: a reader gives the value, or says in a ValueError what is needed -----------------------------------------


def _checked(read: Callable[[Any], Any], value: Any, what: str) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise RecordedError(f"{what} is {shown(value)}; {error}") from None


def _named(names: Sequence[str], where: str) -> tuple[str, ...]:
    """LLMs' names: two or more, printable, without blanks around them."""
    if odd := [name for name in names if not name.isprintable() or name != name.strip() or not name]:
        fault = "is empty, begins or ends with a blank, or holds a character that cannot be printed"
        raise RecordedError(f"{where}: the LLM's name {shown(odd[0])} {fault}; mend the name")
    if len(names) < 2:
        raise RecordedError(f"{where}: the LLMs are {listed(names) or 'none'}; a choice needs the scores of at least 2")
    return tuple(names)


def _text(value: Any) -> str:
    if not isinstance(value, str) or re.search(r"[\0\ud800-\udfff]", value):
        raise ValueError("a text is needed, without zero bytes and halves of characters")
    return value if value.strip() else ""


def _filled(value: Any) -> str:
    if not _text(value):
        raise ValueError("fill it in, or remove the question")
    return value


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | None) or not 0 <= (value or 0) <= 1:
        raise ValueError("a number from 0 to 1 is needed (50 % is 0.5), null where it is missing")
    return np.nan if value is None else float(value)


def _number(cell: str, most: float, needed: str) -> float:
    """As a program writes it: no underscores, no digits of other scripts, no decimal comma."""
    if not cell.strip():
        return np.nan
    if not NUMBER.fullmatch(cell.strip()) or not 0 <= float(cell) <= most:
        raise ValueError(f"{needed} is needed ({REMEDY})")
    return float(cell)


def _share(cell: str) -> float:
    return _number(cell, 1.0, "a number from 0 to 1 (50 % is 0.5)")


def _dollars(cell: str) -> float:
    return _number(cell, np.finfo(float).max, "a number of dollars, 0 or more,")


def _true_or_false(cell: str) -> float:
    values = {"": np.nan, "true": 1.0, "false": 0.0}
    if cell.strip().lower() not in values:
        raise ValueError(f"True or False is needed ({REMEDY})")
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


FORMATS: dict[str, Callable[[Path, str], RecordedTable]] = {
    "routerdc": _read_routerdc,
    "routerbench": _read_routerbench,
    "routellm": _read_routellm,
}
