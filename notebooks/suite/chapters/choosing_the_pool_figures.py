"""Figures of notebook 15: the frontier of an accuracy matrix, all its pools, chance, and what trained pools reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from suite.results import style


def draw_frontier(matrix: pd.DataFrame, near: np.ndarray, cells: np.ndarray) -> Figure:
    """Accuracies in percent (agents x data sets, a colour scale a data set); outlined: `near`, and dotted `cells`."""
    fig, ax = plt.subplots(figsize=(6.8, 0.42 * len(matrix) + 1.4))
    values = 100 * matrix.to_numpy()
    ax.imshow((values - values.min(axis=0)) / np.ptp(values, axis=0), cmap="Blues", aspect="auto", vmin=-0.1, vmax=1.6)
    for (row, column), value in np.ndenumerate(values):
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=9)
        for mask, inset, dash, colour in ((near, 0.06, "-", style.VERMILION), (cells, 0.13, ":", style.BLACK)):
            if mask[row, column]:
                corner, side = (column - 0.5 + inset, row - 0.5 + inset), 1 - 2 * inset
                ax.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=colour, linestyle=dash, linewidth=1.8))
    ax.set_xticks(range(matrix.shape[1]), matrix.columns)
    ax.set_yticks(range(len(matrix)), matrix.index)
    ax.grid(visible=False)
    ax.set(title="Near a data set's best (solid), best cells of all (dotted)")
    return fig


def draw_pools(pools: pd.DataFrame, marks: Mapping[str, tuple[int, ...]]) -> Figure:
    """Every pool (`enumerate_pools`) by Z and RER, equal ones as one larger spot; `marks`: label -> members."""
    fig, ax = plt.subplots(figsize=(7.6, 4.2))
    spots = pools.assign(x=(100 * pools["reached"]).round(6), y=(100 * pools["rer"]).round(6))
    spots = spots.groupby(["x", "y"]).size().reset_index(name="pools")
    ax.scatter(spots["x"], spots["y"], s=20 + 5 * spots["pools"], color=style.SKY, edgecolor=style.BLUE, zorder=2)
    known = pools.set_index("members")
    colours = (style.VERMILION, style.GREEN, style.ORANGE)
    for (label, members), colour, marker in zip(marks.items(), colours, "XDP", strict=False):
        row = known.loc[[members]].iloc[0]
        x, y = 100 * row["reached"], 100 * row["rer"]
        ax.plot(x, y, marker, color=colour, markersize=10, markeredgecolor=style.BLACK, markeredgewidth=0.7, zorder=3)
        right = x > spots["x"].mean()
        place = {"xytext": (-9 if right else 9, 9), "ha": "right" if right else "left", "zorder": 4}
        ax.annotate(label, (x, y), textcoords="offset points", fontsize=9, **place)
    ax.set(ylim=(-0.25, 100 * pools["rer"].max() * 1.15))
    ax.set(xlabel="Z: what the pool's best agent for each data set reaches (%)", ylabel="RER (%)")
    ax.set(title="The highest RER is found among weak agents")
    return fig


def draw_chance(draws: Mapping[str, np.ndarray], measured: Mapping[str, float]) -> Figure:
    """Histograms of the RER that equal agents show by chance, one panel a table, the measured one as a line."""
    fig, axes = plt.subplots(1, len(draws), figsize=(4.6 * len(draws), 3.2), squeeze=False)
    for ax, (label, values) in zip(axes[0], draws.items(), strict=True):
        ax.hist(100 * values, bins=40, color=style.SKY, edgecolor="white", linewidth=0.4, density=True)
        style.mark_paper(ax, 100 * measured[label], axis="x", label=f"printed cells: {100 * measured[label]:.1f} %")
        ax.set(title=label, xlabel="RER (%)")
        ax.set_yticks([])
        ax.legend(loc="upper right")
    axes[0, 0].set(ylabel="how often, for agents\nthat are equally good")
    return fig


def draw_levels(pools: pd.DataFrame, marks: Mapping[str, tuple[int, ...]]) -> Figure:
    """All pools of the simulated agents: RER by data set (`rer`) against RER by question (`by question`)."""
    fig, ax = plt.subplots(figsize=(6.6, 4.2))
    for size, marker in zip(sorted(set(pools["size"])), "osD^vPX", strict=False):
        part = pools[pools["size"] == size]
        look = {"color": style.OKABE_ITO[(size - 1) % 8], "markersize": 5, "alpha": 0.8}
        ax.plot(100 * part["rer"], 100 * part["by question"], marker, label=str(size), **look)
    known = pools.set_index("members")
    for label, members in marks.items():
        row = known.loc[[members]].iloc[0]
        spot = 100 * row["rer"], 100 * row["by question"]
        ax.annotate(label, spot, xytext=(9, 0), textcoords="offset points", fontsize=9, va="center")
    ax.set(xlabel="RER with one agent a family (%)", ylabel="RER with one agent a question (%)")
    ax.set(title="Most of what a pool offers is within data sets")
    ax.legend(title="agents", loc="lower right", ncols=2)
    return fig


def draw_trained(frame: pd.DataFrame) -> Figure:
    """A row a pool: score with its interval, the best agent alone, and both ceilings; of `offered_and_reached`."""
    title = "What each pool offers, and what training on it reaches"
    rows = frame.rename(columns={"pool": "system", "score": "value"}).assign(part=title)
    rows[["value", "low", "high"]] *= 100
    label = "right answers (%; mean of four families; bar: 95 % interval)"
    fig = style.panels(rows, lambda row: (style.METHOD_COLOURS["TRINITY"],), label, width=8.2, origin=None)
    for column, name, marker, colour, size in (
        ("S*", "best agent alone", "|", style.GREY, 11),
        ("by family", "best agent of each family", "s", style.ORANGE, 7),
        ("by question", "best agent of each question", "^", style.GREEN, 7),
    ):
        look = {"color": colour, "markersize": size, "markeredgewidth": 2.5 if marker == "|" else 0.5}
        fig.axes[0].plot(100 * frame[column], range(len(frame)), marker, label=name, linestyle="none", **look)
    fig.axes[0].plot([], [], "o", color=style.METHOD_COLOURS["TRINITY"], label="TRINITY")
    fig.legend(loc="outside lower center", ncols=4)
    return fig


def draw_search(small: pd.DataFrame, large: pd.DataFrame, ways: Sequence[str], optimum: str) -> Figure:
    """Left: how often greedy and beam find the optimum of small matrices (`agreement`, columns case, kind); right: what
    is missed on large ones (`ways_compared`)."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 3.7))
    ax = axes[0]
    cases = list(dict.fromkeys(small["case"]))
    for kind, marker in (("independent", "o"), ("common", "s")):
        part = small[small["kind"] == kind].set_index("case").loc[cases]
        for way, colour in (("greedy", style.ORANGE), ("beam", style.BLUE)):
            ax.plot(range(len(cases)), 100 * part[f"{way} agrees"], marker=marker, color=colour,
                    linestyle="-" if kind == "independent" else ":", markersize=6, label=f"{way}, {kind}")  # fmt: skip
    ax.set_xticks(range(len(cases)), cases)
    ax.set(ylim=(0, 105))
    ax.set(ylabel="optimum found (%)", title="Small matrices, every pool tried")
    ax.legend(loc="lower left", fontsize=8)
    ax, rows = axes[1], np.arange(len(large))
    for way, marker, colour, size in zip(ways, "sov", (style.ORANGE, style.SKY, style.BLUE), (11, 8, 5), strict=True):
        missed = 100 * (1 - large[way] / large[optimum])
        ax.plot(missed, rows, marker, color=colour, markersize=size, label=way, linestyle="none")
    ax.set_yticks(rows, large["matrix"])
    ax.set(ylim=(len(large) - 0.5, -0.5), xlim=(-0.1, None))
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="RER missed, in percent of the proven optimum", title="Large matrices, against a proven optimum")
    ax.legend(loc="lower right")
    return fig
