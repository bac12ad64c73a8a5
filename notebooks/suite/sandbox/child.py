"""What runs beside the code under test. Its text is given to a bare interpreter, so it needs the standard library only.

    serve REQUEST SIGN CALLS REPLIES           runs the code under test: one reply a call
    check REQUEST SIGN CALLS REPLIES RESULT    runs a test source, whose `candidate` asks the `serve` process
    main  REQUEST SIGN                         runs a whole program on its own standard input and output

The arguments are file descriptors. One letter goes to SIGN before anything of the code is run: without it the fault is
the sandbox's. The code under test may do in its process what it likes: it never sees an expected value. Values cross as
JSON, with tagged lists for what JSON lacks: no pickle, only plain values come out at the other end.
"""

from __future__ import annotations

import builtins
import json
import os
import resource
import signal
import sys
import types
from collections.abc import Callable
from typing import Any, TextIO

MESSAGE_LENGTH = 300


class CandidateError(RuntimeError):
    """The code under test raised what a test source could not name, or answered nothing."""


def encode(value: Any, plain: bool = False) -> Any:
    """`value` as JSON data. With `plain`, as JSON reads it: a tuple is a list, key order and the sign of 0.0 are lost.

    Subclasses become their base (a Counter is a dict). TypeError for anything else.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float.__add__(value, 0.0) if plain else value
    if isinstance(value, list | tuple):
        tag = "list" if plain or isinstance(value, list) else "tuple"
        return [tag, *(encode(item, plain) for item in value)]
    if isinstance(value, dict):
        items = [[encode(key, plain), encode(item, plain)] for key, item in dict.items(value)]
        return ["dict", *(sorted(items, key=lambda item: json.dumps(item[0])) if plain else items)]
    if isinstance(value, set | frozenset):
        items = [encode(item, plain) for item in value]
        return ["set" if isinstance(value, set) else "frozenset", *(sorted(items, key=json.dumps) if plain else items)]
    if isinstance(value, bytes):
        return ["bytes", bytes.hex(value)]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    raise TypeError(f"a value of type {type(value).__name__} cannot be compared")


def decode(data: Any) -> Any:
    """The plain value that `encode` wrote; ValueError, TypeError or LookupError for what it did not write."""
    if not isinstance(data, list):
        return data
    tag, items = data[0], data[1:]
    if tag == "dict":
        return {decode(key): decode(item) for key, item in items}
    if tag == "bytes":
        return bytes.fromhex(items[0])
    if tag == "complex":
        return complex(*items)
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[tag](map(decode, items))


def say(stream: TextIO, *what: Any) -> None:
    stream.write(json.dumps(what) + "\n")
    stream.flush()


def describe(error: BaseException) -> tuple[str, str]:
    """The error's type and message, also where the code under test made it so that asking raises."""
    try:
        return str(type(error).__name__)[:MESSAGE_LENGTH], str(error)[:MESSAGE_LENGTH]
    except BaseException:
        return "Exception", "with no readable message"


def confine(request: dict[str, Any]) -> None:
    """Sets the limits and leaves root, both for good."""
    signal.alarm(request["alarm"])  # the end of a process whose starter has died
    for name, value in request["limits"].items():
        kind = getattr(resource, name)
        most = value + 1 if name == "RLIMIT_CPU" else value  # first SIGXCPU, which tells why; then SIGKILL
        if (hard := resource.getrlimit(kind)[1]) != resource.RLIM_INFINITY:
            value, most = min(value, hard), min(most, hard)
        resource.setrlimit(kind, (value, most))
    if request["uid"]:
        import ctypes

        os.setgroups([])
        os.setresgid(*[request["uid"]] * 3)
        os.setresuid(*[request["uid"]] * 3)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/self is the new user's, for open("/dev/stdin")


def load(name: str, source: str) -> dict[str, Any]:
    """Runs `source` as module `name`; its names."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"{name.strip('_')}.py", "exec"), module.__dict__)
    return module.__dict__


def find(names: dict[str, Any], entry_point: str) -> Callable:
    """The function `entry_point`, or that method of a class `Solution`, as some benchmarks ask for it."""
    if entry_point in names:
        return names[entry_point]
    if hasattr(names.get("Solution"), entry_point):
        return getattr(names["Solution"](), entry_point)
    raise NameError(f"the code does not define {entry_point}")


def serve(request: dict[str, Any], calls: TextIO, replies: TextIO) -> None:
    try:
        function = find(load("solution", request["source"]), request["entry_point"])
    except BaseException as error:
        say(replies, "raised", *describe(error))
        return
    say(replies, "loaded")
    for line in calls:
        args, kwargs = decode(json.loads(line))
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            say(replies, "raised", *describe(error))
            continue
        try:
            text = json.dumps(["value", encode(value, request["plain"])])
        except BaseException as error:
            text = json.dumps(["odd", *describe(error)])
        replies.write(text + "\n")
        replies.flush()


def check(request: dict[str, Any], calls: TextIO, replies: TextIO, result: TextIO) -> None:
    def listen() -> Any:
        line = replies.readline(request["output"])
        try:
            kind, *rest = json.loads(line)
            if kind == "value":
                return decode(rest[0])
            name, message = map(str, rest) if rest else ("", "")
        except (ValueError, TypeError, LookupError, RecursionError):
            raise CandidateError("the code under test ended" if not line else "an unreadable reply") from None
        if kind == "loaded":
            return None
        known = getattr(builtins, name, None)
        if kind == "raised" and isinstance(known, type) and issubclass(known, Exception):
            try:
                raised = known(message)
            except TypeError:  # a few, such as UnicodeDecodeError, want more than a message
                raised = CandidateError(f"{name}: {message}")
            raise raised
        raise CandidateError(f"{name}: {message}")

    def candidate(*args: Any, **kwargs: Any) -> Any:
        say(calls, *encode([args, kwargs]))
        return listen()

    try:
        listen()
        names = load("tests", request["source"])
        names[request["entry_point"]] = candidate
        names["check"](candidate)
    except AssertionError as error:
        lines, trace = request["source"].splitlines(), error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        where = trace.tb_lineno - 1 if trace.tb_frame.f_code.co_filename == "tests.py" else len(lines)
        line = lines[where].strip() if where < len(lines) else "an assertion"
        say(result, "failed", f"{line} {error!s}".strip()[:MESSAGE_LENGTH])
    except BaseException as error:
        say(result, "raised", *describe(error))
    else:
        say(result, "passed")


def run() -> None:
    mode, *words = sys.argv[1:]
    request, sign, *ends = map(int, words)
    with open(request, encoding="utf-8") as file:
        request = json.load(file)
    sys.argv = ["solution.py"]
    sys.set_int_max_str_digits(0)
    confine(request)
    os.write(sign, b".")
    os.close(sign)  # what was said can no more be taken back
    if mode == "main":
        load("__main__", request["source"])
        return
    action, ways = {"serve": (serve, "rw"), "check": (check, "wrw")}[mode]
    action(request, *(open(end, way, encoding="utf-8") for end, way in zip(ends, ways, strict=True)))  # noqa: SIM115
    os._exit(0)  # threads that are still busy do not matter


if __name__ == "__main__":
    run()
