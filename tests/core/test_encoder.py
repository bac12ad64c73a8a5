"""The encoder against plain transformers, its cache after a crash, and cases 15 and 16 (padding, template)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tiny_models import WORDS, make_model

from trinity_core.encoder import POSITIONS, StateCache, as_messages, load_encoder, token_index
from trinity_core.encoder_prefix import padded_batches
from trinity_core.paths import ROOT
from trinity_core.slm import find_model, packaged_gguf

SHORT, LONG = "w1 w2 w3", " ".join(WORDS[:40])


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory) -> Path:
    """A random two-block Qwen3 whose template has a thinking switch."""
    return Path(make_model(tmp_path_factory.mktemp("tiny") / "model", "qwen3", layers=2))


@pytest.fixture(scope="module")
def real():
    """The packaged model as transformers itself loads it, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = find_model("smollm2-135m").folder
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("input_format", ["raw", "chat"])
def test_real_slm_agrees_with_plain_transformers(input_format, real):
    import torch

    encoder = load_encoder(input_format=input_format, cache=False)
    texts = ["Hi", "Name the longest river of the world that ends in the Mediterranean Sea, please."]
    grid = encoder.encode_grid(texts, "all", POSITIONS)
    assert grid.shape == (2, encoder.n_layers + 1, 3, encoder.d) and grid.dtype == np.float32
    model, tokenizer = real
    for text, got in zip(texts, grid, strict=True):
        with torch.no_grad():
            output = model(**tokenizer(encoder.format(text), return_tensors="pt"), output_hidden_states=True)
        for layer, states in enumerate(output.hidden_states):
            expected = np.stack([states[0, -2], states[0, -1], states[0].mean(0)])
            # Inner layers hold entries in the thousands: the tolerance is relative to the vector's size.
            assert np.abs(got[layer] - expected).max() <= 1e-5 * max(1, np.abs(expected).max()), (text, layer)


def test_encode_is_the_grid_at_the_encoders_layer_and_position(tiny_folder, own_cache):
    grid = load_encoder(str(tiny_folder)).encode_grid([SHORT, LONG])
    for layer in (0, 1, 2, -1, -3):
        for j, position in enumerate(POSITIONS):
            encoder = load_encoder(str(tiny_folder), layer=layer, position=position, cache=False)
            np.testing.assert_allclose(encoder.encode([SHORT, LONG]), grid[:, layer, j], atol=1e-5)


def test_cases_15_padding_side_and_batch_do_not_matter(tiny_folder):
    mask = np.array([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])
    assert token_index(mask, "penultimate").tolist() == [2, 4]
    assert token_index(mask, "last").tolist() == [3, 5]
    with pytest.raises(ValueError, match=r"row 1 has 1 real token"):
        token_index(np.array([[1, 1, 1], [0, 1, 0]]), "penultimate")
    for name in (str(tiny_folder), "smollm2-135m"):
        encoder = load_encoder(name, cache=False)
        together = encoder.encode([LONG, SHORT, LONG + " " + LONG])
        assert np.abs(encoder.encode([SHORT])[0] - together[1]).max() < 1e-5 * max(1, np.abs(together[1]).max())


def test_cases_15_one_real_token_is_an_error(tiny_folder, monkeypatch):
    encoder = load_encoder(str(tiny_folder), cache=False)
    monkeypatch.setattr(encoder, "tokenizer", lambda text, **_: {"input_ids": [7]})
    with pytest.raises(ValueError, match="fewer than 2 tokens"):
        encoder.encode([SHORT])


def test_cases_16_thinking_changes_the_template_and_the_fingerprint(tiny_folder, own_cache):
    on, off = (load_encoder(str(tiny_folder), input_format="chat", thinking=thinking) for thinking in (True, False))
    assert off.format(SHORT).endswith("<think> </think> ") and "<think>" not in on.format(SHORT)
    assert on.fingerprint != off.fingerprint
    assert not np.array_equal(on.encode([SHORT]), off.encode([SHORT]))
    assert off.tokens(SHORT)[off.position_index(SHORT)] == "<think>"  # position -2 of this template's fixed tail


def test_cases_16_over_long_text_loses_its_oldest_part(tiny_folder):
    encoder = load_encoder(str(tiny_folder), max_tokens=8, cache=False)
    long = [{"role": "user", "content": LONG}, {"role": "assistant", "content": "w50 w51"}]
    assert encoder.tokens(long) == ["w35", "w36", "w37", "w38", "w39", "assistant:", "w50", "w51"]
    other_start = [{"role": "user", "content": "w59 " + LONG}, long[1]]
    np.testing.assert_array_equal(*encoder.encode([long, other_start]))
    other_tail = [long[0], {"role": "assistant", "content": "w50 w52"}]
    assert not np.array_equal(*load_encoder(str(tiny_folder), position="last", max_tokens=8).encode([long, other_tail]))


def test_fingerprint_tells_every_setting_apart(tiny_folder):
    settings = [
        {}, {"position": "last"}, {"layer": 1}, {"input_format": "chat"}, {"dtype": "bfloat16"}, {"random_weights": 1},
        {"random_weights": 2}, {"max_tokens": 64}, {"thinking": True},
    ]  # fmt: skip
    prints = [load_encoder(str(tiny_folder), cache=False, **setting).fingerprint for setting in settings]
    assert len(set(prints)) == len(settings)
    assert load_encoder(str(tiny_folder), cache=False, layer=2).fingerprint == prints[0]  # -1 is layer 2 of 2


def test_random_weights_are_seeded_and_leave_the_global_generator_alone(tiny_folder):
    import torch

    torch.manual_seed(5)
    expected = torch.rand(1).item()
    torch.manual_seed(5)
    one, again, two = (
        load_encoder(str(tiny_folder), random_weights=seed, cache=False).encode([SHORT]) for seed in (1, 1, 2)
    )
    assert torch.rand(1).item() == expected
    assert np.array_equal(one, again) and not np.array_equal(one, two)


def test_no_text_is_encoded_twice(tiny_folder, own_cache):
    first = load_encoder(str(tiny_folder))
    states = first.encode([SHORT, LONG, SHORT])
    assert (first.stats.tokens_encoded, first.stats.tokens_saved) == (4 + 41, 4)
    second = load_encoder(str(tiny_folder))
    np.testing.assert_array_equal(second.encode([LONG, SHORT, SHORT]), states[[1, 0, 2]])
    assert (second.stats.tokens_encoded, second.stats.tokens_saved) == (0, 41 + 4 + 4)
    assert "model" not in vars(second), "a warm cache must not load the weights"


def test_cache_serves_other_processes(tiny_folder, own_cache):
    states = load_encoder(str(tiny_folder)).encode([LONG])
    code = (
        "import json, sys; from trinity_core.encoder import load_encoder\n"
        "e = load_encoder(sys.argv[1]); v = e.encode([sys.argv[2]])\n"
        "print(json.dumps([e.stats.tokens_encoded, v.tobytes().hex()]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tiny_folder), LONG], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(run.stdout) == [0, states.tobytes().hex()]


def test_cache_holds_what_was_finished_before_a_kill(tiny_folder, own_cache, tmp_path):
    texts = [" ".join(WORDS[i : i + 20]) for i in range(40)]
    code = (
        "import json, sys, time; import trinity_core.encoder as m\n"
        "m.BATCH_TOKENS = 64\n"
        "e = m.load_encoder(sys.argv[1]); put = e._cache.put\n"
        "def slow(*a):\n    put(*a); print('batch', flush=True); time.sleep(0.2)\n"
        "e._cache.put = slow\n"
        "e.encode(json.loads(sys.argv[2]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tiny_folder), json.dumps(texts)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout.readline() == "batch\n" and process.stdout.readline() == "batch\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    encoder = load_encoder(str(tiny_folder))
    states = encoder.encode(texts)
    assert 0 < encoder.stats.tokens_saved < 40 * 21 and encoder.stats.tokens_encoded < 40 * 21
    np.testing.assert_allclose(states, load_encoder(str(tiny_folder), cache=False).encode(texts), atol=1e-5)


def test_cache_that_cannot_be_read_is_encoded_anew(tiny_folder, own_cache):
    states = load_encoder(str(tiny_folder)).encode([SHORT])
    for file in (own_cache / "hidden_states").glob("*.states*"):
        file.write_bytes(b"not a database, whatever its name says" * 100)
    with pytest.warns(UserWarning, match="cannot be read"):
        encoder = load_encoder(str(tiny_folder))
    np.testing.assert_array_equal(encoder.encode([SHORT]), states)
    assert encoder.stats.tokens_encoded == 4


def test_cache_folder_out_of_reach_is_named_with_the_remedy(tiny_folder, own_cache):
    own_cache.mkdir()
    (own_cache / "hidden_states").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="hidden_states.*TRINITY_CACHE.*cache=False"):
        load_encoder(str(tiny_folder))
    assert load_encoder(str(tiny_folder), cache=False).encode([SHORT]).shape == (1, 48)


def test_cache_row_of_wrong_length_or_not_finite_is_encoded_again(own_cache):
    cache = StateCache("c.states", d=3)
    cache.put({name: (count, np.ones((1, 1, 3))) for name, count in ((b"a", 1), (b"b", 2), (b"c", 3))}, [5], ["last"])
    keys = {key[:1]: key for key, _ in cache.store.items()}
    nan = np.full(3, np.nan, "<f4").tobytes()
    cache.store.put({keys[b"a"]: b"short", keys[b"b"]: bytes(4) + nan})
    found = cache.get([b"a", b"b", b"c", b"d"], [5], ["last"])
    assert list(found) == [b"c"] and found[b"c"][0] == 3
    assert cache.get([b"c"], [5], ["last", "mean"]) == {}, "half a grid is not a grid"


def test_tokens_and_position_are_what_the_vector_is_read_from(tiny_folder):
    encoder = load_encoder(str(tiny_folder), cache=False)
    assert encoder.format(SHORT) == "user: w1 w2 w3\n"
    assert encoder.tokens(SHORT) == ["user:", "w1", "w2", "w3"] and encoder.position_index(SHORT) == 2
    with pytest.raises(ValueError, match="mean"):
        load_encoder(str(tiny_folder), position="mean", cache=False).position_index(SHORT)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"position": "third"}, "third"), ({"input_format": "xml"}, "xml"), ({"dtype": "int8"}, "int8"),
        ({"layer": "last"}, "layer is 'last'"), ({"layer": True}, "layer is True"), ({"layer": 1.5}, "layer is 1.5"),
        ({"max_tokens": 10.5}, "max_tokens is 10.5"), ({"random_weights": "x"}, "random_weights is 'x'"),
        ({"layer": 3}, "layer 3"), ({"layer": -4}, "layer -4"), ({"max_tokens": 1}, "max_tokens is 1"),
    ],
)  # fmt: skip
def test_bad_settings_are_named(tiny_folder, bad, named):
    with pytest.raises(ValueError, match=named):
        load_encoder(str(tiny_folder), cache=False, **bad)


def test_bad_texts_are_named(tiny_folder):
    encoder = load_encoder(str(tiny_folder), cache=False)
    with pytest.raises(TypeError, match="texts is 'w1 w2'"):
        encoder.encode("w1 w2")
    with pytest.raises(TypeError, match="texts is None"):
        encoder.encode(None)
    for bad in (None, float("nan"), 3, b"w1 w2", {"role": "user", "content": "w1"}, "w1 \ud800", ["w1"]):
        with pytest.raises(ValueError, match="text 1 "):
            encoder.encode([SHORT, bad])
    for bad in ({"layers": []}, {"layers": [0, 0]}, {"layers": [2, -1]}, {"layers": [0.5]}, {"layers": "0"},
                {"layers": [0], "positions": []}, {"layers": [0], "positions": ["last", "last"]}):  # fmt: skip
        with pytest.raises(ValueError, match="layer|position"):
            encoder.encode_grid([SHORT], **bad)
    for bad in ("", "  ", [], [{"role": "user"}], [{"role": "user", "content": ""}], [{"role": "user", "content": 3}]):
        with pytest.raises(ValueError, match="text 1 "):
            encoder.encode([SHORT, bad])
    assert encoder.encode([]).shape == (0, encoder.d)
    assert as_messages(SHORT) == [{"role": "user", "content": SHORT}]


def test_unknown_models_are_named_with_a_remedy(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"'nonesuch'.*smollm2-135m"):
        load_encoder("nonesuch")
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        load_encoder(str(tmp_path))
    for bad in (None, 3, ""):
        with pytest.raises(ValueError, match=repr(bad)):
            load_encoder(bad)
    monkeypatch.setattr("importlib.metadata.files", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"no \.gguf file"):
        packaged_gguf("smollm2-135m")


def test_a_folder_without_its_tokenizer_is_refused(tiny_folder, tmp_path):
    """For a Qwen3 the library would load an empty tokenizer from the configuration alone."""
    shutil.copytree(tiny_folder, tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        load_encoder(str(tmp_path / "model"))


OFFLINE = """
import socket, sys
def refuse(*a, **k): raise AssertionError("network attempt")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
from trinity_core.encoder import load_encoder
"""


def test_packaged_model_makes_no_network_attempt():
    code = OFFLINE + "print(load_encoder(cache=False).encode(['Is ice lighter than water?']).shape)"
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert (run.returncode, run.stdout) == (0, "(1, 576)\n"), run.stderr


def test_hub_model_out_of_reach_is_one_clear_error(tmp_path):
    code = OFFLINE + "load_encoder('Qwen/Qwen3-0.6B')"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    last = run.stderr.strip().splitlines()[-1]
    assert run.returncode == 1 and "FileNotFoundError: cannot get the model 'Qwen/Qwen3-0.6B'" in last, run.stderr
    assert "smollm2-135m" in last


def test_dequantised_weights_give_bit_identical_logits(real):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf, _ = packaged_gguf("smollm2-135m")
    where = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    original = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    text, (model, tokenizer) = "user: Which planet has the most moons?\n", real
    ids = [kind(text, return_tensors="pt") for kind in (AutoTokenizer.from_pretrained(**where), tokenizer)]
    assert torch.equal(ids[0]["input_ids"], ids[1]["input_ids"])
    with torch.no_grad():
        assert torch.equal(original(**ids[0]).logits, model(**ids[1]).logits)


def test_interrupted_dequantising_leaves_nothing_that_looks_whole(own_cache):
    code = "from trinity_core.slm import find_model; find_model('smollm2-135m')"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    deadline = time.monotonic() + 180
    while not list(own_cache.glob("models/.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(own_cache.glob("models/.*")), "killed while the temporary folder was there"
    assert not list(own_cache.glob("models/smollm2*"))


def test_batches_are_bounded_with_their_padding():
    tokens = dict(enumerate(np.random.default_rng(0).integers(2, 300, 500).tolist()))
    for order in (1, -1):
        keys = sorted(tokens, key=lambda key: order * tokens[key])
        batches = list(padded_batches(keys, tokens, 1024))
        assert [key for batch in batches for key in batch] == keys
        assert all(max(tokens[key] for key in batch) * len(batch) <= 1024 for batch in batches)
    assert [len(batch) for batch in padded_batches("ab", {"a": 5000, "b": 3}, 1024)] == [1, 1]


def grown(lines: int) -> list[list[dict[str, str]]]:
    """Six transcripts of different lengths after so many turns."""
    return [
        [{"role": "user", "content": " ".join(WORDS[i : 3 * i + 9])}]
        + [{"role": "worker", "content": " ".join(WORDS[(i + k) : (i + k) + 2 + (i + k) % 4])} for k in range(lines)]
        for i in range(6)
    ]


@pytest.mark.parametrize("name", ["tiny", "smollm2-135m"])
def test_prefix_reuse_gives_the_same_vectors_for_fewer_tokens(name, tiny_folder):
    name = str(tiny_folder) if name == "tiny" else name
    reusing, whole = load_encoder(name, cache=False), load_encoder(name, cache=False)
    for lines in range(4):
        states, expected = reusing.encode(grown(lines), reuse_prefix=True), whole.encode(grown(lines))
        assert np.abs(states - expected).max() <= 2e-6 * np.abs(expected).max() + 1e-6
    last = sum(len(whole.token_ids(text)) for text in grown(3))
    assert reusing.stats.tokens_encoded == last, "each token of the longest transcripts once"
    assert reusing.stats.tokens_saved == whole.stats.tokens_encoded - last


def test_prefix_is_not_used_where_it_does_not_fit(tiny_folder):
    reusing = load_encoder(str(tiny_folder), cache=False)
    reusing.encode(grown(0), reuse_prefix=True)
    other = [[{"role": "user", "content": "w59 w58"}, *text[1:]] for text in grown(1)]
    np.testing.assert_allclose(
        reusing.encode(other, reuse_prefix=True), load_encoder(str(tiny_folder), cache=False).encode(other), atol=1e-5
    )
    for settings in ({"input_format": "chat"}, {"position": "mean"}):
        encoder = load_encoder(str(tiny_folder), cache=False, **settings)
        plain = load_encoder(str(tiny_folder), cache=False, **settings)
        encoder.encode(grown(0), reuse_prefix=True)
        states = encoder.encode(grown(1), reuse_prefix=True)
        np.testing.assert_allclose(states, plain.encode(grown(1)), atol=1e-5)


def test_prefix_store_forgets_the_oldest_beyond_its_limit(tiny_folder, monkeypatch):
    import trinity_core.encoder_prefix as module

    encoder = load_encoder(str(tiny_folder), cache=False)
    encoder.encode(grown(0), reuse_prefix=True)
    size = encoder.prefixes.nbytes
    monkeypatch.setattr(module, "STORE_BYTES", size // 3)
    encoder.encode(grown(1), reuse_prefix=True)
    assert encoder.prefixes.nbytes <= size // 3
    np.testing.assert_allclose(
        encoder.encode(grown(2), reuse_prefix=True),
        load_encoder(str(tiny_folder), cache=False).encode(grown(2)),
        atol=1e-5,
    )
