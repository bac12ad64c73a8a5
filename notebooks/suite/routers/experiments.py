"""Many trainings on one set of recorded questions, in several processes: what notebook 16 compares.

A `Run` is plain data. Each worker gets the questions once; a result does not depend on the number of workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suite.routers.evaluation import LEARNERS, evaluate, make_task
from suite.worlds.routing import RoutingData, choices
from trinity_core.training.learners import SepCmaEs
from trinity_core.training.train import PAPER_BUDGET, train


@dataclass(frozen=True, eq=False)
class Run:
    """One training: `method` as in `evaluation.METHODS`, or `exact sep-cma-es`, whose fitness is J itself.

    `budget`: atomic evaluations (exact: generations); `reading`: which of the questions' states; `components`: their
    leading directions that are kept (None: all); `sampling` and `settings` as for `training.train`; `start`: weights to
    start from; `checkpoints`: smaller budgets that are judged too.
    """

    method: str
    seed: int = 1
    budget: int = PAPER_BUDGET
    reading: str = "paper"
    components: int | None = None
    sampling: str = "stratified"
    settings: Any = None
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


@dataclass(frozen=True, eq=False)
class Questions:
    """Training and test questions with several readings of their hidden states: name -> (states, states)."""

    train: RoutingData
    test: RoutingData
    readings: Mapping[str, tuple[np.ndarray, np.ndarray]]

    def read(self, reading: str, components: int | None = None) -> tuple[RoutingData, RoutingData]:
        """(train, test) with one reading, projected on the leading directions of the training states' second moments
        (not centred: a head without a bias needs what all states share)."""
        first, second = self.readings[reading]
        if components is not None:
            values, vectors = np.linalg.eigh(first.T @ first)
            kept = vectors[:, np.argsort(-values)[:components]]
            first, second = first @ kept, second @ kept
        return self.train.with_states(first), self.test.with_states(second)


def run(questions: Questions, job: Run) -> Outcome:
    """Trains and lets the result choose on the test questions."""
    train_data, test_data = questions.read(job.reading, job.components)
    if job.method == "exact sep-cma-es":
        return _exact(train_data, test_data, job)
    if job.method not in LEARNERS:
        found = evaluate(job.method, train_data, test_data, seeds=[job.seed], settings=job.settings)
        return Outcome(found.chosen[0], found.parameters, found.evaluations)
    task = make_task(train_data, sampling=job.sampling, start=job.start)
    result = train(job.method, task, job.budget, job.seed, settings=job.settings, checkpoints=job.checkpoints)

    def choose(theta: np.ndarray) -> np.ndarray:
        return choices(theta, task.head, test_data.states)

    at = {budget: choose(theta) for budget, theta in result.checkpoints.items()}
    return Outcome(choose(result.theta), task.n, result.evaluations, at)


def _exact(train_data: RoutingData, test_data: RoutingData, job: Run) -> Outcome:
    """sep-CMA-ES on J(theta) = sum_i w_i sum_a softmax(W h_i)_a r_ia over all training questions: no noise at all."""
    from trinity_core.heads import softmax

    task = make_task(train_data, start=job.start)
    learner = (job.settings or SepCmaEs()).start(task, job.seed)
    states, shape = train_data.states.astype(np.float32), (-1, train_data.states.shape[1])  # float32: half the time
    for generation in range(job.budget):
        thetas, _ = learner.ask(generation)
        logits = (states @ thetas.reshape(shape).astype(np.float32).T).reshape(len(states), len(thetas), -1)
        expected = (softmax(logits) * train_data.right[:, None]).sum(axis=2)
        fitness = train_data.weights @ expected
        learner.replay(fitness, {})
    spent = job.budget * len(thetas) * train_data.right.size
    return Outcome(choices(learner.theta, task.head, test_data.states), task.n, spent)


_shared: Any = None


def _begin(shared: Any) -> None:
    from suite.experiments import _begin_worker

    global _shared
    _shared = shared
    _begin_worker()


def _call(function: Callable[[Any, Any], Any], job: Any) -> Any:
    return function(_shared, job)


def run_all(function: Callable[[Any, Any], Any], shared: Any, jobs: Sequence[Any], workers: int | None = None) -> list:
    """`function(shared, job)` of every job, in the order given, in `workers` processes (None: one a core, at most 8).

    `function` is a module's own; longest jobs (by `budget`, where they have one) begin first. With a progress bar.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    count = min(workers or min(len(os.sched_getaffinity(0)), 8), len(jobs))
    if count <= 1:
        with threadpool_limits(1):  # as in a worker: sums of other threads' parts differ in their last bits
            return [function(shared, job) for job in tqdm(jobs, desc="trainings", leave=False)]
    longest = sorted(range(len(jobs)), key=lambda place: -getattr(jobs[place], "budget", 0))
    done: dict[int, Any] = {}
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(shared,)) as executor:
        futures = {executor.submit(_call, function, jobs[place]): place for place in longest}
        try:
            for future in tqdm(as_completed(futures), total=len(futures), desc="trainings", leave=False):
                done[futures[future]] = future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[place] for place in range(len(jobs))]
