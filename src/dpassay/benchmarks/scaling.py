"""What long work costs against what it grows with: `dpassay bench scaling`."""

from collections.abc import Callable, Sequence
from functools import partial

from dpassay.benchmarks import attack_costs, command_costs
from dpassay.benchmarks.parts import tables_of
from dpassay.core.records import Plot, Table


def tables(
    quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None, parts: Sequence[str] = ()
) -> list[Table]:
    """The parts, in turn.

    Raises:
        InvalidInput: an unknown part.
    """
    known: dict[str, Callable[[], Sequence[Table]]] = {
        "attack": partial(attack_costs.tables, quick, seed, progress),
        "commands": partial(command_costs.tables, quick, progress),
    }
    return tables_of(parts, known)


def plots(tables: Sequence[Table]) -> list[Plot]:
    """Of the parts that were measured."""
    commands = [table for table in tables if table.title == command_costs.TITLE]
    attack = [table for table in tables if table.title != command_costs.TITLE]
    return [*(attack_costs.plots(attack) if attack else ()), *(command_costs.plots(commands[0]) if commands else ())]
