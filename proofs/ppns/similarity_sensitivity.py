"""How far one rating moves a similarity: equation (3) of Lu and Shen (PPNS), and its repair.

r_i and r_j are two users' ratings, r'_i and r'_j the same without item s. Equation (3) prints the bound RS as the
largest, over the co-rated items s, of r_is r_js / (|r'_i||r'_j|) and r_is r_js (1 / (|r'_i||r'_j|) - 1 / (|r_i||r_j|));
X-Map's bound, from which it descends, has the dot product r_i . r_j in the second term. The norms run over the co-rated
items (equation 5) or over all ratings of each user. The repair is the floor-norm cosine
q = <r_a, r_i> / (max(|r_a|, c) max(|r_i|, c)), whose change has a bound that no data enter.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import checked, established, objections, shown
from dpassay.proofs.lemmas import CAUCHY_SCHWARZ
from dpassay.proofs.notation import Step, identity, instance, proof, smt

NORMS = ("co-rated", "full")
FORMS = ("printed", "dot product")
CHANGES = ("removed", "changed", "added")
RATINGS = range(1, 6)
MAX_ITEMS = 4

Case = tuple[str, str]  # (norms, form)


@dataclass(frozen=True)
class Pair:
    """Two users' ratings on the same items; 0 stands for a missing rating."""

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class Counterexample:
    """The pair on which RS is computed, its neighbor, and per case the change of the similarity and RS, in float64."""

    pair: Pair
    neighbor: Pair
    values: dict[Case, tuple[float, float]]


def decide_rs(claim: Claim, context: Context) -> Verdict:
    """PP-RS: 12 cases, by what happens to the rating, whose norms, and which second term."""
    dot_form, second_term = dot_form_proof(), second_term_proof()
    failed = objections(dot_form, second_term)
    proved = set() if failed else {("removed", norms, "dot product") for norms in NORMS}
    found = {}
    for change in CHANGES:
        context.progress(f"searching for ratings where RS fails, one rating {change}")
        cases = [(n, f) for n, f in product(NORMS, FORMS) if (change, n, f) not in proved]
        example = find_counterexample(change, cases)
        if example and checked(certificate(example)):
            found[change] = example
    refuted = {(change, *case) for change, example in found.items() for case in example.values}
    printed = {(change, norms, "printed") for change in CHANGES for norms in NORMS}
    evidence = [_failure(change, example) for change, example in found.items()]
    if not failed:
        evidence += [
            shown(
                "With the dot product, RS bounds the change when a rating is removed, for any number of items; when "
                "it is changed, the RS of the dataset with the higher rating does.",
                dot_form,
            ),
            shown(
                "The printed second term is never the larger one.",
                second_term,
                tables=(
                    Table(
                        "Does the RS of the dataset before the change bound it? Ratings 1 to 5",
                        ["one rating", "norms", "second term", "outcome", "similarity moves by", "RS"],
                        [_case_row(case, proved, found) for case in product(CHANGES, NORMS, FORMS)],
                    ),
                ),
            ),
        ]
    return Verdict(
        claim.id,
        "refuted" if printed & refuted else "open",
        f"As printed, RS fails in {len(printed & refuted)} of 6 cases (rating removed, changed or added; norms over "
        "co-rated items or over all ratings): three to four items rated 1 to 5 suffice. The printed second term can "
        "never exceed the first, a sign of a misprint: X-Map, its source, has the dot product r_i . r_j there. With "
        f"the dot product RS holds in {len(proved)} of 6 cases, when a rating is removed, for both norms and any "
        "ratings >= 0; it fails when a rating is changed or added, unless RS is taken from the dataset with the "
        "higher rating. RS is infinite when an item is the only co-rated one; and being computed from the data it is "
        "a local sensitivity, which by itself does not give differential privacy even where the bound is true."
        + (f" Not proved: {failed}." if failed else ""),
        evidence=tuple(evidence),
        assumptions=(
            "ratings >= 0; RS is computed on the dataset that has the rating when one is removed, on the one before "
            "the change when it is changed or added",
        ),
        repair="PP-RS-REP",
    )


decide_rs_repaired = established(
    "holds",
    "For every number of items, whether the rating is the target's or the candidate's. No smaller constant "
    "works: two users whose only rating is R on the same item attain it when one of the ratings is removed. If "
    "ratings are only changed, within [r, R], the smaller min(1, R (R - r) / c^2) is enough. A whole user can "
    "move a similarity by 1, so this bound protects single ratings, not users.",
    evidence=lambda: shown("The bound and its tightness.", floor_cosine_proof()),
)


def dot_form_proof() -> dict[str, Any]:
    """X-Map's form of RS bounds the removal of one rating, for co-rated and for full norms."""
    similarities = "0 < M, M <= K, K <= N, dot >= 0, u >= 0, v >= 0, before * N == dot + u * v, after * K == dot"
    changed = (
        "0 < M, M <= N1, N1 <= N2, dot >= 0, v >= 0, 0 <= u1 <= u2, low * N1 == dot + u1 * v, high * N2 == dot + u2 * v"
    )
    model = "M = 1, K = 1, N = 2, dot = 1, u = 1, v = 1, before = 1, after = 1"
    changed_model = "M = 1, N1 = 1, N2 = 2, dot = 1, v = 1, u1 = 0, u2 = 1, low = 1, high = 1"
    return proof(
        "User i's rating u of item s is removed; v is user j's. dot is the dot product over the other co-rated items, "
        "A and B the norms without s, N = |r_i||r_j|, M = |r'_i||r'_j| = A B, and K the norms in the similarity that "
        "is left: K = A B over co-rated items, and K = A |r_j| when norms run over all ratings, since user j keeps "
        "theirs. Step 1 gives M <= K <= N in both cases. If the similarity falls, step 3 bounds the fall by the first "
        "term of RS; if it rises, step 4 bounds the rise by the second, with the dot product r_i . r_j = dot + u v. RS "
        "is the largest over all items, so not smaller than at s. No step mentions the number of items. If M = 0, RS "
        "is infinite and bounds everything. Steps 5 and 6: u1 < u2 are the two values of a changed rating (N1, N2 the "
        "norms with them); the RS of the dataset with u2 bounds the change either way.",
        smt(
            "leaving items out does not lengthen a vector",
            "A >= 0, B >= 0, norm_i >= 0, norm_j >= 0, norm_i ** 2 == A ** 2 + u ** 2, norm_j ** 2 == B ** 2 + v ** 2",
            "A * B <= A * norm_j and A * norm_j <= norm_i * norm_j",
            model="A = 3, u = 4, norm_i = 5, B = 3, v = 4, norm_j = 5",
        ),
        identity(
            "how the similarity changes when both norms do",
            "(dot + u * v) / N - dot / M == u * v / M - (dot + u * v) * (N - M) / (N * M)",
        ),
        smt(
            "the fall is at most the first term",
            f"{similarities}, first * M == u * v",
            "before - after <= first",
            model=f"{model}, first = 1",
        ),
        smt(
            "the rise is at most the second term with the dot product",
            f"{similarities}, second == (dot + u * v) * (1 / M - 1 / N)",
            "after - before <= second",
            model=f"{model}, second = 1",
        ),
        smt(
            "a higher rating raises the similarity by at most the first term of its own dataset",
            f"{changed}, first * M == u2 * v",
            "high - low <= first",
            model=f"{changed_model}, first = 1",
        ),
        smt(
            "a higher rating lowers the similarity by at most the second term of its own dataset",
            f"{changed}, second == (dot + u2 * v) * (1 / M - 1 / N2)",
            "low - high <= second",
            model=f"{changed_model}, second = 1",
        ),
    )


def second_term_proof() -> dict[str, Any]:
    """The second term of equation (3) as printed never decides the maximum."""
    return proof(
        "M = |r'_i||r'_j| and N = |r_i||r_j|. The printed second term u v (N - M) / (N M) is the first, u v / M, "
        "times (N - M) / N, which is below 1. So the printed RS is only the largest u v / M, and lacks what bounds a "
        "rise of the similarity.",
        smt(
            "the printed second term is at most the first",
            "0 < M, M <= N, u >= 0, v >= 0",
            "u * v * (N - M) / (N * M) <= u * v / M",
            model="M = 1, N = 2, u = 1, v = 1",
        ),
    )


def floor_cosine_proof() -> dict[str, Any]:
    """|q(D) - q(D')| <= min(1, R |x2 - x1| / c^2), hence <= min(1, R^2 / c^2), and equality is possible."""
    return proof(
        "One rating of vector a takes the values x1 <= x2 on the two datasets (0 when missing); w >= 0 is the norm "
        "of a's other ratings and m1, m2 are max(|a|, c). For vector b, let p be its dot product with a's other "
        "ratings and h its rating of the item, both divided by max(|b|, c): then q = (p + h x) / m. Cauchy-Schwarz "
        "(steps 1 and 2, by induction on the items) gives 0 <= p <= w <= m1, and 0 <= h <= R/c. Steps 3 and 4: m "
        "grows with the rating, and so does x/m. Steps 5 and 6: if q rises, by at most h (x2 - x1) / m1 <= R (x2 - "
        "x1) / c^2. Steps 7 to 10: if q falls, by at most (m2 - m1) / m2 <= (x2^2 - x1^2) / (2 c^2) <= R (x2 - x1) / "
        "c^2. Steps 11 and 12: q lies in [0, 1], and x2 - x1 <= R. a and b enter q alike, so it does not matter "
        "whose rating it is; no step mentions the number of items. Step 13: with no other ratings, h = R / max(R, c) "
        "and x going from 0 to R the change is the bound itself.",
        *CAUCHY_SCHWARZ,
        *_floored_norm(),
        *_rise(),
        *_fall(),
        smt(
            "a floored cosine of nonnegative vectors lies between 0 and 1",
            "0 <= dot <= A * B, 0 <= A <= m, 0 <= B <= n, m > 0, n > 0, q * (m * n) == dot",
            "0 <= q <= 1",
            model="dot = 0, A = 1, B = 1, m = 1, n = 1, q = 0",
        ),
        smt(
            "together",
            "c > 0, 0 <= q1 <= 1, 0 <= q2 <= 1, 0 <= x1 <= x2, x2 <= R, q2 - q1 <= R * (x2 - x1) / c ** 2, "
            "q1 - q2 <= R * (x2 - x1) / c ** 2",
            "abs(q2 - q1) <= min(1, R * (x2 - x1) / c ** 2) and abs(q2 - q1) <= min(1, R ** 2 / c ** 2)",
            model="c = 1, q1 = 0, q2 = 1, x1 = 0, x2 = 1, R = 1",
        ),
        smt(
            "two users with the same single rating R attain the bound",
            "c > 0, R > 0, q == R * R / (max(R, c) * max(R, c))",
            "q - 0 == min(1, R ** 2 / c ** 2)",
            model="c = 1, R = 1, q = 1",
        ),
    )


def find_counterexample(change: str, cases: Sequence[Case]) -> Counterexample | None:
    """Ratings 1 to 5 of the fewest items for which RS fails in all `cases` at once, by the widest margin.

    Exhaustive up to the order of the items other than the first, whose rating by the first user changes; float64, so a
    candidate for `certificate`.

    Args:
        change: "removed", "changed" or "added".
        cases: (norms, form) pairs, from `NORMS` and `FORMS`.
    """
    for num_items in range(2, MAX_ITEMS + 1):
        before, after, second = _neighbors(change, num_items)
        margins = [
            abs(_cosine(before, second, norms) - _cosine(after, second, norms)) - _bound(before, second, norms, form)
            for norms, form in cases
        ]
        margin = np.min(margins, axis=0)
        best = int(np.argmax(margin))
        if margin[best] > 1e-9:
            first, changed, other = (tuple(int(r) for r in vectors[best]) for vectors in (before, after, second))
            values = {
                (norms, form): (
                    float(abs(_cosine(before, second, norms) - _cosine(after, second, norms))[best]),
                    float(_bound(before, second, norms, form)[best]),
                )
                for norms, form in cases
            }
            return Counterexample(Pair(first, other), Pair(changed, other), values)
    return None


def certificate(example: Counterexample) -> dict[str, Any]:
    """The counterexample as {"kind", "inputs"}: per case, the similarity certainly moves by more than RS.

    The ratings are i1, i2, ... and j1, j2, ...; the first user's rating of the first item becomes `changed`.
    """
    before = [f"i{item}" if rating else "" for item, rating in enumerate(example.pair.first, start=1)]
    after = ["changed" if example.neighbor.first[0] else "", *before[1:]]
    second = [f"j{item}" if rating else "" for item, rating in enumerate(example.pair.second, start=1)]
    values = dict(zip(before, example.pair.first, strict=True)) | dict(zip(second, example.pair.second, strict=True))
    values |= {"changed": example.neighbor.first[0]}
    formulas = [
        f"abs({_cosine_text(before, second, norms)} - {_cosine_text(after, second, norms)}) "
        f"> {_bound_text(before, second, norms, form)}"
        for norms, form in example.values
    ]
    named = {name: value for name, value in values.items() if name in {*before, *after, *second} - {""}}
    return instance(named, *formulas, supports="refuted")


def _neighbors(change: str, num_items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First user's ratings before and after, second user's, each of shape (pairs, items)."""
    cells = list(product(RATINGS, repeat=2))
    others = list(combinations_with_replacement(cells, num_items - 1))
    values = {"removed": [(u, 0) for u in RATINGS], "added": [(0, u) for u in RATINGS]}
    moves = values.get(change, [(u, other) for u, other in product(RATINGS, repeat=2) if u != other])
    rest = np.array(others, float)
    blocks = []
    for (u, other), v in product(moves, RATINGS):
        head = np.broadcast_to(np.array([u, other, v], float), (len(rest), 3))
        blocks.append(
            [
                np.concatenate([head[:, :1], rest[:, :, 0]], axis=1),
                np.concatenate([head[:, 1:2], rest[:, :, 0]], axis=1),
                np.concatenate([head[:, 2:], rest[:, :, 1]], axis=1),
            ]
        )
    before, after, second = (np.concatenate([block[part] for block in blocks]) for part in range(3))
    return before, after, second


def _squares(first: np.ndarray, second: np.ndarray, norms: str) -> tuple[np.ndarray, np.ndarray]:
    rated = (first > 0) & (second > 0) if norms == "co-rated" else True
    return first**2 * rated, second**2 * rated


def _cosine(first: np.ndarray, second: np.ndarray, norms: str) -> np.ndarray:
    a, b = _squares(first, second, norms)
    return (first * second).sum(1) / np.sqrt(a.sum(1) * b.sum(1))


def _bound(first: np.ndarray, second: np.ndarray, norms: str, form: str) -> np.ndarray:
    """RS, from the definition; infinite where a vector without the item is empty."""
    a, b = _squares(first, second, norms)
    products = first * second
    whole = np.sqrt(a.sum(1, keepdims=True) * b.sum(1, keepdims=True))
    without = np.sqrt((a.sum(1, keepdims=True) - a) * (b.sum(1, keepdims=True) - b))
    factor = products if form == "printed" else products.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.maximum(products / without, factor * (1 / without - 1 / whole))
    return np.where(products > 0, terms, -np.inf).max(1)


def _norm_text(own: Sequence[str]) -> str:
    return f"sqrt({' + '.join(f'{name} ** 2' for name in own)})"


def _vectors_text(first: Sequence[str], second: Sequence[str], norms: str) -> tuple[list[int], list[int], list[int]]:
    """Items that both rated, and those in either norm."""
    rated = [item for item in range(len(first)) if first[item] and second[item]]
    if norms == "co-rated":
        return rated, rated, rated
    own_first, own_second = ([item for item, name in enumerate(names) if name] for names in (first, second))
    return rated, own_first, own_second


def _cosine_text(first: Sequence[str], second: Sequence[str], norms: str) -> str:
    rated, own_first, own_second = _vectors_text(first, second, norms)
    dot = " + ".join(f"{first[item]} * {second[item]}" for item in rated)
    lengths = f"{_norm_text([first[item] for item in own_first])} * {_norm_text([second[item] for item in own_second])}"
    return f"({dot}) / ({lengths})"


def _bound_text(first: Sequence[str], second: Sequence[str], norms: str, form: str) -> str:
    rated, own_first, own_second = _vectors_text(first, second, norms)

    def lengths(left_out: int | None) -> str:
        left, right = ([item for item in own if item != left_out] for own in (own_first, own_second))
        return f"({_norm_text([first[item] for item in left])} * {_norm_text([second[item] for item in right])})"

    dot = " + ".join(f"{first[item]} * {second[item]}" for item in rated)
    terms = []
    for item in rated:
        own = f"{first[item]} * {second[item]}"
        factor = own if form == "printed" else f"({dot})"
        terms += [f"{own} / {lengths(item)}", f"{factor} * (1 / {lengths(item)} - 1 / {lengths(None)})"]
    return f"max({', '.join(terms)})"


def _floor(norm: str, rating: str) -> list[str]:
    """`norm` is the larger of c and the norm of a vector with this rating, w being the norm of the others."""
    square = f"w ** 2 + {rating} ** 2"
    return [f"{norm} >= c", f"{norm} ** 2 >= {square}", f"{norm} == c or {norm} ** 2 == {square}"]


# In the models the vector's only rating goes from 0 to 1, and both norms are at the floor 1.
_FLOORS = ["c > 0", "w >= 0", "0 <= x1 <= x2", *_floor("m1", "x1"), *_floor("m2", "x2")]
_SCORES = "c > 0, c <= m1 <= m2, 0 <= x1 <= x2, p >= 0, h >= 0, q1 * m1 == p + h * x1, q2 * m2 == p + h * x2"


def _floored_norm() -> tuple[Step, ...]:
    """The floored norm grows with one of its ratings, and so does that rating's share of it."""
    return (
        smt(
            "the floored norm grows with the rating",
            _FLOORS,
            "m1 <= m2",
            "c = 1, w = 0, x1 = 0, x2 = 1, m1 = 1, m2 = 1",
        ),
        smt(
            "a rating's share of the floored norm grows with the rating",
            _FLOORS,
            "x1 * m2 <= x2 * m1",
            model="c = 1, w = 0, x1 = 0, x2 = 1, m1 = 1, m2 = 1",
        ),
    )


def _rise() -> tuple[Step, ...]:
    """The cosine rises by at most R (x2 - x1) / c^2."""
    return (
        smt(
            "a rise is at most the rating's own part",
            _SCORES,
            "(q2 - q1) * m1 <= h * (x2 - x1)",
            model="c = 1, m1 = 1, m2 = 1, x1 = 0, x2 = 1, p = 0, h = 1, q1 = 0, q2 = 1",
        ),
        smt(
            "a rise is at most R (x2 - x1) / c^2",
            "c > 0, m1 >= c, x1 <= x2, h >= 0, h * c <= R, rise * m1 <= h * (x2 - x1)",
            "rise <= R * (x2 - x1) / c ** 2",
            model="c = 1, m1 = 1, x1 = 0, x2 = 1, h = 1, R = 1, rise = 0",
        ),
    )


def _fall() -> tuple[Step, ...]:
    """The cosine falls by at most R (x2 - x1) / c^2."""
    return (
        smt(
            "a fall is at most the relative growth of the norm",
            f"{_SCORES}, p <= m1, x1 * m2 <= x2 * m1",
            "(q1 - q2) * m2 <= m2 - m1",
            model="c = 1, m1 = 1, m2 = 1, x1 = 0, x2 = 1, p = 0, h = 1, q1 = 0, q2 = 1",
        ),
        smt(
            "the squared norm grows by at most the growth of the squared rating",
            _FLOORS,
            "(m2 - m1) * (m2 + m1) <= (x2 - x1) * (x2 + x1)",
            model="c = 1, w = 0, x1 = 0, x2 = 1, m1 = 1, m2 = 1",
        ),
        smt(
            "the norm grows by at most R (x2 - x1) / c",
            "c > 0, growth >= 0, step >= 0, norms >= 2 * c, ratings <= 2 * R, growth * norms <= step * ratings",
            "growth * c <= R * step",
            model="c = 1, growth = 0, step = 0, norms = 2, ratings = 2, R = 1",
        ),
        smt(
            "a fall is at most R (x2 - x1) / c^2",
            "c > 0, m2 >= c, growth >= 0, fall * m2 <= growth, growth * c <= bound",
            "fall <= bound / c ** 2",
            model="c = 1, m2 = 1, growth = 0, fall = 0, bound = 0",
        ),
    )


def _failure(change: str, example: Counterexample) -> Evidence:
    cases = "; ".join(f"{norms} norms, {form} form" for norms, form in example.values)
    return shown(
        f"One rating {change}: first user {list(example.pair.first)} becomes {list(example.neighbor.first)}, "
        f"second user {list(example.pair.second)} (0 is missing); the similarity moves by more than RS for {cases}.",
        certificate(example),
    )


def _case_row(
    case: tuple[str, str, str], proved: Collection[tuple[str, str, str]], found: Mapping[str, Counterexample]
) -> list[str]:
    change, norms, form = case
    if case in proved:
        return [*case, "holds", "", ""]
    if change not in found or (norms, form) not in found[change].values:
        return [*case, "open", "", ""]
    moved, bound = found[change].values[norms, form]
    return [*case, "fails", f"{moved:.4f}", f"{bound:.4f}"]
