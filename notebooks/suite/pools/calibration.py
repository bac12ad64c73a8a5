"""What the simulated agents can do: abilities solved so that each agent alone scores what was published for it.

    P(agent a alone is right on question q) = sigmoid(theta(a, f, s) - difficulty(q) + subject(a, u) + private(a, q))

with f, s, u the question's family, split and subject (or template: what its text shows), difficulty ~ N(0, s_d^2),
subject ~ N(0, s_u^2), private ~ N(0, s_p^2), all keyed by what they belong to. The subject term is what a reader of the
text can learn; the private one nobody can foresee. theta is the root of: mean over the questions of (f, s) = the
agent's published score on f.

Scores are read from `data/paper`. Where a family's table has no row of an agent, its score is assumed (`assumed: true`)
by the rule of `assumed_score`, from a related task on which all agents have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BeforeValidator, Field

from suite.pools.config import AgentEntry, Strict, Text, different_names
from suite.published import published
from trinity_core.draws import uniforms
from trinity_core.pool import Agent, PoolError
from trinity_core.types import Question

TOKEN_TABLE, TOKEN_SETTING = "tables9_12_output_tokens", "default_4096"
KIN_TABLE = "table1_zero_shot"  # where every agent has a score


Stated = BeforeValidator(lambda entry: entry.get("value") if isinstance(entry, Mapping) else entry)
Logits = Annotated[float, Stated, Field(ge=0)]
Share = Annotated[float, Stated, Field(ge=0, le=1)]


class Assumptions(Strict):
    """What nobody has published; in a file each is {value, reason}. `sd` and `gain` are in logits. `weak` and `strong`:
    a Verifier who never, or always, solves the question itself; in between linear in its chance."""

    difficulty_sd: Logits
    private_sd: Logits
    subject_sd: Logits
    plan_gain_good: Logits
    plan_gain_vague: Logits
    diagnosis_gain: Logits
    keep: Share
    accept_right_weak: Share
    accept_right_strong: Share
    accept_wrong_weak: Share
    accept_wrong_strong: Share
    names_role: Share
    token_spread: Share

    def own(self, terms: Terms) -> np.ndarray:
        """What sets an agent apart on a question, (L, n) in logits: its subject's term and the private one."""
        return self.subject_sd * terms.subject + self.private_sd * terms.private

    def accept(self, right: bool, skill: Any) -> Any:
        """P(ACCEPT) for a right or a wrong answer by a Verifier whose own chance on the question is `skill`."""
        if right:
            weak, strong = self.accept_right_weak, self.accept_right_strong
        else:
            weak, strong = self.accept_wrong_weak, self.accept_wrong_strong
        return weak + (strong - weak) * skill


class Score(Strict):
    """Where a family's published scores stand: the column, what it gives for all right, and the related task's."""

    table: Text
    column: Text
    full: Annotated[float, Field(ge=1)]
    kin: Text | None = None


class SimulatedAgent(AgentEntry):
    """An agent with its row of each table; `assumed`: scores that no table has may follow from the rule."""

    rows: dict[str, str] = {}
    assumed: bool = False


class SimulatedFile(Strict):
    """A simulated pool's file."""

    description: str = ""
    scores: Annotated[dict[str, Score], Field(min_length=1)]
    tokens: dict[str, str]
    assumptions: Assumptions
    agents: Annotated[list[SimulatedAgent], Field(min_length=1), AfterValidator(different_names)]


@dataclass(frozen=True)
class Target:
    """The score that an agent alone is made to have on a family: a table's cell, or assumed by a rule."""

    agent: str
    family: str
    value: float
    assumed: bool
    source: str


@lru_cache
def table(name: str) -> pd.DataFrame:
    """A table of `data/paper` by the entries of its first column; ValueError where there is no such table."""
    frame = published(name)
    return frame.set_index(frame.columns[0])


def cell(name: str, row: str | None, column: str, full: float = 1.0) -> float:
    """One number of a published table, divided by `full`. PoolError names a missing row or column."""
    try:
        return float(table(name).at[row, column]) / full
    except KeyError as missing:
        rows, columns = (", ".join(map(str, labels)) for labels in table(name).axes)
        raise PoolError(f"table {name} has no row or column {missing}; rows: {rows}; columns: {columns}") from None


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


def read_targets(file: SimulatedFile) -> dict[tuple[str, str], Target]:
    """(agent, family) -> the score to meet."""
    targets = {}
    for family, score in file.scores.items():
        table(score.table)  # names a table that is not there before any agent's row is missed
        rows = {agent.name: agent.rows[score.table] for agent in file.agents if score.table in agent.rows}
        known = {name: cell(score.table, row, score.column, score.full) for name, row in rows.items()}
        for agent in file.agents:
            who = agent.name
            if who in known:
                value, source = known[who], f"{score.table}, {rows[who]}, {score.column}"
            elif agent.assumed and score.kin and known:
                kin = {one.name: cell(KIN_TABLE, one.rows.get(KIN_TABLE), score.kin, 100) for one in file.agents}
                value = assumed_score(kin[who], [kin[name] for name in known], list(known.values()))
                source = f"rule from {KIN_TABLE}, {score.kin}"
            else:
                raise PoolError(
                    f"agent {who} has no score on {family}: name its row of {score.table} under `rows`, or say "
                    "`assumed: true` and name a column of Table 1 as the family's `kin`"
                )
            if not 0 < value < 1:
                raise PoolError(f"the score of {who} on {family} is {value}; it must be inside 0 to 1")
            targets[who, family] = Target(who, family, value, who not in known, source)
    return targets


def output_tokens(file: SimulatedFile, families: Sequence[str]) -> dict[tuple[str, str], float]:
    """(agent, family) -> the published average output tokens of one call (Tables 9-12, the 4,096-token setting)."""
    frame = table(TOKEN_TABLE).loc[TOKEN_SETTING].set_index("method")
    keys = [(agent.name, family) for agent in file.agents for family in families]
    try:
        return {(who, family): float(frame.at[who, file.tokens[family]]) for who, family in keys}
    except KeyError as missing:
        raise PoolError(f"{missing}: no row or column of {TOKEN_TABLE}, or no family under `tokens`") from None


class Terms(NamedTuple):
    """Standard normals: of each question (n,), of each agent on each question (L, n), and of each agent on each
    question's subject (L, n)."""

    difficulty: np.ndarray
    private: np.ndarray
    subject: np.ndarray

    def at(self, places: Sequence[int]) -> Terms:
        """Those of some questions."""
        return Terms(self.difficulty[places], self.private[:, places], self.subject[:, places])


def subject_of(question: Question) -> str:
    """What a question is about, as its text shows: its subject, or the template that it was made by."""
    return str(question.meta.get("subject") or question.meta.get("template") or question.family)


def draw_terms(agents: Sequence[Agent], questions: Sequence[Question], seed: int) -> Terms:
    """The terms, keyed by (seed, question), (seed, agent, question) and (seed, agent, family, subject)."""

    def normal(*key: str | int) -> float:
        return NormalDist().inv_cdf(max(float(uniforms(1, *key)[0]), 2.0**-54))

    kinds = [(question.family, subject_of(question)) for question in questions]
    difficulty = np.array([normal("difficulty", seed, question.id) for question in questions])
    private = np.array([[normal("private", seed, agent.name, q.id) for q in questions] for agent in agents])
    drawn = [{kind: normal("subject", seed, agent.name, *kind) for kind in dict.fromkeys(kinds)} for agent in agents]
    return Terms(difficulty, private, np.array([[of_agent[kind] for kind in kinds] for of_agent in drawn]))


def solve_abilities(targets: np.ndarray, difficulty: np.ndarray, private: np.ndarray) -> np.ndarray:
    """theta (L,) with mean over n of sigmoid(theta - difficulty + private) = targets (L,); by bisection, to 1e-12.
    `difficulty` (n,) and `private` (L, n) in logits."""
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
    terms: Terms,
    assumptions: Assumptions,
    targets: Mapping[tuple[str, str], Target],
) -> np.ndarray:
    """Logits (L, n) of every agent's own chance, theta solved for each (family, split), from `draw_terms`' normals."""
    difficulty, own = assumptions.difficulty_sd * terms.difficulty, assumptions.own(terms)
    logits = np.empty(own.shape)
    for family, split in dict.fromkeys((q.family, q.split) for q in questions):
        rows = [n for n, q in enumerate(questions) if (q.family, q.split) == (family, split)]
        scores = np.array([targets[agent.name, family].value for agent in agents])
        theta = solve_abilities(scores, difficulty[rows], own[:, rows])
        logits[:, rows] = theta[:, None] - difficulty[rows] + own[:, rows]
    return logits
