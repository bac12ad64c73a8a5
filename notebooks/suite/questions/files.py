"""The question sets: reading them, and rebuilding them byte for byte.

    python -m suite.questions.files --build    writes data/questions/<family>.jsonl (templates, knowledge bank)
    python -m suite.questions.files --check    compares them with a fresh build, names a difference

One JSON object a line holds the fields of `types.Question`. The files are committed, so that a reader can look at them
and every machine reads the same questions; the loader trusts nothing in them.
"""

from __future__ import annotations

import json
import numbers
import re
from dataclasses import fields
from pathlib import Path

from trinity_core import paths
from trinity_core.types import Question, Split

SPLITS: tuple[Split, ...] = ("train", "test")
FAMILIES = ("math", "knowledge", "reasoning", "code")
HELD_OUT = ("aime", "gpqa", "mtbench")  # test splits alone, read through `heldout.load_heldout`
WRITTEN = FAMILIES + HELD_OUT  # one file each
KINDS = {"math": "math", "knowledge": "choice", "reasoning": "text", "code": "code"} | {
    "aime": "math",
    "gpqa": "choice",
    "mtbench": "judge",
}
NEEDED_META = {"choice": ("subject", "options"), "code": ("entry_point", "tests"), "judge": ("category", "turns")}
LETTERS = "ABCD"


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
    if family is not None and family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}; choose one of {', '.join(FAMILIES)}")
    if split is not None and split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")
    if per_family is not None and (isinstance(per_family, bool) or not isinstance(per_family, numbers.Integral)):
        raise ValueError(f"per_family is {per_family!r}; give a whole number (or None for all)")
    if per_family is not None and per_family < 1:
        raise ValueError(f"per_family is {per_family}; it must be at least 1 (or None for all)")
    chosen = []
    for name in [family] if family else FAMILIES:
        questions = read_questions(question_file(name))
        for part in [split] if split else SPLITS:
            chosen += [question for question in questions if question.split == part][:per_family]
    return chosen


def read_questions(path: Path) -> list[Question]:
    """All questions of one file, whose name is the family's. ValueError names file, line, fault and value."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no question file {path}; rebuild it with: python -m suite.questions.files --build"
        ) from None
    questions: list[Question] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        where = f"{path}, line {number}"
        question = _parse(line, where)
        if question.family != path.stem:
            raise ValueError(f"{where}: family {question.family!r} in the file of {path.stem!r}")
        if question.id in seen:
            raise ValueError(f"{where}: id {question.id!r} stands already on line {seen[question.id]}")
        seen[question.id] = number
        questions.append(question)
    return questions


def _parse(line: str, where: str) -> Question:
    """One line as a Question, every field checked."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not JSON ({error})") from None
    if not isinstance(record, dict):
        raise ValueError(f"{where}: a question is a JSON object, not {record!r}")
    names = [field.name for field in fields(Question)]
    for name in names:
        if name not in record:
            raise ValueError(f"{where}: field {name!r} is missing")
    for name in record:
        if name not in names:
            raise ValueError(f"{where}: unknown field {name!r}; the fields are {', '.join(names)}")
    question = Question(**record)
    if question.family not in WRITTEN:
        raise ValueError(f"{where}: unknown family {question.family!r}; choose one of {', '.join(WRITTEN)}")
    if question.split not in SPLITS:
        raise ValueError(f"{where}: unknown split {question.split!r}; choose one of {', '.join(SPLITS)}")
    if question.kind != KINDS[question.family]:
        raise ValueError(f"{where}: kind {question.kind!r}; {question.family} has {KINDS[question.family]!r}")
    if not isinstance(question.id, str) or not re.fullmatch(
        f"{question.family}-{question.split}-[0-9]{{3}}", question.id
    ):
        raise ValueError(f"{where}: id {question.id!r} is not like {question.family}-{question.split}-000")
    for name in ("text", "bare", "reference"):
        value = getattr(question, name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{where}: {name} is {value!r}; it must be text that is not empty")
    if question.bare not in question.text:
        raise ValueError(f"{where}: the text does not hold the bare question {question.bare!r}")
    if type(question.phrasing) is not int or question.phrasing < 0:
        raise ValueError(f"{where}: phrasing is {question.phrasing!r}; it must be a whole number from 0")
    if not isinstance(question.meta, dict):
        raise ValueError(f"{where}: meta is {question.meta!r}; it must be an object")
    for name in NEEDED_META.get(question.kind, ("template",)):
        if not question.meta.get(name):
            raise ValueError(f"{where}: meta lacks {name!r}")
    if question.kind == "judge":
        turns = question.meta["turns"]
        if not isinstance(turns, list) or len(turns) != 2 or not all(isinstance(t, str) and t.strip() for t in turns):
            raise ValueError(f"{where}: turns are {turns!r}; two texts are needed")
    if question.kind == "choice":
        options = question.meta["options"]
        if not isinstance(options, list) or len(set(map(str, options))) != 4 or len(options) != 4:
            raise ValueError(f"{where}: options are {options!r}; four different strings are needed")
        if question.reference not in tuple(LETTERS):
            raise ValueError(
                f"{where}: reference {question.reference!r} is not one of the letters {', '.join(LETTERS)}"
            )
    return question
