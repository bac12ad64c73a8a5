"""What an agent can read in a role's prompt: the inverse of `roles.build_prompt`, down to single notes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trinity_core.roles import NOTE_LIKE, parse_suggestion, read_prompt, unguard
from trinity_core.types import Role

NOTE = re.compile(r"^\[(worker|thinker|verifier|\d+)\] ", re.M)


@dataclass(frozen=True)
class Case:
    """One call as the agent sees it.

    `answer`: the latest Worker's text; `plan`: the last plan (None: none was said); `verdict`: the last Verifier's
    line on `answer`, None where nobody has judged it; `rejected`: whether that is a REVISE.
    """

    role: Role
    question: str
    answer: str | None
    plan: str | None
    verdict: str | None

    @property
    def rejected(self) -> bool:
        return self.verdict is not None and self.verdict.startswith("REVISE")


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
