"""X-SIM by sparse matrices against the mechanism's, on small data with all layers."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpassay.experiments.xmap import meta_paths
from dpassay.mechanisms.item_similarity import item_similarities, quantified_items
from dpassay.mechanisms.xsim import item_links
from dpassay.mechanisms.xsim import xsim as oracle

SOURCES = 9


def layered(seed: int) -> np.ndarray:
    """Ratings of 14 users: 6 in the first domain only, 6 in the second only, 2 in both, so that all layers occur."""
    generator = np.random.default_rng(seed)
    matrix = np.where(generator.random((14, 17)) < 0.18, generator.integers(1, 6, (14, 17)).astype(float), np.nan)
    matrix[:6, SOURCES:] = np.nan
    matrix[8:, :SOURCES] = np.nan
    return matrix


def halves(matrix: np.ndarray) -> tuple[csr_matrix, csr_matrix]:
    def sparse(part: np.ndarray) -> csr_matrix:
        rows, columns = np.nonzero(~np.isnan(part))
        return csr_matrix((part[rows, columns], (rows, columns)), part.shape)

    return sparse(matrix[:, :SOURCES]), sparse(matrix[:, SOURCES:])


def dense(scores: csr_matrix) -> np.ndarray:
    result, place = np.full(scores.shape, np.nan), scores.tocoo()
    result[place.row, place.col] = place.data
    return result


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("num_links", [1, 2, 10])
def test_equal_to_the_mechanism(variant: str, num_links: int) -> None:
    seen = np.zeros(4, int)
    for seed in range(25):
        matrix = layered(seed)
        options = {"num_links": num_links, "significance_cap": 3, "variant": variant}
        ours = dense(meta_paths.xsim(*halves(matrix), **options))  # type: ignore[arg-type]
        np.testing.assert_allclose(ours, oracle(matrix, SOURCES, **options), rtol=1e-9, atol=1e-12)  # type: ignore[arg-type]
        seen += np.bincount(item_links(matrix, SOURCES).layers.astype(int), minlength=4)
    assert (seen > 5).all()  # bridges, NB, NN and unlinked items all occur


def test_a_lost_path_is_noticed() -> None:
    """The two variants differ on some of these data, so equality with the mechanism says something."""
    both = [[dense(meta_paths.xsim(*halves(layered(s)), variant=v)) for v in ("paper", "released")] for s in range(25)]
    assert any(not np.array_equal(one, two, equal_nan=True) for one, two in both)


def test_direct_similarities_are_the_mechanisms() -> None:
    matrix = layered(4)
    matrix[3:9, 2] = matrix[3:9, 12] = 3.0
    ours = dense(meta_paths.direct_similarities(*halves(matrix), significance_cap=4))
    for item in (0, 2):
        scores = np.asarray(item_similarities(matrix, item, significance_cap=4))[SOURCES - 1 :]
        quantified = np.asarray(quantified_items(matrix, item))[SOURCES - 1 :]
        np.testing.assert_allclose(ours[item], np.where(quantified, scores, np.nan), atol=1e-12)


def test_nothing_in_common_is_no_path() -> None:
    matrix = layered(0)
    matrix[6:8, :SOURCES] = np.nan
    assert meta_paths.xsim(*halves(matrix)).nnz == 0
