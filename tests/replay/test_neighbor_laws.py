"""Exact laws against hand computations and against a literal enumeration of ordered draws."""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.replay import Rejected
from dpassay.replay.laws import Undefined, draws, marginals
from dpassay.replay.neighbor_laws import law as exact_law
from dpassay.replay.neighbor_laws import partition_groups, similarities
from dpassay.replay.numbers import bounds, down, power, precision, rational, root, up

COMMON = {"num_neighbors": 2, "target": 0, "similarity": "cosine", "ties": "index", "no_overlap": "zero"}
WEIGHTED = {**COMMON, "epsilon": "1", "weight": "exponential", "sensitivity": "local"}
PPNS = {**WEIGHTED, "probability": "1/2", "rule": "algorithm", "last": "exponential"}
PNCF = {**WEIGHTED, "rho": "1/2", "truncation": "hard", "release": "neighbors"}


def law(
    id: str, dataset: Sequence[Sequence[Any]], variant: str = "paper", **parameters: Any
) -> dict[tuple[int, ...], Any]:
    base = {"knn": COMMON, "npns": WEIGHTED, "ppns": PPNS, "pncf": PNCF}[id] if variant == "paper" else {}
    rows = [[None if value is None else rational(value) for value in row] for row in dataset]
    with precision():
        return exact_law({"id": id, "variant": variant, "parameters": {**base, **parameters}}, rows)


weights = st.lists(st.fractions(min_value=0, max_value=5, max_denominator=4), min_size=1, max_size=6)


@given(weights, st.integers(0, 4))
def test_draws_agree_with_every_order_of_draws(values: list[Fraction], count: int) -> None:
    positive = [i for i, value in enumerate(values) if value]
    expected: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for order in itertools.permutations(positive, min(count, len(positive))):
        chance, left = Fraction(1), sum(values)
        for i in order:
            chance *= values[i] / left
            left -= values[i]
        expected[tuple(sorted(order))] += chance
    pool = {i: fmpq(value.numerator, value.denominator) for i, value in enumerate(values)}
    if count > len(positive):
        with pytest.raises(Undefined):
            draws(pool, count)
        return
    found = draws(pool, count)
    assert {rows: Fraction(int(chance.p), int(chance.q)) for rows, chance in found.items()} == expected


def test_nearest_neighbors_and_ties() -> None:
    dataset: list[list[Any]] = [[1, 2], [1, 2], [2, 1], [2, 4], [None, None]]
    # Similarities 1, 4/5, 1, and 0 without a co-rated item.
    assert law("knn", dataset) == {(1, 3): 1}
    assert law("knn", dataset, num_neighbors=1) == {(1,): 1}
    assert law("knn", dataset, num_neighbors=1, ties="last") == {(3,): 1}
    assert law("knn", dataset, num_neighbors=1, ties="random") == {(1,): fmpq(1, 2), (3,): fmpq(1, 2)}
    assert law("knn", dataset, num_neighbors=4) == {(1, 2, 3, 4): 1}
    with pytest.raises(Undefined):
        law("knn", dataset, num_neighbors=4, no_overlap="exclude")


def test_similarities_are_exact_squares() -> None:
    mechanism = {"id": "knn", "variant": "paper", "parameters": COMMON}
    rows: list[list[Any]] = [[rational(1), rational(2)], [rational(2), rational(1)], [rational(3), None], [None, None]]
    assert similarities(mechanism, rows) == {1: fmpq(4, 5), 2: fmpq(1), 3: fmpq(0)}
    full = {**mechanism, "parameters": {**COMMON, "similarity": "full_cosine"}}
    with precision():
        assert bounds(similarities(full, rows)[2])[0] == down(arb(fmpq(1, 5)).sqrt())
    pearson = {**mechanism, "parameters": {**COMMON, "similarity": "pearson"}}
    assert similarities(pearson, rows) == {1: fmpq(-1), 2: fmpq(0), 3: fmpq(0)}


def test_partition_scheme_by_hand() -> None:
    # One item: similarity 1 with it, 0 without; order 1, 2, 3. ceil(k/2) = 1 from {1, 2}, the last from {3}.
    dataset: list[list[Any]] = [[5], [5], [5], [None]]
    half = fmpq(1, 2)
    assert law("ppns", dataset) == {(1, 3): half, (2, 3): half}
    assert law("ppns", dataset, ties="last") == {(1, 3): half, (2, 3): half}
    # Without ties in the top partition's place for row 3 every set is possible under random ties.
    assert law("ppns", [[5], [5], [5], [5]], ties="random") == dict.fromkeys([(1, 2), (1, 3), (2, 3)], fmpq(1, 3))
    # The original scheme takes ceil(k/2) = 1 and then ceil(k/4) = 1 from the next partition.
    assert law("ppns", dataset, rule="original") == {(1, 3): half, (2, 3): half}
    # p = 0.9: ceil(1.8) = 2, capped at k - 1 = 1 by the algorithm only.
    assert law("ppns", dataset, probability="0.9") == {(1, 3): half, (2, 3): half}
    assert law("ppns", dataset, probability="0.9", rule="original") == {(1, 2): 1}
    with pytest.raises(Undefined, match="unvisited"):
        law("ppns", dataset[:3])
    with pytest.raises(Rejected, match="probability"):
        law("ppns", dataset, probability="1")


def test_quotas_are_exact_ceilings() -> None:
    # 0.1 * 10 is exactly 1, and 0.3 * 10 is 3, where the nearest floats may lie above.
    blocks = [range(i, i + 10) for i in range(0, 100, 10)]
    taken = [count for _, count, _ in partition_groups(blocks, 10, rational("0.3"), "original", "uniform")]
    assert taken == [3, 3, 2, 2]
    assert [c for _, c, _ in partition_groups(blocks, 10, rational("0.1"), "original", "uniform")] == [1] * 10
    rounded = [count for _, count, _ in partition_groups(blocks, 10, rational("0.25"), "formula", "uniform")]
    assert rounded == [3, 2, 1, 1, 1, 1, 1]  # 2.5, 1.875, 1.4, 1.05, 0.79, ... rounded, half upward
    pools = partition_groups(blocks, 10, rational("0.5"), "algorithm", "uniform")
    assert [(count, how) for _, count, how in pools] == [
        (5, "exponential"),
        (3, "exponential"),
        (1, "exponential"),
        (1, "uniform"),
    ]
    assert pools[-1][0] == tuple(range(30, 100))


def test_exponential_weights_by_hand() -> None:
    # One neighbor of two, similarities 1 and 4/5. RS(target, 1): norms without an item are 2*2 and 1*1, products 1 and
    # 4, so max(1/4, 4/1) = 4; RS(target, 2): norms without are 2*1 and 1*2, products 2 and 2, so 1.
    dataset: list[list[Any]] = [[1, 2], [1, 2], [2, 1]]
    chance = law("npns", dataset, num_neighbors=1)[(1,)]
    assert float(chance) == pytest.approx(1 / (1 + math.exp(-0.2 / 16)), abs=1e-12)
    chance = law("npns", dataset, num_neighbors=1, sensitivity="pairwise")[(1,)]
    assert float(chance) == pytest.approx(1 / (1 + math.exp(0.8 / 4 - 1 / 16)), abs=1e-12)
    chance = law("npns", dataset, num_neighbors=1, sensitivity="1/2")[(1,)]
    assert float(chance) == pytest.approx(1 / (1 + math.exp(-0.2 / 2)), abs=1e-12)
    # With the scalar product: 5 (1/1 - 1/5) = 4 for user 1, as large as the first term.
    chance = law("npns", dataset, num_neighbors=1, sensitivity="local_dot")[(1,)]
    assert float(chance) == pytest.approx(1 / (1 + math.exp(-0.2 / 16)), abs=1e-12)
    # Here a second term is the largest: 15 (1/6 - 1/sqrt(234)) = 1.52, the first terms are 9/13, 2/3 and 3/2.
    chance = law("npns", [[2, 3, 3], [2, 3, 3], [3, 3, None]], num_neighbors=1, sensitivity="local_dot")[(1,)]
    similar = 15 / math.sqrt(13 * 18)
    bound = max(6 / math.sqrt(9 * 9), 9 / math.sqrt(4 * 9), 15 * (1 / 6 - 1 / math.sqrt(13 * 18)), 9 / 13, 9 / 13)
    assert float(chance) == pytest.approx(1 / (1 + math.exp((similar - 1) / (4 * bound))), abs=1e-12)
    # A single co-rated item makes RS infinite: equal weights, exactly.
    assert law("npns", [[1, None], [1, 2], [1, 1]], num_neighbors=1) == dict.fromkeys([(1,), (2,)], fmpq(1, 2))
    assert law("npns", dataset, num_neighbors=1, weight="similarity") == {(1,): fmpq(5, 9), (2,): fmpq(4, 9)}


def test_truncation_by_hand() -> None:
    # k = 1: lambda = min(sim_1, 4 RS/eps ln(n-1)/rho). With a huge epsilon lambda is tiny: only the top remains.
    dataset: list[list[Any]] = [[1, 2], [1, 2], [2, 1], [1, 1]]
    assert law("pncf", dataset, num_neighbors=1, epsilon="100000", sensitivity="1") == {(1,): 1}
    assert set(law("pncf", dataset, num_neighbors=1, sensitivity="1")) == {(1,), (2,), (3,)}
    # soft truncation forbids nobody.
    soft = law("pncf", dataset, num_neighbors=1, epsilon="100000", sensitivity="1", truncation="soft")
    assert set(soft) == {(1,), (2,), (3,)}
    # Infinite RS: lambda = sim_k = 0 here, so the one overlapping user is chosen surely, and one of the others.
    assert law("pncf", [[1], [None], [1], [None]]) == {(1, 2): fmpq(1, 2), (2, 3): fmpq(1, 2)}


def test_repaired_selection_by_hand() -> None:
    parameters = {"target": 0, "num_neighbors": 1, "epsilon": "2", "norm_floor": "10", "max_rating": "5"}
    dataset: list[list[Any]] = [[5, 5], [5, 4], [9, None]]  # 9 is clipped to 5; all norms are below the floor
    for protect, sides in (("everyone", 2), ("candidates", 1)):
        chance = law("npns", dataset, "repaired", **parameters, protect=protect)[(1,)]
        assert float(chance) == pytest.approx(1 / (1 + math.exp(-2 / (sides * 0.25) * (45 - 25) / 100)), abs=1e-12)


ratings = st.lists(st.lists(st.sampled_from([None, None, 1, 2, 3]), min_size=2, max_size=2), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    ratings,
    st.sampled_from(["knn", "npns", "pncf", "ppns"]),
    st.sampled_from(["cosine", "full_cosine", "pearson"]),
    st.sampled_from(["index", "last", "random"]),
)
def test_laws_are_laws(dataset: list[list[Any]], id: str, similarity: str, ties: str) -> None:
    try:
        found = law(id, dataset, similarity=similarity, ties=ties)
    except Undefined:
        return
    with precision():
        total = sum(found.values(), fmpq(0))
        assert 1 in total if isinstance(total, arb) else total == 1
        assert all(chance > 0 for chance in found.values())
        picks = sum(marginals(found).values(), fmpq(0))
        assert 2 in picks if isinstance(picks, arb) else picks == 2


@pytest.mark.parametrize(
    ("id", "change", "message"),
    [
        ("knn", {"similarity": "dot"}, "similarity"),
        ("npns", {"epsilon": "0"}, "epsilon"),
        ("npns", {"sensitivity": "-1"}, "sensitivity"),
        ("npns", {"sensitivity": "most"}, "not a number"),
        ("npns", {"num_neighbors": 0}, "num_neighbors"),
        ("npns", {"num_neighbors": 7}, "at most"),
        ("npns", {"target": 9}, "target"),
        ("npns", {"color": 1}, "unknown"),
        ("pncf", {"rho": "1"}, "rho"),
        ("pncf", {"release": "prediction"}, "release"),
        ("ppns", {"last": "first"}, "last"),
    ],
)
def test_parameters_outside_their_range_are_rejected(id: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        law(id, [[1, 2], [1, 2], [2, 1], [1, 1]], **change)


def test_the_checker_knows_its_limits() -> None:
    with pytest.raises(Rejected, match="candidates"):
        law("knn", [[1]] * 14)
    with pytest.raises(Rejected, match="random ties"):
        law("knn", [[1]] * 10, ties="random")
    with pytest.raises(Rejected, match="no exact law"):
        law("ppns", [[1]] * 4, "repaired")
    with pytest.raises(Rejected, match=">= 0"):
        law("npns", [[1, -1], [1, -1], [1, 1]])


def test_numbers() -> None:
    assert rational("0.25") == fmpq(1, 4) == rational("2.5e-1")
    assert root(fmpq(9, 4)) == fmpq(3, 2)
    assert power(fmpq(4), fmpq(-3, 2)) == fmpq(1, 8)
    assert power(fmpq(27, 8), fmpq(2, 3)) == fmpq(9, 4)
    with precision():
        two = power(fmpq(2), fmpq(1, 2))
        assert (down(two, 5), up(two, 5)) == ("1.4142", "1.4143")
        assert down(-two, 5) == "-1.4143"
        assert bounds(fmpq(1, 3)) == ["1/3", "1/3"]
    for bad in (0.5, True, None, "a", "1/0", "", "--1", "1e9999", "٣"):
        with pytest.raises(Rejected):
            rational(bad)
