"""X-SIM: similarity of a source-domain item and a target-domain item over meta-paths. A building block, not private.

Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations" (X-Map), where its report of proofs leaves X-SIM
undefined; the definitions here are those of the released code:

* baseline similarity s: adjusted cosine, norms over all raters, times min(co-raters, 50) / 50;
* significance S: co-raters who both rate the two items at least the items' means, or both below; normalized by the
  number of users who rated either item it is the certainty of a link. A pair is linked where s and S are not 0;
* layers of a domain: bridges (BB) linked to the other domain; next to bridges (NB); and the rest, next to those (NN);
* links kept: of a bridge its k strongest (by |s|) to the other domain, of an NB item its k strongest to bridges and to
  NN items of its domain;
* meta-paths NN-NB-BB-BB-NB-NN with one kept link between the domains, shortened at either end; similarity of a path
  sum S s / sum S, certainty the product of its links' certainties; X-SIM = the mean of the paths' similarities weighted
  by their certainties.

The paths are never listed. 1 / sum S couples the links of a path, but 1/x is a sum of exponentials w exp(-t x) to
twelve digits, and exp(-t sum S) is a product over the links. So every t gives a product of small matrices.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.shapes import Bool, Float
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.batched_items import compared_values

Variant = Literal["paper", "released"]
STEP = 0.3  # of the trapezoidal rule in log t; the relative error is about exp(-pi^2 / STEP)


@dataclass(frozen=True, eq=False)
class Links:
    """The baseline graph of all items.

    Attributes:
        similarity: s, shape (items, items); 0 where there is no link.
        significance: S, shape (items, items); 0 where there is no link.
        certainty: S over the number of users who rated either item.
        layers: of every item: 0 bridge, 1 next to a bridge, 2 next to those, 3 none of these; shape (items,).
    """

    similarity: Float[np.ndarray, "items items"]
    significance: Float[np.ndarray, "items items"]
    certainty: Float[np.ndarray, "items items"]
    layers: Float[np.ndarray, " items"]


def item_links(dataset: Any, num_source_items: int, significance_cap: int = 50) -> Links:
    """Similarities, significances and layers of all items.

    Args:
        dataset: ratings, shape (users, items), NaN where missing.
        num_source_items: how many columns, the first ones, are the source domain.
        significance_cap: c in the factor min(co-raters, c) / c.

    Raises:
        InvalidInput: no matrix, or a domain without items.
    """
    matrix = np.asarray(dataset.dense() if isinstance(dataset, Ratings) else dataset, float)
    if matrix.ndim != 2 or not 0 < num_source_items < matrix.shape[1]:
        raise InvalidInput(
            f"num_source_items is {num_source_items} for a dataset of shape {matrix.shape}; give a matrix (users, "
            "items) and leave at least one item in either domain"
        )
    present, filled = ~np.isnan(matrix), np.nan_to_num(matrix)
    centered, rated = compared_values(matrix, "paper")  # dot products that cancel are cleared below
    norms = np.sqrt((centered**2).sum(0))
    product = np.outer(norms, norms)
    # Counts are exact in single precision, and twice as fast.
    voted = present.astype(np.float32)
    common = (voted.T @ voted).astype(float)
    cosine = np.divide(centered.T @ centered, product, out=np.zeros_like(product), where=product > 0)
    similarity = np.where(np.abs(cosine) > 1e-12, cosine, 0.0) * np.minimum(common, significance_cap) / significance_cap
    raters = rated.sum(0)
    high = (present & (raters * filled >= filled.sum(0))).astype(np.float32)
    low = voted - high
    significance = (high.T @ high + low.T @ low).astype(float)
    linked = (similarity != 0) & (significance > 0) & ~np.eye(len(raters), dtype=bool)
    either = raters[:, None] + raters[None, :] - common
    certainty = np.divide(significance, either, out=np.zeros_like(significance), where=linked)
    layers = _layers(linked, num_source_items)
    return Links(np.where(linked, similarity, 0.0), np.where(linked, significance, 0.0), certainty, layers)


def xsim(
    dataset: Any, num_source_items: int, *, num_links: int = 10, significance_cap: int = 50, variant: Variant = "paper"
) -> Float[np.ndarray, "sources targets"]:
    """X-SIM of every source-domain item with every target-domain item; NaN where no path leads from one to the other.

    Args:
        dataset: ratings, shape (users, items), NaN where missing.
        num_source_items: how many columns, the first ones, are the source domain.
        num_links: k, the links that an item keeps to one layer.
        significance_cap: c in the factor min(co-raters, c) / c.
        variant: "paper" takes every path; "released" loses, as the released code does, all paths over a source-domain
            bridge that no NB item of its domain is linked to.

    Raises:
        InvalidInput: as `item_links`, fewer than one link, or an unknown variant.
    """
    if num_links < 1 or variant not in get_args(Variant):
        raise InvalidInput(f"num_links is {num_links} and variant {variant!r}; use at least 1, and paper or released")
    links = item_links(dataset, num_source_items, significance_cap)
    items = np.arange(len(links.layers))
    domains = [items < num_source_items, items >= num_source_items]
    bridges, near, far = (
        [np.flatnonzero((links.layers == layer) & domain) for domain in domains] for layer in (0, 1, 2)
    )
    # Links inside either domain, NB to bridges and NN to NB, and between the domains, where either end may keep one.
    inner = [_kept(links, one, two, num_links) for one, two in zip(near, bridges, strict=True)]
    outer = [_kept(links, one, two, num_links).T for one, two in zip(near, far, strict=True)]
    across: np.ndarray = np.logical_or(
        _kept(links, bridges[0], bridges[1], num_links), _kept(links, bridges[1], bridges[0], num_links).T
    )
    if variant == "released":
        across[~inner[0].any(axis=0)] = False
    # Paths of several links use only bridges that something in their domain is linked to.
    used = [np.flatnonzero(kept.any(axis=0)) for kept in inner]
    sides = [
        (_edges(links, near[i], bridges[i][used[i]], inner[i][:, used[i]]), _edges(links, far[i], near[i], outer[i]))
        for i in (0, 1)
    ]
    leaving = _edges(links, bridges[0][used[0]], bridges[1], across[used[0]])
    entering = _edges(links, bridges[0], bridges[1][used[1]], across[:, used[1]])

    def paths(time: float) -> list[_Sum]:
        """Of paths of several links: from other items to bridges, from bridges to other items, between others."""
        one, two = (_partial(*side, time) for side in sides)
        back = _Sum(two.value.T, two.slope.T)
        first = one @ leaving.at(time)
        return [first, entering.at(time) @ back, _Sum(first.value[:, used[1]], first.slope[:, used[1]]) @ back]

    others = [np.concatenate([near[i], far[i]]) for i in (0, 1)]
    result = np.full((num_source_items, len(items) - num_source_items), np.nan)
    direct = np.where(across, links.similarity[np.ix_(*bridges)], np.nan)  # a single link is its own mean
    result[np.ix_(bridges[0], bridges[1] - num_source_items)] = direct
    if len(others[0]) or len(others[1]):
        totals = [np.zeros_like(each.value) for each in paths(0.0)]
        for time, weight in zip(*reciprocal_sum(5 * float(links.significance.max())), strict=True):
            for total, each in zip(totals, paths(time), strict=True):
                total += weight * each.slope
        ends = ((others[0], bridges[1]), (bridges[0], others[1]), (others[0], others[1]))
        for (rows, columns), total, each in zip(ends, totals, paths(0.0), strict=True):
            mean = np.divide(total, each.value, out=np.full_like(total, np.nan), where=each.value > 0)
            result[np.ix_(rows, columns - num_source_items)] = mean
    return result


def reciprocal_sum(largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Times t and weights w, shape (nodes,): sum w exp(-t x) = 1/x for x in [1, largest], relative error below 1e-11.

    The trapezoidal rule for the integral of exp(u - x e^u) over u. The many nodes where x t is tiny act as one, at
    their mean.
    """
    grid = np.arange(math.floor(math.log(1e-13 / largest) / STEP), math.ceil(math.log(32.0) / STEP) + 1) * STEP
    times, weights = np.exp(grid), STEP * np.exp(grid)
    tiny = times * largest < 1e-4
    mean = (times[tiny] * weights[tiny]).sum() / weights[tiny].sum()
    return np.append(mean, times[~tiny]), np.append(weights[tiny].sum(), weights[~tiny])


class _Sum(NamedTuple):
    """Over paths: sum of certainty e^(-t sum S), and of the same times sum S s. Products join paths end to end."""

    value: np.ndarray
    slope: np.ndarray

    def __matmul__(self, other: "_Sum") -> "_Sum":
        return _Sum(self.value @ other.value, self.slope @ other.value + self.value @ other.slope)


@dataclass(frozen=True, eq=False)
class _Edges:
    """The kept links between two layers."""

    certainty: np.ndarray
    significance: np.ndarray
    weighted: np.ndarray

    def at(self, time: float) -> _Sum:
        value = self.certainty * np.exp(-time * self.significance)
        return _Sum(value, value * self.weighted)


def _edges(links: Links, rows: np.ndarray, columns: np.ndarray, kept: Bool[np.ndarray, "rows columns"]) -> _Edges:
    place = np.ix_(rows, columns)
    significance = links.significance[place]
    certainty = np.where(kept, links.certainty[place], 0.0)
    return _Edges(certainty, significance, significance * links.similarity[place])


def _partial(inner: _Edges, outer: _Edges, time: float) -> _Sum:
    """The paths from a domain's NB items, then its NN items, to its bridges."""
    near = inner.at(time)
    far = outer.at(time) @ near
    return _Sum(np.concatenate([near.value, far.value]), np.concatenate([near.slope, far.slope]))


def _layers(linked: Bool[np.ndarray, "items items"], num_source_items: int) -> np.ndarray:
    source = np.arange(len(linked)) < num_source_items
    same = source[:, None] == source[None, :]
    bridge = (linked & ~same).any(1)
    near = ~bridge & (linked & same & bridge).any(1)
    far = ~bridge & ~near & (linked & same & near).any(1)
    return np.select([bridge, near, far], [0, 1, 2], 3)


def _kept(links: Links, rows: np.ndarray, columns: np.ndarray, num_links: int) -> Bool[np.ndarray, "rows columns"]:
    """Of every row its strongest links to the columns, ties by lower column."""
    # Sizes that differ by rounding are equal.
    size = np.round(np.abs(links.similarity[np.ix_(rows, columns)]), 12)
    order = np.argsort(-size, axis=1, kind="stable")[:, :num_links]
    chosen = np.zeros(size.shape, bool)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & (size > 0)
