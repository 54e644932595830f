"""Compiled programs are kept: the second run compiles nothing, and neither a killed run nor a stranger spoils them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpassay.runs import compiled
from dpassay.runs.compiled import folder, kept_programs

PROGRAM = """
import os, sys
from dpassay.runs.compiled import kept_programs
with kept_programs():
    import jax
    seen = []
    jax.monitoring.register_event_listener(lambda event, **_: seen.append(event.rpartition("/")[2]))
    print(float(jax.jit(lambda x: jax.numpy.tanh(x) * 3)(0.5)).hex())
    print(seen.count("cache_hits"), seen.count("cache_misses"))
    sys.stdout.flush()
    if "killed" in sys.argv:
        os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "jax", raising=False)  # pytest's plugin may have told it of a folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def run(*arguments):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    number, counts = done.stdout.split("\n", 1)
    return number, [int(count) for count in counts.split()]


def entries():
    return {entry.name: entry.read_bytes() for entry in folder().glob("*-cache")}


def own():
    return Path(os.environ["JAX_COMPILATION_CACHE_DIR"])


def test_the_second_run_compiles_nothing_and_a_killed_one_adds_nothing():
    killed = run("killed")
    assert (killed[1][0], entries()) == (0, {})
    first = run()
    assert first[1][0] == 0
    assert first[1][1] > 0
    assert len(entries()) == first[1][1]
    second = run()
    assert second[1] == [first[1][1], 0]
    assert killed[0] == first[0] == second[0]


def test_what_a_run_adds_is_seen_by_the_next_and_not_by_one_beside_it():
    with kept_programs():
        (own() / "one-cache").write_bytes(b"half")
        assert entries() == {}
        (own() / "one-cache").write_bytes(b"whole")
    assert entries() == {"one-cache": b"whole"}
    with kept_programs():
        assert (own() / "one-cache").read_bytes() == b"whole"
    assert [path.name for path in folder().iterdir()] == ["one-cache"]


def test_a_run_that_raises_adds_nothing():
    def broken():
        with kept_programs():
            (own() / "one-cache").write_bytes(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert list(folder().iterdir()) == []
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_the_oldest_go_first():
    with kept_programs(limit=10):
        for age, name in enumerate(("new-cache", "old-cache")):
            (own() / name).write_bytes(b"eight888")
            os.utime(own() / name, (time.time() - age, time.time() - age))
    assert set(entries()) == {"new-cache"}


def test_the_folder_of_a_run_killed_long_ago_goes():
    folder().mkdir(parents=True, mode=0o700)
    for name, age in (("run-old", compiled._ABANDONED + 9), ("run-new", 9.0)):
        (folder() / name).mkdir()
        os.utime(folder() / name, (time.time() - age, time.time() - age))
    with kept_programs():
        pass
    assert {path.name for path in folder().iterdir()} == {"run-new"}


@pytest.mark.parametrize("name", ["JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"])
def test_the_user_decides(name, monkeypatch):
    monkeypatch.setenv(name, "theirs")
    with kept_programs():
        assert os.environ[name] == "theirs"
    assert not folder().exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are those of POSIX")
def test_a_folder_that_others_write_to_is_not_used():
    folder().mkdir(parents=True)
    folder().chmod(0o777)
    with kept_programs():
        assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_no_folder_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with kept_programs():
        assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
