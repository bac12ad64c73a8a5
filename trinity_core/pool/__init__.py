"""Who answers: the pool of L agents behind one call, `await pool.ask(agent, messages, replicate) -> Message`.

`load_pool("paper7")` reads `data/pools/paper7.yaml`; its `kind` names the module that answers: `simulated`, `slm` (a
real local language model), `litellm` (any provider) or `recorded`. Nothing heavy is imported here.
"""

from trinity_core.pool.base import Agent, BudgetExceeded, Pool, PoolError, ask_sync, load_pool, pool_kind

__all__ = ["Agent", "BudgetExceeded", "Pool", "PoolError", "ask_sync", "load_pool", "pool_kind"]
