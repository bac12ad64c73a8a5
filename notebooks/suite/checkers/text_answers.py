"""Short free-form answers: a name, a word, yes or no, a weekday, a time of day, a number with a unit, a list of these.

The answer is the last mark's (see `marks`), else the last line, as a whole: containing the reference is not enough.
- `Answer: ...` and boxes come before the words "the answer is", which may go on with anything ("... is correct").
- Case, accents' encoding, punctuation, hyphens, outer quotes, markdown and the articles a, an, the do not count; nor do
  a closing remark in brackets, or `it is`, `on`, `at` before the answer.
- Number words up to ninety-nine are numbers. Integers compare exactly, other numbers to one part in 100,000.
- Units convert where both sides name one of `quantities`' table; a word after a number counts for nothing where the
  reference gives none, and must be the same word where neither is in the table.
- yes and true, no and false are the same answers; a remark may follow after a comma unless it says the opposite.
- An answer may shorten weekdays and months to three letters; `8:15`, `08:15` and `8:15 am` are one time.
- A reference with commas is a list in its order; the answer may use commas, semicolons, arrows, `then` or `and`.
"""

from __future__ import annotations

import re
from fractions import Fraction

from suite.checkers.marks import final_mark, last_line
from suite.checkers.quantities import number, plain_unicode, unit_of

TOLERANCE = Fraction(1, 100_000)

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
_ONES += ["sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {f"{ten} {_ONES[one]}": 10 * n + one for n, ten in enumerate(_TENS, 2) for one in range(1, 10)}
_WORDS |= {word: value for value, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b")
_LONG = "monday tuesday wednesday thursday friday saturday sunday january february march april june july august".split()
_LONG += ["september", "october", "november", "december"]
_SHORT = {word[:3]: word for word in _LONG} | {"tues": "tuesday", "thurs": "thursday", "sept": "september"}
_TRUTH = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_LEAD = re.compile(r"(?:it is|it's|its|on|at|the answer is|the letter|facing)\s+(?=\S)")
_TIME = re.compile(r"(\d{1,2})[:.](\d{2})(?:[:.]00)?\s*(?:([ap])\.?\s?m\.?|h|uhr|o'clock)?")
_LATEX_WORDS = re.compile(r"\\(?:text|mathrm|textbf|textit|mathbf|boxed|operatorname)\b\s*|\\[()\[\]]|[{}]")


def normalise(text: str) -> str:
    """One spelling of a short text (see the module)."""
    text = _LATEX_WORDS.sub(" ", plain_unicode(text)) if "\\" in text or not text.isascii() else text
    text = re.sub(r"[*_`$\"]|(?<!\w)['#]|'(?!\w)", " ", text).casefold()
    text = re.sub(r"(?<=[^\W\d])-(?=[^\W\d])", " ", text)
    text = re.sub(r"(?<!\d)[,:;!?()\[\]]|[.,:;!?()\[\]](?!\d)", " ", text)
    text = " ".join(text.split())
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    words = text.split()
    kept = [word for word in words if word not in ("a", "an", "the")] or words
    return _NUMBER_WORD.sub(lambda m: str(_WORDS[m.group()]), " ".join(kept))


def _quantity(text: str) -> tuple[Fraction, str, bool] | None:
    """(value, what follows, whether it is a plain integer) of a text that begins with a number."""
    text = re.sub(r"\\?%|\bper ?cent\b", "%", text.strip())
    if value := number(text):
        return value.value, "", value.value.denominator == 1
    match = re.fullmatch(r"(.*[\d}])\s*(%|[^\W\d_][^\d]*(?:\^?\s?[23])?)", text, re.DOTALL)
    if match and (value := number(match.group(1))):
        return value.value, match.group(2).strip(), value.value.denominator == 1
    return None


def _minutes(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, half = int(match.group(1)), int(match.group(2)), match.group(3)
    if hour > 24 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour % 24 * 60 + minute


_NO_UNIT = re.compile(r"\b(?:not|or|and|nor|but|than|over|under|about)\b|[,;]")


def _same_quantity(reference: str, answer: str) -> bool | None:
    a, b = _quantity(reference), _quantity(answer)
    if a is None or b is None:
        return None
    (left, words_a, whole_a), (right, words_b, whole_b) = a, b
    if words_a == words_b or not words_a or not words_b:
        words = words_a or words_b
        if words_a != words_b and (len(words.split()) > 3 or _NO_UNIT.search(words) or words == "%"):
            return False
    else:
        unit_a, unit_b = unit_of(words_a), unit_of(words_b)
        if unit_a is None or unit_b is None:
            if normalise(words_a).rstrip("s") != normalise(words_b).rstrip("s"):
                return False
        elif unit_a[0] != unit_b[0]:
            return False
        else:
            if unit_a[1] != unit_b[1]:
                whole_a = False
            left, right = left * unit_a[1], right * unit_b[1]
    if left == right:
        return True
    return not (whole_a and whole_b) and abs(left - right) <= TOLERANCE * abs(left)


def _same_one(reference: str, answer: str) -> bool:
    a, b = normalise(reference), normalise(answer)
    if not b:
        return False
    if a == b or _SHORT.get(b) == a:
        return True
    if a in _TRUTH:
        if b in _TRUTH:
            return _TRUTH[a] == _TRUTH[b]
        first = re.match(r"[\s*_]*(yes|no|true|false)[*_]*\s*[,.;:!–—-]", plain_unicode(answer).casefold())
        against = {"yes": r"\b(?:no|not|false)\b|n't", "no": r"\b(?:yes|true)\b"}[_TRUTH[a]]
        return bool(first and _TRUTH[first.group(1)] == _TRUTH[a] and not re.search(against, b))
    times = _minutes(a), _minutes(b)
    if None not in times and (":" in a or ":" in b):
        return times[0] == times[1]
    for left, right in ((_as_written(reference), _as_written(answer)), (a, b)):
        found = _same_quantity(left, right)
        if found is not None:
            return found
    return False


def _as_written(text: str) -> str:
    """Without outer decoration, but with the signs and hyphens that `normalise` takes out."""
    return _LEAD.sub("", plain_unicode(text).strip(" *_`$\"'").rstrip(" .*_`$\"'").casefold())


_LIST = re.compile(r"\s*(?:,|;|->|→|>|\bthen\b|\band\b)\s*")


def _items(text: str) -> list[str]:
    return [part for part in _LIST.split(text.replace("\\rightarrow", ",").replace("\\to", ",")) if part.strip(" .")]


def same(reference: str, answer: str) -> bool:
    """Whether an answer, cut out of its text, says what the reference says."""
    tries = [answer]
    if (cut := re.sub(r"\s*\([^()]*\)[\s.]*$", "", answer)) != answer:
        tries.append(cut)
    if cut := re.match(r"(.+?)\.\s+(?=[A-Z])", answer):  # the line's first sentence
        tries.append(cut.group(1))
    if "=" in answer and "=" not in reference:
        tries.append(answer.rsplit("=", 1)[1])
    for text in tries:
        if _same_one(reference, text):
            return True
        if "," in reference and number(reference.strip()) is None:
            wanted, given = _items(reference.strip(" []()")), _items(text.strip(" .[]()*"))
            if len(wanted) == len(given) > 1 and all(map(_same_one, wanted, given)):
                return True
    return False


def extract(text: str) -> str | None:
    """The stated answer of a text (as `marks.shown` gives it), or None."""
    mark = final_mark(text, lambda rest: False) or final_mark(text, lambda rest: True)
    if mark is None:
        return last_line(text) or None
    found = ", ".join(mark.values)
    if not mark.boxed and (box := re.search(r"\\boxed\s*\{", found)):
        found = found[box.end() :].split("}", 1)[0]
    return found.strip() or None
