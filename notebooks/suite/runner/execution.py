"""Runs notebooks, several at once, each in a kernel and a thread of its own, and shows how far they are."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from tqdm import tqdm

from suite.runner.freshness import Task, finish, give_up
from suite.runner.notebook import one_line

PATIENCE = 3600  # seconds that a kernel gets to start: a busy machine is no error
KERNEL_STARTS = 3  # tries: kernels that start at once may pick the same free port, and the one that loses it dies


class Running:
    """One notebook, executed in its own folder, its results staged."""

    def __init__(self, task: Task, environment: dict[str, str]) -> None:
        self.task, self.environment = task, {**environment, "TRINITY_STAGING": str(task.staging)}
        self.started, self.clock = "", time.monotonic()
        self.cell, self.line = 0, ""  # the code cell that runs, from 1, and its first line
        self.client: NotebookClient | None = None
        self.stopped = False

    def execute(self) -> str:
        """Runs every cell and writes the executed copy; returns what went wrong, empty where nothing did."""
        self.started, self.clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
        self.task.staging.mkdir()
        book = nbformat.read(self.task.notebook.path, as_version=4)
        if self.task.changed:
            lines = ["# Parameters", *(f"{name} = {value!r}" for name, value in self.task.changed.items())]
            own = nbformat.v4.new_code_cell("\n".join(lines), metadata={"tags": ["injected-parameters"]})
            at = next(i for i, cell in enumerate(book.cells) if "parameters" in cell.metadata.get("tags", []))
            book.cells.insert(at + 1, own)
        try:
            self._run(book)
            wrote = (self.task.staging / "claims.json").is_file()
            fault = "" if wrote else "the notebook ended without results.write()"
        except CellExecutionError as error:
            fault = f"{error.ename}: {error.evalue}".splitlines()[0].rstrip(": ")
            fault = f"the notebook ended here ({fault})" if error.ename == "SystemExit" else fault
        except DeadKernelError:
            fault = "the kernel died (killed, out of memory, or ended by the notebook)"
        except Exception as error:  # no kernel, say: told like a failing cell
            fault = one_line(error)
        for cell in book.cells:
            if "outputs" in cell:
                cell.outputs = merged_streams(cell.outputs)
        nbformat.write(book, self.task.staging / self.task.notebook.path.name)
        return f"{fault}; nothing was written" if fault else ""

    def _run(self, book: Any) -> None:
        settings = {"timeout": None, "startup_timeout": PATIENCE, "record_timing": False}
        settings["resources"] = {"metadata": {"path": str(self.task.notebook.path.parent)}}
        for attempt in range(KERNEL_STARTS):
            self.client = NotebookClient(book, on_cell_start=self._on_cell_start, **settings)
            try:
                with tempfile.TemporaryFile() as log:  # what the kernel writes past the notebook
                    self.client.execute(env=self.environment, stdout=log, stderr=log)
                return
            except RuntimeError as error:
                if self.cell or attempt == KERNEL_STARTS - 1 or "Kernel died before replying" not in str(error):
                    raise

    def _on_cell_start(self, cell: Any, cell_index: int) -> None:
        if self.stopped:
            raise RuntimeError("stopped")
        if cell.cell_type == "code":
            self.cell += 1
            self.line = cell.source.strip().partition("\n")[0]

    def stop(self) -> None:
        """Ends the kernel and what it started; one that is only being started ends before its first cell."""
        self.stopped = True
        with contextlib.suppress(AttributeError, TypeError, ProcessLookupError):  # there is none, or no longer
            os.killpg(self.client.km.provisioner.pgid, signal.SIGKILL)

    @property
    def elapsed(self) -> str:
        """Minutes and seconds, `01:05`."""
        return tqdm.format_interval(time.monotonic() - self.clock)


def merged_streams(outputs: list[Any]) -> list[Any]:
    """A cell's outputs, neighbouring pieces of one stream put together: where a kernel cuts them is chance."""
    merged: list[Any] = []
    for output in outputs:
        if merged and output.output_type == merged[-1].output_type == "stream" and output.name == merged[-1].name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def execute_all(tasks: list[Task], jobs: int, environment: dict[str, str]) -> list[str]:
    """Runs the tasks in order, at most `jobs` at once; returns the names of those that failed.

    Whatever interrupts it (a signal's exception) stops the kernels and removes what they staged.
    """
    failed = []
    width = max((len(task.name) for task in tasks), default=0)
    form = "{n_fmt} of {total_fmt} {elapsed}{postfix}"
    with ThreadPoolExecutor(jobs) as threads, tqdm(total=len(tasks), bar_format=form, leave=False, disable=None) as bar:
        running: dict[Future[str], Running] = {}
        try:
            for one in (Running(task, environment) for task in tasks):
                running[threads.submit(one.execute)] = one
            left = set(running)
            while left:
                done, left = wait(left, timeout=1, return_when=FIRST_COMPLETED)
                for future in done:
                    one = running[future]
                    fault = one_line(error) if (error := future.exception()) else future.result()
                    said = f"{one.task.name:{width}}  {'FAILED' if fault else 'done  '}  {one.elapsed}"
                    if fault:
                        failed.append(one.task.name)
                        give_up(one.task)
                        said += f"\n  cell [{one.cell}]: {one.line}\n  {fault}"
                    else:
                        finish(one.task, one.started, time.monotonic() - one.clock)
                    bar.update()
                    bar.write(said)
                now = [one for future, one in running.items() if future.running()]
                bar.set_postfix_str("  ".join(f"{one.task.name} [{one.cell}] {one.elapsed}" for one in now))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for one in (one for future, one in running.items() if not future.done()):
                one.stop()
            threads.shutdown()
            for task in tasks:
                shutil.rmtree(task.staging, ignore_errors=True)  # stopped, not failed: no copy to read
    return failed
