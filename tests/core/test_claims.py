"""Every registered claim comes out as reviewed, and its verdict and certificates can be read again."""

import json

import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import all_claims, expected_outcomes
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import Judged, judge
from dpassay.replay import replay
from dpassay.report import validate_certificate

RATINGS = synthetic()


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.id) for claim in all_claims() if not claim.data])
def test_claim_comes_out_as_reviewed_and_replays(claim, tmp_path):
    item = judge(claim, Context(RATINGS, quick=True))
    assert item.verdict.outcome == expected_outcomes()[claim.id][""], item.verdict.explanation
    written = json.dumps(item.to_json())
    assert json.dumps(Judged.from_json(claim, json.loads(written)).to_json()) == written
    for name, certificate in zip(item.file_names(), item.certificates, strict=True):
        certificate.write(tmp_path / name)
        validate_certificate(certificate.to_json())
        outcome = replay(tmp_path / name)
        assert outcome.checks, f"{name}: {outcome.reason}"
