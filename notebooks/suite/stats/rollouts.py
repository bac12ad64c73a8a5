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


def rollouts_table(rollouts: Sequence[Rollout]) -> pd.DataFrame:
    """One row a rollout. Unknown tokens or dollars of any turn make the rollout's sum unknown (NaN), never smaller."""
    columns = {
        "question": [r.question.id for r in rollouts],
        "family": [r.question.family for r in rollouts],
        "split": [r.question.split for r in rollouts],
        "candidate": [r.candidate for r in rollouts],
        "replicate": [r.replicate for r in rollouts],
        "reward": [np.nan if r.reward is None else r.reward for r in rollouts],
        "failed": [r.reward is None for r in rollouts],
        "stop": [r.stop for r in rollouts],
        "turns": [len(r.turns) for r in rollouts],
        "calls": [sum(bool(t.prompt) for t in r.turns) for r in rollouts],
        "answer": [r.answer for r in rollouts],
    }
    sums = {name: [float(sum(_amount(turn, name) for turn in r.turns)) for r in rollouts] for name in AMOUNTS}
    return pd.DataFrame(columns | sums)


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
    }
    return pd.DataFrame(columns | {name: getattr(plays, name).ravel().astype(float) for name in AMOUNTS})


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
    turns = [(r, t) for r in rollouts for t in r.turns]
    columns = {
        "question": [r.question.id for r, _ in turns],
        "family": [r.question.family for r, _ in turns],
        "candidate": [r.candidate for r, _ in turns],
        "replicate": [r.replicate for r, _ in turns],
        "turn": [t.index for _, t in turns],
        "agent": [pool.agents[t.agent].name for _, t in turns],
        "role": [t.role for _, t in turns],
        "overridden": [t.overridden for _, t in turns],
        "p_agent": [t.agent_probabilities[t.agent] for _, t in turns],
        "p_role": [t.role_probabilities[ROLES.index(t.role)] for _, t in turns],
        "verdict": [t.verdict for _, t in turns],
        "suggested_role": [t.suggested_role for _, t in turns],
        "finish": [t.message.finish for _, t in turns],
        "cached": [t.message.cached for _, t in turns],
        **{name: [_amount(t, name) for _, t in turns] for name in AMOUNTS},
        "output": [t.output for _, t in turns],
    }
    return pd.DataFrame(columns)


def _amount(turn: Turn, name: str) -> float:
    value = getattr(turn.message, name)
    return np.nan if value is None else value  # a NaN makes a sum NaN
