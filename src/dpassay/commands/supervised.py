"""A command in a process of its own, watched by one that runs nobody else's code: no verdict is never exit 0.

Whatever a mechanism does to its process (it calls os._exit, crashes, takes all memory), the process that watches sees
that no exit code was handed over, says so in one line, and exits with 2.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from dpassay.commands.output import UNUSABLE, complain
from dpassay.core.errors import InvalidInput

SECONDS, MEGABYTES = 600.0, 8192
"""What `--isolate` allows by default."""

isolate_option = click.option(
    "--isolate",
    is_flag=False,
    flag_value=f"{SECONDS:g}:{MEGABYTES}",
    metavar="[SECONDS:MEGABYTES]",
    help=f"End the mechanism's process when it takes more, and exit with 2; alone {SECONDS:g}:{MEGABYTES}.",
)
_LOOK = 0.1  # seconds between looks at the memory of a process that is limited
_pipe: list[int] = []  # to the process that watches this one


def supervised(work: Callable[[], int]) -> int:
    """Runs `work` in a process of its own and returns its exit code, UNUSABLE when it ends without one.

    Where the system cannot fork, `work` runs here.
    """
    if not hasattr(os, "fork"):
        return work()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the command's own to answer
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, interrupt)
        os.close(reader)
        _pipe.append(writer)
        _work(work, writer)
    os.close(writer)
    signal.signal(signal.SIGTERM, lambda *_: _kill(child))
    try:
        return _watch(child, reader)
    finally:
        os.close(reader)


def limit(isolate: str | None) -> None:
    """Limits this process to "SECONDS:MEGABYTES"; None does nothing.

    Raises:
        InvalidInput: they are not two numbers above 0, or nobody watches this process.
    """
    if isolate is None:
        return
    try:
        seconds, megabytes = map(float, isolate.split(":"))
    except ValueError:
        seconds = megabytes = 0.0
    if not (0 < seconds < float("inf") and 0 < megabytes < float("inf")):
        raise InvalidInput(f"--isolate {isolate!r}: write SECONDS:MEGABYTES, for example {SECONDS:g}:{MEGABYTES}")
    if not _pipe:
        raise InvalidInput("--isolate needs a system that can fork processes; leave it out")
    os.write(_pipe[0], f"limit {seconds} {megabytes}\n".encode())


def _work(work: Callable[[], int], writer: int) -> None:
    """What the process of its own does: it hands its exit code over and ends without waiting for threads that hang."""
    code = UNUSABLE
    try:
        code = work()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os.write(writer, f"exit {code}\n".encode())
    finally:
        os._exit(code)


def _watch(child: int, reader: int) -> int:
    """The exit code that the process hands over, while it keeps the limits that it sets itself.

    They are seconds by the clock from when they were set, and megabytes of memory in use.
    """
    import select

    seconds = megabytes = float("inf")
    begin, said, spent = 0.0, b"", ""
    while not spent:
        ready, _, _ = select.select([reader], [], [], _LOOK if begin else None)
        if ready:
            part = os.read(reader, 4096)
            *lines, said = (said + part).split(b"\n")
            for line in lines:
                word, *numbers = line.decode().split()
                if word == "exit":
                    os.waitpid(child, 0)
                    return int(numbers[0])
                seconds, megabytes = map(float, numbers)
                begin = time.monotonic()
            if not part:
                break
        if begin and time.monotonic() - begin > seconds:
            spent = f"more than {seconds:g} seconds"
        elif begin and _megabytes(child) > megabytes:
            spent = f"more than {megabytes:g} megabytes"
    if spent:
        _kill(child)
    _, status = os.waitpid(child, 0)
    complain(f"no verdict: {_ended(status, spent)}")
    return UNUSABLE


def _ended(status: int, spent: str) -> str:
    """How a process ended that handed nothing over."""
    if spent:
        return f"the mechanism's process took {spent} and was ended; allow more with --isolate SECONDS:MEGABYTES"
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


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
