"""All transcripts of some questions as one growing tree: what compiled worlds walk instead of building prompts.

Agents that say one of a few texts a question make transcripts that are paths of sayings, and so can be numbers. A node
of `SimulatedTree` holds what the simulated pool would read in a prompt, found once with the real `build_prompt`:

    saying      0: the right answer, 1: the wrong one, 2 and 3: the general and the concrete plan, 4 and 5: REVISE
                without and with a diagnosis (an ACCEPT ends the rollout)
    rejected    a Verifier has sent the latest answer back; `diagnosed`: and named the fault of a wrong one
    plan        the last plan that a Worker can read: -1 none, 0 general, 1 concrete
    characters  the length of the prompt of each role, for each plan handed on beside the transcript (released rule)
    read        the node whose text the coordinator reads here. Under the released rule it reads the last `READ` answers
                alone: so few texts can be kept in a bank, and hardly a turn has a fourth (notebook 13)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suite.pools.prompts import read_case
from trinity_core.roles import Transcript, build_prompt, condense, parse_suggestion
from trinity_core.types import ROLES, Message, Question

VAGUE_PLAN, GOOD_PLAN, REVISE, DIAGNOSIS = 2, 3, 4, 5
SAYINGS = 6
NONE = -1  # no answer, no plan, not met yet
READ = 3  # answers that a simulated world's coordinator reads at most


class Tree:
    """Nodes of the transcripts of `questions` under a transcript rule; node i < len(questions) is question i alone.

    `rows`: a record a node with `question`, `answer` (a saying, -1: none), `children` (by saying, -1: not met yet) and
    what a subclass adds by `more`; it may be longer than the tree. A subclass says what follows (`_follow`) and what
    can be said (`_sayings`).
    """

    def __init__(self, questions: Sequence[Question], rule: str, sayings: int, *more: tuple) -> None:
        self.questions, self.rule = tuple(questions), rule
        self.transcripts: list[Transcript] = []
        fields = [("question", np.int32), ("answer", np.int32), ("children", np.int32, (sayings,)), *more]
        self.rows = np.empty(0, fields)
        for place, question in enumerate(self.questions):
            self._add(place, Transcript(question.text, rule=rule), NONE)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.transcripts)

    @property
    def answer(self) -> np.ndarray:
        """(nodes,): the saying that is the latest answer, -1 for none."""
        return self.rows["answer"][: len(self)]

    def child(self, nodes: np.ndarray, sayings: np.ndarray) -> np.ndarray:
        """The nodes (batch,) that follow `nodes` (batch,) when `sayings` (batch,) are said; new ones are added."""
        unmet = self.rows["children"][nodes, sayings] < 0
        for node, saying in dict.fromkeys(zip(nodes[unmet].tolist(), sayings[unmet].tolist(), strict=True)):
            follower = self._follow(node, saying)  # may put longer `rows` in place
            self.rows["children"][node, saying] = follower
        return self.rows["children"][nodes, sayings]

    def grow(self, entries: int) -> np.ndarray:
        """The nodes of every transcript of up to so many entries to every question; new ones are added."""
        nodes = level = np.arange(len(self.questions))
        for _ in range(entries):
            said = [self._sayings(node) for node in level.tolist()]
            parents = np.repeat(level, [len(one) for one in said])
            children = self.child(parents, np.array([saying for one in said for saying in one]))
            level = np.array(list(dict.fromkeys(children[children != parents].tolist())), int)
            nodes = np.concatenate([nodes, level])
        return nodes

    def _sayings(self, node: int) -> range:
        raise NotImplementedError

    def _follow(self, node: int, saying: int) -> int:
        raise NotImplementedError

    def _add(self, place: int, transcript: Transcript, answer: int) -> int:
        node = len(self.transcripts)
        if node == len(self.rows):
            self.rows = np.concatenate([self.rows, np.empty(max(64, node), self.rows.dtype)])
        row = self.rows[node]
        row["question"], row["answer"], row["children"] = place, answer, NONE
        self.transcripts.append(transcript)
        return node


class SimulatedTree(Tree):
    """The transcripts of the simulated pool; see the module. `_sayings` are answers alone."""

    def __init__(self, questions: Sequence[Question], pool: Any, rule: str) -> None:
        self._known = [pool.known(question) for question in questions]
        self._texts = [_texts(known) for known in self._known]
        flags = [("rejected", bool), ("diagnosed", bool), ("plan", np.int8), ("read", np.int32)]
        super().__init__(questions, rule, SAYINGS, *flags, ("characters", np.int32, (len(ROLES), 3)))

    def _sayings(self, node: int) -> range:
        return range(VAGUE_PLAN)

    def _follow(self, node: int, saying: int) -> int:
        role = "worker" if saying < VAGUE_PLAN else "thinker" if saying < REVISE else "verifier"
        place = int(self.rows["question"][node])
        longer = self.transcripts[node].append(role, self._texts[place][saying])
        if longer is self.transcripts[node]:
            return node
        return self._add(place, longer, saying if role == "worker" else int(self.rows["answer"][node]))

    def _add(self, place: int, transcript: Transcript, answer: int) -> int:
        node = super()._add(place, transcript, answer)
        known, text, row = self._known[place], None if answer < 0 else self._texts[place][answer], self.rows[node]
        case = read_case(*(message["content"] for message in build_prompt("worker", transcript, answer=text)))
        row["rejected"], row["diagnosed"] = case.rejected, case.verdict == known.diagnosis and answer > 0
        row["plan"] = NONE if case.plan is None else known.good[case.plan]
        # Under the paper's rule plans stand in the transcript; only under the released rule is one handed on beside it.
        beside = ("", *(self._texts[place][plan] for plan in (VAGUE_PLAN, GOOD_PLAN)))
        for column, plan in enumerate(beside if self.rule == "released" else beside[:1]):
            for number, role in enumerate(ROLES):
                prompt = build_prompt(role, transcript, answer=text, plan=plan)
                row["characters"][number, column] = sum(len(message["content"]) for message in prompt)
        read = node
        if self.rule == "released" and len(transcript.entries) > READ:
            read = place
            for entry in transcript.entries[-READ:]:
                read = int(self.child(np.array([read]), np.array([self._texts[place].index(entry.text)]))[0])
        self.rows["read"][node] = read
        return node


def _texts(known: Any) -> list[str]:
    """What a transcript keeps of each saying."""
    says = known.says
    worker = [condense("worker", said(text)) for text in (says.right, says.wrong)]
    plans = [parse_suggestion(texts[0]).plan for texts in says.plans]
    verdicts = [condense("verifier", said(text)) for text in (says.revise, says.diagnosis)]
    return [*worker, *plans, *verdicts]


def said(text: str) -> Message:
    """A whole message of this text, whatever it cost."""
    return Message(text, None, None, None, "stop")
