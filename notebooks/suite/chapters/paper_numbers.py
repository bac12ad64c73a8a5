"""The paper's own arithmetic, done again: averages, sizes, budgets, label costs, orders and cross-references.

Everything printed is read from `data/paper/`; everything computed follows from its cells or from the formulas of
METHOD.md. The rounding rule: a number printed with k decimals agrees when ours is within half a unit of its last place,
0.5 x 10^-k. The cells are rounded too: n cells with half-width h leave their average uncertain by h. A number that
agrees only because of that is "consistent"; one that does not agree even so is "not reproduced".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suite.published import (
    HELD_OUT,
    IN_DISTRIBUTION,
    PAPER,
    SUMMARIES,
    TASK_NAMES,
    decimals,
    half_unit,
    published,
    text_number,
    text_row,
)
from suite.results.verdicts import Evidence, Verdict, judge

if TYPE_CHECKING:
    import pandas as pd

    from suite.results.claims import Claim
    from suite.results.results import Results

STATUS = {Verdict.REPRODUCED: "agrees", Verdict.CONSISTENT: "within rounding", Verdict.NOT_REPRODUCED: "disagrees"}


@dataclass(frozen=True)
class Check:
    """One recomputed number. `printed` is None for an order ("greater"), whose `computed` is a difference.

    `tolerance`: half a unit of the printed number's last place; `rounding`: how far the rounding of the cells that it
    is computed from may move `computed`, or for an order half the width of the difference's interval.
    """

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
    def interval(self) -> tuple[float, float] | None:
        """The computed number, give or take the rounding of its cells."""
        return None if self.rounding is None else (self.computed - self.rounding, self.computed + self.rounding)

    @property
    def verdict(self) -> Verdict:
        """`claims.judge` on arithmetic evidence."""
        return judge(evidence=Evidence.ARITHMETIC, paper=self.printed, ours=self.computed, interval=self.interval,
                     tolerance=self.tolerance, relation=self.relation)[0]


def frame(checks: Iterable[Check]) -> pd.DataFrame:
    """Checks as a table: item, printed, computed, difference, what rounding allows in all, status."""
    import pandas as pd

    rows = [{
        "item": check.item,
        "printed": check.printed,
        "computed": check.computed,
        "difference": None if check.printed is None else round(check.printed - check.computed, 9) + 0.0,
        "allowed": (check.tolerance or 0.0) + (check.rounding or 0.0),
        "status": STATUS[check.verdict],
    } for check in checks]
    return pd.DataFrame(rows)


def record(results: Results, checks: Iterable[Check]) -> list[Claim]:
    """Records every check as a claim of the notebook that `results` belongs to."""
    return [
        results.claim(id=f"{results.notebook[:2]}.{check.id}", statement=check.item, source=check.source,
                      paper=check.printed, ours=check.computed, interval=check.interval, tolerance=check.tolerance,
                      relation=check.relation, evidence=Evidence.ARITHMETIC, unit=check.unit, note=check.note)
        for check in checks
    ]


# -- averages --------------------------------------------------------------------------------------------------------

def averages(folder: Path = PAPER) -> list[Check]:
    """Every average that is printed beside its own cells: Tables 1, 2, 8 and RouterDC's two."""
    checks = []
    for name, label, key, columns in (
        ("table1_zero_shot", "Table 1", "model", HELD_OUT),
        ("table2_ablations", "Table 2", "variant", IN_DISTRIBUTION),
        ("table8_llm_coordinator", "Table 8", "method", IN_DISTRIBUTION),
    ):
        table = published(name, folder)
        rounding = sum(half_unit(decimals(name, column, folder)) for column in columns) / len(columns)
        for _, row in table.iterrows():
            checks.append(Check(
                id=f"{name.partition('_')[0]}-average-{_slug(row[key])}", item=f"{label}, average of {row[key]}",
                source=label, printed=float(row["average_printed"]), computed=float(row[list(columns)].mean()),
                tolerance=half_unit(2), rounding=rounding, unit="%"))
    coordinator = published("table8_llm_coordinator", folder).iloc[1]
    checks.append(_text_check(
        "a73-average", "A.7.3 text, average of the LLM coordinator", "llm_coordinator_average",
        float(coordinator[list(IN_DISTRIBUTION)].mean()), folder, rounding=half_unit(2), unit="%"))
    routerdc = published("routerdc_published", folder).iloc[0]
    for key, columns in (("routerdc_in_distribution", ("mmlu", "gsm8k", "cmmlu", "arc_c", "humaneval")),
                         ("routerdc_out_of_distribution", ("prealgebra", "mbpp", "ceval"))):
        checks.append(_text_check(_slug(key), f"RouterDC, average {key[9:].replace('_', ' ')}", key,
                                  float(routerdc[list(columns)].mean()), folder, rounding=half_unit(2), unit="%"))
    return checks


def averages_with_mt_bench(folder: Path = PAPER) -> pd.DataFrame:
    """Table 1's averages over three tasks, and over four with MT-Bench as printed or times ten, beside the printed."""
    table = published("table1_zero_shot", folder)
    three = table[list(HELD_OUT)].sum(axis=1)
    return table[["model"]].assign(
        printed=table["average_printed"], three_tasks=three / 3, with_mt_bench=(three + table["mt_bench"]) / 4,
        with_mt_bench_x10=(three + 10 * table["mt_bench"]) / 4)


# -- sizes and budgets -----------------------------------------------------------------------------------------------

def head_parameters(head: str, d: int, n_a: int, r: int | None = None) -> int:
    """Weights of a head (A.4) for hidden size `d` and `n_a` logits; `r` is the low-rank head's rank."""
    if head == "low-rank":
        if r is None:
            raise ValueError("head 'low-rank' needs its rank r")
        return r * (d + n_a)
    sizes = {"linear": d * n_a, "sparse": d * n_a + d + 2, "block-diagonal-2": d * n_a // 2, "block-diagonal-10": d}
    if head not in sizes:
        raise ValueError(f"unknown head {head!r}; choose one of low-rank, {', '.join(sizes)}")
    return sizes[head]


def population_size(n: int, rounding: str) -> int:
    """lambda for n parameters: "floor" 4 + floor(3 ln n), "ceil" ceil(4 + 3 ln n), "pycma" as pycma itself sets it."""
    if rounding == "pycma":
        import cma

        return int(cma.CMAEvolutionStrategy(n * [0.0], 1.0, {"CMA_diagonal": True, "verbose": -9, "seed": 1}).popsize)
    if rounding not in ("floor", "ceil"):
        raise ValueError(f"rounding is {rounding!r}; choose floor, ceil or pycma")
    return 4 + getattr(math, rounding)(3 * math.log(n))


def sizes(folder: Path = PAPER) -> list[Check]:
    """Parameter counts: the five heads, the low-rank head at the text's rank, SVF offsets, the whole vector."""
    d, agents, roles = (int(text_number(key, folder)) for key in ("hidden_size", "agents", "roles"))
    n_a, text_rank, code_rank = agents + roles, int(text_number("low_rank_rank", folder)), max(8, 2 * (agents + roles))
    checks = []
    for _, row in published("table3_heads", folder).iterrows():
        low_rank = row["head"] == "low-rank"
        checks.append(Check(
            id=f"table6-parameters-{row['head']}", source="Tables 3 and 6", printed=int(row["params_printed"]),
            item=f"Parameters of the {row['head']} head" + (f" at the released code's r = {code_rank}" * low_rank),
            computed=head_parameters(row["head"], d, n_a, code_rank), tolerance=0.0))
        if low_rank:
            checks.append(Check(
                id="table6-parameters-low-rank-text", source="A.4 text", printed=int(row["params_printed"]),
                item=f"Parameters of the low-rank head at the text's r = {text_rank}",
                computed=head_parameters("low-rank", d, n_a, text_rank), tolerance=0.0))
    offsets = int(text_number("svf_blocks", folder)) * d
    total = offsets + head_parameters("linear", d, n_a)
    checks += [
        _text_check("svf-offsets", "SVF offsets: one per singular value of each block", "svf_offsets", offsets, folder),
        _text_check("vector-length", "Trained parameters: SVF offsets and the linear head", "vector_length", total,
                    folder),
        Check(id="parameter-limit", item="Trained parameters stay below the stated limit", source="running text",
              printed=int(text_number("parameter_limit", folder)), computed=total, relation="at most"),
    ]
    return checks


def parameter_bars(folder: Path = PAPER) -> pd.DataFrame:
    """What the parameter figure draws: columns part, svf, head, printed (NaN where the paper prints none)."""
    import pandas as pd

    d, n_a = int(text_number("hidden_size", folder)), int(text_number("agents", folder) + text_number("roles", folder))
    table = published("table3_heads", folder).set_index("head")["params_printed"]
    rows = [(f"{head} head" + " (r = 20)" * (head == "low-rank"), 0, head_parameters(head, d, n_a, 20), printed)
            for head, printed in table.items()]
    rank = int(text_number("low_rank_rank", folder))
    rows.insert(2, (f"low-rank head (r = {rank})", 0, head_parameters("low-rank", d, n_a, rank), table["low-rank"]))
    rows.append(("coordinator: SVF and linear head", int(text_number("svf_blocks", folder)) * d,
                 head_parameters("linear", d, n_a), text_number("vector_length", folder)))
    return pd.DataFrame(rows, columns=["part", "svf", "head", "printed"])


def population_curve(points: int, asked: int, largest: int = 40_000) -> pd.DataFrame:
    """Population size for `points` n from 10 to `largest` on a log grid: columns n, floor, ceil, pycma.

    pycma is asked at about `asked` of them (building an optimiser takes time) and NaN elsewhere.
    """
    import pandas as pd

    ns = sorted({round(10 * (largest / 10) ** (i / (points - 1))) for i in range(points)})
    stride = max(1, len(ns) // asked)
    return pd.DataFrame([{
        "n": n, "floor": population_size(n, "floor"), "ceil": population_size(n, "ceil"),
        "pycma": population_size(n, "pycma") if i % stride == 0 else None,
    } for i, n in enumerate(ns)])


def budgets(folder: Path = PAPER) -> list[Check]:
    """Population sizes, the evaluation budget, and what supervised labels cost."""
    value = {key: int(text_number(key, folder)) for key in (
        "population_n", "vector_length", "rollouts_per_candidate", "iterations", "population_run", "agents", "roles",
        "turns", "sft_seeds", "sft_questions", "livecodebench_test")}
    n_small, n = value["population_n"], value["vector_length"]
    calls = value["sft_seeds"] * value["sft_questions"] * value["agents"]
    labelled = published("table5_oracle_labels", folder)[list(IN_DISTRIBUTION)].sum()
    return [
        _text_check("population-small-ceil", f"Population at n = {n_small:,}, rounded up", "population",
                    population_size(n_small, "ceil"), folder),
        _text_check("population-small-pycma", f"Population at n = {n_small:,}, by pycma", "population",
                    population_size(n_small, "pycma"), folder),
        _text_check("population-run-ceil", f"Population at n = {n:,}, rounded up", "population_run",
                    population_size(n, "ceil"), folder),
        _text_check("population-run-pycma", f"Population at n = {n:,}, by pycma", "population_run",
                    population_size(n, "pycma"), folder),
        _text_check("budget", "Atomic evaluations: population x rollouts x iterations", "budget",
                    population_size(n, "pycma") * value["rollouts_per_candidate"] * value["iterations"], folder),
        _text_check("sft-calls", "LLM calls for single-step labels: seeds x questions x agents", "sft_calls", calls,
                    folder),
        _text_check("sft-multi-turn", "Times that for five turns with roles: L^(K-1) x 3^K", "sft_multi_turn_factor",
                    value["agents"] ** (value["turns"] - 1) * value["roles"] ** value["turns"], folder),
        _text_check("table5-total", "Questions with an oracle label, all of Table 5", "sft_questions",
                    int(labelled.sum()), folder),
    ]


# -- tables held against each other ----------------------------------------------------------------------------------

def cross_references(folder: Path = PAPER) -> list[Check]:
    """One quantity printed twice: TRINITY's row in Tables 2, 3, 4, 8 and Figures 3, 4; shares that sum to 100."""
    main = published("table2_ablations", folder).set_index("variant").loc["TRINITY"]
    heads = published("table3_heads", folder).set_index("head").loc["linear"]
    evolved = published("table4_optimizers", folder).set_index("method").loc["sep-CMA-ES"]
    repeated = published("table8_llm_coordinator", folder).set_index("method").loc["TRINITY"]
    summary = published("fig3_in_distribution", folder).set_index("method").loc["TRINITY"]
    checks = []
    for task in IN_DISTRIBUTION:
        for key, label, other, scale, places in (
            ("table3", "Table 3", heads, 100, 1), ("table4", "Table 4", evolved, 100, 1),
            ("table8", "Table 8", repeated, 1, 2), ("fig3", SUMMARIES, summary, 100, 0),
        ):
            checks.append(Check(
                id=f"{key}-table2-{task}", source=f"{label}, Table 2",
                item=f"{label}, TRINITY on {TASK_NAMES[task]}, from Table 2",
                printed=round(float(other[task]) * scale, 6), computed=float(main[task]), tolerance=half_unit(places),
                rounding=half_unit(2), unit="%"))
    ablations = published("table2_ablations", folder).set_index("variant")["average_printed"]
    checks.append(_text_check("last-token-drop", "Points lost on average by reading the last token", "last_token_drop",
                              float(ablations["TRINITY"] - ablations["last token"]), folder, rounding=2 * half_unit(2),
                              unit="points"))
    figure4 = published("fig4_livecodebench", folder)
    best = figure4[(figure4["series"] == "best") & (figure4["x"] == "TRINITY")].iloc[0]
    six = figure4[(figure4["series"] == "max_turns") & (figure4["x"] == "6")].iloc[0]
    checks.append(Check(id="fig4-six-turns", source="Figure 4", item="Figure 4, best TRINITY, from its six-turn run",
                        printed=100 * float(best["pass_at_1"]), computed=100 * float(six["pass_at_1"]),
                        tolerance=100 * float(best["std"]), unit="%", note="the tolerance is the printed std"))
    shares = published("fig15_agent_selection", folder).set_index("task")
    for task, row in shares.iterrows():
        checks.append(Check(id=f"fig15-sum-{task}", source="Figure 15",
                            item=f"Figure 15, shares on {TASK_NAMES[task]} sum to 100",
                            printed=100, computed=float(row.sum()), tolerance=0.0, rounding=len(row) * half_unit(1),
                            unit="%"))
    return checks


def orders(folder: Path = PAPER) -> list[Check]:
    """TRINITY minus the best single model, task by task: Table 1 (held out), Table 2 and Figure 3, Figure 4."""
    checks = []
    for name, label, key, others, columns, scale in (
        ("table1_zero_shot", "Table 1", "model", None, ("aime2025", "bigcodebench", "mt_bench", "gpqa_d"), 1),
        ("table2_ablations", "Table 2", "variant", " only", IN_DISTRIBUTION, 1),
        ("fig3_in_distribution", SUMMARIES, "method", " (4K)", IN_DISTRIBUTION, 100),
    ):
        table = published(name, folder).set_index(key)
        singles = table[table.index.str.endswith(others)] if others else table.drop(index="TRINITY")
        for task in columns:
            gap = scale * float(table.loc["TRINITY", task] - singles[task].max())
            checks.append(Check(
                id=f"{name.partition('_')[0]}-beats-single-{task}", source=label, printed=None, computed=round(gap, 6),
                item=f"{label}, {TASK_NAMES[task]}: TRINITY above the best single model, {singles[task].idxmax()}",
                relation="greater", rounding=2 * scale * half_unit(decimals(name, task, folder)),
                unit="score" if task == "mt_bench" else "points"))
    figure4 = published("fig4_livecodebench", folder)
    best = figure4[figure4["series"] == "best"].set_index("x")
    second = best.drop(index="TRINITY")["pass_at_1"].idxmax()
    spread = 1.96 * math.hypot(best.loc["TRINITY", "std"], best.loc[second, "std"])
    checks.append(Check(
        id="fig4-beats-single", item=f"Figure 4, LiveCodeBench with the cap lifted: TRINITY above {second}",
        source="Figure 4", printed=None, relation="greater", rounding=100 * float(spread), unit="points",
        computed=round(100 * float(best.loc["TRINITY", "pass_at_1"] - best.loc[second, "pass_at_1"]), 6),
        note="interval: 1.96 times the two printed std, added as squares"))
    return checks


def _text_check(id: str, item: str, key: str, computed: float, folder: Path, **more: object) -> Check:
    row = text_row(key, folder)
    places = int(row["decimals"])
    printed = row["printed"]
    whole = float(printed).is_integer() and places <= 0
    return Check(id=id, item=item, source=str(row["where"]), printed=int(printed) if whole else float(printed),
                 computed=computed, tolerance=0.0 if places == 0 else half_unit(places), **more)


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".-" else " " for c in text).split())
