"""One notebook: what it says about itself, and its execution through papermill.

Reading needs the standard library alone. Execution happens in a process of its own,
`python -m suite.runner.notebook SOURCE COPY PARAMETERS`, which reports each cell as one line of JSON and ends, with its
kernel, when its standard input closes: so no kernel outlives the runner, however the runner ends.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from suite.runner.child import end_with_parent
from trinity_core.paths import NOTEBOOKS

KERNEL_STARTS = 3  # tries to start a notebook's kernel


class NotebookError(ValueError):
    """A notebook that cannot be run as it stands; the message names it and the remedy."""


@dataclass(frozen=True)
class Notebook:
    """A numbered notebook `NN_name.ipynb`; everything but its path is read when it is asked for."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The cells, each `source` one string. NotebookError where the file is no notebook."""
        try:
            cells = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
            return [{**cell, "source": "".join(cell["source"])} for cell in cells]
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = _one_line(type(error).__name__, str(error))
            raise NotebookError(f"{self.path.name}: cannot be read as a notebook ({reason})") from None

    @property
    def title(self) -> str:
        """The first heading."""
        lines = (line for cell in self.cells if cell["cell_type"] == "markdown" for line in cell["source"].splitlines())
        return next((line.lstrip("# ").strip() for line in lines if line.startswith("#")), "")

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Names and default values of the one cell tagged `parameters`, which may hold literals only."""
        tagged = [cell for cell in self.cells if cell["cell_type"] == "code" and "parameters" in _tags(cell)]
        if len(tagged) != 1:
            raise NotebookError(f"{self.path.name}: {len(tagged)} code cells are tagged `parameters`; tag exactly one")
        try:
            parameters = _literals(tagged[0]["source"])
        except (SyntaxError, ValueError) as error:
            raise NotebookError(
                f"{self.path.name}: its parameters cell may hold `name = literal` alone, {error}; derive values later"
            ) from None
        if not isinstance(parameters.get("profile"), str):
            raise NotebookError(f'{self.path.name}: its parameters cell needs a line like profile = "offline"')
        return parameters

    @property
    def own_profile(self) -> str:
        """The profile that the notebook names itself: the one whose outputs are committed."""
        return self.parameters["profile"]

    @property
    def sources(self) -> str:
        """A digest of what is executed and shown: cell types, sources and tags, not the outputs."""
        return digest([[cell["cell_type"], cell["source"], _tags(cell)] for cell in self.cells])


def discover(folder: Path = NOTEBOOKS) -> list[Notebook]:
    """The numbered notebooks of the folder, in order. NotebookError where there is none or a number stands twice."""
    found = [Notebook(path) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))]
    if not found:
        raise NotebookError(f"{folder} holds no notebook named NN_name.ipynb")
    for first, second in zip(found, found[1:]):
        if first.name[:2] == second.name[:2]:
            raise NotebookError(f"{first.path.name} and {second.path.name} have the same number; rename one")
    return found


def digest(value: Any) -> str:
    """The SHA-256 of a value's JSON text, in hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _tags(cell: dict[str, Any]) -> list[str]:
    return list(cell.get("metadata", {}).get("tags", []))


def _literals(source: str) -> dict[str, Any]:
    """`name = literal` lines as a dict; ValueError names the first line that is something else."""
    values = {}
    for node in ast.parse(source).body:
        try:
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            values[target.id] = ast.literal_eval(node.value)
        except (AttributeError, ValueError):
            raise ValueError(f"which line {node.lineno} is not") from None
    return values


def _clean(notebook: Any) -> None:
    """Takes away what differs from run to run: paths, times (JupyterLab's too), empty tags."""
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]


def _one_line(kind: str, message: str) -> str:
    """`ValueError: the first line of its message that says something`."""
    return f"{kind}: {next((line.strip() for line in message.splitlines() if line.strip()), '')}".rstrip(": ")


def execute(source: Path, copy: Path, parameters: dict[str, Any], report: Any) -> bool:
    """Runs the notebook in its own folder and writes the executed copy; True when no cell failed.

    `report` is called with one dict a cell that starts, `{"cell": number, "of": count}`, and on failure with
    `{"failed": {"cell", "line", "error"}}`: the number in the reader's brackets, the cell's first line, the error.
    """
    import nbformat  # heavy: only this process needs it
    import papermill
    from nbclient.exceptions import DeadKernelError

    started: list[Any] = []

    def on_cell_start(cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code":
            started.append(cell)
            report({"cell": len(started), "of": total})

    total = sum(cell["cell_type"] == "code" for cell in Notebook(source).cells) + bool(parameters)
    failure = None
    try:
        hooks = {"record_timing": False, "on_cell_start": on_cell_start}
        settings = {"cwd": source.parent, "language": "python", "progress_bar": False, **hooks}
        for attempt in range(KERNEL_STARTS):
            try:
                papermill.execute_notebook(source, copy, parameters, **settings)
                break
            except RuntimeError as error:
                # Kernels that start at once may pick the same free port; the one that loses it dies before any cell.
                if started or attempt == KERNEL_STARTS - 1 or "Kernel died before replying" not in str(error):
                    raise
    except papermill.PapermillExecutionError as error:
        failure = _one_line(error.ename, error.evalue)
    except DeadKernelError:
        failure = "the kernel died (killed, or out of memory)"
    except Exception as error:  # no kernel, an unwritable copy: told like a failing cell
        failure = _one_line(type(error).__name__, str(error))
    if copy.exists():
        executed = nbformat.read(copy, as_version=4)
        _clean(executed)
        nbformat.write(executed, copy)
    if failure is None:
        return True
    cell = next((line for line in (started[-1].source if started else "").splitlines() if line.strip()), "")
    report({"failed": {"cell": len(started), "line": cell, "error": failure}})
    return False


def main(arguments: list[str]) -> int:
    """The child process: 0 when every cell ran, else 1."""
    source, copy, parameters = arguments
    # The messages get a descriptor of their own, and whatever else writes to standard output goes to standard error.
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=messages, flush=True)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt  # nbclient then shuts the kernel down on the way out

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to handle
    signal.signal(signal.SIGTERM, stop)
    end_with_parent()
    try:
        return 0 if execute(Path(source), Path(copy), json.loads(parameters), report) else 1
    except KeyboardInterrupt:
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
