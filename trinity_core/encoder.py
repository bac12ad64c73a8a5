"""The encoder: text -> h, the hidden state from which the coordinator decides (section 3.1; Table 2 for the position).

    h(s) = H_l[p],   H_l in R^(T x d): hidden states of layer l over the T tokens of s,   p = T - 2 (penultimate)

`layer` counts as transformers does: 0 is the embedding, 1 ... L the blocks' outputs, the last one after the final norm.
Positions: `penultimate` (the paper's), `last`, `mean` over all tokens. Input formats (which one the authors used is
disputed, so both): `raw` writes `role: content` lines; `chat` applies the model's own template, generation prompt on.

Attention is causal and batches are padded on the right, so no real token can see a padded one: padding never changes a
vector beyond the rounding of a differently shaped matrix product. Hidden states are cached on disk by the text's
content and the encoder's fingerprint, so no text is encoded twice, in this process or any later one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trinity_core.encoder_cache import StateCache
from trinity_core.encoder_input import Text, as_messages, content_key
from trinity_core.encoder_prefix import PrefixStore, run_model
from trinity_core.paths import cache_dir
from trinity_core.progress import progress
from trinity_core.slm import ModelSource, find_model, load_body, load_tokenizer, read_sizes

POSITIONS = ("penultimate", "last", "mean")
INPUT_FORMATS = ("raw", "chat")
DTYPES = ("float32", "bfloat16")
BATCH_TOKENS = 1024  # larger batches gain nothing on two cores and cost memory


@dataclass
class EncoderStats:
    """What encoding cost and what the cache spared. Tokens are counted without padding."""

    texts: int = 0
    tokens_encoded: int = 0
    tokens_saved: int = 0
    truncated: int = 0


def token_index(mask: np.ndarray, position: str) -> np.ndarray:
    """Index of the penultimate or last real token in each row of a mask (batch, T), whichever side is padded."""
    mask = np.asarray(mask, dtype=bool)
    if mask.ndim != 2:
        raise ValueError(f"mask has shape {mask.shape}; expected (batch, tokens)")
    back = {"penultimate": 2, "last": 1}.get(position)
    if back is None:
        raise ValueError(f"position {position!r} has no single token; choose penultimate or last")
    short = np.flatnonzero(mask.sum(axis=1) < back)
    if short.size:
        raise ValueError(
            f"row {short[0]} has {int(mask[short[0]].sum())} real token(s); the {position} token needs at least {back}"
        )
    return np.array([np.flatnonzero(row)[-back] for row in mask])


def load_encoder(
    name: str = "smollm2-135m",
    *,
    position: str = "penultimate",
    input_format: str = "raw",
    layer: int = -1,
    dtype: str = "float32",
    thinking: bool = False,
    random_weights: int | None = None,
    max_tokens: int = 2048,
    cache: bool = True,
) -> Encoder:
    """An encoder by name: a packaged model, a local folder, or a hub id (see `trinity_core.slm`).

    The model itself loads at the first text that is not cached. `layer` may be negative (-1: the last). `thinking` is
    handed to chat templates that have such a switch (Qwen3). `random_weights` is a seed for fresh random weights.
    Longer inputs than `max_tokens` lose their oldest tokens. ValueError names any setting out of range.
    """
    for setting, value, choices in (
        ("position", position, POSITIONS),
        ("input_format", input_format, INPUT_FORMATS),
        ("dtype", dtype, DTYPES),
    ):
        if value not in choices:
            raise ValueError(f"unknown {setting} {value!r}; choose one of {', '.join(choices)}")
    for setting, value in (("layer", layer), ("max_tokens", max_tokens), ("random_weights", random_weights)):
        if not _whole(value) and not (setting == "random_weights" and value is None):
            raise ValueError(f"{setting} is {value!r}; give a whole number")
    if max_tokens < 2:
        raise ValueError(f"max_tokens is {max_tokens}; the penultimate token needs at least 2")
    seed = None if random_weights is None else int(random_weights)
    return Encoder(find_model(name), position, input_format, layer, dtype, thinking, seed, int(max_tokens), cache)


def _whole(value: Any) -> bool:
    """Whether the value is a whole number, Python's or numpy's; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


class Encoder:
    """Made by `load_encoder`. `d`: size of a hidden state; `n_layers`: blocks (layers 0 ... n_layers can be read)."""

    def __init__(
        self,
        source: ModelSource,
        position: str,
        input_format: str,
        layer: int,
        dtype: str,
        thinking: bool,
        random_weights: int | None,
        max_tokens: int,
        cache: bool,
    ) -> None:
        self.name = source.name
        self.d, self.n_layers, longest = read_sizes(source)
        self.position = position
        self.input_format = input_format
        self.layer = self._layer_index(layer)
        self.dtype = dtype
        self.thinking = thinking
        self.random_weights = random_weights
        self.max_tokens = min(max_tokens, longest)
        self.stats = EncoderStats()
        self._source = source
        self._lock = threading.Lock()
        self._prefixes = PrefixStore()
        self._cache = (
            StateCache(cache_dir() / "hidden_states" / f"{self._hash()[:24]}.states", self.d) if cache else None
        )

    def _hash(self, **more: Any) -> str:
        settings = {
            "weights": self._source.content_hash,
            "random_weights": self.random_weights,
            "input_format": self.input_format,
            "thinking": self.thinking,
            "dtype": self.dtype,
            "max_tokens": self.max_tokens,
            # The forward pass and the chat template are the library's: another version may round or format otherwise.
            "transformers": importlib.metadata.version("transformers"),
            **more,
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """A hash of all that a vector depends on but the text: weights, format, position, layer, dtype, limit."""
        return self._hash(position=self.position, layer=self.layer)

    @cached_property
    def tokenizer(self) -> Any:
        """The model's own tokenizer."""
        return load_tokenizer(self._source)

    @cached_property
    def model(self) -> Any:
        """The transformer without its language-model head, frozen, on the CPU."""
        return load_body(self._source, self.dtype, self.random_weights)

    def format(self, text: Text) -> str:
        """The string that is tokenised: `role: content` lines, or the chat template with a generation prompt."""
        messages = as_messages(text)
        if self.input_format == "raw":
            return "".join(f"{message['role']}: {message['content']}\n" for message in messages)
        if not self.tokenizer.chat_template:
            raise ValueError(f"the tokenizer of {self.name!r} has no chat template; use input_format='raw'")
        # Templates know these three roles; some drop any other without a word. An agent's line becomes the assistant's.
        messages = [
            message
            if message["role"] in ("system", "user", "assistant")
            else {"role": "assistant", "content": f"{message['role']}: {message['content']}"}
            for message in messages
        ]
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking
        )

    def token_ids(self, text: Text) -> list[int]:
        """The token ids of a formatted text, the oldest dropped beyond `max_tokens`."""
        return self._all_token_ids(text)[-self.max_tokens :]

    def _all_token_ids(self, text: Text) -> list[int]:
        # A chat template writes its special tokens itself; on raw text the tokenizer adds what the model expects.
        return self.tokenizer(self.format(text), add_special_tokens=self.input_format == "raw")["input_ids"]

    def tokens(self, text: Text) -> list[str]:
        """The same tokens as readable pieces."""
        return [self.tokenizer.decode([i]) for i in self.token_ids(text)]

    def position_index(self, text: Text) -> int:
        """Index in `tokens(text)` of the token whose hidden state is read; ValueError for `mean`, which reads all."""
        return int(token_index(np.ones((1, len(self.token_ids(text)))), self.position)[0])

    def encode(self, texts: Sequence[Text], *, reuse_prefix: bool = False) -> np.ndarray:
        """Hidden states (batch, d), float32, in the order given; a text is a string or a list of messages.

        `reuse_prefix`: encode only the last message of a transcript whose earlier messages were encoded by this encoder
        under the same flag (same vectors within rounding; memory for keys and values, see `encoder_prefix`).
        """
        return self._grid(texts, (self.layer,), (self.position,), reuse_prefix)[:, 0, 0]

    def encode_grid(
        self, texts: Sequence[Text], layers: Sequence[int] | str = "all", positions: Sequence[str] = POSITIONS
    ) -> np.ndarray:
        """Hidden states (batch, n_layers, n_positions, d), float32: many layers and positions from one forward pass."""
        wanted = range(self.n_layers + 1) if layers == "all" else [self._layer_index(layer) for layer in layers]
        unknown = [position for position in positions if position not in POSITIONS]
        if unknown:
            raise ValueError(f"unknown position {unknown[0]!r}; choose from {', '.join(POSITIONS)}")
        for setting, values in (("layers", wanted), ("positions", positions)):
            if not len(values) or len(set(values)) < len(values):
                raise ValueError(f"{setting} are {list(values)}; give at least one, and each once")
        return self._grid(texts, wanted, positions, reuse_prefix=False)

    def _grid(
        self, texts: Sequence[Text], layers: Sequence[int], positions: Sequence[str], reuse_prefix: bool
    ) -> np.ndarray:
        if isinstance(texts, str):
            raise TypeError("texts is one string; give a list of texts")
        if not isinstance(texts, Iterable):
            raise TypeError(f"texts is {texts!r}; give a list of texts")
        # A chat template closes with a generation prompt, so a longer transcript does not begin with a shorter one; the
        # mean needs every token's state.
        prefixes = self._prefixes if reuse_prefix and self.input_format == "raw" and "mean" not in positions else None
        messages = [as_messages(text, number) for number, text in enumerate(texts)]
        keys = [content_key(message) for message in messages]
        distinct = dict(zip(keys, messages, strict=True))
        with self._lock:
            known = self._cache.get(list(distinct), layers, positions) if self._cache and distinct else {}
            missing = {key: message for key, message in distinct.items() if key not in known}
            encoded_before = self.stats.tokens_encoded
            for batch, counts, states in self._encode_missing(missing, layers, positions, prefixes):
                if self._cache:
                    self._cache.put(batch, counts, layers, positions, states)
                known.update(zip(batch, zip(counts, states, strict=True), strict=True))
            self.stats.texts += len(keys)
            self.stats.tokens_saved += sum(known[key][0] for key in keys) - self.stats.tokens_encoded + encoded_before
        out = np.empty((len(keys), len(layers), len(positions), self.d), dtype=np.float32)
        for row, key in zip(out, keys, strict=True):
            row[:] = known[key][1]
        return out

    def _layer_index(self, layer: int) -> int:
        if not _whole(layer):
            raise ValueError(f"layer is {layer!r}; give a whole number")
        index = int(layer) + self.n_layers + 1 if layer < 0 else int(layer)
        if not 0 <= index <= self.n_layers:
            raise ValueError(f"layer {layer} does not exist; {self.name!r} has layers 0 to {self.n_layers}")
        return index

    def _encode_missing(
        self,
        missing: Mapping[bytes, list[dict[str, str]]],
        layers: Sequence[int],
        positions: Sequence[str],
        prefixes: PrefixStore | None,
    ) -> Iterator[tuple[list[bytes], list[int], np.ndarray]]:
        """Yields (keys, token counts, states (batch, n_layers, n_positions, d)), a length-sorted batch at a time."""
        if not missing:
            return
        ids = {key: self._all_token_ids(messages) for key, messages in missing.items()}
        self.stats.truncated += sum(len(tokens) > self.max_tokens for tokens in ids.values())
        ids = {key: tokens[-self.max_tokens :] for key, tokens in ids.items()}
        short = [missing[key] for key, tokens in ids.items() if len(tokens) < 2]
        if short:
            raise ValueError(f"the text {short[0]!r} has fewer than 2 tokens; the penultimate token needs 2")
        begun = {}
        if prefixes is not None:
            parents = {key: prefixes.find(content_key(missing[key][:-1]), ids[key]) for key in missing}
            begun = {key: prefix for key, prefix in parents.items() if prefix is not None}
        new = {key: len(tokens) - (len(begun[key].ids) if key in begun else 0) for key, tokens in ids.items()}
        with progress(sum(new.values()), f"encoding with {self.name}") as bar:
            for group in (begun, [key for key in new if key not in begun]):
                for batch in length_sorted_batches({key: new[key] for key in group}):
                    fresh = [ids[key][-new[key] :] for key in batch]
                    output, kept = run_model(
                        self.model,
                        fresh,
                        [begun[key] for key in batch if key in begun],
                        all_layers=list(layers) != [self.n_layers],
                        keep=prefixes is not None,
                    )
                    for key, states in zip(batch, kept, strict=False):
                        prefixes.put(key, ids[key], states)
                    yield batch, [len(ids[key]) for key in batch], self._read(output, fresh, layers, positions)
                    spent = sum(map(len, fresh))
                    self.stats.tokens_encoded += spent
                    bar.update(spent)

    def _read(self, output: Any, ids: list[list[int]], layers: Sequence[int], positions: Sequence[str]) -> np.ndarray:
        """(batch, n_layers, n_positions, d) out of a forward pass over right-padded `ids`."""
        mask = np.zeros((len(ids), max(map(len, ids))), dtype=bool)
        for row, tokens in zip(mask, ids, strict=True):
            row[: len(tokens)] = True
        hidden = output.hidden_states or {self.n_layers: output.last_hidden_state}
        grid = [[self._pick(hidden[layer], mask, position) for position in positions] for layer in layers]
        states = np.asarray(grid, dtype=np.float32).transpose(2, 0, 1, 3)
        if not np.isfinite(states).all():
            raise FloatingPointError(f"the encoder {self.name!r} gave non-finite hidden states; try dtype='float32'")
        return states

    @staticmethod
    def _pick(hidden: Any, mask: np.ndarray, position: str) -> np.ndarray:
        """(batch, T, d) -> (batch, d) at the position."""
        import torch

        if position == "mean":
            weights = torch.from_numpy(mask.astype(np.float32))
            return (torch.einsum("btd,bt->bd", hidden.float(), weights) / weights.sum(1, keepdim=True)).numpy()
        return hidden[torch.arange(len(mask)), torch.from_numpy(token_index(mask, position))].float().numpy()


def length_sorted_batches(lengths: Mapping[bytes, int]) -> Iterator[list[bytes]]:
    """Batches of texts of like length, longest first (memory is claimed once), at most `BATCH_TOKENS` padded."""
    batch: list[bytes] = []
    for key in sorted(lengths, key=lambda key: (-lengths[key], key)):
        if batch and lengths[batch[0]] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(key)
    if batch:
        yield batch
