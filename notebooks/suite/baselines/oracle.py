"""What choosing well among single answers could give: per question in hindsight, and per family from training (A.7.1).

Per-question best: the union of all agents' right answers, asked as in `single` with the same replicate. It knows the
reference, so it is a bound on methods that pass on one of these answers, and no system. Best fixed agent per family: the
highest mean on the family's training questions (the first on a tie); failed calls are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suite.baselines.base import Untrained, ask_all_agents, ask_once, merged
from trinity_core.pool import Pool
from trinity_core.types import Question, Rollout


class PerQuestionBest(Untrained):
    """All agents are asked; a right answer is taken wherever there is one."""

    name = "per-question-best"

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of L calls a question; its candidate is the first agent that is right (0: none is).

        The reward is None where no answer is right and a call failed: that one might have been.
        """
        rollouts = []
        for group in ask_all_agents(pool, questions, seed=seed, replicate=replicate):
            rewards = [rollout.reward for rollout in group]
            best = rewards.index(1.0) if 1.0 in rewards else 0
            reward = 1.0 if 1.0 in rewards else None if None in rewards else 0.0
            rollouts.append(merged(group, group[best].answer, reward, candidate=best, replicate=replicate))
        return rollouts


class BestFixed(Untrained):
    """One agent a family, chosen on training questions. `chosen`: family -> agent number, after `fit`."""

    name = "best-fixed"

    def __init__(self) -> None:
        self.chosen: dict[str, int] = {}

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Asks every agent every training question once (replicate `seed`); ValueError where a family has no score."""
        agents = range(len(pool.agents))
        pairs = [(agent, question) for agent in agents for question in questions_train]
        self.training = ask_once(pool, pairs, seed=seed, replicates=[seed])
        self.chosen = {}
        for family in dict.fromkeys(question.family for question in questions_train):
            marks = [
                [r.reward for r in self.training if r.candidate == agent and r.question.family == family]
                for agent in agents
            ]
            known = [[reward for reward in row if reward is not None] for row in marks]
            means = [np.mean(row) if row else -1.0 for row in known]
            if max(means) < 0:
                raise ValueError(f"no training answer on family {family!r}: every call failed; see the turns' errors")
            self.chosen[family] = int(np.argmax(means))

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of one call a question, by its family's agent, which is the candidate."""
        missing = {question.family for question in questions} - set(self.chosen)
        if missing:
            raise ValueError(
                f"no agent was chosen for family {min(missing)!r}; fit on training questions of every family"
            )
        pairs = [(self.chosen[question.family], question) for question in questions]
        return ask_once(pool, pairs, seed=seed, replicates=[replicate])
