"""Settings of the attack on profiles mapped to another domain."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.core.checks import check_count, check_open_unit, check_positive

Method = Literal["alterego", "prs", "prs_released", "prs_repaired"]
Links = Literal["direct", "xsim"]


@dataclass(frozen=True, kw_only=True)
class AlterEgoSettings(AttackSettings):
    """How ratings are mapped, and how often the attacker sees it."""

    report: ClassVar = "dpassay.attacks.alterego.report"
    metrics: ClassVar = {
        "source-recall": "share of the users' source-domain items that the attacker named",
        "source-precision": "share of the named items that the user had rated",
        "guess-recall": "the same when the most popular items are named",
        "guess-precision": "the same when the most popular items are named",
        "exact-value": "share of the named items with the right rating as well",
        "guess-exact-value": "the same from popularity and the commonest rating",
        "auc": "chance that a rated source item is ranked above one that was not",
        "guess-auc": "the same for the order by popularity",
        "advantage": "TPR - FPR for which of two source items the user rated",
        "value-advantage": "TPR - FPR for which of two values she gave one item",
        "join-advantage": "TPR - FPR for whether a user's ratings are in the similarities, from the replacements of "
        "one item",
    }

    method: Method = setting(
        "prs", "alterego (no privacy, the most similar item), prs (as printed), prs_released, or prs_repaired."
    )
    epsilon: float = setting(1.0, "Of one replaced rating, nats.")
    links: Links = setting(
        "direct",
        "What X-SIM is: the adjusted cosine of items that share raters (direct), or X-Map's meta-paths (xsim).",
    )
    rounds: int = setting(10, "AlterEgos seen of each user, with fresh randomness.")
    targets: int = setting(50, "Users attacked, at most half of all.")
    source_share: float = setting(0.5, "Share of the items that form the source domain.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("epsilon", self.epsilon)
        check_count("rounds", self.rounds, 1)
        check_count("targets", self.targets, 2)
        check_open_unit("source_share", self.source_share)
