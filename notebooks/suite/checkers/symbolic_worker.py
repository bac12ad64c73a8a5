"""The process behind `symbolic`: reads two expressions with math-verify's parser and compares them without tolerance.

Run as a script, alone, with the descriptor of its pipe and its memory limit: a JSON reply to each JSON request.

Where math-verify's own comparison calls unequal things equal, this one differs:
- it compares after rounding to 6 places or 15 digits, so 2^-60 equals 2^-61. Here rationals are exact, and two
  constants are unequal as soon as their difference is proved nonzero at up to `DIGITS` digits;
- its reader drops `_7` of `42_7` and the `^\\circ` of an angle, reads `1 2` as 3 and keeps decimals as floats: these
  are rewritten or refused before it sees them;
- its units list takes the letters h, m, s, c ... off the end, so `2c` equals 2: that step stays off.
Equality is proved by sympy, or (for constants) holds to `DIGITS` digits, or (for formulas of analytic functions) holds
to many digits at every one of `POINTS`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import resource
import signal
import sys
from functools import lru_cache
from multiprocessing.connection import Connection

import sympy  # only the worker process imports this module
from math_verify.grader import verify
from math_verify.parser import LatexExtractionConfig, NormalizationConfig
from math_verify.parser import parse as parse_latex

DIGITS = 400
MOST_BITS = 200_000  # of an integer that is written out: towers such as 9^{9^9} stay unevaluated
POINTS = ((3, 7), (-5, 3), (29, 4), (-101, 9), (10007, 3), (-99991, 7), (1, 89))


class Refused(ValueError):
    """The expression cannot be read or compared; the message says why."""


# --- reading -------------------------------------------------------------------------------------------------------

_NAMES = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|max|min|gcd|lcm"
_NAMES += "|pi|theta|alpha|beta|lambda"
_INSIDE = r"[^()]*"
for _ in range(6):  # brackets within brackets
    _INSIDE = rf"(?:[^()]|\({_INSIDE}\))*"
_BRACKETED = re.compile(rf"(\\sqrt|\^)\(({_INSIDE})\)")
_PLAIN = [
    (r"\*\*", "^"),
    (r"(?<![a-zA-Z\\])sqrt(?![a-zA-Z])\s*", r"\\sqrt"),
    (rf"(?<![a-zA-Z\\])({_NAMES})(?![a-zA-Z])", r"\\\1 "),
    (r"(?<![a-zA-Z\\])(?:infinity|inf|oo)(?![a-zA-Z])", r"\\infty "),
    (r"\\sqrt\s+(?=[\[{(\d])", r"\\sqrt"),
    (r"\^\s+", "^"),
]
_EXPONENTS = [
    (r"\^([+-]?\d+|[+-][a-zA-Z])", r"^{\1}"),
    (r"\*", r"\\cdot "),
    (r"(\d+(?:\.\d+)?)\s*\^\s*\{?\s*\\circ\s*\}?", r"(\\frac{\1 \\pi}{180})"),
    (r"\^\s*\{?\s*\\circ\s*\}?", r"\\cdot \\frac{\\pi}{180}"),
    (r"(?<=[a-zA-Z}])_(\d)", r"_{\1}"),
]
_REFUSED = {
    r"\d\s+\d": "two numbers stand side by side",
    r"[\d)}]\s*_": "a subscript of a number",
    r"\\[lcd]?dots|\.\.|…": "dots leave its terms open",
}


def as_latex(text: str) -> str:
    """Plain notation (`2*sqrt(3)`, `pi/4`, `x**2`, `10^-20`) as LaTeX, decimals as fractions, no number lost."""
    for pattern, latex in _PLAIN:
        text = re.sub(pattern, latex, text)
    found = 1
    while found:  # \sqrt(x) and ^(x), also within each other
        text, found = _BRACKETED.subn(r"\1{\2}", text)
    for pattern, latex in _EXPONENTS:
        text = re.sub(pattern, latex, text)
    for pattern, fault in _REFUSED.items():
        if re.search(pattern, text):
            raise Refused(fault)
    return re.sub(r"(\d*)\.(\d+)", lambda m: f"\\frac{{{int(m[1] + m[2])}}}{{{10 ** len(m[2])}}}", text)


@lru_cache(2000)
def parse(text: str):
    """A sympy expression, not evaluated yet."""
    config = LatexExtractionConfig(
        normalization_config=NormalizationConfig(
            basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none", equations=False
        )
    )
    latex = as_latex(text)
    found = parse_latex(f"$${latex}$$", [config], fallback_mode="no_fallback", parsing_timeout=None)
    if len(found) != 1 or not isinstance(found[0], (sympy.Basic, sympy.MatrixBase)):
        raise Refused(f"cannot be read as mathematics: {text[:60]!r}")
    expression = found[0]
    names = {symbol.name for symbol in expression.free_symbols}
    imaginary = "i" in names and not names & {"j", "k", "n"}
    return expression.xreplace({
        symbol: sympy.I if imaginary and symbol.name == "i" else sympy.Symbol(symbol.name, real=True)
        for symbol in expression.free_symbols
    })  # fmt: skip


# --- comparing -----------------------------------------------------------------------------------------------------


def _bits(expression) -> float:
    """An upper bound of the bits of the integers that evaluating writes out; `Refused` above `MOST_BITS`."""
    if isinstance(expression, sympy.Rational):
        return expression.p.bit_length() + expression.q.bit_length()
    parts = list(expression) if isinstance(expression, sympy.MatrixBase) else getattr(expression, "args", ())
    inner = [_bits(part) for part in parts]
    size = sum(inner) or 4
    if isinstance(expression, (sympy.Pow, sympy.factorial, sympy.gamma)) and not expression.free_symbols:
        last = abs(complex(parts[-1].evalf(20))) if inner[-1] < 64 else 2.0**64
        size = max(inner[0] * last, size) if isinstance(expression, sympy.Pow) else 20 * last
    if size > MOST_BITS:
        raise Refused("a number is too large to be written out")
    return size


def _numeric_zero(difference) -> bool | None:
    """False: proved nonzero. True: zero to `DIGITS` digits. None: no number."""
    for part in difference.evalf(15, maxn=DIGITS).as_real_imag():
        if not isinstance(part, (sympy.Float, sympy.Rational)):
            return None
        if part != 0 and getattr(part, "_prec", 53) > 1:
            return False
    return True


def _same_value(a, b) -> bool:
    """Two constants, or two formulas."""
    if (a.is_Rational and b.is_Rational) or a.is_finite is False or b.is_finite is False:
        return False
    difference, zeros = a - b, 0
    symbols = sorted(difference.free_symbols, key=lambda symbol: symbol.name)
    if not symbols or not difference.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit):
        for shift in range(len(POINTS) if symbols else 1):
            values = {
                symbol: sympy.Rational(*POINTS[(shift + 3 * number) % len(POINTS)]) + number
                for number, symbol in enumerate(symbols)
            }
            zero = _numeric_zero(difference.subs(values))
            if zero is False:
                return False
            zeros += zero is True
    simple = sympy.simplify(difference)
    if simple == 0:
        return True
    if not symbols:
        proved = False if simple.is_Rational else simple.equals(0)
        if proved is None and not zeros:
            raise Refused("its value cannot be computed")
        return proved is None or bool(proved)
    if difference.has(sympy.Abs, sympy.sign, sympy.floor, sympy.ceiling, sympy.Piecewise, sympy.Max, sympy.Min):
        raise Refused("equal at every point tried, but not proved")
    return zeros >= 4


def _same_power(a, b) -> bool | None:
    """Two towers on the same integer base, by their exponents; None: not such a pair."""
    if isinstance(a, sympy.Pow) and isinstance(b, sympy.Pow) and a.args[0] == b.args[0] and a.args[0].is_Integer:
        return abs(a.args[0]) > 1 and same(a.args[1], b.args[1])
    return None


def same(a, b) -> bool:
    """Whether two parsed expressions are equal."""
    matrices = [isinstance(x, (sympy.MatrixBase, sympy.MatrixExpr)) for x in (a, b)]
    if any(matrices):
        if not all(matrices):
            return False
        a, b = a.doit(), b.doit()
        return a.shape == b.shape and all(same(x, y) for x, y in zip(a, b, strict=True))
    if a == b:
        return a is not sympy.nan
    expressions = [isinstance(x, sympy.Expr) for x in (a, b)]
    if not all(expressions):
        return not any(expressions) and bool(verify(a, b, timeout_seconds=None, raise_on_error=True))
    try:
        _bits(a), _bits(b)
    except Refused:
        tower = _same_power(a, b)
        if tower is None:
            raise
        return tower
    a, b = a.doit(), b.doit()
    if sympy.nan in (a, b) or sympy.zoo in (a, b):
        raise Refused("it has no finite value")
    return a == b or _same_value(a, b)


def _rounded(a, b, places: int) -> bool:
    """Whether two constants agree when rounded to `places`, and not both are decimals in full."""
    a, b = a.doit(), b.doit()
    # a value that a decimal spells (1/8, 1/2^60) must be given exactly: its denominator divides a power of ten
    spelt = [value.is_Rational and 10 ** value.q.bit_length() % value.q == 0 for value in (a, b)]
    if a.free_symbols or b.free_symbols or all(spelt):
        return False
    difference = sympy.Abs(a - b).evalf(places + 30)
    return bool(difference.is_Float and difference * 2 * 10**places <= 1)


def equal(one: str, two: str, places: int) -> dict:
    """Whether two expressions have the same value.

    `places` > 0: one is a decimal with so many, which may be the right rounding of a value that no decimal can spell:
    0.333333 is 1/3, 0.125001 is not 1/8.
    """
    a, b = parse(one), parse(two)
    found = same(a, b) or (places > 0 and _rounded(a, b, places))
    return {"equal": found, "reason": "" if found else "the values differ"}


def proportional(left: str, right: str, other_left: str, other_right: str) -> dict:
    """Whether left - right is a constant multiple of the other two's difference."""
    sides = [parse(text) for text in (left, right, other_left, other_right)]
    for side in sides:
        _bits(side)
    one, two = (sympy.expand((x - y).doit()) for x, y in (sides[:2], sides[2:]))
    if one == 0 or two == 0:
        found = bool(one == two)
    else:
        factor = sympy.simplify(one / two) if one.free_symbols == two.free_symbols else sympy.Integer(0)
        found = not factor.free_symbols and bool(factor.is_finite) and factor != 0
    return {"equal": found, "reason": "" if found else "the relations differ"}


def read(text: str) -> dict:
    """Whether an expression can be read (`equal` is then True) and has a finite value where it is a number."""
    expression = parse(text)
    if isinstance(expression, sympy.Expr) and not expression.free_symbols:
        try:
            _bits(expression)
        except Refused:
            return {"equal": True}  # too large to write out, but a number
        if expression.doit().has(sympy.nan, sympy.zoo):
            raise Refused("it has no finite value")
    return {"equal": True}


ACTIONS = {"equal": equal, "proportional": proportional, "read": read}


def answer(request: dict) -> dict:
    """The reply to one request. One that outlives its seconds ends the process: see `symbolic`."""
    signal.setitimer(signal.ITIMER_REAL, request["seconds"] + 0.5)
    try:
        return ACTIONS[request["do"]](*request["words"])
    except Refused as refusal:
        return {"equal": False, "reason": str(refusal)}
    except MemoryError:
        return {"equal": False, "reason": "memory limit reached while comparing", "settled": False}
    except Exception as error:  # sympy's own faults, on whatever an answer may say
        return {"equal": False, "reason": f"not comparable ({type(error).__name__}: {str(error)[:80]})"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Answers requests until nobody holds the other end of the pipe."""
    pipe, limit = Connection(int(sys.argv[1])), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    logging.disable(logging.CRITICAL)
    sys.set_int_max_str_digits(0)
    parse("1+x")  # builds the parser's tables
    pipe.send_bytes(b"{}")
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send_bytes(json.dumps(answer(json.loads(pipe.recv_bytes()))).encode())


if __name__ == "__main__":
    main()
