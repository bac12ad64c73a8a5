"""The five heads of A.4 side by side (Tables 3 and 6): how large each is, how it scores, what it chose and read.

Rows carry the names of the paper's tables; two more stand beside them: the low-rank head at the rank that A.4's text
names, and the sparse head with its hard gate also while it learns. Otherwise it learns through a soft gate (A.4):
`SoftGate` gives each candidate one Gumbel noise vector for all its rollouts, keyed by the training's seed, the number
of evaluations made before, and the candidate's place.

How much a head reads: the agents that it draws have an entropy H (bits). Part of it is chance, the mean entropy of the
policy at a state; the rest is the mutual information of state and agent: 0 where the state decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from suite.chapters.what_it_learned import entropy, readings
from suite.evaluation import blind, play_all, rewards_of
from suite.experiments import (
    REPLICATES,
    Experiment,
    Trained,
    evaluation_world,
    make_task,
    run_all,
    run_experiments,
    seeds_of,
)
from suite.published import BENCHMARKS, by_family, published, text_number
from suite.stats.scores import AVERAGE
from suite.stats.turns import behaviour, plays_turns
from trinity_core.heads import Head, make_head
from trinity_core.training.task import FRESH, Task
from trinity_core.training.train import train
from trinity_core.world import Plays

KINDS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "linear": ("linear", {}),
    "low-rank": ("low-rank", {"rank": 20}),
    "low-rank, r = 14": ("low-rank", {"rank": 14}),
    "sparse": ("sparse", {}),
    "sparse, hard gate": ("sparse", {}),
    "block-diagonal-2": ("block-diagonal-2", {}),
    "block-diagonal-10": ("block-diagonal-10", {}),
}
SOFT, HARD = "sparse", "sparse, hard gate"  # how the sparse head learns
REFERENCE = "linear"
PARTS = (AVERAGE, *BENCHMARKS)


def heads(n_agents: int, d: int) -> dict[str, Head]:
    """One head of each row, for L agents and states of d numbers."""
    return {row: make_head(name, n_agents, d, **settings) for row, (name, settings) in KINDS.items()}


# --- Table 6 ---
def sizes(d: int) -> pd.DataFrame:
    """Columns head, printed (NaN for rows of ours), counted (at the paper's d), here (at `d`), to linear (there, here).
    Counted from the arrays that each head splits its weights into, not from a formula."""
    n_agents, own = int(text_number("agents")), int(text_number("hidden_size"))
    counted, here = (
        pd.Series(
            {r: sum(a.size for a in h.split(np.zeros(h.size)).values()) for r, h in heads(n_agents, size).items()}
        )
        for size in (own, d)
    )
    table = pd.DataFrame({"counted": counted, "here": here}).drop(index=HARD)  # the sparse head once more
    table.insert(0, "printed", published("table3_heads").set_index("head")["params_printed"])
    ratios = {"to linear": counted / counted[REFERENCE], "to linear here": here / here[REFERENCE]}
    return table.assign(**ratios).rename_axis("head").reset_index()


def reach(head: Head, theta: np.ndarray) -> np.ndarray:
    """(n_logits, d): how far each logit moves when one hidden number goes from 0 to 1, all others 0."""
    return (head.logits(theta, np.eye(head.d)) - head.logits(theta, np.zeros((1, head.d)))).T


# --- training ---
@dataclass(frozen=True)
class SoftGate(Task):
    """A task whose sparse head learns through the soft gate and is judged with the hard one. `seed`: the training's."""

    seed: int = 0

    def play(self, thetas: np.ndarray, questions: np.ndarray, replicates: np.ndarray, mode: str | None = None) -> Plays:
        """As `Task.play`; replicates below `FRESH` are a training's."""
        first = int(np.asarray(replicates).flat[0])
        if first >= FRESH:
            return super().play(thetas, questions, replicates, mode)
        gumbel = np.random.default_rng([self.seed, 0x6A7E, first]).gumbel(size=(len(thetas), self.head.d))
        soft = SimpleNamespace(logits=lambda theta, states: self.head.logits(theta, states, gumbel=gumbel))
        settings = {"transform": self.transform, "mode": mode or "sample"}
        return self.world.play(soft, np.asarray(thetas, np.float64), questions, replicates, **settings)


def run_soft(experiment: Experiment) -> Trained:
    """As `run_experiment`, the sparse head learning through its soft gate."""
    e, task = experiment, make_task(experiment)
    soft = SoftGate(task.world, task.head, task.sampling, task.transform, seed=e.seed)
    result = train(e.method, soft, e.budget, e.seed, settings=e.settings)
    plays = task.judge(result.theta, REPLICATES, evaluation_world(e))
    return Trained(e, result, task.rewards(result.theta, REPLICATES), plays.reward.reshape(-1, REPLICATES), plays)


def train_heads(base: Experiment, seeds: int) -> dict[str, list[Trained]]:
    """Every row of `KINDS` with the seeds 1 to `seeds`, `base` giving all but head and seed."""
    wanted = {
        row: seeds_of(replace(base, head=name, head_settings=settings), seeds)
        for row, (name, settings) in KINDS.items()
    }
    flat = iter(run_experiments([e for row, group in wanted.items() if row != SOFT for e in group]))
    soft = run_all(run_soft, wanted[SOFT])
    return {row: soft if row == SOFT else [next(flat) for _ in group] for row, group in wanted.items()}


# --- Table 3 ---
def printed() -> pd.DataFrame:
    """Table 3 by head, in percent: the average of the four printed cells, then a column for each of our families."""
    parts = 100 * by_family("table3_heads", "head")
    parts.insert(0, AVERAGE, parts.mean(axis=1))
    return parts


# --- what they chose ---
@dataclass(frozen=True)
class Played:
    """One row's seeds on the test questions: Plays (S, n_q R) as the head decides by design (`own`), `drawn`, by
    `argmax`, and `blind`. `bits` (S, 2): the entropy of the agents under `own`, and the part that the state decides."""

    own: Plays
    drawn: Plays
    argmax: Plays
    blind: Plays
    bits: np.ndarray

    def rewards(self, which: str, world: Any) -> np.ndarray:
        """(S, n_q, R) of `own`, `drawn`, `argmax` or `blind`."""
        return rewards_of(getattr(self, which), world)


def play_again(trained: Sequence[Trained]) -> Played:
    """Plays the results of several seeds of one row; `own` repeats their test rewards."""
    e = trained[0].experiment
    world = evaluation_world(e)
    task = replace(make_task(e), world=world)
    thetas, head = np.stack([run.result.theta for run in trained]), task.head
    modes = {mode: {"mode": mode, "transform": task.transform} for mode in ("sample", "argmax")}
    drawn, argmax = (play_all(world, head, thetas, **settings) for settings in modes.values())
    own, settings = (argmax, modes["argmax"]) if head.argmax else (drawn, modes["sample"])
    bits = [_bits(task, theta, nodes[nodes >= 0]) for theta, nodes in zip(thetas, own.nodes, strict=True)]
    return Played(own, drawn, argmax, blind(world, head, thetas, own, **settings), np.array(bits))


def _bits(task: Task, theta: np.ndarray, nodes: np.ndarray) -> tuple[float, float]:
    chances = readings(task, theta, nodes).chances
    if task.head.argmax:
        chances = np.eye(task.head.n_agents)[chances.argmax(axis=1)]
    whole, by_chance = entropy(chances.mean(axis=0)), entropy(chances).mean()
    return float(whole), float(whole - by_chance)


def shares(play: Plays, families: Sequence[str], agents: Sequence[str]) -> pd.DataFrame:
    """(S, L): the percent of the turns that each agent had, for each seed."""
    return behaviour(plays_turns([play], families), agents, by="seed")[list(agents)]


def chosen(found: Mapping[str, Played], families: Sequence[str], agents: Sequence[str]) -> pd.DataFrame:
    """One row a head and seed: main agent, its share of the turns (percent), entropy and what of it the state decides.
    "largest by argmax" is the share of the agent that acts most when the same weights decide by argmax. Bits."""
    rows = []
    for head, played in found.items():
        own, argmax = (shares(play, families, agents) for play in (played.own, played.argmax))
        columns = {"head": head, "seed": own.index + 1, "main agent": own.idxmax(axis=1), "its share": own.max(axis=1)}
        bits = {"entropy": played.bits[:, 0], "by state": played.bits[:, 1]}
        rows.append(pd.DataFrame(columns | {"largest by argmax": argmax.max(axis=1)} | bits))
    return pd.concat(rows, ignore_index=True)


def one_sided(table: pd.DataFrame) -> pd.DataFrame:
    """`chosen` with a row a head: main agents with how many seeds each has, then means over the seeds."""
    groups = table.groupby("head", sort=False)
    names = groups["main agent"].agg(lambda found: ", ".join(f"{n} x{c}" for n, c in found.value_counts().items()))
    over = groups["its share"].agg(lambda share: f"{(share > 90).sum()} of {len(share)}")
    means = groups[["its share", "largest by argmax", "entropy", "by state"]].mean()
    return pd.concat([names, means, over.rename("over 90 %")], axis=1)


def common_part(states: np.ndarray) -> tuple[float, float, float]:
    """Of states (n, d): the length of their mean, the mean length of their deviations from it, and the share of their
    mean squared length that is the mean's."""
    mean = states.mean(axis=0)
    return (
        float(np.linalg.norm(mean)),
        float(np.linalg.norm(states - mean, axis=1).mean()),
        float(mean @ mean / (states**2).sum(axis=1).mean()),
    )
