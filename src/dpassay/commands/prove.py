"""`dpassay prove`: a proof for every input, or an exact counterexample, from a function's source."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpassay.commands.output import UNUSABLE, Outputs, as_json, command_line, interruptible, path_type
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.commands.supervised import isolate_option, limit
from dpassay.commands.target import named_function
from dpassay.core.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.prover.proving import Proof


_ENDINGS = {"json": ".json", "html": ".html", "certificate": ".certificate.json"}
"""Of the files in folders."""


@click.command()
@click.argument("targets", metavar="MODULE:NAME...", nargs=-1, required=True)
@click.option(
    "--relation",
    metavar="R",
    help="one_query, all_queries, monotone_queries, replace_one:entry, add_or_remove_one:entry, replace_one:user or "
    "add_or_remove_one:user. Default: the decorator's.",
)
@click.option("--epsilon", metavar="EXPRESSION", help="The claim, nats: a formula in the parameters. Default: epsilon.")
@click.option("--zcdp", metavar="EXPRESSION", help="Claim zCDP with this rho instead.")
@click.option("--gaussian", metavar="EXPRESSION", help="Claim Gaussian differential privacy with this mu instead.")
@click.option(
    "--assume", multiple=True, metavar="CONDITION", help='Of the parameters, such as "c >= 1"; repeat for more.'
)
@click.option("--bounds", metavar="LOW:HIGH", help="The least and the largest entry: numbers or parameters.")
@click.option("--radius", metavar="NUMBER", help="How much an entry may change where the relation says at most 1.")
@click.option("--records", metavar="NUMBER", help="How many entries one user may have: a number or a parameter.")
@click.option("--infer", is_flag=True, help="Also find the smallest bound that can be proved, and the largest loss.")
@click.option(
    "--time-limit", default=60.0, show_default=True, help="Seconds of CPU time; three times as many on a busy machine."
)
@isolate_option
@scheduler_option
@click.option("--seed", default=0, show_default=True, help="Of the runs that our reading is compared with.")
@click.option("--json", "json_path", type=path_type(), help="Write the proof as JSON; of several, into this folder.")
@click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file.")
@click.option("--certificate", "certificate_path", type=path_type(), help="Write what `dpassay replay` re-checks.")
def prove(
    targets: tuple[str, ...],
    relation: str | None,
    epsilon: str | None,
    zcdp: str | None,
    gaussian: str | None,
    bounds: str | None,
    isolate: str | None,
    scheduler: str | None,
    json_path: Path | None,
    html_path: Path | None,
    certificate_path: Path | None,
    **settings: Any,
) -> int:
    """Prove a mechanism's privacy claim for every input, or refute it exactly, from its Python source.

    The mechanism is MODULE:NAME of your own, a function f(rng, data, ...) of a list of numbers and public parameters.
    Exits with 0 when the claim is proved, 1 when it is refuted, 2 when neither was found. Several mechanisms are judged
    under the same claim, each by itself; the exit code is then 0 only if all are proved, 1 if any is refuted, and
    --json, --html and --certificate name folders.
    """
    from dpassay.core.privacy import PrivacyClaim
    from dpassay.prover.proving import run_proofs, spending
    from dpassay.report.progress import Progress

    limit(isolate)
    given = {"--epsilon": epsilon, "--zcdp": zcdp, "--gaussian": gaussian}
    claimed = [name for name, value in given.items() if value is not None]
    if len(claimed) > 1:
        raise InvalidInput(f"{' and '.join(claimed)} are different claims; leave one out")
    claims = [PrivacyClaim.zcdp(zcdp)] if zcdp is not None else []
    claims += [PrivacyClaim.gaussian(gaussian)] if gaussian is not None else []
    low, colon, high = (bounds or "").partition(":")
    if bounds is not None and not (low and colon and high):
        raise InvalidInput(f"--bounds {bounds!r}: write LOW:HIGH, for example 0:1")
    paths = {"json": json_path, "html": html_path, "certificate": certificate_path}
    targets = tuple(dict.fromkeys(targets))
    alone = len(targets) == 1
    outputs = Outputs(*paths.values()) if alone else Outputs(folders=paths.values())
    mechanisms = [named_function(target) for target in targets]
    shown, clock = (targets[0], settings["time_limit"]) if alone else (f"{len(targets)} mechanisms", None)
    with (
        interruptible("nothing was written", insist=True),
        executor_for(scheduler) as executor,
        Progress(shown, clock, spending() if alone else None) as status,
    ):
        found = run_proofs(
            mechanisms,
            executor=executor,
            relation=relation,
            epsilon=epsilon,
            claim=next(iter(claims), None),
            bounds=None if bounds is None else (low, high),
            command=command_line(),
            progress=status.note,
            **settings,
        )
    for target, proof in zip(targets, found, strict=True):
        inside = {kind: path and path / f"{target.replace(':', '.')}{_ENDINGS[kind]}" for kind, path in paths.items()}
        _write(proof, outputs, paths if alone else inside)
    said = [proof.verdict.outcome for proof in found]
    return outputs.exit_code(violated="refuted" in said) or (UNUSABLE if "open" in said else 0)


def _write(proof: "Proof", outputs: Outputs, paths: dict[str, Path | None]) -> None:
    from dpassay.report.proof_html import render_proof

    content = proof.to_json()
    with outputs.attempt():
        click.echo(str(proof))
    outputs.write(paths["json"], "proof", lambda: as_json(content))
    outputs.write(paths["html"], "report", lambda: render_proof(content))
    if (path := paths["certificate"]) is not None:
        with outputs.attempt():
            click.echo(_certify(proof.certificate, path))


def _certify(certificate: dict[str, Any] | None, path: Path) -> str:
    """Writes what `replay` re-checks; returns a line that says so, or why not."""
    from dpassay.replay import seal_own

    if certificate is None:
        return "no certificate: nothing was decided"
    seal_own(certificate["kind"], certificate["inputs"]).write(path)
    return f"certificate in {path}; re-check it with: dpassay replay {path}"
