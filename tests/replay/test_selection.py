"""Selection means against hand computations; falsified conditions are rejected."""

import itertools
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.replay import Rejected, check
from dpassay.replay.numbers import precision
from dpassay.replay.selection import manly_means

LIST: dict[str, Any] = {"similarities": ["1", "1/2", "1/2", "0"], "num_neighbors": 2, "supports": "holds"}


def value(name: str, **inputs: Any) -> list[str]:
    """Enclosure of one of the names of a condition."""
    result = check("selection", {**LIST, **inputs, "condition": [">", name, "-1"]})
    enclosure: list[str] = result["values"][name]
    return enclosure


def test_means_by_hand() -> None:
    # Weights 4, 2, 2, 1. Candidate 1 first: 4/9; second after another: 2 * 2/9 * 4/7 + 1/9 * 4/8.
    expected = Fraction(4, 9) + 2 * Fraction(2, 9) * Fraction(4, 7) + Fraction(1, 9) * Fraction(4, 8)
    assert value("mu_npns_1", base="4", methods={"npns": {}}) == [str(expected)] * 2
    assert value("mu_u_1", base="4", methods={"u": {"kind": "uniform"}}) == ["1/2", "1/2"]
    assert value("theorem_bound", base="4", methods={}) == ["15/16", "15/16"]
    partition = {"ppns": {"probability": "1/2"}}
    assert value("first_ppns", base="4", methods=partition) == ["1", "1"]
    assert value("mu_ppns_1", base="4", methods=partition) == ["2/3", "2/3"]
    assert value("mu_ppns_3", base="4", methods=partition) == ["2/3", "2/3"]
    uniform = {"ppns": {"probability": "1/2", "last": "uniform"}}
    assert value("mu_ppns_3", base="4", methods=uniform) == ["1/2", "1/2"]
    assert value("alpha_ppns", base="4", methods=uniform) == [str(Fraction(2, 3) + Fraction(1, 6) + Fraction(1, 4))] * 2
    original = {"ppns": {"probability": "9/10", "rule": "original"}}
    assert value("alpha_ppns", base="4", methods=original) == ["3/2", "3/2"]


def test_truncated_selection() -> None:
    # lambda = 1/4 around s_2 = 1/2: candidate 1 surely, then 2 or 3 with equal weights; never 4.
    sharp = {"pncf": {"margin": "1/4"}}
    assert value("mu_pncf_1", base="4", methods=sharp) == ["1", "1"]
    assert value("mu_pncf_2", base="4", methods=sharp) == ["1/2", "1/2"]
    assert value("mu_pncf_4", base="4", methods=sharp) == ["0", "0"]
    # 4 is raised to 1/2 - 1/4, and has weight 4^(1/4).
    low, high = value("mu_pncf_4", base="4", methods={"pncf": {"margin": "1/4", "truncation": "soft"}})
    one, four = 2**0.5, 4 + 2 + 2 + 2**0.5
    chance = one / four * (1 + 0) + 4 / four * one / (four - 4) + 2 * 2 / four * one / (four - 2)
    assert float(low) == pytest.approx(chance, abs=1e-12)
    assert float(low) < float(high) + 1e-15
    # lambda = min(s_2, ln(2 * 2 / rho) / ln 4): at rho = 1/2 it is s_2, and everyone is possible.
    wide = value("mu_pncf_4", base="4", methods={"pncf": {"rho": "1/2"}})
    assert wide == value("mu_npns_4", base="4", methods={"npns": {}})
    with pytest.raises(Rejected, match="one of margin and rho"):
        value("mu_pncf_4", base="4", methods={"pncf": {}})
    with pytest.raises(Rejected, match="raised"):
        value("mu_pncf_4", weights=[4, 2, 2, 1], methods={"pncf": {"margin": "1/4", "truncation": "soft"}})


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=3, max_size=6), st.integers(1, 3))
def test_exact_means_sum_over_orders(weights: list[int], k: int) -> None:
    weights.sort(reverse=True)
    n = len(weights)
    expected = [Fraction(0)] * n
    for order in itertools.permutations(range(n), k):
        chance, left = Fraction(1), Fraction(sum(weights))
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        for i in order:
            expected[i] += chance
    inputs = {"similarities": list(range(n, 0, -1)), "num_neighbors": k, "weights": weights, "methods": {"npns": {}}}
    for i in (1, n):
        assert value(f"mu_npns_{i}", **inputs) == [str(expected[i - 1])] * 2


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.data())
def test_manly_means_solve_equation_9(weights: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(weights) - 1))
    with precision():
        means = manly_means([fmpq(weight) for weight in weights], count)
        total = sum(means, fmpq(0))
        assert count in total if isinstance(total, arb) else total == count
        powers = [(1 - arb(mean)) ** (1 / arb(weight)) for mean, weight in zip(means, weights, strict=True)]
        assert all(power.overlaps(powers[0]) and float(power.rad()) < 1e-30 for power in powers)
        assert all(mean > 0 and mean < 1 for mean in means)


@pytest.mark.parametrize(
    "change",
    [
        {"condition": [">", "alpha_npns", "523/420"]},
        {"condition": ["<", "alpha_npns", "523/420"]},
        {"condition": ["=", "alpha_npns", "524/420"]},
        {"condition": [">", "beta", "0"]},
        {"similarities": ["1/2", "1"]},
        {"num_neighbors": 5},
        {"base": "0"},
        {"base": "4", "weights": [4, 2, 2, 1]},
        {"methods": {"npns": {"probability": "1/2"}}},
        {"methods": {"npns": {"mean": "median"}}},
        {"methods": {"other": {}}},
        {"methods": {"a b": {"kind": "npns"}}},
        {"methods": {"ppns": {"probability": "3/2"}}},
        {"values": {"k": "3"}},
    ],
)
def test_falsified_selections_are_rejected(change: dict[str, Any]) -> None:
    inputs = {**LIST, "base": "4", "methods": {"npns": {}}, "condition": ["=", "alpha_npns", "523/420"]}
    assert check("selection", inputs)["values"]["alpha_npns"] == ["523/420", "523/420"]
    with pytest.raises(Rejected):
        check("selection", {**inputs, **change})


def test_irrational_weights_are_enclosed() -> None:
    low, high = value("w_1", rate="1", methods={})
    assert low.startswith("2.71828182845904523")
    assert Fraction(low) < Fraction(high)
    assert value("w_4", rate="1", methods={}) == ["1", "1"]
