"""Maps whose stability is claimed: a function, its datasets and their neighbors, both distances, the numbers."""

import dataclasses
import inspect
import math
import time
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpassay.auditors.drawing import check_strategy, first_draws, learned_neighbors
from dpassay.auditors.drawn_datasets import Container, DrawnPair, RecordRelation, Row, dataset_key
from dpassay.auditors.extreme_datasets import MOST, Neighbors, Sizes, floats, integers, of_type
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line
from dpassay.data.ratings import Ratings
from dpassay.replay.distances import DATASETS, METRICS

if TYPE_CHECKING:
    from hypothesis import strategies as st

LEARNING = 5.0  # seconds, at most, in which is learned what a strategy's datasets have in common
RECORD = {"add_or_remove_one": "insert_delete", "replace_one": "hamming"}


class Space(NamedTuple):
    """Datasets of a domain, and neighboring ones.

    Attributes:
        datasets: a strategy of them.
        pairs: a strategy of candidates, which may be no neighbors, or lie outside the domain; None for no dataset.
        plain: a dataset as the distance takes it.
        has: whether a dataset is in the domain.
    """

    datasets: "st.SearchStrategy[Any]"
    pairs: "st.SearchStrategy[DrawnPair]"
    plain: Callable[[Any], Any]
    has: Callable[[Any], bool] = lambda dataset: True


@dataclass(frozen=True)
class StableMap:
    """A function that is claimed to bring datasets at distance `d_in` no farther apart than `d_out`.

    Attributes:
        name: how a reader calls it.
        module: from which `name` is imported; "" where it cannot be.
        output_metric: None where the outputs themselves say which.
    """

    name: str
    module: str
    function: Callable[[Any], Any]
    space: Space
    input_metric: str
    output_metric: str | None
    d_in: Fraction
    d_out: Fraction


def python_map(
    function: Callable[[Any], Any],
    *,
    d_in: Any,
    d_out: Any,
    relation: Any,
    input_metric: str | None,
    output_metric: str | None,
    datasets: Any,
    seed: int,
) -> StableMap:
    """What is claimed of a Python function; arguments are those of `dpassay.check_stability`.

    Raises:
        InvalidInput: no function, a number or distance that is missing or means nothing, or no datasets.
    """
    if not callable(function):
        raise InvalidInput(f"check_stability needs a function or an OpenDP Transformation, got {function!r:.60}")
    if d_out is None:
        raise InvalidInput("d_out is missing: give the distance of outputs that is claimed for datasets d_in apart")
    if relation is not None and input_metric is not None:
        raise InvalidInput("relation and input_metric both say which datasets are neighbors; give one of them")
    for name, metric in (("input_metric", input_metric), ("output_metric", output_metric)):
        if metric is not None and metric not in METRICS:
            raise InvalidInput(f"{name} is {metric!r}: use one of {', '.join(METRICS)}")
    number = exact_number("d_in", 1 if d_in is None else d_in)
    if datasets is None:
        metric = input_metric or _record_metric(relation)
        space = annotated_space(function, metric, number)
    else:
        check_strategy(datasets)
        if input_metric in (None, *DATASETS):
            metric, space = strategy_space(datasets, relation, input_metric, number, seed)
        else:
            metric, space = str(input_metric), numbers_space(datasets, str(input_metric), number, seed)
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "") or ""
    known = name.isidentifier()
    importable = module if known and module != "__main__" else ""
    return StableMap(
        name if known else "function",
        importable,
        function,
        space,
        metric,
        output_metric,
        number,
        exact_number("d_out", d_out),
    )


def exact_number(name: str, value: Any) -> Fraction:
    """A claimed distance as the rational number that it is.

    Raises:
        InvalidInput: no number, or one that is negative or not finite.
    """
    try:
        number = Fraction(value.item() if isinstance(value, np.generic) else value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} is {value!r:.60}; it must be a finite number >= 0") from None
    if number < 0:
        raise InvalidInput(f"{name} is {value!r:.60}; it must be a finite number >= 0")
    return number


def _record_metric(relation: Any) -> str:
    chosen = RecordRelation.parse(str(relation or "add_or_remove_one:record"))
    if chosen.unit != "record":
        raise InvalidInput(f"{chosen} needs datasets=, a Hypothesis strategy; without it give KIND:record")
    return RECORD[chosen.kind]


# --- values ----------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A dataset, a record or an output as `dpassay.replay.distances` takes it; arrays become lists, shape kept."""
    if value is None or isinstance(value, bool | int | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, Fraction):
        return Fraction(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {name if isinstance(name, str | int) else dataset_key(name): plain(each) for name, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, Row):
        return [plain(each) for each in value.values]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Ratings):
        return [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if hasattr(value, "to_numpy"):  # tables
        return plain(value.to_numpy())
    if hasattr(value, "__array__"):
        return plain(np.asarray(value).tolist())
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(each) for each in value]
    return dataset_key(value)


# --- datasets ---------------------------------------------------------------------------------------------------------


def list_space(
    element: Any, sizes: Sizes, metric: str, d_in: Fraction, has: Callable[[Any], bool] = lambda dataset: True
) -> Space:
    """Lists of records, or vectors of numbers, drawn by a strategy."""
    neighbors = Neighbors(element, sizes, metric, d_in)
    return Space(neighbors.lists(), neighbors.pairs(), plain, has)


def value_space(element: Any, metric: str, d_in: Fraction, has: Callable[[Any], bool] = lambda dataset: True) -> Space:
    """Single values, drawn by a strategy."""
    pairs = Neighbors(element, Sizes(1, 1), metric, d_in).pairs()
    return Space(element, pairs.map(lambda pair: DrawnPair(pair.first[0], pair.second[0])), plain, has)


def annotated_space(function: Callable[[Any], Any], metric: str, d_in: Fraction) -> Space:
    """All datasets of the type that annotates a function's first parameter: a list of numbers or texts, or a number.

    Raises:
        InvalidInput: nothing is annotated, or a type of which no datasets are made here.
    """
    try:
        names = list(inspect.signature(function).parameters)
        annotation = typing.get_type_hints(function).get(names[0]) if names else None
    except (TypeError, ValueError, NameError):
        annotation = None
    inner = typing.get_args(annotation)
    of_list = len(inner) == 1 and typing.get_origin(annotation) is list
    element = of_type(getattr(inner[0] if of_list else annotation, "__name__", ""), nan=True)
    if element is None:
        raise InvalidInput(
            "which datasets the function takes is not known: give datasets=, a Hypothesis strategy, for example "
            "st.lists(st.floats(0, 1)), or annotate its parameter, for example list[int]"
        )
    if not of_list:
        if metric in DATASETS:
            raise InvalidInput(f"the function takes one value, of which {metric} means nothing; give input_metric=")
        return value_space(element, metric, d_in)
    return list_space(element, Sizes(), metric, d_in)


def strategy_space(datasets: Any, relation: Any, metric: str | None, d_in: Fraction, seed: int) -> tuple[str, Space]:
    """Datasets that a strategy draws, and neighbors made of their records; the name of the distance first.

    Raises:
        InvalidInput: a relation without meaning for these datasets, or of one entry or user with a d_in other than 1.
    """
    from hypothesis import strategies as st

    if relation is None:
        kind = "replace_one" if metric in ("change_one", "hamming") else "add_or_remove_one"
        relation = RecordRelation(kind, "record")  # type: ignore[arg-type]
    elif not isinstance(relation, RecordRelation):
        relation = RecordRelation.parse(relation)
    neighbors = learned_neighbors(datasets, relation, seed, time.monotonic() + LEARNING)
    container = neighbors.container
    metric, flatten = _of_unit(relation, container, metric)
    if relation.unit not in ("record", "rating") and d_in != 1:
        raise InvalidInput(f"{relation} is judged at d_in=1, not at {d_in}")
    pairs = [neighbors.pairs()]
    declared = getattr(datasets, "wrapped_strategy", datasets)
    element = getattr(declared, "element_strategy", None)
    if element is not None and isinstance(getattr(declared, "max_size", None), int | float):
        most = int(min(declared.max_size, max(MOST, neighbors.sizes[1])))
        neighbors = dataclasses.replace(neighbors, sizes=(declared.min_size, most))
    least, most = neighbors.sizes
    if metric in ("insert_delete", "symmetric", "change_one", "hamming") and (element is not None or least < most):

        @st.composite
        def drawn(draw: Any) -> Any:
            return neighbors.donor(draw, 0)

        own = drawn() if element is None else _own(element)
        edited = Neighbors(own, Sizes(least, most), metric, d_in).pairs()
        pairs.append(st.tuples(datasets, edited).map(lambda given: _rebuilt(neighbors, *given)))
    return metric, Space(datasets, st.one_of(pairs), lambda dataset: flatten(container.records(dataset)))


def _rebuilt(neighbors: Any, like: Any, pair: DrawnPair) -> DrawnPair:
    """The datasets of two lists of records; None where the strategy is not known to give one."""
    return DrawnPair(*(neighbors.built(records, like) for records in pair))


def _of_unit(
    relation: RecordRelation, container: Container, metric: str | None
) -> tuple[str, Callable[[list[Any]], Any]]:
    """The distance that counts what a relation changes, and records as it takes them."""
    if relation.unit == "entry" or (relation.unit == "rating" and container.matrix):
        return "entries", lambda records: [plain(container.fields(record)) for record in records]
    if relation.unit == "user" and container.user is not None:
        user = container.user
        kind = "users_added" if relation.kind == "add_or_remove_one" else "users_replaced"
        return kind, lambda records: [[plain(user(record)), plain(record)] for record in records]
    if container.matrix:  # who leaves, leaves a row of NaN
        return "hamming", plain
    return metric or RECORD[relation.kind], plain


def _own(element: Any) -> Any:
    """A strategy of the same numbers that draws more extreme ones; any other strategy as it is."""
    declared = getattr(element, "wrapped_strategy", element)
    kind = type(declared).__name__
    if kind == "IntegersStrategy" and None not in (declared.start, declared.end):
        return integers(declared.start, declared.end)
    if kind == "FloatStrategy" and getattr(declared, "smallest_nonzero_magnitude", 1) <= 5e-324:
        return floats(declared.min_value, declared.max_value, nan=bool(declared.allow_nan))
    return element


def numbers_space(datasets: Any, metric: str, d_in: Fraction, seed: int) -> Space:
    """Numbers or vectors that a strategy draws, moved within the range of what it drew.

    Raises:
        InvalidInput: the strategy draws other things.
    """
    drawn = first_draws(datasets, f"{seed} numbers", 50)
    declared = getattr(datasets, "wrapped_strategy", datasets)
    if metric == "discrete":
        return value_space(datasets, metric, d_in)
    single = all(isinstance(plain(each), int | float) for each in drawn)
    entries = [plain(each) for each in drawn] if single else [entry for each in drawn for entry in _entries(each)]
    numbers = [entry for entry in entries if math.isfinite(entry)]
    if not numbers:
        raise InvalidInput(f"the distance {metric} needs a strategy of finite numbers or lists of them")
    low, high = min(numbers), max(numbers)

    def inside(dataset: Any) -> bool:
        return all(low <= each <= high for each in ([plain(dataset)] if single else _entries(dataset)))

    if single:
        return value_space(_own(datasets), metric, d_in, inside)
    sizes = {len(each) for each in drawn}
    element = getattr(declared, "element_strategy", None)
    if element is None:
        from hypothesis import strategies as st

        element = st.sampled_from(entries)
    if not isinstance(drawn[0], list):
        raise InvalidInput("vectors are lists of numbers here; give st.lists(...), and let the function make arrays")
    return list_space(_own(element), Sizes(min(sizes), max(sizes)), metric, d_in, inside)


def _entries(dataset: Any) -> list[Any]:
    """The numbers of a vector.

    Raises:
        InvalidInput: it is none.
    """
    entries = plain(dataset)
    if not isinstance(entries, list) or not all(isinstance(each, int | float) for each in entries):
        raise InvalidInput(f"{dataset_key(dataset)[:60]} is neither a number nor a vector of numbers")
    return entries


def one_line_of(error: BaseException) -> str:
    """An exception of the function, its type first."""
    return f"{type(error).__name__}: {one_line(error)}" if str(error) else type(error).__name__  # type: ignore[arg-type]
