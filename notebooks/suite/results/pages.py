"""The ledger as pages: plain text for the terminal, Markdown (`REPORT.md`), HTML (`index.html`).

The text and the Markdown depend on the claims and remarks alone: the same ones give the same bytes. The HTML also
shows the tables, figures and executed notebooks that it finds beside them. It loads nothing from elsewhere and runs no
script.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from suite.results.claims import (
    EVIDENCE_MEANING,
    VERDICT_MEANING,
    Claim,
    Evidence,
    Verdict,
    interval_text,
    number,
    paper_text,
)
from suite.results.ledger import GONE, Notebook, Picture, counts

_MARKS = {
    Verdict.REPRODUCED: "✔",
    Verdict.CONSISTENT: "≈",
    Verdict.NOT_REPRODUCED: "✘",
    Verdict.NOT_TESTABLE: "–",
}


def _count_rows(notebooks: list[Notebook]) -> list[list[str]]:
    """Counts per evidence class (rows that occur) and verdict (columns), with totals."""
    table = counts(notebooks)
    classes = [evidence for evidence in Evidence if any(table[evidence, verdict] for verdict in Verdict)]
    rows = []
    for evidence in classes:
        row = [table[evidence, verdict] for verdict in Verdict]
        rows.append([evidence.value, *map(str, row), str(sum(row))])
    totals = [sum(table[evidence, verdict] for evidence in classes) for verdict in Verdict]
    rows.append(["all", *map(str, totals), str(sum(totals))])
    return rows


_COUNT_HEAD = ["evidence", *(verdict.value for verdict in Verdict), "all"]


def _paper_cell(claim: Claim) -> str:
    return paper_text(claim) + (f" {claim.unit}" if claim.unit else "")


# -- text ------------------------------------------------------------------------------------------------------------

def as_text(notebooks: list[Notebook]) -> str:
    """The ledger for a terminal: one line a claim, then the counts."""
    lines: list[str] = []
    for notebook in notebooks:
        head = ["claim", "paper", "ours", "interval", "unit", "evidence", "verdict"]
        rows = [
            [c.id, paper_text(c), number(c.ours), interval_text(c.interval), c.unit, c.evidence.value, c.verdict.value]
            for c in notebook.claims
        ]
        remark = [f"  ! {notebook.remark}"] if notebook.remark else []
        lines += [notebook.title, *remark, *(_aligned(head, rows) if rows else []), ""]
    lines += ["Verdicts", *_aligned(_COUNT_HEAD, _count_rows(notebooks))]
    return "\n".join(lines) + "\n"


def _aligned(head: list[str], rows: list[list[str]]) -> list[str]:
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]


# -- Markdown --------------------------------------------------------------------------------------------------------

def as_markdown(notebooks: list[Notebook], profile: str) -> str:
    """`REPORT.md`: what classes and verdicts mean, the counts, then one table a notebook."""
    lines = [f"# Paper against ours: profile {profile}", ""]
    lines += ["Each claim of the paper stands beside our number, the kind of evidence ours is, and a verdict.", ""]
    lines += ["## Verdicts", ""]
    lines += _markdown_table(["verdict", "what it means"], [[v.value, VERDICT_MEANING[v]] for v in Verdict])
    lines += ["## Evidence", ""]
    lines += _markdown_table(["evidence", "what it means"], [[e.value, EVIDENCE_MEANING[e]] for e in Evidence])
    lines += ["## Counts", ""]
    lines += _markdown_table(_COUNT_HEAD, _count_rows(notebooks))
    head = ["claim", "source", "paper", "ours", "interval", "evidence", "verdict", "reason"]
    for notebook in notebooks:
        lines += [f"## {notebook.title}", ""]
        if notebook.remark:
            lines += [f"**Note: {escape(notebook.remark, quote=False)}.**", ""]
        if not notebook.claims:
            lines += [] if notebook.remark == GONE else ["No claims: this notebook teaches.", ""]
            continue
        lines += _markdown_table(head, [
            [f"{c.statement} `{c.id}`", c.source, _paper_cell(c), number(c.ours), interval_text(c.interval),
             c.evidence.value, f"{_MARKS[c.verdict]} {c.verdict.value}", c.reason]
            for c in notebook.claims
        ])
    return "\n".join(lines).rstrip() + "\n"


def _markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(" ".join(c.split()).replace("|", "\\|").replace("<", "&lt;") for c in cells) + " |"

    return [line(head), "| " + " | ".join("---" for _ in head) + " |", *map(line, rows), ""]


# -- HTML ------------------------------------------------------------------------------------------------------------

_VERDICT_CLASS = {
    Verdict.REPRODUCED: "yes",
    Verdict.CONSISTENT: "near",
    Verdict.NOT_REPRODUCED: "no",
    Verdict.NOT_TESTABLE: "none",
}

_CSS = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5b6570; --page: #fbfbfa; --card: #ffffff; --line: #dfe3e6;
  --yes: #00694d; --near: #0a5c92; --no: #a83f00; --none: #5b6570; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaec; --soft: #a3adb7; --page: #15181b; --card: #1d2125;
  --line: #343b42; --yes: #35c498; --near: #6cbcf0; --no: #ff9250; --none: #a3adb7; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; margin: 0; line-height: 1.2; } h2 { margin: 3rem 0 .6rem; font-size: 1.35rem; }
h3 { margin: 1.6rem 0 .5rem; font-size: 1rem; color: var(--soft); } p { max-width: 46rem; } a { color: var(--near); }
.lead { color: var(--soft); margin: .4rem 0 1.6rem; }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin: 1.4rem 0; }
.bar { display: flex; gap: 2px; height: 14px; border-radius: 7px; overflow: hidden; margin: 1rem 0 .6rem; }
.bar i { display: block; } .yes { color: var(--yes); } .near { color: var(--near); } .no { color: var(--no); }
.none { color: var(--none); } .bar i { background: currentColor; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; }
th { text-align: left; color: var(--soft); font-weight: 600; white-space: nowrap; }
th, td { padding: .42rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; } td.n { white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { display: block; color: var(--soft); } .verdict { font-weight: 600; white-space: nowrap; }
td.says { min-width: 17rem; } td.why { min-width: 13rem; color: var(--soft); }
td.right, th.right { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
figure img { width: 100%; height: 13rem; object-fit: contain; background: #fff; display: block; padding: .5rem; }
figcaption { padding: .55rem .8rem; font-size: .85rem; border-top: 1px solid var(--line); }
figcaption small, summary small { color: var(--soft); } details { margin: .45rem 0; }
summary { cursor: pointer; } details .scroll { margin: .5rem 0 .3rem; } .links { font-size: .85rem; }
"""


def as_html(notebooks: list[Notebook], profile: str, folder: Path) -> str:
    """`index.html` for `folder` (`results/<profile>`): links are relative, every text is escaped."""
    table = counts(notebooks)
    totals = {verdict: sum(table[evidence, verdict] for evidence in Evidence) for verdict in Verdict}
    bar = "".join(f'<i class="{_VERDICT_CLASS[v]}" style="flex:{n}" title="{n} {v.value}"></i>'
                  for v, n in totals.items() if n)
    lead = (f"{sum(totals.values())} claims of TRINITY (arXiv 2512.04695) beside our numbers. "
            f"Profile <b>{escape(profile)}</b>. "
            'The same as Markdown: <a href="REPORT.md">REPORT.md</a>; as data: <a href="claims.json">claims.json</a>.')
    nav = "".join(f'<a href="#{quote(nb.name)}">{escape(nb.title)}</a>' for nb in notebooks)
    verdicts = [[_html_verdict(verdict), escape(VERDICT_MEANING[verdict])] for verdict in Verdict]
    classes = [[f"<b>{e.value}</b>", escape(EVIDENCE_MEANING[e])] for e in Evidence]
    count_rows = [[escape(cell) for cell in row] for row in _count_rows(notebooks)]
    parts = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>TRINITY, paper against ours: {escape(profile)}</title>", f"<style>{_CSS}</style>", "</head>", "<body>",
        "<main>", "<h1>Paper against ours</h1>", f'<p class="lead">{lead}</p>', f'<div class="bar">{bar}</div>',
        _html_table([escape(cell) for cell in _COUNT_HEAD], count_rows, [False] + [True] * (len(_COUNT_HEAD) - 1)),
        f"<nav>{nav}</nav>",
        "<details><summary>What the verdicts and evidence classes mean</summary>",
        _html_table(["verdict", "what it means"], verdicts), _html_table(["evidence", "what it means"], classes),
        "</details>",
        *(_html_notebook(notebook, Path(folder)) for notebook in notebooks),
        "</main>", "</body>", "</html>",
    ]
    return "\n".join(parts) + "\n"


def _html_notebook(notebook: Notebook, folder: Path) -> str:
    home = folder / notebook.name
    parts = [f'<h2 id="{quote(notebook.name)}">{escape(notebook.title)}</h2>']
    if notebook.remark:
        parts.append(f'<p class="no"><b>Note: {escape(notebook.remark)}.</b></p>')
    executed = [f'<a href="{_link(notebook.name, file.name)}">{escape(file.name)}</a>'
                for file in sorted(home.glob("*.ipynb"))]
    if executed:
        parts.append(f'<p class="links">Executed notebook: {", ".join(executed)}</p>')
    if notebook.claims:
        rows = "".join(_html_claim(claim) for claim in notebook.claims)
        head = "".join(f"<th>{h}</th>" for h in ("claim", "paper", "ours", "evidence", "verdict", "reason"))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        parts.append(f'<div class="scroll">{table}</div>')
    elif notebook.remark != GONE:
        parts.append("<p>No claims: this notebook teaches.</p>")
    figures = [_html_figure(notebook.name, figure, home) for figure in notebook.figures]
    if any(figures):
        parts += ["<h3>Figures</h3>", f'<div class="grid">{"".join(figures)}</div>']
    tables = [_html_data(notebook.name, table, home) for table in notebook.tables]
    if any(tables):
        parts += ["<h3>Tables</h3>", *filter(None, tables)]
    return "\n".join(parts)


def _html_claim(claim: Claim) -> str:
    ours = escape(number(claim.ours))
    if claim.interval:
        ours += f"<small>{escape(interval_text(claim.interval))}</small>"
    verdict = _html_verdict(claim.verdict)
    cells = [
        f'<td class="says">{escape(claim.statement)}<small>{escape(claim.source)}</small></td>',
        f'<td class="n">{escape(_paper_cell(claim))}</td>', f'<td class="n">{ours}</td>',
        f'<td class="n">{claim.evidence.value}</td>', f"<td>{verdict}</td>",
        f'<td class="why">{escape(claim.reason)}</td>',
    ]
    return f'<tr id="{escape(claim.id)}">{"".join(cells)}</tr>\n'


def _html_verdict(verdict: Verdict) -> str:
    return f'<span class="verdict {_VERDICT_CLASS[verdict]}">{_MARKS[verdict]} {verdict.value}</span>'


def _html_figure(notebook: str, figure: Picture, home: Path) -> str:
    """A thumbnail that opens the SVG; nothing where the picture is not there."""
    if not (home / "figures" / f"{figure.name}.png").is_file():
        return ""
    png, svg = (_link(notebook, "figures", f"{figure.name}.{suffix}") for suffix in ("png", "svg"))
    caption = escape(figure.caption or figure.name.replace("_", " "))
    return (f'<figure><a href="{svg}"><img src="{png}" alt="{caption}" loading="lazy"></a>'
            f"<figcaption>{caption} <small>{figure.evidence.value}</small></figcaption></figure>")


def _html_data(notebook: str, table: Picture, home: Path) -> str:
    """A table folded under its caption, cells as its Markdown shows them; nothing where the file is not there."""
    file = home / "tables" / f"{table.name}.md"
    if not file.is_file():
        return ""
    lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.startswith("| ")]
    grid = [[escape(c.replace("\\|", "|")) for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    grid = [[cell.strip() for cell in row] for row in grid]
    if any(len(row) != len(grid[0]) for row in grid):
        remedy = f"rerun it: ./run_all.sh --only {notebook[:2]} --force"
        raise ValueError(f"{notebook}/tables/{file.name} is damaged; {remedy}")
    shown = _html_table(grid[0], grid[2:], [cell.endswith(":") for cell in grid[1]]) if len(grid) > 1 else ""
    csv = _link(notebook, "tables", f"{table.name}.csv")
    return (f"<details><summary>{escape(table.caption or table.name)} <small>{table.evidence.value}</small></summary>"
            f'{shown}<span class="links"><a href="{csv}">{escape(table.name)}.csv</a></span></details>')


def _html_table(head: list[str], rows: list[list[str]], right: list[bool] | None = None) -> str:
    """A table of cells that are HTML already; `right` says which columns hold numbers."""
    marks = [' class="right"' if mark else "" for mark in right or [False] * len(head)]
    top = "".join(f"<th{mark}>{cell}</th>" for cell, mark in zip(head, marks, strict=True))
    body = "".join("<tr>" + "".join(f"<td{m}>{c}</td>" for c, m in zip(row, marks, strict=True)) + "</tr>\n"
                   for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _link(*parts: str) -> str:
    return escape(quote("/".join(parts)))
