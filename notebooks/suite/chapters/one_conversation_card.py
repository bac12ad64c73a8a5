"""One turn of a conversation with everything that went in and came out, as HTML in a notebook and as plain text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suite.results.style import PART_COLOURS
from trinity_core.pool import Pool
from trinity_core.roles import Transcript
from trinity_core.types import ROLES, Rollout, Turn


def transcripts_read(rollout: Rollout, rule: Literal["paper", "released"] = "paper") -> list[Transcript]:
    """The transcript that the coordinator reads at each turn, C_0 ... C_(tau-1), rebuilt from the kept outputs O_k."""
    read = [Transcript(rollout.question.text, rule=rule)]
    for turn in rollout.turns[:-1]:
        read.append(read[-1].append(turn.role, turn.output))
    return read


@dataclass(frozen=True)
class TurnCard:
    """A turn: what the coordinator read, its logits z (L + 3,) and chances, the decision, prompt, message, O_k."""

    turn: Turn
    read: Transcript
    logits: tuple[float, ...]
    names: tuple[str, ...]

    def _options(self, roles: bool) -> list[tuple[str, float, float, bool]]:
        """(name, logit, chance, chosen) of every agent or role."""
        turn, L = self.turn, len(self.names)
        if roles:
            chosen, z = ROLES.index(turn.role), self.logits[L:]
            return [(role, z[n], turn.role_probabilities[n], n == chosen) for n, role in enumerate(ROLES)]
        return [
            (name, self.logits[n], turn.agent_probabilities[n], n == turn.agent) for n, name in enumerate(self.names)
        ]

    def _decision(self) -> str:
        turn = self.turn
        how = "the role was named by the Thinker before" if turn.overridden else "agent and role drawn by the head"
        return f"{self.names[turn.agent]} as {turn.role.capitalize()} ({how})"

    def _outcome(self) -> list[tuple[str, str]]:
        turn = self.turn
        found = [("what is kept of it, O_k", turn.output or "nothing")]
        if turn.suggested_role:
            found.append(("named for the next turn", turn.suggested_role.capitalize()))
        if turn.verdict:
            found.append(("the verdict", turn.verdict))
        return found

    def _parts(self) -> list[tuple[str, str]]:
        said = self.turn.message.error or self.turn.message.text or "(an empty message)"
        if not self.turn.prompt:
            return [("the agent is not asked", "there is no answer to verify yet"), *self._outcome()]
        return [("the agent is asked", self.turn.prompt[1]["content"]), ("it says, M_k", said), *self._outcome()]

    def __str__(self) -> str:
        lines = [f"turn {self.turn.index}: {self._decision()}", "  the coordinator reads"]
        lines += ["    " + line for m in self.read.messages() for line in f"{m['role']}: {m['content']}".splitlines()]
        for roles in (False, True):
            for name, z, p, mine in self._options(roles):
                lines.append(f"    {signed(z):>5}  {p:.2f} {'*' if mine else ' '} {name}")
        for what, text in self._parts():
            lines += [f"  {what}", *(f"    {line}".rstrip() for line in text.splitlines())]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = "".join(
            _block(f"<b>{html.escape(m['role'])}:</b> {html.escape(m['content'])}", PART_COLOURS[_part(m["role"])])
            for m in self.read.messages()
        )
        bars = "".join(_bars(self._options(roles), roles) for roles in (False, True))
        agent = "".join(_label(what) + _block(html.escape(text), "#F3F3F3") for what, text in self._parts())
        cell = "vertical-align:top;text-align:left;padding:6px 10px"
        return (
            "<table style='width:100%;max-width:72em;border:1px solid #BBB;table-layout:fixed'><tbody>"
            f"<tr><td colspan='2' style='{cell};border-bottom:1px solid #BBB'><b>Turn {self.turn.index}: "
            f"{html.escape(self._decision())}</b></td></tr><tr style='background:none'>"
            f"<td style='{cell};width:47%'>{_label('the coordinator reads')}{lines}{bars}</td>"
            f"<td style='{cell}'>{agent}</td></tr></tbody></table>"
        )


def turn_cards(rollout: Rollout, pool: Pool, logits: np.ndarray) -> list[TurnCard]:
    """A card a turn; `logits` (turns, L + 3) are those of the transcripts that were read."""
    names = tuple(agent.name for agent in pool.agents)
    read = transcripts_read(rollout, "paper")
    return [
        TurnCard(turn, transcript, tuple(map(float, z)), names)
        for turn, transcript, z in zip(rollout.turns, read, logits, strict=True)
    ]


def signed(z: float) -> str:
    """One decimal with its sign; none where it rounds to zero."""
    return f"{z:+.1f}" if abs(z) >= 0.05 else "0.0"


def _part(role: str) -> str:
    return role if role in PART_COLOURS else "question"


def _label(text: str) -> str:
    return f"<div style='color:#666;font-size:85%;margin-top:5px'>{html.escape(text)}</div>"


def _block(inner: str, colour: str) -> str:
    style = f"background:{colour};color:#222;padding:2px 7px;margin:2px 0;font-family:monospace;font-size:90%"
    return f"<div style='{style};white-space:pre-wrap;line-height:1.3'>{inner}</div>"


def _bars(options: Sequence[tuple[str, float, float, bool]], roles: bool) -> str:
    """Logit, chance as a bar, and name; the chosen one in bold."""
    rows = []
    for name, z, p, mine in options:
        colour = "#D55E00" if mine else "#BBB"
        bar = f"<div style='background:{colour};height:9px;width:{100 * p:.0f}%;min-width:1px'></div>"
        weight = "bold" if mine else "normal"
        cell = "padding:0 6px;text-align:right;border:none"
        rows.append(
            f"<tr style='font-weight:{weight};background:none'>"
            f"<td style='{cell};text-align:left;min-width:200px'>{html.escape(name)}</td>"
            f"<td style='{cell}'>{signed(z)}</td><td style='{cell}'>{p:.2f}</td>"
            f"<td style='{cell};width:90px'>{bar}</td></tr>"
        )
    head = _label(f"{'roles' if roles else 'agents'}: logit, chance")
    style = "border:none;font-size:90%;line-height:1.25;margin:0"
    return f"{head}<table style='{style}'><tbody>{''.join(rows)}</tbody></table>"
