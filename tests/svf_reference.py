"""SVF the plain way: for each candidate the whole model with its own matrices, one text at a time.

Nothing of `trinity_core.svf` is used: the decompositions are NumPy's, the model is a copy into which the matrices are
written, the forward pass is transformers' own.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

NAMES = [f"self_attn.{x}_proj" for x in ("q", "k", "v", "o")] + [f"mlp.{x}_proj" for x in ("gate", "up", "down")]


def energy_kept(s: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """(1 + delta) s, scaled back to the sum of s."""
    changed = s * (1 + delta)
    return changed * s.sum() / changed.sum()


class FullPasses:
    """`states` as `SvfEncoder.states` with the rule `layer`, by a full forward pass a (candidate, text) pair."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.model = copy.deepcopy(encoder.model)
        self.matrices = [self.model.layers[-2].get_submodule(name).weight for name in NAMES]
        self.factors = [np.linalg.svd(matrix.double().numpy(), full_matrices=False) for matrix in self.matrices]

    def write(self, delta: np.ndarray) -> None:
        """Writes one candidate's seven matrices into the model."""
        import torch

        start = 0
        for matrix, (u, s, vt) in zip(self.matrices, self.factors, strict=True):
            values = energy_kept(s, delta[start : start + len(s)])
            start += len(s)
            matrix.copy_(torch.from_numpy((u * values) @ vt))
        assert start == len(delta)

    def states(self, deltas: np.ndarray, candidates: Sequence[int], texts: Sequence[Any]) -> np.ndarray:
        """(batch, d): each candidate's weights are written once, then each of its texts is read alone."""
        import torch

        out = np.empty((len(texts), self.encoder.d), dtype=np.float32)
        candidates = np.asarray(candidates)
        for candidate in np.unique(candidates):
            self.write(deltas[candidate])
            for row in np.flatnonzero(candidates == candidate):
                ids = torch.tensor([self.encoder.token_ids(texts[row])])
                with torch.no_grad():
                    hidden = self.model(input_ids=ids, use_cache=False).last_hidden_state
                out[row] = hidden[0, -2 if self.encoder.position == "penultimate" else -1].float()
        return out


def written_in_order(folder: str, delta: np.ndarray, encoder, texts, live: bool = False) -> np.ndarray:
    """States of a whole causal model into which the nine blocks were written one after the other, in its own order.

    `live`: decompose each tensor as it is when its turn comes (so that writes to one tensor would compound), not as it
    was at the start.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().requires_grad_(False)
    state = model.state_dict()  # holds both names of a tied tensor
    blocks = [
        name
        for name in state
        if name in ("model.embed_tokens.weight", "lm_head.weight")
        or (name.startswith("model.layers.2.") and "proj" in name)
    ]
    assert len(blocks) == 9 and blocks[0] == "model.embed_tokens.weight" and blocks[-1] == "lm_head.weight"
    assert [name.removeprefix("model.layers.2.").removesuffix(".weight") for name in blocks[1:-1]] == NAMES
    before = {name: state[name].clone() for name in blocks}
    start = 0
    for name in blocks:
        u, s, vt = np.linalg.svd((state[name] if live else before[name]).double().numpy(), full_matrices=False)
        values = energy_kept(s, delta[start : start + len(s)])
        start += len(s)
        state[name].copy_(torch.from_numpy((u * values) @ vt))
    assert start == len(delta)
    rows = []
    for text in texts:
        output = model(input_ids=torch.tensor([encoder.token_ids(text)]), output_hidden_states=True)
        rows.append(output.hidden_states[-1][0, -2].numpy())
    return np.stack(rows)
