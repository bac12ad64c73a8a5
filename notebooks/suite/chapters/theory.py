"""kappa(mu, lambda): how well one step of an evolution strategy points uphill, and the bounds built on it.

A step samples z_1 ... z_lambda ~ N(0, I_n), ranks them by fitness and moves along s = sum_j w_j z_(j:lambda). Where
fitness rises along the unit vector u: alpha = E <u, s>, beta = E |s|^2, kappa = alpha^2 / beta, kappa-bar = n kappa.
On a linear fitness only <u, z_j> is ranked, so with the order statistics Z_(1) > Z_(2) > ... of lambda normals

    alpha = sum_j w_j E Z_(j),    beta = E (sum_j w_j Z_(j))^2 + (n - 1) sum_j w_j^2,

and kappa-bar tends to alpha^2 / sum_j w_j^2 = alpha^2 mu_eff: constant in n, but it grows with lambda. Proposition 1
bounds the gain of T such steps over random search (`theory_gain` runs both); by Proposition 2 a step removes kappa of
the squared distance to the optimum (`theory_contraction`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cma
import numpy as np
from scipy.special import betaln, log_ndtr, ndtri_exp

from suite.stats.separability import t_quantile


def recombination_weights(lam: int) -> np.ndarray:
    """The weights w (mu,), of sum 1, with which pycma's sep-CMA-ES moves its mean at population size `lam`: the
    positive ones of its list; the negative enter the covariance only."""
    settings = {"CMA_diagonal": True, "popsize": lam, "verbose": -9, "seed": np.nan}
    weights = cma.CMAEvolutionStrategy([0.0, 0.0], 1.0, settings).sp.weights
    return np.array(weights[: weights.mu], dtype=np.float64)


@dataclass(frozen=True)
class Kappa:
    """`alpha`, `beta` and kappa at dimension `n`; `low`, `high` bound kappa-bar (95 %), equal where it is exact."""

    n: int
    alpha: float
    beta: float
    low: float
    high: float

    @property
    def kappa(self) -> float:
        return self.alpha**2 / self.beta

    @property
    def bar(self) -> float:
        return self.n * self.kappa


def simulated_kappa(weights: np.ndarray, lam: int, n: int, *, draws: int, seed: int) -> Kappa:
    """kappa by drawing `draws` populations. Across u the z_j are independent of their ranks, so the length of sum_j w_j
    z_j there is drawn as the one number (sum_j w_j^2) chi^2_(n-1)."""
    rng = np.random.default_rng([seed, lam, n])
    ranked = -np.sort(-rng.standard_normal((draws, lam)), axis=1)[:, : len(weights)]
    along = ranked @ weights
    squared = along**2 + (weights**2).sum() * rng.chisquare(max(n - 1, 1), draws) * (n > 1)
    alpha, beta = float(along.mean()), float(squared.mean())
    bar = n * alpha**2 / beta
    # Delta method: to first order kappa varies with 2 along/alpha - squared/beta.
    spread = float((2 * along / alpha - squared / beta).std(ddof=1))
    half = t_quantile(draws) * bar * spread / math.sqrt(draws)
    return Kappa(n, alpha, beta, bar - half, bar + half)


def exact_kappa(weights: np.ndarray, lam: int, n: int) -> Kappa:
    """kappa from the moments of normal order statistics, by quadrature (about nine digits)."""
    means, products = order_statistics(lam, len(weights))
    alpha = float(weights @ means)
    beta = float(weights @ products @ weights + (n - 1) * (weights**2).sum())
    return Kappa(n, alpha, beta, n * alpha**2 / beta, n * alpha**2 / beta)


@lru_cache(maxsize=16)
def order_statistics(lam: int, top: int) -> tuple[np.ndarray, np.ndarray]:
    """E Z_(i) (top,) and E Z_(i) Z_(j) (top, top) of the `top` largest of `lam` standard normals, largest first. In
    probabilities the i-th smallest is V_i ~ Beta(i, lam - i + 1), and V_i / V_j ~ Beta(i, j - i) for i < j is
    independent of V_j. The trapezoidal rule over y = ndtri(V_j) and t = logit(V_i / V_j) is exact to about nine digits,
    since both integrands fall off smoothly. The smallest ones mirror the largest."""
    y = np.linspace(-12.0, 12.0, 241)
    t = np.linspace(-45.0, 45.0, 301)
    log_v, log_rest = log_ndtr(y), log_ndtr(-y)
    log_ratio, log_other = -np.logaddexp(0, -t), -np.logaddexp(0, t)
    places = np.arange(1, top + 1)
    log_normal = -0.5 * y**2 - 0.5 * math.log(2 * math.pi)
    at = [np.exp((j - 1) * log_v + (lam - j) * log_rest - betaln(j, lam - j + 1) + log_normal) * (y[1] - y[0])
          for j in places]  # fmt: skip
    lower = ndtri_exp(log_v[:, None] + log_ratio)  # Z_(i) where Z_(j) = y and the ratio is t: (y, t)
    products = np.empty((top, top))
    for j in places:
        products[j - 1, j - 1] = at[j - 1] @ y**2
        for i in range(1, j):
            share = np.exp(i * log_ratio + (j - i) * log_other - betaln(i, j - i)) * (t[1] - t[0])
            products[i - 1, j - 1] = products[j - 1, i - 1] = (at[j - 1] * y) @ (lower @ share)
    means = -np.array([density @ y for density in at])
    means.flags.writeable = products.flags.writeable = False  # kept for the next caller
    return means, products


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """b of the least-squares fit log y = a + b log x: 0 where y does not depend on x, -1 where it falls as 1/x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def random_vectors(T: int, *, lam: int, m_cma: int, m_rs: int) -> int:
    """How many vectors random search can try for the budget of `T` generations: floor(m_CMA lambda T / m_RS)."""
    return m_cma * lam * T // m_rs


def gain_bound(T: int, kappa_bar: float, eta: float, *, lam: int, m_cma: int, m_rs: int) -> float:
    """Proposition 1's lower bound on the gain ratio after 2 <= T <= 60 generations, without its unspecified term
    -C/ln(...): (kappa-bar/2) T / ln(max(e, N)) eta^2 with N = `random_vectors`."""
    vectors = random_vectors(T, lam=lam, m_cma=m_cma, m_rs=m_rs)
    return kappa_bar / 2 * T / math.log(max(math.e, vectors)) * eta**2
