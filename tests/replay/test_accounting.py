"""Certified accounting: divergences against sums and integrals, compositions against exact ones, tampering."""

import copy
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq, fmpz_poly
from scipy.stats import norm

import dpassay as dp
from dpassay.core.certificate import checksum
from dpassay.core.registry import all_claims
from dpassay.replay import Rejected, check, replay, seal_own
from dpassay.replay.accounting import compute
from dpassay.replay.composition import Composition, Losses, Part, _end, _spread
from dpassay.replay.loss_pairs import LossPair, Noise, replacement_sampled
from dpassay.replay.numbers import precision
from dpassay.report.schema import validate_certificate

RATIOS = (0.05, 0.4, 0.8, 0.97, 1.0, 1.04, 1.3, 2.5, 20.0)
GAUSSIAN = {"kind": "gaussian", "noise_multiplier": "1"}
LAPLACE = {"kind": "laplace", "noise_multiplier": "2"}
STAIRCASE = {"kind": "staircase", "scale": "1", "sensitivity": "3/2", "width": "1", "gamma": "1/3"}


def times(count: int, event: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "self_composed", "event": event, "count": count}


def sampled(rate: str, event: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "poisson_sampled", "sampling_probability": rate, "event": event}


def inputs(event: Any, epsilon: str, delta: str, relation: str = "add_or_remove_one", **more: str) -> dict[str, Any]:
    return {"event": event, "relation": relation, "claim": {"epsilon": epsilon, "delta": delta}, **more}


def assert_agrees(pair: LossPair, masses: tuple[np.ndarray, np.ndarray], *, within: float) -> None:
    """H of a pair and of its reverse, against the masses of both laws on the same cells."""
    for each, (p, q) in ((pair, masses), (pair.reversed(), masses[::-1])):
        for ratio in RATIOS:
            with precision():
                value = each.hockey_stick(arb(ratio))
            assert float(value.rad()) < 1e-30
            assert float(value.mid()) == pytest.approx(np.maximum(p - ratio * q, 0).sum(), abs=within)


CELLS = np.linspace(-30, 30, 240_001)


def law(kind: str, center: float) -> np.ndarray:
    if kind == "gaussian":
        return np.diff(norm.cdf(CELLS - center))
    x = (CELLS - center) / 2
    return np.diff(np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2))


@pytest.mark.parametrize("event", [GAUSSIAN, LAPLACE], ids=lambda event: event["kind"])
def test_continuous_noise_and_its_sampling_match_integrals(event: dict[str, Any]) -> None:
    noise, kind, rate = Noise.read(event), event["kind"], 0.3
    with precision():
        pairs = [
            noise.pair(1),
            noise.pair(2),
            noise.pair(1).sampled(fmpq(3, 10)),
            replacement_sampled(noise, fmpq(3, 10)),
        ]
    zero, one, other = law(kind, 0), law(kind, 1), law(kind, -1)
    taken = rate * one + (1 - rate) * zero
    laws = [(one, zero), (law(kind, 2), zero), (taken, zero), (taken, rate * other + (1 - rate) * zero)]
    for pair, masses in zip(pairs, laws, strict=True):
        assert_agrees(pair, masses, within=2e-6)


def test_no_other_replaced_pair_is_worse_than_opposite_ones() -> None:
    rate = 0.3
    with precision():
        pair = replacement_sampled(Noise.read(GAUSSIAN), fmpq(3, 10))
        worst = [float(pair.hockey_stick(arb(ratio)).mid()) for ratio in RATIOS]
    zero = law("gaussian", 0)
    for before, after in itertools.product((-1, -0.4, 0, 0.7, 1), repeat=2):
        p, q = (rate * law("gaussian", center) + (1 - rate) * zero for center in (before, after))
        assert all(np.maximum(p - a * q, 0).sum() <= most + 2e-6 for a, most in zip(RATIOS, worst, strict=True))


def test_integer_noise_matches_sums() -> None:
    k = np.arange(-3000, 3001)
    for kind, log_weight in (("geometric", -np.abs(k) / 2.5), ("discrete_gaussian", -(k**2) / (2 * 2.5**2))):
        mass = np.exp(log_weight) / np.exp(log_weight).sum()
        for shift in (1, 3):
            with precision():
                pair = Noise.read({"kind": kind, "scale": "5/2", "sensitivity": shift}).pair(1)
                assert_agrees(pair, (mass, np.roll(mass, shift)), within=1e-12)


def test_the_worst_shift_of_a_staircase_is_found() -> None:
    width, steps = 0.01, np.arange(-4000, 4000)

    def staircase(shift: int) -> np.ndarray:
        x = np.abs((steps + 0.5 - shift) * width)
        heights = np.exp(-(np.floor(x) + (x % 1 >= 0.34)))
        return heights * width * (1 - math.exp(-1)) / (2 * (0.34 + 0.66 * math.exp(-1)))

    with precision():
        pair = Noise.read({**STAIRCASE, "gamma": "0.34"}).pair(1)
        for ratio in (1.0, 1.5, math.e - 1e-9, 3.0, 7.0):
            seen = max(np.maximum(staircase(0) - ratio * staircase(shift), 0).sum() for shift in range(1, 151))
            assert float(pair.hockey_stick(arb(ratio)).mid()) == pytest.approx(seen, abs=1e-9)
        assert pair.highest == 2


def test_local_answers_match_enumeration() -> None:
    own, other = 0.4 + 0.6 / 3, 0.6 / 3
    answers = np.array([own, other, other]), np.array([other, own, other])
    with precision():
        response = Noise.read({"kind": "randomized_response", "noise_parameter": "3/5", "num_buckets": 3}).pair(2)
        assert_agrees(response, answers, within=1e-14)
        hashed = Noise.read({"kind": "local_hashing", "noise_parameter": "3/5", "num_buckets": 3}).pair(2)
        both = [np.concatenate([mine * 2 / 3, same / 3]) for mine, same in zip(answers, (answers[0],) * 2, strict=True)]
        assert_agrees(hashed, (both[0], both[1]), within=1e-14)


def exact_responses(ratio: Fraction, count: int, bound: float) -> float:
    """delta(bound) of `count` binary randomized responses with truth/lie = ratio, summed exactly but for e^bound."""
    p = ratio / (1 + ratio)
    masses = [(math.comb(count, k) * p**k * (1 - p) ** (count - k), ratio ** (count - 2 * k)) for k in range(count + 1)]
    return math.fsum(float(mass) * max(1 - math.exp(bound) * float(falls), 0) for mass, falls in masses)


@pytest.mark.parametrize("step", ["1/8", "1/50", "1/300"])
@pytest.mark.parametrize("count", [2, 7, 40])
def test_composed_responses_are_enclosed(step: str, count: int) -> None:
    """Truth/lie = 3: half the answers are uniform."""
    event = times(count, {"kind": "randomized_response", "noise_parameter": "1/2", "num_buckets": 2})
    for bound in (0.3, 1.7, 4.4):
        result = compute(inputs(event, str(bound), "1e-4", "replace_one", step=step))
        low, high = map(float, result["delta"])
        assert low <= exact_responses(Fraction(3), count, bound) <= high


@pytest.mark.parametrize("step", [fmpq(1, 10), fmpq(1, 40)])
@pytest.mark.parametrize("multiples", [(1, 1), (1, 3)])
def test_composed_gaussians_are_enclosed_and_finer_grids_are_better(step: fmpq, multiples: tuple[int, int]) -> None:
    """25 of mu = 1/5 and 9 of mu = 1/3 make one of mu = sqrt(2), which the grid does not know."""
    widths = []
    with precision():
        five, three = (Noise.read({**GAUSSIAN, "noise_multiplier": z}).pair(1) for z in (5, 3))
        whole = Noise("gaussian", (fmpq(2),)).pair(1)
        for refined in (step, step / 2):
            parts = [Part(five, 25, multiples[0]), Part(three, 9, multiples[1])]
            composition = Composition(parts, refined, fmpq(1, 10**6))
            for epsilon in (fmpq(0), fmpq(1, 3), fmpq(2), fmpq(13, 2)):
                low, high = composition.bounds(epsilon)
                truth = whole.hockey_stick(arb(epsilon).exp())
                assert low < truth < high
            widths.append(float((high - low).mid()))
    assert widths[1] < widths[0] / 2


@pytest.mark.parametrize("copies", [1, 4])
def test_what_is_cut_is_given_back_below(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tails as large as delta the bound from below needs both allowances: far out the truth is next to nothing."""
    monkeypatch.setattr("dpassay.replay.composition._CUT", 0)
    with precision():
        one, whole = (Noise("gaussian", (fmpq(1, k),)).pair(1) for k in (copies, 1))
        composition = Composition([Part(one, copies, 1)], fmpq(1, 200), fmpq(1, 100))
        assert (composition._outside > 0, composition._excess > 0) == (True, True)
        for epsilon in (fmpq(1), fmpq(4), fmpq(9)):
            low, high = composition.bounds(epsilon)
            assert low < whole.hockey_stick(arb(epsilon).exp()) < high
            assert low + composition._outside + composition._excess * composition._unit > 0


def test_what_is_cut_of_bounded_losses_is_given_back_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 30 losses must be 1/10 to exceed 2.99: less than 2^-29."""
    monkeypatch.setattr("dpassay.replay.composition._CUT", 0)
    with precision():
        pair = Noise.read({**LAPLACE, "noise_multiplier": "10"}).pair(1)
        low, high = Composition([Part(pair, 30, 1)], fmpq(1, 200), fmpq(1, 100)).bounds(fmpq(299, 100))
    assert low < 2**-29 < 1e-4 < high


def test_what_is_given_away_has_no_epsilon() -> None:
    assert compute(inputs(sampled("1/10", {"kind": "none"}), "1", "0.09"))["epsilon"] == ["inf", "inf"]


def test_directions_of_sampling_differ_and_the_larger_counts() -> None:
    with precision():
        pair = Noise.read(GAUSSIAN).pair(1).sampled(fmpq(1, 100))
        removing, adding = (
            Composition([Part(way, 200, 1)], fmpq(1, 400), fmpq(1, 10**5)).bounds(fmpq(1, 2))
            for way in (pair, pair.reversed())
        )
    assert removing[0] > adding[1]
    low, high = map(
        float, compute(inputs(times(200, sampled("1/100", GAUSSIAN)), "1/2", "1e-5", step="1/400"))["delta"]
    )
    assert low == pytest.approx(float(removing[0].mid()), rel=1e-6)
    assert high == pytest.approx(float(removing[1].mid()), rel=1e-6)


@pytest.mark.parametrize(
    ("event", "epsilon", "delta", "relation", "supports"),
    [
        (GAUSSIAN, "4.73", "1e-5", "add_or_remove_one", "holds"),
        (GAUSSIAN, "4.73", "1e-5", "replace_one", "refuted"),
        (GAUSSIAN, "1", "0", "replace_one", "refuted"),
        (LAPLACE, "1/2", "0", "add_or_remove_one", "holds"),
        (LAPLACE, "0.49999999", "0", "add_or_remove_one", "refuted"),
        (LAPLACE, "0.9999", "0", "replace_one", "refuted"),
        (times(4, LAPLACE), "2", "0", "add_or_remove_one", "holds"),
        (times(0, LAPLACE), "0", "0", "add_or_remove_one", "holds"),
        (sampled("0", LAPLACE), "0", "1/2", "add_or_remove_one", "holds"),
        (sampled("1/2", sampled("1/5", {"kind": "none"})), "9", "0.11", "add_or_remove_one", "holds"),
        (sampled("1/2", sampled("1/5", {"kind": "none"})), "9", "0.09", "add_or_remove_one", "refuted"),
        (sampled("1/10", times(4, GAUSSIAN)), "3.72", "1e-3", "add_or_remove_one", "holds"),
        (sampled("1/10", times(4, GAUSSIAN)), "3.71", "1e-3", "add_or_remove_one", "refuted"),
        (STAIRCASE, "2", "0", "add_or_remove_one", "holds"),
        (STAIRCASE, "1.99", "0", "add_or_remove_one", "refuted"),
        ({"kind": "private", "epsilon": "1", "delta": "1/100"}, "3", "1/100", "replace_one", "holds"),
        ({"kind": "private", "epsilon": "1", "delta": "1/100"}, "3", "0.0099", "replace_one", "refuted"),
    ],
)
def test_claims_about_single_events_are_decided(
    event: Any, epsilon: str, delta: str, relation: str, supports: str
) -> None:
    assert compute(inputs(event, epsilon, delta, relation))["supports"] == supports


def test_a_claim_between_the_bounds_is_open() -> None:
    event = times(30, {"kind": "laplace", "noise_multiplier": "5"})
    low, high = map(float, compute(inputs(event, "1", "1e-5", step="1/10"))["epsilon"])
    for epsilon, supports in ((low * 0.99, "refuted"), ((low + high) / 2, "open"), (high * 1.01, "holds")):
        assert compute(inputs(event, f"{epsilon:.6f}", "1e-5", step="1/10"))["supports"] == supports


@pytest.mark.parametrize(
    "changed",
    [
        {"relation": "add"},
        {"event": {"kind": "noise"}},
        {"event": {"kind": "gaussian"}},
        {"event": {**GAUSSIAN, "noise_multiplier": 1.5}},
        {"event": {**GAUSSIAN, "noise_multiplier": "-1"}},
        {"event": {**GAUSSIAN, "sensitivity": "1"}},
        {"event": times(-1, GAUSSIAN)},
        {"event": times(10**12, LAPLACE)},
        {"event": sampled("2", GAUSSIAN)},
        {"event": sampled("1/2", {"kind": "composed", "events": [GAUSSIAN, LAPLACE]})},
        {"event": times(2, STAIRCASE)},
        {"event": {**STAIRCASE, "width": "1/10000"}},
        {"event": {"kind": "randomized_response", "noise_parameter": "1/2", "num_buckets": 2}},
        {"event": times(2, LAPLACE)},  # no step
        {"event": times(2, LAPLACE), "step": "0"},
        {"event": times(2, LAPLACE), "step": "1e-9"},
        {
            "event": {"kind": "composed", "events": [{**LAPLACE, "noise_multiplier": 3}, times(10**8, LAPLACE)]},
            "step": "1e-6",
        },
        {"claim": {"epsilon": "-1", "delta": "0"}},
        {"claim": {"epsilon": "1", "delta": "1"}},
        {"more": 1},
    ],
)
def test_malformed_inputs_are_rejected(changed: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        check("accounting", {**inputs(GAUSSIAN, "1", "1e-5"), **changed})


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    body = inputs(times(10, LAPLACE), "5", "1e-5", step="1/50")
    sealed = seal_own("accounting", body)
    return json.loads(json.dumps(sealed.to_json()))


def replayed(content: dict[str, Any], folder: Path) -> dp.Replay:
    content["sha256"] = checksum(content)
    (file := folder / "certificate.json").write_text(json.dumps(content))
    return replay(file)


def test_a_certificate_replays(certificate: dict[str, Any], tmp_path: Path) -> None:
    validate_certificate(certificate)
    found = replayed(copy.deepcopy(certificate), tmp_path)
    assert (found.checks, found.outcome) == (True, "holds")


def _claim(content: dict[str, Any]) -> None:
    content["inputs"]["claim"]["epsilon"] = "6"


def _count(content: dict[str, Any]) -> None:
    content["inputs"]["event"]["count"] = 9


def _relation(content: dict[str, Any]) -> None:
    content["inputs"]["relation"] = "replace_one"


def _step(content: dict[str, Any]) -> None:
    content["inputs"]["step"] = "1/49"


def _digit(content: dict[str, Any]) -> None:
    low = content["result"]["epsilon"][0]
    content["result"]["epsilon"][0] = low[:-1] + str((int(low[-1]) + 1) % 10)


def _supports(content: dict[str, Any]) -> None:
    content["result"]["supports"] = "refuted"


def _statement(content: dict[str, Any]) -> None:
    content["statement"] = content["statement"].replace("10 x", "100 x")


def _filed(content: dict[str, Any]) -> None:
    content["claim"] = "AUDIT"


@pytest.mark.parametrize("forge", [_claim, _count, _relation, _step, _digit, _supports, _statement, _filed])
def test_a_changed_certificate_does_not_replay(
    certificate: dict[str, Any], tmp_path: Path, forge: Callable[[dict[str, Any]], None]
) -> None:
    content = copy.deepcopy(certificate)
    forge(content)
    assert not replayed(content, tmp_path).checks


def test_it_concludes_no_registered_claim(certificate: dict[str, Any], tmp_path: Path) -> None:
    claim = all_claims()[0]
    content = {**copy.deepcopy(certificate), "claim": claim.id, "statement": claim.statement}
    assert not replayed(content, tmp_path).checks


def exact_delta(masses: dict[int, Fraction], infinite: Fraction, bound: float) -> float:
    return float(infinite) + sum(float(mass) * max(1 - math.exp(bound - at), 0) for at, mass in masses.items())


@pytest.mark.parametrize("cut", [0, 40, 400])
@pytest.mark.parametrize("seed", range(4))
def test_rounded_and_cut_sums_bound_the_exact_ones(cut: int, seed: int) -> None:
    """With 12 bits rounding and cutting are large: the sum is above the exact one, by at most total - kept."""
    bits, count = 12, 5
    drawn = np.random.default_rng(seed).multinomial(1 << bits, [0.2, 0.1, 0.3, 0.05, 0.25, 0.1]).tolist()
    losses = Losses(-2, fmpz_poly(drawn[:-1]), drawn[-1], 1 << bits).power(count, bits, cut)
    exact = {0: Fraction(1)}
    for _ in range(count):
        exact = {
            at: sum((exact.get(at - k + 2, Fraction(0)) * Fraction(drawn[k], 1 << bits) for k in range(5)), Fraction(0))
            for at in range(-20, 21)
        }
    infinite = 1 - sum(exact.values(), Fraction(0))
    rounded = {losses.first + k: Fraction(int(mass), 1 << bits) for k, mass in enumerate(losses.masses.coeffs())}
    excess = (losses.total - losses.kept) / (1 << bits)
    for bound in (-14.0, -3.0, 0.0, 0.5, 2.0, 4.0):
        above = exact_delta(rounded, Fraction(losses.infinite, 1 << bits), bound)
        assert exact_delta(exact, infinite, bound) - 1e-12 <= above
        assert above - excess <= exact_delta(exact, infinite, bound) + 1e-12


def test_the_ends_of_a_grid_bound_what_is_beyond() -> None:
    """The loss of a Gaussian pair with mu = 1 is N(1/2, 1) under P and N(-1/2, 1) under Q."""
    with precision():
        pair = Noise.read(GAUSSIAN).pair(1)
        for share in (0.1, 1e-3, 1e-9):
            high, bound = _end(pair, fmpq(1, 10), arb(share))
            assert norm.sf(high / 10 - 0.5) <= float(bound.mid()) <= share
            high, bound = _end(pair, fmpq(1, 10), arb(share), reverse=True)
            assert norm.sf(high / 10 + 0.5) <= float(bound.mid()) <= share
        assert _end(Noise.read(LAPLACE).pair(1), fmpq(1, 7), arb(1) / 9) == (4, 0)


def test_spreading_keeps_both_masses_and_adds_no_privacy() -> None:
    """On its grid the spread pair has the same H, between the points a larger one."""
    with precision():
        assert _spread(Part(Noise.read(LAPLACE).pair(1), 1, 1), fmpq(1, 7), arb(1), 3)[0].total > 8
        pair = Noise.read(LAPLACE).pair(1).sampled(fmpq(1, 3))
        losses, beyond = _spread(Part(pair, 1, 2), fmpq(1, 40), arb(10) ** -12, 120)
        masses = [Fraction(int(mass), 1 << 120) for mass in losses.masses.coeffs()]
        assert beyond == 0
        assert not any(masses[1::2])
        grid = {(losses.first + k) / 40: mass for k, mass in enumerate(masses)}
        assert sum(masses) + Fraction(losses.infinite, 1 << 120) == pytest.approx(1, abs=1e-30)
        for k in range(losses.first, losses.first + len(masses)):
            spread = sum(float(mass) * max(1 - math.exp(k / 40 - at), 0) for at, mass in grid.items())
            true = float(pair.hockey_stick((arb(k) / 40).exp()).mid())
            assert spread >= true - 1e-14
            if (k - losses.first) % 2 == 0:
                assert spread == pytest.approx(true, abs=1e-14)
