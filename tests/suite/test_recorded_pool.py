"""Recorded LLMs as agents, and the compiled world that plays the very rollouts that the role loop plays with them."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from made_states import MadeEncoder, RoundedEncoder, assert_same, jobs_of
from recorded_files import AGENTS, NO_DATA, questions, write_routellm, write_routerbench, write_routerdc

from suite.baselines.variants import without
from suite.commands import main as trinity
from suite.pools import load_pool
from suite.pools.recorded import RecordedPool, build
from suite.recordings.answers import options_of, read_answer
from suite.recordings.readers import read_table
from suite.worlds.recorded import RecordedWorld, draw_questions, in_order, run_recorded, texts_of
from trinity_core.coordinator import HeadPolicy
from trinity_core.heads import make_head
from trinity_core.pool import PoolError, ask_sync
from trinity_core.roles import Transcript, build_prompt
from trinity_core.rollout import LoopSettings
from trinity_core.training.learners import SepCmaEs
from trinity_core.training.task import Task
from trinity_core.training.train import train

RESPONSES = [["B\n", "B", "A"], ["I do", "C", "C)"], ["D", "A", "B"], ["A", "A", "A"], ["", "D", "Unclear"]]
RIGHT = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]], float)


@pytest.fixture
def bench(tmp_path):
    """Five questions with options, answered by three LLMs."""
    return write_routerbench(tmp_path / "routerbench" / "letters_train.csv", RIGHT, responses=RESPONSES)


@pytest.fixture
def pool(bench):
    return RecordedPool([read_table(bench)])


@pytest.fixture
def numbers(tmp_path):
    """Numbers, which two LLMs reach by different texts; one agreement has two verdicts."""
    texts = [f"How many are {k} and {k}?" for k in range(4)]
    said = [["It is 0.\n#### 0", "0 and 0 make 0."], ["#### 3", "so 2"], ["#### $4.00", "that is 4"], ["no", "6"]]
    right = np.array([[1, 1], [0, 1], [1, 0], [0, 1]], float)
    return write_routellm(tmp_path / "routellm" / "sums.csv", right, agents=AGENTS[:2], texts=texts, responses=said)


def asked(pool, question, role, answers=(), rule="paper"):
    """The prompt of a role after some Workers' answers."""
    transcript = Transcript(pool.questions[question].text, rule=rule)
    for answer in answers:
        transcript = transcript.append("worker", answer)
    return build_prompt(role, transcript, answer=answers[-1] if answers else None)


# --- reading answers ---


@pytest.mark.parametrize(
    "text, found",
    [
        ("B", "B"), ("B\n", "B"), ("C)", "C"), ("Answer: (D)", "D"), ("dog", "D"), ("I do", None), ("F", None),
        ("", None),
    ],
)  # fmt: skip
def test_letters_are_read_among_the_options(text, found):
    options = options_of(questions(1)[0])
    assert options == ("ant", "bee", "cat", "dog")
    assert read_answer(text, options) == found


@pytest.mark.parametrize(
    "text, found",
    [
        ("so 3 + 4 = 7", "7"), ("#### $1,250.00\nand 3 more", "1250"), ("about 2.50 dollars.", "2.5"), ("-$3", "-3"),
        ("x1 is none", None), ("nothing", None), ("3.\n#### none", "3"),
    ],
)  # fmt: skip
def test_numbers_are_read_after_the_mark_or_last(text, found):
    assert read_answer(text) == found


def test_options_are_the_last_list_that_begins_with_a():
    assert options_of("A) one\nB) two\nthen\nA) x\nB) y\nC) z") == ("x", "y", "z")
    assert options_of("A) alone") == () == options_of("no list")
    assert options_of("B) second\nC) third") == ()


# --- the pool ---


def test_a_worker_says_its_recorded_answer_once(pool):
    message = pool.reply(0, asked(pool, 0, "worker"), 7)
    assert (message.text, message.cost, message.tokens_in, message.finish) == ("B\n", 0.001, None, "stop")
    assert pool.reply(1, asked(pool, 0, "worker", ["B"]), 7).text == ""  # it stands already
    assert pool.reply(1, asked(pool, 0, "worker", ["B", "A"]), 7).text == "B"
    assert pool.reply(0, asked(pool, 0, "worker", ["B", "A"], "released"), 7).text == "B\n"
    assert pool.reply(0, asked(pool, 4, "worker"), 7).text == ""  # nothing was recorded
    assert ask_sync(pool, 0, asked(pool, 0, "worker"), 7) == message


@pytest.mark.parametrize(
    "agent, question, answer, said",
    [
        (1, 0, "B", "I get B, too.\nVERDICT: ACCEPT"),
        (2, 0, "B", "I get A, not B.\nVERDICT: REVISE"),
        (2, 1, "C", "I get C, too.\nVERDICT: ACCEPT"),  # "C)" and "C" are one answer
        (0, 1, "C", "I have no answer of my own to compare.\nVERDICT: REVISE"),
        (1, 1, "I do", "I find no answer that I can read.\nVERDICT: REVISE"),
        (1, 1, "Therefore the answer is (C).", "I get C, too.\nVERDICT: ACCEPT"),  # another pool's words
    ],
)
def test_a_verifier_accepts_what_its_own_answer_agrees_with(pool, agent, question, answer, said):
    message = pool.reply(agent, asked(pool, question, "verifier", [answer]), 1)
    assert message.text == said and message.cost == pytest.approx((agent + 1) / 1000)


def test_what_was_not_recorded_costs_nothing_or_fails_by_name(pool):
    thought = pool.reply(0, asked(pool, 0, "thinker"), 1)
    assert (thought.text, thought.tokens_out, thought.cost, thought.finish) == ("", 0, 0.0, "stop")
    assert "NotAPrompt" in pool.reply(0, [{"role": "user", "content": "hello"}], 1).error
    assert "UnknownQuestion" in pool.reply(0, build_prompt("worker", Transcript("Another question?")), 1).error
    for name, act in (("agent 3", lambda: pool.reply(3, [], 1)), ("question 'x'", lambda: pool.known("x"))):
        with pytest.raises(PoolError, match=f"no {name}"):
            act()


def test_only_the_answer_is_said_where_that_is_asked_for(bench, tmp_path):
    pool = RecordedPool([read_table(bench)], says="answer")
    assert [pool.known(q).texts for q in pool.questions] == [("B", "A"), ("C",), ("D", "A", "B"), ("A",), ("D",)]
    assert pool.reply(2, asked(pool, 1, "worker"), 1).text == "C"
    assert pool.reply(0, asked(pool, 1, "worker"), 1).text == ""  # nothing readable, nothing said
    said = [["A chart", "A"], ["B", "B"]]  # but for what was counted right
    path = write_routerbench(tmp_path / "x.csv", np.ones((2, 2)), agents=AGENTS[:2], responses=said)
    pool = RecordedPool([read_table(path)], says="answer")
    assert pool.known(pool.questions[0]).texts == ("A chart", "A")
    with pytest.raises(PoolError, match="says is 'letters'; choose text or answer"):
        RecordedPool([read_table(bench)], says="letters")


def test_a_reward_is_the_recorded_verdict_and_a_share_is_drawn(tmp_path):
    shares = np.array([[0.3, 1.0], [0.0, 0.5]])
    path = write_routerbench(tmp_path / "x.csv", shares, agents=AGENTS[:2], responses=[["A", "A"], ["B", "A"]])
    pool = RecordedPool([read_table(path)])
    many = np.arange(4000)
    for question, agent in ((0, 0), (0, 1), (1, 0), (1, 1)):
        got = pool.reward(np.full(4000, question), np.full(4000, agent), many)
        assert set(got) <= {0.0, 1.0} and abs(got.mean() - shares[question, agent]) < 0.03
        assert np.array_equal(got[::-1], pool.reward(np.full(4000, question), np.full(4000, agent), many[::-1]))
    other = RecordedPool([read_table(path)], seed=1)
    zero = np.zeros(4000, int)
    assert not np.array_equal(pool.reward(zero, zero, many), other.reward(zero, zero, many))


def test_scores_alone_have_workers_and_no_verifiers(tmp_path):
    path = write_routerdc(tmp_path / "marks_test.json", np.array([[0.0, 0.5, 1.0]]))
    pool = RecordedPool([read_table(path)])
    assert not pool.verifies and pool.questions[0].kind == "judge"
    text = pool.reply(1, asked(pool, 0, "worker"), 1)
    assert text.text == f"{AGENTS[1]}'s answer to marks_test-0001" and text.cost is None
    with pytest.raises(PoolError, match=r"scores but no answers.*leave the verifier out"):
        pool.reply(1, asked(pool, 0, "verifier", [text.text]), 1)


def test_answers_of_a_kind_that_is_not_read_are_refused(tmp_path):
    said = [[f"def f{k}{a}(): return {k * 9 + a}" for a in range(3)] for k in range(4)]
    path = write_routerbench(tmp_path / "code.csv", np.ones((4, 3)), texts=[f"Code {k}" for k in range(4)],
                             responses=said)  # fmt: skip
    with pytest.raises(PoolError, match=r"code\.csv: of two answers counted right, 0% agree"):
        RecordedPool([read_table(path)])


def test_a_question_that_stands_twice_counts_once(tmp_path):
    text = questions(1)
    first = write_routerbench(tmp_path / "a_train.csv", np.ones((1, 3)), texts=text, responses=[["A", "A", "A"]])
    second = write_routerbench(tmp_path / "a_test.csv", np.zeros((1, 3)), texts=text, responses=[["B", "C", "D"]])
    pool = RecordedPool([read_table(first), read_table(second)])
    assert len(pool.questions) == 1 and pool.right.tolist() == [[1, 1, 1]] and pool.questions[0].split == "train"


def test_pool_files_name_recorded_files_below_the_data_folder(tmp_path, bench, numbers, monkeypatch):
    file = tmp_path / "own.yaml"
    file.write_text("kind: recorded\nfiles: [routerbench/letters_train.csv]\nagents: [south/c-13b, north/a-7b]\n")
    pool = load_pool(file, data=tmp_path, questions=[])
    assert [agent.name for agent in pool.agents] == ["south/c-13b", "north/a-7b"]
    assert pool.right[0].tolist() == [0, 1] and pool.costs[0].tolist() == [0.003, 0.001]
    monkeypatch.setenv("TRINITY_DATA", str(tmp_path))
    assert load_pool(file, says="answer").says == "answer"
    monkeypatch.delenv("TRINITY_DATA")
    with pytest.raises(PoolError, match="TRINITY_DATA is not set"):
        load_pool(file)
    config = {"files": ["routerbench/letters_train.csv"]}
    for change, message in (
        ({"files": ["routerbench/none.csv"]}, "is no file"),
        ({"agents": ["x"]}, "no LLM 'x'"),
        ({"agents": "x"}, "agents is 'x': it should be a valid list"),
        ({"files": ["routerbench/letters_train.csv", "routellm/sums.csv"]}, "no LLM 'south/c-13b'"),
        ({"model": "x"}, "the file: unknown key 'model'; known: description, files, agents"),
    ):
        with pytest.raises(ValueError, match=message):
            build({**config, **change}, data=tmp_path)


def test_the_commands_take_a_recorded_pool_with_its_own_questions_or_refuse_it(tmp_path, bench, monkeypatch, capsys):
    file = tmp_path / "own.yaml"
    file.write_text("kind: recorded\nfiles: [routerbench/letters_train.csv]\n")
    monkeypatch.delenv("TRINITY_DATA", raising=False)
    assert trinity(["rollout", "--pool", str(file), "--list-questions"]) == 2
    assert "TRINITY_DATA is not set" in capsys.readouterr().err
    monkeypatch.setenv("TRINITY_DATA", str(tmp_path))
    assert trinity(["rollout", "--pool", str(file), "--list-questions"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [question.id for question in load_pool(file).questions]
    assert trinity(["rollout", "--pool", str(file), "--question", "math-test-000"]) == 2
    assert f"no question 'math-test-000' in pool {file}" in capsys.readouterr().err
    assert trinity(["rollout", "--pool", str(file), "--question", names[3], "--seed", "2"]) == 0
    assert "reward" in capsys.readouterr().out
    assert trinity(["baselines", "--run", "single", "--pool", str(file)]) == 2
    assert "trinity recordings train" in capsys.readouterr().err


# --- the compiled world ---


def rollouts_and_plays(pool, settings, transform=None, mode=None, size=6, each=15):
    head = make_head("linear", len(pool.agents), 24)
    generator = np.random.default_rng(1)
    thetas = 0.4 * generator.standard_normal((size, head.size))
    questions_asked = generator.integers(0, len(pool.questions), (size, each))
    replicates = np.arange(size * each).reshape(size, each)
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), settings)
    plays = world.play(head, thetas, questions_asked, replicates)
    jobs = jobs_of(pool.questions, questions_asked, replicates)
    return world, plays, run_recorded(jobs, HeadPolicy(head, thetas), RoundedEncoder(), pool, settings)


@pytest.mark.parametrize("mode", ["sample", "argmax"])
@pytest.mark.parametrize("rule", ["paper", "released"])
@pytest.mark.parametrize("says", ["text", "answer"])
def test_rollouts_are_those_of_the_role_loop(bench, says, rule, mode):
    pool = RecordedPool([read_table(bench)], says=says)
    settings = LoopSettings(seed=3, transcript=rule, mode=mode, max_turns=5)
    _, plays, rollouts = rollouts_and_plays(pool, settings)
    assert len({rollout.stop for rollout in rollouts}) == 3  # every way to end was met
    assert_same(plays, rollouts, pool.questions)


@pytest.mark.parametrize("rule", ["paper", "released"])
def test_so_they_are_where_shares_are_drawn_and_costs_unknown(numbers, tmp_path, rule):
    settings = LoopSettings(transcript=rule)
    pool = RecordedPool([read_table(numbers)])
    _, plays, rollouts = rollouts_and_plays(pool, settings)
    assert_same(plays, rollouts, pool.questions)
    asks = np.array([any(turn.prompt and turn.role != "thinker" for turn in r.turns) for r in rollouts])
    assert np.array_equal(np.isnan(plays.cost).ravel(), asks) and asks.any()
    shares = np.random.default_rng(0).integers(0, 5, (5, 3)) / 4
    path = write_routerbench(tmp_path / "shares.csv", np.maximum(shares, RIGHT), responses=RESPONSES)
    pool = RecordedPool([read_table(path)])
    _, plays, rollouts = rollouts_and_plays(pool, settings)
    assert_same(plays, rollouts, pool.questions)


@pytest.mark.parametrize("says", ["text", "answer"])
@pytest.mark.parametrize("rule, turns", [("paper", 3), ("released", 4)])
def test_every_transcript_that_can_be_read_is_listed(bench, says, rule, turns):
    pool = RecordedPool([read_table(bench)], says=says)
    settings = LoopSettings(transcript=rule, max_turns=turns)
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), settings)
    listed = texts_of(world)
    assert len(listed) == len({str(text) for text in listed}) == len(world.tree)
    world.read_all()
    read = world.encoder.encoded
    assert read == len(listed)
    head = make_head("linear", 3, 24)
    thetas = 0.4 * np.random.default_rng(0).standard_normal((40, head.size))
    plays = world.play(head, thetas, np.tile(np.arange(5), (40, 8)), np.arange(40 * 40).reshape(40, 40))
    assert world.encoder.encoded == read
    assert plays.nodes.max() < read and len(np.unique(plays.nodes)) > read / 2
    assert len(world.tree) > read and len(texts_of(world)) == read
    world.read_all()  # what the last turns added is read by nobody
    assert world.encoder.encoded == read


def test_transcripts_come_with_their_beginnings_first(pool):
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), LoopSettings(transcript="released"))
    texts = texts_of(world)
    order = [place for batch in in_order(texts) for place in batch]
    assert sorted(order) == list(range(len(texts)))
    seen = set()
    for place in order:
        assert len(texts[place]) == 1 or str(texts[place][:-1]) in seen
        seen.add(str(texts[place]))


def test_the_answer_that_stands_decides_and_budgets_cut_the_same_rollouts(pool):
    settings = LoopSettings(transcript="released", max_turns=5)
    world, plays, _ = rollouts_and_plays(pool, settings, each=30)
    short, cut, _ = rollouts_and_plays(pool, replace(settings, max_turns=2), each=30)
    assert np.array_equal(world.speakers(plays, 2), short.speakers(cut))
    single = world.solve(np.arange(3).repeat(5), np.tile(np.arange(5), 3), np.zeros(15, int))
    assert np.array_equal(single.reshape(3, 5).T, RIGHT)


def test_nobody_verifies_scores(tmp_path):
    path = write_routerdc(tmp_path / "marks_test.json", np.array([[0.0, 0.5, 1.0], [1.0, 1.0, 0.0]]))
    pool = RecordedPool([read_table(path)])
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), LoopSettings(transcript="released"))
    head = make_head("linear", 3, 24)
    numbers = np.arange(40)[None]
    with pytest.raises(PoolError, match="scores but no answers"):
        world.play(head, np.zeros((1, head.size)), numbers % 2, numbers)
    alone = without(head, ("thinker", "verifier"), AGENTS)
    plays = world.play(alone, np.zeros((1, head.size)), numbers % 2, numbers)
    assert set(plays.reward.ravel()) == {0.0, 1.0} and (plays.turns == 5).all()


def test_every_method_learns_on_it_and_a_resumed_log_goes_on(pool, tmp_path):
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), LoopSettings(transcript="released"))
    head = without(make_head("linear", 3, 24), ("thinker",), AGENTS)
    start = Task(world, head).rewards(np.zeros(head.size), 40).mean()
    settings = SepCmaEs(sigma=0.3)
    first, again = (
        train("sep-cma-es", Task(world, head), 33 * 16 * 25, 1, settings=settings, log=tmp_path / "log.jsonl")
        for _ in range(2)
    )
    assert np.array_equal(first.theta, again.theta)
    assert Task(world, head).rewards(first.theta, 40).mean() > start + 0.1
    assert train("random-search", Task(world, head), 512, 1).evaluations == 512
    plain = Task(world, make_head("linear", 3, 24))
    assert train("reinforce", plain, 33 * 16, 1).evaluations == 33 * 16
    assert train("sft", plain, 400, 1).evaluations <= 400


def test_a_world_passes_to_another_process_with_its_states(pool):
    world = RecordedWorld(pool.questions, pool, MadeEncoder(), LoopSettings(transcript="released", max_turns=3))
    world.read_all()
    copy = pickle.loads(pickle.dumps(world))
    nodes = np.arange(len(world.tree))
    assert np.array_equal(copy.states(nodes), world.states(nodes)) and copy.describe() == world.describe()


def test_questions_are_drawn_by_key(pool):
    drawn = draw_questions(pool.questions, 3, "train")
    assert drawn == draw_questions(pool.questions[::-1], 3, "train")[::-1] and len(drawn) == 3
    assert all(question in drawn for question in draw_questions(pool.questions, 2, "train"))
    with pytest.raises(ValueError, match="6 questions asked for where there are 5"):
        draw_questions(pool.questions, 6, "train")


# --- the real files ---

DATA = os.environ.get("TRINITY_DATA", "")


@pytest.mark.skipif(not DATA, reason=NO_DATA)
@pytest.mark.parametrize("name", ["routerbench-arc", "routerbench-winogrande", "routellm-gsm8k"])
def test_real_files_play_alike(name):
    pool = load_pool(name)
    pool_questions = pool.questions[::60]
    settings = LoopSettings(transcript="paper", max_turns=4)
    head = make_head("linear", len(pool.agents), 24)
    thetas = 0.4 * np.random.default_rng(2).standard_normal((3, head.size))
    asked_for = np.tile(np.arange(len(pool_questions)), (3, 1))
    numbers = np.arange(asked_for.size).reshape(asked_for.shape)
    plays = RecordedWorld(pool_questions, pool, MadeEncoder(), settings).play(head, thetas, asked_for, numbers)
    jobs = jobs_of(pool_questions, asked_for, numbers)
    assert_same(plays, run_recorded(jobs, HeadPolicy(head, thetas), RoundedEncoder(), pool, settings), pool_questions)
