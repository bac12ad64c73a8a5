"""Phrasings: the words around a question's content, and how they are dealt out.

A hidden state could separate the families by a fixed phrase alone. So every family has ten phrasings, six of them the
same in all families, and each question gets one of them independently of what it asks: equally often in each split and
spread evenly over the templates. `Question.bare` is the control without any of these words.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from trinity_core.types import AnswerKind, Family, Question, Split

# Shared by all families: the content alone, words before, words after, words on both sides.
GENERAL = (
    "{bare}",
    "Here is a task. {bare}",
    "Answer this: {bare}",
    "{bare}\nThink it through and give your answer at the end.",
    "I need some help with this one.\n{bare}",
    "Please look at the following.\n{bare}\nState your answer clearly.",
)


def apply_phrasing(phrasings: Sequence[str], index: int, bare: str) -> str:
    """`bare` in phrasing number `index` (0-based). Not `str.format`: `bare` may hold braces (code does)."""
    return phrasings[index].replace("{bare}", bare)


def phrased(
    family: Family, split: Split, number: int, kind: AnswerKind, bare: str, reference: str,
    phrasings: Sequence[str], phrasing: int, **meta: Any,
) -> Question:  # fmt: skip
    """Question `number` of the family's split, its content in phrasing number `phrasing`."""
    text, name = apply_phrasing(phrasings, phrasing, bare), f"{family}-{split}-{number:03d}"
    return Question(name, family, split, text, bare, phrasing, kind, reference, meta)


def deal(key: str, groups: Sequence[str], n: int) -> list[int]:
    """One of `0 .. n-1` for each question of a split, in order; `groups[i]` is question i's template or subject.

    The questions are lined up by group and dealt shuffled rounds of all n numbers, so counts differ by at most one over
    the split and by at most two within a group. `key` (what is dealt, family, split) seeds the shuffles.
    """
    rng = random.Random(key)
    names = sorted(set(groups))
    rng.shuffle(names)
    line = sorted(range(len(groups)), key=lambda i: (names.index(groups[i]), i))
    dealt = [0] * len(groups)
    deck: list[int] = []
    for i in line:
        if not deck:
            deck = list(range(n))
            rng.shuffle(deck)
        dealt[i] = deck.pop()
    return dealt
