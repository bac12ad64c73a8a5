"""Rollouts as tidy tables: a row a rollout, a row a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trinity_core.pool import Pool
from trinity_core.types import ROLES, Rollout, Turn

if TYPE_CHECKING:
    import pandas as pd

AMOUNTS = ("tokens_in", "tokens_out", "cost")
ROLLOUT_COLUMNS = (  # also of a table without rows
    "question", "family", "split", "candidate", "replicate", "reward", "failed", "stop", "turns", "calls", "answer",
    *AMOUNTS,
)  # fmt: skip
TURN_COLUMNS = (
    "question", "family", "candidate", "replicate", "turn", "agent", "role", "overridden", "p_agent", "p_role",
    "verdict", "suggested_role", "finish", "cached", *AMOUNTS, "output",
)  # fmt: skip


def rollouts_table(rollouts: Sequence[Rollout]) -> pd.DataFrame:
    """One row a rollout. Unknown tokens or dollars of any turn make the rollout's sum unknown (NaN), never smaller."""
    import pandas as pd

    rows = [
        {
            "question": r.question.id,
            "family": r.question.family,
            "split": r.question.split,
            "candidate": r.candidate,
            "replicate": r.replicate,
            "reward": np.nan if r.reward is None else r.reward,
            "failed": r.reward is None,
            "stop": r.stop,
            "turns": len(r.turns),
            "calls": sum(bool(t.prompt) for t in r.turns),
            "answer": r.answer,
            **{name: _total(r.turns, name) for name in AMOUNTS},
        }
        for r in rollouts
    ]
    return pd.DataFrame(rows, columns=ROLLOUT_COLUMNS)


def _total(turns: Sequence[Turn], name: str) -> float:
    return float(sum(_amount(turn, name) for turn in turns))  # a NaN makes the sum NaN


def _amount(turn: Turn, name: str) -> float:
    value = getattr(turn.message, name)
    return np.nan if value is None else value


def turns_table(rollouts: Sequence[Rollout], pool: Pool) -> pd.DataFrame:
    """One row a turn, with the agent's name and the chances that the head gave to the chosen agent and role."""
    import pandas as pd

    rows = [
        {
            "question": r.question.id,
            "family": r.question.family,
            "candidate": r.candidate,
            "replicate": r.replicate,
            "turn": t.index,
            "agent": pool.agents[t.agent].name,
            "role": t.role,
            "overridden": t.overridden,
            "p_agent": t.agent_probabilities[t.agent],
            "p_role": t.role_probabilities[ROLES.index(t.role)],
            "verdict": t.verdict,
            "suggested_role": t.suggested_role,
            "finish": t.message.finish,
            "cached": t.message.cached,
            **{name: _amount(t, name) for name in AMOUNTS},
            "output": t.output,
        }
        for r in rollouts
        for t in r.turns
    ]
    return pd.DataFrame(rows, columns=TURN_COLUMNS)
