"""One step of routing on recorded scores: a question's hidden state picks the LLM whose recorded score is the reward.

    z = W h,  W in R^(L x d);   agent ~ softmax(z) while learning, argmax z afterwards;   R ~ Bernoulli(P(right))

P(right) is a share where a file averages several answers. A single step has no roles, so the head has L logits. All
learners work here by the same code and count the same atomic evaluations: one question put to one LLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from suite.recordings.tables import RecordedTable
from suite.stats.intervals import Estimate, by_family, mean_interval, paired_difference
from trinity_core.draws import SEP, key_text, uniform_rows
from trinity_core.heads import Head, decide
from trinity_core.types import ROLES
from trinity_core.world import STOPS, Plays


class Asked(NamedTuple):
    """A question as training needs it: its `id`, and the benchmark as its `family`."""

    id: str
    family: str


@dataclass(frozen=True, eq=False)
class RoutingData:
    """Several benchmarks' questions: `states` (n, d), P(right) `right` and raw `scores` (n, L), `families` (n,)."""

    agents: tuple[str, ...]
    questions: tuple[Asked, ...]
    states: np.ndarray
    right: np.ndarray
    scores: np.ndarray

    @property
    def families(self) -> np.ndarray:
        """Each question's benchmark (n,)."""
        return np.array([question.family for question in self.questions])

    @property
    def weights(self) -> np.ndarray:
        """(n,), summing to 1: benchmarks count alike, so do the questions of one."""
        names, place, counts = np.unique(self.families, return_inverse=True, return_counts=True)
        return 1.0 / (len(names) * counts[place])

    def take(self, rows: np.ndarray) -> RoutingData:
        """The questions of these rows (indices or a mask)."""
        rows = np.arange(len(self.questions))[rows]
        questions = tuple(self.questions[row] for row in rows)
        return RoutingData(self.agents, questions, self.states[rows], self.right[rows], self.scores[rows])

    def with_states(self, states: np.ndarray) -> RoutingData:
        """The same questions, read otherwise: states (n, d')."""
        return replace(self, states=np.asarray(states, np.float64))

    def rewards(self, chosen: np.ndarray) -> np.ndarray:
        """P(right) (seeds, n) of chosen agents (seeds, n) or (n,)."""
        return self.right[np.arange(len(self.questions)), np.atleast_2d(chosen)]

    def estimate(self, chosen: np.ndarray) -> Estimate:
        """The mean over benchmarks of what chosen agents score, with its interval."""
        return mean_interval(self.rewards(chosen), self.families)

    def by_benchmark(self, chosen: np.ndarray) -> dict[str, Estimate]:
        """The same of each benchmark."""
        return by_family(self.rewards(chosen), self.families)

    def lead(self, ours: np.ndarray, theirs: np.ndarray) -> Estimate:
        """The mean difference between two choices on the same questions, with its interval."""
        return paired_difference(self.rewards(ours), self.rewards(theirs), self.families)

    def shares(self, chosen: np.ndarray) -> np.ndarray:
        """(benchmarks, L): how often each agent is chosen on the questions of each benchmark."""
        chosen, families = np.atleast_2d(chosen), self.families
        every = [chosen[:, families == name] for name in dict.fromkeys(families.tolist())]
        return np.array([np.bincount(one.ravel(), minlength=len(self.agents)) / one.size for one in every])


def gather(tables: Sequence[RecordedTable], states: Sequence[np.ndarray]) -> RoutingData:
    """The tables (of one set of LLMs, in one order) with each one's states (n, d) as one set of questions."""
    ids = [Asked(f"{table.name}:{one}", table.name) for table in tables for one in table.ids]
    arrays = (
        np.concatenate([np.asarray(part, np.float64) for part in parts])
        for parts in (states, [table.right for table in tables], [table.scores for table in tables])
    )
    return RoutingData(tables[0].agents, tuple(ids), *arrays)


@dataclass(frozen=True, eq=False)
class AgentHead(Head):
    """z = W h with W (L, d) for a single step; the three role logits, which nothing reads, are 0.

    `start`: the weights (L d,) that training starts from, where that is not 0.
    """

    start: np.ndarray | None = None

    name = "linear"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.n_agents, self.d)}

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """Where training starts: `start`, or zeros."""
        return super().initial(generator) if self.start is None else np.array(self.start, np.float64)

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        logits = states @ np.swapaxes(arrays["W"], -1, -2)
        return np.concatenate([logits, np.zeros((*logits.shape[:-1], len(ROLES)))], axis=-1)


class RoutingWorld:
    """`RoutingData`, ready to play populations of heads one step at a time. `seed` keys all draws."""

    def __init__(self, data: RoutingData, seed: int = 42) -> None:
        self.data, self.seed = data, seed
        self.questions = data.questions
        self.n_agents, self.d = data.right.shape[1], data.states.shape[1]
        self.pool = SimpleNamespace(agents=tuple(SimpleNamespace(name=name) for name in data.agents))
        self._key = [key_text("routing", seed, question.id) + SEP for question in data.questions]

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator; JSON."""
        digest = sha256("\n".join(question.id for question in self.questions).encode())
        digest.update(np.ascontiguousarray(self.data.right).tobytes())
        digest.update(np.ascontiguousarray(self.data.states).tobytes())
        return {"questions": digest.hexdigest()[:16], "agents": list(self.data.agents), "seed": self.seed}

    def states(self, nodes: np.ndarray) -> np.ndarray:
        """Hidden states (..., d) of questions (...)."""
        return self.data.states[np.asarray(nodes)]

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of each agent on its question."""
        return self._rewards(np.asarray(agents), np.asarray(questions), self._draws(questions, replicates)[:, 1])

    def play(
        self, head: Any, thetas: np.ndarray, questions: Any, replicates: Any, *,
        transform: Any = None, adapted_states: Any = None, mode: str | None = None,
    ) -> Plays:  # fmt: skip
        """One step of heads `thetas` (lambda, n) on `questions` and `replicates`, both (lambda, m)."""
        if adapted_states is not None:
            raise ValueError("SVF offsets are not trained on recorded scores; leave `svf` out of the task")
        questions = np.asarray(questions)
        shape = questions.shape
        replicates = np.broadcast_to(replicates, shape)
        states = self.data.states[questions]
        logits = head.logits(np.asarray(thetas, np.float64), states if transform is None else transform(states))
        draws = self._draws(questions.ravel(), replicates.ravel())
        # A single step needs no role: its draw is a constant.
        pairs = np.stack([draws[:, 0], np.zeros(len(draws))], axis=1).reshape(*shape, 2)
        agents = decide(logits, self.n_agents, mode=mode or "sample", uniforms=pairs).agents
        reward = self._rewards(agents.ravel(), questions.ravel(), draws[:, 1]).reshape(shape)
        unknown = np.full(shape, np.nan)  # scores alone say nothing of tokens and dollars
        steps = (questions[..., None], agents[..., None], np.zeros((*shape, 1), np.int8), np.ones((*shape, 1), bool))
        stop = np.full(shape, STOPS.index("turn limit"))
        totals = (np.ones(shape, np.int8), stop, unknown, unknown, unknown)
        return Plays(questions, replicates, reward, *totals, *steps, self.n_agents)

    def _draws(self, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        pairs = zip(np.asarray(questions).tolist(), np.asarray(replicates).tolist(), strict=True)
        return uniform_rows(2, [f"{self._key[question]}int:{replicate}" for question, replicate in pairs])

    def _rewards(self, agents: np.ndarray, questions: np.ndarray, draws: np.ndarray) -> np.ndarray:
        return (draws < self.data.right[questions, agents]).astype(np.float64)


def choices(theta: np.ndarray, head: AgentHead, states: np.ndarray) -> np.ndarray:
    """The agents (n,) that a trained head picks for states (n, d): argmax, the lowest index on a tie."""
    return np.argmax(head.logits(theta, states)[:, : head.n_agents], axis=1)
