"""SARIF: valid against the standard's schema, findings only, and the JSON's own numbers.

sarif-schema-2.1.0.json is the schema of SARIF 2.1.0 (OASIS standard) as the npm package @microsoft/jest-sarif
1.0.0-beta.0 ships it (lib/schemas/sarif-2.1.0-rtm.5.json, MIT license, copyright Microsoft Corporation).
"""

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpassay.report import audit_text
from dpassay.report.sarif import to_sarif

HERE = Path(__file__).parent
CONTENT = json.loads((HERE / "audits.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((HERE / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
CHECKER = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
EMPTY = {"format": "dpassay-audits", "version": 1, "audits": []}


def audit(index: int = 0, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CONTENT["audits"][index]), **changes}


def results(content: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = to_sarif(content)["runs"][0]["results"]
    return found


@pytest.mark.parametrize("content", [CONTENT, EMPTY, *CONTENT["audits"]], ids=["list", "empty", "0", "1", "2", "3"])
def test_the_log_follows_the_schema_of_the_standard(content: dict[str, Any]) -> None:
    CHECKER.validate(to_sarif(content))


def test_the_check_sees_a_broken_log() -> None:
    log = to_sarif(CONTENT)
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(CHECKER.iter_errors(log))
    log = to_sarif(CONTENT)
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert list(CHECKER.iter_errors(log))


def test_only_refuted_claims_are_results() -> None:
    refuted = [a["mechanism"] for a in CONTENT["audits"] if a["verdict"]["outcome"] == "refuted"]
    found = results(CONTENT)
    assert [one["properties"]["mechanism"] for one in found] == refuted
    assert all(one["level"] == "error" and one["kind"] == "fail" for one in found)
    notes = to_sarif(CONTENT)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "warning"]
    assert "does not show the mechanism private" in notes[0]["message"]["text"]


def test_each_result_has_the_rule_of_its_kind() -> None:
    rules = to_sarif(CONTENT)["runs"][0]["tool"]["driver"]["rules"]
    for one, name in zip(results(CONTENT), ["claim-refuted", "representation-leak"], strict=True):
        assert one["ruleId"] == name
        assert rules[one["ruleIndex"]]["id"] == name
    same_stream = audit(mode="same-stream")
    assert results(same_stream)[0]["ruleId"] == "same-stream-leak"


def test_the_properties_are_the_numbers_of_the_json() -> None:
    for one in results(CONTENT):
        original = next(a for a in CONTENT["audits"] if a["mechanism"] == one["properties"]["mechanism"])
        assert all(original[key] == value for key, value in one["properties"].items())
        assert {"events", "parameter_lower", "samples", "seed", "claim"} <= one["properties"].keys()


def test_the_message_has_the_numbers_of_the_json() -> None:
    (one,) = results(audit())
    event = audit()["events"][0]
    text = one["message"]["text"]
    assert f"epsilon is at least {audit_text.number(audit()['parameter_lower'])}" in text
    for value in (event["count1"], event["samples1"], event["count2"], audit()["failure_probability"]):
        assert re.search(rf"(?<![\d.,]){re.escape(audit_text.number(value))}(?![\d,])", text), value
    assert event["description"] in text


def test_places_are_relative_to_the_repository_and_absolute_ones_are_addresses() -> None:
    def place(location: Any) -> dict[str, Any]:
        found: dict[str, Any] = results(audit(location=location))[0]["locations"][0]["physicalLocation"]
        return found

    assert place({"file": "shop/my release.py", "line": 14}) == {
        "artifactLocation": {"uri": "shop/my%20release.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 14},
    }
    assert place({"file": "/lib/x.py", "line": 2})["artifactLocation"] == {"uri": "file:///lib/x.py"}
    assert place(None)["artifactLocation"] == {"uri": "shop.release%3Anoisy_sum"}
    for file in ("\ud800.py", "/lib/\ud800.py"):  # half of a surrogate pair, which is no character
        assert place({"file": file, "line": 2})["artifactLocation"]["uri"].endswith("%3F.py")


def test_fingerprints_are_stable_across_runs_and_differ_between_findings() -> None:
    def fingerprint(**changes: Any) -> str:
        return str(results(audit(**changes))[0]["partialFingerprints"]["dpassayAudit/v1"])

    again = fingerprint(seed=9, seconds=1.0, parameter_lower=1.8, events=[], location={"file": "a.py", "line": 99})
    assert again == fingerprint()
    claim = {**audit()["claim"], "text": "2-DP"}
    others = [fingerprint(mechanism="other"), fingerprint(claim=claim), fingerprint(representation="bits")]
    assert len({fingerprint(), *others, fingerprint(name="a test")}) == 5


def test_the_command_is_given_when_there_is_one() -> None:
    assert to_sarif(audit())["runs"][0]["invocations"][0]["commandLine"] == audit()["command"]
    assert "commandLine" not in to_sarif(CONTENT)["runs"][0]["invocations"][0]
