"""Result files of experiments."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.runs import results
from dpassay.runs.results import committed, mean_interval


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
