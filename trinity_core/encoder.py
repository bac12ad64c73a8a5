"""The encoder: text -> h, the hidden state from which the coordinator decides (section 3.1; Table 2 for the position).

    h(s) = H_l[p],   H_l in R^(T x d): hidden states of layer l over the T tokens of s,   p = T - 2 (penultimate)

`layer` counts as transformers does: 0 is the embedding, 1 ... L the blocks' outputs, the last one after the final norm.
Positions: `penultimate` (the paper's), `last`, `mean` over all tokens. Input formats (which one the authors used is
disputed, so both): `raw` writes `role: content` lines; `chat` applies the model's own template, generation prompt on.

Attention is causal and batches are padded on the right: padding never changes a vector beyond the rounding of a
differently shaped matrix product. Hidden states are kept on disk by the text's content and the encoder's fingerprint.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from trinity_core.checks import one_of, whole
from trinity_core.encoder_prefix import Prefix, Recent, padded_batches, run_model
from trinity_core.paths import cache_dir
from trinity_core.progress import progress
from trinity_core.slm import ModelSource, find_model, load_body, load_tokenizer, read_sizes
from trinity_core.store import Store

POSITIONS = {"penultimate": 2, "last": 1, "mean": None}  # how many tokens from the end; the mean has no single one
INPUT_FORMATS = ("raw", "chat")
DTYPES = ("float32", "bfloat16")
SURROGATE = re.compile("[\ud800-\udfff]")  # no character by itself: tokenizers refuse it without saying why
BATCH_TOKENS = 1024  # larger batches gain nothing on two cores and cost memory

Text = str | Sequence[Mapping[str, str]]
Grid = tuple[int, np.ndarray]  # a text's number of tokens, and its states (n_layers, n_positions, d)


@dataclass(frozen=True)
class EncoderSettings:
    """How texts are read. ValueError names any setting out of range.

    `layer` may be negative (-1: the last). `thinking` is handed to chat templates that have such a switch (Qwen3).
    `random_weights` is a seed for fresh random weights. Longer inputs than `max_tokens` lose their oldest tokens.
    """

    position: str = "penultimate"
    input_format: str = "raw"
    layer: int = -1
    dtype: str = "float32"
    thinking: bool = False
    random_weights: int | None = None
    max_tokens: int = 2048

    def __post_init__(self) -> None:
        for name, choices in (("position", POSITIONS), ("input_format", INPUT_FORMATS), ("dtype", DTYPES)):
            one_of(name, getattr(self, name), choices)
        for name, least in (("layer", None), ("random_weights", None), ("max_tokens", 2)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), least))


@dataclass
class EncoderStats:
    """What encoding cost and what the cache spared. Tokens are counted without padding."""

    tokens_encoded: int = 0
    tokens_saved: int = 0


def as_messages(text: Text, number: int = 0) -> list[dict[str, str]]:
    """A text as chat messages: a string is one user message. ValueError names the text by its number in the call."""
    if not isinstance(text, (str, Sequence)) or isinstance(text, bytes):
        raise ValueError(f"text {number} is {text!r}; give a string or a list of messages")
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else list(text)
    if not messages:
        raise ValueError(f"text {number} is an empty transcript; give at least one message")
    for message in messages:
        if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
            raise ValueError(f"text {number} has the message {message!r}; expected {{'role': ..., 'content': ...}}")
        if not all(isinstance(part, str) and part.strip() and not SURROGATE.search(part) for part in message.values()):
            raise ValueError(f"text {number} holds {dict(message)!r}: empty, no text, or half a surrogate pair")
    return [dict(message) for message in messages]


def content_key(messages: list[dict[str, str]]) -> bytes:
    """16 bytes that stand for a transcript's content."""
    return hashlib.blake2b(json.dumps(messages, sort_keys=True).encode(), digest_size=16).digest()


def token_index(mask: np.ndarray, position: str) -> np.ndarray:
    """Index of the penultimate or last real token in each row of a mask (batch, T), whichever side is padded."""
    back = POSITIONS.get(position)
    if back is None:
        raise ValueError(f"position {position!r} has no single token; choose penultimate or last")
    real = [np.flatnonzero(row) for row in mask]
    for row, places in enumerate(real):
        if len(places) < back:
            raise ValueError(f"row {row} has {len(places)} real token(s); the {position} token needs at least {back}")
    return np.array([places[-back] for places in real])


def load_encoder(name: str = "smollm2-135m", *, cache: bool = True, **settings: Any) -> Encoder:
    """An encoder by name (see `slm`); `settings`: those of `EncoderSettings`. The model itself loads at the first text
    that is not cached."""
    return Encoder(find_model(name), EncoderSettings(**settings), cache)


class Encoder:
    """Made by `load_encoder`. `d`: size of a hidden state; `n_layers`: blocks (layers 0 ... n_layers can be read)."""

    def __init__(self, source: ModelSource, settings: EncoderSettings, cache: bool) -> None:
        self.name, self._source = source.name, source
        self.d, self.n_layers, longest = read_sizes(source)
        self.position, self.input_format = settings.position, settings.input_format
        self.layer = self._layer_index(settings.layer)
        self.settings = replace(settings, layer=self.layer, max_tokens=min(settings.max_tokens, longest))
        self.stats = EncoderStats()
        self.lock, self.prefixes = threading.Lock(), Recent()
        self._cache = StateCache(f"{self._hash()[:24]}.states", self.d) if cache else None

    def _hash(self, **more: Any) -> str:
        settings = asdict(self.settings)
        del settings["position"], settings["layer"]  # states of all of them are kept in one file
        settings |= {
            "weights": self._source.content_hash,
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
        return load_body(self._source, self.settings.dtype, self.settings.random_weights)

    def format(self, text: Text) -> str:
        """The string that is tokenised: `role: content` lines, or the chat template with a generation prompt."""
        messages = as_messages(text)
        if self.input_format == "raw":
            return "".join(f"{message['role']}: {message['content']}\n" for message in messages)
        if not self.tokenizer.chat_template:
            raise ValueError(f"the tokenizer of {self.name!r} has no chat template; use input_format='raw'")
        for message in messages:
            # Templates know three roles; some drop any other without a word. An agent's line becomes the assistant's.
            if message["role"] not in ("system", "user", "assistant"):
                message |= {"role": "assistant", "content": f"{message['role']}: {message['content']}"}
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=self.settings.thinking
        )

    def token_ids(self, text: Text) -> list[int]:
        """The token ids of a formatted text, at least 2, the oldest dropped beyond `max_tokens`."""
        # A chat template writes its special tokens itself; on raw text the tokenizer adds what the model expects.
        ids = self.tokenizer(self.format(text), add_special_tokens=self.input_format == "raw")["input_ids"]
        if len(ids) < 2:
            raise ValueError(f"the text {text!r} has fewer than 2 tokens; the penultimate token needs 2")
        return ids[-self.settings.max_tokens :]

    def tokens(self, text: Text) -> list[str]:
        """The same tokens as readable pieces."""
        return [self.tokenizer.decode([i]) for i in self.token_ids(text)]

    def position_index(self, text: Text) -> int:
        """Index in `tokens(text)` of the token whose hidden state is read; ValueError for `mean`, which reads all."""
        return int(token_index(np.ones((1, len(self.token_ids(text)))), self.position)[0])

    def encode(self, texts: Sequence[Text], *, reuse_prefix: bool = False) -> np.ndarray:
        """Hidden states (batch, d), float32, in the order given; a text is a string or a list of messages. With
        `reuse_prefix` only new messages of a transcript are encoded whose earlier ones were, under the same flag."""
        return self._grid(texts, (self.layer,), (self.position,), reuse_prefix)[:, 0, 0]

    def encode_grid(
        self, texts: Sequence[Text], layers: Sequence[int] | str = "all", positions: Sequence[str] = tuple(POSITIONS)
    ) -> np.ndarray:
        """Hidden states (batch, n_layers, n_positions, d), float32: many layers and positions from one forward pass."""
        wanted = range(self.n_layers + 1) if layers == "all" else [self._layer_index(layer) for layer in layers]
        for position in positions:
            one_of("position", position, POSITIONS)
        for values in (wanted, positions):
            if not len(values) or len(set(values)) < len(values):
                raise ValueError(f"layers or positions are {list(values)}; give at least one, and each once")
        return self._grid(texts, wanted, positions, reuse_prefix=False)

    def forward_passes(
        self, ids: Mapping[bytes, list[int]], begun: Mapping[bytes, Prefix | None], model: Any = None, **settings: bool
    ) -> Iterator[tuple[list[bytes], list[list[int]], Any]]:
        """Runs the model over texts `ids`, a batch of like lengths at a time: (keys, their new token ids, output).
        `begun`: the prefixes of texts that go on where one ended; `settings`: see `run_model`."""
        new = {key: tokens[len(begun[key].ids) if begun.get(key) else 0 :] for key, tokens in ids.items()}
        with progress(sum(map(len, new.values())), f"encoding with {self.name}") as bar:
            longest_first = sorted(new, key=lambda key: (-len(new[key]), key))  # so memory is claimed once
            for go_on in (True, False):
                group = {key: len(new[key]) for key in longest_first if bool(begun.get(key)) == go_on}
                for batch in padded_batches(group, group, BATCH_TOKENS):
                    fresh = [new[key] for key in batch]
                    prefixes = [begun[key] for key in batch if begun.get(key)]
                    output, kept = run_model(model or self.model, fresh, prefixes, **settings)
                    for key, states in zip(batch, kept, strict=False):
                        self.prefixes.put(key, Prefix(ids[key], states))
                    yield batch, fresh, output
                    spent = sum(map(len, fresh))
                    self.stats.tokens_encoded += spent
                    bar.update(spent)

    def read(self, output: Any, ids: list[list[int]], layers: Sequence[int], positions: Sequence[str]) -> np.ndarray:
        """(batch, n_layers, n_positions, d) out of a forward pass over right-padded `ids`."""
        import torch

        lengths = torch.tensor([len(tokens) for tokens in ids])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        hidden = output.hidden_states or {self.n_layers: output.last_hidden_state}

        def pick(states: Any, position: str) -> np.ndarray:
            if position == "mean":
                weights = mask.float()
                return (torch.einsum("btd,bt->bd", states.float(), weights) / weights.sum(1, keepdim=True)).numpy()
            return states[torch.arange(len(ids)), lengths - POSITIONS[position]].float().numpy()

        grid = [[pick(hidden[layer], position) for position in positions] for layer in layers]
        states = np.asarray(grid, dtype=np.float32).transpose(2, 0, 1, 3)
        if not np.isfinite(states).all():
            raise FloatingPointError(f"the encoder {self.name!r} gave non-finite hidden states; try dtype='float32'")
        return states

    def _grid(
        self, texts: Sequence[Text], layers: Sequence[int], positions: Sequence[str], reuse_prefix: bool
    ) -> np.ndarray:
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise TypeError(f"texts is {texts!r}; give a list of texts")
        # A chat template closes with a generation prompt, so a longer transcript does not begin with a shorter one; the
        # mean needs every token's state.
        keep = reuse_prefix and self.input_format == "raw" and "mean" not in positions
        messages = [as_messages(text, number) for number, text in enumerate(texts)]
        keys = [content_key(message) for message in messages]
        distinct = dict(zip(keys, messages, strict=True))
        with self.lock:
            known = self._cache.get(list(distinct), layers, positions) if self._cache and distinct else {}
            ids = {key: self.token_ids(message) for key, message in distinct.items() if key not in known}
            begun = {key: self.prefixes.find(content_key(distinct[key][:-1]), ids[key]) for key in ids if keep}
            before, all_layers = self.stats.tokens_encoded, list(layers) != [self.n_layers]
            for batch, fresh, output in self.forward_passes(ids, begun, all_layers=all_layers, keep=keep):
                states = self.read(output, fresh, layers, positions)
                made = {key: (len(ids[key]), grid) for key, grid in zip(batch, states, strict=True)}
                if self._cache:
                    self._cache.put(made, layers, positions)
                known |= made
            self.stats.tokens_saved += sum(known[key][0] for key in keys) - self.stats.tokens_encoded + before
        states = [known[key][1] for key in keys]
        return np.array(states, np.float32).reshape(len(keys), len(layers), len(positions), self.d)

    def _layer_index(self, layer: int) -> int:
        index = whole("layer", layer)
        index += self.n_layers + 1 if index < 0 else 0
        if not 0 <= index <= self.n_layers:
            raise ValueError(f"layer {layer} does not exist; {self.name!r} has layers 0 to {self.n_layers}")
        return index


class StateCache:
    """`get` and `put` of float32 vectors of length `d`, keyed by (text digest, layer, position)."""

    def __init__(self, name: str, d: int) -> None:
        self.d = d
        try:
            self.store = Store(cache_dir() / "hidden_states" / name)
        except OSError as error:
            raise OSError(f"{error}, or load the encoder with cache=False") from None

    def get(self, texts: Sequence[bytes], layers: Sequence[int], positions: Sequence[str]) -> dict[bytes, Grid]:
        """The texts of which every (layer, position) is stored, by digest."""
        names = _names(layers, positions)
        entries = self.store.get(text + name for text in texts for name in names)
        found = {}
        for text in texts:
            values = [entries.get(text + name, b"") for name in names]
            if all(len(value) == 4 + 4 * self.d for value in values):
                states = np.array([np.frombuffer(value, "<f4", offset=4) for value in values], np.float32)
                if np.isfinite(states).all():
                    count = int.from_bytes(values[0][:4], "little")
                    found[text] = count, states.reshape(len(layers), len(positions), self.d)
        return found

    def put(self, grids: dict[bytes, Grid], layers: Sequence[int], positions: Sequence[str]) -> None:
        """Stores texts' grids in one transaction."""
        entries = {}
        for text, (count, states) in grids.items():
            for name, vector in zip(_names(layers, positions), states.reshape(-1, self.d), strict=True):
                entries[text + name] = count.to_bytes(4, "little") + vector.astype("<f4").tobytes()
        self.store.put(entries)


def _names(layers: Sequence[int], positions: Sequence[str]) -> list[bytes]:
    return [struct.pack("<H", layer) + position.encode() for layer, position in product(layers, positions)]
