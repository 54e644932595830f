"""Candidates for invariants, and the largest set of them that is inductive (Flanagan and Leino 2001: Houdini)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpassay.prover.execution import ADDED, ONE_CHANGED, entry_facts, read_facts
from dpassay.prover.expressions import Printer, Untold, formula_of
from dpassay.prover.problem import Problem
from dpassay.prover.solving import Solver, Translator
from dpassay.prover.terms import Atom, Formula, Poly, Substitution, both, compare, either, equal, negate, poly, symbol
from dpassay.prover.values import (
    Env,
    Explored,
    Foreseen,
    Leaf,
    Maybe,
    Number,
    Owed,
    Sequence_,
    Truth,
    key_of,
    nameless_element,
    written,
)

MAX_PAIRS = 3
MAX_CASES = 3
"""Choices in what an entry adds to a sum, above which only its range is said."""


def candidates(
    position: str,
    head: Env,
    explored: Explored,
    problem: Problem,
    targets: Sequence[str],
    magnitudes: Sequence[str],
    prophecy: Mapping[str, Foreseen],
) -> Iterator[str]:
    """Atoms about the variables that a loop changes."""
    index = f'index("{position}")'
    own = f"@{position}#"
    outer = [f'index("{loop}")' for loop in explored.loop_of[position]]
    integers = [p for p, sort in problem.parameters.items() if sort == "int"]
    reals = [p for p, sort in problem.parameters.items() if sort == "real"]
    counters, moved = [], []
    fresh = {n: v for n, v in head.items() if own in repr([getattr(v, a, None) for a in ("first", "length", "number")])}
    for name, value in fresh.items():
        x = written(name)
        if isinstance(value, Truth):
            yield f"other({x}) == {x}"
            continue
        if isinstance(value, Sequence_):
            yield f"d(len({x})) == 0"
            yield f"len({x}) == {index}"
            counters.append(f"len({x})")
            continue
        if isinstance(value, Maybe):
            yield from (f"{index} > 0 or d({x}) == 0", f"{index} > 0 or {x} is {value.special}")
            yield f"{index} == 0 or finite({x})"
        elif not isinstance(value, Number):
            continue
        yield f"d({x}) == 0"
        moved += [x] if value.change.terms else []
        yield from (f"d({x}) == {t}" for t in targets if t != "0")
        yield from (f"d({x}) >= 0", f"d({x}) <= 0")
        yield from (f"abs(d({x})) <= {m}" for m in magnitudes)
        yield from (f"abs(d({x})) <= {m} * {index}" for m in magnitudes[:1])
        if problem.relation in ONE_CHANGED:
            for at in outer:
                yield f"changed() < {at} or d({x}) == 0"
                yield f"changed() >= {at} or d({x}) == delta()"
                yield f"changed() >= {at} or d({x}) == 0"
        if problem.relation == ADDED:
            yield from (f"changed() < {at} or d({x}) == 0" for at in outer)
            yield f"changed() >= {index} or d({x}) == sign()"
        if problem.relation in ("monotone_queries", ADDED):
            yield from (f"sign() < 0 or d({x}) >= 0", f"sign() > 0 or d({x}) <= 0")
        if isinstance(value, Maybe):
            pass
        elif value.first.integer:
            counters.append(x)
            yield f"{x} == {index}"
            yield f"{x} >= 0"
            yield f"{x} >= 1"
            yield f"{x} <= {index}"
            for p in integers:
                yield from (f"{x} <= {p}", f"{x} + {index} == {p}", f"{x} < {p}")
        else:
            yield from (f"{x} >= 0", *(f"{x} <= {p}" for p in reals))
        for known, said in prophecy.items():
            if said.loop == position and said.variable != name:
                k, best, place = f'prophecy("{known}")', written(said.variable), said.chosen(known)
                yield from (f"{index} > {place} or abs(d({x})) <= {m}" for m in magnitudes)
                yield f"{index} > {place} or d({x}) >= 0"
                if problem.relation == "monotone_queries":
                    yield f"{index} > {place} or sign() < 0 or d({x}) >= 0"
                    yield f"{index} > {place} or sign() > 0 or d({x}) <= 0"
                for t in targets:
                    yield f"{index} <= {place} or {best} != {k} or d({x}) == {t}"
                    yield f"{place} < 0 or {index} <= {place} or {best} != {k} or d({x}) == {t}"
    if problem.relation in (*ONE_CHANGED, ADDED):  # an entry that counts for one of two sums alone
        for one, two in itertools.islice(itertools.combinations(moved, 2), MAX_PAIRS):
            yield from (f"abs(d({one})) + abs(d({two})) <= {m}" for m in magnitudes)
    yield from summed(position, head, explored, problem)
    for known, said in prophecy.items():
        if said.loop == position:
            k, best, place = f'prophecy("{known}")', written(said.variable), said.chosen(known)
            yield f"{index} <= {place} or {best} != {k} or other({best}) == {k}"
            yield from (f"{index} == 0 or {said.place.format(x)} < {index}" for x in (best, f"other({best})"))
            yield f"{best} < {index}"
            yield f"{index} == 0 or {best} < {index}"
            yield f"{index} > 0 or d({best}) == 0"
            yield f"{index} > 0 or {best} == 0"
            yield from (f"{index} == 0 or {x} >= 0" for x in dict.fromkeys((best, said.place.format(best))))
            yield f"other({best}) < {index}"
            yield f"{index} == 0 or other({best}) < {index}"
    yield from (f"{one} == {two}" for i, one in enumerate(counters) for two in counters[i + 1 :])
    yield from (f"{one} <= {two}" for one in counters for two in counters if one != two)
    yield from tests(position, head, explored)
    lists = [v.name for v in explored.entry.values() if isinstance(v, Sequence_)]
    yield from (f"{x} <= len({name})" for x in counters for name in lists)


def summed(position: str, head: Env, explored: Explored, problem: Problem) -> Iterator[str]:
    """By how much a sum over the data differs: by what the changed entry adds to it."""
    if position not in explored.summands or problem.relation not in (*ONE_CHANGED, ADDED):
        return
    index, item = explored.summands[position]
    if (text := at_the_change(index, item, head, problem)) is not None:
        yield f'd(acc("{position}")) == ({text} if changed() < index("{position}") else 0)'


def at_the_change(index: Poly, grown: Number, head: Env, problem: Problem) -> str | None:
    """What the changed entry's iteration adds to a difference, written at a loop's head; None if it cannot be."""
    whole, where = problem.values != "real", symbol("changed", integer=True)
    added = grown.first if problem.relation == ADDED else grown.change
    if sum(atom.kind == "ite" for atom in added.support) > MAX_CASES:
        return None
    try:
        there = Substitution({atom: where for atom in index.support}).poly(added)
        entry = Atom("read", "data", where, integer=whole, role="data")
        if problem.relation == ADDED:
            there = Substitution({entry: symbol("delta", integer=whole)}).poly(there)
        text = Printer(head).poly(there)
    except (Untold, StopIteration):
        return None
    return f"({text} if sign() > 0 else -({text}))" if problem.relation == ADDED else text


def tests(position: str, head: Env, explored: Explored) -> Iterator[str]:
    """The program's own public tests in a loop, and their negations."""
    printer = Printer(head)
    for branch in explored.branches.values():
        if position not in branch.loops:
            continue
        for condition in branch.conditions:
            if any(a.role in ("noise", "data", "bool") for a in condition.first.support):
                continue
            for formula in (condition.first, negate(condition.first)):
                try:
                    yield printer.formula(formula)
                except Untold:
                    continue


def list_candidates(
    name: str, targets: Sequence[str], magnitudes: Sequence[str], prophecy: Mapping[str, Foreseen]
) -> Iterator[str]:
    """Atoms about element k of a list."""
    yield f"d({name}[k]) == 0"
    yield from (f"abs(d({name}[k])) <= {m}" for m in magnitudes)
    monotone = ("sign() < 0 or d({0}[k]) >= 0", "sign() > 0 or d({0}[k]) <= 0") if "sign()" in targets else ()
    yield from (text.format(name) for text in monotone)
    for known, said in prophecy.items():
        place = said.chosen(known)
        yield from (f"k == {place} or {text.format(name)}" for text in monotone)
        yield from (f"d({name}[k]) == {t} or k != {place}" for t in targets)
        yield from (f"abs(d({name}[k])) <= {m} or k == {place}" for m in magnitudes)


def changing_candidates(name: str, explored: Explored, problem: Problem, magnitudes: Sequence[str]) -> Iterator[str]:
    """Atoms about element k of a list whose elements change: what the changed entry does to it."""
    yield f"d({name}[k]) == 0"
    yield from (f"abs(d({name}[k])) <= {m}" for m in magnitudes)
    yield f"{name}[k] >= 0"  # as of places that are left
    yield from (f"{name}[k] < len({v.name})" for v in explored.entry.values() if isinstance(v, Sequence_))
    for position, (place, index, grown) in explored.changes[name].items():
        head = {**explored.loops[position][0], "k": Number(place, place * 0)}
        if (text := at_the_change(index, grown, head, problem)) is not None:
            yield f'd({name}[k]) == ({text} if changed() < index("{position}") else 0)'


def _times(fact: Formula, factor: Poly, change: Poly) -> Formula:
    """A comparison of an entry's change, times a positive factor."""
    if fact.kind in ("or", "and"):
        return (both if fact.kind == "and" else either)(*(_times(f, factor, change) for f in fact.args))
    atom = change.atom()
    return compare(fact.kind, fact.args[0] * factor) if fact.args and atom in fact.support else fact


def _multiplies(goal: Formula) -> bool:
    """Whether a comparison, or a part of a formula, has a product of parameters and of choices, and of nothing else."""
    if goal.kind not in ("le", "lt", "eq"):
        return any(_multiplies(part) for part in goal.args if isinstance(part, Formula))
    if any(a.role == "noise" for a in goal.support):
        return False
    monomials = [m for m in goal.args[0].terms if len(m) > 1 or any(p != 1 for _, p in m)]
    return bool(monomials) and all(a.role == "parameter" or a.kind == "ite" for m in monomials for a, _ in m)


def simplest(texts: Sequence[str]) -> Iterator[str]:
    """The texts without what `d(x) == 0` among them says already."""
    still = [text[: -len(" == 0")] for text in texts if text.startswith("d(") and text.endswith(") == 0")]
    for text in texts:
        if not any(x in text and text != f"{x} == 0" for x in still):
            yield text


def settled(facts: Sequence[Formula]) -> dict[Atom, Poly]:
    """Symbols of the state that facts say to be numbers, such as differences that are 0."""
    result: dict[Atom, Poly] = {}
    for fact in facts:
        if fact.kind == "eq" and len(fact.args[0].terms) <= 2:
            constant = fact.args[0].terms.get((), Fraction(0))
            for monomial, coefficient in fact.args[0].terms.items():
                single = len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].kind == "sym"
                if single and (len(fact.args[0].terms) == 1 or constant):
                    result[monomial[0][0]] = poly(-constant / coefficient)
    return result


class Broken(Exception):
    """Something that run 2 owes does not follow."""

    def __init__(self, leaf: Leaf, owed: Owed):
        super().__init__(f"{owed.position}: run 2 may part from run 1")
        self.leaf, self.owed = leaf, owed


@dataclass
class Inductive:
    """Invariants for each loop and formulas for each list that hold together."""

    loops: dict[str, list[str]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)


class Houdini:
    """Removes candidates until what is left is inductive.

    Args:
        problem: the relation.
        substitutions: for each leaf the shifts chosen for its draws.
    """

    def __init__(
        self,
        explored: Explored,
        problem: Problem,
        substitutions: Sequence[Substitution],
        loops: Mapping[str, Sequence[str]],
        lists: Mapping[str, Sequence[str]],
        translator: Translator,
        released: frozenset[str] = frozenset(),
    ):
        self.released = released
        self.strict = False
        self.waived: set[Formula] = set()
        self.explored, self.problem, self.substitutions = explored, problem, substitutions
        self.whole = problem.values != "real"
        self.left = Inductive({p: list(texts) for p, texts in loops.items()}, {n: list(t) for n, t in lists.items()})
        self.translator = translator
        self.values: dict[tuple[int, str, str, str], Formula | None] = {}

    def formula(self, leaf: int, which: str, text: str, env: Env, key: str = "") -> Formula | None:
        """A candidate's formula in a leaf; None where it has no meaning."""
        at = (leaf, which, text, key)
        if at not in self.values:
            try:
                self.values[at] = self.substitutions[leaf].formula(formula_of(text, env, self.whole))
            except Untold:
                self.values[at] = None
        return self.values[at]

    def element(self, leaf: int, which: str, text: str, env: Env, name: str, index: Poly, value: Number | None) -> Any:
        """A list's formula about the element at an index."""
        inner = dict(env)
        inner["k"] = Number(index, index * 0)
        if value is not None:
            inner[key_of(name)] = Sequence_(Number(index, index * 0), lambda _: value, name)
        return self.formula(leaf, which, text, inner, f"{index!r}")

    def hypotheses(self, at: int, extra: Sequence[Formula | Poly] = ()) -> list[Formula]:
        """What is known on a leaf."""
        leaf = self.explored.leaves[at]
        known = [self.substitutions[at].formula(fact) for fact in leaf.facts]
        for number, (position, env) in enumerate(leaf.heads):
            for text in self.left.loops.get(position, ()):
                found = self.formula(at, f"head{number}", text, env)
                if found is not None:
                    known.append(found)
        for number, (name, index, env) in enumerate(leaf.reads):
            for text in self.left.lists.get(name, ()):
                found = self.element(at, f"read {number} {name}", text, _readable(env, name), name, index, None)
                if found is not None:
                    known.append(found)
        support = frozenset[Atom]().union(*(f.support for f in (*known, *extra)))
        known += read_facts(self.problem, support, self.explored.entry)
        return known + [fact for each in (*known, *extra) for fact in self.scaled(each)]

    def scaled(self, value: Formula | Poly) -> Iterator[Formula]:
        """Ranges of products of parameters and an entry's change, for a solver to whom products are opaque."""
        if isinstance(value, Formula):
            for part in value.args:
                if isinstance(part, Formula | Poly):
                    yield from self.scaled(part)
            return
        for monomial in value.terms:
            entries = [a for a, p in monomial if a.role == "data" and a.kind == "read" and a.args[0] == "change"]
            factors = tuple((a, p) for a, p in monomial if a.role == "parameter")
            if len(entries) == 1 and factors and len(factors) + 1 == len(monomial):
                change, factor = poly(entries[0]), Poly({factors: Fraction(1)})
                value = poly(Atom("read", "data", entries[0].args[1], integer=entries[0].integer, role="data"))
                for fact in entry_facts(self.problem, value, change, self.explored.entry):
                    yield _times(fact, factor, change)
            for atom, _ in monomial:
                if atom.kind == "ite":
                    for part in atom.args:
                        yield from self.scaled(part)

    def run(self) -> Inductive:
        """The invariants.

        Raises:
            Broken: run 2 does not do what it owes on some path.
        """
        order = sorted(range(len(self.explored.leaves)), key=lambda at: len(self.explored.leaves[at].heads))
        changed = True
        while changed:
            changed = False
            for at in order:
                changed |= self.step(at)
        return self.left

    def step(self, at: int) -> bool:
        """Removes what one leaf refutes; whether anything was."""
        leaf = self.explored.leaves[at]
        goals: dict[Formula, list[tuple[str, str, str]]] = {}
        lost: list[tuple[str, str, str]] = []

        def aim(found: Formula | None, *what: str) -> None:
            if found is None:
                lost.append(what)  # type: ignore[arg-type]
            elif found.kind != "true":
                goals.setdefault(found, []).append(what)  # type: ignore[arg-type]

        if leaf.target is not None:
            for text in self.left.loops.get(leaf.target, ()):
                aim(self.formula(at, "target", text, leaf.env), "loop", leaf.target, text)
        for number, (name, index, value, env) in enumerate(leaf.appends):
            for text in self.left.lists.get(name, ()):
                found = self.element(at, f"append {number}", text, env, name, index, value)
                aim(found, "list", name, text)
        owed = [(o, self.substitutions[at].formula(o.formula)) for o in leaf.obligations]
        asked = [*goals, *(f for _, f in owed if f.kind != "true" and f not in goals)]
        held: set[Formula] = set()
        if asked:
            known = self.hypotheses(at, asked)
            held = set(Solver(self.translator, known).holding(asked))
            zeros = Substitution(settled(known))  # products with them are opaque to the solver
            held |= {goal for goal in asked if goal not in held and zeros.formula(goal).kind == "true"}
            hard = [goal for goal in asked if goal not in held and _multiplies(goal)]
            if hard:  # products of parameters: asked once more, as products
                held |= set(Solver(Translator(products=True), self.hypotheses(at, asked), 150).holding(hard))
            for each, formula in owed:
                if formula.kind != "true" and formula not in held:
                    if each.position.startswith("index ") and (not self.strict or formula in self.waived):
                        self.waived.add(formula)  # the checker says whether an index is in range
                        continue
                    raise Broken(leaf, each)
            lost += [what for goal, whats in goals.items() if goal not in held for what in whats]
        for kind, key, text in lost:
            if kind == "list" and key in self.released and text == f"d({key}[k]) == 0":
                for name, _, value, _ in leaf.appends:
                    if name == key:
                        zero = self.substitutions[at].formula(equal(value.change, 0))
                        if zero not in held:
                            raise Broken(leaf, Owed(f"list {key}", equal(value.change, 0), (value.change,), True))
            texts = (self.left.loops if kind == "loop" else self.left.lists)[key]
            if text in texts:
                texts.remove(text)
        return bool(lost)


def _readable(env: Env, name: str) -> Env:
    """A state in which a comprehension's list can be read by its position."""
    key = key_of(name)
    return env if key in env else {**env, key: nameless_element(name)}
