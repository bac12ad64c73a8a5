"""Where the paper, its own cells and the released code part: the discrepancy ledger of notebook 00.

Three kinds of rows: printed numbers that their own cells or formulas do not give (from `audit`), observations that no
single printed claim rests on, and facts about the released code that public readings found (`released_code.csv`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from suite.chapters.paper_numbers import Check
from suite.published import IN_DISTRIBUTION, PAPER, published, text_number
from suite.results.texts import number
from suite.results.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd


def token_ratios(folder: Path = PAPER) -> pd.DataFrame:
    """Output tokens a question of every coordination method over TRINITY's, task by task (Tables 9-12)."""
    tokens = published("tables9_12_output_tokens", folder)
    methods = tokens[tokens["setting"] == "coordination"].set_index("method")[list(IN_DISTRIBUTION)]
    return methods.drop(index="TRINITY") / methods.loc["TRINITY"]


def proposer_tokens(folder: Path = PAPER) -> pd.DataFrame:
    """Tables 9-12 held against the methods' own description: seven answers (Smoothie), and an aggregator (MoA).

    Rows: the seven single models' tokens summed, Smoothie, MoA, and what MoA's aggregator then wrote, if the seven
    answers cost what the single models cost, or what Smoothie's cost. A call may write 4,096 tokens at most.
    """
    import pandas as pd

    tokens = published("tables9_12_output_tokens", folder)
    singles = tokens[tokens["setting"] == "default_4096"][list(IN_DISTRIBUTION)].sum()
    methods = tokens[tokens["setting"] == "coordination"].set_index("method")[list(IN_DISTRIBUTION)]
    rows = {
        "seven single models, summed": singles,
        "Smoothie": methods.loc["Smoothie"],
        "MoA": methods.loc["MoA"],
        "MoA less the seven models": methods.loc["MoA"] - singles,
        "MoA less Smoothie": methods.loc["MoA"] - methods.loc["Smoothie"],
    }
    return pd.DataFrame(rows).T.rename_axis("tokens a question").astype(int)


def observations(folder: Path = PAPER) -> list[dict[str, str]]:
    """Findings that no single printed claim rests on, as rows of the discrepancy ledger."""
    ablations = published("table2_ablations", folder).set_index("variant")
    votes = published("table7_majority_vote_mmlu", folder).set_index("model")["score"]
    labels = published("table5_oracle_labels", folder)["livecodebench"].sum()
    train, test = (text_number(f"livecodebench_{split}", folder) for split in ("train", "test"))
    proposers = proposer_tokens(folder)
    cap = text_number("output_cap", folder)
    over = proposers.columns[proposers.loc["MoA less the seven models"] > cap]
    inert = text_number("vector_length", folder) - text_number("hidden_size", folder)
    rows = [
        ("Table 2: an ablation above the full method", f"TRINITY on MMLU {ablations.loc['TRINITY', 'mmlu']}",
         f"w/o Thinker {ablations.loc['w/o Thinker', 'mmlu']}", ablations.loc["w/o Thinker", "mmlu"]
         > ablations.loc["TRINITY", "mmlu"], "Table 2"),
        ("Table 7: majority of five samples on MMLU", f"TRINITY {ablations.loc['TRINITY', 'mmlu']}",
         f"{votes.idxmax()} {votes.max()}", votes.max() > ablations.loc["TRINITY", "mmlu"], "Tables 2 and 7"),
        ("Table 5: LiveCodeBench questions with a label", f"{number(train)} to train on, {number(test)} to test on",
         f"{number(labels)} labels, as many as the test set", labels == test, "Table 5"),
        ("Tables 9-12: MoA as seven answers and one aggregator", f"a call writes at most {number(cap)} tokens",
         f"more is left for the aggregator on {', '.join(over)}", len(over) > 0, "Tables 9-12, A.7.1"),
        ("Trained parameters that act", f"{number(text_number('vector_length', folder))} in the vector",
         f"{number(inert)} without the offsets that the tied embedding overwrites", True, "released code"),
    ]
    return [dict(zip(("item", "paper", "ours", "status", "known from"),
                     (item, paper, ours, "differs", where), strict=True))
            for item, paper, ours, holds, where in rows if holds]


def discrepancies(checks: Iterable[Check], folder: Path = PAPER) -> pd.DataFrame:
    """The discrepancy ledger: checks that do not agree, observations, and the released code beside the paper."""
    import pandas as pd

    rows = []
    for check in checks:
        if check.verdict is Verdict.NOT_REPRODUCED:
            paper = "above 0" if check.printed is None else number(check.printed)
            rows.append({"item": check.item, "paper": paper, "ours": number(check.computed),
                         "status": "tie" if check.printed is None and check.computed == 0 else "disagrees",
                         "known from": check.source})
    rows += observations(folder)
    for _, row in published("released_code", folder).iterrows():
        paper = "–" if pd.isna(row["paper"]) else row["paper"]
        rows.append({"item": row["item"], "paper": paper, "ours": row["released code"],
                     "status": "code only" if paper == "–" else "differs", "known from": "released code"})
    return pd.DataFrame(rows).rename(columns={"paper": "the paper says", "ours": "its cells, formulas or code give"})
