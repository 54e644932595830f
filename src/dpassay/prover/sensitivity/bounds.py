"""Upper bounds of how far a function moves between neighbors: found as formulas, then proved case by case."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Eq, Ge, Le, Max, S

from dpassay.prover.sensitivity.aggregates import INDEX, Aggregate, Choice, aggregate, entry, is_private, nearest
from dpassay.prover.sensitivity.hulls import Domain
from dpassay.prover.sensitivity.neighbors import Case, Irreducible, cases
from dpassay.prover.sensitivity.queries import certain, proved
from dpassay.prover.sensitivity.reading import Obligation

MAX_CANDIDATES = 5
KINKED = (sympy.Abs, sympy.Max, sympy.Min, Choice, sympy.floor, sympy.ceiling, sympy.Mod, nearest)


@dataclass
class Proof:
    """An upper bound that holds, with the steps of its proof.

    Attributes:
        upper: of |f(x) - f(x')|, in n and the parameters.
        steps: as `replay.proof` takes them; what interval arithmetic shows has none.
    """

    upper: Any
    steps: list[dict[str, Any]] = field(default_factory=list)


class Prover:
    """Proves bounds of the differences of cases, where something is known of n, entries and parameters."""

    def __init__(self, n: Any, domain: Domain, milliseconds: int = 1500):
        self.n, self.domain, self.milliseconds = n, domain, milliseconds

    def end(self, case: Case, difference: Any) -> Any:
        """The largest value of a difference, part by part where the parts share no variable."""
        here = Domain(self.domain.bounds, [*self.domain.facts, *case.facts], case.boxes)
        if not difference.free_symbols & set(case.boxes):
            return _public(difference, case, here)
        total = S.Zero
        for part in _parts(difference, set(case.boxes)):
            high = here.hull(part)[1]
            if high == S.Infinity:
                return S.Infinity
            total += high
        return _public(sympy.simplify(total), case, here)

    def case_proved(self, case: Case, difference: Any, bound: Any) -> dict[str, Any] | None:
        """The step that shows a bound of a case, {} where none is needed; None if it was not shown."""
        if (n := self._only_length(case)) is not None:
            fixed = {self.n: sympy.Integer(n)}
            case = case.at(fixed)
            difference, bound = _simple(sympy.sympify(difference.subs(fixed))), sympy.sympify(bound.subs(fixed))
            if not (_finite(difference) and _finite(bound)):
                return None
        here = Domain(self.domain.bounds, [*self.domain.facts, *case.facts], case.boxes)
        end = self.end(case, difference)
        if here.below(end, bound):
            return {}
        facts = [*self.domain.facts, *case.facts, *_box_facts(case)]
        reduced = _at_ends(difference, case, facts)
        for term in dict.fromkeys((reduced, difference)):
            if not term.free_symbols & set(case.boxes) and here.below(term, bound):
                return {}
            for goal in _goals(term, bound):
                if (step := proved(goal, _relevant(goal, facts), self.milliseconds)) is not None:
                    return step
        return None

    def _only_length(self, case: Case) -> int | None:
        """The length of the datasets in a case that has only one."""
        here = Domain(self.domain.bounds, [*self.domain.facts, *case.facts])
        return next(
            (
                m
                for m in (1, 2, 3)
                if any(_caps(fact, self.n, m) for fact in case.facts) and here.knows(sympy.Eq(self.n, m))
            ),
            None,
        )


class Bounds(Prover):
    """All cases of one function's change, and what can be proved of them."""

    def __init__(
        self,
        value: Any,
        n: Any,
        domain: Domain,
        *,
        grows: bool,
        way: str = "exact",
        milliseconds: int = 1500,
        short: Mapping[int, tuple[Prover, list[Case]]] | None = None,
    ):
        super().__init__(n, domain, milliseconds)
        self.value, self.way, self.grows, self.short = value, way, grows, short or {}
        self.factor, self.power = S.One, S.One
        self.reason = ""
        self.differences: list[tuple[Case, Any]] = []
        read = value
        if way == "norm":
            self.factor, self.power, term = _norm(value, domain)
            read = (self.power, term)
        else:
            factor, rest = value.as_independent(entry, Aggregate, as_Add=False)
            if not grows and factor != 1 and domain.nonnegative(factor):
                self.factor, read = factor, rest
            read = expanded(read) if way == "expanded" else read
        try:
            found = list(cases(read, n, domain, grows=grows, way="exact" if way == "expanded" else way))
        except Irreducible as reason:
            self.reason = str(reason)
            found = []
        for case in found:
            difference = _simple(case.new - case.old)
            self.differences.append((case, difference))
            if grows:
                self.differences.append((case, -difference))

    def independent(self) -> Any:
        """The width of the function's own range."""
        low, high = self.domain.hull(self.value)
        if self.grows:
            after = [end.subs(self.n, self.n + 1) for end in (low, high)]
            low, high = self.domain.least(low, after[0]), self.domain.largest(high, after[1])
        return S.Infinity if S.Infinity in (-low, high) else sympy.simplify(high - low)

    def rough(self) -> Any:
        """What interval arithmetic proves of the cases, or of the function's range."""
        ends = [self.independent()]
        if self.differences:
            by_case = self.domain.largest(*(self.end(*each) for each in self.differences))
            ends.append(self._unraised(by_case))
        least = self.domain.least(*ends)
        for k in self.short:
            if self.short_proved(least, k) is None:
                prover, cases = self.short[k]
                gaps = [prover.end(case, gap) for case in cases for gap in self._gaps(case)]
                # SymPy takes n to be at least 1, so that Max(n, 1) is n, and is 0 for n = 0
                raised = (Max(least, *gaps), least + Max(S.Zero, *gaps))
                least = next((bound for bound in raised if self.short_proved(bound, k) is not None), S.Infinity)
        return least

    def _gaps(self, case: Case) -> list[Any]:
        return [_simple(case.new - case.old), *([_simple(case.old - case.new)] * self.grows)]

    def short_proved(self, bound: Any, *lengths: int) -> list[dict[str, Any]] | None:
        """Steps that show a bound at short lengths; None if it was not shown."""
        steps: list[dict[str, Any]] = []
        for k in lengths or self.short:
            prover, cases = self.short[k]
            limit = sympy.sympify(bound).subs(self.n, k)
            for case in cases if _finite(limit) else ():
                found = [prover.case_proved(case, gap, limit) for gap in self._gaps(case)]
                if None in found:
                    return None
                steps += [each for each in found if each]
            if not _finite(limit):
                return None
        return steps

    def _unraised(self, term: Any) -> Any:
        """The bound of the function from a bound of what `differences` hold."""
        if term in (S.Infinity, S.NegativeInfinity):
            return term
        return sympy.simplify(self.factor * term ** (1 / self.power))

    def proves(self, bound: Any) -> Proof | None:
        """A proof that no difference exceeds a bound."""
        begun = self.short_proved(bound)
        if begun is None:
            return None
        if not self.differences:
            return Proof(bound, begun) if self.domain.below(self.independent(), bound) else None
        if self.domain.below(self.independent(), bound):
            return Proof(bound, begun)
        raised = bound
        if self.factor != 1 or self.power != 1:
            if not self.domain.nonnegative(bound) or not self.domain.knows(sympy.Gt(self.factor, 0)):
                return None
            raised = sympy.simplify((bound / self.factor) ** self.power)
        steps = begun
        for case, difference in self.differences:
            step = self.case_proved(case, difference, raised)
            if step is None:
                return None
            steps += [step] if step else []
        return Proof(bound, steps)

    def candidates(self, points: Sequence[Any], parameters: Sequence[Any]) -> list[Any]:
        """Formulas that the largest difference may be: its values where all other entries are alike."""
        found: dict[Any, None] = {}
        allowed = {self.n, *parameters}
        for case, difference in self.differences:
            alike = difference.subs(case.alike, simultaneous=True).subs(case.alike, simultaneous=True)
            places = [S.Zero, self.n - 1] if case.j in alike.free_symbols else [S.Zero]
            for v, w, t, place in itertools.product(points, points, points, places):
                if v == w:
                    continue
                term = alike.subs({case.v: v, case.w: w, case.common: t, case.j: place}, simultaneous=True)
                if _finite(term) and term.free_symbols <= allowed:
                    found[self._unraised(term)] = None
        return list(found)


def best(
    bounds: Bounds,
    points: Sequence[Any],
    samples: Sequence[tuple[Mapping[Any, Any], float]],
    evaluate: Callable[..., float],
) -> Proof | None:
    """The smallest bound that could be proved.

    Args:
        bounds: the cases.
        points: numbers of an entry that may be extreme.
        samples: (values of n and the parameters, the largest difference seen there).
        evaluate: a formula at such values, in floats.
    """
    rough = bounds.rough()
    has_values = _finite(rough) and all(_value(evaluate, rough, at) is not None for at, _ in samples)
    fallback = Proof(rough) if has_values else None
    tight = fallback is not None and all(evaluate(rough, at) <= seen * (1 + 1e-9) + 1e-12 for at, seen in samples)
    if tight or not bounds.differences:
        return fallback

    def scored(term: Any) -> tuple[float, Any] | None:
        values = [value for at, _ in samples if (value := _value(evaluate, term, at)) is not None]
        if len(values) < len(samples):
            return None
        slack = [value - seen for value, (_, seen) in zip(values, samples, strict=True)]
        if min(slack) < -1e-9 * (1 + max(values)):
            return None
        return sum(values), term

    plain = bounds.candidates(points, [symbol for symbol in samples[0][0] if symbol != bounds.n])
    roof_seen = max(seen for _, seen in samples)
    plain.append(sympy.nsimplify(round(roof_seen, 9), rational=True))
    formulas = {sympy.simplify(term) for term in plain[:200]} if len(plain) < 40 else set(plain)
    ranked = sorted(filter(None, map(scored, formulas)), key=lambda each: (each[0], sympy.count_ops(each[1])))
    unique: list[tuple[float, Any]] = []
    for score, term in ranked:
        if not unique or abs(score - unique[-1][0]) > 1e-9 * (1 + abs(score)):
            unique.append((score, sympy.simplify(term)))
    if not unique and formulas:
        joined = Max(*itertools.islice(_undominated(formulas, samples, evaluate), 3))
        unique = list(filter(None, [scored(joined)]))
    roof = sum(evaluate(rough, at) for at, _ in samples) if fallback else float("inf")
    for score, term in unique[:MAX_CANDIDATES]:
        if score >= roof * (1 - 1e-9):
            break
        if (proof := bounds.proves(term)) is not None:
            return proof
    return fallback


def _value(evaluate: Callable[..., float], term: Any, at: Any) -> float | None:
    """A formula's value, None where it has none."""
    try:
        value = evaluate(term, at)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return value if math.isfinite(value) else None


def _undominated(formulas: set[Any], samples: Any, evaluate: Any) -> list[Any]:
    """Formulas that are the largest at some sample, the more often the earlier."""
    wins: dict[Any, int] = {}
    for at, _ in samples:
        values = []
        for term in formulas:
            if (value := _value(evaluate, term, at)) is not None:
                values.append((value, -sympy.count_ops(term), str(term), term))
        if values:
            winner = max(values, key=lambda each: each[:3])[3]
            wins[winner] = wins.get(winner, 0) + 1
    return sorted(wins, key=lambda term: -wins[term])


def ways(value: Any, domain: Domain) -> list[str]:
    """In which ways a function's change can be reduced, the most exact first."""
    found = ["exact"]
    if expanded(value) != value:
        found.insert(0, "expanded")
    if _norm(value, domain) is not None:
        found.append("norm")
    if any(each.kind == "order" for each in value.atoms(Aggregate)):
        found.append("steps")
    return found


def expanded(value: Any) -> Any:
    """Sums of polynomials in something that all terms share, multiplied out: (x - m)^2 as x^2 - 2 m x + m^2."""
    if isinstance(value, Aggregate) and value.kind == "sum":
        shared = [each for each in value.body.atoms(Aggregate) if value.index not in each.free_symbols]
        if shared and value.body.is_polynomial(*shared, *value.body.atoms(entry)):
            terms = sympy.Add.make_args(sympy.expand(value.body))
            return sympy.Add(*(aggregate("sum", ((value.index, value.length),), expanded(term)) for term in terms))
        return value
    if not value.args or not value.has(Aggregate) or isinstance(value, Aggregate):
        return value
    return value.func(*map(expanded, value.args))


def _norm(value: Any, domain: Domain) -> Any:
    """(c, p, sum of g) where the value is c (sum of |g|^p)^(1/p), c public and positive; else None."""
    factor, rest = value.as_independent(entry, Aggregate, as_Add=False)
    if not (rest.is_Pow and rest.exp.is_Rational and 1 / rest.exp > 1):
        return None
    power = 1 / rest.exp
    inner, term = rest.base.as_independent(entry, Aggregate, as_Add=False)
    if not (isinstance(term, Aggregate) and term.kind == "sum"):
        return None
    parts = [each for each in sympy.preorder_traversal(term.body) if isinstance(each, sympy.Expr)]
    bodies = [each.args[0] if isinstance(each, sympy.Abs) else each for each in parts]
    even = power.is_Integer and power % 2 == 0
    forms = (
        (each, [sympy.Abs(each) ** power, *([each**power] if even else [])]) for each in bodies if is_private(each)
    )
    body = next((each for each, written in forms if term.body in written), None)
    if body is None:
        return None
    factor = factor * inner ** (1 / power)
    if not domain.nonnegative(factor):
        return None
    return factor, power, Aggregate("sum", term.index, term.length, body)


def _simple(difference: Any) -> Any:
    expanded = sympy.expand(difference) if difference.is_polynomial(*difference.free_symbols) else difference
    if expanded is difference and sympy.count_ops(difference) < 300:
        expanded = sympy.expand(difference, power_exp=True, log=False, power_base=False)
    return expanded


def _at_ends(difference: Any, case: Case, facts: Sequence[Any]) -> Any:
    """The difference with each variable at the end of its range towards which it grows, where that can be proved."""
    tied = {symbol for fact in case.facts for symbol in fact.free_symbols}
    tied |= {symbol for ends in case.boxes.values() for end in ends for symbol in end.free_symbols}
    changed = _defined(difference, facts)
    while changed:
        changed = False
        for variable in sorted(difference.free_symbols & set(case.boxes) - tied, key=str):
            low, high = case.boxes[variable]
            if (low.free_symbols | high.free_symbols) & set(case.boxes) or difference.has(*KINKED):
                continue
            sign = _sign(sympy.diff(difference, variable), facts)
            end = {1: high, -1: low}.get(sign)
            if end is not None and end.is_finite is not False:
                difference, changed = difference.subs(variable, end), True
    return difference


def _defined(difference: Any, facts: Sequence[Any]) -> bool:
    """Whether denominators, roots and logarithms of a difference are defined and smooth wherever the facts hold."""
    for part in sympy.preorder_traversal(difference):
        inner = None
        if part.is_Pow and not (part.exp.is_Integer and part.exp > 0):
            inner = part.base
        elif isinstance(part, sympy.log):
            inner = part.args[0]
        if inner is None or inner.is_positive:
            continue
        near = _relevant(inner > 0, facts)
        needs_sign = isinstance(part, sympy.log) or not part.exp.is_Integer
        if not certain(inner > 0, near, 300) and (needs_sign or not certain(inner < 0, near, 300)):
            return False
    return True


def _sign(slope: Any, facts: Sequence[Any]) -> int:
    """1 if a term is never negative, -1 if never positive, 0 if neither was proved; denominators are not 0."""
    sign = 1
    for factor in sympy.Mul.make_args(sympy.factor(sympy.together(slope))):
        if (
            factor.is_positive
            or factor.is_nonnegative
            or (factor.is_Pow and factor.exp.is_Integer and factor.exp % 2 == 0)
        ):
            continue
        base = factor.base if factor.is_Pow and factor.exp.is_Integer else factor
        if base.is_negative or base.is_nonpositive:
            sign = -sign
            continue
        near = _relevant(base >= 0, facts)
        if certain(base >= 0, near, 300):
            continue
        if not certain(base <= 0, near, 300):
            return 0
        sign = -sign
    return sign


def _finite(term: Any) -> bool:
    return not term.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity)


def _caps(fact: Any, n: Any, top: int) -> bool:
    """Whether a fact says that n is at most a number."""
    if isinstance(fact, Eq):
        return {fact.lhs, fact.rhs} == {n, sympy.Integer(top)}
    return isinstance(fact, Le) and sympy.expand(fact.lhs - fact.rhs - n + top) == 0


def _parts(difference: Any, variables: set[Any]) -> list[Any]:
    """The terms of a sum, joined where they share a variable."""
    groups: list[tuple[set[Any], Any]] = []
    for term in sympy.Add.make_args(difference):
        used = term.free_symbols & variables
        total = term
        kept = []
        for others, value in groups:
            if others & used:
                used, total = used | others, total + value
            else:
                kept.append((others, value))
        groups = [*kept, (used, total)]
    return [total for _, total in groups]


def _public(term: Any, case: Case, here: Domain) -> Any:
    """A bound without the place of the change and the conditions of the case."""
    if case.j in term.free_symbols:
        values = [term.subs(case.j, at) for at in (S.Zero, _last(case))]
        pick = [value for value in values if here.knows(Le(term, value))]
        return pick[0] if pick else S.Infinity
    own = [symbol for symbol in term.free_symbols if symbol in case.boxes]
    return S.Infinity if own else term


def _last(case: Case) -> Any:
    tops = [fact for fact in case.facts if isinstance(fact, sympy.Lt) and fact.lhs == case.j]
    return tops[0].rhs - 1 if tops else S.Zero


def _goals(difference: Any, bound: Any) -> list[Any]:
    """Ways to write that a difference is at most a bound; logarithms are taken together."""
    goals = [Le(difference, bound)]
    logs = [each for each in sympy.preorder_traversal(difference) if isinstance(each, sympy.log)]
    if logs:
        gap = difference - bound
        terms = sympy.Add.make_args(sympy.expand(gap))
        up, down, rest = S.One, S.One, S.Zero
        for term in terms:
            coefficient, other = term.as_coeff_Mul()
            if isinstance(other, sympy.log) and coefficient in (1, -1):
                up, down = (up * other.args[0], down) if coefficient == 1 else (up, down * other.args[0])
            elif not term.free_symbols:
                rest += term
            else:
                break
        else:
            goals.insert(0, Le(up * sympy.exp(rest), down))
    return goals


def _box_facts(case: Case) -> list[Any]:
    facts = []
    for variable, (low, high) in case.boxes.items():
        if low != S.NegativeInfinity:
            facts.append(Ge(variable, low))
        if high != S.Infinity:
            facts.append(Le(variable, high))
    return facts


def _relevant(goal: Any, facts: Sequence[Any]) -> list[Any]:
    """The facts that share a variable with a goal, through others if need be."""
    reach = set(goal.free_symbols)
    kept: list[Any] = []
    left = [fact for fact in facts if fact not in (sympy.true,)]
    while True:
        near = [fact for fact in left if fact.free_symbols & reach]
        if not near:
            return kept
        kept += near
        left = [fact for fact in left if fact not in near]
        for fact in near:
            reach |= {symbol for symbol in fact.free_symbols if symbol.name != "n"}


# Definedness


def settled(
    obligations: Sequence[Obligation], assumed: Sequence[Any], n: Any, bounds: tuple[Any, Any]
) -> tuple[list[Any], list[Obligation]]:
    """Which conditions on n and the parameters definedness needs, and which obligations were not proved."""
    facts = [sympy.sympify(each) for each in assumed]
    failed: list[Obligation] = []
    public = [each for each in obligations if not is_private(each.condition)]
    for duty in [*public, *(each for each in obligations if is_private(each.condition))]:
        domain = Domain(bounds, facts)
        holds, wanted = _holds(duty, domain)
        if holds:
            continue
        if wanted is None:
            failed.append(duty)
            continue
        least = next((m for m in range(2, 7) if _holds(duty, Domain(bounds, [*facts, Ge(n, m)]))[0]), None)
        if least is not None:
            facts.append(Ge(n, least))
        elif not wanted.free_symbols - {n, *(s for s in wanted.free_symbols if s.name != INDEX)}:
            facts.append(wanted)
        else:
            failed.append(duty)
    return [fact for fact in facts if fact is not sympy.true], failed


def _holds(duty: Obligation, domain: Domain) -> tuple[bool, Any]:
    """Whether an obligation is proved; if not, the condition on n and the parameters that would do, if there is one."""
    swap: dict[Any, Any] = {}
    facts: list[Any] = list(domain.facts)
    path = [fact for fact in duty.path if fact is not sympy.true]
    public = [fact for fact in path if not is_private(fact)]
    here = Domain(domain.bounds, [*domain.facts, *public])

    def plain(term: Any) -> Any:
        if isinstance(term, Aggregate) or term.func == entry:
            if term not in swap:
                swap[term] = sympy.Dummy("t", real=True, integer=term.is_integer or None)
                low, high = here.hull(term)
                if low.is_finite is not False:
                    facts.append(Ge(swap[term], low))
                if high.is_finite is not False:
                    facts.append(Le(swap[term], high))
            return swap[term]
        return term.func(*map(plain, term.args)) if term.args else term

    condition = plain(duty.condition)
    known = [plain(fact) for fact in path]
    if not is_private(duty.condition) and certain(duty.condition, [*domain.facts, *public]):
        return True, None
    hull_says = isinstance(duty.condition, sympy.core.relational.Relational) and _by_hull(duty.condition, here)
    if hull_says or certain(condition, [*facts, *known]):
        return True, None
    if is_private(duty.condition):
        return False, None
    bound = [symbol for symbol in condition.free_symbols if symbol.name == INDEX]
    wanted = sympy.Implies(sympy.And(*public), duty.condition) if public else duty.condition
    return False, None if bound else wanted


def _by_hull(condition: Any, here: Domain) -> bool:
    low, high = here.hull(condition.lhs - condition.rhs)
    if isinstance(condition, sympy.Ge | sympy.Gt):
        return (
            here.knows(low >= 0 if isinstance(condition, sympy.Ge) else low > 0) if low != S.NegativeInfinity else False
        )
    if isinstance(condition, sympy.Le | sympy.Lt):
        return here.knows(high <= 0 if isinstance(condition, sympy.Le) else high < 0) if high != S.Infinity else False
    if isinstance(condition, sympy.Ne):
        above = low != S.NegativeInfinity and here.knows(low > 0)
        return above or (high != S.Infinity and here.knows(high < 0))
    return False
