"""`dpassay experiment`: a paper's tables rerun, or an attack swept."""

import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dpassay.commands.output import Outputs, interruptible, path_type, table_files, what_is_kept, write_tables
from dpassay.commands.reading import FILES, check_unused, rating_options
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library, require
from dpassay.data.reading import Reading


@click.command(epilog=FILES)
@click.argument("name")
@click.option(
    "--data",
    type=path_type(),
    multiple=True,
    help="Ratings, for example the folder ml-100k; twice for two domains, the source first. Default: synthetic.",
)
@rating_options
@click.option("--quick", is_flag=True, help="Fewer seeds and settings.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--output",
    type=path_type(),
    metavar="FILE",
    help="Write the result file (JSON: hashes, seeds, per-run numbers), and its tables as Markdown beside it.",
)
@click.option(
    "--resume", type=path_type(), metavar="FILE", help="Keep finished runs in this file, and go on from them."
)
@scheduler_option
@click.option("--runs", type=path_type(), metavar="FILE", help="Write the numbers of every run as a Parquet table.")
def experiment(
    name: str,
    data: tuple[Path, ...],
    reading: Reading,
    quick: bool,
    seed: int,
    output: Path | None,
    resume: Path | None,
    scheduler: str | None,
    runs: Path | None,
) -> int:
    """Rerun a paper's tables, ours beside theirs, or sweep an attack. An unknown NAME lists those there are."""
    from dpassay.experiments import run
    from dpassay.report.progress import Progress

    if len(data) > 2:
        raise InvalidInput(f"--data is given {len(data)} times; give one dataset, or two domains, the source first")
    if not data:
        check_unused(reading)
    outputs = Outputs(*table_files(output), resume, runs)
    if runs is not None:
        require("parquet")
    with (
        interruptible(what_is_kept(resume)),
        executor_for(scheduler) as executor,
        Progress(f"experiment {name}") as shown,
    ):
        result = run(
            name,
            (data[0], data[1]) if len(data) == 2 else next(iter(data), None),
            quick=quick,
            seed=seed,
            resume=resume,
            progress=shown.note,
            reading=reading,
            executor=executor,
        )
    from dpassay.report.terminal import print_tables

    with outputs.attempt():
        print_tables(result["tables"])
    write_tables(result, f"Experiment {name}", output, outputs)
    outputs.write(runs, "runs", lambda: _parquet(result["runs"]))
    return outputs.exit_code(violated=False)


def _parquet(runs: Sequence[Mapping[str, Any]]) -> bytes:
    """The runs as a Parquet table, null where a run lacks a number that another has."""
    pyarrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    columns = dict.fromkeys(itertools.chain(*runs))
    content = io.BytesIO()
    parquet.write_table(pyarrow.table({name: [run.get(name) for run in runs] for name in columns}), content)
    return content.getvalue()
