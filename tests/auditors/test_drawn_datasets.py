"""Neighbors are made of what a strategy draws: one change, and nothing that the strategy could not give."""

import datetime as dt
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from hypothesis.extra.pandas import column, data_frames, range_indexes, series

import dpassay as dp
from dpassay.auditors import drawing
from dpassay.auditors.drawing import learned_neighbors
from dpassay.auditors.drawn_datasets import Neighbors, RecordRelation, dataset_key
from dpassay.auditors.strategies import rating_matrices
from dpassay.core.errors import InvalidInput
from dpassay.report.dataset_code import dataset_code

ADD, REPLACE, ENTRY = "add_or_remove_one:record", "replace_one:record", "replace_one:entry"
LEAVE, SWAP = "add_or_remove_one:user", "replace_one:user"
Person = namedtuple("Person", "user age")
digit = st.integers(0, 9)
people = st.builds(Person, st.integers(1, 3), digit)
frames = data_frames(
    [column("user", elements=st.integers(1, 3)), column("color", elements=st.sampled_from(["red", "blue"]))],
    index=range_indexes(min_size=1, max_size=5),
)
ratings = rating_matrices(users=(2, 3), items=2)


@dataclass(frozen=True)
class Answer:
    age: int
    smokes: bool


@dataclass(frozen=True)
class Survey:
    answers: list[int]


class Color(Enum):
    RED = 1
    BLUE = 2


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(drawing, "DRAWS", 25)


def pairs_of(datasets, relation, number=10):
    """Pairs of neighbors, and what is known of the datasets."""
    neighbors = learned_neighbors(datasets, RecordRelation.parse(relation), 0, float("inf"))
    drawn = []

    @seed(1)
    @settings(
        max_examples=number,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(neighbors.pairs())
    def collect(pair):
        drawn.append(pair)

    collect()
    assert drawn
    return drawn, neighbors


def records(dataset):
    """Parts of a dataset, as texts, by a way of their own."""
    if isinstance(dataset, pd.DataFrame):
        return [repr(tuple(row)) for row in dataset.itertuples(index=False)]
    if isinstance(dataset, dict):
        return [repr(item) for item in dataset.items()]
    return [repr(record) for record in dataset]


def difference(pair):
    """How many records each side has that the other lacks."""
    one, two = (Counter(records(side)) for side in pair)
    return sorted([(one - two).total(), (two - one).total()])


@pytest.mark.parametrize(
    ("datasets", "allowed"),
    [
        (st.lists(digit, min_size=1, max_size=4), lambda data: type(data) is list and 1 <= len(data) <= 4),
        (st.lists(people, max_size=4), lambda data: all(type(person) is Person for person in data)),
        (st.lists(st.fixed_dictionaries({"age": digit, "sex": st.sampled_from("fm")})), None),
        (st.lists(digit, unique=True), lambda data: len(set(data)) == len(data)),
        (st.lists(digit).map(sorted), lambda data: data == sorted(data)),
        (st.lists(digit, max_size=3).map(tuple), lambda data: type(data) is tuple),
        (st.lists(st.tuples(digit, digit), unique_by=lambda edge: edge[0]), lambda d: len({e[0] for e in d}) == len(d)),
        (st.sets(digit, max_size=4), lambda data: type(data) is set and len(data) <= 4),
        (st.dictionaries(st.sampled_from("abc"), digit), lambda data: set(data) <= set("abc")),
        (st.text("xyz", max_size=5), lambda data: set(data) <= set("xyz") and len(data) <= 5),
        (st.lists(digit).map(deque), lambda data: type(data) is deque),
        (frames, lambda data: len(data) <= 5 and list(data.index) == list(range(len(data)))),
        (series(elements=st.sampled_from([1.5, 2.5]), dtype=float), lambda data: set(data) <= {1.5, 2.5}),
        (arrays(np.int8, st.integers(1, 4), elements=digit), lambda data: data.dtype == np.int8 and data.ndim == 1),
    ],
)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_neighbors_differ_by_one_record_of_the_domain(datasets, allowed, relation):
    pairs, _ = pairs_of(datasets, relation)
    assert {tuple(difference(pair)) for pair in pairs} == {(0, 1) if relation == ADD else (1, 1)}
    for pair in pairs:
        assert type(pair.first) is type(pair.second)
        assert all(allowed is None or allowed(side) for side in pair)
        if isinstance(pair.first, pd.DataFrame):
            assert (pair.first.dtypes == pair.second.dtypes).all()


@pytest.mark.parametrize(
    "datasets",
    [
        st.lists(st.tuples(digit, st.sampled_from("ab")), min_size=1, max_size=3),
        st.lists(st.builds(Answer, digit, st.booleans()), min_size=1, max_size=3),
        frames,
        arrays(float, (3, 2), elements=st.sampled_from([0.0, 0.5, 1.0])),
        st.dictionaries(st.sampled_from("abc"), st.tuples(digit, st.booleans()), min_size=1),
        st.builds(Answer, digit, st.booleans()),  # one person's answer is a dataset, too
    ],
)
def test_an_entry_gives_way_to_another_of_its_column(datasets):
    def entries(data):
        if isinstance(data, pd.DataFrame | np.ndarray):
            return np.asarray(data).tolist()
        rows = data.items() if isinstance(data, dict) else [data] if isinstance(data, Answer) else data
        return [[row.age, row.smokes] if isinstance(row, Answer) else [row[0], row[1]] for row in rows]

    for pair in pairs_of(datasets, ENTRY)[0]:
        one, two = (np.array(entries(side), object) for side in pair)
        assert one.shape == two.shape
        if not isinstance(pair.first, dict):
            assert (one != two).sum() == 1
        for column_ in range(one.shape[1]):
            assert {type(value) for value in one[:, column_]} == {type(value) for value in two[:, column_]}


@pytest.mark.parametrize(
    ("datasets", "user"),
    [
        (st.lists(people, min_size=1), lambda person: person.user),
        (st.lists(st.tuples(st.integers(1, 3), digit), min_size=1), lambda edge: edge[0]),
        (
            st.lists(st.fixed_dictionaries({"age": digit, "user": st.integers(1, 3)}), min_size=1),
            lambda row: row["user"],
        ),
        (frames, None),
    ],
)
@pytest.mark.parametrize("relation", [LEAVE, SWAP])
def test_one_user_leaves_or_changes_with_all_records(datasets, user, relation):
    for pair in pairs_of(datasets, relation)[0]:
        sides = [side.itertuples(index=False) if isinstance(side, pd.DataFrame) else side for side in pair]
        of = user or (lambda row: row.user)
        groups: list[dict] = [{}, {}]
        for group, side in zip(groups, sides, strict=True):
            for record in side:
                group.setdefault(of(record), []).append(repr(record))
        changed = [who for who in groups[0] | groups[1] if groups[0].get(who) != groups[1].get(who)]
        assert len(changed) == 1
        assert (changed[0] in groups[0] and changed[0] in groups[1]) == (relation == SWAP)


def test_matrices_of_ratings_keep_their_shape():
    for relation in (LEAVE, SWAP, "add_or_remove_one:rating", "replace_one:rating"):
        core = dp.NeighboringRelation.parse(relation)
        for pair in pairs_of(ratings, relation)[0]:
            assert core.changed(*pair)


def test_ratings_lose_one():
    drawn = ratings.filter(lambda matrix: (~np.isnan(matrix)).sum() > 1).map(dp.Ratings.from_dense)
    for relation in ("add_or_remove_one:rating", ADD):
        for one, two in pairs_of(drawn, relation)[0]:
            assert abs(len(one) - len(two)) == 1


def test_a_strategy_of_few_datasets_gives_no_others():
    chosen = [(1, 2), (1, 3), (4, 5)]
    pairs, _ = pairs_of(st.sampled_from(chosen), REPLACE)
    assert {frozenset(pair) for pair in pairs} == {frozenset(chosen[:2])}
    pairs, _ = pairs_of(st.sampled_from(["red", "green", "blue"]), SWAP)
    assert {text for pair in pairs for text in pair} == {"red", "green", "blue"}


def test_datasets_that_were_all_short_by_chance_are_no_limit_for_others() -> None:
    """In little time few are drawn, perhaps all of one size; longer ones, drawn later, have more places."""
    short = Neighbors.of(st.lists(digit), RecordRelation.parse(REPLACE), [[1], [2]], complete=False)

    @seed(1)
    @settings(max_examples=200, phases=[Phase.generate], database=None, deadline=None)
    @given(short.pairs())
    def collect(pair):
        assert difference(pair)

    collect()


def test_every_place_of_fixed_datasets_has_a_domain_of_its_own():
    for pair in pairs_of(st.tuples(st.sampled_from("ab"), digit, st.booleans()), REPLACE)[0]:
        assert all(side[0] in "ab" and type(side[1]) is int and type(side[2]) is bool for side in pair)


@pytest.mark.parametrize(
    ("datasets", "relation", "words"),
    [
        (st.lists(digit, min_size=3, max_size=3), ADD, "have 3 records"),
        (st.booleans(), ADD, "have 1 record,"),
        (st.lists(digit), LEAVE, "one user's is not known"),
        (st.one_of(st.lists(digit), st.sets(digit)), ADD, "several types"),
        (st.just([]), ADD, "empty"),
        (st.builds(Survey, st.lists(digit)), REPLACE, "no records are known"),  # any two would be neighbors
        (st.tuples(st.lists(digit), st.booleans()), REPLACE, "of one collection"),
        (st.fixed_dictionaries({"age": st.lists(digit), "sex": st.lists(digit)}), REPLACE, "of one collection"),
        (st.lists(st.lists(digit, min_size=2)), LEAVE, "one user's is not known"),
        (st.lists(digit), "add_or_remove_one:entry", "always present"),
        (st.lists(digit), "add_or_remove_one:rating", "cell of a matrix"),
        (st.lists(digit), "add_one", "KIND:UNIT"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(datasets, relation, words):
    with pytest.raises(InvalidInput, match=words) as raised:
        pairs_of(datasets, relation)
    assert "\n" not in str(raised.value)


VALUES = [
    [1, 2.5, True, None, "it's", b"x", 1j, float("inf"), (), (1,), [[]], set(), {2, 1}, frozenset({3}), {"a": {1: []}}],
    [Decimal("1.10"), dt.date(2020, 1, 2), dt.timedelta(1), Color.RED, Answer(3, True), Person(1, 2)],
    [Counter("aab"), defaultdict(int, {"x": 1}), deque([1])],
    np.array([[1, 2], [3, 4]], np.int8),
    np.array([1.5, float("nan")]),
    np.zeros((0, 3), np.float32),
    np.array(["a", "bc"]),
    np.array(["2020-01-01"], "M8[D]"),
    np.float32(0.1),
    np.int64(3),
    pd.DataFrame({"age": [1, 2], "name": ["a", "b"], "on": [True, False], "x": [0.1, float("nan")]}),
    pd.DataFrame({"age": pd.Series([1, 2], dtype="int8"), "c": pd.Categorical(["u", "v"])}, index=[5, 3]),
    pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None]), "n": pd.array([1, None], dtype="Int64")}),
    pd.DataFrame({"age": []}),
    pd.DataFrame([[1, 2]], columns=["a", "a"]),
    pd.DataFrame({"z": ["a"]}, index=pd.date_range("2020-01-01", periods=1)),
    pd.DataFrame({"z": pd.Series([1], dtype="uint8")}).iloc[:0],
    pd.Series([1.5, 2.5], name="x"),
    pd.Series([1, 2], index=["a", "b"], dtype="int16"),
    dp.Ratings.from_dense(np.array([[1.0, np.nan], [2.0, 5.0]])),
]


def same(one, two):
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, two, check_freq=False)
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, two)
    elif isinstance(one, np.ndarray | np.generic):
        np.testing.assert_array_equal(one, two)
        assert one.dtype == two.dtype
    elif isinstance(one, dp.Ratings):
        assert one.fingerprint() == two.fingerprint()
    else:
        assert one == two
        assert [type(part) for part in one] == [type(part) for part in two]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_the_code_of_a_dataset_makes_it_again(value):
    code, imports = dataset_code(value)
    names = {"Color": Color, "Answer": Answer, "Person": Person}
    own = [line for line in imports if __name__.rpartition(".")[2] not in line]
    exec("\n".join([*own, f"dataset = {code}"]), names)
    same(value, names["dataset"])
    assert dataset_key(names["dataset"]) == code
