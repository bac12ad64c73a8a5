"""Graduate multiple choice that stands in for GPQA-D (held out): 20 authored items each of physics, chemistry, biology.

The bank `data/questions/gpqa_bank.yaml` names the right option first. Gold letters are dealt evenly over the split and
within each domain; all draws are keyed by the family or the item's text.
"""

from __future__ import annotations

import random
from pathlib import Path

from banks import GraduateItem, choice, read_bank, round_robin

from suite.questions.phrasings import GENERAL, deal
from trinity_core import paths
from trinity_core.types import Question, Split

FAMILY = "gpqa"
BANK = paths.ROOT / "data" / "questions" / "gpqa_bank.yaml"
DOMAINS = ("physics", "chemistry", "biology")
LAYOUT = ("\n", "{}) {}", "\n")
PHRASINGS = (
    *GENERAL,
    "From a graduate examination: {bare}",
    "{bare}\nName the letter of the right option.",
    "Only one option is right.\n{bare}",
    "{bare}\nWhich option do you choose, and why?",
)


def build(split: Split, bank: Path = BANK) -> list[Question]:
    """The 60 questions of the test split, the domains in turn; the train split is empty."""
    if split == "train":
        return []
    items = read_bank(bank, GraduateItem)
    piles = [[item for item in items if item.domain == domain] for domain in DOMAINS]
    for domain, pile in zip(DOMAINS, piles, strict=True):
        random.Random(f"order {FAMILY} {domain}").shuffle(pile)
    items = round_robin(piles)
    domains = [item.domain for item in items]
    letters = deal(f"letters {FAMILY}", domains, 4)
    dealt = deal(f"phrasings {FAMILY}", domains, len(PHRASINGS))
    return [choice(FAMILY, split, i, item, letters[i], LAYOUT, PHRASINGS, dealt[i]) for i, item in enumerate(items)]
