"""Runs drawn cases against a target until one ends in what it must not end in, and makes that case small."""

import functools
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis.strategies import SearchStrategy

from dpassay.core.errors import InvalidInput
from dpassay.runs.kept import Kept

BATCH = 100  # cases that one run of Hypothesis draws
SECONDS = 30.0  # for one case
SHOWN = 400  # characters of a failing case
VERDICT, LINE = "a result", "one clear line"


class Broken(AssertionError):
    """What a case must not end in."""


class _Hung(BaseException):
    """Time is over; whoever catches exceptions of mechanisms must not catch it."""


@dataclass(frozen=True)
class Target:
    """Something of ours that takes what strangers write.

    Attributes:
        name: for readers, and for `--part`.
        cases: plain values, whose `repr` is code.
        answer: takes a case and an empty folder. True where it came to a result, False or InvalidInput where it said in
            a line what is wrong; anything else that it raises is a failure.
    """

    name: str
    cases: SearchStrategy[Any]
    answer: Callable[[Any, Path], bool]


def row(
    target: Target, cases: int, seed: int, begun: Callable[[int], None] = lambda _: None, kept: Kept | None = None
) -> list[Any]:
    """Runs cases of a target until one fails, and makes that as small as it can; batches that are kept are not run."""
    kept = Kept(None) if kept is None else kept
    kinds: Counter[str] = Counter()
    for number in range(-(-cases // BATCH)):
        begun(number)
        size = min(BATCH, cases - number * BATCH)
        settings = {"target": target.name, "seed": seed, "batch": number, "cases": size}
        found = kept.get(settings, functools.partial(_run, target, seed, number, size))
        if found["failing"]:
            return [target.name, kinds.total(), kinds[VERDICT], kinds[LINE], found["failing"], "FAIL"]
        kinds.update({VERDICT: found["results"], LINE: found["lines"]})
    return [target.name, kinds.total(), kinds[VERDICT], kinds[LINE], "", "0"]


def _run(target: Target, seed: int, number: int, cases: int) -> dict[str, Any]:
    """What the cases of one batch end in; and the smallest that fails, or ""."""
    kinds: Counter[str] = Counter()
    last: list[Any] = []

    def once(case: Any) -> None:
        last[:] = [case]
        kinds[answered(target, case)] += 1

    options = hypothesis.settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
    )
    failing = ""
    try:
        hypothesis.seed(f"{seed}/{number}")(options(hypothesis.given(target.cases)(once)))()
    except Exception as error:  # whatever a case ended in
        case = f"{target.name}: {last[0]!r}"
        shown = case if len(case) <= SHOWN else f"{case[:SHOWN]} ..."
        said = " ".join(f"{type(error).__name__}: {error}".split())[:SHOWN]
        failing = f"{shown} -> {said}"
    return {"results": kinds[VERDICT], "lines": kinds[LINE], "failing": failing}


def answered(target: Target, case: Any) -> str:
    """What a case ends in, `VERDICT` or `LINE`.

    Raises:
        Exception: what it must not end in.
    """
    with tempfile.TemporaryDirectory(prefix="dpassay-fuzz-") as folder, _within(SECONDS):
        try:
            return VERDICT if target.answer(case, Path(folder)) else LINE
        except InvalidInput as error:
            clear(str(error))
            return LINE


def clear(text: str) -> None:
    """Refuses what is no clear line.

    Raises:
        Broken: it is empty, several lines, or names an error of our own.
    """
    if not text.strip() or len(text.splitlines()) > 1:
        raise Broken(f"{text!r} is not one line")
    if own := [words for words in ("Traceback", "error of its own", "cannot be checked: ") if words in text]:
        raise Broken(f"{own[0]!r} is no answer: {text}")


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Hung

    begin = time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Hung:
        raise Broken(f"no answer within {seconds:g} seconds") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if time.monotonic() - begin > seconds:
        raise Broken(f"the answer took more than {seconds:g} seconds")
