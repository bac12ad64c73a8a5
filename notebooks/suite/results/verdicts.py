"""Evidence and verdicts (DESIGN.md section 1): the only place where a verdict is made. The rules of `judge`, in order:

1. Nothing computed: not testable here.
2. "equal": |ours - paper| <= tolerance, or the paper's number lies inside our interval. For arithmetic evidence the
   interval holds what the printed cells allow before their own rounding; agreement that needs it is "consistent".
3. "greater", "less": `ours` is a *difference* (A - B); the order holds when its whole interval lies above (below) 0.
   An interval that includes 0 does not reproduce an order; only arithmetic evidence can do without one.
4. "at least", "at most": the whole interval, or `ours` give or take the tolerance, lies on its side of the paper's.
5. A claim that holds is "reproduced", except on simulated evidence and on a stand-in (another SLM or other questions
   than the paper's), where the best is "consistent".
"""

from __future__ import annotations

import math
from enum import StrEnum
from numbers import Integral, Real
from typing import Any

from suite.results.texts import SLACK, number

Interval = tuple[float, float]


class Evidence(StrEnum):
    """What kind of evidence a number is; shown beside it everywhere."""

    ARITHMETIC = "arithmetic"
    REAL_SLM = "real-SLM"
    RECORDED = "recorded"
    SIMULATED = "simulated"
    LIVE = "live"


class Verdict(StrEnum):
    """What our number does to the paper's claim."""

    REPRODUCED = "reproduced"
    CONSISTENT = "consistent"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable here"


RELATIONS = {"equal": "", "greater": "> ", "less": "< ", "at least": "≥ ", "at most": "≤ "}
ORDERS = ("greater", "less")


def judge(
    *,
    evidence: Evidence | str,
    paper: float | None,
    ours: float | None,
    interval: Interval | None = None,
    tolerance: float | None = None,
    relation: str = "equal",
    stand_in: bool = False,
) -> tuple[Verdict, str]:
    """The verdict on a claim, and the reason in one sentence; the module's docstring states the rules.

    `interval` is (low, high) of `ours`; `tolerance` is in the unit of `paper`. ValueError names what is wrong.
    """
    evidence = Evidence(evidence)
    paper, ours, interval = checked(paper, ours, interval, relation)
    tolerance = finite(tolerance, "tolerance")
    if tolerance is not None and tolerance < 0:
        raise ValueError(f"tolerance is {tolerance}; it must be 0 or more")
    if ours is None:
        return Verdict.NOT_TESTABLE, "nothing computed here"
    arithmetic = evidence is Evidence.ARITHMETIC
    if relation not in ORDERS and paper is None:
        raise ValueError(f"paper is None; relation {relation!r} needs the paper's number")
    if relation in ORDERS and paper and (paper < 0) == (relation == "greater"):
        raise ValueError(f"paper is {paper} with relation {relation!r}; give its difference the way round of ours")
    if relation in ORDERS and interval is None and not arithmetic:
        raise ValueError(f"no interval given for a difference on {evidence} evidence; without one an order is not told")
    if interval is None and tolerance is None and not (arithmetic and relation != "equal"):
        raise ValueError(f"neither tolerance nor interval given for {evidence} evidence; give one of them")

    if relation == "equal":
        verdict, reason = _equal(arithmetic, paper, ours, interval, tolerance)
    elif relation in ORDERS:
        verdict, reason = _order(1 if relation == "greater" else -1, ours, interval, tolerance or 0.0)
    else:
        verdict, reason = _bound(relation, paper, ours, interval, tolerance or 0.0)
    if verdict is Verdict.REPRODUCED and evidence is Evidence.SIMULATED:
        return Verdict.CONSISTENT, f"{reason}; simulated evidence is at best consistent"
    if verdict is Verdict.REPRODUCED and stand_in:
        return Verdict.CONSISTENT, f"{reason}; a stand-in for the paper's setting is at best consistent"
    return verdict, reason


def _equal(
    arithmetic: bool, paper: float, ours: float, interval: Interval | None, tolerance: float | None
) -> tuple[Verdict, str]:
    gap = abs(ours - paper)
    differs = f"differs by {number(gap)}"
    if tolerance is not None and gap <= tolerance + SLACK:
        return Verdict.REPRODUCED, "equal" if gap <= SLACK else f"{differs}, within {number(tolerance)}"
    if interval is None:
        return Verdict.NOT_REPRODUCED, differs + (f", more than {number(tolerance)}" if tolerance else "")
    allowed = SLACK + (tolerance or 0.0) * arithmetic
    inside = interval[0] - allowed <= paper <= interval[1] + allowed
    if not arithmetic:
        if inside:
            return Verdict.REPRODUCED, "the paper's number lies inside our interval"
        return Verdict.NOT_REPRODUCED, f"{differs}; the paper's number lies outside our interval"
    if inside and gap <= SLACK:
        return Verdict.REPRODUCED, "equal"
    if inside:
        return Verdict.CONSISTENT, f"{differs}, which the rounding of the printed cells allows"
    return Verdict.NOT_REPRODUCED, f"{differs}, more than rounding allows"


def _order(sign: int, ours: float, interval: Interval | None, tolerance: float) -> tuple[Verdict, str]:
    """A difference against 0; `sign` is -1 where it is to lie below."""
    ours, nearest = sign * ours, min(sign * end for end in interval or (ours - tolerance, ours + tolerance))
    side = "above" if sign > 0 else "below"
    if nearest > SLACK:
        return Verdict.REPRODUCED, f"the difference lies {side} 0"
    if ours > SLACK:
        return Verdict.NOT_REPRODUCED, f"the difference points {side} 0, but its interval includes 0"
    return Verdict.NOT_REPRODUCED, f"the difference does not lie {side} 0"


def _bound(
    relation: str, paper: float, ours: float, interval: Interval | None, tolerance: float
) -> tuple[Verdict, str]:
    sign = 1 if relation == "at least" else -1
    bar = sign * paper - tolerance - SLACK
    holds = f"{relation} {number(paper)} holds"
    if min(sign * end for end in interval or (ours, ours)) >= bar:
        return Verdict.REPRODUCED, holds
    if sign * ours >= bar:
        return Verdict.NOT_REPRODUCED, f"{holds} for our number, but not for all its interval"
    return Verdict.NOT_REPRODUCED, f"{relation} {number(paper)} does not hold"


def checked(
    paper: float | None, ours: float | None, interval: Any, relation: str
) -> tuple[float | None, float | None, Interval | None]:
    """The numbers of a claim as finite Python numbers; ValueError names what is wrong with one, or the relation."""
    if relation not in RELATIONS:
        raise ValueError(f"unknown relation {relation!r}; choose one of {', '.join(RELATIONS)}")
    paper, ours = finite(paper, "paper"), finite(ours, "ours")
    if interval is None:
        return paper, ours, None
    low, high = (finite(end, f"{side} end") for end, side in zip(interval, ("low", "high"), strict=True))
    slack = SLACK * max(1.0, abs(ours or 0.0))
    if ours is None or not low - slack <= ours <= high + slack:
        raise ValueError(f"interval [{low}, {high}] does not hold ours = {ours}; pass the interval of this very number")
    return paper, ours, (low, high)


def finite(value: Any, name: str) -> float | int | None:
    """`value` as a finite Python number (whole ones stay whole) or None; ValueError names what is neither."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; give a finite number")
    return int(value) if isinstance(value, Integral) else float(value)
