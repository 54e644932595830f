"""Formulas that noise scales and totals of compositions are computed by, to name the one that a number comes from.

Naming is a convenience for the reader: nothing is judged by it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_SAME = 1e-6
_Formula = tuple[str, Callable[[float, float], float], str]

_CLASSICAL = "is proved for epsilon below 1 alone (Dwork and Roth 2014, theorem A.1)"
_GAUSSIAN: Sequence[_Formula] = (
    (
        "sqrt(2 ln(1.25/delta)) / epsilon",
        lambda e, d: math.sqrt(2 * math.log(1.25 / d)) / e,
        _CLASSICAL,
    ),
    ("sqrt(ln(1.25/delta)) / epsilon", lambda e, d: math.sqrt(math.log(1.25 / d)) / e, "lacks the 2 under the root"),
    (
        "sqrt(2 log10(1.25/delta)) / epsilon",
        lambda e, d: math.sqrt(2 * math.log10(1.25 / d)) / e,
        "has the logarithm to base 10",
    ),
    ("sqrt(2 ln(1/delta)) / epsilon", lambda e, d: math.sqrt(2 * math.log(1 / d)) / e, "lacks the 1.25"),
    (
        "2 ln(1.25/delta) / epsilon^2",
        lambda e, d: 2 * math.log(1.25 / d) / e**2,
        "is a variance where the standard deviation is meant",
    ),
    ("1 / epsilon", lambda e, _: 1 / e, "is the scale of Laplace noise"),
)
_LAPLACE: Sequence[_Formula] = (
    ("epsilon", lambda e, _: e, "is the reciprocal of what is needed"),
    ("1 / (2 epsilon)", lambda e, _: 1 / (2 * e), "is half of what is needed"),
    ("1 / sqrt(epsilon)", lambda e, _: 1 / math.sqrt(e), "has a root too many"),
    ("1 / (sqrt(2) epsilon)", lambda e, _: 1 / (math.sqrt(2) * e), "takes the scale for the standard deviation"),
)
_SCALES: Mapping[str, Sequence[_Formula]] = {
    "gaussian": _GAUSSIAN,
    "discrete_gaussian": _GAUSSIAN,
    "laplace": _LAPLACE,
    "geometric": _LAPLACE,
}


def scale_formula(kind: str, multiple: float, epsilon: float, delta: float, *, refuted: bool) -> str:
    """The known formula that gives a scale, `multiple` times the sensitivity, and what is wrong with it; else "".

    Of a scale that is enough (not `refuted`) only the classical one is named, where epsilon is out of its range.
    """
    for text, formula, fault in _SCALES.get(kind, ()):
        try:
            value = formula(epsilon, delta)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if math.isclose(multiple, value, rel_tol=_SAME) and (epsilon >= 1 if fault is _CLASSICAL else refuted):
            return f"the scale is the sensitivity times {text}, which {fault}"
    return ""


def total_formula(tree: Mapping[str, Any], epsilon: float, delta: float) -> str:
    """The same for the claimed total of a mechanism composed with itself."""
    if tree.get("kind") != "self_composed" or tree["event"].get("kind") != "private":
        return ""
    from fractions import Fraction

    count = int(tree["count"])
    one, share = (float(Fraction(tree["event"][name])) for name in ("epsilon", "delta"))
    slack = delta - count * share
    linear = count * one * math.expm1(min(one, 700.0))
    totals = [("sqrt(k) epsilon", math.sqrt(count) * one, "is no theorem")]
    for left, said in ((slack, "delta - k delta_0"), (delta, "delta")):
        if 0 < left < 1:
            root = math.sqrt(2 * count * math.log(1 / left)) * one
            totals.append((f"epsilon sqrt(2 k ln(1/({said})))", root, "lacks the term k epsilon (e^epsilon - 1)"))
            if said == "delta" and share > 0:
                text = f"epsilon sqrt(2 k ln(1/{said})) + k epsilon (e^epsilon - 1)"
                totals.append((text, root + linear, "leaves no room for k delta_0"))
    for text, value, fault in totals:
        if math.isclose(epsilon, value, rel_tol=_SAME):
            return f"the total is {text}, which {fault} (Dwork and Roth 2014, theorem 3.20)"
    return ""
