"""Who plays: the interface of every world, the rollouts of a population as arrays, and the rules of a turn, once.

A world holds questions and agents and plays whole populations of heads on them (`World`); what comes of it is `Plays`.
The reference loop (`rollout`) and the compiled worlds share the rules below, which work on arrays with an entry a
rollout under way.

Symbols: lambda -> candidates, m -> rollouts a candidate, K -> turns, L -> agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from trinity_core.types import ROLES

WORKER, THINKER, VERIFIER = range(3)
NOBODY = -1
STOPS = ("turn limit", "accepted", "verifier before answer", "failed call")
GOES_ON, ACCEPTED, EARLY, FAILED = range(len(STOPS))  # a rollout that has not ended will end at the turn limit


@dataclass(frozen=True)
class Plays:
    """Rollouts of a population, each array (lambda, m) or, with a turn axis, (lambda, m, K).

    `reward` is NaN for a failed rollout. `nodes` are the transcripts that were read, `agents` and `roles` who acted,
    -1 where there was no such turn; `named`: that turn's role was named by a Thinker, not drawn from the head.
    """

    questions: np.ndarray  # index into the world's questions
    replicates: np.ndarray
    reward: np.ndarray
    turns: np.ndarray
    stop: np.ndarray  # index into STOPS
    tokens_in: np.ndarray
    tokens_out: np.ndarray
    cost: np.ndarray
    nodes: np.ndarray
    agents: np.ndarray
    roles: np.ndarray
    named: np.ndarray
    n_agents: int

    @property
    def fitness(self) -> np.ndarray:
        """(lambda,): the mean reward of each candidate over the rollouts that did not fail; NaN where all did."""
        good = np.isfinite(self.reward)
        count = good.sum(axis=1)
        total = np.where(good, self.reward, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    @property
    def called(self) -> np.ndarray:
        """(lambda, m, K) bool: the turns in which somebody was asked; a Verifier before an answer is not."""
        last = np.arange(self.roles.shape[-1]) == self.turns[..., None] - 1
        return (self.roles >= 0) & ~(last & (self.stop == EARLY)[..., None])

    def agent_share(self) -> np.ndarray:
        """(L,): the share of the turns that each agent had (Figure 6)."""
        return _shares(self.agents, self.n_agents)

    def role_share(self) -> np.ndarray:
        """(3,): the share of the turns in each role, in the order of `ROLES`."""
        return _shares(self.roles, len(ROLES))


def _shares(values: np.ndarray, count: int) -> np.ndarray:
    counts = np.bincount(values[values >= 0].ravel(), minlength=count)
    return counts / max(counts.sum(), 1)


@runtime_checkable
class World(Protocol):
    """Questions and L agents, ready to play populations. A node is a transcript; node i < n is question i alone."""

    questions: Sequence[Any]  # each with `id` and `family`
    pool: Any  # its `agents` have names
    n_agents: int
    d: int  # of the hidden states

    def describe(self) -> dict[str, Any]:
        """Everything that a rollout depends on but the coordinator and what live agents answer; JSON."""
        ...

    def states(self, nodes: np.ndarray) -> np.ndarray:
        """Hidden states (..., d), float64, of nodes (...)."""
        ...

    def solve(self, agents: np.ndarray, questions: np.ndarray, replicates: np.ndarray) -> np.ndarray:
        """Rewards (batch,) of single-step rollouts: each agent alone, as the Worker of turn 1, on its question; NaN
        for a failed call."""
        ...

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
        (batch,) -> (batch, d) replaces the world's own states (SVF); ValueError where a world cannot be played so.
        `mode` ("sample", "argmax") replaces the world's own.
        """
        ...


# --- the rules of a turn, for rollouts (batch,) under way; roles as places in ROLES ---


class After(NamedTuple):
    """What a turn leaves, each (batch,): `stop`, a place in STOPS; `named`, the role of the next turn, -1 for the
    head's; `answers`, whether the message became the answer (the latest one counts)."""

    stop: np.ndarray
    named: np.ndarray
    answers: np.ndarray


def acting_roles(drawn: np.ndarray, named: np.ndarray) -> np.ndarray:
    """(batch,): the role that the Thinker of the turn before has named, if any, in place of the one `drawn`."""
    return np.where(named == NOBODY, drawn, named)


def too_early(roles: np.ndarray, answered: np.ndarray) -> np.ndarray:
    """(batch,): a Verifier acts before there is any answer, so nobody is asked."""
    return (roles == VERIFIER) & ~answered


def after_turn(
    roles: np.ndarray,
    answered: np.ndarray,
    whole: np.ndarray,
    accepts: np.ndarray,
    suggested: np.ndarray,
    failed: np.ndarray | bool = False,
) -> After:
    """The rules of a turn, from who acted in which role and what was said, each (batch,).

    `answered`: there was an answer before; `whole`: the message says something and was not cut; `accepts`: as a verdict
    it is ACCEPT; `suggested`: the role that it names, or -1; `failed`: the call failed for good. What a role may not do
    (a Worker who accepts) is not looked at.
    """
    ended = np.where((roles == VERIFIER) & accepts, ACCEPTED, GOES_ON)
    stop = np.where(too_early(roles, answered), EARLY, np.where(failed, FAILED, ended))
    return After(stop, np.where(roles == THINKER, suggested, NOBODY), (roles == WORKER) & whole)


def rewards(stop: np.ndarray, right: np.ndarray) -> np.ndarray:
    """R of ended rollouts: whether the latest answer is right (False: there is none), 0 after an early Verifier, NaN
    after a failed call, which is left out of every mean and never a wrong answer."""
    return np.where(stop == FAILED, np.nan, np.where(stop == EARLY, 0.0, right))
