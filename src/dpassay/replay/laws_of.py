"""Which exact law the trusted base knows for which mechanism.

Each module has two functions. `law(mechanism, dataset)` maps every possible output to its probability, an exact
rational or an Arb ball around a positive number; an output that is not in the mapping is impossible. It raises
`Undefined` where the mechanism has no law on the dataset. `read_output(output, mechanism, dataset)` reads one output of
an event, a tuple of integers, and raises `Rejected` for anything that the mechanism cannot give on any dataset.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from dpassay.replay import Rejected

__all__ = ["LAWS", "law_module"]

LAWS: Mapping[str, str] = {
    "dpp": "dpassay.replay.determinantal",
    "dpp_eigen": "dpassay.replay.determinantal",
    "kdpp": "dpassay.replay.determinantal",
    "knn": "dpassay.replay.laws",
    "npns": "dpassay.replay.laws",
    "pncf": "dpassay.replay.laws",
    "pnsa": "dpassay.replay.item_laws",
    "ppns": "dpassay.replay.laws",
    "prs": "dpassay.replay.item_laws",
}


def law_module(mechanism: Mapping[str, Any]) -> Any:
    """The module with the mechanism's `law` and `read_output`.

    Raises:
        Rejected: a mechanism whose law is not known here.
    """
    if not isinstance(mechanism, Mapping) or mechanism.get("id") not in LAWS:
        raise Rejected(f"no exact law is known here for this mechanism; known: {', '.join(LAWS)}")
    return importlib.import_module(LAWS[mechanism["id"]])
