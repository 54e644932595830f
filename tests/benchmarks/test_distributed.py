"""The benchmark compares whole audits, and says FAIL where two differ."""

import itertools
from typing import Any

import pytest

from dpassay.benchmarks import distributed, run
from dpassay.core.errors import InvalidInput


def test_a_row_that_found_something_else_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = {name: distributed._executors()["this process, a thread per processor"] for name in ("one", "two")}
    monkeypatch.setattr(distributed, "_executors", lambda: begins)
    rows = run("distributed", num_samples=20_000)["tables"][0]["rows"]
    assert [(row[1], row[2], row[-1]) for row in rows[:2]] == [(20_000, "one", "same"), (20_000, "two", "same")]
    seeds = itertools.count()
    audited = distributed._audited
    monkeypatch.setattr(distributed, "_audited", lambda what, size, _, on: audited(what, size, next(seeds), on))
    rows = run("distributed", num_samples=20_000)["tables"][0]["rows"]
    assert [row[-1] for row in rows] == ["same", "FAIL", "same", "FAIL"]

    def broken(what: Any, size: int, seed: int, on: Any) -> Any:
        if next(seeds) % 2:
            raise InvalidInput("a worker died")
        return audited(what, size, seed, on)

    monkeypatch.setattr(distributed, "_audited", broken)
    rows = run("distributed", num_samples=20_000)["tables"][0]["rows"]
    assert [(row[4] is None, row[-1]) for row in rows] == [(False, "same"), (True, "FAIL")] * 2


def test_other_benchmarks_have_a_number_of_samples_of_their_own() -> None:
    with pytest.raises(InvalidInput, match="leave --num-samples out"):
        run("throughput", num_samples=20_000)
