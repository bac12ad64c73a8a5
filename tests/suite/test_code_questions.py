"""Code questions: the references against second solutions that read their parameters from the task's words, the wrong
solutions against the tests, and the set's shape."""

from __future__ import annotations

import ast
import collections
import copy
import json
import random
import re
import statistics

import code_second_solutions
import code_templates
import pytest
from code_templates import TASKS, build
from templates import PHRASINGS as OF_FAMILY

from suite.questions import load_questions
from suite.questions.phrasings import apply_phrasing

PHRASINGS = OF_FAMILY["code"]
TRAIN, TEST = build("train"), build("test")
QUESTIONS = TRAIN + TEST


def run(source, entry_point, args):
    """The result as JSON text, so that 1, true and 1.0 differ and key order does not matter."""
    scope = {}
    exec(source, scope)
    return json.dumps(scope[entry_point](*copy.deepcopy(args)), sort_keys=True)


def expected(test):
    return json.dumps(test["expected"], sort_keys=True)



@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_second_solution_that_reads_the_words_agrees(task):
    solve = getattr(code_second_solutions, task.name)
    questions = [question for question in QUESTIONS if question.meta["template"] == task.name]
    assert len(questions) == 8
    for question in questions:
        for test in question.meta["tests"]:
            result = json.dumps(solve(question.bare, *copy.deepcopy(test["args"])), sort_keys=True)
            assert result == expected(test), (question.id, question.bare, test)


def test_every_reference_passes_all_its_tests_without_imports():
    for question in QUESTIONS:
        for test in question.meta["tests"]:
            assert run(question.reference, question.meta["entry_point"], test["args"]) == expected(test), question.id
        assert "import" not in question.reference, question.id
        assert 2 <= question.reference.count("\n") <= 9, question.id


def test_every_wrong_solution_runs_and_fails_some_test():
    for question in QUESTIONS:
        wrong = question.meta["wrong"]
        assert 2 <= len(wrong) <= 3 and len({*wrong, question.reference}) == len(wrong) + 1, question.id
        for source in wrong:
            results = []
            for test in question.meta["tests"]:
                results.append(run(source, question.meta["entry_point"], test["args"]) == expected(test))
            assert not all(results), (question.id, source)
            assert source.count("\n") <= 9, question.id


def test_wrong_solutions_that_no_test_can_catch_are_refused():
    task = next(task for task in TASKS if task.name == "keep_compared")
    source = "def f(xs):\n    return [x for x in xs if x > 3]\n"
    with pytest.raises(RuntimeError, match="keep_compared.* do not tell"):
        code_templates._tests(task, {"k": 3}, "f", source, [source], random.Random("seed"))


def test_tests_are_plain_json_with_edge_cases_and_differing_results():
    for question in QUESTIONS:
        tests = question.meta["tests"]
        assert len(tests) >= 5, question.id
        assert json.loads(json.dumps(tests)) == tests, question.id
        assert not re.search(r"\d\.\d|\dE|NaN|Infinity", json.dumps(tests)), question.id
        _assert_no_tuples(tests)
        assert len({json.dumps(test["args"]) for test in tests}) == len(tests), question.id
        assert len({expected(test) for test in tests}) >= 2, question.id
    sizes = collections.Counter(len(test["args"][0]) for question in QUESTIONS for test in question.meta["tests"]
                                if isinstance(test["args"][0], list | str))
    assert sizes[0] > 150 and sizes[1] > 150


def _assert_no_tuples(value):
    assert value is None or type(value) in (list, dict, str, int, bool), value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        _assert_no_tuples(item)


def test_the_task_names_its_function_and_arguments():
    for question in QUESTIONS:
        function = ast.parse(question.reference).body[0]
        assert function.name == question.meta["entry_point"]
        call = f"{function.name}({', '.join(argument.arg for argument in function.args.args)})"
        assert call in question.bare and "$" not in question.bare, question.id
        for source in question.meta["wrong"]:
            assert source.startswith(f"def {call}:\n"), question.id


def test_no_program_stands_in_both_splits():
    """Also not under other names: function and arguments are renamed before comparing."""

    def shape(question):
        tree = ast.parse(question.reference)
        function = tree.body[0]
        names = {argument.arg: f"argument{i}" for i, argument in enumerate(function.args.args)}
        names[function.name], function.name = "function", "function"
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
            elif isinstance(node, ast.arg):
                node.arg = names.get(node.arg, node.arg)
        return ast.unparse(tree)

    assert len({question.bare for question in QUESTIONS}) == len({question.text for question in QUESTIONS}) == 240
    assert len({shape(question) for question in QUESTIONS}) == 240


def test_shape_of_the_set():
    assert len(TASKS) == len({task.name for task in TASKS}) == 30
    for split, questions in (("train", TRAIN), ("test", TEST)):
        assert [question.id for question in questions] == [f"code-{split}-{i:03d}" for i in range(120)]
        assert {(q.family, q.split, q.kind) for q in questions} == {("code", split, "code")}
        assert set(collections.Counter(q.meta["template"] for q in questions).values()) == {4}
        assert collections.Counter(q.meta["difficulty"] for q in questions) == {1: 40, 2: 40, 3: 40}
        for start in range(0, 120, 3):
            assert {q.meta["difficulty"] for q in questions[start : start + 3]} == {1, 2, 3}
    assert statistics.median(len(question.bare.split()) for question in QUESTIONS) <= 45
    first_words = collections.Counter(question.bare.split()[0] for question in QUESTIONS)
    assert first_words.most_common(1)[0][1] < 40
    for task in TASKS:
        wordings = {re.sub(r"\w+\(.*?\)|\d+", "", q.bare)[:25] for q in QUESTIONS if q.meta["template"] == task.name}
        assert len(wordings) >= 2, task.name


def test_phrasings_are_dealt_evenly():
    assert len(PHRASINGS) == len(set(PHRASINGS)) >= 8
    for questions in (TRAIN, TEST):
        counts = collections.Counter(question.phrasing for question in questions)
        assert len(counts) == len(PHRASINGS) and max(counts.values()) - min(counts.values()) <= 1
        assert all(q.text == apply_phrasing(PHRASINGS, q.phrasing, q.bare) for q in questions)
    for difficulty in (1, 2, 3):
        counts = collections.Counter(q.phrasing for q in QUESTIONS if q.meta["difficulty"] == difficulty)
        assert max(counts.values()) <= 14 and len(counts) == len(PHRASINGS)


def test_the_committed_file_reads_back_as_built():
    assert load_questions("code") == QUESTIONS
