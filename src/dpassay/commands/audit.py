"""`dpassay audit`: a privacy claim tested on samples."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpassay.core.certificate import write_text
from dpassay.core.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.core.privacy import PrivacyClaim
from dpassay.commands.output import VIOLATED, command_line, interruptible, path_type, writable
from dpassay.commands.target import named_mechanism

__all__ = ["audit"]


@click.command()
@click.argument("target", metavar="MODULE:NAME|ID")
@click.option("--dataset1", required=True, type=path_type(), help="A dataset: .npy, .json or user,item,rating text.")
@click.option("--dataset2", required=True, type=path_type(), help="Its neighbor.")
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
@click.option("--json", "json_path", type=path_type(), help="Write the audit as JSON.")
@click.option("--sarif", "sarif_path", type=path_type(), help="Write the finding for code scanning, SARIF 2.1.0.")
@click.option("--junit", "junit_path", type=path_type(), help="Write the verdict as a test result, JUnit XML.")
@click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file.")
@click.option("--ledger", type=path_type(), help="Carry evidence from run to run in this SQLite file.")
@click.option("--certificate", "certificate_path", type=path_type(), help="Write what `dpassay replay` re-checks.")
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
        writable(path)
    mechanism = named_mechanism(target, variant, parameters, batched)
    from dpassay.data.dataset_files import load_dataset_pair

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
    with interruptible(kept), live_status(target, time_limit) as status:
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
            command=command_line(),
            progress=status.note,
        )
    content = {**found.to_json(), "location": definition(mechanism)}
    return _report_audit(content, found.certificate, *outputs)


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

    from dpassay.core.privacy import NeighboringRelation, PrivacyClaim

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
    from dpassay.data.dataset_files import dataset_text
    from dpassay.report.stream_audit import stream_audit

    if claim is not None and claim.relation is not None:
        claim.relation.changed(*datasets)
    begin = time.perf_counter()
    return stream_audit(
        same_stream(mechanism, *datasets, sensitivity=sensitivity, seed=seed),
        mechanism=target,
        datasets=(dataset_text(datasets[0]), dataset_text(datasets[1])),
        claim=claim,
        command=command_line(),
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
