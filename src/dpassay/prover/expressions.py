"""The certificate's expressions: their value in a state of the search, and a term of the search written as one."""

import ast
from fractions import Fraction
from typing import Any

from dpassay.prover.terms import (
    Atom,
    Formula,
    Poly,
    absolute,
    apply,
    at_most,
    both,
    choose,
    either,
    equal,
    less,
    maximum,
    negate,
    poly,
    same_truth,
    symbol,
)
from dpassay.prover.values import (
    Constant,
    Env,
    Explored,
    Items,
    Maybe,
    Number,
    Sequence_,
    Truth,
    Unsupported,
    arithmetic,
    as_number,
    as_truth,
    constant,
    maybe,
)

_PARSED: dict[str, ast.expr] = {}
_COMPARISONS = {
    ast.Lt: less,
    ast.LtE: at_most,
    ast.Gt: lambda a, b: less(b, a),
    ast.GtE: lambda a, b: at_most(b, a),
    ast.Eq: equal,
    ast.NotEq: lambda a, b: negate(equal(a, b)),
}
_FUNCTIONS = ("exp", "log", "sqrt", "floor")


class Untold(Exception):
    """A term has no expression here, or an expression no value."""


def parse(text: str) -> ast.expr:
    """An expression's syntax tree, kept."""
    if text not in _PARSED:
        _PARSED[text] = ast.parse(text, mode="eval").body
    return _PARSED[text]


def tidy(text: str) -> str:
    """An expression without needless parentheses."""
    return ast.unparse(parse(text)).replace("'", '"')


class Evaluator:
    """Values of expressions in a state; `delta()` is an integer where entries are."""

    def __init__(self, env: Env, whole: bool = False):
        self.env, self.whole = env, whole

    def pair(self, node: ast.expr) -> Any:
        """A program expression in both runs."""
        match node:
            case ast.Name(id=name):
                if name in self.env:
                    return self.env[name]
            case ast.Subscript(value=items, slice=index):
                found = self.pair(items)
                if isinstance(found, Sequence_):
                    return found.get(self.number(index))
                if isinstance(found, Items) and isinstance(index, ast.Constant) and isinstance(index.value, int):
                    return found.items[index.value]
            case ast.Call(func=ast.Name(id="len"), args=[items]):
                found = self.pair(items)
                if isinstance(found, Sequence_):
                    return found.length
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=where)]) if f"{name}:{where!s}" in self.env:
                return self.env[f"{name}:{where!s}"]
            case ast.Constant(value=value):
                return constant(value)
            case ast.BinOp(left=left, op=op, right=right):
                return arithmetic(op, as_number(self.pair(left)), as_number(self.pair(right)))
        raise Untold(ast.unparse(node))

    def number(self, node: ast.expr) -> Poly:
        """A number's value."""
        found = self.value(node)
        if isinstance(found, Formula):
            return choose(found, poly(1), poly(0))
        return found

    def formula(self, node: ast.expr) -> Formula:
        """A condition's value."""
        found = self.value(node)
        return found if isinstance(found, Formula) else negate(equal(found, 0))

    def value(self, node: ast.expr) -> Poly | Formula:
        """An expression's value, a number or a condition."""
        match node:
            case ast.Constant(value=bool() as flag):
                return as_truth(constant(flag)).first
            case ast.Constant(value=int() | float() as number):
                return poly(Fraction(str(number)))
            case ast.Name() | ast.Subscript():
                return _first(self.pair(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return negate(self.formula(operand))
            case ast.BoolOp(op=op, values=values):
                return (both if isinstance(op, ast.And) else either)(*map(self.formula, values))
            case ast.BinOp(left=left, op=op, right=right):
                one, two = self.number(left), self.number(right)
                match op:
                    case ast.Add():
                        return one + two
                    case ast.Sub():
                        return one - two
                    case ast.Mult():
                        return one * two
                    case ast.Div():
                        return one / two
                    case ast.Pow() if two.constant is not None and two.constant.denominator == 1:
                        power = poly(1)
                        for _ in range(abs(int(two.constant))):
                            power = power * one if two.constant > 0 else power / one
                        return power
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[other]):
                found = self.special(left)
                same = isinstance(found, Maybe) and str(found.special) == ast.unparse(other)
                return found.absent.first if same else negate(Formula("true"))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.comparison([left, *others], ops)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, then, otherwise = self.formula(test), self.value(body), self.value(orelse)
                if isinstance(then, Formula) and isinstance(otherwise, Formula):
                    return either(both(condition, then), both(negate(condition), otherwise))
                return choose(condition, self.number(body), self.number(orelse))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, args, node)
        raise Untold(ast.unparse(node))

    def comparison(self, sides: list[ast.expr], ops: list[ast.cmpop]) -> Formula:
        """A chain of comparisons."""
        values = [self.value(side) for side in sides]
        parts = []
        for op, one, two in zip(ops, values, values[1:], strict=False):
            if isinstance(one, Formula) or isinstance(two, Formula):
                first, second = (v if isinstance(v, Formula) else negate(equal(v, 0)) for v in (one, two))
                same = same_truth(first, second)
                parts.append(same if isinstance(op, ast.Eq) else negate(same))
            else:
                parts.append(_COMPARISONS[type(op)](one, two))
        return both(*parts)

    def special(self, node: ast.expr) -> Any:
        """A program expression in both runs; what is no number, such as None, is one that is absent."""
        found = self.pair(node)
        return maybe(found, found.value) if isinstance(found, Constant) else found

    def call(self, name: str, args: list[ast.expr], node: ast.expr) -> Poly | Formula:
        """A call, ours or a function."""
        match name:
            case "d":
                found = self.special(args[0])
                return found.change if isinstance(found, Maybe) else as_number(found).change
            case "finite":
                found = self.special(args[0])
                absent = found.absent if isinstance(found, Maybe) else constant(False)
                return both(negate(absent.first), negate(absent.second))
            case "other":
                found = self.pair(args[0])
                return found.second if isinstance(found, Number | Truth) else _first(found)
            case "changed":
                return symbol("changed", integer=True)
            case "delta":
                return symbol("delta", integer=self.whole)
            case "sign":
                return symbol("sign", integer=True)
            case "prophecy":
                assert isinstance(args[0], ast.Constant)
                return symbol(f"prophecy {args[0].value!s}", integer=True)
            case "cost":
                return symbol("cost")
            case "abs":
                return absolute(self.number(args[0]))
            case "max":
                result = self.number(args[0])
                for arg in args[1:]:
                    result = maximum(result, self.number(arg))
                return result
            case "min":
                result = -self.number(args[0])
                for arg in args[1:]:
                    result = maximum(result, -self.number(arg))
                return -result
            case "len" | "acc" | "best" | "index" | "inner":
                return _first(self.pair(node))
        if name in _FUNCTIONS:
            return apply(name, *map(self.number, args), integer=name == "floor")
        raise Untold(name)


def _first(value: Any) -> Poly | Formula:
    if isinstance(value, Number | Truth):
        return value.first
    raise Untold("no number")


def evaluate(text: str, env: Env, whole: bool = False) -> Any:
    """An expression's value in run 1, as a pair without a difference."""
    value = Evaluator(env, whole).value(parse(text))
    return Truth(value, value) if isinstance(value, Formula) else Number(value, poly(0))


def formula_of(text: str, env: Env, whole: bool = False) -> Formula:
    """A condition's formula.

    Raises:
        Untold: a name means nothing here.
    """
    try:
        return Evaluator(env, whole).formula(parse(text))
    except Unsupported as error:
        raise Untold(str(error)) from None


def number_of(text: str, env: Env, whole: bool = False) -> Poly:
    """A number's polynomial; raises Untold as well."""
    try:
        return Evaluator(env, whole).number(parse(text))
    except Unsupported as error:
        raise Untold(str(error)) from None


class Printer:
    """Writes terms with the names that a state gives to their atoms."""

    def __init__(self, env: Env, index: Poly | None = None, position: str | None = None):
        self.names: dict[Atom, str] = {}
        self.whole: dict[Poly, str] = {}
        self.solved: dict[Atom, tuple[Poly, str]] = {}
        self.lists: dict[str, str] = {}
        self.env = env
        for special in ("changed", "delta", "sign"):
            for integer in (True, False):
                self.names[Atom("sym", special, integer=integer)] = f"{special}()"
        if index is not None and (atom := index.atom()) is not None:
            self.names[atom] = f'index("{position}")'
        for name, value in env.items():
            text = f'{name.split(":", 1)[0]}("{name.split(":", 1)[1]}")' if ":" in name else name
            self.add(text, value)

    def add(self, text: str, value: Any) -> None:
        """Learns what a variable's value and difference are."""
        if isinstance(value, Items):
            for i, item in enumerate(value.items):
                self.add(f"{text}[{i}]", item)
        elif isinstance(value, Sequence_):
            self.add(f"len({text})", value.length)
            if value.label is not None:
                self.lists |= {f"item {value.label}": f"{text}[{{}}]", f"d item {value.label}": f"d({text}[{{}}])"}
        elif isinstance(value, Number):
            for term, written in ((value.first, text), (value.change, f"d({text})")):
                atom = term.atom()
                if atom is not None and str(atom.args[0]).startswith("prophecy "):
                    continue  # a winner is said by its prophecy: the variable depends on noise
                if atom is not None:
                    self.names.setdefault(atom, written)
                elif term.constant is None:
                    self.whole.setdefault(term, written)
                    for monomial, coefficient in term.terms.items():
                        if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].role in ("state", "shift"):
                            inner = monomial[0][0]
                            if inner.kind == "sym" and not str(inner.args[0]).startswith("prophecy "):
                                rest = term - poly(inner) * coefficient
                                if inner not in rest.support:
                                    self.solved.setdefault(inner, (rest, f"{written}|{coefficient}"))

    def poly(self, value: Poly, depth: int = 0) -> str:
        """A polynomial's expression.

        Raises:
            Untold: an atom has no name here.
        """
        if value in self.whole:
            return self.whole[value]
        if not value.terms:
            return "0"
        parts = []
        for monomial, coefficient in value.terms.items():
            above = [self.atom(a, depth) for a, p in monomial for _ in range(p) if p > 0]
            below = [self.atom(a, depth) for a, p in monomial for _ in range(-p) if p < 0]
            size = abs(coefficient)
            if size.numerator != 1 or not above:
                above.insert(0, str(size.numerator))
            if size.denominator != 1:
                below.append(str(size.denominator))
            text = " * ".join(above)
            if below:
                text += f" / {below[0]}" if len(below) == 1 else f" / ({' * '.join(below)})"
            parts.append(("- " if coefficient < 0 else "+ ") + text)
        parts.sort(key=lambda part: part[0] == "-")  # a positive term first
        text = " ".join(parts)
        text = text[2:] if text.startswith("+ ") else f"-{text[2:]}"
        return text if len(parts) == 1 and not text.startswith("-") else f"({text})"

    def atom(self, atom: Atom, depth: int) -> str:
        """An atom's expression."""
        if atom in self.names:
            return self.names[atom]
        if depth > 6:
            raise Untold(repr(atom))
        if atom.role == "noise" or (atom.role == "shift" and atom not in self.solved):
            raise Untold(repr(atom))
        match atom.kind:
            case "sym" if atom in self.solved:
                rest, text = self.solved[atom]
                written, coefficient = text.split("|")
                scale = Fraction(coefficient)
                base = f"({written} - {self.poly(rest, depth + 1)})" if rest.terms else written
                if scale == 1:
                    return base
                return f"({base} * {scale.denominator} / {scale.numerator})"
            case "sym" if str(atom.args[0]).startswith("prophecy "):
                return f'prophecy("{atom.args[0][9:]}")'
            case "read" if atom.args[0] in ("data", "change"):
                read = f"{self.data()}[{self.poly(atom.args[1], depth + 1)}]"
                return read if atom.args[0] == "data" else f"d({read})"
            case "read" if atom.args[0] in self.lists:
                return self.lists[atom.args[0]].format(self.poly(atom.args[1], depth + 1))
            case "read" if str(atom.args[0]).startswith("public "):
                return f"{atom.args[0].removeprefix('public ')}[{self.poly(atom.args[1], depth + 1)}]"
            case "ite":
                test, then, otherwise = atom.args
                return (
                    f"({self.poly(then, depth + 1)} if {self.formula(test, depth + 1)} "
                    f"else {self.poly(otherwise, depth + 1)})"
                )
            case "inverse":
                return f"(1 / {self.poly(atom.args[0], depth + 1)})"
            case "app" if atom.args[0] in _FUNCTIONS:
                return f"{atom.args[0]}({self.poly(atom.args[1], depth + 1)})"
        raise Untold(repr(atom))

    def data(self) -> str:
        """The private list's name."""
        return next(v.name for v in self.env.values() if isinstance(v, Sequence_) and v.name and not v.built)

    def formula(self, value: Formula, depth: int = 0) -> str:
        """A formula's expression."""
        match value.kind:
            case "true":
                return "True"
            case "le" | "lt" | "eq":
                sign = {"le": "<=", "lt": "<", "eq": "=="}[value.kind]
                positive = Poly({m: c for m, c in value.args[0].terms.items() if c > 0})
                negative = positive - value.args[0]
                return f"{self.poly(positive, depth)} {sign} {self.poly(negative, depth)}"
            case "not":
                return f"not ({self.formula(value.args[0], depth)})"
            case "and" | "or":
                return "(" + f" {value.kind} ".join(self.formula(f, depth) for f in value.args) + ")"
        raise Untold(repr(value))


def entry_name(explored: Explored) -> str:
    """The name of the private data, the first variable there is."""
    return next(iter(explored.entry))
