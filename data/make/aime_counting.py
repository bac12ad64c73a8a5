"""Contest templates that count or reason on whole numbers; every answer is a whole number from 0 to 999."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

from templates import Drawn, Item, by_name, in_turn, worded

LARGEST = 999


@worded(
    "How many whole numbers from 0 to {} have decimal digits that add up to {}?",
    "A lock shows a number between 0 and {}. How many of these numbers have digit sum {}?",
)
def digit_sum_count(rng: Random) -> Drawn:
    top, total = rng.choice((999, 1999, 2999, 4999, 9999)), rng.randint(6, 22)
    count = _digit_sums(top, total)
    while not 20 <= count <= LARGEST:
        top, total = rng.choice((999, 1999, 2999, 4999, 9999)), rng.randint(6, 22)
        count = _digit_sums(top, total)
    return count, top, total


def _digit_sums(top: int, total: int) -> int:
    return sum(sum(map(int, str(n))) == total for n in range(top + 1))


@worded(
    "How many non-empty subsets of {{1, 2, ..., {}}} have a sum divisible by {}?",
    "Weights of 1, 2, ..., {} grams stand on a shelf, one of each. In how many ways can at least one be taken "
    "so that the total in grams is a multiple of {}?",
)
def subsets_by_sum(rng: Random) -> Drawn:
    size, modulus = rng.randint(7, 11), rng.randint(3, 6)
    ways = [1] + [0] * (modulus - 1)
    for member in range(1, size + 1):
        ways = [ways[r] + ways[(r - member) % modulus] for r in range(modulus)]
    return ways[0] - 1, size, modulus


@worded(
    "How many subsets of {{1, 2, ..., {}}}, the empty set included, contain no two members that differ by less "
    "than {}?",
    "Lamps 1 to {} stand in a row. Any two lamps that are lit must have numbers at least {} apart. How many "
    "patterns of lit lamps are possible, all dark included?",
)
def spaced_subsets(rng: Random) -> Drawn:
    size, gap = rng.randint(9, 15), rng.randint(2, 4)
    ways = [1] * (size + 1)  # ways[n]: subsets of {1..n}, the empty one included
    for n in range(1, size + 1):
        ways[n] = ways[n - 1] + ways[max(0, n - gap)]
    while ways[size] > LARGEST:
        size -= 1
    return ways[size], size, gap


@worded(
    "How many words of {} letters, each an A or a B, never have {} letters B in a row?",
    "A coin is tossed {} times. In how many of the possible outcomes do heads never come {} times in a row?",
)
def binary_words(rng: Random) -> Drawn:
    length, run = rng.randint(7, 11), rng.choice((3, 4))
    ways = [2**n for n in range(run)]
    while len(ways) <= length:
        ways.append(sum(ways[-run:]))
    while ways[length] > LARGEST:
        length -= 1
    return ways[length], length, run


@worded(
    "The {} corners of a regular polygon, numbered in order, are painted with {} colours, and corners joined "
    "by a side differ in colour. How many paintings are there? (Not all colours need be used; turned "
    "paintings count separately.)",
    "A round table has {} numbered seats. Each seat gets one of {} cushions' colours so that neighbours never "
    "match. In how many ways can this be done if a colour may be left out?",
)
def ring_colourings(rng: Random) -> Drawn:
    beads, colours = rng.choice([(n, k) for n in range(4, 10) for k in range(3, 7) if _ring(n, k) <= LARGEST])
    return _ring(beads, colours), beads, colours


def _ring(n: int, k: int) -> int:
    return (k - 1) ** n + (-1) ** n * (k - 1)


@worded(
    "How many permutations of 1, 2, ..., {} leave exactly {} of the numbers in their own place?",
    "{} people put one hat each into a box and every person draws one. In how many ways do exactly {} of them "
    "get their own hat back?",
)
def fixed_points(rng: Random) -> Drawn:
    size, fixed = rng.choice([(n, k) for n in range(5, 9) for k in range(1, n - 1) if 20 <= _fixing(n, k) <= LARGEST])
    return _fixing(size, fixed), size, fixed


def _fixing(n: int, k: int) -> int:
    rest = n - k
    return math.comb(n, k) * sum((-1) ** i * (math.factorial(rest) // math.factorial(i)) for i in range(rest + 1))


@worded(
    "With how many zeros does {}! end when it is written in base {}?",
    "Let N = {}!. What is the largest k for which {}^k divides N?",
)
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


@worded(
    "What is the remainder when {}^({}^{}) is divided by 1000?",
    "Find the number that the last three decimal digits of {}^({}^{}) form.",
)
def power_tower(rng: Random) -> Drawn:
    answer = 0
    while answer < 100:  # "the last three digits" shall not begin with a zero
        a, b, c = rng.choice([n for n in range(3, 40) if n % 2 and n % 5]), rng.randint(3, 19), rng.randint(20, 99)
        answer = pow(a, pow(b, c, 100), 1000)  # powers of a unit mod 1000 repeat after 100
    return answer, a, b, c


@worded(
    "How many ordered pairs (x, y) of positive integers satisfy 1/x + 1/y = 1/{}?",
    "For how many pairs of positive integers x < y is xy = {}(x + y)?",
)
def reciprocal_pairs(rng: Random) -> Drawn:
    n = rng.choice([n for n in range(12, 400) if 9 <= _divisors(n * n) <= LARGEST and _divisors(n) >= 6])
    ordered = _divisors(n * n)
    return (ordered, (ordered - 1) // 2), n


def _divisors(n: int) -> int:
    return sum(1 + (d * d != n) for d in range(1, math.isqrt(n) + 1) if n % d == 0)


@worded(
    "A shuffled pack has {} cards, {} of them marked. Cards are turned over one by one until the first marked "
    "card shows. The expected number of cards turned, that card included, is p/q in lowest terms. Find p + q.",
    "Of {} bulbs {} are faulty. They are tested in random order up to and including the first faulty one. The "
    "mean number of tests is p/q in lowest terms. What is p + q?",
)
def first_special_card(rng: Random) -> Drawn:
    cards, special = rng.randint(12, 60), rng.randint(2, 9)
    expected = Fraction(cards + 1, special + 1)
    while expected.denominator == 1:
        cards = rng.randint(12, 60)
        expected = Fraction(cards + 1, special + 1)
    return expected.numerator + expected.denominator, cards, special


@worded(
    "A fair die with faces 1 to {} is rolled {} times. The probability that each result is greater than the "
    "one before is p/q in lowest terms. Find p + q.",
    "From balls numbered 1 to {} one is drawn and put back, {} times in all. With probability p/q, in lowest "
    "terms, the numbers drawn grow strictly. What is p + q?",
)
def distinct_draws(rng: Random) -> Drawn:
    faces, rolls = rng.choice([(f, r) for f in range(4, 13) for r in (3, 4) if _increasing(f, r) is not None])
    return _increasing(faces, rolls), faces, rolls


def _increasing(faces: int, rolls: int) -> int | None:
    chance = Fraction(math.comb(faces, rolls), faces**rolls)
    total = chance.numerator + chance.denominator
    return total if total <= LARGEST else None


def floor_roots(rng: Random, number: int) -> Item:
    top, power = rng.randint(40, 130), rng.choice((2, 2, 3))
    total = sum(_root(k, power) for k in range(1, top + 1))
    name = {2: "square", 3: "cube"}[power]
    ask = in_turn(
        number,
        (
            "For each whole number k from 1 to {} take the {} root of k and round it down. What is the sum of the "
            "results?",
            "Let f(k) be the largest integer that is not above the {1} root of k. Find f(1) + f(2) + ... + f({0}).",
        ),
    )
    if total > LARGEST:
        return floor_roots(rng, number)
    return Item(ask.format(top, name), str(total), 3)


def _root(k: int, power: int) -> int:
    return next(r - 1 for r in itertools.count(1) if r**power > k)


COUNTING = by_name(
    digit_sum_count, subsets_by_sum, spaced_subsets, binary_words, ring_colourings, fixed_points, factorial_zeros,
    power_tower, reciprocal_pairs, first_special_card, distinct_draws, floor_roots,
)  # fmt: skip
