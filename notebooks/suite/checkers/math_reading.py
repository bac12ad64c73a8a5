"""Reading mathematical answers: which part of a text is the answer, and its outer structure.

Lists, sets, tuples, intervals, unions, `x = ...` and inequalities are read here, without any algebra; what is left are
single expressions (`Value` with shape "leaf"). `math_answers` says which rules hold and compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from suite.checkers.marks import Mark, denied, final_mark, last_box, last_line
from suite.checkers.quantities import number, plain_unicode

LONGEST = 2000  # characters of an answer that is read as mathematics
LONGEST_EXPRESSION = 500  # of a single expression: longer ones only run into the time limit
MOST_VALUES = 60

Shape = Literal["leaf", "list", "set", "tuple", "equation"]


class Unreadable(ValueError):
    """The text is no answer that this module can read; the message says why."""


@dataclass(frozen=True)
class Value:
    """One answer. `leaf`: `text` is an expression; else `items`; `brackets` of a tuple or interval, as "(]";
    `name`: the x of `x = ...`."""

    shape: Shape
    text: str
    items: tuple[Value, ...] = ()
    brackets: str = ""
    name: str = ""


# --- reading -------------------------------------------------------------------------------------------------------

_TEXT = r"\\(?:text|mathrm|textrm|mbox)\s*"
_TIDY = [
    (r"\\\$|\$|[€£¥]|\\(?:pounds|euro)\b|(?<!\\)\\[()\[\]]", " "),
    (r"\*\*(?!\s*[\d({-])|(?<![\w)}\s])\*\*|^\*\*|__|`", " "),  # bold, but `x**2` stays
    (r"(?<=\d)(?:,?\\[,!;]|,\\ )\s*(?=\d{3}(?!\d))", ","),  # 1\,234 and 1,\! 234
    (r"\\(?:displaystyle|textstyle|limits|[bB]ig[lr]?|left|right|middle|nonumber)(?![a-zA-Z])|(?<!\\)\\[!,;:>]", ""),
    (_TEXT + r"\{\s*,?\s*(and|or)\s*\}", r" \1 "),
    (r"\\(?:mathrm|mathit|mathsf|operatorname|text|rm)\s*\{\s*([a-zA-Z])\s*\}", r"{\1}"),
    (r"(?<![\w}^_])\{([a-zA-Z])\}", r"\1"),
    (r"\\(?:textbf|mathbf|boldsymbol|textit|emph|mathit|bf)\s*\{([^{}]*)\}", r"\1"),
    (_TEXT + r"\{\s*([^a-zA-Z{}]*)\s*\}", r" \1 "),
    (r"\\[dtc]frac", r"\\frac"),
    (r"(?<![a-zA-Z\\])[+]?infinity(?![a-zA-Z])", r"\\infty"),
    (r"\\([lgn])eq(?:slant)?(?![a-zA-Z])", r"\\\1e "),
    (r"\\langle(?![a-zA-Z])", "("),
    (r"\\rangle(?![a-zA-Z])", ")"),
    (r"\\lt ", "<"),
    (r"\\gt ", ">"),
    (r"(?<!\\)\\(?:q?quad\b|\s)|~|\s+", " "),
    (r"(?i)I hope (?:it|this) is correct[ .;:,?]*$", ""),
]
_SIGNS = {"\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]", "<=": "\\le ", ">=": "\\ge "}


def tidy(text: str) -> str:
    """One spelling: no delimiters, spacing commands, markdown or trailing stop; `\\dfrac` as `\\frac`."""
    text = plain_unicode(text).replace("\\\\$", "\\$").replace("{,}", ",")
    for sign, plain in _SIGNS.items():
        text = text.replace(sign, plain)
    for pattern, plain in _TIDY:
        text = re.sub(pattern, plain, text)
    return text.strip(" ;:,?").rstrip(" .;:,?").removesuffix("\\").strip()


def _cut(text: str, separator: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """(parts, separators between them), cut outside of all brackets."""
    parts, found, depth, start, position = [], [], 0, 0, 0
    while position < len(text):
        character = text[position]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth <= 0 and (match := separator.match(text, position)):
            parts.append(text[start:position])
            found.append(match.group().strip())
            start = position = match.end()
            continue
        position += 1
    return [part.strip() for part in (*parts, text[start:])], found


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    return [part for part in _cut(text, separator)[0] if part]


_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\b|or\b)?\s*|\s+(?:and|or)\s+|\s*\\(?:cup|vee|lor)(?![a-zA-Z])\s*")
_RELATION = re.compile(r"\s*(=|<|>|\\le(?![a-zA-Z])|\\ge(?![a-zA-Z])|\\in(?![a-zA-Z]))\s*")
_APPROXIMATELY = re.compile(r"\s*(?:\\approx|\\simeq|\\doteq)(?![a-zA-Z])\s*")
_NAME = re.compile(r"\\?[a-zA-Z]+(?:\s*_\s*(?:\w|\{\w+\}))?(?:\s*\(\s*\\?[a-zA-Z]+(?:\s*,\s*[a-zA-Z]+)*\s*\))?'*")
_VARIABLE = re.compile(r"(?<![a-zA-Z])[a-zA-Z](?![a-zA-Z])")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d")
_BRACKETS = re.compile(r"(\\?\{|[(\[])(.*?)(\\?\}|[)\]])", re.DOTALL)


def _names(text: str) -> str:
    """The text without blanks if it can name a value (`x`, `f(x)`, `a_1`, `Area`), else ''."""
    return re.sub(r"\s+", "", text) if _NAME.fullmatch(text) else ""


def _wrapped(text: str) -> tuple[str, str, str] | None:
    """(opening, inside, closing) where one pair of brackets encloses the whole text; `(1, 2]` counts as a pair."""
    match = _BRACKETS.fullmatch(text)
    if match is None:
        return None
    opening, inside, closing = match.groups()
    if (opening in "([") != (closing in ")]") or len(opening) != len(closing):
        return None
    depth = 0
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return None
    return None if depth else (opening, inside.strip(), closing)


def _interval(parts: list[str], signs: list[str]) -> Value | None:
    """`x > 2` or `1 < x <= 2` as an interval in the one name that stands there."""
    at = 0 if len(parts) == 2 and _names(parts[0]) else 1  # the name's place
    if len(parts) > 3 or not _names(parts[at]):
        return None
    if set(signs) <= {">", "\\ge"}:
        at = len(parts) - 1 - at
        parts, signs = parts[::-1], ["<" if sign == ">" else "\\le" for sign in reversed(signs)]
    if not set(signs) <= {"<", "\\le"}:
        return None
    if len(parts) == 2:
        parts, signs = (["-\\infty", *parts], ["<", *signs]) if at == 0 else ([*parts, "\\infty"], [*signs, "<"])
    (low, name, high), (left, right) = parts, ("(" if signs[0] == "<" else "[", ")" if signs[1] == "<" else "]")
    return Value("tuple", f"{left}{low}, {high}{right}", (_read(low), _read(high)), left + right, _names(name))


def _relations(text: str) -> Value | None:
    """Equations, memberships, inequalities of one unknown; None where the text has none."""
    parts, signs = _cut(text, _RELATION)
    if not signs:
        return None
    if not all(parts):
        raise Unreadable(f"one side of {text!r} is empty")
    if signs[0] in ("=", "\\in") and _names(parts[0]):
        if set(signs[1:]) <= {"="}:  # x = 3 + 4 = 7
            return replace(_read(parts[-1]), name=_names(parts[0]))
        return None
    if set(signs) == {"="}:
        formula = not (_names(parts[1]) or number(parts[1])) and re.search(r"[a-zA-Z]", text)
        if len(parts) == 2 and (formula or _VARIABLE.search(re.sub(r"\\[a-zA-Z]+", " ", parts[0]))):
            return Value("equation", text, (Value("leaf", parts[0]), Value("leaf", parts[1])))
        return _read(parts[-1])  # 3 + 4 = 7
    if "=" in signs or "\\in" in signs:
        return None
    return _interval(parts, signs)


def _flat(values: Iterable[Value]) -> tuple[Value, ...]:
    """The values, a list among them (such as of `\\pm 3`) by its items."""
    return tuple(one for value in values for one in (value.items if value.shape == "list" else (value,)))


def _read(text: str) -> Value:
    text = text.strip()
    if not text.strip("."):
        raise Unreadable("an empty part")
    if text in ("\\mathbb{R}", "\\mathbb R", "\\R", "\\Reals"):
        text = "(-\\infty, \\infty)"
    if number(text):
        return Value("leaf", text)
    parts, approximately = _cut(text, _APPROXIMATELY)
    if approximately:
        exact = next((part for part in parts if part and not _names(part.removesuffix("=").strip())), None)
        if exact is None:
            raise Unreadable(f"no value in {text!r}")
        return _read(exact)
    parts = _split(text, _SEPARATOR)
    if len(parts) > MOST_VALUES:
        raise Unreadable(f"{len(parts)} values; at most {MOST_VALUES} are read")
    if len(parts) > 1:
        items = [_read(part) for part in parts]
        name = next((item.name for item in items if item.name), "")
        if name and items[0].name and all(item.name in ("", name) for item in items):  # n = 2, 3, 4
            items = [replace(item, name=name) for item in items]
        return Value("list", text, _flat(items))
    if relation := _relations(text):
        return relation
    parts = [part.strip() for part in text.split(":")]
    if len(parts) > 1 and all(number(part) for part in parts):
        if len(parts) == 2 and not _CLOCK.fullmatch("".join(text.split())) and number(parts[1]).value:
            return Value("leaf", f"\\frac{{{parts[0]}}}{{{parts[1]}}}")
        return Value("tuple", text, tuple(_read(part) for part in parts), "::")
    if wrapped := _wrapped(text):
        opening, inside, closing = wrapped
        if opening == "\\{" and ("|" in inside or "\\mid" in inside or ":" in inside):
            return Value("leaf", text)  # a set by its rule
        inner = _split(inside, re.compile(r"\s*[,;]\s*"))
        if opening in ("\\{", "{"):
            return Value("set", text, _flat(_read(part) for part in inner))
        if len(inner) > 1:
            return Value("tuple", text, tuple(_read(part) for part in inner), opening + closing)
        if opening == "(" and closing == ")":
            return _read(inside)
    if text.count("\\pm") == 1 and not _cut(text, re.compile(r"\\pm"))[0][0].endswith("{"):
        head, tail = text.split("\\pm")
        return Value("list", text, tuple(_read(f"{head} {sign} {tail}".strip(" +")) for sign in "+-"))
    if len(text) > LONGEST_EXPRESSION:
        raise Unreadable(f"an expression of {len(text)} characters; at most {LONGEST_EXPRESSION} are read")
    return Value("leaf", text)


def read(text: str) -> Value:
    """The structure of an answer. `Unreadable` where it is empty, too long or broken."""
    if len(text) > LONGEST:
        raise Unreadable(f"{len(text)} characters; at most {LONGEST} are read as mathematics")
    clean = tidy(text)
    if not clean or not re.search(r"[\w∅]", clean):
        raise Unreadable("it is empty")
    try:
        return _read(clean)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


# --- the answer in a text ------------------------------------------------------------------------------------------

_MATH_PIECE = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}(?![a-zA-Z({])")
_NUMBER_IN_TEXT = re.compile(
    r"(?<![\w.,/^_\\}])[-+]?(?:\d+\s+\d+/\d+|\d[\d,]*(?:\.\d+)?(?:/\d+)?|\.\d+)(?:\s*(?:\\?%|percent))?(?![\w/^_])"
)
_FUNCTIONS = {"sqrt", "pi", "sin", "cos", "tan", "log", "ln", "exp", "and", "or", "infinity", "inf", "base", "in"}


def _words(text: str) -> list[str]:
    """The words of prose, without those that belong to formulas."""
    text = re.sub(r"\\(?:begin|end|text|mathrm|mbox)\s*\{[^{}]*\}", " ", text)
    return [word for word in _WORD.findall(text) if word.lower() not in _FUNCTIONS]


def isolate(line: str) -> str:
    """The answer in a line of prose: its one formula, what follows its last `=`, or its one number; else the line."""
    words = _words(_MATH_PIECE.sub(" ", line))
    if not words:
        return line
    pieces = ["".join(groups) for groups in _MATH_PIECE.findall(line)]
    if len(pieces) == 1:
        return pieces[0]
    if pieces:
        joint = _MATH_PIECE.sub(" ", line)
        return line if re.fullmatch(r"[\s,;]*(?:(?:and|or)[\s,;]*)*[.]?", joint) else pieces[-1]
    if len(words) > 1 or re.match(r"[a-zA-Z]{2,}", line):
        tail = line.rsplit("=", 1)[1] if "=" in line else line
        numbers = _NUMBER_IN_TEXT.findall(tail)
        if len(numbers) == 1:
            return numbers[0]
    return line


_REMARK = re.compile(r"(?<=\S)\s+\((?![^()]*\bbase\b)[^()]*[a-zA-Z]{3}[^()]*\)\s*$")
_EDGES = re.compile(r"^(?:\\[(\[]|[\s$*])+|(?:\\[)\]]|[\s$*])+$")

_CONTRAST = re.compile(r"(?<=[\d})$])\s*,?\s+(?:and\s+|but\s+)?not\s.*$")  # "512, not 511"


def extract(text: str) -> str | None:
    """The stated answer: the last mark's (see `marks`), else the one value of the last line; None: nothing stated."""
    mark = final_mark(text, lambda rest: bool(re.search(r"[\d$\\∅∞]|^\W*[a-zA-Z]\W*$", rest)))
    if mark is None:
        line = last_line(text)
        found = "" if denied(line) else isolate(line)
        if found != line or not line:
            return found.strip() or None if found != line else None
        return line if not _words(line) or len(line.split()) <= 4 else None
    if mark.boxed:
        return _values(mark)
    line = mark.values[0]
    if box := last_box(line):
        return _values(box)
    sentence = re.split(r"\.(?:\s+|\*\*\s*)(?=[A-Z(*])|\.\s*$", line, maxsplit=1)[0]
    sentence = _CONTRAST.sub("", _REMARK.sub("", sentence))
    return None if denied(sentence) else _EDGES.sub("", isolate(sentence)) or None


def reference_text(reference: str) -> str:
    """A reference as data sets give it: bare, between dollar signs, or boxed."""
    box = last_box(reference)
    return (_values(box) or "") if box else reference


def _values(mark: Mark) -> str | None:
    if not all(mark.values):  # an empty or unclosed box is no answer
        return None
    return " , ".join(mark.values)
