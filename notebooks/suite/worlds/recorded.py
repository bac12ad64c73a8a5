"""The tri-role loop on recorded answers, compiled: the same rollouts as `run_rollouts` on a recorded pool.

A recorded LLM always answers a question alike, so all that can happen to a transcript is a small closed set: a Worker
adds one of the question's distinct answers (never the one that stands already), and under the `paper` rule a Verifier
adds one of its reasons. `RecordedTree` numbers these transcripts, `RecordedWorld` plays on them with the interface of
`world.SimulatedWorld`, and `texts_of` lists every transcript that a rollout of a world can read, so that all of them
can be encoded before anything is trained.

The reward is the recorded verdict on the LLM whose answer stands at the end (`RecordedPool.reward`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np

from suite.pools.recorded import RecordedPool, judgement, no_verifiers
from suite.worlds.simulated import SimulatedWorld
from trinity_core.coordinator import Policy
from trinity_core.draws import SEP, key_text
from trinity_core.pool import PoolError
from trinity_core.roles import Transcript, condense
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import Message, Question, Rollout
from trinity_core.world import NOBODY, STOPS, VERIFIER, WORKER, Plays

AHEAD = 64  # questions whose transcripts are encoded together: their beginnings are still in memory
Messages = list[dict[str, str]]


class RecordedTree:
    """Nodes of the transcripts of `questions` under a transcript rule; node i < len(questions) is question i alone.

    A saying is a Worker's text, by its place in `Known.texts`, or after those a Verifier's reason, by `reasons`.
    `transcripts` and `answer` have one entry a node.
    """

    def __init__(self, questions: Sequence[Question], pool: RecordedPool, rule: str) -> None:
        self.questions, self.rule = tuple(questions), rule
        self.transcripts: list[Transcript] = []
        self._known = [pool.known(question) for question in self.questions]
        self._children: dict[tuple[int, int], int] = {}
        self._question: list[int] = []
        self._answer: list[int] = []
        self._answers = np.empty(0, np.int64)
        # What a Verifier can say of an answer depends on what its own recorded answer states, and on nothing else.
        self._owns = [list(dict.fromkeys(known.own)) if pool.verifies else [] for known in self._known]
        for place, question in enumerate(self.questions):
            self._add(place, Transcript(question.text, rule=rule), NOBODY)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.transcripts)

    @property
    def answer(self) -> np.ndarray:
        """(nodes,): the text that is the latest answer, -1 for none."""
        if len(self._answers) < len(self._answer):
            more = np.array(self._answer[len(self._answers) :], np.int64)
            self._answers = np.concatenate([self._answers, more])
        return self._answers

    def reasons(self) -> np.ndarray:
        """(n, L): each agent's saying as a Verifier who does not accept, -1 where nobody can verify."""
        rows = [
            [len(known.texts) + owns.index(own) if owns else NOBODY for own in known.own]
            for known, owns in zip(self._known, self._owns, strict=True)
        ]
        return np.array(rows)

    def child(self, nodes: np.ndarray, sayings: np.ndarray) -> np.ndarray:
        """The nodes (batch,) that follow `nodes` (batch,) when `sayings` (batch,) are said; new ones are added."""
        pairs = zip(np.asarray(nodes).tolist(), np.asarray(sayings).tolist(), strict=True)
        return np.array([self._child(node, saying) for node, saying in pairs], np.int64)

    def grow(self, entries: int) -> np.ndarray:
        """The nodes of every transcript of up to so many entries to every question; new ones are added."""
        level = list(range(len(self.questions)))
        nodes = list(level)
        for _ in range(entries):
            level = list(dict.fromkeys(child for node in level for child in self._following(node)))
            nodes += level
        return np.array(nodes)

    def _following(self, node: int) -> Iterator[int]:
        place = self._question[node]
        texts, owns = len(self._known[place].texts), len(self._owns[place])
        verifying = owns if self.rule == "paper" and self._answer[node] >= 0 else 0
        for saying in range(texts + verifying):
            child = self._child(node, saying)
            if child != node:
                yield child

    def _child(self, node: int, saying: int) -> int:
        if (node, saying) not in self._children:
            self._children[node, saying] = self._follow(node, saying)
        return self._children[node, saying]

    def _follow(self, node: int, saying: int) -> int:
        place, answer = self._question[node], self._answer[node]
        known, transcript = self._known[place], self.transcripts[node]
        if saying == answer:  # said already
            return node
        if saying < len(known.texts):
            return self._add(place, transcript.append("worker", known.texts[saying]), saying)
        own, latest = self._owns[place][saying - len(known.texts)], known.reads[answer]
        if own is not None and own == latest:  # an ACCEPT: the rollout is over
            return node
        said = condense("verifier", Message(judgement(own, latest), None, None, None, "stop"))
        longer = transcript.append("verifier", said)
        if longer is transcript:
            return node
        # Where nothing can be read of an answer, Verifiers of all opinions say the same.
        same = [child for child in self._reasoned(node) if self.transcripts[child] == longer]
        return same[0] if same else self._add(place, longer, answer)

    def _reasoned(self, node: int) -> Iterator[int]:
        place = self._question[node]
        texts = len(self._known[place].texts)
        for number in range(len(self._owns[place])):
            if (node, texts + number) in self._children:
                yield self._children[node, texts + number]

    def _add(self, place: int, transcript: Transcript, answer: int) -> int:
        self.transcripts.append(transcript)
        self._question.append(place)
        self._answer.append(answer)
        return len(self.transcripts) - 1


class RecordedWorld(SimulatedWorld):
    """Questions of a recorded pool, the pool, an encoder and the loop's settings, ready to play populations.

    `right` and `dollars` (n, L) are the recorded verdicts and costs of its questions. Tokens are NaN for rollouts that
    ask anybody (they are not recorded), and dollars where the record has none. PoolError where the pool does not know a
    question, and where a Verifier would act and only scores are recorded.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        pool: RecordedPool,
        encoder: Any,
        settings: LoopSettings = LoopSettings(),
    ) -> None:
        self.questions, self.pool, self.settings, self.encoder = tuple(questions), pool, settings, encoder
        self.n_agents, self.d = len(pool.agents), encoder.d
        self.bank = Reading(encoder)
        self.tree = RecordedTree(self.questions, pool, settings.transcript)
        self._states, self._met = np.empty((0, self.d), np.float16), np.empty(0, bool)
        self._tables()

    def _tables(self) -> None:
        known = [self.pool.known(question) for question in self.questions]
        self._row = np.array([one.place for one in known])  # in the pool
        self._text = np.array([one.said for one in known])  # (n, L), -1: says nothing
        opinions = [list(dict.fromkeys(one.own)) for one in known]
        self._own = np.array(  # (n, L): what an agent's answer states, as a number; -1: nothing
            [
                [NOBODY if own is None else places.index(own) for own in one.own]
                for one, places in zip(known, opinions, strict=True)
            ]
        )
        self._reads = np.full((len(known), max(len(one.texts) for one in known) + 1), NOBODY)  # last column: no answer
        for row, (one, places) in enumerate(zip(known, opinions, strict=True)):
            stated = [NOBODY if read is None else places.index(read) for read in one.reads]
            self._reads[row, : len(stated)] = stated
        self._reason = self.tree.reasons()
        self.right, self.dollars = self.pool.right[self._row], self.pool.costs[self._row]
        self._decision_key = [key_text("decision", self.settings.seed, q.id) + SEP for q in self.questions]

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator; JSON."""
        digest = sha256("\n".join(q.id + q.text for q in self.questions).encode())
        for question in self.questions:
            digest.update(repr(self.pool.known(question)).encode())
        digest.update(self.right.tobytes() + self.dollars.tobytes())
        return {
            "questions": digest.hexdigest()[:16],
            "pool": [self.pool.says, self.pool.seed],
            "agents": [agent.name for agent in self.pool.agents],
            "encoder": self.encoder.fingerprint[:16],
            "loop": asdict(self.settings),
        }

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

    def play(self, head: Any, thetas: np.ndarray, questions: np.ndarray, replicates: np.ndarray, **how: Any) -> Plays:
        """As `SimulatedWorld.play`."""
        plays = super().play(head, thetas, questions, replicates, **how)
        speaker = self.speakers(plays)
        draws = np.broadcast_to(np.asarray(replicates), plays.questions.shape)
        counts = (speaker >= 0) & (plays.stop != STOPS.index("verifier before answer"))
        reward = np.zeros(speaker.shape)
        reward[counts] = self.pool.reward(self._row[plays.questions[counts]], speaker[counts], draws[counts])
        asked = (plays.roles == WORKER) | (plays.roles == VERIFIER)
        last = np.arange(plays.roles.shape[-1]) == plays.turns[..., None] - 1
        asked &= ~(last & (plays.stop == STOPS.index("verifier before answer"))[..., None])
        unknown = np.where(asked.any(axis=-1), np.nan, 0.0)
        return replace(plays, reward=reward, tokens_in=unknown, tokens_out=unknown)

    def speakers(self, plays: Plays, turns: int | None = None) -> np.ndarray:
        """(lambda, m): the agent whose answer stands after so many turns (None: at the end), -1 where none does."""
        standing, speaker = (np.full(plays.questions.shape, NOBODY) for _ in range(2))
        for turn in range(plays.roles.shape[-1] if turns is None else turns):
            agent = plays.agents[..., turn].astype(np.int64)
            text = self._text[plays.questions, agent]
            speaks = (plays.roles[..., turn] == WORKER) & (text >= 0) & (text != standing)
            standing, speaker = np.where(speaks, text, standing), np.where(speaks, agent, speaker)
        return speaker

    def _reply(
        self,
        live: Any,
        act: np.ndarray,
        agent: np.ndarray,
        role: np.ndarray,
        turn: int,
        where: list[int],
        number: list[int],
    ) -> None:
        """One turn of the recorded pool (`pool.recorded`) for the rollouts `act`: moves `live` on."""
        question, node = np.array(where), live.node[act]
        answer = self.tree.answer[node]
        live.turns[act] = turn
        verifies = (role == VERIFIER) & (answer >= 0)
        live.stop[act[(role == VERIFIER) & (answer < 0)]] = STOPS.index("verifier before answer")
        if verifies.any() and not self.pool.verifies:
            raise PoolError(no_verifiers(self.questions[question[verifies][0]]))
        own = self._own[question, agent]
        accepts = verifies & (own >= 0) & (own == self._reads[question, answer])
        live.stop[act[accepts]] = STOPS.index("accepted")
        text = self._text[question, agent]
        works = (role == WORKER) & (text >= 0)
        live.cost[act] += np.where((role == WORKER) | verifies, self.dollars[question, agent], 0.0)
        goes_on = np.flatnonzero(works | (verifies & ~accepts))
        saying = np.where(works, text, self._reason[question, agent])[goes_on]
        live.node[act[goes_on]] = self.tree.child(node[goes_on], saying)


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
    """`run_rollouts` on a recorded pool, with the recorded rewards."""
    rollouts = run_rollouts(jobs, policy, encoder, pool, settings, check=lambda question, answer: False)
    return [replace(rollout, reward=_reward(rollout, pool)) for rollout in rollouts]


def _reward(rollout: Rollout, pool: RecordedPool) -> float | None:
    if rollout.reward is None:
        return None
    spoke = [turn.agent for turn in rollout.turns if turn.role == "worker" and turn.output]
    if not spoke or rollout.stop == "verifier before answer":
        return 0.0
    place = pool.known(rollout.question).place
    return float(pool.reward(np.array([place]), np.array(spoke[-1:]), np.array([rollout.replicate]))[0])


def draw_questions(questions: Sequence[Question], count: int, purpose: str) -> list[Question]:
    """`count` of the questions, chosen by a draw that is keyed by purpose and question, in the order given."""
    from trinity_core.draws import uniforms

    if not 1 <= count <= len(questions):
        raise ValueError(f"{count} questions asked for where there are {len(questions)}")
    order = sorted(questions, key=lambda question: uniforms(1, "chosen", purpose, question.id)[0])
    chosen = {question.id for question in order[:count]}
    return [question for question in questions if question.id in chosen]
