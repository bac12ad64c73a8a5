"""Who plays a population: the rollouts of many candidates at once, as arrays (`Plays`).

Symbols: lambda -> candidates, m -> rollouts a candidate, K -> turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trinity_core.types import ROLES

WORKER, THINKER, VERIFIER = range(3)
NOBODY = -1
STOPS = ("turn limit", "accepted", "verifier before answer", "failed call")


@dataclass(frozen=True)
class Plays:
    """Rollouts of a population, each array (lambda, m) or, with a turn axis, (lambda, m, K).

    `reward` is NaN for a failed rollout. `nodes` are the transcripts that were read, `agents` and `roles` who acted,
    -1 where there was no such turn; `named`: that turn's role was named by a Thinker, not drawn from the head.
    """

    questions: np.ndarray  # index into the world's questions
    replicates: np.ndarray
    reward: np.ndarray
    turns: np.ndarray
    stop: np.ndarray  # index into STOPS
    tokens_in: np.ndarray
    tokens_out: np.ndarray
    cost: np.ndarray
    nodes: np.ndarray
    agents: np.ndarray
    roles: np.ndarray
    named: np.ndarray
    n_agents: int

    @property
    def fitness(self) -> np.ndarray:
        """(lambda,): the mean reward of each candidate over the rollouts that did not fail; NaN where all did."""
        good = np.isfinite(self.reward)
        count = good.sum(axis=1)
        total = np.where(good, self.reward, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def agent_share(self) -> np.ndarray:
        """(L,): the share of the turns that each agent had (Figure 6)."""
        return _shares(self.agents, self.n_agents)

    def role_share(self) -> np.ndarray:
        """(3,): the share of the turns in each role, in the order of `ROLES`."""
        return _shares(self.roles, len(ROLES))


def _shares(values: np.ndarray, count: int) -> np.ndarray:
    counts = np.bincount(values[values >= 0].ravel(), minlength=count)
    return counts / max(counts.sum(), 1)
