"""Guesses of the dataset: exact tails, a level that holds at the claim, weights that pay, rules that count right."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from dpassay.auditors.audit import Audit, run_audit
from dpassay.auditors.events import Event
from dpassay.auditors.fixed_sample import predicted_lower
from dpassay.auditors.guesses import Guesses, Rule, choose_rule, levels_of, predicted, weighted_tail
from dpassay.auditors.scorers import Column
from dpassay.core.privacy import PrivacyClaim
from dpassay.replay import check

SCORER = Column(np.int32(0))
EVENT = Event(SCORER, 0.0, True, 1, (0.1, 0.0), "", 0.0)


def enumerated(weights, totals, least, probability):
    """The tail by adding up all outcomes."""
    total = 0.0
    for outcome in itertools.product(*(range(count + 1) for count in totals)):
        if sum(weight * right for weight, right in zip(weights, outcome, strict=True)) >= least:
            total += float(np.prod(stats.binom.pmf(outcome, totals, probability)))
    return total


@pytest.mark.parametrize("seed", range(30))
def test_the_tail_is_that_of_all_outcomes(seed):
    generator = np.random.default_rng(seed)
    number = int(generator.integers(1, 4))
    weights = sorted(generator.choice(np.arange(1, 8), number, replace=False).tolist())
    totals = generator.integers(0, 25, number).tolist()
    probability = float(generator.uniform(0.5, 0.99))
    least = int(generator.integers(0, sum(w * n for w, n in zip(weights, totals, strict=True)) + 2))
    true = enumerated(weights, totals, least, probability)
    assert true * (1 - 1e-9) - 1e-30 <= weighted_tail(weights, totals, least, probability) <= true * (1 + 1e-9) + 1e-20


def test_the_tail_of_many_guesses_is_a_little_more_than_it_is():
    weights, totals, probability = [1, 3, 5], [10**5, 10**4, 10**4], 0.6
    mean = sum(w * n for w, n in zip(weights, totals, strict=True)) * probability
    spread = np.sqrt(sum(w * w * n for w, n in zip(weights, totals, strict=True)) * probability * (1 - probability))
    drawn = np.random.default_rng(0).binomial(totals, probability, (400_000, 3)) @ np.array(weights)
    for deviations in (0.0, 1.0, 2.0):
        least = int(mean + deviations * spread)
        share = np.mean(drawn >= least)
        tail = weighted_tail(weights, totals, least, probability)
        assert share - 4 * np.sqrt(share / 400_000) < tail < 1.03 * share + 4 * np.sqrt(share / 400_000)


@pytest.mark.parametrize("step", [2, 3, 7, 20])
def test_a_grid_adds_to_the_tail_and_little(step):
    weights, totals = [1, 3, 5], [100_000, 40_000, 60_000]
    mean = sum(weight * total for weight, total in zip(weights, totals, strict=True)) * 0.6
    spread = np.sqrt(sum(weight**2 * total for weight, total in zip(weights, totals, strict=True)) * 0.24)
    for deviations in (-1.0, 0.0, 1.3, 3.0):
        least = int(mean + deviations * spread)
        exact = weighted_tail(weights, totals, least, 0.6)
        nearer = weighted_tail(weights, totals, least - 3 * step, 0.6)
        assert exact < weighted_tail(weights, totals, least, 0.6, step) <= nearer * (1 + 1e-9)


def test_one_weight_is_the_test_of_one_proportion():
    bound = Guesses(((1, 5600, 4400),)).epsilon_lower(0.1)
    assert bound == pytest.approx(special.logit(special.betaincinv(5600, 4401, 0.1)), rel=1e-3)
    assert bound <= special.logit(special.betaincinv(5600, 4401, 0.1))
    assert Guesses(((3, 5600, 4400),)).epsilon_lower(0.1) == pytest.approx(bound, rel=1e-4)  # a factor says nothing
    assert Guesses(()).epsilon_lower(0.1) == Guesses(((1, 3, 3),)).epsilon_lower(0.1) == 0.0


@pytest.mark.parametrize("size", [1, 300])
def test_p_values_never_fall_with_epsilon_and_are_never_zero(size):
    levels = ((1, 500 * size, 100 * size), (4, 300 * size, 20 * size))
    found = [Guesses(levels).p_value(epsilon) for epsilon in np.linspace(0, 4, 81)]
    told = [value for value in found if value > 1e-25]  # what is left out of windows is at most 1e-30
    assert len(told) > 20
    assert told == sorted(told)
    assert found[0] > 0
    assert found[-1] > 0.999


def test_the_claim_is_refuted_where_the_bound_is_above_it_also_on_a_grid():
    levels = Guesses(((1, 131023, 20174), (2, 36713, 5672), (3, 60689, 9563), (4, 73382, 11603), (5, 25486, 4021)))
    for claim in np.linspace(1.84293, 1.84296, 13):
        level = levels.p_value(claim) * 0.995
        assert not levels.epsilon_lower(level) > claim


# Output k under dataset 1 and 2; the log-ratios are at most 1, both ways, and 0.4 in the middle.
LAW = np.array([[0.3, 0.2, 0.2, 0.3], [0.3, 0.2, 0.2, 0.3]]) * np.exp([[0.5, 0.2, -0.2, -0.5], [-0.5, -0.2, 0.2, 0.5]])
LAW = LAW / LAW.sum(axis=1, keepdims=True)
RULE = Rule(SCORER, (1.0, 2.0, 3.0), (2, 1, -1, -2), 0)


def refuted(sizes_of, law, epsilon, level=0.1, runs=3000, samples=200, rule=RULE, seed=0):
    """How often epsilon is refuted at the level, when the dataset of each sample is chosen so."""
    generator = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        one = sizes_of(generator, samples)
        counts = [generator.multinomial(size, row) for size, row in zip((one, samples - one), law, strict=True)]
        found += Guesses(levels_of(np.array(rule.weights), counts)).p_value(epsilon) <= level
    return found / runs


def coin(generator, samples):
    return generator.binomial(samples, 0.5)


def test_at_the_claim_a_refutation_is_as_rare_as_promised():
    law = np.array([[0.6, 0.4], [0.4, 0.6]])
    rule = Rule(SCORER, (1.0,), (2, -1), 0)  # both guesses are right as often as can be
    share = refuted(coin, law, np.log(1.5), rule=rule)
    assert 0.06 < share < 0.1 + 3 * np.sqrt(0.09 / 3000)
    assert refuted(coin, law, np.log(1.5) - 0.3, rule=rule) > 0.5
    assert refuted(coin, law, np.log(1.5) + 0.3, rule=rule) < 0.01
    assert refuted(coin, LAW, 1.0) < 0.02  # the middle ones tell less than the claim allows


def test_without_a_fair_coin_the_test_would_be_wrong():
    law = np.full((2, 2), 0.5)  # nothing to tell
    rule = Rule(SCORER, (1.0,), (1, 0), 0)
    assert refuted(coin, law, 0.0, rule=rule, runs=1000) < 0.13
    assert refuted(lambda generator, samples: int(0.6 * samples), law, 0.0, rule=rule, runs=1000) > 0.4


def test_rules_count_right_and_wrong_guesses():
    scores = [np.array([0.0, 1.0, 2.5, 3.0, np.nan]), np.array([0.0, 3.0, 3.5, 2.0])]
    above = [np.array([np.sum(side >= cut) for cut in RULE.cuts]) for side in scores]
    # By hand: weight 2 right: 0 and nan of dataset 1, 3 and 3.5 of dataset 2; wrong: 3 of 1, 0 of 2.
    assert RULE.levels(above, [5, 4]) == ((1, 2, 1), (2, 4, 2))
    assert [event.cut for event in RULE.events] == [1.0, 2.0, 3.0]
    hits = [[int(np.sum(event.contains(side[:, None]))) for event in RULE.events] for side in scores]
    assert [list(each) for each in above] == hits


def exact_bound(rule, tails, trials, level):
    """What a rule is worth: the bound to be expected of so many samples of each dataset, by the exact law."""
    above = [np.array([trials * tail(cut) for cut in rule.cuts]) for tail in tails]
    return predicted(rule.levels(above, [trials, trials]), level)


def best_event(tails, trials, level):
    places = np.linspace(-5, 5, 1001)
    one, two = (trials * tail(places) for tail in tails)
    return float(predicted_lower(two, trials, one, trials, failure_probability=level).max())


def test_rules_weigh_what_tells_more_and_take_both_directions():
    tails = [lambda x: stats.norm.sf(x), lambda x: stats.norm.sf(x, 0.1)]
    generator = np.random.default_rng(0)
    scores = [generator.normal(center, size=200_000).astype(np.float32) for center in (0, 0.1)]
    found = choose_rule(EVENT, scores, 10**6, 0.1, 0)
    assert found is not None
    rule, promise = found
    assert list(rule.weights) == sorted(rule.weights, reverse=True)
    assert min(rule.weights) < 0 < max(rule.weights)
    assert len(set(rule.weights)) > 4
    worth = exact_bound(rule, tails, 10**6, 0.1)
    assert worth > 1.05 * best_event(tails, 10**6, 0.1)
    assert promise == pytest.approx(worth, rel=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_where_all_outputs_tell_as_much_weights_lose_nothing(seed):
    tails = [lambda x: stats.laplace.sf(x), lambda x: stats.laplace.sf(x, 2)]
    generator = np.random.default_rng(seed)
    scores = [generator.laplace(center, size=30_000).astype(np.float32) for center in (0, 2)]
    found = choose_rule(EVENT, scores, 150_000, 0.1, 0)
    assert found is not None
    assert exact_bound(found[0], tails, 150_000, 0.1) > 0.99 * best_event(tails, 150_000, 0.1)


def test_few_or_equal_scores_make_no_rule():
    assert choose_rule(EVENT, [np.arange(100.0), np.arange(100.0)], 1000, 0.1, 0) is None
    assert choose_rule(EVENT, [np.zeros(1000), np.zeros(1000)], 1000, 0.1, 0) is None


def noisy(rng, dataset):
    return dataset + rng.normal()


def test_an_audit_by_guesses_shows_more_and_can_be_checked(monkeypatch):
    settings: dict[str, Any] = {"claim": PrivacyClaim(0.1), "num_samples": 200_000, "failure_probability": 0.1}
    found = run_audit(noisy, 0.0, 0.1, **settings)
    item = found.tested[0]
    assert item.guesses is not None
    trials = item.counts.trials1 + item.counts.trials2
    assert trials == 2 * found.samples["test"]
    assert item.counts.trials1 != item.counts.trials2  # a coin chose
    assert item.guesses.number < trials
    assert found.verdict.outcome == "refuted"
    (event,) = found.to_json()["events"]
    assert event["guesses"]["counts"] == [list(level) for level in item.guesses.levels]
    assert len(event["guesses"]["weights"]) == len(event["guesses"]["cuts"]) + 1
    assert event["guesses"]["text"] in found.verdict.explanation
    assert event["guesses"]["text"] in " ".join(str(found).split())
    assert f"of {item.guesses.number:,} guesses" in event["guesses"]["text"]
    assert found.certificate is not None
    assert check(found.certificate["kind"], found.certificate["inputs"])["supports"] == "refuted"
    monkeypatch.setattr("dpassay.auditors.one_shot.choose_rule", lambda *_, **__: None)
    by_event = run_audit(noisy, 0.0, 0.1, **settings)
    assert by_event.tested[0].guesses is None
    assert (found.epsilon_lower or 0.0) > (by_event.epsilon_lower or 0.0) > 0.1


def test_claims_with_a_delta_are_not_judged_by_guesses():
    for claim in (PrivacyClaim(1.0, 1e-3), PrivacyClaim.gaussian(1.0)):
        assert run_audit(noisy, 0.0, 1.0, claim=claim, num_samples=60_000).tested[0].guesses is None


def test_coins_are_fair_and_fall_otherwise_for_every_mechanism():
    shares = [(Rule(SCORER, (), (0,), seed).coins(20_000) - 10_000) / np.sqrt(5000) for seed in range(500)]
    assert stats.kstest(shares, stats.norm.cdf).pvalue > 1e-3
    first = [audit_of(scale).tested[0].counts.trials1 for scale in (1.0, 1.1, 1.2)]
    assert len(set(first)) == 3  # with one seed
    assert audit_of(1.0).tested[0].counts.trials1 == first[0]


def audit_of(scale: float) -> Audit:
    def noisy(rng, dataset):
        return dataset + rng.normal(scale=scale)

    found = run_audit(noisy, 0.0, 0.1, claim=PrivacyClaim(0.1), num_samples=100_000)
    assert found.tested[0].guesses is not None
    return found
