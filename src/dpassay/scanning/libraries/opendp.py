"""OpenDP: Transformations with their stability maps, Measurements with their privacy maps, at arguments of ours.

Only the feature "contrib" is enabled: what asks for "honest-but-curious" or "idealized-numerics" is promised to nobody.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from dpassay.adapters.opendp import from_opendp
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.scanning.candidates import DECLARED, Candidate, NotJudged, Pair, Stable

_SETUP = "import opendp.prelude as opendp\nopendp.enable_features('contrib')"
_NAMES = {
    "ints": "opendp.vector_domain(opendp.atom_domain(T=int))",
    "small": "opendp.vector_domain(opendp.atom_domain(bounds=(0, 10)))",
    "sized_ints": "opendp.vector_domain(opendp.atom_domain(bounds=(0, 10)), size=20)",
    "reals": "opendp.vector_domain(opendp.atom_domain(T=float, nan=False))",
    "sized_reals": "opendp.vector_domain(opendp.atom_domain(bounds=(0.0, 10.0), nan=False), size=20)",
    "far_reals": "opendp.vector_domain(opendp.atom_domain(bounds=(2.0**50, 2.0**50 + 1), nan=False), size=1024)",
    "words": "opendp.vector_domain(opendp.atom_domain(T=str))",
    "pairs": "opendp.vector_domain(opendp.atom_domain(T=int), size=2)",
    "bits": "opendp.vector_domain(opendp.atom_domain(bounds=(0, 1)), size=4)",
    "symmetric": "opendp.symmetric_distance()",
    "l1": "opendp.l1_distance(T=int)",
    "l2": "opendp.l2_distance(T=int)",
    "linf": "opendp.linf_distance(T=int)",
    "integer": "(opendp.atom_domain(T=int), opendp.absolute_distance(T=int))",
    "real": "(opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float))",
    "keyed": "opendp.map_domain(opendp.atom_domain(T=str), opendp.atom_domain(T=int))",
    "keyed_l1": "opendp.l01inf_distance(opendp.absolute_distance(T=int))",
    "keyed_l2": "opendp.l02inf_distance(opendp.absolute_distance(T=int))",
}
"""Words of the calls below -> what they stand for."""

_TRANSFORMATIONS: tuple[str, ...] = (
    "make_count(ints, symmetric)",
    "make_count_distinct(words, symmetric)",
    "make_count_by_categories(words, symmetric, categories=['a', 'b'])",
    "make_sum(small, symmetric)",
    "make_sum(sized_ints, symmetric)",
    "make_sum(sized_reals, symmetric)",
    "make_mean(sized_reals, symmetric)",
    "make_variance(sized_reals, symmetric)",
    "make_sum_of_squared_deviations(sized_reals, symmetric)",
    "make_sum_of_squared_deviations(far_reals, symmetric)",
    "make_clamp(ints, symmetric, bounds=(0, 10))",
    "make_clamp(reals, symmetric, bounds=(0.0, 10.0))",
    "make_resize(small, symmetric, size=10, constant=0)",
    "make_find_bin(reals, symmetric, edges=[0.0, 1.0, 2.0])",
    "make_quantile_score_candidates(reals, symmetric, candidates=[0.0, 1.0, 2.0], alpha=0.5)",
    "make_b_ary_tree(pairs, l1, leaf_count=2, branching_factor=2)",
    "make_b_ary_tree(bits, l1, leaf_count=4, branching_factor=2)",
    "make_b_ary_tree(bits, l2, leaf_count=4, branching_factor=4)",
)
_MEASUREMENTS: tuple[tuple[str, Any, Any, Any], ...] = (
    ("make_laplace(*integer, scale=2.0)", 1, 0, 1),
    ("make_laplace(*real, scale=2.0)", 1.0, 0.0, 1.0),
    ("make_laplace(pairs, l1, scale=2.0)", 1, [0, 0], [1, 0]),
    ("make_geometric(*integer, scale=2.0, bounds=(0, 5))", 1, 0, 1),
    ("make_gaussian(*integer, scale=2.0)", 1, 0, 1),
    ("make_gaussian(*real, scale=2.0)", 1.0, 0.0, 1.0),
    ("make_randomized_response_bool(prob=0.75)", 1, False, True),
    ("make_randomized_response(['a', 'b', 'c'], prob=0.6)", 1, "a", "b"),
    ("make_noisy_max(ints, linf, opendp.max_divergence(), scale=1.0)", 1, [0, 0], [1, -1]),
    ("make_noisy_max(ints, linf, opendp.zero_concentrated_divergence(), scale=1.0)", 1, [0, 0], [1, -1]),
    ("make_report_noisy_max_gumbel(ints, linf, scale=1.0)", 1, [0, 0], [1, -1]),
    ("make_laplace_threshold(keyed, keyed_l1, scale=1.0, threshold=3)", (1, 1, 1), {}, {"a": 1}),
    ("make_gaussian_threshold(keyed, keyed_l2, scale=1.0, threshold=3)", (1, 1, 1), {}, {"a": 1}),
)
"""Calls, with d_in and two datasets at that distance."""


def candidates() -> Iterator[Candidate | NotJudged]:
    """What the tables make in the installed version; the other constructors by name."""
    library("opendp.prelude").enable_features("contrib")
    for call in _TRANSFORMATIONS:
        if (made := _made("t", call)) is not None:
            yield _candidate("transformations", call, "map", made, Stable(), f"transformation = {_spelled('t', call)}")
    for call, d_in, dataset1, dataset2 in _MEASUREMENTS:
        if (made := _made("m", call)) is not None:
            try:
                mechanism = from_opendp(made, d_in)
            except InvalidInput as error:
                yield NotJudged(f"opendp.measurements.{call}", "", str(error))
                continue
            code = f"mechanism = from_opendp({_spelled('m', call)}, d_in={d_in!r})"
            code = f"from dpassay.adapters.opendp import from_opendp\n{code}"
            pair, relation = Pair(dataset1, dataset2), f"distance {d_in} in its input metric"
            yield _candidate("measurements", call, "mechanism", mechanism, mechanism.claim, code, pair, relation)
    yield from _others()


def _candidate(
    module: str, call: str, kind: Any, subject: Any, claim: Any, code: str, pair: Any = None, relation: Any = None
) -> Candidate:
    return Candidate(kind, f"opendp.{module}.{call}", "", subject, claim, relation, pair, DECLARED, f"{_SETUP}\n{code}")


def _spelled(module: str, call: str) -> str:
    """The call without our words."""
    constructor, _, given = call.partition("(")
    for word in sorted(_NAMES, key=len, reverse=True):
        given = re.sub(rf"\b{word}\b(?!=)", _NAMES[word], given)
    return f"opendp.{module}.{constructor}({given}"


def _made(module: str, call: str) -> Any:
    """What a call of ours makes; None where the installed version does not make it."""
    try:
        return eval(_spelled(module, call), {"opendp": library("opendp.prelude")})
    except Exception:  # the library raises several kinds
        return None


def _others() -> Iterator[NotJudged]:
    """Constructors that are not called above."""
    called = {call.partition("(")[0] for call in (*_TRANSFORMATIONS, *(each[0] for each in _MEASUREMENTS))}
    for module in ("transformations", "measurements"):
        for name, function in sorted(vars(library(f"opendp.{module}")).items()):
            if name.startswith("make_") and inspect.isfunction(function) and name not in called:
                yield NotJudged(f"opendp.{module}.{name}", "", "no arguments of it are made here")
