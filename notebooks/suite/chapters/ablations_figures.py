"""The figures of notebook 11: what each missing part costs, beside the paper's numbers, and how turns are spent."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style


def draw_losses(losses: pd.DataFrame) -> Figure:
    """One panel a part, one row a variant: loss with its interval, the paper's a diamond; `losses` of `ablations`."""
    label = "points lost against TRINITY (bar: 95 % interval; diamond: the paper, on its own tasks)"
    colours = {f"{agent} only": colour for agent, colour in style.AGENT_COLOURS.items()}
    width = 2.2 + 2.0 * losses["part"].nunique()
    return style.panels(losses, lambda row: (colours.get(row["system"], style.BLACK),), label, width=width)


def draw_turns(spending: pd.DataFrame) -> Figure:
    """One bar a variant: its mean number of turns, split by role; `spending` of `ablations.spending`."""
    fig, ax = plt.subplots(figsize=(7.2, 1.2 + 0.42 * len(spending)))
    turns = spending[list(style.ROLE_COLOURS)].mul(spending["turns"] / 100, axis=0)
    style.stack(ax, turns, style.ROLE_COLOURS, least=0.35, form=".1f")
    style.name_rows(ax, spending["variant"])
    ax.set(xlabel="turns in a rollout", title="What the turns are spent on")
    fig.legend(loc="outside lower center", ncols=3)
    return fig
