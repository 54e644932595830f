"""What long work costs against what it grows with: `dpassay bench scaling`."""

from collections.abc import Callable, Sequence
from functools import partial

from dpassay.benchmarks import attack_costs, command_costs, compilation
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
        "experiments": partial(command_costs.tables, quick, progress, experiments=True),
        "compilation": partial(compilation.tables, quick, progress),
    }
    return tables_of(parts, known)


def plots(tables: Sequence[Table]) -> list[Plot]:
    """Of the parts that were measured."""
    whole = (command_costs.TITLE, command_costs.EXPERIMENTS_TITLE)
    attack = [table for table in tables if table.title not in (*whole, compilation.TITLE)]
    drawn = attack_costs.plots(attack) if attack else []
    return [*drawn, *(plot for table in tables if table.title in whole for plot in command_costs.plots(table))]
