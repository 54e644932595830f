"""What floating point does to the neighbor selections of Lu and Shen (PPNS): PP-EXE."""

from collections.abc import Callable, Mapping
from typing import Any

from dpassay.proofs.representation import executed, gumbel_difference, parameters

IDEAL: Mapping[tuple[str, str], str] = {
    ("npns", "paper"): "PP-EM",
    ("npns", "repaired"): "PP-EM-REP",
    ("pncf", "paper"): "PP-EM",
    ("ppns", "paper"): "PP-DP",
    ("ppns", "repaired"): "PP-DP-REP",
}
"""(id, variant) -> the claim about its ideal law."""


decide_executed = executed(
    ("npns", "pncf", "ppns"),
    "The selection compares log-weights plus Gumbel noise made from 52-bit uniform numbers, and that noise spans 40.3 "
    "nats only. A candidate who trails by more is never drawn, although the chance is positive in exact arithmetic; "
    "at epsilon 1 and a norm floor of 50, one rating among 81 moves a candidate across that border. No finite epsilon "
    "holds for what runs. The event is rare (ideal chance 4e-18), so that a delta of 1e-15 would cover it. The "
    "Laplace noise of the repaired PPNS is made from the same uniform numbers and bounded too, at 36.7 scales.",
)


def _npns_repaired() -> list[dict[str, Any]]:
    """Candidate 1 agrees with the target on 81 items; without the last, candidate 2 is just within reach."""
    built = parameters("npns", "repaired", num_neighbors=1, norm_floor=50.0)
    full, short = [5] * 81, [5] * 80 + [None]
    none = [None] * 81
    return [gumbel_difference(built, "add_or_remove_one:rating", [full, short, none], [full, full, none], output=2)]


DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {("npns", "repaired"): _npns_repaired}
