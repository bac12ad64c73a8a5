"""The tri-role loop on the simulated pool, compiled: the same rollouts as `run_rollouts`, some 30 times as fast.

Training asks for millions of rollouts. Here a transcript is a node of a `TranscriptTree`, a reply is a few table
look-ups on the same keyed draws, and a whole population moves one turn in a dozen array operations. Decisions,
replies, rewards, tokens and dollars are those of `rollout.run_rollouts` with the same settings and hidden states, which
the tests compare rollout by rollout.

Rewards: a simulated agent's text is one of the closed set whose correctness `pool.solutions` knows and the tests check
against the real checkers.

Symbols: lambda -> candidates, m -> rollouts a candidate, K -> `settings.max_turns`, L -> agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from suite.worlds.bank import StateBank
from suite.worlds.tree import DIAGNOSIS, GOOD_PLAN, NO_PLAN, REVISE, VAGUE_PLAN, TranscriptTree
from trinity_core.draws import SEP, key_text, uniform_rows
from trinity_core.heads import decide
from trinity_core.rollout import TURNS_A_REPLICATE, LoopSettings
from trinity_core.types import ROLES, Question
from trinity_core.world import NOBODY, STOPS, THINKER, VERIFIER, WORKER, Plays

CHARACTERS_A_TOKEN = 4


class SimulatedWorld:
    """Questions, a simulated pool, an encoder and the loop's settings, ready to play populations.

    `states`: hidden states of nodes, found as they are first read, from the bank where it has them.
    ValueError where the pool does not know a question.
    """

    def __init__(
        self, questions: Sequence[Question], pool: Any, encoder: Any, settings: LoopSettings = LoopSettings()
    ) -> None:
        self.questions, self.pool, self.settings = tuple(questions), pool, settings
        self.encoder = encoder
        self.bank = StateBank(encoder)
        self.n_agents, self.d = len(pool.agents), encoder.d
        self.tree = TranscriptTree(self.questions, pool, settings.transcript)
        self._states, self._met = np.empty((0, self.d), np.float16), np.empty(0, bool)
        self._tables()

    def _tables(self) -> None:
        """The pool's chances as arrays, each number computed by the pool itself."""
        pool, ids, agents = self.pool, [q.id for q in self.questions], range(self.n_agents)
        self._solve = np.array(  # (L, n, plan none/general/concrete, diagnosed)
            [
                [
                    [[pool.probability(a, i, plan=plan, diagnosed=d) for d in (False, True)] for plan in PLANS]
                    for i in ids
                ]
                for a in agents
            ]
        )
        self._skill = np.array([[pool.plan_probability(a, i) for i in ids] for a in agents])
        self._accept = np.array(  # (L, n, wrong/right)
            [[[pool.accept_probability(a, i, right) for right in (False, True)] for i in ids] for a in agents]
        )
        self._spread = np.full((len(ids), 2), inf)  # cumulated shares of the wrong answers, the last one open
        for place, i in enumerate(ids):
            shares = pool.known(i).shares
            self._spread[place, : len(shares) - 1] = shares[:-1]
        self._tokens = np.array([[pool.mean_tokens(a, q.family) for q in self.questions] for a in agents])
        self._price = np.array([agent.price or (np.nan, np.nan) for agent in pool.agents])
        self._decision_key = [key_text("decision", self.settings.seed, i) + SEP for i in ids]
        names, roles = [agent.name for agent in pool.agents], ROLES
        self._reply_key = [
            [[key_text("simulated", pool.seed, i, name, role) + SEP for role in roles] for name in names] for i in ids
        ]

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator; JSON."""
        pool = self.pool
        return {
            "questions": sha256("\n".join(q.id + q.text + q.reference for q in self.questions).encode()).hexdigest()[
                :16
            ],
            "pool": sha256(pool.logits.tobytes() + repr((pool.assumptions, pool.seed)).encode()).hexdigest()[:16],
            "agents": [agent.name for agent in pool.agents],
            "encoder": self.encoder.fingerprint[:16],
            "loop": asdict(self.settings),
        }

    def states(self, nodes: np.ndarray) -> np.ndarray:
        """Hidden states (..., d), float64, of nodes (...)."""
        nodes = np.asarray(nodes)
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

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone, as the Worker of turn 1, on its question."""
        keys = [
            f"{self._reply_key[q][a][WORKER]}int:{r * TURNS_A_REPLICATE + 1}"
            for a, q, r in zip(agents.tolist(), questions.tolist(), replicates.tolist(), strict=True)
        ]
        return (uniform_rows(4, keys)[:, 0] < self._solve[agents, questions, 0, 0]).astype(np.float64)

    def play(
        self,
        head: Any,
        thetas: np.ndarray,
        questions: np.ndarray,
        replicates: np.ndarray,
        *,
        transform: Callable[[np.ndarray], np.ndarray] | None = None,
        adapted_states: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
        mode: str | None = None,
    ) -> Plays:
        """The rollouts of heads `thetas` (lambda, n) on `questions` and `replicates`, both (lambda, m) whole numbers.

        `transform` maps states (..., d) before the head reads them (whitening). `adapted_states(candidates, nodes)`
        (batch,) -> (batch, d) replaces the bank's states (SVF). `mode` replaces the settings' own.
        """
        thetas, questions = np.asarray(thetas, np.float64), np.asarray(questions)
        if thetas.ndim != 2 or questions.ndim != 2 or len(thetas) != len(questions):
            raise ValueError(
                f"thetas {thetas.shape} and questions {questions.shape} must be (lambda, n) and (lambda, m);"
                " one head alone is theta[None] with questions[None]"
            )
        shape, turns = questions.shape, self.settings.max_turns
        numbers = np.broadcast_to(np.asarray(replicates), shape).ravel()
        replicates = numbers.tolist()
        question, candidate = questions.ravel(), np.repeat(np.arange(shape[0]), shape[1])
        size = question.size
        live = _Live(question.astype(np.int64), size)
        nodes = np.full((size, turns), NOBODY, np.int32)
        agents, roles = np.full((size, turns), NOBODY, np.int8), np.full((size, turns), NOBODY, np.int8)
        named = np.zeros((size, turns), bool)
        reading = adapted_states or (lambda candidates, where: self.states(where))
        mode = mode or self.settings.mode
        for turn in range(turns):
            act = np.flatnonzero(live.stop == 0)
            if not act.size:
                break
            logits = self._logits(head, thetas, candidate[act], live.node[act], reading, transform)
            where, number = question[act].tolist(), [replicates[i] for i in act]
            draws = None
            if mode == "sample":
                last = f"{SEP}int:{turn + 1}"
                keys = [f"{self._decision_key[q]}int:{r}{last}" for q, r in zip(where, number, strict=True)]
                draws = uniform_rows(2, keys)
            decision = decide(logits, self.n_agents, mode=mode, uniforms=draws)
            agent, named[act, turn] = decision.agents, live.named[act] >= 0
            role = np.where(named[act, turn], live.named[act], decision.roles)
            nodes[act, turn], agents[act, turn], roles[act, turn] = live.node[act], agent, role
            self._reply(live, act, agent, role, turn + 1, where, number)
        reward = np.where(live.stop == STOPS.index("verifier before answer"), 0.0, self.tree.answer[live.node] == 0)
        fields = (question, numbers, reward, live.turns, live.stop, live.tokens_in, live.tokens_out, live.cost)
        by_turn = (nodes, agents, roles, named)
        return Plays(*(f.reshape(shape) for f in fields), *(f.reshape(*shape, turns) for f in by_turn), self.n_agents)

    def _logits(
        self, head: Any, thetas: np.ndarray, candidates: np.ndarray, nodes: np.ndarray, reading: Any, transform: Any
    ) -> np.ndarray:
        """(batch, L + 3): the population's states are laid out (lambda, most rollouts alive, d) for one product."""
        states = reading(candidates, nodes)
        states = states if transform is None else transform(states)
        counts = np.bincount(candidates, minlength=len(thetas))
        column = np.arange(len(candidates)) - np.repeat(np.cumsum(counts) - counts, counts)
        padded = np.zeros((len(thetas), counts.max(), states.shape[-1]))
        padded[candidates, column] = states
        return head.logits(thetas, padded)[candidates, column]

    def _reply(
        self,
        live: _Live,
        act: np.ndarray,
        agent: np.ndarray,
        role: np.ndarray,
        turn: int,
        where: list[int],
        number: list[int],
    ) -> None:
        """One turn of the simulated pool (`pool.simulated`) for the rollouts `act`: moves `live` on."""
        tree, question, node = self.tree, np.array(where), live.node[act]
        answer = tree.answer[node].astype(np.int64)
        live.turns[act] = turn
        early = (role == VERIFIER) & (answer < 0)
        live.stop[act[early]] = STOPS.index("verifier before answer")
        draw = uniform_rows(
            4,
            [
                f"{self._reply_key[q][a][r]}int:{n * TURNS_A_REPLICATE + turn}"
                for q, a, r, n in zip(where, agent.tolist(), role.tolist(), number, strict=True)
            ],
        )
        skill, right, sent_back = self._skill[agent, question], answer == 0, tree.rejected[node]
        plan = np.where(live.beside[act] == NO_PLAN, tree.plan[node], live.beside[act])
        accepts = draw[:, 0] < self._accept[agent, question, right.astype(int)]
        # Worker: repeats an answer that nobody has sent back, or solves, or slips.
        chance = self._solve[agent, question, plan + 1, tree.diagnosed[node].astype(int)]
        slip = 1 + np.argmax(draw[:, 2, None] < self._spread[question], axis=1)
        work = np.where(draw[:, 0] < chance, 0, slip)
        repeats = (answer >= 0) & ~sent_back & (draw[:, 1] < self.pool.assumptions.keep)
        work = np.where(repeats, answer, work)
        good = draw[:, 0] < skill
        to_verifier = (answer >= 0) & ~sent_back & (draw[:, 1] < self._accept[agent, question, right.astype(int)])
        verdict = np.where(draw[:, 2] < skill, DIAGNOSIS, REVISE)
        saying = np.choose(role, [work, np.where(good, GOOD_PLAN, VAGUE_PLAN), verdict])
        # What it cost.
        asked = ~early
        characters = tree.characters[node, role, np.where(live.beside[act] == NO_PLAN, 0, live.beside[act] + 1)]
        tokens_in = -(-characters // CHARACTERS_A_TOKEN) * asked
        width = self.pool.assumptions.token_spread
        tokens_out = np.rint(self._tokens[agent, question] * (1 - width + 2 * width * draw[:, 3])) * asked
        live.tokens_in[act] += tokens_in
        live.tokens_out[act] += tokens_out
        live.cost[act] += tokens_in * self._price[agent, 0] + tokens_out * self._price[agent, 1]
        # What follows: the role that a Thinker names, its plan beside a released transcript, the longer transcript.
        thinks = role == THINKER
        live.named[act] = np.where(thinks, np.where(to_verifier, VERIFIER, WORKER), NOBODY)
        released = self.settings.transcript == "released"
        live.beside[act] = np.where(thinks & released, good.astype(int), NO_PLAN)
        done = asked & (role == VERIFIER) & accepts
        live.stop[act[done]] = STOPS.index("accepted")
        goes_on = asked & ~done
        live.node[act[goes_on]] = tree.child(node[goes_on], saying[goes_on])


PLANS = (None, "vague", "good")


class _Live:
    """The rollouts under way, one entry each."""

    def __init__(self, node: np.ndarray, size: int) -> None:
        self.node = node
        self.stop = np.zeros(size, np.int8)
        self.turns = np.zeros(size, np.int8)
        self.named = np.full(size, NOBODY, np.int8)  # the role that the last Thinker named
        self.beside = np.full(size, NO_PLAN, np.int8)  # its plan, under the released rule
        self.tokens_in = np.zeros(size, np.int64)
        self.tokens_out = np.zeros(size)
        self.cost = np.zeros(size)
