"""What an encoder is given: a string or a transcript, checked, and the key that stands for its content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

SURROGATE = re.compile("[\ud800-\udfff]")  # no character by itself: tokenizers refuse it without saying why

Text = str | Sequence[Mapping[str, str]]


def as_messages(text: Text, number: int = 0) -> list[dict[str, str]]:
    """A text as chat messages: a string is one user message. ValueError names the text by its number in the call."""
    if not isinstance(text, (str, Sequence)) or isinstance(text, bytes):
        raise ValueError(f"text {number} is {text!r}; give a string or a list of messages")
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else list(text)
    if not messages:
        raise ValueError(f"text {number} is an empty transcript; give at least one message")
    for message in messages:
        if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
            raise ValueError(f"text {number} has the message {message!r}; expected {{'role': ..., 'content': ...}}")
        if not all(isinstance(value, str) and value.strip() for value in message.values()):
            raise ValueError(
                f"text {number} has an empty or non-text field in {dict(message)!r}; leave such messages out"
            )
        if any(map(SURROGATE.search, message.values())):
            raise ValueError(f"text {number} has half a surrogate pair in {dict(message)!r}; decode it as UTF-8 anew")
    return [dict(message) for message in messages]


def content_key(messages: list[dict[str, str]]) -> bytes:
    """16 bytes that stand for a transcript's content."""
    return hashlib.blake2b(json.dumps(messages, sort_keys=True).encode(), digest_size=16).digest()
