"""How every figure looks: one set of rcParams, one colour per family, agent and method, one mark for the paper's.

Colours are Okabe and Ito's palette, told apart also by colour-blind readers; methods have a marker as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import NullLocator

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, INK = "#7F7F7F", "#222222"
OKABE_ITO = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK)

FAMILY_COLOURS = {"math": BLUE, "knowledge": ORANGE, "reasoning": GREEN, "code": VERMILION}
FAMILY_MARKERS = {"math": "o", "knowledge": "s", "reasoning": "^", "code": "D"}
AGENT_COLOURS = {
    "GPT-5": BLUE,
    "Claude-4-Sonnet": VERMILION,
    "Gemini-2.5-pro": GREEN,
    "DeepSeek-R1-Distill-Qwen-32B": PURPLE,
    "Gemma-3-27B-It": YELLOW,
    "Qwen3-32B (reasoning)": ORANGE,
    "Qwen3-32B (direct)": SKY,
}
ROLE_COLOURS = {"worker": "#3D3D3D", "thinker": "#8C8C8C", "verifier": "#C9C9C9"}  # greys: the colours are the agents'
PART_COLOURS = {  # of a transcript; the frame is what the chat format itself puts there
    "frame": "#E3E3E3",
    "question": "#CFE5F5",
    "worker": "#FBE3B5",
    "thinker": "#CBEADF",
    "verifier": "#F0D6E5",
}
METHOD_COLOURS = {
    "TRINITY": BLACK,
    "sep-CMA-ES": BLUE,
    "random search": ORANGE,
    "REINFORCE": VERMILION,
    "SFT": GREEN,
    "MoA": PURPLE,
    "RouterDC": SKY,
    "Smoothie": YELLOW,
    "MasRouter": GREY,
}


def method_colour(method: str, other: str = GREY) -> str:
    """The colour of a method, also where its name goes on, as "SFT (tuned)"; `other` where it is none of ours."""
    return next((colour for name, colour in METHOD_COLOURS.items() if method.startswith(name)), other)


def use() -> None:
    """Sets the suite's matplotlib rcParams for this process."""
    plt.style.use(Path(__file__).with_name("suite.mplstyle"))


def mark_paper(ax: Axes, value: float, *, at: Any = None, axis: str = "y", label: str | None = "paper") -> Any:
    """Draws the paper's value: a dashed line across `ax`, or with `at` a hollow diamond at that place.

    `axis` is the axis on which `value` is read ("y" or "x"); `at` is the place on the other one. One look in every
    figure, so that a reader learns it once. Pass `label=None` for all but the first mark. Returns the artist.
    """
    if at is not None:
        place = (at, value) if axis == "y" else (value, at)
        return ax.plot(
            *([part] for part in place),
            linestyle="none",
            marker="D",
            markersize=8,
            markeredgewidth=1.6,
            markerfacecolor="none",
            markeredgecolor=BLACK,
            label=label,
            zorder=5,
        )[0]
    draw = ax.axhline if axis == "y" else ax.axvline
    return draw(value, color=BLACK, linestyle=(0, (5, 3)), linewidth=1.3, label=label, zorder=4)


def interval(
    ax: Axes, row: Any, at: float, colour: str, marker: str = "o", size: float = 6, hollow: bool = False
) -> None:
    """A value with its interval (`row`: value, low, high) at height `at`, and the paper's mark where `row` has one."""
    ax.plot([row["low"], row["high"]], [at, at], color=colour, linewidth=3, alpha=0.55, solid_capstyle="butt")
    face = "white" if hollow else colour
    ax.plot(row["value"], at, marker, color=colour, markerfacecolor=face, markersize=size, zorder=4)
    if pd.notna(row.get("paper")):
        mark_paper(ax, row["paper"], at=at, axis="x", label=None)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names at the heights 0, 1, ..., from top to bottom, without lines across."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.6)


def ticks(axis: Axis, places: Sequence[float], form: str = "g") -> None:
    """These ticks and no smaller ones, written out, also on a log axis."""
    axis.set_ticks(places, [format(place, form).replace("-", "−") for place in places])
    axis.set_minor_locator(NullLocator())


def scatter(ax: Axes, plane: np.ndarray, labels: Sequence[str], colours: Mapping[str, str], markers: Mapping) -> None:
    """Points (n, 2) of a map, a colour and a marker a label: where they lie means nothing, so there are no ticks."""
    for name, colour in colours.items():
        own = np.asarray(labels) == name
        if own.any():
            look = {"color": colour, "marker": markers.get(name, "o"), "s": 20, "alpha": 0.75, "linewidths": 0}
            ax.scatter(*plane[own].T, label=name, **look)
    ax.set(xticks=[], yticks=[])


def learning(
    ax: Axes,
    histories: Mapping[str, Sequence[pd.DataFrame]],
    colours: Mapping[str, str],
    window: int = 1,
    band: bool = True,
) -> dict[str, float]:
    """Mean reward of a generation's candidates against evaluations, a line a name, the `band` from the lowest to the
    highest seed; running means of `window` generations. Returns where each line ends."""
    ends = {}
    for name, tables in histories.items():
        count = min(map(len, tables))
        runs = 100 * np.array([table["fitness"].rolling(window, min_periods=1).mean()[:count] for table in tables])
        at, colour = tables[0]["evaluations"][:count] / 1000, colours.get(name, GREY)
        ax.plot(at, runs.mean(axis=0), color=colour, label=name)
        if band:
            ax.fill_between(at, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        ends[name] = runs.mean(axis=0)[-1]
    ax.set(xlabel="atomic evaluations (thousands)", ylabel="mean reward of a generation (%)")
    return ends


def side(row: Any) -> str:
    """The colour of a difference: blue above 0, red below, grey where its interval holds 0."""
    return BLUE if row["low"] > 0 else VERMILION if row["high"] < 0 else GREY


def panels(
    rows: pd.DataFrame,
    look: Callable[[pd.Series], tuple[str, ...]],
    label: str,
    *,
    width: float,
    titles: Mapping[str, str] | None = None,
    origin: float | None = 0.0,
    hollow: Callable[[pd.Series], bool] = lambda row: False,
    sharex: bool = False,
    form: str = "",
) -> Figure:
    """A panel a part (`titles`: part -> title), a row a system with its interval and the paper's mark.

    `rows` of `stats.scores`; `look(row)`: colour, or colour and marker; `label`: what is counted; a line at `origin`;
    `form`: how a number above each mark is written, if any.
    """
    titles = titles or {part: part for part in rows["part"].unique()}
    systems, short = rows["system"].unique().tolist(), len(label) < 25 or len(titles) == 1  # else it stands once, below
    size = (width, 0.42 * len(systems) + 1.4)
    fig, axes = plt.subplots(1, len(titles), figsize=size, sharey=True, sharex=sharex, squeeze=False)
    for ax, (part, title) in zip(axes[0], titles.items(), strict=True):
        if origin is not None:
            ax.axvline(origin, color=GREY, linewidth=1.2)
        for _, row in rows[rows["part"] == part].iterrows():
            interval(ax, row, systems.index(row["system"]), *look(row), hollow=hollow(row))
            if form:
                above = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center", "fontsize": 8}
                ax.annotate(format(row["value"], form), (row["value"], systems.index(row["system"])), **above)
        ax.set_title(title)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(label if short else "")
    name_rows(axes[0, 0], systems)
    if not short:
        fig.supxlabel(label, fontsize=10)
    return fig


def apart(values: Mapping[str, float], gap: float) -> dict[str, float]:
    """Places for labels near `values`, at least `gap` apart, in their order."""
    places = dict(sorted(values.items(), key=lambda item: item[1]))
    for _ in range(100):
        for low, high in pairwise(places):
            if (lack := gap - (places[high] - places[low])) > 1e-9:
                places[low], places[high] = places[low] - lack / 2, places[high] + lack / 2
    return places


def ink_on(colour: str) -> str:
    """Black or white, whichever is read better on `colour`."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.3 * red + 0.6 * green + 0.1 * blue < 0.55 else "black"


def stack(
    ax: Axes,
    table: pd.DataFrame,
    colours: Mapping[str, str],
    *,
    at: Any = None,
    vertical: bool = False,
    least: float = np.inf,
    form: str = ".0f",
) -> None:
    """A bar a row of `table`, at the places `at`, stacked by column; parts of at least `least` say their number."""
    at, base = np.arange(len(table)) if at is None else at, np.zeros(len(table))
    for name in table:
        colour, part = colours.get(name, GREY), table[name].to_numpy(float)
        bars = ax.bar if vertical else ax.barh
        look = {"color": colour, "edgecolor": "white", "linewidth": 0.5, "label": name}
        drawn = bars(at, part, **{"bottom" if vertical else "left": base}, **look)
        said = [format(size, form) if size >= least else "" for size in part]
        ax.bar_label(drawn, said, label_type="center", fontsize=8, color=ink_on(colour))
        base = base + part
    ax.grid(visible=False)


def say(ax: Axes, x: float, y: float, text: str, size: float, **more: Any) -> None:
    """Words at (x, y) of a drawing: ink, centred vertically unless `more` says otherwise."""
    ax.text(x, y, text, **({"fontsize": size, "va": "center", "color": INK} | more))


def box(ax: Axes, x: float, y: float, width: float, height: float, rounding: float = 0.07, **look: Any) -> None:
    """A rectangle with rounded corners, its lower left corner at (x, y)."""
    corners = f"round,pad=0,rounding_size={rounding}"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=corners, **look))
