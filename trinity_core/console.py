"""What the commands `python -m trinity_core....` have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn


def run_command(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the command's status; with 0 where the reader of its output (`| head`) had enough."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        status = 0
    sys.exit(status)
