"""The ledger as pages: plain text for the terminal, Markdown (`REPORT.md`), HTML (`index.html`).

The text and the Markdown depend on the claims and remarks alone: the same ones give the same bytes. The HTML also
shows the tables, figures and executed notebooks that it finds beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tabulate import tabulate

from suite.results.headlines import HEAD, Headlines, headlines
from suite.results.ledger import Notebook
from suite.results.results import ANSWER
from suite.results.texts import markdown
from suite.results.verdicts import Evidence, Verdict

MEANINGS = yaml.safe_load(Path(__file__).with_name("meanings.yaml").read_text(encoding="utf-8"))
MARKS = dict(zip(Verdict, "✔≈✘≠?–=✔✘", strict=True))
CLASSES = dict(zip(Verdict, "yes near no no none none none yes no".split(), strict=True))  # in the page's style
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=lambda name: name == "index.html.j2",
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


class Counts(NamedTuple):
    """How many claims there are: a row an evidence class that occurs, a column a verdict that occurs, with totals."""

    head: list[str]
    rows: list[list[str]]


def counts(notebooks: list[Notebook], own: bool = False) -> Counts:
    """Of the paper's claims, or of our own questions."""
    claims = [claim for notebook in notebooks for claim in notebook.claims if claim.own == own]
    if not claims:
        return Counts([], [])
    frame = pd.DataFrame([(claim.evidence, claim.verdict) for claim in claims], columns=["evidence", "verdict"])
    table = pd.crosstab(frame["evidence"], frame["verdict"], margins=True, margins_name="all")
    table = table.reindex(
        index=[name for name in (*Evidence, "all") if name in table.index],
        columns=[name for name in (*Verdict, "all") if name in table.columns],
    )
    return Counts(["evidence", *map(str, table)], [[str(name), *map(str, row)] for name, *row in table.itertuples()])


def headline_table(notebooks: list[Notebook]) -> Headlines:
    """The headline claims of a ledger."""
    return headlines({claim.id: claim.texts() for notebook in notebooks for claim in notebook.claims})


def as_text(notebooks: list[Notebook]) -> str:
    """The ledger for a terminal: headline claims and counts first, then one line a claim."""
    first, all_claims, own = headline_table(notebooks), counts(notebooks), counts(notebooks, own=True)
    said = ", ".join(f"{count} {verdict}" for verdict, count in first.counts.items())
    parts = [
        "Headline claims",
        tabulate(first.rows, HEAD, disable_numparse=True),
        f"Headline verdicts: {said or 'none'}",
    ]
    parts += ["", "All claims of the paper", tabulate(all_claims.rows, all_claims.head)]
    parts += ["", "Questions of our own", tabulate(own.rows, own.head)] if own.rows else []
    for notebook in notebooks:
        parts += ["", notebook.title, *([f"  ! {notebook.remark}"] if notebook.remark else [])]
        shown = ["paper", "ours", "interval", "unit", "evidence", "verdict"]
        rows = [[claim.id, *(claim.texts()[name] for name in shown)] for claim in notebook.claims]
        parts += [tabulate(rows, ["claim", *shown], disable_numparse=True)] if rows else []
    return "\n".join([*parts, ""])


def as_markdown(notebooks: list[Notebook], profile: str) -> str:
    """`REPORT.md`: what classes and verdicts mean, the counts, then one table a notebook."""
    return _page("REPORT.md.j2", notebooks, profile, table=_markdown, claims=_markdown_claims)


def as_html(notebooks: list[Notebook], profile: str, folder: Path) -> str:
    """`index.html` for `folder` (`results/<profile>`): links are relative, every text is escaped."""
    more = {"folder": folder, "cells": _read_markdown, "classes": CLASSES, "marks": MARKS}
    return _page("index.html.j2", notebooks, profile, **more)


def _page(template: str, notebooks: list[Notebook], profile: str, **more: object) -> str:
    counted = counts(notebooks)
    return _TEMPLATES.get_template(template).render(
        notebooks=notebooks,
        profile=profile,
        headline=headline_table(notebooks),
        headline_head=HEAD,
        counts=counted,
        own=counts(notebooks, own=True),
        totals=dict(zip(counted.head[1:-1], counted.rows[-1][1:-1], strict=True)) if counted.rows else {},
        meanings=MEANINGS,
        answer_words=ANSWER,
        **more,
    )


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    plain = [[cell.replace("<", "&lt;") for cell in row] for row in rows]
    return "\n".join(markdown(head, plain, [False] * len(head)))


def _markdown_claims(notebook: Notebook) -> str:
    rows = []
    for claim in notebook.claims:
        texts = claim.texts()
        paper = f"{texts['paper']} {claim.unit}".strip()
        verdict = f"{MARKS[claim.verdict]} {claim.verdict}"
        between = texts["ours"], texts["interval"], claim.evidence
        rows.append([f"{claim.statement} `{claim.id}`", claim.source, paper, *between, verdict, claim.reason])
    return _markdown(["claim", "source", "paper", "ours", "interval", "evidence", "verdict", "reason"], rows)


def _read_markdown(file: Path) -> tuple[list[str], list[list[str]], list[bool]]:
    """Head, rows and which columns are aligned right of a table's Markdown; ValueError where it is damaged."""
    lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.startswith("| ")]
    grid = [[c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    if len(grid) < 2 or len({len(row) for row in grid}) > 1:
        name = file.parent.parent.name
        raise ValueError(f"{name}/tables/{file.name} is damaged; rerun it: ./run_all.sh --only {name[:2]} --force")
    return grid[0], grid[2:], [mark.endswith(":") for mark in grid[1]]
