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

import pytest
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


def judged(kind: str, rows: str, **more) -> None:
    """Rows `reference == answer` or `reference != answer`, split at the first ` == ` or ` != `."""
    for row in rows.strip().splitlines():
        sign = min((s for s in (" == ", " != ") if s in row), key=row.index)
        reference, answer = (part.strip() for part in row.split(sign, 1))
        assert right(kind, reference, answer, **more) == (sign == " == "), row


# --- CASES.md ---


def test_cases_1_tiny_numbers_are_compared_exactly():
    judged(
        "math",
        r"""
        1/2^60 != 1/2^61
        1/2^60 == \boxed{\frac{1}{2^{60}}}
        \frac{1}{2^{60}} != \boxed{\frac{1}{2^{61}}}
        1/2^{60} != 8.67361737988404e-19
        10^-20 != 2*10^-20
        10^{-20} != 2\cdot 10^{-20}
        10^-20 != 0
        1e-20 == 10^{-20}
        10^{-20}x != 2\cdot 10^{-20}x
        x+10^{-60} != x
        \pi+10^{-300} != \pi
        \sqrt{2+10^{-100}} != \sqrt{2}
        \frac{1}{2004!} != \frac{1}{2006!}
        \frac{2^{2005}+1}{3 \cdot 2^{2006}} != \frac{1}{3 \cdot 2^{2006}}
        2^{100} != 1267650600228229401496703205377
        2^{100} == 1267650600228229401496703205376
        e^{\pi\sqrt{163}} != 262537412640768744
        """,
    )


def test_cases_2_a_bare_reference_of_several_values():
    judged(
        "math",
        r"""
        7 and 11 != \boxed{11}
        7 and 11 == \boxed{11, 7}
        7 and 11 == \boxed{7} and \boxed{11}
        7 and 11 == x = 7 or x = 11
        7 and 11 == (11, 7)
        7 and 11 != 7, 11, 13
        7, 11 != \boxed{7} \boxed{12}
        11 != \boxed{7} and \boxed{11}
        1, 2, 2 == 2 and 1
        n=2, 3, 4 != n=1, 2, 3
        19, 46, \text{ and } 82 != 21, 36, and 82
        \pm 3 == 3, -3
        \pm 2021 != 2021
        3 != \pm 3
        1 \pm \sqrt{2} == \boxed{1+\sqrt2}, \boxed{1-\sqrt2}
        """,
    )


def test_cases_3_a_bare_latex_reference_is_read_when_it_is_loaded():
    check_reference("math", r"\dfrac{9}{7}")
    judged(
        "math",
        r"""
        \dfrac{9}{7} == \boxed{\frac{9}{7}}
        \dfrac97 == 9/7
        \dfrac{9}{7} != \frac{7}{9}
        \sqrt{50} == \boxed{5\sqrt{2}}
        2\sqrt{3} == 2*sqrt(3)
        \frac{\pi}{4} == pi/4
        $12$ == 12
        \boxed{12} == 12
        \left(\frac{1}{2},3\right) == (0.5, 3)
        \text{Evelyn} == evelyn
        \text{June 20} == Answer: June 20.
        \text{even} != odd
        """,
    )


def test_cases_4_percent():
    judged(
        "math",
        r"""
        31\% == 31
        31\% == 0.31
        31\% == 31 percent
        31\% == 31\%
        31\% != 3100
        31\% != 0.31\%
        0.31 != 31
        0.31 == 31%
        0.31 != 0.31%
        31 == 31%
        12.5\% == \frac18
        5\% != 0.5
        15% == \boxed{15\%}
        """,
    )


def test_cases_5_boxes():
    judged(
        "math",
        r"""
        512 == So \boxed{512}. Recap. **Final Answer** \boxed{512}
        4 == \boxed{004} as said \boxed{004}
        4 == \boxed{004} \boxed{004}
        21 == first \boxed{12}, but I forgot a case, so \boxed{21}
        12 != first \boxed{12}, but I forgot a case, so \boxed{21}
        21 != \boxed{12} or \boxed{21}
        12 != \boxed{12} \boxed{21}
        12 != \boxed{12
        12 != so \boxed{12} and then \boxed{
        12 != so \boxed{12} and finally \boxed{}
        5 == \fbox{5}
        7 == \boxed 7
        12 == \boxed{12}. The answer is correct.
        21 == \boxed{12}. No: Answer: 21
        840 == therefore\boxed{840}.,but let me explain. **Final Answer** \boxed{840}
        """,
    )


def test_cases_6_threads_and_event_loops():
    pairs = [(rf"\sqrt{{{n}}}", rf"\boxed{{{n}^{{1/2}}}}") for n in range(2, 22)]
    with ThreadPoolExecutor(4) as pool:
        checks = list(pool.map(lambda pair: check_answer("math", *pair), pairs))
    assert checks == [Check(True, answer[7:-1]) for _, answer in pairs]

    async def cell() -> Check:
        return check_answer("math", r"\sqrt{8}", r"2\sqrt{2}")

    assert asyncio.run(cell()).correct


def test_cases_6_towers_and_endless_sums_are_bounded():
    judged(
        "math",
        r"""
        9^{9^{9}} == \boxed{9^{9^{9}}}
        9^{9^{9}} == 9^{387420489}
        9^{9^{9}} != 9^{9^{8}}
        7 != 9^{9^{9}}
        9^{9^{9}} != 7
        5 != 2^{2^{2^{2^{2^{2}}}}}
        5 != 5!!!!!!!!
        """,
    )
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
    with pytest.raises(DataError, match="12"):
        check_reference("math", 12)
    for kind, reference in [("math", "7"), ("choice", "B"), ("text", "west")]:
        for answer in ("", " \n", None, "\x00", "<think>Answer: 7 B west"):
            check = check_answer(kind, reference, answer)
            assert not check.correct and check.answer is None and check.reason


def test_cases_8_a_letter_comes_from_a_mark_and_never_from_a_word():
    doubtful = "Answer seems to be B at first. The units rule that out."
    assert check_answer("choice", "D", f"{doubtful}\nAnswer: D") == Check(True, "D")
    assert check_answer("choice", "D", doubtful).answer in (None, "B")


def test_cases_after_8_constants_bases_and_mixed_numbers():
    judged(
        "math",
        r"""
        \boxed{1-\frac{1}{\mathrm{e}}} != \boxed{1-\frac{1}{\mathrm{e}^{2}}}
        1-\frac{1}{\mathrm{e}} == \boxed{1-\frac{1}{e}}
        1-\frac1e == 1-e^{-1}
        1-\frac{1}{\mathrm{e}} != 1+\frac{1}{\mathrm{e}}
        42_7 != 42_8
        42_7 == 42_{7}
        42_7 == 42
        42_7 == 42 (base 7)
        42_7 == 42_{\text{seven}}
        42_7 != 36_8
        42_7 != 30
        1044 == 1044_5
        2A_{16} == 2a_{16}
        3.5 == 3 1/2
        3.5 == \boxed{3\frac{1}{2}}
        3.5 == 3½
        -3.5 == -3 1/2
        3.5 != 3\frac{1}{3}
        2 != 2 2/3
        10 != 4 10/3
        """,
    )


def test_cases_23_a_code_question_without_tests_is_a_data_error():
    question = load_questions("code")[0]
    for meta in ({}, {"tests": []}, {"tests": [], "stdin_cases": []}, {"tests": [{"args": [], "expected": 1}]}):
        for call in (check_reference, lambda k, r, q: check_answer(k, r, r, question=q)):
            with pytest.raises(DataError, match=question.id):
                call("code", question.reference, replace(question, meta=meta))
    with pytest.raises(DataError, match="needs its question"):
        check_answer("code", question.reference, question.reference)


# --- math ---


def test_math_structure():
    judged(
        "math",
        r"""
        (1, 2) != (2, 1)
        (1, 2) == \boxed{\left(1,2\right)}
        (1, 2) == x = 1, y = 2
        (1, 2) == 1, 2
        (1, 2) != 2, 1
        (1, 2) != \{1, 2\}
        (1,2),(3,4) == (3,4), (1,2)
        (1,2),(3,4) != (2,1),(3,4)
        (1,2) and (3,4) != (1,2)
        [1,2) == [1, 2)
        [1,2) != (1,2)
        D = (0, 1) != D = (0, 1.5)
        x > 2 == (2, \infty)
        x \le 3 == (-\infty, 3]
        x \le 3 != x < 3
        1 < x \le 2 == x \in (1, 2]
        (-\infty,1)\cup(2,\infty) == x<1 or x>2
        \mathbb{R} == (-\infty, \infty)
        \{7, 11\} == 11 and 7
        \{1\pm\sqrt{5},-2\} == -2, 1+\sqrt5, 1-\sqrt5
        7 != 5 \in x
        \emptyset == ∅
        y=2x+3 == 2x - y + 3 = 0
        y=2x+3 == 2x+3
        2x+3y=6 == 4x+6y=12
        2x+3y=6 != 4x+6y=13
        2x+3y<6 == -4x-6y>-12
        2x+3y<6 != 4x+6y>12
        x=5 != y=5
        5 == x = 2 + 3 = 5
        \frac13 == x = \frac13 \approx 0.33
        2:3 == 4:6
        12:00 != 1:00
        1:2:3 != 1:3:2
        1, 2, \ldots, n != 1, 3, 5, \ldots, 2n-1
        1, 2, \ldots, n == 1, 2, \ldots, n
        \begin{pmatrix}1\\2\end{pmatrix} == \begin{pmatrix} 1 \\ 2 \end{pmatrix}
        \begin{pmatrix}1\\2\end{pmatrix} != \begin{pmatrix} 1 \\ 3 \end{pmatrix}
        """,
    )


def test_math_expressions():
    judged(
        "math",
        r"""
        x^2-1 == (x-1)(x+1)
        x^2-1 != (x-1)(x+2)
        \sin^2 x+\cos^2 x == 1
        \tan^2(y)+1 == \sec^2(y)
        \sqrt{x^2} == |x|
        \sqrt{x^2} != x
        \frac{x+2}{7} == \frac{x}{7}+\frac{2}{7}
        e^{2x} == \exp(2x)
        \frac{\sqrt6+\sqrt2}{4} == \cos 15^\circ
        1+i == i+1
        i == \sqrt{-1}
        2+3i != 2-3i
        \log_2 256 == 8
        \binom{5}{2} == 10
        10! == 3628800
        \sqrt[3]{2} == 2^{1/3}
        \sum_{k=1}^{10} k == 55
        0.\overline{3} == 1/3
        x_1 != x_2
        ab == ba
        \text{east} != \text{seat}
        2c != 2
        3h != 3
        """,
    )


def test_math_numbers_and_units():
    judged(
        "math",
        r"""
        1,234 == 1234
        1000000 == 10^6
        10\,000 == 10000
        11,\! 111,\! 111 == 11111111
        10 000 == 10{,}000
        6.02 \times 10^{23} == 6.02e23
        0.5 == .5
        1/2 == \frac{2}{4}
        -1 == −1
        \frac13 == 0.333333
        \frac13 != 0.3333
        \frac13 != 0.333334
        1/8 != 0.1250001
        \pi == 3.14159
        \pi != 3.14
        22/7 != \pi
        5 == 5 \text{ cm}
        5 \text{ cm} == 50 mm
        5 \text{ cm} != 5 m
        12 \text{ cm}^2 == 12 cm²
        12\pi == 12\pi \text{ square units}
        90^\circ == 90 degrees
        45^\circ != \frac{\pi}{4}
        5.50 == \$5.50
        720 == 720 ways
        """,
    )


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


def test_a_denied_value_is_no_answer():
    judged(
        "math",
        r"""
        512 != Answer: not 512
        512 != The answer is not 512.
        512 != Answer: it is not 512
        512 != Answer: anything but 512
        512 != Answer: isn't 512
        512 != Answer: certainly never 512
        512 != Answer: it cannot be 512
        512 != Answer: 512 is wrong
        512 != Answer: 512 is surely not right.
        512 != It cannot be 512
        512 != not 512
        512 != The answer is not 512, but 7.
        512 == Answer: 512, not 511
        511 != Answer: 512, not 511
        512 == The answer is 512, not 256.
        512 == Answer: 512 (511 is wrong)
        512 == Final answer: 512. The other value is wrong.
        7 == Answer: x = 7 (x cannot be 3)
        """,
    )
    judged(
        "choice",
        """
        D != Answer: D is wrong
        D != Answer: D isn't possible
        D == Answer: D, not A
        D == Answer: D (A is wrong)
        D == Answer: D because A is wrong
        """,
    )


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
    judged(
        "choice",
        r"""
        B == B
        B == (B)
        B == **B**
        B == So the answer is (B).
        B == The correct option is B because of the units.
        B == The best choice would be (B).
        B == **Answer: B**
        B == Answer: \boxed{B}
        B == \boxed{\text{(B)}}
        B == The final answer is $\boxed{B}$.
        B == Answer: b
        B == Answer: B, not C
        B == Answer: B. C is wrong because of the units.
        B == The answer is (B). The answer is consistent.
        A == The answer is A
        A == Answer: a
        A == Answer: A) 6 volts
        J == Answer: J
        A != The answer is A large number.
        A != A careful look shows nothing.
        B != The answer is not B.
        B != Be that as it may
        I != I think so
        B != Answer: B or C
        C != Answer: B or C
        B != Answer: (B) and (C)
        C != The answer is C. The answer is B or C
        B != \boxed{B} and \boxed{C}
        C != Many people choose C
        """,
    )
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


def test_text_spellings():
    judged(
        "text",
        r"""
        Friday == Answer: friday.
        Friday == It is Friday
        Friday == Fri
        Friday != So Friday it might be, or Monday
        Friday != Not Friday
        sun != Sunday
        4 == four
        4 == 4 litres
        4 != 4 not 5
        4 != 4 or 5
        21 == twenty-one
        5 != .5
        11:55 == 11:55 am
        16:54 == at 4:54 pm
        08:15 == 8:15
        08:15 != 8:16
        father-in-law == father in law
        father-in-law != mother-in-law
        knight == a knight
        knight == **Knight** (the others lie)
        knight != Kim is a knight
        yes == Yes, the tap drips.
        yes != Yes and no
        yes != No
        true == yes
        no == No, it does not.
        no != No, wait, yes
        3.5 km == 3500 m
        3.5 km != 3500 s
        3.5 km == 3.5
        0.125 == 1/8
        0.125 != 0.1251
        2.00001 == 2.000011
        1000000 != 1000001
        15% == 15 percent
        Ada, Ben, Cleo == Ada, Ben and Cleo
        Ada, Ben, Cleo != Ben, Ada, Cleo
        Ada, Ben, Cleo != Ada, Ben
        l == the letter L
        a == a
        1009 == 1,009
        7 == 3 + 4 = 7
        café == cafe\u0301
        """.replace("\\u0301", "\u0301"),
    )
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

    run_code.result = sandbox.CodeResult("passed", 3, 3, "", 0.1)
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
    run_code.result = sandbox.CodeResult("failed", 1, 6, "test 2: expected 3, got 4", 0.1)
    check = check_answer("code", question.reference, question.reference, question=question)
    assert check.reason == "failed: 1 of 6 tests passed. test 2: expected 3, got 4" and not check.correct
    assert calls[0][1]["trusted"] is True  # the suite's own code
    check_answer("code", question.reference, question.reference, question=question)
    assert len(calls) == 1
    run_code.result = sandbox.CodeResult("timeout", 0, 6, "stopped", 5.0, settled=False)
    for _ in range(2):
        assert not check_answer("code", question.reference, "def pairwise(): pass", question=question).correct
    assert len(calls) == 3  # a time limit's result is not kept
    run_code.result = sandbox.CodeResult("refused", 0, 6, "install bubblewrap", 0.0)
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
    for worker in symbolic._workers.idle:
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    checkers._checks.clear()
    assert right("math", r"\sqrt{8}", r"2\sqrt{2}")
    assert not right("math", r"\sqrt{8}", r"3\sqrt{2}")


def test_workers_that_keep_dying_are_no_plain_wrong(monkeypatch):
    def ask(self, request, seconds):
        raise symbolic._Dead

    monkeypatch.setattr(symbolic._Worker, "ask", ask)
    check = check_answer("math", "3", r"\sqrt{8}")
    assert not check.correct and "ended abnormally" in check.reason and not checkers._checks


@pytest.mark.parametrize("python", ["/nowhere/python", shutil.which("true"), shutil.which("echo")])
def test_a_machine_without_the_checker_is_an_error(monkeypatch, python):
    monkeypatch.setattr(symbolic, "_workers", symbolic._Workers())
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(symbolic.CheckerBroken, match="install math-verify"):
        check_answer("math", "3", r"\sqrt{8}")
    assert not symbolic._workers.idle
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
    monkeypatch.setattr(symbolic, "_ask", None)
    assert check_answer("math", r"\sqrt{8}", r"2\sqrt{2}") is first
    monkeypatch.setattr(checkers, "CACHED_CHECKS", 5)
    for answer in range(9):
        check_answer("math", "3", f"Answer: {answer}")
    assert len(checkers._checks) == 5
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
