"""The mechanism that MODULE:NAME or an ID names."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dpassay.commands.output import grouped
from dpassay.core.errors import InvalidInput


@dataclass(frozen=True)
class Target:
    """The options that name a mechanism."""

    target: str
    variant: str | None
    parameters: tuple[str, ...]
    batched: bool

    def mechanism(self) -> Any:
        """What is named: a registered mechanism, or anything of the user's own that can be sampled."""
        if ":" not in self.target:
            if self.batched:
                raise InvalidInput("--batched is for a callable MODULE:NAME; leave it out for a registered mechanism")
            from dpassay.mechanisms import mechanism

            return mechanism(self.target, variant=self.variant or "paper", **_values(self.parameters))
        if self.variant is not None:
            raise InvalidInput(
                f"--variant is for a registered mechanism; {self.target} is a module's own, leave it out"
            )
        found = _load(self.target, self.parameters)
        if hasattr(found, "sample"):
            if self.batched:
                raise InvalidInput(f"--batched is for a callable; {self.target} has a method `sample`, leave it out")
            return found
        if not callable(found):
            raise InvalidInput(
                f"{self.target} is a {type(found).__name__}; name a mechanism (with a method sample(key, dataset)) or "
                "a function fn(rng, dataset)"
            )
        from dpassay.core.protocol import from_callable

        return from_callable(found, batched=self.batched)


def named_function(target: str) -> Any:
    """What MODULE:NAME names, as it is.

    Raises:
        InvalidInput: it cannot be imported, or names nothing.
    """
    return _load(target, ())


target_options = grouped(
    "target",
    Target,
    click.argument("target", metavar="MODULE:NAME|ID"),
    click.option("--variant", help="Of a registered ID: paper (the default), released or repaired."),
    click.option(
        "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Of a registered ID or a class."
    ),
    click.option("--batched", is_flag=True, help="The callable is fn(rng, dataset, num_samples)."),
)


def _values(parameters: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"--parameter {text!r}: write NAME=VALUE, for example num_neighbors=2")
        values[key] = _value(value)
    return values


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _load(target: str, parameters: Sequence[str] = ()) -> Any:
    """What MODULE:NAME names; a class is built, with the parameters if there are any."""
    import importlib

    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise InvalidInput(f"{target!r}: write MODULE:NAME, for example mypackage.mechanism:selection")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does, so that a user's own file is found
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise InvalidInput(f"cannot import {module_name}: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise InvalidInput(f"{module_name} has no {name}; check the spelling after the colon")
    value, values = getattr(module, name), _values(parameters)
    if not isinstance(value, type):
        if values:
            raise InvalidInput(f"--parameter is for a registered mechanism or a class; {target} is neither")
        return value
    try:
        return value(**values)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"cannot build {target}: {type(error).__name__}: {error}; give its arguments with --parameter, or name an "
            "instance"
        ) from error
