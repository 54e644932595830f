"""Exact laws of X-Map's replacement selection and neighbor selection of items, written from the definitions alone.

Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations", technical report: Theorem 1 (PRS), Theorems 2 to 4
(PNSA), the released code's readings of both, and our repairs. A similarity is a signed square root of a rational, so
that order, ties and zeros are decided exactly, on signed squares.

Outputs: (item,) for PRS, the ascending item numbers of the neighbors for PNSA. A dataset has one row per user.
"""

from collections.abc import Mapping, Sequence
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
from dpassay.replay.numbers import integer, maximum, rational, root

_REPLACEMENT = {"epsilon", "source_item", "num_source_items", "similarity", "norms", "significance_cap"}
_NEIGHBORS = {"epsilon", "num_neighbors", "target"}
_PARAMETERS: Mapping[tuple[str, str], tuple[set[str], ...]] = {
    ("prs", "paper"): (_REPLACEMENT | {"sensitivity"},),
    ("prs", "released"): (_REPLACEMENT | {"list_size"},),
    ("prs", "repaired"): (_REPLACEMENT,),
    ("pnsa", "paper"): (_NEIGHBORS | {"rho", "similarity", "norms"},),
    ("pnsa", "released"): (_NEIGHBORS | {"significance_cap"},),
    ("pnsa", "repaired"): (_NEIGHBORS | {"similarity", "threshold", "width"},),
}
_SIMILARITIES = ("adjusted_cosine", "cosine")
_POSITIVE = ("epsilon", "sensitivity", "threshold", "width")


def law(mechanism: Mapping[str, Any], dataset: Dataset) -> Law:
    """Law of the released item or items.

    Raises:
        Rejected: an unknown mechanism or parameter, or more candidates or neighbors than this checker takes.
        Undefined: no candidate, or fewer than neighbors.
    """
    parameters = _checked(mechanism)
    weigh = _replacement_weights if mechanism["id"] == "prs" else _neighbor_weights
    weights = weigh(mechanism["variant"], parameters, dataset)
    count = 1 if mechanism["id"] == "prs" else integer(parameters["num_neighbors"], "num_neighbors", at_least=1)
    if len(weights) > MAX_CANDIDATES or count > MAX_NEIGHBORS:
        raise Rejected(f"this checker takes at most {MAX_CANDIDATES} candidates and {MAX_NEIGHBORS} neighbors")
    if len(weights) < count:
        raise Undefined(f"{len(weights)} candidates for {count} draws")
    return draws(weights, count)


def read_output(output: Sequence[Any], mechanism: Mapping[str, Any], dataset: Dataset) -> tuple[int, ...]:
    """One output; raises `Rejected` for anything that is no output of the mechanism."""
    parameters = _checked(mechanism)
    if mechanism["id"] != "prs":
        return read_numbers(output, parameters, len(dataset[0]), "numbers of other items")
    items = tuple(integer(item, "an item number") for item in output)
    first = integer(parameters["num_source_items"], "num_source_items", at_least=1)
    if len(items) != 1 or not first <= items[0] < len(dataset[0]):
        raise Rejected(f"{list(items)} is not an output: one item of the target domain")
    return items


def _checked(mechanism: Mapping[str, Any]) -> Mapping[str, Any]:
    repaired = (mechanism["id"], mechanism["variant"]) == ("pnsa", "repaired")
    similarities = (*_SIMILARITIES, "normalized") if repaired else _SIMILARITIES
    choices = {"similarity": similarities, "norms": ("all", "co_raters")}
    return read_parameters(mechanism, _PARAMETERS, choices, _POSITIVE)


def _replacement_weights(variant: str, parameters: Mapping[str, Any], dataset: Dataset) -> dict[int, Any]:
    """Weights exp(epsilon q / (2 GS)) of the candidates."""
    source = integer(parameters["source_item"], "source_item")
    first = integer(parameters["num_source_items"], "num_source_items", at_least=1)
    cap = integer(parameters["significance_cap"], "significance_cap", at_least=1)
    if source >= first:
        raise Rejected(f"item {source} does not lie in the source domain, the first {first} items")
    if first >= len(dataset[0]):
        raise Undefined("no item is left for the target domain")
    columns = _columns(dataset, parameters["similarity"])
    squares: dict[int, fmpq] = {}
    quantified: set[int] = set()
    for item in range(first, len(columns)):
        pairs = shared(columns[source], columns[item])
        product, square = _moments(columns[source], columns[item], parameters["norms"])
        factor = fmpq(min(len(pairs), cap), cap)
        squares[item] = signed_square(product, square) * factor**2
        if pairs and square != 0:
            quantified.add(item)
    if variant == "paper":
        squares = {item: square for item, square in squares.items() if item in quantified}
        sensitivity = rational(parameters["sensitivity"])
    elif variant == "released":
        linked = [item for item, square in squares.items() if square != 0]
        linked.sort(key=lambda item: (-abs(squares[item]), item))
        size = integer(parameters["list_size"], "list_size", at_least=1)
        squares = {item: squares[item] for item in sorted(linked[:size])}
        sensitivity = fmpq(1 if parameters["similarity"] == "cosine" else 2)
    else:
        sensitivity = fmpq(2)
    scale = rational(parameters["epsilon"]) / (2 * sensitivity)
    return {item: exponential(scale * signed_root(square)) for item, square in squares.items()}


def _neighbor_weights(variant: str, parameters: Mapping[str, Any], dataset: Dataset) -> dict[int, Any]:
    """Weights exp(epsilon score / (4 k S)) of the candidates."""
    target = integer(parameters["target"], "target")
    k = integer(parameters["num_neighbors"], "num_neighbors", at_least=1)
    if target >= len(dataset[0]):
        raise Undefined(f"target {target} is not an item of the dataset")
    scale = rational(parameters["epsilon"]) / (4 * k)
    if variant == "released":
        return _released_weights(target, scale, parameters, dataset)
    others = [item for item in range(len(dataset[0])) if item != target]
    if len(others) < k:
        raise Undefined(f"{len(others)} candidates for {k} draws")
    if variant == "repaired":
        squares, sensitivity = _repaired_squares(target, parameters, dataset)
        floor = _kth(squares, k) - rational(parameters["width"])
        scores = {item: maximum([signed_root(square), floor]) for item, square in squares.items()}
        return {item: exponential(scale * score / sensitivity) for item, score in scores.items()}
    columns, norms = _columns(dataset, parameters["similarity"]), parameters["norms"]
    squares = {item: signed_square(*_moments(columns[target], columns[item], norms)) for item in others}
    sensitivities = {item: _sensitivity(columns[target], columns[item], norms) for item in others}
    margin = truncation_margin(list(sensitivities.values()), k, parameters)
    floor = fmpq(0) if margin is None else maximum([fmpq(0), _kth(squares, k) - margin])  # sim_k - min(sim_k, margin)
    weights: dict[int, Any] = {}
    for item, square in squares.items():
        usable = sensitivities[item] is not None and not is_zero(sensitivities[item])
        score = maximum([signed_root(square), floor])
        weights[item] = exponential(scale * score / sensitivities[item]) if usable else fmpq(1)
    return weights


def _released_weights(target: int, scale: fmpq, parameters: Mapping[str, Any], dataset: Dataset) -> dict[int, Any]:
    cap = integer(parameters["significance_cap"], "significance_cap", at_least=1)
    columns = _columns(dataset, "cosine")
    own = columns[target]
    weights: dict[int, Any] = {}
    for item, other in enumerate(columns):
        pairs = shared(own, other)
        if item == target or not pairs:
            continue
        product, count = sum((x * y for x, y in pairs), fmpq(0)), len(pairs)
        norm1, norm2 = square_norm(own), square_norm(other)
        whole = _weighted_square(product, norm1 * norm2, count, cap)
        without = [
            _weighted_square(product - x * y, square, count - 1, cap)
            for x, y in pairs
            for square in ((norm1 - x * x) * norm2, norm1 * (norm2 - y * y))
        ]
        changed = [square for square in without if square != whole]
        if not changed:
            weights[item] = fmpq(1)
            continue
        sensitivity = maximum(abs(signed_root(square) - signed_root(whole)) for square in changed)
        weights[item] = exponential(scale * signed_root(whole) / sensitivity)
    return weights


def _repaired_squares(target: int, parameters: Mapping[str, Any], dataset: Dataset) -> tuple[dict[int, fmpq], fmpq]:
    """Signed squares of the similarities, and the constant GS."""
    normalized = parameters["similarity"] == "normalized"
    columns = _columns(dataset, "adjusted_cosine" if normalized else parameters["similarity"])
    others = {item: column for item, column in enumerate(columns) if item != target}
    if not normalized:
        return {item: signed_square(*_moments(columns[target], other, "all")) for item, other in others.items()}, fmpq(
            2
        )
    threshold = rational(parameters["threshold"])
    norms = [square_norm(row) for row in zip(*columns, strict=True)]
    squares = {}
    for item, other in others.items():
        cells = zip(columns[target], other, norms, strict=True)
        total = sum((x * y / norm for x, y, norm in cells if x is not None and y is not None and norm != 0), fmpq(0))
        clipped = max(fmpq(-1), min(fmpq(1), total / threshold))
        squares[item] = abs(clipped) * clipped
    return squares, min(fmpq(2), 1 / (2 * threshold))


def _columns(dataset: Dataset, similarity: str) -> list[list[fmpq | None]]:
    """One list per item, of ratings; for the adjusted cosine less each user's mean."""
    rows = []
    for row in dataset:
        present = [value for value in row if value is not None]
        mean = sum(present, fmpq(0)) / len(present) if present and similarity == "adjusted_cosine" else fmpq(0)
        rows.append([None if value is None else value - mean for value in row])
    return [list(column) for column in zip(*rows, strict=True)]


def _moments(a: Ratings, b: Ratings, norms: str) -> tuple[fmpq, fmpq]:
    """Scalar product, and product of the squared norms."""
    pairs = shared(a, b)
    product = sum((x * y for x, y in pairs), fmpq(0))
    if norms == "all":
        return product, square_norm(a) * square_norm(b)
    return product, square_norm([x for x, _ in pairs]) * square_norm([y for _, y in pairs])


def _weighted_square(product: fmpq, square: fmpq, count: int, cap: int) -> fmpq:
    return signed_square(product, square) * fmpq(min(count, cap), cap) ** 2


def _sensitivity(a: Ratings, b: Ratings, norms: str) -> Any:
    """SS of Theorem 2 where it is positive, else exactly 0; None when it is infinite.

    Its sign is exact: that of a first term is the product's, that of a second one the scalar product's or 0.
    """
    pairs = shared(a, b)
    if not pairs:
        return fmpq(0)
    product, square = _moments(a, b, norms)
    counted = (a, b) if norms == "all" else tuple(zip(*pairs, strict=True))
    norm1, norm2 = (square_norm(values) for values in counted)
    rests = [(norm1 - x * x) * (norm2 - y * y) for x, y in pairs]
    if 0 in rests:
        return None
    terms = [x * y / root(rest) for (x, y), rest in zip(pairs, rests, strict=True) if x * y > 0]
    if product > 0:
        terms += [product * (1 / root(rest) - 1 / root(square)) for rest in rests if rest < square]
    return maximum(terms) if terms else fmpq(0)


def _kth(squares: Mapping[int, fmpq], k: int) -> Any:
    """The k-th largest similarity, found on signed squares."""
    return signed_root(sorted(squares.values())[-k])
