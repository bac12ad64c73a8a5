"""Figure 3: every system of A.7.1 on the same questions, with the same pool and draws, and TRINITY beside them.

Rollout r of a question hears the same agents' draws for every system, and they are those of TRINITY's own evaluation.
What repeats differs by system (`System.repeats`), and so does what a bootstrap draws again beside the questions:

    drawn      nothing is learnt: R rollouts a question, the baseline's own draws being keyed by rollout
    set        one choice is made for the whole test set: each rollout number is a repetition of the whole
    trained    one training a seed (1 to S), each with R rollouts a question

A system's rollouts are one tidy table (`stats.rollouts`), `seed` telling repetitions apart; amounts (calls, tokens,
dollars) count every call, also those whose text is dropped. Scores are in the form of `stats.scores`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from suite.baselines import BASELINES, make_baseline
from suite.published import BENCHMARKS, SUMMARIES, by_family
from suite.stats import scores
from suite.stats.intervals import DRAWS
from suite.stats.rollouts import AMOUNTS, plays_table, rollouts_table
from trinity_core.training.task import FRESH
from trinity_core.types import Question, Rollout
from trinity_core.world import Plays

MEAN = "mean"
A6, BEYOND = "a model a family (A.6)", "TRINITY beyond A.6"  # rows of `error_reduction`
TRINITY = "TRINITY"
SINGLE = " (4K)"  # as the summaries' table marks a model that answers alone
ROWS = {"random agent selection": "random agent"}  # that table's name -> ours


@dataclass(frozen=True)
class System:
    """A baseline as one row of the table: its key in `BASELINES`, the agent where it is one agent's, what repeats."""

    baseline: str
    agent: str | None = None
    repeats: str = "drawn"


def systems(agents: Sequence[str], asked_often: Sequence[str]) -> dict[str, System]:
    """Every baseline that simulated agents can test, by name; `asked_often`: also by majority and self-reflection."""
    rows = {
        "per-question best": System("per-question-best"),
        "best agent per family": System("best-fixed", repeats="trained"),
        "RouterDC": System("routerdc", repeats="trained"),
        "MasRouter": System("masrouter", repeats="trained"),
        "Smoothie, per question": System("smoothie-dependent"),
        "Smoothie, whole set": System("smoothie-independent", repeats="set"),
        "MoA": System("moa"),
        "random agent": System("random-agent"),
        "random agent and role": System("random-agent-role"),
    }
    rows |= {f"majority@5: {agent}": System("majority", agent) for agent in asked_often}
    rows |= {f"self-reflection: {agent}": System("self-reflection", agent) for agent in asked_often}
    return rows | {agent: System("single", agent) for agent in agents}


def run_system(
    system: System,
    world: Any,
    training: Sequence[Question],
    *,
    seeds: int,
    replicates: int,
    table: Callable[[Sequence[Rollout]], pd.DataFrame] = rollouts_table,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Fits (where it learns, with each seed) and runs a baseline on the world's questions, texts read through its bank:
    its rollouts as a `table`, and the mean bill of its trainings (empty: it learns nothing)."""
    settings = {} if system.agent is None else {"agent": system.agent}
    encoder = world.bank if BASELINES[system.baseline].encoder else None
    tables, learnt = [], []
    fits = range(1, seeds + 1) if system.repeats == "trained" else (0,)
    for seed in fits:
        baseline = make_baseline(system.baseline, encoder=encoder, **settings)
        baseline.fit(world.pool, training, seed=seed)
        learnt += baseline.training
        for number in range(FRESH, FRESH + replicates):
            done = table(baseline.run(world.pool, world.questions, seed=seed, replicate=number))
            again = {"seed": number, "replicate": 0} if system.repeats == "set" else {"seed": seed, "replicate": number}
            tables.append(done.assign(**again))
    paid = rollouts_table(learnt)
    used = (len(paid), paid["calls"].sum(), (paid["tokens_in"] + paid["tokens_out"]).sum(), paid["cost"].sum())
    return pd.concat(tables, ignore_index=True), _bill(np.array(used, float) / len(fits)) if learnt else {}


def evaluations(plays: Sequence[Plays], questions: Sequence[Question]) -> pd.DataFrame:
    """The same table of a coordinator's evaluations, one a seed."""
    return pd.concat([plays_table(one, questions).assign(seed=seed) for seed, one in enumerate(plays)])


def bill_of_training(histories: Sequence[pd.DataFrame]) -> dict[str, float]:
    """The mean bill of trainings by rollouts, from their histories (`TrainingResult.history`). A turn is a call."""
    rows = []
    for history in histories:
        rollouts = np.diff(history["evaluations"], prepend=0)
        rows.append(
            (rollouts.sum(), (rollouts * history["turns"]).sum(), history["tokens"].sum(), history["cost"].sum())
        )
    return _bill(np.mean(rows, axis=0))


def _bill(used: np.ndarray) -> dict[str, float]:
    """What one training used: tokens in and out together, dollars by the pool's own prices."""
    return dict(zip(("rollouts", "calls", "tokens", "dollars"), used.tolist(), strict=True))


# --- tables ---
def mean_amounts(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Means of `columns` a question, families weighing alike."""
    return table.groupby("family", sort=False)[list(columns)].mean().mean()


def score_rows(rewards: Mapping[str, np.ndarray], families: Sequence[str]) -> pd.DataFrame:
    """`scores.scores` of all systems, each family, then `MEAN`; beside the summaries' table."""
    rows = scores.scores(rewards, families, paper=summaries().round(2).rename(columns={MEAN: scores.AVERAGE}))
    return rows.replace({"part": {scores.AVERAGE: MEAN}})


def leads(rewards: Mapping[str, np.ndarray], families: Sequence[str]) -> pd.DataFrame:
    """TRINITY minus every other system in points, as `score_rows`; paired by question."""
    paper = summaries().rename(columns={MEAN: scores.AVERAGE})
    pairs = {name: (rewards[TRINITY], other) for name, other in rewards.items() if name != TRINITY}
    rows = scores.leads(pairs, families, paper=(paper.loc[TRINITY] - paper).round(2))
    return rows.replace({"part": {scores.AVERAGE: MEAN}})


def cost_rows(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a system: calls, tokens in and out and US cents a question."""
    rows = pd.DataFrame({name: mean_amounts(table, ("calls", *AMOUNTS)) for name, table in tables.items()}).T
    rows["cost"] *= 100
    return rows.set_axis(["calls", "tokens in", "tokens out", "cents"], axis=1).rename_axis("system")


def slug(*parts: str) -> str:
    """Names as a part of a claim's id: their words and numbers, joined by dashes."""
    return "-".join(re.findall(r"[\w.@]+", " ".join(parts)))


# --- the paper's side ---
def summaries() -> pd.DataFrame:
    """The summaries' table of Figure 3 in percent: systems by our names, families and `MEAN` (NaN where a cell is)."""
    table = 100 * by_family("fig3_in_distribution", "method")
    table = table.rename(index=lambda name: ROWS.get(name, name.removesuffix(SINGLE)))
    return table.assign(**{MEAN: table.mean(axis=1, skipna=False)})


def ablations() -> pd.DataFrame:
    """Table 2's TRINITY and fixed agents in the same form."""
    table = by_family("table2_ablations", "variant")
    kept = table[table.index.str.endswith(" only") | (table.index == TRINITY)]
    return kept.rename(index=lambda name: name.removesuffix(" only")).assign(**{MEAN: kept.mean(axis=1).to_numpy()})


def side_by_side(ours: pd.DataFrame) -> pd.DataFrame:
    """The published tables and ours (wide), a row a system that both have: columns system, table, families, `MEAN`."""
    tables = {SUMMARIES: summaries(), "Table 2": ablations(), "ours": ours}
    parts = [*BENCHMARKS, MEAN]
    return pd.DataFrame(
        [
            {"system": name, "table": label, **table.loc[name, parts]}
            for name in ablations().index
            for label, table in tables.items()
        ]
    )


# --- relative error reduction ---
def error_reduction(rewards: Mapping[str, np.ndarray], agents: Sequence[str], families: Sequence[str]) -> pd.DataFrame:
    """A.6's ratio for TRINITY against the best of `agents` alone, one row a part, with bootstrap intervals: the
    percentage of the best single model's errors that TRINITY removes; for the mean also what the best model of each
    family would remove (`A6`), and the difference (`BEYOND`); `paper`: from the summaries' cells. The best agents are
    picked once, by the very questions that are asked, as A.6 does: the bootstrap draws questions and seeds. Draws in
    which there is no error are left out."""
    names, families = np.asarray(families), list(dict.fromkeys(families))
    ours = np.nanmean(rewards[TRINITY], axis=2)
    singles = np.concatenate([np.nanmean(rewards[agent], axis=2) for agent in agents])
    generator = np.random.default_rng(0)
    # Row 0 of all that follows is the questions and seeds as they are; the others are drawn.
    share, seeds = (
        np.vstack([np.ones(size), generator.multinomial(size, np.full(size, 1 / size), DRAWS)])
        for size in (len(names), len(ours))
    )
    reached, alone = [], []
    for family in families:
        weights = share[:, names == family]
        total = weights.sum(axis=1)
        reached.append(np.einsum("bs,sq,bq->b", seeds / len(ours), ours[:, names == family], weights) / total)
        alone.append(weights @ singles[:, names == family].T / total[:, None])
    reached, alone = np.array(reached), np.array(alone)  # (families, draws), (families, draws, L)
    paper = summaries()
    cells = paper.loc[[name for name in agents if name in paper.index], families].to_numpy().T
    theirs = _against_best(families, paper.loc[TRINITY, families].to_numpy(float)[:, None] / 100, cells[:, None] / 100)
    rows = []
    for part, ratios in _against_best(families, np.array(reached), np.array(alone)).items():
        ends = np.nanquantile(ratios[1:], (0.025, 0.975)) if np.isfinite(ratios[1:]).any() else (np.nan, np.nan)
        found = (ratios[0], min(ends[0], ratios[0]), max(ends[1], ratios[0]), theirs[part][0])
        rows.append((part, *(100 * x for x in found)))
    return pd.DataFrame(rows, columns=["part", "value", "low", "high", "paper"])


def _against_best(families: Sequence[str], reached: np.ndarray, alone: np.ndarray) -> dict[str, np.ndarray]:
    """The ratios (draws,) of each part, from scores (families, draws) and agents' (families, draws, L) of which the
    first draw chooses; NaN where there is no error to reduce."""
    chosen = np.stack([table[:, table[0].argmax()] for table in alone])
    together, mean, ideal = alone.mean(axis=0), reached.mean(axis=0), chosen.mean(axis=0)
    best = together[:, together[0].argmax()]
    parts = dict(zip(families, zip(reached, chosen, strict=True), strict=True))
    parts |= {MEAN: (mean, best), A6: (ideal, best), BEYOND: (mean - ideal + best, best)}
    with np.errstate(divide="ignore", invalid="ignore"):
        return {part: np.where(b < 1, (a - b) / (1 - b), np.nan) for part, (a, b) in parts.items()}
