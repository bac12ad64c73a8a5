"""Notebook 00 finds every disagreement that is known, by computation, and any that is planted; its formulas hold."""

from __future__ import annotations

import math
import re
import shutil
from fractions import Fraction

import pandas as pd
import pytest

from suite.chapters import paper_numbers as numbers
from suite.chapters import paper_numbers_discrepancies as discrepancies
from suite.chapters import paper_numbers_grain as grain
from suite.published import HELD_OUT, PAPER, decimals, published, text_number
from suite.results import Results, Verdict
from suite.stats import rer

GROUPS = (numbers.averages, numbers.sizes, numbers.budgets, numbers.cross_references, numbers.orders)


@pytest.fixture(scope="module")
def groups() -> list[dict[str, numbers.Check]]:
    return [{check.id: check for check in group()} for group in GROUPS]


@pytest.fixture(scope="module")
def checks(groups) -> dict[str, numbers.Check]:
    everything = {id: check for group in groups for id, check in group.items()}
    assert len(everything) == sum(map(len, groups))
    return everything


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """Changes one cell's text in a copy of the published tables, which is then read in their place."""
    folder = tmp_path / "paper"
    shutil.copytree(PAPER, folder)
    monkeypatch.setattr("suite.published.PAPER", folder)

    def change(name: str, old: str, new: str):
        file = folder / f"{name}.csv"
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")

    return change


def test_known_disagreements_are_found(checks):
    for id, printed, computed in (
        ("table1-average-Qwen3-32B-direct", 33.46, 32.35),
        ("table1-average-Gemma-3-27B-It", 21.38, 24.54),
        ("a73-average", 64.14, 53.76),
        ("table6-parameters-low-rank-text", 20_680, 14_476),
        ("population-run-ceil", 33, 34),
        ("population-small-pycma", 32, 31),
        ("table8-table2-livecodebench", 61.49, 61.46),
        ("table3-table2-rlpr", 40.1, 40.72),
        ("fig3-table2-math500", 95, 88),
    ):
        check = checks[id]
        assert check.verdict is Verdict.NOT_REPRODUCED, id
        assert (check.printed, check.computed) == pytest.approx((printed, computed), abs=0.005), id


def test_what_follows_is_reproduced(checks):
    reproduced = (
        "table1-average-TRINITY table2-average-TRINITY table8-average-Gemini-2.5-pro-as-coordinator "
        "table6-parameters-low-rank vector-length parameter-limit population-run-pycma population-small-ceil budget "
        "sft-calls sft-multi-turn last-token-drop routerdc-in-distribution routerdc-out-of-distribution "
        "table3-table2-livecodebench table1-beats-single-aime2025"
    )
    assert {checks[id].verdict for id in reproduced.split()} == {Verdict.REPRODUCED}


def test_held_out_lead_is_a_tie_on_bigcodebench_only(checks):
    held_out = {id.rpartition("-")[2]: check for id, check in checks.items() if id.startswith("table1-beats-single")}
    assert {task for task, check in held_out.items() if check.verdict is not Verdict.REPRODUCED} == {"bigcodebench"}
    assert held_out["bigcodebench"].computed == 0


def test_table1_average_leaves_mt_bench_out():
    variants = numbers.averages_with_mt_bench().set_index("model")
    fits = variants.drop(columns="printed").sub(variants["printed"], axis=0).abs() <= 0.005 + 1e-9
    assert fits.sum().to_dict() == {"three_tasks": 6, "with_mt_bench": 0, "with_mt_bench_x10": 0}


def test_counts_of_each_status_and_the_claims_made_of_them(checks, tmp_path, monkeypatch):
    """Whoever changes a table or a rule must look at this: it is the notebook's headline."""
    statuses = pd.Series([check.verdict.value for check in checks.values()]).value_counts().to_dict()
    assert statuses == {"reproduced": 61, "not reproduced": 13, "consistent": 1, "cannot tell": 1}
    assert checks["fig15-sum-math500"].computed == pytest.approx(100.1)  # rounded shares, within rounding
    assert checks["fig15-sum-math500"].verdict is Verdict.CONSISTENT
    monkeypatch.setenv("TRINITY_STAGING", str(tmp_path))
    results = Results("00_paper_numbers", "offline")
    for claim in numbers.record(results, checks.values()):
        assert claim.verdict is checks[claim.id.removeprefix("00.")].verdict
        assert claim.evidence == "arithmetic"
    assert len(results.claims) == len(checks)


def test_a_planted_cell_is_found(plant, checks):
    plant("table1_zero_shot", "75.25", "75.75")
    found = {c.id for group in GROUPS for c in group() if c.verdict is Verdict.NOT_REPRODUCED}
    known = {id for id, check in checks.items() if check.verdict is Verdict.NOT_REPRODUCED}
    assert found - known == {"table1-average-Gemini-2.5-pro"}


def test_the_rounding_rule_has_two_steps(plant):
    name, cell = "table1_zero_shot", "75.25"
    for new, verdict in (("75.26", "reproduced"), ("75.30", "consistent"), ("75.35", "not reproduced")):
        plant(name, cell, new)
        cell = new
        assert numbers.averages()[0].verdict == verdict


@pytest.mark.parametrize(
    ("name", "old", "new", "id"),
    [
        ("table3_heads", "11266", "11267", "table6-parameters-sparse"),
        ("text_numbers", "583443", "583434", "sft-multi-turn"),
        ("text_numbers", "31680", "32640", "budget"),
        ("text_numbers", "5.8,1", "5.9,1", "last-token-drop"),
        ("table4_optimizers", "0.615,0.880", "0.615,0.870", "table4-table2-math500"),
        ("fig15_agent_selection", "87.9", "87.4", "fig15-sum-livecodebench"),
        ("fig3_in_distribution", "TRINITY,0.95", "TRINITY,0.89", "fig3-beats-single-math500"),
        ("fig4_livecodebench", "0.862", "0.702", "fig4-beats-single"),
    ],
)
def test_a_planted_error_of_each_kind_is_found(plant, groups, name, old, new, id):
    (group,) = (number for number, made in enumerate(groups) if id in made)
    assert groups[group][id].verdict is Verdict.REPRODUCED
    plant(name, old, new)
    changed = {check.id: check for check in GROUPS[group]()}
    assert changed[id].verdict is Verdict.NOT_REPRODUCED


def test_a_missing_text_number_is_named(plant):
    plant("text_numbers", "budget,31680", "budgets,31680")
    with pytest.raises(ValueError, match="no number 'budget'"):
        numbers.budgets()


def test_averages_equal_exact_fractions(checks):
    """An independent way: the printed digits as fractions, no floats."""
    text = (PAPER / "table2_ablations.csv").read_text(encoding="utf-8")
    for line in [line for line in text.splitlines() if not line.startswith("#")][1:]:
        name, *cells = line.split(",")
        exact = sum(map(Fraction, cells[:4])) / 4
        slug = re.sub(r"[^\w.-]+", "-", name.replace("/", " ")).strip("-")
        assert checks[f"table2-average-{slug}"].computed == pytest.approx(float(exact), abs=1e-12)


def test_head_sizes_and_decimals():
    counts = {"linear": 10_240, "sparse": 11_266, "block-diagonal-2": 5_120, "block-diagonal-10": 1_024}
    assert {head: numbers.head_parameters(head, 1024, 10) for head in counts} == counts
    assert numbers.head_parameters("low-rank", 1024, 10, 20) == 20_680
    assert decimals("table1_zero_shot", "bigcodebench") == 1  # printed 35.10, but all end in 0
    assert decimals("table1_zero_shot", "gpqa_d") == decimals("fig3_in_distribution", "mmlu") == 2


def test_pycma_rounds_down():
    for n in (10, 137, 10_000, 19_456):
        assert numbers.population_size(n, "pycma") == numbers.population_size(n, "floor") == 4 + int(3 * math.log(n))
        assert numbers.population_size(n, "ceil") == numbers.population_size(n, "floor") + 1


def test_runs_needed_finds_counts_and_refuses_others():
    assert grain.runs_needed(46.67, 30, 2) == 1  # 14 of 30
    assert grain.runs_needed(35.33, 30, 2) == 5  # 53 of 150
    assert grain.runs_needed(54.05, 198, 2) is None
    assert all(grain.runs_needed(round(100 * k / 198, 2), 198, 2) == 1 for k in range(199))


def test_chance_of_fit_against_counting():
    fitting = sum(grain.runs_needed(tenths / 10, 148, 1) == 1 for tenths in range(1000))
    assert grain.chance_of_fit(148, 1, 1) == pytest.approx(fitting / 1000, abs=0.002)
    assert grain.chance_of_fit(148, 1, 3) == pytest.approx(0.148**3) and grain.chance_of_fit(5000, 1, 3) == 1


@pytest.mark.parametrize(
    ("model", "task", "count"),
    [("Qwen3-32B (direct)", "aime2025", "7 of 30"), ("Gemma-3-27B-It", "bigcodebench", "16 of 148")],
)
def test_both_broken_averages_are_restored_by_whole_questions(model, task, count):
    """Each has one cell whose repaired value is a whole count, which then restores the printed average."""
    repair = grain.repair_table1(model).set_index("task")
    row = published("table1_zero_shot").set_index("model").loc[model]
    assert repair.loc[task, "nearest count"] == count
    assert repair.loc[task, "in questions"] == pytest.approx(int(count.split()[0]), abs=0.002)
    mean = (row[list(HELD_OUT)].sum() - row[task] + repair.loc[task, "would print"]) / 3
    assert mean == pytest.approx(row["average_printed"], abs=0.005)


def test_standard_errors():
    assert grain.standard_error(0.5, 16) == 0.125
    assert grain.gap_to_tell(0.5, 16) == pytest.approx(1.96 * math.sqrt(2) / 8)
    rollouts = grain.rollouts_to_tell(0.5, 0.05)
    assert grain.gap_to_tell(0.5, rollouts) <= 0.05 < grain.gap_to_tell(0.5, rollouts - 1)


def test_bad_input_is_named():
    for call, named in (
        (lambda: grain.standard_error(1.1, 4), "give"),
        (lambda: grain.standard_error(0.5, 0), "give"),
        (lambda: grain.rollouts_to_tell(0.5, 0), "give"),
        (lambda: grain.right_order(0.99, 0.1, 4), "must lie"),
        (lambda: grain.repair_table1("GPT-4"), "no model 'GPT-4'"),
    ):
        with pytest.raises(ValueError, match=named):
            call()


def test_right_order_against_an_enumeration():
    low, high = 0.5, 0.7  # one rollout each: right alone, or a tie counted half
    once = high * (1 - low) + (high * low + (1 - high) * (1 - low)) / 2
    assert grain.right_order(0.6, 0.2, 1) == pytest.approx(once)
    values = [grain.right_order(0.6, gap, 16) for gap in (0.0, 0.1, 0.2, 0.4)]
    assert values[0] == pytest.approx(0.5) and values == sorted(values) and values[-1] < 1


def test_held_out_lead_in_questions():
    noise = grain.held_out_noise().set_index("task")
    assert noise.loc["aime2025", "gap in questions"] == pytest.approx(1, abs=0.01)
    assert (noise["gap / error"] < 0.5).all()


def test_trinity_exceeds_one_model_per_task_in_every_table():
    assert rer.relative_error_reduction(0.95, 0.9) == pytest.approx(0.5)
    assert rer.relative_error_reduction(0.9, 0.9) == 0
    summary = rer.summary()
    assert len(summary) == 3 and (summary["RER reached"] > summary["RER of A.6"]).all()
    assert (summary["Z"] >= summary["S*"]).all()
    per_task = rer.per_task()
    assert len(per_task) == 11
    assert ((per_task["low"] <= per_task["RER"]) & (per_task["RER"] <= per_task["high"])).all()


def test_the_ledger_lists_every_failed_check_and_the_released_code(checks):
    table = discrepancies.discrepancies(checks.values())
    failed = {check.item for check in checks.values() if check.verdict is Verdict.NOT_REPRODUCED}
    assert failed <= set(table["item"])
    assert (table["status"] == "tie").sum() == 1
    code = table[table["known from"] == "released code"]
    assert code["its cells, formulas or code give"].str.contains("gpt-4.1").any()
    assert len(code) >= len(published("released_code"))
    assert not table.isna().any().any()


def test_observations_vanish_with_their_cause(plant):
    assert any("Table 7" in item for item, *_ in discrepancies.observations())
    plant("table7_majority_vote_mmlu", "91.57", "91.50")
    assert not any("Table 7" in item for item, *_ in discrepancies.observations())


def test_moa_leaves_more_than_one_call_may_write():
    tokens, cap = discrepancies.proposer_tokens(), text_number("output_cap")
    over = tokens.loc["MoA less the seven models"] > cap
    assert set(over[over].index) == {"livecodebench", "rlpr"}
    assert (tokens.loc["MoA less Smoothie"] < cap).all()
