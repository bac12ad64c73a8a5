"""The held-out world and its pool, and what evaluations of trained heads share."""

from __future__ import annotations

import numpy as np
import pytest
from made_states import MadeEncoder, made_world

from suite import evaluation
from suite.chapters import turn_budget, zero_shot
from suite.pools import load_pool
from suite.published import published
from suite.questions import load_questions
from suite.questions.heldout import load_heldout
from suite.stats.intervals import Estimate
from suite.stats.turns import behaviour, plays_turns
from suite.worlds.simulated import SimulatedWorld
from trinity_core.heads import make_head
from trinity_core.pool import PoolError
from trinity_core.rollout import LoopSettings
from trinity_core.training import Task
from trinity_core.types import ROLES

D = 24


@pytest.fixture(scope="module")
def held_out(module_cache):
    return [question for family in zero_shot.COLUMNS for question in load_heldout(family)[:6]]


@pytest.fixture(scope="module")
def pool(held_out):
    return load_pool("paper7", questions=held_out)


@pytest.fixture
def world(held_out, pool):
    return made_world(held_out, D)


@pytest.fixture(scope="module")
def head():
    return make_head("linear", 7, D)


def thetas(head, count=3, scale=0.3):
    return scale * np.random.default_rng(5).standard_normal((count, head.size))


# --- the pool
def test_held_out_families_leave_the_pool_as_it_was(held_out):
    trained_on = load_questions(per_family=6)
    alone, both = (load_pool("paper7", questions=asked) for asked in (trained_on, trained_on + held_out))
    assert np.array_equal(alone.chances, both.chances[:, : len(trained_on)])
    for question in trained_on[::7]:
        for agent in (0, 4):
            for plan in (None, "good"):
                assert alone.probability(agent, question, plan=plan) == both.probability(agent, question, plan=plan)
            assert alone.accept_probability(agent, question, False) == both.accept_probability(agent, question, False)


def test_every_agent_alone_has_its_row_of_table_1(held_out, pool):
    table = published("table1_zero_shot").set_index("model")
    for family, column in zero_shot.COLUMNS.items():
        asked = [number for number, question in enumerate(held_out) if question.family == family]
        means = 100 * pool.chances[:, asked].mean(axis=1)
        assert means == pytest.approx([table.loc[agent.name, column] for agent in pool.agents], abs=1e-8)
        assert not any(pool.targets[agent.name, family].assumed for agent in pool.agents)


def test_mt_bench_is_not_played():
    with pytest.raises(PoolError, match="mtbench-test-000 of kind 'judge'"):
        load_pool("paper7", questions=load_heldout("mtbench"))


def test_the_held_out_world_has_the_pool_of_training(monkeypatch):
    monkeypatch.setattr(zero_shot, "get_encoder", lambda *_: MadeEncoder(D))
    world = zero_shot.heldout_world.__wrapped__("smoke")
    assert [q.family for q in world.questions] == [f for f in zero_shot.COLUMNS for _ in range(12)]
    assert world.settings == LoopSettings(transcript="released", max_turns=5)
    trained_on = load_questions(per_family=12)  # the pool of `experiments.get_world("smoke", ...)`
    other = load_pool("paper7", questions=trained_on)
    for question in trained_on[::5]:
        for agent in range(7):
            assert world.pool.probability(agent, question) == other.probability(agent, question)
    small = load_pool("paper7", questions=world.questions)
    assert np.array_equal(small.chances, world.pool.chances[:, -len(world.questions) :])


# --- evaluation
def test_all_thetas_at_once_are_the_tasks_own_rewards(world, head):
    found = evaluation.rewards_of(evaluation.play_all(world, head, thetas(head), 3), world)
    task = Task(world, head)
    assert found.shape == (3, len(world.questions), 3)
    for theta, rewards in zip(thetas(head), found, strict=True):
        assert np.array_equal(task.rewards(theta, 3), rewards)


def test_an_agent_alone_is_a_head_that_asks_it_once(held_out, pool, head):
    once = SimulatedWorld(held_out, pool, MadeEncoder(D), LoopSettings(transcript="released", max_turns=1))
    alone = evaluation.alone(once)
    assert list(alone) == [agent.name for agent in pool.agents]
    for agent, chances in enumerate(alone.values()):
        weights = np.zeros((10, D))
        weights[[agent, 7], 0] = 60.0  # this agent, as Worker
        plays = evaluation.play_all(
            once, head, weights.ravel()[None], 100, adapted_states=lambda who, nodes: np.ones((len(nodes), D))
        )
        error = np.sqrt((chances * (1 - chances)).sum() * 100) / plays.reward.size
        assert abs(plays.reward.mean() - chances.mean()) < 4 * error < 0.05


def test_an_untrained_head_reads_nothing_and_plays_the_same(world, head):
    plays = evaluation.untrained(world, head, 2)
    assert world.encoder.encoded == 0
    assert np.array_equal(plays.reward, evaluation.play_all(world, head, np.zeros((1, head.size)), 2).reward)


def reader(world, head):
    """A head that finds the best agent of each family, which stands out in the made states, and works, then checks."""
    weights, families = np.zeros((10, D)), list(zero_shot.COLUMNS)
    for place, family in enumerate(families):
        asked = [number for number, q in enumerate(world.questions) if q.family == family]
        weights[world.pool.chances[:, asked].mean(axis=1).argmax(), place] = 2.0
    weights[7 + ROLES.index("worker"), 5] = weights[7 + ROLES.index("verifier"), 6] = 2.0
    return weights.ravel()[None]


def test_who_cannot_read_loses_what_reading_gives(world, head):
    theta = reader(world, head)
    plays = evaluation.play_all(world, head, theta, 20)
    encoded = world.encoder.encoded
    blind = evaluation.blind(world, head, theta, plays, 20)
    assert world.encoder.encoded == encoded  # no text but those that were read
    assert (blind.roles[..., 0] == ROLES.index("worker")).mean() > 0.9  # it knows the turn,
    families, agents = [q.family for q in world.questions], [agent.name for agent in world.pool.agents]
    shares, own = (behaviour(plays_turns([p], families), agents) for p in (blind, plays))
    assert np.ptp(shares["Claude-4-Sonnet"]) < 12  # but not the family
    assert np.ptp(own["Claude-4-Sonnet"]) > 60
    assert own[agents].sum(axis=1).to_numpy() == pytest.approx(100)
    assert own[list(ROLES)].sum(axis=1).to_numpy() == pytest.approx(100)
    assert own["turns"].mean() == pytest.approx(plays.turns.mean())


@pytest.mark.parametrize("rule", ["released", "paper"])
def test_one_evaluation_holds_every_smaller_turn_budget(held_out, pool, head, rule):
    def played(turns):
        world = SimulatedWorld(held_out, pool, MadeEncoder(D), LoopSettings(transcript=rule, max_turns=turns))
        return world, evaluation.play_all(world, head, thetas(head), 3)

    budgets = [1, 2, 4, 5, 6]
    world, plays = played(6)
    found, calls = evaluation.at_turns(plays, world, budgets), evaluation.calls_at(plays, budgets)
    assert (plays.turns == 6).any() and (plays.turns < 3).any()
    for number, budget in enumerate(budgets):
        smaller, own = played(budget)
        assert np.array_equal(evaluation.rewards_of(own, smaller), found[number]), budget
        assert own.turns.mean() == calls[number]
    assert len({part.tobytes() for part in found}) == len(budgets)
    for wrong in (0, 7):
        with pytest.raises(ValueError, match=f"a turn budget of {wrong}: these rollouts have 1 to 6 turns"):
            evaluation.at_turns(plays, world, [wrong])


# --- the tables
def test_the_published_average_is_recomputed():
    table = zero_shot.published_table()
    assert table.loc["TRINITY", "average"] == pytest.approx((50 + 35.8 + 76.82) / 3)
    assert table.loc["Gemma-3-27B-It", "average"] - table.loc["Gemma-3-27B-It", "printed"] > 3  # notebook 00


def test_steps_of_the_turn_budget():
    budgets, families = [1, 2, 3], ["math", "math", "code", "code"]
    rewards = np.zeros((3, 2, 4, 5))
    rewards[1, :, 2:], rewards[2, :, 1:] = 1.0, 1.0  # K = 2: code; K = 3: also one of math
    assert turn_budget.step(rewards, budgets, (1, 2), families).value == 50
    assert turn_budget.step(rewards, budgets, (1, 2), families, "math") == Estimate(0, 0, 0)
    curve = turn_budget.pass_at_1(rewards, budgets, families, "code")
    assert curve["K"].tolist() == budgets and curve["value"].tolist() == [0, 100, 100]
    with pytest.raises(ValueError, match="no questions of 'aime'; choose average or one of math, code"):
        turn_budget.pass_at_1(rewards, budgets, families, "aime")


def test_turn_by_turn(world, head):
    plays = evaluation.play_all(world, head, thetas(head), 3)
    frame = turn_budget.by_turn(plays_turns([plays], [q.family for q in world.questions])).set_index("turn")
    assert frame["reached"].is_monotonic_decreasing and frame.loc[1, "reached"] == 100
    assert frame[list(ROLES)].sum(axis=1).to_numpy() == pytest.approx(100)
    later = frame["reached"].shift(-1, fill_value=0)[:-1]
    ended = (frame["accepted"] + frame["no answer"])[:-1]
    assert (later + ended).to_numpy() == pytest.approx(100)  # nothing else ends a rollout before the limit
