"""Proposition 1 run: sep-CMA-ES against random search on a Bernoulli-linear model, at the same budget of evaluations.

J(theta) = 1/2 + <theta, g>, cut to [0, 1]; one atomic evaluation is right with chance J, and a candidate's fitness is
the share of its m evaluations that were right (`noise=False`: J itself). |g| is set through `signal`: how far J
differs between candidates at the start, as a standard deviation.

Two gains of a vector theta. The alignment n cos^2(theta, g) is 1 for a blind direction and n for g; by it T steps
of an evolution strategy are worth T kappa-bar and the best of N random vectors 2 ln N, exactly the bound's
(kappa-bar/2) T / ln N, so it is read as the proposition's. J(theta) - 1/2 itself grows with the length of theta.
`step_gains` is the model of the proposition (a fixed step size, no covariance), `pycma_gains` the real thing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cma
import numpy as np

from suite.chapters.theory import random_vectors


@dataclass(frozen=True)
class LinearModel:
    """The settings of one comparison; budget of T generations: m_cma * lam * T evaluations for either method."""

    n: int = 10_000  # weights (the text's example)
    lam: int = 32  # candidates a generation
    m_cma: int = 16  # evaluations that a candidate's fitness averages
    m_rs: int = 32  # the same of a random vector
    sigma: float = 0.03  # sep-CMA-ES' first step size (released code)
    spread: float = 0.5  # random search draws each weight from [-spread, spread]
    signal: float = 0.02  # std of J among the first generation's candidates
    noise: bool = True

    def gradient(self, seed: int) -> np.ndarray:
        """g (n,): a random direction with |g| = signal / sigma."""
        g = np.random.default_rng([seed, self.n, 1]).standard_normal(self.n)
        return g * (self.signal / self.sigma / np.linalg.norm(g))

    def fitness(self, rise: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
        """Measured fitness of vectors with <theta, g> = `rise`; ties are broken at random, not by the sort's habits."""
        if not self.noise:
            return rise
        right = rng.binomial(m, np.clip(0.5 + rise, 0.0, 1.0))
        return (right + 0.5 * rng.random(rise.shape)) / m

    def reliability(self, m: int, sd: float, *, draws: int, seed: int) -> float:
        """Correlation between two independent measurements of the same candidates, whose J differs by `sd`."""
        if not self.noise:
            return 1.0
        rng = np.random.default_rng([seed, m, 2])
        rise = sd * rng.standard_normal(draws)
        twice = [rng.binomial(m, np.clip(0.5 + rise, 0.0, 1.0)) for _ in range(2)]
        return float(np.corrcoef(twice)[0, 1])


def step_gains(model: LinearModel, weights: np.ndarray, at: Sequence[int], *, runs: int, seed: int) -> np.ndarray:
    """Alignment and rise of the mean after each of the generations `at`, by the plain steps: (runs, len(at), 2).
    Selection sees only <theta, g>, so of what lies across g only the length is drawn: exact in distribution."""
    rng = np.random.default_rng([seed, model.n, 3])
    mean, found = np.zeros(runs), []
    for done in range(1, max(at) + 1):
        z = rng.standard_normal((runs, model.lam))
        measured = model.fitness(model.signal * (mean[:, None] + z), model.m_cma, rng)
        best = np.argsort(-measured, axis=1)[:, : len(weights)]
        mean = mean + np.take_along_axis(z, best, axis=1) @ weights
        if done in at:
            across = done * (weights**2).sum() * rng.chisquare(model.n - 1, runs)
            found.append((model.n * mean**2 / (mean**2 + across), model.signal * mean))
    return np.array(found).transpose(2, 0, 1)


def pycma_gains(model: LinearModel, at: Sequence[int], *, seed: int) -> np.ndarray:
    """The same by pycma's sep-CMA-ES, one run with all n weights: (len(at), 2)."""
    rng = np.random.default_rng([seed, model.n, 4])
    g, found = model.gradient(seed), []
    es = diagonal_strategy(np.zeros(model.n), model.sigma, model.lam, rng)
    for done in range(1, max(at) + 1):
        generation(es, lambda candidates: model.fitness(candidates @ g, model.m_cma, rng))
        if done in at:
            found.append(gains(es.mean, g))
    return np.array(found)


def diagonal_strategy(start: np.ndarray, sigma: float, lam: int, rng: np.random.Generator):
    """pycma's sep-CMA-ES drawing from `rng` alone, without stopping rules of its own."""
    settings = {"CMA_diagonal": True, "popsize": lam, "verbose": -9, "seed": np.nan}
    settings["randn"] = lambda *shape: rng.standard_normal(shape)
    return cma.CMAEvolutionStrategy(start, sigma, settings)


def generation(es, fitness: Callable[[np.ndarray], np.ndarray]) -> None:
    """One generation of `es`: `fitness` of its candidates (lambda, n), the higher the better."""
    with warnings.catch_warnings():
        # The two candidates on the line of the last move may lie far out, on which pycma remarks each time.
        warnings.simplefilter("ignore")
        candidates = np.asarray(es.ask())
        es.tell(list(candidates), list(-fitness(candidates)))


def gains(theta: np.ndarray, g: np.ndarray) -> tuple[float, float]:
    """(alignment n cos^2(theta, g), rise <theta, g>)."""
    rise = float(theta @ g)
    return len(g) * rise**2 / float((theta @ theta) * (g @ g)), rise


def random_gains(model: LinearModel, at: Sequence[int], *, runs: int, seed: int) -> np.ndarray:
    """Alignment and rise of the vector that measured best within the budget of `at` generations: (runs, len(at), 2).
    <theta, g> is normal up to about 1/n; |theta|^2 is n spread^2/3 up to a percent."""
    rng = np.random.default_rng([seed, model.n, 5])
    counts = [random_vectors(T, lam=model.lam, m_cma=model.m_cma, m_rs=model.m_rs) for T in at]
    cosine = rng.standard_normal((runs, max(counts)))
    rise = model.signal / model.sigma * model.spread / np.sqrt(3) * cosine
    measured = model.fitness(rise, model.m_rs, rng)
    best = np.array([measured[:, :count].argmax(axis=1) for count in counts]).T
    return np.stack([np.take_along_axis(cosine, best, 1) ** 2, np.take_along_axis(rise, best, 1)], axis=-1)


@dataclass(frozen=True)
class Ratio:
    """Ratio of mean gains by generation count, with 95 % bootstrap intervals over runs; each (len(at),)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    resampled: np.ndarray  # (draws, len(at))


def ratio(cma: np.ndarray, rs: np.ndarray, *, seed: int, draws: int = 1000) -> Ratio:
    """Mean of `cma` (runs, len(at)) over mean of `rs` (runs, len(at)); the runs of either are drawn again."""
    rng = np.random.default_rng([seed, 5])
    again = [x[rng.integers(len(x), size=(draws, len(x)))].mean(axis=1) for x in (cma, rs)]
    resampled = again[0] / again[1]
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    return Ratio(cma.mean(axis=0) / rs.mean(axis=0), low, high, resampled)
