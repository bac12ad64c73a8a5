"""The five heads of A.4 side by side (Tables 3 and 6): how large each is, how it scores, what it chose and read.

Every head is trained by the same learner at the same budget, and plays the same test questions with the same draws.
Rows carry the names of the paper's tables; two more stand beside them: the low-rank head at the rank that A.4's text
names, and the sparse head with its hard gate also while it learns.

The sparse head learns through a soft gate (A.4). `SoftGate` gives each candidate one Gumbel noise vector for all its
rollouts, keyed by the training's seed, the number of evaluations made before, and the candidate's place.

How much a head reads: the agents that it draws have an entropy H (bits). Part of it is chance, the mean entropy of the
policy at a state; the rest, H minus that, is the mutual information of state and agent: 0 where the state decides
nothing. "Blind" plays the same weights with each text replaced by the average text (`evaluation.blind`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.chapters.learning import rewards
from suite.chapters.what_it_learned import readings
from suite.evaluation import blind, play_all, rewards_of
from suite.experiments import REPLICATES, Experiment, Trained, get_world, make_task, run_experiments, seeds_of
from suite.published import published, text_number
from suite.stats.intervals import Estimate, by_family, mean_interval, paired_difference
from trinity_core.heads import Head, SparseHead, make_head
from trinity_core.training.task import FRESH, Task
from trinity_core.training.train import train
from trinity_core.world import Plays

if TYPE_CHECKING:
    import pandas as pd


Runs = Mapping[str, Sequence[Trained]]

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
AVERAGE = "average"
# Our families and the benchmarks that they stand for, as `data/paper` calls them.
BENCHMARKS = {"math": "math500", "knowledge": "mmlu", "reasoning": "rlpr", "code": "livecodebench"}


def heads(n_agents: int, d: int) -> dict[str, Head]:
    """One head of each row, for L agents and states of d numbers."""
    return {row: make_head(name, n_agents, d, **settings) for row, (name, settings) in KINDS.items()}


# --- Table 6 ---
def sizes(d: int) -> pd.DataFrame:
    """Columns head, printed (NaN for rows of ours), counted (at the paper's d), here (at `d`), to linear (there, here).

    Counted from the arrays that each head splits its weights into, not from a formula.
    """
    import pandas as pd

    n_agents, own = int(text_number("agents")), int(text_number("hidden_size"))
    theirs, ours = heads(n_agents, own), heads(n_agents, d)
    table6 = published("table3_heads").set_index("head")["params_printed"]
    rows = []
    for row in KINDS:
        if row == HARD:
            continue  # the sparse head once more
        counted, here = (
            sum(array.size for array in kind[row].split(np.zeros(kind[row].size)).values()) for kind in (theirs, ours)
        )
        ratio = (counted / theirs[REFERENCE].size, here / ours[REFERENCE].size)
        rows.append((row, table6.get(row, np.nan), counted, here, *ratio))
    return pd.DataFrame(rows, columns=["head", "printed", "counted", "here", "to linear", "to linear here"])


def reach(head: Head, theta: np.ndarray) -> np.ndarray:
    """(n_logits, d): how far each logit moves when one hidden number goes from 0 to 1, all others 0."""
    return (head.logits(theta, np.eye(head.d)) - head.logits(theta, np.zeros((1, head.d)))).T


# --- training ---
@dataclass(frozen=True)
class _Noisy:
    """The sparse head as it acts while learning: `gumbel` (lambda, d), one vector a candidate."""

    head: SparseHead
    gumbel: np.ndarray

    def __getattr__(self, name: str) -> Any:
        return getattr(self.head, name)

    def logits(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        """As the head's, through the soft gate."""
        return self.head.logits(theta, states, gumbel=self.gumbel)


@dataclass(frozen=True)
class SoftGate(Task):
    """A task whose sparse head learns through the soft gate and is judged with the hard one. `seed`: the training's."""

    seed: int = 0

    def play(self, thetas: np.ndarray, questions: np.ndarray, replicates: np.ndarray, mode: str | None = None) -> Plays:
        """As `Task.play`; replicates below `FRESH` are a training's."""
        first = int(np.asarray(replicates).flat[0])
        head: Any = self.head
        if first < FRESH:
            generator = np.random.default_rng([self.seed, 0x6A7E, first])
            head = _Noisy(self.head, generator.gumbel(size=(len(thetas), self.head.d)))
        return Task(self.world, head, self.sampling, self.transform, self.svf).play(thetas, questions, replicates, mode)


def run_soft(experiment: Experiment) -> Trained:
    """As `run_experiment`, the sparse head learning through its soft gate."""
    e, task = experiment, make_task(experiment)
    soft = SoftGate(task.world, task.head, task.sampling, task.transform, task.svf, seed=e.seed)
    result = train(e.method, soft, e.budget, e.seed, settings=e.settings)
    test = get_world(e.profile, "test", e.transcript, e.max_turns, e.position)
    plays = task.judge(result.theta, REPLICATES, test)
    shape = (len(test.questions), REPLICATES)
    return Trained(e, result, task.rewards(result.theta, REPLICATES), plays.reward.reshape(shape), plays)


def train_heads(base: Experiment, seeds: int) -> dict[str, list[Trained]]:
    """Every row of `KINDS` with the seeds 1 to `seeds`, `base` giving all but head and seed."""
    wanted = {
        row: seeds_of(replace(base, head=name, head_settings=settings), seeds)
        for row, (name, settings) in KINDS.items()
    }
    flat = iter(run_experiments([e for row, group in wanted.items() if row != SOFT for e in group]))
    return {
        row: [run_soft(e) for e in group] if row == SOFT else [next(flat) for _ in group]
        for row, group in wanted.items()
    }


# --- Table 3 ---
def scores(runs: Runs, families: Sequence[str]) -> pd.DataFrame:
    """Test scores in percent: columns head, part (average, then each family), score, low, high, paper (NaN: none)."""
    found = {row: rewards(trained) for row, trained in runs.items()}
    parts = {row: {AVERAGE: mean_interval(x, families)} | by_family(x, families) for row, x in found.items()}
    return _long(parts, printed(), "score")


def gaps(runs: Runs, families: Sequence[str]) -> pd.DataFrame:
    """Each head's score minus the linear head's, in points: columns as `scores`, gap for score."""
    names, theirs = np.asarray(families), rewards(runs[REFERENCE])
    parts: dict[str, dict[str, Estimate]] = {}
    for row, trained in runs.items():
        if row != REFERENCE:
            ours = rewards(trained)
            parts[row] = {AVERAGE: paired_difference(ours, theirs, families)}
            for family in BENCHMARKS:
                own = names == family
                parts[row][family] = paired_difference(ours[:, own], theirs[:, own], names[own].tolist())
    table = printed()
    return _long(parts, table - table.loc[REFERENCE], "gap")


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """`scores` with a row a head: average, its interval, each family, the paper's average."""
    average = table[table["part"] == AVERAGE].set_index("head")
    families = table[table["part"] != AVERAGE].pivot(index="head", columns="part", values="score")
    left = average[["score", "low", "high"]].rename(columns={"score": AVERAGE})
    return left.join(families[list(BENCHMARKS)]).assign(**{"paper's average": average["paper"]})


def gap(runs: Runs, ours: str, theirs: str, families: Sequence[str]) -> Estimate:
    """Average score of the row `ours` minus that of `theirs`, in points."""
    return Estimate(*(100 * x for x in paired_difference(rewards(runs[ours]), rewards(runs[theirs]), families)))


def printed() -> pd.DataFrame:
    """Table 3 by head, as shares: the average of the four printed cells, then a column for each of our families."""
    table = published("table3_heads").set_index("head")
    parts = table[list(BENCHMARKS.values())].set_axis(list(BENCHMARKS), axis=1)
    parts.insert(0, AVERAGE, parts.mean(axis=1))
    return parts


def neighbours() -> list[tuple[str, str, float]]:
    """Neighbours in Table 3's order by average: (higher, lower, points between them)."""
    ranked = printed()[AVERAGE].sort_values(ascending=False)
    pairs = zip(ranked.index[:-1], ranked.index[1:], strict=True)
    return [(a, b, round(100 * float(ranked[a] - ranked[b]), 3)) for a, b in pairs]


def _long(found: Mapping[str, Mapping[str, Estimate]], paper: pd.DataFrame, value: str) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for row, parts in found.items():
        for part, estimate in parts.items():
            mark = round(100 * float(paper.loc[row, part]), 3) if row in paper.index else np.nan
            rows.append((row, part, *(100 * x for x in estimate), mark))
    return pd.DataFrame(rows, columns=["head", "part", value, "low", "high", "paper"])


# --- what they chose ---
@dataclass(frozen=True)
class Judged:
    """The results of one row's seeds on the test questions, played in this process: Plays (S, n_q R).

    `own`: as the head decides by design, `drawn` and `argmax`: in either way, `blind`: `own` with each text replaced
    by the average one. `bits` (S, 2): the entropy of the agents under `own`, and the part of it that the state decides.
    """

    own: Plays
    drawn: Plays
    argmax: Plays
    blind: Plays
    bits: np.ndarray

    def rewards(self, which: str, world: Any) -> np.ndarray:
        """(S, n_q, R) of `own`, `drawn`, `argmax` or `blind`."""
        return rewards_of(getattr(self, which), world)


@dataclass(frozen=True)
class _Transformed:
    """A head that reads transformed states (whitening is affine, so an average text stays an average)."""

    head: Head
    transform: Callable[[np.ndarray], np.ndarray]

    def logits(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        """As the head's."""
        return self.head.logits(theta, self.transform(states))


def judge(trained: Sequence[Trained]) -> Judged:
    """Plays the results of several seeds of one row; `own` repeats their test rewards."""
    e = trained[0].experiment
    task, world = make_task(e), copy.copy(get_world(e.profile, "test", e.transcript, e.max_turns, e.position))
    world.settings = replace(world.settings, mode="argmax" if task.head.argmax else "sample")  # `blind` takes it from there
    thetas = np.stack([run.result.theta for run in trained])
    head: Any = task.head if task.transform is None else _Transformed(task.head, task.transform)
    drawn, argmax = (play_all(world, head, thetas, mode=mode) for mode in ("sample", "argmax"))
    own = argmax if task.head.argmax else drawn
    read = [nodes[nodes >= 0] for nodes in own.nodes]
    bits = np.array([_bits(task, world, theta, nodes) for theta, nodes in zip(thetas, read, strict=True)])
    return Judged(own, drawn, argmax, blind(world, head, thetas, own), bits)


def _bits(task: Task, world: Any, theta: np.ndarray, nodes: np.ndarray) -> tuple[float, float]:
    chances = readings(replace(task, world=world), theta, nodes).chances
    if task.head.argmax:
        chances = np.eye(task.head.n_agents)[chances.argmax(axis=1)]
    whole, by_chance = entropy(chances.mean(axis=0)), entropy(chances).mean()
    return float(whole), float(whole - by_chance)


def entropy(chances: np.ndarray) -> np.ndarray:
    """Bits along the last axis."""
    safe = np.where(chances > 0, chances, 1.0)
    return -(safe * np.log2(safe)).sum(axis=-1)


def shares(play: Plays) -> np.ndarray:
    """(S, L): the share of the turns that each agent had, for each seed."""
    counts = (play.agents[..., None] == np.arange(play.n_agents)).sum(axis=(1, 2))
    return counts / counts.sum(axis=1, keepdims=True)


def chosen(found: Mapping[str, Judged], agents: Sequence[str]) -> pd.DataFrame:
    """One row a head and seed: main agent, its share of the turns (percent), entropy and what of it the state decides.

    "largest by argmax" is the share of the agent that acts most when the same weights decide by argmax. Bits.
    """
    import pandas as pd

    rows = []
    for row, judged in found.items():
        own, argmax = shares(judged.own), shares(judged.argmax)
        for seed, place in enumerate(own.argmax(axis=1)):
            share = (100 * own[seed, place], 100 * argmax[seed].max())
            rows.append((row, seed + 1, agents[place], *share, *judged.bits[seed]))
    columns = ["head", "seed", "main agent", "its share", "largest by argmax", "entropy", "by state"]
    return pd.DataFrame(rows, columns=columns)


def one_sided(table: pd.DataFrame) -> pd.DataFrame:
    """`chosen` with a row a head: main agents with how many seeds each has, then means over the seeds."""
    import pandas as pd

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


def same_weights(found: Mapping[str, Judged], world: Any, ours: str, theirs: str) -> pd.DataFrame:
    """Points by which the plays `ours` score above `theirs`, the same weights in both: head, gap, low, high.

    Paired in questions and in seeds.
    """
    import pandas as pd

    families = [question.family for question in world.questions]
    rows = [
        (row, *(100 * x for x in mean_interval(judged.rewards(ours, world) - judged.rewards(theirs, world), families)))
        for row, judged in found.items()
    ]
    return pd.DataFrame(rows, columns=["head", "gap", "low", "high"])


def best_alone(world: Any) -> tuple[str, float]:
    """The agent that is most often right alone on the world's questions (families alike); its exact chance, percent."""
    places, families = range(world.n_agents), np.array([question.family for question in world.questions])
    chances = np.array([[world.pool.probability(agent, q.id) for q in world.questions] for agent in places])
    means = np.mean([chances[:, families == name].mean(axis=1) for name in np.unique(families)], axis=0)
    best = int(means.argmax())
    return world.pool.agents[best].name, 100 * float(means[best])
