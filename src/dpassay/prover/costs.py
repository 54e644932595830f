"""What shifts cost: an upper bound at each loop's head, found by linear programs at a few values of the parameters.

On each segment, the bound at its start and the costs of its draws must be at most the bound at its end. The bounds are
sums of templates with unknown coefficients. Where the segment's case distinctions are decided everything is linear in
the state, and by Farkas' lemma an inequality follows from linear hypotheses if and only if it is a nonnegative
combination of them: one linear program over coefficients and multipliers.
"""

import ast
import functools
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from dpassay.prover.execution import ADDED, ONE_CHANGED
from dpassay.prover.expressions import Printer, Untold, entry_name, number_of, parse, tidy
from dpassay.prover.invariants import Broken, Houdini, Inductive, settled, written
from dpassay.prover.solving import Solver, bounds_of
from dpassay.prover.terms import (
    Atom,
    Formula,
    Poly,
    Substitution,
    absolute,
    apply,
    at_most,
    choose,
    equal,
    negate,
    poly,
    rebuilt,
    symbol,
)
from dpassay.prover.values import UNSHIFTED, Draw, Env, Explored, Leaf, Number, Sequence_, Truth, as_number
from dpassay.replay.proof import asked

POINTS = 4
_ODD = 12  # denominators above are of no noise's own share
MAX_CELLS = 100


class Unaffordable(Exception):
    """No bound on the cost was found."""


@dataclass
class Costs:
    """Cost invariants, selections' ranges, and the inferred claim."""

    invariants: dict[str, list[str]] = field(default_factory=dict)
    selections: dict[str, dict[str, str]] = field(default_factory=dict)
    claim: str | None = None


def log_odds(chance: Poly) -> Poly:
    """log(p / (1 - p)), simplified where p is a ratio of exponentials."""
    inverses = {a for m in chance.terms for a, p in m if a.kind == "inverse" and p == 1}
    below = poly(1)
    above = chance
    if len(inverses) == 1:
        (inverse,) = inverses
        below, above = inverse.args[0], poly(0)
        for monomial, coefficient in chance.terms.items():
            powers = dict(monomial)
            if powers.pop(inverse, 0):
                above = above + Poly({tuple(powers.items()): coefficient})
            else:
                above = above + Poly({monomial: coefficient}) * below
    one, two = _logarithm(above), _logarithm(below - above)
    if one is None or two is None:
        return apply("log", chance / (1 - chance))
    return one - two


def _logarithm(value: Poly) -> Poly | None:
    if len(value.terms) != 1:
        return None
    ((monomial, coefficient),) = value.terms.items()
    if coefficient <= 0:
        return None
    result = apply("log", poly(coefficient))
    for atom, power in monomial:
        if atom.kind != "app" or atom.args[0] != "exp":
            return None
        result = result + atom.args[1] * power
    return result


def squared(value: Poly) -> Poly:
    """value^2, roots resolved."""
    result = poly(0)
    for monomial, coefficient in (value * value).terms.items():
        part = poly(coefficient)
        for atom, power in monomial:
            if atom.kind == "app" and atom.args[0] == "sqrt" and power % 2 == 0:
                base, times = atom.args[1], power // 2
            else:
                base, times = poly(atom), power
            for _ in range(abs(times)):
                part = part * base if times > 0 else part / base
        result = result + part
    return result


def cost_of(draw: Draw, moved: Any, notion: str) -> Poly:
    """What a draw's shift costs; for a coin `moved` is when it falls the other way."""
    scale = as_number(draw.scale).first
    if draw.kind == "coin":
        return choose(moved, absolute(log_odds(scale)), poly(0))
    if notion == "zcdp":
        if draw.kind == "normal":
            return squared(moved) / (2 * squared(scale))
        pure = cost_of(draw, moved, "epsilon")  # eps-DP is eps^2/2-zCDP
        return pure * pure / 2
    match draw.kind:
        case "laplace" | "exponential" | "gumbel":
            return absolute(moved) / scale
        case "geometric":
            rate = _logarithm(1 - scale)
            return absolute(moved) * -(rate if rate is not None else apply("log", 1 - scale))
    raise Unaffordable(f"{draw.kind} noise has no pure epsilon")


# -- selections


def selection_ranges(search: Any, houdini: Houdini) -> dict[str, dict[str, str]]:
    """For each choice by exponential weights, how far its scores may fall and rise.

    Raises:
        Unaffordable: a score's change is no sum of products of parameters and changes of entries.
    """
    found: dict[str, dict[str, str]] = {}
    for at, leaf in enumerate(search.explored.leaves):
        for draw in leaf.current():
            if draw.kind == "choice" and draw.position not in found:
                change = houdini.substitutions[at].poly(draw.scale.get(symbol("place", integer=True)).change)
                found[draw.position] = _score_range(search, change)
    return found


def _score_range(search: Any, change: Poly) -> dict[str, str]:
    problem, entry = search.problem, search.explored.entry
    if not change.terms:
        return {"low": "0", "high": "0"}
    size, sign = poly(0), 1
    for monomial, coefficient in change.terms.items():
        factors = {a: p for a, p in monomial if a.role == "parameter"}
        (moved, *more) = [a for a, _ in monomial if a not in factors]
        if more or not (moved.kind == "ite" or (moved.kind == "read" and moved.role == "data")):
            raise Unaffordable("the scores of a choice")
        sign = 1 if coefficient > 0 else -1
        size = size + Poly({tuple(factors.items()): abs(coefficient)})
    try:
        text = Printer(entry).poly(size * number_of(problem.radius, entry))
    except (Untold, StopIteration):
        raise Unaffordable("the scores of a choice") from None
    if problem.relation == "monotone_queries" and len(change.terms) == 1:
        return {"low": f"{text} * ({sign} * sign() - 1) / 2", "high": f"{text} * ({sign} * sign() + 1) / 2"}
    if problem.relation == "one_query" and len(change.terms) == 1:
        change_text = f"{text} * {sign} * delta()"
        return {"low": f"min(0, {change_text})", "high": f"max(0, {change_text})"}
    return {"low": f"-({text})", "high": text}


# -- templates


def coin_rate(search: Any, chance: Number) -> Poly:
    """What a coin costs that falls the other way, or whose probability is p in one run and 1 - p in the other.

    Where the data move the probability between other numbers, all of the claim: a guess, of which the checker decides.
    """
    heads = chance.first
    if chance.change.terms:
        sides = [atom.args[1:3] for atom in heads.support if atom.kind == "ite" and heads == poly(atom)]
        if not sides or sides[0][0] + sides[0][1] != poly(1):
            return number_of(search.problem.bound, search.explored.entry)
        heads = sides[0][0]
    odds = log_odds(heads)
    signs = Solver(search.translator, search.explored.facts).holding([at_most(0, odds), at_most(odds, 0)])
    return absolute(odds) if not signs else odds if at_most(0, odds) in signs else -odds


def rates(search: Any) -> list[str]:
    """Factors of cost: the claim, real parameters, one over the scales."""
    problem, explored = search.problem, search.explored
    found: dict[Poly, str] = {}
    texts = [_atomic(problem.bound)] if not search.search.infer else []
    integers = [p for p, sort in problem.parameters.items() if sort == "int"]
    texts += [f"{_atomic(problem.bound)} / {p}" for p in integers] if not search.search.infer else []
    claimed = {p for p in problem.parameters if p in problem.bound}
    for draw in explored.draws.values():
        if draw.kind in ("coin", "bias"):
            rate = coin_rate(search, as_number(draw.scale))
        elif draw.kind == "choice":
            continue
        else:
            try:
                rate = cost_of(draw, poly(1), problem.notion)
            except (Unaffordable, ZeroDivisionError, ValueError):
                continue
        try:
            printer = Printer(explored.entry)
            found.setdefault(rate, printer.poly(rate))
        except (Untold, StopIteration):
            continue
    texts += [p for p in claimed if problem.parameters[p] == "real"]
    for text in texts:
        try:
            found.setdefault(number_of(text, explored.entry), text)
        except Untold:
            continue
    return list(found.values())


def claimed(search: Any) -> list[str]:
    """Terms of a bound to be inferred: the rates, also for as many times as an integer parameter says."""
    length = Atom("sym", "n", integer=True)  # of the data, which no claim may depend on
    found = [text for text in rates(search) if length not in number_of(text, search.explored.entry).support]
    integers = [p for p, sort in search.problem.parameters.items() if sort == "int"]
    return [*found, *(f"{rate} * {p}" for rate in found for p in integers)]


def _atomic(text: str) -> str:
    return text if text.replace("_", "").isalnum() else f"({text})"


def cells(search: Any) -> list[str]:
    """Whole numbers that the changed entry names, before and after: cells that a loop over all of them comes past."""
    problem = search.problem
    if problem.values != "int":
        return []
    if problem.relation == ADDED:
        return ["delta()"]
    entry = entry_name(search.explored)
    if problem.single:
        return [entry, f"other({entry})"]
    return [f"{entry}[changed()]", f"{entry}[changed()] + delta()"] if problem.relation in ONE_CHANGED else []


def templates(search: Any, position: str, differences: bool) -> list[str]:
    """Terms of a loop's cost bound, as expressions; with `differences` those in the variables' differences too."""
    explored, problem = search.explored, search.problem
    head = explored.loops[position][0]
    factors = rates(search)
    own = f"@{position}#"
    index = f'index("{position}")'
    foreseen = {said.loop for said in search.strategy.prophecies.values()}
    weights = ["1", index]
    alone = []
    if problem.relation in ONE_CHANGED:
        for loop in explored.loop_of[position]:
            weights.append(f'(1 if changed() >= index("{loop}") else 0)')
            for ahead in entries_ahead(explored, loop):
                weights.append(f'(1 if changed() >= index("{loop}") + {ahead} else 0)')
    weights += [f'index("{loop}")' for loop in explored.loop_of[position][:-1]]
    drawn = {loop for draw in explored.draws.values() for loop in draw.loops}
    passing = [loop for loop in explored.loop_of[position] if loop in drawn]
    weights += [f'(1 if {place} < index("{loop}") else 0)' for place in cells(search) for loop in passing]
    for name, value in head.items():
        x = written(name)
        fresh = own in repr(getattr(value, "first", None) or getattr(value, "length", None))
        if isinstance(value, Number):
            if fresh and value.first.integer:
                weights.append(x)
            elif fresh and not name.startswith(("acc:", "best:")):
                alone.append(x)
            if (
                differences
                and value.change.terms
                and position not in foreseen
                and not (value.change.integer and name.startswith("best:"))
            ):
                weights.append(f"abs(d({x}))")
        elif isinstance(value, Sequence_) and fresh and value.built:
            weights.append(f"len({x})")
        elif isinstance(value, Truth) and fresh:
            weights.append(f"(1 if {x} else 0)")
    for known, said in search.strategy.prophecies.items():
        around = explored.loop_of[said.loop][:-1]
        if explored.loop_of[position][: len(around)] == around and position not in around:
            counter = f'index("{explored.loop_of[position][len(around)]}")'
            weights.append(f"(1 if {counter} > {said.chosen(known)} else 0)")
            if any(draw.loops == around for draw in explored.draws.values()):  # which may stand for nobody's place
                weights.append(f"(1 if 0 <= {said.chosen(known)} < {counter} else 0)")
    result = [f"{factor} * {weight}" if weight != "1" else factor for factor in factors for weight in weights]
    return [*result, *alone]


def entries_ahead(explored: Explored, loop: str) -> list[int]:
    """How far from a loop's counter there are entries that its shifts depend on, other than the counter's own."""
    found: set[int] = set()
    changed = symbol("changed", integer=True)
    for leaf in explored.leaves:
        if leaf.source == loop:
            behind = leaf.heads[-1][1][f"index:{loop}"].first - changed
            values = [*(owed.formula for owed in leaf.obligations), *(value.change for _, _, value, _ in leaf.appends)]
            for atom in frozenset[Atom]().union(*(value.support for value in values)):
                if atom.kind == "ite" and atom.args[0].kind == "eq":
                    for side in (atom.args[0].args[0] - behind, -atom.args[0].args[0] - behind):
                        found |= {int(ahead) for ahead in _constants(side) if ahead}
    return sorted(found)[:3]


def _constants(value: Poly) -> list[Fraction]:
    """The number that a term is, or the numbers in the cases that it distinguishes, as of where a slice begins."""
    cases = [value] + [
        Substitution({atom: case}).poly(value) for atom in value.support if atom.kind == "ite" for case in atom.args[1:]
    ]
    return [each.constant for each in cases if each.constant is not None]


# -- segments as linear programs


@dataclass
class Cell:
    """One decided case of a segment: linear hypotheses (each at most 0), and the terms with their case resolved."""

    constraints: list[Poly]
    resolve: "Resolver"


class Resolver:
    """Replaces decided case distinctions."""

    def __init__(self, decided: Mapping[Formula, bool]):
        self.decided = decided
        self.done: dict[Poly, Poly] = {}

    def poly(self, value: Poly) -> Poly:
        """The term without the distinctions that are decided."""
        if not any(atom.kind == "ite" for monomial in value.terms for atom, _ in monomial):
            return value
        if value not in self.done:
            self.done[value] = rebuilt(value, self.atom)
        return self.done[value]

    def atom(self, atom: Atom) -> Poly:
        """An atom's value."""
        if atom.kind == "ite":
            test, then, otherwise = atom.args
            known = self.formula(test)
            if known is not None:
                return self.poly(then if known else otherwise)
        return poly(atom)

    def formula(self, value: Formula) -> bool | None:
        """Whether a formula is decided, and how."""
        if value in self.decided:
            return self.decided[value]
        if value.kind == "true":
            return True
        if value.kind == "not":
            inner = self.formula(value.args[0])
            return None if inner is None else not inner
        if value.kind in ("and", "or"):
            parts = [self.formula(f) for f in value.args]
            stop = value.kind == "or"
            if stop in parts:
                return stop
            return None if None in parts else not stop
        if negate(value) in self.decided:
            return not self.decided[negate(value)]
        return None


def literals(value: Poly | Formula) -> Iterator[Formula]:
    """The comparisons on which a term's cases depend."""
    if isinstance(value, Formula):
        if value.kind in ("le", "lt", "eq"):
            yield from literals(value.args[0])
            yield value
        elif value.kind == "sym":
            yield value
        else:
            for part in value.args:
                yield from literals(part)
    else:
        for monomial in value.terms:
            for atom, _ in monomial:
                if atom.kind == "ite":
                    for arg in atom.args:
                        yield from literals(arg)


@dataclass
class Step:
    """One segment: from where, to where, with the terms of both bounds."""

    source: list[tuple[str, Poly]]
    target: list[tuple[str, Poly]]
    cost: Poly
    claim: Poly | None
    facts: list[Formula]
    cells: list[Cell] = field(default_factory=list)


def relevant(facts: Sequence[Formula], support: frozenset[Atom]) -> list[Formula]:
    """Facts that speak of some of the atoms, and of no noise."""
    known = {a for a in support if a.role not in ("noise", "parameter")}
    for _ in range(2):
        for fact in facts:
            if any(a.role in ("noise", "bool") for a in fact.support):
                continue
            own = {a for a in fact.support if a.kind != "ite"}
            if own & known and fact.kind == "eq":
                known |= {a for a in own if a.role != "parameter"}
    result = []
    for fact in facts:
        own = {a for a in fact.support if a.kind in ("sym", "read", "app", "inverse")}
        if fact.kind in ("or", "iff") and not {a for a in own if a.role != "parameter"} <= known:
            continue
        if own & known and not any(a.role == "noise" for a in own):
            result.append(fact)
    return result


def split(step: Step, translator: Any, disjunctions: bool) -> None:
    """The consistent cases of a segment; without its disjunctive facts if need be, for there may be too many."""
    terms = [step.cost, *(p for _, p in step.source), *(p for _, p in step.target)]
    support = frozenset().union(*(t.support for t in terms))
    facts = [f for f in relevant(step.facts, support) if disjunctions or f.kind not in ("or", "iff", "not")]
    step.cells = []
    splitters: dict[Formula, None] = {}
    for term in terms:
        splitters.update(dict.fromkeys(literals(term)))
    for fact in facts:
        if fact.kind in ("or", "iff", "and", "not") or any(a.kind == "ite" for a in fact.support):
            splitters.update(dict.fromkeys(lit for lit in literals(fact) if lit is not fact))
    pending = [s for s in splitters if not any(a.role == "noise" for a in s.support)]
    solver = Solver(translator, step.facts, 300)
    inner = solver.solver
    inner.add(*translator.axioms)
    found: list[dict[Formula, bool]] = []

    def descend(at: int, decided: dict[Formula, bool]) -> None:
        if len(found) > MAX_CELLS:
            return
        if at == len(pending):
            found.append(dict(decided))
            return
        literal = pending[at]
        for outcome in (True, False):
            goal = literal if outcome else negate(literal)
            inner.push()
            inner.add(translator.formula(goal))
            inner.add(*translator.axioms)
            if asked(inner) != "unsat":
                descend(at + 1, decided | {literal: outcome})
            inner.pop()

    descend(0, {})
    if len(found) > MAX_CELLS:
        raise Unaffordable("too many cases in the costs")
    for decided in found:
        resolver = Resolver(decided)
        constraints: list[Poly] = []
        for literal, outcome in decided.items():
            constraints += _linear(literal, outcome, resolver)
        for fact in facts:
            constraints += _linear(fact, True, resolver)
        step.cells.append(Cell(list(dict.fromkeys(constraints)), resolver))


def _linear(formula: Formula, outcome: bool, resolver: Resolver) -> list[Poly]:
    """A decided comparison as polynomials that are at most 0."""
    if formula.kind == "not":
        return _linear(formula.args[0], not outcome, resolver)
    if formula.kind == ("and" if outcome else "or"):
        return [p for part in formula.args for p in _linear(part, outcome, resolver)]
    if formula.kind not in ("le", "lt", "eq"):
        return []
    difference = resolver.poly(formula.args[0])
    if formula.kind == "eq":
        return [difference, -difference] if outcome else []
    if outcome:
        return [difference]
    turned = negate(formula)
    return [resolver.poly(turned.args[0])]


# -- numbers


class Point:
    """Values of the parameters."""

    def __init__(self, values: Mapping[Atom, float]):
        self.values = values
        self.done: dict[Any, Any] = {}

    def linear(self, value: Poly) -> dict[tuple[tuple[Atom, int], ...], float]:
        """Coefficients of what is left when the parameters have values."""
        if value not in self.done:
            result: dict[tuple[tuple[Atom, int], ...], float] = {}
            for monomial, coefficient in value.terms.items():
                number, left = float(coefficient), []
                for atom, power in monomial:
                    inner = self.number(atom)
                    if inner is None:
                        left.append((atom, power))
                    else:
                        number *= inner**power
                result[tuple(left)] = result.get(tuple(left), 0.0) + number
            self.done[value] = result
        return self.done[value]

    def number(self, atom: Atom) -> float | None:
        """An atom's value, if the parameters decide it."""
        if atom not in self.done:
            self.done[atom] = self._number(atom)
        return self.done[atom]

    def _number(self, atom: Atom) -> float | None:
        if atom in self.values:
            return self.values[atom]
        if atom.kind in ("inverse", "app"):
            inner = [self.constant(a) for a in atom.args if isinstance(a, Poly)]
            if None in inner:
                return None
            if atom.kind == "inverse":
                return 1 / inner[0] if inner[0] else None
            function = getattr(math, str(atom.args[0]), None)
            try:
                return None if function is None else float(function(*inner))
            except (ValueError, OverflowError):  # of a draw that there is not with these parameters
                return None
        if atom.kind == "ite":
            test = self.formula(atom.args[0])
            return None if test is None else self.constant(atom.args[1] if test else atom.args[2])
        return None

    def constant(self, value: Poly) -> float | None:
        """A polynomial's value, if the parameters decide it."""
        linear = {m: c for m, c in self.linear(value).items() if m}
        return None if linear else self.linear(value).get((), 0.0)

    def formula(self, value: Formula) -> bool | None:
        """Whether the parameters decide a condition."""
        if value.kind in ("le", "lt", "eq"):
            number = self.constant(value.args[0])
            if number is None:
                return None
            return {"le": number <= 1e-12, "lt": number < -1e-12, "eq": abs(number) < 1e-12}[value.kind]
        if value.kind == "true":
            return True
        inner = [self.formula(f) for f in value.args if isinstance(f, Formula)]
        if None in inner or not inner:
            return None
        return {"not": not inner[0], "and": all(inner), "or": any(inner), "iff": inner[0] == inner[-1]}[value.kind]


def points(search: Any) -> list[Point]:
    """A few values of the parameters under which the assumptions hold and scales are positive."""
    problem, explored = search.problem, search.explored
    result: list[Point] = []
    rng = np.random.default_rng(26)
    scales = [as_number(d.scale).first for d in explored.draws.values() if d.kind not in UNSHIFTED]
    lists = [f"len {name}" for name, sort in problem.parameters.items() if sort.startswith("list")]
    sizes = [atom for atom in (Atom("sym", name) for name in ("n", *lists)) if any(atom in s.support for s in scales)]
    wholes, reals = [1, 2, 3, 7, 4, 5], [1.0, 0.5, 2.0, 0.25, 3.0, 1.5]
    for attempt in range(300):
        values = {}
        for at, (name, sort) in enumerate(problem.parameters.items()):
            pool = [*(wholes if sort == "int" else reals), *map(float, problem.limits(name))]
            pick = pool[attempt % len(pool)] if at == 0 and attempt < 6 else pool[int(rng.integers(len(pool)))]
            values[Atom("sym", name, role="parameter")] = float(pick)
        values |= {size: float(wholes[int(rng.integers(2, 6))]) for size in sizes}
        point = Point(values)
        holds = all(point.formula(fact) is not False for fact in explored.facts)
        if holds and all(s is None or s > 0 for s in map(point.constant, scales)):
            result.append(point)
        if len(result) == POINTS + len(problem.parameters):
            break
    if not result:
        raise Unaffordable("no values of the parameters meet the assumptions")
    return result


# -- the linear program


class Program:
    """Columns: the templates' coefficients, then multipliers."""

    def __init__(self, names: Sequence[tuple[str, str]]):
        self.columns = {name: at for at, name in enumerate(names)}
        self.width = 2 * len(names)
        self.rows: list[tuple[dict[int, float], float]] = []
        self.equalities: list[tuple[dict[int, float], float]] = []

    def coefficient(self, row: dict[int, float], name: tuple[str, str], value: float) -> None:
        """Adds a template's coefficient: its positive and negative part."""
        at = 2 * self.columns[name]
        row[at] = row.get(at, 0.0) + value
        row[at + 1] = row.get(at + 1, 0.0) - value

    def implied(self, constraints: Sequence[dict[Any, float]], goal: Mapping[Any, Any], constant: Any) -> None:
        """goal . x + constant <= 0 wherever all constraints (each c . x + c0 <= 0) hold."""
        start = self.width
        self.width += len(constraints)
        by_column: dict[Any, dict[int, float]] = {}
        bound: dict[int, float] = {}
        for at, constraint in enumerate(constraints):
            for monomial, value in constraint.items():
                if monomial:
                    by_column.setdefault(monomial, {})[start + at] = value
                else:
                    bound[start + at] = value
        for monomial in {*by_column, *goal}:  # goal = sum of multipliers * constraints
            row: dict[int, float] = {}
            number = self.add(row, goal.get(monomial, []))
            for column, value in by_column.get(monomial, {}).items():
                row[column] = row.get(column, 0.0) - value
            self.equalities.append((row, -number))
        row = {}
        number = self.add(row, constant)
        for column, value in bound.items():
            row[column] = row.get(column, 0.0) - value
        self.rows.append((row, -number))

    def add(self, row: dict[int, float], parts: Sequence[tuple[tuple[str, str] | None, float]]) -> float:
        """Adds terms to a row; the sum of those without an unknown."""
        number = 0.0
        for name, value in parts:
            if name is None:
                number += value
            else:
                self.coefficient(row, name, value)
        return number

    def simplest(self, weights: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], Fraction] | None:
        """The unknowns of least weight; where they are odd fractions there are many, and those with fewer terms stand
        for more values of the parameters. None if there are none.
        """
        found = self.solve(weights)
        if found is None or all(value.denominator <= _ODD for value in found.values()):
            return found
        sizes = {name: abs(value) for name, value in found.items()}
        for name in sorted(sizes, key=sizes.__getitem__):
            fewer = self.solve(weights, {*(set(self.columns) - set(found)), name}) if name in found else None
            found = found if fewer is None else fewer
        return found

    def solve(
        self, weights: Mapping[tuple[str, str], float], without: Collection[tuple[str, str]] = ()
    ) -> dict[tuple[str, str], Fraction] | None:
        """The unknowns of least weight, some of which are 0; None if there are none."""
        if not self.width:
            return {} if all(bound >= -1e-9 for _, bound in self.rows) else None
        objective = np.zeros(self.width)
        for name, at in self.columns.items():
            objective[2 * at : 2 * at + 2] = weights.get(name, 1.0)

        zero = {self.columns[name] for name in without}

        def matrix(rows: Sequence[tuple[dict[int, float], float]]) -> Any:
            entries = [(i, j, v) for i, (row, _) in enumerate(rows) for j, v in row.items() if v]
            i, j, v = zip(*entries, strict=True) if entries else ((), (), ())
            return csr_matrix((v, (i, j)), shape=(len(rows), self.width))

        answer = linprog(
            objective,
            A_ub=matrix(self.rows) if self.rows else None,
            b_ub=[b for _, b in self.rows] if self.rows else None,
            A_eq=matrix(self.equalities) if self.equalities else None,
            b_eq=[b for _, b in self.equalities] if self.equalities else None,
            bounds=[(0, 0) if at // 2 in zero else (0, None) for at in range(self.width)],
            method="highs-ds",
        )
        if answer.status != 0:
            return None
        values = {n: answer.x[2 * at] - answer.x[2 * at + 1] for n, at in self.columns.items()}
        return {n: Fraction(float(v)).limit_denominator(720) for n, v in values.items() if abs(v) > 1e-7}


def budget(search: Any, substitutions: Sequence[Substitution], inductive: Inductive) -> Costs:
    """Bounds on the cost at each loop's head.

    Raises:
        Unaffordable: none was found with these templates.
    """
    explored, problem = search.explored, search.problem
    houdini = Houdini(explored, problem, substitutions, inductive.loops, inductive.lists, search.translator)
    selections = selection_ranges(search, houdini)
    claims = claimed(search) if search.search.infer else []
    claim = None if search.search.infer else number_of(problem.bound, explored.entry)
    places = points(search)
    solution, reason = None, "the costs of the shifts exceed the claim"
    for differences, disjunctions in itertools.product((bool(claims), not claims), (False, True)):
        by_loop = {position: templates(search, position, differences) for position in explored.loops}
        names = [(loop, text) for loop, texts in by_loop.items() for text in texts] + [("claim", c) for c in claims]
        weights = {name: 1.0 + 0.02 * len(name[1]) for name in names}
        for text in claims:
            size = number_of(text, explored.entry)
            weights["claim", text] = 1000 * sum(abs(point.constant(size) or 1.0) for point in places)
        steps: list[Step] = []
        try:
            for at, leaf in enumerate(explored.leaves):
                step = segment(search, houdini, at, leaf, by_loop, claim, claims)
                split(step, search.translator, disjunctions)
                steps.append(step)
        except Unaffordable as error:
            reason = str(error)
            continue
        for some in (places[:1], places):  # what has no solution for one has none for all
            program = Program(names)
            for step, point in itertools.product(steps, some):
                for cell in step.cells:
                    add_cell(program, point, step, cell)
            solution = program.simplest(weights) if some is places else program.solve(weights)
            if solution is None:
                break
        if solution is not None:
            break
    if solution is None:
        raise Unaffordable(reason)
    texts: dict[str, list[tuple[Fraction, str]]] = {}
    for (loop, text), value in solution.items():
        if value:
            texts.setdefault(loop, []).append((value, text))
    lengths = [f"len({name})" for name, value in explored.entry.items() if isinstance(value, Sequence_)]
    sums = {loop: _defined(texts.get(loop, []), lengths) for loop in explored.loops}
    costs = Costs({loop: [f"cost() <= {sums[loop]}"] for loop in explored.loops}, selections)
    if claims:
        claim_found = number_of(_sum(texts.get("claim", [])), explored.entry)
        costs.claim = tidy(Printer(explored.entry).poly(claim_found))
    return costs


class Payment:
    """Whether invariants suffice for what run 2 owes, and at some parameters for the bounds on the cost."""

    def __init__(self, search: Any, houdini: Houdini, costs: Costs):
        self.search, self.houdini = search, houdini
        problem, explored = search.problem, search.explored
        point = max(points(search), key=lambda point: sum(point.values.values()))  # small integers leave paths out
        values = {atom: poly(Fraction(value)) for atom, value in point.values.items()}
        self.point = Substitution(values)
        self.owed: list[Formula] = []
        claim = number_of(costs.claim or problem.bound, explored.entry)
        for at, leaf in enumerate(explored.leaves):
            total = path_cost(search, houdini, at, leaf)
            ends = []
            for loop, env in ((leaf.source, leaf.heads[-1][1] if leaf.heads else {}), (leaf.target, leaf.env)):
                text = "0" if loop is None else costs.invariants[loop][0].removeprefix("cost() <= ")
                ends.append(houdini.substitutions[at].poly(number_of(text, env, search.whole)))
            bound = claim if leaf.target is None else ends[1]
            self.owed.append(self.point.formula(at_most(ends[0] + total, bound)))

    def stands(self) -> bool:
        """Whether all of it holds."""
        for at, owed in enumerate(self.owed):
            try:
                if self.houdini.step(at):
                    return False
            except Broken:
                return False
            if owed.kind == "true":
                continue
            known = [self.point.formula(fact) for fact in self.houdini.hypotheses(at, [owed])]
            if not Solver(self.search.translator, known).implies(owed):
                return False
        return True


def path_cost(search: Any, houdini: Houdini, at: int, leaf: Leaf) -> Poly:
    """What the draws of a segment cost."""
    substitution = houdini.substitutions[at]
    ranges = selection_ranges(search, houdini)
    total = poly(0)
    for draw in leaf.current():
        if draw.kind == "choice":
            low, high = (number_of(ranges[draw.position][side], search.explored.entry) for side in ("low", "high"))
            total = total + high - low
            continue
        if draw.kind == "bias":
            chance = as_number(draw.scale)
            same = equal(substitution.poly(chance.change), 0)
            total = total + choose(same, poly(0), coin_rate(search, chance))
            continue
        shift: Any = poly(draw.shift)
        if draw.kind == "coin":  # of a list of coins, the shift is 1 where one falls the other way
            shift = equal(shift, 1) if draw.shift.kind == "read" else Formula("sym", draw.shift)
        moved = substitution.formula(shift) if isinstance(shift, Formula) else substitution.poly(shift)
        total = total + substitution.poly(cost_of(draw, moved, search.problem.notion))
    return total


def _defined(parts: Sequence[tuple[Fraction, str]], lengths: Sequence[str]) -> str:
    """A sum, of which what is divided by the length of a list is there only if it is not empty."""
    divided = [length for length in lengths if any(_divided(text, length) for _, text in parts)]
    whole = [part for part in parts if not any(_divided(part[1], length) for length in divided)]
    some = " and ".join(f"{length} > 0" for length in divided)
    return f"({_sum(parts)} if {some} else {_sum(whole)})" if divided else _sum(parts)


def _divided(text: str, length: str) -> bool:
    inner = [node for node in ast.walk(parse(text)) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    return any(length in ast.unparse(node.right) for node in inner)


def _sum(parts: Sequence[tuple[Fraction, str]]) -> str:
    result = ""
    for value, text in sorted(parts, key=lambda part: part[0] < 0):
        sign = "-" if value < 0 else "+"
        size = abs(value)
        body = text if size.numerator == 1 else f"{size.numerator} * {text}"
        body = body if size.denominator == 1 else f"{body} / {size.denominator}"
        result += f" {sign} {body}" if result else body if sign == "+" else f"-({body})"
    return result or "0"


def segment(
    search: Any,
    houdini: Houdini,
    at: int,
    leaf: Leaf,
    by_loop: Mapping[str, Sequence[str]],
    claim: Poly | None,
    claims: Sequence[str],
) -> Step:
    """A leaf's inequality."""
    substitution = houdini.substitutions[at]
    total = path_cost(search, houdini, at, leaf)
    facts = houdini.hypotheses(at, [total])
    facts += limited(search, substitution, leaf, facts)
    sides = [side for fact in facts if fact.kind == "or" for side in fact.args if side.kind in ("le", "lt")]
    facts += Solver(search.translator, facts).holding(sides) if sides else []
    inverses = [a for a in total.support if a.kind == "inverse"]
    above = Solver(search.translator, facts).holding([at_most(1, a.args[0]) for a in inverses])
    facts += [f for a in inverses if at_most(1, a.args[0]) in above for f in bounds_of(poly(0), poly(a), poly(1))]
    known = Substitution(settled(facts))
    total = known.poly(total)

    def terms(loop: str, env: Env) -> list[tuple[str, Poly]]:
        return [(text, known.poly(substitution.poly(number_of(text, env, search.whole)))) for text in by_loop[loop]]

    source = [] if leaf.source is None else terms(leaf.source, leaf.heads[-1][1])
    if leaf.target is None:
        ends = [(text, number_of(text, search.explored.entry)) for text in claims]
        return Step(_named(leaf.source, source), _named("claim", ends), total, claim, facts)
    return Step(_named(leaf.source, source), _named(leaf.target, terms(leaf.target, leaf.env)), total, None, facts)


def limited(search: Any, substitution: Substitution, leaf: Leaf, facts: Sequence[Formula]) -> list[Formula]:
    """How far the draws of a segment move at most, where a solver sees what linear programs do not."""
    goals: dict[Formula, None] = {}
    for draw in leaf.current():
        if draw.kind not in ("coin", *UNSHIFTED):
            moved = substitution.poly(poly(draw.shift))
            opaque = any(a.kind in ("app", "inverse") for a in moved.support) or any(len(m) > 1 for m in moved.terms)
            for text in search.magnitudes if opaque else ():
                size = number_of(text, search.explored.entry)
                goals |= dict.fromkeys((at_most(moved, size), at_most(-moved, size)))
    return Solver(search.translator, facts).holding(list(goals)) if goals else []


def _named(loop: str | None, terms: Sequence[tuple[str, Poly]]) -> list[Any]:
    return [((loop, text), value) for text, value in terms]


def add_cell(program: Program, point: Point, step: Step, cell: Cell) -> None:
    """The inequality of one case at one point."""
    goal: dict[Any, list[tuple[Any, float]]] = {}

    def put(name: Any, value: Poly, sign: float) -> None:
        for monomial, coefficient in point.linear(cell.resolve.poly(value)).items():
            if coefficient:
                goal.setdefault(monomial, []).append((name, sign * coefficient))

    put(None, step.cost, 1.0)
    for name, value in step.source:
        put(name, value, 1.0)
    for name, value in step.target:
        put(name, value, -1.0)
    if step.claim is not None:
        put(None, step.claim, -1.0)
    constant = goal.pop((), [])
    used = set(goal)
    constraints = []
    for constraint in cell.constraints:
        linear = point.linear(constraint)
        if set(linear) - {()}:
            constraints.append(linear)
        elif linear.get((), 0.0) > 1e-9:
            return  # this case does not occur here
    constraints += squares(used, constraints)
    if feasible(constraints):
        program.implied(constraints, goal, constant)


def squares(used: set[Any], constraints: Sequence[dict[Any, float]]) -> list[dict[Any, float]]:
    """Bounds of squares and products of state symbols: 0 <= x^2 <= 1 where |x| <= 1, and McCormick's for x y."""
    result: list[dict[Any, float]] = []
    for monomial in used:
        if len(monomial) == 2 and monomial[0][1] == monomial[1][1] == 1:
            result += products(monomial, constraints)
        if len(monomial) == 1 and monomial[0][1] == 2:
            single = ((monomial[0][0], 1),)
            result.append({monomial: -1.0})
            bounds = [-c.get((), 0.0) / c[single] for c in constraints if set(c) <= {single, ()} and c.get(single)]
            if bounds:
                largest = max(abs(b) for b in bounds)
                result.append({monomial: 1.0, (): -(largest**2)})
    return result


def products(monomial: Any, constraints: Sequence[dict[Any, float]]) -> Iterator[dict[Any, float]]:
    """What bounds of two factors say of their product: (x - a)(y - b) has the sign of both, for ends a and b."""
    one, two = ((factor,) for factor in monomial)

    def ends(factor: Any) -> list[tuple[float, float]]:
        """Each end with 1 where it is the lower one, else -1."""
        own = [c for c in constraints if set(c) <= {factor, ()} and c.get(factor)]
        return [(-c.get((), 0.0) / c[factor], -math.copysign(1, c[factor])) for c in own]

    for (a, up), (b, too) in itertools.product(ends(one), ends(two)):
        sign = -up * too
        yield {monomial: sign, one: -sign * b, two: -sign * a, (): sign * a * b}


def feasible(constraints: Sequence[dict[Any, float]]) -> bool:
    """Whether linear constraints can hold together."""
    return _feasible(frozenset(frozenset(constraint.items()) for constraint in constraints))


@functools.lru_cache(maxsize=4096)
def _feasible(rows: frozenset[frozenset[tuple[Any, float]]]) -> bool:
    constraints = list(map(dict, rows))
    columns = {m: at for at, m in enumerate({m for c in constraints for m in c if m})}
    if not columns:
        return True
    matrix = np.zeros((len(constraints), len(columns)))
    bound = np.zeros(len(constraints))
    for at, constraint in enumerate(constraints):
        for monomial, value in constraint.items():
            if monomial:
                matrix[at, columns[monomial]] = value
            else:
                bound[at] = -value
    answer = linprog(np.zeros(len(columns)), A_ub=matrix, b_ub=bound, bounds=(None, None), method="highs")
    return answer.status != 2


__all__ = ["Costs", "Unaffordable", "at_most", "budget", "itertools"]
