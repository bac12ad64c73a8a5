"""The coordinator: heads over hidden states, for one candidate or a whole population (section 3.1).

theta (the head part, row-major) -> W -> z = W h -> two softmaxes -> (agent, role). The decision itself is in `heads`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trinity_core.heads import linear_from_flat
from trinity_core.types import ROLES


class Policy(Protocol):
    """What the role loop needs of a coordinator: logits for (candidate, state) pairs."""

    n_agents: int

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """candidates (batch,) int, states (batch, d) -> logits (batch, L + 3), float64."""
        ...


class LinearPolicy:
    """A population of linear heads, W (lambda, L + 3, d); a single head is a population of one."""

    def __init__(self, weights: np.ndarray) -> None:
        weights = np.asarray(weights, dtype=np.float64)
        weights = weights[None] if weights.ndim == 2 else weights
        if weights.ndim != 3 or weights.shape[1] <= len(ROLES):
            raise ValueError(f"weights have shape {weights.shape}; expected (lambda, L + {len(ROLES)}, d) with L >= 1")
        if not np.isfinite(weights).all():
            raise ValueError("weights hold a value that is not finite; refuse this candidate before it acts")
        self.weights = weights
        self.n_agents = weights.shape[1] - len(ROLES)

    @classmethod
    def from_flat(cls, theta: np.ndarray, n_agents: int, d: int) -> LinearPolicy:
        """The policy of flat head parameters (n,) or of a population (lambda, n), n = (L + 3) d."""
        return cls(linear_from_flat(theta, n_agents, d))

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """z = W_c h for each pair: candidates (batch,), states (batch, d) -> (batch, L + 3).

        Row by row in one fixed order of summation (no BLAS), so that a logit does not depend on the batch around it.
        """
        if states.shape[-1] != self.weights.shape[-1]:
            raise ValueError(
                f"the head reads d = {self.weights.shape[-1]} numbers but the states have d = {states.shape[-1]};"
                " a head fits only the encoder that it was made for"
            )
        if len(candidates) and not 0 <= min(candidates) <= max(candidates) < len(self.weights):
            raise ValueError(
                f"candidates {min(candidates)} to {max(candidates)} asked of a population of {len(self.weights)};"
                f" give 0 to {len(self.weights) - 1}"
            )
        return np.einsum("bkd,bd->bk", self.weights[candidates], np.asarray(states, dtype=np.float64))
