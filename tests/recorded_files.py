"""Small made files in the three formats of recorded LLMs, as their publishers write them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from suite.worlds.routing import Asked, RoutingData

# Why a test of the published files is skipped: they are not ours to ship. Made files are tested everywhere.
NO_DATA = "TRINITY_DATA is not set: published recordings are not shipped; data/README.md says where to get them"
AGENTS = ("north/a-7b", "east-b-chat", "south/c-13b")
LETTERS = "ABCD"
EXAMPLES = (
    'Which of these is a colour?\nA) red\nB) seven\nPrint only a single choice from "A" or "B" without explanation.\n'
    'Answer:\nA\n\nWhich of these is a number?\nA) blue\nB) nine\nPrint only a single choice from "A" or "B" without '
    "explanation.\nAnswer:\nB\n\n"
)


def questions(n: int, tag: str = "made") -> list[str]:
    """n different questions with four options."""
    options = "\n".join(f"{letter}) {word}" for letter, word in zip(LETTERS, ["ant", "bee", "cat", "dog"], strict=True))
    return [f"What stands in box {k} of {tag}?\n{options}\nAnswer:" for k in range(n)]


def scores(n: int, n_agents: int = 3, kind: str = "shares", seed: int = 0) -> np.ndarray:
    """(n, L): `right` 0 or 1, `shares` tenths, `probabilities` 0 or from 0.25 on."""
    draws = np.random.default_rng(seed)
    right = draws.random((n, n_agents)) < np.linspace(0.3, 0.7, n_agents)
    if kind == "right":
        return right.astype(float)
    if kind == "shares":
        return draws.integers(0, 11, (n, n_agents)) / 10
    return right * (0.25 + 0.75 * draws.random((n, n_agents)))


def _names(values: np.ndarray, agents: Sequence[str] | None) -> Sequence[str]:
    return agents or [*AGENTS, *(f"more/{k}" for k in range(3, values.shape[1]))][: values.shape[1]]


def write_routerdc(
    path: Path,
    values: np.ndarray,
    *,
    agents: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    clusters: bool = False,
    indent: int | None = None,
) -> Path:
    """RouterDC's JSON, on one line unless `indent`; NaN becomes null."""
    texts = texts or questions(len(values))
    names = _names(values, agents)
    entries = [
        {"question": text, "scores": {a: None if v != v else float(v) for a, v in zip(names, row, strict=True)}}
        | ({"cluster_id": k % 2} if clusters else {})
        for k, (text, row) in enumerate(zip(texts, values, strict=True))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=indent), encoding="utf-8")
    return path


def write_routerbench(
    path: Path,
    values: np.ndarray,
    *,
    agents: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    responses: Sequence[Sequence[str]] | None = None,
    costs: np.ndarray | None = None,
    examples: str = EXAMPLES,
) -> Path:
    """RouterBench's CSV; NaN becomes a blank cell. Without `responses` every LLM says a letter, without `costs` each
    answer costs so many thousandths of a dollar as its LLM's number."""
    texts = texts or questions(len(values))
    names = _names(values, agents)
    n, n_agents = values.shape
    responses = responses or [[LETTERS[(k + a) % 4] for a in range(n_agents)] for k in range(n)]
    costs = np.tile(np.arange(1, n_agents + 1) / 1000, (n, 1)) if costs is None else costs
    header = ["", "sample_id", "prompt", "eval_name", *names]
    header += [f"{a}|model_response" for a in names] + [f"{a}|total_cost" for a in names] + ["oracle_model_to_route_to"]
    rows = [
        [k, f"{path.stem}.dev.{k}", repr([examples + texts[k]]), path.stem]
        + ["" if v != v else float(v) for v in values[k]]
        + [repr([said]) for said in responses[k]]
        + ["" if v != v else float(v) for v in costs[k]]
        + [names[0]]
        for k in range(n)
    ]
    return write_csv(path, [header, *rows])


def write_routellm(
    path: Path,
    values: np.ndarray,
    *,
    agents: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    responses: Sequence[Sequence[str]] | None = None,
) -> Path:
    """RouteLLM's CSV; values above 0 become True, NaN a blank cell."""
    texts = texts or questions(len(values))
    names = _names(values, agents)
    header = ["prompt", *names, *(f"{a}_response" for a in names if responses)]
    rows = [
        [text, *("" if v != v else str(bool(v > 0)) for v in row), *(responses[k] if responses else ())]
        for k, (text, row) in enumerate(zip(texts, values, strict=True))
    ]
    return write_csv(path, [header, *rows])


def write_csv(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """The rows as CSV, lines ending in a line feed."""
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(page.getvalue().encode())
    return path


def write_benchmarks(
    folder: Path, names: Sequence[str] = ("alpha", "beta"), n_train: int = 24, n_test: int = 12, seed: int = 0
) -> tuple[list[Path], list[Path]]:
    """(training files, test files) of RouterDC's format, one pair a benchmark. LLM k is right on benchmark k (of each
    three) nine times in ten, elsewhere four times, so a router can learn something."""
    train, test = [], []
    for k, name in enumerate(names):
        for files, split, n in ((train, "train", n_train), (test, "test", n_test)):
            draws = np.random.default_rng([seed, k, n])
            chance = np.where(np.arange(3) == k % 3, 0.9, 0.4)
            values = draws.binomial(10, chance, (n, 3)) / 10
            texts = questions(n, f"{name}, {split}")
            files.append(write_routerdc(folder / f"{name}_{split}.json", values, texts=texts))
    return train, test


def separable(n: int = 240, d: int = 6, seed: int = 0, shares: bool = False) -> RoutingData:
    """Three LLMs, each right on its own third of the questions (by the state's first numbers); two benchmarks."""
    draws = np.random.default_rng(seed)
    kind = draws.integers(0, 3, n)
    states = draws.normal(size=(n, d)) * 0.3 + 2.0 * np.eye(3, d)[kind]
    right = np.where(np.eye(3)[kind] > 0, 0.9, 0.1) if shares else np.eye(3)[kind]
    families = np.where(np.arange(n) < n // 4, "small", "large")
    questions = tuple(Asked(f"q{i}", str(name)) for i, name in enumerate(families))
    return RoutingData(("a", "b", "c"), questions, states, right, right)
