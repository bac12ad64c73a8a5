"""Policies for any head and for SVF; coordinators saved, loaded, refused; the released vector's layout."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from svf_reference import FullPasses, written_in_order
from tiny_models import make_model

from suite.baselines.released import load_released
from trinity_core.coordinator import (
    Coordinator,
    HeadPolicy,
    SvfPolicy,
)
from trinity_core.encoder import load_encoder
from trinity_core.heads import HEADS, make_head
from trinity_core.svf_encoder import SvfEncoder
from trinity_core.types import ROLES

D = 48
TEXTS = ["w1 w2 w3 w4", [{"role": "user", "content": "w5 w6"}, {"role": "worker", "content": "w7 w8 w9"}]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    return make_model(tmp_path_factory.mktemp("tiny") / "qwen3", "qwen3")


@pytest.fixture(scope="module")
def encoder(folder):
    return load_encoder(folder, cache=False)


def pool_of(*names: str) -> SimpleNamespace:
    return SimpleNamespace(agents=tuple(SimpleNamespace(name=name) for name in names))


POOL = pool_of("first", "second", "third")


def coordinator(encoder, head: str = "linear", svf: SvfEncoder | None = None, **settings: int) -> Coordinator:
    """A coordinator of three agents with a random theta."""
    made = make_head(head, 3, D, **settings)
    theta = np.random.default_rng(3).normal(0, 0.1, made.size + (svf.size if svf else 0))
    task = SimpleNamespace(head=made, svf=svf, transform=None, world=SimpleNamespace(encoder=encoder, pool=POOL))
    return Coordinator.of(task, theta)


@pytest.mark.parametrize("name", HEADS)
def test_head_policy_gives_each_pair_its_own_candidates_logits(name):
    head, rng = make_head(name, 3, D), np.random.default_rng(1)
    thetas, states = rng.normal(0, 1, (4, head.size)), rng.normal(0, 1, (6, D))
    candidates = np.array([3, 0, 0, 2, 1, 3])
    policy = HeadPolicy(head, thetas)
    found = policy.logits(candidates, states)
    assert found.shape == (6, 3 + len(ROLES)) and policy.n_agents == 3
    assert policy.argmax == (name == "block-diagonal-10")
    for row, (candidate, state) in enumerate(zip(candidates, states, strict=True)):
        np.testing.assert_allclose(found[row], head.logits(thetas[candidate], state[None])[0], atol=1e-12)
        alone = policy.logits(candidates[row : row + 1], states[row : row + 1])
        assert np.array_equal(found[row], alone[0])  # to the last bit, whatever else is in the batch


def test_policies_refuse_what_does_not_fit(encoder):
    head = make_head("linear", 3, D)
    with pytest.raises(ValueError, match="candidates 0 to 1 asked of a population of 1; give 0 to 0"):
        HeadPolicy(head, np.zeros(head.size)).logits(np.array([0, 1]), np.zeros((2, D)))
    with pytest.raises(ValueError, match="needs 288"):
        HeadPolicy(head, np.zeros(7))
    with pytest.raises(ValueError, match="not finite"):
        HeadPolicy(head, np.full(head.size, np.inf))
    with pytest.raises(
        ValueError, match=r"7 numbers; SVF by the rule 'layer' takes 280 .* linear head 288, 568 in all"
    ):
        SvfPolicy(head, np.zeros(7), SvfEncoder(encoder))


def test_svf_policy_reads_each_candidates_own_states(encoder):
    svf, head = SvfEncoder(encoder), make_head("low-rank", 3, D)
    thetas = np.random.default_rng(2).normal(0, 0.2, (3, svf.size + head.size))
    policy, candidates = SvfPolicy(head, thetas, svf), np.array([2, 0])
    states = policy.states(candidates, TEXTS)
    expected = FullPasses(encoder).states(thetas[:, : svf.size], candidates, TEXTS)
    np.testing.assert_allclose(states, expected, atol=1e-4)
    for row, candidate in enumerate(candidates):
        alone = head.logits(thetas[candidate, svf.size :], states[row : row + 1])[0]
        np.testing.assert_allclose(policy.logits(candidates, states)[row], alone, atol=1e-12)


@pytest.mark.parametrize(
    ("head", "settings", "rule"),
    [("linear", {}, None), ("low-rank", {"rank": 14}, None), ("block-diagonal-10", {}, "layer"),
     ("linear", {}, "released")],
)  # fmt: skip
def test_saved_and_loaded_is_the_same(tmp_path, encoder, head, settings, rule):
    made = coordinator(encoder, head, SvfEncoder(encoder, rule) if rule else None, **settings)
    made.save(tmp_path / "seed.1" / "coordinator")
    assert [file.name for file in (tmp_path / "seed.1").iterdir()] == ["coordinator.safetensors"]
    for name in ("coordinator", "coordinator.safetensors"):
        found = Coordinator.load(tmp_path / "seed.1" / name, encoder=encoder, pool=POOL, head=head)
        assert found.theta.tobytes() == made.theta.tobytes() and found.theta.dtype == np.float64
        assert replace(found, theta=made.theta).__dict__ | {"theta": 0} == made.__dict__ | {"theta": 0}
    policy = found.policy(encoder)
    assert isinstance(policy, SvfPolicy) == (rule is not None)
    if rule:
        assert policy.svf.rule == rule
    assert policy.head == make_head(head, 3, D, **settings)
    assert np.array_equal(policy.thetas[0], made.theta[-policy.head.size :])
    with pytest.raises(ValueError, match="read-only"):
        found.theta[0] = 1.0


def test_another_encoder_pool_or_head_is_refused_by_name(tmp_path, encoder, folder, tmp_path_factory):
    coordinator(encoder).save(tmp_path / "c")

    def load(**changes):
        return Coordinator.load(tmp_path / "c", **({"encoder": encoder, "pool": POOL} | changes))

    load()
    other = make_model(tmp_path_factory.mktemp("tiny") / "other", "qwen3", layers=5)
    cases = {
        r"input_format: .* made with 'raw' .* has 'chat'; load the encoder with": {"input_format": "chat"},
        r"position: .* made with 'penultimate' .* has 'last'; load the encoder with": {"position": "last"},
        r"layer: .* made with 4 .* has 3; load the encoder with": {"layer": 3},
        r"fingerprint: .* made with '\w{64}' .* has '\w{64}'; use the same weights": {"dtype": "bfloat16"},
        r"fingerprint: .* made with '\w{64}' .*; use the same weights, dtype": {"random_weights": 1},
    }
    for message, settings in cases.items():
        with pytest.raises(ValueError, match=message):
            load(encoder=load_encoder(folder, cache=False, **settings))
    with pytest.raises(ValueError, match=r"layer: .* 4 .* has 5"):
        load(encoder=load_encoder(other, cache=False))
    with pytest.raises(
        ValueError, match=r"^d: .* made with 48 .* 'smollm2-135m' has 576; load the encoder that it was"
    ):
        load(encoder=load_encoder(cache=False))
    for names in (("second", "first", "third"), ("first", "second"), ("first", "second", "third", "fourth")):
        with pytest.raises(
            ValueError, match=f"pool order: .*first, second, third, but the pool has {', '.join(names)}; load"
        ):
            load(pool=pool_of(*names))
    with pytest.raises(
        ValueError, match=r"^head: .*c.safetensors holds the head 'linear', not 'sparse'; ask for that head"
    ):
        load(head="sparse")
    with pytest.raises(ValueError, match=r"^position: "):
        load().policy(load_encoder(folder, cache=False, position="last"))


def test_damaged_files_are_refused_by_name(tmp_path, encoder):
    from safetensors.numpy import save_file

    made, file = coordinator(encoder), tmp_path / "c.safetensors"
    made.save(file)
    whole, record = file.read_bytes(), {"encoder": dict(made.encoder), "agents": made.agents, "head": "linear"}

    def refused(message: str) -> None:
        with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
            Coordinator.load(tmp_path / "c", encoder=encoder, pool=POOL)

    for changes, message in (
        ({"agents": ["first", "second"]}, "needs 240"),
        ({"head": "round"}, "unknown head 'round'"),
        ({"head": "sparse"}, "the sparse head of 3 agents"),
        ({"more": 1}, "c.safetensors is damaged"),
        ({"encoder": 3}, "c.safetensors is damaged"),
        ({"encoder": {"d": 48}}, "c.safetensors is damaged"),
    ):
        save_file({"theta": made.theta}, file, {"coordinator": json.dumps(record | changes)})
        refused(message)
    for metadata in (None, {"coordinator": "{"}, {"coordinator": "[1]"}):
        save_file({"theta": made.theta}, file, metadata)
        refused("c.safetensors is damaged")
    for content in (whole[:100], whole[:-8], b""):
        file.write_bytes(content)
        refused("c.safetensors is damaged")
    file.unlink()
    refused("c.safetensors is missing; name a file that `Coordinator.save` wrote")


def test_theta_must_fit_the_head_and_be_finite(encoder):
    settings = coordinator(encoder).encoder
    for theta, rule in ((np.zeros(300), None), (np.zeros(288), "layer")):
        message = f"theta has {len(theta)} numbers; the linear head of 3 agents at d = 48 needs 288 .* rule is {rule!r}"
        with pytest.raises(ValueError, match=message):
            Coordinator(settings, ("a", "b", "c"), "linear", theta, rule)
    with pytest.raises(ValueError, match="not finite"):
        Coordinator(settings, ("a", "b", "c"), "linear", np.full(288, np.nan))
    wrong = Coordinator(settings, ("a", "b", "c"), "linear", np.zeros(300), "layer")  # 12 offsets: found by the model
    with pytest.raises(ValueError, match="theta has 300 numbers; SVF by the rule 'layer' takes 280"):
        wrong.policy(encoder)
    task = SimpleNamespace(transform=abs)
    with pytest.raises(ValueError, match="train without a transform"):
        Coordinator.of(task, np.zeros(288))


def test_released_vector(tmp_path, folder):
    """Nine blocks of offsets in the released order, then W row-major: the states and logits of the plain way."""
    encoder = load_encoder(folder, cache=False, input_format="chat")
    offsets = SvfEncoder(encoder, "released").size
    assert offsets == 48 + (48 + 20 + 20 + 48 + 48 + 48 + 48) + 48
    vector = np.random.default_rng(9).normal(0, 0.1, offsets + 10 * D)
    path = tmp_path / "model_iter_60.npy"
    np.save(path, vector)
    found = load_released(path, encoder)
    assert found.agents[0] == "GPT-5" and len(found.agents) == 7
    assert found.svf == "released" and np.array_equal(found.theta, vector)
    policy = found.policy(encoder)
    zeros = np.zeros(len(TEXTS), dtype=int)
    states = policy.states(zeros, TEXTS)
    expected = written_in_order(folder, vector[:offsets], encoder, TEXTS)
    np.testing.assert_allclose(states, expected, atol=1e-4)
    logits = expected.astype(np.float64) @ vector[offsets:].reshape(10, D).T
    np.testing.assert_allclose(policy.logits(zeros, states), logits, atol=1e-3)
    found.save(tmp_path / "kept")
    again = Coordinator.load(tmp_path / "kept", encoder=encoder, pool=pool_of(*found.agents))
    assert np.array_equal(again.theta, vector)


def test_released_vector_that_is_none_is_refused(tmp_path, folder):
    encoder = load_encoder(folder, cache=False, input_format="chat")
    path = tmp_path / "vector.npy"
    for content, message in (
        (np.zeros(19_456), r"the 376 offsets and 480 head weights, float64 of shape \(856,\).*load the encoder"),
        (np.zeros(856, dtype=np.float32), "does not hold"),
        (np.zeros((1, 856)), "does not hold"),
        (np.full(856, np.nan), "not finite"),
        (np.array([{"a": 1}], dtype=object), "vector.npy is not a plain .npy array .*only unpickled numbers are read"),
    ):
        np.save(path, content, allow_pickle=True)
        with pytest.raises(ValueError, match=message):
            load_released(path, encoder)
    for content in (b"", b"no array"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"vector.npy is not a plain .npy array"):
            load_released(path, encoder)
    with open(path, "wb") as file:
        np.savez(file, a=np.zeros(3))
    with pytest.raises(ValueError, match="does not hold"):
        load_released(path, encoder)
    with pytest.raises(FileNotFoundError, match=r"none.npy"):
        load_released(tmp_path / "none.npy", encoder)
