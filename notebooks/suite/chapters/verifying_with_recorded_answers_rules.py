"""What recorded agreements of real LLMs are worth: as verdicts, and in rules that are fixed for all questions.

A real LLM's own answer serves as its verdict: it accepts what it would have answered itself; where a Worker declines,
any Verifier objects. Rules are one LLM alone; "w answers, v checks, c answers where v objects"; a third opinion; a vote
of all: chosen on training questions, judged on test questions. Dollars are the recorded costs; a Verifier costs what
its own answer cost. Symbols: n -> questions, L -> LLMs, V and W -> LLMs as Verifier and Worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from suite.pools.calibration import Assumptions
from suite.pools.config import checked, read_config
from suite.stats.intervals import ratio_interval
from suite.worlds.verifying import get_pool, get_questions

SHORT = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False)
class Record:
    """What is recorded of some questions: `right` (n, L), `dollars` (n, L), `own` (n, L) what each answer states as a
    number, -1 for nothing readable; `agents` (L,)."""

    agents: tuple[str, ...]
    right: np.ndarray
    dollars: np.ndarray
    own: np.ndarray

    @property
    def accepts(self) -> np.ndarray:
        """(n, V, W): whether LLM V accepts the answer of LLM W."""
        return (self.own[:, :, None] == self.own[:, None, :]) & (self.own >= 0)[:, :, None]

    def among(self, agents: Sequence[int]) -> Record:
        """The same questions with these LLMs alone."""
        columns = list(agents)
        names = tuple(self.agents[column] for column in columns)
        return Record(names, self.right[:, columns], self.dollars[:, columns], self.own[:, columns])


def record_of(data: Path, name: str, split: str) -> Record:
    """The record of a benchmark's questions of one split."""
    pool = get_pool(data, name)
    known = [pool.known(question) for question in get_questions(data, name, split)]
    rows = [one.place for one in known]
    own = np.array([pd.factorize(np.array(one.own, object))[0] for one in known])  # None is -1
    return Record(tuple(agent.name for agent in pool.agents), pool.right[rows], pool.costs[rows], own)


def readings(record: Record) -> dict[str, float]:
    """How far the reading of answers can be trusted: percent of answers that are `readable`, of pairs of right answers
    that are read as `right but different`, and of pairs with the same answer that have `same but other verdict`."""
    left, right = np.triu_indices(len(record.agents), 1)
    same = record.accepts[:, left, right]
    a, b = record.right[:, left] > 0.5, record.right[:, right] > 0.5
    return {
        "readable": 100 * (record.own >= 0).mean(),
        "right but different": 100 * (a & b & ~same).sum() / max((a & b).sum(), 1),
        "same but other verdict": 100 * (same & (a != b)).sum() / max(same.sum(), 1),
    }


def commonest(data: Path, name: str, split: str) -> pd.DataFrame:
    """One row an LLM: what it answers most often (`answer`), and its `share` of the readable ones (percent)."""
    pool = get_pool(data, name)
    said = pd.DataFrame([pool.known(question).own for question in get_questions(data, name, split)])
    said.columns = [short(agent.name) for agent in pool.agents]
    top = said.mode().iloc[0]
    return pd.DataFrame({"answer": top, "share": 100 * (said == top).sum() / said.notna().sum()})


def cheapest_within(points: float, front: Sequence[Rule], record: Record) -> Rule:
    """The cheapest rule of a frontier whose accuracy in `record` is at most `points` below the best one's."""
    shares = [100 * follow(rule, record)[0].mean() for rule in front]
    return next(rule for rule, share in zip(front, shares, strict=True) if share >= max(shares) - points)


# --- LLMs as verifiers ---
def acceptance(record: Record) -> pd.DataFrame:
    """One row an LLM: `accuracy`, how often it accepts others' readable answers, and how often what it accepts is
    right, in percent with 95 % intervals over questions; beside it what the simulated pool assumes."""
    rows = []
    for agent, name in enumerate(record.agents):
        others = np.arange(len(record.agents)) != agent
        accepts, right = record.accepts[:, agent, others], record.right[:, others] > 0.5
        wrong = ~right & (record.own[:, others] >= 0)
        row: dict[str, Any] = {"LLM": short(name), "accuracy": 100 * record.right[:, agent].mean()}
        counted = {"accepts right": (right, accepts), "accepts wrong": (wrong, accepts)}
        for label, (among, of) in (counted | {"accepted is right": (accepts, right)}).items():
            counts = ((of & among).sum(axis=1)[None], among.sum(axis=1)[None])
            found = ratio_interval(*counts).percent() if among.any() else (0.0, 0.0, 0.0)
            row |= dict(zip((label, f"{label} low", f"{label} high"), found, strict=True))
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame["assumed: right"], frame["assumed: wrong"] = assumed(frame["accuracy"].to_numpy())
    return frame


def pairs(record: Record, right: bool) -> np.ndarray:
    """(V, W) percent: how often Verifier V accepts W's readable answers that are right, or wrong. NaN on the diagonal
    (every LLM agrees with itself) and where W has no such answers."""
    good = record.right > 0.5 if right else (record.right <= 0.5) & (record.own >= 0)
    count = good.sum(axis=0)
    found = 100 * (record.accepts & good[:, None, :]).sum(axis=0) / np.where(count, count, np.nan)
    np.fill_diagonal(found, np.nan)
    return found


def assumed(accuracy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the simulated pool (data/pools/paper7.yaml) assumes of Verifiers of such accuracies (percent): percent of
    right and of wrong answers that they accept."""
    rates = checked(Assumptions, read_config("paper7")["assumptions"], "assumptions")
    skill = np.asarray(accuracy, np.float64) / 100
    return 100 * rates.accept(True, skill), 100 * rates.accept(False, skill)


# --- fixed rules ---
class Rule(NamedTuple):
    """Which LLM answers first, which checks (-1: nobody does), and which one answers where it objects."""

    works: int
    checks: int = -1
    then: int = -1

    def words(self, agents: Sequence[str]) -> str:
        """The rule in words."""
        if self.checks < 0:
            return short(agents[self.works])
        works, checks, then = (short(agents[agent]) for agent in self)
        return f"{works} answers, {checks} checks, else {then}"


def follow(rule: Rule, record: Record) -> tuple[np.ndarray, np.ndarray]:
    """(right (n,), dollars (n,)) of a rule."""
    right, dollars = record.right[:, rule.works], record.dollars[:, rule.works]
    if rule.checks < 0:
        return right, dollars
    objects = ~record.accepts[:, rule.checks, rule.works]
    dollars = dollars + record.dollars[:, rule.checks] + np.where(objects, record.dollars[:, rule.then], 0.0)
    return np.where(objects, record.right[:, rule.then], right), dollars


def majority(three: Sequence[int], record: Record) -> tuple[np.ndarray, np.ndarray]:
    """(right, dollars) of "ask two, and a third where they differ": where it agrees with neither, the first's
    stands."""
    first, second, third = three
    accepts = record.accepts
    differ = ~accepts[:, first, second]
    second_wins = differ & accepts[:, third, second]
    dollars = record.dollars[:, first] + record.dollars[:, second] + np.where(differ, record.dollars[:, third], 0.0)
    return np.where(second_wins, record.right[:, second], record.right[:, first]), dollars


def vote(weights: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray]:
    """(right, dollars) where all answer; what has the most weight (L,) wins, as its heaviest LLM gave it."""
    n, n_agents = record.own.shape
    votes = np.zeros((n, record.own.max() + 1))
    for agent in range(n_agents):
        said = np.flatnonzero(record.own[:, agent] >= 0)
        votes[said, record.own[said, agent]] += weights[agent]
    for_winner = record.own == votes.argmax(axis=1)[:, None]
    speaker = np.where(for_winner, weights, -np.inf).argmax(axis=1)
    return record.right[np.arange(n), speaker], record.dollars.sum(axis=1)


def log_odds(record: Record) -> np.ndarray:
    """(L,): log of right against wrong, the weight of a vote that would be best if LLMs erred independently."""
    share = np.clip(record.right.mean(axis=0), 0.01, 0.99)
    return np.log(share / (1 - share))


def rules(n_agents: int) -> list[Rule]:
    """Every single LLM and every (works, checks, then), the last of which may be one of the first two."""
    alone = [Rule(agent) for agent in range(n_agents)]
    return alone + [Rule(w, v, c) for w, v, c in product(range(n_agents), repeat=3) if w != v]


def best_rule(record: Record, checked: bool = True) -> Rule:
    """The most right rule in `record`, the cheapest of equals; `checked`: with a Verifier that can change something."""
    options = [rule for rule in rules(len(record.agents)) if (rule.checks >= 0 and rule.then != rule.works) == checked]
    return max(options, key=lambda rule: _merit(*follow(rule, record)))


def best_three(record: Record) -> tuple[int, int, int]:
    """The best two LLMs and the third that makes the best majority of `record`."""
    n_agents = len(record.agents)
    first, second = np.argsort(-record.right.mean(axis=0), kind="stable")[:2].tolist()
    thirds = [agent for agent in range(n_agents) if agent not in (first, second)]
    return max(((first, second, third) for third in thirds), key=lambda three: _merit(*majority(three, record)))


def _merit(right: np.ndarray, dollars: np.ndarray) -> tuple[float, float]:
    return round(float(right.mean()), 12), -float(np.nan_to_num(dollars).mean())


def frontier(record: Record) -> list[Rule]:
    """The rules that no cheaper one matches in `record`, cheapest first."""
    measured = ((*follow(rule, record), rule) for rule in rules(len(record.agents)))
    ordered = sorted((dollars.mean(), -right.mean(), rule) for right, dollars, rule in measured)
    best = np.minimum.accumulate([1.0, *(share for _, share, _ in ordered)])
    return [rule for (_, share, rule), before in zip(ordered, best, strict=False) if share < before]


def priced(some: Sequence[Rule], record: Record) -> pd.DataFrame:
    """One row a `rule` in words: whether somebody checks (`verified`), `accuracy` (percent), `dollars` a question."""
    rows = [
        (rule.words(record.agents), rule.checks >= 0, 100 * right.mean(), dollars.mean())
        for rule, (right, dollars) in ((rule, follow(rule, record)) for rule in some)
    ]
    return pd.DataFrame(rows, columns=["rule", "verified", "accuracy", "dollars"])


class Rival(NamedTuple):
    """A rule on test questions: `who` in words, its `kind`, `right` and `dollars` (n,)."""

    who: str
    kind: str
    right: np.ndarray
    dollars: np.ndarray


def rivals(train: Record, test: Record, leave_out: Sequence[str] = ()) -> dict[str, Rival]:
    """The best rule of each kind by the training questions, on the test questions, without the LLMs of `leave_out`. The
    per-question best is no rule: it knows who is right."""
    keep = [place for place, agent in enumerate(train.agents) if agent not in leave_out]
    a, b = train.among(keep), test.among(keep)
    alone, checked = best_rule(a, checked=False), best_rule(a)
    found = {
        "best single LLM": Rival(alone.words(a.agents), "one LLM", *follow(alone, b)),
        "rule with a Verifier": Rival(checked.words(a.agents), "rule with a Verifier", *follow(checked, b)),
    }
    if len(keep) > 2:
        three = best_three(a)
        words = ", ".join(short(a.agents[place]) for place in three)
        found["third opinion"] = Rival(words, "third opinion", *majority(three, b))
        found["vote of all"] = Rival(f"{len(keep)} LLMs", "vote of all", *vote(log_odds(a), b))
    unknown = np.full(len(b.right), np.nan)
    return found | {"per-question best": Rival("", "per-question best", b.right.max(axis=1), unknown)}


def alone(record: Record) -> pd.DataFrame:
    """One row an LLM: `system`, `kind`, `accuracy` (percent), `dollars` a question."""
    names = [short(agent) for agent in record.agents]
    right, dollars = 100 * record.right.mean(axis=0), record.dollars.mean(axis=0)
    return pd.DataFrame({"system": names, "kind": "one LLM", "accuracy": right, "dollars": dollars})


def short(name: str) -> str:
    """An LLM's name without its publisher and version, to stand in a table or figure."""
    return SHORT.get(name, name.rpartition("/")[2])
