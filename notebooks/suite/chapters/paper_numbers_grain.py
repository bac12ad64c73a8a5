"""What whole questions and coin flips allow: which percentages N questions can give, and how far chance moves them.

A score over N questions is a count k out of N, so a printed percentage must be some 100 k / N after rounding (the
granularity test of Brown and Heathers). And a mean of m right-or-wrong rollouts has standard error sqrt(p (1 - p) / m).
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import binom

from suite.published import HELD_OUT, decimals, half_unit, published


def runs_needed(cell: float, questions: int, places: int, limit: int = 10) -> int | None:
    """The fewest runs r, up to `limit`, for which `cell` (percent) is a whole count out of r x `questions`, to `places`
    decimals; None where there are none."""
    for runs in range(1, limit + 1):
        total = runs * questions
        count = round(cell * total / 100)
        if abs(100 * count / total - cell) <= half_unit(places) + 1e-9:
            return runs
    return None


def chance_of_fit(questions: int, places: int, cells: int) -> float:
    """The chance that `cells` percentages, uniform to `places` decimals, all are whole counts out of `questions`."""
    return min(1.0, 2 * half_unit(places) * questions / 100) ** cells


def granularity(limit: int = 10) -> pd.DataFrame:
    """`runs_needed` for every held-out cell of Table 1: one row a model, one column a task."""
    table, sizes = _table1()
    runs = {}
    for task in HELD_OUT:
        places = decimals("table1_zero_shot", task)
        runs[task] = [runs_needed(cell, sizes[task], places, limit) for cell in table[task]]
    return pd.DataFrame(runs, index=table.index).astype("Int64")


def repair_table1(model: str) -> pd.DataFrame:
    """What each cell of one row of Table 1 would have to be, alone, for the printed average to hold: in percent, in
    questions, and the nearest whole number of questions with the cell that it would print."""
    table, sizes = _table1()
    if model not in table.index:
        raise ValueError(f"no model {model!r} in Table 1; choose one of {', '.join(table.index)}")
    cells = table.loc[model, list(HELD_OUT)].astype(float)
    needed = cells + (3 * table.loc[model, "average_printed"] - cells.sum())
    count = needed * sizes / 100
    repaired = pd.DataFrame({"cell": cells, "needed": needed, "in questions": count})
    repaired["nearest count"] = [f"{round(k)} of {n}" for k, n in zip(count, sizes, strict=True)]
    repaired["would print"] = 100 * count.round() / sizes
    return repaired.rename_axis("task").reset_index()


def held_out_noise() -> pd.DataFrame:
    """Table 1's gap between TRINITY and the best single model, in questions and in standard errors of a difference of
    two independent scores. A paired test on the questions, which the paper does not print, could be sharper."""
    table, sizes = _table1()
    rows = []
    for task, questions in sizes.items():
        ours, best = table.loc["TRINITY", task], table.drop(index="TRINITY")[task].max()
        gap = ours - best
        error = 100 * math.hypot(*(standard_error(score / 100, questions) for score in (ours, best)))
        rows.append((task, questions, gap, gap * questions / 100, error, gap / error))
    return pd.DataFrame(rows, columns=["task", "questions", "gap", "gap in questions", "standard error", "gap / error"])


def standard_error(p: float, m: int) -> float:
    """Standard error of the mean of `m` rollouts that each succeed with probability `p`."""
    if not 0 <= p <= 1 or m < 1:
        raise ValueError(f"p is {p} and m is {m}; give a probability and at least one rollout")
    return math.sqrt(p * (1 - p) / m)


def gap_to_tell(p: float, m: int, z: float = 1.96) -> float:
    """The smallest difference of two candidates' mean rewards, `m` rollouts each, that is `z` standard errors wide."""
    return z * math.sqrt(2) * standard_error(p, m)


def rollouts_to_tell(p: float, gap: float, z: float = 1.96) -> int:
    """Rollouts a candidate for which a true difference of `gap` is `z` standard errors wide."""
    if gap <= 0:
        raise ValueError(f"gap is {gap}; give a positive difference")
    return math.ceil(2 * p * (1 - p) * (z / gap) ** 2)


def right_order(p: float, gap: float, m: int) -> float:
    """P(the better of two candidates has the higher mean of `m` rollouts), ties counted half: exact, from two binomials
    with the success probabilities p - gap/2 and p + gap/2."""
    low, high = p - gap / 2, p + gap / 2
    if not 0 <= low <= high <= 1:
        raise ValueError(f"p = {p} and gap = {gap} give probabilities {low} and {high}; they must lie in [0, 1]")
    worse, better = (binom.pmf(np.arange(m + 1), m, q) for q in (low, high))
    return float(better @ (worse.cumsum() - worse / 2))


def _table1() -> tuple[pd.DataFrame, pd.Series]:
    """Table 1 by model, and the number of questions of each held-out task."""
    sizes = published("benchmark_sizes").set_index("benchmark")["questions"]
    return published("table1_zero_shot").set_index("model"), sizes.astype(int)
