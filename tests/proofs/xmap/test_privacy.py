import math

import numpy as np
import pytest

from dpassay.auditors.exact import exact
from dpassay.core.claims import Claim, Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.mechanisms import mechanism
from dpassay.proofs.xmap import privacy as module
from dpassay.proofs.xmap.privacy import Pair, list_cut, released_family, sensitivity_family
from dpassay.replay import Rejected, check, conclusion, seal

NAMES = ("XM-T1", "XM-T1-REL", "XM-PNSA", "XM-PNSA-REL")
INFINITE = {"XM-T1", "XM-T1-REL", "XM-PNSA-REL"}


def registered_claim(name: str) -> Claim:
    claim = find_claim(name)
    assert claim is not None
    return claim


@pytest.fixture(scope="module")
def verdicts():
    context = Context(synthetic(), quick=False)
    return {name: registered_claim(name).judge(context) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_verdict_and_certificates(verdicts, name):
    claim, verdict = registered_claim(name), verdicts[name]
    assert verdict.outcome == "refuted"
    assert verdict.witness.changed
    assert verdict.epsilon_lower > verdict.epsilon_claimed
    assert math.isinf(verdict.epsilon_lower) == (name in INFINITE)
    for record in verdict.evidence:
        sealed = seal(claim.id, claim.statement, record.certificate["kind"], record.certificate["inputs"])
        assert conclusion(sealed).concludes == "refuted"
    assert verdict.to_json()


@pytest.mark.parametrize("name", NAMES)
def test_a_witness_whose_user_stays_is_rejected(verdicts, name):
    for record in verdicts[name].evidence:
        if record.kind == "witness":
            inputs = dict(record.certificate["inputs"])
            with pytest.raises(Rejected):
                check("witness", inputs | {"dataset2": inputs["dataset1"]})
            with pytest.raises(Rejected):
                check("witness", inputs | {"dataset1": inputs["dataset2"], "dataset2": inputs["dataset1"]})
            two_gone = [[None] * len(row) if index < 2 else row for index, row in enumerate(inputs["dataset1"])]
            with pytest.raises(Rejected):
                check("witness", inputs | {"dataset2": two_gone})


@pytest.mark.parametrize("name", NAMES)
def test_the_repaired_mechanism_gives_no_witness(verdicts, name):
    # The same datasets and outputs under the repair of the same mechanism.
    witness = verdicts[name].witness
    id = witness.mechanism["id"]
    kept = {"target", "source_item", "num_source_items"}
    parameters = {key: value for key, value in witness.mechanism["parameters"].items() if key in kept}
    repaired = mechanism(
        id, "repaired", **parameters, **({"num_neighbors": 1, "similarity": "cosine"} if id == "pnsa" else {})
    )
    loss = exact(repaired, witness.dataset1, witness.dataset2)
    assert 0 < loss.epsilon <= repaired.claim.epsilon


def test_xm_t1_is_minimal_and_grows_no_smaller(verdicts):
    records = verdicts["XM-T1"].evidence
    assert len(records) == 4
    for record in records:
        assert "none of the smaller neighboring pairs makes an output impossible" in record.summary
    inputs = records[0].certificate["inputs"]
    wider = inputs | {name: [[*row, None] for row in inputs[name]] for name in ("dataset1", "dataset2")}
    with pytest.raises(Rejected, match="not minimal"):
        check("witness", wider)


def test_list_is_cut_although_all_links_stay():
    pair = list_cut()
    matrix, without = module._matrix(pair.levels), module._matrix(pair.without)
    built = mechanism("prs", "released")
    wide = mechanism("prs", "released", list_size=11)
    for dataset in (matrix, without):
        assert np.isfinite(wide.log_weights(dataset)).all()
        assert np.isfinite(built.log_weights(dataset)).sum() == 10
    # A list that holds all linked items differs by a finite loss.
    assert exact(wide, matrix, without).epsilon < 1
    assert math.isinf(exact(built, matrix, without).epsilon)


@pytest.mark.parametrize(("similarity", "norms"), module.READINGS)
def test_family_grows_and_needs_no_reading_of_a_zero_sensitivity(similarity, norms):
    built = mechanism("pnsa", similarity=similarity, norms=norms, num_neighbors=1)
    record = module._record("pnsa", similarity=similarity, norms=norms, num_neighbors=1)
    pair = sensitivity_family(64, similarity)
    for levels in (pair.levels, pair.without):
        sensitivities = np.asarray(built.candidate_sensitivities(module._matrix(levels)))
        assert (sensitivities > 0).all()
        assert np.isfinite(sensitivities).all()
    larger = module._loss(record, sensitivity_family(128, similarity)).epsilon
    slope = (larger - module._loss(record, pair).epsilon) / 64
    assert slope == pytest.approx(0.24, abs=0.01) if similarity == "cosine" else slope > 0.13


@pytest.mark.parametrize("size", [2, 5, 17, 60])
def test_proved_bound_lies_below_the_exact_loss(size):
    record = module._record("pnsa", similarity="cosine", norms="co_raters", num_neighbors=1)
    c = math.exp(5 / 84)
    laws = [
        module._law(record, levels)
        for levels in (sensitivity_family(size, "cosine").levels, sensitivity_family(size, "cosine").without)
    ]
    weights = [math.exp(size / 100), math.exp((size - 1) / 4)]
    for law, weight in zip(laws, weights, strict=True):
        assert float(law[2,]) == pytest.approx(c / (c + weight), rel=1e-9)
    bound = 6 * size / 25 - 1 / 4 - math.log(1 + c)
    assert module._loss(record, sensitivity_family(size, "cosine")).epsilon >= bound


def test_released_family_keeps_its_links():
    record = module._record("pnsa", "released", num_neighbors=1)
    pair = released_family(60)
    assert module._law(record, pair.levels).keys() == module._law(record, pair.without).keys() == {(1,), (2,)}
    assert module._loss(record, pair).epsilon > 5


def test_search_finds_and_shrinks_for_every_seed():
    record = module._record("pnsa", num_neighbors=1)
    for seed in range(3):
        pair = module._searched(record, 0.5, seed)
        assert pair is not None
        assert module._loss(record, pair).epsilon > 0.5
        assert all(module._loss(record, smaller).epsilon <= 0.5 for smaller in module._smaller(pair))


def test_undefined_pairs_lose_nothing():
    assert module._loss(module._record("prs"), Pair(((1, 2),), 0)).epsilon == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_rejected_witness_counts_for_nothing(monkeypatch, name):
    monkeypatch.setattr(module, "checked", lambda certificate: None)
    assert registered_claim(name).judge(Context(synthetic(), quick=True)).outcome == "open"
