"""Equality of two expressions, decided in a worker process that can be stopped at any moment.

math-verify stops a long comparison by `signal.alarm`, which raises off the main thread, and an alarm cannot interrupt
one long step inside the interpreter. So its timeouts stay off and the limit is kept from outside: a worker (see
`symbolic_worker`) is started at the first question, kept for the next, and killed at the limit; the kernel's own timer
stops it even when nobody is left to do so. Safe from any thread, inside a running event loop, and after a fork.

What depends on the machine's load or on an accident is reported as not `settled`, and is never a plain "unequal".
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

MOST_WORKERS = 4
START_LIMIT = 60.0  # seconds to import sympy on a busy machine; no part of a check's own limit
MEMORY_LIMIT = 2 << 30  # bytes of address space
REMEDY = "install math-verify as requirements.txt pins it"


class Clock:
    """The time that a check may still take. A worker's start is not counted: it is paid once, not by one answer."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, at least 0."""
        return max(0.0, self.deadline - time.monotonic())


class CheckerBroken(RuntimeError):
    """The symbolic checker cannot run here at all: no answer may be judged by that."""


@dataclass(frozen=True)
class Finding:
    """`equal`, or why not; `settled`: no time limit or accident was the reason; `sign`: see `proportional`."""

    equal: bool
    reason: str = ""
    settled: bool = True
    sign: int = 0


class _Dead(Exception):
    """The worker ended before it answered."""


class _Worker:
    """A process that has said that it is ready. `CheckerBroken` where it cannot start."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        script = Path(__file__).with_name("symbolic_worker.py")
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(script), str(theirs.fileno()), str(MEMORY_LIMIT)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # whatever a library prints is no reply
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt in a notebook is not for it
            )
        except OSError as error:
            raise CheckerBroken(f"the symbolic checker did not start: {error}; {REMEDY}") from None
        finally:
            theirs.close()
        try:
            error = self.hear(START_LIMIT).get("error")
        except (TimeoutError, _Dead) as trouble:
            error = type(trouble).__name__
        if error:
            self.stop()
            raise CheckerBroken(f"the symbolic checker did not start: {error}; {REMEDY}")

    def hear(self, seconds: float) -> dict:
        """The worker's next words. TimeoutError after so many seconds, `_Dead` where it ended."""
        try:
            if not self.pipe.poll(seconds):
                raise TimeoutError
            return json.loads(self.pipe.recv_bytes())
        except (EOFError, ConnectionError):
            raise _Dead from None

    def ask(self, request: dict, seconds: float) -> dict:
        """The worker's answer; `hear` says how that may fail."""
        deadline = time.monotonic() + seconds
        try:
            self.pipe.send_bytes(json.dumps({**request, "seconds": seconds}).encode())
            return self.hear(seconds)
        except (_Dead, ConnectionError):
            if time.monotonic() > deadline - 0.01:  # its own timer
                raise TimeoutError from None
            raise _Dead from None

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.pipe.close()


class _Workers:
    """The idle workers of this process, and places for those that work."""

    def __init__(self) -> None:
        self.idle: list[_Worker] = []
        self.places = threading.BoundedSemaphore(MOST_WORKERS)

    def take(self) -> _Worker | None:
        """An idle worker that still lives."""
        while self.idle:
            worker = self.idle.pop()
            if worker.process.poll() is None:
                return worker
            worker.stop()
        return None

    def close(self) -> None:
        while self.idle:
            self.idle.pop().stop()


_workers = _Workers()


def _forget() -> None:
    """In a forked child: the parent's workers are the parent's."""
    global _workers
    _workers = _Workers()


os.register_at_fork(after_in_child=_forget)
atexit.register(lambda: _workers.close())


def _ask(request: dict, clock: Clock) -> Finding:
    if not clock.left():
        return Finding(False, "time limit reached", settled=False)
    workers = _workers
    if not workers.places.acquire(timeout=clock.left()):
        return Finding(False, "time limit reached while waiting for a free symbolic checker", settled=False)
    try:
        for _ in range(2):  # a worker that someone else ended is no answer's fault: once more
            began = time.monotonic()
            worker = workers.take() or _Worker()
            clock.deadline += time.monotonic() - began
            try:
                found = worker.ask(request, clock.left())
            except BaseException as error:
                worker.stop()
                if isinstance(error, TimeoutError):
                    return Finding(False, "time limit reached while comparing", settled=False)
                if not isinstance(error, _Dead):
                    raise
            else:
                workers.idle.append(worker)
                return Finding(**found)
        return Finding(False, "the comparison ended abnormally (memory limit or an inner error)", settled=False)
    finally:
        workers.places.release()


def equal(reference: str, answer: str, clock: Clock, *, places: int = 0) -> Finding:
    """Whether two LaTeX or plain expressions have the same value.

    `places` > 0: one is a decimal with so many, which may be the right rounding of a value that no decimal can spell.
    """
    return _ask({"do": "equal", "texts": [reference, answer, places]}, clock)


def proportional(left: str, right: str, other_left: str, other_right: str, clock: Clock) -> Finding:
    """Whether left - right is a constant nonzero multiple of the other two's difference; `sign` of the multiple."""
    return _ask({"do": "proportional", "texts": [left, right, other_left, other_right]}, clock)


def readable(text: str, clock: Clock) -> Finding:
    """Whether an expression can be read (`equal` is then True) and has a finite value where it is a number."""
    return _ask({"do": "read", "texts": [text]}, clock)
