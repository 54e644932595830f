"""The command line. Heavy libraries are imported inside the commands that need them."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence

import click

from dpassay.commands.attack import attack
from dpassay.commands.audit import audit
from dpassay.commands.bench import bench
from dpassay.commands.experiment import experiment
from dpassay.commands.lint import lint
from dpassay.commands.output import INTERRUPTED, UNUSABLE, Interrupted, complain
from dpassay.commands.prove import prove
from dpassay.commands.replay import replay
from dpassay.commands.scan import scan
from dpassay.commands.search import search
from dpassay.commands.supervised import supervised
from dpassay.commands.verify import verify
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import explained
from dpassay.core.version import __version__
from dpassay.runs.compiled import kept_programs

SUPERVISED = ("audit", "prove", "search")  # they run a mechanism of the user's
COMPILING = ("attack", "audit", "experiment", "search", "verify")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0 when nothing is violated, 1 violated, 2 unusable input, 3 interrupted.

    Commands that run a mechanism of the user's do so in a process of their own, when this is the whole program.
    """
    if arguments is not None:
        return _run(list(arguments))
    words = sys.argv[1:]
    command = words[0] if words else ""
    with kept_programs() if command in COMPILING else contextlib.nullcontext():
        return supervised(lambda: _run(words)) if command in SUPERVISED else _run(words, last=True)


def _run(words: list[str], last: bool = False) -> int:
    try:
        with explained(), _own_end_of_file():
            code = commands.main(args=words, prog_name="dpassay", standalone_mode=False, obj=words)
        if last:  # the work is done: a Ctrl-C while Python shuts down would replace its exit code by the signal
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except (InvalidInput, click.ClickException) as error:
        if os.environ.get("DPASSAY_TRACEBACK") and error.__cause__ is not None:  # such as the mechanism's own
            traceback.print_exception(error.__cause__)
        complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
        return UNUSABLE
    except Interrupted as stop:
        complain(f"interrupted; {stop}")
        return INTERRUPTED
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted; nothing was written")
        return INTERRUPTED
    except Exception as error:  # Python would exit with 1, which says "violated": an error of ours is no finding
        if os.environ.get("DPASSAY_TRACEBACK"):
            raise
        message = f"{type(error).__name__}: {error}"
        complain(f"stopped by an error of its own ({message}); DPASSAY_TRACEBACK=1 shows where")
        return UNUSABLE
    except SystemExit:  # click and rich end with 1, which says "violated", when nobody reads what they print
        complain("stopped: what it prints cannot be written, or code that it ran called exit")
        return UNUSABLE
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _own_end_of_file() -> Iterator[None]:
    """An EOFError is an error, such as compiled Python that a full disk cut off; click takes each for a Ctrl-C."""
    try:
        yield
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):
            raise abort.__cause__ from None
        raise


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dpassay")
def commands() -> None:
    """Decides whether differential-privacy claims are true, with evidence a stranger can replay."""


for command in (verify, audit, search, prove, scan, lint, attack, experiment, replay, bench):
    commands.add_command(command)
