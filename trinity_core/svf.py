"""Singular value fine-tuning (SVF): one learned offset a singular value (section 3.1).

    W = U diag(s) V^T,   s'_k = (1 + delta_k) s_k,   W' = U diag(s' sum(s) / sum(s')) V^T

U and V stay; the factor keeps the sum of the singular values (the "energy"). Two rules say which matrices:

- `layer`: the seven of the second-to-last block, in the order q, k, v, o, gate, up, down.
- `released`: nine blocks as in the released vector, in the order of the causal language model's state dict: the token
  embedding, the same seven, the language-model head; 9 x 1,024 = 9,216 offsets for Qwen3-0.6B.

The tied embedding. Qwen3-0.6B's head *is* its embedding, one tensor under two names, with 1,024 released offsets each.
Every block is written from the original weights, in that order: the head's offsets come last and win, the embedding's
change nothing (18,432 of the 19,456 released parameters act), and the head's change what the model *reads* and with it
every layer. Without tying the embedding's offsets act, and the head's reach no hidden state.

Departures: the released code computes in bfloat16, where 1 + delta is rounded and delta = 0 does not give W back. Here
W' = W + U diag(g - s) V^T with g the new singular values, so delta = 0 gives the original tensors bit for bit.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trinity_core.checks import one_of
from trinity_core.encoder import Encoder

SVF_RULES = ("layer", "released")
MATRICES = (*(f"self_attn.{name}_proj" for name in "qkvo"), *(f"mlp.{name}_proj" for name in ("gate", "up", "down")))
EMBEDDING, HEAD = "embed_tokens.weight", "lm_head.weight"
MODEL_TYPES = ("llama", "qwen3")  # checked against transformers' own forward pass, block by block


class Factors(NamedTuple):
    """U (rows, r) and V^T (r, columns), float32 tensors, and s (r,), float64, descending."""

    u: Any
    s: np.ndarray
    vt: Any


class Svf:
    """Which matrices of an encoder's model are adapted, and what offsets make of them. `sizes`: block -> its number of
    singular values, in the order of the offsets; `size`: their sum."""

    def __init__(self, encoder: Encoder, rule: str = "layer") -> None:
        one_of("SVF rule", rule, SVF_RULES)
        self._model = encoder.model
        config = self._model.config
        sliding = set((getattr(config, "layer_types", None) or [])[-2:]) - {"full_attention"}
        if config.model_type not in MODEL_TYPES or sliding or len(self._model.layers) < 2:
            raise ValueError(
                f"SVF cannot adapt {encoder.name!r} ({config.model_type}, {len(self._model.layers)} blocks, {sliding});"
                f" use a model of type {' or '.join(MODEL_TYPES)} with full attention and at least 2 blocks"
            )
        self.rule = rule
        self.layer = len(self._model.layers) - 2
        blocks = [f"layers.{self.layer}.{name}.weight" for name in MATRICES]
        shapes = {name: self._model.get_parameter(name).shape for name in blocks}
        # Whether a hidden state hears the embedding block or the head's: see the module's text.
        self._embedding_block = HEAD if config.tie_word_embeddings else EMBEDDING
        if rule == "released":
            shape = self._model.get_parameter(EMBEDDING).shape  # the head's too, tied or not
            shapes = {EMBEDDING: shape, **shapes, HEAD: shape}
        self.sizes = {name: min(shape) for name, shape in shapes.items()}
        self.size = sum(self.sizes.values())

    @cached_property
    def factors(self) -> dict[str, Factors]:
        """The decomposition of every adapted parameter of the model, in float64 (some seconds for SmolLM2)."""
        import torch

        found = {}
        for name in self.sizes:
            if name != HEAD:
                u, s, vt = torch.linalg.svd(self._model.get_parameter(name).double(), full_matrices=False)
                found[name] = Factors(u.float(), s.numpy(), vt.float())
        return found

    def singular_values(self, deltas: np.ndarray) -> dict[str, np.ndarray]:
        """deltas (lambda, size), finite -> parameter -> its new singular values (lambda, r), float64, energy preserved.
        ValueError where their new sum is not positive."""
        deltas = np.asarray(deltas, dtype=np.float64)
        if deltas.ndim != 2 or deltas.shape[1] != self.size:
            raise ValueError(
                f"deltas have shape {deltas.shape}; SVF by the rule {self.rule!r} takes (lambda, {self.size}):"
                " cut off the head's parameters, or use the theta that belongs to this encoder and rule"
            )
        if not np.isfinite(deltas).all():
            raise ValueError("deltas hold a value that is not finite; refuse this candidate before it acts")
        parts = np.split(deltas, np.cumsum(list(self.sizes.values()))[:-1], axis=1)
        blocks = dict(zip(self.sizes, parts, strict=True))
        found = {}
        for name, (_, s, _) in self.factors.items():
            block = self._embedding_block if name == EMBEDDING else name
            changed = (1 + blocks[block]) * s
            total = changed.sum(axis=1, keepdims=True)
            if (total <= 0).any():
                raise ValueError(
                    f"the offsets of {block} (smallest {blocks[block].min():.3g}) bring its singular values to a sum"
                    f" of {total.min():.3g}; keep offsets above -1"
                )
            found[name] = changed * (s.sum() / total)
        return found

    def weights(self, delta: np.ndarray) -> dict[str, Any]:
        """The adapted parameters by name, for one candidate's offsets (size,); where delta is 0, the tensors as are."""
        import torch

        adapted = {}
        for name, values in self.singular_values(np.asarray(delta)[None]).items():
            original, (u, s, vt) = self._model.get_parameter(name), self.factors[name]
            change = torch.from_numpy((values[0] - s).astype(np.float32))
            adapted[name] = (original + ((u * change) @ vt)).to(original.dtype) if change.any() else original.data
        return adapted
