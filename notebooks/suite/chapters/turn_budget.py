"""Figure 4's question: what do more turns add, without training again? The rollouts with the largest K hold those of
every smaller one (`evaluation.at_turns`), so a step from K to K + 1 is a difference within a rollout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from suite.stats.intervals import Estimate
from suite.stats.scores import AVERAGE, score, scores
from trinity_core.types import ROLES


def pass_at_1(
    rewards: np.ndarray, budgets: Sequence[int], families: Sequence[str], part: str = AVERAGE
) -> pd.DataFrame:
    """One row a turn budget: `K` and pass@1 (`value`, `low`, `high`, percent) of rewards (len(budgets), S, n_q, R)."""
    rows = scores(dict(zip(budgets, rewards, strict=True)), families, parts=(part,))
    return rows.rename(columns={"system": "K"})[["K", "value", "low", "high"]]


def step(
    rewards: np.ndarray, budgets: Sequence[int], ends: tuple[int, int], families: Sequence[str], part: str = AVERAGE
) -> Estimate:
    """pass@1 at K = ends[1] minus that at K = ends[0], in points: the very same rollouts, gone on with."""
    first, last = (rewards[list(budgets).index(K)] for K in ends)
    return score(last - first, families, part)


def by_turn(turns: pd.DataFrame) -> pd.DataFrame:
    """One row a turn (`turns` of `plays_turns`): percent of all rollouts that have `reached` it, each role's share of
    it, and percent that have ended by then: `accepted`, `no answer` (a Verifier before any answer)."""
    rollouts = (turns["turn"] == 1).sum()
    roles = pd.crosstab(turns["turn"], turns["role"]).reindex(columns=ROLES, fill_value=0)
    ends = {"accepted": "accepted", "verifier before answer": "no answer"}
    ended = pd.crosstab(turns["turn"], turns["next"]).reindex(columns=ends, fill_value=0).rename(columns=ends)
    shares = roles.div(roles.sum(axis=1), axis=0).assign(reached=roles.sum(axis=1) / rollouts)
    table = 100 * shares[["reached", *ROLES]].join(ended.cumsum() / rollouts)
    return table.rename_axis(columns=None).reset_index()
