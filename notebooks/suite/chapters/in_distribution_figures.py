"""Figures of notebook 09: every system on the same questions, and by how much TRINITY is ahead of or behind each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.results import style

TRINITY, BOUND = "TRINITY", "per-question best"
BAND = "#E4E4E4"
COLOURS = style.METHOD_COLOURS | {
    BOUND: style.GREY,
    "best agent per family": style.BLUE,
    "random agent": style.ORANGE,
    "random agent and role": style.ORANGE,
    "untrained coordinator": style.ORANGE,
}


def colour_of(system: str) -> str:
    """A system's colour: the method's, or of a system with one agent that agent's."""
    name = system.partition(", ")[0]
    return COLOURS.get(name) or style.AGENT_COLOURS.get(system.rpartition(": ")[2], style.GREY)


def draw_systems(rows: pd.DataFrame, cost: pd.DataFrame, groups: Iterable[Sequence[str]]) -> Figure:
    """The mean of the four families of `score_rows`, a row a system; `groups` of systems stand apart, from top to
    bottom. The grey band is TRINITY's interval; amounts of `cost_rows` stand at the right."""
    places: dict[str, float] = {}
    for number, group in enumerate(groups):
        places |= {system: len(places) + place + 0.6 * number for place, system in enumerate(group)}
    own = rows[rows["part"] == "mean"].set_index("system").loc[list(places)]
    fig, ax = plt.subplots(figsize=(8.6, 0.26 * (max(places.values()) + 4)))
    ax.axvspan(*own.loc[TRINITY, ["low", "high"]], color=BAND, linewidth=0, zorder=0)
    for name, row in own.iterrows():
        marker, size = ("*", 13) if name == TRINITY else ("o", 6.5)
        style.interval(ax, row, places[name], colour_of(name), marker, size, hollow=name == BOUND)
    ax.set(xlabel="right (%), mean of the four families", title="The same questions, pool and draws for every system")
    ax.grid(axis="y", visible=False)
    ax.set_yticks(list(places.values()), list(places))
    ax.set_ylim(max(places.values()) + 0.7, -1.6)
    for text in ax.get_yticklabels():
        text.set_fontweight("bold" if text.get_text() == TRINITY else "normal")
    _amounts(ax, places, cost)
    handles = [
        style.mark_paper(ax, np.nan, at=0, axis="x", label="the paper (summaries' table)"),
        plt.Line2D([], [], color=style.GREY, linewidth=3, marker="o", markersize=6.5, label="ours, 95 % interval"),
        plt.Rectangle((0, 0), 1, 1, color=BAND, label="TRINITY's interval"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig


def _amounts(ax: Axes, places: Mapping[str, float], cost: pd.DataFrame) -> None:
    """Output tokens and cents a question as two columns right of the points."""
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.42 * (high - low))
    for share, key, title, form in ((0.2, "tokens out", "tokens\nout", ",.0f"), (0.4, "cents", "US\ncents", ".2f")):
        where = high + share * (high - low)
        ax.text(where, -0.75, title, ha="right", va="bottom", fontsize=8, color="#555555", linespacing=0.95)
        for name, here in places.items():
            ax.text(where, here, format(cost.loc[name, key], form), ha="right", va="center", fontsize=8.5)
    ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= high])


def draw_leads(rows: pd.DataFrame, order: Sequence[str]) -> Figure:
    """TRINITY minus each system: the mean with its paired interval, the four families as small marks. `rows` as of
    `leads`. Grey where the interval holds 0."""
    fig, ax = plt.subplots(figsize=(8.6, 0.3 * len(order) + 1.3))
    ax.axvline(0, color=style.BLACK, linewidth=1)
    for place, name in enumerate(order):
        own = rows[rows["system"] == name].set_index("part")
        for family, marker in style.FAMILY_MARKERS.items():
            ax.plot(own.loc[family, "value"], place, marker, color=style.FAMILY_COLOURS[family], markersize=4.5,
                    alpha=0.75, markeredgewidth=0, label=None if place else family, linestyle="none")  # fmt: skip
        style.interval(ax, own.loc["mean"], place, style.side(own.loc["mean"]), size=8)
    ax.plot([], [], "o", color=style.GREY, markersize=8, label="mean of the four")
    style.mark_paper(ax, np.nan, at=0, axis="x", label="the paper's, of the mean")
    style.name_rows(ax, order)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("points by which TRINITY is ahead (bars: 95 % intervals of the mean, paired)")
    ax.set_title("TRINITY minus each system (blue: ahead, red: behind, grey: cannot be told)", fontsize=10)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig
