"""Searches that were interrupted go on from the steps that they made, with the time they had left."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors import neighbor_search, search
from dpassay.auditors.neighbor_search import search_black_box
from dpassay.auditors.strategy_search import search_strategy
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.runs.steps import Steps

ADD = "add_or_remove_one:rating"


@dataclass(frozen=True)
class Coin:
    """Heads with a probability that grows with the number of 5s; with six of them surely."""

    fives: int = 6

    def outputs(self, ratings: Any) -> Any:
        return np.arange(2)

    def log_prob(self, output: Any, ratings: Any) -> Any:
        heads = jnp.where(jnp.sum(ratings == 5) >= self.fives, 0.9, 0.5)
        return jnp.log(jnp.where(output == 1, heads, 1 - heads))

    def sample(self, key: Any, ratings: Any) -> Any:
        raise NotImplementedError


def lonely(rng, ratings, num_samples):
    """A noisy count that jumps when a user has exactly one rating."""
    alone = ((~np.isnan(ratings)).sum(axis=1) == 1).any()
    return (~np.isnan(ratings)).sum() + rng.laplace(0, 1, num_samples) + 6.0 * alone


def total(rng, values):
    return sum(values) + rng.laplace()


def stopping(after: int, made: list[str]) -> Any:
    """Progress that ends the search after some lines, as Ctrl-C does."""

    def say(text: str) -> None:
        made.append(text)
        if len(made) == after:
            raise KeyboardInterrupt

    return say


def test_restarts_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    real = search._restart

    def restart(problem: Any, number: int, *rest: Any) -> Any:
        if number == last:
            raise KeyboardInterrupt
        begun.append(number)
        return real(problem, number, *rest)

    monkeypatch.setattr(search, "_restart", restart)
    last = -1
    options: dict[str, Any] = {"epsilon": 0.1, "num_users": 2, "num_items": 3, "time_limit": 60.0}
    whole = dp.search(Coin(), ADD, **options)
    assert whole is not None
    made = list(begun)
    assert len(made) > 2
    last = made[-1]
    with pytest.raises(KeyboardInterrupt):
        dp.search(Coin(), ADD, **options, resume=tmp_path / "kept")
    last = -1
    for begins in ([made[-1]], []):
        begun.clear()
        assert str(dp.search(Coin(), ADD, **options, resume=tmp_path / "kept")) == str(whole)
        assert begun == begins
    dp.search(Coin(5), ADD, **options, resume=tmp_path / "kept")  # is another search
    assert begun[0] == 0


def test_pairs_are_not_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(**more: Any) -> Any:
        mechanism = dp.from_callable(lonely, batched=True)
        shared: dict[str, Any] = {"claim": PrivacyClaim(1.0), "failure_probability": 1e-6, "num_users": 3}
        return search_black_box(mechanism, ADD, **shared, **more, resume=tmp_path / "kept")

    judged: list[tuple[Any, int]] = []
    real = neighbor_search.Search._promised_now

    def counted(self: Any, pair: Any, size: int) -> Any:
        judged.append((pair.key, size))
        return real(self, pair, size)

    monkeypatch.setattr(neighbor_search.Search, "_promised_now", counted)
    with pytest.raises(KeyboardInterrupt):
        find(progress=stopping(1, []))
    before = list(judged)
    assert len(before) > 10
    witness = find()
    assert witness is not None
    assert witness.epsilon > 1.5
    assert len(set(judged)) == len(judged)
    # Once ended, the same search ends alike: it reads everything but the samples of the tests that refuted.
    judged.clear()
    assert str(find()) == str(witness)
    assert not judged


def test_a_test_that_was_made_is_neither_made_nor_paid_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The j-th test of all runs has the j-th share of the failure probability."""
    numbers: list[int] = []

    def refused(self: Any, pair: Any, number: int, size: int, say: Any) -> tuple[None, float]:
        numbers.append(number)
        say("tested")
        if len(numbers) == 2:
            raise KeyboardInterrupt
        return None, 0.0

    monkeypatch.setattr(neighbor_search.Search, "_tested", refused)

    def find(**more: Any) -> Any:
        shared: dict[str, Any] = {"claim": PrivacyClaim(1.0), "failure_probability": 0.05, "num_users": 3}
        mechanism = dp.from_callable(lonely, batched=True)
        return search_black_box(mechanism, ADD, **shared, **more, time_limit=20.0, resume=tmp_path / "kept")

    with pytest.raises(KeyboardInterrupt):
        find()
    assert numbers == [1, 2]
    assert find() is None
    # The second was not finished when it was interrupted; the first is not made again.
    assert numbers == [1, 2, *range(2, neighbor_search.MOST_TESTS + 1)]
    assert find() is None
    assert len(numbers) == neighbor_search.MOST_TESTS + 1


def test_a_search_that_has_judged_all_pairs_ends(tmp_path: Path) -> None:
    def find() -> Any:
        mechanism = dp.from_callable(lambda rng, vector: float(vector[0] + rng.laplace()))
        shared: dict[str, Any] = {"num_items": 1, "scale": (0.0, 1.0), "time_limit": 2.0}
        return search_black_box(mechanism, "vector:one", claim=PrivacyClaim(3.0), **shared, resume=tmp_path / "kept")

    for _ in range(2):
        begin = time.monotonic()
        assert find() is None
        assert time.monotonic() - begin < 20


def test_searches_of_strategies_go_on(tmp_path: Path) -> None:
    st = pytest.importorskip("hypothesis").strategies
    ages = st.lists(st.integers(0, 100), max_size=4)

    def find(**more: Any) -> Any:
        shared: dict[str, Any] = {"claim": PrivacyClaim(1.0), "failure_probability": 1e-6, "time_limit": 20.0}
        return search_strategy(total, "add_or_remove_one:record", ages, **shared, remember=False, **more)

    with pytest.raises(KeyboardInterrupt):
        find(resume=tmp_path / "kept", progress=stopping(1, []))
    lines: list[str] = []
    found = find(resume=tmp_path / "kept", progress=lines.append)
    assert found.witness is not None
    assert lines[0].startswith(f"{found.tried} pairs tried") or len(lines) > 1


def test_the_time_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    steps = Steps(tmp_path / "kept", total)
    assert steps.now() == 0
    clock[0] += 5
    assert steps.keep("judged", 1, {"nats": 0.5}) == {"nats": 0.5}
    clock[0] += 5
    steps.keep("judged", 2, {"nats": None})
    clock[0] += 3  # what was not kept is lost
    clock[0] += 50
    later = Steps(tmp_path / "kept", total)
    assert (later.seconds, later.now(), later.count("judged")) == (10, 0, 2)
    assert later.find("judged", 1) == {"nats": 0.5}
    assert later.now() == 5
    clock[0] += 1  # reading takes time, too
    assert later.now() == 6
    assert later.find("judged", 3) is None
    assert later.now() == 10
    clock[0] += 4
    assert later.find("judged", 2) == {"nats": None}
    assert later.now() == 14
    for other in (Steps(tmp_path / "kept", lonely), Steps(tmp_path / "kept", total, PrivacyClaim(1.0))):
        assert other.count("judged") == 0
        assert other.find("judged", 1) is None
    nothing = Steps(None)
    nothing.keep("judged", 1, {})
    assert nothing.find("judged", 1) is None


def test_what_found_nothing_goes_on_with_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    judged: list[tuple[Any, int]] = []
    real = neighbor_search.Search._promised_now

    def first(rng: Any, vector: Any) -> float:
        return float(vector[0] * (5.0 if vector[0] > 9.5 else 0.1) + rng.laplace())

    def slow(self: Any, pair: Any, size: int) -> Any:
        clock[0] += 0.1
        judged.append((pair.key, size))
        return real(self, pair, size)

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(neighbor_search.Search, "_promised_now", slow)

    def find(limit: float) -> Any:
        return search_black_box(
            first, "vector:one", claim=PrivacyClaim(1.0), num_items=2, time_limit=limit, resume=tmp_path / "kept"
        )

    assert find(1.0) is None
    few = len(judged)
    assert 0 < few < 10
    assert find(1.0) is None
    assert len(judged) == few
    assert find(60.0) is not None
    assert len(set(judged)) == len(judged) > few


def test_a_mechanism_whose_contents_cannot_be_read_is_refused(tmp_path: Path) -> None:
    numbers = (number for number in range(10))

    def reads(rng: Any, ratings: Any) -> float:
        return float(next(numbers))

    with pytest.raises(InvalidInput, match="no file to resume from"):
        search_black_box(reads, ADD, claim=PrivacyClaim(1.0), resume=tmp_path / "kept", time_limit=1.0)


def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "released.py").write_text("def noisy(rng, values):\n    return sum(values) + rng.laplace()\n")
    command = [sys.executable, "-m", "dpassay", "search", "released:noisy", "--relation", "vector:one", "--epsilon"]
    command += ["2.5", "--time-limit", "6", "--resume", "kept"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept, end = tmp_path / "kept", time.monotonic() + 60
    while not (kept.exists() and len(kept.read_bytes().splitlines()) > 5) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = kept.read_bytes()
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "no witness" in ended.stdout
    assert kept.read_bytes().startswith(before)
    steps = [json.loads(line)["run"] for line in kept.read_bytes().splitlines() if line]
    assert [step["step"] for step in steps] == list(range(len(steps)))
    names = [step["name"] for step in steps]
    assert len(set(names)) == len(names)
    # The time limit is of both together: 60% of it, for pairs, and one more.
    assert steps[-1]["seconds"] < 6
