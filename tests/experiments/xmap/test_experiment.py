"""The experiment `xmap`: its two domains, its protocol, its arithmetic and what it says about privacy."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpassay import experiments
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import expected_outcomes
from dpassay.data.rating_files import load_ratings
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments.request import Request
from dpassay.experiments.xmap import experiment as cross_domain
from dpassay.experiments.xmap import tables as cross_domain_tables
from dpassay.experiments.xmap.domains import ASKED, MINIMUM, Domains, by_genre, by_popularity, load_domains, split

SOME: list[dict[str, Any]] = [
    {"mapping": "none", "recommender": "item mean"},
    {},
    {"mapping": "prs/released", "epsilon": 0.6, "recommender": "pnsa/released", "epsilon_prime": 0.6},
]


@pytest.fixture(scope="module")
def domains() -> Domains:
    return by_popularity(synthetic())


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return experiments.run("xmap", synthetic(60, 60), quick=True)


def test_both_domains_hold_all_ratings(domains: Domains) -> None:
    ratings = synthetic()
    assert len(domains.source) + len(domains.target) == len(ratings)
    assert domains.source.num_items + domains.target.num_items == ratings.num_items
    assert sorted([*domains.source.values, *domains.target.values]) == sorted(ratings.values)


def test_films_go_where_more_of_their_genres_are(tmp_path: Path) -> None:
    # Genres 0 and 1 have 4 films, 2 has two, 3 one: the source has genres 0 and 2, the target 1 and 3.
    genres = [[0], [0, 1], [0, 2, 1], [0, 1], [2, 1], [3]]
    lines = [
        f"{film}|name|{'|'.join(str(int(genre in mine)) for genre in range(19))}"
        for film, mine in enumerate(genres, start=1)
    ]
    (tmp_path / "u.item").write_text("\n".join(lines))
    every = Ratings(np.zeros(6, int), np.arange(6), np.array([1, 2, 3, 4, 5, 4.5]), 1, 6)
    cut = by_genre(every, tmp_path / "u.item")
    # Films 1 and 3 have more of the source's, 6 of the target's; of the ties 2, 4 and 5 the odd one is the source's.
    assert cut.source.values.tolist() == [1.0, 3.0, 5.0]
    assert cut.target.values.tolist() == [2.0, 4.0, 4.5]
    (tmp_path / "u.item").write_text("\n".join(lines[:5]))
    with pytest.raises(InvalidInput, match="does not list the 6 films"):
        by_genre(every, tmp_path / "u.item")


def test_every_user_of_both_domains_is_a_reader_once(domains: Domains) -> None:
    readers = np.concatenate([split(domains, fold).readers for fold in range(5)])
    sizes = [np.bincount(part.users, minlength=part.num_users) for part in (domains.source, domains.target)]
    both = np.flatnonzero((sizes[0] >= MINIMUM) & (sizes[1] >= MINIMUM))
    assert sorted(readers) == both.tolist()


@pytest.mark.parametrize(("overlap", "kept"), [(1.0, 0), (0.3, 0), (1.0, 3)])
def test_nothing_hidden_is_seen(domains: Domains, overlap: float, kept: int) -> None:
    one = split(domains, 1, overlap=overlap, kept=kept)
    truth = domains.target.dense()
    assert (np.diff(one.target.indptr)[one.readers] == kept).all()
    assert (truth[one.readers[one.owners], one.items] == one.values).all()
    assert (one.target[one.readers[one.owners], one.items] == 0).all()
    assert np.bincount(one.owners).max() <= ASKED
    visible = np.diff(one.source.indptr) > 0
    assert ((np.diff(one.target.indptr) > 0) & visible).sum() == one.linked - (len(one.readers) if kept == 0 else 0)
    whole = split(domains, 1, overlap=1.0, kept=kept)
    assert one.target.nnz == whole.target.nnz  # who is not linked is still there, twice
    assert (one.linked < whole.linked) == (overlap < 1)


def test_unusable_settings_are_refused(domains: Domains) -> None:
    with pytest.raises(InvalidInput, match="folds need"):
        split(by_popularity(synthetic(8, 40)), 0)
    with pytest.raises(InvalidInput, match="a share"):
        split(domains, 0, overlap=0.0)


def test_a_folder_of_two_files_is_two_domains(tmp_path: Path) -> None:
    for name, shift in (("a_book.ratings.dat", 0), ("b_music.ratings.dat", 1)):
        rows = [f"{user}\t{item}\t{1 + (user + item) % 5}" for user in range(4) for item in range(3 + shift)]
        (tmp_path / name).write_text("\n".join(rows))
    both = load_domains(Request(tmp_path))
    assert (both.source.name, both.target.name, both.name) == ("a-book", "b-music", "a-book to b-music")
    assert (both.source.num_items, both.target.num_items, both.source.num_users) == (3, 4, 4)
    (tmp_path / "c.ratings.dat").write_text("1\t1\t1")
    with pytest.raises(InvalidInput, match="3 rating files"):
        load_domains(Request(tmp_path))


def test_movielens_is_cut_by_genre(movielens: Ratings, real_data: Path) -> None:
    cut = by_genre(movielens, real_data / "ml-100k" / "u.item")
    assert (cut.source.num_items, cut.target.num_items) == (969, 713)
    assert len(cut.source) + len(cut.target) == 100_000
    assert load_ratings(real_data / "ml-100k").num_users == cut.source.num_users


def test_douban_is_read_as_two_domains(real_data: Path) -> None:
    folder = real_data / "douban-raw"
    if not folder.is_dir():
        pytest.skip("needs the Douban ratings: set DPASSAY_DATA to a folder that holds douban-raw")
    both = load_domains(Request(folder))
    assert (len(both.source), len(both.target)) == (96_041, 69_709)
    assert (both.source.num_items, both.target.num_items) == (6_777, 5_567)


def test_the_result_is_whole(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert {run["part"] for run in result["runs"]} == {name for name, _ in cross_domain.settings(True)}
    for run in result["runs"]:
        assert 0 < run["mae"] < 4
        assert not any(isinstance(value, list) for value in run.values())
    for table in result["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_too_few_items_for_the_neighbors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="more items"):
        experiments.run("xmap", synthetic(60, 20), quick=True)


def test_the_same_method_has_the_same_numbers_everywhere(result: dict[str, Any]) -> None:
    seen: dict[str, set[float]] = {}
    for run in result["runs"]:
        key = json.dumps([run[name] for name in (*cross_domain.DEFAULT, "fold", "seed")])
        seen.setdefault(key, set()).add(run["mae"])
    assert all(len(values) == 1 for values in seen.values())


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: dict[str, Any]) -> None:
    monkeypatch.setattr(cross_domain, "settings", lambda _: [("methods", SOME)])
    monkeypatch.setattr(cross_domain, "plots", lambda *_: [])  # of sweeps that are left out
    first = experiments.run("xmap", synthetic(60, 60), quick=True, resume=tmp_path / "runs")
    monkeypatch.setattr(cross_domain, "measure", lambda *_: pytest.fail("ran again"))
    assert experiments.run("xmap", synthetic(60, 60), quick=True, resume=tmp_path / "runs") == first
    kept = [run for run in result["runs"] if run["part"] == "methods"]
    assert all(run in kept for run in first["runs"])  # the same seed gives the same numbers


def test_baselines_are_what_they_say(domains: Domains) -> None:
    world = cross_domain.World(domains, 0, 0, 1.0, 0)
    data, generator = world.split, np.random.default_rng(0)
    truth = domains.target.dense()
    truth[data.readers] = np.nan
    means = np.nanmean(truth, axis=0)
    np.testing.assert_allclose(world.baseline("item mean", generator), means[data.items])
    np.testing.assert_allclose(world.baseline("global mean", generator), np.nanmean(truth))
    own = np.nanmean(domains.source.dense()[data.readers], axis=1)
    np.testing.assert_allclose(world.baseline("reader's mean", generator), own[data.owners])
    noisy = world.baseline("global mean with noise", generator)
    assert abs(noisy[0] - np.nanmean(truth)) < 0.5
    assert noisy[0] not in (1.0, 5.0, np.nanmean(truth))


def test_hidden_ratings_do_not_reach_a_prediction(domains: Domains) -> None:
    """Other hidden values change no prediction of any method."""
    values = domains.target.values.copy()
    readers = split(domains, 0).readers
    mine = np.isin(domains.target.users, readers)
    values[mine] = 6 - values[mine]
    target = Ratings(
        domains.target.users, domains.target.items, values, domains.target.num_users, domains.target.num_items
    )
    changed = Domains(domains.source, target, domains.name, domains.rule)
    one, two = (cross_domain.World(each, 0, 0, 1.0, 0) for each in (domains, changed))
    assert not np.array_equal(one.split.values, two.split.values)
    for part, chosen in cross_domain.settings(True):
        for each in chosen if part == "methods" else []:
            setting = {**cross_domain.DEFAULT, **each}
            if setting["recommender"] in cross_domain.BASELINES:
                first, second = (
                    world.baseline(setting["recommender"], np.random.default_rng(1)) for world in (one, two)
                )
            else:
                first, second = (world.predicted(setting, np.random.default_rng(1))[0].centered for world in (one, two))
            np.testing.assert_array_equal(first, second)


def test_differences_are_paired_by_reader() -> None:
    def pooled(errors: list[list[float]], readers: list[list[int]]) -> cross_domain_tables.Pooled:
        records = [
            {
                **dict.fromkeys(cross_domain_tables.METHOD, "x"),
                "mae": float(np.mean(mine)),
                "predictions": len(mine),
                "readers": len(mine),
                "readers_list": users,
                **{f"{form}_by_reader": mine for form in ("mae", "rounded", "own", "positive")},
            }
            for mine, users in zip(errors, readers, strict=True)
        ]
        return cross_domain_tables.Pooled(records)

    one, two = pooled([[1.0, 2.0], [3.0]], [[4, 2], [9]]), pooled([[0.5, 2.0], [2.0]], [[2, 9], [4]])
    mean, low, high = cross_domain_tables.paired(one, two)
    assert mean == pytest.approx((1 - 2 + 2 - 0.5 + 3 - 2) / 3)
    assert low < mean < high
    assert one.mean["mae"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("mapping", "recommender", "finite"),
    [
        ("prs/repaired", "pnsa/repaired", True),
        ("prs/paper", "pnsa/repaired", False),
        ("prs/repaired", "pnsa/paper", False),
        ("prs/released", "pnsa/released", False),
        ("nearest", "pnsa/repaired", False),
        ("prs/repaired", "nearest of the item", False),
        ("none", "item mean", False),
    ],
)
def test_the_true_epsilon_follows_the_verdicts(mapping: str, recommender: str, finite: bool) -> None:
    setting = {**cross_domain.DEFAULT, "mapping": mapping, "recommender": recommender}
    record = {**setting, "epsilon": 0.5, "epsilon_prime": 2.0, "mae": 1.0, "predictions": 8, "readers": 2}
    lists = {f"{form}_by_reader": [1.0, 1.0] for form in ("mae", "rounded", "own", "positive")}
    sizes = {"source_ratings": 10.0, "predictions_per_reader": 4.0}
    one = cross_domain_tables.Pooled([{**record, **sizes, **lists, "readers_list": [0, 1]}])
    outcomes = expected_outcomes()
    assert np.isfinite(cross_domain_tables.true_epsilon(one, outcomes)) == finite
    if finite:
        assert cross_domain_tables.true_epsilon(one, outcomes) == 10 * 0.5 + 4 * 2.0
        refuted = {**outcomes, "XM-PNSA-REP": {"": "refuted"}}
        assert np.isinf(cross_domain_tables.true_epsilon(one, refuted))


def test_several_workers_find_what_one_process_finds(result: dict[str, Any]) -> None:
    with ThreadPoolExecutor(2) as executor:
        shared = experiments.run("xmap", synthetic(60, 60), quick=True, executor=executor)
        assert {**shared, "plots": None} == {**result, "plots": None}
