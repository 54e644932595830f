"""The calibration: its mechanisms meet their claims with equality, its verdicts can fail, a killed run goes on."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpassay.auditors.audit import run_audit
from dpassay.benchmarks import calibration
from dpassay.benchmarks.calibration import PROMISE, Cell, Tally, exceeds, measure
from dpassay.benchmarks.calibration_cases import CASES
from dpassay.core.records import plain

ALPHA = 1e-6


@pytest.mark.parametrize("name", CASES)
def test_mechanisms_meet_their_claim_with_equality(name: str) -> None:
    """The boundary event's p - e^epsilon q is delta, up to chance: neither more, nor something to spare."""
    case = CASES[name]
    event, likelier = case.boundary
    number = 200_000 if case.batched else 40_000
    epsilon, delta = (
        (case.claim.epsilon, case.claim.delta) if case.claim.kind == "dp" else (1.0, float(case.claim.delta_at(1.0)))
    )
    assert epsilon is not None
    pair = case.pairs[0]
    shares = []
    for side in (likelier, 1 - likelier):
        rng = np.random.default_rng([5, side])
        if hasattr(case.function, "sample"):
            import jax

            outputs = jax.vmap(case.function.sample, (0, None))(
                jax.random.split(jax.random.key(side), number), pair[side]
            )
        elif case.batched:
            outputs = case.function(rng, pair[side], number)
        else:
            outputs = [case.function(rng, pair[side]) for _ in range(number)]
        shares.append(float(np.mean(np.asarray(event(outputs)))))
    p, q = shares
    spread = math.sqrt((p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)) / number)
    assert abs(p - math.exp(epsilon) * q - delta) < -stats.norm.ppf(ALPHA / 2) * spread
    assert spread < 0.03
    assert 0.02 < q < p


def test_the_loss_of_report_noisy_max_is_the_largest_of_its_answers() -> None:
    weights = [np.exp(np.array(queries) / 2) for queries in CASES["report noisy max"].pairs[0]]
    losses = np.log(weights[0] / weights[0].sum()) - np.log(weights[1] / weights[1].sum())
    assert CASES["report noisy max"].claim.epsilon == pytest.approx(np.abs(losses).max(), abs=1e-12)


def test_missing_values_keep_the_claim_but_not_when_they_are_dropped() -> None:
    ones = np.array([0.325, 0.325, 0.35])  # 1, NaN, 0 under dataset 1
    twos = np.array([0.325 / math.e, 0.325 / math.e, 1 - 0.65 / math.e])
    assert np.abs(np.log(ones / twos)).max() == pytest.approx(1.0)
    kept = [side[[0, 2]] / (1 - side[1]) for side in (ones, twos)]
    assert np.abs(np.log(kept[0] / kept[1])).max() > 1.2


@pytest.mark.parametrize(
    ("wrong", "units", "confidence"), [(0, 50, 0.9999), (9, 50, 0.9999), (18, 50, 0.9999), (50, 50, 0.95)]
)
def test_verdicts_are_clopper_pearson_bounds(wrong: int, units: int, confidence: float) -> None:
    low = stats.binomtest(wrong, units).proportion_ci(2 * confidence - 1, method="exact").low
    assert exceeds(wrong, units, low - 1e-9, confidence) or wrong == 0
    assert not exceeds(wrong, units, low + 1e-9, confidence)


def test_what_a_unit_does_depends_on_nothing_but_its_number() -> None:
    cell = Cell("one law for all", "fixed", 60, 8)
    whole = measure(cell, 3)
    assert whole == measure(cell, 3, 0, 3) + measure(cell, 3, 3, 5)
    assert (whole.units, whole.stopped) == (8, 0)


def test_the_boundary_is_where_audits_err_most_often() -> None:
    """At the boundary alarms do come, so the rate means something; a claim of twice the truth gets none."""
    boundary = measure(Cell("randomized response", "fixed", 400, 40), 1)
    spare = measure(Cell("randomized response", "fixed", 400, 5, factor=0.5), 1)
    assert boundary.refuted == boundary.above > 0
    assert not exceeds(boundary.wrong, boundary.units, PROMISE, 1 - ALPHA)
    assert spare.refuted == 0


def test_bounds_above_the_truth_count_where_the_claim_is_too_small() -> None:
    tally = measure(Cell("randomized response", "fixed", 1000, 8, factor=2.0), 1)
    assert tally.refuted == 8
    assert tally.wrong == tally.above < 6


@pytest.mark.parametrize("mode", ["suite", "ledger", "search", "looks"])
def test_units_of_every_kind(mode: calibration.Mode) -> None:
    assert measure(Cell("Laplace", mode, 64, 1), 2) == Tally(1)


def test_samples_that_cannot_be_drawn_are_no_verdict() -> None:
    tally = measure(Cell("Laplace", "fixed", 4, 2), 0)
    assert tally.stopped == tally.units == 2
    assert "num_samples is 4" in tally.errors


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cells, in the manner of the real ones."""
    cells = [Cell("randomized response", "fixed", 64, 30), Cell("Laplace", "anytime", 64, 2)]
    monkeypatch.setattr(calibration, "_sound", lambda quick: cells)
    monkeypatch.setattr(calibration, "_broken", lambda quick: [Cell("Laplace", "fixed", 3000, 2, factor=2.0)])
    monkeypatch.setattr("dpassay.benchmarks.auditor_faults.FAULTS", {})


def _noted(ran: list[Cell], task: tuple[Any, ...]) -> tuple[Any, ...]:
    ran.append(task[0])
    return task


def test_a_killed_run_goes_on(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.jsonl"
    ran: list[Cell] = []

    def measured(cell: Cell, seed: int, first: int, units: int) -> Tally:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(cell)
        return measure(cell, seed, first, units)

    monkeypatch.setattr(calibration, "measure", measured)
    with pytest.raises(KeyboardInterrupt):
        calibration.tables(True, 0, lambda _: None, path)
    path.write_text(path.read_text() + '\n{"key": "cut o')
    monkeypatch.setattr(calibration, "measure", lambda *task: measure(*_noted(ran, task)))
    texts: list[str] = []
    resumed = calibration.tables(True, 0, texts.append, path)
    assert (len(ran), len(texts)) == (4, 2)
    monkeypatch.setattr(calibration, "measure", lambda *_: pytest.fail("everything is kept"))
    again = calibration.tables(True, 0, lambda _: None, path)
    assert again == resumed
    rows = resumed[0].rows
    columns = resumed[0].columns
    assert [row[columns.index("audits")] for row in rows] == [30, 2, 30, 2, 32]
    assert all(len(row) == len(table.columns) for table in resumed for row in table.rows)
    assert {row[-1] for table in resumed for row in table.rows} == {"pass"}
    json.dumps(plain(resumed))


def test_other_code_or_another_seed_runs_again(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code_changed: Callable[..., Any]
) -> None:
    path = tmp_path / "kept.jsonl"
    ran: list[Cell] = []
    monkeypatch.setattr(calibration, "measure", lambda *task: Tally(_noted(ran, task)[3]))
    calibration.tables(True, 0, lambda _: None, path)
    calibration.tables(True, 1, lambda _: None, path)
    for module in ("auditors.fixed_sample", "benchmarks.auditor_faults", "core.privacy"):
        with code_changed(f"dpassay.{module}"):
            calibration.tables(True, 1, lambda _: None, path)
    with code_changed("dpassay.report.html"):
        calibration.tables(True, 1, lambda _: None, path)
    assert len(ran) == 5 * 4


def test_false_alarms_fail_the_run(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test at five times its failure probability is marked, and so is the total."""

    def doubled(*args: object, **options: object) -> object:
        return run_audit(*args, **{**options, "failure_probability": 0.5})  # type: ignore[arg-type]

    monkeypatch.setattr("dpassay.auditors.audit.run_audit", doubled)
    monkeypatch.setattr(
        calibration,
        "_sound",
        lambda quick: [Cell("one law for all", "fixed", 400, 30), Cell("Laplace", "fixed", 64, 2)],
    )
    monkeypatch.setattr(calibration, "_broken", lambda quick: [])
    sound, *_ = calibration.tables(True, 0, lambda _: None, tmp_path / "kept.jsonl")
    verdicts = {row[0]: row[-1] for row in sound.rows}
    assert verdicts == {"one law for all": "FAIL", "Laplace": "pass", "together": "FAIL"}


def test_deaf_tests_fail_the_run(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "measure", lambda cell, seed, first, units: Tally(units))
    monkeypatch.setattr(calibration, "_broken", lambda quick: [Cell("Laplace", "fixed", 3000, 20, factor=1.3)])
    sound, broken, _ = calibration.tables(True, 0, lambda _: None, tmp_path / "kept.jsonl")
    assert {row[-1] for row in sound.rows} == {"pass"}
    assert [row[-1] for row in broken.rows] == ["FAIL"]


def test_other_processes_agree_with_this_one(tmp_path: Path) -> None:
    cells = [Cell("randomized response", "fixed", 64, 3)]
    apart = calibration._run(cells, 4, 2, tmp_path / "two.jsonl", lambda _: None)
    assert apart == [measure(cell, 4) for cell in cells]
