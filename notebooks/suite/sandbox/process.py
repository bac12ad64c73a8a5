"""Starting the processes that run code, feeding and reading them, and ending them with all their children."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

CHILD = Path(__file__).with_name("child.py")
TICK = 0.05  # seconds between looks at whether a process whose pipes stay open has ended
FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8")  # -I without its -E, which would ignore PYTHONHASHSEED
ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # the whole environment: the order of a set of strings must not change a verdict
LEAST = {"wall": 0.01, "cpu": 0.01, "memory": 64, "output": 1, "disk": 1, "threads": 1, "files": 16}


@dataclass(frozen=True)
class Limits:
    """What one process may use.

    `wall`: real seconds for all tests of a function, or for each stdin case; `cpu`: processor seconds, rounded up;
    `memory`: MiB of address space; `output`: bytes of each of stdout, stderr and the results; `disk`: MiB of /tmp and
    of one file; `threads` and `files`: open at once (threads are counted in bubblewrap only). Wall exceeds cpu, so that
    a busy machine does not fail an honest solution.
    """

    wall: float = 15.0
    cpu: float = 5.0
    memory: int = 1024
    output: int = 1 << 20
    disk: int = 16
    threads: int = 16
    files: int = 64

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            kinds = float | int if name in ("wall", "cpu") else int
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < 1 << 40:
                kind = "number" if kinds is not int else "whole number"
                raise ValueError(f"Limits.{name} is {value!r}; give a {kind} of at least {least}")


class Wrapper(Protocol):
    """What puts a process in a sandbox."""

    drops_root: bool

    def command(self, limits: Limits) -> list[str]: ...


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    `stopped`: "timeout" or "output-limit" where it was cut short, else None. `codes`: each process's exit status, -n
    for signal n, None where it still ran and was ended. `output`: by the descriptor that `Run.read` gave.
    """

    stopped: str | None
    codes: list[int | None]
    output: dict[int, bytes] = field(default_factory=dict)


def interpreter() -> Path:
    """The Python that this environment is made from, without the environment's packages."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


class Run:
    """Processes that start together, share a deadline and end together; use it in a `with`.

    `wrapper` None: a limited subprocess. Pipes are named by the descriptor that the child has.
    """

    def __init__(self, limits: Limits, wrapper: Wrapper | None, call_filter: bytes | None = None) -> None:
        self.limits, self.wrapper, self.call_filter = limits, wrapper, call_filter
        self.processes: list[subprocess.Popen] = []
        self.errors: list[int] = []  # the stderr of each process
        self._folders: list[tempfile.TemporaryDirectory] = []
        self._theirs: set[int] = set()  # the children's ends, while they are open here
        self._ours: dict[int, int] = {}  # a child's end -> our end
        self._left: dict[int, memoryview] = {}  # our end -> what is still to be written
        self._chunks: dict[int, list[bytes]] = {}  # our end -> what was read
        self._limits: dict[int, int] = {}  # our end -> bytes that may be read
        self._begun = time.monotonic()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._hand_over()
        for end in self._ours.values():
            os.close(end)
        self._ours.clear()

    def write(self, data: bytes) -> int:
        """A pipe that a child reads `data` from."""
        theirs, ours = os.pipe()
        self._keep(theirs, ours)
        self._left[ours] = memoryview(data)
        return theirs

    def read(self, limit: int) -> int:
        """A pipe that a child writes into; more than `limit` bytes end the run."""
        ours, theirs = os.pipe()
        self._keep(theirs, ours)
        self._limits[ours], self._chunks[ours] = limit, []
        return theirs

    def between(self) -> tuple[int, int]:
        """A pipe between two children: reading end, writing end."""
        ends = os.pipe()
        self._theirs.update(ends)
        return ends

    def _keep(self, theirs: int, ours: int) -> None:
        os.set_blocking(ours, False)
        self._ours[theirs] = ours
        self._theirs.add(theirs)

    def _hand_over(self) -> None:
        """Closes the children's ends here: only then does the end of a child end its pipes."""
        while self._theirs:
            os.close(self._theirs.pop())

    def start(
        self, mode: str, request: dict[str, Any], *ends: int, stdin: int | None = None, stdout: int | None = None
    ):
        """Starts `child` in `mode`; `ends`, `stdin` and `stdout` are ends of this run's pipes."""
        limits, inside = self.limits, self.wrapper is not None
        bounds = {
            "RLIMIT_CPU": math.ceil(limits.cpu),
            "RLIMIT_AS": limits.memory << 20,
            "RLIMIT_FSIZE": limits.disk << 20,
            "RLIMIT_NOFILE": limits.files,
            "RLIMIT_CORE": 0,
        }
        if inside:  # elsewhere the limit would count every thread of the user who runs the suite
            bounds |= {"RLIMIT_NPROC": limits.threads + 2, "RLIMIT_MSGQUEUE": 0}
        # A user of its own for each run: threads are counted by user.
        uid = 20000 + secrets.randbelow(40000) if inside and self.wrapper.drops_root else 0
        settings = {"limits": bounds, "uid": uid, "alarm": math.ceil(limits.wall) + 5, "output": limits.output}
        ends = (self.write(json.dumps(request | settings).encode()), *ends)
        command = [str(interpreter()), *FLAGS, "-c", _child_source(), mode, *map(str, ends)]
        if inside:
            front, folder = self.wrapper.command(limits), "/"
            if self.call_filter:
                ends = (*ends, self.write(self.call_filter))
                front += ["--seccomp", str(ends[-1])]
            command = [*front, "--", *command]
        else:
            self._folders.append(tempfile.TemporaryDirectory(prefix="trinity-code-", ignore_cleanup_errors=True))
            folder = self._folders[-1].name
        for end in (stdin, stdout):
            if end is not None:  # so that another user may open it again, as /dev/stdin
                os.fchmod(end, 0o666)
        self.errors.append(self.read(limits.output))
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=self.read(limits.output) if stdout is None else stdout,
            stderr=self.errors[-1],
            env={} if inside else ENVIRONMENT,  # bubblewrap's own could be read in /proc/1/environ
            cwd=folder,
            pass_fds=ends,
            start_new_session=True,
        )
        self.processes.append(process)

    def finish(self, until: int | None = None) -> Ended:
        """Feeds and reads until the pipe `until` ends (None: every pipe and process), then ends every process."""
        self._hand_over()
        stopped = self._pump(None if until is None else self._ours[until])
        if not stopped:
            self._wait(0.5)  # for the exit status of a process on its way out
            self._drain()
        codes = [process.poll() for process in self.processes]
        if self.wrapper is not None:  # it reports a signal as 128 + n
            codes = [128 - code if code is not None and code > 128 else code for code in codes]
        self._end()
        read = {theirs: self._chunks[ours] for theirs, ours in self._ours.items() if ours in self._chunks}
        return Ended(stopped, codes, {theirs: b"".join(chunks) for theirs, chunks in read.items()})

    def _pump(self, until: int | None) -> str | None:
        deadline = self._begun + self.limits.wall
        reading, seen = set(self._limits), dict.fromkeys(self._limits, 0)
        with selectors.DefaultSelector() as selector:
            for ours in self._left:
                selector.register(ours, selectors.EVENT_WRITE)
            for ours in reading:
                selector.register(ours, selectors.EVENT_READ)
            while reading:
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                ready = selector.select(min(left, TICK))
                if not ready and all(process.poll() is not None for process in self.processes):
                    return None  # a child of the code's keeps the pipes open: it ends with its group
                for key, _ in ready:
                    ours = key.fd
                    if ours in self._left:
                        if self._write_some(ours):
                            selector.unregister(ours)
                            self._close(ours)
                        continue
                    try:
                        chunk = os.read(ours, 1 << 16)
                    except BlockingIOError:  # the code has opened the other end of its own pipe and was faster
                        continue
                    self._chunks[ours].append(chunk)
                    seen[ours] += len(chunk)
                    if seen[ours] > self._limits[ours]:
                        return "output-limit"
                    if not chunk:
                        selector.unregister(ours)
                        reading.discard(ours)
                        if ours == until:
                            return None
        return None if self._wait(deadline - time.monotonic()) else "timeout"

    def _drain(self) -> None:
        """Reads what the other pipes hold when the awaited one ends: a dying process closes them all at once, and the
        words on its stderr must not depend on which is looked at first."""
        for ours, chunks in self._chunks.items():
            left = self._limits[ours] - sum(map(len, chunks))
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (chunk := os.read(ours, min(left, 1 << 16))):
                    chunks.append(chunk)
                    left -= len(chunk)

    def _write_some(self, ours: int) -> bool:
        """Writes what the pipe takes; True when nothing is left or nobody reads."""
        data = self._left[ours]
        try:
            self._left[ours] = data[os.write(ours, data[: 1 << 16]) :] if data else data
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        return not self._left[ours]

    def _close(self, ours: int) -> None:
        theirs = next(theirs for theirs, end in self._ours.items() if end == ours)
        os.close(self._ours.pop(theirs))

    def _wait(self, seconds: float) -> bool:
        """Whether every process ends within this time."""
        until = time.monotonic() + seconds
        try:
            for process in self.processes:
                process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _end(self) -> None:
        """Ends the processes with their children: in the sandbox all of them, else those that stayed in their group."""
        while self.processes:
            process = self.processes.pop()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for folder in self._folders:
            folder.cleanup()
        self._folders.clear()


@functools.cache
def _child_source() -> str:
    return CHILD.read_text(encoding="utf-8")
