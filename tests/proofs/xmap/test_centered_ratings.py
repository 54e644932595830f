"""Texts of laws and of similarities of centered ratings agree with plain computations."""

import itertools
import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, instance
from dpassay.proofs.selection import draw_probability, set_probability
from dpassay.proofs.xmap.centered_ratings import CenteredRatings
from dpassay.replay.formula import enclose
from dpassay.replay.numbers import rational

RATINGS = CenteredRatings(((5, 4, 1, 2), (5, None, 1, 3), (2, 4, 3, None), (1, 2, None, 5)))


def value(text, **values):
    return float(enclose(formula(text), {name: rational(number) for name, number in values.items()}))


def numbers(data):
    return {
        f"c_{user}_{item}": str(data.centered(user, item))
        for user, row in enumerate(data.rows, start=1)
        for item, rating in enumerate(row, start=1)
        if rating is not None
    }


def test_a_set_probability_is_the_sum_over_orders():
    weights = [5, 3, 1, 1]
    names = ["a", "b", "c", "d"]
    values = dict(zip(names, weights, strict=True))
    for subset in itertools.combinations(range(4), 2):
        first, second = (weights[index] for index in subset)
        plain = first / 10 * second / (10 - first) + second / 10 * first / (10 - second)
        assert value(set_probability(names, subset), **values) == pytest.approx(plain, rel=1e-12)
    assert value(draw_probability(names, 1, (0,)), **values) == pytest.approx(3 / 5)


@pytest.mark.parametrize("norms", ["all raters", "co-raters"])
def test_similarity_and_sensitivity_agree_with_numpy(norms):
    matrix = np.array([[np.nan if r is None else r for r in row] for row in RATINGS.rows], float)
    centered = matrix - np.nanmean(matrix, axis=1, keepdims=True)

    def cosine(rows, first, second):
        a, b = centered[rows][:, first], centered[rows][:, second]
        both = ~np.isnan(a) & ~np.isnan(b)
        own = (both, both) if norms == "co-raters" else (~np.isnan(a), ~np.isnan(b))
        lengths = math.sqrt((a[own[0]] ** 2).sum()) * math.sqrt((b[own[1]] ** 2).sum())
        return (a[both] @ b[both]), lengths

    rows = np.arange(4)
    dot, lengths = cosine(rows, 0, 1)
    assert value(RATINGS.cosine(1, 2, norms=norms), **numbers(RATINGS)) == pytest.approx(dot / lengths)
    terms = []
    for user in (0, 2, 3):
        left = cosine(rows[rows != user], 0, 1)[1]
        terms += [centered[user, 0] * centered[user, 1] / left, dot / left - dot / lengths]
    assert value(RATINGS.sensitivity(1, 2, norms=norms), **numbers(RATINGS)) == pytest.approx(max(terms))


def test_the_certificate_checks_the_centering():
    certificate = RATINGS.certificate((1, 2), f"{RATINGS.dot(1, 2)} < 100", supports="holds")
    assert not objections(certificate)
    certificate["inputs"]["values"]["r_1_1"] = 4
    assert "false" in objections(certificate)


def test_an_instance_is_rejected_when_a_formula_is_false():
    assert not objections(instance({"x": 1}, "x < 2", supports="holds"))
    assert "false" in objections(instance({"x": 2}, "x < 2", supports="holds"))
