"""What `print` shows of an audit and of an exact loss, to the character."""

from dataclasses import replace

import jax.numpy as jnp
import pytest

import dpassay as dp
from dpassay.core.privacy import PrivacyClaim

EXACT = """\
exact privacy loss 1.099, over 2 outputs
  loss      of dataset 1 against 2: 1.099 nats
            of dataset 2 against 1: 1.099 nats
  distance  total variation 0.5
  event     the output is 0
            probability under dataset 1: 0.75; under dataset 2: 0.25"""
INFINITE = """\
exact privacy loss infinite, over 2 outputs
  loss      of dataset 1 against 2: 0.2877 nats
            of dataset 2 against 1: infinite nats
  distance  total variation 0.25
            the output betrays the dataset with probability 0.25
  event     the output is 1
            probability under dataset 2: 0.25; under dataset 1: impossible"""
REFUTED = """\
REFUTED  response is not 0.5-DP: epsilon is at least 2.12907.
  shown       epsilon is at least 2.12907; claimed: 0.5-DP, epsilon at most 0.5
  confidence  A correct mechanism is refuted with probability at most 0.05; that covers both
              directions and all events.
  event       output == 0
  counts      1,344 of 1,500 samples of dataset 1 (0.896) and 140 of 1,500 samples of dataset 2
              (0.0933)
  samples     2,000 of each dataset: 500 to learn events, 0 to choose among them, 1,500 to test
              them; 1.5 s, seed 0
  next        Find out why the mechanism makes this event so much likelier on one dataset than on
              the other.
              Run the same command again for the same numbers (seed 0), another --seed for fresh
              ones."""
NOT_REFUTED = """\
NOT REFUTED  No violation of 3-DP was found in 2,000 samples of each dataset. What it showed is that
  epsilon is at least 2.12907. This does not show the mechanism private.
  shown       epsilon is at least 2.12907; claimed: 3-DP, epsilon at most 3
  confidence  A correct mechanism is refuted with probability at most 0.05; that covers both
              directions and all events.
  event       output == 0
  counts      1,344 of 1,500 samples of dataset 1 (0.896) and 140 of 1,500 samples of dataset 2
              (0.0933)
  samples     2,000 of each dataset: 500 to learn events, 0 to choose among them, 1,500 to test
              them; 1.5 s, seed 0
  not seen    In an event as frequent as the one tested, no violation of 3-DP would have been caught
              with probability 0.9.
              An output that only one of the datasets can give may have been missed if its
              probability is below 0.18, or if it is neither beyond all others nor of a kind of its
              own.
              Only this pair of datasets was judged; another pair may reveal more.
              Outputs were judged as numbers, on a grid far below the noise; their bits were not
              attacked.
  next        Give --ledger FILE: later runs then add to this evidence at the same false-alarm rate.
              Raise --num-samples or --time-limit to see smaller violations and rarer events.
              Let `dpassay search` look for a pair of datasets that reveals more.
              Give --representation bits to attack the floating-point representation as well."""
VERDICT = """\
response: refuted
  loss      at least 2.129 nats shown, at most 0.5 claimed, confidence 0.95
  why       0.5-DP is violated: the epsilon is at least 2.129 with confidence 0.95. The event
            "output == 0" happened in 1,344 of 1,500 runs on dataset 1 and in 140 of 1,500 on
            dataset 2.
  evidence  statistics: Samples: one event for each pair, learned on 500 and chosen on 0 samples per
            dataset, was counted in 1,500 fresh ones; exact test, certified for every number of
            samples.
  assuming  the sampler's draws are independent of each other"""


class Answers:
    """0 with the probability that the dataset names, else 1."""

    def sample(self, key, dataset): ...

    def outputs(self, dataset):
        return jnp.arange(2)

    def log_prob(self, output, dataset):
        return jnp.log(jnp.where(output == 0, dataset, 1 - dataset))


def response(rng, answer):
    return int(answer ^ (rng.random() < 0.1))


def audited(epsilon: float) -> dp.Audit:
    found = dp.run_audit(response, 0, 1, claim=PrivacyClaim(epsilon), num_samples=2000)
    return replace(found, seconds=1.5)


@pytest.mark.parametrize(("first", "second", "text"), [(0.75, 0.25, EXACT), (1.0, 0.75, INFINITE)])
def test_an_exact_loss(first: float, second: float, text: str) -> None:
    loss = dp.exact(Answers(), first, second)
    assert str(loss) == text
    assert repr(loss) == f"ExactLoss(num_outputs=2, epsilon={loss.epsilon:.6g})"


@pytest.mark.parametrize(("epsilon", "text"), [(0.5, REFUTED), (3.0, NOT_REFUTED)])
def test_an_audit(epsilon: float, text: str) -> None:
    found = audited(epsilon)
    assert str(found) == text
    assert epsilon > 1 or str(found.verdict) == VERDICT
    assert len(repr(found)) < 500
