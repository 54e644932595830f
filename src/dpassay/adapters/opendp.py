"""OpenDP: a Measurement becomes a sampler, its privacy map the claim."""

import functools
from typing import Any

import numpy as np

from dpassay.adapters import AdaptedMechanism
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library, one_line
from dpassay.core.privacy import PrivacyClaim

_BLOCKS = (256, 16)  # outputs of one call into the library
_DELTAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # where a privacy profile is read


def from_opendp(measurement: Any, d_in: Any = 1) -> AdaptedMechanism:
    """Wraps an OpenDP measurement.

    A call into the library takes about 0.1 ms, most of it conversion; where OpenDP can compose the measurement, one
    call draws 256 outputs. Its noise comes from the operating system and cannot be seeded, so runs do not repeat.

    Args:
        measurement: an `opendp` Measurement; the datasets of the audit are its arguments.
        d_in: distance of the two datasets in the measurement's input metric.

    Returns:
        A mechanism whose claim is `measurement.map(d_in)`: epsilon, (epsilon, delta), rho of zCDP, or points of a
        privacy profile.

    Raises:
        InvalidInput: no measurement, a d_in its map refuses, or an output measure without a claim here.
    """
    opendp = library("opendp.mod")
    if not isinstance(measurement, opendp.Measurement):
        raise InvalidInput(f"from_opendp needs an opendp Measurement, got {type(measurement).__name__}")
    try:
        loss = measurement.map(d_in)
    except Exception as error:  # the library raises several kinds
        raise InvalidInput(f"the measurement's privacy map refuses d_in={d_in!r}: {one_line(error)}") from error
    claim = _claim(str(getattr(measurement.output_measure, "type", measurement.output_measure)), loss)
    blocks = _composed(measurement)
    if not blocks:
        return AdaptedMechanism(lambda _rng, dataset: measurement(dataset), claim=claim)
    return AdaptedMechanism(functools.partial(_batch, blocks), batched=True, claim=claim)


def _claim(measure: str, loss: Any) -> PrivacyClaim:
    if measure == "MaxDivergence":
        return PrivacyClaim(float(loss))
    if measure == "ZeroConcentratedDivergence":
        return PrivacyClaim.zcdp(float(loss))
    if measure.replace("(", "<").startswith("Approximate<MaxDivergence"):
        epsilon, delta = loss
        return PrivacyClaim(float(epsilon), float(delta))
    if measure == "SmoothedMaxDivergence":
        return PrivacyClaim.profile([(float(loss.epsilon(delta)), delta) for delta in _DELTAS])
    raise InvalidInput(
        f"a measurement under {measure} has no claim here; convert it, for example with "
        "opendp.combinators.make_zCDP_to_approxDP and make_fix_delta"
    )


def _composed(measurement: Any) -> tuple[Any, ...]:
    """The measurement made several times on one argument, independently; () where OpenDP does not compose it."""
    combinators = library("opendp.combinators")
    compose = getattr(combinators, "make_composition", None) or combinators.make_basic_composition
    try:
        return tuple(compose([measurement] * size) for size in _BLOCKS)
    except Exception:  # this output measure does not compose, or the feature is not enabled
        return ()


def _batch(blocks: tuple[Any, ...], _rng: np.random.Generator, dataset: Any, num_samples: int) -> Any:
    outputs: list[Any] = []
    for block, size in zip(blocks, _BLOCKS, strict=True):
        while num_samples - len(outputs) >= size or (size == _BLOCKS[-1] and len(outputs) < num_samples):
            outputs.extend(block(dataset))
    outputs = outputs[:num_samples]
    kinds = set(map(type, outputs))
    if kinds in ({float}, {bool}) or (kinds == {int} and max(map(abs, outputs)) < 2**63):
        return np.asarray(outputs)
    return outputs
