"""Hidden states on disk: one SQLite file an encoder, one row a (text, layer, position).

Rows are committed batch by batch, so a killed run keeps all but its last batch, and several processes may read and
write at once. A file that SQLite cannot read is set aside with a warning and started anew: a cache may be lost, but it
is never wrong. One that cannot be written is read, and said so once.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

SCHEMA = """CREATE TABLE IF NOT EXISTS states (
    text BLOB NOT NULL, layer INTEGER NOT NULL, position TEXT NOT NULL, n_tokens INTEGER NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (text, layer, position))"""
CHUNK = 400  # texts a query: below SQLite's limit on bound variables


class StateCache:
    """`get` and `put` of float32 vectors of length `d`, keyed by (text digest, layer, position)."""

    def __init__(self, path: Path, d: int) -> None:
        self.path = Path(path)
        self.d = d
        self._warned = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise OSError(
                f"cannot open the cache of hidden states {self.path} ({error}); set TRINITY_CACHE to a folder you can "
                "write, or load the encoder with cache=False"
            ) from None

    def _open(self) -> None:
        try:
            self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self._set_aside(error)

    def _connect(self) -> None:
        # A notebook may encode from a worker thread; the encoder serialises its own calls.
        self.connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
        with self.connection:
            self.connection.execute(SCHEMA)

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        self.connection.close()
        broken = self.path.with_suffix(".broken")
        warnings.warn(
            f"the cache {self.path.name} cannot be read ({error}); kept as {broken.name}, starting a new one",
            stacklevel=2,
        )
        self.path.replace(broken)
        self.path.with_name(self.path.name + "-journal").unlink(missing_ok=True)
        self._connect()

    def get(
        self, texts: Sequence[bytes], layers: Sequence[int], positions: Sequence[str]
    ) -> dict[bytes, tuple[int, np.ndarray]]:
        """Texts whose every (layer, position) is stored: digest -> (n_tokens, states (n_layers, n_positions, d))."""
        try:
            return self._get(texts, layers, positions)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            return {}

    def _get(
        self, texts: Sequence[bytes], layers: Sequence[int], positions: Sequence[str]
    ) -> dict[bytes, tuple[int, np.ndarray]]:
        row_of = {layer: i for i, layer in enumerate(layers)}
        column_of = {position: j for j, position in enumerate(positions)}
        found: dict[bytes, tuple[int, np.ndarray]] = {}
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            marks = [",".join("?" * len(values)) for values in (chunk, layers, positions)]
            query = (
                "SELECT text, layer, position, n_tokens, vector FROM states "
                f"WHERE text IN ({marks[0]}) AND layer IN ({marks[1]}) AND position IN ({marks[2]})"
            )
            states: dict[bytes, np.ndarray] = {}
            tokens: dict[bytes, int] = {}
            for text, layer, position, n_tokens, blob in self.connection.execute(query, [*chunk, *layers, *positions]):
                if len(blob) == 4 * self.d:
                    grid = states.setdefault(text, np.full((len(layers), len(positions), self.d), np.nan, np.float32))
                    grid[row_of[layer], column_of[position]] = np.frombuffer(blob, dtype="<f4")
                    tokens[text] = n_tokens
            found.update({text: (tokens[text], grid) for text, grid in states.items() if np.isfinite(grid).all()})
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
        rows = [
            (text, layer, position, count, np.ascontiguousarray(grid[i, j], dtype="<f4").tobytes())
            for text, count, grid in zip(texts, n_tokens, states, strict=True)
            for i, layer in enumerate(layers)
            for j, position in enumerate(positions)
        ]
        try:
            self._put(rows)
        except sqlite3.OperationalError as error:  # read-only, full, or held by another process: go on without
            if not self._warned:
                warnings.warn(
                    f"the cache {self.path.name} cannot be written ({error}); these hidden states are computed again "
                    "next time. Set TRINITY_CACHE to a folder you can write",
                    stacklevel=2,
                )
            self._warned = True
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            self._put(rows)

    def _put(self, rows: Sequence[tuple[bytes, int, str, int, bytes]]) -> None:
        with self.connection:
            self.connection.executemany("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)", rows)
