"""The coordinator that the authors trained and published, as one vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from suite.pools.config import read_config
from trinity_core.coordinator import Coordinator, described
from trinity_core.encoder import Encoder, load_encoder
from trinity_core.heads import make_head
from trinity_core.svf import Svf


def load_released(path: Path | str, encoder: Encoder | None = None) -> Coordinator:
    """The authors' published vector: SVF offsets of nine blocks, then the linear head, row-major; never unpickled.

    For Qwen3-0.6B (the default encoder, from the hub, with its chat template): 9,216 offsets + 10 x 1,024 = 19,456.
    ValueError where the file holds anything but the float64 numbers that the encoder's model needs.
    """
    try:
        vector = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a plain .npy array ({error}); only unpickled numbers are read") from None
    agents = tuple(agent["name"] for agent in read_config("paper7")["agents"])  # in the vector's order, A0 to A6
    encoder = encoder or load_encoder("Qwen/Qwen3-0.6B", input_format="chat")
    offsets, weights = Svf(encoder, "released").size, make_head("linear", len(agents), encoder.d).size
    if getattr(vector, "shape", None) != (offsets + weights,) or vector.dtype != np.float64:
        raise ValueError(
            f"{path} does not hold the {offsets} offsets and {weights} head weights, float64 of shape "
            f"({offsets + weights},), that {encoder.name!r} takes; load the encoder that the vector was made for"
        )
    return Coordinator(described(encoder), agents, "linear", vector, "released")
