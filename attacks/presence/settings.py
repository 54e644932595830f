"""Settings of the attack on recommendations from a determinantal point process."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.core.checks import check_count
from dpassay.core.errors import InvalidInput

Method = Literal["dpp", "kdpp", "dpp_eigen", "dpp_subset_jittered"]
MAX_ROUNDS = 1024


@dataclass(frozen=True, kw_only=True)
class PresenceSettings(AttackSettings):
    """Which sets are recommended, of how many items, and how many of them the attacker sees."""

    report: ClassVar = "dpassay.attacks.presence.report"
    metrics: ClassVar = {
        "advantage": "TPR - FPR of telling the data with the subject from the data without her, the mean over targets.",
        "auc": "Chance that a run with the subject looks more like her than one without; 1/2 is blind.",
        "advantage-limit": "The most that any test could reach on these targets.",
        "advantage-worst-case": "The most that any attacker could reach on any data with this jitter and number of "
        "recommendations.",
        "guess-advantage": "Without recommendations presence is a coin flip.",
    }

    method: Method = setting(
        "dpp",
        "The sampler of Algorithm 1, the one of a fixed number of items, phase 1 alone, or jittered weights in "
        "phase 2.",
    )
    epsilon: float = setting(
        1.0, "Nats, for one recommendation; the jitter is the smallest that gives it by the exact theorem."
    )
    jitter: float | None = setting(None, "s itself, in place of epsilon.")
    num_items: int | None = setting(
        None, "n, the most popular items are the catalogue; 12 if None (5 for dpp_subset_jittered), at most 14."
    )
    size: int = setting(3, "Number of items shown by kdpp.")
    others: int | None = setting(None, "How many other users are in the data, drawn at random; all if None.")
    rounds: int = setting(32, "T, recommendations seen.")
    targets: int = setting(
        50, "How many users are attacked, drawn at random among those who rated an item of the catalogue."
    )
    trials: int = setting(40, "Runs per target with her in the data, and as many without.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rounds", "targets", "trials"):
            check_count(name, getattr(self, name), 1)
        if self.rounds > MAX_ROUNDS:
            raise InvalidInput(f"rounds is {self.rounds}; the exact limits are computed for at most {MAX_ROUNDS}")
