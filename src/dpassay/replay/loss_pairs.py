"""Pairs of output laws (P, Q) that an event's worst neighboring datasets have, by their hockey-stick divergences.

H(a) = sup over events E of P(E) - a Q(E), a > 0, determines all that privacy says about a pair; delta(epsilon) is
H(e^epsilon) of the pair or of its reverse, whichever is larger. Everything is an Arb ball. Noise that is log-concave
has a monotone likelihood ratio, so half-lines are the best events, and the largest shift is the worst. Sources: Balle
and Wang (2018), theorem 8 (Gaussian); Geng and Viswanath (2016) (staircase); Kairouz, Oh and Viswanath (2015) (an
(epsilon, delta)-private mechanism); Zhu, Dong and Wang (2022), theorem 11 (Poisson sampling). Proofs:
docs/theorems/accounting.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.numbers import fields, integer, rational
from dpassay.replay.profile import shift_delta

MAX_TERMS = 200_000
_ZERO = arb(0)


@dataclass(frozen=True)
class LossPair:
    """Two laws P and Q, as far as privacy can tell them apart.

    Attributes:
        hockey_stick: H, decreasing and convex, H(0) = 1.
        lowest, highest: bounds of the finite privacy losses log(P/Q), exact where rational; None where there is none.
        infinite: P of the outputs that are impossible under Q.
        zero: Q of the outputs that are impossible under P.
        symmetric: the reverse pair has the same H.
    """

    hockey_stick: Callable[[arb], arb]
    lowest: Any
    highest: Any
    infinite: arb = _ZERO
    zero: arb = _ZERO
    symmetric: bool = True

    def reversed(self) -> "LossPair":
        """The pair (Q, P)."""
        if self.symmetric:
            return self
        return LossPair(
            lambda a: _positive(a * self.hockey_stick(1 / a) + 1 - a),
            None if self.highest is None else -self.highest,
            None if self.lowest is None else -self.lowest,
            self.zero,
            self.infinite,
            False,
        )

    def sampled(self, rate: fmpq) -> "LossPair":
        """(rate P + (1 - rate) Q, Q): the changed record takes part with this probability, or there is none."""
        away = arb(1 - rate)

        def hockey_stick(a: arb) -> arb:
            inner = (a - away) / arb(rate)
            if inner > 0:
                return rate * self.hockey_stick(inner)
            return 1 - a if inner <= 0 else (1 - a).union(arb(rate))

        def mixed(loss: Any) -> arb:
            return (away + rate * arb(loss).exp()).log()

        low = away.log() if self.lowest is None or self.zero > 0 else mixed(self.lowest)
        high = None if self.highest is None else mixed(self.highest)
        return LossPair(hockey_stick, low, high, rate * self.infinite, arb(0), False)


@dataclass(frozen=True)
class Noise:
    """An event without sampling or composition: a kind and exact parameters; Gaussian ones add up to one."""

    kind: str
    parameters: tuple[fmpq, ...]

    @classmethod
    def read(cls, event: Mapping[str, Any]) -> "Noise":
        """Reads {"kind": ..., parameters}.

        Raises:
            Rejected: unknown kinds, other fields, numbers that are not exact.
        """
        kind = str(event.get("kind"))
        if kind not in _PAIRS:
            raise Rejected(f"no noise is called {kind!r}: use one of {', '.join(sorted(_PAIRS))}")
        names = _PAIRS[kind][0]
        fields(event, kind, ("kind", *names))
        parameters = tuple(rational(event[name]) for name in names)
        if kind in ("gaussian", "laplace"):
            if parameters[0] < 0:
                raise Rejected("a noise multiplier must be at least 0")
            if parameters[0] == 0:
                return cls("none", ())
            return cls(kind, (parameters[0] ** -2,)) if kind == "gaussian" else cls(kind, parameters)
        return cls(kind, parameters)

    def pair(self, contributions: int) -> LossPair:
        """Its worst pair; `contributions` is how far a change of one record moves a query, in units of its bound.

        Raises:
            Rejected: parameters out of range.
        """
        return _PAIRS[self.kind][1](contributions, *self.parameters)


def replacement_sampled(noise: Noise, rate: fmpq) -> LossPair:
    """(r P+ + (1-r) P0, r P- + (1-r) P0): the record that is replaced takes part with probability r in both datasets.

    P+, P0, P- is the noise around 1, 0 and -1. Of the events E with P0(E) = t, a half-line has the largest P+(E) and
    the least P-(E), for any shifts by at most 1; so half-lines are the best events, and these two shifts the worst.
    """
    if noise.kind == "none":
        return no_noise(rate)
    if noise.kind not in ("gaussian", "laplace"):
        raise Rejected(f"Poisson sampling of {noise.kind} is not enclosed under replace_one")
    (parameter,), away, taken = noise.parameters, arb(1 - rate), arb(rate)
    scale = 1 / arb(parameter).sqrt() if noise.kind == "gaussian" else arb(parameter)
    above = _gaussian_above if noise.kind == "gaussian" else _laplace_above

    def best(a: arb, cut: arb) -> arb:
        away_mass, near, far = above(cut, scale), above(cut - 1, scale), above(cut + 1, scale)
        return away * (1 - a) * away_mass + taken * (near - a * far)

    def gaussian(a: arb) -> arb:
        leading, linear = taken * (-1 / (2 * scale**2)).exp(), away * (1 - a)
        ratio = ((linear**2 + 4 * a * leading**2).sqrt() - linear) / (2 * leading)
        return _positive(best(a, ratio.log() * scale**2))

    def laplace(a: arb) -> arb:
        ends = (-1 / scale).exp()
        grown = a.max(1 / a)
        inside = ((grown * (away + taken * ends) - away) / taken).max(ends).min(1 / ends)
        cut = (scale * inside.log() + 1) / 2
        return (1 - a).max(best(a, cut)).max(best(a, -cut)).max(arb(0))

    if noise.kind == "gaussian":
        return LossPair(gaussian, None, None)
    bound = ((away + taken * (1 / scale).exp()) / (away + taken * (-1 / scale).exp())).log()
    return LossPair(laplace, -bound, bound)


def no_noise(rate: fmpq) -> LossPair:
    """The data themselves are released, with this probability."""
    away = arb(1 - rate)
    return LossPair(lambda a: rate + away * _positive(1 - a), fmpq(0), fmpq(0), arb(rate), arb(rate))


def _gaussian(contributions: int, squared: fmpq) -> LossPair:
    shift = contributions * arb(squared).sqrt()
    return LossPair(lambda a: _positive(shift_delta(a.log(), shift)), None, None)


def _laplace(contributions: int, noise_multiplier: fmpq) -> LossPair:
    bound = contributions / noise_multiplier
    shrunk = (-arb(bound)).exp()
    return LossPair(lambda a: (1 - a).max(1 - (a * shrunk).sqrt()).max(arb(0)), -bound, bound)


def _randomized_response(_: int, noise_parameter: fmpq, num_buckets: fmpq) -> LossPair:
    if not 0 <= noise_parameter <= 1 or num_buckets.q != 1 or num_buckets < 1:
        raise Rejected("randomized response needs a noise parameter in [0, 1] and at least one bucket")
    if num_buckets == 1:
        return LossPair(lambda a: _positive(1 - a), fmpq(0), fmpq(0))
    other = noise_parameter / num_buckets
    own = 1 - noise_parameter + other

    def hockey_stick(a: arb) -> arb:
        rest = (num_buckets - 2) * other
        return _positive(own - a * other) + _positive(other - a * own) + _positive(rest - a * rest)

    if other == 0:
        return no_noise(fmpq(1))
    bound = arb(own / other).log() if own > other else fmpq(0)
    return LossPair(hockey_stick, -bound, bound)


def _local_hashing(_: int, noise_parameter: fmpq, num_buckets: fmpq) -> LossPair:
    """A random hash function, published, and randomized response on the bucket; two values collide with 1/buckets."""
    inner = _randomized_response(1, noise_parameter, num_buckets)
    collide = 1 / num_buckets
    return replace(
        inner,
        hockey_stick=lambda a: (1 - collide) * inner.hockey_stick(a) + collide * _positive(1 - a),
        infinite=(1 - collide) * inner.infinite,
        zero=(1 - collide) * inner.zero,
    )


def _private(_: int, epsilon: fmpq, delta: fmpq) -> LossPair:
    """The worst (epsilon, delta)-private mechanism."""
    if epsilon < 0 or not 0 <= delta < 1:
        raise Rejected("a private mechanism needs epsilon >= 0 and delta in [0, 1)")
    ratio, rest = arb(epsilon).exp(), arb(1 - delta)

    def hockey_stick(a: arb) -> arb:
        return delta + rest * (_positive(ratio - a) + _positive(1 - a * ratio)) / (1 + ratio)

    return LossPair(hockey_stick, -epsilon, epsilon, arb(delta), arb(delta))


def _geometric(contributions: int, scale: fmpq, sensitivity: fmpq) -> LossPair:
    """Pr[k] = tanh(1 / (2 scale)) e^(-|k| / scale) on the integers."""
    shift = _shift(sensitivity, contributions)
    decay, bound = (-1 / arb(_above_zero(scale, "the scale"))).exp(), shift / scale

    def below(last: int) -> arb:
        return decay**-last / (1 + decay) if last < 0 else 1 - decay ** (last + 1) / (1 + decay)

    def hockey_stick(a: arb) -> arb:
        middle = _floor((shift - arb(scale) * a.log()) / 2)
        tests = (below(last) - a * below(last - shift) for last in range(middle - 1, middle + 2))
        return _largest([1 - a, arb(0), *tests])

    return LossPair(hockey_stick, -bound, bound)


def _discrete_gaussian(contributions: int, scale: fmpq, sensitivity: fmpq) -> LossPair:
    """Pr[k] proportional to e^(-k^2 / (2 scale^2)) on the integers."""
    shift = _shift(sensitivity, contributions)
    upto = _discrete_gaussian_sums(_above_zero(scale, "the scale"))
    last = len(upto) // 2

    def below(k: int) -> arb:
        if k < -last:
            return upto[0].union(arb(0))
        return upto[min(k, last) + last]

    def hockey_stick(a: arb) -> arb:
        middle = _floor(arb(shift) / 2 - a.log() * scale**2 / shift)
        tests = (below(k) - a * below(k - shift) for k in range(middle - 1, middle + 2))
        return _largest([1 - a, arb(0), *tests])

    return LossPair(hockey_stick, None, None)


@lru_cache(maxsize=8)
def _discrete_gaussian_sums(scale: fmpq) -> list[arb]:
    """Pr[K <= k] for k = -last, ..., last, the rest of the mass in the radii."""
    last = int(scale * 21) + 2  # e^(-21^2/2) < 2^-318
    if last > MAX_TERMS:
        raise Rejected(f"a discrete Gaussian of scale {scale} has more than {MAX_TERMS} terms")
    square = 2 * scale**2
    weight, step, factor = arb(1), (-1 / arb(square)).exp(), (-2 / arb(square)).exp()
    half = [weight]
    for _ in range(last):
        weight, step = weight * step, step * factor
        half.append(weight)
    tail = (half[-1] * step / (1 - step)).union(arb(0))  # the ratios of terms go on falling
    total = 2 * sum(half[1:], half[0] / 2) + 2 * tail
    sums, running = [], tail
    for weight in [*reversed(half), *half[1:]]:
        running += weight
        sums.append(running / total)
    return sums


def _staircase(contributions: int, scale: fmpq, sensitivity: fmpq, width: fmpq, gamma: fmpq) -> LossPair:
    """Density c on [0, gamma width), c d on [gamma width, width), and d = e^(-width/scale) times that a width further.

    H is piecewise linear in the shift: its largest value is at the full shift, or where steps of the two densities
    come to lie upon each other.
    """
    if not 0 <= gamma <= 1:
        raise Rejected("gamma of a staircase must be in [0, 1]")
    width, scale = _above_zero(width, "the width"), _above_zero(scale, "the scale")
    shift = contributions * _above_zero(sensitivity, "the sensitivity") / width
    steps = int(100 * scale / width) + 2
    whole = int(shift)
    shifts = {d for k in range(whole + 3) for i in range(-2, 3) if 0 < (d := k + i * gamma) <= shift} | {shift}
    if (steps + whole) * 4 * len(shifts) > MAX_TERMS:
        raise Rejected("a staircase of such fine steps is not enclosed")
    decay = (-arb(width / scale)).exp()
    height = (1 - decay) / (2 * (gamma + (1 - gamma) * decay))
    powers = [height]
    for _ in range(steps + 2 * whole + 6):
        powers.append(powers[-1] * decay)

    def level(x: fmpq) -> int:
        return (stairs := int(abs(x).floor())) + (abs(x) - stairs >= gamma)

    edges = [side * (k + part) for k in range(steps + 1) for part in (fmpq(0), gamma) for side in (1, -1)]
    laws = [_pieces(level, powers, edges, d) for d in sorted(shifts)]
    tail = (decay**steps).union(arb(0))  # mass of both tails

    def hockey_stick(a: arb) -> arb:
        sums = (sum((_positive(p - a * q) for p, q in law), arb(0)) for law in laws)
        return _largest([1 - a, arb(0), *sums]) + tail

    bound = (whole + (whole != shift)) * width / scale
    return LossPair(hockey_stick, -bound, bound)


def _pieces(level: Callable[[fmpq], int], powers: list[arb], edges: list[fmpq], shift: fmpq) -> list[tuple[arb, arb]]:
    """Masses of the two densities where their ratio is one and the same power of the decay."""
    cuts = sorted({*edges, *(edge + shift for edge in edges)})
    first, last = min(edges), max(edges)
    masses: dict[int, tuple[arb, arb]] = {}
    for x, y in pairwise(cuts):
        if first <= x and y <= last:
            own, other = level((x + y) / 2), level((x + y) / 2 - shift)
            p, q = masses.get(own - other, (arb(0), arb(0)))
            masses[own - other] = p + powers[own] * (y - x), q + powers[other] * (y - x)
    return list(masses.values())


_PAIRS: Mapping[str, tuple[tuple[str, ...], Callable[..., LossPair]]] = {
    "none": ((), lambda _: no_noise(fmpq(1))),
    "gaussian": (("noise_multiplier",), _gaussian),
    "laplace": (("noise_multiplier",), _laplace),
    "randomized_response": (("noise_parameter", "num_buckets"), _randomized_response),
    "local_hashing": (("noise_parameter", "num_buckets"), _local_hashing),
    "private": (("epsilon", "delta"), _private),
    "geometric": (("scale", "sensitivity"), _geometric),
    "discrete_gaussian": (("scale", "sensitivity"), _discrete_gaussian),
    "staircase": (("scale", "sensitivity", "width", "gamma"), _staircase),
}
LOCAL = ("randomized_response", "local_hashing")
"""Events in which every record answers for itself: none is there to be added or removed."""
ALONE = ("staircase",)
"""Events whose worst pair changes with epsilon: enclosed alone, not composed or sampled."""


def _gaussian_above(cut: arb, scale: arb) -> arb:
    return (cut / (arb(2).sqrt() * scale)).erfc() / 2


def _laplace_above(cut: arb, scale: arb) -> arb:
    if cut >= 0:
        return (-cut / scale).exp() / 2
    if cut <= 0:
        return 1 - (cut / scale).exp() / 2
    return ((-cut.abs_upper() / scale).exp() / 2).union(1 - (-cut.abs_upper() / scale).exp() / 2)


def _shift(sensitivity: fmpq, contributions: int) -> int:
    return contributions * integer(str(sensitivity), "the sensitivity of integers", at_least=1)


def _above_zero(value: fmpq, name: str) -> fmpq:
    if value <= 0:
        raise Rejected(f"{name} must be above 0")
    return value


def _floor(value: arb) -> int:
    """Within 1 of the floor of anything in the ball: the neighbors of the result are tried as well."""
    if not value.rad() < 0.25:
        raise Rejected("a threshold is not known well enough at the working precision")
    return int(value.mid().fmpq().floor())


def _largest(values: list[arb]) -> arb:
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return largest


def _positive(value: arb) -> arb:
    return value.max(arb(0))
