"""Whether an answer is right."""

from suite.checkers.check import check_answer, check_reference
from trinity_core.types import Question

__all__ = ["check_answer", "check_reference", "is_right"]


def is_right(question: Question, answer: str) -> bool:
    """What the role loop asks: the question's own checker. ValueError for a question without one (kind "judge")."""
    if question.kind == "judge":
        raise ValueError(f"question {question.id} has no automatic checker (kind 'judge'); pass check=...")
    return check_answer(question.kind, question.reference, answer, question=question).correct
