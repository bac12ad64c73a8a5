"""Math templates of school topics: one step (difficulty 1) or a few (2), numbers drawn so that the answer is clean."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from templates import Item, Template, in_turn


def linear_equation(rng: Random, number: int) -> Item:
    a, b, x = rng.randint(3, 12), rng.randint(2, 40), rng.choice([*range(-9, 0), *range(2, 16)])
    ask = in_turn(number, ("Solve {} for x.", "If {}, what is x?", "Which value of x satisfies {}?"))
    return Item(ask.format(f"{a}x + {b} = {a * x + b}"), str(x), 1)


def percent_change(rng: Random, number: int) -> Item:
    price, percent = 20 * rng.randint(2, 30), 5 * rng.randint(1, 12)
    story, sign = in_turn(
        number,
        (
            ("A jacket costs {} dollars. In the sale it is reduced by {}%. What does it cost now, in dollars?", -1),
            ("Rent of {} dollars a month goes up by {}%. What is the new rent in dollars?", 1),
            ("A tank held {} litres, then {}% of that leaked out. How many litres are left?", -1),
            ("Last year {} people came to the fair, this year the number grew by {}%. How many came this year?", 1),
        ),
    )
    return Item(story.format(price, percent), decimal(Fraction(price * (100 + sign * percent), 100)), 1)


def percentage(rng: Random, number: int) -> Item:
    whole, percent = rng.choice((20, 25, 40, 50, 60, 80, 120, 125, 150, 160, 200, 240, 250, 300)), rng.randint(3, 97)
    while whole * percent % 100:
        percent = rng.randint(3, 97)
    story = in_turn(
        number,
        (
            "Out of {} pupils, {} walk to school. What percentage is that?",
            "What percentage of {} is {}?",
            "A quiz has {} points and Ines scored {}. What is her score in percent?",
        ),
    )
    return Item(story.format(whole, whole * percent // 100), f"{percent}%", 1)


def missing_score(rng: Random, number: int) -> Item:
    scores = [rng.randint(52, 95) for _ in range(3)]
    mean = (sum(scores) + rng.randint(45, 99)) // 4
    story = in_turn(
        number,
        (
            "The mean of four numbers is {}. Three of them are {}, {} and {}. What is the fourth?",
            "Over four tests Jo wants an average of {}. The first three scores are {}, {} and {}. "
            "What must the last one be?",
            "Four parcels weigh {} kg on average. Three weigh {} kg, {} kg and {} kg. "
            "How many kg does the other one weigh?",
        ),
    )
    return Item(story.format(mean, *scores), str(4 * mean - sum(scores)), 1)


def rectangle(rng: Random, number: int) -> Item:
    width, length = rng.randint(4, 19), rng.randint(20, 45)
    story = in_turn(
        number,
        (
            "A rectangle has perimeter {} cm and one side of {} cm. What is its area in square centimetres?",
            "{} m of fence go once around a rectangular field that is {} m wide. How many square metres is the field?",
            "The border of a rectangular rug is {} dm long and the rug is {} dm wide. "
            "Find its area in square decimetres.",
        ),
    )
    return Item(story.format(2 * (width + length), width), str(width * length), 1)


def travel(rng: Random, number: int) -> Item:
    speed, hours, minutes = 2 * rng.randint(18, 60), rng.randint(2, 6), rng.choice((15, 30, 45))
    story = in_turn(
        number,
        (
            "A train runs at {} km/h for {} hours and {} minutes. How many kilometres does it cover?",
            "Driving at a steady {} km/h, how far do you get in {} h {} min? Answer in km.",
            "A pump moves {} litres an hour. How many litres does it move in {} hours {} minutes?",
        ),
    )
    return Item(story.format(speed, hours, minutes), decimal(Fraction(speed * (60 * hours + minutes), 60)), 1)


def fraction_sum(rng: Random, number: int) -> Item:
    total = Fraction(1)
    while total.denominator < 3:
        b, d = rng.sample(range(3, 13), 2)
        a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
        sign = rng.choice((1, -1)) if Fraction(a, b) > Fraction(c, d) else 1
        total = Fraction(a, b) + sign * Fraction(c, d)
    ask = in_turn(
        number, ("Compute {} as a fraction in lowest terms.", "What is {}? Reduce the fraction.", "Simplify {}.")
    )
    return Item(ask.format(f"{a}/{b} {'+' if sign > 0 else '-'} {c}/{d}"), str(total), 1)


def linear_system(rng: Random, number: int) -> Item:
    x, y = rng.sample(range(2, 13), 2)
    a, b, c, d = (rng.randint(2, 9) for _ in range(4))
    while a * d == b * c:
        d = rng.randint(2, 9)
    story = in_turn(
        number,
        (
            "{} pens and {} rulers cost {} dollars; {} pens and {} rulers cost {} dollars. "
            "How many dollars is one pen?",
            "Given {}x + {}y = {} and {}x + {}y = {}, find x.",
            "Solve the system {}x + {}y = {}, {}x + {}y = {}. What is the value of x?",
        ),
    )
    return Item(story.format(a, b, a * x + b * y, c, d, c * x + d * y), str(x), 2)


def gcd_lcm(rng: Random, number: int) -> Item:
    a, b = rng.sample(range(6, 41), 2)
    while math.gcd(a, b) in (1, a, b):
        a, b = rng.sample(range(6, 41), 2)
    least = str(math.lcm(a, b))
    common = rng.randint(2, 6)
    greatest = str(common * math.gcd(a, b))
    return in_turn(
        number,
        (
            Item(
                f"Two buses leave together. One returns every {a} minutes, the other every {b} minutes. "
                "After how many minutes do they first leave together again?",
                least,
                2,
            ),
            Item(f"Find the least common multiple of {a} and {b}.", least, 2),
            Item(
                f"Two ropes of {a * common} cm and {b * common} cm are cut into equal pieces with nothing left over. "
                "What is the greatest possible length of a piece in cm?",
                greatest,
                2,
            ),
            Item(f"What is the greatest common divisor of {a * common} and {b * common}?", greatest, 2),
        ),
    )


def arithmetic_series(rng: Random, number: int) -> Item:
    terms, first, step = rng.randint(8, 30), rng.randint(3, 25), rng.randint(2, 9)
    story = in_turn(
        number,
        (
            "A theatre has {} rows. The front row has {} seats and each further row has {} more. "
            "How many seats are there?",
            "Add the first {} terms of the arithmetic sequence that starts at {} and grows by {}.",
            "Over {} days Ravi saves {} coins on the first day and {} more each day than the day before. "
            "How many in all?",
        ),
    )
    return Item(story.format(terms, first, step), str(terms * (2 * first + (terms - 1) * step) // 2), 2)


def urn(rng: Random, number: int) -> Item:
    red, blue = rng.sample(range(3, 12), 2)
    pairs = (red + blue) * (red + blue - 1)
    story, ways = in_turn(
        number,
        (
            (
                "A bag holds {} red and {} blue balls. Two are drawn without replacement. "
                "What is the probability that both are red?",
                red * (red - 1),
            ),
            (
                "From {} apples and {} pears, two fruits are picked at random. "
                "Find the probability that they are of different kinds.",
                2 * red * blue,
            ),
            (
                "In a drawer lie {} black and {} white socks. You take two in the dark. "
                "How likely is a matching pair, as a fraction?",
                red * (red - 1) + blue * (blue - 1),
            ),
        ),
    )
    return Item(story.format(red, blue), str(Fraction(ways, pairs)), 2)


def right_triangle(rng: Random, number: int) -> Item:
    n, m = sorted(rng.sample(range(1, 6), 2))
    scale = rng.randint(1, 4)
    a, b = rng.sample([scale * (m * m - n * n), scale * 2 * m * n], 2)
    c = scale * (m * m + n * n)
    return in_turn(
        number,
        (
            Item(f"The legs of a right triangle measure {a} and {b}. How long is the hypotenuse?", str(c), 2),
            Item(
                f"A ladder {c} dm long leans on a wall, its foot {a} dm away from the wall. "
                "How many dm up the wall does it reach?",
                str(b),
                2,
            ),
            Item(
                f"The diagonal of a rectangle is {c} cm and one side is {a} cm. Find the other side in cm.", str(b), 2
            ),
            Item(f"A boat sails {a} km east, then {b} km north. How many kilometres is it from its start?", str(c), 2),
        ),
    )


def similar_triangles(rng: Random, number: int) -> Item:
    height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    while height == shadow or (shadow * factor).denominator > 1:
        height, shadow, factor = rng.randint(2, 12), rng.randint(2, 14), Fraction(rng.randint(5, 16), 2)
    story = in_turn(
        number,
        (
            "A post {} m tall casts a shadow of {} m. At the same moment a tower's shadow is {} m. "
            "How tall is the tower in m?",
            "Two triangles are similar. Sides of {} and {} in the first belong together with x and {} in "
            "the second. Find x.",
            "On a photo a door is {} cm high and {} cm wide; enlarged, it is {} cm wide. How high is it then, in cm?",
        ),
    )
    return Item(story.format(height, shadow, int(shadow * factor)), decimal(height * factor), 2)


def number_base(rng: Random, number: int) -> Item:
    base = rng.choice((3, 4, 5, 6, 7, 8))
    value = rng.randint(base**2, base**4 - 1)
    numeral, rest = "", value
    while rest:
        numeral, rest = str(rest % base) + numeral, rest // base
    return in_turn(
        number,
        (
            Item(f"Written in base {base}, a number is {numeral}. What is it in base ten?", str(value), 2),
            Item(f"Convert from base {base} to decimal: {numeral}.", str(value), 2),
            Item(
                f"A counter works in base {base} and shows {numeral}. How many events has it counted, in decimal?",
                str(value),
                2,
            ),
        ),
    )


def quadratic(rng: Random, number: int) -> Item:
    small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    while small + large == 0:
        small, large = sorted(rng.sample([*range(-12, 0), *range(1, 13)], 2))
    b, c = -(small + large), small * large
    middle = f"{'+' if b > 0 else '-'} {'' if abs(b) == 1 else abs(b)}x"
    equation = f"x^2 {middle} {'+' if c > 0 else '-'} {abs(c)} = 0"
    ask, root = in_turn(
        number,
        (
            ("What is the larger root of {}?", large),
            ("Find the smaller solution of {}.", small),
            ("Of the two numbers x with {}, which one is greater?", large),
        ),
    )
    return Item(ask.format(equation), str(root), 2)


def exponent(rng: Random, number: int) -> Item:
    base, power, shift = rng.choice((2, 2, 3, 3, 4, 5, 6, 7)), rng.randint(3, 6), rng.randint(1, 9)
    story, answer = in_turn(
        number,
        (
            ("For which x is {}^(x + {}) equal to {}?", power - shift),
            ("Solve {}^(x - {}) = {} for x.", power + shift),
            ("Let y be the logarithm of {2} to base {0}. What is {1} + y?", shift + power),
        ),
    )
    return Item(story.format(base, shift, base**power), str(answer), 2)


def decimal(value: Fraction) -> str:
    """An exact decimal without trailing zeros; the templates draw only values with at most two places."""
    if (value * 100).denominator != 1:
        raise ValueError(f"{value} has more than two decimal places")
    return f"{float(value):.2f}".rstrip("0").rstrip(".")


SCHOOL: dict[str, Template] = {
    template.__name__: template
    for template in (
        linear_equation,
        percent_change,
        percentage,
        missing_score,
        rectangle,
        travel,
        fraction_sum,
        linear_system,
        gcd_lcm,
        arithmetic_series,
        urn,
        right_triangle,
        similar_triangles,
        number_base,
        quadratic,
        exponent,
    )
}
