"""The suite's plain records. Frozen, so that a value seen once stays what it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Family = Literal["math", "knowledge", "reasoning", "code", "aime", "bigcode", "gpqa", "mtbench"]
Split = Literal["train", "test"]
AnswerKind = Literal["math", "choice", "text", "code", "judge"]
Role = Literal["worker", "thinker", "verifier"]

# The order of a head's last three logits; the released code calls the Worker "solver".
ROLES: tuple[Role, ...] = ("worker", "thinker", "verifier")


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


@dataclass(frozen=True)
class Check:
    """What a checker found: `answer` as read out of the text (None: nothing readable), `reason` why it is not right."""

    correct: bool
    answer: str | None
    reason: str = ""


@dataclass(frozen=True)
class Message:
    """An agent's reply to one call. Token counts and dollars are None where unknown, never 0 in place of unknown.

    `finish`: "stop" (complete), "length" (cut at the output cap: neither an answer nor an ACCEPT), "error" (the call
    failed for good; `text` is then empty and `error` says why). `cached`: served from disk, nothing was paid now.
    """

    text: str
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    finish: Literal["stop", "length", "error"]
    cached: bool = False
    error: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"a message's text is {self.text!r}; an agent that said nothing has the text ''")


@dataclass(frozen=True)
class Entry:
    """One line of a transcript: the role that spoke and its condensed output O_k."""

    role: Role
    text: str


@dataclass(frozen=True)
class Turn:
    """Turn k (1-based): who acted in which role, what it was asked, what it said, and what was kept (O_k)."""

    index: int
    agent: int
    role: Role
    overridden: bool  # the previous Thinker named this role in place of the head's
    agent_probabilities: tuple[float, ...]
    role_probabilities: tuple[float, ...]
    prompt: tuple[dict[str, str], ...]
    message: Message
    output: str
    verdict: Literal["ACCEPT", "REVISE"] | None = None  # of a Verifier
    suggested_role: Role | None = None  # by a Thinker, for the next turn


@dataclass(frozen=True)
class Rollout:
    """A trajectory tau: the question, its turns, the latest Worker's answer and the terminal reward R in {0, 1}.

    `reward` is None for a failed rollout (an agent's call failed for good): it is left out of every mean, never ranked
    as 0. `stop`: "accepted", "turn limit", "verifier before answer" (reward 0), or "failed call".
    """

    question: Question
    candidate: int
    replicate: int
    turns: tuple[Turn, ...]
    answer: str | None
    reward: float | None
    stop: Literal["accepted", "turn limit", "verifier before answer", "failed call"]


class DataError(ValueError):
    """A question's own data (reference, tests, options) cannot be used. Never raised for an answer, however odd."""
