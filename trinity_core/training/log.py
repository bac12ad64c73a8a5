"""The log of a training: one JSON line an iteration, from which it goes on exactly where it was killed.

The first line names what is trained; each further one holds what the learner was told, so a resumed training replays
it and needs no saved state: candidates come again from the seed, rewards from the log. A last line that a kill cut
short is dropped and played again. Each line ends with a sum over itself and the lines before: a changed log is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class LogError(ValueError):
    """A log that cannot be read or that belongs to another training."""


class TrainingLog:
    """Reads and appends; `lines` are the iterations that were there at the start. LogError names a file that is no log,
    that another training is writing, a line that was changed, or the settings that differ."""

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._sum = ""  # of the last whole line
        self._file = open(self.path, "a+b")  # noqa: SIM115 (closed by `close`)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = self._read(json.loads(json.dumps(settings)))
        except BlockingIOError:
            self.close()
            raise LogError(f"another training is writing {self.path}; wait for it or choose another folder") from None
        except BaseException:
            self.close()
            raise

    def _read(self, settings: dict[str, Any]) -> list[dict[str, Any]]:
        self._file.seek(0)
        raw = self._file.read()
        whole = raw[: raw.rfind(b"\n") + 1]
        entries = []
        for number, text in enumerate(whole.splitlines(), 1):
            try:
                line = json.loads(text)
                written = line.pop("sum")
                self._sum = chained(self._sum, line)
            except (ValueError, TypeError, AttributeError, KeyError):
                written = None
            if written != self._sum:
                raise LogError(
                    f"{self.path}, line {number} is not as it was written, or this is not the log of a training; move"
                    " the file away to start afresh"
                )
            entries.append(line)
        if entries and entries[0].get("settings") != settings:
            raise LogError(
                f"{self.path} belongs to another training ({differences(entries[0].get('settings'), settings)}); choose"
                " another folder, or move the file away to start afresh"
            )
        self._file.truncate(len(whole))
        if not entries:
            self.append({"settings": settings})
        return entries[1:]

    def append(self, line: Mapping[str, Any]) -> None:
        """Puts one line on disk."""
        self._sum = chained(self._sum, line)
        self._file.write(json.dumps({**line, "sum": self._sum}).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Ends writing."""
        self._file.close()


def chained(before: str, line: Mapping[str, Any]) -> str:
    """The sum of a line that follows one whose sum is `before`: 16 hex digits."""
    as_read = json.loads(json.dumps(line))  # keys become texts
    return hashlib.sha256((before + json.dumps(as_read, sort_keys=True)).encode()).hexdigest()[:16]


def differences(there: Any, here: Any, where: str = "settings") -> str:
    """The first setting in which two differ, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            if there.get(key) != here.get(key):
                return differences(there.get(key), here.get(key), f"{where}.{key}")
    return f"{where}: {str(there)[:80]} there, {str(here)[:80]} here"
