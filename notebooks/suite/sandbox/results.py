"""Results of code runs, kept on disk by content: the same code and tests are run once, ever."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

from trinity_core import paths

_open: dict[tuple[int, Path], sqlite3.Connection] = {}
_one_at_a_time = threading.Lock()


def key_of(content: list[Any]) -> str:
    """The hash of JSON data, of the Python version and of the sandbox's own code. TypeError or ValueError as json's."""
    return hashlib.sha256((_versions() + json.dumps(content)).encode()).hexdigest()


@functools.cache
def _versions() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    parts = [sys.version, *(file.read_text(encoding="utf-8") for file in files)]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def read(key: str) -> dict[str, Any] | None:
    """What `keep` kept; None where it kept nothing or its file cannot be read: a cache that fails is only slow."""
    try:
        with _one_at_a_time:
            row = _database().execute("SELECT result FROM results WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None
    except (sqlite3.Error, OSError, ValueError, TypeError):
        return None


def keep(key: str, result: dict[str, Any]) -> None:
    with _one_at_a_time:
        try:
            _database().execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, json.dumps(result)))
        except (sqlite3.OperationalError, OSError):
            pass  # locked, read-only or full
        except sqlite3.DatabaseError:  # damaged: begin anew
            _open.clear()
            for file in _folder().glob("results.sqlite*"):
                file.unlink(missing_ok=True)


def _folder() -> Path:
    return paths.cache_dir() / "code_results"


def _database() -> sqlite3.Connection:
    """Opened once a process and place. Its log is written ahead: no commit waits for the disk, and a crash loses at
    most the last results."""
    place = (os.getpid(), _folder())
    if place not in _open:
        place[1].mkdir(exist_ok=True)
        file = place[1] / "results.sqlite"
        connection = sqlite3.connect(file, timeout=10, isolation_level=None, check_same_thread=False)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = NORMAL",
            "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, result TEXT)",
        ):
            connection.execute(statement)
        _open[place] = connection
    return _open[place]
