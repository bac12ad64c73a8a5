"""The coordinator: theta -> (SVF offsets, head) -> logits, for one candidate or a whole population (section 3.1).

theta = [SVF offsets, head], the head's part row-major; the offsets say how the encoder's model is adapted (`svf`), the
head turns its hidden state into logits, and `heads.decide` draws agent and role.

A theta means something only with the encoder, the text format, the token read, the head and the order of the agents
that it was made with. `Coordinator` keeps them together, in one file, and refuses any other encoder or pool by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trinity_core.checks import candidates_of
from trinity_core.encoder import Encoder, Text
from trinity_core.heads import Head, make_head
from trinity_core.paths import write_atomic
from trinity_core.svf_encoder import SvfEncoder

# What a hidden state depends on, and what to do where it differs. The fingerprint covers all, and the weights.
REMEDIES = {
    "name": "",  # says which one it was: other weights differ in the fingerprint
    "d": "load the encoder that it was trained with",
    "input_format": "load the encoder with that input_format",
    "position": "load the encoder with that position",
    "layer": "load the encoder with that layer",
    "fingerprint": "use the same weights, dtype, thinking, max_tokens and transformers version, or train anew",
}


class Policy(Protocol):
    """What the role loop needs of a coordinator: logits for (candidate, state) pairs. A policy whose candidates change
    the encoder itself (`SvfPolicy`) also has `states(candidates, texts)`, which replaces the encoder's own."""

    n_agents: int

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """candidates (batch,) int, states (batch, d) -> logits (batch, L + 3), float64."""
        ...


class HeadPolicy:
    """A population of any head, thetas (lambda, n); a single theta (n,) is a population of one. With `argmax` the head
    decides by argmax by design (A.4): play it with `mode="argmax"`."""

    def __init__(self, head: Head, thetas: np.ndarray) -> None:
        self.thetas = np.atleast_2d(np.asarray(thetas, dtype=np.float64))
        head.split(self.thetas)  # refuses another size and values that are not finite
        self.head, self.n_agents, self.argmax = head, head.n_agents, head.argmax

    def logits(self, candidates: np.ndarray, states: np.ndarray) -> np.ndarray:
        """z of each pair: candidates (batch,), states (batch, d) -> (batch, L + 3); free of the batch around it."""
        thetas = self.thetas[candidates_of(candidates, len(self.thetas))]
        return self.head.logits(thetas, np.asarray(states, dtype=np.float64)[:, None])[:, 0]


class SvfPolicy(HeadPolicy):
    """A population of SVF offsets with a head each: thetas (lambda, svf.size + head.size)."""

    def __init__(self, head: Head, thetas: np.ndarray, svf: SvfEncoder) -> None:
        thetas = np.atleast_2d(np.asarray(thetas, dtype=np.float64))
        if thetas.shape[1] != svf.size + head.size:
            raise ValueError(
                f"theta has {thetas.shape[1]} numbers; SVF by the rule {svf.rule!r} takes {svf.size} and the"
                f" {head.name} head {head.size}, {svf.size + head.size} in all"
            )
        super().__init__(head, thetas[:, svf.size :])
        self.svf, self.offsets = svf, thetas[:, : svf.size]

    def states(self, candidates: np.ndarray, texts: Sequence[Text]) -> np.ndarray:
        """What each candidate's adapted model reads: candidates (batch,), texts (batch) -> (batch, d), float32."""
        return self.svf.states(self.offsets, candidates, texts)


@dataclass(frozen=True, eq=False)
class Coordinator:
    """A trained theta (n,), float64, with all that it belongs to: `encoder` by the names of `REMEDIES`, `svf` the
    rule's name (see `svf`) or None."""

    encoder: Mapping[str, Any]
    agents: tuple[str, ...]
    head: str
    theta: np.ndarray
    svf: str | None = None
    head_settings: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        theta = np.array(self.theta, dtype=np.float64)
        theta.flags.writeable = False
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "agents", tuple(self.agents))
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise ValueError(f"theta has shape {theta.shape} or a value that is not finite; give n finite numbers")
        size = self.made_head.size
        if len(theta) != size if self.svf is None else len(theta) <= size:
            raise ValueError(
                f"theta has {len(theta)} numbers; the {self.head} head of {len(self.agents)} agents at d ="
                f" {self.encoder['d']} needs {size} after the SVF offsets, whose rule is {self.svf!r}"
            )

    @classmethod
    def of(cls, task: Any, theta: np.ndarray) -> Coordinator:
        """The coordinator that a training `Task`'s theta (n,) makes. ValueError where the task transforms states."""
        if task.transform is not None:
            raise ValueError("a coordinator's head reads states as they are; train without a transform (whitening)")
        agents = tuple(agent.name for agent in task.world.pool.agents)
        settings = {"rank": task.head.rank} if task.head.name == "low-rank" else {}
        rule = task.svf.rule if task.svf else None
        return cls(described(task.world.encoder), agents, task.head.name, theta, rule, settings)

    @property
    def made_head(self) -> Head:
        """The head that reads the last `size` numbers of theta."""
        return make_head(self.head, len(self.agents), self.encoder["d"], **self.head_settings)

    def policy(self, encoder: Encoder) -> HeadPolicy:
        """What the role loop plays. ValueError for an encoder that theta was not made with."""
        self.check(encoder)
        if self.svf is None:
            return HeadPolicy(self.made_head, self.theta)
        return SvfPolicy(self.made_head, self.theta, SvfEncoder(encoder, self.svf))

    def check(self, encoder: Encoder, pool: Any = None) -> None:
        """ValueError naming the first setting in which the encoder, or the pool's order of agents, is another one."""
        given = described(encoder)
        for setting, remedy in REMEDIES.items():
            if remedy and self.encoder[setting] != given[setting]:
                raise ValueError(
                    f"{setting}: the coordinator was made with {self.encoder[setting]!r} (encoder"
                    f" {self.encoder['name']!r}), but {given['name']!r} has {given[setting]!r}; {remedy}"
                )
        names = self.agents if pool is None else tuple(agent.name for agent in pool.agents)
        if names != self.agents:
            raise ValueError(
                f"pool order: the coordinator chooses among {', '.join(self.agents)}, but the pool has"
                f" {', '.join(names)}; load that pool, or list the agents in that order"
            )

    def save(self, path: Path | str) -> None:
        """Writes theta and, as JSON in the file's metadata, what it belongs to, to `path` (`.safetensors`)."""
        from safetensors.numpy import save

        record = asdict(self)
        theta = record.pop("theta")
        write_atomic(_file(path), save({"theta": theta}, {"coordinator": json.dumps(record)}))

    @classmethod
    def load(cls, path: Path | str, *, encoder: Encoder, pool: Any, head: str | None = None) -> Coordinator:
        """Reads what `save` wrote, for an encoder, a pool and, where given, a head. FileNotFoundError, or ValueError
        that names a damaged file, or the setting, both values and the remedy where something does not match."""
        from safetensors import SafetensorError, safe_open

        file = _file(path)
        try:
            with safe_open(file, framework="np") as stored:
                found = cls(**json.loads(stored.metadata()["coordinator"]), theta=stored.get_tensor("theta"))
                found.check(encoder, pool)
        except FileNotFoundError:
            raise FileNotFoundError(f"{file} is missing; name a file that `Coordinator.save` wrote") from None
        except (TypeError, KeyError, SafetensorError, json.JSONDecodeError) as error:
            raise ValueError(f"{file} is damaged ({error!r}); save the coordinator again") from None
        if head not in (None, found.head):
            raise ValueError(f"head: {file} holds the head {found.head!r}, not {head!r}; ask for that head")
        return found


def described(encoder: Encoder) -> dict[str, Any]:
    """What a hidden state of this encoder depends on: a `Coordinator`'s `encoder`."""
    return {setting: getattr(encoder, setting) for setting in REMEDIES}


def _file(path: Path | str) -> Path:
    path = Path(path)
    return path.with_name(path.name.removesuffix(".safetensors") + ".safetensors")
