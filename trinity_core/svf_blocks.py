"""The last two blocks of a Llama or Qwen3 model for many (SVF candidate, text) pairs at once.

The second-to-last block's seven matrices act in factored form, W'x = U (g * (V^T x)) with g a candidate's singular
values: U and V^T are the same for all candidates, so pairs of all candidates share one matrix product, and no
candidate's matrices are ever built. V^T x of q, k and v does not depend on the candidate and is made once a text.
The last block is the model's own. A state is read at one token, so it needs keys and values of all tokens up to that
one, but query, output and MLP of that one alone.

All in float32, also where the model below is bfloat16.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from trinity_core.svf import MATRICES, Svf


class Pair(NamedTuple):
    """One state to make: text number `text` by candidate number `candidate`.

    `begun`: the last block's keys and values (2, tokens, size) of the text's first tokens by the same candidate, of an
    earlier call, or None; `tokens`: how many tokens count, the one that is read last.
    """

    text: int
    candidate: int
    tokens: int
    begun: Any

    @property
    def old(self) -> int:
        """How many tokens need no work."""
        return 0 if self.begun is None else self.begun.shape[1]


class TopBlocks:
    """The last two blocks and the final norm; `gains` are the candidates' singular values, (lambda, r) a matrix."""

    def __init__(self, model: Any, svf: Svf) -> None:
        # Own copies: a model below in bfloat16, or one with weights swapped for a moment, must not matter here.
        self.adapted, self.last = copy.deepcopy(model.layers[-2:]).float()
        self.norm = copy.deepcopy(model.norm).float()
        self.rotary = model.rotary_emb
        self.factors = {name: svf.factors[f"layers.{svf.layer}.{name}.weight"] for name in MATRICES}

    def states(self, rows: Any, pairs: list[Pair], gains: dict[str, Any]) -> tuple[Any, Any]:
        """rows (texts, T, d): the adapted block's input, padded on the right, T >= every pair's tokens.

        Returns the final states (pairs, d) and the last block's keys and values (2, pairs, T, size), where those past
        a pair's `tokens` mean nothing.
        """
        import torch

        text = torch.tensor([pair.text for pair in pairs])
        gains = {name: values[[pair.candidate for pair in pairs]][:, None] for name, values in gains.items()}
        old = torch.tensor([pair.old for pair in pairs])
        new = torch.tensor([pair.tokens for pair in pairs]) - old
        width = rows.shape[1]
        # Where each new token stands; padding repeats the last place, and what it gives is never read.
        places = torch.clamp(old[:, None] + torch.arange(int(new.max())), max=width - 1)
        cos, sin = (part[0] for part in self.rotary(rows, torch.arange(width)[None]))

        attention, mlp = self.adapted.self_attn, self.adapted.mlp
        normed = self.adapted.input_layernorm(rows)
        inner = {name: normed @ self.factors[f"self_attn.{name}_proj"].vt.T for name in "qkv"}
        query = self._outer("self_attn.q_proj", inner["q"][text[:, None], places], gains)
        key = self._outer("self_attn.k_proj", inner["k"][text], gains)
        value = self._outer("self_attn.v_proj", inner["v"][text], gains)
        mixed = attend(
            attention,
            rotate(heads(query, attention, "q_norm"), cos[places], sin[places]),
            rotate(heads(key, attention, "k_norm"), cos, sin),
            heads(value, attention),
            places,
        )
        hidden = rows[text[:, None], places] + self._full("self_attn.o_proj", mixed, gains)
        normed = self.adapted.post_attention_layernorm(hidden)
        gate, up = (self._full(f"mlp.{name}_proj", normed, gains) for name in ("gate", "up"))
        hidden = hidden + self._full("mlp.down_proj", mlp.act_fn(gate) * up, gains)

        attention = self.last.self_attn
        normed = self.last.input_layernorm(hidden)
        key = rotate(heads(attention.k_proj(normed), attention, "k_norm"), cos[places], sin[places])
        fresh = torch.stack([key.transpose(1, 2).flatten(2), attention.v_proj(normed)])
        kept = fresh if not old.any() and fresh.shape[2] == width else _joined(fresh, pairs, width)
        every = torch.arange(len(pairs))
        read = (old + new - 1)[:, None]
        hidden, normed = hidden[every, new - 1][:, None], normed[every, new - 1][:, None]
        mixed = attend(
            attention,
            rotate(heads(attention.q_proj(normed), attention, "q_norm"), cos[read], sin[read]),
            heads(kept[0], attention),
            heads(kept[1], attention),
            read,
        )
        hidden = hidden + attention.o_proj(mixed)
        hidden = hidden + self.last.mlp(self.last.post_attention_layernorm(hidden))
        return self.norm(hidden)[:, 0], kept

    def _outer(self, name: str, inner: Any, gains: dict[str, Any]) -> Any:
        """U (g * inner), inner = V^T x: (pairs, T, r) -> (pairs, T, rows)."""
        import torch

        bias = self.adapted.get_submodule(name).bias
        return torch.nn.functional.linear(inner * gains[name], self.factors[name].u, bias)

    def _full(self, name: str, x: Any, gains: dict[str, Any]) -> Any:
        """U (g * (V^T x)): (pairs, T, columns) -> (pairs, T, rows)."""
        return self._outer(name, x @ self.factors[name].vt.T, gains)


def heads(x: Any, attention: Any, norm: str = "") -> Any:
    """(pairs, T, n * head size) -> (pairs, n, T, head size), normed a head where the model does so (Qwen3)."""
    x = x.view(*x.shape[:2], -1, attention.head_dim)
    if hasattr(attention, norm):
        x = getattr(attention, norm)(x)
    return x.transpose(1, 2)


def rotate(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary position embedding of x (pairs, n, T, size), cos and sin (T, size) or (pairs, T, size)."""
    import torch

    first, second = x.chunk(2, dim=-1)
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attend(attention: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """Causal attention of queries at `places` (pairs, T_q) over all keys -> (pairs, T_q, n * size)."""
    import torch

    mask = torch.arange(key.shape[2]) <= places[:, None, :, None]
    mixed = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=attention.scaling, enable_gqa=True
    )
    return mixed.transpose(1, 2).flatten(2)


def _joined(fresh: Any, pairs: list[Pair], width: int) -> Any:
    """Old keys and values, then the new: fresh (2, pairs, T_new, size) -> (2, pairs, width, size)."""
    kept = fresh.new_zeros((2, len(pairs), width, fresh.shape[3]))
    for row, pair in enumerate(pairs):
        if pair.old:
            kept[:, row, : pair.old] = pair.begun
        kept[:, row, pair.old : pair.tokens] = fresh[:, row, : pair.tokens - pair.old]
    return kept
