"""One notebook: what it says about itself. Only the standard library is used, so that arguments are checked at once."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trinity_core.paths import NOTEBOOKS


class NotebookError(ValueError):
    """A notebook that cannot be run as it stands; the message names it and the remedy."""


@dataclass(frozen=True)
class Notebook:
    """A numbered notebook `NN_name.ipynb`; everything but its path is read when it is asked for."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def cells(self) -> list[tuple[str, str, list[str]]]:
        """Type, source and tags of each cell. NotebookError where the file is no notebook."""
        try:
            cells = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
            return [(c["cell_type"], "".join(c["source"]), c.get("metadata", {}).get("tags", [])) for c in cells]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NotebookError(f"{self.path.name}: cannot be read as a notebook ({one_line(error)})") from None

    @property
    def title(self) -> str:
        """The first heading."""
        lines = (line for kind, source, _ in self.cells if kind == "markdown" for line in source.splitlines())
        return next((line.lstrip("# ").strip() for line in lines if line.startswith("#")), "")

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Names and default values of the one cell tagged `parameters`, which may hold `name = literal` lines only."""
        tagged = [source for kind, source, tags in self.cells if kind == "code" and "parameters" in tags]
        if len(tagged) != 1:
            raise NotebookError(f"{self.path.name}: {len(tagged)} code cells are tagged `parameters`; tag exactly one")
        parameters, line = {}, "its end"
        try:
            for node in ast.parse(tagged[0]).body:
                line = f"line {node.lineno}"
                (name,) = node.targets
                parameters[name.id] = ast.literal_eval(node.value)
        except (SyntaxError, ValueError, AttributeError) as error:
            where = "its syntax" if isinstance(error, SyntaxError) else line
            rule = f"its parameters cell may hold `name = literal` lines alone, look at {where}; derive values later"
            raise NotebookError(f"{self.path.name}: {rule}") from None
        if not isinstance(parameters.get("profile"), str):
            raise NotebookError(f'{self.path.name}: its parameters cell needs a line like profile = "offline"')
        return parameters

    @property
    def own_profile(self) -> str:
        """The profile that the notebook names itself: the one whose outputs are committed."""
        return self.parameters["profile"]


def discover(folder: Path = NOTEBOOKS) -> list[Notebook]:
    """The numbered notebooks of the folder, in order. NotebookError where there is none or a number stands twice."""
    found = [Notebook(path) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))]
    if not found:
        raise NotebookError(f"{folder} holds no notebook named NN_name.ipynb")
    for first, second in zip(found, found[1:]):
        if first.name[:2] == second.name[:2]:
            raise NotebookError(f"{first.path.name} and {second.path.name} have the same number; rename one")
    return found


def one_line(error: BaseException) -> str:
    """`ValueError: the first line of its message that says something`."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
