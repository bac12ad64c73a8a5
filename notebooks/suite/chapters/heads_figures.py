"""The figures of notebook 05: what each head reads, learning curves, score against size, gaps, choices, modes.

Each function draws on a new matplotlib figure and returns it. A head has one colour and marker everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.results import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {
    "linear": (style.BLACK, "o"),
    "low-rank": (style.BLUE, "s"),
    "low-rank, r = 14": (style.SKY, "s"),
    "sparse": (style.VERMILION, "^"),
    "sparse, hard gate": (style.ORANGE, "^"),
    "block-diagonal-2": (style.GREEN, "D"),
    "block-diagonal-10": (style.PURPLE, "P"),
}
# Where a label stands at its interval (end, ha, va, points to the right), so that neighbours do not meet.
PLACES = {
    "linear": ("low", "right", "bottom", -6),
    "sparse": ("low", "right", "top", 4),
    "low-rank, r = 14": ("low", "left", "top", -16),
}
INTERVAL = "bar: 95 % interval; hollow diamond: the paper"


def draw_reach(reach: Mapping[str, np.ndarray], n_agents: int) -> Figure:
    """Which hidden dimension (across) moves which logit (down): a panel a head, arrays (n_logits, d)."""
    import matplotlib.pyplot as plt

    columns = 3
    rows = -(-len(reach) // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(10.5, 1.75 * rows + 0.5), sharex=True, sharey=True, squeeze=False)
    for ax, (name, moved) in zip(axes.flat, reach.items(), strict=False):
        ax.imshow(moved != 0, aspect="auto", cmap="Greys", vmin=0, vmax=1.6, interpolation="nearest")
        ax.axhline(n_agents - 0.5, color=style.VERMILION, linewidth=1.2)
        ax.set_title(f"{name}: {np.count_nonzero(moved):,} of {moved.size:,}")
        ax.grid(visible=False)
    for ax in axes.flat[len(reach) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_yticks([(n_agents - 1) / 2, n_agents + 1], ["agents", "roles"])
    fig.supxlabel("hidden dimension (dark: moves that row's logit)", fontsize=10)
    return fig


def draw_learning(histories: Mapping[str, Sequence[pd.DataFrame]], best_alone: float) -> Figure:
    """Mean reward of a generation over evaluations: the mean of the seeds; `best_alone`: percent, a dotted line."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.6, 4.2))
    ends = {}
    for name, tables in histories.items():
        values = 100 * np.mean([_smooth(table["fitness"].to_numpy()) for table in tables], axis=0)
        at = tables[0]["evaluations"].to_numpy() / 1000
        ax.plot(at, values, color=LOOKS[name][0], linewidth=1.5)
        ends[name] = values[-1]
    ax.axhline(best_alone, color=style.GREY, linestyle=":", linewidth=1.4)
    ends["best agent alone"] = best_alone
    ax.margins(x=0)
    low, high = ax.get_ylim()
    for (name, value), place in zip(ends.items(), _apart(list(ends.values()), 0.05 * (high - low)), strict=True):
        ax.annotate(name, (at[-1], value), xytext=(1.02, (place - low) / (high - low)), textcoords="axes fraction",
                    color=LOOKS.get(name, (style.GREY,))[0], va="center", fontsize=9)  # fmt: skip
    ax.set_ylim(low, high)
    ax.set(xlabel="atomic evaluations (thousands)", ylabel="mean reward of a generation (%)")
    ax.set_title("What each head's candidates score while it learns")
    return fig


def draw_size(scores: pd.DataFrame, sizes: pd.DataFrame, lines: Mapping[str, float]) -> Figure:
    """Average score over the number of weights, as a multiple of the linear head's; `lines`: name -> score, dotted.

    The paper's diamonds stand over its own counts at d = 1,024, whose multiples are ours within 0.02.

    `scores`: columns head, score, low, high, paper; `sizes`: head, counted, here, to linear, to linear here.
    """
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(8.4, 4.8))
    for _, row in scores.merge(sizes, on="head").iterrows():
        colour, marker = LOOKS[row["head"]]
        x = row["to linear here"]
        ax.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=2.6, alpha=0.6)
        ax.plot(x, row["score"], marker, color=colour, markersize=8)
        if not np.isnan(row["paper"]):
            style.mark_paper(ax, row["paper"], at=row["to linear"], label=None)
        end, ha, va, shift = PLACES.get(row["head"], ("high", "left", "top", 6))
        ax.annotate(f"{row['head']}\n{row['here']:,} weights", (x, row[end]), xytext=(shift, -3 if va == "top" else 0),
                    textcoords="offset points", ha=ha, va=va, fontsize=9, color=colour)  # fmt: skip
    for name, value in lines.items():
        ax.axhline(value, color=style.GREY, linestyle=":", linewidth=1.4)
        ax.annotate(name, (1.0, value), xycoords=("axes fraction", "data"), xytext=(-4, 2), va="bottom", ha="right",
                    textcoords="offset points", fontsize=8.5, color="#555555")  # fmt: skip
    ax.set_xscale("log")
    ticks = [0.1, 0.2, 0.5, 1, 2]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_xlim(0.075, 5.5)
    ax.set(xlabel="weights, as a multiple of the linear head's (log axis)", ylabel=f"score (%; {INTERVAL})")
    ax.set_title("Score against parameter count")
    return fig


def draw_gaps(gaps: pd.DataFrame) -> Figure:
    """Points against the linear head, a panel a part, a row a head; columns head, part, gap, low, high, paper."""
    import matplotlib.pyplot as plt

    parts, names = list(dict.fromkeys(gaps["part"])), list(dict.fromkeys(gaps["head"]))
    fig, axes = plt.subplots(1, len(parts), figsize=(12, 0.42 * len(names) + 1.4), sharey=True, sharex=True)
    for ax, part in zip(axes, parts, strict=True):
        rows = gaps[gaps["part"] == part].set_index("head")
        _forest(ax, rows.loc[names], "gap")
        ax.set_title(part)
    fig.supxlabel(f"points above the linear head ({INTERVAL})", fontsize=10)
    return fig


def draw_choices(shares: Mapping[str, np.ndarray], agents: Sequence[str]) -> Figure:
    """Who acts: a group of bars a head, one bar a seed, stacked by agent; arrays (seeds, L) of shares."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(10.5, 4.4))
    place, ticks = 0.0, []
    for found in shares.values():
        at = place + np.arange(len(found))
        below = np.zeros(len(found))
        for agent, share in zip(agents, 100 * found.T, strict=True):
            ax.bar(at, share, bottom=below, width=0.86, color=style.AGENT_COLOURS.get(agent, style.GREY),
                   edgecolor="white", linewidth=0.5, label=agent if place == 0 else None)  # fmt: skip
            below += share
        ticks.append(at.mean())
        place = at[-1] + 2
    ax.set_xticks(ticks, [name.replace(", ", ",\n").replace("block-", "block-\n") for name in shares])
    ax.set(ylabel="share of the turns (%)", ylim=(0, 100))
    ax.set_title("Which agents each head chose (a bar a seed)")
    ax.margins(x=0.01)
    ax.grid(visible=False)
    handles, names = ax.get_legend_handles_labels()
    fig.legend(handles[::-1], names[::-1], loc="outside right center")
    return fig


def draw_modes(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Differences of the same weights played in two ways, a panel each: columns head, gap, low, high (points)."""
    import matplotlib.pyplot as plt

    names = next(iter(panels.values()))["head"].tolist()
    size = (3.0 + 3.4 * len(panels), 0.42 * len(names) + 1.4)
    fig, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for ax, (title, table) in zip(axes[0], panels.items(), strict=True):
        _forest(ax, table.set_index("head"), "gap")
        ax.set_title(title)
    fig.supxlabel("points (bar: 95 % interval)", fontsize=10)
    return fig


def _forest(ax: Axes, rows: pd.DataFrame, column: str) -> None:
    """One row a head: value, interval, the paper's mark where there is one; 0 as a line."""
    for place, (name, row) in enumerate(rows.iterrows()):
        colour, marker = LOOKS[name]
        ax.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=3, alpha=0.6)
        ax.plot(row[column], place, marker, color=colour, markersize=6)
        if row.get("paper", np.nan) == row.get("paper", np.nan):
            style.mark_paper(ax, row["paper"], at=place, axis="x", label=None)
    ax.axvline(0, color=style.BLACK, linewidth=1)
    ax.set_yticks(range(len(rows)), rows.index)
    ax.set_ylim(len(rows) - 0.5, -0.6)
    ax.grid(axis="y", visible=False)


def _smooth(values: np.ndarray, width: int = 5) -> np.ndarray:
    """Running means over the last `width` values."""
    return np.array([values[max(0, end - width) : end].mean() for end in range(1, len(values) + 1)])


def _apart(values: Sequence[float], gap: float) -> list[float]:
    """Places for labels near `values`, at least `gap` apart, order kept."""
    order = np.argsort(values)
    places = np.array(values, float)[order]
    for _ in range(100):
        for low, high in zip(range(len(places) - 1), range(1, len(places)), strict=True):
            lack = gap - (places[high] - places[low])
            if lack > 1e-9:
                places[[low, high]] += (-lack / 2, lack / 2)
    out = np.empty(len(places))
    out[order] = places
    return out.tolist()
