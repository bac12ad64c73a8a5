"""How far encoding is: a bar in tokens where somebody watches, else a plain line every half minute."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import Any

BAR_FROM = 3000  # tokens: about five seconds, below which a bar only flickers
LINES_FROM = 30000  # tokens: about half a minute, below which a log gets no line
EVERY = 30.0  # seconds between two plain lines


def progress(tokens: int, description: str) -> Any:
    """A context whose `update(n)` counts tokens, shown on standard error: a bar on a terminal and in JupyterLab, gone
    when done; plain lines in a log. Nothing for work of a few seconds, or with TQDM_DISABLE=1."""
    from tqdm import tqdm

    watched = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")

    class Bar(tqdm):
        @property
        def format_dict(self) -> dict[str, Any]:
            values = super().format_dict
            return {**values, "left": f"{values['total'] - values['n']:,}"}

        def display(self, *arguments: Any, **settings: Any) -> Any:
            if watched:
                return super().display(*arguments, **settings)
            print(self, file=sys.stderr, flush=True)

    form = "{desc}: {percentage:3.0f}%|{bar}| {left} tokens left [{elapsed}<{remaining}, {rate_fmt}]"
    columns, lines = shutil.get_terminal_size()  # never 0 by 0, where tqdm's own measure shows nothing
    settings = {"bar_format": form, "leave": False, "ncols": columns - 1, "nrows": lines, "mininterval": 0.5}
    if not watched:  # what tqdm writes beside `display` is no line
        settings = {"bar_format": form.replace("|{bar}|", ","), "file": io.StringIO(), "mininterval": EVERY}
    # Whether it is switched off is said here: tqdm takes its default from the environment that it was imported in.
    off = os.environ.get("TQDM_DISABLE", "0") not in ("", "0") or tokens < (BAR_FROM if watched else LINES_FROM)
    return Bar(total=tokens, desc=description, unit="tok", disable=off, maxinterval=EVERY, **settings)
