"""Which option an answer names: a letter, or the option's whole text.

The last mark counts (`Answer: B`, `\\boxed{B}`, `the answer is (B)`), or a last line that is nothing but a letter or an
option. A letter inside a sentence never counts, nor one that merely begins a word: "So", "A large ...". Where the last
mark names two letters or none, nothing was answered: the text before it was taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from suite.checkers.marks import final_mark, last_line
from suite.checkers.text_answers import normalise

LETTERS = "ABCDEFGHIJ"

_WRAP = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mathsf|operatorname|boxed|fbox|bf|rm)\b\s*|\\[()\[\]]|[{}$*_`\"'#]")
_ALONE = re.compile(r"[\s(\[<]*(?:option|choice|answer)?\s*[(\[<]?\s*([A-Ja-j])\s*[)\]>]?[\s.,:;!)]*", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*(?:option|choice)?\s*[(\[]\s*([A-Ja-j])\s*[)\]]", re.IGNORECASE)
_LABEL = re.compile(r"\s*(?:option|choice)?\s*([A-J])\s*(?:[.):,;–—]|-\s|$|\s(?=\())", re.IGNORECASE)
_SPOKEN = re.compile(r"\s*(?:option|choice)\s+([A-J])\b|\s*([B-HJ])\b|\s*([AI])\b(?=\s+(?:because|since|as)\b)")
_SECOND = re.compile(r"\s*[)\].]?\s*(?:,|/|&|\band\b|\bor\b|\?)+\s*(?:[Oo]ption|[Cc]hoice)?\s*[(\[]?([A-J])(?![\w'])")

_DENIED = re.compile(
    r"\W*(?:\b(?:is|was|looks|seems)\s+(?:\w+\s+)?(?:not|wrong|incorrect|false|impossible)\b|\b(?:isn|wasn|can)\W?t\b)"
)  # on a line whose quotation marks are gone


def _bare(text: str) -> str:
    return _WRAP.sub(" ", text).strip()


def _option(text: str, options: Sequence[str]) -> str | None:
    """The letter of the one option whose whole text this is."""
    wanted = normalise(text)
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if normalise(str(option)) == wanted]
    return same[0] if len(same) == 1 and wanted else None


def _letter(text: str, options: Sequence[str], *, strict: bool) -> str | None:
    """The letter that a marked text names; `strict` (an unmarked line): only a letter or an option, and no more."""
    line = _bare(text)
    letters = LETTERS[: len(options)] if options else LETTERS
    if (match := _ALONE.fullmatch(line)) and (not strict or match.group(1).isupper() or "(" in line):
        letter = match.group(1).upper()
        return letter if letter in letters else None
    for letter, option in zip(letters, options, strict=False):  # an option may itself begin like a label: "A. Lincoln"
        if line.strip(" .").casefold() == str(option).strip(" .").casefold():
            return letter
    match = _BRACKETED.match(line) or _LABEL.match(line) or (None if strict else _SPOKEN.match(line))
    if match is None:
        return _option(line, options)
    letter = next(group for group in match.groups() if group).upper()
    if letter not in letters:
        return _option(line, options)
    if strict:  # "B. 6 volts" in full
        return letter if _option(line[match.end() :], options) == letter else None
    if _DENIED.match(line, match.end(match.lastindex or 0)):
        return None
    second = _SECOND.match(line, match.end(match.lastindex or 0))
    return None if second and second.group(1) != letter else letter


def _names_option(text: str, options: Sequence[str]) -> bool:
    """Whether words after "the answer is" name an option, be it one of two."""
    line = _bare(text)
    labelled = any(pattern.match(line) for pattern in (_BRACKETED, _LABEL, _SPOKEN))
    return labelled or _letter(text, options, strict=False) is not None


def extract(text: str, options: Sequence[str] = ()) -> str | None:
    """The letter that a text answers with (`text` as `marks.shown` gives it), or None."""
    mark = final_mark(text, lambda rest: _names_option(rest, options))
    line = last_line(text)
    alone = _letter(line, options, strict=True)
    if mark is None:
        return alone
    after = text.rfind(line) > mark.start + len(" ".join(mark.values))
    if alone and after:  # a letter on its own line after the last mark
        return alone
    letters = {_letter(value, options, strict=False) for value in mark.values}
    return letters.pop() if len(letters) == 1 else None
