"""The command line. Heavy libraries are imported inside the commands that need them."""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpassay import __version__
from dpassay.attack_commands import attack
from dpassay.certificate import write_text
from dpassay.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.privacy import PrivacyClaim
    from dpassay.verification import Run

__all__ = ["main"]

VIOLATED, UNUSABLE, INTERRUPTED = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0 when nothing is violated, 1 violated, 2 unusable input, 3 interrupted."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = commands.main(args=words, prog_name="dpassay", standalone_mode=False, obj=words)
    except (InvalidInput, click.ClickException) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo("dpassay: " + " ".join(message.split()), err=True)
        return UNUSABLE
    except _Interrupted as stop:
        click.echo(f"dpassay: interrupted; {stop}", err=True)
        return INTERRUPTED
    except (KeyboardInterrupt, click.Abort):
        click.echo("dpassay: interrupted; nothing was written", err=True)
        return INTERRUPTED
    except Exception as error:  # Python would exit with 1, which says "violated": an error of ours is no finding
        if os.environ.get("DPASSAY_TRACEBACK"):
            raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        click.echo(f"dpassay: stopped by an error of its own ({message}); DPASSAY_TRACEBACK=1 shows where", err=True)
        return UNUSABLE
    return code if isinstance(code, int) else 0


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dpassay")
def commands() -> None:
    """Decides whether differential-privacy claims are true, with evidence a stranger can replay."""


commands.add_command(attack)


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
    from dpassay.workers import processors

    result = _judge_with_progress(paper, claims, data, quick, seed, jobs or processors())
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
@click.argument("target", metavar="MODULE:NAME|ID")
@click.option("--dataset1", required=True, type=_path(), help="A dataset: .npy, .json or user,item,rating text.")
@click.option("--dataset2", required=True, type=_path(), help="Its neighbor.")
@click.option("--epsilon", type=float, help="The claim, nats.")
@click.option("--delta", type=float, help="The claim, a probability. Default: 0.")
@click.option("--curve", multiple=True, metavar="EPS:DELTA", help="A point of a claimed curve; repeat for more.")
@click.option("--gaussian", type=float, metavar="MU", help="Claim mu-Gaussian DP instead.")
@click.option("--zcdp", type=float, metavar="RHO", help="Claim rho-zCDP instead.")
@click.option("--renyi", metavar="ORDER:EPS", help="Claim Renyi DP of this order instead.")
@click.option("--relation", metavar="KIND:UNIT", help="Refuse datasets that are not neighbors under this relation.")
@click.option("--variant", help="Of a registered ID: paper, released or repaired.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Of a registered ID or a class.")
@click.option("--batched", is_flag=True, help="The callable is fn(rng, dataset, num_samples).")
@click.option("--num-samples", type=int, help="Draws of each dataset, those for learning included.")
@click.option("--time-limit", type=float, help="Seconds; the audit stops earlier when its evidence suffices.")
@click.option("--failure-probability", default=0.05, show_default=True, help="Of refuting a true claim.")
@click.option("--representation", type=click.Choice(["values", "bits"]), default="values", show_default=True)
@click.option("--same-stream", is_flag=True, help="Run both datasets on the same random streams instead.")
@click.option("--sensitivity", type=float, help="With --same-stream: the declared largest change of the output.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--json", "json_path", type=_path(), help="Write the audit as JSON.")
@click.option("--sarif", "sarif_path", type=_path(), help="Write the finding for code scanning, SARIF 2.1.0.")
@click.option("--junit", "junit_path", type=_path(), help="Write the verdict as a test result, JUnit XML.")
@click.option("--html", "html_path", type=_path(), help="Write the report, one self-contained HTML file.")
@click.option("--ledger", type=_path(), help="Carry evidence from run to run in this SQLite file.")
@click.option("--certificate", "certificate_path", type=_path(), help="Write what `dpassay replay` re-checks.")
def audit(
    target: str,
    dataset1: Path,
    dataset2: Path,
    epsilon: float | None,
    delta: float | None,
    curve: tuple[str, ...],
    gaussian: float | None,
    zcdp: float | None,
    renyi: str | None,
    relation: str | None,
    variant: str | None,
    parameters: tuple[str, ...],
    batched: bool,
    num_samples: int | None,
    time_limit: float | None,
    failure_probability: float,
    representation: str,
    same_stream: bool,
    sensitivity: float | None,
    seed: int,
    json_path: Path | None,
    sarif_path: Path | None,
    junit_path: Path | None,
    html_path: Path | None,
    ledger: Path | None,
    certificate_path: Path | None,
) -> int:
    """Test a privacy claim on samples of a mechanism.

    The mechanism is MODULE:NAME of your own, with `sample(key, dataset)` or a function fn(rng, dataset), or the ID of
    a registered one such as ppns. Exits with 1 when the claim is refuted; 0 means that this run found no violation,
    never that the mechanism is private.
    """
    anything = any(value is not None for value in (epsilon, delta, gaussian, zcdp, renyi, relation)) or bool(curve)
    claim = _claim(epsilon, delta, curve, gaussian, zcdp, renyi, relation) if anything or not same_stream else None
    outputs = (json_path, sarif_path, junit_path, html_path, certificate_path)
    for path in (*outputs, ledger):
        _writable(path)
    mechanism = _mechanism(target, variant, parameters, batched)
    from dpassay.dataset_files import load_dataset_pair

    first, second = load_dataset_pair(dataset1, dataset2)
    from dpassay.report.audit_text import definition

    if same_stream:
        unused = {
            "--num-samples": num_samples,
            "--time-limit": time_limit,
            "--ledger": ledger,
            "--certificate": certificate_path,
            "--representation": representation if representation == "bits" else None,
        }
        for option, value in unused.items():
            if value is not None:
                raise InvalidInput(f"{option} does not go with --same-stream; leave one of them out")
        content = _replayed(mechanism, (first, second), claim, sensitivity, seed, target)
        return _report_audit({**content, "location": definition(mechanism)}, None, *outputs)
    assert claim is not None, "only --same-stream needs no claim"
    if sensitivity is not None:
        raise InvalidInput("--sensitivity goes with --same-stream; add that, or leave it out")
    from dpassay.auditors.audit import run_audit
    from dpassay.report.terminal import live_status

    kept = (
        "nothing was written" if ledger is None else f"the evidence so far is in {ledger}, and the next run adds to it"
    )
    with _interruptible(kept), live_status(target, time_limit) as status:
        found = run_audit(
            mechanism,
            first,
            second,
            claim=claim,
            failure_probability=failure_probability,
            num_samples=num_samples,
            time_limit=time_limit,
            representation=representation,  # type: ignore[arg-type]
            seed=seed,
            ledger=ledger,
            name=target,
            command=_command(),
            progress=status.note,
        )
    content = {**found.to_json(), "location": definition(mechanism)}
    return _report_audit(content, found.certificate, *outputs)


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
@click.option("--variant", help="Of a registered ID: paper (the default), released or repaired.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Of a registered mechanism.")
@click.option(
    "--relation",
    required=True,
    metavar="KIND:UNIT",
    help="For example add_or_remove_one:rating; for vectors of numbers vector:one or vector:all.",
)
@click.option("--epsilon", required=True, type=float, help="The claim, nats.")
@click.option("--delta", default=0.0, show_default=True, help="The claim, a probability.")
@click.option("--black-box", is_flag=True, help="Search on samples although the law is known.")
@click.option("--batched", is_flag=True, help="The callable is fn(rng, dataset, num_samples).")
@click.option(
    "--failure-probability", default=0.05, show_default=True, help="Of a witness that keeps the claim (on samples)."
)
@click.option(
    "--start", type=_path(), help="Ratings to start from: delimited text, .json or .npy. Default: random ones."
)
@click.option("--users", default=4, show_default=True, help="Users of the random ratings.")
@click.option("--items", default=3, show_default=True, help="Items of the random ratings; the length of vectors.")
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds.")
@click.option("--seed", default=0, show_default=True, help="Seed of the search.")
@click.option("--json", "json_path", type=_path(), help="Write the witness as JSON.")
def search(
    target: str,
    variant: str | None,
    parameters: tuple[str, ...],
    relation: str,
    epsilon: float,
    delta: float,
    black_box: bool,
    batched: bool,
    failure_probability: float,
    start: Path | None,
    users: int,
    items: int,
    time_limit: float,
    seed: int,
    json_path: Path | None,
) -> int:
    """Search for neighboring datasets that break a mechanism's claim, and shrink what is found.

    The mechanism is MODULE:NAME of your own, or the ID of a registered one such as ppns. With finitely many outputs
    and an exact law (`log_prob` and `outputs`) the search is exact; any other that can be sampled is searched as a
    black box. Exits with 1 when a witness was found.
    """
    from dpassay.privacy import NeighboringRelation, PrivacyClaim
    from dpassay.protocol import FiniteMechanism

    vectors = relation.startswith("vector:")
    parsed = None if vectors else NeighboringRelation.parse(relation)
    claim = PrivacyClaim(epsilon, delta)
    if not time_limit > 0:
        raise InvalidInput(f"time limit is {time_limit:g}; give a number of seconds above 0")
    _writable(json_path)
    mechanism = _mechanism(target, variant, parameters, batched)
    sampled = black_box or vectors or not isinstance(mechanism, FiniteMechanism)
    begin = None
    if start is not None:
        from dpassay.dataset_files import load_dataset

        begin = load_dataset(start) if sampled else _dense(start)
    from dpassay.report.terminal import live_status

    with _interruptible("nothing was written"), live_status(target, time_limit) as status:
        if sampled:
            from dpassay.auditors.neighbor_search import search_black_box

            found = search_black_box(
                mechanism,
                relation,
                claim=claim,
                start=begin,
                num_users=users,
                num_items=items,
                failure_probability=failure_probability,
                time_limit=time_limit,
                seed=seed,
                progress=status.note,
            )
        else:
            from dpassay.auditors.search import search as find

            assert parsed is not None, "exact laws are of rating matrices"
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
            f"no witness against {claim} ({relation}) found within {time_limit:g} s; "
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
@click.option(
    "--output",
    type=_path(),
    metavar="FILE",
    help="Write the result file (JSON: hashes, seeds, per-run numbers), and its tables as Markdown beside it.",
)
@click.option("--resume", type=_path(), metavar="FILE", help="Keep finished runs in this file, and go on from them.")
@click.option("--runs", type=_path(), metavar="FILE", help="Write the numbers of every run as a Parquet table.")
def experiment(
    name: str,
    data: Path | None,
    quick: bool,
    seed: int,
    output: Path | None,
    resume: Path | None,
    runs: Path | None,
) -> int:
    """Rerun a paper's tables, ours beside theirs, or sweep an attack. An unknown NAME lists those there are."""
    from dpassay.experiments import run

    for path in (output, resume, runs):
        _writable(path)
    with _interruptible(_kept(resume)):
        result = run(
            name,
            data,
            quick=quick,
            seed=seed,
            resume=resume,
            progress=lambda text: click.echo(f"  {text}", err=True),
        )
    from dpassay.report.terminal import print_tables

    print_tables(result["tables"])
    if output is not None:
        _write_tables(result, f"Experiment {name}", output)
    if runs is not None:
        import pandas as pd

        pd.DataFrame(result["runs"]).to_parquet(runs)
        click.echo(f"runs in {runs}")
    return 0


@commands.command()
@click.argument("name")
@click.option("--quick", is_flag=True, help="Fewer jobs, shorter runs.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--peers", type=_path(), metavar="PYTHON", help="A Python that has the rivals installed. Default: this one."
)
@click.option("--output", type=_path(), metavar="FILE", help="Write the tables as JSON, and as Markdown beside it.")
@click.option("--resume", type=_path(), metavar="FILE", help="Keep finished rows in this file, and go on from them.")
@click.option("--seeds", type=click.IntRange(min=1), help="Runs of every row of `auditor`. Default: 10.")
@click.option("--part", "parts", multiple=True, help="Only this table of `auditor`; an unknown one lists them.")
def bench(
    name: str,
    quick: bool,
    seed: int,
    peers: Path | None,
    output: Path | None,
    resume: Path | None,
    seeds: int | None,
    parts: tuple[str, ...],
) -> int:
    """Measure power, calibration and speed, side by side with the rivals. An unknown NAME lists those there are.

    Exits with 1 when a row says FAIL.
    """
    from dpassay.benchmarks import run
    from dpassay.report.terminal import print_tables

    for path in (output, resume):
        _writable(path)
    options: dict[str, Any] = {} if resume is None else {"resume": resume}
    with _interruptible(_kept(resume)):
        result = run(
            name,
            quick=quick,
            seed=seed,
            peers=peers,
            progress=lambda text: click.echo(f"  {text}", err=True),
            seeds=seeds,
            parts=parts,
            **options,
        )
    print_tables(result["tables"])
    if output is not None:
        _write_tables(result, f"Benchmark {name}", output)
    failed = sum(row[-1] == "FAIL" for table in result["tables"] for row in table["rows"])
    if failed:
        click.echo(f"{failed} rows FAIL", err=True)
    return VIOLATED if failed else 0


def _kept(resume: Path | None) -> str:
    if resume is None:
        return "nothing was written"
    return f"what was finished is in {resume}; the same command goes on from it"


class _Interrupted(Exception):
    """Ctrl-C, with a clause that says what is kept of the work."""


@contextlib.contextmanager
def _interruptible(kept: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        raise _Interrupted(kept) from stop


def _write_tables(result: Mapping[str, Any], title: str, output: Path) -> None:
    """The result as JSON and its tables and plots as a page, whichever of the two names was given."""
    from dpassay.report.markdown import tables_page
    from dpassay.report.plots import plot_file

    numbers = output.with_suffix(".json" if output.suffix == ".md" else output.suffix)
    page = output.with_suffix(".md")
    write_text(numbers, json.dumps(result, indent=1) + "\n")
    images = {}
    for number, plot in enumerate(result.get("plots", ()), start=1):
        image = page.with_name(f"{page.stem}-{number}.svg")
        write_text(image, plot_file(plot))
        images[image.name] = plot["title"]
    write_text(page, tables_page(title, result["tables"], _command(), images))
    click.echo(f"numbers in {numbers}, tables{' and plots' * bool(images)} in {page}")


def _command() -> str:
    """The command line that runs now, as one would type it."""
    return shlex.join(["dpassay", *click.get_current_context().find_root().obj])


def _claim(
    epsilon: float | None,
    delta: float | None,
    curve: Sequence[str],
    gaussian: float | None,
    zcdp: float | None,
    renyi: str | None,
    relation: str | None,
) -> "PrivacyClaim":
    """The one claim that was given."""
    from dataclasses import replace

    from dpassay.privacy import NeighboringRelation, PrivacyClaim

    kinds = {
        "--epsilon": epsilon is not None,
        "--curve": bool(curve),
        "--gaussian": gaussian is not None,
        "--zcdp": zcdp is not None,
        "--renyi": renyi is not None,
    }
    given = [name for name, present in kinds.items() if present]
    if len(given) != 1:
        problem = f"{' and '.join(given)} are different claims" if given else "no claim is given"
        raise InvalidInput(f"{problem}; give one of {', '.join(kinds)}")
    if delta is not None and epsilon is None:
        raise InvalidInput(f"--delta goes with --epsilon, not with {given[0]}; leave it out")
    if epsilon is not None:
        claim = PrivacyClaim(epsilon, 0.0 if delta is None else delta)
    elif curve:
        claim = PrivacyClaim.profile([_two_numbers("--curve", text, "EPS:DELTA, for example 1:1e-5") for text in curve])
    elif gaussian is not None:
        claim = PrivacyClaim.gaussian(gaussian)
    elif zcdp is not None:
        claim = PrivacyClaim.zcdp(zcdp)
    else:
        claim = PrivacyClaim.renyi(*_two_numbers("--renyi", str(renyi), "ORDER:EPS, for example 2:0.5"))
    return claim if relation is None else replace(claim, relation=NeighboringRelation.parse(relation))


def _two_numbers(option: str, text: str, form: str) -> tuple[float, float]:
    first, _, second = text.partition(":")
    try:
        return float(first), float(second)
    except ValueError:
        raise InvalidInput(f"{option} {text!r}: write {form}") from None


def _mechanism(target: str, variant: str | None, parameters: Sequence[str], batched: bool) -> Any:
    """The mechanism that a target names: registered, or anything of the user's own that can be sampled."""
    if ":" not in target:
        if batched:
            raise InvalidInput("--batched is for a callable MODULE:NAME; leave it out for a registered mechanism")
        return _registered(target, variant or "paper", parameters)
    if variant is not None:
        raise InvalidInput(f"--variant is for a registered mechanism; {target} is a module's own, leave it out")
    found = _load(target, parameters)
    if hasattr(found, "sample"):
        if batched:
            raise InvalidInput(f"--batched is for a callable; {target} has a method `sample`, leave the option out")
        return found
    if not callable(found):
        raise InvalidInput(
            f"{target} is a {type(found).__name__}; name a mechanism (with a method sample(key, dataset)) or a "
            "function fn(rng, dataset)"
        )
    from dpassay.protocol import from_callable

    return from_callable(found, batched=batched)


def _replayed(
    mechanism: Any,
    datasets: tuple[Any, Any],
    claim: "PrivacyClaim | None",
    sensitivity: float | None,
    seed: int,
    target: str,
) -> dict[str, Any]:
    """Both datasets on the same random streams, as the JSON of an audit."""
    import time

    from dpassay.auditors.same_stream import same_stream
    from dpassay.dataset_files import dataset_text
    from dpassay.report.stream_audit import stream_audit

    if claim is not None and claim.relation is not None:
        claim.relation.changed(*datasets)
    begin = time.perf_counter()
    return stream_audit(
        same_stream(mechanism, *datasets, sensitivity=sensitivity, seed=seed),
        mechanism=target,
        datasets=(dataset_text(datasets[0]), dataset_text(datasets[1])),
        claim=claim,
        command=_command(),
        seed=seed,
        seconds=time.perf_counter() - begin,
    )


def _report_audit(
    content: dict[str, Any],
    certificate: dict[str, Any] | None,
    json_path: Path | None,
    sarif_path: Path | None,
    junit_path: Path | None,
    html_path: Path | None,
    certificate_path: Path | None,
) -> int:
    """Prints an audit and writes the files that were asked for; returns the exit code."""
    from dpassay.report.schema import validate_audits
    from dpassay.report.terminal import print_audit

    (content,) = validate_audits(content)
    print_audit(content)
    if json_path is not None:
        write_text(json_path, json.dumps(content, indent=1) + "\n")
        click.echo(f"audit in {json_path}")
    if sarif_path is not None:
        from dpassay.report.sarif import to_sarif

        write_text(sarif_path, json.dumps(to_sarif(content), indent=1) + "\n")
        click.echo(f"code-scanning result in {sarif_path}")
    if junit_path is not None:
        from dpassay.report.junit import to_junit

        write_text(junit_path, to_junit(content))
        click.echo(f"test result in {junit_path}")
    if html_path is not None:
        from dpassay.report.audit_html import render_audits

        write_text(html_path, render_audits(content))
        click.echo(f"report in {html_path}")
    if certificate_path is not None:
        click.echo(_certify(certificate, content["verdict"]["outcome"], certificate_path))
    return VIOLATED if content["verdict"]["outcome"] == "refuted" else 0


def _certify(certificate: dict[str, Any] | None, outcome: str, path: Path) -> str:
    """Writes what `replay` re-checks of an audit; returns a line that says so, or why not."""
    from dpassay.replay import AUDIT, Rejected, check, seal

    if certificate is None:
        return "no certificate: of this audit nothing can be re-checked from a file"
    body = certificate["kind"], certificate["inputs"]
    try:
        sealed = seal(AUDIT, check(*body)["statement"], *body)
    except Rejected as problem:
        return f"no certificate: {problem}"
    sealed.write(path)
    alone = "" if sealed.outcome == outcome else f" (this run alone supports: {sealed.outcome})"
    return f"certificate in {path}{alone}; re-check it with: dpassay replay {path}"


def _judge_with_progress(
    paper: str | None, claims: Sequence[str], data: Path | None, quick: bool, seed: int, jobs: int
) -> "Run":
    from dpassay.registry import select
    from dpassay.report.terminal import progress_bar
    from dpassay.resume import cache_folder
    from dpassay.verification import run

    command = _command()
    kept = "what verify had judged is kept, and the same command goes on from it"
    with _interruptible(kept), progress_bar(len(select(paper, list(claims)))) as bar:
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

    return mechanism(name, variant=variant, **_values(parameters))


def _values(parameters: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"--parameter {text!r}: write NAME=VALUE, for example num_neighbors=2")
        values[key] = _value(value)
    return values


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _load(target: str, parameters: Sequence[str] = ()) -> Any:
    """What MODULE:NAME names; a class is built, with the parameters if there are any."""
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
    value, values = getattr(module, name), _values(parameters)
    if not isinstance(value, type):
        if values:
            raise InvalidInput(f"--parameter is for a registered mechanism or a class; {target} is neither")
        return value
    try:
        return value(**values)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"cannot build {target}: {type(error).__name__}: {error}; give its arguments with --parameter, or name an "
            "instance"
        ) from error


def _dense(path: Path) -> Any:
    from dpassay.data import load_ratings

    return load_ratings(path).dense()


if __name__ == "__main__":
    sys.exit(main())
