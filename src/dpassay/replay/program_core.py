"""The core language that mechanisms are checked in: what the reader makes of Python, and all that the executors know.

A program is a list of statements. Expressions draw nothing and change nothing; everything that happens in the middle of
a Python expression (a draw, a sum over a list, a call of a helper function) is a statement before the one it stands in,
which leaves its value in a variable of its own. Such variables have an `@` in their name, which no Python name has:
`index@5:4` counts the completed iterations of the loop at line 5, column 4.
"""

from dataclasses import dataclass
from fractions import Fraction

RELATIONS = (
    *("one_query", "all_queries", "monotone_queries", "replace_one:entry", "add_or_remove_one:entry"),
    *("replace_one:user", "add_or_remove_one:user"),
)
"""Which lists are neighbors: docs/how-to/prove.md."""


SELECTIONS = ("choice", "flips")
"""Draws of an index."""


class Refused(Exception):
    """The text has something that is not understood.

    Attributes:
        line: of the text, from 1.
        column: from 0.
        reason: what is not understood.
    """

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line, self.column, self.reason = line, column, reason


@dataclass(frozen=True)
class Constant:
    """A number (int or Fraction), a truth value, a text, None, "inf" or "-inf" as `special`.

    The special "error" with a text ends a run where it is returned, as an exception does.
    """

    value: int | Fraction | bool | str | None
    special: str = ""


@dataclass(frozen=True)
class Variable:
    """A variable of the program, or one of the reader's."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operator or a pure function on values; `and`, `or`, `if` evaluate the operands that Python evaluates.

    Operators: + - * / // % ** negate, < <= > >= == !=, not and or if, abs min max, item (list, index), length, tuple,
    part (tuple, literal place), list (elements), repeat (value, count), range (count), slice (list, first, end), joined
    (list, list), replaced (list, index, value), without (list, index), sorted, is_none, positive (a number above 0),
    and the names of pure functions (exp, log, sqrt, floor, ceil, round, int, ...). Of a slice, the first may be 0 and
    the end None.
    """

    operator: str
    operands: tuple["Expression", ...]
    position: str


@dataclass(frozen=True)
class Elementwise:
    """The list of `body` for the elements of lists of one length, which `parameters` stand for."""

    parameters: tuple[str, ...]
    sources: tuple["Expression", ...]
    body: "Expression"
    position: str


Expression = Constant | Variable | Operation | Elementwise


@dataclass(frozen=True)
class Assign:
    """`name = value`."""

    name: str
    value: Expression
    position: str


@dataclass(frozen=True)
class Append:
    """`name.append(value)`."""

    name: str
    value: Expression
    position: str


@dataclass(frozen=True)
class Draw:
    """`name` becomes a draw: laplace, exponential, normal, gumbel (a scale), geometric (p; two-sided), coin (p).

    Or an index of the list `scale`: a choice, with a probability in proportion to the element there; or flips, the
    first in a random order whose coin, with the probability e^(its element - the largest), says yes.
    """

    name: str
    kind: str
    scale: Expression
    position: str


@dataclass(frozen=True)
class Branch:
    """`if test: then else: otherwise`."""

    test: Expression
    then: tuple["Statement", ...]
    otherwise: tuple["Statement", ...]
    position: str


@dataclass(frozen=True)
class Loop:
    """`while True: head; if not test: break; body; step`, where `continue` goes to the step.

    Attributes:
        over: the lists it iterates over, () for another loop.
    """

    head: tuple["Statement", ...]
    test: Expression
    body: tuple["Statement", ...]
    step: tuple["Statement", ...]
    over: tuple[Expression, ...]
    position: str


@dataclass(frozen=True)
class Block:
    """The body of an inlined helper: `Leave` of its label goes behind it; its `local` variables begin without value."""

    label: str
    body: tuple["Statement", ...]
    local: tuple[str, ...]


@dataclass(frozen=True)
class Leave:
    """Goes to the end of the innermost loop ("break"), to its step ("continue"), or behind the block of that label."""

    label: str


@dataclass(frozen=True)
class Return:
    """The program's output."""

    value: Expression
    position: str


Statement = Assign | Append | Draw | Branch | Loop | Block | Leave | Return


@dataclass(frozen=True)
class Core:
    """A program that was read.

    Attributes:
        parameters: the public ones, in order.
        defaults: their default values.
        single: the data are one value, not a list.
    """

    data: str
    parameters: tuple[str, ...]
    defaults: dict[str, Expression]
    body: tuple[Statement, ...]
    single: bool = False


def resized(statements: tuple[Statement, ...]) -> set[str]:
    """Those of them that may become a list of another length: all but what `replaced` alone is assigned to."""
    found: set[str] = set()
    for each in statements:
        if isinstance(each, Assign):
            same = isinstance(each.value, Operation) and each.value.operator == "replaced"
            if not same or each.value.operands[0] != Variable(each.name):  # type: ignore[union-attr]
                found.add(each.name)
        elif isinstance(each, Branch):
            found |= resized(each.then) | resized(each.otherwise)
        elif isinstance(each, Loop):
            found |= resized(each.head) | resized(each.body) | resized(each.step)
        elif isinstance(each, Block):
            found |= resized(each.body) | set(each.local)
        else:
            found |= assigned((each,))
    return found


def assigned(statements: tuple[Statement, ...]) -> set[str]:
    """The variables that statements may change."""
    found: set[str] = set()
    for each in statements:
        if isinstance(each, Assign | Append | Draw):
            found.add(each.name)
        elif isinstance(each, Branch):
            found |= assigned(each.then) | assigned(each.otherwise)
        elif isinstance(each, Loop):
            found |= assigned(each.head) | assigned(each.body) | assigned(each.step)
        elif isinstance(each, Block):
            found |= assigned(each.body) | set(each.local)
    return found
