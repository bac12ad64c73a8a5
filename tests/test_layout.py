"""The repository's shape: what lies where, how large, and what an import costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from house import faults

from trinity_core.paths import ROOT

TOP_LEVEL = set(
    ".ci .gitignore CITATION.cff LICENSE README.md data environment.yml notebooks pyproject.toml requirements.txt "
    "results run_all.sh tests trinity_core".split()
)
HEAVY = "torch transformers litellm sklearn matplotlib pandas numpy papermill nbformat".split()


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that are or would be committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_top_level_holds_what_the_design_names(tracked):
    assert {path.relative_to(ROOT).parts[0] for path in tracked} <= TOP_LEVEL


def test_results_are_not_committed(tracked):
    assert {path.name for path in tracked if path.is_relative_to(ROOT / "results")} <= {"README.md"}


def test_no_file_holds_a_path_of_this_machine(tracked):
    places = {f"{ROOT}/", f"{Path.home()}/", "/" + "root/"} - {"//"}
    found = {
        f"{path.relative_to(ROOT)} holds {place}"
        for path in tracked
        for place in places
        if place.encode() in path.read_bytes()
    }
    assert not found


def test_no_notebook_output_holds_a_temporary_path(tracked):
    notebooks = [path for path in tracked if path.suffix == ".ipynb"]
    assert not [path.name for path in notebooks if "/tmp/" in path.read_text(encoding="utf-8")]


def test_files_stay_small(tracked):
    assert not [path for path in tracked if path.stat().st_size > 4 * 2**20]


def test_the_house_stands():
    assert faults(ROOT) == []


@pytest.fixture
def made(tmp_path):
    """Writes a small house: module name -> source."""

    def write(**sources: str) -> list[str]:
        for name, source in sources.items():
            top, *rest = name.split("__")
            path = tmp_path / ("notebooks/suite" if top == "suite" else top)
            path = path.joinpath(*rest).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        return faults(tmp_path)

    return write


SOUND = {
    "trinity_core__heads": "import numpy\n",
    "suite__worlds__live": "from trinity_core import heads\n",
    "suite__chapters__cost": "from suite.worlds.live import x\n",
}


def test_a_sound_house_has_no_fault(made):
    assert made(**SOUND) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trinity_core__svf": "import suite.worlds.live\n"}, "the core imports the suite: trinity_core.svf"),
        ({"trinity_core__svf": "def f():\n    from suite.worlds import live\n"}, "the core imports the suite"),
        ({"suite__worlds__tree": "from suite.chapters import cost\n"}, "an arrow runs upward: suite.worlds.tree"),
        (
            {"trinity_core__heads": "import trinity_core.svf", "trinity_core__svf": "import trinity_core.heads"},
            "circle",
        ),
        ({"suite__attic__box": ""}, "attic stands on no floor"),
        ({"suite__worlds__long": "\n" * 351}, "suite.worlds.long has more than 350 lines"),
        ({f"trinity_core__m{i}": "\n" * 340 for i in range(10)}, "the core has 340"),
    ],
    ids=["core-suite", "core-suite-in-function", "upward", "circle", "no-floor", "long-module", "thick-core"],
)
def test_a_fault_of_the_house_is_named(made, more, said):
    assert said in "; ".join(made(**(SOUND | more)))


def test_lines_stay_short(tracked):
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked
        if path.suffix == ".py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not long


def test_scripts_can_be_run():
    for name in ("run_all.sh", ".ci/run"):
        assert os.access(ROOT / name, os.X_OK), name


def test_import_is_light():
    program = f"import sys, trinity_core; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_runner_needs_the_standard_library_alone():
    words = [sys.executable, "-S", "-P", "-m", "suite.commands", "run", "--help"]  # -S: no site-packages
    environment = {**os.environ}
    done = subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, check=True)
    assert "--profile" in done.stdout
