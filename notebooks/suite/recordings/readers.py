"""A recorded file in any of the three formats, recognised by what it holds: `json_reader`, `csv_reader`."""

from __future__ import annotations

from pathlib import Path

from suite.recordings.csv_reader import read_table
from suite.recordings.entries import Entry, RecordedError, Recording, shown
from suite.recordings.json_reader import read_routerdc

__all__ = ["SUFFIXES", "Entry", "RecordedError", "Recording", "read_recording"]

SUFFIXES = (".json", ".csv")
PACKED = (b"\x1f\x8b", b"PK\x03\x04")  # how gzip and zip begin


def read_recording(path: str | Path) -> Recording:
    """The file's LLMs and entries. Nothing is guessed or mended: RecordedError for whatever is wrong."""
    path = Path(path)
    text = _text_of(path)
    start = text.lstrip(" \t\r\n")[:1]
    if not text.strip():
        raise RecordedError(f"{path} is empty; give a file of recorded scores")
    if start in "[{":
        recording = read_routerdc(path, text)
    elif path.suffix.lower() == ".json":
        raise RecordedError(
            f"{path}, line 1: begins with {start!r}; a RouterDC file is a JSON list, which begins with ["
        )
    else:
        recording = read_table(path, text)
    if not recording.entries:
        raise RecordedError(f"{path} holds no questions; give a file with at least one")
    return recording


def _text_of(path: Path) -> str:
    try:
        if path.is_dir():
            raise RecordedError(f"{path} is a folder; name a file in it")
        if not path.exists():
            raise RecordedError(f"there is no file {path}; data/README.md says where recorded files are published")
        if not path.is_file():
            raise RecordedError(f"{path} is no regular file; save what it gives to a file and name that")
        data = path.read_bytes()
    except RecordedError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordedError(f"{shown(str(path))} cannot be read ({reason}); name a file that can") from None
    if data.startswith(PACKED):
        raise RecordedError(f"{path} is packed (gzip or zip); unpack it and name what is inside")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x}"
        raise RecordedError(f"{path}, line {line}: {byte} is not UTF-8 text; save the file as UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RecordedError(f"{path}, line {line}: holds a zero byte, so it is no text; give a JSON or CSV file")
    return text.replace("\r\n", "\n")  # also within a cell: the texts are the same whatever ends the file's lines
