"""Settings of the attack on collected ratings."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.core.checks import check_count
from dpassay.core.errors import InvalidInput

Method = Literal["modified_laplace", "modified_laplace_repaired", "randomized_response", "randomized_response_repaired"]
MAX_COLLECTIONS = 1000


@dataclass(frozen=True, kw_only=True)
class ReconstructionSettings(AttackSettings):
    """How ratings are collected, and from whom."""

    report: ClassVar = "dpassay.attacks.reconstruction.report"
    metrics: ClassVar = {
        "value-accuracy": "Share of a user's ratings whose exact value the collector guesses, told which items she "
        "rated.",
        "rated-tpr": "Share of the items she rated that the collector takes for more likely rated.",
        "rated-fpr": "Share of the items she did not rate that it takes for more likely rated.",
        "list-precision": "Share of the items that the collector lists as rated which she rated, all lists together.",
        "rated-advantage": "rated-tpr minus rated-fpr; popularity helps it too.",
        "rated-advantage-best": "The same at the threshold that is best on the other half of the users.",
        "auc": "Chance that an item she rated looks more rated to the collector than one she did not; 1/2 is blind.",
        "advantage": "TPR - FPR of telling the world in which she gave one rating from that in which she did not.",
        "profile-advantage": "The same for all of her ratings at once: is this her list, or nobody's?",
        "advantage-limit": "The most that any test could reach in place of that advantage.",
        "guess-value-accuracy": "The same guess without anything collected.",
        "guess-advantage": "rated-advantage-best from popularity alone.",
        "guess-auc": "auc from popularity alone.",
    }

    method: Method = setting("modified_laplace", "How each device perturbs her ratings.")
    epsilon: float = setting(1.0, "Nats, for one entry of a user's vector and one collection.")
    rounds: int = setting(1, "Collections that the headline numbers are about; every one has fresh noise.")
    targets: int | None = setting(None, "How many users are attacked, drawn at random; all if None.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("rounds", self.rounds, 1)
        if self.rounds > MAX_COLLECTIONS:
            raise InvalidInput(f"rounds is {self.rounds}; simulate at most {MAX_COLLECTIONS} collections")
        if self.targets is not None:
            check_count("targets", self.targets, 1)
