"""Hidden states for a population of SVF candidates, all that is common to them computed once.

With the rule `layer` every candidate shares all below the second-to-last block. That block's *input* is made once a
text and kept; only the last two blocks run for all (candidate, text) pairs together. Between calls with the same
offsets the last block's keys and values are kept too: a transcript that grew by a line costs its new tokens alone.

The second-to-last block's seven matrices act in factored form, W'x = U (g * (V^T x)) with g a candidate's singular
values: pairs of all candidates share one matrix product, and no candidate's matrices are ever built. V^T x of q, k and
v is made once a text. The last block is the model's own; a state is read at one token, so it needs keys and values of
all tokens up to that one, but query, output and MLP of that one alone. All in float32.

With the rule `released` the embedding itself differs between candidates: each is a full forward pass with its weights.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trinity_core.checks import candidates_of
from trinity_core.encoder import POSITIONS, Encoder, Text, as_messages, content_key
from trinity_core.encoder_prefix import Prefix, Recent, padded_batches
from trinity_core.svf import MATRICES, Svf

CHUNK_TOKENS = 2048  # padded tokens of one matrix product: more gains nothing on two cores and costs memory

Key = tuple[bytes, bytes]  # (candidate's offsets, text), hashed


class BlockInput(NamedTuple):
    """The adapted block's input for one text: its own new tokens' rows (about 2.3 KB a token for SmolLM2) as `states`,
    and the text that it continues, if any."""

    ids: list[int]
    states: Any
    parent: BlockInput | None

    def fill(self, rows: Any) -> None:
        """Writes the rows of the first `len(rows)` tokens into rows (T, d)."""
        start = len(self.ids) - len(self.states)
        if self.parent is not None:
            self.parent.fill(rows[:start])
        rows[start:] = self.states[: max(0, len(rows) - start)]


class SvfEncoder:
    """States of (candidate, text) pairs under SVF; made from an encoder that reads one token of the last layer.
    `rule`: see `svf`; `size`: how many offsets a candidate has."""

    def __init__(self, encoder: Encoder, rule: str = "layer") -> None:
        if POSITIONS[encoder.position] is None or encoder.layer != encoder.n_layers:
            raise ValueError(
                f"SVF reads one token of the last layer, but the encoder has position {encoder.position!r} and layer "
                f"{encoder.layer} of {encoder.n_layers}; load it with position='penultimate', layer=-1"
            )
        self.encoder = encoder
        self.svf = Svf(encoder, rule)
        self.rule, self.size = rule, self.svf.size
        self._inputs, self._pairs, self._population = Recent(), Recent(), b""

    @cached_property
    def _blocks(self) -> TopBlocks:
        return TopBlocks(self.encoder.model, self.svf)

    def states(self, deltas: np.ndarray, candidates: Sequence[int], texts: Sequence[Text]) -> np.ndarray:
        """Hidden states (batch, d), float32: row i is text i read by the model with the offsets deltas[candidates[i]].

        deltas (lambda, size), candidates (batch,) in 0 ... lambda - 1, texts as in `Encoder.encode`. Equal pairs are
        computed once. ValueError where the shapes disagree or the offsets are refused (see `Svf.singular_values`).
        """
        deltas = np.ascontiguousarray(deltas, dtype=np.float64)
        candidates = candidates_of(candidates, len(deltas))
        if candidates.shape != (len(texts),):
            raise ValueError(f"candidates have shape {candidates.shape} for {len(texts)} texts; give one a text")
        messages = [as_messages(text, number) for number, text in enumerate(texts)]
        keys = [content_key(message) for message in messages]
        # Candidates of equal offsets are one candidate.
        names = [hashlib.blake2b(delta.tobytes(), digest_size=16).digest() for delta in deltas]
        wanted = [(names[candidate], key) for candidate, key in zip(candidates, keys, strict=True)]
        pairs = dict(zip(wanted, candidates.tolist(), strict=True))
        population = b"".join(names)
        with self.encoder.lock:
            if population != self._population:  # a new generation: what belongs to the last one is never asked again
                self._population, self._pairs = population, Recent()
            distinct = dict(zip(keys, messages, strict=True))
            by_rule = self._by_full_passes if self.rule == "released" else self._by_top_blocks
            found = by_rule(deltas, pairs, distinct)
        out = np.array([found[pair] for pair in wanted], dtype=np.float32).reshape(len(wanted), self.encoder.d)
        if not np.isfinite(out).all():
            raise FloatingPointError(f"the adapted {self.encoder.name!r} gave non-finite states; try smaller offsets")
        return out

    def _by_top_blocks(
        self, deltas: np.ndarray, pairs: dict[Key, int], texts: dict[bytes, list]
    ) -> dict[Key, np.ndarray]:
        """The rule `layer`: pair -> state, through the kept inputs and the last two blocks."""
        import torch

        values = self.svf.singular_values(deltas).values()
        gains = {name: torch.from_numpy(v.astype(np.float32)) for name, v in zip(MATRICES, values, strict=True)}
        inputs = self._block_inputs(texts)
        # Tokens past the one that is read have no say in it.
        ids = {key: found.ids[: len(found.ids) - POSITIONS[self.encoder.position] + 1] for key, found in inputs.items()}
        parents = {key: content_key(messages[:-1]) for key, messages in texts.items()}
        begun = {pair: self._pairs.find(pair[0] + parents[pair[1]], ids[pair[1]]) for pair in pairs}
        new = {pair: len(ids[pair[1]]) - (len(begun[pair].ids) if begun[pair] else 0) for pair in pairs}
        found: dict[Key, np.ndarray] = {}
        shortest_first = sorted(pairs, key=lambda pair: (new[pair], len(ids[pair[1]]), pair[1]))
        for chunk in padded_batches(shortest_first, new, CHUNK_TOKENS):
            row_of = {key: row for row, key in enumerate(dict.fromkeys(key for _, key in chunk))}
            rows = torch.zeros((len(row_of), max(len(ids[key]) for key in row_of), self.encoder.d))
            for key, row in row_of.items():
                inputs[key].fill(rows[row, : len(ids[key])])
            asked = [Pair(row_of[pair[1]], pairs[pair], len(ids[pair[1]]), begun[pair]) for pair in chunk]
            with torch.inference_mode():
                states, kept = self._blocks.states(rows, asked, gains)
                for row, (name, key) in enumerate(chunk):
                    self._pairs.put(name + key, Prefix(ids[key], kept[:, row, : len(ids[key])].clone()))
            found.update(zip(chunk, states.numpy(), strict=True))
        return found

    def _block_inputs(self, texts: dict[bytes, list]) -> dict[bytes, BlockInput]:
        """The input of the adapted block for every text, made where it is not kept yet."""
        encoder = self.encoder
        made = {key: self._inputs[key] for key in texts if key in self._inputs}
        ids = {key: encoder.token_ids(messages) for key, messages in texts.items() if key not in made}
        parents = {key: content_key(texts[key][:-1]) for key in ids}
        begun = {key: encoder.prefixes.find(parents[key], ids[key]) for key in ids if parents[key] in self._inputs}
        parent_of = {key: self._inputs[parents[key]] for key, prefix in begun.items() if prefix}
        # A longer transcript begins with a shorter one in the raw format alone.
        keep = encoder.input_format == "raw"
        for batch, fresh, output in encoder.forward_passes(ids, begun, all_layers=True, keep=keep):
            for key, new, rows in zip(batch, fresh, output.hidden_states[self.svf.layer], strict=True):
                made[key] = BlockInput(ids[key], rows[: len(new)].float().clone(), parent_of.get(key))
        for key, found in made.items():
            self._inputs.put(key, found)
        return made

    def _by_full_passes(
        self, deltas: np.ndarray, pairs: dict[Key, int], texts: dict[bytes, list]
    ) -> dict[Key, np.ndarray]:
        """The rule `released`: pair -> state, a forward pass of the whole model with each candidate's weights."""
        from torch.func import functional_call

        encoder = self.encoder
        ids = {key: encoder.token_ids(messages) for key, messages in texts.items()}
        found: dict[Key, np.ndarray] = {}
        for name, candidate in {name: candidate for (name, _), candidate in pairs.items()}.items():
            weights = self.svf.weights(deltas[candidate])

            def adapted(weights: dict[str, Any] = weights, **arguments: Any) -> Any:
                return functional_call(encoder.model, weights, (), arguments)

            own = {key: ids[key] for one, key in pairs if one == name}
            for batch, tokens, output in encoder.forward_passes(own, {}, all_layers=False, keep=False, model=adapted):
                states = encoder.read(output, tokens, (encoder.n_layers,), (encoder.position,))[:, 0, 0]
                found.update(zip([(name, key) for key in batch], states, strict=True))
        return found


class Pair(NamedTuple):
    """One state to make: text number `text` by candidate number `candidate`, read at the last of `tokens` tokens.
    `begun`: the last block's keys and values (2, tokens, size) of its first tokens, of an earlier call, or None."""

    text: int
    candidate: int
    tokens: int
    begun: Prefix | None

    @property
    def old(self) -> int:
        """How many tokens need no work."""
        return len(self.begun.ids) if self.begun else 0


class TopBlocks:
    """The last two blocks and the final norm; `gains` are the candidates' singular values, (lambda, r) a matrix."""

    def __init__(self, model: Any, svf: Svf) -> None:
        # Own copies: the model below may be bfloat16.
        self.adapted, self.last = copy.deepcopy(model.layers[-2:]).float()
        self.norm = copy.deepcopy(model.norm).float()
        self.rotary = model.rotary_emb
        self.factors = {name: svf.factors[f"layers.{svf.layer}.{name}.weight"] for name in MATRICES}

    def states(self, rows: Any, pairs: list[Pair], gains: dict[str, Any]) -> tuple[Any, Any]:
        """From the adapted block's input, rows (texts, T, d), padded on the right: the final states (pairs, d) and the
        last block's keys and values (2, pairs, T, size), which mean nothing past a pair's `tokens`."""
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
            kept[:, row, : pair.old] = pair.begun.states
        kept[:, row, pair.old : pair.tokens] = fresh[:, row, : pair.tokens - pair.old]
    return kept
