"""A language model that is prompted to be the coordinator (A.7.3, Table 8): each turn it names agent and role.

The model sees agents, question and notes, after three examples, and must reply with `AGENT n ROLE` alone. Any other or
cut reply names nobody: the rollout ends there, and the latest answer counts. Its calls stand among the turns as a
Thinker's who names the next role; `callers(pool)` names the model.

One of the pool's own agents coordinates. Simulated agents answer role prompts alone, so over a simulated pool the
packaged small model does; it mostly fails to reply in that form, which says nothing of the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from suite.baselines.base import TURNS, Untrained, agent_numbers, numbered
from suite.checkers import is_right
from suite.pools import load_pool
from trinity_core.pool import Agent, Pool
from trinity_core.roles import HEADINGS, Transcript, build_prompt, visible
from trinity_core.rollout import TURNS_A_REPLICATE, Job, ask_all, begin, finish, take_turn
from trinity_core.types import ROLES, Message, Question, Role, Rollout, Turn
from trinity_core.world import FAILED, GOES_ON

# Who coordinates unless told otherwise: Table 8's coordinator, the local model that is cut soonest, the first agent.
COORDINATORS = ("Gemini-2.5-pro", "SmolLM2 (brief)")
SYSTEM = (
    "You lead a team that answers a question. Say which agent acts next, and as what. A WORKER works on the question "
    "and answers it, a THINKER plans or criticises, a VERIFIER checks the latest answer, and its approval ends the "
    "work. Agents: {agents}. Reply with one line `AGENT n ROLE` and nothing else."
)
TASK = "Who acts next?"
EXAMPLES: tuple[tuple[Transcript, Role], ...] = (
    (Transcript("How many legs do three spiders have?"), "thinker"),
    (Transcript("What is 2 + 2?"), "worker"),
    (Transcript("Name the capital of France.").append("worker", "Answer: Paris"), "verifier"),
)
CHOICE = re.compile(rf"`?AGENT (\d{{1,4}}) ({'|'.join(role.upper() for role in ROLES)})`?")


class LLMCoordinator(Untrained):
    """`agent` (name or number) of `chooser` coordinates; `chooser` None: of the pool itself, or of pool `local`."""

    def __init__(self, chooser: Pool | None = None, agent: str | int | None = None) -> None:
        self.chooser, self.agent = chooser, agent

    def coordinator(self, pool: Pool) -> tuple[Pool, int]:
        """The pool that holds the coordinating model, and its number there."""
        if self.chooser is None:
            # Only a pool that computes its replies at once has `reply`: it plays roles and cannot do anything else.
            self.chooser = load_pool("local") if hasattr(pool, "reply") else pool
        names = [agent.name for agent in self.chooser.agents]
        default = next((name for name in COORDINATORS if name in names), 0)
        return self.chooser, agent_numbers(self.chooser, default if self.agent is None else self.agent)[0]

    def callers(self, pool: Pool) -> Any:
        """The pool's agents, and after them the coordinating model where it is none of them."""
        chooser, number = self.coordinator(pool)
        return pool if chooser is pool else SimpleNamespace(agents=(*pool.agents, chooser.agents[number]))

    def remark(self, pool: Pool, rollouts: Sequence[Rollout]) -> str:
        """How many of the coordinator's replies named an agent and a role."""
        turns = [turn for rollout in rollouts for turn in rollout.turns if turn.prompt]
        named = [t.suggested_role is not None for t in turns if t.prompt[-1]["content"].endswith(TASK)]
        chooser, number = self.coordinator(pool)
        name = chooser.agents[number].name
        return f"{name} coordinates: {sum(named)} of its {len(named)} replies name an agent and a role"

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout a question. `seed` is not used: nothing is drawn here but by the models."""
        chooser, number = self.coordinator(pool)
        speakers = len(self.callers(pool).agents)
        speaker = number if chooser is pool else speakers - 1
        odds = tuple(np.eye(speakers)[speaker].tolist()), tuple(float(role == "thinker") for role in ROLES)
        acting = live = begin([Job(question, 0, replicate) for question in questions], is_right)
        for turn in range(1, TURNS + 1):
            prompts = [choice_prompt(state.transcript, pool.agents) for state in acting]
            draw = replicate * TURNS_A_REPLICATE + turn
            replies = ask_all(chooser, [(number, prompt, draw) for prompt in prompts])
            chosen = []  # a rollout for which nobody is named ends here
            for state, prompt, message in zip(acting, prompts, replies, strict=True):
                agent, role = read_choice(message, len(pool.agents)) or (None, None)
                output = visible(message.text) if role else ""
                asked = Turn(0, speaker, "thinker", False, *odds, tuple(prompt), message, output, suggested_role=role)
                state.turns.append(asked)
                if message.finish == "error":
                    state.stop = FAILED
                elif role:
                    chosen.append((state, agent, ROLES.index(role)))
            if not chosen:
                break
            states, agents, roles = zip(*chosen, strict=True)
            take_turn(states, turn, np.array(agents), np.array(roles), pool)
            acting = [state for state in states if state.stop == GOES_ON]
        return [replace(rollout, turns=numbered(rollout.turns)) for rollout in finish(live, is_right)]


def choice_prompt(transcript: Transcript, agents: Sequence[Agent]) -> list[dict[str, str]]:
    """The chat messages that ask for one choice: the rules, the examples, the case."""
    listed = ", ".join(f"{n} {a.name}{f' ({a.description})' if a.description else ''}" for n, a in enumerate(agents))
    messages = [{"role": "system", "content": SYSTEM.format(agents=listed)}]
    for number, (example, role) in enumerate(EXAMPLES):
        messages.append({"role": "user", "content": _case(example)})
        messages.append({"role": "assistant", "content": f"AGENT {number % len(agents)} {role.upper()}"})
    return [*messages, {"role": "user", "content": _case(transcript)}]


def _case(transcript: Transcript) -> str:
    """Question and notes as an agent sees them (what they quote is guarded in the same way), with another task."""
    mark = f"## {HEADINGS[-1]}\n"
    return build_prompt("thinker", transcript)[1]["content"].rpartition(mark)[0] + mark + TASK


def read_choice(message: Message, n_agents: int) -> tuple[int, Role] | None:
    """(agent, role) that a reply names; None where it is cut, holds anything else, or names no agent of the pool."""
    found = CHOICE.fullmatch(visible(message.text))
    if message.finish != "stop" or found is None or int(found[1]) >= n_agents:
        return None
    return int(found[1]), found[2].lower()  # type: ignore[return-value]
