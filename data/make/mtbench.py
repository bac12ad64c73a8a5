"""Two-turn prompts that stand in for MT-Bench (held out), from the authored bank `data/questions/mtbench_bank.yaml`.

The bank gives each prompt's two turns and notes on a good reply: the question's reference, for a judge alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from banks import Prompt, read_bank, round_robin

from suite.questions.phrasings import GENERAL, deal, phrased
from trinity_core import paths
from trinity_core.types import Question, Split

FAMILY = "mtbench"
BANK = paths.ROOT / "data" / "questions" / "mtbench_bank.yaml"
CATEGORIES = get_args(Prompt.model_fields["category"].annotation)
PHRASINGS = (
    *GENERAL,
    "{bare}\nI may come back to this afterwards.",
    "First of two requests: {bare}",
    "{bare}\nTake your time.",
    "Hello! {bare}",
)


def build(split: Split, bank: Path = BANK) -> list[Question]:
    """The prompts of the test split, the categories in turn; the train split is empty.

    `text` is the first turn in its phrasing; the second turn stands in `meta["turns"][1]`, without any.
    """
    if split == "train":
        return []
    items = read_bank(bank, Prompt)
    items = round_robin([[item for item in items if item.category == category] for category in CATEGORIES])
    dealt = deal(f"phrasings {FAMILY}", [item.category for item in items], len(PHRASINGS))
    questions = []
    for i, item in enumerate(items):
        turns = [turn.strip() for turn in item.turns]
        meta = {"category": item.category, "turns": turns}
        questions.append(phrased(FAMILY, split, i, "judge", turns[0], item.notes.strip(), PHRASINGS, dealt[i], **meta))
    return questions
