"""The table of `data/benchmarks.yaml`, whose first lines say what stands there."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from trinity_core.paths import DATA
from trinity_core.types import Family


@dataclass(frozen=True)
class Benchmark:
    """One published benchmark."""

    title: str
    family: Family
    licence: str
    fields: list[str]
    files: dict[str, tuple[str, str, str]]
    optional: tuple[str, ...] = ()
    gated: bool = False
    kind: str = "dataset"


TABLE = yaml.safe_load((DATA / "benchmarks.yaml").read_text(encoding="utf-8"))
BENCHMARKS: dict[str, Benchmark] = {name: Benchmark(**entry) for name, entry in TABLE.items()}
