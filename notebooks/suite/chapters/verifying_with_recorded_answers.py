"""Verifying with real answers: coordinators trained on recorded conversations (notebook 17).

One coordinator may hold a conversation (Worker and Verifier, K turns), one has a single step; both are trained on the
same questions with the same number of rollouts and judged on the same test questions. Rules that are fixed for all
questions stand in `recorded_rules`.

Symbols: n -> questions, S -> seeds, R -> rollouts a question, K -> turn budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suite import evaluation
from suite.baselines.variants import MaskedHead, without
from suite.chapters.verifying_with_recorded_answers_rules import Rule, short
from suite.stats.intervals import Estimate, mean_interval, paired_difference
from suite.worlds.recorded import RecordedWorld, run_recorded
from trinity_core.heads import make_head
from trinity_core.rollout import Job, LoopSettings
from trinity_core.training.task import Task
from trinity_core.training.train import PAPER_BUDGET, train
from trinity_core.types import ROLES, Question, Role, Rollout
from trinity_core.world import STOPS, VERIFIER, WORKER, Plays

if TYPE_CHECKING:
    import pandas as pd

    from suite.pools.recorded import RecordedPool

# Rewards (S, n, R) or (S, n), of a rule (n,); or these by benchmark, which then weigh alike.
Rewards = np.ndarray | Mapping[str, np.ndarray]
RIDGE = 0.01  # of the states' mean square
SURE = 10.0  # logits apart: a rule's choice is then drawn nearly always

_POINTS = {"unit": "points", "relation": "greater", "evidence": "recorded", "stand_in": True}
CLAIMS: dict[str, dict[str, Any]] = {
    claim["id"]: {**_POINTS, **claim}
    for claim in (
        {
            "id": "17.verify",
            "statement": "Choosing Worker or Verifier over five turns, minus one step (mean of three benchmarks)",
            "source": "Table 2 (without tri-role selection, over five turns)",
        },
        {
            "id": "17.single",
            "statement": "The coordinator of five turns minus the best single LLM (mean of three benchmarks)",
            "source": "Figure 3",
        },
        {
            "id": "17.turns",
            "statement": "Five turns minus two, without training again (mean of three benchmarks)",
            "source": "Figure 4",
        },
        {
            "id": "17.pays",
            "statement": "Without GPT-4, a fixed rule with a Verifier minus the best single LLM (ARC, Winogrande)",
            "source": "section 3.2",
        },
        {
            "id": "17.learns",
            "statement": "Winogrande without GPT-4, verdicts visible: the trained coordinator minus one step",
            "source": "section 3.2",
        },
    )
}


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
    """Trains a linear head by sep-CMA-ES with the seeds 1 to `seeds` and plays the test questions with each.

    `leave_out`: roles and LLMs that are never chosen (a Thinker has nothing recorded). `head` replaces that head.
    """
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
    """A head that plays a rule with a Verifier wherever verdicts can be seen (rule `paper`): ridge regression of the
    choices that the rule makes onto the states of all transcripts of `world`, those after nothing, after an answer and
    after a verdict weighing alike. ValueError where verdicts leave no trace."""
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
    of a rollout that goes on counts, as at a turn limit. Draws are keyed by turn, so these are exactly the rollouts of
    a world with that limit."""
    plays, world = trained.plays, trained.world
    bill = spent(plays, world)
    shape = trained.rewards.shape
    rewards = [np.where(plays.turns <= K, plays.reward, _rewards(world.speakers(plays, K), plays, world))
               for K in budgets]  # fmt: skip
    dollars = [bill[..., :K].sum(axis=-1) for K in budgets]
    return np.array(rewards).reshape(-1, *shape), np.array(dollars).reshape(-1, *shape)


def _rewards(speaker: np.ndarray, plays: Plays, world: RecordedWorld) -> np.ndarray:
    right = world.right[plays.questions, speaker]
    if not np.isin(right, (0.0, 1.0)).all():
        raise ValueError("shares of right answers are drawn by the rollout; this reads recorded verdicts of 0 and 1")
    return np.where(speaker >= 0, right, 0.0)


def spent(plays: Plays, world: RecordedWorld) -> np.ndarray:
    """(S, m, K): the dollars of each turn."""
    agents = np.maximum(plays.agents, 0)
    asked = (plays.roles == WORKER) | (plays.roles == VERIFIER)
    early = (plays.stop == STOPS.index("verifier before answer"))[..., None] & (
        np.arange(plays.roles.shape[-1]) == plays.turns[..., None] - 1
    )
    return np.where(asked & ~early, world.dollars[plays.questions[..., None], agents], 0.0)


def curve(trained: Trained, budgets: Sequence[int]) -> pd.DataFrame:
    """One row a turn budget: `K`, right answers (`value`, `low`, `high`, percent) and `dollars` a question."""
    import pandas as pd

    rows = zip(budgets, *at_turns(trained, budgets), strict=True)
    return pd.DataFrame([{"K": K, **score(rewards)._asdict(), "dollars": d.mean()} for K, rewards, d in rows])


def against(systems: Mapping[str, tuple[Rewards, float]], base: Rewards) -> pd.DataFrame:
    """One row a system (rewards, dollars a question): percent of right answers, the difference to `base` in points with
    its interval (none for `base` itself), dollars per 1,000 questions."""
    import pandas as pd

    rows = []
    for name, (rewards, dollars) in systems.items():
        gap = Estimate(*[np.nan] * 3) if rewards is base else difference(rewards, base)
        rows.append(
            {"system": name, "right (%)": score(rewards).value, "difference": gap.value, "low": gap.low}
            | {"high": gap.high, "$ per 1,000": 1000 * dollars}
        )
    return pd.DataFrame(rows)


def scripted(pool: RecordedPool, question: Question, turns: Sequence[tuple[str, Role]]) -> Rollout:
    """The conversation in which these LLMs act in these roles, turn by turn: (part of an LLM's name, role)."""
    names = [agent.name for agent in pool.agents]
    choices = [next(k for k, name in enumerate(names) if part in name) for part, _ in turns]
    script = _Script(len(names), [(agent, ROLES.index(role)) for agent, (_, role) in zip(choices, turns, strict=True)])
    settings = LoopSettings(max_turns=len(turns), mode="argmax")
    return run_recorded([Job(question)], script, script, pool, settings)[0]


class _Script:
    """A policy that says who acts next, and the encoder that it does not need."""

    d = 1

    def __init__(self, n_agents: int, turns: Sequence[tuple[int, int]]) -> None:
        self.n_agents, self.turns = n_agents, iter(turns)

    def encode(self, texts: Sequence[Any], *, reuse_prefix: bool = False) -> np.ndarray:
        return np.zeros((len(texts), self.d))

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        agent, role = next(self.turns)
        logits = np.full((len(candidates), self.n_agents + len(ROLES)), -SURE)
        logits[:, [agent, self.n_agents + role]] = SURE
        return logits


def habits(trained: Trained) -> pd.DataFrame:
    """One row a turn: percent of rollouts that reach it, of these the Workers' share, and the LLM and role most often
    chosen with its share."""
    import pandas as pd

    plays, names = trained.plays, [agent.name for agent in trained.world.pool.agents]
    rows = []
    for turn in range(plays.roles.shape[-1]):
        role, agent = plays.roles[..., turn], plays.agents[..., turn]
        acts = role >= 0
        pairs_of = agent[acts].astype(int) * len(ROLES) + role[acts]
        counts = np.bincount(pairs_of, minlength=len(names) * len(ROLES))
        top = int(counts.argmax())
        rows.append(
            {
                "turn": turn + 1,
                "reached": 100 * acts.mean(),
                "worker": 100 * (role[acts] == WORKER).mean() if acts.any() else np.nan,
                "verifier": 100 * (role[acts] == VERIFIER).mean() if acts.any() else np.nan,
                "most often": f"{short(names[top // len(ROLES)])}, {ROLES[top % len(ROLES)]}" if acts.any() else "",
                "share": 100 * counts[top] / max(acts.sum(), 1),
            }
        )
    return pd.DataFrame(rows)


def difference(ours: Rewards, theirs: Rewards) -> Estimate:
    """mean(ours) - mean(theirs) in points, paired by question."""
    a, b, names = _tables(ours, theirs)
    return _points(paired_difference(a, b, names))


def score(rewards: Rewards) -> Estimate:
    """The mean in percent."""
    table, _, names = _tables(rewards, rewards)
    return _points(mean_interval(table, names))


def _tables(ours: Rewards, theirs: Rewards) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Both as (S, n), questions of all benchmarks side by side, and each question's benchmark."""
    sides = [part if isinstance(part, Mapping) else {"": part} for part in (ours, theirs)]
    tables = [[_by_seed(side[name]) for name in sides[0]] for side in sides]
    counts = [max(len(part) for part in side) for side in tables]
    whole = [np.concatenate([np.broadcast_to(part, (count, part.shape[1])) for part in side], axis=1)
             for side, count in zip(tables, counts, strict=True)]  # fmt: skip
    return whole[0], whole[1], [name for name, part in zip(sides[0], tables[0], strict=True) for _ in part[0]]


def _by_seed(rewards: np.ndarray) -> np.ndarray:
    rewards = np.asarray(rewards, np.float64)
    rewards = rewards[None] if rewards.ndim == 1 else rewards
    return rewards.mean(axis=2) if rewards.ndim == 3 else rewards


def _points(estimate: Estimate) -> Estimate:
    return Estimate(*(100 * part for part in estimate))
