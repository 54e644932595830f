"""SmartNoise Synth: the covariance that it releases, of a known number of rows, one of them replaced.

It clips what is outside of the range that it is given, so rows far outside are data, too.
"""

from collections.abc import Iterator

from dpassay.core.extras import library
from dpassay.core.privacy import PrivacyClaim
from dpassay.scanning.candidates import DECLARED, Candidate, NotJudged, mechanism_of

_EPSILON, _ROWS = 0.5, 4
_CODE = f"""import numpy as np
import pandas as pd
from snsynth.models.dp_covariance import DPcovariance
def mechanism(rng, data):
    np.random.seed(int(rng.integers(2**32)))  # it draws from NumPy's global generator
    ranges = pd.DataFrame({{"a": [0.0, 1.0], "b": [0.0, 1.0]}})
    release = DPcovariance({_ROWS}, ["a", "b"], ranges, {_EPSILON}).release
    return release(pd.DataFrame(data, columns=["a", "b"]))"""


def candidates() -> Iterator[Candidate | NotJudged]:
    """`DPcovariance` of two columns."""
    library("snsynth.models.dp_covariance")
    from hypothesis import strategies as st

    row = st.tuples(*2 * [st.sampled_from([0.0, 1.0, 100.0])])
    yield Candidate(
        "mechanism",
        f"snsynth.models.dp_covariance.DPcovariance(global_eps={_EPSILON}).release",
        "",
        mechanism_of(_CODE),
        PrivacyClaim(_EPSILON),
        "replace_one:record",
        st.lists(row, min_size=_ROWS, max_size=_ROWS),
        DECLARED,
        _CODE,
    )
