"""What the cost of the sybil attack is measured on, and how it is drawn."""

import numpy as np
import pytest

from dpassay.benchmarks import run, scaling


def test_long_tail_has_the_size_asked_for():
    ratings = scaling.long_tail(200, 300, 4000, seed=1)
    assert (ratings.num_users, ratings.num_items, len(ratings.values)) == (200, 300, 4000)
    assert len(np.unique(ratings.users * 300 + ratings.items)) == 4000
    popularity = np.bincount(ratings.items, minlength=300)
    assert popularity[:30].sum() > 3 * popularity[-30:].sum()


def test_tables_and_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "SIZES", {"MovieLens 100K": (120, 80, 3000)})
    monkeypatch.setattr(scaling, "GROWING", {"users": ((120, 80, 3000),), "items": ((120, 80, 3000), (120, 160, 3000))})
    monkeypatch.setattr(scaling, "METHODS", ("knn",))
    monkeypatch.setattr(scaling, "OURS", 5)
    result = run("scaling", quick=True)
    swept, whole, growth, literal = result["tables"]
    assert dict(zip(swept["columns"], swept["rows"][0], strict=True))["lists"] == 40 * (50 + 200)
    assert [row[5] for row in whole["rows"]] == ["1", "4"]
    assert literal["rows"][0][-1] > 1  # the attack word for word is slower
    beta, users, items = result["plots"]
    assert [plot["series"][0]["x"] for plot in (beta, users, items)] == [[1.0, 4.0], [120], [80, 160]]
    assert items["series"][0]["y"] == [row[-1] for row in growth["rows"][1:]]
