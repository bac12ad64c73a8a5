"""Mathematical answers: what a text states, and whether it states what the reference states.

The outer structure is read here: lists and sets (any order), tuples and intervals (order and brackets count), unions,
`x = ...`, inequalities, percents, units, bases. What is left are single expressions. Literals are compared as exact
fractions at once; anything else goes to `symbolic.equal`, which asks math-verify's parser and sympy in a process of its
own.

Rules for what the conventions leave open, each with a test:
- several values: `7 and 11`, `7, 11`, `x = 7 or x = 11`, `\\pm 3`, `\\{7, 11\\}` are sets: order and repeats do not
  count, and every value must be there. Against such a list `(11, 7)` is right too; `\\{7, 11\\}` and `(7, 11)` differ;
- `(1, 2)`, `[1, 2)` count in order and with their brackets. Bare `1, 2` or `x = 1, y = 2` in that order answers (1, 2);
- a percent sign in the reference: 31 %, 31 and 0.31 are right (case 4). None in the reference: 31 % means 0.31, and it
  is also right against a number over 1, as the answer to "what percent";
- a unit counts only where both sides name one that the table in `quantities` knows; then it is converted;
- `3:00` is a time and equals only itself, `2:3` is the ratio 2/3; terms left open by dots equal only the same dots;
- `42_7` equals the same digits in the same base, or the same digits bare; never another base's digits;
- `x = 5` equals 5 and not `y = 5`; of a chain `a = b = c` the last part counts, of `a \\approx b` the exact one;
- a decimal of at least six digits equals the value of which it is the right rounding, if no decimal can spell that
  value (1/3, the square root of 2); everything else is exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from suite.checkers import symbolic
from suite.checkers.math_reading import Value
from suite.checkers.quantities import Number, number, rounds_to, unit_of


@dataclass(frozen=True)
class Outcome:
    """Whether two answers agree; `reason` if not; `settled`: no time limit or accident stood behind it."""

    equal: bool
    reason: str = ""
    settled: bool = True


@dataclass(frozen=True)
class _Leaf:
    core: str
    number: Number | None
    percent: bool
    unit: tuple[str, Fraction] | None
    base: str


_PERCENT_WORD = re.compile(r"\\?%|\b(?:percentage|percent|pct|per cent)\b|\\text\s*\{\s*percent\s*\}", re.IGNORECASE)
_UNIT_TAIL = re.compile(
    r"(?<=[\d})!\s.])\s*(\\(?:text|mathrm|mbox|textrm|rm)\s*\{[^{}]*\}\s*(?:\^\s*\{?\s*-?\d\s*\}?)?"
    r"|(?<![\\a-zA-Z])[a-zA-Z]+(?:[ /][a-zA-Z]+){0,3}\s*(?:\^\s*\{?\s*[23]\s*\}?)?"
    r"|\^\s*\{?\s*\\circ\s*\}?(?:\s*[CF])?)\s*$"
)
_BASE = re.compile(
    r"([0-9A-Za-z]*\d[0-9A-Za-z]*)\s*(?:_\s*\{?\s*(?:\\text\s*\{\s*)?(?:base\s*)?([a-z]+|\d+)\s*\}?\s*\}?"
    r"|[\s(]*(?:in\s+)?(?:\\text\s*\{\s*)?\(?base\s*([a-z]+|\d+)\s*\}?\s*\)?)"
)
_BASE_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BASES = {word: str(value) for value, word in enumerate(_BASE_WORDS, 2)}
_DOTS = re.compile(r"\\[lcd]?dots|\.\.\.|…")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textrm)\s*\{([^{}]*)\}|([a-zA-Z]{4,}(?:[ -][a-zA-Z]+){0,3})")


def _leaf(text: str, letters: bool) -> _Leaf:
    """Takes percent sign, unit and base off an expression; `letters`: a bare letter may be a unit (`5 m`)."""
    base = ""
    if match := _BASE.fullmatch(text):
        digits, one, two = match.groups()
        base = _BASES.get((one or two).lower(), one or two)
        return _Leaf(digits.upper(), None, False, None, base)
    value = number(text)
    if value:
        return _Leaf(text, value, False, None, "")
    core, percents = _PERCENT_WORD.subn(" ", text)
    core = core.strip()
    unit = None
    if not percents and (match := _UNIT_TAIL.search(core)) and (head := core[: match.start()].strip()):
        words = match.group(1)
        literal = number(head)
        known = unit_of("degree") if "circ" in words else unit_of(words)
        is_word = "\\" in words or len(re.sub(r"[^a-zA-Z]", "", words)) > 3 or " " in words
        if literal and (known or is_word) and (letters or is_word or len(words.strip()) > 1):
            core, unit, value = head, known, literal
        elif "circ" in words and re.search(r"\\(?:a?r?c?(?:sin|cos|tan)|cot|sec|csc)", head):
            pass  # the angle of a function, no unit
        elif not literal and re.search(r"\d|\\pi", head) and ("\\" in words or (known and len(words.strip()) > 1)):
            core, unit = head, known
    value = value or number(core)
    return _Leaf(core, value, bool(percents), unit, base)


def _same_core(a: _Leaf, b: _Leaf, scale_a: Fraction, scale_b: Fraction, clock: symbolic.Clock) -> Outcome:
    """Whether a * scale_a = b * scale_b, in the math-verify process where either is no literal."""
    if a.number and b.number:
        left, right = a.number.value * scale_a, b.number.value * scale_b
        if left == right:
            return Outcome(True)
        if scale_a == scale_b and ((rounds_to(a.number.value, b.number)) or (rounds_to(b.number.value, a.number))):
            return Outcome(True)
        return Outcome(False, "the values differ")
    if a.core == b.core and scale_a == scale_b:
        return Outcome(True)
    if _DOTS.search(a.core) or _DOTS.search(b.core):
        return Outcome(False, "the terms left open by dots cannot be compared")
    words_a, words_b = _TEXT.fullmatch(a.core), _TEXT.fullmatch(b.core)
    if words_a or words_b:
        left, right = (
            " ".join((m.group(1) or m.group(2) or "").lower().split()) if m else text.lower()
            for m, text in ((words_a, a.core), (words_b, b.core))
        )
        same = left.strip(" ()") == right.strip(" ()") and bool(left)
        return Outcome(same, "" if same else "the words differ")
    places = next((leaf.number.places for leaf in (a, b) if leaf.number and leaf.number.fine), 0)
    found = symbolic.equal(_scaled(a.core, scale_a), _scaled(b.core, scale_b), clock, places=places)
    return Outcome(found.equal, found.reason, found.settled)


def _scaled(core: str, scale: Fraction) -> str:
    return core if scale == 1 else f"({core})\\cdot\\frac{{{scale.numerator}}}{{{scale.denominator}}}"


def _same_leaf(reference: str, answer: str, clock: symbolic.Clock) -> Outcome:
    if reference == answer:
        return Outcome(True)
    a = _leaf(reference, letters=False)  # `3h` is a product there
    b = _leaf(answer, letters=a.number is not None)
    if a.base or b.base:
        digits_a, digits_b = (re.sub(r"[\s,]", "", leaf.core).upper().lstrip("0") for leaf in (a, b))
        same = digits_a == digits_b and (a.base == b.base or not (a.base and b.base))
        return Outcome(same, "" if same else "the digits or bases differ")
    one = Fraction(1)
    scale_a = scale_b = one
    if a.unit and b.unit:
        if a.unit[0] != b.unit[0]:
            return Outcome(False, f"units of {a.unit[0]} and {b.unit[0]}")
        scale_a, scale_b = a.unit[1], b.unit[1]
    if a.percent == b.percent:
        return _same_core(a, b, scale_a, scale_b, clock)
    hundredth = Fraction(1, 100)
    if a.percent:  # 31 % against 31 or 0.31
        plain = _same_core(a, b, one, one, clock)
        return plain if plain.equal or not plain.settled else _same_core(a, b, hundredth, one, clock)
    meant = _same_core(a, b, one, hundredth, clock)
    if not meant.equal and meant.settled and a.number and a.number.value > 1:
        return _same_core(a, b, one, one, clock)
    return meant


def _same_items(
    reference: tuple[Value, ...], answer: tuple[Value, ...], clock: symbolic.Clock, ordered: bool
) -> Outcome:
    """Element by element, or as sets: every value of each side has an equal on the other."""
    if ordered:
        if len(reference) != len(answer):
            return Outcome(False, f"{len(answer)} values where the reference has {len(reference)}")
        for a, b in zip(reference, answer, strict=True):
            found = same(a, b, clock)
            if not found.equal:
                return found
        return Outcome(True)
    unmatched = set(range(len(answer)))
    for a in reference:
        hits, accident = set(), None
        for position, b in enumerate(answer):
            found = same(a, b, clock)
            if found.equal:
                hits.add(position)
            elif not found.settled:
                accident = found
        if not hits:
            return accident or Outcome(False, f"no value equals {a.text}")
        unmatched -= hits
    if unmatched:
        return Outcome(False, f"{answer[min(unmatched)].text} is not among the reference's values")
    return Outcome(True)


def same(reference: Value, answer: Value, clock: symbolic.Clock) -> Outcome:
    """Whether the answer states the reference's value."""
    if not clock.left():
        return Outcome(False, "time limit reached", settled=False)
    a, b = reference, answer
    if a == b:
        return Outcome(True)
    if a.name and b.name and a.name != b.name and "order" not in (a.shape, b.shape):
        intervals = a.shape == b.shape == "tuple"
        return (
            Outcome(False, f"{b.name} where the reference gives {a.name}")
            if not intervals
            else Outcome(False, "the variables differ")
        )
    if a.shape == b.shape == "leaf":
        return _same_leaf(a.text, b.text, clock)
    if a.shape in ("equation", "order") or b.shape in ("equation", "order"):
        return _same_relation(a, b, clock)
    if "leaf" in (a.shape, b.shape):
        other = b if a.shape == "leaf" else a
        if other.shape in ("list", "set"):  # {5} and 5; 3 and \pm 3 differ in number
            return _same_items(
                (a,) if a.shape == "leaf" else a.items, (b,) if b.shape == "leaf" else b.items, clock, False
            )
        return Outcome(False, "one value against several")
    if a.shape == b.shape == "tuple":
        if a.brackets != b.brackets:
            return Outcome(False, f"brackets {b.brackets} where the reference has {a.brackets}")
        return _same_items(a.items, b.items, clock, ordered=True)
    if "tuple" in (a.shape, b.shape):
        other, pair = (b, a) if a.shape == "tuple" else (a, b)
        if other.shape == "set" or any(item.shape == "tuple" for item in other.items):
            return _same_items(
                (a,) if a.shape == "tuple" else a.items, (b,) if b.shape == "tuple" else b.items, clock, False
            )
        items = tuple(Value(i.shape, i.text, i.items, i.brackets) for i in other.items)
        if pair is a:  # (1, 2) against 1, 2 or x = 1, y = 2
            return _same_items(a.items, items, clock, ordered=True)
        if b.brackets != "()":
            return Outcome(False, "an interval against a list")
        return _same_items(items, b.items, clock, ordered=False)
    return _same_items(a.items, b.items, clock, ordered=False)


def _same_relation(a: Value, b: Value, clock: symbolic.Clock) -> Outcome:
    """Equations up to a factor, inequalities up to a positive one; an equation's right side against a plain value."""
    if a.shape == b.shape and a.name == b.name:
        found = symbolic.proportional(*(item.text for item in (*a.items, *b.items)), clock)
        same_way = found.equal and (a.shape == "equation" or found.sign > 0)
        return Outcome(same_way, "" if same_way else found.reason or "the relations differ", found.settled)
    for equation, other, swap in ((a, b, False), (b, a, True)):
        if equation.shape == "equation" and other.shape == "leaf":
            sides = (Value("leaf", other.name), Value("leaf", other.text)) if other.name else None
            if sides is None:
                if swap:  # the answer's equation against a plain reference: what it says in the end
                    return _same_leaf(other.text, equation.items[-1].text, clock)
                return Outcome(False, "a value where the reference is an equation")
            whole = Value("equation", other.text, sides)
            return _same_relation(*((whole, equation) if swap else (equation, whole)), clock)
    return Outcome(False, "the relations differ")


def words(value: Value) -> str | None:
    """What an answer in words says (`\\text{June 20}`); None where it is mathematics."""
    match = _TEXT.fullmatch(value.text) if value.shape == "leaf" else None
    return (match.group(1) or match.group(2) or None) if match else None


def leaves(value: Value) -> list[str]:
    """Every expression of an answer that is no literal and no word, as the symbolic checker would be asked."""
    if value.shape == "leaf":
        leaf = _leaf(value.text, letters=False)
        plain = leaf.number or leaf.base or _TEXT.fullmatch(leaf.core) or _DOTS.fullmatch(leaf.core)
        return [] if plain else [leaf.core]
    return [text for item in value.items for text in leaves(item)]
