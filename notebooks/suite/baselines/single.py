"""Single agents, agents picked at random, and what choosing well among single answers could give (A.7.1).

Readings of what the paper leaves open: a reflection is a Verifier's call of the same agent on its own latest answer,
and an ACCEPT ends the rollout, as in the loop (the paper's runs seem to go on, so costs here are lower). "Random agent"
varies the agent alone: every turn sees the turns before, and the last complete answer counts.

Per-question best, the union of all agents' right answers, knows the reference: it is a bound on methods that pass on
one of these answers, and no system. Best fixed agent per family: the highest mean on the family's training questions
(the first on a tie), failed calls left out.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suite.baselines.base import (
    TURNS,
    NotTestable,
    Untrained,
    agent_numbers,
    ask_all_agents,
    ask_once,
    failed,
    merged,
    play,
    schedule,
)
from suite.stats.rollouts import rollouts_table
from trinity_core.pool import Pool
from trinity_core.rollout import Job
from trinity_core.types import Question, Role, Rollout

CAPS = ("max_tokens", "max_completion_tokens")
LARGER = 5  # times the usual output cap of 4,096 tokens
REFLECTION: tuple[Role, ...] = ("worker", "verifier", "worker", "verifier", "worker")


class Single(Untrained):
    """Each agent alone (`agent`, name or number: that one only), which acts in `roles`: here one Worker call."""

    per_agent = True
    roles: tuple[Role, ...] = ("worker",)

    def __init__(self, agent: str | int | None = None) -> None:
        self.agent = agent

    def pairs(self, pool: Pool, questions: Sequence[Question]) -> list[tuple[int, Question]]:
        """Agent by agent, in each question by question."""
        return [(agent, question) for agent in agent_numbers(pool, self.agent) for question in questions]

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
    """An agent at random each turn, as Worker; `role` None: at random too, the role loop without a coordinator."""

    def __init__(self, role: Role | None = "worker") -> None:
        self.role = role

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of K turns a question."""
        rows = schedule(len(pool.agents), *[(None, self.role)] * TURNS)[None]
        return play(pool, [Job(question, 0, replicate) for question in questions], rows, seed=seed)


class PerQuestionBest(Untrained):
    """All agents are asked; a right answer is taken wherever there is one."""

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of L calls a question; its candidate is the first agent that is right (0: none is). The reward is
        None where no answer is right and a call failed: that one might have been."""
        rollouts = []
        for group in ask_all_agents(pool, questions, seed=seed, replicate=replicate):
            best = next((agent for agent, rollout in enumerate(group) if rollout.reward == 1), 0)
            chosen = group[best] if group[best].reward else failed(group) or group[best]
            rollouts.append(merged(group, chosen, candidate=best, replicate=replicate))
        return rollouts


class BestFixed(Untrained):
    """One agent a family, chosen on training questions. `chosen`: family -> agent number, after `fit`."""

    def __init__(self) -> None:
        self.chosen: dict[str, int] = {}

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Asks every agent every training question once (replicate `seed`); ValueError where a family has no score."""
        asked = ask_all_agents(pool, questions_train, seed=seed, replicate=seed)
        self.training = [rollout for column in zip(*asked, strict=True) for rollout in column]  # agent by agent
        means = rollouts_table(self.training).pivot_table(values="reward", index="family", columns="candidate")
        for family in dict.fromkeys(question.family for question in questions_train):
            if family not in means.index:
                raise ValueError(f"no training answer on family {family!r}: every call failed; see the turns' errors")
        self.chosen = means.idxmax(axis=1).to_dict()

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of one call a question, by its family's agent, which is the candidate."""
        missing = {question.family for question in questions} - set(self.chosen)
        if missing:
            raise ValueError(f"no agent was chosen for family {min(missing)!r}; fit on training questions of every one")
        pairs = [(self.chosen[question.family], question) for question in questions]
        return ask_once(pool, pairs, seed=seed, replicates=[replicate])
