"""Rules and coordinators on recorded answers: counted by hand on small made files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_states import MadeEncoder
from recorded_files import questions, write_routellm, write_routerbench

from suite.chapters import verifying_with_recorded_answers as turns
from suite.chapters import verifying_with_recorded_answers_figures as figures
from suite.chapters import verifying_with_recorded_answers_rules as rules
from suite.chapters.verifying_with_recorded_answers_rules import Record, Rule
from suite.worlds import verifying as turn_worlds
from suite.worlds.verifying import BENCHMARKS, VISIBLE, Setting, get_pool, get_questions, get_world

# Four questions, three LLMs: what each answer states, and whether it is right.
OWN = np.array([[0, 0, 1], [0, 1, 1], [0, 1, -1], [0, 0, 0]])
RIGHT = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0]], float)
DOLLARS = np.tile([1.0, 2.0, 4.0], (4, 1))
RECORD = Record(("a", "b", "c"), RIGHT, DOLLARS, OWN)


def made_folder(folder, n=40):
    """The three benchmarks of the worlds, small: LLM k of RouterBench is right in 50, 60, 70 ... % of the questions."""
    names = ("first", "claude-v2", "mixtral", "gpt-4-1106-preview")
    for stem, split in (("arc_challenge", "train"), ("arc_challenge", "test"), ("winograde", "train"),
                        ("winograde", "test")):  # fmt: skip
        draws = np.random.default_rng([len(stem), len(split)])
        right = draws.random((n, 4)) < (0.5, 0.6, 0.7, 0.8)
        wrong = draws.choice(["B", "C", "I do"], (n, 4)).tolist()
        said = [["A" if good else other for good, other in zip(*two, strict=True)]
                for two in zip(right, wrong, strict=True)]  # fmt: skip
        texts = questions(n, f"{stem} {split}")
        path = folder / "routerbench" / f"{stem}_{split}.csv"
        write_routerbench(path, right.astype(float), agents=names, texts=texts, responses=said)
    draws = np.random.default_rng(9)
    right = draws.random((n, 2)) < (0.6, 0.8)
    said = [[f"#### {k if good else k + 1 + place}" for place, good in enumerate(row)] for k, row in enumerate(right)]
    texts = [f"What is {k} plus nothing?" for k in range(n)]
    write_routellm(folder / "routellm" / "gsm8k_responses.csv", right.astype(float), agents=("mixtral", "gpt-4"),
                   texts=texts, responses=said)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    turn_worlds.get_pool.cache_clear()
    yield made_folder(tmp_path_factory.mktemp("recorded"))
    turn_worlds.get_pool.cache_clear()


@pytest.fixture
def reader():
    return MadeEncoder()


# --- rules, by hand ---


def test_acceptance_counts_others_right_and_wrong_answers():
    frame = rules.acceptance(RECORD).set_index("LLM")
    # a judges b and c: right are (1 b), (2 b), (2 c); it accepts the first. Wrong: (1 c), (3 b), (4 b), (4 c), and
    # (3 c), which cannot be read.
    assert frame.loc["a", "accepts right"] == pytest.approx(100 / 3)
    assert frame.loc["a", "accepts wrong"] == pytest.approx(100 * 2 / 4)
    assert frame.loc["a", "accepted is right"] == pytest.approx(100 / 3)
    assert frame.loc["c", "accepts right"] == pytest.approx(100 / 4)
    assert (frame["accepts right low"] <= frame["accepts right"]).all()
    assert frame.loc["a", "assumed: right"] == pytest.approx(75 + 0.5 * 20)  # half of its own answers are right


def test_pairs_leave_out_the_judge_itself():
    right, wrong = rules.pairs(RECORD, True), rules.pairs(RECORD, False)
    assert np.isnan(np.diag(right)).all()
    assert right[0, 1] == pytest.approx(50) and right[0, 2] == 0 and right[1, 2] == 100
    assert wrong[1, 0] == pytest.approx(50) and wrong[2, 0] == pytest.approx(50)


def test_commonest_answer(data):
    frame = rules.commonest(data, "arc", "test")
    assert frame["answer"].tolist() == ["A"] * 4  # who is right says A
    record = rules.record_of(data, "arc", "test")
    readable = (record.own >= 0).sum(axis=0)
    assert frame["share"].to_numpy() == pytest.approx(100 * record.right.sum(axis=0) / readable)


def test_cheapest_rule_within_some_points():
    front = [Rule(0), Rule(1), Rule(0, 1, 1)]  # right in 50, 50 and 50 percent of the questions
    assert rules.cheapest_within(0, front, RECORD) == Rule(0)
    assert rules.cheapest_within(0, [Rule(0), Rule(2, 1, 0)], RECORD) == Rule(2, 1, 0)
    assert rules.cheapest_within(25, [Rule(0), Rule(2, 1, 0)], RECORD) == Rule(0)


def test_an_answer_that_cannot_be_read_agrees_with_nothing():
    assert not RECORD.accepts[2, 2].any() and RECORD.accepts[3].all()


@pytest.mark.parametrize(
    "rule, right, dollars",
    [
        (Rule(0), [1, 0, 1, 0], [1, 1, 1, 1]),
        (Rule(0, 1, 1), [1, 1, 0, 0], [3, 5, 5, 3]),
        (Rule(0, 1, 2), [1, 1, 0, 0], [3, 7, 7, 3]),
        (Rule(2, 1, 0), [1, 1, 1, 0], [7, 6, 7, 6]),
    ],
)
def test_a_rule_is_followed(rule, right, dollars):
    found = rules.follow(rule, RECORD)
    assert found[0].tolist() == right and found[1].tolist() == dollars


def test_a_third_opinion_decides_where_two_differ():
    right, dollars = rules.majority((0, 1, 2), RECORD)
    assert right.tolist() == [1, 1, 1, 0] and dollars.tolist() == [3, 7, 7, 3]


def test_a_vote_goes_by_weight():
    right, dollars = rules.vote(np.array([1.0, 1.0, 1.0]), RECORD)
    assert right.tolist() == [1, 1, 1, 0] and (dollars == 7).all()
    heavy, _ = rules.vote(np.array([5.0, 1.0, 1.0]), RECORD)
    assert heavy.tolist() == RIGHT[:, 0].tolist()


def test_rules_are_chosen_by_right_answers_then_by_price():
    assert len(rules.rules(3)) == 3 + 18
    assert rules.best_rule(RECORD, checked=False) == Rule(0)  # as good as b, and cheaper
    best = rules.best_rule(RECORD)
    assert rules.follow(best, RECORD)[0].mean() == 0.75 and best.then != best.works
    front = rules.frontier(RECORD)
    prices, shares = zip(*((d.mean(), r.mean()) for r, d in (rules.follow(one, RECORD) for one in front)), strict=True)
    assert list(prices) == sorted(prices) and list(shares) == sorted(set(shares)) and max(shares) == 0.75
    assert rules.priced(front, RECORD)["verified"].tolist() == [False, True]


def test_readings_count_what_contradicts_the_record():
    found = rules.readings(RECORD)
    assert found["readable"] == pytest.approx(100 * 11 / 12)
    assert found["right but different"] == 0 and found["same but other verdict"] == 0
    odd = replace(RECORD, right=np.array([[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]], float))
    assert rules.readings(odd)["same but other verdict"] == pytest.approx(100 / 5)
    assert rules.readings(odd)["right but different"] == pytest.approx(100 * 2 / 3)


def test_rivals_leave_out_whom_they_are_told(data):
    train, test = (rules.record_of(data, "arc", split) for split in ("train", "test"))
    found = rules.rivals(train, test, ("gpt-4-1106-preview",))
    assert list(found) == [
        "best single LLM",
        "rule with a Verifier",
        "third opinion",
        "vote of all",
        "per-question best",
    ]
    assert "GPT-4" not in " ".join(rival.who for rival in found.values())
    assert found["per-question best"].right.mean() >= max(r.right.mean() for r in found.values())
    assert list(rules.rivals(*(rules.record_of(data, "gsm8k", s) for s in ("train", "test"))))[2] == "per-question best"


# --- worlds ---


def test_training_and_test_questions_are_apart(data):
    for name in BENCHMARKS:
        train, test = ({q.id for q in get_questions(data, name, split)} for split in ("train", "test"))
        assert train and test and not train & test
    assert len(get_questions(data, "arc", "test")) == 40 and len(get_questions(data, "gsm8k", "train")) == 20


def test_all_texts_are_listed_and_encoded_ahead(data, reader, monkeypatch):
    texts = turn_worlds.texts_to_encode(data, reader)
    assert len({repr(text) for text in texts}) == len(texts)

    class Tokens:
        def __call__(self, formed):
            return {"input_ids": [text.split() for text in formed]}

    monkeypatch.setattr(MadeEncoder, "tokenizer", Tokens(), raising=False)
    monkeypatch.setattr(MadeEncoder, "format", lambda self, text: repr(text), raising=False)
    turn_worlds.encode_ahead(data, reader)
    assert reader.encoded == len(texts)
    listed = {repr(text) for text in texts}
    for name, setting in turn_worlds.READ:
        world = get_world(data, name, "test", reader, setting)
        learnt = turns.learn(get_world(data, name, "train", reader, setting), world, 1, budget=33 * 16)
        read = np.unique(learnt.plays.nodes[learnt.plays.nodes >= 0])
        assert {repr(world.tree.transcripts[node].messages()) for node in read} <= listed


# --- coordinators ---


@pytest.fixture
def trained(data, reader):
    worlds = [get_world(data, "arc", split, reader) for split in ("train", "test")]
    return turns.learn(*worlds, 2, budget=33 * 16 * 2)


def test_budgets_cut_the_same_rollouts(data, reader, trained):
    rewards, dollars = turns.at_turns(trained, (1, 2, 5))
    assert rewards.shape == (3, 2, 40, 4) and np.array_equal(rewards[-1], trained.rewards)
    assert np.allclose(dollars[-1].ravel(), trained.plays.cost.ravel())
    short = turns.played(get_world(data, "arc", "test", reader, Setting(turns=2)), trained.head, trained.thetas)
    assert np.array_equal(rewards[1], short.rewards) and np.allclose(dollars[1].ravel(), short.plays.cost.ravel())
    curve = turns.curve(trained, (1, 2))
    assert curve["value"].tolist() == pytest.approx([100 * part.mean() for part in rewards[:2]])


def test_habits_add_up(trained):
    frame = turns.habits(trained)
    assert frame["reached"].iloc[0] == 100 and frame["reached"].is_monotonic_decreasing
    assert np.allclose(frame["worker"] + frame["verifier"], 100)
    assert turns.decided(trained).shape == (2, 40, 1)


def test_a_head_is_set_to_a_rule_where_verdicts_are_seen(data, reader):
    wide = MadeEncoder(d=1500)  # enough numbers to tell all training transcripts apart
    world = get_world(data, "winogrande", "train", wide, VISIBLE)
    rule = Rule(1, 2, 3)
    head = turns.imitate(world, rule)
    played = turns.played(world, head, np.array([head.start]))
    record = rules.record_of(data, "winogrande", "train")
    right, dollars = rules.follow(rule, record)
    assert abs(played.rewards.mean() - right.mean()) < 0.08
    assert abs(played.plays.cost.mean() - dollars.mean()) < 0.1 * dollars.mean()
    assert np.array_equal(head.initial(np.random.default_rng(0)), np.array(head.start))
    with pytest.raises(ValueError, match="without verdicts"):
        turns.imitate(get_world(data, "winogrande", "train", wide), rule)


def test_a_script_is_played_word_for_word(data):
    pool = get_pool(data, "gsm8k")
    place = next(k for k, right in enumerate(pool.right) if right.tolist() == [0, 1])
    rollout = turns.scripted(pool, pool.questions[place], [("mixtral", "worker"), ("gpt-4", "verifier"),
                                                           ("gpt-4", "worker")])  # fmt: skip
    assert [(turn.agent, turn.role, turn.verdict) for turn in rollout.turns] == [
        (0, "worker", None), (1, "verifier", "REVISE"), (1, "worker", None),
    ]  # fmt: skip
    assert rollout.reward == 1.0 and "not" in rollout.turns[1].output


def test_differences_are_paired_and_benchmarks_weigh_alike():
    ours, theirs = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])
    assert turns.difference(ours, theirs).value == pytest.approx(25)
    both = turns.difference({"x": ours, "y": np.ones(1)}, {"x": theirs, "y": np.zeros(1)})
    assert both.value == pytest.approx((25 + 100) / 2)
    seeds = np.stack([ours, theirs])[..., None]
    assert turns.score(seeds).value == pytest.approx(37.5)
    table = turns.against({"a": (seeds, 0.002)}, theirs)
    assert table["difference"].tolist() == pytest.approx([12.5]) and table["$ per 1,000"].tolist() == [2.0]
    itself = turns.against({"a": (theirs, 0.0)}, theirs)
    assert itself[["difference", "low", "high"]].isna().all(axis=None) and itself["right (%)"].tolist() == [25.0]


def test_claims_are_this_notebooks():
    assert all(name.startswith("17.") and claim["stand_in"] for name, claim in turns.CLAIMS.items())


def test_figures_are_drawn(trained):
    record = RECORD
    frame = rules.acceptance(record)
    estimate = turns.score(RIGHT[:, 0])
    curve = turns.curve(trained, (1, 2, 3))
    made = [
        figures.verifiers({"x": frame, "y": frame}, rules.assumed(np.array([0.0, 100.0]))),
        figures.matrices({"r": rules.pairs(record, True), "w": rules.pairs(record, False)}, record.agents),
        figures.systems({"x": [("a", "one LLM", estimate)], "y": [("b", "vote of all", estimate)]}),
        figures.budget({"x": curve, "y": curve.assign(dollars=np.nan)}, {"x": 50.0, "y": 60.0}),
        figures.fronts({"x": (rules.alone(record), rules.priced(rules.frontier(record), record)),
                        "y": (rules.alone(record), rules.priced(rules.frontier(record), record))}),
    ]  # fmt: skip
    import matplotlib.pyplot as plt

    for figure in made:
        figure.draw_without_rendering()
        plt.close(figure)
