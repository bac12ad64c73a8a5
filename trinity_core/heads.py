"""From a hidden state to a decision: the linear head, the two softmaxes, the draw (sections 3.1 and A.4).

A head maps the hidden state h (d numbers) of a transcript to L + 3 logits z: one for each of the L agents, then one
for each role. A *separate* softmax over either part gives the chances of the agents and of the roles, and agent and
role are drawn independently. The main head is a plain matrix without bias, z = W h, W in R^((L+3) x d): row a scores
agent a, row L + r scores role r.

Symbols: h -> `states`, W -> `weights`, z -> `logits`, L -> `n_agents`, theta (head part) -> `theta`, row-major W.

The linear head is two functions: `linear_from_flat`, from flat parameters to arrays, and `linear_logits`, from arrays
and states to logits. `make_head` gives it and the four other architectures of A.4 (module `head_kinds`) one interface.
What follows the logits is the same for every head.

Departure: the released loop draws from one global, unseeded generator. Here the caller hands in the uniform numbers, so
a decision depends on its own two numbers alone, not on what else is in the batch or was drawn before.
All arithmetic is float64, whatever the encoder's precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from trinity_core.head_kinds import Head

# The order of the last three logits (METHOD.md section 2; the released code calls the Worker "solver").
ROLES = ("worker", "thinker", "verifier")

# Table 3's heads, in its order.
HEAD_NAMES = ("linear", "low-rank", "sparse", "block-diagonal-2", "block-diagonal-10")


class Decision(NamedTuple):
    """Chosen agents and roles, int64, each of shape (...): indices into the pool's order and into `ROLES`."""

    agents: np.ndarray
    roles: np.ndarray


def parameter_count(n_agents: int, d: int) -> int:
    """How many weights the linear head has: (L + 3) d, which is 10,240 at L = 7 and d = 1,024 (Table 3)."""
    return (_checked_count(n_agents, "n_agents") + len(ROLES)) * _checked_count(d, "d")


def linear_from_flat(theta: np.ndarray, n_agents: int, d: int) -> np.ndarray:
    """The flat head parameters (..., (L+3) d) as matrices W (..., L+3, d), float64, row-major.

    Leading axes are kept, so a population (lambda, n) becomes (lambda, L+3, d) at once. Raises ValueError if the last
    axis is not exactly `parameter_count(n_agents, d)` long.
    """
    theta = np.asarray(theta, dtype=np.float64)
    expected, rows = parameter_count(n_agents, d), n_agents + len(ROLES)
    if theta.ndim == 0 or theta.shape[-1] != expected:
        found = theta.shape[-1] if theta.ndim else "a single number"
        raise ValueError(
            f"theta has {found} head parameters; {n_agents} agents + {len(ROLES)} roles at d = {d} need {expected};"
            " cut off the SVF offsets first, or use the theta that belongs to this encoder and pool"
        )
    return theta.reshape(*theta.shape[:-1], rows, d)


def linear_logits(weights: np.ndarray, states: np.ndarray) -> np.ndarray:
    """z = W h for every state and every matrix.

    weights (..., L+3, d), states (batch, d) -> logits (..., batch, L+3), float64. With weights (lambda, L+3, d) this is
    a whole population on a whole batch. Raises ValueError if d differs.
    """
    weights = np.asarray(weights, dtype=np.float64)
    states = np.asarray(states, dtype=np.float64)
    if weights.ndim < 2 or states.ndim != 2:
        raise ValueError(
            f"weights must be (..., L+3, d) and states (batch, d), not {weights.shape} and {states.shape};"
            " a single state h is h[None, :]"
        )
    if weights.shape[-1] != states.shape[-1]:
        raise ValueError(
            f"the head reads d = {weights.shape[-1]} numbers but the states have d = {states.shape[-1]};"
            " a head fits only the encoder that it was made for"
        )
    return states @ np.swapaxes(weights, -1, -2)


def make_head(name: str, n_agents: int, d: int, **settings: int) -> Head:
    """The head called `name` (one of HEAD_NAMES) for L agents and hidden states of d numbers.

    `settings`: rank=20 (default, the printed size) or rank=14 (the text's) for "low-rank"; the others have none.
    "block-diagonal-10" is one block per logit, whatever L + 3 is: the name is the paper's, whose L is 7.
    Raises ValueError for an unknown name or setting, a size below 1, or a d too small for the blocks.
    """
    if name not in HEAD_NAMES:
        raise ValueError(f"unknown head {name!r}; choose one of {', '.join(HEAD_NAMES)}")
    if unknown := [key for key in settings if (name, key) != ("low-rank", "rank")]:
        raise ValueError(f"the {name} head has no setting {unknown[0]!r}; only 'low-rank' has one: rank=20 or rank=14")
    from trinity_core import head_kinds as kinds  # here, because that module builds on this one

    if name == "linear":
        return kinds.LinearHead(n_agents, d)
    if name == "low-rank":
        return kinds.LowRankHead(n_agents, d, **settings)
    if name == "sparse":
        return kinds.SparseHead(n_agents, d)
    return kinds.BlockDiagonalHead(n_agents, d, per_logit=name == "block-diagonal-10")


def agent_role_probabilities(logits: np.ndarray, n_agents: int) -> tuple[np.ndarray, np.ndarray]:
    """Two separate softmaxes: logits (..., L+3) -> agents (..., L) and roles (..., 3), float64, each summing to 1.

    Raises ValueError if the last axis is not L + 3 long or a logit is not finite.
    """
    logits = _checked_logits(logits, n_agents)
    return softmax(logits[..., :n_agents]), softmax(logits[..., n_agents:])


def decide(
    logits: np.ndarray,
    n_agents: int,
    *,
    mode: Literal["sample", "argmax"] = "sample",
    uniforms: np.ndarray | None = None,
) -> Decision:
    """The agent and the role of every row of `logits` (..., L+3), as arrays of shape (...).

    mode "sample" draws both by inverse CDF from `uniforms` (..., 2) in [0, 1): [..., 0] picks the agent, [..., 1] the
    role; an option of probability 0 is never drawn. mode "argmax" takes the largest logit, the lowest index on a tie,
    and does not read `uniforms`.

    Raises ValueError for another mode, for uniforms that are missing, of the wrong shape or outside [0, 1), and for
    logits that `agent_role_probabilities` refuses.
    """
    if mode == "argmax":
        logits = _checked_logits(logits, n_agents)
        return Decision(np.argmax(logits[..., :n_agents], axis=-1), np.argmax(logits[..., n_agents:], axis=-1))
    if mode != "sample":
        raise ValueError(f"unknown decision mode {mode!r}; choose 'sample' or 'argmax'")
    agents, roles = agent_role_probabilities(logits, n_agents)
    uniforms = _checked_uniforms(uniforms, (*agents.shape[:-1], 2))
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


def _checked_count(value: int, name: str) -> int:
    if value != int(value) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


def _checked_logits(logits: np.ndarray, n_agents: int) -> np.ndarray:
    logits = np.asarray(logits, dtype=np.float64)
    expected = _checked_count(n_agents, "n_agents") + len(ROLES)
    if logits.ndim == 0 or logits.shape[-1] != expected:
        raise ValueError(
            f"logits of shape {logits.shape} do not end in {expected} = {n_agents} agents + {len(ROLES)} roles"
        )
    finite = np.isfinite(logits)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"logit {logits[where]} at {where} is not finite; look for NaN or overflow in the head or the states"
        )
    return logits


def _checked_uniforms(uniforms: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if uniforms is None:
        raise ValueError(
            f"mode 'sample' needs uniforms of shape {shape}: generator.random({shape}), or use mode 'argmax'"
        )
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.shape != shape:
        raise ValueError(f"uniforms have shape {uniforms.shape}; two a decision (agent, role) makes {shape}")
    inside = (uniforms >= 0.0) & (uniforms < 1.0)
    if not inside.all():
        raise ValueError(f"uniform {uniforms[~inside][0]} is outside [0, 1)")
    return uniforms
