"""Checks facts about weighted selection from an ordered list of similarities, without ratings.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; there are no other fields):
    "similarities": [s_1, ..., s_n], not increasing
    one of "weights": [w_1, ..., w_n], "base": b (weights b^s_i), "rate": c (weights exp(c s_i))
    "num_neighbors": k
    "methods": {name: {"kind"?, ...}}; kind is the name itself where it is not given:
        "npns": weighted draws of k from all; "uniform": the same with equal weights
        "ppns": {"probability": p, "rule"?: "algorithm" (default), "original" or "formula",
                 "last"?: "exponential" (default) or "uniform"}: Partitioned Probabilistic Neighbor Selection
        "pncf": {"margin": m or "rho": rho, "truncation"?: "hard" (default) or "soft"}: truncated at s_k -/+ lambda,
            lambda = min(s_k, m), where m = ln(k(n-k)/rho) / c for weights exp(c s), the paper's c being eps/(4k RS)
        each with "mean"?: "exact" (default), or "manly" for npns and ppns, Manly's approximate mean (9) in each pool
    "values"?: {name: number}, constants of the condition
    "condition": formula (see `replay.formula`); its names are the constants, n, k, s_<i>, w_<i> (i from 1),
        theorem_bound = 1 - ((n-k)/n)^w_1, and for each method mu_<method>_<i> (selection probability), first_<method>
        (expected number from the first partition, mu_1 + ... + mu_k), alpha_<method> (sum of s_i mu_i), p_<method>
        (ppns), and p when only one method has a probability

Probabilities are exact rationals when the weights are rational, else Arb enclosures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.formula import read, symbol
from dpassay.replay.law_property import settle
from dpassay.replay.laws import MAX_CANDIDATES, MAX_NEIGHBORS, Law, draws, marginals
from dpassay.replay.neighbor_laws import Raised, partition_groups, partition_law, pncf_law
from dpassay.replay.numbers import fields, integer, power, precision, rational, show
from dpassay.replay.operators import TRUTH

_BISECTIONS = 200
# kind -> required and optional fields
_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "npns": ((), ("mean",)),
    "uniform": ((), ()),
    "ppns": (("probability",), ("rule", "last", "mean")),
    "pncf": ((), ("margin", "rho", "truncation")),
}
_CHOICES = {
    "rule": ("algorithm", "original", "formula"),
    "last": ("exponential", "uniform"),
    "truncation": ("hard", "soft"),
    "mean": ("exact", "manly"),
}


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes every selection probability and decides the condition; raises `Rejected` unless certainly true."""
    required = ("similarities", "num_neighbors", "methods", "condition")
    fields(inputs, "a selection", required, ("weights", "base", "rate", "values"))
    condition = read(inputs["condition"], TRUTH)
    with precision():
        similarities = [rational(value) for value in inputs["similarities"]]
        n, k = len(similarities), integer(inputs["num_neighbors"], "num_neighbors", at_least=1)
        if not k <= n <= MAX_CANDIDATES or k > MAX_NEIGHBORS:
            raise Rejected(f"this checker takes n <= {MAX_CANDIDATES} candidates and k <= min(n, {MAX_NEIGHBORS})")
        if similarities != sorted(similarities, reverse=True):
            raise Rejected("the similarities must not increase")
        weighing = _weighing(inputs, similarities)
        weights = weighing.weights
        constants = {symbol(name): rational(value) for name, value in inputs.get("values", {}).items()}
        known: dict[str, Any] = {"n": fmpq(n), "k": fmpq(k)}
        known |= {f"s_{i}": value for i, value in enumerate(similarities, 1)}
        known |= {f"w_{i}": value for i, value in enumerate(weights, 1)}
        known["theorem_bound"] = 1 - _power(fmpq(n - k, n), weights[0])
        probabilities = []
        for name, method in inputs["methods"].items():
            means = _means(method.get("kind", name), method, similarities, weighing, k)
            known |= {f"mu_{symbol(name)}_{i}": mean for i, mean in enumerate(means, 1)}
            known[f"first_{name}"] = sum(means[:k], fmpq(0))
            known[f"alpha_{name}"] = sum((s * mean for s, mean in zip(similarities, means, strict=True)), fmpq(0))
            if "probability" in method:
                probabilities.append(rational(method["probability"]))
                known[f"p_{name}"] = probabilities[-1]
        if len(probabilities) == 1:
            (known["p"],) = probabilities
        return {
            "similarities": [show(value) for value in similarities],
            "weights": weighing.text,
            "num_neighbors": k,
            "methods": {
                name: ", ".join(f"{field} {value}" for field, value in sorted(method.items()))
                for name, method in inputs["methods"].items()
            },
            **settle(condition, constants, known),
        }


def manly_means(weights: Sequence[Any], count: int) -> list[Any]:
    """Manly's approximate means (9) of `count` draws: 1 - x^w_i, where x in (0, 1) makes their sum `count`.

    The sum falls as x grows, and a sign change is verified at both ends of the enclosure of x.
    """
    if count in (0, len(weights)):
        return [fmpq(int(count > 0))] * len(weights)
    if all(isinstance(weight, fmpq) and weight == weights[0] for weight in weights):
        return [fmpq(count, len(weights))] * len(weights)

    def excess(x: fmpq) -> arb:
        return sum((1 - arb(x) ** arb(weight) for weight in weights), arb(-count))

    low, high = fmpq(0), fmpq(1)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        value = excess(middle)
        if value > 0:
            low = middle
        elif value < 0:
            high = middle
        else:  # at the root itself no sign is certain: enclose it between two points beside it that have one
            beside = fmpq(1, 2**_BISECTIONS)
            if excess(middle - beside) > 0 > excess(middle + beside):
                low, high = middle - beside, middle + beside
            break
    root = arb(low).union(arb(high))
    return [1 - root ** arb(weight) for weight in weights]


@dataclass(frozen=True)
class _Weighing:
    """Weights of the candidates, and of a similarity that PNCF raises."""

    weights: Sequence[Any]
    text: str
    of: Callable[[Any], Any] | None = None
    rate: Any = None


def _weighing(inputs: Mapping[str, Any], similarities: Sequence[fmpq]) -> _Weighing:
    ways = [way for way in ("weights", "base", "rate") if way in inputs]
    if len(ways) != 1:
        raise Rejected("give one of weights, base and rate")
    if ways == ["base"]:
        base = rational(inputs["base"])
        weigh: Callable[[Any], Any] = partial(_power, base)
        return _Weighing([weigh(value) for value in similarities], f"{show(base)}^s", weigh, arb(base).log())
    if ways == ["rate"]:
        rate = rational(inputs["rate"])
        weigh = partial(_exponential, rate)
        return _Weighing([weigh(value) for value in similarities], f"exp({show(rate)} s)", weigh, rate)
    weights = [rational(value) for value in inputs["weights"]]
    if len(weights) != len(similarities) or min(weights) <= 0:
        raise Rejected("weights must be positive, one for each similarity")
    return _Weighing(weights, ", ".join(map(show, weights)))


def _means(
    kind: str, method: Mapping[str, Any], similarities: Sequence[fmpq], weighing: _Weighing, k: int
) -> list[Any]:
    """Selection probability of each candidate."""
    if kind not in _FIELDS:
        raise Rejected(f"unknown method {kind!r}; known are {', '.join(_FIELDS)}")
    fields(method, f"method {kind}", _FIELDS[kind][0], ("kind", *_FIELDS[kind][1]))
    for field, known in _CHOICES.items():
        if field in method and method[field] not in known:
            raise Rejected(f"{field} is {method[field]!r}; use {' or '.join(known)}")
    n = len(similarities)
    exact = method.get("mean", "exact") == "exact"
    pool = dict(enumerate(weighing.weights))
    if kind == "uniform":
        return [fmpq(k, n)] * n
    if kind == "npns":
        return _row_means(marginals(draws(pool, k)), n) if exact else manly_means(weighing.weights, k)
    if kind == "pncf":
        return _row_means(marginals(_truncated(method, similarities, weighing, k)), n)
    p, rule, last = rational(method["probability"]), method.get("rule", "algorithm"), method.get("last", "exponential")
    blocks = [range(start, min(start + k, n)) for start in range(0, n, k)]
    if exact:
        return _row_means(marginals(partition_law(blocks, pool, k, p, rule, last)), n)
    means = [fmpq(0)] * n
    for rows, count, how in partition_groups(blocks, k, p, rule, last):
        each = [pool[row] if how == "exponential" else fmpq(1) for row in rows]
        for row, mean in zip(rows, manly_means(each, count), strict=True):
            means[row] = mean
    return means


def _truncated(method: Mapping[str, Any], similarities: Sequence[fmpq], weighing: _Weighing, k: int) -> Law:
    n = len(similarities)
    if ("margin" in method) == ("rho" in method):
        raise Rejected("pncf needs one of margin and rho")
    margin: Any
    if "margin" in method:
        margin = rational(method["margin"])
    else:
        rho = rational(method["rho"])
        if not 0 < rho < 1 or weighing.rate is None or not weighing.rate > 0:
            raise Rejected("rho must lie in (0, 1), and weights be given by a base above 1 or a positive rate")
        margin = None if n == k else arb(k * (n - k) / rho).log() / weighing.rate
    if margin is not None and margin < 0:
        raise Rejected("margin must be >= 0")

    def weigh(scores: Mapping[int, Any]) -> dict[int, Any]:
        if weighing.of is None and any(isinstance(score, Raised) for score in scores.values()):
            raise Rejected("a raised similarity needs weights given by base or rate")
        return {
            i: weighing.of(score.value) if weighing.of and isinstance(score, Raised) else weighing.weights[i]
            for i, score in scores.items()
        }

    squares = {i: abs(value) * value for i, value in enumerate(similarities)}
    return pncf_law(squares, k, margin, weigh, method.get("truncation", "hard"))


def _row_means(each: Mapping[int, Any], n: int) -> list[Any]:
    return [each.get(row, fmpq(0)) for row in range(n)]


def _exponential(rate: fmpq, value: Any) -> Any:
    return fmpq(1) if rate == 0 or (isinstance(value, fmpq) and value == 0) else arb(rate * value).exp()


def _power(base: fmpq, exponent: Any) -> Any:
    if base == 0:
        return fmpq(0)
    return power(base, exponent) if isinstance(exponent, fmpq) else arb(base) ** exponent
