"""Every committed notebook runs again with the same outputs, and none can pass without being compared.

Those on recorded LLMs are compared where `TRINITY_DATA` names the files; everywhere they must end well without them.

nbval compares only cells that were executed before they were committed, so a notebook stored without outputs would
pass it (and so would one whose cells are all marked to be skipped). `unchecked` closes that gap.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
from recorded_files import NO_DATA

from suite.profiles import DATA_VARIABLE, RECORDED
from suite.runner.notebook import Notebook
from trinity_core.paths import NOTEBOOKS, ROOT

COMMITTED = sorted(path for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
ON_RECORDED = [path for path in COMMITTED if Notebook(path).own_profile == RECORDED]
NOT_RUN = "Not run: "  # how `open_recorded` begins its one line
IGNORE = "nbval-ignore-output"
COMPARED = {"text/plain", "text/html", "text/markdown"}  # nbval skips images
TIMES = {"execution", "papermill"}  # ./run_all.sh --update leaves them out
WARNING = re.compile(r"\b[A-Za-z]*Warning\b:")


def code_cells(book) -> list:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def output_text(output) -> str:
    """What a reader sees of an output as text."""
    return output.text if output.output_type == "stream" else "\n".join(map(str, output.get("data", {}).values()))


def prints(source: str) -> bool:
    """True where a cell's own level calls print or display."""
    calls = (node.value for node in ast.parse(source).body if isinstance(node, ast.Expr))
    names = (call.func for call in calls if isinstance(call, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in ("print", "display") for name in names)


def unchecked(book) -> list[str]:
    """Why nbval would not compare this notebook as it should; empty where it would."""
    cells = code_cells(book)
    found = []
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        found.append("execution counts are not 1 to n: execute it from top to bottom before committing")
    compared = 0
    for number, cell in enumerate(cells, 1):
        tags = cell.metadata.get("tags", [])
        if {"nbval-skip", "raises-exception", "nbval-raises-exception"} & set(tags) or "NBVAL_" in cell.source:
            found.append(f"cell {number}: is marked to be skipped or to fail")
        if prints(cell.source) and not cell.outputs:
            found.append(f"cell {number}: prints, yet stores no output")
        for output in cell.outputs:
            if output.output_type == "error":
                found.append(f"cell {number}: stores an error")
            elif output.get("name") == "stderr" or WARNING.search(output_text(output)):
                found.append(f"cell {number}: stores a warning or other text on standard error")
            elif IGNORE not in tags:
                compared += output.output_type == "stream" or bool(COMPARED & output.data.keys())
            if any("widget" in kind for kind in output.get("data", {})):
                found.append(f"cell {number}: stores a widget, which shows nothing elsewhere")
    if not compared:
        found.append("no cell has an output that is compared")
    return found


def against_the_house_rules(path: Path) -> list[str]:
    """What the notebook lacks of what every notebook here has."""
    book = nbformat.read(path, as_version=4)
    cells = code_cells(book)
    lines = [len(cell.source.splitlines()) for cell in cells]
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    opening = [cell.source for cell in cells if "open_recorded(" in cell.source]
    rules = {
        "is named NN_snake.ipynb": re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name),
        "has 15 to 30 code cells": 15 <= len(cells) <= 30,
        "has no code cell over 25 lines": max(lines) <= 25,
        "has a median code cell under 8 lines": statistics.median(lines) < 8,
        "starts with a title": book.cells[0].cell_type == "markdown" and book.cells[0].source.startswith("# "),
        "has numbered sections": re.search(r"^## 1\. ", text, re.M),
        "has the section Paper against ours": re.search(r"^## Paper against ours$", text, re.M),
        "has the section Exercises": re.search(r"^## Exercises$", text, re.M),
        "is committed from profile recorded where it opens recorded files, else from offline": (
            Notebook(path).own_profile == (RECORDED if opening else "offline")
        ),
        "opens recorded files once, last in its cell": not opening
        or (len(opening) == 1 and "open_recorded(" in ast.unparse(ast.parse(opening[0]).body[-1])),
        "stores what it shows with recorded files": not any(
            output_text(output).startswith(NOT_RUN) for cell in cells for output in cell.outputs
        ),
        "has its parameters in the first code cell": "parameters" in cells[0].metadata.get("tags", []),
        "ends with results.write()": cells[-1].source.rstrip().splitlines()[-1].startswith("results.write("),
        "runs on the kernel python3": book.metadata.kernelspec.name == "python3",
        "has one id a cell": len({cell.id for cell in book.cells}) == len(book.cells),
        "stores no times of execution": not any(TIMES & cell.metadata.keys() for cell in book.cells),
    }
    return [rule for rule, kept in rules.items() if not kept]


def nbval(path: Path) -> tuple[int, str]:
    """Runs the notebook under nbval, every cell compared; the exit status and what was printed."""
    environment = dict(os.environ)
    environment.pop("MPLBACKEND", None)  # a kernel chooses its inline one where nothing else is set
    words = ["-m", "pytest", "--nbval", "--nbval-current-env", "--color=no", "-q", "-p", "no:cacheprovider", str(path)]
    words += ["--nbval-cell-timeout=36000", "--nbval-kernel-startup-timeout=3600"]  # a busy machine is no error
    settings = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, *words], check=False, **settings)
    return done.returncode, done.stdout + done.stderr


def test_there_are_notebooks():
    assert COMMITTED


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_notebook_cannot_pass_unchecked(path):
    book = nbformat.read(path, as_version=4)
    assert unchecked(book) == []
    for cell in code_cells(book):
        cell.outputs, cell.execution_count = [], None
    assert unchecked(book)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_notebook_keeps_the_house_rules(path):
    assert against_the_house_rules(path) == []


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_notebook_runs_again_with_the_same_outputs(path):
    if path in ON_RECORDED:
        if not os.environ.get(DATA_VARIABLE):
            pytest.skip(NO_DATA)  # how it ends without is the next test
        encode = [sys.executable, "-m", "suite.commands", "recordings", "encode"]  # too long for a cell
        subprocess.run(encode, check=True)
    status, printed = nbval(path)
    assert status == 0, printed
    assert f"{len(code_cells(nbformat.read(path, as_version=4)))} passed" in printed, printed


@pytest.mark.parametrize("profile", [RECORDED, "offline"])
@pytest.mark.parametrize("path", ON_RECORDED, ids=lambda path: path.stem)
def test_notebook_on_recorded_llms_ends_with_one_line_without_them(path, profile, tmp_path, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path))
    changed = {"profile": profile} if profile != RECORDED else {}
    papermill.execute_notebook(path, tmp_path / path.name, changed, progress_bar=False, cwd=NOTEBOOKS)
    book = nbformat.read(tmp_path / path.name, as_version=4)
    shown = [output for cell in code_cells(book) for output in cell.outputs]
    assert len(shown) == 1, shown
    line = output_text(shown[0])
    assert line.startswith(NOT_RUN) and line.count("\n") == 1
    assert all(words in line for words in (DATA_VARIABLE, "shuhao02/RouterDC", "lm-sys/RouteLLM", "data/README.md"))
    claims = json.loads((tmp_path / profile / path.stem / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert claims and {claim["verdict"] for claim in claims} == {"not testable here"}


# --- the checks themselves, on a small notebook ---


@pytest.fixture
def book():
    cells = [nbformat.v4.new_code_cell(source) for source in ("x = 2", "print(x)", "x + 1")]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
    cells[1].outputs = [nbformat.v4.new_output("stream", text="2\n")]
    cells[2].outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "3"}, execution_count=3)]
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def test_whole_notebook_is_checked(book):
    assert unchecked(book) == []


def stripped(book):  # case 21
    for cell in book.cells:
        cell.outputs, cell.execution_count = [], None


def partly_run(book):
    book.cells[2].execution_count = 7


def without_printed_output(book):
    book.cells[1].outputs = []


def all_ignored(book):
    for cell in book.cells:
        cell.metadata.tags = [IGNORE]


def skipped_by_tag(book):
    book.cells[1].metadata.tags = ["nbval-skip"]


def skipped_by_comment(book):
    book.cells[1].source = "# NBVAL_IGNORE_OUTPUT\nprint(x)"


def with_error(book):
    book.cells[0].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="x", traceback=[])]


def with_warning(book):
    book.cells[0].outputs = [nbformat.v4.new_output("stream", text="a.py:3: FutureWarning: x\n")]


def with_standard_error(book):
    book.cells[0].outputs = [nbformat.v4.new_output("stream", name="stderr", text="x\n")]


def pictures_only(book):
    book.cells[1].source = "x"
    book.cells[1].outputs = []
    book.cells[2].outputs = [nbformat.v4.new_output("display_data", {"image/png": ""})]


def with_widget(book):
    book.cells[2].outputs[0].data["application/vnd.jupyter.widget-view+json"] = {}


@pytest.mark.parametrize(
    "spoil",
    [stripped, partly_run, without_printed_output, all_ignored, skipped_by_tag, skipped_by_comment, with_error]
    + [with_warning, with_standard_error, pictures_only, with_widget],
    ids=lambda spoil: spoil.__name__,
)
def test_spoilt_notebook_is_refused(book, spoil):
    spoil(book)
    assert unchecked(book)


def test_nbval_compares(book, tmp_path):
    nbformat.write(book, tmp_path / "whole.ipynb")
    status, printed = nbval(tmp_path / "whole.ipynb")
    assert status == 0 and "3 passed" in printed, printed
    other = copy.deepcopy(book)
    other.cells[2].outputs[0].data["text/plain"] = "4"
    other.cells[1].outputs = []
    nbformat.write(other, tmp_path / "other.ipynb")
    status, printed = nbval(tmp_path / "other.ipynb")
    assert status == 1 and "2 failed, 1 passed" in printed, printed


QUOTED = re.compile(r"(?<![\w.,/-])(\d+\.\d+)(?![\w.]*\w)|(?<![\w.,/-])(\d+)(?= (?:points|percent|%))")


def forms(value: float) -> set[str]:
    """How a text may write a number that stands elsewhere with more digits or as a share."""
    return {f"{x:{form}}" for x in (value, 100 * value) for form in ("g", ".0f", ".1f", ".2f")}


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_number_that_the_text_quotes_is_computed_by_a_cell_or_printed_in_the_paper(path):
    cells = nbformat.read(path, as_version=4).cells
    computed = [cell.source for cell in cells if cell.cell_type == "code"]
    computed += [file.read_text(encoding="utf-8") for file in (ROOT / "data" / "paper").glob("*.csv")]
    for output in (output for cell in cells if cell.cell_type == "code" for output in cell.outputs):
        computed += [output.get("text", ""), *(v for k, v in output.get("data", {}).items() if k.startswith("text/"))]
    known = set()
    for number in re.findall(r"\d[\d,]*\.?\d*", "\n".join(map(str, computed))):
        known |= forms(float(number.replace(",", "")))
    for cell in cells:
        if cell.cell_type != "markdown" or "## Exercises" in cell.source or cell is cells[0]:
            continue
        text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "", cell.source, flags=re.DOTALL)
        quoted = [first or second for first, second in QUOTED.findall(text)]
        assert [number for number in quoted if f"{float(number):g}" not in known] == [], cell.source
