"""Settings of the beta-kNN attack: on recommenders that compare users, and on those that compare items."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.core.checks import check_count, check_positive, check_share
from dpassay.core.errors import InvalidInput

UserMethod = Literal["knn", "top_beta_k", "npns", "pncf", "ppns", "npns_repaired", "ppns_repaired"]
ItemMethod = Literal["item_knn", "pnsa", "pnsa_released", "pnsa_repaired"]
Similarity = Literal["cosine", "pearson", "full_cosine"]
KnownItems = Literal["random", "popular", "rare"]
Ties = Literal["random", "index", "fakes_first"]
Noise = Literal["similarity", "none"]
Weight = Literal["exponential", "similarity"]
PUBLIC = ("similar_items", "similar_scores")
"""Channels that anyone can read, without an account."""
INFERRED = {
    "yield": "Share of a target's unknown ratings that were inferred.",
    "guess-yield": "Without the attack: share of the same ratings that as many most popular items would name.",
    "precision": "Share of the inferred items that the target did rate.",
    "guess-precision": "Without the attack: share of as many most popular items that the target did rate.",
    "advantage": "How much likelier a rating is inferred when it is there than when it is not.",
    "exact-value": "Share of the correctly inferred items whose rating was inferred exactly.",
    "guess-exact-value": "Without the attack: share of the same items whose rounded average rating is the target's.",
    "inferred": "Items inferred per target.",
}
COST = {
    "fakes": "Fake accounts per target at a time.",
    "queries": "Answers of the recommender that are read per target.",
}


@dataclass(frozen=True, kw_only=True)
class Attack(AttackSettings):
    """What the attacker on a user-based recommender does."""

    beta: float = setting(1.0, "Fakes per neighbor; beta k fake users attack one target.")
    num_known: int = setting(8, "m, how many of the target's ratings the attacker knows.")
    choice: KnownItems = setting(
        "random", "Which ratings the attacker knows: random ones, or those of the most popular or rarest items."
    )
    wrong: float = setting(0.0, "Share of the known ratings that the attacker has wrong by one star.")
    channel: Literal["ratings", "top_n", "both"] = setting(
        "ratings",
        'What the fakes are told: the predicted rating of every item ("ratings"), a list of the N items of highest '
        'prediction ("top_n", of equal ones the more popular first), or that list with the predictions ("both").',
    )
    list_length: int = setting(10, "N.")
    rule: Literal["votes", "seen"] = setting(
        "votes",
        'When an item counts as inferred. "seen": when any fake sees it. "votes": when the number of lists that show '
        "it is explained by the target's being a neighbor, better than by the item's popularity. Popularity alone "
        "shows an item in a share q = 1 - (1 - p)^h of the lists, p being its share of raters and h fitted to the "
        "length of the lists; the target, drawn with chance t, raises that to q + (1 - q) t (on lists of N items to "
        "the share in between that fits best). Inferred if likelihood ratio times prior odds p / (1 - p) exceed 1.",
    )
    rounds: int = setting(1, "How often every fake asks.")
    fresh: bool = setting(
        True, "Whether the recommender draws neighbors anew in each round; if not, later rounds repeat the first."
    )
    restarts: int = setting(
        1, "Attacks on the same target, each with its own known ratings and fakes; their votes are joined."
    )
    other_attackers: int = setting(0, "Further attackers, each with beta k fakes aimed at another target.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("beta", self.beta)
        for name in ("num_known", "list_length", "rounds", "restarts"):
            check_count(name, getattr(self, name), 1)
        check_count("other_attackers", self.other_attackers, 0)
        check_share("wrong", self.wrong)

    def num_fakes(self, num_neighbors: int) -> int:
        """beta k, rounded.

        Raises:
            InvalidInput: fewer than 2.
        """
        fakes = round(self.beta * num_neighbors)
        if fakes < 2:
            raise InvalidInput(f"beta {self.beta:g} of {num_neighbors} neighbors is {fakes} fakes; use at least 2")
        return fakes


@dataclass(frozen=True, kw_only=True)
class UserSettings(Attack):
    """The attack on a recommender that compares users, and that recommender."""

    report: ClassVar = "dpassay.attacks.beta_knn.user_report"
    metrics: ClassVar = {
        **INFERRED,
        "surrounded": "Share of targets whose fakes have exactly each other and the target as the most similar users.",
        "target-seen": "Share of targets who were among the neighbors of at least one fake.",
        **COST,
    }

    method: UserMethod = setting(
        "knn", "How the recommender chooses neighbors: nearest, k of the beta k nearest, nPNS, PNCF, PPNS, or ours."
    )
    num_neighbors: int | None = setting(None, "k. Default: 50, or a tenth of the users if that is less.")
    targets: int | None = setting(
        None, "How many users to attack, each alone, at random; default: all with more than m ratings."
    )
    similarity: Similarity = setting(
        "full_cosine",
        '"full_cosine" has norms over all of a user\'s ratings; "cosine" and "pearson" are the paper\'s, over co-rated '
        "items. Full norms are the default because the attack needs them: among co-rated items everyone who shares a "
        "single one has cosine 1 with the fakes, and the target is lost in the crowd.",
    )
    ties: Ties = setting("random", "Who of equally similar users comes first: at random, older accounts, or fakes.")
    min_overlap: int = setting(0, "Defense: a similarity over fewer co-rated items counts as 0.")
    significance: int = setting(0, "Defense: similarities are multiplied by min(co-rated items, g) / g; 0 for none.")
    epsilon: float = setting(1.0, "Of private selections, nats.")
    sensitivity: float = setting(1.0, "RS in the weights exp(epsilon sim / (4 k RS)).")
    weight: Weight = setting("exponential", "Of random selections: exponential, or the similarity itself.")
    probability: float = setting(0.5, "p of PPNS.")
    rho: float = setting(0.5, "Of PNCF's truncation.")
    noise: Noise = setting("similarity", "Whether PNCF adds noise to the similarities in a prediction.")
    norm_floor: float = setting(40.0, "c of the repaired methods' similarity, in ratings.")


@dataclass(frozen=True, kw_only=True)
class ItemSettings(AttackSettings):
    """The attack on a recommender that compares items, and that recommender."""

    report: ClassVar = "dpassay.attacks.beta_knn.item_report"
    metrics: ClassVar = {**INFERRED, **COST}

    method: ItemMethod = setting(
        "item_knn", "item_knn (k most similar items, no privacy), pnsa (as printed), pnsa_released, or pnsa_repaired."
    )
    epsilon: float = setting(
        1.0, "The report's eps', nats: half for drawing one item's neighbors, half for noise on their similarities."
    )
    num_neighbors: int = setting(10, "k.")
    beta: float = setting(1.0, "There are beta k fakes, rounded; 0 for none, where the channel is public.")
    num_known: int = setting(8, "m, ratings of the target that the attacker knows.")
    choice: KnownItems = setting("random", "Whether these are random, the most popular or the rarest of her items.")
    channel: Literal["similar_items", "similar_scores", "ratings", "top_n", "both"] = setting(
        "similar_items",
        "similar_items: the lists of k similar items of the known items; similar_scores: these with scores; ratings: "
        "predicted ratings for every fake; top_n: the fakes' lists of recommendations; both: with ratings.",
    )
    list_length: int = setting(10, "N of top_n.")
    guesses: int = setting(20, "Items that the attacker names, at most.")
    looks: Literal["once", "twice"] = setting(
        "once", "Once, or twice: the same is read before the target's unknown ratings arrive, and what is new counts."
    )
    turnover: float = setting(0.05, "Share of all other users' ratings that arrive between the two looks.")
    rounds: int = setting(1, "How often everything is read, with fresh randomness.")
    targets: int = setting(20, "Users attacked.")
    wrong: float = setting(0.0, "Share of the known ratings that are off by one.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_neighbors", "num_known", "list_length", "guesses", "rounds", "targets"):
            check_count(name, getattr(self, name), 1)
        check_positive("epsilon", self.epsilon)
        if not 0 <= self.beta < math.inf:
            raise InvalidInput(f"beta is {self.beta}; it must be 0 or more")
        check_share("wrong", self.wrong)
        check_share("turnover", self.turnover)
        if not self.public and self.num_fakes == 0:
            raise InvalidInput(f"channel {self.channel} needs a fake account to read with; use a larger beta")

    @property
    def public(self) -> bool:
        """Whether anyone can read the channel."""
        return self.channel in PUBLIC

    @property
    def num_fakes(self) -> int:
        """beta k, rounded."""
        return round(self.beta * self.num_neighbors)

    @property
    def num_looks(self) -> int:
        """How often everything is read and compared."""
        return 2 if self.looks == "twice" else 1

    @property
    def lists(self) -> int:
        """Draws of every neighbor list that the attacker sees at one look; to read public lists one account will do."""
        return self.rounds if self.public else self.rounds * self.num_fakes
