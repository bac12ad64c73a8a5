"""The runner and notebooks on recorded LLMs: encoding first, what counts as up to date, what is committed."""

from __future__ import annotations

import signal
from pathlib import Path

import nbformat
import psutil
import pytest
from test_run import WRITE, call, make_project, start, wait_for, write_notebook

from trinity_core.paths import ROOT

ENCODE = """
import os, pathlib, sys, time
data = pathlib.Path(os.environ["TRINITY_DATA"])
with open(pathlib.Path(os.environ["TRINITY_RESULTS"]) / "encoded.log", "a") as log:
    log.write(f"{sys.argv[1:]} {os.environ.get('TQDM_DISABLE')}\\n")
print("512 tokens left", flush=True)
if (data / "broken").exists():
    sys.exit("mmlu_test.json, line 3: no scores")
if (data / "slow").exists():
    (data / "reached").touch()
    time.sleep(600)
"""
RECORDED = 'profile = "recorded"\nseed = 42'


@pytest.fixture
def project(tmp_path):
    project = make_project(tmp_path / "project", n00_first=(WRITE,))
    write_notebook(project / "notebooks" / "16_routing.ipynb", WRITE, parameters=RECORDED)
    (project / "trinity_core" / "recorded").mkdir()
    (project / "trinity_core" / "recorded" / "__init__.py").touch()
    (project / "trinity_core" / "recorded" / "__main__.py").write_text(ENCODE)
    return project


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "routerdc").mkdir(parents=True)
    (folder / "routerdc" / "mmlu_test.json").write_text("[]")
    return folder


def encodings(project: Path) -> list[str]:
    log = project / "results" / "encoded.log"
    return log.read_text().splitlines() if log.exists() else []


def stored(project: Path, name: str) -> list[str]:
    """What the committed notebook's last cell shows."""
    book = nbformat.read(project / "notebooks" / f"{name}.ipynb", as_version=4)
    return [output.text for output in book.cells[-1].outputs]


RUN = ("--profile", "recorded", "--only", "16")


def test_what_is_read_is_encoded_first_and_once(project, data, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE")  # conftest's; who sets it has no bar
    printed = call(project, *RUN, data=data)
    at = [printed.index(words) for words in ("Encoding what 16_routing read", "512 tokens left", "16_routing  started")]
    assert at == sorted(at) and "1 run, 0 up to date, 0 failed" in printed
    assert encodings(project) == ["['--encode'] None"]  # its bar is not switched off
    assert "0 run, 1 up to date" in call(project, *RUN, data=data)
    assert len(encodings(project)) == 1


def test_nothing_is_encoded_elsewhere(project, data):
    printed = call(project, data=data)  # offline: the notebook on recorded LLMs says its one line
    assert "2 run" in printed and "16_routing: one line here; they need TRINITY_DATA" in printed
    assert "2 run" in call(project, "--profile", "smoke", data=data)
    printed = call(project, *RUN)
    assert "TRINITY_DATA is not set" in printed and "shuhao02/RouterDC" in printed and "1 run" in printed
    assert "1 run" in call(project, "--profile", "recorded", "--only", "00", data=data)  # it reads no recorded files
    assert not encodings(project)


def test_the_profile_recorded_runs_what_reads_recorded_files(project, data):
    assert "1 run, 0 up to date" in call(project, "--profile", "recorded", data=data)
    assert not (project / "results" / "recorded" / "00_first").exists()


def test_failed_encoding_is_told_and_leaves_others_alone(project, data):
    (data / "broken").touch()
    printed = call(project, "--profile", "recorded", "--only", "00,16", data=data, status=1)
    assert "mmlu_test.json, line 3" in printed and "not run: 16_routing" in printed
    assert "1 run, 0 up to date, 1 failed (16_routing)" in printed


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_stopped_encoding_ends_with_the_runner_and_is_resumed(project, data, number, status):
    (data / "slow").touch()
    process = start(project, *RUN, data=data)
    wait_for(data / "reached", process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(number)
    assert process.wait() == status
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    (data / "slow").unlink()
    assert "1 run, 0 up to date, 0 failed" in call(project, *RUN, data=data)


# --- up to date ---


def test_results_depend_on_the_recorded_files(project, data):
    call(project, *RUN, data=data)
    (data / "notes.txt").write_text("nobody reads this")
    (data / "routerdc" / ".mmlu.json.swp").write_text("nor this")
    assert "0 run, 1 up to date" in call(project, *RUN, data=data)
    moved = data.rename(data.with_name("moved"))  # the same files in another place are the same
    assert "0 run, 1 up to date" in call(project, *RUN, data=moved)
    (moved / "routerdc" / "mmlu_test.json").write_text("[1]")
    assert "out of date" in call(project, "--list", *RUN, data=moved)
    assert "1 run, 0 up to date" in call(project, *RUN, data=moved)
    (moved / "routerdc" / "mmlu_test.json").rename(moved / "routerdc" / "arc_test.json")
    assert "1 run, 0 up to date" in call(project, *RUN, data=moved)
    assert "1 run, 0 up to date" in call(project, "--only", "00", data=moved)
    (moved / "routerdc" / "arc_test.json").write_text("[2]")
    assert "0 run, 1 up to date" in call(project, "--only", "00", data=moved)


def test_results_made_with_data_stay_where_there_are_none(project, data):
    call(project, *RUN)
    assert "1 run, 0 up to date" in call(project, *RUN, data=data)  # now there are
    assert "0 run, 1 up to date" in call(project, *RUN)
    listed = call(project, "--list", *RUN)
    assert "up to date" in listed and "TRINITY_DATA is not set" in listed and "uncompared" in listed
    (project / "data" / "numbers.csv").write_text("2\n")
    printed = call(project, *RUN)
    assert "16_routing: out of date, and left as it is" in printed and "0 run, 0 up to date, 0 failed" in printed
    assert "1 run" in call(project, *RUN, "--force")  # who insists gets them


@pytest.mark.parametrize("words, named", [("nowhere", "is not a folder"), ("", "holds none of the folders routerdc")])
def test_a_folder_without_recorded_files_is_refused(project, tmp_path, words, named):
    folder = tmp_path / "empty" / words
    (tmp_path / "empty").mkdir()
    for arguments in (RUN, ("--list", *RUN)):
        printed = call(project, *arguments, data=folder, status=2)
        assert f"TRINITY_DATA={folder}" in printed and named in printed and "lm-sys/RouteLLM" in printed
    assert "1 run" in call(project, "--only", "16", data=folder)  # the profile offline does not look there


# --- what is committed ---


def test_each_notebook_is_committed_from_its_own_profile(project, data):
    before = (project / "notebooks" / "16_routing.ipynb").read_bytes()
    printed = call(project, "--update")
    assert "1 executed notebooks copied" in printed and "not 16_routing" in printed
    assert stored(project, "00_first") == ["offline 42\n"]
    assert (project / "notebooks" / "16_routing.ipynb").read_bytes() == before
    printed = call(project, "--update", "--profile", "recorded", "--only", "00,16", data=data)
    assert "1 executed notebooks copied" in printed and "not 00_first" in printed
    assert stored(project, "16_routing") == ["recorded 42\n"] and stored(project, "00_first") == ["offline 42\n"]
    assert "0 run, 1 up to date" in call(project, *RUN, data=data)


def test_what_cannot_be_committed_is_refused(project, data):
    printed = call(project, *RUN, "--update", status=2)
    assert "needs TRINITY_DATA" in printed and "RouteLLM" in printed
    printed = call(project, "--update", "--only", "16", data=data, status=2)
    assert "16_routing: --profile recorded" in printed
    printed = call(project, "--update", "--profile", "recorded", "--only", "00", data=data, status=2)
    assert "00_first: --profile offline" in printed
    assert "--update" in call(project, "--update", "--profile", "smoke", status=2)


def test_the_report_says_what_was_not_compared(tmp_path, data, monkeypatch):
    from suite.runner import freshness
    from suite.runner.notebook import Notebook

    write_notebook(tmp_path / "16_routing.ipynb", WRITE, parameters=RECORDED)
    book, folder = Notebook(tmp_path / "16_routing.ipynb"), tmp_path / "recorded"
    monkeypatch.setattr(freshness, "discover", lambda: [book])
    monkeypatch.setenv("TRINITY_DATA", str(data))
    task = freshness.make_task(book, folder, "recorded", {}, freshness.inputs_digest())
    task.staging.mkdir(parents=True)
    (task.staging / "claims.json").write_text("{}")
    freshness.finish(task, 0.0, 1.0)
    assert freshness.remarks(folder, "recorded") == {"16_routing": ""}
    monkeypatch.delenv("TRINITY_DATA")
    assert "TRINITY_DATA is not set" in freshness.remarks(folder, "recorded")["16_routing"]
    monkeypatch.setenv("TRINITY_DATA", str(data))
    (data / "routerdc" / "mmlu_test.json").write_text("[1]")
    assert "changed since" in freshness.remarks(folder, "recorded")["16_routing"]


def test_the_published_places_are_named_in_the_data_readme():
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for words in ("shuhao02/RouterDC", "split2_model7", "routerbench_zs", "lm-sys/RouteLLM", "routellm/evals"):
        assert words in text
