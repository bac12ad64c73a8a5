"""The log of a training: one JSON line an iteration, from which it goes on exactly where it was killed.

The first line names what is trained (settings and their hash). Each further line holds what the learner was told, so a
resumed training replays it through the optimiser and needs no saved state: candidates come again from the seed, rewards
from the log. Every line is on disk before the next iteration begins; a last line that a kill cut short is dropped and
its iteration is played again. Each line ends with a sum over itself and the lines before, so that a log that was
changed since is refused and not replayed.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class LogError(ValueError):
    """A log that cannot be read or that belongs to another training."""


class TrainingLog:
    """Reads and appends; `lines` are the iterations that were there at the start.

    LogError names a file that is not a log, that another training is writing, a broken or changed line before the last,
    or the settings that differ.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        settings = json.loads(json.dumps(settings))
        self.hash = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self.lines: list[dict[str, Any]] = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (closed by `close`)
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LogError(
                    f"another training is writing {self.path}; wait for it or choose another folder"
                ) from None
            self._read(settings)
        except BaseException:
            self.close()
            raise
        if not self._kept:
            self._write({"settings": settings, "hash": self.hash})

    _kept = 0  # bytes of whole lines
    _sum = ""  # of the last whole line

    def _read(self, settings: Mapping[str, Any]) -> None:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        entries = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entries.append(json.loads(line))
            except ValueError:
                raise LogError(f"{self.path}, line {number} is not JSON; move the file away to start afresh") from None
        if entries:
            head = entries[0]
            if not isinstance(head, dict) or "hash" not in head or "settings" not in head:
                raise LogError(f"{self.path} is not the log of a training; choose another folder")
            if head["hash"] != self.hash:
                raise LogError(
                    f"{self.path} belongs to another training ({differences(head['settings'], settings)}); choose "
                    "another folder, or move the file away to start afresh"
                )
            for place, line in enumerate(entries[1:]):
                if not isinstance(line, dict) or line.get("iteration") != place:
                    raise LogError(f"{self.path}, line {place + 2} is not iteration {place}; move the file away")
            for number, line in enumerate(entries, 1):
                written, self._sum = line.pop("sum", None), chained(self._sum, line)
                if written != self._sum:
                    raise LogError(
                        f"{self.path}, line {number} is not as it was written; move the file away to start afresh"
                    )
        self.lines, self._kept = entries[1:], len(whole)
        if len(whole) < len(raw):
            with open(self.path, "r+b") as file:
                file.truncate(len(whole))

    def append(self, line: Mapping[str, Any]) -> None:
        """Puts one iteration on disk."""
        self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._sum = chained(self._sum, line)
        self._file.write(json.dumps({**line, "sum": self._sum}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._kept = 1

    def close(self) -> None:
        """Ends writing."""
        self._file.close()


def chained(before: str, line: Mapping[str, Any]) -> str:
    """The sum of a line that follows one whose sum is `before`: 16 hex digits."""
    as_read = json.loads(json.dumps(line))  # keys become texts
    return hashlib.sha256((before + json.dumps(as_read, sort_keys=True)).encode()).hexdigest()[:16]


def differences(there: Any, here: Any, where: str = "") -> str:
    """The first setting in which two differ, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key):
                return differences(there.get(key), here.get(key), f"{where}.{key}" if where else key)
    return f"{where or 'settings'}: {str(there)[:80]} there, {str(here)[:80]} here"


def pack(values: np.ndarray) -> str:
    """float64 values as text that gives the same bits back."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def unpack(text: str) -> np.ndarray:
    """The inverse of `pack`, flat."""
    return np.frombuffer(base64.b64decode(text), "<f8").astype(np.float64)
