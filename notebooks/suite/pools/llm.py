"""Agents of any provider, through litellm: what it takes to spend money on calls and trust what comes back.

litellm translates between providers. Around it stand here: one timeout a call, bounded retries that honour Retry-After
(litellm's own multiply with its client's, so both are off), a limit on concurrent calls per provider, the answers on
disk (`cache`), the budget (`budget`), and a reading of the reply that never turns what is missing into a value:
- content null is an empty text, never "None"; a reply cut or withheld has `finish="length"`;
- no choices is a failed call, tried again like a server's error;
- without usage, tokens and cost are unknown (litellm fills in 0); so is the cost of a model without a price.
Keys come from the environment, by each provider's own name for it, and are taken out of every error text. Models
`simulated/NAME` and `slm/NAME` answer on this machine, as their own pools do.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tenacity
from pydantic import Field

from suite.pools import providers, slm
from suite.pools.budget import Budget, Charge
from suite.pools.cache import AnswerCache, answer_key, to_its_end
from suite.pools.config import AgentsFile, Messages, Strict, checked, read_config
from suite.pools.prompts import failed
from suite.pools.simulated import SimulatedPool
from trinity_core.pool import Agent, BudgetExceeded, Pool, PoolError, check_agent, on_pool_loop
from trinity_core.types import Message, Question

# What the pool sets itself: given as an agent's parameter it would undo a promise of this module.
OURS = frozenset(
    {"model", "messages", "stream", "n", "timeout", "request_timeout", "max_retries", "num_retries", "retry_policy"}
    | {"fallbacks", "cache", "caching", "mock_response", "metadata"}
)
GRACE = 5.0  # seconds after the timeout, for the client to end the call itself
LOCAL = ("simulated", "slm")  # providers that answer on this machine: never retried, free for the budget


class CallSettings(Strict):
    """How calls are made: `timeout` in seconds, `retries` after the first request, and the most requests at once to a
    provider, {provider: number, "default": number}."""

    timeout: Annotated[float, Field(ge=0.01)] = 120.0
    retries: Annotated[int, Field(ge=0)] = 4
    concurrency: dict[str, Annotated[int, Field(ge=1)]] = {"default": 8}


class LiteLLMFile(AgentsFile):
    """A file of kind `litellm`; `simulated` names the pool that answers models `simulated/NAME`."""

    settings: CallSettings = CallSettings()
    simulated: str | None = None


def provider_of(agent: Agent) -> str:
    """The first part of `provider/model`; a bare model name is OpenAI's, as in litellm."""
    return agent.model.split("/")[0] if "/" in agent.model else "openai"


class LiteLLMPool:
    """The agents of a file's mapping, see the module. `questions`: what its simulated agents will be asked; `cache`:
    another folder for the answers."""

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        questions: Sequence[Question] | None = None,
        budget: Budget | None = None,
        cache: str | Path | None = None,
    ) -> None:
        file = checked(LiteLLMFile, config, "the file")
        self.agents, self.settings = tuple(entry.agent() for entry in file.agents), file.settings
        self.budget, self.cache = budget or Budget(), AnswerCache(cache)
        self.sleep: Callable[[float], Any] = asyncio.sleep
        self.simulated: Pool | None = None
        if file.simulated is not None:
            own = {key: value for key, value in read_config(file.simulated).items() if key != "kind"}
            self.simulated = SimulatedPool(own, questions)
        limits, asked = self.settings.concurrency, {provider_of(agent) for agent in self.agents}
        self._slots = {name: asyncio.Semaphore(limits.get(name, limits.get("default", 8))) for name in asked}
        names = [f"simulated/{agent.name}" for agent in self.simulated.agents] if self.simulated else []
        for agent in self.agents:
            if ours := sorted(OURS & agent.parameters.keys()):
                raise PoolError(f"agent {agent.name}: parameter {ours[0]!r} is the pool's own; see `settings`")
            if provider_of(agent) == "simulated" and agent.model not in names:
                choices = f"one of {', '.join(names)}" if names else "a pool of such agents by the key `simulated`"
                raise PoolError(f"agent {agent.name}: no {agent.model!r}; choose {choices}")
            self.most_dollars(agent, [])

    async def ask(self, agent: int, messages: Messages, replicate: int) -> Message:
        """The agent's reply, from disk where it was asked before; raises only BudgetExceeded and PoolError."""
        return await on_pool_loop(self._ask(check_agent(self, agent), messages, replicate))

    async def _ask(self, agent: Agent, messages: Messages, replicate: int) -> Message:
        provider, _, model = agent.model.partition("/")
        if provider == "slm":
            return await slm.answer(model, messages, agent.parameters, replicate, self.cache)
        if provider == "simulated":
            number = [one.name for one in self.simulated.agents].index(model)
            return await self.simulated.ask(number, messages, replicate)
        key = answer_key(agent.model, messages, agent.parameters, replicate)
        return await self.cache.fetch(key, lambda: self._call(agent, messages, key))

    async def _call(self, agent: Agent, messages: Messages, key: str) -> Message:
        """One call with its retries; a failure for good becomes a Message."""
        self._check_key(agent)
        jitter = random.Random(key)
        attempts = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self.settings.retries + 1),
            retry=tenacity.retry_if_exception(providers.worth_another),
            wait=lambda state: providers.pause(state, jitter),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            return await attempts(self._request, agent, messages, key)
        except (BudgetExceeded, PoolError):
            raise
        except Exception as error:  # litellm and the clients below it raise dozens of types; all are a failed call
            return failed(providers.describe(error, self.settings.timeout))

    async def _request(self, agent: Agent, messages: Messages, key: str) -> Message:
        """One request in its turn, charged to the budget."""
        most = self.most_dollars(agent, messages)
        async with self._slots[provider_of(agent)], self.budget.request(most) as charge:
            return await to_its_end(self._send(agent, messages, key, charge))

    async def _send(self, agent: Agent, messages: Messages, key: str, charge: Charge) -> Message:
        """What is sent, and what comes back; a good answer is on disk before its charge is settled."""
        litellm, timeout = providers.load_litellm(), self.settings.timeout
        arguments = dict(agent.parameters)
        if provider_of(agent) in litellm.openai_compatible_providers:
            # Without this, litellm drops `max_retries=0` for a third of them, and their client sends 3 requests for 1.
            arguments["allowed_openai_params"] = [*arguments.get("allowed_openai_params", ()), "max_retries"]
        try:
            call = litellm.acompletion(agent.model, messages, timeout=timeout, max_retries=0, **arguments)
            # The client's own timeout restarts with every byte; this bound does not.
            reply = await asyncio.wait_for(call, timeout + GRACE)
        except Exception as error:
            if providers.reply_headers(error):  # the server itself said no: nothing is billed
                charge.dollars = 0.0
            raise
        message = providers.read_reply(reply, self.price(agent))
        charge.dollars = charge.dollars if message.cost is None else message.cost
        if message.finish == "error":
            raise providers.EmptyReply("the reply has no choices")
        self.cache.put(key, message, model=agent.model, served=reply.model)
        return message

    def _check_key(self, agent: Agent) -> None:
        """PoolError where the provider's key is not in the environment: no call of this agent could succeed."""
        found = providers.load_litellm().validate_environment(agent.model)
        if not found["keys_in_environment"] and found["missing_keys"]:
            raise PoolError(
                f"agent {agent.name}: {agent.model} needs {' or '.join(found['missing_keys'])} in the environment "
                "(any value, where a server of your own asks for none)"
            )

    def price(self, agent: Agent) -> tuple[float, float] | None:
        """Dollars a token (input, output): the file's, else the price list's; None where neither knows. A listed price
        of 0 counts as unknown: litellm calls models free that its list lacks."""
        if agent.price is not None:
            return agent.price
        row = self._row(agent)
        price = row.get("input_cost_per_token"), row.get("output_cost_per_token")
        return price if all(isinstance(side, (int, float)) for side in price) and any(price) else None

    def _row(self, agent: Agent) -> dict[str, Any]:
        table = providers.load_litellm().model_cost
        names = [agent.model, agent.model.partition("/")[2]] if provider_of(agent) in ("openai", "anthropic") else []
        return next((table[name] for name in (*names, agent.model) if name in table), {})

    def most_dollars(self, agent: Agent, messages: Messages) -> float | None:
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
        caps = ("max_completion_tokens", "max_tokens")
        output = next(filter(None, map(agent.parameters.get, caps)), self._row(agent).get("max_output_tokens"))
        if not isinstance(output, int):
            raise PoolError(f"a dollar cap needs `max_tokens` among the parameters of {agent.name} ({agent.model})")
        size = sum(len(str(message["content"]).encode()) + 16 for message in messages)
        return price[0] * size + price[1] * output

    def estimate(self, calls: int, tokens_in: int = 600, tokens_out: int = 400) -> str:
        """What `calls` calls would cost, in words; print it before a run. Answers on disk are not taken off."""
        prices = {agent.name: self.price(agent) for agent in self.agents}
        what = f"{calls} calls of {tokens_in} tokens in and {tokens_out} out"
        if unknown := [name for name, price in prices.items() if price is None]:
            return f"{what}: cost unknown, no price for {', '.join(unknown)}"
        costs = np.array(list(prices.values())) @ [tokens_in, tokens_out] * calls
        return f"{what}: about ${costs.mean():.2f} spread evenly (${costs.min():.2f} to ${costs.max():.2f} by agent)"
