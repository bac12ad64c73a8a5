"""The figures of notebook 05; a head has one colour and marker everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style

LOOKS = {
    "linear": (style.BLACK, "o"),
    "low-rank": (style.BLUE, "s"),
    "low-rank, r = 14": (style.SKY, "s"),
    "sparse": (style.VERMILION, "^"),
    "sparse, hard gate": (style.ORANGE, "^"),
    "block-diagonal-2": (style.GREEN, "D"),
    "block-diagonal-10": (style.PURPLE, "P"),
}
# Where a label stands at its interval (end, ha, va, points to the right), so that neighbours do not meet.
PLACES = {
    "linear": ("low", "right", "bottom", -6),
    "sparse": ("low", "right", "top", 4),
    "low-rank, r = 14": ("low", "left", "top", -16),
}
INTERVAL = "bar: 95 % interval; hollow diamond: the paper"


def draw_reach(reach: Mapping[str, np.ndarray], n_agents: int) -> Figure:
    """Which hidden dimension (across) moves which logit (down): a panel a head, arrays (n_logits, d)."""
    columns = 3
    rows = -(-len(reach) // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(10.5, 1.75 * rows + 0.5), sharex=True, sharey=True, squeeze=False)
    for ax, (name, moved) in zip(axes.flat, reach.items(), strict=False):
        ax.imshow(moved != 0, aspect="auto", cmap="Greys", vmin=0, vmax=1.6, interpolation="nearest")
        ax.axhline(n_agents - 0.5, color=style.VERMILION, linewidth=1.2)
        ax.set_title(f"{name}: {np.count_nonzero(moved):,} of {moved.size:,}")
        ax.grid(visible=False)
    for ax in axes.flat[len(reach) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_yticks([(n_agents - 1) / 2, n_agents + 1], ["agents", "roles"])
    fig.supxlabel("hidden dimension (dark: moves that row's logit)", fontsize=10)
    return fig


def draw_learning(histories: Mapping[str, Sequence[pd.DataFrame]], best_alone: float) -> Figure:
    """What each head's candidates score while it learns (running means of five); `best_alone`: percent."""
    fig, ax = plt.subplots(figsize=(7.6, 4.2))
    colours = {name: colour for name, (colour, _) in LOOKS.items()}
    ends = style.learning(ax, histories, colours, window=5, band=False) | {"best agent alone": best_alone}
    ax.axhline(best_alone, color=style.GREY, linestyle=":", linewidth=1.4)
    ax.margins(x=0)
    low, high = ax.get_ylim()
    for name, place in style.apart(ends, 0.05 * (high - low)).items():
        ax.annotate(name, (ax.get_xlim()[1], ends[name]), xytext=(1.02, (place - low) / (high - low)), va="center",
                    textcoords="axes fraction", color=colours.get(name, style.GREY), fontsize=9)  # fmt: skip
    ax.set_ylim(low, high)
    ax.set_title("What each head's candidates score while it learns")
    return fig


def draw_size(scores: pd.DataFrame, sizes: pd.DataFrame, lines: Mapping[str, float]) -> Figure:
    """Average score (of `stats.scores`) over the number of weights, as a multiple of the linear head's (`heads.sizes`);
    `lines`: name -> score. The paper's diamonds stand over its own counts at d = 1,024."""
    fig, ax = plt.subplots(figsize=(8.4, 4.8))
    for _, row in scores.merge(sizes, left_on="system", right_on="head").iterrows():
        colour, marker = LOOKS[row["head"]]
        x = row["to linear here"]
        ax.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=2.6, alpha=0.6)
        ax.plot(x, row["value"], marker, color=colour, markersize=8)
        if not np.isnan(row["paper"]):
            style.mark_paper(ax, row["paper"], at=row["to linear"], label=None)
        end, ha, va, shift = PLACES.get(row["head"], ("high", "left", "top", 6))
        ax.annotate(f"{row['head']}\n{row['here']:,} weights", (x, row[end]), xytext=(shift, -3 if va == "top" else 0),
                    textcoords="offset points", ha=ha, va=va, fontsize=9, color=colour)  # fmt: skip
    for name, value in lines.items():
        ax.axhline(value, color=style.GREY, linestyle=":", linewidth=1.4)
        ax.annotate(name, (1.0, value), xycoords=("axes fraction", "data"), xytext=(-4, 2), va="bottom", ha="right",
                    textcoords="offset points", fontsize=8.5, color="#555555")  # fmt: skip
    ax.set_xscale("log")
    style.ticks(ax.xaxis, [0.1, 0.2, 0.5, 1, 2])
    ax.set_xlim(0.075, 5.5)
    ax.set(xlabel="weights, as a multiple of the linear head's (log axis)", ylabel=f"score (%; {INTERVAL})")
    ax.set_title("Score against parameter count")
    return fig


def draw_differences(rows: pd.DataFrame, label: str, **settings: Any) -> Figure:
    """`style.panels` of `rows`, each head with its look."""
    width = 2.0 + (2.0 if rows["part"].nunique() > 2 else 4.0) * rows["part"].nunique()
    return style.panels(rows, lambda row: LOOKS[row["system"]], label, width=width, **settings)


def draw_choices(shares: Mapping[str, pd.DataFrame]) -> Figure:
    """Who acts: a group of bars a head, one bar a seed, stacked by agent; frames (seeds, L) of percent."""
    fig, ax = plt.subplots(figsize=(10.5, 4.4))
    place, ticks = 0.0, []
    for found in shares.values():
        at = place + np.arange(len(found))
        style.stack(ax, found, style.AGENT_COLOURS, at=at, vertical=True)
        ticks.append(at.mean())
        place = at[-1] + 2
    ax.set_xticks(ticks, [name.replace(", ", ",\n").replace("block-", "block-\n") for name in shares])
    ax.set(ylabel="share of the turns (%)", ylim=(0, 100))
    ax.set_title("Which agents each head chose (a bar a seed)")
    ax.margins(x=0.01)
    handles, names = ax.get_legend_handles_labels()
    agents = len(next(iter(shares.values())).columns)
    fig.legend(handles[agents - 1 :: -1], names[agents - 1 :: -1], loc="outside right center")
    return fig
