"""Figures of notebook 14: tokens beside the printed ones, score against cost, the same tokens spent otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.chapters.cost import Ladder
from suite.results import style
from suite.stats.intervals import Estimate

KINDS = {  # what a method is -> colour, marker, name in the legend
    "coordinator": (style.BLACK, "*", "TRINITY"),
    "single": (style.BLUE, "o", "one agent, one answer"),
    "self-reflection": (style.GREEN, "^", "one agent, reflecting"),
    "majority@5": (style.ORANGE, "s", "one agent, majority of 5"),
    "router": (style.VERMILION, "D", "routers"),
    "many": (style.PURPLE, "P", "ensembles, random turns"),
}
ROUTERS = ("best agent per family", "RouterDC", "MasRouter")
SHORT = {"self-reflection": "reflecting", "majority@5": "majority"}


def kind_of(method: str, agents: Sequence[str]) -> str:
    """Which of `KINDS` a method is, by the names of `in_distribution.systems`."""
    if method == "TRINITY":
        return "coordinator"
    first = method.partition(":")[0]
    return first if first in SHORT else "single" if method in agents else "router" if method in ROUTERS else "many"


def draw_tokens(frame: pd.DataFrame, tasks: Sequence[str]) -> Figure:
    """Output tokens a question of every coordination method, ours with interval and the printed one, a panel a task.
    Columns method, task, paper, ours, low, high."""
    rows = frame.rename(columns={"method": "system", "task": "part", "ours": "value"})
    fig = style.panels(rows, lambda row: (style.METHOD_COLOURS[row["system"]],), "output tokens (log)", width=11.5,
                       titles={task: task for task in tasks}, origin=None, sharex=True)  # fmt: skip
    for ax, task in zip(fig.axes, tasks, strict=True):
        part = rows[rows["part"] == task]
        ax.hlines(range(len(part)), part["paper"], part["value"], color=style.GREY, linewidth=0.8, zorder=1)
        ax.set_xscale("log")
    handles = [
        plt.Line2D([], [], marker="o", color=style.GREY, linestyle="none", markersize=8, label="ours, 95 % interval"),
        style.mark_paper(fig.axes[0], np.nan, at=0, axis="x", label="printed (Tables 9-12)"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def draw_fronts(frame: pd.DataFrame, axes_of: Mapping[str, str]) -> Figure:
    """Score against each cost (column -> axis label), the Pareto front as a line, its methods with intervals. Columns
    method, kind (of `KINDS`), score, low, high (percent), and for each cost the cost and `front COST` (bool)."""
    fig, axes = plt.subplots(1, len(axes_of), figsize=(4.7 * len(axes_of), 5.2), sharey=True, squeeze=False)
    for ax, (cost, name) in zip(axes[0], axes_of.items(), strict=True):
        for kind, (colour, marker, text) in KINDS.items():
            part = frame[frame["kind"] == kind]
            barred = part if kind == "coordinator" else part[part[f"front {cost}"]]  # those that the text compares
            ax.vlines(barred[cost], barred["low"], barred["high"], color=colour, linewidth=1.4)
            ax.plot(part[cost], part["score"], marker, color=colour, linestyle="none", label=text, zorder=4,
                    markersize=15 if marker == "*" else 7, markeredgecolor="white", markeredgewidth=0.6)  # fmt: skip
        best = frame[frame[f"front {cost}"]].sort_values(cost)
        ax.step(best[cost], best["score"], where="post", color=style.GREY, linewidth=1.6, zorder=1)
        ax.set(xscale="log", xlabel=name)
        low, high = frame[cost].min(), frame[cost].max()
        ax.set_xlim(low / (high / low) ** 0.5, high * 1.3)  # room for names on the left
        ticks = [t for t in (0.1, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if low * 0.9 < t < high * 1.2]
        style.ticks(ax.xaxis, ticks, ",g")
        _names(ax, frame[frame[f"front {cost}"] | (frame["kind"] == "coordinator")].sort_values("score"), cost)
    axes[0, 0].set_ylabel("right answers (%)")
    fig.suptitle("Score against cost; the line is the Pareto front", x=0.01, ha="left", fontsize=11, fontweight="bold")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return fig


def _names(ax: Axes, part: pd.DataFrame, cost: str) -> None:
    """Names to the left of their points, each above the one below, with a thin line to the point."""
    last, step = -np.inf, 1.55
    for _, line in part.iterrows():
        first, _, who = line["method"].partition(": ")
        text = f"{_brief(who)}, {SHORT[first]}" if first in SHORT else _brief(line["method"])
        own = line["kind"] == "coordinator"
        last = max(line["score"], last + step)
        place = (line[cost] * 1.15, last - 1.8) if own else (line[cost] * 0.82, last)
        look = {"ha": "left" if own else "right", "va": "center", "fontsize": 8, "zorder": 5}
        line_to = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        ax.annotate(text, (line[cost], line["score"]), xytext=place, arrowprops=line_to, **look)


def _brief(agent: str) -> str:
    """An agent's name without its version, short enough to stand in a figure."""
    mode = " (direct)" if "direct" in agent else " (reasoning)" if "reasoning" in agent else ""
    return agent if agent.startswith(("GPT", "best")) else agent.partition("-")[0] + mode


def draw_equal_tokens(
    ladders: Mapping[str, tuple[Ladder, Ladder]],
    families: Sequence[str],
    trinity: Mapping[str, tuple[float, Estimate]],
    printed: Mapping[str, Sequence[tuple[float, float]]],
) -> Figure:
    """A panel a family: score against output tokens of each agent's majority (line) and reflection (dashed), TRINITY's
    point with interval, and printed (tokens, percent) as hollow diamonds. `trinity`: family -> (tokens, score in %)."""
    looks = {"majority of 1, 3, 5, ...": ("-", "s"), "reflection": ((0, (2, 1.5)), "^")}
    fig, axes = plt.subplots(1, len(trinity), figsize=(11.8, 3.7))
    for ax, (family, (tokens, score)) in zip(axes, trinity.items(), strict=True):
        rows = np.asarray(families) == family
        for agent, both in ladders.items():
            for ladder, (dash, marker) in zip(both, looks.values(), strict=True):
                x, y = (values[:, rows].mean(axis=(1, 2)) for values in (ladder.tokens, ladder.reward))
                ax.plot(x, 100 * y, linestyle=dash, marker=marker, markersize=3.5, linewidth=1.4,
                        color=style.AGENT_COLOURS[agent])  # fmt: skip
        ax.axvline(tokens, color=style.GREY, linestyle=":", linewidth=1.2)
        ax.vlines(tokens, score.low, score.high, color=style.BLACK, linewidth=1, alpha=0.6)
        ax.plot(tokens, score.value, "*", color=style.BLACK, markersize=14, markeredgecolor="white", zorder=5)
        for x, y in printed.get(family, ()):
            style.mark_paper(ax, y, at=x, label=None)
        ax.set(xscale="log", title=family, xlabel="output tokens (log)")
    axes[0].set_ylabel("right answers (%)")
    line = plt.Line2D
    handles = [line([], [], color=style.AGENT_COLOURS[agent], label=agent) for agent in ladders]
    handles += [
        line([], [], color=style.GREY, marker=marker, markersize=4, linestyle=dash, label=name)
        for name, (dash, marker) in looks.items()
    ]
    handles.append(line([], [], color=style.BLACK, marker="*", markersize=12, linestyle="none", label="TRINITY"))
    handles.append(style.mark_paper(axes[0], np.nan, at=np.nan, label="printed"))
    fig.legend(handles=handles, loc="outside lower center", ncols=7)
    return fig


def draw_differences(frame: pd.DataFrame) -> Figure:
    """TRINITY minus its rivals at the same output tokens, with intervals, a panel a part; `frame` of `scores.leads`."""
    label = "TRINITY minus the rival at the same output tokens (points; 95 % interval)"
    return style.panels(frame, lambda row: (style.side(row),), label, width=11.5)
