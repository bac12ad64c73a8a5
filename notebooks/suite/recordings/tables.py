"""Recorded scores of real LLMs as tables: one row a question, one column an LLM.

Two kinds of scores are published, and each file says itself which it holds (`RecordedTable.graded`):
    shares         right or wrong, or the mean of n right-or-wrong samples: all scores lie on one grid k/n, n <= 20.
                   Accuracy averages them.
    probabilities  that of the right option where the LLM chose it, 0 where it chose another. Accuracy counts the scores
                   above 0.
That reproduces RouterDC's published accuracies. Nothing is imputed: a question without a score of every LLM is left out
and named in `remarks`; a question that stands twice is kept and named.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from suite.profiles import DATA_FOLDERS, DATA_VARIABLE, PUBLISHED
from suite.recordings.readers import Entry, RecordedError, Recording, read_recording

GRID = 20  # the most samples whose mean is told from a probability
ROUNDED = 4  # decimals: scores may be written with so many, or as few as 2
COUNTED, AVERAGED = "accuracy counts scores above 0", "accuracy averages the scores"
DOUBTFUL = 0.1  # an option that wins among ten or fewer has at least this probability
SHOWN = 10  # places that a remark names
SPLITS = {"train": "train", "training": "train", "test": "test", "dev": "validation", "val": "validation"} | {
    "valid": "validation",
    "validation": "validation",
}
_SPLIT_WORD = re.compile(rf"(?i)(?:^|[_.\- ]+)({'|'.join([*SPLITS, 'responses'])})(?=$|[_.\- ])")


@dataclass(frozen=True, eq=False)
class RecordedTable:
    """A file's questions (n) and LLMs (L), in the file's order."""

    name: str  # the benchmark: the file's name without the words for a split
    path: Path
    format: str  # routerdc, routerbench or routellm
    agents: tuple[str, ...]  # (L,)
    questions: tuple[str, ...]  # (n,) as asked, without answered examples
    scores: np.ndarray  # (n, L) float64 in [0, 1]
    lines: np.ndarray  # (n,) int, the line where the question's entry begins, from 1
    entries: np.ndarray  # (n,) int, the number of its entry, from 1
    graded: bool  # True: a score above 0 counts as right; False: scores are averaged
    responses: tuple[tuple[str, ...], ...] | None  # (n, L) what each LLM said; "" for nothing
    costs: np.ndarray | None  # (n, L) float64, dollars; NaN where unknown
    ids: tuple[str, ...]  # (n,) no two the same; the file's stem and the entry's number, or the file's own
    remarks: tuple[str, ...]  # a sentence each

    @property
    def rule(self) -> str:
        """How accuracy is counted, in words."""
        return COUNTED if self.graded else AVERAGED

    @property
    def right(self) -> np.ndarray:
        """(n, L) float64: the probability that one answer is right, as accuracy counts it."""
        return (self.scores > 0).astype(np.float64) if self.graded else self.scores

    def take(self, rows: np.ndarray | Sequence[int]) -> RecordedTable:
        """The table of these rows (numbers or a mask) alone."""
        rows = np.asarray(rows)
        rows = np.arange(len(self.questions))[rows if rows.size else rows.astype(int)]
        return replace(
            self,
            questions=tuple(self.questions[k] for k in rows),
            scores=self.scores[rows],
            lines=self.lines[rows],
            entries=self.entries[rows],
            responses=None if self.responses is None else tuple(self.responses[k] for k in rows),
            costs=None if self.costs is None else self.costs[rows],
            ids=tuple(self.ids[k] for k in rows),
        )

    def with_agents(self, names: Sequence[str]) -> RecordedTable:
        """The table of these LLMs, in this order. RecordedError for a name that it lacks or that stands twice."""
        if missing := [name for name in names if name not in self.agents]:
            raise RecordedError(f"{self.path} has no LLM {missing[0]!r}; it has {', '.join(self.agents)}")
        if len(set(names)) != len(names) or not names:
            raise RecordedError(f"the LLMs {list(names)} must be one or more, none of them twice")
        columns = [self.agents.index(name) for name in names]
        return replace(
            self,
            agents=tuple(names),
            scores=self.scores[:, columns],
            responses=self.responses and tuple(tuple(row[k] for k in columns) for row in self.responses),
            costs=None if self.costs is None else self.costs[:, columns],
        )

    def places(self, rows: Sequence[int]) -> str:
        """Where these rows stand in the file, for a message."""
        return places_of([int(self.lines[k]) for k in rows], [int(self.entries[k]) for k in rows], self.format)


def benchmark_name(path: str | Path) -> str:
    """The file's stem without the words for a split: "gsm8k-test.json" is gsm8k; "mmlu/test.json" too is mmlu."""
    path = Path(os.path.abspath(path))
    names = (_SPLIT_WORD.sub("", stem).strip("_.- ") for stem in (path.stem, path.parent.name))
    return next(filter(None, names), path.stem)


def split_name(path: str | Path) -> str | None:
    """train, test or validation, where the file's name says so."""
    words = [SPLITS.get(word.lower()) for word in _SPLIT_WORD.findall(Path(path).stem)]
    return next(filter(None, words), None)


def on_grid(scores: np.ndarray) -> int | None:
    """The smallest n <= 20 of which all scores are multiples of 1/n, as exactly as they are written; None: no n."""
    decimals = next((d for d in range(2, ROUNDED) if np.abs(scores - scores.round(d)).max(initial=0) < 1e-9), ROUNDED)
    for n in range(1, GRID + 1):
        if np.all(np.abs(scores * n - np.round(scores * n)) <= (0.5 * 10.0**-decimals + 1e-9) * n):
            return n
    return None


def read_table(path: str | Path) -> RecordedTable:
    """The file's table. RecordedError names what is wrong with file and line."""
    recording = read_recording(path)
    first = recording.entries[0]
    complete = [entry for entry in recording.entries if None not in entry.scores]
    if not complete:
        lacking = ", ".join(_lacking(recording, first))
        raise RecordedError(
            f"{recording.path}: no question has a score of every LLM (line {first.line} lacks {lacking}); fill in the "
            "scores, or leave out the LLM"
        )
    scores = np.array([entry.scores for entry in complete], dtype=np.float64)
    told = [entry.responses for entry in complete if entry.responses is not None]
    paid = [entry.costs for entry in complete if entry.costs is not None]
    table = RecordedTable(
        name=benchmark_name(recording.path),
        path=recording.path,
        format=recording.format,
        agents=recording.agents,
        questions=tuple(entry.question for entry in complete),
        scores=scores,
        lines=np.array([entry.line for entry in complete]),
        entries=np.array([entry.number for entry in complete]),
        graded=on_grid(scores) is None,
        responses=tuple(tuple(text or "" for text in row) for row in told) if told else None,
        costs=np.array(paid, dtype=np.float64) if paid else None,  # None becomes NaN
        ids=_ids(recording.path.stem, complete),
        remarks=(),
    )
    return replace(table, remarks=tuple(_remarks(table, recording, complete)))


def _lacking(recording: Recording, entry: Entry) -> list[str]:
    return [name for name, score in zip(recording.agents, entry.scores, strict=True) if score is None]


def _ids(stem: str, entries: list[Entry]) -> tuple[str, ...]:
    """The file's own ids, where one stands twice with the entry's number; else stem and number ("mmlu_test-0017")."""
    own = [entry.id for entry in entries if entry.id is not None]
    if not own:
        return tuple(f"{stem}-{entry.number:04d}" for entry in entries)
    counts = Counter(own)
    return tuple(f"{name}#{e.number}" if counts[name] > 1 else name for name, e in zip(own, entries, strict=True))


def _remarks(table: RecordedTable, recording: Recording, complete: list[Entry]) -> Iterator[str]:
    """What a reader of the table should know, a sentence each."""
    file, all_entries = table.path.name, recording.entries

    def places(entries: Sequence[Entry]) -> str:
        return places_of([e.line for e in entries], [e.number for e in entries], table.format)

    if incomplete := [entry for entry in all_entries if None in entry.scores]:
        lacking = {name for entry in incomplete for name in _lacking(recording, entry)}
        names = listed(sorted(lacking, key=table.agents.index), most=3)
        share = f"{len(incomplete)} of {counted(len(all_entries), 'question')}"
        yield f"{file}: {share} left out for a missing score of {names}: {places(incomplete)}"
    for what in ("responses", "costs"):
        if blank := [entry for entry in complete if None in (getattr(entry, what) or ())]:
            yield f"{file}: {counted(len(blank), 'question')} without {what} of some LLMs: {places(blank)}"
    copies = defaultdict(list)
    for entry in complete:
        copies[key_of(entry.question)].append(entry)
    if twice := [entries for entries in copies.values() if len(entries) > 1]:
        together = listed([places(entries) for entries in twice], "; ")
        yield f"{file}: {counted(len(twice), 'question')} found more than once, kept: {together}"
    groups = list(dict.fromkeys(entry.group for entry in complete if entry.group is not None))
    if len(groups) > 1:
        yield f"{file}: {len(groups)} values of eval_name ({listed(groups)}) are taken as one benchmark"
    smallest = table.scores[table.scores > 0].min(initial=1.0)
    if table.graded and (smallest < DOUBTFUL or table.scores.min() > 0):
        why = f"the smallest score above 0 is {smallest:.3g}" if table.scores.min() <= 0 else "no score is 0"
        yield (
            f"{file}: scores above 0 count as right, as they do for probabilities of the right option; but {why}, so "
            "these may be means of more than 20 samples, whose accuracy would be their average"
        )


def listed(words: Sequence[str], between: str = ", ", most: int = SHOWN) -> str:
    """The first words, and how many more there are."""
    more = f"{between}and {len(words) - most} more" if len(words) > most else ""
    return between.join(words[:most]) + more


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def places_of(lines: Sequence[int], numbers: Sequence[int], format: str) -> str:
    """Where entries stand: "lines 4, 7"; in a JSON file, where a line may hold many, "entries 3, 6 (line 1)"."""
    distinct = list(dict.fromkeys(lines))
    where = f"line{'s' * (len(distinct) > 1)} {listed([str(line) for line in distinct])}"
    if format != "routerdc":
        return where
    return f"entr{'ies' if len(numbers) > 1 else 'y'} {listed([str(number) for number in numbers])} ({where})"


def key_of(question: str) -> str:
    """What two questions share that count as one: the text, whatever its blanks."""
    return " ".join(question.split())


def read_tables(paths: Sequence[str | Path]) -> list[RecordedTable]:
    """The files' tables, all with the LLMs of the first in its order.

    RecordedError where the LLMs differ, and where two files hold one benchmark.
    """
    tables = [read_table(path) for path in paths]
    if not tables:
        raise RecordedError("no file is given; name at least one")
    for k, table in enumerate(tables):
        for other in tables[:k]:
            if other.name.casefold() == table.name.casefold():
                raise RecordedError(
                    f"{other.path} and {table.path} both hold the benchmark {table.name!r}, by their names; give one "
                    "of them, or rename one"
                )
    return same_agents(tables)


def same_agents(tables: Sequence[RecordedTable]) -> list[RecordedTable]:
    """The tables with their LLMs in the first one's order. RecordedError names files and LLMs that differ."""
    first = tables[0]
    for table in tables:
        ours, theirs = set(table.agents), set(first.agents)
        only = [
            f"{listed(sorted(names))} only in {path}"
            for names, path in ((theirs - ours, first.path), (ours - theirs, table.path))
            if names
        ]
        if only:
            differ = "; ".join(only)
            raise RecordedError(f"{first.path} and {table.path}: other LLMs ({differ}); give files of the same LLMs")
    return [table.with_agents(first.agents) for table in tables]


def overlap(train: RecordedTable, test: RecordedTable) -> tuple[np.ndarray, str | None]:
    """(rows of `train` whose question stands in `test` too, a remark that names their places or None)."""
    where = {key_of(question): row for row, question in reversed(list(enumerate(test.questions)))}
    rows = [row for row, question in enumerate(train.questions) if key_of(question) in where]
    if not rows:
        return np.array([], dtype=int), None
    there = [where[key_of(train.questions[row])] for row in rows]
    remark = (
        f"{counted(len(rows), 'question')} of {train.path.name} found in {test.path.name} too: "
        f"{train.places(rows)}; there {test.places(there)}"
    )
    return np.array(rows), remark


def drop_overlap(
    train: Sequence[RecordedTable], test: Sequence[RecordedTable]
) -> tuple[list[RecordedTable], list[str]]:
    """(`train` without the questions that stand in any file of `test`, a remark a pair of files that share some).

    RecordedError where a file of `train` has no question left.
    """
    kept, remarks = [], []
    for table in train:
        keep = np.ones(len(table.questions), dtype=bool)
        for other in test:
            rows, remark = overlap(table, other)
            keep[rows] = False
            remarks += [f"{remark}; left out of training"] if remark else []
        if not keep.any():
            raise RecordedError(
                f"every question of {table.path} stands in a test file too; give other questions to train on"
            )
        kept.append(table if keep.all() else table.take(keep))
    return kept, remarks


def data_dir(named: str | Path | None = None) -> Path:
    """The folder of recorded data: `named`, else TRINITY_DATA. RecordedError says what is missing and where it is
    published."""
    source = "--data-dir" if named is not None else DATA_VARIABLE
    value = named if named is not None else os.environ.get(DATA_VARIABLE, "")
    remedy = f"the folder needs {', '.join(DATA_FOLDERS)} (see data/README.md). {PUBLISHED}"
    if not str(value).strip():
        raise RecordedError(f"{source} is not set; set it to a folder of recorded data: {remedy}")
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise RecordedError(f"{source} is {str(value)!r}, which is no folder; {remedy}")
    if not any((folder / name).is_dir() for name in DATA_FOLDERS):
        raise RecordedError(f"{source} is {str(value)!r}, which holds no recorded data; {remedy}")
    return folder
