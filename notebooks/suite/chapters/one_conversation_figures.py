"""The pictures of notebook 03: conversations as lanes, one a role, and columns, one a turn. The card of a turn stands
in the lane of its role and wears its agent's colour; right or wrong is handed in, since no agent knows it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from suite.results.style import AGENT_COLOURS, GREEN, GREY, INK, OKABE_ITO, PART_COLOURS, VERMILION, box, say
from trinity_core.roles import Transcript
from trinity_core.types import ROLES, Role, Rollout, Turn

LANES: tuple[Role, ...] = ("thinker", "worker", "verifier")  # from top to bottom: the usual order of a conversation
DUTIES = {"thinker": "plans", "worker": "answers", "verifier": "checks"}
SHORT = {"DeepSeek-R1-Distill-Qwen-32B": "DeepSeek-R1-Distill"}  # what fits on a card
LEFT, COLUMN, LANE, CARD, BAR, LINE = 1.1, 2.16, 1.66, 1.24, 0.13, 0.168  # inches: the drawing's units
ROOM = COLUMN - 0.2  # the width of a card
CARD_LINES, CARD_CHARACTERS = 5, 24
ENDINGS = {  # of a rollout: colour and hatch
    "accepted, right": (GREEN, ""),
    "turn limit, right": ("#8FD3BF", "////"),
    "turn limit, wrong": ("#F0B58A", "////"),
    "accepted, wrong": (VERMILION, ""),
    "Verifier before answer": ("#C9C9C9", "...."),
}
KEPT_OUT = {"thinker": "the plan went to one call only", "verifier": "the verdict is shown to nobody"}


def timeline_figure(
    rollout: Rollout, names: Sequence[str], columns: int, right: Mapping[int, bool], title: str
) -> Figure:
    """One conversation. `columns`: turns that there is room for (K). `right`: by turn, whether its answer is right."""
    # Agents that are not the paper's take the palette in order.
    colours = [AGENT_COLOURS.get(name, OKABE_ITO[n % len(OKABE_ITO)]) for n, name in enumerate(names)]
    width, height = LEFT + COLUMN * columns, 3 * LANE + 0.62
    fig, ax = plt.subplots(figsize=(width, height + 1.3))
    for role in LANES:
        y = _lane(role)
        ax.add_patch(Rectangle((LEFT - 0.06, y + 0.04), width - LEFT + 0.06, LANE - 0.08, fc="#F6F6F6", ec="none"))
        say(ax, 0, y + LANE / 2 + 0.1, role.capitalize(), 13, weight="bold")
        say(ax, 0, y + LANE / 2 - 0.15, DUTIES[role], 10.5, color=GREY)
        say(ax, 0, y + 0.11 + BAR / 2, "role's chance", 9, color=GREY)
    say(ax, 0, 3 * LANE + 0.28, "agents'\nchances", 9, color=GREY)
    for before, turn in zip(rollout.turns, rollout.turns[1:], strict=False):
        _draw_arrow(ax, before, turn)
    for turn in rollout.turns:
        _draw_chances(ax, turn, colours)
        _draw_card(ax, turn, names[turn.agent], colours[turn.agent], right.get(turn.index))
    _draw_heading(ax, rollout, title, width, height)
    handles = [Rectangle((0, 0), 1, 1, fc=colour, ec="none") for colour in colours]
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": max(1, round(width / 2.9))}
    ax.legend(handles, names, fontsize=10, handlelength=1.1, **below)
    ax.set(xlim=(0, width), ylim=(0, height + 0.75))
    ax.set_axis_off()
    return fig


def views_figure(
    rollout: Rollout, panels: Sequence[tuple[str, Sequence[Transcript], np.ndarray]], width: int = 46
) -> Figure:
    """What the coordinator sees under several transcript rules, a row a turn: the line that is new to it, empty where
    the rule keeps it out. A panel: (title, the transcript read at each turn, the roles' chances (turns, 3))."""
    fig, axes = plt.subplots(1, len(panels), figsize=(12, 0.9 * len(rollout.turns) + 1.1))
    for ax, (title, transcripts, chances) in zip(np.atleast_1d(axes), panels, strict=True):
        seen = 0
        for row, (turn, transcript, p) in enumerate(zip(rollout.turns, transcripts, chances, strict=True)):
            lines = transcript.messages()
            spoke = rollout.turns[row - 1].role if row else "question"
            new = f"{lines[-1]['role']}: {lines[-1]['content']}" if len(lines) > seen else None
            words = "\n".join(card_lines(new or KEPT_OUT.get(spoke, "nothing new"), width, 4))
            empty = {"fc": "none", "ec": "#BBBBBB", "ls": (0, (4, 3))}
            box(ax, 0, row - 0.4, 4.05, 0.8, **({"fc": PART_COLOURS[spoke], "ec": "none"} if new else empty))
            look = {} if new else {"color": GREY, "style": "italic"}
            say(ax, 0.1, row, words, 9, linespacing=1.25, **look)
            seen = len(lines)
            for place, role in enumerate(LANES):  # three bars: the roles' chances after reading up to this row
                chance, y = float(p[ROLES.index(role)]), row - 0.27 + 0.27 * place
                bar, ink = ("#4D4D4D", INK) if chance == p.max() else ("#C4C4C4", GREY)
                ax.barh(y, 1.1 * chance, left=4.95, height=0.22, color=bar)
                say(ax, 4.88, y, role.capitalize(), 8.5, ha="right", color=ink)
                say(ax, 5.0 + 1.1 * chance, y, f"{chance:.2f}", 8.5, color=ink)
            say(ax, -0.12, row, str(turn.index), 12, weight="bold", ha="right")
        ax.set_title(title, fontsize=12)
        ax.set(xlim=(-0.4, 6.5), ylim=(len(rollout.turns) - 0.45, -0.75))
        heads = ((-0.12, "turn", "right"), (0, "new in the transcript", "left"), (4.95, "chance of the role", "left"))
        for x, head, side in heads:
            say(ax, x, -0.6, head, 9.5, color=GREY, ha=side)
        ax.set_axis_off()
    return fig


def endings_figure(counts: pd.DataFrame, title: str) -> Figure:
    """How rollouts ended, one bar a family: `counts` has a row a family and the columns of `ENDINGS` that occur."""
    fig, ax = plt.subplots(figsize=(11, 0.55 * len(counts) + 1.5))
    left = np.zeros(len(counts))
    plate = {"fc": "white", "ec": "none", "boxstyle": "round,pad=0.18"}
    for ending, (colour, hatch) in ENDINGS.items():
        if ending not in counts:
            continue
        values = counts[ending].to_numpy()
        ax.barh(range(len(counts)), values, left=left, color=colour, hatch=hatch, edgecolor="white", label=ending)
        for row in np.flatnonzero(values):
            place = left[row] + values[row] / 2, row
            say(ax, *place, str(values[row]), 10.5, ha="center", weight="bold", bbox=plate)
        left += values
    ax.set_yticks(range(len(counts)), counts.index, fontsize=11)
    ax.set(ylim=(len(counts) - 0.45, -0.55), xlim=(0, counts.sum(axis=1).max()), xlabel="rollouts", title=title)
    ax.grid(False)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=len(ENDINGS), fontsize=10)
    return fig


def card_lines(text: str, width: int, most: int) -> list[str]:
    """`text` wrapped to `width` characters without empty lines; what is over `most` lines ends in an ellipsis."""
    lines = [part for line in text.splitlines() if line.strip() for part in textwrap.wrap(line.strip(), width)]
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: width - 2].rstrip(" .") + " …"]


def _lane(role: Role) -> float:
    """The lower edge of a role's lane."""
    return (len(LANES) - 1 - LANES.index(role)) * LANE


def _column(turn: Turn) -> float:
    """The left edge of a turn's card."""
    return LEFT + (turn.index - 1) * COLUMN + 0.06


def _tag(ax: Axes, x: float, y: float, width: float, text: str, colour: str, hollow: bool = False) -> None:
    """Bold words in a box, filled or hollow, whose left end is at (x, y): a verdict, a reward."""
    box(ax, x, y - 0.12, width, 0.24, fc="white" if hollow else colour, ec=colour, lw=1.5, zorder=6)
    ink = colour if hollow else "white"
    say(ax, x + width / 2, y - 0.007, text, 10, weight="bold", ha="center", color=ink, zorder=7)


def _draw_heading(ax: Axes, rollout: Rollout, title: str, width: float, height: float) -> None:
    """Title and question at the left, how the conversation ended at the right."""
    say(ax, 0, height + 0.56, title, 14, weight="bold")
    question = card_lines(f"“{' '.join(rollout.question.text.split())}”", int(10.5 * width), 2)
    say(ax, 0, height + 0.24, "\n".join(question), 10.5, style="italic")
    reward = "no reward" if rollout.reward is None else f"reward {rollout.reward:g}"
    fill = GREY if rollout.reward is None else GREEN if rollout.reward else VERMILION
    say(ax, width - 1.2, height + 0.55, f"{rollout.stop}:", 11, ha="right")
    _tag(ax, width - 1.1, height + 0.56, 1.0, reward, fill)


def _draw_chances(ax: Axes, turn: Turn, colours: Sequence[str]) -> None:
    """Above the column the agents' chances as one strip; in each lane the role's chance as a bar."""
    x, y = _column(turn), 3 * LANE + 0.13
    say(ax, x, y + 0.3, f"turn {turn.index}", 11, weight="bold")
    say(ax, x + ROOM, y + 0.3, f"chosen: {turn.agent_probabilities[turn.agent]:.2f}", 9, ha="right")
    start = 0.0
    for agent, (colour, p) in enumerate(zip(colours, turn.agent_probabilities, strict=True)):
        look = {"ec": "white", "lw": 0.4, "alpha": 0.5, "zorder": 3}
        if agent == turn.agent:
            look = {"ec": INK, "lw": 1.4, "alpha": 1, "zorder": 4}
        ax.add_patch(Rectangle((x + start * ROOM, y), p * ROOM, 0.17, fc=colour, **look))
        start += p
    for role, p in zip(ROLES, turn.role_probabilities, strict=True):
        base = _lane(role) + 0.11
        fill, ink, weight = ("#4D4D4D", INK, "bold") if role == turn.role else ("#ABABAB", GREY, "normal")
        ax.add_patch(Rectangle((x, base), ROOM - 0.36, BAR, fc="white", ec="#C4C4C4", lw=0.7))
        ax.add_patch(Rectangle((x, base), p * (ROOM - 0.36), BAR, fc=fill, ec="none"))
        say(ax, x + ROOM, base + BAR / 2, f"{p:.2f}", 9, ha="right", color=ink, weight=weight)


def _draw_card(ax: Axes, turn: Turn, name: str, colour: str, right: bool | None) -> None:
    """Who spoke, what was kept of it, and the verdict."""
    x, y = _column(turn), _lane(turn.role) + 0.31
    edge = x + ROOM - 0.08
    box(ax, x, y, ROOM, CARD, fc="white", ec=colour, lw=1.8, zorder=5)
    box(ax, x, y + CARD - 0.26, ROOM, 0.26, fc=colour, ec=colour, lw=1.8, zorder=6)
    bright = float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) > 0.5
    bold = {"weight": "bold", "zorder": 7}
    say(ax, x + 0.08, y + CARD - 0.137, SHORT.get(name, name), 9.5, color=INK if bright else "white", **bold)
    cut = turn.message.finish == "length"
    if cut:
        say(ax, edge, y + (CARD - 0.44 if turn.verdict else 0.16), "✂ cut", 9.5, ha="right", color=GREY, **bold)
    text, top, most = turn.output, y + CARD - 0.34, CARD_LINES - (cut or right is not None)
    if turn.verdict:
        accept = turn.verdict == "ACCEPT"
        _tag(ax, x + 0.08, top - 0.1, 1.02, f"{'✓' if accept else '↻'} {turn.verdict}", INK, hollow=not accept)
        text, top, most = text.removeprefix(turn.verdict).strip(), top - 0.3, CARD_LINES - 2
    elif not text:
        text = (turn.message.error or "(an empty message)") if turn.prompt else "(not asked: no answer yet)"
    for number, line in enumerate(card_lines(text, CARD_CHARACTERS, most)):
        answer = turn.role == "worker" and line.startswith("Answer:")
        look = {"weight": "bold" if answer else "normal", "zorder": 7, "va": "top"}
        say(ax, x + 0.08, top - LINE * number, line, 10.5 if answer else 9.3, **look)
    if right is not None:
        text, ink = ("✓ right", GREEN) if right else ("✗ wrong", VERMILION)
        say(ax, edge, y + 0.07, text, 9.5, ha="right", va="bottom", color=ink, **bold)


def _draw_arrow(ax: Axes, before: Turn, after: Turn) -> None:
    """From one turn's card to the next; dashed and labelled where a Thinker named the next role."""
    x0, x1 = _column(before) + ROOM, _column(after)
    y0, y1 = (_lane(turn.role) + 0.31 + CARD / 2 for turn in (before, after))
    bend = "arc3"
    if before.role != after.role:  # from the card's side down or up to the next card's upper or lower edge
        x1, y1 = x1 + 0.44, y1 + (CARD / 2 if y0 > y1 else -CARD / 2)
        bend = "angle,angleA=0,angleB=90,rad=6"
    look = {"mutation_scale": 15, "lw": 1.8, "color": INK, "zorder": 8, "shrinkA": 0, "shrinkB": 0}
    line = (0, (4, 2)) if after.overridden else "-"
    arrow = FancyArrowPatch((x0, y0), (x1, y1), arrowstyle="-|>", linestyle=line, connectionstyle=bend, **look)
    ax.add_patch(arrow)
    if after.overridden:
        say(ax, x1 + 0.1, y0, f"NEXT: {after.role.upper()}", 9, weight="bold", zorder=8)
