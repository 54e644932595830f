"""The sweep of the sybil attack, and what is read off it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpassay import experiments
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.settings import Attack, UserSettings
from dpassay.attacks.beta_knn.sweeps import combinations, measured
from dpassay.attacks.metrics import Metric
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.experiments.attacks import beta_knn as sybils
from dpassay.experiments.request import Request


def rows_with(highs: dict[float, float]) -> list[dict]:
    metric = {name: Metric(name, 0.0, "m", 0.0, 0.1, 5) for name in sybils.SHOWN if name != "precision"}
    return [
        {"similarity": "cosine", "method": "knn", "beta": beta, "fakes": 10, "targets": 5, "seconds": 1.0}
        | metric
        | {"advantage": Metric("advantage", 0.0, "m", -0.1, high, 5)}
        for beta, high in highs.items()
    ]


@pytest.mark.parametrize(
    ("highs", "shown"),
    [
        ({1.0: 0.05, 2.0: 0.01}, "1"),
        ({1.0: 0.5, 2.0: 0.09, 4.0: 0.05}, "2"),
        ({1.0: 0.05, 2.0: 0.3, 4.0: 0.05}, "4"),  # safe at a small beta does not count when a larger one is not
        ({1.0: 0.05, 2.0: 0.3}, "above 2"),
        ({1.0: 0.1}, "above 1"),
    ],
)
def test_beta_protects_from_where_on_it_always_does(highs: dict[float, float], shown: str) -> None:
    whole, smallest = sybils.tables(rows_with(highs), "made up")
    assert smallest.rows == [["cosine", "knn", shown]]
    assert whole.rows[0][whole.columns.index("precision")] == "-"
    assert len(whole.rows) == len(highs)


def test_the_sweep_covers_every_recommender() -> None:
    result = experiments.run("beta-knn", synthetic(40, 30), quick=True)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    met = {(row["similarity"], row["method"], row["beta"]) for row in result["runs"] if "variation" not in row}
    assert met == {(s, m, b) for s in ("full_cosine", "cosine") for m in UserSettings.methods() for b in (1.0, 8.0)}
    assert result["inputs"][0]["sha256"] == synthetic(40, 30).fingerprint()
    *_, varied = result["tables"]
    assert {row[0] for row in varied["rows"]} == {"knn", "ppns"}
    assert all(row[varied["columns"].index("targets")] == 20 for row in varied["rows"])


def test_every_variation_changes_the_attack_or_the_recommender() -> None:
    base = {**vars(Attack()), **vars(Recommender())}
    for variation, changes in sybils.VARIATIONS.items():
        assert changes.keys() <= base.keys()
        assert all(base[name] != value for name, value in changes.items()), variation


def test_one_thing_is_changed_at_a_time() -> None:
    chosen = sybils.variations(Request(quick=True))
    assert [names["variation"] for names, _, _ in chosen if names["method"] == "ppns"] == list(sybils.VARIATIONS)[::7]
    (same,) = (each for each in chosen if each[0]["method"] == "knn" and "first table" in each[0]["variation"])
    (plain,) = combinations(("knn",), (1.0,), ("full_cosine",), Recommender(num_neighbors=12), Attack())
    assert same[1:] == plain[1:]


def test_a_sweep_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, kept, counted = synthetic(40, 30), tmp_path / "kept", list[Any]()

    def counting(*given: Any, **more: Any) -> dict[str, Any]:
        if len(counted) == 5:
            raise KeyboardInterrupt
        counted.append(given)
        return measured(*given, **more)

    monkeypatch.setattr(sybils.sweeps, "measured", counting)
    with pytest.raises(KeyboardInterrupt):
        experiments.run("beta-knn", ratings, quick=True, resume=kept)
    monkeypatch.setattr(sybils.sweeps, "measured", measured)
    resumed = experiments.run("beta-knn", ratings, quick=True, resume=kept)
    monkeypatch.setattr(sybils.sweeps, "measured", None)  # everything is in the file
    assert experiments.run("beta-knn", ratings, quick=True, resume=kept) == resumed
    monkeypatch.setattr(sybils.sweeps, "measured", measured)
    with ThreadPoolExecutor(2) as executor:
        assert experiments.run("beta-knn", ratings, quick=True, executor=executor) == resumed
    assert experiments.run("beta-knn", ratings, quick=True, seed=1, resume=kept)["runs"] != resumed["runs"]


def test_unknown_experiments_are_listed() -> None:
    with pytest.raises(InvalidInput, match="ppns, beta-knn"):
        experiments.run("gamma-knn")
