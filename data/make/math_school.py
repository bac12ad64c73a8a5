"""Math templates of school topics: one step (difficulty 1) or a few (2), numbers drawn so that the answer is clean."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Drawn, by_name, worded


@worded
def linear_equation(rng: Random) -> Drawn:
    a, b, x = rng.randint(3, 12), rng.randint(2, 40), rng.choice([*range(-9, 0), *range(2, 16)])
    return x, f"{a}x + {b} = {a * x + b}"


@worded
def percent_change(rng: Random) -> Drawn:
    price, percent = 20 * rng.randint(2, 30), 5 * rng.randint(1, 12)
    less, more = (decimal(Fraction(price * (100 + change), 100)) for change in (-percent, percent))
    return (less, more, less, more), price, percent


@worded
def percentage(rng: Random) -> Drawn:
    whole, percent = rng.choice((20, 25, 40, 50, 60, 80, 120, 125, 150, 160, 200, 240, 250, 300)), rng.randint(3, 97)
    while whole * percent % 100:
        percent = rng.randint(3, 97)
    return f"{percent}%", whole, whole * percent // 100


@worded
def missing_score(rng: Random) -> Drawn:
    scores = [rng.randint(52, 95) for _ in range(3)]
    mean = (sum(scores) + rng.randint(45, 99)) // 4
    return 4 * mean - sum(scores), mean, *scores


@worded
def rectangle(rng: Random) -> Drawn:
    width, length = rng.randint(4, 19), rng.randint(20, 45)
    return width * length, 2 * (width + length), width


@worded
def travel(rng: Random) -> Drawn:
    speed, hours, minutes = 2 * rng.randint(18, 60), rng.randint(2, 6), rng.choice((15, 30, 45))
    return decimal(Fraction(speed * (60 * hours + minutes), 60)), speed, hours, minutes


@worded
def fraction_sum(rng: Random) -> Drawn:
    total = Fraction(1)
    while total.denominator < 3:
        b, d = rng.sample(range(3, 13), 2)
        a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
        sign = rng.choice((1, -1)) if Fraction(a, b) > Fraction(c, d) else 1
        total = Fraction(a, b) + sign * Fraction(c, d)
    return total, f"{a}/{b} {'+' if sign > 0 else '-'} {c}/{d}"


@worded
def linear_system(rng: Random) -> Drawn:
    x, y = rng.sample(range(2, 13), 2)
    a, b, c, d = (rng.randint(2, 9) for _ in range(4))
    while a * d == b * c:
        d = rng.randint(2, 9)
    return x, a, b, a * x + b * y, c, d, c * x + d * y


@worded
def gcd_lcm(rng: Random) -> Drawn:
    a, b = rng.sample(range(6, 41), 2)
    while math.gcd(a, b) in (1, a, b):
        a, b = rng.sample(range(6, 41), 2)
    common = rng.randint(2, 6)
    least, greatest = math.lcm(a, b), common * math.gcd(a, b)
    return (least, least, greatest, greatest), a, b, a * common, b * common


@worded
def arithmetic_series(rng: Random) -> Drawn:
    terms, first, step = rng.randint(8, 30), rng.randint(3, 25), rng.randint(2, 9)
    return terms * (2 * first + (terms - 1) * step) // 2, terms, first, step


@worded
def urn(rng: Random) -> Drawn:
    red, blue = rng.sample(range(3, 12), 2)
    both_red, mixed, both_blue = red * (red - 1), 2 * red * blue, blue * (blue - 1)
    pairs = both_red + mixed + both_blue
    return tuple(Fraction(ways, pairs) for ways in (both_red, mixed, both_red + both_blue)), red, blue


@worded
def right_triangle(rng: Random) -> Drawn:
    n, m = sorted(rng.sample(range(1, 6), 2))
    scale = rng.randint(1, 4)
    a, b = rng.sample([scale * (m * m - n * n), scale * 2 * m * n], 2)
    c = scale * (m * m + n * n)
    return (c, b, b, c), a, b, c


@worded
def similar_triangles(rng: Random) -> Drawn:
    height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    while height == shadow or (shadow * factor).denominator > 1:
        height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    return decimal(height * factor), height, shadow, int(shadow * factor)


@worded
def number_base(rng: Random) -> Drawn:
    base = rng.choice((3, 4, 5, 6, 7, 8))
    value = rng.randint(base**2, base**4 - 1)
    numeral, rest = "", value
    while rest:
        numeral, rest = str(rest % base) + numeral, rest // base
    return value, base, numeral


@worded
def quadratic(rng: Random) -> Drawn:
    small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    while small + large == 0:
        small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    b, c = -(small + large), small * large
    middle = f"{'+' if b > 0 else '-'} {'' if abs(b) == 1 else abs(b)}x"
    equation = f"x^2 {middle} {'+' if c > 0 else '-'} {abs(c)} = 0"
    return (large, small, large), equation


@worded
def exponent(rng: Random) -> Drawn:
    base, power, shift = rng.choice((2, 2, 3, 3, 4, 5, 6, 7)), rng.randint(3, 6), rng.randint(1, 9)
    return (power - shift, power + shift, shift + power), base, shift, base**power


def decimal(value: Fraction) -> str:
    """An exact decimal without trailing zeros; the templates draw only values with at most two places."""
    if (value * 100).denominator != 1:
        raise ValueError(f"{value} has more than two decimal places")
    return f"{float(value):.2f}".rstrip("0").rstrip(".")


SCHOOL = by_name(
    linear_equation, percent_change, percentage, missing_score, rectangle, travel, fraction_sum, linear_system,
    gcd_lcm, arithmetic_series, urn, right_triangle, similar_triangles, number_base, quadratic, exponent,
)  # fmt: skip
