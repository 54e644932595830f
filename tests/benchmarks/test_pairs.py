"""The benchmark of pairs: its mechanisms, and what its tables say of searches."""

import pytest

from dpassay.benchmarks import pairs
from dpassay.benchmarks.pair_mechanisms import BROKEN, CASES, SOUND
from dpassay.core.errors import InvalidInput


def test_there_are_forty_broken_and_ten_sound_mechanisms():
    assert (len(BROKEN), len(SOUND), len(CASES)) == (40, 10, 50)
    assert all(case.keeps for case in SOUND)
    assert not any(case.keeps for case in BROKEN)


def test_every_strategy_and_mechanism_fit_together():
    import numpy as np
    from hypothesis import HealthCheck, Phase, given, seed, settings

    rng = np.random.default_rng(1)
    for case in CASES.values():
        drawn = []

        @seed(0)
        @settings(
            max_examples=8,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case.datasets())
        def draw(dataset):
            case.function(rng, dataset)  # noqa: B023
            drawn.append(dataset)  # noqa: B023

        draw()
        assert len(drawn) >= 2, case.name


def test_tables_count_what_was_found_and_who_was_accused(monkeypatch, tmp_path):
    calls = []

    def searched(name, seconds, seed):
        calls.append((name, seconds, seed))
        is_found = name != BROKEN[1].name if name not in {case.name for case in SOUND} else name == SOUND[1].name
        return {"epsilon": 2.5 if is_found else None, "pair": "[] / [1]", "pairs": 7, "cpu": 1.0, "wall": 2.0}

    monkeypatch.setattr(pairs, "searched", searched)
    options = {"resume": tmp_path / "runs.jsonl", "seeds": 12}
    broken, sound = pairs.tables(True, 0, **options)
    assert "2 of 3 refuted" in broken.title
    assert [row[3] for row in broken.rows] == ["2.5", "not found", "2.5"]
    assert "12 accused in 36 searches" in sound.title
    assert [row[-1] for row in sound.rows] == ["ok", "FAIL", "ok"]
    assert len(calls) == len(set(calls)) == 3 + 36
    assert pairs.tables(True, 0, parts=["broken"], **options)[0].rows == broken.rows
    assert len(calls) == 39  # kept
    with pytest.raises(InvalidInput, match="no part"):
        pairs.tables(True, 0, parts=["other"])


def test_a_search_says_what_it_found():
    run = pairs.searched("text: parity of its length", 20.0, 0)
    assert run["epsilon"] > 1
    assert run["pair"].count(" / ") == 1
    assert run["pairs"] > 0
