"""Routers that are trained on recorded questions, by any of `METHODS`, and what they choose on others.

A `Run` is plain data: `experiments.run_all` runs many of them in several processes. Benchmarks count alike, in training
(every benchmark equally often) as in every average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from suite.baselines import routerdc
from suite.routers import full_information
from suite.worlds.routing import AgentHead, RoutingData, RoutingWorld, choices
from trinity_core.heads import softmax
from trinity_core.training.learners import SepCmaEs
from trinity_core.training.task import Task
from trinity_core.training.train import PAPER_BUDGET, train

PENALTY = 3e-4  # of full-information's weights: notebook 16's choice for a single hidden state
NEIGHBOURS = (5, 10, 20, 40, 80, 160)
TIE = 1e-6  # of an agent's average, added where scores are compared: below any difference of two means of scores


@dataclass(frozen=True, eq=False)
class Run:
    """One training of `method`, one of METHODS; what follows the budget is for learners alone.

    `budget`: atomic evaluations (exact sep-cma-es: generations); `components`: leading directions of the states that
    are kept (None: all); `settings` replaces the method's own; `sampling` as in `Task`; `start`: weights (L d,) to
    start from (None: 0); `checkpoints`: smaller budgets that are judged too.
    """

    method: str
    seed: int = 1
    budget: int = PAPER_BUDGET
    components: int | None = None
    settings: Any = None
    sampling: str = "stratified"
    start: np.ndarray | None = None
    checkpoints: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Outcome:
    """The agents (n_test,) that a run's result chooses, those of its checkpoints, and what it cost.

    `parameters`: trained numbers; `evaluations`: scores read.
    """

    chosen: np.ndarray
    parameters: int
    evaluations: int
    at: Mapping[int, np.ndarray] = field(default_factory=dict)


def run(data: tuple[RoutingData, RoutingData], job: Run, progress: Callable[[int], None] | None = None) -> Outcome:
    """Trains on the first questions and lets the result choose on the second; ValueError names an unknown method.

    `progress` is called with the atomic evaluations of each iteration of a learner.
    """
    if job.method not in METHODS:
        raise ValueError(f"unknown method {job.method!r}; choose one of {', '.join(METHODS)}")
    known, asked = data
    if job.components is not None:
        # Directions of the second moments, not centred: a head without a bias needs what all states share.
        values, vectors = np.linalg.eigh(known.states.T @ known.states)
        kept = vectors[:, np.argsort(-values)[: job.components]]
        known, asked = (part.with_states(part.states @ kept) for part in data)
    return METHODS[job.method](known, asked, job, progress)


# --- methods ----------------------------------------------------------------------------------------------------------


def make_task(data: RoutingData, *, sampling: str = "stratified", start: np.ndarray | None = None) -> Task:
    """The single-step task of these questions; stratified: benchmarks are met equally often. `start` as in `Run`."""
    return Task(RoutingWorld(data), AgentHead(len(data.agents), data.states.shape[1], start), sampling)


def _learn(known: RoutingData, asked: RoutingData, job: Run, progress: Any) -> Outcome:
    task = make_task(known, sampling=job.sampling, start=job.start)
    how = {"settings": job.settings, "checkpoints": job.checkpoints, "progress": progress}
    result = train(job.method, task, job.budget, job.seed, **how)
    at = {budget: choices(theta, task.head, asked.states) for budget, theta in result.checkpoints.items()}
    return Outcome(choices(result.theta, task.head, asked.states), task.n, result.evaluations, at)


def _exact(known: RoutingData, asked: RoutingData, job: Run, progress: Any) -> Outcome:
    """sep-CMA-ES on J(theta) = sum_i w_i sum_a softmax(W h_i)_a r_ia over all training questions: no noise at all."""
    task = make_task(known, start=job.start)
    learner = (job.settings or SepCmaEs()).start(task, job.seed)
    states, shape = known.states.astype(np.float32), (-1, known.states.shape[1])  # float32: half the time
    for generation in range(job.budget):
        thetas, _ = learner.ask(generation)
        logits = (states @ thetas.reshape(shape).astype(np.float32).T).reshape(len(states), len(thetas), -1)
        expected = (softmax(logits) * known.right[:, None]).sum(axis=2)
        learner.replay(known.weights @ expected, {})
    spent = job.budget * len(thetas) * known.right.size
    return Outcome(choices(learner.theta, task.head, asked.states), task.n, spent)


def _full_information(known: RoutingData, asked: RoutingData, job: Run, progress: Any) -> Outcome:
    how = {"objective": "expected reward", "penalty": PENALTY}
    (router,) = full_information.fit(known.states, known.right, known.weights[None], **how)
    return Outcome(router.choose(asked.states), router.parameters, known.right.size)


def _routerdc(known: RoutingData, asked: RoutingData, job: Run, progress: Any) -> Outcome:
    how = {"seed": job.seed, "settings": job.settings or routerdc.RouterSettings(), "weights": known.weights}
    router = routerdc.fit(known.states, known.scores, **how)
    return Outcome(router.choose(asked.states), router.parameters, known.right.size)


def _rule(choose: Callable[[RoutingData, RoutingData], np.ndarray]) -> Callable[..., Outcome]:
    return lambda known, asked, job, progress: Outcome(choose(known, asked), 0, known.right.size)


def best_single(known: RoutingData, asked: RoutingData) -> np.ndarray:
    """(n_test,): the agent with the best average over the training benchmarks, everywhere."""
    return np.full(len(asked.questions), int(np.argmax(known.weights @ known.right)))


def best_by_benchmark(known: RoutingData, asked: RoutingData) -> np.ndarray:
    """(n_test,): a question's benchmark is known, and the agent that was best on its training file answers (of
    equals the one that is better on all); on a benchmark without one, the best single agent."""
    chosen, average = best_single(known, asked), known.weights @ known.right
    ours, theirs = (np.char.lower(data.families.astype(str)) for data in (known, asked))
    for name in np.unique(ours):
        chosen[theirs == name] = np.argmax(known.right[ours == name].mean(axis=0) + TIE * average)
    return chosen


def nearest(known: RoutingData, asked: RoutingData) -> np.ndarray:
    """(n_test,): the agent with the best mean score on the k nearest training questions by cosine; of equals, which are
    common among a few scores of 0 and 1, the one that does better on all training questions.

    k, of NEIGHBOURS, does best on the training questions, each without itself. ValueError for fewer than two of them.
    """
    others = len(known.questions) - 1
    if others < 1:
        raise ValueError("nearest neighbours need two training questions or more, not 1; give more, or another method")
    right, mean = known.right + TIE * (known.weights @ known.right), known.weights @ known.states
    counts = [k for k in NEIGHBOURS if k <= others] or [others]
    search = NearestNeighbors(metric="cosine").fit(known.states - mean)
    own = search.kneighbors(return_distance=False, n_neighbors=counts[-1])
    chosen = {k: right[own[:, :k]].mean(axis=1).argmax(axis=1) for k in counts}
    k = max(counts, key=lambda k: known.weights @ known.rewards(chosen[k])[0])
    places = search.kneighbors(asked.states - mean, n_neighbors=k, return_distance=False)
    return right[places].mean(axis=1).argmax(axis=1)


METHODS: dict[str, Callable[..., Outcome]] = {
    **dict.fromkeys(("sep-cma-es", "sft", "reinforce", "random-search"), _learn),
    "full-information": _full_information,
    "routerdc": _routerdc,
    "knn": _rule(nearest),
    "best-single": _rule(best_single),
    "per-benchmark-best": _rule(best_by_benchmark),
    "exact sep-cma-es": _exact,
}
LEARNERS = tuple(name for name, method in METHODS.items() if method is _learn)
BLIND = ("best-single", "per-benchmark-best")  # they read no hidden state
ONCE = ("full-information", "knn", *BLIND)  # nothing is drawn


def references(asked: RoutingData) -> dict[str, np.ndarray]:
    """What no router can know beforehand, chosen on the test questions themselves: chosen agents (n_test,) by name."""
    single, each = best_single(asked, asked), best_by_benchmark(asked, asked)
    return {
        "best single LLM": single,
        "best LLM of each benchmark": each,
        "best LLM of each question": asked.right.argmax(axis=1),
    }
