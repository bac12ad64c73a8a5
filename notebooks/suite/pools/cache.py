"""Answers on disk: nothing is asked, or paid for, twice; also not after a crash, nor by two processes at once.

One SQLite file holds the successful answers, each committed as it arrives. Its key is a hash of what decides a reply
(model, messages, parameters, replicate), so neither prompts nor addresses are stored, and a provider's key cannot be.
A call in work holds a lock on one byte of a lock file: another process that wants the same answer waits for it, and the
lock of a killed process is gone with it. Two agents with the same model and parameters share their answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from trinity_core.paths import cache_dir
from trinity_core.pool import PoolError
from trinity_core.types import Message

try:
    import fcntl
except ImportError:  # not a POSIX system: two processes may then ask the same thing twice, nothing worse
    fcntl = None

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, asked TEXT, model TEXT, served TEXT, text TEXT NOT NULL"
    ", tokens_in INTEGER, tokens_out INTEGER, cost REAL, finish TEXT NOT NULL) WITHOUT ROWID"
)


def answer_key(
    model: str, messages: list[dict[str, str]], parameters: dict[str, Any], replicate: int, weights: str = ""
) -> str:
    """The name of one draw of one call: a hash of everything that decides the reply."""
    parts = {
        "model": model,
        "messages": messages,
        "parameters": parameters,
        "replicate": int(replicate),
        "weights": weights,
    }
    try:
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    except TypeError as error:
        raise PoolError(f"messages or parameters of a call to {model} are not plain JSON values ({error})") from None
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Flight:
    """A call in work: how many wait for it, and whether a request is out (then it is paid for, and must be kept)."""

    task: asyncio.Task[Message] | None = None
    waiters: int = 0
    sent: bool = False


class AnswerCache:
    """The answers of one folder. `AnswerCache.at(folder)` gives the one object of this process for it."""

    _open: ClassVar[dict[tuple[int, Path], AnswerCache]] = {}
    _open_lock = threading.Lock()

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.sqlite"
        self.flights: dict[str, Flight] = {}  # key -> the call in work in this process
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._claims = os.open(folder / "in-work.lock", os.O_RDWR | os.O_CREAT, 0o644)
            self._database = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            # No write-ahead log: the switch to it fails, without waiting, where two processes open a new file at once.
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise self._trouble(error) from None

    @classmethod
    def at(cls, folder: str | Path | None = None) -> AnswerCache:
        """The cache in `folder`, by default `answers/` of the suite's cache folder."""
        place = Path(folder).expanduser() if folder is not None else cache_dir() / "answers"
        with cls._open_lock:
            key = (os.getpid(), place.resolve())
            if key not in cls._open:
                cls._open[key] = cls(place)
            return cls._open[key]

    def _trouble(self, error: Exception) -> PoolError:
        return PoolError(
            f"the answers in {self.path} cannot be read or written ({error}); free the disk, give another folder "
            "(`cache=`, or TRINITY_CACHE), or move a damaged file away (its answers are then asked again)"
        )

    def get(self, key: str) -> Message | None:
        """The stored answer, marked `cached`; its `cost` is what it cost when it was asked."""
        try:
            with self._lock:
                row = self._database.execute(
                    "SELECT text, tokens_in, tokens_out, cost, finish FROM answers WHERE key = ?", (key,)
                ).fetchone()
        except sqlite3.Error as error:
            raise self._trouble(error) from None
        return None if row is None else replace(Message(*row), cached=True)

    def put(self, key: str, message: Message, *, model: str, served: str | None) -> None:
        """Stores a successful answer, on disk when this returns. `served` is the version that the provider names."""
        if message.finish == "error":
            raise ValueError("a failed call is no answer and is never stored")
        row = (key, datetime.now(UTC).isoformat(timespec="seconds"), model, served, message.text)
        row += (message.tokens_in, message.tokens_out, message.cost, message.finish)
        try:
            with self._lock:
                self._database.execute("INSERT OR REPLACE INTO answers VALUES (?,?,?,?,?,?,?,?,?)", row)
        except sqlite3.Error as error:
            raise self._trouble(error) from None

    async def fetch(self, key: str, produce: Callable[[Flight], Awaitable[Message]]) -> Message:
        """The stored answer, or that of the call in work for the same key, or what `produce` gets (and stores).

        Runs on the pool's loop. A call that nobody waits for any longer is dropped if it was not sent yet; one that was
        sent comes back and is stored.
        """
        if stored := self.get(key):
            return stored
        flight = self.flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = self.flights[key] = Flight()
            flight.task = asyncio.create_task(self._fly(key, flight, produce))
        flight.waiters += 1
        try:
            message = await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.sent:
                self.flights.pop(key, None)
                flight.task.cancel()
        return replace(message, cached=True) if joined and message.finish != "error" else message

    async def _fly(self, key: str, flight: Flight, produce: Callable[[Flight], Awaitable[Message]]) -> Message:
        try:
            async with self.claim(key):
                return self.get(key) or await produce(flight)
        finally:
            if self.flights.get(key) is flight:
                del self.flights[key]
            if not flight.waiters and flight.task is not None:  # nobody is left to be told of an error
                flight.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def served(self) -> list[tuple[str, str | None, int, str, str]]:
        """(model, version served, answers, first day, last day) of all answers: what a live result must state."""
        with self._lock:
            return self._database.execute(
                "SELECT model, served, COUNT(*), MIN(SUBSTR(asked, 1, 10)), MAX(SUBSTR(asked, 1, 10)) FROM answers "
                "GROUP BY model, served ORDER BY model, served"
            ).fetchall()

    @asynccontextmanager
    async def claim(self, key: str) -> AsyncIterator[None]:
        """Holds `key` against other processes; waits, without blocking the loop, while one of them has it."""
        if fcntl is None:
            yield
            return
        place, pause = int(key[:15], 16), 0.02
        while True:
            try:
                fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                break
            except (BlockingIOError, PermissionError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, 0.5)
        try:
            yield
        finally:
            fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, place)
