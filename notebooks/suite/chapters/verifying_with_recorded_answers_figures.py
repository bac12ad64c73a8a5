"""Figures of notebook 17: real LLMs as verifiers, rules and coordinators, accuracy against recorded dollars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.results import style
from suite.stats.intervals import Estimate

UNDER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # so that a line behind does not strike a word through
LOOKS = {  # what a system is -> colour, marker
    "one LLM": (style.BLUE, "o"),
    "rule with a Verifier": (style.GREEN, "D"),
    "third opinion": (style.ORANGE, "s"),
    "vote of all": (style.PURPLE, "P"),
    "one step, trained": (style.SKY, "^"),
    "five turns, trained": (style.BLACK, "*"),
    "per-question best": (style.GREY, "X"),
}


def verifiers(frames: Mapping[str, pd.DataFrame], assumed: tuple[np.ndarray, np.ndarray]) -> Figure:
    """A panel a benchmark: percent of wrong answers accepted (x) against right ones (y), of `rules.acceptance`;
    `assumed`: the same two of the simulated pool's Verifiers, for accuracies from 0 to 100 %."""
    fig, axes = plt.subplots(1, len(frames), figsize=(4.6 * len(frames), 4.6), sharex=True, sharey=True)
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        ax.plot([0, 100], [0, 100], color=style.GREY, linewidth=1, linestyle=":", label="accepts blindly")
        ax.plot(assumed[1], assumed[0], color=style.VERMILION, linewidth=2.5, linestyle=(0, (4, 2)),
                label="simulated pool, weak to strong")  # fmt: skip
        x, y = frame["accepts wrong"], frame["accepts right"]
        look = {"color": style.BLUE, "linewidth": 0.8, "alpha": 0.5}
        ax.hlines(y, frame["accepts wrong low"], frame["accepts wrong high"], **look)
        ax.vlines(x, frame["accepts right low"], frame["accepts right high"], **look)
        ax.plot(x, y, "o", color=style.BLUE, markersize=6, label="recorded LLM, 95 % intervals")
        _beside(ax, x.to_numpy(), y.to_numpy(), frame["LLM"].tolist())
        ax.set(title=title, xlabel="wrong answers accepted (%)", xlim=(0, 92), ylim=(40, 101))
    axes[0].set_ylabel("right answers accepted (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def _beside(ax: Axes, x: np.ndarray, y: np.ndarray, names: Sequence[str], left: float = 63.0) -> None:
    """Names in a column on the right, in the order of `y`, with thin lines to their points."""
    places = style.apart(dict(zip(names, y, strict=True)), 3.2)
    for name, *point in zip(names, x, y, strict=True):
        ax.annotate(name, point, xytext=(left, places[name]), fontsize=8, va="center", bbox=UNDER,
                    arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5, "shrinkB": 3})  # fmt: skip


def matrices(panels: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Heat maps (title -> (V, W) percent): rows Verifiers, columns Workers, in the order of `names`."""
    fig, axes = plt.subplots(1, len(panels), figsize=(6.6 * len(panels), 5.3), squeeze=False)
    for ax, (title, values) in zip(axes.flat, panels.items(), strict=True):
        image = ax.imshow(values, cmap="cividis", vmin=0, vmax=100)
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.set(title=title, xlabel="Worker", ylabel="Verifier")
        ax.grid(visible=False)
        for row, column in np.argwhere(np.isfinite(values)):
            ax.text(column, row, f"{values[row, column]:.0f}", ha="center", va="center", fontsize=7,
                    color="white" if values[row, column] < 55 else "black")  # fmt: skip
    fig.colorbar(image, ax=axes, shrink=0.5, label="accepted (%)")
    return fig


def systems(panels: Mapping[str, Sequence[tuple[str, str, Estimate]]]) -> Figure:
    """A panel a benchmark: accuracy with interval of each system (name, kind of `LOOKS`, percent)."""
    found = [(title, name, kind, *estimate) for title, rows in panels.items() for name, kind, estimate in rows]
    frame = pd.DataFrame(found, columns=["part", "system", "kind", "value", "low", "high"])
    return style.panels(
        frame, lambda row: LOOKS[row["kind"]], "right answers (%)", width=4.2 * len(panels), origin=None
    )


def budget(curves: Mapping[str, pd.DataFrame], lines: Mapping[str, float]) -> Figure:
    """Above: accuracy against the turn budget, the best single LLM drawn across (`lines`); below: dollars a question,
    where they are recorded."""
    fig, axes = plt.subplots(2, len(curves), figsize=(4.2 * len(curves), 5.4), sharex=True, squeeze=False,
                             height_ratios=(3, 2))  # fmt: skip
    for number, (title, curve) in enumerate(curves.items()):
        top, bottom = axes[:, number]
        top.plot(curve["K"], curve["value"], "o-", color=style.BLACK, markersize=5, label="five turns, trained")
        top.fill_between(curve["K"], curve["low"], curve["high"], color=style.BLACK, alpha=0.12, linewidth=0)
        top.axhline(lines[title], color=style.BLUE, linewidth=1.3, linestyle=(0, (3, 1, 1, 1)), label="best single LLM")
        top.set(title=title)
        if curve["dollars"].notna().all():
            bottom.plot(curve["K"], 1000 * curve["dollars"], "s-", color=style.VERMILION, markersize=5)
            bottom.set_ylim(bottom=0)
        else:
            bottom.text(0.5, 0.5, "costs are not recorded", transform=bottom.transAxes, ha="center", color=style.GREY)
            bottom.set(yticks=[])
        bottom.set(xlabel="turn budget K", xticks=curve["K"].tolist())
    axes[0, 0].set_ylabel("right answers (%)")
    axes[1, 0].set_ylabel("dollars per 1,000 questions")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def fronts(panels: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> Figure:
    """A panel a benchmark: accuracy against dollars per 1,000 questions (log). First frame: `system`, `kind` (of
    `LOOKS`), `accuracy`, `dollars`; second: `rules.priced`, those with a Verifier numbered by their row."""
    fig, axes = plt.subplots(1, len(panels), figsize=(6.2 * len(panels), 5.2))
    for ax, (title, (frame, front)) in zip(axes, panels.items(), strict=True):
        ax.plot(1000 * front["dollars"], front["accuracy"], color=style.GREEN, linewidth=1.4, zorder=1,
                label="rules that no cheaper one matched in training")  # fmt: skip
        checked = front[front["verified"]].assign(kind="rule with a Verifier")
        for kind in dict.fromkeys([*checked["kind"], *frame["kind"]]):
            part = checked if kind == "rule with a Verifier" else frame[frame["kind"] == kind]
            colour, marker = LOOKS[kind]
            ax.plot(1000 * part["dollars"], part["accuracy"], marker, color=colour, linestyle="none", label=kind,
                    markersize=14 if marker == "*" else 7, markeredgecolor="white", markeredgewidth=0.6)  # fmt: skip
        for place, rule in enumerate(front.itertuples(), start=1):
            if rule.verified:
                ax.annotate(str(place), (1000 * rule.dollars, rule.accuracy), xytext=(0, 7), textcoords="offset points",
                            fontsize=8, ha="center", color=style.GREEN)  # fmt: skip
        ax.set_xscale("log")
        ax.margins(0.08)
        _names(ax, frame[frame["kind"] == "one LLM"])
        low, high = ax.get_xlim()
        style.ticks(ax.xaxis, [tick for tick in (0.1, 0.3, 1, 3, 10, 30) if low < tick < high])
        ax.set(title=title, xlabel="dollars per 1,000 questions (log)", ylabel="right answers (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


def _names(ax: Axes, part: pd.DataFrame) -> None:
    """Names beside their points, those that are close together moved apart."""
    x, y = np.log10(1000 * part["dollars"].to_numpy()), part["accuracy"].to_numpy()
    height = np.ptp(ax.get_ylim())
    for row, name in enumerate(part["system"]):
        close = (np.abs(x - x[row]) < 0.25) & (np.abs(y - y[row]) < 0.05 * height)
        shift = 6 * int((close & (y < y[row])).sum() - (close & (y > y[row])).sum())
        ax.annotate(name, (10 ** x[row], y[row]), xytext=(6, shift), textcoords="offset points", fontsize=8,
                    va="center", bbox=UNDER, zorder=1.5)  # fmt: skip
