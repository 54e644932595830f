"""What floating point does to the privacy of every sampler: the examination, and the claims about executed code.

Ideal laws are about real numbers; what runs is made of finitely many floats. Two defects are looked for. A released
float betrays its input when a value that one dataset can give is out of reach for its neighbor (Mironov 2012). A
discrete output drawn through floats is never given when its chance is below the resolution of the uniform numbers, and
that border moves with the data. A sampler of integers and bits alone has neither. Throughout, JAX's generator
(Threefry) is treated as ideal randomness, and running time is not examined.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.randomness import Randomness, trace
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.registry import find_claim
from dpassay.mechanisms import MECHANISMS, describe, mechanism
from dpassay.mechanisms.jlt import centered, lifted
from dpassay.proofs.notation import identity, objections, proof, smt
from dpassay.replay import Rejected, check
from dpassay.replay.floating import reaches

__all__ = [
    "Examination",
    "decide_dpp",
    "decide_ppns",
    "decide_pricdr",
    "decide_rating_collection",
    "decide_rating_collection_repaired",
    "decide_xmap",
    "examine",
    "examine_all",
    "executed_differences",
    "integer_samplers_proof",
]

UNIFORM_BITS = 52
"""`wallenius.uniform` gives odd multiples of 2^-53."""
SLACK = "1e-6"  # nats, for the rounding of logarithms and of log-weights below 1e6

_ = np.nan
_DATASETS = (
    np.array([[5, 3, 4, 1, _, 2], [4, 3, _, 2, 5, 1], [1, _, 5, 4, 2, _], [2, 5, 1, 3, _, 4], [5, 1, 4, 2, 3, 3]]),
    np.array([[1, 0.5, -1, _], [0.25, _, 1, 0]]),
    np.array([5, 1, 0.2, 3, 0.7]),
    np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
)
"""Small datasets on which a sampler is traced; the first that it accepts is taken."""

IDEAL: Mapping[tuple[str, str], str] = {
    ("npns", "paper"): "PP-EM",
    ("npns", "repaired"): "PP-EM-REP",
    ("pncf", "paper"): "PP-EM",
    ("ppns", "paper"): "PP-DP",
    ("ppns", "repaired"): "PP-DP-REP",
    ("prs", "paper"): "XM-T1",
    ("prs", "released"): "XM-T1-REL",
    ("prs", "repaired"): "XM-T1-REP",
    ("pnsa", "paper"): "XM-PNSA",
    ("pnsa", "released"): "XM-PNSA-REL",
    ("pnsa", "repaired"): "XM-PNSA-REP",
    ("pnsa_pncf", "paper"): "XM-PNSA",
    ("pnsa_pncf", "repaired"): "XM-PNSA-REP",
    ("dpp", "paper"): "DP-EPS-REP",
    ("kdpp", "paper"): "DP-KDPP-REP",
    ("dpp_subset_jittered", "paper"): "DP-SUB",
    ("modified_laplace", "paper"): "RC-T1",
    ("modified_laplace", "repaired"): "RC-EXE-REP",
    ("randomized_response", "paper"): "RC-T2",
    ("randomized_response", "repaired"): "RC-EXE-REP",
    ("jlt", "paper"): "CD-T52",
    ("jlt", "released"): "CD-T52-REL",
    ("jlt", "repaired"): "CD-T52-REP",
    ("sjlt", "paper"): "CD-SJLT",
    ("sjlt", "released"): "CD-SJLT-REL",
    ("sjlt", "repaired"): "CD-SJLT-REP",
}
"""(id, variant) -> the claim about its ideal law."""


@dataclass(frozen=True)
class Examination:
    """What floating point does to one registered mechanism.

    Attributes:
        id: of the mechanism.
        variant: of the mechanism.
        output: "floats" or "integers" (sets and masks among them); "" when it could not be traced.
        arithmetic: "none", "integers" or "floats", how random words become the output; "" when not traced.
        sought: the defect looked for.
        finding: what was found, in words.
        passes: whether what runs has the ideal law exactly.
        certificate: {"kind", "inputs"} of a difference that the trusted checker accepted, else None.
    """

    id: str
    variant: str
    output: str
    arithmetic: str
    sought: str
    finding: str
    passes: bool
    certificate: Mapping[str, Any] | None = None


def examine(built: Any) -> Examination:
    """Examines one mechanism of the registry; its parameters are those of the given value.

    Raises:
        InvalidInput: a mechanism outside the registry.
    """
    described = describe(built)
    if not described:
        raise InvalidInput("only registered mechanisms can be examined; register it, or audit it with --representation")
    id, variant = described["id"], described["variant"]
    randomness = _traced(built)
    if randomness is None:
        sought, finding = "how random words become the output", "not examined: no example dataset fits the sampler"
        return Examination(id, variant, "", "", sought, finding, False)
    if randomness.arithmetic == "none":
        return _examination(id, variant, randomness, "random words", "no random word enters the output", True)
    if randomness.arithmetic == "integers":
        finding = (
            "integers decide every draw, and floats only write the result down, exactly: what runs is the ideal law"
        )
        return _examination(id, variant, randomness, "floating-point arithmetic on random words", finding, True)
    sought = (
        "a released float that a neighboring dataset cannot give"
        if randomness.output == "floats"
        else "an output of positive ideal chance that is never drawn, on one of two neighboring datasets"
    )
    for certificate in executed_differences(id, variant):
        try:
            finding = check(certificate["kind"], certificate["inputs"])["summary"]
        except Rejected:
            continue
        epsilon = certificate["inputs"]["mechanism"]["parameters"].get("epsilon")
        at = f"at epsilon {epsilon}: " if epsilon else ""
        return _examination(id, variant, randomness, sought, at + finding, False, certificate)
    return _examination(id, variant, randomness, sought, _resolution(randomness), False)


def examine_all() -> list[Examination]:
    """Every mechanism of the registry with its default parameters, in the registry's order."""
    return [_examined(id, variant) for id, variants in MECHANISMS.items() for variant in variants]


def executed_differences(id: str, variant: str) -> list[dict[str, Any]]:
    """Certificates, not yet checked, of outputs that the executed sampler gives on one of two neighbors only."""
    build = _DIFFERENCES.get((id, variant))
    try:
        return [] if build is None else [{"kind": "floating", "inputs": inputs} for inputs in build()]
    except InvalidInput:
        return []


def decide_xmap(claim: Claim, context: Context) -> Verdict:
    """XM-EXE."""
    return _decide(
        claim,
        context,
        ("prs", "pnsa", "pnsa_pncf"),
        "The draws compare log-weights plus Gumbel noise made from 52-bit uniform numbers, and that noise spans 40.3 "
        "nats only. A replacement or neighbor that trails by more has a positive chance in exact arithmetic and is "
        "never drawn by the code, and one user moves it across that border: no finite epsilon holds for what runs. "
        "In the repaired PNSA, where many users add up, epsilon 1 is enough; the event is rare there (ideal chance "
        "4e-18), so that a delta of 1e-15 would cover it. In PRS one item can trail by at most epsilon/2, so that "
        "nothing is out of reach below epsilon 80.7.",
    )


def decide_ppns(claim: Claim, context: Context) -> Verdict:
    """PP-EXE."""
    return _decide(
        claim,
        context,
        ("npns", "pncf", "ppns"),
        "The selection compares log-weights plus Gumbel noise made from 52-bit uniform numbers, and that noise spans "
        "40.3 nats only. A candidate who trails by more is never drawn, although the chance is positive in exact "
        "arithmetic; at epsilon 1 and a norm floor of 50, one rating among 81 moves a candidate across that border. "
        "No finite epsilon holds for what runs. The event is rare (ideal chance 4e-18), so that a delta of 1e-15 "
        "would cover it. The Laplace noise of the repaired PPNS is made from the same uniform numbers and bounded "
        "too, at 36.7 scales.",
    )


def decide_dpp(claim: Claim, context: Context) -> Verdict:
    """DP-EXE."""
    return _decide(
        claim,
        context,
        ("dpp", "kdpp", "dpp_eigen", "dpp_subset_jittered"),
        "An item is chosen when a uniform number u, at least 2^-53, satisfies u (1 + lambda) < lambda. With a jitter "
        "of 1e-17 an item that nobody clicked has a positive chance in exact arithmetic, and the code never chooses "
        "it; with one more user it is chosen half of the time. The exact loss is finite there (38.5 nats), the "
        "executed one is not. At a jitter of 1 and more no item is out of reach in this way; eigenvalues and the "
        "draws of phase 2 are rounded all the same, and nothing is proved about them.",
    )


def decide_rating_collection(claim: Claim, context: Context) -> Verdict:
    """RC-EXE."""
    return _decide(
        claim,
        context,
        ("modified_laplace", "randomized_response"),
        "The ordinary sampler of modified Laplace adds a float to a float. A rating of 0 releases the noise itself, "
        "a small number with many digits; added to a rating of 1 the same digits are rounded away, and no noise "
        "whatever gives that number. One released number tells the two ratings apart for certain, at every epsilon, "
        "and most numbers below 1/4 in size do. The textbook randomized response compares a float with its keep "
        "probability; from epsilon 40 on (five ratings) that probability rounds to 1 and the true rating is always "
        "released. The samplers on integers have neither fault (RC-EXE-REP).",
        repair="RC-EXE-REP: discrete Laplace on a public grid and randomized response, from integers and bits alone",
    )


def decide_pricdr(claim: Claim, context: Context) -> Verdict:
    """CD-EXE."""
    return _decide(
        claim,
        context,
        ("jlt", "sjlt"),
        "The transform multiplies the lifted ratings by random floats and releases the rounded products. Which "
        "floats are products of a given number depends on the number: with one item, two users and one row, a number "
        "that the code released for one dataset is no product for its neighbor, whatever the random float is, and "
        "about one released number in twelve is of that kind, far more than delta = 1/10000. So the executed code "
        "keeps neither epsilon nor (epsilon, delta), also where the ideal law does. Our column sketch adds float "
        "noise to a rating and has the same fault, as frequent; in addition every Gaussian comes from one 32-bit "
        "word, so that it takes at most 2^32 values.",
    )


def decide_rating_collection_repaired(claim: Claim, context: Context) -> Verdict:
    """RC-EXE-REP: the samplers use integers only (traced), and their integer laws are eps-DP (proved)."""
    subjects = [(id, "repaired") for id in ("modified_laplace", "randomized_response")]
    failing = [f"{id}: {_examined(id, v).finding}" for id, v in subjects if not _examined(id, v).passes]
    if failing:
        return Verdict(claim.id, "open", f"The samplers are not exact: {'; '.join(failing)}.", arithmetic="executed")
    certificates = (integer_samplers_proof(), _thresholds())
    failed = objections(*certificates)
    if failed:
        return Verdict(claim.id, "open", f"Not proved: {failed}.", arithmetic="executed")
    listed = subjects if context.quick else [(id, variant) for id in MECHANISMS for variant in MECHANISMS[id]]
    return Verdict(
        claim.id,
        "holds",
        "The repaired samplers decide every draw by integers from random bits; the program that runs was traced, and "
        "no floating-point operation touches a random number before the result is written down. Modified Laplace "
        "becomes discrete Laplace noise on a public grid, drawn by rejection with exact chances; randomized response "
        "compares 62 bits with an integer. Both laws are within e^eps per entry, and so within e^(n eps) for a "
        "vector. The generator (Threefry) is taken as ideal randomness, and running time is not hidden.",
        evidence=(
            Evidence(
                "proof",
                "The integer laws of both samplers keep eps per entry.",
                certificates[0],
                tables=(_table([_examined(*each) for each in listed]),),
            ),
            Evidence("certificate", "The integer thresholds of randomized response at several eps.", certificates[1]),
        ),
        arithmetic="executed",
        assumptions=(
            "the generator's words are independent and uniform (Threefry is treated as ideal randomness)",
            "running time and memory are not observed",
        ),
    )


def integer_samplers_proof() -> dict[str, Any]:
    """The laws of `exact_integers`, of the discrete modified Laplace and of the integer randomized response."""
    return proof(
        "Sampler: a Bernoulli variable stops at term k of its series with chance g^(k-1)/(k-1)! - g^k/k!, since it "
        "goes on from j with chance g/j; it succeeds at odd k, and those chances add up to 1 - g + g^2/2 - ... = "
        "e^-g (step 1: the chance of stopping at k given that k was reached, times that of reaching it). The "
        "remainder u (accepted with chance e^(-u/t)) and the number v of successes of chance 1/e have weight e^(-(u "
        "+ tv)/t) (step 2), so |z| = u + tv has weight e^(-|z|/t); the sign is fair, and 0 with a minus sign is "
        "drawn again. The coin shows False with the chance q that solves step 3; its odds are e^c (step 4). Law: "
        "between ratings at grid points k and k' within G of 0 the exponent moves by at most 2G/t (step 5); between "
        "a rating and a missing entry, with c = G/t, it lies between 0 and 2G/t (step 6), and a missing output moves "
        "by c = G/t, less. By the choice of t that is at most eps (step 7). Randomized response: with N = A + dB and "
        "B at least N/(E + d), E = e^eps, A is at most E B (step 8); and A is at least B (step 9), B being at most "
        "N/(E + d) + 2, so that the inverse ratio is at most 1. Entries are independent: products and sums keep the "
        "bounds (RC-NFOLD).",
        identity("stopping at term k", "reach * (1 - g / k) == reach - reach * g / k"),
        identity("the weight of remainder and count", "exp(-(u / t)) * exp(-v) == exp(-((u + t * v) / t))"),
        identity(
            "the coin's chance of False",
            "exp(-c) / 2 + (1 - exp(-c)) / 2 * (exp(-c) / (1 + exp(-c))) == exp(-c) / (1 + exp(-c))",
        ),
        identity("the coin's odds", "(1 / (1 + exp(-c))) / (exp(-c) / (1 + exp(-c))) == exp(c)"),
        smt(
            "two ratings",
            ["t > 0", "G > 0", "abs(k) <= G", "abs(other) <= G"],
            "(abs(y - other) - abs(y - k)) / t <= 2 * G / t",
            model={"t": "2", "G": "1", "k": "0", "other": "1", "y": "0"},
        ),
        smt(
            "a rating and a missing entry",
            ["t > 0", "G > 0", "abs(k) <= G"],
            "(abs(y) - abs(y - k)) / t + G / t <= 2 * G / t and 0 <= (abs(y) - abs(y - k)) / t + G / t",
            model={"t": "2", "G": "1", "k": "0", "y": "0"},
        ),
        smt(
            "the scale is large enough",
            ["eps > 0", "t >= 2 * G / eps", "G > 0"],
            "2 * G / t <= eps",
            model={"eps": "1", "t": "2", "G": "1"},
        ),
        smt(
            "keeping is at most E times as likely as one other symbol",
            ["N == A + d * B", "B * (E + d) >= N", "B > 0", "d >= 1"],
            "A <= E * B",
            model={"N": "4", "A": "3", "B": "1", "d": "1", "E": "3"},
        ),
        smt(
            "keeping is at least as likely as one other symbol",
            [
                "N == A + d * B",
                "B * (E + d) <= N + 2 * (E + d)",
                "N * (E - 1) >= 2 * (E + d) * (d + 1)",
                "d >= 1",
                "E > 1",
            ],
            "A >= B",
            model={"N": "16", "A": "11", "B": "5", "d": "1", "E": "3"},
        ),
    )


def _decide(claim: Claim, context: Context, ids: Sequence[str], explanation: str, repair: str = "") -> Verdict:
    """Refuted by the differences that the checker accepts, one per mechanism; open when there are none."""
    context.progress(f"{claim.id}: examining the samplers of {', '.join(ids)}")
    examined = [_examined(id, variant) for id in ids for variant in MECHANISMS.get(id, {})]
    shown = [each for each in examined if each.certificate is not None]
    if not shown:
        findings = "; ".join(f"{each.id} ({each.variant}): {each.finding}" for each in examined) or "none registered"
        return Verdict(claim.id, "open", f"No difference was shown. Examined: {findings}.", arithmetic="executed")
    tables: tuple[Table, ...] = (_table(examined),)
    evidence = []
    for each in shown:
        assert each.certificate is not None
        summary = f"{each.id} ({each.variant}): {each.finding}."
        evidence.append(Evidence("certificate", summary, each.certificate, tables=tables))
        tables = ()
    return Verdict(
        claim.id,
        "refuted",
        explanation,
        evidence=tuple(evidence),
        epsilon_lower=math.inf,
        arithmetic="executed",
        assumptions=("JAX's generator (Threefry) is treated as ideal randomness",),
        repair=repair,
    )


def _table(examined: Sequence[Examination]) -> Table:
    rows = []
    for each in examined:
        claim, outcome = _ideal(each.id, each.variant)
        deployable = outcome == "holds" and each.passes
        rows.append(
            [each.id, each.variant, claim, outcome, each.arithmetic, each.finding, "yes" if deployable else "no"]
        )
    columns = [
        "mechanism",
        "variant",
        "claim on the ideal law",
        "outcome",
        "random words",
        "as executed",
        "deployable",
    ]
    title = "Executed code: deployable when the ideal claim holds and what runs has that law"
    return Table(title, columns, rows)


def _ideal(id: str, variant: str) -> tuple[str, str]:
    from dpassay.core.registry import expected_outcomes

    claim = IDEAL.get((id, variant), "")
    if find_claim(claim) is None:
        return "none", ""
    if claim == "RC-EXE-REP":  # proved here; `check` remembers the answer
        return claim, "open" if objections(integer_samplers_proof()) else "holds"
    outcomes = expected_outcomes().get(claim, {})
    return claim, outcomes.get("", next(iter(outcomes.values()), "not reviewed"))


def _examination(
    id: str,
    variant: str,
    randomness: Randomness,
    sought: str,
    finding: str,
    passes: bool,
    certificate: Mapping[str, Any] | None = None,
) -> Examination:
    return Examination(id, variant, randomness.output, randomness.arithmetic, sought, finding, passes, certificate)


@functools.cache
def _examined(id: str, variant: str) -> Examination:
    return examine(mechanism(id, variant))


def _traced(built: Any) -> Randomness | None:
    for dataset in _DATASETS:
        try:
            return trace(built, dataset)
        except (InvalidInput, TypeError, ValueError, IndexError):
            continue
    return None


def _resolution(randomness: Randomness) -> str:
    """What finite resolution means where no difference is on file."""
    if randomness.output == "floats":
        return "rounded noise is released; no difference is on file for this variant, and nothing rules one out"
    if "log" in randomness.functions and {"argmax", "sort", "top_k"} & set(randomness.functions):
        return (
            "noise from 52-bit uniform numbers is bounded (Gumbel spans 40.3 nats, Laplace 73.5 scales): what trails "
            "by more is never drawn; no pair of datasets is on file for this variant"
        )
    return (
        "52-bit uniform numbers meet rounded chances: what has a chance below 2^-53 is never drawn; no pair of "
        "datasets is on file for this variant"
    )


def _parameters(id: str, variant: str, **changed: Any) -> dict[str, Any]:
    """{"id", "variant", "parameters"} as certificates write it."""
    described = describe(mechanism(id, variant, **changed))
    parameters = {
        name: str(Fraction(str(value))) if isinstance(value, float) else value
        for name, value in described["parameters"].items()
    }
    return {**described, "parameters": parameters}


def _difference(form: str, built: Mapping[str, Any], relation: str, *datasets: Any, **own: Any) -> dict[str, Any]:
    return {
        "form": form,
        "mechanism": dict(built),
        "relation": relation,
        "dataset1": datasets[0],
        "dataset2": datasets[1],
        "supports": "refuted",
        **own,
    }


def _gumbel(built: Mapping[str, Any], relation: str, *datasets: Any, output: int) -> dict[str, Any]:
    return _difference("gumbel", built, relation, *datasets, output=[output], bits=UNIFORM_BITS, slack=SLACK)


def _npns_repaired() -> list[dict[str, Any]]:
    """Candidate 1 agrees with the target on 81 items; without the last, candidate 2 is just within reach."""
    built = _parameters("npns", "repaired", num_neighbors=1, norm_floor=50.0)
    full, short = [5] * 81, [5] * 80 + [None]
    none = [None] * 81
    return [_gumbel(built, "add_or_remove_one:rating", [full, short, none], [full, full, none], output=2)]


def _prs(variant: str) -> Callable[[], list[dict[str, Any]]]:
    """Item 1 moves with the source item, item 2 against it, until another user says the contrary."""

    def build() -> list[dict[str, Any]]:
        built = _parameters("prs", variant, epsilon=82.0)
        missing = [None, None, None]
        first = [[5, 5, 1], [5, 1, 5]]
        return [_gumbel(built, "add_or_remove_one:user", first, [first[0], missing], output=2)]

    return build


def _pnsa_repaired() -> list[dict[str, Any]]:
    """162 users rate the target 5 and item 2 with 1; with 161, item 2 is just within reach."""
    built = _parameters("pnsa", "repaired", num_neighbors=1, threshold=100.0, width=2.0)
    user, missing = [5, None, 1], [None, None, None]
    return [_gumbel(built, "add_or_remove_one:user", [*[user] * 161, missing], [user] * 162, output=2)]


def _dpp() -> list[dict[str, Any]]:
    """One item, one user who clicks it, jitter 1e-17."""
    built = _parameters("dpp", "paper", jitter=1e-17, max_square_norm=1.0)
    return [_difference("coin", built, "add_or_remove_one:user", [[1]], [[None]], output=[0], bits=UNIFORM_BITS)]


def _modified_laplace() -> list[dict[str, Any]]:
    """Runs the sampler on a rating of 0 until it releases a number that a rating of 1 cannot give."""
    built = mechanism("modified_laplace")
    released = np.asarray(built.sample(jax.random.key(0), np.zeros(64)))
    described = _parameters("modified_laplace", "paper")
    for number in released[~np.isnan(released)]:
        output = Fraction(float(number))
        if not reaches("addition", Fraction(1), output, "float64"):
            text = str(output)
            own = {"format": "float64", "noise": text, "output": text}
            # Once against the other rating, once with the missing entry whose noise is released alone.
            return [
                _difference("addition", described, "replace_one:entry", first, [[1]], **own)
                for first in ([[0]], [[None]])
            ]
    return []


def _randomized_response() -> list[dict[str, Any]]:
    """epsilon = 60: the keep probability that the code compares with is 1."""
    built = mechanism("randomized_response", epsilon=60.0)
    threshold = Fraction(built.keep_probability)
    return [
        _difference(
            "threshold",
            _parameters("randomized_response", "paper", epsilon=60.0),
            "replace_one:entry",
            [[1]],
            [[2]],
            threshold=str(threshold),
            bits=UNIFORM_BITS,
        )
    ]


def _column_sketch() -> list[dict[str, Any]]:
    """One item, one user, one row: without the rating the noise is released alone, with it a rating is added."""
    built = mechanism("sjlt", "repaired", num_rows=1)
    draw = jax.jit(jax.vmap(lambda key: built.sample(key, np.full((1, 1), np.nan))[0, 0]))
    released = np.asarray(draw(jax.random.split(jax.random.key(0), 256)))
    for number in released:
        output = Fraction(float(number))
        if not any(reaches("addition", Fraction(rating), output, "float64") for rating in (1, -1)):
            own = {"format": "float64", "noise": str(output), "output": str(output)}
            described = _parameters("sjlt", "repaired", num_rows=1)
            return [_difference("addition", described, "add_or_remove_one:rating", [[None]], [[1]], **own)]
    return []


def _gaussian_sketch() -> list[dict[str, Any]]:
    """One item, two users, one row; at epsilon = 6/5 many floats are no products with the lifted entry."""
    built = mechanism("jlt", num_rows=1, epsilon=1.2)
    datasets = [[1, 3]], [[2, 3]]
    with jax.enable_x64(True):
        lift = jax.jit(lambda matrix: jnp.abs(lifted(centered(matrix), built.noise)[0, 0]))
        stated = [Fraction(float(lift(np.array(dataset, float)))) for dataset in datasets]
    draw = jax.jit(jax.vmap(lambda key: built.sample(key, np.array(datasets[0], float))[0, 0]))
    for number in np.asarray(draw(jax.random.split(jax.random.key(0), 256))):
        output = Fraction(float(number))
        noises = reaches("product", stated[0], output, "float64")
        if noises and not reaches("product", stated[1], output, "float64"):
            own = {"format": "float64", "noise": str(noises[0]), "output": str(output)}
            described = _parameters("jlt", "paper", num_rows=1, epsilon=1.2)
            both = [str(value) for value in stated]
            return [_difference("product", described, "replace_one:rating", *datasets, **own, factors=both)]
    return []


def _thresholds() -> dict[str, Any]:
    """A <= e^eps B, A >= B and the condition of step 9, on the integers that the code compares with."""
    values: dict[str, Any] = {}
    formulas: list[Any] = []
    for place, (epsilon, ratings) in enumerate(((2.0**-40, 1000), (0.1, 5), (1.0, 5), (4.0, 5), (8.0, 10))):
        keep, other = mechanism("randomized_response", "repaired", epsilon=epsilon, num_ratings=ratings).thresholds
        names = {"A": keep, "B": other, "eps": str(Fraction(epsilon)), "d": ratings}
        values |= {f"{name}{place}": value for name, value in names.items()}
        a, b, eps, d = (f"{name}{place}" for name in names)
        total = ["+", a, ["*", d, b]]
        grown = ["exp", eps]
        formulas += [
            ["=", total, 2**62],
            ["<=", a, ["*", grown, b]],
            [">=", a, b],
            [">=", ["*", total, ["-", grown, 1]], ["*", 2, ["+", grown, d], ["+", d, 1]]],
        ]
    return {"kind": "formula", "inputs": {"values": values, "formulas": formulas, "supports": "holds"}}


_DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {
    ("npns", "repaired"): _npns_repaired,
    ("prs", "repaired"): _prs("repaired"),
    ("prs", "paper"): _prs("paper"),
    ("pnsa", "repaired"): _pnsa_repaired,
    ("dpp", "paper"): _dpp,
    ("modified_laplace", "paper"): _modified_laplace,
    ("randomized_response", "paper"): _randomized_response,
    ("jlt", "paper"): _gaussian_sketch,
    ("sjlt", "repaired"): _column_sketch,
}
