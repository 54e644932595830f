"""PyDP, Google's building blocks in Python: bounded sums, means and counts of records."""

from collections.abc import Iterator

from dpassay.core.extras import library
from dpassay.core.privacy import PrivacyClaim
from dpassay.scanning.candidates import DECLARED, Candidate, NotJudged, mechanism_of

_EPSILON = 0.5
_ALGORITHMS = {
    "Count": "dtype='int'",
    "BoundedSum": "lower_bound=1, upper_bound=3, dtype='int'",
    "BoundedMean": "lower_bound=1, upper_bound=3, dtype='float'",
}


def candidates() -> Iterator[Candidate | NotJudged]:
    """Algorithms of `pydp.algorithms.laplacian`; its noise comes from the system and cannot be seeded."""
    from hypothesis import strategies as st

    module = library("pydp.algorithms.laplacian")
    for name, given in _ALGORITHMS.items():
        call = f"{name}(epsilon={_EPSILON}, {given})"
        code = f"from pydp.algorithms.laplacian import {name}\nalgorithm = {call}\n"
        code += "def mechanism(rng, data):\n    return algorithm.quick_result(data)"
        yield Candidate(
            "mechanism",
            f"pydp.algorithms.laplacian.{call}",
            "",
            mechanism_of(code),
            PrivacyClaim(_EPSILON),
            None,
            st.lists(st.integers(1, 3), min_size=1, max_size=8),
            DECLARED,
            code,
        )
    for name in sorted(set(dir(module)) - {*_ALGORITHMS}):
        if name[0].isupper():
            yield NotJudged(f"pydp.algorithms.laplacian.{name}", "", "no arguments of it are made here")
