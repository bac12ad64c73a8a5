"""Scores of systems, and leads of one over another, as one tidy frame: a row a system and part, in percent or points.

Columns: system, part (a family, or the average, in which families weigh alike), value, low, high (95 %, see
`intervals`), and paper: the printed number, NaN where none is.

Rewards are (seeds, n_questions[, R]), of every system on the same questions with the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from suite.stats.intervals import Estimate, mean_interval, paired_difference

AVERAGE = "average"
Parts = Sequence[str] | None
Paper = pd.DataFrame | None
COLUMNS = ("system", "part", "value", "low", "high", "paper")


def score(rewards: np.ndarray, families: Sequence[str], part: str = AVERAGE) -> Estimate:
    """The score on one family's questions or on all, in percent. ValueError names a part that is not asked."""
    return mean_interval(*_own(rewards, families, part)).percent()


def lead(ours: np.ndarray, theirs: np.ndarray, families: Sequence[str], part: str = AVERAGE) -> Estimate:
    """The score of the first minus that of the second, in points, paired by question."""
    (a, names), (b, _) = (_own(rewards, families, part) for rewards in (ours, theirs))
    return paired_difference(a, b, names).percent()


def scores(
    systems: Mapping[Any, np.ndarray], families: Sequence[str], *, parts: Parts = None, paper: Paper = None
) -> pd.DataFrame:
    """`score` of each system's rewards, in the module's form. `parts`: which, in this order; None: each family, then
    the average. `paper`: the printed numbers, a row a system and a column a part."""
    return _frame({name: (score, rewards) for name, rewards in systems.items()}, families, parts, paper)


def leads(
    pairs: Mapping[Any, tuple[np.ndarray, np.ndarray]],
    families: Sequence[str],
    *,
    parts: Parts = None,
    paper: Paper = None,
) -> pd.DataFrame:
    """`lead` of each pair, as `scores`."""
    return _frame({name: (lead, *pair) for name, pair in pairs.items()}, families, parts, paper)


def wide(rows: pd.DataFrame, average: str = AVERAGE) -> pd.DataFrame:
    """`scores` or `leads` with a row a system: its value by part, the average's interval beside the average."""
    table = rows.pivot(index="system", columns="part", values="value")
    table = table.loc[rows["system"].unique(), rows["part"].unique()].rename_axis(columns=None)
    ends = rows[rows["part"] == average].set_index("system")
    for end in ("high", "low"):
        table.insert(table.columns.get_loc(average) + 1, end, ends[end])
    return table


def neighbours(printed: pd.Series) -> list[tuple[Any, Any, float]]:
    """Neighbours in the order of printed numbers, highest first: (higher, lower, difference)."""
    ranked = printed.sort_values(ascending=False)
    return [(a, b, round(float(ranked[a] - ranked[b]), 3)) for a, b in pairwise(ranked.index)]


def numbers(row: Any, places: int = 9) -> dict[str, Any]:
    """`ours` and `interval` of a claim, rounded, of an `Estimate` or of a row with value, low and high."""
    value, low, high = (round(float(x), places) + 0.0 for x in (row.value, row.low, row.high))  # never a negative zero
    return {"ours": value, "interval": (low, high)}


def _own(rewards: np.ndarray, families: Sequence[str], part: str) -> tuple[np.ndarray, list[str]]:
    """Rewards and families of the questions that are the part's own."""
    if part != AVERAGE and part not in families:
        raise ValueError(f"no questions of {part!r}; choose {AVERAGE} or one of {', '.join(dict.fromkeys(families))}")
    if np.shape(rewards)[1] != len(families):
        raise ValueError(f"rewards of shape {np.shape(rewards)} for {len(families)} families' names")
    own = [place for place, family in enumerate(families) if part in (AVERAGE, family)]
    return np.asarray(rewards)[:, own], [families[place] for place in own]


def _frame(
    systems: Mapping[Any, tuple[Callable[..., Estimate], Any]], families: Sequence[str], parts: Parts, paper: Paper
) -> pd.DataFrame:
    rows = []
    for system, (measure, *rewards) in systems.items():
        for part in (*dict.fromkeys(families), AVERAGE) if parts is None else parts:
            known = paper is not None and system in paper.index
            printed = round(float(paper.loc[system, part]), 6) if known else np.nan  # 6: no noise of a difference
            rows.append((system, part, *measure(*rewards, families, part), printed))
    return pd.DataFrame(rows, columns=COLUMNS)
