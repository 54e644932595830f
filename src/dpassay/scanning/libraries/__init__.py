"""What is known of single libraries: each module here lists what its library claims, by the library's own objects.

`LIBRARIES` says which module is about which import name. A module has one function:

    def candidates() -> Iterable[Candidate | NotJudged]

(of the import name where it is about several). It imports its library when it is called, in a process of its own, and
calls no mechanism: candidates are made of objects and functions, which are called later, each in a process of its own.
What a library does not offer in the installed version is left out.
"""

import importlib
from collections.abc import Iterable

from dpassay.scanning.candidates import Candidate, NotJudged

_TRAININGS = ("jax_privacy", "opacus", "prv_accountant", "riskcal")
LIBRARIES: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("diffprivlib", "dp_accounting", "opendp", "pydp", "snsynth")},
    **{name: ("trainings", name) for name in _TRAININGS},
}
"""Import name -> module of this folder, and the arguments of its function."""
PARTIAL = frozenset({"jax_privacy", "prv_accountant", "riskcal", "snsynth"})
"""Of which signatures tell more than their module here."""


def candidates(name: str) -> Iterable[Candidate | NotJudged]:
    """What the library of an import name offers; for a name that `LIBRARIES` has."""
    module, *arguments = LIBRARIES[name]
    listed: Iterable[Candidate | NotJudged] = importlib.import_module(f"{__name__}.{module}").candidates(*arguments)
    return listed
