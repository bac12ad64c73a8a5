"""Who answers: the pool of L agents behind one call, `await pool.ask(agent, messages, replicate) -> Message`.

`load_pool("paper7")` reads `data/pools/paper7.yaml`; its `kind` names who answers: `simulated`, `slm` (a real local
language model), `litellm` (any provider) or `recorded`.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from suite.pools import llm, recorded, simulated, slm
from suite.pools.config import read_config
from trinity_core.pool import Pool, PoolError

# Each takes the file's mapping, `kind` taken out, and settings by keyword; it returns the pool.
KINDS = {"simulated": simulated.SimulatedPool, "slm": slm.build, "litellm": llm.build, "recorded": recorded.build}


def load_pool(name_or_path: str | Path, **settings: Any) -> Pool:
    """The pool of a file: `data/pools/<name>.yaml`, or any path to a .yaml file.

    `settings` go to the pool's kind (`questions=` for the simulated pool, `budget=`, `cache=` for litellm, `data=` and
    `says=` for recorded answers ...). `questions=` may be given to every kind: those that do not need it pass over it.
    PoolError names what is wrong with the file or a setting.
    """
    config = read_config(name_or_path)
    kind = config.pop("kind", None)
    if kind not in KINDS:
        raise PoolError(f"{name_or_path}: unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    build = KINDS[kind]
    known = list(signature(build).parameters)[1:]
    if "questions" not in known:
        settings.pop("questions", None)
    if unknown := [name for name in settings if name not in known]:
        raise PoolError(f"load_pool: unknown setting {unknown[0]!r} of a {kind} pool; known: {', '.join(known)}")
    try:
        return build(config, **settings)
    except PoolError as error:
        raise PoolError(f"{name_or_path}: {error}") from None


def pool_kind(name_or_path: str | Path) -> str:
    """The kind that a pool's file names (a key of `KINDS`, where it names a right one); nothing of it is built."""
    return str(read_config(name_or_path).get("kind"))
