"""The three roles (section 3.2): what each is asked, and what is kept of its reply.

Symbols: Q -> `question`, O_k -> `Entry`, C_k = (Q, O_1 ... O_k) -> `Transcript`. Two transcript rules, one setting:
- `paper` (default): every turn's O_k is appended, so the coordinator also sees plans and verdicts;
- `released`: only Workers' reasoning enters, numbered and unnamed; a plan goes to the next call only.

What the contracts leave open, each with a test: a verdict counts on a line of its own or as the very first word, and
anything but a plain ACCEPT is doubt, and doubt is REVISE. A Thinker names Worker or Verifier on a line `NEXT: ...`
beside a plan. A message cut at the output cap is progress, but no answer, ACCEPT or suggestion; an empty one adds no
line. What a question or an agent says cannot be read as a section of the prompt or as another's note: a line of that
form gets a backslash in front, in the prompt only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from trinity_core.types import ROLES, Entry, Message, Role

TRANSCRIPT_RULES = ("paper", "released")
KEEP_CHARACTERS = 2000  # of a message in O_k: the tail, where answers and verdicts stand

SYSTEM: dict[Role, str] = {
    "worker": (
        "You are the Worker of a team. Make concrete progress on the question: derive, compute or write code. "
        "Use the notes of the team where they help and correct them where they are wrong. Reason briefly. "
        "End with one line `Answer: ...` that holds the final answer alone (for multiple choice the letter); "
        "if the question asks for code, end with one fenced Python block instead."
    ),
    "thinker": (
        "You are the Thinker of a team. Do not solve the question: give the others a short plan, a decomposition, "
        "or a critique of what they did so far, on lines that begin with `PLAN:`. Then say who should act next, on a "
        "last line `NEXT: WORKER` or `NEXT: VERIFIER`."
    ),
    "verifier": (
        "You are the Verifier of a team. Check the latest answer to the question independently. "
        "If it is right and complete, end with the line `VERDICT: ACCEPT`. Otherwise say in one or two sentences what "
        "is wrong and end with the line `VERDICT: REVISE`."
    ),
}
HEADINGS = ("Question", "Notes so far", "Plan", "Latest answer", "Your task")
TASKS: dict[Role, str] = {
    "worker": "Work on the question now.",
    "thinker": "Plan or criticise now.",
    "verifier": "Give your verdict now.",
}


@dataclass(frozen=True)
class Transcript:
    """C_k: the question's text and the entries so far, under one of `TRANSCRIPT_RULES`."""

    question: str
    entries: tuple[Entry, ...] = ()
    rule: Literal["paper", "released"] = "paper"

    def messages(self) -> list[dict[str, str]]:
        """What the encoder reads: the question as the user's message, then one message an entry."""
        if self.rule == "paper":
            lines = [{"role": entry.role, "content": entry.text} for entry in self.entries]
        else:
            lines = [
                {"role": "thought", "content": f"{number}. {entry.text}"}
                for number, entry in enumerate(self.entries, 1)
            ]
        return [{"role": "user", "content": self.question}, *lines]

    def append(self, role: Role, output: str) -> Transcript:
        """C_(k+1); the same transcript where the output is empty or the rule keeps this role out."""
        if not output or (self.rule == "released" and role != "worker"):
            return self
        return Transcript(self.question, (*self.entries, Entry(role, output)), self.rule)


class Verdict(NamedTuple):
    """u in {ACCEPT, REVISE}, and the optional diagnosis (the text before the verdict's line)."""

    accept: bool
    diagnosis: str = ""


class Suggestion(NamedTuple):
    """A Thinker's plan and the role it names for the next turn (None: none, or not one that it may name)."""

    plan: str
    next_role: Role | None


# At most so many marks and blanks at each place: a search stays linear in the text's length, whatever that holds.
_LEAD = r"^[\s*_#`-]{0,12}?"
_COLON = r"[ \t*_`]{0,12}[:=\uff1a][\s*_`]{0,12}"
VERDICT_LINE = re.compile(rf"{_LEAD}verdict{_COLON}(accept|revise|reject)(?:ed)?\b", re.I | re.M)
VERDICT_FIRST = re.compile(r"[\s*_`]*(accept|revise|reject)(?:ed)?\b", re.I)
# What may follow the word ACCEPT: nothing, the end of a sentence, or a reason.
PLAIN_END = re.compile(r"[ \t*_`]*(?:$|\n|[.!;:,(\u2013\u2014]|-(?!\w)|(?:because|since|as)\b)", re.I)
DOUBT = re.compile(
    r"\b(?:revis|reject|verdict|but\b|unless\b|if\b|however\b|although\b|though\b|except\b|once\b|after\b|until\b"
    r"|provided\b|assuming\b|partial|only\b|not\b|never\b|cannot\b|wait\b|wrong|incorrect|would\b|should\b"
    r"|(?:no|nothing)\b(?! +(?:errors?|faults?|flaws?|issues?|mistakes?|problems?|failures?|wrong|missing)\b))"
    r"|n['\u2019]t\b",
    re.I,
)
NEXT_LINE = re.compile(
    rf"{_LEAD}next(?: role)?{_COLON}(worker|verifier)(?=[ \t*_`.]{{0,12}}$)[ \t*_`.]{{0,12}}$", re.I | re.M
)
PLAN_MARK = re.compile(rf"{_LEAD}plan{_COLON}", re.I | re.M)
HIDDEN_THOUGHT = re.compile(r"<(think|thinking)>.*?(?:</\1>|\Z)", re.S | re.I)
THOUGHT_END = re.compile(r"</think(?:ing)?>", re.I)  # some chat templates open the block in the prompt
LINE_BREAK = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")


def without_thought(text: str) -> str:
    """The message without hidden reasoning: `<think>` blocks, and what stands before a block's end whose start is not
    there."""
    return THOUGHT_END.split(HIDDEN_THOUGHT.sub("", text))[-1]


def visible(text: str) -> str:
    """The message without hidden reasoning (`<think>` blocks), outer blanks and characters that do not print.

    Every kind of line break is a newline and every kind of blank a space, so that no two words become one.
    """
    text = LINE_BREAK.sub("\n", without_thought(text))
    return "".join(c if c == "\n" or c == "\t" or c.isprintable() else " " * c.isspace() for c in text).strip()


def parse_verdict(text: str) -> Verdict:
    """The verdict of a Verifier's reply; doubt is REVISE. Words inside sentences never count (cases 9 and 10)."""
    shown = visible(text)
    lines = list(VERDICT_LINE.finditer(shown))
    found = lines[-1] if lines else VERDICT_FIRST.match(shown)
    if found is None:
        return Verdict(False, shown)
    rest = shown[found.end() :]
    diagnosis = _unmarked(shown[: found.start()]) or rest.strip(" .:!-*`\n")
    plain = PLAIN_END.match(rest) and not DOUBT.search(rest)
    return Verdict(found.group(1).lower() == "accept" and bool(plain), diagnosis)


def _unmarked(text: str) -> str:
    """What stands before a verdict: without earlier verdicts' lines and without a code fence that opens there."""
    kept = [line for line in text.split("\n") if not VERDICT_LINE.match(line)]
    return "\n".join(kept).strip().removesuffix("```").strip()


def parse_suggestion(text: str) -> Suggestion:
    """A Thinker's plan and named role. The role counts only beside a plan; only Worker or Verifier may be named."""
    shown = visible(text)
    lines = list(NEXT_LINE.finditer(shown))
    plan = PLAN_MARK.sub("", NEXT_LINE.sub("", shown)).strip()
    named: Role | None = None
    if lines and plan:
        named = "worker" if lines[-1].group(1).lower() == "worker" else "verifier"
    return Suggestion(plan, named)


def condense(role: Role, message: Message) -> str:
    """O_k, what is kept of a message: a Thinker's plan, a Worker's text, a Verifier's verdict and diagnosis.

    Empty for a failed call or an empty reply. Longer texts lose their beginning, never the end.
    """
    if role not in ROLES:
        raise ValueError(f"unknown role {role!r}; choose one of {', '.join(ROLES)}")
    if message.finish == "error" or not visible(message.text):
        return ""
    if role == "thinker":
        kept = parse_suggestion(message.text).plan
    elif role == "verifier":
        verdict = judge(message)
        kept = f"{'ACCEPT' if verdict.accept else 'REVISE'} {verdict.diagnosis}".strip()
    else:
        kept = visible(message.text)
    return kept if len(kept) <= KEEP_CHARACTERS else "..." + kept[-KEEP_CHARACTERS:]


def judge(message: Message) -> Verdict:
    """The verdict of a Verifier's message: REVISE where it was cut or failed, whatever it says."""
    verdict = parse_verdict(message.text)
    return verdict if message.finish == "stop" else Verdict(False, verdict.diagnosis)


def suggestion(message: Message, rule: str = "paper") -> Suggestion:
    """A Thinker's suggestion: empty where the message was cut or failed, or (released rule) lacks either part."""
    found = parse_suggestion(message.text)
    if message.finish != "stop" or (rule == "released" and found.next_role is None):
        return Suggestion(found.plan if rule == "paper" and message.finish == "length" else "", None)
    return found


# Lines of a text that would read as the prompt's own; the backslashes in front are `guard`'s. "Your task" needs none:
# it is the prompt's fixed ending.
HEADING_LIKE = re.compile(rf"^(\\*)(?=## (?:{'|'.join(HEADINGS[:-1])})$)", re.M)
NOTE_LIKE = re.compile(rf"^(\\*)(?=\[(?:{'|'.join(ROLES)}|\d+)\] )", re.M)


def guard(pattern: re.Pattern[str], text: str) -> str:
    """`text` with one more backslash before each line that `pattern` finds."""
    return pattern.sub(r"\\\1", text)


def unguard(pattern: re.Pattern[str], text: str) -> str:
    """The inverse of `guard`."""
    return pattern.sub(lambda match: match.group(1)[1:], text)


def build_prompt(
    role: Role, transcript: Transcript, *, answer: str | None = None, plan: str = ""
) -> list[dict[str, str]]:
    """The role's contract and the case, as chat messages.

    `answer` is the latest Worker's text (shown to Thinker and Verifier). `plan`, under the `released` rule, is the last
    Thinker's suggestion, which this call alone sees; under `paper` plans stand among the notes.
    """
    if role not in ROLES:
        raise ValueError(f"unknown role {role!r}; choose one of {', '.join(ROLES)}")
    names = [str(n) if transcript.rule == "released" else e.role for n, e in enumerate(transcript.entries, 1)]
    notes = "\n".join(
        f"[{name}] {guard(NOTE_LIKE, entry.text)}" for name, entry in zip(names, transcript.entries, strict=True)
    )
    parts: Sequence[tuple[str, str | None]] = (
        ("Question", transcript.question),
        ("Notes so far", notes if role != "verifier" or transcript.rule == "paper" else ""),
        ("Plan", plan if role != "thinker" else ""),
        ("Latest answer", answer if role != "worker" else ""),
        ("Your task", TASKS[role]),
    )
    body = "\n\n".join(f"## {heading}\n{guard(HEADING_LIKE, text)}" for heading, text in parts if text)
    return [{"role": "system", "content": SYSTEM[role]}, {"role": "user", "content": body}]


def read_prompt(messages: Sequence[dict[str, str]]) -> tuple[Role, dict[str, str]]:
    """The inverse of `build_prompt`: (role, {heading: text}). ValueError where the messages are not such a prompt."""
    roles = [role for role in ROLES if messages and messages[0].get("content") == SYSTEM[role]]
    if len(messages) != 2 or not roles or not isinstance(messages[1].get("content"), str):
        raise ValueError("these messages are not a prompt of the three roles (see roles.build_prompt)")
    body, mark, task = messages[1]["content"].rpartition(f"\n\n## {HEADINGS[-1]}\n")
    if not mark or task != TASKS[roles[0]]:
        raise ValueError("this prompt does not end in its role's task (see roles.build_prompt)")
    pieces = re.split(rf"(?:^|\n\n)## ({'|'.join(HEADINGS[:-1])})\n", body)
    parts = {heading: unguard(HEADING_LIKE, text) for heading, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    return roles[0], {**parts, HEADINGS[-1]: task}
