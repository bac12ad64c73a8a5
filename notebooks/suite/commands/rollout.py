"""One rollout of one question, by a head with all weights 0 (every agent and role equally likely)."""

from __future__ import annotations

import argparse
from functools import partial

from suite.console import from_0
from suite.profiles import PROFILES, get_profile

POOL = "a file of data/pools (a recorded one brings its own questions), or `slm`: the real local model answers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="offline", choices=list(PROFILES))
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list-questions", action="store_true", help="one id a line, then the question's first words")
    action.add_argument("--question", metavar="ID", help="the question to answer, as --list-questions names it")
    parser.add_argument("--pool", default="paper7", help=POOL)
    parser.add_argument("--seed", type=from_0, default=42, help="of the coordinator's and the agents' draws")
    parser.add_argument("--max-turns", type=int, default=5, metavar="K")
    parser.add_argument("--transcript", default="paper", choices=("paper", "released"))


def main(options: argparse.Namespace) -> int:
    import numpy as np

    from suite.checkers import is_right
    from suite.pools import load_pool, pool_kind
    from suite.questions import load_questions
    from suite.results.rollout_view import show_rollout
    from suite.worlds.recorded import run_recorded
    from trinity_core.coordinator import HeadPolicy
    from trinity_core.encoder import load_encoder
    from trinity_core.heads import make_head
    from trinity_core.rollout import Job, LoopSettings, run_rollouts

    name = "local" if options.pool == "slm" else options.pool
    recorded = load_pool(name) if pool_kind(name) == "recorded" else None
    profile = get_profile(options.profile)
    questions = recorded.questions if recorded else load_questions(per_family=profile.per_family)
    if options.list_questions:
        for question in questions:
            print(question.id, " ".join(question.bare.split())[:80])
        return 0
    chosen = [question for question in questions if question.id == options.question]
    if not chosen:
        place = f"pool {options.pool}" if recorded else f"profile {profile.name}"
        raise ValueError(f"no question {options.question!r} in {place}; see --list-questions")
    settings = LoopSettings(max_turns=options.max_turns, transcript=options.transcript, seed=options.seed)
    pool = recorded or load_pool(name, questions=questions)
    encoder = load_encoder(profile.encoder)
    head = make_head("linear", len(pool.agents), encoder.d)
    run = run_recorded if recorded else partial(run_rollouts, check=is_right)
    (rollout,) = run(
        [Job(chosen[0], replicate=options.seed)], HeadPolicy(head, np.zeros(head.size)), encoder, pool, settings
    )
    print(show_rollout(rollout, pool))
    return 0
