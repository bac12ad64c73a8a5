"""One tidy table for all results: a row a rollout, whoever played it; and a row a turn.

`rollouts_table` makes it of rollouts, `plays_table` of a population's arrays, with the same columns. What tells systems
or seeds apart is a column that the caller assigns before tables are put together (`table.assign(system=...)`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from trinity_core.pool import Pool
from trinity_core.types import ROLES, Rollout, Turn
from trinity_core.world import STOPS, Plays

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
            **{name: float(sum(_amount(turn, name) for turn in r.turns)) for name in AMOUNTS},
        }
        for r in rollouts
    ]
    return pd.DataFrame(rows, columns=ROLLOUT_COLUMNS)


def plays_table(plays: Plays, questions: Sequence[Any]) -> pd.DataFrame:
    """The same of `plays` on a world's `questions`, candidate by candidate; `answer` is None, texts are not kept."""
    places = plays.questions.ravel()
    names = {key: np.array([getattr(q, key, None) for q in questions], object) for key in ("id", "family", "split")}
    reward, stop, turns = plays.reward.ravel(), np.array(STOPS, object)[plays.stop.ravel()], plays.turns.ravel()
    columns = {
        "question": names["id"][places],
        "family": names["family"][places],
        "split": names["split"][places],
        "candidate": np.repeat(np.arange(len(plays.questions)), plays.questions.shape[1]),
        "replicate": plays.replicates.ravel(),
        "reward": reward,
        "failed": np.isnan(reward),
        "stop": stop,
        "turns": turns.astype(int),
        "calls": turns - (stop == "verifier before answer"),  # the turn that ends these rollouts asks nobody
        "answer": None,
        **{name: getattr(plays, name).ravel().astype(float) for name in AMOUNTS},
    }
    return pd.DataFrame(columns, columns=ROLLOUT_COLUMNS)


def cube(table: pd.DataFrame, column: str = "reward", seed: str = "candidate") -> np.ndarray:
    """(S, n_questions, R): `column` by seed, question and replicate, each in order of appearance.

    `seed` names the column that tells trainings apart. ValueError where a cell has no row, or more than one.
    """
    codes, names = zip(*(pd.factorize(table[name]) for name in (seed, "question", "replicate")), strict=True)
    shape = tuple(map(len, names))
    if len(table) != np.prod(shape) or table.duplicated([seed, "question", "replicate"]).any():
        raise ValueError(f"{len(table)} rollouts do not fill {shape} seeds, questions and replicates once each")
    values = np.empty(shape)
    values[codes] = table[column]
    return values


def turns_table(rollouts: Sequence[Rollout], pool: Pool) -> pd.DataFrame:
    """One row a turn, with the agent's name and the chances that the head gave to the chosen agent and role."""
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


def _amount(turn: Turn, name: str) -> float:
    value = getattr(turn.message, name)
    return np.nan if value is None else value  # a NaN makes a sum NaN
