"""Figures of notebook 12: pass@1 against the turn budget, and what happens turn by turn."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style
from trinity_core.types import ROLES

LOOKS = {
    "TRINITY": (style.BLACK, "o", "-"),
    "trained at each K": (style.BLUE, "s", (0, (5, 2))),
    "untrained head": (style.GREY, "^", (0, (1, 1))),
}
TURN_LOOKS = {
    "worker": (style.BLUE, "o"),
    "thinker": (style.ORANGE, "^"),
    "verifier": (style.GREEN, "s"),
    "reached": (style.BLACK, "o"),
    "accepted": (style.GREEN, "s"),
    "no answer": (style.VERMILION, "X"),
}


def budget(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    lines: Mapping[str, Mapping[str, float]],
) -> Figure:
    """One panel a question set: title -> {curve's name: columns K, value, low, high}, all in percent. `lines`: title ->
    {agent: its score alone}, drawn across."""
    fig, axes = plt.subplots(1, len(panels), figsize=(5.6 * len(panels), 4.3), squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for name, curve in curves.items():
            colour, marker, dash = LOOKS[name]
            ax.plot(curve["K"], curve["value"], marker=marker, linestyle=dash, color=colour, markersize=5, label=name)
            ax.fill_between(curve["K"], curve["low"], curve["high"], color=colour, alpha=0.13, linewidth=0)
        for agent, value in lines.get(title, {}).items():
            colour = style.AGENT_COLOURS[agent]
            ax.axhline(value, color=colour, linewidth=1.2, linestyle=(0, (3, 1, 1, 1)))
            ax.text(1.01, value, f"{agent}\nalone", transform=ax.get_yaxis_transform(), va="center", fontsize=8,
                    color=colour)  # fmt: skip
        ax.set(title=title, xlabel="turn budget K", ylabel="pass@1 (%)")
        ax.set_xticks(range(1, max(curve["K"].max() for curve in curves.values()) + 1))
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


def gains(curves: Mapping[str, pd.DataFrame], base: int) -> Figure:
    """Points above pass@1 at K = `base`, one line a family, with intervals."""
    fig, ax = plt.subplots(figsize=(7.2, 4.0))
    ends = {}
    for shift, (family, curve) in enumerate(curves.items()):
        colour, marker = style.FAMILY_COLOURS[family], style.FAMILY_MARKERS[family]
        place = curve["K"] + 0.08 * (shift - (len(curves) - 1) / 2)
        gaps = [curve["value"] - curve["low"], curve["high"] - curve["value"]]
        ax.errorbar(place, curve["value"], gaps, fmt=marker, linestyle="-", color=colour, markersize=5, elinewidth=1)
        ends[family] = curve["value"].iloc[-1]
    last, (low, high) = curve["K"].iloc[-1], ax.get_ylim()
    for family, value in style.apart(ends, 0.055 * (high - low)).items():
        ax.text(last + 0.3, value, family, color=style.FAMILY_COLOURS[family], va="center", fontsize=9)
    ax.axhline(0, color=style.GREY, linewidth=1)
    ax.set(title=f"What more turns add to K = {base}", xlabel="turn budget K", ylabel=f"points above K = {base}")
    ax.set_xticks(range(base, last + 1))
    ax.set_xlim(right=ax.get_xlim()[1] + 0.9)
    return fig


def turns(frame: pd.DataFrame) -> Figure:
    """Left: roles by turn; right: rollouts still going and how the others ended. `frame` as of `by_turn`."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
    panels = {
        "Roles by turn": (ROLES, "share of that turn's roles (%)", 100),
        "Who is still going": (("reached", "accepted", "no answer"), "of all rollouts (%)", 102),
    }
    for ax, (title, (columns, label, top)) in zip(axes, panels.items(), strict=True):
        for name in columns:
            colour, marker = TURN_LOOKS[name]
            ax.plot(frame["turn"], frame[name], marker=marker, markersize=5, color=colour, label=name)
        ax.set(title=title, xlabel="turn", ylabel=label, ylim=(0, top))
        ax.set_xticks(frame["turn"])
        ax.legend()
    return fig
