"""Kept runs: nothing is lost, counted twice, or taken from other code, data or settings."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpassay.core.certificate import Certificate
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import share_of
from dpassay.runs.kept import Kept, Planned, cache_folder


def kept(path: Path | None, work: dict[str, object] | None = None, seed: int = 1, inputs: object = ("hash",)) -> dict:
    """The run of one seed; without `work` it must have been kept."""
    return Kept(path, inputs).get({"seed": seed}, lambda: pytest.fail("run again") if work is None else work)


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.jsonl"
    first = kept(path, {"error": 1 / 3, "of": (1, 2)})
    assert first == {"seed": 1, "error": 1 / 3, "of": [1, 2]}  # at first, too, as the file will give it
    assert kept(path) == first
    first["of"].append(3)
    assert kept(path)["of"] == [1, 2]


@pytest.mark.parametrize("other", [{"seed": 2}, {"inputs": ["other data"]}])
def test_other_settings_and_data_are_other_runs(tmp_path: Path, other: dict) -> None:
    kept(tmp_path / "runs", {"value": 1})
    assert kept(tmp_path / "runs", {"value": 2}, **other)["value"] == 2
    assert kept(tmp_path / "runs")["value"] == 1


def test_without_a_file_nothing_outlives_the_object() -> None:
    runs = Kept(None)
    assert runs.get({"seed": 1}, lambda: {"value": 1}) == runs.get({"seed": 1}, lambda: {"value": 2})
    assert kept(None, {"value": 3})["value"] == 3


@pytest.mark.parametrize("place", ["value", "key", "seed", "sha256"])
def test_a_flipped_digit_is_noticed(tmp_path: Path, place: str) -> None:
    path = tmp_path / "runs"
    kept(path, {"value": 1234})
    kept(path, {"value": 5678}, seed=2)
    text = path.read_text()
    found = re.search(rf'"{place}": "?[a-f]*(\d)', text)
    assert found is not None
    at = found.start(1)
    path.write_text(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
    assert kept(path, {"value": 9})["value"] == 9
    assert kept(path, seed=2)["value"] == 5678
    assert kept(path)["value"] == 9


def test_what_is_no_kept_run_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    certificate = Certificate("T", "s", "law", {}, {})
    path.write_bytes(json.dumps(certificate.to_json()).encode() + b'\n[1]\n7\n{"key": 1}\n\xff\xfe\n{"key": "cut o')
    assert kept(path, {"value": 1}) == kept(path)


def test_a_kill_in_the_middle_of_a_line_costs_that_run(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    for seed in (1, 2):
        kept(path, {"value": seed}, seed)
    whole = path.read_bytes()
    last = whole.rindex(b"\n")
    for length in range(last, len(whole)):
        path.write_bytes(whole[:length])
        assert kept(path)["value"] == 1
        assert kept(path, {"value": 7}, 2)["value"] == 7
        assert kept(path)["value"] == 1
        assert kept(path, seed=2)["value"] == 7


WRITER = """
import sys
from pathlib import Path
from dpassay.runs.kept import Kept
runs = Kept(Path(sys.argv[1]), ["hash"])
print("ready", flush=True)
first, last, length = map(int, sys.argv[2:])
for seed in range(first, last):
    runs.keep({"seed": seed}, {"value": list(range(seed, seed + length))})
"""


def writer(path: Path, first: int, last: int, length: int) -> list[str]:
    """The command of a process that keeps runs of these seeds."""
    return [sys.executable, "-c", WRITER, str(path), *map(str, (first, last, length))]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_writer_leaves_whole_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    with subprocess.Popen(writer(path, 0, 10**9, 30_000), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not path.exists() or path.stat().st_size < 2_000_000:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    runs = Kept(path, ["hash"])
    found = [runs.find({"seed": seed}) for seed in range(path.read_bytes().count(b"\n") + 1)]
    whole = [run for run in found if run is not None]
    assert len(whole) >= len(found) - 2  # the one cut off, and the one never begun
    assert all(run["value"] == list(range(run["seed"], run["seed"] + 30_000)) for run in whole)


def test_two_writers_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    writers = [subprocess.Popen(writer(path, first, first + 60, 5000)) for first in (0, 30)]
    assert [each.wait() for each in writers] == [0, 0]
    runs = Kept(path, ["hash"])
    assert [runs.find({"seed": seed}) for seed in range(90)] == [
        {"seed": seed, "value": list(range(seed, seed + 5000))} for seed in range(90)
    ]
    assert len(runs) == 90


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Short:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            return self.file.write(data[:10])

    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda self, *given, **more: Short(opened(self, *given, **more)))
        kept(tmp_path / "runs", {"value": 1})
    assert kept(tmp_path / "runs")["value"] == 1


def test_only_an_ordinary_file_keeps_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # reading it would take forever
    for place in ("pipe", "."):
        with pytest.raises(InvalidInput, match="it is"):
            Kept(tmp_path / place)
    assert (tmp_path / "pipe").is_fifo()


def test_a_full_disk_gets_one_line_and_leaves_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs"
    kept(path, {"value": 1})

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    runs = Kept(path, ["hash"])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(InvalidInput, match="No space left on device; the runs in it"):
            runs.keep({"seed": 2}, {"value": 2})
    assert kept(path)["value"] == 1


def test_the_cache_is_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "dpassay"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "dpassay"


def doubled(number: int, progress: Any = None) -> dict[str, int]:
    if progress is not None:
        progress("half way")
    return {"twice": 2 * number}


PLAN = [Planned({"seed": seed % 4}, (seed % 4,), f"seed {seed % 4}") for seed in range(6)]
EXPECTED = [{"seed": seed % 4, "twice": 2 * (seed % 4)} for seed in range(6)]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)], ids=["here", "shared"])
def test_a_plan_is_had_in_its_order_each_run_once_and_from_the_file(tmp_path: Path, executor: Any) -> None:
    path = tmp_path / "runs"
    Kept(path).keep({"seed": 2}, {"twice": 4})
    asked: list[int] = []

    def work(number: int) -> dict[str, int]:
        asked.append(number)
        time.sleep(0.02 * (3 - number))  # later ones end first where there are several workers
        return doubled(number)

    said: list[Any] = []
    assert Kept(path).all(PLAN, work, executor, said.append) == EXPECTED
    assert sorted(asked) == [0, 1, 3]
    assert sorted(said) == ["seed 0", "seed 1", "seed 3"]
    assert all(0 <= share_of(text) <= 1 for text in said)  # type: ignore[operator]
    assert Kept(path).all(PLAN, lambda number: pytest.fail("run again"), executor) == EXPECTED


def test_what_a_plan_finished_before_it_failed_is_kept(tmp_path: Path) -> None:
    def failing(number: int) -> dict[str, int]:
        return doubled(number) if number < 2 else pytest.fail("no more")

    with pytest.raises(pytest.fail.Exception):
        Kept(tmp_path / "runs").all(PLAN, failing)
    assert len(Kept(tmp_path / "runs")) == 2


def test_a_run_of_a_plan_tells_how_far_it_is() -> None:
    said: list[Any] = []
    Kept(None).all(PLAN[:2], doubled, None, said.append, tells=True)
    assert said == ["seed 0", "half way", "seed 1", "half way"]
    assert [share_of(text) for text in said] == [0, 0, 0.5, 0.5]
