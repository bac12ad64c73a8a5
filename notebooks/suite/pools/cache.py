"""Answers on disk: nothing is asked, or paid for, twice; also not after a crash, nor by two processes at once.

One store holds the successful answers, each on the disk as it arrives. Its key is a hash of what decides a reply
(model, messages, parameters, replicate), so neither prompts nor addresses are stored, and a provider's key cannot be.
A call in work holds a lock on one byte of a lock file: another process that wants the same answer waits for it, and the
lock of a killed process is gone with it. Two agents with the same model and parameters share their answers.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from trinity_core.paths import cache_dir
from trinity_core.pool import PoolError
from trinity_core.store import Store
from trinity_core.types import Message


def answer_key(
    model: str, messages: list[dict[str, str]], parameters: dict[str, Any], replicate: int, weights: str = ""
) -> str:
    """The name of one draw of one call: a hash of everything that decides the reply."""
    parts = {"model": model, "messages": messages, "parameters": parameters, "replicate": int(replicate)}
    try:
        text = json.dumps(parts | {"weights": weights}, sort_keys=True, ensure_ascii=True)
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
        self.flights: dict[str, Flight] = {}  # key -> the call in work in this process
        with _named():
            self._store = Store(folder / "answers.sqlite", precious=True)
            self._claims = os.open(folder / "in-work.lock", os.O_RDWR | os.O_CREAT, 0o644)

    @classmethod
    def at(cls, folder: str | Path | None = None) -> AnswerCache:
        """The cache in `folder`, by default `answers/` of the suite's cache folder."""
        place = Path(folder).expanduser() if folder is not None else cache_dir() / "answers"
        with cls._open_lock:
            key = (os.getpid(), place.resolve())
            if key not in cls._open:
                cls._open[key] = cls(place)
            return cls._open[key]

    def get(self, key: str) -> Message | None:
        """The stored answer, marked `cached`; its `cost` is what it cost when it was asked."""
        with _named():
            found = self._store.get([key])
        return Message(**json.loads(found[key])["message"] | {"cached": True}) if found else None

    def put(self, key: str, message: Message, *, model: str, served: str | None) -> None:
        """Stores a successful answer, on disk when this returns. `served` is the version that the provider names."""
        if message.finish == "error":
            raise ValueError("a failed call is no answer and is never stored")
        asked = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"asked": asked, "model": model, "served": served, "message": asdict(message)}
        with _named():
            self._store.put({key: json.dumps(entry).encode()})

    def served(self) -> list[tuple[str, str | None, int, str, str]]:
        """(model, version served, answers, first day, last day) of all answers: what a live result must state."""
        days: dict[tuple[str, str | None], list[str]] = {}
        for _, value in self._store.items():
            entry = json.loads(value)
            days.setdefault((entry["model"], entry["served"]), []).append(entry["asked"][:10])
        return [(*names, len(some), min(some), max(some)) for names, some in sorted(days.items(), key=str)]

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
            async with self._claim(key):
                return self.get(key) or await produce(flight)
        finally:
            if self.flights.get(key) is flight:
                del self.flights[key]
            if not flight.waiters and flight.task is not None:  # nobody is left to be told of an error
                flight.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    @asynccontextmanager
    async def _claim(self, key: str) -> AsyncIterator[None]:
        """Holds `key` against other processes; waits, without blocking the loop, while one of them has it."""
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


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PoolError(f"{error} (its answers are then asked again); `cache=` names another folder") from None
