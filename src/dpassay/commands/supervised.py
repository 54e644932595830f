"""A command in a process of its own: no verdict is never exit 0, whatever a mechanism does to its process."""

import signal
from collections.abc import Callable
from typing import Any

import click

from dpassay.commands.output import INTERRUPTED, UNUSABLE, complain
from dpassay.core.errors import InvalidInput
from dpassay.runs.own_process import MEGABYTES, SECONDS, Interruption, Limits, NoResult, can_fork, in_own_process
from dpassay.runs.own_process import limit as limit_process

isolate_option = click.option(
    "--isolate",
    is_flag=False,
    flag_value=f"{SECONDS:g}:{MEGABYTES:g}",
    metavar="[SECONDS:MEGABYTES]",
    help=f"End the mechanism's process when it takes more, and exit with 2; alone {SECONDS:g}:{MEGABYTES:g}.",
)


def supervised(work: Callable[[], int]) -> int:
    """Runs `work` in a process of its own and returns its exit code; when it ends without one, INTERRUPTED after a
    Ctrl-C, else UNUSABLE.

    Where the system cannot fork, `work` runs here.
    """
    if not can_fork():
        return work()
    interruption = Interruption()
    terminated = signal.signal(signal.SIGTERM, _terminated)
    interrupted = signal.getsignal(signal.SIGINT)
    if callable(interrupted):  # else it is ignored, as a shell wants of what it runs in the background
        signal.signal(signal.SIGINT, interruption.ask)

    def command() -> int:
        signal.signal(signal.SIGTERM, terminated)
        signal.signal(signal.SIGINT, interruption.heard_by(interrupted))
        return work()

    try:
        return in_own_process(command, interruption=interruption)
    except NoResult as end:
        complain(f"{'interrupted' if interruption else 'no verdict'}: {end}")
        return INTERRUPTED if interruption else UNUSABLE


def limit(isolate: str | None) -> None:
    """Limits this process to "SECONDS:MEGABYTES"; None does nothing.

    Raises:
        InvalidInput: they are not two numbers above 0, or nobody watches this process.
    """
    if isolate is not None and not limit_process(Limits.parse(isolate, "--isolate")):
        raise InvalidInput("--isolate needs a system that can fork processes; leave it out")


def _terminated(*_: Any) -> None:
    raise NoResult("this command was asked to end")
