"""The corpus for scans: broken maps and formulas are refuted, no mended twin is; mechanisms break on their pairs."""

import inspect
from importlib import import_module
from typing import Any

import pytest

import dpassay as dp
from dpassay.benchmarks.scan import MODULES, of_specimen
from dpassay.benchmarks.scan_corpus import SPECIMENS
from dpassay.scanning.candidates import Candidate
from dpassay.scanning.judging import judge
from dpassay.scanning.running import Scan
from dpassay.scanning.signatures import candidates
from dpassay.scanning.targets import target

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
    assert len(SPECIMENS) >= 40
    assert len({each.kind for each in SPECIMENS}) >= 25
    for specimen in SPECIMENS:
        broken, mended = specimen.function("broken"), specimen.function("mended")
        assert list(inspect.signature(broken).parameters) == list(inspect.signature(mended).parameters)
        declared = {"maps": "stability", "mechanisms": "privacy"}.get(specimen.module)
        assert declared is None or hasattr(broken, declared)
    for module in ("maps", "mechanisms"):
        listed = {each.name for each in SPECIMENS if each.module == module}
        for side in ("broken", "mended"):
            functions = vars(import_module(f"dpassay.benchmarks.scan_corpus.{side}.{module}"))
            own = {name for name, each in functions.items() if hasattr(each, "stability") or hasattr(each, "privacy")}
            assert own == listed


def listed(side: str, module: str) -> list[Candidate]:
    found = list(candidates(import_module(f"dpassay.benchmarks.scan_corpus.{side}.{module}")))
    assert all(isinstance(each, Candidate) for each in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("side", ["broken", "mended"])
@pytest.mark.parametrize("module", MODULES)
def test_every_function_of_the_corpus_is_listed(module, side):
    names = {part for each in listed(side, module) for part in each.name.partition("(")[0].split(".")}
    assert {each.name for each in SPECIMENS if each.module == module} <= names


def test_formulas_and_accountants_are_told_from_their_twins():
    for name in ("gaussian_sigma", "classical_gaussian_sigma", "laplace_scale", "basic_composition", "privacy_spent"):
        for side in ("broken", "mended"):
            chosen = [each for each in listed(side, "formulas") if f".{name}(" in each.name]
            outcomes = {getattr(judge(each, 0.01, 1.0, 0), "outcome", "not judged") for each in chosen}
            assert ("violated" in outcomes) == (side == "broken"), (name, side)


def test_what_was_judged_of_a_specimen_is_found_by_its_name():
    names = ["m.noisy_sum(epsilon=1)", "m.noisy_summary", "m.HistogramRelease.release(epsilon=1)"]
    done = Scan(target("dpassay.scanning"), "", tuple({"name": name} for name in names), (), ())
    by_name = {each.name: each for each in SPECIMENS}
    assert [each["name"] for each in of_specimen(by_name["noisy_sum"], done)] == names[:1]
    assert [each["name"] for each in of_specimen(by_name["HistogramRelease"], done)] == names[2:]
