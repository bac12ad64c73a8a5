"""Rows of a benchmark's file (JSON lines, CSV, Parquet), and the file itself from the model hub.

The hub is asked through `huggingface_hub`, one file at a time at a fixed revision: the `datasets` package would be
heavier and can run a repository's own loading script. Parquet is read with `pyarrow`, which three of the eight need.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pyarrow
from pyarrow import parquet

from suite.benchmarks.catalogue import BENCHMARKS
from trinity_core.types import DataError

# (place in the file, the row); or (place, what is wrong there)
Rows = Iterator[tuple[str, "dict[str, Any] | str"]]


class HubError(OSError):
    """A benchmark's file could not be had from the hub; the message names it and how to go on without."""


def fetch(name: str, split: str) -> Path:
    """The published file of the benchmark's split in the hub's local cache, downloaded when it is not there.

    HubError where it cannot be had; DataError for a split that is not published.
    """
    benchmark = BENCHMARKS[name]
    if split not in benchmark.files:
        raise DataError(
            f"{benchmark.title} publishes no split {split!r}, only {', '.join(benchmark.files)}; "
            f"give a file of your own with path= (--path)"
        )
    repository, revision, file = benchmark.files[split]
    more = {"repo_type": benchmark.kind, "revision": revision, "etag_timeout": 10}
    try:
        return Path(huggingface_hub.hf_hub_download(repository, file, **more))
    except Exception as error:  # network, consent, disk: whatever it is, the way out is the same
        consent = " It is gated: accept its terms on the hub and set HF_TOKEN." if benchmark.gated else ""
        raise HubError(
            f"cannot fetch {file} of the {benchmark.kind} {repository} (revision {revision}) from the hub: "
            f"{type(error).__name__}: {(str(error).strip() or '-').splitlines()[0].rstrip('.')}.{consent} "
            f"Without network, download the file elsewhere and name it with path= (--path FILE)"
        ) from error


def read_rows(path: Path) -> Rows:
    """The file's rows one after another, by its suffix; a row that cannot be read comes as a text that says why.

    FileNotFoundError for no file, DataError for a file that cannot be read at all.
    """
    if path.suffix.lower() not in READERS:
        raise DataError(f"{path.name}: unknown suffix {path.suffix!r}; files are {', '.join(READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}; name the benchmark's file")
    return READERS[path.suffix.lower()](path)


def _json_lines(path: Path) -> Rows:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                row = f"not JSON ({error})"
            else:
                row = row if isinstance(row, dict) else f"a row is an object of named fields, not {str(row)[:60]!r}"
            yield f"line {number}", row


def _csv(path: Path) -> Rows:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            for row in reader:
                whole = None not in row and None not in row.values()
                # the line where the row ends: a quoted field may hold line breaks
                yield f"line {reader.line_num}", row if whole else "the row has more or fewer fields than the header"
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{path.name}, after line {reader.line_num}: not CSV ({error})") from None


def _parquet(path: Path) -> Rows:
    try:
        batches = parquet.ParquetFile(path).iter_batches(batch_size=64)
        rows = (row for batch in batches for row in batch.to_pylist())
        yield from ((f"row {number}", row) for number, row in enumerate(rows, 1))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is no Parquet file ({str(error).splitlines()[0]})") from None


READERS: dict[str, Callable[[Path], Rows]] = {".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}
