"""Random numbers keyed by what they are for, so that no result depends on order, batching or the number of workers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import index

import numpy as np


def uniforms(count: int, *key: str | int) -> np.ndarray:
    """`count` (at most 8) numbers in [0, 1), 53 bits of a BLAKE2b hash each: a function of the key alone, the same on
    every machine. Different keys give independent numbers. TypeError for a part that is neither text nor whole."""
    return uniform_rows(count, [key_text(*key)])[0]


def key_text(*key: str | int) -> str:
    """A key as one text, its parts kept apart: what is hashed. A longer key's begins with `key_text(...) + SEP`."""
    return SEP.join(f"str:{part}" if isinstance(part, str) else f"int:{index(part)}" for part in key)


SEP = "\x1f"


def uniform_rows(count: int, texts: Sequence[str]) -> np.ndarray:
    """(len(texts), count): for each `key_text` the numbers that `uniforms` gives; quick for thousands of keys."""
    if not 1 <= count <= 8:
        raise ValueError(f"{count} numbers asked of one key; a key gives 1 to 8")
    blake2b, size = hashlib.blake2b, 8 * count
    digests = b"".join([blake2b(text.encode(), digest_size=size).digest() for text in texts])
    return (np.frombuffer(digests, dtype="<u8") >> np.uint64(11)).reshape(len(texts), count) * 2.0**-53
