"""The last picture of notebook 01: the whole loop on one page, with the notebook's own arrays as thumbnails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from suite.chapters.anatomy_of_a_decision_figures import COLOURS, MAP, READ, state_grid, visible
from suite.results.style import BLUE, GREY, INK, PART_COLOURS, box, say

PAGE, TOP = (13.0, 6.9), 4.1  # inches; TOP: the lower edge of the upper row
FIXED = Path(__file__).with_suffix(".yaml")


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
    """One turn of the loop: `tokens` of a transcript, its h (d,), W (L+3, d), probabilities (L,) and (3,); the indices
    `chosen` of agent and role are vermilion."""
    fig, ax = plt.subplots(figsize=PAGE, layout="none")
    ax.set_position((0, 0, 1, 1))
    ax.set_axis_off()
    box(ax, 3.05, 3.5, 9.75, 3.0, fc="#F3F8FC", ec=BLUE, lw=1.5, ls="--", rounding=0.08)
    counts = {"layers": n_layers, "d": len(h), "rows": len(weights), "agents": len(agents), "roles": len(roles)}
    _draw_fixed(ax, counts | {"agent": agents[chosen[0]], "role": roles[chosen[1]]})
    for i, part in enumerate(("question", "worker", "thinker")):
        look = {"fc": PART_COLOURS[part], "ec": GREY if i == 2 else "none", "ls": "--"}
        box(ax, 0.4, TOP + 1.22 - 0.54 * i, 2.0, 0.4, rounding=0.08, **look)
    shown = tokens[-5:]
    for i, token in enumerate(shown):
        y, from_end = TOP + 1.39 - 0.33 * i, len(shown) - i
        fill, edge = PART_COLOURS["frame" if from_end == 1 else "question"], READ if from_end == 2 else "none"
        ax.add_patch(Rectangle((3.45, y), 1.2, 0.27, fc=fill, ec=edge, lw=2.2, zorder=3))
        say(ax, 4.05, y + 0.13, visible(token)[:12], 9, family="DejaVu Sans Mono", ha="center", zorder=4)
    for i in range(7):
        fill = "#F2A671" if i == 5 else "#DDDDDD"  # SVF adapts one layer
        ax.add_patch(Rectangle((5.45, TOP + 0.1 + 0.225 * i), 1.2, 0.17, fc=fill, ec="none", zorder=3))
    for values, extent in ((state_grid(h), (7.3, 8.8, 4.4, 5.55)), (weights, (9.3, 10.8, 4.2, 5.75))):
        limit = float(np.nanpercentile(np.abs(values), 98)) or 1.0
        look = {"cmap": MAP, "vmin": -limit, "vmax": limit, "aspect": "auto", "interpolation": "nearest", "zorder": 3}
        ax.imshow(values, extent=extent, **look)
    for top, height, values, names, mine in (
        (5.85, 1.09, agent_p, agents, chosen[0]),
        (4.58, 0.48, role_p, roles, chosen[1]),
    ):
        step = height / len(values)
        for i, (value, name) in enumerate(zip(values, names, strict=True)):
            look = {"ec": READ, "lw": 2.2} if i == mine else {"ec": INK, "lw": 0.4}
            place = (11.3, top - (i + 0.9) * step)
            ax.add_patch(Rectangle(place, max(0.01, 1.25 * value), 0.8 * step, fc=COLOURS[name], zorder=3, **look))
    for i, name in enumerate(agents):
        y = 2.5 - 1.95 * (i + 1) / (len(agents) + 1)
        ax.add_patch(Rectangle((3.78, y - 0.08), 0.16, 0.16, fc=COLOURS[name], ec=INK, lw=0.4))
        emphasis = {"color": READ, "weight": "bold"} if i == chosen[0] else {}
        say(ax, 4.06, y, name, 10, zorder=4, **emphasis)
    ax.set(xlim=(0, PAGE[0]), ylim=(0, PAGE[1]))
    return fig


def _draw_fixed(ax: Axes, filled: dict[str, Any]) -> None:
    """Cards, labels and arrows of `anatomy_of_a_decision_pipeline.yaml`."""
    fixed = yaml.safe_load(FIXED.read_text(encoding="utf-8"))
    for x, y, width, height, title in fixed["cards"]:
        box(ax, x, y, width, height, fc="white", ec=INK, lw=1.3, rounding=0.08)
        look = {"ha": "center", "va": "bottom", "weight": "bold", "zorder": 4}
        say(ax, x + width / 2, y + height + 0.1, title.format(**filled), 11, **look)
    for x, y, text, size, look in fixed["labels"]:
        say(ax, x, y, text.format(**filled), size, **({"ha": "center", "zorder": 4} | look))
    look = {"shrinkA": 2, "shrinkB": 2, "arrowstyle": "-|>", "mutation_scale": 16, "lw": 1.8, "color": INK}
    for start, stop in fixed["arrows"]:
        ax.add_patch(FancyArrowPatch(start, stop, **look))
