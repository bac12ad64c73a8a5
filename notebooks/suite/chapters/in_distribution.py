"""Figure 3: every system of A.7.1 on the same questions, with the same pool and draws, and TRINITY beside them.

Rollout r of a question hears the same agents' draws for every system, and they are those of TRINITY's own evaluation.
What repeats differs by system (`System.repeats`), and so does what a bootstrap draws again beside the questions:

    drawn      nothing is learnt: R rollouts a question, the baseline's own draws being keyed by rollout
    set        one choice is made for the whole test set: each rollout number is a repetition of the whole
    trained    one training a seed (1 to S), each with R rollouts a question

Amounts (calls, tokens, dollars) count every call of a rollout, also those whose text is dropped.

Symbols: S -> seeds or repetitions, n_q -> questions, R -> rollouts a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.baselines import BASELINES, make_baseline
from suite.published import SUMMARIES, published
from suite.stats.intervals import DRAWS, Estimate, by_family, mean_interval, paired_difference
from suite.stats.rer import relative_error_reduction
from suite.stats.rollouts import rollouts_table
from trinity_core.training.task import FRESH
from trinity_core.world import STOPS, Plays

if TYPE_CHECKING:
    import pandas as pd

    from trinity_core.types import Question, Rollout

BENCHMARKS = {"math": "math500", "knowledge": "mmlu", "reasoning": "rlpr", "code": "livecodebench"}
MEAN = "mean"
A6, BEYOND = "a model a family (A.6)", "TRINITY beyond A.6"  # rows of `error_reduction`
TRINITY = "TRINITY"
AMOUNTS = ("calls", "tokens_in", "tokens_out", "cost")
SINGLE = " (4K)"  # as the summaries' table marks a model that answers alone
ROWS = {"MoA": "MoA", "RouterDC": "RouterDC", "random agent": "random agent selection"}  # ours -> that table's


@dataclass(frozen=True)
class System:
    """A baseline as one row of the table: its key in `BASELINES`, the agent where it is one agent's, what repeats."""

    baseline: str
    agent: str | None = None
    repeats: str = "drawn"


@dataclass(frozen=True)
class Scores:
    """What a system did: `reward` and each of `amounts` (S, n_q, R); NaN for a failed rollout.

    `training`: calls, tokens (in and out) and dollars of one training; empty where nothing is learnt.
    """

    reward: np.ndarray
    amounts: Mapping[str, np.ndarray]
    training: Mapping[str, float] = field(default_factory=dict)


def systems(agents: Sequence[str], asked_often: Sequence[str]) -> dict[str, System]:
    """Every baseline that simulated agents can test, by the name that tables use.

    `agents` answer alone, `asked_often` also by majority and by self-reflection; both by name.
    """
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


def run_system(system: System, world: Any, training: Sequence[Question], *, seeds: int, replicates: int) -> Scores:
    """Fits (where it learns, with each seed) and runs a baseline on the world's questions.

    Texts are read through the world's bank, so nothing depends on freshly encoded bits.
    """
    settings = {} if system.agent is None else {"agent": system.agent}
    encoder = world.bank if BASELINES[system.baseline].encoder else None
    done: list[Rollout] = []
    learnt: list[Rollout] = []
    fits = range(1, seeds + 1) if system.repeats == "trained" else (0,)
    for seed in fits:
        baseline = make_baseline(system.baseline, encoder=encoder, **settings)
        baseline.fit(world.pool, training, seed=seed)
        learnt += baseline.training
        for number in range(FRESH, FRESH + replicates):
            done += baseline.run(world.pool, world.questions, seed=seed, replicate=number)
    shape = (len(fits), replicates, len(world.questions))
    if system.repeats == "set":
        shape = (replicates, 1, len(world.questions))
    table = rollouts_table(done)
    columns = {
        name: table[name].to_numpy(np.float64).reshape(shape).transpose(0, 2, 1) for name in ("reward", *AMOUNTS)
    }
    return Scores(columns.pop("reward"), columns, _training(rollouts_table(learnt), len(fits)) if learnt else {})


def _training(table: pd.DataFrame, trainings: int) -> dict[str, float]:
    tokens = table["tokens_in"] + table["tokens_out"]
    sums = {"calls": table["calls"].sum(), "tokens": tokens.sum(), "cost": table["cost"].sum()}
    return {name: float(value) / trainings for name, value in sums.items()}


def scores_of_plays(plays: Sequence[Plays], questions: int, histories: Sequence[pd.DataFrame] = ()) -> Scores:
    """Scores of a coordinator's evaluations, one a seed, each of `questions` x R rollouts question by question.

    `histories`: of the trainings, for what they used (a turn is a call).
    """

    def table(read: Callable[[Plays], np.ndarray]) -> np.ndarray:
        return np.stack([np.asarray(read(one), np.float64).reshape(questions, -1) for one in plays])

    early = STOPS.index("verifier before answer")  # the turn that ends these rollouts asks nobody
    amounts = {name: table(lambda one, name=name: getattr(one, name)) for name in AMOUNTS[1:]}
    amounts["calls"] = table(lambda one: one.turns - (one.stop == early))
    training: dict[str, float] = {}
    if histories:
        calls = [(np.diff(h["evaluations"], prepend=0) * h["turns"]).sum() for h in histories]
        used = {"calls": calls, **{name: [h[name].sum() for h in histories] for name in ("tokens", "cost")}}
        training = {name: float(np.mean(values)) for name, values in used.items()}
    return Scores(table(lambda one: one.reward), amounts, training)


# --- tables -----------------------------------------------------------------------------------------------------------


def score_rows(scores: Mapping[str, Scores], families: Sequence[str]) -> pd.DataFrame:
    """One row a system and part (each family, then `MEAN`): percent with its interval, and the paper's where printed.

    Columns: system, part, value, low, high, paper.
    """
    import pandas as pd

    paper, rows = summaries(), []
    for name, found in scores.items():
        parts = by_family(found.reward, families) | {MEAN: mean_interval(found.reward, families)}
        for part, estimate in parts.items():
            printed = paper[part].get(name, np.nan)
            rows.append((name, part, *(100 * x for x in estimate), printed))
    return pd.DataFrame(rows, columns=["system", "part", "value", "low", "high", "paper"])


def leads(scores: Mapping[str, Scores], families: Sequence[str]) -> pd.DataFrame:
    """TRINITY minus every other system in points, as `score_rows`; paired by question."""
    import pandas as pd

    paper, names, rows = summaries(), np.asarray(families), []
    ours = scores[TRINITY].reward
    for name, other in scores.items():
        if name == TRINITY:
            continue
        for part in (*dict.fromkeys(families), MEAN):
            mine = np.flatnonzero((names == part) | (part == MEAN))
            gap = paired_difference(ours[:, mine], other.reward[:, mine], names[mine].tolist())
            printed = paper.loc[TRINITY, part] - paper[part].get(name, np.nan)
            rows.append((name, part, *(100 * x for x in gap), printed))
    return pd.DataFrame(rows, columns=["system", "part", "value", "low", "high", "paper"])


def cost_rows(scores: Mapping[str, Scores], families: Sequence[str]) -> pd.DataFrame:
    """A row a system: calls, tokens in and out and US cents a question (families weigh alike), and of its training."""
    import pandas as pd

    names = np.asarray(families)
    rows = []
    for name, found in scores.items():
        means = {
            key: float(np.mean([np.nanmean(values[:, names == f]) for f in dict.fromkeys(families)]))
            for key, values in found.amounts.items()
        }
        rows.append(
            {"system": name, "calls": means["calls"]}
            | {"tokens in": means["tokens_in"], "tokens out": means["tokens_out"], "cents": 100 * means["cost"]}
            | {f"training {key}": found.training.get(key, np.nan) for key in ("calls", "cost")}
        )
    return pd.DataFrame(rows).set_index("system")


def wide(rows: pd.DataFrame) -> pd.DataFrame:
    """`score_rows` or `leads` with a row a system: its value by part, then the mean's interval."""
    table = rows.pivot(index="system", columns="part", values="value")
    table = table.loc[rows["system"].unique(), rows["part"].unique()]
    ends = rows[rows["part"] == MEAN].set_index("system")
    return table.assign(low=ends["low"], high=ends["high"]).rename_axis(columns=None)


def numbers(row: Any) -> dict[str, Any]:
    """What `Results.claim` is told of a row with value, low, high and paper: percent or points, two decimals."""
    return {
        "paper": None if np.isnan(row.paper) else round(float(row.paper), 2),
        "ours": round(row.value, 2) + 0.0,  # never a negative zero
        "interval": (round(row.low, 2) + 0.0, round(row.high, 2) + 0.0),
    }


def slug(*parts: str) -> str:
    """Names as a part of a claim's id: their words and numbers, joined by dashes."""
    return "-".join(re.findall(r"[\w.@]+", " ".join(parts)))


# --- the paper's side -------------------------------------------------------------------------------------------------


def summaries() -> pd.DataFrame:
    """The summaries' table of Figure 3 in percent: systems by our names, families and `MEAN` (NaN where a cell is)."""
    table = 100 * published("fig3_in_distribution").set_index("method")[list(BENCHMARKS.values())]
    ours = {theirs: mine for mine, theirs in ROWS.items()}
    table = table.rename(index=lambda name: ours.get(name, name.removesuffix(SINGLE)))
    return _means(table)


def ablations() -> pd.DataFrame:
    """Table 2's TRINITY and fixed agents in the same form."""
    table = published("table2_ablations").set_index("variant")[list(BENCHMARKS.values())]
    kept = table[table.index.str.endswith(" only") | (table.index == TRINITY)]
    return _means(kept.rename(index=lambda name: name.removesuffix(" only")))


def _means(table: pd.DataFrame) -> pd.DataFrame:
    table = table.rename(columns={column: family for family, column in BENCHMARKS.items()})
    return table.assign(**{MEAN: table.mean(axis=1, skipna=False)})


def side_by_side(rows: pd.DataFrame) -> pd.DataFrame:
    """The two published tables and ours, which they both have a row for: columns system, table, families, `MEAN`."""
    import pandas as pd

    first, second, ours = summaries(), ablations(), wide(rows)
    found = []
    for name in second.index:
        for label, table in ((SUMMARIES, first), ("Table 2", second), ("ours", ours)):
            found.append({"system": name, "table": label, **table.loc[name, [*BENCHMARKS, MEAN]].to_dict()})
    return pd.DataFrame(found)


# --- relative error reduction -----------------------------------------------------------------------------------------


def error_reduction(scores: Mapping[str, Scores], agents: Sequence[str], families: Sequence[str]) -> pd.DataFrame:
    """A.6's ratio for TRINITY against the best of `agents` alone, by family and on the mean, with bootstrap intervals.

    One row a part: the percentage of the best single model's errors that TRINITY removes (value, low, high); for the
    mean also what the best model of each family would remove (`A6`), and the difference (`BEYOND`). `paper`: the same
    from the summaries' cells. The best agents are picked by the very questions that are asked, as A.6 does, once: the
    bootstrap draws questions and seeds, not other agents. Draws in which there is no error have no ratio and are left
    out.
    """
    import pandas as pd

    names, families = np.asarray(families), list(dict.fromkeys(families))
    ours = np.nanmean(scores[TRINITY].reward, axis=2)
    singles = np.concatenate([np.nanmean(scores[agent].reward, axis=2) for agent in agents])
    generator = np.random.default_rng(0)
    share = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), DRAWS).astype(float)
    seeds = generator.multinomial(len(ours), np.full(len(ours), 1 / len(ours)), DRAWS) / len(ours)
    share, seeds = np.vstack([np.ones(len(names)), share]), np.vstack([np.full(len(ours), 1 / len(ours)), seeds])
    reached, alone = [], []  # row 0 is the questions as they are; the others are drawn
    for family in families:
        weights = share[:, names == family]
        total = weights.sum(axis=1)
        reached.append(np.einsum("bs,sq,bq->b", seeds, ours[:, names == family], weights) / total)
        alone.append(weights @ singles[:, names == family].T / total[:, None])
    reached, alone = np.array(reached), np.array(alone)  # (families, draws), (families, draws, L)
    chosen = [table[:, table[0].argmax()] for table in alone]  # of each family: (draws,)
    parts = {family: (reached[place], chosen[place]) for place, family in enumerate(families)}
    together = alone.mean(axis=0)
    best = together[:, together[0].argmax()]
    mean, ideal = reached.mean(axis=0), np.mean(chosen, axis=0)
    parts |= {MEAN: (mean, best), A6: (ideal, best), BEYOND: (mean - ideal + best, best)}
    paper = summaries()
    cells = paper.loc[[name for name in agents if name in paper.index]]
    printed = {part: (paper.loc[TRINITY, part], cells[part].max()) for part in (*families, MEAN)}
    printed[A6] = (cells[families].max().mean(), cells[MEAN].max())
    printed[BEYOND] = (paper.loc[TRINITY, MEAN] - printed[A6][0] + cells[MEAN].max(), cells[MEAN].max())
    rows = []
    for part, (value, against) in parts.items():
        theirs = relative_error_reduction(*(x / 100 for x in printed[part]))
        rows.append((part, *(100 * x for x in (*_ratio(value, against), theirs))))
    return pd.DataFrame(rows, columns=["part", "value", "low", "high", "paper"])


def _ratio(reached: np.ndarray, best: np.ndarray) -> Estimate:
    """The ratio of the first entry and the interval from the others; NaN where the first has no error to reduce."""
    values = np.where(best < 1, (reached - best) / np.where(best < 1, 1 - best, 1.0), np.nan)
    low, high = np.nanquantile(values[1:], (0.025, 0.975)) if np.isfinite(values[1:]).any() else (np.nan, np.nan)
    return Estimate(*(float(x) for x in (values[0], min(low, values[0]), max(high, values[0]))))
