"""The figures of the theory notebook. What the propositions say is black and dashed, as the paper's value is
everywhere; what was run has a colour and a marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.chapters.theory_gain import Ratio
from suite.results import style

STATED = {"color": style.BLACK, "linestyle": (0, (5, 3)), "linewidth": 1.5}
METHODS = {"plain steps": (style.ORANGE, "s"), "pycma": (style.BLUE, "o")}
BLOCKS = {"by logit": (style.BLUE, "o"), "by dimension": (style.GREEN, "^"), "at random": (style.ORANGE, "s")}


def draw_kappa(curves: pd.DataFrame) -> Figure:
    """kappa-bar over n, a line each `lambda`; columns `lambda`, `n`, `exact`, `simulated`, `low`, `high`, `limit`."""
    fig, ax = plt.subplots(figsize=(6.6, 3.7))
    for (lam, curve), colour, marker in zip(curves.groupby("lambda"), style.OKABE_ITO, "^so", strict=False):
        ax.plot(curve["n"], curve["exact"], color=colour, label=f"$\\lambda$ = {lam}")
        gaps = [curve["simulated"] - curve["low"], curve["high"] - curve["simulated"]]
        ax.errorbar(curve["n"], curve["simulated"], gaps, fmt=marker, color=colour, markersize=5)
        ax.axhline(curve["limit"].iloc[0], **STATED)
    ax.set_xscale("log")
    ax.set(title="kappa-bar levels off as n grows", ylabel="$n\\alpha^2/\\beta$", ylim=(0, None),
           xlabel="n (lines: order statistics; marks: simulated; dashed: $\\alpha^2\\mu_{eff}$)")  # fmt: skip
    ax.legend(loc="center right", bbox_to_anchor=(1, 0.62))
    return fig


def draw_gains(panels: Mapping[str, tuple[Mapping[str, Ratio], Sequence[float]]], at: Sequence[int]) -> Figure:
    """Gain ratio over generations, one panel a noise setting: name -> (method -> Ratio, the proposition's bound)."""
    fig, axes = plt.subplots(1, len(panels), figsize=(4.7 * len(panels), 3.8), squeeze=False)
    for ax, (title, (found, bound)) in zip(axes.flat, panels.items(), strict=True):
        for name, ratio in found.items():
            colour, marker = METHODS[name]
            ax.plot(at, ratio.value, color=colour, marker=marker, markersize=5, label=f"sep-CMA-ES, {name}")
            ax.fill_between(at, ratio.low, ratio.high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(at, bound, **STATED, label="Proposition 1's bound")
        ax.axhline(1, color=style.GREY, linestyle=":", linewidth=1.4)
        ax.set_xscale("log")
        ax.set_yscale("log")
        style.ticks(ax.xaxis, at)
        ax.set(title=title, xlabel="generations T (dotted: no gain over random search)")
    axes[0, 0].set_ylabel("gain ratio (band: 95 % interval)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def draw_contraction(sizes: pd.DataFrame, learning: Mapping[str, tuple], coupling: pd.DataFrame) -> Figure:
    """Share a step removes over n (`sizes`); n times that share while pycma learns scales (`learning`: name ->
    (steps/n, n x share)); its loss by `coupling`."""
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.9))
    ax = axes[0]
    ax.plot(sizes["n"], sizes["kappa"], **STATED, label="$\\bar\\kappa/n$")
    ax.plot(sizes["n"], sizes["sigma*"], "s", color=style.ORANGE, label="plain steps at $\\sigma^*$")
    ax.plot(sizes["n"], sizes["pycma"], "o", color=style.BLUE, markerfacecolor="none", markersize=8, label="pycma")
    ax.set(xscale="log", yscale="log", title="Share removed by a step", xlabel="n", ylabel="share of f")
    ax.legend()
    ax = axes[1]
    for (name, (steps, rate)), marker in zip(learning.items(), "os^", strict=False):
        ax.plot(steps, rate, marker=marker, markersize=4.5, label=name)
    ax.set(title="pycma learning the scales", xlabel="steps / n", ylabel="n × share", ylim=(0, None))
    ax.legend(title="condition number")
    ax = axes[2]
    ax.plot(coupling["eps"], 1 - coupling["eps"], **STATED, label="1 − ε")
    ax.plot(coupling["eps"], coupling["relative"], "s-", color=style.ORANGE, label="plain steps at $\\sigma^*$")
    ax.set(title="Off-diagonal coupling", xlabel="ε", ylabel="share / share at ε = 0", ylim=(0, 1.05))
    ax.legend()
    return fig


def draw_separability(frame: pd.DataFrame, measures: Sequence[str]) -> Figure:
    """epsilon by measure, one panel a `view`, one mark a kind of `blocks` (random ones: the mean of their draws)."""
    views = list(dict.fromkeys(frame["view"]))
    columns = (len(views) + 1) // 2
    fig, axes = plt.subplots(2, columns, figsize=(3.1 * columns, 5.6), sharex=True, sharey=True, squeeze=False)
    places = np.arange(len(measures))
    for ax, view in zip(axes.T.flat, views, strict=False):
        for shift, (name, (colour, marker)) in zip((-0.18, 0, 0.18), BLOCKS.items(), strict=True):
            rows = frame[(frame["view"] == view) & (frame["blocks"] == name)]
            values = np.maximum(rows[list(measures)].mean().to_numpy(), 1e-3)  # a log axis has no place for 0
            ax.plot(places + shift, values, marker, color=colour, markersize=6, label=name)
        ax.axhline(1, **STATED)
        ax.set(title=view, yscale="log")
        ax.set_xticks(places, [name.replace(", ", "\n") for name in measures])
    for ax in axes[:, 0]:
        ax.set_ylabel("ε (at most 0.001 as 0.001)")
    legend = {"loc": "outside lower center", "ncols": 3, "title": "blocks; dashed: ε = 1"}
    fig.legend(*axes[0, 0].get_legend_handles_labels(), **legend)
    return fig
