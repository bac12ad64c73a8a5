"""Math templates that need an idea (difficulty 3): remainders, counting, probability, sequences, divisors, rates."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Drawn, by_name, worded


@worded
def modular_power(rng: Random) -> Drawn:
    base, power, modulus = rng.randint(2, 19), rng.randint(20, 120), rng.choice((7, 9, 10, 11, 13, 17))
    while base % modulus in (0, 1):
        base = rng.randint(2, 19)
    return pow(base, power, modulus), base, power, modulus


@worded
def remainders(rng: Random) -> Drawn:
    p, q = rng.sample((4, 5, 7, 9, 11, 13), 2)
    value = rng.randint(p + q, p * q - 1)
    while value % p == 0 or value % q == 0 or value % p == value % q:
        value = rng.randint(p + q, p * q - 1)
    return value, value % p, p, value % q, q


@worded
def recurrence(rng: Random) -> Drawn:
    start, factor, step, index = rng.randint(2, 9), rng.randint(2, 3), rng.randint(1, 8), rng.randint(5, 8)
    value = start
    for _ in range(index - 1):
        value = factor * value + step
    return value, start, factor, step, index


@worded
def dice(rng: Random) -> Drawn:
    first, second = rng.choice((4, 6, 8, 10)), rng.choice((6, 8, 10, 12))
    least = rng.randint(4, first + second - 2)
    sums = [a + b for a in range(1, first + 1) for b in range(1, second + 1)]
    wins, exact = sum(total >= least for total in sums), sums.count(least)
    return tuple(Fraction(ways, len(sums)) for ways in (wins, exact, len(sums) - wins)), first, second, least


@worded
def divisible_by_either(rng: Random) -> Drawn:
    p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    while q % p == 0:
        p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    top = rng.randint(60, 400)
    either = top // p + top // q - top // math.lcm(p, q)
    return (either, top - either, either), top, p, q


@worded
def divisors(rng: Random) -> Drawn:
    value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    while not 40 <= value <= 5000:
        value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    all_of_them = sum(value % d == 0 for d in range(1, value + 1))
    odd = sum(value % d == 0 for d in range(1, value + 1, 2))
    return (all_of_them, all_of_them - odd, all_of_them), value


@worded
def shortest_routes(rng: Random) -> Drawn:
    a, b = rng.randint(3, 7), rng.randint(3, 6)
    c, d = rng.randint(1, a - 1), rng.randint(1, b - 1)
    through = math.comb(c + d, c) * math.comb(a - c + b - d, a - c)
    return (through, math.comb(a + b, a) - through), a, b, c, d


@worded
def shared_work(rng: Random) -> Drawn:
    a, b = rng.sample(range(2, 16), 2)
    low, high = sorted((a, b))
    both, against = 1 / (Fraction(1, a) + Fraction(1, b)), 1 / (Fraction(1, low) - Fraction(1, high))
    return (both, both, against), a, b, low, high


CONTEST = by_name(
    modular_power, remainders, recurrence, dice, divisible_by_either, divisors, shortest_routes, shared_work,
)  # fmt: skip
