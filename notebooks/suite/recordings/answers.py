"""What a recorded answer says: the letter of an option, or a number, and whether two answers agree.

Letters are read by the suite's checker of multiple choice, among the options that the question
lists as lines `A) ...`. Numbers follow the convention of GSM8K: what stands after the last `####`, else the last number
of the text. The suite's checker of mathematics wants a marked answer, which these texts often lack: on RouteLLM's GSM8K
it contradicts the recorded verdicts (two right answers that differ, a right and a wrong one that agree) four times as
often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from suite.checkers.choice_answers import LETTERS, extract
from suite.checkers.marks import shown

OPTION = re.compile(r"^([A-J])[).] *(\S.*)$", re.M)
NUMBER = re.compile(r"(?<![\w.])-?\$?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
MARK = "####"


def options_of(question: str) -> tuple[str, ...]:
    """The options' texts of a question that lists them as lines A), B), ...; empty where it does not."""
    found = OPTION.findall(question)
    for start in range(len(found)):  # the last list that begins with A and misses no letter
        letters = "".join(letter for letter, _ in found[start:])
        if len(letters) > 1 and LETTERS.startswith(letters):
            return tuple(text.strip() for _, text in found[start:])
    return ()


def read_answer(text: str, options: Sequence[str] = ()) -> str | None:
    """The letter, or without options the number as it is written shortest, that a text answers with; None: neither."""
    text = shown(text)
    if options:
        return extract(text, options) if text else None
    marked = text.rpartition(MARK)[2].strip().partition("\n")[0] if MARK in text else ""
    found = NUMBER.findall(marked)[:1] or NUMBER.findall(text)[-1:]
    if not found:
        return None
    value = Fraction(found[0].replace(",", "").replace("$", ""))
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
