"""Runs of Hypothesis: what it draws, and what the datasets of a strategy have in common."""

import hashlib
import time
import unittest
from collections.abc import Callable
from typing import Any

from dpassay.auditors.drawn_datasets import DRAWS, Neighbors, RecordRelation, dataset_key
from dpassay.core.errors import InvalidInput

AT_LEAST = 20  # draws, however long they take: of two, both may have one record where others have more


def check_strategy(datasets: Any) -> None:
    """Makes sure that this is a Hypothesis strategy.

    Raises:
        InvalidInput: it is none, or Hypothesis is not installed.
    """
    try:
        from hypothesis.strategies import SearchStrategy
    except ModuleNotFoundError:
        raise InvalidInput("a strategy takes Hypothesis, which is not installed: pip install hypothesis") from None
    if not isinstance(datasets, SearchStrategy):
        raise InvalidInput(
            f"datasets is of the type {type(datasets).__name__}; give a Hypothesis strategy, for example "
            "st.lists(st.integers(0, 5))"
        )


class Stop(BaseException):
    """Ends a run of Hypothesis, which takes every ordinary exception for a failure of the test, and shrinks it."""


class _Found(Exception):
    """What Hypothesis takes for a failure."""


def run_draws(
    strategy: Any,
    condition: Callable[[Any], bool],
    seed: str,
    examples: int,
    *,
    phases: Any,
    database: Any = None,
    over: Callable[[], bool] = lambda: False,
) -> bool:
    """Has Hypothesis call `condition` with draws until it says True, or there are no more; False where it was stopped.

    A strategy that stops in the midst of a draw does so when `over` says True.

    As `hypothesis.find`, which has no database where it has a seed. Draws are repeated by the same seed and kind of
    database.
    """
    import hypothesis
    from hypothesis.errors import Flaky, Unsatisfiable

    problems: list[InvalidInput] = []
    called = False

    @hypothesis.settings(
        max_examples=examples,
        phases=phases,
        database=database,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.seed(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]))
    @hypothesis.given(strategy)
    def test(drawn: Any) -> None:
        nonlocal called
        called = True
        try:
            is_found = condition(drawn)
        except InvalidInput as error:
            problems.append(error)
            raise Stop from None
        if is_found:
            raise _Found

    try:
        test()
    except (_Found, Unsatisfiable):
        return True
    except unittest.SkipTest:  # so Hypothesis says that its database held nothing
        if called:
            raise
    except Stop:
        if problems:
            raise problems[0] from None
        return False
    except Flaky:  # a draw that was stopped differs from what it was before
        if not over():
            raise
        return False
    return True


def first_draws(strategy: Any, seed: str, number: int) -> list[Any]:
    """What Hypothesis draws first, at most so many."""
    from hypothesis import Phase

    drawn: list[Any] = []

    def collect(value: Any) -> bool:
        drawn.append(value)
        return False

    run_draws(strategy, collect, seed, number, phases=[Phase.generate])
    return drawn


def learned_neighbors(datasets: Any, relation: RecordRelation, seed: int, end: float) -> Neighbors:
    """What is known of a strategy's datasets, after at most `DRAWS` of them or, when there were some, at the time `end`
    (monotonic seconds).

    Raises:
        InvalidInput: it draws none, or the relation has no meaning for them.
    """
    from hypothesis import Phase

    drawn: dict[str, Any] = {}
    calls = 0

    def collect(dataset: Any) -> bool:
        nonlocal calls
        drawn.setdefault(dataset_key(dataset), dataset)
        calls += 1
        if time.monotonic() > end and len(drawn) > 1 and calls >= AT_LEAST:
            raise Stop
        return False

    ended = run_draws(datasets, collect, f"{seed} datasets", DRAWS, phases=[Phase.generate])
    if not drawn:
        raise InvalidInput("the strategy gave no dataset; its filters may be too narrow")
    return Neighbors.of(datasets, relation, list(drawn.values()), ended and calls < DRAWS)
