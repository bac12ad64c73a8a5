"""A router trained on files of recorded LLMs and tested on others: reads, trains, says in words what was found."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from suite.recordings.readers import read_tables
from suite.recordings.tables import COUNTED, RecordedTable, counted, drop_overlap, same_agents
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
    aligned = same_agents([*train_tables, *test_tables])
    train_tables, test_tables = aligned[: len(train_tables)], aligned[len(train_tables) :]
    train_tables, remarks = drop_overlap(train_tables, test_tables)
    every = [*train_tables, *test_tables]
    notes = [*(said for table in every for said in table.remarks), *remarks, *_two_rules(train_tables, test_tables)]
    known = {table.name.lower() for table in train_tables}
    unseen = [table.name for table in test_tables if table.name.lower() not in known]
    if method == "per-benchmark-best" and unseen:
        notes.append(f"no training file of {', '.join(unseen)}; there the best single LLM answers")
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
    files = {"train": [str(path) for path in train_paths], "test": [str(path) for path in test_paths]}
    return {
        "method": method,
        "evidence": "recorded",
        **summary(outcomes, *data),
        "encoder": reader
        and {"name": reader.name, **{name: getattr(reader.settings, name) for name in ("layer", "position", "dtype")}},
        "tokens encoded now": reader.stats.tokens_encoded if reader else 0,
        "seconds": round(time.perf_counter() - began, 1),
        "files": files,
        "rules": {table.name: table.rule for table in test_tables},
        "notes": notes,
    }


def _two_rules(train: Sequence[RecordedTable], test: Sequence[RecordedTable]) -> list[str]:
    """A note for each benchmark whose training and test file are counted by different rules."""
    pairs = [(one, other) for one in train for other in test if one.name.lower() == other.name.lower()]
    return [
        f"{one.path.name} is read by another rule than {other.path.name}: {one.rule}, {other.rule}; inspect both"
        for one, other in pairs
        if one.graded != other.graded
    ]


def summary(outcomes: Sequence[Outcome], train: RoutingData, test: RoutingData) -> dict[str, Any]:
    """What routers of several seeds chose, as plain numbers (accuracies in percent), with what their test questions
    allow beside it."""
    chosen, single = np.stack([outcome.chosen for outcome in outcomes]), best_single(train, test)
    found, known = test.by_benchmark(chosen), references(test)
    shares = zip(found, test.shares(chosen).round(4).tolist(), strict=True)
    return {
        "agents": list(test.agents),
        "train": {name: int((train.families == name).sum()) for name in dict.fromkeys(train.families.tolist())},
        "test": {name: int((test.families == name).sum()) for name in found},
        "trained parameters": outcomes[0].parameters,
        "evaluations a seed": outcomes[0].evaluations,
        "seeds": len(outcomes),
        "accuracy": {name: _percent(estimate) for name, estimate in found.items()},
        "average": _percent(test.estimate(chosen)),
        "best single LLM of the training files": test.agents[single[0]],
        "gain over it": _percent(test.lead(chosen, single)),
        "average of each seed": [_percent(test.estimate(row))[0] for row in chosen],
        "references": {
            name: {
                "accuracy": {bench: _percent(estimate)[0] for bench, estimate in test.by_benchmark(agents).items()},
                "average": _percent(test.estimate(agents)),
            }
            for name, agents in known.items()
        },
        "shares of the agents": {name: dict(zip(test.agents, row, strict=True)) for name, row in shares},
    }


def _percent(estimate: Estimate) -> list[float]:
    """Value, low, high of the 95 % interval."""
    return [round(100 * number, 4) for number in estimate]


def as_text(report: Mapping[str, Any]) -> str:
    """The report of `evaluate_files` for a terminal."""
    known, test = report["references"], report["test"]
    names = ("best single LLM", "best LLM of each benchmark", "best LLM of each question")
    rows = [
        [name, n, _interval(report["accuracy"][name]), *(f"{known[one]['accuracy'][name]:.2f}" for one in names)]
        for name, n in test.items()
    ]
    averages = [f"{known[one]['average'][0]:.2f}" for one in names]
    rows.append(["average", sum(test.values()), _interval(report["average"]), *averages])
    head = ["benchmark", "questions", f"{report['method']}\n[95 %]"]
    head += ["in hindsight:\nbest single", "best of each", "best a question"]
    table = tabulate(rows, head, disable_numparse=True, colalign=("left", *["right"] * 5))
    train, seeds, reader = report["train"], report["seeds"], report["encoder"]
    trained = f"{report['trained parameters']:,} trained numbers, {report['evaluations a seed']:,} scores read"
    read = "none are read"
    if reader:
        read = f"{reader['name']}, layer {reader['layer']}, {reader['position']} token, {reader['dtype']}"
    single, gain = report["best single LLM of the training files"], _interval(report["gain over it"])
    notes = (
        "Accuracy in percent; evidence: recorded. The last three columns are chosen on test questions, so no router "
        f"can know them beforehand. {_rules(report['rules'])} {_agents(report['shares of the agents'])}"
    )
    return "\n".join(
        [
            f"{len(report['agents'])} LLMs, {sum(train.values())} training questions of "
            f"{counted(len(train), 'benchmark')}, {counted(seeds, 'seed')}; {trained}",
            f"hidden states: {read}\n\n{table}\n",
            f"Against {single}, the best single LLM of the training files: {gain} points.",
            *textwrap.wrap(notes, 110, break_on_hyphens=False),
        ]
    )


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _rules(rules: Mapping[str, str]) -> str:
    """How accuracy is counted on the test files."""
    graded = [name for name, rule in rules.items() if rule == COUNTED]
    if not graded:
        return "Scores are averaged."
    where = "" if len(graded) == len(rules) else f" on {', '.join(graded)}; elsewhere scores are averaged"
    return f"A score above 0 counts as right{where}."


def _agents(shares: Mapping[str, Mapping[str, float]]) -> str:
    mean = {name: np.mean([row[name] for row in shares.values()]) for name in next(iter(shares.values()))}
    used = sorted((name for name in mean if mean[name] >= 0.005), key=lambda name: -mean[name])
    return "Chosen: " + ", ".join(f"{name} {100 * mean[name]:.0f} %" for name in used) + "."
