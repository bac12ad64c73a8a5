"""Reasoning questions: 15 templates whose answer is short free text (a name, a word, yes or no, a weekday, a number).

Every question has exactly one right answer. Difficulty 1 is one step, 2 a few, 3 a search over cases.
"""

from __future__ import annotations

from reasoning_logic import LOGIC
from reasoning_steps import STEPS
from templates import build_from_templates

from suite.questions.phrasings import GENERAL
from trinity_core.types import Question, Split

FAMILY = "reasoning"
PER_TEMPLATE = 8
PHRASINGS = GENERAL + (
    "A puzzle for you. {bare}",
    "{bare} Reply with a short answer.",
    "Read carefully.\n{bare}",
    "{bare}\nHow do you know?",
)
TEMPLATES = LOGIC | STEPS


def build(split: Split) -> list[Question]:
    """The 120 questions of a split, no two alike."""
    return build_from_templates(FAMILY, "text", split, TEMPLATES, PHRASINGS, PER_TEMPLATE)
