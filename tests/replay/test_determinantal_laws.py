"""The trusted laws of determinantal processes: hand computations, and agreement with the mechanisms in JAX."""

import json
import math
from typing import Any

import jax
import numpy as np
import pytest
from flint import arb, fmpq

import dpassay as dp
from dpassay.core.numerics import float64
from dpassay.mechanisms import describe
from dpassay.mechanisms.dpp import exact_epsilon
from dpassay.replay import Rejected, check
from dpassay.replay.determinantal_laws import kernel_matrix, law, read_output
from dpassay.replay.laws import Undefined, law_module
from dpassay.replay.numbers import precision, rational

CASES: list[tuple[str, dict[str, Any]]] = [
    ("dpp", {"jitter": 0.0}),
    ("dpp", {"jitter": 0.25, "max_square_norm": 3.0}),
    ("dpp", {"jitter": 0.001, "kernel": "polynomial", "offset": 0.5, "degree": 3}),
    ("kdpp", {"size": 3, "jitter": 0.0}),
    ("kdpp", {"size": 2, "jitter": 0.125, "max_square_norm": 2.0}),
    ("dpp_eigen", {"jitter": 0.0}),
]


def stated(mechanism: Any) -> dict[str, Any]:
    """A mechanism as a certificate states it."""
    described = describe(mechanism)
    exact = {
        name: value if isinstance(value, str | None) else str(value) for name, value in described["parameters"].items()
    }
    return {**described, "parameters": exact}


def exactly(dataset: np.ndarray) -> list[list[fmpq | None]]:
    return [[None if np.isnan(value) else rational(int(value)) for value in row] for row in dataset]


@pytest.mark.parametrize(("id", "parameters"), CASES)
def test_agrees_with_the_mechanism(id: str, parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    mechanism = dp.mechanism(id, **parameters)
    datasets = rng.integers(0, 3, (25, 3, 4)).astype(float)
    datasets[rng.random(datasets.shape) < 0.3] = np.nan
    outputs = mechanism.outputs(datasets[0])
    logs = np.asarray(float64(jax.jit(jax.vmap(jax.vmap(mechanism.log_prob, (0, None)), (None, 0))))(outputs, datasets))
    defined = 0
    for dataset, theirs in zip(datasets, logs, strict=True):
        rows = exactly(dataset)
        try:
            with precision():
                exact = law(stated(mechanism), rows)
        except Undefined:
            assert np.isnan(theirs).all()
            continue
        defined += 1
        read = [read_output(output.tolist(), stated(mechanism), rows) for output in outputs]
        assert set(exact) <= set(read)
        ours = np.array([float(arb(exact[output])) if output in exact else 0.0 for output in read])
        np.testing.assert_allclose(np.exp(theirs), ours, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(theirs == -math.inf, ours == 0)
        assert float(arb(sum(exact.values(), fmpq(0)))) == pytest.approx(1, abs=1e-15)
    assert defined >= 5


def test_by_hand() -> None:
    """L = [[2, 1], [1, 2]]: minors 1, 2, 2, 3; eigenvalues 1 and 3."""
    dataset = exactly(np.array([[1.0, 1.0]]))
    assert law(stated(dp.mechanism("dpp")), dataset) == {
        (): fmpq(1, 8),
        (0,): fmpq(2, 8),
        (1,): fmpq(2, 8),
        (0, 1): fmpq(3, 8),
    }
    assert law(stated(dp.mechanism("kdpp", size=1)), dataset) == {(0,): fmpq(1, 2), (1,): fmpq(1, 2)}
    assert law(stated(dp.mechanism("dpp_eigen")), dataset) == {
        (): fmpq(1, 8),
        (0,): fmpq(1, 8),
        (1,): fmpq(3, 8),
        (0, 1): fmpq(3, 8),
    }


def test_irrational_eigenvalues_are_enclosed() -> None:
    """L = [[2, 1], [1, 3]]: eigenvalues (5 -+ sqrt 5)/2; both tails have probability 1/det(L + I) = 1/11."""
    dataset = exactly(np.array([[1.0, 1.0], [np.nan, 1.0]]))
    with precision():
        exact = law(stated(dp.mechanism("dpp_eigen")), dataset)
        assert exact[()].overlaps(arb(fmpq(1, 11)))
        assert exact[()].rad() < 1e-60
        chance = exact[(1,)] / exact[()]
        assert chance.overlaps((arb(5) + arb(5).sqrt()) / 2)


def test_longer_rows_are_scaled_down() -> None:
    dataset = exactly(np.array([[1.0, 2.0], [0.0, 1.0]]))
    kernel = kernel_matrix(stated(dp.mechanism("dpp", jitter=0.0, max_square_norm=1.0)), dataset)
    assert kernel.tolist() == [[fmpq(1, 5), fmpq(2, 5)], [fmpq(2, 5), fmpq(4, 5) + 1]]
    kernel = kernel_matrix(stated(dp.mechanism("kdpp", size=1, jitter=0.0, max_square_norm=1.0)), dataset)
    assert kernel.tolist() == [[fmpq(1, 4), fmpq(2, 4)], [fmpq(2, 4), fmpq(1) + 1]]


def test_what_is_no_law_is_refused() -> None:
    dataset = exactly(np.array([[1.0, 1.0]]))
    with pytest.raises(Undefined, match="semidefinite"):
        law(stated(dp.mechanism("dpp", kernel="polynomial", offset=-3.0, degree=1, jitter=0.0)), dataset)
    with pytest.raises(Undefined, match="singular"):
        law(stated(dp.mechanism("kdpp", jitter=0.0)), dataset)
    with pytest.raises(Undefined):
        law(stated(dp.mechanism("kdpp", size=3)), dataset)
    with pytest.raises(Rejected, match="knows dot, polynomial"):
        law(stated(dp.mechanism("dpp", kernel="rbf")), dataset)
    with pytest.raises(Rejected, match="at most 8"):
        law(stated(dp.mechanism("dpp")), exactly(np.ones((1, 9))))
    with pytest.raises(Rejected, match="no exact law"):
        law({**stated(dp.mechanism("dpp")), "id": "dpp_subset_jittered"}, dataset)
    described = stated(dp.mechanism("dpp"))
    for name, value in (("jitter", "-1"), ("jitter", 0.5), ("max_square_norm", "0"), ("degree", "2")):
        changed = {**described, "parameters": {**described["parameters"], name: value}}
        if name == "degree":  # does not enter the dot kernel
            assert law(changed, dataset)
            continue
        with pytest.raises(Rejected):
            law(changed, dataset)
    with pytest.raises(Rejected, match="unknown"):
        law({**described, "parameters": {**described["parameters"], "seed": "1"}}, dataset)


def test_outputs_are_read_strictly() -> None:
    dataset = exactly(np.ones((1, 3)))
    described, fixed = stated(dp.mechanism("dpp")), stated(dp.mechanism("kdpp"))
    assert law_module(described).read_output([True, False, True], described, dataset) == (0, 2)
    assert read_output([], described, dataset) == ()
    assert read_output([1, "2"], fixed, dataset) == (1, 2)
    for wrong in ([True, False], [1, 0], [0, 0], [3], [-1], [0.0], "01", None, [True, 1, 0]):
        with pytest.raises(Rejected):
            read_output(wrong, described, dataset)  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="2 items"):
        read_output([0], fixed, dataset)


@pytest.mark.parametrize(
    ("id", "parameters"), [("dpp", {"max_square_norm": 3.0}), ("kdpp", {"size": 1}), ("dpp_eigen", {})]
)
def test_the_loss_of_a_pair_is_replayed_and_no_more_than_that(id: str, parameters: dict[str, Any]) -> None:
    """Masks of the mechanism, as an audit finds them, are the sets of the trusted law."""
    mechanism = dp.mechanism(id, **parameters)
    found = dp.exact(mechanism, [[1, 1, 1], [1, 0, np.nan]], [[np.nan] * 3, [1, 0, np.nan]])
    assert found.certificate is not None
    inputs = json.loads(json.dumps(found.certificate["inputs"]))
    result = check("witness", inputs)
    assert float(result["epsilon_lower"]) == pytest.approx(found.epsilon, abs=1e-9)
    with pytest.raises(Rejected, match="no violation"):
        check("witness", {**inputs, "epsilon": str(round(found.epsilon + 1e-6, 9))})
    changed = {**inputs["mechanism"], "parameters": {**inputs["mechanism"]["parameters"], "jitter": "11/10"}}
    try:
        assert check("witness", {**inputs, "mechanism": changed, "epsilon": "0"}) != result
    except Rejected:
        pytest.fail("a slightly larger jitter must still show a loss above 0")


def test_the_exact_loss_of_the_process_is_attained() -> None:
    """All ones added to nobody: log(1 + n/(1+s)) at the empty set, log(1 + n/(s (1+s+n))) at all items."""
    described, nobody = stated(dp.mechanism("dpp", jitter=0.25)), exactly(np.full((1, 3), np.nan))
    with_user, without = law(described, exactly(np.ones((1, 3)))), law(described, nobody)
    assert without[()] / with_user[()] == 1 + fmpq(3) / fmpq(5, 4)
    assert with_user[(0, 1, 2)] / without[(0, 1, 2)] == 1 + fmpq(3) / (fmpq(1, 4) * fmpq(17, 4))
    gains = {chosen: abs(math.log(float(arb(with_user[chosen] / without[chosen])))) for chosen in without}
    assert max(gains.values()) == pytest.approx(exact_epsilon(3, 0.25), abs=1e-12)
