"""How far encoding is: a bar in tokens where somebody watches, else a plain line every half minute."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

BAR_FROM = 3000  # tokens: about five seconds, below which a bar only flickers
LINES_FROM = 30000  # tokens: about half a minute, below which a log gets no line
EVERY = 30.0  # seconds between two plain lines


def progress(tokens: int, description: str) -> Any:
    """A context whose `update(n)` counts tokens, shown on standard error: a bar on a terminal and in JupyterLab, gone
    when done; plain lines in a log. Nothing for work of a few seconds, or with TQDM_DISABLE=1."""
    from tqdm import tqdm

    class Bar(tqdm):
        @property
        def format_dict(self) -> dict[str, Any]:
            values = super().format_dict
            return {**values, "left": f"{values['total'] - values['n']:,}"}

    watched = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
    wanted = os.environ.get("TQDM_DISABLE", "0") in ("", "0")
    if wanted and not watched and tokens >= LINES_FROM:
        return PlainLines(tokens, description)
    form = "{desc}: {percentage:3.0f}%|{bar}| {left} tokens left [{elapsed}<{remaining}, {rate_fmt}]"
    # Said either way: tqdm takes its default from the environment that it was imported in.
    shown = wanted and watched and tokens >= BAR_FROM
    columns, lines = shutil.get_terminal_size()  # never 0 by 0, where tqdm's own measure shows nothing
    shape = {"bar_format": form, "ncols": columns - 1, "nrows": lines}
    return Bar(total=tokens, desc=description, unit="tok", leave=False, mininterval=0.5, **shape, disable=not shown)


class PlainLines:
    """What a log gets: how much there is, how much is left, how long it took."""

    def __init__(self, tokens: int, description: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.left, self.tokens, self.description, self.clock = tokens, tokens, description, clock

    def __enter__(self) -> PlainLines:
        self.began = self.said = self.clock()
        self._say(f"{self.tokens:,} tokens")
        return self

    def update(self, tokens: int) -> None:
        """So many more are done."""
        self.left -= tokens
        now = self.clock()
        if self.left > 0 and now - self.said >= EVERY:
            self.said = now
            seconds = (now - self.began) * self.left / max(1, self.tokens - self.left)
            self._say(f"{self.left:,} tokens left, about {_minutes(seconds)}")

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._say(f"done in {_minutes(self.clock() - self.began)}")

    def _say(self, words: str) -> None:
        print(f"{self.description}: {words}", file=sys.stderr, flush=True)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
