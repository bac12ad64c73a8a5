"""The hidden states that recorded questions are routed by, and all of them encoded ahead.

In bfloat16 on processors that multiply it (twice as many of two million tokens a second, vectors within 2 %), elsewhere
in float32, where bfloat16 is slower. Read through float16, so that last bits mostly do not differ between processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import cpu

from suite.profiles import RecordedError
from suite.recordings.readers import read_tables
from suite.worlds.verifying import encode_ahead
from trinity_core.encoder import Encoder, load_encoder

DEPTHS = (0.2, 0.5, 0.8, 1.0)  # of the layers that are compared
POSITIONS = ("penultimate", "last", "mean")
BENCHMARKS = ("mmlu", "gsm8k", "cmmlu", "arc_challenge", "humaneval")  # RouterDC's, in the order of its table


def load_reader(name: str = "smollm2-135m", *, layer: int = -1, position: str = "penultimate") -> Encoder:
    """The encoder of recorded questions; `name`, `layer` and `position` as in `load_encoder`."""
    return load_encoder(name, layer=layer, position=position, dtype=fast_dtype())


def fast_dtype() -> str:
    """`bfloat16` where this processor has units for it (x86: AVX512-BF16 or AMX), else `float32`."""
    units = [name for name, there in cpu.get_capabilities().items() if "bf16" in name and there]
    return "bfloat16" if units else "float32"


def states(encoder: Encoder, texts: Sequence[str]) -> np.ndarray:
    """Hidden states (n, d), float64, of questions as an encoder of `load_reader` reads them."""
    return encoder.encode(texts).astype(np.float16).astype(np.float64)


def layers_of(encoder: Encoder) -> tuple[int, ...]:
    """The layers that are compared: 6, 15, 24 and 30 of thirty."""
    return tuple(dict.fromkeys(max(1, round(depth * encoder.n_layers)) for depth in DEPTHS))


def grid(encoder: Encoder, texts: Sequence[str]) -> dict[tuple[int, str], np.ndarray]:
    """States (n, d), float16, by (layer, position): all that is compared, from one forward pass."""
    layers = layers_of(encoder)
    found = encoder.encode_grid(texts, layers, POSITIONS).astype(np.float16)
    return {(layer, position): found[:, i, j] for i, layer in enumerate(layers) for j, position in enumerate(POSITIONS)}


def encode_all(data: Path) -> None:
    """Encodes what the notebooks on recorded LLMs read of the folder `data`, with a bar over the tokens that are left.

    Kept batch by batch: a stopped run goes on where it was. RecordedError names a file that cannot be read.
    """
    reader = load_reader()
    tables = [*read_tables(split_files(data, "train")), *read_tables(split_files(data, "test"))]
    grid(reader, [text for table in tables for text in table.questions])
    encode_ahead(data, reader)
    encoded, known = reader.stats.tokens_encoded, reader.stats.tokens_saved
    print(f"Hidden states of {data}: {encoded:,} tokens encoded now, {known:,} known")


def split_files(data: Path, split: str) -> list[Path]:
    """The files of RouterDC's table of a split ("train", "test"), in its order; others in the folder are left alone.

    RecordedError names one that is missing.
    """
    found = []
    for name in BENCHMARKS:
        paths = [data / "routerdc" / f"{name}{mark}{split}.json" for mark in "_-"]
        found += [path for path in paths if path.is_file()][:1]
        if not any(path.is_file() for path in paths):
            raise RecordedError(f"{paths[0]} is not there; put RouterDC's files into that folder (see data/README.md)")
    return found
