"""Recorded LLMs: published files of real LLMs' scores, answers and costs, read strictly, replayed by the question."""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "readers": ("RecordedError",),
    "tables": ("RecordedTable", "data_dir", "drop_overlap", "read_table", "read_tables"),
}
__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> object:
    """Imports on first use: `python -m trinity_core.recorded --help` needs no array."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
