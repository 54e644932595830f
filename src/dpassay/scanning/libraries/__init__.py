"""What is known of single libraries: each module here lists what its library claims, by the library's own objects.

`LIBRARIES` says which module is about which import name. A module has one function:

    def candidates() -> Iterable[Candidate | NotJudged]

It imports its library when it is called, in a process of its own, and calls no mechanism: candidates are made of
objects and functions, which are called later, each in a process of its own. What a library does not offer in the
installed version is left out.
"""

import importlib
from collections.abc import Iterable

from dpassay.scanning.candidates import Candidate, NotJudged

LIBRARIES = {name: name for name in ("diffprivlib", "dp_accounting", "opacus", "opendp", "pydp", "snsynth")}
"""Import name -> module of this folder."""
PARTIAL = frozenset({"snsynth"})
"""Of which signatures tell more than their module here."""


def candidates(name: str) -> Iterable[Candidate | NotJudged]:
    """What the library of an import name offers; for a name that `LIBRARIES` has."""
    module = importlib.import_module(f"{__name__}.{LIBRARIES[name]}")
    listed: Iterable[Candidate | NotJudged] = module.candidates()
    return listed
