"""Replaced subjects and fixed sizes: proofs, tight databases, open gaps, and what breaks them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpassay.mechanisms.dpp import replacement_epsilon
from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import variants
from dpassay.proofs.dpp.determinants import subsets
from dpassay.proofs.dpp.exact_privacy import enumeration


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [("DP-REPLACE-REP", "holds"), ("DP-REPLACE-BIN-REP", "open"), ("DP-KDPP-REP", "holds"), ("DP-KDPP-SMALL", "holds")],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


@pytest.mark.parametrize(
    ("build", "too_much"), [(variants.fixed_size_instance, "11/10"), (variants.few_items_instance, "85/100")]
)
def test_instances_fail_past_the_supremum(build, too_much):
    certificate = build()
    assert not objections(certificate)
    values = {**certificate["inputs"]["values"], "loss": too_much}
    assert "false" in objections({"kind": "formula", "inputs": {**certificate["inputs"], "values": values}})


@pytest.mark.parametrize(("items", "jitter"), [(2, Fraction(1, 5)), (3, Fraction(1)), (10, Fraction(1, 100))])
def test_the_binary_replacement_ratio(items, jitter):
    ratio = variants.binary_replacement_ratio(items, jitter)
    assert math.log(ratio) == pytest.approx(replacement_epsilon(items, float(jitter)))
    assert ratio <= 1 + items / jitter
    if items == 3:
        wrong = enumeration(items, 1, str(jitter), str(ratio + 1), relation="replace_one", supports="open")
        assert "largest ratio" in objections(wrong)


def test_real_rows_replaced_stay_below_the_bound():
    rng = np.random.default_rng(8)
    jitter, norm = 0.4, 2.0
    for number in range(40):
        items = 2 + number % 3
        rows, pair = rng.normal(size=(number % 3, items)), rng.normal(size=(2, items))
        pair *= math.sqrt(norm) / np.linalg.norm(pair, axis=1, keepdims=True)
        laws = [law(rows.T @ rows + jitter * np.eye(items) + np.outer(x, x)) for x in pair]
        assert np.abs(np.log(laws[0] / laws[1])).max() <= math.log1p(norm / jitter) + 1e-9
    axes = math.sqrt(norm) * np.eye(2)
    laws = [law(jitter * np.eye(2) + np.outer(x, x)) for x in axes]
    assert np.abs(np.log(laws[0] / laws[1])).max() == pytest.approx(math.log1p(norm / jitter))


@pytest.mark.parametrize(("items", "size"), [(4, 3), (5, 4), (6, 4), (5, 3), (4, 2)])
def test_stars_and_heavy_items_approach_the_lower_bounds(items, size):
    """The database of the proof, by NumPy: the loss comes within a percent of the stated lower bound."""
    jitter = 1.0
    group = max(2 * size - items + 1, 1)
    rows = np.zeros((group - 1, items))
    rows[:, : group - 1], rows[:, group - 1] = np.eye(group - 1), 1
    kernel = jitter * np.eye(items) + 1e4 * rows.T @ rows
    kernel[range(size, items), range(size, items)] += 1e8
    x = np.zeros(items)
    x[: group - 1] = x[group:size] = 1
    if group == 1:
        x[:size] = 1
    loss = np.abs(np.log(law(kernel + np.outer(x, x), size) / law(kernel, size))).max()
    expected = size if group == 1 else size - 2 + 1 / group
    assert loss == pytest.approx(math.log1p(expected / jitter), rel=0.01)
    assert loss < math.log1p(size / jitter)


def law(kernel, size=None):
    outputs = [y for y in subsets(len(kernel)) if size is None or len(y) == size]
    weights = np.array([np.linalg.det(kernel[np.ix_(y, y)]) if y else 1.0 for y in outputs])
    return weights / weights.sum()
