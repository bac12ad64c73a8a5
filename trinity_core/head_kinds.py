"""The five head architectures of A.4 (Tables 3 and 6), each for one candidate or a whole population at once.

A head knows its sizes alone. The weights stay outside, as flat theta (..., n), which `split` turns into named arrays
and `join` back; `logits` takes a population (lambda, n) through one matrix product per array. `heads.make_head` builds
the head of a given name.

Symbols: n_a -> `n_logits` = L + 3, L -> `n_agents`, r -> `rank`, theta (head part) -> `theta`. All float64.

Where A.4 leaves it open, we chose: every head but low-rank starts at zero, as the released run's vector does (which
makes half of the sparse head's dimensions active); tau is a sigmoid of its raw weight, stretched over [1, 20].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trinity_core.heads import ROLES, parameter_count, softmax


@dataclass(frozen=True)
class Head(ABC):
    """What all heads share: flat theta (..., n) <-> named arrays, and logits of a population at once."""

    n_agents: int
    d: int

    name: ClassVar[str]
    argmax: ClassVar[bool] = False  # whether the head decides by argmax instead of drawing (A.4)

    def __post_init__(self) -> None:
        parameter_count(self.n_agents, self.d)  # refuses sizes that no head has
        for name in ("n_agents", "d"):  # 7.0 is a whole number, but no size of an array
            object.__setattr__(self, name, int(getattr(self, name)))

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
        """theta (..., n) -> the named arrays, each (..., *shape), float64. Views where theta is float64 already.

        Raises ValueError if the last axis is not n long or a value is not finite.
        """
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim == 0 or theta.shape[-1] != self.size:
            found = theta.shape[-1] if theta.ndim else "a single number"
            raise ValueError(
                f"theta has {found} parameters; the {self.name} head of {self.n_agents} agents + {len(ROLES)} roles"
                f" at d = {self.d} needs {self.size}; cut off the SVF offsets first, or use this head's own theta"
            )
        if not np.isfinite(theta).all():
            raise ValueError("theta holds a value that is not finite; refuse this candidate before it acts")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])[:-1]
        flat = np.split(theta, ends, axis=-1)
        return {
            name: part.reshape(*theta.shape[:-1], *shape)
            for (name, shape), part in zip(self.shapes.items(), flat, strict=True)
        }

    def join(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """The inverse of `split`: named arrays (..., *shape) -> theta (..., n), float64.

        Raises ValueError if an array is missing, unknown or of another shape.
        """
        if arrays.keys() != self.shapes.keys():
            raise ValueError(f"the {self.name} head is made of {', '.join(self.shapes)}; given: {', '.join(arrays)}")
        flat = []
        for name, shape in self.shapes.items():
            array = np.asarray(arrays[name], dtype=np.float64)
            leading = array.ndim - len(shape)
            if leading < 0 or array.shape[leading:] != shape:
                raise ValueError(f"{name} has shape {array.shape}; the {self.name} head needs (..., *{shape})")
            flat.append(array.reshape(*array.shape[:leading], math.prod(shape)))
        return np.concatenate(flat, axis=-1)

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """Where training starts, theta (n,): zeros, as the released run's x0, unless A.4 gives the head its own."""
        return np.zeros(self.size)

    def logits(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        """theta (..., n), states (..., m, d) -> z (..., m, L+3), float64; the leading axes broadcast.

        (n,) on (m, d) is one candidate; (lambda, n) on (lambda, m, d) a population, each on its own states; (lambda, n)
        on (m, d) a population on common states. The last bits may depend on m, as in any BLAS product; with m = 1 a
        logit is free of what else is asked. Raises ValueError for sizes that do not fit.
        """
        return self._logits(self.split(theta), self._checked_states(theta, states))

    @abstractmethod
    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray: ...

    def _checked_states(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        states = np.asarray(states, dtype=np.float64)
        if states.ndim < 2 or states.shape[-1] != self.d:
            raise ValueError(
                f"states have shape {states.shape}; the {self.name} head reads (..., m, d) with d = {self.d};"
                " a single state h is h[None, :], and a head fits only the encoder that it was made for"
            )
        try:
            np.broadcast_shapes(np.shape(theta)[:-1], states.shape[:-2])
        except ValueError:
            raise ValueError(
                f"theta of shape {np.shape(theta)} does not fit states of shape {states.shape}: the axes before"
                " n and before (m, d) must agree, as in (lambda, n) with (lambda, m, d)"
            ) from None
        return states


class LinearHead(Head):
    """z = W h, W (n_a, d): d n_a weights."""

    name = "linear"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.n_logits, self.d)}

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        return _product(arrays["W"], states)


@dataclass(frozen=True)
class LowRankHead(Head):
    """z = sigma V ELU(U h), U (r, d), V (n_a, r), sigma = 3 fixed, ELU with alpha = 0.1: r (d + n_a) weights."""

    rank: int = 20  # Table 6's size; the text of A.4 says 14

    name = "low-rank"
    sigma: ClassVar[float] = 3.0
    alpha: ClassVar[float] = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank != int(self.rank) or self.rank < 1:
            raise ValueError(f"rank must be a whole number of at least 1, not {self.rank!r}; Table 6 has 20")
        object.__setattr__(self, "rank", int(self.rank))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"U": (self.rank, self.d), "V": (self.n_logits, self.rank)}

    def initial(self, generator: np.random.Generator) -> np.ndarray:
        """U ~ Unif(+-sqrt(6/(d+r))), then V ~ Unif(+-sqrt(18/(r+n_a))): at zero neither has a gradient."""
        bounds = {"U": math.sqrt(6 / (self.d + self.rank)), "V": math.sqrt(18 / (self.rank + self.n_logits))}
        return self.join({name: generator.uniform(-bounds[name], bounds[name], s) for name, s in self.shapes.items()})

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        hidden = _product(arrays["U"], states)
        # expm1 sees no positive number, so it cannot overflow
        hidden = np.where(hidden > 0, hidden, self.alpha * np.expm1(np.minimum(hidden, 0)))
        return self.sigma * _product(arrays["V"], hidden)


class SparseHead(Head):
    """z = W (h * gate): W (n_a, d), a score per dimension s (d,), rho and tau's raw value: d n_a + d + 2 weights.

    Of d dimensions k = max(1, floor(d (1 - sigmoid(rho)))) are active. The gate is 1 on the k highest scores, else 0
    (the lowest index on a tie). While training it is soft: k softmax((s + Gumbel noise) / tau), which sums to k.
    tau = 1 + 19 sigmoid(raw).
    """

    name = "sparse"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W": (self.n_logits, self.d), "s": (self.d,), "rho": (1,), "tau": (1,)}

    def logits(
        self, theta: np.ndarray, states: np.ndarray, *, training: bool = False, gumbel: np.ndarray | None = None
    ) -> np.ndarray:
        """As `Head.logits`; with training=True through the soft gate and `gumbel` (..., d), one noise vector a theta.

        Raises ValueError also for noise that is missing while training (generator.gumbel; zeros for none), given
        otherwise, or of a shape that does not fit theta.
        """
        arrays, states = self.split(theta), self._checked_states(theta, states)
        gate = self.gate(arrays, training=training, gumbel=gumbel)
        return self._logits(arrays | {"W": arrays["W"] * gate[..., None, :]}, states)  # W (h * gate) = (W * gate) h

    def gate(
        self, arrays: dict[str, np.ndarray], *, training: bool = False, gumbel: np.ndarray | None = None
    ) -> np.ndarray:
        """What multiplies the hidden state, (..., d), from `split`'s arrays; errors as in `logits`."""
        scores = arrays["s"]
        active = np.maximum(1, np.floor(self.d * _sigmoid(-arrays["rho"])))  # 1 - sigmoid(rho) = sigmoid(-rho)
        if training != (gumbel is not None):
            raise ValueError(
                "the soft gate (training=True) and Gumbel noise (..., d) go together: give both or neither"
            )
        if not training:
            gate, kept = np.zeros_like(scores), (np.arange(self.d) < active).astype(np.float64)
            np.put_along_axis(gate, np.argsort(-scores, axis=-1, kind="stable"), kept, axis=-1)
            return gate
        gumbel = np.asarray(gumbel, dtype=np.float64)
        if gumbel.shape != scores.shape:
            raise ValueError(f"gumbel has shape {gumbel.shape}; one number per score makes {scores.shape}")
        return active * softmax((scores + gumbel) / (1 + 19 * _sigmoid(arrays["tau"])))

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        return _product(arrays["W"], states)


@dataclass(frozen=True)
class BlockDiagonalHead(Head):
    """Each block of logits reads its own block of hidden dimensions: z_b = W_b h_b.

    Two blocks: ceil(n_a/2) logits and the rest, dimensions in proportion (rounded down for the first block): d n_a / 2
    weights at an even n_a. One block per logit: the first (d mod n_a) blocks have one dimension more; d weights, and
    the decision by argmax.
    """

    per_logit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        blocks = self.n_logits if self.per_logit else 2
        if self.d < blocks:
            raise ValueError(f"d = {self.d} is too small for {blocks} blocks; each needs a dimension of its own")

    @property
    def name(self) -> str:
        return "block-diagonal-10" if self.per_logit else "block-diagonal-2"

    @property
    def argmax(self) -> bool:
        return self.per_logit

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        if self.per_logit:
            narrow, wider = divmod(self.d, self.n_logits)
            blocks = [(1, narrow + (block < wider)) for block in range(self.n_logits)]
        else:
            rows = -(-self.n_logits // 2)
            width = self.d * rows // self.n_logits
            blocks = [(rows, width), (self.n_logits - rows, self.d - width)]
        return {f"W{block}": shape for block, shape in enumerate(blocks)}

    def _logits(self, arrays: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
        ends = np.cumsum([weights.shape[-1] for weights in arrays.values()])
        return np.concatenate(
            [
                _product(weights, states[..., end - weights.shape[-1] : end])
                for weights, end in zip(arrays.values(), ends, strict=True)
            ],
            axis=-1,
        )


def _product(weights: np.ndarray, states: np.ndarray) -> np.ndarray:
    """weights (..., k, d), states (..., m, d) -> (..., m, k): one matrix product for a whole population."""
    return states @ np.swapaxes(weights, -1, -2)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))  # unlike 1 / (1 + exp(-x)) it cannot overflow
