"""Counting what a coordinator chose, and foretelling it, on coordinators whose choices are planted."""

from __future__ import annotations

import numpy as np
import pytest
from made_states import made_world

from suite.chapters import what_it_learned as choices
from suite.chapters import what_it_learned_figures as draw
from suite.published import published
from suite.questions import FAMILIES, load_questions
from suite.stats.separability import svm
from suite.stats.turns import plays_turns
from trinity_core.heads import make_head
from trinity_core.training import Task
from trinity_core.types import ROLES
from trinity_core.world import STOPS

D, REPLICATES = 24, 3
KEY = ["features", "labels", "kernel"]


@pytest.fixture(scope="module")
def task(module_cache):
    return Task(made_world(load_questions(per_family=10, split="train"), D), make_head("linear", 7, D))


@pytest.fixture(scope="module")
def families(task):
    return [question.family for question in task.world.questions]


def planted(strength):
    """Agent f for the f-th family, as strongly as asked: `MadeEncoder` marks a question's family in its number f."""
    weights = np.zeros((10, D))
    weights[[0, 1, 2, 3], [0, 1, 2, 3]] = strength
    return weights.ravel()


@pytest.fixture(scope="module")
def firm(task, families):
    thetas = [planted(5.0), planted(5.0)]
    return thetas, plays_turns([task.judge(theta, REPLICATES) for theta in thetas], families)


@pytest.fixture(scope="module")
def foretold(task, firm, families):
    return choices.accuracies(task, *firm, families, folds=5, seed=1)


# --- counting ---
def test_turns_table_holds_every_turn(task, families):
    play = task.judge(planted(1.0), REPLICATES)
    turns = plays_turns([play, play], families)
    assert len(turns) == 2 * play.turns.sum() and set(turns["seed"]) == {0, 1}
    for number in (0, 17, play.reward.size - 1):
        rows = turns[(turns["seed"] == 1) & (turns["rollout"] == number)]
        count = play.turns[0, number]
        assert rows["turn"].tolist() == list(range(1, count + 1))
        roles = [ROLES[role] for role in play.roles[0, number, :count]]
        assert rows["role"].tolist() == roles and rows["agent"].tolist() == play.agents[0, number, :count].tolist()
        assert rows["next"].tolist() == [*roles[1:], STOPS[play.stop[0, number]]]
        assert rows["node"].tolist() == play.nodes[0, number, :count].tolist()
        assert set(rows["family"]) == {families[play.questions[0, number]]}


def test_shares_find_the_planted_agents(task, firm):
    names = [agent.name for agent in task.world.pool.agents]
    found = choices.shares(firm[1], "agent", names, "family")
    assert found.groupby("family")["value"].sum().tolist() == pytest.approx([100] * 4)
    for place, family in enumerate(FAMILIES):
        row = found[(found["family"] == family) & (found["name"] == names[place])].iloc[0]
        assert row["value"] > 30 and row["low"] <= row["value"] <= row["high"]
        part = firm[1][firm[1]["family"] == family]
        ahead, rival = choices.lead(part, place)
        assert rival != place and ahead.value > 0
    roles = choices.shares(firm[1], "role", ROLES, "turn")
    assert roles.groupby("turn")["value"].sum().tolist() == pytest.approx([100] * 5)


def test_transitions_are_chances_and_keep_the_rules(firm):
    table = choices.transitions(firm[1])
    assert table.sum(axis=1).to_numpy() == pytest.approx(np.full(4, 100))
    assert table.loc["start", list(STOPS[:3])].sum() == 0
    assert table.loc["worker", "accepted"] == table.loc["thinker", "accepted"] == 0  # only a Verifier ends early
    named = firm[1][(firm[1]["role"] == "thinker") & firm[1]["next"].isin(ROLES)]
    assert set(named["next"]) <= {"worker", "verifier"}  # what a Thinker may name
    assert firm[1]["named"].sum() == len(named)


def test_ratio_interval():
    whole = np.full((4, 50), 3.0)
    part = np.random.default_rng(0).binomial(3, 0.3, whole.shape)
    found = choices.ratio_interval(part, whole)
    assert found.value == pytest.approx(part.sum() / whole.sum()) and found.low < 0.3 < found.high
    empty = np.concatenate([whole, np.zeros((4, 200))], axis=1)  # questions without a turn are none
    assert choices.ratio_interval(np.concatenate([part, np.zeros((4, 200))], axis=1), empty) == found
    assert choices.ratio_interval(whole, whole) == (1, 1, 1)


def test_entropy_and_evenness():
    assert choices.entropy(np.array([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25] * 4])).tolist() == [1, 0, 2]
    assert choices.evenness([5, 5, 5]) == pytest.approx(1) and choices.evenness([9, 0, 0]) == 0
    assert 0 < choices.evenness([8, 1, 1]) < 1


# --- foretelling ---
def test_folds_keep_families_even(families):
    fold = choices.folds_of(families, 5, 1)
    for family in FAMILIES:
        assert np.bincount(fold[np.asarray(families) == family]).tolist() == [2] * 5
    assert not np.array_equal(fold, choices.folds_of(families, 5, 2))


def test_one_label_is_foretold_without_a_model():
    y = np.array([3, 3, 3, 3, 3, 5])
    right = choices.foretold(svm(), np.zeros((6, 2)), y, np.array([0, 1, 0, 1, 0, 0]))
    assert right.tolist() == [True, True, True, True, True, False]


def test_planted_choices_are_foretold_up_to_the_ceiling(foretold):
    table = foretold.set_index(KEY)
    assert len(table) == 9 + len(FAMILIES)
    kind = table.loc["head logits", "task type", "linear"]
    assert kind["accuracy"] > 0.95 and kind["base"] == pytest.approx(0.25) and kind["ceiling"] == 1
    agent = table.loc["hidden state", "agent selection", "linear"]
    assert agent["base"] + 0.2 < agent["accuracy"] <= agent["high"] <= 1
    assert agent["accuracy"] < agent["ceiling"] + 0.05
    assert agent["gain"] == pytest.approx(agent["accuracy"] - agent["base"]) and agent["gain low"] > 0
    counted = table.loc[choices.LENGTH, "agent selection", "linear"]
    assert counted["accuracy"] < agent["accuracy"] - 0.1  # these choices hang on the question, not on the turn
    by_family = [table.loc["hidden state", f"agent selection on {f}", "linear"]["accuracy"] for f in FAMILIES]
    assert np.mean(by_family) == pytest.approx(agent["accuracy"])


def test_even_choices_cannot_be_foretold(task, families):
    """The negative: a head of zeros draws evenly, whatever it reads."""
    thetas = [np.zeros(task.n)]
    turns = plays_turns([task.judge(thetas[0], REPLICATES)], families)
    table = choices.accuracies(task, thetas, turns, families, folds=3, seed=1).set_index(KEY)
    for kernel in ("linear", "rbf"):
        row = table.loc["hidden state", "agent selection", kernel]
        assert row["accuracy"] < 0.3 and row["ceiling"] == pytest.approx(1 / 7)


# --- oracle labels ---
def test_labels_follow_the_best_agent_and_ties_are_even():
    rewards = np.zeros((3, 60, 7))
    rewards[:, :20, 2] = 1  # agent 2 alone is right on the first 20
    rewards[:, 20:40] = 1  # everybody on the next, nobody on the last
    families = ["a"] * 20 + ["b"] * 20 + ["c"] * 20
    counts = choices.label_counts(rewards, draws=40, seed=0)
    assert counts.shape == (7, 40, 60) and (counts.sum(axis=0) == 1).all()
    shares = choices.label_shares(counts, families, "ABCDEFG").set_index(["family", "name"])["value"]
    assert shares["a", "C"] == 100
    assert shares["b"].to_numpy() == pytest.approx(np.full(7, 100 / 7), abs=4)
    ties = choices.ties(rewards, families).set_index("family")
    assert ties["one right"].tolist() == [100, 0, 0] and ties["settled"].tolist() == [100, 0, 0]
    assert ties["all right"].tolist() == [0, 100, 0] and ties["none right"].tolist() == [0, 0, 100]


def test_oracle_rewards_are_the_agents_own(task):
    rewards = choices.oracle_rewards(task.world)
    assert rewards.shape == (3, 40, 7)
    assert rewards[2, 5, 3] == task.world.solve(np.array([3]), np.array([5]), np.array([2]))[0]


def test_figures_are_drawn(task, firm, families, foretold):
    turns = firm[1]
    names = [agent.name for agent in task.world.pool.agents]
    share = choices.paper_shares(published("fig15_agent_selection"), "mmlu", names)
    counted = choices.paper_shares(published("table5_oracle_labels"), "mmlu", names)
    assert sum(share.values()) == pytest.approx(100, abs=0.2)
    assert sum(counted.values()) == pytest.approx(100)
    assert len(draw.draw_selection({family: {"paper": share, "ours": share} for family in FAMILIES}).axes) == 4
    by_turn = [choices.shares(turns, column, of, "turn") for column, of in (("agent", names), ("role", ROLES))]
    assert len(draw.draw_by_turn(*by_turn).axes) == 2
    diagram = draw.draw_transitions({"all": choices.transitions(turns)})
    assert {"thinker", "accepted"} <= {text.get_text() for text in diagram.axes[0].texts}
    table = foretold.assign(paper=[0.5] * 3 + [np.nan] * (len(foretold) - 3))
    assert len(draw.draw_foretelling(table).axes[0].get_yticks()) == len(table)
    planes = {"LDA": np.random.default_rng(0).standard_normal((len(families), 2))}
    assert len(draw.draw_planes(planes, families, [names[0]] * len(families)).axes) == 2
    labels = choices.label_shares(np.full((7, 1, len(families)), 1 / 7), families, names)
    paper = {(row.family, row.name): 10.0 for row in labels.itertuples()}
    assert len(draw.draw_labels(labels, paper).axes) == 4


def test_what_there_is_to_win(task):
    world = task.world
    table = choices.to_win(world, world, "GPT-5")
    assert table["family"].tolist() == [*FAMILIES, "mean"]
    mine = [q for q in world.questions if q.family == "code"]
    chances = np.mean([[world.pool.probability(a, q) for a in range(7)] for q in mine], axis=0)
    row = table.set_index("family").loc["code"]
    assert row["best, test"] == pytest.approx(100 * chances.max()) == pytest.approx(row["best, training"])
    assert row["best on training"] == world.pool.agents[int(chances.argmax())].name
    assert row["GPT-5, test"] == pytest.approx(100 * chances[0])
