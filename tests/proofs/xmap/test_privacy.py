import math

import numpy as np
import pytest

from dpassay.auditors.exact import exact
from dpassay.core.claims import Claim, Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.mechanisms import mechanism
from dpassay.proofs.witnesses import checker_loss, pair_witness
from dpassay.proofs.xmap import privacy as module
from dpassay.proofs.xmap.privacy import list_cut, released_family, sensitivity_family
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
    built = mechanism("prs", "released")
    wide = mechanism("prs", "released", list_size=11)
    for dataset in pair:
        assert np.isfinite(wide.log_weights(dataset)).all()
        assert np.isfinite(built.log_weights(dataset)).sum() == 10
    # A list that holds all linked items differs by a finite loss.
    assert exact(wide, *pair).epsilon < 1
    assert math.isinf(exact(built, *pair).epsilon)


@pytest.mark.parametrize(("similarity", "norms"), module.READINGS)
def test_family_grows_and_needs_no_reading_of_a_zero_sensitivity(similarity, norms):
    built = mechanism("pnsa", similarity=similarity, norms=norms, num_neighbors=1)
    for dataset in sensitivity_family(64, similarity):
        sensitivities = np.asarray(built.candidate_sensitivities(dataset))
        assert (sensitivities > 0).all()
        assert np.isfinite(sensitivities).all()
    small, large = module._family(built, [sensitivity_family(size, similarity) for size in (64, 128)])
    slope = (large.epsilon - small.epsilon) / 64
    assert slope == pytest.approx(0.24, abs=0.01) if similarity == "cosine" else slope > 0.13


def test_proved_bound_lies_below_the_exact_loss_which_the_checker_shares():
    built = mechanism("pnsa", similarity="cosine", norms="co_raters", num_neighbors=1)
    sizes, c = (2, 5, 17, 60), math.exp(5 / 84)
    for size, witness in zip(
        sizes, module._family(built, [sensitivity_family(m, "cosine") for m in sizes]), strict=True
    ):
        weights = math.exp(size / 100), math.exp((size - 1) / 4)
        assert witness.event == ([2],)
        chances = sorted(np.exp([witness.log_probability1, witness.log_probability2]))
        assert chances == pytest.approx(sorted(c / (c + weight) for weight in weights), rel=1e-9)
        assert witness.epsilon >= 6 * size / 25 - 1 / 4 - math.log(1 + c)
        assert checker_loss(witness).epsilon == pytest.approx(witness.epsilon, rel=1e-9)


def test_released_family_keeps_its_links():
    built = mechanism("pnsa", "released", num_neighbors=1)
    assert 5 < pair_witness(built, module.RELATION, released_family(60), 1.0).epsilon < math.inf


def test_search_finds_a_witness_for_every_seed():
    for seed in range(3):
        witness = module._searched(0.5, seed)
        assert witness is not None
        (found,), _evidence = module._checked([("", witness)])
        assert checker_loss(found).epsilon > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_rejected_witness_counts_for_nothing(monkeypatch, name):
    monkeypatch.setattr(module, "checked", lambda certificate: None)
    assert registered_claim(name).judge(Context(synthetic(), quick=True)).outcome == "open"
