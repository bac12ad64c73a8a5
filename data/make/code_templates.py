"""Code questions: thirty task templates filled in, with tests computed from the reference solution.

A test is `{"args": [...], "expected": ...}` in plain JSON (no floats, no tuples, string keys), so that a solution's
result is compared exactly. Every wrong solution in `meta.wrong` runs and fails at least one of the tests: a question
whose tests would let one through is an error, not a question.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from string import Template
from typing import Any

import yaml
from templates import PHRASINGS

from suite.questions.files import SPLITS
from suite.questions.phrasings import deal, phrased
from trinity_core.paths import DATA
from trinity_core.types import Question, Split

FAMILY = "code"
PER_TEMPLATE = 4
RANDOM_TESTS = 3
TRIES = 2000

Parameters = dict[str, Any]
_WORDS = "red blue sun moon tree rose stone oak apple ant lamp river sea note table eel tent radar".split()
_TEXT = "at AT sea Sea noon NOON Tree RIVER river attic Attic banana Banana INITIAL initial seasons SEASONS".split()


@dataclass(frozen=True)
class Task:
    """One template of the bank, whose first lines say what the fields are."""

    name: str
    difficulty: int
    names: str
    args: str
    takes: str
    axes: dict[str, Any]
    wordings: tuple[str, ...]
    reference: str
    wrong: tuple[str, ...]


TASKS = [Task(**task) for task in yaml.safe_load((DATA / "questions" / "code_bank.yaml").read_text(encoding="utf-8"))]


def build(split: Split) -> list[Question]:
    """The 120 questions of `split`: four a template, no (template, parameters) in both splits.

    The templates take turns and every three questions have the three difficulties, so that the first questions of the
    file show all kinds.
    """
    order: list[tuple[Task, int]] = []
    for turn in range(PER_TEMPLATE):
        rng = random.Random(f"{FAMILY}-{split} round {turn}")
        levels = [[task for task in TASKS if task.difficulty == difficulty] for difficulty in (1, 2, 3)]
        for level in levels:
            rng.shuffle(level)
        for trio in zip(*levels, strict=True):
            order += [(task, turn) for task in rng.sample(trio, len(trio))]
    dealt = deal(f"phrasings {FAMILY}-{split}", [task.name for task, _ in order], len(PHRASINGS[FAMILY]))
    return [_question(task, turn, split, number, dealt[number]) for number, (task, turn) in enumerate(order)]


def _question(task: Task, turn: int, split: Split, number: int, phrasing: int) -> Question:
    """Question `number` of the split, the `turn`-th of its template there."""
    place = SPLITS.index(split) * PER_TEMPLATE + turn
    parameters = _parameters(task)[place]
    rng = random.Random(f"{FAMILY}-{split}-{number:03d} {task.name}")
    function = rng.choice(task.names.split())
    arguments = rng.choice(task.args.split()).split(",")
    wording = task.wordings[place % len(task.wordings)]

    def fill(text: str) -> str:
        # Twice, since a parameter may itself name an argument.
        names = parameters | {"f": function, "a": arguments[0], "b": arguments[-1]}
        return Template(Template(text).substitute(names)).substitute(names)

    def source(body: str) -> str:
        lines = [f"def {function}({', '.join(arguments)}):", *("    " + line for line in body.split("\n"))]
        return fill("\n".join(lines)) + "\n"

    reference, wrong = source(task.reference), [source(body) for body in task.wrong]
    meta = {
        "template": task.name,
        "difficulty": task.difficulty,
        "entry_point": function,
        "tests": _tests(task, parameters, function, reference, wrong, rng),
        "wrong": wrong,
    }
    return phrased(FAMILY, split, number, "code", fill(wording), reference, PHRASINGS[FAMILY], phrasing, **meta)


def _parameters(task: Task) -> list[Parameters]:
    """Different choices of the task's parameters in a shuffled order, enough for both splits (train first)."""
    axes = []
    for names, values in task.axes.items():
        keys = names.split()
        axes.append([dict(zip(keys, value if len(keys) > 1 else (value,), strict=True)) for value in values])
    choices = [{key: value for part in parts for key, value in part.items()} for parts in itertools.product(*axes)]
    random.Random(f"{FAMILY} parameters {task.name}").shuffle(choices)
    return choices


def _tests(
    task: Task, parameters: Parameters, function: str, reference: str, wrong: list[str], rng: random.Random
) -> list[dict[str, Any]]:
    """Edge cases, a few random inputs, then one more input for each wrong solution that still passes them all.

    The first test's result, returned always, counts as one more wrong solution. RuntimeError when no input out of
    `TRIES` tells a wrong solution from the reference.
    """
    edges, draw = INPUTS[task.takes]
    solve = _load(reference, function)
    tests: list[dict[str, Any]] = []

    def add(args: list[Any]) -> None:
        if args not in (test["args"] for test in tests):
            tests.append({"args": args, "expected": solve(*copy.deepcopy(args))})

    for args in edges(parameters):
        add(args)
    target = len(tests) + RANDOM_TESTS
    while len(tests) < target:
        add(draw(rng, parameters))
    for text in [*wrong, f"def {function}(*_):\n    return {tests[0]['expected']!r}\n"]:
        slip = _load(text, function)
        if any(_fails(slip, test["args"], test["expected"]) for test in tests):
            continue
        for _ in range(TRIES):
            args = draw(rng, parameters)
            if _fails(slip, args, solve(*copy.deepcopy(args))):
                add(args)
                break
        else:
            raise RuntimeError(f"{task.name} with {parameters}: {TRIES} inputs do not tell\n{text}from\n{reference}")
    return tests


def _load(source: str, function: str) -> Callable[..., Any]:
    """The function that the suite's own source defines."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope[function]


def _fails(slip: Callable[..., Any], args: list[Any], expected: Any) -> bool:
    """Whether the function gives something else than `expected`, 1 and true being different, or raises."""
    try:
        result = slip(*copy.deepcopy(args))
    except Exception:
        return True
    return result != expected or json.dumps(result, sort_keys=True) != json.dumps(expected, sort_keys=True)


def _integers(rng: random.Random, low: int, high: int, shortest: int = 4, longest: int = 8) -> list[int]:
    return [rng.randint(low, high) for _ in range(rng.randint(shortest, longest))]


def _two_lists(rng: random.Random, parameters: Parameters) -> list[Any]:
    left = _integers(rng, -9, 12)
    return [left, [rng.randint(-9, 12) for _ in left]]


def _assignments(rng: random.Random, parameters: Parameters) -> list[Any]:
    return [parameters["sep"].join(f"{rng.choice('abx')}={rng.randint(-9, 20)}" for _ in range(rng.randint(2, 6)))]


def _matrix(rng: random.Random, parameters: Parameters) -> list[Any]:
    width = rng.randint(2, 4)
    return [[[rng.randint(-9, 12) for _ in range(width)] for _ in range(rng.randint(2, 4))]]


def _nested(rng: random.Random, depth: int = 1) -> list[Any]:
    """A list of integers and, down to depth 4, of lists."""
    return [
        _nested(rng, depth + 1) if depth < 4 and rng.random() < 0.45 else rng.randint(-9, 12)
        for _ in range(rng.randint(1, 3))
    ]


def _brackets(rng: random.Random, parameters: Parameters) -> list[Any]:
    """Half of them match: well nested text, then perhaps one character dropped or the text turned around."""
    text = ""
    for _ in range(rng.randint(1, 4)):
        cut = rng.randint(0, len(text))
        text = text[:cut] + parameters["o"] + rng.choice(["", "x", "y"]) + parameters["c"] + text[cut:]
    fault = rng.choice(["none", "none", "drop", "turn"])
    if fault == "drop":
        cut = rng.randrange(len(text))
        text = text[:cut] + text[cut + 1 :]
    return [text[::-1] if fault == "turn" else text]


# Kind of input -> edge cases and a random draw; both return argument lists and may look at the task's parameters.
INPUTS: dict[str, tuple[Callable[[Parameters], list[list[Any]]], Callable[[random.Random, Parameters], list[Any]]]] = {
    "ints": (lambda p: [[[]], [[7]], [[-4, -4, 3]]], lambda rng, p: [_integers(rng, -9, 12)]),
    "close_ints": (lambda p: [[[]], [[5]], [[2, 2, 1, 1]]], lambda rng, p: [_integers(rng, -2, 5, 5, 9)]),
    "two_lists": (lambda p: [[[], []], [[4], [-6]], [[-3, -3], [-3, 5]]], _two_lists),
    "integer": (
        lambda p: [[0], [7], [-10]],
        lambda rng, p: [
            rng.choice([-1, 1])
            * int("".join(rng.choices([str(p["d"]), *"0123456789"], weights=[6] + [1] * 10, k=rng.randint(2, 6))))
        ],
    ),
    "natural": (lambda p: [[0], [9], [p["limit"]], [p["limit"] - 1]], lambda rng, p: [rng.randint(20, 9999)]),
    "index": (lambda p: [[0], [1], [2]], lambda rng, p: [rng.randint(3, 12)]),
    "words": (
        lambda p: [[[]], [["tree"]], [["oak", "ant", "oak"]]],
        lambda rng, p: [[rng.choice(_WORDS[rng.randint(0, 12) :]) for _ in range(rng.randint(4, 8))]],
    ),
    "sentence": (
        lambda p: [[""], ["Stone"], ["sea Sea SEA"]],
        lambda rng, p: [" ".join(rng.choices(_TEXT, k=rng.randint(4, 8)))],
    ),
    "lower_text": (
        lambda p: [[""], ["z"], ["a b"]],
        lambda rng, p: [" ".join(rng.choices([*_WORDS, "zany", "fuzzy"], k=rng.randint(2, 3)))],
    ),
    "letter_runs": (
        lambda p: [[""], ["b"], ["ccc"]],
        lambda rng, p: ["".join(rng.choice("abc") * rng.randint(1, 5) for _ in range(rng.randint(3, 6)))],
    ),
    "assignments": (lambda p: [[""], ["a=0"], [p["sep"].join(["b=4", "b=-4"])]], _assignments),
    "matrix": (lambda p: [[[[5]]], [[[1, 2, -3]]], [[[2], [2], [0]]]], _matrix),
    "nested": (lambda p: [[[]], [[3]], [[[[[-2]]], 4]]], lambda rng, p: [_nested(rng)]),
    "brackets": (lambda p: [[""], ["a"], [p["c"] + p["o"]]], _brackets),
    "moves": (lambda p: [[""], ["F"], ["LF"]], lambda rng, p: ["".join(rng.choices("FFFLR", k=rng.randint(4, 9)))]),
}
