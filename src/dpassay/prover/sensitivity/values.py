"""What an expression of the source stands for, beside numbers and lists; and that it stands for nothing."""

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


class NotUnderstood(Exception):
    """A place in the source that the reading has no meaning for."""

    def __init__(self, reason: str, line: int | None = None):
        super().__init__(reason)
        self.reason, self.line = reason, line


class NeedsArray(NotUnderstood):
    """An operation that arrays have and lists have not."""


class Local:
    """A function or lambda of the source, to be read where it is called."""

    def __init__(
        self, arguments: ast.arguments, body: Any, scope: dict[str, Any], space: dict[str, Any], stores: Counter[str]
    ):
        """`stores`: how often each name of the function around it is assigned."""
        self.arguments, self.body, self.scope, self.space, self.stores = arguments, body, scope, space, stores


@dataclass
class Permutation:
    """A public list that holds each of 0, ..., n - 1 once."""

    symbol: Any


@dataclass
class Growing:
    """A list that a loop appends to."""

    items: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass
class Method:
    """A method of a value, before it is called."""

    held: Any
    name: str
