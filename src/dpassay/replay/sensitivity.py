"""Checks that a function of a list moves by at most a bound when one entry changes, for lists of every length.

Inputs: {"program": {"text", "entry", "data": "list" or "array"}, "parameters": {name: "real" or "int"}, "relation":
{"kind", "bounds": [low, high] or null}, "assume": [condition on n and the parameters], "bound": an expression in them}.
A parameter that is not listed stands for its default. n is the number of entries, of the smaller list where one is
added.

The text is read anew (`replay.program_reader`) and folded into one term (`replay.aggregates`). Entry j is v in the one
list and w in the other; every fold is split into the terms that see entry j and a rest that does not, of which only
what is true of all lists is said: a sum's rest lies between its number of terms times the least and the largest term, a
maximum's rest is one of its terms, the k-th smallest of all is the changed one between two neighbors in the order of
the others. So whatever follows for all v, w and rests holds for all lists. z3 and cvc5 must both prove it, and that the
function is defined. Numbers are reals, integers too: what holds for all reals holds for integers.
"""

import ast
import functools
import hashlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.aggregates import (
    Duty,
    Fold,
    N,
    Op,
    Term,
    is_truth,
    mentions,
    private,
    public_term,
    rebuilt,
    term_of,
    within,
)
from dpassay.replay.numbers import down, fields, fraction, precision, rational, up
from dpassay.replay.program_core import Constant, Core, Expression, Operation, Refused, Variable
from dpassay.replay.program_reader import read
from dpassay.replay.proof import satisfiable, unsatisfiable
from dpassay.replay.statement_text import assumptions, listed, repeated
from dpassay.replay.symbolic_terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Number,
    Symbols,
    both,
    either,
    implies,
    literal,
    negation,
    of_symbol,
    same,
)

MILLISECONDS = 4000
RELATIONS = {
    "replace_one:entry": False,
    "replace_one:record": False,
    "add_or_remove_one:entry": True,
    "add_or_remove_one:record": True,
}
"""Relation -> whether one list has an entry more."""

Names = Mapping[str, Number]


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Proves the bound anew; raises `Rejected` where a condition is not proved."""
    fields(inputs, "a sensitivity", ("program", "parameters", "relation", "assume", "bound"))
    fields(inputs["program"], "a program", ("text", "entry", "data"))
    fields(inputs["relation"], "a relation", ("kind", "bounds"))
    if inputs["program"]["data"] not in ("list", "array"):
        raise Rejected("the data are a list or an array")
    if inputs["relation"]["kind"] not in RELATIONS:
        raise Rejected(f"unknown relation {inputs['relation']['kind']!r}")
    if not set(inputs["parameters"].values()) <= {"real", "int"}:
        raise Rejected("a parameter is real or int")
    try:
        core = read(inputs["program"]["text"], inputs["program"]["entry"], inputs["program"]["data"])
        value, duties = term_of(core)
        with precision():
            conditions = _Proof(inputs, core, value, duties).conditions()
    except Refused as refusal:
        raise Rejected(f"the program is not understood here: {refusal}") from None
    return {
        "supports": "holds",
        "statement": statement(inputs, core),
        "conditions": conditions,
        "summary": f"the function was read again; {len(conditions)} conditions proved by z3 and cvc5",
    }


def statement(inputs: Mapping[str, Any], core: Core) -> str:
    """The claim in words, from the inputs alone."""
    program, relation = inputs["program"], inputs["relation"]
    digest = hashlib.sha256(program["text"].encode()).hexdigest()
    sorts = "".join(f", {name}: {sort}" for name, sort in inputs["parameters"].items())
    fixed = [f"{name} = {core.defaults[name]}" for name in core.parameters if name not in inputs["parameters"]]
    ends = relation["bounds"]
    within = "any reals" if ends is None else "in [{}, {}]".format(*listed(ends, "bounds"))
    assumed = " and ".join([f"n >= {0 if RELATIONS[relation['kind']] else 1}", *assumptions(inputs["assume"]), *fixed])
    bound = repeated(inputs["bound"])
    return (
        f"{program['entry']}(data{sorts}) of the program with SHA-256 {digest} moves by at most {bound} in "
        f"absolute value for {relation['kind']} of n entries, {within} (data: {program['data']}), if {assumed}"
    )


# Public expressions.

_WORDS = {"Abs": "abs", "Max": "max", "Min": "min", "ceiling": "ceil"}
_FUNCTIONS = ("abs", "max", "min", "sqrt", "exp", "log", "floor", "ceil", "sin", "cos", "atan", "tanh")
_OPERATORS: Mapping[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_COMPARED: Mapping[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="
}  # fmt: skip


def _expression(text: str, parameters: Mapping[str, Any]) -> Expression:
    """A public expression or condition in n and the parameters.

    Raises:
        Rejected: it is none.
    """

    def op(name: str, *operands: Expression) -> Expression:
        return Operation(name, operands, "")

    def of(node: ast.AST) -> Expression:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Constant(fraction(rational(repr(value))))
            case ast.Name(id="n" | "pi" as name):
                return op(name)
            case ast.Name(id=name) if name in parameters:
                return Variable(name)
            case ast.Name(id="e" | "E"):
                return op("exp", Constant(1))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return op("negate", of(operand))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return op(_OPERATORS[type(operator)], of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if _WORDS.get(name, name) in _FUNCTIONS:
                return op(_WORDS.get(name, name), *map(of, given))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(each) in _COMPARED for each in ops):
                sides = [of(left), *map(of, others)]
                return op("and", *(op(_COMPARED[type(o)], *sides[k : k + 2]) for k, o in enumerate(ops)))
        raise Rejected(f"{ast.unparse(node)} is not understood in {text!r}")

    try:
        return of(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise Rejected(f"{text!r} is no expression") from None


# Terms as numbers.

_INCREASING: Mapping[str, Callable[[arb], arb]] = {"exp": arb.exp, "log": arb.log, "atan": arb.atan, "tanh": arb.tanh}
_AT: Mapping[tuple[str, Any], int] = {("exp", 0): 1, ("log", 1): 0, ("atan", 0): 0, ("tanh", 0): 0}
_SPELLED = {"arctan": "atan", "fabs": "abs", "absolute": "abs"}


class _Numbers:
    """What terms are as numbers, in any list: its entries are known to lie within bounds, and no more."""

    def __init__(self, symbols: Symbols, bounds: Any, n: Number, known: list[str]) -> None:
        self.symbols, self.bounds, self.n, self.known = symbols, bounds, n, known
        self.applications: dict[str, dict[Number, Number]] = {name: {} for name in _INCREASING}

    def entry(self, place: Number) -> Number:
        return self.symbols.defined(("entry", place), "entry", "r", self.inside)

    def inside(self, made: Number) -> list[str]:
        return self.between(made, *(None if end is None else literal(end) for end in self.bounds))

    def between(self, made: Number, low: Number | None, high: Number | None) -> list[str]:
        ends = ((">=", low), ("<=", high))
        return [self.symbols.compare(sign, made - end) for sign, end in ends if end is not None]

    def one_of(self, which: str, fold: Fold, names: Names, length: Number) -> Number:
        """One of the terms of a fold, if it has some: at an index that is not known, in any list."""
        symbols = self.symbols
        i = symbols.defined(
            ("one of", which, fold, length, self.seen_by(fold, names)),
            "one",
            "r",
            lambda i: [
                implies(symbols.compare(">=", length - ONE), formula)
                for formula in (symbols.compare(">=", i), symbols.compare("<=", i - length + ONE))
            ],
        )
        return _Numbers.number(self.anywhere, fold.body, {**names, fold.index: i})

    @property
    def anywhere(self) -> "_Numbers":
        return self

    def seen_by(self, fold: Fold, names: Names) -> frozenset[tuple[str, Number]]:
        """What the names in a fold stand for."""
        return frozenset((name, value) for name, value in names.items() if mentions(fold, name))

    def fold(self, fold: Fold, names: Names) -> Number:
        length = self.number(fold.length, names)
        if fold.kind in ("sum", "prod"):
            return self.joined(fold, names, length, length)
        return self.one_of("it", fold, names, length)

    def joined(self, fold: Fold, names: Names, length: Number, count: Number) -> Number:
        """The sum or product of `count` of a fold's terms: between so many times one term and another.

        A product of what lies between 0 and 1, or -1 and 1, lies there too.
        """
        symbols = self.symbols
        if count == ZERO:
            return ZERO if fold.kind == "sum" else ONE
        low, high = (self.one_of(which, fold, names, length) for which in ("least", "largest"))

        def axioms(made: Number) -> list[str]:
            if fold.kind == "sum":
                ends = both(symbols.compare(">=", count), *self.between(made, low * count, high * count))
                return [implies(symbols.compare(">=", length), ends)]  # of a length below 0 there is no sum
            found = []
            for end in (ZERO, -ONE):
                terms = both(symbols.compare(">=", low - end), symbols.compare("<=", high - ONE))
                found.append(implies(terms, both(*self.between(made, end, ONE))))
            return found

        key = ("joined", fold, count, self.seen_by(fold, names))
        return symbols.defined(key, "joined", "r", axioms)

    def number(self, term: Term, names: Names) -> Number:
        if isinstance(term, Constant):
            if not isinstance(term.value, int | Fraction):
                raise Rejected("infinity is no number here")
            return literal(Fraction(term.value))
        if isinstance(term, Variable):  # what is no name is the state of a loop or an index, of which nothing is known
            state = ("state", term.name)
            return names[term.name] if term.name in names else self.symbols.defined(state, "state", "r", lambda _: ())
        if isinstance(term, Fold):
            return self.fold(term, names)
        if is_truth(term):
            return self.symbols.choice(self.truth(term, names), ONE, ZERO)
        if term.name == "entry":
            return self.entry(self.number(term.operands[0], names))
        if term.name == "if":
            one, two = (self.number(each, names) for each in term.operands[1:])
            return self.symbols.choice(self.truth(term.operands[0], names), one, two)
        return self.applied(_SPELLED.get(term.name, term.name), [self.number(each, names) for each in term.operands])

    def applied(self, name: str, values: list[Number]) -> Number:
        symbols = self.symbols
        match name, values:
            case "n", []:
                return self.n
            case "pi", []:
                return self.enclosed(("pi",), arb.pi())
            case "+", [x, y]:
                return x + y
            case "-", [x, y]:
                return x - y
            case "*", [x, y]:
                return x * y
            case "negate", [x]:
                return -x
            case "/", [x, y]:
                return symbols.defined(("by 0", x), "by0", "r", lambda _: ()) if y == ZERO else x * symbols.inverse(y)
            case "//", [x, y]:
                return symbols.floor(self.applied("/", [x, y]))
            case "%", [x, y]:
                return x - y * self.applied("//", [x, y])
            case "**", [x, y] if y.constant is not None and y.constant in range(9):
                return functools.reduce(lambda made, _: made * x, range(int(y.constant)), ONE)
            case "abs", [x]:
                return symbols.absolute(x)
            case "floor", [x]:
                return symbols.floor(x)
            case "ceil", [x]:
                return -symbols.floor(-x)
            case "int", [x]:
                return symbols.choice(symbols.compare(">=", x), symbols.floor(x), -symbols.floor(-x))
            case "round", [x]:
                half = literal(Fraction(1, 2))
                return symbols.defined(("round", x), "round", "i", lambda made: self.between(made, x - half, x + half))
            case "max" | "min", [x, *others]:
                sign = ">=" if name == "max" else "<="
                return functools.reduce(lambda a, b: symbols.choice(symbols.compare(sign, a - b), a, b), others, x)
            case "sqrt", [x]:
                return symbols.applied("sqrt", [x])
            case "log1p", [x]:
                return self.increasing("log", x + ONE)
            case "expm1", [x]:
                return self.increasing("exp", x) - ONE
            case "exp" | "log" | "atan" | "tanh", [x]:
                return self.increasing(name, x)
            case "sin" | "cos", [x]:
                return symbols.defined((name, x), name, "r", lambda made: self.between(made, -ONE, ONE))
        raise Rejected(f"{name} is not understood here")

    def enclosed(self, key: Any, ball: arb) -> Number:
        ends = [literal(Fraction(end(ball))) for end in (down, up)] if ball.is_finite() else [None, None]
        return self.symbols.defined(key, key[0], "r", lambda made: self.between(made, *ends))

    def increasing(self, name: str, x: Number) -> Number:
        """A function that increases: what is known of it is its order, and its values at numbers."""
        if (name, x.constant) in _AT:
            return literal(_AT[name, x.constant])
        seen, above = self.applications[name], self.symbols.compare
        if x not in seen and x.constant is not None:
            at = arb(fmpq(x.constant.numerator, x.constant.denominator))
            seen[x] = self.enclosed((name, x), _INCREASING[name](at))
        elif x not in seen:
            exp = name == "exp"
            seen[x] = self.symbols.defined(
                (name, x), name, "r", lambda y: [above(">", y), above(">=", y - x - ONE)] if exp else []
            )
        return seen[x]

    def order(self) -> list[str]:
        """The values of increasing functions stand in the order of their arguments."""
        found, compare = [], self.symbols.compare
        for name, seen in self.applications.items():
            listed = [*seen.items(), *((literal(at), literal(value)) for (f, at), value in _AT.items() if f == name)]
            for place, (x, fx) in enumerate(listed):
                for y, fy in listed[:place]:
                    order = both(*(same(compare(sign, x - y), compare(sign, fx - fy)) for sign in ("<", "==")))
                    defined = both(compare(">", x), compare(">", y)) if name == "log" else TRUE
                    found.append(implies(defined, order))
        return found

    def truth(self, term: Term, names: Names) -> str:
        match term:
            case Constant(value=bool() as value):
                return TRUE if value else FALSE
            case Op("and" | "or" as name, operands):
                return (both if name == "and" else either)(*(self.truth(each, names) for each in operands))
            case Op("not", (one,)):
                return negation(self.truth(one, names))
            case Op("<" | "<=" | ">" | ">=" | "==" | "!=" as sign, (one, two)):
                return self.symbols.compare(sign, self.number(one, names) - self.number(two, names))
        return self.symbols.compare("!=", self.number(term, names))


class _Changed(_Numbers):
    """What terms are in one of two neighbors: entry j is v in the first and w in the second, or w is there besides."""

    def __init__(self, whole: _Numbers, side: int, grows: bool) -> None:
        super().__init__(whole.symbols, whole.bounds, whole.n + (ONE if grows and side else ZERO), whole.known)
        self.whole, self.side, self.grows, self.applications = whole, side, grows, whole.applications
        self.j = whole.symbols.defined("j", "j", "r", lambda j: ())
        self.own = whole.symbols.defined(("own", side or grows), "w" if side else "v", "r", self.inside)
        if not grows:
            whole.known += [whole.symbols.compare(">=", self.j), whole.symbols.compare("<=", self.j - whole.n + ONE)]

    @property
    def anywhere(self) -> _Numbers:
        return self.whole

    def entry(self, place: Number) -> Number:
        if self.grows:
            raise Rejected("an entry at a position of its own has no form here where lists grow")
        if (place - self.j).constant is not None:
            return self.own if place == self.j else self.whole.entry(place)
        return self.symbols.choice(self.symbols.equal(place, self.j), self.own, self.whole.entry(place))

    def fold(self, fold: Fold, names: Names) -> Number:
        if any(isinstance(part, Fold) for part in within(fold.body)) or private(fold.length) or private(fold.rank):
            raise Rejected("sums within sums, or of what all entries share, have no form here")
        length = self.number(fold.length, names)
        if self.grows:
            return self.grown(fold, names, length)
        seen = self.seen(fold, names, length)
        count = length
        for inside, _ in seen:
            count = count - self.symbols.choice(inside, ONE, ZERO)
        if fold.kind == "order":
            if len(seen) != 1 or seen[0][0] != TRUE:
                raise Rejected("an order of part of the entries has no form here")
            return self.clamped(fold, names, seen[0][1], length)
        return self.split(fold, names, seen, count, length)

    def seen(self, fold: Fold, names: Names, length: Number) -> list[tuple[str, Number]]:
        """The terms that see entry j: whether each is there, and its value."""
        symbols, places = self.symbols, list[tuple[Fraction, Number]]()
        i = symbols.fresh("index", "r")
        for position in _positions(fold.body):
            at = self.whole.number(position, {**names, fold.index: i})
            slope = dict(at.terms).get(i.terms[0][0], Fraction(0))
            start = at - literal(slope) * i
            if slope.denominator > 1 or not slope or self.depends(start, i):
                raise Rejected("a position that is not a number times its index plus a number")
            places += [(slope, start)] * ((slope, start) not in places)
        if any(k != m or (a - b).constant is None for k, a in places for m, b in places):
            raise Rejected("positions whose distance is not known")  # no two of them see entry j at one index
        terms = []
        for slope, start in places:
            place = (self.j - start) * literal(1 / slope)
            place = place if abs(slope) == 1 else symbols.floor(place)
            inside = [symbols.compare(">=", place), symbols.compare("<=", place - length + ONE)]
            hit = symbols.equal(literal(slope) * place + start, self.j)
            value = self.number(fold.body, {**names, fold.index: place})
            terms.append((both(hit, *(each for each in inside if each not in self.known)), value))
        return terms

    def depends(self, number: Number, on: Number) -> bool:
        """Whether a number's symbols, or what their axioms say, have another number's."""
        wanted = {name for monomial, _ in on.terms for name, _ in monomial}
        return bool(wanted & self.symbols.occurring(self.symbols.query([self.symbols.compare("==", number)])))

    def split(self, fold: Fold, names: Names, seen: list[tuple[str, Number]], count: Number, length: Number) -> Number:
        """A fold over terms that see the entry, and `count` others, which are the same in both lists."""
        symbols = self.symbols
        if fold.kind in ("sum", "prod"):
            total = self.whole.joined(fold, names, length, count)
            for inside, value in seen:
                total = (
                    total + symbols.choice(inside, value, ZERO)
                    if fold.kind == "sum"
                    else (total * symbols.choice(inside, value, ONE))
                )
            return total
        sign = ">=" if fold.kind == "max" else "<="
        ways = [*seen, (symbols.compare(">=", count - ONE), self.one_of("extreme", fold, names, length))]
        said = symbols.symbol("extreme", "r")
        made = of_symbol(said)
        symbols.axioms[said] += [implies(there, symbols.compare(sign, made - value)) for there, value in ways]
        one = either(*(both(there, symbols.equal(made, value)) for there, value in ways))
        symbols.axioms[said].append(implies(symbols.compare(">=", length - ONE), one))
        return made

    def clamped(self, fold: Fold, names: Names, x: Number, length: Number) -> Number:
        """The k-th smallest with x is x itself, between the others of rank k - 1 and k, as far as there are such."""
        symbols, rank = self.symbols, self.number(fold.rank, names)
        before, behind = (self.one_of(which, fold, names, length) for which in ("before", "behind"))
        first, last = symbols.compare("<=", rank), symbols.compare(">=", rank - length + ONE)
        self.known.append(either(first, last, symbols.compare("<=", before - behind)))
        low = symbols.choice(first, x, self.applied("max", [x, before]))
        return symbols.choice(last, low, self.applied("min", [low, behind]))

    def grown(self, fold: Fold, names: Names, length: Number) -> Number:
        """Over all entries, whatever their order; in the second list w is one more of them."""
        alone = rebuilt(fold.body, lambda part: Variable("w#") if _is_entry(part) else None)
        if _positions(fold.body) != [Variable(fold.index)] or mentions(alone, fold.index) or N in within(alone):
            raise Rejected("a term that depends on its place or on n has no form here where lists grow")
        if length != self.n:
            raise Rejected("part of a list that grows has no form here")
        own, n = self.number(alone, {**names, "w#": self.own}), self.whole.n
        if fold.kind != "order":
            return self.split(fold, names, [(TRUE, own)] if self.side else [], n, n)
        kept = self.one_of("old", fold, names, n)
        if self.side:  # of rank k among the n others: `behind` what is put in at rank k, `before` it at rank k + 1
            made = self.clamped(fold, names, own, length)
            risen = self.number(fold.rank, names) - _Changed(self.whole, 0, True).number(fold.rank, names)
            for step, which in ((ZERO, "behind"), (ONE, "before")):
                beside = self.symbols.equal(kept, self.one_of(which, fold, names, length))
                self.known.append(implies(self.symbols.equal(risen, step), beside))
        return made if self.side else kept


def _is_entry(term: Term) -> bool:
    return isinstance(term, Op) and term.name == "entry"


def _positions(term: Term) -> list[Term]:
    return list(dict.fromkeys(part.operands[0] for part in within(term) if isinstance(part, Op) and _is_entry(part)))


# The proof.


class _Proof:
    def __init__(self, inputs: Mapping[str, Any], core: Core, value: Term, duties: list[Duty]) -> None:
        self.inputs, self.value, self.duties = inputs, value, duties
        self.grows = RELATIONS[inputs["relation"]["kind"]]
        self.parameters = inputs["parameters"]
        missing = set(core.parameters) - set(self.parameters)
        if not missing <= set(core.defaults) or not set(self.parameters) <= set(core.parameters):
            raise Rejected(f"the parameters are {', '.join(core.parameters)}")
        if "n" in core.parameters:
            raise Rejected("a parameter is called n")
        self.defaults: dict[str, Any] = {name: core.defaults[name] for name in missing}
        ends = inputs["relation"]["bounds"] or (None, None)
        low, high = self.bounds = [None if end is None else fraction(rational(end)) for end in ends]
        if low is not None and high is not None and low >= high:
            raise Rejected("the first bound is below the second: there are no neighbors else")

    def start(self, some: bool) -> tuple[_Numbers, dict[str, Number]]:
        """Numbers of which only the assumptions are known: n is 1 or more, or else 0."""
        symbols = Symbols()
        n = symbols.fresh("n", "r") if some else ZERO
        whole = _Numbers(symbols, self.bounds, n, [symbols.compare(">=", n - ONE)] * some)
        names = {name: symbols.fresh(name, "r") for name in self.parameters}
        names |= {name: whole.number(default, {}) for name, default in self.defaults.items()}
        for text in self.inputs["assume"]:
            condition, duties = public_term(_expression(text, self.parameters), list(self.parameters))
            if not is_truth(condition) or duties:
                raise Rejected(f"{text!r} is no condition that is always defined")
            whole.known.append(whole.truth(condition, names))
        return whole, names

    def conditions(self) -> list[str]:
        """What was proved, in words."""
        whole, _ = self.start(True)
        if not satisfiable(whole.symbols.query([*whole.known, *whole.order()]), MILLISECONDS):
            raise Rejected("nothing is known to meet the assumptions")
        said = self.inputs["bound"]
        bound, duties = public_term(_expression(said, self.parameters), list(self.parameters))
        for some in (False, True)[1 - self.grows :]:
            self.defined(duties, f"{said} is not proved to be defined", ZERO, some)
            for more in (ZERO, ONE)[: 1 + self.grows]:
                self.defined(self.duties, "not proved to be defined at {}", more, some)
            moved = self.moved(bound, some)
        return [
            *(f"defined at {where}" for where in dict.fromkeys(each.where for each in self.duties)),
            *moved,
        ]

    def defined(self, duties: list[Duty], failing: str, more: Number, some: bool) -> None:
        """Shows it for every list of n entries, or of one more."""
        whole, names = self.start(some)
        whole.n = whole.n + more
        for duty in dict.fromkeys(duties):
            path = [whole.truth(each, names) for each in duty.path]
            self.show(whole, path, whole.truth(duty.condition, names), failing.format(duty.where))

    def moved(self, bound: Term, some: bool) -> list[str]:
        """Shows the bound."""
        whole, names = self.start(some)
        limit = whole.number(bound, names)
        old, new = (_Changed(whole, side, self.grows).number(self.value, names) for side in (0, 1))
        moves = {"new - old": new - old}
        if self.grows:  # in a replacement old and new can change places
            moves["old - new"] = old - new
        for what, gap in moves.items():
            held = whole.symbols.compare("<=", gap - limit)
            self.show(whole, [], held, f"{what} <= {self.inputs['bound']} is not proved")
        return [f"{what} <= {self.inputs['bound']}" for what in moves]

    def show(self, whole: _Numbers, path: list[str], condition: str, failing: str) -> None:
        """Both solvers prove a condition, or it is rejected."""
        asserted = [*whole.known, *whole.order(), *path, negation(condition)]
        if FALSE in asserted:  # what cannot be, without entries perhaps; that some lists are as assumed was shown
            return
        text = whole.symbols.query(asserted)
        if " Int" not in text and "declare-fun" not in text:
            text = text.replace("(set-logic ALL)", "(set-logic QF_NRA)", 1)
        if not unsatisfiable(text, MILLISECONDS):
            raise Rejected(failing)
