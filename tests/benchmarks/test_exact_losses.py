"""Exact laws against independent integrals and simulations; the best event against all events."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import integrate, special, stats

from dpassay.auditors.fixed_sample import Counts, epsilon_lower, predicted_lower
from dpassay.benchmarks.dp_sniper_suite import LYU, SUITE, LaplaceNoise, row
from dpassay.benchmarks.exact_losses import PairLaw, best_bound, log_density, pair_law, sequences
from dpassay.benchmarks.sparse_vector import lyu

EXACT = [entry for entry in (*SUITE, *LYU) if entry.name != "SVT34Parallel"]


def law_of(name, place=0):
    entry = row(name)
    return pair_law(entry.mechanism, *entry.pairs[place].arrays())


@pytest.mark.parametrize("entry", EXACT, ids=lambda entry: entry.name)
def test_laws_are_laws_and_keep_what_is_true_of_the_mechanism(entry):
    for pair in entry.pairs:
        law = pair_law(entry.mechanism, *pair.arrays())
        assert min(law.p.min(), law.q.min()) >= 0
        assert [law.p.sum(), law.q.sum()] == pytest.approx([1, 1], abs=1e-5)
        assert law.epsilon <= entry.mechanism.epsilon_true + 1e-6


@pytest.mark.parametrize("entry", [entry for entry in EXACT if len(entry.pairs) > 1], ids=lambda entry: entry.name)
def test_our_pair_promises_more_than_the_published_ones(entry):
    bounds = [best_bound(pair_law(entry.mechanism, *pair.arrays()), 23_000_000, 0.1).bound for pair in entry.pairs]
    best = int(np.argmax(bounds))
    assert entry.pairs[best].found_by == "the exact law"
    assert best == (1 if entry.name == "NumericalSVT" else 0)  # audits find less there: see its note
    assert bounds[best] > 1.001 * max(bounds[:best] + bounds[best + 1 :])


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("Laplace", 0.1), ("NoisyHist2", 10.0), ("TruncatedGeometric", math.log(1.125)), ("ReportNoisyMax2", 0.1),
     ("ReportNoisyMax3", 0.25), ("PrefixSum", 1.0), ("LaplaceParallel", 0.1), ("SVT5", math.inf)],
)  # fmt: skip
def test_known_losses(name, epsilon):
    assert law_of(name).epsilon == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize(("algorithm", "scales"), [(1, (20.0, 40.0)), (4, (40.0, 40.0 / 3)), (6, (20.0, 20.0))])
def test_sequence_probabilities_by_adaptive_quadrature(algorithm, scales):
    queries, mechanism = np.array([0.5, -1.0, 2.0]), lyu(algorithm)
    patterns, probabilities = sequences(mechanism, queries)

    def integrand(rho, pattern):
        value = stats.laplace.pdf(rho, scale=scales[0])
        for query, bit in zip(queries, pattern, strict=True):
            above = stats.laplace.sf(rho + 1.0 - query, scale=scales[1])
            value *= {1: above, 0: 1 - above, -1: 1.0}[int(bit)]
        return value

    for pattern, probability in zip(patterns, probabilities, strict=True):
        points = [-2.0, -0.5, 0.0, 1.0]
        pieces = [integrate.quad(integrand, a, b, args=(pattern,)) for a, b in itertools.pairwise(points)]
        tails = [integrate.quad(integrand, *ends, args=(pattern,)) for ends in ((-np.inf, -2.0), (1.0, np.inf))]
        assert probability == pytest.approx(sum(value for value, _ in pieces + tails), abs=1e-8)


@pytest.mark.parametrize("entry", SUITE, ids=lambda entry: entry.name)
def test_log_densities_tell_the_datasets_apart_as_their_outputs_do(entry):
    """Of outputs that tell as much, as many come from either dataset as the log-ratio says."""
    size, (one, two) = 100_000, entry.pairs[0].arrays()
    draw = jax.jit(entry.mechanism.sample_batch, static_argnums=2)
    told = []
    for side, dataset in enumerate((one, two)):
        outputs = np.asarray(draw(jax.random.key(side), dataset, size))
        losses = log_density(entry.mechanism, outputs, one) - log_density(entry.mechanism, outputs, two)
        told.append(losses.clip(-50, 50))
    edges = np.unique(np.quantile(np.concatenate(told), [0.001, 0.02, 0.2, 0.5, 0.8, 0.98, 0.999]))
    for low, high in itertools.pairwise([-np.inf, *edges, np.inf]):
        first, second = ((side >= low) & (side < high) for side in told)
        shares = special.expit(np.concatenate([told[0][first], told[1][second]]))
        assert abs(first.sum() - shares.sum()) <= 4.5 * math.sqrt((shares * (1 - shares)).sum()) + 1e-6
    if entry not in EXACT:
        return
    law = pair_law(entry.mechanism, one, two)  # and they tell all that there is to tell
    parts, shares = law.p + law.q > 0, np.tanh(np.concatenate(told) / 2) ** 2
    apart = ((law.p - law.q)[parts] ** 2 / (law.p + law.q)[parts]).sum() / 2
    assert shares.mean() == pytest.approx(apart, rel=0.01, abs=4.5 * shares.std() / math.sqrt(2 * size))


def test_rare_maximum_is_a_power():
    law = law_of("ReportNoisyMax4", 1)
    impossible = law.p[law.q < 1e-15].sum()
    assert impossible == pytest.approx((1 - math.exp(-1 / 20)) ** 5, rel=1e-6)


@pytest.mark.parametrize(("name", "shift"), [("PrefixSum", 0.1), ("LaplaceParallel", 0.005)])
def test_sum_of_log_ratios_by_simulation(name, shift):
    rng, num, count = np.random.default_rng(0), 200_000, {"PrefixSum": 10, "LaplaceParallel": 20}[name]
    noise = rng.laplace(size=(num, count))
    loss = (np.abs(noise + shift) - np.abs(noise)).sum(axis=1)  # drawn from dataset 1, whose center is 0
    law = law_of(name)
    p, q = law.events(0)
    ratio_cut = 0.55 * count * shift  # between two atoms
    with np.errstate(divide="ignore"):
        inside = np.log(law.p) - np.log(law.q) >= ratio_cut
    hits = int((loss >= ratio_cut).sum())
    expected = law.p[inside].sum()
    assert stats.binomtest(hits, num, float(expected)).pvalue > 1e-6
    assert (np.diff(p) >= 0).all()
    assert (np.diff(q) >= 0).all()


def test_value_laws_by_simulation():
    rng, num = np.random.default_rng(1), 300_000
    mechanism, pair = row("SVT3").mechanism, row("SVT3").pairs[0]
    queries = np.asarray(pair.dataset1)
    threshold = 1.0 + rng.laplace(scale=20.0, size=num)
    values = queries + rng.laplace(scale=20.0, size=(num, len(queries)))
    none = (values < threshold[:, None]).all(axis=1).mean()
    law = pair_law(mechanism, *pair.arrays())
    assert stats.binomtest(round(none * num), num, float(law.p[-1])).pvalue > 1e-6


def test_best_event_is_the_best_of_all_events():
    law, num = law_of("TruncatedGeometric"), 1_000_000
    found = best_bound(law, num, 0.05)
    bounds = []
    for bits in itertools.product((False, True), repeat=len(law.p)):
        p, q = law.p[list(bits)].sum() * num, law.q[list(bits)].sum() * num
        bounds += [
            float(predicted_lower(*sides, failure_probability=0.05)) for sides in ((p, num, q, num), (q, num, p, num))
        ]
    assert found.bound == pytest.approx(max(bounds), rel=1e-9)


def test_best_bound_is_what_the_test_reports_at_the_expected_counts():
    for name in ("Laplace", "SVT1", "Rappor"):
        num = 23_000_000
        best = best_bound(law_of(name), num, 0.1)
        counts = Counts(round(best.probability1 * num), num, round(best.probability2 * num), num)
        assert epsilon_lower(counts, failure_probability=0.1, reference=best.bound) == pytest.approx(
            best.bound, rel=2e-3
        )


def test_more_samples_and_less_confidence_promise_more():
    law = law_of("SVT6")
    bounds = [best_bound(law, num, 0.1).bound for num in (10**4, 10**6, 10**8)]
    assert bounds == sorted(bounds)
    assert best_bound(law, 10**6, 0.01).bound < bounds[1] < law.epsilon


def test_a_blind_law_promises_nothing():
    even = np.full(4, 0.25)
    assert best_bound(PairLaw(even, even), 10**6, 0.05).bound == 0
    assert PairLaw(even, even).epsilon == 0


def test_unequal_shifts_are_not_guessed():
    with pytest.raises(TypeError, match="must be equal"):
        pair_law(LaplaceNoise(1.0, 1.0), np.array([0.0, 0.0]), np.array([1.0, 2.0]))
