"""What recorded files hold: counts, each LLM's accuracy, and what choosing among the LLMs could give.

    best single LLM            one LLM for all questions: the one with the highest accuracy (over files: their mean)
    best LLM of each benchmark its accuracy on its own benchmark; no router that sees only benchmarks does better
    best LLM of each question  for each question an LLM that is right, where one is: what no router can pass

All are chosen on the very questions that they are judged on. Numbers are percent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suite.profiles import RecordedError
from suite.recordings.readers import read_table
from suite.recordings.tables import GRID, RecordedTable, counted, on_grid, overlap, same_agents, split_name

SUFFIXES = (".json", ".csv")  # what is taken of a folder


def files_of(paths: Sequence[str | Path]) -> list[Path]:
    """The paths, a folder replaced by its .json and .csv files by name, each file once, however it is named.

    RecordedError for a folder without any.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        inside = [file for file in sorted(path.glob("[!.]*")) if file.suffix.lower() in SUFFIXES and file.is_file()]
        if path.is_dir() and not inside:
            raise RecordedError(f"the folder {path} holds no {' or '.join(SUFFIXES)} file; name another, or files")
        files += inside or [path]
    return list({os.path.realpath(file): file for file in files}.values())


def inspect_files(files: Sequence[str | Path]) -> dict[str, Any] | None:
    """Prints what files hold, and on standard error what is to be known about them; the same as JSON values.

    None where a file could not be used: the others are printed nevertheless.
    """
    tables, faults = [], []
    for path in files:
        try:
            tables.append(read_table(path))
        except RecordedError as error:
            faults.append(str(error))
            continue
        print(as_text(summary(tables[-1])), flush=True)
        for remark in tables[-1].remarks:
            print(f"note: {remark}", file=sys.stderr)
    groups: dict[Any, list[RecordedTable]] = {}  # what can be averaged: the same LLMs, the same split
    for table in tables:
        groups.setdefault((frozenset(table.agents), split_name(table.path)), []).append(table)
    means = [overall(group) for group in groups.values() if len(group) > 1]
    for found in means:
        print(as_text(found))
    train = [table for table in tables if split_name(table.path) == "train"]
    remarks = [overlap(one, other)[1] for one in train for other in tables if split_name(other.path) != "train"]
    for line in [*(f"note: {remark}" for remark in remarks if remark), *faults]:
        print(line, file=sys.stderr)
    report = {"evidence": "recorded", "files": [summary(table) for table in tables], "means": means}
    return None if faults else report


def summary(table: RecordedTable) -> dict[str, Any]:
    """A table's counts and accuracies; `rule` says how accuracy is counted, and why so."""
    why = f"on no grid 1/n up to n = {GRID}, so probabilities of the right option, 0 where another won"
    if not table.graded:
        n = on_grid(table.scores)
        why = "each 0 or 1" if n == 1 else f"multiples of 1/{n}, so means of samples that are right or wrong"
    return {
        "file": str(table.path),
        "benchmark": table.name,
        "format": table.format,
        "questions": len(table.questions),
        "agents": len(table.agents),
        "rule": f"{table.rule}: {why}",
        **_accuracies([table]),
        "remarks": list(table.remarks),
    }


def overall(tables: Sequence[RecordedTable]) -> dict[str, Any]:
    """Several benchmarks of the same LLMs, each counting alike."""
    files = [str(table.path) for table in tables]
    return {"files": files, "split": split_name(files[0]), **_accuracies(same_agents(tables))}


def _accuracies(tables: Sequence[RecordedTable]) -> dict[str, Any]:
    means = np.array([100 * table.right.mean(axis=0) for table in tables])
    agents, average = tables[0].agents, means.mean(axis=0)
    return {
        "accuracy": dict(zip(agents, average.tolist(), strict=True)),
        "best single LLM": agents[int(average.argmax())],
        "best LLM of each benchmark": float(means.max(axis=1).mean()),
        "best LLM of each question": float(np.mean([100 * table.right.max(axis=1).mean() for table in tables])),
    }


def as_text(found: dict[str, Any]) -> str:
    """A `summary` or an `overall` for a terminal."""
    if "files" in found:
        split = f" ({found['split']})" if found["split"] else ""
        lines = [f"mean of {len(found['files'])} files{split}, each counting alike"]
    else:
        size = f"{counted(found['questions'], 'question')}, {found['agents']} LLMs ({found['format']})"
        lines = [found["file"], f"  benchmark {found['benchmark']}: {size}", f"  {found['rule']}"]
    lines += [f"  {value:6.2f}  {name}" for name, value in found["accuracy"].items()]
    best = found["best single LLM"]
    lines.append(f"  {found['accuracy'][best]:6.2f}  best single LLM: {best}")
    names = ("best LLM of each benchmark", "best LLM of each question")
    return "\n".join([*lines, *(f"  {found[name]:6.2f}  {name}" for name in names)])
