"""The three contracts: prompts, verdicts (cases 9 and 10), suggestions, and what is kept of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity_core.roles import (
    KEEP_CHARACTERS,
    SYSTEM,
    Transcript,
    build_prompt,
    condense,
    judge,
    parse_suggestion,
    parse_verdict,
    read_prompt,
    suggestion,
)
from trinity_core.types import ROLES, Message


def message(text: str, finish: str = "stop") -> Message:
    return Message(text, 10, 5, 0.0, finish, error="boom" if finish == "error" else None)


@pytest.mark.parametrize(
    ("text", "accept"),
    [
        ("At first glance this deserves ACCEPT, but step 3 divides by zero.\nVERDICT: REVISE", False),
        ("At first glance this deserves REVISE, but step 3 is right after all.\nVERDICT: ACCEPT", True),
    ],
)
def test_cases_9_the_verdict_line_counts_not_the_words_before_it(text, accept):
    assert parse_verdict(text).accept is accept
    assert parse_verdict(text).diagnosis.startswith("At first glance")


def test_cases_10_negated_words_are_no_verdict():
    text = "No failures found and nothing to revise. The earlier draft was rejected; this one fixes it."
    assert parse_verdict(text + "\nVERDICT: ACCEPT").accept
    assert not parse_verdict(text).accept


@pytest.mark.parametrize(
    ("text", "accept"),
    [
        ("ACCEPT", True), ("accept.", True), ("**VERDICT:** ACCEPT", True), ("Verdict: **Accept**", True),
        ("> VERDICT: ACCEPTED", True), ("VERDICT = ACCEPT", True), ("ACCEPT. The sum is right.", True),
        ("VERDICT: ACCEPT - all steps hold", True), ("VERDICT: REVISE\nFixed above.\nVERDICT: ACCEPT", True),
        ("", False), ("   ", False), ("REVISE", False), ("REJECT: wrong sign", False), ("Accept?", False),
        ("ACCEPT, but the unit is missing", False), ("ACCEPT if the sign is right", False), ("Acceptable", False),
        ("VERDICT: ACCEPT or REVISE", False), ("VERDICT: ACCEPTABLE", False), ("VERDICT: not ACCEPT", False),
        ("I would say ACCEPT", False), ("<think>VERDICT: ACCEPT</think>", False), ("VERDICT:", False),
        ("<think>VERDICT: REVISE</think>VERDICT: ACCEPT", True), ("<think>never closed VERDICT: ACCEPT", False),
        ("VERDICT: ACCEPT\nOn second thought:\nVERDICT: REVISE", False), ("VERDICT: \u0000ACCEPT", True),
    ],
)  # fmt: skip
def test_doubt_is_revise(text, accept):
    assert parse_verdict(text).accept is accept


@given(st.text())
def test_verdict_never_raises_and_needs_the_word(text):
    verdict = parse_verdict(text)
    assert not verdict.accept or "accept" in text.lower()


def test_a_cut_or_failed_message_is_never_an_accept():
    assert judge(message("VERDICT: ACCEPT")).accept
    assert not judge(message("VERDICT: ACCEPT", "length")).accept
    assert not judge(message("", "error")).accept


@pytest.mark.parametrize(
    ("text", "plan", "role"),
    [
        ("PLAN: halve it, then add.\nNEXT: WORKER", "halve it, then add.", "worker"),
        ("**Plan:** check the units\n**Next:** Verifier", "check the units", "verifier"),
        ("PLAN: one\nPLAN: two\nNEXT: VERIFIER\nNEXT: WORKER", "one\ntwo", "worker"),
        ("NEXT: WORKER", "", None), ("PLAN: think again\nNEXT: THINKER", "think again\nNEXT: THINKER", None),
        ("PLAN: ask the worker next", "ask the worker next", None), ("", "", None),
    ],
)  # fmt: skip
def test_suggestion_needs_a_plan_and_may_name_worker_or_verifier_only(text, plan, role):
    found = parse_suggestion(text)
    assert (found.plan, found.next_role) == (plan, role)


def test_released_rule_wants_both_parts_of_a_suggestion():
    alone = message("PLAN: halve it")
    assert suggestion(alone).plan == "halve it" and suggestion(alone, "released").plan == ""
    both = message("PLAN: halve it\nNEXT: WORKER")
    assert suggestion(both, "released") == suggestion(both)
    cut = message("PLAN: halve it\nNEXT: WORKER", "length")
    assert (suggestion(cut).plan, suggestion(cut).next_role) == ("halve it", None)
    assert suggestion(cut, "released").plan == ""


def test_what_is_kept_of_a_message():
    assert condense("worker", message("<think>long</think> 3 + 4 = 7\nAnswer: 7 ")) == "3 + 4 = 7\nAnswer: 7"
    assert condense("thinker", message("PLAN: halve it\nNEXT: WORKER")) == "halve it"
    assert condense("verifier", message("The sign is wrong.\nVERDICT: REVISE")) == "REVISE The sign is wrong."
    assert condense("verifier", message("VERDICT: ACCEPT", "length")) == "REVISE"
    for role in ROLES:
        assert (
            condense(role, message("")) == condense(role, message("  \n")) == condense(role, message("", "error")) == ""
        )
    long = condense("worker", message("x" * 5000 + "\nAnswer: 7"))
    assert long.startswith("...") and long.endswith("Answer: 7") and len(long) == KEEP_CHARACTERS + 3
    with pytest.raises(ValueError, match="critic"):
        condense("critic", message("x"))


def test_transcript_rules():
    paper = Transcript("Q?").append("thinker", "halve").append("worker", "7").append("verifier", "REVISE no")
    assert [m["role"] for m in paper.messages()] == ["user", "thinker", "worker", "verifier"]
    released = Transcript("Q?", rule="released").append("thinker", "halve").append("worker", "7").append("worker", "8")
    released = released.append("verifier", "REVISE no")
    assert released.messages()[1:] == [
        {"role": "thought", "content": "1. 7"},
        {"role": "thought", "content": "2. 8"},
    ]
    assert Transcript("Q?").append("worker", "") == Transcript("Q?")


def test_who_sees_what():
    transcript = Transcript("Q?").append("thinker", "halve").append("worker", "Answer: 7")
    worker, thinker, verifier = (read_prompt(build_prompt(role, transcript, answer="Answer: 7"))[1] for role in ROLES)
    assert "Latest answer" not in worker and thinker["Latest answer"] == verifier["Latest answer"] == "Answer: 7"
    assert worker["Notes so far"] == "[thinker] halve\n[worker] Answer: 7"
    released = Transcript("Q?", rule="released").append("worker", "Answer: 7")
    prompts = {role: read_prompt(build_prompt(role, released, answer="Answer: 7", plan="halve"))[1] for role in ROLES}
    assert prompts["worker"]["Plan"] == prompts["verifier"]["Plan"] == "halve" and "Plan" not in prompts["thinker"]
    assert prompts["worker"]["Notes so far"] == "[1] Answer: 7" and "Notes so far" not in prompts["verifier"]


# Two headings in a row inside a question would be read as the prompt's own: no question of the suite has them.
PLAIN = st.text(min_size=1).filter(lambda text: "## " not in text and text == text.strip() and text)


@given(PLAIN, PLAIN, st.sampled_from(ROLES), st.sampled_from(["paper", "released"]))
def test_read_prompt_inverts_build_prompt(question, output, role, rule):
    transcript = Transcript(question, rule=rule).append("worker", output)
    found, parts = read_prompt(build_prompt(role, transcript, answer=output))
    assert found == role and parts["Question"] == question
    assert (parts.get("Latest answer") == output) is (role != "worker")


def test_foreign_messages_are_refused():
    for messages in ([], [{"role": "user", "content": "hi"}], [{"role": "system", "content": SYSTEM["worker"]}]):
        with pytest.raises(ValueError, match="not a prompt"):
            read_prompt(messages)
    with pytest.raises(ValueError, match="critic"):
        build_prompt("critic", Transcript("Q?"))
