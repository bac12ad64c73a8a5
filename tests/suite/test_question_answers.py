"""Every math and reasoning answer, found again from the question's text alone by another way (search, simulation)."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from questions import TEMPLATES

from suite.questions import load_questions

SOLVERS: dict[str, Callable[[str], object]] = {}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
COMPASS = ["north", "east", "south", "west"]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth"]


def solver(function: Callable[[str], object]) -> Callable[[str], object]:
    SOLVERS[function.__name__] = function
    return function


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def only(found) -> object:
    """The one element; an answer found twice with different values would be an ambiguous question."""
    found = set(found)
    assert len(found) == 1, f"not exactly one answer: {found}"
    return found.pop()


# --- math: numbers are read from the text, the answer is searched for


@solver
def linear_equation(text):
    a, b, c = map(int, re.search(r"(\d+)x \+ (\d+) = (-?\d+)", text).groups())
    return only(x for x in range(-99, 100) if a * x + b == c)


@solver
def percent_change(text):
    amount, percent = numbers(text)
    change = sum(Fraction(amount, 100) for _ in range(percent))
    return amount - change if re.search("reduced|leaked", text) else amount + change


@solver
def percentage(text):
    whole, part = numbers(text)
    return f"{only(p for p in range(101) if whole * p == 100 * part)}%"


@solver
def missing_score(text):
    mean, *known = numbers(text)
    return only(x for x in range(400) if sum([*known, x]) == 4 * mean)


@solver
def rectangle(text):
    around, side = numbers(text)
    return only(side * other for other in range(1, around) if side + other + side + other == around)


@solver
def travel(text):
    speed, hours, minutes = numbers(text)
    return sum(Fraction(speed, 60) for _ in range(hours * 60 + minutes))


@solver
def fraction_sum(text):
    a, b, sign, c, d = re.search(r"(\d+)/(\d+) ([+-]) (\d+)/(\d+)", text).groups()
    top = int(a) * int(d) + (1 if sign == "+" else -1) * int(c) * int(b)
    shared = math.gcd(top, int(b) * int(d))
    return f"{top // shared}/{int(b) * int(d) // shared}"


@solver
def linear_system(text):
    a, b, e, c, d, f = numbers(text)
    return only(x for x in range(60) for y in range(60) if a * x + b * y == e and c * x + d * y == f)


@solver
def gcd_lcm(text):
    a, b = numbers(text)
    if "greatest" in text:
        return max(d for d in range(1, a + 1) if a % d == b % d == 0)
    return next(m for m in itertools.count(1) if m % a == m % b == 0)


@solver
def arithmetic_series(text):
    terms, first, step = numbers(text)
    return sum(itertools.islice(itertools.count(first, step), terms))


@solver
def urn(text):
    first, second = numbers(text)
    pairs = list(itertools.combinations("r" * first + "b" * second, 2))
    if "both are red" in text:
        wins = [p for p in pairs if p == ("r", "r")]
    else:
        wins = [p for p in pairs if (p[0] == p[1]) == ("matching" in text)]
    return Fraction(len(wins), len(pairs))


@solver
def right_triangle(text):
    a, b = numbers(text)
    if re.search("ladder|diagonal", text):
        return only(x for x in range(1, a) if x * x + b * b == a * a)
    return only(x for x in range(1, a + b) if x * x == a * a + b * b)


@solver
def similar_triangles(text):
    height, base, other = numbers(text)
    return only(Fraction(x, 4) for x in range(2000) if Fraction(x, 4) / other == Fraction(height, base))


@solver
def number_base(text):
    base, numeral = re.findall(r"\d+", text)
    return int(numeral, int(base))


@solver
def quadratic(text):
    b_sign, b, c_sign, c = re.search(r"x\^2 ([+-]) (\d*)x ([+-]) (\d+) = 0", text).groups()
    b, c = int(b_sign + (b or "1")), int(c_sign + c)
    roots = [x for x in range(-200, 201) if x * x + b * x + c == 0]
    assert len(roots) == 2
    return min(roots) if "smaller" in text else max(roots)


@solver
def exponent(text):
    if "logarithm" in text:
        value, base, shift = numbers(text)
        return only(shift + y for y in range(40) if base**y == value)
    base, shift, value = numbers(text)
    shift = -shift if "x -" in text else shift
    return only(x for x in range(-40, 40) if Fraction(base) ** (x + shift) == value)


@solver
def modular_power(text):
    base, power, modulus = numbers(text)
    rest = 1
    for _ in range(power):
        rest = rest * base % modulus
    return rest


@solver
def remainders(text):
    r, p, s, q = numbers(text)
    return next(n for n in itertools.count(1) if n % p == r and n % q == s)


@solver
def recurrence(text):
    found = numbers(text.replace("a(1)", "").replace("a(n+1)", ""))
    if "day" in text:
        found = found[1:]  # "Day 1"
    start, factor, step, index = found
    power = factor ** (index - 1)
    return start * power + step * (power - 1) // (factor - 1)


@solver
def dice(text):
    a, b, bound = numbers(text.replace("1 to ", ""))
    sums = [i + j for i, j in itertools.product(range(1, a + 1), range(1, b + 1))]
    if "at least" in text:
        wins = [s for s in sums if s >= bound]
    else:
        wins = [s for s in sums if s < bound] if "less than" in text else [s for s in sums if s == bound]
    return Fraction(len(wins), a * b)


@solver
def divisible_by_either(text):
    one, top, p, q = numbers(text)
    assert one == 1
    hit = {n for n in range(1, top + 1) if n % p == 0 or n % q == 0}
    return top - len(hit) if "neither" in text else len(hit)


@solver
def divisors(text):
    (n,) = numbers(text)
    found = {d for i in range(1, math.isqrt(n) + 1) if n % i == 0 for d in (i, n // i)}
    return sum(d % 2 == 0 for d in found) if "even" in text else len(found)


@solver
def shortest_routes(text):
    _, _, a, b, c, d = numbers(text)
    ways = {}
    for x, y in itertools.product(range(a + 1), range(b + 1)):
        ways[x, y] = 1 if x == y == 0 else ways.get((x - 1, y), 0) + ways.get((x, y - 1), 0)
        if (x, y) == (c, d):
            ways[x, y] = 0
    return ways[a, b] if "avoid" in text else math.comb(a + b, a) - ways[a, b]


@solver
def shared_work(text):
    a, b = numbers(text)
    sign = -1 if "drain" in text else 1
    answer = Fraction(a * b, b + sign * a)
    assert answer / a + sign * answer / b == 1
    return answer


# --- reasoning: facts are read from the text, all cases are tried


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?])\s+", text)


@solver
def ordering(text):
    *facts, ask = sentences(text)
    most = re.search(r"Who is the (\w+) (\w+)\?", ask)
    upward = {"taller", "older", "faster", "richer"}
    pairs = []
    for fact in facts:
        a, word, b = re.fullmatch(r"(\w+) is (\w+) than (\w+)\.", fact).groups()
        pairs.append((a, b) if word in upward else (b, a))
    people = sorted({p for pair in pairs for p in pair})
    orders = [o for o in itertools.permutations(people) if all(o.index(a) < o.index(b) for a, b in pairs)]
    assert most[2] in ("tallest", "oldest", "fastest", "richest")
    return only(o[ORDINALS.index(most[1])] for o in orders)


@solver
def calendar(text):
    weekday = DAYS.index(re.search("|".join(DAYS), text)[0])
    start = datetime.date(2024, 1, 1 + weekday)  # 1 January 2024 was a Monday
    found = numbers(text)
    if "of a month" in text:
        days = found[1] - found[0]
    elif "before today" in text:
        days = -2 - found[0]
    else:
        days = found[0]
    return DAYS[(start + datetime.timedelta(days=days)).weekday()]


@solver
def family_relation(text):
    if count := re.search(r"(\w+) has (\d+) brothers and (\d+) sisters\. (\w+) is one of the (brothers|sisters)", text):
        owner, brothers, sisters, other, which = count.groups()
        assert f"has {other}?" in text
        if which == "brothers":  # the owner is then a sister who counts for her brother, and he not for himself
            assert "How many sisters" in text
            return int(sisters) + 1
        assert "How many brothers" in text
        return int(brothers) + 1
    steps = {
        "mother": "U",
        "father": "U",
        "sister": "UD",
        "brother": "UD",
        "daughter": "D",
        "son": "D",
        "wife": "M",
        "husband": "M",
    }
    of = {a: (b, word) for a, b, word in re.findall(r"(\w+) is (\w+)'s (\w+)\.", text)}
    a, c = re.search(r"(?:How is|What is) (\w+) (?:related to|to) (\w+)\?", text).groups()
    b, first = of[a]
    end, second = of[b]
    assert end == c and len(of) == 2
    woman = first in ("mother", "sister", "daughter", "wife")
    names = {
        "UU": ("grandmother", "grandfather"),
        "UUD": ("aunt", "uncle"),
        "UDD": ("niece", "nephew"),
        "DD": ("granddaughter", "grandson"),
        "MU": ("mother-in-law", "father-in-law"),
    }
    return names[steps[second] + steps[first]][0 if woman else 1]


@solver
def knights_and_knaves(text):
    said = re.findall(r'(\w+) says: "([^"]+)"', text)
    people = [name for name, _ in said]

    def holds(claim: str, speaker: str, knight: dict[str, bool]) -> bool:
        if claim.startswith("All of us"):
            return not any(knight.values())
        if claim.startswith("At least one of us"):
            return not all(knight.values())
        other = claim.split()[0]
        if "same kind" in claim or "different kinds" in claim:
            return (knight[other] == knight[speaker]) == ("same" in claim)
        return knight[other] == claim.endswith("knight.")

    worlds = [dict(zip(people, kinds, strict=True)) for kinds in itertools.product([True, False], repeat=len(people))]
    worlds = [w for w in worlds if all(w[name] == holds(claim, name, w) for name, claim in said)]
    asked = re.search(r"Is (\w+) a knight or a knave", text)[1]
    assert len(worlds) == 1
    return "knight" if worlds[0][asked] else "knave"


@solver
def syllogism(text):
    found = re.findall(r"\b(all|no|some) (\w+) are (not )?(\w+)", text, re.IGNORECASE)
    assert len(found) == 3
    kinds = sorted({kind for _, a, _, b in found for kind in (a, b)})
    assert len(kinds) == 3

    def holds(statement, world) -> bool:
        word, a, negated, b = statement
        both = any({a, b} <= thing for thing in world)
        a_without_b = any(a in thing and b not in thing for thing in world)
        if word.lower() == "some":
            return a_without_b if negated else both
        return not both if word.lower() == "no" else not a_without_b

    things = [frozenset(k) for n in range(1, 4) for k in itertools.combinations(kinds, n)]
    worlds = [w for n in range(8) for w in itertools.combinations(things, n)]
    worlds = [w for w in worlds if holds(found[0], w) and holds(found[1], w)]
    # the same verdict whether or not an empty kind is allowed: no question turns on existential import
    peopled = [w for w in worlds if all(any(kind in thing for thing in w) for kind in kinds)]
    return only("yes" if all(holds(found[2], w) for w in some) else "no" for some in (worlds, peopled))


@solver
def letters(text):
    if "backwards" in text:
        word, place = re.search(r"word (\w+) backwards\. What is its (\w+) letter", text).groups()
        return word[-1 - ORDINALS.index(place)]
    if "Cross out" in text:
        return re.sub("[aeiou]", "", re.search(r"u in (\w+)\.", text)[1])
    if "code" in text:
        coded = re.search(r"written (\w+)\?", text)[1]
        return "".join("z" if letter == "a" else chr(ord(letter) - 1) for letter in coded)
    first, second = re.search(r"both (\w+) and (\w+)\?", text).groups()
    return sum(letter in first and letter in second for letter in "abcdefghijklmnopqrstuvwxyz")


@solver
def alphabetical(text):
    words = re.search(r"((?:\w+, ){4}\w+)", text)[1].split(", ")
    place = ORDINALS.index(re.search("|".join(ORDINALS), text.split(words[-1])[-1])[0])
    return only(w for w in words if sum(other < w for other in words) == place)


@solver
def walking(text):
    facing = {"north": 1j, "east": 1, "south": -1j, "west": -1}
    if "faces" in text:
        way = facing[re.search(r"faces (\w+)", text)[1]]
        for turn in re.findall(r"turns (\w+)", text):
            way *= {"left": 1j, "right": -1j, "around": -1}[turn]
        return next(name for name, value in facing.items() if value == way)
    a, start, turn, b, c, back = re.search(
        r"walks (\d+) m (\w+), turns (\w+), walks (\d+) m, then goes (\d+) m (\w+)\.", text
    ).groups()
    way = facing[start]
    end = int(a) * way + int(b) * way * (1j if turn == "left" else -1j) + int(c) * facing[back]
    distance = math.hypot(end.real, end.imag)
    assert distance == round(distance)
    return round(distance)


def one_order(text: str, people: list[str], facts: list[str]) -> tuple[str, ...]:
    """The only order of the people that fits the facts; places are days or seats, from 0."""

    def holds(fact: str, order: tuple[str, ...]) -> bool:
        at = order.index
        if m := re.fullmatch(r"(\w+) is not on (\w+)\.", fact):
            return at(m[1]) != DAYS.index(m[2])
        if m := re.fullmatch(r"(\w+) (?:comes before|is somewhere left of) (\w+)\.", fact):
            return at(m[1]) < at(m[2])
        if m := re.fullmatch(r"(\w+) is the day after (\w+)\.", fact):
            return at(m[1]) - at(m[2]) == 1
        if m := re.fullmatch(r"(\w+) is directly left of (\w+)\.", fact):
            return at(m[2]) - at(m[1]) == 1
        if m := re.fullmatch(r"(\w+) and (\w+) are not neighbours\.", fact):
            return abs(at(m[1]) - at(m[2])) != 1
        m = re.fullmatch(r"(\w+) is not at an end\.", fact)
        assert m, fact
        return at(m[1]) not in (0, 3)

    orders = [order for order in itertools.permutations(people) if all(holds(fact, order) for fact in facts)]
    assert len(orders) == 1, (text, orders)
    for fact in facts:  # none of the clues is needless
        rest = [other for other in facts if other != fact]
        assert sum(all(holds(f, order) for f in rest) for order in itertools.permutations(people)) > 1, (text, fact)
    return orders[0]


@solver
def schedule(text):
    intro, *facts, ask = sentences(text)
    people = re.match(r"(\w+), (\w+), (\w+) and (\w+) take turns", intro).groups()
    return one_order(text, list(people), facts)[DAYS.index(re.search(r"day is (\w+)\?", ask)[1])]


@solver
def seating(text):
    intro, *facts, ask = sentences(text)
    people = re.search(r", (\w+), (\w+), (\w+) and (\w+) (?:sit|stand|have)", intro).groups()
    places = ("at the left end", "second from the left", "second from the right", "at the right end")
    order = one_order(text, list(people), facts)
    return order[next(i for i, place in enumerate(places) if place in ask)]


@solver
def number_pattern(text):
    hint, shown = re.match(r"(.+?): ([\d?, -]+)[.?]?", text).groups()
    known = [None if piece == "?" else int(piece) for piece in shown.rstrip(", ").split(", ")]
    if None not in known:
        known.append(None)
    hole, length = known.index(None), len(known)

    def fits(row: list[int]) -> bool:
        return all(k is None or k == r for k, r in zip(known, row, strict=True))

    rows = []
    if "times a fixed number" in hint:
        for factor, step in itertools.product(range(-9, 10), range(-50, 51)):
            row = [known[0]]
            while len(row) < length:
                row.append(factor * row[-1] + step)
            rows.append(row)
    elif "gaps" in hint:
        for gap, growth in itertools.product(range(60), range(20)):
            rows.append([known[0] + gap * i + growth * i * (i - 1) // 2 for i in range(length)])
    elif "sum of the two" in hint:
        row = known[:2]
        while len(row) < length:
            row.append(row[-2] + row[-1])
        rows.append(row)
    else:
        for up, down in itertools.product(range(-20, 20), repeat=2):
            rows.append([known[i % 2] + i // 2 * (up, down)[i % 2] for i in range(length)])
    return only(row[hole] for row in rows if fits(row))


@solver
def truth_value(text):
    if "True or false" in text:
        x, y = numbers(text)[:2]
        said = re.search(r"True or false: (.+)\?$", text)[1]

        def value(clause: str) -> bool:
            for words, code in (
                (" is even", " % 2 == 0"),
                (" is odd", " % 2 == 1"),
                (" is greater than ", " > "),
                (" is less than ", " < "),
            ):
                clause = clause.replace(words, code)
            clause = re.sub(r" is a multiple of (\d+)", r" % \1 == 0", clause)
            clause = re.sub(r"x and y differ by more than (\d+)", r"abs(x - y) > \1", clause)
            return bool(eval(clause, {"__builtins__": {}, "abs": abs}, {"x": x, "y": y}))

        if exactly := re.fullmatch(r"exactly one of these holds: (.+); (.+)", said):
            answer = sum(map(value, exactly.groups())) == 1
        elif said.endswith(" (or both)"):
            answer = any(map(value, said.removesuffix(" (or both)").split(" or ")))
        else:
            answer = all(map(value, re.split(r"(?<!x) and ", said)))
        return str(answer).lower()
    rules = re.findall(r"If (.+?), (.+?)\.", text)
    known = re.search(r"Right now (it is not the case that )?(.+?)\.", text)
    asked = re.search(r"Does that mean that (.+?)\?", text)[1]
    events = sorted({event for rule in rules for event in rule})
    worlds = [dict(zip(events, values, strict=True)) for values in itertools.product([True, False], repeat=len(events))]
    worlds = [w for w in worlds if all(w[b] or not w[a] for a, b in rules) and w[known[2]] == (not known[1])]
    return "yes" if only(w[asked] for w in worlds) else "no"


@solver
def set_overlap(text):
    total, a, b, last = numbers(text)
    found = []
    for both in range(min(a, b) + 1):
        neither = total - (a + b - both)
        if neither < 0 or last != (neither if "play neither" in text else both):
            continue
        if "exactly one" in text:
            found.append(a + b - 2 * both)
        else:
            found.append(both if "How many play both" in text else neither)
    return only(found)


@solver
def clock(text):
    times = [datetime.datetime(2024, 5, 5, int(h), int(m)) for h, m in re.findall(r"(\d\d):(\d\d)", text)]
    counts = numbers(re.sub(r"\d\d:\d\d", "", text).replace("24-hour", ""))
    if "runs fast" in text:
        result = times[1] + counts[0] * ((times[1] - times[0]) / 60)  # so many minutes an hour
    elif "fall asleep" in text:
        result = times[0] - datetime.timedelta(minutes=counts[0])
    else:
        result = times[0] + datetime.timedelta(minutes=sum(counts))
    return result.strftime("%H:%M")


@solver
def containers(text):
    if "Jug" in text:
        room_a, a, room_b, b = numbers(text)
        assert a <= room_a and b < room_b
        while a and b < room_b:
            a, b = a - 1, b + 1
        return a
    holds = dict(re.findall(r"the (\w+) box holds a (\w+)", text, re.IGNORECASE))
    for one, other in re.findall(r"(\w+) and (\w+)", text.split("swapped between ")[1].split(".")[0]):
        holds[one], holds[other] = holds[other], holds[one]
    return holds[re.search(r"in the (\w+) box now", text)[1]]


# --- the tests


@pytest.mark.parametrize("template", [*TEMPLATES["math"], *TEMPLATES["reasoning"]])
def test_answer_found_again_by_another_way(template: str) -> None:
    questions = [q for q in load_questions() if q.meta.get("template") == template and q.kind in ("math", "text")]
    assert len(questions) >= 10
    for question in questions:
        found = SOLVERS[template](question.bare)
        if isinstance(found, str):
            assert question.reference == found, question
        else:
            assert Fraction(question.reference) == Fraction(found), question


def test_every_solver_has_its_template() -> None:
    assert set(SOLVERS) == set(TEMPLATES["math"]) | set(TEMPLATES["reasoning"])


def test_math_references_are_exact_and_in_lowest_terms() -> None:
    shapes = set()
    for question in load_questions("math"):
        whole = re.fullmatch(r"-?\d+", question.reference)
        percent = re.fullmatch(r"\d+%", question.reference)
        decimal = re.fullmatch(r"\d+\.\d*[1-9]", question.reference)
        fraction = re.fullmatch(r"(\d+)/(\d+)", question.reference)
        assert whole or percent or decimal or fraction, question
        if fraction:
            assert math.gcd(int(fraction[1]), int(fraction[2])) == 1 and int(fraction[2]) > 1, question
        shapes.add("whole" if whole else "percent" if percent else "decimal" if decimal else "fraction")
    assert shapes == {"whole", "percent", "decimal", "fraction"}


@pytest.mark.parametrize("answers", [("yes", "no"), ("knight", "knave"), ("true", "false")])
def test_two_way_answers_are_balanced(answers: tuple[str, str]) -> None:
    for split in ("train", "test"):
        given = [q.reference for q in load_questions("reasoning", split)]
        first, second = (given.count(answer) for answer in answers)
        assert abs(first - second) <= 1 and first >= 2
