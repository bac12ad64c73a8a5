"""The budget of a run in calls and dollars, and the estimate that is shown before anything is spent.

The cap is hard: before a request is sent, the most that it can cost is set aside, and it is sent only where everything
spent and set aside stays within the budget. Where it does not fit, the call waits for those in work to come back (most
cost far less than was set aside); `BudgetExceeded` is raised only when none is left, so that all that was paid for is
on disk by then, and a rerun with a new budget goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from suite.pools.config import number
from trinity_core.pool import BudgetExceeded


@dataclass
class Charge:
    """What one request is charged in dollars; the most that it can cost until the reply says otherwise."""

    dollars: float | None


class Budget:
    """`max_calls` requests (a retry is one more) and `max_dollars`; None: no limit. One object may serve many pools.

    `calls` and `dollars` are what was spent; `unpriced` counts requests whose cost is unknown (possible only without
    `max_dollars`: with it, every agent needs a price and `max_tokens`).
    """

    def __init__(self, max_calls: int | None = None, max_dollars: float | None = None) -> None:
        self.max_calls = None if max_calls is None else number(max_calls, "budget: max_calls", whole=True)
        self.max_dollars = None if max_dollars is None else number(max_dollars, "budget: max_dollars")
        self.calls, self.dollars, self.unpriced = 0, 0.0, 0
        self._set_aside, self._in_work = 0.0, 0
        self._changed = asyncio.Condition()

    def _missing(self, most: float) -> str | None:
        """Why a request of at most `most` dollars does not fit now; None: it does."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"{self.calls} of {self.max_calls} calls are spent"
        if self.max_dollars is not None and self.dollars + self._set_aside + most > self.max_dollars:
            return f"{self.dollars:.4f} of {self.max_dollars:g} dollars are spent and the next call may cost {most:.4f}"
        return None

    @asynccontextmanager
    async def request(self, most: float | None) -> AsyncIterator[Charge]:
        """One request that costs at most `most` dollars (None: unknown). Sets it aside, then books what is charged."""
        async with self._changed:
            while reason := self._missing(most or 0.0):
                if not self._in_work:
                    raise BudgetExceeded(
                        f"the budget is used up: {reason}. Nothing more was sent. The answers so far are kept: raise "
                        "the budget and run again, and it goes on from here"
                    )
                await self._changed.wait()
            self.calls += 1
            self._in_work += 1
            self._set_aside += most or 0.0
        charge = Charge(most)
        try:
            yield charge
        finally:
            self._in_work -= 1
            self._set_aside -= most or 0.0
            self.dollars += charge.dollars or 0.0
            self.unpriced += charge.dollars is None
            await asyncio.shield(self._tell())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@dataclass(frozen=True)
class Estimate:
    """Dollars for `calls` calls: all to the cheapest agent, spread evenly, all to the dearest; None: unknown."""

    calls: int
    tokens_in: int
    tokens_out: int
    low: float | None
    even: float | None
    high: float | None
    unpriced: tuple[str, ...]

    def __str__(self) -> str:
        what = f"{self.calls} calls of {self.tokens_in} tokens in and {self.tokens_out} out"
        if self.even is None:
            return f"{what}: cost unknown, no price for {', '.join(self.unpriced)}"
        return f"{what}: about ${self.even:.2f} spread evenly (${self.low:.2f} to ${self.high:.2f} by agent)"


def estimate_from_prices(
    prices: dict[str, tuple[float, float] | None], calls: int, tokens_in: int, tokens_out: int
) -> Estimate:
    """The estimate from each agent's dollars a token (input, output); answers on disk are not taken off."""
    unpriced = tuple(name for name, price in prices.items() if price is None)
    if unpriced:
        return Estimate(calls, tokens_in, tokens_out, None, None, None, unpriced)
    costs = [calls * (price[0] * tokens_in + price[1] * tokens_out) for price in prices.values() if price is not None]
    return Estimate(calls, tokens_in, tokens_out, min(costs), sum(costs) / len(costs), max(costs), ())
