"""Figures of notebook 00: the paper's printed numbers beside what its cells and formulas give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from suite.published import TASK_NAMES
from suite.results import style
from suite.results.texts import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def printed_minus_computed(frame: pd.DataFrame, title: str) -> Figure:
    """One row a recomputed number (`audit.frame`): its printed minus its computed value, on a symmetric log axis."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 0.27 * len(frame) + 1.3))
    rows = range(len(frame))
    ax.barh(rows, 2 * frame["allowed"], left=-frame["allowed"], height=1.0, color="#D5EAE2", zorder=1,
            label=f"what rounding allows (at most {number(frame['allowed'].max())})")
    ax.axvline(0, color=style.GREY, linewidth=1)
    for status, colour, marker in (("agrees", style.BLUE, "o"), ("within rounding", style.ORANGE, "s"),
                                   ("disagrees", style.VERMILION, "X")):
        chosen = [row for row in rows if frame["status"].iloc[row] == status]
        if chosen:
            ax.plot(frame["difference"].iloc[chosen], chosen, marker=marker, color=colour, linestyle="none",
                    label=status, markersize=7 if marker != "X" else 9)
    for row in rows:
        if frame["status"].iloc[row] == "disagrees":
            value = frame["difference"].iloc[row]
            ax.annotate(f"{value:+.2f}".replace("-", "−"), (value, row), xytext=(0, 7), textcoords="offset points",
                        ha="center", fontsize=8)
    ax.set_xscale("symlog", linthresh=0.02, linscale=0.8)
    ax.set_xlim(-30, 30)
    ticks = [-10, -1, -0.1, 0, 0.1, 1, 10]
    ax.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_yticks(list(rows), frame["item"].str.replace("average of ", ""))
    ax.grid(axis="y", visible=False)
    ax.invert_yaxis()
    ax.set_ylim(len(frame) - 0.4, -0.9)
    ax.set_xlabel("printed minus recomputed (points; symmetric log axis)")
    ax.set_title(title)
    fig.legend(loc="outside lower center", ncols=4)
    return fig


def parameter_counts(bars: pd.DataFrame, limit: float) -> Figure:
    """Horizontal bars of parameter counts (columns part, svf, head, printed) with the paper's limit as a line."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 0.42 * len(bars) + 1.3))
    rows = range(len(bars))
    ax.barh(rows, bars["svf"], color=style.ORANGE, height=0.6, label="SVF offsets")
    ax.barh(rows, bars["head"], left=bars["svf"], color=style.SKY, height=0.6, label="head weights")
    first = True
    for row, printed, total in zip(rows, bars["printed"], bars["svf"] + bars["head"], strict=True):
        if printed == printed:  # not NaN
            style.mark_paper(ax, printed, at=row, axis="x", label="printed" if first else None)
            first = False
        ax.text(total + 650, row + 0.02, f"{total:,.0f}", va="center", ha="left", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85})
    style.mark_paper(ax, limit, axis="x", label=f"stated limit, {limit:,.0f}")
    ax.set_yticks(list(rows), bars["part"])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlim(0, 25_500)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set_xlabel("trained parameters")
    ax.set_title("The coordinator stays under its stated limit")
    fig.legend(loc="outside lower center", ncols=4)
    return fig


def populations(sizes: pd.DataFrame, printed: Sequence[tuple[int, float]]) -> Figure:
    """Population size against n, rounded down, up, and by pycma (columns n, floor, ceil, pycma); printed marks."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 3.9))
    ax.step(sizes["n"], sizes["ceil"], where="post", color=style.ORANGE, linestyle="--", label="rounded up")
    ax.step(sizes["n"], sizes["floor"], where="post", color=style.BLUE, label="rounded down")
    shown = sizes.dropna(subset=["pycma"])
    ax.plot(shown["n"], shown["pycma"], "o", color=style.GREEN, markersize=5, label="pycma, asked")
    for index, (n, value) in enumerate(printed):
        style.mark_paper(ax, value, at=n, label="printed" if index == 0 else None)
        ax.annotate(f"n = {n:,}\nprinted {value:,.0f}", (n, value), xytext=(-14, 16) if index == 0 else (12, -26),
                    textcoords="offset points", ha="right" if index == 0 else "left", fontsize=8.5)
    ax.set_xscale("log")
    ax.set_xlabel("number of parameters n (log axis)")
    ax.set_ylabel("population size")
    ax.set_title("One printed population rounds up, the other down")
    ax.legend(loc="lower right")
    return fig


def error_reductions(frame: pd.DataFrame) -> Figure:
    """`rer.per_task` as points with the range that rounding allows, one panel a table."""
    import matplotlib.pyplot as plt

    tables = list(dict.fromkeys(frame["table"]))
    fig, axes = plt.subplots(1, len(tables), figsize=(8.6, 3.3), sharex=True)
    for ax, table, colour in zip(axes, tables, (style.BLUE, style.VERMILION, style.GREEN), strict=True):
        part = frame[frame["table"] == table].reset_index(drop=True)
        spread = 100 * part["RER"] - 100 * part["low"], 100 * part["high"] - 100 * part["RER"]
        ax.barh(part.index, 100 * part["RER"], xerr=spread, color=colour, height=0.55, capsize=3,
                error_kw={"linewidth": 1.1})
        ax.axvline(0, color=style.BLACK, linewidth=1)
        for row, high, value in zip(part.index, part["high"], part["RER"], strict=True):
            ax.text(max(100 * high, 0) + 1.5, row, f"{100 * value:.1f}".replace("-", "−"), va="center", fontsize=9)
        ax.set_yticks(part.index, [TASK_NAMES[task] for task in part["task"]])
        ax.set_ylim(3.6, -0.6)  # the same bar height in every panel
        ax.set_xlim(-9, 62)
        ax.grid(axis="y", visible=False)
        ax.set_title(table)
    fig.supxlabel("errors removed against the task's best single model (%)", fontsize=10)
    return fig


def noise(frame: pd.DataFrame, m: int) -> Figure:
    """The gap that two candidates must show to be told apart, against rollouts a candidate (columns m, one a p)."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 3.7))
    for column, colour, dashes in zip(frame.columns[1:], (style.BLUE, style.ORANGE), ("-", "--"), strict=True):
        ax.plot(frame["m"], 100 * frame[column], color=colour, linestyle=dashes, label=column)
    ax.axvline(m, color=style.BLACK, linestyle=(0, (5, 3)), linewidth=1.3, label=f"the paper's m = {m}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = [4, 16, 64, 256, 1024]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(plt.NullLocator())
    ax.set_xlabel("rollouts a candidate m (log axis)")
    ax.set_ylabel("gap to tell two apart (points)")
    ax.set_title("Sixteen rollouts tell only very different candidates apart")
    ax.legend(loc="upper right")
    return fig


def token_use(ratios: pd.DataFrame) -> Figure:
    """`discrepancies.token_ratios` as points on a log axis: one row a task, one marker a method."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 2.9))
    for (method, row), marker in zip(ratios.iterrows(), ("s", "o", "^", "D"), strict=True):
        ax.plot(row, range(len(row)), marker, color=style.METHOD_COLOURS[method], markersize=9, label=method,
                markeredgecolor=style.BLACK, markeredgewidth=0.6)
    style.mark_paper(ax, 1.0, axis="x", label="TRINITY")
    ax.set_xscale("log")
    ticks = [0.2, 0.5, 1, 2, 5, 10]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_yticks(range(ratios.shape[1]), [TASK_NAMES[task] for task in ratios.columns])
    ax.set_ylim(ratios.shape[1] - 0.5, -0.5)
    ax.set_xlabel("output tokens a question, over TRINITY's (log axis)")
    ax.set_title("TRINITY writes more than a router and less than an ensemble")
    fig.legend(loc="outside lower center", ncols=5)
    return fig
