"""The headline claims: what a reader wants to know first, each with the numbers that speak to it.

`headlines.yaml` names the claims of the ledger behind each of them. All numbers come from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from suite.results.results import MIME
from suite.results.texts import markdown
from suite.results.verdicts import Verdict
from trinity_core.paths import NOTEBOOKS, ROOT

HEADLINES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
HEAD = ["headline claim", "what was measured", "paper", "ours", "unit", "evidence", "verdict"]
README, MARKS = ROOT / "README.md", ("<!-- headline claims -->\n", "<!-- end of headline claims -->")
SILENT = {Verdict.CANNOT_TELL, Verdict.NOT_TESTABLE, Verdict.BY_CONSTRUCTION}


class Headlines(NamedTuple):
    """Rows in the order of `HEAD`, how many have each verdict, and the headline claims that none of them decides."""

    rows: list[list[str]]
    counts: dict[Verdict, int]
    undecided: list[str]


def headlines(claims: Mapping[str, Mapping[str, str]]) -> Headlines:
    """From a ledger's claims by id, each as `Claim.texts`; ids that it lacks (of notebooks not run) are left out."""
    rows, verdicts, undecided = [], [], []
    for headline, ids in HEADLINES.items():
        found = [claims[id] for id in ids if id in claims]
        for place, texts in enumerate(found):
            ours = texts["ours"] + ("" if texts["interval"] == "–" else f" {texts['interval']}")
            cells = [texts["claim"], texts["paper"], ours, texts["unit"], texts["evidence"], texts["verdict"]]
            rows.append(["" if place else headline, *cells])
        verdicts += [Verdict(texts["verdict"]) for texts in found]
        if all(Verdict(texts["verdict"]) in SILENT for texts in found):
            undecided.append(headline)
    return Headlines(rows, {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}, undecided)


def committed() -> dict[str, dict[str, str]]:
    """The claims that the notebooks of the repository hold in their outputs, by id."""
    books = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")))
    outputs = [output for book in books for cell in book["cells"] for output in cell.get("outputs", ())]
    return {claim["id"]: claim for output in outputs for claim in output.get("data", {}).get(MIME, ())}


def readme() -> str:
    """The README with the headline table as the committed notebooks give it."""
    found = headlines(committed())
    lines = markdown(HEAD, found.rows, [False] * len(HEAD))
    if found.undecided:
        lines += ["", f"What this suite cannot tell: {'; '.join(found.undecided)}."]
    before, rest = README.read_text(encoding="utf-8").split(MARKS[0])
    return before + MARKS[0] + "\n".join([*lines, "", ""]) + MARKS[1] + rest.split(MARKS[1])[1]
