"""Hidden states for a population of SVF candidates, all that is common to them computed once.

With the rule `layer` every candidate shares all below the second-to-last block. So that block's *input* is made once a
text and kept, for all its tokens; a transcript that grew by a line adds the line's tokens alone. Then only the last two
blocks run, for all (candidate, text) pairs together (`svf_blocks`), each distinct pair once. Between calls with the
same offsets (the turns of one generation) the last block's keys and values are kept too, so a grown transcript costs a
candidate its new tokens alone.

With the rule `released` the embedding itself differs between candidates: nothing is shared, and each candidate is a
full forward pass with its weights.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trinity_core.checks import candidates_of
from trinity_core.encoder import POSITIONS
from trinity_core.encoder_input import Text, as_messages, content_key
from trinity_core.encoder_prefix import PrefixStore, padded_batches
from trinity_core.svf import Svf
from trinity_core.svf_blocks import Pair, TopBlocks

if TYPE_CHECKING:
    from trinity_core.encoder import Encoder

STORE_BYTES = 1 << 30  # of block inputs: about 2.3 KB a token for SmolLM2, some 450,000 tokens
CHUNK_TOKENS = 2048  # padded tokens of one matrix product: more gains nothing on two cores and costs memory

Key = tuple[bytes, bytes]  # (candidate's offsets, text), hashed


class BlockInput:
    """The adapted block's input for one text: its own new tokens' rows, and the text that it continues, if any."""

    def __init__(self, ids: list[int], fresh: Any, parent: BlockInput | None) -> None:
        self.ids, self.fresh, self.parent = ids, fresh, parent

    def fill(self, rows: Any) -> None:
        """Writes the rows of the first `len(rows)` tokens into rows (T, d)."""
        start = len(self.ids) - len(self.fresh)
        if self.parent is not None:
            self.parent.fill(rows[:start])
        rows[start:] = self.fresh[: max(0, len(rows) - start)]


class SvfEncoder:
    """States of (candidate, text) pairs under SVF; made from an encoder that reads one token of the last layer.

    `rule`: see `svf`; `size`: how many offsets a candidate has. ValueError for an encoder with another layer or `mean`.
    """

    def __init__(self, encoder: Encoder, rule: str = "layer") -> None:
        if POSITIONS[encoder.position] is None or encoder.layer != encoder.n_layers:
            raise ValueError(
                f"SVF reads the penultimate or last token of the last layer, but the encoder has position "
                f"{encoder.position!r} and layer {encoder.layer} of {encoder.n_layers}; load it with "
                "position='penultimate', layer=-1"
            )
        self.encoder = encoder
        self.svf = Svf(encoder, rule)
        self.rule, self.size = rule, self.svf.size
        self._inputs: OrderedDict[bytes, BlockInput] = OrderedDict()
        self._bytes = 0
        self._population = b""
        self._pairs = PrefixStore()

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
        values = self.svf.singular_values(deltas)
        messages = [as_messages(text, number) for number, text in enumerate(texts)]
        keys = [content_key(message) for message in messages]
        # Candidates of equal offsets are one candidate.
        names = [hashlib.blake2b(delta.tobytes(), digest_size=16).digest() for delta in deltas]
        wanted = [(names[candidate], key) for candidate, key in zip(candidates, keys, strict=True)]
        pairs = dict(zip(wanted, candidates.tolist(), strict=True))
        population = b"".join(names)
        with self.encoder.lock:
            if population != self._population:  # a new generation: what belongs to the last one is never asked again
                self._population, self._pairs = population, PrefixStore()
            distinct = dict(zip(keys, messages, strict=True))
            if self.rule == "released":
                found = self._by_full_passes(deltas, pairs, distinct)
            else:
                found = self._by_top_blocks(values, pairs, distinct)
        out = np.array([found[pair] for pair in wanted], dtype=np.float32).reshape(len(wanted), self.encoder.d)
        if not np.isfinite(out).all():
            raise FloatingPointError(
                f"the adapted {self.encoder.name!r} gave non-finite hidden states; try smaller offsets"
            )
        return out

    def _by_top_blocks(
        self, values: dict[str, np.ndarray], pairs: dict[Key, int], texts: dict[bytes, list]
    ) -> dict[Key, np.ndarray]:
        """The rule `layer`: pair -> state, through the kept inputs and the last two blocks."""
        import torch

        prefix = f"layers.{self.svf.layer}."
        gains = {
            name.removeprefix(prefix).removesuffix(".weight"): torch.from_numpy(value.astype(np.float32))
            for name, value in values.items()
        }
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
            asked = [
                Pair(row_of[key], pairs[name, key], len(ids[key]), before.states if before else None)
                for (name, key), before in ((pair, begun[pair]) for pair in chunk)
            ]
            with torch.inference_mode():
                states, kept = self._blocks.states(rows, asked, gains)
                for row, (name, key) in enumerate(chunk):
                    self._pairs.put(name + key, ids[key], kept[:, row, : len(ids[key])].clone())
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
                self._bytes += made[key].fresh.nbytes
        for key, found in made.items():
            self._inputs[key] = found
            self._inputs.move_to_end(key)
        while self._bytes > STORE_BYTES and len(self._inputs) > 1:
            self._bytes -= self._inputs.popitem(last=False)[1].fresh.nbytes
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
