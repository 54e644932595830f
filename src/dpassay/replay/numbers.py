"""Numbers of certificates: exact rationals (flint's `fmpq`) where possible, else Arb balls at one fixed precision.

What a certificate prints is canonical: an exact value is the fraction itself, an enclosure is two decimals of a fixed
number of significant digits, rounded outward.
"""

import math
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from dpassay.replay import Rejected

PRECISION = 256  # bits; far beyond the digits that certificates print
DIGITS = 20

_MAX_BITS = 10**6
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*|(\.\d+)?(e[+-]?\d{1,3})?)", re.ASCII)


def precision() -> Any:
    """Context manager for the working precision of every checker."""
    return ctx.workprec(PRECISION)


def rational(value: Any) -> fmpq:
    """Reads a certificate's number: an int, or a string such as "3", "1/2", "0.25" or "2.5e-05".

    Raises:
        Rejected: anything else, floats included.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Rejected(f"{value!r} is not an exact number: write an integer or a string such as '1/2'")
    if isinstance(value, str) and _NUMBER.fullmatch(value) is None:
        raise Rejected(f"{value!r} is not a number: write '3', '1/2' or '0.25'")
    parsed = Fraction(value)
    return fmpq(parsed.numerator, parsed.denominator)


def integer(value: Any, name: str, *, at_least: int = 0) -> int:
    """Reads a whole number.

    Raises:
        Rejected: not whole, or too small.
    """
    number = rational(value)
    if number.q != 1 or number < at_least:
        raise Rejected(f"{name} is {value!r}: it must be an integer >= {at_least}")
    return int(number)


def fields(record: Mapping[str, Any], what: str, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raises `Rejected` unless a record has the required fields and no unknown ones."""
    if not isinstance(record, Mapping):
        raise Rejected(f"{what} must be a mapping with fields {', '.join(sorted(required))}")
    required, optional = set(required), set(optional)
    absent, unknown = sorted(required - set(record)), sorted(set(record) - required - optional)
    if absent:
        raise Rejected(f"{what} lacks {', '.join(absent)}")
    if unknown:
        raise Rejected(f"{what} has unknown fields {', '.join(unknown)}")


def fraction(value: fmpq) -> Fraction:
    """The same number in the standard library's type."""
    return Fraction(int(value.p), int(value.q))


def show(value: fmpq) -> str:
    """An exact number as certificates and sentences print it."""
    return str(fraction(value))


def root(square: fmpq) -> Any:
    """Square root of a rational >= 0: exact when it is rational, else a ball."""
    p, q = math.isqrt(int(square.p)), math.isqrt(int(square.q))
    return fmpq(p, q) if p * p == square.p and q * q == square.q else arb(square).sqrt()


def power(base: fmpq, exponent: fmpq) -> Any:
    """base^exponent for a rational base > 0: exact when it is rational, else a ball."""
    if base <= 0:
        raise Rejected(f"the base {show(base)} of a power must be positive")
    p, q = _integer_root(int(base.p), int(exponent.q)), _integer_root(int(base.q), int(exponent.q))
    if p is not None and q is not None:
        return fmpq(p, q) ** int(exponent.p)
    return arb(base) ** arb(exponent)


def maximum(values: Iterable[Any]) -> Any:
    """Largest of exact numbers and balls; exact when all are."""
    values = list(values)
    if all(isinstance(value, fmpq) for value in values):
        return max(values)
    largest = arb(values[0])
    for value in values[1:]:
        largest = largest.max(arb(value))
    return largest


def down(value: Any, digits: int = DIGITS) -> str:
    """Largest decimal of `digits` significant digits that is certainly not above the value."""
    return _decimal(value if isinstance(value, fmpq) else _end(_finite(value).lower()), digits, ROUND_FLOOR)


def up(value: Any, digits: int = DIGITS) -> str:
    """Smallest decimal of `digits` significant digits that is certainly not below the value."""
    return _decimal(value if isinstance(value, fmpq) else _end(_finite(value).upper()), digits, ROUND_CEILING)


def bounds(value: Any, digits: int = DIGITS) -> list[str]:
    """[lower, upper] of a number, canonical; the same fraction twice when it is exact."""
    return [show(value)] * 2 if isinstance(value, fmpq) else [down(value, digits), up(value, digits)]


def _finite(value: arb) -> arb:
    if not value.is_finite():
        raise Rejected("an enclosure is not finite at the working precision")
    return value


def _end(value: arb) -> fmpq:
    """An enclosure's end as a fraction; FLINT ends the process where that has too many digits."""
    if abs(int(value.man_exp()[1])) > _MAX_BITS:
        raise Rejected("an enclosure ends too near to 0 or too far from it to be written")
    return value.fmpq()


def _decimal(value: fmpq, digits: int, rounding: str) -> str:
    with localcontext(prec=digits, rounding=rounding):
        decimal = (Decimal(int(value.p)) / Decimal(int(value.q))).normalize()
        return f"{decimal:f}" if -12 < decimal.adjusted() < digits else str(decimal)


def _integer_root(number: int, degree: int) -> int | None:
    """The exact root, or None."""
    if degree == 1 or number in (0, 1):
        return number
    low, high = 1, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < number:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == number else None
