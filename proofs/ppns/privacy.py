"""Decides the differential-privacy claims of Lu and Shen's PPNS paper (secs. 1, 2.2 and 5.2) by exact laws.

Every violation is two neighboring rating datasets and an event, found by `dpassay.auditors.search` or taken from a
family stated here, and recomputed by the trusted checker before it counts. Mechanisms: `dpassay.mechanisms`.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.exact import certificate_inputs, registered
from dpassay.auditors.search import minimize, search
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.privacy import Witness
from dpassay.core.records import Plot, Series, Table
from dpassay.mechanisms import mechanism
from dpassay.proofs.decisions import checked, decided, shown
from dpassay.proofs.notation import proof, smt
from dpassay.proofs.witnesses import (
    NEARLY_INFINITE,
    PATIENCE,
    checker_loss,
    claiming,
    laws_table,
    pair_witness,
    released_set,
)

EPSILON = 1.0  # the paper's example and experiments
ADD, REPLACE = "add_or_remove_one:rating", "replace_one:rating"
WORDS = {ADD: "one rating added or removed", REPLACE: "one rating changed"}
SCALE = ["1", "2", "3", "4", "5"]


@dataclass(frozen=True)
class Membership:
    """Whether one user is among the neighbors that `selection` releases: a single marginal, as a mechanism.

    Attributes:
        selection: a neighbor selection with an exact law.
        row: the user's row; negative rows count from the last.
    """

    selection: Any
    row: int = -1

    def sample(self, key: Any, dataset: Any) -> Any:
        """1 when the user is released, else 0."""
        return jnp.any(self.selection.sample(key, dataset) == self.row % len(dataset)).astype(int)

    def outputs(self, dataset: Any) -> np.ndarray:
        """0 and 1, shape (2,)."""
        return np.arange(2)

    def log_prob(self, output: Any, dataset: Any) -> Any:
        """log Pr[membership = output], nats, shape ()."""
        sets = self.selection.outputs(np.zeros(dataset.shape))
        laws = jax.vmap(lambda members: self.selection.log_prob(members, dataset))(sets)
        among = (sets == self.row % dataset.shape[0]).any(axis=1)
        return jax.scipy.special.logsumexp(jnp.where(among == (output == 1), laws, -jnp.inf))


def decide_ppns(claim: Claim, context: Context) -> Verdict:
    """PP-DP: searches every reading of Algorithm 1 for neighboring datasets that tell it apart by more than epsilon."""
    evidence: list[Evidence] = []
    witnesses: list[Witness] = []
    rows: list[list[Any]] = []
    escaped: list[str] = []
    for relation, reading in _readings(context.quick):
        context.progress(f"{claim.id}: {WORDS[relation]}; {_reading(reading)}")
        found = _smallest(mechanism("ppns", epsilon=EPSILON, **reading), relation, context.seed)
        readings = [(found, reading)]
        if reading["ties"] == "index" and not context.quick:
            # Reversing the order of the candidates turns one tie rule into the other.
            readings.append((_mirrored(found), reading | {"ties": "last"}))
        for witness, each in readings:
            name = f"{WORDS[relation]}; {_reading(each)}"
            # A mirrored witness is minimal because its twin is; its enumeration need not be repeated.
            record = witness and _evidence(witness, name, EPSILON, minimal=each["ties"] != "last")
            if witness is None or not isinstance(record, Evidence):
                escaped.append(name)
                continue
            evidence.append(record)
            witnesses.append(witness)
            settings = [WORDS[relation], each["rule"], each["ties"], each["no_overlap"], each["last"]]
            rows.append([*settings, *_size(witness), _nats(witness.epsilon)])
    if not witnesses:
        return Verdict(claim.id, "open", "No reading of Algorithm 1 was refuted; searched: " + "; ".join(escaped) + ".")
    settings = ["neighboring", "rule", "ties", "no co-rated item", "last neighbor"]
    table = Table(
        "A smallest refutation of every reading: nothing smaller violates the claim",
        [*settings, "k", "candidates", "items", "ratings", "largest rating", "loss (nats)"],
        rows,
    )
    tables, plots = (table, *evidence[0].tables), (_profile_plot(witnesses[0]),)
    evidence[0] = dataclasses.replace(evidence[0], tables=tables, plots=plots)
    worst = max(witness.epsilon for witness in witnesses)
    count = sum(math.isinf(witness.epsilon) for witness in witnesses) or len(witnesses)
    survived = f" Not refuted: {'; '.join(escaped)}." if escaped else ""
    return Verdict(
        claim.id,
        "refuted",
        "Exactly ceil(pk) neighbors come from the most similar k candidates, so a released set betrays how its members "
        "were ranked. One rating moves a user across a partition border, and sets that were possible become "
        f"impossible: {_sentence(witnesses[0])} The loss is {_nats(worst)} in {count} of the "
        f"{len(rows) + len(escaped)} readings of the algorithm that were searched.{survived} The paper's reason, that "
        "every single candidate keeps a positive probability, says nothing about sets. Only k = 1 with a uniform last "
        "pick from a fixed list of candidates escapes, and it ignores the ratings.",
        evidence=tuple(evidence),
        epsilon_lower=worst,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
        repair="PP-DP-REP: Laplace noise on floor-norm cosines first, partitions afterwards",
    )


def decide_original(claim: Claim, context: Context) -> Verdict:
    """PP-ORIG: the scheme with ceilings up to k has sets that are possible on one side and impossible on the other."""
    evidence: list[Evidence] = []
    witnesses: list[Witness] = []
    # With k = 1 the scheme is the nearest neighbor, deterministic: k stays 2, where the selection is random.
    selection = mechanism("ppns", epsilon=EPSILON, rule="original")
    for relation in (ADD,) if context.quick else (ADD, REPLACE):
        context.progress(f"{claim.id}: {WORDS[relation]}")
        witness = _impossible(selection, relation, context.seed, num_users=4, num_items=2)
        record = witness and _evidence(
            witness, WORDS[relation], EPSILON, supports="holds", impossible=True, minimal=True
        )
        if witness is not None and isinstance(record, Evidence):
            evidence.append(record)
            witnesses.append(claiming(witness, EPSILON))
    if not witnesses:
        return Verdict(
            claim.id, "open", "No set was found that is possible on one of two neighbors and not on the other."
        )
    return Verdict(
        claim.id,
        "holds",
        f"The paper is right about its first scheme: {_sentence(witnesses[0])} No finite epsilon allows that. The "
        "changed last pick of Algorithm 1 does not cure it (PP-DP).",
        evidence=tuple(evidence),
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
    )


def decide_pncf_truncation(claim: Claim, context: Context) -> Verdict:
    """PP-PNCF-NOT: neighbors between which a set turns impossible as the candidate list is cut at sim_k +- lambda."""
    context.progress(f"{claim.id}: lambda below sim_k")
    # With one neighbor nobody lies above sim_k, so a set is impossible only if its member is cut off below sim_k -
    # lambda.
    selection = mechanism("pncf", epsilon=EPSILON, num_neighbors=1)
    cut = _impossible(selection, ADD, context.seed, num_users=3, num_items=6)
    record = cut and _evidence(cut, "cut off below sim_k - lambda", EPSILON, supports="holds", impossible=True)
    if cut is None or not isinstance(record, Evidence):
        return Verdict(
            claim.id, "open", "No neighboring datasets were found between which the truncation cuts a set off."
        )
    kth, width = map(float, jax.jit(selection.truncation_thresholds)(cut.dataset2))
    evidence = [record]
    if not context.quick:
        context.progress(f"{claim.id}: lambda capped at sim_k")
        capped = _impossible(mechanism("pncf", epsilon=EPSILON), ADD, context.seed, num_users=4, num_items=2)
        name = "chosen for sure above 2 sim_k, lambda = sim_k"
        record = capped and _evidence(capped, name, EPSILON, supports="holds", impossible=True, minimal=True)
        evidence += [record] if isinstance(record, Evidence) else []
    return Verdict(
        claim.id,
        # Where lambda is capped at sim_k nothing is cut off below: this witness must be a case of the formula for
        # lambda.
        "holds" if width < kth else "open",
        f"The paper's criticism is right: {_sentence(cut)} There lambda = {width:.3g} is below sim_k = {kth:.3g}, so "
        "the list is really cut. Where lambda is capped at sim_k the other border does the same harm, since candidates "
        "above 2 sim_k are chosen for sure. At k = 50 the lower cut never happens unless RS is below about 1/2000 "
        "(PP-LAM2), so there only the upper one can.",
        evidence=tuple(evidence),
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON / 2,
        witness=claiming(cut, EPSILON / 2),
    )


def sensitivity_family(relation: str, num_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighboring datasets between which the weights (1) move by a factor that grows exponentially with the items.

    Target: m ratings of 1 and one of 5. Candidate 1 agrees on the m items; candidate 2 rated nothing. In the first
    dataset candidate 1 also rated the last item, 5 (RS = 25/m); in the second not (RS = 1/(m-1)), or with a 1 when a
    rating is changed (RS = 5/m). Candidate 1's similarity stays near 1 while the sensitivity that divides it drops.

    Args:
        relation: add_or_remove_one:rating or replace_one:rating.
        num_items: m + 1.

    Returns:
        Two datasets, each of shape (3, num_items), NaN where missing.
    """
    first = np.full((3, num_items), np.nan)
    first[:2, :-1], first[:2, -1] = 1, 5
    second = first.copy()
    second[1, -1] = np.nan if relation == ADD else 1
    return first, second


def decide_em(claim: Claim, context: Context) -> Verdict:
    """PP-EM: exact losses of the weighted selection with RS computed from the data, against epsilon/2 and epsilon."""
    half = EPSILON / 2
    sizes = (6, 9, 11, 16, 21, 31, 41, 61, 121)
    evidence: list[Evidence] = []
    witnesses: list[Witness] = []
    rows: list[list[Any]] = []
    series: list[Series] = []
    for form in ("local",) if context.quick else ("local", "local_dot", "pairwise"):
        selection = mechanism("npns", epsilon=EPSILON, num_neighbors=1, sensitivity=form)
        for relation in (ADD, REPLACE):
            context.progress(f"{claim.id}: RS {form}, {WORDS[relation]}")
            pairs = [sensitivity_family(relation, size) for size in sizes]
            family = [pair_witness(selection, relation, pair, half, pairs[-1][0].shape) for pair in pairs]
            losses = [witness.epsilon for witness in family]
            rows += [
                [form, WORDS[relation], size - 1, round(loss, 6), loss > half, loss > EPSILON]
                for size, loss in zip(sizes, losses, strict=True)
            ]
            series.append(Series(f"RS {form}, {WORDS[relation]}", [size - 1 for size in sizes], losses))
            # The first that exceeds each claim, and the worst.
            chosen = [next((w for w in family if w.epsilon > bound), None) for bound in (half, EPSILON)]
            chosen += [family[-1]] if family[-1].epsilon > EPSILON and family[-1] is not chosen[1] else []
            for witness, bound in zip(chosen, (half, EPSILON, EPSILON), strict=False):
                name = f"RS {form}, against {bound:g}"
                record = witness and _evidence(witness, name, bound)
                if witness is not None and isinstance(record, Evidence):
                    evidence.append(record)
                    witnesses.append(claiming(witness, bound))
    if not witnesses:
        return Verdict(
            claim.id, "open", "No pair of datasets was found on which the selection loses more than epsilon/2."
        )
    table = Table(
        "Exact loss of selecting one of two candidates at epsilon = 1 (claimed: 0.5, and 1 for all of PNCF)",
        ["RS", "neighboring", "co-rated items m", "loss (nats)", "above 0.5", "above 1"],
        rows,
    )
    items = [sizes[0] - 1, sizes[-1] - 1]
    plot = Plot(
        "The loss grows with the number of co-rated items",
        "co-rated items m",
        "exact loss (nats)",
        [*series, Series("claimed for the selection", items, [half, half])],
    )
    evidence[0] = dataclasses.replace(evidence[0], tables=(table, *evidence[0].tables), plots=(plot,))
    worst = max(witness.epsilon for witness in witnesses)
    whole = any(witness.claim.epsilon >= EPSILON for witness in witnesses)
    return Verdict(
        claim.id,
        "refuted",
        "The sensitivity RS that divides the weights is computed from the ratings themselves, so one rating changes "
        f"every weight at once. At epsilon = 1 the exact loss of the selection reaches {_nats(worst)} nats where 0.5 "
        "is claimed, and it grows without bound in the number m of co-rated items: when a rating is added it is ln((1 "
        "+ e^((m-1)/4)) / (1 + e^(m/100))) > (m-1)/4 - m/100 - ln 2. "
        + ("The neighbors alone exceed epsilon too, so all of PNCF is refuted if it releases them. " if whole else "")
        + "With a constant bound on the change of the similarity in place of RS, and candidates that do not depend on "
        "the "
        "ratings, the selection is private (PP-EM-REP).",
        evidence=tuple(evidence),
        epsilon_lower=worst,
        epsilon_claimed=half,
        witness=witnesses[0],
        assumptions=("the whole of PNCF releases the selected neighbors; releasing more loses no less",),
        repair="PP-EM-REP: a constant sensitivity and a fixed list of candidates",
    )


def decide_marginals(claim: Claim, context: Context) -> Verdict:
    """PP-MARG: every candidate's probability of selection is positive, by proof; who is a candidate may change."""
    summary = (
        "Every candidate's probability is positive: a visited partition supplies at least one neighbor, an unvisited "
        "one competes for the last, and every weight is positive."
    )
    evidence = [shown(summary, positivity_proof())]
    if not context.quick:
        context.progress(f"{claim.id}: candidates without co-rated items")
        excluding = mechanism("ppns", epsilon=EPSILON, num_neighbors=1, no_overlap="exclude")
        gone = search(Membership(excluding), ADD, epsilon=NEARLY_INFINITE, num_users=3, **_one_item(context))
        name = "a user leaves the list of candidates"
        record = gone and _evidence(_released(excluding, gone), name, EPSILON, impossible=True)
        evidence += [record] if isinstance(record, Evidence) else []
    return decided(
        claim,
        "holds",
        "Everybody on the list of candidates is selected with positive probability, because ceil of a positive number "
        "is at least 1. Who is on the list may depend on the ratings: if users without a co-rated item are no "
        "candidates, one removed rating takes a user's probability to exactly 0. What the paper infers from the "
        "sentence is false (PP-MARG-INF).",
        evidence=evidence,
    )


def decide_marginals_inference(claim: Claim, context: Context) -> Verdict:
    """PP-MARG-INF: the ratio of one candidate's probability between neighbors, by search."""
    context.progress(f"{claim.id}: one candidate's probability")
    selection = mechanism("ppns", epsilon=EPSILON)
    moved = search(Membership(selection), ADD, epsilon=EPSILON, num_users=9, **_one_item(context))
    witness = None if moved is None else _released(selection, moved)
    record = witness and _evidence(witness, "one candidate's probability", EPSILON)
    if witness is None or not isinstance(record, Evidence):
        return Verdict(claim.id, "open", "No marginal was found to move by more than epsilon.")
    count = len(witness.dataset1) - 1
    return Verdict(
        claim.id,
        "refuted",
        "Positive probabilities (PP-MARG) may still change by any factor, and the inference fails even for a single "
        f"candidate: {_sentence(witness, 'user ' + str(count))} With k = 2 a user who moves from the last partitions "
        f"to the first goes from about 1/(n-2) to 1/2 among n candidates (here {count}), so no epsilon holds for all "
        "n. For sets it fails altogether (PP-DP).",
        evidence=(record,),
        epsilon_lower=witness.epsilon,
        epsilon_claimed=EPSILON,
        witness=witness,
    )


def _one_item(context: Context) -> dict[str, Any]:
    return {"num_items": 1, "seed": context.seed, "minimal": False, "time_limit": PATIENCE}


def positivity_proof() -> dict[str, Any]:
    """Every candidate is selected with positive probability while the list of candidates is fixed."""
    return proof(
        "In partition i the quota is the integer q = ceil(p (1-p)^(i-1) k), capped at what is missing (at least 1 "
        "while the loop runs) and at the size of the partition. t stands for (1-p)^(i-1), positive by the first "
        "step, from 1. By the first two steps q > 0, so q >= 1 as an integer: a visited partition supplies at "
        "least one neighbor, and the first one drawn is any given member with probability w/W > 0 by the third. A "
        "member of an unvisited partition is the last neighbor with probability w/W > 0 by the same step.",
        smt("the factor of one more partition stays positive", "0 < t, p < 1", "0 < t * (1 - p)"),
        smt("the quota is positive", "0 < p, 0 < t, 1 <= k, p * t * k <= q", "0 < q"),
        smt("one draw takes any given member with positive probability", "0 < w, 0 <= others", "0 < w / (w + others)"),
    )


def _evidence(
    witness: Witness,
    name: str,
    epsilon: float,
    *,
    supports: str = "refuted",
    impossible: bool = False,
    minimal: bool = False,
    only_minimal: bool = False,
) -> Evidence | None:
    """The witness as evidence, once the trusted checker has recomputed it; None when it does not agree.

    With `minimal` the checker also enumerates everything smaller, at the same k where the claim is about sets turning
    impossible. If that fails the evidence says nothing of minimality, or with `only_minimal` there is none.
    """
    inputs = certificate_inputs(
        witness.mechanism,
        witness.relation,
        witness.dataset1,
        witness.dataset2,
        witness.event,
        epsilon=epsilon,
        impossible=impossible,
    )
    inputs |= {} if supports == "refuted" else {"supports": supports}
    if impossible and minimal:
        # Minimal among pairs with an infinite loss, at this k.
        inputs |= {"epsilon": "inf"}
    smaller = {"minimality": {"scale": SCALE} | ({"fixed": ["num_neighbors"]} if impossible else {})}
    attempts = [inputs | smaller, inputs] if minimal else [inputs]
    attempts = attempts[:1] if only_minimal else attempts
    for attempt in attempts:
        certificate = {"kind": "witness", "inputs": attempt}
        result = checked(certificate)
        if result is not None:
            least = f"; {result['minimality']['statement']}" if "minimality" in result else ""
            summary = f"{name}: {result['summary']}{least}"
            return shown(summary, certificate, tables=(laws_table(witness),))
    return None


def _readings(quick: bool) -> list[tuple[str, dict[str, str]]]:
    """Relations and parameters; the tie rule "last" mirrors "index" and needs no search of its own."""
    plain = {"rule": "algorithm", "ties": "index", "no_overlap": "zero", "last": "exponential"}
    if quick:
        return [(ADD, plain), (REPLACE, plain)]
    choices = itertools.product((ADD, REPLACE), ("index", "random"), ("zero", "exclude"))
    readings = [(relation, plain | {"ties": ties, "no_overlap": overlap}) for relation, ties, overlap in choices]
    return [*readings, (ADD, plain | {"last": "uniform"}), (ADD, plain | {"rule": "formula"})]


def _smallest(selection: Any, relation: str, seed: int) -> Witness | None:
    """A refutation that nothing smaller matches: minimal at the same k, and at every k if the checker says so."""
    common: dict[str, Any] = {"epsilon": EPSILON, "num_users": 4, "num_items": 2, "seed": seed, "time_limit": PATIENCE}
    found = search(selection, relation, fixed=("num_neighbors",), **common)
    if found is None or _evidence(found, "", EPSILON, minimal=True, only_minimal=True) is not None:
        return found
    pair = found.dataset1, found.dataset2
    return minimize(selection, relation, *pair, epsilon=EPSILON, time_limit=PATIENCE).witness


def _impossible(selection: Any, relation: str, seed: int, *, num_users: int, num_items: int) -> Witness | None:
    """A set that is possible on one dataset and impossible on its neighbor, shrunk at the same k."""
    return search(
        selection,
        relation,
        epsilon=NEARLY_INFINITE,
        num_users=num_users,
        num_items=num_items,
        seed=seed,
        fixed=("num_neighbors",),
        minimal=False,
        time_limit=PATIENCE,
    )


def _released(selection: Any, moved: Witness) -> Witness:
    """A witness on one user's membership as one on the released sets that contain that user, or do not."""
    row = len(moved.dataset1) - 1
    among = bool(moved.event[0])
    sets = selection.outputs(moved.dataset1)
    event = sets[(sets == row).any(axis=1) == among]
    return dataclasses.replace(moved, mechanism=registered(selection) or {}, event=tuple(event.tolist()))


def _mirrored(witness: Witness | None) -> Witness | None:
    """The same witness with the candidates in reverse order, for the tie rule "last" instead of "index"."""
    if witness is None:
        return None
    order = np.concatenate([[0], np.arange(len(witness.dataset1) - 1, 0, -1)])
    parameters: Mapping[str, Any] = witness.mechanism["parameters"]
    return dataclasses.replace(
        witness,
        mechanism=witness.mechanism | {"parameters": {**parameters, "ties": "last"}},
        dataset1=witness.dataset1[order],
        dataset2=witness.dataset2[order],
        event=tuple(sorted(sorted(len(order) - row for row in output) for output in witness.event)),
    )


def _profile_plot(witness: Witness) -> Plot:
    grid = np.linspace(0, 10, 41)
    return Plot(
        "Privacy profile of the first witness: the delta that epsilon would need",
        "epsilon (nats)",
        "delta",
        [Series("this pair of datasets", grid.tolist(), checker_loss(witness).delta(grid).tolist())],
    )


def _size(witness: Witness) -> Sequence[Any]:
    pair = np.stack([witness.dataset1, witness.dataset2])
    rated = ~np.isnan(pair)
    return (
        witness.mechanism["parameters"]["num_neighbors"],
        pair.shape[1] - 1,
        pair.shape[2],
        int(rated.sum(axis=(1, 2)).max()),
        float(np.nanmax(pair)),
    )


def _reading(reading: Mapping[str, str]) -> str:
    words = {
        "algorithm": "Algorithm 1",
        "formula": "formulas (18)-(19)",
        "index": "ties by lower row",
        "last": "ties by higher row",
        "random": "random ties",
        "zero": "no co-rated item: similarity 0",
        "exclude": "no co-rated item: no candidate",
    }
    last = "; last neighbor uniform" if reading["last"] == "uniform" else ""
    return f"{words[reading['rule']]}; {words[reading['ties']]}; {words[reading['no_overlap']]}{last}"


def _sentence(witness: Witness, event: str = "") -> str:
    """The witness in words: the change, the event, both probabilities."""
    (user, item), *_ = witness.changed
    before, after = (float(dataset[user, item]) for dataset in (witness.dataset1, witness.dataset2))
    change = {
        (True, False): f"adding user {user}'s rating {after:g} of item {item}",
        (False, True): f"removing user {user}'s rating {before:g} of item {item}",
        (False, False): f"changing user {user}'s rating of item {item} from {before:g} to {after:g}",
    }[math.isnan(before), math.isnan(after)]
    sets = " or ".join(released_set(output) for output in witness.event[:3])
    sets += f" or {len(witness.event) - 3} more" if len(witness.event) > 3 else ""
    sets = event or sets
    two = math.exp(witness.log_probability2)
    fall = "to exactly 0" if two == 0 else f"to {two:.3g}"
    k = witness.mechanism["parameters"]["num_neighbors"]
    return (
        f"with {len(witness.dataset1) - 1} candidates and k = {k}, {change} takes "
        f"the probability of releasing {sets} from {math.exp(witness.log_probability1):.3g} {fall}."
    )


def _nats(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.3g}"
