"""What an agent can read in a role's prompt, and what pools share that answer prompts without a model.

`read_case` is the inverse of `roles.build_prompt`, down to single notes. A `ScriptedPool` (the simulated and the
recorded one) knows a fixed set of questions and finds the one that it is asked by its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from suite.pools.config import Messages
from trinity_core.pool import Agent, PoolError, check_agent
from trinity_core.roles import NOTE_LIKE, condense, parse_suggestion, read_prompt, unguard
from trinity_core.types import Message, Question, Role

NOTE = re.compile(r"^\[(worker|thinker|verifier|\d+)\] ", re.M)


@dataclass(frozen=True)
class Case:
    """One call as the agent sees it. `answer`: the latest Worker's text; `plan`: the last one; `verdict`: the last
    Verifier's line on `answer`; `rejected`: whether that is a REVISE. None: nobody has said one."""

    role: Role
    question: str
    answer: str | None
    plan: str | None
    verdict: str | None

    @property
    def rejected(self) -> bool:
        return self.verdict is not None and self.verdict.startswith("REVISE")


@lru_cache(4096)
def read_case(system: str, body: str) -> Case:
    """The case of a prompt's two messages. ValueError where they are not a prompt of the three roles."""
    role, parts = read_prompt([{"content": system}, {"content": body}])
    answer = plan = verdict = None
    pieces = NOTE.split(parts.get("Notes so far", ""))
    for who, text in zip(pieces[1::2], pieces[2::2], strict=True):
        text = unguard(NOTE_LIKE, text.strip())
        if who == "thinker":
            plan = text
        elif who == "verifier":
            verdict = text
        else:  # a Worker, or under the released rule a numbered thought, which only Workers have
            answer, verdict = text, None
    if "Plan" in parts:
        plan = parse_suggestion(parts["Plan"]).plan
    if "Latest answer" in parts:
        answer = parts["Latest answer"].strip()
    return Case(role, parts["Question"].strip(), answer, plan, verdict)


def said(text: str, tokens: int | None = None, cost: float | None = None) -> Message:
    """A complete message; tokens and dollars unknown where not given."""
    return Message(text, tokens, tokens, cost, "stop")


def kept(text: str, role: Role = "worker") -> str:
    """What a transcript keeps of a complete message (O_k)."""
    return condense(role, said(text))


def failed(error: str) -> Message:
    """A call that failed for good; `error` says why."""
    return Message("", None, None, None, "error", error=error)


class ScriptedPool:
    """L agents over a fixed set of `questions` (n,). A subclass gives `agents`, `_learn`s its questions, and has
    `_answer(agent, known, case, messages, replicate) -> Message`, with `known` what it knows of the question: an object
    with `question` and `place` (its number among them).
    """

    agents: tuple[Agent, ...]
    remedy: str  # what to do about a question that the pool does not know

    def _learn(self, known: Iterable[Any]) -> None:
        self._by_text = {one.question.text.strip(): one for one in known}
        self._by_id = {one.question.id: one for one in self._by_text.values()}
        self.questions = tuple(one.question for one in self._by_text.values())

    def known(self, question: Question | str) -> Any:
        """What the pool knows of a question (by itself or its id); PoolError where it has none of that name."""
        name = question if isinstance(question, str) else question.id
        if name not in self._by_id:
            raise PoolError(f"no question {name!r} in this pool; {self.remedy}")
        return self._by_id[name]

    def reply(self, agent: int, messages: Messages, replicate: int = 0) -> Message:
        """The agent's message; an error message where the prompt is not one of the roles' or the question unknown."""
        check_agent(self, agent)
        try:
            case = read_case(*(message["content"] for message in messages))
        except (ValueError, KeyError, TypeError) as error:
            return failed(f"NotAPrompt: {error}; this pool answers prompts of roles.build_prompt only")
        known = self._by_text.get(case.question)
        if known is None:
            text = f"no question of this text ({case.question[:60]!r}) among the pool's {len(self.questions)}"
            return failed(f"UnknownQuestion: {text}; {self.remedy}")
        return self._answer(agent, known, case, messages, replicate)

    async def ask(self, agent: int, messages: Messages, replicate: int) -> Message:
        """`reply`, for callers that await."""
        return self.reply(agent, messages, replicate)
