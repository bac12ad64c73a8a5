"""Rollouts turn by turn: one row a turn, and how the turns are shared among agents and roles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from trinity_core.types import ROLES
from trinity_core.world import STOPS, Plays


def plays_turns(plays: Sequence[Plays], families: Sequence[str]) -> pd.DataFrame:
    """One row a turn of the rollouts of several populations, one after the other; a candidate is a training's seed.
    `families`: of a world's questions. Columns seed (from 0), rollout, question (place), family, turn (from 1), node,
    agent (place), role, named (by a Thinker) and next: the role of the turn after it, or how the rollout ended."""
    tables, names = [], np.array([*ROLES, *STOPS])
    for play in plays:
        acted = play.agents >= 0
        seed, rollout, turn = np.nonzero(acted)
        last = turn + 1 == play.turns[seed, rollout]
        after = np.where(last, len(ROLES) + play.stop[seed, rollout], np.roll(play.roles, -1, axis=-1)[acted])
        question = play.questions[seed, rollout]
        columns = {
            "seed": seed + (tables[-1]["seed"].max() + 1 if tables else 0),
            "rollout": rollout,
            "question": question,
            "family": np.asarray(families)[question],
            "turn": turn + 1,
            "node": play.nodes[acted],
            "agent": play.agents[acted],
            "role": np.array(ROLES)[play.roles[acted]],
            "named": play.named[acted],
            "next": names[after],
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def behaviour(turns: pd.DataFrame, agents: Sequence[str], by: str = "family") -> pd.DataFrame:
    """One row a family (or seed): the agents' shares of its turns and the roles', in percent, and `turns` a rollout."""
    who = pd.crosstab(turns[by], turns["agent"]).reindex(columns=range(len(agents)), fill_value=0)
    roles = pd.crosstab(turns[by], turns["role"]).reindex(columns=ROLES, fill_value=0)
    count, rollouts = who.sum(axis=1), turns[turns["turn"] == 1].groupby(by).size()
    shares = 100 * pd.concat([who.set_axis(list(agents), axis=1), roles], axis=1).div(count, axis=0)
    return shares.assign(turns=count / rollouts).loc[turns[by].unique()]
