"""The runner, on a small project of its own: notebooks of a few cells. What a signal does is tried on a whole copy."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import nbformat
import psutil
import pytest

from suite.commands import main as trinity
from suite.runner import execution, freshness, notebook, options, run
from suite.runner.freshness import Inputs
from suite.runner.notebook import Notebook, NotebookError, discover
from trinity_core import paths
from trinity_core.paths import ROOT

WRITE = """import json, os, pathlib
folder = pathlib.Path(os.environ["TRINITY_STAGING"])
(folder / "tables").mkdir()
(folder / "tables" / "a.csv").write_text(f"seed,{seed}")
claims = {"notebook": folder.name[1:-8], "profile": profile, "claims": [], "tables": [], "figures": []}
(folder / "claims.json").write_text(json.dumps(claims))
print(profile, seed)"""


def write_notebook(path: Path, *cells: str, parameters: str | None = 'profile = "offline"\nseed = 42') -> None:
    book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    book.cells.append(nbformat.v4.new_markdown_cell(f"# Title of {path.stem}"))
    if parameters is not None:
        book.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    book.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    for number, cell in enumerate(book.cells):
        cell.id = f"cell-{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)


def make_project(root: Path, monkeypatch: pytest.MonkeyPatch, **notebooks: tuple[str, ...]) -> Path:
    """A project in which this process's runner works until the test ends."""
    (root / "data").mkdir(parents=True)
    (root / "data" / "numbers.csv").write_text("1\n")
    (root / "requirements.txt").write_text(f"nbclient=={importlib.metadata.version('nbclient')}\n")
    for name, cells in notebooks.items():
        write_notebook(root / "notebooks" / f"{name.lstrip('n')}.ipynb", *cells)
    for module, name, value in (
        (freshness, "ROOT", root),
        (freshness, "DATA", root / "data"),
        (freshness, "NOTEBOOKS", root / "notebooks"),
        (run, "NOTEBOOKS", root / "notebooks"),
        (run, "discover", partial(discover, root / "notebooks")),
        (options, "discover", partial(discover, root / "notebooks")),
        (run, "sandbox_status", str),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setenv("TRINITY_RESULTS", str(root / "results"))
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def call(capfd):
    """Runs `trinity run` here; what it prints, both streams together."""

    def call(*arguments: str, status: int = 0) -> str:
        try:
            ended = trinity(["run", *arguments])
        except SystemExit as error:
            ended = error.code
        printed = "".join(capfd.readouterr())
        assert ended == status, printed
        return printed

    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    return make_project(tmp_path / "project", monkeypatch, n00_first=(WRITE,), n01_second=(WRITE,))


# --- refused before anything is done ---


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--only", "99x"], ["99x", "00_first", "01_second"]),
        (["--only", "00,2"], ["'2'", "00_first"]),
        (["--only", ""], ["''"]),
        (["--profile", "nope"], ["nope", "smoke", "offline", "recorded", "paper"]),
        (["--nope"], ["--nope"]),
        (["--forc"], ["--forc"]),  # no abbreviations: they change their meaning when options are added
        (["stray"], ["stray"]),
        (["--jobs", "0"], ["--jobs", "'0'"]),
        (["--param", "sed=7"], ["sed", "00_first", "seed"]),
        (["--param", "seed=x"], ["seed=x", "literal"]),
        (["--param", "seed"], ["seed", "NAME=VALUE"]),
        (["--param", "seed={[1]: 2}"], ["seed={[1]: 2}", "literal"]),
        (["--param", "seed='7'"], ["seed='7'", "00_first", "type int, as 42"]),
        (["--param", "seed={1, 2}"], ["seed={1, 2}", "type int"]),
        (["--param", "seed=1", "--param", "seed=2"], ["seed", "twice"]),
        (["--param", "profile='smoke'"], ["--profile"]),
        (["--out", "x" * 300], ["x" * 80, "too long"]),
        (["--out", "requirements.txt"], ["requirements.txt", "not a folder"]),
        (["--list", "--setup"], ["--list", "--setup"]),
        (["--list", "--force"], ["--force", "--list"]),
        (["--test", "--only", "00"], ["--only", "--test"]),
        (["--update", "--profile", "smoke"], ["--update", "offline"]),
        (["--update", "--param", "seed=7"], ["--update"]),
        (["--", "-k", "x"], ["-k x", "--test"]),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_wrong_arguments_are_named(project, call, arguments, named):
    printed = call(*arguments, status=2)
    assert all(word in printed for word in named), printed
    assert not (project / "results").exists()


def test_parameters_take_values_of_their_own_kind():
    for value, default in ((7, 42), (1, 0.5), ("b", "a"), ([1], (1, 2)), ("any", None), (False, True), ({"a": 1}, {})):
        assert options.fits(value, default)
    for value, default in ((7.5, 42), ("7", 7), (True, 1), (None, 1), ([1], 1), (0.5, True)):
        assert not options.fits(value, default)


# --- notebooks that cannot be run (case 20) ---


def test_notebook_without_tagged_cell_is_named(project, call):
    write_notebook(project / "notebooks" / "02_untagged.ipynb", "print(1)", parameters=None)
    write_notebook(project / "notebooks" / "2_third.ipynb", WRITE)
    for arguments in ([], ["--param", "seed=7"]):
        printed = call(*arguments, status=2)
        assert "02_untagged" in printed and "tag" in printed
    listed = call("--list")
    assert "not runnable" in listed and "left out: notebooks/2_third.ipynb" in listed
    assert "never run" in listed and "Title of 01_second" in listed
    assert not (project / "results").exists()


@pytest.mark.parametrize(
    "parameters, named",
    [
        ("seed = 1", "profile ="),
        ('profile = "offline"\nn = 2 * 3', "line 2"),
        ('profile = "offline"\na = b = 1', "line 2"),
        ('profile = "offline"\nimport os', "line 2"),
        ("profile = ", "syntax"),
    ],
)
def test_parameters_cell_holds_literals_only(tmp_path, parameters, named):
    write_notebook(tmp_path / "00_a.ipynb", parameters=parameters)
    with pytest.raises(NotebookError, match="00_a.ipynb") as caught:
        Notebook(tmp_path / "00_a.ipynb").parameters
    assert named in str(caught.value)


def test_discovery_names_what_is_wrong(tmp_path):
    with pytest.raises(NotebookError, match="no notebook"):
        discover(tmp_path)
    (tmp_path / "00_a.ipynb").write_text("{}")
    with pytest.raises(NotebookError, match="00_a.ipynb"):
        discover(tmp_path)[0].parameters
    (tmp_path / "00_b.ipynb").write_text("{}")
    with pytest.raises(NotebookError, match="00_a.ipynb and 00_b.ipynb"):
        discover(tmp_path)


# --- failing notebooks ---


def test_a_failure_is_told_and_leaves_all_else_whole(tmp_path, monkeypatch, call):
    """An error in a cell, a killed kernel, one that ends early (case 33) and a loud one, over earlier results."""
    project = make_project(
        tmp_path / "project",
        monkeypatch,
        n00_error=("x = 1", "\ny = x / 0"),
        n01_killed=("import os", "os.kill(os.getpid(), 9)"),
        n02_loud=('import os\nos.write(1, b"not json")\nos.system("echo nor this")', WRITE),
        n03_early=("print(1)", "import sys; sys.exit(0)", WRITE),
        n04_lazy=("print(1)",),
    )
    folder = project / "results" / "offline"
    (folder / "00_error" / "tables").mkdir(parents=True)
    (folder / "00_error" / "tables" / "a.csv").write_text("earlier")
    printed = call(status=1)
    for words in (
        "cell [3]: y = x / 0\n  ZeroDivisionError: division by zero; nothing was written",
        "cell [3]: os.kill(os.getpid(), 9)\n  the kernel died",
        "cell [3]: import sys; sys.exit(0)\n  the notebook ended here (SystemExit: 0); nothing was written",
        "cell [2]: print(1)\n  the notebook ended without results.write(); nothing was written",
        "1 run, 0 up to date, 4 failed (00_error, 01_killed, 03_early, 04_lazy)",
    ):
        assert words in printed
    assert (folder / "02_loud" / "tables" / "a.csv").read_text() == "seed,42"
    assert contents(folder / "00_error") == {"tables/a.csv": b"earlier"}
    assert not (folder / "01_killed").exists() and not list(folder.glob(".*.staging"))
    copy = nbformat.read(folder / "failed" / "00_error.ipynb", as_version=4)
    assert any(output.output_type == "error" for cell in copy.cells for output in cell.get("outputs", []))
    assert call("--list").count("failed") == 4
    assert "1 failed (03_early)" in call("--only", "03", status=1)  # tried again

    write_notebook(project / "notebooks" / "00_error.ipynb", WRITE)
    assert "1 run, 0 up to date, 0 failed" in call("--only", "error")
    assert not (folder / "failed" / "00_error.ipynb").exists() and (folder / "failed" / "01_killed.ipynb").exists()


def test_a_kernel_that_lost_its_port_is_started_again(project, monkeypatch):
    calls = []

    def dies_once(client, **_):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("Kernel died before replying to kernel_info")

    task = Inputs().task(Notebook(project / "notebooks" / "00_first.ipynb"), project / "offline", {})
    monkeypatch.setattr(execution.NotebookClient, "execute", dies_once)
    task.folder.mkdir()
    assert "without results.write()" in execution.Running(task, {}).execute() and len(calls) == 2
    freshness.give_up(task)
    monkeypatch.setattr(execution.NotebookClient, "execute", lambda *_, **__: calls.append(1) or 1 / 0)
    assert "division by zero" in execution.Running(task, {}).execute() and len(calls) == 3


def test_neighbouring_pieces_of_a_stream_are_one_output():
    """Where a kernel cuts what a cell prints is chance; the order of outputs is not."""
    new = nbformat.v4.new_output
    out, shown = partial(new, "stream", name="stdout"), new("display_data")
    pieces = [out(text="a"), out(text="b\n"), shown, out(text="c"), new("stream", name="stderr", text="d")]
    merged = execution.merged_streams(pieces)
    assert [one.get("text") for one in merged] == ["ab\n", None, "c", "d"] and merged[1] is shown


# --- what is up to date ---


def test_only_what_changed_is_run_again(project, call):
    first = project / "results" / "offline" / "00_first"
    assert re.search(r"2 run, 0 up to date, 0 failed, \d\d:\d\d\n", call())
    record = json.loads((first / "run.json").read_text())
    assert set(record["files"]) == {"00_first.ipynb", "tables/a.csv", "claims.json"}
    assert record["python"] == ".".join(map(str, sys.version_info[:3])) and record["torch"]
    before = contents(project / "results")
    assert "0 run, 2 up to date" in call()
    assert contents(project / "results") == before and call("--list").count("up to date") == 2
    (first / "tables" / "a.csv").unlink()
    assert "1 run, 1 up to date" in call()
    (first / "tables" / "a.csv").write_text("edited by hand")
    (first.parent / "REPORT.md").write_text("damaged")
    assert "1 run, 0 up to date" in call("--only", "00") and contents(project / "results").keys() == before.keys()
    assert (first / "tables" / "a.csv").read_text() == "seed,42"
    assert "damaged" not in (first.parent / "REPORT.md").read_text()
    assert "1 run, 0 up to date" in call("--only", "01", "--force")


def test_inputs_enter_the_key(project):
    path = project / "notebooks" / "00_first.ipynb"

    def key(profile="offline", **changes):
        return Inputs().task(Notebook(path), project / profile, changes).key

    seen = [key(), key("smoke"), key("paper"), key(seed=7)]
    for name in ("data/numbers.csv", "requirements.txt"):
        with open(project / name, "a") as file:
            file.write("\n")
        seen.append(key())
    (project / "data" / "new.csv").touch()
    seen.append(key())
    book = nbformat.read(path, as_version=4)
    book.cells[0].source += " changed"
    nbformat.write(book, path)
    seen.append(key())
    assert len(set(seen)) == len(seen)
    book.cells[-1].outputs = [nbformat.v4.new_output("stream", text="x")]
    book.cells[-1].execution_count = 3
    nbformat.write(book, path)
    assert key() == seen[-1] == key(seed=42)  # outputs and a value that is the notebook's own change nothing


def test_a_key_holds_what_the_notebook_imports_and_no_more(project):
    for name, text in {
        "trinity_core/__init__.py": "",
        "trinity_core/heads.py": "",
        "trinity_core/other.py": "",
        "notebooks/suite/__init__.py": "",
        "notebooks/suite/chapters/__init__.py": "",
        "notebooks/suite/chapters/first.py": "def f():\n    import trinity_core.heads\n\nWORKER = 'child.py'\n",
        "notebooks/suite/chapters/child.py": "from suite import late",
        "notebooks/suite/late.py": "",
        "notebooks/suite/chapters/second.py": "",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    write_notebook(project / "notebooks" / "00_first.ipynb", "%matplotlib inline\nimport suite.chapters.first", "x =")
    book = Notebook(project / "notebooks" / "00_first.ipynb")
    found = {name.removeprefix("notebooks/suite/") for name in Inputs().modules(book)}
    core = {"trinity_core/__init__.py", "trinity_core/heads.py"}
    assert found == core | {"__init__.py", "chapters/__init__.py", "chapters/first.py", "chapters/child.py", "late.py"}


def test_a_chapters_figures_belong_to_its_notebook_alone():
    inputs, books = Inputs(), notebook.discover()
    used = {book.name: set(inputs.modules(book)) for book in books}
    for book in books:
        figures = f"notebooks/suite/chapters/{book.name[3:]}_figures.py"
        if (ROOT / figures).is_file():
            users = [name for name in used if figures in used[name]]
            assert users in ([book.name], ["04_simulated_pool", "10_zero_shot"])  # 10 shows a picture of 04 too
        assert "trinity_core/types.py" in used[book.name] or book.name[:2] == "00"


def test_parameters_and_profile_reach_the_notebook(project, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = call("--only", "first", "--profile", "smoke", "--param", "seed=7", "--out", "here")
    assert "profile smoke, encoder smollm2-135m, results in here/smoke" in printed
    assert (tmp_path / "here/smoke/00_first/tables/a.csv").read_text() == "seed,7"
    assert not (project / "results").exists()
    copy = tmp_path / "here/smoke/00_first/00_first.ipynb"
    tags = [cell.metadata.get("tags", []) for cell in nbformat.read(copy, as_version=4).cells]
    assert ["injected-parameters"] in tags and str(tmp_path) not in copy.read_text()


def test_update_copies_executed_notebooks(project, call):
    source = project / "notebooks" / "00_first.ipynb"
    before = nbformat.read(source, as_version=4)
    call("--only", "00", "--update")
    after = nbformat.read(source, as_version=4)
    assert [cell.execution_count for cell in after.cells if cell.cell_type == "code"] == [1, 2]
    assert after.cells[-1].outputs[0].text == "offline 42\n"
    assert [(c.id, c.source, c.metadata) for c in after.cells] == [(c.id, c.source, c.metadata) for c in before.cells]
    assert "0 run, 1 up to date" in call("--only", "00")


@pytest.mark.parametrize(
    "damage",
    ["[]", "null", "{}", '{"key": 1', '{"key": "KEY"}', "\x00\x01"]
    + ['{"key": "KEY", "files": [], "seconds": null, "parameters": {}}'],
)
def test_a_damaged_record_is_no_record(project, damage):
    task = Inputs().task(Notebook(project / "notebooks" / "00_first.ipynb"), project / "offline", {})
    task.results.mkdir(parents=True)
    (task.results / "run.json").write_text(damage.replace("KEY", task.key))
    assert freshness.read_record(task.results) == {} and not freshness.up_to_date(task)


# --- what the kernels see ---


def test_folders_given_by_the_caller_reach_the_kernel_as_the_caller_means_them(tmp_path, monkeypatch):
    """The kernel works in notebooks/: a relative folder would be another one there, inside the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRINITY_CACHE", "cache")
    monkeypatch.setenv("TRINITY_DATA", "../data")
    environment = run.kernel_environment(tmp_path / "offline", 1)
    assert environment["TRINITY_CACHE"] == str(tmp_path / "cache") == str(paths.cache_dir())
    assert environment["TRINITY_DATA"] == str(tmp_path.parent / "data")


def test_cores_are_shared_among_jobs(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(run, "CORES", 8)
    environment = run.kernel_environment(tmp_path / "offline", 3)
    assert environment["OMP_NUM_THREADS"] == "2" and environment["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in run.kernel_environment(tmp_path / "paper", 3)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert run.kernel_environment(tmp_path / "offline", 3)["OMP_NUM_THREADS"] == "5"


# --- stops ---


def copy_project(root: Path) -> Path:
    """A copy of the suite, whose runner another process runs."""
    shutil.copytree(ROOT / "trinity_core", root / "trinity_core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "notebooks/suite", root / "notebooks/suite", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data/paper", root / "data/paper")
    (root / "requirements.txt").touch()
    return root


def start(project: Path, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": f"{project}{os.pathsep}{project / 'notebooks'}"}
    environment |= {"TRINITY_RESULTS": str(project / "results"), "TRINITY_DATA": ""}
    words = [sys.executable, "-m", "suite.commands", "run", *arguments]
    return subprocess.Popen(words, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(path: Path, process: subprocess.Popen) -> list[psutil.Process]:
    """The processes below, once the file is there."""
    while not path.exists():
        assert process.poll() is None, f"the run ended before {path} was there"
        time.sleep(0.05)
    return psutil.Process(process.pid).children(recursive=True)


def all_gone(children: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(children, timeout=60)
    return not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)], ids=["int", "term", "kill"]
)
def test_a_stop_leaves_finished_results_whole(tmp_path, monkeypatch, call, number, status):
    reached = tmp_path / "reached"
    slow = f"import pathlib, time\npathlib.Path({str(reached)!r}).touch()\ntime.sleep(600)"
    project = copy_project(tmp_path / "project")
    write_notebook(project / "notebooks" / "00_first.ipynb", WRITE)
    write_notebook(project / "notebooks" / "01_slow.ipynb", slow)
    process = start(project, "--jobs", "1")
    children = wait_for(reached, process)
    assert children  # the kernel
    folder = project / "results" / "offline"
    with pytest.raises(NotebookError, match="another run is writing"), freshness.locked(folder):
        pass
    process.send_signal(number)
    assert process.wait() == status and all_gone(children)
    assert (folder / "00_first" / "tables" / "a.csv").read_text() == "seed,42"
    assert not (folder / "01_slow").exists() and not (folder / "failed").exists()  # stopped is not failed
    assert bool(list(folder.glob(".*.staging"))) == (number == signal.SIGKILL)
    freshness.recover(folder)
    assert not list(folder.glob(".*.staging"))


def test_a_swap_survives_a_stop_between_its_renames(tmp_path):
    final, staging, earlier = (tmp_path / name for name in ("00_a", ".00_a.staging", ".00_a.earlier"))
    for folder, text in ((final, "earlier"), (staging, "new")):
        folder.mkdir()
        (folder / "a").write_text(text)
    final.rename(earlier)  # the first rename, then a crash
    freshness.recover(tmp_path)
    assert contents(tmp_path) == {"00_a/a": b"earlier"}
    staging.mkdir()
    (staging / "a").write_text("new")
    freshness.swap(staging, final)
    assert contents(tmp_path) == {"00_a/a": b"new"} and not earlier.exists()
    shutil.copytree(final, earlier)  # a crash before the earlier results were removed
    freshness.recover(tmp_path)
    assert contents(tmp_path) == {"00_a/a": b"new"} and not earlier.exists()
