"""Agents of any provider, through litellm: what it takes to spend money on calls and trust what comes back.

litellm translates between providers. Around it stand here: one timeout a call, bounded retries that honour Retry-After
(litellm's own multiply with its client's, so both are off), a limit on concurrent calls per provider, the answers on
disk (`cache`), the budget (`budget`), and a reading of the reply that never turns what is missing into a value:
- content null is an empty text, never "None"; a reply cut or withheld has `finish="length"`;
- no choices is a failed call, tried again like a server's error;
- a reply without usage has tokens None (litellm fills in 0), and its cost is unknown;
- a model without a price has cost None (litellm's functions raise, or call it free), unless the file gives one.
A failed call is a `Message` with `finish="error"`. Keys come from the environment, by each provider's own name for it,
and are taken out of every error text.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.pools import provider as providers
from suite.pools import simulated as simulated_pool
from suite.pools.budget import Budget, Estimate, estimate_from_prices
from suite.pools.cache import AnswerCache, Flight, answer_key
from suite.pools.config import check_keys, find_config, number, read_agents, read_config
from suite.pools.provider import load_litellm
from suite.pools.replies import EmptyReply, describe, pause, read_reply, reply_headers, worth_another
from trinity_core.pool import Agent, BudgetExceeded, Pool, PoolError, check_agent, on_pool_loop
from trinity_core.types import Message

# What the pool sets itself: given as an agent's parameter it would undo a promise of this module.
OURS = frozenset(
    {"model", "messages", "stream", "n", "timeout", "request_timeout", "max_retries", "num_retries", "retry_policy"}
    | {"fallbacks", "cache", "caching", "mock_response", "metadata", "trinity"}
)
GRACE = 5.0  # seconds after the timeout, for the client to end the call itself
LOCAL = ("simulated", "slm")  # providers that answer on this machine (see provider.py): free, never retried


def build(config: dict[str, Any], *, questions: Any = None, **settings: Any) -> LiteLLMPool:
    """The pool of a configuration file of kind `litellm`.

    The file's `settings` (timeout in seconds, retries, concurrency) may be overridden by keyword; `budget` and `cache`
    (a folder) come by keyword only. `simulated` names the pool that answers models `simulated/NAME` from `questions`.
    """
    check_keys(config, "the file", known=("description", "settings", "simulated", "agents"), required=("agents",))
    from_file = config.get("settings") or {}
    check_keys(from_file, "settings", known=("timeout", "retries", "concurrency"))
    known = ("timeout", "retries", "concurrency", "budget", "cache")
    check_keys(settings, "load_pool", known=(*known, "questions"))
    agents = read_agents(config["agents"])
    simulated = None
    if any(provider_of(agent) == "simulated" for agent in agents):
        if "simulated" not in config:
            raise PoolError("agents `simulated/NAME` need a key `simulated` with the name of the simulated pool's file")
        simulated = _simulated(config["simulated"], questions)
        names = [agent.name for agent in simulated.agents]
        for agent in agents:
            if provider_of(agent) == "simulated" and agent.model.partition("/")[2] not in names:
                raise PoolError(
                    f"agent {agent.name}: no {agent.model!r}; choose simulated/ with one of {', '.join(names)}"
                )
    return LiteLLMPool(agents, simulated=simulated, **(from_file | settings))


def _simulated(name: str, questions: Any) -> Pool:
    config = read_config(find_config(name))
    if config.pop("kind", None) != "simulated":
        raise PoolError(f"`simulated` names {name!r}, which is no pool of kind simulated")
    return simulated_pool.build(config, questions=questions)


def provider_of(agent: Agent) -> str:
    """The first part of `provider/model`; a bare model name is OpenAI's, as in litellm."""
    return agent.model.split("/")[0] if "/" in agent.model else "openai"


class LiteLLMPool:
    """Agents behind litellm; see the module. `counts` says what was asked: requests, cached, failed, tokens.

    `concurrency` is the most requests at once to one provider: a number, or {provider: number, "default": number}.
    """

    def __init__(
        self,
        agents: tuple[Agent, ...],
        *,
        timeout: float = 120.0,
        retries: int = 4,
        concurrency: int | dict[str, int] = 8,
        budget: Budget | None = None,
        cache: str | Path | None = None,
        simulated: Pool | None = None,
    ) -> None:
        self.agents = agents
        self.timeout = number(timeout, "timeout (seconds)", least=0.01)
        self.retries = number(retries, "retries", whole=True)
        limits = concurrency if isinstance(concurrency, dict) else {"default": concurrency}
        for name, limit in limits.items():
            number(limit, f"concurrency of {name}", least=1, whole=True)
        self._slots = {
            provider: asyncio.Semaphore(limits.get(provider, limits.get("default", 8)))
            for provider in {provider_of(agent) for agent in agents}
        }
        for agent in agents:
            for name in agent.parameters:
                if name in OURS:
                    raise PoolError(f"agent {agent.name}: parameter {name!r} is the pool's own; see `settings`")
        self.budget = budget or Budget()
        self.cache = AnswerCache.at(cache)
        self.counts: Counter[str] = Counter()
        self.sleep: Callable[[float], Any] = asyncio.sleep
        self._simulated = simulated
        self._sources: dict[str, int] = {}
        self._checked: set[str] = set()
        if self.budget.max_dollars is not None:
            for agent in agents:
                self.most_dollars(agent, [])

    async def ask(self, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
        """The agent's reply, from disk where it was asked before; raises only BudgetExceeded and PoolError."""
        return await on_pool_loop(self._ask(check_agent(self, agent), messages, replicate))

    async def _ask(self, agent: Agent, messages: list[dict[str, str]], replicate: int) -> Message:
        if provider_of(agent) in LOCAL:
            message = await self._call(agent, messages, replicate, None, Flight())
        else:
            key = answer_key(agent.model, messages, agent.parameters, replicate)
            message = await self.cache.fetch(key, lambda flight: self._call(agent, messages, replicate, key, flight))
        self.counts.update(
            cached=message.cached,
            failed=message.finish == "error",
            tokens_in=message.tokens_in or 0,
            tokens_out=message.tokens_out or 0,
        )
        return message

    async def _call(
        self, agent: Agent, messages: list[dict[str, str]], replicate: int, key: str | None, flight: Flight
    ) -> Message:
        """One call with its retries; a failure for good becomes a Message."""
        import tenacity

        self.check_keys_of(agent)
        jitter = random.Random(f"{key} {replicate}")
        attempts = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(1 if key is None else self.retries + 1),
            retry=tenacity.retry_if_exception(lambda error: flight.waiters > 0 and worth_another(error)),
            wait=lambda state: pause(state, jitter),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._request(agent, messages, replicate, key, flight)
        except (BudgetExceeded, PoolError):
            raise
        except Exception as error:  # litellm and the clients below it raise dozens of types; all are a failed call
            return Message("", None, None, None, "error", error=describe(error, self.timeout))
        raise AssertionError("the loop above returns or raises")

    async def _request(
        self, agent: Agent, messages: list[dict[str, str]], replicate: int, key: str | None, flight: Flight
    ) -> Message:
        """One request, charged to the budget; a good answer is on disk before its charge is settled."""
        litellm = load_litellm()
        arguments = dict(agent.parameters)
        if provider_of(agent) in litellm.openai_compatible_providers:
            # Without this, litellm drops `max_retries=0` for a third of them, and their client sends 3 requests for 1.
            arguments["allowed_openai_params"] = [*arguments.get("allowed_openai_params", ()), "max_retries"]
        if key is None:
            arguments["trinity"] = {"source": self._source(provider_of(agent)), "replicate": replicate}
        async with self._slots[provider_of(agent)]:
            if key is None:
                reply = await litellm.acompletion(model=agent.model, messages=messages, **arguments)
                message = read_reply(reply, agent.price)
                return message if agent.price else replace(message, cost=reply._hidden_params["trinity_cost"])
            async with self.budget.request(self.most_dollars(agent, messages)) as charge:
                self.counts["requests"] += 1
                flight.sent = True
                try:
                    call = litellm.acompletion(
                        model=agent.model, messages=messages, timeout=self.timeout, max_retries=0, **arguments
                    )
                    # The client's own timeout restarts with every byte; this bound does not.
                    reply = await asyncio.wait_for(call, self.timeout + GRACE)
                except Exception as error:
                    if reply_headers(error):  # the server itself said no: nothing is billed
                        charge.dollars = 0.0
                    raise
                finally:
                    flight.sent = False
                message = read_reply(reply, self.price(agent))
                if message.cost is not None:
                    charge.dollars = message.cost
                if message.finish == "error":
                    raise EmptyReply("the reply has no choices")
                self.cache.put(key, message, model=agent.model, served=reply.model)
                return message

    def _source(self, provider: str) -> int:
        """The number under which provider.py knows what answers for this pool."""
        if provider not in self._sources:
            if provider == "slm":
                from suite.pools.slm import answer
            else:
                answer = providers.by_agent_name(self._simulated)
            self._sources[provider] = providers.register(provider, answer)
        return self._sources[provider]

    def check_keys_of(self, agent: Agent) -> None:
        """PoolError where the provider's key is not in the environment: no call of this agent could succeed."""
        if agent.name in self._checked or provider_of(agent) in LOCAL:
            return
        found = load_litellm().validate_environment(agent.model)
        if not found["keys_in_environment"] and found["missing_keys"]:
            raise PoolError(
                f"agent {agent.name}: {agent.model} needs {' or '.join(found['missing_keys'])} in the environment "
                "(any value, where a server of your own asks for none)"
            )
        self._checked.add(agent.name)

    def price(self, agent: Agent) -> tuple[float, float] | None:
        """Dollars a token (input, output): the file's, else the price list's; None where neither knows.

        litellm's own functions call some models free that the list lacks, so its rows are read here, and a row of zeros
        counts as unknown; a free model gets `price_per_million: {input: 0, output: 0}` in the file.
        """
        if agent.price is not None:
            return agent.price
        row = self._row(agent)
        price = row.get("input_cost_per_token"), row.get("output_cost_per_token")
        return price if all(isinstance(side, (int, float)) for side in price) and any(price) else None

    def _row(self, agent: Agent) -> dict[str, Any]:
        table = load_litellm().model_cost
        names = [agent.model, agent.model.partition("/")[2]] if provider_of(agent) in ("openai", "anthropic") else []
        return next((table[name] for name in (*names, agent.model) if name in table), {})

    def most_dollars(self, agent: Agent, messages: list[dict[str, str]]) -> float | None:
        """The most that one request can cost: a token holds at least one byte of the prompt, `max_tokens` bounds the
        output. None without a dollar cap; with one, PoolError where price or output are unbounded."""
        if self.budget.max_dollars is None:
            return None
        if provider_of(agent) in LOCAL:
            return 0.0
        price = self.price(agent)
        if price is None:
            raise PoolError(
                f"a dollar cap needs every agent's price, and that of {agent.name} ({agent.model}) is unknown: give "
                "`price_per_million: {input: ..., output: ...}` in the pool's file, or cap the calls instead"
            )
        given = agent.parameters
        output = (
            given.get("max_completion_tokens") or given.get("max_tokens") or self._row(agent).get("max_output_tokens")
        )
        if not isinstance(output, int):
            raise PoolError(f"a dollar cap needs `max_tokens` among the parameters of {agent.name} ({agent.model})")
        size = sum(len(str(message["content"]).encode()) + 16 for message in messages)
        return price[0] * size + price[1] * output

    def estimate(self, calls: int, tokens_in: int = 600, tokens_out: int = 400) -> Estimate:
        """What `calls` calls would cost; print it before a run."""
        return estimate_from_prices(
            {agent.name: self.price(agent) for agent in self.agents}, calls, tokens_in, tokens_out
        )
