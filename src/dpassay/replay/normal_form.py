"""Formulas up to trivial rewriting, so that a step that only says its hypothesis again is seen to.

Sides may be swapped, terms moved and gathered, a comparison multiplied by a positive number, sums, products, `and` and
`or` reordered, negations pushed inward. Products are not expanded, nor is a factor 0 used: a step may be about that.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpassay.replay.formula import Formula, Term, read
from dpassay.replay.operators import TRUTH

Normal = tuple[Any, ...]
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
_SWAPPED = {">": "<", ">=": "<="}
_STRONGER = {"<=": ("<", "="), "!=": ("<",)}
_UNORDERED = ("+", "*", "max", "min", "and", "or", "=", "!=")


def same_shape(left: Formula, right: Formula) -> bool:
    """Whether two formulas are the same but for the order of what is added, multiplied or joined."""
    return _shape(read(left)) == _shape(read(right))


def says_again(hypotheses: Iterable[Formula], conclusion: Formula) -> bool:
    """Whether a conclusion is one of the hypotheses, a weaker form of one, or true by its form alone."""
    known: set[Normal] = set()
    for hypothesis in hypotheses:
        known |= set(_operands("and", _truth(read(hypothesis, TRUTH))))
    return _follows(known, _truth(read(conclusion, TRUTH)))


def _shape(term: Term) -> Normal:
    operands = [_shape(operand) for operand in term.operands]
    return (term.head, term.names, term.value, *(sorted(operands, key=repr) if term.head in _UNORDERED else operands))


def _follows(known: set[Normal], conclusion: Normal) -> bool:
    head, *rest = conclusion
    if conclusion in known:
        return True
    if head == "and":
        return all(_follows(known, each) for each in rest[0])
    if head == "or":
        return any(_follows(known, each) or _negated(each) in rest[0] for each in rest[0])
    if head in ("<", "<=", "=", "!="):
        return _constant(head, rest[0]) or any((form, side) in known for form, side in _stronger(head, rest[0]))
    return False


def _constant(head: str, side: Normal) -> bool:
    """Whether 0 compares so with a number, or the sides are the same."""
    if set(dict(side)) - {()}:
        return False
    value = dict(side).get((), Fraction(0))
    return {"<": value < 0, "<=": value <= 0, "=": value == 0, "!=": value != 0}[head]


def _stronger(head: str, side: Normal) -> Iterable[Normal]:
    """Comparisons that imply this one."""
    for form in _STRONGER.get(head, ()):
        yield _comparison(form, dict(side))
        if head == "!=":
            yield _comparison(form, _times(dict(side), Fraction(-1)))


def _operands(head: str, normal: Normal) -> frozenset[Normal]:
    return normal[1] if normal[0] == head else frozenset({normal})


def _join(head: str, parts: Iterable[Normal]) -> Normal:
    joined = frozenset().union(*(_operands(head, part) for part in parts))
    return next(iter(joined)) if len(joined) == 1 else (head, joined)


def _truth(term: Term, negative: bool = False) -> Normal:
    head, operands = term.head, term.operands
    if head == "not":
        return _truth(operands[0], not negative)
    if head == "=>":
        return _join("and" if negative else "or", (_truth(operands[0], not negative), _truth(operands[1], negative)))
    if head in ("and", "or"):
        return _join({"and": "or", "or": "and"}[head] if negative else head, [_truth(o, negative) for o in operands])
    if head in ("forall", "exists"):
        other = "exists" if head == "forall" else "forall"
        return (other if negative else head, term.names, _truth(operands[0], negative))
    if negative:
        head = _OPPOSITE[head]
    left, right = operands if head not in _SWAPPED else reversed(operands)
    return _comparison(_SWAPPED.get(head, head), _linear(Term("-", (left, right))))


def _negated(normal: Normal) -> Normal:
    head, rest = normal[0], normal[1]
    if head in ("and", "or"):
        return _join("or" if head == "and" else "and", map(_negated, rest))
    if head in ("forall", "exists"):
        return ("exists" if head == "forall" else "forall", rest, _negated(normal[2]))
    if head in ("=", "!="):
        return _comparison(_OPPOSITE[head], dict(rest))
    return _comparison("<=" if head == "<" else "<", _times(dict(rest), Fraction(-1)))


def _comparison(head: str, side: Mapping[Normal, Fraction]) -> Normal:
    """`side` compared with 0, scaled so that its first coefficient is 1, or -1 where its sign matters."""
    frozen = _freeze(side)
    first = next((coefficient for atom, coefficient in frozen if atom), Fraction(1))
    return (head, _freeze(_times(side, 1 / (first if head in ("=", "!=") else abs(first)))))


def _freeze(side: Mapping[Normal, Fraction]) -> Normal:
    return tuple(sorted(side.items(), key=repr))


def _times(side: Mapping[Normal, Fraction], factor: Fraction) -> dict[Normal, Fraction]:
    return {atom: coefficient * factor for atom, coefficient in side.items()}


def _sum(sides: Iterable[Mapping[Normal, Fraction]]) -> dict[Normal, Fraction]:
    total: dict[Normal, Fraction] = {}
    for side in sides:
        for atom, coefficient in side.items():
            total[atom] = total.get(atom, Fraction(0)) + coefficient
    return {atom: coefficient for atom, coefficient in total.items() if coefficient}


def _linear(term: Term) -> dict[Normal, Fraction]:
    """Coefficients of what is neither sum nor multiple; the constant's atom is ()."""
    if term.value is not None:
        return {(): term.value} if term.value else {}
    if not term.head:
        return {term.names: Fraction(1)}
    parts = [_linear(operand) for operand in term.operands]
    if term.head == "+":
        return _sum(parts)
    if term.head == "-":
        kept = parts[:1] if len(parts) > 1 else []
        return _sum([*kept, *(_times(part, Fraction(-1)) for part in parts[len(kept) :])])
    if term.head == "^" and term.operands[1].value == 1:
        return parts[0]
    if term.head == "/" and set(parts[1]) == {()}:
        return _times(parts[0], 1 / parts[1][()])
    return _multiple(parts) if term.head == "*" else {_atom(term, parts): Fraction(1)}


def _multiple(parts: Sequence[Mapping[Normal, Fraction]]) -> dict[Normal, Fraction]:
    """A product: its numbers gathered into one coefficient, its factors in one order."""
    factor, factors = Fraction(1), []
    for part in parts:
        if len(part) != 1:
            factors.append(_freeze(part))
        else:
            ((atom, coefficient),) = part.items()
            factor *= coefficient
            factors += [] if not atom else list(atom[1]) if atom[0] == "*" else [((atom, Fraction(1)),)]
    if len(factors) <= 1:
        return _times(dict(factors[0]) if factors else {(): Fraction(1)}, factor)
    return {("*", tuple(sorted(factors, key=repr))): factor}


def _atom(term: Term, parts: Sequence[Mapping[Normal, Fraction]]) -> Normal:
    frozen = [_freeze(part) for part in parts]
    return (term.head, *term.names, *(sorted(frozen, key=repr) if term.head in _UNORDERED else frozen))
