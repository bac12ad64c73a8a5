"""Supervised fine-tuning, single step, head only (section 4 and A.2.1 of the paper).

The label of a question is its oracle agent: for each of `seeds` replicates every agent answers alone and one of the
best is drawn evenly; the majority over the seeds is the label, ties again drawn evenly. The linear head's agent rows
then minimise the cross-entropy of the labels by Adam. So a label costs seeds * L atomic evaluations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trinity_core.heads import softmax
from trinity_core.training.learners import Adam
from trinity_core.training.task import Task


@dataclass(frozen=True)
class Sft:
    """Settings: `rate` Adam's learning rate (the paper's), `batch` its batch, `epochs` passes over the questions."""

    seeds: int = 3
    rate: float = 1e-6
    batch: int = 64
    epochs: int = 500


def oracle_labels(rewards: np.ndarray, seed: int) -> np.ndarray:
    """Labels (n,) from rewards (seeds, n, L), finite: per seed the best agent, ties drawn evenly; then the majority."""
    rewards = np.asarray(rewards, np.float64)
    if rewards.ndim != 3 or not np.isfinite(rewards).all():
        raise ValueError(f"rewards of shape {rewards.shape} must be (seeds, n, L) and finite")
    generator = np.random.default_rng([seed, 0x1ABE1])
    votes = np.zeros(rewards.shape[1:])
    for one in rewards:
        votes[np.arange(len(votes)), _draw_best(one, generator)] += 1
    return _draw_best(votes, generator)


def _draw_best(scores: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(n,): the column of the highest score (n, L) of each row, ties drawn evenly."""
    ties = scores == scores.max(axis=1, keepdims=True)
    return np.argmax(np.where(ties, generator.random(scores.shape), -1.0), axis=1)


def collect(task: Task, settings: Sft, budget: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(questions (n,), labels (n,), atomic evaluations spent) within the budget; questions in a drawn order."""
    world, n_agents = task.world, task.world.n_agents
    order = label_order(task, np.random.default_rng([seed, 0x0DE]))
    count = min(len(order), budget // (settings.seeds * n_agents))
    if count < 1:
        raise ValueError(f"a budget of {budget} labels no question; one label costs {settings.seeds * n_agents}")
    chosen = np.sort(order[:count])
    grid = np.array(np.meshgrid(np.arange(settings.seeds), chosen, np.arange(n_agents), indexing="ij"))
    rounds, questions, agents = grid.reshape(3, -1)
    rewards = world.solve(agents, questions, rounds).reshape(settings.seeds, count, n_agents)
    return chosen, oracle_labels(rewards, seed), rewards.size


def label_order(task: Task, generator: np.random.Generator) -> np.ndarray:
    """The order (n,) in which questions are labelled: drawn; unless sampling is independent, one family after another
    in turn, so that a small budget labels all alike."""
    order = generator.permutation(len(task.world.questions))
    if task.sampling == "independent":
        return order
    families = [task.world.questions[place].family for place in order]
    turn = [families[:place].count(family) for place, family in enumerate(families)]
    return order[np.argsort(turn, kind="stable")]


def fit(features: np.ndarray, labels: np.ndarray, settings: Sft, n_agents: int, n_roles: int, seed: int) -> np.ndarray:
    """theta ((L + 3) d,): agent rows by minibatch Adam on the mean cross-entropy, role rows 0. features (n, d)."""
    generator = np.random.default_rng([seed, 0xF17])
    weights = np.zeros((n_agents, features.shape[1]))
    adam = Adam(settings.rate, weights.size)
    for _ in range(settings.epochs):
        order = generator.permutation(len(labels))
        for start in range(0, len(order), settings.batch):
            rows = order[start : start + settings.batch]
            score = -softmax(features[rows] @ weights.T)
            score[np.arange(len(rows)), labels[rows]] += 1.0
            weights += adam.step((score.T @ features[rows]).ravel() / len(rows)).reshape(weights.shape)
    return np.concatenate([weights, np.zeros((n_roles, features.shape[1]))]).ravel()
