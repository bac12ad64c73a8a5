"""The ledger as pages: plain text for the terminal, Markdown (`REPORT.md`), HTML (`index.html`).

The text and the Markdown depend on the claims and remarks alone: the same ones give the same bytes. The HTML also
shows the tables, figures and executed notebooks that it finds beside them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tabulate import tabulate

from suite.results.ledger import Notebook
from suite.results.texts import markdown
from suite.results.verdicts import Evidence, Verdict

MEANINGS = yaml.safe_load(Path(__file__).with_name("meanings.yaml").read_text(encoding="utf-8"))
MARKS = dict(zip(Verdict, "✔≈✘–", strict=True))
CLASSES = dict(zip(Verdict, ("yes", "near", "no", "none"), strict=True))  # in the page's style
COUNTS_HEAD = ["evidence", *map(str, Verdict), "all"]
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=lambda name: name == "index.html.j2",
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def counts(notebooks: list[Notebook]) -> list[list[str]]:
    """How many claims there are: a row an evidence class that occurs, a column a verdict, with totals."""
    table = Counter((claim.evidence, claim.verdict) for notebook in notebooks for claim in notebook.claims)
    found = [(evidence, [table[evidence, verdict] for verdict in Verdict]) for evidence in Evidence]
    found = [(evidence, row) for evidence, row in found if any(row)]
    total = [sum(row[place] for _, row in found) for place in range(len(Verdict))]
    return [[name, *map(str, row), str(sum(row))] for name, row in (*found, ("all", total))]


def as_text(notebooks: list[Notebook]) -> str:
    """The ledger for a terminal: one line a claim, then the counts."""
    parts: list[str] = []
    for notebook in notebooks:
        parts += ["", notebook.title, *([f"  ! {notebook.remark}"] if notebook.remark else [])]
        shown = ["paper", "ours", "interval", "unit", "evidence", "verdict"]
        rows = [[claim.id, *(claim.texts()[name] for name in shown)] for claim in notebook.claims]
        parts += [tabulate(rows, ["claim", *shown], disable_numparse=True)] if rows else []
    return "\n".join([*parts, "", "Verdicts", tabulate(counts(notebooks), COUNTS_HEAD), ""])


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
        counts_head=COUNTS_HEAD,
        counts=counted,
        totals=dict(zip(Verdict, counted[-1][1:-1], strict=True)),
        meanings=MEANINGS,
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
