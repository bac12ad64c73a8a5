"""Questions, each with a reference that a checker reads."""

from suite.questions.files import FAMILIES, load_questions
from suite.questions.heldout import load_heldout

__all__ = ["FAMILIES", "load_heldout", "load_questions"]
