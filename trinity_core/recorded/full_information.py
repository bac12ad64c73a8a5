"""What a router learns from the whole score table: every LLM's score on every training question, no exploration.

z = W x, x: the standardised states, about LENGTH long, and a constant 1. With rewards r_ia and question weights w_i
(benchmarks count alike):

    expected reward   max  sum_i w_i sum_a softmax(z_i)_a r_ia  -  penalty |W|^2     (the first term is J at K = 1)
    likelihood        max  sum_i w_i log softmax(z_i)_(l_i), averaged over the best LLMs l_i  -  penalty |W|^2
    regression        min  sum_i w_i sum_a (z_ia - (r_ia - mean_b r_ib))^2  +  penalty |W|^2

Standardising is linear, so it is folded into W and a bias afterwards: the trained router is L (d + 1) numbers. The
expected reward is not concave: what is found depends on the start, W = 0, on LENGTH and on the steps, all of which
were settled by cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trinity_core.heads import softmax

OBJECTIVES = ("expected reward", "likelihood", "regression")
STEPS, RATE = 100, 0.05  # of Adam on all questions at once: last bits stay last bits, as in no line search
LENGTH = 6.0


@dataclass(frozen=True, eq=False)
class LinearRouter:
    """z = W h + b: `weights` (L, d), `bias` (L,)."""

    weights: np.ndarray
    bias: np.ndarray

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return self.weights.size + self.bias.size

    def logits(self, states: np.ndarray) -> np.ndarray:
        """(n, d) -> (n, L)."""
        return states @ self.weights.T + self.bias

    def choose(self, states: np.ndarray) -> np.ndarray:
        """The agent (n,) of each state (n, d)."""
        return self.logits(states).argmax(axis=1)


def fit(
    states: np.ndarray, rewards: np.ndarray, weights: np.ndarray, *, objective: str, penalty: float
) -> LinearRouter:
    """Trains on states (n, d), rewards (n, L) in [0, 1] and question weights (n,). No draws: the same every time.

    ValueError for an unknown objective, shapes that do not fit or a penalty of 0 or less.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"unknown objective {objective!r}; choose one of {', '.join(OBJECTIVES)}")
    if not penalty > 0:
        raise ValueError(f"the penalty is {penalty}; give a number above 0")
    states, rewards, weights = (np.asarray(array, np.float64) for array in (states, rewards, weights))
    if states.ndim != 2 or rewards.shape[:1] != states.shape[:1] or weights.shape != states.shape[:1]:
        raise ValueError(f"states {states.shape}, rewards {rewards.shape} and weights {weights.shape} do not fit")
    weights = weights / weights.sum()
    mean = weights @ states
    scale = np.sqrt(weights @ (states - mean) ** 2)
    scale = np.where(scale > 0, scale, 1.0) * np.sqrt(states.shape[1]) / LENGTH
    x = np.hstack([(states - mean) / scale, np.ones((len(states), 1))])
    W = _regression(x, rewards, weights, penalty) if objective == "regression" else None
    if W is None:
        targets = rewards
        if objective == "likelihood":
            best = rewards == rewards.max(axis=1, keepdims=True)
            targets = best / best.sum(axis=1, keepdims=True)
        W = _ascend(x, targets, weights, penalty, likelihood=objective == "likelihood")
    matrix = W[:, :-1] / scale
    return LinearRouter(matrix, W[:, -1] - matrix @ mean)


def _regression(x: np.ndarray, rewards: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray:
    gram = (x * weights[:, None]).T @ x
    gram[np.diag_indices(len(gram))] += penalty
    targets = rewards - rewards.mean(axis=1, keepdims=True)
    return np.linalg.solve(gram, (x * weights[:, None]).T @ targets).T


def _ascend(x: np.ndarray, targets: np.ndarray, weights: np.ndarray, penalty: float, *, likelihood: bool) -> np.ndarray:
    from trinity_core.training.learners import Adam

    x = x.astype(np.float32)  # reading x is what takes the time; everything else stays in float64
    W = np.zeros((targets.shape[1], x.shape[1]))
    adam = Adam(RATE, W.size)
    for _ in range(STEPS):
        pi = softmax((x @ W.T.astype(np.float32)).astype(np.float64))
        value = (pi * targets).sum(axis=1, keepdims=True)
        by_logits = targets - pi if likelihood else pi * (targets - value)
        gradient = (by_logits * weights[:, None]).T.astype(np.float32) @ x - 2 * penalty * W
        W = W + adam.step(gradient.ravel()).reshape(W.shape)
    return W
