"""What `print` shows of a verdict and a witness, to the character."""

import numpy as np

from dpassay.core.claims import Verdict
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.registry import find_claim
from dpassay.core.text import rounded_up
from dpassay.judging.verification import verify

RATING = NeighboringRelation("add_or_remove_one", "rating")
REFUTED = """\
XM-T2: refuted
  why       Ratings are taken less the user's mean, so products and the dot product can be negative:
            with centered ratings (1, 1) and (2, -2) the similarity is -0.6, and 1 without the
            second user, a change of 1.6, while SS is 0.25. Absolute values do not mend it: with
            three users the similarity moves by 2/3 and the larger absolute term is 1/2, because
            losing a product and shortening the vectors add up when their signs differ. The sum of
            the two is a bound (XM-T2-REP). Everybody rated both items, so the reading of the norms
            does not matter. For ratings that are not negative Theorem 2 is true, with norms over
            co-raters.
  level     kernel: a proof assistant's kernel checks the whole statement
  evidence  proof: The whole statement is a theorem that Rocq's kernel checks: XM_T2 of proofs/rocq.
            certificate: Two users: the similarity moves by 1.6, SS is 1/4.
            certificate: Three users: it moves by 2/3, and the larger absolute term is 1/2.
            and 1 more
  repair    XM-T2-REP"""
WITNESS = """\
violates 1-DP (add_or_remove_one:rating): privacy loss infinite on these neighboring ratings

                item 0   item 1
user 0  [5 -> missing]        1
user 1               3  missing

event: the output is [1, 2], [0, 3]
  probability 0.25 before the change, 0 (impossible) after it
  found by hand"""


def witness(dataset1: np.ndarray, dataset2: np.ndarray, relation: NeighboringRelation = RATING) -> Witness:
    claim = PrivacyClaim(1.0, relation=relation)
    return Witness({}, relation, dataset1, dataset2, ([1, 2], [0, 3]), np.log(0.25), -np.inf, claim, ("found by hand",))


def test_a_papers_verdict_is_printed_without_its_tables() -> None:
    (verdict,) = verify(claims=["XM-T2"], quick=True)
    assert str(verdict) == REFUTED
    assert repr(verdict) == (
        "Verdict(id='XM-T2', outcome='refuted', epsilon_lower=None, epsilon_claimed=None, confidence=None, "
        "arithmetic='ideal', level='kernel', rechecked=False)"
    )


def test_a_verdict_with_a_witness_shows_the_loss_and_the_ratings() -> None:
    found = witness(np.array([[5.0, 1.0], [3.0, np.nan]]), np.array([[np.nan, 1.0], [3.0, np.nan]]))
    claim = find_claim("PP-DP")
    assert claim is not None
    verdict = Verdict(
        claim.id, "open", "tried", epsilon_lower=np.inf, epsilon_claimed=1.0, arithmetic="executed", witness=found
    )
    assert str(found) == WITNESS
    assert str(verdict) == (
        "PP-DP: open\n  loss   infinite nats shown, at most 1 claimed\n  why    tried\n"
        "  about  the floating-point program as it runs\n\n" + WITNESS
    )


def test_of_a_large_witness_what_changed_is_shown() -> None:
    before = np.ones((100, 40))
    after = before.copy()
    after[77, 33] = np.nan
    text = str(witness(before, after)).splitlines()
    assert text[2].split() == ["item", *" item ".join(map(str, [*range(11), 33])).split(" ")]
    assert [line.split()[1] for line in text[3:15]] == [*map(str, range(11)), "77"]
    assert text[14].endswith("  [1 -> missing]")
    assert text[15] == "(12 of 100 users and 12 of 40 items are shown)"
    after = before.copy()
    after[77] = np.nan
    user = NeighboringRelation("add_or_remove_one", "user")
    assert str(witness(before, after, user)).count("[1 -> missing]") == 12


def test_what_is_caught_is_rounded_up() -> None:
    assert [rounded_up(value) for value in (1.00003, 0.12345, 0.1234, 10.0, 2e-9)] == [
        1.001,
        0.1235,
        0.1234,
        10.0,
        2e-9,
    ]
    assert [rounded_up(value) for value in (0.0, float("inf"))] == [0.0, float("inf")]
    assert [rounded_up(value, 2) for value in (0.0851, 99.5)] == [0.086, 100.0]
