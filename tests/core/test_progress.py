"""How far encoding is: a bar where somebody watches, plain lines in a log, nothing where it would disturb."""

from __future__ import annotations

import io
import os
import sys

import pytest

from trinity_core import progress as module
from trinity_core.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE")  # conftest's


def written(monkeypatch, stream, tokens: int) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(tokens, "encoding") as bar:
        bar.update(tokens // 4)
        if stream.isatty():
            bar.refresh()
    return stream.getvalue()


def test_a_terminal_gets_a_bar_with_the_tokens_left(monkeypatch):
    text = written(monkeypatch, Terminal(), 8000)
    assert "2.00k/8.00k" in text and "25%" in text and text.endswith("\r")
    assert written(monkeypatch, Terminal(), module.BAR_FROM - 1) == ""


def test_a_log_gets_plain_lines_for_long_work_alone(monkeypatch):
    text = written(monkeypatch, io.StringIO(), module.LINES_FROM)
    first, last = filter(None, text.splitlines())
    assert "0.00/30.0k" in first and "7.50k/30.0k" in last, "the first and the last, else one every half minute"
    assert written(monkeypatch, io.StringIO(), module.LINES_FROM - 1) == ""
    monkeypatch.setattr(module, "EVERY", 1e-9)
    assert len([line for line in written(monkeypatch, io.StringIO(), module.LINES_FROM).splitlines() if line]) == 3


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_who_switches_bars_off_gets_none(monkeypatch, stream):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert written(monkeypatch, stream(), 10**6) == ""


def test_a_terminal_that_does_not_know_its_width_gets_a_bar_too(monkeypatch):
    import pty

    ours, theirs = pty.openpty()  # of 0 columns
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress(8000, "encoding") as bar:
            bar.update(2000)
            bar.refresh()
        assert "2.00k/8.00k" in os.read(ours, 10**5).decode()
    os.close(ours)
