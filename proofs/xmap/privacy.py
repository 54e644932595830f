"""Decides the differential-privacy claims of X-Map's technical report (Theorem 1, and the weights of Theorem 3).

Every violation is two rating datasets that differ in one user, and an output. All laws are the trusted checker's own
(`dpassay.replay.item_laws`), so that a search here and a check there cannot disagree. Mechanisms: `prs` and `pnsa`.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from flint import arb, fmpq

from dpassay.auditors.exact import certificate_inputs, registered
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.records import Plot, Series, Table
from dpassay.mechanisms import mechanism
from dpassay.proofs.decisions import checked, shown
from dpassay.proofs.notation import identity, proof, smt
from dpassay.replay.item_laws import law
from dpassay.replay.laws import Undefined
from dpassay.replay.numbers import precision

EPSILON = 1.0
RELATION = NeighboringRelation("add_or_remove_one", "user")
LARGEST = 5
READINGS = (("adjusted_cosine", "all"), ("adjusted_cosine", "co_raters"), ("cosine", "all"), ("cosine", "co_raters"))
WORDS = {
    "adjusted_cosine": "ratings less the user's mean",
    "cosine": "plain ratings",
    "all": "norms over all raters",
    "co_raters": "norms over co-raters",
}

Record = Mapping[str, Any]
Levels = tuple[tuple[int, ...], ...]  # ratings by user and item, 0 where missing


class Pair(NamedTuple):
    """A dataset and the user who leaves it."""

    levels: Levels
    user: int

    @property
    def without(self) -> Levels:
        """The dataset without that user; her row stays, empty."""
        return tuple((0,) * len(row) if user == self.user else row for user, row in enumerate(self.levels))


class Loss(NamedTuple):
    """The output that tells a pair apart best.

    Attributes:
        epsilon: nats, infinite when the output is impossible on one side.
        output: the output.
        one: its probability on the side where it is likelier.
        two: on the other side.
        present: whether it is likelier with the user.
    """

    epsilon: float
    output: tuple[int, ...]
    one: float
    two: float
    present: bool


def decide_prs(claim: Claim, context: Context) -> Verdict:
    """XM-T1: the smallest pairs between which a replacement turns impossible, as its X-SIM is no longer quantified."""
    found = []
    for similarity, norms in READINGS[:1] if context.quick else READINGS:
        context.progress(f"{claim.id}: {WORDS[similarity]}, {WORDS[norms]}")
        record = _record("prs", similarity=similarity, norms=norms)
        pair = _smallest_infinite(record)
        if pair is not None:
            found.append((f"{WORDS[similarity]}, {WORDS[norms]}", record, pair))
    witnesses, evidence = _infinite(found, minimal=True)
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
    released = _record("prs", "released")
    witnesses, evidence = _infinite([("eleven linked items, the list holds ten", released, list_cut())])
    smallest = _smallest_infinite(released)
    lost = [] if smallest is None else [("an item loses its only link", released, smallest)]
    more = _infinite(lost, minimal=True)
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
    found: list[tuple[str, Record, Pair, float]] = []
    if not context.quick:
        context.progress(f"{claim.id}: search")
        record = _record("pnsa", num_neighbors=1)
        pair = _searched(record, half, context.seed)
        if pair is not None:
            found.append(("found by search, shrunk step by step", record, pair, half))
    sizes = (8, 16, 32, 64) if context.quick else (2, 4, 8, 16, 32, 64, 128)
    rows: list[list[Any]] = []
    series: list[Series] = []
    for similarity, norms in READINGS[:1] if context.quick else READINGS:
        reading = f"{WORDS[similarity]}, {WORDS[norms]}"
        context.progress(f"{claim.id}: {reading}")
        record = _record("pnsa", num_neighbors=1, similarity=similarity, norms=norms)
        family = [sensitivity_family(size, similarity) for size in sizes]
        losses = [_loss(record, pair).epsilon for pair in family]
        rows += [
            [reading, size, round(loss, 6), loss > half, loss > EPSILON]
            for size, loss in zip(sizes, losses, strict=True)
        ]
        series.append(Series(reading, list(sizes), losses))
        found += [(f"{reading}; {sizes[i]} users agree", record, family[i], bound) for i, bound in _telling(losses)]
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
    record = _record("pnsa", "released", num_neighbors=1)
    smallest = _smallest_infinite(record)
    lost = [] if smallest is None else [("an item loses its only link", record, smallest)]
    witnesses, evidence = _infinite(lost, minimal=True)
    context.progress(f"{claim.id}: all items keep their links")
    sizes = (50, 100) if context.quick else (25, 50, 75, 100, 150, 200)
    family = [released_family(size) for size in sizes]
    losses = [_loss(record, pair).epsilon for pair in family]
    more = _checked(
        [(f"all links kept; {sizes[i]} users agree", record, family[i], bound) for i, bound in _telling(losses)]
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


def sensitivity_family(num_agreeing: int, similarity: str = "adjusted_cosine") -> Pair:
    """Datasets between which the weights of PNSA move by a factor that grows exponentially with m users who agree.

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
    return Pair(tuple(rows), len(rows) - 1)


def released_family(num_agreeing: int) -> Pair:
    """As `sensitivity_family`, for the released code's sensitivity; no item gains or loses its link."""
    rows = [(1, 1, 0)] * num_agreeing + [(1, 0, 5), (5, 0, 1), (5, 5, 0)]
    return Pair(tuple(rows), len(rows) - 1)


def list_cut(list_size: int = 10) -> Pair:
    """Every item of a target domain of `list_size` + 1 is linked by one user of its own; one more links the last.

    All links are alike, so the list without that user holds the first `list_size` items; with her the last item has
    two raters, a larger |X-SIM| and a place on the list.
    """
    count = list_size + 1
    rows = [tuple(1 if item == 0 else 2 * (item == own) for item in range(count + 1)) for own in range(1, count + 1)]
    return Pair((*rows, rows[-1]), count)


def _record(id: str, variant: str = "paper", **parameters: Any) -> Record:
    return registered(mechanism(id, variant, epsilon=EPSILON, **parameters)) or {}


def _law(record: Record, levels: Levels) -> dict[tuple[int, ...], Any]:
    dataset = [[fmpq(value) if value else None for value in row] for row in levels]
    with precision():
        return law(record, dataset)


def _loss(record: Record, pair: Pair) -> Loss:
    """The largest loss of one output; 0 where the mechanism is not defined on both sides."""
    try:
        laws = _law(record, pair.levels), _law(record, pair.without)
    except Undefined:
        return Loss(0.0, (), 0.0, 0.0, present=True)
    best = Loss(-1.0, (), 0.0, 0.0, present=True)
    for output in sorted({*laws[0], *laws[1]}):
        if not all(output in each for each in laws):
            present = output in laws[0]
            only = float(arb(laws[0 if present else 1][output]))
            if best.epsilon < math.inf or only > best.one:
                best = Loss(math.inf, output, only, 0.0, present)
            continue
        chances = [each[output] for each in laws]
        with precision():
            ratio = float((arb(chances[0]) / chances[1]).log())
        if abs(ratio) > best.epsilon:
            one, two = (float(arb(chance)) for chance in (chances if ratio >= 0 else chances[::-1]))
            best = Loss(abs(ratio), output, one, two, ratio >= 0)
    return best


def _telling(losses: Sequence[float]) -> list[tuple[int, float]]:
    """The first member beyond eps'/2, the first beyond eps', and the last; each with the larger bound it exceeds."""
    firsts = [next((i for i, loss in enumerate(losses) if loss > bound), None) for bound in (EPSILON / 2, EPSILON)]
    chosen = sorted({i for i in (*firsts, len(losses) - 1) if i is not None and losses[i] > EPSILON / 2})
    return [(i, EPSILON if losses[i] > EPSILON else EPSILON / 2) for i in chosen]


def _smallest_infinite(record: Record, largest: int = 2) -> Pair | None:
    """The first pair with an infinite loss among all small ones, smaller ones first."""
    for users, items in sorted(itertools.product((1, 2), (2, 3)), key=sum):
        rows = list(itertools.product(range(largest + 1), repeat=items))
        datasets = list(itertools.combinations_with_replacement(rows, users))
        for levels in sorted(datasets, key=_filling):
            for user in range(users):
                pair = Pair(levels, user)
                if any(levels[user]) and math.isinf(_loss(record, pair).epsilon):
                    return pair
    return None


def _filling(levels: Levels) -> tuple[int, int, int]:
    """Ratings, largest, sum."""
    values = [value for row in levels for value in row]
    return sum(value > 0 for value in values), max(values), sum(values)


def _searched(record: Record, bound: float, seed: int, *, users: int = 7, items: int = 3) -> Pair | None:
    """Hill-climbs from random datasets until the last user's leaving costs more than `bound`, then shrinks."""
    generator = np.random.default_rng(seed)
    for _ in range(20):
        levels = generator.integers(0, LARGEST + 1, (users, items))
        current, stalled = _loss(record, _pair(levels)).epsilon, 0
        while stalled < 60 and current <= bound:
            moved = levels.copy()
            moved[generator.integers(users), generator.integers(items)] = generator.integers(0, LARGEST + 1)
            loss = _loss(record, _pair(moved)).epsilon
            stalled = 0 if loss > current else stalled + 1
            if loss >= current:
                levels, current = moved, loss
        if current > bound:
            return _shrunk(record, _pair(levels), lambda loss: loss > bound)
    return None


def _pair(levels: np.ndarray) -> Pair:
    return Pair(tuple(tuple(int(value) for value in row) for row in levels), len(levels) - 1)


def _shrunk(record: Record, pair: Pair, violates: Callable[[float], bool]) -> Pair:
    """Takes away users, items and ratings and lowers ratings while the pair still violates the claim."""
    while True:
        smaller = next((one for one in _smaller(pair) if violates(_loss(record, one).epsilon)), None)
        if smaller is None:
            return pair
        pair = smaller


def _smaller(pair: Pair) -> Iterator[Pair]:
    levels, user = pair
    for other in range(len(levels)):
        if other != user:
            yield Pair(levels[:other] + levels[other + 1 :], user - (other < user))
    for item in range(1, len(levels[0])):
        yield Pair(tuple(row[:item] + row[item + 1 :] for row in levels), user)
    for other, row in enumerate(levels):
        for item, value in enumerate(row):
            for lower in range(value):
                yield Pair((*levels[:other], (*row[:item], lower, *row[item + 1 :]), *levels[other + 1 :]), user)


def _infinite(
    found: Sequence[tuple[str, Record, Pair]], *, minimal: bool = False
) -> tuple[tuple[Witness, ...], tuple[Evidence, ...]]:
    """`_checked` on outputs that turn impossible."""
    smaller = {"minimality": {"scale": [str(value) for value in range(1, LARGEST + 1)]}} if minimal else {}
    return _checked([(*each, EPSILON) for each in found], {"epsilon": "inf", "impossible": True} | smaller)


def _checked(
    found: Sequence[tuple[str, Record, Pair, float]], fields: Mapping[str, Any] = MappingProxyType({})
) -> tuple[tuple[Witness, ...], tuple[Evidence, ...]]:
    """Witnesses, as far as the trusted checker agrees."""
    witnesses, evidence = [], []
    for name, record, pair, bound in found:
        loss = _loss(record, pair)
        if not loss.output:
            continue
        sides = [_matrix(side) for side in (pair.levels, pair.without)]
        first, second = sides if loss.present else sides[::-1]
        inputs = certificate_inputs(dict(record), RELATION, first, second, [loss.output], epsilon=bound) | dict(fields)
        certificate = {"kind": "witness", "inputs": inputs}
        result = checked(certificate)
        if result is None:
            continue
        minimality = f"; {result['minimality']['statement']}" if "minimality" in result else ""
        evidence.append(
            shown(f"{name}: {result['summary']}{minimality}", certificate, tables=(_laws_table(record, pair, loss),))
        )
        witnesses.append(
            Witness(
                dict(record),
                RELATION,
                first,
                second,
                (loss.output,),
                math.log(loss.one),
                math.log(loss.two) if loss.two else -math.inf,
                PrivacyClaim(bound, relation=RELATION),
            )
        )
    return tuple(witnesses), tuple(evidence)


def _matrix(levels: Levels) -> np.ndarray:
    matrix = np.array(levels, float)
    return np.where(matrix == 0, np.nan, matrix)


def _laws_table(record: Record, pair: Pair, loss: Loss) -> Table:
    laws = [_law(record, levels) for levels in (pair.levels, pair.without)]
    rows = [
        [_items(output), *(_chance(each.get(output)) for each in laws), "yes" if output == loss.output else ""]
        for output in sorted({*laws[0], *laws[1]})
    ]
    return Table(
        f"The two exact laws, with user {pair.user} and without",
        ["released", "probability with", "probability without", "in the event"],
        rows,
    )


def _chance(value: Any) -> float:
    return 0.0 if value is None else float(f"{float(arb(value)):.9g}")


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
    event = " or ".join(map(_items, witness.event))
    two = math.exp(witness.log_probability2)
    fall = "to exactly 0" if two == 0 else f"to {two:.3g}"
    return (
        f"With {users} users and {items} items, when user {user} {'leaves' if leaves else 'joins'} the probability of "
        f"releasing {event} falls from {math.exp(witness.log_probability1):.3g} {fall}."
    )


def _items(output: Sequence[int]) -> str:
    return "{" + ", ".join(str(item) for item in output) + "}"
