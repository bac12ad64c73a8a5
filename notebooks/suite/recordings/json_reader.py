"""RouterDC's format: a JSON list of {"question": text, "scores": {LLM: number from 0 to 1}}; other keys are not read.

An LLM's score is missing where it is null or where the entry lacks the LLM. The first entry names all LLMs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.recordings.entries import Entry, RecordedError, Recording, check_agents, check_filled, check_share, shown

_BLANK = re.compile(r"[ \t\r\n]*")


def read_routerdc(path: Path, text: str) -> Recording:
    """The entries of the file whose text is given. RecordedError names file, line and entry."""
    agents: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    entries = []
    for number, line, value in _elements(path, text):
        where = f"{path}, line {line}, entry {number}"
        if not isinstance(value, dict):
            raise RecordedError(f"{where}: is {shown(value)}; an object with question and scores is needed")
        for key in ("question", "scores"):
            if key not in value:
                has = ", ".join(map(shown, list(value)[:6])) or "none"
                raise RecordedError(f"{where}: the key {key!r} is missing (its keys: {has}); add it")
        scores = value["scores"]
        if not isinstance(scores, dict):
            raise RecordedError(f"{where}: scores is {shown(scores)}; an object {{LLM: score}} is needed")
        if number == 1:
            agents = check_agents(list(scores), where)
            known = frozenset(agents)
        if unknown := [name for name in scores if name not in known]:
            raise RecordedError(
                f"{where}: scores {shown(unknown[0])}, an LLM that the first entry lacks; name every LLM in the first "
                "entry (null where its score is missing)"
            )
        question = check_filled(value["question"], f"{where}: the question")
        found = tuple(_score(scores.get(name), f"{where}: the score of {shown(name)}") for name in agents)
        entries.append(Entry(number, line, question, found))
    return Recording(path, "routerdc", agents, entries)


def _score(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordedError(f"{what} is {shown(value)}; a number from 0 to 1 is needed (null where it is missing)")
    return check_share(value, what)


class _RepeatedKey(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key that stands twice is refused, where Python's own reader would keep the last value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        raise _RepeatedKey(next(name for name, _ in pairs if name in seen or seen.add(name)))
    return found


def _elements(path: Path, text: str) -> Iterator[tuple[int, int, Any]]:
    """(number, line, value) of each element of the list; read one after another, so that each is known by its line."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    at = _skip(text, 0)
    if text[at] != "[":
        raise RecordedError(f"{path}, line 1: begins with an object; all entries stand in one list, [{{...}}, {{...}}]")
    line, counted, number = 1, 0, 0

    def refused(reason: str, position: int) -> RecordedError:
        here = line + text.count("\n", counted, position)
        return RecordedError(f"{path}, line {here}, entry {number}: {reason}; mend the JSON")

    at = _skip(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        number += 1
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise refused(f"not JSON (column {error.colno}: {error.msg})", error.pos) from None
        except _RepeatedKey as error:
            raise refused(f"the key {shown(error.args[0])} stands twice in one object", at) from None
        except RecursionError:
            raise refused("lists or objects are nested too deeply", at) from None
        except ValueError as error:  # a number of thousands of digits
            raise refused(f"not JSON that can be read ({error})", at) from None
        yield number, line, value
        at = _skip(text, end)
        if text[at : at + 1] not in (",", "]") or at == len(text):
            found = f"{text[at]!r} follows the entry" if at < len(text) else "the file ends after the entry"
            raise refused(f"{found} where a comma or ] is needed", at)
        closed = text[at] == "]"
        at = at if closed else _skip(text, at + 1)
    if rest := text[at + 1 :].strip():
        raise refused(f"{shown(rest[:20])} follows the end of the list", _skip(text, at + 1))


def _skip(text: str, at: int) -> int:
    """The place of the first character from `at` on that is no blank."""
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]  # it matches anywhere
