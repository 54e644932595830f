"""Table 1 of PriCDR against itself: the identities, the linear programs, and changed digits."""

import math
from itertools import product

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.pricdr import printed_table as printed
from dpassay.replay import Rejected, check

METHODS = tuple(printed.TABLE[printed.TASKS[0]])


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [
        ("CD-TAB-ID", "refuted"),
        ("CD-TAB1", "refuted"),
        ("CD-ALL", "refuted"),
        ("CD-CDR-SD", "holds"),
        ("CD-JS-SYM", "holds"),
    ],
)
def test_verdicts(claim_id, outcome):
    judged = judge(select(None, [claim_id])[0], Context(synthetic()))
    assert judged.verdict.outcome == outcome
    assert set(judged.concluded) == {outcome}


def test_the_table_is_complete():
    assert len(printed.TASKS) == 6
    for task in printed.TASKS:
        assert tuple(printed.TABLE[task]) == METHODS
        assert all(len(row) == 6 and all(len(number) == 6 for number in row) for row in printed.TABLE[task].values())


def test_counts_of_impossible_rows():
    """Recomputed here by a plain reading of the two tests."""
    rows = list(product(printed.TASKS, METHODS))
    broken = {(found.task, found.method) for found in printed.violations()}
    impossible = {row for row in rows if printed.least_correction(*row) > 0.00005}
    assert len(broken) == 32
    assert len(impossible) == 55
    assert broken <= impossible
    assert not any(method.startswith("PriCDR") for _, method in broken)


def ranks_to_row(ranks):
    """The six metrics of a list of ranks (1 is the best), rounded to four digits."""
    ranks = np.asarray(ranks)
    gains = (np.ones(len(ranks)), 1 / np.log2(ranks + 1), 1 / ranks)
    return tuple(f"{(gain * (ranks <= k)).mean():.4f}" for k in (5, 10) for gain in gains)


@pytest.mark.parametrize("seed", range(20))
def test_no_true_row_is_called_impossible(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.geometric(rng.uniform(0.02, 0.6), 1574), 100)
    task = printed.TASKS[0]
    monkeypatch.setattr(printed, "TABLE", {**printed.TABLE, task: {**printed.TABLE[task], "BPR": ranks_to_row(ranks)}})
    assert printed.least_correction(task, "BPR") <= 0.00005 + 1e-9
    assert not [found for found in printed.violations() if (found.task, found.method) == (task, "BPR")]
    assert not printed._farkas(task, "BPR")


def test_increments_by_hand():
    """NeuMF on Amazon Music to Book: MRR@10 = 0.2608 exceeds NDCG@10 = 0.2577."""
    task = "Amazon Music to Book"
    found = {v.broken: v.excess for v in printed.violations() if (v.task, v.method) == (task, "NeuMF")}
    assert found["MRR@10 <= NDCG@10"] == pytest.approx(0.0031 - 0.0001)
    gain_low = (0.4015 - 0.2760 - 0.0001) / math.log2(11) - (0.2577 - 0.2271) - 0.0001
    assert found["dNDCG >= dHR ln(2) / ln(11)"] == pytest.approx(gain_low)


def test_a_changed_digit_invalidates_the_certificate():
    certificate = judge(select(None, ["CD-ALL"])[0], Context(synthetic())).certificates[0]
    (own,) = [name for name in certificate.inputs["values"] if name.startswith("PriCDR_J")]
    with pytest.raises(Rejected, match="false"):
        check("formula", {**certificate.inputs, "values": {**certificate.inputs["values"], own: "0.5953"}})


def test_multipliers_of_one_row_do_not_condemn_another():
    task = printed.TASKS[0]
    texts = printed._farkas(task, "DMF")
    assert texts
    assert not objections(printed._instance("refuted", texts))
    (consistent,) = {t for t in printed.TASKS if printed.least_correction(t, "PriCDR-S") < 1e-6}
    other = [
        text.replace("DMF", "PriCDR_S").replace("task1", f"task{printed.TASKS.index(consistent) + 1}") for text in texts
    ]
    assert "false" in objections(printed._instance("refuted", other))


def test_equal_numbers_do_not_outperform(monkeypatch):
    task = printed.TASKS[0]
    row = printed.TABLE[task]["PriCDR-SYM"]
    monkeypatch.setattr(printed, "TABLE", {**printed.TABLE, task: {**printed.TABLE[task], "PriCDR-J": row}})
    (claim,) = select(None, ["CD-JS-SYM"])
    assert printed.decide_symmetric(claim, Context(synthetic())).outcome == "open"
