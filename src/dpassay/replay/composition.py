"""Certified bounds of delta(epsilon) of a composition, from the hockey-stick divergences of its parts.

Every part's privacy loss is spread to the two next points of a grid so that both laws keep their masses: the part
becomes less private, by a spread that is bounded (`Losses`). Masses are integers, rounded up; their convolution is an
exact product of polynomials. So the result bounds delta from above; what the spread and the rounding can have added is
bounded too, and gives the bound from below. Proof: docs/theorems/accounting.md.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flint import arb, fmpq, fmpz_poly

from dpassay.replay import Rejected
from dpassay.replay.loss_pairs import LossPair

MAX_POINTS = 1 << 19
_CUT = 30  # bits by which the tails that are cut are smaller than delta


@dataclass(frozen=True)
class Part:
    """One event of a composition, `count` times; its grid is `multiple` times as coarse as the composition's."""

    pair: LossPair
    count: int
    multiple: int


class Losses:
    """Masses of a privacy loss under P at the points first, first + 1, ... of a grid, in units of 2^-bits.

    They are at least the masses that spreading gives. `kept` is at most the mass of those outcomes of the spread
    losses whose loss is here as it was there: all other mass, at most total - kept, was added or moved upwards.
    """

    def __init__(self, first: int, masses: fmpz_poly, infinite: int, kept: int) -> None:
        self.first, self.masses, self.infinite, self.kept = first, masses, infinite, kept

    @property
    def total(self) -> int:
        """All mass, that of infinite losses included."""
        return int(self.masses(1)) + self.infinite

    def times(self, other: "Losses", bits: int, cut: int) -> "Losses":
        """The sum of two independent losses; tails of mass `cut` are moved up to the first point or to infinity."""
        finite = [-(-int(mass) >> bits) for mass in (self.masses * other.masses).coeffs()]
        infinite = -((-self.infinite * other.total - (self.total - self.infinite) * other.infinite) >> bits)
        low, below = _tail(finite, cut)
        high, above = _tail(reversed(finite), cut)
        body = finite[low : len(finite) - high]
        body[0] += below
        kept = (self.kept * other.kept >> bits) - below - above
        if len(body) > MAX_POINTS:
            raise Rejected(f"the grid has more than {MAX_POINTS} points: take a larger step")
        return Losses(self.first + other.first + low, fmpz_poly(body), infinite + above, kept)

    def power(self, count: int, bits: int, cut: int) -> "Losses":
        """The sum of `count` >= 1 independent copies."""
        if count == 1:
            return self
        half = self.power(count // 2, bits, cut)
        double = half.times(half, bits, cut)
        return double.times(self, bits, cut) if count % 2 else double


def _tail(masses: Iterable[int], cut: int) -> tuple[int, int]:
    """How many masses from the start sum to at most `cut`, and their sum."""
    total, number = 0, 0
    for mass in masses:
        if total + mass > cut:
            break
        total, number = total + mass, number + 1
    return number, total


class Composition:
    """delta(epsilon) = sup over events of P(E) - e^epsilon Q(E) for P, Q the products of all parts, enclosed.

    Args:
        parts: at least one.
        step: of the grid, nats.
        delta: the size of delta for which the bounds should be good; they hold for any other.
    """

    def __init__(self, parts: Sequence[Part], step: fmpq, delta: fmpq) -> None:
        self._step = step
        number = sum(part.count for part in parts)
        bits = _CUT + 30 + int((1 / delta).ceil()).bit_length() + number.bit_length()
        self._unit = arb(2) ** -bits
        cut = max(int(delta * 2**bits) >> _CUT, 1)
        share = arb(delta) / 2**_CUT / number
        losses, outside = None, arb(0)
        for part in parts:
            own, beyond = _spread(part, step, share, bits)
            outside += part.count * beyond
            own = own.power(part.count, bits, cut // 64 + 1)
            losses = own if losses is None else losses.times(own, bits, cut // 64 + 1)
        assert losses is not None
        self._losses, self._outside = losses, outside
        square = step**2 * sum(part.count * part.multiple**2 for part in parts)  # of the spreads' widths
        # The factor and the rate of the bound on what the spread adds, with lambda = 2 / sqrt(square).
        width = arb(square).sqrt()
        self._rate = 2 / width
        inner = (self._rate + self._rate**2) * square / 8 + self._rate * (
            arb(square) / 4 + arb(square) ** 2 / 64
        ).sqrt()
        self._factor = inner.exp() / (arb(1).exp() * self._rate)
        self._sums()

    def _sums(self) -> None:
        """Sums over the points above each, and from below, from which both bounds at any epsilon are read."""
        masses = [int(mass) for mass in self._losses.masses.coeffs()]
        first, step = self._losses.first, self._step
        decay = (-self._rate * step).exp()
        weight = (-arb(step) * (first + len(masses) - 1)).exp()
        rise = arb(step).exp()
        self._above, self._reverse, self._right = [0], [arb(0)], [arb(0)]
        for mass in reversed(masses):
            self._above.append(self._above[-1] + mass)
            self._reverse.append(self._reverse[-1] + mass * weight)
            self._right.append(self._right[-1] * decay + mass)
            weight *= rise
        self._left = list(itertools.accumulate(masses, lambda near, mass: near * decay + mass, initial=arb(0)))
        for sums in (self._above, self._reverse, self._right):
            sums.reverse()
        self._excess = self._losses.total - self._losses.kept

    def bounds(self, epsilon: fmpq) -> tuple[arb, arb]:
        """Balls, the first certainly not above delta(epsilon) anywhere, the second certainly not below."""
        at = int((epsilon / self._step).floor()) - self._losses.first + 1  # points up to epsilon
        at = min(max(at, 0), len(self._above) - 1)
        upper = self._losses.infinite + self._above[at] - arb(epsilon).exp() * self._reverse[at]
        near = arb(0)
        if at > 0:
            gap = arb(epsilon - (self._losses.first + at - 1) * self._step)
            near += self._left[at] * (-self._rate * gap).exp()
        if at < len(self._above) - 1:
            gap = arb((self._losses.first + at) * self._step - epsilon)
            near += self._right[at] * (-self._rate * gap).exp()
        lower = upper - self._excess - self._factor * (near + self._excess)
        return lower * self._unit - self._outside, upper * self._unit


def _spread(part: Part, step: fmpq, share: arb, bits: int) -> tuple[Losses, arb]:
    """A part's losses spread over its grid, and a bound of the chance that a finite loss is outside the grid.

    Connecting the points of H on the grid by lines gives the hockey-stick divergence of the spread pair, whose masses
    are the changes of slope (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
    """
    pair, width = part.pair, part.multiple * step
    first, below = _end(pair.reversed(), width, share, reverse=True)
    last, above = _end(pair, width, share)
    if (first + last) * part.multiple > MAX_POINTS:
        raise Rejected(f"the grid has more than {MAX_POINTS} points: take a larger step")
    points = [(arb(width) * j).exp() for j in range(-first, last + 1)]
    heights = [pair.hockey_stick(point) for point in points]
    knots = itertools.pairwise([(arb(0), arb(1)), *zip(points, heights, strict=True)])
    slopes = [(after - before) / (right - left) for (left, before), (right, after) in knots]
    masses = [0] * ((len(points) - 1) * part.multiple + 1)
    changes = (after - before for before, after in itertools.pairwise([*slopes, arb(0)]))
    masses[:: part.multiple] = [_units(point * change, bits) for point, change in zip(points, changes, strict=True)]
    infinite = _units(heights[-1], bits)
    return Losses(-first * part.multiple, fmpz_poly(masses), infinite, 1 << bits), below + above


def _end(pair: LossPair, width: fmpq, share: arb, *, reverse: bool = False) -> tuple[int, arb]:
    """The grid's last point, and a bound above the chance of a finite loss beyond it, under P; `reverse`: under Q.

    Markov: (1 - e^-1) P(x < L < infinity) <= H(e^(x - 1)) - P(L = infinity); and Q is at most e^-x P where L >= x.
    """
    if pair.highest is not None:
        return max(int(arb(pair.highest / width).upper().fmpq().ceil()), 1), arb(0)

    def beyond(j: int) -> arb:
        chance = (pair.hockey_stick((arb(width) * j - 1).exp()) - pair.infinite) / (1 - arb(-1).exp())
        return chance.abs_upper() * ((-arb(width) * j).exp() if reverse else 1)

    high = 1
    while not beyond(high) <= share:
        if (high := 2 * high) > MAX_POINTS:
            raise Rejected(f"the grid has more than {MAX_POINTS} points: take a larger step")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) <= share else (middle, high)
    return high, beyond(high)


def _units(mass: arb, bits: int) -> int:
    """In units of 2^-bits, rounded up."""
    return max(int((mass.upper().fmpq() * 2**bits).ceil()), 0)
