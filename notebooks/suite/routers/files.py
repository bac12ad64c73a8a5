"""A router trained on files of recorded LLMs and tested on others: reads, trains, says in words what was found."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from suite.recordings.readers import read_tables
from suite.recordings.tables import counted, drop_overlap, same_agents
from suite.routers.methods import BLIND, LEARNERS, ONCE, Outcome, Run, best_single, references, run
from suite.stats.intervals import Estimate
from suite.worlds.recorded_states import load_reader, states
from suite.worlds.routing import RoutingData, gather
from trinity_core.training.train import PAPER_BUDGET


def evaluate_files(
    train_paths: Sequence[str | Path],
    test_paths: Sequence[str | Path],
    *,
    method: str = "sep-cma-es",
    seeds: int = 5,
    budget: int = PAPER_BUDGET,
    encoder: str = "smollm2-135m",
    layer: int = -1,
) -> dict[str, Any]:
    """Reads, encodes (once, with a bar), trains, and returns the report as JSON values: see `summary`, `as_text`.

    What is to be known about the files goes to standard error. RecordedError or ValueError names a bad file, method,
    budget or encoder.
    """
    began = time.perf_counter()
    train_tables, test_tables = read_tables(train_paths), read_tables(test_paths)
    test_tables = same_agents([train_tables[0], *test_tables])[1:]
    train_tables, remarks = drop_overlap(train_tables, test_tables)
    every = [*train_tables, *test_tables]
    notes = [*(said for table in every for said in table.remarks), *remarks]
    known = {table.name.lower(): table for table in train_tables}
    for table in test_tables:
        own = known.get(table.name.lower(), table)
        if own.graded != table.graded:
            notes.append(f"{own.path.name}: {own.rule}; {table.path.name}: {table.rule}; inspect both")
        if own is table and method == "per-benchmark-best":
            notes.append(f"no training file of {table.name}; there the best single LLM answers")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    texts = [text for table in every for text in table.questions]
    # One call, so that one bar shows how much is left.
    reader = None if method in BLIND else load_reader(encoder, layer=layer)
    read = np.zeros((len(texts), 1)) if reader is None else states(reader, texts)
    rows = np.split(read, np.cumsum([len(table.questions) for table in every])[:-1])
    data = gather(train_tables, rows[: len(train_tables)]), gather(test_tables, rows[len(train_tables) :])
    jobs = [Run(method, seed, budget) for seed in ((1,) if method in ONCE else range(1, seeds + 1))]
    total = budget * seeds if method in LEARNERS else 0
    with tqdm(total=total, desc=method, unit="eval", leave=False, disable=None if total else True) as bar:
        outcomes = [run(data, job, bar.update) for job in jobs]
    settings = reader and {name: getattr(reader.settings, name) for name in ("layer", "position", "dtype")}
    return {
        "method": method,
        "evidence": "recorded",
        **summary(outcomes, *data),
        "encoder": reader and {"name": reader.name, **settings},
        "tokens encoded now": reader.stats.tokens_encoded if reader else 0,
        "seconds": round(time.perf_counter() - began, 1),
        "files": {"train": [str(path) for path in train_paths], "test": [str(path) for path in test_paths]},
        "rules": {table.name: table.rule for table in test_tables},
        "notes": notes,
    }


def summary(outcomes: Sequence[Outcome], train: RoutingData, test: RoutingData) -> dict[str, Any]:
    """What routers of several seeds chose, as plain numbers (accuracies in percent), with what their test questions
    allow beside it."""
    chosen, single = np.stack([outcome.chosen for outcome in outcomes]), best_single(train, test)
    known = {name: _accuracies(test, agents) for name, agents in references(test).items()}
    found = _accuracies(test, chosen)
    names = list(found)[:-1]
    shares = zip(names, test.shares(chosen).round(4).tolist(), strict=True)
    return {
        "agents": list(test.agents),
        "train": {name: int((train.families == name).sum()) for name in dict.fromkeys(train.families.tolist())},
        "test": {name: int((test.families == name).sum()) for name in names},
        "trained parameters": outcomes[0].parameters,
        "evaluations a seed": outcomes[0].evaluations,
        "seeds": len(outcomes),
        "accuracy": found,
        "best single LLM of the training files": test.agents[single[0]],
        "gain over it": _percent(test.lead(chosen, single)),
        "average of each seed": [_percent(test.estimate(row))[0] for row in chosen],
        "references": known,
        "shares of the agents": {name: dict(zip(test.agents, row, strict=True)) for name, row in shares},
    }


def _accuracies(test: RoutingData, chosen: np.ndarray) -> dict[str, list[float]]:
    """Of each benchmark and on average."""
    return {
        name: _percent(one) for name, one in (test.by_benchmark(chosen) | {"average": test.estimate(chosen)}).items()
    }


def _percent(estimate: Estimate) -> list[float]:
    """Value, low, high of the 95 % interval."""
    return [round(100 * number, 4) for number in estimate]


def as_text(report: Mapping[str, Any]) -> str:
    """The report of `evaluate_files` for a terminal."""
    test, reader = report["test"] | {"average": sum(report["test"].values())}, report["encoder"]
    rows = [
        [name, test[name], _interval(values), *(f"{known[name][0]:.2f}" for known in report["references"].values())]
        for name, values in report["accuracy"].items()
    ]
    head = [
        "benchmark",
        "questions",
        f"{report['method']}\n[95 %]",
        *(name.replace(" of", "\nof") for name in report["references"]),
    ]
    mean = np.mean([list(row.values()) for row in report["shares of the agents"].values()], axis=0)
    used = [f"{report['agents'][k]} {100 * mean[k]:.0f} %" for k in np.argsort(-mean) if mean[k] >= 0.005]
    single, gain = report["best single LLM of the training files"], _interval(report["gain over it"])
    lines = [
        f"{len(report['agents'])} LLMs, {sum(report['train'].values())} training questions of "
        f"{counted(len(report['train']), 'benchmark')}, {counted(report['seeds'], 'seed')}; "
        f"{report['trained parameters']:,} trained numbers, {report['evaluations a seed']:,} scores read",
        "hidden states: " + ("{name}, layer {layer}, {position} token, {dtype}".format(**reader) if reader else "none"),
        "",
        tabulate(rows, head, disable_numparse=True, colalign=("left", *["right"] * 5)),
        "",
        f"Against {single}, the best single LLM of the training files: {gain} points.",
        "Accuracy in percent; evidence: recorded. The last three columns are chosen on test questions, in hindsight.",
        *(f"{name}: {rule}." for name, rule in report["rules"].items()),
        f"Chosen: {', '.join(used)}.",
    ]
    return "\n".join(lines)


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"
