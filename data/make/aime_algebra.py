"""Contest templates of algebra and geometry in the manner of AIME; every answer is a whole number from 0 to 999.

With those of `aime_counting` they stand in for AIME2025, which the paper holds out: there is a test split alone. Topics
and templates are none of the math family's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

from aime_counting import LARGEST
from templates import Drawn, Item, by_name, word, worded


def root_powers(rng: Random, number: int) -> Item:
    def draw() -> tuple[tuple[int, int, int], int]:
        a, b, c = rng.randint(-7, 7), rng.randint(-9, 9), rng.randint(-20, 20)
        first, second, third = -a, a * a - 2 * b, -(a**3) + 3 * a * b - 3 * c  # Newton's sums of r^k
        return (a, b, c), (third, second**2 - third, first * second)[number % 3] if a and b and c else -1

    (a, b, c), answer = _until_fits(draw)
    return word("root_powers", number, answer, f"x^3{_term(a, 'x^2')}{_term(b, 'x')}{_term(c, '')} = 0")


def _term(coefficient: int, power: str) -> str:
    size = "" if abs(coefficient) == 1 and power else str(abs(coefficient))
    return f" {'+' if coefficient > 0 else '-'} {size}{power}"


def _until_fits(draw: Callable[[], tuple], low: int = 0) -> tuple:
    """Draws again until the last entry, the answer, is a whole number from `low` to 999."""
    drawn = draw()
    while drawn[-1] is None or not low <= drawn[-1] <= LARGEST:
        drawn = draw()
    return drawn


def _parts(value: Fraction) -> int | None:
    """Numerator plus denominator; None for a whole number, where asking for p + q gives the idea away."""
    return None if value.denominator == 1 else value.numerator + value.denominator


@worded
def unit_circle(rng: Random) -> Drawn:
    a = rng.randint(5, 40)
    b = rng.randint(2, a - 1)
    turns = {Fraction(k, a + b) for k in range(a + b)} | {Fraction(2 * k + 1, 2 * (a - b)) for k in range(a - b)}
    return len(turns), a, b


@worded
def log_equation(rng: Random) -> Drawn:
    base, power, constant = rng.choice([(b, m, c) for b in range(2, 10) for m in (2, 3, 4, 5) for c in (1, 3, 5, 7, 10)
                                        if b**m <= LARGEST])  # fmt: skip
    return base**power, base, power, constant


@worded
def telescope(rng: Random) -> Drawn:
    def draw() -> tuple[int, int, int | None]:
        top, step = rng.randint(4, 60), rng.randint(2, 3)
        return top, step, _parts(sum(Fraction(1, k * (k + step)) for k in range(1, top + 1)))

    top, step, answer = _until_fits(draw)
    return answer, top, step, 1 + step, 2 + step, 3 + step, top + step


@worded
def box_edges(rng: Random) -> Drawn:
    sides = [rng.randint(2, 40) for _ in range(3)]
    diagonal, surface = sum(s * s for s in sides), 2 * (sides[0] * (sides[1] + sides[2]) + sides[1] * sides[2])
    return 4 * sum(sides), diagonal, surface


@worded
def tangent_circles(rng: Random) -> Drawn:
    def draw() -> tuple[int, int, int | None]:
        a, b = sorted(rng.sample(range(1, 81), 2))
        root = math.isqrt(a * b)
        return a, b, (a + b) * root if root * root == a * b else None

    a, b, answer = _until_fits(draw)
    return answer, a, b


@worded
def crossing_chords(rng: Random) -> Drawn:
    def draw() -> tuple[int, int, int, int, int | None]:
        a, b, c = (rng.randint(1, 20) for _ in range(3))
        d, rest = divmod(a * b, c)
        return a, b, c, d, a * a + b * b + c * c + d * d if not rest and len({a, b, c, d}) == 4 else None

    a, b, c, _, answer = _until_fits(draw)
    return answer, a, b, c


def triangle_radii(rng: Random, number: int) -> Item:
    def draw() -> tuple[list[int], int | None]:
        sides = sorted(rng.randint(5, 60) for _ in range(3))
        a, b, c = sides
        square = (a + b + c) * (-a + b + c) * (a - b + c) * (a + b - c)
        area = Fraction(math.isqrt(max(square, 0)), 4)
        if square <= 0 or (4 * area) ** 2 != square:
            return sides, None
        outer, inner = a * b * c / (4 * area), 2 * area / (a + b + c)
        return sides, _parts(outer + inner if number % 2 else outer)

    sides, answer = _until_fits(draw)
    return word("triangle_radii", number, answer, *sides)


@worded
def bisector(rng: Random) -> Drawn:
    def draw() -> tuple[int, int, int, int | None]:
        a, b, c = (rng.randint(4, 24) for _ in range(3))
        if b == c or not abs(b - c) < a < b + c:
            return a, b, c, None
        return a, b, c, _parts(b * c * (1 - Fraction(a, b + c) ** 2))

    a, b, c, answer = _until_fits(draw)
    return answer, a, b, c


def six_cycle(rng: Random, number: int) -> Item:
    def draw() -> tuple[int, int, int, int]:
        first, second, index = rng.randint(-400, 600), rng.randint(-400, 600), rng.randint(100, 5000)
        values = [first, second]
        while len(values) < 6:
            values.append(values[-1] - values[-2])
        total = sum(values[: index % 6])  # six terms in a row add up to 0
        return first, second, index, values[(index - 1) % 6] if number % 2 else total

    first, second, index, answer = _until_fits(draw, low=1)
    return word("six_cycle", number, answer, first, second, index)


ALGEBRA_AND_GEOMETRY = by_name(
    root_powers, unit_circle, log_equation, telescope, box_edges, tangent_circles, crossing_chords, triangle_radii,
    bisector, six_cycle,
)  # fmt: skip
