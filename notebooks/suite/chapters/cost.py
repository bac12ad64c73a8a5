"""What answering costs: calls, tokens, dollars and seconds a question, for every method in the same units (A.7).

A method's use is measured from its own calls: all of them, also those whose text is dropped. Dollars are tokens times
a price list, dollars a token (L, 2) for input and output. Seconds follow a model, since nobody published any:

    call      first_token + tokens out / speed of the agent
    question  sum over the calls, and `decision` for each choice of a coordinator     -> `seconds`
    the same, calls that wait for no other call made at once                          -> `seconds_at_once`

A call waits for the calls before it unless its prompt was sent before: a prompt that repeats holds nothing of what
came in between, so the two could have gone out together. A coordinator's calls each wait for the one before.

The coordinator is played on the compiled world, whose `Plays` keep no tokens of single calls: its seconds take every
call at the published average of its agent and family, which leaves the mean over many rollouts as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.baselines import BASELINES, make_baseline
from suite.chapters.in_distribution import BENCHMARKS, TRINITY, System
from suite.experiments import REPLICATES
from suite.published import IN_DISTRIBUTION, published
from suite.stats.intervals import by_family, mean_interval
from suite.worlds.simulated import SimulatedWorld
from trinity_core.training.task import FRESH, Task
from trinity_core.world import STOPS

if TYPE_CHECKING:
    import pandas as pd

    from trinity_core.types import Question, Rollout


@dataclass(frozen=True)
class Latency:
    """Assumed: seconds to a call's first token, tokens a second of each agent (L,), seconds of a routing decision."""

    first_token: float
    speed: np.ndarray
    decision: float

    def __post_init__(self) -> None:
        if not (self.first_token >= 0 and self.decision >= 0 and np.all(np.asarray(self.speed) > 0)):
            raise ValueError(
                f"first_token = {self.first_token}, decision = {self.decision}, speed = {self.speed}: times must be at "
                "least 0 and speeds above 0"
            )


@dataclass(frozen=True)
class Meter:
    """How use is counted: price lists by name, each (L, 2) dollars a token, and the model of time."""

    prices: Mapping[str, np.ndarray]
    latency: Latency


@dataclass(frozen=True)
class Usage:
    """What a method used, each array (seeds, n_questions, R); `dollars` by price list; see the module for seconds."""

    reward: np.ndarray
    calls: np.ndarray
    tokens_in: np.ndarray
    tokens_out: np.ndarray
    dollars: Mapping[str, np.ndarray]
    seconds: np.ndarray
    seconds_at_once: np.ndarray


@dataclass(frozen=True)
class Bill:
    """What a training used, once: rollouts, calls, tokens in and out together, dollars by the pool's own prices."""

    rollouts: float
    calls: float
    tokens: float
    dollars: float


# --- prices -----------------------------------------------------------------------------------------------------------


def own_prices(pool: Any) -> np.ndarray:
    """The pool file's dollars a token (L, 2)."""
    return np.array([agent.price for agent in pool.agents], dtype=np.float64)


def listed_prices(live: Any) -> np.ndarray:
    """litellm's own price list for a live pool's models, dollars a token (L, 2); NaN where the list lacks a model.

    The prices in the pool's file are not read. No network: the list is the installed package's.
    """
    found = [live.price(replace(agent, price=None)) for agent in live.agents]
    return np.array([(np.nan, np.nan) if price is None else price for price in found], dtype=np.float64)


# --- use of a method --------------------------------------------------------------------------------------------------


def of_rollouts(rollouts: Sequence[Rollout], seeds: int, replicates: int, meter: Meter) -> Usage:
    """Use of rollouts that come seed by seed, in each replicate by replicate, in each question by question."""
    n = len(rollouts) // (seeds * replicates)
    if n * seeds * replicates != len(rollouts) or not n:
        raise ValueError(f"{len(rollouts)} rollouts are not {seeds} seeds x {replicates} replicates of some questions")

    def table(values: list[float]) -> np.ndarray:
        return np.array(values, dtype=np.float64).reshape(seeds, replicates, n).transpose(0, 2, 1)

    calls = [[turn for turn in rollout.turns if turn.prompt] for rollout in rollouts]
    messages = [[(turn.agent, turn.message) for turn in row] for row in calls]
    times = [_seconds(row, meter.latency) for row in calls]
    dollars = {
        name: table([sum(m.tokens_in * p[a, 0] + m.tokens_out * p[a, 1] for a, m in row) for row in messages])
        for name, p in meter.prices.items()
    }
    return Usage(
        table([np.nan if r.reward is None else r.reward for r in rollouts]),
        table([len(row) for row in calls]),
        table([sum(m.tokens_in for _, m in row) for row in messages]),
        table([sum(m.tokens_out for _, m in row) for row in messages]),
        dollars,
        table([one for one, _ in times]),
        table([other for _, other in times]),
    )


def _seconds(calls: Sequence[Any], latency: Latency) -> tuple[float, float]:
    """Seconds of a rollout's calls one after another, and with those at once that wait for no other."""
    total, sent, ends = 0.0, {}, []
    for turn in calls:
        prompt = tuple(message["content"] for message in turn.prompt)
        start = sent.setdefault(prompt, max(ends, default=0.0))
        own = latency.first_token + turn.message.tokens_out / latency.speed[turn.agent]
        total += own
        ends.append(start + own)
    return total, max(ends, default=0.0)


def of_coordinator(task: Task, thetas: Sequence[np.ndarray], world: SimulatedWorld, meter: Meter) -> Usage:
    """Use of a task's trained `thetas`, one a seed, on every question of `world`: the standard evaluation."""
    worlds = {name: _repriced(world, prices) for name, prices in meter.prices.items()}
    played = {name: [task.judge(theta, REPLICATES, w) for theta in thetas] for name, w in worlds.items()}
    seeds = next(iter(played.values()))
    speed, latency = np.asarray(meter.latency.speed, float), meter.latency
    mean = np.array([[world.pool.mean_tokens(a, q.family) for q in world.questions] for a in range(world.n_agents)])

    def table(rows: Sequence[np.ndarray]) -> np.ndarray:
        return np.array(rows, np.float64).reshape(len(thetas), len(world.questions), REPLICATES)

    calls, seconds = [], []
    for plays in seeds:
        acted = plays.agents >= 0
        called = acted.copy()
        early = np.nonzero(plays.stop == STOPS.index("verifier before answer"))  # the turn that ends these calls nobody
        called[(*early, plays.turns[early] - 1)] = False
        agents = np.maximum(plays.agents, 0)
        own = latency.first_token + mean[agents, plays.questions[..., None]] / speed[agents]
        calls.append(called.sum(axis=-1))
        seconds.append((own * called).sum(axis=-1) + latency.decision * acted.sum(axis=-1))
    amounts = [[getattr(plays, name) for plays in seeds] for name in ("reward", "tokens_in", "tokens_out")]
    reward, tokens_in, tokens_out = map(table, amounts)
    dollars = {name: table([plays.cost for plays in rows]) for name, rows in played.items()}
    return Usage(reward, table(calls), tokens_in, tokens_out, dollars, table(seconds), table(seconds))


def _repriced(world: SimulatedWorld, prices: np.ndarray) -> SimulatedWorld:
    """The same world with other prices: the same rollouts, other dollars."""
    pool = copy.copy(world.pool)
    pool.agents = tuple(replace(a, price=tuple(p)) for a, p in zip(pool.agents, prices.tolist(), strict=True))
    return SimulatedWorld(world.questions, pool, world.encoder, world.settings)


def of_system(
    system: System, world: SimulatedWorld, training: Sequence[Question], *, seeds: int, replicates: int, meter: Meter
) -> tuple[Usage, Bill | None]:
    """Use of a baseline as `tables.run_system` fits and runs it, and the mean bill of its trainings (None: it learns
    nothing)."""
    settings = {} if system.agent is None else {"agent": system.agent}
    encoder = world.bank if BASELINES[system.baseline].encoder else None
    rollouts: list[Rollout] = []
    learnt: list[Rollout] = []
    fits = range(1, seeds + 1) if system.repeats == "trained" else (0,)
    for seed in fits:
        baseline = make_baseline(system.baseline, encoder=encoder, **settings)
        baseline.fit(world.pool, training, seed=seed)
        learnt += baseline.training
        for replicate in range(FRESH, FRESH + replicates):
            rollouts += baseline.run(world.pool, world.questions, seed=seed, replicate=replicate)
    shape = (replicates, 1) if system.repeats == "set" else (len(fits), replicates)
    return of_rollouts(rollouts, *shape, meter), _bill(learnt, len(fits))


def _bill(rollouts: Sequence[Rollout], seeds: int) -> Bill | None:
    if not rollouts:
        return None
    messages = [turn.message for rollout in rollouts for turn in rollout.turns if turn.prompt]
    tokens = sum(m.tokens_in + m.tokens_out for m in messages)
    return Bill(*(x / seeds for x in (len(rollouts), len(messages), tokens, sum(m.cost for m in messages))))


def bill_of_training(histories: Sequence[pd.DataFrame]) -> Bill:
    """The mean bill of trainings by rollouts, from their histories (`TrainingResult.history`). A turn is a call."""
    rows = []
    for history in histories:
        rollouts = np.diff(history["evaluations"], prepend=0)
        calls = float((rollouts * history["turns"]).sum())
        rows.append((rollouts.sum(), calls, history["tokens"].sum(), history["cost"].sum()))
    return Bill(*np.mean(rows, axis=0))


# --- summaries --------------------------------------------------------------------------------------------------------


def family_means(values: np.ndarray, families: Sequence[str]) -> dict[str, float]:
    """The mean of (seeds, n_questions, R) over each family's questions, in order of appearance, then over families."""
    names = np.asarray(families)
    means = {str(f): float(np.nanmean(values[:, names == f])) for f in dict.fromkeys(names.tolist())}
    return means | {"mean": float(np.mean(list(means.values())))}


def overview(use: Mapping[str, Usage], families: Sequence[str]) -> pd.DataFrame:
    """One row a method: score (percent) with interval, then means a question; dollars a 1,000 questions by price list.

    Columns method, score, low, high, calls, tokens in, tokens out, "$ LIST" for each list, seconds, at once.
    """
    import pandas as pd

    rows = []
    for method, u in use.items():
        score = {
            name: 100 * x for name, x in zip(("score", "low", "high"), mean_interval(u.reward, families), strict=True)
        }
        amounts = {"calls": u.calls, "tokens in": u.tokens_in, "tokens out": u.tokens_out}
        amounts |= {f"$ {name}": 1000 * values for name, values in u.dollars.items()}
        amounts |= {"seconds": u.seconds, "at once": u.seconds_at_once}
        means = {name: family_means(values, families)["mean"] for name, values in amounts.items()}
        rows.append({"method": method, **score, **means})
    return pd.DataFrame(rows)


def front(cost: Sequence[float], score: Sequence[float]) -> np.ndarray:
    """(m,) bool: on the Pareto front, that is nothing else costs no more and scores no less, one of them better."""
    c, s = np.asarray(cost, float), np.asarray(score, float)
    no_worse = (c[:, None] <= c) & (s[:, None] >= s)  # i is no worse than j
    better = no_worse & ((c[:, None] < c) | (s[:, None] > s))
    return ~better.any(axis=0)


PRINTED = {  # setting of Tables 9-12 -> what it is called here; {} stands for the agent
    "coordination": {TRINITY: TRINITY, "MoA": "MoA", "RouterDC": "RouterDC", "Smoothie": "Smoothie, whole set",
                     "MasRouter": "MasRouter"},
    "default_4096": "{}",
    "self_reflection_x5": "self-reflection: {}",
    "context_x5": None,  # simulated agents are never cut at a cap
}  # fmt: skip


def against_printed(use: Mapping[str, Usage], families: Sequence[str]) -> pd.DataFrame:
    """Every cell of Tables 9-12 beside ours: setting, method, task, paper, ours, low, high (NaN: nothing is ours)."""
    import pandas as pd

    rows = []
    for setting, names in PRINTED.items():
        for method, cells in printed_tokens(setting).iterrows():
            name = names[method] if isinstance(names, dict) else names and names.format(method)
            ours = by_family(use[name].tokens_out, families) if name else {}
            for family, task in BENCHMARKS.items():
                rows.append((setting, method, task, float(cells[task]), *ours.get(family, (np.nan,) * 3)))
    return pd.DataFrame(rows, columns=["setting", "method", "task", "paper", "ours", "low", "high"])


# --- what the printed tables say by themselves ------------------------------------------------------------------------


def printed_tokens(setting: str) -> pd.DataFrame:
    """Tables 9-12 of one setting: output tokens a question, a row a method, a column a benchmark."""
    table = published("tables9_12_output_tokens")
    return table[table["setting"] == setting].set_index("method")[list(IN_DISTRIBUTION)]


def implied_calls(prices: np.ndarray) -> pd.DataFrame:
    """Per benchmark: TRINITY's printed tokens, the mean single answer of the agents that Figure 15 says it picks, how
    many such answers that makes, and the dollars of those output tokens at `prices` (L, 2) in Figure 15's order."""
    import pandas as pd

    single, spent = printed_tokens("default_4096"), printed_tokens("coordination").loc["TRINITY"]
    shares = published("fig15_agent_selection").set_index("task")
    rows = []
    for task in IN_DISTRIBUTION:
        share = shares.loc[task] / shares.loc[task].sum()
        written = share * single[task].loc[shares.columns]
        price = float((written * prices[:, 1]).sum() / written.sum())
        rows.append((task, spent[task], written.sum(), spent[task] / written.sum(), spent[task] * price))
    return pd.DataFrame(rows, columns=["task", "tokens", "one answer", "answers", "dollars"])
