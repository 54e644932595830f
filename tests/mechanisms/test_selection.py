"""Laws of the selections against a plain reading of the paper in Python, which mutations must contradict."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.ppns import formula_beta, partition_quotas
from dpassay.mechanisms.similarity import sensitivities, similarities

_ = np.nan
RATINGS = np.array(
    [
        [5, 3, 4, 1, _, 2],
        [4, 3, _, 2, 5, 1],
        [1, _, 5, 4, 2, _],
        [_, 1, 3, _, 4, _],
        [2, 5, 1, 3, _, 4],
        [5, 1, 4, 2, 3, 3],
        [_, 4, _, 5, 1, 2],
        [1, 1, 2, 5, 5, _],
    ]
)
Law = dict[tuple[int, ...], float]
Draw = tuple[list[int], int]
"""A group of candidates, and how many are drawn from it."""


def weighted_draws(group: list[int], number: int, weights: dict[int, float]) -> Law:
    """Probability of every set of `number` members, drawn one by one in proportion to their weights (7)."""
    law: Law = {}
    for order in itertools.permutations(group, number):
        left, probability = set(group), 1.0
        for member in order:
            probability *= weights[member] / sum(weights[other] for other in left)
            left.remove(member)
        key = tuple(sorted(order))
        law[key] = law.get(key, 0.0) + probability
    return law


def product(laws: list[Law]) -> Law:
    result: Law = {(): 1.0}
    for law in laws:
        result = {tuple(sorted((*a, *b))): p * q for a, p in result.items() for b, q in law.items()}
    return result


def ranking(similarity: dict[int, float]) -> list[int]:
    return sorted(similarity, key=lambda row: (-round(similarity[row], 11), row))


def knn_groups(order: list[int], k: int) -> list[Draw]:
    return [(order[:k], k)]


def npns_groups(order: list[int], k: int) -> list[Draw]:
    return [(order, k)]


def partitions(p: str, rounding: Callable[[Fraction], int], until: int) -> Callable[[list[int], int], list[Draw]]:
    """Algorithm 1 for `until` = -1, the original scheme for 0: how far from k the partitions stop."""

    def groups(order: list[int], k: int) -> list[Draw]:
        draws: list[Draw] = []
        chosen, i = 0, 0
        while chosen < k + until:
            quota = min(rounding(Fraction(p) * (1 - Fraction(p)) ** i * k), k + until - chosen)
            draws.append((order[i * k : (i + 1) * k], quota))
            chosen, i = chosen + quota, i + 1
        return [*draws, (order[i * k :], -until)]

    return groups


def half_up(share: Fraction) -> int:
    return max(1, math.floor(share + Fraction(1, 2)))


def plain_law(k: int, groups: Callable[[list[int], int], list[Draw]], exponent: float) -> Law:
    """Law of a selection with weights exp(exponent * similarity)."""
    values = np.asarray(similarities(RATINGS))
    similarity = {row + 1: float(value) for row, value in enumerate(values)}
    weights = {row: math.exp(exponent * value) for row, value in similarity.items()}
    return product([weighted_draws(group, number, weights) for group, number in groups(ranking(similarity), k)])


@cache
def probabilities(built: Any) -> np.ndarray:
    return np.exp(np.asarray(jax.jit(jax.vmap(built.log_prob, (0, None)))(built.outputs(RATINGS), RATINGS)))


def agrees(built: Any, law: Law) -> bool:
    expected = [law.get(tuple(output), 0.0) for output in built.outputs(RATINGS).tolist()]
    return bool(np.allclose(probabilities(built), expected, rtol=0, atol=1e-12))


def paper(k: int, constant: float) -> float:
    """epsilon / (4 k RS) with epsilon = 1."""
    return 1 / (4 * k * constant)


PPNS = mechanism("ppns", num_neighbors=3, probability=0.4, sensitivity=0.02)
CEIL = partitions("0.4", math.ceil, -1)


def test_laws_are_those_of_a_plain_reading() -> None:
    rs = float(np.max(np.asarray(sensitivities(RATINGS))))
    assert math.isfinite(rs)
    assert agrees(mechanism("knn", num_neighbors=3), plain_law(3, knn_groups, 0))
    assert agrees(mechanism("npns", epsilon=2.0), plain_law(2, npns_groups, 2 * paper(2, rs)))
    assert agrees(PPNS, plain_law(3, CEIL, paper(3, 0.02)))
    original = mechanism("ppns", num_neighbors=3, probability=0.4, sensitivity=0.02, rule="original")
    assert agrees(original, plain_law(3, partitions("0.4", math.ceil, 0), paper(3, 0.02)))
    formula = mechanism("ppns", num_neighbors=3, probability=0.6, sensitivity=0.02, rule="formula")
    assert agrees(formula, plain_law(3, partitions("0.6", half_up, 0), paper(3, 0.02)))


@pytest.mark.parametrize(
    "mutated",
    [
        plain_law(3, partitions("0.4", lambda share: max(1, math.floor(share)), -1), paper(3, 0.02)),
        plain_law(3, CEIL, -paper(3, 0.02)),
        plain_law(3, CEIL, 2 * paper(3, 0.02)),
        plain_law(3, partitions("0.4", math.ceil, 0), paper(3, 0.02)),
        plain_law(3, lambda order, k: CEIL(order[::-1], k), paper(3, 0.02)),
        plain_law(3, npns_groups, paper(3, 0.02)),
    ],
    ids=["floor", "sign", "constant", "no last pick", "ascending", "no partitions"],
)
def test_a_mutated_mechanism_is_noticed(mutated: Law) -> None:
    assert sum(mutated.values()) == pytest.approx(1)
    assert not agrees(PPNS, mutated)


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(list(range(1, 8))))
def test_renaming_candidates_renames_the_law(order: list[int]) -> None:
    """Similarities of these ratings are distinct, so that no tie rule interferes."""
    assert len(set(np.round(np.asarray(similarities(RATINGS)), 9).tolist())) == 7
    shuffled = RATINGS[[0, *order]]
    for output in ([1, 2, 3], [2, 5, 7], [1, 4, 6]):
        renamed = [order.index(row) + 1 for row in output]
        assert float(PPNS.log_prob(np.array(renamed), shuffled)) == pytest.approx(
            float(PPNS.log_prob(np.array(output), RATINGS)), abs=1e-12
        )


def test_ties_follow_their_rule() -> None:
    """Four candidates of the same cosine: the top two are the first, the last, or any two of them."""
    same = np.array([[5.0, 1.0], [5.0, 1.0], [5.0, 1.0], [5.0, 1.0], [5.0, 1.0]])
    for ties, expected in (("index", {(1, 2): 1.0}), ("last", {(3, 4): 1.0}), ("random", None)):
        built = mechanism("knn", ties=ties)
        for output in built.outputs(same).tolist():
            probability = 1 / 6 if expected is None else expected.get(tuple(output), 0.0)
            assert math.exp(float(built.log_prob(output, same))) == pytest.approx(probability, abs=1e-14)
    mixed = np.array([[5.0, 1.0], [5.0, 1.0], [1.0, 5.0], [1.0, 5.0]])
    built = mechanism("knn", ties="random")
    assert [math.exp(float(built.log_prob(o, mixed))) for o in ([1, 2], [1, 3], [2, 3])] == pytest.approx([0.5, 0.5, 0])


@pytest.mark.parametrize(
    ("k", "p", "rule", "expected"),
    [
        (50, 0.1, "algorithm", (5, 5, 5, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2)),
        (10, 0.3, "algorithm", (3, 3, 2, 1)),
        (10, 0.1, "original", (1,) * 10),
        (50, 0.98, "algorithm", (49,)),
        (50, 0.99, "algorithm", (49,)),
        (2, 0.5, "algorithm", (1,)),
        (1, 0.5, "algorithm", ()),
        (5, 0.5, "original", (3, 2)),
        (5, 0.5, "formula", (3, 1, 1)),
    ],
)
def test_quotas_by_hand(k: int, p: float, rule: Any, expected: tuple[int, ...]) -> None:
    assert partition_quotas(k, p, rule) == expected


def test_quotas_need_exact_arithmetic() -> None:
    """The ceiling of 0.07 * 100 = 7 in floats is 8."""
    assert math.ceil(0.07 * 100) == 8
    assert partition_quotas(100, 0.07)[0] == 7


def test_quotas_are_refused_where_nobody_is_left() -> None:
    assert mechanism("ppns", num_neighbors=3, probability=0.4).quotas(4) == (2,)
    with pytest.raises(InvalidInput, match="at least 4 candidates"):
        mechanism("ppns", num_neighbors=3, probability=0.4).quotas(3)


def test_beta_of_the_formula() -> None:
    """k = 50, p = 0.5: the first share of at most 3/2 is 25/32 at j = 6; p = 0.1: 5 (0.9)^12 = 1.41 at j = 13."""
    assert formula_beta(50, 0.5) == 5 + 50 / 32
    assert formula_beta(50, 0.1) == pytest.approx(12 + 50 * 0.9**12, rel=1e-14)
    for k, p in ((30, 0.2), (50, 0.3), (100, 0.9)):
        j = math.ceil(1 + (math.log(1.5) - math.log(p * k)) / math.log(1 - p))
        assert formula_beta(k, p) == pytest.approx(j - 1 + (1 - p) ** (j - 1) * k, rel=1e-12)


def test_last_partition_is_where_the_last_neighbor_is() -> None:
    order = ranking({row + 1: float(value) for row, value in enumerate(np.asarray(similarities(RATINGS)))})
    for place, partition in ((3, 2), (5, 2), (6, 3)):
        assert int(PPNS.last_partition(sorted([order[0], order[2], order[place]]), RATINGS)) == partition


def test_hard_truncation_cuts_where_the_paper_says() -> None:
    values = np.asarray(similarities(RATINGS))
    built = mechanism("pncf", num_neighbors=2, sensitivity=0.0005, rho=0.5)
    kth, width = (float(value) for value in built.truncation_thresholds(RATINGS))
    assert kth == pytest.approx(np.sort(values)[-2])
    assert width == pytest.approx(min(kth, 4 * 2 * 0.0005 * math.log(2 * 5 / 0.5)))
    sure = [row for row in range(1, 8) if values[row - 1] > kth + width]
    window = [row for row in range(1, 8) if kth - width <= values[row - 1] <= kth + width]
    assert len(sure) == 1
    assert len(window) == 2

    def groups(order: list[int], k: int) -> list[Draw]:
        return [(sure, 1), (window, 1)]

    assert agrees(built, plain_law(2, groups, paper(2, 0.0005)))
    assert not agrees(built, plain_law(2, lambda order, k: [(order, k)], paper(2, 0.0005)))
    assert not agrees(built, plain_law(2, lambda order, k: [(window, 2)], paper(2, 0.0005)))


def test_soft_truncation_raises_low_similarities() -> None:
    built = mechanism("pncf", num_neighbors=2, sensitivity=0.003, truncation="soft")
    kth, width = (float(value) for value in built.truncation_thresholds(RATINGS))
    values = np.asarray(similarities(RATINGS))
    assert (values < kth - width).any()
    weights = {row + 1: math.exp(paper(2, 0.003) * max(float(v), kth - width)) for row, v in enumerate(values)}
    assert agrees(built, weighted_draws(list(range(1, 8)), 2, weights))


def test_sensitivity_that_is_infinite_or_zero_gives_even_weights() -> None:
    one_item = np.array([[5.0, _], [4.0, _], [1.0, 2.0], [3.0, 1.0]])
    none = np.array([[5.0, _], [_, 4.0], [_, 2.0], [_, 1.0]])
    for dataset in (one_item, none):
        np.testing.assert_array_equal(mechanism("npns").log_weights(dataset), 0)
    pairwise = np.asarray(mechanism("npns", sensitivity="pairwise").log_weights(np.vstack([RATINGS, [5.0, *[_] * 5]])))
    assert pairwise[-1] == 0
    assert (pairwise[:2] > 0).all()


def test_predictions_without_noise_are_formula_6() -> None:
    built = mechanism("pncf", num_neighbors=7, release="prediction", noise="none", item=4)
    values = np.asarray(similarities(RATINGS))
    rated = ~np.isnan(RATINGS[1:, 4])
    expected = values[rated] @ RATINGS[1:, 4][rated] / values[rated].sum()
    assert float(built.sample(jax.random.key(0), RATINGS)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("noise", ["similarity", "rating", "prediction"])
def test_prediction_noise_has_the_scale_of_the_paper(noise: str) -> None:
    """With all seven neighbors drawn, and one who rated the item, noise on the rating is that of the prediction."""
    dataset = RATINGS.copy()
    dataset[2:, 4] = np.nan
    built = mechanism("pncf", num_neighbors=7, release="prediction", noise=noise, item=4, sensitivity=0.5, epsilon=2.0)
    keys = jax.random.split(jax.random.key(3), 20_000)
    values = np.asarray(jax.jit(jax.vmap(built.sample, (0, None)))(keys, dataset))
    if noise == "similarity":  # cancels in (6) up to its sign when one neighbor rated the item
        np.testing.assert_allclose(np.abs(values), 5, rtol=1e-9)
        return
    # Laplace of scale RS / (epsilon/2) = 0.5: mean distance 0.5 with standard deviation 0.5, five sigma at 20000 draws.
    assert abs(np.abs(values - 5).mean() - 0.5) < 5 * 0.5 / math.sqrt(20_000)
    assert abs(np.median(values) - 5) < 0.05


@pytest.mark.parametrize("protect", ["everyone", "candidates"])
@settings(max_examples=15, deadline=None)
@given(cells=st.lists(st.sampled_from([_, 0.0, 1.0, 5.0]), min_size=8, max_size=8), data=st.data())
def test_repaired_selection_keeps_its_epsilon(protect: Any, cells: list[float], data: st.DataObject) -> None:
    """The largest loss over all pairs of sets stays within epsilon: one rating of whom it protects, floor norm 5."""
    built = mechanism("npns", "repaired", epsilon=1.0, norm_floor=5.0, protect=protect)
    dataset = np.array(cells).reshape(4, 2)
    neighbor = dataset.copy()
    user = data.draw(st.integers(0 if protect == "everyone" else 1, 3))
    neighbor[user, data.draw(st.integers(0, 1))] = data.draw(st.sampled_from([_, 0.0, 2.0, 5.0]))
    assert repaired_loss(built, dataset, neighbor) <= 1 + 1e-12


def repaired_loss(built: Any, dataset: np.ndarray, neighbor: np.ndarray) -> float:
    logs = [np.array([float(built.log_prob(o, d)) for o in built.outputs(d)]) for d in (dataset, neighbor)]
    return float(np.abs(logs[0] - logs[1]).max())


def test_protecting_candidates_only_does_not_protect_the_target() -> None:
    """The mutation of the test above: the target's own rating changes, and the loss exceeds epsilon.

    The target (norm 20, the floor) adds a rating: her twins lose 0.030 to the longer norm, the candidate who shares
    only the new item gains 0.061; together 1.45 GS, where GS = 1/16.
    """
    twin = [5.0] * 16 + [_]
    dataset = np.array([twin, [_] * 16 + [5.0], twin, twin])
    neighbor = dataset.copy()
    neighbor[0, 16] = 5.0
    losses = {}
    for protect in ("candidates", "everyone"):
        built = mechanism("npns", "repaired", epsilon=4.0, num_neighbors=1, norm_floor=20.0, protect=protect)
        losses[protect] = repaired_loss(built, dataset, neighbor)
        assert losses[protect] <= built.claim.epsilon
    assert losses["candidates"] > 1.4 * 4
    assert losses["everyone"] <= 4


def test_noisy_partitions_follow_the_similarities_when_the_noise_is_small() -> None:
    dataset = np.array([[5.0] * 6, *[[5.0] * i + [_] * (6 - i) for i in range(6, 0, -1)]])
    built = mechanism("ppns", "repaired", num_neighbors=2, epsilon=1e9, norm_floor=5.0)
    drawn = np.asarray(jax.vmap(built.sample, (0, None))(jax.random.split(jax.random.key(1), 50), dataset))
    np.testing.assert_array_equal(drawn, np.tile([1, 3], (50, 1)))
    noisy = mechanism("ppns", "repaired", num_neighbors=2, epsilon=1e-3, norm_floor=5.0)
    drawn = np.asarray(jax.vmap(noisy.sample, (0, None))(jax.random.split(jax.random.key(1), 500), dataset))
    assert len({tuple(row) for row in drawn.tolist()}) == 15
