"""What each variable of a program may hold, whatever the order of its statements: its kind, and whether noise is in it.

Shifts must be functions of the data, the parameters and the trace. A variable is *noisy* when its value may depend on
a draw otherwise than through the trace, and its difference between the two runs is *noisily different* when that may.
Noise that is added cancels in the difference; noise that is multiplied with what differs, or compared, does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpassay.replay import Rejected
from dpassay.replay.program_core import (
    SELECTIONS,
    Append,
    Assign,
    Block,
    Branch,
    Constant,
    Core,
    Draw,
    Elementwise,
    Expression,
    Loop,
    Operation,
    Return,
    Statement,
    Variable,
    assigned,
)

_LISTING = {"slice", "joined", "replaced", "without", "sorted"}
_RANK = {"": 0, "truth": 1, "int": 2, "real": 3}
_COMPARING = {"<", "<=", ">", ">=", "==", "!=", "not", "invert", "and", "or", "is_none", "bool", "parts", "alike"}
_COUNTED = {
    **dict.fromkeys(("range", "size", "step"), slice(0, 1)),
    **dict.fromkeys(("item", "repeat", "slice", "without", "round"), slice(1, None)),
    "replaced": slice(1, 2),
}
"""The operands of which Python demands that they are integers."""
_WHOLE = {"length", "floor", "ceil", "int", "round", "size", "step"}


@dataclass(frozen=True)
class Held:
    """What a variable may hold.

    Attributes:
        kind: "truth", "int", "real", "list", "tuple"; "" while nothing is known, or for what is no number.
        special: it may be None, a text or infinite.
        noisy: its value depends on draws otherwise than through the trace; of a list, so does its length.
        noisily_different: so does its difference between the runs.
        differs: that difference may be other than 0.
        parts: of a tuple; the one element of a list.
        mixed: it may be a truth value as well as a number.
    """

    kind: str = ""
    special: bool = False
    noisy: bool = False
    noisily_different: bool = False
    differs: bool = False
    parts: tuple["Held", ...] = ()
    mixed: bool = False


NOTHING = Held()


def joined(*held: Held) -> Held:
    """What holds whatever is in one of them."""
    found = held[0]
    for each in held[1:]:
        kinds = {found.kind, each.kind} - {""}
        parts = found.parts or each.parts
        if found.parts and each.parts:
            if len(kinds) > 1 or len(found.parts) != len(each.parts):
                raise ValueError(f"a variable is {' and '.join(sorted(kinds))}, or tuples of different lengths")
            parts = tuple(map(joined, found.parts, each.parts))
        elif len(kinds) > 1 and kinds & {"list", "tuple"}:
            raise ValueError(f"a variable is {' and '.join(sorted(kinds))}")
        kind = max(kinds, key=lambda name: _RANK.get(name, 4), default="")
        found = Held(
            kind,
            found.special or each.special,
            found.noisy or each.noisy,
            found.noisily_different or each.noisily_different,
            found.differs or each.differs,
            parts,
            found.mixed or each.mixed or ("truth" in kinds and len(kinds) > 1),
        )
    return found


class Flow:
    """The fixed point: `held` says what each variable may hold.

    Args:
        entries: of the data, or the one value that they are.
        parameters: kind of each public parameter.
        lengths_differ: the runs' data have different lengths.
        free: positions of branches that are not in the trace.
        shifted: positions of draws that may have a shift other than 0.
    """

    def __init__(
        self,
        core: Core,
        entries: Held,
        parameters: Mapping[str, Held],
        lengths_differ: bool,
        free: frozenset[str],
        shifted: frozenset[str],
    ) -> None:
        self.free, self.shifted, self.data, self.lengths_differ = free, shifted, core.data, lengths_differ
        data = entries if core.single else Held("list", differs=lengths_differ, parts=(entries,))
        self.held: dict[str, Held] = {**parameters, core.data: data}
        before: dict[str, Held] = {}
        while before != self.held:
            before = dict(self.held)
            self.statements(core.body, NOTHING)

    def statements(self, statements: tuple[Statement, ...], reached: Held) -> None:
        """`reached` is what decides whether they are reached, where that is not in the trace."""
        for each in statements:
            if isinstance(each, Assign):
                self.store(each.name, self.value(each.value), reached)
            elif isinstance(each, Append):
                self.store(each.name, Held("list", parts=(self.value(each.value),)), reached)
            elif isinstance(each, Draw):
                self.value(each.scale)
                self.store(each.name, self.draw(each), reached)
            elif isinstance(each, Branch):
                test = self.value(each.test)
                inner = (
                    joined(reached, _condition(test)) if each.position in self.free or reached != NOTHING else reached
                )
                self.statements(each.then, inner)
                self.statements(each.otherwise, inner)
            elif isinstance(each, Loop):
                self.loop(each, reached)
            elif isinstance(each, Block):
                self.statements(each.body, reached)
            elif isinstance(each, Return):
                self.value(each.value)

    def loop(self, loop: Loop, reached: Held) -> None:
        """A loop: where one run skips an iteration, all that it assigns differs."""
        for part in (loop.head, loop.body, loop.step):
            self.statements(part, reached)
        self.value(loop.test)
        if any(self.value(each).differs for each in loop.over):  # one run skips an iteration
            for name in assigned((loop,)):
                self.store(name, self.held.get(name, NOTHING), Held(differs=True))

    def store(self, name: str, held: Held, reached: Held) -> None:
        """The variable may hold that, too."""
        held = joined(self.held.get(name, NOTHING), held)
        self.held[name] = _compared(held, held, reached) if reached.noisy or reached.differs else held

    def draw(self, draw: Draw) -> Held:
        """What a draw gives."""
        if draw.kind in SELECTIONS:
            return Held("int")  # the same in both runs, and in the trace
        differs = draw.position in self.shifted
        if draw.kind == "coin":
            return Held("truth", noisy=True, noisily_different=differs, differs=differs)
        kind = "int" if draw.kind == "geometric" else "real"
        return Held(kind, noisy=True, noisily_different=False, differs=differs)

    def value(self, expression: Expression) -> Held:
        """What an expression gives."""
        if isinstance(expression, Constant):
            if expression.special or expression.value is None or isinstance(expression.value, str):
                return Held(special=True)
            if isinstance(expression.value, bool):
                return Held("truth")
            return Held("int" if isinstance(expression.value, int) else "real")
        if isinstance(expression, Variable):
            return self.held.get(expression.name, NOTHING)
        if isinstance(expression, Elementwise):
            sources = [self.value(each) for each in expression.sources]
            for name, source in zip(expression.parameters, sources, strict=True):
                self.held[name] = joined(*source.parts) if source.parts else NOTHING
            noisy, differs = any(each.noisy for each in sources), any(each.differs for each in sources)
            return Held("list", False, noisy, noisy and differs, differs, (self.value(expression.body),))
        return self.operation(expression)

    def operation(self, operation: Operation) -> Held:
        """What an operation gives."""
        name, held = operation.operator, [self.value(each) for each in operation.operands]
        if any(each.kind == "real" for each in held[_COUNTED.get(name, slice(0, 0))]):
            raise Rejected(f"an index or a count at {operation.position} may be a float")
        if name in ("tuple", "list", "repeat"):
            if name == "tuple":
                return Held("tuple", parts=tuple(held))
            if name == "list":
                return Held("list", parts=(joined(*held),) if held else ())
            return replace(held[1], kind="list", special=False, parts=(held[0],))
        if name == "range":
            return replace(held[0], kind="list", special=False, parts=(Held("int"),))
        if name == "length":
            return replace(held[0], kind="int", special=False, parts=())
        if name == "item":
            element = joined(*held[0].parts) if held[0].parts else NOTHING
            return _compared(element, element, held[1]) if held[1].noisy or held[1].differs else element
        if name in _LISTING:
            return self.relisted(name, held)
        if name == "part":
            place = operation.operands[1]
            assert isinstance(place, Constant)
            assert isinstance(place.value, int)
            parts = held[0].parts
            return parts[place.value] if 0 <= place.value < len(parts) else NOTHING
        return self.arithmetic(name, held)

    def relisted(self, name: str, held: list[Held]) -> Held:
        """What a list made of another's elements holds; where a place differs or is noisy, so does every element."""
        made = held[0]
        if name == "sorted":  # of what both runs are shown to hold alike
            return _alike(made)
        if name in ("replaced", "without"):  # its length does not depend on the place
            elements = joined(*made.parts, *held[2:])
            moved = held[1].noisy or held[1].differs
            return replace(made, parts=(_compared(elements, elements, held[1]) if moved else elements,))
        if name == "joined":
            made = joined(*held)
        for place in (each for each in held if each.noisy or each.differs):  # a length moves what stands behind
            made = _compared(made, made, replace(place, parts=()))
        return made

    def arithmetic(self, name: str, held: list[Held]) -> Held:
        """What an operation on numbers gives."""
        one_of = joined(*held[int(name == "if") :]) if name in ("if", "min", "max") else NOTHING
        kind = one_of.kind or self.kind(name, held)
        noisy, differs = any(each.noisy for each in held), any(each.differs for each in held)
        inner = any(each.noisily_different for each in held)
        if name in ("+", "-", "negate", "float"):
            return Held(kind, False, noisy, inner, differs)
        if name in ("*", "/"):
            one, two = held
            mixed = (
                (one.noisy and two.differs)
                or (two.noisy and one.differs)
                or (name == "/" and two.noisy and two.differs)
            )
            return Held(kind, False, noisy, inner or mixed, differs)
        return Held(kind, one_of.special, noisy, inner or (noisy and differs), differs, mixed=one_of.mixed)

    def kind(self, name: str, held: list[Held]) -> str:
        """The kind of its result."""
        if name in _COMPARING:
            return "truth"
        if name in _WHOLE and len(held) == 1:
            return "int"
        if name in ("+", "-", "*", "//", "%", "**", "negate", "abs"):
            known = all(each.kind in ("truth", "int", "") for each in held)
            return "int" if known else "real"
        return "" if name in ("if", "min", "max") else "real"


def _alike(held: Held) -> Held:
    """What holds of a value that is the same in both runs."""
    return replace(held, differs=False, noisily_different=False, parts=tuple(map(_alike, held.parts)))


def _condition(test: Held) -> Held:
    return Held(noisy=test.noisy, noisily_different=test.noisily_different, differs=test.differs or test.noisy)


def _compared(one: Held, two: Held, test: Held) -> Held:
    """What a choice between two values holds when the runs may choose differently."""
    held = joined(one, two)
    differs, noisy = held.differs or test.differs, held.noisy or test.noisy
    parts = tuple(_compared(part, part, test) for part in held.parts)
    mixed = held.noisily_different or (noisy and differs)
    return replace(held, noisy=noisy, differs=differs, noisily_different=mixed, parts=parts)
