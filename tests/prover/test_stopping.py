"""A call that does not return is stopped, and nothing after it."""

import gc
import sys
import threading
import time
from typing import Any

import pytest

from dpassay.prover import stopping
from dpassay.prover.stopping import Endless, stopped, within


def endless() -> None:
    x = 0.5
    while x < 1:
        try:
            x = x * 1
        except Exception:
            return


def test_what_returns_is_returned_and_errors_are_its_own() -> None:
    assert within(5, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


def test_what_does_not_return_is_stopped_in_its_own_thread() -> None:
    found: list[BaseException] = []

    def run() -> None:
        try:
            within(0.01, endless)
        except Endless as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    with pytest.raises(Endless):
        within(0.01, endless)
    thread.join(10)
    assert len(found) == 1


def test_the_inner_of_two_limits_stops_alone() -> None:
    def inner() -> str:
        with pytest.raises(Endless):
            within(0.01, endless)
        return "goes on"

    assert within(60, inner) == "goes on"


def wait(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Slow:
    def __del__(self) -> None:
        wait(0.2)


def collected() -> None:
    gc.callbacks.append(lambda *_: wait(0.2))
    try:
        gc.collect()
    finally:
        gc.callbacks.pop()


@pytest.mark.parametrize("dropping", [Slow, collected])
def test_what_python_drops_is_raised_again_without_a_word(dropping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A destructor and a callback of the garbage collector cannot raise."""
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    hears = sys.unraisablehook
    monkeypatch.setattr(stopping, "_AGAIN", 1e6)
    after = []

    def run() -> None:
        dropping()
        after.append(True)
        endless()

    with pytest.raises(Endless):
        within(0.01, run)
    assert (after, heard) == ([True], [])
    assert sys.unraisablehook is hears


def test_what_else_python_drops_is_said_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __del__(self) -> None:
            raise KeyError("lost")

    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: heard.append(unraisable.exc_type))
    within(5, lambda: within(5, Broken) and None)
    assert heard == [KeyError]


def test_a_call_that_returns_at_the_last_moment_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exception arrives within `stopped`, or never."""
    monkeypatch.setattr(stopping, "_LOOK", 0)
    begin, late = time.monotonic(), 0
    while (waited := time.monotonic() - begin) < 0.2 or (not late and waited < 10):
        try:
            stopped(lambda: sum(range(100)), lambda: True)
        except Endless:
            late += 1
    assert late
