"""A head that may not choose everything: what the ablations of Table 2 take away.

The logits of forbidden agents and roles are set to one number so low that their chance is exactly 0. theta keeps its
length, so an ablation is trained by the same optimiser with the same population and draws; its numbers for what is
forbidden have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trinity_core.head_kinds import Head
from trinity_core.heads import ROLES

NEVER = -1e9  # finite, since logits must be; e^(NEVER - any usual logit) is 0 in float64


@dataclass(frozen=True)
class MaskedHead(Head):
    """`head` with the logits `forbidden` (indices) taken out; `label` names them. Made by `without`."""

    head: Head
    forbidden: tuple[int, ...]
    label: str

    @property
    def name(self) -> str:
        return f"{self.head.name} without {self.label}"

    @property
    def argmax(self) -> bool:
        return self.head.argmax

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.head.shapes

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """As the head itself starts."""
        return self.head.initial(generator)

    def logits(self, theta: np.ndarray, states: np.ndarray, **settings: Any) -> np.ndarray:
        """The head's own logits (..., m, L+3), `NEVER` where an agent or role is forbidden."""
        logits = np.array(self.head.logits(theta, states, **settings))
        logits[..., self.forbidden] = NEVER
        return logits

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        return self.head._logits(arrays, states)


def without(head: Head, names: Sequence[str], agents: Sequence[str]) -> MaskedHead:
    """`head` that never chooses the roles and agents called `names`; `agents`: the pool's names in its order.

    ValueError for a name that is neither, for a set that leaves no agent or no role, and for a role that a Thinker
    could still name: its word goes before the head's.
    """
    options = [*agents, *ROLES]
    if len(agents) != head.n_agents:
        raise ValueError(f"{len(agents)} agents' names for a head of {head.n_agents}; give the pool's own, in order")
    if isinstance(names, str) or not names:
        raise ValueError(f"without {names!r}: give a tuple of at least one name, such as ('thinker',)")
    if unknown := [name for name in names if name not in options]:
        raise ValueError(f"cannot do without {unknown[0]!r}; choose among {', '.join(options)}")
    for kind, members in (("agent", agents), ("role", ROLES)):
        if set(members) <= set(names):
            raise ValueError(f"without {', '.join(names)} no {kind} is left; keep at least one")
    if "thinker" not in names and (named := [role for role in ROLES if role in names]):
        raise ValueError(f"a Thinker could still name the {named[0]}; leave the thinker out as well")
    forbidden = tuple(place for place, name in enumerate(options) if name in names)
    return MaskedHead(head.n_agents, head.d, head, forbidden, ", ".join(options[place] for place in forbidden))
