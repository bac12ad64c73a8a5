"""The recorded pool as a compiled world: the same rollouts as `run_rollouts` on it, and all that they can read.

A recorded LLM always answers a question alike, so all that can happen to a transcript is a small closed set: a Worker
adds one of the question's distinct answers (never the one that stands already), and under the `paper` rule a Verifier
adds one of its reasons. `RecordedTree` numbers these transcripts, and `texts_of` lists every one that a rollout of a
world can read, so that all of them can be encoded before anything is trained.

The reward is the recorded verdict on the LLM whose answer stands at the end (`RecordedPool.reward`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from suite.pools.recorded import RecordedPool, judgement, no_verifiers
from suite.worlds.compiled import Acting, CompiledWorld, Replies
from suite.worlds.tree import NONE, Tree, said
from trinity_core.coordinator import Policy
from trinity_core.draws import uniforms
from trinity_core.pool import PoolError
from trinity_core.roles import condense
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import Question, Rollout
from trinity_core.world import THINKER, VERIFIER, WORKER, Plays

AHEAD = 64  # questions whose transcripts are encoded together: their beginnings are still in memory
Messages = list[dict[str, str]]


class RecordedTree(Tree):
    """The transcripts of recorded questions. A saying is a Worker's text, by its place in `Known.texts`, or after those
    a Verifier's reason, by what its own recorded answer states: what it says depends on nothing else."""

    def __init__(self, questions: Sequence[Question], pool: RecordedPool, rule: str) -> None:
        self._known = [pool.known(question) for question in questions]
        self._owns = [list(dict.fromkeys(known.own)) if pool.verifies else [] for known in self._known]
        most = max(len(known.texts) + len(owns) for known, owns in zip(self._known, self._owns, strict=True))
        super().__init__(questions, rule, most)

    def reasons(self) -> np.ndarray:
        """(n, L): each agent's saying as a Verifier who does not accept, -1 where nobody can verify."""
        pairs = zip(self._known, self._owns, strict=True)
        return np.array([[len(k.texts) + owns.index(own) if owns else NONE for own in k.own] for k, owns in pairs])

    def _sayings(self, node: int) -> range:
        place = self.rows["question"][node]
        verifying = self.rule == "paper" and self.rows["answer"][node] >= 0
        return range(len(self._known[place].texts) + verifying * len(self._owns[place]))

    def _follow(self, node: int, saying: int) -> int:
        place, answer = (int(self.rows[name][node]) for name in ("question", "answer"))
        known, transcript = self._known[place], self.transcripts[node]
        texts = len(known.texts)
        if saying == answer:  # said already
            return node
        if saying < texts:
            return self._add(place, transcript.append("worker", known.texts[saying]), saying)
        own, latest = self._owns[place][saying - texts], known.reads[answer]
        if own is not None and own == latest:  # an ACCEPT: the rollout is over
            return node
        longer = transcript.append("verifier", condense("verifier", said(judgement(own, latest))))
        if longer is transcript:
            return node
        # Where nothing can be read of an answer, Verifiers of all opinions say the same.
        others = self.rows["children"][node, texts:].tolist()
        same = [child for child in others if child >= 0 and self.transcripts[child] == longer]
        return same[0] if same else self._add(place, longer, answer)


class RecordedWorld(CompiledWorld):
    """The world of a recorded pool's questions.

    `right` and `dollars` (n, L) are the recorded verdicts and costs of its questions. Tokens are NaN for rollouts that
    ask anybody (they are not recorded), and dollars where the record has none. PoolError where the pool does not know a
    question, and where a Verifier would act and only scores are recorded.
    """

    def __init__(
        self, questions: Sequence[Question], pool: RecordedPool, encoder: Any, settings: LoopSettings = LoopSettings()
    ) -> None:
        tree = RecordedTree(questions, pool, settings.transcript)
        super().__init__(questions, pool, encoder, settings, Reading(encoder), tree)
        self._known = [pool.known(question) for question in self.questions]
        self._row = np.array([known.place for known in self._known])  # in the pool
        self._text = np.array([known.said for known in self._known])  # (n, L), -1: says nothing
        # What an agent's answer (n, L), and each text (n, texts, the last column for no answer), states; -1: nothing.
        self._own = np.array([_numbers(known.own, known.own) for known in self._known])
        self._reads = np.full((len(self._known), max(len(known.texts) for known in self._known) + 1), NONE)
        for row, known in zip(self._reads, self._known, strict=True):
            row[: len(known.reads)] = _numbers(known.reads, known.own)
        self._reason = tree.reasons()
        self.right, self.dollars = pool.right[self._row], pool.costs[self._row]

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator; JSON."""
        digest = sha256("\n".join(q.id + q.text for q in self.questions).encode())
        digest.update("".join(map(repr, self._known)).encode())
        digest.update(self.right.tobytes() + self.dollars.tobytes())
        pool = [self.pool.says, self.pool.seed]
        return {"questions": digest.hexdigest()[:16], "pool": pool, **super().describe()}

    def read_all(self) -> None:
        """Reads the state of every transcript that a rollout of this world can meet, from the encoder's cache where
        it has them."""
        self.states(self.readable())

    def readable(self) -> np.ndarray:
        """The nodes that a rollout of this world can read: what follows on its last turn is read by nobody."""
        return self.tree.grow(self.settings.max_turns - 1)

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone, as the Worker of turn 1, on its question."""
        agents, questions = np.asarray(agents), np.asarray(questions)
        rewards = self.pool.reward(self._row[questions], agents, np.asarray(replicates))
        return np.where(self._text[questions, agents] < 0, 0.0, rewards)

    def speakers(self, plays: Plays, turns: int | None = None) -> np.ndarray:
        """(lambda, m): the agent whose answer stands after so many turns (None: at the end), -1 where none does."""
        standing, speaker = (np.full(plays.questions.shape, NONE) for _ in range(2))
        for turn in range(plays.roles.shape[-1] if turns is None else turns):
            agent = plays.agents[..., turn].astype(np.int64)
            text = self._text[plays.questions, agent]
            speaks = (plays.roles[..., turn] == WORKER) & (text >= 0) & (text != standing)
            standing, speaker = np.where(speaks, text, standing), np.where(speaks, agent, speaker)
        return speaker

    def _reply(self, acting: Acting) -> Replies:
        """One turn of the recorded pool (`pools.recorded`)."""
        question, answer, agent, role = acting.question, acting.answer, acting.agent, acting.role
        verifies = (role == VERIFIER) & (answer >= 0)
        if verifies.any() and not self.pool.verifies:
            raise PoolError(no_verifiers(self.questions[question[verifies][0]]))
        own = self._own[question, agent]
        saying = np.where(role == VERIFIER, self._reason[question, agent], self._text[question, agent])
        unknown = np.where(role == THINKER, 0.0, np.nan)
        return Replies(
            saying=np.where(role == THINKER, NONE, saying),
            accepts=(own >= 0) & (own == self._reads[question, answer]),
            suggests=NONE,
            plan=NONE,
            tokens_in=unknown,
            tokens_out=unknown,
            cost=np.where(role == THINKER, 0.0, self.dollars[question, agent]),
        )

    def _right(self, plays: Plays, nodes: np.ndarray) -> np.ndarray:
        speaker, right = self.speakers(plays), np.zeros(plays.questions.shape)
        spoke = speaker >= 0
        right[spoke] = self.pool.reward(self._row[plays.questions[spoke]], speaker[spoke], plays.replicates[spoke])
        return right


def _numbers(stated: Sequence[str | None], opinions: Sequence[str | None]) -> list[int]:
    """Each of `stated` as its first place in `opinions`; -1 for nothing."""
    return [NONE if one is None else opinions.index(one) for one in stated]


class Reading:
    """Hidden states as float16, each beginning encoded before what goes on from it."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def encode(self, texts: Sequence[Messages]) -> np.ndarray:
        """States (batch, d) in the order given."""
        out = np.empty((len(texts), self.encoder.d), np.float16)
        for batch in in_order(texts):
            out[batch] = self.encoder.encode([texts[place] for place in batch], reuse_prefix=True)
        return out


def in_order(texts: Sequence[Messages]) -> Iterator[list[int]]:
    """Places of `texts` in batches: some questions at a time, of these the shorter transcripts first."""
    questions: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        questions.setdefault(text[0]["content"], []).append(place)
    groups = list(questions.values())
    for start in range(0, len(groups), AHEAD):
        places = [place for group in groups[start : start + AHEAD] for place in group]
        for length in sorted({len(texts[place]) for place in places}):
            yield [place for place in places if len(texts[place]) == length]


def texts_of(world: RecordedWorld) -> list[Messages]:
    """Every transcript that a rollout of this world can read."""
    return [world.tree.transcripts[node].messages() for node in world.readable()]


def run_recorded(
    jobs: Sequence[Job], policy: Policy, encoder: Any, pool: RecordedPool, settings: LoopSettings = LoopSettings()
) -> list[Rollout]:
    """`run_rollouts` on a recorded pool: whatever answer counts, the record says whether its speaker was right."""
    rollouts = run_rollouts(jobs, policy, encoder, pool, settings, check=lambda question, answer: True)
    return [replace(rollout, reward=_reward(rollout, pool)) if rollout.reward else rollout for rollout in rollouts]


def _reward(rollout: Rollout, pool: RecordedPool) -> float:
    speaker = [turn.agent for turn in rollout.turns if turn.role == "worker" and turn.output][-1:]
    place = pool.known(rollout.question).place
    return float(pool.reward(np.array([place]), np.array(speaker), np.array([rollout.replicate]))[0])


def draw_questions(questions: Sequence[Question], count: int, purpose: str) -> list[Question]:
    """`count` of the questions, chosen by a draw that is keyed by purpose and question, in the order given."""
    if not 1 <= count <= len(questions):
        raise ValueError(f"{count} questions asked for where there are {len(questions)}")
    order = sorted(questions, key=lambda question: uniforms(1, "chosen", purpose, question.id)[0])
    chosen = {question.id for question in order[:count]}
    return [question for question in questions if question.id in chosen]
