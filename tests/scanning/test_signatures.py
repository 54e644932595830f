"""What is taken for a candidate by what it declares or by its parameters, and what is not."""

import abc
import itertools
import sys
import types
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors.drawing import first_draws
from dpassay.scanning.calls import role
from dpassay.scanning.candidates import DECLARED, READ, Candidate, NotJudged, Pair
from dpassay.scanning.signatures import GENEROUS, candidates


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is found of functions and classes, as if a module had defined them."""

    def of(*things: Any) -> dict[str, Candidate | NotJudged]:
        module = types.ModuleType("release")
        monkeypatch.setitem(sys.modules, "release", module)
        for thing in things:
            thing.__module__, thing.__qualname__ = "release", thing.__name__
            setattr(module, thing.__name__, thing)
        return {each.name.removeprefix("release."): each for each in candidates(module)}

    return of


def test_declared_claims(found: Any) -> None:
    def count(rng: np.random.Generator, values: list[int]) -> float:
        return len(values) + rng.laplace()

    def answer(rng: np.random.Generator, value: int) -> int:
        return value

    def total(values: list[int]) -> int:
        return sum(values)

    def unclear(rng: np.random.Generator, values, more) -> float:
        return 0.0

    @dp.mechanism_function(relation="one_query", epsilon=1)
    def marked(rng, data):
        return sum(data) + rng.laplace()

    count.privacy = SimpleNamespace(epsilon=1, relation="replace_one:record")  # type: ignore[attr-defined]
    answer.privacy = SimpleNamespace(epsilon=2, delta=1e-6)  # type: ignore[attr-defined]
    total.stability = SimpleNamespace(d_out=3)  # type: ignore[attr-defined]
    unclear.privacy = SimpleNamespace(epsilon=1)  # type: ignore[attr-defined]
    listed = found(count, answer, total, unclear, marked)
    assert (listed["count"].relation, listed["count"].claim.epsilon) == ("replace_one:record", 1.0)
    assert (listed["answer"].relation, listed["answer"].claim.delta) == ("replace_one:record", 1e-6)
    assert (listed["total"].kind, listed["total"].claim.d_out) == ("map", 3)
    assert listed["marked"].subject is marked
    assert {listed[name].source for name in ("count", "answer", "total", "marked")} == {DECLARED}
    assert "values, more" in listed["unclear"].reason


def test_calls_are_made_of_names(found: Any) -> None:
    def noisy_sum(data, epsilon, lower=0.0, upper=7.0, rng=None):
        """Differential privacy."""
        return sum(data) + rng.laplace(scale=epsilon)

    def gauss(value, sensitivity, eps, random_state=None):
        """Privacy by Gaussian noise."""
        return value + random_state

    listed = found(noisy_sum, gauss)
    total, one = listed["noisy_sum(epsilon=0.5)"], listed["gauss(epsilon=0.5)"]
    assert total.relation is None
    assert total.source == READ
    assert total.subject.fixed == {"epsilon": 0.5}
    drawn = first_draws(total.datasets, "", 20)
    assert {entry for data in drawn for entry in data} == {0.0, 3.5, 7.0}
    assert total.subject.shown() == "noisy_sum(data=data, epsilon=0.5, rng=rng)"
    assert one.datasets == Pair(0, 1)
    assert one.claim.delta == GENEROUS
    assert isinstance(one.subject(np.random.default_rng(0), 3), int)


def test_bounds_that_may_be_left_out_are_where_a_sensitivity_is_given(found: Any) -> None:
    def either(data, epsilon, sensitivity=None, lower=None, upper=None, rng=None):
        """Differential privacy."""
        return sum(data) + rng.laplace()

    def bounds(data, epsilon, lower=None, upper=None, rng=None):
        """Differential privacy."""
        return sum(data) + rng.laplace()

    listed = found(either, bounds)
    assert not {"lower", "upper"} & {*listed["either(epsilon=0.5)"].subject.fixed}
    (other,) = [each for name, each in listed.items() if name.startswith("bounds(")]
    assert {"lower", "upper"} <= {*other.subject.fixed}


def test_what_is_no_candidate_is_not_even_named(found: Any) -> None:
    def is_close(a, b, eps=1e-9):
        """With privacy in mind."""

    def adam(data, epsilon=1e-8):
        """Privacy."""

    def epsilon_greedy(values, epsilon):
        """Explores now and then."""

    def helper(data):
        """Privacy."""

    class Warned(Exception):
        """Privacy."""

        def __init__(self, epsilon: float) -> None: ...

    assert found(is_close, adam, epsilon_greedy, helper, Warned) == {}


def test_what_cannot_be_judged_says_why(found: Any) -> None:
    async def later(data, epsilon):
        """Privacy."""

    def needs(data, model, epsilon):
        """Privacy."""

    def unnamed(data, epsilon, /):
        """Privacy."""

    class Base(abc.ABC):
        """Privacy."""

        def __init__(self, epsilon: float) -> None:
            self.epsilon = epsilon

        @abc.abstractmethod
        def randomise(self, value: float) -> float: ...

    class Fitted:
        """Privacy."""

        def __init__(self, epsilon: float = 1.0) -> None: ...

        def fit(self, X, y): ...

    def noise_scale(epsilon):
        """Privacy."""

    def compute_epsilon(sigma, model, delta):
        """Privacy."""

    listed = found(later, needs, unnamed, Base, Fitted, noise_scale, compute_epsilon)
    reasons = {
        "later": "asynchronous",
        "needs": "model is not understood",
        "unnamed": "by name",
        "Base": "abstract",
        "Fitted": "fitted",
        "noise_scale": "not of which",
        "compute_epsilon": "not clear",
    }
    assert set(listed) == set(reasons)
    for name, words in reasons.items():
        assert words in listed[name].reason


def test_objects_that_raise_whatever_is_asked_of_them(found: Any) -> None:
    class Odd(type):
        def __getattribute__(cls, name: str) -> Any:
            if name == "privacy":
                raise RuntimeError("not today")
            return super().__getattribute__(name)

    listed = found(Odd("Strange", (), {}))
    assert "not today" in listed["Strange"].reason


def test_formulas_and_accountants(found: Any) -> None:
    def gaussian_sigma(epsilon, delta):
        """Privacy."""
        return 1 / epsilon

    def gaussian_variance(epsilon, delta):
        """Privacy, for epsilon < 1."""
        return 4.0

    def get_epsilon(noise_multiplier, steps, delta):
        return (float(steps), delta)

    listed = found(gaussian_sigma, gaussian_variance, get_epsilon)
    scales = [each.subject() for name, each in listed.items() if name.startswith("gaussian_sigma")]
    assert [(each["kind"], each["epsilon"], each["scale"]) for each in scales] == [
        ("gaussian", epsilon, 1 / epsilon) for epsilon in (0.1, 1.0, 10.0)
    ]
    roots = [each.subject() for name, each in listed.items() if name.startswith("gaussian_variance")]
    assert [each["scale"] for each in roots] == [2.0, 2.0]
    [asked] = [each.subject() for name, each in listed.items() if name.startswith("get_epsilon")]
    assert (asked.epsilon, asked.event["count"], asked.event["event"]["noise_multiplier"]) == (100.0, 100, 2.0)


@pytest.mark.parametrize(
    ("name", "annotation", "expected"),
    [
        ("eps", None, "epsilon"),
        ("total_epsilon", None, "epsilon"),
        ("data", float, "value"),
        ("values", None, "records"),
        ("true_value", None, "value"),
        ("scores", None, "vector"),
        ("who", np.random.Generator, "generator"),
        ("random_state", None, "seed"),
        ("episode", None, "other"),
    ],
)
def test_roles(name: str, annotation: Any, expected: str) -> None:
    assert role(name, annotation) == expected


def test_ten_thousand_functions_are_listed(found: Any) -> None:
    def made(number: int) -> Any:
        def release(data, epsilon):
            """Privacy."""

        release.__name__ = f"release{number}"
        return release

    first = made(0)
    things = itertools.chain([first], (types.FunctionType(first.__code__, {}, f"r{each}") for each in range(300)))
    assert len(found(*things)) == 301
