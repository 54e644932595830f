"""What floating point does to the samplers of X-Map (Guerraoui et al.): XM-EXE."""

from collections.abc import Callable, Mapping
from typing import Any

from dpassay.proofs.representation import executed, gumbel_difference, parameters

IDEAL: Mapping[tuple[str, str], str] = {
    ("prs", "paper"): "XM-T1",
    ("prs", "released"): "XM-T1-REL",
    ("prs", "repaired"): "XM-T1-REP",
    ("pnsa", "paper"): "XM-PNSA",
    ("pnsa", "released"): "XM-PNSA-REL",
    ("pnsa", "repaired"): "XM-PNSA-REP",
    ("pnsa_pncf", "paper"): "XM-PNSA",
    ("pnsa_pncf", "repaired"): "XM-PNSA-REP",
}
"""(id, variant) -> the claim about its ideal law."""


decide_executed = executed(
    ("prs", "pnsa", "pnsa_pncf"),
    "The draws compare log-weights plus Gumbel noise made from 52-bit uniform numbers, and that noise spans 40.3 "
    "nats only. A replacement or neighbor that trails by more has a positive chance in exact arithmetic and is "
    "never drawn by the code, and one user moves it across that border: no finite epsilon holds for what runs. "
    "In the repaired PNSA, where many users add up, epsilon 1 is enough; the event is rare there (ideal chance "
    "4e-18), so that a delta of 1e-15 would cover it. In PRS one item can trail by at most epsilon/2, so that "
    "nothing is out of reach below epsilon 80.7.",
)


def _prs(variant: str) -> Callable[[], list[dict[str, Any]]]:
    """Item 1 moves with the source item, item 2 against it, until another user says the contrary."""

    def build() -> list[dict[str, Any]]:
        built = parameters("prs", variant, epsilon=82.0)
        missing = [None, None, None]
        first = [[5, 5, 1], [5, 1, 5]]
        return [gumbel_difference(built, "add_or_remove_one:user", first, [first[0], missing], output=2)]

    return build


def _pnsa_repaired() -> list[dict[str, Any]]:
    """162 users rate the target 5 and item 2 with 1; with 161, item 2 is just within reach."""
    built = parameters("pnsa", "repaired", num_neighbors=1, threshold=100.0, width=2.0)
    user, missing = [5, None, 1], [None, None, None]
    return [gumbel_difference(built, "add_or_remove_one:user", [*[user] * 161, missing], [user] * 162, output=2)]


DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {
    ("prs", "repaired"): _prs("repaired"),
    ("prs", "paper"): _prs("paper"),
    ("pnsa", "repaired"): _pnsa_repaired,
}
