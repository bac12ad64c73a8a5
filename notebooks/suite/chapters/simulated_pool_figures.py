"""Figures of notebook 04: what the simulated agents can do, and where coordination pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from suite.results import style

MAP = "PuOr"  # purple: gain, orange: loss; told apart by colour-blind readers
AGENT_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def calibration(frame: pd.DataFrame) -> Figure:
    """One panel a family: each agent's measured accuracy minus the score it was to meet, with its interval."""
    rows = frame.rename(columns={"family": "part", "agent": "system", "measured": "value"})
    rows[["value", "low", "high"]] = rows[["value", "low", "high"]].sub(rows["target"], axis=0)

    def look(row: pd.Series) -> tuple[str, str]:
        return style.AGENT_COLOURS.get(row["system"], style.GREY), "s" if row["assumed"] else "D"

    reach = 1.1 * rows[["low", "high"]].abs().to_numpy().max()
    fig = style.panels(rows, look, "", width=11.5, hollow=lambda row: row["assumed"], sharex=True)
    for ax, (_, part) in zip(fig.axes, rows.groupby("part", sort=False), strict=True):
        for place, text in enumerate(["score (%)", *(f"{target:.1f}" for target in part["target"])], start=-1):
            ax.text(reach * 1.5, place, text, ha="right", va="center", fontsize=8, color="#333333")
        ax.set(xlim=(-reach, reach * 1.53), xlabel="measured minus score (points)", ylim=(len(part) - 0.5, -1.4))
    handles = [
        plt.Line2D([], [], color=style.GREY, linewidth=3, alpha=0.55, label="99 % interval"),
        plt.Line2D([], [], marker="D", color=style.GREY, linestyle="none", label="published score"),
        plt.Line2D([], [], marker="s", color=style.GREY, markerfacecolor="white", linestyle="none",
                   label="assumed score (rule)"),
    ]  # fmt: skip
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig


def behaviour(curves: Mapping[str, np.ndarray], accept: Mapping[str, np.ndarray], marks: Mapping[str, float]) -> Figure:
    """Left: a Worker's chance with plan or diagnosis against its own; right: a Verifier's acceptance: label -> values
    over an even grid of own chances; `marks`: agent -> its mean chance."""
    fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.0))
    dashes = ("-", (0, (1, 1)), (0, (5, 2)), (0, (5, 2, 1, 2)))
    colours = (style.GREY, style.ORANGE, style.GREEN, style.BLUE)
    for (label, values), dash, colour in zip(curves.items(), dashes, colours, strict=True):
        axes[0].plot(np.linspace(0, 1, len(values)), values, linestyle=dash, color=colour, label=label)
    axes[0].set(title="Plans lift even chances most", ylabel="chance of a right answer")
    looks = (("-", style.BLUE), ((0, (5, 2)), style.VERMILION))
    for (label, values), (dash, colour) in zip(accept.items(), looks, strict=True):
        axes[1].plot(np.linspace(0, 1, len(values)), values, linestyle=dash, color=colour, label=label)
    for place, (name, value) in enumerate(marks.items()):
        look = {"color": style.AGENT_COLOURS.get(name, style.GREY), "markersize": 7, "markeredgewidth": 0.5}
        axes[1].plot(value, 0.02, AGENT_MARKERS[place % 7], markeredgecolor="black", label=name, clip_on=False, **look)
    axes[1].set(title="Who solves more, judges better", ylabel="chance to ACCEPT")
    for ax in axes:
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="the agent's own chance on the question")
    axes[0].legend(loc="lower right", fontsize=8, borderaxespad=0.2, handlelength=2.6)
    axes[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return fig


def complementarity(spreads: Sequence[float], gaps: Mapping[str, np.ndarray], own: float) -> Figure:
    """Best agent of each question minus best single agent (points) against the private spread, one line a family."""
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for family, values in gaps.items():
        look = {"marker": style.FAMILY_MARKERS[family], "color": style.FAMILY_COLOURS[family], "markersize": 5}
        ax.plot(spreads, values, label=family, **look)
    ax.axvline(own, color=style.GREY, linestyle=(0, (5, 3)), linewidth=1.2)
    look = {"xytext": (4, -4), "textcoords": "offset points", "va": "top", "fontsize": 9, "color": "#555555"}
    ax.annotate("this pool", (own, ax.get_ylim()[1]), **look)
    ax.set(xlabel="private spread $s_p$ (logits)", ylabel="points above the best single agent")
    ax.set(title="What a perfect choice of agent per question could add", ylim=(0, None))
    ax.legend()
    return fig


def policies(frame: pd.DataFrame) -> Figure:
    """Gain of each policy over the best single agent with its interval, and its calls a question beside it."""
    rows = frame[frame["policy"] != "best single agent"].rename(columns={"policy": "system", "gain": "value"})
    label = "points above the best single agent (95 % interval over questions)"
    rows["part"] = "Fixed policies in this pool"
    fig = style.panels(rows, lambda row: (style.side(row),), label, width=8.2)
    ax = fig.axes[0]
    for place, text in enumerate(["calls", *(f"{calls:.1f}" for calls in rows["calls"])], start=-1):
        ax.text(1.01, place, text, transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.set_ylim(len(rows) - 0.5, -1.2)
    return fig


def phases(
    panels: Mapping[str, np.ndarray],
    xs: Sequence[float],
    ys: Sequence[float],
    *,
    xlabel: str,
    ylabel: str,
    here: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """One map a panel: gain in points (len(ys), len(xs)), with the line where it is 0; a star marks this pool."""
    limit = max(float(np.abs(values).max()) for values in panels.values())
    columns = min(len(panels), 4)
    fig, axes = plt.subplots(1, columns, figsize=(2.75 * columns + 0.8, 3.6), sharex=True, sharey=True, squeeze=False)
    for ax, (title, values) in zip(axes[0], panels.items(), strict=True):
        mesh = ax.pcolormesh(xs, ys, values, cmap=MAP, vmin=-limit, vmax=limit, shading="gouraud", rasterized=True)
        steps = [step for step in (-10, -5, 5, 10) if values.min() < step < values.max()]
        if steps:
            ax.clabel(ax.contour(xs, ys, values, levels=steps, colors="#666666", linewidths=0.7), fmt="%+d", fontsize=8)
        if values.min() < 0 < values.max():
            ax.contour(xs, ys, values, levels=[0], colors="black", linewidths=2.2)
        if here and title in here:
            ax.plot(*here[title], "*", markersize=13, color="white", markeredgecolor="black", zorder=6)
        ax.set_title(title, fontsize=9)
        ax.set(xlabel=xlabel)
        ax.grid(visible=False)
    axes[0][0].set(ylabel=ylabel)
    fig.colorbar(mesh, ax=axes[0].tolist(), label="points above the best single agent", shrink=0.95)
    return fig
