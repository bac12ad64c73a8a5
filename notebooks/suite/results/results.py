"""What a notebook hands over: tables, figures and claims, each with its evidence class, in one folder.

The folder is `$TRINITY_STAGING` where the runner sets it (it moves the folder into place when the notebook has ended
well), else `results/<profile>/NN_name`. `write` leaves `claims.json`, from which the reports are made.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
from IPython.display import Markdown, display, update_display
from matplotlib.figure import Figure

from suite.profiles import get_profile
from suite.results.claims import Claim
from suite.results.ledger import Picture
from suite.results.tables import Table, has_named_index
from suite.results.verdicts import Evidence, Verdict, judge
from trinity_core import paths

_NOTEBOOK = re.compile(r"\d\d_[a-z0-9_]+")
_STAGED = re.compile(r"\.(\d\d_.+)\.staging")  # as the runner names a notebook's folder while it runs
_LABEL = "evidence: "


ANSWER = {"claimed": "Claimed.", "found": "Found.", "sure": "How sure.", "change": "What would change it."}
MIME = "application/vnd.trinity.claims+json"
SHOWN = 8  # claims that a notebook closes with
RESOLUTION = {"%": 5.0, "points": 2.5}  # of scores and shares; of differences between them


@dataclass(frozen=True)
class Closing:
    """Claims as a notebook closes with them: a table of the `first`, the others folded, our own questions apart."""

    first: Sequence[Claim]
    others: Sequence[Claim]

    def _tables(self) -> list[Table]:
        others = {
            "Other claims": [c for c in self.others if not c.own],
            "Questions of our own": [c for c in self.others if c.own],
        }
        found = {"Paper against ours": self.first, **others}
        return [Table(pd.DataFrame([c.texts() for c in claims]), title) for title, claims in found.items() if claims]

    def __repr__(self) -> str:
        first, *folded = self._tables()
        return "\n".join([repr(first), *(f"{table.caption}: {len(table)}, folded" for table in folded)])

    def _repr_html_(self) -> str:
        first, *folded = self._tables()
        summary = "<details><summary>{} ({})</summary>{}</details>"
        return "\n".join([first._repr_html_(), *(summary.format(t.caption, len(t), t._repr_html_()) for t in folded)])


@dataclass(frozen=True)
class Written:
    """What a notebook ends with: a line for the reader, and its claims for whoever reads the notebook's file."""

    line: str
    claims: Sequence[Claim]

    def __repr__(self) -> str:
        return self.line

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        return {"text/plain": self.line, MIME: [{"id": c.id, "own": c.own, **c.texts()} for c in self.claims]}


class Results:
    """One notebook's results. `notebook` is its name without suffix (`02_separability`), `profile` a profile's name."""

    def __init__(self, notebook: str, profile: str) -> None:
        if not _NOTEBOOK.fullmatch(notebook):
            raise ValueError(f"notebook name {notebook!r}: write two digits and a snake_case name, without .ipynb")
        self.notebook, self.profile = notebook, get_profile(profile).name
        staging = os.environ.get("TRINITY_STAGING")
        staged = _STAGED.fullmatch(Path(staging).name) if staging else None
        if staged and staged[1] != notebook:
            raise ValueError(f"Results({notebook!r}, ...) in the notebook {staged[1]!r}; give its own name")
        self.dir = Path(staging) if staging else paths.results_root() / self.profile / notebook
        self._claims: dict[str, Claim] = {}
        self._answer: dict[str, str] = {}
        self._tables: dict[str, Picture] = {}
        self._figures: dict[str, Picture] = {}

    def table(
        self,
        frame: pd.DataFrame,
        name: str,
        *,
        evidence: Evidence | str,
        caption: str,
        decimals: int | dict[str, int] | None = None,
    ) -> Table:
        """Writes `tables/<name>.csv` and `.md`; returns the table, which displays with caption and evidence class."""
        picture = Picture(name=name, caption=caption, evidence=evidence)
        shown = Table(frame, f"{caption.rstrip('.')} ({_LABEL}{picture.evidence})", decimals)
        self._tables[name] = picture
        # Ten digits: more than any reader needs, fewer than where processors begin to differ.
        csv = frame.to_csv(index=has_named_index(frame), float_format="%.10g", lineterminator="\n")
        paths.write_atomic(self.dir / "tables" / f"{name}.csv", csv)
        paths.write_atomic(self.dir / "tables" / f"{name}.md", shown.to_markdown())
        return shown

    def figure(self, fig: Figure, name: str, *, evidence: Evidence | str, caption: str = "") -> None:
        """Writes `figures/<name>.png` and `.svg`, evidence class in the corner; same figure, same bytes."""
        picture = Picture(name=name, caption=caption, evidence=evidence)
        _label_corner(fig, f"{_LABEL}{picture.evidence}")
        self._figures[name] = picture
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            fig.savefig(buffer, format=suffix, metadata=metadata, bbox_inches="tight")
            paths.write_atomic(self.dir / "figures" / f"{name}.{suffix}", buffer.getvalue())

    def claim(
        self,
        *,
        id: str,
        statement: str,
        source: str,
        paper: float | None,
        ours: float | None,
        evidence: Evidence | str,
        interval: tuple[float, float] | None = None,
        tolerance: float | None = None,
        resolution: float | None = None,
        relation: str = "equal",
        unit: str = "",
        stand_in: bool = False,
        calibrated: bool = False,
        own: bool = False,
        note: str = "",
    ) -> Claim:
        """Judges a claim by `verdicts.judge` and records it; `note` is added to the reason.

        `resolution` is how far an interval may reach to a side and still call two numbers equal: without it
        RESOLUTION of the claim's unit, or for other units a quarter of the paper's number.

        Running a cell again replaces its claims; a second, different claim under a used id is a ValueError, as is an
        id that does not begin with this notebook's number.
        """
        prefix = f"{self.notebook[:2]}."
        if not id.startswith(prefix):
            raise ValueError(f"claim id {id!r}: in {self.notebook} it must start with {prefix!r}")
        numbers = {"paper": paper, "ours": ours, "interval": interval, "relation": relation, "evidence": evidence}
        if resolution is None and paper is not None:
            resolution = RESOLUTION.get(unit, abs(paper) / 4)
        kind = {"stand_in": stand_in, "calibrated": calibrated, "own": own}
        verdict, reason = judge(**numbers, tolerance=tolerance, resolution=resolution, **kind)
        if note:
            reason = note if verdict is Verdict.NOT_TESTABLE else f"{reason}; {note}"
        claim = Claim(
            id=id, statement=statement, source=source, verdict=verdict, reason=reason, unit=unit, own=own, **numbers
        )
        known = self._claims.get(id)
        if known and (known.statement, known.source) != (statement, source):
            raise ValueError(f"claim id {id!r} is used twice: {known.statement!r} and {statement!r}; rename one")
        self._claims[id] = claim
        return claim

    @property
    def claims(self) -> list[Claim]:
        """The claims recorded so far, in the order of recording."""
        return list(self._claims.values())

    def opening(self) -> None:
        """Shows where a notebook's answer will stand; `answer` fills it in, in this very place."""
        display(
            Markdown("*The answer in four lines stands here when the notebook has run to its end.*"),
            display_id=self.notebook,
        )

    def answer(self, *, claimed: str, found: str, sure: str, change: str) -> Markdown:
        """The notebook's answer in four lines, shown here and, in Jupyter, in place of `opening`."""
        self._answer = {"claimed": claimed, "found": found, "sure": sure, "change": change}
        if empty := [name for name, text in self._answer.items() if not text.strip()]:
            raise ValueError(f"the answer of {self.notebook} lacks {empty[0]!r}; say it in one sentence")
        shown = Markdown("\n".join(f"- **{ANSWER[name]}** {text}" for name, text in self._answer.items()))
        update_display(shown, display_id=self.notebook)
        return shown

    def closing(self, *ids: str) -> Closing:
        """Paper against ours: the claims of `ids`, at most eight, in their order; all others folded below them."""
        if not 0 < len(ids) <= SHOWN:
            raise ValueError(f"{len(ids)} claims to close with; name one to {SHOWN}, those that a reader must see")
        if unknown := [id for id in ids if id not in self._claims]:
            raise ValueError(f"no claim {unknown[0]!r} is recorded; ids: {', '.join(self._claims)}")
        return Closing([self._claims[id] for id in ids], [c for c in self.claims if c.id not in ids])

    def write(self) -> Written:
        """Writes `claims.json` (answer, claims; tables and figures made) and says so in a line: the last cell."""
        tables, figures = (
            [one.model_dump(mode="json") for one in some.values()] for some in (self._tables, self._figures)
        )
        record = {
            "notebook": self.notebook,
            "profile": self.profile,
            "answer": self._answer,
            "claims": [asdict(claim) for claim in self.claims],
        }
        record |= {"tables": tables, "figures": figures}
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        paths.write_atomic(self.dir / "claims.json", text)
        counts = Counter(claim.verdict for claim in self.claims)
        verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        said = f"{len(self._claims)} claims ({verdicts or 'none'}), {len(tables)} tables, {len(figures)} figures"
        return Written(f"{self.notebook}: {said}", self.claims)


def _label_corner(fig: Figure, label: str) -> None:
    """Writes `label` below the lower right corner of all that `fig` shows, so that it covers nothing."""
    earlier = [text.get_text() for text in fig.texts if text.get_text().startswith(_LABEL)]
    if earlier == [label]:
        return  # the figure is saved a second time
    if earlier:
        raise ValueError(f"the figure says {earlier[0]!r} already, not {label!r}; draw it anew for other evidence")
    fig.draw_without_rendering()  # settles the layout: positions are known only now,
    fig.set_layout_engine("none")  # and stay
    for legend in fig.legends:
        # A legend outside the axes would move when the saved picture is cut to what is drawn: pin it where it is.
        box = legend.get_window_extent().transformed(fig.transFigure.inverted())
        legend.borderaxespad = 0.0
        legend.set_bbox_to_anchor((box.x0, box.y0), transform=fig.transFigure)
        legend.set_loc("lower left")
    width, height = fig.get_size_inches()
    drawn = fig.get_tightbbox()
    place = drawn.x1 / width, (drawn.y0 - 0.06) / height
    fig.text(*place, label, ha="right", va="top", fontsize=8, color="#555555", style="italic")
