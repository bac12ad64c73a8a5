"""Table 2: what TRINITY loses when a part of it is taken away and the rest is trained again.

A loss is score(TRINITY) - score(variant) on the same questions with the same draws, in points. Where the paper leaves
it open: without tri-role selection every turn is a Worker's, for all K turns, since nobody can accept; with one agent
only, the roles are still learnt. What is taken away is never chosen, so theta, population and budget stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from suite.experiments import REPLICATES, Experiment, Trained, evaluation_world, make_task
from suite.published import BENCHMARKS, published
from suite.stats import scores
from suite.stats.scores import AVERAGE
from suite.stats.turns import behaviour, plays_turns
from trinity_core.types import ROLES

Runs = Mapping[str, Sequence[Trained]]

FULL = "TRINITY"
ONLY = " only"
PARTS = (AVERAGE, *BENCHMARKS)


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


def rewards(runs: Runs) -> dict[str, np.ndarray]:
    """Test rewards (seeds, n_questions, R) of each variant."""
    return {variant: np.stack([run.test_rewards for run in trained]) for variant, trained in runs.items()}


def printed() -> pd.DataFrame:
    """Table 2 by variant, in percent: the printed average and a column for each of our families."""
    table = published("table2_ablations").set_index("variant")[["average_printed", *BENCHMARKS.values()]]
    return table.set_axis(list(PARTS), axis=1)


def score_table(runs: Runs, families: Sequence[str]) -> pd.DataFrame:
    """A row a variant: test score (percent) on average with its interval, and by family."""
    return scores.wide(scores.scores(rewards(runs), families, parts=PARTS)).rename_axis("variant").reset_index()


def losses(runs: Runs, families: Sequence[str]) -> pd.DataFrame:
    """`scores.leads` of TRINITY over each variant, a row a variant and part, beside the paper's loss."""
    found, table = rewards(runs), printed()
    pairs = {variant: (found[FULL], found[variant]) for variant in runs if variant != FULL}
    return scores.leads(pairs, families, parts=PARTS, paper=table.loc[FULL] - table)


def taken_away(full: Sequence[Trained], variants: Mapping[str, Experiment], families: Sequence[str]) -> pd.DataFrame:
    """The average loss, as `losses`, when a variant's part is taken from trained coordinators that had it: not trained
    again. Variants that lack no role and no agent are left out."""
    whole, pairs = np.stack([run.test_rewards for run in full]), {}
    for variant, e in variants.items():
        if e.without:
            task, world = make_task(e), evaluation_world(e)
            pairs[variant] = whole, np.stack([task.rewards(run.result.theta, REPLICATES, world) for run in full])
    return scores.leads(pairs, families, parts=(AVERAGE,))


def spending(runs: Runs, families: Sequence[str], agents: Sequence[str]) -> pd.DataFrame:
    """A row a variant, over seeds and test rollouts: turns, accepted (percent of rollouts), each role's share of the
    turns, output tokens of a rollout, dollars of a thousand, main agent and its share of the turns."""
    rows = []
    for variant, trained in runs.items():
        plays = [run.test_plays for run in trained]
        turns = plays_turns(plays, families)
        mean = behaviour(turns, agents, by="seed").mean()
        rows.append(
            {
                "variant": variant,
                "turns": mean["turns"],
                "accepted": 100 * (turns["next"] == "accepted").sum() / sum(play.reward.size for play in plays),
                **mean[list(ROLES)],
                "tokens": np.mean([play.tokens_out.mean() for play in plays]),
                "dollars": 1e3 * np.mean([play.cost.mean() for play in plays]),
                "main agent": mean[list(agents)].idxmax(),
                "its share": mean[list(agents)].max(),
            }
        )
    return pd.DataFrame(rows)
