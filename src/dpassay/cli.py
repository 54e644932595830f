"""The command line. Heavy libraries are imported inside the commands that need them."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpassay import __version__
from dpassay.certificate import write_text
from dpassay.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.verification import Run

__all__ = ["main"]

VIOLATED, UNUSABLE, INTERRUPTED = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0 when nothing is violated, 1 violated, 2 unusable input, 3 interrupted."""
    try:
        code = commands.main(args=arguments, prog_name="dpassay", standalone_mode=False)
    except (InvalidInput, click.ClickException) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo("dpassay: " + " ".join(message.split()), err=True)
        return UNUSABLE
    except (KeyboardInterrupt, click.Abort):
        click.echo(
            "dpassay: interrupted; what verify had judged is kept, and the same command goes on from it", err=True
        )
        return INTERRUPTED
    return code if isinstance(code, int) else 0


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dpassay")
def commands() -> None:
    """Decides whether differential-privacy claims are true, with evidence a stranger can replay."""


def _path(**options: Any) -> click.Path:
    return click.Path(path_type=Path, **options)


@commands.command()
@click.option("--paper", help="Judge one paper's claims only (see --list).")
@click.option("--claim", "claims", multiple=True, metavar="ID", help="Judge this claim only; may be repeated.")
@click.option("--data", type=_path(), help="Ratings to judge on, for example the folder ml-100k. Default: synthetic.")
@click.option("--quick", is_flag=True, help="Less work where that does not weaken a verdict.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--jobs", type=click.IntRange(1), help="Processes that judge at once. Default: one for each processor.")
@click.option("--json", "json_path", type=_path(), help="Write the verdicts as JSON.")
@click.option("--html", "html_path", type=_path(), help="Write the report, one self-contained HTML file.")
@click.option("--markdown", type=_path(), metavar="FOLDER", help="Write a Markdown page of verdicts for each paper.")
@click.option("--mapping", "mapping_path", type=_path(), help="Write which code decides which claim, as Markdown.")
@click.option("--certificates", type=_path(), help="Write every certificate into this folder, for `dpassay replay`.")
@click.option("--list", "list_only", is_flag=True, help="List the claims and stop.")
def verify(
    paper: str | None,
    claims: tuple[str, ...],
    data: Path | None,
    quick: bool,
    seed: int,
    jobs: int | None,
    json_path: Path | None,
    html_path: Path | None,
    markdown: Path | None,
    mapping_path: Path | None,
    certificates: Path | None,
    list_only: bool,
) -> int:
    """Judge the papers' claims: the main job.

    Exits with 1 when a verdict differs from the reviewed file of expected ones.
    """
    from dpassay import registry

    chosen = registry.select(paper, list(claims))
    if list_only:
        for claim in chosen:
            click.echo(f"{claim.id:12} {claim.statement}")
        return 0
    for path in (json_path, html_path, mapping_path):
        _writable(path)
    result = _judge_with_progress(paper, claims, data, quick, seed, jobs or os.cpu_count() or 1)
    from dpassay.report.terminal import print_verdicts

    print_verdicts(result)
    content = result.to_json()
    if certificates is not None:
        count = result.write_certificates(certificates)
        click.echo(f"{count} certificates in {certificates}; re-check them with: dpassay replay {certificates}/*.json")
    if json_path is not None:
        write_text(json_path, json.dumps(content, indent=1) + "\n")
        click.echo(f"verdicts in {json_path}")
    if html_path is not None:
        from dpassay.report.html import render

        write_text(html_path, render(content))
        click.echo(f"report in {html_path}")
    if markdown is not None:
        from dpassay.report.markdown import pages

        for paper_name, page in pages(content).items():
            write_text(markdown / f"{paper_name}.md", page)
        click.echo(f"pages in {markdown}")
    if mapping_path is not None:
        from dpassay.report.markdown import mapping

        write_text(mapping_path, mapping(content))
        click.echo(f"map in {mapping_path}")
    return VIOLATED if result.unexpected else 0


@commands.command()
@click.argument("certificates", nargs=-1, required=True, type=_path())
def replay(certificates: tuple[Path, ...]) -> int:
    """Re-check certificate files from the files alone.

    Exits with 1 when a certificate does not check.
    """
    from dpassay.replay import replay as recheck

    failed = 0
    for path in certificates:
        outcome = recheck(path)
        failed += not outcome.checks
        mark = "checks" if outcome.checks else "FAILS "
        click.echo(f"{mark}  {outcome.claim:12} {outcome.outcome:8} {path.name}: {outcome.reason}")
    click.echo(f"{len(certificates) - failed} of {len(certificates)} certificates check")
    return VIOLATED if failed else 0


@commands.command()
@click.argument("target", metavar="MODULE:NAME|ID")
@click.option("--variant", default="paper", show_default=True, help="Of a registered ID: paper, released or repaired.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Of a registered mechanism.")
@click.option("--relation", required=True, metavar="KIND:UNIT", help="For example add_or_remove_one:rating.")
@click.option("--epsilon", required=True, type=float, help="The claim, nats.")
@click.option("--delta", default=0.0, show_default=True, help="The claim, a probability.")
@click.option(
    "--start", type=_path(), help="Ratings to start from: delimited text, .json or .npy. Default: random ones."
)
@click.option("--users", default=4, show_default=True, help="Users of the random ratings.")
@click.option("--items", default=3, show_default=True, help="Items of the random ratings.")
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds.")
@click.option("--seed", default=0, show_default=True, help="Seed of the search.")
@click.option("--json", "json_path", type=_path(), help="Write the witness as JSON.")
def search(
    target: str,
    variant: str,
    parameters: tuple[str, ...],
    relation: str,
    epsilon: float,
    delta: float,
    start: Path | None,
    users: int,
    items: int,
    time_limit: float,
    seed: int,
    json_path: Path | None,
) -> int:
    """Search for neighboring ratings that break a mechanism's claim, and shrink what is found.

    The mechanism is MODULE:NAME of your own, with finitely many outputs and an exact law (`log_prob` and `outputs`), or
    the ID of a registered one such as ppns. Exits with 1 when a witness was found.
    """
    from dpassay.privacy import NeighboringRelation, PrivacyClaim

    parsed = NeighboringRelation.parse(relation)
    PrivacyClaim(epsilon, delta)
    if not time_limit > 0:
        raise InvalidInput(f"time limit is {time_limit:g}; give a number of seconds above 0")
    _writable(json_path)
    mechanism = _load(target) if ":" in target else _registered(target, variant, parameters)
    from dpassay.auditors.search import search as find

    begin = None if start is None else _dense(start)
    found = find(
        mechanism,
        parsed,
        epsilon=epsilon,
        delta=delta,
        start=begin,
        num_users=users,
        num_items=items,
        time_limit=time_limit,
        seed=seed,
    )
    if found is None:
        click.echo(
            f"no witness against {PrivacyClaim(epsilon, delta, parsed)} found within {time_limit:g} s; "
            "this does not show the mechanism private"
        )
        return 0
    from dpassay.report.terminal import witness_text

    click.echo(witness_text(found))
    if json_path is not None:
        write_text(json_path, json.dumps(found.to_json(), indent=1) + "\n")
        click.echo(f"witness in {json_path}")
    return VIOLATED


@commands.command()
@click.argument("name")
@click.option("--data", type=_path(), help="Ratings, for example the folder ml-100k. Default: synthetic.")
@click.option("--quick", is_flag=True, help="Fewer seeds and settings.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--output", type=_path(), help="Write the result file (JSON: hashes, seeds, per-run numbers).")
def experiment(name: str, data: Path | None, quick: bool, seed: int, output: Path | None) -> int:
    """Rerun a paper's tables, ours beside theirs. NAME: ppns."""
    from dpassay.experiments import run

    _writable(output)
    result = run(name, data, quick=quick, seed=seed, progress=lambda text: click.echo(f"  {text}", err=True))
    from dpassay.report.terminal import print_tables

    print_tables(result["tables"])
    if output is not None:
        write_text(output, json.dumps(result, indent=1) + "\n")
        click.echo(f"result in {output}")
    return 0


@commands.command()
@click.argument("name")
@click.option("--quick", is_flag=True, help="Fewer jobs, shorter runs.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--peers", type=_path(), metavar="PYTHON", help="A Python that has the rivals installed. Default: this one."
)
def bench(name: str, quick: bool, seed: int, peers: Path | None) -> int:
    """Measure speed, side by side with the rivals that are installed. NAME: samplers."""
    from dpassay.benchmarks import run
    from dpassay.report.terminal import print_tables

    result = run(name, quick=quick, seed=seed, peers=peers, progress=lambda text: click.echo(f"  {text}", err=True))
    print_tables(result["tables"])
    return 0


def _judge_with_progress(
    paper: str | None, claims: Sequence[str], data: Path | None, quick: bool, seed: int, jobs: int
) -> "Run":
    from dpassay.registry import select
    from dpassay.report.terminal import progress_bar
    from dpassay.resume import cache_folder
    from dpassay.verification import run

    command = "dpassay " + " ".join(sys.argv[1:])
    with progress_bar(len(select(paper, list(claims)))) as bar:
        return run(
            paper,
            claims,
            quick=quick,
            data=data,
            seed=seed,
            command=command,
            jobs=jobs,
            cache=cache_folder(),
            started=lambda claim: bar.start(claim.id),
            finished=lambda item: bar.finish(item.claim.id, item.verdict.outcome, item.seconds),
            progress=bar.note,
        )


def _writable(path: Path | None) -> None:
    """Long work must not end in a file that cannot be written."""
    if path is None:
        return
    parent = path.absolute().parent
    if path.is_dir() or not parent.is_dir():
        raise InvalidInput(f"cannot write {path}: " + ("it is a folder" if path.is_dir() else f"no folder {parent}"))


def _registered(name: str, variant: str, parameters: Sequence[str]) -> Any:
    from dpassay.mechanisms import mechanism

    values: dict[str, Any] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"--parameter {text!r}: write NAME=VALUE, for example num_neighbors=2")
        values[key] = _value(value)
    return mechanism(name, variant=variant, **values)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _load(target: str) -> Any:
    import importlib

    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise InvalidInput(f"{target!r}: write MODULE:NAME, for example mypackage.mechanism:selection")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does, so that a user's own file is found
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise InvalidInput(f"cannot import {module_name}: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise InvalidInput(f"{module_name} has no {name}; check the spelling after the colon")
    value = getattr(module, name)
    return value() if isinstance(value, type) else value


def _dense(path: Path) -> Any:
    from dpassay.data import load_ratings

    return load_ratings(path).dense()


if __name__ == "__main__":
    sys.exit(main())
