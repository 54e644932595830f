"""Every registered claim comes out as reviewed, and every certificate replays from its file."""

import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import all_claims, expected_outcomes
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.replay import replay
from dpassay.report import validate_certificate


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.id) for claim in all_claims() if not claim.data])
def test_claim_comes_out_as_reviewed_and_replays(claim, tmp_path):
    item = judge(claim, Context(synthetic(), quick=True))
    assert item.verdict.outcome == expected_outcomes()[claim.id][""], item.verdict.explanation
    for name, certificate in zip(item.file_names(), item.certificates, strict=True):
        certificate.write(tmp_path / name)
        validate_certificate(certificate.to_json())
        outcome = replay(tmp_path / name)
        assert outcome.checks, f"{name}: {outcome.reason}"
