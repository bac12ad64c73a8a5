"""What the families that come from an authored bank have in common: reading it, taking turns, setting out options."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from suite.questions.files import LETTERS, Options, Strict, Text, Turns, faults
from suite.questions.phrasings import phrased
from trinity_core.types import Family, Question, Split

T = TypeVar("T")


class Item(Strict):
    """A multiple-choice item; the right option stands first, `note` says why it is right."""

    subject: Text
    question: Text
    options: Options
    note: Text
    difficulty: Literal[1, 2, 3]


class GraduateItem(Item):
    domain: Literal["physics", "chemistry", "biology"]


class Prompt(Strict):
    """A two-turn prompt; `notes` tell a judge what a good reply holds."""

    category: Literal["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"]
    turns: Turns
    notes: Text


B = TypeVar("B", Item, GraduateItem, Prompt)


def read_bank(path: Path, kind: type[B]) -> list[B]:
    """The bank's items. ValueError names file, item, field, value and fault, also of one that stands there twice."""
    items = TypeAdapter(list[Any]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    read: list[B] = []
    asked: dict[str, int] = {}
    for number, item in enumerate(items, 1):
        try:
            read.append(kind.model_validate(item))
        except ValidationError as error:
            raise ValueError(f"{path}, item {number}: {faults(error)}") from None
        words = item["turns"][0] if kind is Prompt else item["question"]
        first = asked.setdefault(" ".join(words.casefold().split()), number)
        if first != number:
            raise ValueError(f"{path}, item {number}: the question stands already as item {first}: {words!r}")
    return read


def round_robin(piles: Sequence[Sequence[T]]) -> list[T]:
    """The piles' first items, then their second ones, and so on."""
    return [pile[turn] for turn in range(max(map(len, piles))) for pile in piles if turn < len(pile)]


def choice(
    family: Family, split: Split, number: int, item: Item, letter: int, layout: tuple[str, str, str],
    phrasings: Sequence[str], phrasing: int,
) -> Question:  # fmt: skip
    """The item as a question, its right option at `letter` (0-based), the wrong ones around it in shuffled order.

    `layout`: what stands before the first option, between letter and option, between options.
    """
    right, *wrong = (option.strip() for option in item.options)
    random.Random(f"options {item.question}").shuffle(wrong)
    options = [*wrong[:letter], right, *wrong[letter:]]
    before, shape, between = layout
    listed = between.join(shape.format(*pair) for pair in zip(LETTERS, options, strict=True))
    bare = f"{item.question.strip()}{before}{listed}"
    more = {"domain": item.domain} if isinstance(item, GraduateItem) else {}
    meta = {"subject": item.subject, **more, "options": options, "difficulty": item.difficulty}
    return phrased(family, split, number, "choice", bare, LETTERS[letter], phrasings, phrasing, **meta)
