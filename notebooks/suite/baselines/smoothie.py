"""Smoothie (NeurIPS 2024): how good each agent is, from all agents' outputs alone, without labels (A.7.1).

Agent i's output on x has the embedding l_i(x) = z(x) + e_i(x), with independent errors of mean 0, so that

    D_ij = E|l_i - l_j|^2 = d_i + d_j,   d_i = E|e_i|^2 = mean over j, k of (D_ij + D_ik - D_jk) / 2
         = ((L - 1) S_i - T) / ((L - 1)(L - 2)),   S_i = sum_j D_ij,  T the sum over all pairs

and the smallest d_i is chosen: the agent nearest to the others. `independent`: E is the mean over the test set, one
agent for all of it; `dependent`: over the question alone, as the authors ran it. Departure: question and answer are
embedded by the coordinator's hidden state, every dimension scaled to unit spread, not by a sentence encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from suite.baselines.base import Untrained, ask_all_agents, failed, merged
from suite.baselines.routerdc import standardiser
from trinity_core.encoder import Encoder
from trinity_core.pool import Pool
from trinity_core.types import Question, Rollout


def squared_distances(outputs: np.ndarray) -> np.ndarray:
    """D (n, L, L) of outputs' embeddings (n, L, dim), a question a row."""
    return ((outputs[:, :, None] - outputs[:, None]) ** 2).sum(axis=-1)


def errors(distances: np.ndarray) -> np.ndarray:
    """d (..., L) from mean squared distances (..., L, L): the mean over triplets in closed form; may fall below 0."""
    size = distances.shape[-1]
    sums = distances.sum(axis=-1)
    total = sums.sum(axis=-1, keepdims=True) / 2
    return ((size - 1) * sums - total) / ((size - 1) * (size - 2))


def choose(outputs: np.ndarray, kind: Literal["independent", "dependent"]) -> np.ndarray:
    """An agent (n,) int a question, from outputs (n, L, dim); of equal ones the first."""
    distances = squared_distances(outputs)
    if kind == "independent":
        distances = np.broadcast_to(distances.mean(axis=0), distances.shape)
    return errors(distances).argmin(axis=1)


class Smoothie(Untrained):
    """The baseline. A rollout's turns are all L agents' calls, the chosen one's last: its answer is the latest."""

    def __init__(self, encoder: Encoder, kind: Literal["independent", "dependent"] = "dependent") -> None:
        self.encoder, self.kind = encoder, kind

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout a question, of L calls. ValueError where the pool has fewer than 3 agents, before any call."""
        if len(pool.agents) < 3:
            raise ValueError(f"Smoothie got a pool of {len(pool.agents)} agents; its triplets need at least 3")
        columns = ask_all_agents(pool, questions, seed=seed, replicate=replicate)
        texts = [f"{r.question.text}\n{r.turns[0].message.text}".strip() for column in columns for r in column]
        flat = np.asarray(self.encoder.encode(texts), dtype=np.float64)
        outputs = (flat / standardiser(flat)[1]).reshape(len(columns), len(pool.agents), -1)
        rollouts = []
        for column, chosen in zip(columns, choose(outputs, self.kind).tolist(), strict=True):
            last = column[chosen]
            parts = [*(rollout for rollout in column if rollout is not last), last]
            rollouts.append(merged(parts, failed(column) or last, replicate=replicate))
        return rollouts
