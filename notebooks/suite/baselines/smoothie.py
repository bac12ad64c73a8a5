"""Smoothie (NeurIPS 2024): how good each agent is, from all agents' outputs alone, without labels (A.7.1).

The model: agent i's output on question x has the embedding l_i(x) = z(x) + e_i(x), the unknown best output's plus an
error of the agent's own, with independent errors of mean 0. Then pairwise squared distances add up the two errors:

    D_ij = E|l_i - l_j|^2 = d_i + d_j,   d_i = E|e_i|^2
    d_i = (D_ij + D_ik - D_jk) / 2   for any other two j, k: the mean over all such pairs is taken,

and the agent with the smallest d_i (the authors' quality is dim / (2 d_i)) is chosen. With S_i = sum_j D_ij and T the
sum over all pairs, that mean is

    d_i = ((L - 1) S_i - T) / ((L - 1)(L - 2)),

so the order of agents is that of S_i: the chosen one is nearest to the others. Smoothie is a majority rule on
embeddings, right where errors are independent and lost where wrong agents agree.

`independent`: E is the mean over the whole test set, one agent for all of it. `dependent`: the mean over the question's
`neighbours` nearest questions by hidden state, itself among them; 1, as the authors ran it, is the question alone.

As the authors do, what is embedded is the question with the answer. Departure: their sentence encoder is replaced by
the coordinator's hidden state of that text, every dimension scaled to unit spread (a few would dwarf all others).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from suite.baselines.base import Untrained, ask_once, failed, merged
from suite.baselines.routerdc import question_states, standardiser
from trinity_core.encoder import Encoder
from trinity_core.pool import Pool
from trinity_core.types import Question, Rollout


def squared_distances(outputs: np.ndarray) -> np.ndarray:
    """D (n, L, L) of outputs' embeddings (n, L, dim), a question a row.

    ValueError where the shape is another, a value is not finite, or L < 3: two agents' errors cannot be told apart.
    """
    outputs = np.asarray(outputs, dtype=np.float64)
    if outputs.ndim != 3 or not outputs.size:
        raise ValueError(f"outputs have shape {outputs.shape}; expected (n, L, dim) with at least one question")
    if outputs.shape[1] < 3:
        raise ValueError(f"Smoothie got {outputs.shape[1]} agents; its triplets need at least 3")
    bad = np.argwhere(~np.isfinite(outputs).all(axis=2))
    if len(bad):
        raise ValueError(f"the output of agent {bad[0][1]} on question {bad[0][0]} holds a value that is not finite")
    return ((outputs[:, :, None] - outputs[:, None]) ** 2).sum(axis=-1)


def errors(distances: np.ndarray) -> np.ndarray:
    """d (..., L) from mean squared distances (..., L, L): the mean over triplets in closed form; may fall below 0."""
    size = distances.shape[-1]
    sums = distances.sum(axis=-1)
    total = sums.sum(axis=-1, keepdims=True) / 2
    return ((size - 1) * sums - total) / ((size - 1) * (size - 2))


def choose_independent(outputs: np.ndarray) -> int:
    """The one agent for all questions, from outputs (n, L, dim); of equal ones the first."""
    return int(errors(squared_distances(outputs).mean(axis=0)).argmin())


def choose_dependent(outputs: np.ndarray, states: np.ndarray | None = None, neighbours: int = 1) -> np.ndarray:
    """An agent (n,) int a question, from outputs (n, L, dim) and, for neighbours > 1, the questions' states (n, d)."""
    distances = squared_distances(outputs)
    if neighbours == 1:
        return errors(distances).argmin(axis=1)
    if not 1 < neighbours <= len(distances) or states is None or len(states) != len(distances):
        raise ValueError(
            f"{neighbours} neighbours among {len(distances)} questions with "
            f"{'no' if states is None else len(states)} states; give 1 to {len(distances)} and a state each"
        )
    apart = ((states[:, None] - states[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(apart, -1.0)  # the question itself comes first, also before its equals
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :neighbours]
    return errors(distances[nearest].mean(axis=1)).argmin(axis=1)


class Smoothie(Untrained):
    """The baseline. Every question asks all L agents, and all those calls are counted.

    A rollout's turns are the L Workers' calls, the chosen agent's last, so its answer is the latest Worker's.
    `neighbours` is read by `dependent` alone.
    """

    def __init__(
        self, encoder: Encoder, kind: Literal["independent", "dependent"] = "dependent", neighbours: int = 1
    ) -> None:
        if kind not in ("independent", "dependent"):
            raise ValueError(f"unknown kind {kind!r} of Smoothie; choose independent or dependent")
        self.name, self.encoder, self.kind, self.neighbours = f"smoothie-{kind}", encoder, kind, neighbours

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout a question, of L calls. ValueError where the pool has fewer than 3 agents, before any call."""
        size = len(pool.agents)
        if size < 3:
            raise ValueError(f"Smoothie got a pool of {size} agents; its triplets need at least 3")
        pairs = [(agent, question) for question in questions for agent in range(size)]
        asked = ask_once(pool, pairs, seed=seed, replicates=[replicate])
        columns = [asked[start : start + size] for start in range(0, len(asked), size)]
        rollouts = []
        for column, chosen in zip(columns, self._choose(questions, columns), strict=True):
            last = column[chosen]
            parts = [rollout for rollout in column if rollout is not last] + [last]
            reward = None if failed(column) else last.reward
            rollouts.append(merged(parts, last.answer, reward, replicate=replicate))
        return rollouts

    def _choose(self, questions: Sequence[Question], columns: list[list[Rollout]]) -> list[int]:
        texts = [
            f"{question.text}\n{rollout.turns[0].message.text}".strip()
            for question, column in zip(questions, columns, strict=True)
            for rollout in column
        ]
        flat = np.asarray(self.encoder.encode(texts), dtype=np.float64)
        outputs = (flat / standardiser(flat)[1]).reshape(len(questions), len(columns[0]), -1)
        if self.kind == "independent":
            return [choose_independent(outputs)] * len(questions)
        states = question_states(self.encoder, questions) if self.neighbours > 1 else None
        return choose_dependent(outputs, states, self.neighbours).tolist()
