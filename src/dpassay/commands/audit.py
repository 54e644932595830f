"""`dpassay audit`: a privacy claim tested on samples."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpassay.commands.output import (
    UNUSABLE,
    Outputs,
    as_json,
    command_line,
    grouped,
    interruptible,
    line,
    path_type,
    two_numbers,
)
from dpassay.commands.reading import FILES, dataset_options
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.commands.supervised import isolate_option, limit
from dpassay.commands.target import Target, target_options
from dpassay.core.errors import InvalidInput
from dpassay.data.reading import Reading

if TYPE_CHECKING:
    from dpassay.core.privacy import PrivacyClaim


@dataclass(frozen=True)
class ClaimOptions:
    """The options that state one claim."""

    epsilon: float | None
    delta: float | None
    curve: tuple[str, ...]
    gaussian: float | None
    zcdp: float | None
    renyi: str | None
    relation: str | None

    @property
    def given(self) -> bool:
        """Whether any of them was used."""
        return bool(self.curve) or any(value is not None for value in vars(self).values() if value != ())

    def claim(self) -> "PrivacyClaim":
        """The one claim that was given."""
        from dpassay.core.privacy import NeighboringRelation, PrivacyClaim

        kinds = ("epsilon", "curve", "gaussian", "zcdp", "renyi")
        given = [f"--{name}" for name in kinds if getattr(self, name) not in (None, ())]
        if len(given) != 1:
            problem = f"{' and '.join(given)} are different claims" if given else "no claim is given"
            raise InvalidInput(f"{problem}; give one of {', '.join(f'--{name}' for name in kinds)}")
        if self.delta is not None and self.epsilon is None:
            raise InvalidInput(f"--delta goes with --epsilon, not with {given[0]}; leave it out")
        if self.epsilon is not None:
            claim = PrivacyClaim(self.epsilon, self.delta or 0.0)
        elif self.curve:
            points = [two_numbers("--curve", text, "EPS:DELTA, for example 1:1e-5") for text in self.curve]
            claim = PrivacyClaim.profile(points)
        elif self.gaussian is not None:
            claim = PrivacyClaim.gaussian(self.gaussian)
        elif self.zcdp is not None:
            claim = PrivacyClaim.zcdp(self.zcdp)
        else:
            claim = PrivacyClaim.renyi(*two_numbers("--renyi", str(self.renyi), "ORDER:EPS, for example 2:0.5"))
        return claim if self.relation is None else replace(claim, relation=NeighboringRelation.parse(self.relation))


claim_options = grouped(
    "stated",
    ClaimOptions,
    click.option("--epsilon", type=float, help="The claim, nats."),
    click.option("--delta", type=float, help="The claim, a probability. Default: 0."),
    click.option("--curve", multiple=True, metavar="EPS:DELTA", help="A point of a claimed curve; repeat for more."),
    click.option("--gaussian", type=float, metavar="MU", help="Claim mu-Gaussian DP instead."),
    click.option("--zcdp", type=float, metavar="RHO", help="Claim rho-zCDP instead."),
    click.option("--renyi", metavar="ORDER:EPS", help="Claim Renyi DP of this order instead."),
    click.option("--relation", metavar="KIND:UNIT", help="Refuse datasets that are not neighbors under this relation."),
)


@dataclass(frozen=True)
class Files:
    """The options that name files to write; None writes none."""

    json_path: Path | None
    sarif_path: Path | None
    junit_path: Path | None
    html_path: Path | None
    certificate_path: Path | None

    def write(self, content: dict[str, Any], certificate: dict[str, Any] | None, outputs: Outputs) -> None:
        """Writes an audit in every form that was asked for."""
        if not any(vars(self).values()):
            return  # the libraries of checked JSON and of pages take a second to import
        from dpassay.report.audit_html import render_audits
        from dpassay.report.junit import to_junit
        from dpassay.report.sarif import to_sarif
        from dpassay.report.schema import validate_audits

        (content,) = validate_audits(content)
        outputs.write(self.json_path, "audit", lambda: as_json(content))
        outputs.write(self.sarif_path, "code-scanning result", lambda: as_json(to_sarif(content)))
        outputs.write(self.junit_path, "test result", lambda: to_junit(content))
        outputs.write(self.html_path, "report", lambda: render_audits(content))
        if self.certificate_path is not None:
            with outputs.attempt():
                click.echo(_certify(certificate, content["verdict"]["outcome"], self.certificate_path))


file_options = grouped(
    "files",
    Files,
    click.option("--json", "json_path", type=path_type(), help="Write the audit as JSON."),
    click.option("--sarif", "sarif_path", type=path_type(), help="Write the finding for code scanning, SARIF 2.1.0."),
    click.option("--junit", "junit_path", type=path_type(), help="Write the verdict as a test result, JUnit XML."),
    click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file."),
    click.option("--certificate", "certificate_path", type=path_type(), help="Write what `dpassay replay` re-checks."),
)


@click.command(epilog=FILES)
@target_options
@click.option("--dataset1", required=True, type=path_type(), help="A dataset: .npy, .json, ratings or any table.")
@click.option("--dataset2", required=True, type=path_type(), help="Its neighbor.")
@dataset_options
@claim_options
@click.option("--num-samples", type=int, help="Draws of each dataset, those for learning included.")
@click.option("--time-limit", type=float, help="Seconds; the audit stops earlier when its evidence suffices.")
@click.option("--failure-probability", default=0.05, show_default=True, help="Of refuting a true claim.")
@click.option("--representation", type=click.Choice(["values", "bits"]), default="values", show_default=True)
@click.option("--same-stream", is_flag=True, help="Run both datasets on the same random streams instead.")
@click.option("--sensitivity", type=float, help="With --same-stream: the declared largest change of the output.")
@isolate_option
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--ledger", type=path_type(), help="Carry evidence from run to run in this SQLite file.")
@scheduler_option
@file_options
def audit(
    target: Target,
    dataset1: Path,
    dataset2: Path,
    reading: Reading,
    stated: ClaimOptions,
    same_stream: bool,
    sensitivity: float | None,
    isolate: str | None,
    scheduler: str | None,
    files: Files,
    **settings: Any,
) -> int:
    """Test a privacy claim on samples of a mechanism.

    The mechanism is MODULE:NAME of your own, with `sample(key, dataset)` or a function fn(rng, dataset), or the ID of
    a registered one such as ppns. Exits with 1 when the claim is refuted, with 2 when nothing was decided; 0 means that
    this run found no violation, never that the mechanism is private.
    """
    limit(isolate)
    claim = stated.claim() if stated.given or not same_stream else None
    outputs = Outputs(*vars(files).values(), settings["ledger"])
    mechanism = target.mechanism()
    from dpassay.data.dataset_files import read_dataset_pair

    read = read_dataset_pair(dataset1, dataset2, reading)
    for path, dataset in zip((dataset1, dataset2), read, strict=True):
        if dataset.read_as:
            click.echo(line(f"{path}: read as {dataset.read_as}"), err=True)
    datasets = read[0].value, read[1].value
    if same_stream:
        _only_streams({**settings, "scheduler": scheduler}, files)
        content = _replayed(mechanism, datasets, claim, sensitivity, settings["seed"], target.target)
        return _reported(content, None, mechanism, files, outputs)
    assert claim is not None, "only --same-stream needs no claim"
    if sensitivity is not None:
        raise InvalidInput("--sensitivity goes with --same-stream; add that, or leave it out")
    from dpassay.auditors.audit import limit_of, run_audit
    from dpassay.report.progress import Progress

    ledger = settings["ledger"]
    kept = f"the evidence so far is in {ledger}, and the next run adds to it" if ledger else "nothing was written"
    with (
        interruptible(kept),
        executor_for(scheduler) as executor,
        Progress(target.target, limit_of(settings["num_samples"], settings["time_limit"])) as status,
    ):
        found = run_audit(
            mechanism,
            *datasets,
            claim=claim,
            name=target.target,
            command=command_line(),
            progress=status.note,
            executor=executor,
            **settings,
        )
    return _reported(found.to_json(), found.certificate, mechanism, files, outputs)


def _only_streams(settings: dict[str, Any], files: Files) -> None:
    """Refuses what only an audit on samples has a use for."""
    unused = {name: settings[name] for name in ("num_samples", "time_limit", "ledger", "scheduler")}
    unused |= {"certificate": files.certificate_path}
    unused |= {"representation": "bits"} if settings["representation"] == "bits" else {}
    for name, value in unused.items():
        if value is not None:
            option = name.replace("_", "-")
            raise InvalidInput(f"--{option} does not go with --same-stream; leave one of them out")


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


def _reported(
    content: dict[str, Any], certificate: dict[str, Any] | None, mechanism: Any, files: Files, outputs: Outputs
) -> int:
    """Prints an audit and writes the files that were asked for; returns the exit code."""
    from dpassay.report.audit_text import definition
    from dpassay.report.terminal import print_audit

    content = {**content, "location": definition(mechanism)}
    with outputs.attempt():
        print_audit(content)
    files.write(content, certificate, outputs)
    outcome = content["verdict"]["outcome"]
    return outputs.exit_code(outcome == "refuted") or (UNUSABLE if outcome == "open" else 0)


def _certify(certificate: dict[str, Any] | None, outcome: str, path: Path) -> str:
    """Writes what `replay` re-checks of an audit; returns a line that says so, or why not."""
    from dpassay.replay import Rejected, seal_own

    if certificate is None:
        return "no certificate: of this audit nothing can be re-checked from a file"
    try:
        sealed = seal_own(certificate["kind"], certificate["inputs"])
    except Rejected as problem:
        return f"no certificate: {problem}"
    sealed.write(path)
    supported = sealed.result["supports"]
    alone = "" if supported == outcome else f" (this run alone supports: {supported})"
    return f"certificate in {path}{alone}; re-check it with: dpassay replay {path}"
