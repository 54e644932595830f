"""What looks like a mechanism, a map, an accountant or a noise formula, by what it declares or by its parameters.

Nothing is called here. A function is a candidate where it declares a claim (an attribute `privacy`, `stability` or
`claim`, or `dp.mechanism_function`), or where its parameters say what it promises and it speaks of privacy: `epsilon`
alone is as often a tolerance.
"""

import collections.abc
import contextlib
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.prover.problem import STATED
from dpassay.scanning.calls import AS_IT_IS, DELTA, EPSILON, FILLED, Call, role
from dpassay.scanning.candidates import DECLARED, READ, Accounted, Candidate, NotJudged, Pair, Stable, place

GENEROUS = 1e-2
"""The delta of a Gaussian mechanism that does not say its own."""
LARGE = 10.0
"""A second epsilon, where formulas fail that are proved below 1."""
_TOLERANCE = 1e-3
"""A default up to which epsilon is a numerical tolerance."""
_PRIVATE = re.compile(r"privacy|differential(ly)?[ _-]priva|\bdp\b|laplace|sensitivity|randomi[sz]ed[ _]response", re.I)
_METHODS = ("randomise", "randomize", "privatize", "privatise", "perturb", "release", "add_noise", "quick_result",
            "fit_transform", "transform", "apply", "__call__")  # fmt: skip
_SCALE = re.compile(r"(scale|sigma|std|stddev|standard_deviation|noise_multiplier)$", re.I)
_VARIANCE = re.compile(r"(variance|var)$", re.I)
_ACCOUNTANT = re.compile(
    r"(compute|get|total|to)_?(rdp_)?(epsilon|eps)|account|privacy_(spent|loss|cost)|epsilon$", re.I
)
_COMPOSITION = re.compile(r"compos", re.I)
_BELOW_ONE = re.compile(r"(epsilon|eps)\W{0,3}(<|<=|≤|in \(0,|below|at most|less than)\s*=?\s*1\b", re.I)
_KINDS = (("discrete_gaussian", r"discrete.?gauss"), ("gaussian", r"gauss|normal"), ("geometric", r"geometric"),
          ("laplace", r"laplac"))  # fmt: skip

Found = Candidate | NotJudged


def candidates(module: types.ModuleType) -> Iterator[Found]:
    """What a module itself defines that can be judged, or that looks so and cannot."""
    for name, thing in sorted(vars(module).items()):
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or callable(thing):
            yield from _guarded(f"{module.__name__}.{name}", thing)


def _guarded(name: str, thing: Any) -> Iterator[Found]:
    """Objects of other people's may raise whatever is asked of them."""
    try:
        yield from list(_of(name, thing))
    except Exception as error:
        yield NotJudged(name, place(thing), f"its signature cannot be read: {type(error).__name__}: {error}"[:200])


def _of(name: str, thing: Any) -> Iterator[Found]:
    declared = [each for each in ("privacy", "stability", STATED) if _claims(getattr(thing, each, None), each)]
    if inspect.isclass(thing):
        yield from _of_class(name, thing)
        return
    where = place(thing if inspect.isroutine(thing) else type(thing))
    if isinstance(getattr(thing, "claim", None), PrivacyClaim) and not inspect.isroutine(thing):
        yield NotJudged(name, where, "a mechanism whose datasets are not known: audit it with dpassay.audit")
        return
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        if _PRIVATE.search(name.rpartition(".")[2]):
            yield NotJudged(name, where, "it has no signature (it is compiled)")
        return
    hints = _hints(thing)
    parameters = {each: parameter for each, parameter in signature.parameters.items() if each != "self"}
    if declared:
        yield from _declared(name, thing, where, declared, parameters, hints)
    elif inspect.isfunction(thing):
        yield from _read(name, thing, where, parameters, hints)


def _claims(claim: Any, name: str) -> bool:
    if name == "privacy":
        return isinstance(getattr(claim, "epsilon", None), int | float)
    return claim is not None and (name == STATED or isinstance(getattr(claim, "d_out", None), int | float))


def _hints(thing: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(thing)
    except Exception:  # a name that exists for type checkers alone
        return dict(getattr(thing, "__annotations__", {}))


# --- declared ---------------------------------------------------------------------------------------------------------


def _declared(
    name: str, function: Any, where: str, declared: list[str], parameters: Mapping[str, Any], hints: Mapping[str, Any]
) -> Iterator[Found]:
    shared: dict[str, Any] = {"where": where, "source": DECLARED, "code": _import(function)}
    for kind in declared:
        claim = getattr(function, kind)
        if kind == "stability":
            metrics = dict(getattr(claim, "metrics", None) or {})
            stable = Stable(claim.d_out, getattr(claim, "d_in", 1), **metrics)
            yield Candidate("map", name, subject=function, claim=stable, **shared)
        elif kind == STATED:
            yield Candidate("mechanism", name, subject=function, claim=PrivacyClaim(EPSILON), **shared)
        else:
            yield _declared_mechanism(name, function, claim, parameters, hints, shared)


def _declared_mechanism(
    name: str,
    function: Any,
    claim: Any,
    parameters: Mapping[str, Any],
    hints: Mapping[str, Any],
    shared: dict[str, Any],
) -> Found:
    needed = [each for each, parameter in parameters.items() if parameter.default is inspect.Parameter.empty]
    random = {each: role(each, hints.get(each)) for each in parameters}
    random = {each: kind for each, kind in random.items() if kind in ("generator", "seed")}
    data = [each for each in needed if each not in random]
    if len(data) != 1:
        return NotJudged(name, shared["where"], f"its data are one parameter of {', '.join(data) or 'none'}: which?")
    strategy = annotated(hints.get(data[0]))
    if strategy is None:
        reason = f"which datasets {data[0]} takes is not known: annotate it, for example list[int]"
        return NotJudged(name, shared["where"], reason)
    stated = PrivacyClaim(float(claim.epsilon), float(getattr(claim, "delta", 0.0)))
    relation = getattr(claim, "relation", None)
    if relation is None and not typing.get_args(hints.get(data[0])):  # one value: there is nothing to add or remove
        relation = "replace_one:record"
    subject = Call(function, {}, data[0], random, form=AS_IT_IS)
    return Candidate(
        "mechanism",
        name,
        subject=subject,
        claim=stated,
        relation=None if relation is None else str(relation),
        datasets=strategy,
        **shared,
    )


def _import(function: Any) -> str:
    return f"from {function.__module__} import {function.__qualname__.partition('.')[0]}"


def annotated(annotation: Any) -> Any:
    """A strategy of datasets of the type that annotates a parameter, values small; None where none is made here."""
    from hypothesis import strategies as st

    values: dict[Any, Any] = {
        int: st.integers(-10, 10),
        float: st.floats(-10, 10).map(lambda value: round(value, 2)),
        bool: st.booleans(),
        str: st.sampled_from(["", "a", "b", "ab", "c" * 20]),
    }
    if annotation in values:
        return values[annotation]
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) in (list, typing.Sequence) or typing.get_origin(annotation) in _SEQUENCES:
        return st.lists(values[inner[0]], max_size=10) if len(inner) == 1 and inner[0] in values else None
    return None


_SEQUENCES = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)


# --- read from parameters ---------------------------------------------------------------------------------------------


def _read(
    name: str, function: Any, where: str, parameters: Mapping[str, Any], hints: Mapping[str, Any]
) -> Iterator[Found]:
    roles = {each: role(each, hints.get(each)) for each in parameters}
    promised = [each for each in parameters if roles[each] == "epsilon"]
    short = name.rpartition(".")[2]
    if _ACCOUNTANT.search(short) or (_COMPOSITION.search(short) and promised):
        yield from _accountant(name, function, where, parameters, roles)
        return
    if not promised or _is_tolerance(parameters[promised[0]]) or not _speaks(function):
        return
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield NotJudged(name, where, "it is asynchronous")
    elif _SCALE.search(short) or _VARIANCE.search(short):
        yield from _formula(name, function, where, parameters, roles)
    else:
        yield from _mechanism(name, function, where, parameters, roles, Call(function, {}, ""))


def _is_tolerance(parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return isinstance(default, float) and 0 < default <= _TOLERANCE


def _speaks(thing: Any) -> bool:
    """Whether a function, its documentation or that of its module is about privacy."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    texts = [getattr(thing, "__doc__", None), getattr(module, "__doc__", None), thing.__qualname__.replace("_", " ")]
    with contextlib.suppress(OSError, TypeError):
        texts.append(inspect.getsource(thing))
    return any(_PRIVATE.search(text) for text in texts if text)


def _filled(parameters: Mapping[str, Any], roles: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any] | str:
    """Arguments for what has no default, and for what a claim is made of; or the parameter that is not understood."""
    made = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in given:
            continue
        kind = roles[name]
        if kind in ("generator", "seed"):
            continue
        has_default = parameter.default is not inspect.Parameter.empty and parameter.default is not None
        if kind in ("epsilon", "delta") or (kind in FILLED and not has_default):
            bound = kind in ("lower", "upper") and "sensitivity" in roles.values()  # which of both is given
            optional = parameter.default is None and (kind in ("size", "bounds") or bound)
            if not optional:
                made[name] = FILLED[kind]
        elif not has_default and parameter.default is not None:
            return name
    return {**made, **given}


def _mechanism(
    name: str, function: Any, where: str, parameters: Mapping[str, Any], roles: Mapping[str, str], call: Call
) -> Iterator[Found]:
    """A function of data, and perhaps of a generator, that was given an epsilon."""
    unnamed = [each for each, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_ONLY]
    if unnamed:
        yield NotJudged(name, where, f"its parameter {unnamed[0]} cannot be given by name")
        return
    empty = inspect.Parameter.empty
    data = [each for each in parameters if roles[each] in ("records", "vector", "value")]
    data = [each for each in data if parameters[each].default is empty] or data[:1]
    unknown = [each for each in parameters if roles[each] == "other" and parameters[each].default is empty]
    unknown = [each for each in unknown if parameters[each].kind not in (2, 4)]
    if not data and len(unknown) == 1:
        data, unknown = unknown, []
    if len(data) != 1 or unknown:
        what = f"its parameter {unknown[0]} is not understood" if unknown else "which parameter takes the data"
        yield NotJudged(name, where, f"{what}: of it no values are made here" if unknown else f"{what} is not clear")
        return
    below_one = bool(_BELOW_ONE.search(inspect.getdoc(function) or ""))
    has_delta = any(kind == "delta" for kind in roles.values())
    random = {each: kind for each, kind in roles.items() if kind in ("generator", "seed")}
    for epsilon in (EPSILON, LARGE) if has_delta and not below_one else (EPSILON,):
        budget = {each: epsilon for each, kind in roles.items() if kind == "epsilon"}
        fixed = _filled({k: v for k, v in parameters.items() if k != data[0]}, roles, budget)
        if isinstance(fixed, str):
            yield NotJudged(name, where, f"its parameter {fixed} is not understood: of it no values are made here")
            return
        subject = Call(function, fixed, data[0], random)
        defaults = {roles[each]: parameter.default for each, parameter in parameters.items()}
        yield _read_candidate(name, where, subject, roles[data[0]], roles, epsilon, defaults)


def _read_candidate(
    name: str,
    where: str,
    subject: Call,
    kind: str,
    roles: Mapping[str, str],
    epsilon: float,
    defaults: Mapping[str, Any],
) -> Candidate:
    fixed = {**subject.fixed, **subject.method_fixed}
    given = {**defaults, **{roles.get(each, ""): value for each, value in fixed.items()}}
    text = subject.text()
    notes = [f"called with values of ours: {', '.join(f'{k}={v!r}' for k, v in subject.fixed.items())}"]
    if isinstance(given.get("delta"), float) and given["delta"] > 0:
        claim = PrivacyClaim(epsilon, given["delta"])
    elif re.search("gauss|normal|delta", text):
        claim = PrivacyClaim(epsilon, GENEROUS)
        notes.append(f"it does not say its delta: {GENEROUS:g} is granted")
    else:
        claim = PrivacyClaim(epsilon)
    datasets, relation = _datasets(kind, given, subject)
    title = f"{name}(epsilon={epsilon:g})"
    return Candidate(
        "mechanism",
        title,
        where,
        subject,
        claim,
        relation,
        datasets,
        READ,
        _import(subject.function),
        tuple(notes),
    )


def _datasets(kind: str, given: Mapping[str, Any], subject: Call) -> tuple[Any, str | None]:
    """Data that every reading of the parameters allows, and the relation where they have one alone."""
    from hypothesis import strategies as st

    low, high = given.get("lower", 0.0), given.get("upper", 1.0)
    if isinstance(bounds := given.get("bounds"), tuple) and len(bounds) == 2:
        low, high = bounds
    if not (isinstance(low, int | float) and isinstance(high, int | float) and low < high):
        low, high = 0.0, 1.0
    reach = given.get("sensitivity", 1.0)
    reach = float(reach) if isinstance(reach, int | float) and reach > 0 else 1.0
    if kind == "value":
        whole = float(reach).is_integer()
        return Pair(0, int(reach)) if whole else Pair(0.0, reach), None
    if kind == "vector":
        entries = st.sampled_from([0.0, reach])
        return st.lists(entries, min_size=4, max_size=4), "replace_one:record"
    return st.lists(st.sampled_from([low, high, (low + high) / 2]), min_size=1, max_size=8), None


def _of_class(name: str, kind: type) -> Iterator[Found]:
    """A class that is given an epsilon, with a method that takes data."""
    if issubclass(kind, BaseException | tuple) or typing.is_typeddict(kind):
        return
    try:
        parameters = dict(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        return
    hints = _hints(kind.__init__)
    roles = {each: role(each, hints.get(each)) for each in parameters}
    promised = [each for each in parameters if roles[each] == "epsilon"]
    if not promised or _is_tolerance(parameters[promised[0]]) or not _speaks(kind):
        return
    where = place(kind)
    if inspect.isabstract(kind):
        yield NotJudged(name, where, "it is abstract: what derives from it is looked at")
        return
    method = next((each for each in _METHODS if inspect.isfunction(inspect.getattr_static(kind, each, None))), None)
    if method is None:
        named = [each for each in ("fit", "train", "generate", "compute") if hasattr(kind, each)]
        reason = f"it needs to be fitted ({named[0]}): what of it is released is not known" if named else ""
        yield NotJudged(name, where, reason or "no method of it is known to take data and release a value")
        return
    own = dict(inspect.signature(getattr(kind, method)).parameters)
    own.pop("self", None)
    own_hints = _hints(getattr(kind, method))
    own_roles = {each: role(each, own_hints.get(each)) for each in own}
    empty = inspect.Parameter.empty
    data = [each for each, parameter in own.items() if parameter.default is empty and parameter.kind not in (2, 4)]
    data = [each for each in data if own_roles[each] not in ("generator", "seed", "epsilon", "delta", "sensitivity")]
    if len(data) != 1:
        yield NotJudged(f"{name}.{method}", where, "which of its parameters takes the data is not clear")
        return
    more = _filled({k: v for k, v in own.items() if k != data[0]}, own_roles, {})
    fixed = _filled(parameters, roles, {})
    for missing in (fixed, more):
        if isinstance(missing, str):
            yield NotJudged(f"{name}.{method}", where, f"its parameter {missing} is not understood")
            return
    assert isinstance(fixed, dict)
    assert isinstance(more, dict)
    random = {each: kind_ for each, kind_ in roles.items() if kind_ in ("generator", "seed")}
    subject = Call(kind, fixed, data[0], random, method, more)
    what = own_roles[data[0]]
    what = what if what in ("records", "vector", "value") else "records"
    defaults = {own_roles[each]: parameter.default for each, parameter in own.items()}
    defaults |= {roles[each]: parameter.default for each, parameter in parameters.items()}
    yield _read_candidate(f"{name}.{method}", where, subject, what, {**own_roles, **roles}, EPSILON, defaults)


# --- formulas and accountants -----------------------------------------------------------------------------------------


def _formula(
    name: str, function: Any, where: str, parameters: Mapping[str, Any], roles: Mapping[str, str]
) -> Iterator[Found]:
    """A function that gives the scale of a noise that its name names."""
    short = name.rpartition(".")[2]
    text = f"{short} {inspect.getdoc(function) or ''}"
    kind = next((each for each, pattern in _KINDS if re.search(pattern, text, re.I)), None)
    if kind is None:
        yield NotJudged(name, where, "it seems to give the scale of a noise, but not of which")
        return
    below_one = bool(_BELOW_ONE.search(text))
    has_delta = "delta" in roles.values()
    if kind in ("gaussian", "discrete_gaussian") and not has_delta:
        yield NotJudged(name, where, "the scale of a Gaussian without its delta claims nothing that is known here")
        return
    for epsilon in (0.1, 1.0) if below_one else (0.1, 1.0, LARGE):
        budget = {each: epsilon for each, role_ in roles.items() if role_ == "epsilon"}
        fixed = _filled(parameters, roles, budget)
        if isinstance(fixed, str):
            yield NotJudged(name, where, f"its parameter {fixed} is not understood: of it no values are made here")
            return
        reach = next((fixed[each] for each in fixed if roles.get(each) == "sensitivity"), None)
        if reach is None:
            defaults = [p.default for each, p in parameters.items() if roles[each] == "sensitivity"]
            reach = next((each for each in defaults if isinstance(each, int | float)), 1.0)
        claim = {"kind": kind, "epsilon": epsilon, "delta": DELTA if has_delta else 0.0, "sensitivity": reach}
        shown = ", ".join(f"{each}={value!r}" for each, value in fixed.items())
        yield Candidate(
            "formula",
            f"{name}({shown})",
            where,
            _scaled(function, fixed, claim, bool(_VARIANCE.search(short))),
            source=READ,
            code=f"{_import(function)}\nprint({function.__qualname__}({shown}))",
        )


def _scaled(function: Any, fixed: dict[str, Any], claim: dict[str, Any], squared: bool) -> Callable[[], dict[str, Any]]:
    def asked() -> dict[str, Any]:
        value = _number(function(**fixed))
        return {**claim, "scale": math.sqrt(value) if squared else value}

    return asked


def _number(value: Any) -> float:
    """One number; the first of several.

    Raises:
        InvalidInput: it is none.
    """
    if isinstance(value, tuple | list) and value:
        value = value[0]
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"it gives {value!r:.60}, not a number") from None


def _accountant(
    name: str, function: Any, where: str, parameters: Mapping[str, Any], roles: Mapping[str, str]
) -> Iterator[Found]:
    """A function that gives the epsilon of a noise, or of a composition."""
    roles = {each: "steps" if kind == "size" else kind for each, kind in roles.items()}
    kinds = set(roles.values())
    fixed = _accounting_arguments(parameters, roles)
    if fixed is None or not ({"noise", "epsilon"} & kinds) or ("noise" in kinds and "delta" not in kinds):
        if _speaks(function) and {"epsilon", "delta", "noise"} & kinds:
            yield NotJudged(name, where, "an accountant, perhaps, but of which noise and composition is not clear")
        return
    if not _speaks(function) and "delta" not in kinds:
        return
    given = {roles[each]: value for each, value in fixed.items()}
    steps = int(given.get("steps", 1))
    if "noise" in kinds:
        event: dict[str, Any] = {"kind": "gaussian", "noise_multiplier": given["noise"]}
        if given.get("rate", 1.0) != 1.0:
            event = {"kind": "poisson_sampled", "sampling_probability": given["rate"], "event": event}
        delta = float(given["delta"])
    else:
        event = {"kind": "private", "epsilon": given["epsilon"], "delta": 0.0}
        delta = float(given.get("delta", 0.0))
    event = {"kind": "self_composed", "count": steps, "event": event}
    shown = ", ".join(f"{each}={value!r}" for each, value in fixed.items())

    def asked() -> Accounted:
        return Accounted(event, _number(function(**fixed)), delta)

    code = f"{_import(function)}\nprint({function.__qualname__}({shown}))"
    yield Candidate("accountant", f"{name}({shown})", where, asked, source=READ, code=code)


_ACCOUNTED = {"noise": 2.0, "delta": DELTA, "steps": 100, "rate": 1.0, "epsilon": 1.0}


def _accounting_arguments(parameters: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any] | None:
    """Arguments of an accountant; None where one is not understood, or two are of one role."""
    made: dict[str, Any] = {}
    for name, parameter in parameters.items():
        kind = roles[name]
        if kind in _ACCOUNTED:
            if kind in {roles[each] for each in made}:
                return None
            made[name] = _ACCOUNTED[kind]
        elif parameter.default is inspect.Parameter.empty and parameter.kind not in (2, 4):
            return None
    return made
