"""Notebook 03: one turn of a conversation with everything that went in and came out, as HTML and as plain text."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from suite.results.style import PART_COLOURS, VERMILION
from trinity_core.pool import Pool
from trinity_core.roles import Transcript
from trinity_core.types import ROLES, Rollout, Turn

_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True)
_TEMPLATES.filters["h"] = html.escape


def transcripts_read(rollout: Rollout, rule: Literal["paper", "released"] = "paper") -> list[Transcript]:
    """The transcript that the coordinator reads at each turn, C_0 ... C_(tau-1), rebuilt from the kept outputs O_k."""
    read = [Transcript(rollout.question.text, rule=rule)]
    for turn in rollout.turns[:-1]:
        read.append(read[-1].append(turn.role, turn.output))
    return read


def turn_cards(rollout: Rollout, pool: Pool, logits: np.ndarray) -> list[TurnCard]:
    """A card a turn; `logits` (turns, L + 3) are those of the transcripts that were read."""
    names = tuple(agent.name for agent in pool.agents)
    read = transcripts_read(rollout)
    return [TurnCard(turn, text, names, tuple(z)) for turn, text, z in zip(rollout.turns, read, logits, strict=True)]


@dataclass(frozen=True)
class TurnCard:
    """A turn: what the coordinator read, the decision among `names` and roles, logits z (L + 3,), prompt, message."""

    turn: Turn
    read: Transcript
    names: tuple[str, ...]
    logits: tuple[float, ...]

    @property
    def heading(self) -> str:
        turn = self.turn
        how = "the role was named by the Thinker before" if turn.overridden else "agent and role drawn by the head"
        return f"{turn.index}: {self.names[turn.agent]} as {turn.role.capitalize()} ({how})"

    def options(self) -> dict[str, list[tuple[str, str, float, bool]]]:
        """Of the agents and of the roles: (name, logit in words, chance, whether it is the chosen one)."""
        turn, L = self.turn, len(self.names)
        found = {}
        for what, names, z, chances, chosen in (
            ("agents", self.names, self.logits[:L], turn.agent_probabilities, self.names[turn.agent]),
            ("roles", ROLES, self.logits[L:], turn.role_probabilities, turn.role),
        ):
            rows = zip(names, map(signed, z), chances, strict=True)
            found[what] = [(name, z, p, name == chosen) for name, z, p in rows]
        return found

    def parts(self) -> list[tuple[str, str]]:
        """What happened after the decision, in pairs (what, text)."""
        turn = self.turn
        if turn.prompt:
            said = turn.message.error or turn.message.text or "(an empty message)"
            found = [("the agent is asked", turn.prompt[1]["content"]), ("it says, M_k", said)]
        else:
            found = [("the agent is not asked", "there is no answer to verify yet")]
        found.append(("what is kept of it, O_k", turn.output or "nothing"))
        named = turn.suggested_role.capitalize() if turn.suggested_role else None
        return found + [pair for pair in (("named for the next turn", named), ("the verdict", turn.verdict)) if pair[1]]

    def __str__(self) -> str:
        lines = [f"turn {self.heading}", "  the coordinator reads"]
        lines += ["    " + line for m in self.read.messages() for line in f"{m['role']}: {m['content']}".splitlines()]
        for rows in self.options().values():
            lines += [f"    {z:>5}  {p:.2f} {'*' if mine else ' '} {name}" for name, z, p, mine in rows]
        for what, text in self.parts():
            lines += [f"  {what}", *(f"    {line}".rstrip() for line in text.splitlines())]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        template = _TEMPLATES.get_template("one_conversation.html.j2")
        return template.render(card=self, colours=PART_COLOURS, chosen=VERMILION)


def signed(z: float) -> str:
    """One decimal with its sign; none where it rounds to zero."""
    return f"{z:+.1f}" if abs(z) >= 0.05 else "0.0"
