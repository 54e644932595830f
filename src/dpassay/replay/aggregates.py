"""Folds the statements of a function of a list into one term over sums, products, extremes and order statistics.

`entry(p)` is the entry at position p, `n()` the number of entries, `Fold` stands for any number of terms. What must be
true for the term to be what Python computes (no division by 0, no position outside a list, no failing assertion) is a
`Duty`, which is proved elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from dpassay.replay.program_core import (
    Append,
    Assign,
    Block,
    Branch,
    Constant,
    Core,
    Elementwise,
    Expression,
    Leave,
    Loop,
    Operation,
    Refused,
    Return,
    Statement,
    Variable,
    assigned,
)

MAX_DUTIES = 200
MAX_POWER = 4
_COUNTING = ("+", "-", "*", "/", "//", "%", "negate", "abs", "floor", "ceil", "round", "exp", "sqrt")
TRUTHS = ("<", "<=", ">", ">=", "==", "!=", "and", "or", "not")


@dataclass(frozen=True)
class Op:
    """An operation of the core language on terms."""

    name: str
    operands: tuple["Term", ...] = ()


@dataclass(frozen=True)
class Fold:
    """The "sum", "prod", "max", "min" of a body over index = 0, ..., length - 1; "order": its rank-th smallest."""

    kind: str
    index: str
    length: "Term"
    body: "Term"
    rank: "Term"


Term = Constant | Variable | Op | Fold
Path = tuple[Term, ...]
"""Truths on the way to a place."""
Names = Mapping[str, Any]
"""What variables stand for: terms, `_Listed`, `_Growing`, tuples of terms."""


class Duty(NamedTuple):
    """A truth that is to be proved where it stands."""

    condition: Term
    path: Path
    where: str


class _Listed(NamedTuple):
    """A list: its length and its element at an index, or at that rank."""

    place: str
    length: Term
    body: Term
    ordered: bool = False


class _Growing(NamedTuple):
    """A list that a loop appends to, with what the present iteration has appended."""

    items: tuple[Term, ...] = ()


class _Left(NamedTuple):
    """A way that leaves a block: where to, on which path, with which names or which output."""

    label: str
    path: Path
    held: Any


def op(name: str, *operands: Term) -> Op:
    """An operation."""
    return Op(name, operands)


ZERO, ONE = Constant(0), Constant(1)
N = op("n")


def parts(term: Term) -> tuple[Term, ...]:
    """The terms within it."""
    if isinstance(term, Fold):
        return term.length, term.body, term.rank
    return term.operands if isinstance(term, Op) else ()


def within(term: Term) -> Iterator[Term]:
    """The term and all terms within it."""
    yield term
    for part in parts(term):
        yield from within(part)


def rebuilt(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with what `change` gives instead of each part, the outermost first; None where it stays.

    Every fold has an index of its own, so that nothing is captured.
    """
    changed = change(term)
    if changed is not None:
        return changed
    inner = [rebuilt(part, change) for part in parts(term)]
    if isinstance(term, Fold):
        return Fold(term.kind, term.index, *inner)
    return Op(term.name, tuple(inner)) if isinstance(term, Op) else term


def put(term: Term, name: str, value: Term) -> Term:
    """The term with a value for a variable."""
    return rebuilt(term, lambda part: value if part == Variable(name) else None)


def mentions(term: Term, *names: str) -> bool:
    """Whether one of these variables occurs in it."""
    return any(isinstance(part, Variable) and part.name in names for part in within(term))


def private(term: Term) -> bool:
    """Whether it depends on an entry."""
    return any(isinstance(part, Op) and part.name == "entry" for part in within(term))


def is_truth(term: Term) -> bool:
    """Whether it is true or false by its form."""
    match term:
        case Constant(value=bool()):
            return True
        case Op("if", (_, one, two)):
            return is_truth(one) and is_truth(two)
    return isinstance(term, Op) and term.name in TRUTHS


def _countable(term: Term) -> bool:
    """Whether it may be a truth value, of which numpy makes truth values or small numbers, and Python integers."""
    match term:
        case Op("if", (_, one, two)):
            return _countable(one) or _countable(two)
        case Op("max" | "min", operands):
            return any(map(_countable, operands))
        case Fold("max" | "min" | "order", body=body):
            return _countable(body)
    return is_truth(term)


def term_of(core: Core) -> tuple[Term, list[Duty]]:
    """The function's value and what must be proved for it to be that.

    Raises:
        Refused: a statement or an expression that has no form here.
    """
    made = _Execution()
    return made.whole(core), made.duties


def public_term(expression: Expression, parameters: Sequence[str]) -> tuple[Term, list[Duty]]:
    """The same of an expression in n and parameters."""
    made = _Execution()
    return made.number(expression, {name: Variable(name) for name in parameters}, ()), made.duties


class _Execution:
    def __init__(self) -> None:
        self.duties: list[Duty] = []
        self.made = 0
        self.where = "1:0"

    def refuse(self, reason: str) -> Refused:
        line, _, column = self.where.split(">")[-1].partition(":")
        return Refused(int(line), int(column), reason)

    def fresh(self, said: str) -> str:
        self.made += 1
        return f"{said}#{self.made}"

    def require(self, condition: Term, path: Path) -> None:
        self.duties.append(Duty(condition, path, self.where))
        if len(self.duties) > MAX_DUTIES:
            raise self.refuse("too much is to be proved of it")

    # Statements.

    def whole(self, core: Core) -> Term:
        i = self.fresh("i")
        names: dict[str, Any] = {name: Variable(name) for name in core.parameters}
        names[core.data] = _Listed(i, N, op("entry", Variable(i)))
        fallen, left = self.block(core.body, names, ())
        if fallen is not None or not left or any(way.label != "return" for way in left):
            raise self.refuse("a way through the function does not return")
        value = left[-1].held
        for way in reversed(left[:-1]):  # in the order in which they are reached, so that the first that applies is it
            value = op("if", _all(way.path), way.held, value)
        return value

    def block(
        self, statements: Sequence[Statement], names: Names, path: Path
    ) -> tuple[tuple[Path, Names] | None, list[_Left]]:
        """The path and the names behind statements, None if no way leads there, and the ways that leave."""
        left: list[_Left] = []
        for each in statements:
            self.where = getattr(each, "position", self.where).removeprefix("empty@")
            behind: tuple[Path, Names] | None = path, names
            match each:
                case Leave(label):
                    return None, [*left, _Left(label, path, names)]
                case Return(Constant(special="error")):
                    self.require(Constant(False), path)
                    return None, left
                case Return(value):
                    return None, [*left, _Left("return", path, self.number(value, names, path))]
                case Branch(test, then, otherwise):
                    taken, ways = self.truth(test, names, path), list[tuple[Path, Names]]()
                    for truth, arm in ((taken, then), (op("not", taken), otherwise)):
                        fallen, more = self.block(arm, names, (*path, truth))
                        left += more
                        ways += [fallen] if fallen else []
                    behind = self.joined(ways, path)
                case Block(label, body, local):
                    outer = {name: value for name, value in names.items() if name not in local}
                    fallen, more = self.block(body, outer, path)
                    ways = [(way.path, way.held) for way in more if way.label == label] + ([fallen] if fallen else [])
                    left += [way for way in more if way.label != label]
                    behind = self.joined(ways, path)
                case Loop():
                    names = self.loop(each, names, path)
                case Assign(name, value) if not name.startswith("count@"):
                    names = {**names, name: self.value(value, names, path)}
                case Append(name, value) if isinstance(names.get(name), _Growing):
                    names = {**names, name: _Growing((*names[name].items, self.number(value, names, path)))}
                case _:
                    raise self.refuse("this statement has no form here")
            if behind is None:
                return None, left
            path, names = behind if isinstance(each, Branch | Block) else (path, names)
        return (path, names), left

    def joined(self, ways: Sequence[tuple[Path, Names]], path: Path) -> tuple[Path, Names] | None:
        """The names where ways meet that begin behind `path`, in the order in which they are reached."""
        if len(ways) < 2:
            return ways[0] if ways else None
        found = dict(ways[-1][1])
        for way, names in reversed(ways[:-1]):
            for name, other in list(found.items()):
                one = names.get(name)
                if one != other:
                    both = isinstance(one, Term) and isinstance(other, Term)
                    found[name] = Op("if", (_all(way[len(path) :]), one, other)) if both else None  # type: ignore[arg-type]
        return path, found

    # Loops.

    def loop(self, loop: Loop, names: Names, path: Path) -> Names:
        where = self.where
        counter, length = self.counted(loop, names)
        self.require(op("<=", ZERO, length), path)
        i = self.fresh("i")
        changed = assigned(loop.body)
        held = {name: names[name] for name in changed if name in names}
        inner: dict[str, Any] = {**names, counter: Variable(i)}
        for name, value in held.items():
            state = Variable(self.fresh("s")) if isinstance(value, Term) else None
            inner[name] = _Growing() if value == () else state
        states = [value.name for name in held if isinstance(value := inner[name], Variable)]
        inside = (*path, *_inside(i, length))
        fallen, left = self.block(loop.body, inner, inside)
        self.where = where
        if any(way.label != "continue" for way in left):
            raise self.refuse("a loop that is left before its end")
        ends = [(way.path, way.held) for way in left] + ([fallen] if fallen else [])
        after = (self.joined(ends, inside) or (path, dict[str, Any]()))[1]
        found = {name: value for name, value in names.items() if name not in changed and name != counter}
        for name in sorted(held):
            found[name] = self.folded(inner[name], held[name], after.get(name), states, i, length, path)
        return found

    def counted(self, loop: Loop, names: Names) -> tuple[str, Term]:
        """The counter of a loop that counts it from 0, and how often it runs."""
        match loop:
            case Loop((), Operation("<", (Variable(counter), Variable(limit))), body, (Assign(stepped, step),)):
                one_more = isinstance(step, Operation) and (step.operator, step.operands)
                begun = names.get(counter) == ZERO and not {counter, limit} & assigned(body)
                if begun and stepped == counter and one_more == ("+", (Variable(counter), ONE)):
                    return counter, names[limit]
        raise self.refuse("a loop that is not over a list or a range")

    def folded(
        self, state: Any, start: Any, update: Any, states: Sequence[str], i: str, length: Term, path: Path
    ) -> Any:
        """What a variable is behind a loop; None where that is not known, and it may not be used there."""
        if isinstance(state, _Growing) and isinstance(update, _Growing):
            alone = len(update.items) == 1 and not mentions(update.items[0], *states)
            return _Listed(i, length, update.items[0]) if alone else None
        if not isinstance(state, Variable) or not isinstance(update, Term):
            return None
        if update == state:
            return start
        first = op("==", Variable(i), ZERO)
        for kind, body in (
            ("sum", _added(update, state)),
            ("prod", _multiplied(update, state)),
            _extreme(update, state, first),
        ):
            if body is None or mentions(body, *states):
                continue
            if kind == "sum":
                return op("+", start, _summed(i, length, body))
            if kind == "prod":
                return op("*", start, Fold(kind, i, length, body, ZERO))
            unseen = isinstance(update, Op) and update.operands[0] == op("or", first, *parts(update.operands[0])[1:])
            if unseen or start == Constant(None, {"max": "-inf", "min": "inf"}[kind]):
                self.require(op("<", ZERO, length), path)
                return Fold(kind, i, length, body, ZERO)
            return op("if", op("<", ZERO, length), op(kind, start, Fold(kind, i, length, body, ZERO)), start)
        return None

    # Expressions.

    def number(self, expression: Expression, names: Names, path: Path) -> Term:
        value = self.value(expression, names, path)
        if not isinstance(value, Term):
            raise self.refuse("a number belongs here")
        return value

    def truth(self, expression: Expression, names: Names, path: Path) -> Term:
        value = self.number(expression, names, path)
        return value if is_truth(value) else op("!=", value, ZERO)

    def listed(self, expression: Expression, names: Names, path: Path) -> _Listed:
        value = self.value(expression, names, path)
        if not isinstance(value, _Listed):
            raise self.refuse("a list of any length belongs here")
        return value

    def value(self, expression: Expression, names: Names, path: Path) -> Any:
        if isinstance(expression, Constant):
            if isinstance(expression.value, int | Fraction) or expression.special in ("inf", "-inf"):
                return expression
            raise self.refuse("a text or None")
        if isinstance(expression, Variable):
            if names.get(expression.name) is None:
                raise self.refuse(f"{expression.name.partition('@')[0]} has no value that is known here")
            return names[expression.name]
        if isinstance(expression, Elementwise):
            return self.elementwise(expression, names, path)
        self.where = expression.position or self.where
        return self.operation(expression.operator, expression.operands, names, path)

    def operation(self, name: str, operands: Sequence[Expression], names: Names, path: Path) -> Any:
        match name:
            case "if":
                test = self.truth(operands[0], names, path)
                one = self.number(operands[1], names, (*path, test))
                return op("if", test, one, self.number(operands[2], names, (*path, op("not", test))))
            case "and" | "or":
                found = list[Term]()
                for each in operands:
                    found.append(self.number(each, names, path))
                    if not is_truth(found[-1]):
                        raise self.refuse(f"`{name}` of numbers")
                    path = (*path, found[-1] if name == "and" else op("not", found[-1]))
                return op(name, *found)
            case "not":
                return op("not", self.truth(operands[0], names, path))
            case "bool":
                return self.truth(operands[0], names, path)
            case "length":
                return self.listed(operands[0], names, path).length
            case "item":
                listed, place = self.listed(operands[0], names, path), self.number(operands[1], names, path)
                if private(place):
                    raise self.refuse("a position that depends on the data")
                self.require(op("<=", ZERO, place), path)
                self.require(op("<", place, listed.length), path)
                return self.at(listed, place)
            case "range":
                i = self.fresh("i")
                return _Listed(i, self.number(operands[0], names, path), Variable(i))
            case "repeat":
                value, count = (self.number(each, names, path) for each in operands)
                return _Listed(self.fresh("i"), op("max", ZERO, count), value)
            case "list":
                return tuple(self.number(each, names, path) for each in operands)
            case "sorted":
                return self.listed(operands[0], names, path)._replace(ordered=True)
            case "median":
                listed = self.listed(operands[0], names, path)._replace(ordered=True)
                self.require(op("<", ZERO, listed.length), path)
                half = op("//", listed.length, Constant(2))
                upper, lower = self.at(listed, half), self.at(listed, op("-", half, ONE))
                odd = op("==", op("%", listed.length, Constant(2)), ONE)
                return op("if", odd, upper, op("/", op("+", lower, upper), Constant(2)))
        values = [self.number(each, names, path) for each in operands]
        if name == "size":
            self.require(op("<=", ZERO, values[0]), path)
        elif name in ("/", "//", "%"):
            self.require(op("!=", values[1], ZERO), path)
        elif name in ("log", "log1p", "sqrt"):
            self.require(op("<=" if name == "sqrt" else "<", Constant(-int(name == "log1p")), values[0]), path)
        if name in _COUNTING and all(map(_countable, values)):
            raise self.refuse("what may be truth values adds up otherwise in numpy than in Python")
        return values[0] if name in ("size", "float") else op(name, *values)

    def elementwise(self, made: Elementwise, names: Names, path: Path) -> _Listed:
        sources = [self.listed(each, names, path) for each in made.sources]
        i, length = self.fresh("i"), sources[0].length
        for other in sources[1:]:
            self.require(op("==", other.length, length), path)
        items = {name: self.at(each, Variable(i)) for name, each in zip(made.parameters, sources, strict=True)}
        inside = (*path, *_inside(i, length))
        return _Listed(i, length, self.number(made.body, {**names, **items}, inside))

    def at(self, listed: _Listed, place: Term) -> Term:
        if not listed.ordered:
            return put(listed.body, listed.place, place)
        i = self.fresh("i")
        return Fold("order", i, listed.length, put(listed.body, listed.place, Variable(i)), place)


def _inside(i: str, length: Term) -> Path:
    """An index is one: that it is whole is said by what it can be at most."""
    return op("<=", ZERO, Variable(i)), op("<=", Variable(i), op("-", length, ONE))


def _all(path: Path) -> Term:
    return Constant(True) if not path else path[0] if len(path) == 1 else op("and", *path)


def _added(update: Term, s: Variable) -> Term | None:
    """The g of s + g, however it is written; None where it is not that."""
    match update:
        case Variable() if update == s:
            return ZERO
        case Op("if", (test, *arms)) if not mentions(test, s.name):
            one, two = (_added(arm, s) for arm in arms)
            return None if one is None or two is None else op("if", test, one, two)
        case Op("+" | "-" as sign, (left, right)) if not mentions(right, s.name):
            inner = _added(left, s)
            return None if inner is None else op(sign, inner, right)
        case Op("+", (left, right)) if not mentions(left, s.name):
            inner = _added(right, s)
            return None if inner is None else op("+", left, inner)
    return None


def _multiplied(update: Term, s: Variable) -> Term | None:
    """The g of s g."""
    match update:
        case Op("*", (one, two)) if s in (one, two):
            other = two if one == s else one
            return None if mentions(other, s.name) else other
    return None


def _extreme(update: Term, s: Variable, first: Term) -> tuple[str, Term | None]:
    """("max", g) for max(s, g) or min, as a call or as `if`, the first of which may be taken unseen."""
    match update:
        case Op("max" | "min" as kind, (one, two)) if s in (one, two):
            other = two if one == s else one
            return kind, None if mentions(other, s.name) else other
        case Op("if", (Op("or", (begun, test)), one, two)) if begun == first and two == s:
            return _extreme(op("if", test, one, two), s, first)
        case Op("if", (Op("<" | "<=" | ">" | ">=" as sign, (a, b)), one, two)) if s in (one, two):
            other = two if one == s else one
            if (a, b) in ((one, two), (two, one)) and not mentions(other, s.name):
                return ("max" if (sign[0] == ">") == (a == one) else "min"), other  # `a if a > b else b` is the larger
    return "", None


def _summed(i: str, length: Term, body: Term) -> Term:
    """A sum; what all its terms share is taken out of it where that is a polynomial."""
    shared = any(not mentions(part, i) and (part == body or private(part)) for part in within(body))
    terms = _expanded(body, i) if shared else [(ONE, body)]
    found: Term = ZERO
    for factor, rest in terms:
        found = op("+", found, op("*", factor, length if rest == ONE else Fold("sum", i, length, rest, ZERO)))
    return found


def _expanded(term: Term, i: str) -> list[tuple[Term, Term]]:
    """The term as a sum of products: a factor without the index, and a rest with it (or 1)."""
    match term:
        case _ if not mentions(term, i):
            return [(term, ONE)]
        case Op("+" | "-" as sign, (one, two)):
            factor = Constant(1 if sign == "+" else -1)
            return _expanded(one, i) + [(op("*", factor, each), rest) for each, rest in _expanded(two, i)]
        case Op("negate", (one,)):
            return [(op("negate", factor), rest) for factor, rest in _expanded(one, i)]
        case Op("*", (one, two)):
            pairs = [(a, b) for a in _expanded(one, i) for b in _expanded(two, i)]
            return [(_product(a[0], b[0]), _product(a[1], b[1])) for a, b in pairs]
        case Op("/", (one, two)) if not mentions(two, i):
            return [(op("/", factor, two), rest) for factor, rest in _expanded(one, i)]
        case Op("**", (one, Constant(value=int() as power))) if 1 < power <= MAX_POWER:
            return _expanded(op("*", one, op("**", one, Constant(power - 1)) if power > 2 else one), i)
    return [(ONE, term)]


def _product(one: Term, two: Term) -> Term:
    return two if one == ONE else one if two == ONE else op("*", one, two)
