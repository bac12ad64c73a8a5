"""List the other ways to use the pool (baselines), or run one: fitted on the training questions, run on the test ones.

A baseline that this pool cannot test is no error: that is then the result.
"""

from __future__ import annotations

import argparse

from suite.console import from_0, output_folder
from suite.profiles import PROFILES, get_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="name the baselines, one a line")
    action.add_argument("--run", metavar="NAME", help="a baseline, as --list names it")
    parser.add_argument("--profile", default="smoke", choices=list(PROFILES), help="questions and encoder")
    parser.add_argument("--seed", type=from_0, default=0, help="of the baseline's and the agents' draws")
    parser.add_argument("--pool", default="paper7", help="a file of data/pools, or the path of a .yaml file")
    parser.add_argument("--max-dollars", type=float, metavar="X", help="the most to spend; needed by paid agents")
    parser.add_argument("--out", type=output_folder, metavar="DIR", help="write rollouts.csv and turns.csv there")


def main(options: argparse.Namespace) -> int:
    from suite.baselines import BASELINES, make_baseline
    from suite.baselines.base import NotTestable
    from suite.baselines.summary import amounts, pool_for, summary
    from suite.questions import load_questions
    from suite.stats.rollouts import rollouts_table, turns_table
    from trinity_core.encoder import load_encoder
    from trinity_core.paths import write_atomic

    if options.list:
        print(*(f"{name}: {factory.line}" for name, factory in BASELINES.items()), sep="\n")
        return 0
    name, profile, seed = options.run, get_profile(options.profile), options.seed
    encoder = load_encoder(profile.encoder) if name in BASELINES and BASELINES[name].encoder else None
    baseline = make_baseline(name, encoder=encoder)
    questions = load_questions(per_family=profile.per_family)
    train, test = ([q for q in questions if q.split == split] for split in ("train", "test"))
    pool = pool_for(options.pool, questions, options.max_dollars)
    try:
        baseline.fit(pool, train, seed=seed)
        rollouts = baseline.run(pool, test, seed=seed, replicate=seed)
    except NotTestable as reason:
        print(f"{name} on pool {options.pool}: not testable here: {reason}")
        return 0
    table = rollouts_table(rollouts)
    who = [pool.agents[r.candidate].name if baseline.per_agent else name for r in rollouts]
    print(f"{name} on pool {options.pool}, profile {profile.name}, seed {seed}: {len(test)} test questions")
    print(summary(table.assign(who=who)).to_string(index=False, float_format="{:.2f}".format))
    if remark := baseline.remark(pool, rollouts):
        print(remark)
    if baseline.training:
        print(f"training: {amounts(rollouts_table(baseline.training))}")
    print(f"in all: {amounts(table)}")
    if options.out:
        write_atomic(options.out / "rollouts.csv", table.to_csv(index=False))
        write_atomic(options.out / "turns.csv", turns_table(rollouts, baseline.callers(pool)).to_csv(index=False))
    return 0
