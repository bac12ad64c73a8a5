"""What recorded files hold: counts, each LLM's accuracy, and what choosing among the LLMs could give.

    best single LLM            one LLM for all questions: the one with the highest accuracy (over files: their mean)
    best LLM of each benchmark its accuracy on its own benchmark; no router that sees only benchmarks does better
    best LLM of each question  for each question an LLM that is right, where one is: what no router can pass

All are chosen on the very questions that they are judged on. Numbers are percent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from suite.recordings.readers import SUFFIXES, RecordedError
from suite.recordings.tables import GRID, RecordedTable, counted, listed, on_grid, overlap, same_agents, split_name

TITLES = {"routerdc": "RouterDC's format", "routerbench": "RouterBench's format", "routellm": "RouteLLM's format"}


def files_of(paths: Sequence[str | Path]) -> list[Path]:
    """The paths, a folder replaced by its .json and .csv files by name, each file once, however it is named.

    RecordedError for a folder without any.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        try:
            inside = sorted(path.iterdir()) if path.is_dir() else None
        except OSError as error:
            raise RecordedError(f"the folder {path} cannot be read ({error}); name a folder that can") from None
        if inside is None:
            files.append(path)
            continue
        shown = [file for file in inside if not file.name.startswith(".")]
        own = [file for file in shown if file.suffix.lower() in SUFFIXES and file.is_file()]
        if not own:
            folders = listed([file.name for file in shown if file.is_dir()])
            instead = f"name one of its folders: {folders}" if folders else "name another folder, or files"
            raise RecordedError(f"the folder {path} holds no {' or '.join(SUFFIXES)} file; {instead}")
        files += own
    return list({os.path.realpath(file): file for file in reversed(files)}.values())[::-1]


def summary(table: RecordedTable) -> dict[str, Any]:
    """A table's counts and accuracies; `why` is the reason for the rule of accuracy."""
    means = table.right.mean(axis=0)
    return {
        "file": str(table.path),
        "benchmark": table.name,
        "format": table.format,
        "questions": len(table.questions),
        "agents": len(table.agents),
        "responses": table.responses is not None,
        "costs": table.costs is not None,
        "rule": table.rule,
        "why": _why(table),
        "accuracy": {name: 100 * float(mean) for name, mean in zip(table.agents, means, strict=True)},
        "best single LLM": table.agents[int(means.argmax())],
        "best LLM of each question": 100 * float(table.right.max(axis=1).mean()),
        "remarks": list(table.remarks),
    }


def _why(table: RecordedTable) -> str:
    if table.graded:
        return f"on no grid 1/n up to n = {GRID}, so probabilities of the right option, 0 where another won"
    n = on_grid(table.scores)
    return "each 0 or 1" if n == 1 else f"multiples of 1/{n}, so means of samples that are right or wrong"


def overall(tables: Sequence[RecordedTable]) -> dict[str, Any]:
    """Several benchmarks of the same LLMs, each counting alike."""
    tables = same_agents(tables)
    means = [table.right.mean(axis=0) for table in tables]
    single = sum(means) / len(means)
    return {
        "files": [str(table.path) for table in tables],
        "split": split_name(tables[0].path),
        "accuracy": {name: 100 * float(mean) for name, mean in zip(tables[0].agents, single, strict=True)},
        "best single LLM": tables[0].agents[int(single.argmax())],
        "best LLM of each benchmark": 100 * float(sum(mean.max() for mean in means) / len(means)),
        "best LLM of each question": 100 * float(sum(t.right.max(axis=1).mean() for t in tables) / len(tables)),
    }


def groups(tables: Sequence[RecordedTable]) -> list[list[RecordedTable]]:
    """Tables that can be averaged: of the same LLMs and the same split. Groups of one are left out."""
    found: dict[Any, list[RecordedTable]] = {}
    for table in tables:
        found.setdefault((frozenset(table.agents), split_name(table.path)), []).append(table)
    return [group for group in found.values() if len(group) > 1]


def overlaps(tables: Sequence[RecordedTable]) -> Iterator[str]:
    """A remark for each training file and other file that share questions."""
    for train in (table for table in tables if split_name(table.path) == "train"):
        for other in (table for table in tables if split_name(table.path) != "train"):
            remark = overlap(train, other)[1]
            if remark:
                yield remark


def as_text(found: dict[str, Any]) -> str:
    """A `summary` for a terminal."""
    extras = [name for name in ("responses", "costs") if found[name]]
    return "\n".join(
        [
            found["file"],
            f"  benchmark {found['benchmark']}: {counted(found['questions'], 'question')}, {found['agents']} LLMs "
            f"({TITLES[found['format']]}{''.join(f', with {name}' for name in extras)})",
            f"  {found['rule']}: {found['why']}",
            *_accuracies(found),
        ]
    )


def overall_as_text(found: dict[str, Any]) -> str:
    """An `overall` for a terminal."""
    split = f" ({found['split']})" if found["split"] else ""
    return "\n".join([f"mean of {len(found['files'])} files{split}, each counting alike", *_accuracies(found)])


def _accuracies(found: dict[str, Any]) -> list[str]:
    lines = [f"  {value:6.2f}  {name}" for name, value in found["accuracy"].items()]
    name = found["best single LLM"]
    lines.append(f"  {found['accuracy'][name]:6.2f}  best single LLM: {name}")
    for what in ("best LLM of each benchmark", "best LLM of each question"):
        if what in found:
            lines.append(f"  {found[what]:6.2f}  {what}")
    return lines
