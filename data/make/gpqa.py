"""Graduate multiple choice that stands in for GPQA-D (held out): 20 authored items each of physics, chemistry, biology.

The bank `data/questions/gpqa_bank.yaml` names the right option first. Gold letters are dealt evenly over the split and
within each domain; all draws are keyed by the family or the item's text.
"""

from __future__ import annotations

import random
from pathlib import Path

from knowledge import LETTERS, read_bank

from suite.questions.phrasings import GENERAL, apply_phrasing, deal
from trinity_core import paths
from trinity_core.types import Question, Split

FAMILY = "gpqa"
BANK = paths.ROOT / "data" / "questions" / "gpqa_bank.yaml"
DOMAINS = ("physics", "chemistry", "biology")
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
    items = read_bank(bank)
    for number, item in enumerate(items, 1):
        if item.get("domain") not in DOMAINS:
            raise ValueError(f"{bank}, item {number}: domain is {item.get('domain')!r}; choose {', '.join(DOMAINS)}")
    piles = [[item for item in items if item["domain"] == domain] for domain in DOMAINS]
    for domain, pile in zip(DOMAINS, piles, strict=True):
        random.Random(f"order {FAMILY} {domain}").shuffle(pile)
    items = [pile[turn] for turn in range(max(map(len, piles))) for pile in piles if turn < len(pile)]
    domains = [item["domain"] for item in items]
    letters = deal(f"letters {FAMILY}", domains, 4)
    dealt = deal(f"phrasings {FAMILY}", domains, len(PHRASINGS))
    questions = []
    for i, item in enumerate(items):
        right, *wrong = (option.strip() for option in item["options"])
        random.Random(f"options {item['question']}").shuffle(wrong)
        options = [*wrong[: letters[i]], right, *wrong[letters[i] :]]
        listed = "\n".join(f"{letter}) {option}" for letter, option in zip(LETTERS, options, strict=True))
        bare = f"{item['question'].strip()}\n{listed}"
        questions.append(
            Question(
                id=f"{FAMILY}-{split}-{i:03d}",
                family=FAMILY,
                split=split,
                text=apply_phrasing(PHRASINGS, dealt[i], bare),
                bare=bare,
                phrasing=dealt[i],
                kind="choice",
                reference=LETTERS[letters[i]],
                meta={
                    "subject": item["subject"],
                    "domain": item["domain"],
                    "options": options,
                    "difficulty": item["difficulty"],
                },
            )
        )
    return questions
