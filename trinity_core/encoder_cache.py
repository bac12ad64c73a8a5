"""Hidden states on disk: one file an encoder (`store`), one entry a (text, layer, position)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from trinity_core.store import Store

HEAD = struct.Struct("<I")  # how many tokens the text has, before the vector


class StateCache:
    """`get` and `put` of float32 vectors of length `d`, keyed by (text digest, layer, position)."""

    def __init__(self, path: Path, d: int) -> None:
        self.d = d
        try:
            self.store = Store(path)
        except OSError as error:
            raise OSError(f"{error}, or load the encoder with cache=False") from None

    def get(
        self, texts: Sequence[bytes], layers: Sequence[int], positions: Sequence[str]
    ) -> dict[bytes, tuple[int, np.ndarray]]:
        """Texts whose every (layer, position) is stored: digest -> (n_tokens, states (n_layers, n_positions, d))."""
        names = [_key(b"", layer, position) for layer in layers for position in positions]
        entries = self.store.get(text + name for text in texts for name in names)
        found = {}
        for text in texts:
            values = [entries.get(text + name, b"") for name in names]
            if all(len(value) == HEAD.size + 4 * self.d for value in values):
                vectors = [np.frombuffer(value, "<f4", offset=HEAD.size) for value in values]
                states = np.array(vectors, np.float32).reshape(len(layers), len(positions), self.d)
                if np.isfinite(states).all():
                    found[text] = HEAD.unpack_from(values[0])[0], states
        return found

    def put(
        self,
        texts: Sequence[bytes],
        n_tokens: Iterable[int],
        layers: Sequence[int],
        positions: Sequence[str],
        states: np.ndarray,
    ) -> None:
        """Stores states (batch, n_layers, n_positions, d) in one transaction."""
        states = np.ascontiguousarray(states, "<f4")
        self.store.put(
            {
                _key(text, layer, position): HEAD.pack(count) + grid[i, j].tobytes()
                for text, count, grid in zip(texts, n_tokens, states, strict=True)
                for i, layer in enumerate(layers)
                for j, position in enumerate(positions)
            }
        )


def _key(text: bytes, layer: int, position: str) -> bytes:
    return text + struct.pack("<H", layer) + position.encode()
