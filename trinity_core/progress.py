"""How far encoding is: a bar in tokens where somebody watches, else a plain line every half minute."""

from __future__ import annotations

import os
import shutil
import sys
from types import SimpleNamespace
from typing import Any

BAR_FROM = 3000  # tokens: about five seconds, below which a bar only flickers
LINES_FROM = 30000  # tokens: about half a minute, below which a log gets no line
EVERY = 30.0  # seconds between two plain lines


def progress(tokens: int, description: str) -> Any:
    """A context whose `update(n)` counts tokens, shown on standard error: a bar on a terminal and in JupyterLab, gone
    when done; plain lines in a log. Nothing for work of a few seconds, or with TQDM_DISABLE=1."""
    from tqdm import tqdm

    error, (columns, lines) = sys.stderr, shutil.get_terminal_size()  # never 0 by 0, where a bar would not show
    watched = error.isatty() or type(error).__module__.startswith("ipykernel")
    # Whether it is switched off is said here: tqdm takes its default from the environment that it was imported in.
    off = os.environ.get("TQDM_DISABLE", "0") not in ("", "0") or tokens < (BAR_FROM if watched else LINES_FROM)
    log = SimpleNamespace(write=lambda text: error.write(text.replace("\r", "\n")), flush=error.flush)
    shape = {"ncols": columns - 1, "nrows": lines, "leave": not watched, "file": error if watched else log}
    every = {"mininterval": 0.5 if watched else EVERY, "maxinterval": EVERY, "unit_scale": True}
    return tqdm(total=tokens, desc=description, unit="tok", disable=off, **shape, **every)
