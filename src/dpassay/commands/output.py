"""What all commands share: exit codes, options in groups, output files, and a clean end when interrupted."""

import _thread
import contextlib
import functools
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any

import click

from dpassay.core.errors import InvalidInput, printable
from dpassay.core.extras import absent
from dpassay.core.files import check_writable, check_writable_folder, is_stream, write_file
from dpassay.core.text import shortened

VIOLATED, UNUSABLE, INTERRUPTED = 1, 2, 3
REPEATED = 0.5
"""Seconds until a Ctrl-C that was dropped is repeated."""
LINE = 300
"""Characters of a line that a file's content could make longer."""


def path_type(**options: Any) -> click.Path:
    """An option that is a path."""
    return _Path(path_type=Path, **options)


class _Path(click.Path):
    """One that the system can look up: of others, such as a name that is too long, even `Path.exists` raises."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        path: Any = super().convert(value, parameter, context)
        try:
            Path(path).exists()
        except OSError as error:
            self.fail(f"{shortened(str(path))}: {error.strerror}; give another path", parameter, context)
        return path


def grouped(name: str, record: type, *options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Options, one for each field of a dataclass, that a command takes as one record, its argument `name`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(**values: Any) -> Any:
            group = record(**{each.name: values.pop(each.name) for each in fields(record)})
            return command(**{name: group}, **values)

        return functools.reduce(lambda done, option: option(done), reversed(options), gathered)

    return decorate


def what_is_kept(resume: Path | None) -> str:
    """What an interrupted run leaves, as a clause."""
    if resume is None:
        return "nothing was written"
    return f"what was finished is in {resume}; the same command goes on from it"


def line(text: str) -> str:
    """One line of a terminal: control characters shown escaped, and no more than a person reads."""
    shown = printable(text[: LINE + 1])
    return shown if len(shown) <= LINE else f"{shown[: LINE - 4]} ..."


def complain(message: str) -> None:
    """Says what is wrong in one line that begins with our name."""
    click.echo(f"dpassay: {printable(' '.join(message.split()))}", err=True)


class Interrupted(Exception):
    """Ctrl-C, with a clause that says what is kept of the work."""


@contextlib.contextmanager
def interruptible(kept: str, *, insist: bool = False) -> Iterator[None]:
    """Turns Ctrl-C into `Interrupted`.

    Args:
        kept: says what is kept of the work.
        insist: repeat it until the work ends: Python drops what comes while an object is deleted.
    """
    try:
        with _insisting() if insist else contextlib.nullcontext():
            yield
    except KeyboardInterrupt as stop:
        raise Interrupted(kept) from stop


@contextlib.contextmanager
def _insisting() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    ended, worker = threading.Event(), threading.get_ident()

    def repeat() -> None:
        while not ended.wait(REPEATED):
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(worker, signal.SIGINT)  # ends a wait, too
            else:
                _thread.interrupt_main()

    def hear(number: int, frame: FrameType | None) -> None:
        if not ended.is_set():
            if repeating.ident is None:
                repeating.start()
            before(number, frame)

    repeating = threading.Thread(target=repeat, daemon=True)
    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        ended.set()
        if repeating.ident is not None:
            repeating.join()
        signal.signal(signal.SIGINT, before)


def two_numbers(option: str, text: str, form: str) -> tuple[float, float]:
    """Two numbers that an option has with a colon between.

    Raises:
        InvalidInput: it has something else; `form` says what to write.
    """
    first, _, second = text.partition(":")
    try:
        return float(first), float(second)
    except ValueError:
        raise InvalidInput(f"{option} {text!r}: write {form}") from None


def as_json(content: Any) -> str:
    """The text of a JSON file."""
    return json.dumps(content, indent=1) + "\n"


class Outputs:
    """The files of a command: all are tried before its work begins, and one that fails costs neither another nor the
    result, only the exit code 0.

    Raises:
        InvalidInput: a file cannot be written, or is asked for twice: the second would overwrite the first.
    """

    def __init__(self, *files: Path | None, folders: Iterable[Path | None] = ()) -> None:
        self._failed = False
        seen: set[Path] = set()
        for file in files:
            if file is not None:
                check_writable(file)
                place = file.resolve()
                if place in seen and not is_stream(file):
                    raise InvalidInput(f"{file} is named twice; give each a file of its own")
                seen.add(place)
        for folder in folders:
            if folder is not None:
                check_writable_folder(folder)

    def write(self, path: Path | None, what: str, content: Callable[[], str | bytes]) -> None:
        """Writes a file if one was asked for, and says so."""
        if path is not None:
            with self.attempt():
                write_file(path, content())
                click.echo(f"{what} in {path}")

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """A part of the output; when it fails, a line says what, and the command goes on."""
        try:
            yield
        except InvalidInput as error:
            self._failed = True
            complain(str(error))
        except (OSError, SystemExit) as error:  # rich ends the program when nobody reads what it prints
            self._failed = True
            complain(f"cannot print the result: {getattr(error, 'strerror', None) or 'nobody reads it'}")
            _print_no_more()

    def exit_code(self, violated: bool) -> int:
        """The command's exit code: what was found to be violated goes before a file that is missing."""
        return VIOLATED if violated else UNUSABLE if self._failed else 0


def _print_no_more() -> None:
    """Sends standard output nowhere: Python would try again at its end to write what failed, and exit with 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def table_files(output: Path | None) -> tuple[Path | None, Path | None]:
    """Where tables go as JSON and as a page, whichever of the two names was given; a stream takes the JSON alone."""
    if output is None or is_stream(output):
        return output, None
    return output.with_suffix(".json" if output.suffix == ".md" else output.suffix), output.with_suffix(".md")


def write_tables(result: Mapping[str, Any], title: str, output: Path | None, outputs: Outputs) -> None:
    """The result as JSON, and its tables and plots as a page."""
    numbers, page = table_files(output)
    outputs.write(numbers, "numbers", lambda: as_json(result))
    if page is None:
        return
    from dpassay.report.markdown import tables_page
    from dpassay.report.plots import plot_file

    images = {}
    plots = result.get("plots", ())
    if plots and (line := absent("plots")):
        click.echo(f"no plots: {line}", err=True)
        plots = ()
    for number, plot in enumerate(plots, start=1):
        image = page.with_name(f"{page.stem}-{number}.svg")
        outputs.write(image, "plot", functools.partial(plot_file, plot))
        images[image.name] = plot["title"]
    outputs.write(page, "tables", lambda: tables_page(title, result["tables"], command_line(), images))


def command_line() -> str:
    """The command line that runs now, as one would type it."""
    return shlex.join(["dpassay", *click.get_current_context().find_root().obj])
