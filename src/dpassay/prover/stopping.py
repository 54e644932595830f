"""Stops a call of a user's function that does not return.

One thread of the process looks at all calls many times a second, so a call costs microseconds; a trace of it would make
it several times as slow.
"""

import contextlib
import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CLOCK = 3
"""Times a limit on CPU time is that on time by the clock, so that a busy machine decides as much as an idle one."""
RUN_SECONDS = 5.0
"""Of the processor, for one run of the user's function where nothing else bounds it."""
_LOOK = 0.05  # seconds between two looks
_AGAIN = 1.0  # seconds until what caught the exception gets another


class Endless(BaseException):
    """A call does not return; no `Exception`, which the user's function may catch."""


@dataclass(eq=False)
class _Call:
    thread: int
    late: Callable[[], bool]
    raised: float = -math.inf


_calls: list[_Call] = []
_lock = threading.Lock()
_some = threading.Event()
_watching: list[tuple[int, threading.Thread]] = []
_beneath = sys.__unraisablehook__


def stopped(call: Callable[[], Any], late: Callable[[], bool]) -> Any:
    """What `call` returns.

    Args:
        call: of Python; a loop within compiled code is not stopped.
        late: whether it has run for too long; called by another thread.

    Raises:
        Endless: it was late.
    """
    mine = _Call(threading.get_ident(), late)
    try:
        with _lock:
            if [process for process, thread in _watching if thread.is_alive()] != [os.getpid()]:
                _start()  # before anything is late: Python may give a thread that begins the exception of its maker
            _hear()
            _calls.append(mine)
            _some.set()
        return call()
    finally:
        with _lock:
            if mine in _calls:
                _calls.remove(mine)  # an exception that is on its way arrives after this call
            if not _calls and sys.unraisablehook is _dropped:
                sys.unraisablehook = _beneath


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What `call` returns in that many seconds of the processor.

    Raises:
        Endless: it takes more.
    """
    end = time.process_time() + seconds
    return stopped(call, lambda: time.process_time() > end)


def _start() -> None:
    """Starts the thread that looks, once in each process."""
    thread = threading.Thread(target=_watch, name="stops what does not return", daemon=True)
    _watching[:] = [(os.getpid(), thread)]
    thread.start()


def _watch() -> None:
    while _some.wait():
        time.sleep(_LOOK)
        with _lock:
            if not _calls:
                _some.clear()
            for each in _calls:
                now = time.monotonic()
                if now > each.raised + _AGAIN and _true(each.late):
                    each.raised = now
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(each.thread), ctypes.py_object(Endless))


def _hear() -> None:
    """Has Python say what it drops."""
    global _beneath
    if sys.unraisablehook is not _dropped:
        _beneath, sys.unraisablehook = sys.unraisablehook, _dropped


def _dropped(unraisable: Any) -> None:
    """Raises again soon, without a word, what came while a destructor or a callback of the garbage collector ran."""
    if not issubclass(unraisable.exc_type, Endless):
        return _beneath(unraisable)
    for each in list(_calls):  # without the lock, which this thread may hold
        if each.thread == threading.get_ident():
            each.raised = -math.inf


def _true(late: Callable[[], bool]) -> bool:
    with contextlib.suppress(Exception):
        return late()
    return False
