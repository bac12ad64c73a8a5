"""The simulated pool and the local SLM as providers of litellm: `simulated/NAME`, `slm/smollm2-135m`.

So one litellm configuration may mix them with real models, and all pass through the same code. litellm has one table of
custom providers a process; since two pools may each have a simulated part (other questions, say), a call carries the
number of what is to answer it, and the number of the replicate, in the parameter `trinity`.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any

from suite.pools.config import Messages
from trinity_core.types import Message

# (model, messages, parameters, replicate) -> reply
Answer = Callable[[str, Messages, dict[str, Any], int], Awaitable[Message]]
COST = "trinity_cost"  # where a reply carries the cost that its pool states

_answers: list[Answer] = []


@functools.cache
def load_litellm() -> Any:
    """litellm, told to print nothing, fetch no price list and read no `.env` file of the folder it runs in.

    It takes seconds to import, and what it is told must be said before: so it is loaded where a call is made.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm


def register(provider: str, answer: Answer) -> int:
    """Makes `provider/...` known to litellm, answered by `answer`; returns the number that a call may carry."""
    litellm = load_litellm()
    from litellm.llms.custom_llm import CustomLLM, CustomLLMError

    number = len(_answers)
    _answers.append(answer)

    class Provider(CustomLLM):
        """What litellm calls."""

        async def acompletion(self, model: str, messages: Messages, optional_params: dict[str, Any], **_: Any) -> Any:
            parameters = dict(optional_params)
            call = parameters.pop("trinity")
            message = await _answers[call["source"]](model, messages, parameters, call["replicate"])
            if message.finish == "error":
                raise CustomLLMError(status_code=400, message=message.error)
            counts = {"prompt_tokens": message.tokens_in or 0, "completion_tokens": message.tokens_out or 0}
            reply = litellm.ModelResponse(
                model=f"{provider}/{model}",
                choices=[{"message": {"role": "assistant", "content": message.text}, "finish_reason": message.finish}],
                usage=litellm.Usage(**counts, total_tokens=sum(counts.values())),
            )
            reply._hidden_params[COST] = message.cost
            return reply

    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != provider]
    litellm.custom_provider_map = [*others, {"provider": provider, "custom_handler": Provider()}]
    return number
