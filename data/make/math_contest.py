"""Math templates that need an idea (difficulty 3): remainders, counting, probability, sequences, divisors, rates."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Drawn, by_name, worded


@worded(
    "What remainder does {}^{} leave on division by {}?",
    "Find {}^{} mod {}.",
    "If {}^{} sweets are packed in bags of {}, how many are left over?",
)
def modular_power(rng: Random) -> Drawn:
    base, power, modulus = rng.randint(2, 19), rng.randint(20, 120), rng.choice((7, 9, 10, 11, 13, 17))
    while base % modulus in (0, 1):
        base = rng.randint(2, 19)
    return pow(base, power, modulus), base, power, modulus


@worded(
    "Find the smallest positive integer that leaves remainder {} when divided by {} and remainder "
    "{} when divided by {}.",
    "Eggs are counted: {} are left over in rows of {}, and {} in rows of {}. "
    "What is the smallest possible number of eggs?",
    "A positive number is {} more than a multiple of {} and {} more than a multiple of {}. "
    "What is the least it can be?",
)
def remainders(rng: Random) -> Drawn:
    p, q = rng.sample((4, 5, 7, 9, 11, 13), 2)
    value = rng.randint(p + q, p * q - 1)
    while value % p == 0 or value % q == 0 or value % p == value % q:
        value = rng.randint(p + q, p * q - 1)
    return value, value % p, p, value % q, q


@worded(
    "A sequence starts at {}; each next term is {} times the last one plus {}. What is term number {}?",
    "Let a(1) = {} and a(n+1) = {}a(n) + {}. Compute a({}).",
    "Day 1 finds {} cells in a dish. Every day the count is multiplied by {}, then {} are added. "
    "How many are there on day {}?",
)
def recurrence(rng: Random) -> Drawn:
    start, factor, step, index = rng.randint(2, 9), rng.randint(2, 3), rng.randint(1, 8), rng.randint(5, 8)
    value = start
    for _ in range(index - 1):
        value = factor * value + step
    return value, start, factor, step, index


@worded(
    "A die with {} sides and one with {} sides are rolled. What is the probability of a sum of at least {}?",
    "You spin two wheels, numbered 1 to {} and 1 to {}. How likely is a total of exactly {}, as a fraction?",
    "Roll two dice, one with {} and one with {} faces. Find the probability that they add up to less than {}.",
)
def dice(rng: Random) -> Drawn:
    first, second = rng.choice((4, 6, 8, 10)), rng.choice((6, 8, 10, 12))
    least = rng.randint(4, first + second - 2)
    sums = [a + b for a in range(1, first + 1) for b in range(1, second + 1)]
    wins, exact = sum(total >= least for total in sums), sums.count(least)
    return tuple(Fraction(ways, len(sums)) for ways in (wins, exact, len(sums) - wins)), first, second, least


@worded(
    "How many integers from 1 to {} are divisible by {} or {}?",
    "Of the whole numbers 1 to {}, how many are multiples of neither {} nor {}?",
    "Doors numbered 1 to {} get a red dot if the number is divisible by {}, a blue dot if by {}. "
    "How many doors have at least one dot?",
)
def divisible_by_either(rng: Random) -> Drawn:
    p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    while q % p == 0:
        p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    top = rng.randint(60, 400)
    either = top // p + top // q - top // math.lcm(p, q)
    return (either, top - either, either), top, p, q


@worded(
    "How many positive divisors does {} have?",
    "Count the even positive divisors of {}.",
    "In how many ways can {} chairs be set up in equal rows? (Rows and columns are told apart.)",
)
def divisors(rng: Random) -> Drawn:
    value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    while not 40 <= value <= 5000:
        value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    all_of_them = sum(value % d == 0 for d in range(1, value + 1))
    odd = sum(value % d == 0 for d in range(1, value + 1, 2))
    return (all_of_them, all_of_them - odd, all_of_them), value


@worded(
    "Moving one unit right or up at a time, how many paths lead from (0, 0) to ({}, {}) through ({}, {})?",
    "A robot goes from (0, 0) to ({}, {}) by unit steps right or up and must avoid ({}, {}). "
    "How many routes can it take?",
)
def shortest_routes(rng: Random) -> Drawn:
    a, b = rng.randint(3, 7), rng.randint(3, 6)
    c, d = rng.randint(1, a - 1), rng.randint(1, b - 1)
    through = math.comb(c + d, c) * math.comb(a - c + b - d, a - c)
    return (through, math.comb(a + b, a) - through), a, b, c, d


@worded(
    "One pump fills a pool in {} hours, another in {} hours. How many hours do both need together?",
    "Ada paints a fence in {} h, Bo in {} h. Working side by side, how many hours do they take?",
    "A tap fills a tub in {2} minutes, the drain empties it in {3}. With both open, after how many minutes is it full?",
)
def shared_work(rng: Random) -> Drawn:
    a, b = rng.sample(range(2, 16), 2)
    low, high = sorted((a, b))
    both, against = 1 / (Fraction(1, a) + Fraction(1, b)), 1 / (Fraction(1, low) - Fraction(1, high))
    return (both, both, against), a, b, low, high


CONTEST = by_name(
    modular_power, remainders, recurrence, dice, divisible_by_either, divisors, shortest_routes, shared_work,
)  # fmt: skip
