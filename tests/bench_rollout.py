"""Benchmark of the role loop: one generation of 33 random candidates on 16 questions, simulated pool, K = 5.

One JSON line last, exit 1 below an aim. Against the plain way, one rollout at a time, every transcript encoded whole:
- `speedup_empty`, `speedup_warm`: its time over lockstep with an empty cache (aim 12) and with a warm one (aim 1,000);
- `token_ratio`: tokens that lockstep encodes with an empty cache over those of the plain way; at most 0.25.
All three ways must make the same rollouts: the same agents, roles, messages and rewards.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

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

    start = time.perf_counter()
    expected = [run_rollouts([job], policy, Plain(plain), pool, check=is_right)[0] for job in jobs]
    plain_seconds = time.perf_counter() - start
    start = time.perf_counter()
    cold = run_rollouts(jobs, policy, empty, pool, check=is_right)
    empty_seconds = time.perf_counter() - start
    warm_encoder, warm_seconds = load_encoder(), []
    for _ in range(3):
        start = time.perf_counter()
        warm = run_rollouts(jobs, policy, warm_encoder, pool, check=is_right)
        warm_seconds.append(time.perf_counter() - start)
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
        "warm_seconds": round(min(warm_seconds), 3),
        "plain_tokens": tokens[0],
        "empty_tokens": tokens[1],
        "speedup_empty": round(plain_seconds / empty_seconds, 1),
        "speedup_warm": round(plain_seconds / min(warm_seconds), 1),
        "token_ratio": round(tokens[1] / tokens[0], 3),
    }


def empty_states(d: int):
    """An encoder that answers at once, for the pass that only fills the checkers' and the pool's own caches."""

    class Zeros:
        def encode(self, texts, *, reuse_prefix=False):
            return np.zeros((len(texts), d), np.float32)

    return Zeros()


def main() -> int:
    from trinity_core.paths import cache_dir

    shared = cache_dir()
    with tempfile.TemporaryDirectory() as folder:
        # An empty cache of hidden states of the benchmark's own; the dequantised weights are shared.
        (Path(folder) / "models").symlink_to(shared / "models")
        os.environ["TRINITY_CACHE"] = folder
        figures = measure()
    missed = [name for name, aim in AIMS.items() if figures[name] < aim]
    missed += [name for name, limit in MOST.items() if figures[name] > limit]
    for name, value in figures.items():
        aim = f"  (aim {AIMS[name]:g})" if name in AIMS else f"  (at most {MOST[name]:g})" if name in MOST else ""
        print(f"{name:>15}  {value:>10,}{aim}")
    print(json.dumps({**figures, "aims": AIMS, "at_most": MOST, "missed": missed}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())
