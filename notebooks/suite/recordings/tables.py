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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from suite.profiles import RecordedError

GRID = 20  # the most samples whose mean is told from a probability
ROUNDED = 4  # decimals: scores may be written with so many, or as few as 2
COUNTED, AVERAGED = "accuracy counts scores above 0", "accuracy averages the scores"
DOUBTFUL = 0.1  # an option that wins among ten or fewer has at least this probability
SHOWN = 10  # places that a remark names
SPLITS = {"train": "train", "training": "train", "test": "test", "dev": "validation", "val": "validation"}
SPLITS |= {"valid": "validation", "validation": "validation"}
_SPLIT_WORD = re.compile(rf"(?i)(?:^|[_.\- ]+)({'|'.join([*SPLITS, 'responses'])})(?=$|[_.\- ])")


@dataclass(frozen=True, eq=False)
class RecordedTable:
    """A file's questions (n) and LLMs (L), in the file's order. Arrays of texts hold objects."""

    path: Path
    format: str
    agents: tuple[str, ...]  # (L,)
    places: np.ndarray  # (n,) int: the line where the question's row begins, of JSON the number of its entry; from 1
    questions: np.ndarray  # (n,) as asked, without answered examples
    ids: np.ndarray  # (n,) no two the same; the file's stem and the row's number, or the file's own
    scores: np.ndarray  # (n, L) float64 in [0, 1]
    responses: np.ndarray | None = None  # (n, L) what each LLM said; "" for nothing
    costs: np.ndarray | None = None  # (n, L) float64, dollars; NaN where unknown
    remarks: tuple[str, ...] = ()  # a sentence each
    graded: bool = False  # True: a score above 0 counts as right; False: scores are averaged

    @property
    def name(self) -> str:
        """The benchmark."""
        return benchmark_name(self.path)

    @property
    def rule(self) -> str:
        """How accuracy is counted, in words."""
        return COUNTED if self.graded else AVERAGED

    @property
    def right(self) -> np.ndarray:
        """(n, L) float64: the probability that one answer is right, as accuracy counts it."""
        return (self.scores > 0).astype(np.float64) if self.graded else self.scores

    def take(self, rows: np.ndarray) -> RecordedTable:
        """The table of these rows (numbers or a mask) alone."""
        names = ("places", "questions", "ids", "scores", "responses", "costs")
        return replace(self, **{name: part[rows] for name in names if (part := getattr(self, name)) is not None})

    def with_agents(self, names: Sequence[str]) -> RecordedTable:
        """The table of these LLMs, in this order. RecordedError for a name that it lacks or that stands twice."""
        if missing := [name for name in names if name not in self.agents]:
            raise RecordedError(f"{self.path} has no LLM {missing[0]!r}; it has {', '.join(self.agents)}")
        if len(set(names)) != len(names):
            raise RecordedError(f"of the LLMs {', '.join(names)} one stands twice; name it once")
        columns = [self.agents.index(name) for name in names]
        parts = {name: getattr(self, name) for name in ("scores", "responses", "costs")}
        kept = {name: part[:, columns] for name, part in parts.items() if part is not None}
        return replace(self, agents=tuple(names), **kept)

    def where(self, rows: np.ndarray | list[int]) -> str:
        """Where these rows stand in the file, for a message."""
        places = self.places[rows].tolist()
        unit = ("entry", "entries") if self.format == "routerdc" else ("line", "lines")
        return f"{unit[len(places) > 1]} {listed([str(place) for place in places])}"


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
    most = 0.5 * 10.0**-decimals + 1e-9
    return next((n for n in range(1, GRID + 1) if np.all(np.abs(scores * n - np.round(scores * n)) <= most * n)), None)


def complete(
    path: Path,
    format: str,
    agents: tuple[str, ...],
    places: Sequence[int],
    questions: Sequence[str],
    scores: Sequence[Sequence[float | None]],
    responses: Sequence[Sequence[str]] | None = None,
    costs: Sequence[Sequence[float]] | None = None,
    ids: Sequence[str] | None = None,
    kinds: Sequence[str] = (),
) -> RecordedTable:
    """The table of a file's rows that have a score of every LLM, with its remarks; NaN, None: missing; `kinds`: a word
    a row. RecordedError where no row is left.
    """
    if not questions:
        raise RecordedError(f"{path} holds no questions; give a file with at least one")
    ids = ids or [f"{path.stem}-{number:04d}" for number in range(1, len(questions) + 1)]
    counts = Counter(ids)
    ids = [f"{one}#{number}" if counts[one] > 1 else one for number, one in enumerate(ids, 1)]
    arrays = np.array(places), np.array(questions, object), np.array(ids, object), np.array(scores, np.float64)
    said, paid = responses and np.array(responses, object), costs and np.array(costs, np.float64)
    every = RecordedTable(path, format, agents, *arrays, said, paid)
    missing = np.isnan(every.scores)
    whole = ~missing.any(axis=1)
    lacking = listed([name for name, some in zip(agents, missing.any(axis=0), strict=True) if some], most=3)
    if not whole.any():
        raise RecordedError(f"{path}: no question has a score of every LLM; fill in or leave out those of {lacking}")
    table = every.take(whole)
    table = replace(table, graded=on_grid(table.scores) is None)

    remarks = []
    if not whole.all():
        left_out = f"{(~whole).sum()} of {counted(len(whole), 'question')} left out for a missing score of {lacking}"
        remarks.append(f"{left_out}: {every.where(~whole)}")
    silent = None if table.responses is None else table.responses == ""
    for what, blank in (("responses", silent), ("costs", None if table.costs is None else np.isnan(table.costs))):
        if blank is not None and (some := blank.any(axis=1)).any():
            remarks.append(f"{counted(some.sum(), 'question')} without {what} of some LLMs: {table.where(some)}")
    copies = defaultdict(list)
    for row, question in enumerate(table.questions):
        copies[key_of(question)].append(row)
    if twice := [table.where(rows) for rows in copies.values() if len(rows) > 1]:
        remarks.append(f"{counted(len(twice), 'question')} found more than once, kept: {listed(twice, '; ')}")
    if len(kinds := list(dict.fromkeys(kinds))) > 1:
        remarks.append(f"{len(kinds)} values of eval_name ({listed(kinds)}) are taken as one benchmark")
    if table.graded and (table.scores.min() > 0 or table.scores[table.scores > 0].min() < DOUBTFUL):
        remarks.append(
            "scores above 0 count as right, as for probabilities of the right option, 0 where another won; but these "
            f"are above 0 everywhere or below {DOUBTFUL} somewhere, so they may be means of more than {GRID} samples"
        )
    return replace(table, remarks=tuple(f"{path.name}: {remark}" for remark in remarks))


def listed(words: Sequence[str], between: str = ", ", most: int = SHOWN) -> str:
    """The first words, and how many more there are."""
    more = f"{between}and {len(words) - most} more" if len(words) > most else ""
    return between.join(words[:most]) + more


def counted(number: int, what: str) -> str:
    """As in "1 question", "2 questions"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def key_of(question: str) -> str:
    """What two questions share that count as one: the text, whatever its blanks."""
    return " ".join(question.split())


def same_agents(tables: Sequence[RecordedTable]) -> list[RecordedTable]:
    """The tables with their LLMs in the first one's order. RecordedError names files and LLMs that differ."""
    first = tables[0]
    for table in tables:
        if odd := set(table.agents) ^ set(first.agents):
            only = f"only in one of them: {listed(sorted(odd))}"
            raise RecordedError(f"{first.path} and {table.path}: other LLMs ({only}); give files of the same LLMs")
    return [table.with_agents(first.agents) for table in tables]


def overlap(train: RecordedTable, test: RecordedTable) -> tuple[list[int], str]:
    """(rows of `train` whose question stands in `test` too, a remark that names their places or "")."""
    first = {key_of(question): row for row, question in reversed(list(enumerate(test.questions)))}
    there = {row: first[key] for row, text in enumerate(train.questions) if (key := key_of(text)) in first}
    if not there:
        return [], ""
    shared = f"{counted(len(there), 'question')} of {train.path.name} found in {test.path.name} too"
    return list(there), f"{shared}: {train.where(list(there))}; there {test.where(list(there.values()))}"


def drop_overlap(
    train: Sequence[RecordedTable], test: Sequence[RecordedTable]
) -> tuple[list[RecordedTable], list[str]]:
    """(`train` without the questions that stand in any file of `test`, a remark a pair of files that share some).

    RecordedError where a file of `train` has no question left.
    """
    kept, remarks = [], []
    for table in train:
        found = [overlap(table, other) for other in test]
        remarks += [f"{remark}; left out of training" for _, remark in found if remark]
        rest = np.setdiff1d(np.arange(len(table.questions)), [row for rows, _ in found for row in rows])
        if not rest.size:
            raise RecordedError(f"every question of {table.path} stands in a test file too; give other questions")
        kept.append(table.take(rest))
    return kept, remarks
