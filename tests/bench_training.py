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

import sys
import tempfile
from types import SimpleNamespace

import numpy as np
from benches import report, timed
from svf_reference import FullPasses

from suite.checkers import is_right
from suite.experiments import Experiment, get_world, make_task
from trinity_core.encoder import load_encoder
from trinity_core.heads import decide, make_head
from trinity_core.rollout import Job, run_rollouts
from trinity_core.svf_encoder import SvfEncoder
from trinity_core.training import PAPER_BUDGET, train
from trinity_core.training.learners import SepCmaEs

AIMS = {"svf_speedup": 20.0, "training_speedup": 22.0}
MOST = {"svf_gap": 1e-4, "optimiser_share": 0.10}


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
    seconds, fast = timed(lambda: svf.states(deltas, candidates, repeated))
    few = timed_candidates * 16
    plain_seconds, slow = timed(lambda: plain.states(deltas, candidates[:few], repeated[:few]))
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
        learner = SepCmaEs().start(SimpleNamespace(n=n, head=head), 1)
        spent = {"optimiser": 0.0, "candidates": 0.0}
        for generation in range(3):  # the first one warms up
            asking, (thetas, _) = timed(learner.ask, generation)

            def act(thetas=thetas) -> np.ndarray:
                states = svf.states(thetas[:, : svf.size], np.repeat(np.arange(33), 16), texts * 33)
                logits = head.logits(thetas[:, -head.size :], states.reshape(33, 16, -1))
                return decide(logits, 7, mode="argmax").agents.mean(axis=1)

            acting, fitness = timed(act)
            telling, _ = timed(learner.replay, fitness, {})
            if generation:
                spent["optimiser"] += asking + telling
                spent["candidates"] += acting
    return {
        "optimiser_ms": 1000 * spent["optimiser"] / 2,
        "optimiser_share": spent["optimiser"] / sum(spent.values()),
    }


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


def bench_training(share: float = 0.02) -> dict[str, float]:
    """The paper's budget, and a share of the same rollouts one at a time with the same outcome."""
    experiment = Experiment(budget=PAPER_BUDGET)
    task = make_task(experiment)
    train("sep-cma-es", task, PAPER_BUDGET, 1)  # every state that it will read is known from here on
    seconds, result = timed(train, "sep-cma-es", task, PAPER_BUDGET, 1)
    world, known = task.world, _Known(task.world)
    rollouts = int(share * PAPER_BUDGET)
    questions, replicates = task.cells(1, rollouts, 1, 0, 0)
    theta = 0.5 * result.theta[None]
    plays = task.play(theta, questions, replicates)
    known = _Known(world)  # with what these rollouts met
    weights = theta.reshape(-1, world.d)  # a linear head, one product a decision
    policy = SimpleNamespace(n_agents=7, logits=lambda candidates, states: np.array([weights @ h for h in states]))

    def one_by_one() -> list[float]:
        rewards = []
        for question, replicate in zip(questions[0], replicates[0], strict=True):
            job = Job(world.questions[question], 0, int(replicate))
            rewards += [
                r.reward for r in run_rollouts([job], policy, known, world.pool, world.settings, check=is_right)
            ]
        return rewards

    one_by_one()
    plain, rewards = timed(one_by_one)
    assert rewards == plays.reward[0].tolist(), "the two ways disagree"
    return {
        "training_seconds": seconds,
        "rollouts_a_second": result.evaluations / seconds,
        "training_speedup": plain * PAPER_BUDGET / rollouts / seconds,
    }


if __name__ == "__main__":
    sys.exit(report(bench_training() | bench_svf() | bench_optimiser(), AIMS, MOST))
