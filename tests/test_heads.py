"""The linear head and the decision: closed forms, draws against probabilities, independence of batching, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from trinity_core.heads import (
    ROLES,
    agent_role_probabilities,
    decide,
    linear_from_flat,
    linear_logits,
    parameter_count,
)

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4).map(lambda leading: (*leading, 10))
LOGITS = hnp.arrays(np.float64, SHAPES, elements=st.floats(-50, 50))


def test_the_released_role_order():
    assert ROLES == ("worker", "thinker", "verifier")


# --- parameters -------------------------------------------------------------------------------------------------------

def test_parameter_counts_of_the_two_encoders():
    assert parameter_count(7, 1024) == 10_240  # Qwen3-0.6B, Table 3
    assert parameter_count(7, 576) == 5_760  # SmolLM2-135M


def test_flat_is_row_major():
    weights = linear_from_flat(np.arange(5 * 4), n_agents=2, d=4)
    assert weights.shape == (5, 4)
    assert weights[1].tolist() == [4, 5, 6, 7]  # the second agent's row follows the first's
    assert weights[2:, 0].tolist() == [8, 12, 16]  # the roles' rows come last


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.just(6 * 5)), elements=st.floats(-9, 9)))
def test_flat_to_matrix_and_back(population):
    weights = linear_from_flat(population, n_agents=3, d=5)
    assert weights.shape == (len(population), 6, 5)
    assert np.array_equal(weights.reshape(len(population), -1), population)
    assert np.array_equal(weights[0], linear_from_flat(population[0], 3, 5))


@pytest.mark.parametrize("theta", [np.zeros(19_456), np.zeros(10_239), np.zeros((10, 1024)), np.zeros(0)])
def test_flat_of_another_size_names_both_sizes(theta):
    with pytest.raises(ValueError, match=rf"\b{theta.shape[-1]}\b.*\b10240\b"):
        linear_from_flat(theta, 7, 1024)


def test_flat_of_a_single_number_is_refused():
    with pytest.raises(ValueError, match="a single number.*10240"):
        linear_from_flat(3.0, 7, 1024)


@pytest.mark.parametrize(("n_agents", "d", "named"), [(0, 8, "n_agents.*0"), (-1, 8, "n_agents.*-1"), (7, 0, "d .*0"),
                                                      (2.5, 8, "n_agents.*2.5")])
def test_impossible_sizes_are_refused(n_agents, d, named):
    with pytest.raises(ValueError, match=named):
        parameter_count(n_agents, d)


# --- logits -----------------------------------------------------------------------------------------------------------

def test_logits_are_the_dot_products_of_rows_and_state():
    weights = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, -1]])  # 2 agents, 3 roles, d = 2
    assert linear_logits(weights, [[3.0, 5.0]]).tolist() == [[3, 5, 8, 6, -5]]


def test_a_population_equals_one_matrix_at_a_time():
    generator = np.random.default_rng(3)
    weights, states = generator.normal(size=(4, 10, 16)), generator.normal(size=(6, 16))
    together = linear_logits(weights, states)
    assert together.shape == (4, 6, 10)
    for candidate, matrix in enumerate(weights):
        for row, state in enumerate(states):
            alone = [np.dot(w, state) for w in matrix]
            np.testing.assert_allclose(together[candidate, row], alone, rtol=1e-12, atol=1e-12)


def test_logits_are_float64_for_a_float32_encoder():
    states = np.full((1, 3), 1e-3, dtype=np.float32)
    logits = linear_logits(np.ones((4, 3), dtype=np.float32), states)
    assert logits.dtype == np.float64
    assert logits[0, 0] == 3 * np.float64(np.float32(1e-3))


def test_nothing_is_changed_in_place():
    weights, states, uniforms = np.ones((10, 2)), np.ones((3, 2)), np.full((3, 2), 0.5)
    logits = linear_logits(weights, states)
    before = logits.copy()
    decide(logits, 7, uniforms=uniforms)
    assert (weights == 1).all() and (states == 1).all() and (uniforms == 0.5).all() and (logits == before).all()


def test_another_width_names_both():
    with pytest.raises(ValueError, match="d = 1024.*d = 576"):
        linear_logits(np.zeros((10, 1024)), np.zeros((1, 576)))


@pytest.mark.parametrize(("weights", "states"), [((10,), (1, 10)), ((10, 4), (4,)), ((10, 4), (2, 3, 4))])
def test_wrong_numbers_of_axes_are_refused(weights, states):
    with pytest.raises(ValueError, match=re.escape(f"{weights} and {states}")):
        linear_logits(np.zeros(weights), np.zeros(states))


# --- probabilities ----------------------------------------------------------------------------------------------------

def test_the_zero_head_is_uniform():
    agents, roles = agent_role_probabilities(linear_logits(np.zeros((10, 6)), np.ones((2, 6))), 7)
    np.testing.assert_allclose(agents, np.full((2, 7), 1 / 7), rtol=1e-15)
    np.testing.assert_allclose(roles, np.full((2, 3), 1 / 3), rtol=1e-15)


def test_softmax_closed_form_and_the_two_parts_are_separate():
    logits = np.log([1.0, 3.0, 5.0, 2.0, 3.0])  # two agents, then the roles
    agents, roles = agent_role_probabilities(logits, 2)
    np.testing.assert_allclose(agents, [0.25, 0.75], rtol=1e-14)
    np.testing.assert_allclose(roles, [0.5, 0.2, 0.3], rtol=1e-14)
    moved = agent_role_probabilities(logits + [9, 9, 0, 0, 0], 2)  # raising every agent moves neither part
    np.testing.assert_allclose(moved[0], agents, rtol=1e-12)
    assert np.array_equal(moved[1], roles)


@pytest.mark.parametrize("scale", [800.0, 1e6, 1.7e308])
def test_huge_logits_stay_finite_and_warn_of_nothing(scale):
    agents, roles = agent_role_probabilities(np.array([scale, -scale, 0, 0, -scale]), 2)
    assert agents.tolist() == [1, 0] and roles.tolist() == [0.5, 0.5, 0]


@given(LOGITS)
def test_probabilities_sum_to_one_and_keep_the_order(logits):
    agents, roles = agent_role_probabilities(logits, 7)
    assert agents.shape == (*logits.shape[:-1], 7) and roles.shape == (*logits.shape[:-1], 3)
    np.testing.assert_allclose(agents.sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(roles.sum(axis=-1), 1, rtol=1e-12)
    assert (np.diff(np.take_along_axis(agents, np.argsort(logits[..., :7], axis=-1), axis=-1), axis=-1) >= 0).all()


@given(LOGITS, st.floats(-20, 20))
def test_a_common_shift_changes_nothing(logits, shift):
    both = agent_role_probabilities(logits, 7), agent_role_probabilities(logits + shift, 7)
    for plain, shifted in zip(*both, strict=True):
        np.testing.assert_allclose(plain, shifted, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("mode", ["sample", "argmax"])
def test_a_logit_that_is_not_finite_is_named(bad, mode):
    logits = np.zeros((2, 10))
    logits[1, 4] = bad
    with pytest.raises(ValueError, match=rf"{bad} at \(1, 4\)"):
        decide(logits, 7, mode=mode, uniforms=np.zeros((2, 2)))


@pytest.mark.parametrize("shape", [(), (9,), (2, 11)])
def test_logits_of_another_width_are_refused(shape):
    with pytest.raises(ValueError, match="10 = 7 agents"):
        agent_role_probabilities(np.zeros(shape), 7)


# --- decisions --------------------------------------------------------------------------------------------------------

def test_inverse_cdf_at_the_edges():
    logits = np.log([0.25, 0.75, 0.5, 0.25, 0.25])
    below_one = np.nextafter(1, 0)
    uniforms = np.array([[0.0, 0.0], [0.24, 0.49], [0.26, 0.51], [0.99, 0.74], [below_one, below_one]])
    agents, roles = decide(np.tile(logits, (5, 1)), 2, uniforms=uniforms)
    assert agents.tolist() == [0, 0, 1, 1, 1]
    assert roles.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("uniform", [0.0, 0.5, np.nextafter(1, 0)])
def test_an_option_of_probability_zero_is_never_drawn(uniform):
    logits = np.array([-2000.0, 0, -2000, -2000, 0, -2000])  # the middle of three agents, the middle role
    assert decide(logits, 3, uniforms=[uniform, uniform]) == (1, 1)


def test_draws_follow_the_probabilities():
    generator = np.random.default_rng(20)
    n = 40_000
    logits = generator.normal(size=10)
    probabilities = agent_role_probabilities(logits, 7)
    drawn = decide(np.tile(logits, (n, 1)), 7, uniforms=generator.random((n, 2)))
    for index, expected in zip(drawn, probabilities, strict=True):
        counts = np.bincount(index, minlength=len(expected))
        assert stats.chisquare(counts, n * expected).pvalue > 0.01
    joint = np.zeros((7, 3))
    np.add.at(joint, (drawn.agents, drawn.roles), 1)
    assert stats.chi2_contingency(joint).pvalue > 0.01  # agent and role are drawn independently


def test_the_chi_square_check_can_fail():
    generator = np.random.default_rng(20)
    logits = generator.normal(size=10)
    wrong = agent_role_probabilities(logits * 0.9, 7)[0]
    drawn = decide(np.tile(logits, (40_000, 1)), 7, uniforms=generator.random((40_000, 2))).agents
    assert stats.chisquare(np.bincount(drawn, minlength=7), 40_000 * wrong).pvalue < 1e-6


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_batching_and_order_do_not_change_a_decision(seed, n):
    generator = np.random.default_rng(seed)
    logits, uniforms = generator.normal(size=(n, 10)), generator.random((n, 2))
    together = decide(logits, 7, uniforms=uniforms)
    for row in range(n):
        assert decide(logits[row], 7, uniforms=uniforms[row]) == (together.agents[row], together.roles[row])
    order = generator.permutation(n)
    shuffled = decide(logits[order], 7, uniforms=uniforms[order])
    assert np.array_equal(shuffled.agents, together.agents[order])
    assert np.array_equal(shuffled.roles, together.roles[order])


def test_the_agents_draw_does_not_read_the_roles_number():
    logits = np.random.default_rng(5).normal(size=10)
    agents = {int(decide(logits, 7, uniforms=[0.4, role]).agents) for role in np.linspace(0, 0.999, 50)}
    roles = {int(decide(logits, 7, uniforms=[agent, 0.4]).roles) for agent in np.linspace(0, 0.999, 50)}
    assert len(agents) == 1 and len(roles) == 1


@given(st.integers(0, 2**32 - 1))
def test_sampling_ever_colder_becomes_argmax(seed):
    generator = np.random.default_rng(seed)
    logits, uniforms = generator.normal(size=(20, 10)), generator.random((20, 2))
    best = decide(logits, 7, mode="argmax")
    cold = decide(logits * 1e9, 7, uniforms=uniforms)
    assert np.array_equal(cold.agents, best.agents) and np.array_equal(cold.roles, best.roles)


def test_argmax_takes_the_lowest_index_of_a_tie():
    assert decide(np.zeros(10), 7, mode="argmax") == (0, 0)
    assert decide(np.array([0, 2, 2, 1, 0, 5, 5.0]), 4, mode="argmax") == (1, 1)


def test_a_whole_population_decides_at_once():
    logits = np.random.default_rng(1).normal(size=(3, 4, 10))
    assert decide(logits, 7, mode="argmax").roles.shape == (3, 4)
    assert decide(logits, 7, uniforms=np.zeros((3, 4, 2))).agents.tolist() == [[0] * 4] * 3


@pytest.mark.parametrize("mode", ["greedy", "", None])
def test_an_unknown_mode_is_named(mode):
    with pytest.raises(ValueError, match=f"{mode!r}.*'sample' or 'argmax'"):
        decide(np.zeros(10), 7, mode=mode)


def test_missing_uniforms_are_named_with_their_shape():
    with pytest.raises(ValueError, match=r"needs uniforms of shape \(4, 2\)"):
        decide(np.zeros((4, 10)), 7)


@pytest.mark.parametrize("shape", [(2,), (4,), (4, 3), (1, 2)])
def test_uniforms_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=re.escape(f"shape {shape}; two a decision (agent, role) makes (4, 2)")):
        decide(np.zeros((4, 10)), 7, uniforms=np.zeros(shape))


@pytest.mark.parametrize("bad", [1.0, -1e-9, 2.0, np.nan])
def test_a_uniform_outside_the_unit_interval_is_named(bad):
    with pytest.raises(ValueError, match=rf"uniform {bad} is outside"):
        decide(np.zeros((1, 10)), 7, uniforms=[[0.5, bad]])
