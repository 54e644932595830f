"""Decides the differential-privacy claims of Lu and Shen's PPNS paper (secs. 1, 2.2 and 5.2) by exact laws.

Every violation is two neighboring rating datasets and an event, found by `dpassay.auditors.search` or taken from a family
stated here, and recomputed by the trusted checker before it counts. Mechanisms: `dpassay.mechanisms`.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.exact import ExactLoss, certificate_inputs, exact, registered
from dpassay.auditors.search import search, worst_case
from dpassay.claims import Claim, Context, Evidence, Verdict
from dpassay.mechanisms import mechanism
from dpassay.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.replay import Rejected, check

__all__ = [
    "Membership",
    "decide_em",
    "decide_marginals",
    "decide_original",
    "decide_pncf_truncation",
    "decide_ppns",
    "sensitivity_family",
]

EPSILON = 1.0  # the paper's example and experiments
ADD, REPLACE = "add_or_remove_one:rating", "replace_one:rating"
WORDS = {ADD: "one rating added or removed", REPLACE: "one rating changed"}
SCALE = ["1", "2", "3", "4", "5"]
# A loss so large that only an event impossible on one side exceeds it, nats.
NEARLY_INFINITE = 50.0
# Searches are bounded by their work here, so that a verdict does not depend on the machine's load.
PATIENCE = 600.0


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
        """0 and 1."""
        return np.arange(2)

    def log_prob(self, output: Any, dataset: Any) -> Any:
        """log Pr[membership = output], nats, shape ()."""
        sets = self.selection.outputs(np.zeros(dataset.shape))
        laws = jax.vmap(lambda members: self.selection.log_prob(members, dataset))(sets)
        among = (sets == self.row % dataset.shape[0]).any(axis=1)
        return jax.scipy.special.logsumexp(jnp.where(among == (output == 1), laws, -jnp.inf))


def decide_ppns(claim: Claim, context: Context) -> Verdict:
    """PP-DP: searches every reading of Algorithm 1 for neighboring datasets that tell it apart by more than epsilon."""
    readings: list[dict[str, str]] = [
        {"rule": "algorithm", "ties": ties, "no_overlap": no_overlap, "last": "exponential"}
        for ties, no_overlap in itertools.product(("index", "random"), ("zero", "exclude"))
    ]
    if context.quick:
        readings = readings[:1]
    else:
        readings += [readings[0] | {"last": "uniform"}, readings[0] | {"rule": "formula"}]
    evidence: list[Evidence] = []
    witnesses: list[Witness] = []
    rows: list[list[Any]] = []
    escaped: list[str] = []
    for relation, reading in itertools.product((ADD, REPLACE), readings):
        if relation == REPLACE and reading["last"] == "uniform":
            continue
        name = f"{WORDS[relation]}; {_reading(reading)}"
        context.progress(f"{claim.id}: {name}")
        selection = mechanism("ppns", epsilon=EPSILON, **reading)
        found = search(
            selection, relation, epsilon=EPSILON, num_users=4, num_items=2, seed=context.seed, time_limit=PATIENCE
        )
        mirrored = reading["ties"] == "index" and not context.quick and reading["last"] != "uniform"
        for witness, ties in ((found, reading["ties"]), *([(_mirrored(found), "last")] if mirrored else [])):
            name = f"{WORDS[relation]}; {_reading(reading | {'ties': ties})}"
            record = witness and _evidence(witness, name, EPSILON, minimal=True)
            if witness is None or record is None:
                escaped.append(name)
                rows.append(
                    [WORDS[relation], reading["rule"], ties, reading["no_overlap"], reading["last"], *["-"] * 6]
                )
                continue
            evidence.append(record)
            witnesses.append(witness)
            k, candidates, items, ratings, largest = _size(witness)
            figures = [k, candidates, items, ratings, largest, _nats(witness.epsilon)]
            rows.append([WORDS[relation], reading["rule"], ties, reading["no_overlap"], reading["last"], *figures])
    if not witnesses:
        return Verdict(claim.id, "open", "No reading of Algorithm 1 was refuted: searched " + "; ".join(escaped) + ".")
    columns = ["neighboring", "rule", "ties", "no co-rated item", "last", "k", "candidates", "items", "ratings"]
    table = {
        "title": "Smallest refutation per reading; nothing smaller violates the claim",
        "columns": [*columns, "largest rating", "loss (nats)"],
        "rows": rows,
    }
    evidence[0] = dataclasses.replace(
        evidence[0], tables=(table, *evidence[0].tables), plots=(_profile_plot(witnesses[0]),)
    )
    readings_text = f"{len(witnesses)} of {len(witnesses) + len(escaped)} readings"
    worst = max(witness.epsilon for witness in witnesses)
    return Verdict(
        claim.id,
        "refuted",
        f"Exactly ceil(pk) neighbors come from the most similar k candidates, so whoever sees a released set learns how its "
        f"members were ranked. One rating moves a user across a partition border, and sets that were possible become "
        f"impossible: {_sentence(witnesses[0])} The loss is {'infinite' if math.isinf(worst) else _nats(worst)} in "
        f"{readings_text} of the algorithm that were searched{' (not refuted: ' + '; '.join(escaped) + ')' if escaped else ''}; "
        "the paper's reason, that every single candidate keeps a positive probability, says nothing about sets. "
        "What escapes is k = 1 with a uniform last pick among a fixed list of candidates, which ignores all ratings.",
        tuple(evidence),
        epsilon_lower=worst,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
        repair="PP-DP-REP: Laplace noise on floor-norm cosines first, partitions afterwards",
    )


def decide_original(claim: Claim, context: Context) -> Verdict:
    """PP-ORIG: the scheme with ceilings up to k has sets that are possible on one side and impossible on the other."""
    evidence, witnesses = [], []
    for relation in (ADD,) if context.quick else (ADD, REPLACE):
        context.progress(f"{claim.id}: {WORDS[relation]}")
        # Partitions of one are plain nearest neighbors; k is kept at 2, where the selection is random.
        selection = mechanism("ppns", epsilon=EPSILON, rule="original")
        witness = search(
            selection,
            relation,
            epsilon=NEARLY_INFINITE,
            num_users=4,
            num_items=2,
            seed=context.seed,
            minimal=False,
            time_limit=PATIENCE,
        )
        record = witness and _evidence(witness, WORDS[relation], EPSILON, supports="holds", impossible=True)
        if witness is not None and record is not None:
            evidence.append(record)
            witnesses.append(_claiming(witness, EPSILON))
    if not witnesses:
        return Verdict(
            claim.id, "open", "No set was found that is possible on one of two neighbors and not on the other."
        )
    return Verdict(
        claim.id,
        "holds",
        f"The paper is right about its first scheme: {_sentence(witnesses[0])} No finite epsilon allows that. The changed "
        "last pick of Algorithm 1 does not cure it (PP-DP).",
        tuple(evidence),
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON,
        witness=witnesses[0],
    )


def decide_pncf_truncation(claim: Claim, context: Context) -> Verdict:
    """PP-PNCF-NOT: neighbors between which a set turns impossible because the candidate list is cut at sim_k +- lambda."""
    context.progress(f"{claim.id}: lambda below sim_k")
    # One neighbor: nobody lies above sim_k, so a set is impossible only if lambda < sim_k cuts its member off.
    binding = mechanism("pncf", epsilon=EPSILON, num_neighbors=1)
    common: dict[str, Any] = {
        "epsilon": NEARLY_INFINITE,
        "seed": context.seed,
        "minimal": False,
        "time_limit": PATIENCE,
    }
    cut = search(binding, ADD, num_users=3, num_items=6, **common)
    record = cut and _evidence(cut, "cut below sim_k - lambda", EPSILON, supports="holds", impossible=True)
    if cut is None or record is None:
        return Verdict(
            claim.id, "open", "No neighboring datasets were found between which the truncation cuts a set off."
        )
    kth, width = (float(value) for value in binding.truncation_thresholds(cut.dataset2))
    evidence, binds = [record], width < kth
    if not context.quick:
        context.progress(f"{claim.id}: lambda capped at sim_k")
        capped = search(mechanism("pncf", epsilon=EPSILON), ADD, num_users=4, num_items=2, **common)
        if capped is not None:
            record = _evidence(capped, "above 2 sim_k, lambda = sim_k", EPSILON, supports="holds", impossible=True)
            evidence += [record] if record is not None else []
    return Verdict(
        claim.id,
        "holds" if binds else "open",
        f"{_sentence(cut)} There lambda = {width:.3g} is below sim_k = {kth:.3g}, so the list is really cut. The paper's "
        "criticism is right; it also applies where lambda is capped at sim_k, since candidates above 2 sim_k are then chosen "
        "for sure. With RS not tiny and k = 50 the cut below sim_k never happens (PP-LAM2), so on such data only the cap acts.",
        tuple(evidence),
        epsilon_lower=math.inf,
        epsilon_claimed=EPSILON / 2,
        witness=_claiming(cut, EPSILON / 2),
    )


def sensitivity_family(relation: str, num_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighboring datasets between which the weights (1) move by a factor that grows exponentially with the items.

    Target: m ratings of 1 and one of 5. Candidate 1 agrees on the m items; candidate 2 rated nothing. In the first dataset
    candidate 1 also rated the last item 5 (RS = 25/m); in the second not (RS = 1/(m-1)), or with a 1 when a rating is changed
    (RS = 5/m). Candidate 1's similarity stays near 1 while the sensitivity that divides it drops.

    Args:
        relation: add_or_remove_one:rating or replace_one:rating.
        num_items: m + 1.
    """
    first = np.full((3, num_items), np.nan)
    first[:2, :-1], first[:2, -1] = 1, 5
    second = first.copy()
    second[1, -1] = np.nan if relation == ADD else 1
    return first, second


def decide_em(claim: Claim, context: Context) -> Verdict:
    """PP-EM: exact losses of the weighted selection with RS computed from the data, against epsilon/2 and epsilon."""
    half = EPSILON / 2
    forms = ("local",) if context.quick else ("local", "local_dot", "pairwise")
    sizes = (6, 11, 21, 41) if context.quick else (6, 9, 11, 16, 21, 31, 41, 61)
    evidence: list[Evidence] = []
    rows: list[list[Any]] = []
    series = []
    for form, relation in itertools.product(forms, (ADD, REPLACE)):
        context.progress(f"{claim.id}: {form}, {WORDS[relation]}")
        selection = mechanism("npns", epsilon=EPSILON, num_neighbors=1, sensitivity=form)
        losses = [exact(selection, *sensitivity_family(relation, size)) for size in sizes]
        rows += [
            [form, WORDS[relation], size - 1, loss.epsilon, loss.epsilon > half, loss.epsilon > EPSILON]
            for size, loss in zip(sizes, losses, strict=True)
        ]
        series.append({"label": f"{form}, {WORDS[relation]}", "x": list(sizes), "y": [loss.epsilon for loss in losses]})
        for bound in (half, EPSILON):
            loss = next((loss for loss in losses if loss.epsilon > bound), None)
            witness = loss and _witness(loss, selection, relation, bound)
            record = witness and _evidence(witness, f"RS {form}, against {bound:g}", bound)
            evidence += [record] if record else []
    largest = max(loss for *_, loss, _, _ in rows)
    limits = [Fraction(str(record.certificate["inputs"]["epsilon"])) for record in evidence if record.certificate]
    if context.quick:
        found = None
    else:
        context.progress(f"{claim.id}: random datasets")
        selection = mechanism("npns", epsilon=EPSILON)
        found = worst_case(selection, ADD, epsilon=half, seed=context.seed, time_limit=4.0)
    if not limits:
        return Verdict(
            claim.id, "open", "No pair of datasets was found on which the selection loses more than epsilon/2."
        )
    pair = sensitivity_family(ADD, sizes[-1])
    selection = mechanism("npns", epsilon=EPSILON, num_neighbors=1, sensitivity="local")
    loss = exact(selection, *pair)
    witness = _witness(loss, selection, ADD, half)
    record = _evidence(witness, f"{sizes[-1] - 1} co-rated items", half)
    evidence += [record] if record else []
    table = {
        "title": "Exact loss of selecting one of two candidates, epsilon = 1 (claimed: 0.5 for the selection, 1 for all of PNCF)",
        "columns": ["RS", "neighboring", "co-rated items m", "loss (nats)", "above 0.5", "above 1"],
        "rows": rows,
    }
    plot = {
        "title": "The loss grows with the number of co-rated items",
        "x_label": "items",
        "y_label": "exact loss (nats)",
        "series": [*series, {"label": "claimed for the selection", "x": [sizes[0], sizes[-1]], "y": [half, half]}],
    }
    evidence[0] = dataclasses.replace(evidence[0], tables=(table, *evidence[0].tables), plots=(plot,))
    whole = any(limit >= Fraction(1) for limit in limits)
    return Verdict(
        claim.id,
        "refuted",
        f"The sensitivity RS that scales the weights is computed from the ratings themselves, so one rating changes every "
        f"weight at once. At epsilon = 1 the exact loss of the selection reaches {_nats(largest)} nats where 0.5 is claimed, and "
        "it grows without bound in the number of co-rated items m: about (m-1)/4 - m/100 - ln 2 when a rating is added. "
        + (f"Random 6 x 4 matrices with k = 2 already reach {_nats(found.epsilon)}. " if found is not None else "")
        + (
            "The selected neighbors alone exceed epsilon as well, so all of PNCF is refuted wherever it releases them; "
            "releasing more never loses less. "
            if whole
            else ""
        )
        + "With a constant that bounds the change of the similarity in place of RS, and a list of candidates that does not "
        "depend on the ratings, the selection step is private (PP-EM-REP).",
        tuple(evidence),
        epsilon_lower=loss.epsilon,
        epsilon_claimed=half,
        witness=witness,
        assumptions=("the whole of PNCF releases the selected neighbors, or anything they can be told from",),
        repair="PP-EM-REP: a constant sensitivity and a fixed list of candidates",
    )


def decide_marginals(claim: Claim, context: Context) -> Verdict:
    """PP-MARG: positivity of every marginal by proof, and the ratio of one marginal between neighbors by search."""
    proof = Evidence(
        "proof",
        "Every candidate's probability is positive when candidates are a fixed list: a visited partition supplies at least one "
        "neighbor, an unvisited one competes for the last, and every weight is positive.",
        {"kind": "proof", "inputs": _positivity()},
    )
    context.progress(f"{claim.id}: one candidate's probability")
    selection = mechanism("ppns", epsilon=EPSILON)
    moved = search(
        Membership(selection),
        ADD,
        epsilon=EPSILON,
        num_users=9,
        num_items=1,
        seed=context.seed,
        minimal=False,
        time_limit=PATIENCE,
    )
    evidence = [proof]
    witness = None
    if moved is not None:
        witness = _released(selection, moved)
        record = _evidence(witness, "one candidate's probability", EPSILON)
        evidence = [record, proof] if record else evidence
        witness = witness if record else None
    if not context.quick:
        context.progress(f"{claim.id}: candidates without co-rated items")
        excluded = mechanism("ppns", epsilon=EPSILON, no_overlap="exclude", num_neighbors=1)
        gone = search(
            Membership(excluded),
            ADD,
            epsilon=NEARLY_INFINITE,
            num_users=3,
            num_items=1,
            seed=context.seed,
            minimal=False,
            time_limit=PATIENCE,
        )
        record = gone and _evidence(_released(excluded, gone), "a user leaves the list", EPSILON, impossible=True)
        evidence += [record] if record else []
    positive = _checks(proof)
    if witness is None:
        return Verdict(
            claim.id, "open", "No marginal was found to move by more than epsilon.", (proof,) if positive else ()
        )
    count = len(witness.dataset1) - 1
    return Verdict(
        claim.id,
        "refuted",
        ("The first half is true: " if positive else "The first half was not proved: ")
        + "as long as the list of candidates is fixed, every candidate is selected with positive probability, because ceil of a "
        "positive number is at least 1. (If users without a co-rated item are no candidates, one removed rating makes a "
        "probability exactly 0.) The second half, which the reason needs, is false even for a single candidate: "
        f"{_sentence(witness)} With k = 2 and n candidates a user who moves from the unvisited partitions to the first goes from "
        f"about 1/(n-2) to 1/2, here n = {count}, so no epsilon holds for all n. For sets it fails altogether (PP-DP).",
        tuple(evidence),
        epsilon_lower=witness.epsilon,
        epsilon_claimed=EPSILON,
        witness=witness,
    )


def _positivity() -> dict[str, Any]:
    p, k, tail = "p", "k", "t"
    share = ["*", p, tail, k]
    return {
        "supports": "holds",
        "argument": "In partition i the quota is the integer q = ceil(p (1-p)^(i-1) k), capped at what is missing (at least 1 while "
        "the loop runs) and at the size of the partition. t stands for (1-p)^(i-1), positive as a power of a positive number. "
        "By the first two steps q > 0, so q >= 1 as an integer: a visited partition supplies at least one neighbor, and the first "
        "one drawn is any given member with probability w/W > 0 by the third. A member of an unvisited partition is the last "
        "neighbor with probability w/W > 0 by the same step.",
        "steps": [
            {
                "name": "1 - p is positive",
                "engine": "smt",
                "variables": [p],
                "hypotheses": [["<", 0, p], ["<", p, 1]],
                "conclusion": ["<", 0, ["-", 1, p]],
            },
            {
                "name": "the quota is positive",
                "engine": "smt",
                "variables": [p, tail, k, "q"],
                "hypotheses": [["<", 0, p], ["<", 0, tail], ["<=", 1, k], ["<=", share, "q"]],
                "conclusion": ["<", 0, "q"],
            },
            {
                "name": "one draw takes any given member with positive probability",
                "engine": "smt",
                "variables": ["w", "others"],
                "hypotheses": [["<", 0, "w"], ["<=", 0, "others"]],
                "conclusion": ["<", 0, ["/", "w", ["+", "w", "others"]]],
            },
        ],
    }


def _evidence(
    witness: Witness,
    name: str,
    epsilon: float,
    *,
    supports: str = "refuted",
    impossible: bool = False,
    minimal: bool = False,
) -> Evidence | None:
    """The witness as evidence, once the trusted checker has recomputed it; None when it does not agree."""
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
    attempts = [inputs | {"minimality": {"scale": SCALE}}, inputs] if minimal else [inputs]
    for attempt in attempts:
        try:
            result = check("witness", attempt)
        except Rejected:
            continue
        return Evidence(
            "witness",
            f"{name}: {result['summary']}",
            {"kind": "witness", "inputs": attempt},
            tables=(_laws_table(witness),),
        )
    return None


def _checks(record: Evidence) -> bool:
    assert record.certificate is not None
    try:
        check(record.certificate["kind"], record.certificate["inputs"])
    except Rejected:
        return False
    return True


def _witness(loss: ExactLoss, selection: Any, relation: str, epsilon: float) -> Witness:
    event = loss.event(loss.epsilon)
    pair = (loss.dataset1, loss.dataset2) if event.direction == "forward" else (loss.dataset2, loss.dataset1)
    return Witness(
        registered(selection) or {},
        NeighboringRelation.parse(relation),
        *pair,
        tuple(event.outputs.tolist()),
        event.log_probability_likelier,
        event.log_probability_other,
        PrivacyClaim(epsilon, relation=NeighboringRelation.parse(relation)),
    )


def _released(selection: Any, moved: Witness) -> Witness:
    """A witness on one user's membership as one on the released sets that contain that user, or do not."""
    row = len(moved.dataset1) - 1
    among = bool(moved.event[0])
    sets = selection.outputs(moved.dataset1)
    event = sets[(sets == row).any(axis=1) == among]
    return dataclasses.replace(moved, mechanism=registered(selection) or {}, event=tuple(event.tolist()))


def _claiming(witness: Witness, epsilon: float) -> Witness:
    return dataclasses.replace(witness, claim=dataclasses.replace(witness.claim, epsilon=epsilon))


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


def _built(witness: Witness) -> Any:
    """The registered mechanism that a witness names."""

    def value(text: Any) -> Any:
        try:
            return text if isinstance(text, bool | int) else float(Fraction(text))
        except ValueError:
            return text

    parameters = {name: value(text) for name, text in witness.mechanism["parameters"].items()}
    return mechanism(witness.mechanism["id"], witness.mechanism["variant"], **parameters)


def _loss_of(witness: Witness) -> ExactLoss:
    return exact(_built(witness), witness.dataset1, witness.dataset2)


def _laws_table(witness: Witness, limit: int = 12) -> dict[str, Any]:
    """The two laws side by side, the likeliest sets first."""
    loss = _loss_of(witness)
    event = {tuple(output) for output in witness.event}
    chances = np.exp(np.stack([loss.log_probabilities1, loss.log_probabilities2], axis=1))
    order = np.argsort(-chances.max(axis=1), kind="stable")[:limit]
    rows = [
        [
            _members(loss.outputs[i]),
            *(float(round(c, 9)) for c in chances[i]),
            "yes" if tuple(loss.outputs[i]) in event else "",
        ]
        for i in order
    ]
    more = f" (the {limit} likeliest of {len(loss.outputs)} sets)" if len(loss.outputs) > limit else ""
    return {
        "title": f"The two exact laws{more}",
        "columns": ["released set", "probability, dataset 1", "probability, dataset 2", "in the event"],
        "rows": rows,
    }


def _profile_plot(witness: Witness) -> dict[str, Any]:
    grid = np.linspace(0, 10, 41)
    return {
        "title": "Privacy profile of the first witness: the delta that epsilon would need",
        "x_label": "epsilon (nats)",
        "y_label": "delta",
        "series": [{"label": "this pair of datasets", "x": grid.tolist(), "y": _loss_of(witness).delta(grid).tolist()}],
    }


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


def _sentence(witness: Witness) -> str:
    """The witness in words: the change, the event, both probabilities."""
    (user, item), *_ = witness.changed
    before, after = (float(dataset[user, item]) for dataset in (witness.dataset1, witness.dataset2))
    change = {
        (True, False): f"adding user {user}'s rating {after:g} of item {item}",
        (False, True): f"removing user {user}'s rating {before:g} of item {item}",
        (False, False): f"changing user {user}'s rating of item {item} from {before:g} to {after:g}",
    }[math.isnan(before), math.isnan(after)]
    sets = " or ".join(_members(output) for output in witness.event[:3])
    sets += f" or {len(witness.event) - 3} more" if len(witness.event) > 3 else ""
    two = math.exp(witness.log_probability2)
    fall = "to exactly 0" if two == 0 else f"to {two:.3g}"
    return (
        f"with {len(witness.dataset1) - 1} candidates and k = {witness.mechanism['parameters']['num_neighbors']}, {change} takes "
        f"the probability of releasing {sets} from {math.exp(witness.log_probability1):.3g} {fall}."
    )


def _members(output: Any) -> str:
    return "{" + ", ".join(str(int(row)) for row in output) + "}"


def _nats(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.3g}"
