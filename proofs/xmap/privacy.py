"""Decides the differential-privacy claims of X-Map's technical report (Theorem 1, and the weights of Theorem 3).

Every violation is two rating datasets that differ in one user, and an event, found by `dpassay.auditors.search` or
taken from a family stated here, and recomputed by the trusted checker before it counts. Mechanisms: `prs` and `pnsa`.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpassay.auditors.exact import certificate_inputs
from dpassay.auditors.search import search
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.privacy import Witness
from dpassay.core.records import Plot, Series, Table
from dpassay.mechanisms import mechanism
from dpassay.proofs.decisions import checked, shown
from dpassay.proofs.notation import identity, proof, smt
from dpassay.proofs.witnesses import NEARLY_INFINITE, PATIENCE, claiming, laws_table, pair_witness, released_set

EPSILON = 1.0
RELATION = "add_or_remove_one:user"
SCALE = ["1", "2", "3", "4", "5"]
READINGS = (("adjusted_cosine", "all"), ("adjusted_cosine", "co_raters"), ("cosine", "all"), ("cosine", "co_raters"))
WORDS = {
    "adjusted_cosine": "ratings less the user's mean",
    "cosine": "plain ratings",
    "all": "norms over all raters",
    "co_raters": "norms over co-raters",
}


def decide_prs(claim: Claim, context: Context) -> Verdict:
    """XM-T1: the smallest pairs between which a replacement turns impossible, as its X-SIM is no longer quantified."""
    found = []
    for similarity, norms in READINGS[:1] if context.quick else READINGS:
        context.progress(f"{claim.id}: {WORDS[similarity]}, {WORDS[norms]}")
        smallest = _impossible(mechanism("prs", epsilon=EPSILON, similarity=similarity, norms=norms), context.seed)
        found.append((f"{WORDS[similarity]}, {WORDS[norms]}", smallest))
    witnesses, evidence = _checked(found, impossible=True, minimal=True)
    if not witnesses:
        return Verdict(claim.id, "open", "No user was found whose leaving makes a replacement impossible.")
    return Verdict(
        claim.id,
        "refuted",
        "As defined, the candidates are the target-domain items with a quantified X-SIM, a set that is read off the "
        f"ratings. {_sentence(witnesses[0])} Whoever sees that replacement knows that the user is there; no finite "
        "epsilon allows it. The proof sums over one set I(t_i) for both datasets. With a fixed set and a true global "
        "sensitivity the theorem holds (XM-T1-REP).",
        evidence=evidence,
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
        repair="XM-T1-REP: the public catalogue as candidates, an undefined X-SIM as 0, GS = 2",
    )


def decide_prs_released(claim: Claim, context: Context) -> Verdict:
    """XM-T1-REL: a replacement enters or leaves the list of the ten largest |X-SIM|."""
    context.progress(f"{claim.id}: the cut after ten")
    released = mechanism("prs", "released", epsilon=EPSILON)
    listed = pair_witness(released, RELATION, list_cut(), EPSILON)
    witnesses, evidence = _checked([("eleven linked items, the list holds ten", listed)], impossible=True)
    lost = [("an item loses its only link", _impossible(released, context.seed))]
    more = _checked(lost, impossible=True, minimal=True)
    witnesses, evidence = witnesses + more[0], evidence + more[1]
    if not witnesses:
        return Verdict(claim.id, "open", "No user was found whose leaving changes the list of candidates.")
    return Verdict(
        claim.id,
        "refuted",
        "The released code first cuts the candidates to the ten of largest |X-SIM|, a list that one user can change "
        f"even if every item keeps a link: {_sentence(witnesses[0])} The loss is infinite. It is so without the cut "
        "too, since the list holds linked items only.",
        evidence=evidence,
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
        repair="XM-T1-REP: the public catalogue as candidates, an undefined X-SIM as 0, GS = 2",
    )


def decide_pnsa(claim: Claim, context: Context) -> Verdict:
    """XM-PNSA: a small pair found by search, and a family of pairs along which the loss grows without bound."""
    half = EPSILON / 2
    found: list[tuple[str, Witness | None]] = []
    if not context.quick:
        context.progress(f"{claim.id}: search")
        found.append(("found by search, shrunk step by step", _searched(half, context.seed)))
    sizes = (8, 16, 32, 64) if context.quick else (2, 4, 8, 16, 32, 64, 128)
    rows: list[list[Any]] = []
    series: list[Series] = []
    for similarity, norms in READINGS[:1] if context.quick else READINGS:
        reading = f"{WORDS[similarity]}, {WORDS[norms]}"
        context.progress(f"{claim.id}: {reading}")
        selection = mechanism("pnsa", epsilon=EPSILON, num_neighbors=1, similarity=similarity, norms=norms)
        family = _family(selection, [sensitivity_family(size, similarity) for size in sizes])
        losses = [member.epsilon for member in family]
        rows += [
            [reading, size, round(loss, 6), loss > half, loss > EPSILON]
            for size, loss in zip(sizes, losses, strict=True)
        ]
        series.append(Series(reading, list(sizes), losses))
        found += [(f"{reading}; {sizes[i]} users agree", claiming(family[i], bound)) for i, bound in _telling(losses)]
    witnesses, evidence = _checked(found)
    if not witnesses:
        return Verdict(claim.id, "open", "No pair of datasets was found on which the selection loses more than eps'/2.")
    worst = max(witness.epsilon for witness in witnesses)
    if not context.quick and checked(growth_proof()):
        summary = "plain ratings, norms over co-raters: the loss is at least 6m/25 - 1/4 - ln(1 + e^(5/84)) for every m"
        evidence = (*evidence, shown(summary, growth_proof()))
    return Verdict(
        claim.id,
        "refuted",
        "The weight of an item is divided by SS(t_i, t_j), a number computed from the ratings, different for every "
        "item and every dataset. A user with extreme ratings makes it large; when she leaves it drops, and the "
        f"exponent is multiplied. {_sentence(witnesses[0])} Where m users agree with a weak rating and one with a "
        f"strong one, the loss at eps' = 1 grows with m without bound, by 1/4 - 1/100 per user on plain ratings: "
        f"here it reaches {worst:.3g} nats where 0.5 is claimed. The neighbors alone exceed "
        "eps', so PNSA with PNCF fails as well if it releases them; its noise has the same local SS for its scale. "
        "The soft floor makes no output impossible, so the loss of one pair is finite.",
        evidence=_with_table(evidence, rows, series, "users who agree (m)"),
        epsilon_lower=worst,
        epsilon_claimed=half,
        witness=witnesses[0],
        assumptions=("where SS is infinite or not positive the exponent is 0; in the family every SS is positive",),
        repair="XM-PNSA-REP: one constant global sensitivity and a constant width of the soft floor",
    )


def decide_pnsa_released(claim: Claim, context: Context) -> Verdict:
    """XM-PNSA-REL: a neighbor turns impossible with its only link; and with all links kept the loss is unbounded."""
    half = EPSILON / 2
    context.progress(f"{claim.id}: an item loses its only link")
    selection = mechanism("pnsa", "released", epsilon=EPSILON, num_neighbors=1)
    lost = [("an item loses its only link", _impossible(selection, context.seed))]
    witnesses, evidence = _checked(lost, impossible=True, minimal=True)
    context.progress(f"{claim.id}: all items keep their links")
    sizes = (50, 100) if context.quick else (25, 50, 75, 100, 150, 200)
    family = _family(selection, [released_family(size) for size in sizes])
    losses = [member.epsilon for member in family]
    more = _checked(
        [(f"all links kept; {sizes[i]} users agree", claiming(family[i], bound)) for i, bound in _telling(losses)]
    )
    witnesses, evidence = witnesses + more[0], evidence + more[1]
    if not witnesses:
        return Verdict(claim.id, "open", "No pair of datasets was found on which the selection loses more than eps'/2.")
    reading = "as released, all links kept"
    rows = [
        [reading, size, round(loss, 6), loss > half, loss > EPSILON] for size, loss in zip(sizes, losses, strict=True)
    ]
    return Verdict(
        claim.id,
        "refuted",
        "The released code draws among the items that share a rater with t_i, a list read off the ratings. "
        f"{_sentence(witnesses[0])} Its local sensitivity is no help either: with all links kept the loss still grows "
        f"without bound in the number of users who agree, here to {max(losses):.3g} nats where 0.5 is claimed. The "
        "truncation max(sim, sim - w) changes nothing.",
        evidence=_with_table(evidence, rows, [Series(reading, list(sizes), losses)], "users who agree (m)"),
        epsilon_lower=witnesses[0].epsilon,
        epsilon_claimed=half,
        witness=witnesses[0],
        repair="XM-PNSA-REP: one constant global sensitivity and a constant width of the soft floor",
    )


def growth_proof() -> dict[str, Any]:
    """That no epsilon holds for all members of `sensitivity_family` on plain ratings."""
    return proof(
        "Plain ratings, norms over co-raters, k = 1, rho = 1/2, eps' = 1, m >= 2. Item 1 has similarity 1 on both "
        "sides. With the strong user SS(0, 1) is the larger of 25/m (she is removed) and 1/(m + 24) (another is), "
        "by the first step 25/m; without her it is 1/(m - 1). Item 2 has two co-raters, (1, 5) and (5, 1), on both"
        " sides: similarity 5/13 and SS = 10/5 - 10/26 = 21/13. The largest SS is at least 21/13, so by the second"
        " step, with L = ln 2, w = sim_k = 1 and the floor is 0. The weights of item 1 are B = e^(m/100) with the "
        "strong user and A = e^((m-1)/4) without, that of item 2 is c = e^(5/84). The probability of item 2 is "
        "c/(B+c) against c/(A+c), and by the third step the ratio is at least A/(B (1+c)), whose logarithm is "
        "6m/25 - 1/4 - ln(1+c) by the last step: it exceeds any epsilon for large m.",
        smt("the strong user's removal decides SS", "2 <= m", "1 / (m + 24) <= 25 / m"),
        smt("w is sim_k", "1 / 2 <= L, 21 / 13 <= S", "1 <= 4 * S * L"),
        smt("the ratio of the probabilities", "0 < A, 1 <= B, 0 < c", "A / (B * (1 + c)) <= (A + c) / (B + c)"),
        identity("the difference of the exponents", "(m - 1) / 4 - m / 100 == 6 / 25 * m - 1 / 4"),
        supports="refuted",
    )


def sensitivity_family(num_agreeing: int, similarity: str = "adjusted_cosine") -> tuple[np.ndarray, np.ndarray]:
    """Datasets between which the weights of PNSA move by a factor that grows exponentially with m users who agree.

    As of the other families, both have the shape (users, items), and the second is the first without the last user.

    Item 0 is the target. m users rate item 1 as they rate the target, a little above their mean (or 1 on the plain
    scale), and one more user does so strongly: SS(0, 1) is about 16/m (25/m) with that user, who is the last, and about
    1/m without, while the similarity stays near 1. A few others give the remaining items a small similarity and a
    positive, finite SS, so that no reading of a zero or infinite SS matters.
    """
    rows: Sequence[tuple[int, ...]]
    if similarity == "cosine":
        rows = [(1, 1, 0)] * num_agreeing + [(1, 0, 5), (5, 0, 1), (5, 5, 0)]
    else:
        others = [(2, 0, 2, 1), (2, 0, 2, 1), (5, 0, 1, 5)]
        rows = [(2, 2, 0, 1)] * num_agreeing + others + [(5, 5, 0, 1)]
    return _without_last(rows)


def released_family(num_agreeing: int) -> tuple[np.ndarray, np.ndarray]:
    """As `sensitivity_family`, shapes included, for the released code's sensitivity; no link comes or goes."""
    rows = [(1, 1, 0)] * num_agreeing + [(1, 0, 5), (5, 0, 1), (5, 5, 0)]
    return _without_last(rows)


def list_cut(list_size: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Every item of a target domain of `list_size` + 1 is linked by one user of its own; one more links the last.

    All links are alike, so the list without that user holds the first `list_size` items; with her the last item has
    two raters, a larger |X-SIM| and a place on the list. Shapes: (users, items).
    """
    count = list_size + 1
    rows = [tuple(1 if item == 0 else 2 * (item == own) for item in range(count + 1)) for own in range(1, count + 1)]
    return _without_last([*rows, rows[-1]])


def _without_last(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """A dataset, 0 where a rating is missing, and the same without its last user; her row stays, empty."""
    levels = np.array(rows, float)
    matrix = np.where(levels == 0, np.nan, levels)
    without = matrix.copy()
    without[-1] = np.nan
    return matrix, without


def _family(selection: Any, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[Witness]:
    """The worst event of each pair, all laws computed at the shape of the largest."""
    shape = max(pair[0].shape for pair in pairs)
    return [pair_witness(selection, RELATION, pair, EPSILON, shape) for pair in pairs]


def _telling(losses: Sequence[float]) -> list[tuple[int, float]]:
    """The first member beyond eps'/2, the first beyond eps', and the last; each with the larger bound it exceeds."""
    firsts = [next((i for i, loss in enumerate(losses) if loss > bound), None) for bound in (EPSILON / 2, EPSILON)]
    chosen = sorted({i for i in (*firsts, len(losses) - 1) if i is not None and losses[i] > EPSILON / 2})
    return [(i, EPSILON if losses[i] > EPSILON else EPSILON / 2) for i in chosen]


def _impossible(selection: Any, seed: int) -> Witness | None:
    """The smallest pair with an output that is possible on one side only, with two users and three items at most."""
    found = search(
        selection,
        RELATION,
        epsilon=NEARLY_INFINITE,
        num_users=2,
        num_items=3,
        seed=seed,
        fixed=("num_neighbors",),
        time_limit=PATIENCE,
    )
    return found and claiming(found, EPSILON)


def _searched(bound: float, seed: int) -> Witness | None:
    """A pair that costs PNSA more than `bound`, shrunk step by step."""
    selection = mechanism("pnsa", epsilon=EPSILON, num_neighbors=1)
    sizes: dict[str, Any] = {"num_users": 6, "num_items": 3, "minimal": False}
    return search(selection, RELATION, epsilon=bound, seed=seed, time_limit=PATIENCE, **sizes)


def _checked(
    found: Sequence[tuple[str, Witness | None]], *, impossible: bool = False, minimal: bool = False
) -> tuple[tuple[Witness, ...], tuple[Evidence, ...]]:
    """Named witnesses, as far as the trusted checker agrees; `impossible`: with an event impossible on one side."""
    witnesses, evidence = [], []
    for name, witness in found:
        if witness is None:
            continue
        sides = (witness.relation, witness.dataset1, witness.dataset2, witness.event)
        inputs = certificate_inputs(witness.mechanism, *sides, epsilon=witness.claim.epsilon, impossible=impossible) | (
            {"epsilon": "inf"} if impossible else {}
        )
        certificate = {"kind": "witness", "inputs": inputs | ({"minimality": {"scale": SCALE}} if minimal else {})}
        result = checked(certificate)
        if result is None:
            continue
        least = f"; {result['minimality']['statement']}" if "minimality" in result else ""
        evidence.append(shown(f"{name}: {result['summary']}{least}", certificate, tables=(laws_table(witness),)))
        witnesses.append(witness)
    return tuple(witnesses), tuple(evidence)


def _with_table(
    evidence: Sequence[Evidence], rows: Sequence[Sequence[Any]], series: Sequence[Series], x_label: str
) -> tuple[Evidence, ...]:
    """The losses along the family, attached to the first piece of evidence."""
    table = Table(
        "Exact loss when one user leaves, one neighbor, eps' = 1 (claimed: 0.5, and 1 with PNCF)",
        ["reading", x_label, "loss (nats)", "above 0.5", "above 1"],
        [list(row) for row in rows],
    )
    ends = [series[0].x[0], series[0].x[-1]]
    plot = Plot(
        "The loss grows with the number of users who agree",
        x_label,
        "exact loss (nats)",
        [*series, Series("claimed for the selection", ends, [EPSILON / 2] * 2)],
    )
    first, *others = evidence
    tables = (table, *first.tables)
    return (dataclasses.replace(first, tables=tables, plots=(plot,)), *others)


def _sentence(witness: Witness) -> str:
    """The witness in words."""
    (user, _item), *_rest = witness.changed
    leaves = not np.isnan(witness.dataset1[user]).all()
    users, items = (~np.isnan(witness.dataset1 if leaves else witness.dataset2)).shape
    event = " or ".join(map(released_set, witness.event))
    two = math.exp(witness.log_probability2)
    fall = "to exactly 0" if two == 0 else f"to {two:.3g}"
    return (
        f"With {users} users and {items} items, when user {user} {'leaves' if leaves else 'joins'} the probability of "
        f"releasing {event} falls from {math.exp(witness.log_probability1):.3g} {fall}."
    )
