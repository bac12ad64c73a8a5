"""What a trained coordinator chooses, and whether that can be read off its states (Figures 7, 12, 13, 15; Table 5).

`accuracies`: how well an SVM foretells the agent that was chosen, or the family of the question, on questions that it
was not fitted on. Beside each accuracy stand the *base rate*, always saying the commonest label; an SVM that knows only
the transcript's length; and the *ceiling*, always saying what the policy finds likeliest: choices are drawn, so no
predictor can be expected above it. Intervals: as in `stats.intervals`. S, Q, L: seeds, questions, agents.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from suite.evaluation import alone
from suite.experiments import REPLICATES, Trained, evaluation_world, make_task
from suite.stats.intervals import Estimate, mean_interval, ratio_interval
from suite.stats.separability import svm
from trinity_core.heads import agent_role_probabilities
from trinity_core.training.sft import oracle_labels
from trinity_core.training.task import Task
from trinity_core.types import ROLES
from trinity_core.world import STOPS, Plays

START = "start"
LENGTH = "transcript length"
KERNELS = {"hidden state": ("linear", "rbf"), "head logits": ("linear", "rbf"), LENGTH: ("linear",)}


# --- counting ---
def cells(turns: pd.DataFrame, chosen: np.ndarray | None = None) -> np.ndarray:
    """(S, Q): turns of each seed on each question, all or those where `chosen` (rows,) holds."""
    rows = turns if chosen is None else turns[chosen]
    counts = pd.crosstab(rows["seed"], rows["question"])
    shape = (range(turns["seed"].max() + 1), range(turns["question"].max() + 1))
    return counts.reindex(index=shape[0], columns=shape[1], fill_value=0).to_numpy(float)


def shares(turns: pd.DataFrame, column: str, names: Sequence[str], by: str) -> pd.DataFrame:
    """Percent of the turns in each group of `by` that each of `names` had: columns `by`, name, value, low, high."""
    rows = []
    for group in turns[by].unique():
        part = turns[turns[by] == group]
        whole = cells(part)
        for place, name in enumerate(names):
            chosen = part[column] == (place if column == "agent" else name)
            rows.append((group, name, *ratio_interval(cells(part, chosen), whole).percent()))
    return pd.DataFrame(rows, columns=[by, "name", "value", "low", "high"])


def lead(turns: pd.DataFrame, agent: int) -> tuple[Estimate, int]:
    """How far `agent`'s share of these turns is above the most chosen other agent's (points), and who that is."""
    counts = np.bincount(turns["agent"], minlength=agent + 2).astype(float)  # +2: there is always another
    counts[agent] = -1
    rival = int(counts.argmax())
    ahead = cells(turns, turns["agent"] == agent) - cells(turns, turns["agent"] == rival)
    return ratio_interval(ahead, cells(turns)).percent(), rival


def transitions(turns: pd.DataFrame) -> pd.DataFrame:
    """Percent of the moves out of each row's place: start and the roles, to the roles and the ends of a rollout."""
    first = turns[turns["turn"] == 1]["role"].value_counts().rename(START).to_frame().T
    table = pd.concat([first, pd.crosstab(turns["role"], turns["next"])])
    table = table.reindex(index=[START, *ROLES], columns=[*ROLES, *STOPS[:3]], fill_value=0).fillna(0)
    return 100 * table.div(table.sum(axis=1).clip(lower=1), axis=0)


def entropy(chances: np.ndarray) -> np.ndarray:
    """Bits along the last axis."""
    safe = np.where(chances > 0, chances, 1.0)
    return -(safe * np.log2(safe)).sum(axis=-1)


def evenness(counts: Sequence[float]) -> float:
    """The entropy of counts over its largest value: 1 where all agents are chosen alike, 0 for one alone."""
    return float(entropy(np.asarray(counts, np.float64) / np.sum(counts)) / np.log2(len(counts)))


# --- telling choices from states ---
class Readings(NamedTuple):
    """What a coordinator read and how it weighed it, a row a turn: states (n, d), logits (n, L+3), chances (n, L), and
    how many entries the transcript had (n, most + 1), 1 in that column."""

    states: np.ndarray
    logits: np.ndarray
    chances: np.ndarray
    entries: np.ndarray


def replay(runs: Sequence[Trained]) -> tuple[Task, list[Plays]]:
    """The task of several seeds of one experiment on its test questions, and each one's rollouts, played again: nodes
    of `Trained.test_plays` are numbers of another process's world."""
    e = runs[0].experiment
    task = replace(make_task(e), world=evaluation_world(e))
    return task, [task.judge(run.result.theta, REPLICATES) for run in runs]


def readings(task: Task, theta: np.ndarray, nodes: np.ndarray) -> Readings:
    """Of one coordinator theta, at nodes (n,) of the task's world."""
    logits = task.head.logits(theta, task.features(nodes))
    chances = agent_role_probabilities(logits, task.world.n_agents)[0]
    entries = np.array([len(task.world.tree.transcripts[node].entries) for node in nodes])
    return Readings(task.world.states(nodes), logits, chances, np.eye(entries.max() + 1)[entries])


def folds_of(families: Sequence[str], folds: int, seed: int) -> np.ndarray:
    """The fold (Q,) of each question: dealt in a drawn order, family by family."""
    generator, found = np.random.default_rng([seed, 0xF01D]), np.empty(len(families), int)
    line = sorted(generator.permutation(len(families)), key=lambda place: families[place])
    found[line] = np.arange(len(families)) % folds
    return found


def foretold(model: Any, X: np.ndarray, y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """(n,): whether `model`, fitted on the other folds, gives row i its label. One label alone is foretold as it is."""
    right = np.empty(len(y), bool)
    for part in np.unique(fold):
        test, labels = fold == part, y[fold != part]
        if len(np.unique(labels)) == 1:
            right[test] = y[test] == labels[0]
            continue
        with warnings.catch_warnings():
            # One state read many times with different draws cannot be told apart; the solver may stop at its limit.
            warnings.simplefilter("ignore", ConvergenceWarning)
            right[test] = clone(model).fit(X[~test], labels).predict(X[test]) == y[test]
    return right


def accuracies(
    task: Task, thetas: Sequence[np.ndarray], turns: pd.DataFrame, families: Sequence[str], *, folds: int, seed: int
) -> pd.DataFrame:
    """The rows of Figures 12 and 13: features, labels, kernel, accuracy, low, high, base, ceiling, and the accuracy's
    gain over the base rate with its interval. Labels are the agent chosen (one rollout a question, every turn), over
    all families and by family, and the family (task type; the question alone). `thetas`: one a seed of `turns`; a model
    is fitted for each. Folds are by question."""
    fold, place = folds_of(families, folds, seed), np.asarray(families)
    found: dict[tuple[str, str, str], list[np.ndarray]] = {}  # (right, ceiling; Q) of each seed
    options: dict[str, list[np.ndarray]] = {}  # (labels, Q) of each seed: how often each label stands
    for number, theta in enumerate(thetas):
        mine = turns[turns["seed"] == number]
        mine = mine[mine["rollout"].isin(mine.groupby("question")["rollout"].min())]
        for labels, rows in (("task type", mine[mine["turn"] == 1]), ("agent selection", mine)):
            read, question = readings(task, theta, rows["node"].to_numpy()), rows["question"].to_numpy()
            y = place[question] if labels == "task type" else rows["agent"].to_numpy()
            options.setdefault(labels, []).append(np.stack([_by_question(y == v, question) for v in np.unique(y)]))
            likeliest = np.ones(len(y)) if labels == "task type" else read.chances.max(axis=1)
            spaces = {"hidden state": read.states, "head logits": read.logits, LENGTH: read.entries}
            for features, X in spaces.items():
                for kernel in KERNELS[features] if labels == "agent selection" or features != LENGTH else ():
                    right = foretold(svm(kernel), X, y, fold[question])
                    both = np.stack([_by_question(right, question), _by_question(likeliest, question)])
                    found.setdefault((features, labels, kernel), []).append(both)
    parts = [(key, key[1], np.arange(len(families))) for key in found]
    for family in dict.fromkeys(families):
        key = ("hidden state", "agent selection", "linear")
        parts.append((key, f"agent selection on {family}", np.flatnonzero(place == family)))
    rows = []
    for key, labels, own in parts:
        values, kinds = np.stack(found[key])[:, :, own], [families[q] for q in own]
        base = np.stack([each[each[:, own].mean(axis=1).argmax(), own] for each in options[key[1]]])
        accuracy, gain = (mean_interval(rights, kinds) for rights in (values[:, 0], values[:, 0] - base))
        rows.append((key[0], labels, key[2], *accuracy, base.mean(), values[:, 1].mean(), *gain))
    columns = ["accuracy", "low", "high", "base", "ceiling", "gain", "gain low", "gain high"]
    return pd.DataFrame(rows, columns=["features", "labels", "kernel", *columns])


def _by_question(values: np.ndarray, question: np.ndarray) -> np.ndarray:
    return np.bincount(question, weights=values) / np.bincount(question)


# --- oracle labels ---
def oracle_rewards(world: Any, seeds: int = 3) -> np.ndarray:
    """Rewards (seeds, Q, L) of each agent alone on each question, as `training.sft` collects them."""
    grid = np.meshgrid(np.arange(seeds), np.arange(len(world.questions)), np.arange(world.n_agents), indexing="ij")
    rounds, questions, agents = (axis.ravel() for axis in grid)
    return world.solve(agents, questions, rounds).reshape(grid[0].shape)


def label_counts(rewards: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """(L, draws, Q): 1 where the agent is the question's oracle label; ties are drawn anew in each draw."""
    labels = np.stack([oracle_labels(rewards, seed + draw) for draw in range(draws)])
    return (labels == np.arange(rewards.shape[2])[:, None, None]).astype(float)


def label_shares(counts: np.ndarray, families: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """The percent of each family's questions whose label each agent is: columns family, name, value, low, high."""
    rows, place = [], np.asarray(families)
    for family in dict.fromkeys(families):
        for name, part in zip(names, counts[:, :, place == family], strict=True):
            rows.append((family, name, *ratio_interval(part, np.ones_like(part)).percent()))
    return pd.DataFrame(rows, columns=["family", "name", "value", "low", "high"])


def ties(rewards: np.ndarray, families: Sequence[str]) -> pd.DataFrame:
    """By family, percent of (seed, question) pairs: nobody right, one agent right, several, all; and of questions
    whose label hangs on no draw (one agent alone is best in most seeds)."""
    right, place = rewards.sum(axis=2), np.asarray(families)
    n_agents = rewards.shape[2]
    alone_right = (rewards * (right == 1)[:, :, None]).sum(axis=0)  # (Q, L): in how many seeds
    settled = alone_right.max(axis=1) > len(rewards) / 2
    rows = []
    for family in dict.fromkeys(families):
        own = right[:, place == family]
        kinds = (own == 0, own == 1, (own > 1) & (own < n_agents), own == n_agents)
        rows.append((family, *(100 * kind.mean() for kind in kinds), 100 * settled[place == family].mean()))
    return pd.DataFrame(rows, columns=["family", "none right", "one right", "several right", "all right", "settled"])


def paper_shares(table: pd.DataFrame, task: str, names: Sequence[str]) -> Mapping[str, float]:
    """Percent by agent of one task, from Figure 15 (a row a task) or Table 5 (a column a task, counts)."""
    if "task" in table:
        return table.set_index("task").loc[task, list(names)].astype(float).to_dict()
    counts = table.set_index("agent").loc[list(names), task]
    return (100 * counts / counts.sum()).to_dict()


def to_win(pupils: Any, test: Any, favourite: str) -> pd.DataFrame:
    """By family: the agent with the highest exact chance alone on the training questions, its chance and the
    favourite's there, and both on the test questions (percent). The last row is the mean."""
    training, asked = (
        pd.DataFrame({name: 100 * chances[0] for name, chances in alone(world).items()})
        .groupby([q.family for q in world.questions], sort=False)
        .mean()
        for world in (pupils, test)
    )
    best = training.idxmax(axis=1)
    table = pd.DataFrame({"family": best.index, "best on training": best.to_numpy()})
    for split, chances in (("training", training), ("test", asked)):
        table[f"best, {split}"] = [chances.loc[family, name] for family, name in best.items()]
        table[f"{favourite}, {split}"] = chances.loc[best.index, favourite].to_numpy()
    table.loc[len(table)] = ["mean", "", *table.iloc[:, 2:].mean()]
    return table
