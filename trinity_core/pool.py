"""The pool's interface, and one event loop for all calls.

A pool is L agents; `ask(agent, messages, replicate)` is one LLM call. `replicate` is one integer that makes repeated
identical calls different draws, and the same draw on a rerun. A call that fails for good is a `Message` with
`finish="error"`, never an exception; only `BudgetExceeded` and wrong use of the pool raise.

All calls of a process run on one event loop in a thread of its own. So a plain script, a thread and a notebook's cell
(whose own loop is running already) all ask the same way, the limit on concurrent calls holds across them, and no
connection outlives the loop it belongs to.
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
    """One agent: `model` as its kind understands it, and the call's `parameters` (temperature, max_tokens, ...).

    Two agents may be one model with other parameters (a reasoning and a direct one). `price` is dollars a token,
    (input, output); None: the price list of litellm decides, and the cost is unknown where that has no entry.
    """

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


_loop: tuple[int, asyncio.AbstractEventLoop] | None = None
_loop_lock = threading.Lock()


def pool_loop() -> asyncio.AbstractEventLoop:
    """The event loop that all calls of this process run on, in a daemon thread; made at the first call."""
    global _loop
    with _loop_lock:
        if _loop is None or _loop[0] != os.getpid():  # a forked child has no thread that would run its parent's loop
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="trinity-pool", daemon=True).start()
            _loop = (os.getpid(), loop)
        return _loop[1]


async def on_pool_loop(call: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs on the pool's loop, from any loop; cancelling here cancels it there."""
    if asyncio.get_running_loop() is pool_loop():
        return await call
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, pool_loop()))


def ask_sync(pool: Pool, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
    """`pool.ask` for code that is not async: in a script, a thread, or a notebook cell whose loop is running."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is pool_loop():
        raise RuntimeError("ask_sync would wait for itself here: inside a pool's own calls use `await pool.ask(...)`")
    future = asyncio.run_coroutine_threadsafe(pool.ask(agent, messages, replicate), pool_loop())
    try:
        return future.result()
    except BaseException:  # also KeyboardInterrupt: the call must not go on behind a stopped cell
        future.cancel()
        raise
