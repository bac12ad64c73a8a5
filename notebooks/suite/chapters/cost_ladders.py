"""The same output tokens, spent otherwise: one agent's majority of many answers, or its longer reflection (A.7).

A method that writes more should be held against what the same tokens buy elsewhere. A *ladder* is one agent with
growing effort; between two steps a coin decides how much effort a question gets, so that any mean number of tokens can
be met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.baselines.base import ask_once, play, schedule
from suite.baselines.single import REFLECTION
from trinity_core.rollout import Job
from trinity_core.training.task import FRESH

if TYPE_CHECKING:
    from trinity_core.types import Question


@dataclass(frozen=True)
class Ladder:
    """One agent with growing effort: `reward` and `tokens` (out), both (steps, n_questions, R), a step an effort."""

    efforts: tuple[int, ...]
    reward: np.ndarray
    tokens: np.ndarray

    def at(self, tokens: Mapping[str, float], families: Sequence[str]) -> tuple[np.ndarray, dict[str, float]]:
        """Rewards (1, n_questions, R) at a family's mean output `tokens`, and the mean effort that they pay for.

        Between two steps a coin decides which of them a question gets, its chance such that the tokens agree on
        average: the reward is that mixture's mean. Below the first or above the last step it is that step's.
        """
        names = np.asarray(families)
        out, paid = np.empty((1, *self.reward.shape[1:])), {}
        for family in dict.fromkeys(names.tolist()):
            rows = names == family
            steps = self.tokens[:, rows].mean(axis=(1, 2))
            place = float(np.interp(tokens[family], steps, np.arange(len(steps))))
            low = min(int(place), len(steps) - 2)
            share = place - low
            out[0, rows] = (1 - share) * self.reward[low, rows] + share * self.reward[low + 1, rows]
            paid[str(family)] = float((1 - share) * self.efforts[low] + share * self.efforts[low + 1])
        return out, paid


def majority_ladder(pool: Any, questions: Sequence[Question], agent: int, *, samples: int, replicates: int) -> Ladder:
    """Majority of 1, 3, 5, ... `samples` answers of one agent; a tie goes to the answer seen first.

    Simulated answers are the same answer where they are the same text (`baselines.committee` asks the checkers).
    """
    efforts = tuple(range(1, samples + 1, 2))
    numbers = [samples * (FRESH + r) + s for r in range(replicates) for s in range(samples)]
    asked = ask_once(pool, [(agent, question) for question in questions], seed=1, replicates=numbers)
    shape = (replicates, samples, len(questions))
    right = np.array([rollout.reward for rollout in asked]).reshape(shape)
    tokens = np.array([r.turns[0].message.tokens_out for r in asked], float).reshape(shape).cumsum(axis=1)
    codes: dict[tuple[str, str | None], int] = {}
    said = np.array([codes.setdefault((r.question.id, r.answer), len(codes)) for r in asked]).reshape(shape)
    reward = np.empty((len(efforts), len(questions), replicates))
    for step, effort in enumerate(efforts):
        votes = (said[:, :effort, None] == said[:, None, :effort]).sum(axis=2)  # (R, effort, n)
        first = votes.argmax(axis=1)  # of equals the first
        reward[step] = np.take_along_axis(right, first[:, None], axis=1)[:, 0].T
    return Ladder(efforts, reward, tokens[:, [e - 1 for e in efforts]].transpose(1, 2, 0))


def reflection_ladder(pool: Any, questions: Sequence[Question], agent: int, *, turns: int, replicates: int) -> Ladder:
    """Answer and reflection in turn, 1, 3, 5, ... `turns` turns at most, ended by the agent's own ACCEPT."""
    efforts = tuple(range(1, turns + 1, 2))
    jobs = [Job(question, 0, FRESH + r) for r in range(replicates) for question in questions]
    reward, tokens = np.empty((2, len(efforts), len(questions), replicates))
    for step, effort in enumerate(efforts):
        roles = [REFLECTION[turn % 2] for turn in range(effort)]
        done = play(pool, jobs, schedule(len(pool.agents), *((agent, role) for role in roles))[None], seed=1)
        reward[step] = np.array([r.reward for r in done]).reshape(replicates, -1).T
        used = [sum(turn.message.tokens_out for turn in r.turns) for r in done]
        tokens[step] = np.array(used).reshape(replicates, -1).T
    return Ladder(efforts, reward, tokens)
