"""`dpassay replay`: certificates re-checked from the files alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpassay.commands.output import UNUSABLE, VIOLATED, line, path_type
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.replay.budget import MEGABYTES, SECONDS, BudgetedReplay, Limits

if TYPE_CHECKING:
    from dpassay.replay import Replay


@click.command()
@click.argument("certificates", nargs=-1, type=path_type())
@click.option("--kernel", is_flag=True, help="Compile and check the theorems in Rocq too; without files, all of them.")
@click.option("--coqchk", is_flag=True, help="With --kernel: have coqchk check what was compiled too. Takes minutes.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    help="Seconds for each file.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(min=256),
    default=MEGABYTES,
    show_default=True,
    help="Megabytes for each file, where the system can limit them.",
)
def replay(certificates: tuple[Path, ...], kernel: bool, coqchk: bool, time_limit: float, memory_limit: int) -> int:
    """Re-check certificate files from the files alone.

    Files may come from anybody: each is an ordinary file of at most 16 megabytes, checked in a process apart that is
    killed when it takes more time or memory than allowed.

    Exits with 1 when a certificate does not check, else with 2 when a file could not be checked.
    """
    if not (certificates or kernel):
        raise click.UsageError("Missing argument 'CERTIFICATES...'")
    if coqchk and not kernel:
        raise click.UsageError("--coqchk needs --kernel")
    from dpassay.report.progress import Progress

    failed = unusable = 0
    theorems: set[str] = set()
    with BudgetedReplay(Limits(time_limit, memory_limit)) as recheck, Progress("replay") as shown:
        for number, path in enumerate(certificates):
            shown.note(Step(path.name, number / len(certificates)))
            try:
                outcome = recheck(path)
            except InvalidInput as error:
                unusable += 1
                click.echo(line(f"dpassay: {error}"), err=True)
                continue
            failed += not outcome.checks
            if outcome.checks and outcome.kind == "kernel":
                theorems.add(outcome.claim.replace("-", "_"))
            click.echo(_told(path, outcome))
    if certificates:
        click.echo(f"{len(certificates) - failed - unusable} of {len(certificates)} certificates check")
    if kernel and (theorems or not certificates):
        failed += not recheck_theorems(sorted(theorems) or None, coqchk)
    return VIOLATED if failed else UNUSABLE if unusable else 0


def _told(path: Path, outcome: "Replay") -> str:
    mark = "checks" if outcome.checks else "FAILS "
    concluded = f"part of {outcome.outcome}" if outcome.part else outcome.outcome.replace("note", "shows")
    said = f"{outcome.id or outcome.claim:12} {concluded:8} {path.name}: {outcome.shows or outcome.reason}"
    return line(f"{mark}  {said}")


def recheck_theorems(theorems: Sequence[str] | None, coqchk: bool) -> bool:
    """Has Rocq check the theorems, and says what it found; whether they are all right."""
    from dpassay.replay import Rejected
    from dpassay.replay.kernel import AXIOMS, definitions, recheck
    from dpassay.report.progress import Progress

    try:
        with Progress("Rocq checks the theorems") as shown:
            version = recheck(theorems, coqchk=coqchk, progress=shown.note)
    except Rejected as problem:
        click.echo(line(f"FAILS   kernel: {problem}"))
        return False
    names = sorted(definitions()) if theorems is None else theorems
    by = f"the kernel of Rocq {version}{' and by coqchk' if coqchk else ''}"
    click.echo(f"checked by {by}: {len(names)} theorems: {', '.join(names)}")
    click.echo(f"they assume at most: {', '.join(axiom.partition(' :')[0] for axiom in AXIOMS)}")
    return True
