"""The values everything is made of: relations, claims, ratings, wrapped samplers."""

import math

import numpy as np
import pytest

import dpassay as dp
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.data.ratings import Ratings, synthetic

NAN = math.nan
BASE = np.array([[5.0, 3.0, NAN], [4.0, NAN, 2.0]])


def changed(cells):
    other = BASE.copy()
    for cell, value in cells.items():
        other[cell] = value
    return other


@pytest.mark.parametrize(
    ("relation", "cells", "allowed"),
    [
        ("add_or_remove_one:rating", {(0, 2): 4.0}, True),
        ("add_or_remove_one:rating", {(0, 0): NAN}, True),
        ("add_or_remove_one:rating", {(0, 0): 1.0}, False),
        ("add_or_remove_one:rating", {(0, 0): NAN, (1, 0): NAN}, False),
        ("add_or_remove_one:rating", {}, False),
        ("replace_one:rating", {(0, 0): 1.0}, True),
        ("replace_one:rating", {(0, 2): 4.0}, False),
        ("replace_one:entry", {(1, 2): 5.0}, True),
        ("add_or_remove_one:user", {(0, 0): NAN, (0, 1): NAN}, True),
        ("add_or_remove_one:user", {(0, 0): NAN}, False),
        ("replace_one:user", {(0, 0): 1.0, (0, 2): 2.0}, True),
        ("replace_one:user", {(0, 0): 1.0, (1, 0): 2.0}, False),
    ],
)
def test_relation_allows_exactly_its_neighbors(relation, cells, allowed):
    parsed = NeighboringRelation.parse(relation)
    if allowed:
        assert parsed.changed(BASE, changed(cells)) == sorted(cells)
        assert parsed.changed(changed(cells), BASE) == sorted(cells)
    else:
        with pytest.raises(dp.InvalidInput):
            parsed.changed(BASE, changed(cells))


@pytest.mark.parametrize(
    "text", ["rating", "add_or_remove_one", "swap:rating", "replace_one:cell", "add_or_remove_one:entry"]
)
def test_unknown_relation_is_refused(text):
    with pytest.raises(dp.InvalidInput):
        NeighboringRelation.parse(text)


def test_datasets_of_different_shapes_are_not_neighboring():
    with pytest.raises(dp.InvalidInput, match="one shape"):
        NeighboringRelation("replace_one", "rating").changed(BASE, BASE[:1])


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (NAN, 0), (1, -0.1), (1, 1), (1, NAN)])
def test_impossible_claims_are_refused(epsilon, delta):
    with pytest.raises(dp.InvalidInput):
        PrivacyClaim(epsilon, delta)


@pytest.mark.parametrize(
    ("log1", "log2", "delta", "epsilon"),
    [
        (math.log(0.6), math.log(0.2), 0.0, math.log(3)),
        (math.log(0.6), math.log(0.2), 0.4, 0.0),
        (math.log(0.6), -math.inf, 0.1, math.inf),
        (math.log(0.1), -math.inf, 0.2, -math.inf),
    ],
)
def test_witness_epsilon(log1, log2, delta, epsilon):
    relation = NeighboringRelation("replace_one", "rating")
    witness = Witness({}, relation, BASE, changed({(0, 0): 1.0}), ((1,),), log1, log2, PrivacyClaim(1.0, delta))
    assert witness.epsilon == pytest.approx(epsilon)
    assert witness.to_json()["changed"] == [[0, 0]]
    assert witness.to_json()["dataset1"] == [[5, 3, None], [4, None, 2]]


def arrays(users, items, values):
    return np.array(users), np.array(items), np.array(values, float)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 0], [1, 1], [3, 4]), "rated item 1 2 times"),
        (([0, 1], [0, 1], [3, 6]), "outside the scale"),
        (([0, 1], [0, 1], [3, NAN]), "not a number"),
        (([0, 5], [0, 1], [3, 4]), "user indices"),
        (([0, 1], [0], [3, 4]), "lengths"),
        (([], [], []), "empty"),
    ],
)
def test_bad_ratings_are_refused_in_one_line(rows, message):
    users, items, values = arrays(*rows)
    with pytest.raises(dp.InvalidInput, match=message) as caught:
        Ratings(users, items, values, 2, 2)
    assert "\n" not in str(caught.value)


def test_dense_and_sparse_views_agree():
    ratings = Ratings.from_dense(BASE)
    assert len(ratings) == 4
    np.testing.assert_array_equal(ratings.dense(), BASE)
    shuffled = Ratings(ratings.users[::-1], ratings.items[::-1], ratings.values[::-1], 2, 3)
    assert shuffled.fingerprint() == ratings.fingerprint()
    assert Ratings.from_dense(changed({(0, 0): 4.0})).fingerprint() != ratings.fingerprint()


def test_synthetic_ratings_repeat_and_look_like_ratings():
    first, second = synthetic(), synthetic()
    assert first.fingerprint() == second.fingerprint()
    assert first.name == "synthetic"
    assert set(np.unique(first.values)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert np.bincount(first.users).min() >= 20
    assert synthetic(seed=1).fingerprint() != first.fingerprint()


def test_wrapped_sampler_repeats_by_key():
    import jax

    single = dp.from_callable(lambda rng, data: rng.normal() + data)
    batched = dp.from_callable(lambda rng, data, num_samples: rng.normal(size=num_samples) + data, batched=True)
    key = jax.random.key(3)
    assert single.sample(key, 1.0) == single.sample(key, 1.0)
    assert single.sample(key, 1.0) != single.sample(jax.random.key(4), 1.0)
    assert batched.sample(key, 1.0) == single.sample(key, 1.0)
    assert isinstance(single, dp.Mechanism)


def test_only_functions_can_be_wrapped():
    with pytest.raises(dp.InvalidInput):
        dp.from_callable(3)  # type: ignore[arg-type]


def test_public_names_resolve():
    for name in dp.__all__:
        assert getattr(dp, name) is not None


@pytest.mark.parametrize("name", ["exact", "mechanism", "mechanisms", "replay", "search", "verify"])
def test_public_functions_stay_callable_after_their_modules_are_imported(name):
    import importlib
    import pkgutil

    for area in ("mechanisms", "auditors", "replay"):
        package = importlib.import_module(f"dpassay.{area}")
        for entry in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"dpassay.{area}.{entry.name}")
    for entry in pkgutil.iter_modules(dp.__path__):
        if entry.name != "__main__":
            importlib.import_module(f"dpassay.{entry.name}")
    assert callable(getattr(dp, name))


def test_unknown_public_name():
    with pytest.raises(AttributeError):
        dp.nonsense  # type: ignore[attr-defined]  # noqa: B018
