"""Answer checkers: the reported cases, each with its whole kind, every committed question, and hostile answers."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.checkers import check as checkers
from suite.checkers import check_answer, check_reference, symbolic
from suite.checkers.marks import READ_CHARACTERS, shown
from suite.checkers.quantities import number, unit_of
from suite.questions import load_questions
from suite.sandbox import run as sandbox
from trinity_core.types import Check, DataError, Question


@pytest.fixture(autouse=True)
def nothing_remembered():
    """Each test judges anew."""
    checkers._checks.clear()


def right(kind: str, reference: str, answer: str, **more) -> bool:
    check = check_answer(kind, reference, answer, **more)
    assert check.correct == (check.reason == ""), check  # a wrong answer always has a reason
    return check.correct


TABLES = yaml.safe_load(Path(__file__).with_name("checked_answers.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TABLES)
def test_answers_are_judged_right(name: str) -> None:
    for row in TABLES[name]["rows"].splitlines():
        sign = min((s for s in (" == ", " != ") if s in row), key=row.index)
        reference, answer = (part.strip() for part in row.split(sign, 1))
        assert right(TABLES[name]["kind"], reference, answer) == (sign == " == "), row


# --- CASES.md ---


def test_cases_3_a_bare_latex_reference_is_read_when_it_is_loaded():
    check_reference("math", r"\dfrac{9}{7}")


def test_cases_6_threads_and_event_loops():
    pairs = [(rf"\sqrt{{{n}}}", rf"\boxed{{{n}^{{1/2}}}}") for n in range(2, 22)]
    with ThreadPoolExecutor(4) as pool:
        checks = list(pool.map(lambda pair: check_answer("math", *pair), pairs))
    assert checks == [Check(True, answer[7:-1]) for _, answer in pairs]

    async def cell() -> Check:
        return check_answer("math", r"\sqrt{8}", r"2\sqrt{2}")

    assert asyncio.run(cell()).correct


def test_cases_6_towers_and_endless_sums_are_bounded():
    assert right("math", "9", "The last digits of \\(2003^{2002^{2001}}\\) are:\n\\[Answer: 009\\]")
    slow = r"\sum_{k=1}^{100000000} \sin(k^2)"
    check = check_answer("math", "5", slow, timeout=0.3)
    assert check == Check(False, slow, "time limit reached while comparing")
    assert not any(slow in key for key in checkers._checks)  # a slower day's result is nobody else's
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")  # and the next check has a worker again


@pytest.mark.parametrize("answer", ["", "7", "anything", None, "$$"])
@pytest.mark.parametrize("reference", ["", "  ", "??", r"\frac{", r"\frac{1}{0}", "$$", r"\boxed{}", "1 2"])
def test_cases_7_an_unreadable_reference_is_a_data_error(reference, answer):
    with pytest.raises(DataError, match="math reference"):
        check_answer("math", reference, answer)


def test_cases_7_every_kind_names_its_bad_reference():
    question = replace(load_questions("knowledge")[0], reference="E")
    with pytest.raises(DataError, match=f"'E' of question '{question.id}' is not one of the letters A-D"):
        check_reference("choice", "E", question)
    for kind, reference in [
        ("choice", ""),
        ("choice", "K"),
        ("choice", "b"),
        ("text", " "),
        ("text", "..."),
        ("x", "1"),
    ]:
        with pytest.raises(DataError, match=kind):
            check_answer(kind, reference, reference)
    for kind, reference in [("math", "7"), ("choice", "B"), ("text", "west")]:
        for answer in ("", " \n", None, "\x00", "<think>Answer: 7 B west"):
            check = check_answer(kind, reference, answer)
            assert not check.correct and check.answer is None and check.reason


def test_cases_8_a_letter_comes_from_a_mark_and_never_from_a_word():
    doubtful = "Answer seems to be B at first. The units rule that out."
    assert check_answer("choice", "D", f"{doubtful}\nAnswer: D") == Check(True, "D")
    assert check_answer("choice", "D", doubtful).answer in (None, "B")


def test_cases_23_a_code_question_without_tests_is_a_data_error():
    question = load_questions("code")[0]
    for meta in ({}, {"tests": []}, {"tests": [], "stdin_cases": []}, {"tests": [{"args": [], "expected": 1}]}):
        for call in (check_reference, lambda k, r, q: check_answer(k, r, r, question=q)):
            with pytest.raises(DataError, match=question.id):
                call("code", question.reference, replace(question, meta=meta))
    with pytest.raises(DataError, match="needs its question"):
        check_answer("code", question.reference, question.reference)


# --- math ---


@pytest.mark.parametrize(
    "text",
    [
        "3 + 4 = 7, so it is done.\nAnswer: 12",
        "**Answer:** 12",
        "**Final answer**: $12$.",
        "The answer is 12.",
        "The final answer to the problem is $12$. I hope it is correct.",
        "Final Answer: The final answer is $12$. I hope it is correct.",
        "Hence \\[x = 12.\\]",
        "So the total is 12 dollars.",
        "So 3 * 4 = 12 apples are left.",
        "#### 12",
        "Answer: 12 (twelve, since 3 * 4 = 12)",
        "Answer:\n\n12",
        "Answer: 7\nI made a slip.\nAnswer: 12",
        "<think>Answer: 5</think>Answer: 12",
        "Answer: 12. Because 3 * 4 = 12 and 5 is odd.",
        "x" * READ_CHARACTERS + "\nAnswer: 12",
    ],
)
def test_where_a_number_stands(text):
    assert right("math", "12", text)
    assert not right("math", "7", text)


def test_two_numbers_in_a_sentence_are_no_answer():
    check = check_answer("math", "12", "There are 12 apples and 5 pears in the basket.")
    assert not check.correct
    assert not right("math", "5", "There are 12 apples and 5 pears in the basket.")


def test_literals_are_exact():
    values = {"1/2": "1/2", "-.5": "-1/2", "3 1/2": "7/2", "1,234.5": "2469/2", "2e-3": "1/500", "10^{-2}": "1/100"}
    assert {text: str(number(text).value) for text in values} == values
    assert all(number(text) is None for text in ("", "x", "4 10/3", "1/0", "1 2", "1,2", "--1", "1e9999", "9" * 5000))
    assert unit_of("cm^2") == ("length^2", Fraction(1, 10_000)) and unit_of("apples") is None


@given(st.fractions(), st.fractions())
def test_fractions_equal_exactly_their_own_value(a, b):
    assert right("math", f"{a}", f"Answer: {a}")
    assert right("math", f"{a}", f"\\boxed{{\\frac{{{a.numerator}}}{{{a.denominator}}}}}")
    assert right("math", f"{a}", f"Answer: {b}") == (a == b)


def test_marks_with_a_wide_colon_and_ends_of_hidden_reasoning():
    for kind, reference in (("math", "512"), ("choice", "D"), ("text", "Monday")):
        assert right(kind, reference, f"Answer\uff1a{reference}") and right(
            kind, reference, f"Answer\uff1a {reference}"
        )
        assert right(kind, reference, f"Answer: 9 or A or Friday</think>Answer: {reference}")
        assert not right(kind, reference, f"Answer: {reference}</think>Answer: none")
        assert not right(kind, reference, f"<thinking>Answer: {reference}</thinking>")


# --- choice ---


def test_choice_marks():
    assert right("choice", "D", "Answer: B\nWait, no.\nAnswer: D")
    assert right("choice", "D", "Answer: B\nWait, the answer is actually D.")
    assert right("choice", "D", "Answer: B\nHmm.\n(D)")
    assert check_answer("choice", "B", "Answer: B\nNo.\nAnswer: none of these").answer is None


def test_choice_takes_an_options_whole_text():
    question = next(
        q for q in load_questions("knowledge") if q.meta["options"] == ["6 volts", "5 volts", "1 volt", "1.5 volts"]
    )
    for answer in ("6 volts", "Answer: 6 volts.", "A. 6 volts", "Answer: **A) 6 volts**", "\\boxed{6\\text{ volts}}"):
        assert right("choice", "A", answer, question=question)
    for answer in ("Answer: 5 volts", "volts", "Answer: 6", "A. 5 volts", "So it is 6 volts or 5 volts", "Answer: E"):
        assert not right("choice", "A", answer, question=question)
    assert right("choice", "A", "Answer: A) 5 volts", question=question)  # the letter was asked for


# --- text ---


def test_text_marks():
    assert right("text", "west", "He turns.\nAnswer: West\nThe answer is correct.")
    assert right("text", "west", "He turns twice.\nWest")
    assert not right("text", "west", "Answer: west\nNo.\nAnswer: east")


# --- the committed questions ---


@pytest.mark.parametrize("family", ["math", "knowledge", "reasoning"])
def test_every_committed_reference_is_right_and_another_is_not(family):
    questions = load_questions(family)
    for question in questions:
        check_reference(question.kind, question.reference, question)
        others = [q.reference for q in questions if q.meta.get("template") == question.meta.get("template")]
        if question.meta.get("template") == "truth_value":  # yes and true are one answer
            others = ["no" if question.reference in ("yes", "true") else "yes"]
        wrong = sorted(set(others) - {question.reference})[:3]
        for text in ("Some steps: 3 + 4 = 7.\nAnswer: {}", "The answer is {}.", "So \\boxed{{{}}}", "{}"):
            told = text.format(question.reference)
            assert right(question.kind, question.reference, told, question=question), (question.id, told)
            for other in wrong:
                told = text.format(other)
                assert not right(question.kind, question.reference, told, question=question), (question.id, told)
        assert wrong, question.id


# --- code ---


@pytest.fixture
def told(monkeypatch):
    """`run_code` as a stub that keeps what it was told and says what the test wants."""
    calls = []

    def run_code(source, **more):
        calls.append((source, more))
        return run_code.result

    run_code.result = sandbox.CodeResult("passed", 3, 3, "")
    monkeypatch.setattr(sandbox, "run_code", run_code)
    return run_code, calls


def test_code_is_the_last_fenced_block_or_the_whole_text(told):
    question = load_questions("code")[0]
    name = question.meta["entry_point"]
    code = f"def {name}(xs, ys):\n    return xs\n"
    for text in (
        code,
        f"First:\n```python\nx = 1\n```\nBetter:\n```python\n{code}```\nDone.",
        f"```\n{code}```",
        f"~~~py\n{code}~~~",
        f"```python\n{code}```\nIt prints\n```text\nhello\n```",
        f"```python\r\n{code}```".replace("\n", "\r\n").replace("\r\r", "\r"),
    ):
        told[1].clear()
        checkers._checks.clear()
        assert check_answer("code", question.reference, text, question=question).correct
        ((source, more),) = told[1]
        assert source == code and more["tests"] == question.meta["tests"] and more["entry_point"] == name
        assert more["trusted"] is False
    for text in ("no code", "x = 1", "```python\n```", f"def {name}(", "", f"print({name})"):
        check = check_answer("code", question.reference, text, question=question)
        assert check == Check(False, None, "no Python code can be read")


def test_code_results_become_checks(told):
    question = load_questions("code")[0]
    run_code, calls = told
    run_code.result = sandbox.CodeResult("failed", 1, 6, "test 2: expected 3, got 4")
    check = check_answer("code", question.reference, question.reference, question=question)
    assert check.reason == "failed: 1 of 6 tests passed. test 2: expected 3, got 4" and not check.correct
    assert calls[0][1]["trusted"] is True  # the suite's own code
    check_answer("code", question.reference, question.reference, question=question)
    assert len(calls) == 1
    run_code.result = sandbox.CodeResult("timeout", 0, 6, "stopped", settled=False)
    for _ in range(2):
        assert not check_answer("code", question.reference, "def pairwise(): pass", question=question).correct
    assert len(calls) == 3  # a time limit's result is not kept
    run_code.result = sandbox.CodeResult("refused", 0, 6, "install bubblewrap")
    with pytest.raises(symbolic.CheckerBroken, match=f"{question.id}.*install bubblewrap"):
        check_answer("code", question.reference, "def pairwise(): return 1", question=question)


def test_code_runs_in_the_real_sandbox():
    question = load_questions("code")[0]
    assert check_answer("code", question.reference, f"```python\n{question.reference}```", question=question).correct
    for wrong in question.meta["wrong"]:
        assert not check_answer("code", question.reference, f"```python\n{wrong}```", question=question).correct


# --- accidents and hostile answers ---


def test_a_worker_that_someone_killed_is_replaced():
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")
    for worker in filter(None, symbolic._places.queue):
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    checkers._checks.clear()
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")
    assert not right("math", r"\sqrt{8}", r"3\sqrt{2}")


def test_workers_that_keep_dying_are_no_plain_wrong(monkeypatch):
    def ask(self, request, seconds):
        raise EOFError

    monkeypatch.setattr(symbolic._Worker, "ask", ask)
    check = check_answer("math", "3", r"\sqrt{8}")
    assert not check.correct and "ended abnormally" in check.reason and not checkers._checks


@pytest.mark.parametrize("python", ["/nowhere/python", shutil.which("true"), shutil.which("echo")])
def test_a_machine_without_the_checker_is_an_error(monkeypatch, python):
    monkeypatch.setattr(symbolic, "_places", symbolic._no_workers())
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(symbolic.CheckerBroken, match="install math-verify"):
        check_answer("math", "3", r"\sqrt{8}")
    assert not any(symbolic._places.queue)
    assert right("math", "3", "Answer: 3")  # plain numbers need no worker


def _in_child(queue):
    queue.put(check_answer("math", r"\sqrt{18}", r"3\sqrt{2}").correct)


def test_a_forked_child_has_its_own_workers():
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) is True
    child.join()
    checkers._checks.clear()
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")


def test_results_are_kept_and_bounded(monkeypatch):
    first = check_answer("math", r"\sqrt{8}", r"2\sqrt{2}")
    monkeypatch.setattr(symbolic, "ask", None)
    assert check_answer("math", r"\sqrt{8}", r"2\sqrt{2}") is first
    monkeypatch.setattr(checkers, "CACHED_CHECKS", 5)
    for answer in range(9):
        check_answer("math", "3", f"Answer: {answer}")
    assert 0 < len(checkers._checks) <= 5
    question = load_questions("knowledge")[0]
    other = replace(question, meta={**question.meta, "options": question.meta["options"][::-1]})
    told = f"Answer: {question.meta['options'][0]}"
    letters = {check_answer("choice", "A", told, question=q).answer for q in (question, other)}
    assert letters == {"A", "D"}  # other options, another result


HOSTILE = [
    "\ud800 Answer: \udfff8",
    "\x00" * 1000,
    "(" * 100_000,
    "\\boxed{" * 50_000,
    "\\frac{1}{" * 45 + "2" + "}" * 45,
    "Answer: " + "-" * 480 + "5",
    "Answer: " + "1+" * 240 + "2",
    "Answer: " + "\\sqrt{" * 70 + "2" + "}" * 70,
    "Answer: " + "1+" * 3000 + "1",
    "Answer: " + "9" * 1_000_000,
    "Answer: " * 100_000,
    "<think>" * 100_000,
    "```python\n" * 50_000,
    "$" * 1_000_000,
    "a" * 1_000_000,
    "\n" * 1_000_000,
    "1," * 500_000,
    "Answer: " + ",".join(f"x_{{{n}}}" for n in range(50)),
    "Answer: \\input{/etc/passwd} __import__('os').system('true')",
    "Answer: nan",
    "Answer: \\infty - \\infty",
    "Answer: \\frac{0}{0}",
    "Answer: None",
]


def test_an_inner_error_is_named(monkeypatch):
    monkeypatch.setattr(checkers.text_answers, "same", lambda reference, answer: 1 / 0)
    check = check_answer("text", "west", "east")
    assert check == Check(False, None, "inner error of the checker: ZeroDivisionError: division by zero")
    assert not checkers._checks


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_are_wrong_and_never_raise(text):
    for kind, reference in [("math", "7"), ("math", r"\sqrt{7}"), ("math", "1, 2"), ("choice", "B"), ("text", "west")]:
        check = check_answer(kind, reference, text, timeout=0.3)
        assert not check.correct and check.reason and "inner error" not in check.reason, (kind, check)
    question = load_questions("code")[0]
    assert not check_answer("code", question.reference, text, question=question).correct


anything = st.text(st.characters(exclude_categories=()), max_size=60)
PIECES = r"""
1 2 7 0 . , ; x y ( ) [ ] { } \{ \} + - * / ^ _ = < > \le \in \cup \pm \frac \sqrt \boxed{ \text{cm} \pi e i % $ : | !
\infty \circ \ldots and or km Answer: A B (C) is the answer \\ & \begin{pmatrix} \log \sin \approx
"""
formula = st.lists(st.sampled_from(PIECES.split()), max_size=14).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.one_of(anything, formula, formula.map("Answer: {}".format), formula.map("\\boxed{{{}}}".format)))
def test_no_answer_raises(text):
    for kind, reference in [
        ("math", r"\frac{x}{3}"),
        ("math", "(1, 2]"),
        ("math", "31%"),
        ("text", "3 km"),
        ("choice", "C"),
    ]:
        check = check_answer(kind, reference, text, timeout=2.0)
        assert check.correct == (check.reason == "")
        assert "ended abnormally" not in check.reason and "inner error" not in check.reason


@settings(max_examples=150, deadline=None)
@given(st.one_of(anything, formula))
def test_a_readable_reference_is_its_own_answer(text):
    try:
        check_reference("math", text)
    except DataError:
        return
    check = check_answer("math", text, f"\\boxed{{{text}}}", timeout=2.0)
    # what closes the box early, or names boxes or answers of its own, is another answer
    if not any(mark in text for mark in ("{", "}", "\\", "nswer", "<think")):
        assert check.correct or "time limit" in check.reason, check


def test_shown_keeps_blanks_apart():
    assert shown("3\u00a01/2") == "3 1/2" and shown("a\u200bb") == "ab" and shown("<think>x</think>y") == "y"


def test_a_question_of_another_kind_of_answer_is_refused():
    question = Question("q-1", "math", "train", "?", "?", 0, "judge", "", {})
    with pytest.raises(DataError, match="'judge' of question 'q-1'"):
        check_reference("judge", "", question)
