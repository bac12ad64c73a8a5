"""One baseline's run in a table and in words, and the pool that it may run on."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from suite.pools import load_pool, pool_kind
from suite.pools.budget import Budget
from suite.stats.separability import wilson
from trinity_core.pool import Pool, PoolError
from trinity_core.types import Question

FORMS = {"tokens_in": ",.0f", "tokens_out": ",.0f", "cost": ".4f"}  # of amounts in words


def pool_for(name: str, questions: Sequence[Question], max_dollars: float | None) -> Pool:
    """The pool of that name for these questions. PoolError for a recorded one, and for a paid one without a limit."""
    kind = pool_kind(name)
    if kind == "recorded":
        raise PoolError(
            f"the LLMs of pool {name} were recorded on other questions than these; compare ways to choose among them "
            "by trinity recordings train --train FILE... --test FILE... --method NAME"
        )
    if kind == "litellm" and max_dollars is None:
        raise PoolError(f"the agents of pool {name} may cost money: say how much with --max-dollars")
    limit = {"budget": Budget(max_dollars=max_dollars)} if kind == "litellm" else {}  # of others nobody is paid
    return load_pool(name, questions=questions, **limit)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Per `who` and family, then over all: percent right with Wilson's 95 % interval over the questions, and means a
    question of calls, tokens and dollars. Failed rollouts are counted and left out of the share."""
    rows = []
    for who, own in table.groupby("who", sort=False):
        for family, group in [*own.groupby("family", sort=False), ("all", own)]:
            good = group.reward.dropna()
            low, high = wilson(good.mean(), len(good)) if len(good) else (0.0, 1.0)
            rows.append(
                {"who": who, "family": family, "questions": len(group), "failed": int(group.failed.sum())}
                | {"right %": 100 * good.mean(), "low": 100 * low, "high": 100 * high, "calls": group.calls.mean()}
                | {"tokens in": group.tokens_in.mean(), "tokens out": group.tokens_out.mean()}
                | {"cents": 100 * group.cost.mean()}
            )
    return pd.DataFrame(rows)


def amounts(table: pd.DataFrame) -> str:
    """What a run used; an amount that is unknown for one rollout is unknown for all of them together."""
    sums = [(table[name].sum(skipna=False), form) for name, form in FORMS.items()]
    tokens_in, tokens_out, dollars = ("unknown" if pd.isna(total) else format(total, form) for total, form in sums)
    return f"{table.calls.sum()} calls, {tokens_in} tokens in and {tokens_out} out, {dollars} dollars"
