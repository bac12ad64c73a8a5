"""Every system on the same questions: shapes and pairing, what is counted, TRINITY's lead, the error reduction."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from baseline_runs import run_baseline
from made_states import made_world

from suite.baselines import BASELINES
from suite.chapters import in_distribution as tables
from suite.chapters.in_distribution import A6, BEYOND, MEAN, TRINITY, System
from suite.published import BENCHMARKS, SUMMARIES
from suite.questions import load_questions
from suite.stats.rer import summary
from suite.stats.rollouts import AMOUNTS, cube, rollouts_table
from suite.stats.scores import wide
from trinity_core.training.task import FRESH

SMALL = 6  # questions of a family and split
AGENTS = ("GPT-5", "Claude-4-Sonnet", "Gemini-2.5-pro")


@pytest.fixture(scope="module")
def world(module_cache):
    every = load_questions(per_family=SMALL)
    return made_world([question for question in every if question.split == "test"], known=every)


@pytest.fixture(scope="module")
def learnt():
    return [question for question in load_questions(per_family=SMALL) if question.split == "train"]


# --- running ----------------------------------------------------------------------------------------------------------


def test_every_baseline_that_simulated_agents_can_test_has_a_row(world):
    found = tables.systems([agent.name for agent in world.pool.agents], AGENTS)
    assert {system.baseline for system in found.values()} == set(BASELINES) - {"single-5x", "llm-coordinator"}
    agents = [system.agent for system in found.values() if system.agent]
    assert sorted(agents) == sorted([*(agent.name for agent in world.pool.agents), *AGENTS, *AGENTS])


@pytest.mark.parametrize(
    ("system", "shape"),
    [
        (System("moa"), (1, 24, 2)),
        (System("smoothie-independent", repeats="set"), (2, 24, 1)),
        (System("best-fixed", repeats="trained"), (3, 24, 2)),
        (System("majority", "GPT-5"), (1, 24, 2)),
    ],
    ids=lambda value: value.baseline if isinstance(value, System) else "",
)
def test_rewards_lie_where_the_bootstrap_looks_for_them(world, learnt, system, shape):
    found, bill = tables.run_system(system, world, learnt, seeds=3, replicates=2)
    cubes = {name: cube(found, name, "seed") for name in ("reward", "calls", *AMOUNTS)}
    assert all(values.shape == shape for values in cubes.values())
    settings = {"agent": system.agent} if system.agent else {}
    encoder = world.bank if BASELINES[system.baseline].encoder else None
    seed = 3 if system.repeats == "trained" else 0
    asked = (world.pool, world.questions, learnt)
    last = run_baseline(system.baseline, *asked, seed=seed, replicate=FRESH + 1, encoder=encoder, **settings)
    table = rollouts_table(last)
    assert np.array_equal(cubes["reward"][-1, :, -1], table["reward"])
    assert np.array_equal(cubes["tokens_out"][-1, :, -1], table["tokens_out"])
    assert bool(bill) == (system.repeats == "trained")
    if system.baseline == "moa":
        assert (found["calls"] == 8).all()
    if bill:  # each training asks every agent every question once; it is counted once, not once a seed
        assert bill["rollouts"] == bill["calls"] == 7 * len(learnt) and (found["calls"] == 1).all()


def test_agents_alone_hear_the_draws_of_the_coordinators_evaluation(world):
    found, _ = tables.run_system(System("single", "GPT-5"), world, (), seeds=1, replicates=3)
    numbers = np.repeat(np.arange(24), 3), FRESH + np.tile(np.arange(3), 24)
    alone = world.solve(np.zeros(72, int), *numbers)
    assert np.array_equal(cube(found, seed="seed")[0], alone.reshape(24, 3))


def test_a_trainings_bill_is_that_of_its_history():
    history = pd.DataFrame({"evaluations": [10, 30], "turns": [2.0, 3.0], "tokens": [5.0, 7.0], "cost": [0.5, 0.25]})
    bill = tables.bill_of_training([history, history])
    assert bill == {"rollouts": 30, "calls": 80, "tokens": 12, "dollars": 0.75}


# --- tables -----------------------------------------------------------------------------------------------------------


FOUR = [family for family in BENCHMARKS for _ in range(40)]


def made(chances, seeds=1, seed=0):
    """Rewards with a chance a family."""
    drawn = np.random.default_rng(seed).random((seeds, 160, 4))
    return (drawn < np.repeat(chances, 40)[None, :, None]).astype(float)


def test_leads_have_the_sign_and_the_papers_number():
    scores = {TRINITY: made((0.9,) * 4, seeds=3), "MoA": made((0.5, 0.5, 0.9, 0.99), seed=1), "other": made((0.9,) * 4)}
    found = tables.leads(scores, FOUR)
    rows, table = found.set_index(["system", "part"]), wide(found, MEAN)
    assert rows.loc[("MoA", "math"), "low"] > 0 > rows.loc[("MoA", "code"), "high"]
    assert rows.loc[("MoA", "math"), "paper"] == pytest.approx(95 - 83)
    assert np.isnan(rows.loc[("MoA", "knowledge"), "paper"]) and np.isnan(rows.loc[("other", MEAN), "paper"])
    assert list(table.columns) == [*BENCHMARKS, MEAN, "low", "high"] and list(table.index) == ["MoA", "other"]


def test_costs_are_a_question_and_families_weigh_alike():
    table = pd.DataFrame({"family": ["math"] * 4 + ["code"] * 2, "calls": 1, "cost": [5.0] * 4 + [1.0] * 2})
    row = tables.cost_rows({"a": table.assign(tokens_in=range(6), tokens_out=0.0)}).loc["a"]
    assert row["calls"] == 1 and row["cents"] == pytest.approx(300) and row["tokens in"] == 3


def test_published_tables_are_read_in_percent():
    first, second = tables.summaries(), tables.ablations()
    assert first.loc[TRINITY, "math"] == pytest.approx(95) and second.loc[TRINITY, "math"] == 88
    assert first.loc["random agent", "reasoning"] == pytest.approx(32) and np.isnan(first.loc["MoA", MEAN])
    assert set(second.index) == {TRINITY, *AGENTS} == set(first.index) & set(second.index)
    rows = tables.score_rows({name: made((0.5,) * 4) for name in (TRINITY, *AGENTS)}, FOUR)
    both = tables.side_by_side(wide(rows, MEAN))
    assert len(both) == 12 and set(both["table"]) == {SUMMARIES, "Table 2", "ours"}
    assert tables.slug("Smoothie, whole set", "Qwen3-32B (direct)") == "Smoothie-whole-set-Qwen3-32B-direct"


# --- relative error reduction -----------------------------------------------------------------------------------------


def exact(*chances):
    """Rewards that meet the chances exactly, in steps of 1/40."""
    return np.concatenate([np.arange(40) < round(40 * chance) for chance in chances]).astype(float)[None, :, None]


def test_error_reduction_is_the_papers_ratio():
    rewards = {TRINITY: exact(0.9, 0.9, 0.5, 0.7), "GPT-5": exact(0.8, 0.9, 0.3, 0.6)}
    rewards |= {"Claude-4-Sonnet": exact(0.9, 0.7, 0.4, 0.5), "Gemini-2.5-pro": exact(0.3, 0.3, 0.3, 0.3)}
    rows = tables.error_reduction(rewards, AGENTS, FOUR).set_index("part")
    expected = {MEAN: 0.1 / 0.35, A6: 0.05 / 0.35, "math": 0.0, "reasoning": 0.1 / 0.6}
    assert [rows.loc[part, "value"] for part in expected] == pytest.approx([100 * x for x in expected.values()])
    for column in ("value", "paper"):
        assert rows.loc[BEYOND, column] == pytest.approx(rows.loc[MEAN, column] - rows.loc[A6, column])
    assert (rows["low"] <= rows["value"]).all() and (rows["value"] <= rows["high"]).all()
    paper = summary().set_index("table").loc[SUMMARIES]
    assert rows.loc[MEAN, "paper"] == pytest.approx(100 * paper["RER reached"])
    assert rows.loc[A6, "paper"] == pytest.approx(100 * paper["RER of A.6"])


def test_no_error_to_reduce_has_no_ratio():
    rewards = {TRINITY: exact(1.0, 0.9, 0.5, 0.7), **{name: exact(1.0, 0.5, 0.5, 0.5) for name in AGENTS}}
    rows = tables.error_reduction(rewards, AGENTS, FOUR).set_index("part")
    assert np.isnan(rows.loc["math", "value"]) and np.isfinite(rows.loc[MEAN, "value"])


def test_nothing_is_learnt_from_the_test_questions(world, learnt):
    """The choice of the best agent a family follows the training questions, whatever the test questions hold."""
    world_like = SimpleNamespace(pool=world.pool, bank=world.bank, questions=world.questions[::-1])
    system = System("best-fixed", repeats="trained")
    forth, back = (tables.run_system(system, w, learnt, seeds=1, replicates=1)[0] for w in (world, world_like))
    assert np.array_equal(forth["reward"][::-1], back["reward"])
