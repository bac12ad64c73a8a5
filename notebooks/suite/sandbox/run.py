"""Running code that answers a question, and judging it by the question's tests.

    run_code(source, tests=[{"args": [...], "expected": ...}], entry_point="f")     a function
    run_code(source, tests="def check(candidate): ...", entry_point="f")            a test source, as HumanEval's
    run_code(source, stdin_cases=[{"input": ..., "output": ...}])                   a whole program, a process a case

Code that a model wrote runs in bubblewrap or not at all; the suite's own (`trusted=True`) in a limited subprocess.

A pass cannot be forged, because what is expected never enters a process that runs the code under test. Such a process
gets arguments and says values; they are compared here, as JSON text, so neither an object that equals everything nor a
patched `json` or `assert` counts. A test source asserts in a process (and sandbox) of its own and asks the other one
over a pipe on which only plain values travel. Code that takes over its process can at worst say other values, and a
value that is right is what was asked for.

A whole program's output is compared line by line, blanks within a line counted as one, blank lines around it ignored.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import signal
import threading
import time
import warnings
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Literal

from suite.sandbox import results as sandbox_results
from suite.sandbox.bubblewrap import find_bubblewrap, system_call_filter
from suite.sandbox.child import STARTED, decode, encode
from suite.sandbox.process import Ended, Limits, Run, Wrapper
from trinity_core.types import DataError

__all__ = ["CodeResult", "Limits", "run_code", "sandbox_status"]

Status = Literal["passed", "failed", "error", "timeout", "memory", "output-limit", "refused"]
KEPT = ("passed", "failed", "error")  # what running again would say again
REMEDY = "install bubblewrap (Debian: apt-get install bubblewrap)"
FLAG = "TRINITY_UNSANDBOXED"
DETAIL = 200  # characters of one value or message in a detail

_memory: dict[str, CodeResult] = {}
_slots = threading.BoundedSemaphore(os.cpu_count() or 1)  # more at once would only make each slower than its limit
_warned = threading.Event()


@dataclass(frozen=True)
class CodeResult:
    """What the tests say of a piece of code.

    `status`: "passed" (every test), "failed" (a wrong value), "error" (an exception, or no end in order), "timeout",
    "memory", "output-limit", or "refused" (it did not run; `detail` names the remedy). `passed` of `total` tests: a
    test source counts as one, and no stdin case after the first that does not pass is run. `detail` is about the first
    test that did not pass. `seconds` passed when it was really run.
    """

    status: Status
    passed: int
    total: int
    detail: str
    seconds: float


def run_code(
    source: str,
    *,
    tests: list[dict[str, Any]] | str | None = None,
    entry_point: str | None = None,
    stdin_cases: list[dict[str, str]] | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    trusted: bool = False,
) -> CodeResult:
    """Runs `source` and judges it by its tests, of which exactly one kind must be given.

    `tests` as a list: `entry_point` (a function, or a method of a class `Solution`) is called once a test with a fresh
    copy of `args`, and its result must equal `expected` exactly as JSON (1, 1.0 and true differ; a tuple is a list).
    As a text: Python that defines `check(candidate)`, which gets `entry_point` as `candidate`; arguments and results
    are copied plain values. Whatever else the test source uses, it must define itself.

    Never raises for what `source` is or does. DataError for tests that cannot be used, as for none at all.
    """
    if trusted:
        way, wrapper, reason = "trusted", None, ""
    else:
        wrapper, reason = find_bubblewrap()
        way = "bubblewrap" if wrapper else "unsandboxed" if os.environ.get(FLAG) == "1" else "refused"
    if not isinstance(source, str):
        raise TypeError(f"source is {_short(source)}; give the code as text")
    try:
        key = sandbox_results.key_of([source, tests, entry_point, stdin_cases, astuple(limits), way])
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the tests cannot be written as JSON: {error}") from None
    if key in _memory:
        return _memory[key]
    _check_tests(tests, entry_point, stdin_cases)
    total = len(stdin_cases or ()) or (1 if isinstance(tests, str) else len(tests or ()))
    if way == "refused":
        remedy = f"{REMEDY}, or set {FLAG}=1 to run it without a sandbox"
        return CodeResult("refused", 0, total, f"code by a model runs in a sandbox only: {reason}; {remedy}", 0.0)
    if way == "unsandboxed" and not _warned.is_set():
        _warned.set()
        warnings.warn(f"{FLAG}=1: code by models runs without a sandbox ({reason}); {REMEDY}", stacklevel=2)
    result = _kept(key)
    if result is None:
        with _slots:
            begun = time.monotonic()
            judge = (
                _judge_cases if stdin_cases is not None else _judge_source if isinstance(tests, str) else _judge_calls
            )
            given = stdin_cases if stdin_cases is not None else tests
            result, lasting = judge(source, given, entry_point, limits, wrapper)
            result = replace(result, total=total, seconds=round(time.monotonic() - begun, 4))
        if not lasting or result.status not in KEPT:
            return result
        sandbox_results.keep(key, asdict(result))
    _memory[key] = result
    return result


def _kept(key: str) -> CodeResult | None:
    try:
        result = CodeResult(**sandbox_results.read(key) or {})
    except TypeError:  # nothing kept, or not by this version
        return None
    return result if result.status in KEPT else None


def sandbox_status() -> str:
    """One line: whether code by models can run here, and what to do if not."""
    wrapper, words = find_bubblewrap()
    if wrapper:
        return f"Code sandbox: bubblewrap {words} works; code by models runs in it"
    if os.environ.get(FLAG) == "1":
        return f"Code sandbox: none ({words}); {FLAG}=1: code by models runs in a limited subprocess"
    return f"Code sandbox: none ({words}); code by models is refused, the suite's own runs limited; {REMEDY}"


# --- the tests ---


def _check_tests(tests: Any, entry_point: Any, stdin_cases: Any) -> None:
    """DataError for tests that could let anything pass, or nothing."""
    if (tests is None) == (stdin_cases is None):
        raise DataError("give either tests or stdin_cases: a task without tests cannot be judged")
    if stdin_cases is not None:
        if not isinstance(stdin_cases, list) or not stdin_cases:
            raise DataError(f"stdin_cases is {_short(stdin_cases)}; give at least one case")
        for number, case in enumerate(stdin_cases, 1):
            if not isinstance(case, dict) or not all(isinstance(case.get(part), str) for part in ("input", "output")):
                raise DataError(
                    f"stdin case {number} is {_short(case)}; give an object with the texts input and output"
                )
        return
    if not isinstance(entry_point, str) or not entry_point.isidentifier():
        raise DataError(f"entry_point is {_short(entry_point)}; name the function that the tests call")
    if isinstance(tests, str):
        try:
            tree = ast.parse(tests)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise DataError(f"the test source is not Python: {error}") from None
        if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
            raise DataError("the test source does not define check(candidate)")
        return
    if not isinstance(tests, list) or not tests:
        raise DataError(f"tests is {_short(tests)}; give at least one test")
    for number, test in enumerate(tests, 1):
        if not isinstance(test, dict) or not isinstance(test.get("args"), list) or "expected" not in test:
            raise DataError(f"test {number} is {_short(test)}; give an object with args (a list) and expected")
        for part in ("args", "expected"):
            try:
                same = json.loads(json.dumps(test[part], allow_nan=False)) == test[part]
            except (TypeError, ValueError, RecursionError):
                same = False
            if not same:
                raise DataError(f"test {number}: {part} is {_short(test[part])}, which JSON cannot hold")


# --- the judges: (result, whether running again would say the same) ---


def _judge_calls(source: str, tests: list, entry_point: str, limits: Limits, wrapper: Wrapper | None):
    calls = "".join(json.dumps(encode([test["args"], {}])) + "\n" for test in tests)
    expected = [json.dumps(["value", encode(test["expected"], plain=True)]) for test in tests]
    with _run(limits, wrapper) as run:
        requests, replies = run.write(calls.encode()), run.read(limits.output + sum(map(len, expected)))
        run.start("serve", {"source": source, "entry_point": entry_point, "plain": True}, requests, replies)
        ended = run.finish(until=replies)
    lines = ended.output[replies].decode(errors="replace").split("\n")[:-1]
    if not lines or json.dumps([STARTED]) != lines[0]:
        return _not_started(ended, run)
    said = lines[2:]
    passed = sum(reply == right for reply, right in zip(said, expected, strict=False))
    if len(lines) > 1 and lines[1] != '["loaded"]':
        return _bad_reply(lines[1], None, ""), True
    for number, (reply, test) in enumerate(zip(said, tests, strict=False), 1):
        if reply != expected[number - 1]:
            return replace(_bad_reply(reply, test, f"test {number}: "), passed=passed), True
    if ended.stopped:
        return CodeResult(ended.stopped, passed, 0, f"stopped after {len(said)} of {len(tests)} results", 0.0), False
    if len(said) != len(tests):
        status, words, lasting = _fate(ended.codes[0])
        return CodeResult(status, passed, 0, f"{len(said)} results for {len(tests)} tests: {words}", 0.0), lasting
    return CodeResult("passed", passed, 0, "", 0.0), True


def _judge_source(source: str, tests: str, entry_point: str, limits: Limits, wrapper: Wrapper | None):
    with _run(limits, wrapper) as run:
        calls_out, calls_in = run.between()
        replies_out, replies_in = run.between()
        result = run.read(limits.output)
        run.start("serve", {"source": source, "entry_point": entry_point, "plain": False}, calls_out, replies_in)
        run.start("check", {"source": tests, "entry_point": entry_point}, calls_in, replies_out, result)
        ended = run.finish(until=result)
    lines = ended.output[result].decode(errors="replace").split("\n")[:-1]
    if not lines or lines[0] != json.dumps([STARTED]):
        return _not_started(ended, run)
    if ended.stopped:
        return CodeResult(ended.stopped, 0, 0, "stopped before check ended", 0.0), False
    if len(lines) < 2:
        status, words, _ = _fate(ended.codes[1])
        return CodeResult(status, 0, 0, f"the test source's process: {words}", 0.0), False
    kind, *words = json.loads(lines[1])  # a trusted process's words
    if kind == "passed" and len(lines) == 2:
        return CodeResult("passed", 1, 0, "", 0.0), True
    if kind == "failed":
        return CodeResult("failed", 0, 0, _short(f"check: {words[0]}", quote=False), 0.0), True
    name, message = words
    if name == "CandidateError" and ended.codes[0] is not None:
        status, fate, lasting = _fate(ended.codes[0])
        if status != "error" or ended.codes[0]:
            return CodeResult(status, 0, 0, _short(f"check: {message}: {fate}", quote=False), 0.0), lasting
    status = "memory" if "MemoryError" in (name, message.split(":")[0]) else "error"
    said = message if name == "CandidateError" else f"{name}: {message}"
    return CodeResult(status, 0, 0, _short(f"check: {said}", quote=False), 0.0), True


def _judge_cases(source: str, cases: list, entry_point: str | None, limits: Limits, wrapper: Wrapper | None):
    for number, case in enumerate(cases, 1):
        with _run(limits, wrapper) as run:
            started = run.read(limits.output)
            stdin = run.write(case["input"].encode(errors="surrogatepass"))
            stdout = run.read(limits.output + 2 * len(case["output"]))
            run.start("main", {"source": source}, started, stdin=stdin, stdout=stdout)
            ended = run.finish()
        if not ended.output[started]:
            return _not_started(ended, run)
        result, lasting = CodeResult("passed", 0, 0, "", 0.0), True
        if ended.stopped:
            result, lasting = CodeResult(ended.stopped, 0, 0, "stopped", 0.0), False
        elif ended.codes[0] != 0:
            status, words, lasting = _fate(ended.codes[0])
            last = (ended.output[run.errors[0]].decode(errors="replace").strip().splitlines() or [""])[-1]
            if ended.codes[0] == 1 and last:
                status, words = "memory" if last.startswith("MemoryError") else "error", _short(last, quote=False)
            result = CodeResult(status, 0, 0, words, 0.0)
        else:
            said = ended.output[stdout].decode(errors="replace")
            if _lines(said) != _lines(case["output"]):
                got, want = _short(said.strip()), _short(case["output"].strip())
                result = CodeResult("failed", 0, 0, f"expected {want}, got {got}", 0.0)
        if result.status != "passed":
            return replace(result, passed=number - 1, detail=f"case {number}: {result.detail}"), lasting
    return CodeResult("passed", len(cases), 0, "", 0.0), True


def _run(limits: Limits, wrapper: Wrapper | None) -> Run:
    return Run(limits, wrapper, system_call_filter(platform.machine()) if wrapper else None)


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _bad_reply(reply: str, test: dict[str, Any] | None, where: str) -> CodeResult:
    """What a reply that is not the expected text means. It may be forged, so it is read with care."""
    try:
        kind, *rest = json.loads(reply[: 1 << 16])
        if kind == "value" and test is not None:
            got = f"expected {_short(test['expected'])}, got {_short(decode(rest[0]))}"
            return CodeResult("failed", 0, 0, where + got, 0.0)
        name, message = map(str, rest)
    except (ValueError, TypeError, LookupError, RecursionError, MemoryError):
        wrong = reply.startswith('["value"')
        return CodeResult("failed" if wrong else "error", 0, 0, f"{where}{_short(reply, quote=False)}", 0.0)
    if kind == "odd":
        return CodeResult("failed", 0, 0, where + _short(f"the result is not plain data ({message})", quote=False), 0.0)
    status = "memory" if name == "MemoryError" else "error"
    return CodeResult(status, 0, 0, _short(f"{where}{name}: {message}".removesuffix(": "), quote=False), 0.0)


def _fate(code: int | None) -> tuple[Status, str, bool]:
    """(status, words, lasting) for a process that ended, or None for one that only closed its pipe, before its time."""
    if code is None:
        return "error", "the code closed the pipe of its results", True
    if code >= 0:
        return "error", f"the code ended its process with status {code}", True
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    statuses = {"SIGXCPU": "timeout", "SIGALRM": "timeout", "SIGKILL": "memory", "SIGXFSZ": "output-limit"}
    why = " (the system ends a process so that uses too much)" if name == "SIGKILL" else ""
    return statuses.get(name, "error"), f"the process was ended by {name}{why}", False


def _not_started(ended: Ended, run: Run) -> tuple[CodeResult, bool]:
    """The fault is not the code's: nothing of it has run."""
    words = " ".join(ended.output[number].decode(errors="replace").strip() for number in run.errors)
    return CodeResult("refused", 0, 0, f"the process did not start: {_short(words or ended.stopped)}", 0.0), False


def _short(value: Any, quote: bool = True) -> str:
    """`value` for a message: cut where it is long, without what would confuse a terminal."""
    try:
        text = repr(value) if quote else str(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a {type(value).__name__}"
    text = "".join(letter if letter.isprintable() else " " for letter in text[: DETAIL + 1])
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}..."
