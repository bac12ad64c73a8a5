"""The bank of hidden states under `data/bank`: what training reads, the same bits on every machine.

Hidden states differ in their last bits between processors, and one flipped decision sends an evolution run down another
path. So whatever is trained reads states rounded to float16 from files of the repository; only a text that they lack is
encoded, rounded alike, and noted, so that the next `trinity bank --add` can put it into the bank.

A bank belongs to one encoder and lies in a folder of its fingerprint: `NNN.npz` files of at most `SHARD` texts with
`keys` (n, 16) uint8, the content keys, and `states` (n, d) float16. Files are only ever added, so that a new version of
the repository does not carry the old states again."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from trinity_core import paths
from trinity_core.encoder import Encoder, as_messages, content_key

SHARD = 3500  # texts a file: 4 MB at d = 576
Text = str | Sequence[Mapping[str, str]]


class BankError(ValueError):
    """A bank's file that cannot be read or does not belong to the encoder."""


def bank_folder(encoder: Encoder) -> Path:
    """Where the bank of an encoder lies, whether or not it is there."""
    return paths.DATA / "bank" / encoder.fingerprint[:16]


class StateBank:
    """The states of one encoder, by content; `encode` is the encoder's, through the bank, and `missed` counts the texts
    that it lacked. BankError names a file that cannot be read."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.folder = bank_folder(encoder)
        self.missed = 0
        read = [_read(path, encoder.d) for path in sorted(self.folder.glob("*.npz"))]
        self._states = np.concatenate([np.empty((0, encoder.d), np.float16), *(states for _, states in read)])
        self._row = {key: row for row, key in enumerate(key for keys, _ in read for key in keys)}
        if len(self) != len(self._states):
            raise BankError(f"the bank {self.folder} holds a text twice; start it afresh with --rebuild")

    def __len__(self) -> int:
        return len(self._row)

    def encode(self, texts: Sequence[Text]) -> np.ndarray:
        """States (batch, d), float16, in the order given; texts that the bank lacks are encoded and noted."""
        messages = [as_messages(text, number) for number, text in enumerate(texts)]
        keys = [content_key(message) for message in messages]
        out = np.empty((len(keys), self.encoder.d), np.float16)
        have = [self._row.get(key) for key in keys]
        missing = [place for place, row in enumerate(have) if row is None]
        known = [place for place, row in enumerate(have) if row is not None]
        out[known] = self._states[[have[place] for place in known]]
        self.missed += len(missing)
        if missing:
            self._note([messages[place] for place in missing])
        for length in sorted({len(messages[place]) for place in missing}):  # longer ones find their beginning
            batch = [place for place in missing if len(messages[place]) == length]
            states = self.encoder.encode([messages[place] for place in batch], reuse_prefix=True)
            out[batch] = states.astype(np.float16)
        if not np.isfinite(out).all():
            raise BankError("a hidden state is too large for float16; this encoder cannot have a bank")
        return out

    @property
    def notes(self) -> Path:
        """The list of texts that this machine met and the bank lacked: one JSON list of messages a line."""
        return paths.cache_dir() / "bank" / f"{self.folder.name}.jsonl"

    def _note(self, messages: list[list[dict[str, str]]]) -> None:
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        try:
            self.notes.parent.mkdir(parents=True, exist_ok=True)
            with open(self.notes, "a", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:  # a note helps the next --add alone: what is asked for needs none
            warnings.warn(f"texts that the bank lacks are not noted ({error}); --add will not know them", stacklevel=2)


def _read(path: Path, d: int) -> tuple[list[bytes], np.ndarray]:
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            keys, states = file["keys"], file["states"]
    except Exception as error:  # what the reader of a damaged archive raises depends on where the damage is
        raise BankError(f"the bank's file {path} cannot be read ({error}); restore it with git, or --rebuild") from None
    if states.dtype != np.float16 or states.shape[1:] != (d,) or keys.shape != (len(states), 16):
        raise BankError(f"{path} holds keys {keys.shape} and states {states.shape} {states.dtype}; expected d = {d}")
    if not np.isfinite(states).all():
        raise BankError(f"{path} holds a state that is not finite; restore it with git, or --rebuild")
    return [key.tobytes() for key in keys], states


def add(encoder: Encoder) -> int:
    """Puts the noted texts that the bank lacks into new files; returns how many."""
    bank = StateBank(encoder)
    if not bank.notes.is_file():
        return 0
    texts: dict[bytes, list[dict[str, str]]] = {}
    for line in bank.notes.read_text(encoding="utf-8").splitlines():
        try:
            message = as_messages(json.loads(line))
        except ValueError:
            continue  # the end of a note that was cut by a killed run
        texts.setdefault(content_key(message), message)
    new = {key: text for key, text in texts.items() if key not in bank._row}
    states = bank.encode(list(new.values())) if new else bank._states[:0]
    keys = np.array([np.frombuffer(key, np.uint8) for key in new], np.uint8).reshape(len(new), 16)
    order = np.lexsort(keys.T[::-1])
    first = len(list(bank.folder.glob("*.npz")))
    for number, start in enumerate(range(0, len(new), SHARD), first):
        rows = order[start : start + SHARD]
        content = io.BytesIO()
        np.savez(content, keys=keys[rows], states=states[rows])
        paths.write_atomic(bank.folder / f"{number:03d}.npz", content.getvalue())
    bank.notes.unlink()
    return len(new)
