"""What commands have in common: how they end, and the kinds of values that they take or refuse at once."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


def run_command(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the command's status; with 0 where the reader of its output (`| head`) had enough, and
    with 130 and one line after Ctrl-C."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        status = 0
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        status = 128 + signal.SIGINT
    sys.exit(status)


def from_0(text: str) -> int:
    """An argparse type: a whole number from 0 on."""
    return _whole(text, 0)


def from_1(text: str) -> int:
    """An argparse type: a whole number from 1 on."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from {least} on; give {least} or more")
    return int(text)


def output_folder(text: str) -> Path:
    """An argparse type: a folder to write into, refused before hours go into what could then not be written."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is empty; name a folder")
    there = _what_is_there(text)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"{text!r}: {there} is not a folder that can be written; name another")
    return Path(text).expanduser()


def output_file(text: str) -> Path:
    """An argparse type: a file to write, refused as early as a folder; one that is there is written over."""
    file = Path(text).expanduser()
    if _what_is_there(text) == file.absolute() and not file.is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a file; give one, such as out.json")
    output_folder(str(file.absolute().parent))
    return file


def _what_is_there(text: str) -> Path:
    """The path itself or the nearest folder above it that exists."""
    path = Path(text).expanduser().absolute()
    try:
        return next(place for place in (path, *path.parents) if place.exists())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text[:80]!r}: {error}") from None
