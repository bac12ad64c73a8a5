"""One rollout for a reader: HTML in a notebook, plain text in a terminal."""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass

from trinity_core.pool import Pool
from trinity_core.types import ROLES, Rollout, Turn

ROLE_COLOURS = {"worker": "#0072B2", "thinker": "#B8860B", "verifier": "#009E73"}  # readable on white and on black
WIDTH = 100
CUT = {  # a message cut at the output cap: what it does not count as
    "worker": "cut at the output cap: no answer",
    "thinker": "cut at the output cap: names no role",
    "verifier": "cut at the output cap: no ACCEPT",
}


def show_rollout(rollout: Rollout, pool: Pool) -> RolloutView:
    """A view of the rollout: `print` gives text, a notebook cell's last line gives HTML."""
    return RolloutView(rollout, tuple(agent.name for agent in pool.agents))


@dataclass(frozen=True)
class RolloutView:
    """See `show_rollout`."""

    rollout: Rollout
    names: tuple[str, ...]

    def _chances(self, turn: Turn) -> str:
        role = turn.role_probabilities[ROLES.index(turn.role)]
        why = "named by the Thinker" if turn.overridden else f"p {role:.2f}"
        return f"agent p {turn.agent_probabilities[turn.agent]:.2f}, role {why}"

    def _notes(self, turn: Turn) -> list[str]:
        """What happened to the message besides being said."""
        message = turn.message
        notes = []
        if not turn.prompt:
            notes.append("not asked: there is no answer to verify yet")
        if message.finish == "length":
            notes.append(CUT[turn.role])
        if message.finish == "error":
            notes.append(f"the call failed: {message.error}")
        if turn.suggested_role:
            notes.append(f"names the next role: {turn.suggested_role}")
        if turn.verdict:
            notes.append(f"verdict: {turn.verdict}")
        return notes

    def _answer(self) -> str:
        """The answer in one line: what its last line `Answer: ...` holds, else the text, shortened."""
        text = self.rollout.answer
        if text is None:
            return "none"
        marked = re.findall(r"^Answer:[ \t]*(\S.*)$", text, re.M)
        return marked[-1].strip() if marked else textwrap.shorten(text, WIDTH, placeholder=" ...")

    def _ending(self) -> str:
        rollout = self.rollout
        reward = "none (failed, left out of every mean)" if rollout.reward is None else f"{rollout.reward:g}"
        return f"stop: {rollout.stop} after {len(rollout.turns)} turn(s); reward {reward}"

    def __str__(self) -> str:
        rollout = self.rollout
        lines = [f"{rollout.question.id} (replicate {rollout.replicate})", _indent(rollout.question.text), ""]
        for turn in rollout.turns:
            lines.append(f"turn {turn.index}  {turn.role.upper()}  {self.names[turn.agent]}  ({self._chances(turn)})")
            lines += [_indent(turn.output)] if turn.output else []
            lines += [f"    [{note}]" for note in self._notes(turn)]
        return "\n".join([*lines, "", f"answer: {self._answer()}", self._ending()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rollout = self.rollout
        blocks = [
            f"<div style='margin:4px 0'><b>{html.escape(rollout.question.id)}</b>{_pre(rollout.question.text)}</div>"
        ]
        for turn in rollout.turns:
            colour = ROLE_COLOURS[turn.role]
            notes = "".join(f"<div><i>{html.escape(note)}</i></div>" for note in self._notes(turn))
            blocks.append(
                f"<div style='border-left:4px solid {colour};padding:2px 8px;margin:6px 0'>"
                f"<span style='color:{colour};font-weight:600'>{turn.index}. {turn.role.capitalize()}</span> "
                f"{html.escape(self.names[turn.agent])} <small>({html.escape(self._chances(turn))})</small>"
                f"{_pre(turn.output) if turn.output else ''}{notes}</div>"
            )
        ending = html.escape(self._ending())
        blocks.append(f"<div>answer: {html.escape(self._answer())}</div><div><b>{ending}</b></div>")
        return "<div style='max-width:60em;line-height:1.35'>" + "".join(blocks) + "</div>"


def _indent(text: str) -> str:
    lines = [
        part for line in text.splitlines() for part in textwrap.wrap(line, WIDTH, replace_whitespace=False) or [""]
    ]
    return "\n".join("    " + line for line in lines)


def _pre(text: str) -> str:
    return f"<div style='white-space:pre-wrap;font-family:monospace;font-size:92%'>{html.escape(text)}</div>"
