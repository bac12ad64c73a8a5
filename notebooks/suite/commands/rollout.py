"""One rollout of one question, printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from suite.checkers import is_right
from suite.console import run_command
from suite.results.rollout_view import show_rollout
from trinity_core.coordinator import HeadPolicy
from trinity_core.heads import LinearHead
from trinity_core.pool import BudgetExceeded, PoolError
from trinity_core.roles import TRANSCRIPT_RULES
from trinity_core.rollout import Job, LoopSettings, run_rollouts


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: one rollout of one question, by a head with all weights 0 (every agent and role equally likely)."""
    from suite.pools import load_pool
    from suite.pools.config import pool_kind
    from suite.profiles import PROFILES, get_profile
    from suite.questions import load_questions

    parser = argparse.ArgumentParser(prog="python -m suite.commands.rollout", description=main.__doc__)
    parser.add_argument("--profile", default="offline", choices=list(PROFILES))
    parser.add_argument("--list-questions", action="store_true", help="one id a line, then the question's first words")
    parser.add_argument("--question", metavar="ID", help="the question to answer, as --list-questions names it")
    parser.add_argument(
        "--pool",
        default="paper7",
        help="a file of data/pools (a recorded one brings its own questions), or `slm`: the real local model answers",
    )
    parser.add_argument("--seed", type=int, default=42, help="of the coordinator's and the agents' draws")
    parser.add_argument("--max-turns", type=int, default=5, metavar="K")
    parser.add_argument("--transcript", default="paper", choices=TRANSCRIPT_RULES)
    options = parser.parse_args(arguments)
    profile = get_profile(options.profile)
    recorded = None
    try:
        if options.pool != "slm" and pool_kind(options.pool) == "recorded":
            recorded = load_pool(options.pool)
    except PoolError as error:
        print(error, file=sys.stderr)
        return 2
    questions = recorded.questions if recorded else load_questions(per_family=profile.per_family)
    if options.list_questions:
        for question in questions:
            print(question.id, " ".join(question.bare.split())[:80])
        return 0
    if options.seed < 0:
        parser.error(f"--seed is {options.seed}; give 0 or more")
    chosen = [question for question in questions if question.id == options.question]
    if not chosen:
        wrong = "give --question ID" if options.question is None else f"no question {options.question!r}"
        place = f"pool {options.pool}" if recorded else f"profile {profile.name}"
        print(f"{wrong} in {place}; see --list-questions", file=sys.stderr)
        return 2
    from suite.checkers.symbolic import CheckerBroken
    from trinity_core.encoder import load_encoder

    try:
        settings = LoopSettings(max_turns=options.max_turns, transcript=options.transcript, seed=options.seed)
        name = "local" if options.pool == "slm" else options.pool
        pool = recorded or load_pool(name, questions=questions)
        encoder = load_encoder(profile.encoder)
        head = LinearHead(len(pool.agents), encoder.d)
        policy = HeadPolicy(head, np.zeros(head.size))
        run = partial(run_rollouts, check=is_right)
        if recorded:
            from suite.worlds.recorded import run_recorded as run
        (rollout,) = run([Job(chosen[0], replicate=options.seed)], policy, encoder, pool, settings)
    except (PoolError, BudgetExceeded, CheckerBroken, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(show_rollout(rollout, pool))
    return 0


if __name__ == "__main__":
    run_command(main)
