"""Table 2: what TRINITY loses when a part of it is taken away and the rest is trained again.

A loss is score(TRINITY) - score(variant) on the same test questions with the same draws, in points: above 0 where the
part helps. Variants carry the names of the table's rows.

How the rows are read, where the paper leaves it open: without tri-role selection every turn is a Worker's, for all K
turns, since nobody can accept; with one agent only, the roles are still learnt. What is taken away is never chosen
(`heads.MaskedHead`), so theta, population and budget are TRINITY's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.experiments import REPLICATES, Experiment, Trained, get_world, make_task
from suite.published import published
from suite.stats.intervals import Estimate, by_family, mean_interval, paired_difference
from trinity_core.types import ROLES
from trinity_core.world import STOPS

if TYPE_CHECKING:
    import pandas as pd

FULL = "TRINITY"
AVERAGE = "average"
# Our families and the benchmarks that they stand for, as `data/paper` calls them.
BENCHMARKS = {"math": "math500", "knowledge": "mmlu", "reasoning": "rlpr", "code": "livecodebench"}
COLUMNS = {AVERAGE: "average_printed"} | BENCHMARKS
ONLY = " only"


def variants(base: Experiment, agents: Sequence[str], alone: Sequence[str]) -> dict[str, Experiment]:
    """TRINITY (`base`) and the rows of Table 2 that need no SVF; `agents`: the pool, `alone`: the agents left alone."""
    if unknown := [agent for agent in alone if agent not in agents]:
        raise ValueError(f"no agent {unknown[0]!r} in the pool; choose among {', '.join(agents)}")
    found = {
        FULL: base,
        "w/o Thinker": replace(base, without=("thinker",)),
        "w/o tri-role selection": replace(base, without=("thinker", "verifier")),
        "last token": replace(base, position="last"),
    }
    for agent in alone:
        found[agent + ONLY] = replace(base, without=tuple(name for name in agents if name != agent))
    return found


def rewards(runs: Sequence[Trained]) -> np.ndarray:
    """(seeds, n_questions, R): test rewards of several seeds."""
    return np.stack([run.test_rewards for run in runs])


def gap(ours: np.ndarray, theirs: np.ndarray, families: Sequence[str], part: str = AVERAGE) -> Estimate:
    """mean(ours) - mean(theirs) in points, on one family's questions or on all (families weighing alike)."""
    rows = np.flatnonzero([part in (AVERAGE, family) for family in families])
    if not len(rows):
        raise ValueError(f"no questions of {part!r}; choose {AVERAGE} or one of {', '.join(dict.fromkeys(families))}")
    names = [families[row] for row in rows]
    return Estimate(*(100 * x for x in paired_difference(ours[:, rows], theirs[:, rows], names)))


def rounded(value: float, low: float, high: float, places: int = 1) -> dict[str, Any]:
    """`ours` and `interval` of a claim with so many decimals; the interval holds the number after rounding, too."""
    ours = round(float(value), places)
    return {"ours": ours, "interval": (min(round(float(low), places), ours), max(round(float(high), places), ours))}


def score_table(runs: Mapping[str, Sequence[Trained]], families: Sequence[str]) -> pd.DataFrame:
    """A row a variant: test score (percent) by family and on average with its interval."""
    import pandas as pd

    rows, names = [], np.asarray(families)
    for variant, trained in runs.items():
        found = rewards(trained)
        mean = mean_interval(found, families)
        row = {"variant": variant, AVERAGE: 100 * mean.value, "low": 100 * mean.low, "high": 100 * mean.high}
        rows.append(row | {family: 100 * np.nanmean(found[:, names == family]) for family in BENCHMARKS})
    return pd.DataFrame(rows)


def full_scores(trained: Sequence[Trained], families: Sequence[str]) -> pd.DataFrame:
    """TRINITY's own row of Table 2: columns part, score, low, high, paper (percent)."""
    import pandas as pd

    found, table = rewards(trained), published("table2_ablations").set_index("variant")
    parts = {AVERAGE: mean_interval(found, families)} | by_family(found, families)
    rows = [(part, *(100 * x for x in parts[part]), table.loc[FULL, column]) for part, column in COLUMNS.items()]
    return pd.DataFrame(rows, columns=["part", "score", "low", "high", "paper"])


def losses(runs: Mapping[str, Sequence[Trained]], families: Sequence[str]) -> pd.DataFrame:
    """A row a variant and part (average, then each family): our loss with its interval, and the paper's, in points.

    Columns variant, part, loss, low, high, paper.
    """
    import pandas as pd

    full, table = rewards(runs[FULL]), published("table2_ablations").set_index("variant")
    rows = []
    for variant, trained in runs.items():
        if variant == FULL:
            continue
        for part, column in COLUMNS.items():
            found = gap(full, rewards(trained), families, part)
            printed = table.loc[FULL, column] - table.loc[variant, column] if variant in table.index else np.nan
            rows.append((variant, part, *found, round(printed, 2)))
    return pd.DataFrame(rows, columns=["variant", "part", "loss", "low", "high", "paper"])


def taken_away(full: Sequence[Trained], variants: Mapping[str, Experiment], families: Sequence[str]) -> pd.DataFrame:
    """The average loss, in points, when a variant's part is taken from trained coordinators that had it: not trained
    again. Columns variant, loss, low, high; variants that lack no role and no agent are left out."""
    import pandas as pd

    rows = []
    for variant, e in variants.items():
        if e.without:
            task, world = make_task(e), get_world(e.profile, "test", e.transcript, e.max_turns, e.position)
            found = np.stack([task.rewards(run.result.theta, REPLICATES, world) for run in full])
            rows.append((variant, *gap(rewards(full), found, families)))
    return pd.DataFrame(rows, columns=["variant", "loss", "low", "high"])


def orders(names: Sequence[str]) -> list[tuple[str, str, float]]:
    """Neighbours in Table 2's order by printed average, among `names`: (higher, lower, difference in points)."""
    table = published("table2_ablations").set_index("variant")["average_printed"]
    ranked = table[[name for name in names if name in table.index]].sort_values(ascending=False)
    pairs = zip(ranked.index[:-1], ranked.index[1:], strict=True)
    return [(a, b, round(float(ranked[a] - ranked[b]), 2)) for a, b in pairs]


def behaviour(runs: Mapping[str, Sequence[Trained]]) -> pd.DataFrame:
    """A row a variant, over seeds and test rollouts: how it spends its turns and what it costs.

    Columns variant, turns, accepted (percent of rollouts), a share of the turns for each role (percent), output
    tokens (of a rollout), dollars (of a thousand rollouts), main agent (place) and its share of the turns (percent).
    """
    import pandas as pd

    rows = []
    for variant, trained in runs.items():
        plays = [run.test_plays for run in trained]
        roles = np.mean([play.role_share() for play in plays], axis=0)
        agents = np.mean([play.agent_share() for play in plays], axis=0)
        row = {
            "variant": variant,
            "turns": np.mean([play.turns.mean() for play in plays]),
            "accepted": 100 * np.mean([(play.stop == STOPS.index("accepted")).mean() for play in plays]),
        }
        row |= {role: 100 * share for role, share in zip(ROLES, roles, strict=True)}
        row |= {
            "tokens": np.mean([play.tokens_out.mean() for play in plays]),
            "dollars": 1e3 * np.mean([play.cost.mean() for play in plays]),
            "main agent": int(agents.argmax()),
            "its share": 100 * agents.max(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def chances_alone(worlds: Sequence[Any], names: Sequence[str]) -> pd.DataFrame:
    """A row an agent: its exact chance (percent) to be right alone, over each world's questions, families alike."""
    import pandas as pd

    columns = {}
    for world, name in zip(worlds, names, strict=True):
        families = [question.family for question in world.questions]
        chances = [[world.pool.probability(a, q) for q in world.questions] for a in range(world.n_agents)]
        columns[name] = [100 * mean_interval(np.array([row]), families).value for row in chances]
    return pd.DataFrame({"agent": [agent.name for agent in worlds[0].pool.agents], **columns})
