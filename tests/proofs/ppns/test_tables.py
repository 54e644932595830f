"""The deciders of section 7: verdicts move when what is claimed, or the data, move."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments.ppns.printed import AXES, METHODS, TABLES
from dpassay.mechanisms.batched_users import NearestNeighbors, WeightedNeighbors
from dpassay.proofs.ppns import findings
from dpassay.proofs.ppns import tables as ppns
from dpassay.replay import check

SYNTHETIC = synthetic()
NAME = "leaky, all users, Algorithm 1"


def claim(claim_id: str) -> Claim:
    found = find_claim(claim_id)
    assert found is not None
    return found


def context(data: Ratings = SYNTHETIC) -> Context:
    return Context(data, quick=True)


def certified(verdict: Verdict) -> dict[str, Any]:
    certificate = verdict.evidence[0].certificate
    assert certificate is not None
    result = check(certificate["kind"], json.loads(json.dumps(certificate["inputs"])))
    assert result["supports"] == verdict.outcome
    return result


def test_printed_tables_are_whole() -> None:
    assert sum(len(row) for table in TABLES.values() for row in table.values()) == 4 * (10 + 10 + 10 + 9)
    for number, table in TABLES.items():
        assert tuple(table) == METHODS
        assert all(len(row) == len(AXES[number][1]) for row in table.values())


@pytest.fixture
def own_table(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, ...]]:
    """Table 4 as our own runs on the synthetic ratings give it, in the place of the printed one."""
    runs = ppns._runs(4, NAME, context())
    table = {
        method: tuple(f"{np.mean([float(v) for v in runs[f'{method} rho={rho}']]):.4f}" for rho in AXES[4][1])
        for method in METHODS
    }
    monkeypatch.setattr(ppns, "TABLES", {**TABLES, 4: table})
    return table


def test_a_table_of_our_own_numbers_holds(own_table: dict[str, tuple[str, ...]]) -> None:
    result = certified(ppns.decide_table4(claim("PP-TAB4"), context()))
    assert result["supports"] == "holds"
    assert result["readings"][NAME]["outside"] == []


def test_one_false_number_refutes_a_table(
    own_table: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = own_table["nPNS"]
    wrong = {**own_table, "nPNS": (f"{float(row[0]) + 2:.4f}", *row[1:])}
    monkeypatch.setattr(ppns, "TABLES", {**TABLES, 4: wrong})
    result = certified(ppns.decide_table4(claim("PP-TAB4"), context()))
    assert result["supports"] == "refuted"
    assert result["readings"][NAME]["outside"] == ["nPNS rho=0.1"]


def test_table2_is_judged_by_counting_partitions() -> None:
    verdict = ppns.decide_table2(claim("PP-TAB2"), context())
    certified(verdict)
    counted = ppns._betas(SYNTHETIC, 2, 0)
    assert set(counted["mean farthest partition, Algorithm 1"]["kNN p=0.5"]) == {"1.000000"}
    # 119 candidates are 3 partitions of at most 50; Algorithm 1 at p = 0.9 visits two, the last pick is in the third.
    assert set(counted["mean farthest partition, Algorithm 1"]["PPNS p=0.9"]) == {"3.000000"}
    assert counted["partitions visited by Algorithm 1"]["PPNS p=0.5"] == ["4"]
    assert counted["equation (19)"]["PPNS p=0.5"] == ["6.562500"]


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ("0.99 0.95 0.94 0.93 0.92 0.91 0.90 0.89 0.88 0.87", "holds"),
        ("0.99 0.95 0.94 0.93 0.92 0.9205 0.90 0.89 0.88 0.87", "open"),
        ("0.99 0.95 0.94 0.93 0.72 0.91 0.90 0.89 0.88 0.87", "refuted"),
    ],
)
def test_trend(row: str, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    falling = tuple(["0.99", "0.95", "0.94", "0.93", "0.92", "0.91", "0.90", "0.89", "0.88", "0.87"])
    monkeypatch.setattr(ppns, "TABLES", {**TABLES, 3: {**dict.fromkeys(METHODS, falling), "PPNS": tuple(row.split())}})
    runs = {f"{m} k={k}": [f"{0.8 + 0.001 * i:.6f}" for i in range(10)] for m in METHODS for k in AXES[3][1]}
    monkeypatch.setattr(ppns, "_runs", lambda number, name, context: runs)
    verdict = ppns.decide_trend(claim("PP-TREND"), context())
    assert certified(verdict)["supports"] == outcome


@pytest.mark.parametrize(
    ("users", "removed", "outcome"), [(30, 0, "holds"), (30, 5, "refuted"), (19, 0, "refuted"), (251, 0, "refuted")]
)
def test_data(users: int, removed: int, outcome: str) -> None:
    matrix = np.full((users, 25), 3.0)
    matrix[0, :removed] = np.nan
    verdict = findings.decide_data(claim("PP-DATA"), context(Ratings.from_dense(matrix)))
    assert certified(verdict)["supports"] == verdict.outcome == outcome


def test_orderings_change_sides_when_the_methods_change_places() -> None:
    good, bad = WeightedNeighbors(100), NearestNeighbors(1)
    evidence, outcome, sides = findings._orderings(3, context(), {"x": (good, bad)}, "negative")
    swapped, other, reversed_sides = findings._orderings(3, context(), {"x": (bad, good)}, "negative")
    assert (outcome, sides["x"]) == ("holds", "negative")
    assert (other, reversed_sides["x"]) == ("refuted", "positive")
    assert evidence.certificate is not None
    assert swapped.certificate is not None


def test_finding4_needs_a_sensitivity_that_is_not_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = findings.decide_finding4(claim("PP-F4"), context())
    assert certified(verdict)["supports"] == "holds"
    monkeypatch.setattr(findings, "_smallest_sensitivity", lambda ratings: (0.0004, 0))
    assert findings.decide_finding4(claim("PP-F4"), context()).outcome == "open"


def test_rho_matters_only_when_the_truncation_binds() -> None:
    from dpassay.mechanisms.batched_users import Block, TruncatedNeighbors

    scores = np.tile(np.linspace(0.9, 0.1, 60), (200, 1))
    block = Block(np.arange(200), scores)

    def chosen(rho: float, scale: float) -> np.ndarray:
        return TruncatedNeighbors(5, rho, scale)(block, np.random.default_rng(0))

    np.testing.assert_array_equal(chosen(0.1, 1 / 20), chosen(0.9, 1 / 20))
    assert (chosen(0.1, 100.0) != chosen(0.9, 100.0)).any()


def test_findings_on_synthetic_ratings_are_certified() -> None:
    for claim_id, decide in (("PP-F1", findings.decide_finding1), ("PP-F2", findings.decide_finding2)):
        verdict = decide(claim(claim_id), context())
        assert all(entry["claimed"] == "negative" for entry in certified(verdict)["comparisons"].values())
        assert verdict.outcome in ("holds", "refuted", "open")


def test_claims_about_movielens_are_not_judged_on_other_ratings() -> None:
    for claim_id in ("PP-TAB1", "PP-F1", "PP-DATA", "PP-TREND"):
        verdict = claim(claim_id).judge(context())
        assert verdict.outcome == "open"
        assert "movielens-100k" in verdict.explanation


@pytest.mark.realdata
def test_on_movielens(movielens: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    # One reading that meets every number makes the table hold; `verify` tries all of them, which takes minutes.
    name = "leaky, all users, eqs. 18-19"
    monkeypatch.setattr(ppns, "READINGS", {name: ppns.READINGS[name]})
    given = replace(context(), data=movielens)
    expected = {"PP-DATA": "refuted", "PP-F4": "holds", "PP-TAB1": "holds"}
    outcomes = {claim_id: claim(claim_id).judge(given) for claim_id in expected}
    assert {claim_id: verdict.outcome for claim_id, verdict in outcomes.items()} == expected
    for verdict in outcomes.values():
        certified(verdict)
    readings = certified(outcomes["PP-TAB1"])["readings"]
    assert readings[name]["outside"] == []
