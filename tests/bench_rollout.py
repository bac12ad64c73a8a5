"""Benchmark of the role loop: one generation of 33 random candidates on 16 questions, simulated pool, K = 5.

One JSON line last, exit 1 below an aim. Against the plain way, one rollout at a time, every transcript encoded whole:
- `speedup_empty`, `speedup_warm`: its time over lockstep with an empty cache (aim 12) and with a warm one (aim 1,000);
- `token_ratio`: tokens that lockstep encodes with an empty cache over those of the plain way; at most 0.25.
All three ways must make the same rollouts: the same agents, roles, messages and rewards.
"""

from __future__ import annotations

import sys

import numpy as np
from benches import own_cache, report, timed

from suite.checkers import is_right

CANDIDATES, PER_FAMILY, SIGMA = 33, 4, 0.03
AIMS = {"speedup_empty": 12.0, "speedup_warm": 1000.0}
MOST = {"token_ratio": 0.25}


class Plain:
    """An encoder without cache or prefix reuse, as one would first write it."""

    def __init__(self, encoder) -> None:
        self.encoder, self.d = encoder, encoder.d

    def encode(self, texts, *, reuse_prefix=False):
        return self.encoder.encode(texts)


def story(rollout) -> tuple:
    """What a rollout did, without the last bits of its chances."""
    turns = tuple((turn.agent, turn.role, turn.message.text, turn.output, turn.verdict) for turn in rollout.turns)
    return rollout.question.id, rollout.candidate, rollout.reward, rollout.stop, turns


def measure() -> dict[str, float]:
    from suite.pools import load_pool
    from suite.questions import load_questions
    from trinity_core.coordinator import HeadPolicy
    from trinity_core.encoder import load_encoder
    from trinity_core.heads import LinearHead
    from trinity_core.rollout import Job, run_rollouts

    questions = load_questions(split="train", per_family=PER_FAMILY)
    pool = load_pool("paper7", questions=questions)
    plain, empty = load_encoder(cache=False), load_encoder()
    head = LinearHead(len(pool.agents), plain.d)
    policy = HeadPolicy(head, np.random.default_rng(0).normal(0, SIGMA, (CANDIDATES, head.size)))
    jobs = [Job(question, candidate) for candidate in range(CANDIDATES) for question in questions]
    # What is not measured: loading the weights, and the checks of answers, which are cached for all ways alike.
    plain.encode(["One text first, so that loading is not measured."])
    empty.encode(["One text first, so that loading is not measured."])
    run_rollouts(jobs, policy, empty_states(plain.d), pool, check=is_right)
    before = plain.stats.tokens_encoded, empty.stats.tokens_encoded

    plain_seconds, expected = timed(
        lambda: [run_rollouts([job], policy, Plain(plain), pool, check=is_right)[0] for job in jobs]
    )
    empty_seconds, cold = timed(lambda: run_rollouts(jobs, policy, empty, pool, check=is_right))
    warm_encoder = load_encoder()
    runs = [timed(lambda: run_rollouts(jobs, policy, warm_encoder, pool, check=is_right)) for _ in range(3)]
    warm_seconds, warm = min(seconds for seconds, _ in runs), runs[-1][1]
    if not [story(r) for r in expected] == [story(r) for r in cold] == [story(r) for r in warm]:
        raise AssertionError("the three ways made different rollouts")
    if warm_encoder.stats.tokens_encoded:
        raise AssertionError("a warm cache encoded something")
    tokens = plain.stats.tokens_encoded - before[0], empty.stats.tokens_encoded - before[1]
    return {
        "rollouts": len(jobs),
        "turns": sum(len(rollout.turns) for rollout in cold),
        "plain_seconds": round(plain_seconds, 1),
        "empty_seconds": round(empty_seconds, 2),
        "warm_seconds": round(warm_seconds, 3),
        "plain_tokens": tokens[0],
        "empty_tokens": tokens[1],
        "speedup_empty": round(plain_seconds / empty_seconds, 1),
        "speedup_warm": round(plain_seconds / warm_seconds, 1),
        "token_ratio": round(tokens[1] / tokens[0], 3),
    }


def empty_states(d: int):
    """An encoder that answers at once, for the pass that only fills the checkers' and the pool's own caches."""

    class Zeros:
        def encode(self, texts, *, reuse_prefix=False):
            return np.zeros((len(texts), d), np.float32)

    return Zeros()


if __name__ == "__main__":
    with own_cache():
        sys.exit(report(measure(), AIMS, MOST))
