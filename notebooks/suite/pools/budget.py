"""The budget of a run in calls and dollars.

The cap is hard: before a request is sent, the most that it can cost is set aside, and it is sent only where all that is
spent and set aside stays within the budget. One that does not fit waits for those in work to come back (most cost far
less than was set aside); `BudgetExceeded` is raised only when none is left: all that was paid for is then on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from trinity_core.pool import BudgetExceeded


@dataclass
class Charge:
    """What one request is charged in dollars; the most that it can cost until the reply says otherwise."""

    dollars: float | None


class Budget:
    """`max_calls` requests (a retry is one more) and `max_dollars`, which needs each agent's price and `max_tokens`;
    None: no limit. `calls` and `dollars` are what was spent. One object may serve many pools."""

    def __init__(self, max_calls: int | None = None, max_dollars: float | None = None) -> None:
        for name, most in (("max_calls", max_calls), ("max_dollars", max_dollars)):
            if most is not None and not most >= 0:
                raise ValueError(f"{name} is {most}; give 0 or more, or None for no limit")
        self.max_calls, self.max_dollars = max_calls, max_dollars
        self.calls, self.dollars = 0, 0.0
        self._set_aside, self._in_work = 0.0, 0
        self._back = asyncio.Event()

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
        while reason := self._missing(most or 0.0):
            if not self._in_work:
                raise BudgetExceeded(
                    f"the budget is used up: {reason}. Nothing more was sent. The answers so far are kept: raise the "
                    "budget and run again, and it goes on from here"
                )
            self._back.clear()
            await self._back.wait()
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
            self._back.set()
