"""Calls in a program: draws, helper functions, functions of the standard library and of numpy."""

import ast
import copy
from typing import TYPE_CHECKING, Any

from dpassay.prover.terms import (
    Atom,
    absolute,
    apply,
    at_most,
    choose,
    either,
    equal,
    less,
    maximum,
    negate,
    poly,
    symbol,
)
from dpassay.prover.values import (
    NOTHING,
    Constant,
    Items,
    Number,
    Sequence_,
    Truth,
    Unsupported,
    _Return,
    arithmetic,
    as_number,
    as_truth,
    constant,
    lifted,
    literal_list,
    merge,
    of_both,
)

if TYPE_CHECKING:
    from dpassay.prover.execution import Path

_OPAQUE = ("exp", "log", "sqrt", "log2", "log10", "log1p", "expm1", "tanh", "sin", "cos", "floor", "ceil", "round")
_ALIASES = {"absolute": "abs", "fabs": "abs", "maximum": "max", "minimum": "min", "amax": "max", "amin": "min"}
_SAME = (
    "asarray",
    "array",
    "list",
    "tolist",
    "float",
    "float64",
    "item",
    "copy",
    "tuple",
    "ravel",
    "flatten",
    "astype",
)


def call(path: "Path", node: ast.Call) -> Any:
    """The value of a call.

    Raises:
        Unsupported: the function is not known.
    """
    match node.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == path.rng:
            return drawn(path, node, name)
        case ast.Name(id=name) if name in path.explorer.functions:
            return inlined(path, node, name)
        case ast.Name(id=name):
            return known(path, node, _ALIASES.get(name, name), node.args)
        case ast.Attribute(value=ast.Name(id="math" | "np"), attr=name):
            return known(path, node, _ALIASES.get(name, name), node.args)
        case ast.Attribute(value=owner, attr=name):
            return known(path, node, _ALIASES.get(name, name), [owner, *node.args])
    raise Unsupported(f"line {node.lineno}: a call")


def inlined(path: "Path", node: ast.Call, name: str) -> Any:
    """A helper function's value: its body in a frame of its own."""
    function = path.explorer.functions[name]
    parameters = [argument.arg for argument in function.args.args]
    prefix, rng, depth, loops = path.prefix, path.rng, path.depth, list(path.loop_stack)
    if depth > 5:
        raise Unsupported("recursion")
    given: list[tuple[str, ast.expr]] = list(zip(parameters, node.args, strict=False))
    given += [(keyword.arg or "", keyword.value) for keyword in node.keywords]
    defaults = function.args.defaults
    missing = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    frame: dict[str, Any] = {}
    for parameter in parameters:
        value = next((e for p, e in given if p == parameter), missing.get(parameter))
        if value is None:
            raise Unsupported(f"{name}: {parameter} is not given")
        if isinstance(value, ast.Name) and value.id == rng:
            path.rng = parameter
        else:
            frame[parameter] = path_value(path, value, rng)
    path.prefix, path.depth = f"{path.at(node)}>", depth + 1
    path.env.update({path.key(parameter): value for parameter, value in frame.items()})
    try:
        path.block(function.body)
        result: Any = Constant(None)
    except _Return as returned:
        result = returned.value
    own = f"inner:{path.prefix}"
    path.env = {key: value for key, value in path.env.items() if not key.startswith(own)}
    path.prefix, path.rng, path.depth, path.loop_stack = prefix, rng, depth, loops
    return result


def path_value(path: "Path", node: ast.expr, rng: str) -> Any:
    """An argument's value, in the caller's frame."""
    inner, path.rng = path.rng, rng
    try:
        return path.value(node)
    finally:
        path.rng = inner


def arguments(node: ast.Call, *names: str) -> dict[str, ast.expr]:
    """Positional and keyword arguments by name.

    Raises:
        Unsupported: an argument has another name.
    """
    found = dict(zip(names, node.args, strict=False)) | {k.arg or "": k.value for k in node.keywords}
    if not set(found) <= set(names) or len(node.args) > len(names):
        raise Unsupported(f"line {node.lineno}: arguments")
    return found


def drawn(path: "Path", node: ast.Call, name: str) -> Any:
    """A draw."""
    position = path.at(node)
    if name in ("laplace", "normal", "gumbel"):
        found = arguments(node, "loc", "scale", "size")
        one = Number(poly(1), NOTHING)
        scale = path.value(found["scale"]) if "scale" in found else one
        location = path.value(found["loc"]) if "loc" in found else Number(NOTHING, NOTHING)
    elif name == "exponential":
        found = arguments(node, "scale", "size")
        scale = path.value(found["scale"]) if "scale" in found else Number(poly(1), NOTHING)
        location = Number(NOTHING, NOTHING)
    else:
        return choice(path, node, name)
    if "size" in found:
        size = path.number(found["size"])
        noise: Any = path.sized_draw(name, position, as_number(scale), size)
    elif isinstance(location, Sequence_):
        noise = path.sized_draw(name, position, as_number(scale), location.length)
    else:
        noise = path.draw(name, position, as_number(scale))
    return lifted(lambda a, b: Number(a.first + b.first, a.change + b.change), noise, location)


def choice(path: "Path", node: ast.Call, name: str) -> Any:
    """`rng.choice(n, p=weights / sum)`: a selection, whose result both runs share."""
    position = path.at(node)
    if name == "integers":
        found = arguments(node, "low", "high")
        if any(as_number(path.value(bound)).change != NOTHING for bound in found.values()):
            raise Unsupported("a range of private length")
        label = path.label(position)
        value = symbol(f"pick {label}", integer=True)
        low, high = [NOTHING, path.number(found["low"]).first]
        if "high" in found:
            low, high = high, path.number(found["high"]).first
        path.know(at_most(low, value), less(value, high))
        return Number(value, NOTHING)
    if name != "choice":
        raise Unsupported(f"line {node.lineno}: rng.{name}")
    found = arguments(node, "a", "p")
    if set(found) != {"a", "p"}:
        raise Unsupported(f"line {node.lineno}: rng.choice")
    size = as_number(path.value(found["a"]))
    match found["p"]:  # w / w.sum(), whose sum is no loop of its own
        case ast.BinOp(ast.Name() as weights, ast.Div(), ast.Call()) | ast.ListComp(
            ast.BinOp(ast.Name(), ast.Div(), ast.Name()), [ast.comprehension(iter=ast.Name() as weights)]
        ):
            score = _score(path.value(weights))
        case _:
            raise Unsupported(f"line {node.lineno}: probabilities that are not written as w / w.sum()")
    return selected(path, position, score, size)


def flips(path: "Path", node: ast.For) -> Number | None:
    """The place that permute-and-flip accepts, whose scores count as those of a choice; None: another loop."""
    match node:
        case ast.For(
            ast.Name(place),
            ast.Call(ast.Attribute(_, "permutation"), [ast.Call(ast.Name("len"), [ast.Name() as scores])]),
            [ast.If(ast.Compare(_, _, [ast.Call(ast.Attribute(_, "exp"), [exponent])]))],
        ):
            pass
        case _:
            return None
    relative = _Replaced(f"{scores.id}[{place}] - ")
    factor = path.number(relative.visit(copy.deepcopy(exponent)))
    items = path.value(scores)
    if not isinstance(items, Sequence_) or not relative.found:
        raise Unsupported(f"line {node.lineno}: a loop in random order that is not permute-and-flip")
    score = Sequence_(items.length, lambda k: arithmetic(ast.Mult(), factor, as_number(items.get(k))))
    return selected(path, path.at(node), score, items.length)


class _Replaced(ast.NodeTransformer):
    """Puts 1 for a difference whose text begins like that."""

    def __init__(self, start: str) -> None:
        self.start, self.found = start, False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A difference, or what has one inside."""
        if not ast.unparse(node).startswith(self.start):
            return self.generic_visit(node)
        self.found = True
        return ast.copy_location(ast.Constant(1), node)


def selected(path: "Path", position: str, score: Sequence_, size: Number) -> Number:
    """An index that both runs share, at the cost of how far the scores part."""
    label = path.label(position)
    value = symbol(f"pick {label}", integer=True)
    path.know(at_most(0, value), less(value, size.first))
    score.get(value)  # so that the indices in it are owed
    path.event("choice", position, symbol(f"shift {label}").atom(), score, value)  # type: ignore[arg-type]
    return Number(value, NOTHING)


def _score(weights: Any) -> Any:
    """The exponents of weights that are proportional to exp(score)."""

    def exponent(k: Any) -> Any:
        value = as_number(weights.get(k))
        result = []
        if not value.change.terms:
            return Number(NOTHING, NOTHING)
        for term in (value.first, value.second):
            if len(term.terms) != 1:
                raise Unsupported("weights of a choice that are not each an exponential of a score")
            ((monomial, _),) = term.terms.items()
            exps = [a for a, p in monomial if a.kind == "app" and a.args[0] == "exp" and p == 1]
            if len(exps) != 1:
                raise Unsupported("weights of a choice")
            result.append(exps[0].args[1])
        return Number(result[0], result[1] - result[0])

    if not isinstance(weights, Sequence_):
        raise Unsupported("weights of a choice")
    return Sequence_(weights.length, exponent)


def known(path: "Path", node: ast.Call, name: str, nodes: list[ast.expr]) -> Any:
    """A function of the standard library or of numpy, or a method."""
    if name == "range":
        count, item = path.iteration(node)
        return Sequence_(count, item)
    if name == "index" and len(nodes) == 2 and isinstance(nodes[1], ast.Call):
        match nodes[1]:
            case ast.Call(func=ast.Name(id="max" | "min" as extreme), args=[same]) if ast.dump(same) == ast.dump(
                nodes[0]
            ):
                return reduction(path, node, f"arg{extreme}", path.value(nodes[0]))
    values = [path.value(argument) for argument in nodes]
    keywords = {k.arg: k.value for k in node.keywords}
    if name in ("asarray", "array", "astype"):
        keywords = {}
        values = values[:1]
    if keywords and name not in ("clip", "zeros", "ones"):
        raise Unsupported(f"line {node.lineno}: keywords of {name}")
    first = values[0] if values else None
    match name:
        case "len":
            if isinstance(first, Sequence_) and (kept := first.kept) is not None:
                return reduction(path, node, "sum", Sequence_(first.length, lambda k: as_number(kept(k))))
            if isinstance(first, Sequence_):
                return first.length
            if isinstance(first, Items):
                return Number(poly(len(first.items)), NOTHING)
        case "float" if isinstance(first, Constant) and str(first.value).lower() in ("inf", "-inf", "infinity"):
            return constant(float(first.value))
        case "abs":
            return lifted(lambda a: of_both(absolute, as_number(a)), first)
        case _ if name in _SAME:
            if name in ("float", "float64", "item"):
                return lifted(as_number, first)
            return first
        case "bool" | "bool_":
            return lifted(as_truth, first)
        case "int":
            return lifted(lambda a: _whole("int", as_number(a)), first)
        case "sorted" if isinstance(first, Sequence_):
            path.owe(f"sorted {path.at(node)}", first)  # what both runs sort is the same
            label = f"sorted {path.label(path.at(node))}"
            return Sequence_(first.length, lambda k: Number(poly(Atom("read", label, k, role="noise")), NOTHING))
        case "zeros" | "ones":
            fill = Number(poly(1 if name == "ones" else 0), NOTHING)
            return Sequence_(as_number(first), lambda _: fill)
        case "arange":
            return Sequence_(as_number(first), lambda k: Number(k, NOTHING))
        case "where":
            return lifted(lambda c, a, b: merge(as_truth(c), a, b), *values)
        case "clip":
            low = path.value(keywords.get("min", keywords["a_min"])) if len(values) < 3 else values[1]
            high = path.value(keywords.get("max", keywords["a_max"])) if len(values) < 3 else values[2]
            _note_bounds(path, nodes)
            return lifted(lambda x, a, b: _least(_greatest(x, a), b), first, low, high)
        case "max" | "min" if len(values) > 1:
            _note_bounds(path, nodes)
            fold = _greatest if name == "max" else _least
            result = values[0]
            for value in values[1:]:
                result = lifted(fold, result, value)
            return result
        case "sum" | "max" | "min" | "mean" | "argmax" | "argmin" | "cumsum" | "any" | "all" | "count_nonzero":
            if isinstance(first, Sequence_):
                return reduction(path, node, name, first)
        case _ if name in _OPAQUE and len(values) == 1:
            return lifted(lambda a: _opaque(name, as_number(a)), first)
    raise Unsupported(f"line {node.lineno}: {name}")


def _opaque(name: str, value: Number) -> Number:
    whole = name in ("floor", "ceil", "round")
    return of_both(lambda x: apply(name, x, integer=whole), value)


def _whole(name: str, value: Number) -> Number:
    return of_both(lambda x: apply(name, x, integer=True), value)


def _greatest(a: Any, b: Any) -> Number:
    return of_both(maximum, as_number(a), as_number(b))


def _least(a: Any, b: Any) -> Number:
    return of_both(lambda x, y: choose(at_most(x, y), x, y), as_number(a), as_number(b))


def _note_bounds(path: "Path", nodes: list[ast.expr]) -> None:
    """Remembers the bounds of a clipping: their distance is how far a clipped entry can move."""
    names = set(path.problem.parameters)
    for node in nodes:
        inner = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if not isinstance(node, ast.Call) and inner <= names:
            path.explorer.magnitudes[ast.unparse(node)] = None


def reduction(path: "Path", node: ast.Call, name: str, items: Sequence_) -> Any:
    """A sum, a largest element, its place: a loop with an accumulator."""
    position = path.at(node)
    accumulator, best = f"acc:{position}", f"best:{position}"
    size = items.length
    zero = Number(NOTHING, NOTHING)

    def test(index: Any) -> Truth:
        return Truth(less(index, size.first), less(index, size.second))

    def add(index: Any) -> None:
        item = as_number(items.get(index))
        path.explorer.summands.setdefault(position, (index, item))
        total = path.env[accumulator]
        path.env[accumulator] = Number(total.first + item.first, total.change + item.change)

    def replace_best(index: Any) -> None:
        item, top = as_number(items.get(index)), path.env[accumulator]
        path.explorer.uses.append((item.change, index))
        start = equal(index, 0)
        sign = -1 if name in ("min", "argmin") else 1
        better = Truth(
            either(start, less(top.first * sign, item.first * sign)),
            either(start, less(top.second * sign, item.second * sign)),
        )
        first, second = path.pick(), path.pick()
        path.know(better.first if first else negate(better.first), better.second if second else negate(better.second))
        place = Number(index, NOTHING)
        path.env[accumulator] = path.merged(item if first else top, item if second else top)
        path.env[best] = path.merged(place if first else path.env[best], place if second else path.env[best])

    def bound(index: Any) -> list[Any]:
        return [either(at_most(index, size.first), equal(index, 0))]

    path.explorer.reductions[position] = name
    if name in ("sum", "mean", "any", "all", "count_nonzero"):
        if name in ("any", "all"):
            raise Unsupported(f"line {node.lineno}: {name}")
        path.loop(position, [accumulator], test, add, {accumulator: zero}, bound, path.skips(size))
        total = path.env[accumulator]
        if name == "mean":
            return of_both(lambda x, n: x / n, total, size)
        return total
    if name in ("max", "min", "argmax", "argmin"):
        if path.skips(size):
            raise Unsupported("an extreme of data of differing length")
        path.loop(position, [accumulator, best], test, replace_best, {accumulator: zero, best: zero}, bound)
        path.know(less(0, size.first))  # of no elements it is an error, in both runs alike
        return path.env[best if name.startswith("arg") else accumulator]
    if name == "cumsum":
        listed = f'at("{position}")'

        def append(index: Any) -> None:
            add(index)
            path.explorer.numeric.add(listed)
            seen = {k: v for k, v in path.env.items() if k not in path.hidden}
            path.appends.append((listed, index, path.env[accumulator], seen))

        path.loop(position, [accumulator], test, append, {accumulator: zero}, bound)
        path.explorer.lists[listed] = True
        return Sequence_(size, lambda index: path.element(listed, index), listed)
    raise Unsupported(f"line {node.lineno}: {name}")


__all__ = ["call", "literal_list"]
