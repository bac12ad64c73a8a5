"""The figures of the ablations: what each missing part costs, beside the paper's numbers, and how turns are spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suite.results import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _colour(variant: str) -> str:
    return style.AGENT_COLOURS.get(variant.removesuffix(" only"), style.BLACK)


def draw_losses(losses: pd.DataFrame) -> Figure:
    """One panel a part (average, families), one row a variant: loss with its interval, the paper's loss a diamond.

    `losses`: columns variant, part, loss, low, high, paper (NaN: none).
    """
    import matplotlib.pyplot as plt

    parts, variants = (list(dict.fromkeys(losses[name])) for name in ("part", "variant"))
    size = (2.2 + 2.0 * len(parts), 1.5 + 0.42 * len(variants))
    fig, axes = plt.subplots(1, len(parts), figsize=size, sharey=True, squeeze=False)
    for ax, part in zip(axes[0], parts, strict=True):
        for row in losses[losses["part"] == part].itertuples():
            place, colour = variants.index(row.variant), _colour(row.variant)
            ax.plot([row.low, row.high], [place, place], color=colour, linewidth=3, alpha=0.5, solid_capstyle="butt")
            ax.plot(row.loss, place, "o", color=colour, markersize=6)
            if np.isfinite(row.paper):
                style.mark_paper(ax, row.paper, at=place, axis="x", label=None)
        ax.axvline(0, color=style.GREY, linewidth=1)
        ax.set(title=part)
        ax.grid(axis="y", visible=False)
    axes[0, 0].set_yticks(range(len(variants)), variants)
    axes[0, 0].invert_yaxis()
    fig.supxlabel("points lost against TRINITY (bar: 95 % interval; diamond: the paper, on its own tasks)", fontsize=10)
    return fig


def draw_turns(behaviour: pd.DataFrame) -> Figure:
    """One bar a variant: its mean number of turns, split by role; columns variant, turns, worker, thinker, verifier."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.2, 1.2 + 0.42 * len(behaviour)))
    places, left = np.arange(len(behaviour)), np.zeros(len(behaviour))
    for role, colour in style.ROLE_COLOURS.items():
        width = behaviour["turns"].to_numpy() * behaviour[role].to_numpy() / 100
        ax.barh(places, width, left=left, color=colour, label=role, height=0.72, edgecolor="white")
        for place, start, wide in zip(places, left, width, strict=True):
            if wide > 0.35:
                ink = "black" if role == "verifier" else "white"
                ax.text(start + wide / 2, place, f"{wide:.1f}", ha="center", va="center", color=ink, fontsize=8.5)
        left += width
    ax.set_yticks(places, behaviour["variant"])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="turns in a rollout", title="What the turns are spent on")
    fig.legend(loc="outside lower center", ncols=3)
    return fig
