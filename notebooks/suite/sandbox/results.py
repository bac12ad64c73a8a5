"""Results of code runs, kept on disk by content: the same code and tests are run once, ever."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from trinity_core import paths
from trinity_core.store import Store


def key_of(content: list[Any]) -> str:
    """The hash of JSON data, of the Python version and of the sandbox's own code. TypeError or ValueError as json's."""
    return hashlib.sha256((_versions() + json.dumps(content)).encode()).hexdigest()


@functools.cache
def _versions() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256("".join([sys.version, *map(Path.read_text, files)]).encode()).hexdigest()


def read(key: str) -> dict[str, Any] | None:
    """What `keep` kept; None where it kept nothing or nothing that can be read."""
    store = _store(paths.cache_dir() / "code_results.sqlite")
    found = store.get([key]) if store else {}
    try:
        return json.loads(found[key]) if found else None
    except ValueError:
        return None


def keep(key: str, result: dict[str, Any]) -> None:
    """Keeps a result for all processes."""
    if store := _store(paths.cache_dir() / "code_results.sqlite"):
        store.put({key: json.dumps(result).encode()})


@functools.cache
def _store(file: Path) -> Store | None:
    try:
        return Store(file)
    except OSError as error:
        warnings.warn(f"{error}; code is run again each time", stacklevel=4)
        return None
