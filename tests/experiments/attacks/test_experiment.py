"""The experiment `attacks`: every method in the tables, numbers that are the attacks' own, and runs that are kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.alterego.report import run as attack_alteregos
from dpassay.attacks.alterego.settings import AlterEgoSettings
from dpassay.attacks.beta_knn.item_report import run as attack_items
from dpassay.attacks.presence.report import run as attack_presence
from dpassay.attacks.reconstruction.report import run as attack_reconstruction
from dpassay.data.ratings import synthetic
from dpassay.experiments import run
from dpassay.experiments.attacks import experiment as attacks

PLAN: list[tuple[str, Any]] = [
    (
        "items",
        {
            "method": "item_knn",
            "channel": "similar_items",
            "beta": 0.0,
            "looks": "twice",
            "turnover": 0.0,
            "targets": 5,
        },
    ),
    ("sketch", {"method": "jlt_repaired", "shape": "full_rank", "targets": 3, "trials": 20}),
    ("reconstruction", {"method": "randomized_response", "rounds": 1, "targets": 5}),
    ("presence", {"method": "kdpp", "others": 3, "num_items": 5, "rounds": 2, "targets": 4, "trials": 5}),
    ("alterego", {"rounds": 2, "targets": 4}),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attacks, "_plan", lambda ratings, quick: PLAN)
        return run("attacks", seed=3, resume=tmp_path_factory.getbasetemp() / "attacks.jsonl")


def test_the_result_is_json_and_has_a_row_for_every_method(result: dict[str, Any]) -> None:
    json.dumps(result, allow_nan=False)
    assert [len(table["rows"]) for table in result["tables"]] == [1, 1, 1, 1, 4]
    for table in result["tables"]:
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
        assert "{" not in table["title"]
    assert [each["method"] for each in result["runs"]] == [
        "item_knn",
        "jlt_repaired",
        "randomized_response",
        "kdpp",
        *AlterEgoSettings.methods(),
    ]
    assert all(each["seed"] == 3 for each in result["runs"])


def test_the_numbers_are_those_of_the_attacks(result: dict[str, Any]) -> None:
    lists, _, answers, sets, *profiles = result["runs"]
    items: Any = PLAN[0][1]
    assert lists["yield"]["value"] == attack_items(synthetic(), seed=3, **items).metric("yield").value
    report = attack_reconstruction(synthetic(), method="randomized_response", targets=5, seed=3)
    for metric in report.metrics:
        assert answers[metric.name]["value"] == metric.value
        assert answers[metric.name]["low"] == metric.low
    assert answers["permitted"] == permitted_advantage(1.0)
    assert sets["permitted"] == pytest.approx(permitted_advantage(2.0))
    small: Any = PLAN[3][1]
    assert sets["advantage"]["value"] == attack_presence(synthetic(), seed=3, **small).metric("advantage").value
    one = attack_alteregos(synthetic(), method="prs", rounds=2, targets=4, seed=3)
    assert profiles[1]["advantage"]["value"] == one.metric("advantage").value
    assert [each["permitted"] == 1.0 for each in profiles] == [True, False, False, False]


def test_finished_runs_are_not_run_again(
    result: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(attacks, "_plan", lambda ratings, quick: PLAN)
    monkeypatch.setattr(attacks, "_reported", never)
    monkeypatch.setattr(attacks, "_alteregos", never)
    assert run("attacks", seed=3, resume=tmp_path_factory.getbasetemp() / "attacks.jsonl") == result


def test_the_plan_has_every_method_and_settings_that_exist() -> None:
    plan = attacks._plan(synthetic(), quick=False)
    for attack, (kind, module) in attacks.REPORTS.items():
        assert kind.report == module.__name__
        own = [settings for name, settings in plan if name == attack]
        assert {each["method"] for each in own} == set(kind.methods())
        assert [kind(**each) for each in own]
    assert [name for name, _ in plan].count("alterego") == 1
    assert len(attacks._plan(synthetic(), quick=True)) < len(plan)


def test_what_was_not_measured_is_a_dash() -> None:
    assert attacks._cell({}, "auc") == "-"
    assert attacks._cell({"auc": {"value": 0.5, "low": 0.25, "high": 0.75}}, "auc") == "0.500 [0.250, 0.750]"


def test_the_page_in_the_docs_is_about_every_method() -> None:
    page = (Path(__file__).parents[3] / "docs/experiments/tables/attacks.md").read_text()
    assert "dpassay experiment attacks --data ml-100k" in page
    for _, settings in attacks._plan(synthetic(), quick=False):
        assert settings.get("method", "prs_released") in page
