"""The text from which a program is read says what the function runs, or is refused."""

import functools
import math
from typing import Any

import numpy  # noqa: ICN001
import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.prover.program_text import program_of

SCALE = 2
FACTORS = [1, 2]
another_name = abs


def _noisy(rng: Any, value: float, scale: float) -> float:
    return value + rng.laplace(0, scale)


def count(rng: Any, data: list[float], epsilon: float, c: int, strict: bool = True) -> float:
    """Counts."""
    total = sum(1 for x in data if x >= c)
    return _noisy(rng, total, math.exp(0) * SCALE / epsilon)


def _globally(rng: Any, data: Any) -> Any:
    global SCALE
    return data


def _with_list(rng: Any, data: Any) -> Any:
    return data[0] * FACTORS[0]


def _with_other_numpy(rng: Any, data: Any) -> Any:
    return numpy.sum(data)


def _undefined(rng: Any, data: Any) -> Any:
    return nowhere(data)  # type: ignore[name-defined]  # noqa: F821


def _renamed(rng: Any, data: Any) -> Any:
    return another_name(data)


def _mutable(rng: Any, data: Any, seen: int = []) -> Any:  # type: ignore[assignment]
    return seen


def _text_parameter(rng: Any, data: Any, how: str) -> Any:
    return data


def _no_data(rng: Any) -> Any:
    return 1


def _twice(function: Any) -> Any:
    return functools.wraps(function)(_constant)


def _constant(rng: Any, data: Any) -> Any:
    return 1


@_twice
def _wrapped(rng: Any, data: Any) -> Any:
    return data[0] + rng.laplace()


def _closing(secret: int) -> Any:
    def inner(rng: Any, data: Any) -> Any:
        return secret

    return inner


def test_text_holds_helpers_constants_and_imports() -> None:
    program = program_of(count)
    module: dict[str, Any] = {"Any": Any}
    exec(compile(program.text, "program", "exec"), module)
    drawn = [function(np.random.default_rng(3), [1, 2, 3], 0.5, 2) for function in (count, module[program.entry])]
    assert drawn[0] == drawn[1]
    assert program.parameters == {"epsilon": "real", "c": "int", "strict": "bool"}
    assert program.text.startswith("import math\nSCALE = 2\n")
    line = next(number for number, text in enumerate(program.text.splitlines(), 1) if "sum(1" in text)
    assert program.place(line) == f"test_program_text.py:{count.__code__.co_firstlineno + 2}"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (_globally, "no global"),
        (_with_list, "FACTORS is a list"),
        (_with_other_numpy, "numpy is the module numpy"),
        (_undefined, "nowhere is not defined"),
        (_renamed, "another_name is a builtin_function_or_method"),
        (_mutable, "use a number"),
        (_text_parameter, "how is a str"),
        (_no_data, "the generator, the private data"),
        (_wrapped, "does not run its source"),
        (_closing(1), "secret"),
        (lambda rng, data: 1, "not a `def`"),
        (abs, "plain Python function"),
        (functools.partial(count, c=1), "plain Python function"),
    ],
)
def test_what_the_text_cannot_say_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        program_of(function)


def test_a_function_that_runs_other_code_is_refused() -> None:
    def stale(rng: Any, data: Any) -> Any:
        return 1

    stale.__code__ = stale.__code__.replace(co_consts=(None, 2))
    with pytest.raises(InvalidInput, match="does not run its source"):
        program_of(stale)


def test_changed_defaults_are_refused() -> None:
    def moved(rng: Any, data: Any, c: int = 1) -> Any:
        return c

    moved.__defaults__ = (0,)
    with pytest.raises(InvalidInput, match="defaults"):
        program_of(moved)


def test_a_shadowed_builtin_is_read_as_what_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(count.__globals__, "sum", 7)
    assert "\nsum = 7\n" in program_of(count).text


def _mean(rng: Any, data: list[float], epsilon: float) -> float:
    mean = np.mean(data)
    laplace = rng.laplace(0, 1 / epsilon)
    return float(mean + laplace)


def test_a_variable_may_be_called_like_an_attribute() -> None:
    text = program_of(_mean).text
    assert text.startswith("import numpy as np\n")
    assert "mean = np.mean(data)" in text


def _positional(rng: Any, data: Any, /, epsilon: float) -> Any:
    return data


def _positional_helper(rng: Any, data: Any) -> Any:
    return _marked(data)


def _marked(data: Any, /) -> Any:
    return data


def _tower(rng: Any, data: Any) -> Any:
    return 2 ** (2**2**2**4)


def _named_tower(rng: Any, data: Any) -> Any:
    low = 2**2**4
    return SCALE ** (2**low)


def _shifted_far(rng: Any, data: Any) -> Any:
    return 1 << (1 << 40)


def _long_list(rng: Any, data: Any) -> Any:
    return [0] * 10**9


def _ordinary(rng: Any, data: Any) -> Any:
    size = 10**3
    return [0.0] * size + [2.0**-20, 1 << 10, -(2**64)]


@pytest.mark.parametrize("function", [_positional, _positional_helper])
def test_positional_only_parameters_are_refused_plainly(function: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"^test_program_text.py:\d+: leave out the / in the parameters of _\w+: .*$"
    ):
        program_of(function)


@pytest.mark.parametrize("function", [_tower, _named_tower, _shifted_far, _long_list])
def test_constants_that_cannot_be_computed_are_refused_with_their_line(function: Any) -> None:
    line = function.__code__.co_firstlineno + len(function.__code__.co_varnames) - 1
    with pytest.raises(InvalidInput, match=rf"^test_program_text.py:{line}: .* is too large to be computed$"):
        program_of(function)
    program_of(_ordinary)
