"""What choosing well among single answers could give: per question in hindsight, and per family from training (A.7.1).

Per-question best: the union of all agents' right answers, asked as in `single` with the same replicate. It knows the
reference, so it is a bound on methods that pass on one of these answers, and no system. Best fixed agent per family:
the highest mean on the family's training questions (the first on a tie); failed calls are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from suite.baselines.base import Untrained, ask_all_agents, ask_once, failed, merged
from suite.stats.rollouts import rollouts_table
from trinity_core.pool import Pool
from trinity_core.types import Question, Rollout


class PerQuestionBest(Untrained):
    """All agents are asked; a right answer is taken wherever there is one."""

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of L calls a question; its candidate is the first agent that is right (0: none is).

        The reward is None where no answer is right and a call failed: that one might have been.
        """
        rollouts = []
        for group in ask_all_agents(pool, questions, seed=seed, replicate=replicate):
            best = next((agent for agent, rollout in enumerate(group) if rollout.reward == 1), 0)
            chosen = group[best] if group[best].reward else failed(group) or group[best]
            rollouts.append(merged(group, chosen, candidate=best, replicate=replicate))
        return rollouts


class BestFixed(Untrained):
    """One agent a family, chosen on training questions. `chosen`: family -> agent number, after `fit`."""

    def __init__(self) -> None:
        self.chosen: dict[str, int] = {}

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Asks every agent every training question once (replicate `seed`); ValueError where a family has no score."""
        asked = ask_all_agents(pool, questions_train, seed=seed, replicate=seed)
        self.training = [rollout for column in zip(*asked, strict=True) for rollout in column]  # agent by agent
        means = rollouts_table(self.training).pivot_table(values="reward", index="family", columns="candidate")
        for family in dict.fromkeys(question.family for question in questions_train):
            if family not in means.index:
                raise ValueError(f"no training answer on family {family!r}: every call failed; see the turns' errors")
        self.chosen = means.idxmax(axis=1).to_dict()

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of one call a question, by its family's agent, which is the candidate."""
        missing = {question.family for question in questions} - set(self.chosen)
        if missing:
            raise ValueError(f"no agent was chosen for family {min(missing)!r}; fit on training questions of every one")
        pairs = [(self.chosen[question.family], question) for question in questions]
        return ask_once(pool, pairs, seed=seed, replicates=[replicate])
