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
    metrics: ClassVar = (
        "source-recall",
        "source-precision",
        "guess-recall",
        "guess-precision",
        "exact-value",
        "guess-exact-value",
        "auc",
        "guess-auc",
        "advantage",
        "value-advantage",
        "join-advantage",
    )

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
