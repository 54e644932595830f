"""`dp.prove`: proved, refuted, open; and open where our parts disagree."""

import json
from pathlib import Path
from typing import Any

import pytest

import dpassay as dp
from dpassay.prover import conformance, proving, refuter, search
from dpassay.replay import PROGRAM, Rejected, replay, seal, seal_own


def total(rng: Any, data: Any, epsilon: float) -> Any:
    return sum(data) + rng.laplace(0, 1 / epsilon)


def half_the_noise(rng: Any, data: Any, epsilon: float) -> Any:
    return sum(data) + rng.laplace(0, 0.5 / epsilon)


def distinct(rng: Any, data: Any, epsilon: float) -> Any:
    return len({x + rng.laplace(0, 1 / epsilon) for x in data})


def without_value(rng: Any, data: Any, epsilon: float) -> Any:
    for x in data:
        last = x
    return last + rng.laplace(0, 1 / epsilon)


def raw(rng: Any, data: Any, epsilon: float) -> Any:
    return data[0]


def true_or_one(rng: Any, data: Any, epsilon: float) -> Any:
    """Neither is told from the other by its size, but anybody who sees it does."""
    return [max(0.31415 < x < 0.31416, 1) for x in data]


def true_or_one_by_noise(rng: Any, data: Any, epsilon: float) -> Any:
    return [max(rng.random() < 0.5, 1) for _ in data]


def _replayed(found: proving.Proof, path: Path) -> Any:
    assert found.certificate is not None
    seal_own(found.certificate["kind"], found.certificate["inputs"]).write(path)
    return replay(path)


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "FIRST_LOOK", 0.2)
    monkeypatch.setattr(proving, "SECOND_LOOK", 0.4)


def test_a_proof_replays_and_its_claim_cannot_be_made_stronger(tmp_path: Path) -> None:
    found = proving.run_proof(total, relation="one_query")
    assert (found.verdict.outcome, found.refutation) == ("holds", None)
    assert found.verdict.assumptions == ("epsilon > 0",)
    path = tmp_path / "proof.json"
    replayed = _replayed(found, path)
    assert (replayed.checks, replayed.outcome) == (True, "holds")
    written = json.loads(path.read_text())
    for changed in ("epsilon / 2", "0"):
        written["inputs"]["claim"]["bound"] = changed
        with pytest.raises(Rejected, match="not proved"):
            seal(PROGRAM, written["statement"], "alignment", written["inputs"])


def test_true_is_not_one_in_an_output() -> None:
    found = proving.run_proof(true_or_one, relation="replace_one:entry", time_limit=2)
    assert found.verdict.outcome == "open"
    found = proving.run_proof(true_or_one_by_noise, relation="replace_one:entry")
    assert found.verdict.outcome == "holds"


def test_a_refutation_replays(tmp_path: Path) -> None:
    found = proving.run_proof(half_the_noise, relation="one_query", time_limit=10)
    assert (found.verdict.outcome, found.alignment) == ("refuted", None)
    replayed = _replayed(found, tmp_path / "refutation.json")
    assert (replayed.checks, replayed.outcome) == (True, "refuted")


def test_what_is_not_understood_is_open() -> None:
    found = proving.run_proof(distinct, relation="one_query", time_limit=0.4)
    assert (found.verdict.outcome, found.certificate, found.verdict.warnings) == ("open", None, ())
    assert any("SetComp" in each for each in found.tried)


def test_a_function_that_fails_is_open() -> None:
    verdict = dp.prove(without_value, relation="add_or_remove_one:entry", bounds=(0, 1), time_limit=0.4)
    assert verdict.outcome == "open"


def test_a_reading_that_differs_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "conforms", lambda *_: "another output")
    verdict = dp.prove(total, relation="one_query")
    assert verdict.outcome == "open"
    assert any("another output" in each and "report it" in each for each in verdict.warnings)


def test_a_proof_beside_a_counterexample_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    real = proving._checked
    lying = {"inputs": {}, "result": {"conditions": 1}}
    monkeypatch.setattr(search, "find_alignment", lambda *_: {})
    monkeypatch.setattr(
        proving, "_checked", lambda kind, *rest: (lying, "") if kind == proving.ALIGNMENT else real(kind, *rest)
    )
    verdict = dp.prove(raw, relation="one_query", time_limit=5)
    assert verdict.outcome == "open"
    assert any("one of the checkers is wrong" in each for each in verdict.warnings)


def test_neither_the_search_nor_the_refuter_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = proving.run_proof(total, relation="one_query")
    assert right.alignment is not None
    text = right.program.text.replace("1 / epsilon", "0.5 / epsilon")
    monkeypatch.setattr(
        search,
        "find_alignment",
        lambda *_: {**right.alignment["inputs"], "program": {"text": text, "entry": "total"}},
    )
    found = proving.run_proof(total, relation="one_query", time_limit=0.4)
    assert found.verdict.outcome == "open"
    assert any("the checker did not accept" in each for each in found.tried)
    wrong = proving.run_proof(half_the_noise, relation="one_query", time_limit=10)
    assert wrong.refutation is not None
    inputs = wrong.refutation["inputs"]
    lying = refuter.Search({**inputs, "data2": inputs["data1"]}, 2.0, 1.0, {}, (), (), None, "")
    monkeypatch.setattr(refuter.Refuter, "search", lambda *_: lying)
    assert proving.run_proof(half_the_noise, relation="one_query", time_limit=0.4).verdict.outcome == "open"


@pytest.mark.parametrize("given", [{"time_limit": 0}, {"time_limit": float("nan")}, {"seed": -1}])
def test_settings_that_cannot_be_used(given: dict[str, Any]) -> None:
    with pytest.raises(dp.InvalidInput):
        dp.prove(total, relation="one_query", **given)


def endless(rng: Any, data: Any, epsilon: float) -> Any:
    x = 0.5
    while x < 1:
        x = x * 1
    return sum(data) + rng.laplace(0, 1 / epsilon)


def test_a_function_that_does_not_return_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refuter, "_GRACE", 0.05)
    found = proving.run_proof(endless, relation="one_query", infer=True, time_limit=1)
    assert found.verdict.outcome == "open"
    assert "endless had not returned when its time was over, on [0], epsilon = 1" in found.verdict.explanation


def test_runs_that_do_not_return_compare_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def conforms(*_: Any) -> str:
        while True:
            pass

    monkeypatch.setattr(conformance, "conforms", conforms)
    monkeypatch.setattr(proving, "RUN_SECONDS", 0.05)
    found = proving.run_proof(total, relation="one_query")
    assert (found.verdict.outcome, found.alignment) == ("open", None)
    assert "not compared with runs: total had not returned after 0.05 s on" in found.verdict.explanation


def test_the_largest_loss_is_told_and_keeps_to_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def largest_loss(function: Any, problem: Any, seconds: float, clock: float) -> refuter.Search:
        asked.extend([seconds, clock])
        return refuter.Search(None, 1.0, 1.0, {"epsilon": "1", "scores": ("10", "10")}, ("0",), ("1", "2"))

    monkeypatch.setattr(proving, "spending", lambda: lambda: 0.0)  # others have the processor
    monkeypatch.setattr(refuter, "largest_loss", largest_loss)
    verdict = proving.run_proof(total, relation="one_query", infer=True, time_limit=40).verdict
    told = "1 nats on [0] and [1, 2] with epsilon = 1, scores = [10, 10], of 1 claimed there."
    assert verdict.explanation.endswith(f"The largest loss that was found: {told}")
    assert verdict.explanation.startswith("Proved for all lists of numbers of any length of which one entry changes by")
    assert "compared by value" in verdict.explanation
    assert "https://github.com/dpassay/dpassay/blob/main/docs/theorems/alignments.md" in str(verdict)
    assert asked[0] < 40
    assert asked[1] == 1


def overflows(rng, data, epsilon):
    return 1e308 * 10.0


def test_what_overflows_is_open() -> None:
    verdict = proving.run_proof(overflows, relation="one_query").verdict
    assert verdict.outcome == "open"
    assert "the function returns inf" in verdict.explanation


def test_a_probability_too_small_for_floats_is_not_called_0() -> None:
    assert proving._digits([f"6.34751e-{number}" for number in (338, 338)]) == "6.34751e-338"
    assert proving._digits(["0", "0"]) == "0"
    assert proving._digits(["0.25", "0.250001"]) == "0.25"
