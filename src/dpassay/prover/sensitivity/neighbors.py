"""What a function is on two neighboring datasets of any length, reduced to finitely many numbers.

One entry (position j) changes from v to w. An aggregate becomes the terms that see this entry and a rest: a sum's rest
is a number between its length times the least and the largest term, a maximum's rest is one of its terms, and so on.
Each choice that matters (is j within a slice, is it this neighbor, which branch) opens a case of its own. Every real
pair of neighbors is in one of the cases, so what holds in all cases holds of all neighbors.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Dummy, Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Not, S

from dpassay.prover.sensitivity.aggregates import INDEX, Aggregate, Choice, entry, is_private, new_index
from dpassay.prover.sensitivity.hulls import INFINITE, Domain, Interval

MAX_CASES = 200


class Irreducible(Exception):
    """A change that has no reduction here."""


class _Undecided(Exception):
    pass


@dataclass
class Case:
    """Old and new value with what is known of the variables in them.

    Attributes:
        old, new: of the function, in v, w, other variables, n and the parameters.
        facts: conditions of the case.
        boxes: variable -> interval.
        alike: variable -> its value when all other entries are the same number `common`.
    """

    old: Any
    new: Any
    v: Any
    w: Any
    j: Any
    common: Any
    facts: list[Any] = field(default_factory=list)
    boxes: dict[Any, Interval] = field(default_factory=dict)
    alike: dict[Any, Any] = field(default_factory=dict)

    def at(self, values: dict[Any, Any]) -> "Case":
        """The case for some n or parameters alone."""

        def put(term: Any) -> Any:
            return sympy.sympify(term).subs(values)

        boxes = {variable: (put(low), put(high)) for variable, (low, high) in self.boxes.items()}
        alike = {variable: put(term) for variable, term in self.alike.items()}
        facts = [put(fact) for fact in self.facts]
        return Case(put(self.old), put(self.new), self.v, self.w, self.j, self.common, facts, boxes, alike)


def cases(value: Any, n: Any, domain: Domain, *, grows: bool = False, way: str = "exact") -> Iterator[Case]:
    """All cases of a change of one entry, or (`grows`) of one entry more, so that n becomes n + 1.

    Args:
        value: the function, in entries and aggregates.
        n: the number of entries.
        domain: what is known of entries and parameters.
        grows: one more entry instead of another one.
        way: "exact", or "steps": an order statistic moves by at most as much as the entry does, wherever it is; or
            "norm": of a value (c, p, aggregate) that means c (sum of |body|^p)^(1/p), how far the bodies move.

    Raises:
        Irreducible: the function's change has no reduction.
    """
    pending: list[list[int]] = [[]]
    count = 0
    while pending:
        script = pending.pop()
        change = _Change(value, n, domain, script, grows, way)
        try:
            yield change.made()
        except _Undecided:
            pending += [[*change.script, option] for option in reversed(change.open)]
            continue
        except _Impossible:
            continue
        count += 1
        if count > MAX_CASES:
            raise Irreducible("too many cases")


class _Impossible(Exception):
    pass


class _Change:
    """One case in the making: `script` says which option was taken at each choice so far."""

    def __init__(self, value: Any, n: Any, domain: Domain, script: list[int], grows: bool, way: str):
        self.value, self.n, self.domain, self.script, self.grows = value, n, domain, list(script), grows
        self.way = way
        self.open: list[int] = []
        self.step = 0
        self.v, self.w, self.j = (
            Dummy("v", real=True),
            Dummy("w", real=True),
            Dummy("j", integer=True, nonnegative=True),
        )
        self.common = Dummy("t", real=True)
        self.facts: list[Any] = [Ge(self.j, 0), Le(self.j, n) if grows else Lt(self.j, n)]
        self.boxes: dict[Any, Interval] = {self.v: domain.bounds, self.w: domain.bounds}
        self.alike: dict[Any, Any] = {}
        self.kept: dict[Any, tuple[Any, Any]] = {}
        self.fresh: dict[Any, Any] = {}
        self.generic: set[Any] = set()
        self.rests: list[tuple[Any, Any, Any, Any]] = []
        self.extremes: list[tuple[str, Any, Any]] = []
        self.locals: set[Any] = set()
        self.orders: list[tuple[Any, Any, Any, Any]] = []

    def made(self) -> Case:
        old, new = (S.Zero, self.moved_norm(*self.value)) if self.way == "norm" else self.of(self.value)
        self.joint()
        return Case(old, new, self.v, self.w, self.j, self.common, self.facts, self.boxes, self.alike)

    def choose(self, *options: Any) -> int:
        """The option taken of conditions one of which holds; those that cannot hold are not taken."""
        options = tuple(map(sympy.sympify, options))
        generic = any(option.free_symbols & self.generic for option in options)
        if self.step < len(self.script):
            taken = self.script[self.step]
        else:
            known = [*self.domain.facts, *self.facts]
            here = Domain(self.domain.bounds, known)
            sure = [k for k, option in enumerate(options) if option is sympy.true or here.knows(option)]
            possible = sure[:1] or [k for k, o in enumerate(options) if o is not sympy.false and not here.knows(Not(o))]
            if not possible:
                raise _Impossible
            if len(possible) > 1 and generic:
                raise Irreducible("a case that depends on the place of an entry that does not change")
            if len(possible) > 1:
                self.open = possible
                raise _Undecided
            taken = possible[0]
            self.script.append(taken)
        self.step += 1
        if options[taken] is not sympy.true:
            self.facts.append(options[taken])
        return taken

    def variable(self, name: str, interval: Interval, alike: Any, **assumptions: Any) -> Any:
        made = Dummy(name, real=True, **assumptions)
        self.boxes[made] = interval
        self.alike[made] = alike
        return made

    def hull(self, term: Any) -> Interval:
        return Domain(self.domain.bounds, [*self.domain.facts, *self.facts], self.boxes).hull(term)

    # Terms

    def of(self, term: Any) -> tuple[Any, Any]:
        """A term before and after the change."""
        if term in self.kept:
            return self.kept[term]
        self.kept[term] = found = self._of(term)
        return found

    def _of(self, term: Any) -> tuple[Any, Any]:
        if not is_private(term):
            return term, term.subs(self.n, self.n + 1) if self.grows else term
        if isinstance(term, Aggregate):
            return self.aggregate(term)
        if term.func == entry:
            return self.entry(term.args[0])
        if isinstance(term, Choice):
            return self.cases(term)
        parts = [self.of(each) for each in term.args]
        return term.func(*(old for old, _ in parts)), term.func(*(new for _, new in parts))

    def cases(self, term: Any) -> tuple[Any, Any]:
        condition, first, rest = term.args
        if not is_private(condition) and not condition.free_symbols & self.generic:
            if self.grows:
                raise Irreducible("a case that depends on n")
            return self.of(first) if self.choose(condition, Not(condition)) == 0 else self.of(rest)
        (c_old, c_new), (a_old, a_new), (b_old, b_new) = self.of(condition), self.of(first), self.of(rest)
        return Choice(c_old, a_old, b_old), Choice(c_new, a_new, b_new)

    def entry(self, position: Any) -> tuple[Any, Any]:
        if self.grows:
            raise Irreducible("an entry at a fixed position of a dataset that grows")
        bare = _unwrapped(position, self.n)
        gap = sympy.expand(bare - self.j)
        if gap == 0:
            return self.v, self.w
        wraps = position != bare
        if gap.is_Integer:
            if wraps and self.choose(*self._meets(gap)) == 0:
                return self.v, self.w
        elif not gap.free_symbols & self.generic and self.choose(Eq(position, self.j), Ne(position, self.j)) == 0:
            return self.v, self.w
        key = bare
        if key not in self.fresh:
            self.fresh[key] = self.variable("t", self.domain.bounds, self.common)
        return self.fresh[key], self.fresh[key]

    def _meets(self, gap: Any) -> tuple[Any, Any]:
        """Whether positions this far apart on a circle are the same."""
        if abs(gap) != 1:
            raise Irreducible("a wide window on a circle")
        return Eq(self.n, 1), Ge(self.n, 2)

    # Aggregates

    def aggregate(self, term: Aggregate) -> tuple[Any, Any]:
        if self.grows:
            return self.grown(term)
        if term.kind == "sum" and term.body.atoms(Aggregate) and _ordered_inside(term):
            return self.ordered_sum(term)
        places = self.touched(term)
        seen = [self.of(term.body.subs(term.index, place)) for place in places]
        count = term.length - len(places)
        if count.free_symbols & self.generic and term.kind == "sum":
            if not places and not _moves(term.body, self.n):
                rest = self.variable("r", self.hull(term), count * self.as_common(self.plain(term.body, term.index)))
                return rest, rest
            if not places:
                raise Irreducible("nested aggregates over part of the entries")
            self.facts.append(Ge(count, 0))
        elif self.choose(Le(count, 0), Ge(count, 1)) == 0:
            return self.only(term, seen)
        groups = self.untouched(term, places)
        still = all(old == new for _, old, new in groups)
        handler = {"sum": self.sum, "prod": self.product, "max": self.extreme, "min": self.extreme}
        if term.kind in handler:
            return handler[term.kind](term, seen, places, groups, still)
        if term.kind == "order":
            return self.order(term, seen, groups, still)
        distinct = self.variable("d", (S.One, term.length), S.One)
        step = self.variable("s", (S.NegativeOne * len(seen), S.One * len(seen)), S.Zero)
        if not still:
            raise Irreducible("distinct values that all change")
        return distinct, distinct + step

    def moved_norm(self, power: Any, term: Aggregate) -> Any:
        """The sum of |change of the body|^p over all indices: by Minkowski the p-norm moves by at most its root."""
        places = self.touched(term)
        seen = [self.of(term.body.subs(term.index, place)) for place in places]
        total = sympy.Add(*(sympy.Abs(sympy.expand(new - old)) ** power for old, new in seen))
        if self.choose(Le(term.length - len(places), 0), Ge(term.length - len(places), 1)) == 0:
            return total
        for number, low, high in self.drift(self.untouched(term, places)):
            if low == high:
                total += number * sympy.Abs(low) ** power
                continue
            moved = self.variable("m", (S.Zero, S.Infinity), number * self.as_common(sympy.Abs(high) ** power))
            self.facts.append(Le(moved, number * Max(sympy.Abs(low) ** power, sympy.Abs(high) ** power)))
            total += moved
        return total

    def plain(self, body: Any, index: Any) -> Any:
        """A body with one number for all entries."""
        return body.replace(lambda each: each.func == entry, lambda _: self.common).subs(index, 0)

    def here(self, condition: Any) -> bool:
        return Domain(self.domain.bounds, [*self.domain.facts, *self.facts]).knows(condition)

    def only(self, term: Aggregate, seen: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        joins = {"sum": sympy.Add, "prod": sympy.Mul, "max": Max, "min": Min}
        if term.kind in joins and seen:
            join = joins[term.kind]
            return join(*(old for old, _ in seen)), join(*(new for _, new in seen))
        if term.kind == "order" and len(seen) == 1:
            return seen[0]
        if term.kind == "distinct" and len(seen) == 1:
            return S.One, S.One
        if term.kind == "sum":
            return S.Zero, S.Zero
        raise Irreducible("an aggregate of nothing")

    def touched(self, term: Aggregate) -> list[Any]:
        """The indices at which the body reads entry j itself; whether each exists is chosen."""
        found: list[Any] = []
        for position in sorted(
            {each.args[0] for each in _direct(term.body) if term.index in each.args[0].free_symbols}, key=str
        ):
            place = self.solved(position, term)
            if place is None:
                continue
            for other in found:
                gap = sympy.expand(_unwrapped(place, self.n) - _unwrapped(other, self.n))
                if gap == 0:
                    break
                if gap.is_Integer and place == _unwrapped(place, self.n) and other == _unwrapped(other, self.n):
                    continue
                same = self._meets(gap) if gap.is_Integer else (Eq(place, other), Ne(place, other))
                if self.choose(*same) == 0:
                    break
            else:
                found.append(place)
        return found

    def solved(self, position: Any, term: Aggregate) -> Any:
        """The index at which a position is j, None where there is none in this case."""
        index = term.index
        if any(isinstance(each, sympy.core.function.AppliedUndef) for each in position.atoms(sympy.Function)):
            if position.args != (index,) or sympy.expand(term.length - self.n) != 0:
                raise Irreducible("part of a permutation")
            place = Dummy("p", integer=True, nonnegative=True)
            self.facts += [Ge(place, 0), Lt(place, term.length)]
            self.boxes[place], self.alike[place] = (S.Zero, term.length - 1), S.Zero
            self.kept[entry(position.subs(index, place))] = (self.v, self.w)
            return place
        bare = _unwrapped(position, self.n)
        if not bare.is_polynomial(index) or sympy.degree(bare, index) != 1:
            raise Irreducible(f"a position {bare} that is not linear")
        slope = sympy.expand(bare).coeff(index, 1)
        if not slope.is_Integer:
            raise Irreducible(f"a position {bare} that is not linear")
        place = sympy.expand((self.j - sympy.expand(bare).coeff(index, 0)) / slope)
        if position != bare:
            if slope != 1:
                raise Irreducible("strides on a circle")
            if sympy.expand(term.length - self.n) != 0:
                raise Irreducible("a part of a circle")
            return sympy.Mod(place, self.n)
        if abs(slope) != 1:
            whole = Dummy("k", integer=True)
            line = slope * whole + sympy.expand(bare).coeff(index, 0)
            if not self.take(sympy.And(Ge(whole, 0), Lt(whole, term.length), Eq(line, self.j))):
                return None
            self.kept[entry(bare.subs(index, whole))] = (self.v, self.w)
            return whole
        outside = sympy.Or(Lt(place, 0), Ge(place, term.length))
        return place if self.choose(sympy.And(Ge(place, 0), Lt(place, term.length)), outside) == 0 else None

    def take(self, on: Any) -> bool:
        """Whether a stride meets j: both are possible unless the facts contradict it."""
        if self.step < len(self.script):
            taken = self.script[self.step]
        elif self._parity_conflict(on) or self.here(Not(on)):
            taken = 1
            self.script.append(taken)
        else:
            self.open = [0, 1]
            raise _Undecided
        self.step += 1
        if taken == 0:
            self.facts.append(on)
        return taken == 0

    def _parity_conflict(self, on: Any) -> bool:
        """Whether j would be in two classes of one modulus at once."""
        mine = _classes(on, self.j)
        return any(
            m == k and (a - b) % m != 0 for fact in self.facts for m, a in _classes(fact, self.j) for k, b in mine
        )

    def untouched(self, term: Aggregate, places: list[Any]) -> list[tuple[Any, Any, Any]]:
        """How the body changes where it does not read entry j itself: (how many, old, new) for each kind of index.

        Old and new are in fresh variables of one such index, which are the same in both. Each kind has an index.
        """
        count = term.length - len(places)
        partial = [each for each in term.body.atoms(Aggregate) if term.index in each.length.free_symbols]
        if not partial:
            return [(count, *self.at_generic(term))]
        groups = []
        if places not in ([], [self.j]):
            raise Irreducible("a nested aggregate over part of the entries")
        if not places and self.choose(Lt(self.j, term.length), Ge(self.j, term.length)) == 1:
            parts = [("before", term.length)]
        else:
            parts = [("before", self.j), *([] if places else [("at", S.One)]), ("after", term.length - 1 - self.j)]
        for side, number in parts:
            if self.choose(Le(number, 0), Ge(number, 1)) == 0:
                continue
            groups.append((number, *self.at_generic(term, side)))
        return groups

    def at_generic(self, term: Aggregate, side: str = "") -> tuple[Any, Any]:
        """The body before and after, at an index of its own at which it does not read entry j."""
        for part in (*term.body.atoms(Aggregate), *_direct(term.body)):
            if not part.free_symbols & {term.index, *(each.index for each in term.body.atoms(Aggregate))}:
                self.of(part)  # what all indices share
        index = new_index()
        before = set(self.boxes)
        self.generic.add(index)
        self.boxes[index], self.alike[index] = (S.Zero, term.length - 1), S.Zero
        self.facts += [Ge(index, 0), Lt(index, term.length)]
        if side:
            self.facts.append({"before": Lt, "at": Eq, "after": Gt}[side](index, self.j))
        found = self.of(term.body.subs(term.index, index))
        self.locals |= set(self.boxes) - before
        return found

    def drift(self, groups: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
        """(how many, least, largest change) of the untouched bodies, in fresh copies of their variables."""
        made = []
        for number, old, new in groups:
            change = sympy.expand(new - old)
            if change == 0:
                continue
            low, high = (self.copied(change, name) for name in ("a", "b"))
            made.append((number, low, high))
        return made

    def copied(self, term: Any, name: str) -> Any:
        """The term at another index of the same kind: all that belongs to one index is replaced, facts included."""
        used = {each for each in self.locals if each in term.free_symbols}
        reach = set(used)
        while (
            grown := {
                other for fact in self.facts if fact.free_symbols & reach for other in fact.free_symbols & self.locals
            }
            - reach
        ):
            reach |= grown
        swap: dict[Any, Any] = {}
        for old in sorted(reach, key=lambda each: (str(each), each.dummy_index)):
            swap[old] = Dummy(old.name, **old.assumptions0)
            self.alike[swap[old]] = self.alike[old]
        for old, made in swap.items():
            self.boxes[made] = tuple(end.subs(swap, simultaneous=True) for end in self.boxes[old])
        self.generic |= {swap[old] for old in self.generic & reach}
        self.locals |= set(swap.values())
        self.facts += [fact.subs(swap, simultaneous=True) for fact in self.facts if fact.free_symbols & reach]
        return term.subs(swap, simultaneous=True)

    def sum(self, term: Aggregate, seen: Any, places: Any, groups: Any, still: bool) -> tuple[Any, Any]:
        rest = self.rest(term, places, groups)
        old, new = [rest, *(each for each, _ in seen)], [rest, *(each for _, each in seen)]
        for number, low, high in self.drift(groups):
            if low == high:
                new.append(number * low)
                continue
            moved = self.variable("m", INFINITE, number * self.as_common(high))
            self.facts += [Le(moved, number * high), Ge(moved, number * low)]
            new.append(moved)
        return sympy.Add(*old), sympy.Add(*new)

    def as_common(self, term: Any) -> Any:
        return term.subs(self.alike, simultaneous=True)

    def rest(self, term: Aggregate, places: Any, groups: Any) -> Any:
        """The sum of the untouched bodies before the change: a number in how many they are times their hull."""
        low, high = S.Zero, S.Zero
        for number, old, _ in groups:
            bottom, top = self.hull(old)
            low = S.NegativeInfinity if bottom == S.NegativeInfinity else low + number * bottom
            high = S.Infinity if top == S.Infinity else high + number * top
        alike = sympy.Add(*(number * self.as_common(old) for number, old, _ in groups))
        rest = self.variable("r", (low, high), alike, integer=term.body.is_integer or None)
        reads = {each.args[0] for each in _direct(term.body)}
        if len(groups) == 1 and len(reads) == 1:
            which = (term.length, tuple(places), reads.pop().subs(term.index, self.common))
            self.rests.append((rest, which, *groups[0][:2]))
        return rest

    def product(self, term: Aggregate, seen: Any, places: Any, groups: Any, still: bool) -> tuple[Any, Any]:
        if not still or len(groups) > 1:
            raise Irreducible("a product of which all factors change")
        count = groups[0][0]
        low, high = self.hull(groups[0][1])
        here = Domain(self.domain.bounds, [*self.domain.facts, *self.facts])
        if here.nonnegative(low):
            interval = (low**count if low != 0 else S.Zero, high**count if high != 1 else S.One)
        elif here.nonnegative(low + 1) and here.nonnegative(1 - high):
            interval = (S.NegativeOne, S.One)
        else:
            raise Irreducible("a product of factors of either sign")
        rest = self.variable("r", interval, self.as_common(groups[0][1]) ** count)
        return sympy.Mul(rest, *(old for old, _ in seen)), sympy.Mul(rest, *(new for _, new in seen))

    def extreme(self, term: Aggregate, seen: Any, places: Any, groups: Any, still: bool) -> tuple[Any, Any]:
        join = Max if term.kind == "max" else Min
        hulls = [self.hull(old) for _, old, _ in groups]
        here = Domain(self.domain.bounds, [*self.domain.facts, *self.facts])
        interval = here.least(*(low for low, _ in hulls)), here.largest(*(high for _, high in hulls))
        rest = self.variable("r", interval, self.as_common(groups[0][1]))
        which = (term.length, tuple(places), term.body.subs(term.index, self.common))
        self.extremes.append((term.kind, which, rest))
        if still:
            return join(rest, *(old for old, _ in seen)), join(rest, *(new for _, new in seen))
        moved = self.variable("m", INFINITE, self.as_common(rest + groups[0][2] - groups[0][1]))
        drifts = self.drift(groups)
        lows, highs = [low for _, low, _ in drifts], [high for _, _, high in drifts]
        if len(drifts) < len(groups):
            lows, highs = [*lows, S.Zero], [*highs, S.Zero]
        self.facts += [Ge(moved, rest + Min(*lows)), Le(moved, rest + Max(*highs))]
        return join(rest, *(old for old, _ in seen)), join(moved, *(new for _, new in seen))

    def order(self, term: Aggregate, seen: Any, groups: Any, still: bool) -> tuple[Any, Any]:
        """An order statistic is the changed term, held between its neighbors among the others."""
        interval = self.hull(groups[0][1])
        if not still or len(seen) > 1:
            changes = [new - old for old, new in seen]
            drifts = self.drift(groups)
            lows, highs = [*changes, *(low for _, low, _ in drifts)], [*changes, *(high for _, _, high in drifts)]
            if len(drifts) < len(groups):
                lows, highs = [*lows, S.Zero], [*highs, S.Zero]
            old = self.variable("o", interval, self.as_common(groups[0][1]))
            new = self.variable("o", INFINITE, self.as_common(old))
            self.facts += [Ge(new, old + Min(*lows)), Le(new, old + Max(*highs))]
            return old, new
        if not seen:
            old = self.variable("o", interval, self.as_common(groups[0][1]))
            return old, old
        if self.way == "steps":
            change = seen[0][1] - seen[0][0]
            old = self.variable("o", interval, interval[0])
            step = self.variable("s", INFINITE, change)
            self.facts += [Ge(step, Min(S.Zero, change)), Le(step, Max(S.Zero, change))]
            return old, old + step
        for rank, others, low, high in self.orders:
            if others == term.func(term.kind, term.index, term.length, term.body) and rank == term.rank:
                return tuple(Max(low, Min(each, high)) for each in seen[0])
        low, high = (self.variable("o", interval, edge) for edge in interval)
        self.facts.append(Le(low, high))
        for rank, others, below, above in self.orders:
            if others == term.func(term.kind, term.index, term.length, term.body):
                if self.here(Lt(rank, term.rank)):
                    self.facts.append(Le(above, low))
                elif self.here(Lt(term.rank, rank)):
                    self.facts.append(Le(high, below))
        self.orders.append((term.rank, term.func(term.kind, term.index, term.length, term.body), low, high))
        return tuple(Max(low, Min(each, high)) for each in seen[0])

    def ordered_sum(self, term: Aggregate) -> tuple[Any, Any]:
        """A weighted sum of order statistics: when one entry rises they all rise, by as much as it does in all."""
        (inner,) = [each for each in term.body.atoms(Aggregate) if each.kind == "order"]
        weight = sympy.expand(term.body).coeff(inner, 1)
        if sympy.expand(term.body - weight * inner) != 0 or is_private(weight):
            raise Irreducible("a sum of something else than weighted order statistics")
        plain = term.func("order", inner.index, inner.length, inner.body)
        places = self.touched(plain)
        if len(places) != 1 or _moves(inner.body, self.n):
            raise Irreducible("order statistics of windows")
        old, new = self.of(inner.body.subs(inner.index, places[0]))
        known = Domain(self.domain.bounds, [*self.domain.facts, *self.facts, term.index >= 0, term.index < term.length])
        values = [weight.subs(term.index, at) for at in (0, term.length - 1)]
        low, high = known.least(S.Zero, *values), known.largest(S.Zero, *values)
        if not (known.knows(Le(weight, high)) and known.knows(Ge(weight, low))):
            raise Irreducible("weights that are not extreme at an end")
        line = sympy.expand(inner.rank)
        if not line.coeff(term.index, 1).is_Integer or sympy.degree(line, term.index) != 1:
            raise Irreducible("a sum in which an order statistic may come twice")
        base = self.variable("r", self.hull(term), S.Zero)
        share = self.variable("s", (low, high), high)
        return base, base + share * (new - old)

    def grown(self, term: Aggregate) -> tuple[Any, Any]:
        """With one entry more."""
        body, length = term.body, term.length
        if sympy.expand(length.subs(self.n, self.n + 1) - length) != 1 or {e.args[0] for e in _direct(body)} - {
            term.index
        }:
            raise Irreducible("an aggregate over other than all entries of a dataset that grows")
        bare = body.subs(entry(term.index), self.w)
        if term.index in bare.free_symbols or is_private(bare) or self.n in body.free_symbols:
            raise Irreducible("terms that depend on the place or the number of entries, which grows")
        added, t = bare, self.variable("t", self.domain.bounds, self.common)
        self.fresh[t] = t
        other = bare.subs(self.w, t)
        low, high = self.hull(body)
        if term.kind == "sum":
            rest = self.variable("r", (_scaled(length, low), _scaled(length, high)), length * self.as_common(other))
            self.rests.append((rest, (length,), length, other))
            return rest, rest + added
        if term.kind in ("max", "min"):
            rest = self.variable("r", (low, high), self.as_common(other))
            return rest, (Max if term.kind == "max" else Min)(rest, added)
        if term.kind == "prod" and self.domain.nonnegative(low):
            rest = self.variable(
                "r",
                (S.Zero if low == 0 else low**length, S.One if high == 1 else high**length),
                self.as_common(other) ** length,
            )
            return rest, rest * added
        raise Irreducible("an aggregate of this kind over a dataset that grows")

    def joint(self) -> None:
        """What holds of several sums' rests together, since they are sums over the same entries."""
        for place, (one, which, number, f) in enumerate(self.rests):
            for other, same, _, g in self.rests[:place]:
                if which == same and len(f.free_symbols) == len(g.free_symbols) == 1:
                    x = self.common
                    f_x, g_x = (each.subs(next(iter(each.free_symbols)), x) for each in (f, g))
                    if (f.free_symbols | g.free_symbols) <= set(self.fresh.values()):
                        self.cut(one, other, number, f_x, g_x, x)

        for kind, which, rest in self.extremes:
            for other, same, value in self.extremes:
                if (kind, other) == ("max", "min") and which == same:
                    self.facts.append(Ge(rest, value))

    def cut(self, one: Any, other: Any, number: Any, f: Any, g: Any, x: Any) -> None:
        """Lines above or below the curve (f, g), which its mean keeps to as well; for squares Jensen's inequality."""
        if sympy.expand(f - g**2) == 0:
            self.facts.append(Ge(number * one, other**2))
        if sympy.expand(g - f**2) == 0:
            self.facts.append(Ge(number * other, one**2))
        low, high = self.domain.bounds
        if not (low.is_finite and high.is_finite):
            return
        here = Domain(self.domain.bounds, [*self.domain.facts], {x: self.domain.bounds})
        for big, small, up, down in ((one, other, f, g), (other, one, g, f)):
            for slope, at in _lines(up, down, x, low, high):
                gap = up - down * slope
                level = gap.subs(x, at)
                bottom, top = here.hull(sympy.expand(gap - level)) if gap.is_polynomial(x) else here.hull(gap - level)
                if here.below(S.Zero, bottom):
                    self.facts.append(Ge(big, slope * small + number * level))
                if here.below(top, S.Zero):
                    self.facts.append(Le(big, slope * small + number * level))


def _scaled(length: Any, end: Any) -> Any:
    return S.Zero if end == 0 else length * end


def _lines(up: Any, down: Any, x: Any, low: Any, high: Any) -> Iterator[tuple[Any, Any]]:
    """Slopes of the chord and of the tangents at the ends."""
    width = down.subs(x, high) - down.subs(x, low)
    if width != 0:
        yield (up.subs(x, high) - up.subs(x, low)) / width, low
    for at in (low, high):
        run = sympy.diff(down, x).subs(x, at)
        rise = sympy.diff(up, x).subs(x, at)
        if run.is_finite and rise.is_finite and run != 0:
            yield rise / run, at


def _unwrapped(position: Any, n: Any) -> Any:
    """A position without "modulo n", where this is around the whole of it."""

    def bare(term: Any) -> Any:
        return term.replace(lambda e: isinstance(e, sympy.Mod) and e.args[1] == n, lambda e: e.args[0])

    whole = isinstance(position, sympy.Mod) and position.args[1] == n
    return sympy.expand(bare(position) if whole else position)


def _direct(body: Any, bound: frozenset[Any] = frozenset()) -> set[Any]:
    """The entries that a body reads at places which no aggregate in it runs through."""
    if body.func == entry:
        return set() if body.free_symbols & bound else {body}
    if isinstance(body, Aggregate):
        bound |= {body.index}
    return set().union(*(_direct(each, bound) for each in body.args))


def _moves(body: Any, n: Any) -> bool:
    """Whether a body may change where it does not read entry j: it holds aggregates or entries at fixed places."""
    del n
    return bool(body.atoms(Aggregate)) or any(_fixed(each) for each in _direct(body))


def _fixed(read: Any) -> bool:
    return not any(symbol.name == INDEX for symbol in read.args[0].free_symbols)


def _ordered_inside(term: Aggregate) -> bool:
    inner = [each for each in term.body.atoms(Aggregate) if each.kind == "order"]
    return len(inner) == 1 and term.index in inner[0].rank.free_symbols


def _classes(condition: Any, j: Any) -> list[tuple[Any, Any]]:
    """(modulus, remainder) of j that an equation "m k + c = j" states."""
    found = []
    for each in condition.atoms(Eq):
        line = sympy.expand(each.lhs if each.rhs == j else each.rhs) if j in (each.lhs, each.rhs) else S.Zero
        for k in (symbol for symbol in line.free_symbols if symbol.name == "k"):
            m, c = line.coeff(k, 1), line.coeff(k, 0)
            if m.is_Integer and c.is_Integer:
                found.append((abs(m), c))
    return found
