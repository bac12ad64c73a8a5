"""The bank of hidden states: what it holds is what the encoder gives, and nothing else is read in its place."""

from __future__ import annotations

import numpy as np
import pytest
from made_states import MadeEncoder

from suite.commands import main as trinity
from suite.experiments import get_world
from suite.worlds import bank as banks
from suite.worlds.bank import BankError, StateBank, add, bank_folder
from trinity_core import paths
from trinity_core.encoder import load_encoder

TOLERANCE = 2e-3  # of the largest number of a state: float16 rounds by 5e-4, processors differ by far less
TEXTS = [[{"role": "user", "content": f"question {n}"}] for n in range(5)]


def largest_gap(encoder, texts) -> float:
    """Between the bank's states and those computed now, over each state's largest number."""
    bank = StateBank(encoder)
    stored, fresh = bank.encode(texts).astype(float), encoder.encode(texts).astype(float)
    assert not bank.missed
    return (np.abs(stored - fresh).max(axis=1) / np.abs(fresh).max(axis=1)).max()


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    return MadeEncoder(d=6)


def test_what_was_lacking_is_added_and_then_found(made, monkeypatch):
    monkeypatch.setattr(banks, "SHARD", 2)
    first = StateBank(made)
    states = first.encode(TEXTS)
    assert states.dtype == np.float16 and first.missed == 5
    assert add(made) == 5 and not first.notes.exists()
    assert [path.name for path in sorted(bank_folder(made).glob("*"))] == ["000.npz", "001.npz", "002.npz"]
    made.encoded = 0
    second = StateBank(made)
    assert np.array_equal(second.encode(TEXTS[::-1]), states[::-1])
    assert second.missed == made.encoded == 0
    assert add(made) == 0
    StateBank(made).encode([*TEXTS, "one more"])
    assert add(made) == 1 and len(StateBank(made)) == 6
    assert largest_gap(made, TEXTS) < TOLERANCE


def test_a_wrong_state_is_found(made):
    StateBank(made).encode(TEXTS)
    add(made)
    (path,) = bank_folder(made).glob("*.npz")
    with np.load(path) as file:
        keys, states = file["keys"], file["states"].copy()
    states[2] += 0.1
    np.savez(path, keys=keys, states=states)
    assert largest_gap(made, TEXTS) > TOLERANCE


def test_another_encoder_has_another_bank(made):
    StateBank(made).encode(TEXTS)
    add(made)
    other = MadeEncoder(d=6, fingerprint="other" + "0" * 60)
    assert len(StateBank(other)) == 0 and len(StateBank(made)) == 5


@pytest.mark.parametrize("fault", ["cut", "empty", "bytes", "d", "nan", "twice", "pickle"])
def test_a_damaged_bank_is_refused_by_name(made, fault):
    StateBank(made).encode(TEXTS)
    add(made)
    (path,) = bank_folder(made).glob("*.npz")
    with np.load(path) as file:
        keys, states = file["keys"], file["states"].copy()
    if fault == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif fault == "empty":
        path.write_bytes(b"")
    elif fault == "bytes":
        whole = path.read_bytes()
        path.write_bytes(whole[:20] + bytes(byte ^ 0xFF for byte in whole[20:60]) + whole[60:])
    elif fault == "d":
        np.savez(path, keys=keys, states=states[:, :3])
    elif fault == "nan":
        states[0, 0] = np.nan
        np.savez(path, keys=keys, states=states)
    elif fault == "twice":
        np.savez(path.with_name("001.npz"), keys=keys, states=states)
    else:
        np.savez(path, keys=keys, states=states.astype(object))
    with pytest.raises(BankError, match=r"000\.npz|twice"):
        StateBank(made)


def test_a_note_cut_by_a_kill_costs_nothing_else(made):
    bank = StateBank(made)
    bank.encode(TEXTS)
    bank.notes.write_bytes(bank.notes.read_bytes()[:-20])
    assert add(made) == 4


def test_a_cache_that_cannot_be_written_costs_the_note_alone(made, tmp_path):
    bank = StateBank(made)
    (paths.cache_dir() / "bank").write_text("a file where the folder belongs")
    with pytest.warns(UserWarning, match="not noted"):
        states = bank.encode(TEXTS)
    assert states.shape == (5, made.d) and np.isfinite(states).all()


def test_the_bank_of_a_model_that_is_not_here_is_refused(capsys):
    assert trinity(["bank", "--status", "--profile", "paper"]) == 2
    assert "Qwen/Qwen3-0.6B" in capsys.readouterr().err


def test_the_committed_bank_agrees_with_the_model():
    """A random sample of what training reads, computed anew."""
    world = get_world("offline", "train")
    generator = np.random.default_rng(7)
    nodes = generator.integers(0, len(world.questions), 6)
    nodes = np.concatenate([nodes, world.tree.child(nodes, np.zeros(6, int))])
    texts = [world.tree.transcripts[node].messages() for node in dict.fromkeys(nodes.tolist())]
    encoder = load_encoder(cache=False)
    assert largest_gap(encoder, texts) < TOLERANCE
    assert largest_gap(encoder, texts[:1]) > 0  # float16 is not float32
