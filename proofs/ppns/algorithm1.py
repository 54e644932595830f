"""Algorithm 1 of Lu and Shen (PPNS) in exact arithmetic: its quotas, and the probability of selecting each candidate.

From partition i (k candidates, in descending similarity) it takes ceil(p (1-p)^(i-1) k) members, capped at what is
still missing to k - 1; then one last neighbor from all partitions not visited.

Candidates stand in descending similarity s_1 >= ... >= s_n; a candidate of similarity s has weight base^s, so that
base = exp(eps / (4k RS)), that is RS = eps / (4k ln base), and similarity 0 has weight 1 as Theorem 1 assumes. All
means are exact means of the successive draws (the distribution of Wallenius), never Manly's approximation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dpassay.core.errors import InvalidInput
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities, rational_power

LastPick = Literal["uniform", "exponential"]
Formula = Any
LAST_PICKS: tuple[LastPick, ...] = ("uniform", "exponential")
TENTHS = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
NUM_NEIGHBORS, NUM_CANDIDATES = 50, 942  # the paper's k, and the users of MovieLens 100K without the target


@dataclass(frozen=True)
class Instance:
    """One candidate list with the parameters of Algorithm 1.

    Attributes:
        similarities: descending, in [0, 1].
        base: weight of similarity 1; base^s must be rational for every similarity s.
        num_neighbors: k >= 2.
        probability: p in (0, 1].
        last: how the last neighbor is drawn from the unvisited partitions; line 16 does not say.
    """

    similarities: tuple[Fraction, ...]
    base: Fraction
    num_neighbors: int
    probability: Fraction
    last: LastPick

    def __post_init__(self) -> None:
        s, k = self.similarities, self.num_neighbors
        if list(s) != sorted(s, reverse=True) or not s or not 0 <= s[-1] <= s[0] <= 1:
            raise InvalidInput("similarities must descend and lie in [0, 1]; sort and scale them")
        if not 2 <= k < len(s):
            raise InvalidInput(
                f"num_neighbors is {k}; choose it from 2 to {len(s) - 1}, below the number of candidates"
            )
        if not 0 < self.probability <= 1:
            raise InvalidInput(f"probability is {self.probability}; it must lie in (0, 1]")
        if self.base <= 0:
            raise InvalidInput(f"base is {self.base}; a weight base^similarity needs a positive base")
        if self.last not in LAST_PICKS:
            raise InvalidInput(f"last is {self.last!r}; use one of {', '.join(LAST_PICKS)}")

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """base^similarity of every candidate.

        Raises:
            InvalidInput: a weight is irrational.
        """
        return tuple(rational_power(self.base, s) for s in self.similarities)

    @property
    def in_range(self) -> bool:
        """Whether 1 - ((n-k)/n)^w_1 < p <= (k-1)/k, the range of Theorem 1 and sec. 6.3, decided on integers."""
        n, k, p = len(self.similarities), self.num_neighbors, self.probability
        first = rational_power(self.base, self.similarities[0])
        # (1-k/n)^(a/b) > 1-p, both sides raised to the power b.
        above = Fraction(n - k, n) ** first.numerator > (1 - p) ** first.denominator
        return above and p * k <= k - 1

    def selection(self) -> tuple[Fraction, ...] | None:
        """mu_i under Algorithm 1, or None where it leaves no unvisited partition for the last neighbor."""
        return selection_probabilities(self.weights, self.num_neighbors, self.probability, self.last)

    def rival(self) -> tuple[Fraction, ...]:
        """mu^_i of drawing k from all candidates with the same weights: PNCF without truncation."""
        return inclusion_probabilities(self.weights, self.num_neighbors)

    def accuracy(self, means: Sequence[Fraction]) -> Fraction:
        """alpha of equation (11), the sum of similarity times probability of selection."""
        return sum((s * mu for s, mu in zip(self.similarities, means, strict=True)), Fraction(0))

    def certificate(self, condition: Formula) -> dict[str, Any]:
        """The `selection` certificate that recomputes both means and checks `condition`."""
        return {
            "kind": "selection",
            "inputs": {
                "similarities": [str(s) for s in self.similarities],
                "base": str(self.base),
                "num_neighbors": self.num_neighbors,
                "methods": {
                    "ppns": {"probability": str(self.probability), "last": self.last},
                    "npns": {},
                    "pncf": {"rho": "1/2"},
                },
                "condition": condition,
                "supports": "refuted",
            },
        }


@dataclass(frozen=True)
class Trace:
    """What Algorithm 1 takes from each visited partition, lines 7 to 16.

    Attributes:
        taken: picks from partition 1, 2, ... until the loop ends.
        defined: the loop stopped at k - 1 neighbors and an unvisited partition is left for the last one.
        count: neighbors chosen before line 16.
        num_partitions: ceil(n/k).
    """

    taken: tuple[int, ...]
    defined: bool
    count: int
    num_partitions: int


def trace_algorithm1(num_candidates: int, num_neighbors: int, probability: Fraction, *, capped: bool = True) -> Trace:
    """Quotas that lines 7 to 15 of Algorithm 1 take, with exact ceilings.

    Args:
        num_candidates: n.
        num_neighbors: k.
        probability: p in (0, 1].
        capped: cut a quota at what is missing to k - 1. As printed nothing is cut: the test "!= k-1" of line 8 can then
            be jumped over, and the loop ends only with the partitions.
    """
    k, sizes = num_neighbors, [num_neighbors] * (num_candidates // num_neighbors)
    if num_candidates % k:
        sizes.append(num_candidates % k)
    taken: list[int] = []
    count = 0
    for index, size in enumerate(sizes):
        if count == k - 1:
            break
        quota = math.ceil(probability * (1 - probability) ** index * k)
        quota = min(quota, size, k - 1 - count) if capped else min(quota, size)
        taken.append(quota)
        count += quota
    return Trace(tuple(taken), count == k - 1 and len(taken) < len(sizes), count, len(sizes))


def quotas(p: Fraction, num_neighbors: int, num_candidates: int) -> tuple[int, ...]:
    """How many neighbors Algorithm 1 takes from each partition that it visits, before the last one; exact."""
    return trace_algorithm1(num_candidates, num_neighbors, p).taken


def selection_probabilities(
    weights: Sequence[Fraction], num_neighbors: int, probability: Fraction, last: LastPick = "exponential"
) -> tuple[Fraction, ...] | None:
    """Exact probability that Algorithm 1 selects each candidate, or None where it is undefined.

    Args:
        weights: of the candidates, in descending similarity.
        num_neighbors: k.
        probability: p in (0, 1].
        last: how the last neighbor is drawn, see `Instance`.
    """
    k, trace = num_neighbors, trace_algorithm1(len(weights), num_neighbors, probability)
    if not trace.defined:
        return None
    means: list[Fraction] = []
    for partition, quota in enumerate(trace.taken):
        means += inclusion_probabilities(weights[k * partition : k * (partition + 1)], quota)
    unvisited = weights[k * len(trace.taken) :]
    return (
        *means,
        *inclusion_probabilities(unvisited if last == "exponential" else (Fraction(1),) * len(unvisited), 1),
    )


def accuracy(similarities: Sequence[Fraction], base: Fraction, num_neighbors: int, p: Fraction) -> Fraction | None:
    """Exact alpha of Algorithm 1 with weights base^similarity, where these are rational."""
    weights = [rational_power(base, similarity) for similarity in similarities]
    means = selection_probabilities(weights, num_neighbors, p)
    if means is None:
        return None
    return sum((s * mu for s, mu in zip(similarities, means, strict=True)), Fraction(0))


def partitioned_selection(
    similarities: Sequence[Fraction], base: Fraction, num_neighbors: int, p: Fraction, condition: Any, supports: str
) -> dict[str, Any]:
    """Inputs of a `selection` certificate about Algorithm 1 with weights base^similarity and a weighted last pick."""
    return {
        "supports": supports,
        "similarities": [str(s) for s in similarities],
        "base": str(base),
        "num_neighbors": num_neighbors,
        "methods": {"ppns": {"probability": str(p), "rule": "algorithm", "last": "exponential"}},
        "condition": condition,
    }


def quota_values(taken: Sequence[int]) -> dict[str, str]:
    """Names and values of the quotas that `quota_formulas` speaks of."""
    return {f"quota{index}": str(quota) for index, quota in enumerate(taken, start=1)}


def quota_formulas(visited: int) -> list[Formula]:
    """Lines 8 and 9 of Algorithm 1 for the visited partitions, and that k - 1 neighbors are reached with the last."""
    names = [f"quota{index}" for index in range(1, visited + 1)]
    formulas: list[Formula] = []
    for index, name in enumerate(names):
        quota = ["ceil", ["*", "p", ["^", ["-", 1, "p"], index], "k"]]
        missing = ["-", "k", 1, *names[:index]]
        formulas.append(["=", name, ["min", quota, missing]])
    return [*formulas, ["=", ["+", *names], ["-", "k", 1]]]
