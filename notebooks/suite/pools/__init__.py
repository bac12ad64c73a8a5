"""Who answers: the pool of L agents behind one call, `await pool.ask(agent, messages, replicate) -> Message`.

`load_pool("paper7")` reads `data/pools/paper7.yaml`; its `kind` names who answers: `simulated`, `slm` (a real local
language model), `litellm` (any provider) or `recorded`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suite.pools import llm, recorded, simulated, slm
from suite.pools.config import find_config, read_config
from trinity_core.pool import Pool, PoolError

# Each takes the file's mapping, `kind` taken out, and settings; it returns the pool.
KINDS = {"simulated": simulated.build, "slm": slm.build, "litellm": llm.build, "recorded": recorded.build}


def load_pool(name_or_path: str | Path, **settings: Any) -> Pool:
    """The pool of a file: `data/pools/<name>.yaml`, or any path to a .yaml file.

    `settings` go to the pool's kind (`questions=` for the simulated pool, `budget=`, `cache=` for litellm, `data=` and
    `says=` for recorded answers ...).
    PoolError names what is wrong with the file or a setting.
    """
    config = read_config(find_config(name_or_path))
    kind = config.pop("kind", None)
    if kind not in KINDS:
        raise PoolError(f"{name_or_path}: unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    try:
        return KINDS[kind](config, **settings)
    except PoolError as error:
        raise PoolError(f"{name_or_path}: {error}") from None
