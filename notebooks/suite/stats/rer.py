"""Relative error reduction (A.6): which share of the best single model's errors a choice among models removes.

With E(D, M) the accuracy of model M on data set D: S* = max over M of the mean over D (best single model), Z = mean
over D of the max over M (best model of each data set), RER = (Z - S*) / (1 - S*). The same ratio with TRINITY's mean in
Z's place says what was reached; if it exceeds A.6's, choosing a model per data set cannot explain it.
"""

from __future__ import annotations

import pandas as pd

from suite.published import HELD_OUT, IN_DISTRIBUTION, SUMMARIES, decimals, half_unit, published


def relative_error_reduction(reached: float, best: float) -> float:
    """(reached - best) / (1 - best), both accuracies in [0, 1]."""
    return (reached - best) / (1 - best)


def accuracy_tables() -> dict[str, tuple[pd.DataFrame, pd.Series, pd.Series]]:
    """Per published table: E (models x data sets), TRINITY's row, both in [0, 1], half-widths of their rounding."""
    tables = {}
    for label, name, key, ending, tasks, scale in (
        ("Table 1", "table1_zero_shot", "model", "", HELD_OUT, 100),
        ("Table 2", "table2_ablations", "variant", " only", IN_DISTRIBUTION, 100),
        (SUMMARIES, "fig3_in_distribution", "method", " (4K)", IN_DISTRIBUTION, 1),
    ):
        table = published(name).set_index(key)[list(tasks)] / scale
        singles = table[table.index.str.endswith(ending) & (table.index != "TRINITY")]
        rounding = pd.Series({task: half_unit(decimals(name, task)) for task in tasks}) / scale
        tables[label] = (singles, table.loc["TRINITY"], rounding)
    return tables


def summary() -> pd.DataFrame:
    """One row a table: S*, Z, TRINITY's mean, A.6's RER (a model per data set) and the RER that TRINITY reached."""
    rows = []
    for label, (singles, trinity, _) in accuracy_tables().items():
        best, oracle, reached = singles.mean(axis=1).max(), singles.max().mean(), trinity.mean()
        ratios = (relative_error_reduction(value, best) for value in (oracle, reached))
        rows.append((label, best, oracle, reached, *ratios))
    return pd.DataFrame(rows, columns=["table", "S*", "Z", "TRINITY", "RER of A.6", "RER reached"])


def per_task() -> pd.DataFrame:
    """One row a table and task: TRINITY's RER against the task's best single model, with the range rounding allows."""
    rows = []
    for label, (singles, trinity, h) in accuracy_tables().items():
        for task, best in singles.max().items():
            ratios = (relative_error_reduction(trinity[task] + x, best - x) for x in (0, -h[task], h[task]))
            rows.append((label, task, singles[task].idxmax(), *ratios))
    return pd.DataFrame(rows, columns=["table", "task", "best single", "RER", "low", "high"])


def readings() -> pd.DataFrame:
    """Errors removed in percent, for each published table: of the means, as the mean over tasks, MT-Bench included.

    MT-Bench counts as a share of its top score, 10. `low`, `high`: what the rounding of the cells allows.
    """
    rows, tasks = [], per_task().set_index("table")[["RER", "low", "high"]]
    for label, (singles, trinity, h) in accuracy_tables().items():
        best, reached = singles.mean(axis=1).max(), trinity.mean()
        ratios = [relative_error_reduction(reached + x, best - x) for x in (0, -h.mean(), h.mean())]
        rows += [(f"the averages of {label}", *ratios), (f"the mean over tasks of {label}", *tasks.loc[label].mean())]
    table = published("table1_zero_shot").set_index("model")["mt_bench"] / 10
    best, h = table.drop("TRINITY").max(), half_unit(decimals("table1_zero_shot", "mt_bench")) / 10
    ratios = [relative_error_reduction(table["TRINITY"] + x, best - x) for x in (0, -h, h)]
    with_fourth = [(3 * mean + last) / 4 for mean, last in zip(tasks.loc["Table 1"].mean(), ratios, strict=True)]
    rows.append(("the mean over tasks of Table 1 with MT-Bench", *with_fourth))
    frame = pd.DataFrame(rows, columns=["reading", "percent", "low", "high"])
    return frame.assign(**{name: 100 * frame[name] for name in ("percent", "low", "high")})
