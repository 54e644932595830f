"""Work in a process of its own, watched by one that runs nobody else's code.

Whatever the work does to its process (it calls os._exit, crashes, hangs, takes all memory), the process that watches
sees that no result was handed over, and says how it ended.
"""

import contextlib
import mmap
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from dpassay.core.errors import InvalidInput

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

SECONDS, MEGABYTES = 600.0, 8192.0
"""Limits that serve most work."""

_LOOK = 0.1  # seconds between looks at the process
_HEARD, _ENDED = 0.7, 10.0  # seconds after a Ctrl-C until Python must have heard it, and until the work must have ended
_watcher: list["Connection"] = []  # to the process that watches this one


class NoResult(Exception):
    """A process ended without handing its result over; the message says how, in one line."""


@dataclass(frozen=True)
class Limits:
    """What a process may take: seconds by the clock, megabytes of memory in use; the option that sets them."""

    seconds: float = float("inf")
    megabytes: float = float("inf")
    option: str = ""

    @classmethod
    def parse(cls, text: str, option: str) -> "Limits":
        """The limits that SECONDS:MEGABYTES states.

        Raises:
            InvalidInput: they are not two numbers above 0.
        """
        try:
            seconds, megabytes = map(float, text.split(":"))
        except ValueError:
            seconds = megabytes = 0.0
        if not (0 < seconds < float("inf") and 0 < megabytes < float("inf")):
            example = f"{SECONDS:g}:{MEGABYTES:g}"
            raise InvalidInput(f"{option} {text!r}: write SECONDS:MEGABYTES, for example {example}")
        return cls(seconds, megabytes, option)


UNLIMITED = Limits()


class Interruption:
    """A Ctrl-C that reaches the process that watches: a terminal's reaches the work's, too, one by `kill` does not.

    Only the work's process knows whether it was signaled; a second signal would break off what ends it cleanly.
    """

    def __init__(self) -> None:
        self._heard = mmap.mmap(-1, 1)  # which forks share
        self._asked: float | None = None

    def __bool__(self) -> bool:
        return self._asked is not None

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Handles the signal in the process that watches."""
        self._asked = self._asked or time.monotonic()

    def heard_by(self, handler: Any) -> Any:
        """What handles the signal in the work's process, where `handler` did."""

        def hear(number: int, frame: FrameType | None) -> None:
            self._heard[0] = 1
            handler(number, frame)

        return hear if callable(handler) else handler

    def pass_on(self, child: int) -> None:
        """Signals the work's process until it has heard, which long computations in C delay.

        Raises:
            NoResult: it does not hear, or does not end.
        """
        if self._asked is None:
            return
        waited, heard = time.monotonic() - self._asked, self._heard[0]
        if waited > (_ENDED if heard else _HEARD):
            raise NoResult("the mechanism's process did not end, and was ended")
        if waited > _LOOK and not heard:
            os.kill(child, signal.SIGINT)


def can_fork() -> bool:
    """Whether it can be done here: not on every system, and not once JAX has computed, whose threads a fork loses."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return hasattr(os, "fork") and not (bridge and getattr(bridge, "backends_are_initialized", lambda: True)())


def in_own_process(work: Callable[[], T], limits: Limits = UNLIMITED, interruption: Interruption | None = None) -> T:
    """What `work` returns, computed in a fork of this process, which can limit itself later, too (`limit`).

    Args:
        work: returns what can be pickled; it sees everything that this process holds, and what it changes is lost.
        limits: time counts from now.
        interruption: what to tell it while it works; both processes have its handlers.

    Raises:
        NoResult: the process ended before `work` did, or took more than it may.
        Exception: what `work` raises; its traceback, or that of its cause, is a note.
    """
    import multiprocessing  # takes longer to import than all of this

    reader, writer = multiprocessing.Pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that forks lose threads: see `can_fork`
        child = os.fork()
    if child == 0:
        reader.close()
        _serve(work, writer)
    writer.close()
    try:
        succeeded, result = _watch(child, reader, limits, interruption)
    finally:
        reader.close()
        _end(child)
    if not succeeded:
        raise result
    return result


def limit(limits: Limits) -> bool:
    """Limits this process from now on; False where nobody watches it."""
    for watcher in _watcher:
        watcher.send(limits)
    return bool(_watcher)


def _serve(work: Callable[[], Any], writer: "Connection") -> NoReturn:
    """Hands over (whether it succeeded, the result or the error), and waits for no thread that hangs."""
    _watcher[:] = [writer]
    threading.Thread(target=_end_with, args=[writer], daemon=True).start()
    try:
        message = _tried(work)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        writer.send(message)
    finally:
        os._exit(1)


def _end_with(watcher: "Connection") -> None:
    """A watcher that was killed cannot end this process."""
    watcher.poll(None)
    os._exit(1)


def _tried(work: Callable[[], Any]) -> tuple[bool, Any]:
    message: tuple[bool, Any]
    try:
        message = True, work()
    except Exception as error:
        if error.__cause__ or not isinstance(error, InvalidInput):  # where our own line is not all there is to know
            error.add_note("".join(traceback.format_exception(error.__cause__ or error)).rstrip())
        message = False, error
    try:
        pickle.loads(pickle.dumps(message))  # many errors of other people's can be written, but not read
    except Exception as error:
        return False, TypeError(f"{message[1]!r:.200} cannot be handed over: {error}")
    return message


def _watch(child: int, reader: "Connection", limits: Limits, interruption: Interruption | None) -> tuple[bool, Any]:
    """What the process hands over while it keeps the limits."""
    begin, status = time.monotonic(), None
    while True:
        status = _ended(child) if status is None else status  # before the pipe is read: nothing is written later
        message = _received(reader)
        if isinstance(message, Limits):
            begin, limits = time.monotonic(), message
        elif message is not None:
            return message
        elif status is not None:
            raise NoResult(_how(status))
        elif interruption is not None:
            interruption.pass_on(child)
        for taken, most, unit in (
            (time.monotonic() - begin, limits.seconds, "seconds"),
            (_megabytes(child), limits.megabytes, "megabytes"),
        ):
            if taken > most:
                more = f"allow more with {limits.option} SECONDS:MEGABYTES"
                raise NoResult(f"the mechanism's process took more than {most:g} {unit} and was ended; {more}")


def _received(reader: "Connection") -> Any:
    """The next message; None when none came for a while, or will come."""
    try:
        return reader.recv() if reader.poll(_LOOK) else None
    except (EOFError, OSError):
        time.sleep(_LOOK)  # until the process has ended
        return None


def _ended(process: int) -> int | None:
    """The status of a child that ended."""
    found, status = os.waitpid(process, os.WNOHANG)
    return status if found else None


def _how(status: int) -> str:
    """How a process ended that handed nothing over."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        memory = ", as systems do that run out of memory" if number == signal.SIGKILL else ""
        return f"the mechanism's process was ended by signal {number} ({signal.strsignal(number)}){memory}"
    return f"code that the mechanism runs ended its process with exit code {os.WEXITSTATUS(status)}"


def _megabytes(process: int) -> float:
    """Memory in use, 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _end(process: int) -> None:
    """Ends a child that did not end by itself."""
    with contextlib.suppress(ChildProcessError):
        if _ended(process) is None:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
