"""One row of a published benchmark as a question: the fields of each schema, and every way in which a row can be bad.

A converter takes a row and gives a `Draft`; `DataError` says what is wrong. Published questions get no phrasing.

LiveCodeBench packs its private tests: JSON text, pickled, compressed (zlib), written in base64. Loading a pickle runs
what its author put in it, so none is loaded: `pickletools` lists the instructions, and only those that write down one
text are let pass.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import json
import pickletools
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trinity_core.types import AnswerKind, DataError

LETTERS = "ABCD"
LARGEST = 1 << 29  # bytes of one question's unpacked tests; more is taken for a decompression bomb
PICKLED_TEXT = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
NO_EFFECT = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Draft:
    """What a row says: the question without its place in the suite. `source` is the benchmark's own id, if any."""

    source: str | None
    text: str
    kind: AnswerKind
    reference: str
    meta: dict[str, Any] = field(default_factory=dict)


def text_of(row: Row, name: str) -> str:
    """The row's field as text that is not empty; whole numbers count (ids, answers)."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{name} is {_shown(value)}; text is needed")
    return value.strip()


def json_of(row: Row, name: str, kind: type = list) -> Any:
    """The row's field as a list or an object; in CSV it is written as JSON."""
    value = given = row.get(name)
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(given) if isinstance(given, str) else given
    if not isinstance(value, kind):
        raise DataError(f"{name} is {_shown(given)}; a {kind.__name__} (in CSV as JSON) is needed")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _with_options(question: str, options: list[str]) -> str:
    return question + "\n" + "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, options, strict=True))


def _check_options(options: list[Any], right: int) -> None:
    if len(options) != 4 or not all(isinstance(option, str) and option.strip() for option in options):
        raise DataError(f"the options are {_shown(options)}; four texts are needed")
    if sum(option.strip() == options[right].strip() for option in options) > 1:
        raise DataError(f"the right option {_shown(options[right])} stands there twice")


def math500(row: Row) -> Draft:
    meta = {name: row[name] for name in ("subject", "level") if row.get(name) is not None}
    return Draft(text_of(row, "unique_id"), text_of(row, "problem"), "math", text_of(row, "answer"), meta)


def mmlu(row: Row) -> Draft:
    answer = row.get("answer")
    if str(answer) not in ("0", "1", "2", "3"):
        raise DataError(f"answer is {_shown(answer)}; 0, 1, 2 or 3 is needed")
    right, options = int(answer), json_of(row, "choices")
    _check_options(options, right)
    options = [option.strip() for option in options]
    text = _with_options(text_of(row, "question"), options)
    return Draft(None, text, "choice", LETTERS[right], {"subject": row.get("subject") or "", "options": options})


def rlpr(row: Row) -> Draft:
    """The last user message is the question. The reference says how it is checked.

    A lone capital letter to a question that lists options is a choice; what holds a backslash or a power sign is
    mathematics; everything else (words, numbers, numbers with units) is text.
    """
    messages, reward = json_of(row, "prompt"), json_of(row, "reward_model", dict)
    asked = [m["content"] for m in messages if isinstance(m, dict) and m.get("role") == "user" and m.get("content")]
    if not asked or not isinstance(asked[-1], str):
        raise DataError(f"prompt is {_shown(messages)}; messages with role and content are needed, one of the user's")
    text, reference = asked[-1].strip(), text_of(reward, "ground_truth")
    lettered = re.fullmatch("[A-J]", reference) and re.search(rf"(^|\s)\(?{reference}[.):]\s", text)
    kind: AnswerKind = "choice" if lettered else "math" if re.search(r"[\\^]", reference) else "text"
    meta = {name: row[name] for name in ("data_source", "ability") if row.get(name)}
    return Draft(None, text, kind, reference, meta)  # extra_info has an index, but not one that is unique by contract


def livecodebench(row: Row) -> Draft:
    text, starter = text_of(row, "question_content"), row.get("starter_code") or ""
    if starter.strip():
        text += f"\n\nComplete this code; it is run as it stands, so write its imports too.\n```python\n{starter}\n```"
    else:
        text += "\n\nWrite a Python program that reads standard input and writes the answer to standard output."
    meta = {name: row[name] for name in ("platform", "difficulty", "contest_date") if isinstance(row.get(name), str)}
    return Draft(text_of(row, "question_id"), text, "code", "", meta | _tests(row))  # no solutions are published


def _tests(row: Row) -> dict[str, Any]:
    """The public and the private tests as `run_code` takes them: `tests` and `entry_point`, or `stdin_cases`."""
    private = row.get("private_test_cases")
    if isinstance(private, str) and not private.lstrip().startswith("["):
        row = row | {"private_test_cases": unpack(private)}
    cases = [*json_of(row, "public_test_cases"), *json_of(row, "private_test_cases")]
    if not cases:
        raise DataError("there are no tests, public or private")
    for case in cases:
        if not isinstance(case, dict) or not all(isinstance(case.get(key), str) for key in ("input", "output")):
            raise DataError(f"a test is {_shown(case)}; a test has the texts input and output")
    kinds = {case.get("testtype") for case in cases}
    if kinds == {"stdin"}:
        return {"stdin_cases": [{"input": case["input"], "output": case["output"]} for case in cases]}
    if kinds != {"functional"}:
        raise DataError(f"testtype is {', '.join(sorted(map(str, kinds)))}; 'stdin' or 'functional' for all is needed")
    function = json_of(row, "metadata", dict).get("func_name")
    if not isinstance(function, str) or not function.isidentifier():
        raise DataError(f"metadata is {_shown(row['metadata'])}; functional tests need its func_name")
    tests = []
    for number, case in enumerate(cases, 1):  # arguments are JSON values, one a line
        try:
            args = [json.loads(line) for line in case["input"].split("\n") if line.strip()]
            tests.append({"args": args, "expected": json.loads(case["output"])})
        except ValueError as error:
            raise DataError(f"test {number}: input or output is not JSON ({error})") from None
    return {"entry_point": function, "tests": tests}


def unpack(packed: str) -> str:
    """The JSON text in packed private tests; DataError for anything but one pickled text."""
    texts = []
    try:
        engine = zlib.decompressobj()
        pickled = engine.decompress(base64.b64decode(packed, validate=True), LARGEST)
        if not engine.eof:
            raise ValueError(f"it is cut short, or holds more than {LARGEST} bytes")
        for instruction, argument, _ in pickletools.genops(pickled):
            if instruction.name in PICKLED_TEXT:
                texts.append(argument)
            elif instruction.name not in NO_EFFECT:
                raise ValueError(f"the pickle holds more than a text ({instruction.name})")
        if len(texts) != 1:
            raise ValueError(f"the pickle holds {len(texts)} texts")
    except Exception as error:  # pickletools raises much, from ValueError to struct.error
        raise DataError(f"private_test_cases is neither JSON nor one packed text: {error}") from None
    return texts[0]


def aime2025(row: Row) -> Draft:
    answer = text_of(row, "answer")
    if not re.fullmatch("[0-9]{1,3}", answer):
        raise DataError(f"answer is {answer!r}; a whole number from 0 to 999 is needed")
    source = row.get("id")
    return Draft(None if source is None else str(source), text_of(row, "problem"), "math", str(int(answer)))


def bigcodebench(row: Row) -> Draft:
    """The tests are a unittest class `TestCases`: run by a `check(candidate)` that fails with the first failure.

    Many tasks need packages and hand over values that no JSON holds; in a sandbox without them such a
    task's tests end in an error, never in a pass. The solution stands in `meta`, not as the reference: the suite runs
    its own references without a sandbox, and this one is a stranger's.
    """
    test, entry_point = text_of(row, "test"), text_of(row, "entry_point")
    try:
        classes = {node.name for node in ast.parse(test).body if isinstance(node, ast.ClassDef)}
    except (SyntaxError, ValueError) as error:
        raise DataError(f"test is not Python ({error})") from None
    if "TestCases" not in classes:
        raise DataError("test defines no class TestCases")
    text_of(row, "code_prompt"), text_of(row, "canonical_solution")  # their indentation counts: kept as they stand
    solution = f"{row['code_prompt'].rstrip()}\n{row['canonical_solution'].rstrip()}\n"
    meta = {"entry_point": entry_point, "tests": test + UNITTEST, "canonical_solution": solution}
    return Draft(text_of(row, "task_id"), text_of(row, "instruct_prompt"), "code", "", meta)


UNITTEST = """


def check(candidate):
    import unittest

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(TestCases).run(result)
    assert result.testsRun > 0, "no test was run"
    for test, trace in result.failures + result.errors:
        raise AssertionError(f"{test}: {trace.strip().splitlines()[-1]}")
"""


def mtbench(row: Row) -> Draft:
    turns = json_of(row, "turns")
    if len(turns) != 2 or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise DataError(f"turns are {_shown(turns)}; two texts are needed")
    given = row.get("reference")
    references = [] if given in (None, "") else json_of(row, "reference")
    notes = "\n".join(f"Turn {i}: {text}" for i, text in enumerate(references, 1) if isinstance(text, str) and text)
    meta = {"category": text_of(row, "category"), "turns": [turn.strip() for turn in turns]}
    return Draft(text_of(row, "question_id"), turns[0].strip(), "judge", notes, meta)


def gpqa(row: Row) -> Draft:
    """The options' order follows a hash of the record's id: the same on every machine, whatever was drawn before."""
    record = text_of(row, "Record ID")
    names = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
    given = [text_of(row, name) for name in names]
    order = sorted(range(4), key=lambda i: hashlib.sha256(f"gpqa {record} {i}".encode()).digest())
    options = [given[i] for i in order]
    right = order.index(0)
    _check_options(options, right)
    meta = {"subject": row.get("Subdomain") or "", "domain": row.get("High-level domain") or "", "options": options}
    return Draft(record, _with_options(text_of(row, "Question"), options), "choice", LETTERS[right], meta)


CONVERTERS: dict[str, Callable[[Row], Draft]] = {
    converter.__name__: converter
    for converter in (math500, mmlu, rlpr, livecodebench, aime2025, bigcodebench, mtbench, gpqa)
}
