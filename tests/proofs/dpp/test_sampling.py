"""Phase 2, its jitter, and the eigenvectors: proofs, counterexamples by brute force, and what breaks them."""

import itertools
import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import sampling


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [
        ("DP-EVEC", "holds"),
        ("DP-SUB", "refuted"),
        ("DP-SUB2", "refuted"),
        ("DP-SUB-REP", "holds"),
        ("DP-JIT", "refuted"),
    ],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


def orders(basis, jitter, draws=None):
    """Probability of every order of draws; the loop of Algorithm 1 unless it stops after `draws`."""
    found: dict[tuple[int, ...], float] = {}

    def draw(order, rest, probability):
        done = rest.shape[1] == 0 if draws is None else len(order) == draws
        if done:
            found[order] = found.get(order, 0.0) + probability
            return
        left = [item for item in range(len(rest)) if item not in order]
        weights = (rest**2).sum(axis=1)[left] + jitter
        for item, weight in zip(left, weights / weights.sum(), strict=True):
            row = rest[item]
            # the part of the span that is orthogonal to e_item
            kernel = np.linalg.svd(row[None])[2][1:].T if np.linalg.norm(row) > 1e-9 else np.eye(len(row))
            draw((*order, item), rest @ kernel, probability * weight)

    draw((), basis, 1.0)
    return found


def law(found):
    sets: dict[tuple[int, ...], float] = {}
    for order, probability in found.items():
        sets[tuple(sorted(order))] = sets.get(tuple(sorted(order)), 0.0) + probability
    return sets


def test_the_counterexample_by_brute_force():
    half = math.sqrt(0.5)
    one = np.array([[1, 0], [1, 0], [0, 1], [0, 1]]) * half
    two = np.array([[1, 0], [0, 1], [1, 0], [0, 1]]) * half
    laws = [law(orders(basis, 0.1, draws=2)) for basis in (one, two)]
    assert laws[1][0, 1] / laws[0][0, 1] == pytest.approx(6)
    assert not objections(sampling.subset_bound_instance())
    # the loop as printed goes on on the first plane
    assert (0, 1) not in law(orders(one, 0.1))
    assert (0, 1) in law(orders(two, 0.1))


def test_the_counterexample_fails_for_equal_planes_or_another_ratio():
    certificate = sampling.subset_bound_instance()
    values = certificate["inputs"]["values"]
    for change in ({"e": "1/2"}, {"d": "1/5"}, {"s": "1"}):
        inputs = {**certificate["inputs"], "values": {**values, **change}}
        assert "false" in objections({"kind": "formula", "inputs": inputs})


@pytest.mark.parametrize("jitter", [0.05, 1.0])
def test_the_jittered_law_by_brute_force(jitter):
    axis = np.eye(3)[:, :1]
    sets = law(orders(axis, jitter))
    both = sum(probability for chosen, probability in sets.items() if {1, 2} <= set(chosen))
    single = sum(probability for chosen, probability in sets.items() if 1 in chosen)
    assert max(map(len, sets)) == 3
    assert single == pytest.approx(jitter / (1 + 2 * jitter))
    assert both == pytest.approx(2 * jitter**2 / ((1 + 3 * jitter) * (1 + 2 * jitter)))
    assert both > single**2
    assert law(orders(axis, 0.0))[(0,)] == pytest.approx(1)


def test_the_repaired_bound_on_random_planes():
    rng = np.random.default_rng(6)
    jitter, size = 0.2, 2
    bound = sum(math.log1p(1 / jitter) + math.log(size / (size - t)) for t in range(size))
    worst = 0.0
    for _ in range(10):
        planes = [np.linalg.qr(rng.normal(size=(4, size)))[0] for _ in range(2)]
        laws = [law(orders(plane, jitter, draws=size)) for plane in planes]
        for chosen in itertools.combinations(range(4), size):
            worst = max(worst, abs(math.log(laws[0][chosen] / laws[1][chosen])))
    assert 0.5 < worst <= bound
