"""What functions of Python, math, statistics, itertools, numpy and scipy mean: found as objects, not by their names."""

import builtins
import functools
import inspect
import itertools
import math
import operator
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from sympy import Abs, And, Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Not, Or, S, ceiling, floor, sqrt

from dpassay.prover.sensitivity.aggregates import (
    Choice,
    Sequence,
    aggregate,
    entry,
    is_private,
    nearest,
    new_index,
    number,
    xlogx,
)
from dpassay.prover.sensitivity.queries import certain
from dpassay.prover.sensitivity.values import Growing, Local, Method, NeedsArray

_TABLE: dict[Any, Callable[..., Any]] = {}


def _of(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def kept(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            _TABLE[function] = handler
        return handler

    return kept


def called(reader: Any, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """The value of a call.

    Raises:
        NotUnderstood: a function or parameters that have no meaning here.
    """
    if isinstance(function, Method):
        return _method(reader, function, arguments, keywords)
    if isinstance(function, Local):
        return reader.apply(function, arguments, keywords)
    try:
        handler = _TABLE.get(function)
    except TypeError:
        handler = None
    if handler is not None:
        try:
            bound = inspect.signature(handler).bind(reader, *arguments, **keywords)
        except TypeError:
            return reader.refuse(f"{_name(function)} with these parameters")
        return handler(*bound.args, **bound.kwargs)
    if inspect.isfunction(function) and (function.__module__ or "").split(".")[0] not in _LIBRARIES:
        return reader.apply(function, arguments, keywords)
    return reader.refuse(f"a call of {_name(function)}")


_LIBRARIES = ("numpy", "math", "statistics", "itertools", "functools", "scipy", "random", "os", "jax")


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _method(reader: Any, method: Method, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    held, name = method.held, method.name
    if isinstance(held, Sequence) and held.kind == "array":
        known = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "var": np.var, "std": np.std}
        known |= {"prod": np.prod, "clip": np.clip, "any": np.any, "all": np.all, "cumsum": np.cumsum, "dot": np.dot}
        if name in known:
            return called(reader, known[name], [held, *arguments], keywords)
        if name in ("copy", "tolist", "flatten", "ravel") and not arguments and not keywords:
            return Sequence(held.binders, held.body, held.where, "list" if name == "tolist" else "array")
        if name == "astype" and len(arguments) == 1 and not keywords and arguments[0] in (float, np.float64):
            return reader.mapped(lambda x: number(x), held)
    if isinstance(held, Sequence) and held.kind == "list":
        if name == "count" and len(arguments) == 1 and not keywords:
            value = reader.scalar(arguments[0])
            over = reader.renamed(held)
            return aggregate("sum", over.binders, number(And(over.where, Eq(number(over.body), value))))
        if name == "copy" and not arguments and not keywords:
            return held
        raise NeedsArray(f"the method {name} of a list", reader.line)
    return reader.refuse(f"the method {name}")


# Numbers, one at a time or element by element


def _elementwise(meaning: Callable[[Any], Any], needs: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    def handler(reader: Any, x: Any, /) -> Any:
        def one(value: Any) -> Any:
            _no_truths(reader, value)
            value = number(value)
            if needs:
                reader.require(needs(value))
            return meaning(value)

        return reader.mapped(one, _array(reader, x))

    return handler


def _no_truths(reader: Any, *values: Any) -> None:
    """Refuses truth values where numpy makes other truth values of them, which it does not add as numbers."""
    for value in values:
        if reader.is_truth(value.body if isinstance(value, Sequence) else value):
            reader.refuse("a truth value where a number belongs")


def _only_numbers(handler: Callable[..., Any]) -> Callable[..., Any]:
    """math's functions take no arrays."""

    def checked(reader: Any, x: Any, /) -> Any:
        return handler(reader, reader.scalar(x))

    return checked


_ELEMENTWISE: list[tuple[tuple[Any, ...], tuple[Any, ...], Callable[[Any], Any], Callable[[Any], Any] | None]] = [
    ((math.exp,), (np.exp,), sympy.exp, None),
    ((math.expm1,), (np.expm1,), lambda x: sympy.exp(x) - 1, None),
    ((), (np.log,), sympy.log, lambda x: Gt(x, 0)),
    ((math.log1p,), (np.log1p,), lambda x: sympy.log(1 + x), lambda x: Gt(x, -1)),
    ((math.log2,), (np.log2,), lambda x: sympy.log(x) / sympy.log(2), lambda x: Gt(x, 0)),
    ((math.log10,), (np.log10,), lambda x: sympy.log(x) / sympy.log(10), lambda x: Gt(x, 0)),
    ((math.sqrt,), (np.sqrt,), sqrt, lambda x: Ge(x, 0)),
    ((math.sin,), (np.sin,), sympy.sin, None),
    ((math.cos,), (np.cos,), sympy.cos, None),
    ((math.atan,), (np.arctan,), sympy.atan, None),
    ((math.asin,), (np.arcsin,), sympy.asin, lambda x: And(Ge(x, -1), Le(x, 1))),
    ((math.acos,), (np.arccos,), sympy.acos, lambda x: And(Ge(x, -1), Le(x, 1))),
    ((math.tanh,), (np.tanh,), sympy.tanh, None),
    ((math.sinh,), (np.sinh,), sympy.sinh, None),
    ((math.cosh,), (np.cosh,), sympy.cosh, None),
    ((math.exp2,), (np.exp2,), lambda x: sympy.exp(x * sympy.log(2)), None),
    ((), (np.square,), lambda x: x**2, None),
    ((math.floor,), (np.floor,), floor, None),
    ((math.ceil,), (np.ceil,), ceiling, None),
    ((math.trunc,), (np.trunc,), lambda x: Choice(x >= 0, floor(x), ceiling(x)), None),
    ((math.fabs,), (np.abs, np.fabs), Abs, None),
    ((), (np.sign,), lambda x: Choice(x > 0, S.One, Choice(Eq(x, 0), S.Zero, S.NegativeOne)), None),
    ((math.radians,), (np.radians, np.deg2rad), lambda x: x * sympy.pi / 180, None),
    (
        (),
        (np.cbrt,),
        lambda x: x ** sympy.Rational(1, 3),
        lambda x: Ge(x, 0),
    ),
]
for _scalars, _arrays, _meaning, _needs in _ELEMENTWISE:
    _handler = _elementwise(_meaning, _needs)
    for _function in _arrays:
        _TABLE[_function] = _handler
    for _function in _scalars:
        _TABLE[_function] = _only_numbers(_handler)
if hasattr(math, "cbrt"):
    _TABLE[math.cbrt] = _only_numbers(_TABLE[np.cbrt])


def _array(reader: Any, value: Any) -> Any:
    """numpy's view of an argument: a list becomes an array."""
    if isinstance(value, Sequence):
        if value.kind == "iterator":
            reader.refuse("an iterator given to numpy, which takes it for one object")
        return Sequence(value.binders, value.body, value.where, "array")
    if isinstance(value, tuple):
        return reader.refuse("a list of fixed length given to numpy")
    return value


def _flat(reader: Any, value: Any) -> Any:
    value = _array(reader, value)
    if not isinstance(value, Sequence):
        return reader.refuse("a number where an array belongs")
    return value


@_of(math.log)
def _log(reader: Any, x: Any, base: Any = None, /) -> Any:
    x = reader.scalar(x)
    reader.require(Gt(x, 0))
    if base is None:
        return sympy.log(x)
    base = reader.scalar(base)
    reader.require(And(Gt(base, 0), Ne(base, 1)))
    return sympy.log(x) / sympy.log(base)


@_of(builtins.abs)
def _abs(reader: Any, x: Any, /) -> Any:
    _no_truths(reader, x)
    if isinstance(x, Sequence):
        reader.array_only(x)
    return reader.mapped(lambda v: Abs(number(v)), x)


@_of(math.pow, builtins.pow, np.power, operator.pow)
def _pow(reader: Any, a: Any, b: Any, /) -> Any:
    return reader.mapped(lambda x, y: reader.power(number(x), number(y)), _array(reader, a), _array(reader, b))


@_of(math.hypot, np.hypot)
def _hypot(reader: Any, a: Any, b: Any, /) -> Any:
    return reader.mapped(lambda x, y: sqrt(number(x) ** 2 + number(y) ** 2), _array(reader, a), _array(reader, b))


@_of(builtins.float, np.float64)
def _float(reader: Any, x: Any, /) -> Any:
    if isinstance(x, str):
        infinite = {"inf": S.Infinity, "-inf": S.NegativeInfinity}
        return infinite[x] if x in infinite else reader.refuse("float of a text")
    return reader.scalar(x)


@_of(builtins.bool)
def _bool(reader: Any, x: Any, /) -> Any:
    return reader.truth(x)


@_of(builtins.int)
def _int(reader: Any, x: Any, /) -> Any:
    x = reader.scalar(x)
    if x.is_integer:
        return x
    return floor(x) if x.is_nonnegative else Choice(x >= 0, floor(x), ceiling(x))


@_of(builtins.round, np.round)
def _round(reader: Any, x: Any, digits: Any = S.Zero, /) -> Any:
    if not digits.is_Integer:
        reader.refuse("a round to digits that are not known")
    return reader.mapped(lambda value: nearest(number(value) * 10**digits) / 10**digits, x)


def _operator(op: Any) -> Callable[..., Any]:
    def handler(reader: Any, a: Any, b: Any, /) -> Any:
        return reader.arithmetic(op, a, b)

    return handler


def _numpy_operator(op: Any) -> Callable[..., Any]:
    def handler(reader: Any, a: Any, b: Any, /) -> Any:
        return reader.arithmetic(op, _array(reader, a), _array(reader, b))

    return handler


def _table_of_operators() -> None:
    import ast

    arithmetic: list[tuple[Any, Any, Any]] = [
        (operator.add, np.add, ast.Add()),
        (operator.sub, np.subtract, ast.Sub()),
        (operator.mul, np.multiply, ast.Mult()),
        (operator.truediv, np.divide, ast.Div()),
        (operator.floordiv, np.floor_divide, ast.FloorDiv()),
        (operator.mod, np.mod, ast.Mod()),
    ]
    for mine, numpys, op in arithmetic:
        _TABLE[mine], _TABLE[numpys] = _operator(op), _numpy_operator(op)
    comparisons: list[tuple[Any, Any]] = [
        (np.greater, ast.Gt()),
        (np.greater_equal, ast.GtE()),
        (np.less, ast.Lt()),
        (np.less_equal, ast.LtE()),
        (np.equal, ast.Eq()),
        (np.not_equal, ast.NotEq()),
    ]
    for numpys, op in comparisons:
        _TABLE[numpys] = lambda reader, a, b, /, op=op: reader.compared(op, _array(reader, a), _array(reader, b))


_table_of_operators()


@_of(np.logical_and)
def _both(reader: Any, a: Any, b: Any, /) -> Any:
    return reader.mapped(lambda x, y: And(reader.boolean(x), reader.boolean(y)), _array(reader, a), _array(reader, b))


@_of(np.logical_or)
def _either(reader: Any, a: Any, b: Any, /) -> Any:
    return reader.mapped(lambda x, y: Or(reader.boolean(x), reader.boolean(y)), _array(reader, a), _array(reader, b))


@_of(np.logical_not)
def _neither(reader: Any, a: Any, /) -> Any:
    return reader.mapped(lambda x: Not(reader.boolean(x)), _array(reader, a))


@_of(np.clip)
def _clip(reader: Any, x: Any, a_min: Any = None, a_max: Any = None) -> Any:
    if isinstance(a_min, Sequence) or isinstance(a_max, Sequence):
        reader.refuse("bounds of a clip that are arrays")
    _no_truths(reader, a_min, a_max)

    def one(value: Any) -> Any:
        value = number(value)
        value = value if a_min is None else Max(value, reader.scalar(a_min))
        return value if a_max is None else Min(value, reader.scalar(a_max))

    return reader.mapped(one, _array(reader, x))


@_of(np.where)
def _where(reader: Any, condition: Any, x: Any, y: Any, /) -> Any:
    def one(c: Any, a: Any, b: Any) -> Any:
        _no_truths(reader, a, b)
        return Choice(reader.boolean(c), number(a), number(b))

    return reader.mapped(one, *(_array(reader, each) for each in (condition, x, y)))


@_of(np.maximum, np.fmax)
def _maximum(reader: Any, a: Any, b: Any, /) -> Any:
    _no_truths(reader, a, b)
    return reader.mapped(lambda x, y: Max(number(x), number(y)), _array(reader, a), _array(reader, b))


@_of(np.minimum, np.fmin)
def _minimum(reader: Any, a: Any, b: Any, /) -> Any:
    _no_truths(reader, a, b)
    return reader.mapped(lambda x, y: Min(number(x), number(y)), _array(reader, a), _array(reader, b))


@_of(np.logaddexp)
def _logaddexp(reader: Any, a: Any, b: Any, /) -> Any:
    return reader.mapped(lambda x, y: sympy.log(sympy.exp(x) + sympy.exp(y)), _array(reader, a), _array(reader, b))


# Aggregates


def _elements(reader: Any, value: Any) -> Sequence:
    over = reader.iterable(value)
    return reader.renamed(over) if isinstance(over, Sequence) else over


def _total(reader: Any, value: Any, start: Any = S.Zero) -> Any:
    _no_truths(reader, start)
    over = _elements(reader, value)
    if isinstance(over, tuple):
        return sum((reader.scalar(each) for each in over), reader.scalar(start))
    body = number(reader.scalar(over.body))
    if over.where is not sympy.true:
        body = Choice(over.where, body, S.Zero)
    return reader.scalar(start) + aggregate("sum", over.binders, body)


@_of(builtins.sum)
def _sum(reader: Any, iterable: Any, /, start: Any = S.Zero) -> Any:
    return _total(reader, iterable, start)


@_of(math.fsum)
def _fsum(reader: Any, iterable: Any, /) -> Any:
    return _total(reader, iterable)


@_of(np.sum)
def _np_sum(reader: Any, a: Any, /) -> Any:
    return _total(reader, _flat(reader, a))


@_of(math.prod)
def _prod(reader: Any, iterable: Any, /, *, start: Any = S.One) -> Any:
    over = _elements(reader, iterable)
    if isinstance(over, tuple):
        return math.prod((reader.scalar(each) for each in over), start=reader.scalar(start))
    body = number(reader.scalar(over.body))
    if over.where is not sympy.true:
        body = Choice(over.where, body, S.One)
    return reader.scalar(start) * aggregate("prod", over.binders, body)


@_of(np.prod)
def _np_prod(reader: Any, a: Any, /) -> Any:
    return _prod(reader, _flat(reader, a))


def _extreme(kind: str) -> Callable[..., Any]:
    join = Max if kind == "max" else Min

    def handler(reader: Any, first: Any, /, *others: Any, default: Any = None, key: Any = None) -> Any:
        if key is not None:
            reader.refuse("a key")
        if others:
            if default is not None:
                reader.refuse("a default beside several values")
            return _extreme_of(reader, join, (first, *others))
        over = _elements(reader, first)
        if isinstance(over, tuple):
            return _extreme_of(reader, join, over)
        truth = reader.is_truth(over.body) or reader.is_truth(default)
        if over.where is not sympy.true:
            if default is None:
                reader.refuse(f"the {kind} of selected elements, of which there may be none: give a default")
            default = reader.scalar(default)
            body = Choice(over.where, number(over.body), default)
            found = aggregate(kind, over.binders, body)
            some = aggregate("max", over.binders, number(over.where))
            low = S.NegativeInfinity if kind == "max" else S.Infinity
            kept = aggregate(kind, over.binders, Choice(over.where, number(over.body), low))
            # with a default that no element can pass, it is one more element
            return found if _beyond(reader, over.body, default, kind) else _guarded(some, kept, default, reader)
        made = _bounded_extreme(reader, kind, over, default)
        return reader.as_truth(made) if truth else made

    return handler


def _extreme_of(reader: Any, join: Any, values: Any) -> Any:
    numbers = [reader.scalar(each) for each in values]
    made = S.NaN if S.NaN in numbers else join(*numbers)  # undefined, as the mean of no entries
    return reader.as_truth(made) if any(map(reader.is_truth, values)) else made


def _beyond(reader: Any, body: Any, default: Any, kind: str) -> bool:
    value = number(body)
    free = sympy.Dummy("x", real=True)
    bounds = getattr(reader, "bounds", None)
    if bounds is None or value.func != entry:
        return False
    facts = [Ge(free, bounds[0]), Le(free, bounds[1])]
    return bool(certain(Ge(free, default) if kind == "max" else Le(free, default), facts))


def _guarded(some: Any, kept: Any, default: Any, reader: Any) -> Any:
    del some, kept, default
    return reader.refuse("a default that is not at the end of the elements' range")


def _bounded_extreme(reader: Any, kind: str, over: Sequence, default: Any) -> Any:
    found = aggregate(kind, over.binders, number(reader.scalar(over.body)))
    if default is None:
        for place, (_, length) in enumerate(over.binders):
            inner = [fact for i, bound in over.binders[:place] for fact in (Ge(i, 0), Lt(i, bound))]
            reader.path += inner
            reader.require(Ge(length, 1))
            del reader.path[len(reader.path) - len(inner) :]
        return found
    if len(over.binders) > 1:
        reader.refuse("a default of an extreme over pairs")
    length = over.binders[0][1]
    return Choice(Le(length, 0), reader.scalar(default), found)


_TABLE[builtins.max], _TABLE[builtins.min] = _extreme("max"), _extreme("min")


def _np_extreme(kind: str) -> Callable[..., Any]:
    def handler(reader: Any, a: Any, /) -> Any:
        return _extreme(kind)(reader, _flat(reader, a))

    return handler


_TABLE[np.max] = _TABLE[np.amax] = _np_extreme("max")
_TABLE[np.min] = _TABLE[np.amin] = _np_extreme("min")


@_of(np.ptp)
def _ptp(reader: Any, a: Any, /) -> Any:
    a = _flat(reader, a)
    return _extreme("max")(reader, a) - _extreme("min")(reader, a)


@_of(builtins.any, np.any)
def _any(reader: Any, values: Any, /) -> Any:
    return _ever(reader, values, lambda x: x)


@_of(builtins.all, np.all)
def _all(reader: Any, values: Any, /) -> Any:
    return Not(_ever(reader, values, Not))


def _ever(reader: Any, values: Any, meaning: Callable[[Any], Any]) -> Any:
    over = _elements(reader, values)
    if isinstance(over, tuple):
        return Or(*(meaning(reader.truth(each)) for each in over))
    found = Eq(aggregate("max", over.binders, number(And(over.where, meaning(reader.truth(over.body))))), 1)
    return And(*(Ge(length, 1) for _, length in over.binders[:1] if length != reader.n), found)


@_of(builtins.len)
def _len(reader: Any, value: Any, /) -> Any:
    if isinstance(value, Distinct):
        return value.count
    if isinstance(value, Sequence) and value.kind == "iterator":
        reader.refuse("the length of an iterator")
    return reader.count(value)


@_of(np.size)
def _size(reader: Any, value: Any, /) -> Any:
    return reader.count(_flat(reader, value))


@_of(np.count_nonzero)
def _count_nonzero(reader: Any, value: Any, /) -> Any:
    over = _elements(reader, _flat(reader, value))
    return aggregate("sum", over.binders, number(And(over.where, reader.truth(over.body))))


class Distinct:
    """A set of the elements, of which only the size is read."""

    def __init__(self, count: Any):
        self.count = count


@_of(builtins.set, builtins.frozenset, np.unique)
def _set(reader: Any, value: Any, /) -> Any:
    over = _elements(reader, value)
    if isinstance(over, tuple) or len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("a set of selected elements")
    ((index, length),) = over.binders
    return Distinct(Choice(Ge(length, 1), _distinct(index, length, over.body), 0))


def _distinct(index: Any, length: Any, body: Any) -> Any:
    from dpassay.prover.sensitivity.aggregates import Aggregate

    return Aggregate("distinct", index, length, number(body))


# Lists from lists


@_of(builtins.list, builtins.tuple)
def _list(reader: Any, value: Any = None, /) -> Any:
    if value is None:
        return Growing()
    over = reader.iterable(value)
    return over if isinstance(over, tuple) else Sequence(over.binders, over.body, over.where, "list")


@_of(np.array, np.asarray, np.asanyarray)
def _np_array(reader: Any, value: Any, /, dtype: Any = None) -> Any:
    if dtype not in (None, float, np.float64):
        reader.refuse("an array of this type")
    return _flat(reader, value)


@_of(np.fromiter)
def _fromiter(reader: Any, value: Any, /, dtype: Any) -> Any:
    if dtype not in (float, np.float64):
        reader.refuse("an array of this type")
    over = reader.iterable(value)
    return Sequence(over.binders, over.body, over.where, "array")


@_of(builtins.range, np.arange)
def _range(reader: Any, first: Any, second: Any = None, step: Any = S.One, /) -> Any:
    start, stop = (S.Zero, first) if second is None else (first, second)
    start, stop, step = reader.scalar(start), reader.scalar(stop), reader.scalar(step)
    if not (start.is_integer and stop.is_integer and step.is_Integer) or any(map(is_private, (start, stop))):
        reader.refuse("a range that is no public range of integers")
    if step == -1:
        start, stop, step, sign = stop + 1, start + 1, S.One, -1
    else:
        sign = 1
    if step < 1:
        reader.refuse("a range with this step")
    if not certain(Le(start, stop), [*reader.path, *reader.assumed, Ge(reader.n, 1)]):
        reader.require(Le(start, stop))
    index = new_index()
    length = stop - start if step == 1 else floor((stop - start + step - 1) / step)
    body = start + step * index if sign == 1 else stop - 1 - index
    return Sequence(((index, length),), body)


@_of(builtins.enumerate)
def _enumerate(reader: Any, value: Any, /, start: Any = S.Zero) -> Any:
    over = reader.iterable(value)
    if isinstance(over, tuple):
        return tuple((sympy.Integer(place) + reader.scalar(start), each) for place, each in enumerate(over))
    if len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("an enumeration of selected elements")
    over = reader.renamed(over)
    return Sequence(over.binders, (over.binders[0][0] + reader.scalar(start), over.body), kind="iterator")


@_of(builtins.zip)
def _zip(reader: Any, *values: Any, strict: Any = sympy.false) -> Any:
    overs = [reader.iterable(value) for value in values]
    if any(isinstance(over, tuple) for over in overs):
        if all(isinstance(over, tuple) for over in overs) and len(set(map(len, overs))) == 1:
            return tuple(zip(*overs))  # noqa: B905
        reader.refuse("a zip with a list of fixed length")
    if any(len(over.binders) != 1 or over.where is not sympy.true for over in overs):
        reader.refuse("a zip of selected elements")
    index = new_index()
    lengths = [over.binders[0][1] for over in overs]
    shortest = lengths[0]
    for length in lengths[1:]:
        gap = sympy.simplify(length - shortest)
        if gap.is_negative or (not gap.is_nonnegative and reader.sign(gap, length) == "negative"):
            shortest = length
        elif not gap.is_nonnegative and gap != 0:
            shortest = Min(shortest, length)
    if strict is not sympy.false and any(sympy.simplify(length - shortest) != 0 for length in lengths):
        reader.refuse("a strict zip of lists of different lengths")
    bodies = []
    for over in overs:
        fresh = reader.renamed(over)
        bodies.append(_swap(fresh.body, fresh.binders[0][0], index))
    return Sequence(((index, shortest),), tuple(bodies), kind="iterator")


def _swap(body: Any, old: Any, new: Any) -> Any:
    if isinstance(body, tuple):
        return tuple(_swap(each, old, new) for each in body)
    return body.subs(old, new)


@_of(itertools.pairwise)
def _pairwise(reader: Any, value: Any, /) -> Any:
    over = _elements(reader, value)
    ((index, length),) = over.binders
    if over.where is not sympy.true:
        reader.refuse("pairs of selected elements")
    reader.require(Ge(length, 1))
    return Sequence(((index, length - 1),), (over.body, _swap(over.body, index, index + 1)), kind="iterator")


@_of(itertools.combinations)
def _combinations(reader: Any, value: Any, r: Any, /) -> Any:
    over = _elements(reader, value)
    if r != 2 or over.where is not sympy.true or len(over.binders) != 1:
        reader.refuse("combinations of other than two elements")
    ((index, length),) = over.binders
    reader.require(Ge(length, 1))
    inner = new_index()
    return Sequence(
        ((index, length - 1), (inner, length - 1 - index)),
        (over.body, _swap(over.body, index, index + 1 + inner)),
        kind="iterator",
    )


@_of(itertools.product)
def _product(reader: Any, first: Any, second: Any = None, /, repeat: Any = S.One) -> Any:
    if (second is None) == (repeat == 1):
        reader.refuse("a product of other than two lists")
    one, two = _elements(reader, first), _elements(reader, first if second is None else second)
    both = And(one.where, two.where)
    return Sequence((*one.binders, *two.binders), (one.body, two.body), both, "iterator")


@_of(itertools.accumulate)
def _accumulate(reader: Any, value: Any, function: Any = None, /) -> Any:
    kind = {None: "sum", operator.add: "sum", operator.mul: "prod", builtins.max: "max", builtins.min: "min"}
    if function not in kind:
        reader.refuse("an accumulation by this function")
    return _running(reader, value, kind[function], "iterator")


def _running(reader: Any, value: Any, kind: str, made: str) -> Sequence:
    over = _elements(reader, value)
    if len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("running totals of selected elements")
    if made == "iterator" or kind in ("max", "min"):
        _no_truths(reader, over)
    ((index, length),) = over.binders
    before = new_index()
    body = aggregate(kind, ((before, index + 1),), number(over.body).subs(index, before))
    return Sequence(((index, length),), body, kind=made)


@_of(np.cumsum)
def _cumsum(reader: Any, a: Any, /) -> Any:
    return _running(reader, _flat(reader, a), "sum", "array")


@_of(np.cumprod)
def _cumprod(reader: Any, a: Any, /) -> Any:
    return _running(reader, _flat(reader, a), "prod", "array")


@_of(np.maximum.accumulate)
def _cummax(reader: Any, a: Any, /) -> Any:
    return _running(reader, _flat(reader, a), "max", "array")


@_of(np.minimum.accumulate)
def _cummin(reader: Any, a: Any, /) -> Any:
    return _running(reader, _flat(reader, a), "min", "array")


@_of(builtins.map)
def _map(reader: Any, function: Any, *values: Any) -> Any:
    over = _elements(reader, values[0] if len(values) == 1 else _zip(reader, *values))
    if isinstance(over, tuple):
        return tuple(called(reader, function, list(e) if isinstance(e, tuple) else [e], {}) for e in over)
    given = list(over.body) if len(values) > 1 else [over.body]
    body = reader.under(over, lambda: called(reader, function, given, {}))
    return Sequence(over.binders, body, over.where, "iterator")


@_of(builtins.filter)
def _filter(reader: Any, function: Any, value: Any, /) -> Any:
    over = _elements(reader, value)
    keep = over.body if function is None else reader.under(over, lambda: called(reader, function, [over.body], {}))
    return Sequence(over.binders, over.body, And(over.where, reader.truth(keep)), "iterator")


@_of(functools.reduce)
def _reduce(reader: Any, function: Any, value: Any, initial: Any = None, /) -> Any:
    over = _elements(reader, value)
    if isinstance(over, tuple) or len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("a reduction of this list")
    _no_truths(reader, over, initial)
    ((index, length),) = over.binders
    state = sympy.Dummy("state", real=True)
    reader.path += [Ge(index, 0), Lt(index, length)]
    update = reader.scalar(called(reader, function, [state, over.body], {}))
    del reader.path[-2:]
    if initial is None:
        reader.require(Ge(length, 1))
        start, tail = over.body.subs(index, 0), update.subs(index, index + 1)
        return reader.recurrence("the reduction", state, tail, start, index, length - 1)[1]
    return reader.recurrence("the reduction", state, update, reader.scalar(initial), index, length)[1]


@_of(builtins.sorted, np.sort)
def _sorted(reader: Any, value: Any, /, *, key: Any = None, reverse: Any = sympy.false) -> Any:
    if key is not None:
        reader.refuse("a key of sorting")
    over = _elements(reader, value)
    if isinstance(over, tuple) or len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("sorting of selected elements")
    ((index, length),) = over.binders
    place = new_index()
    rank = place if reverse is sympy.false else length - 1 - place
    if reverse not in (sympy.true, sympy.false):
        reader.refuse("sorting in an order that is not known")
    _no_truths(reader, over)
    body = _order(index, length, number(over.body), rank)
    return Sequence(((place, length),), body, kind="array" if over.kind == "array" else "list")


def _order(index: Any, length: Any, body: Any, rank: Any) -> Any:
    from dpassay.prover.sensitivity.aggregates import Aggregate

    return Aggregate("order", index, length, body, rank)


@_of(builtins.reversed, np.flip)
def _reversed(reader: Any, value: Any, /) -> Any:
    over = _elements(reader, value)
    if len(over.binders) != 1 or over.where is not sympy.true:
        reader.refuse("this list turned round")
    ((index, length),) = over.binders
    kind = "array" if over.kind == "array" else "iterator"
    return Sequence(over.binders, _swap(over.body, index, length - 1 - index), kind=kind)


@_of(np.diff)
def _diff(reader: Any, a: Any, /) -> Any:
    over = _elements(reader, _flat(reader, a))
    ((index, length),) = over.binders
    if over.where is not sympy.true:
        reader.refuse("differences of selected elements")
    _no_truths(reader, over)
    reader.require(Ge(length, 1))
    return Sequence(((index, length - 1),), _swap(over.body, index, index + 1) - over.body, kind="array")


@_of(np.roll)
def _roll(reader: Any, a: Any, shift: Any, /) -> Any:
    over = _elements(reader, _flat(reader, a))
    ((index, length),) = over.binders
    shift = reader.scalar(shift)
    if not shift.is_Integer or over.where is not sympy.true:
        reader.refuse("a roll by a number that is not known")
    return Sequence(over.binders, _swap(over.body, index, sympy.Mod(index - shift, length)), kind="array")


# Statistics


def _mean_of(reader: Any, value: Any) -> Any:
    over = _elements(reader, value)
    count = reader.count(over)
    reader.require(Ne(count, 0))
    return _total(reader, over) / count


@_of(statistics.mean, statistics.fmean)
def _mean(reader: Any, data: Any, /) -> Any:
    return _mean_of(reader, data)


@_of(np.mean)
def _np_mean(reader: Any, a: Any, /) -> Any:
    return _mean_of(reader, _flat(reader, a))


@_of(np.average)
def _average(reader: Any, a: Any, /, *, weights: Any = None) -> Any:
    a = _flat(reader, a)
    if weights is None:
        return _mean_of(reader, a)
    import ast

    weights = _flat(reader, weights)
    total = _total(reader, weights)
    reader.require(Ne(total, 0))
    return _total(reader, reader.arithmetic(ast.Mult(), a, weights)) / total


def _variance(reader: Any, value: Any, ddof: Any) -> Any:
    over = _elements(reader, value)
    if isinstance(over, tuple) or over.where is not sympy.true:
        reader.refuse("the variance of selected elements")
    count = reader.count(over)
    mean = _mean_of(reader, over)
    reader.require(Gt(count - ddof, 0))
    return aggregate("sum", over.binders, (number(over.body) - mean) ** 2) / (count - ddof)


@_of(statistics.pvariance)
def _pvariance(reader: Any, data: Any, /) -> Any:
    return _variance(reader, data, 0)


@_of(statistics.variance)
def _sample_variance(reader: Any, data: Any, /) -> Any:
    return _variance(reader, data, 1)


@_of(statistics.pstdev)
def _pstdev(reader: Any, data: Any, /) -> Any:
    return sqrt(_variance(reader, data, 0))


@_of(statistics.stdev)
def _stdev(reader: Any, data: Any, /) -> Any:
    return sqrt(_variance(reader, data, 1))


@_of(np.var)
def _np_var(reader: Any, a: Any, /, *, ddof: Any = S.Zero) -> Any:
    return _variance(reader, _flat(reader, a), reader.scalar(ddof))


@_of(np.std)
def _np_std(reader: Any, a: Any, /, *, ddof: Any = S.Zero) -> Any:
    return sqrt(_variance(reader, _flat(reader, a), reader.scalar(ddof)))


@_of(statistics.median, np.median)
def _median(reader: Any, data: Any, /) -> Any:
    ordered = _sorted(reader, data)
    ((place, length),) = ordered.binders
    reader.require(Ge(length, 1))
    middle = floor(length / 2)
    upper, lower = (ordered.body.subs(place, at) for at in (middle, middle - 1))
    return Choice(Eq(sympy.Mod(length, 2), 1), upper, (lower + upper) / 2)


@_of(statistics.median_low)
def _median_low(reader: Any, data: Any, /) -> Any:
    ordered = _sorted(reader, data)
    ((place, length),) = ordered.binders
    reader.require(Ge(length, 1))
    return ordered.body.subs(place, floor((length - 1) / 2))


@_of(statistics.median_high)
def _median_high(reader: Any, data: Any, /) -> Any:
    ordered = _sorted(reader, data)
    ((place, length),) = ordered.binders
    reader.require(Ge(length, 1))
    return ordered.body.subs(place, floor(length / 2))


@_of(np.quantile)
def _quantile(reader: Any, a: Any, q: Any, /) -> Any:
    if isinstance(q, tuple):
        return tuple(_quantile(reader, a, each) for each in q)
    q = reader.scalar(q)
    if is_private(q):
        reader.refuse("a quantile that depends on the data")
    ordered = _sorted(reader, _flat(reader, a))
    ((place, length),) = ordered.binders
    reader.require(Ge(length, 1))
    reader.require(And(Ge(q, 0), Le(q, 1)))
    at = q * (length - 1)
    low = floor(at)
    part = at - low
    lower, upper = (ordered.body.subs(place, each) for each in (low, Min(low + 1, length - 1)))
    return (1 - part) * lower + part * upper


@_of(np.percentile)
def _percentile(reader: Any, a: Any, q: Any, /) -> Any:
    parts = tuple(reader.scalar(each) / 100 for each in q) if isinstance(q, tuple) else reader.scalar(q) / 100
    return _quantile(reader, a, parts)


@_of(np.linalg.norm)
def _norm(reader: Any, a: Any, /, ord: Any = None) -> Any:
    over = _elements(reader, _flat(reader, a))
    body = number(over.body)
    if over.where is not sympy.true:
        reader.refuse("the norm of selected elements")
    if ord is None or ord == 2:
        return sqrt(aggregate("sum", over.binders, body**2))
    ord = reader.scalar(ord)
    if ord == S.Infinity:
        return _bounded_extreme(reader, "max", Sequence(over.binders, Abs(body)), None)
    if not (ord.is_Rational and ord >= 1):
        reader.refuse("a norm of this order")
    total = aggregate("sum", over.binders, Abs(body) ** ord)
    return total if ord == 1 else total ** (1 / ord)


@_of(np.dot, np.inner, np.vdot, math.sumprod if hasattr(math, "sumprod") else np.dot)
def _dot(reader: Any, a: Any, b: Any, /) -> Any:
    import ast

    return _total(reader, reader.arithmetic(ast.Mult(), _flat(reader, a), _flat(reader, b)))


@_of(math.dist)
def _dist(reader: Any, a: Any, b: Any, /) -> Any:
    import ast

    difference = reader.arithmetic(ast.Sub(), _flat(reader, a), _flat(reader, b))
    return _norm(reader, difference)


@_of(statistics.geometric_mean)
def _geometric_mean(reader: Any, data: Any, /) -> Any:
    over = _elements(reader, data)
    body = number(over.body)
    reader.path += [fact for i, length in over.binders for fact in (Ge(i, 0), Lt(i, length))]
    reader.require(Gt(body, 0))
    del reader.path[-2 * len(over.binders) :]
    count = reader.count(over)
    reader.require(Ne(count, 0))
    return sympy.exp(aggregate("sum", over.binders, sympy.log(body)) / count)


@_of(statistics.harmonic_mean)
def _harmonic_mean(reader: Any, data: Any, /) -> Any:
    over = _elements(reader, data)
    body = number(over.body)
    reader.path += [fact for i, length in over.binders for fact in (Ge(i, 0), Lt(i, length))]
    reader.require(Gt(body, 0))
    del reader.path[-2 * len(over.binders) :]
    count = reader.count(over)
    reader.require(Ne(count, 0))
    return count / aggregate("sum", over.binders, 1 / body)


def _scipy() -> None:
    try:
        from scipy import special
    except ImportError:
        return

    @_of(special.logsumexp)
    def _logsumexp(reader: Any, a: Any, /) -> Any:
        over = _elements(reader, _flat(reader, a))
        reader.require(Ge(reader.count(over), 1))
        return sympy.log(_total(reader, reader.mapped(lambda x: sympy.exp(number(x)), over)))

    @_of(special.softmax)
    def _softmax(reader: Any, a: Any, /) -> Any:
        over = _elements(reader, _flat(reader, a))
        powers = reader.mapped(lambda x: sympy.exp(number(x)), over)
        total = _total(reader, powers)
        return reader.mapped(lambda x: x / total, powers)

    _TABLE[special.expit] = _elementwise(lambda x: 1 / (1 + sympy.exp(-x)))
    _TABLE[special.entr] = _elementwise(lambda x: -xlogx(x), lambda x: Ge(x, 0))


_scipy()
