"""X-SIM of thousands of items: `dpassay.mechanisms.xsim` with sparse matrices, equal to it up to rounding.

Similarities are computed for pairs that share a rater only, and the paths over the few kept links of every item are
listed, a link at a time. (The mechanism never lists them, and needs matrices of the size items x items.) What is stored
in a result is quantified, also where its value is 0.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from dpassay.mechanisms.xsim import Variant


class _Columns(NamedTuple):
    """Some items of one domain as columns, and what their links are computed from; accounts are rows.

    Attributes:
        centered: ratings less the user's mean.
        voted: 1 for each.
        side: 1 for each that is at least the item's mean, -1 for the others.
        norms: of the centered columns.
        raters: how many users rated each.
    """

    centered: csc_matrix
    voted: csc_matrix
    side: csc_matrix
    norms: np.ndarray
    raters: np.ndarray

    def of(self, items: np.ndarray) -> "_Columns":
        return _Columns(*(part[:, items] for part in self[:3]), *(part[items] for part in self[3:]))


class _Links(NamedTuple):
    """Kept links between two lists of items, as parallel arrays."""

    rows: np.ndarray
    columns: np.ndarray
    similarity: np.ndarray
    significance: np.ndarray
    certainty: np.ndarray

    @property
    def transposed(self) -> "_Links":
        return self._replace(rows=self.columns, columns=self.rows)

    def where(self, chosen: np.ndarray) -> "_Links":
        return _Links(*(each[chosen] for each in self))


class _Paths(NamedTuple):
    """Meta-paths as parallel arrays: where they start and end, certainty, sum S, and sum S s over their links."""

    starts: np.ndarray
    ends: np.ndarray
    certainty: np.ndarray
    significance: np.ndarray
    weighted: np.ndarray


_Both = TypeVar("_Both", _Links, _Paths)


def xsim(
    source: csr_matrix,
    target: csr_matrix,
    *,
    num_links: int = 10,
    significance_cap: int = 50,
    variant: Variant = "paper",
) -> csr_matrix:
    """X-SIM of every source-domain item with every target-domain item, see `dpassay.mechanisms.xsim`.

    Ratings of source and target have shape (accounts, items). An item keeps k = `num_links` links to one layer, and the
    cap is c in the factor min(co-raters, c) / c; the variant "released" has the released code's lost paths.

    Returns:
        Shape (source items, target items); stored where a path leads from one to the other.
    """
    domains = _columns(source, target)
    ends = [part.raters.size for part in domains]
    kept = [_kept(domains[i], domains[1 - i], num_links, significance_cap) for i in (0, 1)]
    bridges = [np.unique(links.rows) for links in kept]
    rest = [np.setdiff1d(np.arange(size), bridge) for size, bridge in zip(ends, bridges, strict=True)]
    # Links inside a domain: NB to bridges, and NB to NN. Rows and columns are item numbers of the domain.
    inner, outer, near = [], [], []
    for part, others, bridge in zip(domains, rest, bridges, strict=True):
        first = _numbered(_kept(part.of(others), part.of(bridge), num_links, significance_cap), others, bridge)
        beside = np.unique(first.rows)
        beyond = np.setdiff1d(others, beside)
        second = _kept(part.of(beside), part.of(beyond), num_links, significance_cap)
        inner.append(first)
        outer.append(_numbered(second, beside, beyond))
        near.append(beside)
    across = _union(kept[0], kept[1].transposed, ends[1])
    if variant == "released":
        across = across.where(np.isin(across.rows, inner[0].columns))
    forth, back = (
        _joined(_paths(first), _join(_paths(second.transposed), _paths(first)))
        for first, second in zip(inner, outer, strict=True)
    )
    back = back._replace(starts=back.ends, ends=back.starts)
    over = _paths(across)
    leaving = _join(forth, over)
    parts = [_means(each, ends[1]) for each in (over, leaving, _join(over, back), _join(leaving, back))]
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return csr_matrix((values, (rows, columns)), (ends[0], ends[1]))


def direct_similarities(source: csr_matrix, target: csr_matrix, significance_cap: int = 50) -> csr_matrix:
    """X-SIM without meta-paths: the weighted adjusted cosine of every pair that shares a rater.

    Arguments are those of `xsim`.

    Returns:
        Shape (source items, target items); stored where the similarity is quantified, as
        `dpassay.mechanisms.item_similarity.quantified_items` has it.
    """
    one, two = _columns(source, target)
    rows, columns, dots, common, _ = _pairs(one, two)
    norms = one.norms[rows] * two.norms[columns]
    quantified = norms > 0
    weight = np.minimum(common, significance_cap) / significance_cap
    values = np.divide(weight * dots, norms, out=np.zeros_like(norms), where=quantified)
    place = (rows[quantified], columns[quantified])
    return csr_matrix((values[quantified], place), (source.shape[1], target.shape[1]))


def _columns(source: csr_matrix, target: csr_matrix) -> list[_Columns]:
    counts = np.maximum(np.diff(source.indptr) + np.diff(target.indptr), 1)
    totals = np.asarray(source.sum(1)).ravel() + np.asarray(target.sum(1)).ravel()
    result = []
    for part in (source, target):
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        # A rating that equals the mean gives exactly 0.
        centered = (counts[rows] * part.data - totals[rows]) / counts[rows]
        raters = np.bincount(part.indices, minlength=part.shape[1]).astype(float)
        sums = np.bincount(part.indices, part.data, part.shape[1])
        side = np.where(raters[part.indices] * part.data >= sums[part.indices], 1.0, -1.0)
        stars, ones, sides = (
            csc_matrix((data, (rows, part.indices)), part.shape) for data in (centered, np.ones_like(side), side)
        )
        norms = np.sqrt(np.bincount(part.indices, centered**2, part.shape[1]))
        result.append(_Columns(stars, ones, sides, norms, raters))
    return result


def _pairs(one: _Columns, two: _Columns) -> tuple[np.ndarray, ...]:
    """All pairs that share a rater, in order: rows, columns, dot products, co-raters, and how often they agree."""
    products = [(getattr(one, name).T @ getattr(two, name)).tocoo() for name in ("voted", "centered", "side")]
    keys = [each.row * np.int64(two.raters.size) + each.col for each in products]
    pairs = np.sort(keys[0])
    values = []
    for each, key in zip(products, keys, strict=True):  # sums that cancel are not stored
        values.append(np.zeros(len(pairs)))
        values[-1][np.searchsorted(pairs, key)] = each.data
    common, dots, sides = values
    return pairs // two.raters.size, pairs % two.raters.size, dots, common, (common + sides) / 2


def _kept(one: _Columns, two: _Columns, num_links: int, significance_cap: int) -> _Links:
    """Of every item of `one` its strongest links to items of `two`, ties by lower column."""
    rows, columns, dots, common, significance = _pairs(one, two)
    norms = one.norms[rows] * two.norms[columns]
    cosine = np.divide(dots, norms, out=np.zeros_like(norms), where=norms > 0)
    weight = np.minimum(common, significance_cap) / significance_cap
    similarity = np.where(np.abs(cosine) > 1e-12, cosine, 0.0) * weight
    # Sizes that differ by rounding are equal.
    size = np.where(significance > 0, np.round(np.abs(similarity), 12), 0.0)
    linked = np.flatnonzero(size)
    order = linked[np.lexsort((-size[linked], rows[linked]))]
    place = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    chosen = order[place < num_links]
    either = one.raters[rows[chosen]] + two.raters[columns[chosen]] - common[chosen]
    links = _Links(rows, columns, similarity, significance, significance).where(chosen)
    return links._replace(certainty=links.significance / either)


def _numbered(links: _Links, rows: np.ndarray, columns: np.ndarray) -> _Links:
    """Links between lists of items with the items' own numbers."""
    return links._replace(rows=rows[links.rows], columns=columns[links.columns])


def _joined(one: _Both, two: _Both) -> _Both:
    """The links, or the paths, of one and then of the other."""
    return type(one)(*map(np.concatenate, zip(one, two, strict=True)))


def _union(one: _Links, two: _Links, num_columns: int) -> _Links:
    both = _joined(one, two)
    return both.where(np.unique(both.rows * num_columns + both.columns, return_index=True)[1])


def _paths(links: _Links) -> _Paths:
    return _Paths(links.rows, links.columns, links.certainty, links.significance, links.significance * links.similarity)


def _join(one: _Paths, two: _Paths) -> _Paths:
    """Every path of `one` followed by every path of `two` that starts where it ends."""
    order = np.argsort(two.starts, kind="stable")
    first, last = (np.searchsorted(two.starts[order], one.ends, side) for side in ("left", "right"))
    count = last - first
    left = np.repeat(np.arange(len(count)), count)
    right = order[np.arange(len(left)) + np.repeat(first - (np.cumsum(count) - count), count)]
    return _Paths(
        one.starts[left],
        two.ends[right],
        one.certainty[left] * two.certainty[right],
        one.significance[left] + two.significance[right],
        one.weighted[left] + two.weighted[right],
    )


def _means(paths: _Paths, num_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the paths, and the mean of their similarities weighted by their certainties."""
    pairs, which = np.unique(paths.starts * num_columns + paths.ends, return_inverse=True)
    total = np.bincount(which, paths.certainty * paths.weighted / paths.significance)
    return pairs // num_columns, pairs % num_columns, total / np.bincount(which, paths.certainty)
