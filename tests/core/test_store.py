"""The store: kept over processes, safe when several open it at once, and what happens to a file that is damaged."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import warnings

import pytest

from trinity_core.store import Store

FLUSH = "PRAGMA wal_checkpoint(TRUNCATE)"
NO_DATABASE = b"not a database, whatever its name says" * 100


def fill(path, name, gate):
    gate.wait()
    store = Store(path)
    for number in range(50):
        store.put({f"{name} {number}": b"x", b"shared": name.encode()})


def test_several_processes_open_a_new_file_at_once(tmp_path):
    for attempt in range(5):
        context, path = multiprocessing.get_context("fork"), tmp_path / f"{attempt}.store"
        gate = context.Event()
        children = [context.Process(target=fill, args=(path, name, gate)) for name in "abcd"]
        for child in children:
            child.start()
        gate.set()
        for child in children:
            child.join(60)
        assert [child.exitcode for child in children] == [0] * 4
        assert len(Store(path).items()) == 201


def test_entries_stay_and_a_put_is_whole(tmp_path):
    store = Store(tmp_path / "deep" / "s.store")
    store.put({b"a": b"1", "a": b"2"})
    store.put({b"a": b"3"})
    assert store.get([b"a", "a", "none"]) == {b"a": b"3", "a": b"2"} and store.get([]) == {}
    with pytest.raises(sqlite3.ProgrammingError):
        store.put({b"b": b"4", b"c": object()})
    assert Store(store.path).items() == store.items() == [("a", b"2"), (b"a", b"3")]
    assert len(store.get([b"%d" % number for number in range(5000)])) == 0


def test_threads_and_a_forked_child_share_a_store(tmp_path):
    store = Store(tmp_path / "s.store")
    threads = [threading.Thread(target=store.put, args=({f"t{number}": b"x"},)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = multiprocessing.get_context("fork").Process(target=store.put, args=({"child": b"y"},))
    child.start()
    child.join(60)
    assert len(store.items()) == 9 and store.get(["child"]) == {"child": b"y"}


def test_a_damaged_file_is_set_aside_not_trusted(tmp_path):
    path = tmp_path / "s.store"
    path.write_bytes(NO_DATABASE)
    with pytest.warns(UserWarning, match=r"s\.store cannot be read .* kept as s\.broken"):
        Store(path).put({b"a": b"1"})
    assert Store(path).get([b"a"]) == {b"a": b"1"} and (tmp_path / "s.broken").read_bytes() == NO_DATABASE


def test_a_file_that_is_damaged_while_it_is_used_is_started_anew(tmp_path):
    store = Store(tmp_path / "s.store")
    entries = {b"%d" % number: bytes(2000) for number in range(3000)}  # more than SQLite keeps in memory
    store.put(entries)
    store._do(lambda connection: connection.execute(FLUSH).fetchall())
    store.path.write_bytes(NO_DATABASE)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert len(store.get(entries)) < 3000
    store.put({b"a": b"1"})
    assert Store(store.path).get([b"a"]) == {b"a": b"1"}


def test_a_damaged_precious_file_is_named_and_left(tmp_path):
    path = tmp_path / "s.store"
    path.write_bytes(NO_DATABASE)
    with pytest.raises(OSError, match=r"s\.store cannot be read or written .* move a damaged file away"):
        Store(path, precious=True)
    assert path.read_bytes() == NO_DATABASE


def test_a_file_that_cannot_be_written_is_read_and_said_so_once(tmp_path, monkeypatch):
    store = Store(tmp_path / "s.store")
    store.put({b"a": b"1"})
    store._do(lambda connection: connection.execute(FLUSH).fetchall())
    monkeypatch.setattr("trinity_core.store.SCHEMA", "a statement that fails as a write does in a read-only folder")
    store = Store(tmp_path / "s.store")
    with pytest.warns(UserWarning, match="cannot be read or written.*TRINITY_CACHE"):
        store.put({b"b": b"2"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put({b"b": b"2"})
        assert store.get([b"a", b"b"]) == {b"a": b"1"}
    precious = Store(tmp_path / "s.store", precious=True)
    with pytest.raises(OSError, match="free the disk"):
        precious.put({b"b": b"2"})


def test_a_folder_out_of_reach_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file.*TRINITY_CACHE"):
        Store(tmp_path / "file" / "s.store")
