"""The tri-role loop, compiled: the same rollouts as `run_rollouts`, some 30 times as fast.

Training asks for millions of rollouts. Where agents say one of a few texts a question, a transcript is a node of a
`Tree`, a reply is a few table look-ups on the same keyed draws, and a whole population moves one turn in a dozen array
operations. Decisions, replies, rewards, tokens and dollars are those of `rollout.run_rollouts` with the same settings
and hidden states, which the tests compare rollout by rollout.

`CompiledWorld` has all but the agents: a subclass says what these reply (`_reply`) and whether answers are right.

Symbols: lambda -> candidates, m -> rollouts a candidate, K -> `settings.max_turns`, L -> agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from suite.worlds.tree import NONE, Tree
from trinity_core.draws import SEP, key_text, uniform_rows
from trinity_core.heads import decide
from trinity_core.rollout import LoopSettings
from trinity_core.types import Question
from trinity_core.world import GOES_ON, NOBODY, Plays, acting_roles, after_turn, rewards, too_early


class Acting(NamedTuple):
    """One turn (from 1) of the rollouts under way, each (batch,). `answer` is the saying that is the latest answer,
    `plan` the plan handed on beside the transcript (released rule); -1: none."""

    turn: int
    question: np.ndarray
    replicate: np.ndarray
    node: np.ndarray
    answer: np.ndarray
    plan: np.ndarray
    agent: np.ndarray
    role: np.ndarray


class Replies(NamedTuple):
    """What they say, each (batch,) or one value: a `saying` of the tree (-1: nothing), whether as a Verifier they
    accept, the role and the `plan` that they hand on (-1: none), and what the calls use."""

    saying: np.ndarray
    accepts: np.ndarray
    suggests: np.ndarray | int
    plan: np.ndarray | int
    tokens_in: np.ndarray
    tokens_out: np.ndarray
    cost: np.ndarray


class CompiledWorld:
    """Questions, a pool, an encoder and the loop's settings, ready to play populations (`trinity_core.world.World`).

    Hidden states of nodes are found as they are first read, by `bank.encode`: float16, for the same bits everywhere.
    """

    def __init__(
        self, questions: Sequence[Question], pool: Any, encoder: Any, settings: LoopSettings, bank: Any, tree: Tree
    ) -> None:
        self.questions, self.pool, self.encoder, self.settings = tuple(questions), pool, encoder, settings
        self.bank, self.tree = bank, tree
        self.n_agents, self.d = len(pool.agents), encoder.d
        self._states, self._met = np.empty((0, self.d), np.float16), np.empty(0, bool)
        self._decision_key = [key_text("decision", settings.seed, q.id) + SEP for q in self.questions]

    def describe(self) -> dict[str, Any]:
        """What a rollout depends on besides the coordinator, the questions and the pool; JSON."""
        names = [agent.name for agent in self.pool.agents]
        return {"agents": names, "encoder": self.encoder.fingerprint[:16], "loop": asdict(self.settings)}

    def read(self, nodes: np.ndarray) -> np.ndarray:
        """The nodes whose texts are read at nodes (...): these themselves, unless a subclass leaves something out."""
        return np.asarray(nodes)

    def states(self, nodes: np.ndarray) -> np.ndarray:
        """Hidden states (..., d), float64, of nodes (...)."""
        nodes = self.read(nodes)
        if len(self.tree) > len(self._states):
            size = max(len(self.tree), 2 * len(self._states)) - len(self._states)
            self._states = np.concatenate([self._states, np.empty((size, self.d), np.float16)])
            self._met = np.concatenate([self._met, np.zeros(size, bool)])
        # Only what is read: many a transcript of the tree is a rollout's last and never comes before the head.
        missing = np.unique(nodes[~self._met[nodes]])
        if missing.size:
            self._states[missing] = self.bank.encode([self.tree.transcripts[node].messages() for node in missing])
            self._met[missing] = True
        return self._states[nodes].astype(np.float64)

    def play(
        self, head: Any, thetas: np.ndarray, questions: Any, replicates: Any, *,
        transform: Any = None, adapted_states: Any = None, mode: str | None = None,
    ) -> Plays:  # fmt: skip
        """As `World.play`; ValueError for shapes that do not fit."""
        thetas, questions = np.asarray(thetas, np.float64), np.asarray(questions)
        if thetas.ndim != 2 or questions.ndim != 2 or len(thetas) != len(questions):
            raise ValueError(
                f"thetas {thetas.shape} and questions {questions.shape} must be (lambda, n) and (lambda, m);"
                " one head alone is theta[None] with questions[None]"
            )
        shape, limit = questions.shape, self.settings.max_turns
        question, candidate = questions.ravel(), np.repeat(np.arange(shape[0]), shape[1])
        replicate = np.broadcast_to(np.asarray(replicates), shape).ravel()
        node, size = question.astype(np.int64), question.size
        stop, turns = np.zeros(size, np.int8), np.zeros(size, np.int8)
        named, plan = np.full(size, NOBODY, np.int8), np.full(size, NONE, np.int8)
        spent = np.zeros((3, size))  # tokens in, tokens out, dollars
        nodes = np.full((size, limit), NOBODY, np.int32)
        agents, roles = np.full((size, limit), NOBODY, np.int8), np.full((size, limit), NOBODY, np.int8)
        overridden = np.zeros((size, limit), bool)
        reading = adapted_states or (lambda candidates, where: self.states(where))
        for turn in range(1, limit + 1):
            act = np.flatnonzero(stop == GOES_ON)
            if not act.size:
                break
            logits = self._logits(head, thetas, candidate[act], node[act], reading, transform)
            agent, drawn = self._decide(logits, question[act], replicate[act], turn, mode or self.settings.mode)
            role, answer = acting_roles(drawn, named[act]), self.tree.rows["answer"][node[act]]
            for record, value in ((nodes, node[act]), (agents, agent), (roles, role), (overridden, named[act] >= 0)):
                record[act, turn - 1] = value
            said = self._reply(Acting(turn, question[act], replicate[act], node[act], answer, plan[act], agent, role))
            after = after_turn(role, answer >= 0, said.saying >= 0, said.accepts, said.suggests)
            turns[act], stop[act], named[act], plan[act] = turn, after.stop, after.named, said.plan
            asked = ~too_early(role, answer >= 0)
            for total, used in zip(spent, said[-3:], strict=True):
                total[act] += np.where(asked, used, 0.0)
            enters = (after.stop == GOES_ON) & (said.saying >= 0)
            node[act[enters]] = self.tree.child(node[act[enters]], said.saying[enters])
        fields = (question, replicate, np.zeros(size), turns, stop, *spent)
        by_turn = (nodes, agents, roles, overridden)
        plays = Plays(*(f.reshape(shape) for f in fields), *(f.reshape(*shape, limit) for f in by_turn), self.n_agents)
        return replace(plays, reward=rewards(plays.stop, self._right(plays, node.reshape(shape))))

    def _logits(
        self, head: Any, thetas: np.ndarray, candidates: np.ndarray, nodes: np.ndarray, reading: Any, transform: Any
    ) -> np.ndarray:
        """(batch, L + 3): the population's states are laid out (lambda, most rollouts alive, d) for one product."""
        states = reading(candidates, self.read(nodes))
        states = states if transform is None else transform(states)
        counts = np.bincount(candidates, minlength=len(thetas))
        column = np.arange(len(candidates)) - np.repeat(np.cumsum(counts) - counts, counts)
        padded = np.zeros((len(thetas), counts.max(), states.shape[-1]))
        padded[candidates, column] = states
        return head.logits(thetas, padded)[candidates, column]

    def _decide(
        self, logits: np.ndarray, questions: np.ndarray, replicates: np.ndarray, turn: int, mode: str
    ) -> tuple[np.ndarray, np.ndarray]:
        draws = None
        if mode == "sample":
            last, pairs = f"{SEP}int:{turn}", zip(questions.tolist(), replicates.tolist(), strict=True)
            draws = uniform_rows(2, [f"{self._decision_key[q]}int:{r}{last}" for q, r in pairs])
        return decide(logits, self.n_agents, mode=mode, uniforms=draws)

    def _reply(self, acting: Acting) -> Replies:
        """One turn of the pool."""
        raise NotImplementedError

    def _right(self, plays: Plays, nodes: np.ndarray) -> np.ndarray:
        """(lambda, m): whether the latest answers are right, of rollouts that ended at `nodes` (lambda, m)."""
        raise NotImplementedError
