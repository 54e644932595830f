"""Privacy of the rating collection mechanisms: verdicts, exact suprema against a search, and what breaks the proofs."""

import math

import numpy as np
import pytest

from dpassay.proofs.rating_collection import privacy

IDS = ["RC-T1", *(f"RC-T1-{case}" for case in privacy.CASES), "RC-T1-TIGHT", "RC-T2", "RC-NFOLD"]


@pytest.mark.parametrize("claim_id", IDS)
def test_deciders(claim_id, judged_alike):
    judged_alike(claim_id, "holds")


def masses(value, epsilon, edges):
    """Chance of ? (first) and of each interval between the edges, for one entry; None is missing."""
    r, scale = math.exp(epsilon / 2), 2 / epsilon
    center, number = (0.0, 1 / (1 + r)) if value is None else (value, r / (1 + r))
    z = (edges - center) / scale
    cdf = np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)
    return np.concatenate([[1 - number], number * np.diff(np.concatenate([[0], cdf, [1]]))])


def largest_ratio(x, y, epsilon, kind):
    """Over events of numbers, {?}, or ? with numbers: by adding intervals in order of their likelihood ratio."""
    edges = np.linspace(-1.5, 1.5, 6001)
    p, q = masses(x, epsilon, edges), masses(y, epsilon, edges)
    if kind == "?":
        return p[0] / q[0]
    order = 1 + np.argsort(-p[1:] / q[1:])
    high, low = np.cumsum(p[order]), np.cumsum(q[order])
    return float(((p[0] + high) / (q[0] + low)).max() if kind == "both" else (high / low).max())


RATINGS = (-1.0, -0.3, 0.0, 0.5, 1.0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    ("case", "kind", "pairs"),
    [
        (case, kind, pairs)
        for number, (pairs, kinds) in enumerate(
            [
                ([(x, y) for x in RATINGS for y in RATINGS], ("numbers", "?", "both")),
                ([(x, None) for x in RATINGS], ("numbers", "?", "both")),
                ([(None, y) for y in RATINGS], ("numbers", "?", "both")),
            ]
        )
        for case, kind in zip(list(privacy.CASES)[3 * number : 3 * number + 3], kinds, strict=True)
    ],
)
def test_suprema_against_a_search(case, kind, pairs, epsilon):
    """No event of a fine partition exceeds the supremum, and some event comes close."""
    found = max(largest_ratio(x, y, epsilon, kind) for x, y in pairs)
    supremum = privacy.case_supremum(case, epsilon)
    assert 0.999 * supremum < found <= supremum * (1 + 1e-9)
    assert supremum <= math.exp(epsilon) * (1 + 1e-12)
