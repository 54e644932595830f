"""dp-accounting: an event becomes a claim, and a sampler of the pair of outputs that the claim is tightest for."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpassay.adapters import AdaptedMechanism
from dpassay.auditors.upper_bounds import upper_bound
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.core.privacy import PrivacyClaim


def claim_of(event: Any, delta: float | Sequence[float] | None = None) -> PrivacyClaim:
    """What dp-accounting proves about an event.

    Args:
        event: a `DpEvent`.
        delta: a probability gives (epsilon, delta), several give a profile; None the event's own kind of claim:
            Gaussian DP for (composed) Gaussian events, zCDP for `ZCDpEvent`, else epsilon at delta = 0.

    Raises:
        InvalidInput: dp-accounting is not installed or supports no such event, or nothing finite is proved at delta.
    """
    accounting = library("dp_accounting")
    if delta is None:
        if isinstance(event, accounting.ZCDpEvent) and event.xi == 0:
            return PrivacyClaim.zcdp(event.rho)
        if (squared := _squared_mu(event)) is not None:
            return PrivacyClaim.gaussian(math.sqrt(squared))
    if delta is not None and np.ndim(delta) == 1:
        return PrivacyClaim.profile([(upper_bound(event, one), one) for one in np.asarray(delta, float).tolist()])
    level = 0.0 if delta is None else float(np.asarray(delta))
    epsilon = upper_bound(event, level)
    if math.isinf(epsilon):
        raise InvalidInput(f"dp-accounting proves no finite epsilon at delta = {level:g}; give a larger delta")
    return PrivacyClaim(epsilon, level)


def from_dp_event(event: Any, delta: float | Sequence[float] | None = None) -> AdaptedMechanism:
    """Simulates an event on datasets 0 and 1: one record's absence and presence, or two values of it.

    The outputs are those of the event's worst case in one dimension, so an audit compares an accountant's bound with a
    simulation of what it bounds. Batched and fast.

    Args:
        event: made of Gaussian, Laplace, discrete Laplace and randomized response events, composed and sampled.
        delta: see `claim_of`.

    Raises:
        InvalidInput: as `claim_of`, or an event that is not simulated.
    """
    claim = claim_of(event, delta)
    num_columns = _draw(np.random.default_rng(0), np.zeros(1), event).shape[1]
    if num_columns == 0:
        raise InvalidInput("the event releases nothing, there is nothing to audit")
    return AdaptedMechanism(functools.partial(_batch, event), batched=True, claim=claim, dp_event=event)


def _batch(event: Any, rng: np.random.Generator, dataset: Any, num_samples: int) -> np.ndarray:
    if dataset not in (0, 1):
        raise InvalidInput(f"an event is audited on the datasets 0 and 1, got {dataset!r}")
    outputs = _draw(rng, np.full(num_samples, float(dataset)), event)
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _draw(rng: np.random.Generator, values: np.ndarray, event: Any) -> np.ndarray:
    """Outputs of an event for each value, shape (n, outputs)."""
    size = values.size
    match type(event).__name__:
        case "NoOpDpEvent":
            return np.zeros((size, 0))
        case "GaussianDpEvent":
            return (values + event.noise_multiplier * rng.standard_normal(size))[:, None]
        case "LaplaceDpEvent":
            return (values + rng.laplace(0.0, event.noise_multiplier, size))[:, None]
        case "DiscreteLaplaceDpEvent":
            stop = -np.expm1(-event.noise_parameter)
            noise = rng.geometric(stop, size) - rng.geometric(stop, size)
            return (event.sensitivity * values + noise)[:, None]
        case "RandomizedResponseDpEvent":
            lies = rng.random(size) < event.noise_parameter
            return np.where(lies, rng.integers(event.num_buckets, size=size), values)[:, None]
        case "ComposedDpEvent":
            return np.concatenate([np.zeros((size, 0)), *(_draw(rng, values, part) for part in event.events)], axis=1)
        case "SelfComposedDpEvent":
            parts = [_draw(rng, values, event.event) for _ in range(event.count)]
            return np.concatenate([np.zeros((size, 0)), *parts], axis=1)
        case "PoissonSampledDpEvent":
            return _draw(rng, values * (rng.random(size) < event.sampling_probability), event.event)
    raise InvalidInput(f"{type(event).__name__} is not simulated; write a sampler and use dpassay.from_callable")


def _squared_mu(event: Any) -> float | None:
    """mu^2 of an event made of Gaussians only; they add up (Dong, Roth and Su 2022, corollary 3.3)."""
    match type(event).__name__:
        case "GaussianDpEvent":
            return 1 / event.noise_multiplier**2 if event.noise_multiplier > 0 else None
        case "SelfComposedDpEvent":
            one = _squared_mu(event.event)
            return None if one is None else event.count * one
        case "ComposedDpEvent":
            parts = [_squared_mu(part) for part in event.events]
            return None if None in parts or not parts else math.fsum(parts)  # type: ignore[arg-type]
    return None
