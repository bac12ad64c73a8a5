"""The paper's eight benchmarks themselves: from the hub, or from a file of the same schema.

    load_benchmark("math500", "test")                        from the hub
    load_benchmark("gpqa", "test", path="gpqa_diamond.csv")  from a file, no network
    trinity questions --check gpqa --path gpqa_diamond.csv

Each row is checked when it is read, its reference by the very checker that will judge answers. A bad row is refused
with its place in the file and the reason; how many were is said in a warning, and the command lists them all.
LiveCodeBench unpacks to gigabytes of tests: `limit` reads the first so many rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from suite.benchmarks.catalogue import BENCHMARKS
from suite.benchmarks.files import fetch, read_rows
from suite.benchmarks.rows import CONVERTERS, Row
from suite.checkers.check import check_reference
from suite.questions.files import SPLITS
from trinity_core.types import DataError, Question, Split


class RefusedRows(UserWarning):
    """Some rows of a benchmark's file could not be used."""


@dataclass(frozen=True)
class Reading:
    """What a file held: the questions in file order, and (place, reason) of each row that was refused."""

    questions: list[Question]
    refused: list[tuple[str, str]]

    @property
    def rows(self) -> int:
        return len(self.questions) + len(self.refused)


def load_benchmark(name: str, split: str, path: str | Path | None = None, limit: int | None = None) -> list[Question]:
    """The benchmark's questions: from `path`, or (path None) from the hub; `limit` reads the first so many rows.

    Warns (`RefusedRows`) with count and first reason where rows were refused. DataError for an unknown name or split
    and where no row is left; `HubError` or FileNotFoundError where there is no file.
    """
    reading = read_benchmark(name, split, path, limit)
    if reading.refused:
        place, reason = reading.refused[0]
        message = f"{name} {split}: {len(reading.refused)} of {reading.rows} rows refused, first {place}: {reason}"
        if not reading.questions:
            raise DataError(message)
        warnings.warn(f"{message}; list them with trinity questions --check", RefusedRows, stacklevel=2)
    return reading.questions


def read_benchmark(name: str, split: str, path: str | Path | None = None, limit: int | None = None) -> Reading:
    """As `load_benchmark`, but gives the refused rows instead of warning. DataError for a file without any rows."""
    if name not in BENCHMARKS:
        raise DataError(f"unknown benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}")
    if split not in SPLITS:
        raise DataError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}; it must be at least 1 (or None for all)")
    reading = Reading([], [])
    seen: dict[str, str] = {}
    for number, (place, row) in enumerate(read_rows(fetch(name, split) if path is None else Path(path))):
        if number == limit:
            break
        try:
            if isinstance(row, str):
                raise DataError(row)
            question = _question(name, split, number, row)
            source = question.meta["source_id"]
            if source in seen:
                raise DataError(f"id {source!r} stands already in {seen[source]}")
        except ValueError as error:  # DataError is one
            reading.refused.append((place, str(error)))
            continue
        if source is not None:
            seen[source] = place
        reading.questions.append(question)
    if not reading.rows:
        raise DataError(f"{path or name} holds no rows")
    return reading


def _question(name: str, split: Split, number: int, row: Row) -> Question:
    """The row as a question whose reference its checker can read. DataError says what is wrong."""
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
