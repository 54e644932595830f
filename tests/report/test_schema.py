"""The schemas accept what the program writes and reject what it does not."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpassay.core.errors import InvalidInput
from dpassay.replay import CHECKERS, seal
from dpassay.report import validate_certificate, validate_run
from dpassay.report.schema import schema

Builder = Callable[[], dict[str, Any]]


@pytest.mark.parametrize("name", ["verdicts", "certificate"])
def test_the_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["properties"]["version"] == {"const": {"verdicts": 1, "certificate": 2}[name]}


def test_no_other_schema_exists() -> None:
    with pytest.raises(InvalidInput, match="choose one of attack, audit"):
        schema("../pyproject")


def test_a_run_is_accepted_and_comes_back_as_it_was(example_run: Builder) -> None:
    assert validate_run(example_run()) == example_run()


def test_tuples_are_lists(example_run: Builder) -> None:
    run = example_run()
    run["verdicts"] = tuple(run["verdicts"])
    assert validate_run(run) == example_run()


def at(run: dict[str, Any], claim: str) -> dict[str, Any]:
    found: dict[str, Any] = next(verdict for verdict in run["verdicts"] if verdict["id"] == claim)
    return found


MUTATIONS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other format": (lambda run: run.update(format="other"), "format: 'dpassay-verdicts' was expected"),
    "other version": (lambda run: run.update(version=2), "version: 1 was expected"),
    "no command": (lambda run: run.pop("command"), "'command' is a required property"),
    "unknown field": (lambda run: run.update(extra=1), "'extra' was unexpected"),
    "no users": (lambda run: run["data"].update(users=0), "data/users"),
    "quick as text": (lambda run: run.update(quick="no"), "quick"),
    "unknown outcome": (lambda run: at(run, "PP-DP").update(outcome="true"), "outcome"),
    "unknown expected": (lambda run: at(run, "PP-DP").update(expected="true"), "expected"),
    "no explanation": (lambda run: at(run, "PP-DP").update(explanation=""), "explanation"),
    "refuted without evidence": (lambda run: at(run, "PP-DP").update(evidence=[]), "evidence"),
    "unknown evidence": (lambda run: at(run, "PP-DP")["evidence"][0].update(kind="vibes"), "evidence/0/kind"),
    "infinite float": (lambda run: at(run, "PP-DP").update(epsilon_lower=math.inf), "not JSON"),
    "infinity misspelled": (lambda run: at(run, "PP-DP").update(epsilon_lower="Infinity"), "epsilon_lower"),
    "confidence above 1": (lambda run: at(run, "PP-DP-REP").update(confidence=1.5), "confidence"),
    "unknown relation": (lambda run: at(run, "PP-DP")["witness"].update(relation="user"), "witness"),
    "empty event": (lambda run: at(run, "PP-DP")["witness"].update(event=[]), "witness"),
    "missing rating as text": (lambda run: at(run, "PP-DP")["witness"]["dataset1"][0].insert(0, "missing"), "witness"),
    "ragged dataset": (lambda run: at(run, "PP-DP")["witness"]["dataset1"][0].append(1), "one shape"),
    "changed cell elsewhere": (lambda run: at(run, "PP-DP")["witness"].update(changed=[[0, 0]]), "differ in"),
    "short row": (lambda run: at(run, "PP-TAB1")["evidence"][0]["tables"][0]["rows"][3].pop(), "longer or shorter"),
    "short series": (
        lambda run: at(run, "PP-TAB1")["evidence"][0]["plots"][0]["series"][0]["y"].pop(),
        "unequal lengths",
    ),
    "half an interval": (
        lambda run: at(run, "PP-TAB1")["evidence"][0]["plots"][0]["series"][0].pop("low"),
        "'low' is a dependency of 'high'",
    ),
    "undescribed claim": (lambda run: run["claims"].pop("PP-DP"), "does not describe: PP-DP"),
    "two verdicts": (lambda run: run["verdicts"].append(copy.deepcopy(at(run, "PP-DP"))), "several verdicts on: PP-DP"),
    "other id": (lambda run: run["claims"]["PP-DP"].update(id="PP-EM"), "under other ids: PP-DP"),
    "id that is markup": (lambda run: run["claims"].update({'"><b>': run["claims"]["PP-DP"]}), "does not follow"),
    "not JSON": (lambda run: run.update(seed={1, 2}), "not JSON"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_spoiled_run_is_rejected_in_one_line_that_names_the_place(name: str, example_run: Builder) -> None:
    spoil, message = MUTATIONS[name]
    run = example_run()
    spoil(run)
    with pytest.raises(InvalidInput) as caught:
        validate_run(run)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    inputs = {"values": {"k": 2, "eps": "1/2"}, "formulas": [["<", "eps", "k"]]}
    return seal("PP-EX", "One half is below two.", "formula", inputs).to_json()


def test_a_sealed_certificate_is_accepted(certificate: dict[str, Any]) -> None:
    assert validate_certificate(certificate) == json.loads(json.dumps(certificate))


def witness_inputs() -> dict[str, Any]:
    return {
        "mechanism": {"id": "knn", "variant": "paper", "parameters": {"num_neighbors": 1, "target": 0}},
        "relation": "add_or_remove_one:rating",
        "epsilon": "1",
        "delta": "0.25",
        "dataset1": [[1, None], ["1/2", 3]],
        "dataset2": [[1, 2], ["1/2", 3]],
        "event": [[1]],
    }


def test_the_schema_knows_every_kind_of_certificate() -> None:
    assert set(schema("certificate")["properties"]["kind"]["enum"]) == set(CHECKERS)


def test_the_form_of_a_witness_is_accepted(certificate: dict[str, Any]) -> None:
    validate_certificate({**certificate, "kind": "witness", "inputs": witness_inputs()})


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.5},
        {"epsilon": "one"},
        {"delta": "1/0"},
        {"dataset1": [[1.5, None], [1, 3]]},
        {"dataset1": [["nan", None], [1, 3]]},
        {"event": []},
        {"mechanism": {"id": "knn"}},
    ],
)
def test_a_witness_of_another_form_is_rejected(certificate: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="does not follow certificate"):
        validate_certificate({**certificate, "kind": "witness", "inputs": witness_inputs() | change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version"),
        ({"kind": "oracle"}, "kind"),
        ({"outcome": "refuted"}, "'outcome' was unexpected"),
        ({"sha256": "0"}, "sha256"),
        ({"result": {}}, "'summary' is a required property"),
        ({"claim": "pp ex"}, "claim"),
        ({"inputs": {"values": {"eps": 0.5}, "formulas": []}}, "inputs"),
        ({"inputs": {"formulas": []}}, "'values' is a required property"),
        ({"extra": 1}, "'extra' was unexpected"),
    ],
)
def test_a_spoiled_certificate_is_rejected(certificate: dict[str, Any], change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validate_certificate({**certificate, **change})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
