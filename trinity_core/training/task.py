"""What is learnt: a head (and SVF offsets) on a set of questions, judged by rollouts, which are counted.

J(theta) = E[R] over the training questions and every draw; one rollout is one atomic evaluation, a draw of J. Which
questions a generation sees is the recipe's choice (`sampling`): `independent` draws one for every rollout of every
candidate, as the paper's replications do; `stratified` gives each candidate the same number of every family; `common`
shows all candidates the same questions with the same draws (common random numbers), stratified too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trinity_core.checks import one_of
from trinity_core.heads import Head
from trinity_core.svf_encoder import SvfEncoder
from trinity_core.world import Plays, World

SAMPLINGS = ("independent", "stratified", "common")
FRESH = 10**9  # replicates from here on are for evaluation: no training reaches them


@dataclass(frozen=True)
class Task:
    """`world` plays; `head` maps states to logits, after `transform`; `svf` takes theta's first `svf.size` numbers."""

    world: World
    head: Head
    sampling: str = "independent"
    transform: Callable[[np.ndarray], np.ndarray] | None = None
    svf: SvfEncoder | None = None

    def __post_init__(self) -> None:
        one_of("sampling", self.sampling, SAMPLINGS)
        if (self.head.n_agents, self.head.d) != (self.world.n_agents, self.world.d):
            raise ValueError(
                f"the head is for {self.head.n_agents} agents and d = {self.head.d}, the world has "
                f"{self.world.n_agents} and d = {self.world.d}"
            )

    @property
    def n(self) -> int:
        """How many numbers theta has."""
        return self.head.size + (self.svf.size if self.svf else 0)

    def check_linear(self, method: str) -> None:
        """ValueError where a method's gradient, of a linear head on fixed states, is not this task's."""
        if self.head.name != "linear" or self.svf is not None:
            raise ValueError(f"{method} is written for the linear head without SVF, not {self.head.name!r}")

    def cells(self, candidates: int, rollouts: int, seed: int, iteration: int, first: int) -> tuple[np.ndarray, ...]:
        """Questions and replicates, both (candidates, rollouts), of one iteration; `first`: evaluations made before. A
        replicate is the number of the atomic evaluation: no two rollouts share draws, but in `common` sampling."""
        generator = np.random.default_rng([seed, iteration])
        shape = (candidates, rollouts)
        replicates = first + np.arange(candidates * rollouts).reshape(shape)
        if self.sampling == "independent":
            return generator.integers(0, len(self.world.questions), shape), replicates
        if self.sampling == "stratified":
            return np.stack([self._stratified(rollouts, generator) for _ in range(candidates)]), replicates
        return np.broadcast_to(self._stratified(rollouts, generator), shape), np.broadcast_to(replicates[:1], shape)

    def _stratified(self, rollouts: int, generator: np.random.Generator) -> np.ndarray:
        """(rollouts,): every family equally often, the remainder drawn; within a family without repeats if possible."""
        families = np.array([question.family for question in self.world.questions])
        names = list(dict.fromkeys(families.tolist()))
        share, rest = divmod(rollouts, len(names))
        extra = generator.permutation(len(names))[:rest]
        picks = []
        for place, name in enumerate(names):
            members, wanted = np.flatnonzero(families == name), share + (place in extra)
            picks.append(generator.choice(members, wanted, replace=wanted > len(members)))
        return np.concatenate(picks)

    def play(self, thetas: np.ndarray, questions: np.ndarray, replicates: np.ndarray, mode: str | None = None) -> Plays:
        """The rollouts of candidates `thetas` (lambda, n): see `World.play`. Decisions are drawn by default, but for
        heads that decide by argmax by design (A.4)."""
        thetas = np.asarray(thetas, np.float64)
        if thetas.shape[-1] != self.n:
            raise ValueError(f"theta has {thetas.shape[-1]} numbers; this task needs {self.n}")
        settings = {"transform": self.transform, "mode": mode or ("argmax" if self.head.argmax else "sample")}
        if self.svf:
            offsets, thetas = thetas[:, : self.svf.size], thetas[:, self.svf.size :]

            def adapted(candidates: np.ndarray, nodes: np.ndarray) -> np.ndarray:
                texts = [self.world.tree.transcripts[node].messages() for node in nodes]
                return self.svf.states(offsets, candidates, texts)

            settings["adapted_states"] = adapted
        return self.world.play(self.head, thetas, questions, replicates, **settings)

    def features(self, nodes: np.ndarray) -> np.ndarray:
        """What the head reads of nodes (batch,): (batch, d) float64."""
        states = self.world.states(nodes)
        return states if self.transform is None else self.transform(states)

    def rewards(self, theta: np.ndarray, replicates: int, world: Any = None, mode: str | None = None) -> np.ndarray:
        """Rewards (n_questions, replicates) of one theta on every question of `world`: see `judge`."""
        return self.judge(theta, replicates, world, mode).reward.reshape(-1, replicates)

    def judge(self, theta: np.ndarray, replicates: int, world: Any = None, mode: str | None = None) -> Plays:
        """The rollouts (1, n_questions * replicates) of one theta on every question of `world` (default: the task's
        own), question by question. Draws are keyed by question and replicate: two thetas are compared on the same ones.
        """
        task = self if world is None else replace(self, world=world)
        count = len(task.world.questions)
        questions = np.repeat(np.arange(count), replicates)[None]
        numbers = FRESH + np.tile(np.arange(replicates), count)[None]
        return task.play(np.asarray(theta)[None], questions, numbers, mode)

    def describe(self) -> dict[str, Any]:
        """Everything that a training's result depends on but method, budget and seed; JSON."""
        return {
            "world": self.world.describe(),
            "head": [self.head.name, self.head.size],
            "sampling": self.sampling,
            "transform": type(self.transform).__name__ if self.transform else None,
            "svf": [self.svf.rule, self.svf.size] if self.svf else None,
        }
