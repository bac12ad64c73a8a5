"""Figure 4's question: what do more turns add, without training again?

The rollouts of one evaluation with the largest K hold those of every smaller one (`evaluation.at_turns`), so a step
from K to K + 1 is a difference within a rollout, and its interval that of paired differences within a training's seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.stats.intervals import Estimate, mean_interval
from trinity_core.types import ROLES
from trinity_core.world import STOPS

if TYPE_CHECKING:
    import pandas as pd


def chosen(rewards: np.ndarray, families: Sequence[str], only: str | None) -> tuple[np.ndarray, list[str]]:
    """Rewards (..., n_q, R) and families of one family's questions; of all for `only` None."""
    kept = [number for number, family in enumerate(families) if only in (None, family)]
    if not kept:
        raise ValueError(f"no question of the family {only!r}; choose one of {', '.join(dict.fromkeys(families))}")
    return rewards[..., kept, :], [families[number] for number in kept]


def pass_at_1(
    rewards: np.ndarray, budgets: Sequence[int], families: Sequence[str], only: str | None = None
) -> pd.DataFrame:
    """One row a turn budget: `K` and pass@1 (`value`, `low`, `high`, percent) of rewards (len(budgets), S, n_q, R)."""
    import pandas as pd

    rewards, families = chosen(rewards, families, only)
    found = [mean_interval(part, families) for part in rewards]
    return pd.DataFrame([{"K": K, **_percent(one)} for K, one in zip(budgets, found, strict=True)])


def step(
    rewards: np.ndarray, budgets: Sequence[int], ends: tuple[int, int], families: Sequence[str], only: str | None = None
) -> Estimate:
    """pass@1 at K = ends[1] minus that at K = ends[0], in points: the very same rollouts, gone on with."""
    rewards, families = chosen(rewards, families, only)
    first, last = (rewards[list(budgets).index(K)] for K in ends)
    return Estimate(*_percent(mean_interval(last - first, families)).values())


def bend(
    rewards: np.ndarray,
    budgets: Sequence[int],
    ends: tuple[int, int, int],
    families: Sequence[str],
    only: str | None = None,
) -> Estimate:
    """How much more the turns from ends[0] to ends[1] add than those from ends[1] to ends[2], in points."""
    rewards, families = chosen(rewards, families, only)
    first, middle, last = (rewards[list(budgets).index(K)] for K in ends)
    return Estimate(*_percent(mean_interval(2 * middle - first - last, families)).values())


def by_turn(plays: Any) -> pd.DataFrame:
    """One row a turn: percent of rollouts that reach it, its roles' shares, and how many have ended by then, and how.

    Columns `reached`; a column a role; `accepted`, `no answer` (a Verifier before any answer): of all rollouts.
    """
    import pandas as pd

    rows = []
    for turn in range(plays.nodes.shape[-1]):
        role = plays.roles[..., turn][plays.roles[..., turn] >= 0]
        ended = {
            label: 100 * ((plays.stop == STOPS.index(stop)) & (plays.turns <= turn + 1)).mean()
            for label, stop in (("accepted", "accepted"), ("no answer", "verifier before answer"))
        }
        shares = 100 * np.bincount(role, minlength=len(ROLES)) / max(len(role), 1)
        reached = 100 * len(role) / plays.turns.size
        rows.append({"turn": turn + 1, "reached": reached, **dict(zip(ROLES, shares, strict=True)), **ended})
    return pd.DataFrame(rows)


def _percent(estimate: Estimate) -> dict[str, float]:
    return {name: 100 * part for name, part in estimate._asdict().items()}
