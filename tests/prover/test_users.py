"""Claims about the records of one user, several entries of the list."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpassay as dp
from dpassay.prover import proving
from dpassay.prover.pairs import Neighbors, assignments
from dpassay.prover.problem import Problem, problem_of
from dpassay.prover.program_text import program_of
from dpassay.replay import Rejected, check, computed, seal_own
from dpassay.replay.integration import check_neighbors

ADDED, REPLACED = "add_or_remove_one:user", "replace_one:user"
RHO, MU = dp.PrivacyClaim.zcdp("rho"), dp.PrivacyClaim.gaussian("mu")


def total(rng: Any, data: Any, epsilon: float, m: int) -> Any:
    return sum(data) + rng.laplace(scale=m / epsilon)


def of_one_record(rng: Any, data: Any, epsilon: float, m: int) -> Any:
    return sum(data) + rng.laplace(scale=1 / epsilon)


def concentrated(rng: Any, data: Any, rho: float) -> Any:
    return sum(data) + rng.normal(scale=3 / np.sqrt(2 * rho))


def gaussian(rng: Any, data: Any, mu: float) -> Any:
    return sum(data) + rng.normal(scale=3 / mu)


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "SECOND_LOOK", 0.4)


def _proof(function: Any, relation: str, records: Any, **given: Any) -> proving.Proof:
    return proving.run_proof(function, relation=relation, records=records, bounds=(0, 1), time_limit=20, **given)


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
def test_noise_for_all_records_of_a_user(relation: str, tmp_path: Path) -> None:
    proof = _proof(total, relation, "m")
    assert proof.verdict.outcome == "holds"
    assert set(proof.verdict.assumptions) == {"epsilon > 0", "m >= 1"}
    assert "of one user, m at most" in proof.verdict.explanation
    path = tmp_path / "proof.json"
    assert proof.certificate is not None
    seal_own(proof.certificate["kind"], proof.certificate["inputs"]).write(path)
    assert dp.replay(path).outcome == "holds"


def test_the_smallest_bound_is_about_all_records() -> None:
    assert proving._smallest(program_of(total), _stated(2), 5.0) == "2 * epsilon / m"


def _stated(records: int) -> Problem:
    return problem_of(total, program_of(total), relation=REPLACED, records=records, bounds=(0, 1), assume=["m >= 1"])


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
def test_noise_for_one_record_is_refuted_by_two(relation: str) -> None:
    verdict = _proof(of_one_record, relation, "m").verdict
    assert verdict.outcome == "refuted"
    assert _proof(of_one_record, relation, 1).verdict.outcome == "holds"


@pytest.mark.parametrize(("function", "claim"), [(concentrated, RHO), (gaussian, MU)])
@pytest.mark.parametrize(("records", "outcome"), [(3, "holds"), (4, "refuted")])
def test_roots_of_rho_and_mu_add_up(function: Any, claim: Any, records: int, outcome: str) -> None:
    assert _proof(function, REPLACED, records, claim=claim).verdict.outcome == outcome


def _changed(inputs: Any, *path: str, to: Any) -> Any:
    made = copy.deepcopy(inputs)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return made


def test_forged_numbers_of_records_are_rejected() -> None:
    certificate = _proof(total, REPLACED, "m").certificate
    assert certificate is not None
    inputs = certificate["inputs"]
    assert check("alignment", inputs)["supports"] == "holds"
    forged = {
        "more records than noise": _changed(inputs, "relation", "records", to="m + 1"),
        "fewer than one": _changed(inputs, "relation", "records", to="m / 2"),
        "none": _changed(inputs, "relation", "records", to="0"),
        "below 0": _changed(inputs, "relation", "records", to="-m"),
        "of the data": _changed(inputs, "relation", "records", to="delta()"),
        "not said": _changed(inputs, "relation", "records", to=None),
        "m may be 0": _changed(inputs, "assume", to=["epsilon > 0"]),
        "rho grows with the square": _changed(inputs, "claim", to={"notion": "zcdp", "bound": "epsilon**2 / (2 * m)"}),
        "another relation": _changed(inputs, "relation", "kind", to="one_query:user"),
    }
    for what, each in forged.items():
        with pytest.raises(Rejected):
            pytest.fail(f"{what}: {computed('alignment', each)}")


@pytest.mark.parametrize(
    ("kind", "data1", "data2", "are"),
    [
        (REPLACED, ["0", "0", "0"], ["1", "0", "1"], True),
        (REPLACED, ["0", "0", "0"], ["1", "1", "1"], False),
        (REPLACED, ["0", "0"], ["0"], False),
        (ADDED, ["1", "0", "1"], ["0"], True),
        (ADDED, ["0"], ["1", "0", "1"], True),
        (ADDED, ["0", "0", "1", "1"], ["0"], False),
        (ADDED, ["0", "1", "0"], ["1", "1"], False),
        (ADDED, ["0"], ["0"], False),
    ],
)
def test_neighbors_differ_in_two_records_at_most(kind: str, data1: Any, data2: Any, are: bool) -> None:
    relation = {"kind": kind, "bounds": ["0", "1"], "values": "real", "radius": "1", "records": "2"}
    if are:
        check_neighbors(relation, {}, data1, data2)
    else:
        with pytest.raises(Rejected):
            check_neighbors(relation, {}, data1, data2)


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
def test_pairs_that_are_tried_are_neighbors_and_some_differ_in_all_records(relation: str) -> None:
    problem = problem_of(total, program_of(total), relation=relation, records=3, bounds=(0, 1))
    neighbors = Neighbors(problem, assignments(problem)[0])
    for size in (2, 4):
        pairs = list(neighbors.simple(size))
        assert all(map(neighbors.are, pairs))
        most = max(abs(len(a) - len(b)) or sum(map(str.__ne__, a, b)) for a, b in pairs)
        assert most == min(3, size)
        assert all(map(neighbors.are, neighbors.smaller(pairs[0])))


def value(rng: Any, data: float, epsilon: float) -> Any:
    return data + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    ("function", "given", "reason"),
    [
        (total, {"relation": REPLACED}, "how many entries one user may have"),
        (total, {"relation": REPLACED, "records": 0}, "from 1 on"),
        (total, {"relation": REPLACED, "records": 1.5}, "from 1 on"),
        (total, {"relation": REPLACED, "records": "epsilon"}, "an int parameter"),
        (total, {"relation": "replace_one:entry", "records": 2}, "replace_one:user"),
        (total, {"relation": "one_query", "records": 2}, "is about entries"),
        (value, {"relation": REPLACED, "records": 2}, "one value"),
    ],
)
def test_what_is_no_number_of_records_is_refused(function: Any, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(dp.InvalidInput, match=reason):
        dp.prove(function, **given)
