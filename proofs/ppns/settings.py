"""The settings of the experiments of Lu and Shen (PPNS), section 7."""

from dpassay.mechanisms.batched_users import (
    NearestNeighbors,
    PartitionedNeighbors,
    Selection,
    TruncatedNeighbors,
    WeightedNeighbors,
    exponential_scale,
)
from dpassay.mechanisms.ppns import Rule

EPSILON, RHO, NEIGHBORS, PROBABILITY = 1.0, 0.5, 50, 0.5


def paper_method(
    name: str,
    num_neighbors: int = NEIGHBORS,
    probability: float = PROBABILITY,
    rho: float = RHO,
    rule: Rule = "algorithm",
) -> Selection:
    """A method at the paper's settings, with RS = 1."""
    scale = exponential_scale(num_neighbors, EPSILON, 1.0)
    if name == "kNN" or (name == "PPNS" and probability >= 1):  # sec. 7 says that PPNS at p = 1 is kNN
        return NearestNeighbors(num_neighbors)
    if name == "PPNS":
        return PartitionedNeighbors(num_neighbors, probability, rule, scale)
    if name == "nPNS":
        return WeightedNeighbors(num_neighbors, None)
    return TruncatedNeighbors(num_neighbors, rho, scale)
