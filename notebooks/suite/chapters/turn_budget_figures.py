"""Figures of notebook 12: pass@1 against the turn budget, and what happens turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from suite.results import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOOKS = {
    "TRINITY": (style.BLACK, "o", "-"),
    "trained at each K": (style.BLUE, "s", (0, (5, 2))),
    "untrained head": (style.GREY, "^", (0, (1, 1))),
}
ROLE_LOOKS = {
    "worker": (style.BLUE, "o"),
    "thinker": (style.ORANGE, "^"),
    "verifier": (style.GREEN, "s"),
}


def budget(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    lines: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, pd.DataFrame],
) -> Figure:
    """One panel a question set: title -> {curve's name: columns K, value, low, high}, all in percent.

    `lines`: title -> {agent: its score alone}, drawn across; `paper`: title -> columns K, value, drawn as marks.
    """
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(panels), figsize=(5.6 * len(panels), 4.3), squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for name, curve in curves.items():
            colour, marker, dash = LOOKS[name]
            ax.plot(curve["K"], curve["value"], marker=marker, linestyle=dash, color=colour, markersize=5, label=name)
            ax.fill_between(curve["K"], curve["low"], curve["high"], color=colour, alpha=0.13, linewidth=0)
        last = max(curve["K"].max() for curve in curves.values())
        for agent, value in lines.get(title, {}).items():
            ax.axhline(value, color=style.AGENT_COLOURS[agent], linewidth=1.2, linestyle=(0, (3, 1, 1, 1)))
            ax.text(1.01, value, f"{agent}\nalone", transform=ax.get_yaxis_transform(), va="center", fontsize=8,
                    color=style.AGENT_COLOURS[agent])  # fmt: skip
        if title in paper:
            for number, row in enumerate(paper[title].itertuples()):
                style.mark_paper(ax, row.value, at=row.K, label=None if number else "paper (output cap lifted)")
        ax.set(title=title, xlabel="turn budget K", ylabel="pass@1 (%)")
        ax.set_xticks(range(1, int(last) + 1))
    handles, names = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4)
    return fig


def gains(curves: Mapping[str, pd.DataFrame], paper: Mapping[int, float], base: int) -> Figure:
    """Points above pass@1 at K = `base`, one line a family, with intervals; `paper`: K -> the paper's gain."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.2, 4.0))
    ends = []
    for shift, (family, curve) in enumerate(curves.items()):
        colour, marker = style.FAMILY_COLOURS[family], style.FAMILY_MARKERS[family]
        place = curve["K"] + 0.08 * (shift - (len(curves) - 1) / 2)
        gaps = [curve["value"] - curve["low"], curve["high"] - curve["value"]]
        ax.errorbar(place, curve["value"], gaps, fmt=marker, linestyle="-", color=colour, markersize=5, elinewidth=1)
        ends.append([curve["value"].iloc[-1], family, colour, curve["K"].iloc[-1]])
    ends.sort()
    low, high = ax.get_ylim()
    for lower, upper in pairwise(ends):  # labels apart from each other
        upper[0] = max(upper[0], lower[0] + (high - low) * 0.055)
    for value, family, colour, place in ends:
        ax.text(place + 0.3, value, family, color=colour, va="center", fontsize=9)
    for number, (K, value) in enumerate(paper.items()):
        style.mark_paper(ax, value, at=K, label=None if number else "paper: LiveCodeBench, output cap lifted")
    ax.axhline(0, color=style.GREY, linewidth=1)
    ax.set(title=f"What more turns add to K = {base}", xlabel="turn budget K", ylabel=f"points above K = {base}")
    ax.set_xticks(range(base, max(int(place) for *_, place in ends) + 1))
    ax.set_xlim(right=ax.get_xlim()[1] + 0.9)
    ax.legend(loc="lower right")
    return fig


def turns(frame: pd.DataFrame, roles: Sequence[str]) -> Figure:
    """Left: roles by turn; right: rollouts still going and how the others ended. `frame` as of `by_turn`."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
    for role in roles:
        colour, marker = ROLE_LOOKS[role]
        axes[0].plot(frame["turn"], frame[role], marker=marker, markersize=5, color=colour, label=role)
    axes[0].set(title="Roles by turn", ylabel="share of that turn's roles (%)", ylim=(0, 100))
    looks = (("reached", style.BLACK, "o"), ("accepted", style.GREEN, "s"), ("no answer", style.VERMILION, "X"))
    for name, colour, marker in looks:
        axes[1].plot(frame["turn"], frame[name], marker=marker, markersize=5, color=colour, label=name)
    axes[1].set(title="Who is still going", ylabel="of all rollouts (%)", ylim=(0, 102))
    for ax in axes:
        ax.set_xlabel("turn")
        ax.set_xticks(frame["turn"])
        ax.legend()
    return fig
