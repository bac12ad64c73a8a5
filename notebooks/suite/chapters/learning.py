"""Learning algorithms side by side (Table 4, Figure 6): who does best with how many atomic evaluations, and how.

Works on `training.experiments.Trained`, several seeds of each method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.experiments import REPLICATES, Experiment, Trained, get_world, make_task
from suite.stats.intervals import Estimate, by_family, mean_interval, paired_difference
from trinity_core.training.learners import Reinforce, SepCmaEs

if TYPE_CHECKING:
    import pandas as pd

Runs = Mapping[str, Sequence[Trained]]

# The paper names no learning rate for REINFORCE; 1e-3 is Adam's usual one. The tuned form is chosen among these by the
# reward on training questions that it was not trained on.
RATES = (1e-4, 1e-3, 1e-2)


def methods(base: Experiment) -> dict[str, Experiment]:
    """The four methods of Table 4, as the paper has them."""
    return {
        "sep-CMA-ES": base,
        "random search": replace(base, method="random-search"),
        "REINFORCE": replace(base, method="reinforce"),
        "SFT": replace(base, method="sft"),
    }


def reinforce_variants(base: Experiment) -> dict[str, Experiment]:
    """REINFORCE with and without whitened states, a baseline and stratified batches, at three learning rates."""
    found = {}
    for whiten in (False, True):
        for rate in RATES:
            settings = Reinforce(rate=rate, baseline="family")
            name = f"{'whitened' if whiten else 'raw'}, rate {rate:g}"
            found[name] = replace(base, method="reinforce", settings=settings, whiten=whiten, sampling="stratified")
    return found


def recipes(base: Experiment) -> dict[str, Experiment]:
    """sep-CMA-ES at the same budget: the paper's recipe, one change each, and three of them together."""
    mirrored, longer = SepCmaEs(mirrored=True), SepCmaEs(rollouts=64)
    return {
        "the paper's": base,
        "stratified batches": replace(base, sampling="stratified"),
        "common questions and draws": replace(base, sampling="common"),
        "mirrored candidates": replace(base, settings=mirrored),
        "64 rollouts a candidate": replace(base, settings=longer),
        "whitened states": replace(base, whiten=True),
        "stratified, mirrored, 64": replace(base, sampling="stratified", settings=SepCmaEs(rollouts=64, mirrored=True)),
    }


def rewards(runs: Sequence[Trained], split: str = "test") -> np.ndarray:
    """(seeds, n_questions, R) of several seeds' results."""
    return np.stack([run.test_rewards if split == "test" else run.train_rewards for run in runs])


def score_table(runs: Runs, families: Sequence[str], reference: str) -> pd.DataFrame:
    """One row a method: test score by family and on average (percent), and the difference to `reference` in points."""
    import pandas as pd

    rows = []
    for name, trained in runs.items():
        found = rewards(trained)
        mean = mean_interval(found, families)
        row: dict[str, Any] = {"method": name, "seeds": len(trained), "evaluations": trained[0].result.evaluations}
        row |= {family: 100 * estimate.value for family, estimate in by_family(found, families).items()}
        row |= {"average": 100 * mean.value, "low": 100 * mean.low, "high": 100 * mean.high}
        gap = paired_difference(found, rewards(runs[reference]), families)
        row |= {f"{part} against {reference}": 100 * getattr(gap, part) for part in ("value", "low", "high")}
        rows.append(row)
    return pd.DataFrame(rows)


def part(base: Experiment) -> Experiment:
    """The same experiment on the first three quarters of each family's training questions."""
    return replace(base, per_family=3 * train_size(base) // 4)


def train_size(base: Experiment) -> int:
    """Training questions of each family."""
    world = get_world(base.profile, "train")
    return len(world.questions) // len({question.family for question in world.questions})


def validated(runs: Sequence[Trained]) -> Estimate:
    """The reward of trainings on `part` of the training questions, on the quarter that they left out."""
    base = runs[0].experiment
    world = get_world(base.profile, "train")
    size, kept = train_size(base), base.per_family
    out = np.array([place for place in range(len(world.questions)) if place % size >= kept])
    found = np.stack([make_task(run.experiment).rewards(run.result.theta, REPLICATES, world)[out] for run in runs])
    return mean_interval(found, [world.questions[place].family for place in out])


def curve(runs: Sequence[Trained], families: Sequence[str], split: str = "test") -> pd.DataFrame:
    """Score against budget: evaluations, seeds, average (percent), low, high; from the checkpoints of several seeds,
    of which only some may go on to the largest budgets."""
    import pandas as pd

    place = 1 if split == "test" else 0
    rows = []
    for budget in sorted({budget for run in runs for budget in run.at}):
        found = [run.at[budget][place] for run in runs if budget in run.at]
        mean = mean_interval(np.stack(found), families)
        row = {"evaluations": budget, "seeds": len(found), "average": 100 * mean.value}
        rows.append(row | {"low": 100 * mean.low, "high": 100 * mean.high})
    return pd.DataFrame(rows)


def lead_at(ours: Sequence[Trained], theirs: Sequence[Trained], budget: int, families: Sequence[str]) -> Estimate:
    """The paired difference of two methods' test rewards at a checkpoint."""
    a, b = (np.stack([run.at[budget][1] for run in runs if budget in run.at]) for runs in (ours, theirs))
    return paired_difference(a, b, families)


def agent_shares(runs: Sequence[Trained]) -> np.ndarray:
    """(seeds, L): how often each agent acts in the results' test rollouts."""
    return np.array([run.test_plays.agent_share() for run in runs])


def unipolarity(runs: Sequence[Trained]) -> np.ndarray:
    """(seeds,): the share of the agent that acts most in the test rollouts; 1/L is even, 1 is one agent alone."""
    return agent_shares(runs).max(axis=1)


def share_history(run: Trained) -> pd.DataFrame:
    """Figure 6: evaluations and the share of each agent in every iteration's rollouts."""
    columns = [name for name in run.result.history if name.startswith("agent: ")]
    table = run.result.history[["evaluations", *columns]]
    return table.rename(columns=lambda name: name.removeprefix("agent: "))
