"""Tasks: the questions of the four in-distribution families, each with a reference that its checker reads."""

from __future__ import annotations

from trinity_core.tasks.questions import FAMILIES, load_questions

__all__ = ["FAMILIES", "load_questions"]
