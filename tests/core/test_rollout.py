"""The role loop: its documented rules, one by one, and the same rollouts whatever the batching and concurrency."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from suite.checkers import is_right
from suite.commands import main as trinity
from suite.results.rollout_view import show_rollout
from suite.stats.rollouts import rollouts_table, turns_table
from trinity_core.coordinator import HeadPolicy
from trinity_core.draws import uniforms
from trinity_core.heads import LinearHead
from trinity_core.pool import Agent, BudgetExceeded
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import ROLES, Message, Question

QUESTIONS = [
    Question(f"math-test-{i:03}", "math", "test", f"What is {i} + {i}?", f"{i} + {i}", 0, "math", str(2 * i))
    for i in range(6)
]
REPLIES = {
    "worker": "Add them.\nAnswer: {answer}",
    "thinker": "PLAN: add the two numbers\nNEXT: WORKER",
    "verifier": "Checked.\nVERDICT: ACCEPT",
}


class FakeEncoder:
    """Hidden states that are a function of the transcript alone; counts its calls."""

    d = 4

    def __init__(self) -> None:
        self.seen: list[list[dict[str, str]]] = []

    def encode(self, texts, *, reuse_prefix=False):
        self.seen += texts
        return np.array([np.random.default_rng(list(repr(t).encode())).normal(size=4) for t in texts], np.float32)


class FakePool:
    """Agents that say what a script says: script(agent, role, turn) -> text or Message."""

    agents = (Agent("a0", "fake"), Agent("a1", "fake"))

    def __init__(self, script=None) -> None:
        self.script = script or (lambda agent, role, turn: REPLIES[role])
        self.calls: list[tuple[int, str, int, str]] = []

    async def ask(self, agent, messages, replicate):
        role = next(role for role in ROLES if messages[0]["content"].startswith(f"You are the {role.capitalize()}"))
        self.calls.append((agent, role, replicate, messages[1]["content"]))
        await asyncio.sleep(random.random() / 500)  # replies come back in any order
        text = self.script(agent, role, replicate % 100)
        if isinstance(text, Message):
            return text
        number = int(messages[1]["content"].split("What is ")[1].split(" ")[0])
        return Message(text.format(answer=2 * number), 7, 3, 0.5, "stop")


class Scripted:
    """A policy that plays the given roles turn by turn, by agent 0, told apart by the number of encoder lines."""

    n_agents = 2

    def __init__(self, roles):
        self.roles, self.turn = roles, 0

    def logits(self, candidates, states):
        logits = np.zeros((len(candidates), 5))
        logits[:, 0] = 50
        logits[:, 2 + ROLES.index(self.roles[self.turn])] = 50
        self.turn += 1
        return logits


def run(jobs, policy, pool=None, settings=LoopSettings(), encoder=None, check=is_right):
    return run_rollouts(jobs, policy, encoder or FakeEncoder(), pool or FakePool(), settings, check=check)


def play(roles, script=None, question=QUESTIONS[3], **settings):
    pool = FakePool(script)
    return run([Job(question)], Scripted(roles), pool, LoopSettings(mode="argmax", **settings))[0], pool


def test_accept_stops_and_scores_the_accepted_answer():
    rollout, pool = play(["worker", "verifier", "worker"])
    assert (rollout.stop, rollout.reward, len(rollout.turns)) == ("accepted", 1.0, 2)
    assert rollout.answer == "Add them.\nAnswer: 6" and rollout.turns[1].verdict == "ACCEPT"
    assert "## Latest answer\nAdd them.\nAnswer: 6" in pool.calls[1][3]


def test_revise_goes_on_to_the_turn_limit_and_scores_the_latest_answer():
    def script(agent, role, turn):
        return {1: "Answer: 5", 2: "Off by one.\nVERDICT: REVISE", 3: "Answer: 6"}[turn]

    rollout, _ = play(["worker", "verifier", "worker"], script, max_turns=3)
    assert (rollout.stop, rollout.reward, rollout.answer) == ("turn limit", 1.0, "Answer: 6")
    assert rollout.turns[1].output == "REVISE Off by one."


def test_accepting_a_wrong_answer_gives_0():
    rollout, _ = play(["worker", "verifier"], lambda a, role, t: "Answer: 5" if role == "worker" else "VERDICT: ACCEPT")
    assert (rollout.stop, rollout.reward) == ("accepted", 0.0)


def test_verifier_before_any_answer_ends_with_0_and_calls_nobody():
    rollout, pool = play(["thinker", "verifier"], lambda a, r, t: "PLAN: add")
    assert (rollout.stop, rollout.reward, rollout.answer) == ("verifier before answer", 0.0, None)
    assert [call[1] for call in pool.calls] == ["thinker"]


def test_thinker_names_the_next_role_once():
    rollout, _ = play(["thinker", "verifier", "verifier"])
    assert [turn.role for turn in rollout.turns] == ["thinker", "worker", "verifier"]
    assert [turn.overridden for turn in rollout.turns] == [False, True, False]
    assert rollout.turns[0].suggested_role == "worker" and rollout.reward == 1.0


def test_no_worker_at_all_gives_0():
    rollout, _ = play(["thinker"] * 3, lambda a, r, t: "PLAN: wait", max_turns=3)
    assert (rollout.stop, rollout.reward, rollout.answer) == ("turn limit", 0.0, None)


def test_cut_message_is_progress_but_no_answer():
    def script(agent, role, turn):
        return Message("Answer: 6", 7, 4096, None, "length") if turn == 1 else "Answer: 9"

    rollout, pool = play(["worker", "worker"], script, max_turns=2)
    assert rollout.answer == "Answer: 9" and "[worker] Answer: 6" in pool.calls[1][3]
    rollout, _ = play(["worker"], script, max_turns=1)
    assert (rollout.answer, rollout.reward, rollout.stop) == (None, 0.0, "turn limit")


def test_a_long_answer_is_checked_whole():
    code = "```python\n" + "# a line of code\n" * 300 + "answer = 6\n```"
    seen = []
    pool = FakePool(lambda a, r, t: code if r == "worker" else "VERDICT: ACCEPT")
    policy, noting = Scripted(["worker", "verifier"]), lambda question, answer: seen.append(answer) is None
    (rollout,) = run([Job(QUESTIONS[3])], policy, pool, LoopSettings(2, "argmax"), check=noting)
    assert seen == ["", code] and rollout.answer == code and f"## Latest answer\n{code}" in pool.calls[1][3]
    assert len(rollout.turns[0].output) < len(code), "the transcript's copy is shortened"


def test_cut_accept_is_no_accept():
    def script(agent, role, turn):
        return "Answer: 6" if role == "worker" else Message("VERDICT: ACCEPT", 7, 9, None, "length")

    rollout, _ = play(["worker", "verifier"], script, max_turns=2)
    assert (rollout.stop, rollout.turns[1].verdict, rollout.reward) == ("turn limit", "REVISE", 1.0)


def test_empty_message_counts_as_a_turn_and_adds_nothing():
    encoder = FakeEncoder()
    pool = FakePool(lambda a, r, t: "" if t == 1 else "Answer: 6")
    (rollout,) = run([Job(QUESTIONS[3])], Scripted(["worker"] * 2), pool, LoopSettings(2, "argmax"), encoder)
    assert (len(rollout.turns), rollout.reward) == (2, 1.0)
    assert encoder.seen[0] == encoder.seen[1], "the transcript did not grow"


def test_failed_call_fails_the_rollout_and_is_left_out():
    def script(agent, role, turn):
        return Message("", None, None, None, "error", error="timeout") if turn == 2 else "Answer: 6"

    rollout, pool = play(["worker"] * 3, script)
    assert (rollout.stop, rollout.reward, len(pool.calls)) == ("failed call", None, 2)
    table = rollouts_table([rollout])
    assert table.failed.tolist() == [True] and np.isnan(table.reward[0]) and np.isnan(table.tokens_out[0])


def test_transcript_rules_change_what_the_coordinator_sees():
    def seen(rule):
        encoder = FakeEncoder()
        script = {1: "PLAN: add\nNEXT: WORKER", 2: "Answer: 5", 3: "No.\nVERDICT: REVISE", 4: "Answer: 6"}
        pool = FakePool(lambda a, r, t: script[t])
        policy = Scripted(["thinker", "worker", "verifier", "worker"])
        run([Job(QUESTIONS[3])], policy, pool, LoopSettings(4, "argmax", rule), encoder)
        return [[m["role"] for m in text] for text in encoder.seen], pool

    paper, _ = seen("paper")
    assert paper == [["user"], ["user", "thinker"], ["user", "thinker", "worker"], ["user", *ROLES[1:2], *ROLES[::2]]]
    released, pool = seen("released")
    assert released == [["user"], ["user"], ["user", "thought"], ["user", "thought"]]
    assert "## Plan\nadd" in pool.calls[1][3], "the plan goes to the next call"
    assert all("add" not in call[3].split("## Your task")[0] for call in pool.calls[2:]), "and to no other"


def comparable(rollouts):
    return [(r.question.id, r.candidate, r.replicate, r.reward, r.stop, r.answer, r.turns) for r in rollouts]


def linear(weights):
    """A policy of linear heads W (..., L + 3, d)."""
    head = LinearHead(weights.shape[-2] - len(ROLES), weights.shape[-1])
    return HeadPolicy(head, weights.reshape(*weights.shape[:-2], head.size))


EVEN = linear(np.zeros((5, 4)))


def test_rollouts_do_not_depend_on_batching_order_or_concurrency():
    weights = np.random.default_rng(0).normal(size=(3, 5, 4))
    jobs = [Job(q, c, r) for q in QUESTIONS for c in range(3) for r in range(2)]
    together = run(jobs, linear(weights))
    shuffled = random.Random(1).sample(jobs, len(jobs))
    again = run(shuffled, linear(weights))
    found = dict(zip(map(id, shuffled), again, strict=True))
    assert comparable(together) == comparable([found[id(job)] for job in jobs])
    alone = [run([job], linear(weights))[0] for job in jobs]
    assert comparable(together) == comparable(alone)
    assert len({repr(r.turns) for r in together}) > len(QUESTIONS), "the draws differ between candidates or replicates"


def test_each_distinct_transcript_and_call_is_made_once():
    encoder, pool = FakeEncoder(), FakePool()
    jobs = [Job(q, c) for q in QUESTIONS for c in range(8)]
    run(jobs, linear(np.zeros((8, 5, 4))), pool, encoder=encoder)
    texts = [repr(text) for text in encoder.seen]
    # The same head and the same replicate: eight equal rollouts a question.
    assert len(pool.calls) == len(set(pool.calls)) and len(texts) <= 5 * len(QUESTIONS)


def test_sample_mode_follows_the_heads_chances():
    jobs = [Job(QUESTIONS[0], 0, r) for r in range(600)]
    rollouts = run(jobs, EVEN, settings=LoopSettings(max_turns=1))
    table = turns_table(rollouts, FakePool())
    assert abs((table.role == "verifier").mean() - 1 / 3) < 0.06 and abs((table.agent == "a0").mean() - 1 / 2) < 0.06
    assert set(table.p_agent) == {0.5} and np.allclose(table.p_role, 1 / 3)


def test_budget_stop_passes_through():
    class Capped(FakePool):
        async def ask(self, agent, messages, replicate):
            raise BudgetExceeded("2 calls are the cap")

    with pytest.raises(BudgetExceeded, match="the cap"):
        run([Job(QUESTIONS[0])], Scripted(["worker"]), Capped(), LoopSettings(1, "argmax"))


def test_works_inside_a_running_event_loop():
    async def cell():
        return play(["worker", "verifier"])[0]

    assert asyncio.run(cell()).reward == 1.0


def test_tables_are_tidy():
    rollouts = run([Job(q) for q in QUESTIONS], EVEN)
    table, turns = rollouts_table(rollouts), turns_table(rollouts, FakePool())
    assert len(table) == len(QUESTIONS) and len(turns) == table.turns.sum()
    asked = turns[turns.tokens_in > 0]
    assert table.calls.sum() == len(asked) and table.cost.sum() == pytest.approx(0.5 * len(asked))


def test_tables_of_nothing_and_of_unknown_amounts():
    rollout, pool = play(["worker"], lambda a, r, t: Message("Answer: 6", None, None, None, "stop"), max_turns=1)
    for table, empty in (
        (rollouts_table([rollout]), rollouts_table([])),
        (turns_table([rollout], pool), turns_table([], pool)),
    ):
        assert list(empty.columns) == list(table.columns) and len(empty) == 0
        for name in ("tokens_in", "tokens_out", "cost"):
            assert table[name].dtype == float and table[name].isna().all()
    assert run([], Scripted([]), pool) == []


def test_a_draw_depends_on_its_key_alone():
    assert uniforms(2, "a", 3).tolist() == uniforms(2, "a", np.int64(3)).tolist() != uniforms(2, "a", "3").tolist()
    assert uniforms(1, "key", 7)[0] == 0.03659905353708204
    with pytest.raises(TypeError):
        uniforms(1, 0.5)
    # Agents, roles, turns, replicates, questions and the coordinator's own draws share nothing.
    keys = [("decision", 42, "q-0", turn) for turn in (1, 2)] + [
        ("simulated", 0, question, agent, role, turn)
        for question in ("q-0", "q-1")
        for agent in ("a", "b")
        for role in ROLES[:2]
        for turn in (1, 2)
    ]
    draws = [np.array([uniforms(4, *key[:-1], 100 * r + key[-1]) for r in range(1000)]) for key in keys]
    between = np.corrcoef(np.concatenate(draws, axis=1).T) - np.eye(4 * len(keys))
    assert abs(between).max() < 5 / np.sqrt(1000)


def test_views_show_every_turn_and_escape_what_agents_say():
    rollout, pool = play(["worker", "verifier"], lambda a, r, t: "<b>x</b>\nAnswer: 6" if r == "worker" else "ACCEPT")
    text, page = str(show_rollout(rollout, pool)), show_rollout(rollout, pool)._repr_html_()
    assert "turn 1  WORKER  a0" in text and "verdict: ACCEPT" in text and "reward 1" in text
    assert "&lt;b&gt;x&lt;/b&gt;" in page and "<b>x</b>" not in page
    failed, pool = play(["worker"], lambda a, r, t: Message("", None, None, None, "error", error="timeout"))
    assert "the call failed: timeout" in str(show_rollout(failed, pool))


def test_bad_settings_are_named():
    for bad, named in (({"max_turns": 0}, "max_turns is 0"), ({"mode": "best"}, "best"), ({"transcript": "x"}, "'x'")):
        with pytest.raises(ValueError, match=named):
            LoopSettings(**bad)
    with pytest.raises(ValueError, match=r"among 3 agents but the pool has 2"):
        run([Job(QUESTIONS[0])], linear(np.zeros((6, 4))))
    for candidate in (-1, 1):
        with pytest.raises(ValueError, match="population of 1"):
            run([Job(QUESTIONS[0], candidate)], EVEN)
    pool, open_ended = FakePool(), Question("talk-0", "mtbench", "test", "What is 1 + 1?", "1 + 1", 0, "judge", "")
    with pytest.raises(ValueError, match="talk-0 has no automatic checker"):
        run([Job(open_ended)], Scripted(["worker"]), pool, LoopSettings(1, "argmax"))
    assert not pool.calls, "refused before any call is paid for"
    with pytest.raises(TypeError, match="text is None"):
        Message(None, 1, 1, None, "stop")
    with pytest.raises(ValueError, match="d = 3"):
        run([Job(QUESTIONS[0])], linear(np.zeros((5, 3))))
    with pytest.raises(ValueError, match="not finite"):
        linear(np.full((5, 4), np.nan))


@pytest.mark.parametrize(
    "words",
    [["rollout", "--profile", "offline", "--list-questions"], ["questions", "--list"]],
    ids=lambda words: words[0],
)
def test_a_reader_who_had_enough_is_no_error(words):
    command = [sys.executable, "-m", "suite.commands", *words]
    environment = {**os.environ}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    child.stdout.close()  # as `| head` does, at the worst time
    assert (child.wait(60), child.stderr.read()) == (0, "")
    child.stderr.close()


def test_the_command_names_what_is_wrong(capsys):
    for words, named in (
        (["--question", "nope"], "no question 'nope'"),
        (["--question", "math-test-000", "--pool", "nope"], "no pool 'nope'"),
        (["--question", "math-test-000", "--max-turns", "0"], "max_turns is 0"),
    ):
        assert trinity(["rollout", "--profile", "smoke", *words]) == 2
        assert named in capsys.readouterr().err
    for words, named in (
        ([], "--list-questions --question"),
        (["--question", "math-test-000", "--seed", "-1"], "'-1'"),
    ):
        with pytest.raises(SystemExit):
            trinity(["rollout", *words])
        assert named in capsys.readouterr().err
