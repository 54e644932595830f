"""Pairs found in the datasets of a Hypothesis strategy."""

import math
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.extra.numpy import arrays
from hypothesis.extra.pandas import column, data_frames, range_indexes

import dpassay as dp
from dpassay.auditors import strategy_search
from dpassay.auditors.drawing import learned_neighbors
from dpassay.auditors.drawn_datasets import RecordRelation
from dpassay.auditors.neighbor_search import search_black_box
from dpassay.auditors.strategy_search import audit_strategy, search_strategy
from dpassay.core.privacy import PrivacyClaim

pytest_plugins = ["pytester"]
ALPHA = 1e-6
ADD, REPLACE = "add_or_remove_one:record", "replace_one:record"


def found(function, relation, datasets, epsilon=1.0, **options):
    options = {"failure_probability": ALPHA, "time_limit": 40.0, "remember": False, **options}
    return search_strategy(function, relation, datasets, claim=PrivacyClaim(epsilon), **options)


def respond(rng, bit):
    """Randomized response of epsilon 1 on one bit; on anything else it says what it was given."""
    return bit if bit not in (0, 1) or rng.random() < math.e / (1 + math.e) else 1 - bit


def count(rng, records):
    return len(records) + rng.laplace()


def crowd(rng, ages):
    """A noisy count that gives away when two are older than 57."""
    return len(ages) + rng.laplace() + 6 * (sum(age > 57 for age in ages) == 2)


def shares(rng, table):
    """Counts by city, of which a city that nobody lives in is missing."""
    return {city: float(number) + rng.laplace() for city, number in table["city"].value_counts().items()}


class Total:
    """A JAX mechanism made for entries up to 1."""

    def sample(self, key, values):
        return jnp.sum(values) + jax.random.laplace(key)


def test_a_pair_is_found_and_shrunk_to_the_smallest_violation():
    witness = found(crowd, ADD, st.lists(st.integers(0, 100), max_size=20)).witness
    assert witness is not None
    assert witness.epsilon > 3
    # One older than 57 joins another.
    one, two = sorted([witness.dataset1, witness.dataset2], key=len)
    assert one == [58]
    assert len(two) == 2


def test_the_code_makes_the_pair_and_fails_again():
    frames = data_frames(
        [column("city", elements=st.sampled_from(["Oslo", "Bonn"])), column("age", elements=st.integers(0, 99))],
        index=range_indexes(max_size=4),
    )
    witness = found(shares, ADD, frames, time_limit=10.0).witness
    assert witness is not None
    lines = witness.code.splitlines()
    names = {"shares": shares}
    assert lines[-1] == "assert_private(shares, dataset1, dataset2, epsilon=1.0)"
    assert f"from {__name__} import shares" in lines
    lines.remove(f"from {__name__} import shares")
    exec("\n".join(lines[:-1]), names)
    pd.testing.assert_frame_equal(names["dataset1"], witness.dataset1)
    pd.testing.assert_frame_equal(names["dataset2"], witness.dataset2)
    assert sorted(map(len, (witness.dataset1, witness.dataset2))) == [0, 1]
    verdict = dp.audit(shares, names["dataset1"], names["dataset2"], epsilon=1.0, num_samples=2000)
    assert verdict.outcome == "refuted"
    assert witness.code in str(witness)
    assert witness.to_json()["code"] == witness.code


def test_domains_are_never_left():
    """Sound on {0, 1}, and told apart at once outside of it."""
    for datasets, relation in ((st.integers(0, 1), "replace_one:user"), (st.sampled_from([0, 1]), REPLACE)):
        result = found(respond, relation, datasets)
        assert result.witness is None
        assert {result.pair.first, result.pair.second} == {0, 1}
    assert found(respond, REPLACE, st.integers(0, 2)).witness is not None


def test_the_search_of_vectors_keeps_to_its_scale():
    mechanism = dp.from_callable(lambda rng, vector: respond(rng, vector[0]))
    options: Any = {"claim": PrivacyClaim(1.0), "num_items": 1, "time_limit": 3.0, "failure_probability": ALPHA}
    assert search_black_box(mechanism, "vector:one", **options) is not None
    assert search_black_box(mechanism, "vector:one", scale=(0, 1), **options) is None
    with pytest.raises(dp.InvalidInput, match="differ by 1"):
        search_black_box(mechanism, "vector:one", scale=(0, 5), **options)


def test_jax_mechanisms_are_not_compiled_for_every_pair(monkeypatch):
    monkeypatch.setattr(jax, "jit", None)  # the search itself compiles nothing
    search = strategy_search._StrategySearch
    monkeypatch.setattr(search, "test", lambda *_: None)  # the test does, once
    values = arrays(float, 2, elements=st.sampled_from([0.0, 3.0]))
    result = found(Total(), REPLACE, values, time_limit=8.0)
    assert abs(result.pair.first.sum() - result.pair.second.sum()) == 3


def test_the_time_ends_a_round_that_draws_what_it_had_before(monkeypatch):
    """Where there are few pairs, Hypothesis climbs over thousands of draws that give none of them anew."""
    draws, look = [], strategy_search._StrategySearch._look

    def counted(self):
        draws.append(self.round_end)
        look(self)

    monkeypatch.setattr(strategy_search._StrategySearch, "_look", counted)
    few = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=3)
    for seed in (1, 2, 5):
        draws.clear()
        given: Any = {"claim": PrivacyClaim(0.5), "time_limit": 0.5, "seed": seed, "remember": False}
        found = search_strategy(lambda rng, data: len(data) + rng.laplace(scale=2.0), ADD, few, **given)
        assert found.witness is None
        assert len(draws) < 3000
        assert max(draws) == math.inf > min(draws)  # nothing ends the draws that only look at the strategy


def test_no_time_is_too_short_to_learn_how_long_datasets_are():
    few = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=3)
    known = learned_neighbors(few, RecordRelation.parse(ADD), 0, -math.inf)
    assert known.sizes == (1, 3)


def test_the_database_remembers():
    tried: list[int] = []
    with_database = settings(database=InMemoryExampleDatabase())
    settings.register_profile("remembering", with_database)
    before = settings.get_current_profile_name()
    settings.load_profile("remembering")
    try:
        for seed in (0, 1):
            result = found(crowd, ADD, st.lists(st.integers(0, 100), max_size=9), remember=True, seed=seed)
            assert result.witness is not None
            tried.append(result.tried)
        assert tried[0] > 2 >= tried[1]  # the pair that is remembered comes first; its first test may be unlucky
        # What does not violate any longer is forgotten.
        assert (
            found(count, ADD, st.lists(st.integers(0, 100), max_size=9), remember=True, time_limit=2.0).witness is None
        )
    finally:
        settings.load_profile(before)


def test_false_witnesses_are_as_rare_as_stated():
    """Randomized response exactly at its claim, searched again and again at failure probability 0.2."""
    refuted = [
        found(respond, REPLACE, st.integers(0, 1), failure_probability=0.2, seed=seed, time_limit=2.0).witness
        is not None
        for seed in range(12)
    ]
    assert sum(refuted) <= 10  # more have probability below 1e-6


def test_no_test_is_made_while_hypothesis_seeds_the_global_generators(monkeypatch):
    """Else noise of NumPy's global generator would be the same in the choice of a pair and in its test."""

    def careless(rng, bit):
        return float(np.random.laplace() + bit)  # noqa: NPY002

    seen = []
    test = strategy_search._StrategySearch.test

    def spy(search, *arguments):
        from hypothesis import currently_in_test_context

        seen.append(currently_in_test_context())
        return test(search, *arguments)

    monkeypatch.setattr(strategy_search._StrategySearch, "test", spy)
    found(careless, REPLACE, st.integers(0, 1), epsilon=0.5)
    assert seen
    assert not any(seen)


def test_draws_that_depend_on_each_other_accuse_nobody():
    noise = np.random.default_rng(0).laplace(size=7).tolist()
    calls = iter(range(10**9))

    def stale(rng, bit):
        return 3 * bit + noise[next(calls) // 50 % 7] + 1e-3 * rng.laplace()

    lines: list[str] = []
    assert found(stale, REPLACE, st.integers(0, 1), progress=lines.append, time_limit=10.0).witness is None
    assert any("nothing was decided" in line for line in lines)


@pytest.mark.parametrize(
    ("function", "datasets", "words"),
    [
        (lambda rng, data: data.pop(), st.lists(st.integers(0, 9), min_size=1), "changes its dataset"),
        (lambda rng, data: 1 / 0, st.lists(st.integers(0, 9)), "division by zero"),
        (count, [1, 2], "give a Hypothesis strategy"),
        (count, st.just([1]), "have 1 record,"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line(function, datasets, words):
    with pytest.raises(dp.InvalidInput, match=words) as raised:
        found(function, ADD, datasets, time_limit=5.0)
    assert "\n" not in str(raised.value)


def test_public_search_takes_a_strategy():
    witness = dp.search(crowd, ADD, epsilon=1.0, datasets=st.lists(st.sampled_from([1, 99]), max_size=3), time_limit=20)
    assert isinstance(witness, dp.Witness)
    assert 99 in witness.dataset1
    with pytest.raises(dp.InvalidInput, match="leave start and scale out"):
        dp.search(crowd, ADD, epsilon=1.0, datasets=st.just([]), scale=(0, 1))


def test_half_of_the_failure_probability_is_for_the_audit(monkeypatch):
    spent = []
    search, audit = strategy_search.search_strategy, strategy_search.DrawnPair

    def spy(*arguments, **options):
        spent.append(options["failure_probability"])
        return strategy_search.StrategySearch(None, audit([1], []), 1, 0, 0.0, 512)

    monkeypatch.setattr(strategy_search, "search_strategy", spy)
    done = audit_strategy(
        count, st.lists(st.just(1)), ADD, claim=PrivacyClaim(1.0), failure_probability=0.01, num_samples=200
    )
    assert search is not spy
    assert spent == [0.005]
    assert done.failure_probability == 0.005
    with pytest.raises(dp.InvalidInput, match="leave the ledger out"):
        audit_strategy(count, st.just([]), ADD, claim=PrivacyClaim(1.0), failure_probability=0.01, ledger="evidence.db")


def test_hypothesis_is_asked_for_only_where_it_is_used():
    code = """
import sys
sys.modules["hypothesis"] = None
import dpassay as dp
print(dp.audit(lambda rng, x: x + rng.laplace(), 0, 1, epsilon=1, num_samples=100).outcome)
try:
    dp.search(lambda rng, x: x, "replace_one:record", epsilon=1, datasets=3)
except dp.InvalidInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "not refuted",
        "a strategy takes Hypothesis, which is not installed: pip install hypothesis",
    ]


def test_five_lines_make_a_red_test_with_the_pair_as_code(pytester):
    pytester.makepyfile(
        """
        from hypothesis import strategies as st
        from hypothesis.extra.pandas import column, data_frames, range_indexes
        from dpassay.pytest_plugin import assert_private

        city = column("city", elements=st.sampled_from(["Oslo", "Bonn"]))
        people = data_frames([city], index=range_indexes(max_size=4))

        def by_city(rng, people):
            return {city: count + rng.laplace() for city, count in people["city"].value_counts().items()}

        def test_by_city():
            assert_private(by_city, datasets=people, relation="add_or_remove_one:record", epsilon=1.0)

        def test_both():
            assert_private(by_city, 1, 2, datasets=people, relation="add_or_remove_one:record", epsilon=1.0)
        """
    )
    result = pytester.runpytest_subprocess("-q", "--dp-time-limit=15", "-W", "ignore")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*PrivacyViolated: by_city is not 1-DP*",
            "*import pandas as pd",
            "*dataset1 = pd.DataFrame({*",
            "*dataset2 = pd.DataFrame({*",
            "*assert_private(by_city, dataset1, dataset2, epsilon=1.0)",
        ]
    )
    result.stdout.fnmatch_lines(["*not both*"])
    result.stdout.fnmatch_lines(["1 audit: 1 refuted*"])
