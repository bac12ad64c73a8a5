"""Reasoning templates whose answer is reached step by step: days, letters, walks, patterns, overlaps, clocks, boxes."""

from __future__ import annotations

import math
from random import Random

from templates import Drawn, Item, by_name, word, worded

from suite.questions.wordlists import COMPASS, DAYS, NAMES, ORDINALS, WORDS


@worded
def calendar(rng: Random) -> Drawn:
    day, shift = rng.randrange(7), rng.randint(10, 90)
    date, later = rng.randint(1, 9), rng.randint(16, 31)
    answers = tuple(DAYS[(day + days) % 7] for days in (shift, later - date, shift, -2 - shift))
    return answers, DAYS[day], shift, date, later


@worded
def letters(rng: Random) -> Drawn:
    word, place = rng.choice(WORDS), rng.randint(1, 3)
    second = rng.choice([other for other in WORDS if other != word])
    coded = "".join(chr((ord(letter) - 96) % 26 + 97) for letter in word)
    without = "".join(letter for letter in word if letter not in "aeiou")
    return (word[::-1][place], without, word, len(set(word) & set(second))), word, ORDINALS[place], coded, second


@worded
def alphabetical(rng: Random) -> Drawn:
    chosen = rng.sample(WORDS, 5)
    place = rng.randint(1, 3)
    return sorted(chosen)[place], ", ".join(chosen), ORDINALS[place]


def walking(rng: Random, number: int) -> Item:
    name, heading = rng.choice(NAMES), rng.randrange(4)
    start = COMPASS[heading]
    if number % 2:
        a, b, scale = *rng.choice(((3, 4), (6, 8), (5, 12), (8, 15))), rng.randint(1, 3)
        a, b, back = *rng.sample((a * scale, b * scale), 2), rng.randint(1, 9)
        side, opposite = rng.choice(("left", "right")), COMPASS[(heading + 2) % 4]
        distance = math.isqrt(a * a + b * b)
        return word("walking_distance", 0, distance, name, a + back, start, side, b, back, opposite)
    turns = [rng.choice(("left", "right", "around")) for _ in range(4)]
    for turn in turns:
        heading = (heading + {"right": 1, "around": 2, "left": 3}[turn]) % 4
    steps = ", then ".join(f"turns {turn}" for turn in turns)
    return Item(f"{name} faces {start}, {steps}. In which direction does {name} look now?", COMPASS[heading], 1)


def number_pattern(rng: Random, number: int) -> Item:
    first, second = rng.randint(2, 9), rng.randint(2, 9)
    kind = number % 4
    if kind == 0:
        factor, step, terms = rng.randint(2, 3), rng.randint(1, 7), [first]
        while len(terms) < 5:
            terms.append(factor * terms[-1] + step)
    elif kind == 1:
        growth, terms = rng.randint(2, 6), [first]
        while len(terms) < 6:
            terms.append(terms[-1] + second + growth * len(terms))
    elif kind == 2:
        terms = [first, second]
        while len(terms) < 6:
            terms.append(terms[-2] + terms[-1])
    else:
        up, down, high = rng.randint(2, 9), rng.randint(2, 6), rng.randint(40, 90)
        terms = [term for k in range(4) for term in (first + up * k, high - down * k)][:7]
    shown, asked, answer = [*map(str, terms)], "What comes next?", terms.pop()
    if number % 8 > 3 and kind != 3:  # ask for one inside
        shown[-2], asked, answer = "?", "Which number belongs at the question mark?", terms.pop()
    else:
        shown.pop()
    return word("number_pattern", kind, answer, ", ".join(shown), asked)


@worded
def set_overlap(rng: Random) -> Drawn:
    both, only_a, only_b, neither = (rng.randint(2, 15) for _ in range(4))
    total = both + only_a + only_b + neither
    return (both, neither, only_a + only_b), total, both + only_a, both + only_b, neither, both


@worded
def clock(rng: Random) -> Drawn:
    start, wait, length = 5 * rng.randint(96, 240), 5 * rng.randint(2, 15), 5 * rng.randint(10, 35)
    gain, hour, hours = rng.randint(2, 9), rng.randint(6, 12), rng.randint(4, 9)
    name, now, up, sleep = rng.choice(NAMES), 60 * (hour + hours), start - 120, length + 250
    answers = _time(start + wait + length), _time(now + gain * hours), _time(up - sleep)
    return answers, _time(start), length, wait, gain, _time(60 * hour), _time(now), name, _time(up), sleep


def containers(rng: Random, number: int) -> Item:
    if number % 2:
        large, small = rng.randint(7, 15), rng.randint(4, 9)
        has, other = rng.randint(2, large), rng.randint(1, small - 1)
        poured = min(has, small - other)
        return word("pouring", 0, has - poured, large, has, small, other)
    boxes = rng.sample(("red", "blue", "green", "white", "black"), 3)
    things = rng.sample(("coin", "key", "ring", "stone", "button", "shell", "bean"), 3)
    holds = dict(zip(boxes, things, strict=True))
    facts = ", ".join(
        f"{'the ' if i else 'The '}{box} box holds a {thing}" for i, (box, thing) in enumerate(holds.items())
    )
    swaps = []
    while len(swaps) < 3:
        a, b = rng.sample(boxes, 2)
        if not swaps or {a, b} != set(swaps[-1]):
            swaps.append((a, b))
            holds[a], holds[b] = holds[b], holds[a]
    told = ", then ".join(f"{a} and {b}" for a, b in swaps)
    asked = rng.choice(boxes)
    return Item(f"{facts}. Contents are swapped between {told}. What is in the {asked} box now?", holds[asked], 2)


def _time(minutes: int) -> str:
    """Minutes after midnight as `HH:MM`, 24 hours a day."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


STEPS = by_name(calendar, letters, alphabetical, walking, number_pattern, set_overlap, clock, containers)
