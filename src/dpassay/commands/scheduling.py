"""The option `--scheduler`: who shares the work of a command that takes long."""

import contextlib
import functools
from collections.abc import Iterator
from concurrent.futures import Executor

import click

scheduler_option = click.option(
    "--scheduler",
    metavar="processes|local|ADDRESS",
    help="Share the work out over processes of this machine, a Dask cluster on it, or the Dask scheduler at ADDRESS.",
)


@contextlib.contextmanager
def executor_for(scheduler: str | None) -> Iterator[Executor | None]:
    """The executor that the option names, until the block ends; None without the option."""
    if scheduler is None:
        yield None
        return
    from dpassay.runs.schedulers import executor_of

    with executor_of(scheduler, progress=functools.partial(click.echo, err=True)) as executor:
        yield executor
