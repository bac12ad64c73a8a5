"""The simulated pool: calibrated, keyed, readable by the roles and graded by the real checkers."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import random
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from recorded_files import NO_DATA

from suite.chapters import simulated_pool as coordination
from suite.chapters.simulated_pool import model_moments, spreads
from suite.checkers.check import check_answer, extract_code
from suite.pools import load_pool
from suite.pools.calibration import assumed_score, cell, logit, sigmoid, solve_abilities, subject_of, table
from suite.pools.config import read_config
from suite.pools.prompts import kept, read_case, said
from suite.pools.simulated import SimulatedPool
from suite.pools.solutions import number_slips, sayings, slip
from suite.questions import FAMILIES, load_questions
from suite.questions.heldout import load_heldout
from suite.recordings.readers import read_table
from trinity_core.paths import NOTEBOOKS
from trinity_core.pool import PoolError
from trinity_core.roles import ROLES, Transcript, build_prompt, condense, judge, parse_suggestion, suggestion

QUESTIONS = load_questions()
TEST = [question for question in QUESTIONS if question.split == "test"]
BY_ID = {question.id: question for question in QUESTIONS}
SEED = 0  # fixed before the first run
REPLICATES = 8
SURE = {
    f"accept_{answer}_{who}": float(answer == "right") for answer in ("right", "wrong") for who in ("weak", "strong")
}
FEW = [question for family in FAMILIES for question in load_questions(family, "test", 3)]


def config():
    mapping = read_config("paper7")
    assert mapping.pop("kind") == "simulated"
    return mapping


def changed(**assumptions):
    mapping = config()
    for name, value in assumptions.items():
        mapping["assumptions"][name]["value"] = value
    return mapping


@pytest.fixture(scope="module")
def pool():
    return load_pool("paper7", questions=QUESTIONS, seed=SEED)


@cache
def right_code(identifier, source):
    """Runs the suite's own code here: as the sandbox compares, by value, on copied arguments."""
    meta, space = BY_ID[identifier].meta, {}
    try:
        exec(source, space)
        results = [space[meta["entry_point"]](*copy.deepcopy(test["args"])) for test in meta["tests"]]
    except Exception:
        return False
    return json.dumps(results) == json.dumps([test["expected"] for test in meta["tests"]])


@cache
def right(identifier, text):
    question = BY_ID[identifier]
    if question.kind == "code":
        return right_code(identifier, extract_code(text, question.meta["entry_point"]))
    return check_answer(question.kind, question.reference, text, question=question).correct


def work(question, *entries, rule="paper", plan=""):
    transcript = Transcript(question.text, rule=rule)
    for role, text in entries:
        transcript = transcript.append(role, text)
    return build_prompt("worker", transcript, plan=plan)


def verify(question, answer, rule="paper"):
    transcript = Transcript(question.text, rule=rule).append("worker", kept(answer))
    return build_prompt("verifier", transcript, answer=kept(answer))


# --- the texts


@pytest.mark.parametrize("family", [*FAMILIES, "aime", "gpqa"])
def test_real_checkers_tell_the_right_text_from_every_wrong_one(family):
    questions = load_questions(family) if family in FAMILIES else load_heldout(family)
    for question in questions:
        BY_ID.setdefault(question.id, question)
        says = sayings(question)
        assert right(question.id, kept(says.right)), (question.id, says.right)
        assert not right(question.id, kept(says.wrong)), (question.id, question.reference, says.wrong)
        if question.kind not in ("code", "math"):
            found = check_answer(question.kind, question.reference, says.wrong, question=question)
            assert found.answer is not None, (question.id, says.wrong)


def test_code_texts_pass_and_fail_in_the_real_sandbox_too():
    human_eval = load_heldout("bigcode")
    for question in [*load_questions("code", "test", 30)[::10], human_eval[0], human_eval[90]]:
        says = sayings(question)
        outcomes = [
            check_answer("code", question.reference, text, question=question).correct
            for text in (says.right, says.wrong)
        ]
        assert outcomes == [True, False], question.id


def test_every_text_keeps_its_role_s_contract_is_short_and_tells_neither_agent_nor_rightness():
    for question in QUESTIONS[::7]:
        says = sayings(question)
        answers, verdicts = (says.right, says.wrong), (says.revise, says.diagnosis)
        assert len({text.partition("\n")[0] for text in answers}) == 1  # right and wrong begin alike
        for texts in says.plans:
            for role, text in zip((None, "worker", "verifier"), texts, strict=True):
                found = suggestion(said(text), "released")  # counts only with both of its parts
                assert bool(found.plan) == (role is not None) and found.next_role == role
        assert judge(said(says.accept)).accept
        assert all(not judge(said(text)).accept and judge(said(text)).diagnosis for text in verdicts)
        lines = [says.plans[0][1], says.plans[1][1], *verdicts]
        assert len(set(lines)) == 4 and max(len(line.split()) for line in (*lines, says.accept)) <= 20
        assert question.kind == "code" or max(len(text.split()) for text in answers) <= 16


def test_slips_are_those_a_person_makes():
    assert number_slips("52%") == ["48%", "53%", "47%", "62%"]
    assert number_slips("3/10") == ["10/3", "4/10", "3/11", "7/10"]
    assert number_slips("00:45") == ["23:45", "01:45", "00:55", "00:35"]
    assert "307.5" not in number_slips("307.5") and all(s.endswith(".5") for s in number_slips("307.5"))
    assert number_slips("1") == ["2", "0", "11", "3"] and "8" in number_slips("-8")
    assert number_slips("x^2") == []
    question = next(question for question in QUESTIONS if question.kind == "choice")
    assert slip(question) in set("ABCD") - {question.reference}


def test_questions_that_cannot_be_played_are_refused_by_name():
    judged = load_heldout("mtbench")[0]
    twice = [QUESTIONS[0], QUESTIONS[0]]
    for asked, error in (([judged], rf"{judged.id}.*judge.*leave it out"), ([], "no questions"), (twice, "twice")):
        with pytest.raises(PoolError, match=error):
            SimulatedPool(config(), asked)


# --- calibration


def test_mean_chances_are_the_published_scores(pool):
    for family in FAMILIES:
        for split in ("train", "test"):
            rows = [n for n, q in enumerate(pool.questions) if (q.family, q.split) == (family, split)]
            wanted = [pool.targets[agent.name, family].value for agent in pool.agents]
            assert np.allclose(pool.chances[:, rows].mean(axis=1), wanted, atol=1e-10)
    assert pool.targets["GPT-5", "math"].value == cell("fig3_in_distribution", "GPT-5 (4K)", "math500") == 0.91
    assert pool.targets["Gemini-2.5-pro", "aime"].value == pytest.approx(0.4667)


def test_held_out_families_meet_table_1():
    questions = [*load_heldout("aime"), *load_heldout("gpqa"), *load_heldout("bigcode")]
    held_out = SimulatedPool(config(), questions, SEED)
    for family, column in (("aime", "aime2025"), ("gpqa", "gpqa_d"), ("bigcode", "bigcodebench")):
        rows = [n for n, q in enumerate(held_out.questions) if q.family == family]
        for number, agent in enumerate(held_out.agents):
            score = cell("table1_zero_shot", agent.name, column, 100)
            assert held_out.chances[number, rows].mean() == pytest.approx(score, abs=1e-10)
            assert not held_out.targets[agent.name, family].assumed


def test_assumed_scores_are_marked_and_follow_the_rule(pool):
    assumed = {agent for (agent, family), target in pool.targets.items() if target.assumed}
    assert assumed == {a.name for a in pool.agents[3:]}
    assert all(t.source for t in pool.targets.values())
    assert assumed_score(0.4, [0.4, 0.4], [0.7, 0.7]) == pytest.approx(0.7)  # as good on the kin: as good here
    assert logit(assumed_score(0.3, [0.5], [0.9])) == pytest.approx(logit(0.9) + logit(0.3))


def test_abilities_are_the_root():
    rng = np.random.default_rng(1)
    difficulty, private, wanted = rng.normal(size=30) * 4, rng.normal(size=(3, 30)) * 3, np.array([0.02, 0.5, 0.99])
    theta = solve_abilities(wanted, difficulty, private)
    assert np.allclose(sigmoid(theta[:, None] - difficulty + private).mean(axis=1), wanted, atol=1e-12)


def test_accuracy_of_real_replies_lies_within_the_binomial_interval(pool):
    """7 agents x 480 questions x 8 replicates, graded by the checkers; seed 0 was fixed beforehand.

    The 99 % interval is the binomial's around the target; since abilities are solved, the true spread is the smaller
    sum of p(1 - p), so a miss would mean a fault rather than bad luck. 28 intervals.
    """
    prompts = {question.id: work(question) for question in TEST}
    for number, agent in enumerate(pool.agents):
        for family in FAMILIES:
            questions = [question for question in TEST if question.family == family]
            marks = [
                right(question.id, kept(pool.reply(number, prompts[question.id], replicate).text))
                for question in questions
                for replicate in range(REPLICATES)
            ]
            target = pool.targets[agent.name, family].value
            width = NormalDist().inv_cdf(0.995) * math.sqrt(target * (1 - target) / len(marks))
            assert abs(np.mean(marks) - target) < width, (agent.name, family, np.mean(marks), target)


def test_agents_complement_each_other(pool):
    for family in FAMILIES:
        rows = [n for n, q in enumerate(pool.questions) if (q.family, q.split) == (family, "test")]
        chances = pool.chances[:, rows]
        assert chances.max(axis=0).mean() > chances.mean(axis=1).max() + 0.02
        assert len(set(chances.argmax(axis=0).tolist())) >= 4
    # Without terms of its own the best is the best everywhere.
    alike = SimulatedPool(changed(private_sd=0.0, subject_sd=0.0), TEST, SEED)
    assert np.ptp(alike.chances.argmax(axis=0)[:120]) == 0


# --- behaviour


def test_replies_do_not_depend_on_order_threads_batch_or_the_questions_around(pool):
    calls = [(a, work(q), r) for q in TEST[::40] for a in range(7) for r in (1, 102)]
    expected = [pool.reply(*call) for call in calls]
    fresh = load_pool("paper7", questions=QUESTIONS[::-1], seed=SEED)
    order = list(range(len(calls)))
    random.Random(3).shuffle(order)
    with ThreadPoolExecutor(4) as workers:
        got = dict(zip(order, workers.map(lambda n: fresh.reply(*calls[n]), order), strict=True))
    assert [got[n] for n in range(len(calls))] == expected

    async def ask_all():
        return await asyncio.gather(*(pool.ask(*call) for call in calls))

    assert asyncio.run(ask_all()) == expected
    a, messages, r = calls[0]
    assert pool.reply(a, messages, np.int64(r)) == pool.reply(a, messages, r)
    even = min(TEST, key=lambda question: abs(pool.probability(a, question) - 0.5))
    assert len({pool.reply(a, work(even), r).text for r in range(40)}) == 2
    other = load_pool("paper7", questions=QUESTIONS, seed=1)
    assert [other.reply(*call) for call in calls] != expected


PROGRAM = """
from suite.pools import load_pool
from suite.questions import load_questions
from trinity_core.roles import Transcript, build_prompt
qs = load_questions(per_family=3)
pool = load_pool("paper7", questions=qs)
print([pool.reply(a, build_prompt("worker", Transcript(q.text)), 5) for q in qs for a in range(7)])
"""


def test_replies_do_not_depend_on_the_hash_seed(capsys):
    exec(PROGRAM, {})
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == capsys.readouterr().out != ""


def replies(pool, messages_of, questions=TEST[::8]):
    """(question, what is said) of all agents, three times each."""
    prompts = [(question, messages_of(question)) for question in questions]
    return [(q, pool.reply(a, messages, r).text) for q, messages in prompts for a in range(7) for r in range(3)]


def test_a_plan_turns_wrong_into_right_and_never_right_into_wrong(pool):
    plain = replies(pool, work)
    for good in (0, 1):
        planned = replies(
            pool, lambda q, good=good: work(q, ("thinker", parse_suggestion(sayings(q).plans[good][0]).plan))
        )
        before = np.array([text == pool.known(q).says.right for q, text in plain])
        after = np.array([text == pool.known(q).says.right for q, text in planned])
        assert (after >= before).all()
        if good:
            assert after.sum() > before.sum()


def test_the_good_plan_helps_more_and_without_gain_a_plan_does_nothing(pool):
    question = TEST[300]
    chances = [pool.probability(0, question, plan=plan) for plan in (None, "vague", "good")]
    assert chances == sorted(chances) and chances[2] - chances[1] > chances[1] - chances[0] > 0
    assert logit(chances[2]) - logit(chances[0]) == pytest.approx(pool.assumptions.plan_gain_good)
    idle = SimulatedPool(changed(plan_gain_good=0.0, plan_gain_vague=0.0, diagnosis_gain=0.0), TEST, SEED)
    plans = {q.id: ("thinker", parse_suggestion(sayings(q).plans[1][0]).plan) for q in TEST[::8]}
    assert replies(idle, work) == replies(idle, lambda q: work(q, plans[q.id]))
    assert idle.probability(0, question) == idle.probability(0, question, plan="good", diagnosed=True)


def test_a_diagnosis_helps_only_where_the_answer_was_wrong():
    strong = SimulatedPool(changed(diagnosis_gain=30.0), TEST, SEED)
    for question in TEST[::20]:
        says = sayings(question)
        fault, blunt = kept(says.diagnosis, "verifier"), kept(says.revise, "verifier")
        told = [work(question, ("worker", kept(says.wrong)), ("verifier", text)) for text in (fault, blunt)]
        false = work(question, ("worker", kept(says.right)), ("verifier", fault))
        texts = [[strong.reply(a, prompt, 7).text for a in range(7)] for prompt in (*told, false, work(question))]
        assert texts[0] == [says.right] * 7
        assert texts[1] == texts[2] == texts[3]  # a REVISE makes the Worker start afresh, no more


def test_a_worker_keeps_an_answer_at_the_stated_rate_unless_it_was_rejected():
    stubborn, free = (SimulatedPool(changed(keep=value), TEST, SEED) for value in (1.0, 0.0))
    question = TEST[300]
    shown = ("worker", kept(sayings(question).wrong))
    revised = work(question, shown, ("verifier", "REVISE do it again"))
    for a in range(7):
        assert stubborn.reply(a, work(question, shown), 1).text == sayings(question).wrong
        assert free.reply(a, work(question, shown), 1).text == free.reply(a, work(question), 1).text
        assert stubborn.reply(a, revised, 1).text == stubborn.reply(a, work(question), 1).text


@pytest.mark.parametrize("is_right", [True, False])
def test_verifiers_accept_at_their_rates(pool, is_right):
    questions = TEST[::4]
    for agent in (0, 4):
        accepted, chances = [], []
        for question in questions:
            says = sayings(question)
            prompt = verify(question, says.right if is_right else says.wrong)
            chances += [pool.accept_probability(agent, question, is_right)] * 10
            accepted += [judge(pool.reply(agent, prompt, r)).accept for r in range(10)]
        sd = math.sqrt(sum(p * (1 - p) for p in chances)) / len(chances)
        assert abs(np.mean(accepted) - np.mean(chances)) < 2.6 * sd
    a = pool.assumptions
    low, high = sorted((a.accept(is_right, 0.0), a.accept(is_right, 1.0)))
    assert all(low <= p <= high for p in chances)


def test_a_stronger_thinker_says_the_good_plan_more_often(pool):
    questions = [q for q in TEST if q.family == "knowledge"]
    prompts = {q.id: build_prompt("thinker", Transcript(q.text)) for q in questions}
    shares = []
    for agent in (0, 4):
        said = [pool.reply(agent, prompts[q.id], r).text == sayings(q).plans[1][1] for q in questions for r in range(4)]
        wanted = np.mean([pool.plan_probability(agent, q) for q in questions])
        assert abs(np.mean(said) - wanted) < 2.6 * math.sqrt(wanted * (1 - wanted) / len(said))
        shares.append(np.mean(said))
    assert shares[0] > shares[1] + 0.1


def test_a_thinker_sends_what_it_would_accept_to_the_verifier(pool):
    sure = SimulatedPool(changed(**SURE), FEW, SEED)
    question = TEST[0]
    says = sayings(question)
    for answer, rejected, role in ((says.right, False, "verifier"), (says.wrong, False, "worker"),
                                   (says.right, True, "worker")):  # fmt: skip
        transcript = Transcript(question.text).append("worker", kept(answer))
        if rejected:
            transcript = transcript.append("verifier", "REVISE again")
        prompt = build_prompt("thinker", transcript, answer=kept(answer))
        assert suggestion(sure.reply(0, prompt, 1)).next_role == role
        silent = SimulatedPool(changed(**SURE, names_role=0.0), FEW, SEED)
        assert suggestion(silent.reply(0, prompt, 1)).next_role is None


def test_what_sets_agents_apart_by_subject_is_shared_by_its_questions_and_as_wide_as_stated():
    """Over 14 subjects and 7 agents accuracies differ as on MMLU-Pro: 0.25 on the logit scale."""
    pool = SimulatedPool(changed(), QUESTIONS, SEED)
    for agent in range(7):
        by_subject = {}
        for question, term in zip(pool.questions, pool.terms.subject[agent], strict=True):
            assert by_subject.setdefault((question.family, subject_of(question)), term) == term
    a, draws = pool.assumptions, np.random.default_rng(0)
    noise = np.hypot(a.difficulty_sd, a.private_sd) * draws.standard_normal(20_000)
    shifts = a.subject_sd * np.linspace(-2, 2, 9)
    spread = np.polyfit(shifts / a.subject_sd, [logit(np.mean(sigmoid(0.8 + shift + noise))) for shift in shifts], 1)[0]
    assert spread == pytest.approx(0.25, abs=0.02)


def test_released_rule_shows_the_plan_to_the_next_call_and_the_verdict_to_nobody(pool):
    question = TEST[300]
    plan = parse_suggestion(sayings(question).plans[1][0]).plan
    seen = work(question, ("worker", kept(sayings(question).wrong)), rule="released", plan=plan)
    case = read_case(*(message["content"] for message in seen))
    assert (case.plan, case.answer, case.verdict) == (plan, kept(sayings(question).wrong), None)
    forgotten = read_case(*(message["content"] for message in work(question, ("thinker", plan), rule="released")))
    assert forgotten.plan is None
    always = SimulatedPool(changed(plan_gain_good=50.0, keep=0.0), TEST, SEED)
    assert always.reply(4, seen, 1).text == sayings(question).right
    for role in ROLES:
        assert pool.reply(0, build_prompt(role, Transcript(question.text), answer="Answer: 1"), 1).finish == "stop"


def test_foreign_answers_are_judged_by_the_real_checker(pool):
    sure = SimulatedPool(changed(**SURE), FEW, SEED)
    question = TEST[0]
    for text, accepted in ((f"I get \\boxed{{{question.reference}}}", True), ("Surely \\boxed{123456}", False)):
        assert judge(sure.reply(0, verify(question, text), 1)).accept == accepted


def test_unknown_questions_and_prompts_give_error_messages_that_name_the_remedy(pool):
    unknown = pool.reply(0, build_prompt("worker", Transcript("How many moons has Mars?")), 1)
    assert (unknown.finish, unknown.text, unknown.tokens_out, unknown.cost) == ("error", "", None, None)
    assert "UnknownQuestion" in unknown.error and "questions=" in unknown.error and "Mars" in unknown.error
    for messages in ([], [{"role": "user", "content": "hello"}], [{"role": "user"}]):
        assert "build_prompt" in pool.reply(0, messages, 1).error
    with pytest.raises(PoolError, match="no agent 7"):
        pool.reply(7, work(TEST[0]), 1)
    with pytest.raises(PoolError, match="nowhere"):
        pool.probability(0, "nowhere")
    with pytest.raises(KeyError, match="'great'"):
        pool.probability(0, TEST[0], plan="great")


def test_tokens_and_costs(pool):
    question = TEST[0]
    published = table("tables9_12_output_tokens").loc["default_4096"].set_index("method").at["GPT-5", "math500"]
    assert pool.mean_tokens(0, "math") == published
    messages = [pool.reply(0, work(question), r) for r in range(400)]
    tokens = [message.tokens_out for message in messages]
    assert min(tokens) >= published / 2 - 1 and max(tokens) <= published * 1.5 + 1
    assert abs(np.mean(tokens) - published) < 10
    assert messages[0].tokens_in == math.ceil(sum(len(m["content"]) for m in work(question)) / 4)
    price = pool.agents[0].price
    assert messages[0].cost == messages[0].tokens_in * price[0] + messages[0].tokens_out * price[1]


# --- the file


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda c: c["assumptions"].pop("keep"), "assumptions lacks the key 'keep'"),
        (
            lambda c: c["assumptions"].update(luck={"value": 1, "reason": "x"}),
            "assumptions: unknown key 'luck'; known: difficulty_sd",
        ),
        (lambda c: c["assumptions"]["keep"].update(value=1.5), "assumptions.keep is .*1.5.*: it should be less"),
        (lambda c: c["assumptions"]["keep"].update(value=-0.1), "assumptions.keep is .*-0.1.*: it should be greater"),
        (lambda c: c["scores"]["math"].update(table="fig99"), "no published table 'fig99'"),
        (lambda c: c["scores"]["math"].update(column="art"), "no row or column 'art'"),
        (lambda c: c["agents"][0]["rows"].update(fig3_in_distribution="GPT-6"), "no row or column 'GPT-6'"),
        (lambda c: c["agents"][3].update(assumed=False), "DeepSeek.* has no score on math.*or say `assumed: true`"),
        (lambda c: c["agents"][3].update(assumed="yes"), r"agents\[3\].assumed is 'yes': it should be a valid boolean"),
        (lambda c: c["agents"][3].update(rows=["x"]), r"agents\[3\].rows is \['x'\]: it should be a valid dict"),
        (lambda c: c["agents"][3].update(rows={}), "table1_zero_shot has no row or column None"),
        (lambda c: c["agents"][3].update(name="Unheard-of"), "'Unheard-of': no row"),
        (lambda c: c["scores"]["math"].pop("kin"), "`kin`"),
        (lambda c: c["scores"].pop("code"), "family 'code'"),
        (lambda c: c["scores"]["math"].update(full="1"), "scores.math.full is '1': it should be a valid number"),
        (lambda c: c["tokens"].update(math="gsm8k"), "'gsm8k'"),
        (lambda c: c["tokens"].pop("math"), "'math': no row or column of tables9_12.*or no family under `tokens`"),
        (lambda c: c.update(colour="blue"), "the file: unknown key 'colour'"),
    ],
)  # fmt: skip
def test_bad_files_are_named(change, match):
    mapping = config()
    change(mapping)
    with pytest.raises(ValueError, match=match):
        SimulatedPool(mapping, FEW)


# --- exact outcomes, and where the spreads come from


def play(pool, question, schedule, replicate):
    """One rollout of a schedule through real prompts and replies: whether the final answer is right."""
    transcript, answer = Transcript(question.text), None
    for turn, (agent, role) in enumerate(schedule, 1):
        message = pool.reply(agent, build_prompt(role, transcript, answer=answer), replicate * 100 + turn)
        output = condense(role, message)
        transcript = transcript.append(role, output)
        if role == "worker":
            answer = output
        elif role == "verifier" and judge(message).accept:
            break
    return answer == kept(pool.known(question).says.right)


@pytest.mark.parametrize("roles", ["wvwvw", "twvwv", "www"])
def test_exact_outcomes_agree_with_played_rollouts(pool, roles):
    names = {"w": "worker", "t": "thinker", "v": "verifier"}
    schedule = [(turn % 2, names[letter]) for turn, letter in enumerate(roles)]
    exact = coordination.run_schedule(coordination.world_of(pool), schedule).right
    chosen = list(range(0, 480, 6))
    played = [play(pool, TEST[n], schedule, r) for n in chosen for r in range(12)]
    chances = np.repeat(exact[chosen], 12)
    sd = math.sqrt((chances * (1 - chances)).sum()) / len(chances)
    assert abs(np.mean(played) - chances.mean()) < 3 * sd


def test_exact_outcomes_in_closed_form(pool):
    world = coordination.world_of(pool)
    p = sigmoid(world.logits[2])
    one = coordination.run_schedule(world, [(2, "worker")])
    assert np.allclose(one.right, p) and (one.calls == 1).all()
    accept = world.assumptions.accept(True, p)
    checked = coordination.run_schedule(world, [(2, "worker"), (2, "verifier")])
    assert np.allclose(checked.right, p) and (checked.calls == 2).all()  # refused at the last turn: the answer stands
    assert (accept > 0.7).all()
    nothing = coordination.run_schedule(world, [(0, "verifier"), (0, "worker")])
    assert (nothing.right == 0).all() and (nothing.calls == 0).all()
    with pytest.raises(ValueError, match="Thinker"):
        coordination.run_schedule(world, [(0, "worker"), (0, "thinker")])
    again = coordination.world_of(pool)
    assert np.allclose(again.logits, world.logits, atol=1e-9)
    mixed = coordination.run_schedule(world, [(None, "worker")]).right
    assert np.allclose(mixed, sigmoid(world.logits).mean(axis=0))


def test_a_coin_for_a_verifier_gains_nothing_beyond_its_diagnoses(pool):
    world = coordination.world_of(pool)
    coin = coordination.verdict_quality(0.0) | {"diagnosis_gain": 0.0}
    idle = coordination.world_of(pool, **coin)
    best = coordination.best_single(world)
    schedule = [(best, "worker"), (best, "verifier"), (best, "worker"), (best, "verifier"), (best, "worker")]
    assert coordination.gain(idle, schedule) == pytest.approx(0.0, abs=1e-9)
    perfect = coordination.world_of(pool, **coordination.verdict_quality(1.0))
    assert coordination.gain(perfect, schedule) > 5
    reversed_verdicts = coordination.world_of(pool, **coordination.verdict_quality(-1.0))
    assert coordination.gain(reversed_verdicts, schedule) < -5
    with pytest.raises(ValueError, match="between -1 and 1"):
        coordination.verdict_quality(1.2)
    with pytest.raises(ValueError, match="unknown setting 'keep'"):
        coordination.sweep(pool, "choice by family", "keep", [0.1], "quality", [0.5])


def test_spreads_are_recovered_from_a_made_record():
    rng = np.random.default_rng(5)
    theta = np.array([-1.0, 0.0, 1.0, 2.0])
    chances = sigmoid(theta - 2.5 * rng.normal(size=(3000, 1)) + 1.5 * rng.normal(size=(3000, 4)))
    found = spreads(rng.binomial(10, chances) / 10, 10)
    assert found == pytest.approx((2.5, 1.5), abs=0.15)
    variance, covariance = model_moments(np.array([0.5, 0.5]), 2.0, 0.0)
    assert variance == pytest.approx(covariance)  # no private term: the agents are one
    with pytest.raises(ValueError, match="at least 2"):
        spreads(np.ones((5, 2)), 1)


@pytest.mark.skipif(not os.environ.get("TRINITY_DATA"), reason=NO_DATA)
def test_the_assumed_spreads_are_those_of_the_public_record():
    assert spreads(read_table(f"{os.environ['TRINITY_DATA']}/routerdc/gsm8k-test.json").scores, 10) == pytest.approx(
        (3.1, 2.1), abs=0.05
    )


@pytest.mark.skipif(not os.environ.get("TRINITY_DATA"), reason=NO_DATA)
def test_the_assumed_subject_term_is_that_of_the_public_record():
    """MMLU-Pro: how model and subject interact on the logit scale of accuracies, beyond sampling noise."""
    right = {}
    for path in Path(os.environ["TRINITY_DATA"], "mmlu_pro").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            rows = [row for row in json.loads(archive.read(archive.namelist()[0])) if isinstance(row, dict)]
        first = {r["question_id"]: (r["category"], r.get("pred") == r["answer"]) for r in reversed(rows)}
        right[path.stem.split("_")[2]] = pd.DataFrame.from_dict(first, orient="index", columns=["subject", "right"])

    def interaction(*models):
        kept = sorted(set.intersection(*(set(right[model].index) for model in models)))
        tables = [right[model].loc[kept].groupby("subject")["right"].agg(["mean", "size"]) for model in models]
        p, n = (np.array([table[column] for table in tables], float) for column in ("mean", "size"))
        logits = np.log(p / (1 - p))
        rest = logits - logits.mean(axis=0) - logits.mean(axis=1, keepdims=True) + logits.mean()
        free = (p.shape[0] - 1) * (p.shape[1] - 1)
        return ((rest**2).sum() / free - (1 / (n * p * (1 - p))).mean()) ** 0.5

    seven = [model for model in right if "8B" not in model]
    assert len(seven) == 7 and interaction(*seven) == pytest.approx(0.25, abs=0.01)
    strong = [model for model in seven if model.startswith(("gemini", "DeepSeek", "Meta"))]
    assert interaction(*strong) == pytest.approx(0.18, abs=0.01)


def test_notebook_04_lists_every_assumption_of_the_pools_file():
    cells = json.loads((NOTEBOOKS / "04_simulated_pool.ipynb").read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if '"assumptions"' in "".join(cell["source"])]
    listed = "".join(cell["outputs"][0]["data"]["text/plain"]).splitlines()
    listed = [line.split()[0] for line in listed[listed.index("") + 1 :]][2:]
    assert listed == list(read_config("paper7")["assumptions"])
