"""A notebook on recorded LLMs ends well where there are none: in Jupyter, under papermill and under nbval."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest

from suite.recordings.opening import lacking, open_recorded
from suite.results import Results

CELLS = [
    'profile = "recorded"\nseed = 42',
    "from suite.recordings.opening import open_recorded\nfrom suite.results import Results\n"
    'results = Results("16_made", profile)',
    'CLAIMS = {"16.a": {"id": "16.a", "statement": "A claim", "source": "Table 1", "paper": 1.0, "unit": "%"}}\n'
    "data = open_recorded(results, CLAIMS.values())",
    "print(sorted(path.name for path in data.iterdir()))\n1 + 1",
    'results.claim(**CLAIMS["16.a"], ours=1.0, tolerance=0.1, evidence="recorded")',
    "%%time\nundefined",
    "raise ValueError('never')",
    "results.write()",
]


def write_notebook(path: Path, cells: list[str]) -> Path:
    book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    book.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    book.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(book, path)
    return path


def printed(path: Path) -> list[list[str]]:
    """The texts that each code cell shows."""
    book = nbformat.read(path, as_version=4)
    return [[o.text if o.output_type == "stream" else o.data["text/plain"] for o in c.outputs] for c in book.cells]


@pytest.fixture
def kernel_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)


def test_papermill_ends_well_with_one_line_and_nbval_passes(tmp_path, kernel_settings):
    source = write_notebook(tmp_path / "16_made.ipynb", CELLS)
    papermill.execute_notebook(source, tmp_path / "copy.ipynb", progress_bar=False)
    (outputs,) = [outputs for outputs in printed(tmp_path / "copy.ipynb") if outputs]
    (line,) = outputs
    assert line.endswith(".\n") and line.count("\n") == 1
    for word in ("TRINITY_DATA is not set", "shuhao02/RouterDC", "RouteLLM", "--only 16", "data/README.md"):
        assert word in line
    record = json.loads((tmp_path / "results" / "recorded" / "16_made" / "claims.json").read_text())
    assert [(c["id"], c["verdict"], c["paper"], c["evidence"]) for c in record["claims"]] == [
        ("16.a", "not testable here", 1.0, "recorded")
    ]
    assert "--profile recorded --only 16" in record["claims"][0]["reason"]
    words = ["-m", "pytest", "--nbval", "--nbval-current-env", "-q", "-p", "no:cacheprovider", "copy.ipynb"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(CELLS)} passed" in done.stdout, done.stdout


def test_cells_run_again_in_an_open_kernel(tmp_path, kernel_settings):
    """What a reader does in JupyterLab: runs all, then mends what was missing and runs all again."""
    from nbclient import NotebookClient

    (tmp_path / "data" / "routerdc").mkdir(parents=True)
    rest = CELLS[3:5] + CELLS[7:]
    again = [f"import os\nos.environ['TRINITY_DATA'] = {str(tmp_path / 'data')!r}", CELLS[2]]
    cells = [*CELLS[:3], "1 / 0", *again, *rest, 'profile = "smoke"', *CELLS[1:3], "1 / 0", *CELLS[:2], CELLS[2], *rest]
    path = write_notebook(tmp_path / "16_made.ipynb", cells)
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, resources={"metadata": {"path": str(tmp_path)}}).execute()
    nbformat.write(book, path)
    shown = printed(path)
    assert "Not run: TRINITY_DATA is not set." in shown[2][0] and not shown[3]
    whole = [["['routerdc']\n", "2"], shown[7], ["16_made: 1 claims (1 consistent), 0 tables, 0 figures"]]
    assert shown[6:9] == whole and "consistent" in shown[7][0]
    assert "Not run: the profile is smoke, not recorded. " in shown[11][0] and not shown[12]
    assert shown[-3:] == whole


def test_what_is_lacking_is_named(monkeypatch):
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    assert lacking("recorded") == "TRINITY_DATA is not set"
    assert lacking("offline") == "the profile is offline, not recorded, and TRINITY_DATA is not set"
    monkeypatch.setenv("TRINITY_DATA", "/nowhere")
    assert lacking("recorded") == "" and lacking("smoke") == "the profile is smoke, not recorded"


def test_outside_a_notebook_it_only_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path))
    claim = {"id": "16.a", "statement": "A claim", "source": "3"}
    assert open_recorded(Results("16_made", "offline"), [claim]) is None
    assert capsys.readouterr().out.count("\n") == 1
    assert (tmp_path / "offline" / "16_made" / "claims.json").exists()
