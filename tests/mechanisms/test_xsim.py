"""X-SIM against a literal reading of its definition that lists every path."""

import itertools
import time

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.xsim import item_links, reciprocal_sum, xsim

NAN = np.nan


def literal(matrix, split, num_links, cap, released=False):
    """{(source item, target item): X-SIM} by enumeration of the paths, in plain Python."""
    users, items = matrix.shape
    ratings = [{u: matrix[u, i] for u in range(users) if not np.isnan(matrix[u, i])} for i in range(items)]
    own = [[v for v in row if not np.isnan(v)] for row in matrix]
    mean = [sum(row) / len(row) if row else 0.0 for row in own]
    s, S, c = {}, {}, {}
    for i, j in itertools.permutations(range(items), 2):
        both = ratings[i].keys() & ratings[j].keys()
        dot = sum((ratings[i][u] - mean[u]) * (ratings[j][u] - mean[u]) for u in both)
        norms = [sum((value - mean[u]) ** 2 for u, value in ratings[item].items()) for item in (i, j)]
        if min(norms) < 1e-12 or abs(dot) < 1e-12:
            continue
        high = [
            {u: v >= sum(ratings[item].values()) / len(ratings[item]) for u, v in ratings[item].items()}
            for item in (i, j)
        ]
        agreeing = sum(high[0][u] == high[1][u] for u in both)
        if agreeing:
            s[i, j] = dot / (norms[0] * norms[1]) ** 0.5 * min(len(both), cap) / cap
            S[i, j] = agreeing
            c[i, j] = agreeing / len(ratings[i].keys() | ratings[j].keys())
    source = lambda item: item < split  # noqa: E731
    bridges = {i for i, j in s if source(i) != source(j)}
    near = {i for i, j in s if source(i) == source(j) and j in bridges} - bridges
    far = {i for i, j in s if source(i) == source(j) and j in near} - bridges - near

    def strongest(item, allowed):
        linked = [j for j in sorted(allowed) if (item, j) in s]
        return sorted(linked, key=lambda j: -round(abs(s[item, j]), 12))[:num_links]

    def side(is_source):
        """Partial paths, from an item to a bridge of its domain."""
        inside = lambda group: {i for i in group if source(i) == is_source}  # noqa: E731
        paths: list[tuple[int, ...]] = [(b,) for b in inside(bridges)]
        for nb in inside(near):
            stems = [(nb, b) for b in strongest(nb, inside(bridges))]
            paths += stems + [(nn, *stem) for nn in strongest(nb, inside(far)) for stem in stems]
        return paths

    kept = {(b, t) for b in bridges for t in strongest(b, {t for t in bridges if source(t) != source(b)})}
    sums: dict[tuple[int, int], list[float]] = {}
    sources, targets = side(True), side(False)
    reached = {path[-1] for path in sources if len(path) > 1}
    for left, right in itertools.product(sources, targets):
        b, t = left[-1], right[-1]
        if ((b, t) in kept or (t, b) in kept) and not (released and b not in reached):
            path = [*left, *right[::-1]]
            edges = list(itertools.pairwise(path))
            similarity = sum(S[e] * s[e] for e in edges) / sum(S[e] for e in edges)
            certainty = np.prod([c[e] for e in edges])
            total = sums.setdefault((path[0], path[-1]), [0.0, 0.0])
            total[0] += certainty * similarity
            total[1] += certainty
    return {ends: total[0] / total[1] for ends, total in sums.items()}


def sparse(seed, users=14, items=12, split=6, straddling=2):
    """Ratings in which few users rate items of both domains, so that every layer has items."""
    rng = np.random.default_rng(seed)
    matrix = np.full((users, items), NAN)
    for user in range(users):
        half = range(split) if user % 2 else range(split, items)
        pool = list(half) if user >= straddling else [rng.integers(split), split + rng.integers(items - split)]
        for item in rng.choice(
            pool, size=min(len(pool), 2 + (user >= straddling and rng.random() < 0.3)), replace=False
        ):
            matrix[user, item] = rng.integers(1, 6)
    return matrix


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("num_links", [1, 2, 10])
def test_agrees_with_the_literal_definition(num_links, released):
    layers, compared = set(), 0
    for seed in range(25):
        matrix = sparse(seed)
        layers |= set(item_links(matrix, 6, 3).layers.tolist())
        expected = literal(matrix, 6, num_links, 3, released)
        found = xsim(matrix, 6, num_links=num_links, significance_cap=3, variant="released" if released else "paper")
        assert {(i, j + 6) for i, j in np.argwhere(~np.isnan(found))} == set(expected)
        for (i, j), value in expected.items():
            assert found[i, j - 6] == pytest.approx(value, abs=1e-10)
        compared += len(expected)
    assert layers >= {0, 1, 2}
    assert compared > 40


def test_longest_paths_occur():
    lengths = [len(literal(sparse(seed), 6, 10, 3)) for seed in range(25)]
    layers = [item_links(sparse(seed), 6, 3).layers for seed in range(25)]
    both = [seed for seed in range(25) if (layers[seed][:6] == 2).any() and (layers[seed][6:] == 2).any()]
    assert both
    assert max(lengths[seed] for seed in both) > 4


def test_released_variant_loses_paths():
    # One bridge pair and nothing else: the released code emits no path at all.
    matrix = np.array([[1, 2.0], [2, 5.0]])
    assert xsim(matrix, 1)[0, 0] == pytest.approx(-1 * 2 / 50)
    assert np.isnan(xsim(matrix, 1, variant="released")).all()


def test_values_lie_between_the_links():
    values = xsim(sparse(0, users=30, straddling=8), 6, significance_cap=1)
    assert (~np.isnan(values)).sum() > 5
    assert np.nanmax(np.abs(values)) <= 1 + 1e-12


def test_reciprocal_sum():
    for largest in (5.0, 300.0, 5000.0):
        times, weights = reciprocal_sum(largest)
        values = np.linspace(1, largest, 200)
        sums = np.exp(-np.outer(values, times)) @ weights
        np.testing.assert_allclose(sums * values, 1, rtol=0, atol=1e-11)


def test_bad_input():
    for split, links in ((0, 10), (2, 10), (1, 0)):
        with pytest.raises(InvalidInput):
            xsim(np.ones((2, 2)), split, num_links=links)
    with pytest.raises(InvalidInput, match="released"):
        xsim(np.ones((2, 2)), 1, variant="code")  # type: ignore[arg-type]


def test_movielens_size_is_fast(movielens):
    order = np.random.default_rng(0).permutation(movielens.num_items)
    matrix = movielens.dense()[:, order]
    begin = time.process_time()
    values = xsim(matrix, 841)
    assert time.process_time() - begin < 15  # about two seconds on a quiet core
    assert np.nanmax(np.abs(values)) <= 1
    assert (~np.isnan(values)).any(axis=1).mean() > 0.5
