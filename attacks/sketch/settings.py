"""Settings of the attack on a published sketch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.core.errors import InvalidInput

Method = Literal["jlt", "jlt_released", "jlt_repaired", "sjlt", "sjlt_released", "sjlt_repaired"]
Shape = Literal["data", "full_rank", "rank_deficient"]


@dataclass(frozen=True, kw_only=True)
class SketchSettings(AttackSettings):
    """Which sketch is made of which part of the ratings, and how many of them are attacked."""

    report: ClassVar = "dpassay.attacks.sketch.report"
    metrics: ClassVar = {
        "advantage": 'share of sketches with the rating that are called "present", less that of sketches without it; '
        "the threshold was chosen on other sketches",
        "auc": "chance that a sketch with the rating scores above one without; 0.5 is none",
        "tpr-at-fpr-1-percent": "share of ratings that are recognized when 1 in 100 absent ones is wrongly called "
        "present",
        "told-with-certainty": "share of ratings whose presence or absence every sketch proved",
    }

    method: Method = setting("jlt", "Which sketch: as printed, as released, or repaired.")
    epsilon: float = setting(1.0, "Nats, that the sketch was made for.")
    delta: float | None = setting(
        None, "That the sketch was made for; one over the number of users if None, as in the paper."
    )
    sketch_rows: int = setting(40, "r, rows of the sketch. The paper uses 100 to 800, its code 204.")
    density: float = setting(
        0.5,
        "Share of entries of the random matrix that are not 0, for sjlt and sjlt_released. The experiments use 0.1 to "
        "0.9; Algorithm 1 asks for about one over the number of users.",
    )
    rows: int = setting(
        60, "At most this many items, those rated most by the users below, so that the attack takes seconds."
    )
    columns: int = setting(40, "At most this many users, drawn at random.")
    shape: Shape = setting(
        "data",
        '"full_rank": at least as many items as users, by dropping users; "rank_deficient": at most four items for '
        'five users, by dropping items (the paper\'s Amazon Movie to Book has 24,091 and 29,476); "data": whichever '
        "of them the whole of the ratings is.",
    )
    positive_from: float | None = setting(
        None,
        "Ratings from here on count as 1, others as none; the middle of the scale if None (3 for 1 to 5, as in the "
        "paper).",
    )
    targets: int = setting(40, "Ratings that are attacked.")
    trials: int = setting(
        200, "Sketches of each of the two matrices for each target; half of them choose the threshold."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.targets < 2:
            raise InvalidInput(f"targets is {self.targets}; attack at least 2 ratings, or no interval can be given")
        if self.trials < 20:
            raise InvalidInput(f"trials is {self.trials}; give at least 20, half of them choose the threshold")
