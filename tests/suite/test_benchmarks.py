"""The published benchmarks, on small made files of their schemas: good rows, every kind of bad row, no network."""

from __future__ import annotations

import base64
import csv
import json
import os
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from suite.benchmarks import files as benchmark_files
from suite.benchmarks import rows as benchmark_rows
from suite.benchmarks.catalogue import BENCHMARKS
from suite.benchmarks.loading import read_benchmark
from suite.benchmarks.rows import CONVERTERS
from suite.checkers.check import check_answer
from suite.commands import main as trinity
from suite.sandbox.run import run_code, sandbox_status
from trinity_core import paths
from trinity_core.types import DataError

Row = dict[str, Any]


def pack(text: Any) -> str:
    """Private tests as LiveCodeBench publishes them."""
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


def stdin(*pairs: tuple[str, str]) -> str:
    return json.dumps([{"input": a, "output": b, "testtype": "stdin"} for a, b in pairs])


def functional(*pairs: tuple[str, str]) -> str:
    return json.dumps([{"input": a, "output": b, "testtype": "functional"} for a, b in pairs])


LCB_STDIN = {
    "question_title": "A. Double",
    "question_content": "Read a number and print twice as much.",
    "platform": "codeforces",
    "question_id": "1873_A",
    "contest_id": "1873",
    "contest_date": "2023-08-21T00:00:00",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": stdin(("3\n", "6\n")),
    "private_test_cases": pack(stdin(("10\n", "20\n"), ("0\n", "0\n"))),
    "metadata": "{}",
}
LCB_FUNCTION = LCB_STDIN | {
    "question_id": "2777",
    "platform": "leetcode",
    "question_content": "Add k to each number.",
    "starter_code": "class Solution:\n    def shift(self, nums: List[int], k: int) -> List[int]:\n        ",
    "public_test_cases": functional(("[1, 2]\n1", "[2, 3]")),
    "private_test_cases": functional(("[]\n5", "[]")),
    "metadata": json.dumps({"func_name": "shift"}),
}
ROWS = yaml.safe_load(Path(__file__).with_name("benchmark_rows.yaml").read_text(encoding="utf-8"))
GOOD: dict[str, list[Row]] = {
    name: ROWS.get(name) or [LCB_STDIN, LCB_FUNCTION] for name in (*list(ROWS)[:3], "livecodebench", *list(ROWS)[3:])
}
UNIT_TEST, GPQA_ROW = ROWS["bigcodebench"][0]["test"], ROWS["gpqa"][0]


def write(path: Path, rows: list[Any]) -> Path:
    """The rows as a file of the path's suffix; in CSV what is no text is JSON, as the reader wants it."""
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    elif path.suffix == ".csv":
        names = list(dict.fromkeys(name for row in rows for name in row))
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, names, restval="")
            table.writeheader()
            table.writerows({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows)
    else:
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """The hub refuses, and what it was asked for is noted."""
    asked: list[tuple] = []

    def refuse(*args: Any, **kwargs: Any) -> None:
        asked.append((*args, kwargs["revision"]))
        raise ConnectionError("no route to host\nsecond line")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", refuse)
    return asked


# --- good rows


def test_the_table_names_every_benchmark_and_its_converter() -> None:
    assert list(BENCHMARKS) == list(CONVERTERS) == list(GOOD)
    assert set(BENCHMARKS["livecodebench"].files) == {"train", "test"}
    assert all("test" in benchmark.files for benchmark in BENCHMARKS.values())
    for name, rows in GOOD.items():
        known = {*BENCHMARKS[name].fields, *BENCHMARKS[name].optional}
        assert all(set(BENCHMARKS[name].fields) <= row.keys() <= known for row in rows)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("name", GOOD)
def test_good_rows_are_read_from_every_kind_of_file(name: str, suffix: str, tmp_path: Path, no_hub: list) -> None:
    loaded = read_benchmark(name, "test", write(tmp_path / f"rows{suffix}", GOOD[name])).questions
    plain = loaded_by_name(name, tmp_path)
    assert [(q.id, q.text, q.kind, q.reference) for q in loaded] == [(q.id, q.text, q.kind, q.reference) for q in plain]
    assert [q.id for q in loaded] == [f"{name}-test-{i:05d}" for i in range(len(GOOD[name]))]
    assert all((q.family, q.split, q.bare, q.phrasing) == (BENCHMARKS[name].family, "test", q.text, 0) for q in loaded)
    assert all(q.meta["benchmark"] == name for q in loaded)
    assert no_hub == []  # with a path the hub is not asked


def loaded_by_name(name: str, tmp_path: Path) -> list:
    return read_benchmark(name, "test", write(tmp_path / "good.jsonl", GOOD[name])).questions


def test_mathematics_keeps_its_reference_and_place(tmp_path: Path) -> None:
    first, second = loaded_by_name("math500", tmp_path)
    assert (first.kind, first.reference, first.meta["level"]) == ("math", "\\frac{3}{2}", 1)
    assert first.meta["source_id"] == "test/prealgebra/1.json" and "level" not in second.meta
    assert check_answer("math", first.reference, "So \\boxed{1.5}.", question=first).correct
    assert [q.reference for q in loaded_by_name("aime2025", tmp_path)] == ["70", "588"]


def test_choices_show_their_options_and_letters(tmp_path: Path) -> None:
    first, second = loaded_by_name("mmlu", tmp_path)
    assert first.text == "Largest?\nA) Sun\nB) Moon\nC) Earth\nD) Mars"
    assert (first.reference, second.reference, first.meta["subject"]) == ("A", "B", "astronomy")
    for question in loaded_by_name("gpqa", tmp_path):
        assert question.meta["options"]["ABCD".index(question.reference)] == "right"
        assert sorted(question.meta["options"]) == ["right", "wrong 1", "wrong 2", "wrong 3"]


def test_rlpr_says_how_each_reference_is_checked(tmp_path: Path) -> None:
    loaded = loaded_by_name("rlpr", tmp_path)
    assert [(q.kind, q.reference) for q in loaded] == [
        ("text", "an electric field"),
        ("math", "\\frac{x}{2}"),
        ("choice", "B"),
        ("text", "C"),
    ]
    assert (loaded[0].text, loaded[0].meta["ability"]) == ("What moves charge?", "Physics")


def test_two_turn_prompts_keep_both_turns_and_the_notes(tmp_path: Path) -> None:
    first, second = loaded_by_name("mtbench", tmp_path)
    assert (first.kind, first.text, first.meta["turns"]) == ("judge", "First?", ["First?", "Second?"])
    assert (first.reference, second.reference) == ("Turn 1: one", "")


def test_livecodebench_has_all_its_tests_and_they_run(tmp_path: Path) -> None:
    program, function = loaded_by_name("livecodebench", tmp_path)
    assert [case["output"] for case in program.meta["stdin_cases"]] == ["6\n", "20\n", "0\n"]
    assert function.meta["tests"] == [{"args": [[1, 2], 1], "expected": [2, 3]}, {"args": [[], 5], "expected": []}]
    assert "class Solution" in function.text and "standard input" in program.text
    trusted = "works" not in sandbox_status()
    for k, status in ((2, "passed"), (3, "failed")):
        result = run_code(f"print({k} * int(input()))", stdin_cases=program.meta["stdin_cases"], trusted=trusted)
        assert result.status == status
    source = "class Solution:\n    def shift(self, nums, k):\n        return [n + {} for n in nums]\n"
    tests = {"tests": function.meta["tests"], "entry_point": function.meta["entry_point"]}
    assert run_code(source.format("k"), **tests, trusted=trusted).status == "passed"
    assert run_code(source.format("k + 1"), **tests, trusted=trusted).status == "failed"


def test_bigcodebench_runs_its_unit_tests(tmp_path: Path) -> None:
    (question,) = loaded_by_name("bigcodebench", tmp_path)
    assert question.reference == ""
    trusted = "works" not in sandbox_status()
    tests = {"tests": question.meta["tests"], "entry_point": "task_func"}
    solution = question.meta["canonical_solution"]
    assert run_code(solution, **tests, trusted=trusted).status == "passed"
    wrong = run_code(solution.replace("sum(xs)", "sum(xs) or 1"), **tests, trusted=trusted)
    assert wrong.status == "failed" and "test_empty" in wrong.detail
    assert run_code("def other(): pass", **tests, trusted=trusted).status != "passed"
    no_tests = UNIT_TEST.replace("test_sum", "sum").replace("test_empty", "empty")
    rows = [GOOD["bigcodebench"][0] | {"test": no_tests}]
    (idle,) = read_benchmark("bigcodebench", "test", write(tmp_path / "idle.jsonl", rows)).questions
    assert run_code(solution, tests=idle.meta["tests"], entry_point="task_func", trusted=trusted).status != "passed"


# --- case 24

PROGRAM = """
import random, sys
random.seed(int(sys.argv[2])); [random.random() for _ in range(int(sys.argv[2]))]
from suite.benchmarks import read_benchmark
for q in read_benchmark("gpqa", "test", sys.argv[1]).questions: print(q.reference, q.meta["options"], repr(q.text))
"""


def test_cases_24_options_are_in_the_same_order_in_two_processes(tmp_path: Path) -> None:
    rows = [GPQA_ROW | {"Record ID": f"rec{i}", "Question": f"Which of {i}?"} for i in range(20)]
    forwards, backwards = (tmp_path / "a.csv", tmp_path / "b.csv")
    write(forwards, rows), write(backwards, rows[::-1])
    outputs = []
    for path, hash_seed, draws in ((forwards, "0", "1"), (forwards, "77", "40"), (backwards, "3", "8")):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path), draws],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            cwd=paths.ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
        outputs.append(done.stdout.splitlines())
    assert outputs[0] == outputs[1] == outputs[2][::-1] and len(outputs[0]) == 20
    assert len({line[0] for line in outputs[0]}) == 4  # and not all right options stand at one place


# --- bad rows


def without(name: str) -> Callable[[Row], Row]:
    return lambda row: {key: value for key, value in row.items() if key != name}


def put(**fields: Any) -> Callable[[Row], Row]:
    return lambda row: row | fields


def put_named(name: str, value: Any) -> Callable[[Row], Row]:
    return lambda row: row | {name: value}


BAD: list[tuple[str, Callable[[Row], Any], str]] = [
    ("math500", without("answer"), "field 'answer' is missing; math500 needs problem, answer, unique_id"),
    ("math500", put(answer=""), "answer is ''; text is needed"),
    ("math500", put(answer=None), "answer is None; text is needed"),
    ("math500", put(answer=float("nan")), "answer is nan; text is needed"),
    ("math500", put(answer="\\frac{1}{"), "math reference .* is unreadable"),
    ("math500", put(problem=" "), "problem is ' '; text is needed"),
    ("math500", put(unique_id=None), "unique_id is None"),
    ("math500", lambda row: [row], "a row is an object of named fields"),
    ("math500", lambda row: "{not json", "not JSON"),
    ("math500", lambda row: "", "not JSON"),
    ("mmlu", put(answer=4), "answer is 4; 0, 1, 2 or 3 is needed"),
    ("mmlu", put(answer=-1), "answer is -1"),
    ("mmlu", put(answer=True), "answer is True"),
    ("mmlu", put(answer=1.0), "answer is 1.0"),
    ("mmlu", put(choices=["Sun", "Moon", "Mars"]), "the options are .* four texts are needed"),
    ("mmlu", put(choices=["Sun", "Moon", "Mars", " "]), "four texts are needed"),
    ("mmlu", put(choices=["Sun", "Sun", "Moon", "Mars"]), "the right option 'Sun' stands there twice"),
    ("mmlu", put(choices="Sun, Moon"), "choices is 'Sun, Moon'; a list"),
    ("mmlu", put(choices=7), "choices is 7; a list"),
    ("mmlu", put(question=""), "question is ''"),
    ("rlpr", put(reward_model={"style": "rule"}), "ground_truth is None"),
    ("rlpr", put(reward_model=None), "reward_model is None; a dict"),
    ("rlpr", put(reward_model="rule"), "reward_model is 'rule'; a dict"),
    ("rlpr", put(reward_model={"ground_truth": "\\sqrt{"}), "math reference .* is unreadable"),
    ("rlpr", put(reward_model={"ground_truth": "..."}), "text reference '...'"),
    ("rlpr", put(prompt=[{"role": "system", "content": "Think."}]), "one of the user's"),
    ("rlpr", put(prompt="What?"), "prompt is 'What[?]'; a list"),
    ("livecodebench", put(public_test_cases="[]", private_test_cases="[]"), "there are no tests, public or private"),
    ("livecodebench", put(public_test_cases="[{"), "public_test_cases is .*; a list"),
    ("livecodebench", put(public_test_cases=None), "public_test_cases is None; a list"),
    ("livecodebench", put(public_test_cases='[{"input": "1"}]'), "a test has the texts input and output"),
    ("livecodebench", put(private_test_cases="!!"), "neither JSON nor one packed text"),
    ("livecodebench", put(private_test_cases=pack(stdin())[:12]), "neither JSON nor one packed text"),
    ("livecodebench", put(private_test_cases=functional(("1", "2"))), "testtype is functional, stdin"),
    ("livecodebench", put(public_test_cases=stdin(("1", "2")).replace("stdin", "x")), "testtype is stdin, x"),
    ("livecodebench", put(private_test_cases=pack({"a": 1})), "the pickle holds more than a text"),
    ("livecodebench", put(question_id=""), "question_id is ''"),
    ("livecodebench", without("metadata"), "field 'metadata' is missing"),
    ("aime2025", put(answer="1000"), "answer is '1000'; a whole number from 0 to 999"),
    ("aime2025", put(answer="-1"), "answer is '-1'"),
    ("aime2025", put(answer="3.5"), "answer is '3.5'"),
    ("aime2025", put(answer=True), "answer is True"),
    ("bigcodebench", put(test="class TestCases(:"), "test is not Python"),
    ("bigcodebench", put(test="class Other: pass"), "test defines no class TestCases"),
    ("bigcodebench", put(canonical_solution=""), "canonical_solution is ''"),
    ("bigcodebench", put(entry_point=None), "entry_point is None"),
    ("mtbench", put(turns=["only one"]), "turns are \\['only one'\\]; two texts"),
    ("mtbench", put(turns=["one", ""]), "two texts are needed"),
    ("mtbench", put(category=None), "category is None"),
    ("mtbench", put(reference="x"), "reference is 'x'; a list"),
    ("gpqa", put_named("Correct Answer", ""), "Correct Answer is ''"),
    ("gpqa", put_named("Incorrect Answer 2", "right"), "the right option 'right' stands there twice"),
    ("gpqa", put_named("Record ID", None), "Record ID is None"),
    ("gpqa", without("Incorrect Answer 3"), "field 'Incorrect Answer 3' is missing"),
]


IDS = ("unique_id", "question_id", "task_id", "id", "Record ID")


@pytest.mark.parametrize(("name", "spoil", "message"), BAD)
def test_a_bad_row_is_refused_by_line_and_counted(
    name: str, spoil: Callable[[Row], Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    good = GOOD[name][0]
    other = good | {key: "another" for key in good if key in IDS}
    path = write(tmp_path / "rows.jsonl", [good, spoil(other), other])
    reading = read_benchmark(name, "test", path)
    assert [place for place, _ in reading.refused] == ["line 2"] and len(reading.questions) == 2
    assert [q.id[-5:] for q in reading.questions] == ["00000", "00002"]  # a refused row does not move the others' ids
    with pytest.raises(DataError, match=message):
        raise DataError(reading.refused[0][1])
    assert trinity(["questions", "--check", name, "--path", str(path)]) == 1
    assert f"{name} test: 2 of 3 rows read" in capsys.readouterr().out


def test_a_functional_test_needs_its_function_and_json(tmp_path: Path) -> None:
    spoilt = [
        (put(metadata="{}"), "functional tests need its func_name"),
        (put(metadata="not json"), "metadata is 'not json'; a dict"),
        (put(metadata=json.dumps({"func_name": "a b"})), "functional tests need its func_name"),
        (put(public_test_cases=functional(("[1", "2"))), "test 1: input or output is not JSON"),
        (put(private_test_cases=functional(("[1]\n2", "x"))), "test 2: input or output is not JSON"),
    ]
    rows = [spoil(LCB_FUNCTION) | {"question_id": str(i)} for i, (spoil, _) in enumerate(spoilt)]
    reading = read_benchmark("livecodebench", "test", write(tmp_path / "rows.jsonl", [LCB_STDIN, *rows]))
    assert [message in reason for (_, message), (_, reason) in zip(spoilt, reading.refused, strict=True)] == [True] * 5


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    row = GOOD["math500"][0]
    reading = read_benchmark("math500", "test", write(tmp_path / "rows.jsonl", [row, row]))
    assert reading.refused == [("line 2", "id 'test/prealgebra/1.json' stands already in line 1")]


def test_a_file_without_rows_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match=r"empty\.jsonl holds no rows"):
        read_benchmark("gpqa", "test", tmp_path / "empty.jsonl")


# --- files


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("rows.txt", b"", "unknown suffix '.txt'; files are .jsonl, .csv, .parquet"),
        ("rows.csv", b'a,b\n"1,2\n', "rows.csv, after line 1: not CSV"),
        ("rows.csv", b"a,b\n\xff,2\n", "not CSV"),
        ("rows.parquet", b"PAR1", "rows.parquet is no Parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_benchmark("math500", "test", tmp_path / file)


def test_rows_of_a_csv_with_other_lengths_are_refused(tmp_path: Path) -> None:
    lines = ["problem,answer,id", "one,1,a", '"two\nlines",2', "three,3,c,d", "four,4,e"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    reading = read_benchmark("aime2025", "test", tmp_path / "rows.csv")
    assert [q.reference for q in reading.questions] == ["1", "4"]
    assert reading.refused == [(f"line {i}", "the row has more or fewer fields than the header") for i in (4, 5)]


def test_a_byte_that_is_no_text_and_a_byte_order_mark(tmp_path: Path) -> None:
    good = json.dumps(GOOD["aime2025"][1]).encode()
    (tmp_path / "rows.jsonl").write_bytes(b"\xef\xbb\xbf" + good + b"\n\xff\n")
    reading = read_benchmark("aime2025", "test", tmp_path / "rows.jsonl")
    assert len(reading.questions) == 1 and reading.refused[0][0] == "line 2"


# --- packed tests: nothing is ever unpickled


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.mark,)


def test_a_pickle_that_would_run_something_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for evil in (Evil(mark), ["[]", Evil(mark)], {"x": Evil(mark)}):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            packed = base64.b64encode(zlib.compress(pickle.dumps(evil, protocol))).decode()
            with pytest.raises(DataError, match="the pickle holds more than a text"):
                benchmark_rows.unpack(packed)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Evil(mark)))
    assert mark.exists()  # so the pickle above was a real one


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_text_is_read_whatever_its_protocol(protocol: int) -> None:
    for text in ("[]", "ü" * 300, "x" * 70_000):
        packed = base64.b64encode(zlib.compress(pickle.dumps(text, protocol))).decode()
        assert benchmark_rows.unpack(packed) == text


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (pickle.dumps(b"[]"), "more than a text"),
        (pickle.dumps(("[]", "[]")), "more than a text"),
        (pickle.dumps(None), "more than a text"),
        (b"\x80\x04.", "holds 0 texts"),
        (pickle.dumps("[]")[:-1], "neither JSON nor one packed text"),
        (b"\xff", "neither JSON nor one packed text"),
        (b"", "neither JSON nor one packed text"),
    ],
)
def test_another_pickle_is_refused(pickled: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        benchmark_rows.unpack(base64.b64encode(zlib.compress(pickled)).decode())


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_rows, "LARGEST", 1000)
    with pytest.raises(DataError, match="more than 1000 bytes"):
        benchmark_rows.unpack(pack("x" * 10_000))


# --- the hub


@pytest.mark.parametrize("name", BENCHMARKS)
def test_an_unreachable_hub_names_the_dataset_and_the_way_out(name: str, no_hub: list) -> None:
    repository, revision, file = BENCHMARKS[name].files["test"]
    with pytest.raises(OSError) as caught:
        read_benchmark(name, "test")
    message = str(caught.value)
    assert isinstance(caught.value, benchmark_files.HubError)
    for part in (repository, revision, file, "ConnectionError: no route to host.", "--path FILE"):
        assert part in message
    assert "second line" not in message and ("HF_TOKEN" in message) == (name == "gpqa")
    assert no_hub == [(repository, file, revision)]


def test_the_hubs_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "test.jsonl", GOOD["livecodebench"])
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *args, **kwargs: str(path))
    questions = read_benchmark("livecodebench", "train").questions
    assert [q.id for q in questions] == ["livecodebench-train-00000", "livecodebench-train-00001"]


def test_a_split_that_is_not_published_needs_a_file(tmp_path: Path, no_hub: list) -> None:
    with pytest.raises(DataError, match="MATH-500 publishes no split 'train', only test; give a file of your own"):
        read_benchmark("math500", "train")
    assert no_hub == []
    reading = read_benchmark("math500", "train", write(tmp_path / "rows.jsonl", GOOD["math500"]))
    assert {q.split for q in reading.questions} == {"train"}


def test_unknown_names_are_refused() -> None:
    with pytest.raises(DataError, match="unknown benchmark 'gsm8k'; choose one of math500, mmlu"):
        read_benchmark("gsm8k", "test")
    with pytest.raises(DataError, match="unknown split 'dev'; choose one of train, test"):
        read_benchmark("mmlu", "dev")


# --- the command


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "suite.commands", "questions", *arguments],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )


def test_the_command_lists_and_checks(tmp_path: Path) -> None:
    done = run("--list")
    heads = [line.split(":")[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert (done.returncode, done.stderr, heads) == (0, "", list(BENCHMARKS))
    done = run("--check", "mmlu", "--path", str(write(tmp_path / "rows.jsonl", GOOD["mmlu"])))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "mmlu test: 2 of 2 rows read (checked as choice), 0 refused\n"
    done = run("--check", "mmlu", "--path", str(write(tmp_path / "bad.jsonl", [*GOOD["mmlu"], "[", "{}"])))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "mmlu test: 2 of 4 rows read (checked as choice), 2 refused"
    assert [line.split(":")[0] for line in done.stdout.splitlines()[1:]] == ["line 3", "line 4"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of the arguments --list --check is required"),
        (["--check", "gsm8k"], "no benchmark 'gsm8k'"),
        (["--check", "mmlu", "--split", "dev"], "invalid choice: 'dev'"),
        (["--list", "--path", "x.csv"], "--path goes with --check"),
        (["--check", "mmlu", "--path", "missing.csv"], "no file missing.csv"),
        (["--check", "mmlu", "--path", "README.md"], "unknown suffix '.md'"),
        (["--check", "math500", "--split", "train"], "publishes no split 'train'"),
        (["--check", "mmlu"], "--path FILE"),
    ],
)
def test_bad_usage_ends_with_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    try:
        status = trinity(["questions", *arguments])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and message in capsys.readouterr().err
