"""Reasoning templates whose answer follows from facts: orders, kinship, islanders, syllogisms, schedules, seats.

Whatever has many cases is searched over all of them, and clues are added until one case is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

from templates import Item, by_name, in_turn, word

from suite.questions.wordlists import CREATURES, DAYS, MEN, NAMES, ORDINALS, WOMEN

Clue = tuple[str, Callable[[Any], bool]]  # what is said, and whether it holds in a case


COMPARISONS = ("taller shorter tallest", "older younger oldest", "faster slower fastest", "richer poorer richest")


def ordering(rng: Random, number: int) -> Item:
    more, less, most = in_turn(number, COMPARISONS).split()
    order = rng.sample(NAMES, 4 if number % 2 else 5)
    facts = [
        f"{a} is {more} than {b}." if rng.random() < 0.5 else f"{b} is {less} than {a}."
        for a, b in zip(order, order[1:], strict=False)
    ]
    rng.shuffle(facts)
    place = rng.randint(1, len(order) - 2)
    return Item(f"{' '.join(facts)} Who is the {ORDINALS[place]} {most}?", order[place], 2)


# first link, second link, what the first person is to the last: (woman, man)
KINSHIP = (
    ("parent", "parent", ("grandmother", "grandfather")),
    ("sibling", "parent", ("aunt", "uncle")),
    ("child", "sibling", ("niece", "nephew")),
    ("child", "child", ("granddaughter", "grandson")),
    ("parent", "spouse", ("mother-in-law", "father-in-law")),
)
LINKS = {"parent": ("mother", "father"), "sibling": ("sister", "brother"), "child": ("daughter", "son"),
         "spouse": ("wife", "husband")}  # fmt: skip


def family_relation(rng: Random, number: int) -> Item:
    if number % 4 == 3:
        brothers, sisters = rng.randint(2, 7), rng.randint(2, 7)
        girl, boy = rng.choice(WOMEN), rng.choice(MEN)
        return word("siblings", rng.choice((0, 1)), (sisters + 1, brothers + 1), girl, boy, brothers, sisters)
    first, second, words = in_turn(number, KINSHIP)
    women, men = rng.sample(WOMEN, 3), rng.sample(MEN, 3)
    sex = [rng.randrange(2) for _ in range(3)]
    if second == "spouse":
        sex[2] = 1 - sex[1]
    a, b, c = ((women, men)[s][i] for i, s in enumerate(sex))
    facts = [f"{a} is {b}'s {LINKS[first][sex[0]]}.", f"{b} is {c}'s {LINKS[second][sex[1]]}."]
    rng.shuffle(facts)
    return word("family_relation", rng.choice((0, 1)), words[sex[0]], " ".join(facts), a, c)


def knights_and_knaves(rng: Random, number: int) -> Item:
    want = number % 2 == 0
    while True:
        people = rng.sample(NAMES, 2 + number % 4 // 2)
        claims = [_claim(rng, i, people) for i in range(len(people))]
        fits = [
            kinds for kinds in product((True, False), repeat=len(people))
            if all(kinds[i] == says(kinds) for i, (_, says) in enumerate(claims))
        ]  # fmt: skip
        asked = rng.randrange(len(people))
        if len(fits) == 1 and fits[0][asked] == want:
            break
    said = " ".join(f'{name} says: "{text}"' for name, (text, _) in zip(people, claims, strict=True))
    answer = "knight" if want else "knave"
    return word("knights_and_knaves", rng.choice((0, 1)), answer, said, people[asked])


def _claim(rng: Random, speaker: int, people: Sequence[str]) -> tuple[str, Callable[[Sequence[bool]], bool]]:
    """What one islander says, and whether it is true when `kinds[i]` tells that person i is a knight."""
    other = rng.choice([i for i in range(len(people)) if i != speaker])
    name = people[other]
    return rng.choice(
        (
            (f"{name} is a knave.", lambda kinds: not kinds[other]),
            (f"{name} is a knight.", lambda kinds: kinds[other]),
            (f"{name} and I are of the same kind.", lambda kinds: kinds[other] == kinds[speaker]),
            (f"{name} and I are of different kinds.", lambda kinds: kinds[other] != kinds[speaker]),
            ("At least one of us is a knave.", lambda kinds: not all(kinds)),
            ("All of us are knaves.", lambda kinds: not any(kinds)),
        )
    )


STATEMENTS = {"all": "all {} are {}", "no": "no {} are {}", "some": "some {} are {}", "not": "some {} are not {}"}
# two premises about kinds a, b, c and the conclusion asked for; the first half follow, the second half do not
SYLLOGISMS = (
    ("all ab", "all bc", "all ac"), ("all ab", "no bc", "no ac"), ("some ab", "all bc", "some ac"),
    ("some ab", "no bc", "not ac"), ("all ab", "not ac", "not bc"), ("no ab", "all ca", "no cb"),
    ("all ab", "all bc", "all ca"), ("some ab", "some bc", "some ac"), ("all ab", "some bc", "some ac"),
    ("all ab", "no ac", "no bc"), ("all ab", "all cb", "all ac"), ("no ab", "no bc", "no ac"),
)  # fmt: skip


def syllogism(rng: Random, number: int) -> Item:
    follows = number % 2 == 0
    forms = rng.choice(SYLLOGISMS[:6] if follows else SYLLOGISMS[6:])
    kinds = dict(zip("abc", rng.sample(CREATURES, 3), strict=True))
    first, second, conclusion = (
        STATEMENTS[form[:-3]].format(kinds[form[-2]], kinds[form[-1]]) for form in forms
    )  # fmt: skip
    if rng.random() < 0.5:
        first, second = second, first
    values = first.capitalize(), second.capitalize(), first, second, conclusion
    return word("syllogism", number // 2, "yes" if follows else "no", *values)


CLAUSES: tuple[tuple[str, Callable[[int, int], bool]], ...] = (
    ("x is even", lambda x, y: x % 2 == 0), ("y is odd", lambda x, y: y % 2 == 1),
    ("x is greater than y", lambda x, y: x > y), ("y is a multiple of 3", lambda x, y: y % 3 == 0),
    ("x + y is less than 20", lambda x, y: x + y < 20), ("x and y differ by more than 5", lambda x, y: abs(x - y) > 5),
)  # fmt: skip
CHAIN = ("the lamp is on", "the door is open", "the dog is outside", "the bell rings", "the cat hides", "the tap drips")


def truth_value(rng: Random, number: int) -> Item:
    want = number % 4 < 2
    if number % 2:
        a, b, c = rng.sample(CHAIN, 3)
        rules = [f"If {a}, {b}.", f"If {b}, {c}."]
        rng.shuffle(rules)
        known, asked = (a, c) if want else ("it is not the case that " + c, a)
        return Item(f"{' '.join(rules)} Right now {known}. Does that mean that {asked}? Answer yes or no.",
                    "yes" if want else "no", 2)  # fmt: skip
    while True:
        x, y = rng.sample(range(2, 30), 2)
        (p, p_holds), (q, q_holds) = rng.sample(CLAUSES, 2)
        said, value = rng.choice(
            (
                (f"{p} and {q}", p_holds(x, y) and q_holds(x, y)),
                (f"{p} or {q} (or both)", p_holds(x, y) or q_holds(x, y)),
                (f"exactly one of these holds: {p}; {q}", p_holds(x, y) != q_holds(x, y)),
            )
        )
        if value == want:
            return Item(f"Let x = {x} and y = {y}. True or false: {said}?", "true" if want else "false", 2)


def schedule(rng: Random, number: int) -> Item:
    days = DAYS[:4]
    people = sorted(rng.sample(NAMES, 4))
    orders = list(permutations(people))  # orders[k][i] has day i
    truth = rng.choice(orders)
    clues: list[Clue] = []
    for a, i in product(people, range(4)):
        if truth[i] != a:
            clues.append((f"{a} is not on {days[i]}.", lambda order, a=a, i=i: order[i] != a))
    clues += _relations(
        people, truth, ("{} comes before {}.", lambda i, j: i < j), ("{} is the day after {}.", lambda i, j: i == j + 1)
    )
    told = _enough_clues(rng, clues, orders)
    day = rng.randrange(4)
    duty = in_turn(number, ("cook", "give a talk", "water the plants", "drive the bus"))
    return word("schedule", 0, truth[day], ", ".join(people[:3]), people[3], duty, " ".join(told), days[day])


def seating(rng: Random, number: int) -> Item:
    people = sorted(rng.sample(NAMES, 4))
    orders = list(permutations(people))  # from left to right
    truth = rng.choice(orders)
    clues = _relations(
        people,
        truth,
        ("{} is somewhere left of {}.", lambda i, j: i < j),
        ("{} is directly left of {}.", lambda i, j: j == i + 1),
        ("{} and {} are not neighbours.", lambda i, j: abs(i - j) > 1),
    )
    for a in people:
        if truth.index(a) in (1, 2):
            clues.append((f"{a} is not at an end.", lambda order, a=a: order.index(a) in (1, 2)))
    told = _enough_clues(rng, clues, orders)
    place = rng.randrange(4)
    where = ("at the left end", "second from the left", "second from the right", "at the right end")[place]
    return word("seating", number, truth[place], ", ".join(people[:3]), people[3], " ".join(told), where)


def _relations(
    people: Sequence[str], truth: Sequence[str], *forms: tuple[str, Callable[[int, int], bool]]
) -> list[Clue]:
    """What can be said of two people's places, and is true; one sentence of what holds both ways ("and")."""
    clues: list[Clue] = []
    for a, b in permutations(people, 2):
        for text, fits in forms:
            if fits(truth.index(a), truth.index(b)) and (a < b or " and " not in text):
                holds = lambda order, a=a, b=b, fits=fits: fits(order.index(a), order.index(b))  # noqa: E731
                clues.append((text.format(a, b), holds))
    return clues


def _enough_clues(rng: Random, clues: list[Clue], cases: Sequence[Any]) -> list[str]:
    """Texts of a few clues (all of them true) that leave one case only, none of them needless."""
    told: list[Clue] = []
    for clue in rng.sample(clues, len(clues)):
        left = [case for case in cases if all(holds(case) for _, holds in told)]
        if len(left) > 1 and not all(clue[1](case) for case in left):
            told.append(clue)
    for clue in list(told):
        rest = [other for other in told if other is not clue]
        if sum(all(holds(case) for _, holds in rest) for case in cases) == 1:
            told = rest
    return [text for text, _ in told]


LOGIC = by_name(ordering, family_relation, knights_and_knaves, syllogism, truth_value, schedule, seating)
