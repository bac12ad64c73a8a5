"""The runner, on a small project of its own: a copy of its modules, notebooks of two cells, a report of three lines."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from suite.runner import freshness, run
from suite.runner import options as run_options
from suite.runner.notebook import Notebook, NotebookError, discover, execute
from trinity_core import paths
from trinity_core.paths import ROOT

MODULES = "__init__ paths profiles env run run_options notebook execution freshness console".split()
REPORT = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--out") + 1]) / sys.argv[sys.argv.index("--profile") + 1]
claims = [{"verdict": "consistent"} for _ in folder.glob("*/claims.json")]
for name in ("claims.json", "REPORT.md", "index.html"):
    (folder / name).write_text(json.dumps({"claims": claims}))
"""
WRITE = """import os, pathlib
folder = pathlib.Path(os.environ["TRINITY_STAGING"])
(folder / "tables").mkdir()
(folder / "tables" / "a.csv").write_text(f"seed,{seed}")
(folder / "claims.json").write_text("{}")
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


def all_but_the_sandbox(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("sandbox") and name not in ("__init__.py", "errors.py")]


def make_project(root: Path, **notebooks: tuple[str, ...]) -> Path:
    (root / "trinity_core" / "report").mkdir(parents=True)
    for module in MODULES:
        shutil.copy(ROOT / "trinity_core" / f"{module}.py", root / "trinity_core")
    shutil.copytree(ROOT / "trinity_core" / "tasks", root / "trinity_core" / "tasks", ignore=all_but_the_sandbox)
    (root / "trinity_core" / "report" / "__init__.py").touch()
    (root / "trinity_core" / "report" / "__main__.py").write_text(REPORT)
    shutil.copy(ROOT / "run_all.sh", root)
    (root / "requirements.txt").write_text(f"papermill=={importlib.metadata.version('papermill')}\n")
    (root / "data").mkdir()
    (root / "data" / "numbers.csv").write_text("1\n")
    for name, cells in notebooks.items():
        write_notebook(root / "notebooks" / f"{name.lstrip('n')}.ipynb", *cells)
    return root


def command(project: Path, *arguments: str, data: Path | None = None) -> tuple[list[str], dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRINITY_")}
    environment |= {"TRINITY_DATA": str(data)} if data else {}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return [str(project / "run_all.sh"), *arguments], environment


def call(
    project: Path, *arguments: str, cwd: Path | None = None, status: int = 0, data: Path | None = None
) -> str:
    """What the command prints, both streams together; its exit status is checked."""
    words, environment = command(project, *arguments, data=data)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(words, cwd=cwd or project, env=environment, check=False, **streams)
    assert done.returncode == status, done.stdout
    return done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / "project", n00_first=(WRITE,), n01_second=(WRITE,))


# --- refused before anything is done ---


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--only", "99x"], ["99x", "00_first", "01_second"]),
        (["--only", "00,2"], ["'2'", "00_first"]),
        (["--only", ""], ["''"]),
        (["--profile", "nope"], ["nope", "smoke", "offline", "recorded", "paper"]),
        (["--profile", ""], ["''", "smoke"]),
        (["--nope"], ["--nope"]),
        (["--forc"], ["--forc"]),  # no abbreviations: they change their meaning when options are added
        (["stray"], ["stray"]),
        (["--jobs", "0"], ["--jobs 0"]),
        (["--jobs", "many"], ["--jobs many"]),
        (["--param", "sed=7"], ["sed", "00_first", "seed"]),
        (["--param", "seed=x"], ["seed=x", "literal"]),
        (["--param", "seed"], ["seed", "NAME=VALUE"]),
        (["--param", "seed={[1]: 2}"], ["seed={[1]: 2}", "literal"]),
        (["--param", "seed={1, 2}"], ["seed={1, 2}", "lists"]),
        (["--param", "seed={1: 2}"], ["seed={1: 2}", "keys are texts"]),
        (["--param", "seed='7'"], ["seed='7'", "00_first", "type int, as 42"]),
        (["--param", "seed=7.0"], ["seed=7.0", "type int"]),
        (["--param", "seed=True"], ["seed=True", "type int"]),
        (["--param", "seed=1", "--param", "seed=2"], ["seed=2", "twice"]),
        (["--out", "x" * 300], ["x" * 300, "too long"]),
        (["--param", "profile='smoke'"], ["--profile"]),
        (["--list", "--setup"], ["--list", "--setup"]),
        (["--list", "--force"], ["--force", "--list"]),
        (["--test", "--only", "00"], ["--only", "--test"]),
        (["--update", "--profile", "smoke"], ["--update", "offline"]),
        (["--update", "--param", "seed=7"], ["--update"]),
        (["--out", "requirements.txt"], ["requirements.txt", "not a folder"]),
        (["--", "-k", "x"], ["-k x", "--test"]),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_wrong_arguments_are_named(project, arguments, named):
    printed = call(project, *arguments, status=2)
    for word in named:
        assert word in printed
    assert not (project / "results").exists() and not (project / ".venv").exists()


def test_help_names_every_option(project):
    printed = call(project, "--help")
    for option in "profile only force jobs list setup lab test out param update".split():
        assert f"--{option}" in printed


# --- notebooks that cannot be run (case 20) ---


def test_notebook_without_tagged_cell_is_named(project):
    write_notebook(project / "notebooks" / "02_untagged.ipynb", "print(1)", parameters=None)
    for arguments in ([], ["--param", "seed=7"]):
        printed = call(project, *arguments, status=1)
        assert "02_untagged" in printed and "tag" in printed
    assert not (project / "results").exists()
    assert "not runnable" in call(project, "--list")
    call(project, "--only", "00")  # the others can still be run


@pytest.mark.parametrize(
    "parameters, named",
    [
        ("seed = 1", "profile ="),
        ('profile = "offline"\nn = 2 * 3', "line 2"),
        ('profile = "offline"\na = b = 1', "line 2"),
        ('profile = "offline"\nimport os', "line 2"),
        ('profile = "offline"\nseed: int', "line 2"),
        ("profile = ", "syntax"),
    ],
)
def test_parameters_cell_holds_literals_only(tmp_path, parameters, named):
    write_notebook(tmp_path / "00_a.ipynb", parameters=parameters)
    with pytest.raises(NotebookError, match="00_a.ipynb") as caught:
        Notebook(tmp_path / "00_a.ipynb").parameters
    assert named in str(caught.value)


def test_parameters_are_read_as_values(tmp_path):
    write_notebook(tmp_path / "00_a.ipynb", parameters='profile = "smoke"  # why\nsizes: list = [1, -2.5]\nname = None')
    assert Notebook(tmp_path / "00_a.ipynb").parameters == {"profile": "smoke", "sizes": [1, -2.5], "name": None}


def test_parameters_take_values_of_their_own_kind():
    for value, default in ((7, 42), (1, 0.5), ("b", "a"), ([1], (1, 2)), ("any", None), (False, True), ({"a": 1}, {})):
        assert run_options.fits(value, default) and run_options.plain(value)
    for value, default in ((7.5, 42), ("7", 7), (True, 1), (None, 1), ([1], 1), (0.5, True)):
        assert not run_options.fits(value, default)
    for value in ({1}, b"x", 1j, ..., [{2: 3}]):
        assert not run_options.plain(value)


def test_misnamed_notebooks_are_told(project):
    write_notebook(project / "notebooks" / "2_third.ipynb", WRITE)
    for arguments in (["--list"], ["--only", "00"]):
        assert "left out: notebooks/2_third.ipynb" in call(project, *arguments)


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


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory):
    """One run with an error in a cell, a killed kernel and two good notebooks, over earlier results of the first."""
    project = make_project(
        tmp_path_factory.mktemp("failing") / "project",
        n00_error=("x = 1", "\ny = x / 0"),
        n01_killed=("import os", "os.kill(os.getpid(), 9)"),
        n02_loud=('import os\nos.write(1, b"not json")\nos.system("echo nor this")', WRITE),
        n03_last=(WRITE,),
    )
    earlier = project / "results" / "offline" / "00_error" / "tables"
    earlier.mkdir(parents=True)
    (earlier / "a.csv").write_text("earlier")
    return project, call(project, status=1)


def test_failing_cell_is_named(failed_run):
    _, printed = failed_run
    assert "cell [3]: y = x / 0" in printed
    assert "ZeroDivisionError: division by zero" in printed


def test_killed_kernel_is_named(failed_run):
    _, printed = failed_run
    assert "cell [3]: os.kill(os.getpid(), 9)" in printed
    assert "the kernel died" in printed


def test_other_notebooks_finish(failed_run):
    project, printed = failed_run
    assert "2 run, 0 up to date, 2 failed (00_error, 01_killed)" in printed
    assert (project / "results/offline/02_loud/tables/a.csv").read_text() == "seed,42"
    assert (project / "results/offline/03_last/tables/a.csv").read_text() == "seed,42"
    assert "2 claims: 2 consistent" in printed


def test_failure_keeps_earlier_results_and_the_executed_copy(failed_run):
    project, _ = failed_run
    folder = project / "results" / "offline"
    assert contents(folder / "00_error") == {"tables/a.csv": b"earlier"}
    assert not (folder / "01_killed").exists()
    copy = nbformat.read(folder / "failed" / "00_error.ipynb", as_version=4)
    assert any(output.output_type == "error" for cell in copy.cells for output in cell.get("outputs", []))
    assert not list(folder.glob(".*.staging"))
    assert "failed" in call(project, "--list")


def test_mended_notebook_clears_its_failure(failed_run):
    project, _ = failed_run
    write_notebook(project / "notebooks" / "00_error.ipynb", WRITE)
    printed = call(project, "--only", "error")
    assert "1 run, 0 up to date, 0 failed" in printed
    assert not (project / "results/offline/failed/00_error.ipynb").exists()
    assert (project / "results/offline/failed/01_killed.ipynb").exists()


# --- what is up to date ---


def test_only_what_changed_is_run_again(project):
    first = project / "results" / "offline" / "00_first"
    assert "2 run, 0 up to date" in call(project)
    record = json.loads((first / "run.json").read_text())
    assert set(record["files"]) == {"00_first.ipynb", "tables/a.csv", "claims.json"}
    assert record["python"] == ".".join(map(str, sys.version_info[:3])) and record["torch"]
    before = contents(project / "results")
    assert "0 run, 2 up to date" in call(project)
    after = contents(project / "results")
    assert before.pop("offline/.lock") != after.pop("offline/.lock")  # holds the process number
    assert after == before
    assert call(project, "--list").count("up to date") == 2

    (first / "tables" / "a.csv").unlink()
    assert "1 run, 1 up to date" in call(project)
    assert (first / "tables" / "a.csv").read_text() == "seed,42"
    (project / "data" / "numbers.csv").write_text("2\n")
    assert "2 run, 0 up to date" in call(project, "--jobs", "2")
    (first / "tables" / "a.csv").write_text("edited by hand")
    assert "1 run, 0 up to date" in call(project, "--only", "00")
    assert "1 run, 0 up to date" in call(project, "--only", "01", "--force")


def test_inputs_enter_the_key(project, monkeypatch):
    monkeypatch.setattr(freshness, "ROOT", project)
    monkeypatch.setattr(freshness, "DATA", project / "data")
    path = project / "notebooks" / "00_first.ipynb"

    def key(profile="offline", **changes):
        return freshness.make_task(Notebook(path), project, profile, changes, freshness.inputs_digest()).key

    seen = [key(), key("smoke"), key("paper"), key(seed=7)]
    for name in ("data/numbers.csv", "trinity_core/paths.py", "requirements.txt"):
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


def test_parameters_and_profile_reach_the_notebook(project, tmp_path):
    printed = call(project, "--only", "first", "--profile", "smoke", "--param", "seed=7", "--out", "here", cwd=tmp_path)
    assert "profile smoke, encoder smollm2-135m, results in here/smoke" in printed
    assert (tmp_path / "here/smoke/00_first/tables/a.csv").read_text() == "seed,7"
    assert not (project / "results").exists()
    book = nbformat.read(tmp_path / "here/smoke/00_first/00_first.ipynb", as_version=4)
    assert any("injected-parameters" in cell.metadata.get("tags", []) for cell in book.cells)
    assert str(tmp_path) not in (tmp_path / "here/smoke/00_first/00_first.ipynb").read_text()


def test_update_copies_executed_notebooks(project):
    source = project / "notebooks" / "00_first.ipynb"
    before = nbformat.read(source, as_version=4)
    call(project, "--only", "00", "--update")
    after = nbformat.read(source, as_version=4)
    assert [cell.execution_count for cell in after.cells if cell.cell_type == "code"] == [1, 2]
    assert after.cells[-1].outputs[0].text == "offline 42\n"
    assert [(cell.id, cell.source, cell.metadata) for cell in after.cells] == [
        (cell.id, cell.source, cell.metadata) for cell in before.cells
    ]
    assert "0 run, 1 up to date" in call(project, "--only", "00")


def test_entry_script_through_a_link_from_elsewhere(project, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("../project/run_all.sh")
    (tmp_path / "trinity_core").mkdir()  # a folder of the same name where the caller stands changes nothing
    (tmp_path / "trinity_core" / "run.py").write_text("raise SystemExit('the wrong module')")
    words, environment = command(project, "--list")
    words[0] = str(tmp_path / "a" / "link")
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "Title of 01_second" in done.stdout
    assert not list(project.rglob("__pycache__"))


# --- stops ---


def start(project: Path, *arguments: str, data: Path | None = None) -> subprocess.Popen:
    words, environment = command(project, *arguments, data=data)
    return subprocess.Popen(words, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(path: Path, process: subprocess.Popen) -> None:
    while not path.exists():
        assert process.poll() is None, f"the run ended before {path} was there"
        time.sleep(0.05)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stop_leaves_finished_results_whole(tmp_path, number, status):
    slow = f"import pathlib, time\npathlib.Path({str(tmp_path / 'reached')!r}).touch()\ntime.sleep(600)"
    project = make_project(tmp_path / "project", n00_first=(WRITE,), n01_slow=(slow,))
    process = start(project)
    wait_for(tmp_path / "reached", process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2  # papermill's process and the kernel
    process.send_signal(number)
    assert process.wait() == status
    psutil.wait_procs(children, timeout=20)
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    folder = project / "results" / "offline"
    assert (folder / "00_first" / "tables" / "a.csv").read_text() == "seed,42"
    assert not list(folder.glob(".*.staging")) and not (folder / "01_slow").exists()
    assert not (folder / "failed").exists()  # stopped is not failed

    write_notebook(project / "notebooks" / "01_slow.ipynb", WRITE)
    assert "1 run, 1 up to date, 0 failed" in call(project)


def test_killed_run_takes_its_children_along_and_is_mended(tmp_path):
    slow = f"import pathlib, time\npathlib.Path({str(tmp_path / 'reached')!r}).touch()\ntime.sleep(600)"
    project = make_project(tmp_path / "project", n01_slow=(slow,))
    process = start(project, "--jobs", "2")
    wait_for(tmp_path / "reached", process)
    printed = call(project, status=1)  # meanwhile a second run in the same folder is refused
    assert f"process {process.pid} is writing" in printed
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    psutil.wait_procs(children, timeout=20)
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    write_notebook(project / "notebooks" / "01_slow.ipynb", WRITE)
    assert "1 run" in call(project)
    assert not list((project / "results" / "offline").glob(".*.staging"))


def test_stop_within_a_swap_leaves_the_earlier_results_in_place(tmp_path, monkeypatch):
    final, staging = tmp_path / "00_a", tmp_path / ".00_a.staging"
    final.mkdir()
    (final / "a").write_text("earlier")
    staging.mkdir()
    rename = Path.rename

    def stopped_at_the_second(self, target):
        if self == staging:
            raise run.Stopped(signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stopped_at_the_second)
    with pytest.raises(run.Stopped):
        freshness.swap(staging, final)
    assert contents(tmp_path) == {"00_a/a": b"earlier"}


@pytest.mark.parametrize("damage", ["[]", "null", "{}", '{"key": 1', '{"key": "KEY"}', '{"key": "KEY", "files": [], '
                                    '"seconds": null, "parameters": {}}', "\x00\x01"])
def test_a_damaged_record_is_no_record(tmp_path, damage):
    write_notebook(tmp_path / "00_a.ipynb", WRITE)
    task = freshness.make_task(Notebook(tmp_path / "00_a.ipynb"), tmp_path / "offline", "offline", {}, "inputs")
    task.results.mkdir(parents=True)
    (task.results / "run.json").write_text(damage.replace("KEY", task.key))
    assert freshness.read_record(task.results) == {} and not freshness.up_to_date(task)


def test_a_damaged_report_is_made_again(project):
    call(project)
    folder = project / "results" / "offline"
    good = (folder / "claims.json").read_bytes()
    for name, damage in (("claims.json", b"{"), ("REPORT.md", b""), (run.REPORT_KEY, b"\xff"), ("claims.json", b"[]")):
        (folder / name).write_bytes(damage)
        assert "0 run, 2 up to date" in call(project)
        assert (folder / "claims.json").read_bytes() == good and (folder / "REPORT.md").read_bytes() == good


def test_folders_given_by_the_caller_reach_the_kernel_as_the_caller_means_them(tmp_path, monkeypatch):
    """The kernel works in notebooks/: a relative folder would be another one there, inside the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRINITY_CACHE", "cache")
    monkeypatch.setenv("TRINITY_DATA", "../data")
    environment = run.kernel_environment(run.parse(run.build_parser(), []))
    assert environment["TRINITY_CACHE"] == str(tmp_path / "cache")
    assert environment["TRINITY_DATA"] == str(tmp_path.parent / "data")
    assert paths.cache_dir() == tmp_path / "cache"


def test_a_kernel_that_lost_its_port_is_started_again(tmp_path, monkeypatch):
    import papermill

    write_notebook(tmp_path / "00_a.ipynb", "1")
    calls = []

    def dies_once(*_, **__):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("Kernel died before replying to kernel_info")

    monkeypatch.setattr(papermill, "execute_notebook", dies_once)
    assert execute(tmp_path / "00_a.ipynb", tmp_path / "copy.ipynb", {}, print) and len(calls) == 2
    calls.clear()
    monkeypatch.setattr(papermill, "execute_notebook", lambda *_, **__: calls.append(1) or 1 / 0)
    assert not execute(tmp_path / "00_a.ipynb", tmp_path / "copy.ipynb", {}, print) and len(calls) == 1


def test_swap_survives_a_stop_between_its_renames(tmp_path):
    final, staging = tmp_path / "00_a", tmp_path / ".00_a.staging"
    for folder, text in ((final, "earlier"), (staging, "new")):
        folder.mkdir()
        (folder / "a").write_text(text)
    final.rename(tmp_path / ".00_a.earlier")  # the first rename, then a crash
    freshness.recover(tmp_path)
    assert contents(tmp_path) == {"00_a/a": b"earlier"}
    staging.mkdir()
    (staging / "a").write_text("new")
    freshness.swap(staging, final)
    assert contents(tmp_path) == {"00_a/a": b"new"}
    shutil.copytree(final, tmp_path / ".00_a.earlier")  # a crash before the earlier results were removed
    freshness.recover(tmp_path)
    assert contents(tmp_path) == {"00_a/a": b"new"} and not (tmp_path / ".00_a.earlier").exists()
    shutil.rmtree(final)
    for odd in (final, tmp_path / ".01_b.staging"):  # a file where a folder belongs
        odd.write_text("odd")
    freshness.recover(tmp_path)
    staging.mkdir()
    (staging / "a").write_text("new")
    freshness.swap(staging, final)
    assert contents(tmp_path) == {"00_a/a": b"new"}


def test_threads_are_shared_among_jobs(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    parser = run.build_parser()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    options = run.parse(parser, ["--jobs", "3"])
    assert run.kernel_environment(options)["OMP_NUM_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in run.kernel_environment(run.parse(parser, []))
    assert "HF_HUB_OFFLINE" in run.kernel_environment(options)
