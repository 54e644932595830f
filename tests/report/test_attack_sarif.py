"""SARIF of attacks: valid against the standard's schema, exceeded limits only, and the JSON's own numbers."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel
from dpassay.attacks.metrics import Metric
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.report import attack_text
from dpassay.report.sarif import attack_to_sarif

SCHEMA = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
CHECKER = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
LIMITS = {"recovered": 0.5, "rmse": 0.5, "unique": 0.1, "exposed": 10}


def report(**changes: Any) -> AttackReport:
    """Invented numbers."""
    advantage = Metric("advantage", 0.83, "How much better than guessing.", 0.79, 0.87, 400)
    content: dict[str, Any] = {
        "attack": "beta-knn",
        "title": "Fake accounts against a recommender",
        "mechanism": "ppns/paper",
        "parameters": {"num_neighbors": 40, "epsilon": 1.0},
        "threat_model": ThreatModel("8 ratings.", "Creates 40 accounts.", "Its own predictions."),
        "summary": ["73% of a user's ratings were recovered."],
        "settings": {"method": "knn", "num_fakes": 40},
        "metrics": [
            Metric("recovered", 0.7312, "Share of ratings named exactly.", 0.68, 0.78, 200),
            Metric("rmse", 0.4, "Root mean squared error, stars.", 0.3, 0.6, 200),
            Metric("exposed", 12.0, "Ratings named exactly."),
            Metric("unique", math.nan, "Nobody had a taste of one's own."),
        ],
        "dataset": synthetic(),
        "privacy": [Privacy("One rating", math.inf, None, advantage, "Nothing is claimed.")],
        "seed": 7,
        "seconds": 12.5,
    }
    return AttackReport(**{**content, **changes})


def document(checked: dict[str, float] | None = None, /, **changes: Any) -> dict[str, Any]:
    command = "dpassay attack beta-knn"
    content: dict[str, Any] = json.loads(json.dumps(report(**changes).to_json(command, checked or {})))
    return content


def results(content: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = attack_to_sarif(content)["runs"][0]["results"]
    return found


def notes(content: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = attack_to_sarif(content)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    return found


@pytest.mark.parametrize("limits", [{}, LIMITS, {"rmse": 0.5}, {"recovered": 0.1}])
def test_the_log_follows_the_schema_of_the_standard(limits: dict[str, float]) -> None:
    CHECKER.validate(attack_to_sarif(document(limits)))


def test_the_check_sees_a_broken_log() -> None:
    log = attack_to_sarif(document(LIMITS))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(CHECKER.iter_errors(log))


def test_exceeded_limits_are_results_and_the_others_notifications() -> None:
    content = document(LIMITS)
    assert [one["properties"]["check"]["metric"] for one in results(content)] == ["recovered", "unique", "exposed"]
    assert all(one["level"] == "error" and one["kind"] == "fail" for one in results(content))
    assert "could not be measured, which does not pass" in results(content)[1]["message"]["text"]
    (note,) = notes(content)
    assert note["level"] == "note"
    assert "rmse is 0.400" in note["message"]["text"]
    assert results(document()) == []
    (note,) = notes(document())
    assert "No limit was set" in note["message"]["text"]


def test_a_result_has_the_numbers_of_the_json_and_the_rule_of_its_attack() -> None:
    content = document(LIMITS)
    log = attack_to_sarif(content)
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("attack-beta-knn", "AttackBetaKnn")
    for one, index in zip(results(content), (0, 3, 2), strict=True):
        assert one["ruleId"] == rule["id"]
        assert one["properties"]["metric"] == content["metrics"][index]
        shared = one["properties"].keys() - {"check", "metric"}
        assert shared >= {"metrics", "privacy", "verdicts", "settings", "seed", "dataset", "threat_model"}
        assert all(content[key] == one["properties"][key] for key in shared)
        assert one["properties"]["check"] in content["checks"]
        assert index == 3 or attack_text.measured(content["metrics"][index]) in one["message"]["text"]
        place = one["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "ppns/paper"}
    assert log["runs"][0]["invocations"][0]["commandLine"] == "dpassay attack beta-knn"
    assert "commandLine" not in attack_to_sarif({**content, "command": ""})["runs"][0]["invocations"][0]


def test_fingerprints_are_stable_across_runs_and_differ_between_findings() -> None:
    def fingerprints(limits: dict[str, float] = LIMITS, **changes: Any) -> list[str]:
        return [str(one["partialFingerprints"]["dpassayAttack/v1"]) for one in results(document(limits, **changes))]

    metrics = copy.deepcopy(list(report().metrics))
    metrics[0] = Metric("recovered", 0.9, "Share of ratings named exactly.", 0.8, 0.95, 300)
    again = fingerprints({**LIMITS, "recovered": 0.6}, seed=9, seconds=1.0, metrics=metrics, dataset=None)
    assert again == fingerprints()
    assert len(set(fingerprints())) == 3
    others: list[dict[str, Any]] = [
        {"mechanism": "knn"},
        {"parameters": {"epsilon": 2.0}},
        {"settings": {"method": "item"}},
    ]
    assert len({fingerprints()[0], *(fingerprints(**one)[0] for one in others)}) == 4


def test_a_damaged_document_is_refused() -> None:
    content = document(LIMITS)
    content["checks"][0]["exceeded"] = False
    with pytest.raises(InvalidInput, match="does not fit"):
        attack_to_sarif(content)


def test_a_name_that_is_no_path_is_quoted() -> None:
    (one,) = results(document({"recovered": 0.5}, mechanism="<script> x"))
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%3Cscript%3E%20x"
    CHECKER.validate(attack_to_sarif(document({"recovered": 0.5}, mechanism="<script> x")))
