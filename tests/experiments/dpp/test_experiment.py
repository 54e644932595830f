"""The experiment on lists: laws against enumeration, jitters against the theorem, and the committed result file."""

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
import scipy.stats

from dpassay import experiments
from dpassay.core.errors import InvalidInput
from dpassay.core.records import plain
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments.dpp import experiment as dpp_lists
from dpassay.experiments.dpp import tables as dpp_tables
from dpassay.experiments.dpp.experiment import Held, hold_out, item_chances, item_genres
from dpassay.experiments.dpp.jitter import SIZE, paper_jitter, required_jitter, true_epsilon
from dpassay.mechanisms import mechanism
from dpassay.runs.results import committed

ALPHA = 1e-6
GENERATOR = np.random.default_rng(11)
ROWS = (GENERATOR.random((6, 7)) < np.linspace(0.9, 0.2, 7)).astype(float)
HELD = Held(ROWS, np.zeros(ROWS.shape, bool))


def law(jitter: float, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """All sets as masks and their probabilities, by the mechanism's own determinants."""
    model = mechanism("dpp", jitter=jitter) if size is None else mechanism("kdpp", jitter=jitter, size=size)
    masks = np.asarray(model.outputs(ROWS))
    with jax.enable_x64(True):
        return masks, np.exp(np.asarray(jax.vmap(lambda mask: model.log_prob(mask, ROWS))(masks)))


@pytest.mark.parametrize(("size", "jitter"), [(3, 0.0), (3, 0.4), (None, 0.4)])
def test_item_chances_are_those_of_all_sets(size: int | None, jitter: float) -> None:
    masks, chances = law(jitter, size)
    found = item_chances(HELD.spectrum("binary", jitter), size)
    assert found == pytest.approx(chances @ masks, abs=1e-9)
    assert item_chances(HELD.spectrum("binary", jitter + 0.1), size) != pytest.approx(chances @ masks, abs=1e-4)


@pytest.mark.parametrize(("family", "jitter"), [("k-DPP", 0.3), ("DPP", 14.0)])
def test_lists_have_the_law_of_the_mechanism(family: str, jitter: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a DPP is drawn through what it leaves out, and 3 of its items are shown."""
    monkeypatch.setattr(dpp_lists, "SIZE", 3)
    masks, chances = law(jitter, 3 if family == "k-DPP" else None)
    sets = list(itertools.combinations(range(7), 3))
    inside = np.array([[mask[list(one)].all() for one in sets] for mask in masks])
    shown = chances @ (inside / np.maximum([[math.comb(int(mask.sum()), 3)] for mask in masks], 1))
    lists = dpp_lists._process(np.random.default_rng(2), HELD.spectrum("binary", jitter), family, 20_000)
    index = {one: number for number, one in enumerate(sets)}
    counts = np.bincount([index[tuple(sorted(row))] for row in lists.tolist()], minlength=len(sets))
    assert scipy.stats.chisquare(counts, 20_000 * shown / shown.sum()).pvalue > ALPHA
    if family == "k-DPP":
        other = law(1.0, 3)[1] @ inside
        assert scipy.stats.chisquare(counts, 20_000 * other).pvalue < ALPHA


def test_the_jitter_meets_epsilon_and_no_smaller_one_does() -> None:
    for family, features in (("k-DPP", "binary"), ("k-DPP", "counts"), ("DPP", "binary"), ("DPP", "counts")):
        for epsilon in dpp_lists.EPSILONS:
            jitter = required_jitter(family, features, 1682, epsilon)  # type: ignore[arg-type]
            spent = true_epsilon(family, features, 1682, jitter)  # type: ignore[arg-type]
            assert epsilon * (1 - 1e-12) < spent <= epsilon
            assert true_epsilon(family, features, 1682, jitter * (1 - 1e-9)) > epsilon  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="above 0"):
        required_jitter("k-DPP", "binary", 100, 0.0)


def test_the_papers_jitter_solves_the_papers_bound_and_is_far_larger() -> None:
    for num, epsilon in ((5, 1.0), (1682, 0.1), (1682, 10.0)):
        jitter = paper_jitter("binary", num, epsilon)
        assert 2 * num * math.log1p(num / (jitter * math.sqrt(num))) == pytest.approx(epsilon)
        assert jitter > required_jitter("DPP", "binary", num, epsilon)
        assert paper_jitter("counts", num, epsilon) == pytest.approx(25 * jitter)
    assert 2 * 5 * math.log1p(5 / (1.0 * math.sqrt(5))) == pytest.approx(11.74, abs=0.01)  # the theorem page's example


def test_a_fifth_of_every_user_is_held_out() -> None:
    ratings = synthetic()
    held, again, other = (hold_out(ratings, None, 0, split) for split in (0, 0, 1))
    assert (held.relevant == again.relevant).all()
    assert (held.relevant != other.relevant).any()
    assert not ((held.train > 0) & held.relevant).any()
    known = ~np.isnan(ratings.dense())
    assert ((held.train > 0) | held.relevant == known).all()
    assert (held.relevant.sum(axis=1) == np.rint(known.sum(axis=1) / 5)).all()
    two = Ratings.from_dense(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    with pytest.raises(InvalidInput, match="one rating only"):
        hold_out(two, None, 0, 0)


def test_genres_are_read_beside_the_ratings(tmp_path: Path) -> None:
    ratings = Ratings.from_dense(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert item_genres(ratings, ratings) is None
    assert item_genres(tmp_path, ratings) is None
    (tmp_path / "u.item").write_text("2|B|date||url|0|1\n1|A|date||url|1|1\n")
    genres = item_genres(tmp_path / "u.data", ratings)
    assert genres is not None
    assert genres.tolist() == [[True, True], [False, True]]
    (tmp_path / "u.item").write_text("1|A|date||url|1|1\n")
    with pytest.raises(InvalidInput, match="1 lines for 2 items"):
        item_genres(tmp_path, ratings)


def test_what_is_left_and_where_it_ends() -> None:
    runs = [
        {
            "method": "k-DPP, exact law",
            "features": "binary",
            "theorem": theorem,
            "asked": asked,
            "split": split,
            "precision": value + 0.1 * split,
            "uniform_precision": 0.1 + 0.1 * split,
        }
        for split in (0, 1)
        for theorem, asked, value in ((None, None, 0.5), ("exact", 1.0, 0.2), ("paper", 1.0, 0.1))
    ]
    assert dpp_tables.kept(runs, "k-DPP", "binary", "exact", 1.0) == pytest.approx([0.25, 0.25])
    assert dpp_tables.kept(runs, "k-DPP", "binary", "paper", 1.0) == pytest.approx([0.0, 0.0])
    assert dpp_tables.threshold([0.1, 1.0, 10.0], [0.0, 0.4, 0.8], 0.6) == pytest.approx(math.sqrt(10))
    assert dpp_tables.threshold([0.1, 1.0], [0.5, 0.9], 0.2) == 0
    assert dpp_tables.threshold([0.1, 1.0], [0.5, 0.9], 0.95) == math.inf


def test_the_experiment_runs_and_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dpp_lists._settings

    def fewer(quick: bool, genres: bool) -> Iterator[dpp_lists._Setting]:
        for setting in settings(quick, genres):
            if setting.method != "DPP":  # compiles its samplers for seconds
                yield setting._replace(lists=min(setting.lists, 150))

    monkeypatch.setattr(dpp_lists, "_settings", fewer)
    ratings, kept = synthetic(60, 40), tmp_path / "runs.jsonl"
    result = experiments.run("dpp", ratings, quick=True, resume=kept)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["inputs"][0]["sha256"] == ratings.fingerprint()
    assert {run["split"] for run in result["runs"]} == {0, 1}
    assert all(run["epsilon"] <= run["asked"] for run in result["runs"] if run["theorem"])
    assert all(len(row) == len(table["columns"]) for table in result["tables"] for row in table["rows"])
    exact, sampled = (
        next(run for run in result["runs"] if (run["method"], run["features"], run["asked"]) == (name, "binary", 1.0))
        for name in ("k-DPP, exact law", "k-DPP")
    )
    spread = sampled["precision_high"] - sampled["precision_low"]
    assert abs(exact["precision"] - sampled["precision"]) < 5 * spread / 3.9 / math.sqrt(150)

    for name in ("_measured", "_exact"):  # whoever measures again, fails
        monkeypatch.setattr(dpp_lists, name, lambda *_: 1 / 0)
    assert experiments.run("dpp", ratings, quick=True, resume=kept) == result


def test_unusable_ratings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 20"):
        experiments.run("dpp", synthetic(20, 19))
    signed = Ratings.from_dense(np.where(np.eye(25), -1.0, 1.0), scale=(-1.0, 1.0))
    with pytest.raises(InvalidInput, match="taken as counts"):
        experiments.run("dpp", signed)


def test_the_committed_result_is_about_these_ratings_and_this_code(movielens: Ratings) -> None:
    result = committed("dpp")
    assert result is not None
    assert result["inputs"][0]["sha256"] == movielens.fingerprint()
    assert result["tables"] == plain(dpp_tables.tables(result["runs"], movielens))
    assert result["plots"] == plain(dpp_tables.plots(result["runs"], movielens.name))
    held = hold_out(movielens, None, result["seed"], 0)
    cheap = [run for run in result["runs"] if run["split"] == 0 and not run["features"] and "recall" in run]
    for name in ("top-N", "MMR 0.5", "uniform", "exponential top-N"):
        run = next(run for run in cheap if run["method"] == name)
        settings = {field: run[field] for field in (*dpp_lists._Setting._fields, "split", "seed")}
        again = dpp_lists._measured(held, settings)
        for field in ("precision", "recall", "hit_share", "cosine_distance", "log_volume"):
            assert again[field] == pytest.approx(run[field], rel=1e-9), (name, field)
    assert SIZE == 10
