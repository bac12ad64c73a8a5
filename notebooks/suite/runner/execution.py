"""Runs notebooks, several at once where asked, each in a child process, and shows how far they are; and a command."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable

from suite.runner.freshness import Task, finish, give_up

GRACE = 10.0  # seconds that a child and its kernel get to end


class Child:
    """One notebook being executed."""

    def __init__(self, task: Task, environment: dict[str, str], post: Callable[[Child, dict[str, Any]], None]) -> None:
        self.task = task
        self.started = time.time()
        self.clock = time.monotonic()
        self.cell, self.of = 0, 0
        self.failure: dict[str, Any] | None = None
        self.log = tempfile.TemporaryFile()  # what the child and its kernel write past the notebook
        task.staging.mkdir()
        copy = task.staging / task.notebook.path.name
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "suite.runner.notebook", task.notebook.path, copy, json.dumps(task.changed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**environment, "TRINITY_STAGING": str(task.staging)},
            start_new_session=True,  # Ctrl-C reaches the runner alone, which then stops its children in order
        )
        threading.Thread(target=self._listen, args=(post,), daemon=True).start()

    def _listen(self, post: Callable[[Child, dict[str, Any]], None]) -> None:
        for line in self.process.stdout:
            post(self, json.loads(line))
        post(self, {"ended": True})

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.clock

    def succeeded(self) -> bool:
        """Waits for the end; where it went wrong, `failure` says how."""
        status = self.process.wait()
        if status and not self.failure:
            self.log.seek(0)
            words = self.log.read().decode(errors="replace").strip().splitlines()
            error = f"its process ended with status {status}: {words[-1] if words else 'no message'}"
            self.failure = {"cell": self.cell, "line": "", "error": error}
        return not status

    def stop(self) -> None:
        """Ends the child and its kernel."""
        stop(self.process)


def stop(process: subprocess.Popen) -> None:
    """Ends a child that watches its standard input (`console.end_with_parent`): closing it asks for the end."""
    process.stdin.close()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_visibly(environment: dict[str, str], *command: str) -> int:
    """Runs `python -m MODULE ARGUMENTS`, which shows its own progress; its exit status. An interruption ends it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "suite.runner.child", *command],
        stdin=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # as a notebook's child: Ctrl-C reaches the runner alone
    )
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            stop(process)


class Progress:
    """One line a notebook; on a terminal a last line that follows the running ones."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.live = sys.stdout.isatty()

    def start(self, child: Child) -> None:
        if not self.live:
            print(f"{child.task.name:{self.width}}  started", flush=True)

    def running(self, children: list[Child]) -> None:
        if self.live:
            states = [f"{c.task.name}  cell {c.cell}/{c.of or '?'}  {elapsed(c.seconds)}" for c in children]
            line = "   ".join(states)[: shutil.get_terminal_size().columns - 1]  # one that wraps could not be redrawn
            print(f"\r\x1b[K{line}", end="", flush=True)

    def end(self, child: Child) -> None:
        clear = "\r\x1b[K" if self.live else ""
        name = f"{clear}{child.task.name:{self.width}}"
        if child.failure is None:
            print(f"{name}  done    {elapsed(child.seconds)}", flush=True)
            return
        print(f"{name}  FAILED  {elapsed(child.seconds)}", flush=True)
        if child.failure["line"]:
            print(f"  cell [{child.failure['cell']}]: {child.failure['line']}")
        print(f"  {child.failure['error']}", flush=True)


def elapsed(seconds: float) -> str:
    """Minutes and seconds, `1:05`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def execute_all(tasks: list[Task], jobs: int, environment: dict[str, str]) -> list[str]:
    """Runs the tasks in order, at most `jobs` at once; returns the names of those that failed.

    Whatever interrupts it (a signal's exception) stops the children and removes what they staged.
    """
    events: queue.SimpleQueue[tuple[Child, dict[str, Any]]] = queue.SimpleQueue()
    progress = Progress(max((len(task.name) for task in tasks), default=0))
    waiting, running, failed = list(tasks), [], []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Child(waiting.pop(0), environment, lambda child, event: events.put((child, event))))
                progress.start(running[-1])
            progress.running(running)
            try:
                child, event = events.get(timeout=1.0)
            except queue.Empty:
                continue
            if "cell" in event:
                child.cell, child.of = event["cell"], event["of"]
            elif "failed" in event:
                child.failure = event["failed"]
            else:
                if child.succeeded():
                    finish(child.task, child.started, child.seconds)
                else:
                    failed.append(child.task.name)
                    give_up(child.task)
                running.remove(child)
                progress.end(child)
    finally:
        for child in running:
            child.process.stdin.close()  # all at once, then wait for each
        for child in running:
            child.stop()
            shutil.rmtree(child.task.staging, ignore_errors=True)  # stopped, not failed: no copy to read
    return failed
