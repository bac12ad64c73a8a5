"""The simulated pool as a compiled world: its chances as tables, its replies by the very draws of `pools.simulated`.

Rewards: a simulated agent's text is one of the closed set whose correctness `pools.solutions` knows and the tests check
against the real checkers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from suite.worlds.bank import StateBank
from suite.worlds.compiled import Acting, CompiledWorld, Replies
from suite.worlds.tree import DIAGNOSIS, GOOD_PLAN, NONE, REVISE, VAGUE_PLAN, SimulatedTree
from trinity_core.draws import SEP, key_text, uniform_rows
from trinity_core.rollout import TURNS_A_REPLICATE, LoopSettings
from trinity_core.types import ROLES, Question
from trinity_core.world import NOBODY, THINKER, VERIFIER, WORKER, Plays

CHARACTERS_A_TOKEN = 4
PLANS = (None, "vague", "good")


class SimulatedWorld(CompiledWorld):
    """The world of a simulated pool. Hidden states come from the bank where it has them.

    ValueError where the pool does not know a question.
    """

    def __init__(
        self, questions: Sequence[Question], pool: Any, encoder: Any, settings: LoopSettings = LoopSettings()
    ) -> None:
        tree = SimulatedTree(questions, pool, settings.transcript)
        super().__init__(questions, pool, encoder, settings, StateBank(encoder), tree)
        self._tables()

    def _tables(self) -> None:
        """The pool's chances as arrays, each number computed by the pool itself."""
        pool, ids, both = self.pool, [q.id for q in self.questions], (False, True)

        def table(chance: Any) -> np.ndarray:
            """(L, n, ...)."""
            return np.array([[chance(agent, i) for i in ids] for agent in range(self.n_agents)])

        self._solve = table(  # (L, n, plan none/general/concrete, diagnosed)
            lambda a, i: [[pool.probability(a, i, plan=plan, diagnosed=d) for d in both] for plan in PLANS]
        )
        self._skill = table(pool.plan_probability)
        self._accept = table(lambda a, i: [pool.accept_probability(a, i, right) for right in both])  # wrong/right
        tokens = [[pool.mean_tokens(a, q.family) for q in self.questions] for a in range(self.n_agents)]
        self._tokens = np.array(tokens)
        self._price = np.array([agent.price or (np.nan, np.nan) for agent in pool.agents])
        names = [agent.name for agent in pool.agents]
        self._reply_key = [
            [[key_text("simulated", pool.seed, i, name, role) + SEP for role in ROLES] for name in names] for i in ids
        ]

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator; JSON."""
        pool, texts = self.pool, "\n".join(q.id + q.text + q.reference for q in self.questions)
        digests = (texts.encode(), pool.logits.tobytes() + repr((pool.assumptions, pool.seed)).encode())
        questions, made = (sha256(digest).hexdigest()[:16] for digest in digests)
        return {"questions": questions, "pool": made, **super().describe()}

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone, as the Worker of turn 1, on its question."""
        draws = self._draws(questions, agents, np.full(len(agents), WORKER), replicates, 1)
        return (draws[:, 0] < self._solve[agents, questions, 0, 0]).astype(np.float64)

    def read(self, nodes: np.ndarray) -> np.ndarray:
        """The nodes (...) of the last answers alone: see `worlds.tree`."""
        return self.tree.rows["read"][np.asarray(nodes)]

    def _draws(self, questions: Any, agents: Any, roles: Any, replicates: Any, turn: int) -> np.ndarray:
        """(batch, 4): the numbers that `pools.simulated` draws for these calls."""
        calls = zip(*(part.tolist() for part in (questions, agents, roles, replicates)), strict=True)
        return uniform_rows(
            4, [f"{self._reply_key[q][a][r]}int:{n * TURNS_A_REPLICATE + turn}" for q, a, r, n in calls]
        )

    def _reply(self, acting: Acting) -> Replies:
        """One turn of the simulated pool (`pools.simulated`)."""
        turn, question, replicate, node, answer, beside, agent, role = acting
        row = self.tree.rows[node]
        draw = self._draws(question, agent, role, replicate, turn)
        skill, right, sent_back = self._skill[agent, question], answer == 0, row["rejected"]
        plan = np.where(beside == NONE, row["plan"], beside)
        accept = self._accept[agent, question, right.astype(int)]
        unjudged = (answer >= 0) & ~sent_back
        # Worker: repeats an answer that nobody has sent back, or solves, or slips.
        chance = self._solve[agent, question, plan + 1, row["diagnosed"].astype(int)]
        work = np.where(draw[:, 0] < chance, 0, 1)
        work = np.where(unjudged & (draw[:, 1] < self.pool.assumptions.keep), answer, work)
        good, names = draw[:, 0] < skill, draw[:, 2] < self.pool.assumptions.names_role
        verdict = np.where(draw[:, 2] < skill, DIAGNOSIS, REVISE)
        saying = np.choose(role, [work, np.where(good, GOOD_PLAN, VAGUE_PLAN), verdict])
        # What it costs.
        tokens_in = -(-row["characters"][np.arange(len(node)), role, beside + 1] // CHARACTERS_A_TOKEN)
        width = self.pool.assumptions.token_spread
        tokens_out = np.rint(self._tokens[agent, question] * (1 - width + 2 * width * draw[:, 3]))
        cost = tokens_in * self._price[agent, 0] + tokens_out * self._price[agent, 1]
        handed_on = (role == THINKER) & names & (self.settings.transcript == "released")
        return Replies(
            saying,
            accepts=draw[:, 0] < accept,
            suggests=np.where(names, np.where(unjudged & (draw[:, 1] < accept), VERIFIER, WORKER), NOBODY),
            plan=np.where(handed_on, good.astype(int), NONE),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost,
        )

    def _right(self, plays: Plays, nodes: np.ndarray) -> np.ndarray:
        return self.tree.rows["answer"][nodes] == 0
