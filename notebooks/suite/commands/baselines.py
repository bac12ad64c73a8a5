"""The command that runs one baseline.

    python -m suite.commands.baselines --list
    python -m suite.commands.baselines --run NAME [--profile smoke] [--seed S] [--pool paper7] [--out DIR]

Exit status: 0 (also where this pool cannot test the baseline, which is then the result), 2 wrong use or nothing ran.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.baselines import BASELINES, make_baseline
from suite.console import output_folder, run_command
from suite.profiles import PROFILES, get_profile

if TYPE_CHECKING:
    import pandas as pd


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m suite.commands.baselines", description="List or run the baselines.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="name the baselines, one a line")
    action.add_argument("--run", choices=tuple(BASELINES), metavar="NAME", help="fit on train, run on test questions")
    parser.add_argument("--profile", default="smoke", choices=list(PROFILES), help="questions and encoder")
    parser.add_argument("--seed", type=int, default=0, help="of the baseline's and the agents' draws")
    parser.add_argument("--pool", default="paper7", help="a file of data/pools, or the path of a .yaml file")
    parser.add_argument(
        "--max-dollars", type=float, metavar="X", help="the most to spend; needed by pools of paid agents"
    )
    parser.add_argument("--out", type=output_folder, metavar="DIR", help="write rollouts.csv and turns.csv there")
    options = parser.parse_args(arguments)
    if options.list:
        for name, factory in BASELINES.items():
            print(f"{name}: {factory.line}")
        return 0
    if options.seed < 0:
        parser.error(f"--seed is {options.seed}; give 0 or more")
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    from suite.baselines.base import NotTestable
    from suite.checkers.symbolic import CheckerBroken
    from suite.questions import load_questions
    from suite.stats.rollouts import rollouts_table, turns_table
    from trinity_core.encoder import load_encoder
    from trinity_core.pool import BudgetExceeded, PoolError

    profile = get_profile(options.profile)
    questions = load_questions(per_family=profile.per_family)
    train, test = ([q for q in questions if q.split == split] for split in ("train", "test"))
    try:
        pool = _pool(options, questions)
        encoder = load_encoder(profile.encoder) if BASELINES[options.run].encoder else None
        baseline = make_baseline(options.run, encoder=encoder)
        baseline.fit(pool, train, seed=options.seed)
        rollouts = baseline.run(pool, test, seed=options.seed, replicate=options.seed)
    except NotTestable as reason:
        print(f"{options.run} on pool {options.pool}: not testable here: {reason}")
        return 0
    except (PoolError, BudgetExceeded, CheckerBroken, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    table = rollouts_table(rollouts)
    who = [pool.agents[r.candidate].name if baseline.per_agent else options.run for r in rollouts]
    print(
        f"{options.run} on pool {options.pool}, profile {profile.name}, seed {options.seed}: {len(test)} test questions"
    )
    print(summary(table.assign(who=who)).to_string(index=False, float_format="{:.2f}".format))
    if remark := baseline.remark(pool, rollouts):
        print(remark)
    if baseline.training:
        print(f"training: {_amounts(rollouts_table(baseline.training))}")
    print(f"in all: {_amounts(table)}")
    if options.out:
        _write(options.out, rollouts=table, turns=turns_table(rollouts, baseline.callers(pool)))
    return 0


def _pool(options: argparse.Namespace, questions: Sequence[Any]) -> Any:
    from suite.pools import load_pool
    from suite.pools.budget import Budget
    from suite.pools.config import pool_kind
    from trinity_core.pool import PoolError

    kind = pool_kind(options.pool)
    if kind == "recorded":
        raise PoolError(
            f"the LLMs of pool {options.pool} were recorded on other questions than these; compare ways to choose "
            "among them by python -m suite.commands.recordings --train FILE... --test FILE... --method NAME"
        )
    if kind != "litellm":  # nobody is paid: there is nothing to limit
        return load_pool(options.pool, questions=questions)
    if options.max_dollars is None:
        raise PoolError(f"the agents of pool {options.pool} may cost money: say how much with --max-dollars")
    return load_pool(options.pool, questions=questions, budget=Budget(max_dollars=options.max_dollars))


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Per `who` and family, then over all: percent right with Wilson's 95 % interval over the questions, and means a
    question of calls, tokens and dollars. Failed rollouts are counted and left out of the share."""
    import pandas as pd

    from suite.stats.separability import wilson

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


def _amounts(table: pd.DataFrame) -> str:
    """What a run used; an amount that is unknown for one rollout is unknown for all of them together."""
    tokens_in, tokens_out, cost = (table[name].sum(skipna=False) for name in ("tokens_in", "tokens_out", "cost"))
    return (
        f"{table.calls.sum()} calls, {_known(tokens_in, ',.0f')} tokens in and {_known(tokens_out, ',.0f')} out, "
        f"{_known(cost, '.4f')} dollars"
    )


def _known(value: float, form: str) -> str:
    return "unknown" if value != value else format(value, form)


def _write(folder: Path, **tables: pd.DataFrame) -> None:
    from trinity_core.paths import write_atomic

    for name, table in tables.items():
        write_atomic(folder / f"{name}.csv", table.to_csv(index=False))
    print(f"wrote {' and '.join(f'{name}.csv' for name in tables)}")


if __name__ == "__main__":
    run_command(main)
