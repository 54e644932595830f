"""Exact laws of the neighbor selections of Lu and Shen, written from the definitions and from no mechanism's code.

A law maps each possible set of neighbors (row numbers, ascending) to its probability: an exact rational or an Arb ball
around a positive number. A set that is not in the mapping is impossible, which is decided by exact order and counting
alone: a cosine or a correlation is a signed square root of a rational, so similarities are compared, and ties found,
on their signed squares.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from dpassay.replay import Rejected
from dpassay.replay.laws import (
    MAX_CANDIDATES,
    MAX_NEIGHBORS,
    Dataset,
    Law,
    Ratings,
    Undefined,
    draws,
    exponential,
    is_zero,
    read_numbers,
    read_parameters,
    shared,
    signed_root,
    signed_square,
    square_norm,
    truncation_margin,
)
from dpassay.replay.numbers import integer, maximum, rational, root, show

MAX_RANDOM_TIES = 8

_COMMON = {"num_neighbors", "target", "similarity", "ties", "no_overlap"}
_WEIGHTED = _COMMON | {"epsilon", "weight", "sensitivity"}
# (id, variant) -> parameters that decide the law, and those that may stand beside them.
_PARAMETERS: Mapping[tuple[str, str], tuple[set[str], set[str]]] = {
    ("knn", "paper"): (_COMMON, set()),
    ("npns", "paper"): (_WEIGHTED, set()),
    ("npns", "repaired"): ({"num_neighbors", "target", "epsilon", "norm_floor", "max_rating", "protect"}, set()),
    ("pncf", "paper"): (_WEIGHTED | {"rho", "truncation", "release"}, {"noise", "item"}),
    ("ppns", "paper"): (_WEIGHTED | {"probability", "rule", "last"}, set()),
}
_CHOICES = {
    "similarity": ("cosine", "full_cosine", "pearson"),
    "ties": ("index", "last", "random"),
    "no_overlap": ("zero", "exclude"),
    "weight": ("exponential", "similarity"),
    "truncation": ("hard", "soft"),
    "release": ("neighbors",),
    "rule": ("algorithm", "original", "formula"),
    "last": ("exponential", "uniform"),
    "protect": ("everyone", "candidates"),
}


@dataclass(frozen=True)
class Raised:
    """A similarity raised to PNCF's lower border."""

    value: Any

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def law(mechanism: Mapping[str, Any], dataset: Dataset) -> Law:
    """Law of the released set of neighbors.

    Raises:
        Rejected: an unknown mechanism or parameter, or more candidates or neighbors than this checker takes.
        Undefined: the mechanism is not defined on this dataset.
    """
    return Profile(mechanism, dataset).law()


def read_output(output: Sequence[Any], mechanism: Mapping[str, Any], dataset: Dataset) -> tuple[int, ...]:
    """A set of neighbors; raises `Rejected` for anything that is no output of the mechanism."""
    return read_numbers(output, mechanism["parameters"], len(dataset), "row numbers of other users")


def similarities(mechanism: Mapping[str, Any], dataset: Dataset) -> dict[int, Any]:
    """Similarity of every candidate to the target, by row number."""
    return {row: signed_root(square) for row, square in Profile(mechanism, dataset).squares.items()}


class Profile:
    """All of a dataset that a law depends on.

    Attributes:
        squares: row -> signed square of the similarity of each candidate, exact.
        key: hashable; equal keys under one mechanism mean equal laws, which spares work in enumerations.
    """

    def __init__(self, mechanism: Mapping[str, Any], dataset: Dataset) -> None:
        self._kind = (mechanism["id"], mechanism["variant"])
        self._parameters = read_parameters(mechanism, _PARAMETERS, _CHOICES, ("epsilon",))
        p = self._parameters
        self._k = integer(p["num_neighbors"], "num_neighbors", at_least=1)
        target = integer(p["target"], "target")
        if target >= len(dataset):
            raise Rejected(f"target {target} is not a row of the dataset")
        user = dataset[target]
        others = {row: ratings for row, ratings in enumerate(dataset) if row != target}
        self._sensitivities: dict[int, _Sensitivity] = {}
        if self._kind == ("npns", "repaired"):
            floor, most = rational(p["norm_floor"]), rational(p["max_rating"])
            self.squares = {row: _floor_cosine_square(user, other, floor, most) for row, other in others.items()}
            # exp(eps q / (2k GS)), or exp(eps q / (k GS)) for candidates only, is weight (1) at GS/2 or GS/4.
            bound = min(fmpq(1), most**2 / floor**2) / (2 if p["protect"] == "everyone" else 4)
            self._sensitivities = dict.fromkeys(others, _Sensitivity(bound, bound))
        else:
            if p["no_overlap"] == "exclude":
                others = {row: other for row, other in others.items() if shared(user, other)}
            self.squares = {row: _similarity_square(user, other, p["similarity"]) for row, other in others.items()}
            if self._kind[0] != "knn":
                self._sensitivities = self._read_sensitivities(user, others)
        if len(self.squares) > MAX_CANDIDATES or self._k > MAX_NEIGHBORS:
            raise Rejected(f"this checker takes at most {MAX_CANDIDATES} candidates and {MAX_NEIGHBORS} neighbors")
        self.key = (tuple(self.squares.items()), tuple(each.key for each in self._sensitivities.values()))

    def law(self) -> Law:
        """The law itself; see `law`."""
        k, p = self._k, self._parameters
        if len(self.squares) < k:
            raise Undefined(f"{len(self.squares)} candidates are fewer than {k} neighbors")
        if self._kind[0] == "knn":
            return _mixed([({tuple(sorted(order[:k])): fmpq(1)}, 1) for order in self._orders()])
        if self._kind[0] == "npns":
            return draws(self._weights(self.squares), k)
        if self._kind[0] == "pncf":
            margin = truncation_margin([each.value for each in self._sensitivities.values()], k, p)
            return pncf_law(self.squares, k, margin, self._weights, p["truncation"])
        weights = self._weights(self.squares)
        counts: dict[tuple[tuple[int, ...], ...], int] = {}
        for order in self._orders():
            # Only who is in which partition matters, not the order inside.
            blocks = tuple(tuple(sorted(order[i : i + k])) for i in range(0, len(order), k))
            counts[blocks] = counts.get(blocks, 0) + 1
        probability = rational(p["probability"])
        return _mixed(
            [
                (partition_law(blocks, weights, k, probability, p["rule"], p["last"]), count)
                for blocks, count in counts.items()
            ]
        )

    def _orders(self) -> Iterator[list[int]]:
        """Candidates in descending similarity; under random ties every order of equal ones."""
        ties = self._parameters["ties"]
        direction = -1 if ties == "last" else 1
        ordered = sorted(self.squares, key=lambda row: (-self.squares[row], direction * row))
        if ties != "random":
            yield ordered
            return
        if len(ordered) > MAX_RANDOM_TIES:
            raise Rejected(f"random ties are averaged for at most {MAX_RANDOM_TIES} candidates")
        groups = [list(group) for _, group in itertools.groupby(ordered, key=self.squares.__getitem__)]
        for order in itertools.product(*(itertools.permutations(group) for group in groups)):
            yield [row for group in order for row in group]

    def _weights(self, scores: Mapping[int, Any]) -> dict[int, Any]:
        """Selection weight by signed square (or `Raised` score); one object for weights that are exactly equal."""
        known: dict[Any, Any] = {}
        weights = {}
        for row, score in scores.items():
            sensitivity = self._sensitivities[row]
            key = (score, sensitivity.key)
            if key not in known:
                value = score.value if isinstance(score, Raised) else signed_root(score)
                known[key] = self._weight(value, sensitivity.value)
            weights[row] = known[key]
        return weights

    def _weight(self, similarity: Any, sensitivity: Any) -> Any:
        if self._parameters.get("weight", "exponential") == "similarity":
            return fmpq(0) if similarity <= 0 else similarity
        epsilon = rational(self._parameters["epsilon"])
        # RS infinite (None) or 0: exponent 0.
        if sensitivity is None or is_zero(sensitivity):
            return fmpq(1)
        return exponential(epsilon * similarity / (4 * self._k * sensitivity))

    def _read_sensitivities(self, user: Ratings, others: Mapping[int, Ratings]) -> "dict[int, _Sensitivity]":
        p = self._parameters
        if p["sensitivity"] not in ("local", "local_dot", "pairwise"):
            constant = rational(p["sensitivity"])
            if constant <= 0:
                raise Rejected(f"sensitivity is {show(constant)}: it must be positive")
            return dict.fromkeys(others, _Sensitivity(constant, constant))
        full, dot = p["similarity"] == "full_cosine", p["sensitivity"] == "local_dot"
        each = {row: _sensitivity(user, other, full=full, dot=dot) for row, other in others.items()}
        if p["sensitivity"] == "pairwise" or not each:
            return each
        if any(one.value is None for one in each.values()):
            return dict.fromkeys(each, _INFINITE)
        key = tuple(one.key for one in each.values()) if dot else max(one.key for one in each.values())
        return dict.fromkeys(each, _Sensitivity(maximum(one.value for one in each.values()), key))


def partition_groups(
    blocks: Sequence[Sequence[int]], k: int, probability: fmpq, rule: str, last: str
) -> list[tuple[tuple[int, ...], int, str]]:
    """What Partitioned Probabilistic Neighbor Selection (Algorithm 1, or another reading) draws, and from where.

    Args:
        blocks: the partitions, from the most similar on.
        k: number of neighbors, and size of a partition.
        probability: p, in (0, 1).
        rule: `algorithm` (ceilings up to k - 1, then one neighbor from the unvisited partitions), `original` (ceilings
            up to k), or `formula` (eqs. 18-19: rounded quotas, at least 1, up to k).
        last: the last neighbor of `algorithm` is drawn by weight (`exponential`) or `uniform`.

    Returns:
        (rows, number of draws from them, `exponential` or `uniform`) for each pool.

    Raises:
        Undefined: no partition is left for the last neighbor, or there are too few candidates.
    """
    if not 0 < probability < 1:
        raise Rejected(f"probability is {show(probability)}: it must lie strictly between 0 and 1")
    missing = k - 1 if rule == "algorithm" else k
    groups: list[tuple[tuple[int, ...], int, str]] = []
    while missing:
        if len(groups) == len(blocks):
            raise Undefined(f"{missing} neighbors are missing after the last partition")
        block = blocks[len(groups)]
        expected = probability * (1 - probability) ** len(groups) * k
        quota = max(1, int((expected + fmpq(1, 2)).floor())) if rule == "formula" else int(expected.ceil())
        taken = min(quota, missing, len(block))
        groups.append((tuple(block), taken, "exponential"))
        missing -= taken
    if rule == "algorithm":
        unvisited = tuple(row for block in blocks[len(groups) :] for row in block)
        if not unvisited:
            raise Undefined("no unvisited partition is left for the last neighbor")
        groups.append((unvisited, 1, last))
    return groups


def partition_law(
    blocks: Sequence[Sequence[int]], weights: Mapping[int, Any], k: int, probability: fmpq, rule: str, last: str
) -> Law:
    """Law of Partitioned Probabilistic Neighbor Selection; see `partition_groups`."""
    law: Law = {(): fmpq(1)}
    for rows, count, how in partition_groups(blocks, k, probability, rule, last):
        law = _joined(law, draws({row: weights[row] if how == "exponential" else fmpq(1) for row in rows}, count))
    return law


def pncf_law(
    squares: Mapping[int, fmpq],
    k: int,
    margin: Any,
    weigh: Callable[[Mapping[int, Any]], dict[int, Any]],
    truncation: str,
) -> Law:
    """Law of PNCF's truncated selection, lambda = min(sim_k, margin).

    Args:
        squares: signed squares of the similarities.
        k: number of neighbors.
        margin: (4k RS/eps) ln(k(n-k)/rho), >= 0; None when it is infinite.
        weigh: from signed squares (or `Raised` scores) to weights.
        truncation: `hard` (above sim_k + lambda surely, below sim_k - lambda never), or `soft` (similarities raised to
            sim_k - lambda, all drawn by weight).

    Raises:
        Rejected: a comparison is undecided at the working precision.
        Undefined: more than k are selected surely, which happens when sim_k, and so lambda, is negative.
    """
    kth = sorted(squares.values())[-k]
    if margin is None or _sign(margin - signed_root(kth)) > 0:
        # lambda = sim_k: the borders are 0 and 2 sim_k, exact on squares.
        floor: Any = fmpq(0)
        above = {row for row, square in squares.items() if square > 4 * kth}
        below = {row for row, square in squares.items() if square < 0}
    else:
        floor = signed_root(kth) - margin
        away = {
            row: fmpq(0) if square == kth else signed_root(square) - signed_root(kth) for row, square in squares.items()
        }
        above = {row for row, distance in away.items() if _sign(distance - margin) > 0}
        below = {row for row, distance in away.items() if _sign(distance + margin) < 0}
    if truncation == "soft":
        raised = Raised(floor)
        return draws(weigh({row: raised if row in below else square for row, square in squares.items()}), k)
    if len(above) > k:
        raise Undefined(f"{len(above)} candidates are selected surely, {k} are to be")
    possible = {row: square for row, square in squares.items() if row not in above | below}
    return _joined({tuple(sorted(above)): fmpq(1)}, draws(weigh(possible), k - len(above)))


@dataclass(frozen=True)
class _Sensitivity:
    """RS of one candidate: its value (None when infinite) and an exact key, equal for equal values."""

    value: Any
    key: Any


_INFINITE = _Sensitivity(None, "infinite")


def _similarity_square(a: Ratings, b: Ratings, similarity: str) -> fmpq:
    """Signed square of equation (4) or (5); without a co-rated item, or over a zero norm, the similarity is 0."""
    pairs = shared(a, b)
    if not pairs:
        return fmpq(0)
    if similarity == "full_cosine":
        return signed_square(sum((x * y for x, y in pairs), fmpq(0)), square_norm(a) * square_norm(b))
    if similarity == "pearson":
        mean1, mean2 = (sum((x for x in r if x is not None), fmpq(0)) / sum(x is not None for x in r) for r in (a, b))
        pairs = [(x - mean1, y - mean2) for x, y in pairs]
    square = square_norm(x for x, _ in pairs) * square_norm(y for _, y in pairs)
    return signed_square(sum((x * y for x, y in pairs), fmpq(0)), square)


def _floor_cosine_square(a: Ratings, b: Ratings, floor: fmpq, most: fmpq) -> fmpq:
    """Signed square of <a, b> / (max(|a|, c) max(|b|, c)), of ratings clipped to [0, most]."""
    if floor <= 0 or most <= 0:
        raise Rejected("norm_floor and max_rating must be positive")
    a, b = ([None if x is None else min(max(x, fmpq(0)), most) for x in ratings] for ratings in (a, b))
    square = max(square_norm(a), floor**2) * max(square_norm(b), floor**2)
    return signed_square(sum((x * y for x, y in shared(a, b)), fmpq(0)), square)


def _sensitivity(a: Ratings, b: Ratings, *, full: bool, dot: bool) -> _Sensitivity:
    """RS of equation (3) for one pair; `dot` puts the scalar product into its second term.

    Ratings are >= 0, so the second term as printed never exceeds the first: r_as r_is (1/(|r'||r'|) - 1/(|r||r|)).
    """
    pairs = shared(a, b)
    if any(x < 0 for pair in pairs for x in pair):
        raise Rejected("equation (3) is checked for ratings >= 0")
    if not pairs:
        return _Sensitivity(fmpq(0), fmpq(0))
    norm1, norm2 = (square_norm(a), square_norm(b)) if full else (square_norm(r) for r in zip(*pairs, strict=True))
    without = [(norm1 - x * x) * (norm2 - y * y) for x, y in pairs]
    if 0 in without:
        return _INFINITE
    square = max((x * y) ** 2 / rest for (x, y), rest in zip(pairs, without, strict=True))
    if not dot or square == 0:
        return _Sensitivity(root(square), square)
    product = sum((x * y for x, y in pairs), fmpq(0))
    second = maximum(product * (1 / root(rest) - 1 / root(norm1 * norm2)) for rest in without)
    return _Sensitivity(maximum([root(square), second]), (tuple(pairs), norm1, norm2))


def _joined(law: Law, independent: Law) -> Law:
    """Law of the union of two independent selections from disjoint pools."""
    return {
        tuple(sorted((*rows, *others))): chance * further
        for rows, chance in law.items()
        for others, further in independent.items()
    }


def _mixed(parts: Sequence[tuple[Law, int]]) -> Law:
    """Mixture of laws, each with its count of equally likely cases."""
    total = sum(count for _, count in parts)
    law: Law = {}
    for part, count in parts:
        for rows, chance in part.items():
            law[rows] = law.get(rows, fmpq(0)) + chance * fmpq(count, total)
    return law


def _sign(value: Any) -> int:
    """1, 0 or -1 with certainty; 0 only for an exact number.

    Raises:
        Rejected: a ball that contains 0.
    """
    if value > 0:
        return 1
    if value < 0:
        return -1
    if is_zero(value):
        return 0
    raise Rejected("a comparison of similarities is undecided at the working precision")
