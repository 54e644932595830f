"""`dpassay prove`: a proof for every input, or an exact counterexample, from a function's source."""

from pathlib import Path
from typing import Any

import click

from dpassay.commands.output import UNUSABLE, Outputs, as_json, command_line, interruptible, path_type
from dpassay.commands.supervised import isolate_option, limit
from dpassay.commands.target import named_function
from dpassay.core.errors import InvalidInput


@click.command()
@click.argument("target", metavar="MODULE:NAME")
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
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds.")
@isolate_option
@click.option("--seed", default=0, show_default=True, help="Of the runs that our reading is compared with.")
@click.option("--json", "json_path", type=path_type(), help="Write the proof as JSON.")
@click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file.")
@click.option("--certificate", "certificate_path", type=path_type(), help="Write what `dpassay replay` re-checks.")
def prove(
    target: str,
    relation: str | None,
    epsilon: str | None,
    zcdp: str | None,
    gaussian: str | None,
    bounds: str | None,
    isolate: str | None,
    json_path: Path | None,
    html_path: Path | None,
    certificate_path: Path | None,
    **settings: Any,
) -> int:
    """Prove a mechanism's privacy claim for every input, or refute it exactly, from its Python source.

    The mechanism is MODULE:NAME of your own, a function f(rng, data, ...) of a list of numbers and public parameters.
    Exits with 0 when the claim is proved, 1 when it is refuted, 2 when neither was found.
    """
    from dpassay.core.privacy import PrivacyClaim
    from dpassay.prover.proving import run_proof
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
    outputs = Outputs(json_path, html_path, certificate_path)
    mechanism = named_function(target)
    with interruptible("nothing was written", insist=True), Progress(target, settings["time_limit"]) as status:
        found = run_proof(
            mechanism,
            relation=relation,
            epsilon=epsilon,
            claim=next(iter(claims), None),
            bounds=None if bounds is None else (low, high),
            command=command_line(),
            progress=status.note,
            **settings,
        )
    content = found.to_json()
    with outputs.attempt():
        click.echo(str(found))
    from dpassay.report.proof_html import render_proof

    outputs.write(json_path, "proof", lambda: as_json(content))
    outputs.write(html_path, "report", lambda: render_proof(content))
    if certificate_path is not None:
        with outputs.attempt():
            click.echo(_certify(found.certificate, certificate_path))
    code = outputs.exit_code(violated=found.verdict.outcome == "refuted")
    return code or (UNUSABLE if found.verdict.outcome == "open" else 0)


def _certify(certificate: dict[str, Any] | None, path: Path) -> str:
    """Writes what `replay` re-checks; returns a line that says so, or why not."""
    from dpassay.replay import seal_own

    if certificate is None:
        return "no certificate: nothing was decided"
    seal_own(certificate["kind"], certificate["inputs"]).write(path)
    return f"certificate in {path}; re-check it with: dpassay replay {path}"
