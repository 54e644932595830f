"""Outcomes of single candidates: what counts as violated, and what never does."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dpassay as dp
from dpassay.auditors import opendp_maps, strategy_search
from dpassay.core.privacy import PrivacyClaim
from dpassay.scanning import judging
from dpassay.scanning.calls import AS_IT_IS, Call
from dpassay.scanning.candidates import DECLARED, READ, USUAL, Accounted, Candidate, NotJudged, Pair, Stable
from dpassay.scanning.judging import judge, judge_round
from dpassay.scanning.schedule import Turn

RECORDS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=3)


def count(data: Any, rng: Any) -> float:
    return len(data) + rng.laplace(scale=2.0)


def counted_mean(data: Any, rng: Any) -> float:
    """Its scale tells the number of records, which is public only where one is replaced."""
    return float(np.mean(data)) + rng.laplace(scale=1 / len(data) / 0.5)


def upside_down(data: Any, rng: Any) -> float:
    return sum(data) + rng.laplace(scale=0.5)


def mechanism(function: Any, datasets: Any = RECORDS, **given: Any) -> Candidate:
    call = Call(function, {}, "data", {"rng": "generator"}, form=AS_IT_IS)
    claim = given.pop("claim", PrivacyClaim(0.5))
    return Candidate("mechanism", function.__name__, "file.py:3", call, claim, datasets=datasets, **given)


def judged(candidate: Candidate, seconds: float = 1.5) -> Any:
    return judge(candidate, 0.01, seconds, 0)


def test_a_claim_that_is_false_under_every_reading_is_violated() -> None:
    found = judged(mechanism(upside_down))
    assert (found.outcome, found.engine) == ("violated", "noise formula")
    assert [each["outcome"] for each in found.readings] == ["refuted", "refuted"]
    assert found.epsilon_lower == 2.0
    exec(found.code.replace("from __main__ import upside_down", ""), {"upside_down": upside_down})
    assert "check_noise('laplace', scale=0.5, sensitivity=1.0, epsilon=0.5)" in found.code


def test_a_claim_that_is_false_under_one_reading_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_formula(candidate: Any, claim: Any, relation: str, *_: Any) -> Any:
        outcome = "refuted" if relation.startswith("add") else "not refuted"
        return judging.Reading(relation, outcome, "stub", relation)

    monkeypatch.setattr(judging, "_by_formula", by_formula)
    found = judged(mechanism(counted_mean))
    assert found.outcome == "depends on the reading"
    assert found.relation == "add_or_remove_one:record"
    assert judged(mechanism(counted_mean, relation="add_or_remove_one:record", source=DECLARED)).outcome == "violated"
    assert judged(mechanism(counted_mean, relation="replace_one:record", source=DECLARED)).outcome == "not refuted"


def test_a_reading_that_fails_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_formula(candidate: Any, claim: Any, relation: str, *_: Any) -> Any:
        if relation.startswith("add"):
            raise dp.InvalidInput("no time")
        return judging.Reading(relation, "refuted", "stub", relation)

    monkeypatch.setattr(judging, "_by_formula", by_formula)
    found = judged(mechanism(count))
    assert found.outcome == "depends on the reading"
    assert found.readings[0]["outcome"] == "not judged"


def test_every_test_on_samples_has_the_share_of_its_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def search(*_: Any, failure_probability: float, **__: Any) -> Any:
        given.append(failure_probability)
        return SimpleNamespace(witness=None, tried=1, failed=0, promise=-0.2, samples=512)

    monkeypatch.setattr(strategy_search, "search_strategy", search)
    assert judge(mechanism(count), 0.003, 1.0, 0).outcome == "not refuted"  # type: ignore[union-attr]
    assert given == [0.003, 0.003]  # each reading the whole, as only all together accuse


def test_samples_accuse_what_no_formula_sees_and_not_its_twin() -> None:
    def all_or_nothing(data: Any, rng: Any) -> int:
        return int(rng.random() < (0.9 if data else 0.1))

    def fair(data: Any, rng: Any) -> int:
        return int(rng.random() < (0.6 if data else 0.5))

    pair = Pair([], [1])
    assert judged(mechanism(all_or_nothing, pair)).outcome == "violated"
    assert judged(mechanism(fair, pair), 0.5).outcome == "not refuted"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda data, rng: len(data), "same output"),
        (lambda data, rng: None, "NoneType"),
        (lambda data, rng: object(), "object"),
        (lambda data, rng: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_judged(function: Any, reason: str) -> None:
    found = judged(mechanism(function, source=READ))
    assert isinstance(found, NotJudged)
    assert reason in found.reason


def test_no_noise_breaks_a_declared_claim() -> None:
    def bare(data: Any, rng: Any) -> int:
        return len(data)

    claimed = {"relation": "add_or_remove_one:record", "source": DECLARED}
    found = judged(mechanism(bare, Pair([1], [1, 1]), **claimed))
    assert found.outcome == "violated"


def test_formulas_are_judged_exactly() -> None:
    def formula(scale: float) -> Candidate:
        given = {"kind": "laplace", "epsilon": 1.0, "scale": scale, "sensitivity": 2.0}
        return Candidate("formula", "scale", "", lambda: given, code="print(1)")

    assert judged(formula(2.0)).outcome == "holds"
    found = judged(formula(1.999))
    assert found.outcome == "violated"
    assert "dp.check_noise('laplace', epsilon=1.0, scale=1.999, sensitivity=2.0)" in found.code
    assert isinstance(judged(formula(math.nan)), NotJudged)


def test_accountants_are_held_against_certified_bounds() -> None:
    event = {"kind": "self_composed", "count": 4, "event": {"kind": "laplace", "noise_multiplier": 2.0}}

    def accountant(epsilon: float) -> Candidate:
        return Candidate("accountant", "epsilon", "", lambda: Accounted(event, epsilon, 0.0))

    assert judged(accountant(2.0)).outcome == "holds"
    assert judged(accountant(1.99)).outcome == "violated"
    assert "nothing" in judged(accountant(math.inf)).reason


def test_maps_are_called() -> None:
    def total(values: list[int]) -> int:
        return sum(min(max(value, -10), 5) for value in values)

    def stable(d_out: int) -> Candidate:
        return Candidate("map", "total", "", total, Stable(d_out), source=DECLARED)

    assert judged(stable(5), 10.0).outcome == "violated"
    assert judged(stable(10), 0.5).outcome == "not refuted"


def test_a_map_with_a_claim_for_each_distance_is_tried_at_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenDP's b-ary trees keep theirs at distance 1 and break it at 2."""
    tried: list[tuple[Any, float]] = []

    def stability(broken_at: Any) -> Any:
        def look(candidate: Candidate, relation: Any, d_in: Any, turn: Turn) -> judging.Reading:
            tried.append((d_in, turn.seconds))
            if d_in == 6 and broken_at is None:
                raise dp.InvalidInput("the stability map refuses d_in=6")
            return judging.Reading("", "refuted" if d_in == broken_at else "not refuted", "stability", f"at {d_in}")

        return look

    monkeypatch.setattr(opendp_maps, "is_transformation", lambda _: True)
    monkeypatch.setattr(opendp_maps, "smallest_distance", lambda _: 3)
    candidate = Candidate("map", "total", "", sum, Stable(), source=DECLARED)
    for broken_at, outcome in ((6, "violated"), (7, "not refuted"), (None, "violated")):
        monkeypatch.setattr(judging, "_stability", stability(broken_at))
        assert judged(candidate, 2.0).outcome == outcome
    assert tried == [(None, 1.0), (6, 1.0), (None, 1.0), (6, 1.0), (None, 1.0)]
    monkeypatch.setattr(judging, "_stability", lambda candidate, relation, d_in, turn: 1 / 0 if d_in is None else None)
    assert isinstance(judged(candidate, 2.0), NotJudged)


def test_marked_programs_are_proved_or_refuted() -> None:
    @dp.mechanism_function(relation="one_query", epsilon="epsilon")
    def marked(rng, data, epsilon):
        return sum(data) + rng.laplace(0, 1 / epsilon)

    found = judged(Candidate("mechanism", "marked", "", marked, PrivacyClaim(1.0)), 10.0)
    assert (found.outcome, found.engine) == ("holds", "proof")


def test_a_candidate_needs_a_claim_of_its_kind() -> None:
    with pytest.raises(dp.InvalidInput, match="PrivacyClaim"):
        Candidate("mechanism", "count", "", count, Stable(1), datasets=Pair(0, 1))
    with pytest.raises(dp.InvalidInput, match="strategy"):
        Candidate("mechanism", "count", "", count, PrivacyClaim(1.0))


def test_readings_refuted_in_different_rounds_are_all_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read_as(candidate: Any, claim: Any, relation: str, turn: Turn) -> judging.Reading:
        asked.append((turn.number, relation, turn.seconds))
        found = relation.startswith("add") == (turn.number == 0)
        return judging.Reading(relation, "refuted" if found else "not refuted", "stub", "", hope=-0.5)

    monkeypatch.setattr(judging, "_read_as", read_as)
    first = judge_round(mechanism(counted_mean), Turn(0, 0.01, 2.0, 0))
    assert (first.result.outcome, first.hope) == ("depends on the reading", -0.5)  # type: ignore[union-attr]
    second = judge_round(mechanism(counted_mean), Turn(1, 0.01, 2.0, 1), first)
    assert (second.result.outcome, second.hope) == ("violated", None)  # type: ignore[union-attr]
    assert asked == [(0, USUAL[0], 1.0), (0, USUAL[1], 1.0), (1, USUAL[1], 2.0)]


def test_a_later_round_that_fails_leaves_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first = judge_round(mechanism(count), Turn(0, 0.01, 0.5, 0))
    assert first.hope is not None
    monkeypatch.setattr(judging, "_read_as", lambda *_: 1 / 0)
    second = judge_round(mechanism(count), Turn(1, 0.01, 0.5, 1), first)
    assert (second.result, second.hope) == (first.result, None)


def test_a_candidate_hopes_what_its_least_promising_reading_does() -> None:
    def hope(*readings: tuple[str, float | None]) -> float | None:
        found = [judging.Reading("", outcome, "", "", hope=each) for outcome, each in readings]
        return judging.Found(NotJudged("", "", ""), tuple(found)).hope

    assert hope(("not refuted", 1.0), ("not refuted", -2.0)) == -2.0
    assert hope(("refuted", None), ("not refuted", -2.0)) == -2.0
    assert hope(("not judged", None), ("not refuted", -2.0)) is None
    assert hope(("refuted", 1.0)) is None
    assert hope() is None
