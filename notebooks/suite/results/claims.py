"""A claim of the paper beside our number: one line of the ledger, checked when it is made and when it is read back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from suite.results.texts import interval_text, number
from suite.results.verdicts import CLAIM, ORDERS, OWN, RELATIONS, Evidence, Verdict, checked, own_setting

_ID = re.compile(r"\d\d\.\S+")


@dataclass(frozen=True)
class Claim:
    """One line of the ledger. `id` starts with its notebook's number (`00.table1-average-GPT-5`), unique in the suite.

    `paper` is None where the paper states an order without a number, `ours` where nothing could be computed;
    `interval` is (low, high) of `ours`. With relation "greater" or "less", `paper` and `ours` are differences. `own`
    marks a question of this suite's, which the paper does not ask.
    """

    id: str
    statement: str
    source: str
    paper: int | float | None
    ours: int | float | None
    interval: tuple[int | float, int | float] | None
    evidence: Evidence
    verdict: Verdict
    reason: str
    unit: str
    relation: str
    own: bool = False
    __pydantic_config__: ClassVar = {"extra": "forbid"}  # read back by `ledger`

    def __post_init__(self) -> None:
        """Checks every field, so that a file edited by hand cannot say what `judge` would not."""
        for name in ("id", "statement", "source", "reason"):
            if not getattr(self, name).strip():
                raise ValueError(f"claim {self.id!r}: {name} is {getattr(self, name)!r}; give a text")
        if not _ID.fullmatch(self.id):
            raise ValueError(f"claim id {self.id!r}: write the notebook's two digits, a dot, a name without spaces")
        paper, ours, interval = checked(self.paper, self.ours, self.interval, self.relation)
        evidence, verdict = Evidence(self.evidence), Verdict(self.verdict)
        # The way to normalise a frozen dataclass.
        vars(self).update(paper=paper, ours=ours, interval=interval, evidence=evidence, verdict=verdict)
        if verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED) and not own_setting(evidence, False):
            raise ValueError(
                f"claim {self.id}: {verdict.value!r} on {evidence} evidence; that is not the paper's own setting"
            )
        if verdict not in (OWN if self.own else CLAIM):
            raise ValueError(f"claim {self.id}: verdict {verdict.value!r} with own = {self.own}; see `judge`")
        if (ours is None) != (verdict is Verdict.NOT_TESTABLE):
            raise ValueError(
                f"claim {self.id}: {verdict.value!r}, ours is {ours}; 'not testable here' is without our number"
            )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """One line where a notebook displays a claim."""
        ours = number(self.ours) + (f" {interval_text(self.interval)}" if self.interval else "")
        printer.text(f"{self.id}: paper {self.paper_text}, ours {ours}: {self.verdict} ({self.reason})")

    @property
    def paper_text(self) -> str:
        """The paper's side: its number with the relation's sign; an order without a number is `> 0` or `< 0`."""
        if self.relation in ORDERS:
            order = f"{RELATIONS[self.relation]}0"
            return order if self.paper is None else f"{number(self.paper)} ({order})"
        return RELATIONS[self.relation] + number(self.paper)

    def texts(self) -> dict[str, str]:
        """The claim as a row of a table of texts, in the order in which notebooks show it."""
        return {
            "claim": self.statement,
            "paper": self.paper_text,
            "ours": number(self.ours),
            "interval": interval_text(self.interval),
            "unit": self.unit,
            "evidence": self.evidence.value,
            "verdict": self.verdict.value,
            "reason": self.reason,
        }
