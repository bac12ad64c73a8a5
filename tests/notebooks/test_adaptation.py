"""What notebook 07 measures of SVF, on small made models and on the smoke profile's world."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from suite.chapters import svf_and_position as adaptation
from suite.experiments import Experiment, make_task
from trinity_core.heads import agent_role_probabilities
from trinity_core.svf import EMBEDDING, HEAD, Svf
from trinity_core.training.learners import SepCmaEs

TIED, UNTIED = f"model.{EMBEDDING}", HEAD


def test_shapes_give_the_papers_counts():
    shapes = adaptation.qwen3_shapes()
    assert Svf(shapes).size == 7 * 1024
    assert Svf(shapes, "released").size == 9 * 1024
    assert shapes.model.get_parameter(EMBEDDING).is_meta  # no gigabyte was spent on it


@pytest.mark.parametrize("tied", [True, False])
def test_blocks_written_in_order_are_what_svf_says(tied):
    model = adaptation.tiny_qwen3(tied)
    svf = Svf(SimpleNamespace(name="tiny", model=model.model), "released")
    blocks = adaptation.released_blocks(model)
    assert [name.removeprefix("model.") for name in blocks] == list(svf.sizes)
    delta = np.random.default_rng(1).normal(0, 0.2, svf.size)
    written = adaptation.write_in_order(model, delta)
    for name, tensor in svf.weights(delta).items():
        np.testing.assert_allclose(written.model.get_parameter(name).numpy(), tensor.numpy(), atol=1e-4)
    assert np.abs(adaptation.final_state(written) - adaptation.final_state(model)).max() > 0.05
    same = adaptation.write_in_order(model, np.zeros(svf.size))
    np.testing.assert_allclose(adaptation.final_state(same), adaptation.final_state(model), atol=1e-5)
    with pytest.raises(ValueError, match=f"the nine blocks take {svf.size}"):
        adaptation.write_in_order(model, np.append(delta, 0.0))


def test_one_block_is_inert_and_tying_says_which():
    tied, untied = adaptation.moved_by_block(True), adaptation.moved_by_block(False)
    assert [name for name, moved in tied.items() if moved < 1e-5] == [TIED]
    assert [name for name, moved in untied.items() if moved < 1e-5] == [UNTIED]
    assert min(moved for name, moved in tied.items() if name != TIED) > 0.01
    assert adaptation.moved_by_block(True, anew=True)[TIED] > 0.01  # it would act if the writes compounded


def test_offsets_of_one_block():
    delta = adaptation.offsets_of({"a": 2, "b": 3, "c": 1}, "b", 0.2, seed=3)
    assert delta[[0, 1, 5]].tolist() == [0, 0, 0]
    assert delta[2:5].tolist() == np.random.default_rng(3).normal(0, 0.2, 3).tolist()


def test_bfloat16_steps_and_round_trip():
    import torch

    offsets = adaptation.bfloat16_offsets(np.array([0.0, 0.001, 0.005, 0.0078125, -0.003, -0.01]))
    assert offsets.tolist() == [0.0, 0.0, 0.0078125, 0.0078125, -0.00390625, -0.01171875]
    matrix = torch.randn(20, 30, generator=torch.Generator().manual_seed(0))
    share, error = adaptation.bfloat16_round_trip(matrix)
    assert 0 < share < 0.9 and 1e-4 < error < 0.05
    assert adaptation.bfloat16_round_trip(torch.eye(4)) == (1.0, 0.0)


@pytest.fixture(scope="module")
def task():
    """SVF of a made encoder: states move by the sum of the offsets along one direction."""
    direction = np.array([1.0, -1.0, 0.5, 0.0])
    states = np.random.default_rng(0).normal(size=(6, 4))

    class Adapted:
        size, rule = 5, "layer"

        def states(self, deltas, candidates, texts):
            rows = np.array([states[int(text[0]["content"])] for text in texts])
            return (rows + deltas.sum(axis=1)[candidates, None] * direction).astype(np.float32)

    from trinity_core.heads import make_head
    from trinity_core.training.task import Task

    transcripts = [SimpleNamespace(messages=lambda i=i: [{"role": "user", "content": str(i)}]) for i in range(6)]
    world = SimpleNamespace(tree=SimpleNamespace(transcripts=transcripts), n_agents=2, d=4)
    return Task(world, make_head("linear", 2, 4), svf=Adapted())


def test_choices_moved_against_a_plain_loop(task):
    theta, nodes = np.random.default_rng(1).normal(size=task.head.size), np.array([0, 2, 5])
    found = adaptation.choices_moved(task, theta, nodes, 0.1, 3, seed=4)
    noise = 0.1 * np.random.default_rng([4, 3]).standard_normal((3, 5))
    agents = []
    for delta in noise:
        for node in nodes:
            text = [task.world.tree.transcripts[node].messages()]
            before = task.svf.states(np.zeros((1, 5)), np.zeros(1, int), text)
            after = task.svf.states(delta[None], np.zeros(1, int), text)
            old, new = (agent_role_probabilities(task.head.logits(theta, h), 2)[0][0] for h in (before, after))
            agents.append(np.abs(new - old).sum() / 2)
    assert found["agents"] == pytest.approx(np.mean(agents))
    assert adaptation.choices_moved(task, theta, nodes, 0.0, 3, seed=4) == {"state": 0, "agents": 0, "roles": 0}
    # At a head of zeros offsets say nothing, weights do.
    assert adaptation.choices_moved(task, 0 * theta, nodes, 0.1, 3, seed=4)["agents"] == 0
    by_head = adaptation.choices_moved(task, 0 * theta, nodes, 0.1, 3, seed=4, what="head")
    assert by_head["state"] == 0 and by_head["agents"] > 0
    table = adaptation.noise_table(
        task, {"a": theta, "b": 0 * theta}, [0.1, 0.2], 0.1, nodes=nodes, candidates=3, seed=4
    )
    assert table["what"].tolist() == ["offsets", "offsets", "head"] * 2
    assert table["agents"][[0, 5]].tolist() == [found["agents"], by_head["agents"]]


def test_arms_share_questions_and_draws():
    """On the real small model; a theta whose offsets are 0 plays as the head alone does."""
    small = Experiment(profile="smoke", per_family=1, budget=8, settings=SepCmaEs(population=4, rollouts=1))
    plain = adaptation.train_arm(small, seeds=2, test_per_family=1, replicates=2)
    assert len(plain) == 2 and plain[0].test_rewards.shape == (4, 2) and plain[0].without_offsets is None
    assert not np.array_equal(plain[0].result.theta, plain[1].result.theta)
    (adapted,) = adaptation.train_arm(replace(small, svf="layer"), seeds=1, test_per_family=1, replicates=2)
    task = make_task(replace(small, svf="layer"))
    assert len(adapted.result.theta) == task.svf.size + len(plain[0].result.theta)
    assert adapted.test_rewards.shape == adapted.without_offsets.shape == (4, 2)
    theta = np.concatenate([np.zeros(task.svf.size), plain[0].result.theta])
    np.testing.assert_array_equal(task.rewards(theta, 2), make_task(small).rewards(plain[0].result.theta, 2))


def test_tokens_read():
    reader = SimpleNamespace(tokens=lambda text: text.split(), position_index=lambda text: len(text.split()) - 2)
    assert adaptation.tokens_read(reader, ["a b c", "d b e", "f g"]) == {"b": 2, "f": 1}
