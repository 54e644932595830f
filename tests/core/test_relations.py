"""Neighboring relations, impossible claims, and witnesses."""

import math

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness

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
        with pytest.raises(InvalidInput):
            parsed.changed(BASE, changed(cells))


@pytest.mark.parametrize(
    "text", ["rating", "add_or_remove_one", "swap:rating", "replace_one:cell", "add_or_remove_one:entry"]
)
def test_unknown_relation_is_refused(text):
    with pytest.raises(InvalidInput):
        NeighboringRelation.parse(text)


def test_datasets_of_different_shapes_are_not_neighboring():
    with pytest.raises(InvalidInput, match="one shape"):
        NeighboringRelation("replace_one", "rating").changed(BASE, BASE[:1])


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (NAN, 0), (1, -0.1), (1, 1), (1, NAN)])
def test_impossible_claims_are_refused(epsilon, delta):
    with pytest.raises(InvalidInput):
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
