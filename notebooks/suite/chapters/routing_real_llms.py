"""Routing real LLMs by their recorded scores (notebook 16): what is compared, its tables, and the claims. Scores are
the accuracy rule of each of RouterDC's test files; a mean counts benchmarks alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from suite.experiments import seeds_of
from suite.recordings.opening import read_claims
from suite.routers.methods import ONCE, Outcome, Run, best_by_benchmark, best_single
from suite.routers.variants import Judged, Variant, folds, within_benchmarks
from suite.stats.intervals import Estimate
from suite.stats.scores import scores, wide
from suite.worlds.routing import RoutingData
from trinity_core.training.learners import Reinforce, SepCmaEs
from trinity_core.training.sft import Sft

BENCHMARKS = {"mmlu": "mmlu", "gsm8k": "gsm8k", "cmmlu": "cmmlu", "arc_challenge": "arc_c", "humaneval": "humaneval"}

CLAIMS = read_claims(Path(__file__).with_suffix(".yaml"))

METHODS = {
    "best single LLM": Run("best-single"),
    "best LLM of each benchmark": Run("per-benchmark-best"),
    "nearest neighbours": Run("knn"),
    "RouterDC (ours)": Run("routerdc"),
    "sep-CMA-ES": Run("sep-cma-es"),
    "random search": Run("random-search"),
    "REINFORCE": Run("reinforce"),
    "SFT": Run("sft"),
    "SFT (rate 1e-3)": Run("sft", settings=Sft(rate=1e-3, epochs=30)),
}
ON_THE_CURVE = ("sep-CMA-ES", "random search", "REINFORCE")


def method_runs(seeds: int) -> dict[str, list[Run]]:
    """The runs of each method at the paper's budget."""
    return {name: seeds_of(job, 1 if job.method in ONCE else seeds) for name, job in METHODS.items()}


def curve_runs(seeds: int, budgets: Sequence[int]) -> dict[str, list[Run]]:
    """The learners along the budget: one long run a seed, judged on the way; SFT, which looks ahead, a run a budget but
    the last, before which it has labelled every question."""
    longest = budgets[-1] + 528  # so that the last checkpoint lies within
    found = {
        name: seeds_of(replace(METHODS[name], budget=longest, checkpoints=tuple(budgets)), seeds)
        for name in ON_THE_CURVE
    }
    return {**found, "SFT": [job for b in budgets[:-1] for job in seeds_of(replace(METHODS["SFT"], budget=b), seeds)]}


def settings_runs(seeds: int, budget: int) -> dict[str, dict[str, list[Run]]]:
    """What keeps the evolution strategy back: dimension, noise, the step size; the states' leading directions are those
    of their second moments. All directions with 16 x the budget are a point of `curve_runs`."""
    base = Run("sep-cma-es", budget=budget)
    exact = Run("exact sep-cma-es", budget=budget // (33 * 16))
    panels = {
        "Dimension, with the paper's noise": {
            **{f"{k} directions": replace(base, components=k) for k in (4, 16, 64)},
            "all 576": base,
        },
        "Dimension, 16 x the budget": {"16 directions, 16 x": replace(base, components=16, budget=16 * budget)},
        "Dimension, without noise": {
            **{f"{k} directions, no noise": replace(exact, components=k) for k in (4, 16, 64)},
            "all 576, no noise": exact,
        },
        "Noise": {
            "16 questions a candidate (the paper's)": base,
            "the same 16 for all candidates": replace(base, sampling="common"),
            "64 questions, 4 x the budget": replace(base, budget=4 * budget, settings=SepCmaEs(rollouts=64)),
            "256 questions, 16 x the budget": replace(base, budget=16 * budget, settings=SepCmaEs(rollouts=256)),
        },
        "Step size, learning rate": {
            "sigma 0.03 (the paper's)": base,
            "sigma 0.3": replace(base, settings=SepCmaEs(sigma=0.3)),
            "REINFORCE, rate 1e-3": Run("reinforce", budget=budget),
            "REINFORCE, rate 1e-2, with a baseline": Run(
                "reinforce", budget=budget, settings=Reinforce(rate=1e-2, baseline="family")
            ),
        },
    }
    return {title: {name: seeds_of(job, seeds) for name, job in panel.items()} for title, panel in panels.items()}


def evolution_runs(seeds: int, budget: int, start: np.ndarray) -> dict[str, list[Run]]:
    """The evolution strategy: from 0, with more budget, and from a given `start`."""
    base = Run("sep-cma-es", budget=budget)
    named = {
        "sep-CMA-ES, the paper's budget": base,
        "sep-CMA-ES, 16 x the budget": replace(base, budget=16 * budget),
        "sep-CMA-ES from the solution of every score": replace(base, start=start, settings=SepCmaEs(sigma=0.003)),
    }
    return {name: seeds_of(job, seeds) for name, job in named.items()}


def until(outcomes: Sequence[Outcome], budget: int) -> list[Outcome]:
    """Runs of `curve_runs` as they were at one of their checkpoints."""
    return [replace(one, chosen=one.at[budget], evaluations=budget) for one in outcomes]


def stack(outcomes: Sequence[Outcome]) -> np.ndarray:
    """(seeds, n_test): the agents that the runs chose."""
    return np.stack([outcome.chosen for outcome in outcomes])


def score_table(data: RoutingData, chosen: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row a method: accuracy (%) on each benchmark, their average, its interval."""
    systems = {name: data.rewards(agents) for name, agents in chosen.items()}
    return wide(scores(systems, data.families.tolist())).rename_axis("method").reset_index()


def benchmark_intervals(data: RoutingData, chosen: np.ndarray) -> pd.DataFrame:
    """One method's accuracy on each benchmark with its interval (%)."""
    names = list(dict.fromkeys(data.families.tolist()))
    rows = scores({"": data.rewards(chosen)}, data.families.tolist(), parts=names)
    return rows.rename(columns={"part": "benchmark", "value": "accuracy"})[["benchmark", "accuracy", "low", "high"]]


def _row(value: Estimate) -> dict[str, float]:
    return dict(zip(("average", "low", "high"), value.percent(), strict=True))


def curve(data: RoutingData, outcomes: Sequence[Outcome], budgets: Sequence[int], seeds: int) -> pd.DataFrame:
    """Average (%) with interval at every budget, of `curve_runs`' outcomes of one method."""
    if outcomes[0].at:
        agents = {budget: [one.at[budget] for one in outcomes] for budget in budgets}
    else:
        pairs = zip(budgets, range(0, len(outcomes), seeds), strict=False)
        agents = {budget: [one.chosen for one in outcomes[first : first + seeds]] for budget, first in pairs}
    rows = [{"evaluations": budget, **_row(data.estimate(np.stack(some)))} for budget, some in agents.items()]
    return pd.DataFrame(rows)


def settings_table(data: RoutingData, outcomes: Mapping[str, Sequence[Outcome]]) -> pd.DataFrame:
    """One row a setting: scores read, average (%) with interval."""
    return pd.DataFrame(
        {"setting": name, "scores read": found[0].evaluations, **_row(data.estimate(stack(found)))}
        for name, found in outcomes.items()
    )


def above(value: Estimate, published: float) -> Estimate:
    """The difference to a published average (in percent): only our side has an interval."""
    return Estimate(*(number - published / 100 for number in value))


def variant_table(judged: Sequence[Judged]) -> pd.DataFrame:
    """One row a variant, the best first and marked: by the mean of cross-validation and unseen benchmarks alone."""
    rows = []
    for one in judged:
        row: dict[str, Any] = {"variant": one.variant.name, "trained numbers": one.parameters}
        for panel, found in one.estimates.items():
            row |= dict(zip((panel, f"{panel} low", f"{panel} high"), found.percent(), strict=True))
        rows.append(row | {"both": (row["cross-validation"] + row["unseen benchmark"]) / 2})
    table = pd.DataFrame(rows).sort_values("both", ascending=False, kind="stable", ignore_index=True)
    table["chosen"] = np.arange(len(table)) == 0
    return table


def unseen_choice(data: RoutingData, judged: Sequence[Judged]) -> np.ndarray:
    """(n,): for each question what the variant chooses, trained without its benchmark, that scores best on the others:
    not flattered, as `variant_table`'s choice by its unseen benchmarks is."""
    chosen, families = np.empty(len(data.questions), int), data.families
    for name in np.unique(families):
        rest = families != name
        others = data.take(rest)
        scores = [
            others.weights @ (others.rewards(one.validated[rest])[0] + others.rewards(one.unseen[rest])[0])
            for one in judged
        ]
        chosen[~rest] = judged[int(np.argmax(scores))].unseen[~rest]
    return chosen


def unseen_single(data: RoutingData) -> np.ndarray:
    """(n,): for each question the LLM with the best average over the *other* benchmarks."""
    chosen, families = np.empty(len(data.questions), int), data.families
    for name in np.unique(families):
        chosen[families == name] = best_single(data.take(families != name), data)[0]
    return chosen


def held_out_best(data: RoutingData, seed: int) -> np.ndarray:
    """(n,): for each question the LLM that is best on the other folds of its benchmark, those of `ceiling_table`."""
    chosen, families, fold = np.empty(len(data.questions), int), data.families, folds(data, seed)
    for name in np.unique(families):
        for held in np.unique(fold):
            own = families == name
            chosen[own & (fold == held)] = data.right[own & (fold != held)].mean(axis=0).argmax()
    return chosen


def ceiling_table(data: RoutingData, readings: Mapping[str, np.ndarray], seed: int) -> pd.DataFrame:
    """Per benchmark (%): its best LLM in hindsight and by cross-validation, routers that learn from its own scores (so
    no contenders) by cross-validation, and the oracle. `readings`: name -> states (n, d)."""
    table = {
        "best LLM, in hindsight": best_by_benchmark(data, data),
        "best LLM of the other folds": held_out_best(data, seed),
    }
    for name, states in readings.items():
        variant = Variant(((0, name),))  # the reading is given, so its name is all that is used
        table[f"router, {name}"] = within_benchmarks(variant, data.with_states(states), seed)
    table["oracle"] = data.right.argmax(axis=1)
    found = score_table(data, table).set_index("method")
    return found.drop(columns=["low", "high"]).T.rename_axis("benchmark").reset_index()
