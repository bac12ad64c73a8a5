"""The pool's interface, and one event loop for all calls.

`ask(agent, messages, replicate)` is one LLM call; `replicate` makes repeated identical calls different draws, and the
same draw on a rerun. A call that fails for good is a `Message` with `finish="error"`, never an exception; only
`BudgetExceeded` and wrong use of the pool raise. All calls of a process run on one event loop in a thread of its own:
a plain script, a thread and a notebook's cell (whose own loop is running already) all ask the same way, and the limit
on concurrent calls holds across them.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from trinity_core.types import Message

T = TypeVar("T")


class PoolError(ValueError):
    """A pool's configuration or use is wrong; the message names the thing, its value and the remedy."""


class BudgetExceeded(RuntimeError):
    """The next call would pass the budget. Nothing was sent; answers so far are on disk, so a rerun goes on there."""


@dataclass(frozen=True)
class Agent:
    """One agent: `model` as its kind understands it, the call's `parameters` (temperature, max_tokens, ...), and the
    `price` in dollars a token, (input, output); None: litellm's price list decides, or the cost is unknown."""

    name: str
    model: str
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    description: str = ""
    price: tuple[float, float] | None = None


class Pool(Protocol):
    """L agents in a fixed order (the order of the head's agent logits)."""

    agents: tuple[Agent, ...]

    async def ask(self, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
        """The reply of agent number `agent` to chat messages ({"role", "content"})."""
        ...


def check_agent(pool: Pool, agent: int) -> Agent:
    """The agent of that number; PoolError names a number that the pool does not have."""
    if not 0 <= agent < len(pool.agents):
        raise PoolError(f"no agent {agent}: the pool has the agents 0 to {len(pool.agents) - 1}")
    return pool.agents[agent]


_loops: dict[int, asyncio.AbstractEventLoop] = {}  # of a process: a forked child has no thread for its parent's
_lock = threading.Lock()


def pool_loop() -> asyncio.AbstractEventLoop:
    """The event loop that all calls of this process run on, in a daemon thread; made at the first call."""
    with _lock:
        if os.getpid() not in _loops:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="trinity-pool", daemon=True).start()
        return _loops[os.getpid()]


async def on_pool_loop(call: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs on the pool's loop, from any loop; cancelling here cancels it there."""
    if asyncio.get_running_loop() is pool_loop():
        return await call
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, pool_loop()))


def ask_sync(pool: Pool, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
    """`pool.ask` for code that is not async: in a script, a thread, or a notebook cell whose loop is running."""
    if asyncio._get_running_loop() is pool_loop():
        raise RuntimeError("ask_sync would wait for itself here: inside a pool's own calls use `await pool.ask(...)`")
    future = asyncio.run_coroutine_threadsafe(pool.ask(agent, messages, replicate), pool_loop())
    try:
        return future.result()
    except BaseException:  # also KeyboardInterrupt: the call must not go on behind a stopped cell
        future.cancel()
        raise
