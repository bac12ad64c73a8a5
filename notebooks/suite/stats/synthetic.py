"""Figure 14's synthetic experiment: how separable must hidden states be for a linear head to find the best agent?

Hidden states of `clusters` kinds of question are drawn in `d` dimensions. Each kind has one best agent. A training
question's label is the agent with the most rewards over a few Bernoulli trials, ties broken uniformly (the SFT labels
of the paper), so labels are noisy as real ones are. A linear head without bias is fitted to them, and tested on fresh
questions against the *true* best agent. The separability index tr(S_B)/tr(S_T) is set from 0 to 1.

Departures: the paper gives dimensions, agents and clusters; the rewards, the number of questions and the fit
(ridge-penalised multinomial logistic regression) are ours and stand in `Synthetic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import spearmanr, t
from sklearn.linear_model import LogisticRegression


@dataclass(frozen=True)
class Synthetic:
    """The experiment's settings. `d`, `agents`, `clusters`: A.3, Figure 14; the rest is assumed."""

    d: int = 1024  # dimensions of a hidden state
    agents: int = 7
    clusters: int = 4
    train: int = 400  # training questions
    test: int = 1000  # fresh questions
    trials: int = 3  # Bernoulli rewards an agent and training question (three seeds, as for SFT's labels)
    best: float = 0.8  # success rate of a cluster's best agent
    others: tuple[float, float] = (0.2, 0.6)  # range of the other agents' success rates


def cluster_centres(index: float, setting: Synthetic, rng: np.random.Generator) -> np.ndarray:
    """Centres `(clusters, d)` with mean 0 whose mean squared length is exactly `index * d`."""
    centres = rng.standard_normal((setting.clusters, setting.d))
    centres -= centres.mean(axis=0)
    return centres * np.sqrt(index * setting.d / (centres**2).sum(axis=1).mean())


def success_rates(setting: Synthetic, rng: np.random.Generator) -> np.ndarray:
    """Success rates `(clusters, agents)`; each cluster has its own best agent."""
    rates = rng.uniform(*setting.others, (setting.clusters, setting.agents))
    rates[np.arange(setting.clusters), rng.permutation(setting.agents)[: setting.clusters]] = setting.best
    return rates


def noisy_labels(rates: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Per row of `rates (questions, agents)` the agent with the most rewards in `trials` draws, ties uniformly."""
    wins = rng.binomial(trials, rates)
    return np.argmax(wins + rng.uniform(0, 0.5, wins.shape), axis=1)


def head_accuracy(index: float, setting: Synthetic, *, seed: int) -> float:
    """Share of fresh questions for which the fitted linear head picks the best agent; `index` = tr(S_B)/tr(S_T)."""
    rng = np.random.default_rng([seed, setting.d])
    rates, centres = success_rates(setting, rng), cluster_centres(index, setting, rng)
    train, test = (np.arange(count) % setting.clusters for count in (setting.train, setting.test))  # clusters
    states, fresh = (
        centres[clusters] + np.sqrt(1 - index) * rng.standard_normal((len(clusters), setting.d))
        for clusters in (train, test)
    )
    labels = noisy_labels(rates[train], setting.trials, rng)
    # A penalty that grows with d keeps the fit from learning each training question's own noise by heart.
    head = LogisticRegression(C=1 / setting.d, fit_intercept=False, max_iter=200).fit(states, labels)
    return float(np.mean(head.predict(fresh) == rates.argmax(axis=1)[test]))


def sweep(indices: Sequence[float], setting: Synthetic, *, seeds: Sequence[int]) -> pd.DataFrame:
    """A frame with one row for each (index, seed): `d`, `index`, `seed`, `accuracy`."""
    rows = [(setting.d, index, seed, head_accuracy(index, setting, seed=seed)) for index in indices for seed in seeds]
    return pd.DataFrame(rows, columns=["d", "index", "seed", "accuracy"])


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy for each index, with a 95 % t-interval over seeds: `index`, `accuracy`, `low`, `high`."""
    runs = frame.groupby("index")["accuracy"].agg(["mean", "sem", "count"])
    half = t.ppf(0.975, runs["count"] - 1) * runs["sem"]
    table = pd.DataFrame({"accuracy": runs["mean"], "low": runs["mean"] - half, "high": runs["mean"] + half})
    return table.clip(0, 1).reset_index()


def rank_correlation(frame: pd.DataFrame, *, draws: int = 1000, seed: int) -> tuple[float, float, float]:
    """Spearman's correlation of index and accuracy, with a 95 % bootstrap interval.

    The bootstrap draws whole seeds: the runs of one seed share their success rates and noise.
    """
    runs = frame.pivot(index="seed", columns="index", values="accuracy")
    table, rng = runs.to_numpy(), np.random.default_rng(seed)

    def rho(rows: np.ndarray) -> float:
        return float(spearmanr(np.tile(runs.columns, len(rows)), table[rows].ravel()).statistic)

    resampled = [rho(rng.integers(len(table), size=len(table))) for _ in range(draws)]
    return rho(np.arange(len(table))), *map(float, np.quantile(resampled, [0.025, 0.975]))


def saturation(summary: pd.DataFrame, *, share: float = 0.99) -> float:
    """The smallest index from which on mean accuracy stays within `share` of its highest value."""
    below = np.flatnonzero(summary["accuracy"] < share * summary["accuracy"].max())
    return float(summary["index"].iloc[below[-1] + 1 if len(below) else 0])
