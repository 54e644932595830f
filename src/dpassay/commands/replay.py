"""`dpassay replay`: certificates re-checked from the files alone."""

from pathlib import Path

import click

from dpassay.commands.output import VIOLATED, path_type


@click.command()
@click.argument("certificates", nargs=-1, required=True, type=path_type())
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
        concluded = f"part of {outcome.outcome}" if outcome.part else outcome.outcome
        click.echo(f"{mark}  {outcome.claim:12} {concluded:8} {path.name}: {outcome.reason}")
    click.echo(f"{len(certificates) - failed} of {len(certificates)} certificates check")
    return VIOLATED if failed else 0
