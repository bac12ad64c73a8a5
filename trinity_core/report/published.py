"""The paper's printed numbers: one CSV file a table or figure in `data/paper/`, read and never typed in.

A file starts with comment lines; the first one, `# source: …`, says which table or figure it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trinity_core import paths

if TYPE_CHECKING:
    import pandas as pd

PAPER = paths.DATA / "paper"
_SOURCE = "# source:"


def published(name: str, folder: Path = PAPER) -> pd.DataFrame:
    """The published table `name` as a frame, comment lines left out, columns as in the file.

    Raises ValueError for an unknown name (with the choices) and for a file that is no table.
    """
    import pandas as pd

    path = _path(name, folder)
    try:
        frame = pd.read_csv(path, comment="#")
    except ValueError as error:  # pandas' parser errors are ValueErrors
        raise ValueError(f"{path.name}: not a CSV table ({error}); restore the file from the repository") from None
    if frame.empty:
        raise ValueError(f"{path.name}: no rows; restore the file from the repository")
    return frame


def source(name: str, folder: Path = PAPER) -> str:
    """The source line of the published table `name`: which table or figure, in which unit."""
    path = _path(name, folder)
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith(_SOURCE):
        raise ValueError(f"{path.name}: its first line is {first!r}, it must start with {_SOURCE!r}")
    return first.removeprefix(_SOURCE).strip()


published.source = source


def _path(name: str, folder: Path) -> Path:
    path = Path(folder) / f"{name}.csv"
    if not path.is_file():
        choices = ", ".join(sorted(found.stem for found in Path(folder).glob("*.csv"))) or "none in that folder"
        raise ValueError(f"no published table {name!r}; choose one of {choices}")
    return path
