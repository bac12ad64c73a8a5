"""Every baseline of A.7.1, over the same pool and questions, each giving the same rollouts as the coordinator.

`make_baseline(name)`, then `fit` on training questions, then `run`. `seed`: of the baseline's own draws and training;
`replicate`: of the agents' draws, in which repetitions differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from suite.baselines.committee import Majority, MixtureOfAgents
from suite.baselines.llm_coordinator import LLMCoordinator
from suite.baselines.masrouter import MasRouter
from suite.baselines.routerdc import RouterDC
from suite.baselines.single import BestFixed, PerQuestionBest, RandomAgent, SelfReflection, Single, SingleLarger
from suite.baselines.smoothie import Smoothie
from trinity_core.encoder import Encoder


class Factory(NamedTuple):
    """What makes a baseline, what it is in one line, and whether it reads texts with an encoder."""

    make: Callable[..., Any]
    line: str
    encoder: bool = False


BASELINES = {
    "single": Factory(Single, "each agent alone, one call a question"),
    "single-5x": Factory(SingleLarger, "each agent alone with five times the output cap"),
    "self-reflection": Factory(SelfReflection, "each agent alone: answer, reflection, answer, ... (5 turns)"),
    "random-agent": Factory(RandomAgent, "an agent at random each turn, always Worker (5 turns)"),
    "random-agent-role": Factory(partial(RandomAgent, role=None), "agent and role at random each turn (at most 5)"),
    "majority": Factory(Majority, "each agent alone: the majority of 5 answers"),
    "moa": Factory(MixtureOfAgents, "every agent proposes, one at random aggregates (8 calls with 7 agents)"),
    "routerdc": Factory(RouterDC, "routes a question by its embedding, dual contrastive training", True),
    "smoothie-independent": Factory(
        partial(Smoothie, kind="independent"), "label-free, from all outputs: one agent for the whole set", True
    ),
    "smoothie-dependent": Factory(
        partial(Smoothie, kind="dependent"), "label-free, from all outputs: an agent a question", True
    ),
    "masrouter": Factory(MasRouter, "a learned cascade: collaboration mode, roles, an agent a role", True),
    "llm-coordinator": Factory(LLMCoordinator, "a language model prompted to name agent and role"),
    "per-question-best": Factory(PerQuestionBest, "the union of all agents' right answers (a bound)"),
    "best-fixed": Factory(BestFixed, "one agent a family, the best on the training questions"),
}


def make_baseline(name: str, *, encoder: Encoder | None = None, **settings: Any) -> Any:
    """The baseline of that name. ValueError for another name, or where one that reads texts gets no encoder."""
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}; choose one of {', '.join(BASELINES)}")
    factory = BASELINES[name]
    if factory.encoder and encoder is None:
        raise ValueError(f"baseline {name} reads texts: pass encoder=load_encoder(...)")
    return factory.make(**({"encoder": encoder} if factory.encoder else {}), **settings)
