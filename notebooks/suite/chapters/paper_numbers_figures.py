"""Figures of notebook 00: the paper's printed numbers beside what its cells and formulas give."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from suite.published import TASK_NAMES
from suite.results import style
from suite.results.texts import number

STATUS_MARKS = {  # colour, marker, size
    "agrees": (style.BLUE, "o", 7),
    "within rounding": (style.ORANGE, "s", 7),
    "disagrees": (style.VERMILION, "X", 9),
}


def printed_minus_computed(frame: pd.DataFrame, title: str) -> Figure:
    """One row a recomputed number (`paper_numbers.frame`): printed minus computed, on a symmetric log axis."""
    fig, ax = plt.subplots(figsize=(7.6, 0.27 * len(frame) + 1.3))
    allowed = f"what rounding allows (at most {number(frame['allowed'].max())})"
    rows = range(len(frame))
    ax.barh(rows, 2 * frame["allowed"], left=-frame["allowed"], height=1.0, color="#D5EAE2", zorder=1, label=allowed)
    ax.axvline(0, color=style.GREY, linewidth=1)
    for status, (colour, marker, size) in STATUS_MARKS.items():
        part = frame.reset_index()["difference"][(frame["status"] == status).to_numpy()]
        if len(part):
            ax.plot(part, part.index, marker, color=colour, label=status, markersize=size)
        for row, value in part.items() if status == "disagrees" else ():
            place = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": 8}
            ax.annotate(f"{value:+.2f}".replace("-", "−"), (value, row), **place)
    ax.set_xscale("symlog", linthresh=0.02, linscale=0.8)
    style.ticks(ax.xaxis, [-10, -1, -0.1, 0, 0.1, 1, 10])
    ax.set_yticks(rows, frame["item"].str.replace("average of ", ""))
    ax.grid(axis="y", visible=False)
    ax.set(xlim=(-30, 30), ylim=(len(frame) - 0.4, -0.9), title=title)
    ax.set_xlabel("printed minus recomputed (points; symmetric log axis)")
    fig.legend(loc="outside lower center", ncols=4)
    return fig


def parameter_counts(bars: pd.DataFrame, limit: float) -> Figure:
    """Horizontal bars of parameter counts (columns part, svf, head, printed) with the paper's limit as a line."""
    fig, ax = plt.subplots(figsize=(7.6, 0.42 * len(bars) + 1.3))
    rows = range(len(bars))
    ax.barh(rows, bars["svf"], color=style.ORANGE, height=0.6, label="SVF offsets")
    ax.barh(rows, bars["head"], left=bars["svf"], color=style.SKY, height=0.6, label="head weights")
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    for row, total in enumerate(bars["svf"] + bars["head"]):
        ax.text(total + 650, row + 0.02, f"{total:,.0f}", va="center", ha="left", fontsize=9, bbox=box)
    for place, (row, printed) in enumerate(bars["printed"].dropna().items()):
        style.mark_paper(ax, printed, at=row, axis="x", label="printed" if place == 0 else None)
    style.mark_paper(ax, limit, axis="x", label=f"stated limit, {limit:,.0f}")
    ax.set_yticks(rows, bars["part"])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlim=(0, 25_500), xlabel="trained parameters", title="The coordinator stays under its stated limit")
    fig.legend(loc="outside lower center", ncols=4)
    return fig


def populations(sizes: pd.DataFrame, printed: Sequence[tuple[int, float]]) -> Figure:
    """Population size against n, rounded down, up, and by pycma (columns n, floor, ceil, pycma); printed marks."""
    fig, ax = plt.subplots(figsize=(7.6, 3.9))
    ax.step(sizes["n"], sizes["ceil"], where="post", color=style.ORANGE, linestyle="--", label="rounded up")
    ax.step(sizes["n"], sizes["floor"], where="post", color=style.BLUE, label="rounded down")
    shown = sizes.dropna(subset=["pycma"])
    ax.plot(shown["n"], shown["pycma"], "o", color=style.GREEN, markersize=5, label="pycma, asked")
    looks = ("printed", (-14, 16), "right"), (None, (12, -26), "left")
    for (n, value), (label, place, side) in zip(printed, looks, strict=True):
        style.mark_paper(ax, value, at=n, label=label)
        note = {"xytext": place, "textcoords": "offset points", "ha": side, "fontsize": 8.5}
        ax.annotate(f"n = {n:,}\nprinted {value:,.0f}", (n, value), **note)
    ax.set(xscale="log", xlabel="number of parameters n (log axis)", ylabel="population size")
    ax.set_title("One printed population rounds up, the other down")
    ax.legend(loc="lower right")
    return fig


def error_reductions(frame: pd.DataFrame) -> Figure:
    """`rer.per_task` as points with the range that rounding allows, one panel a table."""
    fig, axes = plt.subplots(1, frame["table"].nunique(), figsize=(8.6, 3.3), sharex=True)
    colours = (style.BLUE, style.VERMILION, style.GREEN)
    for ax, (table, part), colour in zip(axes, frame.groupby("table", sort=False), colours, strict=True):
        percent = 100 * part.reset_index()[["RER", "low", "high"]]
        spread = percent["RER"] - percent["low"], percent["high"] - percent["RER"]
        error = {"xerr": spread, "capsize": 3, "error_kw": {"linewidth": 1.1}}
        ax.barh(percent.index, percent["RER"], color=colour, height=0.55, **error)
        ax.axvline(0, color=style.BLACK, linewidth=1)
        for row, value, _, high in percent.itertuples():
            ax.text(max(high, 0) + 1.5, row, f"{value:.1f}".replace("-", "−"), va="center", fontsize=9)
        ax.set_yticks(percent.index, part["task"].map(TASK_NAMES))
        ax.grid(axis="y", visible=False)
        ax.set(ylim=(3.6, -0.6), xlim=(-9, 62), title=table)  # the same bar height in every panel
    fig.supxlabel("errors removed against the task's best single model (%)", fontsize=10)
    return fig


def noise(frame: pd.DataFrame, m: int) -> Figure:
    """The gap that two candidates must show to be told apart, against rollouts a candidate (columns m, one a p)."""
    fig, ax = plt.subplots(figsize=(7.6, 3.7))
    for column, colour, dashes in zip(frame.columns[1:], (style.BLUE, style.ORANGE), ("-", "--"), strict=True):
        ax.plot(frame["m"], 100 * frame[column], color=colour, linestyle=dashes, label=column)
    ax.axvline(m, color=style.BLACK, linestyle=(0, (5, 3)), linewidth=1.3, label=f"the paper's m = {m}")
    ax.set(xscale="log", yscale="log", xlabel="rollouts a candidate m (log axis)")
    style.ticks(ax.xaxis, [4, 16, 64, 256, 1024])
    style.ticks(ax.yaxis, [5, 10, 20, 50])
    ax.set(ylabel="gap to tell two apart (points)", title="Sixteen rollouts tell only very different candidates apart")
    ax.legend(loc="upper right")
    return fig


def token_use(ratios: pd.DataFrame) -> Figure:
    """`paper_numbers_discrepancies.token_ratios` on a log axis: one row a task, one marker a method."""
    fig, ax = plt.subplots(figsize=(7.6, 2.9))
    edge = {"markeredgecolor": style.BLACK, "markeredgewidth": 0.6}
    for (method, row), marker in zip(ratios.iterrows(), "so^D", strict=True):
        colour = style.METHOD_COLOURS[method]
        ax.plot(row, range(len(row)), marker, color=colour, markersize=9, label=method, **edge)
    style.mark_paper(ax, 1.0, axis="x", label="TRINITY")
    ax.set(xscale="log", xlabel="output tokens a question, over TRINITY's (log axis)")
    style.ticks(ax.xaxis, [0.2, 0.5, 1, 2, 5, 10])
    ax.set_yticks(range(ratios.shape[1]), [TASK_NAMES[task] for task in ratios.columns])
    ax.set(ylim=(ratios.shape[1] - 0.5, -0.5), title="TRINITY writes more than a router and less than an ensemble")
    fig.legend(loc="outside lower center", ncols=5)
    return fig
