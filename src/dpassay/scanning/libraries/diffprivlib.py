"""diffprivlib: mechanisms on values as far apart as their sensitivity, tools and models on records within their bounds.

The library does not say which datasets are neighbors: tools and models are judged under each usual reading.
"""

import inspect
from collections.abc import Iterator
from typing import Any

from dpassay.core.extras import library
from dpassay.core.privacy import PrivacyClaim
from dpassay.scanning.candidates import DECLARED, Candidate, NotJudged, Pair, mechanism_of

_EPSILON, _DELTA = 0.5, 1e-2
_MECHANISMS: dict[str, tuple[str, Any, Any]] = {
    "Binary": ("value0='no', value1='yes'", "no", "yes"),
    "ExponentialCategorical": ("utility_list=[('a', 'b', 1.0), ('a', 'c', 2.0), ('b', 'c', 2.0)]", "a", "c"),
    "ExponentialHierarchical": ("hierarchy=[['a', 'b'], ['c', 'd']]", "a", "c"),
    "Gaussian": ("delta=0.01, sensitivity=1.0", 0.0, 1.0),
    "GaussianAnalytic": ("delta=0.01, sensitivity=1.0", 0.0, 1.0),
    "GaussianDiscrete": ("delta=0.01, sensitivity=1", 0, 1),
    "Geometric": ("sensitivity=1", 0, 1),
    "GeometricTruncated": ("sensitivity=1, lower=0, upper=4", 0, 1),
    "Laplace": ("sensitivity=1.0", 0.0, 1.0),
    "LaplaceBoundedDomain": ("sensitivity=1.0, lower=0.0, upper=2.0", 0.0, 1.0),
    "LaplaceBoundedNoise": ("delta=0.01, sensitivity=1.0", 0.0, 1.0),
    "Snapping": ("sensitivity=1.0, lower=0.0, upper=2.0", 0.0, 1.0),
    "Staircase": ("sensitivity=1.0", 0.0, 1.0),
}
"""Mechanism -> its arguments, beside epsilon, and two values that are as far apart as it allows."""
_TOOLS = {
    "count_nonzero": "",
    "histogram": "bins=2, range=(1.0, 3.0)",
    "mean": "bounds=(1.0, 3.0)",
    "median": "bounds=(1.0, 3.0)",
    "sum": "bounds=(1.0, 3.0)",
    "var": "bounds=(1.0, 3.0)",
}
_SAME = {
    "GeometricFolded": "noise of Geometric, folded",
    "LaplaceFolded": "noise of Laplace, folded",
    "LaplaceTruncated": "noise of Laplace, truncated",
    "nanmean": "mean, where nothing is missing",
    "nanstd": "the root of var, where nothing is missing",
    "nansum": "sum, where nothing is missing",
    "nanvar": "var, where nothing is missing",
    "std": "the root of var",
}
"""What computes from something that is judged above; left out, so that the others have the time that they need."""
_MODELS = {
    "GaussianNB": ("bounds=(0.0, 100.0)", "model.theta_", "int"),
    "LinearRegression": ("bounds_X=(0.0, 100.0), bounds_y=(0.0, 1.0), fit_intercept=False", "model.coef_", "float"),
    "StandardScaler": ("bounds=(0.0, 100.0)", "model.mean_", "float"),
}
"""Model -> its arguments, what of it is released, and the type of the labels."""


def candidates() -> Iterator[Candidate | NotJudged]:
    """Mechanisms, tools and models that the installed version has."""
    package = {"diffprivlib": library("diffprivlib"), "models": library("diffprivlib.models")}
    for name, (given, one, two) in _MECHANISMS.items():
        call = f"diffprivlib.mechanisms.{name}(epsilon={_EPSILON}, {given})"
        if hasattr(package["diffprivlib"].mechanisms, name):
            yield _candidate(call, _code(call), Pair(one, two), None)
    for name, given in _TOOLS.items():
        call = f"diffprivlib.tools.{name}"
        if hasattr(package["diffprivlib"].tools, name):
            yield _candidate(f"{call}({given})", _code(call, f"epsilon={_EPSILON}", given), _values(), None)
    for name, (given, output, label) in _MODELS.items():
        call = f"diffprivlib.models.{name}(epsilon={_EPSILON}, {given})"
        if hasattr(package["models"], name):
            yield _candidate(call, _model_code(call, output, label), _records(), None)
    yield from _others(package)


def _code(*arguments: str) -> str:
    given = ", ".join(filter(None, arguments))
    return f"{_IMPORTS}\nmechanism = from_diffprivlib({given}).function"


_IMPORTS = "import diffprivlib.models\nfrom dpassay.adapters.diffprivlib import from_diffprivlib"


def _model_code(call: str, output: str, label: str) -> str:
    return "\n".join(
        (
            f"import numpy as np\n{_IMPORTS}",
            f"fit = from_diffprivlib({call}, output=lambda model: np.ravel({output})).function",
            "def mechanism(rng, data):",
            f"    return fit(rng, (np.array([[x] for x, _ in data]), np.array([y for _, y in data], {label})))",
        )
    )


def _candidate(call: str, code: str, datasets: Any, relation: str | None) -> Candidate:
    claim = PrivacyClaim(_EPSILON, _DELTA if "delta=" in call else 0.0)
    notes = () if isinstance(datasets, Pair) else (f"called with epsilon={_EPSILON} and bounds of ours",)
    return Candidate("mechanism", call, "", mechanism_of(code), claim, relation, datasets, DECLARED, code, notes)


def _values() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=8)


def _records() -> Any:
    """Where all features are 0 the solver of LinearRegression takes a hundred times as long."""
    from hypothesis import strategies as st

    return st.lists(st.tuples(st.sampled_from([2.0, 50.0, 100.0]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=6)


def _others(package: dict[str, Any]) -> Iterator[NotJudged]:
    """What the library exports beside."""
    listed = {"mechanisms": {*_MECHANISMS}, "tools": {*_TOOLS}, "models": {*_MODELS}}
    for module, known in listed.items():
        for name, thing in sorted(vars(library(f"diffprivlib.{module}")).items()):
            if not name.startswith("_") and name not in known and (inspect.isclass(thing) or inspect.isfunction(thing)):
                same = f"it is left out, as {_SAME[name]}" if name in _SAME else "no arguments of it are made here"
                yield NotJudged(f"diffprivlib.{module}.{name}", "", same)
