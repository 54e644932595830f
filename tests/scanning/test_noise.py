"""Noise that is seen to be added, and noise that is used in any other way."""

import math
from typing import Any

import numpy as np
import pytest

from dpassay.scanning.noise import OtherNoise, added_noise, farthest


def laplace(rng: Any, data: Any) -> float:
    return sum(data) - rng.laplace(scale=3.0)


def gaussians(rng: Any, data: Any) -> Any:
    return {"a": len(data) + rng.normal(0, 2.0), "b": rng.normal(sum(data), 2.0)}


def of_numpy(_: Any, data: Any) -> Any:
    return np.asarray(data) + np.random.standard_normal(len(data)) * 0.5  # noqa: NPY002


def seeded(_: Any, data: Any) -> float:
    return sum(data) + np.random.default_rng(7).laplace(0, 4.0) / 2


@pytest.mark.parametrize(
    ("mechanism", "kind", "scale"),
    [(laplace, "laplace", 3.0), (gaussians, "gaussian", 2.0), (of_numpy, "gaussian", 0.5), (seeded, "laplace", 2.0)],
)
def test_added_noise_is_seen_with_its_scale_as_it_comes_out(mechanism: Any, kind: str, scale: float) -> None:
    seen = added_noise(mechanism, [1, 2])
    assert seen.kind == kind
    assert math.isclose(seen.scale, scale)
    assert seen.under.sum() in (3.0, 5.0)


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda rng, data: len(data),
        lambda rng, data: round(sum(data) + rng.laplace()),
        lambda rng, data: max(sum(data) + rng.laplace(), 0.0),
        lambda rng, data: min(sum(data) + rng.laplace(), 15.0),
        lambda rng, data: [sum(data) + (noise := rng.laplace()), len(data) + noise],
        lambda rng, data: sum(data) + rng.laplace() + rng.normal(),
        lambda rng, data: sum(data) + rng.laplace() * rng.random(),
        lambda rng, data: sum(data) + rng.laplace() * rng.laplace(),
        lambda rng, data: [rng.laplace(scale=1.0) + 1, rng.laplace(scale=2.0) + 1],
        lambda rng, data: sum(data) + rng.laplace(scale=1 + (rng.laplace() > 3)),
        lambda rng, data: 1 / 0,
        lambda rng, data: "text",
    ],
)
def test_noise_used_in_another_way_is_left_to_sampling(mechanism: Any) -> None:
    with pytest.raises(OtherNoise):
        added_noise(mechanism, [1, 2])


def test_numpy_is_as_before() -> None:
    before = np.random.laplace, np.random.default_rng, np.random.RandomState
    with pytest.raises(OtherNoise):
        added_noise(lambda rng, data: 1 / 0, [1])
    assert before == (np.random.laplace, np.random.default_rng, np.random.RandomState)


def test_pairs_are_compared_under_the_same_noise_alone() -> None:
    def scaled(rng: Any, data: Any) -> float:
        return sum(data) + rng.laplace(scale=1 + len(data))

    found = farthest(scaled, [([1], [1, 1]), ([1], [4]), ([0, 0], [2, 0])])
    assert found is not None
    assert (found[0], found[1].scale, found[2]) == (([1], [4]), 2.0, 3.0)
    assert farthest(scaled, [([], [1])]) is None


def test_distances_go_by_the_law() -> None:
    pair = ([0.0, 0.0], [3.0, 4.0])
    sums = farthest(lambda rng, data: [each + rng.laplace() for each in data], [pair])
    roots = farthest(lambda rng, data: [each + rng.normal() for each in data], [pair])
    assert sums is not None
    assert roots is not None
    assert (sums[2], roots[2]) == (7.0, 5.0)
