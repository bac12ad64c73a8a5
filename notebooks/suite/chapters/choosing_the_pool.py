"""Choosing the agents of a pool from an accuracy matrix (A.6): the measure, the frontier, and three ways to search.

E (n, D): accuracy in [0, 1] of each agent (a row) on each data set. For a pool S of agents

    S*  = max over its agents of the mean over data sets      the best agent alone            -> `best`
    Z   = mean over data sets of the max over its agents      the best agent for each         -> `reached`
    RER = (Z - S*) / (1 - S*)                                 share of S*'s errors that choosing removes

Ties are broken by diversity, the mean over pairs of agents of their mean absolute difference in accuracy. RER rises and
falls as agents join, since S* moves too. But among the pools whose best agent is a given one, the *leader*, S* is
fixed, and RER rises with Z, which is submodular. So every search by RER goes leader by leader, over the agents that are
no better on average. `beam` keeps the `width` best pools of each size: width 1 is greedy, dropping nothing is
exhaustive. `ceiling` bounds Z by an integer program, to certify a search where not every pool can be tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import process_time
from typing import Literal

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, milp
from scipy.sparse import coo_array, hstack, identity, kron

from suite.stats.intervals import mean_interval
from suite.stats.rer import relative_error_reduction

Aim = Literal["rer", "z"]
DIGITS = 12  # pools are tied where their values agree to so many decimals


@dataclass(frozen=True)
class Choice:
    """A pool: agents' numbers in order, its S* (`best`), Z (`reached`), RER and diversity."""

    members: tuple[int, ...]
    best: float
    reached: float
    rer: float
    diversity: float


def checked(accuracy: np.ndarray) -> np.ndarray:
    """E (n, D) as float64. ValueError names a wrong shape or the first cell that is no accuracy below 1 on average."""
    E = np.asarray(accuracy, dtype=np.float64)
    if E.ndim != 2 or not E.size:
        raise ValueError(f"the accuracy matrix has shape {E.shape}; expected (agents, data sets), at least one each")
    wrong = np.argwhere(~((E >= 0) & (E <= 1)))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"the accuracy of agent {row} on data set {column} is {E[row, column]}; give shares in [0, 1]")
    if E.mean(axis=1).max() >= 1:
        raise ValueError("an agent is right everywhere: there is no error left that a choice could remove")
    return E


def judge_pool(accuracy: np.ndarray, members: Sequence[int]) -> Choice:
    """Measures one pool."""
    E, members = checked(accuracy), tuple(sorted(int(m) for m in members))
    rows = E[list(members)]
    best, reached = float(rows.mean(axis=1).max()), float(rows.max(axis=0).mean())
    pairs = list(combinations(range(len(rows)), 2))
    diversity = float(np.mean([np.abs(rows[a] - rows[b]).mean() for a, b in pairs])) if pairs else 0.0
    return Choice(members, best, reached, relative_error_reduction(max(reached, best), best), diversity)


def frontier(accuracy: np.ndarray, share: float = 0.05, rule: Literal["near", "cells"] = "near") -> np.ndarray:
    """(n, D) bool: the cells that count as top, by either reading of A.6's "top 5 %": "near": within `share` of the
    data set's best; "cells": the best `share` of all cells (at least one)."""
    E = checked(accuracy)
    if rule == "near":
        return (1 - share) * E.max(axis=0) - 1e-12 <= E
    count = max(1, round(share * E.size))
    return np.sort(E, axis=None)[-count] <= E


def enumerate_pools(accuracy: np.ndarray) -> pd.DataFrame:
    """Every pool of at least one agent: columns members, size, best, reached, rer, diversity; for small n."""
    n = len(checked(accuracy))
    every = (members for size in range(1, n + 1) for members in combinations(range(n), size))
    pools = pd.DataFrame([judge_pool(accuracy, members) for members in every])
    pools.insert(1, "size", pools["members"].map(len))
    return pools


def exhaustive(accuracy: np.ndarray, size: int, *, by: Aim = "rer") -> Choice:
    """The best pool of `size` agents, all of them tried: a beam that drops none."""
    return beam(accuracy, size, width=max(1, math.comb(len(accuracy), max(size, 0))), by=by)


def beam(accuracy: np.ndarray, size: int, *, width: int, by: Aim = "rer") -> Choice:
    """A pool of `size` agents, grown one by one from the `width` best pools of each size."""
    E = checked(accuracy)
    means, distance = E.mean(axis=1), np.abs(E[:, None] - E).mean(axis=2)
    led = [(np.flatnonzero(means <= means[leader]), leader) for leader in range(len(E))]
    starts = [(np.arange(len(E)), None)] if by == "z" else led
    grown = [_grow(E, distance, allowed, leader, size, width) for allowed, leader in starts if len(allowed) >= size]
    pools = np.concatenate(grown)
    reached = E[pools].max(axis=1).mean(axis=1)
    value = _value(reached, means[pools].max(axis=1), by)
    spread = _spread(distance, pools).round(DIGITS)
    order = np.lexsort((*pools.T[::-1], -spread, -value))
    return judge_pool(E, pools[order[0]])


def _grow(
    E: np.ndarray, distance: np.ndarray, allowed: np.ndarray, leader: int | None, size: int, width: int
) -> np.ndarray:
    """At most `width` pools (m, size) of `allowed` agents, by Z and then diversity; `leader` is in all of them."""
    pools = np.empty((1, 0), int) if leader is None else np.array([[leader]])
    reached = np.zeros((1, E.shape[1])) if leader is None else E[pools[:, 0]]
    while pools.shape[1] < size:
        wider = np.maximum(reached[:, None], E[allowed])  # (m, allowed, D)
        z = wider.mean(axis=2)
        spread = distance[pools][..., allowed].sum(axis=1) + _spread(distance, pools)[:, None]
        new = (pools[:, :, None] != allowed).all(axis=1)
        parent, joined = np.nonzero(new)
        # A pool is met once for each order of its agents: sorted, equal ones are one.
        members = np.sort(np.column_stack([pools[parent], allowed[joined]]), axis=1)
        _, first = np.unique(members, axis=0, return_index=True)
        parent, joined, members = parent[first], joined[first], members[first]
        keys = (-spread[parent, joined].round(DIGITS), -z[parent, joined].round(DIGITS))
        kept = np.lexsort((*members.T[::-1], *keys))[:width]
        pools, reached = members[kept], wider[parent[kept], joined[kept]]
    return pools


def _spread(distance: np.ndarray, pools: np.ndarray) -> np.ndarray:
    """Sum of the distances of each pool's pairs (m,)."""
    return distance[pools[:, :, None], pools[:, None]].sum(axis=(1, 2)) / 2


def ceiling(accuracy: np.ndarray, size: int, *, leader: int | None = None) -> float:
    """The largest Z of any pool of `size` agents (with `leader`: of those that it leads), by an integer program
    (HiGHS): maximise sum_(a,d) E_ad y_ad / D with sum_a y_ad = 1, y_ad <= x_a, sum_a x_a = size, x in {0, 1}.
    ValueError where fewer than `size` agents are no better than the leader."""
    E = checked(accuracy)
    if leader is not None:
        means = E.mean(axis=1)
        order = np.flatnonzero(means <= means[leader])
        if len(order) < size:
            raise ValueError(f"agent {leader} leads {len(order)} agents at most, not {size}")
        E, leader = E[order], int(np.flatnonzero(order == leader)[0])
    n, D = E.shape
    one_each = hstack([coo_array((D, n)), kron(np.ones((1, n)), identity(D))])
    in_pool = hstack([-kron(identity(n), np.ones((D, 1))), identity(n * D)])
    count = hstack([np.ones((1, n)), coo_array((1, n * D))])
    low = np.zeros(n + n * D)
    low[[] if leader is None else [leader]] = 1.0
    found = milp(
        -np.concatenate([np.zeros(n), E.ravel() / D]),
        integrality=np.concatenate([np.ones(n), np.zeros(n * D)]),
        bounds=Bounds(low, np.ones(n + n * D)),
        constraints=[(one_each, 1, 1), (in_pool, -np.inf, 0), (count, size, size)],
        options={"mip_rel_gap": 0.0},
    )
    if not found.success:
        raise RuntimeError(f"the integer program ended without an optimum: {found.message}")
    return float(-found.fun)


def certified(accuracy: np.ndarray, size: int) -> float:
    """The largest RER of any pool of `size` agents: the best over the leaders of what `ceiling` gives each."""
    E = checked(accuracy)
    means = E.mean(axis=1)
    # The leader's data sets bound Z from above, so most integer programs need not be solved.
    bounds = {a: _value(E[means <= means[a]].max(axis=0).mean(), means[a], "rer") for a in range(len(E))}
    found = -np.inf
    for leader in sorted(bounds, key=lambda a: -bounds[a]):
        if bounds[leader] > found and (means <= means[leader]).sum() >= size:
            found = max(found, float(_value(ceiling(E, size, leader=leader), means[leader], "rer")))
    return found


def agreement(
    n: int, D: int, size: int, *, width: int, matrices: int, kind: str, by: Aim, seed: int = 0
) -> dict[str, float]:
    """How greedy and beam do against the enumeration on random matrices: the share of matrices where they find its
    value (to `DIGITS`), and the largest part of it that was missed."""
    values = []
    for number in range(matrices):
        E = random_matrix(n, D, seed + number, kind)
        pools = exhaustive(E, size, by=by), beam(E, size, width=1, by=by), beam(E, size, width=width, by=by)
        values.append([pool.rer if by == "rer" else pool.reached for pool in pools])
    best, one, many = np.array(values).round(DIGITS).T
    missed = {name: 1 - found / best for name, found in (("greedy", one), ("beam", many))}
    shares = {f"{name} agrees": float((gap == 0).mean()) for name, gap in missed.items()}
    return shares | {f"{name} misses at most": float(gap.max()) for name, gap in missed.items()}


def ways_compared(n: int, D: int, size: int, *, widths: Sequence[int], matrices: int, seed: int = 0) -> pd.DataFrame:
    """RER of greedy and of beams beside the certified optimum on large random matrices, with greedy's and the first
    beam's CPU seconds; columns matrix, greedy, "beam of W" for each width, optimum, seconds."""
    rows = []
    for kind in ("independent", "common"):
        for number in range(matrices):
            E, began = random_matrix(n, D, seed + number, kind), process_time()
            row = {"matrix": f"{kind} {number + 1}", "greedy": beam(E, size, width=1).rer}
            row |= {f"beam of {widths[0]}": beam(E, size, width=widths[0]).rer}
            seconds = process_time() - began
            row |= {f"beam of {width}": beam(E, size, width=width).rer for width in widths[1:]}
            rows.append(row | {"optimum": certified(E, size), "seconds": seconds})
    return pd.DataFrame(rows)


def offered_and_reached(
    pools: Mapping[str, Sequence[int]], rewards: Mapping[str, np.ndarray], chances: np.ndarray, families: Sequence[str]
) -> pd.DataFrame:
    """A row a pool: S*, Z by family and by question, the score of trainings on it, and the three error reductions.
    `chances` (n, n_questions): each agent's own; `rewards` (seeds, n_questions, R)."""
    by_family, rows = family_matrix(chances, families), []
    for name, members in pools.items():
        few, many = judge_pool(by_family, members), judge_pool(chances, members)
        score = mean_interval(rewards[name], families)
        reached = (score.value - few.best) / (1 - few.best)
        rows.append((name, few.best, few.reached, many.reached, *score, few.rer, many.rer, reached))
    columns = ["pool", "S*", "by family", "by question", "score", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "RER by family", "RER by question", "RER reached"])


def family_matrix(chances: np.ndarray, families: Sequence[str]) -> np.ndarray:
    """(n, families): each agent's mean chance over the questions of each family, in order of appearance."""
    names = np.asarray(families)
    return np.stack([chances[:, names == f].mean(axis=1) for f in dict.fromkeys(names.tolist())], axis=1)


def chance_of_gain(means: Sequence[float], questions: Sequence[int], agents: int, draws: int, seed: int) -> np.ndarray:
    """RER (draws,) that chance alone gives: `agents` of equal true accuracy `means` (D,), counted on `questions` (D,);
    the largest of several counts is above the truth."""
    generator = np.random.default_rng([seed, agents, draws])
    E = generator.binomial(questions, means, (draws, agents, len(means))) / np.asarray(questions)
    best = E.mean(axis=2).max(axis=1)
    return (E.max(axis=1).mean(axis=1) - best) / (1 - best)


def random_matrix(n: int, D: int, seed: int, kind: Literal["independent", "common"] = "independent") -> np.ndarray:
    """E (n, D) of made agents: cells uniform in [0, 1), or as benchmark tables look ("common"): sigmoid(strength_a -
    difficulty_d + own_ad), normals of size 1, 1 and 0.5."""
    generator = np.random.default_rng([seed, n, D])
    if kind == "independent":
        return generator.random((n, D))
    strength, difficulty = generator.standard_normal((n, 1)), generator.standard_normal((1, D))
    return 1 / (1 + np.exp(-(strength - difficulty + 0.5 * generator.standard_normal((n, D)))))


def _value(reached: np.ndarray, best: np.ndarray, by: str) -> np.ndarray:
    value = reached if by == "z" else (reached - best) / (1 - best)
    return value.round(DIGITS)
