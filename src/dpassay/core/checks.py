"""Checks of single settings, each with one clear line for a value that cannot be used."""

import math
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from dpassay.core.errors import InvalidInput


def check_count(name: str, value: Any, least: int) -> None:
    """Raises InvalidInput unless `value` is an integer >= `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be an integer >= {least}")


def check_positive(name: str, value: Any) -> None:
    """Raises InvalidInput unless `value` is a finite number > 0."""
    if not _is_number(value) or not math.isfinite(value) or not value > 0:
        raise InvalidInput(f"{name} is {value!r}; it must be a finite number > 0")


def check_not_negative(name: str, value: Any) -> None:
    """Raises InvalidInput unless `value` is a finite number >= 0."""
    if not _is_number(value) or not 0 <= value < math.inf:
        raise InvalidInput(f"{name} is {value!r}; it must be a finite number >= 0")


def check_open_unit(name: str, value: Any) -> None:
    """Raises InvalidInput unless 0 < `value` < 1."""
    if not _is_number(value) or not 0 < value < 1:
        raise InvalidInput(f"{name} is {value!r}; it must lie strictly between 0 and 1")


def check_share(name: str, value: Any) -> None:
    """Raises InvalidInput unless 0 <= `value` <= 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} is {value!r}; it is a share, from 0 to 1")


def check_choices(settings: Any) -> None:
    """Raises InvalidInput when a field of a dataclass whose type lists its values (a `Literal`) has another one."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if get_origin(field.type) is Literal and value not in get_args(field.type):
            raise InvalidInput(f"{field.name} is {value!r}; use one of {', '.join(get_args(field.type))}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
