"""Prefix reuse: when a transcript grows by a line, only the line is encoded.

Under causal attention the keys and values of old tokens do not change when tokens are appended. They are kept in memory
for recently encoded transcripts (about 46 KB a token for SmolLM2-135M in float32), least recently used dropped first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

K = TypeVar("K")

STORE_BYTES = 1 << 30


class Prefix(NamedTuple):
    """A transcript's token ids and its keys and values (2 * layers, heads, tokens, head size)."""

    ids: list[int]
    states: Any


class Recent(OrderedDict):
    """The most recently used values, which hold `states` of their own memory, at most `STORE_BYTES` in all."""

    nbytes = 0

    def put(self, key: bytes, value: Any) -> None:
        """Keeps a value as the most recently used."""
        if key in self:
            self.nbytes -= self.pop(key).states.nbytes
        self[key] = value
        self.nbytes += value.states.nbytes
        while self.nbytes > STORE_BYTES and len(self) > 1:
            self.nbytes -= self.popitem(last=False)[1].states.nbytes

    def find(self, key: bytes, ids: list[int]) -> Any:
        """The value under `key`, if `ids` really begins with its own and at least two tokens are new; or None."""
        found = self.get(key)
        if found is None or len(ids) < len(found.ids) + 2 or ids[: len(found.ids)] != found.ids:
            return None
        self.move_to_end(key)
        return found


def padded_batches(keys: Iterable[K], tokens: Mapping[K, int], limit: int) -> Iterator[list[K]]:
    """Runs of `keys`, which come ordered by their number of `tokens`, at most `limit` tokens each with the padding."""
    batch: list[K] = []
    for key in keys:
        if batch and max(tokens[batch[0]], tokens[key]) * (len(batch) + 1) > limit:
            yield batch
            batch = []
        batch.append(key)
    if batch:
        yield batch


def run_model(
    model: Any, ids: list[list[int]], prefixes: list[Prefix], all_layers: bool, keep: bool
) -> tuple[Any, list]:
    """One forward pass over new tokens after their prefixes (an empty list: none): transformers' output for the new
    tokens alone (batch, T_new, d), padded on the right, and with `keep` each text's keys and values for a `Prefix`."""
    import torch
    from transformers import DynamicCache

    new = max(map(len, ids))
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(tokens) for tokens in ids], batch_first=True)
    arguments: dict[str, Any] = {}
    old = [len(prefix.ids) for prefix in prefixes] or [0] * len(ids)
    width = max(old)
    if width:
        cache = DynamicCache(config=model.config)
        first = prefixes[0].states
        joined = first.new_zeros((first.shape[0], len(ids), first.shape[1], width, first.shape[3]))
        mask = torch.zeros((len(ids), width + new), dtype=torch.long)
        for row, (prefix, length) in enumerate(zip(prefixes, old, strict=True)):
            # Prefixes are padded on the left, new tokens on the right: what is real stays in one run.
            joined[:, row, :, width - length :] = prefix.states
            mask[row, width - length : width + len(ids[row])] = 1
        for layer in range(len(joined) // 2):
            cache.update(joined[2 * layer], joined[2 * layer + 1], layer)
        positions = torch.tensor(old)[:, None] + torch.arange(new)
        arguments = {"cache": cache, "attention_mask": mask, "position_ids": positions}
    # Without a prefix no mask is needed: causal attention already hides padding on the right, on a faster path.
    with torch.inference_mode():
        output = model(input_ids=padded, use_cache=keep, output_hidden_states=all_layers, **arguments)
    if not keep:
        return output, []
    layers = [part for layer in output.cache.layers for part in (layer.keys, layer.values)]
    return output, [
        torch.stack([part[row, :, width - length : width + len(tokens)] for part in layers])
        for row, (tokens, length) in enumerate(zip(ids, old, strict=True))
    ]
