"""What floating point does to Zheng's mechanisms, and integer samplers that it does nothing to: RC-EXE, RC-EXE-REP."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.mechanisms import MECHANISMS, mechanism
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import identity, instance, proof, smt
from dpassay.proofs.representation import UNIFORM_BITS, difference, examination_table, examined, executed, parameters
from dpassay.replay.floating import reaches

IDEAL: Mapping[tuple[str, str], str] = {
    ("modified_laplace", "paper"): "RC-T1",
    ("modified_laplace", "repaired"): "RC-EXE-REP",
    ("randomized_response", "paper"): "RC-T2",
    ("randomized_response", "repaired"): "RC-EXE-REP",
}
"""(id, variant) -> the claim about its ideal law."""


decide_executed = executed(
    ("modified_laplace", "randomized_response"),
    "The ordinary sampler of modified Laplace adds a float to a float. A rating of 0 releases the noise itself, "
    "a small number with many digits; added to a rating of 1 the same digits are rounded away, and no noise "
    "whatever gives that number. One released number tells the two ratings apart for certain, at every epsilon, "
    "and most numbers below 1/4 in size do. The textbook randomized response compares a float with its keep "
    "probability; from epsilon 40 on (five ratings) that probability rounds to 1 and the true rating is always "
    "released. The samplers on integers have neither fault (RC-EXE-REP).",
    repair="RC-EXE-REP: discrete Laplace on a public grid and randomized response, from integers and bits alone",
)


def decide_executed_repaired(claim: Claim, context: Context) -> Verdict:
    """RC-EXE-REP: the samplers use integers only (traced), and their integer laws are eps-DP (proved)."""
    subjects = [(id, "repaired") for id in ("modified_laplace", "randomized_response")]
    failing = [f"{id}: {examined(id, v).finding}" for id, v in subjects if not examined(id, v).passes]
    if failing:
        return Verdict(claim.id, "open", f"The samplers are not exact: {'; '.join(failing)}.", arithmetic="executed")
    listed = subjects if context.quick else [(id, variant) for id in MECHANISMS for variant in MECHANISMS[id]]
    verdict = decided(
        claim,
        "holds",
        "The repaired samplers decide every draw by integers from random bits; the program that runs was traced, and "
        "no floating-point operation touches a random number before the result is written down. Modified Laplace "
        "becomes discrete Laplace noise on a public grid, drawn by rejection with exact chances; randomized response "
        "compares 62 bits with an integer. Both laws are within e^eps per entry, and so within e^(n eps) for a "
        "vector. The generator (Threefry) is taken as ideal randomness, and running time is not hidden.",
        evidence=(
            shown(
                "The integer laws of both samplers keep eps per entry.",
                integer_samplers_proof(),
                tables=(examination_table([examined(*each) for each in listed]),),
            ),
            shown("The integer thresholds of randomized response at several eps.", thresholds_instance()),
        ),
        assumptions=(
            "the generator's words are independent and uniform (Threefry is treated as ideal randomness)",
            "running time and memory are not observed",
        ),
    )
    return replace(verdict, arithmetic="executed")


def integer_samplers_proof() -> dict[str, Any]:
    """The laws of `exact_integers`, of the discrete modified Laplace and of the integer randomized response."""
    return proof(
        "Sampler: a Bernoulli variable stops at term k of its series with chance g^(k-1)/(k-1)! - g^k/k!, since it "
        "goes on from j with chance g/j; it succeeds at odd k, and those chances add up to 1 - g + g^2/2 - ... = e^-g "
        "(step 1: the chance of stopping at k given that k was reached, times that of reaching it). The remainder u "
        "(accepted with chance e^(-u/t)) and the number v of successes of chance 1/e have weight e^(-(u + tv)/t) (step "
        "2), so |z| = u + tv has weight e^(-|z|/t); the sign is fair, and 0 with a minus sign is drawn again. The coin "
        "shows False with the chance q that solves step 3; its odds are e^c (step 4). Law: between ratings at grid "
        "points k and k' within G of 0 the exponent moves by at most 2G/t (step 5); between a rating and a missing "
        "entry, with c = G/t, it lies between 0 and 2G/t (step 6), and a missing output moves by c = G/t, less. By the "
        "choice of t that is at most eps (step 7). Randomized response: with N = A + dB and B at least N/(E + d), E = "
        "e^eps, A is at most E B (step 8); and A is at least B (step 9), B being at most N/(E + d) + 2, so that the "
        "inverse ratio is at most 1. Entries are independent: products and sums keep the bounds (RC-NFOLD).",
        identity("stopping at term k", "reach * (1 - g / k) == reach - reach * g / k"),
        identity("the weight of remainder and count", "exp(-(u / t)) * exp(-v) == exp(-((u + t * v) / t))"),
        identity(
            "the coin's chance of False",
            "exp(-c) / 2 + (1 - exp(-c)) / 2 * (exp(-c) / (1 + exp(-c))) == exp(-c) / (1 + exp(-c))",
        ),
        identity("the coin's odds", "(1 / (1 + exp(-c))) / (exp(-c) / (1 + exp(-c))) == exp(c)"),
        smt(
            "two ratings",
            "t > 0, G > 0, abs(k) <= G, abs(other) <= G",
            "(abs(y - other) - abs(y - k)) / t <= 2 * G / t",
            model="t = 2, G = 1, k = 0, other = 1, y = 0",
        ),
        smt(
            "a rating and a missing entry",
            "t > 0, G > 0, abs(k) <= G",
            "(abs(y) - abs(y - k)) / t + G / t <= 2 * G / t and 0 <= (abs(y) - abs(y - k)) / t + G / t",
            model="t = 2, G = 1, k = 0, y = 0",
        ),
        smt(
            "the scale is large enough",
            "eps > 0, t >= 2 * G / eps, G > 0",
            "2 * G / t <= eps",
            model="eps = 1, t = 2, G = 1",
        ),
        smt(
            "keeping is at most E times as likely as one other symbol",
            "N == A + d * B, B * (E + d) >= N, B > 0, d >= 1",
            "A <= E * B",
            model="N = 4, A = 3, B = 1, d = 1, E = 3",
        ),
        smt(
            "keeping is at least as likely as one other symbol",
            "N == A + d * B, B * (E + d) <= N + 2 * (E + d), N * (E - 1) >= 2 * (E + d) * (d + 1), d >= 1, E > 1",
            "A >= B",
            model="N = 16, A = 11, B = 5, d = 1, E = 3",
        ),
    )


def thresholds_instance() -> dict[str, Any]:
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
    return instance(values, *formulas, supports="holds")


def _modified_laplace() -> list[dict[str, Any]]:
    """Runs the sampler on a rating of 0 until it releases a number that a rating of 1 cannot give."""
    built = mechanism("modified_laplace")
    released = np.asarray(built.sample(jax.random.key(0), np.zeros(64)))
    described = parameters("modified_laplace", "paper")
    for number in released[~np.isnan(released)]:
        output = Fraction(float(number))
        if not reaches("addition", Fraction(1), output, "float64"):
            text = str(output)
            own = {"format": "float64", "noise": text, "output": text}
            # Once against the other rating, once with the missing entry whose noise is released alone.
            return [
                difference("addition", described, "replace_one:entry", first, [[1]], **own)
                for first in ([[0]], [[None]])
            ]
    return []


def _randomized_response() -> list[dict[str, Any]]:
    """epsilon = 60: the keep probability that the code compares with is 1."""
    built = mechanism("randomized_response", epsilon=60.0)
    threshold = Fraction(built.keep_probability)
    return [
        difference(
            "threshold",
            parameters("randomized_response", "paper", epsilon=60.0),
            "replace_one:entry",
            [[1]],
            [[2]],
            threshold=str(threshold),
            bits=UNIFORM_BITS,
        )
    ]


DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {
    ("modified_laplace", "paper"): _modified_laplace,
    ("randomized_response", "paper"): _randomized_response,
}
