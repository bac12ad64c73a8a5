"""Train a router on recorded questions and let it choose on others, by any of METHODS.

Benchmarks count alike, in training (every family equally often) and in the average. A method's choices are judged by
the recorded scores of whichever LLM it picks; intervals are over seeds and questions (`analysis.intervals`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.stats.intervals import Estimate, by_family, mean_interval
from suite.worlds.routing import AgentHead, RoutingData, RoutingWorld, choices

LEARNERS = ("sep-cma-es", "sft", "reinforce", "random-search")
METHODS = (*LEARNERS, "full-information", "routerdc", "knn", "best-single", "per-benchmark-best")
PENALTY = 3e-4  # of full-information's weights: notebook 16's choice for a single hidden state
NEIGHBOURS = (5, 10, 20, 40, 80, 160)
TIE = 1e-6  # of an agent's average, added where scores are compared: below any difference of two means of scores
BLIND = ("best-single", "per-benchmark-best")  # they read no hidden state


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a method chose: `chosen` (seeds, n_test) agents; one row where the method has no seed.

    `parameters`: trained numbers; `evaluations`: scores read in training, a seed; `seconds` of all trainings.
    """

    method: str
    data: RoutingData
    chosen: np.ndarray
    parameters: int
    evaluations: int
    seconds: float

    @property
    def rewards(self) -> np.ndarray:
        """P(right) (seeds, n_test) of the chosen agents."""
        return self.data.right[np.arange(len(self.data.questions)), self.chosen]

    @property
    def average(self) -> Estimate:
        """The mean over benchmarks."""
        return mean_interval(self.rewards, self.data.families)

    @property
    def by_benchmark(self) -> dict[str, Estimate]:
        """Each benchmark's mean."""
        return by_family(self.rewards, self.data.families)

    def shares(self) -> np.ndarray:
        """(benchmarks, L): how often each agent was chosen, benchmarks in order of appearance."""
        families = self.data.families
        counts = [
            np.bincount(self.chosen[:, families == name].ravel(), minlength=len(self.data.agents))
            for name in dict.fromkeys(families.tolist())
        ]
        return np.array([count / count.sum() for count in counts])


def evaluate(
    method: str,
    train: RoutingData,
    test: RoutingData,
    *,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    budget: int | None = None,
    settings: Any = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Trains `method` (one of METHODS) on `train` once a seed and lets it choose on `test`.

    `budget`: atomic evaluations of a learner (None: the paper's); `settings` replaces a learner's or RouterDC's own;
    `progress` is called with the atomic evaluations of each iteration. ValueError names an unknown method or a budget
    that is too small.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    began = time.perf_counter()
    if method in LEARNERS:
        chosen, parameters, spent = _learn(method, train, test, seeds, budget, settings, progress)
    elif method == "routerdc":
        from suite.baselines.routerdc import RouterSettings, fit

        how = {"settings": settings or RouterSettings(), "weights": train.weights}
        routers = [fit(train.states, train.scores, seed=seed, **how) for seed in seeds]
        chosen = [router.choose(test.states) for router in routers]
        parameters, spent = routers[0].parameters, train.right.size
    elif method == "full-information":
        from suite.routers.full_information import fit as ascend

        router = ascend(train.states, train.right, train.weights, objective="expected reward", penalty=PENALTY)
        chosen, parameters, spent = [router.choose(test.states)], router.parameters, train.right.size
    else:
        rule = {"knn": nearest, "best-single": best_single, "per-benchmark-best": best_by_benchmark}[method]
        chosen = [rule(train, test)]
        parameters, spent = 0, train.right.size
    return Evaluation(method, test, np.array(chosen), parameters, spent, time.perf_counter() - began)


def make_task(data: RoutingData, *, sampling: str = "stratified", start: np.ndarray | None = None) -> Any:
    """The single-step task of `training.train` on these questions; stratified: benchmarks are met equally often.

    `start`: the weights (L d,) to start from (None: 0).
    """
    from trinity_core.training.task import Task

    return Task(RoutingWorld(data), AgentHead(len(data.agents), data.states.shape[1], start), sampling)


def _learn(
    method: str,
    train: RoutingData,
    test: RoutingData,
    seeds: Sequence[int],
    budget: int | None,
    settings: Any,
    progress: Callable[[int], None] | None,
) -> tuple[list[np.ndarray], int, int]:
    from trinity_core.training.train import PAPER_BUDGET
    from trinity_core.training.train import train as learn

    task = make_task(train)
    results = [
        learn(method, task, PAPER_BUDGET if budget is None else budget, seed, settings=settings, progress=progress)
        for seed in seeds
    ]
    chosen = []
    for result in results:
        chosen.append(choices(result.theta, task.head, test.states))
    return chosen, task.n, results[0].evaluations


def best_single(train: RoutingData, test: RoutingData) -> np.ndarray:
    """(n_test,): the agent with the best average over the training benchmarks, everywhere."""
    return np.full(len(test.questions), int(np.argmax(train.weights @ train.right)))


def best_by_benchmark(train: RoutingData, test: RoutingData) -> np.ndarray:
    """(n_test,): a question's benchmark is known, and the agent that was best on its training file answers (of
    equals the one that is better on all); on a benchmark without one, the best single agent."""
    chosen, families = best_single(train, test), test.families
    known, asked = (np.char.lower(names.astype(str)) for names in (train.families, families))
    for name in np.unique(known):
        own = train.right[known == name].mean(axis=0)
        chosen[asked == name] = np.argmax(own + TIE * (train.weights @ train.right))
    return chosen


def nearest(train: RoutingData, test: RoutingData) -> np.ndarray:
    """(n_test,): the agent with the best mean score on the k nearest training questions by cosine; of equals, which are
    common among a few scores of 0 and 1, the one that does better on all training questions.

    k, of NEIGHBOURS, does best on the training questions, each without itself. ValueError for fewer than two of them.
    """
    from sklearn.neighbors import NearestNeighbors

    if len(train.questions) < 2:
        raise ValueError("nearest neighbours need two training questions or more, not 1; give more, or another method")
    right, mean = train.right + TIE * (train.weights @ train.right), train.weights @ train.states
    counts = [k for k in NEIGHBOURS if k < len(train.questions)] or [max(1, len(train.questions) - 1)]
    search = NearestNeighbors(n_neighbors=min(counts[-1] + 1, len(train.questions)), metric="cosine")
    search.fit(train.states - mean)
    own = search.kneighbors(return_distance=False, n_neighbors=min(counts[-1], len(train.questions) - 1) or 1)
    found = []
    for k in counts:
        chosen = right[own[:, :k]].mean(axis=1).argmax(axis=1)
        found.append(train.weights @ train.right[np.arange(len(chosen)), chosen])
    k = counts[int(np.argmax(found))]
    places = search.kneighbors(test.states - mean, n_neighbors=k, return_distance=False)
    return right[places].mean(axis=1).argmax(axis=1)


def references(test: RoutingData) -> dict[str, np.ndarray]:
    """What no router can know beforehand, chosen on the test questions themselves: chosen agents (n_test,) by name."""
    chosen = {"best single LLM": best_single(test, test), "best LLM of each benchmark": best_by_benchmark(test, test)}
    return {**chosen, "best LLM of each question": test.right.argmax(axis=1)}
