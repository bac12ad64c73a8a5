"""Published numbers, the claims ledger, figures' style and the reports: where every number of the suite gets its label.

`Results` is what a notebook writes through; `published` reads the paper's tables. pandas and matplotlib load on use.
"""

from __future__ import annotations

from trinity_core.report.claims import Claim, Evidence, Verdict, judge
from trinity_core.report.published import published
from trinity_core.report.results import Results

__all__ = ["Claim", "Evidence", "Results", "Verdict", "judge", "published"]
