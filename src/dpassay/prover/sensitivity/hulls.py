"""Bounds of expressions over all datasets: intervals with symbolic ends; exact extremes of functions of one number."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy
from flint import arb, ctx
from sympy import Max, Min, S

from dpassay.prover.sensitivity.aggregates import Aggregate, Choice, entry, is_private, nearest, xlogx
from dpassay.prover.sensitivity.queries import Unencodable, at_most, ball, certain, decided, rationals

INFINITE = (S.NegativeInfinity, S.Infinity)
Interval = tuple[Any, Any]
BITS = 100
MAX_DEPTH = 60
MAX_BOXES = 4000


class Domain:
    """What is known: the range of the entries and of variables, and facts about n and the parameters."""

    def __init__(self, bounds: Interval, facts: Sequence[Any], boxes: Mapping[Any, Interval] | None = None):
        self.bounds, self.facts, self.boxes = bounds, tuple(facts), dict(boxes or {})
        self._kept: dict[Any, Interval] = {}

    def knows(self, condition: Any) -> bool:
        """Whether the facts imply a condition, as far as a short query tells."""
        condition = sympy.sympify(condition)
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        return _knows(condition, self.facts)

    def below(self, one: Any, other: Any) -> bool:
        """Whether one term is known to be at most another."""
        if one == S.NegativeInfinity or other == S.Infinity:
            return True
        if S.Infinity in (one, -one, other, -other):
            return False
        gap = one - other
        if not gap.free_symbols:
            return at_most(gap, S.Zero) is True
        return self.knows(one <= other) or self.knows(sympy.simplify(gap) <= 0)

    def nonnegative(self, term: Any) -> bool:
        """Whether a term is known to be at least 0."""
        if term == S.Infinity:
            return True
        return bool(term.is_nonnegative) or (term.is_nonnegative is None and self.knows(term >= 0))

    def least(self, *terms: Any) -> Any:
        """The smallest of terms, or their Min where that is not known."""
        return self._extreme(Min, terms)

    def largest(self, *terms: Any) -> Any:
        """The largest of terms, or their Max where that is not known."""
        return self._extreme(Max, terms)

    def _extreme(self, join: Any, terms: Sequence[Any]) -> Any:
        if any(term in (S.ComplexInfinity, S.NaN) for term in terms):  # a divisor may be 0 there
            return S.Infinity if join is Max else S.NegativeInfinity
        kept: list[Any] = []
        for term in dict.fromkeys(terms):
            if any(self._beats(join, other, term) for other in kept):
                continue
            kept = [other for other in kept if not self._beats(join, term, other)]
            kept.append(term)
        return kept[0] if len(kept) == 1 else join(*kept)

    def _beats(self, join: Any, one: Any, other: Any) -> bool:
        more, less = (one, other) if join is Max else (other, one)
        if more == S.Infinity or less == S.NegativeInfinity:
            return True
        if less == S.Infinity or more == S.NegativeInfinity:
            return False
        gap = more - less
        if not gap.free_symbols:
            return at_most(-gap, S.Zero) is True
        return self.nonnegative(gap)

    def hull(self, term: Any) -> Interval:
        """An interval that holds the term for every dataset; its ends are in n and the parameters alone."""
        if term not in self._kept:
            self._kept[term] = self._tight(term)
        return self._kept[term]

    def _tight(self, term: Any) -> Interval:
        inner = [each for each in term.free_symbols if each in self.boxes]
        entries = term.atoms(entry)
        variables = inner + list(entries)
        rough = self._rough(term)
        if len(variables) == 1 and not term.has(Aggregate) and _occurrences(term, variables[0]) > 1:
            low, high = self.hull(variables[0])
            x = sympy.Dummy("x", real=True)
            with_x = term.subs(variables[0], x)
            if (
                with_x.free_symbols == {x}
                and not (low.free_symbols | high.free_symbols)
                and low.is_finite
                and high.is_finite
            ):
                try:
                    return extent(with_x, x, low, high)
                except Unencodable:
                    pass
            elif low.is_finite and high.is_finite:
                return self._guessed(with_x, x, low, high, rough)
        return rough

    def _guessed(self, term: Any, x: Any, low: Any, high: Any, rough: Interval) -> Interval:
        """With parameters: the value at an end or stationary point, where it can be proved extreme."""
        points = [low, high]
        if term.is_polynomial(x):
            slope = sympy.Poly(sympy.diff(term, x), x)
            if slope.degree() == 1:
                points.append(sympy.simplify(sympy.solve(slope.as_expr(), x)[0]))
        facts = [*self.facts, x >= low, x <= high]
        values = [term.subs(x, point) for point in points]
        found = list(rough)
        for place, join in ((1, Max), (0, Min)):
            for top in (*values[:2], join(*values[:2]), join(*values)):
                goal = term <= top if place else term >= top
                if certain(goal, facts):
                    found[place] = top
                    break
        return found[0], found[1]

    def _rough(self, term: Any) -> Interval:
        if term in self.boxes:
            return self.boxes[term]
        if isinstance(term, Aggregate):
            return self._aggregate(term)
        if term.func == entry:
            return self.bounds
        if not term.args or not (term.has(entry) or term.has(Aggregate) or term.free_symbols & set(self.boxes)):
            return term, term
        if isinstance(term, sympy.logic.boolalg.Boolean):
            return S.Zero, S.One
        match term:
            case sympy.Add():
                parts = [self.hull(each) for each in term.args]
                return _sum([low for low, _ in parts], -1), _sum([high for _, high in parts], 1)
            case sympy.Mul():
                return functools.reduce(self._multiplied, [self.hull(each) for each in term.args])
            case sympy.Abs():
                return self._absolute(self.hull(term.args[0]))
            case sympy.Max() | sympy.Min():
                parts = [self.hull(each) for each in term.args]
                join = self.largest if isinstance(term, Max) else self.least
                return join(*(low for low, _ in parts)), join(*(high for _, high in parts))
            case Choice():
                parts = [self.hull(value) for value in term.args[1:]]
                return self.least(*(low for low, _ in parts)), self.largest(*(high for _, high in parts))
            case sympy.Pow():
                return self._power(*term.args)
            case sympy.floor() | sympy.ceiling() | nearest():
                low, high = self.hull(term.args[0])
                return term.func(low), term.func(high)
            case sympy.Mod():
                divisor = term.args[1]
                if not is_private(divisor) and self.knows(divisor > 0):
                    return S.Zero, divisor - 1 if term.is_integer else divisor
                return INFINITE
        return self._function(term)

    def _function(self, term: Any) -> Interval:
        low, high = self.hull(term.args[0])
        function = term.func
        if function in (sympy.exp, sympy.atan, sympy.tanh, sympy.sinh, sympy.asin):
            return function(low), function(high)
        if function == sympy.log:
            if not self.nonnegative(low):
                return INFINITE
            return (S.NegativeInfinity if low == 0 else function(low)), function(high)
        if function == sympy.acos:
            return function(high), function(low)
        if function == xlogx:
            return self._entropy(low, high)
        if function in (sympy.sin, sympy.cos):
            x = sympy.Dummy("x", real=True)
            try:
                if not (low.free_symbols | high.free_symbols) and low.is_finite and high.is_finite:
                    return extent(function(x), x, low, high)
            except Unencodable:
                pass
            return S.NegativeOne, S.One
        return INFINITE

    def _entropy(self, low: Any, high: Any) -> Interval:
        """x log x is convex, and smallest at 1/e."""
        if not self.nonnegative(low) or high == S.Infinity:
            return INFINITE
        turn, ends = sympy.exp(-1), (xlogx(low), xlogx(high))
        if self.below(high, turn):
            return ends[1], ends[0]
        return (ends[0] if self.below(turn, low) else -turn), self.largest(*ends)

    def _absolute(self, interval: Interval) -> Interval:
        low, high = interval
        if self.nonnegative(low):
            return low, high
        if self.nonnegative(-high):
            return -high, -low
        return S.Zero, self.largest(-low, high)

    def _multiplied(self, left: Interval, right: Interval) -> Interval:
        (a, b), (c, d) = left, right
        if any(end in INFINITE for end in (a, b, c, d)) and not all(
            end in INFINITE or end.is_number for end in (a, b, c, d)
        ):
            positive = self.nonnegative(a) and self.nonnegative(c) and S.Infinity not in (a, c)
            return (_times(a, c), S.Infinity) if positive else INFINITE
        if a == b and c == d:
            return a * c, a * c
        if self.nonnegative(a) and self.nonnegative(c):
            return _times(a, c), _times(b, d)
        if self.nonnegative(a) and self.nonnegative(-d):
            return _times(b, c), _times(a, d)
        if self.nonnegative(c) and self.nonnegative(-b):
            return _times(a, d), _times(b, c)
        products = [_times(p, q) for p in (a, b) for q in (c, d)]
        return self.least(*products), self.largest(*products)

    def _power(self, base: Any, exponent: Any) -> Interval:
        low, high = self.hull(base)
        e_low, e_high = self.hull(exponent)
        if exponent.is_Integer and exponent > 0 and exponent % 2 == 0:
            bottom, top = self._absolute((low, high))
            return bottom**exponent, top**exponent
        if exponent.is_Integer and exponent > 0:
            return low**exponent, high**exponent
        if exponent.is_Integer and exponent < 0:
            bottom, top = self.hull(base**-exponent)
            if self.nonnegative(bottom):
                return (S.Zero if top == S.Infinity else 1 / top), (S.Infinity if bottom == 0 else 1 / bottom)
            if self.nonnegative(-top):
                return (S.NegativeInfinity if top == 0 else 1 / top), (
                    S.Zero if bottom == S.NegativeInfinity else 1 / bottom
                )
            return INFINITE
        if base == -1 and exponent.is_integer:
            return S.NegativeOne, S.One
        if not self.nonnegative(low):
            return INFINITE
        if e_low == e_high and self.nonnegative(exponent):
            return S.Zero if low == 0 and self.knows(exponent > 0) else low**exponent, high**exponent
        if e_low == e_high and self.nonnegative(-exponent):
            return (S.Zero if high == S.Infinity else high**exponent), (S.Infinity if low == 0 else low**exponent)
        return S.Zero, S.Infinity

    def _aggregate(self, term: Aggregate) -> Interval:
        known = (term.index >= 0, term.index < term.length)
        inner = Domain(self.bounds, [*self.facts, *known], self.boxes)
        low, high = inner.hull(term.body)
        if term.index in low.free_symbols | high.free_symbols:
            if term.kind == "sum":
                try:
                    return tuple(_summed(end, term) for end in (low, high))
                except ZeroDivisionError:  # in SymPy's summation
                    return INFINITE
            low, high = self._over_index(term, inner, low, high)
        match term.kind:
            case "max" | "min" | "order":
                return low, high
            case "sum":
                return tuple(end if end in INFINITE else _times(term.length, end) for end in (low, high))
            case "distinct":
                return S.One, term.length
        if self.nonnegative(low):
            return low**term.length if low != 0 else low, high**term.length
        if self.nonnegative(1 - high) and self.nonnegative(low + 1):
            return S.NegativeOne, S.One
        return INFINITE

    def _over_index(self, term: Aggregate, inner: "Domain", low: Any, high: Any) -> Interval:
        """The ends over all indices: at the first or the last, where that can be proved."""
        found: list[Any] = []
        for end, sign in ((low, -1), (high, 1)):
            values = (
                [end.subs(term.index, at) for at in (0, term.length - 1)] if term.index in end.free_symbols else [end]
            )
            pick = next((v for v in values if certain(sign * (v - end) >= 0, inner.facts)), None)
            found.append(sign * S.Infinity if pick is None else pick)
        return found[0], found[1]


@functools.lru_cache(maxsize=20_000)
def _knows(condition: Any, facts: tuple[Any, ...]) -> bool:
    return certain(condition, facts, 200)


def _occurrences(term: Any, x: Any) -> int:
    if term == x:
        return 1
    return sum(_occurrences(each, x) for each in term.args)


def _sum(terms: Sequence[Any], sign: int) -> Any:
    if any(term in INFINITE for term in terms):
        return sign * S.Infinity
    return sympy.Add(*terms)


def _times(a: Any, b: Any) -> Any:
    return S.Zero if a == 0 or b == 0 else a * b


def _summed(end: Any, term: Aggregate) -> Any:
    if end in INFINITE:
        return end
    total = sympy.summation(end, (term.index, 0, term.length - 1))
    return total


# One number


def extent(term: Any, x: Any, low: Any, high: Any) -> Interval:
    """The smallest and the largest value for low <= x <= high, or bounds within 1e-12 of them.

    Between the places where a case changes, boxes of Arb are split until each is below the bound, or monotone, or
    convex, or concave around a stationary point that is known exactly.

    Raises:
        Unencodable: it was not settled.
    """
    before, ctx.prec = ctx.prec, BITS
    try:
        return _extent(term, x, low, high)
    finally:
        ctx.prec = before


@functools.lru_cache(maxsize=1000)
def _extent(term: Any, x: Any, low: Any, high: Any) -> Interval:
    if term.has(sympy.floor, sympy.ceiling, sympy.Mod, nearest):
        raise Unencodable(f"{term}")
    cuts = {low, high}
    for part in sympy.preorder_traversal(term):
        gaps: list[Any] = []
        if isinstance(part, sympy.Abs | xlogx):
            gaps = [part.args[0]]
        elif isinstance(part, Max | Min):
            gaps = [a - b for k, a in enumerate(part.args) for b in part.args[:k]]
        elif isinstance(part, sympy.core.relational.Relational):
            gaps = [part.lhs - part.rhs]
        for gap in gaps:
            cuts |= {root for root in _roots(gap, x) if _between(root, low, high)}
    ordered = sorted(cuts, key=lambda point: float(point))
    lows, highs = [], []
    for p, q in itertools.pairwise(ordered):
        smooth = _resolved(term, x, (p + q) / 2)
        highs.append(_top(smooth, x, p, q))
        lows.append(-_top(-smooth, x, p, q))
    for point in ordered:  # the values at the cuts themselves
        value = term.subs(x, point)
        highs.append(value)
        lows.append(value)
    if S.NaN in (*lows, *highs):
        raise Unencodable(f"{term} has no value somewhere")
    domain = Domain((low, high), ())
    return domain.least(*lows), domain.largest(*highs)


def _between(point: Any, low: Any, high: Any) -> bool:
    return at_most(low, point) is True and at_most(point, high) is True


def _roots(gap: Any, x: Any) -> list[Any]:
    if x not in gap.free_symbols:
        return []
    if gap.is_polynomial(x):
        try:
            return list(sympy.Poly(gap, x).real_roots())
        except NotImplementedError:
            pass
    try:
        found = sympy.solve(gap, x)
    except NotImplementedError:
        raise Unencodable(f"{gap}") from None
    return [root for root in found if root.is_real]


def _resolved(term: Any, x: Any, at: Any) -> Any:
    """The term with the cases that hold at a point."""
    if not term.args or not term.has(sympy.Abs, Max, Min, Choice, xlogx):
        return term
    here = {x: ball(at)}
    if isinstance(term, Choice):
        condition, yes, no = term.args
        sure = decided(condition, here)
        if sure is None:
            raise Unencodable(f"{condition}")
        return _resolved(yes if sure else no, x, at)
    args = [_resolved(each, x, at) for each in term.args]
    if isinstance(term, sympy.Abs):
        return args[0] if ball(args[0], here) >= 0 else -args[0]
    if isinstance(term, xlogx):
        sure = decided(args[0] > 0, here)
        if sure is None:
            raise Unencodable(f"{term}")
        return xlogx(args[0]) if sure else S.Zero
    if isinstance(term, Max | Min):
        sign = 1 if isinstance(term, Max) else -1
        return max(args, key=lambda each: sign * float(ball(each, here).mid()))
    return term.func(*args)


def _top(term: Any, x: Any, low: Any, high: Any) -> Any:
    """The largest value of a smooth term: at an end or a stationary point."""
    if x not in term.free_symbols:
        return term
    slope, bend = sympy.diff(term, x), sympy.diff(term, x, 2)
    exact, near = _stationary(slope, x, low, high)
    values = [term.subs(x, point) for point in (low, high, *exact)]
    best = Domain((low, high), ()).largest(*values)
    if isinstance(best, Max):
        raise Unencodable(f"{best}")
    stationary = [_exact_ball(point) for point in exact]
    bottom, top = _exact_ball(low), _exact_ball(high)
    if _settled(term, slope, bend, x, bottom, top, ball(best), stationary):
        return best
    slack = (
        max(
            rationals(ball(term, {x: ball(sympy.Rational(point))} if x in term.free_symbols else {}))[1]
            for point in near
        )
        if near
        else Fraction(-1)
    )
    slack = max(slack, rationals(ball(best))[1])
    step = max(abs(slack), Fraction(1)) / 10**12
    for _ in range(3):
        slack += step
        if _settled(
            term, slope, bend, x, bottom, top, arb(0) + ball(sympy.Rational(slack.numerator, slack.denominator)), []
        ):
            return sympy.Rational(slack.numerator, slack.denominator)
        step *= 1000
    raise Unencodable(f"{term}")


def _exact_ball(point: Any) -> arb:
    return ball(point) if not isinstance(point, sympy.CRootOf) else ball(sympy.Rational(str(point.eval_rational(n=40))))


def _stationary(slope: Any, x: Any, low: Any, high: Any) -> tuple[list[Any], list[float]]:
    """Stationary points that are known exactly, and approximations of all that were seen."""
    if slope.is_polynomial(x):
        roots = [root for root in _roots(slope, x) if root.is_Rational or not root.has(sympy.CRootOf)]
        inside = [root for root in roots if _between(root, low, high)]
        return inside, [float(root) for root in _roots(slope, x) if float(low) <= float(root) <= float(high)]
    function = sympy.lambdify(x, slope, "math")
    a, b = float(low), float(high)
    grid = [a + (b - a) * k / 64 for k in range(65)]
    found: list[Any] = []
    values = []
    for point in grid:
        try:
            values.append(float(function(point)))
        except (ZeroDivisionError, ValueError, OverflowError, TypeError):
            values.append(float("nan"))
    near = [point for point, value in zip(grid, values) if abs(value) < 1e-9]  # noqa: B905
    for k in range(64):
        if values[k] * values[k + 1] < 0:
            near.append(_bisected(function, grid[k], grid[k + 1]))
    for point in near:
        guesses = [
            sympy.nsimplify(point, [sympy.pi, sympy.E, sympy.exp(-1)], tolerance=1e-9),
            sympy.nsimplify(point, tolerance=1e-9),
        ]
        for guess in guesses:
            if _between(guess, low, high) and sympy.simplify(slope.subs(x, guess)) == 0:
                found.append(guess)
                break
    return found, near


def _bisected(function: Any, a: float, b: float) -> float:
    """Where a function changes its sign between two numbers."""
    left = function(a) > 0
    for _ in range(60):
        middle = (a + b) / 2
        a, b = (middle, b) if (function(middle) > 0) == left else (a, middle)
    return (a + b) / 2


def _settled(
    term: Any, slope: Any, bend: Any, x: Any, low: arb, high: arb, best: arb, stationary: Sequence[arb]
) -> bool:
    """Whether the term is at most `best` on [low, high]."""
    limit = best.lower()
    boxes, seen = [(low, high, 0)], 0

    def below(point: arb, end: arb) -> bool:
        return bool(point.overlaps(end)) or bool(ball(term, {x: point}) <= limit)

    while boxes:
        a, b, depth = boxes.pop()
        seen += 1
        if seen > MAX_BOXES or depth > MAX_DEPTH:
            return False
        box = {x: a.union(b)}
        try:
            if ball(term, box) <= limit:
                continue
            rising = ball(slope, box)
            if rising >= 0 and below(b, high):
                continue
            if rising <= 0 and below(a, low):
                continue
            curve = ball(bend, box)
            if curve <= 0 and any(box[x].contains(point) for point in stationary):
                continue
            if curve >= 0 and below(a, low) and below(b, high):
                continue
        except Unencodable:
            return False
        middle = ((a + b) / 2).mid()
        boxes += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return True
