"""Numbers, exactly: one literal and its unit, percent sign or base, as a fraction and never as a float.

A decimal is the fraction that it spells, so 10^-20 and 2*10^-20 differ as plainly as 1 and 2 do.

| literal | value |
| --- | --- |
| `12`, `1,234`, `10 000`, `-7.50`, `.5`, `3e-5`, `2.5*10^-3`, `2\\times 10^{4}` | itself |
| `3/10`, `\\frac{3}{10}`, `\\frac3{10}` | a fraction |
| `3 1/2`, `3\\frac{1}{2}` (a proper fraction after an integer) | a mixed number |
| `0.\\overline{3}` | a repeating decimal |

`4 10/3` is none of these: it has no value rather than a part of one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import yaml

LONGEST_LITERAL = 400  # characters; int() takes no more than 4,300 digits, and nobody answers with more than this
FINE_DIGITS = 6  # significant digits from which a decimal may stand for 1/3
LARGEST_EXPONENT = 2000  # of ten in scientific notation; beyond it the symbolic checker decides

VULGAR = {c: unicodedata.normalize("NFKC", c).replace("\u2044", "/") for c in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
UNICODE = str.maketrans({
    **dict.fromkeys("−–‐‑‒﹣－", "-"), **dict.fromkeys("‘’ʼ`´", "'"), **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("÷⁄∕", "/"), **dict.fromkeys("·⋅", "\\cdot "), "×": "\\times ", "π": "\\pi ", "∞": "\\infty ",
    "√": "\\sqrt ", "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "±": "\\pm ", "∪": "\\cup ",
    "∩": "\\cap ", "∈": "\\in ", "∅": "\\emptyset ", "°": "^\\circ ", "θ": "\\theta ",
})  # fmt: skip


def plain_unicode(text: str) -> str:
    """One spelling for signs that Unicode has several of; fractions and superscripts stay what they mean."""
    if text.isascii():
        return text
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda m: "^{" + m.group().translate(SUPERSCRIPT) + "}", text)
    text = re.sub("[" + "".join(VULGAR) + "]", lambda m: f" {VULGAR[m.group()]}", text)
    return unicodedata.normalize("NFKC", text.translate(UNICODE))


_TABLE = yaml.safe_load(Path(__file__).with_name("units.yaml").read_text(encoding="utf-8"))
UNITS: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(size))
    for dimension, units in _TABLE.items()
    for unit, (size, *more) in units.items()
    for name in (unit, *more)
}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}


@lru_cache(maxsize=1024)
def unit_of(words: str) -> tuple[str, Fraction] | None:
    """(dimension, size) of a unit's name, also squared, cubed or in the plural; None: not in the table."""
    name = re.sub(r"\\(?:text|mathrm|rm)\b|[{}\\.]", " ", words)
    name = re.sub(r"\s+", " ", name).strip()
    power = 1
    if match := re.fullmatch(r"(.+?)\s?\^?\s?([23])", name):
        name, power = match.group(1).strip(), int(match.group(2))
    if (first := name.split(" ", 1))[0].lower() in _POWERS and len(first) == 2:
        name, power = first[1], _POWERS[first[0].lower()]
    low = name if len(name) == 1 and name != "L" else name.lower()  # "M" or "S" alone is no metre and no second
    found = UNITS.get(low) or (UNITS.get(low[:-1]) if len(low) > 3 and low.endswith("s") else None)
    if found is None:
        return None
    return (found[0] if power == 1 else f"{found[0]}^{power}"), found[1] ** power


@dataclass(frozen=True)
class Number:
    """A literal's exact value; `places` of a decimal, and whether it is `fine`: with digits enough to stand for a value
    that no decimal can spell."""

    value: Fraction
    places: int = 0
    fine: bool = False


_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d/])")
_INTEGER = r"[+-]?\s*\d+"
_DECIMAL = r"[+-]?\s*(?:\d+\.\d*|\.\d+|\d+)"
_PLAIN = re.compile(_DECIMAL)
_REPEATING = re.compile(r"([+-]?)\s*(\d*)\.(\d*)\\(?:overline|bar)\s*\{?(\d+)\}?")
_SCIENTIFIC = re.compile(
    rf"({_DECIMAL})\s*(?:[eE]|(?:\*|\\times|\\cdot|x)\s*10\s*(?:\^|\*\*)\s*)[{{(]?\s*([+-]?\s*\d+)\s*[}})]?"
)
_FRACTION = re.compile(rf"({_DECIMAL})\s*/\s*({_DECIMAL})")
_FRAC = re.compile(r"\s*\\frac\s*(?:\{\s*([+-]?[\d.]+)\s*\}|(\d))\s*(?:\{\s*([+-]?[\d.]+)\s*\}|(\d))$")
_MIXED = re.compile(r"([+-]?)\s*(\d+)(?:\s+|\s+and\s+|-)(\d+)\s*/\s*(\d+)")


def _decimal(text: str, shift: int = 0) -> Number:
    text = text.replace(" ", "")
    value = Fraction(text + "0" if text.endswith(".") else text) * Fraction(10) ** shift
    whole, _, part = text.lstrip("+-").partition(".")
    places = len(part) - shift
    fine = places > 0 and part.strip("0") != "" and len((whole + part).strip("0")) >= FINE_DIGITS
    return Number(value, places, fine)


def number(text: str) -> Number | None:
    """The value of a text that is one literal (see the table), else None."""
    text = text.strip()
    if not text or len(text) > LONGEST_LITERAL or not re.search(r"\d", text):
        return None
    if _PLAIN.fullmatch(text):  # the common case
        return _decimal(text)
    text = _FRAC.sub(lambda m: f" {m[1] or m[2]}/{m[3] or m[4]}", text).strip()
    text = re.sub(r"^([+-]?)\s*(10\s*(?:\^|\*\*))", r"\g<1>1*\2", text)  # 10^-3 as 1*10^-3
    if _GROUPED.search(text):
        text = _GROUPED.sub(lambda m: re.sub(r"[, ]", "", m.group()), text)
        if _PLAIN.fullmatch(text):
            return _decimal(text)
    if match := _FRACTION.fullmatch(text):
        try:
            return Number(Fraction(match[1].replace(" ", "")) / Fraction(match[2].replace(" ", "")))
        except (ValueError, ZeroDivisionError):
            return None
    if match := _MIXED.fullmatch(text):
        sign, whole, top, bottom = match.groups()
        if int(top) >= int(bottom):
            return None
        value = int(whole) + Fraction(int(top), int(bottom))
        return Number(-value if sign == "-" else value)
    if match := _SCIENTIFIC.fullmatch(text):
        exponent = int(match.group(2).replace(" ", ""))
        return None if abs(exponent) > LARGEST_EXPONENT else _decimal(match.group(1), exponent)
    if match := _REPEATING.fullmatch(text):
        sign, whole, head, tail = match.groups()
        period = Fraction(int(tail), (10 ** len(tail) - 1) * 10 ** len(head))
        value = Fraction(int(whole or "0")) + Fraction(int(head or "0"), 10 ** len(head)) + period
        return Number(-value if sign == "-" else value)
    return None


def rounds_to(exact: Fraction, decimal: Number) -> bool:
    """Whether a fine decimal is the right rounding of a value that no decimal can spell: 0.333333 is 1/3; 0.33 is not.

    A value that a decimal does spell (1/8, 1/2^60: its denominator divides a power of ten) must be given exactly.
    """
    if not decimal.fine or 10 ** exact.denominator.bit_length() % exact.denominator == 0:
        return False
    return abs(exact - decimal.value) * 2 <= Fraction(1, 10**decimal.places)
