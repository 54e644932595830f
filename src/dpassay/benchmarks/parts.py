"""Benchmarks of several parts, each of which can be asked for alone."""

from collections.abc import Callable, Collection, Mapping, Sequence

from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table


def tables_of(parts: Sequence[str], known: Mapping[str, Callable[[], Sequence[Table]]]) -> list[Table]:
    """The tables of the parts asked for, in turn; of all if none is named.

    Raises:
        InvalidInput: an unknown part.
    """
    refuse_unknown(parts, known)
    return [table for name in parts or known for table in known[name]()]


def refuse_unknown(parts: Sequence[str], known: Collection[str]) -> None:
    """Names the first part that there is not, with those that there are.

    Raises:
        InvalidInput: there is one.
    """
    if unknown := sorted(set(parts) - set(known)):
        raise InvalidInput(f"no part is called {unknown[0]!r}; choose from {', '.join(known)}")
