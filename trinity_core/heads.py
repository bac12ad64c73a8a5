"""From a hidden state to a decision: the heads, the two softmaxes, the draw (sections 3.1 and A.4; Tables 3 and 6).

A head maps the hidden state h (d numbers) of a transcript to n_a = L + 3 logits z: one for each of the L agents, then
one for each role. A *separate* softmax over either part gives the chances of the agents and of the roles, and agent and
role are drawn independently. The main head is a plain matrix without bias, z = W h; A.4 has four others. A head knows
its sizes alone; its weights stay outside, as flat theta (..., n).

Departures: the caller hands in the uniform numbers of the draw (the released loop: one global, unseeded generator).
Where A.4 leaves it open, every head but low-rank starts at zero, as the released run's vector does (half of the sparse
head's dimensions then act), and tau is a sigmoid of its raw weight, stretched over [1, 20]. All float64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from trinity_core.checks import one_of, whole
from trinity_core.types import ROLES


@dataclass(frozen=True)
class Head(ABC):
    """What all heads share: flat theta (..., n) <-> named arrays, and logits of a population at once."""

    n_agents: int
    d: int

    name: ClassVar[str]
    argmax: ClassVar[bool] = False  # whether the head decides by argmax instead of drawing (A.4)

    def __post_init__(self) -> None:
        whole("n_agents", self.n_agents, 1)
        whole("d", self.d, 1)

    @property
    def n_logits(self) -> int:
        """n_a = L + 3."""
        return self.n_agents + len(ROLES)

    @property
    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The head's arrays by name, in their order within the flat vector; each lies there row-major."""

    @property
    def size(self) -> int:
        """n, the number of weights (Table 6)."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def split(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """theta (..., n), finite -> the named arrays, each (..., *shape), float64: views where theta is float64."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim == 0 or theta.shape[-1] != self.size:
            found = theta.shape[-1] if theta.ndim else "a single number"
            raise ValueError(
                f"theta has {found} parameters; the {self.name} head of {self.n_agents} agents + {len(ROLES)} roles"
                f" at d = {self.d} needs {self.size}; cut off the SVF offsets first, or use this head's own theta"
            )
        if not np.isfinite(theta).all():
            raise ValueError("theta holds a value that is not finite; refuse this candidate before it acts")
        found, start = {}, 0
        for name, shape in self.shapes.items():
            end = start + math.prod(shape)
            found[name], start = theta[..., start:end].reshape(*theta.shape[:-1], *shape), end
        return found

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """Where training starts, theta (n,): zeros, as the released run's x0, unless A.4 gives the head its own."""
        return np.zeros(self.size)

    def logits(self, theta: np.ndarray, states: np.ndarray, **settings: Any) -> np.ndarray:
        """theta (..., n), states (..., m, d) -> z (..., m, L+3), float64; the leading axes broadcast.

        (lambda, n) on (lambda, m, d) is a population, each on its own states; on (m, d) one on common states. The last
        bits may depend on m, as in any BLAS product; with m = 1 a logit is free of what else is asked. `settings`: the
        sparse head's `gumbel`. ValueError for sizes that differ.
        """
        arrays, states = self.split(theta), np.asarray(states, dtype=np.float64)
        if states.ndim < 2 or states.shape[-1] != self.d:
            raise ValueError(
                f"states have shape {states.shape}; this head reads (..., m, d), d = {self.d}: h as h[None]"
            )
        try:
            np.broadcast_shapes(np.shape(theta)[:-1], states.shape[:-2])
        except ValueError:
            shapes = f"theta of shape {np.shape(theta)} does not fit states of shape {states.shape}"
            raise ValueError(f"{shapes}: give (lambda, n) and (lambda, m, d), or (n,) or (m, d) for all") from None
        return self._logits(arrays, states, **settings)

    @abstractmethod
    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray: ...


class LinearHead(Head):
    """z = W h, W (n_a, d): d n_a weights."""

    name = "linear"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.n_logits, self.d)}

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        return states @ arrays["W"].mT


@dataclass(frozen=True)
class LowRankHead(Head):
    """z = 3 V ELU(U h), U (r, d), V (n_a, r), ELU with alpha = 0.1: r (d + n_a) weights."""

    rank: int = 20  # Table 6's size; the text of A.4 says 14

    name = "low-rank"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("rank", self.rank, 1)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"U": (self.rank, self.d), "V": (self.n_logits, self.rank)}

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """U ~ Unif(+-sqrt(6/(d+r))), then V ~ Unif(+-sqrt(18/(r+n_a))): at zero neither has a gradient."""
        bounds = {"U": math.sqrt(6 / (self.d + self.rank)), "V": math.sqrt(18 / (self.rank + self.n_logits))}
        drawn = [generator.uniform(-bounds[name], bounds[name], shape) for name, shape in self.shapes.items()]
        return np.concatenate([array.ravel() for array in drawn])

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        hidden = states @ arrays["U"].mT
        # expm1 sees no positive number, so it cannot overflow
        hidden = np.where(hidden > 0, hidden, 0.1 * np.expm1(np.minimum(hidden, 0)))
        return 3.0 * (hidden @ arrays["V"].mT)


class SparseHead(Head):
    """z = W (h * gate): W (n_a, d), a score per dimension s (d,), rho and tau's raw value: d n_a + d + 2 weights.

    k = max(1, floor(d (1 - sigmoid(rho)))) dimensions act: the gate is 1 on the k highest scores (the lowest index on
    a tie), else 0. In training it is soft: k softmax((s + Gumbel noise) / tau), tau = 1 + 19 sigmoid(raw).
    """

    name = "sparse"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.n_logits, self.d), "s": (self.d,), "rho": (1,), "tau": (1,)}

    def gate(self, arrays: dict[str, np.ndarray], gumbel: np.ndarray | None = None) -> np.ndarray:
        """What multiplies the hidden state, (..., d), from `split`'s arrays; soft with `gumbel` noise (..., d)."""
        scores = arrays["s"]
        active = np.maximum(1, np.floor(self.d * _sigmoid(-arrays["rho"])))  # 1 - sigmoid(rho) = sigmoid(-rho)
        if gumbel is None:
            gate, kept = np.zeros_like(scores), (np.arange(self.d) < active).astype(np.float64)
            np.put_along_axis(gate, np.argsort(-scores, axis=-1, kind="stable"), kept, axis=-1)
            return gate
        gumbel = np.asarray(gumbel, dtype=np.float64)
        if gumbel.shape != scores.shape:
            raise ValueError(f"gumbel has shape {gumbel.shape}; one number per score makes {scores.shape}")
        return active * softmax((scores + gumbel) / (1 + 19 * _sigmoid(arrays["tau"])))

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray, gumbel: Any = None) -> np.ndarray:
        gated = arrays["W"] * self.gate(arrays, gumbel)[..., None, :]
        return states @ gated.mT  # W (h * gate) = (W * gate) h


class BlockDiagonalHead(Head):
    """Two blocks of logits, ceil(n_a/2) and the rest, each reads its own block of hidden dimensions, in proportion:
    z_b = W_b h_b, d n_a / 2 weights at an even n_a."""

    name = "block-diagonal-2"

    def __post_init__(self) -> None:
        super().__post_init__()
        blocks = self.shapes.values()
        if min(width for _, width in blocks) < 1:
            raise ValueError(f"d = {self.d} is too small for {len(blocks)} blocks; each needs a dimension of its own")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        rows = -(-self.n_logits // 2)
        width = self.d * rows // self.n_logits
        return {"W0": (rows, width), "W1": (self.n_logits - rows, self.d - width)}

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        parts, start = [], 0
        for weights in arrays.values():
            end = start + weights.shape[-1]
            parts.append(states[..., start:end] @ weights.mT)
            start = end
        return np.concatenate(parts, axis=-1)


class PerLogitHead(BlockDiagonalHead):
    """A block per logit (10 at the paper's L = 7), the first (d mod n_a) with one dimension more: d weights, argmax."""

    name = "block-diagonal-10"
    argmax = True

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        narrow, wider = divmod(self.d, self.n_logits)
        return {f"W{block}": (1, narrow + (block < wider)) for block in range(self.n_logits)}


TABLE_3 = (LinearHead, LowRankHead, SparseHead, BlockDiagonalHead, PerLogitHead)
HEADS: dict[str, type[Head]] = {head.name: head for head in TABLE_3}


def make_head(name: str, n_agents: int, d: int, **settings: int) -> Head:
    """The head called `name` (one of HEADS) for L agents and hidden states of d numbers; `settings`: rank=20 (default,
    the printed size) or rank=14 (the text's) for "low-rank". ValueError names what does not exist or fit."""
    one_of("head", name, HEADS)
    if unknown := [key for key in settings if (name, key) != ("low-rank", "rank")]:
        raise ValueError(f"the {name} head has no setting {unknown[0]!r}; only 'low-rank' has one: rank=20 or rank=14")
    return HEADS[name](n_agents, d, **settings)


class Decision(NamedTuple):
    """Chosen agents and roles, int64, each of shape (...): indices into the pool's order and into `ROLES`."""

    agents: np.ndarray
    roles: np.ndarray


def agent_role_probabilities(logits: np.ndarray, n_agents: int) -> tuple[np.ndarray, np.ndarray]:
    """Two separate softmaxes: finite logits (..., L+3) -> agents (..., L) and roles (..., 3), each summing to 1."""
    logits = _checked(logits, n_agents)
    return softmax(logits[..., :n_agents]), softmax(logits[..., n_agents:])


def decide(logits: np.ndarray, n_agents: int, *, mode: str = "sample", uniforms: np.ndarray | None = None) -> Decision:
    """The agent and the role of every row of `logits` (..., L+3), as arrays of shape (...).

    mode "sample" draws both by inverse CDF from `uniforms` (..., 2) in [0, 1): [..., 0] picks the agent, [..., 1] the
    role. mode "argmax" takes the largest logit, the lowest index on a tie. ValueError names what does not fit.
    """
    one_of("decision mode", mode, ("sample", "argmax"))
    if mode == "argmax":
        logits = _checked(logits, n_agents)
        return Decision(np.argmax(logits[..., :n_agents], axis=-1), np.argmax(logits[..., n_agents:], axis=-1))
    agents, roles = agent_role_probabilities(logits, n_agents)
    shape = (*agents.shape[:-1], 2)
    if uniforms is None or np.shape(uniforms) != shape:
        found = "none" if uniforms is None else f"shape {np.shape(uniforms)}"
        raise ValueError(f"mode 'sample' needs uniforms (agent, role) of shape {shape}, not {found}; or use 'argmax'")
    uniforms = np.asarray(uniforms, dtype=np.float64)
    inside = (uniforms >= 0.0) & (uniforms < 1.0)
    if not inside.all():
        raise ValueError(f"uniform {uniforms[~inside][0]} is outside [0, 1)")
    return Decision(_inverse_cdf(agents, uniforms[..., 0]), _inverse_cdf(roles, uniforms[..., 1]))


def softmax(logits: np.ndarray) -> np.ndarray:
    """The chances e^z / sum e^z along the last axis of finite `logits` (..., k); huge logits do not overflow."""
    with np.errstate(over="ignore"):  # the gap between two huge logits may reach -inf, whose exp is rightly 0
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def _inverse_cdf(probabilities: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=-1)
    # Rounding can leave the last sum below 1; dividing makes it exactly 1, above every uniform.
    cumulative /= cumulative[..., -1:]
    return np.count_nonzero(cumulative <= uniform[..., None], axis=-1)


def _checked(logits: np.ndarray, n_agents: int) -> np.ndarray:
    logits, expected = np.asarray(logits, dtype=np.float64), n_agents + len(ROLES)
    if logits.ndim == 0 or logits.shape[-1] != expected:
        raise ValueError(f"logits of shape {logits.shape} do not end in {expected} = {n_agents} agents + 3 roles")
    if not np.isfinite(logits).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(logits))[0])
        raise ValueError(f"logit {logits[where]} at {where} is not finite; look for overflow in the head or the states")
    return logits


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))  # unlike 1 / (1 + exp(-x)) it cannot overflow
