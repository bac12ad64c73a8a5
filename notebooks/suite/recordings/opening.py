"""How a notebook on recorded LLMs begins, and how it ends well where there are none.

Under another profile than `recorded`, or where `TRINITY_DATA` is not set, `open_recorded` prints one line, writes the
notebook's claims as not testable here, and from then on the notebook's cells do nothing: the same in JupyterLab, under
papermill and under nbval. A cell that sets `profile`, names `TRINITY_DATA` or calls `open_recorded` begins anew.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from IPython import get_ipython

from suite.profiles import DATA_VARIABLE, PUBLISHED, RECORDED, data_dir
from suite.results import Results

ANEW = ("Name(id='profile', ctx=Store()", "Name(id='open_recorded'", DATA_VARIABLE)  # as `ast.dump` writes them


def open_recorded(results: Results, claims: Iterable[Mapping[str, Any]]) -> Path | None:
    """The folder of recorded files, or None after one printed line: then what stands below does nothing.

    `claims`: what `results.claim` takes of each claim that this notebook would judge, without `ours`. Call it last in
    its cell, the rest of which runs on in any case. RecordedError where `TRINITY_DATA` is set, but names no folder.
    """
    gate = _gate()
    missing = lacking(results.profile)
    gate.closed = bool(missing)
    if not missing:
        return data_dir()
    command = f"{DATA_VARIABLE}=FOLDER ./run_all.sh --profile {RECORDED} --only {results.notebook[:2]}"
    needs = {"ours": None, "note": f"needs recorded LLMs: {command}"}
    for claim in claims:
        results.claim(**{"paper": None, "evidence": RECORDED, **claim, **needs})
    with contextlib.redirect_stdout(io.StringIO()):  # its line would be a second one
        results.write()
    print(
        f"Not run: {missing}. This notebook reads recorded LLMs' answers ({command}), published at {PUBLISHED}. "
        "The text below speaks of the committed run."
    )
    return None


def read_claims(path: Path) -> dict[str, dict[str, Any]]:
    """What `results.claim` takes of each claim on recorded LLMs, by id: YAML, groups of claims that share `fields`."""
    known = {"evidence": RECORDED, "stand_in": True}
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    pairs = [(group["fields"], *pair) for group in groups for pair in group["claims"].items()]
    return {id: {"id": id, "statement": statement, **known, **fields} for fields, id, statement in pairs}


def lacking(profile: str) -> str:
    """What a notebook on recorded LLMs misses under this profile; empty where it misses nothing."""
    missing = [] if profile == RECORDED else [f"the profile is {profile}, not {RECORDED}"]
    missing += [] if os.environ.get(DATA_VARIABLE) else [f"{DATA_VARIABLE} is not set"]
    return ", and ".join(missing)


class _Gate(ast.NodeTransformer):
    """Empties the cells of a notebook while it is closed."""

    closed = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.closed = self.closed and not any(word in ast.dump(node) for word in ANEW)
        return ast.Module(body=[], type_ignores=[]) if self.closed else node


def _gate() -> _Gate:
    """This kernel's gate; outside a notebook one that nothing passes."""
    shell = get_ipython()
    gates = shell.ast_transformers if shell else []
    found = next((gate for gate in gates if isinstance(gate, _Gate)), None)
    if found is None:
        gates.append(found := _Gate())
    return found
