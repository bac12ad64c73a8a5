"""Equality of two expressions, decided in a worker process that can be stopped at any moment.

math-verify stops a long comparison by `signal.alarm`, which raises off the main thread, and an alarm cannot interrupt
one long step inside the interpreter. So its timeouts stay off and the limit is kept from outside: a worker (see
`symbolic_worker`) is started at the first question, kept for the next, and killed at the limit; the kernel's own timer
stops it even when nobody is left to do so. Safe from any thread, inside a running event loop, and after a fork.

What depends on the machine's load or on an accident is reported as not `settled`, and is never a plain "unequal".
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
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


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen = field(init=False)
    ready: bool = False
    buffer: bytes = b""

    def __post_init__(self) -> None:
        script = Path(__file__).with_name("symbolic_worker.py")
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(script), str(MEMORY_LIMIT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt in a notebook is not for it
        )

    def _line(self, deadline: float) -> dict:
        """One line of the worker's. TimeoutError at the deadline, `_Dead` where the worker ended."""
        stream = self.process.stdout.fileno()
        poll = select.poll()
        poll.register(stream, select.POLLIN | select.POLLHUP)
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            piece = os.read(stream, 65536)
            if not piece:
                raise _Dead
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def start(self) -> None:
        """Waits until the worker is ready. `CheckerBroken` where it cannot start."""
        if self.ready:
            return
        try:
            hello = self._line(time.monotonic() + START_LIMIT)
        except (TimeoutError, _Dead, ValueError) as error:
            raise CheckerBroken(f"the symbolic checker did not start ({type(error).__name__}); {REMEDY}") from None
        if "error" in hello:
            raise CheckerBroken(f"the symbolic checker did not start: {hello['error']}; {REMEDY}")
        self.ready = True

    def ask(self, request: dict, seconds: float) -> dict:
        deadline = time.monotonic() + seconds
        try:
            self.process.stdin.write(json.dumps({**request, "seconds": seconds}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise _Dead from None
        try:
            return self._line(deadline)
        except _Dead:
            if time.monotonic() > deadline - 0.01:  # its own timer
                raise TimeoutError from None
            raise

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with contextlib.suppress(OSError):  # what was never written to a dead process
            self.process.stdin.close()


class _Workers:
    """The idle workers of this process, and how many there are in all."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.idle: list[_Worker] = []
        self.count = 0

    def take(self, deadline: float) -> _Worker:
        with self.changed:
            for worker in [w for w in self.idle if w.process.poll() is not None]:
                self.idle.remove(worker)
                self.drop(worker)
            while not self.idle and self.count >= MOST_WORKERS:
                if not self.changed.wait(deadline - time.monotonic()):
                    raise TimeoutError
            if self.idle:
                return self.idle.pop()
            self.count += 1
        try:
            return _Worker()
        except BaseException as error:
            self.drop(None)
            if isinstance(error, OSError):
                raise CheckerBroken(f"the symbolic checker did not start: {error}; {REMEDY}") from None
            raise

    def give(self, worker: _Worker) -> None:
        with self.changed:
            self.idle.append(worker)
            self.changed.notify()

    def drop(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.stop()
        with self.changed:
            self.count -= 1
            self.changed.notify()

    def close(self) -> None:
        with self.changed:
            idle, self.idle, self.count = self.idle, [], self.count - len(self.idle)
        for worker in idle:
            worker.stop()


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
    pool = _workers
    for attempt in (1, 2):  # a worker that someone else ended is no answer's fault: once more
        try:
            worker = pool.take(clock.deadline)
        except TimeoutError:
            return Finding(False, "time limit reached while waiting for a free symbolic checker", settled=False)
        returned = False
        try:
            began = time.monotonic()
            worker.start()
            clock.deadline += time.monotonic() - began
            found = worker.ask(request, clock.left())
            pool.give(worker)
            returned = True
            return Finding(**found)
        except TimeoutError:
            return Finding(False, "time limit reached while comparing", settled=False)
        except _Dead:
            if attempt == 2:
                break
        finally:
            if not returned:
                pool.drop(worker)
    return Finding(False, "the comparison ended abnormally (memory limit or an inner error)", settled=False)


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
