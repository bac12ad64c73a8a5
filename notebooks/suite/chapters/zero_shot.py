"""Table 1: a coordinator trained on the four families, asked the held-out ones.

The held-out questions are our stand-ins for AIME2025, BigCodeBench and GPQA-D (`tasks.heldout`). The pool's abilities
are solved per family and split, so giving it held-out questions leaves its agents on the four families as they were;
on the held-out families each agent alone has the score of its row in Table 1. MT-Bench is not played: its replies are
rated by a judge, and the simulated agents' replies are right or wrong, not better or worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.stats.intervals import by_family, mean_interval, paired_difference

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {"aime": "aime2025", "bigcode": "bigcodebench", "gpqa": "gpqa_d"}  # family -> column of Table 1
NAMES = {"aime": "AIME2025", "bigcode": "BigCodeBench", "gpqa": "GPQA-D"}
AVERAGE = "average"
PER_FAMILY = 30  # as many as AIME2025 has


@lru_cache(maxsize=1)
def heldout_world(profile: str) -> Any:
    """The `SimulatedWorld` of the held-out families' first questions (`PER_FAMILY`, or the profile's own number).

    Its pool knows the profile's questions of the four families too: it is the one pool of training and of Table 1.
    """
    from suite.experiments import get_encoder
    from suite.pools import load_pool
    from suite.profiles import get_profile
    from suite.questions import load_questions
    from suite.questions.heldout import load_heldout
    from suite.worlds.simulated import SimulatedWorld
    from trinity_core.rollout import LoopSettings

    size = get_profile(profile)
    asked = [q for family in COLUMNS for q in load_heldout(family)[: min(PER_FAMILY, size.per_family)]]
    pool = load_pool("paper7", questions=[*load_questions(per_family=size.per_family), *asked])
    return SimulatedWorld(asked, pool, get_encoder(profile), LoopSettings(transcript="released"))


def heldout_pool(world: Any) -> Any:
    """A pool of the world's questions alone, with the same agents: what `coordination.measured` asks."""
    from suite.pools import load_pool

    return load_pool("paper7", questions=world.questions)


def families_of(world: Any) -> list[str]:
    """Each question's family, (n_q,)."""
    return [question.family for question in world.questions]


def alone(world: Any) -> dict[str, np.ndarray]:
    """Each agent alone, one answer a question: its exact chances, in the shape of rewards (1 seed, n_q, 1 rollout)."""
    chances = [[world.pool.probability(a, q) for q in world.questions] for a in range(world.n_agents)]
    return {agent.name: np.array(row)[None, :, None] for agent, row in zip(world.pool.agents, chances, strict=True)}


def scores(systems: Mapping[str, np.ndarray], families: Sequence[str]) -> pd.DataFrame:
    """Percent and 95 % interval of each system, rewards (seeds, n_q, R): one row a system and column of Table 1.

    `column` is a family or `AVERAGE` (families weigh alike).
    """
    return _rows({name: {**by_family(r, families), AVERAGE: mean_interval(r, families)} for name, r in systems.items()})


def leads(ours: np.ndarray, others: Mapping[str, np.ndarray], families: Sequence[str]) -> pd.DataFrame:
    """Points by which `ours` (seeds, n_q, R) is ahead of each other system, paired by question, as `scores`."""
    found: dict[str, dict[str, Any]] = {}
    for name, theirs in others.items():
        found[name] = {}
        for family in dict.fromkeys(families):
            mine = np.array([f == family for f in families])
            found[name][family] = paired_difference(ours[:, mine], theirs[:, mine], [family] * int(mine.sum()))
        found[name][AVERAGE] = paired_difference(ours, theirs, families)
    return _rows(found)


def published_table() -> pd.DataFrame:
    """Table 1 in percent, one row a system: the families' columns and `AVERAGE`, recomputed from the cells, `printed`,
    and `mt_bench` in its own unit (1 to 10)."""
    from suite.published import published

    table = published("table1_zero_shot").set_index("model").rename_axis("system")
    found = table.rename(columns={column: family for family, column in COLUMNS.items()})
    found[AVERAGE] = found[list(COLUMNS)].mean(axis=1)
    return found.rename(columns={"average_printed": "printed"})[[*COLUMNS, AVERAGE, "printed", "mt_bench"]]


def behaviour(plays: Any, families: Sequence[str], agents: Sequence[str]) -> pd.DataFrame:
    """One row a family: the agents' shares of the turns and the roles', in percent, and the mean number of turns.

    `plays` as of `evaluation.play_all`.
    """
    import pandas as pd

    from trinity_core.types import ROLES

    names = np.asarray(families)[plays.questions]
    rows = {}
    for family in dict.fromkeys(families):
        agent, role = plays.agents[names == family], plays.roles[names == family]
        acted = agent >= 0
        shares = np.bincount(agent[acted], minlength=len(agents)) / acted.sum()
        roles = np.bincount(role[acted], minlength=len(ROLES)) / acted.sum()
        rows[family] = {
            **dict(zip(agents, 100 * shares, strict=True)),
            **dict(zip(ROLES, 100 * roles, strict=True)),
            "turns": plays.turns[names == family].mean(),
        }
    return pd.DataFrame(rows).T.rename_axis("family")


def _rows(found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            {"system": name, "column": column, **{key: 100 * part for key, part in estimate._asdict().items()}}
            for name, columns in found.items()
            for column, estimate in columns.items()
        ]
    )
