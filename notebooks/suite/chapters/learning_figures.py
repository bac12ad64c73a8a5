"""The figures of notebook 06: learning curves, who is chosen while learning, score against budget, recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.results.style import AGENT_COLOURS, BLACK, GREY, METHOD_COLOURS, mark_paper

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _colour(method: str) -> str:
    return METHOD_COLOURS.get(method.removesuffix(" (tuned)"), GREY)


def learning_curves(histories: Mapping[str, Sequence[pd.DataFrame]]) -> Figure:
    """Mean training reward of an iteration's candidates against evaluations, a line a method, the band from the lowest
    to the highest seed."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.2, 3.8))
    for method, tables in histories.items():
        count = min(len(table) for table in tables)
        values = np.stack([100 * table["fitness"].to_numpy()[:count] for table in tables])
        at = tables[0]["evaluations"].to_numpy()[:count] / 1000
        ax.plot(at, values.mean(axis=0), color=_colour(method))
        ax.fill_between(at, values.min(axis=0), values.max(axis=0), color=_colour(method), alpha=0.18, linewidth=0)
        ax.annotate(f" {method}", (at[-1], values.mean(axis=0)[-1]), color=_colour(method), va="center", fontsize=9)
    ax.set(xlabel="atomic evaluations (thousands)", ylabel="mean reward of a generation (%)")
    ax.set_title("What each method's candidates score while it learns")
    ax.margins(x=0.02)
    ax.set_xlim(right=ax.get_xlim()[1] * 1.17)
    return figure


def share_evolution(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Figure 6: the share of each agent in an iteration's rollouts, stacked, a panel a method."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(4.1 * len(tables), 3.6), sharey=True, squeeze=False)
    for ax, (method, table) in zip(axes[0], tables.items(), strict=True):
        names = [name for name in table if name != "evaluations"]
        shares = table[names].to_numpy().T * 100
        colours = [AGENT_COLOURS.get(name, GREY) for name in names]
        ax.stackplot(
            table["evaluations"] / 1000, shares, colors=colours, labels=names, edgecolor="white", linewidth=0.3
        )
        ax.set(xlabel="evaluations (thousands)", ylim=(0, 100), title=method)
        ax.margins(x=0)
        ax.grid(False)
    axes[0, 0].set_ylabel("share of the turns (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right center")
    return figure


def budget_curve(curves: Mapping[str, pd.DataFrame], paper_budget: int, best_single: float) -> Figure:
    """Test score against the budget on a logarithmic axis, with intervals; the paper's budget and the best agent alone
    as lines."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.6, 4.2))
    for place, (method, table) in enumerate(curves.items()):
        style = "--" if method.endswith("(tuned)") else "-"
        at = table["evaluations"] * (1 + 0.03 * (place - 1.5))
        errors = np.stack([table["average"] - table["low"], table["high"] - table["average"]])
        ax.errorbar(at, table["average"], yerr=errors, color=_colour(method), linestyle=style, marker="o",
                    markersize=4, capsize=2, linewidth=1.6)  # fmt: skip
        ax.annotate(f"  {method}", (at.iloc[-1], table["average"].iloc[-1]), color=_colour(method), va="center",
                    fontsize=9)  # fmt: skip
    ax.set_xscale("log")
    mark_paper(ax, paper_budget, axis="x", label=None)
    ax.annotate(" the paper's budget", (paper_budget, ax.get_ylim()[0]), fontsize=8, va="bottom")
    ax.axhline(best_single, color=GREY, linewidth=1)
    ax.annotate("best agent alone", (ax.get_xlim()[0], best_single), fontsize=8, color=GREY, va="bottom")
    ax.set(xlabel="atomic evaluations", ylabel="score on test questions (%)")
    ax.set_title("Where each method wins")
    ax.set_xlim(right=ax.get_xlim()[1] * 4)
    return figure


def score_bars(table: pd.DataFrame, paper: Mapping[str, float], title: str) -> Figure:
    """One row a method or recipe: our average with its interval, the paper's value as a hollow diamond."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.2, 0.5 * len(table) + 1.4))
    rows = np.arange(len(table))[::-1]
    for row, (_, entry) in zip(rows, table.iterrows(), strict=True):
        colour = _colour(entry["method"]) if entry["method"].removesuffix(" (tuned)") in METHOD_COLOURS else BLACK
        ax.plot([entry["low"], entry["high"]], [row, row], color=colour, linewidth=2.2)
        ax.plot(entry["average"], row, "o", color=colour)
        ax.annotate(f"{entry['average']:.1f}", (entry["average"], row), xytext=(0, 6), textcoords="offset points",
                    ha="center", fontsize=8, color=colour)  # fmt: skip
        if entry["method"] in paper:
            mark_paper(ax, paper[entry["method"]], at=row, axis="x", label=None)
    ax.set_yticks(rows, table["method"])
    ax.set(xlabel="score on test questions (%); hollow diamond: the paper's, on its own tasks", title=title)
    ax.set_ylim(-0.6, len(table) - 0.3)
    ax.grid(axis="y", visible=False)
    return figure
