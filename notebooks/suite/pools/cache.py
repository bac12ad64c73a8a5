"""Answers on disk: nothing is asked, or paid for, twice; also not after a crash, nor by two processes at once.

One store holds the successful answers, each on the disk as it arrives, by a hash of what decides a reply (model,
messages, parameters, replicate): neither prompts nor keys are stored. A call in work holds a lock on one byte of a lock
file: another process that wants the same answer waits for it, and the lock of a killed process is gone with it.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import pandas as pd

from suite.pools.config import Messages
from trinity_core.paths import cache_dir
from trinity_core.pool import PoolError
from trinity_core.store import Store
from trinity_core.types import Message

T = TypeVar("T")


def answer_key(model: str, messages: Messages, parameters: dict[str, Any], replicate: int, weights: str = "") -> str:
    """The name of one draw of one call: a hash of everything that decides the reply."""
    parts = {"model": model, "messages": messages, "parameters": parameters, "replicate": int(replicate)}
    try:
        text = json.dumps(parts | {"weights": weights}, sort_keys=True, ensure_ascii=True)
    except TypeError as error:
        raise PoolError(f"messages or parameters of a call to {model} are not plain JSON values ({error})") from None
    return hashlib.sha256(text.encode()).hexdigest()


async def to_its_end(call: Coroutine[Any, Any, T]) -> T:
    """Awaits a call that is paid for once it is sent: where this is cancelled, it ends only after the call has."""
    task = asyncio.create_task(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


_in_work: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()  # of a process, by key


class AnswerCache:
    """The answers in `folder`, by default `answers/` of the suite's cache folder."""

    def __init__(self, folder: str | Path | None = None) -> None:
        place = Path(folder).expanduser() if folder is not None else cache_dir() / "answers"
        with _named():
            self._store = Store(place / "answers.sqlite", precious=True)
            # Never closed: that would drop the claims of every other cache of this process on the same file.
            self._claims = os.open(place / "in-work.lock", os.O_RDWR | os.O_CREAT, 0o644)

    def get(self, key: str) -> Message | None:
        """The stored answer, marked `cached`; its `cost` is what it cost when it was asked."""
        with _named():
            found = self._store.get([key])
        return Message(**json.loads(found[key])["message"] | {"cached": True}) if found else None

    def put(self, key: str, message: Message, *, model: str, served: str | None) -> None:
        """Stores a successful answer, on disk when this returns. `served` is the version that the provider names."""
        asked = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"asked": asked, "model": model, "served": served, "message": asdict(message)}
        with _named():
            self._store.put({key: json.dumps(entry).encode()})

    def served(self) -> pd.DataFrame:
        """By model and version served: how many answers, the first and the last time: what a live result must state."""
        rows = [json.loads(value) for _, value in self._store.items()]
        table = pd.DataFrame(rows, columns=["model", "served", "asked"])
        return table.groupby(["model", "served"], dropna=False)["asked"].agg(["size", "min", "max"])

    async def fetch(self, key: str, produce: Callable[[], Awaitable[Message]]) -> Message:
        """The stored answer, else what `produce` gets (and stores). Runs on the pool's loop. Whoever asks the same
        while a call is in work, here or in another process, waits for its answer."""
        if stored := self.get(key):
            return stored
        async with _in_work.setdefault((os.getpid(), key), asyncio.Lock()), self._claim(key):
            return self.get(key) or await produce()

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
