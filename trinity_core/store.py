"""What must not be made twice, on disk: key -> bytes, in one SQLite file.

Every `put` is one transaction; any number of processes and threads may read and write one file at once. A plain file
holds what can be computed again: one that SQLite cannot read is set aside as `NAME.broken` with a warning and started
anew, one that cannot be written is read, and said so once. A `precious` one holds what was paid for: it is on the disk
when `put` returns, and any trouble is an OSError that names the file, which is left as it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Key = bytes | str

SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
PATIENCE = 60.0  # seconds to wait for another process that is writing
CHUNK = 900  # keys a query: below SQLite's limit on bound variables


class Store:
    """`get`, `put` and `items` of the file `path`, made where it is not there. OSError where it cannot be opened."""

    def __init__(self, path: str | Path, *, precious: bool = False) -> None:
        self.path, self.precious = Path(path), precious
        self._lock, self._warned = threading.Lock(), False
        self._connections: dict[int, sqlite3.Connection] = {}  # of a process: a fork must not touch its parent's
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._trouble(error) from None
        self._do(lambda connection: None, opening=True)

    def get(self, keys: Iterable[Key]) -> dict[Key, bytes]:
        """The values of those keys that are there."""
        keys = list(keys)

        def read(connection: sqlite3.Connection) -> dict[Key, bytes]:
            found: dict[Key, bytes] = {}
            for start in range(0, len(keys), CHUNK):
                chunk = keys[start : start + CHUNK]
                marks = ",".join("?" * len(chunk))
                found.update(connection.execute(f"SELECT key, value FROM entries WHERE key IN ({marks})", chunk))
            return found

        return self._do(read) or {}

    def put(self, entries: Mapping[Key, bytes]) -> None:
        """Keeps all entries, over older ones of the same keys, or none."""

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", entries.items())

        self._do(write)

    def items(self) -> list[tuple[Key, bytes]]:
        """All entries, by key."""
        return self._do(lambda one: one.execute("SELECT key, value FROM entries ORDER BY key").fetchall()) or []

    def _do(self, action: Callable[[sqlite3.Connection], Any], opening: bool = False) -> Any:
        """What the action gives on the open file; None where a plain file can do no more than warn."""
        with self._lock:
            try:
                return action(self._connected())
            except sqlite3.DatabaseError as error:
                unusable = isinstance(error, sqlite3.OperationalError)  # read-only, full, or held by another process
                if not unusable and type(error) is not sqlite3.DatabaseError:  # wrong use: a value that is not bytes
                    raise
                if self.precious or (unusable and opening):
                    raise self._trouble(error) from None
                if unusable:
                    if not self._warned:
                        warnings.warn(f"{self._trouble(error)}; what it lacks is computed again", stacklevel=4)
                    self._warned = True
                    return None
                self._set_aside(error)
                return action(self._connected())

    def _connected(self) -> sqlite3.Connection:
        if os.getpid() not in self._connections:
            self._connections[os.getpid()] = self._connect()
        return self._connections[os.getpid()]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            # Written ahead: nobody waits for a reader. Where two processes open a new file at once the switch does not
            # wait by itself.
            until = time.monotonic() + PATIENCE
            while not _switched(connection) and time.monotonic() < until:
                time.sleep(0.01)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.precious else 'NORMAL'}")
            with connection:
                connection.execute(SCHEMA)
        except sqlite3.DatabaseError as error:
            connection.close()
            if not isinstance(error, sqlite3.OperationalError) or not self.path.is_file():
                raise
            # A file in a folder that cannot be written, such as a shared one, can be read in this way alone.
            return sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
        return connection

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        if connection := self._connections.pop(os.getpid(), None):
            connection.close()
        broken = self.path.with_suffix(".broken")
        warnings.warn(f"{self.path} cannot be read ({error}); kept as {broken.name}, starting a new one", stacklevel=4)
        with contextlib.suppress(FileNotFoundError):  # another process was first
            self.path.replace(broken)
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def _trouble(self, error: Exception) -> OSError:
        remedy = "free the disk, set TRINITY_CACHE to a folder you can write, or move a damaged file away"
        return OSError(f"{self.path} cannot be read or written ({error}); {remedy}")


def _switched(connection: sqlite3.Connection) -> bool:
    try:
        return bool(connection.execute("PRAGMA journal_mode = WAL"))
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
