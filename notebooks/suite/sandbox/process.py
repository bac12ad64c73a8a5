"""Starting the processes that run code, and ending them with all their children."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from suite.sandbox.bubblewrap import ENVIRONMENT, Bubblewrap, interpreter, system_call_filter

CHILD = Path(__file__).with_name("child.py").read_text(encoding="utf-8")
FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8")  # -I without its -E, which would ignore PYTHONHASHSEED
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


class Run:
    """Processes that start together, share a deadline and end together; use it in a `with`.

    What they read and write lies in nameless files, so nothing has to be fed or drained while they run. A file is named
    by the descriptor that both sides have. `sandbox` None: a limited subprocess.
    """

    def __init__(self, limits: Limits, sandbox: Bubblewrap | None) -> None:
        self.limits, self.sandbox = limits, sandbox
        self.processes: list[subprocess.Popen] = []
        self._most: dict[int, int] = {}  # bytes that may be written into a file
        self._errors: list[int] = []  # the stderr of each process
        self._open = contextlib.ExitStack()
        self._pipes: list[int] = []
        self._sign = self.wanted(99)  # each process writes a letter here when it has started

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._open.close()

    def given(self, data: bytes) -> int:
        """A file that a child reads `data` from."""
        file = self._file()
        file.write(data)
        file.seek(0)
        return file.fileno()

    def wanted(self, most: int) -> int:
        """A file that a child writes into; more than `most` bytes are too many."""
        end = self._file().fileno()
        self._most[end] = most
        return end

    def pipe(self) -> tuple[int, int]:
        """A pipe between two children: reading end, writing end."""
        ends = os.pipe()
        self._pipes += ends
        return ends

    def _file(self) -> BinaryIO:
        file = self._open.enter_context(tempfile.TemporaryFile(buffering=0))
        os.fchmod(file.fileno(), 0o666)  # so that another user may open it again, as /dev/stdin
        return file

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
        uid = 20000 + secrets.randbelow(40000) if self.sandbox and self.sandbox.root else 0
        settings = {"limits": bounds, "uid": uid, "alarm": math.ceil(limits.wall) + 5, "output": limits.output}
        ends = (self.given(json.dumps(request | settings).encode()), self._sign, *ends)
        command = [str(interpreter()), *FLAGS, "-c", CHILD, mode, *map(str, ends)]
        if self.sandbox:
            folder = "/"
            ends = (*ends, self.given(system_call_filter(platform.machine())))
            command = [*self.sandbox.command(DISK), "--seccomp", str(ends[-1]), "--", *command]
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
        self._close_pipes()  # else the end of a child would not end its pipes
        begun = time.monotonic()
        timer = threading.Timer(self.limits.wall, self._kill)  # Popen.wait with a timeout would look every 50 ms
        timer.start()
        try:
            self.processes[-1].wait()
        finally:
            timer.cancel()
        late = time.monotonic() - begun >= self.limits.wall
        for process in self.processes[:-1]:  # for the exit status of one on its way out
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        codes = [process.poll() for process in self.processes]
        # -n for signal n, which bubblewrap says as 128 + n; None where one still runs
        self.codes = [128 - code if self.sandbox and code and 128 < code <= 192 else code for code in codes]
        self._end()
        if any(os.fstat(end).st_size > most for end, most in self._most.items()):
            return "output-limit"
        return "timeout" if late else None

    def _kill(self) -> None:
        """Ends all processes with their children: in the sandbox every one, else those that stayed in their group."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _close_pipes(self) -> None:
        while self._pipes:
            os.close(self._pipes.pop())

    def _end(self) -> None:
        self._close_pipes()
        self._kill()
        while self.processes:
            self.processes.pop().wait()

    def said(self, end: int) -> str:
        """What children wrote into a file that was `wanted`."""
        return os.pread(end, self._most[end] + 1, 0).decode(errors="replace")

    def errors(self, number: int) -> list[str]:
        """The lines of a process's stderr."""
        return self.said(self._errors[number]).strip().splitlines()

    def started(self) -> bool:
        """Whether every process came as far as the code; each closes its end of the file before."""
        return len(self.said(self._sign)) == len(self._errors)
