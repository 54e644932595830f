"""CONTRIBUTING's skeletons are code of today's shape: each runs, and does what it says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.experiments.request import Request
from dpassay.models.task import synthetic_task

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^### An? (\w+).*?\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def skeletons() -> dict[str, dict[str, Any]]:
    """Kind of thing -> the names that its skeleton leaves."""
    found: dict[str, dict[str, Any]] = {}
    for kind, text in SECTIONS:
        found[kind] = {"__name__": kind}
        for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(example, f"CONTRIBUTING.md, {kind}", "exec"), found[kind])
    return found


def test_every_kind_of_thing_has_one(skeletons):
    kinds = {"mechanism", "auditor", "attack", "proof", "paper", "experiment", "benchmark", "model"}
    assert set(skeletons) == kinds
    assert all(len(names) > 3 for names in skeletons.values())


def test_mechanism_keeps_its_claim_and_the_auditor_bounds_it(skeletons):
    mechanism = skeletons["mechanism"]["RandomizedResponse"](epsilon=1.0)
    chances = np.exp([float(mechanism.log_prob(output, 0)) for output in mechanism.outputs(0)])
    assert chances[0] / chances[1] == pytest.approx(np.exp(mechanism.claim.epsilon))
    assert 0.8 < skeletons["auditor"]["bound_above"](mechanism, 1, 0, 0.5) < 1.0


def test_attack_has_settings_and_a_report(skeletons):
    settings = skeletons["attack"]["AnswerSettings"]
    assert settings().targets == 50
    with pytest.raises(InvalidInput, match="targets"):
        settings(targets=0)
    with pytest.raises(NotImplementedError):
        skeletons["attack"]["run"](synthetic())


def test_proof_decides_the_papers_claim(skeletons):
    (claim,) = skeletons["paper"]["CLAIMS"]
    assert skeletons["proof"]["decide_ratio"](claim, Context(synthetic())).outcome == "holds"


def test_experiment_and_benchmark_give_tables(skeletons):
    result = skeletons["experiment"]["run"](Request())
    assert [run["ratings"] > run["items"] for run in result["runs"]] == [True] * 3
    assert result["tables"][0].rows[0][0] == 0.01
    (table,) = skeletons["benchmark"]["tables"](True, 0, lambda _: None)
    assert float(table.rows[0][1]) > 0


def test_model_ranks_by_raters(skeletons):
    task = synthetic_task(50, 60, 200, 900, 1000, seed=3)
    (scores,) = skeletons["model"]["train"](task, skeletons["model"]["Settings"](exponent=0.0))
    raters = np.asarray(task.target.sum(axis=0))
    assert np.array_equal(scores(task.negatives), raters[task.negatives])
