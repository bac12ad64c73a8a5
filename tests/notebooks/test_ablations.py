"""What an ablation forbids is never chosen, and all else stays as it was."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_states import made_world

from suite import experiments as ex
from suite.baselines.variants import NEVER, without
from suite.chapters import ablations as ab
from suite.chapters import ablations_figures as draw
from suite.published import BENCHMARKS, published
from suite.questions import load_questions
from suite.stats.scores import AVERAGE
from trinity_core.heads import HEADS, agent_role_probabilities, make_head
from trinity_core.training import Task, train
from trinity_core.training.learners import SepCmaEs
from trinity_core.types import ROLES

D, AGENTS = 24, ("A", "B", "C", "D", "E", "F", "G")
SMALL = SepCmaEs(population=8, rollouts=6)


@pytest.fixture(scope="module")
def world(module_cache):
    return made_world(load_questions(per_family=3, split="train"), D)


def drawn(head, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((3, head.size)), generator.standard_normal((3, 4, D))


@pytest.mark.parametrize("name", HEADS)
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
    assert masked.shapes == head.shapes
    if name == "sparse":  # its soft gate goes through
        soft = [one.logits(theta, states, gumbel=np.zeros((3, D)))[..., kept] for one in (masked, head)]
        assert np.array_equal(*soft)


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
    ],
)
def test_what_cannot_be_left_out_is_named(names, said):
    with pytest.raises(ValueError, match=said):
        without(make_head("linear", 7, D), names, AGENTS)


# --- Table 2 ---
FAMILIES = [family for family in BENCHMARKS for _ in range(10)]


def trained(chance, seeds=3):
    """Several seeds' results whose test rewards are right with the chance, on the same draws."""
    draws = np.random.default_rng(0).random((seeds, len(FAMILIES), 4))
    return [SimpleNamespace(test_rewards=(draw < chance).astype(float)) for draw in draws]


def test_variants_are_the_rows_of_the_table():
    agents = published("table1_zero_shot")["model"].tolist()[:7]
    base = ex.Experiment(profile="smoke", budget=7)
    found = ab.variants(base, agents, ["GPT-5", "Claude-4-Sonnet"])
    assert set(found) <= set(published("table2_ablations")["variant"])
    assert found[ab.FULL] is base and all(e.budget == 7 for e in found.values())
    assert found["w/o tri-role selection"].without == ("thinker", "verifier")
    assert set(found["GPT-5 only"].without) == set(agents) - {"GPT-5"}
    assert found["last token"].position == "last" and not found["last token"].without
    with pytest.raises(ValueError, match="no agent 'GPT-6'"):
        ab.variants(base, agents, ["GPT-6"])


def test_losses_stand_beside_the_papers():
    runs = {ab.FULL: trained(0.8), "w/o Thinker": trained(0.8), "last token": trained(0.5)}
    table = ab.losses(runs, FAMILIES).set_index(["system", "part"])
    none, much = table.loc["w/o Thinker", AVERAGE], table.loc["last token", AVERAGE]
    assert none["value"] == 0 and none["low"] <= 0 <= none["high"]
    assert 15 < much["low"] < much["value"] < much["high"] < 45
    printed = published("table2_ablations").set_index("variant")
    for part, column in {AVERAGE: "average_printed", **BENCHMARKS}.items():
        expected = printed.loc[ab.FULL, column] - printed.loc["last token", column]
        assert table.loc[("last token", part), "paper"] == pytest.approx(expected)
    scores = ab.score_table(runs, FAMILIES).set_index("variant")
    assert scores.loc[ab.FULL, AVERAGE] - scores.loc["last token", AVERAGE] == pytest.approx(much["value"])
    assert scores.loc["last token", list(BENCHMARKS)].mean() == pytest.approx(scores.loc["last token", AVERAGE])


def test_behaviour_adds_up(world):
    names = [agent.name for agent in world.pool.agents]
    only = tuple(name for name in names if name != "Gemma-3-27B-It")
    runs = {}
    for variant, group in (("all", ()), ("Workers", ("thinker", "verifier")), ("one", only)):
        head = make_head("linear", 7, D)
        task = Task(world, without(head, group, names) if group else head)
        runs[variant] = [SimpleNamespace(test_plays=task.judge(np.zeros(task.n), 3))]
    families = [question.family for question in world.questions]
    table = ab.spending(runs, families, names).set_index("variant")
    assert table[list(ROLES)].sum(axis=1).to_numpy() == pytest.approx(np.full(3, 100))
    assert table.loc["Workers", "turns"] == 5 and table.loc["Workers", "accepted"] == 0
    assert table.loc["one", "main agent"] == "Gemma-3-27B-It" and table.loc["one", "its share"] == 100
    assert (table["dollars"] > 0).all() and table.loc["one", "dollars"] < table.loc["all", "dollars"]


def test_a_part_is_taken_from_a_trained_coordinator(world, monkeypatch):
    monkeypatch.setattr(ex, "get_world", lambda *args, **kwargs: world)
    names = [agent.name for agent in world.pool.agents]
    families = [question.family for question in world.questions]
    variants = ab.variants(ex.Experiment(), names, ["Gemma-3-27B-It"])
    task = ex.make_task(variants[ab.FULL])
    weights = np.zeros((10, D))
    weights[7] = 3 * world.states(np.arange(len(world.questions))).mean(axis=0)  # mostly Workers
    full = [
        SimpleNamespace(result=SimpleNamespace(theta=theta), test_rewards=task.rewards(theta, ex.REPLICATES))
        for theta in (weights.ravel(), np.zeros(task.n))
    ]
    table = ab.taken_away(full, variants, families).set_index("system")
    assert list(table.index) == ["w/o Thinker", "w/o tri-role selection", "Gemma-3-27B-It only"]
    alone = ex.make_task(variants["Gemma-3-27B-It only"])
    scores = [np.mean([t.rewards(run.result.theta, ex.REPLICATES) for run in full]) for t in (task, alone)]
    assert table.loc["Gemma-3-27B-It only", "value"] == pytest.approx(100 * (scores[0] - scores[1]))
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()


def test_figures_are_drawn():
    keys = [(variant, part) for variant in ("last token", "GPT-5 only") for part in ab.PARTS]
    losses = pd.DataFrame(keys, columns=["system", "part"]).assign(value=1.0, low=0.0, high=2.0, paper=3.0)
    figure = draw.draw_losses(losses)
    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == list(ab.PARTS)
    behaviour = pd.DataFrame({"variant": ["a", "b"], "turns": [4.0, 5.0], **{role: [25.0, 50.0] for role in ROLES}})
    assert len(draw.draw_turns(behaviour).axes[0].patches) == 6
