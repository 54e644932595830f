"""The cost of the private selections: limits that are known, and laws that are the mechanisms'."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments import run
from dpassay.experiments.ppns import experiment
from dpassay.experiments.ppns.utility import _floor_norm, _noisy, _scores, repaired_utility
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.batched_users import Block
from dpassay.proofs.ppns.utility import utility_evidence
from dpassay.replay import check

ALPHA = 1e-6
SYNTHETIC = synthetic()


@pytest.mark.parametrize("protect", ["everyone", "candidates"])
def test_the_private_selection_has_the_law_of_the_mechanism(protect: str) -> None:
    generator = np.random.default_rng(0)
    matrix = generator.integers(1, 6, (7, 5)).astype(float)
    matrix[generator.random(matrix.shape) < 0.3] = np.nan
    ratings = Ratings.from_dense(matrix)
    model = mechanism("npns", "repaired", num_neighbors=2, epsilon=20.0, norm_floor=6.0, protect=protect)
    outputs = np.asarray(model.outputs(ratings))
    law = np.exp([float(model.log_prob(output, ratings)) for output in outputs])
    draws = 20_000
    scores = _scores(ratings, 6.0)[0].copy()
    scores[0] = -np.inf
    selection = _floor_norm(ratings, 2, 20.0, 6.0, protect)  # type: ignore[arg-type]
    chosen = selection(Block(np.zeros(draws, int), np.tile(scores, (draws, 1))), np.random.default_rng(1))
    index = {tuple(output): number for number, output in enumerate(outputs.tolist())}
    members = np.nonzero(chosen)[1].reshape(draws, 2)
    counts = np.bincount([index[tuple(row)] for row in members.tolist()], minlength=len(outputs))
    assert scipy.stats.chisquare(counts, law * draws).pvalue > ALPHA
    flat = np.full(len(law), draws / len(law))
    assert scipy.stats.chisquare(counts, flat).pvalue < ALPHA, "the test would notice weights that are ignored"


def test_noise_has_the_mechanisms_scale() -> None:
    model = mechanism("ppns", "repaired", num_neighbors=10, epsilon=3.0, norm_floor=20.0)
    noisy, selection = _noisy(SYNTHETIC, 10, 3.0, 20.0, np.random.default_rng(0))
    noise = noisy * (selection.scale * 4 * 10 * model.global_sensitivity / 3.0) - _scores(SYNTHETIC, 20.0)
    scale = (SYNTHETIC.num_users - 1) * model.global_sensitivity / 3.0
    assert np.abs(noisy).max() == 1
    assert scipy.stats.kstest(noise.ravel(), "laplace", (0, scale)).pvalue > ALPHA
    assert scipy.stats.kstest(noise.ravel(), "laplace", (0, 1.2 * scale)).pvalue < ALPHA


def test_the_limits_of_epsilon() -> None:
    results = repaired_utility(SYNTHETIC, (1e-6, 1e6), (10.0,), num_neighbors=10, draws=2)
    named = {(entry.method, entry.epsilon): entry for entry in results}
    nearest = named["kNN, floor-norm cosine", float("inf")]
    assert named["nPNS repaired", 1e6].error == pytest.approx(nearest.error, abs=5e-3)
    uniform = named["uniform", 0.0]
    assert named["nPNS repaired", 1e-6].error == pytest.approx(uniform.error, abs=0.03)
    assert abs(nearest.error - uniform.error) > 0.03
    assert all(entry.covered <= 1 and np.isfinite(entry.complete_error) for entry in results)


def test_evidence_is_recomputed_from_its_runs() -> None:
    evidence = utility_evidence(Context(SYNTHETIC, quick=True))
    assert evidence.certificate is not None
    result = check(evidence.certificate["kind"], json.loads(json.dumps(evidence.certificate["inputs"])))
    better = sum(entry["side"] == "negative" for entry in result["comparisons"].values())
    assert f"than PNCF at {better} of {len(result['comparisons'])} values of epsilon" in evidence.summary
    assert len(evidence.tables[0].rows) > 10


def test_the_experiment_runs_without_data() -> None:
    result = run("ppns", quick=True)
    json.dumps(result, allow_nan=False)
    assert result["inputs"][0]["name"] == "synthetic"
    assert result["outcomes"] == {}
    assert result["runs"]
    with pytest.raises(InvalidInput, match="choose from ppns"):
        run("ppms")


def test_the_experiment_shares_its_work_out_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = Verdict(
        "PP-DATA", "holds", "", (Evidence("reproduction", "", {"kind": "k"}, (Table("t", ["a"], [[1]]),)),)
    )
    found = find_claim("PP-DATA")
    assert found is not None
    claim = replace(found, data="")
    monkeypatch.setattr(experiment, "find_claim", lambda name: claim if name == claim.id else None)
    monkeypatch.setattr(Claim, "judge", lambda claim, context: verdict)
    alone = run("ppns", quick=True, resume=tmp_path / "kept")
    assert (alone["outcomes"], alone["certificates"]) == ({"PP-DATA": "holds"}, {"PP-DATA-1": {"kind": "k"}})
    assert alone["tables"][0]["title"] == "t"
    assert run("ppns") != alone
    with ThreadPoolExecutor(2) as executor:
        assert run("ppns", quick=True, executor=executor) == alone
    monkeypatch.setattr(experiment, "accuracy", None)  # all that follows is in the file
    monkeypatch.setattr(Claim, "judge", None)
    assert run("ppns", quick=True, resume=tmp_path / "kept") == alone
