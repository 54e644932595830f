"""Expressions of an alignment: shifts and invariants, read from Python text and evaluated on a path of two runs.

A name is a variable of the program and means the first run's value. What is ours has the form of a call: `d(x)` the
difference, `other(x)` the second run's value, `same(x)`, `changed()`, `delta()`, `sign()`, `cost()`, `index("6:4")`,
`acc("6:4")`, `best("6:4")`, `at("6:4")`, `inner("9:8>x")` for a helper's variable, `prophecy("K")`, `finite(x)`
(in both runs a number, not None or an infinity).
"""

import ast
from collections.abc import Mapping
from dataclasses import replace

from dpassay.replay import Rejected
from dpassay.replay.paired_evaluation import Evaluation, Path
from dpassay.replay.paired_values import SPECIAL, Maybe, Scalar, Sequence, Truth, Value
from dpassay.replay.symbolic_terms import FALSE, TRUE, Number, both, either, if_else, implies, literal, negation

MAX_TEXT = 2000
INTERNAL = {"index": "index@", "acc": "acc@", "best": "best@", "at": "at@", "inner": ""}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def parse(text: object) -> ast.expr:
    """The expression of a proof's text.

    Raises:
        Rejected: it is none.
    """
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise Rejected(f"an expression is a text of at most {MAX_TEXT} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Rejected(f"no expression: {text!r}") from None


class Expressions:
    """Evaluates them.

    Args:
        given: numbers that `changed`, `delta` and `sign` stand for, as far as the relation has them.
        own: names that mean the same everywhere, hiding variables: the original parameters in a claim, `k` in a list.
    """

    def __init__(
        self, evaluation: Evaluation, given: Mapping[str, Number], own: Mapping[str, Value] | None = None
    ) -> None:
        self.evaluation, self.given, self.own = evaluation, given, dict(own or {})
        self.symbols, self.pairs = evaluation.symbols, evaluation.pairs

    def number(self, path: Path, node: ast.expr) -> Number:
        """What the expression is in the first run, a number."""
        found = self._read(path, node)
        if isinstance(found, str):
            raise self._refused(node, "a number belongs here")
        return found

    def formula(self, path: Path, node: ast.expr) -> str:
        """What the expression says, a truth value."""
        found = self._read(path, node)
        if isinstance(found, Number):
            raise self._refused(node, "a truth value belongs here")
        return found

    def _refused(self, node: ast.AST, reason: str) -> Rejected:
        return Rejected(f"{reason}: {ast.unparse(node)}")

    def _read(self, path: Path, node: ast.expr) -> Number | str:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            value = self.pairs.constant(node.value, "") if not isinstance(node.value, float) else None
            if value is None:
                from fractions import Fraction

                return literal(Fraction(repr(node.value)))
            return self._one(value, node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(path, node)
        if isinstance(node, ast.BinOp):
            return self._binary(path, node)
        if isinstance(node, ast.Compare):
            return self._compare(path, node)
        if isinstance(node, ast.BoolOp):
            join = both if isinstance(node.op, ast.And) else either
            return join(*(self.formula(path, each) for each in node.values))
        if isinstance(node, ast.IfExp):
            return self._choice(path, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(path, node, node.func.id)
        return self._one(self.place(path, node), node)

    def _one(self, value: Value, node: ast.expr) -> Number | str:
        if isinstance(value, Truth):
            return value.one
        if isinstance(value, Maybe):
            return value.number.one
        if isinstance(value, Sequence | tuple):
            raise self._refused(node, "a number belongs here")
        return value.one

    def _two(self, value: Value, node: ast.expr) -> Number | str:
        if isinstance(value, Truth):
            return value.two
        if isinstance(value, Sequence | tuple):
            raise self._refused(node, "a number belongs here")
        return value.number.two if isinstance(value, Maybe) else value.two

    def _unary(self, path: Path, node: ast.UnaryOp) -> Number | str:
        if isinstance(node.op, ast.Not):
            return negation(self.formula(path, node.operand))
        if isinstance(node.op, ast.USub):
            return -self.number(path, node.operand)
        raise self._refused(node, "not understood")

    def _binary(self, path: Path, node: ast.BinOp) -> Number:
        one, two = self.number(path, node.left), self.number(path, node.right)
        if isinstance(node.op, ast.Add):
            return one + two
        if isinstance(node.op, ast.Sub):
            return one - two
        if isinstance(node.op, ast.Mult):
            return one * two
        if isinstance(node.op, ast.Div):
            path.show(
                self.symbols.compare("!=", two), f"a divisor other than 0 in {ast.unparse(node)}", "the alignment"
            )
            return one * self.symbols.inverse(two)
        if isinstance(node.op, ast.Pow) and two.constant in (1, 2, 3):
            made = one
            for _ in range(int(two.constant) - 1):
                made = made * one
            return made
        raise self._refused(node, "not understood")

    def _compare(self, path: Path, node: ast.Compare) -> str:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            if (special := ast.unparse(node.comparators[0])) not in SPECIAL:
                raise self._refused(node, "`is` is for None, inf and -inf")
            value = self.place(path, node.left)
            found = self.pairs.is_code(value.special.one, SPECIAL[special]) if isinstance(value, Maybe) else FALSE
            return found if isinstance(node.ops[0], ast.Is) else negation(found)
        sides = [self._read(path, each) for each in (node.left, *node.comparators)]
        compared = []
        for operator, one, two in zip(node.ops, sides, sides[1:], strict=False):
            if type(operator) not in _COMPARED:
                raise self._refused(node, "not understood")
            compared.append(self._compared(_COMPARED[type(operator)], one, two, node))
        return both(*compared)

    def _compared(self, operator: str, one: Number | str, two: Number | str, node: ast.expr) -> str:
        if isinstance(one, Number) and isinstance(two, Number):
            return self.symbols.compare(operator, one - two)
        if isinstance(one, str) and isinstance(two, str) and operator in ("==", "!="):
            alike = either(both(one, two), both(negation(one), negation(two)))
            return alike if operator == "==" else negation(alike)
        raise self._refused(node, "a number and a truth value cannot be compared")

    def _choice(self, path: Path, node: ast.IfExp) -> Number | str:
        test = self.formula(path, node.test)
        one, two = self._guarded(path, test, node.body), self._guarded(path, negation(test), node.orelse)
        if isinstance(one, Number) and isinstance(two, Number):
            return self.symbols.choice(test, one, two)
        if isinstance(one, str) and isinstance(two, str):
            return if_else(test, one, two)
        raise self._refused(node, "a number and a truth value cannot be joined")

    def _guarded(self, path: Path, test: str, node: ast.expr) -> Number | str:
        """A side of a choice, which need not be defined where it is not chosen."""
        outer, path.goals = path.goals, []
        found = self._read(path, node)
        for goal in path.goals:
            goal = replace(goal, formula=implies(test, goal.formula))
            outer += [goal] if goal.formula != TRUE else []
        path.goals = outer
        return found

    def _call(self, path: Path, node: ast.Call, name: str) -> Number | str:
        if name in self.given and not node.args:
            return self.given[name]
        if name == "cost" and not node.args:
            return path.cost
        if name in ("d", "other", "same", "finite") and len(node.args) == 1:
            return self._relational(path, node, name)
        if name in ("abs", "floor", "exp", "log", "sqrt") and len(node.args) == 1:
            inner = self.number(path, node.args[0])
            if name == "sqrt":  # whose square is rewritten
                path.show(
                    self.symbols.compare(">=", inner),
                    f"no root of what is below 0 in {ast.unparse(node)}",
                    "the alignment",
                )
            exact = {"abs": self.symbols.absolute, "floor": self.symbols.floor}
            return exact[name](inner) if name in exact else self.symbols.applied(name, [inner])
        if name in ("min", "max") and len(node.args) > 1:
            found, *rest = (self.number(path, each) for each in node.args)
            for each in rest:
                larger = self.symbols.compare(">", each - found if name == "max" else found - each)
                found = self.symbols.choice(larger, each, found)
            return found
        return self._one(self.place(path, node), node)

    def _relational(self, path: Path, node: ast.Call, name: str) -> Number | str:
        value = self.place(path, node.args[0])
        if name == "same":
            return both(*self.pairs.unchanged(value))
        if name == "finite":
            codes = (value.special.one, value.special.two) if isinstance(value, Maybe) else ()
            return both(*(self.pairs.is_code(code, 0) for code in codes))
        if isinstance(value, Sequence | tuple):
            raise self._refused(node, "a number belongs here")
        return self.pairs.difference(value) if name == "d" else self._two(value, node)

    # What has a value in both runs.

    def place(self, path: Path, node: ast.expr) -> Value:
        """A variable, a list's element or length, or what a call of ours names, in both runs."""
        name = variable(node)
        if name is not None:
            if name in self.own and isinstance(node, ast.Name):
                return self.own[name]
            if name in path.long:
                return Scalar(path.long[name])
            if name not in path.values:
                raise self._refused(node, "there is no such variable here, or it may have no value")
            return path.values[name]
        if isinstance(node, ast.Subscript):
            listed = self.place(path, node.value)
            if isinstance(listed, tuple) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
                part: Value = listed[node.slice.value]
                return part
            index = self.number(path, node.slice)
            if not isinstance(listed, Sequence) or not index.whole:
                raise self._refused(node, "no list, or no integer by its form")
            return listed.element(index)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            if node.func.id == "len" and isinstance(listed := self.place(path, node.args[0]), Sequence):
                return listed.length
            if (
                node.func.id == "prophecy"
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value in path.prophecies
            ):
                return path.prophecies[node.args[0].value]
        raise self._refused(node, "not understood here")


def variable(node: ast.expr) -> str | None:
    """The variable that a name or a call of ours stands for."""
    if isinstance(node, ast.Name):
        return node.id
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in INTERNAL
        and len(node.args) == 1
    ):
        position = node.args[0]
        if isinstance(position, ast.Constant) and isinstance(position.value, str) and not node.keywords:
            return INTERNAL[node.func.id] + position.value
    return None
