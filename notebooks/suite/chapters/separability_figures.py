"""The figures of the separability notebook (A.3, Figures 12 to 14). Colours say what a representation is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from suite.results import style
from suite.stats.separability import Accuracy

SOURCE_COLOURS = {
    "SLM": style.BLUE,
    "random": style.ORANGE,
    "bag": style.GREEN,
    "length": style.PURPLE,
    "shuffled": style.GREY,
}
BAND = 0.18  # opacity of an interval drawn as an area


def _look(representation: str) -> dict[str, str]:
    """Colour and marker."""
    source = representation.replace(",", "").split()[0]
    return {"color": SOURCE_COLOURS[source], "marker": "s" if "mean" in representation else "o"}


def draw_maps(maps: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Four planes, title -> (points (questions, 2), family of each), a colour and a marker a family."""
    fig, axes = plt.subplots(2, 2, figsize=(9, 7.6))
    for ax, (title, (plane, labels)) in zip(axes.flat, maps.items(), strict=True):
        style.scatter(ax, plane, labels, style.FAMILY_COLOURS, style.FAMILY_MARKERS)
        ax.set_title(title)
        ax.spines[:].set(visible=True, color="#CCCCCC")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=1.6)
    return fig


def draw_accuracies(panels: Mapping[str, Mapping[str, Accuracy]], *, paper: float | None = None) -> Figure:
    """One panel a split or label, one row a representation: dot and 95 % interval; chance dotted, the paper dashed."""
    found = [(title, name, a.mean, a.low, a.high) for title, some in panels.items() for name, a in some.items()]
    rows = pd.DataFrame(found, columns=["part", "system", "value", "low", "high"])
    label = "accuracy (bar: 95 % interval; dotted: commonest label" + ("; dashed: paper)" if paper is not None else ")")
    width = 2.0 + 2.15 * len(panels)
    fig = style.panels(rows, lambda row: tuple(_look(row["system"]).values()), label, width=width, origin=None)
    for ax, some in zip(fig.axes, panels.values(), strict=True):
        ax.axvline(next(iter(some.values())).chance, color=style.GREY, linestyle=":", linewidth=1.4)
        if paper is not None:
            style.mark_paper(ax, paper, axis="x")
        ax.set(xlim=(0, 1.04), xticks=[0, 0.5, 1])
    return fig


def draw_layers(
    curves: Mapping[tuple[str, str], np.ndarray], floor: Mapping[str, float], positions: Sequence[str]
) -> Figure:
    """Accuracy by layer: one row a test, one column a format; `curves[test, format]` is (layers, positions)."""
    tests = list(dict.fromkeys(test for test, _ in curves))
    formats = list(dict.fromkeys(name for _, name in curves))
    size = (4.7 * len(formats), 0.6 + 2.7 * len(tests))
    fig, axes = plt.subplots(len(tests), len(formats), figsize=size, sharex=True, sharey=True, squeeze=False)
    for (test, name), curve in curves.items():
        ax = axes[tests.index(test), formats.index(name)]
        for j, position in enumerate(positions):
            ax.plot(curve[:, j], color=style.OKABE_ITO[j], marker="o^s"[j], markersize=3.5, label=position)
        ax.axhline(floor[test], color=style.GREY, linestyle="--", linewidth=1.4, label="bag of words")
        ax.set(title=f"{test}, {name}", ylim=(0, 1.04), ylabel="accuracy" if name == formats[0] else "")
    for ax in axes[-1]:
        ax.set_xlabel("layer (0: embedding)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(positions) + 1)
    return fig


def draw_learning(curves: pd.DataFrame) -> Figure:
    """Accuracy against training questions: a frame with `representation`, `questions`, `mean`, `std`; band: one std."""
    fig, ax = plt.subplots(figsize=(6.6, 3.6))
    for name, curve in curves.groupby("representation", sort=False):
        line = "-" if "mean" not in name else (0, (4, 1.5))
        ax.plot(curve["questions"], curve["mean"], linestyle=line, markersize=4.5, label=name, **_look(name))
        edges = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        ax.fill_between(curve["questions"], *edges, color=_look(name)["color"], alpha=BAND / 2, linewidth=0)
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes := sorted(set(curves["questions"])), sizes)
    ax.set(xlabel="training questions", ylabel="accuracy (band: one std)", ylim=(0.2, 1.03))
    ax.legend(loc="lower right")
    return fig


def draw_synthetic(
    summaries: Mapping[str, pd.DataFrame], points: Mapping[str, tuple[float, float]], chance: float
) -> Figure:
    """Figure 14: head accuracy by separability index with a 95 % band; `points`: real states' (index, accuracy)."""
    fig, ax = plt.subplots(figsize=(6.8, 3.9))
    for (name, curve), colour, marker in zip(summaries.items(), (style.BLUE, style.VERMILION), "os", strict=False):
        ax.plot(curve["index"], curve["accuracy"], color=colour, marker=marker, markersize=4.5, label=name)
        ax.fill_between(curve["index"], curve["low"], curve["high"], color=colour, alpha=BAND, linewidth=0)
    for (name, point), marker in zip(points.items(), "D*Pv", strict=False):
        ax.plot(*point, marker, color=style.BLACK, markersize=8, markerfacecolor="white", label=name)
    ax.axhline(chance, color=style.GREY, linestyle=":", linewidth=1.4, label="chance")
    ax.set_xscale("symlog", linthresh=0.005, linscale=0.6)
    style.ticks(ax.xaxis, [0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    ax.set(xlabel="separability index tr(S_B) / tr(S_T)", ylabel="head accuracy", ylim=(0, 1.04), xlim=(-0.0006, 1.1))
    ax.legend(loc="lower right")
    return fig
