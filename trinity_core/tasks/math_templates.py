"""Math questions: 24 templates of school and contest topics, answers exact (whole number, `3/8`, `2.5`, `35%`).

Numbers are drawn so that the answer comes out clean; the story around them varies within a template. Difficulty 1 is one
step, 2 a few, 3 an idea.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from random import Random

from trinity_core.tasks.phrasings import GENERAL
from trinity_core.tasks.templates import Item, Template, build_from_templates, in_turn
from trinity_core.types import Question, Split

FAMILY = "math"
PER_TEMPLATE = 5
PHRASINGS = GENERAL + (
    "Work out the answer. {bare}",
    "{bare} Show the main steps.",
    "This came up in my homework: {bare}",
    "{bare}\nGive the exact value.",
)


def linear_equation(rng: Random, number: int) -> Item:
    a, b, x = rng.randint(3, 12), rng.randint(2, 40), rng.choice([*range(-9, 0), *range(2, 16)])
    ask = in_turn(number, ("Solve {} for x.", "If {}, what is x?", "Which value of x satisfies {}?"))
    return Item(ask.format(f"{a}x + {b} = {a * x + b}"), str(x), 1)


def percent_change(rng: Random, number: int) -> Item:
    price, percent = 20 * rng.randint(2, 30), 5 * rng.randint(1, 12)
    story, sign = in_turn(number, (
        ("A jacket costs {} dollars. In the sale it is reduced by {}%. What does it cost now, in dollars?", -1),
        ("Rent of {} dollars a month goes up by {}%. What is the new rent in dollars?", 1),
        ("A tank held {} litres, then {}% of that leaked out. How many litres are left?", -1),
        ("Last year {} people came to the fair, this year the number grew by {}%. How many came this year?", 1),
    ))
    return Item(story.format(price, percent), _decimal(Fraction(price * (100 + sign * percent), 100)), 1)


def percentage(rng: Random, number: int) -> Item:
    whole, percent = rng.choice((20, 25, 40, 50, 60, 80, 120, 125, 150, 160, 200, 240, 250, 300)), rng.randint(3, 97)
    while whole * percent % 100:
        percent = rng.randint(3, 97)
    story = in_turn(number, (
        "Out of {} pupils, {} walk to school. What percentage is that?",
        "What percentage of {} is {}?",
        "A quiz has {} points and Ines scored {}. What is her score in percent?",
    ))
    return Item(story.format(whole, whole * percent // 100), f"{percent}%", 1)


def missing_score(rng: Random, number: int) -> Item:
    scores = [rng.randint(52, 95) for _ in range(3)]
    mean = (sum(scores) + rng.randint(45, 99)) // 4
    story = in_turn(number, (
        "The mean of four numbers is {}. Three of them are {}, {} and {}. What is the fourth?",
        "Over four tests Jo wants an average of {}. The first three scores are {}, {} and {}. What must the last one be?",
        "Four parcels weigh {} kg on average. Three weigh {} kg, {} kg and {} kg. How many kg does the other one weigh?",
    ))
    return Item(story.format(mean, *scores), str(4 * mean - sum(scores)), 1)


def rectangle(rng: Random, number: int) -> Item:
    width, length = rng.randint(4, 19), rng.randint(20, 45)
    story = in_turn(number, (
        "A rectangle has perimeter {} cm and one side of {} cm. What is its area in square centimetres?",
        "{} m of fence go once around a rectangular field that is {} m wide. How many square metres is the field?",
        "The border of a rectangular rug is {} dm long and the rug is {} dm wide. Find its area in square decimetres.",
    ))
    return Item(story.format(2 * (width + length), width), str(width * length), 1)


def travel(rng: Random, number: int) -> Item:
    speed, hours, minutes = 4 * rng.randint(9, 30), rng.randint(2, 6), rng.choice((15, 30, 45))
    story = in_turn(number, (
        "A train runs at {} km/h for {} hours and {} minutes. How many kilometres does it cover?",
        "Driving at a steady {} km/h, how far do you get in {} h {} min? Answer in km.",
        "A pump moves {} litres an hour. How many litres does it move in {} hours {} minutes?",
    ))
    return Item(story.format(speed, hours, minutes), _decimal(Fraction(speed * (60 * hours + minutes), 60)), 1)


def fraction_sum(rng: Random, number: int) -> Item:
    total = Fraction(1)
    while total.denominator < 3:
        b, d = rng.sample(range(3, 13), 2)
        a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
        sign = rng.choice((1, -1)) if Fraction(a, b) > Fraction(c, d) else 1
        total = Fraction(a, b) + sign * Fraction(c, d)
    ask = in_turn(number, ("Compute {} as a fraction in lowest terms.", "What is {}? Reduce the fraction.", "Simplify {}."))
    return Item(ask.format(f"{a}/{b} {'+' if sign > 0 else '-'} {c}/{d}"), str(total), 1)


def linear_system(rng: Random, number: int) -> Item:
    x, y = rng.sample(range(2, 13), 2)
    a, b, c, d = (rng.randint(2, 9) for _ in range(4))
    while a * d == b * c:
        d = rng.randint(2, 9)
    story = in_turn(number, (
        "{} pens and {} rulers cost {} dollars; {} pens and {} rulers cost {} dollars. How many dollars is one pen?",
        "Given {}x + {}y = {} and {}x + {}y = {}, find x.",
        "Solve the system {}x + {}y = {}, {}x + {}y = {}. What is the value of x?",
    ))
    return Item(story.format(a, b, a * x + b * y, c, d, c * x + d * y), str(x), 2)


def gcd_lcm(rng: Random, number: int) -> Item:
    a, b = rng.sample(range(6, 41), 2)
    while math.gcd(a, b) in (1, a, b):
        a, b = rng.sample(range(6, 41), 2)
    least = str(math.lcm(a, b))
    common = rng.randint(2, 6)
    greatest = str(common * math.gcd(a, b))
    return in_turn(number, (
        Item(f"Two buses leave together. One returns every {a} minutes, the other every {b} minutes. "
             "After how many minutes do they first leave together again?", least, 2),
        Item(f"Find the least common multiple of {a} and {b}.", least, 2),
        Item(f"Two ropes of {a * common} cm and {b * common} cm are cut into equal pieces with nothing left over. "
             "What is the greatest possible length of a piece in cm?", greatest, 2),
        Item(f"What is the greatest common divisor of {a * common} and {b * common}?", greatest, 2),
    ))


def arithmetic_series(rng: Random, number: int) -> Item:
    terms, first, step = rng.randint(8, 30), rng.randint(3, 25), rng.randint(2, 9)
    story = in_turn(number, (
        "A theatre has {} rows. The front row has {} seats and each further row has {} more. How many seats are there?",
        "Add the first {} terms of the arithmetic sequence that starts at {} and grows by {}.",
        "Over {} days Ravi saves {} coins on the first day and {} more each day than the day before. How many in all?",
    ))
    return Item(story.format(terms, first, step), str(terms * (2 * first + (terms - 1) * step) // 2), 2)


def urn(rng: Random, number: int) -> Item:
    red, blue = rng.sample(range(3, 12), 2)
    pairs = (red + blue) * (red + blue - 1)
    story, ways = in_turn(number, (
        ("A bag holds {} red and {} blue balls. Two are drawn without replacement. "
         "What is the probability that both are red?", red * (red - 1)),
        ("From {} apples and {} pears, two fruits are picked at random. "
         "Find the probability that they are of different kinds.", 2 * red * blue),
        ("In a drawer lie {} black and {} white socks. You take two in the dark. "
         "How likely is a matching pair, as a fraction?", red * (red - 1) + blue * (blue - 1)),
    ))
    return Item(story.format(red, blue), str(Fraction(ways, pairs)), 2)


def right_triangle(rng: Random, number: int) -> Item:
    n, m = sorted(rng.sample(range(1, 6), 2))
    scale = rng.randint(1, 4)
    a, b = rng.sample([scale * (m * m - n * n), scale * 2 * m * n], 2)
    c = scale * (m * m + n * n)
    return in_turn(number, (
        Item(f"The legs of a right triangle measure {a} and {b}. How long is the hypotenuse?", str(c), 2),
        Item(f"A ladder {c} dm long leans on a wall, its foot {a} dm away from the wall. "
             "How many dm up the wall does it reach?", str(b), 2),
        Item(f"The diagonal of a rectangle is {c} cm and one side is {a} cm. Find the other side in cm.", str(b), 2),
        Item(f"A boat sails {a} km east, then {b} km north. How many kilometres is it from its start?", str(c), 2),
    ))


def similar_triangles(rng: Random, number: int) -> Item:
    height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    while height == shadow or (shadow * factor).denominator > 1:
        height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    story = in_turn(number, (
        "A post {} m tall casts a shadow of {} m. At the same moment a tower's shadow is {} m. How tall is the tower in m?",
        "Two triangles are similar. Sides of {} and {} in the first belong together with x and {} in the second. Find x.",
        "On a photo a door is {} cm high and {} cm wide; enlarged, it is {} cm wide. How high is it then, in cm?",
    ))
    return Item(story.format(height, shadow, int(shadow * factor)), _decimal(height * factor), 2)


def number_base(rng: Random, number: int) -> Item:
    base = rng.choice((3, 4, 5, 6, 7, 8))
    value = rng.randint(base**2, base**4 - 1)
    numeral, rest = "", value
    while rest:
        numeral, rest = str(rest % base) + numeral, rest // base
    return in_turn(number, (
        Item(f"Written in base {base}, a number is {numeral}. What is it in base ten?", str(value), 2),
        Item(f"Convert from base {base} to decimal: {numeral}.", str(value), 2),
        Item(f"A counter works in base {base} and shows {numeral}. How many events has it counted, in decimal?",
             str(value), 2),
    ))


def quadratic(rng: Random, number: int) -> Item:
    small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    while small + large == 0:
        small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    b, c = -(small + large), small * large
    middle = f"{'+' if b > 0 else '-'} {'' if abs(b) == 1 else abs(b)}x"
    equation = f"x^2 {middle} {'+' if c > 0 else '-'} {abs(c)} = 0"
    ask, root = in_turn(number, (
        ("What is the larger root of {}?", large),
        ("Find the smaller solution of {}.", small),
        ("Of the two numbers x with {}, which one is greater?", large),
    ))
    return Item(ask.format(equation), str(root), 2)


def exponent(rng: Random, number: int) -> Item:
    base, power, shift = rng.choice((2, 2, 3, 3, 4, 5, 6, 7)), rng.randint(3, 6), rng.randint(1, 9)
    story, answer = in_turn(number, (
        ("For which x is {}^(x + {}) equal to {}?", power - shift),
        ("Solve {}^(x - {}) = {} for x.", power + shift),
        ("Let y be the logarithm of {2} to base {0}. What is {1} + y?", shift + power),
    ))
    return Item(story.format(base, shift, base**power), str(answer), 2)


def modular_power(rng: Random, number: int) -> Item:
    base, power, modulus = rng.randint(2, 19), rng.randint(20, 120), rng.choice((7, 9, 10, 11, 13, 17))
    while base % modulus in (0, 1):
        base = rng.randint(2, 19)
    ask = in_turn(number, (
        "What remainder does {}^{} leave on division by {}?",
        "Find {}^{} mod {}.",
        "If {}^{} sweets are packed in bags of {}, how many are left over?",
    ))
    return Item(ask.format(base, power, modulus), str(pow(base, power, modulus)), 3)


def remainders(rng: Random, number: int) -> Item:
    p, q = rng.sample((4, 5, 7, 9, 11, 13), 2)
    value = rng.randint(p + q, p * q - 1)
    while value % p == 0 or value % q == 0 or value % p == value % q:
        value = rng.randint(p + q, p * q - 1)
    story = in_turn(number, (
        "Find the smallest positive integer that leaves remainder {} when divided by {} and remainder {} when divided by {}.",
        "Eggs are counted: {} are left over in rows of {}, and {} in rows of {}. What is the smallest possible number of eggs?",
        "A positive number is {} more than a multiple of {} and {} more than a multiple of {}. What is the least it can be?",
    ))
    return Item(story.format(value % p, p, value % q, q), str(value), 3)


def recurrence(rng: Random, number: int) -> Item:
    start, factor, step, index = rng.randint(1, 9), rng.randint(2, 3), rng.randint(1, 8), rng.randint(5, 8)
    value = start
    for _ in range(index - 1):
        value = factor * value + step
    story = in_turn(number, (
        "A sequence starts at {}; each next term is {} times the last one plus {}. What is term number {}?",
        "Let a(1) = {} and a(n+1) = {}a(n) + {}. Compute a({}).",
        "Day 1 finds {} cells in a dish. Every day the count is multiplied by {}, then {} are added. "
        "How many are there on day {}?",
    ))
    return Item(story.format(start, factor, step, index), str(value), 3)


def dice(rng: Random, number: int) -> Item:
    first, second = rng.choice((4, 6, 8, 10)), rng.choice((6, 8, 10, 12))
    least = rng.randint(4, first + second - 2)
    wins = sum(a + b >= least for a in range(1, first + 1) for b in range(1, second + 1))
    exact = sum(a + b == least for a in range(1, first + 1) for b in range(1, second + 1))
    story, ways = in_turn(number, (
        ("A die with {} sides and one with {} sides are rolled. What is the probability of a sum of at least {}?", wins),
        ("You spin two wheels, numbered 1 to {} and 1 to {}. How likely is a total of exactly {}, as a fraction?", exact),
        ("Roll two dice, one with {} and one with {} faces. Find the probability that they add up to less than {}.",
         first * second - wins),
    ))
    return Item(story.format(first, second, least), str(Fraction(ways, first * second)), 3)


def divisible_by_either(rng: Random, number: int) -> Item:
    p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    while q % p == 0:
        p, q = sorted(rng.sample((3, 4, 5, 6, 7, 8, 9, 10, 12), 2))
    top = rng.randint(60, 400)
    either = top // p + top // q - top // math.lcm(p, q)
    story, answer = in_turn(number, (
        ("How many integers from 1 to {} are divisible by {} or {}?", either),
        ("Of the whole numbers 1 to {}, how many are multiples of neither {} nor {}?", top - either),
        ("Doors numbered 1 to {} get a red dot if the number is divisible by {}, a blue dot if by {}. "
         "How many doors have at least one dot?", either),
    ))
    return Item(story.format(top, p, q), str(answer), 3)


def divisors(rng: Random, number: int) -> Item:
    value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    while not 40 <= value <= 5000:
        value = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    all_of_them = sum(value % d == 0 for d in range(1, value + 1))
    odd = sum(value % d == 0 for d in range(1, value + 1, 2))
    story, answer = in_turn(number, (
        ("How many positive divisors does {} have?", all_of_them),
        ("Count the even positive divisors of {}.", all_of_them - odd),
        ("In how many ways can {} chairs be set up in equal rows? (Rows and columns are told apart.)", all_of_them),
    ))
    return Item(story.format(value), str(answer), 3)


def shortest_routes(rng: Random, number: int) -> Item:
    a, b = rng.randint(3, 7), rng.randint(3, 6)
    c, d = rng.randint(1, a - 1), rng.randint(1, b - 1)
    through = math.comb(c + d, c) * math.comb(a - c + b - d, a - c)
    story, answer = in_turn(number, (
        ("Moving one unit right or up at a time, how many paths lead from (0, 0) to ({}, {}) through ({}, {})?", through),
        ("A robot goes from (0, 0) to ({}, {}) by unit steps right or up and must avoid ({}, {}). "
         "How many routes can it take?", math.comb(a + b, a) - through),
    ))
    return Item(story.format(a, b, c, d), str(answer), 3)


def shared_work(rng: Random, number: int) -> Item:
    a, b = rng.sample(range(2, 16), 2)
    story, sign = in_turn(number, (
        ("One pump fills a pool in {} hours, another in {} hours. How many hours do both need together?", 1),
        ("Ada paints a fence in {} h, Bo in {} h. Working side by side, how many hours do they take?", 1),
        ("A tap fills a tub in {} minutes, the drain empties it in {}. With both open, after how many minutes is it full?",
         -1),
    ))
    if sign < 0:
        a, b = sorted((a, b))
    return Item(story.format(a, b), str(1 / (Fraction(1, a) + sign * Fraction(1, b))), 3)


TEMPLATES: dict[str, Template] = {
    template.__name__: template
    for template in (
        linear_equation, percent_change, percentage, missing_score, rectangle, travel, fraction_sum,
        linear_system, gcd_lcm, arithmetic_series, urn, right_triangle, similar_triangles, number_base, quadratic, exponent,
        modular_power, remainders, recurrence, dice, divisible_by_either, divisors, shortest_routes, shared_work,
    )
}  # fmt: skip


def build(split: Split) -> list[Question]:
    """The 120 questions of a split; the same numbers never come twice in a template, whatever the story."""
    return build_from_templates(FAMILY, "math", split, TEMPLATES, PHRASINGS, PER_TEMPLATE, content=_numbers)


def _numbers(bare: str) -> tuple[str, ...]:
    """The numbers of a text in reading order."""
    return tuple(re.findall(r"\d+", bare))


def _decimal(value: Fraction) -> str:
    """An exact decimal without trailing zeros; the templates draw only values with at most two places."""
    if (value * 100).denominator != 1:
        raise ValueError(f"{value} has more than two decimal places")
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
