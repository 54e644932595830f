import dataclasses
import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from dpassay.auditors.randomness import trace
from dpassay.core.claims import Context
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.mechanisms import MECHANISMS, mechanism
from dpassay.mechanisms.selection import laplace
from dpassay.mechanisms.wallenius import gumbel, uniform
from dpassay.proofs.decisions import objections
from dpassay.proofs.rating_collection import representation as module
from dpassay.proofs.representation import examine, executed_differences
from dpassay.replay import check
from dpassay.replay.floating import reaches

OUTCOMES = {
    "XM-EXE": "refuted",
    "PP-EXE": "refuted",
    "DP-EXE": "refuted",
    "RC-EXE": "refuted",
    "CD-EXE": "refuted",
    "RC-EXE-REP": "holds",
}
EXACT = {("modified_laplace", "repaired"), ("randomized_response", "repaired"), ("nuclear_norm_completion", "paper")}


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("quick", [False, True])
def test_verdicts_and_certificates(name: str, quick: bool) -> None:
    claim = find_claim(name)
    assert claim is not None
    item = judge(claim, Context(synthetic(), quick=quick))
    assert item.verdict.outcome == OUTCOMES[name]
    assert item.verdict.arithmetic == "executed"
    assert any("Threefry" in assumption for assumption in item.verdict.assumptions)
    assert set(item.concluded) <= {OUTCOMES[name], f"part of {OUTCOMES[name]}"}


def test_only_the_integer_samplers_pass() -> None:
    examined = {(id, variant): examine(mechanism(id, variant)) for id in MECHANISMS for variant in MECHANISMS[id]}
    assert {subject for subject, each in examined.items() if each.passes} == EXACT
    assert all(each.arithmetic for each in examined.values()), "a sampler could not be traced"
    for subject, each in examined.items():
        assert (each.arithmetic == "floats") == (subject not in EXACT)
        assert each.certificate is None or not each.passes
    with pytest.raises(InvalidInput, match="registered"):
        examine(object())


def test_a_rounded_step_is_noticed_wherever_it_hides() -> None:
    @dataclasses.dataclass(frozen=True)
    class Sampler:
        function: Any

        def sample(self, key: Any, dataset: Any) -> Any:
            return self.function(key, dataset)

    def word(key: Any) -> Any:
        return jax.random.bits(key, (), jnp.uint32)

    def looped(key: Any, dataset: Any) -> Any:
        return jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (jnp.log(c[0]) + 1, c[1] + 1), (1.0 * word(key), 0))[0]

    def decided(key: Any, dataset: Any) -> Any:
        return jax.lax.while_loop(lambda c: c < word(key) * 0.3, lambda c: c + 1.0, dataset[0])

    cases: list[tuple[Any, str]] = [
        (lambda key, dataset: dataset[0], "none"),
        (lambda key, dataset: uniform(jax.random.key(7), ()) + dataset[0], "none"),  # a constant key is no randomness
        (lambda key, dataset: word(key) % 5, "integers"),
        (lambda key, dataset: (word(key) % 5).astype(jnp.float64) * 0.25, "integers"),
        (lambda key, dataset: jnp.where(word(key) % 5 == 0, dataset[0], 3.0), "integers"),
        (lambda key, dataset: jax.lax.cond(word(key) % 2 == 0, lambda: dataset[0], lambda: 3.0), "integers"),
        (lambda key, dataset: (word(key) % 5).astype(jnp.float64) * 0.3, "floats"),
        (lambda key, dataset: (word(key) % 5).astype(jnp.float64) + dataset[0], "floats"),
        (lambda key, dataset: uniform(key, ()) < 0.5, "floats"),
        (lambda key, dataset: jax.random.bernoulli(key), "floats"),
        (lambda key, dataset: jax.random.normal(key), "floats"),
        (lambda key, dataset: jax.lax.cond(uniform(key, ()) < 0.5, lambda: 1, lambda: 2), "floats"),
        (lambda key, dataset: jax.lax.scan(lambda c, x: (c + word(key) * 0.3, c), 0.0, jnp.arange(3))[0], "floats"),
        (looped, "floats"),
        (decided, "floats"),
    ]
    for place, (function, expected) in enumerate(cases):
        assert trace(Sampler(function), np.array([1.0, 2.0])).arithmetic == expected, place


@pytest.mark.parametrize(("word", "sign"), [(0, -1), (2**32 - 1, 1)])
def test_the_noise_is_bounded_as_the_checker_says(word: int, sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code's own extremes: all bits 0, all bits 1."""
    key = jax.random.key(0)
    monkeypatch.setattr(jax.random, "bits", lambda key, shape, dtype: jnp.full(shape, word, dtype))
    with jax.enable_x64(True):
        extreme = float(uniform(key, ()))
        assert extreme == (2.0**-53 if sign < 0 else 1 - 2.0**-53)
        ideal = float(-(-arb(extreme).log()).log())
        assert float(gumbel(key, ())) == pytest.approx(ideal, abs=1e-9)
        assert abs(float(laplace(key, ()))) <= 53 * math.log(2) + 1e-9


def test_what_one_rating_gives_the_other_never_does() -> None:
    """Executed, not computed: draws around a rating of 1 avoid what the noise alone gives."""
    built = mechanism("modified_laplace", epsilon=4.0)
    alone = np.asarray(built.sample(jax.random.key(1), np.zeros(4000)))
    shifted = np.asarray(built.sample(jax.random.key(2), np.ones(200_000)))
    small = alone[~np.isnan(alone) & (np.abs(alone) < 0.25)]
    betrays = [not reaches("addition", Fraction(1), Fraction(float(number)), "float64") for number in small]
    assert len(small) > 500
    assert np.mean(betrays) > 0.5
    # Whatever a rating of 1 gives near 0 is a multiple of 2^-53, so that most small floats are not among it.
    near = shifted[np.abs(shifted) < 0.25]
    assert len(near) > 1000
    np.testing.assert_array_equal(near * 2.0**53, np.round(near * 2.0**53))
    assert (small * 2.0**53 != np.round(small * 2.0**53)).mean() > 0.5


def test_the_sketch_s_factors_are_those_of_the_code() -> None:
    """Every released number is a product with its own dataset's factor; one in twelve is none with the other's."""
    (certificate,) = executed_differences("jlt", "paper")
    inputs = certificate["inputs"]
    built = mechanism("jlt", num_rows=1, epsilon=float(Fraction(inputs["mechanism"]["parameters"]["epsilon"])))
    own, other = (Fraction(factor) for factor in inputs["factors"])
    for dataset, factor, foreign in ((inputs["dataset1"], own, other), (inputs["dataset2"], other, own)):
        draw = jax.jit(jax.vmap(built.sample, (0, None)))
        drawn = np.asarray(draw(jax.random.split(jax.random.key(9), 300), np.array(dataset, float)))[:, 0, 0]
        released = [Fraction(float(number)) for number in drawn]
        assert all(reaches("product", factor, number, "float64") for number in released)
        assert 0.02 < np.mean([not reaches("product", foreign, number, "float64") for number in released]) < 0.2


def test_the_large_epsilon_response_is_never_changed() -> None:
    built = mechanism("randomized_response", epsilon=60.0)
    ((certificate),) = executed_differences("randomized_response", "paper")
    assert Fraction(built.keep_probability) == Fraction(certificate["inputs"]["threshold"]) == 1
    symbols = np.arange(100_000) % 6
    np.testing.assert_array_equal(built.sample(jax.random.key(0), symbols), symbols)
    assert float(built.log_prob([2], [1])) == pytest.approx(-60, abs=1e-9)


def test_a_sampler_that_rounds_is_not_called_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find_claim("RC-EXE-REP")
    assert claim is not None
    rounding = {**MECHANISMS, "modified_laplace": {"repaired": MECHANISMS["modified_laplace"]["paper"]}}
    monkeypatch.setattr(module, "MECHANISMS", rounding)
    monkeypatch.setattr(module, "examined", lambda id, variant: examine(rounding[id][variant]()))
    verdict = module.decide_executed_repaired(claim, Context(synthetic(), quick=True))
    assert verdict.outcome == "open"


def test_the_integer_thresholds_are_checked() -> None:
    certificate = module.thresholds_instance()
    assert check(**certificate)["supports"] == "holds"
    values = certificate["inputs"]["values"]
    worse = {**values, "A2": values["A2"] + 5 * 2**10, "B2": values["B2"] - 2**10}
    assert objections({"kind": "formula", "inputs": {**certificate["inputs"], "values": worse}})
