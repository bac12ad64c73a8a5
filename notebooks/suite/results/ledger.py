"""The ledger of a profile: every notebook's `claims.json`, read strictly and merged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from suite.results.claims import Claim
from suite.results.verdicts import Evidence


class Picture(BaseModel, extra="forbid"):
    """A table or a figure of a notebook: its file's stem, its caption, its evidence class."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    caption: str
    evidence: Evidence


class Notebook(BaseModel, extra="forbid"):
    """What `Results.write` writes of one notebook, `claims.json`: its answer in four lines, its claims in the order of
    recording, its tables and figures.

    `remark` says why it is not what a run would make now; empty where it is.
    """

    name: str = Field(alias="notebook")
    profile: str
    answer: dict[Literal["claimed", "found", "sure", "change"], str] = {}
    claims: list[Claim]
    tables: list[Picture]
    figures: list[Picture]
    remark: str = ""

    @property
    def title(self) -> str:
        """`00_paper_numbers` as a heading: `00 Paper numbers`."""
        return f"{self.name[:2]} {self.name[3:].replace('_', ' ').capitalize()}"


def load(folder: Path, profile: str, remarks: Mapping[str, str], gone: str = "") -> list[Notebook]:
    """The notebooks with results in `folder` (`results/<profile>`), by name, each with its remark.

    What a notebook with the remark `gone` has left counts for nothing: only the remark on it is kept. Raises
    FileNotFoundError where there are none; ValueError naming a malformed file, or a claim id used twice.
    """
    files = sorted(folder.glob("[0-9][0-9]_*/claims.json"))
    if not files:
        raise FileNotFoundError(
            f"no results of profile {profile!r} in {folder.parent.name}/{folder.name}; make them with: ./run_all.sh "
            f"--profile {profile}"
        )
    notebooks = [_read(file, profile, remarks.get(file.parent.name, ""), gone) for file in files]
    owner: dict[str, str] = {}
    for notebook in notebooks:
        for claim in notebook.claims:
            if claim.id in owner:
                both = f"{owner[claim.id]} and in {notebook.name}"
                raise ValueError(f"claim id {claim.id!r} is used twice: in {both}; rename one and rerun its notebook")
            owner[claim.id] = notebook.name
    return notebooks


def merged_json(notebooks: list[Notebook], profile: str) -> str:
    """All claims in one JSON document, each with its notebook's name."""
    claims = [{"notebook": nb.name} | asdict(claim) for nb in notebooks for claim in nb.claims]
    record = {"profile": profile, "claims": claims}
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read(file: Path, profile: str, remark: str, gone: str) -> Notebook:
    name = file.parent.name
    if remark and remark == gone:
        return Notebook(notebook=name, profile=profile, claims=[], tables=[], figures=[], remark=remark)
    try:
        read = Notebook.model_validate_json(file.read_bytes(), strict=True)
        if (read.name, read.profile) != (name, profile):
            raise ValueError(f"notebook is {read.name!r} and profile is {read.profile!r}, not those of its folder")
    except ValueError as error:
        said = str(error)
        if isinstance(error, ValidationError):  # in one line: place, what is wrong
            said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        remedy = f"rerun it: ./run_all.sh --profile {profile} --only {name[:2]} --force"
        raise ValueError(f"malformed {name}/claims.json: {said}; {remedy}") from None
    return read.model_copy(update={"remark": remark})
