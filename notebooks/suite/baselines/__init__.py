"""Every baseline of A.7.1, over the same pool and questions, each giving the same rollouts as the coordinator.

    rollouts = run_baseline("moa", pool, questions_test, seed=0)

`BASELINES` names them; `trinity baselines --list` prints what each is. A baseline's module is imported
when it is made, so the list costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trinity_core.encoder import Encoder
    from trinity_core.pool import Pool
    from trinity_core.types import Question, Rollout

__all__ = ["BASELINES", "Factory", "make_baseline", "run_baseline"]


@dataclass(frozen=True)
class Factory:
    """What makes a baseline: `module:class` under this package, what it is in one line, whether it reads texts with an
    encoder, and the class's settings under this name."""

    target: str
    line: str
    encoder: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **settings: Any) -> Any:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)(**(self.settings | settings))


BASELINES: dict[str, Factory] = {
    "single": Factory("single:Single", "each agent alone, one call a question"),
    "single-5x": Factory("single:SingleLarger", "each agent alone with five times the output cap"),
    "self-reflection": Factory("single:SelfReflection", "each agent alone: answer, reflection, answer, ... (5 turns)"),
    "random-agent": Factory("single:RandomAgent", "an agent at random each turn, always Worker (5 turns)"),
    "random-agent-role": Factory("single:RandomAgentRole", "agent and role at random each turn (at most 5)"),
    "majority": Factory("committee:Majority", "each agent alone: the majority of 5 answers"),
    "moa": Factory(
        "committee:MixtureOfAgents", "every agent proposes, one at random aggregates (8 calls with 7 agents)"
    ),
    "routerdc": Factory("routerdc:RouterDC", "routes a question by its embedding, dual contrastive training", True),
    "smoothie-independent": Factory(
        "smoothie:Smoothie", "label-free, from all outputs: one agent for the whole set", True, {"kind": "independent"}
    ),
    "smoothie-dependent": Factory(
        "smoothie:Smoothie", "label-free, from all outputs: an agent a question", True, {"kind": "dependent"}
    ),
    "masrouter": Factory("masrouter:MasRouter", "a learned cascade: collaboration mode, roles, an agent a role", True),
    "llm-coordinator": Factory("llm_coordinator:LLMCoordinator", "a language model prompted to name agent and role"),
    "per-question-best": Factory("oracle:PerQuestionBest", "the union of all agents' right answers (a bound)"),
    "best-fixed": Factory("oracle:BestFixed", "one agent a family, the best on the training questions"),
}


def make_baseline(name: str, *, encoder: Encoder | None = None, **settings: Any) -> Any:
    """The baseline of that name. ValueError for another name, or where one that reads texts gets no encoder."""
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}; choose one of {', '.join(BASELINES)}")
    factory = BASELINES[name]
    if factory.encoder:
        if encoder is None:
            raise ValueError(f"baseline {name} reads texts: pass encoder=load_encoder(...)")
        settings = {"encoder": encoder, **settings}
    return factory(**settings)


def run_baseline(
    name: str,
    pool: Pool,
    questions_test: Sequence[Question],
    questions_train: Sequence[Question] = (),
    *,
    seed: int = 0,
    replicate: int = 0,
    encoder: Encoder | None = None,
    **settings: Any,
) -> list[Rollout]:
    """Makes a baseline, fits it on the training questions, and runs it on the test questions.

    `seed`: of the baseline's own draws and training. `replicate`: of the agents' draws; replicates are what independent
    repetitions differ in. Rollouts are in the questions' order; for baselines of single agents, agent by agent.
    """
    baseline = make_baseline(name, encoder=encoder, **settings)
    baseline.fit(pool, questions_train, seed=seed)
    return baseline.run(pool, questions_test, seed=seed, replicate=replicate)
