"""Training on any pool, through the role loop itself: real LLMs by litellm, a local model, or the simulated pool.

`LivePool` has the interface of `SimulatedWorld`, so that every learner works on it unchanged. It asks the pool for
every call (answers are cached on disk by the LLM pools, so a training that is started again pays for nothing twice),
and a failed rollout has reward NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np

from suite.checkers import is_right
from trinity_core.coordinator import HeadPolicy
from trinity_core.roles import Transcript
from trinity_core.rollout import Job, LoopSettings, run_rollouts
from trinity_core.types import ROLES, Question, Rollout
from trinity_core.world import NOBODY, STOPS, Plays


class LivePool:
    """Questions, a pool, an encoder and the loop's settings. Nodes are the transcripts met, numbered as they come;
    node i < len(questions) is question i alone."""

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
        flat = np.asarray(nodes).ravel()
        states = self.encoder.encode([met[node].messages() for node in flat]) if flat.size else np.empty((0, self.d))
        return states.astype(np.float64).reshape(*np.shape(nodes), self.d)

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone as the Worker; NaN for a failed call."""
        policy = _Named(agents, self.n_agents)
        jobs = [Job(self.questions[q], c, int(r)) for c, (q, r) in enumerate(zip(questions, replicates, strict=True))]
        rollouts = run_rollouts(
            jobs, policy, self.encoder, self.pool, replace(self.settings, max_turns=1, mode="argmax"),
            check=is_right,
        )
        return np.array([np.nan if rollout.reward is None else rollout.reward for rollout in rollouts])

    def play(
        self,
        head: Any,
        thetas: np.ndarray,
        questions: np.ndarray,
        replicates: np.ndarray,
        *,
        transform: Callable[[np.ndarray], np.ndarray] | None = None,
        adapted_states: Any = None,
        mode: str | None = None,
    ) -> Plays:
        """As `SimulatedWorld.play`, by `run_rollouts`. ValueError where SVF is asked for: it needs the fast path."""
        if adapted_states is not None:
            raise ValueError("SVF offsets are trained on the simulated pool only; leave `svf` out of the task")
        questions = np.asarray(questions)
        replicates = np.broadcast_to(np.asarray(replicates), questions.shape)
        jobs = [
            Job(self.questions[q], candidate, int(r))
            for candidate, row in enumerate(zip(questions, replicates, strict=True))
            for q, r in zip(*row, strict=True)
        ]
        policy = HeadPolicy(head, thetas) if transform is None else _Transformed(head, thetas, transform)
        settings = replace(self.settings, mode=mode or self.settings.mode)
        rollouts = run_rollouts(jobs, policy, self.encoder, self.pool, settings, check=is_right)
        return self._plays(rollouts, questions, replicates)

    def _plays(self, rollouts: Sequence[Rollout], questions: np.ndarray, replicates: np.ndarray) -> Plays:
        shape, turns = questions.shape, self.settings.max_turns
        by_turn = {name: np.full((len(rollouts), turns), NOBODY, np.int32) for name in ("nodes", "agents", "roles")}
        named = np.zeros((len(rollouts), turns), bool)
        totals = {name: np.zeros(len(rollouts)) for name in ("tokens_in", "tokens_out", "cost")}
        for row, rollout in enumerate(rollouts):
            transcript = Transcript(rollout.question.text, rule=self.settings.transcript)
            for turn in rollout.turns:
                place = turn.index - 1
                by_turn["nodes"][row, place] = self._number(transcript)
                by_turn["agents"][row, place], by_turn["roles"][row, place] = turn.agent, ROLES.index(turn.role)
                named[row, place] = turn.overridden
                transcript = transcript.append(turn.role, turn.output)
                for name, total in totals.items():
                    value = getattr(turn.message, name)
                    total[row] += np.nan if value is None else value
        flat = (
            np.array([np.nan if r.reward is None else r.reward for r in rollouts]),
            np.array([len(r.turns) for r in rollouts]),
            np.array([STOPS.index(r.stop) for r in rollouts]),
            *totals.values(),
        )
        arrays = (*by_turn.values(), named)
        return Plays(
            questions, replicates, *(f.reshape(shape) for f in flat), *(a.reshape(*shape, turns) for a in arrays), self.n_agents
        )


class _Transformed(HeadPolicy):
    """A population of any head that reads transformed states."""

    def __init__(self, head: Any, thetas: np.ndarray, transform: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(head, thetas)
        self.transform = transform

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """candidates (batch,), states (batch, d) -> (batch, L + 3)."""
        return super().logits(candidates, self.transform(np.asarray(states, np.float64)))


class _Named:
    """A Policy that names agent `agents[candidate]` as the Worker."""

    def __init__(self, agents: np.ndarray, n_agents: int) -> None:
        self.agents, self.n_agents = np.asarray(agents), n_agents

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """1 for the agent and for the Worker, 0 elsewhere."""
        logits = np.zeros((len(candidates), self.n_agents + len(ROLES)))
        logits[np.arange(len(candidates)), self.agents[candidates]] = 1.0
        logits[:, self.n_agents + ROLES.index("worker")] = 1.0
        return logits
