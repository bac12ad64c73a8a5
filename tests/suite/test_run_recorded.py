"""The runner and notebooks on recorded LLMs: encoding first, what counts as up to date, what is committed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import nbformat
import pytest
from test_run import WRITE, call, make_project, write_notebook  # noqa: F401 (`call` is a fixture)

from suite.profiles import RecordedError
from suite.runner import freshness, run
from suite.runner.notebook import Notebook
from trinity_core.paths import ROOT

RECORDED = 'profile = "recorded"\nseed = 42'
RUN = ("--profile", "recorded", "--only", "16")


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = make_project(tmp_path / "project", monkeypatch, n00_first=(WRITE,))
    write_notebook(project / "notebooks" / "16_routing.ipynb", WRITE, parameters=RECORDED)
    return project


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Recorded files, named in the environment."""
    folder = tmp_path / "data"
    (folder / "routerdc").mkdir(parents=True)
    (folder / "routerdc" / "mmlu_test.json").write_text("[]")
    monkeypatch.setenv("TRINITY_DATA", str(folder))
    return folder


@pytest.fixture(autouse=True)
def encoded(monkeypatch):
    """The folders that were encoded; a folder that holds `broken` cannot be."""
    done: list[Path] = []

    def encode_all(folder: Path) -> None:
        if (folder / "broken").exists():
            raise RecordedError("mmlu_test.json, line 3: no scores")
        print("512 tokens left")
        done.append(folder)

    monkeypatch.setattr(run, "encode_all", encode_all)
    return done


def stored(project: Path, name: str) -> list[str]:
    """What the committed notebook's last cell shows."""
    book = nbformat.read(project / "notebooks" / f"{name}.ipynb", as_version=4)
    return [output.text for output in book.cells[-1].outputs]


def test_what_is_read_is_encoded_first_and_once(project, data, call, encoded):
    printed = call(*RUN)
    at = [printed.index(words) for words in ("Encoding what 16_routing read", "512 tokens left", "16_routing  done")]
    assert at == sorted(at) and "1 run, 0 up to date, 0 failed" in printed and encoded == [data]
    assert "0 run, 1 up to date" in call(*RUN) and len(encoded) == 1
    assert "0 run, 1 up to date" in call("--profile", "recorded")  # only what reads recorded files
    printed = call()  # offline: the notebook on recorded LLMs says its one line
    assert "2 run" in printed and "16_routing: one line here; they need TRINITY_DATA" in printed
    assert "1 run" in call("--profile", "recorded", "--only", "00")  # it reads no recorded files
    assert len(encoded) == 1


def test_failed_encoding_is_told_and_leaves_others_alone(project, data, call):
    (data / "broken").touch()
    printed = call("--profile", "recorded", "--only", "00,16", status=1)
    assert "mmlu_test.json, line 3" in printed and "not run: 16_routing" in printed
    assert "1 run, 0 up to date, 1 failed (16_routing)" in printed


def test_a_stopped_encoding_ends_the_run_and_is_resumed(project, data, call, monkeypatch):
    def stopped(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as now:
        now.setattr(run, "encode_all", stopped)
        with pytest.raises(KeyboardInterrupt):
            call(*RUN)
    assert "1 run, 0 up to date, 0 failed" in call(*RUN)


# --- up to date ---


def test_results_depend_on_the_recorded_files(project, data, call, monkeypatch):
    call(*RUN)
    (data / "notes.txt").write_text("nobody reads this")
    (data / "routerdc" / ".mmlu.json.swp").write_text("nor this")
    moved = data.rename(data.with_name("moved"))  # the same files in another place are the same
    monkeypatch.setenv("TRINITY_DATA", str(moved))
    assert "0 run, 1 up to date" in call(*RUN)
    (moved / "routerdc" / "mmlu_test.json").write_text("[1]")
    assert "out of date" in call("--list", *RUN)
    assert "1 run, 0 up to date" in call("--only", "00")
    (moved / "routerdc" / "mmlu_test.json").rename(moved / "routerdc" / "arc_test.json")
    assert "1 run, 0 up to date" in call(*RUN)
    assert "0 run, 1 up to date" in call("--only", "00")


def test_results_made_with_data_stay_where_there_are_none(project, data, call, monkeypatch):
    without = partial(monkeypatch.delenv, "TRINITY_DATA")
    without()
    printed = call(*RUN)
    assert "TRINITY_DATA is not set" in printed and "shuhao02/RouterDC" in printed and "1 run" in printed
    monkeypatch.setenv("TRINITY_DATA", str(data))
    assert "1 run, 0 up to date" in call(*RUN)  # now there are
    without()
    assert "0 run, 1 up to date" in call(*RUN)
    listed = call("--list", *RUN)
    assert "up to date" in listed and "TRINITY_DATA is not set" in listed and "uncompared" in listed
    (project / "data" / "numbers.csv").write_text("2\n")
    printed = call(*RUN)
    assert "16_routing: out of date, and left as it is" in printed and "0 run, 0 up to date, 0 failed" in printed
    assert "1 run" in call(*RUN, "--force")  # who insists gets them


@pytest.mark.parametrize("words, named", [("nowhere", "is no folder"), ("", "holds no recorded data")])
def test_a_folder_without_recorded_files_is_refused(project, tmp_path, call, words, named, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("TRINITY_DATA", str(folder := tmp_path / "empty" / words))
    for arguments in (RUN, ("--list", *RUN)):
        printed = call(*arguments, status=2)
        assert f"TRINITY_DATA is '{folder}'" in printed and named in printed and "lm-sys/RouteLLM" in printed
    assert "1 run" in call("--only", "16")  # the profile offline does not look there


# --- what is committed ---


def test_each_notebook_is_committed_from_its_own_profile(project, data, call):
    before = (project / "notebooks" / "16_routing.ipynb").read_bytes()
    printed = call("--update")
    assert "1 executed notebooks copied" in printed and "not 16_routing" in printed
    assert stored(project, "00_first") == ["offline 42\n"]
    assert (project / "notebooks" / "16_routing.ipynb").read_bytes() == before
    printed = call("--update", "--profile", "recorded", "--only", "00,16")
    assert "1 executed notebooks copied" in printed and "not 00_first" in printed
    assert stored(project, "16_routing") == ["recorded 42\n"] and stored(project, "00_first") == ["offline 42\n"]
    assert "0 run, 1 up to date" in call(*RUN)


def test_what_cannot_be_committed_is_refused(project, data, call, monkeypatch):
    assert "16_routing: --profile recorded" in call("--update", "--only", "16", status=2)
    printed = call("--update", "--profile", "recorded", "--only", "00", status=2)
    assert "00_first: --profile offline" in printed
    monkeypatch.delenv("TRINITY_DATA")
    printed = call(*RUN, "--update", status=2)
    assert "TRINITY_DATA is not set" in printed and "RouteLLM" in printed


def test_the_report_says_what_was_not_compared(project, tmp_path, data, monkeypatch):
    folder = tmp_path / "recorded"
    task = freshness.Inputs().task(Notebook(project / "notebooks" / "16_routing.ipynb"), folder, {})
    task.staging.mkdir(parents=True)
    (task.staging / "claims.json").write_text("{}")
    freshness.finish(task, "", 1.0)
    assert run.remarks(folder) == {"16_routing": ""}
    monkeypatch.delenv("TRINITY_DATA")
    assert "TRINITY_DATA is not set" in run.remarks(folder)["16_routing"]
    monkeypatch.setenv("TRINITY_DATA", str(data))
    (data / "routerdc" / "mmlu_test.json").write_text("[1]")
    assert "changed since" in run.remarks(folder)["16_routing"]


def test_the_published_places_are_named_in_the_data_readme():
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for words in ("shuhao02/RouterDC", "split2_model7", "routerbench_zs", "lm-sys/RouteLLM", "routellm/evals"):
        assert words in text
