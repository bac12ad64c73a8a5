"""Tasks: questions, each with a reference, and the checkers that read it."""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "questions": ("FAMILIES", "load_questions"),
    "checkers": ("check_answer", "check_reference"),
    "errors": ("DataError",),
    "sandbox": ("run_code", "sandbox_status"),
    "heldout": ("load_heldout",),
    "benchmarks": ("load_benchmark",),
}
__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> object:
    """Imports on first use: `python -m trinity_core.tasks.questions` must not find its own module already loaded."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
