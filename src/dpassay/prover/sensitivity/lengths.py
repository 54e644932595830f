"""Short datasets, one length after the other: what is read and proved from some length on is no bound for every length.

The rest of the prover is about n >= 1 entries, and may need more of them (n >= 2) to show that a function is defined.
Each length that this leaves out is read and proved by itself. Where that is not possible the function is run: if it
fails there, it has no value there and the length is an assumption; if it runs, nothing is claimed of every length.
"""

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Dummy, Max, Min, S

from dpassay.prover.sensitivity.aggregates import Aggregate, entry
from dpassay.prover.sensitivity.bounds import Prover, settled
from dpassay.prover.sensitivity.hulls import Domain
from dpassay.prover.sensitivity.neighbors import Case, Irreducible
from dpassay.prover.sensitivity.reading import Obligation, Read, read
from dpassay.prover.sensitivity.search import Runs
from dpassay.prover.sensitivity.values import NotUnderstood

LONGEST, LONGEST_READ = 20, 3
RUNS = 12


@dataclass
class Short:
    """Lengths that are left out elsewhere.

    Attributes:
        values: length -> what the function is there, for the lengths that are shown by themselves.
        cases: length -> how to prove something there, and the cases of a change.
        least: below it the function has no value, or the user asks nothing.
        running: a length at which the function runs although nothing is shown there; None if there is none.
    """

    least: int
    values: dict[int, Any] = field(default_factory=dict)
    cases: dict[int, tuple[Prover, list[Case]]] = field(default_factory=dict)
    running: int | None = None


def short_lengths(
    function: Any,
    understood: Read,
    interval: tuple[Any, Any],
    runs: Runs,
    asked: Callable[[int], Sequence[Any]],
) -> Short:
    """What happens at the lengths that the reading leaves out.

    Args:
        function: the user's.
        understood: its reading for n >= 1.
        interval: of the entries.
        runs: of the function; `runs.added` are the conditions on n that nobody asked for.
        asked: what the user assumes of the parameters for a length.
    """
    found = Short(least := 0 if runs.grows else 1)
    excluded = [
        k
        for k in range(least, LONGEST + 1)
        if k == 0 or any(fact.subs(understood.n, k) is S.false for fact in runs.added)
    ]
    for k in excluded:
        facts = list(asked(k))
        try:
            if k > LONGEST_READ:
                raise _Undefined
            values, facts = _values(function, understood, interval, (k, k + 1) if runs.grows else (k,), facts)
            cases = _cases(values, k, interval)
        except (NotUnderstood, Irreducible, _Undefined):
            if S.false in facts or not _runs(runs, k):
                found.least = k + 1
            else:
                found.running = k
            continue
        found.values[k] = values[0]
        found.cases[k] = Prover(understood.n, Domain(interval, facts)), cases
    if found.values and excluded[-1] == LONGEST:  # who knows how many more
        found.running = LONGEST
    return found


class _Undefined(Exception):
    pass


def _values(
    function: Any, understood: Read, interval: tuple[Any, Any], lengths: Sequence[int], facts: list[Any]
) -> tuple[list[Any], list[Any]]:
    """What the function is at these lengths, and the conditions on the parameters."""
    values = []
    for length in lengths:
        found = read(function, understood.kind, list(understood.parameters), length=length)
        swap = {found.parameters[name]: symbol for name, symbol in understood.parameters.items()}

        def put(term: Any, swap: dict[Any, Any] = swap) -> Any:
            return sympy.sympify(term).subs(swap)

        facts += [fact for fact in map(put, found.assumed) if fact is not S.true]
        duties = [Obligation(put(each.condition), tuple(map(put, each.path)), each.line) for each in found.obligations]
        needs, undefined = settled(duties, facts, sympy.Integer(length), interval)
        if S.false in facts or undefined or len(needs) > len(facts):
            raise _Undefined
        values.append(put(found.value))
    return values, facts


def _cases(values: Sequence[Any], k: int, interval: tuple[Any, Any]) -> list[Case]:
    """A change of each entry, or one more entry at each place."""
    v, w, common = (Dummy(name, real=True) for name in "vwt")
    others = [Dummy("t", real=True) for _ in range(k)]
    found = []
    for j in range(k if len(values) == 1 else k + 1):
        if len(values) == 1:
            old, new = (_at(values[0], [*others[:j], each, *others[j + 1 :]]) for each in (v, w))
        else:
            old, new = _at(values[0], others), _at(values[1], [*others[:j], w, *others[j:]])
        boxes = dict.fromkeys((v, w, *others), interval)
        found.append(Case(old, new, v, w, sympy.Integer(j), common, boxes=boxes))
    return found


def _at(term: Any, entries: Sequence[Any]) -> Any:
    """The term for these entries.

    Raises:
        Irreducible: an order statistic of many, or a permutation.
    """
    if isinstance(term, Aggregate):
        length = _at(term.length, entries)
        items = [_at(term.body.subs(term.index, i), entries) for i in range(int(length))] if length.is_Integer else []
        kind, rank = term.kind, _at(term.rank, entries)
        if kind == "sum" or kind == "prod":
            return (sympy.Add if kind == "sum" else sympy.Mul)(*items)
        if items and kind in ("max", "min"):
            return (Max if kind == "max" else Min)(*items)
        if items and kind == "order" and rank in (0, len(items) - 1):
            return (Min if rank == 0 else Max)(*items)
        if kind == "distinct" and len(items) == 1:
            return S.One
        raise Irreducible("an aggregate of this kind over few entries")
    if term.func == entry:
        place = _at(term.args[0], entries)
        if not place.is_Integer or not 0 <= place < len(entries):
            raise Irreducible("a position that is not known")
        return entries[int(place)]
    if isinstance(term, sympy.core.function.AppliedUndef):
        raise Irreducible("a permutation of few entries")
    return term.func(*(_at(each, entries) for each in term.args)) if term.args else term


def _runs(runs: Runs, k: int) -> bool:
    """Whether the function gives a number on some dataset of this length, and on its neighbor; else it fails there."""
    runs.lengths.add(k)
    try:
        tried = False
        for setting in itertools.islice(runs.settings(k), 3):
            tried = True
            for data, j, w in itertools.islice(runs.datasets(k), RUNS):
                try:
                    with warnings.catch_warnings(action="ignore"):
                        values = [runs.run(each, setting, runs.maps(k)) for each in (data, runs.changed(data, j, w))]
                except Exception:
                    continue
                if all(value - value == 0 for value in values):
                    return True
        return not tried
    finally:
        runs.lengths.discard(k)
