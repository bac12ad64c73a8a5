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
from trinity_core.training.learners import Adam

OBJECTIVES = ("expected reward", "likelihood", "regression")
STEPS, RATE = 100, 0.05  # of Adam on all questions at once: last bits stay last bits, as in no line search
LENGTH = 6.0
FLAT = 1e-12  # of a direction's variance over all questions
ROWS = 512  # questions at a time: what is computed of them stays in the processor's cache


@dataclass(frozen=True, eq=False)
class LinearRouter:
    """z = W h + b: `weights` (L, d), `bias` (L,)."""

    weights: np.ndarray
    bias: np.ndarray

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return self.weights.size + self.bias.size

    def choose(self, states: np.ndarray) -> np.ndarray:
        """The agent (n,) of each state (n, d)."""
        return (states @ self.weights.T + self.bias).argmax(axis=1)


def fit(
    states: np.ndarray, rewards: np.ndarray, weights: np.ndarray, *, objective: str, penalty: float
) -> list[LinearRouter]:
    """A router for each row of question weights (k, n), trained in step on states (n, d) and rewards (n, L) in [0, 1]:
    the states are read once for all of them. A question that a router must not learn from has the weight 0. No draws.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"unknown objective {objective!r}; choose one of {', '.join(OBJECTIVES)}")
    states, rewards, weights = (np.asarray(array, np.float64) for array in (states, rewards, weights))
    weights = weights / weights.sum(axis=1, keepdims=True)
    # Standardised by what all routers see, then by what each one sees.
    shared = weights.mean(axis=0)
    center = shared @ states
    spread = np.sqrt(shared @ (states - center) ** 2)
    spread[spread == 0] = 1.0
    states = (states - center) / spread
    mean = weights @ states
    variance = weights @ states**2 - mean**2
    # A direction that a router's own questions hardly vary in is left as it is.
    scale = np.where(variance > FLAT, np.sqrt(np.maximum(variance, FLAT)), 1.0) * np.sqrt(states.shape[1]) / LENGTH
    if objective == "regression":
        own = zip(weights, mean, scale, strict=True)
        found = np.array([_regression((states - m) / s, rewards, w, penalty) for w, m, s in own])
    else:
        targets = rewards
        if objective == "likelihood":
            best = rewards == rewards.max(axis=1, keepdims=True)
            targets = best / best.sum(axis=1, keepdims=True)
        found = _ascend(states, targets, weights, mean, scale, penalty, likelihood=objective == "likelihood")
    matrices = found[:, :, :-1] / scale[:, None]
    biases = found[:, :, -1] - (matrices @ mean[:, :, None])[:, :, 0]
    matrices = matrices / spread
    return [LinearRouter(matrix, bias - matrix @ center) for matrix, bias in zip(matrices, biases, strict=True)]


def _regression(x: np.ndarray, rewards: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray:
    x = np.hstack([x, np.ones((len(x), 1))])
    gram = (x * weights[:, None]).T @ x
    gram[np.diag_indices(len(gram))] += penalty
    targets = rewards - rewards.mean(axis=1, keepdims=True)
    return np.linalg.solve(gram, (x * weights[:, None]).T @ targets).T


def _ascend(
    states: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    penalty: float,
    *,
    likelihood: bool,
) -> np.ndarray:
    """W (k, L, d + 1) on x = ((states - mean) / scale, 1), which is never built: it differs between the k routers."""
    count, size, d = len(weights), targets.shape[1], states.shape[1]
    states = states.astype(np.float32)  # reading them is what takes the time; everything else stays in float64
    W = np.zeros((count, size, d + 1))
    adam = Adam(RATE, W.size)
    for _ in range(STEPS):
        matrix = W[:, :, :-1] / scale[:, None]
        bias = W[:, :, -1] - (matrix @ mean[:, :, None])[:, :, 0]
        by_states, by_constant = np.zeros((count * size, d)), np.zeros((count, size))
        for start in range(0, len(states), ROWS):
            rows = slice(start, start + ROWS)
            product = states[rows] @ matrix.reshape(-1, d).T.astype(np.float32)
            pi = softmax(product.astype(np.float64).reshape(-1, count, size) + bias)
            target = targets[rows, None]
            by_logits = target - pi if likelihood else pi * (target - (pi * target).sum(axis=2, keepdims=True))
            by_logits *= weights[:, rows].T[:, :, None]
            by_states += by_logits.reshape(-1, count * size).T.astype(np.float32) @ states[rows]
            by_constant += by_logits.sum(axis=0)
        centered = by_states.reshape(count, size, d) - by_constant[:, :, None] * mean[:, None]
        gradient = np.concatenate([centered / scale[:, None], by_constant[:, :, None]], axis=2) - 2 * penalty * W
        W = W + adam.step(gradient.ravel()).reshape(W.shape)
    return W
