"""Evidence and verdicts (DESIGN.md section 1): the only place where a verdict is made. The rules of `judge`, in order:

1. Nothing computed: not testable here. The pool was calibrated on the number: by construction, which is no verdict.
2. Our number, with its interval, agrees with the claim, excludes it, or cannot tell:
   - "equal" agrees where the paper's number lies inside our interval or within the tolerance, and the interval
     reaches no further than `resolution` to either side; a wider one cannot tell. It excludes all other numbers.
   - "greater", "less": `ours` is a *difference* (A - B). It agrees where its whole interval lies above (below) 0 and
     excludes the claim where all of it lies on the other side; one that holds 0 cannot tell. The paper's own
     difference is its size: the reason says whether ours has that size too.
   - "at least", "at most": the same, against the paper's bound instead of 0.
3. A claim that agrees is "reproduced" in the paper's own setting (arithmetic, or live), else "consistent"; one that is
   excluded is "not reproduced" there, else it "differs here". A question that is ours, not the paper's, has a plain
   answer: "yes", "no" or "cannot tell".
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
    """What our number does to the paper's claim; the last two answer a question of our own."""

    REPRODUCED = "reproduced"
    CONSISTENT = "consistent"
    NOT_REPRODUCED = "not reproduced"
    DIFFERS = "differs here"
    CANNOT_TELL = "cannot tell"
    NOT_TESTABLE = "not testable here"
    BY_CONSTRUCTION = "by construction"
    YES = "yes"
    NO = "no"


RELATIONS = {"equal": "", "greater": "> ", "less": "< ", "at least": "≥ ", "at most": "≤ "}
ORDERS = ("greater", "less")
OWN = (Verdict.YES, Verdict.NO, Verdict.CANNOT_TELL, Verdict.NOT_TESTABLE)  # what a question of our own comes to
CLAIM = tuple(verdict for verdict in Verdict if verdict not in (Verdict.YES, Verdict.NO))  # and a claim of the paper's
AGREES, EXCLUDES, OPEN = "agrees", "excludes", "open"


def own_setting(evidence: Evidence, stand_in: bool) -> bool:
    """Whether the number was made where the paper's was: from its printed numbers, or by live calls of its pool."""
    return evidence in (Evidence.ARITHMETIC, Evidence.LIVE) and not stand_in


def judge(
    *,
    evidence: Evidence | str,
    paper: float | None,
    ours: float | None,
    interval: Interval | None = None,
    tolerance: float | None = None,
    resolution: float | None = None,
    relation: str = "equal",
    stand_in: bool = False,
    calibrated: bool = False,
    own: bool = False,
) -> tuple[Verdict, str]:
    """The verdict on a claim, and the reason in one sentence; the module's docstring states the rules.

    `interval` is (low, high) of `ours`; `tolerance` and `resolution` are in the unit of `paper`. `calibrated`: the pool
    was made to have this number. `own`: a question that the paper does not ask. Arithmetic orders need no interval:
    their numbers are exact. ValueError names a number, an interval or a relation that is wrong or missing.
    """
    evidence = Evidence(evidence)
    paper, ours, interval = checked(paper, ours, interval, relation)
    tolerance, resolution = finite(tolerance, "tolerance"), finite(resolution, "resolution")
    if min(tolerance or 0, resolution or 0) < 0:
        raise ValueError(f"tolerance is {tolerance}, resolution {resolution}; they must be 0 or more")
    arithmetic = evidence is Evidence.ARITHMETIC
    if relation in ORDERS and paper is not None:
        if paper == 0 or (paper < 0) == (relation == "greater"):
            raise ValueError(
                f"paper is {paper} with relation {relation!r}; give its difference the way round of ours, or None "
                "where it prints no size"
            )
        if own:
            raise ValueError(f"paper is {paper} for a question of our own; a claim of the paper's is not `own`")
    if ours is None:
        return Verdict.NOT_TESTABLE, "nothing computed here"
    if relation in ORDERS:
        if interval is None and not arithmetic:
            raise ValueError(
                f"no interval given for a difference on {evidence} evidence; without one an order is not told"
            )
    elif paper is None:
        raise ValueError(f"paper is None; relation {relation!r} needs the paper's number")
    if interval is None and tolerance is None and not (arithmetic and relation != "equal"):
        raise ValueError(f"neither tolerance nor interval given for {evidence} evidence; give one of them")
    if interval is not None and relation == "equal" and resolution is None and not arithmetic:
        raise ValueError(f"no resolution given for an equality on {evidence} evidence; say how narrow is narrow enough")

    if relation == "equal":
        outcome, reason = _equal(arithmetic, paper, ours, interval, tolerance, resolution)
    elif relation in ORDERS:
        outcome, reason = _order(relation, paper, ours, interval, tolerance or 0.0)
    else:
        outcome, reason = _bound(relation, paper, ours, interval, tolerance or 0.0)
    if calibrated:
        return Verdict.BY_CONSTRUCTION, f"the pool was calibrated on it; {reason}"
    if own:
        return {AGREES: Verdict.YES, EXCLUDES: Verdict.NO, OPEN: Verdict.CANNOT_TELL}[outcome], reason
    if outcome == OPEN:
        return Verdict.CANNOT_TELL, reason
    if not own_setting(evidence, stand_in):
        return Verdict.CONSISTENT if outcome == AGREES else Verdict.DIFFERS, reason
    if outcome == EXCLUDES:
        return Verdict.NOT_REPRODUCED, reason
    # The printed cells were rounded: what agrees only thanks to that is not the printed number itself.
    rounded = arithmetic and relation == "equal" and abs(ours - paper) > (tolerance or 0.0) + SLACK
    return Verdict.CONSISTENT if rounded else Verdict.REPRODUCED, reason


def _equal(
    arithmetic: bool,
    paper: float,
    ours: float,
    interval: Interval | None,
    tolerance: float | None,
    resolution: float | None,
) -> tuple[str, str]:
    gap, allowed = abs(ours - paper), (tolerance or 0.0) + SLACK
    differs = "equal" if gap <= SLACK else f"differs by {number(gap)}"
    near = differs if gap <= SLACK else f"{differs}, within {number(tolerance)}"
    if interval is None:
        if gap <= allowed:
            return AGREES, near
        return EXCLUDES, differs + (f", more than {number(tolerance)}" if tolerance else "")
    low, high = interval
    slack = allowed if arithmetic else SLACK
    inside = low - slack <= paper <= high + slack
    if arithmetic:
        if not inside:
            return EXCLUDES, f"{differs}, more than rounding allows"
        return AGREES, near if gap <= allowed else f"{differs}, which the rounding of the printed cells allows"
    if not inside and gap > allowed:
        return EXCLUDES, f"{differs}; the paper's number lies outside our interval"
    where = "the paper's number lies inside our interval" if inside else near
    reach = max(high - ours, ours - low)
    if reach > resolution + SLACK:
        return OPEN, f"{where}, which reaches {number(reach)} to a side: more than the {number(resolution)} asked for"
    return AGREES, where


def _order(
    relation: str, paper: float | None, ours: float, interval: Interval | None, tolerance: float
) -> tuple[str, str]:
    """A difference against 0, and against the paper's size."""
    low, high = interval or (ours - tolerance, ours + tolerance)
    sign = 1 if relation == "greater" else -1
    nearest, farthest = sorted((sign * low, sign * high))
    size = ""
    if paper is not None and interval is not None:
        inside = low - SLACK <= paper <= high + SLACK
        size = f"; the paper's size, {number(paper)}, lies {'inside' if inside else 'outside'} our interval"
    if nearest > SLACK:
        return AGREES, f"the order holds{size}"
    if farthest < -SLACK:
        return EXCLUDES, "the order is the other way round"
    if low == high:
        return EXCLUDES, "there is no difference"
    return OPEN, f"the interval holds 0{size}"


def _bound(relation: str, paper: float, ours: float, interval: Interval | None, tolerance: float) -> tuple[str, str]:
    sign = 1 if relation == "at least" else -1
    bar = sign * paper - tolerance - SLACK
    nearest, farthest = sorted(sign * end for end in interval or (ours, ours))
    said = f"{relation} {number(paper)}"
    if nearest >= bar:
        return AGREES, f"{said} holds"
    if farthest < bar:
        return EXCLUDES, f"{said} does not hold"
    return OPEN, f"the interval holds numbers on both sides of {number(paper)}"


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
