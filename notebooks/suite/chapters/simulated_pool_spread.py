"""How much questions and agents differ, measured on a record of repeated answers: the simulated pool's two spreads.

Model (see `pool.calibration`): agent a is right on question q with chance sigmoid(theta_a - s_d x_q + s_p y_aq), x and
y standard normal. Each agent gave `answers` independent answers a question, so the variance of its true chance over
questions is the variance of its mean scores less the binomial part, and the covariance between two agents needs no
correction. s_d and s_p are what gives the observed mean variance and mean covariance, at the observed mean scores.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from suite.pools.calibration import sigmoid

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def observed_moments(scores: np.ndarray, answers: int) -> tuple[float, float]:
    """(mean variance of the agents' true chances, mean covariance between agents) of scores (n, L) in [0, 1]."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] < 2 or answers < 2:
        raise ValueError(f"scores {scores.shape} of {answers} answers: need (n, L >= 2) means of at least 2 answers")
    covariance = np.cov(scores.T)
    noise = (scores * (1 - scores)).mean(axis=0) / (answers - 1)
    apart = ~np.eye(scores.shape[1], dtype=bool)
    return float((np.diag(covariance) - noise).mean()), float(covariance[apart].mean())


def model_moments(means: np.ndarray, difficulty_sd: float, private_sd: float) -> tuple[float, float]:
    """The same two moments by the model, for agents of mean scores (L,); Gauss-Hermite quadrature."""
    total = np.hypot(difficulty_sd, private_sd)
    low, high = np.full(len(means), -60.0), np.full(len(means), 60.0)
    for _ in range(60):
        theta = (low + high) / 2
        below = sigmoid(theta[:, None] + total * NODES) @ WEIGHTS < means
        low, high = np.where(below, theta, low), np.where(below, high, theta)
    variance = sigmoid(theta[:, None] + total * NODES) ** 2 @ WEIGHTS - means**2
    given = sigmoid(theta[:, None, None] + difficulty_sd * NODES[:, None] + private_sd * NODES) @ WEIGHTS
    covariance = (given * WEIGHTS) @ given.T - np.outer(means, means)
    return float(variance.mean()), float(covariance[~np.eye(len(means), dtype=bool)].mean())


def spreads(scores: np.ndarray, answers: int) -> tuple[float, float]:
    """(s_d, s_p) in logits of scores (n, L): each the mean of `answers` right-or-wrong answers of an agent."""
    wanted = np.array(observed_moments(scores, answers))
    means = np.asarray(scores, dtype=np.float64).mean(axis=0)
    if not ((means > 0) & (means < 1)).all():
        raise ValueError(f"mean scores are {means}; an agent that is always right or always wrong tells no spread")
    fit = least_squares(lambda sd: 100 * (np.array(model_moments(means, *sd)) - wanted), [1.5, 1.5], bounds=(0.01, 20))
    return float(fit.x[0]), float(fit.x[1])


def routerdc_scores(path: Path) -> np.ndarray:
    """Scores (n, L) of a RouterDC file, a JSON list of {question, scores: {LLM: score}}."""
    records = json.loads(Path(path).read_text(encoding="utf-8"))
    return np.array([list(record["scores"].values()) for record in records], dtype=np.float64)
