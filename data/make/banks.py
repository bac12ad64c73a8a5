"""The families that come from an authored bank, `data/questions/<family>_bank.yaml`.

knowledge  four options a question; each subject is halved into train and test, options stand in one of three layouts
gpqa       stands in for GPQA-D (held out): 20 graduate items each of physics, chemistry and biology
mtbench    stands in for MT-Bench (held out): two-turn prompts; the notes on a good reply are the question's reference

A bank names the right option first. Gold letters are dealt evenly, over the split and within each subject or domain.
All draws are keyed by the split, the subject or the question's own text, so neither hash seed nor earlier draws can
move an option.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import yaml
from pydantic import TypeAdapter, ValidationError
from templates import PHRASINGS

from suite.questions.files import LETTERS, SPLITS, Options, Strict, Text, Turns, faults
from suite.questions.phrasings import deal, phrased
from trinity_core.paths import ROOT
from trinity_core.types import Question, Split

Domain = Literal["physics", "chemistry", "biology"]
Category = Literal["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"]
# What stands before the first option, between letter and option, between options.
LAYOUTS = (("\n", "{}. {}", "\n"), (" ", "({}) {}", " "), ("\n", "{}) {}", "; "))
GPQA_LAYOUT = ("\n", "{}) {}", "\n")
T = TypeVar("T")


class Item(Strict):
    """A multiple-choice item; the right option stands first, `note` says why it is right."""

    subject: Text
    question: Text
    options: Options
    note: Text
    difficulty: Literal[1, 2, 3]


class GraduateItem(Item):
    domain: Domain


class Prompt(Strict):
    """A two-turn prompt; `notes` tell a judge what a good reply holds."""

    category: Category
    turns: Turns
    notes: Text


B = TypeVar("B", Item, GraduateItem, Prompt)


def bank(family: str) -> Path:
    """Where a family's bank lies."""
    return ROOT / "data" / "questions" / f"{family}_bank.yaml"


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


def knowledge(split: Split, path: Path = bank("knowledge")) -> list[Question]:
    """The split's half of each subject, in an order that mixes the subjects."""
    items = _half(read_bank(path, Item), split)
    subjects = [item.subject for item in items]
    layouts = deal(f"layouts knowledge-{split}", subjects, len(LAYOUTS))
    return _choices("knowledge", split, items, subjects, f"knowledge-{split}", [LAYOUTS[layout] for layout in layouts])


def gpqa(split: Split, path: Path = bank("gpqa")) -> list[Question]:
    """The 60 questions, the domains in turn."""
    items = read_bank(path, GraduateItem)
    piles = [[item for item in items if item.domain == domain] for domain in get_args(Domain)]
    for domain, pile in zip(get_args(Domain), piles, strict=True):
        random.Random(f"order gpqa {domain}").shuffle(pile)
    items = _round_robin(piles)
    return _choices("gpqa", split, items, [item.domain for item in items], "gpqa", [GPQA_LAYOUT] * len(items))


def mtbench(split: Split, path: Path = bank("mtbench")) -> list[Question]:
    """The prompts, the categories in turn: `text` is the first turn in its phrasing, `meta["turns"]` has both bare."""
    items = read_bank(path, Prompt)
    items = _round_robin([[item for item in items if item.category == category] for category in get_args(Category)])
    phrasings = PHRASINGS["mtbench"]
    dealt = deal("phrasings mtbench", [item.category for item in items], len(phrasings))
    questions = []
    for i, item in enumerate(items):
        turns = [turn.strip() for turn in item.turns]
        meta = {"category": item.category, "turns": turns}
        questions.append(
            phrased("mtbench", split, i, "judge", turns[0], item.notes.strip(), phrasings, dealt[i], **meta)
        )
    return questions


def _half(items: list[Item], split: Split) -> list[Item]:
    """Every second item of each shuffled subject; odd items over go to train and test in turn.

    The half comes in rounds of one item a subject, so the first questions already show many subjects.
    """
    piles: list[list[Item]] = []
    extra = 0
    for subject in sorted({item.subject for item in items}):
        own = [item for item in items if item.subject == subject]
        random.Random(f"halves knowledge {subject}").shuffle(own)
        start = SPLITS.index(split) if extra % 2 == 0 else 1 - SPLITS.index(split)
        extra += len(own) % 2
        piles.append(own[start::2])
    rounds = [[pile[turn] for pile in piles if turn < len(pile)] for turn in range(max(map(len, piles)))]
    for turn, members in enumerate(rounds):
        random.Random(f"round knowledge-{split} {turn}").shuffle(members)
    return [item for members in rounds for item in members]


def _round_robin(piles: Sequence[Sequence[T]]) -> list[T]:
    """The piles' first items, then their second ones, and so on."""
    return [pile[turn] for turn in range(max(map(len, piles))) for pile in piles if turn < len(pile)]


def _choices(
    family: Any, split: Split, items: Sequence[Item], groups: list[str], key: str, layouts: Sequence[tuple]
) -> list[Question]:
    """The items as questions: letters and phrasings are dealt by `key`, evenly in each of the `groups`.

    The right option stands at its letter, the wrong ones around it in shuffled order.
    """
    letters, phrasings = deal(f"letters {key}", groups, 4), PHRASINGS[family]
    dealt = deal(f"phrasings {key}", groups, len(phrasings))
    questions = []
    for i, (item, letter, (before, shape, between)) in enumerate(zip(items, letters, layouts, strict=True)):
        right, *wrong = (option.strip() for option in item.options)
        random.Random(f"options {item.question}").shuffle(wrong)
        options = [*wrong[:letter], right, *wrong[letter:]]
        listed = between.join(shape.format(*pair) for pair in zip(LETTERS, options, strict=True))
        bare = f"{item.question.strip()}{before}{listed}"
        more = {"domain": item.domain} if isinstance(item, GraduateItem) else {}
        meta = {"subject": item.subject, **more, "options": options, "difficulty": item.difficulty}
        question = phrased(family, split, i, "choice", bare, LETTERS[letter], phrasings, dealt[i], **meta)
        questions.append(question)
    return questions
