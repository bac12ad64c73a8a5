"""The paper's own arithmetic, done again: averages, sizes, budgets, label costs, orders and cross-references.

Everything printed is read from `data/paper/`; everything computed follows from its cells or from the formulas of
METHOD.md. The rounding rule: a number printed with k decimals agrees when ours is within half a unit of its last place,
0.5 x 10^-k. The cells are rounded too: n cells with half-width h leave their average uncertain by h. A number that
agrees only because of that is "consistent"; one that does not agree even so is "not reproduced".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cma
import pandas as pd

from suite.published import (
    HELD_OUT,
    IN_DISTRIBUTION,
    SUMMARIES,
    TASK_NAMES,
    decimals,
    half_unit,
    published,
    text_number,
    text_row,
)
from suite.results import Claim, Evidence, Results, Verdict, judge

STATUS = {
    Verdict.REPRODUCED: "agrees",
    Verdict.CONSISTENT: "within rounding",
    Verdict.NOT_REPRODUCED: "disagrees",
    Verdict.CANNOT_TELL: "cannot tell",
}


@dataclass(frozen=True)
class Check:
    """One recomputed number. `printed` is None for an order ("greater"), whose `computed` is a difference. `tolerance`:
    half a unit of the printed number's last place; `rounding`: how far the rounding of the cells may move `computed`,
    or for an order half the width of its interval."""

    id: str
    item: str
    source: str
    printed: float | None
    computed: float
    tolerance: float | None = None
    rounding: float | None = None
    relation: str = "equal"
    unit: str = ""
    note: str = ""

    @property
    def numbers(self) -> dict[str, object]:
        """What `verdicts.judge` takes; the interval is the computed number, give or take the rounding of its cells."""
        interval = None if self.rounding is None else (self.computed - self.rounding, self.computed + self.rounding)
        given = {"paper": self.printed, "ours": self.computed, "interval": interval, "tolerance": self.tolerance}
        return given | {"relation": self.relation, "evidence": Evidence.ARITHMETIC}

    @property
    def verdict(self) -> Verdict:
        return judge(**self.numbers)[0]


def frame(checks: Iterable[Check]) -> pd.DataFrame:
    """Checks as a table: item, printed, computed, difference, what rounding allows in all, status."""
    rows = []
    for check in checks:
        gap = None if check.printed is None else round(check.printed - check.computed, 9) + 0.0
        allowed = (check.tolerance or 0.0) + (check.rounding or 0.0)
        rows.append((check.item, check.printed, check.computed, gap, allowed, STATUS[check.verdict]))
    return pd.DataFrame(rows, columns=["item", "printed", "computed", "difference", "allowed", "status"])


def record(results: Results, checks: Iterable[Check]) -> list[Claim]:
    """Records every check as a claim of the notebook that `results` belongs to."""
    claims = []
    for check in checks:
        words = {"statement": check.item, "source": check.source, "unit": check.unit, "note": check.note}
        claims.append(results.claim(id=f"{results.notebook[:2]}.{check.id}", **words, **check.numbers))
    return claims


def averages() -> list[Check]:
    """Every average that is printed beside its own cells: Tables 1, 2, 8 and RouterDC's two."""
    checks = []
    for name, label, key, columns in (
        ("table1_zero_shot", "Table 1", "model", HELD_OUT),
        ("table2_ablations", "Table 2", "variant", IN_DISTRIBUTION),
        ("table8_llm_coordinator", "Table 8", "method", IN_DISTRIBUTION),
    ):
        table = published(name).set_index(key)
        rounding = sum(half_unit(decimals(name, column)) for column in columns) / len(columns)
        means = table[list(columns)].mean(axis=1)
        for row, printed in table["average_printed"].items():
            slug, item = re.sub(r"[^\w.-]+", "-", row).strip("-"), f"{label}, average of {row}"
            numbers = float(printed), float(means[row]), half_unit(2), rounding
            checks.append(Check(f"{name.partition('_')[0]}-average-{slug}", item, label, *numbers, unit="%"))
    coordinator, routerdc = means.iloc[1], published("routerdc_published").iloc[0]
    near, far = ["mmlu", "gsm8k", "cmmlu", "arc_c", "humaneval"], ["prealgebra", "mbpp", "ceval"]
    for id, item, key, mean in (
        ("a73-average", "A.7.3 text, average of the LLM coordinator", "llm_coordinator_average", coordinator),
        ("routerdc-in-distribution", "RouterDC, average in distribution", None, routerdc[near].mean()),
        ("routerdc-out-of-distribution", "RouterDC, average out of distribution", None, routerdc[far].mean()),
    ):
        key = key or id.replace("-", "_")
        checks.append(_text_check(id, item, key, float(mean), rounding=half_unit(2), unit="%"))
    return checks


def averages_with_mt_bench() -> pd.DataFrame:
    """Table 1's averages over three tasks, and over four with MT-Bench as printed or times ten, beside the printed."""
    table = published("table1_zero_shot")
    three, fourth = table[list(HELD_OUT)].sum(axis=1), table["mt_bench"]
    return table[["model"]].assign(
        printed=table["average_printed"],
        three_tasks=three / 3,
        with_mt_bench=(three + fourth) / 4,
        with_mt_bench_x10=(three + 10 * fourth) / 4,
    )


def head_parameters(head: str, d: int, n_a: int, r: int | None = None) -> int:
    """Weights of a head (A.4) for hidden size `d` and `n_a` logits; `r` is the low-rank head's rank."""
    return {
        "low-rank": (r or 0) * (d + n_a),
        "linear": d * n_a,
        "sparse": d * n_a + d + 2,
        "block-diagonal-2": d * n_a // 2,
        "block-diagonal-10": d,
    }[head]


def population_size(n: int, rounding: str) -> int:
    """lambda for n parameters: "floor" 4 + floor(3 ln n), "ceil" ceil(4 + 3 ln n), "pycma" as pycma itself sets it."""
    if rounding == "pycma":
        return int(cma.CMAEvolutionStrategy(n * [0.0], 1.0, {"CMA_diagonal": True, "verbose": -9, "seed": 1}).popsize)
    return 4 + {"floor": math.floor, "ceil": math.ceil}[rounding](3 * math.log(n))


def sizes() -> list[Check]:
    """Parameter counts: the five heads, the low-rank head at the text's rank, SVF offsets, the whole vector."""
    offsets, linear = _coordinator()
    checks = []
    for head, whose, r, printed, count in _heads():
        at = f" at the {whose}'s r = {r}" if r else ""
        ending, source = ("-text", "A.4 text") if whose == "text" else ("", "Tables 3 and 6")
        item = f"Parameters of the {head} head{at}"
        checks.append(Check(f"table6-parameters-{head}{ending}", item, source, printed, count, 0.0))
    whole, limit = "Trained parameters: SVF offsets and the linear head", int(text_number("parameter_limit"))
    below = "Trained parameters stay below the stated limit"
    one_each = "SVF offsets: one per singular value of each block"
    return [
        *checks,
        _text_check("svf-offsets", one_each, "svf_offsets", offsets),
        _text_check("vector-length", whole, "vector_length", offsets + linear),
        Check("parameter-limit", below, "running text", limit, offsets + linear, relation="at most"),
    ]


def parameter_bars() -> pd.DataFrame:
    """What the parameter figure draws: columns part, svf, head, printed (NaN where the paper prints none)."""
    rows = [
        (f"{head} head" + (f" (r = {r})" if r else ""), 0, count, printed) for head, _, r, printed, count in _heads()
    ]
    rows.append(("coordinator: SVF and linear head", *_coordinator(), text_number("vector_length")))
    return pd.DataFrame(rows, columns=["part", "svf", "head", "printed"])


def population_curve(points: int, asked: int, largest: int = 40_000) -> pd.DataFrame:
    """Population size for `points` n from 10 to `largest` on a log grid: columns n, floor, ceil, and pycma, which is
    asked at about `asked` of them (building an optimiser takes time), NaN elsewhere."""
    ns = sorted({round(10 * (largest / 10) ** (i / (points - 1))) for i in range(points)})
    stride = max(1, len(ns) // asked)
    curve = pd.DataFrame({"n": ns} | {name: [population_size(n, name) for n in ns] for name in ("floor", "ceil")})
    return curve.assign(pycma=pd.Series({i: float(population_size(ns[i], "pycma")) for i in range(0, len(ns), stride)}))


def budgets() -> list[Check]:
    """Population sizes, the evaluation budget, and what supervised labels cost."""

    def value(key: str) -> int:
        return int(text_number(key))

    small, n, agents = value("population_n"), value("vector_length"), value("agents")
    evaluations = population_size(n, "pycma") * value("rollouts_per_candidate") * value("iterations")
    multi_turn = agents ** (value("turns") - 1) * value("roles") ** value("turns")
    labelled = int(published("table5_oracle_labels")[list(IN_DISTRIBUTION)].sum().sum())
    checks = []
    for size, key, id in ((small, "population", "population-small"), (n, "population_run", "population-run")):
        for how, rounding in (("rounded up", "ceil"), ("by pycma", "pycma")):
            item = f"Population at n = {size:,}, {how}"
            checks.append(_text_check(f"{id}-{rounding}", item, key, population_size(size, rounding)))
    for id, item, key, computed in (
        ("budget", "Atomic evaluations: population x rollouts x iterations", "budget", evaluations),
        ("sft-calls", "LLM calls for single-step labels: seeds x questions x agents", "sft_calls",
         value("sft_seeds") * value("sft_questions") * agents),
        ("sft-multi-turn", "Times that for five turns with roles: L^(K-1) x 3^K", "sft_multi_turn_factor", multi_turn),
        ("table5-total", "Questions with an oracle label, all of Table 5", "sft_questions", labelled),
    ):  # fmt: skip
        checks.append(_text_check(id, item, key, computed))
    return checks


def cross_references() -> list[Check]:
    """One quantity printed twice: TRINITY's row in Tables 2, 3, 4, 8 and Figures 3, 4; shares that sum to 100."""
    ablations = published("table2_ablations").set_index("variant")
    printed_again = [
        (key, label, published(name).set_index(index).loc[row], scale, places)
        for key, label, name, index, row, scale, places in (
            ("table3", "Table 3", "table3_heads", "head", "linear", 100, 1),
            ("table4", "Table 4", "table4_optimizers", "method", "sep-CMA-ES", 100, 1),
            ("table8", "Table 8", "table8_llm_coordinator", "method", "TRINITY", 1, 2),
            ("fig3", SUMMARIES, "fig3_in_distribution", "method", "TRINITY", 100, 0),
        )
    ]
    checks = []
    for task in IN_DISTRIBUTION:
        for key, label, other, scale, places in printed_again:
            item = f"{label}, TRINITY on {TASK_NAMES[task]}, from Table 2"
            printed, computed = round(float(other[task]) * scale, 6), float(ablations.loc["TRINITY", task])
            rule = {"tolerance": half_unit(places), "rounding": half_unit(2), "unit": "%"}
            checks.append(Check(f"{key}-table2-{task}", item, f"{label}, Table 2", printed, computed, **rule))
    drop = float(ablations.loc["TRINITY", "average_printed"] - ablations.loc["last token", "average_printed"])
    item = "Points lost on average by reading the last token"
    rule = {"rounding": 2 * half_unit(2), "unit": "points"}
    checks.append(_text_check("last-token-drop", item, "last_token_drop", drop, **rule))
    figure4 = published("fig4_livecodebench").set_index(["series", "x"])
    best, six = figure4.loc[("best", "TRINITY")], figure4.loc[("max_turns", "6")]
    item, rule = "Figure 4, best TRINITY, from its six-turn run", {"tolerance": 100 * float(best["std"]), "unit": "%"}
    printed, computed = (100 * float(row["pass_at_1"]) for row in (best, six))
    note = "the tolerance is the printed std"
    checks.append(Check("fig4-six-turns", item, "Figure 4", printed, computed, **rule, note=note))
    for task, row in published("fig15_agent_selection").set_index("task").iterrows():
        item = f"Figure 15, shares on {TASK_NAMES[task]} sum to 100"
        rule = {"tolerance": 0.0, "rounding": len(row) * half_unit(1), "unit": "%"}
        checks.append(Check(f"fig15-sum-{task}", item, "Figure 15", 100, float(row.sum()), **rule))
    return checks


def orders() -> list[Check]:
    """TRINITY minus the best single model, by task and on average: Tables 1 (held out) and 2, Figure 3, Figure 4."""
    checks = []
    for name, label, key, ending, columns, scale in (
        ("table1_zero_shot", "Table 1", "model", "", ("aime2025", "bigcodebench", "mt_bench", "gpqa_d"), 1),
        ("table2_ablations", "Table 2", "variant", " only", IN_DISTRIBUTION, 1),
        ("fig3_in_distribution", SUMMARIES, "method", " (4K)", IN_DISTRIBUTION, 100),
    ):
        table = published(name).set_index(key)
        singles = table[table.index.str.endswith(ending) & (table.index != "TRINITY")]
        for task in columns:
            gap = scale * float(table.loc["TRINITY", task] - singles[task].max())
            item = f"{label}, {TASK_NAMES[task]}: TRINITY above the best single model, {singles[task].idxmax()}"
            id, unit = f"{name.partition('_')[0]}-beats-single-{task}", "score" if task == "mt_bench" else "points"
            rounding = 2 * scale * half_unit(decimals(name, task))
            checks.append(_order(id, item, label, gap, rounding, unit))
        tasks = [task for task in columns if task != "mt_bench"]
        rounding = 2 * scale * sum(half_unit(decimals(name, task)) for task in tasks) / len(tasks)
        means = table[tasks].mean(axis=1)
        best = means[singles.index].idxmax()
        item = f"{label}, mean of its tasks: TRINITY above the best single model, {best}"
        id, gap = f"{name.partition('_')[0]}-beats-single-average", scale * float(means["TRINITY"] - means[best])
        checks.append(_order(id, item, label, gap, rounding, "points"))
    best = published("fig4_livecodebench").query("series == 'best'").set_index("x")
    second = best.drop(index="TRINITY")["pass_at_1"].idxmax()
    item = f"Figure 4, LiveCodeBench with the cap lifted: TRINITY above {second}"
    gap = 100 * float(best.loc["TRINITY", "pass_at_1"] - best.loc[second, "pass_at_1"])
    spread = 100 * float(1.96 * math.hypot(best.loc["TRINITY", "std"], best.loc[second, "std"]))
    note = "interval: 1.96 times the two printed std, added as squares"
    return [*checks, _order("fig4-beats-single", item, "Figure 4", gap, spread, "points", note)]


def _order(id: str, item: str, source: str, gap: float, rounding: float, unit: str, note: str = "") -> Check:
    return Check(id, item, source, None, round(gap, 6), None, rounding, "greater", unit, note)


def _text_check(id: str, item: str, key: str, computed: float, **more: object) -> Check:
    row = text_row(key)
    places, printed = int(row["decimals"]), float(row["printed"])
    printed = int(printed) if printed.is_integer() and places <= 0 else printed
    return Check(id, item, str(row["where"]), printed, computed, half_unit(places) if places else 0.0, **more)


def _heads() -> Iterator[tuple[str, str, int | None, int, int]]:
    """Table 3's heads, the low-rank one at two ranks: head, whose rank, the rank, weights as printed and recomputed."""
    d, n_a = _shape()
    ranks = {"released code": max(8, 2 * n_a), "text": int(text_number("low_rank_rank"))}
    for head, printed in published("table3_heads").set_index("head")["params_printed"].items():
        for whose, r in (ranks if head == "low-rank" else {"": None}).items():
            yield head, whose, r, int(printed), head_parameters(head, d, n_a, r)


def _coordinator() -> tuple[int, int]:
    """SVF offsets and weights of the linear head."""
    d, n_a = _shape()
    return int(text_number("svf_blocks")) * d, head_parameters("linear", d, n_a)


def _shape() -> tuple[int, int]:
    """Hidden size and number of logits."""
    d, agents, roles = (int(text_number(key)) for key in ("hidden_size", "agents", "roles"))
    return d, agents + roles
