"""Hidden states made from a text's content, without a model; the loop's rollouts beside a compiled world's plays."""

from __future__ import annotations

import numpy as np
import pandas as pd

from suite.pools import load_pool
from suite.stats.rollouts import plays_table, rollouts_table
from suite.worlds.simulated import SimulatedWorld
from suite.worlds.tree import READ
from trinity_core.encoder import as_messages, content_key
from trinity_core.rollout import Job, LoopSettings
from trinity_core.types import ROLES


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
    """The same states as a simulated world reads them: of the last answers alone, rounded to float16."""

    def encode(self, texts, *, reuse_prefix: bool = False) -> np.ndarray:
        """As `MadeEncoder.encode`."""
        return super().encode([_last(text) for text in texts]).astype(np.float16).astype(np.float64)


def _last(text):
    """The messages with the last `READ` answers, under the released rule."""
    question, *entries = as_messages(text)
    if len(entries) <= READ or entries[0]["role"] != "thought":
        return text
    said = [entry["content"].partition(" ")[2] for entry in entries[-READ:]]
    return [question, *({"role": "thought", "content": f"{n}. {one}"} for n, one in enumerate(said, 1))]


def made_world(questions, d: int = 24, known=None, transcript: str = "released") -> SimulatedWorld:
    """The seven simulated agents on `questions`, read by a `MadeEncoder`; the pool knows `known` (None: the same)."""
    pool, settings = load_pool("paper7", questions=known or questions), LoopSettings(transcript=transcript)
    return SimulatedWorld(questions, pool, MadeEncoder(d, known or questions), settings)


def jobs_of(questions, asked, replicates) -> list[Job]:
    """The loop's jobs for a world's `play` on `asked` and `replicates`, both (lambda, m)."""
    cells = ((c, q, r) for c, row in enumerate(zip(asked, replicates, strict=True)) for q, r in zip(*row, strict=True))
    return [Job(questions[q], candidate, int(replicate)) for candidate, q, replicate in cells]


def assert_same(plays, rollouts, questions) -> None:
    """The plays are the very rollouts: tables alike, and turn by turn the same agents and roles, named or drawn."""
    theirs = rollouts_table(rollouts).assign(answer=None)
    pd.testing.assert_frame_equal(plays_table(plays, questions), theirs, check_dtype=False, rtol=1e-12)
    for number, rollout in enumerate(rollouts):
        at, count = divmod(number, plays.questions.shape[1]), len(rollout.turns)
        told = [(turn.agent, ROLES.index(turn.role), turn.overridden) for turn in rollout.turns]
        assert list(zip(plays.agents[at], plays.roles[at], plays.named[at], strict=True))[:count] == told
        assert (plays.agents[at][count:] == -1).all()
