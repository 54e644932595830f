"""A function of one's own as a mechanism."""

import jax
import pytest

import dpassay as dp


def test_wrapped_sampler_repeats_by_key():
    single = dp.from_callable(lambda rng, data: rng.normal() + data)
    batched = dp.from_callable(lambda rng, data, num_samples: rng.normal(size=num_samples) + data, batched=True)
    key = jax.random.key(3)
    assert single.sample(key, 1.0) == single.sample(key, 1.0)
    assert single.sample(key, 1.0) != single.sample(jax.random.key(4), 1.0)
    assert batched.sample(key, 1.0) == single.sample(key, 1.0)
    assert isinstance(single, dp.Mechanism)


def test_only_functions_can_be_wrapped():
    with pytest.raises(dp.InvalidInput):
        dp.from_callable(3)  # type: ignore[arg-type]
