"""The coordinator that the authors trained and published, as one vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trinity_core.coordinator import Coordinator, described
from trinity_core.encoder import Encoder, load_encoder
from trinity_core.heads import make_head
from trinity_core.svf import Svf

# L agents in the order of the released vector's first seven rows (Figure 15, A0 ... A6).
RELEASED_AGENTS = (
    "GPT-5",
    "Claude-4-Sonnet",
    "Gemini-2.5-pro",
    "DeepSeek-R1-Distill-Qwen-32B",
    "Gemma-3-27B-It",
    "Qwen3-32B (reasoning)",
    "Qwen3-32B (direct)",
)


def load_released(path: Path | str, encoder: Encoder | None = None) -> Coordinator:
    """The authors' published vector: SVF offsets of nine blocks, then the linear head, row-major; never unpickled.

    For Qwen3-0.6B (the default encoder, from the hub, with its chat template): 9,216 offsets + 10 x 1,024 = 19,456.
    ValueError where the file holds anything but the float64 numbers that the encoder's model needs.
    """
    try:
        vector = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a plain .npy array ({error}); only unpickled numbers are read") from None
    encoder = encoder or load_encoder("Qwen/Qwen3-0.6B", input_format="chat")
    offsets, weights = Svf(encoder, "released").size, make_head("linear", len(RELEASED_AGENTS), encoder.d).size
    if getattr(vector, "shape", None) != (offsets + weights,) or vector.dtype != np.float64:
        raise ValueError(
            f"{path} does not hold the {offsets} offsets and {weights} head weights, float64 of shape "
            f"({offsets + weights},), that {encoder.name!r} takes; load the encoder that the vector was made for"
        )
    return Coordinator(described(encoder), RELEASED_AGENTS, "linear", vector, "released")
