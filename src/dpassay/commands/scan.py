"""`dpassay scan`: judges what an installed package claims about privacy."""

from pathlib import Path

import click

from dpassay.commands.output import UNUSABLE, Outputs, as_json, command_line, interruptible, path_type
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.core.files import write_file


@click.command()
@click.argument("package")
@click.option("--time-limit", default=45.0, show_default=True, help="Seconds, from when the package is imported.")
@click.option(
    "--failure-probability", default=0.001, show_default=True, help="Of any false accusation in the whole scan."
)
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@scheduler_option
@click.option("--json", "json_path", type=path_type(), help="Write the scan as JSON.")
@click.option(
    "--sarif", "sarif_path", type=path_type(), help="Write findings and hints for code scanning, SARIF 2.1.0."
)
@click.option("--html", "html_path", type=path_type(), help="Write the report, one HTML file.")
@click.option("--drafts", type=path_type(), help="Write a private draft for the maintainers of each finding there.")
def scan(
    package: str,
    time_limit: float,
    failure_probability: float,
    seed: int,
    scheduler: str | None,
    json_path: Path | None,
    sarif_path: Path | None,
    html_path: Path | None,
    drafts: Path | None,
) -> int:
    """Judge what a package claims: mechanisms, stability maps, accountants, noise formulas.

    PACKAGE is an installed package, a module of one, a distribution's name, or a path. It is imported, and what looks
    like a mechanism is called, in processes of their own, in an empty folder: scan no package that you would not run.
    Exits with 0 when something was judged and nothing is violated, 1 when something is, 2 when nothing was judged.
    """
    from dpassay.prover.hints import RULES
    from dpassay.report import scan_text
    from dpassay.report.progress import Progress
    from dpassay.report.sarif import scan_to_sarif
    from dpassay.report.scan_html import render_scan
    from dpassay.scanning.running import scan as scanned

    outputs = Outputs(json_path, sarif_path, html_path, folders=[drafts])
    with (
        interruptible("nothing was written"),
        executor_for(scheduler) as executor,
        Progress(package, time_limit) as status,
    ):
        found = scanned(
            package,
            time_limit=time_limit,
            failure_probability=failure_probability,
            seed=seed,
            command=command_line(),
            progress=status.note,
            executor=executor,
        )
    content = found.to_json()
    with outputs.attempt():
        click.echo(scan_text.plain_text(content))
    outputs.write(json_path, "scan", lambda: as_json(content))
    outputs.write(sarif_path, "code-scanning result", lambda: as_json(scan_to_sarif(content, RULES)))
    outputs.write(html_path, "report", lambda: render_scan(content))
    if drafts is not None:
        texts = scan_text.drafts(content)
        with outputs.attempt():
            drafts.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                write_file(drafts / name, text)
            click.echo(f"{len(texts)} private draft{'s' if len(texts) != 1 else ''} in {drafts}")
    code = outputs.exit_code(violated=bool(found.violated))
    return code or (0 if found.judged else UNUSABLE)
