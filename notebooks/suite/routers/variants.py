"""Better than the anchor: routers of fewer than 20,000 trained numbers, told apart on training questions alone.

A variant says which hidden states are read (layers and positions, side by side), what is maximised and how much large
weights cost. `judge` scores it in distribution (five folds of the training questions) and on benchmarks left out of its
training; the mean of both decides, and neither reads a test file.
All are linear in the states: one matrix and a bias, L (d + 1) trained numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from suite.routers.full_information import LinearRouter, fit
from suite.stats.intervals import Estimate
from suite.worlds.routing import RoutingData

LIMIT = 20_000  # trained numbers, the paper's
FOLDS = 5

Reading = tuple[tuple[int, str], ...]  # (layer, position) pairs whose states stand side by side
Grid = Mapping[tuple[int, str], np.ndarray]  # (layer, position) -> states (n, d)


@dataclass(frozen=True)
class Variant:
    """`reading`, and `objective` and `penalty` as in `full_information.fit`."""

    reading: Reading
    objective: str = "expected reward"
    penalty: float = 1e-3

    @property
    def name(self) -> str:
        """As in "penultimate 15+30; expected reward, 0.001"."""
        places: dict[str, list[str]] = {}
        for layer, position in self.reading:
            places.setdefault(position, []).append(str(layer))
        reading = " + ".join(f"{position} {'+'.join(layers)}" for position, layers in places.items())
        return f"{reading}; {self.objective}, {self.penalty:g}"


def candidates(layers: tuple[int, ...], positions: tuple[str, ...], middle: int) -> list[Variant]:
    """What is tried: every layer and position alone; two ways of putting several side by side; at layer `middle` other
    objectives, and penalties on both sides of the best."""
    own, penalties = (middle, positions[0]), (3e-3, 3e-4, 1e-4, 3e-5)
    single = [((layer, position),) for position in positions for layer in layers]
    both = (own, (middle, "mean"))
    found = [Variant(reading) for reading in (*single, both, (own, (layers[-1], positions[0])))]
    found += [Variant(reading, penalty=penalty) for reading in ((own,), both) for penalty in penalties]
    return [*found, Variant((own,), "likelihood"), Variant((own,), "regression", 0.2)]


def states_of(grid: Grid, reading: Reading) -> np.ndarray:
    """(n, d): the reading's states side by side."""
    return np.concatenate([np.asarray(grid[place], np.float64) for place in reading], axis=1)


def train(variant: Variant, data: RoutingData) -> LinearRouter:
    """The variant's router on these questions, read as the variant reads. ValueError beyond LIMIT trained numbers."""
    return _train_all(variant, data, data.weights[None])[0]


def _train_all(variant: Variant, data: RoutingData, weights: np.ndarray) -> list[LinearRouter]:
    size = len(data.agents) * (data.states.shape[1] + 1)
    if size >= LIMIT:
        raise ValueError(f"{variant.name}: {size:,} trained numbers; stay below {LIMIT:,}")
    return fit(data.states, data.right, weights, objective=variant.objective, penalty=variant.penalty)


def folds(data: RoutingData, seed: int) -> np.ndarray:
    """(n,) int: the fold of each question, every benchmark spread over all."""
    draws, fold = np.random.default_rng([seed, 5]), np.empty(len(data.questions), int)
    for name in dict.fromkeys(data.families.tolist()):
        members = draws.permutation(np.flatnonzero(data.families == name))
        fold[members] = np.arange(len(members)) % FOLDS
    return fold


def held_out(variant: Variant, data: RoutingData, *groups: np.ndarray) -> list[np.ndarray]:
    """For each grouping (n,) of the questions the agents (n,) chosen by routers trained without a question's own group.

    Folds give cross-validation, benchmarks say what becomes of unseen ones. All routers are trained in step.
    """
    left_out = [(place, held) for place, group in enumerate(groups) for held in np.unique(group)]
    weights, chosen = np.zeros((len(left_out), len(data.questions))), [np.empty(len(g), int) for g in groups]
    for row, (place, held) in zip(weights, left_out, strict=True):
        rest = groups[place] != held
        row[rest] = data.take(rest).weights
    for router, (place, held) in zip(_train_all(variant, data, weights), left_out, strict=True):
        own = groups[place] == held
        chosen[place][own] = router.choose(data.states[own])
    return chosen


def within_benchmarks(variant: Variant, data: RoutingData, seed: int) -> np.ndarray:
    """(n,): the agent that each question gets from a router trained on the other folds of its own benchmark alone.

    On test files this is no contender, since it learns from their scores: it shows how much there is to learn.
    """
    chosen, fold = np.empty(len(data.questions), int), folds(data, seed)
    for name in np.unique(data.families):
        rows = data.families == name
        (chosen[rows],) = held_out(variant, data.take(rows), fold[rows])
    return chosen


def with_constant(states: np.ndarray) -> np.ndarray:
    """(n, d + 1): a column that is the states' root mean square beside them, so that a head without bias has one."""
    return np.hstack([states, np.full((len(states), 1), np.sqrt((states**2).mean()))])


@dataclass(frozen=True, eq=False)
class Judged:
    """A variant's choices in cross-validation (n,), on unseen benchmarks (n,) and on the test questions (n_test,), and
    the mean of each over benchmarks: panel -> `Estimate`."""

    variant: Variant
    parameters: int
    validated: np.ndarray
    unseen: np.ndarray
    test: np.ndarray
    estimates: Mapping[str, Estimate]


def judge(data: RoutingData, test: RoutingData, first: Grid, second: Grid, seed: int, variant: Variant) -> Judged:
    """Everything about one variant, whose states stand in the grids `first` (training) and `second` (test).

    The test questions play no part in the choice between variants.
    """
    data = data.with_states(states_of(first, variant.reading))
    router = train(variant, data)
    validated, unseen = held_out(variant, data, folds(data, seed), data.families)
    chosen = router.choose(states_of(second, variant.reading))
    panels = {"cross-validation": (data, validated), "unseen benchmark": (data, unseen), "test": (test, chosen)}
    estimates = {name: asked.estimate(agents) for name, (asked, agents) in panels.items()}
    return Judged(variant, router.parameters, validated, unseen, chosen, estimates)
