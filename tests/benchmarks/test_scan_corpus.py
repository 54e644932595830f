"""The corpus for scans: broken maps are refuted, no mended twin is; mechanisms break on their pairs."""

import inspect
from typing import Any

import pytest

import dpassay as dp
from dpassay.benchmarks.scan_corpus import SPECIMENS

MAPS = [each for each in SPECIMENS if each.module == "maps"]
QUICK = ("clipped_sum", "unit_sum", "mean_sign", "scaled_sum", "histogram")  # the others take more than a second
MECHANISMS = [each for each in SPECIMENS if each.module == "mechanisms"]


def outcome(specimen, side, max_examples):
    function = specimen.function(side)
    claim = function.stability
    return dp.check_stability(
        function, d_in=claim.d_in, d_out=claim.d_out, max_examples=max_examples, **claim.metrics
    ).outcome


@pytest.mark.parametrize("specimen", [each for each in MAPS if each.name in QUICK], ids=lambda each: each.name)
def test_stability_tells_a_broken_map_from_its_twin(specimen):
    assert outcome(specimen, "broken", 300) == "refuted"
    assert outcome(specimen, "mended", 10) == "not refuted"


@pytest.mark.parametrize(
    "specimen",
    [each for each in MECHANISMS if each.name in ("seed_fixed", "domain_from_data", "size_released")],
    ids=lambda each: each.name,
)
def test_an_audit_tells_a_broken_mechanism_from_its_twin(specimen):
    for side, expected in (("broken", "refuted"), ("mended", "not refuted")):
        function = specimen.function(side)
        claim = function.privacy
        given: Any = {"num_samples": 10_000, "failure_probability": 1e-6}
        verdict = dp.audit(function, *specimen.pair, epsilon=claim.epsilon, delta=claim.delta, **given)
        assert verdict.outcome == expected


def test_the_corpus_is_complete_and_its_twins_are_alike():
    assert len(SPECIMENS) >= 20
    assert len({each.kind for each in SPECIMENS}) >= 15
    for specimen in SPECIMENS:
        broken, mended = specimen.function("broken"), specimen.function("mended")
        assert list(inspect.signature(broken).parameters) == list(inspect.signature(mended).parameters)
        assert hasattr(broken, "stability" if specimen.module == "maps" else "privacy")
    for module in ("maps", "mechanisms"):
        listed = {each.name for each in SPECIMENS if each.module == module}
        for side in ("broken", "mended"):
            functions = vars(inspect.getmodule(SPECIMENS[0 if module == "maps" else -1].function(side)))
            own = {name for name, each in functions.items() if hasattr(each, "stability") or hasattr(each, "privacy")}
            assert own == listed
