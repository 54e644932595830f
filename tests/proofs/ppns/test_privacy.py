import dataclasses
import itertools
import math

import jax
import numpy as np
import pytest

from dpassay.auditors import search as engine
from dpassay.auditors.exact import exact
from dpassay.auditors.search import minimize, search
from dpassay.core.claims import Claim, Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.mechanisms import mechanism
from dpassay.proofs.ppns import privacy as module
from dpassay.proofs.ppns.privacy import Membership, sensitivity_family
from dpassay.proofs.witnesses import pair_witness
from dpassay.replay import Rejected, check, conclusion, seal

ADD, REPLACE = module.ADD, module.REPLACE
OUTCOMES = {
    "PP-EM": "refuted",
    "PP-PNCF-NOT": "holds",
    "PP-DP": "refuted",
    "PP-MARG-INF": "refuted",
    "PP-ORIG": "holds",
}


def registered_claim(name: str) -> Claim:
    claim = find_claim(name)
    assert claim is not None
    return claim


@pytest.fixture(scope="module")
def context():
    return Context(synthetic(), quick=True)


@pytest.fixture(scope="module")
def verdicts(context):
    return {name: registered_claim(name).judge(context) for name in OUTCOMES}


@pytest.mark.parametrize("name", OUTCOMES)
def test_verdict_and_certificates(verdicts, name):
    claim, verdict = registered_claim(name), verdicts[name]
    assert verdict.outcome == OUTCOMES[name]
    assert verdict.witness.changed
    assert verdict.epsilon_lower > verdict.epsilon_claimed
    outcomes = []
    for record in verdict.evidence:
        sealed = seal(claim.id, claim.statement, record.certificate["kind"], record.certificate["inputs"])
        outcomes.append(conclusion(sealed).concludes)
        assert sealed.kind == record.kind
    assert verdict.outcome in outcomes
    assert verdict.to_json()


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_witness_with_its_rating_put_back_is_rejected(verdicts, name):
    # The same datasets twice: nothing changed, so nothing is violated.
    for record in verdicts[name].evidence:
        if record.kind == "witness":
            inputs = dict(record.certificate["inputs"])
            with pytest.raises(Rejected):
                check("witness", inputs | {"dataset2": inputs["dataset1"]})
            with pytest.raises(Rejected):
                check("witness", inputs | {"dataset1": inputs["dataset2"], "dataset2": inputs["dataset1"]})


def test_ppns_minimality_is_in_the_certificates(verdicts):
    for record in verdicts["PP-DP"].evidence:
        assert "none of the smaller neighboring pairs violates the claim" in record.summary
    # A witness with an item too many is not minimal.
    inputs = verdicts["PP-DP"].evidence[0].certificate["inputs"]
    wider = inputs | {name: [[*row, None] for row in inputs[name]] for name in ("dataset1", "dataset2")}
    wider["dataset1"][0][-1] = wider["dataset2"][0][-1] = 1
    with pytest.raises(Rejected, match="not minimal"):
        check("witness", wider)


@pytest.mark.parametrize(
    "decide", ["decide_ppns", "decide_original", "decide_pncf_truncation", "decide_marginals_inference"]
)
def test_nothing_found_is_open(monkeypatch, context, decide):
    monkeypatch.setattr(module, "search", lambda *_, **__: None)
    verdict = getattr(module, decide)(registered_claim("PP-DP"), context)
    assert verdict.outcome == "open"


def test_a_rejected_witness_counts_for_nothing(monkeypatch, verdicts, context):
    monkeypatch.setattr(module, "checked", lambda certificate: None)
    monkeypatch.setattr(module, "_smallest", lambda *_, **__: verdicts["PP-DP"].witness)
    monkeypatch.setattr(module, "_impossible", lambda *_, **__: verdicts["PP-ORIG"].witness)
    assert module.decide_ppns(registered_claim("PP-DP"), context).outcome == "open"
    assert module.decide_original(registered_claim("PP-ORIG"), context).outcome == "open"


def test_every_seed_refutes_ppns():
    selection = mechanism("ppns")
    for seed in range(20):
        witness = search(selection, ADD, epsilon=1.0, seed=seed, num_users=4, num_items=2, fixed=("num_neighbors",))
        assert witness is not None
        assert witness.epsilon == math.inf
        assert witness.notes[-1].startswith("k = 2, 3 candidates, 1 item, 2 ratings, the largest 1; none of ")


@pytest.mark.parametrize(("k", "candidates"), [(1, 2), (2, 3)])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_repaired_selection_is_private_on_everything_enumerated(relation, k, candidates):
    # Norms of at least 2 and ratings up to 5: the cosines move by up to 1, the bound that the weights are made for.
    repaired = mechanism("npns", "repaired", num_neighbors=k, norm_floor=2.0)
    problem = engine._problem(repaired, relation, 1.0, 0.0, None, candidates + 1, 2, engine.SCALE)
    bound = engine.Size(k, candidates, 2, 3, 5)
    instances = engine._instances(problem, k, candidates, 2, bound, 200_000)
    assert instances is not None
    first, second = instances
    with jax.enable_x64(True):
        scores = problem.score(k, first, second)
    assert len(scores) > 500
    assert 0.1 < np.max(scores) <= 1.0
    assert search(repaired, relation, epsilon=1.0, start=np.ones((candidates + 1, 2)), time_limit=0.5) is None
    # Against a smaller claim the same search finds a witness.
    witness = search(
        repaired, relation, epsilon=0.1, start=np.ones((candidates + 1, 2)), fixed=("num_neighbors",), minimal=False
    )
    assert witness is not None
    assert 0.1 < witness.epsilon <= 1.0


def test_minimize_agrees_with_the_checker():
    first = np.full((4, 2), np.nan)
    first[0], first[3, 0], first[1, 1] = 1, 1, 2
    second = first.copy()
    second[0] = [np.nan, 1]
    shrunk = minimize(mechanism("ppns"), ADD, first, second, epsilon=1.0, fixed=("num_neighbors", "candidates"))
    assert shrunk.complete
    assert shrunk.size == (2, 3, 1, 2, 1)
    record = module._evidence(shrunk.witness, "", 1.0, minimal=True, only_minimal=True)
    assert record is not None


@pytest.mark.parametrize(("relation", "limit"), [(ADD, 0.24), (REPLACE, 0.04)])
def test_family_grows_without_bound(relation, limit):
    selection = mechanism("npns", num_neighbors=1, sensitivity="local")
    pairs = [module.sensitivity_family(relation, size) for size in (61, 121)]
    small, large = (pair_witness(selection, relation, pair, 0.5, pairs[1][0].shape).epsilon for pair in pairs)
    # Slopes of the exponents: 1/4 - 1/100 for an added rating, 1/20 - 1/100 for a changed one.
    assert (large - small) / 60 == pytest.approx(limit, abs=0.008)


def test_family_by_hand():
    # m = 5: weights e^((m-1)/4) = e against 1, and e^(m/100) against 1.
    first, second = sensitivity_family(ADD, 6)
    loss = exact(mechanism("npns", num_neighbors=1, sensitivity="local"), first, second)
    by_hand = math.log((1 + math.e) / (1 + math.exp(0.05)))
    assert loss.epsilon_forward == pytest.approx(by_hand, abs=1e-12)
    # With a constant sensitivity of 1, which bounds the change of a cosine in [0, 1], the step keeps epsilon/2.
    assert exact(mechanism("npns", num_neighbors=1, sensitivity=1.0), first, second).epsilon <= 0.5


def test_membership_is_the_marginal():
    generator = np.random.default_rng(3)
    dataset = generator.integers(1, 6, (5, 3)).astype(float)
    other = dataset.copy()
    other[2, 1] = np.nan
    selection = mechanism("ppns")
    whole, single = exact(selection, dataset, other), exact(Membership(selection, 2), dataset, other)
    among = (whole.outputs == 2).any(axis=1)
    assert np.exp(whole.log_probabilities1[among]).sum() == pytest.approx(np.exp(single.log_probabilities1[1]))
    # Every user is released with positive probability, although sets are not.
    assert np.isneginf(whole.log_probabilities1).any()
    assert np.isfinite(single.log_probabilities1).all()


def test_certificate_of_an_exact_loss_checks():
    first = np.array([[1, np.nan], [1, 1], [np.nan, 1], [2, 2.5]])
    for selection, change in itertools.product(
        (mechanism("npns", sensitivity=1.0), mechanism("ppns"), mechanism("knn")),
        ((0, 1, 1.0), (3, 0, np.nan), (1, 0, 4)),
    ):
        second = first.copy()
        second[change[0], change[1]] = change[2]
        loss = exact(selection, first, second)
        if loss.certificate is not None:
            result = check(loss.certificate["kind"], loss.certificate["inputs"])
            assert float(result["epsilon_lower"]) == pytest.approx(loss.epsilon, abs=1e-9)
    far = first.copy()
    far[1:] = 5
    assert exact(mechanism("ppns"), first, far).certificate is None


def test_mirroring_swaps_the_tie_rules():
    witness = search(mechanism("ppns"), ADD, epsilon=1.0, num_users=4, num_items=2, fixed=("num_neighbors",))
    mirrored = module._mirrored(witness)
    assert witness is not None
    assert mirrored is not None
    selection = dataclasses.replace(mechanism("ppns"), ties="last")
    loss = exact(selection, mirrored.dataset1, mirrored.dataset2)
    chosen = [tuple(output) in {tuple(member) for member in mirrored.event} for output in loss.outputs.tolist()]
    assert np.exp(loss.log_probabilities1[chosen]).sum() == pytest.approx(math.exp(witness.log_probability1))
    assert np.isneginf(loss.log_probabilities2[chosen]).all()


def test_every_candidate_may_be_selected_and_privacy_does_not_follow(context, verdicts):
    clause = registered_claim("PP-MARG").judge(context)
    assert (clause.outcome, [record.kind for record in clause.evidence]) == ("holds", ["proof"])
    inferred = verdicts["PP-MARG-INF"].witness
    assert 0 < math.exp(inferred.log_probability2) < math.exp(inferred.log_probability1 - inferred.claim.epsilon)
