"""Private neighbor selection with a soft floor: proofs, exact laws, and what breaks them."""

import itertools
import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import soft_floor_selection as floor

SCORES = ("9/10", "1/2", "1/5", "0")


def test_decider():
    claim = find_claim("XM-PNSA-REP")
    assert claim is not None
    judged = judge(claim, Context(data=synthetic()))
    assert judged.verdict.outcome == "holds", judged.verdict.explanation
    assert set(judged.concluded) <= {"holds", "part of holds", "note"}


def losses(before, after, num_neighbors, width, sensitivity=0.1):
    """Largest log-ratio over ordered draws, which is at least that over sets."""
    laws = []
    for scores in (before, after):
        kth = np.sort(scores)[-num_neighbors]
        weights = np.exp(np.maximum(scores, kth - width) / (4 * num_neighbors * sensitivity))
        law = {}
        for order in itertools.permutations(range(len(scores)), num_neighbors):
            left, chance = list(range(len(scores))), 1.0
            for chosen in order:
                chance *= weights[chosen] / weights[left].sum()
                left.remove(chosen)
            law[order] = chance
        laws.append(law)
    return max(abs(math.log(laws[0][order] / laws[1][order])) for order in laws[0])


@pytest.mark.parametrize("num_neighbors", [1, 2, 3])
def test_losses_of_random_scores(num_neighbors):
    generator = np.random.default_rng(num_neighbors)
    largest = {"all": 0.0, "one": 0.0}
    for _ in range(150):
        before = generator.uniform(0, 1, 5)
        width = generator.choice([0.0, 0.1, 0.3, 2.0])
        largest["all"] = max(
            largest["all"], losses(before, before + generator.choice([-0.1, 0.1], 5), num_neighbors, width)
        )
        one = before.copy()
        one[generator.integers(5)] += 0.1
        largest["one"] = max(largest["one"], losses(before, one, num_neighbors, width))
    assert 0.2 < largest["all"] <= 0.5
    assert 0.1 < largest["one"] <= 0.25


def test_a_floor_that_depends_on_more_than_the_scores_is_not_covered():
    """The floor may move by GS, not by more: moving it alone by half breaks the bound at once."""
    before = np.array([0.9, 0.5, 0.2, 0.0])
    weights = [np.exp(np.maximum(before, 0.5 - width) / (4 * 2 * 0.01)) for width in (0.0, 0.5)]
    chances = [w[3] / w.sum() for w in weights]
    assert math.log(chances[0] / chances[1]) > 1


@pytest.mark.parametrize(
    ("others", "halves"),
    [
        (("1", "1/2", "1/5", "0"), 2),  # admissible: one score moves by GS
        (("11/10", "1/2", "1/5", "0"), 2),  # moves by 2 GS
        (("1", "1/2", "1/5", "0"), 16),  # more than 1/32 is lost
    ],
)
def test_instances_bind_the_sensitivity_and_the_budget(others, halves):
    certificate = floor.floor_instance(SCORES, others, "1/4", halves=halves)
    assert (objections(certificate) == "") == (others[0] == "1" and halves == 2)
