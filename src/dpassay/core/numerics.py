"""Float64 for privacy arithmetic, whatever the host program's JAX configuration is."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
T = TypeVar("T")


def float64(function: Callable[P, T]) -> Callable[P, T]:
    """Runs `function` with JAX's 64-bit types on, and leaves the host program's setting as it was.

    Privacy losses are differences of log-probabilities; single precision loses them. Setting the flag globally would
    change the dtypes of the program that imports us, so every public entry point enters a context instead.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped
