"""What simulated agents say: a small closed set of real texts a question.

One right solution, a plausible wrong one, a concrete and a general plan, and a few verdicts. The words
around an answer depend on the question only: a coordinator must read neither the agent nor whether the answer is right
off the wording. The draw picks what is said (see `simulated`).

A wrong value is the slip a person would make: off by one, a fraction upside down, another letter, another name of the
question; wrong code comes from the question's `meta["wrong"]`. Lines are 8 to 20 tokens long: each new one is encoded.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import yaml

from suite.pools.config import POOLS
from suite.questions.wordlists import COMPASS, DAYS, NAMES, WORDS
from trinity_core.draws import uniforms
from trinity_core.pool import PoolError
from trinity_core.types import Question

PLAYED = ("math", "choice", "text", "code")
UNDECIDED = "cannot be determined"
NEXT = ("", "\nNEXT: WORKER", "\nNEXT: VERIFIER")


@functools.cache
def texts() -> dict[str, Any]:
    """`data/pools/texts/simulated.yaml`: the wordings, and words that name an answer of one kind."""
    return yaml.safe_load((POOLS / "texts" / "simulated.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Sayings:
    """The closed set of one question: whole messages, as the roles' contracts want them.

    `plans[good][named]`: the general (0) or concrete (1) plan that names nobody (0), the Worker (1) or the Verifier (2)
    to act next.
    """

    right: str
    wrong: str
    plans: tuple[tuple[str, str, str], tuple[str, str, str]]
    accept: str
    revise: str
    diagnosis: str


def sayings(question: Question) -> Sayings:
    """All that is ever said about a question. PoolError names a question that cannot be played."""
    if question.kind not in PLAYED or not question.reference.strip():
        raise PoolError(f"question {question.id} of kind {question.kind!r} has no answer to be checked; leave it out")
    order = uniforms(8, "sayings", question.id)
    pick = (order[:6] * 2).astype(int)
    a, b = landmarks(question)
    words, kind = texts(), question.kind
    work = words["work"][kind][pick[0]]
    plans = (words["general"][pick[1]], words["concrete"][kind][pick[2]].format(a=a, b=b))
    fault = words["diagnosis"][kind].format(a=a, b=b)
    return Sayings(
        right=solution(question, work, question.reference),
        wrong=solution(question, work, slip(question)),
        plans=tuple(tuple(f"PLAN: {plan}{role}" for role in NEXT) for plan in plans),
        accept=f"{words['accept'][pick[3]]}\nVERDICT: ACCEPT",
        revise=f"{words['revise'][pick[4]]}\nVERDICT: REVISE",
        diagnosis=f"{fault}\nVERDICT: REVISE",
    )


def solution(question: Question, work: str, answer: str) -> str:
    """A Worker's message: one line of work, then the answer as the contract wants it."""
    if question.kind == "code":
        return f"{work}\n```python\n{answer.strip()}\n```"
    return f"{work}\nAnswer: {answer}"


def landmarks(question: Question) -> tuple[str, str]:
    """Two things of the question that a plan or a diagnosis can point at: numbers (math), else longer words."""
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", question.bare) if question.kind == "math" else []
    dull = texts()["dull"].split()  # never worth pointing at
    words = [w for w in re.findall(r"[A-Za-z]{4,}", question.bare) if w.lower() not in dull]
    words = numbers + sorted(dict.fromkeys(words), key=lambda w: (-len(w), w))
    words += ["the first fact", "the rest"]
    return words[0], next(word for word in words[1:] if word != words[0])


def slip(question: Question) -> str:
    """The question's wrong answer, one of several drawn by the question; one, so that transcripts repeat."""
    reference = question.reference
    if question.kind == "code":
        nothing = f"def {question.meta.get('entry_point') or 'solve'}(*arguments):\n    pass\n"
        found = question.meta.get("wrong") or [nothing]
    elif question.kind == "choice":
        letters = "ABCDEFGHIJ"[: len(question.meta.get("options") or "ABCD")]
        found = [letter for letter in letters if letter != reference]
    elif not (found := number_slips(reference)):
        expressions = [f"{reference} + 1", f"2({reference})", f"-({reference}) - 1"]  # off by one, doubled, sign lost
        found = expressions if question.kind == "math" else text_slips(question)
    found = list(dict.fromkeys(found))
    keys = [float(uniforms(1, "slip", question.id, number)[0]) for number in range(len(found))]
    return min(zip(keys, found, strict=True))[1]


def number_slips(reference: str) -> list[str]:
    """Common slips of an integer, decimal, percentage, fraction or time; [] where the reference is none of these."""
    if match := re.fullmatch(r"(-?\d+)/(\d+)", reference):
        top, bottom = int(match[1]), int(match[2])
        tries = [(bottom, top), (top + 1, bottom), (top, bottom + 1), (bottom - top, bottom)]
        values = [(t, b) for t, b in tries if b > 0 and t > 0 and Fraction(t, b) != Fraction(top, bottom)]
        return list(dict.fromkeys(f"{t}/{b}" for t, b in values))
    if match := re.fullmatch(r"(\d\d):(\d\d)", reference):
        minutes = int(match[1]) * 60 + int(match[2])
        return [f"{m // 60:02d}:{m % 60:02d}" for m in ((minutes + d) % 1440 for d in (-60, 60, 10, -10))]
    if match := re.fullmatch(r"(-?\d+)(\.\d+)?(%?)", reference):
        whole, part, unit = int(match[1]), match[2] or "", match[3]
        steps = [whole + 1, whole - 1, 2 * whole, -whole, whole + 10, whole + 2]
        if unit and not part and 0 < whole < 100:
            steps = [100 - whole, whole + 1, whole - 5, whole + 10]
        signed = [n for n in steps if n != whole and (n > 0 or whole <= 0 or (n == 0 and whole == 1))]
        return [f"{n}{part}{unit}" for n in dict.fromkeys(signed)][:4]
    return []


def text_slips(question: Question) -> list[str]:
    """Other values of the reference's kind, those that the question itself names before all."""
    reference = question.reference
    for pair in texts()["opposites"]:
        if reference in pair:
            return [pair[1 - pair.index(reference)], UNDECIDED]
    for ring in (DAYS, COMPASS, texts()["relations"]):
        if reference in ring:
            return [ring[(ring.index(reference) + step) % len(ring)] for step in (1, -1, 2)]
    for group in (NAMES, texts()["objects"], WORDS):
        if reference in group:
            named = [w for w in dict.fromkeys(re.findall(r"\w+", question.bare)) if w in group and w != reference]
            if named:
                return named
    return letter_slips(reference)


def letter_slips(word: str) -> list[str]:
    """Slips of copying: a neighbouring letter of the alphabet, two letters swapped, one lost; then no answer at all."""
    if len(word) == 1 and word.isalpha():
        shifted = [chr((ord(word.lower()) - 97 + step) % 26 + 97) for step in (1, -1, 4)]
        return [letter for letter in shifted if letter != word.lower()]
    swapped = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    changed = [w for w in (*swapped[1:3], word[:-1]) if w.strip() and w.casefold() != word.casefold()]
    return [*dict.fromkeys(changed), UNDECIDED][:3]
