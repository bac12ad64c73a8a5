"""What an ablation forbids is never chosen, and all else stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from made_states import MadeEncoder

from trinity_core.heads import HEAD_NAMES, agent_role_probabilities, make_head
from trinity_core.masked_head import NEVER, without
from trinity_core.pool import load_pool
from trinity_core.rollout import LoopSettings
from trinity_core.tasks import load_questions
from trinity_core.training import Task, train
from trinity_core.training import experiments as ex
from trinity_core.training.learners import SepCmaEs
from trinity_core.types import ROLES
from trinity_core.world import SimulatedWorld

D, AGENTS = 24, ("A", "B", "C", "D", "E", "F", "G")
SMALL = SepCmaEs(population=8, rollouts=6)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def world():
    questions = load_questions(per_family=3, split="train")
    pool = load_pool("paper7", questions=questions)
    return SimulatedWorld(questions, pool, MadeEncoder(D, questions), LoopSettings(transcript="released"))


def drawn(head, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((3, head.size)), generator.standard_normal((3, 4, D))


@pytest.mark.parametrize("name", HEAD_NAMES)
def test_only_the_forbidden_logits_change(name):
    head = make_head(name, 7, D)
    masked = without(head, ("thinker", "B"), AGENTS)
    theta, states = drawn(head)
    plain, found = head.logits(theta, states), masked.logits(theta, states)
    kept = [place for place in range(10) if place not in (1, 8)]
    assert np.array_equal(found[..., kept], plain[..., kept]) and (found[..., [1, 8]] == NEVER).all()
    agents, roles = agent_role_probabilities(found, 7)
    assert (agents[..., 1] == 0).all() and (roles[..., 1] == 0).all()
    assert np.array_equal(masked.initial(np.random.default_rng(1)), head.initial(np.random.default_rng(1)))
    assert (masked.size, masked.d, masked.argmax) == (head.size, head.d, head.argmax)
    assert masked.name == f"{name} without B, thinker"
    assert masked.join(masked.split(theta)) == pytest.approx(theta)


def test_the_soft_gate_goes_through():
    head = make_head("sparse", 7, D)
    masked = without(head, ("A",), AGENTS)
    theta, states = drawn(head)
    noise = {"training": True, "gumbel": np.zeros((3, D))}
    assert np.array_equal(masked.logits(theta, states, **noise)[..., 1:], head.logits(theta, states, **noise)[..., 1:])


@pytest.mark.parametrize("mode", ["sample", "argmax"])
def test_what_is_forbidden_never_acts(world, mode):
    names = [agent.name for agent in world.pool.agents]
    head = make_head("linear", 7, D)
    thetas, questions = drawn(head)[0], np.tile(np.arange(12), (3, 1))
    forbidden = {
        "no Thinker": ("thinker",),
        "Workers alone": ("thinker", "verifier"),
        "one agent": tuple(name for name in names if name != "Gemini-2.5-pro"),
    }
    for what, group in forbidden.items():
        plays = world.play(without(head, group, names), thetas, questions, questions, mode=mode)
        acted = plays.agents >= 0
        seen = {names[a] for a in plays.agents[acted]} | {ROLES[r] for r in plays.roles[acted]}
        assert not seen & set(group), what
        if "thinker" in group:
            assert not plays.named.any()
        if what == "Workers alone":
            assert (plays.turns == world.settings.max_turns).all()


def test_training_keeps_its_draws(world):
    """The masked numbers have no effect: two thetas that differ in nothing else play the same rollouts."""
    names = [agent.name for agent in world.pool.agents]
    task = Task(world, without(make_head("linear", 7, D), ("thinker",), names))
    result = train("sep-cma-es", task, 500, 1, settings=SMALL)
    assert result.history["role: thinker"].max() == 0 and result.history["role: worker"].min() > 0
    other = task.head.split(result.theta)["W"].copy()
    other[8] += 5.0
    same = [task.rewards(theta, 2) for theta in (result.theta, other.ravel())]
    assert np.array_equal(*same)
    assert task.describe()["head"][0] == "linear without thinker"


def test_an_experiment_says_what_it_does_without(world, monkeypatch):
    monkeypatch.setattr(ex, "get_world", lambda *args, **kwargs: world)
    masked = ex.make_task(ex.Experiment(without=("thinker", "verifier"))).head
    assert masked.name == "linear without thinker, verifier"
    assert ex.make_task(ex.Experiment()).head.name == "linear"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("Thinker",), "cannot do without 'Thinker'"),
        (("verifier",), "a Thinker could still name the verifier"),
        (ROLES, "no role is left"),
        (AGENTS, "no agent is left"),
        ("thinker", "give a tuple"),
        ((), "at least one name"),
    ],
)
def test_what_cannot_be_left_out_is_named(names, said):
    with pytest.raises(ValueError, match=said):
        without(make_head("linear", 7, D), names, AGENTS)


def test_the_pool_must_fit():
    with pytest.raises(ValueError, match="2 agents' names"):
        without(make_head("linear", 7, D), ("A",), ("A", "B"))
