"""The pictures of notebook 01: one decision, from the tokens to the agent and the role. The position that is read is
always vermilion, the last one grey and dashed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from suite.results.style import AGENT_COLOURS, GREY, INK, PART_COLOURS, ROLE_COLOURS, VERMILION, box, say

READ = VERMILION
COLOURS = AGENT_COLOURS | ROLE_COLOURS
MAP = "PuOr_r"  # orange is positive, purple negative: told apart by colour-blind readers
WIDTH = 11.0  # inches: fills a slide, and a notebook page
GRID_COLUMNS = 32


def visible(token: str) -> str:
    """A token piece with its white space made visible: a dot for a space, a bent arrow for a line break."""
    return token.replace("\n", "↵").replace(" ", "·").replace("\t", "⇥")


def token_parts(tokens: Sequence[str], formatted: str, contents: Sequence[tuple[str, str]]) -> list[str]:
    """Which part of the transcript each token belongs to, or "frame": the format's own words. `contents`: (part, text)
    in their order in `formatted`, to which the tokens join."""
    owner = ["frame"] * len(formatted)
    end = 0
    for part, content in contents:
        start = formatted.index(content.strip(), end)
        end = start + len(content.strip())
        owner[start:end] = [part] * (end - start)
    if "".join(tokens) != formatted:
        raise ValueError(f"the tokens do not join to the formatted text, which begins {formatted[:40]!r}")
    # A token may begin with the space before its word, so its last character decides.
    return [owner[end - 1] for end in np.cumsum([len(token) for token in tokens])]


def state_grid(h: np.ndarray) -> np.ndarray:
    """h (d,) as rows of 32 numbers, in reading order; the last row is filled up with NaN."""
    return np.pad(h.astype(float), (0, -len(h) % GRID_COLUMNS), constant_values=np.nan).reshape(-1, GRID_COLUMNS)


def tokens_figure(panels: Sequence[tuple[str, Sequence[str], Sequence[str], int]], columns: float = 92) -> Figure:
    """One panel a format: (title, tokens, parts, read). Boxes are coloured by part."""
    heights = [len(_token_rows(tokens, columns)) * 2.0 + 1.9 for _, tokens, _, _ in panels]
    size = (WIDTH, sum(heights) * 0.2 + 0.5 * len(panels))
    fig, axes = plt.subplots(len(panels), 1, figsize=size, height_ratios=heights, squeeze=False)
    for ax, (title, tokens, parts, read) in zip(axes[:, 0], panels, strict=True):
        _draw_tokens(ax, tokens, parts, read, columns, size=10.5)
        ax.set_title(title)
    shown = [part for part in PART_COLOURS if any(part in parts for _, _, parts, _ in panels)]
    handles = [Rectangle((0, 0), 1, 1, fc=PART_COLOURS[part], ec="none") for part in shown]
    names = ["put there by the format" if part == "frame" else part for part in shown]
    fig.legend(handles, names, loc="outside lower left", ncols=len(shown), fontsize=10)
    return fig


def state_figure(h: np.ndarray, token: str, largest: int = 4) -> Figure:
    """One hidden state (d,), as a heat map in reading order and as a bar a dimension with the largest named."""
    limit, size = float(np.percentile(np.abs(h), 98)), np.abs(h)
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.1), width_ratios=[1.25, 1])
    grid = state_grid(h)
    image = left.imshow(grid, cmap=MAP, vmin=-limit, vmax=limit, aspect="equal")
    rows = range(0, len(grid), 4)
    left.set(xlabel=f"dimension, in reading order: {GRID_COLUMNS} a row", xticks=range(0, GRID_COLUMNS, 8))
    left.set_yticks(rows, [str(GRID_COLUMNS * row) for row in rows])
    left.grid(False)
    left.set_title(f"h: {len(h)} numbers, read at the token “{visible(token)}”")
    fig.colorbar(image, ax=left, extend="both", shrink=0.85, label="value")
    right.vlines(np.arange(len(h)), 0, h, color=np.where(size > limit, READ, GREY), lw=0.9)
    for j in np.argsort(-size, kind="stable")[:largest]:
        # To the left where there is no room at the right, or where a taller bar stands close by.
        to_left = j > 0.8 * len(h) or size[j + 1 : j + 60].max(initial=0) > 0.9 * size[j]
        place = {"xytext": (-8 if to_left else 8, 0), "textcoords": "offset points", "va": "center"}
        look = {"ha": "right" if to_left else "left", "fontsize": 9.5, "color": READ, "weight": "bold"}
        right.annotate(f"dim {j}", (j, h[j]), **place, **look)
    right.axhline(0, color=INK, lw=0.8)
    right.margins(y=0.1)
    right.set(xlabel="dimension", ylabel="value", xlim=(-8, len(h) + 8), title="A few dimensions are large in any text")
    return fig


def strips_figure(states: np.ndarray, labels: Sequence[str], colours: Sequence[str], title: str) -> Figure:
    """Several vectors (n, d) under one another, one thin row each, labelled and coloured at the left."""
    fig, ax = plt.subplots(figsize=(WIDTH, 0.19 * len(states) + 1.3))
    image = _strip(ax, states, np.percentile(np.abs(states), 98))
    ax.set(xlabel="dimension", yticks=[], title=title)
    starts = [i for i in range(len(labels)) if i == 0 or labels[i] != labels[i - 1]]
    beside = {"transform": ax.get_yaxis_transform()}
    for start, stop in zip(starts, [*starts[1:], len(labels)], strict=True):
        patch = Rectangle((-0.022, start - 0.4), 0.012, stop - start - 0.2, fc=colours[start], clip_on=False, **beside)
        ax.add_patch(patch)
        say(ax, -0.028, (start + stop - 1) / 2, labels[start], 10.5, ha="right", **beside)
        if start:
            ax.axhline(start - 0.5, color="white", lw=2.5)
    fig.colorbar(image, ax=ax, extend="both", label="value", pad=0.01)
    return fig


def head_figure(
    weights: np.ndarray, h: np.ndarray, logits: np.ndarray, agents: Sequence[str], roles: Sequence[str], title: str
) -> Figure:
    """z = W h as a picture: h on top, below it the rows of W (L+3, d), column under column, at the right the logits."""
    fig, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.9), width_ratios=[3.3, 1], height_ratios=[1, 7])
    (top, corner), (matrix, bars) = axes
    names, L = [*agents, *roles], len(agents)
    _strip(top, h[None, :], np.percentile(np.abs(h), 98))
    top.set(xticks=[], yticks=[0], yticklabels=[f"h ({len(h)})"], title=title)
    # An empty row between agents and roles: they go to two different softmaxes.
    _strip(matrix, np.insert(weights, L, np.nan, axis=0), np.percentile(np.abs(weights), 98) or 1.0)
    rows = [*range(L), *range(L + 1, len(names) + 1)]
    matrix.set(yticks=rows, yticklabels=names, xlabel=f"W: {len(names)} × {len(h)} weights, row a times h = z of a")
    bars.barh(rows, logits, color=[COLOURS[name] for name in names], height=0.72, edgecolor=INK, linewidth=0.5)
    bars.axvline(0, color=INK, lw=0.9)
    bars.grid(False)
    bars.spines[:].set_visible(False)
    reach = max(float(np.abs(logits).max()), 1e-9)
    for row, z in zip(rows, logits, strict=True):
        text = f"{z:+.2f}".replace("-", "−") if abs(z) >= 0.005 else "0"
        look = {"textcoords": "offset points", "fontsize": 9.5, "va": "center"}
        bars.annotate(text, (z, row), (4 if z >= 0 else -4, 0), ha="left" if z >= 0 else "right", **look)
    bars.set(ylim=(len(names) + 0.5, -0.5), yticks=[], xlim=(-1.6 * reach, 1.6 * reach), xlabel="logit z")
    corner.set_axis_off()
    corner.text(0.5, 0.5, "z = W h", ha="center", va="center", fontsize=15, weight="bold", transform=corner.transAxes)
    return fig


def probabilities_figure(
    rows: Sequence[tuple[str, np.ndarray, np.ndarray]], agents: Sequence[str], roles: Sequence[str]
) -> Figure:
    """The two softmaxes side by side, one pair of panels a row: (label, agents' (L,), roles' (3,))."""
    size = (WIDTH, 2.5 * len(rows) + 0.4)
    fig, axes = plt.subplots(len(rows), 2, figsize=size, width_ratios=[1.6, 1], squeeze=False)
    for (left, right), (label, agent_p, role_p) in zip(axes, rows, strict=True):
        _probability_bars(left, agent_p, agents)
        _probability_bars(right, role_p, roles)
        left.set_title(label)
    left.set_xlabel(f"probability of the agent (softmax over {len(agents)} logits)")
    right.set_xlabel(f"probability of the role (softmax over {len(roles)})")
    return fig


def draw_figure(options: Sequence[tuple[str, np.ndarray, Sequence[str], float]]) -> Figure:
    """Inverse CDF as a picture: (what, probabilities, names, uniform); the uniform falls into one segment of [0, 1)."""
    # A name below a narrower segment would run into its neighbours, so it is left out.
    below = [
        [_wrapped(name, int(p * 112)) if p > 0.075 else "" for p, name in zip(values, names, strict=True)]
        for _, values, names, _ in options
    ]
    depths = [0.25 + 0.3 * max(text.count("\n") + 1 for text in texts) for texts in below]
    tall = [1.65 + depth for depth in depths]
    fig, axes = plt.subplots(len(options), 1, figsize=(WIDTH, 0.62 * sum(tall)), squeeze=False, height_ratios=tall)
    for ax, texts, depth, (what, values, names, uniform) in zip(axes[:, 0], below, depths, options, strict=True):
        ends = np.cumsum(values)
        for start, stop, name, text in zip([0.0, *ends[:-1]], ends, names, texts, strict=True):
            alpha, weight = (1.0, "bold") if start <= uniform < stop else (0.4, "normal")
            ax.add_patch(Rectangle((start, 0), stop - start, 1, fc=COLOURS[name], ec="white", lw=2, alpha=alpha))
            say(ax, (start + stop) / 2, -0.1, text, 9.5, ha="center", va="top", weight=weight)
        for colour, width in (("white", 4), (READ, 2.2)):
            ax.plot([uniform, uniform], [-0.06, 1.22], color=colour, lw=width)
        say(ax, uniform, 1.3, f"u = {uniform:.2f}", 11, ha="center", va="baseline", weight="bold", color=READ)
        ax.set(xlim=(-0.005, 1.005), ylim=(-depth, 1.65))
        say(ax, -0.012, 0.5, what, 11, ha="right", weight="bold")
        ax.set_axis_off()
    return fig


def growth_figure(
    stages: Sequence[tuple[str, Sequence[str], Sequence[str], int, np.ndarray, np.ndarray]],
    agents: Sequence[str],
    roles: Sequence[str],
    columns: float = 46,
    tail: int = 28,
) -> Figure:
    """A transcript that grows, one row a stage: (title, tokens, parts, read, agents' probabilities, roles')."""
    fig, axes = plt.subplots(len(stages), 3, figsize=(WIDTH + 2, 2.5 * len(stages)), width_ratios=[2.5, 0.9, 1])
    for (text, role_ax, agent_ax), (title, tokens, parts, read, agent_p, role_p) in zip(axes, stages, strict=True):
        cut = max(0, len(tokens) - tail)
        shown, shown_parts = list(tokens[cut:]), list(parts[cut:])
        if cut:
            shown, shown_parts, cut = ["…", *shown], ["frame", *shown_parts], cut - 1
        _draw_tokens(text, shown, shown_parts, read - cut, columns, size=10)
        text.set_ylim(min(-6.3, text.get_ylim()[0]), 1.6)
        text.set_title(title)
        for ax, probabilities, names in ((role_ax, role_p, roles), (agent_ax, agent_p, agents)):
            _probability_bars(ax, probabilities, names)
            ax.set(xlim=(0, 1.25))
            ax.tick_params(labelsize=9)
    axes[0, 1].set_title("role")
    axes[0, 2].set_title("agent")
    return fig


def theta_figure(vectors: Sequence[tuple[str, Sequence[tuple[str, str, int]]]]) -> Figure:
    """Flat parameter vectors to one scale: (title, segments), a segment being (group, name, size)."""
    longest = max(sum(size for _, _, size in segments) for _, segments in vectors)
    gap = 0.004 * longest
    # Names stand only below segments that are wide enough; elsewhere the colours say the same.
    below = [2.6 if min(size for _, _, size in segments) > 0.04 * longest else 0.2 for _, segments in vectors]
    tall = [1.9 + depth for depth in below]
    fig, axes = plt.subplots(len(vectors), 1, figsize=(WIDTH, 0.62 * sum(tall)), squeeze=False, height_ratios=tall)
    for ax, depth, (title, segments) in zip(axes[:, 0], below, vectors, strict=True):
        stop, groups = 0, {}
        for group, name, size in segments:
            start, stop = stop, stop + size
            ax.add_patch(Rectangle((start, 0), size, 1, fc=COLOURS.get(name, "#BFD9EA"), ec="white", lw=1.5))
            if depth > 1:
                look = {"rotation": 35, "rotation_mode": "anchor", "ha": "right", "va": "top"}
                say(ax, start + size / 2 + gap, -0.12, name, 9.5, **look)
            groups[group] = (groups.get(group, (start,))[0], stop)
        for group, (first, last) in groups.items():
            left, right = first + gap, last - gap
            ax.plot([left, left, right, right], [1.1, 1.25, 1.25, 1.1], color=INK, lw=1.2)
            look = {"ha": "center", "va": "baseline", "weight": "bold"}
            say(ax, (first + last) / 2, 1.36, f"{group}: {last - first:,}", 11, **look)
        ax.set(xlim=(-0.09 * longest, 1.01 * longest), ylim=(-depth, 1.9), title=title)
        ax.set_axis_off()
    return fig


def _token_rows(tokens: Sequence[str], columns: float) -> list[list[tuple[int, float]]]:
    """Rows of (index, x): boxes in reading order, wrapped at `columns` characters, the last two kept together."""
    rows: list[list[tuple[int, float]]] = [[]]
    widths = [len(visible(token)) + 0.9 for token in tokens]
    x = 0.0
    for index, width in enumerate(widths):
        needed = width + (0.22 + widths[-1] if index == len(tokens) - 2 else 0.0)
        if rows[-1] and x + needed > columns:
            rows.append([])
            x = 0.0
        rows[-1].append((index, x))
        x += width + 0.22
    return rows


def _draw_tokens(ax: Axes, tokens: Sequence[str], parts: Sequence[str], read: int, columns: float, size: float) -> None:
    """Token boxes in rows; the token that is read (`read`) and the last one are marked."""
    looks = {
        len(tokens) - 1: {"ec": GREY, "lw": 1.6, "ls": "--", "zorder": 3},
        read: {"ec": READ, "lw": 2.6, "zorder": 3},
    }
    middle, y = {}, 0.0
    for row, boxes in enumerate(_token_rows(tokens, columns)):
        y = -row * 2.0
        for index, x in boxes:
            text, look = visible(tokens[index]), looks.get(index, {"ec": "white", "lw": 0.6, "zorder": 2})
            middle[index] = (x + (len(text) + 0.9) / 2, y)
            box(ax, x, y, len(text) + 0.9, 1.3, rounding=0.25, fc=PART_COLOURS[parts[index]], **look)
            say(ax, middle[index][0], y + 0.62, text, size, ha="center", family="DejaVu Sans Mono", zorder=4)
    # The read token's label hangs to its left (if there is room) and the last one's to its right: they never meet.
    x, below = middle[read]
    label, look = f"−{len(tokens) - read}: read here", {"color": READ, "weight": "bold"}
    if x > 16:
        say(ax, x + 0.7, below - 0.75, f"{label} ▲", size - 0.5, ha="right", **look)
        x, below = middle[len(tokens) - 1]
        say(ax, x - 0.7, below - 0.75, "▲ −1", size - 0.5, color=GREY)
    else:
        say(ax, x - 0.7, below - 0.75, f"▲ {label}", size - 0.5, **look)
    ax.set(xlim=(-0.2, columns + 0.2), ylim=(y - 1.4, 1.5))
    ax.set_axis_off()


def _strip(ax: Axes, values: np.ndarray, limit: float):
    """Numbers as colours, one to one, without grid and frame; returns the image."""
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return ax.imshow(values, cmap=MAP, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")


def _probability_bars(ax: Axes, probabilities: np.ndarray, names: Sequence[str]) -> None:
    """Horizontal bars with their value at the end and a thin line where all would be equal."""
    rows = range(len(names))
    ax.barh(rows, probabilities, color=[COLOURS[name] for name in names], height=0.74, edgecolor=INK, linewidth=0.5)
    for row, p in enumerate(probabilities):
        ax.text(p + 0.015, row, f"{p:.2f}", va="center", fontsize=9.5, bbox={"fc": "white", "ec": "none", "pad": 0.6})
    ax.axvline(1 / len(names), color=GREY, lw=1.2, ls=":", zorder=0)
    ax.set(xlim=(0, 1.1), ylim=(len(names) - 0.4, -0.6), xticks=[0, 0.5, 1])
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(False)


def _wrapped(name: str, width: int) -> str:
    """A name on several lines of at most `width` characters, broken after hyphens and at spaces."""
    return "\n".join(textwrap.wrap(name.replace("-", "- "), width, break_long_words=False)).replace("- ", "-")
