"""The search for an alignment: shifts of the draws, invariants of the loops, and what the shifts cost.

Every draw's shift is solved from what run 2 owes and in which it is the last draw: a released number must not change, a
branch must go the same way (the shift is 0 if that suffices). A draw about which nothing is owed before the next cut
point, such as a threshold's, is tried: its value may move by 1, -1, 0, and the like.
"""

import ast
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpassay.prover.costs import Payment, Unaffordable, budget
from dpassay.prover.execution import Explorer
from dpassay.prover.expressions import Printer, Untold, formula_of, number_of, tidy
from dpassay.prover.invariants import (
    Broken,
    Houdini,
    Inductive,
    candidates,
    changing_candidates,
    list_candidates,
    simplest,
)
from dpassay.prover.problem import Problem
from dpassay.prover.program_text import Program
from dpassay.prover.solving import Solver, Translator
from dpassay.prover.terms import Atom, Formula, Poly, Substitution, at_most, forget_terms, poly, symbol
from dpassay.prover.values import (
    UNSHIFTED,
    Constant,
    Draw,
    Explored,
    Foreseen,
    Leaf,
    Maybe,
    Number,
    Unsupported,
    numbers_of,
    written,
)

MAX_SECONDS = 12.0
MAX_ATTEMPTS = 40
Key = tuple[str, tuple[tuple[str, bool], ...]]


@dataclass(frozen=True)
class Failure:
    """No proof was found.

    Attributes:
        reason: one sentence.
        tried: what was tried, in order.
    """

    reason: str
    tried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """What is decided before shifts are solved.

    Attributes:
        free: branches in which the runs may part.
        prophecies: by name.
    """

    free: frozenset[str] = frozenset()
    prophecies: Mapping[str, Foreseen] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.prophecies and not self.free:
            return "every branch in the trace"
        return f"branches {sorted(self.free)} free; {dict(self.prophecies)} known beforehand"


def find_alignment(program: Program, problem: Problem, seconds: float = MAX_SECONDS) -> dict[str, Any] | Failure:
    """Inputs of an `alignment` certificate, which the checker has yet to accept.

    Args:
        program: the mechanism's text.
        problem: the relation, the claim and what is assumed.
        seconds: of processor time at most, and twice as many by the clock.
    """
    return Search(program, problem, seconds).run()


def infer_bound(
    program: Program, problem: Problem, seconds: float = MAX_SECONDS
) -> tuple[str, dict[str, Any]] | Failure:
    """The smallest bound found provable, an expression over the parameters, and its certificate's inputs.

    The bound of `problem` is not looked at; the other arguments are those of `find_alignment`.
    """
    search = Search(program, problem, seconds, infer=True)
    found = search.run()
    return found if isinstance(found, Failure) else (found["claim"]["bound"], found)


class Search:
    """One search."""

    def __init__(self, program: Program, problem: Problem, seconds: float = MAX_SECONDS, infer: bool = False):
        self.program, self.problem, self.infer, self.seconds = program, problem.by_entry.accounted, infer, seconds
        self.stated = problem
        self.whole = problem.values != "real"
        self.tried: list[str] = []
        self.start, self.began = time.process_time(), time.monotonic()

    def late(self) -> bool:
        """Whether the time is spent."""
        return time.process_time() - self.start > self.seconds or time.monotonic() - self.began > 2 * self.seconds

    def run(self) -> dict[str, Any] | Failure:
        """Tries strategies in turn; whatever goes wrong in the search is no proof, and no error of the caller's."""
        forget_terms()
        try:
            return self.strategic()
        except (Unsupported, Untold) as error:
            return Failure(f"not understood: {error}", tuple(self.tried))
        except Exception as error:  # a proof is the checker's word, so a search may fail in any way
            return Failure(f"the search failed: {type(error).__name__}: {error}", tuple(self.tried))

    def strategic(self) -> dict[str, Any] | Failure:
        """The first strategy's alignment that comes out."""
        reason = "no strategy applies"
        plain = self.explore(Strategy())
        private = frozenset(
            p
            for p, b in plain.branches.items()
            if b.scalar and any(c.first is not c.second and not _noisy(c.first) for c in b.conditions)
        )
        for strategy in self.strategies(plain):
            strategy = Strategy(strategy.free | private, strategy.prophecies)
            if self.late():
                return Failure("the time is spent", tuple(self.tried))
            try:
                explored = plain if strategy == Strategy() else self.explore(strategy)
                found = Attempts(self, explored, strategy).run()
            except (Unsupported, Untold) as error:
                found = Failure(f"not understood: {error}")
            except Exception as error:  # the next strategy may do
                found = Failure(f"the search failed: {type(error).__name__}: {error}")
            if not isinstance(found, Failure):
                return found
            reason = found.reason
            self.tried.append(f"{strategy}: {reason}")
        return Failure(reason, tuple(self.tried))

    def explore(self, strategy: Strategy) -> Explored:
        """All segments; a counter that does not stay an integer is a real."""
        reals: frozenset[tuple[str, str]] = frozenset()
        while True:
            explorer = Explorer(
                self.program.text, self.program.entry, self.problem, strategy.free, reals, dict(strategy.prophecies)
            )
            explored = explorer.explore()
            found = {
                (leaf.target, name)
                for leaf in explored.leaves
                if leaf.target is not None and leaf.target in explored.loops
                for name, value in explored.loops[leaf.target][0].items()
                for one, two in zip(numbers_of(value), numbers_of(leaf.env.get(name)), strict=False)
                if (one.first.integer and not two.first.integer) or (one.change.integer and not two.change.integer)
            }
            found |= {
                (leaf.target, name)
                for leaf in explored.leaves
                if leaf.target is not None and leaf.target in explored.loops
                for name, value in explored.loops[leaf.target][0].items()
                if isinstance(value, Constant) and isinstance(leaf.env.get(name), Number | Maybe)
            }
            if found <= reals:
                return explored
            reals |= found

    def strategies(self, plain: Explored) -> Iterator[Strategy]:
        """First the plain one; then a winner known beforehand; then runs that may part."""
        prophecies: list[Strategy] = []
        for position, name in plain.reductions.items():
            if name in ("argmax", "argmin"):
                prophecies.append(Strategy(frozenset(), {"K": Foreseen(f"best:{position}", position)}))
        free = [p for p, b in plain.branches.items() if b.scalar and any(_noisy(c.first) for c in b.conditions)]
        for position in free:
            branch = plain.branches[position]
            if branch.loops:
                loop = branch.loops[-1]
                inner = frozenset(p for p in free if plain.branches[p].loops == branch.loops)
                for name in branch.assigned:
                    value = plain.loops[loop][0].get(name)
                    if isinstance(value, Number) and value.first.integer:
                        prophecies.append(Strategy(inner, {"K": Foreseen(name, loop, _chosen(plain, name, loop))}))
        coins = frozenset(p for p in free if any(_tossed(c.first) for c in plain.branches[p].conditions))
        if coins:
            yield Strategy(coins)
        if any(plain.reductions[p] in ("argmax", "argmin") for p in plain.reductions):
            yield from prophecies
            yield Strategy()
        else:
            yield Strategy()
            yield from prophecies
        if free and frozenset(free) != coins:
            yield Strategy(frozenset(free))


def _noisy(formula: Formula) -> bool:
    return any(a.role == "noise" or (a.role == "bool" and str(a.args[0]).startswith("coin")) for a in formula.support)


def _tossed(formula: Formula) -> bool:
    return any(a.role == "bool" and str(a.args[0]).startswith("coin") for a in formula.support)


class Attempts:
    """Shifts, invariants and costs under one strategy."""

    def __init__(self, search: Search, explored: Explored, strategy: Strategy):
        self.search, self.explored, self.strategy = search, explored, strategy
        self.problem, self.whole = search.problem, search.whole
        self.translator = Translator()
        self.options: dict[Key, list[str]] = {}
        self.targets = self.possible_targets()
        self.magnitudes = self.possible_magnitudes()

    def possible_targets(self) -> list[str]:
        """By how much a value that is not released may move."""
        radius = self.problem.radius
        if self.problem.relation == "monotone_queries":
            rise = "(1 + sign()) / 2" if radius == "1" else f"{radius} * (1 + sign()) / 2"
            return [rise, radius, "0", "sign()" if radius == "1" else f"{radius} * sign()", f"-{radius}"]
        if self.problem.relation in ("one_query", "all_queries"):
            return [radius, "0", f"-{radius}", *(["delta()"] if self.problem.relation == "one_query" else [])]
        if self.problem.relation == "replace_one:entry":
            return ["1", "0", "-1", "delta()", *(m for m in self.possible_magnitudes() if m != "1")]
        return ["1", "0", "-1", "sign()"]

    def possible_magnitudes(self) -> list[str]:
        """How far sums and differences may move."""
        found = [self.problem.radius if self.problem.relation.endswith("queries") else "1"]
        bounds = [] if self.problem.bounds is None else [f"({self.problem.bounds[1]}) - ({self.problem.bounds[0]})"]
        texts = self.explored.magnitudes
        pairs = [f"({b}) - ({a})" for a, b in itertools.permutations(texts, 2)]
        singles = [f"({t})" for t in texts]
        seen, never = set(), Solver(self.translator, self.explored.facts)
        told = [number_of(text, self.explored.entry) for text in [*found, *bounds, *pairs, *singles]]
        for value in [*told, *self.affordable()]:
            constant = value.constant
            if value in seen or (constant is not None and constant <= 0):
                continue
            seen.add(value)
            if never.implies(at_most(value, 0)):
                continue
            try:
                simple = Printer(self.explored.entry).poly(value)
            except (Untold, StopIteration):
                continue
            if simple not in found:
                found.append(simple)
        return found[:7]

    def affordable(self) -> Iterator[Poly]:
        """How far values may move for all of the claim, or for an equal share of each draw."""
        pure = ("laplace", "exponential", "gumbel")
        scales = [draw.scale.first for draw in self.explored.draws.values() if draw.kind in pure]
        for share in dict.fromkeys((len(scales), 1)) if self.problem.notion == "epsilon" else ():
            for scale in scales:
                yield number_of(self.problem.bound, self.explored.entry) * scale / share

    def run(self) -> dict[str, Any] | Failure:
        """Every combination of tries, until one has invariants and can be paid."""
        self.collect()
        open_keys = [key for key, options in self.options.items() if options and options[0] == "?"]
        groups: dict[str, list[Key]] = {}
        for key in open_keys:
            groups.setdefault(key[0], []).append(key)
        reason = "no combination of shifts"
        tries = [self.survivor_options(position) for position in groups]
        for combination in itertools.islice(itertools.product(*tries), MAX_ATTEMPTS):
            if self.search.late():
                return Failure("the time is spent")
            chosen = {
                key: choice.get(key, "0")
                for keys, choice in zip(groups.values(), combination, strict=True)
                for key in keys
            }
            found = self.attempt(chosen)
            if not isinstance(found, Failure):
                return found
            reason = found.reason
        return Failure(reason)

    # -- what shifts may be

    def collect(self) -> None:
        """For each draw and what follows it, the shifts to try in order; `?` where nothing is owed."""
        solved: dict[Key, dict[str, bool]] = {}
        alive: set[Key] = set()
        for leaf in self.explored.leaves:
            for draw in leaf.current():
                key = (draw.position, draw.when)
                found = solved.setdefault(key, {})
                if leaf.target is not None:
                    alive.add(key)
                for change, exact in self.owed(leaf):
                    if self.last(change, leaf) is draw:
                        text = self.solve(change, draw, leaf)
                        if text is not None:
                            found[text] = found.get(text, False) or exact
        for draw in self.explored.draws.values():
            if draw.kind != "coin" and draw.shift.kind == "read":
                key = (draw.position, ())
                for leaf in self.explored.leaves:
                    for change, exact in self.owed(leaf):
                        text = self.solve_element(change, draw)
                        if text is not None:
                            solved.setdefault(key, {})[text] = exact
        for key, found in solved.items():
            kind = self.explored.draws[key[0]].kind
            if kind == "coin":
                self.options[key] = self.flips(key)
            elif kind in UNSHIFTED:
                self.options[key] = []
            elif any(found.values()):
                self.options[key] = [t for t, exact in found.items() if exact]
                if self.explored.draws[key[0]].shift.kind != "read":
                    self.options[key] = [*dict.fromkeys([*self.options[key], *self.published(key)])]
            elif found and not self.strategy.prophecies:
                self.options[key] = ["0", *found]
            else:
                self.options[key] = ["?"] if key in alive else [*self.published(key), "0"]

    def published(self, key: Key) -> list[str]:
        """Shifts under which a variable with a draw in it is the same in both runs, whatever is computed from it."""
        texts: dict[str, None] = {}
        for leaf in self.explored.leaves:
            for draw in leaf.current():
                if (draw.position, draw.when) == key:
                    for number in itertools.chain.from_iterable(map(numbers_of, leaf.env.values())):
                        if self.last(number.change, leaf) is draw and (text := self.solve(number.change, draw, leaf)):
                            texts[text] = None
        return [*texts]

    def owed(self, leaf: Leaf) -> Iterator[tuple[Poly, bool]]:
        """The differences that a leaf's obligations and appended numbers depend on."""
        for owed in leaf.obligations:
            for change in owed.changes:
                yield change, owed.exact
        if not self.strategy.prophecies:
            for name, _, value, _ in leaf.appends:
                if name not in self.explored.changes:
                    yield value.change, True

    def last(self, change: Poly, leaf: Leaf) -> Draw | None:
        """The last draw on a leaf whose shift a difference has."""
        return next((d for d in reversed(leaf.draws) if d.shift in change.support), None)

    def solve(self, change: Poly, draw: Draw, leaf: Leaf) -> str | None:
        """The shift that makes a difference 0, written at the draw."""
        return self.solve_for(change, draw.shift, draw, 0)

    def solve_for(self, change: Poly, shift: Atom, draw: Draw, index: Any) -> str | None:
        factor = poly(0)
        rest = poly(0)
        for monomial, coefficient in change.terms.items():
            term = Poly({monomial: coefficient})
            if dict(monomial).get(shift) == 1:
                factor = factor + term / poly(shift)
            else:
                rest = rest + term
        if not factor.terms or shift in rest.support or shift in factor.support:
            return None
        value = -rest / factor
        if isinstance(index, Poly) and draw.index is not None:
            atom = index.atom()
            if atom is not None and draw.index.atom() is not None:
                value = Substitution({atom: draw.index}).poly(value)
        printer = self.printer(draw)
        text = None
        for part in (value, _seen(value, printer)):  # what is not seen at the draw may turn out to be 0
            try:
                text = text or printer.poly(part)
            except (Untold, StopIteration):
                continue
        return text

    def solve_element(self, change: Poly, draw: Draw) -> str | None:
        """The same for a list of draws: its element at some index."""
        for atom in change.support:
            if atom.kind == "read" and atom.args[0] == draw.shift.args[0]:
                text, place = self.solve_for(change, atom, draw, atom.args[1]), atom.args[1].constant
                alone = None if place is None else f'index("{draw.position}") == {place}'
                return text if text is None or alone is None else f"{text} if {alone} else 0"
        return None

    def printer(self, draw: Draw) -> Printer:
        """Names for the terms at a draw."""
        return Printer(draw.env, draw.index, draw.position)

    def flips(self, key: Key) -> list[str]:
        """When a coin may fall the other way."""
        draw = self.explored.draws[key[0]]
        result = ["False"]
        moved = {n: v.change for n, v in draw.env.items() if isinstance(v, Number) and v.change.terms and ":" not in n}
        for name in sorted(moved, key=lambda name: getattr(moved[name].atom(), "kind", "") == "sym"):
            result.append(f"d({name}) != 0")  # what the data say first, then what the loop carries along
        if self.problem.single:
            return [*result, "delta() != 0"]
        loops = [name for name in draw.env if name.startswith("index:")]
        data = Printer(self.explored.entry).data()
        result += [f'd({data}[index("{name[6:]}")]) != 0' for name in loops]
        return list(dict.fromkeys(result))

    def survivor_options(self, position: str) -> list[dict[Key, str]]:
        """Shifts to try for a draw about which nothing is owed: each for all that may follow it."""
        keys = [key for key in self.options if key[0] == position]
        rests: dict[str, Fraction] = {}  # with how many times the draw is in what moves
        draw = self.explored.draws[position]
        for leaf in self.explored.leaves:
            held = [number.change for value in leaf.env.values() for number in numbers_of(value)]
            for own in leaf.current():
                if own.position == position:
                    for change in (*held, *(value.change for _, _, value, _ in leaf.appends)):
                        factor = change.terms.get(((own.shift, 1),), Fraction(0))
                        rest = change - poly(own.shift) * factor
                        if factor and not any(atom.role == "shift" for atom in rest.support):
                            self.tell(rest * (1 / factor), own, rests, factor)
        for change, index in self.explored.uses:
            for atom in change.support:
                if atom.kind == "read" and atom.args[0] == draw.shift.args[0]:
                    text = self.solve_for(change, atom, draw, index)
                elif atom is draw.shift:
                    text = self.solve_for(change, atom, draw, 0)
                else:
                    continue
                if text is not None:
                    rests[text] = change.terms.get(((atom, 1),), Fraction(1))
        result: list[str] = []
        for told, factor in rests.items() or [("0", Fraction(1))]:
            for goal in self.scaled(told, draw, abs(factor)):
                target = goal if factor == 1 or goal == "0" else f"({goal}) / ({factor})"
                moved = target if told == "0" else told if target == "0" else self.together(target, told, draw)
                if self.strategy.prophecies:
                    where = self.foreseen(draw)
                    moved = f"{moved} if {where} else 0"
                result.append(moved)
        if not self.strategy.prophecies:
            result += [text for key in keys for text in self.published(key)]
        if "0" not in result:
            result.append("0")
        return [dict.fromkeys(keys, text) for text in dict.fromkeys(result)]

    def foreseen(self, draw: Draw) -> str:
        """When a draw is the winner's."""
        ((name, said),) = self.strategy.prophecies.items()
        inside = len(draw.loops) >= len(self.explored.loop_of[said.loop])
        return f'index("{draw.loops[-1]}") == {said.chosen(name)}' if inside else f"{said.chosen(name)} < 0"

    def scaled(self, rest: str, draw: Draw, times: Fraction) -> list[str]:
        """The targets for a value that moves by -rest, so many times: where entries are scaled, its own range first."""
        try:
            moved = number_of(rest, draw.env, self.whole) * times
        except Untold:
            return self.targets
        size = poly(0)
        for monomial, coefficient in moved.terms.items():
            factor = poly(abs(coefficient))
            entries = 0
            for atom, power in monomial:
                if atom.role == "data" or atom.kind == "ite":
                    entries += power
                else:
                    factor = factor * Poly({((atom, power),): Fraction(1)})
            if entries != 1:
                return self.targets
            size = size + factor
        try:
            text = Printer(self.explored.entry).poly(size * number_of(self.problem.radius, self.explored.entry))
        except (Untold, StopIteration):
            return self.targets
        if size.constant == 1 or not size.terms:
            return self.targets
        if text not in self.magnitudes:
            self.magnitudes.append(text)
            rise = f"{text} * (1 + sign()) / 2"
            self.targets = [*([rise] if self.problem.relation == "monotone_queries" else []), text, *self.targets]
        return self.targets

    def together(self, target: str, rest: str, draw: Draw) -> str:
        """Their sum, written plainly if it can be."""
        text = f"{target} + {rest}"
        try:
            return self.printer(draw).poly(number_of(text, draw.env, self.whole))
        except (Untold, StopIteration):
            return text

    def tell(self, rest: Poly, draw: Draw, into: dict[str, Fraction], factor: Fraction) -> None:
        """Writes -rest at a draw, if that can be written."""
        try:
            into.setdefault(self.printer(draw).poly(-rest), factor)
        except (Untold, StopIteration):
            return

    # -- one combination

    def attempt(self, chosen: Mapping[Key, str]) -> dict[str, Any] | Failure:
        """Invariants and costs with the open shifts chosen; the others are raised from 0 where run 2 would part."""
        place = dict.fromkeys(self.options, 0)
        released = frozenset() if self.strategy.prophecies else frozenset(self.explored.lists)
        while True:
            texts = {
                key: chosen[key] if key in chosen else options[place[key]] if options else "0"
                for key, options in self.options.items()
            }
            try:
                substitutions = [self.substitution(leaf, texts) for leaf in self.explored.leaves]
                inductive = self.invariants(substitutions, released)
            except Untold as error:
                return Failure(f"a shift has no expression: {error}")
            except Broken as broken:
                if self.search.late():
                    return Failure("the time is spent")
                if self.raise_shift(broken, place, chosen):
                    continue
                if broken.owed.position.startswith("list "):
                    released -= {broken.owed.position.removeprefix("list ")}
                    place = dict.fromkeys(self.options, 0)
                else:
                    return Failure(str(broken))
                continue
            try:
                costs = budget(self, substitutions, inductive)
            except Unaffordable as error:
                return Failure(str(error))
            return self.inputs(texts, self.needed(substitutions, inductive, costs, released), costs)

    def substitution(self, leaf: Leaf, texts: Mapping[Key, str]) -> Substitution:
        """The shifts of a leaf's draws as terms."""
        symbols: dict[Atom, Any] = {}
        reads: dict[str, Any] = {}
        for draw in self.explored.draws.values():
            if draw.shift.kind == "read":
                text = texts.get((draw.position, ()), "False" if draw.kind == "coin" else "0")
                moved = number_of(f"1 if {text} else 0" if draw.kind == "coin" else text, draw.env, self.whole)
                value = Substitution(dict(symbols), dict(reads)).poly(moved)
                reads[draw.shift.args[0]] = _at(value, draw.index)
        for draw in leaf.draws:
            if draw.shift.kind == "read":
                continue
            text = texts.get((draw.position, draw.when), "False" if draw.kind == "coin" else "0")
            before = Substitution(dict(symbols), reads)
            if draw.kind == "coin":
                symbols[draw.shift] = before.formula(formula_of(text, draw.env, self.whole))
            elif draw.kind not in UNSHIFTED:
                symbols[draw.shift] = before.poly(number_of(text, draw.env, self.whole))
        return Substitution(symbols, reads)

    def invariants(self, substitutions: Sequence[Substitution], released: frozenset[str]) -> Inductive:
        """What is inductive."""
        prophecy = self.strategy.prophecies
        loops = {
            position: list(
                dict.fromkeys(
                    candidates(position, heads[0], self.explored, self.problem, self.targets, self.magnitudes, prophecy)
                )
            )
            for position, heads in self.explored.loops.items()
        }
        sizes = [size for size in self.magnitudes if not re.search(r"\bk\b", size)]  # k is an index in what lists say
        lists = {name: list(list_candidates(name, self.targets, sizes, prophecy)) for name in self.explored.lists}
        lists |= {
            name: list(changing_candidates(name, self.explored, self.problem, sizes)) for name in self.explored.changes
        }
        return Houdini(self.explored, self.problem, substitutions, loops, lists, self.translator, released).run()

    def needed(
        self, substitutions: Sequence[Substitution], inductive: Inductive, costs: Any, released: frozenset[str]
    ) -> Inductive:
        """The invariants without those that others imply or that no obligation rests on."""
        loops = {position: list(simplest(texts)) for position, texts in inductive.loops.items()}
        lists = {name: list(simplest(texts)) for name, texts in inductive.lists.items()}
        houdini = Houdini(self.explored, self.problem, substitutions, loops, lists, self.translator, released)
        pay = Payment(self, houdini, costs)
        left = houdini.left
        if not pay.stands():
            return inductive
        houdini.strict = True
        for texts in (*left.loops.values(), *left.lists.values()):
            for text in sorted(texts, key=len, reverse=True):
                if self.search.late() or text not in texts:
                    continue
                kept = [(each, list(each)) for each in (*left.loops.values(), *left.lists.values())]
                texts.remove(text)
                if not pay.stands():
                    for each, before in kept:
                        each[:] = before
        return left

    def raise_shift(self, broken: Broken, place: dict[Key, int], chosen: Mapping[Key, str]) -> bool:
        """Tries the next shift of a draw that a broken obligation has; False if none is left."""
        formula = broken.owed.formula
        facts = frozenset[Atom]().union(*(fact.support for fact in broken.leaf.facts))
        for draw in reversed(broken.leaf.draws):
            if (
                draw.shift in formula.support
                or (draw.kind == "coin" and draw.shift in facts)
                or any(a.kind == "read" and a.args[0] == draw.shift.args[0] for a in formula.support)
            ):
                key = (draw.position, draw.when)
                if key in chosen or key not in self.options:
                    continue
                if place[key] + 1 < len(self.options[key]):
                    place[key] += 1
                    return True
        for key, options in self.options.items():  # a coin whose side was kept in a variable until now
            if self.explored.draws[key[0]].kind == "coin" and place[key] + 1 < len(options):
                place[key] += 1
                return True
        return False

    # -- the certificate

    def root(self, text: str) -> str:
        """A bound's square root: of a square, without one."""
        value = number_of(text, self.explored.entry)
        if len(value.terms) == 1:
            ((monomial, factor),) = value.terms.items()
            whole = [math.isqrt(side) for side in factor.as_integer_ratio()]
            even = all(power % 2 == 0 for _, power in monomial)
            if even and [side**2 for side in whole] == list(factor.as_integer_ratio()):
                half = Poly({tuple((atom, power // 2) for atom, power in monomial): Fraction(*whole)})
                return tidy(Printer(self.explored.entry).poly(half))
        return tidy(f"sqrt({text})")

    def inputs(self, texts: Mapping[Key, str], inductive: Inductive, costs: Any) -> dict[str, Any]:
        """The certificate's inputs."""
        shifts: dict[str, dict[tuple[tuple[str, bool], ...], str]] = {}
        coins: dict[str, dict[tuple[tuple[str, bool], ...], str]] = {}
        for (position, when), text in texts.items():
            kind = self.explored.draws[position].kind
            if kind not in UNSHIFTED:
                draw = self.explored.draws[position]
                still = {t for loop in draw.loops for t in inductive.loops[loop] if t.endswith(" == 0")}
                (coins if kind == "coin" else shifts).setdefault(position, {})[when] = _without(text, still)
        result = self.search.stated.inputs(self.search.program)
        if costs.claim is not None:
            bound = costs.claim if self.search.stated.notion != "gaussian" else self.root(f"2 * ({costs.claim})")
            if self.search.stated.by_user:
                whole = number_of(self.search.stated.by_users(bound), self.explored.entry)
                bound = tidy(Printer(self.explored.entry).poly(whole))
            result["claim"] = {**result["claim"], "bound": bound}
        lists = {name: texts for name, texts in inductive.lists.items() if name in self.explored.numeric and texts}
        lists |= {name: [f"same({name}[k])"] for name in self.explored.tuples}
        return (
            result
            | {
                "shifts": {p: _cases(cases, "shift", "0") for p, cases in shifts.items()},
                "coins": {p: _cases(cases, "flip", "False") for p, cases in coins.items()},
                "selections": costs.selections,
                "loops": {
                    position: {
                        "invariant": [
                            tidy(text)
                            for text in (*inductive.loops[position], *costs.invariants[position])
                            if not text.startswith("d(len(")  # which the checker knows
                        ]
                    }
                    for position in self.explored.loops
                },
                "lists": lists,
                "free": sorted(self.strategy.free),
                "prophecies": {
                    name: {
                        "variable": written(said.variable),
                        "loop": said.loop,
                        "scope": next(iter(self.explored.loop_of[said.loop][-2:-1]), None),
                    }
                    for name, said in self.strategy.prophecies.items()
                },
            }
        )


def _without(text: str, still: set[str]) -> str:
    """A shift without the differences d(x) that invariants say to be 0, and what is multiplied with them."""

    class Dropped(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            return ast.Constant(0) if f"{ast.unparse(node)} == 0" in still else node

        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            left, right = self.visit(node.left), self.visit(node.right)
            noughts = [isinstance(side, ast.Constant) and side.value == 0 for side in (left, right)]
            match node.op:
                case ast.Mult() if any(noughts):
                    return ast.Constant(0)
                case ast.Div() | ast.Sub() if noughts[not isinstance(node.op, ast.Div)]:
                    return left
                case ast.Add() if any(noughts):
                    return right if noughts[0] else left
            return ast.BinOp(left, node.op, right)

    return ast.unparse(Dropped().visit(ast.parse(text, mode="eval"))).replace("'", '"') if still else text


def _seen(value: Poly, printer: Printer) -> Poly:
    """The terms of a polynomial that have an expression."""
    result = poly(0)
    for monomial, coefficient in value.terms.items():
        try:
            printer.poly(Poly({monomial: coefficient}))
        except (Untold, StopIteration):
            continue
        result = result + Poly({monomial: coefficient})
    return result


def _chosen(plain: Explored, name: str, loop: str) -> str:
    """In which iteration of a loop a variable gets a value, as a format of the value."""
    for leaf in plain.leaves:
        value = leaf.env.get(name)
        if leaf.target == leaf.source == loop and isinstance(value, Number):
            index = leaf.heads[-1][1][f"index:{loop}"].first
            for sign in (1, -1):
                rest = value.first - index * sign
                if rest.terms and all(a.role == "parameter" or a.args == ("n",) for a in rest.support):
                    text = Printer(plain.entry).poly(rest)
                    return f"({{}} - {text})" if sign > 0 else f"({text} - {{}})"
    return "{}"


def _at(value: Poly, index: Poly | None) -> Any:
    """A term about a list's element as a function of the index."""
    atom = None if index is None else index.atom()
    return lambda k: value if atom is None else Substitution({atom: k}).poly(value)


def _cases(cases: Mapping[tuple[tuple[str, bool], ...], str], word: str, default: str) -> list[dict[str, Any]]:
    """Cases with as few conditions as tell them apart; the most frequent shift comes last, without any."""
    common = Counter(cases.values()).most_common(1)[0][0]
    needed = [dict(when) for when in cases]
    for position in sorted({p for when in needed for p in when}):
        without = [{p: o for p, o in when.items() if p != position} for when in needed]
        if _told(without, list(cases.values())):
            needed = without
    rows: list[dict[str, Any]] = []
    for when, text in zip(needed, cases.values(), strict=True):
        row = {"when": when, word: tidy(text)}
        if text != common and row not in rows and tidy(text) != tidy(common):
            rows.append(row)
    del default
    return [*rows, {"when": {}, word: tidy(common)}]


def _told(whens: Sequence[Mapping[str, bool]], texts: Sequence[str]) -> bool:
    """Whether no two different shifts have conditions that agree."""
    return not any(
        text != other and all(one.get(p, two[p]) == two[p] for p in two)
        for (one, text), (two, other) in itertools.combinations(list(zip(whens, texts, strict=True)), 2)
    )


__all__ = ["Failure", "find_alignment", "infer_bound", "symbol"]
