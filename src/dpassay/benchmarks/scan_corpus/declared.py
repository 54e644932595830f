"""How the corpus states its claims: beside the function, so that a scan needs nothing but the module."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Stability:
    """A map's claim, as `dpassay.check_stability` takes it: datasets at distance `d_in` give outputs at `d_out`."""

    d_out: float
    d_in: float = 1
    metrics: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Privacy:
    """A mechanism's claim, as `dpassay.audit` takes it, with default arguments; epsilon in nats."""

    epsilon: float
    relation: str
    delta: float = 0.0


def stable(d_out: float, d_in: float = 1, **metrics: str) -> Callable[[_Function], _Function]:
    """Declares a map's sensitivity as its attribute `stability`."""
    return _declared("stability", Stability(d_out, d_in, metrics))


def private(
    epsilon: float, relation: str = "add_or_remove_one:record", delta: float = 0.0
) -> Callable[[_Function], _Function]:
    """Declares a mechanism's privacy as its attribute `privacy`."""
    return _declared("privacy", Privacy(epsilon, relation, delta))


def _declared(name: str, claim: Any) -> Callable[[_Function], _Function]:
    def declare(function: _Function) -> _Function:
        setattr(function, name, claim)
        return function

    return declare
