"""The suite's plain records. Frozen, so that a value seen once stays what it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Family = Literal["math", "knowledge", "reasoning", "code"]
Split = Literal["train", "test"]
AnswerKind = Literal["math", "choice", "text", "code"]


@dataclass(frozen=True)
class Question:
    """One question with the reference that its checker reads.

    `text` is what a model sees: `bare` (the content alone) in one of the family's phrasings; `phrasing` is that
    phrasing's number (0-based). `reference` is the right answer as text (for `choice` the letter; for `code` a
    reference solution). `meta` holds what only some families have: `template` or `subject`, `options` (four strings,
    in letter order), `entry_point` and `tests` (code).
    """

    id: str
    family: Family
    split: Split
    text: str
    bare: str
    phrasing: int
    kind: AnswerKind
    reference: str
    meta: dict[str, Any] = field(default_factory=dict)
