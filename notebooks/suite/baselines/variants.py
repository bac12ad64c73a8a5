"""What is changed about a task to see what it is worth: a head that may not choose everything, whitened states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trinity_core.heads import Head
from trinity_core.types import ROLES

NEVER = -1e9  # a forbidden logit: finite, since logits must be; e^(NEVER - any usual logit) is 0 in float64


@dataclass(frozen=True)
class MaskedHead(Head):
    """`head` that never chooses the logits `forbidden` (indices), which `label` names: an ablation of Table 2. theta
    keeps its length, so it is trained by the same optimiser with the same population and draws."""

    head: Head
    forbidden: tuple[int, ...]
    label: str

    name = property(lambda self: f"{self.head.name} without {self.label}")
    argmax = property(lambda self: self.head.argmax)
    shapes = property(lambda self: self.head.shapes)

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """As the head itself starts."""
        return self.head.initial(generator)

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray, **settings: Any) -> np.ndarray:
        logits = self.head._logits(arrays, states, **settings)
        logits[..., self.forbidden] = NEVER
        return logits


def without(head: Head, names: Sequence[str], agents: Sequence[str]) -> MaskedHead:
    """`head` that never chooses the roles and agents called `names`; `agents`: the pool's names in its order.

    ValueError for an unknown name, for a set that leaves no agent or no role, and for a role that a Thinker could still
    name: its word goes before the head's.
    """
    options = [*agents, *ROLES]
    if unknown := [name for name in names if name not in options]:
        raise ValueError(f"cannot do without {unknown[0]!r}; choose among {', '.join(options)}")
    for kind, members in (("agent", agents), ("role", ROLES)):
        if set(members) <= set(names):
            raise ValueError(f"without {', '.join(names)} no {kind} is left; keep at least one")
    if "thinker" not in names and (named := [role for role in ROLES if role in names]):
        raise ValueError(f"a Thinker could still name the {named[0]}; leave the thinker out as well")
    forbidden = tuple(place for place, name in enumerate(options) if name in names)
    return MaskedHead(head.n_agents, head.d, head, forbidden, ", ".join(options[place] for place in forbidden))


@dataclass(frozen=True)
class Whitening:
    """h -> A h, with A = (M + shrink * tr(M)/d * I)^(-1/2) of some states' second moments M = E[h h^T] (d, d).

    A head W on whitened features is the linear head W A, in coordinates where one step size fits all directions. The
    states' mean is not taken out: through it, a head without bias prefers an agent everywhere.
    """

    matrix: np.ndarray

    @classmethod
    def fit(cls, states: np.ndarray, shrink: float = 0.1) -> Whitening:
        """From states (n, d)."""
        states = np.asarray(states, np.float64)
        values, vectors = np.linalg.eigh(states.T @ states / len(states))
        scale = 1.0 / np.sqrt(np.maximum(values, 0.0) + shrink * values.mean())
        return cls((vectors * scale) @ vectors.T)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """(..., d) -> (..., d)."""
        return states @ self.matrix
