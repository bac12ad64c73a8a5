"""Proposition 2 run: how much of the distance to the optimum of a quadratic one step removes, without noise.

f(x) = 1/2 <x, H x>, minimised, H with mean eigenvalue 1. A step along s = sum_j w_j z_(j:lambda) changes f by
sigma <Hx, s> + sigma^2/2 <s, H s>, in the mean by -sigma |Hx| alpha + sigma^2 beta / 2. The best step size is
sigma* = |Hx| alpha / beta, and it removes the share

    kappa |Hx|^2 / <x, H x>,   which is kappa = kappa-bar / n on H = I, of f and of |x|^2 alike,

and between kappa times the smallest and kappa times the largest eigenvalue otherwise. alpha and beta are those of a
linear fitness: on a quadratic, candidates also differ by sigma^2 |z_j|^2 / 2, small only where (alpha mu_eff)^2
is small against 2 n. So the best step is also searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from suite.chapters.theory import exact_kappa
from suite.chapters.theory_gain import diagonal_strategy, generation
from suite.stats.separability import t_quantile


@dataclass(frozen=True)
class Quadratic:
    """H by its eigenvalues and how many weights share each; the mean eigenvalue is 1."""

    eigenvalues: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def n(self) -> int:
        return sum(self.counts)

    @classmethod
    def sphere(cls, n: int) -> Quadratic:
        """H = I: what a diagonal strategy makes of any diagonal H once it has learned the scales."""
        return cls((1.0,), (n,))

    @classmethod
    def coupled(cls, n: int, eps: float) -> Quadratic:
        """Unit diagonal, entry `eps` between weight i and i + n/2: eigenvalues 1 - eps, 1 + eps, whatever the scaling;
        eps is what (B1), (B2) and (B3) of Definition 1 give for either half as a block."""
        return cls((1 - eps, 1 + eps), (n // 2, n // 2))


def log_values(
    quadratic: Quadratic, weights: np.ndarray, lam: int, *, steps: int, chains: int, seed: int, factor: float = 1.0
) -> np.ndarray:
    """log f of `chains` independent runs, before and after each of `steps` steps of the size `factor` sigma*: (steps +
    1, chains). Within an eigenspace of m weights a candidate acts through its component along x and its m - 1 others;
    of those only the inner products between candidates count: a Wishart matrix, drawn as the product of Bartlett's
    triangle with itself. Exact in distribution, at a cost that does not grow with n; needs m > lambda."""
    if min(quadratic.counts) <= lam:
        raise ValueError(f"counts {quadratic.counts} must exceed the population size {lam}; take a larger n")
    rng = np.random.default_rng([seed, quadratic.n, len(quadratic.counts)])
    eigenvalues, counts = np.array(quadratic.eigenvalues), np.array(quadratic.counts)
    moments = exact_kappa(weights, lam, quadratic.n)
    share = np.sqrt(np.outer(np.ones(chains), counts / quadratic.n))  # length of x within each eigenspace
    logs, log_scale = [np.log(share**2 @ eigenvalues / 2)], np.zeros(chains)
    for _ in range(steps):
        sigma = factor * np.sqrt(share**2 @ eigenvalues**2) * moments.alpha / moments.beta
        along = rng.standard_normal((len(counts), chains, lam))
        others = np.array([_triangle(rng, m - 1, lam, chains) for m in counts])  # rows: candidates
        squares = along**2 + np.einsum("kcij,kcij->kci", others, others)
        change = sigma[:, None] * np.einsum("k,ck,kci->ci", eigenvalues, share, along)
        change += sigma[:, None] ** 2 / 2 * np.einsum("k,kci->ci", eigenvalues, squares)
        chosen = np.zeros((chains, lam))
        np.put_along_axis(chosen, np.argsort(change, axis=1)[:, : len(weights)], weights[None], axis=1)
        moved = share + sigma[:, None] * np.einsum("ci,kci->ck", chosen, along)
        across = np.einsum("ci,kcij->kcj", chosen, others)
        share = np.sqrt(moved**2 + sigma[:, None] ** 2 * np.einsum("kcj,kcj->ck", across, across))
        length = np.sqrt((share**2).sum(axis=1))
        share, log_scale = share / length[:, None], log_scale + np.log(length)  # f may fall below the smallest float
        logs.append(np.log(share**2 @ eigenvalues / 2) + 2 * log_scale)
    return np.array(logs)


def _triangle(rng: np.random.Generator, dimensions: int, lam: int, chains: int) -> np.ndarray:
    """(chains, lam, lam) lower triangular A with A A^T distributed as the inner products of `lam` normal vectors."""
    triangle = np.tril(rng.standard_normal((chains, lam, lam)), -1)
    diagonal = np.sqrt(rng.chisquare(dimensions - np.arange(lam), (chains, lam)))
    triangle[:, np.arange(lam), np.arange(lam)] = diagonal
    return triangle


def removed(logs: np.ndarray) -> tuple[float, float, float]:
    """Share of f that one step removes: mean over steps and chains of 1 - f'/f, as the proposition takes the
    expectation, with its 95 % interval over the independent chains."""
    shares = (1 - np.exp(np.diff(logs, axis=0))).mean(axis=0)
    half = t_quantile(len(shares)) * shares.std(ddof=1) / np.sqrt(len(shares))
    return float(shares.mean()), float(shares.mean() - half), float(shares.mean() + half)


def best_factor(n: int, weights: np.ndarray, lam: int, factors: Sequence[float], *, chains: int, seed: int) -> float:
    """The factor on sigma* by which a step on the sphere removes most; every factor is tried on the same draws."""
    sphere = Quadratic.sphere(n)
    found = [removed(log_values(sphere, weights, lam, steps=1, chains=chains, seed=seed, factor=f))[0] for f in factors]
    return float(factors[int(np.argmax(found))])


def pycma_logs(scales: np.ndarray, lam: int, *, steps: int, sigma: float, seed: int) -> np.ndarray:
    """log f (steps + 1, 1) of pycma's mean on f(x) = sum_i scales_i x_i^2 / 2, before and after each step, from x = (1,
    ..., 1) on, with pycma's own step size and diagonal."""
    rng = np.random.default_rng([seed, len(scales), 6])
    es = diagonal_strategy(np.ones(len(scales)), sigma, lam, rng)
    logs = [np.log((scales * es.mean**2).sum() / 2)]
    for _ in range(steps):
        generation(es, lambda candidates: -(candidates**2) @ scales)
        logs.append(np.log((scales * es.mean**2).sum() / 2))
    return np.array(logs)[:, None]


def mean_rate(logs: np.ndarray, first: int, last: int) -> float:
    """Share of f that one step removes on the geometric average over the steps `first` to `last`, all chains."""
    return float(1 - np.exp((logs[last] - logs[first]).mean() / (last - first)))


def coupled_rates(
    n: int, eps: Sequence[float], weights: np.ndarray, lam: int, *, steps: int, chains: int, seed: int
) -> pd.DataFrame:
    """`rate` of steps at sigma* for each coupling, 0 first, without the first third of the steps, in which a run
    forgets how far it started along either eigenspace; `relative` to that at 0, 95 % within `half`."""
    rows = []
    for value in (0.0, *eps):
        quadratic = Quadratic.coupled(n, value) if value else Quadratic.sphere(n)
        logs = log_values(quadratic, weights, lam, steps=steps, chains=chains, seed=seed)[steps // 3 :]
        rates = 1 - np.exp((logs[-1] - logs[0]) / (len(logs) - 1))
        rows.append((value, rates.mean(), t_quantile(chains) * rates.std(ddof=1) / np.sqrt(chains) / rates.mean()))
    frame = pd.DataFrame(rows, columns=["eps", "rate", "half"])
    frame["relative"] = frame["rate"] / frame["rate"][0]
    frame["half"] = np.hypot(frame["half"], frame["half"][0]) * frame["relative"]  # of a ratio, to first order
    frame.loc[0, "half"] = 0.0
    return frame
