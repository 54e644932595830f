"""Runs that are kept across interruptions."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.experiments import run
from dpassay.runs import results
from dpassay.runs.results import FinishedRuns, committed, mean_interval


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    path, made = tmp_path / "kept" / "runs.jsonl", []

    def work() -> dict[str, float]:
        made.append(1)
        return {"error": len(made) / 3}

    first = FinishedRuns(path, ["hash"]).get({"seed": 1}, work)
    assert first == {"seed": 1, "error": 1 / 3}
    assert FinishedRuns(path, ["hash"]).get({"seed": 1}, work) == first
    assert FinishedRuns(path, ["hash"]).get({"seed": 2}, work)["error"] == 2 / 3
    assert FinishedRuns(path, ["other data"]).get({"seed": 1}, work)["error"] == 1
    assert FinishedRuns(path, ["hash"], ["dpassay.data.ratings"]).get({"seed": 1}, work)["error"] == 4 / 3
    assert FinishedRuns(None, ["hash"]).get({"seed": 1}, work)["error"] == 5 / 3


def test_a_line_cut_off_by_a_kill_costs_one_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    for seed in (1, 2):
        FinishedRuns(path).get({"seed": seed}, lambda: {"value": 1})
    path.write_text(path.read_text()[:-9])
    again = FinishedRuns(path)
    assert again.get({"seed": 1}, lambda: {"value": 2})["value"] == 1
    assert again.get({"seed": 2}, lambda: {"value": 2})["value"] == 2
    assert FinishedRuns(path).get({"seed": 2}, lambda: {"value": 3})["value"] == 2


def test_a_file_of_another_experiment_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results.resources, "files", lambda _: tmp_path)
    assert committed("ppns") is None
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "ppns.json").write_text('{"format": "dpassay-experiment", "experiment": "dpp"}')
    with pytest.raises(InvalidInput, match="no result of the experiment ppns"):
        committed("ppns")


def test_one_result_for_each_dataset() -> None:
    names = [committed("xmap", dataset)["inputs"][0]["name"] for dataset in ("douban", "movielens")]  # type: ignore[index]
    assert names == ["douban-book", "movielens-100k, source domain"]
    assert committed("xmap") is None


def test_intervals_are_students() -> None:
    values = [0.1, 0.2, 0.4]
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values) == pytest.approx((np.mean(values), expected.low, expected.high))
    assert mean_interval([0.3]) == (0.3, 0.3, 0.3)
    assert mean_interval([0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_inputs_are_told_by_hash() -> None:
    ratings = synthetic(20, 10)
    assert ratings.described("source") == {"name": "source", "sha256": ratings.fingerprint(), "ratings": len(ratings)}


def test_short_experiments_keep_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="leave --resume out"):
        run("ppns", resume=tmp_path / "runs.jsonl")
