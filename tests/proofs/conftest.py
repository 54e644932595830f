"""What the tests of several proofs share."""

from collections.abc import Callable

import pytest

from dpassay.core.claims import Context, Outcome
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import Judged, judge


@pytest.fixture
def judged_alike() -> Callable[..., Judged]:
    """Judges a claim, and expects this outcome of it and, but for notes, of every certificate behind it."""

    def judged(claim_id: str, outcome: Outcome, *, quick: bool = False) -> Judged:
        claim = find_claim(claim_id)
        assert claim is not None
        item = judge(claim, Context(data=synthetic(), quick=quick))
        assert item.verdict.outcome == outcome, item.verdict.explanation
        assert set(item.concluded) <= {outcome, f"part of {outcome}", "note"}
        return item

    return judged
