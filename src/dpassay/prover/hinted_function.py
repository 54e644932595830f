"""One function as lint reads it: from top to bottom, with what each name holds of the private data."""

import ast
import functools
from typing import Any, Literal, get_args

from dpassay.prover.hints import (
    BUDGETS,
    NOISE,
    Function,
    Hint,
    Module,
    arguments_of,
    called,
    constant_seed,
    dotted,
    draws,
    draws_inside,
    is_generator,
    is_public,
)

_RANGES = {"min", "max", "amin", "amax", "ptp", "quantile", "percentile", "nanmin", "nanmax", "sorted"}
_DOMAINS = {"unique", "set", "Counter", "value_counts", "fromkeys", "bincount", "frozenset"}
_SHAPED = {"range", "zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like"}

Level = Literal["public", "coin", "noisy", "length", "range", "domain", "raw"]
"""What a value holds of the private data, from nothing to a value as it is; a coin is noise alone."""


class Reader:
    """One function, read from top to bottom with what each name holds of the private data."""

    def __init__(self, module: Module, function: Function, name: str) -> None:
        self.module, self.function, self.name = module, function, name
        arguments = arguments_of(function)
        generators = [place for place, argument in enumerate(arguments) if is_generator(argument)]
        self.generators = {arguments[place].arg for place in generators}
        self.noisy_function = bool(draws_inside(function, NOISE)) or self._tosses()
        marked = any("mechanism_function" in ast.unparse(each) for each in function.decorator_list)
        budget = any(argument.arg.partition("_")[0] in BUDGETS for argument in arguments)
        self.mechanism = bool(generators or marked or budget or draws_inside(function, {"laplace", "gumbel"}))
        candidates = arguments[generators[0] + 1 :] if generators else arguments if self.mechanism else []
        self.levels: dict[str, Level] = {each.arg: "raw" for each in candidates[:1] if not is_public(each)}
        self.same_length = any(
            keyword.arg == "relation" and "add_or_remove" not in ast.unparse(keyword.value)
            for decorator in function.decorator_list
            for keyword in getattr(decorator, "keywords", ())
        )
        self.tossed = 0
        self.found: list[Hint] = []

    def _tosses(self) -> bool:
        """Whether a coin is compared: `rng.random() < p`."""
        return any(isinstance(node, ast.Compare) and draws_inside(node) for node in ast.walk(self.function))

    def hints(self) -> list[Hint]:
        """All hints on the function."""
        self._randomness()
        if self.noisy_function and self.levels:
            self._block(self.function.body)
        return self.found

    def _say(self, rule: str, node: ast.AST) -> None:
        self.found.append(self.module.hint(rule, node, self.name))

    def _randomness(self) -> None:
        for node in ast.walk(self.function):
            if constant_seed(node) and self.mechanism and (self.noisy_function or self.generators):
                self._say("fixed-seed", node)
            if not self.generators or not isinstance(node, ast.Call):
                continue
            source = dotted(node.func).split(".")
            unseeded = called(node) == "default_rng" and not node.args and not node.keywords
            if unseeded or (source[0] in ("random", "np", "numpy") and draws(node)):
                self._say("generator-not-passed", node)
            elif isinstance(node.func, ast.Name) and node.func.id in self.module.takes_generator:
                given = {
                    each.id
                    for part in (*node.args, *node.keywords)
                    for each in ast.walk(part)
                    if isinstance(each, ast.Name)
                }
                if not any(called(each) == "default_rng" for each in ast.walk(node)) and not given & self._sources:
                    self._say("generator-not-passed", node)

    @functools.cached_property
    def _sources(self) -> set[str]:
        """Names that hold a generator: parameters, and what is made of them, parts and parts of parts too."""
        assigned = [
            (
                {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)},
                node.value,
            )
            for node in ast.walk(self.function)
            if isinstance(node, ast.Assign)
        ]
        held, before = set(self.generators), 0
        while len(held) > before:
            before = len(held)
            for names, value in assigned:
                if any(getattr(each, "id", "") in held for each in ast.walk(value)):
                    held |= names
        return held

    def _level(self, node: ast.AST | None) -> Level:
        """The most that an expression holds."""
        if node is None or isinstance(node, ast.Constant):
            return "public"
        if isinstance(node, ast.Lambda):
            return self._level(node.body)
        if isinstance(node, ast.Name):
            return self.levels.get(node.id, "public")
        if isinstance(node, ast.Call):
            return self._call_level(node)
        if isinstance(node, ast.BinOp):
            left, right = self._level(node.left), self._level(node.right)
            product = isinstance(node.op, ast.Mult) and "coin" in (left, right)
            return _blurred(left, right) if product or isinstance(node.op, ast.Add | ast.Sub) else _most(left, right)
        if isinstance(node, ast.Compare):
            return _blurred(*(self._level(each) for each in (node.left, *node.comparators)))
        if isinstance(node, ast.IfExp):
            test, held = self._level(node.test), _most(self._level(node.body), self._level(node.orelse))
            return _blurred(test, held) if test == "coin" else held if test == "noisy" else _most(test, held)
        if isinstance(node, ast.Subscript):
            return self._level(node.value)
        if isinstance(node, ast.Attribute):
            if node.attr in ("size", "shape") and self._level(node.value) == "raw":
                return "length"
            return self._level(node.value)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            for loop in node.generators:
                self._bind(loop.target, self._entries(loop.iter))
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return _most(*(self._level(part) for part in parts))
        return _most(*(self._level(child) for child in ast.iter_child_nodes(node)))

    def _call_level(self, node: ast.Call) -> Level:
        name = called(node)
        parts = [self._level(each) for each in (*node.args, *(keyword.value for keyword in node.keywords))]
        own = self._level(node.func.value) if isinstance(node.func, ast.Attribute) else "public"
        held = _most(own, *parts)
        if draws(node) or any(getattr(each, "id", "") in self.generators for each in node.args):  # a helper draws too
            return _blurred("coin", held)
        if name in ("max", "min", "sorted"):  # by a noisy key
            keys = [self._level(keyword.value) for keyword in node.keywords if keyword.arg == "key"]
            if "noisy" in keys or "coin" in keys:
                return "noisy"
        if name in ("where", "add", "subtract", "logical_xor", "bitwise_xor"):
            return _blurred(*parts)
        if held == "raw" and name == "len":
            return "length"
        if held == "raw" and name in _RANGES and self._whole(node):
            return "range"
        if held == "raw" and name in _DOMAINS:
            return "domain"
        return "public" if name in _SHAPED and held in ("length", "raw") else held

    def _whole(self, node: ast.Call) -> bool:
        """Whether the smallest or largest is of all data, not of one value and a bound."""
        return isinstance(node.func, ast.Attribute) or len(node.args) == 1

    def _entries(self, node: ast.AST) -> Level | tuple[Level, ...]:
        """What the entries of something that is looped over hold; several where a tuple is unpacked."""
        name = called(node)
        if name == "enumerate" and node.args:  # type: ignore[attr-defined]
            return ("public", self._level(node.args[0]))  # type: ignore[attr-defined]
        if name == "zip":
            return tuple(self._level(each) for each in node.args)  # type: ignore[attr-defined]
        if name == "items":
            return (self._level(node), self._level(node))
        return self._level(node)

    def _bind(self, target: ast.AST, level: Level | tuple[Level, ...]) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            levels = level if isinstance(level, tuple) and len(level) == len(target.elts) else None
            for place, each in enumerate(target.elts):
                self._bind(each, levels[place] if levels else _most(*level) if isinstance(level, tuple) else level)
        elif isinstance(target, ast.Subscript | ast.Attribute):
            self._add(dotted(target.value), level if isinstance(level, str) else _most(*level))
        elif isinstance(target, ast.Name):
            self.levels[target.id] = self._seen(level if isinstance(level, str) else _most(*level))

    def _seen(self, level: Level) -> Level:
        """What a value shows where a coin decides whether it is taken."""
        return _blurred("coin", level) if self.tossed else level

    def _add(self, name: str, level: Level) -> None:
        """A list or an array gets an entry more."""
        if name:
            self.levels[name] = _most(self.levels.get(name, "public"), self._seen(level))

    # Statements.

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        self._expressions(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            level = self._value(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._bind(target, level)
        elif isinstance(node, ast.AugAssign):
            both = ast.BinOp(ast.copy_location(_loaded(node.target), node), node.op, node.value)
            self._bind(node.target, self._level(both))
        elif isinstance(node, ast.Expr) and called(node.value) in ("append", "extend", "add", "insert"):
            call: Any = node.value
            if isinstance(call.func, ast.Attribute) and call.args:
                self._add(dotted(call.func.value), self._level(call.args[-1]))
        elif isinstance(node, ast.Return) and node.value is not None:
            self._released(node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.If | ast.With | ast.Try | ast.Match):
            self._compound(node)

    def _compound(self, node: Any) -> None:
        if isinstance(node, ast.For | ast.AsyncFor):
            if self._level(node.iter) == "domain":
                self._say("domain-from-data", node.iter)
            for _ in range(2):  # what an iteration leaves is there in the next
                self._bind(node.target, self._entries(node.iter))
                self._block(node.body)
        elif isinstance(node, ast.While | ast.If):
            test = self._level(node.test)
            if test == "raw" and self._decides([*node.body, *node.orelse]):
                self._say("private-condition", node.test)
            self.tossed += test == "coin"
            self._block(node.body)
            self._block(node.orelse)
            self.tossed -= test == "coin"
            return
        else:
            self._block(getattr(node, "body", []))
        self._block(getattr(node, "orelse", []))
        for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            self._block(part.body)
        self._block(getattr(node, "finalbody", []))

    def _value(self, node: ast.expr) -> Level | tuple[Level, ...]:
        return tuple(self._level(each) for each in node.elts) if isinstance(node, ast.Tuple) else self._level(node)

    def _decides(self, body: list[ast.stmt]) -> bool:
        """Whether statements draw, return or stop a loop."""
        nodes = [node for statement in body for node in ast.walk(statement)]
        return any(isinstance(node, ast.Return | ast.Break | ast.Continue) or draws(node) for node in nodes)

    def _expressions(self, statement: ast.stmt) -> None:
        """What is seen in the expressions of a statement, not of those inside it."""
        inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
        for node in [each for child in inner for each in ast.walk(child)]:
            if isinstance(node, ast.IfExp) and self._level(node.test) == "raw" and draws_inside(node):
                self._say("private-condition", node.test)
            if not isinstance(node, ast.Call):
                continue
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if draws(node, NOISE):
                for argument in arguments:
                    level = self._level(argument)
                    if level in ("range", "domain"):
                        self._say("domain-from-data", argument)
                    elif level == "raw" and self._is_scale(node, argument):
                        self._say("private-condition", argument)
            elif called(node) in ("clip", "histogram", "histogram2d", "digitize", "linspace", "arange"):
                for argument in arguments:
                    if self._level(argument) in ("range", "domain"):
                        self._say("domain-from-data", argument)
                names = {keyword.arg for keyword in node.keywords}
                if called(node) == "histogram" and not names & {"range", "bins"} and len(node.args) < 2:
                    self._say("domain-from-data", node)

    def _is_scale(self, call: ast.Call, argument: ast.AST) -> bool:
        """Whether an argument of a draw is its scale, not where it is centered."""
        first = call.args[:1] if called(call) in ("laplace", "normal", "gumbel", "logistic") else []
        centers = [*first, *(keyword.value for keyword in call.keywords if keyword.arg in ("loc", "size"))]
        return all(argument is not each for each in centers)

    def _released(self, node: ast.expr) -> None:
        for part in node.elts if isinstance(node, ast.Tuple | ast.List) else [node]:
            level = self._seen(self._level(part))
            if (level == "length" or self._divides_by_length(part)) and not self.same_length:
                self._say("length-released", part)
            elif level == "domain":
                self._say("domain-from-data", part)
            elif level in ("raw", "range"):
                self._say("raw-value-released", part)

    def _divides_by_length(self, node: ast.AST) -> bool:
        return any(
            isinstance(each, ast.BinOp)
            and isinstance(each.op, ast.Div | ast.FloorDiv)
            and self._level(each.right) == "length"
            for each in ast.walk(node)
        )


_ORDER: tuple[Level, ...] = get_args(Level)


def _blurred(*levels: Level) -> Level:
    """What a sum or a comparison shows: where noise is in it, no value as it is."""
    held = _most(*levels)
    noise = "coin" in levels or "noisy" in levels
    return held if not noise or held == "coin" else "noisy"


def _most(*levels: Level) -> Level:
    return max(levels, key=_ORDER.index, default="public")


def _loaded(target: ast.expr) -> ast.expr:
    """What an augmented assignment reads."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return target
