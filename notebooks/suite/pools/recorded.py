"""Recorded LLMs as a pool: each call is answered from a published file of what real LLMs said, at once and for free.

One recorded answer an LLM and question is all there is, so every call of an agent on a question gives the same:

    Worker    its recorded answer, word for word (`says="answer"`: only the letter or number that it states). Where that
              is the latest answer already it has nothing to add, and its message is empty
    Verifier  ACCEPT where its own recorded answer agrees with the latest one, as `recordings.answers` reads both; else
              REVISE with the reason
    Thinker   nothing was recorded: an empty message that costs nothing

A call as Worker or Verifier costs what the recorded call cost; tokens are not recorded. `reward` is the recorded
verdict on the LLM whose answer it was, drawn where the record is a share of right answers. Files with scores alone have
Workers that say whose answer theirs is, and no Verifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field

from suite.pools.config import Messages, Strict, Text, checked
from suite.pools.prompts import Case, ScriptedPool, kept, said
from suite.profiles import data_dir
from suite.recordings.answers import options_of, read_answer
from suite.recordings.readers import read_table
from suite.recordings.tables import RecordedTable
from trinity_core.draws import SEP, key_text, uniform_rows
from trinity_core.pool import Agent, PoolError
from trinity_core.types import Message, Question

Says = Literal["text", "answer"]
AGREEMENT = 0.5  # of two answers counted right, at least so many must be read as the same letter or number


class RecordedFile(Strict):
    """A recorded pool's file: `files` below the folder of the data, `agents` the names of some of the LLMs."""

    description: str = ""
    files: Annotated[list[Text], Field(min_length=1)]
    agents: Annotated[list[Text], Field(min_length=1)] | None = None


@dataclass(frozen=True)
class RecordedQuestion:
    """`texts`: the distinct Worker's texts as a transcript keeps them, `reads` what each states (None: not readable).
    Of each agent (L,): `messages`, what it says as a Worker; `said`, the place in `texts`, -1 for nothing; `own`, what
    its recorded answer states."""

    place: int
    question: Question
    texts: tuple[str, ...]
    reads: tuple[str | None, ...]
    messages: tuple[str, ...]
    said: tuple[int, ...]
    own: tuple[str | None, ...]


class RecordedPool(ScriptedPool):
    """L agents over the questions of some files, `questions` (n,); `right` (n, L) is P(right), `costs` (n, L) dollars,
    NaN where unknown. `verifies`: whether answers are recorded; else PoolError where a Verifier is asked for."""

    remedy = "ask those of the pool's `questions`"

    def __init__(self, tables: Sequence[RecordedTable], *, says: Says = "text", seed: int = 0) -> None:
        if says not in get_args(Says):
            raise PoolError(f"says is {says!r}; choose text or answer")
        self.says, self.seed = says, seed
        self.agents = tuple(Agent(name, f"recorded/{name}") for name in tables[0].agents)
        self.verifies = all(table.responses is not None for table in tables)
        rows = [(table, row) for table in tables for row in range(len(table.questions))]
        texts = pd.Series([table.questions[row].strip() for table, row in rows])
        chosen = np.flatnonzero(~texts.duplicated()).tolist()  # of two questions of one text the first one counts
        self.right = np.concatenate([table.right for table in tables])[chosen]
        costs = [np.full(table.scores.shape, np.nan) if table.costs is None else table.costs for table in tables]
        self.costs = np.concatenate(costs)[chosen]
        self._names: set[str] = set()
        self._learn([self._read(place, *rows[number]) for place, number in enumerate(chosen)])
        if self.verifies:
            self._check_reading(tables)

    def _read(self, place: int, table: RecordedTable, row: int) -> RecordedQuestion:
        text, name = table.questions[row], table.ids[row]
        name = f"{table.path.stem}:{name}" if name in self._names else name
        self._names.add(name)
        options, shares = options_of(text), self.right[place].tolist()
        if table.responses is None:
            messages = [f"{agent}'s answer to {name}" for agent in table.agents]
            own: list[str | None] = [None] * len(messages)
        else:
            messages = list(table.responses[row])
            own = [read_answer(message, options) for message in messages]
            if self.says == "answer":  # what states no answer is left out, unless the record counts it as right
                marked = zip(messages, own, shares, strict=True)
                messages = [answer or (message if share > 0 else "") for message, answer, share in marked]
        written = [kept(message) for message in messages]
        texts = tuple(dict.fromkeys(filter(None, written)))
        reads = tuple(own[written.index(one)] for one in texts)
        kind = "judge" if not self.verifies else "choice" if options else "math"
        split = "train" if "train" in table.path.stem.lower() else "test"
        meta = {"options": options, "file": table.path.name}
        # What somebody said who was right; the reward does not depend on it.
        reference = next((answer for answer, share in zip(own, shares, strict=True) if answer and share == 1), "")
        question = Question(name, table.name, split, text, text, 0, kind, reference, meta)  # type: ignore[arg-type]
        places = tuple(texts.index(one) if one else -1 for one in written)
        return RecordedQuestion(place, question, texts, reads, tuple(messages), places, tuple(own))

    def _check_reading(self, tables: Sequence[RecordedTable]) -> None:
        """Two answers that are both right must mostly agree, else they are of a kind that is not read here (code)."""
        agree: list[bool] = []
        for known in self._by_id.values():
            right = [answer for answer, share in zip(known.own, self.right[known.place], strict=True) if share == 1]
            agree += [answer is not None and answer == right[0] for answer in right[1:]]
        if sum(agree) < AGREEMENT * len(agree):
            raise PoolError(
                f"{tables[0].path.name}: of two answers counted right, {np.mean(agree):.0%} agree as a letter or a "
                "number; Verifiers compare answers, so questions need options or numbers (code has neither)"
            )

    def reward(self, questions: np.ndarray, agents: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """(batch,) of 0 and 1: whether the answers of `agents` (batch,) to `questions` (batch,), places in this pool's,
        were right; a share of right answers is drawn, keyed by question, agent and replicate."""
        questions, agents = np.asarray(questions), np.asarray(agents)
        chance = self.right[questions, agents]
        drawn = np.flatnonzero((chance > 0) & (chance < 1))
        out = (chance == 1).astype(np.float64)
        if drawn.size:
            numbers = np.broadcast_to(replicates, questions.shape)[drawn].tolist()
            keys = [
                key_text("recorded", self.seed, self.questions[q].id, self.agents[a].name) + f"{SEP}int:{r}"
                for q, a, r in zip(questions[drawn].tolist(), agents[drawn].tolist(), numbers, strict=True)
            ]
            out[drawn] = uniform_rows(1, keys)[:, 0] < chance[drawn]
        return out

    def _answer(self, agent: int, known: RecordedQuestion, case: Case, messages: Messages, replicate: int) -> Message:
        if case.role == "thinker":
            return said("", 0, 0.0)
        cost = float(self.costs[known.place, agent])
        if case.role == "worker":
            place = known.said[agent]
            text = "" if place < 0 or known.texts[place] == case.answer else known.messages[agent]
        elif self.verifies:
            answer = kept(case.answer or "")
            if answer in known.texts:
                latest = known.reads[known.texts.index(answer)]
            else:  # another pool's words
                latest = read_answer(answer, known.question.meta["options"])
            text = judgement(known.own[agent], latest)
        else:
            raise PoolError(no_verifiers(known.question))
        return said(text, cost=None if np.isnan(cost) else cost)


def judgement(own: str | None, latest: str | None) -> str:
    """What a Verifier says whose own recorded answer states `own`, of an answer that states `latest`."""
    if latest is None:
        return "I find no answer that I can read.\nVERDICT: REVISE"
    if own is None:
        return "I have no answer of my own to compare.\nVERDICT: REVISE"
    return f"I get {own}, too.\nVERDICT: ACCEPT" if own == latest else f"I get {own}, not {latest}.\nVERDICT: REVISE"


def no_verifiers(question: Question) -> str:
    """Why nobody can verify an answer to this question."""
    return (
        f"{question.meta['file']} records scores but no answers, so nobody can verify an answer to {question.id}; "
        "leave the verifier out (baselines.variants.without), or take files with answers (RouterBench, RouteLLM GSM8K)"
    )


def build(config: Mapping[str, Any], *, data: str | Path | None = None, says: Says = "text") -> RecordedPool:
    """The pool of a file's mapping, with its files below `data` (None: TRINITY_DATA)."""
    file = checked(RecordedFile, config, "the file")
    tables = [read_table(data_dir(data) / name) for name in file.files]
    names = file.agents or tables[0].agents
    return RecordedPool([table.with_agents(names) for table in tables], says=says)
