"""`dpassay bench`: power, calibration and speed, side by side with the rivals."""

from pathlib import Path
from typing import Any

import click

from dpassay.commands.output import Outputs, interruptible, path_type, table_files, what_is_kept, write_tables
from dpassay.core.errors import InvalidInput
from dpassay.core.text import REPOSITORY


@click.command()
@click.argument("name")
@click.option("--quick", is_flag=True, help="Fewer jobs, shorter runs.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--peers", type=path_type(), metavar="PYTHON", help="A Python that has the rivals installed. Default: this one."
)
@click.option("--output", type=path_type(), metavar="FILE", help="Write the tables as JSON, and as Markdown beside it.")
@click.option(
    "--resume", type=path_type(), metavar="FILE", help="Keep finished rows in this file, and go on from them."
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Runs of every row of `auditor` (10), of each control of `scan` (100), hundreds of cases of `fuzz` (100).",
)
@click.option(
    "--part", "parts", multiple=True, help="Only this part of a benchmark that has several; an unknown one lists them."
)
@click.option("--num-samples", type=click.IntRange(min=10_000), help="Of each dataset, in `distributed`.")
@click.option(
    "--environments", type=path_type(), metavar="FOLDER", help="Of `scan`'s packages; missing ones are installed there."
)
def bench(
    name: str,
    quick: bool,
    seed: int,
    peers: Path | None,
    output: Path | None,
    resume: Path | None,
    seeds: int | None,
    parts: tuple[str, ...],
    num_samples: int | None,
    environments: Path | None,
) -> int:
    """Measure power, calibration and speed, side by side with the rivals. An unknown NAME lists those there are.

    In a clone of the repository only. Exits with 1 when a row says FAIL.
    """
    try:
        from dpassay.benchmarks import run
    except ModuleNotFoundError as error:
        if error.name != "dpassay.benchmarks":
            raise
        clone = f"clone {REPOSITORY} and run `python3 dev.py run bench {name}` there"
        raise InvalidInput(f"the benchmarks measure a commit and are not in the package: {clone}") from None
    from dpassay.report.progress import Progress
    from dpassay.report.terminal import print_tables

    outputs = Outputs(*table_files(output), resume)
    options: dict[str, Any] = {} if resume is None else {"resume": resume}
    with interruptible(what_is_kept(resume)), Progress(f"bench {name}") as shown:
        result = run(
            name,
            quick=quick,
            seed=seed,
            peers=peers,
            progress=shown.note,
            seeds=seeds,
            parts=parts,
            num_samples=num_samples,
            environments=environments,
            **options,
        )
    with outputs.attempt():
        print_tables(result["tables"])
    write_tables(result, f"Benchmark {name}", output, outputs)
    failed = sum(row[-1] == "FAIL" for table in result["tables"] for row in table["rows"])
    if failed:
        click.echo(f"{failed} rows FAIL", err=True)
    return outputs.exit_code(failed > 0)
