"""Every registered mechanism: protocol, laws, sampling, bad input. A mechanism that no case tries fails the suite."""

import dataclasses
import inspect
import json
import math
from collections import Counter
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import MECHANISMS, describe, mechanism, mechanisms

ALPHA = 1e-6
"""Probability that a correct sampler fails one goodness-of-fit test, over the choice of its key; keys are fixed."""

_ = np.nan
RATINGS = np.array(
    [
        [5, 3, 4, 1, _, 2],
        [4, 3, _, 2, 5, 1],
        [1, _, 5, 4, 2, _],
        [_, _, 3, _, 4, _],
        [2, 5, 1, 3, _, 4],
        [5, 1, 4, 2, 3, 3],
        [_, 4, _, 5, 1, 2],
    ]
)
WEIGHTS = np.array([5.0, 1.0, 0.2, 3.0, 0.7])

CASES: list[dict[str, Any]] = [
    {"id": "knn", "target": 3},
    {"id": "knn", "target": 3, "ties": "random"},
    {"id": "npns", "sensitivity": 0.02},
    {"id": "npns", "variant": "repaired", "norm_floor": 6.0, "epsilon": 4.0},
    {"id": "pncf", "sensitivity": 0.0004, "target": 4},
    {"id": "ppns", "sensitivity": 0.02},
    {"id": "ppns", "sensitivity": 0.02, "rule": "original", "num_neighbors": 3, "probability": 0.4},
    {"id": "ppns", "variant": "repaired", "norm_floor": 6.0},
    {"id": "wallenius", "num_draws": 3},
    {"id": "pnsa", "epsilon": 9.0, "target": 2},
    {"id": "pnsa", "variant": "released", "epsilon": 9.0, "significance_cap": 3},
    {"id": "pnsa", "variant": "repaired", "threshold": 0.5, "epsilon": 4.0, "target": 5},
    {"id": "prs", "epsilon": 9.0, "num_source_items": 2, "source_item": 1},
    {"id": "prs", "variant": "released", "epsilon": 9.0, "list_size": 3, "significance_cap": 2},
    {"id": "prs", "variant": "repaired", "epsilon": 9.0, "similarity": "cosine"},
]
LAWS_ONLY: list[dict[str, Any]] = [
    {"id": "knn", "similarity": "pearson", "num_neighbors": 3, "ties": "last"},
    {"id": "npns", "sensitivity": "pairwise", "similarity": "full_cosine", "epsilon": 4.0},
    {"id": "pncf", "truncation": "soft", "sensitivity": 0.002, "num_neighbors": 3},
    {"id": "ppns", "rule": "formula", "num_neighbors": 3, "sensitivity": "local_dot", "no_overlap": "exclude"},
]
ELSEWHERE: set[tuple[str, str]] = {
    *((id, variant) for id in ("jlt", "sjlt") for variant in ("paper", "released", "repaired")),  # test_sketches.py
    *((id, "paper") for id in ("dpp", "dpp_eigen", "dpp_subset_jittered", "kdpp")),  # test_determinantal.py: masks
    *(("modified_laplace", variant) for variant in ("paper", "repaired")),  # test_modified_laplace.py: [-1, 1]
    *(("randomized_response", variant) for variant in ("paper", "repaired")),  # test_randomized_response.py: 0..d
    *(("pnsa_pncf", variant) for variant in ("paper", "repaired")),  # test_pnsa_pncf.py: a prediction, continuous
    ("nuclear_norm_completion", "paper"),  # test_nuclear_norm_completion.py: an estimator, deterministic
}
"""(id, variant) of the mechanisms on other datasets than ratings, whose own tests try the same."""
BUILT = [pytest.param(mechanism(**case), id="-".join(map(str, case.values()))) for case in CASES]
FINITE = [case for case in BUILT if isinstance(case.values[0], dp.FiniteMechanism)]
LAWS = [*FINITE, *(pytest.param(mechanism(**case), id="-".join(map(str, case.values()))) for case in LAWS_ONLY)]


def dataset_of(built: Any) -> np.ndarray:
    return WEIGHTS if describe(built)["id"] == "wallenius" else RATINGS


@cache
def own_law(built: Any) -> tuple[np.ndarray, np.ndarray]:
    """All outputs of a mechanism on its dataset, and their log-probabilities."""
    return law(built, dataset_of(built))


def law(built: Any, dataset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outputs = built.outputs(dataset)
    return outputs, np.asarray(jax.jit(jax.vmap(built.log_prob, (0, None)))(outputs, dataset))


@cache
def draws(built: Any, number: int = 20_000) -> tuple[np.ndarray, int]:
    """Samples drawn in four batches, and how often the sampler was traced for them."""
    dataset = dataset_of(built)
    traces = []

    @jax.jit
    def batch(keys: Any) -> Any:
        traces.append(1)
        return jax.vmap(built.sample, (0, None))(keys, dataset)

    keys = jax.random.split(jax.random.key(20261121), number).reshape(4, -1)
    return np.concatenate([np.asarray(batch(some)) for some in keys]), len(traces)


def fits(built: Any, outputs: np.ndarray, logs: np.ndarray, number: int = 20_000) -> float:
    """p-value of the samples under a law."""
    counts = Counter(map(tuple, draws(built, number)[0].tolist()))
    observed = np.array([counts[tuple(output)] for output in outputs.tolist()])
    assert observed.sum() == number
    return chi_square(observed, number * np.exp(logs))


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """p-value; cells with an expected count below 5 are pooled, impossible ones must be empty."""
    if counts[expected == 0].any():
        return 0.0
    small = expected < 5
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    kept = expected > 0
    if kept.sum() < 2:
        return 1.0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    return float(chi2.sf(statistic, kept.sum() - 1))


def test_every_registered_mechanism_is_tried() -> None:
    tried = {(case["id"], case.get("variant", "paper")) for case in CASES}
    assert not tried & ELSEWHERE
    assert tried | ELSEWHERE == {(id, variant) for id, variants in MECHANISMS.items() for variant in variants}


@pytest.mark.parametrize("built", BUILT)
class TestProtocol:
    def test_conforms(self, built: Any) -> None:
        conforms = isinstance(built, dp.Mechanism)
        assert conforms
        assert list(inspect.signature(built.sample).parameters) == ["key", "dataset"]
        assert hash(built) == hash(dataclasses.replace(built))
        assert not inspect.isabstract(type(built))
        with pytest.raises(dataclasses.FrozenInstanceError):
            built.target = 1

    def test_claim_is_complete(self, built: Any) -> None:
        assert isinstance(built.claim, dp.PrivacyClaim)
        assert built.claim.epsilon > 0
        assert built.claim.relation is not None or describe(built)["id"] == "wallenius"

    def test_description_builds_it_again(self, built: Any) -> None:
        description = json.loads(json.dumps(describe(built)))
        assert set(description) == {"id", "variant", "parameters"}
        again = mechanism(description["id"], description["variant"], **description["parameters"])
        assert again == built
        assert type(again) is type(built)

    def test_samples_are_sets_of_candidates_and_compile_once(self, built: Any) -> None:
        sampled, traces = draws(built)
        assert traces == 1
        assert sampled.shape == (20_000, built.num_neighbors)
        assert (np.diff(sampled) > 0).all()
        assert not (sampled == getattr(built, "target", -1)).any()


class TestLaw:
    @pytest.mark.parametrize("built", LAWS)
    def test_is_a_distribution(self, built: Any) -> None:
        outputs, logs = own_law(built)
        assert len({tuple(row) for row in outputs.tolist()}) == len(outputs)
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)

    @pytest.mark.parametrize("built", FINITE)
    def test_fits_the_samples(self, built: Any) -> None:
        p_value = fits(built, *own_law(built))
        assert p_value > ALPHA, f"p = {p_value}"


@pytest.mark.parametrize("built", FINITE[2::3])
class TestTransformations:
    def test_one_sample_is_that_of_the_batch_and_leaves_single_precision_alone(self, built: Any) -> None:
        alone = built.sample(jax.random.split(jax.random.key(20261121), 20_000)[7], dataset_of(built))
        np.testing.assert_array_equal(draws(built)[0][7], alone)
        assert jnp.ones(1).dtype == jnp.float32

    def test_law_is_the_same_without_jit_and_over_datasets(self, built: Any) -> None:
        dataset = dataset_of(built)
        outputs, logs = own_law(built)
        eager = [float(built.log_prob(output, dataset)) for output in outputs[:3]]
        np.testing.assert_allclose(eager, logs[:3], rtol=0, atol=1e-13)
        both = jax.jit(jax.vmap(built.log_prob, (None, 0)))(outputs[0], np.stack([dataset, dataset[::-1]]))
        expected = [logs[0], float(built.log_prob(outputs[0], dataset[::-1]))]
        np.testing.assert_allclose(both, expected, rtol=0, atol=1e-13)

    def test_a_set_has_no_order_and_holds_candidates_only(self, built: Any) -> None:
        dataset = dataset_of(built)
        outputs, logs = own_law(built)
        best = outputs[logs.argmax()]
        assert float(built.log_prob(best[::-1], dataset)) == pytest.approx(logs.max(), abs=1e-13)
        for wrong in (-1, 99, *best[1:2], getattr(built, "target", 99)):
            assert float(built.log_prob(np.array([wrong, *best[1:]]), dataset)) == -math.inf


@pytest.mark.parametrize(
    ("built", "changed"),
    [
        (mechanism("npns", sensitivity=0.02), mechanism("npns", sensitivity=0.03)),
        (mechanism("npns", sensitivity=0.02), mechanism("npns", weight="similarity")),
        (mechanism("ppns", sensitivity=0.02), mechanism("ppns", sensitivity=0.02, last="uniform")),
        (mechanism("ppns", sensitivity=0.02), mechanism("ppns", sensitivity=0.02, rule="original")),
        (mechanism("knn", target=3), mechanism("knn", target=3, ties="random")),
    ],
)
def test_fit_notices_a_changed_law(built: Any, changed: Any) -> None:
    outputs, logs = own_law(built)
    assert fits(built, outputs, logs) > ALPHA
    assert fits(built, outputs, own_law(changed)[1]) < ALPHA


def test_ratings_are_a_dataset() -> None:
    built = mechanism("npns", sensitivity=0.2)
    ratings = Ratings.from_dense(RATINGS)
    np.testing.assert_array_equal(built.outputs(ratings), built.outputs(RATINGS))
    assert float(built.log_prob([1, 2], ratings)) == float(built.log_prob([1, 2], RATINGS))


def test_listing_has_every_default() -> None:
    listed = mechanisms()
    assert [(row["id"], row["variant"]) for row in listed] == [(i, v) for i, vs in MECHANISMS.items() for v in vs]
    assert listed == [describe(mechanism(row["id"], row["variant"], **row["parameters"])) for row in listed]
    assert describe(dp.from_callable(print)) == {}


UNDEFINED = [
    (mechanism("ppns"), RATINGS[:3], "nobody is left for the last pick"),
    (mechanism("ppns", rule="original", probability=0.4, num_neighbors=3), RATINGS[:4], "partition 2 is empty"),
    (mechanism("knn", no_overlap="exclude"), [[5, _], [_, 1], [_, 2], [3, _]], "one candidate"),
    (mechanism("npns", no_overlap="exclude"), [[5, _], [_, 1], [_, 2], [_, 1]], "no candidate"),
    (mechanism("npns", weight="similarity"), [[5, _], [_, 1], [_, 2], [3, _]], "one positive weight"),
    (mechanism("wallenius"), [1.0, 0.0, 0.0], "one positive weight"),
]


@pytest.mark.parametrize(("built", "dataset", "why"), UNDEFINED)
def test_undefined_is_nan_and_refused(built: Any, dataset: Any, why: str) -> None:
    dataset = np.array(dataset)
    for output in built.outputs(dataset):
        assert math.isnan(float(built.log_prob(output, dataset))), why
    with pytest.raises(InvalidInput):
        built.sample(jax.random.key(0), dataset)


BAD_PARAMETERS = [
    ("nearest", {}, "knn, "),
    ("knn", {"variant": "repaired"}, "paper"),
    ("knn", {"neighbors": 3}, "num_neighbors"),
    ("knn", {"num_neighbors": 0}, ">= 1"),
    ("knn", {"num_neighbors": 2.0}, "integer"),
    ("knn", {"num_neighbors": True}, "integer"),
    ("knn", {"target": -1}, ">= 0"),
    ("knn", {"similarity": "euclid"}, "full_cosine"),
    ("knn", {"ties": "first"}, "random"),
    ("knn", {"no_overlap": "drop"}, "exclude"),
    ("npns", {"epsilon": 0.0}, "> 0"),
    ("npns", {"epsilon": math.nan}, "> 0"),
    ("npns", {"epsilon": math.inf}, "finite"),
    ("npns", {"epsilon": "1"}, "number"),
    ("npns", {"sensitivity": -1.0}, "> 0"),
    ("npns", {"sensitivity": "global"}, "pairwise"),
    ("npns", {"weight": "linear"}, "exponential"),
    ("npns", {"variant": "repaired", "norm_floor": 0}, "> 0"),
    ("npns", {"variant": "repaired", "protect": "target"}, "candidates"),
    ("pncf", {"rho": 0.0}, "between 0 and 1"),
    ("pncf", {"rho": 1.0}, "between 0 and 1"),
    ("pncf", {"truncation": "none"}, "soft"),
    ("pncf", {"noise": "all"}, "prediction"),
    ("pncf", {"release": "ratings"}, "prediction"),
    ("pncf", {"item": -1}, ">= 0"),
    ("ppns", {"probability": 0.0}, "between 0 and 1"),
    ("ppns", {"probability": 1}, "between 0 and 1"),
    ("ppns", {"probability": math.nan}, "between 0 and 1"),
    ("ppns", {"rule": "ceil"}, "original"),
    ("ppns", {"last": "first"}, "uniform"),
    ("ppns", {"variant": "repaired", "epsilon": -1}, "> 0"),
    ("wallenius", {"num_draws": 0}, ">= 1"),
    ("prs", {"epsilon": 0}, "> 0"),
    ("prs", {"source_item": 1}, "items 0 to 0"),
    ("prs", {"norms": "both"}, "co_raters"),
    ("prs", {"sensitivity": 0.0}, "> 0"),
    ("prs", {"variant": "released", "list_size": 0}, ">= 1"),
    ("prs", {"variant": "repaired", "similarity": "pearson"}, "adjusted_cosine"),
    ("pnsa", {"rho": 1.0}, "between 0 and 1"),
    ("pnsa", {"similarity": "normalized"}, "adjusted_cosine"),
    ("pnsa", {"variant": "released", "significance_cap": 0}, ">= 1"),
    ("pnsa", {"variant": "repaired", "width": 0}, "> 0"),
    ("pnsa", {"variant": "repaired", "threshold": -1}, "> 0"),
    ("pnsa_pncf", {"user": -1}, ">= 0"),
    ("pnsa_pncf", {"norms": "none"}, "co_raters"),
]


@pytest.mark.parametrize(("id", "parameters", "mends"), BAD_PARAMETERS)
def test_bad_parameters_get_one_clear_line(id: str, parameters: dict[str, Any], mends: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mechanism(id, **parameters)
    assert mends in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_CALLS = [
    ({"id": "knn", "num_neighbors": 7}, RATINGS, "at most 6"),
    ({"id": "npns", "target": 7}, RATINGS, "rows 0 to 6"),
    ({"id": "ppns"}, RATINGS[0], "matrix"),
    ({"id": "ppns", "variant": "repaired"}, RATINGS[:2], "at least 3"),
    ({"id": "ppns", "variant": "repaired", "target": 9}, RATINGS, "rows 0 to 6"),
    ({"id": "pncf", "release": "prediction", "item": 6}, RATINGS, "items 0 to 5"),
    ({"id": "wallenius", "num_draws": 9}, WEIGHTS, "at most 5"),
    ({"id": "wallenius"}, -WEIGHTS, ">= 0"),
    ({"id": "wallenius"}, RATINGS, "list"),
    ({"id": "prs", "num_source_items": 6}, RATINGS, "target domain"),
    ({"id": "prs"}, RATINGS[0], "matrix"),
    ({"id": "prs"}, [[5, _], [_, 1]], "no replacement"),
    ({"id": "pnsa", "target": 6}, RATINGS, "items 0 to 5"),
    ({"id": "pnsa", "num_neighbors": 6}, RATINGS, "at most 5"),
    ({"id": "pnsa_pncf", "user": 7}, RATINGS, "rows 0 to 6"),
]


@pytest.mark.parametrize(("parameters", "dataset", "mends"), BAD_CALLS)
def test_bad_datasets_get_one_clear_line(parameters: dict[str, Any], dataset: np.ndarray, mends: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mechanism(**parameters).sample(jax.random.key(0), dataset)
    assert mends in str(caught.value)
    assert "\n" not in str(caught.value)


def test_log_prob_refuses_what_it_cannot_judge() -> None:
    with pytest.raises(InvalidInput, match="2 row numbers"):
        mechanism("knn").log_prob([1, 2, 3], RATINGS)
    with pytest.raises(InvalidInput, match="at most 8"):
        mechanism("ppns", ties="random").log_prob([1, 2], np.ones((10, 2)))
    with pytest.raises(InvalidInput, match="no exact law"):
        mechanism("pncf", release="prediction").log_prob([1, 2], RATINGS)
    with pytest.raises(InvalidInput, match="no exact law"):
        mechanism("pncf", release="prediction").outputs(RATINGS)
    with pytest.raises(InvalidInput, match="can be listed"):
        mechanism("knn", num_neighbors=10).outputs(np.ones((100, 2)))
