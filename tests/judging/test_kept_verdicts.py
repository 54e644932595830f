"""An interrupted verify goes on where it stopped: nothing is lost, nothing judged twice, nothing stale is used."""

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging import kept_verdicts, verification
from dpassay.judging.judge import Judged, judge
from dpassay.judging.kept_verdicts import KeptVerdicts

CLAIMS = ["PP-LAM2", "PP-P", "PP-PMF"]


class Stop(Exception):
    pass


def interrupted_run(cache, after):
    """Runs until `after` claims are judged."""
    ended = []

    def finished(item):
        ended.append(item.claim.id)
        if len(ended) == after:
            raise Stop

    with pytest.raises(Stop):
        verification.run(claims=CLAIMS, quick=True, cache=cache, finished=finished)
    return ended


@pytest.mark.parametrize("after", [1, 2])
def test_interrupted_run_goes_on(tmp_path, after):
    before = interrupted_run(tmp_path, after)
    begun = []
    resumed = verification.run(claims=CLAIMS, quick=True, cache=tmp_path, started=lambda claim: begun.append(claim.id))
    assert sorted(before + begun) == sorted(CLAIMS)
    fresh = verification.run(claims=CLAIMS, quick=True)
    assert [item.verdict for item in resumed.judged] == [item.verdict for item in fresh.judged]
    assert [item.certificates for item in resumed.judged] == [item.certificates for item in fresh.judged]
    assert list(tmp_path.iterdir()) == []


def begun_again(cache, **settings):
    """The claims that a run does not find in the cache."""
    begun = []
    given = {"claims": CLAIMS, "quick": True, "cache": cache, "started": lambda claim: begun.append(claim.id)}
    verification.run(**{**given, **settings})
    return sorted(begun)


@pytest.mark.parametrize("settings", [{"seed": 1}, {"quick": False}, {"data": synthetic(60, 40)}])
def test_other_settings_and_data_are_judged_again(tmp_path, settings):
    interrupted_run(tmp_path, 1)
    assert begun_again(tmp_path, **settings) == sorted(CLAIMS)
    assert len(begun_again(tmp_path)) == len(CLAIMS) - 1  # whose run has another file


@pytest.mark.parametrize("change", ["outcome", "certificate"])
def test_a_changed_verdict_is_judged_again(tmp_path, change):
    interrupted_run(tmp_path, 2)
    (path,) = tmp_path.iterdir()
    first, second = path.read_text().splitlines()[1:]
    old, new = {"outcome": ('"holds"', '"open"'), "certificate": ("sha256", "sha265")}[change]
    assert old in first
    path.write_text(f"{first.replace(old, new, 1)}\n{second}")
    assert len(begun_again(tmp_path)) == len(CLAIMS) - 1


def test_flipped_bytes_never_give_another_verdict(tmp_path):
    context = Context(synthetic(), quick=True)
    kept = KeptVerdicts(tmp_path, context)
    claims = select(None, CLAIMS)
    before = {claim.id: judge(claim, context).to_json() for claim in claims}
    for claim in claims:
        kept.keep(Judged.from_json(claim, before[claim.id]))
    whole = kept.path.read_bytes()
    generator = np.random.default_rng(7)
    lost = 0
    for place, change in zip(generator.integers(len(whole), size=300), generator.integers(1, 256, 300), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= change
        kept.path.write_bytes(damaged)
        found = [KeptVerdicts(tmp_path, context).find(claim) for claim in claims]
        lost += None in found
        assert all(item is None or item.to_json() == before[item.claim.id] for item in found), (place, change)
    assert lost > 250  # what else a byte may say without another meaning is the length of a space, or an E for an e


def test_changed_code_and_results_are_judged_again(tmp_path, monkeypatch, code_changed):
    interrupted_run(tmp_path, 1)
    (first,) = select(None, CLAIMS[:1])
    context = Context(synthetic(), quick=True)
    assert KeptVerdicts(tmp_path, context).find(first) is not None

    def found_after(module):
        with code_changed(module):
            return KeptVerdicts(tmp_path, context).find(first) is not None

    assert not found_after(first.decide.partition(":")[0])
    assert not found_after("dpassay.replay.proof")  # imported by name, when a certificate is sealed
    assert not found_after("dpassay.core.claims")
    assert found_after("dpassay.proofs.pricdr.questions")  # of another claim
    assert found_after("dpassay.report.html")
    monkeypatch.setattr(kept_verdicts, "data_digest", lambda: "others")
    assert KeptVerdicts(tmp_path, context).find(first) is None


def test_a_witness_is_kept_whole(tmp_path):
    context = Context(synthetic(), quick=True)
    (claim,) = select(None, ["PP-DP"])
    judged = judge(claim, context)
    KeptVerdicts(tmp_path, context).keep(judged)
    again = KeptVerdicts(tmp_path, context).find(judged.claim)
    assert again is not None
    assert again.to_json() == judged.to_json()
    witness, same = judged.verdict.witness, again.verdict.witness
    assert witness is not None
    assert same is not None
    assert (same.claim, same.relation, same.epsilon) == (witness.claim, witness.relation, witness.epsilon)
    np.testing.assert_array_equal(same.dataset1, witness.dataset1)


def test_unwritable_cache_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    result = verification.run(claims=CLAIMS[:1], quick=True, cache=tmp_path / "file")
    assert result.judged[0].verdict.outcome == "holds"
