"""Noise that a mechanism adds, seen by handing it noise of ours: its scale, and how far the data move the output.

Where the output is a number, or several, plus one draw for each, from a Laplace or a Gaussian law whose scale is the
same on both datasets, the loss on the pair is known exactly, and `dpassay.check_noise` judges it without sampling: of
Gaussian noise by the Euclidean distance of what is under it (the law is the same in every direction), of Laplace noise
by the L1 distance (the supremum of the loss), where no delta is claimed.

That the output is such a sum is seen by running the mechanism on chosen noise, not proved: on both datasets, at 0, and
at random draws up to 20 scales away. Whatever does anything else with its noise is left to sampling.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

LAWS = {"laplace": "laplace", "normal": "gaussian", "standard_normal": "gaussian"}
"""Method of a generator -> kind of noise."""
_LOOKS = (0.3, -1.0, 4.0, -20.0, 20.0)  # scales
_SAME = 1e-9


class OtherNoise(Exception):
    """The mechanism does something else with its noise."""


@dataclass(frozen=True)
class AddedNoise:
    """Noise that was added to what lies under it.

    Attributes:
        kind: "laplace" or "gaussian".
        scale: of every draw, as it comes out.
        under: the output without noise.
    """

    kind: str
    scale: float
    under: np.ndarray


class _Handed(np.random.Generator):
    """A generator that gives the noise it was told to, and takes down which was asked for."""

    def __init__(self, noise: np.ndarray) -> None:
        super().__init__(np.random.PCG64(0))
        self.noise, self.used = noise, 0
        self.asked: list[tuple[str, float, int]] = []

    def _give(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:
        scales = np.unique(np.asarray(scale, float))
        shape = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
        number = int(np.prod(shape)) if shape != () else 1
        if len(scales) != 1 or self.used + number > len(self.noise):
            raise OtherNoise
        self.asked.append((kind, float(scales[0]), number))
        drawn = self.noise[self.used : self.used + number]
        self.used += number
        value = np.asarray(loc, float) + float(scales[0]) * drawn.reshape(shape)
        return float(value) if shape == () else value

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As NumPy's, of the noise handed over."""
        return self._give("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As NumPy's, of the noise handed over."""
        return self._give("normal", loc, scale, size)

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        """As NumPy's, of the noise handed over."""
        return self._give("standard_normal", 0.0, 1.0, size)

    def __getattribute__(self, name: str) -> Any:
        if name in _OTHERS:
            raise OtherNoise
        return super().__getattribute__(name)


_OTHERS = frozenset(
    each for each in dir(np.random.Generator) if not each.startswith("_") and each not in LAWS
) - {"bit_generator"}  # fmt: skip


@contextmanager
def _everywhere(handed: _Handed) -> Iterator[None]:
    """NumPy's global functions draw from it, too."""
    kept = {name: getattr(np.random, name) for name in (*LAWS, "default_rng", "RandomState")}
    try:
        for name in LAWS:
            setattr(np.random, name, getattr(handed, name))
        for name in ("default_rng", "RandomState"):
            setattr(np.random, name, lambda *_, **__: handed)
        yield
    finally:
        for name, value in kept.items():
            setattr(np.random, name, value)


def added_noise(mechanism: Callable[..., Any], dataset: Any, most: int = 64) -> AddedNoise:
    """The noise that a mechanism adds on a dataset.

    Args:
        mechanism: `fn(rng, dataset)`.
        dataset: handed to it.
        most: draws of one call, at most.

    Raises:
        OtherNoise: it does something else, or raises.
    """
    under, asked = _run(mechanism, dataset, np.zeros(most))
    kinds = {LAWS[kind] for kind, _, _ in asked}
    number = sum(drawn for _, _, drawn in asked)
    if len(kinds) != 1 or number != under.size or not np.isfinite(under).all():
        raise OtherNoise
    scales = np.concatenate([[scale] * drawn for _, scale, drawn in asked])
    unit, again = _run(mechanism, dataset, np.ones(most))
    out = unit - under  # how far one scale moves the output
    if again != asked or not (np.abs(out) > 0).all() or not np.isfinite(out).all():
        raise OtherNoise
    if np.ptp(np.abs(out)) > _SAME * np.abs(out).max() or not (scales > 0).all():
        raise OtherNoise
    rng = np.random.default_rng(0)
    for reach in _LOOKS:
        noise = reach * rng.uniform(0.9, 1.0, most)
        output, again = _run(mechanism, dataset, noise)
        expected = under + out * noise[:number]
        if again != asked or not np.allclose(output, expected, rtol=_SAME, atol=_SAME * np.abs(out).max()):
            raise OtherNoise
    return AddedNoise(kinds.pop(), float(np.abs(out).max()), under)


def _run(mechanism: Callable[..., Any], dataset: Any, noise: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    handed = _Handed(noise)
    try:
        with _everywhere(handed):
            output = mechanism(handed, dataset)
        numbers = np.asarray(list(output.values()) if isinstance(output, dict) else output, float).ravel()
    except Exception:  # what it raises with noise of ours says nothing
        raise OtherNoise from None
    return numbers, handed.asked


def distance(kind: str, one: AddedNoise, two: AddedNoise) -> float:
    """How far apart two datasets are under the noise, in the norm that its law goes by."""
    apart = np.abs(one.under - two.under)
    return float(apart.sum() if kind == "laplace" else np.sqrt((apart**2).sum()))


def farthest(
    mechanism: Callable[..., Any], pairs: Sequence[tuple[Any, Any]]
) -> tuple[tuple[Any, Any], AddedNoise, float] | None:
    """Of pairs on which the same noise is added, the shortest that the data move farthest apart; None for none."""
    best: tuple[tuple[Any, Any], AddedNoise, float] | None = None
    for pair in pairs:
        try:
            one, two = (added_noise(mechanism, dataset) for dataset in pair)
        except OtherNoise:
            continue
        if (one.kind, one.under.shape) != (two.kind, two.under.shape):
            continue
        if abs(one.scale - two.scale) > _SAME * one.scale:
            continue
        apart = distance(one.kind, one, two)
        if best is None or apart > best[2] or (apart == best[2] and len(repr(pair)) < len(repr(best[0]))):
            best = (pair[0], pair[1]), one, apart
    return best
