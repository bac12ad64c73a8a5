"""Verifying with real answers: coordinators trained on recorded conversations (notebook 17).

One coordinator may hold a conversation (Worker and Verifier, K turns), one has a single step; both are trained on the
same questions with the same number of rollouts. Symbols: n -> questions, S -> seeds, R -> rollouts a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from suite import evaluation
from suite.baselines.base import Schedules, schedule
from suite.baselines.variants import MaskedHead, without
from suite.chapters.verifying_with_recorded_answers_rules import Rule, short
from suite.pools.recorded import RecordedPool
from suite.recordings.opening import read_claims
from suite.stats.intervals import Estimate, mean_interval, paired_difference
from suite.stats.turns import plays_turns
from suite.worlds.recorded import RecordedWorld, run_recorded
from trinity_core.heads import make_head
from trinity_core.rollout import Job, LoopSettings
from trinity_core.training.task import Task
from trinity_core.training.train import PAPER_BUDGET, train
from trinity_core.types import ROLES, Question, Role, Rollout
from trinity_core.world import THINKER, VERIFIER, WORKER, Plays

# Rewards (S, n, R) or (S, n), of a rule (n,); or these by benchmark, which then weigh alike.
Rewards = np.ndarray | Mapping[str, np.ndarray]
RIDGE = 0.01  # of the states' mean square
SURE = 10.0  # logits apart: a rule's choice is then drawn nearly always

CLAIMS = read_claims(Path(__file__).with_suffix(".yaml"))


@dataclass(frozen=True, eq=False)
class Trained:
    """Coordinators of several seeds: `thetas` (S, n_theta), and their rollouts of the test questions."""

    world: RecordedWorld
    head: Any
    thetas: np.ndarray
    plays: Plays

    @property
    def rewards(self) -> np.ndarray:
        """(S, n, R)."""
        return evaluation.rewards_of(self.plays, self.world)


def learn(
    world: RecordedWorld,
    test: RecordedWorld,
    seeds: int,
    *,
    leave_out: Sequence[str] = ("thinker",),
    budget: int = PAPER_BUDGET,
    head: MaskedHead | None = None,
) -> Trained:
    """Trains a linear head (or `head`) by sep-CMA-ES with the seeds 1 to `seeds` and plays the test questions with
    each. `leave_out`: roles and LLMs that are never chosen (a Thinker has nothing recorded)."""
    world.read_all()
    head = head or _head(world, leave_out)
    thetas = [train("sep-cma-es", Task(world, head), budget, seed).theta for seed in range(1, seeds + 1)]
    return played(test, head, np.stack(thetas))


def played(test: RecordedWorld, head: MaskedHead, thetas: np.ndarray) -> Trained:
    """The test questions played with each of `thetas` (S, n_theta), decisions drawn as in training."""
    test.read_all()
    return Trained(test, head, thetas, evaluation.play_all(test, head, thetas))


def decided(trained: Trained) -> np.ndarray:
    """Rewards (S, n, 1) with decisions by argmax."""
    plays = evaluation.play_all(trained.world, trained.head, trained.thetas, 1, mode="argmax")
    return evaluation.rewards_of(plays, trained.world)


@dataclass(frozen=True)
class Begun(MaskedHead):
    """A masked head whose training starts at `start` in place of zeros."""

    start: tuple[float, ...] = ()

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """`start`, whatever the generator."""
        return np.array(self.start)


def imitate(world: RecordedWorld, rule: Rule, leave_out: Sequence[str] = ("thinker",)) -> Begun:
    """A head that plays a rule with a Verifier wherever verdicts can be seen (rule `paper`; else ValueError): ridge
    regression of its choices onto the states of all transcripts, the three stages weighing alike."""
    if world.settings.transcript != "paper" or rule.checks < 0:
        raise ValueError(f"{rule} cannot be told from a transcript without verdicts; take the rule `paper`")
    nodes = world.readable()
    texts = [world.tree.transcripts[node] for node in nodes]
    stage = np.array([(None, "worker", "verifier").index(t.entries[-1].role if t.entries else None) for t in texts])
    wanted = np.zeros((len(nodes), world.n_agents + len(ROLES)))
    wanted[np.arange(len(nodes)), np.array(rule)[stage]] = 1.0
    wanted[np.arange(len(nodes)), world.n_agents + np.array([WORKER, VERIFIER, WORKER])[stage]] = 1.0
    weight = (1.0 / np.bincount(stage)[stage])[:, None]
    states = world.states(nodes)
    gram = states.T @ (weight * states)
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    theta = SURE * np.linalg.solve(gram, states.T @ (weight * wanted)).T.ravel()
    head = _head(world, leave_out)
    return Begun(head.n_agents, head.d, head.head, head.forbidden, head.label, tuple(theta.tolist()))


def _head(world: RecordedWorld, leave_out: Sequence[str]) -> MaskedHead:
    names = [agent.name for agent in world.pool.agents]
    return without(make_head("linear", world.n_agents, world.d), leave_out, names)


def at_turns(trained: Trained, budgets: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(rewards, dollars), both (len(budgets), S, n, R), had the rollouts been stopped after K turns: the latest answer
    counts. Draws are keyed by turn, so these are exactly the rollouts of a world with that limit."""
    plays, world = trained.plays, trained.world
    bill = spent(plays, world)
    shape = trained.rewards.shape
    speakers = {K: world.speakers(plays, K) for K in budgets}
    rewards = [np.where(plays.turns <= K, plays.reward, _rewards(who, plays, world)) for K, who in speakers.items()]
    dollars = [bill[..., :K].sum(axis=-1) for K in budgets]
    return np.array(rewards).reshape(-1, *shape), np.array(dollars).reshape(-1, *shape)


def _rewards(speaker: np.ndarray, plays: Plays, world: RecordedWorld) -> np.ndarray:
    right = world.right[plays.questions, speaker]
    if not np.isin(right, (0.0, 1.0)).all():
        raise ValueError("shares of right answers are drawn by the rollout; this reads recorded verdicts of 0 and 1")
    return np.where(speaker >= 0, right, 0.0)


def spent(plays: Plays, world: RecordedWorld) -> np.ndarray:
    """(S, m, K): the dollars of each turn."""
    dollars = world.dollars[plays.questions[..., None], np.maximum(plays.agents, 0)]
    return np.where(plays.called & (plays.roles != THINKER), dollars, 0.0)


def curve(trained: Trained, budgets: Sequence[int]) -> pd.DataFrame:
    """One row a turn budget: `K`, right answers (`value`, `low`, `high`, percent) and `dollars` a question."""
    rows = zip(budgets, *at_turns(trained, budgets), strict=True)
    return pd.DataFrame([{"K": K, **score(rewards)._asdict(), "dollars": d.mean()} for K, rewards, d in rows])


def against(systems: Mapping[str, tuple[Rewards, float]], base: Rewards) -> pd.DataFrame:
    """One row a system (rewards, dollars a question): percent of right answers, the difference to `base` in points with
    its interval (none for `base` itself), dollars per 1,000 questions."""
    rows = []
    for name, (rewards, dollars) in systems.items():
        gap = [np.nan] * 3 if rewards is base else difference(rewards, base)
        rows.append((name, score(rewards).value, *gap, 1000 * dollars))
    return pd.DataFrame(rows, columns=["system", "right (%)", "difference", "low", "high", "$ per 1,000"])


def scripted(pool: RecordedPool, question: Question, turns: Sequence[tuple[str, Role]]) -> Rollout:
    """The conversation in which these LLMs act in these roles, turn by turn: (part of an LLM's name, role)."""
    names = [agent.name for agent in pool.agents]
    acts = [(next(k for k, name in enumerate(names) if part in name), role) for part, role in turns]
    script = Schedules(schedule(len(names), *acts)[None], len(names))
    settings = LoopSettings(max_turns=len(turns), mode="argmax")
    return run_recorded([Job(question)], script, script, pool, settings)[0]


def habits(trained: Trained) -> pd.DataFrame:
    """One row a turn: percent of rollouts that reach it, its roles, and the commonest LLM and role with its share."""
    plays, names = trained.plays, [agent.name for agent in trained.world.pool.agents]
    turns = plays_turns([plays], ["" for _ in trained.world.questions])
    rows = []
    for turn in range(1, plays.roles.shape[-1] + 1):
        acts = turns[turns["turn"] == turn]
        kinds = acts["agent"] * len(ROLES) + acts["role"].map(ROLES.index)
        counts = kinds.value_counts().sort_index()
        agent, role = divmod(int(counts.idxmax()), len(ROLES)) if len(acts) else (0, 0)
        rows.append(
            {
                "turn": turn,
                "reached": 100 * (len(acts) / plays.turns.size),
                "worker": 100 * (acts["role"] == "worker").mean(),
                "verifier": 100 * (acts["role"] == "verifier").mean(),
                "most often": f"{short(names[agent])}, {ROLES[role]}" if len(acts) else "",
                "share": 100 * counts.max() / len(acts) if len(acts) else 0.0,
            }
        )
    return pd.DataFrame(rows)


def difference(ours: Rewards, theirs: Rewards) -> Estimate:
    """mean(ours) - mean(theirs) in points, paired by question."""
    (a, names), (b, _) = (_table(part) for part in (ours, theirs))
    return paired_difference(a, b, names).percent()


def score(rewards: Rewards) -> Estimate:
    """The mean in percent."""
    return mean_interval(*_table(rewards)).percent()


def _table(rewards: Rewards) -> tuple[np.ndarray, list[str]]:
    """(S, n), questions of all benchmarks side by side, and each question's benchmark."""
    parts = rewards if isinstance(rewards, Mapping) else {"": rewards}
    tables = {name: np.atleast_2d(np.asarray(part, np.float64)) for name, part in parts.items()}
    tables = {name: part.mean(axis=2) if part.ndim == 3 else part for name, part in tables.items()}
    seeds = max(len(part) for part in tables.values())
    whole = [np.broadcast_to(part, (seeds, part.shape[1])) for part in tables.values()]
    return np.concatenate(whole, axis=1), [name for name, part in tables.items() for _ in part[0]]
