"""Learning to coordinate: budgets, seeds, logs, resuming, failures, and that each method learns what is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from made_states import MadeEncoder

from suite import commands
from suite.baselines.variants import Whitening
from suite.chapters.learning import label_cost
from suite.experiments import Experiment, run_experiments, seeds_of
from suite.pools import load_pool
from suite.questions import load_questions
from suite.worlds.live import LiveWorld
from suite.worlds.simulated import SimulatedWorld
from trinity_core.coordinator import Coordinator
from trinity_core.heads import HEADS, make_head
from trinity_core.paths import ROOT, cache_dir
from trinity_core.rollout import LoopSettings
from trinity_core.training import METHODS, Task, train
from trinity_core.training.learners import Adam, RandomSearch, Reinforce, SepCmaEs
from trinity_core.training.log import LogError, TrainingLog
from trinity_core.training.sft import Sft, oracle_labels
from trinity_core.training.train import TrainingError
from trinity_core.types import Message

D = 24
SMALL = {
    "sep-cma-es": SepCmaEs(population=8, rollouts=6),
    "random-search": RandomSearch(rollouts=12, vectors=4),
    "reinforce": Reinforce(rollouts=48, rate=0.01),
    "sft": Sft(epochs=5, rate=0.01),
}


@pytest.fixture(scope="module")
def questions():
    return load_questions(per_family=4, split="train")


@pytest.fixture(scope="module")
def pool(questions):
    return load_pool("paper7", questions=questions)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    models, own = cache_dir() / "models", tmp_path_factory.mktemp("cache")
    models.mkdir(parents=True, exist_ok=True)
    (own / "models").symlink_to(models)  # the weights are dequantised once for all tests
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRINITY_CACHE", str(own))
        yield


@pytest.fixture(scope="module")
def task(questions, pool):
    world = SimulatedWorld(questions, pool, MadeEncoder(D, questions), LoopSettings(transcript="released"))
    return Task(world, make_head("linear", 7, D))


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_theta_and_another_seed_another(task, method):
    first, again = (train(method, task, 500, 0, settings=SMALL[method]) for _ in range(2))
    assert np.array_equal(first.theta, again.theta) and first.theta.any()
    assert first.history.equals(again.history)
    assert not np.array_equal(first.theta, train(method, task, 500, 1, settings=SMALL[method]).theta)


def test_learners_leave_numpys_own_generator_alone(task):
    np.random.seed(5)
    expected = np.random.random(3)
    np.random.seed(5)
    train("sep-cma-es", task, 200, 0, settings=SMALL["sep-cma-es"])
    assert np.array_equal(np.random.random(3), expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [137, 500])
def test_no_method_spends_more_than_its_budget(task, method, budget, monkeypatch):
    spent = []
    for name in ("play", "solve"):
        real = getattr(SimulatedWorld, name)

        def counted(self, *args, real=real, name=name, **kwargs):
            out = real(self, *args, **kwargs)
            spent.append(np.size(out.reward if name == "play" else out))
            return out

        monkeypatch.setattr(SimulatedWorld, name, counted)
    result = train(method, task, budget, 3, settings=SMALL[method])
    assert sum(spent) == result.evaluations <= budget
    if method in ("sep-cma-es", "random-search"):
        assert result.evaluations > budget - 48


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_training_is_the_uninterrupted_one(task, method, tmp_path):
    whole = train(method, task, 600, 2, settings=SMALL[method], log=tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1):
        cut = tmp_path / f"{kept}.jsonl"
        half = lines[kept][: len(lines[kept]) // 2] if kept < len(lines) else b""
        cut.write_bytes(b"".join(lines[:kept]) + half)
        resumed = train(method, task, 600, 2, settings=SMALL[method], log=cut)
        assert np.array_equal(resumed.theta, whole.theta)
        assert resumed.evaluations == whole.evaluations and resumed.history.equals(whole.history)
        assert cut.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("method", ["sep-cma-es", "reinforce"])
def test_a_checkpoint_is_what_the_smaller_budget_ends_with(task, method):
    whole = train(method, task, 600, 2, settings=SMALL[method], checkpoints=(150, 320))
    assert list(whole.checkpoints) == [150, 320]
    for budget, theta in whole.checkpoints.items():
        assert np.array_equal(theta, train(method, task, budget, 2, settings=SMALL[method]).theta)


def test_a_log_of_another_training_is_refused_and_kept(task, tmp_path):
    log = tmp_path / "log.jsonl"
    train("sep-cma-es", task, 200, 2, settings=SMALL["sep-cma-es"], log=log)
    before = log.read_bytes()
    for changed in ({"seed": 3}, {"budget": 300}, {"task": replace(task, sampling="common")}):
        call = {"task": task, "budget": 200, "seed": 2} | changed
        with pytest.raises(LogError, match=r"seed|budget|sampling"):
            train("sep-cma-es", **call, settings=SMALL["sep-cma-es"], log=log)
    assert log.read_bytes() == before
    log.write_text('{"hello": 1}\n')
    with pytest.raises(LogError, match="not the log of a training"):
        train("sep-cma-es", task, 200, 2, settings=SMALL["sep-cma-es"], log=log)
    log.write_bytes(before.replace(b'"iteration": 1', b'"iteration": 7', 1))
    with pytest.raises(LogError, match="line 3"):
        train("sep-cma-es", task, 200, 2, settings=SMALL["sep-cma-es"], log=log)
    log.write_bytes(before[:40] + b"\n" + before[40:])
    with pytest.raises(LogError, match="line 1"):
        train("sep-cma-es", task, 200, 2, settings=SMALL["sep-cma-es"], log=log)


@pytest.mark.parametrize("method", ["sep-cma-es", "reinforce", "sft"])
def test_a_log_that_was_changed_is_refused_and_not_replayed(task, method, tmp_path):
    def train_again():
        return train(method, task, 200, 2, settings=SMALL[method], log=tmp_path / "log.jsonl")

    def damaged(change) -> bytes:
        entry = json.loads(lines[1])
        change(entry)
        return b"".join([lines[0], json.dumps(entry).encode() + b"\n", *lines[2:]])

    whole = train_again()
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    key = "labels" if method == "sft" else "fitness"
    changes = [
        lambda entry: entry.pop(key),
        lambda entry: entry.update({key: [float("nan")]}),
        lambda entry: entry[key].__setitem__(0, 0.123),
        lambda entry: entry.update(row=None),
        lambda entry: entry.pop("sum"),
        lambda entry: entry.update(sum=3),
    ]
    for change in changes:
        (tmp_path / "log.jsonl").write_bytes(damaged(change))
        with pytest.raises(LogError, match=r"log\.jsonl, line 2 is not as it was written"):
            train_again()
        assert (tmp_path / "log.jsonl").read_bytes() == damaged(change)
    (tmp_path / "log.jsonl").write_bytes(b"\r\n".join(line.rstrip(b"\n") for line in lines) + b"\r\n")
    assert np.array_equal(train_again().theta, whole.theta)  # other line ends change nothing


def test_one_training_at_a_time_writes_a_log(task, tmp_path):
    log = TrainingLog(tmp_path / "log.jsonl", {"seed": 1})
    with pytest.raises(LogError, match="another training is writing"):
        TrainingLog(tmp_path / "log.jsonl", {"seed": 1})
    log.close()
    TrainingLog(tmp_path / "log.jsonl", {"seed": 1}).close()


# case 18: a NaN is never ranked


def test_a_nan_fitness_is_refused_by_name_and_changes_nothing(task):
    learner = SepCmaEs(population=8).start(task, 1)
    learner.ask(0)
    mean, sigma = learner.theta, learner.strategy.sigma
    for bad in (np.where(np.arange(8) == 3, np.nan, 0.5), np.full(8, np.nan)):
        with pytest.raises(ValueError, match="candidate [03] is nan"):
            learner.replay(bad, {})
    assert np.array_equal(learner.theta, mean) and learner.strategy.sigma == sigma
    learner.replay(np.linspace(0, 1, 8), {})
    assert not np.array_equal(learner.theta, mean)


class FailingPool:
    """The simulated pool, whose calls fail for good where `fails(agent, replicate)` says so."""

    def __init__(self, pool, fails) -> None:
        self.agents, self.inner, self.fails = pool.agents, pool, fails

    def reply(self, agent, messages, replicate) -> Message:
        """As the pool's."""
        if self.fails(agent, replicate):
            return Message("", None, None, None, "error", error="made to fail")
        return self.inner.reply(agent, messages, replicate)


def live(questions, pool, fails) -> Task:
    world = LiveWorld(
        questions, FailingPool(pool, fails), MadeEncoder(D, questions), LoopSettings(transcript="released")
    )
    return Task(world, make_head("linear", 7, D))


def test_failed_rollouts_are_left_out_and_never_ranked_as_zero(questions, pool):
    task = live(questions, pool, lambda agent, replicate: replicate // 100 % 4 == 0)
    settings = SepCmaEs(population=4, rollouts=8)
    result = train("sep-cma-es", task, 64, 1, settings=settings)
    assert (result.history["failed"] > 0).all() and result.evaluations == 64
    asked, replicates = task.cells(4, 8, 1, 0, 0)
    plays = task.play(np.zeros((4, task.n)), asked, replicates)
    fitness = [row[np.isfinite(row)].mean() for row in plays.reward]
    assert np.isnan(plays.reward).any() and np.array_equal(plays.fitness, fitness)


class Changed:
    """A world whose rewards `change(reward, replicates)` changes in place."""

    def __init__(self, world, change) -> None:
        self._world, self.change = world, change

    def __getattr__(self, name):
        return getattr(self._world, name)

    def play(self, head, thetas, questions, replicates, **options):
        """As the world's."""
        plays = self._world.play(head, thetas, questions, replicates, **options)
        self.change(plays.reward, np.broadcast_to(replicates, plays.reward.shape))
        return plays


def losing(task, lost):
    """The task, the rollouts of replicates that are `lost` failing."""
    return replace(task, world=Changed(task.world, lambda reward, number: np.putmask(reward, lost(number), np.nan)))


def test_a_candidate_whose_rollouts_all_failed_is_played_again(task):
    lost = losing(task, lambda number: (8 <= number) & (number < 16))  # candidate 1, at first
    result = train("sep-cma-es", lost, 200, 1, settings=SepCmaEs(population=4, rollouts=8))
    assert result.history["evaluations"].tolist()[:2] == [40, 72] and result.evaluations <= 200
    assert np.isfinite(result.theta).all()


def test_where_nothing_but_failures_come_the_training_stops_with_its_log_whole(task, tmp_path):
    broken, whole = losing(task, lambda number: number >= 64), task
    settings, log = SepCmaEs(population=4, rollouts=8), tmp_path / "log.jsonl"
    with pytest.raises(TrainingError, match="all rollouts of candidate 0 failed, 8 and 8 more"):
        train("sep-cma-es", broken, 200, 1, settings=settings, log=log)
    assert len(log.read_text().splitlines()) == 3
    resumed = train("sep-cma-es", whole, 200, 1, settings=settings, log=log)
    assert np.array_equal(resumed.theta, train("sep-cma-es", whole, 200, 1, settings=settings).theta)


# case 19: flat fitness


def test_flat_fitness_goes_on_and_is_said(task):
    nothing_right = replace(task, world=Changed(task.world, lambda reward, _: reward.fill(0.0)))
    result = train("sep-cma-es", nothing_right, 48 * 30, 1, settings=SMALL["sep-cma-es"])
    assert len(result.history) == 30 and result.history["flat"].all() and result.stop == "budget spent"
    assert np.isfinite(result.theta).all()


def test_ties_are_broken_by_place_alone(task):
    one, other = (SepCmaEs(population=8).start(task, 1) for _ in range(2))
    one.ask(0), other.ask(0)
    one.replay(np.array([0.5, 0.5, 1, 0.5, 0, 0, 1, 0.5]), {})
    other.replay(np.array([0.5, 0.4, 1, 0.3, 0.1, 0, 0.9, 0.2]), {})
    assert np.array_equal(one.theta, other.theta)


@pytest.mark.parametrize("d", [576, 8])  # two-point step-size adaptation; below 300 numbers another rule
def test_equal_fitness_moves_sigma_as_pycma_does(d):
    """Case 42: 60 generations in which no candidate is better."""
    cma = pytest.importorskip("cma")
    head = make_head("linear", 7, d)
    ours = SepCmaEs().start(SimpleNamespace(n=head.size, head=head), 1)
    draws = np.random.default_rng([1, 0xC3A])
    options = {"CMA_diagonal": True, "popsize": 33, "randn": lambda *shape: draws.standard_normal(shape)}
    theirs = cma.CMAEvolutionStrategy(np.zeros(head.size), 0.03, options | {"seed": np.nan, "verbose": -9})
    for iteration in range(60):
        candidates, _ = ours.ask(iteration)
        theirs.tell(theirs.ask(), [-0.5] * 33)
        sigma = ours.tell(np.full(len(candidates), 0.5), None)["sigma"]
    assert sigma == theirs.sigma == pytest.approx(0.03, rel=0.05)


# what is learnt


@pytest.mark.parametrize("method", ["sep-cma-es", "reinforce"])
def test_a_planted_optimum_is_found(questions, pool, method):
    """One agent solves everything; the others never. Its share grows and the reward with it."""
    planted = load_pool("paper7", questions=questions)
    star = 4
    planted.logits[:] = -6.0
    planted.logits[star] = 6.0
    planted.chances = 1 / (1 + np.exp(-planted.logits))
    planted._logits, planted._chances = planted.logits.tolist(), planted.chances.tolist()
    world = SimulatedWorld(questions, planted, MadeEncoder(D, questions), LoopSettings(transcript="released"))
    task = Task(world, make_head("linear", 7, D))
    settings = {"sep-cma-es": SepCmaEs(population=16, sigma=0.1), "reinforce": Reinforce(rollouts=256, rate=0.03)}
    result = train(method, task, 10_000, 1, settings=settings[method])
    name = f"agent: {planted.agents[star].name}"
    assert result.history[name].iloc[-1] > 2 * result.history[name].iloc[0]
    assert task.rewards(result.theta, 8).mean() > task.rewards(np.zeros(task.n), 8).mean() + 0.2
    # Without its key ingredient, the reward, nothing of the kind is learnt.

    def tosses(reward, _):
        reward[:] = np.random.default_rng(reward.size).integers(0, 2, reward.shape)

    blind = train(method, Task(Changed(world, tosses), task.head), 10_000, 1, settings=settings[method])
    assert task.rewards(blind.theta, 8).mean() < task.rewards(result.theta, 8).mean() - 0.1


def test_sft_learns_the_oracle_labels(task):
    result = train("sft", task, 10_000, 1, settings=Sft(epochs=300, rate=0.01))
    assert result.evaluations == 3 * 7 * len(task.world.questions)
    assert result.history["label_accuracy"].iloc[0] > 0.8
    assert not result.theta.reshape(10, D)[7:].any()
    barely = train("sft", task, 10_000, 1)  # the paper's rate of 1e-6 hardly moves the weights
    assert 0 < np.abs(barely.theta).max() < 1e-3


def test_oracle_labels_take_the_best_agent_the_majority_and_break_ties_evenly():
    rewards = np.zeros((3, 4000, 3))
    rewards[:, 0, 1] = 1
    rewards[0, 1] = [1, 0, 0]
    rewards[1:, 1] = [0, 0, 1]
    labels = oracle_labels(rewards, 0)
    assert labels[0] == 1 and labels[1] == 2
    shares = np.bincount(labels[2:], minlength=3) / len(labels[2:])
    assert np.abs(shares - 1 / 3).max() < 0.03
    with pytest.raises(ValueError, match="finite"):
        oracle_labels(np.full((3, 2, 3), np.nan), 0)


def test_label_cost_is_the_papers():
    assert label_cost(7000) == 147_000
    assert label_cost(7000, turns=5, roles=3) == 147_000 * 583_443


def test_reinforce_estimates_the_gradient(task):
    """Against finite differences of the exact mean of R log pi's derivative, on the same rollouts."""
    theta = 0.05 * np.random.default_rng(0).standard_normal(task.n)
    learner = Reinforce(rollouts=64).start(task, 1)
    learner.theta = theta
    asked, replicates = task.cells(1, 64, 1, 0, 0)
    plays = task.play(theta[None], asked, replicates)

    def weighted_log_likelihood(at: np.ndarray) -> float:
        total = 0.0
        for rollout in range(64):
            for turn in range(int(plays.turns[0, rollout])):
                logits = task.head.logits(at, task.features(plays.nodes[0, rollout, [turn]]))[0]
                agents, roles = logits[:7], logits[7:]
                value = agents[plays.agents[0, rollout, turn]] - np.log(np.exp(agents).sum())
                if not plays.named[0, rollout, turn]:
                    value += roles[plays.roles[0, rollout, turn]] - np.log(np.exp(roles).sum())
                total += plays.reward[0, rollout] * value
        return total / 64

    gradient = learner.gradient(plays)
    for place in np.random.default_rng(1).integers(0, task.n, 6):
        step = np.zeros(task.n)
        step[place] = 1e-5
        slope = (weighted_log_likelihood(theta + step) - weighted_log_likelihood(theta - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_a_family_baseline_takes_the_mean_out(task):
    learner = Reinforce(rollouts=64, baseline="family").start(task, 1)
    asked, replicates = task.cells(1, 64, 1, 0, 0)
    plays = task.play(np.zeros((1, task.n)), asked, replicates)
    plays.reward[:] = 1.0  # every rollout as good as any other: nothing to learn
    assert not learner.gradient(plays).any()
    assert Reinforce(rollouts=64).start(task, 1).gradient(plays).any()


def test_adam_is_torchs():
    import torch

    generator = np.random.default_rng(0)
    weights = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=0.01, maximize=True)
    ours, adam = np.zeros(5), Adam(0.01, 5)
    for _ in range(20):
        gradient = generator.standard_normal(5)
        weights.grad = torch.from_numpy(gradient.copy())
        optimiser.step()
        ours = ours + adam.step(gradient)
    assert np.allclose(ours, weights.detach().numpy(), rtol=1e-12)


# recipes


def test_stratified_batches_hold_every_family_alike_and_common_ones_the_same(task):
    families = np.array([q.family for q in task.world.questions])
    stratified = replace(task, sampling="stratified").cells(5, 8, 1, 0, 0)
    for row in stratified[0]:
        assert all((families[row] == name).sum() == 2 for name in set(families))
        assert len(set(row.tolist())) == 8
    assert len(np.unique(stratified[1])) == 40
    questions, replicates = replace(task, sampling="common").cells(5, 8, 1, 3, 100)
    assert (questions == questions[0]).all() and (replicates == replicates[0]).all() and replicates.min() == 100
    independent = task.cells(50, 8, 1, 0, 0)[0]
    assert len(np.unique(independent)) == len(families) and not (independent == independent[0]).all()


def test_mirrored_candidates_are_mirror_images(task):
    learner = SepCmaEs(population=8, mirrored=True).start(task, 1)
    thetas, _ = learner.ask(0)
    gaps = [np.abs(thetas[i] + thetas[j] - 2 * learner.theta).max() for i in range(8) for j in range(i)]
    assert sum(gap < 1e-12 for gap in gaps) == 4


def test_whitening_makes_all_directions_alike():
    states = np.random.default_rng(0).standard_normal((500, 6)) * [9, 5, 3, 1, 1, 0.5] + 4
    white = Whitening.fit(states, shrink=1e-9)(states)
    assert np.allclose(white.T @ white / len(white), np.eye(6), atol=1e-6)
    assert np.linalg.norm(white.mean(axis=0)) > 0.5  # what all states share is still there


# bad input


@pytest.mark.parametrize(
    ("change", "word"),
    [({"method": "adam"}, "adam"), ({"budget": -1}, "budget"), ({"seed": -1}, "seed"), ({"seed": 1.5}, "seed"),
     ({"budget": 3}, "too small"), ({"settings": RandomSearch()}, "SepCmaEs")],
)  # fmt: skip
def test_bad_arguments_are_named(task, change, word):
    call = {"method": "sep-cma-es", "task": task, "budget": 600, "seed": 1, "settings": SMALL["sep-cma-es"]} | change
    with pytest.raises(ValueError, match=word):
        train(**call)


@pytest.mark.parametrize("head_name", HEADS)
def test_every_head_is_trained_and_kept(task, head_name, tmp_path):
    here = Task(task.world, make_head(head_name, 7, D))
    result = train("sep-cma-es", here, 150, 1, settings=SMALL["sep-cma-es"])
    Coordinator.of(here, result.theta).save(tmp_path / "made")
    back = Coordinator.load(tmp_path / "made", encoder=task.world.encoder, pool=task.world.pool)
    assert np.array_equal(back.theta, result.theta) and back.head == head_name


def test_heads_and_tasks_that_do_not_fit_are_refused(task):
    with pytest.raises(ValueError, match="d = 25"):
        Task(task.world, make_head("linear", 7, D + 1))
    with pytest.raises(ValueError, match="sampling 'some'"):
        Task(task.world, task.head, sampling="some")
    with pytest.raises(ValueError, match="linear head"):
        train("reinforce", Task(task.world, make_head("low-rank", 7, D)), 600, 1)
    with pytest.raises(ValueError, match="linear head"):
        train("sft", Task(task.world, make_head("low-rank", 7, D)), 600, 1)
    with pytest.raises(ValueError, match="needs 240"):
        task.play(np.zeros((1, 3)), np.zeros((1, 1), int), np.zeros((1, 1), int))


# the command


@pytest.fixture(scope="module")
def shared_cache():
    """The command encodes what the bank lacks: once, in the cache that all tests share."""
    return {name: value for name, value in os.environ.items() if name != "TRINITY_CACHE"}


def test_a_killed_command_ends_with_the_theta_of_an_uninterrupted_one(tmp_path, shared_cache):
    def started(folder):
        words = ["-m", "suite.commands", "train", "--profile", "smoke", "--budget", "2112", "--out", str(folder)]
        return subprocess.Popen([sys.executable, *words], cwd=ROOT, env=shared_cache, stderr=subprocess.DEVNULL)

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert started(whole).wait(300) == 0
    result = json.loads((whole / "result.json").read_text())
    assert result["evaluations"] == 2112 and 0 < result["reward, test questions"] < 1
    process, log = started(killed), killed / "log.jsonl"
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if log.is_file() and log.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert log.is_file() and started(killed).wait(300) == 0
    for name in ("log.jsonl", "coordinator.safetensors", "history.csv", "result.json"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.parametrize(
    ("words", "said"),
    [("--seed -1", "give 0 or more"), ("--budget 0", "give 1 or more"), ("--budget 5", "too small"),
     ("--method reinforce --head sparse", "linear head")],
)  # fmt: skip
def test_the_command_names_what_is_wrong(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.delenv("TRINITY_CACHE")  # the shared one
    try:
        code = commands.main(["train", "--profile", "smoke", "--out", str(tmp_path / "o"), *words.split()])
    except SystemExit as error:
        code = error.code
    assert code == 2 and said in capsys.readouterr().err


# many at once


def test_workers_end_with_a_killed_parent(tmp_path, shared_cache):
    """The parent is killed in the middle; no worker goes on."""
    import psutil

    code = (
        "from suite.experiments import Experiment, run_experiments, seeds_of\n"
        "if __name__ == '__main__':\n"
        "    run_experiments(seeds_of(Experiment(profile='smoke', budget=10**9), 2), workers=2)\n"
    )
    (tmp_path / "many.py").write_text(code)
    environment = shared_cache
    parent = subprocess.Popen([sys.executable, str(tmp_path / "many.py")], cwd=ROOT, env=environment)
    try:
        workers: list[psutil.Process] = []
        until = time.monotonic() + 60
        while len(workers) < 2 and time.monotonic() < until:
            time.sleep(0.2)
            workers = [p for p in psutil.Process(parent.pid).children() if "popen_loky" in " ".join(p.cmdline())]
        assert len(workers) == 2
        time.sleep(3)  # past their start, into the training
    finally:
        parent.kill()
        parent.wait()
    gone, left = psutil.wait_procs(workers, timeout=120)
    for process in left:
        process.kill()
    assert not left


def test_a_killed_worker_is_told_and_ends_the_others():
    import psutil

    def kill_one() -> None:
        while True:
            time.sleep(0.2)
            found = [p for p in psutil.Process().children() if "popen_loky" in " ".join(p.cmdline())]
            if len(found) == 2:
                workers.extend(found)
                found[0].kill()
                return

    workers: list[psutil.Process] = []
    threading.Thread(target=kill_one, daemon=True).start()
    with pytest.raises(TrainingError, match="one of 2 processes ended"):
        run_experiments(seeds_of(Experiment(profile="smoke", budget=10**9), 2), workers=2)
    assert not psutil.wait_procs(workers, timeout=20)[1]


def test_results_do_not_depend_on_the_number_of_workers():
    experiments = seeds_of(Experiment(profile="smoke", budget=1056, method="random-search"), 2)
    alone, together = run_experiments(experiments, workers=1), run_experiments(experiments, workers=2)
    for one, other in zip(alone, together, strict=True):
        assert one.experiment == other.experiment
        assert np.array_equal(one.result.theta, other.result.theta)
        assert np.array_equal(one.test_rewards, other.test_rewards)
        assert np.array_equal(one.train_rewards, other.train_rewards)
