"""The mechanism protocol, and a wrapper for any Python sampler."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpassay.core.errors import InvalidInput


@runtime_checkable
class Mechanism(Protocol):
    """A randomized map from a dataset to an output."""

    def sample(self, key: Any, dataset: Any, /) -> Any:
        """Draws one output. `key` is a JAX PRNG key; batches are the caller's `jax.vmap` over keys."""


@runtime_checkable
class FiniteMechanism(Mechanism, Protocol):
    """A mechanism with finitely many outputs and an exact law; `dpassay.exact` enumerates it."""

    def log_prob(self, output: Any, dataset: Any, /) -> Any:
        """log Pr[M(dataset) = output], nats, shape (); -inf when impossible, NaN where M(dataset) is not defined."""

    def outputs(self, dataset: Any, /) -> Any:
        """Every output that some dataset of this shape can give, first axis the outputs."""


@runtime_checkable
class BatchMechanism(Mechanism, Protocol):
    """A mechanism that draws many outputs faster than `jax.vmap` would; audits use it where it is."""

    def sample_batch(self, key: Any, dataset: Any, num_samples: int, /) -> Any:
        """Draws `num_samples` independent outputs from one key, first axis the samples; JAX must be able to trace it.

        Noise is fastest when it is drawn with the samples along the last axis, shape (draws, num_samples).
        """


@dataclass(frozen=True)
class CallableMechanism:
    """A Python sampler seen through the protocol. Randomness comes from NumPy, seeded by the JAX key."""

    function: Callable[..., Any]
    batched: bool = False

    def sample(self, key: Any, dataset: Any) -> Any:
        """Draws one output of the wrapped function."""
        generator = np.random.default_rng(_seed(key))
        return self.function(generator, dataset, 1)[0] if self.batched else self.function(generator, dataset)


def from_callable(function: Callable[..., Any], *, batched: bool = False) -> CallableMechanism:
    """Wraps `function(rng, dataset) -> value`, or with `batched` `function(rng, dataset, num_samples)`.

    Args:
        function: `rng` is a `numpy.random.Generator`; use no other source of randomness, or runs do not repeat.
        batched: the first axis of what the function returns runs over the samples.

    Raises:
        InvalidInput: `function` is not callable.
    """
    if not callable(function):
        raise InvalidInput(f"from_callable needs a function fn(rng, dataset), got {type(function).__name__}")
    return CallableMechanism(function, batched)


def as_mechanism(mechanism: Any) -> Mechanism:
    """What can be sampled as it is, or a function `fn(rng, dataset)` wrapped.

    Raises:
        InvalidInput: neither; a class instead of an instance.
    """
    if isinstance(mechanism, type):
        raise InvalidInput(f"{mechanism.__name__} is a class; give an instance, for example {mechanism.__name__}()")
    if isinstance(mechanism, Mechanism):
        return mechanism
    if callable(mechanism):
        return from_callable(mechanism)
    raise InvalidInput(
        f"{type(mechanism).__name__} is no mechanism: give sample(key, dataset), or a function fn(rng, dataset)"
    )


def _seed(key: Any) -> list[int]:
    if isinstance(key, int | np.integer):
        return [int(key)]
    import jax  # the wrapper itself must not cost a JAX import

    data = key if isinstance(key, np.ndarray) else jax.random.key_data(key)
    return [int(word) for word in np.asarray(data).ravel()]
