"""Runs a core program twice at once on neighboring data: path by path, from one loop head to the next.

Every way through the statements between two loop heads is a path. What the first run did on it (its branches, the
meaning of its prophecies) is known; what the second run must do is to be shown. At a loop head all variables that the
loop assigns are forgotten, but for its invariants, which each path that arrives there must show. Draws get their shift
from the alignment; which case of a shift applies is decided by the branches that follow, so a draw forks the path into
its cases, and those that turn out not to apply are dropped.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpassay.replay import Rejected
from dpassay.replay.paired_evaluation import Evaluation, Path, Pending
from dpassay.replay.paired_values import NUMBER, YES, Maybe, Scalar, Sequence, Truth, Value
from dpassay.replay.program_core import (
    SELECTIONS,
    Append,
    Assign,
    Block,
    Branch,
    Draw,
    Leave,
    Loop,
    Return,
    Statement,
    Variable,
    assigned,
    resized,
)
from dpassay.replay.program_flow import NOTHING, Flow, Held
from dpassay.replay.proof_expressions import Expressions
from dpassay.replay.symbolic_terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Number,
    both,
    either,
    if_else,
    implies,
    literal,
    negation,
    of_symbol,
    symbols_in_common,
)

MAX_PATHS = 3000
HALF = literal(Fraction(1, 2))


@dataclass(frozen=True)
class Prophecy:
    """The value of a variable when a loop is left, as a constant; a fresh one in each iteration of the loop `scope`."""

    name: str
    variable: str
    loop: str
    scope: str | None


@dataclass(frozen=True)
class Alignment:
    """What the proof gives, parsed: for each draw its cases, for each loop its invariants, and so on."""

    shifts: Mapping[str, tuple[tuple[Mapping[str, bool], ast.expr], ...]]
    coins: Mapping[str, tuple[tuple[Mapping[str, bool], ast.expr], ...]]
    loops: Mapping[str, tuple[ast.expr, ...]]
    lists: Mapping[str, tuple[ast.expr, ...]]
    selections: Mapping[str, tuple[ast.expr, ast.expr]]
    free: frozenset[str]
    prophecies: tuple[Prophecy, ...]


_NOUGHT = ast.Constant(0)
Left = tuple[Path, str]
"""A path, and the label it goes to; "" at the end of the statements, "return" behind a return."""


class Runs:
    """Both runs of a program; `finish` gets each path at a loop head and at its end.

    Args:
        given: as for `Expressions`.
        notion: of the claim; costs are those of zero-concentrated privacy unless it is "epsilon".
        finish: shows the goals of a path that is at a loop head or has returned ("return" or "").
        extra: the run whose list has an entry more, "one" or "two"; "" if none has.
        sign: guesses whether a symbol is above 0 (1) or below (-1) on all paths, or neither (0).
    """

    def __init__(
        self,
        evaluation: Evaluation,
        flow: Flow,
        alignment: Alignment,
        given: Mapping[str, Number],
        notion: str,
        bound: Number,
        finish: Callable[[Path, str], None],
        extra: str,
        sign: Callable[[str], int],
    ) -> None:
        self.evaluation, self.symbols, self.pairs = evaluation, evaluation.symbols, evaluation.pairs
        self.flow, self.alignment, self.given, self.bound = flow, alignment, given, bound
        self.zcdp, self.notion = notion != "epsilon", notion
        self.said = Expressions(evaluation, given)
        self.finished = finish
        self.extra = extra
        self.sign = sign
        self.paths = 0
        self.element_functions: dict[tuple[str, ...], str] = {}

    # Statements.

    def block(self, path: Path, statements: tuple[Statement, ...]) -> list[Left]:
        """The paths through statements, one after the other."""
        lefts: list[Left] = [(path, "")]
        for each in statements:
            going = [(at, label) for at, label in lefts if label]
            for at, label in lefts:
                if not label:
                    going += self.statement(at, each)
            lefts = going
        self.paths += len(lefts) > 1
        if self.paths > MAX_PATHS or len(lefts) > MAX_PATHS:
            raise Rejected(f"more than {MAX_PATHS} paths")
        return lefts

    def statement(self, path: Path, statement: Statement) -> list[Left]:
        """The paths through one statement."""
        if isinstance(statement, Assign):
            path.values[statement.name] = self.evaluation.value(path, statement.value)
        elif isinstance(statement, Append):
            self.append(path, statement)
        elif isinstance(statement, Draw):
            return [(each, "") for each in self.draw(path, statement)]
        elif isinstance(statement, Branch):
            return self.branch(path, statement)
        elif isinstance(statement, Loop):
            return self.loop(path, statement)
        elif isinstance(statement, Block):
            for name in statement.local:
                path.values.pop(name, None)
            return [(at, "" if label == statement.label else label) for at, label in self.block(path, statement.body)]
        elif isinstance(statement, Leave):
            return [(path, statement.label)]
        elif isinstance(statement, Return):
            self.returned(path, statement)
            return [(path, "return")]
        return [(path, "")]

    def append(self, path: Path, statement: Append) -> None:
        """A list grows by an element, in both runs."""
        old = self.evaluation.sequence(path, Variable(statement.name))
        value = self.evaluation.value(path, statement.value)
        place = old.length

        def element(index: Number) -> Value:
            if place.one == ZERO:
                return value
            last = self.symbols.equal(index, place.one)
            return value if last == TRUE else self.pairs.chosen(Truth(last, last), value, old.element(index))

        if place.gap != ZERO:
            path.show(self.symbols.compare("==", place.gap), "lists of one length in both runs", statement.position)
        path.values[statement.name] = Sequence(self.pairs.added(place, Scalar(ONE)), element)

    def returned(self, path: Path, statement: Return) -> None:
        """The output must be the same, and the cost within the bound."""
        value = self.evaluation.value(path, statement.value)
        for formula in self.pairs.unchanged(value):
            path.show(formula, "the same output in both runs", statement.position)
        above = path.cost - self.bound
        forms = (above, self.cleared(path, above, statement.position))  # of one sign; either is easier at times
        within = either(*(self.symbols.compare("<=", form) for form in forms))
        path.show(within, "a cost within the bound", statement.position)
        self.finish(path, "return")

    def finish(self, path: Path, where: str) -> None:
        """A path at the end of its segment: unless a case was guessed wrongly, its goals are shown."""
        if path.guessed_right():
            self.finished(path, where)

    # Branches.

    def branch(self, path: Path, branch: Branch) -> list[Left]:
        """Both ways of a branch, or one path through one that is free."""
        test = self.evaluation.truth(path, branch.test)
        if branch.position in self.alignment.free:
            path.values = self.merged(path, test, branch.then, branch.otherwise)
            return [(path, "")]
        return [
            left
            for outcome, statements in ((True, branch.then), (False, branch.otherwise))
            for at in self.taken(path, test, branch.position, outcome)
            for left in self.block(at, statements)
        ]

    def taken(self, path: Path, test: Truth, position: str, outcome: bool) -> list[Path]:
        """The path on which the first run goes that way, and the second must; none if nobody goes there."""
        one = test.one if outcome else negation(test.one)
        if one == FALSE:
            return []
        made = path.fork()
        made.show(
            TRUE if test.one == test.two else test.two if outcome else negation(test.two),
            "the same branch in both runs",
            position,
        )
        made.known.append(one)
        made.taken = (*made.taken, (position, outcome))
        return [made] if made.guesses_possible() else []

    def merged(
        self, path: Path, test: Truth, then: tuple[Statement, ...], otherwise: tuple[Statement, ...]
    ) -> dict[str, Value]:
        """The variables after a branch that each run takes by itself."""
        arms, outer = [], path.reached
        for truth, statements in ((test, then), (Truth(negation(test.one), negation(test.two)), otherwise)):
            arm = path.fork()
            arm.goals = path.goals
            arm.reached = Truth(both(outer.one, truth.one), both(outer.two, truth.two))
            for each in statements:
                self.arm(arm, each)
            arms.append(arm.values)
        one, two = arms
        return {
            name: one[name] if one[name] is two[name] else self.pairs.chosen(test, one[name], two[name])
            for name in one
            if name in two
        }

    def arm(self, path: Path, statement: Statement) -> None:
        """A statement of a free branch: assignments, lists that grow, and branches of such."""
        if isinstance(statement, Append):
            self.append(path, statement)
        elif isinstance(statement, Assign):
            path.values[statement.name] = self.evaluation.value(path, statement.value)
        elif isinstance(statement, Branch):
            test = self.evaluation.truth(path, statement.test)
            path.values = self.merged(path, test, statement.then, statement.otherwise)
        else:
            raise Rejected("a branch that is free has assignments and appends alone")

    # Noise.

    def draw(self, path: Path, draw: Draw) -> list[Path]:
        """The path, once for each case that the draw's shift may have."""
        if draw.kind in SELECTIONS:
            path.values[draw.name] = self.selected(path, draw)
            return [path]
        scale = self.evaluation.number(path, draw.scale, draw.position)
        coin = draw.kind == "coin"
        cases = (self.alignment.coins if coin else self.alignment.shifts).get(draw.position, ())
        whens = (*(when for when, _ in cases), {})
        found = []
        for guessed in range(len(whens)):
            made = path.fork()
            if len(whens) > 1:
                made.pending = (*made.pending, Pending(whens, guessed, len(made.taken)))
            said = cases[guessed][1] if guessed < len(cases) else None
            if coin:
                made.values[draw.name] = self.coin(made, draw, scale, said)
            else:
                made.values[draw.name] = self.noise(made, draw, scale, said)
            found.append(made)
            if not whens[guessed]:
                break
        return found

    def noise(self, path: Path, draw: Draw, scale: Scalar, said: ast.expr | None) -> Scalar:
        """A draw's value: the second run's is larger by the shift."""
        shift = ZERO if said is None else self.said.number(path, said)
        self.pay(path, draw, scale, shift)
        value = self.symbols.fresh("noise", "i" if draw.kind == "geometric" else "r")
        if draw.kind == "exponential":
            path.known.append(self.symbols.compare(">=", value))
        return Scalar(value, shift)

    def pay(self, path: Path, draw: Draw, scale: Scalar, shift: Number) -> None:
        """The conditions of a draw, and its cost: the table in docs/theorems/alignments.md."""
        symbols, at = self.symbols, draw.position
        path.show(symbols.compare("==", scale.gap), "the same scale in both runs", at)
        path.show(symbols.compare(">", scale.one), "a scale above 0", at)
        ratio = shift * symbols.inverse(scale.one)
        if draw.kind == "geometric":
            path.show(symbols.compare("<", scale.one - ONE), "a probability below 1", at)
            path.show(symbols.equal(shift, symbols.floor(shift)), "a whole shift", at)
            cost = symbols.absolute(shift) * self.rate(path, scale.one)
        elif draw.kind == "normal":
            if not self.zcdp:
                path.show(symbols.compare("==", shift), "no shift of Gaussian noise under a pure claim", at)
            path.cost = path.cost + symbols.without_roots(ratio * ratio) * HALF if self.zcdp else path.cost
            return
        else:
            cost = self.size(path, ratio, at)
        if draw.kind in ("exponential", "gumbel"):
            path.show(symbols.compare(">=", shift), f"a shift of {draw.kind} noise that is at least 0", at)
            if self.zcdp:
                path.show(symbols.compare("==", shift), f"no shift of {draw.kind} noise under zCDP", at)
        self.spend(path, cost, at)

    def selected(self, path: Path, draw: Draw) -> Scalar:
        """An index, the same in both runs: with low <= q'_k - q_k <= high for all k it costs high - low.

        Of a choice, q_k is the logarithm of a weight; of flips, an exponent.
        """
        weights, symbols, at = self.evaluation.sequence(path, draw.scale), self.symbols, draw.position
        place, chosen = symbols.fresh("place", "i"), symbols.fresh("choice", "i")
        low, high = (self.said.number(path, each) for each in self.alignment.selections.get(at, (_NOUGHT, _NOUGHT)))
        inside, weight = self.within(place, weights), self.pairs.number(weights.element(place))
        path.show(symbols.compare("==", weights.length.gap), "as many places in both runs", at)
        for side in (weight.one, weight.two) if draw.kind == "choice" else ():
            path.show(implies(inside, symbols.compare(">", side)), "a weight above 0", at)
        moved = weight.gap
        if draw.kind == "choice" and weight.gap != ZERO:
            moved = symbols.applied("log", [weight.two]) - symbols.applied("log", [weight.one])
        path.show(implies(inside, symbols.compare("<=", low - moved)), "a score that falls no further", at)
        path.show(implies(inside, symbols.compare("<=", moved - high)), "a score that rises no further", at)
        path.show(symbols.compare("<=", low - high), "bounds in order", at)
        self.spend(path, high - low, at)
        path.known.append(self.within(chosen, weights))
        return Scalar(chosen)

    def within(self, place: Number, listed: Sequence) -> str:
        """Whether a place is one of the list's."""
        return both(self.symbols.compare(">=", place), self.symbols.compare("<", place - listed.length.one))

    def size(self, path: Path, number: Number, position: str) -> Number:
        """The absolute value; symbols whose sign is known whatever the data (guessed, and then shown) stay outside."""
        if number == ZERO:
            return ZERO
        outside = literal(abs(number.terms[0][1]))
        for name, power in symbols_in_common(number):
            if sign := self.sign(name):
                path.show(self.symbols.compare(">", literal(sign) * of_symbol(name)), f"the sign of {name}", position)
                outside = outside * Number(((((name, power),), Fraction(sign if power % 2 else 1)),))
        rest = number * self.symbols.inverse(outside)
        return outside * self.symbols.absolute(rest)

    def cleared(self, path: Path, number: Number, position: str) -> Number:
        """A number of the same sign: without what all terms have as a factor or a divisor that is above 0."""
        for name, power in symbols_in_common(number):
            if self.sign(name) == 1:
                path.show(self.symbols.compare(">", of_symbol(name)), f"the sign of {name}", position)
                number = number * Number(((((name, -power),), Fraction(1)),))
        return number

    def spend(self, path: Path, cost: Number, position: str) -> None:
        """Adds a pure cost; eps-DP is (eps^2 / 2)-zCDP (Bun and Steinke 2016, Proposition 1.4)."""
        if self.notion == "gaussian":
            path.show(self.symbols.compare("==", cost), "a cost of Gaussian noise alone", position)
        path.cost = path.cost + (cost * cost * HALF if self.zcdp else cost)

    def rate(self, path: Path, p: Number) -> Number:
        """-log(1 - p), the rate of two-sided geometric noise."""
        found = -self.symbols.applied("log", [ONE - p])
        inside = both(self.symbols.compare(">", p), self.symbols.compare("<", p - ONE))
        path.known.append(implies(inside, self.symbols.compare(">", found)))
        for name, argument in self.symbols.exponents.items():
            exponential = of_symbol(name)
            path.known.append(
                implies(self.symbols.equal((ONE - p) * exponential, ONE), self.symbols.equal(found, argument))
            )
            path.known.append(implies(self.symbols.equal(ONE - p, exponential), self.symbols.equal(found, -argument)))
        return found

    def coin(self, path: Path, draw: Draw, p: Scalar, said: ast.expr | None) -> Truth:
        """Heads with probability p, and in the second run the same side, or the other one where `said` holds."""
        flip = FALSE if said is None else self.said.formula(path, said)
        heads = self.symbols.symbol("coin", "b")
        other = self.flipped(heads, flip)
        if flip == FALSE and p.gap == ZERO:
            return Truth(heads, heads)
        for side in (p.one, p.two):
            inside = both(self.symbols.compare(">=", side), self.symbols.compare("<=", side - ONE))
            path.show(inside, "a probability from 0 to 1", draw.position)
        log_ratio = self.symbols.fresh("cost", "r")
        path.known.append(self.symbols.compare(">=", log_ratio))
        for first, chance_one in ((heads, p.one), (negation(heads), ONE - p.one)):
            for second, chance_two in ((other, p.two), (negation(other), ONE - p.two)):
                case = both(first, second)
                possible = implies(self.symbols.compare(">", chance_one), self.symbols.compare(">", chance_two))
                path.show(implies(case, possible), "a chance in the second run too", draw.position)
                path.known += [implies(case, fact) for fact in self.log_ratio(log_ratio, chance_one, chance_two)]
        if self.zcdp:  # what the outcome itself decides is no cost of a draw
            path.show(self.symbols.compare("==", log_ratio), "a coin without cost under zCDP", draw.position)
        path.cost = path.cost + log_ratio
        return Truth(heads, other)

    def log_ratio(self, cost: Number, one: Number, two: Number) -> list[str]:
        """What is true of max(0, log(one / two)), for chances with two > 0."""
        symbols = self.symbols
        log = symbols.applied("log", [one * symbols.inverse(two)])
        facts = [
            implies(symbols.compare("<=", one - two), symbols.compare("==", cost)),
            implies(both(symbols.compare(">", one - two), symbols.compare(">", two)), symbols.equal(cost, log)),
        ]
        for name, argument in symbols.exponents.items():
            exponential = of_symbol(name)
            up = both(symbols.compare("<=", one - exponential * two), symbols.compare(">=", argument))
            down = both(symbols.compare("<=", one * exponential - two), symbols.compare("<=", argument))
            facts.append(implies(up, symbols.compare("<=", cost - argument)))
            facts.append(implies(down, symbols.compare("<=", cost + argument)))
        return facts

    # Loops.

    def loop(self, path: Path, loop: Loop) -> list[Left]:
        """The paths that leave a loop; those within it end at its head."""
        changed = assigned((loop,))
        if self.extra and len(loop.over) == 1:
            source = self.evaluation.sequence(path, loop.over[0])
            if source.aligned and path.values.get(f"limit@{loop.position}") == source.length:
                return self.longer(path, loop, changed)
        self.arrive(path, loop, changed)
        if not path.guessed_right():
            return []
        head = self.forgotten(path, loop, changed)
        names = set(head.values)
        found: list[Left] = []
        for at, label in self.block(head, loop.head):
            if label:
                found.append((at, label))
                continue
            test = self.evaluation.truth(at, loop.test)
            for outside in self.taken(at, test, loop.position, False):
                found += self.left(outside, loop)
            for inside in self.taken(at, test, loop.position, True):
                self.foretold(inside, loop)
                found += self.iteration(inside, loop, changed, names)
        return found

    def longer(self, path: Path, loop: Loop, changed: set[str]) -> list[Left]:
        """A loop over a list that has an entry more in one run: the other run skips that iteration.

        The index of the longer list counts for both; the run without the entry has counted one less behind it.
        """
        index, length = f"index@{loop.position}", self.evaluation.sequence(path, loop.over[0]).length
        limit, added = getattr(length, self.extra), self.given["changed"]
        path.long[index] = ZERO
        self.arrive(path, loop, changed)
        if not path.guessed_right():
            return []
        head = self.forgotten(path, loop, changed, skip=True)
        names = set(head.values)
        long = head.long[index]
        more = self.symbols.compare("<", long - limit)
        found: list[Left] = []
        for outside in self.taken(head, Truth(more, more), loop.position, False):
            del outside.long[index]
            found += self.left(outside, loop)
        for inside in self.taken(head, Truth(more, more), loop.position, True):
            there = self.symbols.equal(long, added)
            alone, together = inside.fork(), inside
            alone.known.append(there)
            self.alone(alone, loop)
            alone.long[index] = long + ONE
            self.arrive(alone, loop, changed, names)
            together.known.append(negation(there))
            self.foretold(together, loop)
            found += self.iteration(together, loop, changed, names)
        return found

    def alone(self, path: Path, loop: Loop) -> None:
        """One run's iteration for the entry that the other run has not: numbers and lists may not be drawn or grow."""
        here = Truth(*(TRUE if run == self.extra else FALSE for run in ("one", "two")))
        before = dict(path.values)
        path.reached = here
        for each in (*loop.body, *loop.step):
            self.arm(path, each)
        path.reached = YES
        path.values = {
            name: value if value is before[name] else self.pairs.chosen(here, value, before[name])
            for name, value in path.values.items()
            if name in before
        }

    def both_counters(self, long: Number) -> Scalar:
        """What each run has counted when the longer list is at that index."""
        behind = self.symbols.choice(self.symbols.compare(">", long - self.given["changed"]), long - ONE, long)
        one, two = (long, behind) if self.extra == "one" else (behind, long)
        return Scalar(one, two - one)

    def iteration(self, path: Path, loop: Loop, changed: set[str], names: set[str]) -> list[Left]:
        """The paths of one iteration that leave the loop."""
        found: list[Left] = []
        for at, label in self.block(path, loop.body):
            if label == "break":
                found += self.left(at, loop)
            elif label in ("", "continue"):
                for stepped, _ in self.block(at, loop.step):
                    if (index := f"index@{loop.position}") in stepped.long:
                        stepped.long[index] = stepped.long[index] + ONE
                    self.arrive(stepped, loop, changed, names)
            else:
                found.append((at, label))
        return found

    def left(self, path: Path, loop: Loop) -> list[Left]:
        """Behind the loop: its prophecies come true."""
        for each in self.alignment.prophecies:
            if each.loop == loop.position:
                if each.variable not in path.values:
                    raise Rejected(f"{each.variable} may have no value when the loop at {each.loop} is left")
                meant = self.pairs.equal(path.values[each.variable], path.prophecies[each.name])
                path.known.append(meant.one)
                path.show(meant.two, f"the prophecy {each.name} in the second run", loop.position)
        return [(path, "")]

    def foretold(self, path: Path, loop: Loop) -> None:
        """An iteration begins: what its prophecies name is a new constant."""
        for each in self.alignment.prophecies:
            if each.scope == loop.position:
                path.prophecies[each.name] = self.prophecy(each)

    def prophecy(self, prophecy: Prophecy) -> Value:
        """A constant that may be anything: of a kind with countably many values, since it is in the trace."""
        held = self.flow.held.get(prophecy.variable, NOTHING)
        if held.kind not in ("truth", "int"):
            raise Rejected(f"{prophecy.variable} is no integer, so it cannot be foretold")
        return self.anything(prophecy.name, Held(held.kind, held.special), [])

    def arrive(self, path: Path, loop: Loop, changed: set[str], names: set[str] | None = None) -> None:
        """Shows the invariants at the loop's head; `names` had a value there before, and what is new has none there."""
        if names is not None and not names <= set(path.values):
            raise Rejected(f"a variable may lose its value in the loop at {loop.position}")
        for name in sorted(changed & (set(path.values) if names is None else names)):
            value = path.values[name]
            for formula in self.regular(self.flow.held.get(name, NOTHING), value):
                path.show(formula, f"what is known of {name} by itself", loop.position)
            for node in self.alignment.lists.get(name, ()):
                path.show(
                    self.of_element(path, value, node), f"{ast.unparse(node)} for each element of {name}", loop.position
                )
        for formula in self.counters(path, loop):
            path.show(formula, "a counter within its bounds", loop.position)
        for node in self.alignment.loops.get(loop.position, ()):
            path.show(self.said.formula(path, node), f"the invariant {ast.unparse(node)}", loop.position)
        path.show(self.symbols.compare(">=", path.cost), "a cost that is not negative", loop.position)
        self.finish(path, "")

    def counters(self, path: Path, loop: Loop) -> list[str]:
        """The loop's own counter is from 0 to its limit; the list that it makes is as long as it counts."""
        index = path.values[f"index@{loop.position}"]
        assert isinstance(index, Scalar)
        if (long := path.long.get(f"index@{loop.position}")) is not None:
            counted = self.both_counters(long)
            longest = getattr(self.evaluation.sequence(path, loop.over[0]).length, self.extra)
            bounds = (self.symbols.compare(">=", long), self.symbols.compare("<=", long - longest))
            return [*bounds, self.symbols.equal(index.one, counted.one), self.symbols.equal(index.two, counted.two)]
        found = [self.symbols.compare(">=", index.one)]
        limit, made = path.values.get(f"limit@{loop.position}"), path.values.get(f"at@{loop.position}")
        if isinstance(limit, Scalar):
            positive = self.symbols.compare(">=", limit.one)
            found.append(implies(positive, self.symbols.compare("<=", index.one - limit.one)))
        if isinstance(made, Sequence):
            found.append(self.symbols.equal(made.length.one, index.one))
        return found

    def of_element(self, path: Path, value: Value, node: ast.expr) -> str:
        """A formula about an arbitrary element."""
        if not isinstance(value, Sequence):
            raise Rejected("a formula about elements of what is no list")
        place = self.symbols.fresh("place", "i")
        inside = self.within(place, value)
        said = Expressions(self.evaluation, self.given, {"k": Scalar(place)})
        return implies(inside, said.formula(path, node))

    def regular(self, held: Held, value: Value) -> list[str]:
        """What is known of a variable without an invariant: whole numbers are whole, what cannot differ does not."""
        self.require_kind(held, value)
        if isinstance(value, Sequence) and value.length == Scalar(ZERO):
            return []
        if isinstance(value, tuple):
            return [part for inner, each in zip(held.parts, value, strict=True) for part in self.regular(inner, each)]
        if isinstance(value, Sequence):
            found = [self.symbols.compare(">=", value.length.one), self.symbols.compare("==", value.length.gap)]
            if not held.parts:
                return [*found, self.symbols.compare("==", value.length.one)]
            place = self.symbols.fresh("place", "i")
            inside = self.within(place, value)
            return found + [implies(inside, part) for part in self.regular(held.parts[0], value.element(place))]
        if isinstance(value, Truth):
            return [] if held.differs else self.pairs.unchanged(value)
        if isinstance(value, Maybe):
            number = Held("" if held.kind == "" else held.kind.replace("truth", "int"), differs=held.differs)
            return [
                *self.regular(Held("int", differs=held.differs), value.special),
                *self.regular(number, replace(value.number, mixed=NUMBER)),
                *self.pairs.kinds_alike(value),
            ]
        found = self.pairs.kinds_alike(value)
        found += [] if held.differs else [self.symbols.compare("==", value.gap)]
        if held.kind == "int":
            found += [self.symbols.equal(each, self.symbols.floor(each)) for each in (value.one, value.gap)]
        return found

    def require_kind(self, held: Held, value: Value) -> None:
        """Raises unless the value is of the kind that the program's flow says, so that `anything` may stand for it."""
        kinds = {"list": Sequence, "tuple": tuple, "truth": Truth}
        expected = Truth | Scalar | Maybe if held.special else kinds.get(held.kind, Truth | Scalar)
        number = value.number if isinstance(value, Maybe) else value
        mixed = isinstance(number, Truth) or (isinstance(number, Scalar) and number.mixed != NUMBER)
        if not isinstance(value, expected) or (mixed and not held.mixed and held.kind != "truth"):
            raise Rejected("a variable changes its kind")

    def forgotten(self, path: Path, loop: Loop, changed: set[str], skip: bool = False) -> Path:
        """The path at the loop's head, of which only the invariants are known."""
        made = path.fork()
        made.goals, made.taken, made.pending = [], (), ()
        made.cost = self.symbols.fresh("cost", "r")
        made.known.append(self.symbols.compare(">=", made.cost))
        for name in sorted(changed):
            if name in path.values:
                made.values[name] = self.anything(name, self.flow.held.get(name, NOTHING), made.known)
        for name in changed - resized((loop,)):  # only elements change
            before, now = path.values.get(name), made.values.get(name)
            if isinstance(before, Sequence) and isinstance(now, Sequence):
                made.values[name] = replace(now, length=before.length)
        if skip:
            made.long[f"index@{loop.position}"] = long = self.symbols.fresh("long", "i")
            made.values[f"index@{loop.position}"] = self.both_counters(long)
        for name in sorted(changed & set(made.values)):
            if isinstance(made.values[name], Sequence):
                made.values[name] = self.said_of(made, name)
        made.known += self.counters(made, loop)
        made.known += [self.said.formula(made, node) for node in self.alignment.loops.get(loop.position, ())]
        self.sized(made, loop)
        return made

    def anything(self, name: str, held: Held, known: list[str], index: Number | None = None) -> Value:
        """A value of which only the kind is known; as a list's element where there is an index."""
        if held.kind == "tuple":
            return tuple(self.anything(f"{name}/{i}", part, known, index) for i, part in enumerate(held.parts))
        if held.kind == "list":
            length = self.some(name, "i", False, None)
            known.append(self.symbols.compare(">=", length.one))
            unique = f"{name}/{len(self.symbols.axioms)}/"
            inner = held.parts[0] if held.parts else Held("int")
            return Sequence(length, lambda place: self.anything(unique, inner, known, place))
        if held.special:
            special = self.some(f"{name}/special", "i", held.differs, index)
            kind = "i" if held.kind in ("int", "truth") else "r"
            number = self.some(name, kind, held.differs, index)
            mixed = YES if held.kind == "truth" and not held.mixed else self.some_kind(name, held, index)
            return Maybe(special, replace(number, mixed=mixed))
        if held.kind == "truth":
            if index is None:
                one = self.symbols.symbol(name, "b")
                return Truth(one, self.symbols.symbol(name, "b") if held.differs else one)
            number = self.some(name, "i", held.differs, index)
            return Truth(*(self.symbols.compare("==", side - ONE) for side in (number.one, number.two)))
        made = self.some(name, "i" if held.kind == "int" else "r", held.differs, index)
        return replace(made, mixed=self.some_kind(name, held, index))

    def some_kind(self, name: str, held: Held, index: Number | None) -> Truth:
        """Whether a number is a truth value: the same in both runs, as `regular` shows."""
        if not held.mixed:
            return NUMBER
        truth = self.symbols.compare("==", self.some(f"{name}/truth", "i", False, index).one - ONE)
        return Truth(truth, truth)

    def some(self, name: str, sort: str, differs: bool, index: Number | None) -> Scalar:
        """A number of that sort, and another one for its difference where it may differ."""
        if index is None:
            return Scalar(self.symbols.fresh(name, sort), self.symbols.fresh(f"d{name}", sort) if differs else ZERO)
        one, gap = (
            self.symbols.element(self._function(name, what, sort), index, lambda _: ())
            if what == "one" or differs
            else ZERO
            for what in ("one", "gap")
        )
        return Scalar(one, gap)

    def _function(self, name: str, what: str, sort: str) -> str:
        key = (name, what, sort)
        if key not in self.element_functions:
            self.element_functions[key] = self.symbols.function(f"{name}{what}", sort)
        return self.element_functions[key]

    def said_of(self, path: Path, name: str) -> Sequence:
        """A list of which the alignment's formulas about its elements are known, at each element that is read."""
        nodes = self.alignment.lists.get(name, ())
        bare = path.values[name]
        assert isinstance(bare, Sequence)
        head, seen = path.fork(), set[Number]()

        def element(index: Number) -> Value:
            value = bare.element(index)
            if nodes and index not in seen:
                seen.add(index)
                inside = self.within(index, bare)
                said = Expressions(self.evaluation, self.given, {"k": Scalar(index)})
                head.values[name] = bare
                facts = [implies(inside, said.formula(head, node)) for node in nodes]
                for symbol in self.pairs.symbols_of(value):
                    self.symbols.axioms[symbol] += facts
            return value

        return Sequence(bare.length, element)

    def sized(self, path: Path, loop: Loop) -> None:
        """A list of independent draws: the second run's element is the first run's with its shift, exactly."""
        listed = f"at@{loop.position}"
        if len(loop.body) != 2 or not isinstance(draw := loop.body[0], Draw):
            return
        if loop.body[1] != Append(listed, Variable(draw.name), loop.position):
            return
        cases = (self.alignment.coins if draw.kind == "coin" else self.alignment.shifts).get(draw.position, ())
        said = next((node for when, node in cases if not when), None)
        bare, head, held = path.values[listed], path.fork(), Held("truth" if draw.kind == "coin" else "real")
        assert isinstance(bare, Sequence)
        head.values.pop(listed)  # of the list, a shift would see the length at its draw, and here another one
        same: list[str] = []
        unmoved = self.anything(listed, Held("list", parts=(held,)), same)
        assert isinstance(unmoved, Sequence)

        def element(index: Number) -> Value:
            value = unmoved.element(index)
            head.values[f"index@{loop.position}"] = Scalar(index)
            if isinstance(value, Truth):
                return (
                    value if said is None else Truth(value.one, self.flipped(value.one, self.said.formula(head, said)))
                )
            assert isinstance(value, Scalar)
            if draw.kind == "exponential":
                for symbol in self.pairs.symbols_of(value):
                    self.symbols.axioms[symbol].append(self.symbols.compare(">=", value.one))
            return Scalar(value.one, ZERO if said is None else self.said.number(head, said))

        path.values[listed] = Sequence(bare.length, element)

    def flipped(self, side: str, flip: str) -> str:
        """The side that a coin shows in the second run."""
        return if_else(flip, negation(side), side)
