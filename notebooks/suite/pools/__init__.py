"""Who answers: the pool of L agents behind one call, `await pool.ask(agent, messages, replicate) -> Message`.

`load_pool("paper7")` reads `data/pools/paper7.yaml`; its `kind` names who answers: `simulated`, `slm` (a real local
language model), `litellm` (any provider) or `recorded`.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from suite.pools import recorded
from suite.pools.config import read_config
from suite.pools.llm import LiteLLMPool
from suite.pools.simulated import SimulatedPool
from suite.pools.slm import SlmPool
from trinity_core.pool import Pool, PoolError

# Each takes the file's mapping, `kind` taken out, and settings by keyword; it returns the pool.
KINDS = {"simulated": SimulatedPool, "slm": SlmPool, "litellm": LiteLLMPool, "recorded": recorded.build}


def load_pool(name_or_path: str | Path, **settings: Any) -> Pool:
    """The pool of a file: `data/pools/<name>.yaml`, or any path to a .yaml file. PoolError names what is wrong in it.

    `settings` go to the pool's kind (`questions=` and `seed=` for the simulated pool, `budget=`, `cache=` for litellm,
    `data=` and `says=` for recorded answers ...); a kind that does not need `questions=` passes over it.
    """
    config = read_config(name_or_path)
    kind = config.pop("kind", None)
    if kind not in KINDS:
        raise PoolError(f"{name_or_path}: unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    if "questions" not in signature(KINDS[kind]).parameters:
        settings.pop("questions", None)
    try:
        return KINDS[kind](config, **settings)
    except ValueError as error:
        raise PoolError(f"{name_or_path}: {error}") from None


def pool_kind(name_or_path: str | Path) -> str:
    """The kind that a pool's file names (a key of `KINDS`, where it names a right one); nothing of it is built."""
    return str(read_config(name_or_path).get("kind"))
