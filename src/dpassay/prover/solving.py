"""The search's questions to z3. Products are opaque unless asked for: the search need not be complete either."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import z3

from dpassay.prover.terms import Atom, Formula, Poly, at_most, less, poly
from dpassay.replay.proof import asked

TIMEOUT_MS = 400


class Translator:
    """Terms in z3, kept; with `products` a product is one, otherwise a symbol of its own."""

    def __init__(self, products: bool = False):
        self.products = products
        self.done: dict[Any, Any] = {}
        self.axioms: list[Any] = []

    def poly(self, value: Poly) -> Any:
        """A number in z3, an Int where it is surely one."""
        if value not in self.done:
            whole = value.integer
            parts = []
            for monomial, coefficient in value.terms.items():
                term = self.monomial(monomial)
                if term is not None and not whole and term.is_int():
                    term = z3.ToReal(term)
                if whole:
                    number = z3.IntVal(coefficient.numerator)
                else:
                    number = z3.RealVal(f"{coefficient.numerator}/{coefficient.denominator}")
                parts.append(number if term is None else term if coefficient == 1 else number * term)
            zero = z3.IntVal(0) if whole else z3.RealVal(0)
            self.done[value] = z3.Sum(parts) if len(parts) > 1 else parts[0] if parts else zero
        return self.done[value]

    def monomial(self, monomial: tuple[tuple[Atom, int], ...]) -> Any:
        """A product of powers; None for 1."""
        if not monomial:
            return None
        if len(monomial) == 1 and monomial[0][1] == 1:
            return self.atom(monomial[0][0])
        if monomial not in self.done:
            if self.products:
                result = None
                for atom, power in monomial:
                    base = self.atom(atom)
                    base = z3.ToReal(base) if base.is_int() else base
                    if power < 0:
                        inverse = z3.Real(f"1/{atom.number}")
                        self.axioms.append(z3.Implies(base != 0, inverse * base == 1))
                        base = inverse
                    for _ in range(abs(power)):
                        result = base if result is None else result * base
                self.done[monomial] = result
            else:
                whole = all(a.integer and p > 0 for a, p in monomial)
                name = "product " + "*".join(f"{a.number}^{p}" for a, p in monomial)
                symbol = z3.Int(name) if whole else z3.Real(name)
                if all(p % 2 == 0 for _, p in monomial):
                    self.axioms.append(symbol >= 0)
                self.done[monomial] = symbol
        return self.done[monomial]

    def atom(self, atom: Atom) -> Any:
        """An atom in z3."""
        if atom in self.done:
            return self.done[atom]
        match atom.kind:
            case "sym":
                result = (z3.Int if atom.integer else z3.Real)(f"{atom.args[0]}:{atom.number}")
            case "read":
                index = self.poly(atom.args[1])
                sorts = (index.sort(), z3.IntSort() if atom.integer else z3.RealSort())
                result = z3.Function(f"read {atom.args[0]} {atom.integer}{index.sort()}", *sorts)(index)
            case "ite":
                test, then, otherwise = atom.args
                one, two = self.poly(then), self.poly(otherwise)
                if one.is_int() != two.is_int():
                    one, two = (z3.ToReal(x) if x.is_int() else x for x in (one, two))
                result = z3.If(self.formula(test), one, two)
            case "inverse":
                inner = self.poly(atom.args[0])
                result = z3.Real(f"inverse {atom.number}")
                if self.products:
                    self.axioms.append(z3.Implies(inner != 0, result * inner == 1))
                else:
                    self.axioms.append(z3.And(z3.Implies(inner > 0, result > 0), z3.Implies(inner < 0, result < 0)))
            case _:
                arguments = [self.poly(a) for a in atom.args[1:]]
                arguments = [z3.ToReal(a) if a.is_int() and not atom.integer else a for a in arguments]
                domain = [a.sort() for a in arguments]
                whole = z3.IntSort() if atom.integer else z3.RealSort()
                name = f"{atom.args[0]} {atom.integer}{''.join(map(str, domain))}"
                result = z3.Function(name, *domain, whole)(*arguments) if arguments else z3.Const(name, whole)
                if atom.args[0] == "floor":
                    self.axioms += [result <= arguments[0], arguments[0] < result + 1]
                if atom.args[0] in ("exp", "sqrt", "pow"):
                    self.axioms.append(result >= 0)
                if atom.args[0] == "mod" and arguments[1].is_int():
                    self.axioms.append(z3.Implies(arguments[1] > 0, z3.And(result >= 0, result < arguments[1])))
        self.done[atom] = result
        return result

    def formula(self, value: Formula) -> Any:
        """A formula in z3."""
        if value in self.done:
            return self.done[value]
        match value.kind:
            case "true":
                result = z3.BoolVal(True)
            case "sym":
                result = z3.Bool(f"{value.args[0].args[0]}:{value.args[0].number}")
            case "not":
                result = z3.Not(self.formula(value.args[0]))
            case "and":
                result = z3.And([self.formula(f) for f in value.args])
            case "or":
                result = z3.Or([self.formula(f) for f in value.args])
            case "iff":
                result = self.formula(value.args[0]) == self.formula(value.args[1])
            case kind:
                difference = value.args[0]
                factor = math.lcm(*(c.denominator for c in difference.terms.values()))
                left = self.poly(difference * factor)
                result = left <= 0 if kind == "le" else left < 0 if kind == "lt" else left == 0
        self.done[value] = result
        return result


class Solver:
    """Whether hypotheses imply goals."""

    def __init__(self, translator: Translator, hypotheses: Iterable[Formula], timeout: int = TIMEOUT_MS):
        self.translator = translator
        self.solver = z3.SimpleSolver() if not translator.products else z3.Solver()
        self.solver.set("timeout", timeout)
        for hypothesis in hypotheses:
            self.solver.add(translator.formula(hypothesis))

    def implies(self, goal: Formula) -> bool:
        """Whether a goal follows (unknown counts as no)."""
        return self.holding([goal]) == [goal]

    def consistent(self) -> bool:
        """Whether the hypotheses may hold together (unknown counts as yes)."""
        self.solver.push()
        self.solver.add(*self.translator.axioms)
        answer = asked(self.solver)
        self.solver.pop()
        return answer != "unsat"

    def holding(self, goals: Sequence[Formula]) -> list[Formula]:
        """Those of the goals that each follow."""
        left = list(goals)
        written = {goal: self.translator.formula(goal) for goal in left}
        while left:
            self.solver.push()
            self.solver.add(*self.translator.axioms)
            self.solver.add(z3.Not(z3.And([written[goal] for goal in left])))
            answer = asked(self.solver)
            if answer == "unsat":
                self.solver.pop()
                return left
            if answer == "sat":
                model = self.solver.model()
                kept = [g for g in left if not z3.is_false(model.eval(written[g], model_completion=True))]
            else:
                kept = left
            self.solver.pop()
            if len(kept) == len(left):  # no help: one by one
                return [goal for goal in left if self._alone(written[goal])]
            left = kept
        return left

    def _alone(self, goal: Any) -> bool:
        self.solver.push()
        self.solver.add(*self.translator.axioms, z3.Not(goal))
        answer = asked(self.solver)
        self.solver.pop()
        return answer == "unsat"


def bounds_of(low: Poly, value: Poly, high: Poly) -> list[Formula]:
    """low <= value <= high."""
    return [at_most(low, value), at_most(value, high)]


def positive(value: Poly) -> Formula:
    """value > 0."""
    return less(poly(0), value)
