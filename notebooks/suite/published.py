"""The paper's printed numbers: one CSV file a table or figure in `data/paper/`, read and never typed in.

A file starts with comment lines; the first one, `# source: …`, says which table or figure it is.
"""

from __future__ import annotations

import csv
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
    _check(path, frame)
    return frame


def _check(path: Path, frame: pd.DataFrame) -> None:
    """ValueError naming what pandas reads without a word: a short row, a number that is none in a column of numbers."""
    import pandas as pd

    remedy = "restore the file from the repository"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    for row in csv.reader(lines):
        if len(row) != len(frame.columns):
            raise ValueError(f"{path.name}: {len(row)} cells in the row {','.join(row)!r}, not {len(frame.columns)}; "
                             f"{remedy}")
    for column in frame.columns:
        cells = frame[column].dropna()
        wrong = cells[pd.to_numeric(cells, errors="coerce").isna()]
        if 0 < len(wrong) < len(cells) / 2:
            raise ValueError(f"{path.name}: {column} is {wrong.iloc[0]!r} in row {wrong.index[0] + 1}, where it is a "
                             f"number in most rows; {remedy}")


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
