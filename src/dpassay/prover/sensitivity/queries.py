"""SymPy conditions as formulas of `replay.formula`, their proof by SMT solvers, and enclosures of values by Arb.

A query over-approximates: what has no polynomial meaning (a logarithm, the integer part) becomes a new variable with
facts that are true of it. So `unsat` is a proof, and `sat` says nothing.
"""

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy
from flint import arb, ctx, fmpq
from sympy import S

from dpassay.prover.sensitivity.aggregates import Aggregate, Choice, entry, nearest, xlogx
from dpassay.replay.formula import Formula, smtlib
from dpassay.replay.proof import asked

CONSTANT_BITS = 80
STEPS_PER_MILLISECOND = 2500
"""z3's own measure of work, so that a busy machine proves the same: about what one core does."""


class Unencodable(Exception):
    """A term that has no formula."""


_INCREASING = (sympy.exp, sympy.log, sympy.atan, sympy.tanh, sympy.sinh, sympy.asin)
_RELATIONS = {
    sympy.StrictLessThan: "<",
    sympy.LessThan: "<=",
    sympy.StrictGreaterThan: ">",
    sympy.GreaterThan: ">=",
    sympy.Equality: "=",
    sympy.Unequality: "!=",
}


class _Encoding:
    """Formulas of one query, and the facts about the variables that stand for other terms.

    Attributes:
        variables: SymPy term -> name of its variable.
        facts: formulas that hold of the variables.
    """

    def __init__(self) -> None:
        self.variables: dict[Any, str] = {}
        self.facts: list[Formula] = []
        self._applied: dict[Any, list[tuple[Any, Formula, str]]] = {}

    def variable(self, term: Any) -> tuple[str, bool]:
        """The variable that stands for a term, and whether it is new."""
        new = term not in self.variables
        return self.variables.setdefault(term, f"x{len(self.variables)}"), new

    def truth(self, condition: Any) -> Formula:
        if condition is sympy.true or condition is sympy.false:
            return ["=", 0, 0 if condition is sympy.true else 1]
        if isinstance(condition, sympy.And | sympy.Or):
            word = "and" if isinstance(condition, sympy.And) else "or"
            return [word, *map(self.truth, sorted(condition.args, key=str))]
        if isinstance(condition, sympy.Not):
            return ["not", self.truth(condition.args[0])]
        if isinstance(condition, sympy.Implies):
            return ["=>", *map(self.truth, condition.args)]
        if type(condition) not in _RELATIONS:
            raise Unencodable(f"{condition}")
        word = _RELATIONS[type(condition)]
        left, right = condition.lhs, condition.rhs
        if word in ("<", ">", "!=") and left.is_integer and right.is_integer:
            less, more = (left, right) if word != ">" else (right, left)
            below = ["<=", ["+", self.number(less), 1], self.number(more)]
            return below if word != "!=" else ["or", below, ["<=", ["+", self.number(more), 1], self.number(less)]]
        return [word, self.number(left), self.number(right)]

    def number(self, term: Any) -> Formula:
        if term.is_Rational:
            return str(Fraction(int(term.p), int(term.q)))
        if isinstance(term, sympy.Symbol):
            name, new = self.variable(term)
            if new and term.is_positive:
                self.facts.append([">=" if term.is_integer else ">", name, 1 if term.is_integer else 0])
            elif new and term.is_nonnegative:
                self.facts.append([">=", name, 0])
            return name
        if isinstance(term, Aggregate) or term.func == entry or term.has(S.Infinity, S.NegativeInfinity, S.NaN):
            raise Unencodable(f"{term}")
        if isinstance(term, sympy.exp) and term.args[0].is_Integer:
            return self.power_of_e(int(term.args[0]))
        reciprocal = term.is_Pow and term.exp.is_Integer
        if not term.free_symbols and not term.is_Add and not term.is_Mul and not reciprocal:
            return self.constant(term)
        match term:
            case sympy.Add():
                return ["+", *map(self.number, term.args)]
            case sympy.Mul():
                return ["*", *map(self.number, term.args)]
            case sympy.Pow():
                return self.power(term)
            case sympy.Abs():
                return ["abs", self.number(term.args[0])]
            case sympy.Max() | sympy.Min():
                return ["max" if isinstance(term, sympy.Max) else "min", *map(self.number, term.args)]
            case Choice():
                return self.cases(term)
            case sympy.floor() | sympy.ceiling() | sympy.Mod():
                return self.whole(term)
            case nearest():
                name, new = self.variable(term)
                if new:
                    self.facts.append(["<=", ["abs", ["-", name, self.number(term.args[0])]], "1/2"])
                return name
        return self.applied(term)

    def constant(self, term: Any) -> Formula:
        name, new = self.variable(term)
        if new:
            low, high = rationals(ball(term))
            self.facts += [[">=", name, str(low)], ["<=", name, str(high)]]
            self.relate(sympy.exp(1, evaluate=False) if term == S.Exp1 else term, name)
        return name

    def power_of_e(self, exponent: int) -> Formula:
        """Exactly related to e: a number known within bounds alone would make no equation true."""
        base = self.number(S.Exp1)
        raised: Formula = base if abs(exponent) == 1 else ["^", base, str(abs(exponent))]
        if exponent > 0:
            return raised
        name, new = self.variable(sympy.exp(exponent))
        if new:
            self.facts.append(["=", ["*", name, raised], 1])
        return name

    def power(self, term: Any) -> Formula:
        base, exponent = term.args
        if exponent.is_Integer and exponent > 0:
            return ["^", self.number(base), str(exponent)] if exponent > 1 else self.number(base)
        name, new = self.variable(term)
        if not new:
            return name
        if exponent.is_Integer:
            below = self.number(base ** (-exponent))
            self.facts.append(["=>", ["!=", below, 0], ["=", ["*", name, below], 1]])
        elif exponent.is_Rational:
            inner = self.number(base)
            root = ["^", name, str(exponent.q)]
            raised: Formula = inner if abs(exponent.p) == 1 else ["^", inner, str(abs(exponent.p))]
            same = ["=", root, raised] if exponent > 0 else ["=", ["*", root, raised], 1]
            positive = [">=" if exponent > 0 else ">", inner, 0]
            self.facts.append(["=>", positive, ["and", [">=", name, 0], same]])
        elif base == -1 and exponent.is_integer:
            self.facts.append(["or", ["=", name, 1], ["=", name, -1]])
        else:
            b, e = self.number(base), self.number(exponent)
            self.facts.append(["=>", [">", b, 0], [">", name, 0]])
            self.facts.append(["=>", ["and", [">=", b, 1], [">=", e, 0]], [">=", name, 1]])
            self.facts.append(["=>", ["and", [">=", b, 0], ["<=", b, 1], [">=", e, 0]], ["<=", name, 1]])
            self.facts.append(["=>", ["and", [">=", b, 1], ["<=", e, 0]], ["<=", name, 1]])
            self.facts.append(["=>", ["and", [">", b, 0], ["<=", b, 1], ["<=", e, 0]], [">=", name, 1]])
            if base.is_Rational and base > 1 and exponent.is_integer:  # Bernoulli
                self.facts.append(
                    ["=>", [">=", e, 0], [">=", name, ["+", 1, ["*", e, str(Fraction(int(base.p), int(base.q)) - 1)]]]]
                )
        return name

    def cases(self, term: Any) -> Formula:
        name, new = self.variable(term)
        if new:
            condition, yes, no = term.args
            holds = self.truth(condition)
            self.facts += [
                ["=>", holds, ["=", name, self.number(yes)]],
                ["=>", ["not", holds], ["=", name, self.number(no)]],
            ]
        return name

    def whole(self, term: Any) -> Formula:
        name, new = self.variable(term)
        if new and isinstance(term, sympy.Mod):
            a, m = term.args
            divisor = self.number(m)
            top: Formula = ["<=", ["+", name, 1], divisor] if term.is_integer else ["<", name, divisor]
            self.facts.append(["=>", [">", divisor, 0], ["and", [">=", name, 0], top]])
            quotient = self.number(sympy.floor(a / m))
            self.facts.append(["=>", [">", divisor, 0], ["=", self.number(a), ["+", name, ["*", divisor, quotient]]]])
        elif new:
            inner = self.number(term.args[0])
            low, high = (name, inner) if isinstance(term, sympy.floor) else (inner, name)
            gap = _gap(term.args[0])
            last: Formula = ["<", high, ["+", low, 1]] if gap is None else ["<=", high, ["+", low, str(1 - gap)]]
            self.facts += [["<=", low, high], last]
        return name

    def applied(self, term: Any) -> Formula:
        function = term.func
        if function not in (*_INCREASING, sympy.sin, sympy.cos, sympy.cosh, sympy.acos):
            raise Unencodable(f"{term}")
        name, new = self.variable(term)
        if new:
            self.relate(term, name)
        return name

    def relate(self, term: Any, name: str) -> None:
        """What is true of a function's value: its range, tangents, and its order beside other values of it."""
        function = term.func
        if len(term.args) != 1:
            return
        inner = self.number(term.args[0])
        if function in (sympy.sin, sympy.cos, sympy.tanh):
            self.facts += [["<=", name, 1], [">=", name, -1]]
        if function == sympy.exp:
            self.facts += [[">", name, 0], [">=", name, ["+", 1, inner]]]
        if function == sympy.log:
            self.facts.append(["=>", [">", inner, 0], ["<=", name, ["-", inner, 1]]])
        if function in (sympy.atan, sympy.tanh):
            self.facts.append(["=>", [">=", inner, 0], ["<=", name, inner]])
        if function not in _INCREASING:
            return
        zero = ("1", "0") if function == sympy.log else ("0", "1") if function == sympy.exp else ("0", "0")
        others = self._applied.setdefault(function, [(None, zero[0], zero[1])])
        for other, at, value in others:
            domain: list[Formula] = []
            if function == sympy.log:
                domain = [[">", inner, 0], [">", at, 0]]
            for word in ("<", "="):
                same: list[Formula] = [
                    ["=>", [word, inner, at], [word, name, value]],
                    ["=>", [word, name, value], [word, inner, at]],
                ]
                self.facts += [["=>", _all(domain), each] for each in same] if domain else same
            if other is not None and function == sympy.exp and sympy.expand(term.args[0] + other) == 0:
                self.facts.append(["=", ["*", name, value], 1])
        others.append((term.args[0], inner, name))


def _all(conditions: list[Formula]) -> Formula:
    return conditions[0] if len(conditions) == 1 else ["and", *conditions]


def _gap(term: Any) -> Fraction | None:
    """The distance of an integer over a number to the next integer below is at most 1 less this."""
    for denominator in (2, 3, 4, 5, 6, 8, 10, 100):
        if (term * denominator).expand().is_integer:
            return Fraction(1, denominator)
    return None


def step(name: str, goal: Any, facts: Sequence[Any]) -> dict[str, Any]:
    """An "smt" step of a proof (`replay.proof`) that facts imply a goal.

    Raises:
        Unencodable: a term without a formula.
    """
    encoding = _Encoding()
    hypotheses = [encoding.truth(fact) for fact in facts if fact is not sympy.true]
    conclusion = encoding.truth(goal)
    names = list(encoding.variables.values())
    return {
        "name": name,
        "engine": "smt",
        "variables": names,
        "hypotheses": [*encoding.facts, *hypotheses],
        "conclusion": conclusion,
    }


def query(made: Mapping[str, Any]) -> str:
    """The SMT-LIB text of a step: its hypotheses and its negated conclusion."""
    asserted = [*made["hypotheses"], ["not", made["conclusion"]]]
    lines = ["(set-logic QF_NRA)", *(f"(declare-const {name} Real)" for name in made["variables"])]
    return "\n".join([*lines, *(f"(assert {smtlib(each)})" for each in asserted), "(check-sat)"])


@functools.lru_cache(maxsize=4096)
def unsatisfiable(text: str, milliseconds: int) -> bool:
    """Whether z3 refutes a query, tried in two ways."""
    import z3

    for make in (lambda: z3.SolverFor("QF_NRA"), z3.Solver):
        solver = make()
        solver.set("rlimit", milliseconds * STEPS_PER_MILLISECOND)
        solver.set("timeout", milliseconds * 4)
        solver.from_string(text)
        found = asked(solver)
        if found != "unknown":
            return found == "unsat"
    return False


def proved(goal: Any, facts: Sequence[Any], milliseconds: int = 1000) -> dict[str, Any] | None:
    """The step that proves a goal from facts, None if it was not proved in time."""
    if goal is sympy.true:
        return {}
    try:
        made = step(str(goal), goal, facts)
    except (Unencodable, ValueError):
        return None
    return made if unsatisfiable(query(made), milliseconds) else None


def certain(goal: Any, facts: Sequence[Any], milliseconds: int = 500) -> bool:
    """Whether facts imply a goal; terms of the facts that have no formula are left out."""
    goal = sympy.sympify(goal)
    if goal is sympy.true:
        return True
    if goal is sympy.false:
        return False
    kept = []
    for fact in facts:
        try:
            _Encoding().truth(fact)
        except Unencodable:
            continue
        kept.append(fact)
    return proved(goal, kept, milliseconds) is not None


# Enclosures


_BALLS: dict[Any, Any] = {
    sympy.exp: arb.exp,
    sympy.log: arb.log,
    sympy.sin: arb.sin,
    sympy.cos: arb.cos,
    sympy.atan: arb.atan,
    sympy.asin: arb.asin,
    sympy.acos: arb.acos,
    sympy.tanh: arb.tanh,
    sympy.sinh: arb.sinh,
    sympy.cosh: arb.cosh,
    sympy.Abs: abs,
    sympy.floor: arb.floor,
    sympy.ceiling: arb.ceil,
    xlogx: lambda x: _xlogx(x),
    nearest: lambda x: x + arb(0, 1),
}


def ball(term: Any, values: Mapping[Any, arb] | None = None) -> arb:
    """An Arb enclosure of a term, its symbols replaced by balls.

    Raises:
        Unencodable: a term without an enclosure.
    """
    values = values or {}
    if term.is_Rational:
        return arb(fmpq(int(term.p), int(term.q)))
    if term in values:
        return values[term]
    if term == sympy.pi:
        return arb.pi()
    if term == sympy.E:
        return arb(1).exp()
    if isinstance(term, sympy.Add):
        return functools.reduce(lambda a, b: a + b, (ball(each, values) for each in term.args))
    if isinstance(term, sympy.Mul):
        return functools.reduce(lambda a, b: a * b, (ball(each, values) for each in term.args))
    if isinstance(term, sympy.exp):
        return ball(term.args[0], values).exp()
    if isinstance(term, sympy.Pow):
        base, exponent = term.args
        if exponent.is_Integer:
            return _integer_power(ball(base, values), int(exponent))
        if exponent == S.Half:
            return ball(base, values).sqrt()
        return ball(base, values) ** ball(exponent, values)
    if isinstance(term, sympy.Max | sympy.Min):
        join = arb.max if isinstance(term, sympy.Max) else arb.min
        return functools.reduce(join, (ball(each, values) for each in term.args))
    if isinstance(term, sympy.Mod):
        a, m = (ball(each, values) for each in term.args)
        return a - m * (a / m).floor()
    if isinstance(term, Choice):
        return _cases(term, values)
    if term.func in _BALLS and len(term.args) == 1:
        return _BALLS[term.func](ball(term.args[0], values))
    raise Unencodable(f"{term}")


def _xlogx(x: arb) -> arb:
    """x log x, and 0 up to 0: from there it falls until 1/e and rises again."""
    low, high = x.lower(), x.upper()
    turn = arb(-1).exp()

    def at(point: arb) -> arb:
        return point * point.log() if point > 0 else arb(0)

    ends = at(low).union(at(high))
    return ends if high <= turn or low >= turn else ends.union(-turn)


def _integer_power(base: arb, exponent: int) -> arb:
    if exponent > 0 and exponent % 2 == 0 and base.contains(0):
        top = abs(base).upper() ** exponent
        return (arb(0)).union(top)
    return base**exponent


def _cases(term: Any, values: Mapping[Any, arb]) -> arb:
    condition, yes, no = term.args
    sure = decided(condition, values)
    if sure is not None:
        return ball(yes if sure else no, values)
    return ball(yes, values).union(ball(no, values))


def decided(condition: Any, values: Mapping[Any, arb] | None = None) -> bool | None:
    """Whether a condition certainly holds or fails for balls; None where they overlap."""
    values = values or {}
    if condition is sympy.true or condition is sympy.false:
        return bool(condition)
    if isinstance(condition, sympy.And | sympy.Or):
        parts = [decided(each, values) for each in condition.args]
        settles = isinstance(condition, sympy.Or)
        if settles in parts:
            return settles
        return None if None in parts else not settles
    if isinstance(condition, sympy.Not):
        inner = decided(condition.args[0], values)
        return None if inner is None else not inner
    if isinstance(condition, sympy.Implies):
        return decided(sympy.Or(sympy.Not(condition.args[0]), condition.args[1]), values)
    if isinstance(condition, sympy.Eq | sympy.Ne):
        gap = ball(condition.lhs - condition.rhs, values)
        if not gap.contains(0):
            return isinstance(condition, sympy.Ne)
        return isinstance(condition, sympy.Eq) if gap.is_exact() else None
    gap = ball(condition.lhs - condition.rhs, values)
    if isinstance(condition, sympy.Gt | sympy.Ge):
        gap = -gap
    strict = isinstance(condition, sympy.Lt | sympy.Gt)
    if gap < 0 or (not strict and gap <= 0):
        return True
    if gap > 0 or (strict and gap >= 0):
        return False
    return None


def rationals(enclosure: arb) -> tuple[Fraction, Fraction]:
    """Rationals below and above a ball."""
    if not enclosure.is_finite():
        raise Unencodable("not finite")
    with_bits = ctx.prec
    ctx.prec = CONSTANT_BITS
    try:
        low, high = enclosure.lower(), enclosure.upper()
    finally:
        ctx.prec = with_bits
    return _exact(low), _exact(high)


def _exact(value: arb) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def at_most(left: Any, right: Any) -> bool | None:
    """Whether one number is at most another, decided by simplification or by Arb; None where neither does."""
    gap = left - right
    if gap.is_Rational:
        return bool(gap <= 0)
    for bits in (80, 250):
        before, ctx.prec = ctx.prec, bits
        try:
            enclosed = ball(gap)
        except Unencodable:
            return None
        finally:
            ctx.prec = before
        if enclosed <= 0:
            return True
        if enclosed > 0:
            return False
    return True if sympy.simplify(gap) == 0 else None
