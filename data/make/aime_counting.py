"""Contest templates that count or reason on whole numbers; every answer is a whole number from 0 to 999."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

from templates import Drawn, by_name, worded

LARGEST = 999


@worded
def digit_sum_count(rng: Random) -> Drawn:
    top, total = rng.choice((999, 1999, 2999, 4999, 9999)), rng.randint(6, 22)
    count = _digit_sums(top, total)
    while not 20 <= count <= LARGEST:
        top, total = rng.choice((999, 1999, 2999, 4999, 9999)), rng.randint(6, 22)
        count = _digit_sums(top, total)
    return count, top, total


def _digit_sums(top: int, total: int) -> int:
    return sum(sum(map(int, str(n))) == total for n in range(top + 1))


@worded
def subsets_by_sum(rng: Random) -> Drawn:
    size, modulus = rng.randint(7, 11), rng.randint(3, 6)
    ways = [1] + [0] * (modulus - 1)
    for member in range(1, size + 1):
        ways = [ways[r] + ways[(r - member) % modulus] for r in range(modulus)]
    return ways[0] - 1, size, modulus


@worded
def spaced_subsets(rng: Random) -> Drawn:
    size, gap = rng.randint(9, 15), rng.randint(2, 4)
    ways = [1] * (size + 1)  # ways[n]: subsets of {1..n}, the empty one included
    for n in range(1, size + 1):
        ways[n] = ways[n - 1] + ways[max(0, n - gap)]
    while ways[size] > LARGEST:
        size -= 1
    return ways[size], size, gap


@worded
def binary_words(rng: Random) -> Drawn:
    length, run = rng.randint(7, 11), rng.choice((3, 4))
    ways = [2**n for n in range(run)]
    while len(ways) <= length:
        ways.append(sum(ways[-run:]))
    while ways[length] > LARGEST:
        length -= 1
    return ways[length], length, run


@worded
def ring_colourings(rng: Random) -> Drawn:
    beads, colours = rng.choice([(n, k) for n in range(4, 10) for k in range(3, 7) if _ring(n, k) <= LARGEST])
    return _ring(beads, colours), beads, colours


def _ring(n: int, k: int) -> int:
    return (k - 1) ** n + (-1) ** n * (k - 1)


@worded
def fixed_points(rng: Random) -> Drawn:
    size, fixed = rng.choice([(n, k) for n in range(5, 9) for k in range(1, n - 1) if 20 <= _fixing(n, k) <= LARGEST])
    return _fixing(size, fixed), size, fixed


def _fixing(n: int, k: int) -> int:
    rest = n - k
    return math.comb(n, k) * sum((-1) ** i * (math.factorial(rest) // math.factorial(i)) for i in range(rest + 1))


@worded
def factorial_zeros(rng: Random) -> Drawn:
    top, base = rng.randint(60, 600), rng.choice((6, 12, 18, 20, 24, 45, 50, 72))
    zeros = min(_exponent(top, p) // e for p, e in _factors(base).items())
    return zeros, top, base


def _factors(n: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for p in (2, 3, 5):
        while n % p == 0:
            found[p], n = found.get(p, 0) + 1, n // p
    return found


def _exponent(top: int, p: int) -> int:
    return sum(top // p**i for i in range(1, 12))


@worded
def power_tower(rng: Random) -> Drawn:
    answer = 0
    while answer < 100:  # "the last three digits" shall not begin with a zero
        a, b, c = rng.choice([n for n in range(3, 40) if n % 2 and n % 5]), rng.randint(3, 19), rng.randint(20, 99)
        answer = pow(a, pow(b, c, 100), 1000)  # powers of a unit mod 1000 repeat after 100
    return answer, a, b, c


@worded
def reciprocal_pairs(rng: Random) -> Drawn:
    n = rng.choice([n for n in range(12, 400) if 9 <= _divisors(n * n) <= LARGEST and _divisors(n) >= 6])
    ordered = _divisors(n * n)
    return (ordered, (ordered - 1) // 2), n


def _divisors(n: int) -> int:
    return sum(1 + (d * d != n) for d in range(1, math.isqrt(n) + 1) if n % d == 0)


@worded
def first_special_card(rng: Random) -> Drawn:
    cards, special = rng.randint(12, 60), rng.randint(2, 9)
    expected = Fraction(cards + 1, special + 1)
    while expected.denominator == 1:
        cards = rng.randint(12, 60)
        expected = Fraction(cards + 1, special + 1)
    return expected.numerator + expected.denominator, cards, special


@worded
def distinct_draws(rng: Random) -> Drawn:
    faces, rolls = rng.choice([(f, r) for f in range(4, 13) for r in (3, 4) if _increasing(f, r) is not None])
    return _increasing(faces, rolls), faces, rolls


def _increasing(faces: int, rolls: int) -> int | None:
    chance = Fraction(math.comb(faces, rolls), faces**rolls)
    total = chance.numerator + chance.denominator
    return total if total <= LARGEST else None


@worded
def floor_roots(rng: Random) -> Drawn:
    total = LARGEST + 1
    while total > LARGEST:
        top, power = rng.randint(40, 130), rng.choice((2, 2, 3))
        total = sum(_root(k, power) for k in range(1, top + 1))
    return total, top, {2: "square", 3: "cube"}[power]


def _root(k: int, power: int) -> int:
    return next(r - 1 for r in itertools.count(1) if r**power > k)


COUNTING = by_name(
    digit_sum_count, subsets_by_sum, spaced_subsets, binary_words, ring_colourings, fixed_points, factorial_zeros,
    power_tower, reciprocal_pairs, first_special_card, distinct_draws, floor_roots,
)  # fmt: skip
