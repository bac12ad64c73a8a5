"""From templates to a family's questions: one generator a question, seeded by its id, so no build depends on another.

A template is a function `(rng, number) -> Item`: `rng` is the question's own generator, `number` counts the template's
questions over both splits (a template whose answer is yes or no can balance by it).
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from suite.questions.files import KINDS, SPLITS
from suite.questions.phrasings import GENERAL, deal, phrased
from trinity_core.types import Family, Question, Split

TRIES = 500
T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """A question's content and its answer; `difficulty` is 1 (one step) to 3 (several steps or an idea)."""

    bare: str
    reference: str
    difficulty: int


Template = Callable[[random.Random, int], Item]
Drawn = tuple[Any, ...]  # the answer, then the values of a wording's braces
WORDINGS, _OWN = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("wordings.yaml", "phrasings.yaml")
)
PHRASINGS = {family: (*GENERAL, *own) for family, own in _OWN.items()}


def word(name: str, number: int, answer: Any, *values: Any) -> Item:
    """The wording of template `name` whose turn it is, filled in; an answer that is a tuple has an entry for each."""
    wordings = WORDINGS[name]
    text, answer, difficulty = (
        in_turn(number, one) if isinstance(one, tuple | list) else one
        for one in (wordings["texts"], answer, wordings.get("difficulty", 3))
    )
    return Item(text.format(*values), str(answer), difficulty)


def worded(draw: Callable[[random.Random], Drawn]) -> Template:
    """Makes a template of a function that draws numbers for the wordings under its name; these take turns."""

    @functools.wraps(draw)
    def template(rng: random.Random, number: int) -> Item:
        return word(draw.__name__, number, *draw(rng))

    return template


def numbers(bare: str) -> tuple[str, ...]:
    """The numbers of a text in reading order: they come once in a template, whatever the story."""
    return tuple(re.findall(r"\d+", bare))


def by_name(*templates: Template) -> dict[str, Template]:
    """The templates under their functions' names."""
    return {template.__name__: template for template in templates}


def in_turn(number: int, options: Sequence[T]) -> T:
    """The option whose turn it is: a template's wordings come equally often, whatever its generator draws."""
    return options[number % len(options)]


def build_from_templates(
    family: Family,
    templates: Mapping[str, Template],
    per_template: int,
    split: Split,
    content: Callable[[str], Hashable] = str,
) -> list[Question]:
    """`per_template` questions of each template for `split`, no two alike in `content(bare)` within or across splits.

    The templates take turns in shuffled rounds, so the first questions of a file already show all of them. Both splits
    are drawn whichever is asked for: the test split must avoid the train split. RuntimeError when a template runs dry.
    """
    phrasings = PHRASINGS[family]
    built: dict[Split, list[Question]] = {}
    seen: set[Hashable] = set()
    for part, name in enumerate(SPLITS):
        order = []
        for turn in range(per_template):
            names = sorted(templates)
            random.Random(f"{family}-{name} round {turn}").shuffle(names)
            order += [(template, part * per_template + turn) for template in names]
        dealt = deal(f"phrasings {family}-{name}", [template for template, _ in order], len(phrasings))
        built[name] = []
        for i, (template, number) in enumerate(order):
            identity = f"{family}-{name}-{i:03d}"
            item = _draw(templates[template], identity, template, number, seen, content)
            meta = {"template": template, "difficulty": item.difficulty}
            question = phrased(family, name, i, KINDS[family], item.bare, item.reference, phrasings, dealt[i], **meta)
            built[name].append(question)
    return built[split]


def _draw(
    make: Template, identity: str, template: str, number: int, seen: set[Hashable], content: Callable[[str], Hashable]
) -> Item:
    """The first item of the question's own stream of draws that is new; it is then marked as seen."""
    for attempt in range(TRIES):
        item = make(random.Random(f"{identity} {template} {attempt}"), number)
        if (key := (template, content(item.bare))) not in seen:
            seen.add(key)
            return item
    raise RuntimeError(f"template {template!r} gave nothing new for {identity} in {TRIES} draws; widen its numbers")
