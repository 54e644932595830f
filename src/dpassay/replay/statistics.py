"""Recomputes confidence bounds of proportions from their counts, and what they decide.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; there are no other fields):
    "successes", "trials": of one count; or "counts": {name: {"successes", "trials"}} for several
    "failure_probability": of all bounds together, in (0, 1)
    "num_looks"?: how often the data were looked at with these bounds, or could have been (default 1)
    "sides"?: "both" (default), "lower" or "upper"
    "values"?: {name: number}, constants of the formulas
    "condition": formula (see `replay.formula`), which must be true;
        or "outcomes": {outcome: formula}, of which at most one may be true; when none is, the data support "open"
    "description"?: what was counted, in words
Names in the formulas: successes, trials, lower, upper of one count; successes_<name>, trials_<name>, lower_<name>,
upper_<name> of several; and the constants.

The bounds are Clopper and Pearson's (1934), exact for every number of trials. The failure probability is split evenly
over counts, sides and looks (Bonferroni), so all bounds hold together. Each is the tightest decimal of 12 places whose
binomial tail, an incomplete beta function in Arb, is certainly small enough.
"""

import math
from collections.abc import Mapping
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.formula import Term, decide, read, symbol, text
from dpassay.replay.numbers import down, fields, integer, precision, rational, show
from dpassay.replay.operators import TRUTH

MAX_TRIALS = 10**12
_PLACES = 10**12
_SIDES = ("both", "lower", "upper")
_OUTCOMES = ("holds", "refuted", "not refuted", "vacuous", "open")


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes every bound; raises `Rejected` unless the condition, or at most one of the outcomes, is true."""
    several = "counts" in inputs
    open_too = "outcomes" in inputs
    decided = ("outcomes",) if open_too else ("condition",)
    counted = ("counts",) if several else ("successes", "trials")
    required = (*counted, "failure_probability", *decided)
    fields(inputs, "statistics", required, ("num_looks", "sides", "values", "description"))
    listed = inputs["outcomes"] if open_too else {"condition": inputs["condition"]}
    formulas = {outcome: read(formula, TRUTH) for outcome, formula in listed.items()}
    counts = inputs["counts"] if several else {"": {name: inputs[name] for name in counted}}
    failure, looks = (
        rational(inputs["failure_probability"]),
        integer(inputs.get("num_looks", 1), "num_looks", at_least=1),
    )
    sides = inputs.get("sides", "both")
    if not 0 < failure < 1 or sides not in _SIDES or not counts:
        raise Rejected("needs at least one count, a failure probability in (0, 1), and sides both, lower or upper")
    share = failure / (looks * len(counts) * (2 if sides == "both" else 1))
    values = {symbol(name): rational(value) for name, value in inputs.get("values", {}).items()}
    constants = {name: show(value) for name, value in values.items()}
    bounds = []
    with precision():
        for name, count in counts.items():
            known = _bounds(name, count, sides, share)
            if known.keys() & values.keys():
                raise Rejected(f"the constants {sorted(known.keys() & values.keys())} have names that are taken")
            values |= known
            bounds.append({field: down(value) for field, value in known.items()})
        supports = _supported(formulas, values, open_too)
    one = ", ".join(f"{field} {value}" for count in bounds for field, value in sorted(count.items()))
    return {
        **supports,
        "bounds": bounds,
        "method": f"Clopper-Pearson, failure probability {show(share)} each: {show(failure)} over {len(counts)} "
        f"{'count' if len(counts) == 1 else 'counts'}, {sides} sides, {looks} {'look' if looks == 1 else 'looks'}",
        "constants": constants,
        "formulas": {outcome: text(formula) for outcome, formula in formulas.items()},
        "description": str(inputs.get("description", "")),
        "summary": f"{one} (all together with probability {show(1 - failure)})",
    }


def clopper_pearson_lower(successes: int, trials: int, failure_probability: fmpq) -> fmpq:
    """Largest p, to 12 places, that `successes` or more of `trials` certainly refute at the failure probability."""
    if successes == 0:
        return fmpq(0)
    limit = arb(failure_probability)
    tails: dict[int, arb] = {}

    def certain(place: int) -> bool:
        tails[place] = arb(fmpq(place, _PLACES)).beta_lower(successes, trials - successes + 1, True)
        return place == 0 or bool(tails[place] <= limit)

    # The bound is a few standard deviations below the observed rate: widen from there, then close in, first where the
    # logarithm of the tail, taken as linear, meets the limit. The place found does not depend on the way to it.
    high = _PLACES * successes // trials + 1
    step = max(1, math.isqrt(_PLACES**2 * successes * max(1, trials - successes) // trials**3))
    low = max(0, high - step)
    while not certain(low):
        high, step = low, 2 * step
        low = max(0, low - step)
    while high - low > 1:
        width, middle = high - low, (low + high) // 2
        if low and high in tails:
            logarithms = [float(tail.log().mid()) for tail in (tails[low], limit, tails[high])]
            share = (logarithms[1] - logarithms[0]) / (logarithms[2] - logarithms[0])
            guess, spread = low + int(share * width), 1 + width // 1000
            tried = [guess - spread, guess + spread, middle]
        else:
            tried = [middle]
        for place in tried:
            if low < place < high and high - low > width // 2:
                low, high = (place, high) if certain(place) else (low, place)
    return fmpq(low, _PLACES)


def clopper_pearson_upper(successes: int, trials: int, failure_probability: fmpq) -> fmpq:
    """Smallest p, to 12 places, that `successes` or fewer of `trials` certainly refute at the failure probability."""
    return 1 - clopper_pearson_lower(trials - successes, trials, failure_probability)


def _bounds(name: str, count: Mapping[str, Any], sides: str, share: fmpq) -> dict[str, fmpq]:
    fields(count, f"count {name}", ("successes", "trials"))
    trials = integer(count["trials"], "trials", at_least=1)
    if trials > MAX_TRIALS:
        raise Rejected(f"{trials} trials: bounds are computed of at most {MAX_TRIALS}")
    successes = integer(count["successes"], "successes")
    if successes > trials:
        raise Rejected(f"{successes} successes are more than {trials} trials")
    suffix = f"_{symbol(name)}" if name else ""
    known = {f"successes{suffix}": fmpq(successes), f"trials{suffix}": fmpq(trials)}
    if sides != "upper":
        known[f"lower{suffix}"] = clopper_pearson_lower(successes, trials, share)
    if sides != "lower":
        known[f"upper{suffix}"] = clopper_pearson_upper(successes, trials, share)
    return known


def _supported(formulas: Mapping[str, Term], values: Mapping[str, Any], open_too: bool) -> dict[str, str]:
    """The outcome whose formula is true, "open" where none is; nothing where one condition must be true."""
    if not open_too:
        (condition,) = formulas.values()
        if not decide(condition, values):
            raise Rejected(f"the condition is false: {text(condition)}")
        return {}
    if not formulas or set(formulas) - set(_OUTCOMES):
        raise Rejected(f"outcomes must be among {', '.join(_OUTCOMES)}")
    true = [outcome for outcome, formula in sorted(formulas.items()) if decide(formula, values)]
    if len(true) > 1:
        raise Rejected(f"the data support {' and '.join(true)} at once")
    return {"supports": true[0] if true else "open"}
