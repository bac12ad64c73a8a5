"""The last picture of notebook 01: the whole loop on one page, with the notebook's own arrays as thumbnails.

Coordinates are inches from the lower left corner of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from suite.chapters.anatomy_of_a_decision_figures import COLOURS, MAP, READ, state_grid, visible
from suite.results.style import AGENT_COLOURS, BLUE, GREY, INK, PART_COLOURS, box, say

PAGE = (13.0, 6.9)
TOP, TALL = 4.1, 1.75  # the upper row: from the transcript to the probabilities
LOW, SHORT = 0.95, 1.15  # the lower row: from the decision back to the transcript
SVF_LAYER = "#F2A671"


def pipeline_figure(
    tokens: Sequence[str],
    h: np.ndarray,
    weights: np.ndarray,
    agent_p: np.ndarray,
    role_p: np.ndarray,
    agents: Sequence[str],
    roles: Sequence[str],
    chosen: tuple[int, int],
    n_layers: int,
) -> Figure:
    """One turn of the loop: `tokens` of a transcript, its h (d,), W (L+3, d), probabilities (L,) and (3,).

    `chosen` holds the indices of the agent and the role that were decided for; they are vermilion.
    """
    fig, ax = plt.subplots(figsize=PAGE, layout="none")
    ax.set_position((0, 0, 1, 1))
    ax.set_axis_off()
    _upper_row(ax, tokens, h, weights, n_layers)
    _bars(ax, 11.3, TOP + 0.66, 1.25, 1.09, agent_p, agents, chosen[0])
    _bars(ax, 11.3, TOP, 1.25, 0.48, role_p, roles, chosen[1])
    _caption(ax, 11.95, TOP, "two softmaxes", f"{len(agents)} agents, {len(roles)} roles")
    _lower_row(ax, agents, chosen[0], f"{agents[chosen[0]]}\nas {roles[chosen[1]]}")
    ax.set(xlim=(0, PAGE[0]), ylim=(0, PAGE[1]))
    return fig


def _upper_row(ax: Axes, tokens: Sequence[str], h: np.ndarray, weights: np.ndarray, n_layers: int) -> None:
    box(ax, 3.05, 3.5, 9.75, 3.0, fc="#F3F8FC", ec=BLUE, lw=1.5, ls="--", rounding=0.08)
    heading = "coordinator: all that is trained lies in here, fewer than 20,000 numbers"
    _label(ax, 7.92, 6.68, heading, 11.5, color=BLUE, weight="bold")
    _card(ax, 0.25, TOP, 2.3, TALL, "transcript")
    lines = (("question", "question"), ("O₁ … earlier turns", "worker"), ("Oₖ goes here", "thinker"))
    for i, (text, part) in enumerate(lines):
        y = TOP + TALL - 0.53 - 0.54 * i
        box(ax, 0.4, y, 2.0, 0.4, fc=PART_COLOURS[part], ec=GREY if i == 2 else "none", ls="--", rounding=0.08)
        _label(ax, 1.4, y + 0.2, text)
    _card(ax, 3.3, TOP, 1.5, TALL, "tokens")
    shown = tokens[-5:]
    for i, token in enumerate(shown):
        y, read = TOP + TALL - 0.36 - 0.33 * i, i == len(shown) - 2
        fill = PART_COLOURS["frame" if i == len(shown) - 1 else "question"]
        ax.add_patch(Rectangle((3.45, y), 1.2, 0.27, fc=fill, ec=READ if read else "none", lw=2.2, zorder=3))
        _label(ax, 4.05, y + 0.13, visible(token)[:12], 9, family="DejaVu Sans Mono")
    _card(ax, 5.3, TOP, 1.5, TALL, f"SLM, {n_layers} layers")
    for i in range(7):
        colour = SVF_LAYER if i == 5 else "#DDDDDD"
        ax.add_patch(Rectangle((5.45, TOP + 0.1 + 0.225 * i), 1.2, 0.17, fc=colour, ec="none", zorder=3))
    _label(ax, 6.05, TOP - 0.3, "frozen; SVF rescales\nsingular values", 9)
    _picture(ax, 7.3, TOP + 0.3, 1.5, 1.15, state_grid(h))
    _caption(ax, 8.05, TOP, "hidden state h", f"{len(h)} numbers,\nread at token −2")
    _picture(ax, 9.3, TOP + 0.1, 1.5, 1.55, weights)
    _caption(ax, 10.05, TOP, "head W", f"z = W h\n{len(weights)} × {len(h)} weights")
    for start, stop in ((2.55, 3.3), (4.8, 5.3), (6.8, 7.3), (8.8, 9.3), (10.8, 11.3)):
        _arrow(ax, (start, TOP + TALL / 2), (stop, TOP + TALL / 2))


def _lower_row(ax: Axes, agents: Sequence[str], chosen: int, decision: str) -> None:
    middle = LOW + SHORT / 2
    _arrow(ax, (11.95, 3.45), (11.95, LOW + SHORT + 0.35))
    _label(ax, 11.82, 2.95, "drawn, or the largest", ha="right")
    _card(ax, 10.2, LOW, 2.55, SHORT, "decision")
    _label(ax, 11.47, middle, decision, 11.5, color=READ, weight="bold")
    _card(ax, 7.35, LOW, 2.25, SHORT, "role prompt")
    _label(ax, 8.47, middle, "the role's instructions\nand the transcript")
    _card(ax, 3.6, LOW - 0.4, 3.1, 1.95, "agents: frozen LLMs")
    for i, name in enumerate(agents):
        y = LOW + 1.55 - 1.95 * (i + 1) / (len(agents) + 1)
        ax.add_patch(Rectangle((3.78, y - 0.08), 0.16, 0.16, fc=AGENT_COLOURS[name], ec=INK, lw=0.4))
        emphasis = {"color": READ, "weight": "bold"} if i == chosen else {}
        _label(ax, 4.06, y, name, ha="left", **emphasis)
    _card(ax, 0.25, LOW, 2.6, SHORT, "message, kept as Oₖ")
    _label(ax, 1.55, middle, "progress, a plan,\nor a verdict")
    for start, stop in ((10.2, 9.6), (7.35, 6.7), (3.6, 2.85)):
        _arrow(ax, (start, middle), (stop, middle))
    _arrow(ax, (1.4, LOW + SHORT + 0.35), (1.4, TOP))
    _label(ax, 1.53, 2.95, "appended: turn k + 1", ha="left")
    end = "ends when a Verifier says ACCEPT, or after K = 5 turns; the answer is the latest Worker's"
    _label(ax, PAGE[0] / 2, 0.18, end, 11, style="italic")


def _label(ax: Axes, x: float, y: float, text: str, size: float = 10, **more: Any) -> None:
    say(ax, x, y, text, size, **({"ha": "center", "zorder": 4} | more))


def _caption(ax: Axes, x: float, bottom: float, title: str, note: str) -> None:
    _label(ax, x, bottom + TALL + 0.1, title, 11, va="bottom", weight="bold")
    _label(ax, x, bottom - 0.14, note, 9, va="top")


def _card(ax: Axes, x: float, y: float, width: float, height: float, title: str) -> None:
    box(ax, x, y, width, height, fc="white", ec=INK, lw=1.3, rounding=0.08)
    _label(ax, x + width / 2, y + height + 0.1, title, 11, va="bottom", weight="bold")


def _arrow(ax: Axes, start: tuple[float, float], stop: tuple[float, float]) -> None:
    look = {"shrinkA": 2, "shrinkB": 2, "arrowstyle": "-|>", "mutation_scale": 16, "lw": 1.8, "color": INK}
    ax.add_patch(FancyArrowPatch(start, stop, **look))


def _picture(ax: Axes, x: float, y: float, width: float, height: float, values: np.ndarray) -> None:
    limit = float(np.nanpercentile(np.abs(values), 98)) or 1.0
    look = {"cmap": MAP, "vmin": -limit, "vmax": limit, "aspect": "auto", "interpolation": "nearest", "zorder": 3}
    ax.imshow(values, extent=(x, x + width, y, y + height), **look)


def _bars(
    ax: Axes, x: float, y: float, width: float, height: float, values: np.ndarray, names: Sequence[str], chosen: int
) -> None:
    step = height / len(values)
    for i, (value, name) in enumerate(zip(values, names, strict=True)):
        edge, line = (READ, 2.2) if i == chosen else (INK, 0.4)
        place, look = (x, y + height - (i + 0.9) * step), {"fc": COLOURS[name], "ec": edge, "lw": line, "zorder": 3}
        ax.add_patch(Rectangle(place, max(0.01, width * value), 0.8 * step, **look))
