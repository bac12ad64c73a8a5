"""Random numbers keyed by what they are for, so that no result depends on order, batching or the number of workers."""

from __future__ import annotations

import hashlib
from operator import index

import numpy as np


def uniforms(count: int, *key: str | int) -> np.ndarray:
    """`count` (at most 8) numbers in [0, 1) that are a function of the key alone: the same on every machine.

    53 bits of a BLAKE2b hash each. Different keys give independent numbers; the parts of a key are kept apart. A whole
    number is the same key whatever its type (numpy's too); a part that is neither text nor whole is a TypeError.
    """
    if not 1 <= count <= 8:
        raise ValueError(f"{count} numbers asked of one key; a key gives 1 to 8")
    text = "\x1f".join(f"str:{part}" if isinstance(part, str) else f"int:{index(part)}" for part in key)
    digest = hashlib.blake2b(text.encode(), digest_size=8 * count).digest()
    return (np.frombuffer(digest, dtype="<u8") >> np.uint64(11)) * 2.0**-53
