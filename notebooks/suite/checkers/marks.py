"""Where the final answer stands in an agent's text: the last explicit mark counts, so a late correction wins.

Marks: `\\boxed{...}` (or `\\fbox`), `Answer: ...`, `the answer is ...` (also choice, option), `#### ...`. A box in an
answer's line is read in place of the line. Hidden reasoning (`<think>` blocks) is no part of the text.

Two boxes side by side, with nothing but separators between them (spaces, commas, `and`, `or`), are one answer of
several values: right where the reference has these values, wrong where it has one, since an agent that names two
answers to one question has not answered it. The same box twice is one value; words between two boxes make the last
one a correction of the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from trinity_core.roles import without_thought

READ_CHARACTERS = 20_000  # of a text, from its end: an answer stands at the end, and every check is bounded


@dataclass(frozen=True)
class Mark:
    """A marked answer: the values of a group of boxes, or one line after `Answer:` or `answer is`."""

    start: int
    values: tuple[str, ...]
    boxed: bool


def shown(text: str) -> str:
    """The readable end of a text: no hidden reasoning, blanks of every kind as spaces, no control characters."""
    text = without_thought(text)[-READ_CHARACTERS:]
    if text.isascii() and text.isprintable():
        return text.strip()
    return "".join(c if c == "\n" or c.isprintable() else " " if c.isspace() else "" for c in text).strip()


_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:(\{)|(\S?))")
_JOINT = re.compile(
    r"(?:[\s,;&$]|\\[()\[\],;! \\]|\\q?quad\b|\band\b|\bor\b|\\(?:text|mathrm)\s*\{\s*,?\s*(?:and|or)\s*\}|\*\*)*"
)


def _boxes(text: str) -> list[tuple[int, int, str]]:
    """(start, end, content) of every box, outermost only. A box that never closes has the content ''."""
    found: list[tuple[int, int, str]] = []
    end = 0
    for match in _BOX.finditer(text):
        if match.start() < end:
            continue
        if match.group(1) is None:  # \boxed 7
            end = match.end()
            found.append((match.start(), end, match.group(2)))
            continue
        depth, position = 1, match.end()
        while depth and position < len(text):
            character = text[position]
            position += 2 if character == "\\" else 1
            depth += (character == "{") - (character == "}")
        end = min(position, len(text))
        found.append((match.start(), end, "" if depth else text[match.end() : end - 1].strip()))
    return found


def last_box(text: str) -> Mark | None:
    """The last box with its neighbours (see the module's rule on two boxes)."""
    boxes = _boxes(text)
    if not boxes:
        return None
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if not _JOINT.fullmatch(text, box[1], group[0][0]):
            break
        group.insert(0, box)
    values = tuple(dict.fromkeys(content for _, _, content in group))
    return Mark(group[0][0], values, boxed=True)


_DECOR = r"[\s*_`\"']{0,6}"
_PHRASE = re.compile(  # a group is a sign that an answer follows, whatever it looks like
    rf"\b(?:answers?|choice|option)\b(?:\s(?:to|for|of)\s[^.:\n]{{1,60}}?)?{_DECOR}(?:"
    rf"\b(?:is|are|would\s+be|should\s+be|must\s+be|will\s+be)\b{_DECOR}"
    r"(?:(?:actually|therefore|thus|then|indeed|now|simply)\s+)?([:=\uff1a])?"
    r"|([:=\uff1a]))(?!\s*(?:not|n't)\b)|(?:^|\n)\s*(####)",
    re.IGNORECASE,
)


def _rest(text: str, start: int) -> str:
    """The rest of the line; where that is empty (but for decoration), the next line that is not."""
    for line in text[start:].split("\n", 4)[:4]:
        if line.strip(" *_`:$\\[("):
            return line.strip()
    return ""


def final_mark(text: str, said: Callable[[str], bool]) -> Mark | None:
    """The last mark of a text as `shown` gives it, or None.

    `said` tells whether the rest of a line, after words such as "the answer is", is an answer of the wanted kind:
    "correct" is not.
    """
    box = last_box(text)
    for match in reversed(list(_PHRASE.finditer(text))):
        if box and match.start() < box.start:
            break
        rest = _rest(text, match.end())
        if match.lastindex or said(rest):
            return Mark(match.start(), (rest,), boxed=False)
    return box


_DENIED = re.compile(
    r"[^\d\\$=(]{0,80}?(?:\b(?:not|never|cannot|anything\s+but|other\s+than)\b|n['\u2019]t\b)"
    r"|[^,;]*\b(?:is|was|looks|seems)\s+(?:\w+\s+)?(?:wrong|incorrect|false|impossible"
    r"|not\s+(?:right|correct|true|it))\W*$",
    re.IGNORECASE,
)


def denied(line: str) -> bool:
    """Whether a line names its value only to deny it: "not 7", "7 is wrong". "7, not 8" states 7."""
    return _DENIED.match(line) is not None


def last_line(text: str) -> str:
    """The last line that holds more than decoration."""
    for line in reversed(text.split("\n")):
        if re.search(r"[\w∅∞]", line):
            return line.strip()
    return ""
