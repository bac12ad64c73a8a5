"""Bootstrap intervals over seeds and questions, and the tidy frame of scores and leads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from suite.stats.intervals import by_family, mean_interval, paired_difference
from suite.stats.scores import AVERAGE, lead, leads, neighbours, numbers, score, scores, wide

FAMILIES = ["math"] * 60 + ["code"] * 20


def drawn(p_math, p_code, seeds=4, rollouts=4, seed=0):
    generator = np.random.default_rng(seed)
    chances = np.array([p_math] * 60 + [p_code] * 20)[None, :, None]
    return (generator.random((seeds, 80, rollouts)) < chances).astype(float)


def test_families_weigh_alike_and_the_interval_holds_the_truth():
    rewards = drawn(0.8, 0.2)
    found = mean_interval(rewards, FAMILIES)
    assert found.value == pytest.approx((rewards[:, :60].mean() + rewards[:, 60:].mean()) / 2)
    assert found.low < 0.5 < found.high and found.high - found.low < 0.2
    assert mean_interval(rewards, FAMILIES) == found
    assert str(found.percent()) == "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * part for part in found))


def test_a_paired_difference_is_narrower_than_two_intervals():
    hard = np.random.default_rng(1).random((1, 80, 1)) < 0.5
    ours, theirs = np.where(hard, 0.0, drawn(0.95, 0.95)), np.where(hard, 0.0, drawn(0.85, 0.85, seed=5))
    gap = paired_difference(ours, theirs, FAMILIES)
    alone = mean_interval(ours, FAMILIES)
    assert gap.low > 0 and gap.high - gap.low < alone.high - alone.low
    same = paired_difference(ours, ours, FAMILIES)
    assert same.value == 0 and same.low <= 0 <= same.high


def test_a_difference_between_families_widens_nothing():
    """Questions are drawn within their family: where those of each are all alike, nothing is left to chance."""
    families = ["hard", "easy", "single", "hard", "easy", "easy"]
    rewards = np.array([[0.0, 1, 1, 0, 1, 1]])
    assert mean_interval(rewards, families) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    gap = paired_difference(rewards, 1 - rewards, families)
    assert gap == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert by_family(rewards, families)["hard"] == (0, 0, 0)


def test_the_interval_is_that_of_independent_families():
    """Its half width is 1.96 standard errors of a mean of family means: sqrt(sum var_f / n_f) / F."""
    rewards = drawn(0.8, 0.2, seeds=1, rollouts=1)
    by_hand = np.sqrt(rewards[0, :60].var() / 60 + rewards[0, 60:].var() / 20) / 2
    found = mean_interval(rewards, FAMILIES)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * by_hand, rel=0.1)
    order = np.random.default_rng(3).permutation(80)
    shuffled = mean_interval(rewards[:, order], [FAMILIES[place] for place in order])
    assert shuffled == pytest.approx(found, abs=0.01)


def test_coverage_of_the_interval():
    held = 0
    for seed in range(40):
        found = mean_interval(drawn(0.7, 0.5, seeds=2, rollouts=1, seed=seed + 100), FAMILIES)
        held += found.low <= 0.6 <= found.high
    assert held >= 34  # 95 % of 40, less what a bootstrap of few seeds and luck may lose


def test_a_spread_of_seeds_widens_it():
    steady = np.full((4, 80), 0.5)
    moving = steady + np.array([-0.2, -0.1, 0.1, 0.2])[:, None]
    width = [e.high - e.low for e in (mean_interval(steady, FAMILIES), mean_interval(moving, FAMILIES))]
    assert width[0] == pytest.approx(0) and width[1] > 0.1


def test_failed_rollouts_are_left_out():
    rewards = drawn(1.0, 1.0)
    rewards[0, 0, :3] = np.nan
    rewards[:, 5] = np.nan
    assert mean_interval(rewards, FAMILIES).value == 1.0
    assert by_family(rewards, FAMILIES)["math"].value == 1.0


def test_shapes_and_parts_are_checked():
    for rewards in (np.ones((2, 79)), np.ones((2, 81))):
        for measure in (mean_interval, score, lambda r, f: paired_difference(np.ones((2, 80)), r, f)):
            with pytest.raises(ValueError, match="for 80"):
                measure(rewards, FAMILIES)
    with pytest.raises(ValueError, match="no questions of 'chess'; choose average or one of math, code"):
        score(np.ones((2, 80)), FAMILIES, "chess")


# --- the frame ---
def test_scores_and_leads_are_the_estimates_in_percent():
    ours, theirs = drawn(0.9, 0.5), drawn(0.6, 0.5, seeds=1, seed=7)
    frame = scores({"ours": ours, "theirs": theirs}, FAMILIES).set_index(["system", "part"])
    assert list(frame.index) == [(name, part) for name in ("ours", "theirs") for part in ("math", "code", AVERAGE)]
    for part, found in (by_family(ours, FAMILIES) | {AVERAGE: mean_interval(ours, FAMILIES)}).items():
        assert tuple(frame.loc[("ours", part), ["value", "low", "high"]]) == found.percent()
    gaps = leads({"theirs": (ours, theirs)}, FAMILIES, parts=(AVERAGE, "code"))
    assert gaps["part"].tolist() == [AVERAGE, "code"] and gaps["paper"].isna().all()
    assert tuple(gaps.loc[0, ["value", "low", "high"]]) == lead(ours, theirs, FAMILIES)
    gap = frame.loc[("ours", "code"), "value"] - frame.loc[("theirs", "code"), "value"]
    assert gaps.loc[1, "value"] == pytest.approx(gap)
    same = leads({"itself": (theirs, theirs)}, FAMILIES)
    assert (same[["value", "low", "high"]].to_numpy() == 0).all()  # paired: no system leads itself, seed by seed


def test_the_paper_stands_beside_and_wide_has_a_row_a_system():
    paper = pd.DataFrame({"math": [80.1 - 70], "code": [5.0], AVERAGE: [7.55]}, index=["known"])
    rewards = {"known": drawn(0.9, 0.5), "new": drawn(0.5, 0.5)}
    frame = scores(rewards, FAMILIES, parts=(AVERAGE, "code", "math"), paper=paper)
    assert frame["paper"].tolist()[:3] == [7.55, 5.0, 10.1] and frame["paper"].isna().sum() == 3
    table = wide(frame)
    assert table.columns.tolist() == [AVERAGE, "low", "high", "code", "math"] and list(table.index) == list(rewards)
    assert table.loc["new", AVERAGE] == pytest.approx(table.loc["new", ["code", "math"]].mean())


def test_neighbours_go_down_the_printed_numbers():
    found = neighbours(pd.Series({"low": 1.0, "high": 9.5, "middle": 4.25}))
    assert found == [("high", "middle", 5.25), ("middle", "low", 3.25)]


def test_a_claim_is_told_rounded_numbers_that_hold_together():
    row = SimpleNamespace(value=70.1849, low=70.1849, high=71.999)
    assert numbers(row, 2) == {"ours": 70.18, "interval": (70.18, 72.0)}
    assert str(numbers(SimpleNamespace(value=0.0, low=-0.001, high=2.0), 2)["interval"]) == "(0.0, 2.0)"
    assert numbers(SimpleNamespace(value=0.06, low=0.04, high=0.06), 1) == {"ours": 0.1, "interval": (0.0, 0.1)}
