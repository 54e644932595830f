"""Predictions with noisy similarities: protocol, scale of the noise, and what is not defined."""

import json
import math

import jax
import numpy as np
import pytest
from scipy.stats import ks_2samp

import dpassay as dp
from dpassay.mechanisms import describe, mechanism

NAN = np.nan
# Two items: the target's only neighbor is item 1, and the reader (user 0) rated it 4 or not at all.
RATINGS = np.array([[3, 4], [1, 2], [2, 2], [5, 4]], float)


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_protocol(variant):
    built = mechanism("pnsa_pncf", variant, num_neighbors=1)
    conforms = isinstance(built, dp.Mechanism)
    assert conforms
    assert not isinstance(built, dp.FiniteMechanism)
    assert built.claim.epsilon == built.epsilon == 2 * built.selection.claim.epsilon
    described = json.loads(json.dumps(describe(built)))
    assert mechanism(described["id"], described["variant"], **described["parameters"]) == built
    keys = jax.random.split(jax.random.key(3), 7)
    batch = jax.vmap(built.sample, (0, None))(keys, RATINGS)
    assert float(batch[4]) == pytest.approx(float(built.sample(keys[4], RATINGS)), abs=1e-12)


def test_a_single_neighbor_gives_its_rating_up_to_the_sign_of_the_noise():
    # sum s r / sum |s| with one neighbor is r times the sign of the noisy similarity.
    built = mechanism("pnsa_pncf", num_neighbors=1, similarity="cosine", epsilon=4.0)
    drawn = np.asarray(jax.vmap(built.sample, (0, None))(jax.random.split(jax.random.key(1), 4000), RATINGS))
    np.testing.assert_allclose(np.abs(drawn), 4)
    similarity = float(built.selection._candidates(RATINGS.T).score[0])
    scale = 2 * float(built.selection.candidate_sensitivities(RATINGS)[0]) / 4
    negative = math.exp(-similarity / scale) / 2
    count = int((drawn < 0).sum())
    assert abs(count - 4000 * negative) < 5 * math.sqrt(4000 * negative * (1 - negative))


def test_the_repair_scales_noise_by_a_constant():
    built = mechanism("pnsa_pncf", "repaired", num_neighbors=2, threshold=4.0, epsilon=0.5)
    # GS = 1/8, and each of two similarities gets a quarter of epsilon.
    np.testing.assert_allclose(built.noise_scales(np.ones((3, 5))), [1 / 8 / (0.5 / 4)] * 4)
    other = RATINGS.copy()
    other[3] = NAN
    np.testing.assert_array_equal(built.noise_scales(RATINGS), built.noise_scales(other))
    paper = mechanism("pnsa_pncf", num_neighbors=1, similarity="cosine")
    assert float(paper.noise_scales(RATINGS)[0]) != float(paper.noise_scales(other)[0])


def test_noise_is_laplace():
    # Two neighbors with ratings 5 and 1: from the prediction p the ratio of two noisy similarities of one sign follows.
    ratings = np.array([[3, 5, 1], [1, 2, NAN], [2, NAN, 2]], float)
    built = mechanism("pnsa_pncf", "repaired", num_neighbors=2, threshold=1.0, epsilon=1.0)
    drawn = np.asarray(jax.vmap(built.sample, (0, None))(jax.random.split(jax.random.key(9), 5000), ratings))
    scores = np.asarray(built.selection._candidates(ratings.T).score)
    rng = np.random.default_rng(0)
    noisy = scores + rng.laplace(scale=2 * 2 * built.selection.global_sensitivity, size=(200_000, 2))
    simulated = noisy @ [5, 1] / np.abs(noisy).sum(axis=1)
    assert ks_2samp(drawn, simulated).pvalue > 1e-6
    assert ks_2samp(drawn, noisy @ [1, 5] / np.abs(noisy).sum(axis=1)).pvalue < 1e-6


def test_not_defined_without_the_reader():
    absent = RATINGS.copy()
    absent[0] = NAN
    assert math.isnan(float(mechanism("pnsa_pncf", "repaired", num_neighbors=1).sample(jax.random.key(0), absent)))
