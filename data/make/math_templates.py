"""Math questions: 24 templates of school and contest topics, answers exact (whole number, `3/8`, `2.5`, `35%`)."""

from __future__ import annotations

from math_contest import CONTEST
from math_school import SCHOOL
from templates import build_from_templates, numbers

from suite.questions.phrasings import GENERAL
from trinity_core.types import Question, Split

FAMILY = "math"
PER_TEMPLATE = 5
PHRASINGS = GENERAL + (
    "Work out the answer. {bare}",
    "{bare} Show the main steps.",
    "This came up in my homework: {bare}",
    "{bare}\nGive the exact value.",
)
TEMPLATES = SCHOOL | CONTEST


def build(split: Split) -> list[Question]:
    """The 120 questions of a split; the same numbers never come twice in a template, whatever the story."""
    return build_from_templates(FAMILY, "math", split, TEMPLATES, PHRASINGS, PER_TEMPLATE, content=numbers)
