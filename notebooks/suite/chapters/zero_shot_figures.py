"""Figures of notebook 10: Table 1's systems on the held-out families, TRINITY's lead, and what it does there."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style
from trinity_core.types import ROLES


def table1(frame: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """One panel a part (part -> title): each system's score with its interval, the paper's as a mark; of `scores`."""
    fig = style.panels(frame, _look, "right answers (%)", width=12, titles=titles, origin=None)
    for ax, part in zip(fig.axes, titles, strict=True):
        for at, value in enumerate(frame[frame["part"] == part]["value"]):
            ax.text(1.02, at, f"{value:.1f}", transform=ax.get_yaxis_transform(), va="center", fontsize=8.5)
    _legend(fig, "ours, 95 % interval")
    return fig


def leads(frame: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """One panel a part: TRINITY minus each system with its paired interval, the paper's difference as a mark."""
    frame = frame.assign(system="− " + frame["system"])
    fig = style.panels(
        frame, _look, "points", width=12, titles=titles, hollow=lambda row: style.side(row) == style.GREY
    )
    _legend(fig, "ours, 95 % interval off 0", "includes 0")
    return fig


def _look(row: pd.Series) -> tuple[str]:
    return (style.AGENT_COLOURS.get(row["system"].removeprefix("− "), style.BLACK),)


def _legend(fig: Figure, full: str, hollow: str | None = None) -> None:
    dot = {"marker": "o", "color": style.GREY, "linewidth": 4, "alpha": 0.5, "markersize": 7}
    handles = [plt.Line2D([], [], label=full, **dot)]
    if hollow:
        handles.append(plt.Line2D([], [], label=hollow, markerfacecolor="white", **dot))
    handles.append(style.mark_paper(fig.axes[0], float("nan"), at=0, axis="x", label="paper, Table 1"))
    fig.legend(handles=handles, loc="outside lower center", ncols=3)


def behaviour(frame: pd.DataFrame, agents: Sequence[str], held_out: Sequence[str]) -> Figure:
    """Left: who acts, right: in which role; one bar a family, `frame` of `turns.behaviour`, `held_out` last."""
    fig, axes = plt.subplots(1, 2, figsize=(12, 0.42 * len(frame) + 1.5), sharey=True, width_ratios=(3, 2))
    looks = ((agents, style.AGENT_COLOURS, "Who acts"), (ROLES, style.ROLE_COLOURS, "In which role"))
    for ax, (names, colours, title) in zip(axes, looks, strict=True):
        style.stack(ax, frame[list(names)], colours, least=8)
        ax.set(title=title, xlabel="share of the turns (%)", xlim=(0, 100))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, fontsize=8)
        ax.axhline(len(frame) - len(held_out) - 0.5, color=style.BLACK, linewidth=1.2, linestyle=(0, (4, 3)))
    style.name_rows(axes[0], [f"{family} (held out)" if family in held_out else family for family in frame.index])
    return fig
