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
    metrics: ClassVar = (
        "value-accuracy",
        "rated-tpr",
        "rated-fpr",
        "list-precision",
        "rated-advantage",
        "rated-advantage-best",
        "auc",
        "advantage",
        "profile-advantage",
        "advantage-limit",
        "guess-value-accuracy",
        "guess-advantage",
        "guess-auc",
    )

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
