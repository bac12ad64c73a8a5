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
import queue
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

MOST_WORKERS = 4
START_LIMIT = 60.0  # seconds to import sympy on a busy machine; no part of a check's own limit
MEMORY_LIMIT = 2 << 30  # bytes of address space


class Clock:
    """The time that a check may still take, without the waiting for a worker and its start."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, at least 0."""
        return max(0.0, self.deadline - time.monotonic())


class CheckerBroken(RuntimeError):
    """The symbolic checker cannot run here at all: no answer may be judged by that."""


@dataclass(frozen=True)
class Finding:
    """`equal`, or why not; `settled`: no time limit or accident was the reason."""

    equal: bool
    reason: str = ""
    settled: bool = True


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
            theirs.close()
            self.hear(START_LIMIT)
        except (OSError, EOFError) as trouble:
            remedy = "install math-verify as requirements.txt pins it"
            raise CheckerBroken(f"the symbolic checker did not start: {trouble!r}; {remedy}") from None

    def hear(self, seconds: float) -> dict:
        """The worker's next words. TimeoutError after so many seconds, EOFError or ConnectionError where it ended."""
        if not self.pipe.poll(seconds):
            raise TimeoutError
        return json.loads(self.pipe.recv_bytes())

    def ask(self, request: dict, seconds: float) -> dict:
        """The worker's answer; `hear` says how that may fail."""
        self.pipe.send_bytes(json.dumps({**request, "seconds": seconds}).encode())
        return self.hear(seconds)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.pipe.close()


def _no_workers() -> queue.LifoQueue[_Worker | None]:
    """Places for workers, all of them free."""
    places: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
    for _ in range(MOST_WORKERS):
        places.put(None)
    return places


_places = _no_workers()


def _forget() -> None:
    """In a forked child: the parent's workers are the parent's."""
    global _places
    _places = _no_workers()


os.register_at_fork(after_in_child=_forget)
atexit.register(lambda: [worker.stop() for worker in _places.queue if worker])


def ask(action: str, *words: str | int, clock: Clock) -> Finding:
    """What a worker finds: `action` is one of `symbolic_worker.ACTIONS`, `words` are its arguments."""
    if not clock.left():
        return Finding(False, "time limit reached", settled=False)
    began, kept = time.monotonic(), None
    worker = _places.get()
    try:
        if worker is None or worker.process.poll() is not None:
            worker = _Worker()
        clock.deadline += time.monotonic() - began
        try:
            found = worker.ask({"do": action, "words": words}, clock.left())
        except (OSError, EOFError):
            late = not clock.left()
            worker.stop()
            reason = "time limit reached while comparing" if late else "the comparison ended abnormally"
            return Finding(False, reason, settled=False)
        kept = worker  # never after an interrupt: its reply would be taken for another question's
        return Finding(**found)
    finally:
        _places.put(kept)
