"""The heads side by side: sizes from arrays, the soft gate while learning, what a head chose and whether it reads."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from made_states import made_world
from matplotlib.text import Text

from suite.chapters import heads as hc
from suite.chapters import heads_figures as draw
from suite.chapters.paper_numbers import sizes as audited
from suite.experiments import Experiment
from suite.questions import load_questions
from suite.results import style
from suite.stats.scores import AVERAGE
from trinity_core.heads import make_head
from trinity_core.training import Task
from trinity_core.training.learners import SepCmaEs

D = 40
FAMILIES = ["math", "math", "knowledge", "knowledge", "reasoning", "reasoning", "code", "code"]


@pytest.fixture(scope="module")
def world(module_cache):
    return made_world(load_questions(per_family=4, split="test"), D)


@pytest.fixture
def here(world, monkeypatch):
    """Experiments are played on the small world; training and test questions are the same."""

    def task(e: Experiment) -> Task:
        return Task(world, make_head(e.head, world.n_agents, world.d, **e.head_settings), e.sampling)

    monkeypatch.setattr(hc, "evaluation_world", lambda e: world)
    monkeypatch.setattr(hc, "make_task", task)
    return task


def result(row, theta):
    """A training that ended with theta."""
    name, settings = hc.KINDS[row]
    return SimpleNamespace(
        experiment=Experiment(head=name, head_settings=settings), result=SimpleNamespace(theta=theta)
    )


def by_family(strength, d=D):
    """A linear head that gives family f to agent f, and every first turn to the Worker: `MadeEncoder` marks both."""
    weights = np.zeros((10, d))
    weights[range(4), range(4)] = strength
    weights[7, 5] = strength
    return weights.ravel()


# --- Table 6 ---
def test_sizes_are_the_audit_s_and_the_printed_ones():
    table = hc.sizes(576).set_index("head")
    printed = table["printed"].dropna()
    assert (table.loc[printed.index, "counted"] == printed).all() and len(printed) == 5
    formulas = {check.id: check.computed for check in audited()}
    assert formulas["table6-parameters-low-rank-text"] == table.loc["low-rank, r = 14", "counted"] == 14_476
    assert table["here"].tolist() == [5_760, 20 * 586, 14 * 586, 5_760 + 578, 2_880, 576]
    assert table.loc["linear", ["to linear", "to linear here"]].tolist() == [1, 1]


def test_reach_is_the_linear_heads_matrix_and_one_logit_a_dimension_of_the_small_head():
    theta = np.random.default_rng(0).standard_normal(10 * D)
    assert np.array_equal(hc.reach(make_head("linear", 7, D), theta), theta.reshape(10, D))
    head = make_head("block-diagonal-10", 7, D)
    moved = hc.reach(head, np.ones(head.size)) != 0
    assert (moved.sum(axis=0) == 1).all() and moved.sum() == head.size == D
    two = make_head("block-diagonal-2", 7, D)
    assert (hc.reach(two, np.ones(two.size)) != 0).sum() == two.size


# --- the soft gate ---
def test_the_sparse_head_learns_softly_and_is_judged_hard(world):
    head = make_head("sparse", 7, D)
    soft, hard = hc.SoftGate(world, head, seed=3), Task(world, head)
    thetas = np.random.default_rng(1).standard_normal((4, head.size))
    questions, replicates = hard.cells(4, 12, seed=3, iteration=0, first=0)
    noisy = soft.play(thetas, questions, replicates)
    gumbel = np.random.default_rng([3, 0x6A7E, 0]).gumbel(size=(4, D))

    def logits(theta, states):
        return head.logits(theta, states, gumbel=gumbel)

    expected = world.play(SimpleNamespace(logits=logits), thetas, questions, replicates)
    assert np.array_equal(noisy.agents, expected.agents) and np.array_equal(noisy.reward, expected.reward)
    assert not np.array_equal(noisy.agents, hard.play(thetas, questions, replicates).agents)
    assert np.array_equal(soft.rewards(thetas[0], 3), hard.rewards(thetas[0], 3))  # an evaluation


def test_noise_differs_by_seed_and_generation(world):
    head = make_head("sparse", 7, D)
    thetas = np.random.default_rng(1).standard_normal((1, head.size)).repeat(2, axis=0)
    questions = np.tile(np.arange(len(world.questions)), (2, 4))

    def agents(seed, first):
        replicates = np.tile(np.arange(questions.shape[1]), (2, 1)) + first
        return hc.SoftGate(world, head, seed=seed).play(thetas, questions, replicates, "argmax").agents

    first = agents(1, 0)
    assert np.array_equal(first, agents(1, 0))
    assert not np.array_equal(first[0], first[1])  # each candidate has its own
    assert not np.array_equal(first, agents(2, 0))


def test_soft_training_spends_the_budget_and_repeats(here, world):
    e = Experiment(head="sparse", budget=8 * 6 * 3, settings=SepCmaEs(population=8, rollouts=6))
    one, two = hc.run_soft(e), hc.run_soft(e)
    assert one.result.evaluations == e.budget and np.array_equal(one.result.theta, two.result.theta)
    assert one.test_rewards.shape == (len(world.questions), 4)
    assert np.array_equal(one.test_rewards, here(e).rewards(one.result.theta, 4, world))


# --- Table 3 ---
def test_the_printed_table_is_in_percent():
    linear = hc.printed().loc["linear"]
    assert linear["math"] == 88.0 and linear[AVERAGE] == pytest.approx((61.5 + 88 + 91.6 + 40.1) / 4)


# --- what they chose ---
def test_playing_again_repeats_the_test_rewards(here, world):
    theta = by_family(0.3)
    found = hc.play_again([result("linear", theta), result("linear", 2 * theta)])
    task = here(Experiment())
    for place, weights in enumerate((theta, 2 * theta)):
        assert np.array_equal(found.rewards("own", world)[place], task.rewards(weights, 4))
        assert np.array_equal(found.rewards("argmax", world)[place], task.rewards(weights, 4, mode="argmax"))


def test_what_the_task_transforms_is_played(here, world, monkeypatch):
    theta = by_family(0.3)
    task = Task(world, make_head("linear", 7, D), transform=lambda states: states / 2)
    monkeypatch.setattr(hc, "make_task", lambda _: task)
    found = hc.play_again([result("linear", theta)])
    assert np.array_equal(found.rewards("own", world)[0], task.rewards(theta, 4))


def test_a_head_that_reads_the_family_is_told_from_one_that_does_not(here, world):
    agents, families = [agent.name for agent in world.pool.agents], [q.family for q in world.questions]
    reads = hc.play_again([result("linear", by_family(5.0))])
    fixed = np.zeros((10, D))
    fixed[2, 4:10] = fixed[7, 4:10] = 5.0  # the third agent whatever the family
    stays, even = (hc.play_again([result("linear", theta)]) for theta in (fixed.ravel(), np.zeros(10 * D)))
    assert reads.bits[0, 1] > 1.5 and reads.bits[0, 0] - reads.bits[0, 1] < 0.2
    assert stays.bits[0, 1] < 0.2 and even.bits[0] == pytest.approx([np.log2(7), 0])
    table = hc.chosen({"linear": stays}, families, agents)
    assert table["main agent"].tolist() == [agents[2]] and table["its share"][0] > 95
    four = hc.shares(reads.own, families, agents).iloc[0, :4]
    assert four.sum() > 95 and four.min() > 10
    # blind, the first agent no longer follows the family
    agreement = [
        np.mean(play.agents[0, :, 0] == np.repeat(np.repeat(np.arange(4), 4), 4)) for play in (reads.own, reads.blind)
    ]
    assert agreement[0] > 0.95 and agreement[1] < 0.5
    assert hc.shares(reads.blind, families, agents).iloc[0, :4].sum() > 50


def test_the_argmax_head_is_played_by_argmax_also_blind(here, world):
    head = make_head("block-diagonal-10", 7, D)
    theta = np.random.default_rng(4).standard_normal(head.size)
    found = hc.play_again([result("block-diagonal-10", theta)])
    assert found.own is found.argmax and not np.array_equal(found.own.agents, found.drawn.agents)
    first = found.blind.agents[0, :, 0]  # blind and without chance, the first turn is the same everywhere
    assert (first == first[0]).all()


def test_one_sided_counts_seeds():
    columns = ["head", "seed", "main agent", "its share", "largest by argmax", "entropy", "by state"]
    rows = [("linear", 1, "A", 95.0, 96.0, 0.2, 0.1), ("linear", 2, "A", 65.0, 70.0, 0.4, 0.3)]
    table = hc.one_sided(pd.DataFrame(rows, columns=columns))
    assert table.loc["linear"].tolist() == ["A x2", 80.0, 83.0, pytest.approx(0.3), pytest.approx(0.2), "1 of 2"]


def test_common_part_of_states():
    mean, own, share = hc.common_part(np.array([[3.0, 1.0], [3.0, -1.0]]))
    assert (mean, own, share) == (3, 1, 0.9)


# --- figures ---
def test_figures_show_every_head():
    rows, numbers = list(hc.KINDS), {"value": 61.0, "low": 55.0, "high": 70.0, "paper": 65.0}
    scores = pd.DataFrame([{"system": row, "part": AVERAGE, **numbers} for row in rows])
    sizes = pd.DataFrame({"head": rows, "counted": 10, "here": 10, "to linear": 1.0, "to linear here": 1.0})
    history = pd.DataFrame({"fitness": np.linspace(0.4, 0.6, 9), "evaluations": np.arange(9)})
    shares = {row: pd.DataFrame(np.full((2, 7), 100 / 7), columns=list("ABCDEFG")) for row in rows}
    figures = [draw.draw_size(scores, sizes, {"best agent alone": 66.0}),
               draw.draw_differences(pd.concat([scores, scores.assign(part="math")]), "points"),
               draw.draw_learning({row: [history] for row in rows}, 66.0), draw.draw_choices(shares),
               draw.draw_reach({row: np.eye(10) for row in rows}, 7)]  # fmt: skip
    for figure in figures:
        texts = (text.get_text().replace("\n", " ").replace("- ", "-") for text in figure.findobj(Text))
        shown = " ".join(texts)
        assert all(row in shown for row in rows)
        plt.close(figure)


def test_labels_are_moved_apart():
    places = style.apart({"a": 1.0, "b": 1.0, "c": 3.0, "d": 1.1}, 0.5)
    assert np.diff(sorted(places.values())).min() > 0.49 and places["c"] == 3.0
