"""The ledger of a profile: every notebook's `claims.json`, read strictly and merged.

Only the standard library is used, so that `trinity report` answers at once.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from suite.results.claims import Claim, Evidence, Verdict

GONE = "its notebook is no longer there, so its claims are left out; remove this folder"  # a remark


@dataclass(frozen=True)
class Picture:
    """A table or a figure of a notebook: its file's stem, its caption, its evidence class."""

    name: str
    caption: str
    evidence: Evidence


@dataclass(frozen=True)
class Notebook:
    """What one notebook left: its claims in the order of recording, its tables and figures.

    `remark` says why it is not what a run would make now (`freshness.remarks`); empty where it is.
    """

    name: str
    claims: tuple[Claim, ...]
    tables: tuple[Picture, ...]
    figures: tuple[Picture, ...]
    remark: str = ""

    @property
    def title(self) -> str:
        """`00_paper_numbers` as a heading: `00 Paper numbers`."""
        return f"{self.name[:2]} {self.name[3:].replace('_', ' ').capitalize()}"


def load(folder: Path, profile: str, remarks: dict[str, str] | None = None) -> list[Notebook]:
    """The notebooks with results in `folder` (`results/<profile>`), by name, each with its remark.

    What a notebook that is no longer there has left counts for nothing: only the remark on it is kept. Raises
    FileNotFoundError where there are none; ValueError naming a malformed file, or a claim id used twice.
    """
    files = sorted(Path(folder).glob("[0-9][0-9]_*/claims.json"))
    if not files:
        raise FileNotFoundError(f"no results of profile {profile!r} in {Path(folder).parent.name}/{Path(folder).name}; "
                                f"make them with: ./run_all.sh --profile {profile}")
    remarks = remarks or {}
    notebooks = []
    for file in files:
        remark = remarks.get(file.parent.name, "")
        kept = Notebook(file.parent.name, (), (), ()) if remark == GONE else _read(file, profile)
        notebooks.append(replace(kept, remark=remark))
    owner: dict[str, str] = {}
    for notebook in notebooks:
        for claim in notebook.claims:
            if claim.id in owner:
                raise ValueError(f"claim id {claim.id!r} is used twice: in {owner[claim.id]} and in {notebook.name}; "
                                 "rename one and rerun its notebook")
            owner[claim.id] = notebook.name
    return notebooks


def merged_json(notebooks: list[Notebook], profile: str) -> str:
    """All claims in one JSON document, each with its notebook's name."""
    claims = [{"notebook": nb.name} | claim.to_json() for nb in notebooks for claim in nb.claims]
    record = {"profile": profile, "claims": claims}
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def counts(notebooks: list[Notebook]) -> Counter[tuple[Evidence, Verdict]]:
    """How many claims there are of each evidence class and verdict."""
    return Counter((claim.evidence, claim.verdict) for notebook in notebooks for claim in notebook.claims)


def _read(file: Path, profile: str) -> Notebook:
    name = file.parent.name
    remedy = f"rerun it: ./run_all.sh --profile {profile} --only {name[:2]} --force"
    try:
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
        if not isinstance(record, dict):
            raise ValueError("not a JSON object")
        for key, expected in (("notebook", name), ("profile", profile)):
            if record.get(key) != expected:
                raise ValueError(f"{key} is {record.get(key)!r}, its folder says {expected!r}; "
                                 f"the notebook must write Results({name!r}, profile)")
        claims = tuple(Claim.from_json(claim) for claim in _list(record, "claims"))
        pictures = {key: tuple(_picture(entry) for entry in _list(record, key)) for key in ("tables", "figures")}
    except (ValueError, TypeError) as error:  # json's and unicode's errors are ValueErrors
        raise ValueError(f"malformed {name}/claims.json: {error}; {remedy}") from None
    return Notebook(name, claims, pictures["tables"], pictures["figures"])


def _list(record: dict, key: str) -> list:
    if not isinstance(record.get(key), list):
        raise ValueError(f"{key} is {record.get(key)!r}, it must be a list")
    return record[key]


def _picture(entry: object) -> Picture:
    if not isinstance(entry, dict) or set(entry) != {"name", "caption", "evidence"}:
        raise ValueError(f"a table or figure is {entry!r}; it must have name, caption, evidence")
    name, caption = entry["name"], entry["caption"]
    if not isinstance(name, str) or not isinstance(caption, str) or "/" in name or "\\" in name or name.startswith("."):
        raise ValueError(f"a table or figure is named {name!r}, captioned {caption!r}; write a plain name and a text")
    return Picture(name, caption, Evidence(entry["evidence"]))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number that a claim may hold")
