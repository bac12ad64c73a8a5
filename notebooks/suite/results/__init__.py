"""Where every number of the suite gets its label: claims and verdicts, tables, figures' style, the reports.

`Results` is what a notebook writes through.
"""

from __future__ import annotations

from suite.results.claims import Claim
from suite.results.results import Results
from suite.results.verdicts import Evidence, Verdict, judge

__all__ = ["Claim", "Evidence", "Results", "Verdict", "judge"]
