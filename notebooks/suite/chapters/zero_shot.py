"""Table 1: a coordinator trained on the four families, asked our stand-ins for AIME2025, BigCodeBench and GPQA-D.

The pool's abilities are solved per family and split, so its agents stay as they were on the four families; on the
held-out ones each agent alone has the score of its row in Table 1. MT-Bench is not played: a judge rates its replies,
and the simulated agents' replies are right or wrong, not better or worse.
"""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from suite.experiments import get_encoder
from suite.pools import load_pool
from suite.profiles import get_profile
from suite.published import TASK_NAMES, published
from suite.questions import load_heldout, load_questions
from suite.stats.scores import AVERAGE
from suite.worlds.simulated import SimulatedWorld
from trinity_core.rollout import LoopSettings

COLUMNS = {"aime": "aime2025", "bigcode": "bigcodebench", "gpqa": "gpqa_d"}  # family -> column of Table 1
NAMES = {family: TASK_NAMES[column] for family, column in COLUMNS.items()}
PER_FAMILY = 60  # as many as the smallest family has


@lru_cache(maxsize=1)
def heldout_world(profile: str) -> SimulatedWorld:
    """The world of the held-out families' first questions (`PER_FAMILY`, or the profile's own number). Its pool knows
    the profile's questions of the four families too: it is the one pool of training and of Table 1."""
    size = get_profile(profile)
    asked = [q for family in COLUMNS for q in load_heldout(family)[: min(PER_FAMILY, size.per_family)]]
    pool = load_pool("paper7", questions=[*load_questions(per_family=size.per_family), *asked])
    return SimulatedWorld(asked, pool, get_encoder(profile), LoopSettings(transcript="released"))


def published_table() -> pd.DataFrame:
    """Table 1 in percent, one row a system: the families' columns and the average, recomputed from the cells, the one
    `printed`, and `mt_bench` in its own unit (1 to 10)."""
    table = published("table1_zero_shot").set_index("model").rename_axis("system")
    found = table.rename(columns={column: family for family, column in COLUMNS.items()})
    found[AVERAGE] = found[list(COLUMNS)].mean(axis=1)
    return found.rename(columns={"average_printed": "printed"})[[*COLUMNS, AVERAGE, "printed", "mt_bench"]]
