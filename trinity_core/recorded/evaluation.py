"""Train a router on recorded files, test it on others: `python -m trinity_core.recorded --train ... --test ...`.

Benchmarks count alike, in training (every family equally often) and in the average. A method's choices are judged by
the recorded scores of whichever LLM it picks; intervals are over seeds and questions (`analysis.intervals`).
"""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trinity_core.analysis.intervals import Estimate, by_family, mean_interval, paired_difference
from trinity_core.recorded.routing import AgentHead, RoutingData, RoutingWorld, choices, gather

LEARNERS = ("sep-cma-es", "sft", "reinforce", "random-search")
METHODS = (*LEARNERS, "full-information", "routerdc", "knn", "best-single", "per-benchmark-best")
PENALTY = 3e-4  # of full-information's weights, as notebook 16 found it by cross-validation
NEIGHBOURS = (5, 10, 20, 40, 80, 160)


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
        from trinity_core.baselines.routerdc import RouterSettings, fit

        how = {"settings": settings or RouterSettings(), "weights": train.weights}
        routers = [fit(train.states, train.scores, seed=seed, **how) for seed in seeds]
        chosen = [router.choose(test.states) for router in routers]
        parameters, spent = routers[0].parameters, train.right.size
    elif method == "full-information":
        from trinity_core.recorded.full_information import fit as ascend

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
    """(n_test,): a question's benchmark is known, and the agent that was best on its training file answers; on a
    benchmark without one, the best single agent."""
    chosen, families = best_single(train, test), test.families
    known, asked = (np.char.lower(names.astype(str)) for names in (train.families, families))
    for name in np.unique(known):
        chosen[asked == name] = np.argmax(train.right[known == name].mean(axis=0))
    return chosen


def nearest(train: RoutingData, test: RoutingData) -> np.ndarray:
    """(n_test,): the agent with the best mean score on the k nearest training questions by cosine.

    k, of NEIGHBOURS, does best on the training questions, each without itself.
    """
    from sklearn.neighbors import NearestNeighbors

    mean = train.weights @ train.states
    counts = [k for k in NEIGHBOURS if k < len(train.questions)] or [max(1, len(train.questions) - 1)]
    search = NearestNeighbors(n_neighbors=min(counts[-1] + 1, len(train.questions)), metric="cosine")
    search.fit(train.states - mean)
    own = search.kneighbors(return_distance=False, n_neighbors=min(counts[-1], len(train.questions) - 1) or 1)
    found = []
    for k in counts:
        chosen = train.right[own[:, :k]].mean(axis=1).argmax(axis=1)
        found.append(train.weights @ train.right[np.arange(len(chosen)), chosen])
    k = counts[int(np.argmax(found))]
    places = search.kneighbors(test.states - mean, n_neighbors=k, return_distance=False)
    return train.right[places].mean(axis=1).argmax(axis=1)


def references(test: RoutingData) -> dict[str, np.ndarray]:
    """What no router can know beforehand, chosen on the test questions themselves: chosen agents (n_test,) by name."""
    chosen = {"best single LLM": best_single(test, test), "best LLM of each benchmark": best_by_benchmark(test, test)}
    return {**chosen, "best LLM of each question": test.right.argmax(axis=1)}


def evaluate_files(
    train_paths: Sequence[str | Path],
    test_paths: Sequence[str | Path],
    *,
    method: str = "sep-cma-es",
    seeds: int = 5,
    budget: int | None = None,
    encoder: str = "smollm2-135m",
    layer: int = -1,
    json_path: str | Path | None = None,
) -> str:
    """The command: reads, encodes, trains, and returns the report as text; `json_path` gets the same as JSON.

    RecordedError or ValueError names a bad file, method, budget or encoder.
    """
    import sys

    from tqdm import tqdm

    from trinity_core.paths import write_atomic
    from trinity_core.recorded.states import load_reader, states
    from trinity_core.recorded.tables import drop_overlap, read_tables, same_agents
    from trinity_core.training.train import PAPER_BUDGET

    began = time.perf_counter()
    train_tables, test_tables = read_tables(train_paths), read_tables(test_paths)
    aligned = same_agents([*train_tables, *test_tables])
    train_tables, test_tables = aligned[: len(train_tables)], aligned[len(train_tables) :]
    train_tables, remarks = drop_overlap(train_tables, test_tables)
    for remark in [*(said for table in [*train_tables, *test_tables] for said in table.remarks), *remarks]:
        print(f"note: {remark}", file=sys.stderr)
    known = {table.name.lower() for table in train_tables}
    unseen = [table.name for table in test_tables if table.name.lower() not in known]
    if method == "per-benchmark-best" and unseen:
        print(f"note: no training file of {', '.join(unseen)}; there the best single LLM answers", file=sys.stderr)
    reader = load_reader(encoder, layer=layer)
    # One call, so that one bar shows how much is left.
    texts = [text for table in [*train_tables, *test_tables] for text in table.questions]
    rows = np.split(states(reader, texts), np.cumsum([len(t.questions) for t in [*train_tables, *test_tables]])[:-1])
    train = gather(train_tables, rows[: len(train_tables)])
    test = gather(test_tables, rows[len(train_tables) :])
    each = (budget or PAPER_BUDGET) if method in LEARNERS else 0
    with tqdm(total=each * seeds, desc=method, unit="eval", leave=False, disable=None if each else True) as bar:
        found = evaluate(method, train, test, seeds=range(1, seeds + 1), budget=budget, progress=bar.update)
    report = summary(found, train, reader, time.perf_counter() - began)
    if json_path is not None:
        write_atomic(Path(json_path), json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return as_text(report)


def summary(found: Evaluation, train: RoutingData, reader: Any, seconds: float) -> dict[str, Any]:
    """An evaluation as plain numbers (accuracies in percent), with what its test questions allow beside it."""
    test = found.data
    known = {name: test.right[np.arange(len(chosen)), chosen][None] for name, chosen in references(test).items()}
    averages = {name: mean_interval(rewards, test.families) for name, rewards in known.items()}
    single = {name: by_family(rewards, test.families) for name, rewards in known.items()}
    shares = dict(zip(found.by_benchmark, found.shares().tolist(), strict=True))
    single_agent = best_single(train, test)
    alone = test.right[np.arange(len(single_agent)), single_agent][None]
    return {
        "method": found.method,
        "evidence": "recorded",
        "agents": list(test.agents),
        "train": {name: int((train.families == name).sum()) for name in dict.fromkeys(train.families.tolist())},
        "test": {name: int((test.families == name).sum()) for name in found.by_benchmark},
        "encoder": {"name": reader.name, "layer": reader.layer, "position": reader.position, "dtype": reader.dtype},
        "tokens encoded now": reader.stats.tokens_encoded,
        "trained parameters": found.parameters,
        "evaluations a seed": found.evaluations,
        "seeds": len(found.chosen),
        "accuracy": {name: _percent(estimate) for name, estimate in found.by_benchmark.items()},
        "average": _percent(found.average),
        "best single LLM of the training files": test.agents[single_agent[0]],
        "gain over it": _percent(paired_difference(found.rewards, alone, test.families)),
        "average of each seed": [
            round(100 * mean_interval(row[None], test.families).value, 4) for row in found.rewards
        ],
        "references": {
            name: {
                "accuracy": {bench: round(100 * estimate.value, 4) for bench, estimate in single[name].items()},
                "average": _percent(averages[name]),
            }
            for name in known
        },
        "shares of the agents": {
            name: {agent: round(share, 4) for agent, share in zip(test.agents, row, strict=True)}
            for name, row in shares.items()
        },
        "seconds": round(seconds, 1),
    }


def _percent(estimate: Estimate) -> list[float]:
    """Value, low, high of the 95 % interval."""
    return [round(100 * number, 4) for number in estimate]


def as_text(report: dict[str, Any]) -> str:
    """The report of `summary` for a terminal."""
    reader, references_ = report["encoder"], report["references"]
    names = ("best single LLM", "best LLM of each benchmark", "best LLM of each question")
    above = ["", "", "", "in hindsight:", "", ""]
    head = ["benchmark", "questions", f"{report['method']} [95 %]", "best single", "best of each", "best a question"]
    rows = [
        [
            name,
            str(report["test"][name]),
            _interval(report["accuracy"][name]),
            *(f"{references_[reference]['accuracy'][name]:.2f}" for reference in names),
        ]
        for name in report["test"]
    ]
    averages = [_interval(report["average"]), *(f"{references_[name]['average'][0]:.2f}" for name in names)]
    rows.append(["average", str(sum(report["test"].values())), *averages])
    widths = [max(len(row[column]) for row in [above, head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in [above, head, *rows]
    ]
    benchmarks = f"{len(report['train'])} benchmark{'s' * (len(report['train']) > 1)}"
    trained = f"{report['trained parameters']:,} trained numbers, {report['evaluations a seed']:,} scores read"
    return "\n".join(
        [
            f"{len(report['agents'])} LLMs, {sum(report['train'].values())} training questions of {benchmarks}, "
            f"{report['seeds']} seed{'s' * (report['seeds'] > 1)}; {trained}",
            f"hidden states: {reader['name']}, layer {reader['layer']}, {reader['position']} token, {reader['dtype']}",
            "",
            *lines,
            "",
            f"Against {report['best single LLM of the training files']}, the best single LLM of the training files: "
            f"{_interval(report['gain over it'])} points.",
            *textwrap.wrap(
                "Accuracy in percent; evidence: recorded. The last three columns are chosen on the test questions, so "
                f"no router can know them beforehand. {_agents(report)}",
                110,
                break_on_hyphens=False,
            ),
        ]
    )


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _agents(report: Mapping[str, Any]) -> str:
    shares = report["shares of the agents"]
    mean = {name: np.mean([row[name] for row in shares.values()]) for name in report["agents"]}
    used = sorted((name for name in mean if mean[name] >= 0.005), key=lambda name: -mean[name])
    return "Chosen: " + ", ".join(f"{name} {100 * mean[name]:.0f} %" for name in used) + "."
