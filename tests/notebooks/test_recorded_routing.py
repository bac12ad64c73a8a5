"""Single-step routing on recorded scores: the world, the learners on it, the rivals and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import recorded_files as made
from recorded_files import separable
from tiny_models import make_model

from suite.commands import main as trinity
from suite.recordings.readers import read_tables
from suite.routers import full_information
from suite.routers.methods import Run, best_by_benchmark, best_single, make_task, nearest, run
from suite.worlds.routing import AgentHead, Asked, RoutingData, RoutingWorld, choices, gather
from trinity_core.training.learners import Reinforce, SepCmaEs
from trinity_core.training.train import train

# --- the world ---


def test_play_is_decide_and_score():
    data = separable()
    world, head = RoutingWorld(data), AgentHead(3, 6)
    thetas = np.random.default_rng(1).normal(size=(4, head.size))
    questions = np.random.default_rng(2).integers(0, 240, (4, 50))
    plays = world.play(head, thetas, questions, np.arange(200).reshape(4, 50), mode="argmax")
    for candidate in range(4):
        chosen = np.argmax(data.states[questions[candidate]] @ thetas[candidate].reshape(3, 6).T, axis=1)
        assert (plays.agents[candidate, :, 0] == chosen).all()
        assert (plays.reward[candidate] == data.right[questions[candidate], chosen]).all()


def test_drawn_rewards_have_the_scores_mean_and_are_keyed():
    data = separable(shares=True)
    world, head = RoutingWorld(data), AgentHead(3, 6)
    questions = np.tile(np.arange(240), (1, 40))
    plays = world.play(head, np.zeros((1, 18)), questions, np.arange(9600)[None])
    assert plays.agent_share() == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert plays.reward.mean() == pytest.approx(data.right.mean(), abs=0.02)
    order = np.random.default_rng(3).permutation(9600)
    again = world.play(head, np.zeros((1, 18)), questions[:, order], np.arange(9600)[None, order])
    assert (again.reward[0] == plays.reward[0, order]).all() and (again.agents[0] == plays.agents[0, order]).all()
    other = RoutingWorld(data, seed=43).play(head, np.zeros((1, 18)), questions, np.arange(9600)[None])
    assert (other.agents != plays.agents).any()


def test_svf_is_refused():
    with pytest.raises(ValueError, match="SVF"):
        RoutingWorld(separable()).play(AgentHead(3, 6), np.zeros((1, 18)), [[0]], [[0]], adapted_states=lambda c, n: n)


def test_benchmarks_weigh_alike():
    data = separable()
    assert data.weights.sum() == pytest.approx(1)
    assert data.weights[data.families == "small"].sum() == pytest.approx(0.5)
    assert (data.take(data.families == "small").families == "small").all()


def test_sampling_is_balanced():
    task = make_task(separable())
    questions, _ = task.cells(5, 16, 1, 0, 0)
    small = (task.world.data.families[questions] == "small").sum(axis=1)
    assert (small == 8).all()


# --- the learners on it ---


@pytest.mark.parametrize("method", ["sep-cma-es", "reinforce", "random-search", "sft"])
def test_learner_finds_the_agent_of_each_question(method):
    settings = {"reinforce": Reinforce(rate=0.03), "sep-cma-es": SepCmaEs(sigma=0.3)}.get(method)
    if method == "sft":
        from trinity_core.training.sft import Sft

        settings = Sft(rate=1e-2, epochs=30)
    train_data, test_data = separable(seed=1), separable(seed=2)
    found = run((train_data, test_data), Run(method, budget=20_000, settings=settings))
    assert found.chosen.shape == (240,) and found.parameters == 18 and found.evaluations <= 20_000
    average = test_data.estimate(found.chosen)
    assert average.low <= average.value <= average.high and average.value > (0.5 if method == "random-search" else 0.9)


def test_same_seed_same_training():
    data = separable()
    first, again = (train("sep-cma-es", make_task(data), 3000, 7).theta for _ in range(2))
    assert (first == again).all()


def test_labels_are_balanced_where_sampling_is():
    from trinity_core.training.sft import Sft, collect

    task = make_task(separable())
    questions, labels, spent = collect(task, Sft(), 9 * 40, 1)
    assert spent == 360 and (task.world.data.families[questions] == "small").sum() == 20
    assert (labels == task.world.data.right[questions].argmax(axis=1)).all()


# --- the rivals ---


def test_rivals_choose_as_they_say():
    data = separable()
    right = np.zeros((240, 3))
    right[data.families == "small", 0], right[data.families == "large", 1] = 1.0, 0.8
    data = RoutingData(data.agents, data.questions, data.states, right, right)
    assert (best_single(data, data) == 0).all()
    assert (best_by_benchmark(data, data) == np.where(data.families == "small", 0, 1)).all()
    unseen = RoutingData(data.agents, tuple(Asked(q.id, "new") for q in data.questions), data.states, right, right)
    assert (best_by_benchmark(data, unseen) == 0).all()


def test_nearest_neighbours_route():
    train_data, test_data = separable(seed=1), separable(seed=2)
    chosen = nearest(train_data, test_data)
    assert test_data.right[np.arange(240), chosen].mean() > 0.95
    few = train_data.take(np.arange(3))
    assert nearest(few, test_data).shape == (240,)
    assert nearest(train_data.take(np.arange(2)), test_data).shape == (240,)


def test_equals_are_told_apart_by_all_training_questions():
    """Whatever the order of the LLMs: neighbours and benchmarks that cannot tell two apart leave it to the rest."""
    data = separable()
    alike = np.where(data.families == "small", 0.5, 0.0)[:, None] + np.zeros((240, 3))
    for better in range(3):
        right = alike.copy()
        right[data.families == "large", better] = 1.0
        told = RoutingData(data.agents, data.questions, data.states, right, right)
        assert (best_by_benchmark(told, told) == better).all()
        one = np.zeros((240, 3))
        one[:3, better] = 1.0  # among a hundred and more neighbours hardly anyone is right
        flat = RoutingData(data.agents, data.questions, data.states, one, one)
        assert (nearest(flat, flat) == better).all()
    with pytest.raises(ValueError, match="two training questions or more"):
        nearest(data.take(np.arange(1)), data)


def test_routerdc_routes():
    test = separable(seed=2)
    assert test.estimate(run((separable(seed=1), test), Run("routerdc")).chosen).value > 0.9
    with pytest.raises(ValueError, match="unknown method 'magic'; choose one of sep-cma-es"):
        run((test, test), Run("magic"))


@pytest.mark.parametrize("objective", full_information.OBJECTIVES)
def test_full_information_router(objective):
    train_data, test_data = separable(seed=1), separable(seed=2)
    given = (train_data.right, train_data.weights[None])
    (router,) = full_information.fit(train_data.states, *given, objective=objective, penalty=1e-3)
    chosen = router.choose(test_data.states)
    assert router.parameters == 3 * 7
    assert test_data.right[np.arange(240), chosen].mean() > 0.95
    (shifted,) = full_information.fit(5 * train_data.states + 3, *given, objective=objective, penalty=1e-3)
    assert (shifted.choose(5 * test_data.states + 3) == chosen).mean() > 0.99


def test_expected_reward_is_ascended():
    from trinity_core.heads import softmax

    data = separable(shares=True)
    value = [0.0, 0.0]
    for place, penalty in enumerate((10.0, 1e-4)):
        how = {"objective": "expected reward", "penalty": penalty}
        (router,) = full_information.fit(data.states, data.right, data.weights[None], **how)
        logits = data.states @ router.weights.T + router.bias
        value[place] = data.weights @ (softmax(logits) * data.right).sum(axis=1)
    assert value[1] > value[0] + 0.2


def test_full_information_refuses_other_objectives():
    data = separable()
    with pytest.raises(ValueError, match="unknown objective 'x'"):
        full_information.fit(data.states, data.right, data.weights[None], objective="x", penalty=1e-3)


# --- the command ---


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("tiny"), "llama")


@pytest.fixture
def files(tmp_path):
    """Two benchmarks to train on, two to test on, one of which is new."""

    def write(name, n, kind, seed):
        texts = made.questions(n, name.split(".")[0])
        return str(made.write_routerdc(tmp_path / name, made.scores(n, 3, kind, seed), texts=texts))

    train_files = [write("one_train.json", 30, "shares", 1), write("two_train.json", 20, "probabilities", 2)]
    return train_files, [write("one_test.json", 25, "shares", 3), write("new_test.json", 15, "right", 4)]


def command(files, *words):
    train_files, test_files = files
    return trinity(["recordings", "train", "--train", *train_files, "--test", *test_files, *words])


@pytest.mark.parametrize("method", ["sep-cma-es", "knn", "best-single", "per-benchmark-best"])
def test_command_on_files(method, files, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path / "cache"))
    out = str(tmp_path / "out.json")
    words = ["--method", method, "--seeds", "2", "--budget", "600", "--encoder", model, "--json", out]
    assert command(files, *words) == 0
    printed, said = capsys.readouterr()
    assert ("no training file of new" in said) == (method == "per-benchmark-best")
    assert max(map(len, printed.splitlines())) <= 120
    report = json.loads(Path(out).read_text())
    assert report["test"] == {"one": 25, "new": 15} and report["train"] == {"one": 30, "two": 20}
    assert report["method"] == method and method in printed and "recorded" in printed
    (value, low, high), each = report["accuracy"].pop("average"), [v[0] for v in report["accuracy"].values()]
    assert low <= value <= high and value == pytest.approx(np.mean(each), abs=1e-3)
    both, tables = (read_tables(some) for some in files)
    best = [table.right.mean(axis=0).max() for table in tables]
    reference = report["references"]["best LLM of each benchmark"]["average"][0]
    assert reference == pytest.approx(100 * np.mean(best), abs=1e-3)
    if method == "best-single":
        agent = int(np.argmax(np.mean([table.right.mean(axis=0) for table in both], axis=0)))
        expected = np.mean([table.right[:, agent].mean() for table in tables])
        assert value == pytest.approx(100 * expected, abs=1e-3)
        assert report["gain over it"] == [0.0, 0.0, 0.0]


def test_command_names_what_is_wrong(files, model, capsys):
    assert command(files, "--encoder", model, "--budget", "20") == 2
    assert "budget of 20" in capsys.readouterr().err
    assert command(files, "--encoder", "no-such-model") == 2
    assert "no-such-model" in capsys.readouterr().err


def test_gather_keeps_order(files):
    tables = read_tables(files[1])
    data = gather(tables, [np.zeros((25, 4)), np.ones((15, 4))])
    assert data.states[:, 0].tolist() == [0.0] * 25 + [1.0] * 15
    assert list(dict.fromkeys(data.families.tolist())) == ["one", "new"]
    assert len({question.id for question in data.questions}) == 40


def test_choices_take_the_largest_logit():
    head = AgentHead(3, 2)
    theta = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    assert choices(theta, head, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])).tolist() == [0, 1, 2]
