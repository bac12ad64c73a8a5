"""Any pool as a world, through the role loop itself: real LLMs by litellm, a local model, or the simulated pool.

It asks the pool for every call (answers are cached on disk by the LLM pools, so a training that is started again pays
for nothing twice), and a failed rollout has reward NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np

from suite.checkers import is_right
from suite.stats.rollouts import AMOUNTS, rollouts_table
from trinity_core.coordinator import HeadPolicy
from trinity_core.roles import Transcript
from trinity_core.rollout import Job, LoopSettings, begin, finish, run_rollouts, take_turn
from trinity_core.types import ROLES, Question, Rollout
from trinity_core.world import NOBODY, STOPS, WORKER, Plays


class LiveWorld:
    """Questions, a pool, an encoder and the loop's settings. Nodes are the transcripts met, numbered as they come."""

    def __init__(
        self, questions: Sequence[Question], pool: Any, encoder: Any, settings: LoopSettings = LoopSettings()
    ) -> None:
        self.questions, self.pool, self.encoder, self.settings = tuple(questions), pool, encoder, settings
        self.n_agents, self.d = len(pool.agents), encoder.d
        self._node: dict[Transcript, int] = {}
        for question in self.questions:
            self._number(Transcript(question.text, rule=settings.transcript))

    def _number(self, transcript: Transcript) -> int:
        return self._node.setdefault(transcript, len(self._node))

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator and what the agents answer; JSON."""
        text = "\n".join(q.id + q.text + q.reference for q in self.questions)
        return {
            "questions": sha256(text.encode()).hexdigest()[:16],
            "agents": [[agent.name, agent.model, agent.parameters] for agent in self.pool.agents],
            "encoder": self.encoder.fingerprint[:16],
            "loop": asdict(self.settings),
        }

    def states(self, nodes: np.ndarray) -> np.ndarray:
        """Hidden states (..., d), float64, of nodes (...)."""
        met = list(self._node)
        states = self.encoder.encode([met[node].messages() for node in np.ravel(nodes)])
        return states.astype(np.float64).reshape(*np.shape(nodes), self.d)

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone as the Worker; NaN for a failed call."""
        live = begin(self._jobs([questions], [replicates]), is_right, self.settings.transcript)
        take_turn(live, 1, np.asarray(agents), np.full(len(live), WORKER), self.pool)
        return rollouts_table(finish(live, is_right))["reward"].to_numpy()

    def _jobs(self, questions: Any, replicates: Any) -> list[Job]:
        return [
            Job(self.questions[q], candidate, int(r))
            for candidate, row in enumerate(zip(questions, replicates, strict=True))
            for q, r in zip(*row, strict=True)
        ]

    def play(
        self, head: Any, thetas: np.ndarray, questions: Any, replicates: Any, *,
        transform: Any = None, adapted_states: Any = None, mode: str | None = None,
    ) -> Plays:  # fmt: skip
        """As `World.play`, by `run_rollouts`. ValueError where SVF is asked for: it needs the fast path."""
        if adapted_states is not None:
            raise ValueError("SVF offsets are trained on the simulated pool only; leave `svf` out of the task")
        questions = np.asarray(questions)
        replicates = np.broadcast_to(np.asarray(replicates), questions.shape)
        policy = HeadPolicy(head, thetas)
        if transform is not None:
            plain = policy.logits
            policy.logits = lambda candidates, states: plain(candidates, transform(np.asarray(states, np.float64)))
        settings = replace(self.settings, mode=mode or self.settings.mode)
        jobs = self._jobs(questions, replicates)
        rollouts = run_rollouts(jobs, policy, self.encoder, self.pool, settings, check=is_right)
        return self._plays(rollouts, questions, replicates)

    def _plays(self, rollouts: Sequence[Rollout], questions: np.ndarray, replicates: np.ndarray) -> Plays:
        shape, limit = questions.shape, self.settings.max_turns
        nodes, agents, roles = np.full((3, len(rollouts), limit), NOBODY)
        named = np.zeros((len(rollouts), limit), bool)
        for row, rollout in enumerate(rollouts):
            transcript = Transcript(rollout.question.text, rule=self.settings.transcript)
            for place, turn in enumerate(rollout.turns):
                nodes[row, place], agents[row, place] = self._number(transcript), turn.agent
                roles[row, place], named[row, place] = ROLES.index(turn.role), turn.overridden
                transcript = transcript.append(turn.role, turn.output)
        table = rollouts_table(rollouts)
        table["stop"] = table["stop"].map(STOPS.index)
        flat = (table[name].to_numpy().reshape(shape) for name in ("reward", "turns", "stop", *AMOUNTS))
        by_turn = (f.reshape(*shape, limit) for f in (nodes, agents, roles, named))
        return Plays(questions, replicates, *flat, *by_turn, self.n_agents)
