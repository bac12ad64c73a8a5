"""The heads and the decision: closed forms, references, reductions, draws against probabilities, batching, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from trinity_core.heads import (
    HEADS,
    agent_role_probabilities,
    decide,
    make_head,
)
from trinity_core.types import ROLES

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4).map(lambda leading: (*leading, 10))
LOGITS = hnp.arrays(np.float64, SHAPES, elements=st.floats(-50, 50))


# --- probabilities ----------------------------------------------------------------------------------------------------


def test_the_zero_head_is_uniform():
    agents, roles = agent_role_probabilities(np.zeros((2, 10)), 7)
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


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"mode": mode}, f"unknown decision mode {mode!r}; choose one of sample, argmax") for mode in ("greedy", "", None)]
    + [({}, "needs uniforms (agent, role) of shape (4, 2), not none")]
    + [({"uniforms": np.zeros(s)}, f"of shape (4, 2), not shape {s}") for s in ((2,), (4,), (4, 3), (1, 2))]
    + [({"uniforms": np.full((4, 2), x)}, f"uniform {x} is outside") for x in (1.0, -1e-9, 2.0, np.nan)],
    ids=str,
)
def test_what_cannot_be_decided_is_named(settings, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        decide(np.zeros((4, 10)), 7, **settings)


# --- the five architectures of A.4 ------------------------------------------------------------------------------------

PRINTED = dict(zip(HEADS, (10_240, 20_680, 11_266, 5_120, 1_024), strict=True))  # Tables 3 and 6
SIZES = [(7, 1024), (7, 576), (2, 23), (6, 40)]  # (L, d): n_a = 10, 10, 5, 9
every_head = pytest.mark.parametrize("name", HEADS)


def drawn(head, *leading, seed=0):
    """A population of thetas (*leading, n) whose every part matters."""
    return np.random.default_rng([seed, head.size]).normal(size=(*leading, head.size))


def states_for(head, *shape):
    return np.random.default_rng([1, head.d]).normal(size=(*shape, head.d))


def joined(arrays, head):
    """The inverse of `Head.split`."""
    flat = [
        np.reshape(arrays[name], (*np.shape(arrays[name])[: -len(shape)], -1)) for name, shape in head.shapes.items()
    ]
    return np.concatenate(flat, axis=-1)


def reference(head, theta, gumbel=None):
    """A torch module with `theta` loaded row-major, parameter after parameter; states (m, d) -> logits (m, n_a)."""
    import torch
    from torch import nn

    n_a, d = head.n_agents + 3, head.d

    class LowRank(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Linear(d, head.rank, bias=False), nn.ELU(alpha=0.1), nn.Linear(head.rank, n_a, bias=False)
            )

        def forward(self, h):
            return 3.0 * self.layers(h)

    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.scores = nn.Parameter(torch.zeros(n_a, d)), nn.Parameter(torch.zeros(d))
            self.rho, self.tau = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))

        def forward(self, h):
            k = max(1, int(d * (1 - torch.sigmoid(self.rho))))
            if gumbel is None:
                gate = torch.zeros(d, dtype=h.dtype)
                gate[torch.topk(self.scores, k).indices] = 1
            else:
                noisy = self.scores + torch.tensor(gumbel)
                gate = k * torch.softmax(noisy / (1 + 19 * torch.sigmoid(self.tau)), dim=0)
            return nn.functional.linear(h * gate, self.weight)

    class Blocks(nn.Module):
        def __init__(self, rows, widths):
            super().__init__()
            self.widths = widths
            self.blocks = nn.ModuleList(nn.Linear(w, r, bias=False) for r, w in zip(rows, widths, strict=True))

        def forward(self, h):
            return torch.cat([f(x) for f, x in zip(self.blocks, h.split(self.widths, dim=1), strict=True)], dim=1)

    if head.name == "linear":
        module = nn.Linear(d, n_a, bias=False)
    elif head.name == "low-rank":
        module = LowRank()
    elif head.name == "sparse":
        module = Sparse()
    elif head.name == "block-diagonal-2":
        rows = [len(part) for part in np.array_split(np.arange(n_a), 2)]
        first = int(d * rows[0] / n_a)
        module = Blocks(rows, [first, d - first])
    else:
        module = Blocks([1] * n_a, [len(part) for part in np.array_split(np.arange(d), n_a)])
    module = module.double()
    torch.nn.utils.vector_to_parameters(torch.tensor(theta), module.parameters())
    assert sum(p.numel() for p in module.parameters()) == len(theta)
    return lambda states: module(torch.tensor(states)).detach().numpy()


def assert_close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_names_are_those_of_table_3_and_the_roles_in_the_released_order():
    from suite.published import published

    assert ROLES == ("worker", "thinker", "verifier")
    assert tuple(published("table3_heads")["head"]) == tuple(HEADS)


@every_head
def test_printed_parameter_counts(name):
    head = make_head(name, 7, 1024)
    assert (head.name, head.size) == (name, PRINTED[name])


def test_parameter_counts_of_other_sizes():
    assert make_head("low-rank", 7, 1024, rank=20) == make_head("low-rank", 7, 1024)
    assert make_head("low-rank", 7, 1024, rank=14).size == 14_476
    sizes = {name: make_head(name, 7, 576).size for name in HEADS}
    assert list(sizes.values()) == [5_760, 20 * 586, 5_760 + 576 + 2, 2_880, 576]


def test_blocks_where_they_do_not_divide_evenly():
    per_logit = make_head("block-diagonal-10", 7, 576).shapes.values()
    assert list(per_logit) == [(1, 58)] * 6 + [(1, 57)] * 4  # 576 = 10 x 57 + 6
    assert list(make_head("block-diagonal-10", 7, 1024).shapes.values()) == [(1, 103)] * 4 + [(1, 102)] * 6
    assert list(make_head("block-diagonal-2", 7, 576).shapes.values()) == [(5, 288), (5, 288)]
    assert list(make_head("block-diagonal-2", 2, 23).shapes.values()) == [(3, 13), (2, 10)]  # 23 * 3/5 = 13.8
    assert list(make_head("block-diagonal-10", 1, 4).shapes.values()) == [(1, 1)] * 4


def test_block_diagonal_10_alone_decides_by_argmax():
    assert [name for name in HEADS if make_head(name, 7, 20).argmax] == ["block-diagonal-10"]


@pytest.mark.parametrize(("name", "settings"), [(name, {}) for name in HEADS] + [("low-rank", {"rank": 14})])
@pytest.mark.parametrize(("n_agents", "d"), SIZES)
def test_a_head_equals_its_reference(name, settings, n_agents, d):
    head = make_head(name, n_agents, d, **settings)
    theta, states = drawn(head), states_for(head, 6)
    logits = head.logits(theta, states)
    assert logits.shape == (6, n_agents + 3) and logits.dtype == np.float64
    assert_close(logits, reference(head, theta)(states))


@pytest.mark.parametrize(("n_agents", "d"), SIZES)
def test_the_soft_gate_equals_its_reference(n_agents, d):
    head = make_head("sparse", n_agents, d)
    theta, states, gumbel = drawn(head), states_for(head, 6), np.random.default_rng(2).gumbel(size=d)
    logits = head.logits(theta, states, gumbel=gumbel)
    assert_close(logits, reference(head, theta, gumbel)(states))
    assert np.abs(logits - head.logits(theta, states)).max() > 0.1  # and the two gates differ


@every_head
def test_a_wrong_weight_anywhere_fails_the_reference(name):
    """Negative: each array, and for block heads each block, moved on its own must be noticed."""
    head = make_head(name, 7, 40)
    theta, states = drawn(head), states_for(head, 6)
    # the sparse head's tau acts in training alone
    settings = {"gumbel": np.random.default_rng(2).gumbel(size=40)} if name == "sparse" else {}
    expected = reference(head, theta, settings.get("gumbel"))(states)
    for part in head.shapes:
        wrong = head.split(theta.copy())
        wrong[part].flat[-1] += 1.0
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            assert_close(head.logits(joined(wrong, head), states, **settings), expected)


def test_blocks_that_read_each_others_dimensions_fail_the_reference():
    head = make_head("block-diagonal-2", 7, 40)
    theta, states = drawn(head), states_for(head, 6)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_close(head.logits(theta, np.roll(states, 20, axis=-1)), reference(head, theta)(states))


# --- reductions -------------------------------------------------------------------------------------------------------


def test_the_linear_heads_logits_are_the_dot_products_of_rows_and_state():
    head = make_head("linear", 2, 2)
    theta = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, -1]]).ravel()  # 2 agents, 3 roles, d = 2
    assert head.logits(theta, [[3.0, 5.0]]).tolist() == [[3, 5, 8, 6, -5]]


def test_sparse_with_every_dimension_kept_is_linear():
    sparse, linear = make_head("sparse", 7, 96), make_head("linear", 7, 96)
    arrays = sparse.split(drawn(sparse)) | {"rho": [-40.0]}
    states, expected = states_for(sparse, 4), linear.logits(arrays["W"].ravel(), states_for(sparse, 4))
    assert np.array_equal(sparse.logits(joined(arrays, sparse), states), expected)
    even = joined(arrays | {"s": np.full(96, 0.7)}, sparse)  # equal scores, no noise: the soft gate is 1 everywhere
    assert_close(sparse.logits(even, states, gumbel=np.zeros(96)), expected)


@pytest.mark.parametrize(("rho", "active"), [(-800, 96), (-40, 96), (0, 48), (np.log(3), 24), (40, 1), (800, 1)])
def test_rho_sets_how_many_dimensions_act(rho, active):
    head = make_head("sparse", 7, 96)
    arrays = head.split(drawn(head)) | {"rho": np.array([rho - 1e-9 * (abs(rho) < 2)])}
    hard = head.gate(arrays)
    assert set(hard) <= {0.0, 1.0} and hard.sum() == active
    assert hard[np.argmax(arrays["s"])] == 1
    soft = head.gate(arrays, gumbel=np.random.default_rng(3).gumbel(size=96))
    assert soft.sum() == pytest.approx(active, rel=1e-12) and (soft > 0).all()


def test_dropped_dimensions_are_not_read():
    head = make_head("sparse", 7, 96)
    theta, states = drawn(head), states_for(head, 4)
    dropped = head.gate(head.split(theta)) == 0
    assert dropped.any()
    assert np.array_equal(head.logits(theta, np.where(dropped, 1e6, states)), head.logits(theta, states))


def test_tied_scores_keep_the_lowest_dimensions():
    head = make_head("sparse", 7, 576)
    assert head.gate(head.split(np.zeros((2, head.size)))).tolist() == [[1.0] * 288 + [0.0] * 288] * 2
    scores = np.arange(576) % 3  # 192 of each: all 2s are kept, and the first half of the 1s
    gate = head.gate(head.split(np.zeros(head.size)) | {"s": scores})
    assert np.array_equal(gate, (scores == 2) | ((scores == 1) & (np.arange(576) < 288)))


@pytest.mark.parametrize(("raw", "tau"), [(-800.0, 1.0), (0.0, 10.5), (800.0, 20.0)])
def test_tau_stays_between_1_and_20(raw, tau):
    head = make_head("sparse", 7, 4)
    arrays = {"W": np.zeros((10, 4)), "s": np.arange(4.0), "rho": np.array([-40.0]), "tau": np.array([raw])}
    gate = head.gate(arrays, gumbel=np.zeros(4))
    assert_close(np.diff(np.log(gate)), np.full(3, 1 / tau))


def test_large_hidden_values_overflow_no_exponential():
    head = make_head("low-rank", 7, 96)
    assert np.isfinite(head.logits(drawn(head) * 1e6, states_for(head, 5))).all()


# --- flat, populations, starts ----------------------------------------------------------------------------------------


@every_head
@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.sampled_from([(), (3,), (2, 3)]))
def test_flat_to_arrays_and_back(name, seed, sizes, leading):
    head = make_head(name, *sizes)
    theta = drawn(head, *leading, seed=seed)
    arrays = head.split(theta)
    assert {part: array.shape for part, array in arrays.items()} == {p: leading + s for p, s in head.shapes.items()}
    assert np.array_equal(joined(arrays, head), theta)


@every_head
def test_a_population_equals_one_candidate_at_a_time(name):
    head = make_head(name, 7, 576)
    thetas, own, common = drawn(head, 5), states_for(head, 5, 4), states_for(head, 3)
    together, shared = head.logits(thetas, own), head.logits(thetas, common)
    assert together.shape == (5, 4, 10) and shared.shape == (5, 3, 10)
    for candidate, theta in enumerate(thetas):
        assert_close(together[candidate], head.logits(theta, own[candidate]))
        assert_close(shared[candidate], head.logits(theta, common))
        for row in range(4):
            assert_close(together[candidate, row : row + 1], head.logits(theta, own[candidate, row][None]))
    assert_close(head.logits(thetas[0], own), [head.logits(thetas[0], states) for states in own])


@every_head
def test_pairs_do_not_depend_on_the_other_pairs(name):
    head = make_head(name, 7, 576)
    thetas, states = drawn(head, 6), states_for(head, 6, 1)
    together = head.logits(thetas, states)
    for pairs in ([0], [5, 1], [3, 2, 4]):
        assert np.array_equal(head.logits(thetas[pairs], states[pairs]), together[pairs])


def test_a_populations_soft_gates_equal_one_at_a_time():
    head = make_head("sparse", 7, 96)
    thetas, states, gumbel = drawn(head, 5), states_for(head, 5, 4), np.random.default_rng(4).gumbel(size=(5, 96))
    together = head.logits(thetas, states, gumbel=gumbel)
    alone = [head.logits(*one[:2], gumbel=one[2]) for one in zip(thetas, states, gumbel, strict=True)]
    assert_close(together, alone)


@every_head
def test_where_training_starts(name):
    head = make_head(name, 7, 576)
    start = head.initial(np.random.default_rng(1))
    assert start.shape == (head.size,)
    assert np.array_equal(start, head.initial(np.random.default_rng(1)))
    if name != "low-rank":
        assert not start.any()
        return
    u, v = head.split(start).values()
    for array, bound in ((u, (6 / 596) ** 0.5), (v, (18 / 30) ** 0.5)):
        assert 0.95 * bound < np.abs(array).max() <= bound
        assert stats.kstest(array.ravel(), stats.uniform(-bound, 2 * bound).cdf).pvalue > 0.01


@every_head
def test_a_head_changes_nothing_in_place_and_takes_float32(name):
    head = make_head(name, 7, 40)
    theta, states = drawn(head, 2), states_for(head, 2, 3).astype(np.float32)
    before = theta.copy(), states.copy()
    logits = head.logits(theta, states)
    assert np.array_equal(theta, before[0]) and np.array_equal(states, before[1])
    assert np.array_equal(logits, head.logits(theta, states.astype(np.float64)))


def test_making_a_head_imports_nothing_heavy():
    import subprocess
    import sys

    program = (
        "import sys; from trinity_core.heads import make_head; make_head('sparse', 7, 576)\n"
        "print([m for m in ('torch', 'scipy', 'pandas', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Linear", "block-diagonal", "", None])
def test_an_unknown_head_is_named_with_the_choices(name):
    with pytest.raises(ValueError, match=f"unknown head {name!r}; choose one of linear, low-rank, .*block-diagonal-10"):
        make_head(name, 7, 40)


@pytest.mark.parametrize(("name", "settings"), [("linear", {"rank": 20}), ("low-rank", {"rnak": 14})])
def test_an_unknown_setting_is_named(name, settings):
    with pytest.raises(ValueError, match=f"the {name} head has no setting '{next(iter(settings))}'; .*rank=20"):
        make_head(name, 7, 40, **settings)


@pytest.mark.parametrize("rank", [0, -3, 2.5])
def test_an_impossible_rank_is_refused(rank):
    with pytest.raises(ValueError, match=f"rank is {rank}; give a whole number of at least 1"):
        make_head("low-rank", 7, 40, rank=rank)


@every_head
@pytest.mark.parametrize(("n_agents", "d", "named"), [(0, 40, "n_agents.*0"), (7, 0, "d .*0"), (7, 2.5, "d .*2.5")])
def test_impossible_sizes_of_a_head_are_refused(name, n_agents, d, named):
    with pytest.raises(ValueError, match=named):
        make_head(name, n_agents, d)


@pytest.mark.parametrize(("name", "d", "blocks"), [("block-diagonal-2", 1, 2), ("block-diagonal-10", 9, 10)])
def test_more_blocks_than_dimensions_are_refused(name, d, blocks):
    with pytest.raises(ValueError, match=f"d = {d} is too small for {blocks} blocks"):
        make_head(name, 7, d)


@every_head
def test_theta_and_states_that_do_not_fit_are_named(name):
    head = make_head(name, 7, 40)
    theta, state, size = np.zeros(head.size), np.zeros((1, 40)), head.size
    cases = [
        (np.zeros(size + 9_216), state, rf"theta has {size + 9_216} parameters; the {name} head .* needs {size};"),
        (1.0, state, rf"theta has a single number parameters; the {name} head .* needs {size};"),
        (np.zeros((3, size)), np.zeros((2, 4, 40)), rf"\(3, {size}\) does not fit states of shape \(2, 4, 40\)"),
    ]
    cases += [(np.append(theta[1:], bad), state, "not finite") for bad in (np.nan, np.inf)]
    shapes = ((40,), (3, 39), (), (2, 1, 576))
    cases += [(theta, np.zeros(shape), re.escape(f"states have shape {shape}") + ".*d = 40") for shape in shapes]
    for given_theta, states, said in cases:
        with pytest.raises(ValueError, match=said):
            head.logits(given_theta, states)


def test_noise_of_another_shape_is_refused():
    head = make_head("sparse", 7, 40)
    with pytest.raises(ValueError, match=re.escape("gumbel has shape (40,); one number per score makes (2, 40)")):
        head.logits(np.zeros((2, head.size)), np.zeros((1, 40)), gumbel=np.zeros(40))
