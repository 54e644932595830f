"""Recomputes from a pair of datasets and the outputs of a map on them how far both are apart, and whether the claim
about the map is refuted.

Inputs: "map" (its name, in words), "input_metric" and "output_metric" (see `dpassay.replay.distances`), "d_in" and
"d_out" (exact numbers: datasets at distance d_in at most are claimed to have outputs at distance d_out at most),
"dataset1", "dataset2", "output1", "output2". A value is null, true, false, an integer, a list of values, {"float":
text} with an exact number, "-0", "nan", "inf" or "-inf", {"rational": text}, {"text": text}, or {"dict": [[key,
value], ...]}.
An output may be {"raises": name of an exception} instead.

That the map gives these outputs on these datasets is the map's own: no file can show it. Anybody who has the map can
run it on the two datasets.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.distances import Exact, NoDistance, bound, distance
from dpassay.replay.numbers import fields, fraction, rational

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "-0": -0.0}
_FIELDS = ("map", "input_metric", "output_metric", "d_in", "d_out", "dataset1", "dataset2", "output1", "output2")


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes both distances; raises `Rejected` when the inputs are malformed or refute nothing."""
    fields(inputs, "stability", _FIELDS)
    if not isinstance(inputs["map"], str) or not inputs["map"].strip():
        raise Rejected("map must be a text that says what it is")
    metrics = str(inputs["input_metric"]), str(inputs["output_metric"])
    d_in, d_out = (fraction(rational(inputs[name])) for name in ("d_in", "d_out"))
    if d_in < 0 or d_out < 0:
        raise Rejected("d_in and d_out must not be negative")
    raised = [_raised(inputs[name]) for name in ("output1", "output2")]
    try:
        apart_in = distance(metrics[0], decoded(inputs["dataset1"]), decoded(inputs["dataset2"]))
        if any(raised):
            apart_out: Exact = math.inf if None in raised else Fraction(0)
        else:
            apart_out = distance(metrics[1], decoded(inputs["output1"]), decoded(inputs["output2"]))
    except NoDistance as error:
        raise Rejected(str(error)) from None
    if apart_in > bound(metrics[0], d_in):
        raise Rejected(f"the datasets are {shown(metrics[0], apart_in)} apart, more than {d_in}")
    if apart_out <= bound(metrics[1], d_out):
        raise Rejected(f"the outputs are {shown(metrics[1], apart_out)} apart, no more than {d_out}")
    statement = (
        f"{inputs['map']}: datasets at distance {d_in} at most ({metrics[0]}) have outputs at distance "
        f"{d_out} at most ({metrics[1]})"
    )
    found = [shown(metric, apart) for metric, apart in zip(metrics, (apart_in, apart_out), strict=True)]
    told = f"an exception ({next(filter(None, raised))}) on one dataset only" if any(raised) else f"{found[1]} apart"
    return {
        "supports": "refuted",
        "statement": statement,
        "distance_in": found[0],
        "distance_out": found[1],
        "summary": f"{statement}: refuted by two datasets {found[0]} apart whose recorded outputs are {told}; that "
        "these are the map's outputs only the map itself can show",
    }


def shown(metric: str, apart: Exact) -> str:
    """A distance as text: an integer or a fraction, "inf", or the root of one of these."""
    return f"sqrt({apart})" if metric == "l2" and apart not in (0, 1, math.inf) else str(apart)


def encoded(value: Any) -> Any:
    """A value as it stands in a certificate; `decoded` reads it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        special = next((name for name, each in _SPECIAL.items() if repr(each) == repr(value)), None)
        return {"float": special or str(Fraction(value))}
    if isinstance(value, Fraction):
        return {"rational": str(value)}
    if isinstance(value, list):
        return [encoded(each) for each in value]
    if isinstance(value, dict):
        return {"dict": [[encoded(name), encoded(each)] for name, each in value.items()]}
    return {"text": str(value)}


def decoded(content: Any) -> Any:
    """The value that `encoded` wrote.

    Raises:
        Rejected: it is none.
    """
    if content is None or isinstance(content, bool | int):
        return content
    if isinstance(content, list):
        return [decoded(each) for each in content]
    if not isinstance(content, dict) or len(content) != 1:
        raise Rejected(f"{str(content)[:60]} is no value")
    (kind, inner), *_ = content.items()
    if kind == "float":
        return _SPECIAL[inner] if inner in _SPECIAL else _float(inner)
    if kind == "rational":
        return fraction(rational(inner))
    if kind == "text" and isinstance(inner, str):
        return inner
    if kind == "dict":
        return {decoded(name): decoded(each) for name, each in inner}
    raise Rejected(f"{kind!r} is no kind of value")


def _float(text: Any) -> float:
    exact = fraction(rational(text))
    value = float(exact)
    if Fraction(value) != exact:
        raise Rejected(f"{text} is no float")
    return value


def _raised(output: Any) -> str | None:
    if isinstance(output, dict) and set(output) == {"raises"}:
        return str(output["raises"])
    return None
