"""What the commands `python -m trinity_core....` have in common.

`python -m suite.console MODULE ARGUMENTS` runs one of them for another process and ends with it.
"""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import sys
import threading
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


def output_folder(text: str) -> Path:
    """An argparse type: a folder to write into, refused before hours go into what could then not be written."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is empty; name a folder")
    folder = Path(text).expanduser()
    try:
        there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text[:80]}: {error.strerror}") from None
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is not a folder; name another")
    if not os.access(there, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"{there} cannot be written; name another")
    return folder


def end_with_parent() -> None:
    """From now on SIGTERM comes when standard input closes: it is a pipe that the parent holds, however that ends."""

    def wait() -> None:
        while os.read(0, 4096):  # not sys.stdin: a thread inside it would hold its lock when the process ends
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
