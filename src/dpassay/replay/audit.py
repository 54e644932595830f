"""Recomputes from counts alone what a black-box audit says about one pair of datasets.

Inputs (numbers are integers or exact strings such as "1/2" or "0.25"; there are no other fields):
    "mode": "fixed" (one look at fresh samples) or "anytime" (bets on batch after batch)
    "mechanism", "dataset1", "dataset2": in words; they make the statement
    "claim": {"kind": "dp", "epsilon", "delta"}, {"kind": "gaussian", "mu"}, {"kind": "zcdp", "rho"},
        {"kind": "renyi", "order", "epsilon"} or {"kind": "profile", "points": [[epsilon, delta], ...]}
    "failure_probability": of this audit, its share of a suite's or a ledger's already taken
    fixed:   "events": [{"weight", "log_slope", "offset", "counts": [x, n, y, m], "description"?, "direction"?}],
        or in place of the counts, with an offset of 0, "guesses": [[weight of a guess, right, wrong], ...]
    anytime: "epochs": [[{"weight", "log_slope", "offset", "strategies", "looks", "description"?, "direction"?}]], where
        a look is [x, n, y, m, q0, bet of strategy 1, bet of strategy 2, ...]
x of n outputs under the dataset of the event's direction were in the event, and y of m under the other one.

Every event is judged against p <= e^log_slope q + offset, which the claim must imply. Weights of events that share the
failure probability, and of strategies, sum to at most 1. Anytime: log E of every look from the formula of
`dpassay.auditors.betting`, in Arb; products over looks and epochs, weighted means over strategies and events; refuted
when the mean reaches 1 / failure_probability. Fixed: refuted when the p-value of one event is at most its share: by two
Clopper-Pearson bounds when these suffice, else by the test of `dpassay.auditors.fixed_sample` on coarser cells, every
tail an incomplete beta function in Arb. Guesses of which dataset a fair coin chose: refuted when weights of right ones
sum to as much with at most the share's probability if each is right with e^log_slope / (1 + e^log_slope). Proofs:
docs/theorems/black-box-audits.md. That samples were fresh and independent, events, guesses and bets fixed before them,
and coins fair, no file can show: the certificate is about the arithmetic.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

from flint import arb, arb_poly, ctx, fmpq

from dpassay.replay import Rejected
from dpassay.replay.implied import read_claim
from dpassay.replay.numbers import down, fields, fraction, integer, precision, rational, show

_TAIL_BITS = 80  # of incomplete beta functions, which need no more
_TAIL = 25
_FINENESS = ((0.2, 5), (0.08, 8), (0.03, 14))  # width of blocks in standard deviations, number of cells
_DEPTH = 4
_LOOKS = 2000
_HEAVIEST, _MOST_GUESSES = 10, 10**9
_STEPS, _APART, _REACH = 200, 16, 12  # as in `dpassay.auditors.guesses`
_SUMMED = 200_000  # terms that are summed one by one


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes the evidence; raises `Rejected` when the inputs are malformed or the claim implies no such null."""
    anytime = isinstance(inputs, Mapping) and inputs.get("mode") == "anytime"
    data = "epochs" if anytime else "events"
    fields(inputs, "audit", ("mode", "mechanism", "dataset1", "dataset2", "claim", "failure_probability", data))
    if inputs["mode"] not in ("fixed", "anytime"):
        raise Rejected(f"the mode is {inputs['mode']!r}: use fixed or anytime")
    failure = rational(inputs["failure_probability"])
    if not 0 < failure < 1:
        raise Rejected("the failure probability must be in (0, 1)")
    for name in ("mechanism", "dataset1", "dataset2"):
        if not isinstance(inputs[name], str) or not inputs[name].strip():
            raise Rejected(f"{name} must be a text that says what it is")
    with precision():
        claim = read_claim(inputs["claim"])
        found = _anytime(inputs["epochs"], failure, claim) if anytime else _fixed(inputs["events"], failure, claim)
    statement = (
        f"{inputs['mechanism']} is {claim['text']} on the datasets {inputs['dataset1']} and {inputs['dataset2']}"
    )
    verb = "refuted" if found["supports"] == "refuted" else "not refuted"
    return {
        **found,
        "statement": statement,
        "failure_probability": show(failure),
        "summary": f"{statement}: {verb} at failure probability {show(failure)}; {found['method']}",
    }


def _null(event: Mapping[str, Any], claim: Mapping[str, Any], required: Sequence[str]) -> tuple[fmpq, fmpq, fmpq]:
    """Weight, log slope and offset of an event, the null checked against the claim."""
    fields(event, "event", ("weight", "log_slope", "offset", *required), ("description", "direction"))
    if event.get("direction", "dataset1") not in ("dataset1", "dataset2"):
        raise Rejected("the direction of an event is dataset1 or dataset2")
    weight, log_slope, offset = (rational(event[name]) for name in ("weight", "log_slope", "offset"))
    if weight <= 0 or offset < 0 or offset >= 1 or abs(log_slope) > 1000:
        raise Rejected("an event needs a positive weight, an offset in [0, 1) and a log slope of at most 1000")
    if not claim["implies"](log_slope, offset):
        raise Rejected(f"the claim does not imply p <= exp({show(log_slope)}) q + {show(offset)}")
    return weight, log_slope, offset


def _counted(values: Sequence[Any]) -> tuple[int, int, int, int]:
    if len(values) != 4:
        raise Rejected("counts are [x, n, y, m]")
    x, n, y, m = (
        integer(value, name, at_least=at) for value, name, at in zip(values, "xnym", (0, 1, 0, 1), strict=True)
    )
    if x > n or y > m:
        raise Rejected(f"{x} of {n} and {y} of {m} are no counts")
    return x, n, y, m


def _at_most_one(shares: Sequence[fmpq], what: str) -> None:
    if not shares or sum(shares, fmpq(0)) > 1:
        raise Rejected(f"the {what} must sum to at most 1, and there must be one")


def _anytime(epochs: Sequence[Any], failure: fmpq, claim: Mapping[str, Any]) -> dict[str, Any]:
    total, looks = arb(0), 0
    values = []
    for epoch in epochs:
        nulls = [_null(event, claim, ("strategies", "looks")) for event in epoch]
        _at_most_one([weight for weight, _, _ in nulls], "weights of an epoch")
        mean = arb(0)
        for event, (weight, log_slope, offset) in zip(epoch, nulls, strict=True):
            looks += len(event["looks"])
            if looks > _LOOKS * max(1, len(epochs)):
                raise Rejected(f"more than {_LOOKS} looks per epoch")
            mean += arb(weight) * _capital(event, log_slope, offset)
        if not mean > 0:
            raise Rejected("the capital of an epoch is not certainly positive")
        total += mean.log()
        values.append(down(mean.log(), 8) if mean != 1 else "0")
    if not values:
        raise Rejected("an audit needs at least one epoch")
    refuted = bool(total >= -arb(failure).log())
    return {
        "supports": "refuted" if refuted else "not refuted",
        "log_e_values": values,
        "method": f"log e-value {down(total, 8) if not total.is_zero() else '0'}, "
        f"needed {down(-arb(failure).log(), 8)}; {looks} looks",
    }


def _capital(event: Mapping[str, Any], log_slope: fmpq, offset: fmpq) -> Any:
    """The e-value of one event: the mean over strategies of products over looks."""
    shares = [rational(share) for share in event["strategies"]]
    _at_most_one(shares, "shares of the strategies")
    if any(share < 0 for share in shares):
        raise Rejected("shares of strategies are not negative")
    slope = arb(log_slope).exp()
    logs = [arb(0)] * len(shares)
    for look in event["looks"]:
        x, n, y, m = _counted(look[:4])
        q0, bets = rational(look[4]), [rational(bet) for bet in look[5:]]
        if len(bets) != len(shares) or not 0 <= q0 <= 1:
            raise Rejected("a look is [x, n, y, m, q0, one bet per strategy], q0 in [0, 1]")
        p0 = slope * arb(q0) + arb(offset)
        for index, bet in enumerate(bets):
            if bet == 0:
                continue
            other = slope * arb(bet * n / m)
            factors = ((x, bet * (1 - p0)), (n - x, -bet * p0), (y, -other * arb(1 - q0)), (m - y, other * arb(q0)))
            if not (bet > 0 and p0 <= 1 and all(1 + factor > 0 for _, factor in factors)):
                raise Rejected(f"the bet {show(bet)} is out of the range in which the capital stays positive")
            logs[index] += sum((count * (1 + factor).log() for count, factor in factors if count), arb(0))
    return sum((arb(share) * value.exp() for share, value in zip(shares, logs, strict=True)), arb(0))


def _fixed(events: Sequence[Any], failure: fmpq, claim: Mapping[str, Any]) -> dict[str, Any]:
    nulls = [_null(event, claim, ("guesses" if "guesses" in event else "counts",)) for event in events]
    _at_most_one([weight for weight, _, _ in nulls], "weights of the events")
    decided = []
    for event, (weight, log_slope, offset) in zip(events, nulls, strict=True):
        if "guesses" in event:
            decided.append(_guessed(event["guesses"], log_slope, offset, weight * failure))
        else:
            decided.append(_decided(_counted(event["counts"]), log_slope, offset, weight * failure))
    refuting = [index for index, method in enumerate(decided) if method]
    method = decided[refuting[0]] if refuting else "no p-value is certainly small enough"
    return {
        "supports": "refuted" if refuting else "not refuted",
        "refuting_events": refuting,
        "method": f"event {refuting[0] + 1} of {len(decided)} by {method}" if refuting else method,
    }


def _decided(counts: tuple[int, int, int, int], log_slope: fmpq, offset: fmpq, share: fmpq) -> str:
    """How the null is refuted at the share of the failure probability; "" when it is not."""
    x, n, y, m = counts
    if x == 0 or not arb(fmpq(x, n)) > arb(log_slope).exp() * arb(fmpq(y, m)) + arb(offset):
        return ""
    with ctx.workprec(_TAIL_BITS):
        bounds = _bounds(counts, share)
        if bounds is not None and arb(bounds[0]) > arb(log_slope).exp() * arb(bounds[1]) + arb(offset):
            return "two Clopper-Pearson bounds"
        for step, cells in _FINENESS:
            if _Test(counts, log_slope, offset, share, step).refutes(cells):
                return "the exact test"
    return ""


def _guessed(levels: Sequence[Any], log_slope: fmpq, offset: fmpq, share: fmpq) -> str:
    """How guesses refute the null at the share of the failure probability; "" when they do not.

    Weights are added on a grid, rounded up, with the laws of the right guesses as polynomials.
    """
    if offset != 0:
        raise Rejected("guesses judge a null without an offset")
    if any(len(level) != 3 for level in levels):
        raise Rejected("guesses are listed as [weight, right, wrong]")
    read = [
        [integer(value, "a guess's weight or number", at_least=at) for value, at in zip(level, (1, 0, 0), strict=True)]
        for level in levels
    ]
    if not read or any(level[0] > _HEAVIEST or sum(level[1:]) > _MOST_GUESSES for level in read):
        raise Rejected(f"guesses need weights of at most {_HEAVIEST} and numbers of at most {_MOST_GUESSES}")
    if len({weight for weight, _, _ in read}) != len(read):
        raise Rejected("every weight of guesses is listed once")
    least = sum(weight * right for weight, right, _ in read)
    most = sum(weight * (one + two) for weight, one, two in read)
    rate = least / most if most else 0.0
    squares = sum(weight**2 * (one + two) for weight, one, two in read)
    with ctx.workprec(_TAIL_BITS + math.ceil(-math.log2(max(float(fraction(share)), 1e-300)))):
        odds = arb(log_slope).exp()
        chance = float((odds / (1 + odds)).mid())
        variance = squares * max(rate * (1 - rate), chance * (1 - chance) / _APART)
        step = max(1, int(math.sqrt(variance) / _STEPS))
        law, first, beyond = arb_poly([1]), 0, arb(0)
        for weight, one, two in read:
            if not (total := one + two):
                continue
            reach = _REACH * math.sqrt(total * chance * (1 - chance)) + _REACH**2
            low, high = max(0, int(total * chance - reach)), min(total, math.ceil(total * chance + reach))
            found = _terms(total, odds, low, high)
            if found is None:
                return ""
            below, terms, above = found
            start = -(-weight * low // step)
            sums = [arb(0)] * (-(-weight * high // step) - start + 1)
            sums[0] += below
            for outcome, term in enumerate(terms, low):
                sums[-(-weight * outcome // step) - start] += term
            law *= arb_poly(sums)
            first += start
            beyond += above
        tail = sum(law.coeffs()[max(0, -(-least // step) - first) :], beyond)
        return "guesses" if tail <= arb(share) else ""


def _terms(trials: int, odds: Any, low: int, high: int) -> tuple[Any, list[Any], Any] | None:
    """P(X < low) from above, P(X = low), ..., P(X = high) and P(X > high) from above, X ~ Bin(trials, odds/(1 + odds)).

    Beyond either end the terms fall at least geometrically; None where that is not certain.
    """
    whole, own, others = (arb(count + 1).lgamma() for count in (trials, low, trials - low))
    term = (whole - own - others + low * odds.log() - trials * (1 + odds).log()).exp()
    terms = [term]
    for outcome in range(low, high):
        term = term * odds * (trials - outcome) / (outcome + 1)
        terms.append(term)
    down, up = low / (odds * (trials - low + 1)), odds * (trials - high) / (high + 1)
    if not (down < 1 and up < 1):
        return None
    return terms[0] * down / (1 - down), terms, terms[-1] * up / (1 - up)


def _bounds(counts: tuple[int, int, int, int], share: fmpq) -> tuple[float, float] | None:
    """Clopper-Pearson bounds of p from below and q from above, share / 2 each; None unless both are certain."""
    x, n, y, m = counts
    level, small = float(fraction(share)) / 2, arb(share / 2)
    low = _inverted(lambda p: _binomial_tail(x, n, p), level, 0.0, x / n)
    high = 1.0 if y == m else _inverted(lambda q: 1 - _binomial_tail(y + 1, m, q), level, 1.0, y / m)
    certain = (low == 0 or _binomial_tail(x, n, low) <= small) and (
        high == 1 or 1 - _binomial_tail(y + 1, m, high) <= small
    )
    return (low, high) if certain else None


def _inverted(tail: Any, share: float, outside: float, inside: float) -> float:
    """A point just outside where the tail is the share; the tail falls from `inside` to `outside`."""
    for _ in range(60):
        middle = (outside + inside) / 2
        if middle in (outside, inside) or abs(inside - outside) < 1e-7 * abs(inside):
            break
        if tail(middle) <= arb(share):
            outside = middle
        else:
            inside = middle
    return outside


def _binomial_tail(successes: int, trials: int, probability: Any) -> Any:
    """P(Bin(trials, probability) >= successes), an enclosure."""
    if successes <= 0:
        return arb(1)
    if successes > trials:
        return arb(0)
    return arb(probability).beta_lower(successes, trials - successes + 1, True)


def _distribution(trials: int, probability: Any, places: Sequence[int]) -> list[Any]:
    """Enclosures of P(Bin(trials, probability) <= place) for places that do not fall: sums of a run of terms.

    Far below the mean the terms fall at least geometrically, which bounds all those left out.
    """
    mean = trials * float(probability.mid())
    start = max(0, math.floor(mean - 9 * math.sqrt(max(mean * (1 - mean / trials), 0.0)) - 20))
    if not 0 < probability < 1 or (places and places[-1] - start > _SUMMED):
        return [1 - _binomial_tail(place + 1, trials, probability) for place in places]
    odds = probability / (1 - probability)
    whole, own, others = (arb(count + 1).lgamma() for count in (trials, start, trials - start))
    term = (whole - own - others + start * probability.log() + (trials - start) * (1 - probability).log()).exp()
    left_out = arb(0)
    if start:
        ratio = start / (odds * (trials - start + 1))
        if not ratio < 1:
            return [1 - _binomial_tail(place + 1, trials, probability) for place in places]
        left_out = arb(0).union((term * ratio / (1 - ratio)).upper())
    at, total = start, left_out
    sums = []
    for place in places:
        while at <= place:
            total, term = total + term, term * odds * (trials - at) / (at + 1)
            at += 1
        sums.append(total if place >= start else left_out if place >= 0 else arb(0))
    return sums


class _Test:
    """The test of `dpassay.auditors.fixed_sample`, every number an enclosure or an exact rational.

    The outcomes are ordered by the value r at which the signed root of the log-likelihood ratio against
    p = e^r q + offset is the normal quantile z of the share. Those ordered no lower than the observed one are among
    those whose signed root at r is at least z, for any r at which its own is.
    """

    def __init__(
        self, counts: tuple[int, int, int, int], log_slope: fmpq, offset: fmpq, share: fmpq, step: float
    ) -> None:
        self.counts, self.offset, self.share = counts, offset, share
        self.slope = arb(log_slope).exp()
        x, n, y, m = counts
        level = float(fraction(share))
        self.half = arb(fmpq(round(NormalDist().inv_cdf(1 - level) ** 2 / 2 * 10**6), 10**6))  # z^2 / 2
        self.order = self._observed_order()
        if self.order is None:
            return
        p, q, slope = (x + 0.5) / (n + 1), (y + 0.5) / (m + 1), math.exp(self.order)
        spread = n * math.sqrt(p * (1 - p) / n + slope**2 * q * (1 - q) / m)
        places = [x + spread * step * index for index in range(-math.ceil(5 / step), math.ceil(5 / step) + 1)]
        far = [5 * spread * 1.2**index for index in range(1, 80)]
        places += [x + sign * place for place in far for sign in (-1, 1)]
        edges = sorted({min(n, max(0, math.floor(place))) for place in places} | {x})
        self.edges = edges
        self.limits: list[int] = []
        for edge in edges:
            self.limits.append(max(self._limit(edge), self.limits[-1] if self.limits else -1))

    def refutes(self, cells: int) -> bool:
        """Whether the p-value is certainly at most the share."""
        if self.order is None:
            return False
        nuisance = self.share / 200
        bounds = _bounds(self.counts, nuisance)
        if bounds is None:
            return False
        least, most = bounds
        slope, offset = math.exp(self._log_slope()), float(fraction(self.offset))
        low = max(0.0, (least - offset) / slope * (1 - 1e-9))
        if low > 0 and not self.slope * arb(low) + arb(self.offset) <= arb(least):
            return False
        if low > most:
            return True
        limit = arb(self.share - nuisance)
        ends = [low + (most - low) * (index / cells) ** 2 for index in range(cells)] + [most]
        values = {}
        for end in sorted(ends, key=lambda end: abs(end - (low + most) / 2)):  # where it fails it does so early
            values[end] = self._mass(self._boundary(end), arb(end))
            if not values[end] <= limit:
                return False
        return all(
            self._cell(left, right, limit, values[left], values[right]) for left, right in itertools.pairwise(ends)
        )

    def _cell(self, left: float, right: float, limit: Any, one: Any, two: Any, depth: int = 0) -> bool:
        """Whether the probability of the region is certainly at most the limit between two boundary points."""
        width = arb(right) - arb(left)
        curvature = self._curvature(left, right)
        largest = one.max(two)
        if curvature is not None:
            bend = curvature * width**2 / 8
            if bend < 1 and (largest + bend * arb(-_TAIL).exp()) / (1 - bend) <= limit:
                return True
        elif self._mass(self._boundary(right), arb(left)) <= limit:
            return True
        if depth == _DEPTH:
            return False
        middle = (left + right) / 2
        value = self._mass(self._boundary(middle), arb(middle))
        if not value <= limit:
            return False
        return self._cell(left, middle, limit, one, value, depth + 1) and self._cell(
            middle, right, limit, value, two, depth + 1
        )

    def _curvature(self, left: float, right: float) -> Any:
        """As in `dpassay.auditors.fixed_sample`; None where p or q may be 0 or 1."""
        total = arb(0)
        for trials, low, high, factor in (
            (self.counts[1], self._boundary(left), self._boundary(right), self.slope**2),
            (self.counts[3], arb(left), arb(right), arb(1)),
        ):
            if not low > 0 or not high < 1:
                return None
            variance = arb(trials) / 4
            if high <= arb(0.5):
                variance = trials * high * (1 - high)
            elif low >= arb(0.5):
                variance = trials * low * (1 - low)
            excess = (2 * variance * _TAIL).sqrt() + arb(fmpq(2 * _TAIL, 3)) + 1
            total += factor * ((trials + excess / low) / low + (trials + excess / (1 - high)) / (1 - high))
        return total

    def _boundary(self, q: float) -> Any:
        return (self.slope * arb(q) + arb(self.offset)).min(arb(1))

    def _log_slope(self) -> float:
        return float(self.slope.log().mid())

    def _mass(self, p: Any, q: Any) -> Any:
        """Upper bound of P(region): the distribution function of X at the edges, that of Y at their limits."""
        _, n, _, m = self.counts
        center1, spread1 = float(p.mid()) * n, 5 * math.sqrt(n * float((p * (1 - p)).mid().max(arb(0)))) + 12
        center2, spread2 = float(q.mid()) * m, 5 * math.sqrt(m * float((q * (1 - q)).mid().max(arb(0)))) + 12
        inside = [
            index
            for index, (edge, limit) in enumerate(zip(self.edges, self.limits, strict=True))
            if abs(edge - center1) <= spread1 and abs(limit - center2) <= spread2
        ]
        below = _distribution(n, p, [self.edges[index] for index in inside])
        chances = _distribution(m, q, [self.limits[index] for index in inside])
        total, before = arb(0), arb(0)
        for at, chance in zip(below, chances, strict=True):
            total += (at - before) * chance
            before = at
        return total + (1 - before)

    def _observed_order(self) -> float | None:
        low, high = -30.0, 100.0
        if not self._reaches(low):
            return None
        while high - low > 1e-10:
            middle = (low + high) / 2
            low, high = (middle, high) if self._reaches(middle) else (low, middle)
        return low

    def _reaches(self, order: float) -> bool:
        """Whether the signed root of the observed outcome against the null of this order is certainly at least z."""
        x, n, y, m = self.counts
        slope = arb(order).exp()
        if not arb(fmpq(x, n)) > slope * arb(fmpq(y, m)) + arb(self.offset):
            return False
        null = _closest(x / n, y / m, n, m, math.exp(order), float(fraction(self.offset)))
        # The divergence is convex: from a near-minimizer it falls by no more than |derivative| times the distance.
        boundary = slope * arb(null) + arb(self.offset)
        if not (arb(null) > 0 and boundary < 1):
            return False
        p, q = arb(fmpq(x, n)), arb(fmpq(y, m))
        rise = m * (arb(null) - q) / (arb(null) * (1 - arb(null))) - n * slope * (p - boundary) / (
            boundary * (1 - boundary)
        )
        reach = arb(1).min((1 - arb(self.offset)) / slope)
        return bool(self._divergence(x, y, arb(null), boundary) - abs(rise) * reach >= self.half)

    def _limit(self, edge: int) -> int:
        """The largest y that may belong to the region at x = edge: at the next one the root is certainly below z."""
        m = self.counts[3]
        low, high = -1, m
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._below(edge, middle + 1) else (middle + 1, high)
        return low

    def _below(self, x: int, y: int) -> bool:
        """Whether the signed root of (x, y) is certainly below z: some boundary point is close enough."""
        _, n, _, m = self.counts
        assert self.order is not None
        slope = arb(self.order).exp()
        if arb(fmpq(x, n)) <= slope * arb(fmpq(y, m)) + arb(self.offset):
            return True
        null = _closest(x / n, y / m, n, m, math.exp(self.order), float(fraction(self.offset)))
        boundary = slope * arb(null) + arb(self.offset)
        if not (arb(null) > 0 and boundary < 1):
            return False
        return bool(self._divergence(x, y, arb(null), boundary) < self.half)

    def _divergence(self, x: int, y: int, null: Any, boundary: Any) -> Any:
        """n KL(x/n || boundary) + m KL(y/m || null)."""
        _, n, _, m = self.counts
        terms = ((x, n, boundary), (n - x, n, 1 - boundary), (y, m, null), (m - y, m, 1 - null))
        return sum((count * (arb(fmpq(count, trials)) / rate).log() for count, trials, rate in terms if count), arb(0))


def _closest(p: float, q: float, n: int, m: int, slope: float, offset: float) -> float:
    """A float near the closest point of the boundary; what is made of it is checked in Arb."""
    low, high = q, min((p - offset) / slope, 1.0)
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        null = slope * middle + offset
        if not 0 < middle < 1 or not 0 < null < 1:
            break
        rise = m * (middle - q) / (middle * (1 - middle)) - n * slope * (p - null) / (null * (1 - null))
        low, high = (middle, high) if rise < 0 else (low, middle)
    return (low + high) / 2
