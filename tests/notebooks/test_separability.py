"""Separability: closed forms, the controls that must fail, splits that leak nothing, intervals, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suite.stats import pictures
from suite.stats import separability as sep
from suite.stats import synthetic as syn


def blobs(gap: float, *, classes: int = 4, each: int = 30, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """`classes` unit Gaussians, class k shifted by `gap` along axis k."""
    y = np.repeat(np.arange(classes), each)
    X = np.random.default_rng(seed).standard_normal((len(y), d))
    X[np.arange(len(y)), y] += gap
    return X.astype(np.float32), y


def accuracy_of(scores, questions=480) -> sep.Accuracy:
    return sep.Accuracy(np.asarray(scores, dtype=float), questions, test_per_train=0.25, chance=0.25)


def test_index_and_fisher_ratio_of_four_points():
    """Means at -3 and +3 on the first axis; within each class +-1 on the first and +-2 on the second axis."""
    X = np.array([[s * 3 + a, b] for s in (-1, 1) for a in (-1, 1) for b in (-2, 2)], dtype=float)
    y = np.repeat(["left", "right"], 4)
    assert sep.separability_index(X, y) == pytest.approx(9 / (9 + 1 + 4))
    assert sep.fisher_ratio(X, y) == pytest.approx(9 / 1)
    X, y = blobs(2.0)
    between, within = sep.scatter(X, y)
    assert np.allclose(between + within, np.cov(X.T.astype(float), bias=True))
    assert sep.separability_index(X, y) == pytest.approx(np.trace(between) / np.trace(between + within))


def test_fisher_ratio_ignores_an_invertible_map_and_the_index_a_rotation():
    X, y = blobs(1.5, d=5)
    rng = np.random.default_rng(3)
    mixed = X @ rng.standard_normal((5, 5))
    rotated = X @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    assert sep.fisher_ratio(mixed, y) == pytest.approx(sep.fisher_ratio(X, y), rel=1e-4)
    assert sep.separability_index(rotated, y) == pytest.approx(sep.separability_index(X, y), rel=1e-4)


def test_index_reaches_both_ends():
    """Each class twice the same two points (no shift between classes), or each class one point."""
    y = np.repeat([0, 1], 2)
    for X, index in (([[-1.0], [1.0], [-1.0], [1.0]], 0.0), (y[:, None] * 1.0, 1.0)):
        assert sep.separability_index(X, y) == pytest.approx(index)


def test_effective_dimensions_of_round_and_flat_clouds():
    X, y = blobs(3.0, each=5000, d=6)
    assert sep.effective_dimensions(X, y) == pytest.approx(6, rel=0.01)
    flat = X * np.array([1, 1, 1, 1e-3, 1e-3, 1e-3])
    assert sep.effective_dimensions(flat, y) == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_far_classes_are_told_apart_and_equal_ones_are_not(kernel):
    X, y = blobs(6.0)
    splits = sep.stratified_splits(y, repeats=2, seed=0)
    assert sep.evaluate(sep.svm(kernel), X, y, splits).mean > 0.98
    same, _ = blobs(0.0)
    found = sep.evaluate(sep.svm(kernel), same, y, splits)
    assert found.low < found.chance == 0.25 < found.high


def test_shuffled_labels_fall_to_chance():
    X, y = blobs(6.0)
    found = sep.shuffled(sep.svm(), X, y, permutations=5, seed=0)
    low, high = sep.wilson(found.chance, len(y))
    assert low < found.mean < high


def test_scale_does_not_matter_but_the_test_questions_do_not_set_it():
    """A dimension in tiny units counts as much as the others; an outlier in the test fold leaves the fit alone."""
    X, y = blobs(3.0)
    splits = sep.stratified_splits(y, repeats=2, seed=0)
    scaled = X.astype(np.float64) * np.logspace(-6, 6, X.shape[1])
    both = [sep.evaluate(sep.svm(), features, y, splits).scores for features in (X, scaled)]
    assert np.array_equal(*both)
    train, test = splits[0]
    outlier = X.copy()
    outlier[test[0]] = 1e6
    fits = [sep.svm().fit(features[train], y[train]).predict(features[test[1:]]) for features in (X, outlier)]
    assert np.array_equal(*fits)


def test_near_duplicates_with_different_labels_end_with_a_warning_not_never():
    """Embeddings of one shared token, equal but for rounding: libsvm alone would not come back."""
    from sklearn.exceptions import ConvergenceWarning

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    tokens = rng.standard_normal((6, 200))[rng.integers(6, size=120)]
    X = tokens * (1 + 1e-5 * rng.standard_normal((120, 200)))
    with pytest.warns(ConvergenceWarning):
        found = sep.evaluate(sep.svm(), X, y, sep.stratified_splits(y, repeats=1, seed=0))
    assert 0.3 < found.mean < 0.7


def test_bags_of_words_and_length_read_the_text_only():
    texts = [f"{word} {i} + {i}?" for word in ("add", "name") for i in range(20)]
    y = np.repeat(["math", "knowledge"], 20)
    splits = sep.stratified_splits(y, repeats=1, seed=0)
    for pieces in ("words", "characters"):
        assert sep.evaluate(sep.bag_of(pieces), texts, y, splits).mean == 1.0
    assert np.allclose(sep.length_features(["ab c", "x"]), np.log([[5, 3], [2, 2]]))


def test_more_training_questions_help():
    X, y = blobs(2.0, each=50)
    curve = sep.learning_curve(sep.svm(), X, y, [8, 120], repeats=5, seed=0)
    assert list(curve["questions"]) == [8, 120]
    assert curve["mean"].iloc[1] > curve["mean"].iloc[0] + 0.1


def test_layers_and_positions_keep_their_places():
    X, y = blobs(6.0)
    grid = np.random.default_rng(9).standard_normal((len(y), 3, 2, X.shape[1]))
    grid[:, 2, 1] = X
    found = sep.accuracy_by_layer(sep.svm(), grid, y, sep.stratified_splits(y, repeats=1, seed=0))
    assert found.shape == (3, 2)
    assert found[2, 1] > 0.98 and np.sort(found.ravel())[-2] < 0.5


def test_stratified_splits_test_each_question_once_a_repeat():
    y = np.repeat(["a", "b"], [40, 20])
    splits, again, other = (sep.stratified_splits(y, folds=5, repeats=3, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(splits, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(splits, other, strict=True))
    assert np.array_equal(np.bincount(np.concatenate([test for _, test in splits])), np.full(60, 3))
    assert all(not set(train) & set(test) and (y[test] == "b").sum() == 4 for train, test in splits)


def test_sentences_follow_the_interval():
    found = {"a": accuracy_of([0.9, 0.8] * 5), "b": accuracy_of([0.7, 0.61] * 5), "c": accuracy_of([0.8, 0.9] * 5)}
    assert sep.in_words(found, "a", "b").startswith("a is above b (+0.20, 95 % interval +0.1")
    assert sep.in_words(found, "b", "a").startswith("b is below a (-0.20, ")
    assert sep.in_words(found, "a", "c").startswith("a is not told apart from c (+0.00, ")


def test_several_representations_at_once_are_averaged_split_by_split():
    X, y = blobs(1.5)
    splits = sep.stratified_splits(y, repeats=1, seed=0)
    found = sep.evaluate_all({"X": (sep.svm(), [X]), "two": (sep.svm(), [X, X[::-1]])}, y, splits)
    one, other = (sep.evaluate(sep.svm(), inputs, y, splits).scores for inputs in (X, X[::-1]))
    assert np.array_equal(found["X"].scores, one) and np.allclose(found["two"].scores, (one + other) / 2)


def test_group_splits_never_share_a_group():
    rng = np.random.default_rng(0)
    y, groups = np.repeat(["a", "b", "c"], 40), rng.integers(8, size=120)
    splits = sep.group_splits(y, groups, folds=4, repeats=3, seed=0)
    assert len(splits) == 12
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert set(y[train]) == set(y)
    assert len({tuple(test) for _, test in splits}) > 4
    assert sep.folds_for(["a", "b", "a", "b", "b"], 5) == 2
    assert list(sep.enough(["a", "b", "a", "c", "c", "a"], 2)) == [True, False, True, True, True, True]


def test_a_clue_that_lives_in_the_group_is_lost_when_the_group_is_held_out():
    """Negative test: features that name the group, not the class, pass ordinary splits and fail held-out ones."""
    groups = np.repeat(np.arange(16), 10)
    y = groups % 2
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16, 64))[groups] + 0.01 * rng.standard_normal((160, 64))
    mixed = sep.evaluate(sep.svm(), X, y, sep.stratified_splits(y, repeats=2, seed=0))
    held = sep.evaluate(sep.svm(), X, y, sep.group_splits(y, groups, folds=4, repeats=2, seed=0))
    assert mixed.mean == 1.0
    assert held.low < 0.5 < held.high


def test_wilson_against_a_known_value_and_at_both_ends():
    assert sep.wilson(0.5, 100) == pytest.approx((0.40383, 0.59617), abs=1e-5)
    assert sep.wilson(1.0, 480) == pytest.approx((480 / (480 + 1.959964**2), 1.0))
    assert sep.wilson(0.0, 480)[0] == 0.0


def test_interval_of_perfect_splits_has_width_and_one_error_leaves_out_certainty():
    perfect, nearly = accuracy_of(np.ones(50)), accuracy_of([1.0] * 9 + [0.98])
    assert perfect.std == 0
    assert 0.99 < perfect.low < 1.0 == perfect.high
    assert nearly.low < perfect.low and nearly.mean < nearly.high < 1.0


def test_interval_follows_the_spread_of_the_splits_but_never_beats_the_number_of_questions():
    calm, wild = accuracy_of([0.79, 0.81] * 5), accuracy_of([0.7, 0.9] * 5)
    z = sep.t_quantile(10)
    assert calm.interval == pytest.approx(sep.wilson(0.8, 480, z))
    half = z * np.sqrt(sep.resampled_variance(wild.scores, 0.25))
    assert (wild.high - wild.low) / 2 == pytest.approx(half, rel=0.1)
    assert wild.high - wild.low > 2 * (calm.high - calm.low)


def test_variance_does_not_shrink_with_mere_repeats():
    """Ten times the splits over the same questions: a naive variance falls tenfold, the corrected one hardly."""
    scores = np.random.default_rng(0).normal(0.8, 0.04, 10)
    once, often = (sep.resampled_variance(np.tile(scores, k), 0.25) for k in (1, 10))
    assert once > often > 0.6 * once


def test_difference_is_paired_and_never_of_zero_width():
    a = accuracy_of([0.9, 0.8, 0.95, 0.85], 100)
    b = accuracy_of(a.scores - [0.10, 0.11, 0.10, 0.11], 100)
    gap, low, high = sep.difference(a, b)
    assert gap == pytest.approx(0.105)
    assert 0.09 < low < gap < high < 0.12
    gap, low, high = sep.difference(a, a)
    assert gap == 0 and low < -0.02 and high > 0.02


def test_planes_keep_far_classes_apart_and_repeat():
    X, y = blobs(0.0, each=10)
    X += 4 * np.random.default_rng(1).standard_normal((4, X.shape[1]))[y]
    planes = {
        "pca": lambda: pictures.pca_plane(X)[0],
        "lda": lambda: pictures.lda_plane(X, y, np.arange(0, 40, 2))[:, :2],
        "tsne": lambda: pictures.tsne_plane(X, seed=0),
    }
    for name, make in planes.items():
        plane = make()
        assert plane.shape == (40, 2), name
        assert pictures.neighbour_accuracy(plane, y, neighbours=5) > 0.8, name
        assert np.array_equal(plane, make()), name


def test_lda_pulls_shuffled_labels_apart_only_where_it_was_fitted():
    """Why the LDA picture shows questions that it was not fitted on."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 150)), np.repeat([0, 1, 2, 3], 20)
    fit = np.arange(80) % 2 == 0
    scores = pictures.lda_plane(X, y, fit)
    assert sep.fisher_ratio(scores[fit], y[fit]) > 20 * sep.fisher_ratio(scores[~fit], y[~fit])


SMALL = syn.Synthetic(d=64, train=120, test=400)


def test_centres_have_the_index_asked_for():
    rng = np.random.default_rng(0)
    for index in (0.0, 0.3, 1.0):
        centres = syn.cluster_centres(index, SMALL, rng)
        assert np.allclose(centres.mean(axis=0), 0)
        y = np.arange(4000) % SMALL.clusters
        X = centres[y] + np.sqrt(1 - index) * rng.standard_normal((len(y), SMALL.d))
        assert sep.separability_index(X, y) == pytest.approx(index, abs=0.005)


def test_every_cluster_has_its_own_best_agent_and_labels_follow_the_rates():
    rng = np.random.default_rng(0)
    rates = syn.success_rates(SMALL, rng)
    assert rates.shape == (4, 7) and len(set(rates.argmax(axis=1))) == 4
    labels = syn.noisy_labels(np.tile(rates[0], (4000, 1)), 3, rng)
    share = np.bincount(labels, minlength=7) / 4000
    assert share.argmax() == rates[0].argmax() and share.max() < 0.9
    ties = np.bincount(syn.noisy_labels(np.zeros((7000, 7)), 3, rng), minlength=7)
    assert ties.min() > 850


def test_head_is_right_when_clusters_are_points_and_lost_when_they_coincide():
    far = [syn.head_accuracy(1.0, SMALL, seed=s) for s in range(3)]
    none = [syn.head_accuracy(0.0, SMALL, seed=s) for s in range(3)]
    assert min(far) == 1.0
    assert max(none) < 0.35


def test_sweep_summary_correlation_and_saturation():
    frame = syn.sweep([0.0, 0.1, 0.5, 0.9], SMALL, seeds=range(3))
    assert frame.iloc[1:2, 1:].equals(syn.sweep([0.0], SMALL, seeds=[1]).iloc[:, 1:].set_axis([1]))
    summary = syn.summarise(frame)
    assert (summary["low"] <= summary["accuracy"]).all() and (summary["accuracy"] <= summary["high"]).all()
    rho, low, high = syn.rank_correlation(frame, draws=100, seed=0)
    assert 0.5 < low <= rho <= high <= 1
    assert syn.saturation(summary) in (0.1, 0.5, 0.9)
    summary = pd.DataFrame({"index": [0.1, 0.2, 0.3, 0.4], "accuracy": [1.0, 0.7, 0.999, 1.0]})
    assert syn.saturation(summary) == 0.3  # accuracy has to stay


def test_bad_input_is_named():
    X, y = blobs(1.0, each=5)
    broken = X.copy()
    broken[7, 0] = np.nan
    cases = [
        (lambda: sep.separability_index(broken, y), "contains NaN"),
        (lambda: sep.separability_index(X, y[:-1]), r"inconsistent numbers of samples: \[20, 19\]"),
        (lambda: sep.fisher_ratio(np.tile(X, 3), y), "project to fewer first"),
        (lambda: sep.evaluate(sep.svm(), broken, y, sep.stratified_splits(y, folds=2, seed=0)), "NaN"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
