"""The figures of what the coordinator learned: who acts where (Figure 15), role to role, choices foretold, logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from suite.results import style

# Where the places of a rollout stand in a diagram, and how wide an arrow of 100 % is (points).
PLACES = {"start": (0, 1.0), "thinker": (1.25, 1.75), "worker": (1.25, 0.25), "verifier": (2.6, 1.0),
          "accepted": (3.9, 1.0), "turn limit": (3.9, 0.1), "verifier before answer": (3.9, 1.9)}  # fmt: skip
WIDEST = 7.0
LABEL = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}


def draw_selection(panels: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Stacked bars: panel (a family) -> bar (paper, ours, ...) -> agent -> percent of the selections."""
    bars = list(next(iter(panels.values())))
    rows = -(-len(panels) // 2)
    fig, axes = plt.subplots(rows, 2, figsize=(10.4, 1.2 + rows * (0.5 + 0.24 * len(bars))), sharex=True, sharey=True)
    for ax, (title, found) in zip(axes.flat, panels.items(), strict=True):
        shares = pd.DataFrame(found).T.reindex(columns=style.AGENT_COLOURS).fillna(0.0)
        style.stack(ax, shares, style.AGENT_COLOURS, least=9)
        ax.set(title=title, xlim=(0, 100.5))
    style.name_rows(axes[0, 0], bars)
    for ax in axes[-1]:
        ax.set_xlabel("share of the turns (%)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


def draw_by_turn(agents: pd.DataFrame, roles: pd.DataFrame) -> Figure:
    """Who acts (left) and in which role (right) at each turn, stacked; frames of `what_it_learned.shares`."""
    fig, axes = plt.subplots(1, 2, figsize=(10.4, 3.8), sharey=True)
    panels = (("agents", agents, style.AGENT_COLOURS), ("roles", roles, style.ROLE_COLOURS))
    for ax, (title, table, colours) in zip(axes, panels, strict=True):
        wide = table.pivot(index="turn", columns="name", values="value")[list(colours)]
        style.stack(ax, wide, colours, at=wide.index, vertical=True)
        ax.set(title=title, xlabel="turn", ylim=(0, 100))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2 if len(colours) > 3 else 3)
    axes[0].set_ylabel("share of the turns (%)")
    return fig


def draw_transitions(panels: Mapping[str, pd.DataFrame], least: float = 3.0) -> Figure:
    """A diagram a panel: circles are the roles, an arrow's width the percent of the moves out of its place. Frames of
    `what_it_learned.transitions`; moves below `least` percent are left out."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(5.6 * columns, 3.1 * rows), squeeze=False)
    for ax, (title, table) in zip(axes.flat, panels.items(), strict=False):
        _diagram(ax, table, least)
        ax.set_title(title)
    for ax in axes.flat:
        ax.set_axis_off()
    return fig


def _diagram(ax: Axes, table: pd.DataFrame, least: float) -> None:
    moves = table.stack()
    for (before, after), percent in moves[moves >= least].items():
        start, end = np.array(PLACES[before]), np.array(PLACES[after])
        ink = {"color": style.BLUE, "linewidth": 0.6 + WIDEST * percent / 100, "alpha": 0.45}
        if before == after:
            side = 1 if before == "thinker" else -1
            left, right, middle = (start + (x, y * side) for x, y in ((-0.16, 0.2), (0.16, 0.2), (0, 0.52)))
            arrow = FancyArrowPatch(left, right, shrinkA=0, shrinkB=0, connectionstyle=f"arc3,rad={-1.8 * side}",
                                    arrowstyle="-", **ink)  # fmt: skip
        else:
            arrow = FancyArrowPatch(start, end, connectionstyle="arc3,rad=0.14", arrowstyle="-|>", mutation_scale=11,
                                    shrinkA=20, shrinkB=22, **ink)  # fmt: skip
            along = end - start
            middle = start + 0.42 * along + 0.1 * np.array([along[1], -along[0]])
        ax.add_patch(arrow)
        ax.text(*middle, f"{percent:.0f}", fontsize=8.5, ha="center", va="center", bbox=LABEL)
    for name in sorted({*table.index, *table.columns[(table >= least).any()]}):
        colour, shape = style.ROLE_COLOURS.get(name, "white"), "circle,pad=0.35"
        box = {"boxstyle": shape if name in style.ROLE_COLOURS else "round,pad=0.3", "facecolor": colour}
        ax.text(*PLACES[name], name.replace(" before ", " before\n"), ha="center", va="center", fontsize=8, zorder=3,
                color=style.ink_on(colour), bbox=box | {"edgecolor": style.GREY})  # fmt: skip
    ax.set(xlim=(-0.4, 4.6), ylim=(-0.45, 2.45))


def draw_foretelling(table: pd.DataFrame) -> Figure:
    """A row a test (features, labels, kernel): accuracy and its interval; grey: from base rate to ceiling; the paper's
    accuracy a diamond. `table`: of `what_it_learned.accuracies`, with a column `paper`."""
    rows = table.rename(columns={"accuracy": "value"}).assign(part="How well an SVM foretells")
    rows["system"] = [f"{row.features}: {row.labels}, {row.kernel}" for row in table.itertuples()]
    label = "accuracy (bar: 95 % interval; grey: from base rate to ceiling; diamond: the paper)"
    looks = {"linear": (style.BLUE, "o"), "rbf": (style.BLUE, "s")}
    fig = style.panels(rows, lambda row: looks[row["kernel"]], label, width=8.6, origin=None)
    places, ax = np.arange(len(rows)), fig.axes[0]
    ax.barh(places, rows["ceiling"] - rows["base"], left=rows["base"], color="#E2E2E2", height=0.74, zorder=0)
    ax.vlines(rows["base"], places - 0.37, places + 0.37, color=style.GREY, linewidth=2)
    ax.set_xlim(0, 1.04)
    return fig


def draw_planes(planes: Mapping[str, np.ndarray], families: Sequence[str], agents: Sequence[str]) -> Figure:
    """Planes of logits, title -> points (n, 2); one row coloured by family, one by the agent that was chosen."""
    fig, axes = plt.subplots(2, len(planes), figsize=(4.6 * len(planes), 7.4), squeeze=False)
    kinds = (families, style.FAMILY_COLOURS, style.FAMILY_MARKERS), (agents, style.AGENT_COLOURS, {})
    for row, what, kind in zip(axes, ("by family", "by chosen agent"), kinds, strict=True):
        for ax, (title, plane) in zip(row, planes.items(), strict=True):
            style.scatter(ax, plane, *kind)
            ax.set_title(title if row[0] is axes[0, 0] else "")
            ax.spines[:].set(visible=True, color="#CCCCCC")
        row[0].set_ylabel(what)
        row[-1].legend(*row[0].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1, 0.5), markerscale=1.6)
    return fig


def draw_labels(labels: pd.DataFrame, paper: Mapping[tuple[str, str], float]) -> Figure:
    """Table 5: a panel a family, a row an agent, the percent of questions whose oracle label it is; paper: diamonds.
    `labels`: columns family, name, value, low, high; `paper`: (family, agent) -> percent."""
    rows = labels.rename(columns={"family": "part", "name": "system"})
    rows["paper"] = [paper[key] for key in zip(rows["part"], rows["system"], strict=True)]
    label = "questions with this label (%; bar: 95 % interval; diamond: the paper; line: even)"
    fig = style.panels(rows, lambda row: (style.AGENT_COLOURS[row["system"]],), label,
                       width=2.6 + 2.1 * rows["part"].nunique(), origin=100 / len(style.AGENT_COLOURS))  # fmt: skip
    for ax in fig.axes:
        ax.set_xlim(0, None)
    return fig
