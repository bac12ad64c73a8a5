"""The pictures of notebook 03: coordinated conversations, turn by turn.

A conversation is drawn as lanes, one a role, and columns, one a turn: the card of a turn stands in the lane of its role
and wears its agent's colour. Everything drawn is in the rollout; right or wrong is handed in, since no agent knows it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from suite.results.style import AGENT_COLOURS, GREEN, GREY, INK, OKABE_ITO, PART_COLOURS, VERMILION
from trinity_core.roles import Transcript
from trinity_core.types import ROLES, Role, Rollout, Turn

LANES: tuple[Role, ...] = ("thinker", "worker", "verifier")  # from top to bottom: the usual order of a conversation
DUTIES = {"thinker": "plans", "worker": "answers", "verifier": "checks"}
SHORT = {"DeepSeek-R1-Distill-Qwen-32B": "DeepSeek-R1-Distill"}  # what fits on a card
LEFT, COLUMN, LANE, CARD, BAR, LINE = 1.1, 2.16, 1.66, 1.24, 0.13, 0.168  # inches: the drawing's units
CARD_LINES, CARD_CHARACTERS = 5, 24
ENDINGS = {  # of a rollout: colour and hatch
    "accepted, right": (GREEN, ""),
    "turn limit, right": ("#8FD3BF", "////"),
    "turn limit, wrong": ("#F0B58A", "////"),
    "accepted, wrong": (VERMILION, ""),
    "Verifier before answer": ("#C9C9C9", "...."),
}


def agent_colours(names: Sequence[str]) -> dict[str, str]:
    """The suite's colour of each agent; agents that are not the paper's take the palette in order."""
    return {name: AGENT_COLOURS.get(name, OKABE_ITO[n % len(OKABE_ITO)]) for n, name in enumerate(names)}


def on(colour: str) -> str:
    """Ink or white, whichever reads better on `colour`."""
    return INK if float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) > 0.5 else "white"


def card_lines(text: str, width: int, most: int) -> list[str]:
    """`text` wrapped to `width` characters without empty lines; what is over `most` lines ends in an ellipsis."""
    lines = [part for line in text.splitlines() if line.strip() for part in textwrap.wrap(line.strip(), width)]
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: width - 2].rstrip(" .") + " …"]


def box(ax: Axes, x: float, y: float, width: float, height: float, **style: object) -> None:
    """A rectangle with rounded corners, its lower left corner at (x, y)."""
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.07", **style))


def tag(ax: Axes, x: float, y: float, width: float, text: str, colour: str, hollow: bool = False) -> None:
    """Bold words in a box, filled or hollow, whose left end is at (x, y): a verdict, a reward."""
    box(ax, x, y - 0.12, width, 0.24, fc="white" if hollow else colour, ec=colour, lw=1.5, zorder=6)
    ax.text(x + width / 2, y - 0.007, text, fontsize=10, weight="bold", ha="center", va="center",
            color=colour if hollow else "white", zorder=7)


def timeline_figure(
    rollout: Rollout, names: Sequence[str], columns: int, right: Mapping[int, bool], title: str
) -> Figure:
    """One conversation. `columns`: turns that there is room for (K). `right`: by turn, whether its answer is right."""
    colours = agent_colours(names)
    width, height = LEFT + COLUMN * columns, 3 * LANE + 0.62
    fig, ax = plt.subplots(figsize=(width, height + 1.3))
    for role in LANES:
        y = lane_base(role)
        ax.add_patch(Rectangle((LEFT - 0.06, y + 0.04), width - LEFT + 0.06, LANE - 0.08, fc="#F6F6F6", ec="none"))
        ax.text(0, y + LANE / 2 + 0.1, role.capitalize(), fontsize=13, weight="bold", va="center", color=INK)
        ax.text(0, y + LANE / 2 - 0.15, DUTIES[role], fontsize=10.5, va="center", color=GREY)
        ax.text(0, y + 0.11 + BAR / 2, "role's chance", fontsize=9, va="center", color=GREY)
    ax.text(0, 3 * LANE + 0.28, "agents'\nchances", fontsize=9, va="center", color=GREY)
    for before, turn in zip(rollout.turns, rollout.turns[1:], strict=False):
        draw_arrow(ax, before, turn)
    for turn in rollout.turns:
        draw_chances(ax, turn, names, colours)
        draw_card(ax, turn, names, colours, right.get(turn.index))
    draw_heading(ax, rollout, title, width, height)
    handles = [Rectangle((0, 0), 1, 1, fc=colours[name], ec="none") for name in names]
    ax.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=10,
              ncols=max(1, round(width / 2.9)), handlelength=1.1)
    ax.set(xlim=(0, width), ylim=(0, height + 0.75))
    ax.set_axis_off()
    return fig


def lane_base(role: Role) -> float:
    """The lower edge of a role's lane."""
    return (len(LANES) - 1 - LANES.index(role)) * LANE


def column_base(turn: Turn) -> float:
    """The left edge of a turn's column."""
    return LEFT + (turn.index - 1) * COLUMN


def draw_heading(ax: Axes, rollout: Rollout, title: str, width: float, height: float) -> None:
    """Title and question at the left, how the conversation ended at the right."""
    ax.text(0, height + 0.56, title, fontsize=14, weight="bold", va="center", color=INK)
    question = "\n".join(card_lines(f"“{' '.join(rollout.question.text.split())}”", int(10.5 * width), 2))
    ax.text(0, height + 0.24, question, fontsize=10.5, va="center", color=INK, style="italic")
    reward = "no reward" if rollout.reward is None else f"reward {rollout.reward:g}"
    fill = GREY if rollout.reward is None else GREEN if rollout.reward else VERMILION
    ax.text(width - 1.2, height + 0.55, f"{rollout.stop}:", fontsize=11, va="center", ha="right", color=INK)
    tag(ax, width - 1.1, height + 0.56, 1.0, reward, fill)


def draw_chances(ax: Axes, turn: Turn, names: Sequence[str], colours: Mapping[str, str]) -> None:
    """Above the column the agents' chances as one strip; in each lane the role's chance as a bar."""
    x, y, room = column_base(turn) + 0.06, 3 * LANE + 0.13, COLUMN - 0.2
    ax.text(x, y + 0.3, f"turn {turn.index}", fontsize=11, weight="bold", va="center", color=INK)
    chosen = turn.agent_probabilities[turn.agent]
    ax.text(x + room, y + 0.3, f"chosen: {chosen:.2f}", fontsize=9, va="center", ha="right", color=INK)
    start = 0.0
    for place, (name, p) in enumerate(zip(names, turn.agent_probabilities, strict=True)):
        mine = place == turn.agent
        ax.add_patch(Rectangle((x + start * room, y), p * room, 0.17, fc=colours[name], ec=INK if mine else "white",
                               lw=1.4 if mine else 0.4, alpha=1 if mine else 0.5, zorder=4 if mine else 3))
        start += p
    for role, p in zip(ROLES, turn.role_probabilities, strict=True):
        base, mine = lane_base(role) + 0.11, role == turn.role
        ax.add_patch(Rectangle((x, base), room - 0.36, BAR, fc="white", ec="#C4C4C4", lw=0.7))
        ax.add_patch(Rectangle((x, base), p * (room - 0.36), BAR, fc="#4D4D4D" if mine else "#ABABAB", ec="none"))
        ax.text(x + room, base + BAR / 2, f"{p:.2f}", fontsize=9, va="center", ha="right", color=INK if mine else GREY,
                weight="bold" if mine else "normal")


def draw_card(ax: Axes, turn: Turn, names: Sequence[str], colours: Mapping[str, str], right: bool | None) -> None:
    """Who spoke, what was kept of it, and the verdict."""
    x, y, room = column_base(turn) + 0.06, lane_base(turn.role) + 0.31, COLUMN - 0.2
    colour = colours[names[turn.agent]]
    box(ax, x, y, room, CARD, fc="white", ec=colour, lw=1.8, zorder=5)
    box(ax, x, y + CARD - 0.26, room, 0.26, fc=colour, ec=colour, lw=1.8, zorder=6)
    name = SHORT.get(names[turn.agent], names[turn.agent])
    ax.text(x + 0.08, y + CARD - 0.137, name, fontsize=9.5, weight="bold", va="center", color=on(colour), zorder=7)
    cut = turn.message.finish == "length"
    if cut:
        height = CARD - 0.44 if turn.verdict else 0.16
        ax.text(x + room - 0.08, y + height, "✂ cut", fontsize=9.5, ha="right", va="center", color=GREY, zorder=7,
                weight="bold")
    text, top, most = turn.output, y + CARD - 0.34, CARD_LINES - (cut or right is not None)
    if turn.verdict:
        accept = turn.verdict == "ACCEPT"
        tag(ax, x + 0.08, top - 0.1, 1.02, f"{'✓' if accept else '↻'} {turn.verdict}", INK, hollow=not accept)
        text, top, most = text.removeprefix(turn.verdict).strip(), top - 0.3, CARD_LINES - 2
    elif not text:
        text = (turn.message.error or "(an empty message)") if turn.prompt else "(not asked: no answer yet)"
    for number, line in enumerate(card_lines(text, CARD_CHARACTERS, most)):
        answer = turn.role == "worker" and line.startswith("Answer:")
        ax.text(x + 0.08, top - LINE * number, line, fontsize=10.5 if answer else 9.3, va="top", color=INK, zorder=7,
                weight="bold" if answer else "normal")
    if right is not None:
        ax.text(x + room - 0.08, y + 0.07, "✓ right" if right else "✗ wrong", fontsize=9.5, weight="bold", ha="right",
                va="bottom", color=GREEN if right else VERMILION, zorder=7)


def draw_arrow(ax: Axes, before: Turn, after: Turn) -> None:
    """From one turn's card to the next; dashed and labelled where a Thinker named the next role."""
    x0, x1 = column_base(before) + COLUMN - 0.14, column_base(after) + 0.06
    y0, y1 = (lane_base(turn.role) + 0.31 + CARD / 2 for turn in (before, after))
    if before.role != after.role:  # from the card's side down or up to the next card's upper or lower edge
        x1, y1 = column_base(after) + 0.5, y1 + (CARD / 2 if y0 > y1 else -CARD / 2)
    bend = "arc3" if before.role == after.role else "angle,angleA=0,angleB=90,rad=6"
    ax.add_patch(FancyArrowPatch((x0, y0), (x1, y1), arrowstyle="-|>", mutation_scale=15, lw=1.8, color=INK, zorder=8,
                                 shrinkA=0, shrinkB=0, linestyle=(0, (4, 2)) if after.overridden else "-",
                                 connectionstyle=bend))
    if after.overridden:
        label = f"NEXT: {after.role.upper()}"
        ax.text(x1 + 0.1, y0, label, fontsize=9, weight="bold", va="center", color=INK, zorder=8)


def views_figure(
    rollout: Rollout, panels: Sequence[tuple[str, Sequence[Transcript], np.ndarray]], width: int = 46
) -> Figure:
    """What the coordinator sees under several transcript rules, side by side, a row a turn.

    A panel is (title, the transcript read at each turn, the roles' chances (turns, 3) in the order of `ROLES`). The row
    of a turn holds the line that is new to the reader there; a line that the rule keeps out is drawn empty.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(12, 0.9 * len(rollout.turns) + 1.1))
    for ax, (title, transcripts, chances) in zip(np.atleast_1d(axes), panels, strict=True):
        seen = 0
        for row, (turn, transcript, p) in enumerate(zip(rollout.turns, transcripts, chances, strict=True)):
            lines = transcript.messages()
            spoke = rollout.turns[row - 1].role if row else "question"
            if len(lines) > seen:
                draw_line(ax, row, f"{lines[-1]['role']}: {lines[-1]['content']}", PART_COLOURS[spoke], width)
            else:
                what = {"thinker": "the plan went to one call only", "verifier": "the verdict is shown to nobody"}
                draw_line(ax, row, what.get(spoke, "nothing new"), None, width)
            seen = len(lines)
            draw_roles(ax, row, p)
            ax.text(-0.12, row, str(turn.index), fontsize=12, weight="bold", ha="right", va="center", color=INK)
        ax.set_title(title, fontsize=12)
        ax.set(xlim=(-0.4, 6.5), ylim=(len(rollout.turns) - 0.45, -0.75))
        ax.text(-0.12, -0.6, "turn", fontsize=9.5, color=GREY, va="center", ha="right")
        ax.text(0, -0.6, "new in the transcript", fontsize=9.5, color=GREY, va="center")
        ax.text(4.95, -0.6, "chance of the role", fontsize=9.5, color=GREY, va="center")
        ax.set_axis_off()
    return fig


def draw_line(ax: Axes, row: int, text: str, colour: str | None, width: int) -> None:
    """One line of a transcript in its part's colour; without a colour an outline with words in grey."""
    style = {"fc": colour, "ec": "none"} if colour else {"fc": "none", "ec": "#BBBBBB", "ls": (0, (4, 3))}
    box(ax, 0, row - 0.4, 4.05, 0.8, **style)
    ax.text(0.1, row, "\n".join(card_lines(text, width, 4)), fontsize=9, va="center", linespacing=1.25,
            color=INK if colour else GREY, style="normal" if colour else "italic")


def draw_roles(ax: Axes, row: int, chances: np.ndarray) -> None:
    """Three bars: the roles' chances after reading up to this row."""
    for place, role in enumerate(LANES):
        p = float(chances[ROLES.index(role)])
        top = p == chances.max()
        y = row - 0.27 + 0.27 * place
        ax.barh(y, 1.1 * p, left=4.95, height=0.22, color="#4D4D4D" if top else "#C4C4C4")
        ax.text(4.88, y, role.capitalize(), fontsize=8.5, ha="right", va="center", color=INK if top else GREY)
        ax.text(5.0 + 1.1 * p, y, f"{p:.2f}", fontsize=8.5, va="center", color=INK if top else GREY)


def endings_figure(counts: pd.DataFrame, title: str) -> Figure:
    """How rollouts ended, one bar a family: `counts` has a row a family and the columns of `ENDINGS` that occur."""
    fig, ax = plt.subplots(figsize=(11, 0.55 * len(counts) + 1.5))
    left = np.zeros(len(counts))
    total = counts.sum(axis=1).max()
    for ending, (colour, hatch) in ENDINGS.items():
        if ending not in counts:
            continue
        values = counts[ending].to_numpy()
        ax.barh(range(len(counts)), values, left=left, color=colour, hatch=hatch, edgecolor="white", label=ending)
        for row, value in enumerate(values):
            if value:
                ax.text(left[row] + value / 2, row, str(value), ha="center", va="center", fontsize=10.5, weight="bold",
                        color=INK, bbox={"fc": "white", "ec": "none", "boxstyle": "round,pad=0.18"})
        left += values
    ax.set_yticks(range(len(counts)), counts.index, fontsize=11)
    ax.set(ylim=(len(counts) - 0.45, -0.55), xlim=(0, total), xlabel="rollouts")
    ax.grid(False)
    ax.set_title(title)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=len(ENDINGS), fontsize=10)
    return fig
