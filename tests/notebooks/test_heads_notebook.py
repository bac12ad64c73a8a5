"""The heads side by side: sizes from arrays, the soft gate while learning, what a head chose and whether it reads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_states import MadeEncoder

from suite.chapters import heads as hc
from suite.chapters import heads_figures as draw
from suite.chapters.paper_numbers import sizes as audited
from suite.experiments import Experiment
from suite.pools import load_pool
from suite.questions import load_questions
from suite.worlds.simulated import SimulatedWorld
from trinity_core.heads import make_head
from trinity_core.rollout import LoopSettings
from trinity_core.training import Task
from trinity_core.training.learners import SepCmaEs

D = 40
FAMILIES = ["math", "math", "knowledge", "knowledge", "reasoning", "reasoning", "code", "code"]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRINITY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def world():
    questions = load_questions(per_family=4, split="test")
    pool = load_pool("paper7", questions=questions)
    return SimulatedWorld(questions, pool, MadeEncoder(D, questions), LoopSettings(transcript="released"))


@pytest.fixture
def here(world, monkeypatch):
    """Experiments are played on the small world; training and test questions are the same."""

    def task(e: Experiment) -> Task:
        return Task(world, make_head(e.head, world.n_agents, world.d, **e.head_settings), e.sampling)

    monkeypatch.setattr(hc, "get_world", lambda *_: world)
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


def test_reach_of_the_linear_head_is_its_matrix():
    theta = np.random.default_rng(0).standard_normal(10 * D)
    assert np.array_equal(hc.reach(make_head("linear", 7, D), theta), theta.reshape(10, D))


def test_each_dimension_of_the_small_head_reaches_one_logit():
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
        return head.logits(theta, states, training=True, gumbel=gumbel)

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
def runs_of(**levels):
    """Rows whose rewards are the same everywhere."""
    return {
        row.replace("_", "-"): [SimpleNamespace(test_rewards=np.full((8, 4), level))] * 2
        for row, level in levels.items()
    }


def test_scores_stand_beside_the_printed_ones():
    table = hc.scores(runs_of(linear=0.5, sparse=0.25), FAMILIES)
    assert table["score"].tolist() == [50.0] * 5 + [25.0] * 5
    wide = hc.wide(table)
    assert wide.columns.tolist() == ["average", "low", "high", *hc.BENCHMARKS, "paper's average"]
    assert wide.loc["sparse", "code"] == 25 and wide.loc["linear", "paper's average"] == pytest.approx(70.3)
    linear = table[table["head"] == "linear"].set_index("part")["paper"]
    assert linear["math"] == 88.0 and linear["average"] == pytest.approx((61.5 + 88 + 91.6 + 40.1) / 4)


def test_gaps_are_to_the_linear_head():
    table = hc.gaps(runs_of(linear=0.5, sparse=0.25), FAMILIES)
    assert set(table["head"]) == {"sparse"} and (table[["gap", "low", "high"]] == -25).all(axis=None)
    assert table.set_index("part").loc["code", "paper"] == pytest.approx(-21.5)
    assert hc.gap(runs_of(linear=0.5, sparse=0.25), "sparse", "linear", FAMILIES).value == -25


def test_rows_that_the_paper_lacks_have_no_mark():
    runs = runs_of(linear=0.5) | {"low-rank, r = 14": runs_of(linear=0.4)["linear"]}
    assert hc.scores(runs, FAMILIES).set_index("head").loc["low-rank, r = 14", "paper"].isna().all()
    assert hc.gaps(runs, FAMILIES)["paper"].isna().all()


def test_neighbours_go_down_the_printed_averages():
    pairs = hc.neighbours()
    assert [a for a, _, _ in pairs] == ["linear", "low-rank", "block-diagonal-10", "sparse"]
    assert [b for _, b, _ in pairs][-1] == "block-diagonal-2" and all(points > 0 for *_, points in pairs)


# --- what they chose ---
def test_judge_repeats_the_test_rewards(here, world):
    theta = by_family(0.3)
    found = hc.judge([result("linear", theta), result("linear", 2 * theta)])
    task = here(Experiment())
    for place, weights in enumerate((theta, 2 * theta)):
        assert np.array_equal(found.rewards("own", world)[place], task.rewards(weights, 4))
        assert np.array_equal(found.rewards("argmax", world)[place], task.rewards(weights, 4, mode="argmax"))
    assert world.settings.mode == "sample"  # the world was not changed


def test_judge_plays_what_the_task_transforms(world, monkeypatch):
    theta = by_family(0.3)
    task = Task(world, make_head("linear", 7, D), transform=lambda states: states / 2)
    monkeypatch.setattr(hc, "get_world", lambda *_: world)
    monkeypatch.setattr(hc, "make_task", lambda _: task)
    found = hc.judge([result("linear", theta)])
    assert np.array_equal(found.rewards("own", world)[0], task.rewards(theta, 4))


def test_a_head_that_reads_the_family_is_told_from_one_that_does_not(here, world):
    agents = [agent.name for agent in world.pool.agents]
    reads = hc.judge([result("linear", by_family(5.0))])
    fixed = np.zeros((10, D))
    fixed[2, 4:10] = fixed[7, 4:10] = 5.0  # the third agent whatever the family
    stays, even = hc.judge([result("linear", fixed.ravel())]), hc.judge([result("linear", np.zeros(10 * D))])
    assert reads.bits[0, 1] > 1.5 and reads.bits[0, 0] - reads.bits[0, 1] < 0.2
    assert stays.bits[0, 1] < 0.2 and even.bits[0] == pytest.approx([np.log2(7), 0])
    table = hc.chosen({"linear": stays}, agents)
    assert table["main agent"].tolist() == [agents[2]] and table["its share"][0] > 95
    assert hc.shares(reads.own)[0, :4].sum() > 0.95 and hc.shares(reads.own)[0, :4].min() > 0.1


def test_blindness_ends_the_reading(here, world):
    found = hc.judge([result("linear", by_family(5.0))])
    mixed = hc.shares(found.blind)[0]
    agreement = [
        np.mean(play.agents[0, :, 0] == np.repeat(np.repeat(np.arange(4), 4), 4)) for play in (found.own, found.blind)
    ]
    assert agreement[0] > 0.95 and agreement[1] < 0.5 and mixed[:4].sum() > 0.5


def test_the_argmax_head_is_judged_by_argmax_also_blind(here, world):
    head = make_head("block-diagonal-10", 7, D)
    theta = np.random.default_rng(4).standard_normal(head.size)
    found = hc.judge([result("block-diagonal-10", theta)])
    assert found.own is found.argmax and not np.array_equal(found.own.agents, found.drawn.agents)
    first = found.blind.agents[0, :, 0]  # blind and without chance, the first turn is the same everywhere
    assert (first == first[0]).all()
    table = hc.same_weights({"block-diagonal-10": found}, world, "argmax", "own")
    assert table[["gap", "low", "high"]].to_numpy().tolist() == [[0, 0, 0]]


def test_one_sided_counts_seeds():
    columns = ["head", "seed", "main agent", "its share", "largest by argmax", "entropy", "by state"]
    rows = [("linear", 1, "A", 95.0, 96.0, 0.2, 0.1), ("linear", 2, "A", 65.0, 70.0, 0.4, 0.3)]
    table = hc.one_sided(pd.DataFrame(rows, columns=columns))
    assert table.loc["linear"].tolist() == ["A x2", 80.0, 83.0, pytest.approx(0.3), pytest.approx(0.2), "1 of 2"]


def test_common_part_of_states():
    mean, own, share = hc.common_part(np.array([[3.0, 1.0], [3.0, -1.0]]))
    assert (mean, own, share) == (3, 1, 0.9)


def test_entropy():
    assert hc.entropy(np.array([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25] * 4])).tolist() == [1, 0, 2]


def test_best_alone_is_the_best_of_the_pool(world):
    name, score = hc.best_alone(world)
    each = [np.mean([world.pool.probability(a, q.id) for q in world.questions]) for a in range(7)]
    assert name == world.pool.agents[int(np.argmax(each))].name and score == pytest.approx(100 * max(each))


# --- figures ---
def test_figures_show_every_head():
    import matplotlib.pyplot as plt

    rows = list(hc.KINDS)
    parts = ["average", *hc.BENCHMARKS]
    scores = pd.DataFrame({"head": rows, "score": np.arange(7.0) + 60, "low": 55.0, "high": 70.0, "paper": 65.0})
    sizes = pd.DataFrame({"head": rows, "counted": 10, "here": 10, "to linear": 1.0, "to linear here": 1.0})
    gaps = pd.DataFrame(
        [(row, part, 1.0, 0.0, 2.0, np.nan) for row in rows for part in parts],
        columns=["head", "part", "gap", "low", "high", "paper"],
    )
    history = pd.DataFrame({"fitness": np.linspace(0.4, 0.6, 9), "evaluations": np.arange(9)})
    shares = {row: np.full((2, 7), 1 / 7) for row in rows}
    figures = [draw.draw_size(scores, sizes, {"best agent alone": 66.0}), draw.draw_gaps(gaps),
               draw.draw_learning({row: [history] for row in rows}, 66.0), draw.draw_choices(shares, list("ABCDEFG")),
               draw.draw_modes({"drawn": gaps[gaps["part"] == "math"]}),
               draw.draw_reach({row: np.eye(10) for row in rows}, 7)]  # fmt: skip
    for figure in figures:
        texts = " ".join(
            text.get_text().replace("\n", " ").replace("- ", "-") for text in figure.findobj(plt.matplotlib.text.Text)
        )
        assert all(row in texts for row in rows if figure is not figures[1] or row != "linear")
        plt.close(figure)


def test_labels_are_moved_apart():
    places = draw._apart([1.0, 1.0, 3.0, 1.1], 0.5)
    assert np.diff(np.sort(places)).min() > 0.49 and places[2] == 3.0
