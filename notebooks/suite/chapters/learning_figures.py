"""The figures of notebook 06: learning curves, who is chosen while learning, score against budget, recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style


def learning_curves(histories: Mapping[str, Sequence[pd.DataFrame]]) -> Figure:
    """What each method's candidates score while it learns."""
    fig, ax = plt.subplots(figsize=(7.2, 3.8))
    colours = {method: style.method_colour(method) for method in histories}
    ends = style.learning(ax, histories, colours)
    for method, place in style.apart(ends, 0.06 * float(np.ptp(ax.get_ylim()))).items():
        at = histories[method][0]["evaluations"].iloc[-1] / 1000
        ax.text(at, place, f" {method}", color=colours[method], va="center", fontsize=9)
    ax.set_title("What each method's candidates score while it learns")
    ax.margins(x=0.02)
    ax.set_xlim(right=ax.get_xlim()[1] * 1.17)
    return fig


def share_evolution(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Figure 6: the share of each agent in an iteration's rollouts, stacked, a panel a method."""
    fig, axes = plt.subplots(1, len(tables), figsize=(4.1 * len(tables), 3.6), sharey=True, squeeze=False)
    for ax, (method, table) in zip(axes[0], tables.items(), strict=True):
        shares = 100 * table.set_index("evaluations")
        colours = [style.AGENT_COLOURS.get(name, style.GREY) for name in shares]
        look = {"colors": colours, "labels": list(shares), "edgecolor": "white", "linewidth": 0.3}
        ax.stackplot(shares.index / 1000, shares.to_numpy().T, **look)
        ax.set(xlabel="evaluations (thousands)", ylim=(0, 100), title=method)
        ax.margins(x=0)
        ax.grid(False)
    axes[0, 0].set_ylabel("share of the turns (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles[::-1], labels[::-1], loc="outside right center")
    return fig


def budget_curve(curves: Mapping[str, pd.DataFrame], paper_budget: int, best_single: float) -> Figure:
    """Test score with its interval against the budget; the paper's budget and the best agent alone as lines."""
    fig, ax = plt.subplots(figsize=(7.6, 4.2))
    ends: dict[str, float] = {}
    for place, (method, table) in enumerate(curves.items()):
        dash, colour = "--" if method.endswith("(tuned)") else "-", style.method_colour(method)
        at, score = table["evaluations"] * (1 + 0.03 * (place - 1.5)), table["average"]
        ax.errorbar(at, score, yerr=[score - table["low"], table["high"] - score], color=colour, linestyle=dash,
                    marker="o", markersize=4, capsize=2, linewidth=1.6)  # fmt: skip
        ends[method], last = float(score.iloc[-1]), float(at.iloc[-1])
    for method, place in style.apart(ends, 0.05 * float(np.ptp(ax.get_ylim()))).items():
        ax.text(1.15 * last, place, method, color=style.method_colour(method), va="center", fontsize=9)
    ax.set_xscale("log")
    style.mark_paper(ax, paper_budget, axis="x", label=None)
    ax.annotate(" the paper's budget", (paper_budget, ax.get_ylim()[0]), fontsize=8, va="bottom")
    ax.axhline(best_single, color=style.GREY, linewidth=1)
    ax.text(0.99, best_single, "best agent alone", transform=ax.get_yaxis_transform(), fontsize=8, color=style.GREY,
            ha="right", va="bottom")  # fmt: skip
    ax.set(xlabel="atomic evaluations", ylabel="score on test questions (%)")
    ax.set_title("Score against budget")
    ax.set_xlim(right=ax.get_xlim()[1] * 4)
    return fig


def score_bars(table: pd.DataFrame, paper: Mapping[str, float], title: str) -> Figure:
    """One row a method or recipe: our average with its interval, the paper's value as a hollow diamond."""
    rows = table.rename(columns={"method": "system", "average": "value"})
    rows = rows.assign(paper=rows["system"].map(paper), part=title)
    label = "score on test questions (%); hollow diamond: the paper's, on its own tasks"
    return style.panels(
        rows, lambda row: (style.method_colour(row["system"], style.BLACK),), label, width=7.2, origin=None, form=".1f"
    )
