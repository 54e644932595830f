"""A user-based recommender: how its neighbors are chosen."""

from dataclasses import dataclass, replace
from typing import Any

from dpassay.attacks.beta_knn.settings import Noise, Similarity, Ties, UserMethod, Weight
from dpassay.core.checks import check_choices, check_count, check_open_unit, check_positive
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.similarity import floor_norm_sensitivity

NAMES: dict[str, str] = {
    "knn": "k nearest neighbors",
    "top_beta_k": "k of the top beta k",
    "npns": "nPNS",
    "pncf": "PNCF",
    "ppns": "PPNS",
    "npns_repaired": "nPNS repaired",
    "ppns_repaired": "PPNS repaired",
}


@dataclass(frozen=True)
class Recommender:
    """A user-based recommender: how a user's neighbors are chosen, and the prediction (6) made from them.

    Lu and Shen, secs. 2.2, 3.1 and 5.2, as in `dpassay.mechanisms`; "top_beta_k" is sec. 4.2: k drawn uniformly from
    the `num_nearest` most similar. Raises InvalidInput for a value out of range.

    Attributes (others, and their units, are those of `UserSettings`):
        ties: "random" for every list, "index" the older account, "fakes_first" fake users (random among them and among
            real ones).
        weight: of weight "similarity" candidates without positive similarity are never drawn.
        noise: of scale 2 RS / epsilon, Laplace, drawn once per neighbor and list.
        num_nearest: size of the set that "top_beta_k" draws from.
        max_rating: R, largest rating; of the repaired methods.
        min_overlap, significance: the repaired methods' choice is not affected by these two, the prediction is.
    """

    method: UserMethod = "knn"
    num_neighbors: int = 50
    similarity: Similarity = "full_cosine"
    ties: Ties = "random"
    epsilon: float = 1.0
    sensitivity: float = 1.0
    weight: Weight = "exponential"
    probability: float = 0.5
    rho: float = 0.5
    noise: Noise = "similarity"
    num_nearest: int = 50
    norm_floor: float = 40.0
    max_rating: float = 5.0
    min_overlap: int = 0
    significance: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        check_count("num_neighbors", self.num_neighbors, 2)
        check_count("num_nearest", self.num_nearest, self.num_neighbors)
        check_count("min_overlap", self.min_overlap, 0)
        check_count("significance", self.significance, 0)
        for name in ("epsilon", "sensitivity", "norm_floor", "max_rating"):
            check_positive(name, getattr(self, name))
        check_open_unit("probability", self.probability)
        check_open_unit("rho", self.rho)

    @property
    def repaired(self) -> bool:
        """Whether neighbors are chosen by the floor-norm cosine."""
        return self.method in ("npns_repaired", "ppns_repaired")

    @property
    def noise_scale(self) -> float:
        """Scale of the Laplace noise on the similarities of a prediction; 0 for none."""
        return 2 * self.sensitivity / self.epsilon if self.method == "pncf" and self.noise == "similarity" else 0.0

    @property
    def floor_sensitivity(self) -> float:
        """GS = min(1, R^2/c^2) of the floor-norm cosine."""
        return floor_norm_sensitivity(self.norm_floor, self.max_rating)

    def mechanism(self, target: int = 0) -> Any:
        """The registered mechanism that chooses the neighbors; None for "top_beta_k", which is none of the paper's."""
        k = self.num_neighbors
        ties = "index" if self.ties == "index" else "random"
        ranked: dict[str, Any] = {"num_neighbors": k, "target": target, "similarity": self.similarity, "ties": ties}
        weighted = {**ranked, "epsilon": self.epsilon, "sensitivity": self.sensitivity, "weight": self.weight}
        floor: dict[str, Any] = {"num_neighbors": k, "target": target, "epsilon": self.epsilon}
        floor |= {"norm_floor": self.norm_floor, "max_rating": self.max_rating}
        match self.method:
            case "knn":
                return mechanism("knn", **ranked)
            case "npns":
                return mechanism("npns", **weighted)
            case "pncf":
                return mechanism("pncf", **weighted, rho=self.rho)
            case "ppns":
                return mechanism("ppns", **weighted, probability=self.probability)
            case "npns_repaired":
                return mechanism("npns", "repaired", **floor)
            case "ppns_repaired":
                return mechanism("ppns", "repaired", **floor, probability=self.probability)
        return None


def with_beta(recommender: Recommender, beta: float) -> Recommender:
    """The recommender of sec. 4.2 draws from as many as there are fakes; the others do not know beta."""
    k = recommender.num_neighbors
    return replace(recommender, num_nearest=max(k, round(beta * k)))
