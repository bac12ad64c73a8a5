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
import platform
import shutil
import signal
import sys
import threading
import warnings
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from suite.sandbox.bubblewrap import ARCHITECTURES, Bubblewrap
from suite.sandbox.child import decode, encode
from suite.sandbox.process import Limits, Run
from trinity_core import paths
from trinity_core.store import Store
from trinity_core.types import DataError

Status = Literal["passed", "failed", "error", "timeout", "memory", "output-limit", "refused"]
REMEDY = "install bubblewrap (Debian: apt-get install bubblewrap)"
DETAIL = 180  # characters of one value in a detail

_slots = threading.BoundedSemaphore(os.cpu_count() or 1)  # more at once would only make each slower than its limit


@dataclass(frozen=True)
class CodeResult:
    """What the tests say of a piece of code.

    `status`: "passed" (every test), "failed" (a wrong value), "error" (an exception, or no end in order), "timeout",
    "memory", "output-limit", or "refused" (it did not run; `detail` names the remedy). `passed` of `total` tests: a
    test source counts as one, and no stdin case after the first that does not pass is run. `detail` is about the first
    test that did not pass. `settled`: running again would say the same.
    """

    status: Status
    passed: int
    total: int
    detail: str
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
    sandbox, reason = (None, "") if trusted else find_bubblewrap()
    if not isinstance(source, str):
        raise TypeError(f"source is {_short(source)}; give the code as text")
    _check_tests(tests, entry_point, stdin_cases)
    try:
        key = _key([source, tests, entry_point, stdin_cases, astuple(limits), trusted])
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the tests cannot be written as JSON: {error}") from None
    total = 1 if isinstance(tests, str) else len(stdin_cases or tests)
    if not trusted and sandbox is None:
        return CodeResult("refused", 0, total, f"code by a model runs in a sandbox only: {reason}; {REMEDY}")
    store = _store(paths.cache_dir() / "code_results.sqlite")
    try:
        return CodeResult(**json.loads(store.get([key])[key]))
    except (AttributeError, KeyError, TypeError, ValueError):  # no store, nothing kept, or not by this version
        judge = _judge_cases if stdin_cases else _judge_source if isinstance(tests, str) else _judge_calls
    with _slots:
        result = replace(judge(source, stdin_cases or tests, entry_point, limits, sandbox), total=total)
    if store and result.settled:
        store.put({key: json.dumps(asdict(result)).encode()})
    return result


def _key(content: list[Any]) -> str:
    """The hash of JSON data, of the Python version and of the sandbox's own code. TypeError or ValueError as json's."""
    return hashlib.sha256((_versions() + json.dumps(content, allow_nan=False)).encode()).hexdigest()


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


# --- the sandbox ---

# What a child sees of where it is; the library can be read after leaving root.
LOOK = """
import os, sys
def look():
    import typing, _ctypes, encodings.idna
    try:
        os.fork()
    except OSError:
        return [os.getuid() == 0, os.getppid(), sys.version]
"""
INSIDE = [False, 1, sys.version]


@functools.cache
def find_bubblewrap() -> tuple[Bubblewrap | None, str]:
    """The bubblewrap that works and its version, or None and the reason. It is tried once a process."""
    path = shutil.which("bwrap")
    if path is None or sys.platform != "linux":
        return None, "bubblewrap is not installed (it is for Linux only)"
    if platform.machine() not in ARCHITECTURES:
        return None, f"its filter of system calls knows {', '.join(ARCHITECTURES)}, and this is {platform.machine()}"
    ways = [False]
    if os.geteuid() == 0:  # it must become another user: in a user name space it would still own the kernel's settings
        whole = Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]
        ways = [True] if whole else [True, False]  # in a container, root may be an ordinary user
    for root in ways:
        bubblewrap = Bubblewrap(path, root)
        version = ".".join(map(str, bubblewrap.version))
        seen = _judge_calls(LOOK, [{"args": [], "expected": INSIDE}], "look", Limits(), bubblewrap)
        if seen.status == "passed":
            return bubblewrap, version
    return None, f"bubblewrap {version} does not work on this machine ({seen.detail})"


def sandbox_status() -> str:
    """One line: whether code by models can run here, and what to do if not."""
    sandbox, words = find_bubblewrap()
    if sandbox:
        return f"Code sandbox: bubblewrap {words} works; code by models runs in it"
    return f"Code sandbox: none ({words}); code by models is refused, the suite's own runs limited; {REMEDY}"


# --- the tests ---


def _check_tests(tests: Any, entry_point: Any, stdin_cases: Any) -> None:
    """DataError for tests that could let anything pass, or nothing."""
    if bool(tests) == bool(stdin_cases):
        raise DataError("give either tests or stdin_cases: a task without tests cannot be judged")
    if tests and not (isinstance(entry_point, str) and entry_point.isidentifier()):
        raise DataError(f"entry_point is {_short(entry_point)}; give the name of the function that the tests call")
    if isinstance(tests, str):
        try:
            names = [node.name for node in ast.parse(tests).body if isinstance(node, ast.FunctionDef)]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise DataError(f"the test source is not Python: {error}") from None
        if "check" not in names:
            raise DataError(f"the test source {_short(tests)} does not define check(candidate)")
        return
    parts = {"input": str, "output": str} if stdin_cases else {"args": list, "expected": object}
    for number, case in enumerate(stdin_cases or tests, 1):
        sound = isinstance(case, dict) and parts.keys() <= case.keys()
        if not sound or not all(isinstance(case[part], kind) for part, kind in parts.items()):
            raise DataError(f"test {number} is {_short(case)}; give an object with {' and '.join(parts)}")


# --- the judges ---


def _result(status: Status, passed: int, detail: str = "", settled: bool = True) -> CodeResult:
    """A result without what `run_code` adds; the detail is cut, and loses what would confuse a terminal."""
    detail = "".join(letter if letter.isprintable() else " " for letter in detail[: 2 * DETAIL])
    return CodeResult(status, passed, 0, detail, settled and status in ("passed", "failed", "error"))


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
    cut = stopped == "output-limit"  # a fault may be its consequence, a value is not
    if not cut and loaded not in (None, '["loaded"]'):
        return _bad_reply(loaded, None, 0, "")
    for number, (reply, test, right) in enumerate(zip(said, tests, expected, strict=False), 1):
        if reply != right and (reply.startswith('["value"') or not cut):
            return _bad_reply(reply, test, passed, f"test {number}: ")
    if stopped:
        return _result(stopped, passed, f"stopped after {len(said)} of {len(tests)} results")
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
        return _result(stopped, 0, "stopped before check ended")
    if not lines:
        status, words, _ = _fate(run.codes[1])
        return _result(status, 0, f"the test source's process: {words}", settled=False)
    kind, *words = json.loads(lines[0])  # a trusted process's words
    if kind == "passed" and len(lines) == 1:
        return _result("passed", 1)
    if kind == "failed":
        return _result("failed", 0, f"check: {words[0]}")
    name, message = words
    if name == "CandidateError" and run.codes[0]:
        status, fate, settled = _fate(run.codes[0])
        return _result(status, 0, f"check: {message}: {fate}", settled)
    status = "memory" if "MemoryError" in (name, message.split(":")[0]) else "error"
    return _result(status, 0, f"check: {name}: {message}".replace("CandidateError: ", ""))


def _judge_cases(source: str, cases: list, _: str | None, limits: Limits, sandbox: Bubblewrap | None) -> CodeResult:
    for number, case in enumerate(cases, 1):
        with Run(limits, sandbox) as run:
            stdin = run.given(case["input"].encode(errors="surrogatepass"))
            stdout = run.wanted(limits.output + 2 * len(case["output"]))
            run.start("main", {"source": source}, stdin=stdin, stdout=stdout)
            stopped = run.finish()
            if not run.started():
                return _not_started(run, stopped)
            said, last = run.said(stdout), (run.errors(0) or [""])[-1]
        status, words, settled = "passed", "", True
        if stopped:
            status, words = stopped, "stopped"
        elif run.codes[0] == 1 and last:
            status, words = "memory" if last.startswith("MemoryError") else "error", last
        elif run.codes[0] != 0:
            status, words, settled = _fate(run.codes[0])
        elif _lines(said) != _lines(case["output"]):
            status, words = "failed", f"expected {_short(case['output'].strip())}, got {_short(said.strip())}"
        if status != "passed":
            return _result(status, number - 1, f"case {number}: {words}", settled)
    return _result("passed", len(cases))


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _bad_reply(reply: str, test: dict[str, Any] | None, passed: int, where: str) -> CodeResult:
    """What a reply that is not the expected text means. It may be forged, so it is read with care."""
    try:
        kind, *rest = json.loads(reply[: 1 << 16])
        if kind == "value" and test is not None:
            words = f"expected {_short(test['expected'])}, got {_short(decode(rest[0]))}"
            return _result("failed", passed, where + words)
        name, message = map(str, rest)
    except (ValueError, TypeError, LookupError, RecursionError, MemoryError):
        return _result("failed" if reply.startswith('["value"') else "error", passed, where + reply)
    if kind == "odd":
        return _result("failed", passed, f"{where}the result is not plain data ({message})")
    return _result("memory" if name == "MemoryError" else "error", passed, f"{where}{name}: {message}")


_FATES: dict[int, Status] = {signal.SIGXCPU: "timeout", signal.SIGALRM: "timeout", signal.SIGKILL: "memory"}
_FATES[signal.SIGXFSZ] = "output-limit"


def _fate(code: int) -> tuple[Status, str, bool]:
    """(status, words, settled) for a process that ended before its time."""
    if code >= 0:
        return "error", f"the code ended its process with status {code}", True
    return _FATES.get(-code, "error"), f"the process was ended by signal {-code}: {signal.strsignal(-code)}", False


def _not_started(run: Run, stopped: str | None) -> CodeResult:
    """The fault is not the code's: nothing of it has run."""
    words = " ".join(" ".join(run.errors(number)) for number in range(len(run.codes)))
    return _result("refused", 0, f"the process did not start: {words or stopped}")


def _short(value: Any) -> str:
    """The value for a message, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}..."
