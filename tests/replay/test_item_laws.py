"""The checker's laws of X-Map's selections against the mechanisms', and against numbers worked out by hand."""

import math
from typing import Any

import jax
import numpy as np
import pytest
from flint import arb, fmpq

import dpassay as dp
from dpassay.core.numerics import float64
from dpassay.mechanisms import describe
from dpassay.replay import Rejected
from dpassay.replay.item_laws import law, read_output
from dpassay.replay.laws import Undefined
from dpassay.replay.numbers import precision, rational

# Parameters that together meet every choice at least once.
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("prs", "paper", {"num_source_items": 2, "source_item": 1, "sensitivity": 0.3}),
    ("prs", "paper", {"similarity": "cosine", "norms": "co_raters", "significance_cap": 3, "epsilon": 4.0}),
    ("prs", "released", {"list_size": 2, "epsilon": 9.0}),
    ("prs", "released", {"list_size": 2, "similarity": "cosine", "significance_cap": 2, "norms": "co_raters"}),
    ("prs", "repaired", {"num_source_items": 2, "epsilon": 7.0, "norms": "co_raters"}),
    ("pnsa", "paper", {"num_neighbors": 1, "epsilon": 20.0, "rho": 0.9, "target": 2}),
    ("pnsa", "paper", {"similarity": "cosine", "epsilon": 3.0}),
    ("pnsa", "paper", {"similarity": "cosine", "norms": "co_raters", "num_neighbors": 1, "epsilon": 50.0}),
    ("pnsa", "paper", {"num_neighbors": 3, "norms": "co_raters", "epsilon": 2.5}),
    ("pnsa", "released", {"significance_cap": 3, "epsilon": 5.0, "num_neighbors": 1}),
    ("pnsa", "released", {"target": 3}),
    ("pnsa", "repaired", {"threshold": 0.5, "width": 0.25, "epsilon": 6.0}),
    ("pnsa", "repaired", {"similarity": "cosine", "width": 0.125, "num_neighbors": 1, "target": 1}),
    ("pnsa", "repaired", {"similarity": "adjusted_cosine", "epsilon": 11.0}),
]


def exact_law(described: dict[str, Any], matrix: np.ndarray) -> dict[tuple[int, ...], Any]:
    parameters = {
        name: value if isinstance(value, str) else str(value) for name, value in described["parameters"].items()
    }
    rows = [[None if np.isnan(value) else rational(int(value)) for value in row] for row in matrix]
    with precision():
        return law({**described, "parameters": parameters}, rows)


@pytest.mark.parametrize(("id", "variant", "parameters"), CASES)
def test_laws_agree(id: str, variant: str, parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    mechanism = dp.mechanism(id, variant, **parameters)
    datasets = rng.integers(1, 6, (100, 6, 4)).astype(float)
    # Few levels make ties, zero norms and single co-raters frequent.
    datasets[50:] = np.minimum(datasets[50:], 2)
    datasets[rng.random(datasets.shape) < 0.4] = np.nan
    outputs = mechanism.outputs(datasets[0])
    each = float64(jax.jit(jax.vmap(jax.vmap(mechanism.log_prob, (0, None)), (None, 0))))
    defined = 0
    for dataset, theirs in zip(datasets, np.exp(np.asarray(each(outputs, datasets))), strict=True):
        try:
            ours = exact_law(describe(mechanism), dataset)
        except Undefined:
            assert np.isnan(theirs).all()
            continue
        defined += 1
        chances = [ours.get(tuple(output)) for output in outputs.tolist()]
        np.testing.assert_allclose(theirs, [0 if c is None else float(arb(c)) for c in chances], rtol=0, atol=1e-9)
        # Impossible is impossible, not improbable.
        assert [chance is None for chance in chances] == [value == 0 for value in theirs]
    assert defined > 50


def described(id: str, variant: str = "paper", **parameters: Any) -> dict[str, Any]:
    return describe(dp.mechanism(id, variant, **parameters))


NAN = np.nan
# Both users rate the source item 0; one links it to item 1, the other to item 2. Each similarity is -1 over a norm.
LINKS = np.array([[1, 2, NAN], [1, NAN, 2]])


def test_replacement_by_hand() -> None:
    # Every rating is half a star from its user's mean: the source's norm is sqrt(2)/2, the others' 1/2.
    similarity = -0.25 / (math.sqrt(0.5) * 0.5)
    assert exact_law(described("prs"), LINKS).keys() == {(1,), (2,)}
    alone = LINKS.copy()
    alone[1] = NAN
    assert exact_law(described("prs"), alone) == {(1,): fmpq(1)}
    chances = exact_law(described("prs", "repaired"), alone)
    weight = math.exp(-1 / 4)  # alone, the link is a similarity of -1
    assert float(arb(chances[(1,)])) == pytest.approx(weight / (weight + 1))
    wide = exact_law(described("prs", "repaired"), np.hstack([LINKS, [[NAN], [NAN]]]))
    weight = math.exp(similarity / 4)
    assert float(arb(wide[(3,)])) == pytest.approx(1 / (1 + 2 * weight))


def test_neighbors_by_hand() -> None:
    # Plain cosine, one neighbor. Item 1 agrees with the target over three users: similarity 1, SS = 1/2.
    ratings = np.array([[1, 1, NAN], [1, 1, NAN], [1, 1, NAN]])
    chances = exact_law(described("pnsa", similarity="cosine", num_neighbors=1), ratings)
    weight = math.exp(1 / (4 * 0.5))
    assert float(arb(chances[(1,)])) == pytest.approx(weight / (weight + 1))
    # As released, weighted by 3/4 co-raters; a one-sided removal leaves 2/sqrt(6) with 2/4.
    chances = exact_law(described("pnsa", "released", num_neighbors=1, significance_cap=4), ratings)
    assert chances == {(1,): fmpq(1)}
    also = np.vstack([ratings, [[NAN, NAN, NAN]]])
    also[3, [0, 2]] = 1
    chances = exact_law(described("pnsa", "released", num_neighbors=1, significance_cap=4), also)
    first, second = 3 / math.sqrt(12) * 3 / 4, 1 / math.sqrt(4) / 4
    moved1 = first - 2 / math.sqrt(4 * 2) * 2 / 4  # the larger of the two: removed from item 1 the norms are 4 and 2
    moved1 = max(moved1, first - 2 / math.sqrt(3 * 3) * 2 / 4)
    weights = [math.exp(first / (4 * moved1)), math.exp(second / (4 * second))]
    assert float(arb(chances[(1,)])) == pytest.approx(weights[0] / sum(weights))


def test_soft_floor_raises_to_the_bound() -> None:
    # 101 users agree on the target and item 1, so SS = 1/100 and w = (4/100) ln 2 at rho = 1/2.
    ratings = np.full((102, 3), NAN)
    ratings[:101, :2] = 1
    ratings[101, 2] = ratings[0, 2] = 1
    chances = exact_law(described("pnsa", similarity="cosine", num_neighbors=1, rho=0.5), ratings)
    small = 1 / math.sqrt(101 * 2)
    # Item 2 shares one rater: SS is 1 / sqrt(100 * 1) at least, which is the larger one.
    sensitivity = 1 / math.sqrt(100)
    floor = 1 - 4 * sensitivity * math.log(2)
    assert floor > small
    weights = [math.exp(1 / (4 / 100)), math.exp(floor / (4 * sensitivity))]
    assert float(arb(chances[(1,)])) == pytest.approx(weights[0] / sum(weights))


@pytest.mark.parametrize(
    ("record", "output", "mends"),
    [
        (described("prs"), [0], "target domain"),
        (described("prs"), [3], "target domain"),
        (described("prs"), [1, 2], "one item"),
        (described("pnsa"), [0, 1], "other items"),
        (described("pnsa"), [2, 1], "ascending"),
        (described("pnsa"), [1, 3], "other items"),
    ],
)
def test_what_is_no_output_is_rejected(record: dict[str, Any], output: list[int], mends: str) -> None:
    record["parameters"] = {name: v if isinstance(v, str) else str(v) for name, v in record["parameters"].items()}
    with pytest.raises(Rejected, match=mends):
        read_output(output, record, [[None] * 3])


@pytest.mark.parametrize(
    ("id", "variant", "name", "value"),
    [
        ("prs", "paper", "epsilon", "0"),
        ("prs", "paper", "similarity", "pearson"),
        ("prs", "paper", "norms", "both"),
        ("prs", "paper", "sensitivity", "-1"),
        ("prs", "paper", "list_size", "10"),
        ("prs", "other", "epsilon", "1"),
        ("prs", "paper", "source_item", "2"),
        ("pnsa", "paper", "rho", "1"),
        ("pnsa", "paper", "target", "9"),
        ("pnsa", "repaired", "width", "0"),
        ("pnsa", "paper", "similarity", "normalized"),
    ],
)
def test_unknown_parameters_are_rejected(id: str, variant: str, name: str, value: str) -> None:
    record = described(id, variant if variant != "other" else "paper")
    parameters = {key: v if isinstance(v, str) else str(v) for key, v in record["parameters"].items()}
    with pytest.raises(Rejected), precision():
        law({"id": id, "variant": variant, "parameters": {**parameters, name: value}}, [[fmpq(1)] * 3] * 2)
