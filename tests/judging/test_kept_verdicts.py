"""An interrupted verify goes on where it stopped: nothing is lost, nothing judged twice, nothing stale is used."""

import pytest

from dpassay.core.claims import Context
from dpassay.data.ratings import synthetic
from dpassay.judging import verification
from dpassay.judging.kept_verdicts import Kept

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


def test_other_settings_or_a_damaged_file_are_judged_again(tmp_path):
    (first,) = interrupted_run(tmp_path, 1)
    begun = []
    verification.run(claims=CLAIMS, quick=True, seed=1, cache=tmp_path, started=lambda claim: begun.append(claim.id))
    assert sorted(begun) == sorted(CLAIMS)
    kept = Kept(tmp_path, Context(synthetic(), quick=True))
    (kept.folder / first).write_bytes(b"damaged")
    begun.clear()
    verification.run(claims=CLAIMS, quick=True, cache=tmp_path, started=lambda claim: begun.append(claim.id))
    assert sorted(begun) == sorted(CLAIMS)


def test_unwritable_cache_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    result = verification.run(claims=CLAIMS[:1], quick=True, cache=tmp_path / "file")
    assert result.judged[0].verdict.outcome == "holds"
