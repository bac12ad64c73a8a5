"""Definition 1 measured: the exact Hessian of the expected reward of a linear head, and how separable its blocks are.

One step of routing with a known reward table: logits z = W h, policy pi = softmax(z) over L agents,

    J(theta) = mean over questions q of sum_a pi_a(h_q) r(q, a),    theta = W row-major, n = L d.

With the advantage A_a = r_a - sum_b pi_b r_b and g_a = pi_a A_a, the logits' second derivatives are

    d2J / dz_a dz_b = g_a [a = b] - g_a pi_b - pi_a g_b,    so    H = -mean_q C_q (x) h_q h_q^T,

C_q that (L, L) matrix. -J is not convex, and Definition 1 divides by the diagonal, so here it is taken as |H_ii|; the
share of negative entries stands beside. The policy's Fisher matrix mean_q (diag(pi) - pi pi^T) (x) h_q h_q^T has no
such trouble. Of Definition 1 only (B3) depends on the scaling S: `Separability` has it for S = I and for S = D^-1, the
one that a diagonal strategy would learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.special import softmax


def policy(theta: np.ndarray, states: np.ndarray, n_agents: int) -> np.ndarray:
    """pi (questions, L) of the flat head `theta` (L d,) on `states` (questions, d)."""
    return softmax(states @ theta.reshape(n_agents, -1).T, axis=1)


def value_and_gradient(theta: np.ndarray, states: np.ndarray, rewards: np.ndarray) -> tuple[float, np.ndarray]:
    """J and its gradient (L d,); `rewards` (questions, L) are P(right) in [0, 1]."""
    pi = policy(theta, states, rewards.shape[1])
    means = (pi * rewards).sum(axis=1)
    g = pi * (rewards - means[:, None])
    return float(means.mean()), (g.T @ states / len(states)).ravel()


def ascend(states: np.ndarray, rewards: np.ndarray, *, steps: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """theta (L d,) after `steps` of exact gradient ascent from 0, and J before and after each (steps + 1,).

    `rate` is divided by the mean squared length of a state, so that it means the same for every kind of feature.
    """
    theta, values = np.zeros(rewards.shape[1] * states.shape[1]), []
    step = rate / (states**2).sum(axis=1).mean()
    for _ in range(steps):
        value, gradient = value_and_gradient(theta, states, rewards)
        values.append(value)
        theta = theta + step * gradient
    return theta, np.array([*values, value_and_gradient(theta, states, rewards)[0]])


def curvature(theta: np.ndarray, states: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Second derivatives of -J by the logits, question by question: (questions, L, L)."""
    pi = policy(theta, states, rewards.shape[1])
    g = pi * (rewards - (pi * rewards).sum(axis=1, keepdims=True))
    cross = g[:, :, None] * pi[:, None, :]
    return cross + cross.transpose(0, 2, 1) - g[:, :, None] * np.eye(rewards.shape[1])


def fisher(theta: np.ndarray, states: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """diag(pi) - pi pi^T of every question (questions, L, L); `rewards` only tells how many agents there are."""
    pi = policy(theta, states, rewards.shape[1])
    return pi[:, :, None] * np.eye(pi.shape[1]) - pi[:, :, None] * pi[:, None, :]


def assemble(by_logits: np.ndarray, states: np.ndarray) -> np.ndarray:
    """mean_q C_q (x) h_q h_q^T, (L d, L d), from `by_logits` C (questions, L, L) and `states` (questions, d)."""
    count, agents, _ = by_logits.shape
    d = states.shape[1]
    H = np.empty((agents, d, agents, d))
    for a in range(agents):
        for b in range(a, agents):
            H[a, :, b, :] = (states * by_logits[:, a, b, None]).T @ states / count
            H[b, :, a, :] = H[a, :, b, :].T
    return H.reshape(agents * d, agents * d)


def whitened(states: np.ndarray, share: float) -> np.ndarray:
    """The leading components of the states' second moments that hold `share` of them, each of mean square 1.

    (questions, k) with k < d. Not centred: the head has no bias, so the mean direction is one of the components.
    """
    U, s, _ = np.linalg.svd(states, full_matrices=False)
    kept = int(np.searchsorted(np.cumsum(s**2) / (s**2).sum(), share)) + 1
    return U[:, :kept] * np.sqrt(len(states))


# --- partitions of theta into blocks ---
def by_logit(n_agents: int, d: int) -> np.ndarray:
    """Block label (L d,) of each weight: its logit, a row of W."""
    return np.repeat(np.arange(n_agents), d)


def by_dimension(n_agents: int, d: int) -> np.ndarray:
    """L blocks of neighbouring hidden dimensions, each with all their logits: as large, to a few, as `by_logit`'s."""
    return np.tile(np.arange(d) * n_agents // d, n_agents)


def at_random(n_agents: int, d: int, *, seed: int, draw: int) -> np.ndarray:
    """Blocks of exactly `by_logit`'s sizes, the weights dealt out at random; another one for each `draw`."""
    return np.random.default_rng([seed, draw, 7]).permutation(by_logit(n_agents, d))


@dataclass(frozen=True)
class Separability:
    """epsilon by (B1), (B2), (B3) with S = I and by (B3) with S = D^-1; and a typical inter-block entry."""

    b1: float  # a spectral norm
    b2: float  # the largest normalised inter-block entry
    b3: float  # the largest row sum over its diagonal entry
    b3_scaled: float
    q99: float  # the 99th percentile of what `b2` is the largest of


class Normalised:
    """D^-1/2 H D^-1/2 with D = |diag(H)|; `negative` is the share of negative entries on H's diagonal.

    `diagonal` D (n,), `matrix` (n, n). ValueError where an entry of the diagonal is 0: no scaling exists there.
    """

    def __init__(self, H: np.ndarray) -> None:
        self.diagonal = np.abs(np.diagonal(H))
        if not (self.diagonal > 0).all():
            where = int(np.argmin(self.diagonal))
            raise ValueError(f"diagonal entry {where} is 0: weight {where} has no curvature; leave it out")
        self.negative = float((np.diagonal(H) < 0).mean())
        root = np.sqrt(self.diagonal)
        self.matrix = H / root / root[:, None]

    def separability(self, labels: np.ndarray) -> Separability:
        """epsilon between the blocks that `labels` (n,) name."""
        order = np.argsort(labels, kind="stable")
        root, ends = np.sqrt(self.diagonal[order]), np.cumsum(np.bincount(labels))
        between = self.matrix[np.ix_(order, order)]
        inside = [slice(end - size, end) for end, size in zip(ends, np.bincount(labels), strict=True)]
        for block in inside:
            between[block, block] = 0.0
        start, b1 = np.random.default_rng(len(labels)).standard_normal(len(labels)), 0.0
        if between.any():
            b1 = abs(float(eigsh(between, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)[0]))
        np.abs(between, out=between)
        # One row in seven is enough for a percentile; the whole matrix would take longer to sort than to make.
        entries = np.concatenate([np.delete(between[b][::7], np.r_[b], axis=1).ravel() for b in inside])
        rows = (between @ root) / root
        return Separability(b1, float(between.max()), float(rows.max()), float(between.sum(1).max()),
                            float(np.quantile(entries, 0.99)))  # fmt: skip


@dataclass(frozen=True)
class Spectrum:
    """Of one block of H: how many eigenvalues are clearly negative, zero or positive, and what dominates."""

    negative: int
    zero: int
    positive: int
    largest: float  # in size
    directions: float  # (sum |v|)^2 / sum v^2: how many equal ones they are worth


def spectrum(block: np.ndarray) -> Spectrum:
    """The eigenvalues of a symmetric matrix, counted; below 1e-9 of the largest they are rounding and count as zero."""
    values = np.linalg.eigvalsh(block)
    top = values[np.argmax(np.abs(values))]
    clear = np.abs(values) > 1e-9 * abs(top)
    signs = values[clear] > 0
    directions = np.abs(values).sum() ** 2 / (values**2).sum()
    return Spectrum(int((~signs).sum()), int((~clear).sum()), int(signs.sum()), float(top), float(directions))
