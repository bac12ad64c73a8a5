"""Intervals for trained systems: a bootstrap over seeds and over questions, paired where two systems are compared.

A system is trained with several seeds and each result answers the same questions: rewards (seeds, n_questions, R), R
rollouts a question with the same draws for every system. Both the seeds and the questions are a sample, so both are
drawn again: the interval covers another training and other questions of the same kind. Families count alike: a mean is
the mean of the families' means. They are no sample: questions are drawn within each, so that a difference between
families widens nothing. 95 % percentile intervals from `DRAWS` draws of a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DRAWS = 2000


class Estimate(NamedTuple):
    """A mean (or difference of means) and its 95 % interval."""

    value: float
    low: float
    high: float

    def percent(self) -> Estimate:
        """The same in percent, or in points."""
        return Estimate(*(100 * part for part in self))

    def points(self) -> str:
        """In percent, as text."""
        return str(self.percent())

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def mean_interval(rewards: np.ndarray, families: Sequence[str]) -> Estimate:
    """The mean reward of (seeds, n_questions[, R]), families weighing alike. NaN (a failed rollout) is left out."""
    table = _table(rewards, families)
    return _interval(table, families, np.random.default_rng(0))


def paired_difference(ours: np.ndarray, theirs: np.ndarray, families: Sequence[str]) -> Estimate:
    """mean(ours) - mean(theirs): questions are paired, seeds are drawn for either side on their own."""
    a, b = _table(ours, families), _table(theirs, families)
    return _interval(a, families, np.random.default_rng(0), b)


def by_family(rewards: np.ndarray, families: Sequence[str]) -> dict[str, Estimate]:
    """The mean of each family's questions, in order of appearance."""
    table, names = _table(rewards, families), np.asarray(families)
    return {
        str(name): _interval(table[:, names == name], names[names == name], np.random.default_rng(0))
        for name in dict.fromkeys(names.tolist())
    }


def _table(rewards: np.ndarray, families: Sequence[str]) -> np.ndarray:
    """(seeds, n_questions): each question's mean over its rollouts."""
    rewards = np.asarray(rewards, np.float64)
    if rewards.ndim not in (2, 3) or rewards.shape[1] != len(families) or not rewards.size:
        raise ValueError(
            f"rewards of shape {rewards.shape} for {len(families)} families' names; give (seeds, n_questions[, R])"
        )
    if rewards.ndim == 2:
        return rewards
    good = np.isfinite(rewards)
    count = good.sum(axis=2)
    return np.where(count, np.where(good, rewards, 0.0).sum(axis=2) / np.maximum(count, 1), np.nan)


def _interval(
    table: np.ndarray, families: Sequence[str], generator: np.random.Generator, other: np.ndarray | None = None
) -> Estimate:
    names, family, counts = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    weights = 1.0 / (len(names) * counts[family])
    by_name = np.argsort(family, kind="stable")
    size = counts[family[by_name]]  # of the family of each question, family by family
    first = np.repeat(np.cumsum(counts) - counts, counts)  # where that family begins

    def mean(rows: np.ndarray, share: np.ndarray, values: np.ndarray) -> float:
        part = values[rows].mean(axis=0) if len(values) > 1 else values[0]
        good = np.isfinite(part)
        return float((part[good] * share[good]).sum() / share[good].sum())

    questions, seeds = table.shape[1], np.arange(len(table))
    found = mean(seeds, weights, table) - (0.0 if other is None else mean(np.arange(len(other)), weights, other))
    draws = np.empty(DRAWS)
    for number in range(DRAWS):
        # Drawn questions as counts, so that their weights go on.
        drawn = by_name[first + (generator.random(questions) * size).astype(int)]
        share = weights * np.bincount(drawn, minlength=questions)
        draws[number] = mean(generator.integers(0, len(table), len(table)), share, table)
        if other is not None:
            draws[number] -= mean(generator.integers(0, len(other), len(other)), share, other)
    low, high = np.quantile(draws, (0.025, 0.975))
    return Estimate(found, min(float(low), found), max(float(high), found))
