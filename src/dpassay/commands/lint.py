"""`dpassay lint`: hints by reading a module, which is not imported."""

from pathlib import Path

import click

from dpassay.commands.output import Outputs, as_json, command_line, line, path_type
from dpassay.core.version import __version__


@click.command()
@click.argument("module")
@click.option("--json", "json_path", type=path_type(), help="Write the hints as JSON.")
@click.option("--sarif", "sarif_path", type=path_type(), help="Write the hints for code scanning, SARIF 2.1.0.")
def lint(module: str, json_path: Path | None, sarif_path: Path | None) -> int:
    """Hints on a module, a file or a folder: habits of code that often cost a mechanism its privacy.

    Nothing is imported or run. A hint is no verdict: what it points at may be right, and what has no hints may leak.
    Exits with 0, whatever the hints.
    """
    from dpassay.prover.hints import RULES
    from dpassay.prover.lint import lint as hints_on
    from dpassay.report.sarif import hints_to_sarif

    outputs = Outputs(json_path, sarif_path)
    hints, files = hints_on(module)
    found = [hint.to_json() for hint in hints]
    program = f"dpassay {__version__}"
    with outputs.attempt():
        for hint in hints:
            where = f" in {hint.function}" if hint.function else ""
            click.echo(line(f"{hint.file}:{hint.line}: {hint.rule}{where}: {hint.message}"))
        read = f"{files} file{'s' if files != 1 else ''} read"
        click.echo(f"{len(hints)} hint{'s' if len(hints) != 1 else ''}, no verdict; {read}, none run")
    content = {"format": "dpassay-hints", "version": 1, "program": program, "files": files, "hints": found}
    outputs.write(json_path, "hints", lambda: as_json(content))
    log = hints_to_sarif(found, RULES, program, command_line())
    outputs.write(sarif_path, "code-scanning result", lambda: as_json(log))
    return outputs.exit_code(False)
