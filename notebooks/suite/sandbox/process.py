"""Starting the processes that run code, and ending them with all their children; whether bubblewrap works here."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from suite.sandbox.bubblewrap import ARCHITECTURES, ENVIRONMENT, Bubblewrap, interpreter, system_call_filter
from suite.sandbox.child import decode

CHILD = Path(__file__).with_name("child.py").read_text(encoding="utf-8")
FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8")  # -I without its -E, which would ignore PYTHONHASHSEED
LEAST = {"wall": 0.01, "cpu": 0.01, "memory": 64, "output": 1}
DISK, THREADS, FILES = 16, 16, 64  # MiB of /tmp and of one file; open at once (threads are counted in bubblewrap only)


@dataclass(frozen=True)
class Limits:
    """What one process may use.

    `wall`: real seconds for all tests of a function, or for each stdin case; `cpu`: processor seconds, rounded up;
    `memory`: MiB of address space; `output`: bytes of each of stdout, stderr and the results. Wall exceeds cpu, so that
    a busy machine does not fail an honest solution.
    """

    wall: float = 15.0
    cpu: float = 5.0
    memory: int = 1024
    output: int = 1 << 20

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value, kinds = getattr(self, name), int if isinstance(least, int) else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < 1 << 40:
                kind = "whole number" if kinds is int else "number"
                raise ValueError(f"Limits.{name} is {value!r}; give a {kind} of at least {least}")


class Run:
    """Processes that start together, share a deadline and end together; use it in a `with`.

    What they read and write lies in nameless files, so nothing has to be fed or drained while they run. A file is named
    by the descriptor that both sides have. `sandbox` None: a limited subprocess.
    """

    def __init__(self, limits: Limits, sandbox: Bubblewrap | None) -> None:
        self.limits, self.sandbox = limits, sandbox
        self.processes: list[subprocess.Popen] = []
        self._files: dict[int, BinaryIO] = {}
        self._most: dict[int, int] = {}  # bytes that may be written
        self._errors: list[int] = []  # the stderr of each process
        self._open = contextlib.ExitStack()
        self._pipes: list[int] = []
        self._signs, self._sign = self.pipe()  # each process says here that it has started
        self._late = threading.Event()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._open.close()
        for end in self._pipes:
            os.close(end)

    def given(self, data: bytes) -> int:
        """A file that a child reads `data` from."""
        end = self._file()
        self._files[end].write(data)
        self._files[end].seek(0)
        return end

    def wanted(self, most: int) -> int:
        """A file that a child writes into; more than `most` bytes are too many."""
        end = self._file()
        self._most[end] = most
        return end

    def pipe(self) -> tuple[int, int]:
        """A pipe between two children: reading end, writing end."""
        ends = os.pipe()
        self._pipes += ends
        return ends

    def _file(self) -> int:
        file = self._open.enter_context(tempfile.TemporaryFile(buffering=0))
        os.fchmod(file.fileno(), 0o666)  # so that another user may open it again, as /dev/stdin
        self._files[file.fileno()] = file
        return file.fileno()

    def start(
        self, mode: str, request: dict[str, Any], *ends: int, stdin: int | None = None, stdout: int | None = None
    ) -> None:
        """Starts `child` in `mode`; `ends`, `stdin` and `stdout` are descriptors of this run's files and pipes."""
        limits = self.limits
        self._errors.append(self.wanted(limits.output))
        stdout = self.wanted(limits.output) if stdout is None else stdout
        bounds = {
            "RLIMIT_CPU": math.ceil(limits.cpu),
            "RLIMIT_AS": limits.memory << 20,
            "RLIMIT_FSIZE": max(DISK << 20, *(most + 1 for most in self._most.values())),
            "RLIMIT_NOFILE": FILES,
            "RLIMIT_CORE": 0,
        }
        if self.sandbox:  # elsewhere the limit would count every thread of the user who runs the suite
            bounds |= {"RLIMIT_NPROC": THREADS + 2, "RLIMIT_MSGQUEUE": 0}
        # A user of its own for each run: threads are counted by user.
        uid = 20000 + secrets.randbelow(40000) if self.sandbox and self.sandbox.drops_root else 0
        settings = {"limits": bounds, "uid": uid, "alarm": math.ceil(limits.wall) + 5, "output": limits.output}
        ends = (self.given(json.dumps(request | settings).encode()), self._sign, *ends)
        command = [str(interpreter()), *FLAGS, "-c", CHILD, mode, *map(str, ends)]
        if self.sandbox:
            front, folder = self.sandbox.command(DISK), "/"
            if call_filter := system_call_filter(platform.machine()):
                ends = (*ends, self.given(call_filter))
                front += ["--seccomp", str(ends[-1])]
            command = [*front, "--", *command]
        else:
            temporary = tempfile.TemporaryDirectory(prefix="trinity-code-", ignore_cleanup_errors=True)
            folder = self._open.enter_context(temporary)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=self._errors[-1],
            env={} if self.sandbox else ENVIRONMENT,  # bubblewrap's own could be read in /proc/1/environ
            cwd=folder,
            pass_fds=ends,
            start_new_session=True,
        )
        self.processes.append(process)

    def finish(self) -> str | None:
        """Waits for the process that was started last, then ends every one; "timeout" or "output-limit" where the run
        was cut short."""
        for end in [
            end for end in self._pipes if end != self._signs
        ]:  # else the end of a child would not end its pipes
            self._pipes.remove(end)
            os.close(end)
        timer = threading.Timer(self.limits.wall, self._stop)  # Popen.wait with a timeout would look every 50 ms
        timer.start()
        try:
            self.processes[-1].wait()
        finally:
            timer.cancel()
        for process in self.processes[:-1]:  # for the exit status of one on its way out
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        self.codes = [self._code(process) for process in self.processes]
        self._end()
        if any(os.fstat(end).st_size > most for end, most in self._most.items()):
            return "output-limit"
        return "timeout" if self._late.is_set() else None

    def _code(self, process: subprocess.Popen) -> int | None:
        """The exit status, -n for signal n; None where it still runs."""
        code = process.poll()
        return 128 - code if self.sandbox and code is not None and code > 128 else code  # bubblewrap says 128 + n

    def _stop(self) -> None:
        self._late.set()
        self._kill(*self.processes)

    def _kill(self, *processes: subprocess.Popen) -> None:
        """Ends processes with their children: in the sandbox all of them, else those that stayed in their group."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _end(self) -> None:
        while self.processes:
            process = self.processes.pop()
            self._kill(process)
            process.wait()

    def said(self, end: int) -> str:
        """What children wrote into a file that was `wanted`."""
        return os.pread(end, self._most[end] + 1, 0).decode(errors="replace")

    def errors(self, number: int) -> list[str]:
        """The lines of a process's stderr."""
        return self.said(self._errors[number]).strip().splitlines()

    def started(self) -> bool:
        """Whether every process came as far as the code; each closes its end of the pipe before."""
        os.set_blocking(self._signs, False)
        try:
            return len(os.read(self._signs, 99)) == len(self._errors)
        except BlockingIOError:
            return False


LOOK = """
import os, sys
def look():
    import typing, _ctypes, encodings.idna  # the library can be read after leaving root
    try:
        os.fork()
    except OSError as error:
        forks = False
    else:
        forks = True
    return {"uid": os.getuid(), "python": sys.version, "forks": forks, "parent": os.getppid()}
"""


def find_bubblewrap() -> tuple[Bubblewrap | None, str]:
    """The bubblewrap that works and its version, or None and the reason. It is tried once a process."""
    return _try(shutil.which("bwrap"))


@functools.lru_cache
def _try(path: str | None) -> tuple[Bubblewrap | None, str]:
    if sys.platform != "linux":
        return None, f"bubblewrap is for Linux only, and this is {sys.platform}"
    if path is None:
        return None, "bubblewrap is not installed"
    reason = ""
    for way in _ways():
        bubblewrap = Bubblewrap(path, way)
        version = ".".join(map(str, bubblewrap.version))
        found = look_from_inside(bubblewrap)
        if not found["error"] and found["uid"] and found["python"] == sys.version and found["parent"] == 1:
            if not found["forks"] or platform.machine() not in ARCHITECTURES:
                return bubblewrap, version
            found = {"error": "system calls are not filtered"}
        reason = reason or f"bubblewrap {version} does not work on this machine ({found['error'] or found})"
    return None, reason


def _ways() -> tuple[str, ...]:
    """The system's root must become another user: in a user name space it would still own the kernel's settings."""
    if os.geteuid() != 0:
        return ("user",)
    mapped = Path("/proc/self/uid_map").read_text().split()[:2]
    return ("root",) if mapped == ["0", "0"] else ("root", "user")  # in a container, root may be an ordinary user


def look_from_inside(bubblewrap: Bubblewrap) -> dict[str, Any]:
    """User, Python version, parent, whether processes start: as a child in the sandbox sees it; or the `error`."""
    request = {"source": LOOK, "entry_point": "look", "plain": False}
    with Run(Limits(), bubblewrap) as run:
        calls, replies = run.given(b'["list", ["list"], ["dict"]]\n'), run.wanted(1 << 16)
        run.start("serve", request, calls, replies)
        run.finish()
        lines = run.said(replies).splitlines()
        try:
            return {"error": None} | decode(json.loads(lines[1])[1])
        except (LookupError, ValueError, TypeError):
            words = [*lines, *run.errors(0)] or [f"status {run.codes[0]}"]
            return {"error": words[-1]}
