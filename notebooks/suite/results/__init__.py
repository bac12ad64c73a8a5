"""Published numbers, the claims ledger, figures' style and the reports: where every number of the suite gets its label.

`Results` is what a notebook writes through; `published` reads the paper's tables. pandas and matplotlib load on use.
"""

from __future__ import annotations

from suite.published import published
from suite.results.claims import Claim, Evidence, Verdict, judge
from suite.results.results import Results

__all__ = ["Claim", "Evidence", "Results", "Verdict", "judge", "published"]
