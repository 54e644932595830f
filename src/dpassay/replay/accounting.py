"""Recomputes what a composition of noisy events certainly loses, and judges an (epsilon, delta) claim about it.

Inputs (numbers are integers or exact strings such as "1/2" or "0.25"; there are no other fields):
    "event": a tree of
        {"kind": "gaussian" or "laplace", "noise_multiplier"}: standard deviation or scale over the bound of one record
        {"kind": "randomized_response" or "local_hashing", "noise_parameter", "num_buckets"}: the true bucket, or with
            probability noise_parameter a uniform one; local hashing publishes the hash function as well
        {"kind": "geometric" or "discrete_gaussian", "scale", "sensitivity"}: noise on the integers
        {"kind": "staircase", "scale", "sensitivity", "width", "gamma"}: steps of this width, falling as e^(-|x|/scale)
        {"kind": "private", "epsilon", "delta"}: any mechanism that is (epsilon, delta)-private
        {"kind": "none"}: the data themselves
        {"kind": "composed", "events"}, {"kind": "self_composed", "event", "count"},
        {"kind": "poisson_sampled", "sampling_probability", "event"}
    "relation": "add_or_remove_one" or "replace_one"; a replaced record moves a query by twice its bound
    "claim": {"epsilon", "delta"}
    "step": of the grid of privacy losses, nats; for compositions that have no closed form

A claim counts as met when it holds for (1 + 10^-9) times its numbers, and as refuted when it fails for these: numbers
that were computed from one another are rounded. Bounds of epsilon and delta have no such allowance.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.composition import Composition, Part
from dpassay.replay.loss_pairs import ALONE, LOCAL, LossPair, Noise, replacement_sampled
from dpassay.replay.numbers import down, fields, integer, precision, rational, show, up

CONTRIBUTIONS = {"add_or_remove_one": 1, "replace_one": 2}
ROUNDING = fmpq(1, 10**9)
DIGITS = 8
MAX_COUNT = 10**9
_MAX_EPSILON = 1 << 16
_BISECTIONS = 44

Events = Counter[tuple[fmpq, Noise]]
Enclosure = Callable[[fmpq], tuple[arb, arb]]


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Encloses epsilon at the claim's delta and delta at its epsilon; raises `Rejected` on malformed inputs."""
    fields(inputs, "an accounting certificate", ("event", "relation", "claim"), ("step",))
    fields(inputs["claim"], "the claim", ("epsilon", "delta"))
    epsilon, delta = (rational(inputs["claim"][name]) for name in ("epsilon", "delta"))
    if epsilon < 0 or not 0 <= delta < 1:
        raise Rejected("a claim needs epsilon >= 0 and delta in [0, 1)")
    if epsilon > _MAX_EPSILON:
        raise Rejected(f"epsilon is above {_MAX_EPSILON}")
    with precision():
        pairs = loss_pairs(inputs["event"], inputs["relation"])
        if delta == 0:
            found = _pure(pairs, epsilon)
        elif closed_form(pairs):
            found = _judged(_closed(pairs), pairs, epsilon, delta)
        else:
            found = _judged(_composed(pairs, inputs.get("step"), delta), pairs, epsilon, delta)
    words = f"{describe(inputs['event'])} is ({_text(epsilon)}, {_text(delta)})-differentially private"
    statement = f"{words} under {inputs['relation']}"
    low, high = found["epsilon"]
    verb = {"holds": "holds", "refuted": "false", "open": "not decided"}[found["supports"]]
    summary = f"{statement}: {verb}; at this delta epsilon is between {low} and {high}"
    return {**found, "statement": statement, "summary": summary}


def closed_form(pairs: list[tuple[LossPair, int]]) -> bool:
    """Whether one pair of laws is left, so that nothing is to be composed."""
    return sum(count for _, count in pairs) <= 1


def loss_pairs(event: Mapping[str, Any], relation: str) -> list[tuple[LossPair, int]]:
    """The worst pairs that an event composes, with how often.

    Raises:
        Rejected: no event, or one that is not enclosed.
    """
    if relation not in CONTRIBUTIONS:
        raise Rejected(f"the relation is {relation!r}: use one of {', '.join(CONTRIBUTIONS)}")
    events = _flat(event)
    if (number := sum(events.values())) > MAX_COUNT:
        raise Rejected(f"more than {MAX_COUNT} events")
    contributions, pairs = CONTRIBUTIONS[relation], []
    for (rate, noise), count in events.items():
        if noise.kind in LOCAL and relation != "replace_one":
            raise Rejected(f"{noise.kind} has no record to add or remove: judge it under replace_one")
        if noise.kind in ALONE and (number > 1 or rate != 1):
            raise Rejected(f"{noise.kind} noise is enclosed alone, not composed or sampled")
        if rate == 1:
            pairs.append((noise.pair(contributions), count))
        elif relation == "replace_one":
            pairs.append((replacement_sampled(noise, rate), count))
        else:
            pairs.append((noise.pair(1).sampled(rate), count))
    return pairs


def describe(event: Mapping[str, Any]) -> str:
    """An event in words."""
    match event["kind"]:
        case "composed":
            return f"composed({', '.join(describe(each) for each in event['events'])})"
        case "self_composed":
            return f"{event['count']} x {describe(event['event'])}"
        case "poisson_sampled":
            return f"sampled({_text(rational(event['sampling_probability']))}, {describe(event['event'])})"
    numbers = (f"{name} {_text(rational(value))}" for name, value in event.items() if name != "kind")
    return f"{event['kind']}({', '.join(numbers)})"


def _flat(event: Mapping[str, Any]) -> Events:
    """The events of a tree, each with its sampling probability; Gaussian noise without sampling adds up to one."""
    if not isinstance(event, Mapping):
        raise Rejected("an event must be a mapping with a kind")
    match event.get("kind"):
        case "composed":
            fields(event, "composed", ("kind", "events"))
            total: Events = Counter()
            for each in event["events"]:
                total.update(_flat(each))
            return _merged(total)
        case "self_composed":
            fields(event, "self_composed", ("kind", "event", "count"))
            count = integer(event["count"], "count")
            return _merged(Counter({key: count * number for key, number in _flat(event["event"]).items() if count}))
        case "poisson_sampled":
            fields(event, "poisson_sampled", ("kind", "sampling_probability", "event"))
            rate = rational(event["sampling_probability"])
            if not 0 <= rate <= 1:
                raise Rejected("a sampling probability must be in [0, 1]")
            inner = _flat(event["event"])
            if rate == 1:
                return inner
            if sum(inner.values()) > 1:
                raise Rejected("Poisson sampling of a composition is enclosed for Gaussian noise alone")
            return Counter({(rate * own, noise): 1 for own, noise in inner if rate})
    return Counter({(fmpq(1), Noise.read(event)): 1})


def _merged(events: Events) -> Events:
    gaussian = [key for key in events if key[0] == 1 and key[1].kind == "gaussian"]
    squared = sum((events[key] * key[1].parameters[0] for key in gaussian), fmpq(0))
    rest = Counter({key: count for key, count in events.items() if key not in gaussian})
    return rest + Counter({(fmpq(1), Noise("gaussian", (squared,))): 1} if gaussian else {})


def _directions(pairs: list[tuple[LossPair, int]]) -> list[list[tuple[LossPair, int]]]:
    if all(pair.symmetric for pair, _ in pairs):
        return [pairs]
    return [pairs, [(pair.reversed(), count) for pair, count in pairs]]


def _closed(pairs: list[tuple[LossPair, int]]) -> Enclosure:
    """delta(epsilon) of no pair, or of one."""

    def enclosure(epsilon: fmpq) -> tuple[arb, arb]:
        deltas = [pair.hockey_stick(arb(epsilon).exp()) for way in _directions(pairs) for pair, _ in way]
        largest = deltas[0].max(deltas[-1]) if deltas else arb(0)
        return largest, largest

    return enclosure


def _composed(pairs: list[tuple[LossPair, int]], step: Any, delta: fmpq) -> Enclosure:
    if step is None or not (width := rational(step)) > 0:
        raise Rejected("a composition needs a step above 0")
    most = max(count for _, count in pairs)
    ways = [
        Composition([Part(pair, count, math.isqrt(most // count)) for pair, count in way], width, delta)
        for way in _directions(pairs)
    ]

    def enclosure(epsilon: fmpq) -> tuple[arb, arb]:
        lower, upper = zip(*(way.bounds(epsilon) for way in ways), strict=True)
        return lower[0].max(lower[-1]), upper[0].max(upper[-1])

    return enclosure


def _pure(pairs: list[tuple[LossPair, int]], epsilon: fmpq) -> dict[str, Any]:
    """At delta = 0 the largest privacy losses add up."""
    if any(pair.highest is None or pair.lowest is None or pair.infinite > 0 or pair.zero > 0 for pair, _ in pairs):
        return {"supports": "refuted", "epsilon": ["inf", "inf"]}
    losses = [sum((count * pair.highest for pair, count in way), fmpq(0)) for way in _directions(pairs)]
    largest = losses[0] if len(losses) == 1 else arb(losses[0]).max(arb(losses[1]))
    allowed = epsilon * (1 + ROUNDING)
    supports = "holds" if largest <= allowed else "refuted" if largest > allowed else "open"
    return {"supports": supports, "epsilon": [down(largest, DIGITS), up(largest, DIGITS)]}


def _judged(enclosure: Enclosure, pairs: list[tuple[LossPair, int]], epsilon: fmpq, delta: fmpq) -> dict[str, Any]:
    lower, upper = enclosure(epsilon * (1 + ROUNDING))
    allowed = delta * (1 + ROUNDING)
    supports = "holds" if upper <= allowed else "refuted" if lower > allowed else "open"
    impossible = 1 - math.prod(((1 - pair.infinite) ** count for pair, count in pairs), start=arb(1))
    stated = enclosure(epsilon)
    return {
        "supports": supports,
        "epsilon": _epsilons(enclosure, delta, always=bool(impossible > delta)),
        "delta": [down(stated[0].max(arb(0)), DIGITS), up(stated[1].min(arb(1)), DIGITS)],
    }


def _epsilons(enclosure: Enclosure, delta: fmpq, *, always: bool) -> list[str]:
    """Where the bounds of delta(epsilon) cross delta; "inf" where they do not, `always` if the true one does not."""
    if always:
        return ["inf", "inf"]
    high = fmpq(1, 1024)
    while not enclosure(high)[1] <= delta and high <= _MAX_EPSILON:
        high *= 2
    below = _largest_false(lambda epsilon: not enclosure(epsilon)[0] > delta, min(high, fmpq(_MAX_EPSILON)))[0]
    if high > _MAX_EPSILON:
        return [down(below, DIGITS), "inf"]
    return [down(below, DIGITS), up(_largest_false(lambda epsilon: enclosure(epsilon)[1] <= delta, high)[1], DIGITS)]


def _largest_false(test: Callable[[fmpq], bool], high: fmpq) -> tuple[fmpq, fmpq]:
    """Bisects [0, high]: the largest number met that fails the test, or 0, and the smallest that passes, or high."""
    if test(fmpq(0)):
        return fmpq(0), fmpq(0)
    low = fmpq(0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if test(middle) else (middle, high)
    return low, high


def _text(value: fmpq) -> str:
    exact = show(value)
    return exact if len(exact) <= DIGITS else f"{int(value.p) / int(value.q):.6g}"
