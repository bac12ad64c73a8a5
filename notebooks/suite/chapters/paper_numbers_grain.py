"""What whole questions and coin flips allow: which percentages N questions can give, and how far chance moves them.

A score over N questions is a count k out of N, so a printed percentage must be some 100 k / N after rounding (the
granularity test of Brown and Heathers). And a mean of m right-or-wrong rollouts has standard error sqrt(p (1 - p) / m).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from suite.published import HELD_OUT, PAPER, decimals, half_unit, published

if TYPE_CHECKING:
    import pandas as pd


def runs_needed(cell: float, questions: int, places: int, limit: int = 10) -> int | None:
    """The fewest runs r for which `cell` (percent) is a whole count out of r x `questions`, to `places` decimals.

    None where no r up to `limit` will do.
    """
    for runs in range(1, limit + 1):
        total = runs * questions
        count = round(cell * total / 100)
        if abs(100 * count / total - cell) <= half_unit(places) + 1e-9:
            return runs
    return None


def chance_of_fit(questions: int, places: int, cells: int) -> float:
    """The chance that `cells` percentages, uniform to `places` decimals, all are whole counts out of `questions`."""
    step = 100 / questions
    return min(1.0, 2 * half_unit(places) / step) ** cells


def granularity(folder: Path = PAPER, limit: int = 10) -> pd.DataFrame:
    """`runs_needed` for every held-out cell of Table 1: one row a model, one column a task."""
    import pandas as pd

    table = published("table1_zero_shot", folder).set_index("model")
    sizes = _sizes(folder)
    runs = {
        task: [runs_needed(cell, sizes[task], places, limit) for cell in table[task]]
        for task, places in ((task, decimals("table1_zero_shot", task, folder)) for task in HELD_OUT)
    }
    return pd.DataFrame(runs, index=table.index).astype("Int64")


def repair_table1(model: str, folder: Path = PAPER) -> pd.DataFrame:
    """What each cell of one row of Table 1 would have to be, alone, for the printed average to hold.

    Columns: the cell, the needed value (both percent), the needed value in questions, and the nearest whole number of
    questions with the cell that it would print. ValueError names an unknown model.
    """
    import pandas as pd

    table = published("table1_zero_shot", folder).set_index("model")
    if model not in table.index:
        raise ValueError(f"no model {model!r} in Table 1; choose one of {', '.join(table.index)}")
    row, sizes = table.loc[model], _sizes(folder)
    missing = 3 * row["average_printed"] - row[list(HELD_OUT)].sum()
    needed = {task: row[task] + missing for task in HELD_OUT}
    return pd.DataFrame([{
        "task": task,
        "cell": row[task],
        "needed": needed[task],
        "in questions": needed[task] * sizes[task] / 100,
        "nearest count": f"{round(needed[task] * sizes[task] / 100)} of {sizes[task]}",
        "would print": 100 * round(needed[task] * sizes[task] / 100) / sizes[task],
    } for task in HELD_OUT])


def held_out_noise(folder: Path = PAPER) -> pd.DataFrame:
    """Table 1's gap between TRINITY and the best single model, in questions and in standard errors of one run.

    The standard error is that of a difference of two independent scores over N questions; a paired test on the
    questions themselves, which the paper does not print, could be sharper.
    """
    import pandas as pd

    table = published("table1_zero_shot", folder).set_index("model")
    rows = []
    for task, questions in _sizes(folder).items():
        ours, best = table.loc["TRINITY", task], table.drop(index="TRINITY")[task].max()
        error = 100 * math.hypot(standard_error(ours / 100, questions), standard_error(best / 100, questions))
        rows.append({"task": task, "questions": questions, "gap": ours - best, "gap in questions":
                     (ours - best) * questions / 100, "standard error": error, "gap / error": (ours - best) / error})
    return pd.DataFrame(rows)


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
    """P(the better of two candidates has the higher mean), ties counted half: exact, from two binomials.

    Their success probabilities are p - gap/2 and p + gap/2; each runs `m` rollouts.
    """
    low, high = p - gap / 2, p + gap / 2
    if not 0 <= low <= high <= 1:
        raise ValueError(f"p = {p} and gap = {gap} give probabilities {low} and {high}; they must lie in [0, 1]")

    def chances(q: float) -> list[float]:
        return [math.comb(m, k) * q**k * (1 - q) ** (m - k) for k in range(m + 1)]

    worse, better = chances(low), chances(high)
    below = 0.0  # P(worse candidate's count < k), grown as k grows
    total = 0.0
    for k in range(m + 1):
        total += better[k] * (below + worse[k] / 2)
        below += worse[k]
    return total


def _sizes(folder: Path) -> dict[str, int]:
    sizes = published("benchmark_sizes", folder)
    return {task: int(n) for task, n in zip(sizes["benchmark"], sizes["questions"], strict=True)}
