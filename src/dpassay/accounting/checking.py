"""Claims about a composition of events, or about the scale of some noise, judged by certified bounds."""

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpassay.accounting.accountants import Answer, answers
from dpassay.accounting.events import Tree, dp_event, event_tree, exact
from dpassay.accounting.formulas import scale_formula, total_formula
from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.records import Table
from dpassay.core.text import nats

ACCURACY = 0.01
_SMALL = 1e-4  # nats: bounds so near to each other are as good as equal
_REFINEMENTS = 8
_COARSEST = 1024  # nats, of a grid
_DECIDING = 4  # more, for a claim between the bounds
_ROUNDING = "a claim counts as met when it holds for 1 + 10^-9 times its numbers: those were rounded"


def check_accounting(
    event: Any,
    *,
    claim: PrivacyClaim,
    relation: str | NeighboringRelation | None = None,
    accuracy: float = ACCURACY,
    accountants: bool = True,
    certificate: Path | str | None = None,
) -> Verdict:
    """Certified bounds of a composition's epsilon, against a claim and beside every accountant of dp-accounting.

    Args:
        event: a `DpEvent` of dp-accounting made of Gaussian, Laplace, discrete Laplace and randomized response events,
            composed and Poisson-sampled; or a tree of mappings such as {"kind": "self_composed", "count": 10, "event":
            {"kind": "gaussian", "noise_multiplier": 2.0}} (kinds and fields: `dpassay.replay.accounting`).
        claim: (epsilon, delta), nats and probability.
        relation: "add_or_remove_one" or "replace_one" of one record (a unit may follow, ":user"); None: the claim's.
            Noise multipliers are relative to the bound of one record, of which a replacement moves a query by two.
        accuracy: bounds of a composition without closed form are refined until upper <= (1 + accuracy) lower.
        accountants: ask those of dp-accounting as well.
        certificate: a file to write, which `replay` re-checks.

    Returns:
        The verdict: `epsilon_lower` and `epsilon_upper` enclose the smallest epsilon at the claim's delta; `warnings`
        name accountants that are wrong; the evidence has a table of all.

    Raises:
        InvalidInput: an event that is not enclosed, or a claim of another kind.
    """
    if claim.kind != "dp" or math.isinf(claim.epsilon):
        raise InvalidInput("accounting is judged against (epsilon, delta); write dp.PrivacyClaim(epsilon, delta)")
    kind = _kind(claim.relation if relation is None else relation)
    tree = event_tree(event)
    inputs = {
        "event": tree,
        "relation": kind,
        "claim": {"epsilon": exact(claim.epsilon, "epsilon"), "delta": exact(claim.delta, "delta")},
    }
    inputs, result = _enclosed(inputs, accuracy)
    lower, upper = _floats(result["epsilon"])
    told = (
        answers(dp_event(tree if isinstance(event, Mapping) else event), kind, claim.delta, lower, upper)
        if accountants
        else []
    )
    named = total_formula(tree, claim.epsilon, claim.delta) if result["supports"] == "refuted" else ""
    return _verdict(inputs, result, told, named, certificate=certificate)


def check_noise(
    kind: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    scale: float | None = None,
    sensitivity: float = 1.0,
    probability: float | None = None,
    num_values: int | None = None,
    width: float | None = None,
    gamma: float | None = None,
    certificate: Path | str | None = None,
) -> Verdict:
    """The exact delta of a noise scale, certified, against the (epsilon, delta) that a call was given. No sampling.

    Args:
        kind: "laplace", "gaussian", "discrete_gaussian", "geometric" (two-sided), "staircase", "randomized_response"
            or "local_hashing".
        epsilon: claimed, nats.
        delta: claimed, a probability.
        scale: standard deviation of Gaussian noise, else b of a density or mass that falls as e^(-|x|/b).
        sensitivity: how far neighboring datasets move the query, in the unit of the scale; whole for integer noise.
        probability: of the true value (randomized response), or of its hash (local hashing); every other is equally
            likely.
        num_values: of them, or of hash values. Two values have the same hash with probability 1/num_values.
        width: of a staircase's steps; by default the sensitivity.
        gamma: where in a step a staircase falls, as a share of its width; by default the best for the claimed epsilon.
        certificate: a file to write, which `replay` re-checks.

    Returns:
        The verdict; its explanation has the enclosure of delta at this epsilon, and names the formula that the scale
        comes from where it is a known wrong one; `repair` a scale that suffices.

    Raises:
        InvalidInput: an unknown kind, or parameters that do not fit it.
    """
    claim = PrivacyClaim(epsilon, delta)
    if math.isinf(claim.epsilon):
        raise InvalidInput("epsilon is infinite; it must be finite")
    given = {"scale": scale, "probability": probability, "num_values": num_values, "width": width, "gamma": gamma}
    given = {name: value for name, value in given.items() if value is not None}
    tree = _noise(kind, given, sensitivity, claim.epsilon)
    inputs = {
        "event": tree,
        "relation": "replace_one" if "num_buckets" in tree else "add_or_remove_one",
        "claim": {"epsilon": exact(claim.epsilon, "epsilon"), "delta": exact(claim.delta, "delta")},
    }
    result = _checked(inputs)
    named, repair, refuted = "", "", result["supports"] == "refuted"
    if scale is not None:
        named = scale_formula(kind, scale / sensitivity, claim.epsilon, claim.delta, refuted=refuted)
        repair = _repair(inputs, kind, scale, sensitivity) if refuted else ""
    return _verdict(inputs, result, [], named, repair=repair, certificate=certificate)


def _noise(kind: str, given: dict[str, Any], sensitivity: float, epsilon: float) -> Tree:
    allowed: dict[str, tuple[str, ...]] = {
        "gaussian": ("scale",),
        "laplace": ("scale",),
        "discrete_gaussian": ("scale",),
        "geometric": ("scale",),
        "staircase": ("scale", "width", "gamma"),
        "randomized_response": ("probability", "num_values"),
        "local_hashing": ("probability", "num_values"),
    }
    if kind not in allowed:
        raise InvalidInput(f"no noise is called {kind!r}: use one of {', '.join(allowed)}")
    if extra := sorted(set(given) - set(allowed[kind])):
        raise InvalidInput(f"{kind} noise has no {extra[0]}; give {', '.join(allowed[kind])}")
    needed = [name for name in allowed[kind] if name not in (*given, "width", "gamma")]
    if needed:
        raise InvalidInput(f"{kind} noise needs {' and '.join(needed)}")
    numbers = {name: Fraction(exact(value, name)) for name, value in given.items()}
    reach = Fraction(exact(sensitivity, "sensitivity"))
    if reach <= 0 or numbers.get("scale", Fraction(1)) < 0:
        raise InvalidInput("the sensitivity must be above 0, and the scale not below")
    if kind in ("gaussian", "laplace"):
        return {"kind": kind, "noise_multiplier": str(numbers["scale"] / reach)}
    if numbers.get("scale") == 0:
        return {"kind": "none"}
    if kind in ("geometric", "discrete_gaussian"):
        return {"kind": kind, "scale": str(numbers["scale"]), "sensitivity": str(reach)}
    if kind == "staircase":
        step = numbers.get("width", reach)
        best = numbers.get("gamma", Fraction(1 / (1 + math.exp(min(epsilon, 700.0) / 2))))  # Geng and Viswanath
        staircase = {"scale": numbers["scale"], "sensitivity": reach, "width": step, "gamma": best}
        return {"kind": kind, **{name: str(value) for name, value in staircase.items()}}
    values = numbers["num_values"]
    if values < 2:
        raise InvalidInput(f"{kind} needs at least 2 values")
    lies = (1 - numbers["probability"]) * values / (values - 1)
    return {"kind": kind, "noise_parameter": str(lies), "num_buckets": str(values)}


def _repair(inputs: Mapping[str, Any], kind: str, scale: float, sensitivity: float) -> str:
    """A scale that is enough, by bisection; the tables of discrete Gaussians are too long to try many."""
    from flint import fmpq

    from dpassay.replay.numbers import up

    if kind not in ("gaussian", "laplace", "geometric"):
        return ""

    def enough(tried: float) -> bool:
        tree = _noise(kind, {"scale": tried}, sensitivity, 0.0)
        return bool(_checked({**inputs, "event": tree})["supports"] == "holds")

    low, high = scale, 2 * scale or sensitivity
    while not enough(high):
        low, high = high, 2 * high
        if high > 1e9 * sensitivity:
            return ""
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return f"the scale {up(fmpq(*high.as_integer_ratio()), 6)} is enough"


def _enclosed(inputs: Mapping[str, Any], accuracy: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Refines the grid until the bounds are near each other, and further where the claim lies between them."""
    from dpassay.replay import Rejected, check

    if not accuracy > 0:
        raise InvalidInput("the accuracy must be above 0")
    step = _first_step(inputs)
    if step is None:
        return dict(inputs), _checked(inputs)
    best: tuple[dict[str, Any], dict[str, Any]] | None = None
    number, last, factor = 0, _REFINEMENTS + _DECIDING, 1
    while number < last:
        tried = {**inputs, "step": str(step)}
        try:
            result = check("accounting", tried)
        except Rejected as problem:  # too many points
            if best is not None:
                break
            if step > _COARSEST:
                raise InvalidInput(str(problem)) from problem
            last, factor = 1, 2 * factor
            step *= factor
            continue
        best = tried, result
        lower, upper = _floats(result["epsilon"])
        near = upper - lower <= _SMALL or upper <= (1 + accuracy) * lower or lower == math.inf
        if near and (result["supports"] != "open" or number >= _REFINEMENTS):
            break
        step, number = step / 2, number + 1
    assert best is not None
    return best


def _first_step(inputs: Mapping[str, Any]) -> Fraction | None:
    """A tenth of the deviation of the loss over the root of the number of events, a power of 2; None: no grid needed.

    A total variation of v is that of Gaussian losses with a deviation of about 2.5 v.
    """
    from flint import arb

    from dpassay.replay.accounting import closed_form, loss_pairs
    from dpassay.replay.numbers import precision

    with precision(), _explained():
        pairs = loss_pairs(inputs["event"], inputs["relation"])
        if closed_form(pairs) or Fraction(inputs["claim"]["delta"]) == 0:
            return None
        variances = [count * (2.5 * float(pair.hockey_stick(arb(1)).mid())) ** 2 for pair, count in pairs]
    events = len(pairs) * max(count for _, count in pairs)
    deviation = max(math.sqrt(sum(variances)), 1e-6)
    return Fraction(2) ** math.floor(math.log2(0.1 * deviation / math.sqrt(events)))


class _explained:
    """What the checker refuses, as bad input."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        from dpassay.replay import Rejected

        if isinstance(error, Rejected):
            raise InvalidInput(str(error)) from error


def _checked(inputs: Mapping[str, Any]) -> dict[str, Any]:
    from dpassay.replay import check

    with _explained():
        return check("accounting", inputs)


def _kind(relation: str | NeighboringRelation | None) -> str:
    if relation is None:
        raise InvalidInput("give the relation: add_or_remove_one or replace_one")
    kind = str(relation).partition(":")[0]
    if kind not in ("add_or_remove_one", "replace_one"):
        raise InvalidInput(f"relation {kind!r}: use add_or_remove_one or replace_one")
    return kind


def _floats(texts: list[str]) -> tuple[float, float]:
    """Enclosing floats of [lower, upper] in decimals."""
    lower, upper = (float(text) for text in texts)
    if math.isfinite(lower) and Fraction(lower) > Fraction(texts[0]):
        lower = math.nextafter(lower, -math.inf)
    if math.isfinite(upper) and Fraction(upper) < Fraction(texts[1]):
        upper = math.nextafter(upper, math.inf)
    return lower, upper


def _verdict(
    inputs: Mapping[str, Any],
    result: Mapping[str, Any],
    told: list[Answer],
    named: str,
    *,
    repair: str = "",
    certificate: Path | str | None,
) -> Verdict:
    from dpassay.replay import OWN, seal_own

    if certificate is not None:
        seal_own("accounting", inputs).write(Path(certificate))
    lower, upper = _floats(result["epsilon"])
    at = f"at this delta epsilon is between {nats(lower)} and {nats(upper)}"
    if "delta" in result:
        low, high = result["delta"]
        at += f", at this epsilon delta between {float(low):.6g} and {float(high):.6g}"
    refuted = result["supports"] == "refuted"
    remarks = [named] if named and not refuted else []
    table = Table.of(
        "What accountants say, nats",
        {
            "accountant": lambda answer: answer.accountant,
            "epsilon": lambda answer: "-" if answer.epsilon is None else f"{answer.epsilon:.6g}",
            "beside the certified bounds": lambda answer: answer.judgement,
        },
        told,
    )
    body = {"kind": "accounting", "inputs": dict(inputs)}
    return Verdict(
        OWN["accounting"],
        result["supports"],
        f"{result['statement']}: {at}" + (f"; {named}" if named and refuted else ""),
        (Evidence("certificate", result["summary"], body, (table,) if told else ()),),
        epsilon_lower=lower,
        epsilon_upper=upper,
        epsilon_claimed=float(Fraction(inputs["claim"]["epsilon"])),
        assumptions=(_ROUNDING,),
        repair=repair,
        warnings=(*remarks, *(f"{answer.accountant} is {answer.judgement}" for answer in told if answer.wrong)),
    )
