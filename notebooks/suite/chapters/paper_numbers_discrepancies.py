"""The discrepancy ledger of notebook 00: printed numbers that their own cells or formulas do not give (`Check`s),
observations that no single claim rests on, and facts about the released code (`released_code.csv`)."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from suite.chapters.paper_numbers import Check
from suite.published import printed_tokens, published, text_number
from suite.results import Verdict
from suite.results.texts import number


def discrepancies(checks: Iterable[Check]) -> pd.DataFrame:
    """The discrepancy ledger: checks that do not agree, observations, and the released code beside the paper."""
    rows = []
    for check in checks:
        if check.verdict in (Verdict.NOT_REPRODUCED, Verdict.CANNOT_TELL):
            paper = "above 0" if check.printed is None else number(check.printed)
            status = "tie" if check.verdict is Verdict.CANNOT_TELL else "disagrees"
            rows.append((check.item, paper, number(check.computed), status, check.source))
    rows += [(item, paper, ours, "differs", where) for item, paper, ours, where in observations()]
    for row in published("released_code").fillna("–").to_dict("records"):
        status = "code only" if row["paper"] == "–" else "differs"
        rows.append((row["item"], row["paper"], row["released code"], status, "released code"))
    head = ["item", "the paper says", "its cells, formulas or code give", "status", "known from"]
    return pd.DataFrame(rows, columns=head)


def observations() -> list[tuple[str, str, str, str]]:
    """Findings that no single printed claim rests on: (item, the paper's side, ours, where), those that hold."""
    mmlu = published("table2_ablations").set_index("variant")["mmlu"]
    votes = published("table7_majority_vote_mmlu").set_index("model")["score"]
    labels = published("table5_oracle_labels")["livecodebench"].sum()
    train, test, cap, vector, hidden = (
        text_number(key)
        for key in ("livecodebench_train", "livecodebench_test", "output_cap", "vector_length", "hidden_size")
    )
    left = proposer_tokens().loc["MoA less the seven models"]
    over = left.index[left > cap]
    rows = [
        (mmlu["w/o Thinker"] > mmlu["TRINITY"], "Table 2: an ablation above the full method",
         f"TRINITY on MMLU {mmlu['TRINITY']}", f"w/o Thinker {mmlu['w/o Thinker']}", "Table 2"),
        (votes.max() > mmlu["TRINITY"], "Table 7: majority of five samples on MMLU",
         f"TRINITY {mmlu['TRINITY']}", f"{votes.idxmax()} {votes.max()}", "Tables 2 and 7"),
        (labels == test, "Table 5: LiveCodeBench questions with a label",
         f"{number(train)} to train on, {number(test)} to test on",
         f"{number(labels)} labels, as many as the test set", "Table 5"),
        (len(over) > 0, "Tables 9-12: MoA as seven answers and one aggregator",
         f"a call writes at most {number(cap)} tokens", f"more is left for the aggregator on {', '.join(over)}",
         "Tables 9-12, A.7.1"),
        (True, "Trained parameters that act", f"{number(vector)} in the vector",
         f"{number(vector - hidden)} without the offsets that the tied embedding overwrites", "released code"),
    ]  # fmt: skip
    return [tuple(row) for holds, *row in rows if holds]


def token_ratios() -> pd.DataFrame:
    """Output tokens a question of every coordination method over TRINITY's, task by task (Tables 9-12)."""
    methods = printed_tokens("coordination")
    return methods.drop(index="TRINITY") / methods.loc["TRINITY"]


def proposer_tokens() -> pd.DataFrame:
    """Tables 9-12 held against the methods' own description: seven answers (Smoothie), and an aggregator (MoA). Last:
    what MoA's aggregator wrote, if the seven answers cost what the single models' cost, or Smoothie's."""
    singles, methods = printed_tokens("default_4096").sum(), printed_tokens("coordination")
    smoothie, moa = methods.loc["Smoothie"], methods.loc["MoA"]
    rows = {
        "seven single models, summed": singles,
        "Smoothie": smoothie,
        "MoA": moa,
        "MoA less the seven models": moa - singles,
        "MoA less Smoothie": moa - smoothie,
    }
    return pd.DataFrame(rows).T.rename_axis("tokens a question").astype(int)
