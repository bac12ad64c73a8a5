"""One rollout for a reader: HTML in a notebook, plain text in a terminal."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path

from jinja2 import Template

from trinity_core.pool import Pool
from trinity_core.types import ROLES, Rollout, Turn

ROLE_COLOURS = {"worker": "#0072B2", "thinker": "#B8860B", "verifier": "#009E73"}  # readable on white and on black
PAGE = Template(Path(__file__).with_name("rollout.html.j2").read_text(encoding="utf-8"))
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
        return f"(agent p {turn.agent_probabilities[turn.agent]:.2f}, role {why})"

    def _notes(self, turn: Turn) -> list[str]:
        """What happened to the message besides being said."""
        message = turn.message
        notes = {
            "not asked: there is no answer to verify yet": not turn.prompt,
            CUT[turn.role]: message.finish == "length",
            f"the call failed: {message.error}": message.finish == "error",
            f"names the next role: {turn.suggested_role}": turn.suggested_role,
            f"verdict: {turn.verdict}": turn.verdict,
        }
        return [note for note, so in notes.items() if so]

    def _ending(self) -> tuple[str, str]:
        """The answer in one line (what its last line `Answer: ...` holds, else the text, shortened), and the stop."""
        rollout, answer = self.rollout, "none"
        if rollout.answer is not None:
            marked = re.findall(r"^Answer:[ \t]*(\S.*)$", rollout.answer, re.M)
            answer = marked[-1].strip() if marked else textwrap.shorten(rollout.answer, WIDTH, placeholder=" ...")
        reward = "none (failed, left out of every mean)" if rollout.reward is None else f"{rollout.reward:g}"
        return f"answer: {answer}", f"stop: {rollout.stop} after {len(rollout.turns)} turn(s); reward {reward}"

    def __str__(self) -> str:
        rollout = self.rollout
        lines = [f"{rollout.question.id} (replicate {rollout.replicate})", *_indented(rollout.question.text), ""]
        for turn in rollout.turns:
            lines.append(f"turn {turn.index}  {turn.role.upper()}  {self.names[turn.agent]}  {self._chances(turn)}")
            lines += [*_indented(turn.output), *(f"    [{note}]" for note in self._notes(turn))]
        return "\n".join([*lines, "", *self._ending()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        turns = [(turn, ROLE_COLOURS[turn.role], self._chances(turn), self._notes(turn)) for turn in self.rollout.turns]
        said = {"question": self.rollout.question, "names": self.names, "ending": self._ending()}
        return PAGE.render(turns=turns, escape=escape, **said)


def _indented(text: str) -> list[str]:
    wrapped = (textwrap.wrap(line, WIDTH, replace_whitespace=False) or [""] for line in text.splitlines())
    return ["    " + part for parts in wrapped for part in parts]
