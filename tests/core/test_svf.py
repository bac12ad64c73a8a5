"""SVF: offsets and matrices, the tied embedding, and the shared-prefix states against full forward passes."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from svf_reference import FullPasses, energy_kept, written_in_order
from tiny_models import WORDS, make_model

from trinity_core import encoder_prefix, svf_encoder
from trinity_core.encoder import load_encoder
from trinity_core.svf import EMBEDDING, HEAD, MATRICES, Svf
from trinity_core.svf_encoder import SvfEncoder

CASES = {
    "qwen3": {"kind": "qwen3"},
    "llama": {"kind": "llama"},
    "llama-biased": {"kind": "llama", "biased": True},
    "qwen3-untied": {"kind": "qwen3", "tied": False},
    "qwen3-two-blocks": {"kind": "qwen3", "layers": 2},
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """name -> folder of a tiny model, made once."""
    return cache(lambda name: make_model(tmp_path_factory.mktemp("tiny") / name, **CASES[name]))


def offsets(count: int, size: int, scale: float = 0.2) -> np.ndarray:
    return np.random.default_rng([count, size]).normal(0, scale, (count, size))


def transcript(seed: int, lines: int) -> list[dict[str, str]]:
    """A transcript of so many agents' lines; with one seed, a longer one begins with a shorter one."""
    rng = np.random.default_rng(seed)
    said = [" ".join(rng.choice(WORDS, size=rng.integers(3, 12))) for _ in range(lines + 1)]
    roles = ["user", *(["thinker", "worker", "verifier"] * lines)]
    return [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]


# --- offsets and matrices ---------------------------------------------------------------------------------------------


def test_sizes_at_the_papers_model():
    """9,216 released offsets, 7,168 of the layer; with the linear head 19,456 in all. No weights are needed for it."""
    import torch
    from transformers import AutoModel, Qwen3Config

    config = Qwen3Config(
        vocab_size=151_936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("meta"):
        encoder = SimpleNamespace(name="Qwen/Qwen3-0.6B", model=AutoModel.from_config(config))
    assert Svf(encoder).size == 7 * 1024
    released = Svf(encoder, "released")
    middle = [f"layers.26.{name}.weight" for name in MATRICES]
    assert list(released.sizes) == [EMBEDDING, *middle, HEAD]
    assert set(released.sizes.values()) == {1024} and released.size == 9216
    assert released.size + 10 * 1024 == 19_456


@pytest.mark.parametrize("rule", ["layer", "released"])
@pytest.mark.parametrize("name", ["qwen3", "qwen3-untied", "llama"])
def test_zero_offsets_give_the_original_bit_for_bit(tiny, name, rule):
    import torch

    encoder = load_encoder(tiny(name), cache=False)
    svf = Svf(encoder, rule)
    weights = svf.weights(np.zeros(svf.size))
    assert len(weights) == (7 if rule == "layer" else 8)  # the language-model head is no part of the encoder
    for parameter, matrix in weights.items():
        assert matrix.numpy().tobytes() == encoder.model.get_parameter(parameter).numpy().tobytes()
    # Not through a shortcut for zeros alone: with one matrix changed, the others are the originals too.
    delta = np.zeros(svf.size)
    delta[-svf.sizes[HEAD] - 3 if rule == "released" else -3] = 0.1
    changed = [name for name, w in svf.weights(delta).items() if not torch.equal(w, encoder.model.get_parameter(name))]
    assert changed == [f"layers.{svf.layer}.mlp.down_proj.weight"]


def test_offsets_change_their_own_matrix_and_keep_its_energy(tiny):
    encoder = load_encoder(tiny("qwen3"), cache=False)
    svf = Svf(encoder)
    (delta,) = offsets(1, svf.size)
    start = 0
    for (parameter, count), matrix in zip(svf.sizes.items(), svf.weights(delta).values(), strict=True):
        original = encoder.model.get_parameter(parameter).double().numpy()
        u, s, vt = np.linalg.svd(original, full_matrices=False)
        assert len(s) == count == min(original.shape)
        values = energy_kept(s, delta[start : start + count])
        start += count
        np.testing.assert_allclose(matrix.numpy(), (u * values) @ vt, atol=1e-5)
        assert np.linalg.svd(matrix.double().numpy(), compute_uv=False).sum() == pytest.approx(s.sum(), rel=1e-5)
        assert np.abs(matrix.numpy() - original).max() > 0.01
    assert start == svf.size


def test_offsets_that_mean_nothing_are_refused(tiny):
    svf = Svf(load_encoder(tiny("qwen3"), cache=False))
    with pytest.raises(ValueError, match=rf"shape \(2, 5\).*'layer' takes \(lambda, {svf.size}\)"):
        svf.singular_values(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="not finite"):
        svf.weights(np.full(svf.size, np.nan))
    with pytest.raises(ValueError, match=r"q_proj.weight \(smallest -2\).*keep offsets above -1"):
        svf.weights(np.full(svf.size, -2.0))
    with pytest.raises(ValueError, match="unknown SVF rule 'all'; choose one of layer, released"):
        Svf(load_encoder(tiny("qwen3"), cache=False), "all")


def test_models_and_settings_that_it_cannot_adapt_are_refused(tiny):
    for settings in ({"position": "mean"}, {"layer": 1}):
        with pytest.raises(ValueError, match=r"position '\w+' and layer \d of 4; load it with"):
            SvfEncoder(load_encoder(tiny("qwen3"), cache=False, **settings))
    other = SimpleNamespace(config=SimpleNamespace(model_type="gpt2"), layers=[1, 2])
    with pytest.raises(ValueError, match=r"cannot adapt 'other' \(gpt2"):
        Svf(SimpleNamespace(name="other", model=other))


# --- the tied embedding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qwen3", "qwen3-untied"])
def test_released_order_and_which_embedding_block_wins(tiny, name):
    tied = name == "qwen3"
    encoder = load_encoder(tiny(name), cache=False, input_format="chat")
    adapted = SvfEncoder(encoder, "released")
    texts = [transcript(seed, seed) for seed in range(3)]
    (delta,) = offsets(1, adapted.size)
    every = np.arange(len(texts))
    found = adapted.states(delta[None], every * 0, texts)
    np.testing.assert_allclose(found, written_in_order(tiny(name), delta, encoder, texts), atol=1e-4)

    width = adapted.svf.sizes[EMBEDDING]
    other_embedding, other_head = delta.copy(), delta.copy()
    other_embedding[:width] *= -1
    other_head[-width:] *= -1
    inert, acting = (other_embedding, other_head) if tied else (other_head, other_embedding)
    assert np.array_equal(adapted.states(inert[None], every * 0, texts), found)
    np.testing.assert_allclose(written_in_order(tiny(name), inert, encoder, texts), found, atol=1e-4)
    assert np.abs(adapted.states(acting[None], every * 0, texts) - found).max() > 0.05
    compounded = written_in_order(tiny(name), delta, encoder, texts, live=True)
    assert (np.abs(compounded - found).max() > 0.05) == tied  # compounding would be something else, where it could be


def test_released_states_leave_the_encoder_as_it_was(tiny):
    encoder, texts = load_encoder(tiny("qwen3"), cache=False), [transcript(1, 1), transcript(2, 3)]
    adapted, before = SvfEncoder(encoder, "released"), encoder.encode(texts)
    found = adapted.states(np.vstack([np.zeros(adapted.size), offsets(1, adapted.size)]), [0, 1, 0], [*texts, texts[1]])
    assert np.array_equal(encoder.encode(texts), before)
    np.testing.assert_allclose(found[[0, 2]], before, atol=1e-5)
    assert np.abs(found[1] - before[1]).max() > 0.05


# --- the shared prefix against full forward passes --------------------------------------------------------------------


@pytest.mark.parametrize("position", ["penultimate", "last"])
@pytest.mark.parametrize("input_format", ["raw", "chat"])
@pytest.mark.parametrize("name", list(CASES))
def test_states_are_those_of_full_forward_passes(tiny, name, input_format, position, monkeypatch):
    encoder = load_encoder(tiny(name), cache=False, input_format=input_format, position=position)
    adapted, plain = SvfEncoder(encoder), FullPasses(encoder)
    assert adapted.size == 2 * 20 + 5 * 48  # k and v have 20 rows, the others at least d = 48
    deltas = offsets(4, adapted.size)
    rng = np.random.default_rng(1)
    monkeypatch.setattr(svf_encoder, "CHUNK_TOKENS", 60)
    # Four turns of one generation, each transcript a line longer, another mix of candidates each time.
    for turn in range(4):
        texts = [transcript(seed, turn) for seed in rng.integers(0, 4, 9)]
        candidates = rng.integers(0, 4, 9)
        found = adapted.states(deltas, candidates, texts)
        assert found.shape == (9, 48) and found.dtype == np.float32
        np.testing.assert_allclose(found, plain.states(deltas, candidates, texts), atol=1e-4)
    deltas = offsets(2, adapted.size)
    found = adapted.states(deltas, [1, 0, 1], texts[:3])
    np.testing.assert_allclose(found, plain.states(deltas, [1, 0, 1], texts[:3]), atol=1e-4)


def test_the_last_two_blocks_matter_and_so_does_every_matrix(tiny):
    """The negative of the test above: each matrix's offsets alone move the states."""
    encoder = load_encoder(tiny("qwen3"), cache=False)
    adapted = SvfEncoder(encoder)
    starts = np.cumsum([0, *adapted.svf.sizes.values()])
    deltas = np.zeros((8, adapted.size))
    for row, (a, b) in enumerate(pairwise(starts), 1):
        deltas[row, a:b] = offsets(1, b - a, 0.5)
    found = adapted.states(deltas, np.arange(8), [transcript(3, 2)] * 8)
    np.testing.assert_allclose(found[0], encoder.encode([transcript(3, 2)])[0], atol=1e-5)
    assert (np.abs(found[1:] - found[0]).max(axis=1) > 1e-3).all()


def test_real_slm_agrees_with_full_forward_passes():
    encoder = load_encoder(cache=False)
    adapted, plain = SvfEncoder(encoder), FullPasses(encoder)
    assert adapted.size == 2 * 192 + 5 * 576
    question = {"role": "user", "content": "A train leaves at nine and drives 120 km in two hours. How fast is it?"}
    worker = {"role": "worker", "content": "Distance over time: 120 / 2 = 60.\nAnswer: 60 km/h"}
    texts = ["What is 7 times 8?", [question], [question, worker]]
    deltas = offsets(2, adapted.size, 0.05)
    first = adapted.states(deltas, [0, 1], texts[:2])
    second = adapted.states(deltas, [0, 1, 1], [texts[2], texts[2], texts[0]])
    expected = plain.states(deltas, [0, 1, 0, 1, 1], [*texts[:2], texts[2], texts[2], texts[0]])
    assert np.abs(np.vstack([first, second]) - expected).max() < 1e-4
    unchanged = encoder.encode([texts[1]])
    assert np.abs(first[1] - unchanged[0]).max() > 0.1
    zero = adapted.states(np.zeros((1, adapted.size)), [0], [texts[1]])
    assert np.abs(zero - unchanged).max() < 1e-4


def test_each_pair_is_computed_once_and_a_grown_transcript_from_its_new_tokens(tiny, monkeypatch):
    encoder = load_encoder(tiny("llama"), cache=False)
    adapted = SvfEncoder(encoder)
    work: list[int] = []
    states = adapted._blocks.states

    def counted(rows, pairs, gains):
        work.extend(pair.tokens - pair.old for pair in pairs)
        return states(rows, pairs, gains)

    monkeypatch.setattr(adapted._blocks, "states", counted)
    deltas = offsets(3, adapted.size)
    deltas[2] = deltas[0]  # one candidate under two numbers
    short, longer = transcript(5, 1), transcript(5, 2)
    found = adapted.states(deltas, [0, 1, 0, 2], [short] * 4)
    old = len(encoder.token_ids(short))
    assert work == [old - 1] * 2 and encoder.stats.tokens_encoded == old
    assert np.array_equal(found[0], found[2]) and np.array_equal(found[0], found[3])
    assert not np.allclose(found[0], found[1])
    work.clear()
    adapted.states(deltas, [0, 1], [longer, longer])
    total = len(encoder.token_ids(longer))
    assert work == [total - old] * 2 and encoder.stats.tokens_encoded == total
    work.clear()
    adapted.states(offsets(1, adapted.size), [0], [longer])  # other offsets: nothing of the candidate's is kept
    assert work == [total - 1] and encoder.stats.tokens_encoded == total


def test_kept_inputs_are_bounded(tiny, monkeypatch):
    monkeypatch.setattr(encoder_prefix, "STORE_BYTES", 4000)  # some thirty tokens
    encoder = load_encoder(tiny("qwen3"), cache=False)
    adapted, plain = SvfEncoder(encoder), FullPasses(encoder)
    deltas = offsets(1, adapted.size)
    for turn in (0, 1, 2, 1, 2, 3):
        texts = [transcript(seed, turn) for seed in range(4)]
        found = adapted.states(deltas, [0] * 4, texts)
        np.testing.assert_allclose(found, plain.states(deltas, [0] * 4, texts), atol=1e-4)
        assert adapted._inputs.nbytes == sum(kept.states.nbytes for kept in adapted._inputs.values())
        assert adapted._inputs.nbytes <= 4000 or len(adapted._inputs) == 1


def test_bfloat16_below_float32_above(tiny):
    encoder = load_encoder(tiny("qwen3"), cache=False, dtype="bfloat16")
    adapted = SvfEncoder(encoder)
    texts = [transcript(1, 1), transcript(2, 2)]
    found = adapted.states(np.zeros((1, adapted.size)), [0, 0], texts)
    np.testing.assert_allclose(found, encoder.encode(texts), atol=0.1)
    weights = adapted.svf.weights(np.zeros(adapted.size))
    assert all(matrix.dtype == encoder.model.dtype for matrix in weights.values())


def test_bad_calls_are_refused(tiny):
    adapted = SvfEncoder(load_encoder(tiny("qwen3"), cache=False))
    deltas = np.zeros((2, adapted.size))
    with pytest.raises(ValueError, match=r"shape \(1,\) for 2 texts"):
        adapted.states(deltas, [0], [transcript(1, 1)] * 2)
    with pytest.raises(ValueError, match="candidates 0 to 2 asked of a population of 2"):
        adapted.states(deltas, [0, 2], [transcript(1, 1)] * 2)
    with pytest.raises(ValueError, match="text 1 is an empty transcript"):
        adapted.states(deltas, [0, 1], ["w1 w2", []])
    assert adapted.states(deltas, [], []).shape == (0, 48)
