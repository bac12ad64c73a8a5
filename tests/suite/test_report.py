"""Verdict rules, the claims ledger, what a notebook writes, and the report pages."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from suite.commands import main as trinity
from suite.published import published
from suite.results import Evidence, Results, Verdict, headlines, judge, ledger, pages, style
from suite.results import verdicts as rules
from suite.results.results import MIME
from suite.results.tables import Table
from suite.results.texts import number
from suite.runner import freshness, run
from suite.runner.notebook import discover
from trinity_core import paths

matplotlib.use("Agg")

MEASURED = [Evidence.REAL_SLM, Evidence.RECORDED, Evidence.LIVE]


def verdict(**given: object) -> Verdict:
    return judge(**({"evidence": "real-SLM", "paper": 1.0, "ours": 1.0} | given))[0]


@pytest.mark.parametrize("evidence", MEASURED)
def test_equal_agrees_within_tolerance_or_a_narrow_interval(evidence):
    own = evidence is Evidence.LIVE
    agrees, excluded = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED) if own else (Verdict.CONSISTENT, Verdict.DIFFERS)
    given = {"evidence": evidence, "resolution": 0.3}
    assert verdict(**given, ours=1.04, tolerance=0.05) is agrees
    assert verdict(**given, ours=1.06, tolerance=0.05) is excluded
    assert verdict(**given, ours=1.2, interval=(0.9, 1.5)) is agrees
    assert verdict(**given, ours=1.2, interval=(1.1, 1.3)) is excluded
    assert verdict(**given, ours=1.2, interval=(1.1, 1.3), tolerance=0.3) is agrees


def test_an_interval_wider_than_the_resolution_cannot_tell_though_it_can_exclude():
    wide = {"paper": 43.0, "ours": 28.0, "interval": (10.0, 60.0), "evidence": "simulated", "resolution": 5.0}
    result, reason = judge(**wide)
    assert result is Verdict.CANNOT_TELL and "reaches 32 to a side" in reason and "the 5 asked for" in reason
    assert verdict(**wide | {"resolution": 32.0}) is Verdict.CONSISTENT
    assert verdict(**wide | {"paper": 61.0}) is Verdict.DIFFERS
    with pytest.raises(ValueError, match="no resolution given"):
        judge(**wide | {"resolution": None})


def test_tolerance_bounds_are_inclusive_despite_float_noise():
    given = {"evidence": "arithmetic"}
    assert verdict(**given, paper=0.615, ours=0.6155, tolerance=0.0005) is Verdict.REPRODUCED
    assert verdict(**given, paper=70.44, ours=70.435, tolerance=0.005) is Verdict.REPRODUCED


def test_arithmetic_agreement_through_the_cells_rounding_is_consistent_only():
    given = {"evidence": "arithmetic", "paper": 10.0, "tolerance": 0.005}
    assert verdict(**given, ours=10.004, interval=(9.994, 10.014)) is Verdict.REPRODUCED
    assert verdict(**given, ours=10.012, interval=(10.002, 10.022)) is Verdict.CONSISTENT  # reaches with the half unit
    assert verdict(**given, ours=10.016, interval=(10.006, 10.026)) is Verdict.NOT_REPRODUCED
    assert verdict(evidence="arithmetic", paper=10, ours=10, interval=(9, 11)) is Verdict.REPRODUCED
    assert verdict(evidence="arithmetic", paper=10.5, ours=10, interval=(9, 11)) is Verdict.CONSISTENT


@pytest.mark.parametrize(("relation", "sign"), [("greater", 1), ("less", -1)])
def test_an_order_that_holds_0_cannot_tell(relation, sign):
    def order(ours, half, **more):
        low, high = sorted((sign * ours - half, sign * ours + half))
        given = {"evidence": "live", "paper": None, "ours": sign * ours, "interval": (low, high), "relation": relation}
        return judge(**given | more)

    assert order(0.3, 0.2) == (Verdict.REPRODUCED, "the order holds")
    assert order(0.3, 0.4) == (Verdict.CANNOT_TELL, "the interval holds 0")
    assert order(0.3, 0.3)[0] is Verdict.CANNOT_TELL  # touching 0 is not above it
    assert order(-0.3, 0.1) == (Verdict.NOT_REPRODUCED, "the order is the other way round")
    assert order(0.3, 0.2, stand_in=True)[0] is Verdict.CONSISTENT
    assert order(-0.3, 0.1, stand_in=True)[0] is Verdict.DIFFERS


@pytest.mark.parametrize(("relation", "sign"), [("greater", 1), ("less", -1)])
def test_an_order_says_whether_ours_has_the_papers_size(relation, sign):
    def reason(size, interval):
        low, high = sorted(sign * end for end in interval)
        given = {"evidence": "recorded", "paper": sign * size, "ours": (low + high) / 2, "interval": (low, high)}
        return judge(**given, relation=relation)

    result, said = reason(5.0, (1, 3))
    assert result is Verdict.CONSISTENT and said.startswith("the order holds; the paper's size") and "outside" in said
    result, said = reason(2.0, (1, 3))
    assert result is Verdict.CONSISTENT and "lies inside" in said
    result, said = reason(5.0, (-1, 6))
    assert result is Verdict.CANNOT_TELL and said.startswith("the interval holds 0; ") and "lies inside" in said


def test_an_arithmetic_order_is_exact_and_a_tie_is_no_order():
    given = {"evidence": "arithmetic", "paper": None, "relation": "greater"}
    assert verdict(**given, ours=0.01) is Verdict.REPRODUCED
    assert verdict(**given, ours=0.0) is Verdict.NOT_REPRODUCED
    assert verdict(**given, ours=0.01, tolerance=0.02) is Verdict.CANNOT_TELL  # rounding may make or undo it


def test_bounds_hold_for_the_whole_interval():
    given = {"evidence": "live", "paper": 0.9, "relation": "at least"}
    assert verdict(**given, ours=0.95, interval=(0.91, 0.99)) is Verdict.REPRODUCED
    assert verdict(**given, ours=0.95, interval=(0.89, 0.99)) is Verdict.CANNOT_TELL
    assert verdict(**given, ours=0.8, interval=(0.7, 0.89)) is Verdict.NOT_REPRODUCED
    assert verdict(**given, ours=0.89, tolerance=0.02) is Verdict.REPRODUCED
    assert verdict(paper=20_000, ours=19_456, evidence="arithmetic", relation="at most") is Verdict.REPRODUCED
    assert verdict(paper=20_000, ours=20_001, evidence="arithmetic", relation="at most") is Verdict.NOT_REPRODUCED
    assert verdict(paper=1.0, ours=0.9, interval=(0.8, 1.1), relation="at most", evidence="live") is Verdict.CANNOT_TELL


EVERY = [
    {"relation": relation, "ours": ours, "interval": None if half is None else (ours - half, ours + half),
     "tolerance": tolerance, "stand_in": stand_in, "evidence": evidence, "resolution": 1.0,
     "paper": -1.0 if relation == "less" else 1.0}
    for relation, ours, half, tolerance, stand_in, evidence in itertools.product(
        rules.RELATIONS, (-2, -1, 0, 1, 2), (None, 0.5, 5.0), (None, 0.5), (False, True), Evidence)
    if half is not None or (tolerance is not None and relation not in rules.ORDERS)
]


def test_no_claim_with_0_inside_its_interval_is_not_reproduced():
    """Nor does it differ: an order, on either side, with every class of evidence."""
    held = [c for c in EVERY if c["relation"] in rules.ORDERS and c["interval"][0] <= 0 <= c["interval"][1]]
    assert len(held) > 100
    assert {verdict(**claim) for claim in held} == {Verdict.CANNOT_TELL}


def test_none_with_a_calibration_is_consistent():
    """Whatever the number: what was put in is no evidence, nor is that it came out otherwise."""
    assert {verdict(**claim, calibrated=True) for claim in EVERY} == {Verdict.BY_CONSTRUCTION}
    result, reason = judge(evidence="simulated", paper=91, ours=90, interval=(88, 92), resolution=5, calibrated=True)
    assert result is Verdict.BY_CONSTRUCTION and reason.startswith("the pool was calibrated on it; ")
    assert verdict(ours=None, calibrated=True) is Verdict.NOT_TESTABLE


def test_only_the_papers_own_setting_reproduces_or_does_not():
    """Every relation, on either side, with and without an interval."""
    seen = {(rules.own_setting(claim["evidence"], claim["stand_in"]), verdict(**claim)) for claim in EVERY}
    there = {Verdict.REPRODUCED, Verdict.NOT_REPRODUCED}
    assert {result for own, result in seen if own} == there | {Verdict.CONSISTENT, Verdict.CANNOT_TELL}
    assert {result for own, result in seen if not own} == {Verdict.CONSISTENT, Verdict.DIFFERS, Verdict.CANNOT_TELL}


def test_a_question_of_our_own_has_a_plain_answer():
    orders = [claim | {"paper": None} if claim["relation"] in rules.ORDERS else claim for claim in EVERY]
    assert {verdict(**claim, own=True) for claim in orders} == {Verdict.YES, Verdict.NO, Verdict.CANNOT_TELL}
    assert verdict(ours=None, own=True) is Verdict.NOT_TESTABLE
    with pytest.raises(ValueError, match="a claim of the paper's is not `own`"):
        verdict(paper=3, interval=(0.5, 2), relation="greater", own=True)


def test_without_our_number_a_claim_is_not_testable():
    assert verdict(ours=None) is Verdict.NOT_TESTABLE
    assert verdict(ours=None, relation="greater", paper=None) is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(("given", "named"), [
    ({"ours": math.nan, "tolerance": 1}, "ours is nan"),
    ({"paper": math.nan, "tolerance": 1}, "paper is nan"),
    ({"ours": math.inf, "tolerance": 1}, "ours is inf"),
    ({"tolerance": math.nan}, "tolerance is nan"),
    ({"tolerance": -1}, "tolerance is -1"),
    ({"interval": (0, math.nan)}, "high end is nan"),
    ({"interval": (2, 3)}, "does not hold ours = 1.0"),
    ({"interval": (3, 0)}, "does not hold ours = 1.0"),
    ({"interval": (0, 2), "ours": None}, "ours = None"),
    ({}, "neither tolerance nor interval"),
    ({"relation": "greater", "paper": None}, "no interval given for a difference on real-SLM"),
    ({"relation": "less", "paper": None, "ours": -1.0, "tolerance": 0}, "no interval given"),  # a bare estimate
    ({"relation": "greater", "paper": -3, "interval": (0.5, 2)}, "paper is -3 with relation 'greater'"),
    ({"relation": "less", "paper": 3, "ours": -1, "interval": (-2, -0.5)}, "paper is 3 with relation 'less'"),
    ({"relation": "greater", "paper": 0, "interval": (0.5, 2)}, "paper is 0 with relation 'greater'"),
    ({"interval": (0, 2)}, "no resolution given"),
    ({"tolerance": 1, "resolution": -1}, "resolution -1"),
    ({"ours": True, "tolerance": 0}, "ours is True"),
    ({"paper": None, "tolerance": 1}, "needs the paper's number"),
    ({"paper": "1", "tolerance": 1}, "paper is '1'"),
    ({"tolerance": 1, "relation": "near"}, "unknown relation 'near'"),
    ({"tolerance": 1, "evidence": "guess"}, "'guess' is not a valid Evidence"),
])
def test_bad_input_is_refused_by_name(given, named):
    with pytest.raises(ValueError, match=named):
        verdict(**given)


def test_every_class_and_verdict_has_a_meaning():
    assert set(pages.MEANINGS["evidence"]) == set(Evidence) and set(pages.MEANINGS["verdict"]) == set(Verdict)


@pytest.mark.parametrize(("value", "text"), [
    (None, "–"), (31680, "31,680"), (147000.0, "147,000"), (0.6146, "0.6146"), (51.0666667, "51.067"),
    (67.0175, "67.0175"), (-2.28, "-2.28"), (0.00001234, "1.2e-05"), (12345.678, "12,345.678"), (0, "0"),
    (98765.43219, "98,765.4"), (0.123456, "0.1235"), (3e-10, "3e-10"), (1e-16, "0"), (41 - 1e-12, "41"),
    (math.nan, "–"), (-math.inf, "-inf"),
])
def test_numbers_read_well(value, text):
    assert number(value) == text


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path))
    monkeypatch.delenv("TRINITY_STAGING", raising=False)
    return tmp_path


def record_claim(results: Results, id: str = "02.a", **given: object):
    return results.claim(**({
        "id": id, "statement": f"Statement of {id}", "source": "Table 1", "paper": 1.0, "ours": 1.0, "tolerance": 0.1,
        "evidence": "real-SLM",
    } | given))


def make_notebook(name: str, ids: list[str], profile: str = "smoke") -> Results:
    results = Results(name, profile)
    for id in ids:
        record_claim(results, id)
    results.write()
    return results


def test_results_go_to_the_profiles_folder_or_where_the_runner_stages(root, tmp_path, monkeypatch):
    assert Results("02_separability", "smoke").dir == root / "smoke" / "02_separability"
    monkeypatch.setenv("TRINITY_STAGING", str(tmp_path / "staged"))
    assert Results("02_separability", "smoke").dir == tmp_path / "staged"
    monkeypatch.setenv("TRINITY_STAGING", str(tmp_path / ".02_renamed.staging"))
    with pytest.raises(ValueError, match="Results\\('02_separability', ...\\) in the notebook '02_renamed'"):
        Results("02_separability", "smoke")


@pytest.mark.parametrize(("name", "profile", "named"), [
    ("separability", "smoke", "'separability'"), ("02_separability.ipynb", "smoke", "ipynb"),
    ("02_separability", "nope", "unknown profile 'nope'"),
])
def test_results_refuse_unknown_names(name, profile, named):
    with pytest.raises(ValueError, match=named):
        Results(name, profile)


def test_a_table_shows_its_caption_and_evidence_and_keeps_full_precision(root):
    frame = pd.DataFrame({"name": ["a|b", "<i>"], "value": [1 / 3, -1e-12], "count": [1000, 2], "ok": [True, False],
                          "range": [(0.1, 0.2), None]})
    results = Results("02_separability", "smoke")
    table = results.table(frame, "one", evidence="recorded", caption="A caption.")
    text, html = repr(table), table._repr_html_()
    assert text.startswith("A caption (evidence: recorded)\n") and "A caption (evidence: recorded)" in html
    assert "&lt;i&gt;" in html and "<i>" not in html
    assert "1,000" in text and "[0.1, 0.2]" in text and "yes" in text and "-0.0000" not in text
    assert "a\\|b" in (results.dir / "tables" / "one.md").read_text(encoding="utf-8")
    assert (results.dir / "tables" / "one.csv").read_text().splitlines()[1].startswith("a|b,0.3333333333,1000,True")
    assert len(table) == 2


@pytest.mark.parametrize(("values", "shown"), [
    ([1e-5, 2e-6], ["0.00001", "0.000002"]), ([(math.nan, math.nan)], ["[–, –]"]), ([None, math.inf, "x"], ["inf"]),
    ([1e-14, 0.0], ["0", "0"]), ([1 + 2j], ["(1+2j)"]), ([4e-10, "x"], ["4e-10"]),
])
def test_odd_cells_are_shown_as_they_are(values, shown):
    """No small number as a plain zero, no crash on a missing or endless one."""
    text = repr(Table(pd.DataFrame({"a": values}), "c"))
    assert all(one in text.split() or one in text for one in shown)
    if shown[0] != "0":
        assert "0" not in text.split()
    assert "–" in repr(Table(pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64")}), "c"))


def test_table_texts_depend_on_the_frame_only(root):
    frame = pd.DataFrame({"x": [1.23456, 100.0]}, index=pd.Index(["a", "b"], name="key"))
    results = Results("02_separability", "smoke")
    first = results.table(frame, "one", evidence="recorded", caption="c")
    second = results.table(frame, "one", evidence="recorded", caption="c")
    assert repr(first) == repr(second) and first._repr_html_() == second._repr_html_()
    assert "key" in repr(first) and "100.00" in repr(first)
    assert "1.2346" in repr(results.table(frame, "one", evidence="recorded", caption="c", decimals=4))


def test_a_figure_has_the_same_bytes_every_time_and_carries_its_evidence(root, tmp_path):
    style.use()
    contents = []
    for _ in range(2):
        fig, ax = plt.subplots()
        ax.plot([1, 2], label="line")
        style.mark_paper(ax, 1.5)
        style.mark_paper(ax, 1.5, at=0.5, label=None)
        fig.legend(loc="outside lower center")
        results = Results("02_separability", "smoke")
        results.figure(fig, "one", evidence="real-SLM")
        results.figure(fig, "one", evidence="real-SLM")  # again: no second label
        assert [text.get_text() for text in fig.texts] == ["evidence: real-SLM"]
        plt.close(fig)
        contents.append([(results.dir / "figures" / f"one.{suffix}").read_bytes() for suffix in ("png", "svg")])
    assert contents[0] == contents[1]
    assert b"<dc:date>" not in contents[0][1] and contents[0][0].startswith(b"\x89PNG")


def test_a_figure_has_one_evidence_class_and_names_become_file_names(root):
    results = Results("02_separability", "smoke")
    figure, _ = plt.subplots()
    results.figure(figure, "one", evidence="live")
    with pytest.raises(ValueError, match="'evidence: live' already"):
        results.figure(figure, "two", evidence="simulated")
    plt.close(figure)
    with pytest.raises(ValueError, match=r"name\n.*'\.\./one'"):
        results.table(pd.DataFrame({"a": [1]}), "../one", evidence="live", caption="c")


def test_every_family_agent_and_method_has_its_own_colour():
    for colours in (style.FAMILY_COLOURS, style.AGENT_COLOURS, style.METHOD_COLOURS):
        assert len(set(colours.values())) == len(colours)
    assert set(style.AGENT_COLOURS) == set(published("fig15_agent_selection").columns[1:])


def test_claims_are_judged_recorded_written_and_read_back_equal(root):
    results = Results("02_separability", "smoke")
    assert record_claim(results, statement="ε ≤ 1 | <b>", paper=3, ours=3).verdict is Verdict.CONSISTENT
    assert record_claim(results, "02.b", stand_in=True, interval=(0.8, 1.2)).verdict is Verdict.CONSISTENT
    missing = record_claim(results, "02.c", ours=None, paper=None, relation="greater", note="needs keys")
    assert (missing.verdict, missing.reason) == (Verdict.NOT_TESTABLE, "needs keys")
    assert "Statement of 02.b" in repr(results.closing("02.b"))
    assert "3 claims (2 consistent, 1 not testable here)" in repr(results.write())
    (read,) = ledger.load(root / "smoke", "smoke", {})
    assert list(read.claims) == results.claims


def test_running_a_cell_again_replaces_its_claim_but_an_id_names_one_claim(root):
    results = Results("02_separability", "smoke")
    record_claim(results, ours=1.0)
    record_claim(results, ours=2.0)
    assert [claim.ours for claim in results.claims] == [2.0]
    with pytest.raises(ValueError, match="'02.a' is used twice"):
        record_claim(results, statement="Another")
    with pytest.raises(ValueError, match="must start with '02.'"):
        record_claim(results, "03.a")


def test_a_crash_while_writing_leaves_the_old_file_whole(root, monkeypatch):
    results = make_notebook("02_separability", ["02.a"])
    before = (results.dir / "claims.json").read_bytes()

    def crash(*_: object) -> None:
        raise OSError("power cut")

    record_claim(results, "02.b")
    monkeypatch.setattr(paths.os, "replace", crash)
    with pytest.raises(OSError, match="power cut"):
        results.write()
    assert (results.dir / "claims.json").read_bytes() == before
    assert [file.name for file in results.dir.iterdir()] == ["claims.json"]  # no temporary file stays


def test_every_published_table_can_be_read_and_says_its_source():
    files = sorted((paths.DATA / "paper").glob("*.csv"))
    assert len(files) >= 13
    for file in files:
        assert not published(file.stem).empty and published.source(file.stem)
    assert list(published("table1_zero_shot")["model"])[-1] == "TRINITY"


def test_published_names_what_is_wrong(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no published table 'table99'; choose one of .*table1_zero_shot"):
        published("table99")
    monkeypatch.setattr("suite.published.PAPER", tmp_path)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(ValueError, match="bad.csv: not a CSV table"):
        published("bad")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="bad.csv: its first line"):
        published.source("bad")


def test_the_command_writes_the_same_bytes_for_the_same_claims(root, capsys):
    make_notebook("02_separability", ["02.a", "02.b"])
    make_notebook("00_paper_numbers", ["00.a"])
    written = []
    for _ in range(2):
        assert trinity(["report", "--profile", "smoke"]) == 0
        written.append([(root / "smoke" / name).read_bytes() for name in ("REPORT.md", "claims.json", "index.html")])
    assert written[0] == written[1]
    out = capsys.readouterr().out
    assert "02.b" in out and "00 Paper numbers" in out and "REPORT.md" in out
    report = written[0][0].decode()
    assert "| real-SLM | 3 | 3 |" in report and report.count("≈ consistent") == 3
    merged = json.loads(written[0][1])["claims"]
    assert [claim["id"] for claim in merged] == ["00.a", "02.a", "02.b"]


def test_out_names_another_results_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path / "there"))
    make_notebook("00_paper_numbers", ["00.a"])
    monkeypatch.setenv("TRINITY_RESULTS", str(tmp_path / "elsewhere"))
    assert trinity(["report", "--profile", "smoke", "--out", str(tmp_path / "there")]) == 0
    assert (tmp_path / "there" / "smoke" / "REPORT.md").is_file() and not (tmp_path / "elsewhere").exists()


def test_without_results_the_command_says_how_to_make_them(root, capsys):
    assert trinity(["report", "--profile", "smoke"]) == 2
    error = capsys.readouterr().err
    assert "no results of profile 'smoke'" in error and "./run_all.sh --profile smoke" in error
    assert str(root) not in error


def test_results_that_are_not_current_say_so_everywhere(root, capsys):
    """Other parameters, an edited file, a renamed notebook: such results look like any others."""
    make_notebook("00_paper_numbers", ["00.a"])
    make_notebook("02_separability", ["02.a"])
    make_notebook("02_old_name", ["02.a"])
    folder = root / "smoke"
    book = {book.name: book for book in discover()}["00_paper_numbers"]
    key = freshness.Inputs().task(book, folder, {}).key
    own = {name: repr(value) for name, value in {**book.parameters, "profile": "smoke"}.items()}
    files = {"claims.json": freshness.file_digest(folder / "00_paper_numbers" / "claims.json")}
    record = {"key": key, "files": files, "seconds": 1.0, "parameters": own}
    (folder / "00_paper_numbers" / "run.json").write_text(json.dumps(record))
    (folder / "02_separability" / "run.json").write_text(json.dumps(record | {"parameters": own | {"seed": "7"}}))
    said = run.remarks(folder)
    assert said["00_paper_numbers"] == "" and "seed = 7" in said["02_separability"]
    assert trinity(["report", "--profile", "smoke"]) == 0
    pages_made = [capsys.readouterr().out, *((folder / name).read_text() for name in ("REPORT.md", "index.html"))]
    for page in pages_made:
        assert page.count("seed = 7") == 1 and page.count("no longer there") == 1
    claims = json.loads((folder / "claims.json").read_text())["claims"]
    assert [(claim["notebook"], claim["id"]) for claim in claims] == [("00_paper_numbers", "00.a"),
                                                                      ("02_separability", "02.a")]
    (folder / "00_paper_numbers" / "claims.json").write_text(
        (folder / "00_paper_numbers" / "claims.json").read_text().replace('"paper": 1.0', '"paper": 1.1'))
    assert "changed since" in run.remarks(folder)["00_paper_numbers"]


def test_a_damaged_table_is_named(root, capsys):
    results = Results("00_paper_numbers", "smoke")
    results.table(pd.DataFrame({"a": [1], "b": [2]}), "one", evidence="arithmetic", caption="c")
    results.write()
    file = results.dir / "tables" / "one.md"
    file.write_text(file.read_text().replace("| 1 | 2 |", "| 1 |"))
    assert trinity(["report", "--profile", "smoke"]) == 2
    assert "00_paper_numbers/tables/one.md is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "named"), [(["--out", ""], "name a folder"), (["--profile", "nope"], "'nope'")])
def test_a_wrong_option_is_named(capsys, words, named):
    with pytest.raises(SystemExit) as stopped:
        trinity(["report", *words])
    assert stopped.value.code == 2 and named in capsys.readouterr().err


PICTURE = '"tables": [{"name": "../x", "caption": "", "evidence": "live"}]'


@pytest.mark.parametrize(("old", "new", "named"), [
    ('"figures"', "", "Invalid JSON"),
    ('"ours": 1.0', '"ours": NaN', "ours is nan"),
    ('"ours": 1.0', '"ours": "1"', "claims.0.ours"),
    ('"ours": 1.0', '"ours": null', "without our number"),
    ('"verdict": "consistent"', '"verdict": "proved"', "claims.0.verdict"),
    ('"verdict": "consistent"', '"verdict": "reproduced"', "'reproduced' on real-SLM evidence"),
    ('"verdict": "consistent"', '"verdict": "yes"', "own = False"),
    ('"profile": "smoke"', '"profile": "paper"', "profile is 'paper'"),
    ('"tables": []', PICTURE, "tables.0.name"),
    ('"unit"', '"unity"', "claims.0.unity: Unexpected"),
    ('"unit": ""', '"unit": null', "claims.0.unit"),
    ('"id": "00.a"', '"id": "no-number"', "two digits"),
    ('"id": "00.a"', '"id": "00.with space"', "two digits"),
    ('"source": "Table 1"', '"source": " "', "source is ' '"),
])
def test_a_malformed_file_is_named_with_its_remedy(root, old, new, named):
    """A file edited by hand cannot say what `judge` would not."""
    file = make_notebook("00_paper_numbers", ["00.a"]).dir / "claims.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ValueError) as caught:
        ledger.load(root / "smoke", "smoke", {})
    error = str(caught.value)
    assert "malformed 00_paper_numbers/claims.json" in error and named in error and "--only 00 --force" in error
    assert "\n" not in error


def test_duplicate_ids_name_both_notebooks(root, capsys):
    make_notebook("00_paper_numbers", ["00.a"])
    file = make_notebook("02_separability", ["02.a"]).dir / "claims.json"
    file.write_text(file.read_text().replace("02.a", "00.a"))
    assert trinity(["report", "--profile", "smoke"]) == 2
    error = capsys.readouterr().err
    assert "'00.a' is used twice" in error and "00_paper_numbers" in error and "02_separability" in error
    assert not (root / "smoke" / "REPORT.md").exists()


class _Collector(HTMLParser):
    """Tags, links and text of a page; void elements need no end."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_escapes_everything_and_is_self_contained(root):
    evil = "<script>alert('1')</script> & \"quotes\""
    results = Results("02_separability", "smoke")
    record_claim(results, '02."><script>', statement=evil, source=evil, note=evil, unit=evil)
    fig, ax = plt.subplots()
    results.figure(fig, "one", evidence="real-SLM", caption=evil)
    plt.close(fig)
    results.table(pd.DataFrame({evil: [evil, "a|b"]}), "two", evidence="real-SLM", caption=evil)
    results.write()
    (results.dir / "02_separability.ipynb").write_text("{}")
    assert trinity(["report", "--profile", "smoke"]) == 0
    page = (root / "smoke" / "index.html").read_text(encoding="utf-8")
    seen = _Collector()
    seen.feed(page)
    assert not seen.open and "script" not in seen.tags
    assert seen.text.count(evil) >= 5 and "a|b" in seen.text
    assert not [link for link in seen.links if re.match(r"[a-z]+:|//", link)]
    local = [link for link in seen.links if not link.startswith("#")]
    assert all((root / "smoke" / link).is_file() for link in local)
    assert {"02_separability/figures/one.svg", "02_separability/figures/one.png", "02_separability/tables/two.csv",
            "02_separability/02_separability.ipynb", "REPORT.md", "claims.json"} <= set(local)
    report = (root / "smoke" / "REPORT.md").read_text(encoding="utf-8")
    assert "<script>" not in report


def test_a_notebook_without_claims_still_appears(root):
    make_notebook("01_anatomy_of_a_decision", [])
    notebooks = ledger.load(root / "smoke", "smoke", {})
    for page in (pages.as_markdown(notebooks, "smoke"), pages.as_html(notebooks, "smoke", root / "smoke")):
        assert "01 Anatomy of a decision" in page and "this notebook teaches" in page


def committed_claims() -> list[dict[str, str]]:
    """Every claim in the outputs of the repository's notebooks, of notebooks that say the same id twice both."""
    found = []
    for path in sorted(paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                found += output.get("data", {}).get(MIME, ())
    return found


def test_committed_notebooks_judge_every_id_once_and_by_the_rules():
    claims = committed_claims()
    ids = [claim["id"] for claim in claims]
    assert len(ids) == len(set(ids)) > 100
    for claim in claims:
        assert Verdict(claim["verdict"]) in (rules.OWN if claim["own"] else rules.CLAIM), claim["id"]
        if re.search(r"[<>] 0\)?$", claim["paper"]) and (ends := re.fullmatch(r"\[(\S+), (\S+)\]", claim["interval"])):
            low, high = (float(end.replace("−", "-").replace(",", "")) for end in ends.groups())
            if low <= 0 <= high and low < high:  # [0, 0] is a difference that nowhere was
                assert claim["verdict"] in ("cannot tell", "by construction"), claim["id"]
        if "calibrated on it" in claim["reason"]:
            assert claim["verdict"] == "by construction", claim["id"]


def test_readme_begins_with_the_headline_table_of_the_committed_notebooks():
    text = headlines.README.read_text(encoding="utf-8")
    assert headlines.readme() == text, "trinity run --update writes the table anew"
    known = headlines.committed()
    assert {id for ids in headlines.HEADLINES.values() for id in ids} <= set(known)
    assert len(headlines.HEADLINES) >= 12


def test_the_command_imports_nothing_heavy():
    """`trinity` must answer at once: only the standard library behind it."""
    script = ("import sys, suite.commands\n"
              "print([m for m in ('pandas', 'matplotlib', 'numpy', 'torch', 'cma') if m in sys.modules])")
    env = dict(os.environ)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"
