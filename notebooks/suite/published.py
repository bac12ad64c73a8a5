"""The paper's printed numbers: one CSV file a table or figure in `data/paper/`, read and never typed in.

A file starts with comment lines; the first one, `# source: …`, says which table or figure it is. How well a printed
number is known: one with k decimals may be off by half a unit of its last place, 0.5 x 10^-k.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from trinity_core import paths

PAPER = paths.DATA / "paper"
IN_DISTRIBUTION = ("livecodebench", "math500", "mmlu", "rlpr")
BENCHMARKS = {"math": "math500", "knowledge": "mmlu", "reasoning": "rlpr", "code": "livecodebench"}  # of our families
HELD_OUT = ("aime2025", "bigcodebench", "gpqa_d")  # MT-Bench is scored from 1 to 10 and stands apart
TASK_NAMES = {
    "livecodebench": "LiveCodeBench",
    "math500": "MATH500",
    "mmlu": "MMLU",
    "rlpr": "RLPR",
    "aime2025": "AIME2025",
    "bigcodebench": "BigCodeBench",
    "gpqa_d": "GPQA-D",
    "mt_bench": "MT-Bench",
}
SUMMARIES = "Figure 3 (summaries)"  # data/paper/fig3_in_distribution.csv says where its numbers come from
_SOURCE = "# source:"


def published(name: str) -> pd.DataFrame:
    """The published table `name` as a frame, comment lines left out, columns as in the file.

    ValueError for an unknown name (with the choices) and for a file that is no table.
    """
    path = _path(name)
    try:
        return pd.read_csv(path, comment="#")
    except ValueError as error:  # pandas' parser errors are ValueErrors
        raise ValueError(f"{path.name}: not a CSV table ({error}); restore the file from the repository") from None


def by_family(name: str, key: str) -> pd.DataFrame:
    """The published table `name`, a row a `key`, a column for each of our families, as its benchmark is printed."""
    return published(name).set_index(key)[list(BENCHMARKS.values())].set_axis(list(BENCHMARKS), axis=1)


def printed_tokens(setting: str) -> pd.DataFrame:
    """Tables 9-12 of one setting: output tokens a question, a row a method, a column a benchmark."""
    table = published("tables9_12_output_tokens")
    return table[table["setting"] == setting].set_index("method")[list(IN_DISTRIBUTION)]


def source(name: str) -> str:
    """The source line of the published table `name`: which table or figure, in which unit."""
    path = _path(name)
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith(_SOURCE):
        raise ValueError(f"{path.name}: its first line is {first!r}, it must start with {_SOURCE!r}")
    return first.removeprefix(_SOURCE).strip()


published.source = source


def text_row(key: str) -> pd.Series:
    """A number of the running text (`text_numbers.csv`): printed, decimals, where; ValueError names an unknown key."""
    rows = published("text_numbers").set_index("key")
    if key not in rows.index:
        raise ValueError(f"no number {key!r} in text_numbers.csv; choose one of {', '.join(rows.index)}")
    return rows.loc[key]


def text_number(key: str) -> float:
    """The number itself of `text_row`."""
    return text_row(key)["printed"]


def decimals(name: str, column: str) -> int:
    """How many decimals the column of a published table carries, padding zeros left out."""
    cells = published(name)[column].dropna()
    return max(len(f"{cell:.6f}".rstrip("0").partition(".")[2]) for cell in cells)


def half_unit(places: int) -> float:
    """Half a unit of the last of `places` decimals: how far rounding may have moved a printed number."""
    return 0.5 * 10.0**-places


def _path(name: str) -> Path:
    path = PAPER / f"{name}.csv"
    if not path.is_file():
        choices = ", ".join(sorted(found.stem for found in PAPER.glob("*.csv"))) or "none in that folder"
        raise ValueError(f"no published table {name!r}; choose one of {choices}")
    return path
