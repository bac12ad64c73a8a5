"""Trainings as a notebook or a command asks for them: by profile, method, seed and settings, several at a time.

An `Experiment` is plain data, so it can be handed to another process; each worker builds its own world once. The result
does not depend on the number of workers: every training has its own seed and its own draws.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from suite.baselines.variants import Whitening, without
from suite.pools import load_pool
from suite.profiles import get_profile
from suite.questions import FAMILIES, load_questions
from suite.worlds.bank import StateBank
from suite.worlds.simulated import SimulatedWorld
from suite.worlds.tree import READ, SimulatedTree
from trinity_core.encoder import Encoder, load_encoder
from trinity_core.heads import make_head
from trinity_core.rollout import LoopSettings
from trinity_core.svf_encoder import SvfEncoder
from trinity_core.training.task import Task
from trinity_core.training.train import PAPER_BUDGET, TrainingError, TrainingResult, train
from trinity_core.world import Plays

REPLICATES = 4  # rollouts a question in an evaluation


@dataclass(frozen=True)
class Experiment:
    """One training and its evaluation. `seed` is the training's; the pool and the evaluation's draws stay the same.

    `head` and `head_settings` as for `make_head`; `sampling` as in `Task`; `whiten`: states are whitened;
    `settings` replaces the method's own; `transcript` and `max_turns` as in `LoopSettings`; `position` as in
    `load_encoder`; `svf`: theta begins with SVF offsets of that rule; `checkpoints`: smaller budgets, judged too;
    `per_family`: training questions of each family (None: all that the profile has); `without`: roles and agents, by
    name, that are never chosen; `assumptions`: pairs of the pool's assumptions and the values put in their place.
    """

    method: str = "sep-cma-es"
    seed: int = 1
    budget: int = PAPER_BUDGET
    profile: str = "offline"
    head: str = "linear"
    head_settings: Mapping[str, Any] = field(default_factory=dict)
    settings: Any = None
    sampling: str = "independent"
    whiten: bool = False
    transcript: str = "released"
    max_turns: int = 5
    position: str = "penultimate"
    svf: str | None = None
    checkpoints: tuple[int, ...] = ()
    per_family: int | None = None
    without: tuple[str, ...] = ()
    assumptions: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Trained:
    """What came of an experiment: rewards (n_questions, REPLICATES) on the training and on the test questions.

    `test_plays`: the rollouts behind the latter. `at`: the same pair of rewards for each checkpoint.
    """

    experiment: Experiment
    result: TrainingResult
    train_rewards: np.ndarray
    test_rewards: np.ndarray
    test_plays: Plays
    at: Mapping[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def get_world(
    profile: str,
    split: str,
    transcript: str = "released",
    max_turns: int = 5,
    position: str = "penultimate",
    per_family: int | None = None,
    assumptions: tuple[tuple[str, float], ...] = (),
) -> SimulatedWorld:
    """The world of a profile's questions of one split: the first `per_family` of each family (None: all), the simulated
    pool calibrated on all of the profile's questions. Made once a process."""
    count = per_family or get_profile(profile).per_family
    return _world(profile, split, transcript, max_turns, position, count, assumptions)


@lru_cache(maxsize=8)
def _world(profile: str, split: str, transcript: str, max_turns: int, position: str, count: int, changed: tuple) -> Any:
    settings = LoopSettings(transcript=transcript, max_turns=max_turns)  # type: ignore[arg-type]
    pool = _pool(get_profile(profile).per_family, changed)
    kinds = [[q for q in pool.questions if (q.family, q.split) == (family, split)] for family in FAMILIES]
    return SimulatedWorld([q for kind in kinds for q in kind[:count]], pool, get_encoder(profile, position), settings)


@lru_cache(maxsize=4)
def _pool(per_family: int, changed: tuple[tuple[str, float], ...]) -> Any:
    return load_pool("paper7", questions=load_questions(per_family=per_family), assumptions=dict(changed))


def evaluation_world(experiment: Experiment) -> SimulatedWorld:
    """The world of the test questions on which an experiment is judged."""
    e = experiment
    return get_world(e.profile, "test", e.transcript, e.max_turns, e.position, assumptions=e.assumptions)


def make_task(experiment: Experiment) -> Task:
    """The task of an experiment, on this process's world."""
    e = experiment
    world = get_world(e.profile, "train", e.transcript, e.max_turns, e.position, e.per_family, e.assumptions)
    transform = Whitening.fit(first_states(world)) if e.whiten else None
    head = make_head(e.head, world.n_agents, world.d, **e.head_settings)
    if e.without:
        head = without(head, e.without, [agent.name for agent in world.pool.agents])
    return Task(world, head, e.sampling, transform, svf_encoder(e.profile, e.position, e.svf) if e.svf else None)


@lru_cache(maxsize=4)
def get_encoder(profile: str, position: str = "penultimate") -> Any:
    """The one encoder of these settings in this process: its model is loaded once."""
    return load_encoder(get_profile(profile).encoder, position=position)


@lru_cache(maxsize=2)
def svf_encoder(profile: str, position: str, rule: str) -> Any:
    """The one `SvfEncoder` of this process: what lies below the adapted block is kept in it."""
    return SvfEncoder(get_encoder(profile, position), rule)


def first_states(world: SimulatedWorld) -> np.ndarray:
    """States (n, d) of every question alone and followed by each of its answers: what whitening is fitted on."""
    return world.states(world.tree.grow(1))


def run_experiment(experiment: Experiment, log: str | Path | None = None, progress: Any = None) -> Trained:
    """Trains and evaluates one experiment in this process."""
    e, task = experiment, make_task(experiment)
    how = {"settings": e.settings, "log": log, "progress": progress, "checkpoints": e.checkpoints}
    result = train(e.method, task, e.budget, e.seed, **how)
    test = evaluation_world(e)

    def rewards(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return task.rewards(theta, REPLICATES), task.rewards(theta, REPLICATES, test)

    at = {budget: rewards(theta) for budget, theta in result.checkpoints.items()}
    plays = task.judge(result.theta, REPLICATES, test)
    return Trained(e, result, task.rewards(result.theta, REPLICATES), plays.reward.reshape(-1, REPLICATES), plays, at)


def run_experiments(experiments: Sequence[Experiment], workers: int | None = None) -> list[Trained]:
    """All of them, as `run_all` does."""
    return run_all(run_experiment, experiments, workers=workers)


def run_all(function: Callable[..., Any], jobs: Sequence[Any], *shared: Any, workers: int | None = None) -> list[Any]:
    """`function(*shared, job)` of every job, in the order given, in `workers` processes (None: one a core, at most 8).

    `function` is a module's own; longest jobs (by `budget`, where they have one) begin first. With a progress bar.
    """
    count = max(1, min(workers or min(len(os.sched_getaffinity(0)), 8), len(jobs)))
    order = sorted(range(len(jobs)), key=lambda place: -getattr(jobs[place], "budget", 0))
    calls = (delayed(_call)(os.getpid(), function, *shared, jobs[place]) for place in order)
    try:
        with warnings.catch_warnings():  # a process that has grown ends after its job, and another one takes its place
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            found = Parallel(count, return_as="generator", batch_size=1)(calls)
            done = dict(zip(order, tqdm(found, "trainings", len(jobs), leave=False), strict=True))
    except TerminatedWorkerError:
        raise TrainingError(
            f"one of {count} processes ended in its training: killed, or out of memory; "
            "start again with room for it, or with fewer workers"
        ) from None
    return [done[place] for place in range(len(jobs))]


def _call(parent: int, function: Callable[..., Any], *arguments: Any) -> Any:
    if os.getpid() != parent:
        _end_with(parent)
    with threadpool_limits(1):  # in every process alike: sums of other threads' parts differ in their last bits
        return function(*arguments)


@lru_cache
def _end_with(parent: int) -> None:
    """Ends this process with its parent: a killed notebook leaves nothing running."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def seeds_of(experiment: Experiment, seeds: int) -> list[Experiment]:
    """The same experiment with the seeds 1 to `seeds`."""
    return [replace(experiment, seed=seed) for seed in range(1, seeds + 1)]


def meet_transcripts(encoder: Encoder, profile: str) -> int:
    """Meets every transcript of the training and test questions that a simulated world reads; returns how many."""
    bank, met = StateBank(encoder), 0
    for world in (get_world(profile, split) for split in ("train", "test")):
        for question in tqdm(world.questions, unit="question"):
            tree = SimulatedTree([question], world.pool, "released")
            tree.grow(READ)
            bank.encode([transcript.messages() for transcript in tree.transcripts])
            met += len(tree)
    return met
