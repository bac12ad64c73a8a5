"""The code sandbox: attempts to escape, to harm and to forge a pass; verdicts; limits; refusal; kept results.

Where bubblewrap is missing these tests fail and say how to get it. Where it is there but this machine's kernel does not
let it work, every attempt must be refused, and the tests that need it are skipped with that reason.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from suite.questions import load_questions
from suite.sandbox import run as sandbox
from suite.sandbox.bubblewrap import ARCHITECTURES, REFUSED, interpreter, system_call_filter
from suite.sandbox.child import decode, encode
from suite.sandbox.run import CodeResult, Limits, find_bubblewrap, run_code, sandbox_status
from trinity_core import paths
from trinity_core.store import Store
from trinity_core.types import DataError

CODE = yaml.safe_load((paths.ROOT / "tests" / "sandbox_attacks.yaml").read_text(encoding="utf-8"))
ESCAPES, FORGERIES, SUMS = CODE["escapes"], CODE["forgeries"], CODE["sums"]
HELD = ("failed", "error")
ADD = "def f(a, b):\n    return a + b\n"
ADD_TESTS = [
    {"args": [1, 2], "expected": 3},
    {"args": ["a", "b"], "expected": "ab"},
    {"args": [[1], [2]], "expected": [1, 2]},
]
QUICK = Limits(wall=10, cpu=1, memory=256)
TRUST = pytest.mark.parametrize("trusted", [True, False], ids=["limited", "bubblewrap"])


@pytest.fixture(autouse=True)
def kept_elsewhere(tmp_path_factory, monkeypatch):
    """No result kept by an earlier test or run counts."""
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path_factory.mktemp("cache")))


def usable() -> bool:
    if shutil.which("bwrap") is None:
        pytest.fail("bubblewrap is not installed: run ./run_all.sh --setup, or apt-get install bubblewrap")
    return find_bubblewrap()[0] is not None


@pytest.fixture
def bubblewrap():
    if not usable():
        pytest.skip(find_bubblewrap()[1])


def needs_sandbox(trusted: bool) -> None:
    if not trusted and not usable():
        pytest.skip(find_bubblewrap()[1])


def processes(mark: str) -> list[str]:
    """The names of the running processes that have this name or this word in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            words = name + (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if mark in words and int(folder.name) != os.getpid():
            found.append(name)
    return found


# --- escape and harm ---


@pytest.mark.parametrize("name", ESCAPES)
def test_sandbox_holds_an_attempt(name, tmp_path, monkeypatch):
    statuses, source = ESCAPES[name].get("ends", HELD), ESCAPES[name]["code"]
    (tmp_path / "file").write_text("escaped")
    monkeypatch.setenv("SUITE_API_KEY", "sk-not-for-you")
    interpreter = Path(sys.base_prefix).resolve()
    folders = []
    for folder in (Path.home(), paths.ROOT, paths.ROOT / "data", paths.cache_dir(), tmp_path):
        inside = interpreter.is_relative_to(folder)
        folders.append([str(folder), interpreter.relative_to(folder).parts[0] if inside else ""])
    mark = f"at{secrets.token_hex(5)}"  # a process's name has at most 15 letters
    before = {folder: set(os.listdir(folder)) for folder in ("/", "/dev/shm", "/usr")}
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        clues = {
            "file": str(tmp_path / "file"),
            "port": port,
            "folders": folders,
            "variable": "SUITE_API_KEY",
            "mark": mark,
        }
        limits = Limits(wall=1.5 if "sleep" in name else 10, cpu=1, memory=256)
        result = run_code(source, tests=[{"args": [clues], "expected": "escaped"}], entry_point="f", limits=limits)
    assert result.status != "passed" and (result.passed, result.total) == (0, 1)
    if usable():
        assert result.status in statuses, result
    else:
        assert result.status == "refused" and find_bubblewrap()[1] in result.detail
    assert wait_for(lambda: not processes(mark) and not processes("61.5"))
    assert time.monotonic() - begun < 15
    for folder, names in before.items():
        assert "written" not in set(os.listdir(folder)) - names


@pytest.mark.parametrize(
    "name",
    [
        "connect to a server of this machine",
        "read a file outside",
        "read the system's users",
        "see the home folder, the repository, the cache",
        "see another process",
        "run a shell in its place",
        "a program that survives",
    ],
)
def test_sandbox_attempts_work_elsewhere(name, tmp_path):
    """What holds them is the sandbox, not a slip in the attempt."""
    (tmp_path / "file").write_text("escaped")
    with socket.create_server(("127.0.0.1", 0)) as server:
        clues = {"file": str(tmp_path / "file"), "port": server.getsockname()[1], "folders": [[str(paths.ROOT), ""]]}
        source = ESCAPES[name]["code"].replace("61.5", "0")
        result = run_code(source, tests=[{"args": [clues], "expected": "escaped"}], entry_point="f", trusted=True)
    assert result.status == "passed", result


BY_A_USER = (
    "see another process",
    "read keys from an environment",
    "read a file outside",
    "write outside its own folder",
    "become root, mount, make a name space, trace",
    "change the kernel's settings",
    "fork bomb",
    "thread bomb",
    "all memory",
    "memory behind the limit's back",
    "fill the disk with many files",
    "a child that survives",
    "signals to its parent and to all",
    "more of everything",
)
AS_A_USER = """
import json, sys
from pathlib import Path
from suite.sandbox.run import Limits, find_bubblewrap, run_code
wrapper, reason = find_bubblewrap()
report = {"root": wrapper and wrapper.root, "reason": reason}
for name, source in json.loads(Path(sys.argv[1]).read_text()).items():
    clues = {"file": sys.argv[1], "port": 9, "folders": [["/root", ".pyenv"]], "variable": "SHELL", "mark": "a-user"}
    tests = [{"args": [clues], "expected": "escaped"}]
    report[name] = run_code(source, tests=tests, entry_point="f", limits=Limits(cpu=1, memory=256)).status
print(json.dumps(report))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="then every other test is this one")
def test_sandbox_holds_for_a_user_without_privileges(bubblewrap, tmp_path_factory):
    """The other way into bubblewrap: a user name space. What it needs is copied to where an ordinary user may read."""
    candidates = [str(interpreter()), "/usr/bin/python3"]
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"}
    version = "import sys; sys.exit(sys.version_info < (3, 11))"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        for python in candidates:
            try:
                if subprocess.run([python, "-c", version], **nobody, check=False).returncode == 0:
                    break
            except OSError:
                continue
        else:
            pytest.skip("no Python 3.11 that another user may start")
        for package in ("trinity_core", "notebooks/suite"):
            source = paths.ROOT / package
            shutil.copytree(source, Path(folder, source.name), ignore=shutil.ignore_patterns("__pycache__"))
        attempts = Path(folder, "attempts")
        attempts.write_text(
            json.dumps(
                {name: ESCAPES[name]["code"] for name in BY_A_USER} | {"honest": "def f(clues): return 'escaped'"}
            )
        )
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        environment = {"PYTHONPATH": folder, "TRINITY_CACHE": f"{folder}/cache", "HOME": folder, "SHELL": "x",
                       "PATH": os.environ["PATH"]}  # fmt: skip
        command = [python, "-B", "-c", AS_A_USER, str(attempts)]
        done = subprocess.run(command, **nobody, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if report["root"] is None:
        assert {report[name] for name in BY_A_USER} == {"refused"}
        pytest.skip(report["reason"])
    assert report["root"] is False and report["honest"] == "passed"
    for name in BY_A_USER:
        assert report[name] in ESCAPES[name].get("ends", HELD), (name, report[name])


def test_sandbox_ends_with_the_process_that_asked(bubblewrap):
    mark = "71.25"
    source = f"import os\ndef f():\n    os.execv('/usr/bin/sleep', ['sleep', '{mark}'])\n"
    script = (
        "import sys; from suite.sandbox.run import run_code; "
        "run_code(sys.argv[1], tests=[{'args': [], 'expected': 0}], entry_point='f')"
    )
    environment = {**os.environ, "PYTHONPATH": f"{paths.ROOT}:{paths.NOTEBOOKS}"}
    starter = subprocess.Popen([sys.executable, "-c", script, source], env=environment)
    try:
        assert wait_for(lambda: any(name == "sleep" for name in processes(mark)))
    finally:
        starter.kill()
        starter.wait()
    assert wait_for(lambda: not processes(mark))


def wait_for(condition) -> bool:
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_sandbox_filter_jumps_stay_inside_and_name_every_call():
    """The program is checked by interpreting it: a bad jump would be refused by the kernel, a wrong one by nobody."""

    def verdict(program, number, first=0, audit=0xC000003E):
        steps, at, value = list(struct.iter_unpack("HBBI", program)), 0, 0
        words = {0: number, 4: audit, 16: first}
        while True:
            code, yes, no, constant = steps[at]
            at += 1
            if code == 0x06:
                return constant
            if code == 0x20:
                value = words[constant]
            else:
                holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[code]
                at += yes if holds else no

    refuse, allow = 0x50001, 0x7FFF0000
    for machine, (column, audit, clone) in ARCHITECTURES.items():
        program = system_call_filter(machine)
        for name, numbers in REFUSED.items():
            if numbers[column] is not None:
                assert verdict(program, numbers[column], audit=audit) == refuse, name
        assert verdict(program, clone, 0x11, audit) == refuse and verdict(program, clone, 0x3D0F00, audit) == allow
        assert verdict(program, 435, audit=audit) == 0x50026  # ENOSYS
        assert verdict(program, 63, audit=audit) == allow and verdict(program, 63, audit=0x40000003) == refuse
    assert verdict(system_call_filter("x86_64"), 0x40000000 + 1) == refuse


# --- forged passes ---


@TRUST
@pytest.mark.parametrize("name", FORGERIES)
def test_sandbox_cannot_be_told_a_pass(name, trusted):
    """Function tests, whose expected values the code cannot know."""
    needs_sandbox(trusted)
    secret = f"SECRET-{secrets.token_hex(8)}"
    tests = [{"args": [i], "expected": f"{secret}{i}"[:23] if i == 0 else [secret, i]} for i in range(3)]
    result = run_code(FORGERIES[name], tests=tests, entry_point="f", limits=QUICK, trusted=trusted)
    assert result.status in ("failed", "error", "memory", "output-limit") and result.passed == 0, result
    assert secret not in result.detail.split("got")[-1]


@TRUST
@pytest.mark.parametrize("name", FORGERIES)
def test_sandbox_cannot_tell_a_test_source_to_pass(name, trusted):
    """A test source, whose assertions run in another process."""
    needs_sandbox(trusted)
    secret = f"SECRET-{secrets.token_hex(8)}"
    tests = (
        f"def check(candidate):\n    assert candidate(0) == {secret!r}\n    assert candidate(1) == ({secret!r}, 1)\n"
    )
    result = run_code(FORGERIES[name], tests=tests, entry_point="f", limits=QUICK, trusted=trusted)
    assert result.status in ("failed", "error", "memory") and (result.passed, result.total) == (0, 1), result


@TRUST
@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(0)",
        "import sys\nsys.exit()",
        "print('passed')",
        "import sys\nsys.stdout = None",
        "import builtins\nbuiltins.print = None",
        "print('15', end='')\nraise SystemExit(3)",
        "print(15)\n1 / 0",
        "",
    ],
)
def test_sandbox_program_cannot_be_told_a_pass(source, trusted):
    needs_sandbox(trusted)
    result = run_code(source, stdin_cases=[{"input": "3\n4 5 6\n", "output": "15\n"}], limits=QUICK, trusted=trusted)
    assert result.status in ("failed", "error") and result.passed == 0, result


def test_sandbox_right_values_pass_whatever_says_them():
    """The limit of what can be told apart: a program that gives the right values has passed."""
    source = "class N(int):\n    def __eq__(self, other): return False\ndef f(a, b):\n    return N(a + b)\n"
    assert run_code(source, tests=ADD_TESTS[:1], entry_point="f", trusted=True).status == "passed"


# --- verdicts ---


@TRUST
def test_sandbox_function_tests(trusted):
    needs_sandbox(trusted)
    result = run_code(ADD, tests=ADD_TESTS, entry_point="f", trusted=trusted)
    assert (result.status, result.passed, result.total, result.detail) == ("passed", 3, 3, "")
    result = run_code("def f(a, b):\n    return [1, 2]\n", tests=ADD_TESTS, entry_point="f", trusted=trusted)
    assert (result.status, result.passed, result.total) == ("failed", 1, 3)
    assert result.detail == "test 1: expected 3, got [1, 2]"
    result = run_code("def f(a, b):\n    return a + 1\n", tests=ADD_TESTS, entry_point="f", trusted=trusted)
    assert (result.status, result.passed) == ("failed", 0) and "expected 3, got 2" in result.detail


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ("1", 1, True),
        ("True", 1, False),
        ("1", True, False),
        ("1.0", 1, False),
        ("1", 1.0, False),
        ("0.1 + 0.2", 0.3, False),
        ("-0.0", 0.0, True),
        ("(1, [2, (3,)])", [1, [2, [3]]], True),
        ("{'b': 1, 'a': 2}", {"a": 2, "b": 1}, True),
        ("{1: 2}", {"1": 2}, False),
        ("{1, 2}", [1, 2], False),
        ("None", None, True),
        ("'1'", 1, False),
        ("[]", {}, False),
        ("['list', 1]", ["list", 1], True),
        ("['dict']", {}, False),
        ("float('nan')", None, False),
        ("'é\\ud800'", "é\ud800", True),
        ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}, True),
        ("10**50", 10**50, True),
        ("b'x'", "x", False),
        ("print", 1, False),
        ("range(2)", [0, 1], False),
        ("float('inf')", 1e308, False),
    ],
)
def test_sandbox_compares_exactly_as_json(value, expected, same):
    try:
        said = json.dumps(encode(eval(value), plain=True))
    except TypeError as error:
        said = str(error)
    assert (said == json.dumps(encode(expected, plain=True))) == same


def test_sandbox_calls_get_fresh_arguments_that_the_caller_keeps():
    shared = [3, 1, 2]
    tests = [{"args": [shared], "expected": [1, 2, 3]}, {"args": [shared], "expected": [1, 2, 3]}]
    source = "def f(xs):\n    xs.sort()\n    xs.append(9)\n    return xs[:-1]\n"
    assert run_code(source, tests=tests, entry_point="f", trusted=True).status == "passed"
    assert shared == [3, 1, 2]


def test_sandbox_methods_of_a_solution_class_and_main_guards():
    source = "class Solution:\n    def f(self, a, b):\n        return a + b\nif __name__ == '__main__':\n    input()\n"
    assert run_code(source, tests=ADD_TESTS, entry_point="f", trusted=True).status == "passed"


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("def f(a, b", "error", "SyntaxError"),
        ("", "error", "does not define f"),
        ("x = 1 / 0", "error", "ZeroDivisionError"),
        ("def f(a, b):\n    raise KeyError('k')", "error", "test 1: KeyError: 'k'"),
        ("f = 3", "error", "TypeError"),
        ("def f(a, b):\n    return input()", "error", "EOFError"),
        ("\0", "error", "null bytes"),
        ("'\ud800'", "error", "Unicode"),
        ("def f(a, b):\n    return bytearray(10**9)", "memory", "MemoryError"),
        ("import nosuch", "error", "nosuch"),
        ("def f(a, b):\n    import ctypes\n    ctypes.string_at(0)", "error", "Segmentation fault"),
        ("def f(a):\n    return a", "error", "positional"),
        ("def f(a, b):\n    return f", "failed", "not plain data"),
    ],
)
def test_sandbox_names_what_went_wrong(source, status, words):
    result = run_code(source, tests=ADD_TESTS, entry_point="f", limits=QUICK, trusted=True)
    assert result.status == status and words in result.detail and result.passed == 0, result


@TRUST
def test_sandbox_test_source_and_values_that_cross(trusted):
    needs_sandbox(trusted)
    tests = """
import math
def check(candidate):
    for value in (None, True, 7, -0.5, "é", b"b", 1j, [1, (2, {3}), {"k": {4: 5}, (1, 2): None}], frozenset([1])):
        assert candidate(value) == value and type(candidate(value)) is type(value)
    assert math.isnan(candidate(math.nan)) and candidate(x=10**5000) == 10**5000
    try:
        candidate("raise")
    except LookupError as error:
        assert type(error) is KeyError and "gone" in str(error)
    else:
        assert False
    assert same(1) == 1
"""
    source = "def same(x):\n    if x == 'raise':\n        raise KeyError('gone')\n    return x\n"
    result = run_code(source, tests=tests, entry_point="same", trusted=trusted)
    assert (result.status, result.passed, result.total) == ("passed", 1, 1), result
    wrong = run_code("def same(x):\n    return 1\n", tests=tests, entry_point="same", trusted=trusted)
    assert wrong.status == "failed" and "assert candidate(value) == value" in wrong.detail, wrong


@pytest.mark.parametrize(
    ("source", "check", "status", "words"),
    [
        ("def f(x): return 1 / 0", "candidate(1)", "error", "ZeroDivisionError"),
        ("f = 1 +", "candidate(1)", "error", "SyntaxError"),
        ("def f(x): return x", "nosuch(1)", "error", "NameError"),
        ("def f(x): return x", "assert candidate(2) == 1", "failed", "assert"),
        ("def f(x): return x", "candidate(print)", "error", "cannot be compared"),
        ("def f(x):\n while 1: pass", "candidate(1)", "timeout", ""),
        ("def f(x): return print", "candidate(1)", "error", "cannot be compared"),
        ("def f(x): return x", "exit(0)", "error", ""),
        ("def f(x): return x", "import os; os._exit(0)", "error", "test source"),
        ("def f(x): return bytearray(10**9)", "candidate(1)", "memory", ""),
        ("import os\ndef f(x): os.abort()", "candidate(1)", "error", "Aborted"),
        ("def f(x): return x", "while 1: pass", "timeout", ""),
    ],
)
def test_sandbox_test_source_names_what_went_wrong(source, check, status, words):
    tests = f"def check(candidate):\n    {check}\n"
    result = run_code(source, tests=tests, entry_point="f", limits=QUICK, trusted=True)
    assert result.status == status and words in result.detail and result.passed == 0, result


@TRUST
@pytest.mark.parametrize("name", SUMS)
def test_cases_22_standard_input_and_output(name, trusted):
    needs_sandbox(trusted)
    cases = [{"input": "3\n4 5 6\n", "output": "15"}]
    result = run_code(SUMS[name], stdin_cases=cases, trusted=trusted)
    assert (result.status, result.passed, result.total) == ("passed", 1, 1), result


@TRUST
def test_cases_22_a_wrong_sum_fails(trusted):
    needs_sandbox(trusted)
    cases = [
        {"input": "1\n4\n", "output": "4"},
        {"input": "3\n4 5 6\n", "output": "15"},
        {"input": "1\n1\n", "output": "1"},
    ]
    wrong = "input()\nx = sum(map(int, input().split()))\nprint(16 if x == 15 else x)\n"
    result = run_code(wrong, stdin_cases=cases, trusted=trusted)
    assert (result.status, result.passed, result.total) == ("failed", 1, 3)
    assert result.detail == "case 2: expected '15', got '16'"


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("print(15", "error", "SyntaxError"),
        ("while True: pass", "timeout", "CPU time"),
        ("x = bytearray(10**9)", "memory", "MemoryError"),
        ("while True: print(1)", "output-limit", ""),
        ("import time\ntime.sleep(99)", "timeout", ""),
        ("print(1, 5)", "failed", "'1 5'"),
        ("import sys\nsys.exit('no')", "error", "no"),
        ("input(), input(), input(), input()", "error", "EOFError"),
    ],
)
def test_sandbox_programs_name_what_went_wrong(source, status, words):
    limits = Limits(wall=2 if "sleep" in source else 20, cpu=1, memory=256)
    result = run_code(source, stdin_cases=[{"input": "3\n4 5 6\n", "output": "15"}], limits=limits, trusted=True)
    assert result.status == status and words in result.detail and result.detail.startswith("case 1: "), result


def test_sandbox_large_input_and_output_cross():
    rows = "\n".join(str(i) for i in range(400_000))
    cases = [{"input": rows, "output": rows}]
    assert run_code("import sys\nprint(sys.stdin.read())", stdin_cases=cases, trusted=True).status == "passed"
    assert run_code("print(7)", stdin_cases=[{"input": rows, "output": "7"}], trusted=True).status == "passed"


NO_TESTS = [
    {},
    {"tests": []},
    {"tests": [], "entry_point": "f"},
    {"tests": ADD_TESTS},
    {"tests": ADD_TESTS, "entry_point": "not a name"},
    {"stdin_cases": []},
    {"stdin_cases": [{"input": "1"}]},
    {"stdin_cases": [{"input": 1, "output": "1"}]},
    {"stdin_cases": [{"input": "1", "output": "1"}], "tests": ADD_TESTS, "entry_point": "f"},
    {"tests": "", "entry_point": "f"},
    {"tests": "def check(candidate:", "entry_point": "f"},
    {"tests": "assert f(1) == 1", "entry_point": "f"},
    {"tests": [{"args": [1]}], "entry_point": "f"},
    {"tests": [{"expected": 1}], "entry_point": "f"},
    {"tests": [{"args": 1, "expected": 1}], "entry_point": "f"},
    {"tests": [{"args": [1, 2], "expected": float("nan")}], "entry_point": "f"},
    {"tests": [{"args": [{1}], "expected": 1}], "entry_point": "f"},
    {"tests": {"args": [], "expected": 1}, "entry_point": "f"},
]


@pytest.mark.parametrize("given", NO_TESTS, ids=range(len(NO_TESTS)))
def test_cases_23_no_usable_tests_is_a_data_error(given):
    with pytest.raises(DataError):
        run_code(ADD, trusted=True, **given)
    with pytest.raises(DataError):
        run_code(ADD, **given)


@TRUST
def test_cases_23_fewer_results_than_tests_is_not_a_pass(trusted):
    needs_sandbox(trusted)
    source = "import os\ndef f(a, b):\n    return a + b if isinstance(a, (int, str)) else os._exit(0)\n"
    result = run_code(source, tests=ADD_TESTS, entry_point="f", trusted=trusted)
    assert (result.status, result.passed, result.total) == ("error", 2, 3)
    assert "2 results for 3 tests" in result.detail


def test_sandbox_details_are_short_and_printable():
    for message in ("'\\x1b[2J\\ud800\\n' * 9", "'x' * 10**6"):
        for kind in ("raise ValueError({})", "return ({}, print)", "return {}"):
            source = f"def f(a, b):\n    {kind.format(message)}\n"
            for tests in (ADD_TESTS, "def check(candidate):\n    assert candidate(1, 2) == 3, candidate(1, 2)\n"):
                result = run_code(source, tests=tests, entry_point="f", trusted=True)
                assert result.status in ("failed", "error") and result.detail.isprintable() and len(result.detail) < 450


def test_sandbox_source_that_is_no_text_is_a_programmers_error():
    with pytest.raises(TypeError, match="source is None"):
        run_code(None, tests=ADD_TESTS, entry_point="f", trusted=True)


# --- the suite's own code ---


def test_sandbox_limited_subprocess_has_clean_surroundings(monkeypatch):
    monkeypatch.setenv("SUITE_API_KEY", "x")
    source = "import os, sys\ndef f():\n    return [sorted(os.environ), os.listdir('.'), 'numpy' in sys.modules]\n"
    result = run_code(source, tests=[{"args": [], "expected": None}], entry_point="f", trusted=True)
    assert "SUITE_API_KEY" not in result.detail and "PYTHONHASHSEED" in result.detail and "[], False" in result.detail


def test_sandbox_limited_subprocess_takes_its_children_along(tmp_path):
    mark = f"at{secrets.token_hex(5)}"
    source = f"""
import ctypes, os, time
def f(folder):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"{mark}", 0, 0, 0)
        time.sleep(60)
    with open(folder + "/where", "w") as file:
        file.write(os.getcwd())
    return 1
"""
    result = run_code(source, tests=[{"args": [str(tmp_path)], "expected": 1}], entry_point="f", trusted=True)
    assert result.status == "passed" and wait_for(lambda: not processes(mark))
    assert not Path((tmp_path / "where").read_text()).exists()


def test_sandbox_order_of_sets_is_the_same_every_time():
    source = "def f():\n    return ''.join({'a', 'b', 'c', 'd', 'e', 'f'})\n"
    details = set()
    for number in range(3):
        result = run_code(source + "#" * number, tests=[{"args": [], "expected": ""}], entry_point="f", trusted=True)
        details.add(result.detail)
    assert len(details) == 1


def test_sandbox_works_from_threads_and_a_running_loop():
    def one(number):
        return run_code(
            f"def f():\n    return {number}\n", tests=[{"args": [], "expected": number}], entry_point="f", trusted=True
        )

    with ThreadPoolExecutor(4) as pool:
        assert {result.status for result in pool.map(one, range(8))} == {"passed"}

    async def within():
        return one(100), await asyncio.to_thread(one, 101)

    assert {result.status for result in asyncio.run(within())} == {"passed"}


def test_sandbox_every_code_question_is_judged_right():
    """A sample of thirty: the references pass, the wrong solutions fail."""
    questions = load_questions("code")[::8]
    assert len(questions) == 30

    def judge(job):
        question, source = job
        meta = question.meta
        return run_code(source, tests=meta["tests"], entry_point=meta["entry_point"], trusted=True)

    jobs = [(question, source) for question in questions for source in (question.reference, *question.meta["wrong"])]
    with ThreadPoolExecutor(2) as pool:
        for (question, source), result in zip(jobs, pool.map(judge, jobs), strict=True):
            assert result.total == len(question.meta["tests"])
            assert result.status in (("passed",) if source == question.reference else ("failed", "error")), (
                question.id,
                result,
            )


# --- without bubblewrap ---


@pytest.fixture
def no_bubblewrap(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    find_bubblewrap.cache_clear()
    yield tmp_path
    find_bubblewrap.cache_clear()


def test_sandbox_refuses_without_bubblewrap(no_bubblewrap):
    result = run_code(ADD, tests=ADD_TESTS, entry_point="f")
    assert (result.status, result.passed, result.total) == ("refused", 0, 3)
    for words in ("not installed", "apt-get install bubblewrap"):
        assert words in result.detail
    assert run_code(ADD, tests=ADD_TESTS, entry_point="f", trusted=True).status == "passed"
    assert "not installed" in sandbox_status() and "refused" in sandbox_status() and "\n" not in sandbox_status()


def test_sandbox_refuses_with_a_bubblewrap_that_does_not_work(no_bubblewrap):
    fake = no_bubblewrap / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
    fake.chmod(0o755)
    result = run_code(ADD, tests=ADD_TESTS, entry_point="f")
    assert result.status == "refused" and "Creating new namespace failed" in result.detail
    assert "Creating new namespace failed" in sandbox_status()


def test_sandbox_refuses_with_a_bubblewrap_that_shuts_nothing_off(no_bubblewrap):
    fake = no_bubblewrap / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    assert run_code(ADD, tests=ADD_TESTS, entry_point="f").status == "refused"


def test_sandbox_refuses_on_a_machine_whose_system_calls_it_does_not_know(bubblewrap, monkeypatch):
    monkeypatch.setattr(sandbox.platform, "machine", lambda: "riscv64")
    find_bubblewrap.cache_clear()
    assert "this is riscv64" in run_code(ADD, tests=ADD_TESTS, entry_point="f").detail
    find_bubblewrap.cache_clear()


def test_sandbox_status_says_that_it_works(bubblewrap):
    assert "works" in sandbox_status() and "\n" not in sandbox_status()


# --- kept results, limits, codec ---


def never(*_, **__):
    raise AssertionError("this must not run again")


def test_sandbox_keeps_results_on_disk(monkeypatch):
    sources = {"passed": ADD, "failed": "def f(a, b):\n    return 0\n", "error": "def f(a, b):\n    return x\n"}
    first = {
        status: run_code(source, tests=ADD_TESTS, entry_point="f", trusted=True) for status, source in sources.items()
    }
    assert {status: result.status for status, result in first.items()} == {status: status for status in sources}
    monkeypatch.setattr(sandbox, "Run", never)
    for status, source in sources.items():
        assert run_code(source, tests=ADD_TESTS, entry_point="f", trusted=True) == first[status]
    for other in ({"tests": ADD_TESTS[:2]}, {"limits": Limits(cpu=3)}):
        with pytest.raises(AssertionError, match="run again"):
            run_code(ADD, **{"tests": ADD_TESTS, "entry_point": "f", "trusted": True, **other})


def test_sandbox_does_not_keep_what_could_end_otherwise():
    runs = [
        (Limits(wall=0.3), "import time\ndef f(a, b):\n    time.sleep(9)\n", "timeout"),
        (QUICK, "def f(a, b):\n    return bytearray(10**9)\n", "memory"),
        (QUICK, "def f(a, b):\n    while True:\n        print('x' * 999)\n", "output-limit"),
        (QUICK, "import os\ndef f(a, b):\n    os.kill(os.getpid(), 15)\n", "error"),
    ]
    for limits, source, status in runs:
        assert run_code(source, tests=ADD_TESTS, entry_point="f", limits=limits, trusted=True).status == status
    assert not Store(paths.cache_dir() / "code_results.sqlite").items()


def test_sandbox_outlives_a_damaged_cache():
    file = paths.cache_dir() / "code_results.sqlite"
    file.write_bytes(b"not a database" * 100)
    with pytest.warns(UserWarning, match="starting a new one"):
        assert run_code(ADD, tests=ADD_TESTS, entry_point="f", trusted=True).status == "passed"
    ((key, _),) = Store(file).items()
    for spoilt in (b'{"status": "passed"}', b"no JSON"):
        Store(file).put({key: spoilt})
        result = run_code(ADD, tests=ADD_TESTS, entry_point="f", trusted=True)
        assert (result.status, result.passed, result.total) == ("passed", 3, 3)


def test_sandbox_results_depend_on_the_sandbox_own_code(monkeypatch):
    content = [ADD, ADD_TESTS, "f", None, [1], True]
    key = sandbox._key(content)
    assert key == sandbox._key(content) != sandbox._key([*content[:-1], False])
    monkeypatch.setattr(sandbox, "_versions", lambda: "another")
    assert sandbox._key(content) != key


@pytest.mark.parametrize(
    "value", [None, True, 0, 1.5, "x", [], [1, [2]], (), ((1,), 2), {}, {1: {(2,): [3]}}, {1, 2}, b"\0", 2j]
)
def test_sandbox_values_come_back(value):
    assert decode(encode(value)) == value and type(decode(encode(value))) is type(value)


def test_sandbox_result_is_a_plain_record():
    result = run_code(ADD, tests=ADD_TESTS, entry_point="f", trusted=True)
    assert result == CodeResult("passed", 3, 3, "")
