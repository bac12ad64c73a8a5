"""Training's speed, as ratios against the naive way in one run: `python tests/bench_training.py`.

svf        SVF candidates through the shared prefix against a full forward pass a candidate and transcript (a few
           candidates are timed and scaled), the same states within 1e-4 of a state's largest number
optimiser  the share of pycma's ask and tell in a generation at n = 19,456 (Qwen3-0.6B's widths: 9,216 offsets and the
           head), the rest being SVF candidates through the shared prefix
training   one whole training at the paper's budget on known hidden states against the same loop written plainly, one
           rollout at a time (a share of the rollouts is timed and scaled)

Prints one JSON line last; exit 1 below an aim.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time

import numpy as np
from svf_reference import FullPasses

from suite.checkers import is_right
from suite.experiments import Experiment, get_world, make_task
from trinity_core.encoder import load_encoder
from trinity_core.heads import decide, make_head
from trinity_core.rollout import Job, run_rollouts
from trinity_core.svf_encoder import SvfEncoder
from trinity_core.training import PAPER_BUDGET, train
from trinity_core.training.learners import SepCmaEs

AIMS = {"svf_speedup": 10.0, "svf_gap": 1e-4, "optimiser_share": 0.10, "training_speedup": 20.0}


def timed(work):
    """(what it returned, seconds)."""
    began = time.perf_counter()
    out = work()
    return out, time.perf_counter() - began


def bench_svf(timed_candidates: int = 2) -> dict[str, float]:
    """33 candidates on 16 transcripts, one answer long."""
    world = get_world("offline", "train")
    nodes = world.tree.child(np.arange(0, 64, 4), np.zeros(16, int))
    texts = [world.tree.transcripts[node].messages() for node in nodes]
    encoder = load_encoder(cache=False)
    svf, plain = SvfEncoder(encoder), FullPasses(encoder)
    deltas = 0.03 * np.random.default_rng(0).standard_normal((33, svf.size))
    svf.states(deltas[:1] * 0.5, np.zeros(1, int), texts[:1])  # both have decomposed and warmed up
    candidates, repeated = np.repeat(np.arange(33), 16), texts * 33
    fast, seconds = timed(lambda: svf.states(deltas, candidates, repeated))
    few = timed_candidates * 16
    slow, plain_seconds = timed(lambda: plain.states(deltas, candidates[:few], repeated[:few]))
    gap = np.abs(fast[:few] - slow).max(axis=1) / np.abs(slow).max(axis=1)
    return {
        "svf_seconds": seconds,
        "svf_speedup": plain_seconds * 33 / timed_candidates / seconds,
        "svf_gap": float(gap.max()),
    }


def bench_optimiser() -> dict[str, float]:
    """A generation of 33 candidates on 16 transcripts of 64 tokens at the widths of Qwen3-0.6B, random weights."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    with tempfile.TemporaryDirectory() as folder:
        config = Qwen3Config(
            vocab_size=1024, hidden_size=1024, intermediate_size=3072, num_hidden_layers=3, num_attention_heads=16,
            num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
        )  # fmt: skip
        torch.manual_seed(0)
        Qwen3ForCausalLM(config).save_pretrained(folder)
        tokenizer = Tokenizer(models.WordLevel({str(n): n for n in range(1024)}, unk_token="0"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="0").save_pretrained(folder)
        encoder = load_encoder(folder, cache=False)
        svf = SvfEncoder(encoder)
        head = make_head("linear", 7, encoder.d)
        n = 9216 + head.size
        generator = np.random.default_rng(0)
        texts = [" ".join(map(str, generator.integers(1, 1024, 64))) for _ in range(16)]
        learner = SepCmaEs().start(_Sized(n, head), 1)
        spent = {"optimiser": 0.0, "candidates": 0.0}
        for generation in range(3):  # the first one warms up
            (thetas, _), asking = timed(lambda number=generation: learner.ask(number))

            def act(thetas=thetas) -> np.ndarray:
                states = svf.states(thetas[:, : svf.size], np.repeat(np.arange(33), 16), texts * 33)
                logits = head.logits(thetas[:, -head.size :], states.reshape(33, 16, -1))
                return decide(logits, 7, mode="argmax").agents.mean(axis=1)

            fitness, acting = timed(act)
            _, telling = timed(lambda fitness=fitness: learner.replay(fitness, {}))
            if generation:
                spent["optimiser"] += asking + telling
                spent["candidates"] += acting
    return {
        "optimiser_ms": 1000 * spent["optimiser"] / 2,
        "optimiser_share": spent["optimiser"] / sum(spent.values()),
    }


class _Sized:
    """What a learner asks of a task."""

    def __init__(self, n: int, head) -> None:
        self.n, self.head = n, head


class _Known:
    """An encoder whose states are all known."""

    def __init__(self, world) -> None:
        self.d = world.d
        self._state = {
            tuple(message["content"] for message in transcript.messages()): world.states(node)
            for node, transcript in enumerate(world.tree.transcripts)
        }

    def encode(self, texts, *, reuse_prefix: bool = False) -> np.ndarray:
        """As `Encoder.encode`."""
        return np.array([self._state[tuple(message["content"] for message in text)] for text in texts])


class _Plain:
    """A linear head, one product a decision."""

    n_agents = 7

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def logits(self, candidates, states) -> np.ndarray:
        """As `Policy.logits`."""
        return np.array([self.weights[c] @ h for c, h in zip(candidates, states, strict=True)])


def bench_training(share: float = 0.02) -> dict[str, float]:
    """The paper's budget, and a share of the same rollouts one at a time with the same outcome."""
    experiment = Experiment(budget=PAPER_BUDGET)
    task = make_task(experiment)
    train("sep-cma-es", task, PAPER_BUDGET, 1)  # every state that it will read is known from here on
    result, seconds = timed(lambda: train("sep-cma-es", task, PAPER_BUDGET, 1))
    world, known = task.world, _Known(task.world)
    rollouts = int(share * PAPER_BUDGET)
    questions, replicates = task.cells(1, rollouts, 1, 0, 0)
    theta = 0.5 * result.theta[None]
    plays = task.play(theta, questions, replicates)
    known = _Known(world)  # with what these rollouts met
    policy = _Plain(theta.reshape(1, -1, world.d))

    def one_by_one() -> list[float]:
        rewards = []
        for question, replicate in zip(questions[0], replicates[0], strict=True):
            job = Job(world.questions[question], 0, int(replicate))
            rewards += [r.reward for r in run_rollouts([job], policy, known, world.pool, world.settings, check=is_right)]
        return rewards

    one_by_one()
    rewards, plain = timed(one_by_one)
    assert rewards == plays.reward[0].tolist(), "the two ways disagree"
    return {
        "training_seconds": seconds,
        "rollouts_a_second": result.evaluations / seconds,
        "training_speedup": plain * PAPER_BUDGET / rollouts / seconds,
    }


def main() -> int:
    """Runs the three parts."""
    found = bench_training() | bench_svf() | bench_optimiser()
    found = {name: float(f"{value:.4g}") for name, value in found.items()}
    good = {
        name: found[name] <= aim if name in ("svf_gap", "optimiser_share") else found[name] >= aim
        for name, aim in AIMS.items()
    }
    print(json.dumps(found | {"aims": AIMS, "ok": all(good.values())}))
    return 0 if all(good.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
