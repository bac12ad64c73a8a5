"""Kappa, Propositions 1 and 2, Definition 1: closed forms, plain simulations, derivatives by other means, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suite.chapters import theory
from suite.chapters import theory_contraction as contraction
from suite.chapters import theory_gain as gain
from suite.stats import hessian

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return theory.recombination_weights(32)


# --- kappa ---
def test_order_statistics_of_two_and_three():
    means, products = theory.order_statistics(2, 2)
    assert np.allclose(means, [1 / math.sqrt(math.pi), -1 / math.sqrt(math.pi)])
    assert np.allclose(products, np.eye(2))
    means, products = theory.order_statistics(3, 3)
    assert np.allclose(means, np.array([1.5, 0, -1.5]) / math.sqrt(math.pi))
    assert products[0, 0] == pytest.approx(1 + math.sqrt(3) / (2 * math.pi))


def test_products_of_order_statistics_sum_to_one():
    """E Z_(i) (Z_(1) + ... + Z_(lambda)) = 1 for every i: exact for any lambda."""
    assert np.allclose(theory.order_statistics(20, 20)[1].sum(axis=1), 1, atol=1e-8)


def test_weights_are_pycmas(weights):
    assert len(weights) == 16 and weights.sum() == pytest.approx(1)
    assert (np.diff(weights) < 0).all() and weights[-1] > 0


@pytest.mark.parametrize(("n", "lam"), [(1, 6), (10, 8), (10_000, 32)])
def test_simulated_kappa_holds_the_exact_one(n, lam):
    w = theory.recombination_weights(lam)
    drawn, exact = theory.simulated_kappa(w, lam, n, draws=40_000, seed=1), theory.exact_kappa(w, lam, n)
    assert drawn.low < exact.bar < drawn.high
    assert (drawn.high - drawn.low) / exact.bar < 0.05


def test_kappa_of_whole_vectors():
    """Nothing reduced: 20,000 populations of whole vectors in 12 dimensions, ranked by their first coordinate."""
    lam, n, w = 6, 12, theory.recombination_weights(6)
    z = RNG(3).standard_normal((20_000, lam, n))
    best = np.argsort(-z[:, :, 0], axis=1)[:, : len(w)]
    moved = np.einsum("j,rjn->rn", w, np.take_along_axis(z, best[:, :, None], axis=1))
    exact = theory.exact_kappa(w, lam, n)
    assert moved[:, 0].mean() == pytest.approx(exact.alpha, rel=0.02)
    assert (moved**2).sum(axis=1).mean() == pytest.approx(exact.beta, rel=0.02)


def test_kappa_bar_is_constant_in_n_and_grows_with_lambda(weights):
    bars = [theory.exact_kappa(weights, 32, n).bar for n in (10_000, 20_000, 40_000)]
    limit = theory.exact_kappa(weights, 32, 10).alpha ** 2 / (weights**2).sum()
    assert theory.exponent([10_000, 20_000, 40_000], bars) == pytest.approx(0, abs=0.002)
    assert bars[-1] < limit < 1.001 * bars[-1]
    assert theory.exact_kappa(theory.recombination_weights(128), 128, 10_000).bar > 3 * bars[0]


def test_bound_is_the_propositions():
    sizes = {"lam": 32, "m_cma": 16, "m_rs": 32}
    assert theory.random_vectors(60, **sizes) == 960
    assert theory.gain_bound(60, 14.0, 0.5, **sizes) == pytest.approx(7 * 60 / math.log(960) / 4)
    assert theory.gain_bound(2, 14.0, 1.0, lam=4, m_cma=1, m_rs=8) == pytest.approx(14)  # ln max(e, 1) = 1


# --- Proposition 1 ---
def explicit_steps(model: gain.LinearModel, weights: np.ndarray, T: int, seed: int) -> tuple[float, float]:
    rng, g = RNG(seed), model.gradient(seed)
    mean = np.zeros(model.n)
    for _ in range(T):
        z = rng.standard_normal((model.lam, model.n))
        measured = model.fitness((mean + model.sigma * z) @ g, model.m_cma, rng)
        mean = mean + model.sigma * weights @ z[np.argsort(-measured)[: len(weights)]]
    return gain.gains(mean, g)


@pytest.mark.parametrize("noise", [False, True])
def test_plain_steps_are_those_of_whole_vectors(noise):
    model = gain.LinearModel(n=60, lam=8, noise=noise, signal=0.1)
    w = theory.recombination_weights(8)
    whole = np.array([explicit_steps(model, w, 4, seed) for seed in range(500)])
    reduced = gain.step_gains(model, w, [4], runs=8000, seed=1)[:, 0]
    error = 4 * whole.std(axis=0) / math.sqrt(len(whole))
    assert (np.abs(whole.mean(axis=0) - reduced.mean(axis=0)) < error).all()


def test_random_search_is_that_of_whole_vectors():
    model = gain.LinearModel(n=400, lam=4, m_cma=8, m_rs=8, signal=0.03)
    whole = []
    for seed in range(400):
        rng, g = RNG([seed, 9]), model.gradient(seed)
        vectors = rng.uniform(-model.spread, model.spread, (theory.random_vectors(5, lam=4, m_cma=8, m_rs=8), model.n))
        whole.append(gain.gains(vectors[np.argmax(model.fitness(vectors @ g, model.m_rs, rng))], g))
    whole = np.array(whole)
    reduced = gain.random_gains(model, [5], runs=8000, seed=1)[:, 0]
    error = 4 * whole.std(axis=0) / math.sqrt(len(whole))
    assert (np.abs(whole.mean(axis=0) - reduced.mean(axis=0)) < error).all()


def test_alignment_is_n_for_the_gradient_and_one_for_chance():
    model = gain.LinearModel(n=500)
    g = model.gradient(0)
    assert gain.gains(3 * g, g)[0] == pytest.approx(500)
    blind = [gain.gains(v, g)[0] for v in RNG(1).standard_normal((2000, 500))]
    assert np.mean(blind) == pytest.approx(1, abs=0.15)


def test_noise_off_the_bound_holds_for_plain_steps(weights):
    model, at = gain.LinearModel(noise=False), [2, 10, 60]
    found = gain.ratio(*(f[..., 0] for f in (gain.step_gains(model, weights, at, runs=1000, seed=2),
                                             gain.random_gains(model, at, runs=1000, seed=2))), seed=0)  # fmt: skip
    bar = theory.exact_kappa(weights, 32, model.n).bar
    bound = [theory.gain_bound(T, bar, 1.0, lam=32, m_cma=16, m_rs=32) for T in at]
    assert (found.low > bound).all() and (found.low <= found.value).all() and (found.value <= found.high).all()


def test_without_signal_nothing_is_gained(weights):
    """The negative: where J does not differ, sep-CMA-ES moves blindly, so the gains above come from selection."""
    model = gain.LinearModel(n=1000, signal=1e-9)
    assert gain.step_gains(model, weights, [20], runs=4000, seed=1)[..., 0].mean() == pytest.approx(1, abs=0.1)
    assert np.mean([gain.pycma_gains(model, [10], seed=s)[0, 0] for s in range(6)]) < 5


def test_pycma_draws_from_its_own_generator_alone():
    model, found = gain.LinearModel(n=400, lam=8, noise=False), []
    for state in (1, 2):
        np.random.seed(state)
        found.append(gain.pycma_gains(model, [3, 8], seed=5))
    assert np.array_equal(*found)
    assert found[0][1, 0] > 5  # and it does climb


def test_reliability_is_the_share_of_true_variance():
    model = gain.LinearModel(signal=0.05)
    true, noise = 0.05**2, (0.25 - 0.05**2) / 16
    assert model.reliability(16, 0.05, draws=200_000, seed=1) == pytest.approx(true / (true + noise), abs=0.01)
    assert gain.LinearModel(noise=False).reliability(16, 0.05, draws=10, seed=1) == 1.0


def test_ties_are_broken_without_changing_the_order():
    measured = gain.LinearModel().fitness(np.zeros(4000), 16, RNG(0))
    right = np.floor(measured * 16)
    assert len(set(measured)) == 4000 and set(right) <= set(range(17))
    order = np.argsort(measured)
    assert (np.diff(right[order]) >= 0).all()


# --- Proposition 2 ---
def coupled_matrix(n: int, eps: float) -> np.ndarray:
    return np.eye(n) + eps * (np.eye(n, k=n // 2) + np.eye(n, k=-(n // 2)))


def test_coupled_quadratic_has_the_eigenvalues_and_the_epsilon_it_claims():
    n, eps = 40, 0.3
    H = coupled_matrix(n, eps)
    assert np.allclose(np.linalg.eigvalsh(H), np.repeat([1 - eps, 1 + eps], n // 2))
    assert contraction.Quadratic.coupled(n, eps).eigenvalues == pytest.approx((1 - eps, 1 + eps))
    found = hessian.Normalised(H).separability(np.repeat([0, 1], n // 2))
    assert (found.b1, found.b2, found.b3, found.b3_scaled) == pytest.approx((eps,) * 4)


@pytest.mark.parametrize("eps", [0.0, 0.6])
def test_reduced_steps_are_those_of_whole_vectors(eps):
    n, lam, steps, w = 40, 8, 6, theory.recombination_weights(8)
    quadratic = contraction.Quadratic.coupled(n, eps) if eps else contraction.Quadratic.sphere(n)
    H, moments = coupled_matrix(n, eps), theory.exact_kappa(w, lam, n)
    whole = []
    for seed in range(300):
        rng = RNG(seed)
        x = rng.standard_normal((2, n // 2))
        x = (x / np.sqrt(2 * (x**2).sum(axis=1, keepdims=True))).ravel() if eps else x.ravel()
        if eps:  # equally far along the eigenspaces of 1 - eps and 1 + eps, as the reduced chains start
            x = np.concatenate([x[: n // 2] + x[n // 2 :], x[n // 2 :] - x[: n // 2]])
        logs = [math.log(x @ H @ x)]
        for _ in range(steps):
            sigma = np.linalg.norm(H @ x) * moments.alpha / moments.beta
            tried = x + sigma * rng.standard_normal((lam, n))
            x = w @ tried[np.argsort(np.einsum("ij,jk,ik->i", tried, H, tried))[: len(w)]]
            logs.append(math.log(x @ H @ x))
        whole.append(logs)
    reduced = contraction.log_values(quadratic, w, lam, steps=steps, chains=3000, seed=1)
    drop = np.array([row[-1] - row[0] for row in whole])
    error = 4 * drop.std() / math.sqrt(len(drop))
    assert abs(drop.mean() - (reduced[-1] - reduced[0]).mean()) < error


def test_a_step_removes_kappa_of_the_squared_distance(weights):
    for n in (10_000, 40_000):
        logs = contraction.log_values(contraction.Quadratic.sphere(n), weights, 32, steps=1, chains=8000, seed=1)
        value, low, high = contraction.removed(logs)
        assert n * value == pytest.approx(theory.exact_kappa(weights, 32, n).bar, rel=0.03)
        assert low < value < high


def test_twice_the_best_step_removes_nothing(weights):
    """The negative: the share is 2 f - f^2 of kappa at f times sigma*, so 0 at f = 2."""
    sphere = contraction.Quadratic.sphere(10_000)
    value = contraction.removed(contraction.log_values(sphere, weights, 32, steps=1, chains=8000, seed=1, factor=2.0))[
        0
    ]
    assert 10_000 * value == pytest.approx(0, abs=1)


def test_coupling_costs_at_most_epsilon():
    w = theory.recombination_weights(8)
    found = contraction.coupled_rates(60, [0.3, 0.7], w, 8, steps=240, chains=12, seed=1)
    assert found["eps"].tolist() == [0.0, 0.3, 0.7] and found["relative"][0] == 1
    assert (found["relative"] + found["half"] >= 1 - found["eps"]).all()
    assert found["relative"][2] < 0.8  # and it does cost


def test_pycma_converges_at_a_rate_of_that_order(weights):
    logs = contraction.pycma_logs(np.ones(100), 32, steps=200, sigma=0.1, seed=1)
    rate = 100 * contraction.mean_rate(logs, 50, 200)
    assert logs.shape == (201, 1) and 3 < rate < theory.exact_kappa(weights, 32, 100).bar


def test_impossible_quadratics_are_named(weights):
    with pytest.raises(ValueError, match="exceed the population size 32"):
        contraction.log_values(contraction.Quadratic.sphere(32), weights, 32, steps=1, chains=1, seed=0)


# --- Definition 1 ---
@pytest.fixture(scope="module")
def routing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (9, 4), rewards (9, 3), theta (12,)."""
    rng = RNG(0)
    return rng.standard_normal((9, 4)), rng.random((9, 3)), rng.standard_normal(12)


def numeric(f, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def test_gradient_and_hessian_by_finite_differences(routing):
    states, rewards, theta = routing
    _, gradient = hessian.value_and_gradient(theta, states, rewards)
    assert np.allclose(gradient, numeric(lambda t: hessian.value_and_gradient(t, states, rewards)[0], theta), atol=1e-9)
    H = hessian.assemble(hessian.curvature(theta, states, rewards), states)
    assert np.allclose(-H, numeric(lambda t: hessian.value_and_gradient(t, states, rewards)[1], theta), atol=1e-8)


def test_hessian_by_automatic_differentiation(routing):
    import torch
    states, rewards, theta = routing
    h, r = torch.tensor(states), torch.tensor(rewards)

    def minus_j(t):
        return -(torch.softmax(h @ t.reshape(3, 4).T, dim=1) * r).sum(dim=1).mean()

    automatic = torch.autograd.functional.hessian(minus_j, torch.tensor(theta)).numpy()
    assert np.allclose(hessian.assemble(hessian.curvature(theta, states, rewards), states), automatic, atol=1e-12)


def test_fisher_is_the_mean_outer_product_of_scores(routing):
    states, rewards, theta = routing
    pi = hessian.policy(theta, states, 3)
    scores = [((np.eye(3)[a] - pi[q])[:, None] * states[q]).ravel() for q in range(9) for a in range(3)]
    wanted = sum(pi.ravel()[i] * np.outer(s, s) for i, s in enumerate(scores)) / 9
    F = hessian.assemble(hessian.fisher(theta, states, rewards), states)
    assert np.allclose(F, wanted) and np.linalg.eigvalsh(F)[0] > -1e-12


def test_minus_j_is_not_convex_at_the_uniform_policy(routing):
    """Every question's curvature has trace 0 there: what curves up for one agent curves down for another."""
    states, rewards, _ = routing
    C = hessian.curvature(np.zeros(12), states, rewards)
    assert np.allclose(np.trace(C, axis1=1, axis2=2), 0)
    negative = hessian.Normalised(hessian.assemble(C, states)).negative
    assert 0 < negative < 1


def test_gradient_ascent_climbs(routing):
    states, rewards, _ = routing
    theta, values = hessian.ascend(states, rewards, steps=100, rate=5.0)
    assert (np.diff(values) > 0).all() and values[0] == pytest.approx(rewards.mean())
    assert values[-1] == hessian.value_and_gradient(theta, states, rewards)[0] <= rewards.max(axis=1).mean()


def literally(H: np.ndarray, labels: np.ndarray, S: np.ndarray) -> tuple[float, float, float]:
    """(B1), (B2), (B3) as Definition 1 writes them, entry by entry."""
    HS = np.sqrt(S)[:, None] * H * np.sqrt(S)
    D, apart = np.abs(np.diag(HS)), labels[:, None] != labels
    N = np.where(apart, HS, 0) / np.sqrt(np.outer(D, D))
    return np.linalg.norm(N, 2), np.abs(N).max(), (np.where(apart, np.abs(HS), 0).sum(axis=1) / D).max()


def test_epsilon_is_definition_1s_and_only_b3_feels_the_scaling(routing):
    states, rewards, theta = routing
    H = hessian.assemble(hessian.curvature(theta, states, rewards), states)
    for labels in (hessian.by_logit(3, 4), hessian.at_random(3, 4, seed=1, draw=0), np.array([2] + 10 * [0] + [1])):
        found = hessian.Normalised(H).separability(labels)
        assert (found.b1, found.b2, found.b3) == pytest.approx(literally(H, labels, np.ones(12)), rel=1e-5)
        scaled = literally(H, labels, 1 / np.abs(np.diag(H)))
        assert (found.b1, found.b2, found.b3_scaled) == pytest.approx(scaled, rel=1e-5)
        assert literally(H, labels, RNG(2).uniform(0.1, 9, 12))[:2] == pytest.approx(scaled[:2])


def test_epsilon_is_zero_for_separate_blocks_and_not_for_others():
    H = np.kron(np.eye(3), 0.5 * np.eye(4) + 0.5)
    apart, mixed = hessian.by_logit(3, 4), hessian.at_random(3, 4, seed=0, draw=0)
    found = hessian.Normalised(H).separability(apart)
    assert (found.b1, found.b2, found.b3, found.q99) == pytest.approx((0, 0, 0, 0))
    assert hessian.Normalised(H).separability(mixed).b2 == pytest.approx(0.5)
    assert sorted(np.bincount(mixed)) == [4, 4, 4] and (mixed != apart).any()


def test_white_features_at_the_uniform_policy():
    """The softmax alone couples logits there: -1/(L - 1) between any two, a spectral norm of 1."""
    rng = RNG(4)
    states = hessian.whitened(rng.standard_normal((50, 6)) @ rng.standard_normal((6, 6)) + 3, 1.0 - 1e-12)
    assert np.allclose(states.T @ states / 50, np.eye(6), atol=1e-10)
    F = hessian.Normalised(hessian.assemble(hessian.fisher(np.zeros(24), states, rng.random((50, 4))), states))
    by_logit = F.separability(hessian.by_logit(4, 6))
    assert (by_logit.b1, by_logit.b2, by_logit.b3) == pytest.approx((1, 1 / 3, 1))
    by_dimension = F.separability(hessian.by_dimension(4, 6))  # each dimension with all its logits: nothing is left
    assert (by_dimension.b1, by_dimension.b2, by_dimension.b3) == pytest.approx((0, 0, 0), abs=1e-10)


def test_whitening_keeps_the_leading_components():
    states = np.diag([10.0, 3.0, 0.1]) @ np.linalg.qr(RNG(0).standard_normal((3, 3)))[0]
    assert hessian.whitened(states, 0.9).shape == (3, 1)
    assert hessian.whitened(states, 0.99).shape == (3, 2)


def test_spectrum_counts_signs():
    basis = np.linalg.qr(RNG(1).standard_normal((5, 5)))[0]
    found = hessian.spectrum(basis @ np.diag([-4.0, -1.0, 0.0, 1.0, 2.0]) @ basis.T)
    assert (found.negative, found.zero, found.positive) == (2, 1, 2)
    assert found.largest == pytest.approx(-4) and found.directions == pytest.approx(64 / 22)


def test_bad_hessians_are_named():
    with pytest.raises(ValueError, match="diagonal entry 1 is 0"):
        hessian.Normalised(np.diag([1.0, 0.0]))
