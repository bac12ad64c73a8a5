"""What notebook 16 compares: runs in several processes, variants judged on training questions, tables and claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_files import separable

from suite.chapters import routing_real_llms as routing
from suite.experiments import run_all
from suite.profiles import RecordedError
from suite.results import Verdict
from suite.routers import full_information, variants
from suite.routers.methods import Run, run
from suite.routers.variants import Variant, candidates, judge, states_of
from suite.stats.intervals import Estimate
from suite.worlds.recorded_states import POSITIONS, fast_dtype, split_files
from suite.worlds.routing import Asked, RoutingData
from trinity_core.training.learners import SepCmaEs


@pytest.fixture(scope="module")
def questions():
    return separable(seed=1), separable(seed=2)


# --- runs ---


def test_workers_change_nothing(questions):
    jobs = [Run("sep-cma-es", seed=1, budget=1100), Run("knn"), Run("sep-cma-es", seed=2, budget=600)]
    alone, together = (run_all(run, jobs, questions, workers=workers) for workers in (1, 2))
    assert [one.evaluations for one in alone] == [one.evaluations for one in together]
    for first, second in zip(alone, together, strict=True):
        assert (first.chosen == second.chosen).all()


def test_checkpoints_are_shorter_runs(questions):
    long = run(questions, Run("sep-cma-es", budget=1600, checkpoints=(528, 1056)))
    assert sorted(long.at) == [528, 1056]
    for budget, chosen in long.at.items():
        short = run(questions, Run("sep-cma-es", budget=budget))
        assert (chosen == short.chosen).all()
        (kept,) = routing.until([long], budget)
        assert (kept.chosen == short.chosen).all() and kept.evaluations == budget


def test_fitness_without_noise_learns(questions):
    found = run(questions, Run("exact sep-cma-es", budget=40, settings=SepCmaEs(sigma=0.3)))
    assert questions[1].estimate(found.chosen).value > 0.9
    assert found.parameters == 18 and found.evaluations == 40 * 33 * 240 * 3


def test_start_is_where_training_starts(questions):
    solution = np.eye(3, 6).ravel() * 5
    untouched = run(questions, Run("sep-cma-es", budget=528, start=solution, settings=SepCmaEs(sigma=1e-6)))
    assert (untouched.chosen == questions[1].states[:, :3].argmax(axis=1)).all()


def test_components_keep_the_leading_directions(questions):
    few = run(questions, Run("full-information", components=3))
    assert few.parameters == 3 * 4 and questions[1].estimate(few.chosen).value > 0.9


# --- variants ---


def test_candidates_differ_and_are_small():
    found = candidates((6, 15, 24, 30), POSITIONS, 15)
    assert len(set(found)) == len(found) == 24
    assert all(7 * (576 * len(variant.reading) + 1) < variants.LIMIT for variant in found)
    assert len({variant.name for variant in found}) == len(found)
    assert Variant(((15, "mean"), (30, "mean"))).name == "mean 15+30; expected reward, 0.001"


def test_too_many_numbers_are_refused():
    data = separable()
    wide = data.with_states(np.zeros((240, 7000)))
    with pytest.raises(ValueError, match="21,003 trained numbers; stay below 20,000"):
        variants.train(Variant(((0, "x"),)), wide)


def test_folds_spread_every_benchmark():
    data = separable()
    fold = variants.folds(data, 3)
    for name in ("small", "large"):
        counts = np.bincount(fold[data.families == name])
        assert len(counts) == variants.FOLDS and counts.max() - counts.min() <= 1
    assert (fold != variants.folds(data, 4)).any()


def test_held_out_questions_are_not_learnt_from():
    """Where the states say nothing of the rewards, holding out stays at chance; training on all questions does not."""
    data = separable(n=300, d=200)
    right = np.eye(3)[np.random.default_rng(5).integers(0, 3, 300)]
    noise = RoutingData(data.agents, data.questions, np.random.default_rng(6).normal(size=(300, 200)), right, right)
    variant = Variant(((0, "x"),), penalty=1e-4)
    for chosen in (
        *variants.held_out(variant, noise, variants.folds(noise, 1), noise.families),
        variants.within_benchmarks(variant, noise, 1),
    ):
        assert noise.rewards(chosen).mean() < 0.45
    assert noise.rewards(variants.train(variant, noise).choose(noise.states)).mean() > 0.8


@pytest.mark.parametrize("objective", full_information.OBJECTIVES)
def test_routers_fitted_in_step_are_those_fitted_alone(objective):
    data = separable()
    shifted = data.with_states(100 + data.states * np.array([1e3, 1, 1e-3, 1, 1, 1]))
    variant = Variant(((0, "x"),), objective)
    group = np.arange(240) % 3
    group[data.families == "small"] = 3
    together, other = variants.held_out(variant, shifted, group, shifted.families)
    for held in range(4):
        alone = variants.train(variant, shifted.take(group != held))
        assert (alone.choose(shifted.states[group == held]) == together[group == held]).mean() > 0.99
    rows = shifted.families == "large"
    assert (variants.train(variant, shifted.take(~rows)).choose(shifted.states[rows]) == other[rows]).mean() > 0.99


def test_router_ignores_what_its_own_questions_do_not_vary_in():
    data = separable()
    states = np.hstack([data.states, 1e-9 * (data.families == "small")[:, None]])
    rows = data.families != "small"
    weights = np.where(rows, 1.0, 0.0)[None]
    how = {"objective": "expected reward", "penalty": 1e-3}
    (router,) = full_information.fit(states, data.right, weights, **how)
    (plain,) = full_information.fit(data.states[rows], data.right[rows], weights[:, rows], **how)
    assert (router.choose(states[rows]) == plain.choose(data.states[rows])).mean() > 0.98


def test_judge_reads_the_test_questions_for_nothing_but_the_verdict():
    train, test = separable(seed=1), separable(seed=2)
    first, second = ({(0, "x"): data.states} for data in (train, test))
    other = replace(test, right=1 - test.right)
    one, two = (judge(train, seen, first, second, 7, Variant(((0, "x"),))) for seen in (test, other))
    assert (one.validated == two.validated).all() and (one.unseen == two.unseen).all() and (one.test == two.test).all()
    assert test.rewards(one.test).mean() > 0.95
    assert one.estimates["cross-validation"] == two.estimates["cross-validation"]
    assert one.estimates["test"].value > 0.9 > 0.2 > two.estimates["test"].value


@pytest.mark.parametrize(
    ("units", "dtype"),
    [
        ({"avx2": True, "cpu_name": "old"}, "float32"),
        ({"avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({"avx512_bf16": True, "amx_bf16": False}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
    ],
)
def test_bfloat16_only_where_the_processor_has_it(monkeypatch, units, dtype):
    import torch

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: units)
    assert fast_dtype() == dtype


def test_states_stand_side_by_side():
    grid = {(1, "last"): np.zeros((2, 3), np.float16), (2, "mean"): np.ones((2, 3), np.float16)}
    states = states_of(grid, ((2, "mean"), (1, "last")))
    assert states.dtype == np.float64 and states.tolist() == [[1, 1, 1, 0, 0, 0]] * 2


def test_constant_is_a_bias():
    states = np.random.default_rng(0).normal(size=(5, 4))
    longer = variants.with_constant(states)
    assert longer.shape == (5, 5) and (longer[:, -1] == longer[0, -1]).all() and longer[0, -1] > 0


# --- tables and claims ---


def test_choice_for_an_unseen_benchmark_is_made_on_the_others():
    """Two variants: one is right on benchmark a only, one on b only. Each would be chosen by the other's benchmark."""
    families = ["a"] * 4 + ["b"] * 4
    data = made(np.array([[1.0, 0.0]] * 8), families)
    right, wrong = np.zeros(4, int), np.ones(4, int)
    sides = np.concatenate([right, wrong]), np.concatenate([wrong, right])
    judged = [variants.Judged(Variant(((k, "x"),)), 4, side, side, side, {}) for k, side in enumerate(sides)]
    assert routing.unseen_choice(data, judged).tolist() == [1] * 8  # on a the variant that is right on b, and so on
    assert routing.unseen_single(data).tolist() == [0] * 8


def test_best_llm_of_the_other_folds_learns_nothing_from_its_own():
    right = np.zeros((10, 2))
    right[:5, 0], right[5:, 1] = 1, 1
    fold = variants.folds(made(right, ["a"] * 10), 3)
    chosen = routing.held_out_best(made(right, ["a"] * 10), 3)
    for held in range(variants.FOLDS):
        assert (chosen[fold == held] == right[fold != held].mean(axis=0).argmax()).all()


def made(right: np.ndarray, families: list[str]) -> RoutingData:
    questions = tuple(Asked(f"q{k}", name) for k, name in enumerate(families))
    return RoutingData(("a", "b"), questions, np.zeros((len(right), 1)), right, right)


def test_tables_are_means_of_benchmarks():
    data = made(np.array([[1, 0], [1, 0], [0, 1], [1.0, 0.5]]), ["x", "x", "x", "y"])
    table = routing.score_table(data, {"always a": np.zeros((1, 4), int), "mixed": np.array([[0, 0, 1, 1]])})
    assert table["x"].tolist() == pytest.approx([200 / 3, 100]) and table["y"].tolist() == pytest.approx([100, 50])
    assert table["average"].tolist() == pytest.approx([250 / 3, 75])
    assert data.shares(np.array([0, 0, 1, 1])).tolist() == [[2 / 3, 1 / 3], [0, 1]]
    # On x the other benchmark's best is a; on y, x's best is a too.
    assert routing.unseen_single(data).tolist() == [0, 0, 0, 0]


def test_variants_are_ordered_by_training_questions_alone():
    def found(*values):
        panels = ("cross-validation", "unseen benchmark", "test")
        return {panel: Estimate(value, value - 0.1, value + 0.1) for panel, value in zip(panels, values, strict=True)}

    none = np.zeros(0, int)
    judged = [
        variants.Judged(Variant(((1, "x"),)), 5, none, none, none, found(0.3, 0.2, 0.9)),
        variants.Judged(Variant(((2, "x"),)), 5, none, none, none, found(0.4, 0.2, 0.1)),
    ]
    table = routing.variant_table(judged)
    assert table["variant"][0].startswith("x 2") and table["chosen"].tolist() == [True, False]
    assert table["both"].tolist() == pytest.approx([30, 25]) and table["test"].tolist() == pytest.approx([10, 90])


def test_curve_takes_long_runs_or_single_ones(questions):
    budgets = [528, 1056]
    jobs = routing.curve_runs(1, budgets)
    assert [job.budget for job in jobs["SFT"]] == budgets[:-1] and len(jobs["sep-CMA-ES"]) == 1
    for name, at in (("sep-CMA-ES", budgets), ("SFT", budgets[:-1])):
        table = routing.curve(questions[1], [run(questions, job) for job in jobs[name]], budgets, 1)
        assert table["evaluations"].tolist() == at and (table["low"] <= table["high"]).all()


def test_ceiling_table_has_every_benchmark(questions):
    table = routing.ceiling_table(questions[1], {"all": questions[1].states}, 1).set_index("benchmark")
    assert list(table.index) == ["small", "large", "average"]
    assert (table["router, all"] > 90).all() and (table["oracle"] == 100).all()


def test_claims_are_judged_as_declared():
    from suite.results import judge as verdict

    assert len({claim["id"] for claim in routing.CLAIMS.values()}) == len(routing.CLAIMS)
    keys = ("evidence", "relation", "stand_in")
    ours, theirs = ({key: routing.CLAIMS[id][key] for key in keys} for id in ("16.anchor", "16.over-best-single"))
    assert verdict(paper=None, ours=1.0, interval=(0.2, 1.8), own=True, **ours)[0] is Verdict.YES
    assert verdict(paper=5.25, ours=1.0, interval=(0.2, 1.8), **theirs)[0] is Verdict.CONSISTENT
    assert verdict(paper=5.25, ours=1.0, interval=(-0.2, 1.8), **theirs)[0] is Verdict.CANNOT_TELL


def test_files_of_a_split_in_the_tables_order(tmp_path):
    folder = tmp_path / "routerdc"
    folder.mkdir()
    wanted = ["mmlu_test.json", "gsm8k-test.json", "cmmlu_test.json", "arc_challenge_test.json", "humaneval_test.json"]
    for name in ("arc_easy_test.json", "mmlu_train.json", *reversed(wanted)):
        (folder / name).write_text("[]")
    assert [path.name for path in split_files(tmp_path, "test")] == wanted
    (folder / "cmmlu_test.json").unlink()
    with pytest.raises(RecordedError, match=r"cmmlu_test\.json is not there"):
        split_files(tmp_path, "test")
