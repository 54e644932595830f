"""The mechanisms under verification, as an explicit list.

Each is a frozen value with `sample(key, dataset)`, a `claim`, and where the law is finite and exact `log_prob(output,
dataset)` and `outputs(dataset)`. Privacy losses assume real arithmetic; what floating point makes of each sampler is
examined in `dpassay.proofs.representation`. Only the repaired `modified_laplace` and `randomized_response`, which
draw by integers alone, keep their privacy as executed; the others are references.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpassay.core.callable_module import make_callable
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.dpp import DeterminantalPointProcess
from dpassay.mechanisms.dpp_eigen import EigenvalueSampling
from dpassay.mechanisms.dpp_subset_jittered import JitteredSubsets
from dpassay.mechanisms.jlt import AdditiveSketch, GaussianSketch, ReleasedGaussianSketch
from dpassay.mechanisms.kdpp import FixedSizeProcess
from dpassay.mechanisms.knn import NearestNeighbors
from dpassay.mechanisms.modified_laplace import DiscreteModifiedLaplace, ModifiedLaplace
from dpassay.mechanisms.npns import FloorNormSelection, NaiveSelection
from dpassay.mechanisms.nuclear_norm_completion import NuclearNormCompletion
from dpassay.mechanisms.pncf import PrivateNeighborFiltering
from dpassay.mechanisms.pnsa import ConstantSensitivitySelection, ItemNeighborSelection, ReleasedItemSelection
from dpassay.mechanisms.pnsa_pncf import ConstantSensitivityFiltering, ItemFiltering
from dpassay.mechanisms.ppns import NoisyPartitionedSelection, PartitionedSelection
from dpassay.mechanisms.prs import CatalogueReplacementSelection, ReleasedReplacementSelection, ReplacementSelection
from dpassay.mechanisms.randomized_response import IntegerRandomizedResponse, RandomizedResponse
from dpassay.mechanisms.sjlt import ColumnSketch, ReleasedSparseSketch, SparseAwareSketch
from dpassay.mechanisms.wallenius import WalleniusSampling

MECHANISMS: Mapping[str, Mapping[str, type[Any]]] = {
    "dpp": {"paper": DeterminantalPointProcess},
    "dpp_eigen": {"paper": EigenvalueSampling},
    "dpp_subset_jittered": {"paper": JitteredSubsets},
    "jlt": {"paper": GaussianSketch, "released": ReleasedGaussianSketch, "repaired": AdditiveSketch},
    "kdpp": {"paper": FixedSizeProcess},
    "knn": {"paper": NearestNeighbors},
    "modified_laplace": {"paper": ModifiedLaplace, "repaired": DiscreteModifiedLaplace},
    "npns": {"paper": NaiveSelection, "repaired": FloorNormSelection},
    "nuclear_norm_completion": {"paper": NuclearNormCompletion},
    "pncf": {"paper": PrivateNeighborFiltering},
    "ppns": {"paper": PartitionedSelection, "repaired": NoisyPartitionedSelection},
    "pnsa": {
        "paper": ItemNeighborSelection,
        "released": ReleasedItemSelection,
        "repaired": ConstantSensitivitySelection,
    },
    "pnsa_pncf": {"paper": ItemFiltering, "repaired": ConstantSensitivityFiltering},
    "prs": {
        "paper": ReplacementSelection,
        "released": ReleasedReplacementSelection,
        "repaired": CatalogueReplacementSelection,
    },
    "randomized_response": {"paper": RandomizedResponse, "repaired": IntegerRandomizedResponse},
    "sjlt": {"paper": SparseAwareSketch, "released": ReleasedSparseSketch, "repaired": ColumnSketch},
    "wallenius": {"paper": WalleniusSampling},
}
"""id -> variant -> class."""


def mechanism(id: str, variant: str = "paper", **parameters: Any) -> Any:
    """Builds a registered mechanism.

    Args:
        id: see `mechanisms`.
        variant: "paper", "released" (what published code does), or "repaired" (ours).
        parameters: those that differ from the defaults.

    Raises:
        InvalidInput: an unknown id, variant or parameter, or a value that the mechanism does not allow.

    Example:
        >>> mechanism("ppns", num_neighbors=5, probability=0.3).quotas(num_candidates=40)
        (2, 2)
    """
    if id not in MECHANISMS:
        raise InvalidInput(f"no mechanism is called {id!r}; choose from {', '.join(MECHANISMS)}")
    variants = MECHANISMS[id]
    if variant not in variants:
        raise InvalidInput(f"{id} has no variant {variant!r}; choose from {', '.join(variants)}")
    known = [field.name for field in fields(variants[variant])]
    for name in parameters:
        if name not in known:
            raise InvalidInput(f"{id} ({variant}) has no parameter {name!r}; choose from {', '.join(known)}")
    return variants[variant](**parameters)


def mechanisms() -> list[dict[str, Any]]:
    """Every registered mechanism: {"id", "variant", "parameters"}, the parameters with their defaults."""
    return [describe(kind()) for variants in MECHANISMS.values() for kind in variants.values()]


def describe(mechanism: Any) -> dict[str, Any]:
    """{"id", "variant", "parameters"} with all parameters; `mechanism(**)` of it gives the mechanism again. JSON-able.

    Empty for a mechanism outside the registry.
    """
    for id, variants in MECHANISMS.items():
        for variant, kind in variants.items():
            if type(mechanism) is kind:
                parameters = {field.name: getattr(mechanism, field.name) for field in fields(kind)}
                return {"id": id, "variant": variant, "parameters": parameters}
    return {}


make_callable(__name__, mechanisms)
