"""What floating point does to the determinantal samplers: DP-EXE."""

from collections.abc import Callable, Mapping
from typing import Any

from dpassay.proofs.representation import UNIFORM_BITS, difference, executed, parameters

IDEAL: Mapping[tuple[str, str], str] = {
    ("dpp", "paper"): "DP-EPS-REP",
    ("kdpp", "paper"): "DP-KDPP-REP",
    ("dpp_subset_jittered", "paper"): "DP-SUB",
}
"""(id, variant) -> the claim about its ideal law."""


decide_executed = executed(
    ("dpp", "kdpp", "dpp_eigen", "dpp_subset_jittered"),
    "An item is chosen when a uniform number u, at least 2^-53, satisfies u (1 + lambda) < lambda. With a jitter "
    "of 1e-17 an item that nobody clicked has a positive chance in exact arithmetic, and the code never chooses "
    "it; with one more user it is chosen half of the time. The exact loss is finite there (38.5 nats), the "
    "executed one is not. At a jitter of 1 and more no item is out of reach in this way; eigenvalues and the "
    "draws of phase 2 are rounded all the same, and nothing is proved about them.",
)


def _dpp() -> list[dict[str, Any]]:
    """One item, one user who clicks it, jitter 1e-17."""
    built = parameters("dpp", "paper", jitter=1e-17, max_square_norm=1.0)
    return [difference("coin", built, "add_or_remove_one:user", [[1]], [[None]], output=[0], bits=UNIFORM_BITS)]


DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {("dpp", "paper"): _dpp}
