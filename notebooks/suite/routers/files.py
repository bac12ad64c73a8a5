"""The command `trinity recordings train`: reads files, evaluates, says it in words."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suite.recordings.readers import read_tables
from suite.recordings.tables import COUNTED, RecordedTable, drop_overlap, same_agents
from suite.routers.evaluation import BLIND, LEARNERS, Evaluation, best_single, evaluate, references
from suite.stats.intervals import Estimate, by_family, mean_interval, paired_difference
from suite.worlds.routing import RoutingData, gather


def evaluate_files(
    train_paths: Sequence[str | Path],
    test_paths: Sequence[str | Path],
    *,
    method: str = "sep-cma-es",
    seeds: int = 5,
    budget: int | None = None,
    encoder: str = "smollm2-135m",
    layer: int = -1,
) -> dict[str, Any]:
    """Reads, encodes (once, with a bar), trains, and returns the report as JSON values: see `summary`, `as_text`.

    RecordedError or ValueError names a bad file, method, budget or encoder.
    """
    import sys

    from tqdm import tqdm

    from suite.worlds.recorded_states import load_reader, states
    from trinity_core.training.train import PAPER_BUDGET

    began = time.perf_counter()
    train_tables, test_tables = read_tables(train_paths), read_tables(test_paths)
    aligned = same_agents([*train_tables, *test_tables])
    train_tables, test_tables = aligned[: len(train_tables)], aligned[len(train_tables) :]
    train_tables, remarks = drop_overlap(train_tables, test_tables)
    notes = [*(said for table in [*train_tables, *test_tables] for said in table.remarks), *remarks]
    notes += _two_rules(train_tables, test_tables)
    known = {table.name.lower() for table in train_tables}
    unseen = [table.name for table in test_tables if table.name.lower() not in known]
    if method == "per-benchmark-best" and unseen:
        notes.append(f"no training file of {', '.join(unseen)}; there the best single LLM answers")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    every = [*train_tables, *test_tables]
    texts = [text for table in every for text in table.questions]
    # One call, so that one bar shows how much is left.
    reader = None if method in BLIND else load_reader(encoder, layer=layer)
    read = np.zeros((len(texts), 1)) if reader is None else states(reader, texts)
    rows = np.split(read, np.cumsum([len(table.questions) for table in every])[:-1])
    train = gather(train_tables, rows[: len(train_tables)])
    test = gather(test_tables, rows[len(train_tables) :])
    each = (budget or PAPER_BUDGET) if method in LEARNERS else 0
    with tqdm(total=each * seeds, desc=method, unit="eval", leave=False, disable=None if each else True) as bar:
        found = evaluate(method, train, test, seeds=range(1, seeds + 1), budget=budget, progress=bar.update)
    report = summary(found, train, reader, time.perf_counter() - began)
    files = {"train": [str(path) for path in train_paths], "test": [str(path) for path in test_paths]}
    return report | {"files": files, "rules": {table.name: table.rule for table in test_tables}, "notes": notes}


def _two_rules(train: Sequence[RecordedTable], test: Sequence[RecordedTable]) -> list[str]:
    """A note for each benchmark whose training and test file are counted by different rules."""
    rules = {table.name.lower(): table for table in train}
    return [
        f"{rules[table.name.lower()].path.name} is read by another rule than {table.path.name}: "
        f"{rules[table.name.lower()].rule}, {table.rule}; see --inspect"
        for table in test
        if table.name.lower() in rules and rules[table.name.lower()].graded != table.graded
    ]


def summary(found: Evaluation, train: RoutingData, reader: Any, seconds: float) -> dict[str, Any]:
    """An evaluation as plain numbers (accuracies in percent), with what its test questions allow beside it.

    `reader` None: no hidden state was read.
    """
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
        "encoder": reader and {name: getattr(reader, name) for name in ("name", "layer", "position", "dtype")},
        "tokens encoded now": reader.stats.tokens_encoded if reader else 0,
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
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in [above, head, *rows]
    ]
    benchmarks = f"{len(report['train'])} benchmark{'s' * (len(report['train']) > 1)}"
    trained = f"{report['trained parameters']:,} trained numbers, {report['evaluations a seed']:,} scores read"
    read = "hidden states: none are read"
    if reader:
        layer, token = reader["layer"], reader["position"]
        read = f"hidden states: {reader['name']}, layer {layer}, {token} token, {reader['dtype']}"
    return "\n".join(
        [
            f"{len(report['agents'])} LLMs, {sum(report['train'].values())} training questions of {benchmarks}, "
            f"{report['seeds']} seed{'s' * (report['seeds'] > 1)}; {trained}",
            read,
            "",
            *lines,
            "",
            f"Against {report['best single LLM of the training files']}, the best single LLM of the training files: "
            f"{_interval(report['gain over it'])} points.",
            *textwrap.wrap(
                "Accuracy in percent; evidence: recorded. The last three columns are chosen on the test questions, so "
                f"no router can know them beforehand. {_rules(report)} {_agents(report)}",
                110,
                break_on_hyphens=False,
            ),
        ]
    )


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _rules(report: Mapping[str, Any]) -> str:
    """How accuracy is counted on the test files."""
    graded = [name for name, rule in report["rules"].items() if rule == COUNTED]
    if len(graded) == len(report["rules"]):
        return "A score above 0 counts as right."
    return (
        f"A score above 0 counts as right on {', '.join(graded)}; elsewhere scores are averaged."
        if graded
        else ("Scores are averaged.")
    )


def _agents(report: Mapping[str, Any]) -> str:
    shares = report["shares of the agents"]
    mean = {name: np.mean([row[name] for row in shares.values()]) for name in report["agents"]}
    used = sorted((name for name in mean if mean[name] >= 0.005), key=lambda name: -mean[name])
    return "Chosen: " + ", ".join(f"{name} {100 * mean[name]:.0f} %" for name in used) + "."
