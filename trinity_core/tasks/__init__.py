"""Tasks: the questions of the four in-distribution families, each with a reference that its checker reads."""

from __future__ import annotations

__all__ = ["FAMILIES", "load_questions"]


def __getattr__(name: str) -> object:
    """Imports on first use: `python -m trinity_core.tasks.questions` must not find its own module already loaded."""
    if name in __all__:
        from trinity_core.tasks import questions

        return getattr(questions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
