"""The probability of a region of independent noise, given by upper bounds of linear forms.

The region falls into components that share no variable. One variable has a closed form. Laplace, exponential and
uniform variables of rational scale are integrated one after the other: on each cell the integrand is a sum of
polynomial * exp(linear form), so the probability is exactly a sum of q exp(c) with rational q and c. Integers are
summed over one variable at a time, with the rest of the series enclosed; Gaussian variables that share at most one
other variable are integrated in Arb (rigorous quadrature); Gumbel variables of one scale that are only compared with
each other are ordered.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, acb, arb, ctx, fmpq, fmpq_mpoly_ctx

from dpassay.replay.linear_forms import LATTICE, Bounds, Direction, Noise, Unsupported, sign

MAX_CELLS = 20_000
MAX_SUMMANDS = 40_000
_TAIL = fmpq(1, 2**80)  # what may be left out of a series or of the line, as part of the enclosure
_QUADRATURE_BITS = 100

Linear = tuple[Any, ...]  # coefficients of the variables, then the constant: ints, Fractions where they must be
_Cell = frozenset[Linear]
_Integrand = dict[Linear, Any]  # exponent -> polynomial


def probability(noises: Sequence[Noise], bounds: Bounds) -> Any:
    """Probability of the region where every direction is at most its bound: exact where it is rational, else a ball.

    Raises:
        Unsupported: it is not one of the kinds that are integrated.
    """
    if any(not direction and sign(bound) < 0 for direction, bound in bounds.items()):
        return fmpq(0)
    result: Any = fmpq(1)
    for component in sorted(components(bounds), key=len):
        result = result * _component(noises, component)
        if result == 0:
            return fmpq(0)
    return result


def components(bounds: Bounds) -> list[Bounds]:
    """The bounds in groups that share no variable."""
    first: dict[int, int] = {}

    def root(index: int) -> int:
        while (above := first.setdefault(index, index)) != index:
            index = above
        return index

    for direction in bounds:
        for index, _ in direction:
            first[root(index)] = root(direction[0][0])
    groups: dict[int, Bounds] = defaultdict(dict)
    for direction, bound in bounds.items():
        if direction:
            groups[root(direction[0][0])][direction] = bound
    return list(groups.values())


def _component(noises: Sequence[Noise], bounds: Bounds) -> Any:
    """Probability of bounds on variables that hang together."""
    place = {index: i for i, index in enumerate(sorted({index for direction in bounds for index, _ in direction}))}
    renamed = {tuple((place[index], each) for index, each in direction): bound for direction, bound in bounds.items()}
    own = tuple(noises[index] for index in place)
    if not all(isinstance(each, fmpq) for each in (*bounds.values(), *(noise.scale for noise in own))):
        return _connected(own, renamed)
    key = tuple(sorted((direction, int(bound.p), int(bound.q)) for direction, bound in renamed.items()))
    return _kept(tuple((noise.kind, int(noise.scale.p), int(noise.scale.q)) for noise in own), key)


@functools.lru_cache(maxsize=50_000)
def _kept(noises: tuple[tuple[str, int, int], ...], bounds: tuple[tuple[Direction, int, int], ...]) -> Any:
    """The same regions come again and again, on other paths and inputs."""
    own = [Noise(kind, fmpq(p, q)) for kind, p, q in noises]
    return _connected(own, {direction: fmpq(p, q) for direction, p, q in bounds})


def _connected(noises: Sequence[Noise], bounds: Bounds) -> Any:
    variables = range(len(noises))
    kinds = {noise.kind for noise in noises}
    if len(noises) == 1:
        return _interval(noises[0], *_ends(bounds))
    if not kinds.isdisjoint(LATTICE):
        return _summed(noises, bounds)
    if kinds == {"normal"}:
        return _gaussian(noises, bounds, variables)
    if kinds == {"gumbel"}:
        return _ordered(noises, bounds, variables)
    if kinds <= {"laplace", "exponential", "uniform"}:
        return _integrated(noises, bounds)
    raise Unsupported(f"{' and '.join(sorted(kinds))} noise depend on each other")


# One variable.


def _ends(bounds: Bounds) -> tuple[Any, Any]:
    """Lower and upper end of the only variable; None where there is none."""
    low = high = None
    for ((_, factor),), bound in bounds.items():
        low, high = (low, bound) if factor > 0 else (-bound, high)
    return low, high


def _interval(noise: Noise, low: Any, high: Any) -> Any:
    """P(low <= X <= high)."""
    if low is not None and high is not None and (low > high or (noise.kind not in LATTICE and low == high)):
        return fmpq(0)
    if low is not None and noise.kind in _SYMMETRIC and low > 0:
        low, high = None if high is None else -high, -low  # subtract small tails, not numbers near 1
    below = fmpq(1) if high is None else _CUMULATIVE[noise.kind](noise.scale, high)
    before = low - 1 if low is not None and noise.kind in LATTICE else low
    mass = below - (fmpq(0) if low is None else _CUMULATIVE[noise.kind](noise.scale, before))
    return mass if isinstance(mass, fmpq) else mass.max(arb(0))


def _laplace(scale: Any, x: Any) -> Any:
    tail = (-arb(abs(x) / scale)).exp() / 2
    return _by_sign(x, tail, 1 - tail)


def _by_sign(x: Any, below: Any, above: Any) -> Any:
    """`below` for x <= 0 and `above` for x >= 0; both, for a ball that may be either."""
    if x <= 0:
        return below
    return above if x >= 0 else arb(below).union(arb(above))


def _exponential(scale: Any, x: Any) -> Any:
    return _by_sign(x, fmpq(0), 1 - (-arb(x / scale)).exp())


def _uniform(scale: Any, x: Any) -> Any:
    return min(max(x, fmpq(0)), fmpq(1)) if isinstance(x, fmpq) else x.max(arb(0)).min(arb(1))


def _normal(scale: Any, x: Any) -> Any:
    return (-arb(x) / arb(scale) / arb(2).sqrt()).erfc() / 2


def _gumbel(scale: Any, x: Any) -> Any:
    return (-(-arb(x / scale)).exp()).exp()


def _geometric(ratio: Any, x: Any) -> Any:
    """At an integer; written so that both sides may have ratios of their own within the ball."""
    tail = (1 - ratio) / (1 - ratio * ratio) * ratio ** (abs(int(x)) + (x >= 0))
    return 1 - tail if x >= 0 else tail


def _trials(ratio: Any, x: Any) -> Any:
    return 1 - ratio ** int(x) if x >= 1 else fmpq(0)


_SYMMETRIC = ("laplace", "normal", "geometric")
_CUMULATIVE: Mapping[str, Callable[[Any, Any], Any]] = {
    "laplace": _laplace,
    "exponential": _exponential,
    "uniform": _uniform,
    "normal": _normal,
    "gumbel": _gumbel,
    "geometric": _geometric,
    "trials": _trials,
}


# Laplace, exponential and uniform variables: cells of polynomials times exponentials.


def _integrated(noises: Sequence[Noise], bounds: Bounds) -> Any:
    """Eliminates the variables one by one from cells {form <= 0 for all forms}, each with its integrand.

    Variables are measured in a unit in which bounds are integers, and exponents in another: forms are then mostly
    integers, which are compared much faster than rationals.
    """
    numbers = [*bounds.values(), *(noise.scale for noise in noises)]
    if not all(isinstance(each, fmpq) for each in numbers):
        raise Unsupported("the region of several variables has irrational bounds or scales")
    size = len(noises)
    unit = math.lcm(*(int(bound.q) for bound in bounds.values()))
    rates = [fmpq(0) if noise.kind == "uniform" else 1 / (noise.scale * unit) for noise in noises]
    steps = math.lcm(*(int(rate.q) for rate in rates))
    polynomials = fmpq_mpoly_ctx.get(tuple(f"x{i}" for i in range(size)), Ordering.lex)
    start = []
    for direction, bound in bounds.items():
        factors = dict(direction)
        start.append((*(factors.get(i, 0) for i in range(size)), -int((bound * unit).p)))
    cell = _cell(start)
    if cell is None:
        return fmpq(0)
    cells: dict[_Cell, _Integrand] = {cell: {(0,) * (size + 1): polynomials.constant(1)}}
    left = set(range(size))
    while left:
        v = min(left, key=lambda v: (sum(_degree(cell, v) for cell in cells), v))
        left.remove(v)
        slope = int((rates[v] * steps).p)
        cells = _eliminated(cells, v, _density(noises[v].kind, slope, rates[v] or fmpq(1, unit)), steps, polynomials)
    total: dict[fmpq, fmpq] = defaultdict(fmpq)
    for integrand in cells.values():
        for exponent, polynomial in integrand.items():
            if polynomial != 0:
                total[_rational(exponent[-1]) / steps] += polynomial.leading_coefficient()
    terms = [(c, q) for c, q in total.items() if q != 0]
    if all(c == 0 for c, _ in terms):
        return sum((q for _, q in terms), fmpq(0))
    return sum((arb(q) * arb(c).exp() for c, q in terms), arb(0))


def _degree(cell: _Cell, v: int) -> int:
    """How many cells the elimination of a variable makes of one."""
    lower = sum(form[v] < 0 for form in cell)
    upper = sum(form[v] > 0 for form in cell)
    return max(lower, 1) * max(upper, 1)


def _cell(forms: Sequence[Linear]) -> _Cell | None:
    """{form <= 0}, one form for each direction; None if it is seen to have no inner point."""
    tightest: dict[Linear, Any] = {}
    for form in forms:
        lead = next((abs(each) for each in form[:-1] if each), None)
        if lead is None:
            if form[-1] > 0:
                return None
            continue
        direction, bound = (form[:-1], form[-1]) if lead == 1 else (_scaled(form[:-1], 1, lead), _over(form[-1], lead))
        if direction not in tightest or bound > tightest[direction]:
            tightest[direction] = bound
    for direction, bound in tightest.items():
        opposite = tightest.get(tuple(-each for each in direction))
        if opposite is not None and bound + opposite >= 0:
            return None
    return frozenset((*direction, bound) for direction, bound in tightest.items())


def _eliminated(
    cells: Mapping[_Cell, _Integrand], v: int, density: Sequence[tuple[int, int, fmpq]], steps: int, polynomials: Any
) -> dict[_Cell, _Integrand]:
    """Integrates a variable out. On a cell its lower end is the largest lower bound, its upper end the least upper
    one: one new cell for each choice of the two, which overlap in null sets only.
    """
    after: dict[_Cell, _Integrand] = {}
    zero = (0,) * (polynomials.nvars() + 1)
    for cell, integrand in cells.items():
        for half, slope, height in density:
            lowers, uppers = _solved(cell, v)
            if half:
                (lowers if half > 0 else uppers).add(zero)
            rest = [form for form in cell if not form[v]]
            dense = {_moved(exponent, v, slope): each * height for exponent, each in integrand.items()}
            primitive = _primitive(dense, v, steps, polynomials)
            at: dict[Linear, _Integrand] = {}
            for low, high in itertools.product(_or_none(lowers), _or_none(uppers)):
                new = _cell([*rest, *_conditions(low, high, lowers, uppers)])
                if new is None:
                    continue
                if any(end is None and _grows(primitive, v, way) for end, way in ((low, -1), (high, 1))):
                    if _empty(new):
                        continue
                    raise Unsupported("an integral does not converge")
                into = after.setdefault(new, {})
                for end, way in ((high, 1), (low, -1)):
                    if end is None:
                        continue
                    if end not in at:
                        at[end] = _at(primitive, v, end, polynomials)
                    for exponent, each in at[end].items():
                        into[exponent] = into.get(exponent, 0) + way * each
        if len(after) > MAX_CELLS:
            raise Unsupported(f"the region falls into more than {MAX_CELLS} cells")
    return {cell: {exponent: each for exponent, each in terms.items() if each != 0} for cell, terms in after.items()}


def _solved(cell: _Cell, v: int) -> tuple[set[Linear], set[Linear]]:
    """Lower and upper bounds of a variable on a cell."""
    lowers: set[Linear] = set()
    uppers: set[Linear] = set()
    for form in cell:
        if form[v]:
            end = _scaled((*form[:v], 0, *form[v + 1 :]), -1, form[v])
            (lowers if form[v] < 0 else uppers).add(end)
    return lowers, uppers


def _or_none(ends: set[Linear]) -> list[Linear | None]:
    return [*ends] or [None]


def _conditions(low: Linear | None, high: Linear | None, lowers: set[Linear], uppers: set[Linear]) -> Iterator[Linear]:
    """Forms that are at most zero where these two are the ends that count."""
    if low is not None:
        yield from (_difference(other, low) for other in lowers if other != low)
    if high is not None:
        yield from (_difference(high, other) for other in uppers if other != high)
    if low is not None and high is not None:
        yield _difference(low, high)


def _density(kind: str, slope: int, rate: fmpq) -> list[tuple[int, int, fmpq]]:
    """Half line (+1, -1, or 0: the line, whose ends are among the bounds), slope of the log density, its factor."""
    if kind == "uniform":
        return [(0, 0, rate)]
    return [(0, -slope, rate)] if kind == "exponential" else [(1, -slope, rate / 2), (-1, slope, rate / 2)]


def _over(a: Any, b: Any) -> Any:
    """a / b, an int where it can be."""
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    ratio = Fraction(a) / b
    return int(ratio) if ratio.denominator == 1 else ratio


def _rational(value: Any) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _scaled(form: Linear, factor: Any, divisor: Any = 1) -> Linear:
    """form * factor / divisor."""
    if divisor == -1 or divisor == 1:
        return tuple([each * factor * divisor for each in form])
    return tuple([_over(each * factor, divisor) for each in form])


def _difference(left: Linear, right: Linear) -> Linear:
    return tuple([a - b for a, b in zip(left, right, strict=True)])


def _moved(form: Linear, v: int, step: Any) -> Linear:
    return (*form[:v], form[v] + step, *form[v + 1 :])


def _primitive(integrand: _Integrand, v: int, steps: int, polynomials: Any) -> _Integrand:
    """An antiderivative in a variable: p e^(a x) has (p/a - p'/a^2 + p''/a^3 - ...) e^(a x)."""
    result = {}
    for exponent, polynomial in integrand.items():
        if not exponent[v]:
            result[exponent] = polynomial.integral(v)
            continue
        inverse = steps / _rational(exponent[v])
        total, factor = polynomials.constant(0), inverse
        while polynomial != 0:
            total, polynomial, factor = total + polynomial * factor, polynomial.derivative(v), -factor * inverse
        result[exponent] = total
    return result


def _grows(primitive: _Integrand, v: int, way: int) -> bool:
    """Whether it does not vanish at an infinite end. On a cell with inner points it does: every factor of the density
    is bounded there, and the variable's own decays.
    """
    return any(exponent[v] * way >= 0 for exponent, polynomial in primitive.items() if polynomial != 0)


def _at(primitive: _Integrand, v: int, end: Linear, polynomials: Any) -> _Integrand:
    """The antiderivative with the variable replaced by a linear form of the others."""
    generators = list(polynomials.gens())
    value = polynomials.constant(_rational(end[-1]))
    for generator, factor in zip(generators, end[:-1], strict=True):
        if factor:
            value += generator * _rational(factor)
    generators[v] = value
    result: _Integrand = {}
    for exponent, polynomial in primitive.items():
        slope = exponent[v]
        new = tuple([0 if i == v else each + slope * end[i] for i, each in enumerate(exponent)])
        each = polynomial if polynomial.is_constant() else polynomial.compose(*generators)
        result[new] = result[new] + each if new in result else each
    return result


def _empty(cell: _Cell) -> bool:
    """Whether no inner point satisfies the forms (Fourier and Motzkin's elimination)."""
    current: _Cell | None = cell
    while current:
        v = next(i for i, each in enumerate(next(iter(current))) if each)
        lowers, uppers = _solved(current, v)
        if len(lowers) * len(uppers) > MAX_CELLS:
            raise Unsupported("a region has too many bounds")
        joined = [_difference(low, high) for low in lowers for high in uppers]
        current = _cell([*(form for form in current if not form[v]), *joined])
    return current is None


# Integers.


def _substituted(bounds: Bounds, index: int, value: Any) -> Bounds:
    """The bounds of the other variables when one has a value."""
    result: Bounds = {}
    for direction, bound in bounds.items():
        factor = dict(direction).get(index, 0)
        others = tuple(each for each in direction if each[0] != index)
        divisor = math.gcd(*(each for _, each in others)) or 1
        rest: Direction = tuple((i, each // divisor) for i, each in others)
        bound = (bound - factor * value) / divisor
        known = result.get(rest)
        result[rest] = bound if known is None else min(known, bound)
    return result


def _whole(noises: Sequence[Noise], bounds: Bounds) -> Bounds:
    """The bounds of integers rounded down."""
    result = {}
    for direction, bound in bounds.items():
        lattice = all(noises[index].kind in LATTICE for index, _ in direction)
        result[direction] = bound.floor() if direction and lattice and isinstance(bound, fmpq) else bound
    return result


def _summed(noises: Sequence[Noise], bounds: Bounds, depth: int = 0) -> Any:
    """Sums over the integer variable in most bounds; what is beyond the largest summand is enclosed."""
    if not all(isinstance(bound, fmpq) for bound in bounds.values()):
        raise Unsupported("integer noise is compared with an irrational number")
    appears: dict[int, int] = defaultdict(int)
    for direction in bounds:
        for index, _ in direction:
            appears[index] += noises[index].kind in LATTICE
    index = max(appears, key=lambda i: (appears[i], -i))
    ratio = noises[index].scale
    own = {direction: bound for direction, bound in bounds.items() if all(i == index for i, _ in direction)}
    low, high = _ends(own)
    last = math.ceil(float(arb(_TAIL).log() / arb(ratio).log()))
    first, final = max(-last, -last if low is None else int(low)), min(last, last if high is None else int(high))
    if (final - first + 1) * 100**depth > MAX_SUMMANDS or depth > 2:
        raise Unsupported("too many integers would have to be summed")
    two_sided = noises[index].kind == "geometric"
    at_zero = (1 - ratio) ** 2 / (1 - ratio * ratio) if two_sided else (1 - ratio) / ratio
    total: Any = fmpq(0)
    for value in range(first, final + 1):
        inner = _whole(noises, _substituted(bounds, index, value))
        if any(not direction and bound < 0 for direction, bound in inner.items()):
            continue
        mass = at_zero * ratio ** abs(value)
        for component in components(inner):
            several = len({i for direction in component for i, _ in direction}) > 1
            mass = mass * (
                _summed(noises, component, depth + 1)
                if several and any(noises[i].kind in LATTICE for direction in component for i, _ in direction)
                else _component(noises, component)
            )
        total = total + mass
    left = arb(0)
    for end, cut in ((low, -last), (high, last)):
        if end is None or abs(int(end)) > last:
            left += arb(_geometric(ratio, fmpq(-abs(cut) - 1)) if two_sided else ratio ** abs(cut))
    return total if left == 0 else total + arb(0).union(left)


# Gaussian variables.


def _gaussian(noises: Sequence[Noise], bounds: Bounds, variables: Sequence[int]) -> Any:
    """One direction, or bounds that have one variable in common and no other."""
    directions = {max(direction, tuple((i, -each) for i, each in direction)) for direction in bounds}
    if len(directions) == 1:
        (direction,) = directions
        variance = sum((arb(factor * noises[index].scale) ** 2 for index, factor in direction), arb(0))
        single: Bounds = {((0, 1 if each == direction else -1),): bound for each, bound in bounds.items()}
        return _interval(Noise("normal", variance.sqrt()), *_ends(single))
    for shared in variables:
        if all(len(direction) <= 1 + any(i == shared for i, _ in direction) for direction in bounds):
            return _quadrature(noises, bounds, shared)
    raise Unsupported("Gaussian variables depend on each other in more than one way")


def _quadrature(noises: Sequence[Noise], bounds: Bounds, shared: int) -> Any:
    """Integral over the shared variable, in pieces on which every other variable has one lower and one upper end."""
    ends: dict[int, tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]] = defaultdict(lambda: ([], []))
    sigma = arb(noises[shared].scale)
    reach = 12 * sigma.upper().fmpq()
    low, high = -reach, reach
    for direction, bound in bounds.items():
        factors = dict(direction)
        slope = factors.pop(shared, 0)
        if not isinstance(bound, fmpq):
            raise Unsupported("the region of several variables has irrational bounds")
        if not factors:
            low, high = (low, min(high, bound / slope)) if slope > 0 else (max(low, bound / slope), high)
            continue
        ((index, factor),) = factors.items()
        ends[index][factor > 0].append((fmpq(bound) / factor, fmpq(-slope, 1) / factor))
    if low >= high:
        return arb(0).union(2 * _normal(1, fmpq(-12)))
    crossings = {low, high}
    for lowers, uppers in ends.values():
        for (a, b), (c, d) in itertools.combinations([*lowers, *uppers], 2):
            if b != d and low < (crossing := (c - a) / (b - d)) < high:
                crossings.add(crossing)
    total = arb(0)
    for left, right in itertools.pairwise(sorted(crossings)):
        pieces = list(_pieces(ends, (left + right) / 2))
        if all(
            b is None or a is None or a[0] + a[1] * (left + right) / 2 < b[0] + b[1] * (left + right) / 2
            for _, a, b in pieces
        ):
            total += _integral(noises, sigma, pieces, left, right)
    return total + arb(0).union(2 * _normal(1, fmpq(-12)))


def _pieces(ends: Mapping[int, Any], x: fmpq) -> Iterator[tuple[int, Any, Any]]:
    """Each variable with the lower and the upper end that count at x."""
    for index, (lowers, uppers) in ends.items():
        yield (
            index,
            max(lowers, key=lambda end: end[0] + end[1] * x) if lowers else None,
            min(uppers, key=lambda end: end[0] + end[1] * x) if uppers else None,
        )


def _integral(noises: Sequence[Noise], sigma: arb, pieces: Sequence[Any], left: fmpq, right: fmpq) -> arb:
    with ctx.workprec(_QUADRATURE_BITS):
        factor = 1 / (sigma * (2 * arb.pi()).sqrt())

        def below(index: int, end: Any, x: acb) -> acb:
            return (-(acb(end[0]) + acb(end[1]) * x) / (arb(noises[index].scale) * arb(2).sqrt())).erfc() / 2

        def integrand(x: acb, _: Any) -> acb:
            value = (-x * x / (2 * sigma * sigma)).exp() * factor
            for index, low, high in pieces:
                mass = acb(1) if high is None else below(index, high, x)
                value *= mass if low is None else mass - below(index, low, x)
            return value

        found = acb.integral(integrand, acb(left), acb(right))
        return found.real


# Gumbel variables.


def _ordered(noises: Sequence[Noise], bounds: Bounds, variables: Sequence[int]) -> Any:
    """Sum over the orders of s_i + G_i that the bounds admit, each a product of ratios of weights exp(s_i / scale)
    (Plackett and Luce). Needs comparisons of two variables that are all of the form s_i + G_i <= s_j + G_j.
    """
    scale = noises[variables[0]].scale
    if any(not (noises[i].scale is scale or (isinstance(scale, fmpq) and noises[i].scale == scale)) for i in variables):
        raise Unsupported("Gumbel variables of several scales are compared")
    if len(variables) > 7 or any(sorted(factor for _, factor in direction) != [-1, 1] for direction in bounds):
        raise Unsupported("Gumbel variables are more than compared with each other")
    if not all(isinstance(bound, fmpq) for bound in bounds.values()):
        raise Unsupported("Gumbel variables are shifted by irrational numbers")
    pairs = {
        tuple(index for index, _ in sorted(direction, key=lambda each: each[1])): bound
        for direction, bound in bounds.items()
    }
    shift = {variables[0]: fmpq(0)}  # (j, i) -> G_i - G_j <= s_j - s_i
    while len(shift) < len(variables):
        for (j, i), bound in pairs.items():
            if j in shift and i not in shift:
                shift[i] = shift[j] - bound
            elif i in shift and j not in shift:
                shift[j] = shift[i] + bound
    if any(shift[j] - shift[i] != bound for (j, i), bound in pairs.items()):
        raise Unsupported("Gumbel variables are compared with several shifts")
    weights = {i: (arb(shift[i]) / arb(scale)).exp() for i in variables}
    total = arb(0)
    for order in itertools.permutations(variables):  # from the largest value down
        rank = {index: place for place, index in enumerate(order)}
        if all(rank[j] < rank[i] for j, i in pairs):
            mass = arb(1)
            for place, index in enumerate(order):
                mass *= weights[index] / sum((weights[other] for other in order[place:]), arb(0))
            total += mass
    return total
