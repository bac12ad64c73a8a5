"""What the simulated agents can do: abilities solved so that each agent alone scores what was published for it.

    P(agent a alone is right on question q) = sigmoid(theta(a, f, s) - difficulty(q) + private(a, q))

with f, s the question's family and split, difficulty ~ N(0, s_d^2), private ~ N(0, s_p^2), both keyed by what they
belong to. theta is the root of: mean over the questions of (f, s) = the agent's published score on f. So the mean is
exact over the questions at hand, whatever their draws, and only the noise of single answers remains. One theta a split,
so that no split is easier by the luck of its draws.

Scores are read from `data/paper`. Where a family's table has no row of an agent, its score is assumed (`assumed: true`)
by the rule of `assumed_score`, from a related task on which all agents have one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any

import numpy as np

from suite.pools.config import check_keys, number
from trinity_core import paths
from trinity_core.draws import uniforms
from trinity_core.pool import Agent, PoolError
from trinity_core.types import Question

TOKEN_TABLE, TOKEN_SETTING = "tables9_12_output_tokens", "default_4096"
CHANCES = ("keep", "accept_right_weak", "accept_right_strong", "accept_wrong_weak", "accept_wrong_strong", "first_slip")
NORMAL = NormalDist()


@dataclass(frozen=True)
class Assumptions:
    """What nobody has published, in one place; `sd` and `gain` are in logits, the rest are chances or shares.

    `weak` and `strong`: a Verifier who never, or always, solves the question itself; in between linear in its chance.
    """

    difficulty_sd: float
    private_sd: float
    plan_gain_good: float
    plan_gain_vague: float
    diagnosis_gain: float
    keep: float
    accept_right_weak: float
    accept_right_strong: float
    accept_wrong_weak: float
    accept_wrong_strong: float
    first_slip: float
    token_spread: float

    def accept(self, right: bool, skill: Any) -> Any:
        """P(ACCEPT) for a right or a wrong answer by a Verifier whose own chance on the question is `skill`."""
        weak, strong = (
            (self.accept_right_weak, self.accept_right_strong)
            if right
            else (self.accept_wrong_weak, self.accept_wrong_strong)
        )
        return weak + (strong - weak) * skill


@dataclass(frozen=True)
class Target:
    """The score that an agent alone is made to have on a family: a table's cell, or assumed by a rule."""

    agent: str
    family: str
    value: float
    assumed: bool
    source: str


def read_assumptions(entries: Any) -> Assumptions:
    """The file's `assumptions`: each {value, reason}; PoolError names a missing, unknown or impossible one."""
    names = [field.name for field in fields(Assumptions)]
    check_keys(entries, "assumptions", known=names, required=names)
    values = {}
    for name in names:
        where = f"assumptions.{name}"
        check_keys(entries[name], where, known=("value", "reason"), required=("value", "reason"))
        if not isinstance(entries[name]["reason"], str) or not entries[name]["reason"].strip():
            raise PoolError(f"{where}.reason is {entries[name]['reason']!r}; say in a few words why this value")
        values[name] = float(number(entries[name]["value"], f"{where}.value"))
        if name in (*CHANCES, "token_spread") and values[name] > 1:
            raise PoolError(f"{where}.value is {values[name]:g}; give a number from 0 to 1")
    return Assumptions(**values)


def table(name: str) -> list[dict[str, str]]:
    """The rows of `data/paper/<name>.csv`; PoolError where there is no such table."""
    path = paths.DATA / "paper" / f"{name}.csv"
    if not path.is_file():
        raise PoolError(f"no published table {name!r} in data/paper; see its .csv files for the choices")
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def cell(name: str, row: str, column: str, full: float = 1.0) -> float:
    """One number of a published table, divided by `full`. PoolError names a missing row, column or number."""
    rows = table(name)
    key = next(iter(rows[0]))
    found = [entry for entry in rows if entry[key] == row]
    if not found:
        raise PoolError(f"table {name} has no row {row!r}; rows: {', '.join(entry[key] for entry in rows)}")
    if column not in found[0]:
        raise PoolError(f"table {name} has no column {column!r}; columns: {', '.join(found[0])}")
    try:
        return float(found[0][column]) / full
    except ValueError:
        raise PoolError(f"table {name}, row {row!r}, column {column!r} is {found[0][column]!r}, not a number") from None


def logit(p: float) -> float:
    """ln(p / (1 - p))."""
    return float(np.log(p) - np.log1p(-p))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), elementwise."""
    return 1.0 / (1.0 + np.exp(-np.asarray(x, dtype=np.float64)))


def assumed_score(own_kin: float, others_kin: Sequence[float], others: Sequence[float]) -> float:
    """The score of an agent without one: as far (in mean logits) from the agents that have one as on the kin task."""
    gap = np.mean([logit(p) for p in others_kin]) - logit(own_kin)
    return float(sigmoid(np.mean([logit(p) for p in others]) - gap))


def read_targets(agents: Sequence[Mapping[str, Any]], scores: Any) -> dict[tuple[str, str], Target]:
    """(agent, family) -> the score to meet, for the file's `agents` and `scores`."""
    if not isinstance(scores, Mapping) or not scores:
        raise PoolError(f"`scores` is {scores!r}; give a mapping from family to {{table, column, full}}")
    targets: dict[tuple[str, str], Target] = {}
    for family, entry in scores.items():
        where = f"scores.{family}"
        check_keys(entry, where, known=("table", "column", "full", "kin"), required=("table", "column", "full"))
        name, column, full = entry["table"], entry["column"], number(entry["full"], f"{where}.full", least=1)
        table(name)  # names a table that is not there before any agent's row is missed
        having = {agent["name"]: agent["rows"][name] for agent in agents if name in agent["rows"]}
        published = {agent: cell(name, row, column, full) for agent, row in having.items()}
        for agent, value in published.items():
            targets[agent, family] = Target(agent, family, value, False, f"{name}, {having[agent]}, {column}")
        for agent in agents:
            if agent["name"] in published:
                continue
            who = agent["name"]
            if not agent["assumed"]:
                raise PoolError(f"agent {who}: no row of {name} named under `rows`, and no `assumed: true`")
            if "kin" not in entry or not published:
                raise PoolError(f"{where}: agent {who} has no row in {name}; name a related column of Table 1 as `kin`")
            kin = {a["name"]: cell("table1_zero_shot", kin_row(a), entry["kin"], 100) for a in agents}
            value = assumed_score(kin[who], [kin[a] for a in published], list(published.values()))
            targets[who, family] = Target(who, family, value, True, f"rule from table1_zero_shot, {entry['kin']}")
    for target in targets.values():
        if not 0 < target.value < 1:
            raise PoolError(
                f"the score of {target.agent} on {target.family} is {target.value}; it must be inside 0 to 1"
            )
    return targets


def kin_row(agent: Mapping[str, Any]) -> str:
    """The agent's row of Table 1, which the rule for assumed scores reads."""
    if "table1_zero_shot" not in agent["rows"]:
        raise PoolError(f"agent {agent['name']}: `rows` names no row of table1_zero_shot, which assumed scores need")
    return agent["rows"]["table1_zero_shot"]


def normal(*key: str | int) -> float:
    """A standard normal number that is a function of the key alone."""
    return NORMAL.inv_cdf(max(float(uniforms(1, *key)[0]), 2.0**-54))


def draw_terms(agents: Sequence[Agent], questions: Sequence[Question], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal (difficulty (n,), private (L, n)), keyed by (seed, question) and (seed, agent, question)."""
    difficulty = np.array([normal("difficulty", seed, question.id) for question in questions])
    private = np.array([[normal("private", seed, agent.name, q.id) for q in questions] for agent in agents])
    return difficulty, private


def solve_abilities(targets: np.ndarray, difficulty: np.ndarray, private: np.ndarray) -> np.ndarray:
    """theta (L,) with mean over n of sigmoid(theta - difficulty + private) = targets (L,); by bisection, to 1e-12.

    `difficulty` (n,) and `private` (L, n) in logits. The mean rises strictly with theta, so the root is the only one.
    """
    offset = private - difficulty
    start = np.array([logit(p) for p in targets])
    low, high = start - offset.max(axis=1) - 1.0, start - offset.min(axis=1) + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = sigmoid(middle[:, None] + offset).mean(axis=1) < targets
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def calibrated_logits(
    agents: Sequence[Agent],
    questions: Sequence[Question],
    terms: tuple[np.ndarray, np.ndarray],
    assumptions: Assumptions,
    targets: Mapping[tuple[str, str], Target],
) -> tuple[np.ndarray, dict[tuple[str, str], np.ndarray]]:
    """(logits (L, n) of every agent's own chance, theta (L,) of each (family, split)), from `draw_terms`' normals."""
    difficulty, private = assumptions.difficulty_sd * terms[0], assumptions.private_sd * terms[1]
    logits, abilities = np.empty(private.shape), {}
    for family, split in dict.fromkeys((q.family, q.split) for q in questions):
        rows = [n for n, q in enumerate(questions) if (q.family, q.split) == (family, split)]
        scores = np.array([targets[agent.name, family].value for agent in agents])
        theta = solve_abilities(scores, difficulty[rows], private[:, rows])
        abilities[family, split] = theta
        logits[:, rows] = theta[:, None] - difficulty[rows] + private[:, rows]
    return logits, abilities


def output_tokens(agents: Sequence[Agent], columns: Any, families: Sequence[str]) -> dict[tuple[str, str], float]:
    """(agent, family) -> the published average output tokens of one call (Tables 9-12, the 4,096-token setting)."""
    check_keys(columns, "tokens", known=tuple(columns), required=tuple(families))
    rows = {row["method"]: row for row in table(TOKEN_TABLE) if row["setting"] == TOKEN_SETTING}
    found = {}
    for agent in agents:
        if agent.name not in rows:
            raise PoolError(f"agent {agent.name}: table {TOKEN_TABLE} has no row of this name ({TOKEN_SETTING})")
        for family in families:
            if columns[family] not in rows[agent.name]:
                raise PoolError(f"tokens.{family} is {columns[family]!r}, which is no column of table {TOKEN_TABLE}")
            found[agent.name, family] = float(rows[agent.name][columns[family]])
    return found
