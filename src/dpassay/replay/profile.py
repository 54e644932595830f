"""Checks statements about exact privacy profiles of Gaussian sketches, by enclosures of the profiles.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; there are no other fields):
    "values"?: {name: number}, constants of the formulas
    "profiles": {name: {"rows": r, "noise": formula, "epsilon": formula, "columns"?: "gaussian" or "fixed",
        "raters"?: c}}, formulas (see `replay.formula`) over the constants
    "formulas": comparisons, or combinations of them, over the constants and the profiles' names; each certainly true

A profile is the smallest delta for which publishing (M R + w N) / sqrt(r), N standard Gaussian, is (epsilon, delta)-
differentially private when one row of R changes by a vector of norm at most 1:

    columns "gaussian" (the default): E[delta_GM(epsilon, sqrt(z) / w)], z ~ chi^2_r
    columns "fixed" (norm sqrt(r)):   delta_GM(epsilon, sqrt(r) / w)
    raters c (Gaussian M, even r):    for R with a row of c ones and zero rows, and R' with one 1 more in that row,
        the larger one of both directions

with delta_GM(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). For odd r the mean is
integrated with rigorous error bounds. For even r = 2k it is the finite sum that the law of the privacy loss gives,
A/p - B/q with A and B independent, Gamma(k)-distributed (`_race`).
"""

from collections.abc import Mapping
from typing import Any

from flint import acb, arb

from dpassay.replay import Rejected
from dpassay.replay.formula import decide, enclose, read, symbol, text, variables
from dpassay.replay.numbers import bounds, fields, integer, precision, rational, show
from dpassay.replay.operators import TRUTH

MAX_ROWS = 20_000
TAIL = 200  # nats: mass of the chi-square distribution that is bounded instead of integrated, at most e^-TAIL


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Encloses every profile and decides every formula; raises `Rejected` at the first that is not certainly true."""
    fields(inputs, "a profile certificate", ("profiles", "formulas"), ("values",))
    if not inputs["formulas"] or not inputs["profiles"]:
        raise Rejected("a profile certificate needs at least one profile and one formula")
    formulas = [read(formula, TRUTH) for formula in inputs["formulas"]]
    constants = {symbol(name): rational(value) for name, value in inputs.get("values", {}).items()}
    with precision():
        profiles = {symbol(name): _profile(record, constants) for name, record in inputs["profiles"].items()}
        if constants.keys() & profiles.keys():
            raise Rejected(f"{sorted(constants.keys() & profiles.keys())} name both a constant and a profile")
        used = frozenset().union(*(variables(formula) for formula in formulas))
        if not profiles.keys() <= used:
            raise Rejected(f"no formula uses the profiles {sorted(profiles.keys() - used)}")
        values = {**constants, **{name: delta for name, (delta, _) in profiles.items()}}
        for formula in formulas:
            if not decide(formula, values):
                raise Rejected(f"the formula is false: {text(formula)}")
        enclosures = {name: bounds(delta, 12) for name, (delta, _) in profiles.items()}
    statements = [text(formula) for formula in formulas]
    shown = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in enclosures.items())
    return {
        "values": {name: show(value) for name, value in constants.items()},
        "profiles": {name: words for name, (_, words) in profiles.items()},
        "enclosures": enclosures,
        "formulas": statements,
        "summary": f"certainly true: {'; '.join(statements)} ({shown})",
    }


def shift_delta(epsilon: Any, shift: Any) -> Any:
    """delta_GM(epsilon, mu) of a unit Gaussian shifted by mu > 0; real (arb) or complex (acb) balls."""
    kind = type(shift)
    root = kind(2).sqrt()
    near, far = (epsilon / shift - shift / 2) / root, (epsilon / shift + shift / 2) / root
    return (near.erfc() - kind(epsilon).exp() * far.erfc()) / 2


def gaussian_profile(rows: int, noise: arb, epsilon: arb) -> arb:
    """E[delta_GM(epsilon, sqrt(z)/w)], z ~ chi^2_rows."""
    if rows % 2:
        return integrated_profile(rows, noise, epsilon)
    rate = ((1 + 4 * noise**2).sqrt() - 1) / 2
    return _race(epsilon, rows // 2, rate, rate + 1)


def integrated_profile(rows: int, noise: arb, epsilon: arb) -> arb:
    """The same mean for any number of rows, integrated over u = sqrt(z) between two bounded tails."""
    scale = arb(2) ** (1 - arb(rows) / 2) / (arb(rows) / 2).gamma()
    exact_epsilon = acb(epsilon)

    def integrand(u: acb, _: bool) -> acb:
        return u ** (rows - 1) * (-u * u / 2).exp() * scale * shift_delta(exact_epsilon, u / noise)

    # Pr[z >= r + 2 sqrt(r x) + 2 x] <= e^-x (Laurent and Massart 2000); below, delta_GM grows with its shift.
    high = arb((arb(rows) + 2 * (arb(rows) * TAIL).sqrt() + 2 * TAIL).sqrt().upper())
    low = arb((noise * epsilon / 30).lower())
    if not low > arb(2) ** -200:
        low = arb(2) ** -200
    middle = acb.integral(integrand, acb(low), acb(high), rel_tol=arb(2) ** -80, abs_tol=arb(2) ** -300)
    if not middle.imag.contains(0):
        raise Rejected("the integral is not real")
    below = shift_delta(epsilon, low / noise) * (low * low / 2).gamma_lower(arb(rows) / 2, regularized=1)
    tails = below.abs_upper() + (-arb(TAIL)).exp()
    return middle.real + tails.union(arb(0))


def rater_profile(rows: int, noise: arb, epsilon: arb, raters: int) -> arb:
    """Larger delta of the two directions for a row of `raters` ones and the same with one more.

    The published rows are Gaussian with covariances S1 = w^2 I + a a' and S2 = w^2 I + (a + v)(a + v)', v orthogonal to
    a; S2^-1 S1 - I has the eigenvalues e1 > 0 > e2 with sum (c - w^2) / s and product -c / s, s = w^2 (w^2 + c + 1).
    """
    if rows % 2:
        raise Rejected("a profile with raters needs an even number of rows")
    square, half = noise**2, rows // 2
    scale = square * (square + raters + 1)
    mean = (raters - square) / (2 * scale)
    spread = (mean**2 + raters / scale).sqrt()
    above, below = spread + mean, spread - mean
    gain = half * (1 + 1 / (square + raters)).log()
    adding = _shifted_race(epsilon, half, gain, 1 / above, 1 / below)
    removing = _shifted_race(epsilon, half, -gain, 1 / below - 1, 1 / above + 1)
    return adding.max(removing)


def _profile(record: Mapping[str, Any], constants: Mapping[str, Any]) -> tuple[arb, str]:
    fields(record, "a profile", ("rows", "noise", "epsilon"), ("columns", "raters"))
    rows = integer(record["rows"], "rows", at_least=1)
    if rows > MAX_ROWS:
        raise Rejected(f"{rows} rows: at most {MAX_ROWS} are computed here")
    noise, epsilon = enclose(record["noise"], constants), enclose(record["epsilon"], constants)
    if not noise > 0 or not epsilon >= 0:
        raise Rejected("a profile needs noise > 0 and epsilon >= 0")
    columns = record.get("columns", "gaussian")
    if columns not in ("gaussian", "fixed") or (columns == "fixed" and "raters" in record):
        raise Rejected("columns are 'gaussian' or 'fixed', and raters go with Gaussian ones")
    what = f"{rows} rows, w = {text(record['noise'])}, epsilon = {text(record['epsilon'])}, {columns} columns"
    if "raters" in record:
        raters = integer(record["raters"], "raters", at_least=1)
        return rater_profile(rows, noise, epsilon, raters), f"{what}, an item with {raters} other raters"
    if columns == "fixed":
        return shift_delta(epsilon, arb(rows).sqrt() / noise), what
    return gaussian_profile(rows, noise, epsilon), what


def _shifted_race(epsilon: arb, half: int, gain: arb, rate: arb, opposite: arb) -> arb:
    """E[(1 - e^(epsilon - L))_+] for L = gain + A/rate - B/opposite."""
    if epsilon >= gain:
        return _race(epsilon - gain, half, rate, opposite)
    if not epsilon < gain:
        raise Rejected("epsilon is too close to the change of the log-determinant to decide which is larger")
    # delta(epsilon) = 1 - e^epsilon + e^epsilon delta'(-epsilon), delta' that of the other direction
    return 1 - epsilon.exp() * (1 - _race(gain - epsilon, half, opposite - 1, rate + 1))


def _race(excess: arb, half: int, rate: arb, opposite: arb) -> arb:
    """E[(1 - e^(t - L))_+] for L = A/p - B/q, A, B ~ Gamma(k, 1) independent, t >= 0: a sum of positive terms.

    A/p and B/q are the times of the k-th arrivals of two Poisson processes of rates p and q. The chance that j arrivals
    of the first are missing when the second has had its k-th is W_j = C(2k-1-j, k-1) s^(k-j) (1-s)^k, s = p/(p+q); what
    is left to wait is Gamma(j)-distributed with rate p, and for it the expectation is, with x = p/(p+1),
    sum_(m < j) e^(-pt) (pt)^m / m! (1 - x^(j-m)). With U_m = sum_(j > m) W_j the factor of e^(-pt) (pt)^m / m! is
    G_m = sum_(j > m) W_j (1 - x^(j-m)) = (1 - x) U_m + x G_(m+1).
    """
    share, x = rate / (rate + opposite), rate / (rate + 1)
    chances = [arb(0)] * (half + 1)  # W_j
    chance = (1 - share) ** half
    for come in range(half):
        chances[half - come] = chance
        chance = chance * share * (half + come) / (come + 1)
    factors, upper, factor = [arb(0)] * half, arb(0), arb(0)
    for m in range(half - 1, -1, -1):
        upper += chances[m + 1]
        factor = (1 - x) * upper + x * factor
        factors[m] = factor
    total, weight = arb(0), (-rate * excess).exp()
    for m in range(half):
        total += weight * factors[m]
        weight = weight * rate * excess / (m + 1)
    return total
