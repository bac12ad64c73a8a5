"""What the benchmarks share: a stopwatch, a cache of their own, and figures beside their aims."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """(seconds, what it returned)."""
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


@contextmanager
def own_cache() -> Iterator[None]:
    """An empty cache folder; the dequantised weights are shared."""
    from trinity_core.paths import cache_dir

    models = cache_dir() / "models"
    models.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(models)
        os.environ["TRINITY_CACHE"] = folder
        yield


def report(figures: Mapping[str, float], least: Mapping[str, float], most: Mapping[str, float]) -> int:
    """Prints the figures beside their aims, then as one JSON line; 1 when an aim is missed."""
    missed = [name for name, aim in least.items() if figures[name] < aim]
    missed += [name for name, aim in most.items() if figures[name] > aim]
    for name, value in figures.items():
        aims = [f"  ({word} {side[name]:g})" for word, side in (("aim", least), ("at most", most)) if name in side]
        print(f"{name:>18}  {value:>12,.4g}{''.join(aims)}")
    print(json.dumps({**figures, "aims": dict(least), "at_most": dict(most), "missed": missed}))
    return 1 if missed else 0
