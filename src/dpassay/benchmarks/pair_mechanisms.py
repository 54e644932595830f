"""Fifty mechanisms of ours whose violating pair is not told: forty that break their claim, ten that keep it exactly.

The broken ones make the mistakes that releases make: noise for another sensitivity than the data's, bounds or bins
taken from the data, categories that are there only where somebody is, budgets spent twice, parts without noise, and the
wrong sparse vectors of Lyu, Su and Li (2017). Datasets are what a user has: lists, texts, dicts, sets, edges, tables.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

RECORD, REPLACED, ENTRY = "add_or_remove_one:record", "replace_one:record", "replace_one:entry"
USER, VALUE = "add_or_remove_one:user", "replace_one:user"
CITIES = ("Oslo", "Bonn", "Rome")
QUERIES = 5  # counting queries of the sparse vectors
Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A mechanism, the datasets that it is made for, and its claim.

    Attributes:
        name: for readers; unique.
        function: `fn(rng, dataset)`.
        datasets: makes the strategy.
        relation: which of its datasets are neighbors.
        keeps: whether the claim is true.
        epsilon: of the claim, nats.
        delta: of the claim.
    """

    name: str
    function: Callable[[Generator, Any], Any]
    datasets: Callable[[], "SearchStrategy[Any]"]
    relation: str
    keeps: bool = False
    epsilon: float = 1.0
    delta: float = 0.0


# --- datasets --------------------------------------------------------------------------------------------------------


def _integers(low: int, high: int, least: int = 0, most: int = 12) -> Callable[[], Any]:
    def make() -> Any:
        from hypothesis import strategies as st

        return st.lists(st.integers(low, high), min_size=least, max_size=most)

    return make


def _floats(low: float, high: float, least: int = 0) -> Callable[[], Any]:
    def make() -> Any:
        from hypothesis import strategies as st

        return st.lists(st.floats(low, high), min_size=least, max_size=12)

    return make


def _words() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.sampled_from(["tea", "coffee", "milk", "water"]), max_size=8)


def _texts() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.text(max_size=12), max_size=6)


def _text() -> Any:
    from hypothesis import strategies as st

    return st.text("abcde ", max_size=20)


def _salaries() -> Any:
    from hypothesis import strategies as st

    return st.dictionaries(st.sampled_from(["ann", "bob", "cai", "dan", "eve"]), st.integers(0, 1000))


def _visits() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.tuples(st.integers(1, 4), st.sampled_from(CITIES)), max_size=12)


def _edges() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12, unique=True)


def _sets() -> Any:
    from hypothesis import strategies as st

    return st.sets(st.integers(0, 20), max_size=8)


def _dicts() -> Any:
    from hypothesis import strategies as st

    return st.lists(st.fixed_dictionaries({"age": st.integers(18, 90), "smokes": st.booleans()}), max_size=8)


def _answers() -> Any:
    """What each person adds to the counting queries."""
    from hypothesis import strategies as st

    return st.lists(st.tuples(*[st.integers(0, 1)] * QUERIES), max_size=6)


def _bit() -> Any:
    from hypothesis import strategies as st

    return st.integers(0, 1)


def _color() -> Any:
    from hypothesis import strategies as st

    return st.sampled_from(["red", "green", "blue"])


def _table() -> Any:
    from hypothesis import strategies as st
    from hypothesis.extra.pandas import column, data_frames, range_indexes

    columns = [
        column("city", elements=st.sampled_from(CITIES)),
        column("income", elements=st.integers(0, 100_000)),
    ]
    return data_frames(columns, index=range_indexes(max_size=8))


def _matrix() -> Any:
    from dpassay.auditors.strategies import rating_matrices

    return rating_matrices(users=3, items=2)


# --- parts -----------------------------------------------------------------------------------------------------------


def _noise(rng: Generator, scale: float = 1.0) -> float:
    return float(rng.laplace(scale=scale))


def _mean(values: Any) -> float:
    return sum(values) / len(values) if len(values) else 0.0


def _noisy_max(rng: Generator, counts: dict[Any, int], scale: float) -> Any:
    return max(counts, key=lambda key: counts[key] + rng.laplace(scale=scale), default=None)


def _totals(answers: Any) -> Any:
    return np.sum(answers, axis=0) if answers else np.zeros(QUERIES)


def _geometric(rng: Generator, ratio: float) -> int:
    return int(rng.geometric(1 - ratio) - rng.geometric(1 - ratio))


def _respond(rng: Generator, bit: int, epsilon: float) -> int:
    return bit if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - bit


def _above(
    rng: Generator, answers: Any, noise: float, query_noise: float, cutoff: int = 1, *, values: bool = False
) -> tuple[Any, ...]:
    """A sparse vector: which totals are above 1, until `cutoff` were; with the noisy totals where `values`."""
    threshold, found, released = 1 + rng.laplace(scale=noise), 0, []
    for total in _totals(answers):
        noisy = total + (rng.laplace(scale=query_noise) if query_noise else 0.0)
        above = noisy >= threshold
        released.append(float(noisy) if values and above else bool(above))
        found += above
        if found == cutoff:
            break
    return tuple(released)


# --- broken ----------------------------------------------------------------------------------------------------------


def _two_counts(rng: Generator, data: Any) -> tuple[float, float]:
    return len(data) + _noise(rng), len(data) + _noise(rng)


def _own_bounds(rng: Generator, data: Any) -> float:
    return sum(data) / max(data, default=1) + _noise(rng) if max(data, default=0) else _noise(rng)


def _exact_when_many(rng: Generator, data: Any) -> float:
    return _mean(data) if len(data) >= 8 else _mean(data) + _noise(rng, 10)


def _own_spread(rng: Generator, data: Any) -> float:
    return sum(min(value, 1.0) for value in data) + _noise(rng, max(float(np.std(data)), 0.05) if data else 1.0)


def _present_values(rng: Generator, data: Any) -> dict[Any, float]:
    return {value: count + _noise(rng) for value, count in Counter(data).items()}


def _city_counts(rng: Generator, table: Any) -> dict[Any, float]:
    return {city: float(count) + _noise(rng) for city, count in table["city"].value_counts().items()}


def _city_means(rng: Generator, table: Any) -> dict[str, float]:
    means = table.groupby("city")["income"].mean()
    return {city: float(means.get(city, 0.0)) + _noise(rng, 1000) for city in CITIES}


def _own_bins(rng: Generator, data: Any) -> list[float]:
    counts, edges = np.histogram(data, bins=3)
    return [float(edges[0]), *(count + _noise(rng) for count in counts.tolist())]


def _fixed_histogram(rng: Generator, data: Any) -> list[float]:
    return [sum(value == place for value in data) + _noise(rng) for place in range(4)]


def _visit_counts(rng: Generator, visits: Any) -> list[float]:
    return [sum(place == city for _, place in visits) + _noise(rng) for city in CITIES]


def _top_two(rng: Generator, words: Any) -> tuple[Any, ...]:
    counts = {word: words.count(word) for word in ("tea", "coffee", "milk", "water")}
    first = _noisy_max(rng, counts, 0.6)
    del counts[first]
    return first, _noisy_max(rng, counts, 0.6)


def _favorite(rng: Generator, words: Any) -> Any:
    return Counter(words).most_common(1)[0][0] if words and rng.random() < 0.2 else None


def _one_of_them(rng: Generator, texts: Any) -> Any:
    return texts[int(rng.integers(len(texts)))] if texts else ""


def _kept_keys(rng: Generator, salaries: Any) -> list[Any]:
    return sorted(name for name in salaries if rng.random() < 0.9)


def _triangles(rng: Generator, edges: Any) -> float:
    known = set(edges)
    closed = sum((b, c) in known and (c, a) in known for a, b in edges for c in range(5))
    return closed + _noise(rng, 3)


def _largest_degree(rng: Generator, edges: Any) -> float:
    degree = max(Counter(node for edge in edges for node in edge).values(), default=0)
    return float(degree) if rng.random() < 0.1 else degree + _noise(rng, 2)


def _noisy_median(rng: Generator, data: Any) -> float:
    return float(np.median(data)) + _noise(rng, 10) if data else _noise(rng, 10)


def _quantile(rng: Generator, data: Any) -> int:
    """The median by the exponential mechanism; ranks move by 1/2, so that weights e^rank would be of epsilon 1."""
    grid = np.arange(0, 21)
    score = -np.abs(np.array([sum(value <= place for value in data) for place in grid]) - len(data) / 2)
    weights = np.exp(2.0 * (score - score.max()))
    return int(rng.choice(grid, p=weights / weights.sum()))


def _unary(rng: Generator, color: str) -> list[int]:
    return [_respond(rng, int(color == name), 1.0) for name in ("red", "green", "blue")]


def _item_means(rng: Generator, ratings: Any) -> list[float]:
    known = ~np.isnan(ratings)
    sums, counts = np.where(known, ratings, 0.0).sum(axis=0), np.maximum(known.sum(axis=0), 1)
    return [float(mean) + _noise(rng, 0.5) for mean in sums / counts]


def _rich_share(rng: Generator, table: Any) -> float:
    rich = float((table["income"] > 50_000).sum())
    return rich / len(table) + _noise(rng, 0.1) if len(table) else 0.0


def _oldest_smoker(rng: Generator, people: Any) -> float:
    return max((person["age"] for person in people if person["smokes"]), default=0) + _noise(rng, 20)


BROKEN: tuple[Case, ...] = (
    Case("sum, noise for a tenth of the range", lambda rng, d: sum(d) + _noise(rng, 100), _integers(0, 1000), RECORD),
    Case("mean over a wide range", lambda rng, d: _mean(d) + _noise(rng, 1e4), _floats(0, 1e6, 1), REPLACED),
    Case("mean, noise for a public size", lambda rng, d: _mean(d) + _noise(rng, 100 / max(len(d), 1)),
         _floats(0, 100), RECORD),
    Case("count released twice", _two_counts, _integers(0, 9), RECORD),
    Case("variance, noise for a mean", lambda rng, d: float(np.var(d)) + _noise(rng, 1 / len(d)),
         _floats(0, 1, 2), RECORD),
    Case("sum divided by the data's maximum", _own_bounds, _integers(0, 50), RECORD),
    Case("mean, exact from 8 records on", _exact_when_many, _integers(0, 9), REPLACED),
    Case("count, no noise when empty", lambda rng, d: len(d) + _noise(rng) if d else 0.0, _words, RECORD),
    Case("one-sided noise", lambda rng, d: len(d) + float(rng.exponential()), _words, RECORD),
    Case("Gaussian noise, sigma 1", lambda rng, d: len(d) + float(rng.normal()), _words, RECORD, delta=1e-5),
    Case("noise of the data's spread", _own_spread, _floats(0, 1), RECORD),
    Case("counts of the values present", _present_values, _words, RECORD),
    Case("table: counts of the cities present", _city_counts, _table, RECORD),
    Case("table: mean incomes by city", _city_means, _table, RECORD),
    Case("table: largest income", lambda rng, t: float(t["income"].max() if len(t) else 0) + _noise(rng, 1000),
         _table, RECORD),
    Case("table: share of the rich", _rich_share, _table, RECORD),
    Case("table: total income, one entry", lambda rng, t: float(t["income"].sum()) + _noise(rng, 2e4), _table, ENTRY),
    Case("histogram with the data's bins", _own_bins, _integers(0, 30, 1), RECORD),
    Case("histogram, a record replaced", _fixed_histogram, _integers(0, 3, 1), REPLACED),
    Case("visits, noise for one of a user", _visit_counts, _visits, USER),
    Case("top two of words, too little noise", _top_two, _words, RECORD),
    Case("favorite word, exact now and then", _favorite, _words, RECORD),
    Case("one text, drawn at random", _one_of_them, _texts, RECORD),
    Case("length of the longest text", lambda rng, d: max(map(len, d), default=0) + _noise(rng, 2), _texts, RECORD),
    Case("text: parity of its length", lambda rng, d: _respond(rng, len(d) % 2, 2.0), _text, RECORD),
    Case("dict: names, each kept by chance", _kept_keys, _salaries, RECORD),
    Case("dicts: age of the oldest smoker", _oldest_smoker, _dicts, RECORD),
    Case("set: whether 7 is in it", lambda rng, d: _respond(rng, int(7 in d), 3.0), _sets, RECORD),
    Case("graph: triangles", _triangles, _edges, RECORD),
    Case("graph: largest degree, exact now and then", _largest_degree, _edges, RECORD),
    Case("graph: edges, a node leaves", lambda rng, d: len(d) + _noise(rng), _edges, USER),
    Case("median, noise for a mean", _noisy_median, _integers(0, 100), RECORD),
    Case("quantile, its rank's weight doubled", _quantile, _integers(0, 20), RECORD),
    Case("sparse vector without noise on answers", lambda rng, d: _above(rng, d, 2, 0), _answers, RECORD),
    Case("sparse vector without a cutoff", lambda rng, d: _above(rng, d, 2, 1, QUERIES + 1), _answers, RECORD),
    Case("sparse vector that releases answers", lambda rng, d: _above(rng, d, 2, 2, values=True), _answers, RECORD),
    Case("maximum of noisy counts, released", lambda rng, d: float(np.max(_totals(d) + rng.laplace(size=QUERIES))),
         _answers, RECORD),
    Case("randomized response of epsilon 1.5", lambda rng, d: _respond(rng, d, 1.5), _bit, VALUE),
    Case("unary encoding, each bit of epsilon 1", _unary, _color, VALUE),
    Case("ratings: means of items", _item_means, _matrix, VALUE),
)  # fmt: skip


# --- sound -----------------------------------------------------------------------------------------------------------


def _two_parts(rng: Generator, data: Any) -> tuple[float, float]:
    return sum(min(value, 10) for value in data) + _noise(rng, 20), len(data) + _noise(rng, 2)


def _capped_visits(rng: Generator, visits: Any) -> float:
    return sum(min(count, 2) for count in Counter(user for user, _ in visits).values()) + _noise(rng, 2)


def _favorite_of_all(rng: Generator, words: Any) -> str:
    names = ["tea", "coffee", "milk", "water"]
    weights = np.exp(np.array([words.count(word) for word in names], float) - len(words))
    return names[int(rng.choice(4, p=weights / weights.sum()))]


def _all_cities(rng: Generator, table: Any) -> dict[str, float]:
    counts = table["city"].value_counts()
    return {city: float(counts.get(city, 0)) + _noise(rng) for city in CITIES}


def _say_color(rng: Generator, color: str) -> str:
    names = ["red", "green", "blue"]
    weights = np.where(np.array(names) == color, math.e, 1.0)
    return names[int(rng.choice(3, p=weights / weights.sum()))]


SOUND: tuple[Case, ...] = (
    Case("count", lambda rng, d: len(d) + _noise(rng), _words, RECORD, True),
    Case("clipped sum", lambda rng, d: sum(min(v, 10) for v in d) + _noise(rng, 10), _integers(0, 1000), RECORD, True),
    Case("clipped sum and count", _two_parts, _integers(0, 50), RECORD, True),
    Case("randomized response", lambda rng, d: _respond(rng, d, 1.0), _bit, VALUE, True),
    Case("geometric noise", lambda rng, d: len(d) + _geometric(rng, math.exp(-1)), _sets, RECORD, True),
    Case("favorite word, exponential mechanism", _favorite_of_all, _words, RECORD, True),
    Case("table: counts of all cities", _all_cities, _table, RECORD, True),
    Case("visits, two of a user", _capped_visits, _visits, USER, True),
    Case("color, randomized response", _say_color, _color, VALUE, True),
    Case("Gaussian noise, sigma 3.7307", lambda rng, d: len(d) + float(rng.normal(scale=3.7307)), _dicts, RECORD, True,
         delta=1e-5),
)  # fmt: skip
CASES = {case.name: case for case in (*BROKEN, *SOUND)}
