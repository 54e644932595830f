"""Mechanisms that keep their claim exactly, with nothing to spare, for the false-alarm rates of audits.

Every law is known in closed form and some event meets the claim with equality on the given pairs, so a test that errs
at all errs here; claims of 0 alone would not show it. `boundary` is such an event.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpassay.core.privacy import PrivacyClaim

LEAK = 0.02
QUERIES = 5
LIKELY = math.e / (1 + math.e)  # of the true answer, in randomized response at epsilon 1
THREE = math.e / (2 + math.e)  # the same among three answers
MISSING = 0.65  # of NaN or 1 under dataset 1


@dataclass(frozen=True)
class Case:
    """A mechanism and a claim that it keeps with equality.

    Attributes:
        name: for readers.
        outputs: what kind of outputs.
        function: `function(rng, dataset, num_samples)`, or `function(rng, dataset)` where `batched` is False; or an
            object with `sample`.
        claim: its parameter is the true one.
        pairs: of datasets, all at the boundary.
        boundary: indicator of an event in a batch of outputs, and the dataset (0 or 1) under which it is likelier:
            p = e^epsilon q + delta there; for curves at epsilon 1.
        slow: how many times longer an audit takes than others.
    """

    name: str
    outputs: str
    function: Any
    claim: PrivacyClaim
    boundary: tuple[Callable[[Any], Any], int] = field(repr=False)
    pairs: tuple[tuple[Any, Any], ...] = ((0.0, 1.0),)
    batched: bool = True
    slow: int = 1

    def claimed(self, factor: float) -> PrivacyClaim:
        """The claim with the true parameter divided by a factor."""
        return self.claim if factor == 1 else self.claim.with_parameter(self.claim.parameter / factor)


def _laplace(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    return dataset + rng.laplace(size=num_samples)


def _gaussian(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    return dataset + rng.normal(size=num_samples)


def _response(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    return np.where(rng.random(num_samples) < LIKELY, dataset, 1 - dataset)


def _geometric(rng: np.random.Generator, dataset: int, num_samples: int) -> np.ndarray:
    chance = 1 - math.exp(-1.0)
    noise = rng.geometric(chance, num_samples) - rng.geometric(chance, num_samples)
    return np.clip(dataset + noise, 0, 3)


def _clipped(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """Atoms at 0 and 1, a density between."""
    return np.clip(_laplace(rng, dataset, num_samples), 0.0, 1.0)


def _columns(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """Eight numbers, of which one tells."""
    outputs = rng.laplace(size=(num_samples, 8))
    outputs[:, 5] += dataset
    return outputs


def _events(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """Three columns that share the loss: twenty regions of the cube are at the boundary, or close to it."""
    return dataset + 3 * rng.laplace(size=(num_samples, 3))


def _noisy_max(rng: np.random.Generator, dataset: Any, num_samples: int) -> np.ndarray:
    """With Gumbel noise of scale 2: the exponential mechanism at epsilon 1."""
    return np.argmax(np.asarray(dataset) + 2 * rng.gumbel(size=(num_samples, QUERIES)), axis=1)


def _leaking(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """Randomized response that tells the truth and says so with probability LEAK."""
    return np.where(rng.random(num_samples) < LEAK, 2 + dataset, _response(rng, dataset, num_samples))


def _constant_law(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """The same on every dataset, an atom at 0 included."""
    return np.where(rng.random(num_samples) < 0.3, 0.0, rng.normal(size=num_samples))


def _odd_numbers(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """Randomized response whose three answers are NaN, infinity and 0."""
    answer = np.where(rng.random(num_samples) < THREE, int(dataset), rng.integers(1, 3, num_samples) + int(dataset))
    return np.array([math.nan, math.inf, 0.0])[answer % 3]


def _words(rng: np.random.Generator, dataset: float) -> Any:
    """Randomized response whose three answers are a word, None and a list."""
    answer = int(dataset) if rng.random() < THREE else int(rng.integers(1, 3)) + int(dataset)
    return ("yes", None, [1, 2])[answer % 3]


def _missing(rng: np.random.Generator, dataset: float, num_samples: int) -> np.ndarray:
    """1 or NaN, both e times likelier under dataset 1, else 0; dropping NaN would make 1 more telling than allowed."""
    chance = MISSING if dataset == 0 else MISSING / math.e
    value = np.where(rng.random(num_samples) < 0.5, 1.0, math.nan)
    return np.where(rng.random(num_samples) < chance, value, 0.0)


class _TracedLaplace:
    """In JAX: sampling and counting run compiled."""

    def sample(self, key: Any, dataset: Any) -> Any:
        import jax

        return dataset + jax.random.laplace(key)


def _profile() -> PrivacyClaim:
    claim = PrivacyClaim.gaussian(1.0)
    return PrivacyClaim.profile([(epsilon, float(claim.delta_at(epsilon))) for epsilon in (0.5, 1.0, 2.0)])


_GAUSSIAN_CUT = 1.5
"""Where the densities of normals about 0 and 1 have the ratio e: the half-line beyond meets delta(1) with equality."""
_FLAT, _PEAK = (0.0,) * QUERIES, (1.0, *(-1.0,) * (QUERIES - 1))
_NOISY_MAX = math.log(QUERIES / (1 + (QUERIES - 1) * math.exp(-1.0)))
"""The loss of answer 0, likelier under the peak; that of the others is log((e + 4) / 5), less."""

_ALL = (
    Case("Laplace", "continuous", _laplace, PrivacyClaim(1.0), boundary=(lambda outputs: outputs >= 1, 1)),
    Case("Gaussian", "continuous, delta > 0", _gaussian,
        PrivacyClaim(1.0, float(PrivacyClaim.gaussian(1.0).delta_at(1.0))),
        boundary=(lambda outputs: outputs >= _GAUSSIAN_CUT, 1)),
    Case("randomized response", "discrete", _response, PrivacyClaim(1.0), boundary=(lambda outputs: outputs == 1, 1)),
    Case("truncated geometric", "discrete", _geometric, PrivacyClaim(1.0), pairs=((1, 2),),
        boundary=(lambda outputs: outputs >= 2, 1)),
    Case("clipped Laplace", "mixed", _clipped, PrivacyClaim(1.0), boundary=(lambda outputs: outputs == 1, 1)),
    Case("Laplace in one of 8 columns", "vectors", _columns, PrivacyClaim(1.0),
        boundary=(lambda outputs: outputs[:, 5] >= 1, 1)),
    Case("3 columns that share the loss", "vectors, many events", _events, PrivacyClaim(1.0),
        boundary=(lambda outputs: (outputs >= 1).all(axis=1), 1)),
    Case("report noisy max", "discrete", _noisy_max, PrivacyClaim(_NOISY_MAX), pairs=((_FLAT, _PEAK),),
        boundary=(lambda outputs: outputs == 0, 1)),
    Case("leaking response", "discrete, delta > 0", _leaking, PrivacyClaim(1.0, LEAK),
        boundary=(lambda outputs: (outputs == 1) | (outputs == 3), 1)),
    Case("one law for all", "mixed, epsilon = 0", _constant_law, PrivacyClaim(0.0),
        boundary=(lambda outputs: outputs > 0, 0)),
    Case("response in NaN and infinity", "not finite", _odd_numbers, PrivacyClaim(1.0), boundary=(np.isnan, 0)),
    Case("response in words", "words, None, lists", _words, PrivacyClaim(1.0), batched=False,
        boundary=(lambda outputs: np.array([output is None for output in outputs]), 1)),
    Case("NaN and 1 together", "not finite", _missing, PrivacyClaim(1.0),
        boundary=(lambda outputs: (outputs == 1) | np.isnan(outputs), 0)),
    Case("Laplace, 4 pairs", "continuous", _laplace, PrivacyClaim(1.0),
        pairs=((0.0, 1.0), (1.0, 0.0), (5.0, 6.0), (-1.0, -2.0)), boundary=(lambda outputs: outputs >= 1, 1), slow=3),
    Case("Gaussian, a curve", "continuous, Gaussian DP", _gaussian, PrivacyClaim.gaussian(1.0),
        boundary=(lambda outputs: outputs >= _GAUSSIAN_CUT, 1), slow=12),
    Case("Gaussian, three points", "continuous, a profile", _gaussian, _profile(),
        boundary=(lambda outputs: outputs >= _GAUSSIAN_CUT, 1), slow=4),
    Case("Laplace in JAX", "continuous", _TracedLaplace(), PrivacyClaim(1.0),
        boundary=(lambda outputs: outputs >= 1, 1), slow=16),
)  # fmt: skip

CASES = {case.name: case for case in _ALL}
