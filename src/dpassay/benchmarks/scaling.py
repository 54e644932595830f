"""What long work costs against what it grows with: `dpassay bench scaling`."""

from collections.abc import Callable, Sequence
from functools import partial

from dpassay.benchmarks import attack_costs, command_costs
from dpassay.core.errors import InvalidInput
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
        "commands": partial(command_costs.tables, quick, seed, progress),
    }
    if unknown := sorted(set(parts) - set(known)):
        raise InvalidInput(f"no part is called {unknown[0]!r}; choose from {', '.join(known)}")
    return [table for name in parts or known for table in known[name]()]


def plots(tables: Sequence[Table]) -> list[Plot]:
    """Of the parts that were measured."""
    commands = [table for table in tables if table.title == command_costs.TITLE]
    attack = [table for table in tables if table.title != command_costs.TITLE]
    return [*(attack_costs.plots(attack) if attack else ()), *(command_costs.plots(commands[0]) if commands else ())]
