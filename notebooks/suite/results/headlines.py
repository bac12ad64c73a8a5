"""The headline claims: what a reader wants to know first, each with the numbers that speak to it.

`headlines.yaml` names the claims of the ledger behind each of them. All numbers come from the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from suite.results.verdicts import Verdict

HEADLINES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
HEAD = ["headline claim", "what was measured", "paper", "ours", "unit", "evidence", "verdict"]
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
