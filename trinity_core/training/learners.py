"""Three learners with one ask and tell: sep-CMA-ES, random search, REINFORCE (section 3.3, Table 4).

All draws come from generators of (seed, iteration), so a learner replayed from the log is the same, bit for bit.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trinity_core.checks import one_of
from trinity_core.heads import agent_role_probabilities
from trinity_core.training.task import Task
from trinity_core.world import Plays


class Learner(ABC):
    """What `train` needs of a method, made from its `settings`; `theta` (n,) is the result so far."""

    divisible = False  # whether an iteration may be cut to fewer candidates

    def __init__(self, settings: Any, task: Task, seed: int) -> None:
        self.settings, self.task, self.seed = settings, task, seed
        self.theta = np.zeros(task.n)

    @abstractmethod
    def ask(self, iteration: int) -> tuple[np.ndarray, int]:
        """Candidates (lambda, n) and the rollouts that each gets."""

    def tell(self, fitness: np.ndarray, plays: Plays) -> dict[str, Any]:
        """Learns from an iteration's fitness (lambda,) and rollouts; returns what `replay` needs."""
        self.replay(fitness, {})
        return {}

    @abstractmethod
    def replay(self, fitness: np.ndarray, told: Mapping[str, Any]) -> None:
        """Learns the same again from the log."""


@dataclass(frozen=True)
class SepCmaEs:
    """Settings of sep-CMA-ES (Ros & Hansen 2008), the paper's learner, by pycma with `CMA_diagonal`.

    y = m + sigma D z, z ~ N(0, I). `population`: lambda (None: pycma's 4 + floor(3 ln n)); `rollouts`: m_CMA;
    `sigma`: sigma_0; `mirrored`: every second candidate is the first one's mirror image (antithetic sampling).
    """

    population: int | None = 33
    rollouts: int = 16
    sigma: float = 0.03
    mirrored: bool = False

    def start(self, task: Task, seed: int) -> Learner:
        """A learner at x0: SVF offsets 0, and the head's own initial weights (0 for the linear head)."""
        return _SepCmaEs(self, task, seed)


class _SepCmaEs(Learner):
    def __init__(self, settings: SepCmaEs, task: Task, seed: int) -> None:
        import cma

        super().__init__(settings, task, seed)
        generator = np.random.default_rng([seed, 0xC3A])  # pycma's own: the clock at seed 0, numpy's global
        options: dict[str, Any] = {"CMA_diagonal": True, "seed": np.nan, "verbose": -9, "verb_log": 0}
        options["randn"] = lambda *shape: generator.standard_normal(shape)
        if settings.population:
            options["popsize"] = settings.population
        if settings.mirrored:
            options |= {"CMA_mirrors": 0.4999, "CMA_mirrormethod": 0}
        head = task.head.initial(np.random.default_rng([seed, 0x170]))
        self.theta[task.n - len(head) :] = head
        self.strategy = cma.CMAEvolutionStrategy(self.theta, settings.sigma, options)
        # The step size follows which of the first two candidates is better, and stays where they tie: its rule reads
        # the fitness itself, not the ranks that `replay` sorts by.
        update = self.strategy.adapt_sigma.update2
        self.strategy.adapt_sigma.update2 = lambda es, **_: update(es, function_values=self._costs)

    def ask(self, iteration: int) -> tuple[np.ndarray, int]:
        self._asked = self.strategy.ask()
        return np.array(self._asked), self.settings.rollouts

    def tell(self, fitness: np.ndarray, plays: Plays) -> dict[str, Any]:
        return super().tell(fitness, plays) | {"sigma": float(self.strategy.sigma)}

    def replay(self, fitness: np.ndarray, told: Mapping[str, Any]) -> None:
        fitness = np.asarray(fitness, np.float64)
        if not np.isfinite(fitness).all():
            where = int(np.flatnonzero(~np.isfinite(fitness))[0])
            raise ValueError(f"the fitness of candidate {where} is {fitness[where]}; evaluate it again before `tell`")
        # pycma minimises, and the order of ties, which rewards of 0 and 1 make often, is left to the machine's sort:
        # ranks have none. Equal fitness all round moves the mean by the noise of that order alone.
        self._costs = (-fitness).tolist()
        ranks = np.empty(len(fitness))
        ranks[np.argsort(-fitness, kind="stable")] = np.arange(len(fitness))
        with warnings.catch_warnings():
            # pycma compares two of its own numbers and warns of "apparent inconsistency" where they differ by rounding.
            warnings.filterwarnings("ignore", message="TPA: apparent inconsistency")
            self.strategy.tell(self._asked, ranks.tolist())
        self.theta = np.array(self.strategy.result.xfavorite)  # the mean m of the distribution


@dataclass(frozen=True)
class RandomSearch:
    """Settings of the paper's random search: weights uniform in [-bound, bound], `rollouts` each, the best one kept;
    `vectors` are drawn an iteration: 16 make about one generation of sep-CMA-ES."""

    rollouts: int = 32
    bound: float = 0.5
    vectors: int = 16

    def start(self, task: Task, seed: int) -> Learner:
        """A learner that has seen nothing."""
        return _RandomSearch(self, task, seed)


class _RandomSearch(Learner):
    divisible = True
    best = -np.inf

    def ask(self, iteration: int) -> tuple[np.ndarray, int]:
        bound, generator = self.settings.bound, np.random.default_rng([self.seed, 0x5EA, iteration])
        self._asked = generator.uniform(-bound, bound, (self.settings.vectors, self.task.n))
        return self._asked, self.settings.rollouts

    def replay(self, fitness: np.ndarray, told: Mapping[str, Any]) -> None:
        place = int(np.argmax(fitness))  # the first of equals
        if fitness[place] > self.best:
            self.best, self.theta = float(fitness[place]), self._asked[place].copy()


@dataclass(frozen=True)
class Reinforce:
    """Settings of REINFORCE over the whole rollout: sum_k grad log pi(A_k, R_k | C_(k-1)) times R, averaged.

    `rollouts`: the batch, as many as a generation of sep-CMA-ES; `rate`: Adam's learning rate; `baseline`: none (the
    paper's plain form), or the batch's mean reward by family, subtracted from R. A role that a Thinker named was not
    the head's choice, so it adds no term.
    """

    rollouts: int = 33 * 16
    rate: float = 1e-3
    baseline: str = "none"

    def start(self, task: Task, seed: int) -> Learner:
        """A learner at theta = 0. ValueError for tasks whose gradient is not that of a linear head on fixed states."""
        task.check_linear("REINFORCE")
        one_of("baseline", self.baseline, ("none", "family"))
        return _Reinforce(self, task, seed)


class _Reinforce(Learner):
    def __init__(self, settings: Reinforce, task: Task, seed: int) -> None:
        super().__init__(settings, task, seed)
        self.adam = Adam(settings.rate, task.n)

    def ask(self, iteration: int) -> tuple[np.ndarray, int]:
        return self.theta[None], self.settings.rollouts

    def tell(self, fitness: np.ndarray, plays: Plays) -> dict[str, Any]:
        told = {"gradient": self.gradient(plays).tolist()}  # JSON keeps every bit of a float
        self.replay(fitness, told)
        return told

    def replay(self, fitness: np.ndarray, told: Mapping[str, Any]) -> None:
        self.theta = self.theta + self.adam.step(np.array(told["gradient"]))

    def gradient(self, plays: Plays) -> np.ndarray:
        """(n,): the estimate of grad J, ascending. Failed rollouts are left out."""
        world, reward = self.task.world, plays.reward[0]
        good = np.isfinite(reward)
        advantage = np.where(good, reward, 0.0)
        if self.settings.baseline == "family":
            families = np.array([world.questions[q].family for q in plays.questions[0]])
            for name in np.unique(families[good]):
                rows = good & (families == name)
                advantage[rows] -= reward[rows].mean()
        rollout, turn = np.nonzero((plays.agents[0] >= 0) & good[:, None])
        features = self.task.features(plays.nodes[0, rollout, turn])
        logits = self.task.head.logits(self.theta, features)
        agents, roles = agent_role_probabilities(logits, world.n_agents)
        score = -np.concatenate([agents, roles], axis=1)
        rows = np.arange(len(score))
        score[rows, plays.agents[0, rollout, turn]] += 1.0
        score[rows, world.n_agents + plays.roles[0, rollout, turn].astype(int)] += 1.0
        score[plays.named[0, rollout, turn], world.n_agents :] = 0.0
        by_logit = (score * advantage[rollout, None]).T @ features
        return by_logit.ravel()[: self.task.n] / max(good.sum(), 1)  # a single-step head has no weights for roles


class Adam:
    """Adam's step for ascent (Kingma & Ba 2015), float64; beta = (0.9, 0.999), eps = 1e-8."""

    def __init__(self, rate: float, n: int) -> None:
        if not rate > 0:
            raise ValueError(f"the learning rate is {rate}; give a number above 0")
        self.rate, self.count = rate, 0
        self.first, self.second = np.zeros(n), np.zeros(n)

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """The change of theta (n,) for a gradient (n,)."""
        self.count += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.999 * self.second + 0.001 * gradient**2
        mean, scale = self.first / (1 - 0.9**self.count), self.second / (1 - 0.999**self.count)
        return self.rate * mean / (np.sqrt(scale) + 1e-8)
