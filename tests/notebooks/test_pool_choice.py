"""A.6's choice of a pool: against a brute force of its own, and the quick searches against the enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from suite.chapters import choosing_the_pool as pc
from suite.stats import rer


def brute_force(E, size, by):
    """(value, diversity, members) of the best pool in exact fractions, written without the module."""
    rows = [[Fraction(str(cell)) for cell in row] for row in E.tolist()]
    tasks, found = len(rows[0]), None
    for members in combinations(range(len(rows)), size):
        best = max(sum(rows[m]) / tasks for m in members)
        reached = sum(max(rows[m][d] for m in members) for d in range(tasks)) / tasks
        pairs = list(combinations(members, 2))
        gaps = [sum(abs(x - y) for x, y in zip(rows[a], rows[b], strict=True)) / tasks for a, b in pairs]
        spread = sum(gaps) / len(pairs) if pairs else Fraction(0)
        value = reached if by == "z" else (reached - best) / (1 - best)
        if found is None or (value, spread) > found[:2]:
            found = (value, spread, members)
    return found


def rounded(n, D, seed, kind="common"):
    """Accuracies with one decimal, so that ties are common."""
    return np.clip(pc.random_matrix(n, D, seed, kind).round(1), 0.0, 0.9)


@pytest.mark.parametrize("by", ["rer", "z"])
@pytest.mark.parametrize("seed", range(12))
def test_enumeration_is_the_brute_force_with_its_ties(seed, by):
    n, D, size = 4 + seed % 4, 1 + seed % 3, 1 + seed % 4
    E = rounded(n, D, seed)
    value, spread, members = brute_force(E, size, by)
    found = pc.exhaustive(E, size, by=by)
    assert found.members == members
    assert (found.reached if by == "z" else found.rer) == pytest.approx(float(value), abs=1e-12)
    assert found.diversity == pytest.approx(float(spread), abs=1e-12)


def test_all_pools_hold_the_best_of_each_size():
    E = pc.random_matrix(6, 4, 1)
    pools = pc.enumerate_pools(E)
    assert len(pools) == 2**6 - 1 and (pools["rer"] >= 0).all()
    for size, group in pools.groupby("size"):
        tied = group[group["rer"] > group["rer"].max() - 1e-12]
        assert pc.exhaustive(E, size).members == tied.loc[tied["diversity"].round(12).idxmax(), "members"]
        assert pc.exhaustive(E, size, by="z").reached == pytest.approx(group["reached"].max())


@pytest.mark.parametrize("kind", ["independent", "common"])
@pytest.mark.parametrize("by", ["rer", "z"])
def test_beam_agrees_on_small_sizes_and_greedy_mostly(kind, by):
    found = pc.agreement(9, 5, 3, width=16, matrices=40, kind=kind, by=by)
    assert found["beam agrees"] == 1 and found["beam misses at most"] == 0
    assert 0.5 < found["greedy agrees"] <= 1 and 0 <= found["greedy misses at most"] < 0.15


def test_greedy_can_miss():
    """Two specialists beat the generalist that greedy takes first."""
    E = np.array([[0.6, 0.6, 0.6, 0.6], [0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9]])
    assert pc.beam(E, 2, width=1, by="z").members == (0, 1)
    assert pc.exhaustive(E, 2, by="z").members == pc.beam(E, 2, width=3, by="z").members == (1, 2)


@pytest.mark.parametrize("seed", range(4))
def test_another_solver_finds_the_same_optimum(seed):
    E = pc.random_matrix(9, 5, seed, "common")
    assert pc.ceiling(E, 3) == pytest.approx(pc.exhaustive(E, 3, by="z").reached, abs=1e-9)
    assert pc.certified(E, 3) == pytest.approx(pc.exhaustive(E, 3).rer, abs=1e-9)
    leader = int(np.argsort(E.mean(axis=1))[5])
    best = max(
        pc.judge_pool(E, (leader, *pair)).reached
        for pair in combinations([a for a in range(9) if a != leader and E[a].mean() <= E[leader].mean()], 2)
    )
    assert pc.ceiling(E, 3, leader=leader) == pytest.approx(best, abs=1e-9)
    with pytest.raises(ValueError, match="leads 1 agents at most, not 3"):
        pc.ceiling(E, 3, leader=int(E.mean(axis=1).argmin()))


@pytest.mark.parametrize("by", ["rer", "z"])
def test_forty_agents_on_twenty_tasks(by):
    E = pc.random_matrix(40, 20, 0, "common")
    found = pc.beam(E, 7, width=8, by=by)  # of 18,643,560 pools
    assert len(set(found.members)) == 7
    top = pc.certified(E, 7) if by == "rer" else pc.ceiling(E, 7)
    assert (found.rer if by == "rer" else found.reached) == pytest.approx(top, abs=1e-9)
    assert pc.beam(E, 3, width=8, by=by).members == pc.exhaustive(E, 3, by=by).members


def test_measures_are_the_papers():
    for singles, _, _ in rer.accuracy_tables().values():
        whole = pc.judge_pool(singles.to_numpy(), range(len(singles)))
        assert whole.best == pytest.approx(singles.mean(axis=1).max())
        assert whole.reached == pytest.approx(singles.max().mean())
        assert whole.rer == pytest.approx(rer.relative_error_reduction(whole.reached, whole.best))


def test_weak_agents_can_have_the_higher_rer():
    """Why a ratio to the pool's own best agent cannot choose alone."""
    E = np.array([[0.9, 0.9], [0.9, 0.9], [0.4, 0.2], [0.2, 0.4]])
    assert pc.exhaustive(E, 2).members == (2, 3)
    assert pc.exhaustive(E, 2, by="z").members == (0, 2)  # a tie, which the most different pair wins
    assert pc.frontier(E).any(axis=1).tolist() == [True, True, False, False]


def test_frontier_readings():
    E = np.array([[0.90, 0.30], [0.86, 0.10], [0.50, 0.29]])
    assert pc.frontier(E).tolist() == [[True, True], [True, False], [False, True]]
    assert pc.frontier(E, 0.0).tolist() == [[True, True], [False, False], [False, False]]
    assert pc.frontier(E, rule="cells").sum() == 1 and pc.frontier(E, rule="cells")[0, 0]
    assert pc.frontier(E, 0.34, rule="cells").sum() == 2  # both on the easy data set


def test_no_way_passes_the_optimum():
    found = pc.ways_compared(12, 6, 4, widths=(4, 12), matrices=2)
    assert list(found.columns) == ["matrix", "greedy", "beam of 4", "beam of 12", "optimum", "seconds"]
    assert len(found) == 4 and (found["greedy"] <= found["beam of 4"] + 1e-12).all()
    assert found["beam of 12"].to_numpy() == pytest.approx(found["optimum"].to_numpy(), abs=1e-9)


def test_what_a_pool_offers_and_reaches():
    families = ["math", "math", "code", "code"]
    chances = np.array([[0.9, 0.1, 0.5, 0.5], [0.1, 0.9, 0.6, 0.6]])
    rewards = {"both": np.full((2, 4, 1), 0.8), "first": np.full((2, 4, 1), 0.5)}
    found = pc.offered_and_reached({"both": (0, 1), "first": (0,)}, rewards, chances, families).set_index("pool")
    row = found.loc["both"]
    assert (row["S*"], row["by family"], row["by question"]) == pytest.approx((0.55, 0.55, 0.75))
    assert row["RER reached"] == pytest.approx(0.25 / 0.45) and row["RER by family"] == 0
    assert found.loc["first", "RER reached"] == pytest.approx(0) and found.loc["first", "RER by question"] == 0


def test_chance_alone_gives_a_gain():
    small, large = (pc.chance_of_gain([0.5, 0.5], [q, q], 3, 2000, 0).mean() for q in (30, 3000))
    assert small > 5 * large > 0
    assert pc.chance_of_gain([0.5, 0.5], [30, 30], 1, 10, 0).tolist() == [0.0] * 10


@pytest.mark.parametrize(
    ("E", "size", "said"),
    [
        ([0.5, 0.5], 1, "has shape"),
        ([[0.5, np.nan]], 1, "agent 0 on data set 1 is nan"),
        ([[0.5, 50.0]], 1, "give shares"),
        ([[1.0, 1.0]], 1, "right everywhere"),
    ],
)
def test_what_is_wrong_is_named(E, size, said):
    with pytest.raises(ValueError, match=said):
        pc.exhaustive(np.array(E), size)
    with pytest.raises(ValueError, match=said):
        pc.beam(np.array(E), size, width=2)
