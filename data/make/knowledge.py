"""Knowledge questions: four options a question, from the authored bank `data/questions/knowledge_bank.yaml`.

The bank names the right option first. Here each subject is halved into train and test, the gold letters are dealt
evenly (over the split and within each subject), and the options are set out in one of three layouts. All draws are
keyed by the split, the subject or the question's own text, so neither hash seed nor earlier draws can move an option.
"""

from __future__ import annotations

import random
from pathlib import Path

from banks import Item, choice, read_bank

from suite.questions.files import SPLITS
from suite.questions.phrasings import GENERAL, deal
from trinity_core import paths
from trinity_core.types import Question, Split

FAMILY = "knowledge"
BANK = paths.ROOT / "data" / "questions" / "knowledge_bank.yaml"
PHRASINGS = GENERAL + (
    "Choose the right option. {bare}",
    "{bare}\nReply with one letter.",
    "A quiz question: {bare}",
    "{bare}\nWhich letter is it?",
)
LAYOUTS = (("\n", "{}. {}", "\n"), (" ", "({}) {}", " "), ("\n", "{}) {}", "; "))


def build(split: Split, bank: Path = BANK) -> list[Question]:
    """The split's half of each subject, in an order that mixes the subjects."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    items = _half(read_bank(bank, Item), split)
    subjects = [item.subject for item in items]
    letters = deal(f"letters {FAMILY}-{split}", subjects, 4)
    layouts = deal(f"layouts {FAMILY}-{split}", subjects, len(LAYOUTS))
    dealt = deal(f"phrasings {FAMILY}-{split}", subjects, len(PHRASINGS))
    return [
        choice(FAMILY, split, i, item, letters[i], LAYOUTS[layouts[i]], PHRASINGS, dealt[i])
        for i, item in enumerate(items)
    ]


def _half(items: list[Item], split: Split) -> list[Item]:
    """Every second item of each shuffled subject; odd items over go to train and test in turn.

    The half comes in rounds of one item a subject, so the first questions already show many subjects.
    """
    rounds: list[list[Item]] = []
    extra = 0
    for subject in sorted({item.subject for item in items}):
        own = [item for item in items if item.subject == subject]
        random.Random(f"halves {FAMILY} {subject}").shuffle(own)
        start = SPLITS.index(split) if extra % 2 == 0 else 1 - SPLITS.index(split)
        extra += len(own) % 2
        for turn, item in enumerate(own[start::2]):
            if turn == len(rounds):
                rounds.append([])
            rounds[turn].append(item)
    for turn, members in enumerate(rounds):
        random.Random(f"round {FAMILY}-{split} {turn}").shuffle(members)
    return [item for members in rounds for item in members]
