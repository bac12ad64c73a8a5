"""How far encoding is: a bar where somebody watches, plain lines in a log, nothing where it would disturb."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from trinity_core import progress as module
from trinity_core.progress import PlainLines, progress


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
        if hasattr(bar, "refresh"):
            bar.refresh()
    return stream.getvalue()


def test_a_terminal_gets_a_bar_with_the_tokens_left(monkeypatch):
    text = written(monkeypatch, Terminal(), 8000)
    assert "6,000 tokens left" in text and "25%" in text and text.endswith("\r")
    assert written(monkeypatch, Terminal(), module.BAR_FROM - 1) == ""


def test_a_log_gets_plain_lines_for_long_work_alone(monkeypatch):
    text = written(monkeypatch, io.StringIO(), module.LINES_FROM)
    assert text.splitlines() == ["encoding: 30,000 tokens", "encoding: done in 0 s"]
    assert written(monkeypatch, io.StringIO(), module.LINES_FROM - 1) == ""


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_who_switches_bars_off_gets_none(monkeypatch, stream):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert written(monkeypatch, stream(), 10**6) == ""


def test_lines_come_every_half_minute_and_say_what_is_left(capsys):
    now = [0.0]
    with PlainLines(1_000_000, "encoding", lambda: now[0]) as lines:
        for _ in range(8):
            now[0] += 12
            lines.update(10_000)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "encoding: 1,000,000 tokens",
        "encoding: 970,000 tokens left, about 19 min",
        "encoding: 940,000 tokens left, about 19 min",
        "encoding: done in 2 min",
    ]


def test_broken_off_work_is_not_called_done(capsys):
    with pytest.raises(KeyboardInterrupt), PlainLines(50_000, "encoding"):
        raise KeyboardInterrupt
    assert "done" not in capsys.readouterr().err


def test_a_terminal_that_does_not_know_its_width_gets_a_bar_too():
    import pty

    program = (
        "from trinity_core.progress import progress\n"
        "with progress(8000, 'encoding') as bar:\n"
        "    bar.update(2000)\n"
        "    bar.refresh()\n"
    )
    ours, theirs = pty.openpty()  # of 0 columns
    done = subprocess.run([sys.executable, "-c", program], stderr=theirs, env=os.environ, timeout=60, check=True)
    text = os.read(ours, 10**5).decode()
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0 and "6,000 tokens left" in text
