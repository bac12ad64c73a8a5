"""What a notebook's results were made from, whether they are still up to date, and how they come into place.

Each results folder `results/<profile>/NN_name` holds `run.json`: the key of what it was made from and a digest of each
of its files. A key covers the notebook's sources and parameters, the shipped data, the list of versions, and the
modules of trinity_core and suite that the notebook imports, directly or through others. Nothing is compared by time of
change, so a checkout or a copy of the repository reruns nothing by itself. A notebook on recorded LLMs depends on their
files too, which lie in `TRINITY_DATA`: where that is not set they cannot be compared, and their results stay.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.profiles import DATA_FOLDERS, DATA_VARIABLE, PROFILES, RECORDED
from suite.runner.notebook import Notebook, NotebookError
from trinity_core.paths import DATA, NOTEBOOKS, ROOT, write_atomic

RECORD = "run.json"
READ = (".py", ".yaml", ".json", ".j2", ".mplstyle")  # what modules start or read beside them


@dataclass(frozen=True)
class Task:
    """One notebook to run into one results folder."""

    notebook: Notebook
    folder: Path  # results/<profile>
    parameters: dict[str, Any]
    key: str  # results made under the same key, and with the same recorded files, are up to date
    data: str | None  # a digest of the recorded files; None where none are read or TRINITY_DATA is not set
    name = property(lambda self: self.notebook.name)
    results = property(lambda self: self.folder / self.name)
    staging = property(lambda self: self.folder / f".{self.name}.staging")
    failed_copy = property(lambda self: self.folder / "failed" / self.notebook.path.name)

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters whose values differ from the notebook's own."""
        own = self.notebook.parameters
        return {name: value for name, value in self.parameters.items() if value != own[name]}

    @property
    def needs_data(self) -> bool:
        """Whether its results were made with recorded files that are not here, so that a run could only undo them."""
        reads = self.notebook.own_profile == self.folder.name == RECORDED
        return reads and self.data is None and read_record(self.results).get("data") is not None


class Inputs:
    """Digests of what notebooks depend on; each file is read once."""

    def __init__(self) -> None:
        files = [ROOT / "requirements.txt", *(file for file in DATA.rglob("*") if file.suffix != ".py")]
        self.shared = _digests(files, ROOT)
        self._known: dict[Path, tuple[str, set[Path]]] = {}

    def task(self, book: Notebook, folder: Path, changes: dict[str, Any]) -> Task:
        """The task of one notebook in `results/<profile>`."""
        profile = folder.name
        parameters = {**book.parameters, **changes, "profile": profile}
        values = {name: repr(value) for name, value in parameters.items()}
        key = digest([book.cells, self.shared, self.modules(book), values, PROFILES[profile].encoder])
        return Task(book, folder, parameters, key, _data() if book.own_profile == profile == RECORDED else None)

    def modules(self, book: Notebook) -> dict[str, str]:
        """Name and digest of every module of trinity_core and suite that the notebook imports, through others too."""
        waiting = set().union(*(imports(source) for kind, source, _ in book.cells if kind == "code"))
        found: set[Path] = set()
        while waiting:
            found.add(file := waiting.pop())
            if file not in self._known:
                self._known[file] = file_digest(file), imports(file.read_text(encoding="utf-8"), file.parent)
            waiting |= self._known[file][1] - found
        return {str(file.relative_to(ROOT)): self._known[file][0] for file in found}


def imports(source: str, folder: Path | None = None) -> set[Path]:
    """The files of trinity_core and suite that Python source imports, anywhere in it; a cell's magic lines left out.

    Files in its own `folder` that it names, such as "child.py" or "units.yaml", are started or read and count too.
    """
    try:
        nodes = list(ast.walk(ast.parse(re.sub("(?m)^[%!].*", "", source))))
    except SyntaxError:  # it cannot run either
        return set()
    files, names = [], []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif folder and isinstance(node, ast.Constant) and str(node.value).endswith(READ):
            files.append(folder / str(node.value))
    for package, *rest in (name.split(".") for name in names):
        if root := {"trinity_core": ROOT, "suite": NOTEBOOKS}.get(package):
            for depth in range(len(rest) + 1):
                place = root.joinpath(package, *rest[:depth])
                files += [place / "__init__.py", place.with_suffix(".py")]
    return {file for file in files if file.is_file()}


def digest(value: Any) -> str:
    """The SHA-256 of a value's JSON text, in hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digests(files: list[Path], root: Path) -> dict[str, str]:
    own = [file for file in files if file.is_file() and not file.name.startswith(".")]
    return {str(file.relative_to(root)): file_digest(file) for file in own}


def _data() -> str | None:
    """A digest of the recorded files in `TRINITY_DATA`; None where that is not set."""
    if not os.environ.get(DATA_VARIABLE):
        return None
    root = Path(os.environ[DATA_VARIABLE]).expanduser().absolute()
    files = [file for folder in DATA_FOLDERS for file in (root / folder).rglob("*")]
    try:
        return digest(_digests([file for file in files if file.suffix.lower() in (".json", ".csv")], root))
    except OSError as error:
        raise NotebookError(f"{DATA_VARIABLE}: cannot read {error.filename} ({error.strerror})") from None


def read_record(results: Path) -> dict[str, Any]:
    """The record of a results folder; empty where it holds none that is whole."""
    try:
        record = json.loads((results / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    fields = {"key": str, "files": dict, "seconds": (int, float), "parameters": dict}
    whole = isinstance(record, dict) and all(isinstance(record.get(name), kind) for name, kind in fields.items())
    return record if whole else {}


def up_to_date(task: Task) -> bool:
    """True where the results were made under the task's key and each of their files is as it was written.

    Recorded files that cannot be compared, because `TRINITY_DATA` is not set, count as the same.
    """
    record = read_record(task.results)
    if record.get("key") != task.key or (record.get("data") != task.data and not task.needs_data):
        return False
    try:
        return all(file_digest(task.results / name) == value for name, value in record["files"].items())
    except OSError:  # a file that cannot be read is not as it was written
        return False


def finish(task: Task, started: str, seconds: float) -> None:
    """Writes the record into the staged results and puts them in place."""
    record = {
        "key": task.key,
        "data": task.data,
        "profile": task.folder.name,
        "encoder": PROFILES[task.folder.name].encoder,
        "parameters": {name: repr(value) for name, value in task.parameters.items()},
        "started": started,
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "torch": importlib.metadata.version("torch"),
        "files": _digests(sorted(task.staging.rglob("*")), task.staging),
    }
    write_atomic(task.staging / RECORD, json.dumps(record, indent=1) + "\n")
    swap(task.staging, task.results)
    task.failed_copy.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        task.failed_copy.parent.rmdir()  # when it was the last


def give_up(task: Task) -> None:
    """Keeps a failed run's executed copy for reading and drops the rest; earlier results stay as they are."""
    copy = task.staging / task.notebook.path.name
    if copy.exists():
        task.failed_copy.parent.mkdir(exist_ok=True)
        copy.replace(task.failed_copy)
    shutil.rmtree(task.staging, ignore_errors=True)


def swap(staging: Path, final: Path) -> None:
    """Puts a finished folder in the place of the earlier one."""
    earlier = final.with_name(f".{final.name}.earlier")
    if final.exists():
        final.rename(earlier)
    staging.rename(final)  # where a stop comes in between, `recover` mends it
    shutil.rmtree(earlier, ignore_errors=True)


def recover(folder: Path) -> None:
    """Clears what a stopped run left: earlier results go back where nothing took their place, staged ones go away."""
    for earlier in folder.glob(".*.earlier"):
        final = folder / earlier.name[1 : -len(".earlier")]
        if not final.exists():
            earlier.rename(final)
    for left in [*folder.glob(".*.earlier"), *folder.glob(".*.staging")]:
        shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One run at a time in a results folder; NotebookError where it is taken or cannot be written."""
    with contextlib.ExitStack() as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = opened.enter_context(open(folder / ".lock", "w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotebookError(f"another run is writing {folder}; wait for it or choose another with --out") from None
        except OSError as error:
            raise NotebookError(f"cannot write into {folder} ({error.strerror}); choose another with --out") from None
        yield
