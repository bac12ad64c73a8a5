"""The paper's eight benchmarks themselves: from the hub, or from a file of the same schema.

    read_benchmark("math500", "test").questions                        from the hub
    read_benchmark("gpqa", "test", "gpqa_diamond.csv").questions       from a file, no network
    trinity questions --check gpqa --path gpqa_diamond.csv

Each row is checked when it is read, its reference by the very checker that will judge answers. A bad row is refused
with its place in the file and the reason; the command lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from suite.benchmarks.catalogue import BENCHMARKS
from suite.benchmarks.files import fetch, read_rows
from suite.benchmarks.rows import CONVERTERS, Row
from suite.checkers.check import check_reference
from suite.questions.files import SPLITS
from trinity_core.types import DataError, Question, Split


@dataclass(frozen=True)
class Reading:
    """What a file held: the questions in file order, and (place, reason) of each row that was refused."""

    questions: list[Question]
    refused: list[tuple[str, str]]


def read_benchmark(name: str, split: str, path: str | Path | None = None) -> Reading:
    """The benchmark's questions, from `path` or (path None) from the hub, and the rows that were refused.

    DataError for an unknown name or split and for a file without rows; `HubError` or FileNotFoundError for no file.
    """
    for what, given, known in (("benchmark", name, BENCHMARKS), ("split", split, SPLITS)):
        if given not in known:
            raise DataError(f"unknown {what} {given!r}; choose one of {', '.join(known)}")
    reading = Reading([], [])
    seen: dict[str, str] = {}
    for number, (place, row) in enumerate(read_rows(fetch(name, split) if path is None else Path(path))):
        try:
            question = _question(name, split, number, row)
            source = question.meta["source_id"]
            if source is not None and seen.setdefault(source, place) != place:
                raise DataError(f"id {source!r} stands already in {seen[source]}")
            reading.questions.append(question)
        except ValueError as error:  # DataError is one
            reading.refused.append((place, str(error)))
    if not reading.questions and not reading.refused:
        raise DataError(f"{path or name} holds no rows")
    return reading


def _question(name: str, split: Split, number: int, row: Row | str) -> Question:
    """The row as a question whose reference its checker can read. DataError says what is wrong."""
    if isinstance(row, str):
        raise DataError(row)
    missing = [field for field in BENCHMARKS[name].fields if field not in row]
    if missing:
        raise DataError(f"field {missing[0]!r} is missing; {name} needs {', '.join(BENCHMARKS[name].fields)}")
    draft = CONVERTERS[name](row)
    question = Question(
        id=f"{name}-{split}-{number:05d}",
        family=BENCHMARKS[name].family,
        split=split,
        text=draft.text,
        bare=draft.text,
        phrasing=0,
        kind=draft.kind,
        reference=draft.reference,
        meta={"benchmark": name, "source_id": draft.source} | draft.meta,
    )
    if question.kind != "judge":
        check_reference(question.kind, question.reference, question)
    return question
