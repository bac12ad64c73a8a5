"""Math templates of school topics: one step (difficulty 1) or a few (2), numbers drawn so that the answer is clean."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Drawn, by_name, worded


@worded("Solve {} for x.", "If {}, what is x?", "Which value of x satisfies {}?", difficulty=1)
def linear_equation(rng: Random) -> Drawn:
    a, b, x = rng.randint(3, 12), rng.randint(2, 40), rng.choice([*range(-9, 0), *range(2, 16)])
    return x, f"{a}x + {b} = {a * x + b}"


@worded(
    "A jacket costs {} dollars. In the sale it is reduced by {}%. What does it cost now, in dollars?",
    "Rent of {} dollars a month goes up by {}%. What is the new rent in dollars?",
    "A tank held {} litres, then {}% of that leaked out. How many litres are left?",
    "Last year {} people came to the fair, this year the number grew by {}%. How many came this year?",
    difficulty=1,
)
def percent_change(rng: Random) -> Drawn:
    price, percent = 20 * rng.randint(2, 30), 5 * rng.randint(1, 12)
    less, more = (decimal(Fraction(price * (100 + change), 100)) for change in (-percent, percent))
    return (less, more, less, more), price, percent


@worded(
    "Out of {} pupils, {} walk to school. What percentage is that?",
    "What percentage of {} is {}?",
    "A quiz has {} points and Ines scored {}. What is her score in percent?",
    difficulty=1,
)
def percentage(rng: Random) -> Drawn:
    whole, percent = rng.choice((20, 25, 40, 50, 60, 80, 120, 125, 150, 160, 200, 240, 250, 300)), rng.randint(3, 97)
    while whole * percent % 100:
        percent = rng.randint(3, 97)
    return f"{percent}%", whole, whole * percent // 100


@worded(
    "The mean of four numbers is {}. Three of them are {}, {} and {}. What is the fourth?",
    "Over four tests Jo wants an average of {}. The first three scores are {}, {} and {}. What must the last one be?",
    "Four parcels weigh {} kg on average. Three weigh {} kg, {} kg and {} kg. How many kg does the other one weigh?",
    difficulty=1,
)
def missing_score(rng: Random) -> Drawn:
    scores = [rng.randint(52, 95) for _ in range(3)]
    mean = (sum(scores) + rng.randint(45, 99)) // 4
    return 4 * mean - sum(scores), mean, *scores


@worded(
    "A rectangle has perimeter {} cm and one side of {} cm. What is its area in square centimetres?",
    "{} m of fence go once around a rectangular field that is {} m wide. How many square metres is the field?",
    "The border of a rectangular rug is {} dm long and the rug is {} dm wide. Find its area in square decimetres.",
    difficulty=1,
)
def rectangle(rng: Random) -> Drawn:
    width, length = rng.randint(4, 19), rng.randint(20, 45)
    return width * length, 2 * (width + length), width


@worded(
    "A train runs at {} km/h for {} hours and {} minutes. How many kilometres does it cover?",
    "Driving at a steady {} km/h, how far do you get in {} h {} min? Answer in km.",
    "A pump moves {} litres an hour. How many litres does it move in {} hours {} minutes?",
    difficulty=1,
)
def travel(rng: Random) -> Drawn:
    speed, hours, minutes = 2 * rng.randint(18, 60), rng.randint(2, 6), rng.choice((15, 30, 45))
    return decimal(Fraction(speed * (60 * hours + minutes), 60)), speed, hours, minutes


@worded("Compute {} as a fraction in lowest terms.", "What is {}? Reduce the fraction.", "Simplify {}.", difficulty=1)
def fraction_sum(rng: Random) -> Drawn:
    total = Fraction(1)
    while total.denominator < 3:
        b, d = rng.sample(range(3, 13), 2)
        a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
        sign = rng.choice((1, -1)) if Fraction(a, b) > Fraction(c, d) else 1
        total = Fraction(a, b) + sign * Fraction(c, d)
    return total, f"{a}/{b} {'+' if sign > 0 else '-'} {c}/{d}"


@worded(
    "{} pens and {} rulers cost {} dollars; {} pens and {} rulers cost {} dollars. How many dollars is one pen?",
    "Given {}x + {}y = {} and {}x + {}y = {}, find x.",
    "Solve the system {}x + {}y = {}, {}x + {}y = {}. What is the value of x?",
    difficulty=2,
)
def linear_system(rng: Random) -> Drawn:
    x, y = rng.sample(range(2, 13), 2)
    a, b, c, d = (rng.randint(2, 9) for _ in range(4))
    while a * d == b * c:
        d = rng.randint(2, 9)
    return x, a, b, a * x + b * y, c, d, c * x + d * y


@worded(
    "Two buses leave together. One returns every {0} minutes, the other every {1} minutes. "
    "After how many minutes do they first leave together again?",
    "Find the least common multiple of {0} and {1}.",
    "Two ropes of {2} cm and {3} cm are cut into equal pieces with nothing left over. "
    "What is the greatest possible length of a piece in cm?",
    "What is the greatest common divisor of {2} and {3}?",
    difficulty=2,
)
def gcd_lcm(rng: Random) -> Drawn:
    a, b = rng.sample(range(6, 41), 2)
    while math.gcd(a, b) in (1, a, b):
        a, b = rng.sample(range(6, 41), 2)
    common = rng.randint(2, 6)
    least, greatest = math.lcm(a, b), common * math.gcd(a, b)
    return (least, least, greatest, greatest), a, b, a * common, b * common


@worded(
    "A theatre has {} rows. The front row has {} seats and each further row has {} more. How many seats are there?",
    "Add the first {} terms of the arithmetic sequence that starts at {} and grows by {}.",
    "Over {} days Ravi saves {} coins on the first day and {} more each day than the day before. How many in all?",
    difficulty=2,
)
def arithmetic_series(rng: Random) -> Drawn:
    terms, first, step = rng.randint(8, 30), rng.randint(3, 25), rng.randint(2, 9)
    return terms * (2 * first + (terms - 1) * step) // 2, terms, first, step


@worded(
    "A bag holds {} red and {} blue balls. Two are drawn without replacement. "
    "What is the probability that both are red?",
    "From {} apples and {} pears, two fruits are picked at random. "
    "Find the probability that they are of different kinds.",
    "In a drawer lie {} black and {} white socks. You take two in the dark. "
    "How likely is a matching pair, as a fraction?",
    difficulty=2,
)
def urn(rng: Random) -> Drawn:
    red, blue = rng.sample(range(3, 12), 2)
    both_red, mixed, both_blue = red * (red - 1), 2 * red * blue, blue * (blue - 1)
    pairs = both_red + mixed + both_blue
    return tuple(Fraction(ways, pairs) for ways in (both_red, mixed, both_red + both_blue)), red, blue


@worded(
    "The legs of a right triangle measure {0} and {1}. How long is the hypotenuse?",
    "A ladder {2} dm long leans on a wall, its foot {0} dm away from the wall. How many dm up the wall does it reach?",
    "The diagonal of a rectangle is {2} cm and one side is {0} cm. Find the other side in cm.",
    "A boat sails {0} km east, then {1} km north. How many kilometres is it from its start?",
    difficulty=2,
)
def right_triangle(rng: Random) -> Drawn:
    n, m = sorted(rng.sample(range(1, 6), 2))
    scale = rng.randint(1, 4)
    a, b = rng.sample([scale * (m * m - n * n), scale * 2 * m * n], 2)
    c = scale * (m * m + n * n)
    return (c, b, b, c), a, b, c


@worded(
    "A post {} m tall casts a shadow of {} m. At the same moment a tower's shadow is {} m. How tall is the tower in m?",
    "Two triangles are similar. Sides of {} and {} in the first belong together with x and {} in the second. Find x.",
    "On a photo a door is {} cm high and {} cm wide; enlarged, it is {} cm wide. How high is it then, in cm?",
    difficulty=2,
)
def similar_triangles(rng: Random) -> Drawn:
    height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    while height == shadow or (shadow * factor).denominator > 1:
        height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    return decimal(height * factor), height, shadow, int(shadow * factor)


@worded(
    "Written in base {}, a number is {}. What is it in base ten?",
    "Convert from base {} to decimal: {}.",
    "A counter works in base {} and shows {}. How many events has it counted, in decimal?",
    difficulty=2,
)
def number_base(rng: Random) -> Drawn:
    base = rng.choice((3, 4, 5, 6, 7, 8))
    value = rng.randint(base**2, base**4 - 1)
    numeral, rest = "", value
    while rest:
        numeral, rest = str(rest % base) + numeral, rest // base
    return value, base, numeral


@worded(
    "What is the larger root of {}?",
    "Find the smaller solution of {}.",
    "Of the two numbers x with {}, which one is greater?",
    difficulty=2,
)
def quadratic(rng: Random) -> Drawn:
    small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    while small + large == 0:
        small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    b, c = -(small + large), small * large
    middle = f"{'+' if b > 0 else '-'} {'' if abs(b) == 1 else abs(b)}x"
    equation = f"x^2 {middle} {'+' if c > 0 else '-'} {abs(c)} = 0"
    return (large, small, large), equation


@worded(
    "For which x is {}^(x + {}) equal to {}?",
    "Solve {}^(x - {}) = {} for x.",
    "Let y be the logarithm of {2} to base {0}. What is {1} + y?",
    difficulty=2,
)
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
