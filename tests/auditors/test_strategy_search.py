"""Pairs found in the datasets of a Hypothesis strategy."""

import math

import pytest
from hypothesis import strategies as st

import dpassay as dp
from dpassay.auditors.neighbor_search import search_black_box
from dpassay.auditors.strategy_search import search_strategy
from dpassay.core.privacy import PrivacyClaim

ALPHA = 1e-6


def found(function, relation, datasets, epsilon=1.0, **options):
    options = {"failure_probability": ALPHA, "time_limit": 30.0, "remember": False, **options}
    return search_strategy(function, relation, datasets, claim=PrivacyClaim(epsilon), **options)


def respond(rng, bit):
    """Randomized response of epsilon 1 on one bit; on anything else it says what it was given."""
    return bit if bit not in (0, 1) or rng.random() < math.e / (1 + math.e) else 1 - bit


def crowd(rng, ages):
    """A noisy count that gives away when two are older than 57."""
    return len(ages) + rng.laplace() + 6 * (sum(age > 57 for age in ages) == 2)


def test_a_pair_is_found_and_shrunk_to_the_smallest_violation():
    witness = found(crowd, "add_or_remove_one:record", st.lists(st.integers(0, 100), max_size=20)).witness
    assert witness is not None
    assert witness.epsilon > 3
    assert sorted([witness.dataset1, witness.dataset2], key=len) == [[58], [58, 58]]


def test_domains_are_never_left():
    """Sound on {0, 1}, and told apart at once outside of it."""
    for datasets, relation in (
        (st.integers(0, 1), "replace_one:user"),
        (st.sampled_from([0, 1]), "replace_one:record"),
    ):
        result = found(respond, relation, datasets)
        assert result.witness is None
        assert {result.pair.first, result.pair.second} == {0, 1}
    assert found(respond, "replace_one:record", st.integers(0, 2)).witness is not None


def test_the_search_of_vectors_keeps_to_its_scale():
    mechanism = dp.from_callable(lambda rng, vector: respond(rng, vector[0]))
    options = {"claim": PrivacyClaim(1.0), "num_items": 1, "time_limit": 3.0, "failure_probability": ALPHA}
    assert search_black_box(mechanism, "vector:one", **options) is not None
    assert search_black_box(mechanism, "vector:one", scale=(0, 1), **options) is None
    with pytest.raises(dp.InvalidInput, match="differ by 1"):
        search_black_box(mechanism, "vector:one", scale=(0, 5), **options)
