"""Builds the question files, byte for byte.

python data/make/questions.py --build    writes data/questions/<family>.jsonl (templates, authored banks)
python data/make/questions.py --check    compares them with a fresh build, names a difference
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

import banks
import code_templates
from aime_algebra import ALGEBRA_AND_GEOMETRY
from aime_counting import COUNTING
from math_contest import CONTEST
from math_school import SCHOOL
from reasoning_logic import LOGIC
from reasoning_steps import STEPS
from templates import build_from_templates, numbers

from suite.console import run_command
from suite.questions.files import FAMILIES, SPLITS, WRITTEN, question_file, read_questions
from trinity_core import paths

TEMPLATES = {"math": SCHOOL | CONTEST, "reasoning": LOGIC | STEPS, "aime": COUNTING | ALGEBRA_AND_GEOMETRY}
BUILDERS = {  # by family: the questions of a split
    "math": partial(build_from_templates, "math", TEMPLATES["math"], 5, content=numbers),
    "knowledge": banks.knowledge,
    "reasoning": partial(build_from_templates, "reasoning", TEMPLATES["reasoning"], 8),
    "code": code_templates.build,
    "aime": partial(build_from_templates, "aime", TEMPLATES["aime"], 4, content=numbers),
    "gpqa": banks.gpqa,
    "mtbench": banks.mtbench,
}


def build_family(family: str) -> str:
    """The whole content of the family's file: train (held out: none), then test, one JSON object a line."""
    splits = SPLITS if family in FAMILIES else ("test",)
    questions = [question for split in splits for question in BUILDERS[family](split)]
    return "".join(json.dumps(asdict(question), ensure_ascii=False) + "\n" for question in questions)


def differences(family: str) -> Iterator[str]:
    """One message a difference between the family's file and a fresh build."""
    path = question_file(family)
    old = path.read_bytes().decode("utf-8", "replace").split("\n") if path.exists() else []
    new = build_family(family).split("\n")
    for number in range(max(len(old), len(new))):
        a, b = (lines[number] if number < len(lines) else "<no line>" for lines in (old, new))
        if a != b:
            yield f"{path.name}, line {number + 1}: the file has {a[:200]!r}, a fresh build {b[:200]!r}"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python data/make/questions.py", description="Build or check the questions.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--build", action="store_true", help="write data/questions/<family>.jsonl")
    action.add_argument("--check", action="store_true", help="compare them with a fresh build")
    options = parser.parse_args(arguments)
    for family in WRITTEN:
        path = question_file(family)
        if options.build:
            paths.write_atomic(path, build_family(family))
        elif difference := next(differences(family), None):
            print(f"{difference}\nrebuild with: python data/make/questions.py --build", file=sys.stderr)
            return 1
        print(f"{path.name}: {len(read_questions(path))} questions{'' if options.build else ', as built'}")
    return 0


if __name__ == "__main__":
    run_command(main)
