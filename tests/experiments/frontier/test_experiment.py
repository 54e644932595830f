"""The experiment `frontier`: the noisy totals' proof, what every epsilon is, its numbers and its picture."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy.stats import kstest

from dpassay import experiments
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.experiments.frontier import experiment as frontier
from dpassay.experiments.frontier import figure as frontier_figure
from dpassay.experiments.frontier import privacy as frontier_privacy
from dpassay.experiments.frontier import tables as frontier_tables
from dpassay.experiments.frontier.noisy_totals import NoisyTotals, predicted, totals
from dpassay.experiments.frontier.privacy import FLOOR, Facts, privacy_of, sketch_of
from dpassay.experiments.xmap.domains import by_popularity
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.similarity import floor_norm_cosine, floor_norm_sensitivity
from dpassay.mechanisms.sketch_profile import exact_delta
from dpassay.runs.results import committed

VALUES = (math.nan, 1.0, 3.0, 5.0)
SOME: list[dict[str, Any]] = [
    {"panel": "ratings", "method": "reader's mean", "variant": "", "epsilon": None, "p": None},
    {"panel": "ratings", "method": "noisy item means", "variant": "", "epsilon": 1.0, "p": None},
    {"panel": "ratings", "method": "PPNS", "variant": "ppns/repaired, noisy means", "epsilon": 1.0, "p": None},
    {"panel": "ratings", "method": "PPNS", "variant": "ppns/paper", "epsilon": 1.0, "p": 0.5},
    {"panel": "ratings", "method": "PriCDR", "variant": "jlt/repaired", "epsilon": 1.0, "p": None},
    {"panel": "ratings", "method": "X-Map", "variant": "repaired", "epsilon": 0.6, "p": None},
    {"panel": "lists", "method": "random list", "variant": "", "epsilon": None, "p": None},
    {"panel": "lists", "method": "noisy popularity", "variant": "", "epsilon": 1.0, "p": None},
    {"panel": "lists", "method": "DPP", "variant": "k-DPP", "epsilon": 1.0, "p": None},
]


@pytest.fixture(scope="module")
def fold() -> frontier.Fold:
    return frontier.Fold(by_popularity(synthetic(60, 60)), 0, 0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frontier") / "runs.jsonl"


@pytest.fixture(scope="module")
def result(kept: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontier, "settings", lambda _: SOME)
        return experiments.run("frontier", synthetic(60, 60), quick=True, resume=kept)


def largest_loss(means: NoisyTotals, values: tuple[float, ...] = VALUES, clip: NoisyTotals | None = None) -> float:
    """Over all datasets of two people and two items, all sets of people and all neighbors by one rating."""
    worst = 0.0
    chosen = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    for cells in itertools.product(values, repeat=4):
        before = np.array(cells).reshape(2, 2)
        for place, value in itertools.product(np.ndindex(2, 2), values):
            after = before.copy()
            after[place] = value
            first, second = (totals(chosen, each, clip or means) for each in (before, after))
            for row in range(len(chosen)):
                worst = max(worst, means.loss((first[0][row], first[1][row]), (second[0][row], second[1][row])))
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_one_rating_costs_epsilon_and_no_less(epsilon: float) -> None:
    assert largest_loss(NoisyTotals(epsilon)) == pytest.approx(epsilon, rel=1e-12)
    assert largest_loss(NoisyTotals(epsilon), (math.nan, 1.0, 9.0)) == pytest.approx(epsilon, rel=1e-12)  # clipped


def test_the_proof_fails_when_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    means = NoisyTotals(1.0)
    # Without clipping.
    assert largest_loss(means, (math.nan, 1.0, 9.0), NoisyTotals(1.0, -9.0, 15.0)) > 1.5
    # With half the noise on the counts, or on the sums.
    for scales in ((4.0, 1.0), (2.0, 2.0)):
        with monkeypatch.context() as patch:
            patch.setattr(NoisyTotals, "noise", scales)
            assert largest_loss(means, (math.nan, 1.0, 5.0)) > 1.2


def test_the_noise_is_the_one_that_is_proved() -> None:
    means = NoisyTotals(0.5)
    one, two = means.release((np.zeros(40_000), np.zeros(40_000)), np.random.default_rng(1))
    for noise, scale in zip((one, two), means.noise, strict=True):
        # |Laplace(b)| is exponential of mean b: five standard errors are 5 b / 200
        assert abs(np.abs(noise).mean() - scale) < 5 * scale / 200
    with pytest.raises(InvalidInput, match="epsilon"):
        NoisyTotals(0.0)


def test_totals_predict_the_mean_when_they_say_much_and_the_base_when_they_say_nothing() -> None:
    clear = NoisyTotals(math.inf)
    ratings = np.full((400, 1), 4.0)
    for count, nearly in ((400, 4.0), (0, 2.0)):
        chosen = np.arange(400)[None] < count
        assert predicted(totals(chosen, ratings, clear), np.full((1, 1), 2.0), clear) == pytest.approx(nearly, abs=0.03)
    noisy = NoisyTotals(1e-3)
    released = noisy.release(totals(np.ones((1, 400)), ratings, noisy), np.random.default_rng(0))
    assert predicted(released, np.full((1, 1), 2.0), noisy) == pytest.approx(2.0, abs=0.1)


def test_another_persons_rating_moves_one_similarity_by_at_most_the_noise_scale() -> None:
    """What makes Laplace(GS / epsilon) on every cosine epsilon-DP for all but the reader."""
    generator = np.random.default_rng(0)
    bound, largest = floor_norm_sensitivity(4.0), 0.0
    for _ in range(10):
        before = np.where(generator.random((4, 3)) < 0.6, generator.integers(1, 6, (4, 3)), np.nan)
        after = before.copy()
        after[1 + generator.integers(3), generator.integers(3)] = generator.choice(VALUES)
        moved = np.abs(
            np.asarray(floor_norm_cosine(before, norm_floor=4.0)) - np.asarray(floor_norm_cosine(after, norm_floor=4.0))
        )
        assert (moved > 1e-12).sum() <= 1
        largest = max(largest, float(moved.max()))
    assert 0 < largest <= bound


def test_choosing_by_source_ratings_and_averaging_target_ratings_share_no_rating(fold: frontier.Fold) -> None:
    """Why the larger of the two epsilons counts: the choice does not look at target ratings."""
    setting = {"variant": "ppns/repaired", "epsilon": 3.0, "p": None}
    first = frontier._chosen(fold, setting, np.random.default_rng(5))
    other = frontier.Fold(by_popularity(synthetic(60, 60)), 0, 0)
    other.target = np.where(np.isnan(other.target), np.nan, 6 - other.target)
    assert (frontier._chosen(other, setting, np.random.default_rng(5)) == first).all()
    assert (first.sum(1) == fold.neighbors).all()
    assert not first[np.arange(len(fold.readers)), fold.readers].any()


def test_weights_for_all_readers_at_once_are_the_mechanisms(
    fold: frontier.Fold, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(frontier, "_selected", lambda _, scores, selection, generator: made.append((scores, selection)))
    reader, epsilon = int(fold.readers[0]), 2.0
    frontier._chosen(fold, {"variant": "npns/repaired", "epsilon": epsilon}, np.random.default_rng(0))
    scores, selection = made[0]
    law = mechanism(
        "npns", "repaired", num_neighbors=fold.neighbors, target=reader, epsilon=epsilon, norm_floor=FLOOR,
        protect="candidates",
    )  # fmt: skip
    order = np.arange(len(fold.source) - 1)
    with jax.enable_x64(True):
        theirs = np.asarray(law._plan(fold.source, law._candidates(fold.source), order).log_weight)
    ours = selection.scale * np.delete(scores[0], reader)
    assert ours.max() - ours.min() > 1e-3
    assert theirs == pytest.approx(ours, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_order_of_partitions_has_the_mechanisms_noise(
    fold: frontier.Fold, monkeypatch: pytest.MonkeyPatch, epsilon: float
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(frontier, "_selected", lambda _, scores, selection, generator: made.append((scores, selection)))
    for seed in range(30):
        frontier._chosen(fold, {"variant": "ppns/repaired", "epsilon": epsilon}, np.random.default_rng(seed))
    law = mechanism("ppns", "repaired", num_neighbors=fold.neighbors, epsilon=epsilon, norm_floor=FLOOR)
    # Scores come scaled by s, and weights are exp(epsilon score s / (4 k GS)): s is in the selection's scale.
    unit = epsilon / (4 * fold.neighbors * law.global_sensitivity)
    noise = np.concatenate(
        [(scores * (selection.scale / unit) - fold.floor_norm).ravel() for scores, selection in made]
    )
    expected = law.global_sensitivity / epsilon  # protect="candidates": a rating moves one score only
    assert kstest(noise, "laplace", (0, expected)).pvalue > 1e-6
    assert kstest(noise, "laplace", (0, 1.2 * expected)).pvalue < 1e-6  # the check can fail


def facts(people: int = 100, items: int = 120) -> Facts:
    return Facts(people, items, 50, np.array([10, 30]), np.array([5, 10]))


def asked(method: str, variant: str, epsilon: float | None = 1.0, panel: str = "ratings") -> dict[str, Any]:
    return {"panel": panel, "method": method, "variant": variant, "epsilon": epsilon, "p": None}


def test_true_epsilons_are_the_mechanisms_own() -> None:
    of = facts()
    sketch = sketch_of("jlt/paper", 4.0, of)
    printed = privacy_of(asked("PriCDR", "jlt/paper", 4.0), of)
    assert (printed.claimed, printed.true, printed.delta) == (4.0, math.inf, 1e-4)
    assert printed.part is not None
    assert printed.part < 0.5
    assert (
        exact_delta(printed.part, of.rows, sketch.noise)
        <= of.delta
        < exact_delta(0.99 * printed.part, of.rows, sketch.noise)
    )
    assert privacy_of(asked("PriCDR", "jlt/paper", 4.0), facts(items=90)).part is None  # CD-T52: fewer items than users
    assert privacy_of(asked("PriCDR", "sjlt/paper", 4.0), of).part is None
    for name in ("jlt", "sjlt"):
        assert privacy_of(asked("PriCDR", f"{name}/repaired", 2.0), of).part == pytest.approx(2.0, rel=1e-6)
    both = privacy_of(asked("PriCDR", "jlt/repaired, noisy means", 2.0), of)
    assert both.true == pytest.approx(2.0, rel=1e-6)
    assert both.part is None
    for id in ("modified_laplace", "randomized_response"):
        assert 0.99 < privacy_of(asked("rating collection", id), of).true <= 1.0


def test_what_the_papers_print_has_no_finite_epsilon() -> None:
    for variant, claimed in (("npns/paper", 0.5), ("pncf/paper", 0.5), ("ppns/paper", 1.0)):
        found = privacy_of(asked("PPNS", variant), facts())
        assert (found.claimed, found.true, found.part) == (claimed, math.inf, None)
    assert privacy_of(asked("PPNS", "knn/paper", None), facts()).claimed is None
    for variant in ("paper", "released"):
        found = privacy_of(asked("X-Map", variant, 0.6), facts())
        assert found.true == math.inf
        assert found.claimed == pytest.approx(0.6 * 27.5)


def test_users_who_join_cost_twice_for_a_rating_that_changes() -> None:
    found = privacy_of(asked("X-Map", "repaired", 0.5), facts())
    assert found.true == pytest.approx(0.5 * (20 + 2 * 7.5))
    assert found.largest == 0.5 * (30 + 2 * 10)
    assert privacy_of(asked("X-Map", "repaired", 0.5, "lists"), facts()).true == 0.5 * (20 + 2 * 50)
    assert privacy_of(asked("DPP", "k-DPP", 1.0, "lists"), facts()).true == pytest.approx(2.0)


def test_a_claim_that_falls_takes_its_epsilon_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier_privacy, "expected_outcomes", lambda: {})
    for method, variant in (("PPNS", "ppns/repaired, noisy means"), ("rating collection", "modified_laplace"),
                            ("X-Map", "repaired"), ("DPP", "k-DPP")):  # fmt: skip
        assert privacy_of(asked(method, variant), facts()).true == math.inf


def test_every_method_has_a_finite_value_for_every_reader(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert len(result["runs"]) == 2 * len(SOME)
    for run in result["runs"]:
        assert 0 <= run["value"] < 4
        assert not any(isinstance(value, list) for value in run.values())
    for table in result["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_a_killed_run_goes_on(kept: Path, monkeypatch: pytest.MonkeyPatch, result: dict[str, Any]) -> None:
    monkeypatch.setattr(frontier, "settings", lambda _: SOME)
    monkeypatch.setattr(frontier, "measure", lambda *_: pytest.fail("ran again"))
    assert experiments.run("frontier", synthetic(60, 60), quick=True, resume=kept) == result


def test_differences_are_paired_by_reader(result: dict[str, Any]) -> None:
    for point in result["points"]:
        reference = next(p for p in result["points"] if p["method"] == frontier_tables.REFERENCE[point["panel"]])
        assert point["value"] - reference["value"] == pytest.approx(point["gap"], abs=1e-4)
        assert point["gap_low"] <= point["gap"] <= point["gap_high"]


def test_every_list_is_of_the_same_items(fold: frontier.Fold) -> None:
    """A method that knows what is liked finds it; one that knows nothing gets the share that is."""
    perfect = next(each for each in frontier.settings(True) if each["method"] == "popularity") | {"fold": 0, "seed": 0}
    fold_of_likes = frontier.Fold(by_popularity(synthetic(60, 60)), 0, 0)
    fold_of_likes.relevant = np.broadcast_to(np.arange(fold.target.shape[1]) < 10, fold.relevant.shape)
    fold_of_likes.likes = np.where(np.arange(fold.target.shape[1]) < 10, 1.0, 0.0) * np.ones_like(fold.target)
    assert frontier.measure(fold_of_likes, perfect)["value"] == 1.0
    chance = frontier.measure(fold_of_likes, {**perfect, "method": "random list"})["value"]
    assert chance == pytest.approx(10 / fold.target.shape[1])


def test_the_picture_has_the_reports_colors_and_its_names(result: dict[str, Any]) -> None:
    picture = frontier_figure.draw(result)
    assert not re.search(r"#a000[0-9a-f]{2}", picture)  # no placeholder color is left
    assert frontier_figure.TITLE in picture
    assert "PPNS as printed" in picture


def test_the_title_is_what_the_committed_result_says() -> None:
    found = committed("frontier")
    assert found is not None
    assert not found["quick"]
    published = {
        "nPNS as printed", "PNCF as printed", "PPNS as printed", "X-Map as printed", "X-Map as released",
        "PriCDR, JLT as printed", "PriCDR, SJLT as printed", "rating collection, modified Laplace",
        "rating collection, randomized response",
    }  # fmt: skip
    mine = [point for point in found["points"] if point["panel"] == "ratings" and point["label"] in published]
    assert {point["label"] for point in mine} == published
    # Of the sketch's claim, which is about source ratings, there is a finite truth.
    infinite = {point["label"] for point in mine if point["true"] == "infinite" and point["part"] is None}
    assert len(infinite) == 6
    assert len(published) == 9
    ours = next(p for p in found["points"] if p["method"] == "noisy item means" and p["epsilon"] == 1.0)
    assert ours["true"] == 1.0
    assert all(ours["value"] < point["value"] for point in mine)
