"""What an OpenDP Transformation says of itself: domain, metrics, and the distance that its stability map claims.

The library is not imported: whoever has a Transformation has it.
"""

import re
from fractions import Fraction
from typing import Any

from dpassay.auditors.drawing import check_strategy
from dpassay.auditors.extreme_datasets import MOST, Sizes, of_type
from dpassay.auditors.stable_maps import Space, StableMap, exact_number, list_space, strategy_space, value_space
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line
from dpassay.replay.distances import DATASETS

METRICS = {
    "SymmetricDistance": "symmetric",
    "InsertDeleteDistance": "insert_delete",
    "ChangeOneDistance": "change_one",
    "HammingDistance": "hamming",
    "AbsoluteDistance": "absolute",
    "L1Distance": "l1",
    "L2Distance": "l2",
    "LInfDistance": "linf",
    "DiscreteDistance": "discrete",
}


def is_transformation(function: Any) -> bool:
    """Whether this is an OpenDP Transformation."""
    kind = type(function)
    return kind.__module__.partition(".")[0] == "opendp" and kind.__name__ in ("Transformation", "Measurement")


def opendp_map(transformation: Any, *, d_in: Any, d_out: Any, datasets: Any, seed: int) -> StableMap:
    """What a Transformation claims at `d_in`: 1, or 2 where one record of a fixed number is replaced.

    Raises:
        InvalidInput: no Transformation but a Measurement, a d_in that its map refuses, or a domain or metric that is
            not known here.
    """
    if type(transformation).__name__ != "Transformation":
        raise InvalidInput("this is an OpenDP Measurement: audit it with dpassay.adapters.opendp.from_opendp")
    domain = transformation.input_domain
    input_metric, output_metric = (
        _metric(each) for each in (transformation.input_metric, transformation.output_metric)
    )
    number = exact_number("d_in", smallest_distance(transformation) if d_in is None else d_in)
    whole = not str(transformation.input_distance_type).startswith("f")
    if whole and number.denominator != 1:
        raise InvalidInput(f"d_in is {d_in}; this Transformation counts whole records")
    try:
        claimed = transformation.map(int(number) if whole else float(number)) if d_out is None else d_out
    except Exception as error:  # the library raises several kinds
        raise InvalidInput(f"the stability map refuses d_in={d_in!r}: {one_line(error)}") from error
    if datasets is None:
        space = _space(domain, input_metric, number)
    else:
        check_strategy(datasets)
        if input_metric not in DATASETS:
            raise InvalidInput("datasets= is for Transformations of records; leave it out")
        space = strategy_space(datasets, None, input_metric, number, seed)[1]
    return StableMap(
        "transformation", "", transformation, space, input_metric, output_metric, number, _claimed(claimed)
    )


def smallest_distance(transformation: Any) -> int:
    """Of two datasets that differ in one record: 1, or 2 where one of a fixed number is replaced."""
    adds = _metric(transformation.input_metric) in ("symmetric", "insert_delete")
    return 2 if adds and getattr(transformation.input_domain, "size", None) is not None else 1


def _claimed(value: Any) -> Fraction:
    try:
        return exact_number("d_out", value)
    except InvalidInput:
        raise InvalidInput(f"the stability map gives {value!r:.60}, which is no finite distance") from None


def _metric(metric: Any) -> str:
    name = re.match(r"\w+", str(metric))
    known = METRICS.get(name.group() if name else "")
    if known is None:
        raise InvalidInput(f"the metric {metric} is not known here; known are {', '.join(METRICS)}")
    return f"{known}_monotonic" if known == "linf" and "monotonic=true" in str(metric).lower() else known


def _space(domain: Any, metric: str, d_in: Fraction) -> Space:
    of_list = str(domain).startswith("VectorDomain")
    element = _element(domain.element_domain if of_list else domain)
    if element is None:
        raise InvalidInput(f"datasets of {domain} are not made here: give datasets=, a Hypothesis strategy of them")
    if not of_list:
        return value_space(element, metric, d_in, domain.member)
    sizes = Sizes(0, MOST) if domain.size is None else Sizes(domain.size, domain.size)
    return list_space(element, sizes, metric, d_in, domain.member)


def _element(domain: Any) -> Any:
    from hypothesis import strategies as st

    if str(domain).startswith("OptionDomain"):
        inner = _element(domain.element_domain)
        return None if inner is None else st.one_of(inner, st.none())
    if not str(domain).startswith("AtomDomain"):
        return None
    name = str(domain.carrier_type)
    try:
        bounds, nan = domain.bounds, bool(domain.nan)
    except Exception:  # texts and small integers have neither
        bounds, nan = None, False
    return of_type(name, bounds, nan=nan)
