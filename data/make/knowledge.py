"""Knowledge questions: four options a question, from the authored bank `data/questions/knowledge_bank.yaml`.

The bank names the right option first. Here each subject is halved into train and test, the gold letters are dealt
evenly (over the split and within each subject), and the options are set out in one of three layouts. All draws are
keyed by the split, the subject or the question's own text, so neither hash seed nor earlier draws can move an option.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from suite.questions.files import SPLITS
from suite.questions.phrasings import GENERAL, apply_phrasing, deal
from trinity_core import paths
from trinity_core.types import Question, Split

FAMILY = "knowledge"
LETTERS = "ABCD"
BANK = paths.DATA / "questions" / "knowledge_bank.yaml"
PHRASINGS = GENERAL + (
    "Choose the right option. {bare}",
    "{bare}\nReply with one letter.",
    "A quiz question: {bare}",
    "{bare}\nWhich letter is it?",
)
# before the first option, between letter and option, between options
LAYOUTS = (("\n", "{}. {}", "\n"), (" ", "({}) {}", " "), ("\n", "{}) {}", "; "))


def read_bank(path: Path = BANK) -> list[dict[str, Any]]:
    """The bank's items: subject, question, options (the right one first), note. ValueError names item and fault."""
    import yaml

    items = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(items, list):
        raise ValueError(f"{path}: the bank is a list of items, not {type(items).__name__}")
    asked: dict[str, int] = {}
    for number, item in enumerate(items, 1):
        where = f"{path}, item {number}"
        if not isinstance(item, dict):
            raise ValueError(f"{where}: an item is a mapping, not {item!r}")
        for name in ("subject", "question", "note"):
            if not isinstance(item.get(name), str) or not item[name].strip():
                raise ValueError(f"{where}: {name} is {item.get(name)!r}; it must be text that is not empty")
        options = item.get("options")
        if not isinstance(options, list) or not all(isinstance(option, str) and option.strip() for option in options):
            raise ValueError(f"{where}: options are {options!r}; four texts are needed (quote numbers)")
        if len(options) != 4 or len({option.strip().casefold() for option in options}) != 4:
            raise ValueError(f"{where}: options are {options!r}; four different texts are needed")
        if item.get("difficulty") not in (1, 2, 3):
            raise ValueError(f"{where}: difficulty is {item.get('difficulty')!r}; it must be 1, 2 or 3")
        key = " ".join(item["question"].casefold().split())
        if key in asked:
            raise ValueError(f"{where}: the question stands already as item {asked[key]}: {item['question']!r}")
        asked[key] = number
    return items


def build(split: Split, bank: Path = BANK) -> list[Question]:
    """The split's half of each subject, in an order that mixes the subjects."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    items = _half(read_bank(bank), split)
    subjects = [item["subject"] for item in items]
    letters = deal(f"letters {FAMILY}-{split}", subjects, 4)
    layouts = deal(f"layouts {FAMILY}-{split}", subjects, len(LAYOUTS))
    dealt = deal(f"phrasings {FAMILY}-{split}", subjects, len(PHRASINGS))
    return [
        _question(f"{FAMILY}-{split}-{i:03d}", split, item, letters[i], layouts[i], dealt[i])
        for i, item in enumerate(items)
    ]


def _half(items: list[dict[str, Any]], split: Split) -> list[dict[str, Any]]:
    """Every second item of each shuffled subject; odd items over go to train and test in turn.

    The half comes in rounds of one item a subject, so the first questions already show many subjects.
    """
    rounds: list[list[dict[str, Any]]] = []
    extra = 0
    for subject in sorted({item["subject"] for item in items}):
        own = [item for item in items if item["subject"] == subject]
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


def _question(identity: str, split: Split, item: dict[str, Any], letter: int, layout: int, phrasing: int) -> Question:
    """The item with its right option at `letter` (0-based), the wrong ones around it in shuffled order."""
    right, *wrong = (option.strip() for option in item["options"])
    random.Random(f"options {item['question']}").shuffle(wrong)
    options = wrong[:letter] + [right] + wrong[letter:]
    before, shape, between = LAYOUTS[layout]
    listed = between.join(shape.format(*pair) for pair in zip(LETTERS, options, strict=True))
    bare = f"{item['question'].strip()}{before}{listed}"
    return Question(
        id=identity,
        family=FAMILY,
        split=split,
        text=apply_phrasing(PHRASINGS, phrasing, bare),
        bare=bare,
        phrasing=phrasing,
        kind="choice",
        reference=LETTERS[letter],
        meta={"subject": item["subject"], "options": options, "difficulty": item["difficulty"]},
    )
