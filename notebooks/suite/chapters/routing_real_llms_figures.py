"""The figures of the notebook on routing real LLMs: averages with intervals, budgets, agents' shares, variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style
from suite.results.style import BLACK, BLUE, GREEN, GREY, OKABE_ITO

MARKERS = "os^Dv<>P"
LINES = ((0, (1, 2)), "--", "-.")


def draw_planes(planes: Mapping[str, np.ndarray], labels: np.ndarray) -> Figure:
    """title -> points (questions, 2), side by side, a colour and a marker a benchmark."""
    figure, axes = plt.subplots(1, len(planes), figsize=(4.6 * len(planes), 4.4), squeeze=False)
    names = list(dict.fromkeys(labels.tolist()))
    for ax, (title, plane) in zip(axes[0], planes.items(), strict=True):
        looks = (dict(zip(names, some, strict=False)) for some in (OKABE_ITO, MARKERS))
        style.scatter(ax, plane, labels, *looks)
        ax.set_title(title)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(names), markerscale=1.8)
    return figure


def draw_averages(table: pd.DataFrame, published: Mapping[str, float], lines: Mapping[str, float]) -> Figure:
    """One row a method (columns method, average, low, high); hollow diamonds: published; `lines`: vertical marks."""
    rows = table.rename(columns={"method": "system", "average": "value"})
    rows = rows.assign(paper=rows["system"].map(published), part="")
    label = "accuracy on test questions (%), mean of the benchmarks; hollow diamond: published"
    fig = style.panels(
        rows, lambda row: (style.method_colour(row["system"], BLACK),), label, width=8.2, origin=None, form=".2f"
    )
    ax = fig.axes[0]
    for place, (name, value) in enumerate(lines.items()):
        ax.axvline(value, color=GREY, linewidth=1, linestyle=":")
        at = (value, len(table) - 0.5 + 0.35 * (place % 2))
        ax.annotate(name, at, fontsize=8, color=GREY, ha="center", backgroundcolor="white")
    ax.set_ylim(len(table) + 0.3, -0.7)
    return fig


def draw_budgets(curves: Mapping[str, pd.DataFrame], budget: int, lines: Mapping[str, float]) -> Figure:
    """Average against atomic evaluations (columns evaluations, average, low, high); `lines` across."""
    figure, ax = plt.subplots(figsize=(8.2, 4.6))
    for place, (method, table) in enumerate(curves.items()):
        at = table["evaluations"] * (1 + 0.04 * (place - 1.5))
        errors = np.stack([table["average"] - table["low"], table["high"] - table["average"]])
        look = {"color": style.method_colour(method, BLACK), "marker": MARKERS[place], "markersize": 4, "capsize": 2}
        ax.errorbar(at, table["average"], yerr=errors, linewidth=1.6, label=method, **look)
    ax.set_xscale("log")
    ax.axvline(budget, color=BLACK, linestyle="--", linewidth=1)
    ax.annotate(" the paper's budget", (budget, ax.get_ylim()[0]), fontsize=8, va="bottom")
    for place, (name, value) in enumerate(sorted(lines.items(), key=lambda line: -line[1])):
        ax.axhline(value, color=GREY, linewidth=1, linestyle=LINES[place % len(LINES)])
        ax.annotate(f" {name}", (0.0, value), xycoords=("axes fraction", "data"), fontsize=8, color=GREY,
                    va="top" if place else "bottom")  # fmt: skip
    ax.set(xlabel="atomic evaluations (scores read; points of one budget are moved apart)")
    ax.set(ylabel="accuracy on test questions (%)")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=len(curves))
    return figure


def draw_settings(panels: Mapping[str, pd.DataFrame], lines: Mapping[str, float]) -> Figure:
    """One panel a question (columns setting, average, low, high), sharing the axis of accuracies."""
    heights = [len(table) for table in panels.values()]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(8, 0.4 * sum(heights) + 0.8 * len(panels) + 0.6), sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    for ax, (title, table) in zip(axes[:, 0], panels.items(), strict=True):
        rows = np.arange(len(table))[::-1]
        for row, (_, entry) in zip(rows, table.iterrows(), strict=True):
            colour = GREEN if "every score" in entry["setting"] else BLUE
            style.interval(ax, entry.rename({"average": "value"}), row, colour)
        for place, (name, value) in enumerate(lines.items()):
            ax.axvline(value, color=GREY, linewidth=1.2, linestyle=LINES[place % len(LINES)], label=name)
        ax.set_yticks(rows, table["setting"])
        ax.set_title(title)
        ax.set_ylim(-0.6, len(table) - 0.4)
        ax.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel("accuracy on test questions (%)")
    figure.legend(*axes[-1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(lines))
    return figure


def draw_shares(shares: Mapping[str, np.ndarray], benchmarks: Sequence[str], agents: Sequence[str]) -> Figure:
    """How often each LLM is chosen (%), a panel a method: (benchmarks, L)."""
    figure, axes = plt.subplots(1, len(shares), figsize=(2.6 + 2.4 * len(shares), 3.9), sharey=True, squeeze=False)
    for ax, (title, table) in zip(axes[0], shares.items(), strict=True):
        ax.imshow(100 * table.T, cmap="Blues", vmin=0, vmax=100, aspect="auto")
        for (benchmark, agent), value in np.ndenumerate(table):
            if value >= 0.005:
                ax.text(benchmark, agent, f"{100 * value:.0f}", ha="center", va="center", fontsize=7,
                        color="white" if value > 0.6 else BLACK)  # fmt: skip
        ax.set_xticks(range(len(benchmarks)), benchmarks, rotation=60, ha="right", fontsize=8)
        ax.set_title(title, fontsize=9)
        ax.grid(visible=False)
    axes[0, 0].set_yticks(range(len(agents)), [agent.split("/")[-1] for agent in agents], fontsize=8)
    return figure


def draw_variants(table: pd.DataFrame, lines: Mapping[str, Mapping[str, float]]) -> Figure:
    """One row a variant, three panels: columns `<panel>`, `<panel> low`, `<panel> high`; the chosen row is marked."""
    panels = list(lines)
    figure, axes = plt.subplots(1, len(panels), figsize=(11, 0.25 * len(table) + 1.6), sharey=True, squeeze=False)
    rows = np.arange(len(table))[::-1]
    for ax, panel in zip(axes[0], panels, strict=True):
        for row, (_, entry) in zip(rows, table.iterrows(), strict=True):
            colour = BLUE if entry["chosen"] else GREY
            ax.plot([entry[f"{panel} low"], entry[f"{panel} high"]], [row, row], color=colour, linewidth=2)
            ax.plot(entry[panel], row, "o", color=colour, markersize=4.5)
        for place, (name, value) in enumerate(lines[panel].items()):
            ax.axvline(value, color=BLACK, linewidth=1, linestyle=("--", ":")[place % 2], label=name)
        ax.set_title(panel)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize=8)
        ax.grid(axis="y", visible=False)
    axes[0, 0].set_yticks(rows, table["variant"], fontsize=8)
    return figure
