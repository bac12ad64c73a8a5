"""The ledger of a profile: every notebook's `claims.json`, read strictly and merged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.results.claims import Claim
from suite.results.verdicts import Evidence

GONE = "its notebook is no longer there, so its claims are left out; remove this folder"  # a remark


@dataclass(frozen=True)
class Picture:
    """A table or a figure of a notebook: its file's stem, its caption, its evidence class."""

    name: str
    caption: str
    evidence: Evidence

    def __post_init__(self) -> None:
        texts = isinstance(self.name, str) and isinstance(self.caption, str)
        if not texts or "/" in self.name or "\\" in self.name or self.name.startswith("."):
            raise ValueError(
                f"a table or figure is named {self.name!r}, captioned {self.caption!r}; write a plain name and a text"
            )
        vars(self)["evidence"] = Evidence(self.evidence)


@dataclass(frozen=True)
class Notebook:
    """What one notebook left: its claims in the order of recording, its tables and figures.

    `remark` says why it is not what a run would make now; empty where it is.
    """

    name: str
    remark: str = ""
    claims: tuple[Claim, ...] = ()
    tables: tuple[Picture, ...] = ()
    figures: tuple[Picture, ...] = ()

    @property
    def title(self) -> str:
        """`00_paper_numbers` as a heading: `00 Paper numbers`."""
        return f"{self.name[:2]} {self.name[3:].replace('_', ' ').capitalize()}"

    @property
    def gone(self) -> bool:
        return self.remark == GONE


def load(folder: Path, profile: str, remarks: Mapping[str, str]) -> list[Notebook]:
    """The notebooks with results in `folder` (`results/<profile>`), by name, each with its remark.

    What a notebook that is no longer there has left counts for nothing: only the remark on it is kept. Raises
    FileNotFoundError where there are none; ValueError naming a malformed file, or a claim id used twice.
    """
    files = sorted(folder.glob("[0-9][0-9]_*/claims.json"))
    if not files:
        raise FileNotFoundError(
            f"no results of profile {profile!r} in {folder.parent.name}/{folder.name}; make them with: ./run_all.sh "
            f"--profile {profile}"
        )
    notebooks = [_read(file, profile, remarks.get(file.parent.name, "")) for file in files]
    owner: dict[str, str] = {}
    for notebook in notebooks:
        for claim in notebook.claims:
            if claim.id in owner:
                raise ValueError(
                    f"claim id {claim.id!r} is used twice: in {owner[claim.id]} and in {notebook.name}; rename one and "
                    "rerun its notebook"
                )
            owner[claim.id] = notebook.name
    return notebooks


def merged_json(notebooks: list[Notebook], profile: str) -> str:
    """All claims in one JSON document, each with its notebook's name."""
    claims = [{"notebook": nb.name} | claim.to_json() for nb in notebooks for claim in nb.claims]
    record = {"profile": profile, "claims": claims}
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read(file: Path, profile: str, remark: str) -> Notebook:
    name = file.parent.name
    if remark == GONE:
        return Notebook(name, remark)
    try:
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
        if not isinstance(record, dict):
            raise ValueError("not a JSON object")
        for key, expected in (("notebook", name), ("profile", profile)):
            if record.get(key) != expected:
                raise ValueError(
                    f"{key} is {record.get(key)!r}, its folder says {expected!r}; the notebook must write "
                    f"Results({name!r}, profile)"
                )
        claims, tables, figures = (
            _list(record, key, make)
            for key, make in (("claims", Claim.from_json), ("tables", _picture), ("figures", _picture))
        )
    except (ValueError, TypeError) as error:  # json's and unicode's errors are ValueErrors
        remedy = f"rerun it: ./run_all.sh --profile {profile} --only {name[:2]} --force"
        raise ValueError(f"malformed {name}/claims.json: {error}; {remedy}") from None
    return Notebook(name, remark, claims, tables, figures)


def _list(record: dict, key: str, make: Any) -> tuple:
    if not isinstance(record.get(key), list):
        raise ValueError(f"{key} is {record.get(key)!r}, it must be a list")
    return tuple(map(make, record[key]))


def _picture(entry: Any) -> Picture:
    if not isinstance(entry, dict) or set(entry) != {"name", "caption", "evidence"}:
        raise ValueError(f"a table or figure is {entry!r}; it must have name, caption, evidence")
    return Picture(**entry)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number that a claim may hold")
