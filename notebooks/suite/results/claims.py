"""A claim of the paper beside our number, and the only place where a verdict is made.

Evidence says what kind of number ours is, the verdict what it does to the claim (DESIGN.md section 1). The rules, in
the order in which `judge` applies them:

1. Nothing computed (`ours=None`): not testable here.
2. relation "equal": the numbers agree when |ours - paper| <= tolerance or the paper's number lies inside our interval.
   For arithmetic evidence the interval is not statistical: it holds every value that the printed cells allow before
   their own rounding. Agreement that needs it is worth "consistent", agreement within the tolerance "reproduced".
3. relation "greater" or "less": `ours` is a *difference* (A - B) and `interval` is that difference's; the order holds
   when the whole interval lies above (below) 0. An interval that includes 0 does not reproduce an order, and only
   arithmetic evidence can do without one.
4. relation "at least" or "at most": `ours` is held against the paper's number; the whole interval (or `ours` itself,
   give or take the tolerance) must lie on its right side.
5. A claim that holds is "reproduced", except on simulated evidence and on a stand-in (another SLM or other questions
   than the paper's), where the best is "consistent".
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

SLACK = 1e-9  # float noise: a decimal like 0.615 has no exact binary form
TINY = 1e-12  # below it a number is the noise of a difference and shown as 0; above, a small number of its own right
_ID = re.compile(r"\d\d\.\S+")


class Evidence(StrEnum):
    """What kind of evidence a number is; shown beside it everywhere."""

    ARITHMETIC = "arithmetic"
    REAL_SLM = "real-SLM"
    RECORDED = "recorded"
    SIMULATED = "simulated"
    LIVE = "live"

    @classmethod
    def _missing_(cls, value: object) -> Evidence:
        raise ValueError(f"unknown evidence class {value!r}; choose one of {', '.join(cls)}")


class Verdict(StrEnum):
    """What our number does to the paper's claim."""

    REPRODUCED = "reproduced"
    CONSISTENT = "consistent"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable here"

    @classmethod
    def _missing_(cls, value: object) -> Verdict:
        raise ValueError(f"unknown verdict {value!r}; choose one of {', '.join(cls)}")


EVIDENCE_MEANING = {
    Evidence.ARITHMETIC: "follows from the paper's own printed numbers or formulas",
    Evidence.REAL_SLM: "computed on a real small language model's hidden states of real text",
    Evidence.RECORDED: "real LLMs' answers or scores, recorded by others and replayed question by question",
    Evidence.SIMULATED: "a simulated LLM pool, calibrated on published single-model scores; its assumptions are listed",
    Evidence.LIVE: "real LLM calls, with date and model versions",
}
VERDICT_MEANING = {
    Verdict.REPRODUCED: "our number agrees with the paper's claim, in the paper's own setting",
    Verdict.CONSISTENT: "our number agrees, but on a stand-in, a simulation, or only within the rounding of the cells",
    Verdict.NOT_REPRODUCED: "our number disagrees, or its interval is too wide to tell",
    Verdict.NOT_TESTABLE: "what the claim needs is not here; the reason says what is missing",
}

RELATIONS = {"equal": "", "greater": "> ", "less": "< ", "at least": "≥ ", "at most": "≤ "}


@dataclass(frozen=True)
class Claim:
    """One line of the ledger. `id` starts with its notebook's number (`00.table1-average-GPT-5`), unique in the suite.

    `paper` is None where the paper states an order without a number, `ours` where nothing could be computed;
    `interval` is (low, high) of `ours`. With relation "greater" or "less", `paper` and `ours` are differences.
    """

    id: str
    statement: str
    source: str
    paper: float | None
    ours: float | None
    interval: tuple[float, float] | None
    evidence: Evidence
    verdict: Verdict
    reason: str
    unit: str = ""
    relation: str = "equal"

    def __post_init__(self) -> None:
        """Checks every field, so that a file edited by hand cannot say what `judge` would not."""
        for name in ("id", "statement", "source", "reason"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise ValueError(f"claim {self.id!r}: {name} is {getattr(self, name)!r}; give a text")
        if not _ID.fullmatch(self.id):
            raise ValueError(f"claim id {self.id!r}: write the notebook's two digits, a dot, a name without spaces")
        if not isinstance(self.unit, str):
            raise ValueError(f"claim {self.id}: unit is {self.unit!r}; give a text")
        _check_relation(self.relation)
        set_field = object.__setattr__  # the way to normalise a frozen dataclass
        set_field(self, "evidence", Evidence(self.evidence))
        set_field(self, "verdict", Verdict(self.verdict))
        set_field(self, "paper", _number(self.paper, "paper"))
        set_field(self, "ours", _number(self.ours, "ours"))
        set_field(self, "interval", _interval(self.interval, self.ours))
        if self.verdict is Verdict.REPRODUCED and self.evidence is Evidence.SIMULATED:
            raise ValueError(f"claim {self.id}: 'reproduced' on simulated evidence; the best there is 'consistent'")
        if (self.ours is None) != (self.verdict is Verdict.NOT_TESTABLE):
            raise ValueError(f"claim {self.id}: ours is {self.ours} and the verdict {self.verdict.value!r}; "
                             "'not testable here' is the verdict of a claim without our number, and of no other")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """One line where a notebook displays a claim."""
        ours = number(self.ours) + (f" {interval_text(self.interval)}" if self.interval else "")
        printer.text(f"{self.id}: paper {paper_text(self)}, ours {ours}: {self.verdict.value} ({self.reason})")

    def to_json(self) -> dict[str, Any]:
        """Plain values only: what `json.dumps` writes and `from_json` reads back equal."""
        record = asdict(self)
        record["evidence"], record["verdict"] = self.evidence.value, self.verdict.value
        record["interval"] = None if self.interval is None else list(self.interval)
        return record

    @classmethod
    def from_json(cls, record: Any) -> Claim:
        """The claim of one JSON object; ValueError names a missing or unknown field, or a bad value."""
        if not isinstance(record, dict):
            raise ValueError(f"a claim is {record!r}; it must be an object")
        fields = set(cls.__dataclass_fields__)
        if set(record) != fields:
            wrong = sorted(fields - set(record)), sorted(set(record) - fields)
            raise ValueError(f"claim {record.get('id')!r}: missing fields {wrong[0]}, unknown fields {wrong[1]}")
        return cls(**record)


def judge(
    *,
    evidence: Evidence | str,
    paper: float | None,
    ours: float | None,
    interval: tuple[float, float] | None = None,
    tolerance: float | None = None,
    relation: str = "equal",
    stand_in: bool = False,
) -> tuple[Verdict, str]:
    """The verdict on a claim, and the reason in one sentence; the module's docstring states the rules.

    `interval` is (low, high) of `ours`; `tolerance` is in the unit of `paper`. Arithmetic orders need neither: their
    numbers are exact. Raises ValueError naming a NaN, a truth value, an interval that does not hold `ours`, an unknown
    relation, a missing paper number or one that contradicts the relation, a claim with neither tolerance nor interval,
    and an order on other than arithmetic evidence without an interval.
    """
    evidence = Evidence(evidence)
    _check_relation(relation)
    paper, ours = _number(paper, "paper"), _number(ours, "ours")
    interval = _interval(interval, ours)
    tolerance = _number(tolerance, "tolerance")
    if tolerance is not None and tolerance < 0:
        raise ValueError(f"tolerance is {tolerance}; it must be 0 or more")
    if ours is None:
        return Verdict.NOT_TESTABLE, "nothing computed here"
    if paper is None and relation not in ("greater", "less"):
        raise ValueError(f"paper is None; relation {relation!r} needs the paper's number")
    order = relation in ("greater", "less")
    if order and paper is not None and (paper < 0) == (relation == "greater") and paper != 0:
        raise ValueError(f"paper is {paper} with relation {relation!r}; give the paper's difference the way round that "
                         "the claim says, as for ours")
    if order and interval is None and evidence is not Evidence.ARITHMETIC:
        raise ValueError(f"no interval given for a difference on {evidence.value} evidence; whether it lies off 0 "
                         "cannot be told without one")
    exact_order = evidence is Evidence.ARITHMETIC and relation != "equal"
    if interval is None and tolerance is None and not exact_order:
        raise ValueError(f"neither tolerance nor interval given for {evidence.value} evidence; give one of them")

    if relation == "equal":
        verdict, reason = _judge_equal(evidence, paper, ours, interval, tolerance)
    else:
        verdict, reason = _judge_order(relation, paper, ours, interval, tolerance)
    if verdict is Verdict.REPRODUCED and evidence is Evidence.SIMULATED:
        return Verdict.CONSISTENT, f"{reason}; simulated evidence is at best consistent"
    if verdict is Verdict.REPRODUCED and stand_in:
        return Verdict.CONSISTENT, f"{reason}; a stand-in for the paper's setting is at best consistent"
    return verdict, reason


def _judge_equal(
    evidence: Evidence, paper: float, ours: float, interval: tuple[float, float] | None, tolerance: float | None
) -> tuple[Verdict, str]:
    gap = abs(ours - paper)
    if tolerance is not None and gap <= tolerance + SLACK:
        return Verdict.REPRODUCED, "equal" if gap <= SLACK else f"differs by {number(gap)}, within {number(tolerance)}"
    if interval is not None:
        widened = (tolerance or 0.0) if evidence is Evidence.ARITHMETIC else 0.0
        inside = interval[0] - widened - SLACK <= paper <= interval[1] + widened + SLACK
        if inside and evidence is Evidence.ARITHMETIC:
            if gap <= SLACK:
                return Verdict.REPRODUCED, "equal"
            return Verdict.CONSISTENT, f"differs by {number(gap)}, which the rounding of the printed cells allows"
        if inside:
            return Verdict.REPRODUCED, "the paper's number lies inside our interval"
        if evidence is Evidence.ARITHMETIC:
            return Verdict.NOT_REPRODUCED, f"differs by {number(gap)}, more than rounding allows"
        return Verdict.NOT_REPRODUCED, f"differs by {number(gap)}; the paper's number lies outside our interval"
    beyond = f", more than {number(tolerance)}" if tolerance else ""
    return Verdict.NOT_REPRODUCED, f"differs by {number(gap)}{beyond}"


def _judge_order(
    relation: str, paper: float | None, ours: float, interval: tuple[float, float] | None, tolerance: float | None
) -> tuple[Verdict, str]:
    if relation in ("greater", "less"):
        low, high = interval or (ours - (tolerance or 0.0), ours + (tolerance or 0.0))
        sign = 1 if relation == "greater" else -1
        nearest = low if sign > 0 else -high
        side = "above" if sign > 0 else "below"
        if nearest > SLACK:
            return Verdict.REPRODUCED, f"the difference lies {side} 0"
        if sign * ours > SLACK:
            return Verdict.NOT_REPRODUCED, f"the difference points {side} 0, but its interval includes 0"
        return Verdict.NOT_REPRODUCED, f"the difference does not lie {side} 0"
    low, high = interval or (ours, ours)
    allowed = (tolerance or 0.0) + SLACK
    holds = low >= paper - allowed if relation == "at least" else high <= paper + allowed
    best = ours >= paper - allowed if relation == "at least" else ours <= paper + allowed
    if holds:
        return Verdict.REPRODUCED, f"{relation} {number(paper)} holds"
    if best:
        return Verdict.NOT_REPRODUCED, f"{relation} {number(paper)} holds for our number, but not for all its interval"
    return Verdict.NOT_REPRODUCED, f"{relation} {number(paper)} does not hold"


def number(value: float | None) -> str:
    """A number for people: whole ones with thousands separators, others to five significant digits.

    None and NaN are a dash.
    A number that four decimals state exactly keeps them all (67.0175).
    """
    if value is None:
        return "–"
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value - round(value)) < SLACK and (round(value) or abs(value) < TINY):
        return f"{round(value):,}"
    if abs(value) < 1e-4:
        return f"{value:.2g}"
    exact = abs(value - round(value, 4)) < SLACK
    decimals = 4 if abs(value) < 1 or exact else max(1, 4 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def interval_text(interval: tuple[float, float] | None) -> str:
    """`[low, high]`, or a dash where there is none."""
    return "–" if interval is None else f"[{number(interval[0])}, {number(interval[1])}]"


def paper_text(claim: Claim) -> str:
    """The paper's side of a claim: its number with the relation's sign; an order without a number is `> 0` or `< 0`."""
    if claim.relation in ("greater", "less"):
        order = f"{RELATIONS[claim.relation]}0"
        return order if claim.paper is None else f"{number(claim.paper)} ({order})"
    return RELATIONS[claim.relation] + number(claim.paper)


def _number(value: Any, name: str) -> float | int | None:
    """`value` as a finite Python number (whole ones stay whole) or None; ValueError names what is neither."""
    if value is None:
        return None
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's too: an answer, not a number
        raise ValueError(f"{name} is {value!r}; give a number")
    try:
        real = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}; give a number") from None
    if not math.isfinite(real) or isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; give a finite number")
    return int(real) if real.is_integer() and not isinstance(value, float) else real


def _interval(interval: Any, ours: float | None) -> tuple[float, float] | None:
    """`interval` as a pair that holds `ours`; ValueError names what is wrong with it."""
    if interval is None:
        return None
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise ValueError(f"interval is {interval!r}; give (low, high)") from None
    low, high = _number(low, "interval's low end"), _number(high, "interval's high end")
    if low is None or high is None or low > high:
        raise ValueError(f"interval is {interval!r}; give (low, high) with low <= high")
    if ours is None:
        raise ValueError(f"interval is {interval!r} but ours is None; give both or neither")
    slack = SLACK * max(1.0, abs(ours))
    if not low - slack <= ours <= high + slack:
        raise ValueError(f"interval [{low}, {high}] does not hold ours = {ours}; pass the interval of this very number")
    return low, high


def _check_relation(relation: str) -> None:
    if relation not in RELATIONS:
        raise ValueError(f"unknown relation {relation!r}; choose one of {', '.join(RELATIONS)}")
