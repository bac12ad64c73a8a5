"""What answering costs: the same calls counted in two ways, closed forms for time, and equal tokens."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from baseline_runs import run_baseline
from made_states import MadeEncoder, RoundedEncoder

from suite.baselines.committee import vote
from suite.chapters import cost
from suite.chapters.in_distribution import System, run_system
from suite.checkers import is_right
from suite.experiments import REPLICATES
from suite.pools import load_pool
from suite.questions import load_questions
from suite.worlds.simulated import SimulatedWorld
from trinity_core.coordinator import HeadPolicy
from trinity_core.heads import make_head
from trinity_core.pool import Agent
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.training import Task
from trinity_core.training.task import FRESH
from trinity_core.types import Message, Rollout, Turn

SPEED = np.array([90.0, 60, 120, 40, 40, 40, 40])


@pytest.fixture(scope="module")
def world(module_cache):
    questions = load_questions(per_family=3, split="test")
    return SimulatedWorld(questions, load_pool("paper7", questions=questions), MadeEncoder(), LoopSettings())


@pytest.fixture(scope="module")
def meter(world):
    own = cost.own_prices(world.pool)
    return cost.Meter({"assumed": own, "double": 2 * own}, 2.0, SPEED, 0.5)


def families(world):
    return [question.family for question in world.questions]


def test_a_coordinator_costs_what_its_rollouts_cost(world, meter):
    head = make_head("linear", 7, 24)
    thetas = 0.4 * np.random.default_rng(0).standard_normal((2, head.size))
    ours = cost.of_coordinator(Task(world, head), thetas, world, meter)
    assert (cost.own_prices(world.pool) == meter.prices["assumed"]).all()  # the world is as it was
    numbers = range(FRESH, FRESH + REPLICATES)
    jobs = [Job(question, s, r) for s in range(2) for question in world.questions for r in numbers]
    rollouts = run_rollouts(
        jobs, HeadPolicy(head, thetas), RoundedEncoder(), world.pool, world.settings, check=is_right
    )
    theirs = meter.table(rollouts)
    assert {rollout.stop for rollout in rollouts} >= {"accepted", "verifier before answer"}
    for name in ("reward", "calls", "tokens_in", "tokens_out"):
        assert np.array_equal(ours[name], theirs[name]), name
    for name in ("$ assumed", "$ double"):
        assert ours[name].to_numpy() == pytest.approx(theirs[name].to_numpy(), rel=1e-12)
    assert ours["$ double"].to_numpy() == pytest.approx(2 * ours["$ assumed"].to_numpy(), rel=1e-12)
    place = next(i for i, rollout in enumerate(rollouts) if len(rollout.turns) >= 2 and rollout.turns[-1].prompt)
    turns, question = rollouts[place].turns, rollouts[place].question
    expected = sum(2.5 + world.pool.mean_tokens(t.agent, question.family) / SPEED[t.agent] for t in turns)
    assert ours["seconds"].iloc[place] == ours["at once"].iloc[place] == pytest.approx(expected)
    early = next(i for i, rollout in enumerate(rollouts) if len(rollout.turns) == 1 and not rollout.turns[0].prompt)
    assert rollouts[early].stop == "verifier before answer"
    assert ours["calls"].iloc[early] == 0 and ours["seconds"].iloc[early] == 0.5


def made(question, *calls):
    """A rollout of calls (agent, prompt, tokens out)."""

    def turn(k, agent, prompt, out):
        asked = ({"role": "user", "content": prompt},)
        return Turn(k, agent, "worker", False, (), (), asked, Message("x", 10, out, 0, "stop"), "")

    turns = tuple(turn(k, *call) for k, call in enumerate(calls, 1))
    return Rollout(question, 0, 0, turns, "x", 1.0, "turn limit")


def test_seconds_by_hand(world, meter):
    question = world.questions[0]
    same, chain, committee = (
        made(question, (0, "q", 90), (0, "q", 180), (0, "q", 45)),
        made(question, (0, "q", 90), (0, "q, a", 180), (0, "q, a, b", 45)),
        made(question, (0, "q", 90), (2, "q", 360), (1, "q, all", 60)),
    )
    use = meter.table([same, chain, committee])
    assert use["seconds"].tolist() == pytest.approx([6 + 1 + 2 + 0.5, 6 + 1 + 2 + 0.5, 6 + 1 + 3 + 1])
    assert use["at once"].tolist() == pytest.approx([2 + 2, 9.5, 2 + 3 + 2 + 1])
    assert use["calls"].tolist() == [3, 3, 3] and use["tokens_in"].tolist() == [30, 30, 30]
    price = meter.prices["assumed"]
    expected = 10 * price[[0, 2, 1], 0].sum() + 90 * price[0, 1] + 360 * price[2, 1] + 60 * price[1, 1]
    assert use["$ assumed"].iloc[2] == pytest.approx(expected)


def test_times_are_checked():
    with pytest.raises(ValueError, match="speeds above 0"):
        cost.Meter({}, 1.0, np.array([10.0, 0.0]), 0.0)
    with pytest.raises(ValueError, match="first_token = -1"):
        cost.Meter({}, -1.0, np.array([10.0]), 0.0)


def test_baselines_are_counted_whole(world, meter):
    run = partial(run_system, world=world, training=(), seeds=1, replicates=2, table=meter.table)
    moa, bill = run(System("moa"))
    assert (moa["calls"] == 8).all() and not bill
    assert moa["at once"].mean() < moa["seconds"].mean() / 2  # seven of the eight calls go out together
    row = cost.overview({"MoA": moa}, families(world)).iloc[0]
    assert row["calls"] == 8 and row["$ double"] == pytest.approx(2 * row["$ assumed"])
    assert row["$ assumed"] == pytest.approx(1000 * moa["$ assumed"].mean()) == pytest.approx(1000 * moa["cost"].mean())
    assert row["score"] == pytest.approx(100 * moa["reward"].mean()) and row["low"] <= row["score"] <= row["high"]
    majority, _ = run(System("majority", "GPT-5"))
    assert (majority["calls"] == 5).all() and (majority["at once"] < majority["seconds"] / 2).all()


def test_the_front_is_what_nothing_beats():
    generator = np.random.default_rng(3)
    price, score = generator.integers(0, 6, (2, 40))
    for i, on in enumerate(cost.front(price, score)):
        no_worse = (price <= price[i]) & (score >= score[i])
        assert on == (not (no_worse & ((price != price[i]) | (score != score[i]))).any())


def test_majority_steps_are_the_committees_votes(world):
    agent, R = 2, 2
    ladder = cost.majority_ladder(world.pool, world.questions, agent, samples=5, replicates=R)
    assert ladder.efforts == (1, 3, 5) and ladder.reward.shape == ladder.tokens.shape == (3, 12, R)
    for r in range(R):
        whole = run_baseline("majority", world.pool, world.questions, seed=1, replicate=FRESH + r, agent=agent)
        assert ladder.reward[2, :, r].tolist() == [rollout.reward for rollout in whole]
        for row, rollout in enumerate(whole):
            said = [turn.message.text for turn in rollout.turns]
            assert ladder.tokens[1, row, r] == sum(turn.message.tokens_out for turn in rollout.turns[:3])
            chosen = vote(rollout.question, said[:3])
            right = world.pool.known(rollout.question).says.right
            assert ladder.reward[1, row, r] == (said[chosen] == right)


def test_reflection_steps_are_the_baselines(world):
    ladder = cost.reflection_ladder(world.pool, world.questions, 1, turns=5, replicates=1)
    for step, name in ((0, "single"), (2, "self-reflection")):
        whole = run_baseline(name, world.pool, world.questions, seed=1, replicate=FRESH, agent=1)
        assert ladder.reward[step, :, 0].tolist() == [rollout.reward for rollout in whole]
        assert ladder.tokens[step, :, 0].tolist() == [sum(t.message.tokens_out for t in r.turns) for r in whole]


def test_equal_tokens_are_equal():
    names = ["math", "math", "code"]
    tokens = np.array([[[10.0], [30.0], [5.0]], [[30.0], [90.0], [50.0]], [[50.0], [150.0], [100.0]]])
    reward = np.array([[[0.0], [1.0], [0.0]], [[1.0], [1.0], [0.0]], [[1.0], [1.0], [1.0]]])
    ladder = cost.Ladder((1, 3, 5), reward, tokens)
    found, paid = ladder.at({"math": 40.0, "code": 75.0}, names)
    assert found[0, :, 0] == pytest.approx([0.5, 1.0, 0.5]) and paid == pytest.approx({"math": 2.0, "code": 4.0})
    found, paid = ladder.at({"math": 1.0, "code": 1000.0}, names)
    assert found[0, :, 0].tolist() == [0.0, 1.0, 1.0] and paid == {"math": 1.0, "code": 5.0}
    assert ladder.at({"math": 100.0, "code": 5.0}, names)[1] == {"math": 5.0, "code": 1.0}


def test_the_price_list_is_the_packages_alone():
    agents = (Agent("a", "x/known", price=(1.0, 1.0)), Agent("b", "x/unknown", price=(3.0, 3.0)))
    live = SimpleNamespace(agents=agents, price=lambda a: a.price or ((0.5, 0.25) if a.name == "a" else None))
    found = cost.listed_prices(live)
    assert found[0].tolist() == [0.5, 0.25] and np.isnan(found[1]).all()
    real = cost.listed_prices(load_pool("paper7-live"))
    assert (real[0] > 0).all() and real.shape == (7, 2)


def test_every_printed_cell_is_set_beside_ours(world):
    run = partial(run_system, world=world, training=(), seeds=1, replicates=1)
    single = run(System("single", "GPT-5"))[0]
    frame = cost.against_printed(dict.fromkeys(cost.PRINTED.values(), single), families(world))
    assert len(frame) == 4 * 5 and frame.notna().all(axis=None)
    assert (frame["low"] <= frame["ours"]).all() and (frame["ours"] <= frame["high"]).all()
    row = frame[(frame["method"] == "MoA") & (frame["task"] == "livecodebench")].iloc[0]
    assert row["ours"] == pytest.approx(single.groupby("family")["tokens_out"].mean()["code"])
    assert row["paper"] == 21634


def test_what_the_printed_tokens_imply(world):
    prices = cost.own_prices(world.pool)
    implied = cost.implied_calls(prices).set_index("task")
    assert implied.loc["mmlu", "answers"] == pytest.approx(6.55, abs=0.01)  # 1,200 over 183
    assert implied.loc["livecodebench", "answers"] == pytest.approx(1.84, abs=0.01)
    free = cost.implied_calls(np.column_stack([prices[:, 0], np.full(7, 1.0)])).set_index("task")
    assert free["dollars"].to_numpy() == pytest.approx(free["tokens"].to_numpy(float))
