"""The sweeps of PriCDR: what is run, what is kept of the source, what is shown."""

import json
import math

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.core.records import plain
from dpassay.data.ratings import synthetic
from dpassay.experiments.pricdr import sweeps
from dpassay.experiments.request import Request
from dpassay.models.task import synthetic_task


@pytest.mark.parametrize("reading", ["paper", "released"])
def test_the_plan_has_every_point_once(reading):
    settings = sweeps.plan(reading)
    assert len({json.dumps(setting.record) for setting in settings}) == len(settings)
    at_64 = {s.record["num_rows"] for s in settings if s.model == "PriCDR-J" and s.record["epsilon"] == 64}
    assert set(sweeps.ROWS) <= at_64
    usual = sweeps.READINGS[reading].source.num_rows
    for model in ("PriCDR-J", "PriCDR-J repaired"):
        swept = {s.record["epsilon"] for s in settings if s.model == model and s.record["num_rows"] == usual}
        assert swept == set(sweeps.EPSILONS)
    judged = [
        s for s in settings if s.model == "PriCDR-J" and s.record["epsilon"] in (0.5, 64) and s.share in (1, 1 / 8)
    ]
    assert {s.seeds for s in judged if s.record["num_rows"] in (usual, 100, 400, 800)} == {5}


def test_controls_differ_in_the_source_only():
    settings = {s.model: s.settings for s in reversed(sweeps.plan("paper"))}
    for model in ("PriCDR-J on noise", "PriCDR-J on zero", "PriCDR-J on plaintext", "PriCDR-J repaired", "PriCDR-S"):
        own, other = (json.loads(json.dumps(vars(settings[name]), default=str)) for name in (model, "PriCDR-J"))
        assert own.pop("source") != other.pop("source")
        assert own == other


def test_thinned_keeps_a_share_of_the_source():
    task = synthetic_task()
    thin = sweeps.thinned(task, 0.25, seed=1)
    assert thin.source.nnz == round(task.source.nnz / 4)
    assert (thin.source > task.source).nnz == 0
    assert thin.target is task.target
    assert (sweeps.thinned(task, 0.25, seed=2).source != thin.source).nnz > 0
    with pytest.raises(InvalidInput, match="at most 1"):
        sweeps.thinned(task, 2.0)


def test_ratings_of_one_domain_are_refused():
    with pytest.raises(InvalidInput, match="two domains"):
        sweeps.run(Request(synthetic()))


def test_a_run_on_made_up_ratings_resumes(tmp_path):
    told: list[str] = []
    request = Request(resume=tmp_path / "runs.jsonl", progress=told.append)
    result = plain(sweeps.run(request))
    text = json.dumps(result, allow_nan=False)
    assert len(result["runs"]) == 10
    assert any("epoch 3" in line for line in told)
    zero = next(run for run in result["runs"] if run["transform"] == "zero")
    assert zero["noise"] is None
    noisy = next(run for run in result["runs"] if run["model"] == "PriCDR-J on noise" and run["epsilon"] == 64)
    # w of appendix B.1, by hand: 204 rows, delta 1/120
    excess = 64 / (2 * math.log(4 * 2 * 204 * 120))
    assert noisy["noise"] == pytest.approx(1 / (math.sqrt(excess + 0.25) - 0.5))
    told.clear()
    assert json.dumps(plain(sweeps.run(request))) == text
    assert not any("epoch 3" in line for line in told)


def test_differences_are_paired_by_seed():
    """A source that adds 0.1 to every seed's zeros does so with an interval of no width."""
    runs = []
    for setting in sweeps.plan("paper"):
        if setting.model in ("PriCDR-J", "PriCDR-J on zero") and setting.share == 1:
            for seed in range(3):
                value = 0.2 * seed + 0.1 * (setting.model == "PriCDR-J")
                metrics = {f"{p}_{m}": value for p in ("authors", "clean") for m in sweeps.SHOWN}
                noise = None if setting.model.endswith("zero") else 1.0
                runs.append({**setting.record, "noise": noise, "seed": seed, **metrics})
    table = sweeps._against_controls(runs, "made-up")
    assert {row[-1] for row in table.rows} == {"+0.1000 [+0.1000, +0.1000]"}
    plots = sweeps._plots(runs)
    assert np.all(np.diff(plots[0].series[0].x) > 0)
    assert {series.label for series in plots[0].series} == {"PriCDR-J", "PriCDR-J on zero"}
