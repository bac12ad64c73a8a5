"""Answer checkers: whether an agent's text gives the reference's answer. The terminal reward R is 1 where it does.

| kind | reads | compares |
| --- | --- | --- |
| math | the last box, `Answer:` line or `answer is` | exact values and structure: `math_answers` |
| choice | the last named letter, or an option's whole text | the letter: `choice_answers` |
| text | the last mark, else the last line | normalised words, numbers, units, lists: `text_answers` |
| code | the last fenced Python block | the question's tests, in `sandbox` |

A check never raises on an answer and takes at most `timeout` seconds (a worker's start apart); `Check.reason` says why
nothing could be compared. A reference that cannot be right or wrong raises (`DataError`); so does a machine on which
the checker itself cannot run (`symbolic.CheckerBroken`, also where a sandbox refuses).
"""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache
from typing import get_args

from suite.checkers import choice_answers, math_answers, math_reading, symbolic, text_answers
from suite.checkers.marks import shown
from suite.sandbox import run as sandbox
from trinity_core.types import AnswerKind, Check, DataError, Question

KINDS: tuple[str, ...] = tuple(kind for kind in get_args(AnswerKind) if kind != "judge")
CACHED_CHECKS = 20_000  # then all are forgotten
CACHED_LENGTH = 20_000  # characters; longer answers are checked anew
_READ_META = ("options", "tests", "stdin_cases", "entry_point", "wrong")
_checks: dict[tuple[str, str, str, str], Check] = {}


def check_reference(kind: str, reference: str, question: Question | None = None) -> None:
    """Passes where the reference can be read as its kind.

    DataError, naming the reference and what is wrong, where it is empty or unreadable, is no letter among the options,
    or (code) comes without tests. Call it when questions are loaded: an unreadable reference would count every answer
    as wrong.
    """
    where = f" of question {question.id!r}" if question is not None else ""
    if kind not in KINDS:
        raise DataError(f"unknown answer kind {kind!r}{where}; choose one of {', '.join(KINDS)}")
    if kind == "code":
        _tests(question)
        return
    said = f"{kind} reference {reference!r}{where}"
    if not reference.strip():
        raise DataError(f"{said} is empty")
    if kind == "choice":
        letters = choice_answers.LETTERS[: len(_options(question)) or None]
        if reference not in list(letters):
            raise DataError(f"{said} is not one of the letters {letters[0]}-{letters[-1]}")
    elif kind == "text" and not re.search(r"\w", text_answers.normalise(reference)):
        raise DataError(f"{said} has no readable word or number")
    elif kind == "math":
        try:
            _read_math(reference)
        except math_reading.Unreadable as error:
            raise DataError(f"{said} is unreadable: {error}") from None


@lru_cache(CACHED_CHECKS)
def _read_math(reference: str) -> math_reading.Value:
    value = math_reading.read(math_reading.reference_text(reference))
    clock = symbolic.Clock(10)
    for leaf in math_answers.leaves(value):
        found = symbolic.ask("read", leaf, clock=clock)
        if not found.equal:
            raise math_reading.Unreadable(found.reason)
    return value


def check_answer(
    kind: str, reference: str, answer: str | None, *, question: Question | None = None, timeout: float = 5.0
) -> Check:
    """Whether `answer` (an agent's whole text; None: it gave none) states `reference`.

    `question` gives options (choice) and tests (code). `timeout`: seconds that the comparison may take; for code,
    processor seconds of one run, with thrice as many on the clock. DataError as in `check_reference`. A result that a
    time limit or an accident stood behind is not kept; all others are, in memory.
    """
    check_reference(kind, reference, question)
    if not isinstance(answer, str):
        return Check(False, None, "no answer")
    meta = question.meta if question is not None else {}
    key = (kind, reference, answer, json.dumps([meta.get(part) for part in _READ_META], default=repr))
    if (known := _checks.get(key)) is not None:
        return known
    try:
        check, settled = _check(kind, reference, answer, question, timeout)
    except (DataError, symbolic.CheckerBroken):
        raise
    except Exception as error:  # a fault of ours: the run goes on, and the reason names it
        return Check(False, None, f"inner error of the checker: {type(error).__name__}: {error}")
    if settled and len(answer) <= CACHED_LENGTH:
        if len(_checks) >= CACHED_CHECKS:
            _checks.clear()
        _checks[key] = check
    return check


def _check(kind: str, reference: str, answer: str, question: Question | None, timeout: float) -> tuple[Check, bool]:
    """(the check, whether it would come out the same again)."""
    if kind == "code":
        return _check_code(reference, answer, question, timeout)
    text = shown(answer)
    if not text:
        return Check(False, None, "the answer is empty"), True
    if kind == "math":
        return _check_math(reference, text, timeout)
    if kind == "choice":
        found = choice_answers.extract(text, _options(question))
        right, nothing = found == reference, "no letter can be read"
    else:
        found = text_answers.extract(text)
        right, nothing = bool(found) and text_answers.same(reference, found), "no final answer can be read"
    return Check(right, found, "" if right else f"not {reference}" if found else nothing), True


def _check_math(reference: str, text: str, timeout: float) -> tuple[Check, bool]:
    wanted = _read_math(reference)
    words, said = math_answers.words(wanted), text_answers.extract(text)
    if words and said and text_answers.same(words, said):
        return Check(True, said), True
    found = math_reading.extract(text)
    if found is None:
        return Check(False, None, "no final answer can be read"), True
    try:
        value = math_reading.read(found)
    except math_reading.Unreadable as error:
        return Check(False, None, f"the answer {found[:60]!r} cannot be read as mathematics: {error}"), True
    outcome = math_answers.same(wanted, value, symbolic.Clock(timeout))
    return Check(outcome.equal, found, outcome.reason), outcome.settled


def _options(question: Question | None) -> list[str]:
    return list(question.meta.get("options") or ()) if question is not None else []


def _tests(question: Question | None) -> dict:
    """The tests of a code question, as `run_code`'s arguments."""
    if question is None:
        raise DataError("a code answer needs its question: the tests stand in question.meta")
    tests = {name: question.meta.get(name) or None for name in ("tests", "entry_point", "stdin_cases")}
    if not tests["stdin_cases"] and not (tests["tests"] and tests["entry_point"]):
        needed = "meta['tests'] with meta['entry_point'], or meta['stdin_cases']"
        raise DataError(f"code question {question.id!r} has no tests: it needs {needed}")
    return tests


_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+-]*)")
_PYTHON = ("", "python", "python3", "py")
LONGEST_SOURCE = 100_000


def _blocks(text: str) -> list[str]:
    """The closed fenced blocks that are Python or name no language, in one pass over the lines."""
    blocks, fence, language, lines = [], "", "", []
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence and match and match.group(1).startswith(fence) and not line.strip(" \t`~"):
            if language in _PYTHON:
                blocks.append("\n".join(lines).strip("\n"))
            fence = ""
        elif match and not fence:
            fence, language, lines = match.group(1), match.group(2).lower(), []
        else:
            lines.append(line)
    return blocks


def extract_code(text: str, entry_point: str | None = None) -> str | None:
    """The last fenced Python block; else the whole text, if it is Python that defines `entry_point` (or anything)."""
    text = text[-LONGEST_SOURCE:].replace("\r\n", "\n")
    if blocks := _blocks(text):
        return blocks[-1] + "\n" if blocks[-1].strip() else None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    defined = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    defined |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    wanted = entry_point in defined if entry_point else any(not isinstance(node, ast.Expr) for node in tree.body)
    return text if wanted and text.strip() else None


def _check_code(reference: str, answer: str, question: Question, timeout: float) -> tuple[Check, bool]:
    tests = _tests(question)
    source = extract_code(answer, tests["entry_point"])
    if source is None:
        return Check(False, None, "no Python code can be read"), True
    # What the suite wrote itself needs no sandbox, so the offline profile also runs where none can be had.
    trusted = source.strip() in {text.strip() for text in (reference, *question.meta.get("wrong", ()))}
    limits = sandbox.Limits(cpu=timeout, wall=3 * timeout)
    result = sandbox.run_code(source, **tests, limits=limits, trusted=trusted)
    if result.status == "refused":
        raise symbolic.CheckerBroken(f"code of question {question.id!r} was not run: {result.detail}")
    if result.status == "passed":
        return Check(True, source), result.settled
    reason = f"{result.status}: {result.passed} of {result.total} tests passed. {result.detail}".strip()
    return Check(False, source, reason), result.settled
