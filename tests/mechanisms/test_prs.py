"""PRS by hand, and the repair's claim on everything small."""

import itertools
import math

import jax
import numpy as np
import pytest

from dpassay.core.numerics import float64
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.xsim import xsim

NAN = np.nan
LINKS = np.array([[1, 2, NAN], [1, NAN, 2]])


def test_support_is_read_off_the_data():
    alone = LINKS.copy()
    alone[0] = NAN
    built = mechanism("prs")
    np.testing.assert_allclose(np.exp(built.log_weights(LINKS)), [math.exp(-math.sqrt(0.5) / 4)] * 2)
    assert float(built.log_prob([1], alone)) == -math.inf
    assert float(built.log_prob([2], alone)) == 0
    # Under the full X-SIM over meta-paths the same items are quantified.
    assert np.isnan(xsim(LINKS, 1)).tolist() == [[False, False]]
    assert np.isnan(xsim(alone, 1)).tolist() == [[True, False]]


def test_released_list_is_cut_by_magnitude_and_lower_item():
    # Items 1 to 3 are alike, item 4 has two links.
    ratings = np.array(
        [[1, 2, NAN, NAN, NAN], [1, NAN, 2, NAN, NAN], [1, NAN, NAN, 2, NAN]] + [[1, NAN, NAN, NAN, 2]] * 2
    )
    for size, listed in ((1, {4}), (2, {1, 4}), (3, {1, 2, 4}), (10, {1, 2, 3, 4})):
        logs = np.asarray(mechanism("prs", "released", list_size=size).log_weights(ratings))
        assert {int(place) + 1 for place in np.flatnonzero(np.isfinite(logs))} == listed


def test_significance_weights_the_similarity():
    logs = [float(mechanism("prs", significance_cap=cap, epsilon=4.0).log_weights(LINKS)[0]) for cap in (1, 50)]
    assert logs[0] == pytest.approx(-math.sqrt(0.5))
    assert logs[1] == pytest.approx(logs[0] / 50)


@pytest.mark.parametrize("similarity", ["adjusted_cosine", "cosine"])
@pytest.mark.parametrize("norms", ["all", "co_raters"])
def test_the_repair_keeps_its_claim_on_everything_small(similarity, norms):
    built = mechanism("prs", "repaired", epsilon=3.0, similarity=similarity, norms=norms)
    rows = list(itertools.product((NAN, 1.0, 4.0), repeat=3))
    firsts = np.array([rows_ for rows_ in itertools.combinations_with_replacement(rows, 2)])
    firsts = np.concatenate([firsts, firsts[:, ::-1]])
    seconds = firsts.copy()
    seconds[:, 0] = NAN
    outputs = built.outputs(firsts[0])
    each = float64(jax.jit(jax.vmap(jax.vmap(built.log_prob, (0, None)), (None, 0))))
    losses = np.abs(np.asarray(each(outputs, firsts)) - np.asarray(each(outputs, seconds)))
    assert 0.2 < losses.max() <= built.claim.epsilon
