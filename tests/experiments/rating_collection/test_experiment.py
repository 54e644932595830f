"""The collector's estimates, the records of the experiment, and the rule that decides RC-UTIL."""

import itertools
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpassay import experiments
from dpassay.core.claims import Context, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments.rating_collection import collected_ratings
from dpassay.experiments.rating_collection import experiment as rating_collection
from dpassay.experiments.rating_collection.collected_ratings import (
    MECHANISMS,
    METHODS,
    coefficients_of,
    debiased,
    perturbed,
)
from dpassay.experiments.rating_collection.experiment import EPSILONS, LIMIT, comparisons
from dpassay.proofs.rating_collection import utility
from dpassay.proofs.rating_collection.utility import decide_utility, judged
from dpassay.replay import check
from dpassay.runs.results import committed

FIVE_SIGMA = 5.0


@pytest.mark.parametrize("id", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_collector_knows_the_law(id: str, epsilon: float) -> None:
    matrix = np.repeat([[5.0, 2.0, np.nan]], 40_000, axis=0)
    release = perturbed(id, "paper", epsilon, matrix, seed=3)
    value = np.where(np.isnan(release), 0.0, release - 3)
    number = ~np.isnan(release)

    def deviations(alpha: float, beta: float, gamma: float) -> np.ndarray:
        away = np.concatenate(
            [value.mean(axis=0) - [2 * alpha, -alpha, 0.0], number.mean(axis=0) - [beta, beta, gamma]]
        )
        errors = np.concatenate([value.std(axis=0), number.std(axis=0)]) / math.sqrt(len(matrix))
        return np.abs(away) / errors

    assert (deviations(*coefficients_of(id, epsilon)) < FIVE_SIGMA).all()
    assert deviations(*coefficients_of(id, 1.5 * epsilon)).max() > FIVE_SIGMA


@pytest.mark.parametrize("id", MECHANISMS)
def test_without_noise_nothing_is_to_be_debiased(id: str) -> None:
    assert coefficients_of(id, LIMIT) == (1.0, 1.0, 0.0)
    matrix = synthetic(30, 12).dense()
    found = debiased(matrix, coefficients_of(id, LIMIT))
    rated = ~np.isnan(matrix)
    spread = np.mean(np.where(rated, np.nan_to_num(matrix) - np.nanmean(matrix), 0.0) ** 2) * len(matrix)
    counts = rated.sum(axis=0)
    means = np.nanmean(matrix, axis=0)
    shrunk = np.nanmean(matrix) + 0.25 * counts**2 / (0.25 * counts**2 + spread) * (means - np.nanmean(matrix))
    np.testing.assert_allclose(found["debiased_item_mean"][0], shrunk, atol=0.02)


@pytest.mark.parametrize("id", MECHANISMS)
def test_debiased_means_see_through_the_created_ratings(id: str) -> None:
    generator = np.random.default_rng(0)
    truth = np.where(np.arange(40) % 2, 4.0, 2.0)
    matrix = np.where(generator.random((3000, 40)) < 0.2, truth, np.nan)
    release = perturbed(id, "paper", 2.0, matrix, seed=1)

    def error(estimate: Any) -> float:
        return float(np.abs(estimate - truth).mean())

    assert error(debiased(release, coefficients_of(id, 2.0))["debiased_item_mean"]) < 0.2
    assert error(collected_ratings._item_means(release)) > 0.4
    # A collector who has the law wrong does not.
    assert error(debiased(release, coefficients_of(id, 6.0))["debiased_item_mean"]) > 0.3


def test_the_known_truth_is_of_low_rank_and_in_range() -> None:
    observed, truth = collected_ratings.known_truth(0, 50, 40)
    assert np.linalg.matrix_rank(truth - 3) == 2
    assert truth.min() >= 1
    assert truth.max() <= 5
    rated = ~np.isnan(observed)
    assert 0.3 < rated.mean() < 0.5
    assert np.abs(observed - truth)[rated].mean() < 0.6


def test_the_experiment_measures_all_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_collection, "known_truth", lambda seed: collected_ratings.known_truth(seed, 24, 16))
    monkeypatch.setattr(rating_collection, "QUICK", (2.0, LIMIT))
    ratings, kept = synthetic(24, 16), tmp_path / "runs.jsonl"
    result = experiments.run("rating-collection", ratings, quick=True, resume=kept)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    runs = result["runs"]
    assert len(runs) == 2 * 2 * (1 + 2 * 2) + 2
    assert result["inputs"][0]["sha256"] == ratings.fingerprint()
    for entry in runs:
        measured = {name for name in METHODS if f"{name}_rmse" in entry}
        assert set(METHODS) - measured <= {"transplanted"}
        assert all(0 <= entry[f"{name}_mae"] <= entry[f"{name}_rmse"] <= 4 for name in measured)
        assert entry["rho"] <= entry["bound"] * (1 + 1e-9)
        if entry["epsilon"] is not None:
            items = 16
            assert entry["user_epsilon"] == pytest.approx(items * entry["epsilon"])
    clean, limit = (
        next(r for r in runs if (r["epsilon"], r["mechanism"], r["setting"]) == (epsilon, id, "ratings"))
        for epsilon, id in ((None, "none"), (LIMIT, "randomized_response"))
    )
    assert clean["constrained_rmse"] == limit["constrained_rmse"]  # no rating changed its place
    assert {len(plot["series"]) for plot in result["plots"]} == {len(METHODS) + 1}

    def never(*_: Any) -> Any:
        raise AssertionError("a finished run is run again")

    monkeypatch.setattr(collected_ratings.Collection, "_measured", never)
    assert experiments.run("rating-collection", ratings, quick=True, resume=kept) == result


def test_only_stars_are_taken() -> None:
    ratings = Ratings(np.array([0, 1]), np.array([0, 0]), np.array([3.5, 2.0]), 2, 1)
    with pytest.raises(InvalidInput, match="1, 2, 3, 4 or 5 stars") as caught:
        experiments.run("rating-collection", ratings)
    assert "\n" not in str(caught.value)


def made_up(error: Any, quick: bool = False) -> dict[str, Any]:
    """A result in which the error of (4) is `error(mechanism, epsilon)`, None for the clean data, plus small noise."""
    generator = np.random.default_rng(5)
    levels = [("none", None), *itertools.product(MECHANISMS, (*EPSILONS, LIMIT))]
    runs = [
        {"setting": "ratings", "mechanism": id, "variant": "paper", "epsilon": epsilon, "seed": seed}
        | {"constrained_rmse": error(id, epsilon) + 1e-4 * generator.normal()}
        for id, epsilon in levels
        for seed in range(5)
    ]
    inputs = [{"name": "movielens-100k", "sha256": "", "ratings": 100_000}]
    return {"inputs": inputs, "quick": quick, "runs": runs, "tables": [], "plots": []}


def falling(id: str, epsilon: float | None) -> float:
    return 0.9 if epsilon in (None, LIMIT) else 1.3 - 0.03 * EPSILONS.index(epsilon)


def flat_at_first(id: str, epsilon: float | None) -> float:
    return falling(id, 0.3 if epsilon == 0.1 else epsilon)


def rising_once(id: str, epsilon: float | None) -> float:
    return falling(id, epsilon) + 0.1 * (epsilon == 2.0 and id == "modified_laplace")


def short_of_the_limit(id: str, epsilon: float | None) -> float:
    return falling(id, epsilon) - 0.02 * (epsilon is None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(falling, "holds"), (flat_at_first, "open"), (rising_once, "refuted"), (short_of_the_limit, "refuted")],
)
def test_the_rule_of_the_registry_decides(error: Any, outcome: str) -> None:
    proved = Verdict("RC-UTIL", "open", "Not decided. What is proved: the limit.")
    result = made_up(error)
    assert len(comparisons(result["runs"])) == 2 * (len(EPSILONS) + 1)
    verdict = judged(proved, result)
    assert verdict.outcome == outcome
    assert verdict.explanation.endswith("What is proved: the limit.")
    certificate = verdict.evidence[0].certificate
    assert certificate is not None
    assert check("reproduction", certificate["inputs"])["supports"] == outcome


def test_the_verdict_rests_on_the_committed_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find_claim("RC-UTIL")
    assert claim is not None
    for missing in (None, made_up(falling, quick=True), {**made_up(falling), "inputs": [{"name": "synthetic"}]}):
        monkeypatch.setattr(utility, "committed", lambda _, found=missing: found)
        verdict = decide_utility(claim, Context(synthetic()))
        assert verdict.outcome == "open"
        assert "dpassay experiment rating-collection" in verdict.explanation
    monkeypatch.setattr(utility, "committed", lambda _: made_up(rising_once))
    assert decide_utility(claim, Context(synthetic())).outcome == "refuted"


def test_the_committed_runs_are_complete_and_give_the_reviewed_verdict() -> None:
    result = committed("rating-collection")
    assert result is not None
    assert (result["inputs"][0]["name"], result["quick"]) == ("movielens-100k", False)
    compared = comparisons(result["runs"])
    assert len(compared) == 2 * (len(EPSILONS) + 1)
    assert {len(entry["differences"]) for entry in compared.values()} == {5}
    claim = find_claim("RC-UTIL")
    assert claim is not None
    verdict = decide_utility(claim, Context(synthetic()))
    reviewed = json.loads(resources.files("dpassay.core").joinpath("expected_verdicts.json").read_text())
    assert verdict.outcome == reviewed["RC-UTIL"][""]
    clean = [entry["transplanted_rmse"] for entry in result["runs"] if entry["mechanism"] == "none"][:5]
    assert 0.92 < np.mean(clean) < 0.95  # the known error of soft-impute without privacy, about 0.945
