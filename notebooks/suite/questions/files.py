"""The question sets of `data/questions`: one JSON object a line holds the fields of `types.Question`.

The files are committed, so that a reader can look at them and every machine reads the same questions. `data/make` built
them (`python data/make/questions.py --check` builds them again and compares); `load_questions` checks every line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from trinity_core import paths
from trinity_core.types import AnswerKind, DataError, Family, Question, Split

SPLITS: tuple[Split, ...] = ("train", "test")
FAMILIES = ("math", "knowledge", "reasoning", "code")
KINDS = {"math": "math", "knowledge": "choice", "reasoning": "text", "code": "code"}
KINDS |= {"aime": "math", "gpqa": "choice", "mtbench": "judge"}  # test splits alone, read by `heldout.load_heldout`
WRITTEN = tuple(KINDS)  # one file each
LETTERS = "ABCD"


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("it must be text that is not empty")
    return text


def _different(options: list[str]) -> list[str]:
    if len({option.strip().casefold() for option in options}) < len(options):
        raise ValueError("they must differ")
    return options


Text = Annotated[str, AfterValidator(_written)]
Options = Annotated[list[Text], Field(min_length=4, max_length=4), AfterValidator(_different)]
Turns = Annotated[list[Text], Field(min_length=2, max_length=2)]


class Strict(BaseModel):
    """Exact types, no other fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


class _Line(Strict):
    id: str
    family: Family
    split: Split
    text: Text
    bare: Text
    phrasing: NonNegativeInt
    kind: AnswerKind
    reference: Text
    meta: dict[str, Any]

    @model_validator(mode="after")
    def _fits_together(self) -> _Line:
        if self.kind != KINDS.get(self.family):
            raise ValueError(f"kind is {self.kind!r}; {self.family} has {KINDS.get(self.family)!r}")
        if not re.fullmatch(f"{self.family}-{self.split}-[0-9]{{3}}", self.id):
            raise ValueError(f"id {self.id!r} is not like {self.family}-{self.split}-000")
        if self.bare not in self.text:
            raise ValueError(f"the text does not hold the bare question {self.bare!r}")
        if self.kind == "choice" and self.reference not in tuple(LETTERS):
            raise ValueError(f"reference {self.reference!r} is not one of the letters {', '.join(LETTERS)}")
        return self


def faults(error: ValidationError) -> str:
    """The first fault that pydantic found: field, value, what is needed."""
    fault = error.errors(include_url=False)[0]
    name = ".".join(map(str, fault["loc"]))
    shown = "" if fault["type"] == "missing" or not name else f" is {fault['input']!r:.200}"
    return ": ".join(filter(None, (name + shown, fault["msg"].removeprefix("Value error, "))))


def question_file(family: str) -> Path:
    """Where the family's questions stand: `data/questions/<family>.jsonl`."""
    return paths.DATA / "questions" / f"{family}.jsonl"


def load_questions(
    family: str | None = None, split: str | None = None, per_family: int | None = None
) -> list[Question]:
    """The questions in file order: of one family or of all, of one split or of both.

    `per_family` keeps the first so many of each (family, split). ValueError names an unknown family or split, a
    `per_family` below 1, and any bad line by file and line number.
    """
    for what, given, known in (("family", family, FAMILIES), ("split", split, SPLITS)):
        if given not in (None, *known):
            raise ValueError(f"unknown {what} {given!r}; choose one of {', '.join(known)}")
    if per_family is not None and (type(per_family) is not int or per_family < 1):
        raise ValueError(f"per_family is {per_family!r}; give a whole number of at least 1 (or None for all)")
    chosen = []
    for name in [family] if family else FAMILIES:
        questions = read_questions(question_file(name))
        for part in [split] if split else SPLITS:
            chosen += [question for question in questions if question.split == part][:per_family]
    return chosen


def read_questions(path: Path) -> list[Question]:
    """All questions of one file, whose name is the family's. DataError names file, line, fault and value."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        remedy = "rebuild it with: python data/make/questions.py --build"
        raise FileNotFoundError(f"no question file {path}; {remedy}") from None
    questions: list[Question] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        try:
            record = _Line.model_validate_json(line)
        except ValidationError as error:
            raise DataError(f"{path}, line {number}: {faults(error)}") from None
        if record.family != path.stem:
            raise DataError(f"{path}, line {number}: family {record.family!r} in the file of {path.stem!r}")
        if record.id in seen:
            raise DataError(f"{path}, line {number}: id {record.id!r} stands already on line {seen[record.id]}")
        seen[record.id] = number
        questions.append(Question(**dict(record)))
    return questions
