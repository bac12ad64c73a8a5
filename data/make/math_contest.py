"""Math templates that need an idea (difficulty 3): remainders, counting, probability, sequences, divisors, rates."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Item, Template, in_turn


def modular_power(rng: Random, number: int) -> Item:
    base, power, modulus = rng.randint(2, 19), rng.randint(20, 120), rng.choice((7, 9, 10, 11, 13, 17))
    while base % modulus in (0, 1):
        base = rng.randint(2, 19)
    ask = in_turn(
        number,
        (
            "What remainder does {}^{} leave on division by {}?",
            "Find {}^{} mod {}.",
            "If {}^{} sweets are packed in bags of {}, how many are left over?",
        ),
    )
    return Item(ask.format(base, power, modulus), str(pow(base, power, modulus)), 3)


def remainders(rng: Random, number: int) -> Item:
    p, q = rng.sample((4, 5, 7, 9, 11, 13), 2)
    value = rng.randint(p + q, p * q - 1)
    while value % p == 0 or value % q == 0 or value % p == value % q:
        value = rng.randint(p + q, p * q - 1)
    story = in_turn(
        number,
        (
            "Find the smallest positive integer that leaves remainder {} when divided by {} and remainder "
            "{} when divided by {}.",
            "Eggs are counted: {} are left over in rows of {}, and {} in rows of {}. "
            "What is the smallest possible number of eggs?",
            "A positive number is {} more than a multiple of {} and {} more than a multiple of {}. "
            "What is the least it can be?",
        ),
    )
    return Item(story.format(value % p, p, value % q, q), str(value), 3)


def recurrence(rng: Random, number: int) -> Item:
    start, factor, step, index = rng.randint(2, 9), rng.randint(2, 3), rng.randint(1, 8), rng.randint(5, 8)
    value = start
    for _ in range(index - 1):
        value = factor * value + step
    story = in_turn(
        number,
        (
            "A sequence starts at {}; each next term is {} times the last one plus {}. What is term number {}?",
            "Let a(1) = {} and a(n+1) = {}a(n) + {}. Compute a({}).",
            "Day 1 finds {} cells in a dish. Every day the count is multiplied by {}, then {} are added. "
            "How many are there on day {}?",
        ),
    )
    return Item(story.format(start, factor, step, index), str(value), 3)


def dice(rng: Random, number: int) -> Item:
    first, second = rng.choice((4, 6, 8, 10)), rng.choice((6, 8, 10, 12))
    least = rng.randint(4, first + second - 2)
    wins = sum(a + b >= least for a in range(1, first + 1) for b in range(1, second + 1))
    exact = sum(a + b == least for a in range(1, first + 1) for b in range(1, second + 1))
    story, ways = in_turn(
        number,
        (
            (
                "A die with {} sides and one with {} sides are rolled. "
                "What is the probability of a sum of at least {}?",
                wins,
            ),
            (
                "You spin two wheels, numbered 1 to {} and 1 to {}. "
                "How likely is a total of exactly {}, as a fraction?",
                exact,
            ),
            (
                "Roll two dice, one with {} and one with {} faces. "
                "Find the probability that they add up to less than {}.",
                first * second - wins,
            ),
        ),
    )
    return Item(story.format(first, second, least), str(Fraction(ways, first * second)), 3)


def divisible_by_either(rng: Random, number: int) -> Item:
    p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    while q % p == 0:
        p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    top = rng.randint(60, 400)
    either = top // p + top // q - top // math.lcm(p, q)
    story, answer = in_turn(
        number,
        (
            ("How many integers from 1 to {} are divisible by {} or {}?", either),
            ("Of the whole numbers 1 to {}, how many are multiples of neither {} nor {}?", top - either),
            (
                "Doors numbered 1 to {} get a red dot if the number is divisible by {}, a blue dot if by {}. "
                "How many doors have at least one dot?",
                either,
            ),
        ),
    )
    return Item(story.format(top, p, q), str(answer), 3)


def divisors(rng: Random, number: int) -> Item:
    value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    while not 40 <= value <= 5000:
        value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    all_of_them = sum(value % d == 0 for d in range(1, value + 1))
    odd = sum(value % d == 0 for d in range(1, value + 1, 2))
    story, answer = in_turn(
        number,
        (
            ("How many positive divisors does {} have?", all_of_them),
            ("Count the even positive divisors of {}.", all_of_them - odd),
            ("In how many ways can {} chairs be set up in equal rows? (Rows and columns are told apart.)", all_of_them),
        ),
    )
    return Item(story.format(value), str(answer), 3)


def shortest_routes(rng: Random, number: int) -> Item:
    a, b = rng.randint(3, 7), rng.randint(3, 6)
    c, d = rng.randint(1, a - 1), rng.randint(1, b - 1)
    through = math.comb(c + d, c) * math.comb(a - c + b - d, a - c)
    story, answer = in_turn(
        number,
        (
            (
                "Moving one unit right or up at a time, how many paths lead from (0, 0) to ({}, {}) through ({}, {})?",
                through,
            ),
            (
                "A robot goes from (0, 0) to ({}, {}) by unit steps right or up and must avoid ({}, {}). "
                "How many routes can it take?",
                math.comb(a + b, a) - through,
            ),
        ),
    )
    return Item(story.format(a, b, c, d), str(answer), 3)


def shared_work(rng: Random, number: int) -> Item:
    a, b = rng.sample(range(2, 16), 2)
    story, sign = in_turn(
        number,
        (
            ("One pump fills a pool in {} hours, another in {} hours. How many hours do both need together?", 1),
            ("Ada paints a fence in {} h, Bo in {} h. Working side by side, how many hours do they take?", 1),
            (
                "A tap fills a tub in {} minutes, the drain empties it in {}. "
                "With both open, after how many minutes is it full?",
                -1,
            ),
        ),
    )
    if sign < 0:
        a, b = sorted((a, b))
    return Item(story.format(a, b), str(1 / (Fraction(1, a) + sign * Fraction(1, b))), 3)


CONTEST: dict[str, Template] = {
    template.__name__: template
    for template in (
        modular_power,
        remainders,
        recurrence,
        dice,
        divisible_by_either,
        divisors,
        shortest_routes,
        shared_work,
    )
}
