"""Readers of recorded LLMs on made files: what they give, what they refuse and how they say so; the command's looks.

Where TRINITY_DATA names the published files, these are read too and their published accuracies checked.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from recorded_files import (
    AGENTS,
    EXAMPLES,
    NO_DATA,
    questions,
    scores,
    write_benchmarks,
    write_csv,
    write_routellm,
    write_routerbench,
    write_routerdc,
)

from suite.commands import main as trinity
from suite.profiles import RecordedError, data_dir
from suite.recordings import inspect
from suite.recordings.readers import listed_texts, read_table, read_tables, without_examples
from suite.recordings.tables import benchmark_name, drop_overlap, on_grid, same_agents, split_name
from trinity_core.paths import ROOT

DATA = os.environ.get("TRINITY_DATA")
WRITERS = {"routerdc": write_routerdc, "routerbench": write_routerbench, "routellm": write_routellm}


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path) -> str:
    """What `read_table` says where it refuses; it names the file."""
    with pytest.raises(RecordedError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


# what is read


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("n_agents", [2, 3, 9])
def test_a_file_gives_what_was_written(tmp_path, format, n_agents):
    values = scores(12, n_agents, "right" if format == "routellm" else "shares")
    table = read_table(WRITERS[format](tmp_path / "things_train.data", values))
    assert (table.name, table.format, table.remarks) == ("things", format, ())
    assert table.agents[:2] == AGENTS[:2] and len(table.agents) == n_agents
    assert list(table.questions) == questions(12)
    np.testing.assert_array_equal(table.scores, values)
    assert table.scores.dtype == np.float64 and not table.graded
    np.testing.assert_array_equal(table.right, values)
    assert len(set(table.ids)) == 12
    assert table.places[0] == (1 if format == "routerdc" else 2) and (np.diff(table.places) > 0).all()


def test_routerbench_gives_answers_and_costs(tmp_path):
    said = [["A\n", 'It\'s "B"\t\\', "第三"], ["I do", "", "x" * 9]]
    costs = np.array([[0.5, 0.25, 0.125], [1.0, np.nan, 2.0]])
    table = read_table(write_routerbench(tmp_path / "a.csv", scores(2), responses=said, costs=costs))
    assert table.responses.tolist() == said
    np.testing.assert_array_equal(table.costs, costs)
    assert list(table.ids) == ["a.dev.0", "a.dev.1"]
    assert table.remarks == tuple(
        f"a.csv: 1 question without {what} of some LLMs: line 3" for what in ("responses", "costs")
    )


def test_routellm_gives_answers_of_several_lines(tmp_path):
    said = [['one\ntwo, "three"', "\n"], ["x", "y"]]
    table = read_table(write_routellm(tmp_path / "a_responses.CSV", scores(2, 2), responses=said))
    assert table.name == "a" and table.costs is None
    assert table.responses.tolist() == [['one\ntwo, "three"', ""], ["x", "y"]]
    assert "1 question without responses of some LLMs" in table.remarks[0]


@pytest.mark.parametrize("format", WRITERS)
def test_marks_and_line_ends_of_other_systems_change_nothing(tmp_path, format):
    plain = WRITERS[format](tmp_path / "a.x", scores(4), texts=[f"第{k}题：\n水的化学式？" for k in range(4)])
    other = put(tmp_path / "b.x", b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n"))
    one, two = read_table(plain), read_table(other)
    assert "第2题：\n水的" in one.questions[2]
    for name in ("questions", "responses", "scores", "places"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_lines_are_those_of_an_editor(tmp_path):
    table = read_table(write_routellm(tmp_path / "a.csv", scores(3, 2), texts=["one", "two\nlines", "three"]))
    assert list(table.places) == [2, 3, 5]


def test_the_order_of_an_entrys_scores_is_free(tmp_path):
    first, second = '{"question":"q","scores":{"a":1,"b":0}}', '{"scores":{"b":0.5,"a":0.25},"question":"r"}'
    assert read_table(put(tmp_path / "a.json", f"[{first},{second}]")).scores.tolist() == [[1, 0], [0.25, 0.5]]


def test_the_format_is_told_by_content(tmp_path):
    values = scores(3, kind="right")
    for name in ("a.JSON", "a.csv", "a"):
        assert read_table(write_routerdc(tmp_path / name, values)).format == "routerdc"
    for name in ("a.CSV", "a.txt"):
        assert read_table(write_routerbench(tmp_path / name, values)).format == "routerbench"
        assert read_table(write_routellm(tmp_path / name, values)).format == "routellm"


# the rule of accuracy


@pytest.mark.parametrize("write", [write_routerdc, write_routerbench])
def test_accuracy_averages_shares_and_counts_probabilities(tmp_path, write):
    shares, probabilities = scores(30), scores(30, kind="probabilities")
    table = read_table(write(tmp_path / "a", shares))
    assert not table.graded
    np.testing.assert_allclose(table.right.mean(axis=0), shares.mean(axis=0))
    table = read_table(write(tmp_path / "b", probabilities))
    assert table.graded and table.remarks == ()
    np.testing.assert_allclose(table.right.mean(axis=0), (probabilities > 0).mean(axis=0))


@pytest.mark.parametrize("n", range(1, 21))
def test_means_of_few_samples_lie_on_a_grid(n):
    """However they are rounded; probabilities do not."""
    values = np.arange(n + 1) / n
    assert on_grid(values) == on_grid(np.round(values, 4)) == n
    assert None not in [on_grid(values.round(decimals)) for decimals in (2, 3, 17)]
    assert on_grid(np.append(values, 0.7310585786)) is None
    assert on_grid(np.random.default_rng(n).random((60, 3)).round(2 + n % 3)) is None


@pytest.mark.parametrize("lowest", [0.03, 0.9137])
def test_scores_that_may_be_means_of_many_samples_are_remarked(tmp_path, lowest):
    values = np.full((4, 2), 0.7310585786)
    values[0, 0] = lowest
    values[1:, 1] = 0 if lowest < 0.1 else 0.7
    assert "may be means of more than 20 samples" in read_table(write_routerdc(tmp_path / "a.json", values)).remarks[0]


# questions


def test_answered_examples_are_left_away(tmp_path):
    texts = ["Which?\n\nA second paragraph: Answer: is a word.\nAnswer:", "No cue at the end"]
    prompts = read_table(write_routerbench(tmp_path / "a.csv", scores(2), texts=texts)).questions
    assert list(prompts) == [texts[0], EXAMPLES + texts[1]]


@pytest.mark.parametrize(
    "prompt, question",
    [
        ("Q1\nAnswer:\nB\n\nQ2\nAnswer:", "Q2\nAnswer:"),
        ("Q1 Answer: B\n\nHint.\n\nQ2\nAnswer:\n", "Hint.\n\nQ2\nAnswer:\n"),
        ("Q1\nAnswer: because\nof rain\n \n\nQ2 Answer:", "Q2 Answer:"),
        ("Passage.\n\nQ1\nAnswer:", "Passage.\n\nQ1\nAnswer:"),
        ("Q1\nAnswer:\n\nQ2\nAnswer:", "Q1\nAnswer:\n\nQ2\nAnswer:"),
        ("Write a function.\n\nAnswer: none\n\nElse", "Write a function.\n\nAnswer: none\n\nElse"),
        ("", ""),
    ],
)
def test_where_examples_end(prompt, question):
    assert without_examples(prompt) == question


def test_a_prompt_of_several_texts_is_one_question(tmp_path):
    header = ["sample_id", "prompt", "eval_name", "a", "b"]
    rows = [["x", repr(["twice", "twice"]), "e", 1, 0], ["y", repr(["first turn", "second turn"]), "e", 0, 1]]
    table = read_table(write_csv(tmp_path / "a.csv", [header, *rows]))
    assert list(table.questions) == ["twice", "first turn\n\nsecond turn"]


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["a"], ["it's", 'say "so"'], ["\\", "\n\r\t", "\x1b", "第", "\U0001f600", "'\""], ["a,b", "]", "['x']"]],
)
def test_list_literals_come_back(texts):
    assert listed_texts(repr(texts)) == listed_texts(f" {texts!r} ") == ("" if texts == [""] else "\n\n".join(texts))


@pytest.mark.parametrize(
    "cell",
    [
        "[__import__('os').system('touch hacked')]",
        "['a' + 'b']",
        "['a',, 'b']",
        "[,]",
        "['a', 1]",
        "[f'{1}']",
        "[b'a']",
        "('a',)",
        "plain",
        "['a'",
        "['a\\']",
        "[" * 10**5 + "]" * 10**5,
        "[" + "-" * 10**5 + "1]",
        "['" + "\\" * (10**5 + 1) + "']",
        "['\\ud800']",
        "['\\0']",
    ],
)
def test_nothing_but_texts_between_quotes_is_read(cell):
    with pytest.raises(ValueError, match="text"):
        listed_texts(cell)


# remarks


@pytest.mark.parametrize("format", WRITERS)
def test_questions_without_all_scores_are_left_out_and_named(tmp_path, format):
    values = scores(6, kind="right")
    values[2, 1] = values[4, 0] = values[4, 2] = np.nan
    table = read_table(WRITERS[format](tmp_path / "a", values, texts=[f"q{k}" for k in range(6)]))
    np.testing.assert_array_equal(table.scores, values[[0, 1, 3, 5]])
    assert table.questions[2].endswith("q3")
    where = "entries 3, 5" if format == "routerdc" else "lines 4, 6"
    assert table.remarks[0] == f"a: 2 of 6 questions left out for a missing score of {', '.join(AGENTS)}: {where}"


def test_an_llm_that_an_entry_lacks_is_a_missing_score(tmp_path):
    path = put(tmp_path / "a.json", f'[{ENTRY},{{"question":"r","scores":{{"a":1}}}}]')
    assert read_table(path).remarks == ("a.json: 1 of 2 questions left out for a missing score of b: entry 2",)


@pytest.mark.parametrize("format", WRITERS)
def test_duplicate_questions_are_kept_and_named(tmp_path, format):
    table = read_table(WRITERS[format](tmp_path / "a", scores(5, kind="right"), texts=["p", "q", "r", "q ", "p"]))
    assert len(table.questions) == 5
    pairs = "entries 1, 5; entries 2, 4" if format == "routerdc" else "lines 2, 6; lines 3, 5"
    assert table.remarks == (f"a: 2 questions found more than once, kept: {pairs}",)


def test_ids_that_stand_twice_are_told_apart(tmp_path):
    header = ["sample_id", "prompt", "eval_name", "a", "b"]
    rows = [["x", "['p']", "e", 1, 0], ["y", "['q']", "e", 1, 0], ["x", "['r']", "f", 1, 0]]
    table = read_table(write_csv(tmp_path / "a.csv", [header, *rows]))
    assert list(table.ids) == ["x#1", "y", "x#3"]
    assert table.remarks == ("a.csv: 2 values of eval_name (e, f) are taken as one benchmark",)


# several files


@pytest.mark.parametrize(
    "file, name, split",
    [
        ("mmlu_test.json", "mmlu", "test"),
        ("gsm8k-train.JSON", "gsm8k", "train"),
        ("gsm8k_responses.csv", "gsm8k", None),
        ("Arc.Challenge.DEV.csv", "Arc.Challenge", "validation"),
        ("test_pre-algebra.json", "pre-algebra", "test"),
        ("mmlu_train_responses.csv", "mmlu", "train"),
        ("contest.json", "contest", None),
        ("trained_latest.csv", "trained_latest", None),
        ("piqa/validation.json", "piqa", "validation"),
        ("c eval val.json", "c eval", "validation"),
    ],
)
def test_a_file_names_its_benchmark(file, name, split):
    assert (benchmark_name(file), split_name(file)) == (name, split)


def test_tables_take_the_first_files_order(tmp_path):
    values = scores(4)
    one = write_routerdc(tmp_path / "a_test.json", values)
    two = write_routerdc(tmp_path / "b_test.json", values[:, [2, 0, 1]], agents=[AGENTS[k] for k in (2, 0, 1)])
    first, second = read_tables([one, two])
    assert first.agents == second.agents == AGENTS
    np.testing.assert_array_equal(first.scores, second.scores)


def test_other_llms_and_doubled_benchmarks_are_refused(tmp_path):
    one = write_routerdc(tmp_path / "a_test.json", scores(4))
    two = write_routerdc(tmp_path / "b.json", scores(4), agents=["x/y", *AGENTS[1:]])
    three = write_routerdc(tmp_path / "A-train.json", scores(4))
    with pytest.raises(RecordedError, match=rf"{one} and {two}: other LLMs \(only in one of them: north/a-7b, x/y\)"):
        read_tables([one, two])
    with pytest.raises(RecordedError, match=f"{one} and {three} both hold the benchmark 'A'"):
        read_tables([one, three])


def test_a_table_of_some_llms(tmp_path):
    table = read_table(write_routerbench(tmp_path / "a.csv", scores(4)))
    some = table.with_agents([AGENTS[2], AGENTS[0]])
    np.testing.assert_array_equal(some.scores, table.scores[:, [2, 0]])
    np.testing.assert_array_equal(some.costs, table.costs[:, [2, 0]])
    np.testing.assert_array_equal(some.responses, table.responses[:, [2, 0]])
    with pytest.raises(RecordedError, match="has no LLM 'gpt-9'; it has north/a-7b, "):
        table.with_agents(["gpt-9"])
    with pytest.raises(RecordedError, match="stands twice"):
        table.with_agents([AGENTS[0], AGENTS[0]])
    assert same_agents([table.with_agents(AGENTS[::-1]), table])[1].agents == AGENTS[::-1]
    with pytest.raises(RecordedError, match="other LLMs"):
        same_agents([some, table])


@pytest.mark.parametrize("rows", [[3, 1], np.array([False, True, False, True]), slice(0, 1), np.array([], int)])
def test_a_table_of_some_questions(tmp_path, rows):
    table = read_table(write_routerbench(tmp_path / "a.csv", scores(4)))
    some = table.take(rows)
    for name in ("questions", "responses", "ids", "scores", "costs", "places"):
        np.testing.assert_array_equal(getattr(some, name), getattr(table, name)[rows])


def test_questions_that_are_also_tested_are_not_trained_on(tmp_path):
    one = read_table(write_routerdc(tmp_path / "a_train.json", scores(4), texts=["p", "q  r", "s", "t"]))
    two = read_table(write_routellm(tmp_path / "b_train.csv", scores(2, 3), texts=["u", "v"]))
    test = read_table(write_routellm(tmp_path / "b_test.csv", scores(3), texts=["x", "q\nr", "t"]))
    kept, remarks = drop_overlap([one, two], [test])
    assert [table.questions.tolist() for table in kept] == [["p", "s"], ["u", "v"]]
    assert remarks == [
        "2 questions of a_train.json found in b_test.csv too: entries 2, 4; there lines 3, 5; left out of training"
    ]
    np.testing.assert_array_equal(kept[0].scores, one.scores[[0, 2]])
    with pytest.raises(RecordedError, match=f"every question of {test.path} stands in a test file too"):
        drop_overlap([test], [test])


def test_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    with pytest.raises(RecordedError, match=r"TRINITY_DATA is not set.*shuhao02/RouterDC.*lm-sys/RouteLLM"):
        data_dir()
    monkeypatch.setenv("TRINITY_DATA", str(tmp_path))
    with pytest.raises(RecordedError, match=f"TRINITY_DATA is '{tmp_path}', which holds no recorded data"):
        data_dir()
    with pytest.raises(RecordedError, match="--data-dir is '/no/such', which is no folder"):
        data_dir("/no/such")
    (tmp_path / "routellm").mkdir()
    assert data_dir() == data_dir(str(tmp_path)) == tmp_path


# what is refused

ENTRY = '{"question":"q","scores":{"a":0.5,"b":1}}'


def entry(pairs: str, question: str = '"q"') -> str:
    return f'[{ENTRY},\n{{"question":{question},"scores":{{{pairs}}}}}]'


JSON_FAULTS = {
    "a score that is no number": (entry('"a":"1","b":1'), "FILE, entry 2, 'scores', 'a' is '1': Input should be a val"),
    "true": (entry('"a":true,"b":1'), "entry 2, 'scores', 'a' is True: Input should be a valid number"),
    "NaN": (entry('"a":NaN,"b":1'), "'a' is nan: Input should be a finite number"),
    "a number without end": (entry('"a":1e999,"b":1'), "'a' is inf: Input should be a finite number"),
    "a percentage": (entry('"a":57,"b":1'), "'a' is 57: Input should be less than or equal to 1"),
    "400 digits": (entry(f'"a":{"9" * 400},"b":1'), "'a' is 9999"),
    "5000 digits": (entry(f'"a":{"9" * 5000},"b":1'), "FILE is not JSON that can be read"),
    "an LLM twice": (entry('"a":1,"a":0,"b":1'), "entry 2, 'scores' is [('a', 1), ('a', 0), ('b', 1)]: Input should"),
    "a question twice": (
        '[{"question":"p","question":"q","scores":{}}]',
        "entry 1 is [('question', 'p'), ('question',",
    ),
    "a new LLM": (entry('"a":1,"c":1'), "no question has a score of every LLM; fill in or leave out those of b, c"),
    "scores in a list": (
        '[{"question":"q","scores":[1,0]}]',
        "entry 1, 'scores' is [1, 0]: Input should be a valid dic",
    ),
    "no scores": ('[{"question":"q","score":{}}]', "entry 1, 'scores' is {'question': 'q', 'score': {}}: Field requ"),
    "an empty question": (entry('"a":1,"b":1', '" \\n"'), "entry 2, 'question' is ' \\n': Value error, fill it in"),
    "a question that is no text": (entry('"a":1,"b":1', "7"), "entry 2, 'question' is 7: Input should be a valid str"),
    "half a character": (entry('"a":1,"b":1', '"\\ud800"'), "'question' is '\\ud800': Value error, a text is needed"),
    "one LLM": ('[{"question":"q","scores":{"a":1}}]', "the LLMs are a; a choice needs the scores of at least 2"),
    "no LLM": ('[{"question":"q","scores":{}}]', "FILE: the LLMs are none"),
    "an LLM without a name": ('[{"question":"q","scores":{"":1,"b":1}}]', "the LLM's name '' is empty"),
    "a control character": ('[{"question":"q","scores":{"\\u001b[1m":1,"b":1}}]', "holds a character that cannot be"),
    "no score at all": ('[{"question":"q","scores":{"a":null,"b":1}}]', "fill in or leave out those of a"),
    "one object": (ENTRY, "FILE is {'question': 'q', 'scores': {'a': 0.5, 'b': 1}}: Input should be a valid list"),
    "no list": ("null", "FILE is None: Input should be a valid list"),
    "a comma at the end": (f"[{ENTRY},\n]", "FILE is not JSON that can be read (Expecting value: line 2 column 1"),
    "no comma": (f"[{ENTRY}\n{ENTRY}]", "(Expecting ',' delimiter: line 2 column 1"),
    "more behind the end": (f"[{ENTRY}]\n[]", "(Extra data: line 2 column 1"),
    "deep lists": ("[" * 10**5, "FILE is not JSON that can be read (maximum recursion depth"),
    "blanks": ("\n \n", "FILE is not JSON that can be read"),
    "other letters": (
        '[\n"ü'.encode("latin-1"),
        "FILE cannot be read as UTF-8 ('utf-8' codec can't decode byte 0xfc in",
    ),
    "packed": (gzip.compress(ENTRY.encode()), "byte 0x8b in position 1: invalid start byte); unpack it if it is"),
}
BENCH = ["", "sample_id", "prompt", "eval_name", "m", "n", "m|model_response", "n|model_response", "m|total_cost"]
BENCH += ["n|total_cost", "oracle_model_to_route_to"]


def bench(header: Sequence[str] = BENCH, **cells: str) -> list[Sequence[object]]:
    """A good row and one with these cells (by column)."""
    good = ["0", "s0", "['q']", "e", "1.0", "0.0", "['A']", "['B']", "0.1", "0.2", "m"]
    return [header, good, [cells.get(name, value) for name, value in zip(BENCH, good, strict=True)]]


def renamed(old: str, new: str) -> list[Sequence[object]]:
    return bench([new if name == old else name for name in BENCH])


CSV_FAULTS = {
    "True among numbers": (bench(m="True"), "FILE, line 3, column 'm': the cell is 'True'; a number from 0 to 1"),
    "nan": (bench(m="nan"), "line 3, column 'm': the cell is 'nan'; a number"),
    "too large": (bench(**{"m|total_cost": "1e999"}), "line 3, column 'm|total_cost': the cell is '1e999'; a number"),
    "other digits": (bench(m="１"), "the cell is '１'; a number"),
    "a decimal comma": (bench(m="0,5"), "the cell is '0,5'; a number"),
    "a percentage": (bench(m="50"), "the cell is '50'; a number from 0 to 1 is needed (blank where"),
    "code as prompt": (bench(prompt="[open('x')]"), "column 'prompt': the cell is \"[open('x')]\"; a Python list"),
    "no prompt": (bench(prompt="[]"), "line 3, column 'prompt': the cell is '[]'; fill it in"),
    "a plain response": (bench(**{"m|model_response": "A"}), "'m|model_response': the cell is 'A'; a Python list"),
    "a negative cost": (bench(**{"n|total_cost": "-1"}), "'n|total_cost': the cell is '-1'; a number from 0 to 1,000"),
    "no id": (bench(sample_id=" "), "line 3, column 'sample_id': the cell is ' '; fill it in"),
    "no column of ids": (
        renamed("sample_id", "id"),
        "FILE, header: the column 'sample_id' is missing (the columns: ''",
    ),
    "costs of no LLM": (
        renamed("n|total_cost", "k|total_cost"),
        "'k|total_cost' is odd; give LLM|total_cost for every LLM",
    ),
    "a column twice": (renamed("n", "m"), "FILE, header: the column 'm' stands twice"),
    "a column that is no LLM's": ("prompt,topic,a,b\nq,art,True,True\n", "column 'topic': the cell is 'art'; True or"),
    "numbers for True": ("prompt,a,b\nq,1,0\n", "FILE, line 2, column 'a': the cell is '1'; True or False is needed"),
    "an empty question": ('prompt,a,b\n"\n",True,True\n', "FILE, line 2, column 'prompt': the cell is '\\n'; fill it"),
    "one LLM": ("prompt,a\nq,True\n", "FILE, header: the LLMs are a; a choice needs"),
    "no LLM": ("prompt\nq\n", "FILE, header: the LLMs are none"),
    "no header": ("q,True,False\n", "the column 'prompt' is missing (the columns: 'q', 'True', 'False')"),
    "a blank before a name": (
        "prompt, a,b\nq,True,True\n",
        "the LLM's name ' a' is empty, begins or ends with a blank",
    ),
    "more cells": ('prompt,a,b\n"q\nr",True,True\nq,True,True,False\n', "line 4: the row has 4 cells, the header 3"),
    "a comma at the end": ("prompt,a,b\nq,True,True,\n", "the row has 4 cells, the header 3; its last one is ''"),
    "an open quote": ('prompt,a,b\np,True,True\n"q,True\n,True\n', "FILE, line 3: not CSV"),
    "no rows": ("prompt,a,b\n", "FILE holds no questions"),
    "no complete row": (
        "prompt,a,b\nq,,\n",
        "no question has a score of every LLM; fill in or leave out those of a, b",
    ),
    "a zero byte": ("prompt,a,b\nq\0,True,True\n", "FILE, line 2, column 'prompt': the cell is 'q\\x00'; a text"),
    "a huge cell": (f"prompt,a,b\nq,{'x' * 10**6},True\n", "xxx'; True or False is needed"),
}
FAULTS = {f"json: {name}": pair for name, pair in JSON_FAULTS.items()} | {
    f"csv: {name}": pair for name, pair in CSV_FAULTS.items()
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_file_is_refused_by_name(tmp_path, fault):
    content, said = FAULTS[fault]
    path = tmp_path / f"a_test.{fault[: fault.index(':')]}"
    message = refusal(write_csv(path, content) if isinstance(content, list) else put(path, content))
    assert said in message
    assert len(message) < 400


@pytest.mark.parametrize(
    "place, said",
    [(".", "is no file"), ("no.json", "is no file"), ("/dev/zero", "is no file"), ("x" * 999, "cannot be read")],
)
def test_what_is_no_file_is_refused(tmp_path, place, said):
    with pytest.raises(RecordedError, match=said):
        read_table(tmp_path / place)


def test_large_cells_and_many_columns_are_read(tmp_path):
    text = "x" * 10**6
    assert read_table(write_routellm(tmp_path / "a.csv", scores(1, 2), texts=[text])).questions == [text]
    names = [f"agent {k}" for k in range(2000)]
    assert read_table(write_routellm(tmp_path / "b.csv", scores(2, 2000), agents=names)).scores.shape == (2, 2000)


@pytest.mark.parametrize("format", WRITERS)
def test_damage_anywhere_is_read_or_refused(tmp_path, format):
    """A byte put in or taken out, or the end cut off, at every fifth place: a whole table, or RecordedError."""
    path = WRITERS[format](tmp_path / "a.x", scores(2, kind="right"), texts=["one", "two"], **EXTRAS.get(format, {}))
    content = path.read_bytes()
    refused = 0
    for at in range(0, len(content), 5):
        for damaged in (content[:at], content[:at] + content[at + 1 :], content[:at] + b'"' + content[at:]):
            path.write_bytes(damaged)
            try:
                table = read_table(path)
            except RecordedError as error:
                refused += 1
                assert str(path) in str(error)
            else:
                assert table.scores.shape == (len(table.questions), len(table.agents))
                assert ((table.scores >= 0) & (table.scores <= 1)).all()
    assert refused > len(content) / 5


EXTRAS = {"routerbench": {"examples": ""}, "routellm": {"responses": [["x"] * 3] * 2}}


# the command


def run(*words: object) -> tuple[int, str]:
    return trinity(["recordings", *map(str, words)])


def test_inspecting_prints_what_a_file_holds(tmp_path, capsys):
    train, test = write_benchmarks(tmp_path)
    assert run("inspect", *train, *test, "--json", tmp_path / "out.json") == 0
    printed = capsys.readouterr()
    report = json.loads((tmp_path / "out.json").read_text())
    assert [found["benchmark"] for found in report["files"]] == ["alpha", "beta"] * 2
    assert [found["split"] for found in report["means"]] == ["train", "test"]
    for found, path in zip(report["files"], [*train, *test], strict=True):
        table = read_table(path)
        assert f"benchmark {table.name}: {len(table.questions)} questions, 3 LLMs" in printed.out
        for name, value in zip(table.agents, 100 * table.scores.mean(axis=0), strict=True):
            assert found["accuracy"][name] == pytest.approx(value)
            assert f"{value:6.2f}  {name}" in printed.out
        assert found["best LLM of each question"] == pytest.approx(100 * table.scores.max(axis=1).mean())
    means = np.array([list(found["accuracy"].values()) for found in report["files"][2:]])
    together = report["means"][1]
    assert list(together["accuracy"].values()) == pytest.approx(means.mean(axis=0))
    assert together["best single LLM"] == AGENTS[int(means.mean(axis=0).argmax())]
    assert together["best LLM of each benchmark"] == pytest.approx(means.max(axis=1).mean())
    assert printed.out.count("mean of 2 files") == 2 and printed.err == ""


def test_inspecting_says_why_and_remarks(tmp_path, capsys):
    values = scores(6, kind="probabilities")
    values[2, 1] = np.nan
    train = write_routerdc(tmp_path / "a_train.json", values, texts=list("pqrstp"))
    test = write_routerdc(tmp_path / "a_test.json", scores(2), texts=list("sx"))
    assert run("inspect", train, test) == 0
    printed = capsys.readouterr()
    assert "accuracy counts scores above 0: on no grid" in printed.out
    assert "accuracy averages the scores: multiples of 1/10" in printed.out
    assert printed.err.splitlines() == [
        "note: a_train.json: 1 of 6 questions left out for a missing score of east-b-chat: entry 3",
        "note: a_train.json: 1 question found more than once, kept: entries 1, 6",
        "note: 1 question of a_train.json found in a_test.json too: entry 4; there entry 1",
    ]


def test_inspecting_a_folder_takes_its_files(tmp_path, capsys):
    write_routerdc(tmp_path / "b.JSON", scores(3))
    write_routellm(tmp_path / "a.csv", scores(3, 2))
    put(tmp_path / "notes.txt", "no table")
    put(tmp_path / ".hidden.csv", "no table")
    assert run("inspect", tmp_path) == 0
    printed = capsys.readouterr().out
    assert printed.index("a.csv") < printed.index("b.JSON") and "mean of" not in printed
    (tmp_path / "empty" / "routerdc").mkdir(parents=True)
    assert run("inspect", tmp_path / "empty") == 2
    assert "holds no .json or .csv file; name another" in capsys.readouterr().err


def test_inspecting_goes_on_after_a_bad_file(tmp_path, capsys):
    good, bad = write_routerdc(tmp_path / "b.json", scores(3)), put(tmp_path / "a.json", "[3]")
    assert run("inspect", bad, good, "--json", tmp_path / "out.json") == 2
    printed = capsys.readouterr()
    assert "benchmark b: 3 questions" in printed.out
    assert f"{bad}, entry 1 is 3" in printed.err
    assert not (tmp_path / "out.json").exists()


def test_training_and_testing_passes_the_arguments_on(tmp_path, capsys, monkeypatch):
    from suite.routers import files as files_evaluation

    asked: dict[str, object] = {}

    def evaluate_files(train: Sequence[str], test: Sequence[str], **settings: object) -> dict[str, str]:
        asked.update(settings, train=train, test=test)
        return {"is": "the report"}

    monkeypatch.setattr(files_evaluation, "evaluate_files", evaluate_files)
    monkeypatch.setattr(files_evaluation, "as_text", lambda report: report["is"])
    assert run("train", "--train", "a", "b", "--train", "c", "--test", "d") == 0
    assert capsys.readouterr().out == "the report\n"
    defaults = {"method": "sep-cma-es", "seeds": 5, "budget": 31680, "encoder": "smollm2-135m", "layer": -1}
    assert asked == {"train": ["a", "b", "c"], "test": ["d"]} | defaults
    out = str(tmp_path / "out.json")
    words = ["--method", "knn", "--seeds", "2", "--budget", "99", "--encoder", "other", "--layer", "-4", "--json", out]
    assert run("train", "--train", "a", "--test", "d", *words) == 0
    own = {"method": "knn", "seeds": 2, "budget": 99, "encoder": "other", "layer": -4}
    assert json.loads(Path(out).read_text()) == {"is": "the report"}
    assert asked == {"train": ["a"], "test": ["d"]} | own


def test_the_report_is_printed_before_a_file_that_fails(tmp_path, capsys, monkeypatch):
    from suite.routers import files as files_evaluation
    from trinity_core import paths

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_evaluation, "evaluate_files", lambda *_, **__: {"is": "hours of work"})
    monkeypatch.setattr(files_evaluation, "as_text", lambda report: report["is"])
    monkeypatch.setattr(paths, "write_atomic", full)
    assert run("train", "--train", "a", "--test", "d", "--json", str(tmp_path / "out.json")) == 2
    printed = capsys.readouterr()
    assert printed.out == "hours of work\n" and "No space left" in printed.err


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "long", "longer"])
def test_json_goes_to_files_alone(tmp_path, capsys, kind):
    out = tmp_path / {"long": "y" * 255, "longer": "y" * 256}.get(kind, "out")
    if "pipe" in kind:
        os.mkfifo(tmp_path / "pipe")
        out = tmp_path / "pipe"
    if "link" in kind:
        (tmp_path / "link").symlink_to(out)
        out = tmp_path / "link"
    path = write_routerdc(tmp_path / "a_test.json", scores(3))
    if kind == "long":
        assert run("inspect", path, "--json", str(out)) == 0 and json.loads(out.read_text())["files"]
        return
    with pytest.raises(SystemExit) as ended:
        run("inspect", path, "--json", str(out))
    assert ended.value.code == 2 and "--json" in capsys.readouterr().err
    assert kind == "longer" or (tmp_path / "pipe").is_fifo()


def test_json_follows_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert run("inspect", write_routerdc(tmp_path / "a_test.json", scores(3)), "--json", str(tmp_path / "link")) == 0
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "target").read_text())["files"]


def test_a_file_counts_once_however_it_is_named(tmp_path, capsys):
    folder = tmp_path / "a"
    folder.mkdir()
    one, two = (write_routerdc(folder / f"{name}_test.json", scores(3)) for name in ("x", "y"))
    assert run("inspect", one, str(folder / ".." / "a" / "x_test.json"), two) == 0
    assert "mean of 2 files" in capsys.readouterr().out


def test_the_commands_words_are_those_of_the_training():
    from suite.commands import recordings, train
    from suite.routers.methods import METHODS
    from trinity_core.training.train import METHODS as LEARNERS
    from trinity_core.training.train import PAPER_BUDGET

    assert [*recordings.METHODS, "exact sep-cma-es"] == list(METHODS)
    assert train.METHODS == tuple(LEARNERS)
    assert 33 * 16 * 60 == PAPER_BUDGET


def test_training_on_a_bad_file_ends_with_its_name(tmp_path, capsys):
    good, bad = write_routerdc(tmp_path / "a_test.json", scores(3)), put(tmp_path / "a_train.json", "[3]")
    assert run("train", "--train", bad, "--test", good, "--method", "best-single") == 2
    assert f"{bad}, entry 1 is 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "the following arguments are required: action"),
        (["train", "--train", "a"], "the following arguments are required: --test"),
        (["train", "--test", "a"], "the following arguments are required: --train"),
        (["inspect", "a", "--seeds", "3"], "unrecognized arguments: --seeds 3"),
        (["train", "--train", "a", "--test", "b", "--seeds", "0"], "'0' is no whole number from 1 on"),
        (["train", "--train", "a", "--test", "b", "--seeds", "2.5"], "'2.5' is no whole number from 1 on"),
        (["train", "--train", "a", "--test", "b", "--budget", "-3"], "'-3' is no whole number from 1 on"),
        (["train", "--train", "a", "--test", "b", "--budget", "9" * 5000], "is no whole number from 1 on"),
        (["train", "--train", "a", "--test", "b", "--method", "magic"], "invalid choice: 'magic'"),
        (["encode", "--json", "x"], "unrecognized arguments: --json x"),
        (["train", "--train", "a", "--test", "b", "--json", "."], "'.' is no name of a file"),
        (["train", "--train", "a", "--test", "b", "--json", "/dev/null/x"], "/dev/null is not a folder"),
        (["train", "--train", "a", "--test", "b", "--json", "./b"], "--json is 'b', a file that is read"),
    ],
)
def test_arguments_are_refused_by_name(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_no_report_is_written_over_a_file_of_an_inspected_folder(tmp_path, capsys):
    path = write_routerdc(tmp_path / "a.json", scores(3))
    with pytest.raises(SystemExit):
        run("inspect", tmp_path, "--json", path)
    assert "a file that is read" in capsys.readouterr().err


def test_encoding_without_data_says_where_it_is_published(monkeypatch, capsys):
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    assert run("encode") == 2
    assert "TRINITY_DATA is not set" in capsys.readouterr().err


def test_the_command_starts_light_and_prints_any_name(tmp_path):
    words = [sys.executable, "-X", "importtime", "-m", "suite.commands", "recordings", "train", "--help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--train FILE" in done.stdout and "per-benchmark-best" in done.stdout
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert not loaded & {"numpy", "pandas", "torch", "transformers"}
    path = write_routerdc(tmp_path / "a.json", scores(3, 2), agents=["通义/千问", "b"])
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "suite.commands", "recordings", "inspect", str(path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    assert "\\u901a" in done.stdout


# the published files

published = pytest.mark.skipif(not DATA, reason=NO_DATA)
MMLU = [62.14, 59.86, 57.42, 59.81, 60.53, 64.59, 59.46]
GSM8K = [36.71, 69.63, 41.03, 33.00, 52.38, 47.76, 69.81]


@published
@pytest.mark.parametrize("file, n, accuracies", [("mmlu_test.json", 4213, MMLU), ("gsm8k-test.json", 1319, GSM8K)])
def test_routerdc_scores_as_published(file, n, accuracies):
    table = read_table(data_dir() / "routerdc" / file)
    assert table.scores.shape == (n, 7)
    assert [round(value, 2) for value in inspect.summary(table)["accuracy"].values()] == accuracies


@published
def test_routerdcs_files_together():
    folder = data_dir() / "routerdc"
    names = ("arc_challenge_{}", "cmmlu_{}", "gsm8k-{}", "humaneval_{}", "mmlu_{}")
    train, test = (
        read_tables([folder / f"{name.format(split)}.json" for name in names]) for split in ("train", "test")
    )
    assert [(one.name, one.graded) for one in train] == [(other.name, other.graded) for other in test]
    found = inspect.overall(test)
    assert found["best single LLM"] == "cognitivecomputations/dolphin-2.9-llama3-8b"
    assert round(found["accuracy"][found["best single LLM"]], 2) == 54.56
    assert round(found["best LLM of each benchmark"], 2) == 58.70
    kept, remarks = drop_overlap(train, test)
    assert sum(len(table.questions) for table in train) - sum(len(table.questions) for table in kept) == 19
    assert len(remarks) == 3 and "8 questions found more than once" in test[-1].remarks[0]


@published
def test_routerbench_and_routellm_are_read_whole():
    tables = {
        path.stem: read_table(path)
        for folder in ("routerbench", "routellm")
        for path in inspect.files_of([data_dir() / folder])
    }
    shapes = {name: table.scores.shape for name, table in tables.items()}
    assert shapes["arc_challenge_test"] == (437, 11) and shapes["arc_challenge_train"] == (1019, 11)
    assert shapes["mbpp_test"] == (128, 11) and shapes["winograde_train"] == (887, 11)
    assert shapes["gsm8k_responses"] == (1319, 2) and shapes["mmlu_astronomy"] == (152, 2)
    assert not any(table.graded for table in tables.values())
    assert {table.responses is not None for table in tables.values() if table.format == "routerbench"} == {True}
    for name in ("arc_challenge_test", "winograde_test"):
        assert all(question.count("Answer:") == 1 for question in tables[name].questions)
        assert np.isfinite(tables[name].costs).all() and (tables[name].costs > 0).all()
    assert tables["mbpp_test"].questions[1].startswith("Write a")
