"""What the baselines of A.7.1 share: their interface, fixed schedules, and how single calls become a `Rollout`.

Every call of a baseline stands in the rollout's turns, with its tokens and dollars: also one whose text is dropped. A
failed call is never a wrong answer: where the method needed its reply, the rollout's reward is None. The first Worker
call of replicate r is the same call in every baseline: methods are compared on the same answers, each paid once.

A fixed way to use the pool is played by the role loop itself (`play`), with logits that do not look at the question in
the coordinator's place: turns, verdicts, stops and costs follow one set of rules for all methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suite.checkers import is_right
from trinity_core.pool import Pool
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import ROLES, Question, Role, Rollout, Turn

BLOCKED = -1000.0  # a logit whose chance is exactly 0 beside a logit of 0
TURNS = 5  # K (A.7.1)


class NotTestable(ValueError):
    """This pool cannot tell what the baseline would show; the message says why. A result, not a fault."""


class Untrained:
    """What a baseline is unless it says otherwise: it learns nothing, and `run` gives one rollout a question in order;
    `per_agent`: one an agent and question, the agent as `candidate`. `training`: the rollouts that `fit` paid for."""

    per_agent = False
    training: Sequence[Rollout] = ()

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Nothing to learn."""

    def callers(self, pool: Pool) -> Any:
        """What `turns_table` needs to name every turn's agent: the pool, where nobody else was asked."""
        return pool

    def remark(self, pool: Pool, rollouts: Sequence[Rollout]) -> str:
        """What a reader of the result must know besides the numbers; empty: nothing."""
        return ""


def agent_numbers(pool: Pool, agent: str | int | None) -> list[int]:
    """The number of the agent of that name or number, as a list of one; None: of all. ValueError names a wrong one."""
    names = [one.name for one in pool.agents]
    found = [number for number, name in enumerate(names) if agent in (None, number, name)]
    if not found:
        raise ValueError(f"no agent {agent!r} in this pool; choose one of {', '.join(names)}, or 0 to {len(names) - 1}")
    return found


def schedule(n_agents: int, *turns: tuple[int | None, Role | None]) -> np.ndarray:
    """Logits (K, L + 3) of a fixed schedule: each turn's agent and role; None: all of them equally likely."""
    logits = np.full((len(turns), n_agents + len(ROLES)), BLOCKED)
    for row, (agent, role) in zip(logits, turns, strict=True):
        row[slice(n_agents) if agent is None else agent] = 0.0
        row[slice(n_agents, None) if role is None else n_agents + ROLES.index(role)] = 0.0
    return logits


class Schedules:
    """Policy and encoder of one run of the loop: logits (lambda, K, L + 3) by candidate and turn; no text is read."""

    d = 1

    def __init__(self, logits: np.ndarray, n_agents: int) -> None:
        self.table, self.n_agents, self.turn = logits, n_agents, 0

    def encode(self, texts: Sequence[Any], *, reuse_prefix: bool = False) -> np.ndarray:
        return np.zeros((len(texts), self.d))

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        self.turn += 1  # the loop asks once a turn, for all rollouts together
        return self.table[candidates, self.turn - 1]


def play(pool: Pool, jobs: Sequence[Job], logits: np.ndarray, *, seed: int) -> list[Rollout]:
    """The jobs' rollouts in the role loop, by schedules (lambda, K, L + 3); a job's candidate picks one of them."""
    policy = Schedules(logits, len(pool.agents))
    return run_rollouts(jobs, policy, policy, pool, LoopSettings(max_turns=logits.shape[1], seed=seed), check=is_right)


def ask_once(
    pool: Pool, pairs: Iterable[tuple[int, Question]], *, seed: int, replicates: Iterable[int]
) -> list[Rollout]:
    """For every replicate and (agent, question): that agent's one Worker call. The agent is the `candidate`."""
    pairs, n_agents = list(pairs), len(pool.agents)
    jobs = [Job(question, agent, replicate) for replicate in replicates for agent, question in pairs]
    return play(pool, jobs, np.stack([schedule(n_agents, (a, "worker")) for a in range(n_agents)]), seed=seed)


def ask_all_agents(pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int) -> list[list[Rollout]]:
    """For every question: each agent's one Worker call, in the pool's order."""
    size = len(pool.agents)
    pairs = [(agent, question) for question in questions for agent in range(size)]
    asked = ask_once(pool, pairs, seed=seed, replicates=[replicate])
    return [asked[start : start + size] for start in range(0, len(asked), size)]


def numbered(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The same turns with the indices 1, 2, ..."""
    return tuple(replace(turn, index=index) for index, turn in enumerate(turns, 1))


def merged(parts: Sequence[Rollout], chosen: Rollout | None, *, candidate: int = 0, replicate: int = 0) -> Rollout:
    """One rollout of all the turns of `parts`, of one question, with the answer of `chosen`; None: without one."""
    turns = numbered(turn for part in parts for turn in part.turns)
    answer, reward = (chosen.answer, chosen.reward) if chosen else (None, 0.0)
    stop = "failed call" if reward is None else "turn limit"
    return Rollout(parts[0].question, candidate, replicate, turns, answer, reward, stop)


def failed(rollouts: Iterable[Rollout]) -> Rollout | None:
    """The first of these in which a call failed for good."""
    return next((rollout for rollout in rollouts if rollout.reward is None), None)
