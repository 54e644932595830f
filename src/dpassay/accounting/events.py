"""Events of dp-accounting as the trees that certificates hold, and back. dp-accounting is needed for its own alone."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import absent, library

Tree = dict[str, Any]

_COMPOSING = {"composed": "events", "self_composed": "event", "poisson_sampled": "event"}


def exact(value: Any, name: str) -> str:
    """A number as a certificate has it: the exact rational that it is.

    Raises:
        InvalidInput: no finite number.
    """
    try:
        return str(Fraction(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidInput(f"{name} is {value!r}; it must be a finite number") from None


def event_tree(event: Any) -> Tree:
    """An event as a certificate has it (see `dpassay.replay.accounting`).

    Args:
        event: a `DpEvent` of dp-accounting, or such a tree, in which numbers may be Python's.

    Raises:
        InvalidInput: an event that is not enclosed.
    """
    if isinstance(event, Mapping):
        return _plain(event)
    match type(event).__name__:
        case "NoOpDpEvent":
            return {"kind": "composed", "events": []}
        case "NonPrivateDpEvent":
            return {"kind": "none"}
        case "GaussianDpEvent":
            return _plain({"kind": "gaussian", "noise_multiplier": event.noise_multiplier})
        case "LaplaceDpEvent":
            return _plain({"kind": "laplace", "noise_multiplier": event.noise_multiplier})
        case "RandomizedResponseDpEvent":
            numbers = {"noise_parameter": event.noise_parameter, "num_buckets": event.num_buckets}
            return _plain({"kind": "randomized_response", **numbers})
        case "EpsilonDeltaDpEvent":
            return _plain({"kind": "private", "epsilon": event.epsilon, "delta": event.delta})
        case "DiscreteLaplaceDpEvent":
            if not event.noise_parameter > 0:
                return {"kind": "none"}
            scale = 1 / Fraction(exact(event.noise_parameter, "noise_parameter"))
            return _plain({"kind": "geometric", "scale": scale, "sensitivity": event.sensitivity})
        case "ComposedDpEvent":
            return {"kind": "composed", "events": [event_tree(each) for each in event.events]}
        case "SelfComposedDpEvent":
            return _plain({"kind": "self_composed", "event": event.event, "count": event.count})
        case "PoissonSampledDpEvent":
            rate = event.sampling_probability
            return _plain({"kind": "poisson_sampled", "sampling_probability": rate, "event": event.event})
    raise InvalidInput(f"{type(event).__name__} is not enclosed; use Gaussian, Laplace or randomized response")


def dp_event(event: Any) -> Any:
    """The event of dp-accounting; None when it has none such, or is not installed."""
    if not isinstance(event, Mapping):
        return event
    if absent("dp-accounting"):
        return None
    accounting, number = library("dp_accounting"), lambda name: float(Fraction(event[name]))
    match event["kind"]:
        case "gaussian":
            return accounting.GaussianDpEvent(number("noise_multiplier"))
        case "laplace":
            return accounting.LaplaceDpEvent(number("noise_multiplier"))
        case "randomized_response":
            return accounting.RandomizedResponseDpEvent(number("noise_parameter"), int(event["num_buckets"]))
        case "geometric":
            return library("dp_accounting.dp_event").DiscreteLaplaceDpEvent(
                1 / number("scale"), int(event["sensitivity"])
            )
        case "none":
            return accounting.NonPrivateDpEvent()
        case "composed":
            parts = [dp_event(each) for each in event["events"]]
            return None if None in parts else accounting.ComposedDpEvent(parts)
    inner = dp_event(event["event"]) if "event" in event else None
    if inner is None:
        return None
    if event["kind"] == "self_composed":
        return accounting.SelfComposedDpEvent(inner, int(event["count"]))
    return accounting.PoissonSampledDpEvent(number("sampling_probability"), inner)


def _plain(tree: Mapping[str, Any]) -> Tree:
    """Numbers made exact, events made trees; fields are checked by the checker."""
    inside = _COMPOSING.get(str(tree.get("kind")))
    made: Tree = {}
    for name, value in tree.items():
        if name == "kind":
            made[name] = value
        elif name != inside:
            made[name] = exact(value, name)
        elif name == "event":
            made[name] = event_tree(value)
        elif isinstance(value, list | tuple):
            made[name] = [event_tree(each) for each in value]
        else:
            raise InvalidInput("the events of a composition must be a list")
    return made
