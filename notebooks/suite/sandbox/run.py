"""Running code that answers a question, and judging it by the question's tests.

    run_code(source, tests=[{"args": [...], "expected": ...}], entry_point="f")     a function
    run_code(source, tests="def check(candidate): ...", entry_point="f")            a test source, as HumanEval's
    run_code(source, stdin_cases=[{"input": ..., "output": ...}])                   a whole program, a process a case

Code that a model wrote runs in bubblewrap or not at all; the suite's own (`trusted=True`) in a limited subprocess.

A pass cannot be forged: what is expected never enters a process that runs the code under test. It gets arguments and
says values, which are compared here as JSON text. A test source asserts in a process and sandbox of its own and asks
the other one over a pipe for plain values. Code that takes over its process can at worst say other values. A program's
output is compared line by line, blanks within a line counted as one, blank lines around it ignored.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import signal
import sys
import threading
import time
import warnings
from dataclasses import asdict, astuple, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from suite.sandbox.bubblewrap import Bubblewrap
from suite.sandbox.child import decode, encode
from suite.sandbox.process import Limits, Run, find_bubblewrap
from trinity_core import paths
from trinity_core.store import Store
from trinity_core.types import DataError

__all__ = ["CodeResult", "Limits", "run_code", "sandbox_status"]

Status = Literal["passed", "failed", "error", "timeout", "memory", "output-limit", "refused"]
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
    test that did not pass. `seconds` passed when it was really run. `settled`: running again would say the same.
    """

    status: Status
    passed: int
    total: int
    detail: str
    seconds: float
    settled: bool = True


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
        way, sandbox, reason = "trusted", None, ""
    else:
        sandbox, reason = find_bubblewrap()
        way = "bubblewrap" if sandbox else "unsandboxed" if os.environ.get(FLAG) == "1" else "refused"
    if not isinstance(source, str):
        raise TypeError(f"source is {_short(source)}; give the code as text")
    try:
        key = _key([source, tests, entry_point, stdin_cases, astuple(limits), way])
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
    store = _store(paths.cache_dir() / "code_results.sqlite")
    try:
        result = CodeResult(**json.loads(store.get([key])[key]))
    except (AttributeError, KeyError, TypeError, ValueError):  # no store, nothing kept, or not by this version
        judge = _judge_cases if stdin_cases is not None else _judge_source if isinstance(tests, str) else _judge_calls
        with _slots:
            begun = time.monotonic()
            result = judge(source, stdin_cases or tests, entry_point, limits, sandbox)
            result = replace(result, total=total, seconds=round(time.monotonic() - begun, 4))
        if not result.settled:
            return result
        if store:
            store.put({key: json.dumps(asdict(result)).encode()})
    _memory[key] = result
    return result


def _key(content: list[Any]) -> str:
    """The hash of JSON data, of the Python version and of the sandbox's own code. TypeError or ValueError as json's."""
    return hashlib.sha256((_versions() + json.dumps(content)).encode()).hexdigest()


@functools.cache
def _versions() -> str:
    files = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".py", ".json"))
    return hashlib.sha256(b"".join([sys.version.encode(), *map(Path.read_bytes, files)])).hexdigest()


@functools.cache
def _store(file: Path) -> Store | None:
    """The results of all processes; the same code and tests are run once, ever."""
    try:
        return Store(file)
    except OSError as error:
        warnings.warn(f"{error}; code is run again each time", stacklevel=4)
        return None


def sandbox_status() -> str:
    """One line: whether code by models can run here, and what to do if not."""
    sandbox, words = find_bubblewrap()
    if sandbox:
        return f"Code sandbox: bubblewrap {words} works; code by models runs in it"
    if os.environ.get(FLAG) == "1":
        return f"Code sandbox: none ({words}); {FLAG}=1: code by models runs in a limited subprocess"
    return f"Code sandbox: none ({words}); code by models is refused, the suite's own runs limited; {REMEDY}"


# --- the tests ---


def _need(sound: object, what: str, value: Any, need: str) -> None:
    if not sound:
        raise DataError(f"{what} is {_short(value)}; give {need}")


def _check_tests(tests: Any, entry_point: Any, stdin_cases: Any) -> None:
    """DataError for tests that could let anything pass, or nothing."""
    if (tests is None) == (stdin_cases is None):
        raise DataError("give either tests or stdin_cases: a task without tests cannot be judged")
    if stdin_cases is not None:
        _need(isinstance(stdin_cases, list) and stdin_cases, "stdin_cases", stdin_cases, "at least one case")
        for number, case in enumerate(stdin_cases, 1):
            sound = isinstance(case, dict) and all(isinstance(case.get(part), str) for part in ("input", "output"))
            _need(sound, f"stdin case {number}", case, "an object with the texts input and output")
        return
    sound = isinstance(entry_point, str) and entry_point.isidentifier()
    _need(sound, "entry_point", entry_point, "the name of the function that the tests call")
    if isinstance(tests, str):
        try:
            names = [node.name for node in ast.parse(tests).body if isinstance(node, ast.FunctionDef)]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise DataError(f"the test source is not Python: {error}") from None
        _need("check" in names, "the test source", tests, "one that defines check(candidate)")
        return
    _need(isinstance(tests, list) and tests, "tests", tests, "at least one test")
    for number, test in enumerate(tests, 1):
        sound = isinstance(test, dict) and isinstance(test.get("args"), list) and "expected" in test
        _need(sound, f"test {number}", test, "an object with args (a list) and expected")
        for part in ("args", "expected"):
            _need(_is_json(test[part]), f"test {number}: {part}", test[part], "what JSON can hold")


def _is_json(value: Any) -> bool:
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        return False


# --- the judges ---


def _result(status: Status, passed: int, detail: str = "", settled: bool = True) -> CodeResult:
    return CodeResult(status, passed, 0, detail, 0.0, settled and status in ("passed", "failed", "error"))


def _judge_calls(source: str, tests: list, entry_point: str, limits: Limits, sandbox: Bubblewrap | None) -> CodeResult:
    calls = "".join(json.dumps(encode([test["args"], {}])) + "\n" for test in tests)
    expected = [json.dumps(["value", encode(test["expected"], plain=True)]) for test in tests]
    with Run(limits, sandbox) as run:
        requests, replies = run.given(calls.encode()), run.wanted(limits.output + sum(map(len, expected)))
        run.start("serve", {"source": source, "entry_point": entry_point, "plain": True}, requests, replies)
        stopped = run.finish()
        if not run.started():
            return _not_started(run, stopped)
        loaded, *said = run.said(replies).split("\n")[:-1] or [None]
    passed = sum(reply == right for reply, right in zip(said, expected, strict=False))
    if stopped == "output-limit":  # a fault may be its consequence, a value is not
        said = list(takewhile(lambda reply: reply.startswith('["value"'), said))
    elif loaded not in (None, '["loaded"]'):
        return _bad_reply(loaded, None, "")
    for number, (reply, test) in enumerate(zip(said, tests, strict=False), 1):
        if reply != expected[number - 1]:
            return replace(_bad_reply(reply, test, f"test {number}: "), passed=passed)
    if stopped:
        return _result(stopped, passed, f"stopped after {len(said)} of {len(tests)} results", settled=False)
    if len(said) != len(tests):
        status, words, settled = _fate(run.codes[0])
        return _result(status, passed, f"{len(said)} results for {len(tests)} tests: {words}", settled)
    return _result("passed", passed)


def _judge_source(source: str, tests: str, entry_point: str, limits: Limits, sandbox: Bubblewrap | None) -> CodeResult:
    with Run(limits, sandbox) as run:
        calls_out, calls_in = run.pipe()
        replies_out, replies_in = run.pipe()
        verdict = run.wanted(limits.output)
        run.start("serve", {"source": source, "entry_point": entry_point, "plain": False}, calls_out, replies_in)
        run.start("check", {"source": tests, "entry_point": entry_point}, calls_in, replies_out, verdict)
        stopped = run.finish()
        if not run.started():
            return _not_started(run, stopped)
        lines = run.said(verdict).splitlines()
    if stopped:
        return _result(stopped, 0, "stopped before check ended", settled=False)
    if not lines:
        status, words, _ = _fate(run.codes[1])
        return _result(status, 0, f"the test source's process: {words}", settled=False)
    kind, *words = json.loads(lines[0])  # a trusted process's words
    if kind == "passed" and len(lines) == 1:
        return _result("passed", 1)
    if kind == "failed":
        return _result("failed", 0, _short(f"check: {words[0]}", quote=False))
    name, message = words
    if name == "CandidateError" and run.codes[0] is not None:
        status, fate, settled = _fate(run.codes[0])
        if status != "error" or run.codes[0]:
            return _result(status, 0, _short(f"check: {message}: {fate}", quote=False), settled)
    status = "memory" if "MemoryError" in (name, message.split(":")[0]) else "error"
    said = message if name == "CandidateError" else f"{name}: {message}"
    return _result(status, 0, _short(f"check: {said}", quote=False))


def _judge_cases(
    source: str, cases: list, entry_point: str | None, limits: Limits, sandbox: Bubblewrap | None
) -> CodeResult:
    for number, case in enumerate(cases, 1):
        with Run(limits, sandbox) as run:
            stdin = run.given(case["input"].encode(errors="surrogatepass"))
            stdout = run.wanted(limits.output + 2 * len(case["output"]))
            run.start("main", {"source": source}, stdin=stdin, stdout=stdout)
            stopped = run.finish()
            if not run.started():
                return _not_started(run, stopped)
            said, last = run.said(stdout), (run.errors(0) or [""])[-1]
        result = _result("passed", 0)
        if stopped:
            result = _result(stopped, 0, "stopped", settled=False)
        elif run.codes[0] == 1 and last:
            result = _result("memory" if last.startswith("MemoryError") else "error", 0, _short(last, quote=False))
        elif run.codes[0] != 0:
            status, words, settled = _fate(run.codes[0])
            result = _result(status, 0, words, settled)
        elif _lines(said) != _lines(case["output"]):
            result = _result("failed", 0, f"expected {_short(case['output'].strip())}, got {_short(said.strip())}")
        if result.status != "passed":
            return replace(result, passed=number - 1, detail=f"case {number}: {result.detail}")
    return _result("passed", len(cases))


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _bad_reply(reply: str, test: dict[str, Any] | None, where: str) -> CodeResult:
    """What a reply that is not the expected text means. It may be forged, so it is read with care."""
    try:
        kind, *rest = json.loads(reply[: 1 << 16])
        if kind == "value" and test is not None:
            got = f"expected {_short(test['expected'])}, got {_short(decode(rest[0]))}"
            return _result("failed", 0, where + got)
        name, message = map(str, rest)
    except (ValueError, TypeError, LookupError, RecursionError, MemoryError):
        wrong = reply.startswith('["value"')
        return _result("failed" if wrong else "error", 0, f"{where}{_short(reply, quote=False)}")
    if kind == "odd":
        return _result("failed", 0, where + _short(f"the result is not plain data ({message})", quote=False))
    status = "memory" if name == "MemoryError" else "error"
    return _result(status, 0, _short(f"{where}{name}: {message}".removesuffix(": "), quote=False))


def _fate(code: int) -> tuple[Status, str, bool]:
    """(status, words, settled) for a process that ended before its time."""
    if code >= 0:
        return "error", f"the code ended its process with status {code}", True
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    statuses = {"SIGXCPU": "timeout", "SIGALRM": "timeout", "SIGKILL": "memory", "SIGXFSZ": "output-limit"}
    why = " (the system ends a process so that uses too much)" if name == "SIGKILL" else ""
    return statuses.get(name, "error"), f"the process was ended by {name}{why}", False


def _not_started(run: Run, stopped: str | None) -> CodeResult:
    """The fault is not the code's: nothing of it has run."""
    words = " ".join(" ".join(run.errors(number)) for number in range(len(run.codes)))
    return _result("refused", 0, f"the process did not start: {_short(words or stopped)}", settled=False)


def _short(value: Any, quote: bool = True) -> str:
    """`value` for a message: cut where it is long, without what would confuse a terminal."""
    try:
        text = repr(value) if quote else str(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a {type(value).__name__}"
    text = "".join(letter if letter.isprintable() else " " for letter in text[: DETAIL + 1])
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}..."
