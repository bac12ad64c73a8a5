"""Figures of notebook 10: Table 1's systems on the held-out families, TRINITY's lead, and what it does there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.results import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROLE_COLOURS = {"worker": "#4D4D4D", "thinker": "#9E9E9E", "verifier": "#DADADA"}


def table1(frame: pd.DataFrame, paper: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """One panel a column of Table 1: each system's score with its interval, the paper's as a mark.

    `frame` as of `zero_shot.scores`, `paper` with a row a system and the same columns; `titles`: column -> title.
    """
    import matplotlib.pyplot as plt

    systems = list(dict.fromkeys(frame["system"]))
    fig, axes = plt.subplots(1, len(titles), figsize=(12, 0.42 * len(systems) + 1.5), sharey=True, squeeze=False)
    for ax, (column, title) in zip(axes[0], titles.items(), strict=True):
        part = frame[frame["column"] == column].set_index("system").loc[systems]
        for row, (name, line) in enumerate(part.iterrows()):
            _interval(ax, row, line, style.AGENT_COLOURS.get(name, style.BLACK))
            if name in paper.index:
                style.mark_paper(ax, paper.loc[name, column], at=row, axis="x", label=None)
            ax.text(1.02, row, f"{line['value']:.1f}", transform=ax.get_yaxis_transform(), va="center", fontsize=8.5)
        ax.set(title=title, xlabel="right answers (%)")
        ax.grid(axis="y", visible=False)
    axes[0][0].set_yticks(range(len(systems)), systems)
    axes[0][0].set_ylim(len(systems) - 0.5, -0.5)
    mark = {"marker": "D", "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": style.BLACK}
    handles = [
        plt.Line2D([], [], color=style.GREY, linewidth=4, alpha=0.5, marker="o", label="ours, 95 % interval"),
        plt.Line2D([], [], markersize=8, label="paper, Table 1", **mark),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def leads(frame: pd.DataFrame, paper: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """One panel a column: TRINITY minus each system, with its paired interval, and the paper's difference as a mark."""
    import matplotlib.pyplot as plt

    systems = list(dict.fromkeys(frame["system"]))
    fig, axes = plt.subplots(1, len(titles), figsize=(12, 0.38 * len(systems) + 1.5), sharey=True, squeeze=False)
    for ax, (column, title) in zip(axes[0], titles.items(), strict=True):
        part = frame[frame["column"] == column].set_index("system").loc[systems]
        ax.axvline(0, color=style.BLACK, linewidth=1)
        for row, (name, line) in enumerate(part.iterrows()):
            sure = line["low"] > 0 or line["high"] < 0
            _interval(ax, row, line, style.AGENT_COLOURS.get(name, style.GREY), filled=sure)
            if name in paper.index:
                gap = paper.loc["TRINITY", column] - paper.loc[name, column]
                style.mark_paper(ax, gap, at=row, axis="x", label=None)
        ax.set(title=title, xlabel="points")
        ax.grid(axis="y", visible=False)
    axes[0][0].set_yticks(range(len(systems)), [f"− {name}" for name in systems])
    axes[0][0].set_ylim(len(systems) - 0.5, -0.5)
    dot = {"marker": "o", "color": style.GREY, "markersize": 7}
    handles = [
        plt.Line2D([], [], linewidth=4, alpha=0.5, label="ours, 95 % interval off 0", **dot),
        plt.Line2D([], [], linewidth=4, alpha=0.5, markerfacecolor="white", label="includes 0", **dot),
        plt.Line2D([], [], marker="D", linestyle="none", markerfacecolor="none", markeredgecolor=style.BLACK,
                   markersize=8, label="paper, Table 1"),
    ]  # fmt: skip
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig


def behaviour(frame: pd.DataFrame, agents: Sequence[str], roles: Sequence[str], held_out: Sequence[str]) -> Figure:
    """Left: who acts, right: in which role; one bar a family, `frame` (percent) indexed by family, `held_out` last."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(12, 0.42 * len(frame) + 1.5), sharey=True, width_ratios=(3, 2))
    looks = ((agents, style.AGENT_COLOURS, "Who acts"), (roles, ROLE_COLOURS, "In which role"))
    for ax, (names, colours, title) in zip(axes, looks, strict=True):
        left = np.zeros(len(frame))
        for name in names:
            values = frame[name].to_numpy()
            ax.barh(range(len(frame)), values, left=left, color=colours[name], edgecolor="white", label=name)
            for row, (start, value) in enumerate(zip(left, values, strict=True)):
                if value >= 8:
                    dark = colours[name] in (style.BLUE, style.VERMILION, style.GREEN, ROLE_COLOURS["worker"])
                    ax.text(start + value / 2, row, f"{value:.0f}", ha="center", va="center", fontsize=8,
                            color="white" if dark else "black")  # fmt: skip
            left += values
        ax.set(title=title, xlabel="share of the turns (%)", xlim=(0, 100))
        ax.grid(visible=False)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, fontsize=8)
        ax.axhline(len(frame) - len(held_out) - 0.5, color=style.BLACK, linewidth=1.2, linestyle=(0, (4, 3)))
    labels = [f"{family} (held out)" if family in held_out else family for family in frame.index]
    axes[0].set_yticks(range(len(frame)), labels)
    axes[0].invert_yaxis()
    return fig


def _interval(ax, row: int, line, colour: str, filled: bool = True) -> None:
    ax.plot([line["low"], line["high"]], [row, row], color=colour, linewidth=4, alpha=0.5, solid_capstyle="butt")
    face = colour if filled else "white"
    ax.plot(line["value"], row, "o", color=colour, markerfacecolor=face, markersize=6.5, markeredgewidth=1.4)
