"""What notebook 03 shows of a conversation: the transcripts that were read, the cards of turns, the pictures."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

from suite.chapters.one_conversation import transcripts_read, turn_cards
from suite.chapters.one_conversation_figures import card_lines, timeline_figure
from suite.checkers import is_right
from suite.results.rollout_view import show_rollout
from trinity_core.pool import Agent
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import ROLES, Message, Question

matplotlib.use("Agg")

QUESTION = Question("math-test-000", "math", "test", "What is 3 + 3?", "3 + 3", 0, "math", "6")
STORY = [
    ("thinker", "PLAN: add <them>\nNEXT: WORKER"),
    ("worker", "Answer: 5"),
    ("verifier", "One too few.\nVERDICT: REVISE"),
    ("worker", "Add.\nAnswer: 6"),
    ("verifier", "VERDICT: ACCEPT"),
]


class Script:
    """A head, an encoder and a pool in one: turn k has the story's role, and the only agent says its line."""

    agents, n_agents, d = (Agent("a <b>", "fake"),), 1, 2

    def __init__(self, story):
        self.story, self.read = story, []

    def encode(self, texts, *, reuse_prefix=False):
        self.read += texts
        return np.zeros((len(texts), self.d), np.float32)

    def logits(self, candidates, states):
        z = np.zeros((len(candidates), 1 + len(ROLES)))
        z[:, 1 + ROLES.index(self.story[len(self.read) - 1][0])] = 3.0
        return z

    def reply(self, agent, messages, replicate):
        said = self.story[replicate % 100 - 1][1]
        return said if isinstance(said, Message) else Message(said, 9, 9, 0.0, "stop")


def play(story=STORY, rule="paper"):
    script = Script(story)
    (rollout,) = run_rollouts(
        [Job(QUESTION)], script, script, script, LoopSettings(len(story), mode="argmax", transcript=rule),
        check=is_right,
    )
    return rollout, script


@pytest.mark.parametrize("rule", ["paper", "released"])
def test_transcripts_are_those_that_the_encoder_read(rule):
    rollout, script = play(rule=rule)
    assert [transcript.messages() for transcript in transcripts_read(rollout, rule)] == script.read
    assert len(script.read) == 5


def test_cards_hold_what_went_in_and_came_out():
    rollout, script = play()
    cards = turn_cards(rollout, script, np.array([[0.01, 0.5, 3.0, -1.25]] * 5))
    text, page = str(cards[2]), cards[2]._repr_html_()
    assert "turn 3: a <b> as Verifier (agent and role drawn by the head)" in text
    assert "    worker: Answer: 5" in text and "## Latest answer" in text and "REVISE One too few." in text
    assert "+3.0" in text and "-1.2" in text and "0.0  1.00 * a <b>" in text, "logits; a rounded zero has no sign"
    assert "a &lt;b&gt;" in page and "a <b>" not in page and "add &lt;them&gt;" in page
    assert "named by the Thinker" in str(cards[1])
    unasked, script = play([("verifier", "")])
    assert "there is no answer to verify yet" in str(turn_cards(unasked, script, np.zeros((1, 4)))[0])


def test_pictures_are_drawn_for_every_kind_of_ending():
    cut = Message("Answer: 6", 9, 96, 0.0, "length")
    failed = Message("", None, None, None, "error", error="Timeout: no reply")
    stories = {
        "accepted": (STORY, "reward 1"),
        "verifier before answer": ([("verifier", "")], "reward 0"),
        "turn limit": ([("worker", cut), ("worker", "")], "reward 0"),
        "failed call": ([("worker", failed)], "no reward"),
    }
    for stop, (story, reward) in stories.items():
        rollout, script = play(story)
        fig = timeline_figure(rollout, [a.name for a in script.agents], 5, {2: False}, "title")
        words = [text.get_text() for text in fig.axes[0].texts]
        assert f"{stop}:" in words and reward in words
        assert words.count(script.agents[0].name) == len(rollout.turns)
        plt.close(fig)


def test_card_lines_are_wrapped_and_cut():
    assert card_lines("one\n\ntwo", 10, 3) == ["one", "two"]
    assert card_lines("aa bb cc dd ee ff", 5, 2) == ["aa bb", "cc …"]


def test_view_shows_the_answer_in_one_line():
    assert "\nanswer: 6\n" in str(show_rollout(*play()))
    long = [("worker", "It is six, " * 30)]
    assert str(show_rollout(*play(long))).splitlines()[-2].endswith(" ...")
    cut = str(show_rollout(*play([*STORY[1:2], ("verifier", Message("VERDICT: ACCEPT", 9, 9, 0.0, "length"))])))
    assert "[cut at the output cap: no ACCEPT]" in cut and "[verdict: REVISE]" in cut
