"""The question sets: counts, ids, balance, the same bytes everywhere, and a loader that trusts nothing."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import banks
import pytest
import questions as maker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from templates import PHRASINGS, Item, build_from_templates, in_turn

from suite.questions import FAMILIES, files, load_questions
from suite.questions.phrasings import GENERAL, apply_phrasing, deal
from trinity_core import paths
from trinity_core.types import Question

SPLITS = ("train", "test")


def chi_square(rows: list, columns: list) -> tuple[float, int]:
    """Pearson's statistic for independence of two labels, and its degrees of freedom."""
    n, by_row, by_column, cells = len(rows), Counter(rows), Counter(columns), Counter(zip(rows, columns, strict=True))
    expected = {(r, c): by_row[r] * by_column[c] / n for r in by_row for c in by_column}
    return sum((cells[k] - e) ** 2 / e for k, e in expected.items()), (len(by_row) - 1) * (len(by_column) - 1)


# --- what is in the files


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("family", FAMILIES)
def test_counts_ids_and_text(family: str, split: str) -> None:
    loaded = load_questions(family, split)
    assert len(loaded) == (140 if family == "knowledge" else 120)
    assert [q.id for q in loaded] == [f"{family}-{split}-{i:03d}" for i in range(len(loaded))]
    for question in loaded:
        assert (question.family, question.split) == (family, split)
        assert question.text == apply_phrasing(PHRASINGS[family], question.phrasing, question.bare)
        assert question.bare == question.bare.strip() and "  " not in question.bare.split("\n")[0]
        assert not re.search(r"\{\w*\}", question.bare) or family == "code"


def test_no_question_comes_twice() -> None:
    bare = Counter(re.sub(r"\W+", " ", q.bare).casefold() for q in load_questions())
    assert [text for text, count in bare.items() if count > 1] == []


def test_the_same_numbers_do_not_come_twice_in_a_math_template() -> None:
    content = Counter((q.meta["template"], tuple(re.findall(r"\d+", q.bare))) for q in load_questions("math"))
    assert max(content.values()) == 1


def test_questions_are_short() -> None:
    for family in FAMILIES:
        words = [len(q.text.split()) for q in load_questions(family)]
        assert statistics.median(words) <= 40 and max(words) <= 80


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("family", "least"), [("math", 16), ("reasoning", 12)])
def test_templates_come_equally_often_and_are_graded(family: str, least: int, split: str) -> None:
    loaded = load_questions(family, split)
    counts = Counter(q.meta["template"] for q in loaded)
    assert len(counts) >= least and len(set(counts.values())) == 1
    assert Counter(q.meta["difficulty"] for q in loaded).keys() == {1, 2, 3}
    assert len({q.meta["template"] for q in loaded[: len(counts)]}) == len(counts)  # the first round shows them all


def test_questions_of_a_family_begin_differently() -> None:
    for family in FAMILIES:
        first_words = Counter(" ".join(q.bare.split()[:2]) for q in load_questions(family))
        assert max(first_words.values()) <= 0.15 * first_words.total(), (family, first_words.most_common(1))


def test_per_family_keeps_the_first_of_each_split() -> None:
    some = load_questions(per_family=12)
    assert Counter((q.family, q.split) for q in some) == {(f, s): 12 for f in FAMILIES for s in SPLITS}
    assert some == [q for f in FAMILIES for s in SPLITS for q in load_questions(f, s)[:12]]
    assert load_questions("math", per_family=999) == load_questions("math")


# --- phrasings


@pytest.mark.parametrize("family", FAMILIES)
def test_phrasings_are_many_varied_and_partly_shared(family: str) -> None:
    phrasings = PHRASINGS[family]
    assert len(set(phrasings)) == len(phrasings) >= 8
    assert all(phrasing.count("{bare}") == 1 for phrasing in phrasings)
    assert any(len(phrasing) - len("{bare}") <= 6 for phrasing in phrasings)  # one nearly bare
    assert any(phrasing.startswith("{bare}") and len(phrasing) > 12 for phrasing in phrasings)  # words after
    assert any(phrasing.endswith("{bare}") and len(phrasing) > 12 for phrasing in phrasings)  # words before
    others = [set(PHRASINGS[other]) for other in FAMILIES if other != family]
    assert all(len(set(phrasings) & other) >= len(phrasings) / 2 for other in others)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("family", FAMILIES)
def test_phrasings_are_balanced_and_independent_of_the_template(family: str, split: str) -> None:
    loaded = load_questions(family, split)
    counts = Counter(q.phrasing for q in loaded)
    assert set(counts) == set(range(len(PHRASINGS[family])))
    assert max(counts.values()) - min(counts.values()) <= 1
    groups = [q.meta.get("template") or q.meta["subject"] for q in loaded]
    statistic, freedom = chi_square(groups, [q.phrasing for q in loaded])
    assert statistic < freedom + 2.33 * (2 * freedom) ** 0.5  # the 99 % point, normal approximation
    for group in set(groups):
        assert max(Counter(q.phrasing for q, g in zip(loaded, groups, strict=True) if g == group).values()) <= 3


def test_a_shared_phrasing_does_not_tell_the_families_apart() -> None:
    loaded = load_questions()
    shared = [q for q in loaded if PHRASINGS[q.family][q.phrasing] in GENERAL]
    statistic, freedom = chi_square([q.family for q in shared], [PHRASINGS[q.family][q.phrasing] for q in shared])
    assert statistic < freedom + 2.33 * (2 * freedom) ** 0.5
    statistic, freedom = chi_square([q.split for q in loaded], [q.phrasing for q in loaded])
    assert statistic < freedom + 2.33 * (2 * freedom) ** 0.5


def test_a_phrasing_leaves_braces_alone() -> None:
    assert apply_phrasing(("a {bare} b",), 0, "f'{x}'") == "a f'{x}' b"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from("abcdef"), max_size=90), st.integers(1, 12), st.text(max_size=5))
def test_dealing_is_even_over_the_split_and_within_a_group(groups: list[str], n: int, key: str) -> None:
    dealt = deal(key, groups, n)
    assert dealt == deal(key, groups, n)
    assert len(dealt) == len(groups)
    for names, spread in [("abcdef", 1)] + [(name, 2) for name in "abcdef"]:
        members = [number for number, group in zip(dealt, groups, strict=True) if group in names]
        counts = [members.count(i) for i in range(n)]
        assert max(counts) - min(counts) <= spread


# --- knowledge


@pytest.mark.parametrize("split", SPLITS)
def test_gold_letters_are_balanced_and_name_the_banks_right_option(split: str) -> None:
    loaded = load_questions("knowledge", split)
    bank = {item.question.strip(): item for item in banks.read_bank(banks.bank("knowledge"), banks.Item)}
    for question in loaded:
        asked = next(text for text in bank if re.match(re.escape(text) + r"\s(\(A\)|A\)|A\.) ", question.bare))
        options = question.meta["options"]
        assert options["ABCD".index(question.reference)] == bank[asked].options[0]
        assert sorted(options) == sorted(bank[asked].options)
        assert question.meta["subject"] == bank[asked].subject
        shown = re.findall(r"\b([A-D])[.)] (.+?)(?=\n[A-D][.)] |; [A-D]\) | \([A-D]\) |$)", question.bare[len(asked) :])
        assert shown == list(zip("ABCD", options, strict=True))
    letters = Counter(q.reference for q in loaded)
    assert all(abs(letters[letter] - len(loaded) / 4) <= 1 for letter in "ABCD")
    for subject in {q.meta["subject"] for q in loaded}:
        own = [q.reference for q in loaded if q.meta["subject"] == subject]
        assert max(own.count(letter) for letter in "ABCD") - min(own.count(letter) for letter in "ABCD") <= 2
    for other in ([q.phrasing for q in loaded], [q.meta["options"].index(min(q.meta["options"])) for q in loaded]):
        statistic, freedom = chi_square([q.reference for q in loaded], other)
        assert statistic < freedom + 3.1 * (2 * freedom) ** 0.5


def test_subjects_are_halved() -> None:
    train, test = (Counter(q.meta["subject"] for q in load_questions("knowledge", split)) for split in SPLITS)
    assert train.keys() == test.keys() and len(train) >= 12
    assert all(abs(train[subject] - test[subject]) <= 1 for subject in train)


def write_bank(path: Path, *items: dict) -> Path:
    path.write_text(json.dumps(items), encoding="utf-8")  # JSON is YAML
    return path


ITEM = {"subject": "s", "question": "q?", "options": ["r", "x", "y", "z"], "note": "n", "difficulty": 1}


def test_odd_subjects_leave_the_splits_even(tmp_path: Path) -> None:
    items = [ITEM | {"subject": f"s{i % 4}", "question": f"q{i}?"} for i in range(20)]  # 5 items a subject
    bank = write_bank(tmp_path / "bank.yaml", *items)
    train, test = banks.knowledge("train", bank), banks.knowledge("test", bank)
    assert len(train) == len(test) == 10
    assert not {q.bare for q in train} & {q.bare for q in test}
    assert all(q.meta["options"]["ABCD".index(q.reference)] == "r" for q in train + test)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": ["r", "x", "y"]}, r"item 1: options is \['r', 'x', 'y'\]: List should have at least 4 items"),
        ({"options": ["r", "x", "y", "R "]}, "item 1: options is .*: they must differ"),
        ({"options": [4, 5, 6, 7]}, "item 1: options.0 is 4: Input should be a valid string"),
        ({"subject": ""}, "item 1: subject is ''"),
        ({"note": None}, "item 1: note is None"),
        ({"difficulty": 5}, "item 1: difficulty is 5: Input should be 1, 2 or 3"),
        ({"hint": "x"}, "item 1: hint is 'x': Extra inputs are not permitted"),
    ],
)
def test_a_bad_bank_item_is_named(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        banks.read_bank(write_bank(tmp_path / "bank.yaml", ITEM | change), banks.Item)


def test_a_bank_question_asked_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="item 2: the question stands already as item 1"):
        banks.read_bank(write_bank(tmp_path / "bank.yaml", ITEM, ITEM | {"question": " Q? "}), banks.Item)


# --- the same bytes everywhere

PROGRAM = """
import pathlib, random, sys
random.seed(sys.argv[1]); [random.random() for _ in range(int(sys.argv[1]))]
from questions import WRITTEN, build_family
from banks import knowledge
order = WRITTEN if sys.argv[1] == "3" else WRITTEN[::-1]
built = {family: build_family(family) for family in order}
halves = [knowledge(split, pathlib.Path(sys.argv[2])) for split in ("train", "test")]
twenty = [(q.reference, q.meta["options"], q.text) for half in halves for q in half]
print(*[built[family] for family in WRITTEN], twenty, sep="", end="")
"""


def run(*words: str, hash_seed: str = "random") -> str:
    """What another process of this Python prints."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, *words], env=environment, cwd=paths.ROOT, stdout=subprocess.PIPE, check=True, text=True
    ).stdout


def test_cases_24_a_build_is_the_same_in_processes_with_other_hash_seeds_and_other_draws_before(tmp_path: Path) -> None:
    items = [{"question": f"q{i}?", "options": [f"{i}{o}" for o in "rxyz"], "subject": f"s{i % 3}"} for i in range(20)]
    bank = write_bank(tmp_path / "bank.yaml", *(ITEM | item for item in items))
    committed = "".join(files.question_file(family).read_text("utf-8") for family in files.WRITTEN)
    first, second = (
        run("-c", PROGRAM, draws, str(bank), hash_seed=seed) for seed, draws in (("0", "3"), ("4242", "17"))
    )
    assert first == second and first.startswith(committed)
    assert first[len(committed) :].count("('") == 20


@pytest.fixture
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the question files that a test may spoil; the bank is still the real one."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    (tmp_path / "questions").mkdir()
    for family in files.WRITTEN:
        original = paths.ROOT / "data" / "questions" / f"{family}.jsonl"
        (tmp_path / "questions" / original.name).write_bytes(original.read_bytes())
    return tmp_path / "questions"


def test_check_names_the_first_difference_and_build_repairs_it(own_data: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(maker, "WRITTEN", ("reasoning",))
    file = own_data / "reasoning.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"reasoning-train-006", b"reasoning-train-x06"))
    assert maker.main(["--check"]) == 1
    message = capsys.readouterr().err
    assert "reasoning.jsonl, line 7" in message and "reasoning-train-x06" in message and "--build" in message
    file.unlink()
    assert maker.main(["--check"]) == 1
    assert "<no line>" in capsys.readouterr().err
    assert maker.main(["--build"]) == 0
    assert file.read_bytes() == whole


def test_the_command_finds_every_file_as_built() -> None:
    said = run("-W", "error", "data/make/questions.py", "--check").splitlines()
    assert [line.split(":")[0] for line in said] == [f"{family}.jsonl" for family in files.WRITTEN]
    assert all(line.endswith("questions, as built") for line in said)


# --- templates


def test_a_template_that_runs_dry_is_named() -> None:
    def same(rng, number: int) -> Item:
        return Item("always this", "1", 1)

    with pytest.raises(RuntimeError, match="template 'same' gave nothing new for math-train-001"):
        build_from_templates("math", {"same": same}, 2, "train")


def test_splits_are_distinct_when_few_questions_exist() -> None:
    def one_of_eight(rng, number: int) -> Item:
        return Item(f"say {rng.randrange(8)}", "1", 1)

    built = [build_from_templates("math", {"few": one_of_eight}, 4, s) for s in SPLITS]
    assert {q.bare for part in built for q in part} == {f"say {i}" for i in range(8)}
    assert [in_turn(i, "abc") for i in range(4)] == ["a", "b", "c", "a"]


# --- the loader trusts nothing

GOOD = {
    "id": "math-train-000",
    "family": "math",
    "split": "train",
    "text": "Task: 1 + 1?",
    "bare": "1 + 1?",
    "phrasing": 0,
    "kind": "math",
    "reference": "2",
    "meta": {"template": "sum"},
}
CHOICE = GOOD | {
    "id": "knowledge-train-000",
    "family": "knowledge",
    "kind": "choice",
    "reference": "B",
    "meta": {"subject": "s", "options": ["a", "b", "c", "d"]},
}


def test_a_good_line_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "math.jsonl").write_text(json.dumps(GOOD | {"bare": "1 +\u20281?", "text": "1 +\u20281?"}) + "\n")
    assert files.read_questions(tmp_path / "math.jsonl") == [
        Question(**GOOD | {"bare": "1 +\u20281?", "text": "1 +\u20281?"})
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{not json", "math.jsonl, line 2: Invalid JSON"),
        ("", "line 2: Invalid JSON"),
        ("[1]", "line 2: Input should be an object"),
        (GOOD | {"family": "maths"}, "line 2: family is 'maths': Input should be 'math', 'knowledge'"),
        (GOOD | {"family": ["math"]}, r"line 2: family is \['math'\]"),
        (CHOICE, "line 2: family 'knowledge' in the file of 'math'"),
        (GOOD | {"split": "dev"}, "line 2: split is 'dev': Input should be 'train' or 'test'"),
        ({k: v for k, v in GOOD.items() if k != "reference"}, "line 2: reference: Field required"),
        (GOOD | {"answer": "2"}, "line 2: answer is '2': Extra inputs"),
        (GOOD, "line 2: id 'math-train-000' stands already on line 1"),
        (GOOD | {"id": "math-test-001"}, "line 2: id 'math-test-001' is not like math-train-000"),
        (GOOD | {"id": 7}, "line 2: id is 7: Input should be a valid string"),
        (GOOD | {"reference": "  "}, "line 2: reference is '  ': it must be text"),
        (GOOD | {"reference": 2}, "line 2: reference is 2: Input should be a valid string"),
        (GOOD | {"text": ""}, "line 2: text is ''"),
        (GOOD | {"text": "something else"}, "line 2: the text does not hold the bare question '1 [+] 1[?]'"),
        (GOOD | {"kind": "text"}, "line 2: kind is 'text'; math has 'math'"),
        (GOOD | {"phrasing": -1}, "line 2: phrasing is -1"),
        (GOOD | {"phrasing": True}, "line 2: phrasing is True"),
        (GOOD | {"meta": None}, "line 2: meta is None"),
    ],
)
def test_a_bad_line_is_named_by_file_and_line(tmp_path: Path, record: dict | str, message: str) -> None:
    line = record if isinstance(record, str) else json.dumps(record)
    (tmp_path / "math.jsonl").write_text(f"{json.dumps(GOOD)}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        files.read_questions(tmp_path / "math.jsonl")


def test_a_choice_of_no_option_is_named(tmp_path: Path) -> None:
    for letter in ("E", "AB"):
        (tmp_path / "knowledge.jsonl").write_text(json.dumps(CHOICE | {"reference": letter}), encoding="utf-8")
        with pytest.raises(ValueError, match=f"line 1: reference '{letter}' is not one of the letters A, B, C, D"):
            files.read_questions(tmp_path / "knowledge.jsonl")


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(GOOD)),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=3),
)
def test_any_spoilt_field_is_refused_by_name_or_harmless(tmp_path: Path, name: str, value: object) -> None:
    (tmp_path / "math.jsonl").write_text(json.dumps(GOOD | {name: value}), encoding="utf-8")
    try:
        (question,) = files.read_questions(tmp_path / "math.jsonl")
    except ValueError as error:
        assert "math.jsonl, line 1: " in str(error)
    else:
        assert question.family == "math" and question.reference.strip() and question.bare in question.text


def test_bad_choices_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown family 'maths'; choose one of math, knowledge, reasoning, code"):
        load_questions("maths")
    with pytest.raises(ValueError, match="unknown split 'dev'; choose one of train, test"):
        load_questions(split="dev")
    with pytest.raises(ValueError, match="per_family is 0; give a whole number of at least 1"):
        load_questions(per_family=0)
    for bad in ("3", 2.5, True):
        with pytest.raises(ValueError, match="per_family is"):
            load_questions(per_family=bad)


def test_a_missing_or_empty_file_says_how_to_rebuild_it(own_data: Path) -> None:
    (own_data / "code.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match="code.jsonl; rebuild it with: python data/make/questions.py"):
        load_questions()
    (own_data / "math.jsonl").write_text("")
    with pytest.raises(ValueError, match="math.jsonl, line 1: Invalid JSON"):
        load_questions("math")
