"""Leaks are planted with the probability that was stated, and a row that misses too many says so."""

import math

import numpy as np

from dpassay.benchmarks import planted


def test_leaks_have_their_probability_and_are_nowhere_else():
    for leak in ("far", "NaN"):
        sample = planted.mechanism(leak, 0.1, np.random.default_rng(3))
        one, two = (sample(np.random.default_rng(side), side, 20_000) for side in (0, 1))
        leaked = np.isnan(two) if leak == "NaN" else np.abs(two) > 25
        assert 0.09 < leaked.mean() < 0.11
        assert not np.isin(one, two[leaked]).any()
    words = planted.mechanism("word", 0.1, np.random.default_rng(3))(np.random.default_rng(0), 1, 5000)
    assert 0.08 < words.count("secret 1") / 5000 < 0.12
    assert set(words) == {*planted.WORDS, "secret 1"}
    louder = planted.mechanism("loss", 2.5, np.random.default_rng(3))
    shifts = [np.median(louder(np.random.default_rng(0), side, 1000)) for side in (0, 1)]
    assert shifts[1] - shifts[0] == 2.5


def test_a_unit_states_and_plants_and_rows_fail_beyond_chance():
    cell = planted.Cell("far", "fixed", 3000, 1)
    ((stated, caught),) = planted.measure(cell, 0, 0, 1)
    assert 0.01 < stated < 0.2
    assert caught
    assert planted._row("far", "fixed", 3000, [(0.1, True)] * 90 + [(0.1, False)] * 10)[-1] == "pass"
    assert planted._row("far", "fixed", 3000, [(0.1, True)] * 70 + [(0.1, False)] * 30)[-1] == "FAIL"
    assert planted._row("far", "fixed", 3000, [(math.nan, True)])[4] == 0
    assert sum(each.units for each in planted.cells(False)) == 1000
