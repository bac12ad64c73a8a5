"""Single agents, and agents picked at random: baselines that are fixed schedules of the role loop (A.7.1).

Readings of what the paper leaves open: a reflection is a Verifier's call of the same agent on its own latest answer,
and an ACCEPT ends the rollout, as in the loop (the paper's runs seem to go on, so costs here are lower). "Random agent"
varies the agent alone: every turn sees the turns before, and the last complete answer counts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suite.baselines.base import TURNS, NotTestable, OfAgents, Untrained, play, schedule
from trinity_core.pool import Pool
from trinity_core.rollout import Job
from trinity_core.types import Question, Role, Rollout

CAPS = ("max_tokens", "max_completion_tokens")
LARGER = 5  # times the usual output cap of 4,096 tokens
REFLECTION: tuple[Role, ...] = ("worker", "verifier", "worker", "verifier", "worker")


class Single(OfAgents):
    """Each agent alone: one that acts in `roles`, turn by turn; here one Worker call a question."""

    roles: tuple[Role, ...] = ("worker",)

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout an agent and question, agent by agent."""
        n_agents = len(pool.agents)
        jobs = [Job(question, agent, replicate) for agent, question in self.pairs(pool, questions)]
        rows = [schedule(n_agents, *((agent, role) for role in self.roles)) for agent in range(n_agents)]
        return play(pool, jobs, np.stack(rows), seed=seed)


class SelfReflection(Single):
    """One agent answers, reflects on its answer, answers again."""

    roles = REFLECTION


class SingleLarger(Single):
    """`Single` with `LARGER` times each agent's output cap."""

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """As `Single.run`. NotTestable where an agent has no cap: larger or not, its replies would be the same."""
        return super().run(larger_cap(pool), questions, seed=seed, replicate=replicate)


def larger_cap(pool: Pool) -> Pool:
    """The same pool (its cache, budget and limits too) with `LARGER` times every output cap."""
    agents = []
    for agent in pool.agents:
        caps = {name: LARGER * agent.parameters[name] for name in CAPS if name in agent.parameters}
        if not caps:
            raise NotTestable(
                f"agent {agent.name} has no output cap (max_tokens) that could be raised. Simulated agents are never "
                "cut at a cap, and the published tables hold no single agent's score at the larger one, so a run here "
                "would only repeat `single`"
            )
        agents.append(replace(agent, parameters=agent.parameters | caps))
    larger = copy.copy(pool)
    larger.agents = tuple(agents)
    return larger


class RandomAgent(Untrained):
    """An agent at random each turn, always as Worker."""

    role: Role | None = "worker"

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of K turns a question."""
        rows = schedule(len(pool.agents), *[(None, self.role)] * TURNS)[None]
        return play(pool, [Job(question, 0, replicate) for question in questions], rows, seed=seed)


class RandomAgentRole(RandomAgent):
    """Agent and role at random each turn: the role loop without a coordinator."""

    role = None
