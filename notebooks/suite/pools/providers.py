"""litellm: loaded quietly, and what comes back read as a Message or as a kind of failure."""

from __future__ import annotations

import functools
import logging
import os
import random
import re
import time
from email.utils import mktime_tz, parsedate_tz
from typing import Any

import tenacity

from trinity_core.types import Message

LONGEST_WAIT = 120.0  # seconds; a server that asks for more has failed this call
SECRET_IN_ENVIRONMENT = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.I)
SECRET_IN_TEXT = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|pplx|nvapi|r8)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|\bAKIA\w{12,}|\beyJ[\w-]{10,}\.[\w.-]+"
    r"|(?<=bearer )\S{6,}|(?<=key=)[^\s&\"']{6,}",
    re.I,
)


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


class EmptyReply(RuntimeError):
    """A server said 200 and gave no choices."""


def read_reply(reply: Any, price: tuple[float, float] | None) -> Message:
    """litellm's reply as a Message; one without choices has `finish="error"` (its tokens may yet be billed)."""
    usage = getattr(reply, "usage", None)
    tokens_in, tokens_out = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if not tokens_in:  # no prompt is empty: litellm has filled in zeros for a reply without usage
        tokens_in = tokens_out = None
    cost = None
    if price is not None and tokens_in is not None and tokens_out is not None:
        cost = price[0] * tokens_in + price[1] * tokens_out
    if not reply.choices:
        return Message("", tokens_in, tokens_out, cost, "error", error="EmptyReply: the reply has no choices")
    choice = reply.choices[0]
    text = choice.message.content if isinstance(choice.message.content, str) else ""
    finish = "length" if choice.finish_reason in ("length", "content_filter") else "stop"
    return Message(text, tokens_in, tokens_out, cost, finish)


def reply_headers(error: BaseException) -> dict[str, str]:
    """The headers of the server's reply that an error carries, lower case; empty where no reply came."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def asked_to_wait(error: BaseException) -> float | None:
    """Seconds that the server asks to wait (Retry-After: a number or a date); None where it does not say."""
    value = reply_headers(error).get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        when = parsedate_tz(value)
        return None if when is None else max(0.0, mktime_tz(when) - time.time())


def worth_another(error: BaseException) -> bool:
    """Whether the same request may succeed later: timeouts, dropped connections, 429 and the server's own errors."""
    if isinstance(error, (TimeoutError, ConnectionError, EmptyReply)):
        return True
    if "insufficient_quota" in str(error) or "exceeded your current quota" in str(error):
        return False
    status = getattr(error, "status_code", None)
    again = isinstance(status, int) and (status in (408, 409, 425, 429) or status >= 500)
    return again and (asked_to_wait(error) or 0.0) <= LONGEST_WAIT


def pause(state: tenacity.RetryCallState, jitter: random.Random) -> float:
    """Seconds before the next request: what the server asks for, else 1, 2, 4 ... up to 60; spread a little, so that
    many calls refused together do not return together."""
    asked = asked_to_wait(state.outcome.exception())
    if asked is not None:
        return asked + jitter.random()
    return min(60.0, 2.0 ** (state.attempt_number - 1)) * (0.5 + jitter.random())


def describe(error: BaseException, timeout: float) -> str:
    """One line, `Type: text`, with everything that looks like a key taken out."""
    text = " ".join(str(error).split()).replace("litellm.", "")
    if isinstance(error, TimeoutError) and not text:
        text = f"no reply within {timeout:g} s"
    if (asked := asked_to_wait(error) or 0.0) > LONGEST_WAIT:
        text += f" (the server asks to wait {asked:.0f} s; the longest wait is {LONGEST_WAIT:.0f} s)"
    name = type(error).__name__
    return redact(f"{name}: " + re.sub(rf"^(?:{name}: )+", "", text))[:400]


def redact(text: str) -> str:
    """`text` without the values of the environment's secrets and without what looks like a key of a provider."""
    secrets = {value for name, value in os.environ.items() if SECRET_IN_ENVIRONMENT.search(name) and len(value) >= 8}
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, "[key]")
    return SECRET_IN_TEXT.sub("[key]", text)
