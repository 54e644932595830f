"""The options that say how rating files are to be read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from dpassay.commands.output import grouped, line, two_numbers
from dpassay.core.errors import InvalidInput
from dpassay.core.text import page
from dpassay.data.reading import PLAIN, Duplicates, Format, Reading

if TYPE_CHECKING:
    from dpassay.data.ratings import Ratings

FILES = f"Files: {page('reference/data.md')}"
"""Where help ends: a column of options is too narrow for an address."""


def _scale(context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, float] | None:
    return None if text is None else two_numbers("--scale", text, "LOW:HIGH, for example 0.5:5")


def _options(formats: Sequence[str]) -> Callable[[Any], Any]:
    return grouped(
        "reading",
        Reading,
        click.option(
            "--scale",
            metavar="LOW:HIGH",
            callback=_scale,
            help="Smallest and largest rating. Default: 1:5; audits: any.",
        ),
        click.option(
            "--format",
            type=click.Choice(formats),
            default="auto",
            show_default=True,
            help="What the file holds; auto goes by its header.",
        ),
        click.option(
            "--duplicates",
            type=click.Choice(get_args(Duplicates)),
            default="error",
            show_default=True,
            help="Which of several ratings of one item by one user counts.",
        ),
    )


dataset_options = _options(get_args(Format))
rating_options = _options([name for name in get_args(Format) if name != "table"])


def check_unused(reading: Reading) -> None:
    """Refuses options that say how to read what is not given."""
    if reading != PLAIN:
        raise InvalidInput("--scale, --format and --duplicates say how --data is read; give it, or leave them out")


def given_ratings(path: Path | None, reading: Reading) -> "Ratings | None":
    """The ratings in a file, with a line that says what a reader must know of how they were read; None for no file."""
    if path is None:
        check_unused(reading)
        return None
    from dpassay.data.rating_files import read_ratings

    ratings = read_ratings(path, reading)
    if ratings.note:
        click.echo(line(f"{path}: {ratings.note}"), err=True)
    return ratings
