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

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def mean_interval(rewards: np.ndarray, families: Sequence[str]) -> Estimate:
    """The mean reward of (seeds, n_questions[, R]), families weighing alike. NaN (a failed rollout) is left out."""
    return _interval(families, rewards)


def paired_difference(ours: np.ndarray, theirs: np.ndarray, families: Sequence[str]) -> Estimate:
    """mean(ours) - mean(theirs): questions are paired, seeds are drawn for either side on their own."""
    return _interval(families, ours, theirs)


def by_family(rewards: np.ndarray, families: Sequence[str]) -> dict[str, Estimate]:
    """The mean of each family's questions, in order of appearance."""
    table, names = _table(rewards, families), np.asarray(families)
    return {
        str(name): _interval(names[names == name], table[:, names == name]) for name in dict.fromkeys(names.tolist())
    }


def ratio_interval(part: np.ndarray, whole: np.ndarray) -> Estimate:
    """sum(part) / sum(whole), both (S, Q): what share of all turns; seeds and questions are drawn again."""
    there = whole.sum(axis=0) > 0
    part, whole, generator = part[:, there], whole[:, there], np.random.default_rng(0)
    by_seed, by_question = (generator.multinomial(size, np.full(size, 1 / size), DRAWS) for size in part.shape)
    values, totals = (((by_seed @ x) * by_question).sum(axis=1) for x in (part, whole))
    found = float(part.sum() / whole.sum())
    low, high = np.quantile(values[totals > 0] / totals[totals > 0], (0.025, 0.975))
    return Estimate(found, min(float(low), found), max(float(high), found))


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


def _interval(families: Sequence[str], *rewards: np.ndarray) -> Estimate:
    """Of the mean of one table of rewards, or of that of the first minus that of the second."""
    tables = [_table(one, families) for one in rewards]
    names, family, counts = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    weights = 1.0 / (len(names) * counts[family])
    by_name = np.argsort(family, kind="stable")
    size = counts[family[by_name]]  # of the family of each question, family by family
    first = np.repeat(np.cumsum(counts) - counts, counts)  # where that family begins

    def values(questions: np.ndarray, seeds: Sequence[np.ndarray]) -> np.ndarray:
        """(draws,): from how often each question (draws, n_questions) and each table's seeds (draws, S) were drawn."""
        means = []
        for table, drawn in zip(tables, seeds, strict=True):
            finite = np.isfinite(table)
            share = weights * questions * (drawn @ ~finite == 0)  # a question is left out where a drawn seed lacks it
            means.append((drawn @ np.where(finite, table, 0.0) * share).sum(axis=1) / len(table) / share.sum(axis=1))
        return means[0] - means[1] if means[1:] else means[0]

    generator, count = np.random.default_rng(0), len(family)
    found = float(values(np.ones((1, count)), [np.ones((1, len(table))) for table in tables])[0])
    draws, step = [], max(1, 2_000_000 // count)  # so many draws at a time: memory
    for begin in range(0, DRAWS, step):
        rows = range(min(step, DRAWS - begin))
        questions, seeds = np.empty((len(rows), count)), [np.ones((len(rows), len(table))) for table in tables]
        for row in rows:
            drawn = by_name[first + (generator.random(count) * size).astype(int)]
            questions[row] = np.bincount(drawn, minlength=count)
            for chosen in seeds:
                if (several := chosen.shape[1]) > 1:
                    chosen[row] = np.bincount(generator.integers(0, several, several), minlength=several)
        draws.append(values(questions, seeds))
    low, high = np.quantile(np.concatenate(draws), (0.025, 0.975))
    return Estimate(found, min(float(low), found), max(float(high), found))
