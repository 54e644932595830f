"""`dpassay verify`: the main job."""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpassay.commands.output import VIOLATED, Outputs, as_json, command_line, interruptible, path_type
from dpassay.commands.reading import FILES, given_ratings, rating_options
from dpassay.commands.replay import recheck_theorems
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.core.errors import InvalidInput
from dpassay.core.files import write_file
from dpassay.core.text import page
from dpassay.data.reading import Reading

if TYPE_CHECKING:
    from dpassay.data.ratings import Ratings
    from dpassay.judging.verification import Run


@click.command(epilog=f"\b\n{FILES}\nRocq: {page('how-to/kernel.md')}")
@click.option("--paper", help="Judge one paper's claims only (see --list).")
@click.option("--claim", "claims", multiple=True, metavar="ID", help="Judge this claim only; may be repeated.")
@click.option(
    "--data", type=path_type(), help="Ratings to judge on, for example the folder ml-100k. Default: synthetic."
)
@rating_options
@click.option("--quick", is_flag=True, help="Less work where that does not weaken a verdict.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--jobs", type=click.IntRange(1), help="Processes that judge at once. Default: one for each processor.")
@scheduler_option
@click.option("--json", "json_path", type=path_type(), help="Write the verdicts as JSON.")
@click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file.")
@click.option(
    "--markdown",
    type=path_type(),
    metavar="FOLDER",
    help="Write a Markdown page of verdicts for each paper, and an index.",
)
@click.option("--mapping", "mapping_path", type=path_type(), help="Write which code decides which claim, as Markdown.")
@click.option(
    "--certificates", type=path_type(), help="Write every certificate into this folder, for `dpassay replay`."
)
@click.option(
    "--add-evidence",
    type=path_type(),
    metavar="FOLDER",
    help="Add what is no reviewed evidence yet to FOLDER/PAPER/evidence.json, for a person to review.",
)
@click.option("--kernel", is_flag=True, help="Have Rocq check the theorems first: two minutes.")
@click.option("--list", "list_only", is_flag=True, help="List the claims and stop.")
def verify(
    paper: str | None,
    claims: tuple[str, ...],
    data: Path | None,
    reading: Reading,
    quick: bool,
    seed: int,
    jobs: int | None,
    scheduler: str | None,
    json_path: Path | None,
    html_path: Path | None,
    markdown: Path | None,
    mapping_path: Path | None,
    certificates: Path | None,
    add_evidence: Path | None,
    kernel: bool,
    list_only: bool,
) -> int:
    """Judge the papers' claims: the main job.

    Exits with 1 when a verdict differs from the reviewed file of expected ones.
    """
    from dpassay.core.registry import select

    chosen = select(paper, list(claims))
    if list_only:
        for claim in chosen:
            click.echo(f"{claim.id:12} {claim.statement}")
        return 0
    if jobs is not None and scheduler is not None:
        raise InvalidInput("--jobs is the number of processes without a scheduler; leave it or --scheduler out")
    outputs = Outputs(json_path, html_path, mapping_path, folders=(certificates, markdown, add_evidence))
    from dpassay.replay.kernel import definitions
    from dpassay.runs.parallel import processors

    theorems = sorted({claim.id.replace("-", "_") for claim in chosen} & {*definitions()})
    if kernel and theorems and not recheck_theorems(theorems, coqchk=False):
        return VIOLATED
    ratings = given_ratings(data, reading)
    with executor_for(scheduler) as executor:
        workers = executor or jobs or processors()
        result = _judge_with_progress(paper, claims, ratings, quick, seed, workers)
    result = result.rechecked() if kernel else result
    from dpassay.report.html import render
    from dpassay.report.markdown import index, mapping, pages
    from dpassay.report.terminal import print_verdicts

    with outputs.attempt():
        print_verdicts(result)
    content = result.to_json()
    if certificates is not None:
        with outputs.attempt():
            count = result.write_certificates(certificates)
            recheck = f"dpassay replay {certificates}/*.json"
            click.echo(f"{count} certificates in {certificates}; re-check them with: {recheck}")
    if add_evidence is not None:
        from dpassay.judging import reviewing

        with outputs.attempt():
            count = reviewing.add_evidence(result.judged, add_evidence)
            click.echo(f"{count} pieces of evidence to review in {add_evidence}")
    outputs.write(json_path, "verdicts", lambda: as_json(content))
    outputs.write(html_path, "report", lambda: render(content))
    if markdown is not None:
        whole = paper is None and not claims
        with outputs.attempt():
            for name, page in {**pages(content), **({"index": index(content)} if whole else {})}.items():
                write_file(markdown / f"{name}.md", page)
            click.echo(f"pages in {markdown}")
    outputs.write(mapping_path, "map", lambda: mapping(content))
    return outputs.exit_code(bool(result.unexpected))


def _judge_with_progress(
    paper: str | None,
    claims: Sequence[str],
    data: "Ratings | None",
    quick: bool,
    seed: int,
    jobs: int | Executor,
) -> "Run":
    from dpassay.judging.verification import run
    from dpassay.report.progress import Progress
    from dpassay.runs.kept import cache_folder

    kept = "what verify had judged is kept, and the same command goes on from it"
    with interruptible(kept), Progress("verify") as shown:
        return run(
            paper,
            claims,
            quick=quick,
            data=data,
            seed=seed,
            command=command_line(),
            jobs=jobs,
            cache=cache_folder(),
            progress=shown.note,
        )
