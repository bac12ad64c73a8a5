"""What a notebook's results were made from, whether they are still up to date, and how they come into place.

Each results folder `results/<profile>/NN_name` holds `run.json`: the key of what it was made from and a digest of each
of its files. Nothing is compared by time of change, so a checkout or a copy of the repository reruns nothing by itself.
A notebook on recorded LLMs depends on their files too, which lie outside the repository, in `TRINITY_DATA`: where that
is not set they cannot be compared, and results that were made with them stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from suite.profiles import DATA_FOLDERS, DATA_VARIABLE, PROFILES, RECORDED
from suite.runner.notebook import Notebook, NotebookError, digest, discover
from trinity_core.paths import DATA, ROOT, write_atomic

RECORD = "run.json"
DATA_SUFFIXES = (".json", ".csv")  # of the recorded files in TRINITY_DATA


@dataclass(frozen=True)
class Task:
    """One notebook to run into one results folder."""

    notebook: Notebook
    folder: Path  # results/<profile>
    changed: dict[str, Any]  # the parameters whose values differ from the notebook's own
    key: str  # results made under the same key, and with the same recorded files, are up to date
    reads_data: bool = False  # whether the notebook reads recorded files in this profile
    data: str | None = None  # a digest of these files; None where none are read or TRINITY_DATA is not set

    @property
    def name(self) -> str:
        return self.notebook.name

    @property
    def results(self) -> Path:
        return self.folder / self.name

    @property
    def staging(self) -> Path:
        return self.folder / f".{self.name}.staging"

    @property
    def failed_copy(self) -> Path:
        return self.folder / "failed" / self.notebook.path.name


def make_task(book: Notebook, folder: Path, profile: str, changes: dict[str, Any], inputs: str) -> Task:
    """The task of one notebook in a profile; `inputs` is `inputs_digest()`."""
    parameters = {**book.parameters, **changes, "profile": profile}
    changed = {name: value for name, value in parameters.items() if value != book.parameters[name]}
    values = {name: repr(value) for name, value in parameters.items()}
    key = digest([book.sources, inputs, values, PROFILES[profile].encoder])
    reads = book.own_profile == profile == RECORDED
    return Task(book, folder, changed, key, reads, data_digest() if reads else None)


def inputs_digest() -> str:
    """A digest of what every notebook depends on: trinity_core, data and the list of versions."""
    files = [ROOT / "requirements.txt", *(ROOT / "trinity_core").rglob("*.py"), *(ROOT / "notebooks" / "suite").rglob("*.py"), *DATA.rglob("*")]
    files = sorted(file for file in files if file.is_file() and not file.name.startswith("."))
    return digest([[str(file.relative_to(ROOT)), file_digest(file)] for file in files])


def data_digest() -> str | None:
    """A digest of names and contents of the recorded files in `TRINITY_DATA`; None where that is not set."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    root = Path(os.path.abspath(os.path.expanduser(named)))
    files = sorted(file for folder in DATA_FOLDERS for file in (root / folder).rglob("*") if file.is_file())
    files = [file for file in files if file.suffix.lower() in DATA_SUFFIXES and not file.name.startswith(".")]
    try:
        return digest([[str(file.relative_to(root)), file_digest(file)] for file in files])
    except OSError as error:
        raise NotebookError(f"{DATA_VARIABLE}: cannot read {error.filename} ({error.strerror})") from None


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_record(folder: Path) -> dict[str, Any]:
    """A results folder's record; empty where there is none that can be read and has what is asked of it."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
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
    same_data = record.get("data") == task.data or needs_data(task)
    try:
        return (
            record.get("key") == task.key
            and same_data
            and all(
                (task.results / name).is_file() and file_digest(task.results / name) == value
                for name, value in record["files"].items()
            )
        )
    except OSError:  # a file that cannot be read is not as it was written
        return False


def needs_data(task: Task) -> bool:
    """Whether the results were made with recorded files that are not here now, so that a run could only undo them."""
    return task.reads_data and task.data is None and read_record(task.results).get("data") is not None


UNSEEN = f"made with recorded files that were not compared, because {DATA_VARIABLE} is not set"

GONE = "its notebook is no longer there, so its claims are left out; remove this folder"


def remarks(folder: Path, profile: str) -> dict[str, str]:
    """What a reader of `results/<profile>` has to know: by results folder, why it is not what a run would make now.

    Empty text: it is. Results of other parameters, of an earlier state of the suite, or of a notebook that was renamed
    look like any others, so the report says it beside them.
    """
    books = {book.name: book for book in discover()}
    inputs = inputs_digest()
    said = {}
    for name in sorted(file.parent.name for file in folder.glob("[0-9][0-9]_*/claims.json")):
        record = read_record(folder / name)
        if name not in books:
            said[name] = GONE
            continue
        try:
            task = make_task(books[name], folder, profile, {}, inputs)
        except NotebookError as error:
            said[name] = f"out of date: {error}"
            continue
        own = {key: repr(value) for key, value in {**task.notebook.parameters, "profile": profile}.items()}
        other = [f"{key} = {value}" for key, value in record.get("parameters", {}).items() if own.get(key) != value]
        if up_to_date(task):
            said[name] = UNSEEN if needs_data(task) else ""
        elif other:
            said[name] = f"made with other parameters than the notebook's own: {', '.join(other)}"
        else:
            said[name] = "not what ./run_all.sh would make now: the notebook, the suite or these files changed since"
    return said


def finish(task: Task, started: float, seconds: float) -> None:
    """Writes the record into the staged results and puts them in place; `started` in seconds since 1970."""
    files = sorted(file for file in task.staging.rglob("*") if file.is_file())
    record = {
        "key": task.key,
        "data": task.data,
        "profile": task.folder.name,
        "encoder": PROFILES[task.folder.name].encoder,
        "parameters": {name: repr(value) for name, value in {**task.notebook.parameters, **task.changed}.items()},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "torch": importlib.metadata.version("torch"),
        "files": {str(file.relative_to(task.staging)): file_digest(file) for file in files},
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
    """Puts a finished folder in the place of the earlier one; `recover` mends a kill between the two renames."""
    earlier = final.with_name(f".{final.name}.earlier")
    try:
        if final.exists():
            final.rename(earlier)
        staging.rename(final)
    finally:
        if earlier.exists() and not final.exists():  # a signal's exception came in between
            earlier.rename(final)
    remove(earlier)


def remove(path: Path) -> None:
    """Takes a folder away, or whatever else stands in its place; nothing where there is nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def recover(folder: Path) -> None:
    """Clears what a killed run left: earlier results go back where nothing took their place, staged ones go away."""
    for earlier in folder.glob(".*.earlier"):
        final = folder / earlier.name[1 : -len(".earlier")]
        if final.exists():
            remove(earlier)
        else:
            earlier.rename(final)
    for staging in folder.glob(".*.staging"):
        remove(staging)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One run at a time in a results folder; NotebookError names the process that has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / ".lock", "a+", encoding="utf-8")
    except OSError as error:
        raise NotebookError(f"cannot write into {folder} ({error.strerror}); choose another with --out") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another"
            raise NotebookError(
                f"process {holder} is writing {folder}; wait for it or choose another folder with --out"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
