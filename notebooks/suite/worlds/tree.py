"""All transcripts of the simulated pool as one growing tree: what `world` walks instead of building prompts.

Simulated agents say one of a small closed set of texts a question (`pool.solutions`), so a transcript is a path of
sayings and can be a number. A node holds what the pool would read in a prompt built on that transcript, found once with
the real `build_prompt` and `read_case`:

    saying      0: the right answer, 1 and 2: wrong ones, 3 and 4: the general and the concrete plan, 5 and 6: REVISE
                without and with a diagnosis (an ACCEPT ends the rollout, so no transcript goes on after it)
    answer      the saying that is the latest answer, -1 where there is none
    rejected    a Verifier has sent that answer back; `diagnosed`: and named the fault of a wrong one
    plan        the last plan that a Worker can read: -1 none, 0 general, 1 concrete
    characters  the length of the prompt of each role, for each plan handed on beside the transcript (released rule)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suite.pools.prompts import read_case
from trinity_core.roles import Transcript, build_prompt, condense, parse_suggestion
from trinity_core.types import ROLES, Message, Question

VAGUE_PLAN, GOOD_PLAN, REVISE, DIAGNOSIS = 3, 4, 5, 6
SAYINGS = 7
NO_PLAN = -1


class TranscriptTree:
    """Nodes of the transcripts of `questions` under a transcript rule; node i < len(questions) is question i alone.

    Arrays with one row a node: `question`, `answer`, `rejected`, `diagnosed`, `plan` (nodes,), `characters`
    (nodes, 3 roles, 3 plans: none, general, concrete), `children` (nodes, SAYINGS; -1 where not met yet).
    """

    def __init__(self, questions: Sequence[Question], pool: Any, rule: str) -> None:
        self.questions, self.rule = tuple(questions), rule
        self.transcripts: list[Transcript] = []
        self._known = [pool.known(question) for question in self.questions]
        self._texts = [_texts(known) for known in self._known]
        self._rows: dict[str, np.ndarray] = {
            "question": np.empty(0, np.int32),
            "answer": np.empty(0, np.int8),
            "rejected": np.empty(0, bool),
            "diagnosed": np.empty(0, bool),
            "plan": np.empty(0, np.int8),
            "characters": np.empty((0, len(ROLES), 3), np.int32),
            "children": np.empty((0, SAYINGS), np.int32),
        }
        for place, question in enumerate(self.questions):
            self._add(place, Transcript(question.text, rule=rule), -1)

    def __len__(self) -> int:
        return len(self.transcripts)

    def __getattr__(self, name: str) -> np.ndarray:
        rows = self.__dict__.get("_rows", {})
        if name in rows:
            return rows[name][: len(self.transcripts)]
        raise AttributeError(name)

    def child(self, nodes: np.ndarray, sayings: np.ndarray) -> np.ndarray:
        """The nodes (batch,) that follow `nodes` (batch,) when `sayings` (batch,) are said; new ones are added."""
        found = self._rows["children"][nodes, sayings]
        for place in np.flatnonzero(found < 0):
            node, saying = int(nodes[place]), int(sayings[place])
            if self._rows["children"][node, saying] < 0:
                self._rows["children"][node, saying] = self._follow(node, saying)
            found[place] = self._rows["children"][node, saying]
        return found

    def grow(self, answers: int) -> None:
        """Adds every transcript of up to so many answers, right and wrong ones, to every question."""
        level = np.arange(len(self.questions))
        for _ in range(answers):
            counts = [1 + len(self._known[place].says.wrong) for place in self.question[level]]
            level = self.child(np.repeat(level, counts), np.concatenate([np.arange(count) for count in counts]))

    def _follow(self, node: int, saying: int) -> int:
        role = "worker" if saying < VAGUE_PLAN else "thinker" if saying < REVISE else "verifier"
        place = int(self._rows["question"][node])
        longer = self.transcripts[node].append(role, self._texts[place][saying])
        if longer is self.transcripts[node]:
            return node
        return self._add(place, longer, saying if role == "worker" else int(self._rows["answer"][node]))

    def _add(self, place: int, transcript: Transcript, answer: int) -> int:
        node = len(self.transcripts)
        for name, rows in self._rows.items():
            if node == len(rows):
                self._rows[name] = np.concatenate([rows, np.empty((max(64, node), *rows.shape[1:]), rows.dtype)])
        known, text = self._known[place], None if answer < 0 else self._texts[place][answer]
        case = read_case(*(message["content"] for message in build_prompt("worker", transcript, answer=text)))
        rows = self._rows
        rows["question"][node], rows["answer"][node] = place, answer
        rows["rejected"][node] = case.rejected
        rows["diagnosed"][node] = case.verdict == known.diagnosis and answer > 0
        rows["plan"][node] = NO_PLAN if case.plan is None else known.good[case.plan]
        rows["children"][node] = -1
        # Under the paper's rule plans stand in the transcript; only under the released rule is one handed on beside it.
        beside = ("", *(self._texts[place][plan] for plan in (VAGUE_PLAN, GOOD_PLAN)))
        for column, plan in enumerate(beside if self.rule == "released" else beside[:1]):
            for number, role in enumerate(ROLES):
                prompt = build_prompt(role, transcript, answer=text, plan=plan)
                rows["characters"][node, number, column] = sum(len(message["content"]) for message in prompt)
        self.transcripts.append(transcript)
        return node


def _texts(known: Any) -> list[str]:
    """What a transcript keeps of each saying, "" for wrong answers that the question does not have."""
    says = known.says
    answers = [says.right, *says.wrong]
    worker = [condense("worker", _message(text)) for text in answers] + [""] * (VAGUE_PLAN - len(answers))
    plans = [parse_suggestion(texts[0]).plan for texts in says.plans]
    verdicts = [condense("verifier", _message(text)) for text in (says.revise, says.diagnosis)]
    return [*worker, *plans, *verdicts]


def _message(text: str) -> Message:
    return Message(text, None, None, None, "stop")
