"""A real local language model that answers: the packaged SmolLM2, or any model that `trinity_core.slm` finds.

Text is greedy (temperature 0, the default) or sampled by the Gumbel-max rule: argmax of logits/T + g, g ~ Gumbel(0, 1),
is a draw from softmax(logits/T). The draws are keyed by all that names the call, so a reply is a function of (weights,
messages, parameters, replicate) alone. Calls are made one after another in a thread of their own; answers are kept on
disk. torch and transformers, which take seconds to import, are loaded with the model.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from suite.pools.cache import AnswerCache, answer_key, to_its_end
from suite.pools.config import AgentsFile, Amount, Messages, Strict, checked
from trinity_core.pool import check_agent, on_pool_loop
from trinity_core.slm import find_model, load_tokenizer, quiet_transformers
from trinity_core.types import Message

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trinity-slm")


class Decoding(Strict):
    """The parameters that a local model takes."""

    temperature: Amount = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_tokens: Annotated[int, Field(ge=1)] = 96


class SlmPool:
    """The agents of a file's mapping, all local models. `cache`: another folder for the answers."""

    def __init__(self, config: Mapping[str, Any], *, cache: str | Path | None = None) -> None:
        self.agents = tuple(entry.agent() for entry in checked(AgentsFile, config, "the file").agents)
        self.cache = AnswerCache(cache)
        for agent in self.agents:
            checked(Decoding, agent.parameters, f"agent {agent.name}")

    async def ask(self, agent: int, messages: Messages, replicate: int) -> Message:
        """The agent's reply; a prompt that does not fit the model is a failed call."""
        chosen = check_agent(self, agent)
        return await on_pool_loop(answer(chosen.model, messages, chosen.parameters, replicate, self.cache))


async def answer(
    model: str, messages: Messages, parameters: dict[str, Any], replicate: int, cache: AnswerCache
) -> Message:
    """The model's reply, from disk where it was given before. Runs on the pool's loop and does not block it."""
    filled = checked(Decoding, parameters, f"model {model}").model_dump()
    in_thread = asyncio.get_running_loop().run_in_executor
    content_hash = await in_thread(_thread, source_hash, model)
    key = answer_key(f"slm/{model}", messages, filled, replicate, weights=content_hash)

    async def produce() -> Message:
        message = await in_thread(_thread, generate, model, messages, filled, key)
        if message.finish != "error":
            cache.put(key, message, model=f"slm/{model}", served=content_hash[:16])
        return message

    return await cache.fetch(key, lambda: to_its_end(produce()))


@functools.cache
def source_hash(name: str) -> str:
    """The hash of a model's weights."""
    return find_model(name).content_hash


@functools.lru_cache(maxsize=1)  # one model in memory at a time
def load(name: str) -> tuple[Any, Any]:
    """(tokenizer, model with its language-model head, float32, evaluation mode)."""
    import torch
    from transformers import AutoModelForCausalLM

    source = find_model(name)
    with quiet_transformers():
        model = AutoModelForCausalLM.from_pretrained(source.folder, dtype=torch.float32, local_files_only=True)
        return load_tokenizer(source), model.eval().requires_grad_(False)


def generate(name: str, messages: Messages, parameters: dict[str, Any], key: str) -> Message:
    """One reply of the model, sampled (temperature > 0) with a generator seeded by `key`."""
    import torch
    from transformers import GenerationConfig, LogitsProcessorList, TopPLogitsWarper

    tokenizer, model = load(name)
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    length, limit = int(prompt["input_ids"].shape[1]), model.config.max_position_embeddings
    wanted, temperature = parameters["max_tokens"], parameters["temperature"]
    if length + wanted > limit:
        error = f"PromptTooLong: {length} prompt tokens and {wanted} for the reply; {name} has {limit}"
        return Message("", length, 0, 0.0, "error", error=error)
    draws = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little"))

    def gumbel(input_ids: Any, scores: Any) -> Any:
        """Turns the greedy choice into a draw."""
        scores = scores / temperature
        if parameters["top_p"] < 1:
            scores = TopPLogitsWarper(parameters["top_p"])(input_ids, scores)
        return scores + torch.from_numpy(draws.gumbel(size=tuple(scores.shape))).to(scores.dtype)

    end = [token for token in {tokenizer.eos_token_id, model.config.eos_token_id} if isinstance(token, int)]
    pad = tokenizer.eos_token_id
    settings = GenerationConfig(max_new_tokens=wanted, do_sample=False, eos_token_id=end, pad_token_id=pad)
    processors = LogitsProcessorList([gumbel] if temperature > 0 else [])
    threads = torch.get_num_threads()
    # One token at a time is bound by memory: more threads mostly wait for each other (4 times the processor time on a
    # busy machine), and with one the text does not depend on how many there are.
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(), quiet_transformers():
            output = model.generate(**prompt, generation_config=settings, logits_processor=processors)
    finally:
        torch.set_num_threads(threads)
    reply = output[0, length:].tolist()
    ended = bool(reply) and reply[-1] in end
    text = tokenizer.decode(reply, skip_special_tokens=True).strip()
    return Message(text, length, len(reply), 0.0, "stop" if ended else "length")
