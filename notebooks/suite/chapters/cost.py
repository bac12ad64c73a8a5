"""What answering costs: calls, tokens, dollars and seconds a question, for every method in the same units (A.7).

All calls of a method count, also those whose text is dropped. Dollars are tokens times a price list (L, 2). Seconds
follow a model, since nobody published any: a call takes first_token + tokens out / speed of its agent; `seconds` is
their sum and `decision` for each choice of a coordinator, `at once` the same when calls that wait for no other go out
together. A call waits for those before it unless its prompt was sent before: that holds nothing of what came in
between. The compiled world keeps no tokens of single calls, so each is taken at its agent's and family's average.

A *ladder* is what the same tokens buy elsewhere: one agent with growing effort (a majority of many answers, a longer
reflection); between two steps a coin decides how much effort a question gets, so that any mean can be met.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from suite.baselines.base import ask_once, play, schedule
from suite.baselines.single import REFLECTION
from suite.chapters.in_distribution import TRINITY, evaluations, mean_amounts
from suite.experiments import REPLICATES
from suite.published import BENCHMARKS, IN_DISTRIBUTION, printed_tokens, published
from suite.stats.intervals import by_family
from suite.stats.rollouts import cube, rollouts_table
from suite.stats.scores import score
from suite.worlds.simulated import SimulatedWorld
from trinity_core.rollout import Job
from trinity_core.training.task import FRESH, Task
from trinity_core.types import Question, Rollout, Turn
from trinity_core.world import STOPS


@dataclass(frozen=True)
class Meter:
    """How use is counted: price lists by name, each (L, 2) dollars a token; and, assumed, seconds to a call's first
    token, tokens a second of each agent (L,), seconds of a routing decision."""

    prices: Mapping[str, np.ndarray]
    first_token: float
    speed: np.ndarray
    decision: float

    def __post_init__(self) -> None:
        if not (self.first_token >= 0 and self.decision >= 0 and np.all(np.asarray(self.speed) > 0)):
            said = f"first_token = {self.first_token}, decision = {self.decision}, speed = {self.speed}"
            raise ValueError(f"{said}: times must be at least 0 and speeds above 0")

    def table(self, rollouts: Sequence[Rollout]) -> pd.DataFrame:
        """`rollouts_table` with "$ LIST" for each price list, `seconds` and `at once`."""
        calls = [[turn for turn in rollout.turns if turn.prompt] for rollout in rollouts]
        used = {}
        for name, price in self.prices.items():
            paid = [[np.dot(price[t.agent], (t.message.tokens_in, t.message.tokens_out)) for t in row] for row in calls]
            used[f"$ {name}"] = [sum(row) for row in paid]
        used["seconds"], used["at once"] = zip(*map(self._seconds, calls), strict=True)
        return rollouts_table(rollouts).assign(**used)

    def _seconds(self, calls: Sequence[Turn]) -> tuple[float, float]:
        """Of a rollout's calls one after another, and with those at once that wait for no other."""
        total, sent, ends = 0.0, {}, []
        for turn in calls:
            prompt = tuple(message["content"] for message in turn.prompt)
            start = sent.setdefault(prompt, max(ends, default=0.0))
            own = self.first_token + turn.message.tokens_out / self.speed[turn.agent]
            total += own
            ends.append(start + own)
        return total, max(ends, default=0.0)


def own_prices(pool: Any) -> np.ndarray:
    """The pool file's dollars a token (L, 2)."""
    return np.array([agent.price for agent in pool.agents], dtype=np.float64)


def listed_prices(live: Any) -> np.ndarray:
    """litellm's own price list for a live pool's models, not the pool file's: (L, 2), NaN where it lacks a model."""
    found = [live.price(replace(agent, price=None)) for agent in live.agents]
    return np.array([(np.nan, np.nan) if price is None else price for price in found], dtype=np.float64)


def of_coordinator(task: Task, thetas: Sequence[np.ndarray], world: SimulatedWorld, meter: Meter) -> pd.DataFrame:
    """`Meter.table` of a task's trained `thetas`, one a seed, on every question of `world`: the standard evaluation."""
    worlds = {name: _repriced(world, prices) for name, prices in meter.prices.items()}
    played = {name: [task.judge(theta, REPLICATES, w) for theta in thetas] for name, w in worlds.items()}
    first = next(iter(played.values()))
    mean = np.array([[world.pool.mean_tokens(a, q.family) for q in world.questions] for a in range(world.n_agents)])
    seconds = []
    for plays in first:
        acted = plays.agents >= 0
        called = acted.copy()
        early = np.nonzero(plays.stop == STOPS.index("verifier before answer"))  # the turn that ends these calls nobody
        called[(*early, plays.turns[early] - 1)] = False
        agents = np.maximum(plays.agents, 0)
        own = meter.first_token + mean[agents, plays.questions[..., None]] / np.asarray(meter.speed)[agents]
        seconds.append(((own * called).sum(axis=-1) + meter.decision * acted.sum(axis=-1)).ravel())
    used = {f"$ {name}": np.concatenate([plays.cost.ravel() for plays in played[name]]) for name in meter.prices}
    used["seconds"] = used["at once"] = np.concatenate(seconds)
    return evaluations(first, world.questions).assign(**used)


def _repriced(world: SimulatedWorld, prices: np.ndarray) -> SimulatedWorld:
    """The same world with other prices: the same rollouts, other dollars."""
    pool = copy.copy(world.pool)
    pool.agents = tuple(replace(a, price=tuple(p)) for a, p in zip(pool.agents, prices.tolist(), strict=True))
    return SimulatedWorld(world.questions, pool, world.encoder, world.settings)


# --- summaries ---
def overview(use: Mapping[str, pd.DataFrame], families: Sequence[str]) -> pd.DataFrame:
    """One row a method: score (percent) with interval, then means a question; dollars ("$ LIST") a 1,000 questions."""
    rows = []
    for method, table in use.items():
        lists = [name for name in table if name.startswith("$ ")]
        found = score(cube(table, seed="seed"), families)
        means = mean_amounts(table, ["calls", "tokens_in", "tokens_out", *lists, "seconds", "at once"])
        means[lists] *= 1000
        row = {"method": method, "score": found.value, "low": found.low, "high": found.high, **means}
        rows.append({name.replace("_", " "): value for name, value in row.items()})
    return pd.DataFrame(rows)


def front(cost: Sequence[float], score: Sequence[float]) -> np.ndarray:
    """(m,) bool: on the Pareto front, that is nothing else costs no more and scores no less, one of them better."""
    c, s = np.asarray(cost, float), np.asarray(score, float)
    no_worse = (c[:, None] <= c) & (s[:, None] >= s)  # i is no worse than j
    better = no_worse & ((c[:, None] < c) | (s[:, None] > s))
    return ~better.any(axis=0)


PRINTED = {  # a coordination method of Tables 9-12 -> what it is called here
    TRINITY: TRINITY, "MoA": "MoA", "RouterDC": "RouterDC", "Smoothie": "Smoothie, whole set", "MasRouter": "MasRouter",
}  # fmt: skip


def against_printed(use: Mapping[str, pd.DataFrame], families: Sequence[str]) -> pd.DataFrame:
    """The coordination methods' cells of Tables 9-12 beside ours: method, task, paper, ours, low, high."""
    rows = []
    for method, cells in printed_tokens("coordination").iterrows():
        ours = by_family(cube(use[PRINTED[method]], "tokens_out", "seed"), families)
        rows += [(method, task, float(cells[task]), *ours[family]) for family, task in BENCHMARKS.items()]
    return pd.DataFrame(rows, columns=["method", "task", "paper", "ours", "low", "high"])


# --- what the printed tables say by themselves ---
def implied_calls(prices: np.ndarray) -> pd.DataFrame:
    """Per benchmark: TRINITY's printed tokens, the mean single answer of the agents that Figure 15 says it picks, how
    many such answers that makes, and the dollars of those output tokens at `prices` (L, 2) in Figure 15's order."""
    single, spent = printed_tokens("default_4096"), printed_tokens("coordination").loc["TRINITY"]
    shares = published("fig15_agent_selection").set_index("task")
    rows = []
    for task in IN_DISTRIBUTION:
        share = shares.loc[task] / shares.loc[task].sum()
        written = share * single[task].loc[shares.columns]
        price = float((written * prices[:, 1]).sum() / written.sum())
        rows.append((task, spent[task], written.sum(), spent[task] / written.sum(), spent[task] * price))
    return pd.DataFrame(rows, columns=["task", "tokens", "one answer", "answers", "dollars"])


# --- the same output tokens, spent otherwise ---
@dataclass(frozen=True)
class Ladder:
    """One agent with growing effort: `reward` and `tokens` (out), both (steps, n_questions, R), a step an effort."""

    efforts: tuple[int, ...]
    reward: np.ndarray
    tokens: np.ndarray

    def at(self, tokens: Mapping[str, float], families: Sequence[str]) -> tuple[np.ndarray, dict[str, float]]:
        """Rewards (1, n_questions, R) at a family's mean output `tokens`, and the mean effort that they pay for. The
        reward is the mean of the mixture; below the first or above the last step it is that step's."""
        names = np.asarray(families)
        out, paid = np.empty((1, *self.reward.shape[1:])), {}
        for family in dict.fromkeys(names.tolist()):
            rows = names == family
            steps = self.tokens[:, rows].mean(axis=(1, 2))
            place = float(np.interp(tokens[family], steps, np.arange(len(steps))))
            low = min(int(place), len(steps) - 2)
            share = place - low
            out[0, rows] = (1 - share) * self.reward[low, rows] + share * self.reward[low + 1, rows]
            paid[family] = float((1 - share) * self.efforts[low] + share * self.efforts[low + 1])
        return out, paid


def majority_ladder(pool: Any, questions: Sequence[Question], agent: int, *, samples: int, replicates: int) -> Ladder:
    """Majority of 1, 3, 5, ... `samples` answers of one agent; a tie goes to the answer seen first. Simulated answers
    are the same answer where they are the same text (`baselines.committee` asks the checkers)."""
    efforts = tuple(range(1, samples + 1, 2))
    numbers = [samples * (FRESH + r) + s for r in range(replicates) for s in range(samples)]
    asked = ask_once(pool, [(agent, question) for question in questions], seed=1, replicates=numbers)
    shape = (replicates, samples, len(questions))
    right = np.array([rollout.reward for rollout in asked]).reshape(shape)
    tokens = np.array([r.turns[0].message.tokens_out for r in asked], float).reshape(shape).cumsum(axis=1)
    codes: dict[tuple[str, str | None], int] = {}
    said = np.array([codes.setdefault((r.question.id, r.answer), len(codes)) for r in asked]).reshape(shape)
    reward = np.empty((len(efforts), len(questions), replicates))
    for step, effort in enumerate(efforts):
        votes = (said[:, :effort, None] == said[:, None, :effort]).sum(axis=2)  # (R, effort, n)
        first = votes.argmax(axis=1)  # of equals the first
        reward[step] = np.take_along_axis(right, first[:, None], axis=1)[:, 0].T
    return Ladder(efforts, reward, tokens[:, [e - 1 for e in efforts]].transpose(1, 2, 0))


def reflection_ladder(pool: Any, questions: Sequence[Question], agent: int, *, turns: int, replicates: int) -> Ladder:
    """Answer and reflection in turn, 1, 3, 5, ... `turns` turns at most, ended by the agent's own ACCEPT."""
    efforts = tuple(range(1, turns + 1, 2))
    jobs = [Job(question, 0, FRESH + r) for r in range(replicates) for question in questions]
    reward, tokens = np.empty((2, len(efforts), len(questions), replicates))
    for step, effort in enumerate(efforts):
        logits = schedule(len(pool.agents), *((agent, REFLECTION[turn % 2]) for turn in range(effort)))
        done = rollouts_table(play(pool, jobs, logits[None], seed=1))
        reward[step], tokens[step] = (
            done[name].to_numpy(float).reshape(replicates, -1).T for name in ("reward", "tokens_out")
        )
    return Ladder(efforts, reward, tokens)
