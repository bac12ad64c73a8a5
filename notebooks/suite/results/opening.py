"""How a notebook on recorded LLMs begins, and how it ends well where there are none.

`open_recorded` gives the folder of recorded files. Under another profile, or where `TRINITY_DATA` is not set, it prints
one line, writes the notebook's claims as not testable here, and from then on the notebook's cells do nothing: the same
in JupyterLab, under papermill and under nbval. A cell that sets `profile`, names `TRINITY_DATA` or calls
`open_recorded` begins anew.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.profiles import DATA_VARIABLE, PUBLISHED, RECORDED, data_dir

if TYPE_CHECKING:
    from suite.results.results import Results


def lacking(profile: str) -> str:
    """What a notebook on recorded LLMs misses under this profile; empty where it misses nothing.

    A `TRINITY_DATA` that is set, but to no folder, is a mistake and no lack: `data_dir` refuses it.
    """
    unset = f"{DATA_VARIABLE} is not set" if not os.environ.get(DATA_VARIABLE) else ""
    if profile == RECORDED:
        return unset
    return f"the profile is {profile}, not {RECORDED}" + (f", and {unset}" if unset else "")


def open_recorded(results: Results, claims: Iterable[Mapping[str, Any]]) -> Path | None:
    """The folder of recorded files, or None after one printed line: then what stands below does nothing.

    `claims`: what `results.claim` takes of each claim that this notebook would judge, without `ours` (`id`,
    `statement`, `source`; where they are known `paper`, `unit`, `relation`). Call it last in its cell, the rest
    of which runs on in any case. RecordedError where `TRINITY_DATA` names no folder.
    """
    gate = _gate()
    if gate is not None:
        gate.closed = False
    missing = lacking(results.profile)
    if not missing:
        return data_dir()
    number = results.notebook[:2]
    command = f"{DATA_VARIABLE}=FOLDER ./run_all.sh --profile {RECORDED} --only {number}"
    for claim in claims:
        known = {"paper": None, "evidence": RECORDED, **claim}
        results.claim(**{**known, "ours": None, "note": f"needs recorded LLMs: {command}"})
    with contextlib.redirect_stdout(io.StringIO()):  # its line would be a second one
        results.write()
    print(
        f"Not run: {missing}. This notebook reads recorded LLMs' answers ({command}), published at {PUBLISHED}. "
        "The text below speaks of the committed run."
    )
    if gate is not None:
        gate.closed = True
    return None


class _Gate(ast.NodeTransformer):
    """Empties the cells of a notebook while it is closed."""

    closed = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        if self.closed and not _begins_anew(node):
            return ast.Module(body=[], type_ignores=[])
        self.closed = False
        return node


def _begins_anew(cell: ast.Module) -> bool:
    """Whether the cell sets `profile`, names `TRINITY_DATA` or calls `open_recorded`."""
    names = [node for node in ast.walk(cell) if isinstance(node, ast.Name)]
    sets = any(name.id == "profile" and isinstance(name.ctx, ast.Store) for name in names)
    return sets or any(name.id == "open_recorded" for name in names) or DATA_VARIABLE in ast.dump(cell)


def _gate() -> _Gate | None:
    """This kernel's gate; None outside a notebook."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    if shell is None:
        return None
    found = [transformer for transformer in shell.ast_transformers if type(transformer).__name__ == _Gate.__name__]
    if not found:
        shell.ast_transformers.append(_Gate())
    return (found or shell.ast_transformers)[-1]
