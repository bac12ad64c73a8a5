"""Benchmark of the encoder on 256 questions in given order; one JSON line last, exit 1 below an aim.

Ratios within one run, so that they hold on any machine:
- `speedup`: the obvious way (padded batches of 32 in the given order through the causal language model, all hidden
  states kept) over `Encoder.encode` with an empty cache; aim 1.6. Interleaved chunk by chunk, the median of the chunks'
  ratios, so that a passing load on the machine hits both sides.
- `warm_speedup`: encoding with an empty cache over the same call with a warm one; aim 50.
- `load_speedup`: loading the packaged GGUF over loading the dequantised weights; aim 5.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from benches import own_cache, report, timed

AIMS = {"speedup": 1.6, "warm_speedup": 50.0, "load_speedup": 5.0}
CHUNK = 64  # questions a measurement: two of the obvious way's batches


def obvious(model, tokenizer, texts: list[str]) -> np.ndarray:
    """Penultimate hidden states (batch, d) as one would first write it: batches of 32, everything kept."""
    import torch

    rows = []
    for start in range(0, len(texts), 32):
        batch = tokenizer(texts[start : start + 32], return_tensors="pt", padding=True)
        with torch.no_grad():
            hidden = model(**batch, output_hidden_states=True).hidden_states
        ends = batch["attention_mask"].sum(1) - 2
        rows.append(hidden[-1][torch.arange(len(ends)), ends].numpy())
    return np.concatenate(rows)


def main() -> int:
    from suite.questions import load_questions

    questions = [question.text for question in load_questions(split="test")]
    random.Random("bench_encoder").shuffle(questions)
    with own_cache():
        return report(measure(questions[:256]), AIMS, {})


def measure(questions: list[str]) -> dict[str, float]:
    """All figures of the benchmark, after checking that both ways give the same vectors."""
    from trinity_core.encoder import load_encoder
    from trinity_core.slm import find_model, load_body, load_tokenizer, packaged_gguf  # before torch: see `slm`

    import torch  # isort: skip
    from transformers import AutoModelForCausalLM, AutoTokenizer  # isort: skip

    source = find_model("smollm2-135m")
    gguf, _ = packaged_gguf("smollm2-135m")
    # Dequantising twice in one process would find the file warm either way: one GGUF load, the fastest of three cached.
    gguf_seconds, _ = timed(
        lambda: (
            AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name),
            AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32),
        )
    )
    cached_seconds = min(timed(lambda: (load_tokenizer(source), load_body(source, "float32")))[0] for _ in range(3))

    encoder = load_encoder()
    model = AutoModelForCausalLM.from_pretrained(source.folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(source.folder, padding_side="right")
    encoder.encode(["One text first, so that loading is not measured."])
    obvious(model, tokenizer, ["One text first, so that loading is not measured."])

    ours, theirs = [], []
    encoded_before = encoder.stats.tokens_encoded
    for start in range(0, len(questions), CHUNK):
        chunk = questions[start : start + CHUNK]
        seconds, expected = timed(obvious, model, tokenizer, [encoder.format(text) for text in chunk])
        theirs.append(seconds)
        seconds, states = timed(encoder.encode, chunk)
        ours.append(seconds)
        difference = np.abs(states - expected).max()
        if difference > 1e-4 * np.abs(expected).max():
            raise AssertionError(f"the two ways differ by {difference:.2g}")
    warm_seconds = min(timed(encoder.encode, questions)[0] for _ in range(3))
    tokens = encoder.stats.tokens_encoded - encoded_before
    return {
        "questions": len(questions),
        "tokens": tokens,
        "tokens_per_second": round(tokens / sum(ours)),
        "speedup": round(float(np.median(np.array(theirs) / np.array(ours))), 2),
        "warm_speedup": round(sum(ours) / warm_seconds, 1),
        "load_speedup": round(gguf_seconds / cached_seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
