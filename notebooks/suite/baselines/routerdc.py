"""RouterDC (NeurIPS 2024): a query embedding and L agent embeddings, trained by two contrastive losses (A.7.1).

    u_i = P x_i,  s(i, t) = cos(u_i, k_t) / tau        x_i: the standardised state over sqrt(d), and a constant 1
    sample-agent    L_1 = mean_i sum_(t in top_i) ln(1 + sum_(v in bottom_i) exp(s(i, v) - s(i, t)))
    sample-sample   L_2 = mean_i ln(1 + sum_(j in far_i) exp((cos(u_i, u_j) - cos(u_i, u_near_i)) / tau))
    L = L_1 + weight L_2,   chosen agent = argmax_t s(i, t)

Departures: the authors fine-tune a 280M encoder and cluster by t-SNE and k-means; here the coordinator's frozen states
stand in, only P and k are trained, and k-means works on the same x. The authors keep the checkpoint that does best on
the test sets; here a fifth of the training questions is held out to choose it. Equal scores are in a seeded order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor
from torch.nn.functional import normalize

from suite.baselines.base import Untrained, ask_once
from trinity_core.encoder import Encoder
from trinity_core.pool import Pool
from trinity_core.types import Question, Rollout


@dataclass(frozen=True)
class RouterSettings:
    """Of the losses and their training; in brackets what the authors' code has, where that differs."""

    size: int = 16  # p: of query and agent embeddings (768)
    top: int = 3  # K+: the agents with the highest scores, as far as above 0
    bottom: int = 3  # K-: the lowest, as far as at most 0.5 (as the authors) and below the one they are set against
    far: int = 3  # H: queries of other clusters; one of the own is near; drawn anew at each step within the batch
    clusters: int = 5
    temperature: float = 1.0
    weight: float = 1.0  # of the sample-sample loss
    steps: int = 1000
    batch: int = 64
    learning_rate: float = 3e-3  # of Adam (5e-5, which fine-tunes; here P and k start as standard normals)
    decay: float = 0.01  # of the weights, decoupled
    look: int = 50  # steps from one look at the held-out questions to the next
    held_out: float = 0.2  # share of the training questions; with fewer than 10 of them none, and the last step counts


@dataclass(frozen=True)
class Router:
    """A trained router: P (p, d + 1), k (L, p); `mean`, `scale` (d,) standardise a state. `held_out` (looks,): the mean
    score of its choices on the held-out questions, of which the highest (of equals the last) was kept."""

    projection: np.ndarray
    agents: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    held_out: np.ndarray

    @property
    def parameters(self) -> int:
        """How many numbers were trained: p (d + 1) + L p."""
        return self.projection.size + self.agents.size

    def choose(self, states: np.ndarray) -> np.ndarray:
        """The agent (n,) int for each state (n, d)."""
        return _nearest(_features(states, self.mean, self.scale), self.projection, self.agents)


def fit(
    states: np.ndarray, scores: np.ndarray, *, seed: int, settings: RouterSettings, weights: np.ndarray | None = None
) -> Router:
    """Trains a router on states (n, d) and scores (n, L) in [0, 1], by Adam with decoupled weight decay.

    `weights` (n,), all above 0: how often a question is drawn into a batch and how much it counts where it is held out
    (None: all alike). ValueError where no question has two agents of different score: there is nothing to learn from.
    """
    generator = np.random.default_rng([seed, 2024])
    mean, scale = standardiser(states)
    x = _features(states, mean, scale)
    against = contrasts(scores, settings, generator)
    shuffled = generator.permutation(len(x))
    held, learnt = np.split(shuffled, [int(settings.held_out * len(x)) if len(x) >= 10 else 0])
    if not against[learnt].any():
        raise ValueError("no pair of agents, one above 0, the other lower and at most 0.5, in all scores: give others")
    clusters = min(settings.clusters, len(np.unique(x, axis=0)))  # k-means cannot part equal points, and warns
    cluster = KMeans(clusters, n_init=10, random_state=seed).fit_predict(x)
    starts = generator.normal(size=(settings.size, x.shape[1])), generator.normal(size=(scores.shape[1], settings.size))
    trained = [torch.tensor(start, requires_grad=True) for start in starts]
    adam = torch.optim.AdamW(trained, settings.learning_rate, weight_decay=settings.decay)
    looks: list[float] = []
    best, order = trained, learnt[:0]
    for step in range(1, settings.steps + 1):
        if weights is not None:
            odds = weights[learnt] / weights[learnt].sum()
            rows = generator.choice(learnt, min(settings.batch, len(learnt)), replace=False, p=odds)
        else:
            if not len(order):
                order = generator.permutation(learnt)
            rows, order = order[: settings.batch], order[settings.batch :]
        near, far = neighbours(cluster[rows], settings.far, generator)
        adam.zero_grad()
        loss(trained, x[rows], against[rows], near, far, settings).backward()
        adam.step()
        if len(held) and step % settings.look == 0:
            chosen = _nearest(x[held], *(array.detach().numpy() for array in trained))
            share = None if weights is None else weights[held]
            looks.append(float(np.average(scores[held, chosen], weights=share)))
            if looks[-1] == max(looks):
                best = [array.detach().clone() for array in trained]
    kept = (array.detach().numpy().copy() for array in best)
    return Router(*kept, mean, scale, np.array(looks))


def contrasts(scores: np.ndarray, settings: RouterSettings, generator: np.random.Generator) -> np.ndarray:
    """(n, L, L) bool: t of top_i is set against v of bottom_i, whose score is truly lower; equals in a drawn order."""
    order = np.lexsort((generator.random(scores.shape), -scores), axis=1)
    rank = np.argsort(order, axis=1)
    top = (rank < settings.top) & (scores > 0)
    bottom = (rank >= scores.shape[1] - settings.bottom) & (scores <= 0.5)
    return top[:, :, None] & bottom[:, None, :] & (scores[:, None, :] < scores[:, :, None])


def neighbours(cluster: np.ndarray, far: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """near (m,) and far (m, H) rows of a batch with clusters (m,) int.

    A row without another of its cluster, or with fewer than H of others, gets near = -1 and no sample-sample loss.
    """
    same = cluster[:, None] == cluster
    other, own = ~same, same & ~np.eye(len(cluster), dtype=bool)
    draws = generator.random(same.shape)
    near = np.where(own, draws, -1.0).argmax(axis=1)
    distant = np.argsort(np.where(other, draws, 2.0), axis=1)[:, :far]
    return np.where(own.any(axis=1) & (other.sum(axis=1) >= far), near, -1), distant


def loss(
    trained: list[Tensor], x: np.ndarray, against: np.ndarray, near: np.ndarray, far: np.ndarray, how: RouterSettings
) -> Tensor:
    """L of a batch x (m, d + 1) with its `contrasts` (m, L, L), by `trained`: P (p, d + 1) and k (L, p)."""
    u, k = normalize(torch.as_tensor(x) @ trained[0].T), normalize(trained[1])
    s = u @ k.T / how.temperature
    odds = torch.where(torch.as_tensor(against), torch.exp(s[:, None, :] - s[:, :, None]), 0.0)  # (m, t, v)
    value = torch.log(1 + odds.sum(dim=2)).sum() / len(x)
    rows = np.flatnonzero(near >= 0)
    if len(rows):
        to_far = torch.einsum("rp,rhp->rh", u[rows], u[far[rows]])
        to_near = (u[rows] * u[near[rows]]).sum(dim=1, keepdim=True)
        odds = torch.exp((to_far - to_near) / how.temperature)
        value = value + how.weight * torch.log(1 + odds.sum(dim=1)).mean()
    return value


def _features(states: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """x (n, d + 1). The constant lets an agent be near to all questions, as an encoder's own mean state would."""
    return np.hstack([(states - mean) / scale / np.sqrt(len(mean)), np.ones((len(states), 1))])


def _nearest(x: np.ndarray, projection: np.ndarray, agents: np.ndarray) -> np.ndarray:
    u, k = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x @ projection.T, agents))
    return (u @ k.T).argmax(axis=1)


def standardiser(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (d,) of states (n, d); 1 where a dimension is constant."""
    spread = states.std(axis=0)
    return states.mean(axis=0), np.where(spread > 0, spread, 1.0)


# --- over a pool ---


def question_states(encoder: Encoder, questions: Sequence[Question]) -> np.ndarray:
    """The questions' hidden states (n, d), float64: what the coordinator reads at its first turn."""
    return np.asarray(encoder.encode([question.text for question in questions]), dtype=np.float64)


def score_table(pool: Pool, questions: Sequence[Question], answers: int, seed: int) -> tuple[np.ndarray, list[Rollout]]:
    """(n, L): each agent's mean reward over `answers` of its own (NaN where all calls failed), and those answers. Other
    seeds hear other answers."""
    pairs = [(agent, question) for question in questions for agent in range(len(pool.agents))]
    asked = ask_once(pool, pairs, seed=seed, replicates=range(seed * answers, (seed + 1) * answers))
    rewards = np.array([r.reward for r in asked], float).reshape(answers, len(questions), -1)  # None: NaN
    known = (~np.isnan(rewards)).sum(axis=0)
    return np.where(known > 0, np.nansum(rewards, axis=0) / np.maximum(known, 1), np.nan), asked


class RouterDC(Untrained):
    """The baseline: trained on every agent's mean reward over `answers` answers to each training question."""

    def __init__(self, encoder: Encoder, settings: RouterSettings = RouterSettings(), answers: int = 5) -> None:
        self.encoder, self.settings, self.answers = encoder, settings, answers
        self.router: Router | None = None

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Asks for the score table and trains. A question that an agent never answered is left out."""
        scores, self.training = score_table(pool, questions_train, self.answers, seed)
        kept = np.flatnonzero(~np.isnan(scores).any(axis=1))
        if not len(kept):
            raise ValueError("RouterDC needs at least one training question that every agent answered")
        states = question_states(self.encoder, [questions_train[row] for row in kept])
        self.router = fit(states, scores[kept], seed=seed, settings=self.settings)

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One call a question, to the chosen agent. ValueError before `fit`. The choice itself draws nothing."""
        if self.router is None:
            raise ValueError("RouterDC has not been trained; call fit(pool, questions_train, seed=...) first")
        chosen = self.router.choose(question_states(self.encoder, questions)).tolist()
        asked = ask_once(pool, zip(chosen, questions, strict=True), seed=seed, replicates=[replicate])
        return [replace(rollout, candidate=0) for rollout in asked]
