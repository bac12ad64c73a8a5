"""Mathematical answers: what a text states, and whether it states what the reference states.

Literals are compared as exact fractions at once, other expressions by `symbolic.equal`. Rules for what the conventions
leave open, each with a test:
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
from dataclasses import dataclass, replace
from fractions import Fraction

from suite.checkers import symbolic
from suite.checkers.math_reading import Value
from suite.checkers.quantities import Number, number, rounds_to, unit_of
from suite.checkers.symbolic import Clock, Finding


@dataclass(frozen=True)
class _Leaf:
    core: str
    number: Number | None = None
    percent: bool = False
    unit: tuple[str, Fraction] | None = None
    base: str = ""


_PERCENT_WORD = re.compile(r"\\?%|\b(?:percentage|percent|pct|per cent)\b|\\text\s*\{\s*percent\s*\}", re.IGNORECASE)
_UNIT_TAIL = re.compile(
    r"(?<=[\d})!\s.])\s*(\\(?:text|mathrm|mbox|textrm|rm)\s*\{[^{}]*\}\s*(?:\^\s*\{?\s*-?\d\s*\}?)?"
    r"|(?<![\\a-zA-Z])[a-zA-Z]+(?:[ /][a-zA-Z]+){0,3}\s*(?:\^\s*\{?\s*[23]\s*\}?)?"
    r"|\^\s*\{?\s*\\circ\s*\}?(?:\s*[CF])?)\s*$"
)
_BASE = re.compile(
    r"(-?[0-9A-Za-z]*\d[0-9A-Za-z]*)\s*(?:_\s*\{?\s*(?:\\text\s*\{\s*)?(?:base\s*)?([a-z]+|\d+)\s*\}?\s*\}?"
    r"|[\s(]*(?:in\s+)?(?:\\text\s*\{\s*)?\(?base\s*([a-z]+|\d+)\s*\}?\s*\)?)"
)
_BASE_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BASES = {word: str(value) for value, word in enumerate(_BASE_WORDS, 2)}
_FUNCTION = re.compile(r"\\(?:a?r?c?(?:sin|cos|tan)|cot|sec|csc)")
_DOTS = re.compile(r"\\[lcd]?dots|\.\.\.|…")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textrm)\s*\{([^{}]*)\}|([a-zA-Z]{4,}(?:[ -][a-zA-Z]+){0,3})")


def _found(equal: bool, reason: str) -> Finding:
    return Finding(equal, "" if equal else reason)


def _said(core: str) -> str | None:
    """The words that an expression is (`\\text{June 20}`), where it is no mathematics."""
    match = _TEXT.fullmatch(core)
    return match and (match.group(1) or match.group(2) or None)


def _leaf(text: str, letters: bool) -> _Leaf:
    """Takes percent sign, unit and base off an expression; `letters`: a bare letter may be a unit (`5 m`)."""
    if match := _BASE.fullmatch(text):
        digits, one, two = match.groups()
        return _Leaf(digits, base=_BASES.get((one or two).lower(), one or two))
    if value := number(text):
        return _Leaf(text, value)
    core, percents = _PERCENT_WORD.subn(" ", text)
    core, unit = core.strip(), None
    if not percents and (match := _UNIT_TAIL.search(core)) and (head := core[: match.start()].strip()):
        words = match.group(1)
        known = unit_of("degree") if "circ" in words else unit_of(words)
        is_word = "\\" in words or len(re.sub(r"[^a-zA-Z]", "", words)) > 3 or " " in words
        if number(head):
            is_unit = is_word or (known and (letters or len(words.strip()) > 1))
        else:
            angle = "circ" in words and _FUNCTION.search(head)  # the angle of a function, no unit
            is_unit = "\\" in words or (known and len(words.strip()) > 1)
            is_unit = is_unit and not angle and re.search(r"\d|\\pi", head)
        if is_unit:
            core, unit = head, known
    return _Leaf(core, number(core), bool(percents), unit)


def _same_core(a: _Leaf, b: _Leaf, scale: Fraction, clock: Clock) -> Finding:
    """Whether a = b * scale, in the math-verify process where either is no literal."""
    if a.number and b.number:
        rounded = rounds_to(a.number.value, b.number) or rounds_to(b.number.value, a.number)
        same = a.number.value == b.number.value * scale or (scale == 1 and rounded)
        return _found(same, "the values differ")
    if a.core == b.core and scale == 1:
        return Finding(True)
    if _DOTS.search(a.core) or _DOTS.search(b.core):
        return Finding(False, "the terms left open by dots cannot be compared")
    if _said(a.core) or _said(b.core):
        left, right = (" ".join((_said(core) or core).lower().split()).strip(" ()") for core in (a.core, b.core))
        return _found(left == right, "the words differ")
    places = next((leaf.number.places for leaf in (a, b) if leaf.number and leaf.number.fine), 0)
    other = b.core if scale == 1 else f"({b.core})\\cdot\\frac{{{scale.numerator}}}{{{scale.denominator}}}"
    return symbolic.ask("equal", a.core, other, places, clock=clock)


def _same_leaf(reference: str, answer: str, clock: Clock) -> Finding:
    if reference == answer:
        return Finding(True)
    a = _leaf(reference, letters=False)  # `3h` is a product there
    b = _leaf(answer, letters=a.number is not None)
    if a.base or b.base:
        bare_a, bare_b = (re.sub(r"[\s,]", "", leaf.core).upper().lstrip("0") for leaf in (a, b))
        same = bare_a == bare_b and (a.base == b.base or not (a.base and b.base))
        return _found(same, "the digits or bases differ")
    if a.percent == b.percent and a.unit and b.unit:
        if a.unit[0] != b.unit[0]:
            return Finding(False, f"units of {a.unit[0]} and {b.unit[0]}")
        return _same_core(a, b, b.unit[1] / a.unit[1], clock)
    scales = [Fraction(1)]
    if a.percent and not b.percent:  # 31 % against 31 or 0.31
        scales = [Fraction(1), Fraction(100)]
    elif b.percent and not a.percent:  # 0.31 against 31 %; 31, as the answer to "what percent", also
        scales = [Fraction(1, 100)] + [Fraction(1)] * bool(a.number and a.number.value > 1)
    for scale in scales:
        found = _same_core(a, b, scale, clock)
        if found.equal or not found.settled:
            break
    return found


def _same_in_order(reference: tuple[Value, ...], answer: tuple[Value, ...], clock: Clock) -> Finding:
    if len(reference) != len(answer):
        return Finding(False, f"{len(answer)} values where the reference has {len(reference)}")
    for a, b in zip(reference, answer, strict=True):
        found = same(a, b, clock)
        if not found.equal:
            return found
    return Finding(True)


def _same_sets(reference: tuple[Value, ...], answer: tuple[Value, ...], clock: Clock) -> Finding:
    """Every value of each side has an equal on the other."""
    unmatched = set(range(len(answer)))
    for a in reference:
        found = [same(a, b, clock) for b in answer]
        hits = {position for position, one in enumerate(found) if one.equal}
        if not hits:
            return next((one for one in found if not one.settled), Finding(False, f"no value equals {a.text}"))
        unmatched -= hits
    if unmatched:
        return Finding(False, f"{answer[min(unmatched)].text} is not among the reference's values")
    return Finding(True)


def same(reference: Value, answer: Value, clock: Clock) -> Finding:
    """Whether the answer states the reference's value."""
    if not clock.left():
        return Finding(False, "time limit reached", settled=False)
    a, b = reference, answer
    shapes = {a.shape, b.shape}
    if a == b:
        return Finding(True)
    if a.name and b.name and a.name != b.name:
        return Finding(False, f"{b.name} where the reference gives {a.name}")
    if shapes == {"leaf"}:
        return _same_leaf(a.text, b.text, clock)
    if "equation" in shapes:
        return _same_relation(a, b, clock)
    if shapes == {"tuple"}:
        if a.brackets != b.brackets:
            return Finding(False, f"brackets {b.brackets} where the reference has {a.brackets}")
        return _same_in_order(a.items, b.items, clock)
    if shapes == {"leaf", "tuple"}:
        return Finding(False, "one value against several")
    if "tuple" in shapes:
        other = b if a.shape == "tuple" else a
        if other.shape == "list" and not any(item.shape == "tuple" for item in other.items):
            bare = tuple(replace(item, name="") for item in other.items)
            if a.shape == "tuple":  # (1, 2) against 1, 2 or x = 1, y = 2
                return _same_in_order(a.items, bare, clock)
            return _same_sets(bare, b.items, clock) if b.brackets == "()" else Finding(False, "an interval, not a list")
    # {5} and 5; a list of tuples and one of them; 3 and \\pm 3 differ in number
    left, right = (value.items if value.shape in ("list", "set") else (value,) for value in (a, b))
    return _same_sets(left, right, clock)


def _same_relation(a: Value, b: Value, clock: Clock) -> Finding:
    """Equations up to a factor; an equation's right side against a plain value."""
    a, b = _as_equation(a), _as_equation(b)
    if a.shape == b.shape:
        return symbolic.ask("proportional", *(item.text for item in (*a.items, *b.items)), clock=clock)
    if a.shape == "leaf" and b.shape == "equation":  # what it says in the end
        return _same_leaf(a.text, b.items[-1].text, clock)
    return Finding(False, "the relations differ")


def _as_equation(value: Value) -> Value:
    """`y = 3` as an equation; anything else as it is."""
    if value.shape != "leaf" or not value.name:
        return value
    return Value("equation", value.text, (Value("leaf", value.name), Value("leaf", value.text)))


def words(value: Value) -> str | None:
    """What an answer in words says (`\\text{June 20}`); None where it is mathematics."""
    return _said(value.text) if value.shape == "leaf" else None


def leaves(value: Value) -> list[str]:
    """Every expression of an answer that is no literal and no word, as the symbolic checker would be asked."""
    if value.shape == "leaf":
        leaf = _leaf(value.text, letters=False)
        plain = leaf.number or leaf.base or _TEXT.fullmatch(leaf.core) or _DOTS.fullmatch(leaf.core)
        return [] if plain else [leaf.core]
    return [text for item in value.items for text in leaves(item)]
