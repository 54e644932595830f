"""What all commands share: exit codes, options in groups, output files, and a clean end when interrupted."""

import contextlib
import functools
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from dpassay.core.certificate import write_text
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import absent

VIOLATED, UNUSABLE, INTERRUPTED = 1, 2, 3
LINE = 300
"""Characters of a line that a file's content could make longer."""


def path_type(**options: Any) -> click.Path:
    """An option that is a path."""
    return click.Path(path_type=Path, **options)


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
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: LINE + 1])
    return shown if len(shown) <= LINE else f"{shown[: LINE - 4]} ..."


class Interrupted(Exception):
    """Ctrl-C, with a clause that says what is kept of the work."""


@contextlib.contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """Turns Ctrl-C into `Interrupted`; `kept` says what is kept of the work."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Interrupted(kept) from stop


def as_json(content: Any) -> str:
    """The text of a JSON file."""
    return json.dumps(content, indent=1) + "\n"


def write_file(path: Path | None, what: str, text: Callable[[], str]) -> None:
    """Writes a file if one was asked for, and says so."""
    if path is not None:
        write_text(path, text())
        click.echo(f"{what} in {path}")


def write_tables(result: Mapping[str, Any], title: str, output: Path) -> None:
    """The result as JSON and its tables and plots as a page, whichever of the two names was given."""
    from dpassay.report.markdown import tables_page
    from dpassay.report.plots import plot_file

    numbers = output.with_suffix(".json" if output.suffix == ".md" else output.suffix)
    page = output.with_suffix(".md")
    write_text(numbers, as_json(result))
    images = {}
    plots = result.get("plots", ())
    if plots and (line := absent("plots")):
        click.echo(f"no plots: {line}", err=True)
        plots = ()
    for number, plot in enumerate(plots, start=1):
        image = page.with_name(f"{page.stem}-{number}.svg")
        write_text(image, plot_file(plot))
        images[image.name] = plot["title"]
    write_text(page, tables_page(title, result["tables"], command_line(), images))
    click.echo(f"numbers in {numbers}, tables{' and plots' * bool(images)} in {page}")


def command_line() -> str:
    """The command line that runs now, as one would type it."""
    return shlex.join(["dpassay", *click.get_current_context().find_root().obj])


def writable(path: Path | None) -> None:
    """Long work must not end in a file that cannot be written."""
    if path is None:
        return
    parent = path.absolute().parent
    if path.is_dir() or not parent.is_dir():
        raise InvalidInput(f"cannot write {path}: " + ("it is a folder" if path.is_dir() else f"no folder {parent}"))
