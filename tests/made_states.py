"""An encoder without a model: hidden states made from a text's content, for tests of what comes after them."""

from __future__ import annotations

import numpy as np

from suite.pools import load_pool
from suite.worlds.simulated import SimulatedWorld
from trinity_core.encoder import as_messages, content_key
from trinity_core.rollout import LoopSettings


class MadeEncoder:
    """States (batch, d) keyed by the text; with `families`, a question's family stands out in its first numbers."""

    position = "penultimate"
    input_format = "raw"
    layer = n_layers = 1
    name = "made"

    def __init__(self, d: int = 24, questions=(), fingerprint: str = "made" + "0" * 60) -> None:
        self.d, self.fingerprint = d, fingerprint
        self.encoded = 0
        names = list(dict.fromkeys(question.family for question in questions))
        self._family = {question.text: names.index(question.family) for question in questions}

    def encode(self, texts, *, reuse_prefix: bool = False) -> np.ndarray:
        """As `Encoder.encode`."""
        self.encoded += len(texts)
        out = np.empty((len(texts), self.d), np.float32)
        for row, text in zip(out, texts, strict=True):
            messages = as_messages(text)
            row[:] = np.random.default_rng(list(content_key(messages))).standard_normal(self.d)
            family = self._family.get(messages[0]["content"])
            if family is not None:
                row[family] += 6.0
                row[4 + min(len(messages), 5)] += 6.0
        return out


class RoundedEncoder(MadeEncoder):
    """The same states as a bank would hold them: rounded to float16."""

    def encode(self, texts, *, reuse_prefix: bool = False) -> np.ndarray:
        """As `MadeEncoder.encode`."""
        return super().encode(texts).astype(np.float16).astype(np.float64)


def made_world(questions, d: int = 24, known=None, transcript: str = "released") -> SimulatedWorld:
    """The seven simulated agents on `questions`, read by a `MadeEncoder`; the pool knows `known` (None: the same)."""
    pool, settings = load_pool("paper7", questions=known or questions), LoopSettings(transcript=transcript)
    return SimulatedWorld(questions, pool, MadeEncoder(d, known or questions), settings)
