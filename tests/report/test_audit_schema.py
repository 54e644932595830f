"""The schema of audits accepts what the program writes and rejects what it does not."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpassay.core.errors import InvalidInput
from dpassay.report.schema import schema, validate_audits

CONTENT = json.loads(Path(__file__).with_name("audits.json").read_text(encoding="utf-8"))


def audit() -> dict[str, Any]:
    """A copy that a test may spoil; its numbers are invented."""
    return copy.deepcopy(CONTENT["audits"][0])


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema("audit"))


def test_one_audit_and_a_list_of_them_are_accepted_and_come_back_as_they_were() -> None:
    Draft202012Validator(schema("audit")).validate(CONTENT)
    Draft202012Validator(schema("audit")).validate(audit())
    assert validate_audits(CONTENT) == CONTENT["audits"]
    assert validate_audits(audit()) == [audit()]
    assert validate_audits({"format": "dpassay-audits", "version": 1, "audits": []}) == []


MUTATIONS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other format": (lambda a: a.update(format="other"), "format: 'dpassay-audit' was expected"),
    "other version": (lambda a: a.update(version=2), "version: 1 was expected"),
    "no events": (lambda a: a.pop("events"), "'events' is a required property"),
    "unknown field": (lambda a: a.update(private=True), "'private' was unexpected"),
    "an outcome that says too much": (lambda a: a["verdict"].update(outcome="holds"), "verdict/outcome"),
    "no mechanism": (lambda a: a.update(mechanism=""), "mechanism"),
    "negative count": (lambda a: a["events"][0].update(count1=-1), "events/0/count1"),
    "count above samples": (lambda a: a["events"][0].update(count2=60001), "counts more than was sampled"),
    "probability above one": (lambda a: a.update(failure_probability=1.0), "failure_probability"),
    "p-value above one": (lambda a: a["events"][0].update(p_value=1.5), "events/0/p_value"),
    "NaN": (lambda a: a.update(epsilon_lower=float("nan")), "is not JSON"),
    "a word for a number": (lambda a: a.update(epsilon_lower="much"), "epsilon_lower"),
    "assumptions that are no list": (lambda a: a["verdict"].update(assumptions=True), "assumptions"),
    "line 0": (lambda a: a["location"].update(line=0), "location"),
    "ragged table": (lambda a: a["tables"][0]["rows"][0].pop(), "longer or shorter"),
    "ragged plot": (lambda a: a["plots"][0]["series"][0]["x"].pop(), "unequal"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_anything_else_is_refused_in_one_line(name: str) -> None:
    change, message = MUTATIONS[name]
    spoiled = audit()
    change(spoiled)
    with pytest.raises(InvalidInput, match=message) as refused:
        validate_audits(spoiled)
    assert "\n" not in str(refused.value)


def test_a_bad_audit_in_a_list_is_found() -> None:
    spoiled = audit()
    spoiled["mode"] = "lucky"
    with pytest.raises(InvalidInput, match="audits/1/mode"):
        validate_audits({"format": "dpassay-audits", "version": 1, "audits": [audit(), spoiled]})


def test_not_a_mapping_is_refused() -> None:
    with pytest.raises(InvalidInput, match="audit"):
        validate_audits([audit()])  # type: ignore[arg-type]
