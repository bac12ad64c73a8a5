"""The figures of notebook 07: a matrix and its offsets, what they act on and move, two arms, drops in points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style

ARMS = ((style.BLUE, "o"), (style.VERMILION, "s"))


def draw_offsets(s: np.ndarray, adapted: Mapping[str, np.ndarray], title: str) -> Figure:
    """Singular values s (r,) with adapted ones (r,) by name, and the change of each in percent."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.6))
    order = np.arange(1, len(s) + 1)
    for (name, values), colour in zip(adapted.items(), (style.ORANGE, style.SKY), strict=False):
        left.plot(order, values, ".", color=colour, markersize=3, label=name)
        right.plot(order, 100 * (values / s - 1), ".", color=colour, markersize=3, label=name)
    left.plot(order, s, color=style.BLACK, linewidth=1.2, label="δ = 0: W itself")
    left.set(title=title, xlabel="k", ylabel="singular value", ylim=(0, None))
    right.axhline(0, color=style.BLACK, linewidth=1.2)
    right.set(title="Change, the sum of all kept", xlabel="k", ylabel="change of the singular value (%)")
    left.legend(markerscale=3)
    return fig


def draw_blocks(moved: pd.DataFrame) -> Figure:
    """How far each block's offsets move a state (log axis), rows blocks, one marker a column; 0 stands at the left."""
    fig, ax = plt.subplots(figsize=(7.6, 3.7))
    places, floor = np.arange(len(moved))[::-1], 1e-3
    for (name, values), (colour, marker), shift in zip(moved.items(), ARMS, (0.12, -0.12), strict=True):
        acts = values.to_numpy() > floor
        shown = np.where(acts, values, floor)
        ax.plot(shown[acts], places[acts] + shift, marker, color=colour, markersize=8, label=name)
        ax.plot(shown[~acts], places[~acts] + shift, marker, markeredgecolor=colour, markerfacecolor="none",
                markersize=8, markeredgewidth=1.6)  # fmt: skip
        for place in places[~acts]:
            ax.annotate("inert", (floor, place + shift), (9, 0), textcoords="offset points", va="center", color=colour)
    ax.set_yticks(places, moved.index)
    ax.set(xscale="log", xlim=(floor / 1.6, None), xlabel="change of the hidden state over its length",
           title="Offsets of one block alone, on a tiny random Qwen3")  # fmt: skip
    ax.legend(loc="lower right")
    return fig


def draw_moves(frame: pd.DataFrame, sigma: float) -> Figure:
    """Choices that a candidate's noise changes, a panel a head; `frame` as `adaptation.noise_table` makes it."""
    heads = frame["head"].unique()
    fig, axes = plt.subplots(1, len(heads), figsize=(4.9 * len(heads), 3.8), sharey=True, squeeze=False)
    for ax, head in zip(axes.flat, heads, strict=True):
        rows = frame[frame["head"] == head]
        offsets, weights = rows[rows["what"] == "offsets"], rows[rows["what"] == "head"].iloc[0]
        for name, (colour, marker) in zip(("agents", "roles"), ARMS, strict=True):
            ax.plot(offsets["sigma"], 100 * offsets[name], color=colour, marker=marker, label=f"{name}, by offsets")
            ax.plot(sigma, 100 * weights[name], marker, color=colour, markersize=9, markerfacecolor="none",
                    markeredgewidth=1.6, label=f"{name}, by head weights of σ = {sigma}")  # fmt: skip
        ax.set(xscale="log", yscale="log", title=f"Head: {head}", xlabel="standard deviation of the noise")
        style.ticks(ax.xaxis, offsets["sigma"])
    axes[0, 0].set_ylabel("choices changed (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def draw_training(arms: Mapping[str, Sequence[pd.DataFrame]], title: str, window: int) -> Figure:
    """`style.learning` of two arms: name -> a history a seed."""
    fig, ax = plt.subplots(figsize=(6.8, 3.6))
    style.learning(ax, arms, dict(zip(arms, (style.BLUE, style.VERMILION), strict=True)), window)
    ax.set_title(title)
    ax.legend(loc="lower right")
    return fig


def draw_losses(frames: Mapping[str, pd.DataFrame]) -> Figure:
    """Points that an ablation loses, one panel each; frames of `ablations.losses` of one variant."""
    rows = pd.concat([frame.assign(system=frame["part"], part=title) for title, frame in frames.items()])
    looks = {part: (style.FAMILY_COLOURS[part], marker) for part, marker in style.FAMILY_MARKERS.items()}
    label = "points lost (bar: 95 % interval; diamond: the paper)"
    return style.panels(rows, lambda row: looks.get(row["system"], (style.BLACK, "P")), label, width=9.8)
