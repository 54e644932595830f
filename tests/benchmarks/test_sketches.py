"""The table of sketches: its shape without the peer, and the density of the matrix."""

import sys

import numpy as np

from dpassay.benchmarks import sketches
from dpassay.benchmarks.samplers import COLUMNS


def test_ratings() -> None:
    matrix = sketches.ratings((200, 300), 3)
    assert set(np.unique(matrix)) == {0.0, 1.0}
    assert abs(matrix.mean() - 0.05) < 5.2 * (0.05 * 0.95 / matrix.size) ** 0.5
    assert (matrix == sketches.ratings((200, 300), 3)).all()


def test_rows_fit_the_table_and_name_an_absent_peer() -> None:
    table = sketches.rows(quick=True, seed=0, peers=sys.executable)
    assert [row[0] for row in table] == [name for name, _, _ in sketches.JOBS]
    for row in table:
        assert len(row) == len(COLUMNS) - 1
        assert row[1] > 0
        if "absent" in row[3]:
            assert "pip install scikit-learn" in row[6]
            assert row[4] == row[5] == ""
