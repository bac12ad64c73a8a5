"""What SVF offsets are made of, which of them act, what they move, and what training makes of them (section 3.1).

`tiny_qwen3` is a small random model of the make of the paper's, into which `write_in_order` writes the nine blocks of
the released vector one after the other, by NumPy and PyTorch alone, not by `trinity_core.svf`. `train_arm` is one side
of an ablation at a small budget: with SVF every candidate has hidden states of its own, to be read nowhere.

Symbols: delta -> `delta`, sigma -> `sigma`, W -> the linear head of `theta`, pi -> `agent_role_probabilities`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm
from transformers import AutoModel, AutoModelForCausalLM, Qwen3Config

from suite.experiments import Experiment, first_states, get_world, make_task
from suite.stats import separability as sep
from suite.stats.separability import Accuracy
from suite.worlds.simulated import SimulatedWorld
from trinity_core.encoder import Encoder
from trinity_core.heads import agent_role_probabilities
from trinity_core.svf import EMBEDDING, HEAD, MATRICES
from trinity_core.training.task import Task
from trinity_core.training.train import TrainingResult, train


def qwen3_shapes() -> SimpleNamespace:
    """Qwen3-0.6B as `Svf` wants an encoder: every shape and setting (the model's public config), no weights at all."""
    config = Qwen3Config(
        vocab_size=151_936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("meta"):
        return SimpleNamespace(name="Qwen/Qwen3-0.6B", model=AutoModel.from_config(config))


def tiny_qwen3(tied: bool, seed: int = 0) -> Any:
    """A causal Qwen3 of 4 blocks, d = 48, random weights, float64; `tied`: head and embedding are one tensor."""
    config = Qwen3Config(
        vocab_size=60, hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=6,
        num_key_value_heads=2, head_dim=10, max_position_embeddings=64, tie_word_embeddings=tied, initializer_range=0.3,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(config).double().eval().requires_grad_(False)


def final_state(model: Any, tokens: Sequence[int] = (3, 14, 15, 9, 26, 5, 35)) -> np.ndarray:
    """The last hidden state (d,) of the penultimate token of a causal model."""
    with torch.no_grad():
        output = model(input_ids=torch.tensor([list(tokens)]), output_hidden_states=True)
    return output.hidden_states[-1][0, -2].numpy()


def released_blocks(model: Any) -> dict[str, int]:
    """The nine tensors of the released vector in state-dict order -> the number of singular values of each."""
    middle = f"model.layers.{model.config.num_hidden_layers - 2}."
    wanted = {f"model.{EMBEDDING}", HEAD, *(f"{middle}{name}.weight" for name in MATRICES)}
    return {name: min(tensor.shape) for name, tensor in model.state_dict().items() if name in wanted}


def write_in_order(model: Any, delta: np.ndarray, anew: bool = False) -> Any:
    """A copy of `model` into which the nine blocks of `delta` (flat) were written one after the other. Each tensor is
    decomposed as it was at the start, or with `anew` as it stands by then: two writes to one tensor compound."""
    written = copy.deepcopy(model)
    state, start = written.state_dict(), 0
    for name, size in released_blocks(model).items():
        tensor = (state if anew else model.state_dict())[name]
        u, s, vt = np.linalg.svd(tensor.numpy(), full_matrices=False)
        values = s * (1 + delta[start : start + size])
        state[name].copy_(torch.from_numpy((u * (values * s.sum() / values.sum())) @ vt))
        start += size
    if start != len(delta):
        raise ValueError(f"delta has {len(delta)} numbers; the nine blocks take {start}")
    return written


def offsets_of(sizes: Mapping[str, int], block: str, spread: float, seed: int) -> np.ndarray:
    """Offsets for blocks of `sizes`, flat: N(0, spread^2) in one block, 0 in all others."""
    generator = np.random.default_rng(seed)
    parts = [generator.normal(0, spread, size) if name == block else np.zeros(size) for name, size in sizes.items()]
    return np.concatenate(parts)


def moved_by_block(tied: bool, anew: bool = False, scale: float = 0.2, seed: int = 0) -> dict[str, float]:
    """Block -> how far offsets of that block alone move the state of a `tiny_qwen3`, over the state's length."""
    model, moved = tiny_qwen3(tied), {}
    before, blocks = final_state(model), released_blocks(model)
    for name in blocks:
        after = final_state(write_in_order(model, offsets_of(blocks, name, scale, seed), anew))
        moved[name] = float(np.linalg.norm(after - before) / np.linalg.norm(before))
    return moved


def bfloat16_round_trip(matrix: Any) -> tuple[float, float]:
    """U diag(s) V^T of a float32 tensor, factors and product in bfloat16, against the tensor in bfloat16: the share of
    entries that come back as they were, and the error's length over the tensor's."""
    before = matrix.to(torch.bfloat16)
    u, s, vt = (part.to(torch.bfloat16) for part in torch.linalg.svd(before.float(), full_matrices=False))
    after = (u * s) @ vt
    error = (after.double() - before.double()).norm() / before.double().norm()
    return float((after == before).double().mean()), float(error)


def bfloat16_offsets(delta: np.ndarray) -> np.ndarray:
    """The offsets that 1 + delta in bfloat16 leaves of `delta`."""
    return (1 + torch.from_numpy(np.asarray(delta, np.float64))).to(torch.bfloat16).double().numpy() - 1


def choices_moved(
    task: Task, theta: np.ndarray, nodes: np.ndarray, sigma: float, candidates: int, seed: int, what: str = "offsets"
) -> dict[str, float]:
    """How far the noise of candidates N(theta, sigma^2) moves choices at transcripts `nodes` of the task's world.
    `theta` is a head without offsets, `task` one with SVF; `what`: noise for the "offsets" or for the "head". Means
    over candidates and nodes: `state`, its change over the mean distance between two states; `agents`, `roles`: the
    share of choices that change (total variation between the two policies)."""
    generator = np.random.default_rng([seed, candidates])
    deltas, thetas = np.zeros((candidates, task.svf.size)), np.tile(theta, (candidates, 1))
    noise = deltas if what == "offsets" else thetas
    noise += sigma * generator.standard_normal(noise.shape)
    texts = [task.world.tree.transcripts[node].messages() for node in nodes]
    before = task.svf.states(np.zeros((1, task.svf.size)), np.zeros(len(texts), int), texts).astype(np.float64)
    after = np.broadcast_to(before, (candidates, *before.shape))
    if what == "offsets":
        rows = task.svf.states(deltas, np.repeat(np.arange(candidates), len(texts)), texts * candidates)
        after = rows.reshape(after.shape).astype(np.float64)
    old = agent_role_probabilities(task.head.logits(theta, before), task.world.n_agents)
    new = agent_role_probabilities(task.head.logits(thetas, after), task.world.n_agents)
    apart = np.linalg.norm(before[:, None] - before, axis=-1).sum() / (len(nodes) * (len(nodes) - 1))
    length = np.linalg.norm(after - before, axis=-1) / apart
    agents, roles = (float(np.abs(b - a).sum(axis=-1).mean() / 2) for a, b in zip(old, new, strict=True))
    return {"state": float(length.mean()), "agents": agents, "roles": roles}


def noise_table(
    task: Task, heads: Mapping[str, np.ndarray], spreads: Sequence[float], sigma: float, **noise: Any
) -> pd.DataFrame:
    """`choices_moved` of several heads: by offsets of each of `spreads`, then by head weights of `sigma`."""
    asked = [*(("offsets", spread) for spread in spreads), ("head", sigma)]
    rows = [
        {"head": name, "what": what, "sigma": spread}
        | choices_moved(task, theta, sigma=spread, what=what, **noise)
        for name, theta in heads.items()
        for what, spread in asked
    ]  # fmt: skip
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Judged:
    """A training and rewards (n_questions, R) on some test questions, in the manner of `Trained`; `without_offsets`:
    the same with all SVF offsets set to 0, on the same draws."""

    result: TrainingResult
    test_rewards: np.ndarray
    without_offsets: np.ndarray | None


def train_arm(experiment: Experiment, seeds: int, test_per_family: int, replicates: int) -> list[Judged]:
    """Trains `experiment` with the seeds 1 to `seeds` and judges it on a part of the test questions: in one process,
    since what lies below the adapted block is encoded once for all seeds."""
    e, task, judged = experiment, make_task(experiment), []
    test = get_world(e.profile, "test", e.transcript, e.max_turns, e.position, test_per_family)
    for seed in tqdm(range(1, seeds + 1), desc="trainings", leave=False):
        result, without = train(e.method, task, e.budget, seed, settings=e.settings), None
        if task.svf is not None:
            without = replace(task, svf=None).rewards(result.theta[task.svf.size :], replicates, test)
        judged.append(Judged(result, task.rewards(result.theta, replicates, test), without))
    return judged


def tokens_read(encoder: Encoder, texts: Sequence[Any]) -> Counter[str]:
    """Which tokens stand where the encoder reads, and how often."""
    return Counter(encoder.tokens(text)[encoder.position_index(text)] for text in texts)


def probes(world: SimulatedWorld, seed: int, folds: int = 4, repeats: int = 3) -> dict[str, Accuracy]:
    """What a linear SVM reads from the states of questions alone and followed by one answer: their `family`, whether
    there is an answer, whether it is right. No question is on both sides of a split."""
    states, roots = first_states(world), np.arange(len(world.questions))
    asked, said = np.repeat(roots, 2), np.tile([0, 1], len(roots))  # followed by the right answer, by the wrong one
    alone = len(roots)
    tests = {
        "family": (states[:alone], np.array([question.family for question in world.questions]), roots),
        "answered": (states, np.repeat([0, 1], [alone, len(asked)]), np.concatenate([roots, asked])),
        "right": (states[alone:], (said == 0).astype(int), asked),
    }
    found = {}
    for label, (inputs, y, groups) in tests.items():
        splits = sep.group_splits(y, groups, folds=folds, repeats=repeats, seed=seed)
        found[label] = sep.evaluate(sep.svm(), inputs, y, splits)
    return found
