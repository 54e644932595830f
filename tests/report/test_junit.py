"""JUnit XML: one test case per audit, a failure only where a claim is refuted, and well-formed whatever the names."""

import copy
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from dpassay.report.junit import to_junit

CONTENT = json.loads(Path(__file__).with_name("audits.json").read_text(encoding="utf-8"))


def audit(index: int = 0, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CONTENT["audits"][index]), **changes}


def cases(content: dict[str, Any]) -> list[ET.Element]:
    return list(ET.fromstring(to_junit(content)).iter("testcase"))


def test_each_audit_is_one_case_and_the_counts_agree() -> None:
    root = ET.fromstring(to_junit(CONTENT))
    assert root.tag == "testsuites"
    (suite,) = root
    for element in (root, suite):
        assert {name: element.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
            "tests": "4",
            "failures": "2",
            "errors": "0",
            "skipped": "1",
        }
    assert suite.get("time") == "33.840"
    kinds = [[child.tag for child in case] for case in cases(CONTENT)]
    assert kinds == [
        ["properties", "failure"],
        ["properties", "system-out"],
        ["properties", "failure"],
        ["properties", "skipped"],
    ]


def test_a_failure_says_what_was_found_and_how_to_see_it_again() -> None:
    (case,) = cases(audit())
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {
        "message": "shop.release:noisy_sum is not 1-DP: epsilon is at least 1.93123.",
        "type": "claim-refuted",
    }
    assert failure.text is not None
    assert "31,187 of 60,000 samples of dataset 1" in failure.text
    assert audit()["command"] in failure.text
    assert (case.get("file"), case.get("line")) == ("shop/release.py", "14")


def test_a_pass_does_not_say_private() -> None:
    (case,) = cases(audit(1))
    assert case.find("failure") is None
    said = case.findtext("system-out")
    assert said is not None
    assert "does not show the mechanism private" in said
    assert "would have been caught" in said


def test_properties_are_the_numbers_of_the_json() -> None:
    (case,) = cases(audit())
    values = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    assert float(values["parameter_lower"]) == audit()["parameter_lower"]
    assert int(values["event.count1"]) == audit()["events"][0]["count1"]
    assert int(values["samples.total"]) == audit()["samples"]["total"]
    assert int(values["seed"]) == 7
    assert "p_value" not in values


def test_hostile_text_stays_text() -> None:
    name = "</testcase>]]>&\x00\x1b\ud800\ufffe \"'数"
    (case,) = cases(audit(name=name, mechanism=name, command=name))
    assert case.attrib["name"].startswith("</testcase>]]>&\ufffd\ufffd\ufffd\ufffd \"'数")


def test_no_audit_is_an_empty_suite() -> None:
    root = ET.fromstring(to_junit({"format": "dpassay-audits", "version": 1, "audits": []}))
    assert root.get("tests") == "0"
    assert list(root.iter("testcase")) == []
