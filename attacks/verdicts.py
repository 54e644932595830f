"""Which claims of the papers are about an attacked mechanism, and what became of them."""

from typing import Any

CLAIMS: dict[str, tuple[str, ...]] = {
    "knn/paper": ("PP-ATK",),
    "top_beta_k": ("PP-BATK",),
    "npns/paper": ("PP-EM", "PP-SUCC"),
    "npns/repaired": ("PP-EM-REP",),
    "pncf/paper": ("PP-EM", "PP-PNCF-NOT", "PP-SUCC"),
    "ppns/paper": ("PP-DP", "PP-SEC", "PP-SEC2", "PP-MARG", "PP-MARG-INF"),
    "ppns/repaired": ("PP-DP-REP",),
    "item_knn": (),
    "pnsa/paper": ("XM-PNSA", "XM-T2"),
    "pnsa/released": ("XM-PNSA-REL",),
    "pnsa/repaired": ("XM-PNSA-REP",),
    "alterego": (),
    "prs/paper": ("XM-T1", "XM-T1-COMP"),
    "prs/released": ("XM-T1-REL",),
    "prs/repaired": ("XM-T1-REP", "XM-T1-COMP-REP"),
    "dpp/paper": ("DP-T31", "DP-EPS-REP", "DP-T-REP"),
    "kdpp/paper": ("DP-KDPP-REP", "DP-T-REP"),
    "dpp_eigen/paper": ("DP-EPS", "DP-EVEC"),
    "dpp_subset_jittered/paper": ("DP-SUB", "DP-SUB-REP"),
    "jlt/paper": ("CD-T51", "CD-T52"),
    "jlt/released": ("CD-T52-REL",),
    "jlt/repaired": ("CD-T52-REP",),
    "sjlt/paper": ("CD-SJLT",),
    "sjlt/released": ("CD-SJLT-REL",),
    "sjlt/repaired": ("CD-SJLT-REP",),
    "modified_laplace/paper": ("RC-T1", "RC-EXE"),
    "modified_laplace/repaired": ("RC-T1", "RC-EXE-REP"),
    "randomized_response/paper": ("RC-T2", "RC-EXE"),
    "randomized_response/repaired": ("RC-T2", "RC-EXE-REP"),
}
"""Mechanism, "id/variant" -> the claims on its privacy; those ending in -REP are ours."""


def verdicts(mechanism: str) -> list[dict[str, Any]]:
    """The reviewed verdict on every claim about a mechanism: "id", "place", "statement", "outcome", "dataset".

    Args:
        mechanism: "id/variant"; of one that is not in `CLAIMS` nothing is claimed.
    """
    from dpassay.core.registry import expected_outcomes, select

    ids, reviewed = CLAIMS.get(mechanism, ()), expected_outcomes()
    found = []
    for claim in select(None, list(ids)) if ids else ():
        ((dataset, outcome),) = reviewed[claim.id].items()
        about = {"id": claim.id, "place": claim.place, "statement": claim.statement}
        found.append({**about, "outcome": outcome, "dataset": dataset})
    return found
